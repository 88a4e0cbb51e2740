#!/usr/bin/env bash
# Part of GrandCentral. SPDX-License-Identifier: Apache-2.0
# What: what each layer may import, and that only Platform calls C
# Budget: 60

. Scripts/lib.sh

python3 Scripts/lint/imports.py Sources/GrandCentral
