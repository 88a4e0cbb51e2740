#!/usr/bin/env bash
# Part of GrandCentral. SPDX-License-Identifier: Apache-2.0
# What: the page of gcd top --web, in a headless Chromium: what it shows, its updates, and who may not see it; the README's pictures
# Budget: 240

. Scripts/lib.sh

need chromium
build_tool gcd photo-import
swift build --product hangs -j "$JOBS"
hangs=$(swift build --show-bin-path)/hangs
Scripts/insight_web.py "$binaries/gcd" "$hangs"

# Planted: a page that stands still is noticed.
planted=$(Scripts/insight_web.py "$binaries/gcd" "$hangs" --interval 3600 --patience 5 2>&1) && fail "a page that stands still is not noticed"
grep -F 'the page stands still' >/dev/null <<<"$planted" || fail "$planted"

. Scripts/perfetto/install.sh
Scripts/pictures "$binaries/gcd" "$binaries/photo-import" "$(perfetto index.html)" "$OUT/pictures"
