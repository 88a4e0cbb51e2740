#!/usr/bin/env bash
# Part of GrandCentral. SPDX-License-Identifier: Apache-2.0
# What: the same under AddressSanitizer, with leaks
# Budget: 600
# Ahead: swift build --build-tests --sanitize=address --scratch-path .build-asan

. Scripts/lib.sh

export ASAN_OPTIONS="detect_leaks=1 detect_stack_use_after_return=1 ${ASAN_OPTIONS:-}"
export LSAN_OPTIONS="suppressions=$PWD/Scripts/lint/leaks.supp print_suppressions=0 ${LSAN_OPTIONS:-}"
export GC_TEST_PATIENCE=${GC_TEST_PATIENCE:-120}
run_tests .build-asan 3 --sanitize=address --filter '^(Stress|Primitives|Engine|Dispatch|Source|Data|IO|Concurrency)Tests\.'
