#!/usr/bin/env bash
# Part of GrandCentral. SPDX-License-Identifier: Apache-2.0
# What: every file names its licence at its head
# Budget: 30

. Scripts/lib.sh

line='Part of GrandCentral. SPDX-License-Identifier: Apache-2.0'
mapfile -t files < <(source_files swift c h py sh pml)
files+=(Scripts/check Scripts/benchmark Scripts/clauses Scripts/fairness Scripts/packages Scripts/packages-sim Scripts/pictures Scripts/release Scripts/sbom Scripts/api Scripts/site .ci/run)
without=()
for file in "${files[@]}"; do
  # Not `grep -q`: it would leave early, and `head` would die of the broken pipe.
  head -n 6 "$file" | grep -F "$line" >/dev/null || without+=("$file")
done
printf '%s\n' "${without[@]}"
[ "${#without[@]}" -eq 0 ] || fail "${#without[@]} files without \"$line\""
fact "${#files[@]} files"
