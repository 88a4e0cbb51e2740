#!/usr/bin/env bash
# Part of GrandCentral. SPDX-License-Identifier: Apache-2.0
# What: primitives, engine, queues, stress and the fuzzer of sources under ThreadSanitizer
# Budget: 900
# Ahead: GRANDCENTRAL_TESTS="StressTests PrimitivesTests EngineTests DispatchTests SourceTests DataTests IOTests ConcurrencyTests SimulationTests" swift test --disable-xctest --scratch-path .build-tsan --sanitize=thread --filter nothing

. Scripts/lib.sh

export GRANDCENTRAL_TESTS="StressTests PrimitivesTests EngineTests DispatchTests SourceTests DataTests IOTests ConcurrencyTests SimulationTests"

export TSAN_OPTIONS="halt_on_error=0 second_deadlock_stack=1 suppressions=$PWD/Scripts/lint/races.supp print_suppressions=0 ${TSAN_OPTIONS:-}"
# Those of a million pieces take a minute here, and are of one thread.
run_tests .build-tsan 3 --sanitize=thread --skip '^DataTests\..*(appendedData|otherOrders)' --skip '^SimulationTests\.'

# Programs that race by design are most of the simulation's tests. Those that do not are no race there either, and three that do are seen.
run_tests .build-tsan 3 --sanitize=thread --filter '^SimulationTests\.(RaceTests|TimeTests|MainQueueTests|LeftoverTests|OutsideTests|PatternTests/notAccused)'

GC_FUZZ_SECONDS=$GC_STRESS_SECONDS fuzz_sources tsan --scratch-path .build-tsan --sanitize=thread
