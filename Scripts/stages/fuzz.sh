#!/usr/bin/env bash
# Part of GrandCentral. SPDX-License-Identifier: Apache-2.0
# What: random operations on data and random input to the transforms, in release, GC_STRESS_SECONDS each
# Budget: 300

. Scripts/lib.sh

# The stress stage's build: with it done this takes under a minute.
run_tests .build-stress 20 -c release -Xswiftc -enable-testing --filter '^DataTests\..*(randomOperations|randomBytes)'
