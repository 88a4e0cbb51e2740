#!/usr/bin/env bash
# Part of GrandCentral. SPDX-License-Identifier: Apache-2.0
# What: in release the stress tests, GC_STRESS_SECONDS each, and those of the simulation with all of their schedules
# Budget: 700
# Ahead: GRANDCENTRAL_TESTS="StressTests DataTests SimulationTests" swift test --disable-xctest --scratch-path .build-stress -c release -Xswiftc -enable-testing --filter nothing

. Scripts/lib.sh

export GRANDCENTRAL_TESTS="StressTests DataTests SimulationTests"

run_tests .build-stress 5 -c release -Xswiftc -enable-testing --filter '^StressTests\.'
run_tests .build-stress 5 -c release -Xswiftc -enable-testing --filter '^SimulationTests\.'
