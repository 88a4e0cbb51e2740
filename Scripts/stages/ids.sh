#!/usr/bin/env bash
# Part of GrandCentral. SPDX-License-Identifier: Apache-2.0
# What: every id of an invariant, a step or a clause says whose it is, and is defined once
# Budget: 60

. Scripts/lib.sh

python3 Scripts/lint/ids.py Sources Verification
