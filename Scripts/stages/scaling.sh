#!/usr/bin/env bash
# Part of GrandCentral. SPDX-License-Identifier: Apache-2.0
# What: cache lines moved and threads woken per operation, on a simulated machine with many processors
# Budget: 300

. Scripts/lib.sh

if [ "$(uname -m)" != x86_64 ]; then
  fact "not counted: the simulated machine knows x86-64 only"
  exit 0
fi
need llvm-symbolizer llvm
python3 Benchmarks/scaling/thresholds_selftest.py
Scripts/benchmark scaling gate
