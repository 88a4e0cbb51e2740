#!/usr/bin/env bash
# Part of GrandCentral. SPDX-License-Identifier: Apache-2.0
# What: the stress tests in release, GC_STRESS_SECONDS each
# Budget: 480
# Ahead: GRANDCENTRAL_TESTS="StressTests DataTests" swift test --disable-xctest --scratch-path .build-stress -c release -Xswiftc -enable-testing --filter nothing

. Scripts/lib.sh

export GRANDCENTRAL_TESTS="StressTests DataTests"

run_tests .build-stress 5 -c release -Xswiftc -enable-testing --filter StressTests
