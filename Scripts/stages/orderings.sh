#!/usr/bin/env bash
# Part of GrandCentral. SPDX-License-Identifier: Apache-2.0
# What: every memory ordering says why it is enough
# Budget: 60

. Scripts/lib.sh

python3 Scripts/lint/orderings.py Sources/GrandCentral
