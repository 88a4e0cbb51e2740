#!/usr/bin/env bash
# Part of GrandCentral. SPDX-License-Identifier: Apache-2.0
# What: instructions and system calls per operation, counted
# Budget: 480

. Scripts/lib.sh

need valgrind
need strace
need strip binutils
python3 Benchmarks/costs/selftest.py
Scripts/benchmark costs
