#!/usr/bin/env bash
# Part of GrandCentral. SPDX-License-Identifier: Apache-2.0
# What: swift format lint --strict
# Budget: 180

. Scripts/lib.sh

mapfile -t files < <(source_files swift)
swift format lint --strict --parallel --configuration .swift-format "${files[@]}"
fact "${#files[@]} files"
