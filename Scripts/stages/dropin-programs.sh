#!/usr/bin/env bash
# Part of GrandCentral. SPDX-License-Identifier: Apache-2.0
# What: programs with Foundation, the Dispatch overlay and Swift Concurrency print the same on our libdispatch.so
# Budget: 240

. Scripts/lib.sh
. Scripts/dropin.sh

ready_dropin
use "$DROPIN" "$OUT/dropin-swift"
run_swift_programs
