#!/usr/bin/env bash
# Part of GrandCentral. SPDX-License-Identifier: Apache-2.0
# What: the product dispatch, which shares the process's Swift runtime, stands for libdispatch.so as the other build does
# Budget: 300
# Ahead: swift build -c release --package-path DropIn --scratch-path .build-check/dropin-shared --product dispatch

. Scripts/lib.sh
. Scripts/dropin.sh

need gcc
Scripts/build-dropin --shared-runtime "$OUT/dropin-shared-prefix"
# What the stages before have compiled runs on either library.
use "$OUT/dropin-shared-prefix" "$OUT/dropin-programs"

# Not libswift_Concurrency, which needs libdispatch.so: the loader would go in a circle.
examine libBlocksRuntime.so libc.so.6 libm.so.6 libswiftCore.so libswiftGlibc.so libswiftSynchronization.so
run_c_programs
run_misuse
run_sanitized

use "$OUT/dropin-shared-prefix" "$OUT/dropin-swift"
run_swift_programs
