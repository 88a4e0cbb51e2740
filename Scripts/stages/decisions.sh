#!/usr/bin/env bash
# Part of GrandCentral. SPDX-License-Identifier: Apache-2.0
# What: every record in Documentation/Decisions has the form that the README there shows
# Budget: 30

. Scripts/lib.sh

python3 Scripts/lint/decisions.py Documentation/Decisions
