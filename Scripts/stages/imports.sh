#!/usr/bin/env bash
# Part of GrandCentral. SPDX-License-Identifier: Apache-2.0
# What: what each layer may import, call and say
# Budget: 60

. Scripts/lib.sh

python3 Scripts/lint/imports.py Sources/GrandCentral
