#!/usr/bin/env bash
# Part of GrandCentral. SPDX-License-Identifier: Apache-2.0
# What: gcd why names what each of the hanging programs hangs on, stopped or not; awkward processes are told; gcd top in a terminal
# Budget: 600

. Scripts/lib.sh

need tmux
build_tool gcd photo-import traced
swift build --product hangs -j "$JOBS"
swift build --product contract-probe -j "$JOBS"
hangs=$(swift build --show-bin-path)/hangs
Scripts/insight.py hangs "$binaries/gcd" "$hangs"
Scripts/insight.py awkward "$binaries/gcd" "$hangs"
need gcore gdb
Scripts/core_files.py "$binaries/gcd" "$hangs" "${hangs%/*}/contract-probe"
Scripts/insight.py terminal "$binaries/gcd" "$hangs"
Scripts/insight_top.py "$binaries/gcd" "$binaries/traced"
Scripts/insight.py document "$binaries/gcd" "$binaries/photo-import"
