#!/usr/bin/env bash
# Part of GrandCentral. SPDX-License-Identifier: Apache-2.0
# What: no file is longer than 400 lines
# Budget: 30

. Scripts/lib.sh

limit=400
longest=$(source_files swift c h py sh pml | xargs -d '\n' wc -l | awk '$2 != "total"' | sort -rn)
long=$(awk -v limit=$limit '$1 > limit' <<<"$longest")
[ -z "$long" ] || fail "longer than $limit lines:"$'\n'"$long"
fact "longest: $(head -n 1 <<<"$longest" | awk '{ print $2 ", " $1 " lines" }')"
