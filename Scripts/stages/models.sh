#!/usr/bin/env bash
# Part of GrandCentral. SPDX-License-Identifier: Apache-2.0
# What: the protocols, by spin on Verification: each model that is new, and all planted bugs
# Budget: 600

. Scripts/lib.sh

need spin
need gcc
python3 Scripts/models.py
