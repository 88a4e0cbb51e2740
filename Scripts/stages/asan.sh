#!/usr/bin/env bash
# Part of GrandCentral. SPDX-License-Identifier: Apache-2.0
# What: the same under AddressSanitizer, with leaks
# Budget: 600
# Ahead: GRANDCENTRAL_TESTS="StressTests PrimitivesTests EngineTests DispatchTests SourceTests DataTests IOTests ConcurrencyTests" swift test --disable-xctest --scratch-path .build-asan --sanitize=address --filter nothing

. Scripts/lib.sh

export GRANDCENTRAL_TESTS="StressTests PrimitivesTests EngineTests DispatchTests SourceTests DataTests IOTests ConcurrencyTests"

export ASAN_OPTIONS="detect_leaks=1 detect_stack_use_after_return=1 ${ASAN_OPTIONS:-}"
export LSAN_OPTIONS="suppressions=$PWD/Scripts/lint/leaks.supp print_suppressions=0 ${LSAN_OPTIONS:-}"
# Those of a million pieces take long here, and are of one thread: random data, with all that may be done to them, are among the other tests.
run_tests .build-asan 3 --sanitize=address --skip '^DataTests\..*(appendedData|otherOrders)'
GC_FUZZ_SECONDS=$GC_STRESS_SECONDS fuzz_sources asan --scratch-path .build-asan --sanitize=address
