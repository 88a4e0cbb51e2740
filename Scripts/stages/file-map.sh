#!/usr/bin/env bash
# Part of GrandCentral. SPDX-License-Identifier: Apache-2.0
# What: the map of files in ARCHITECTURE.md is what there is
# Budget: 30

. Scripts/lib.sh

python3 Scripts/file-map --check
