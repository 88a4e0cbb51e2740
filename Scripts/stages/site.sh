#!/usr/bin/env bash
# Part of GrandCentral. SPDX-License-Identifier: Apache-2.0
# What: the documentation's site: Scripts/site builds it, no link is broken, and Chromium searches it from its folder
# Budget: 240
# Ahead: for module in CoreMetrics Tracing Logging OpenCombine; do swift build --package-path Integrations --target "$module"; done

. Scripts/lib.sh

command -v docc >/dev/null || { fact "docc is missing: there is no site"; exit 0; }
need chromium
folder=$OUT/site/pages
Scripts/site "$folder"

# Each product has a reference. Planted: one that has none.
without_reference() {
  local product
  sed -n 's/.*\.library(name: "\([A-Za-z]*\)".*/\1/p' "$@" | while read -r product; do
    [ -e "$folder/api/${product,,}.html" ] || echo "$product"
  done
}
without=$(without_reference Package.swift Integrations/Package.swift)
[ -z "$without" ] || fail "without a reference: $without"
[ "$(without_reference <(echo '.library(name: "Frobnication", targets: [])'))" = Frobnication ] || fail "a product was planted, and not found"

# Each public symbol of these products has a summary; those of the library are checked by the stage `docs`. Planted: one without.
others=("$OUT"/site/others/symbols/*.symbols.json)
Scripts/docs.py --summaries "${others[@]}"
sed 's/"docComment"/"planted"/' "$OUT/site/others/symbols/GrandCentralTesting.symbols.json" >"$OUT/site/planted.json"
if Scripts/docs.py --summaries "$OUT/site/planted.json" >"$OUT/site/planted.log"; then fail "symbols without a summary were planted, and not found"; fi

# Planted: a page that is gone, an anchor that is gone, and two places of one name.
page=$folder/Documentation/Guide.html
cp "$page" "$OUT/site/whole.html"
printf '%s\n' '<a href="Frobnication.html">' '<a href="Faults.html#gc9999">' '<p id="settings">' >>"$page"
if Scripts/site --check "$folder" >"$OUT/site/planted.log" 2>&1; then fail "broken links were planted, and not found"; fi
for found in "two places are called 'settings'" 'Frobnication.html leads nowhere' \
  "Faults.html#gc9999: there is no 'gc9999' on that page" 'error: 3 links are broken'; do
  grep -F "$found" "$OUT/site/planted.log" >/dev/null || fail "not found: $found"$'\n'"$(cat "$OUT/site/planted.log")"
done
mv "$OUT/site/whole.html" "$page"

mkdir -p "$OUT/site/pictures"
PYTHONPATH=Scripts Scripts/pages/look.py "$folder" "$OUT/site/pictures"
