#!/usr/bin/env bash
# Part of GrandCentral. SPDX-License-Identifier: Apache-2.0
# What: the lints find what they should, and nothing else
# Budget: 60

. Scripts/lib.sh

python3 Scripts/lint/selftest.py
