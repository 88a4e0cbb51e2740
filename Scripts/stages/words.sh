#!/usr/bin/env bash
# Part of GrandCentral. SPDX-License-Identifier: Apache-2.0
# What: comments, messages and documents name the thread or the code that acts, and never call it "who"
# Budget: 60

. Scripts/lib.sh

python3 Scripts/lint/words.py Sources Tests Examples Verification Benchmarks Integrations DropIn Tools Documentation Package.swift \
  Tool/Package.swift README.md ARCHITECTURE.md CONTRIBUTING.md CHANGELOG.md
