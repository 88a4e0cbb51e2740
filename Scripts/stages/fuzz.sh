#!/usr/bin/env bash
# Part of GrandCentral. SPDX-License-Identifier: Apache-2.0
# What: random operations on data and transforms (GC_STRESS_SECONDS each) and random sources (GC_FUZZ_SECONDS), in release
# Budget: 300

. Scripts/lib.sh

# The stress stage's build: with it done this takes under a minute.
run_tests .build-stress 20 -c release -Xswiftc -enable-testing --filter '^DataTests\..*(randomOperations|randomBytes)'

# Alone, because it looks for descriptors that are left open; see Tests/StressTests/SourceFuzz.
fact "sources: GC_FUZZ_SECONDS=${GC_FUZZ_SECONDS:=20}, and what a failure names: GC_FUZZ_SEED, GC_FUZZ_LANE"
export GC_FUZZ_SECONDS
run_tests .build-stress 20 -c release -Xswiftc -enable-testing --filter '^StressTests\.SourceFuzz'
