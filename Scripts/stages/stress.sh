#!/usr/bin/env bash
# Part of GrandCentral. SPDX-License-Identifier: Apache-2.0
# What: the stress tests in release, GC_STRESS_SECONDS each
# Budget: 480
# Ahead: swift build -c release --build-tests -Xswiftc -enable-testing --scratch-path .build-stress

. Scripts/lib.sh

run_tests .build-stress 5 -c release -Xswiftc -enable-testing --filter StressTests
