#!/usr/bin/env bash
# Part of GrandCentral. SPDX-License-Identifier: Apache-2.0
# What: public documentation: nothing lacks a summary, example, complexity or a word on blocking; no public declaration of the last version is gone; snippets compile, run, and print what their page says; the README's chart is the report's; docc has no warning
# Budget: 240

. Scripts/lib.sh
. Scripts/compat.sh
. Scripts/archive.sh

folder=$PWD/$OUT/docs
rm -rf "$folder"
library_graph "$folder"
graph=$folder/symbols/GrandCentral.symbols.json

Scripts/docs.py "$graph" "$catalogue/GrandCentral.md"
# The count finds a planted gap: the first sentence about blocking goes.
sed '0,/Blocking:/s/Blocking:/Planted:/' "$graph" >"$folder/planted.json"
if Scripts/docs.py "$folder/planted.json" "$catalogue/GrandCentral.md" >"$folder/planted.log"; then fail "a gap was planted, and not found"; fi

# What the last version promises is still there. A function that is missing is planted, and found, and so is a case that is new.
Scripts/api check "$folder/symbols" "$(version)"
mkdir -p "$folder/planted-api"
sed -E 's/"asyncWait\b/"asyncDelay/g; s/"base32Hex\b/"planted/g' "$graph" >"$folder/planted-api/GrandCentral.symbols.json"
if Scripts/api check "$folder/planted-api" "$(version)" 2>"$folder/planted.log"; then fail "a break was planted, and not found"; fi
for found in 'gone or changed: DispatchGroup.asyncWait' 'each switch lacks it: DispatchData.Format.planted:'; do
  grep -F "$found" "$folder/planted.log" >/dev/null || fail "$(cat "$folder/planted.log")"
done

# Snippets run on the library that other stages take as well.
library=$PWD/$OUT/compat/library
build_library "$library"
flags=(-I "$library" -I "$PWD/Sources/CPlatform/include")
mapfile -t sources < <(grep -rlF '```swift' Sources/GrandCentral --include='*.swift' | sort)
Scripts/snippets.py "$folder/snippets" "$library" README.md Documentation/*.md "$catalogue"/*.md "${sources[@]}" -- "${flags[@]}"
# These promise that each listing is a program by itself.
Scripts/snippets.py --alone "$folder/snippets" "$library" README.md Documentation/{GettingStarted,TenMinutes,Testing,Insight}.md -- "${flags[@]}"
# Manifests, and parts of them, are evaluated; the snippets leave them out. Planted: a version that this is not, a product that there is not,
# and a call that there is not.
Scripts/manifests.py "$(version)" README.md Documentation/*.md "$catalogue"/*.md Integrations/README.md
# shellcheck disable=SC2016 # No expansion is meant.
{
  printf '```swift\n'
  first_block README.md swift swift-tools-version | sed 's/name: "GrandCentral"/name: "Frobnication"/'
  printf '```\n\n`%s`, `%s`\n' '.package(url: "ADDRESS/swift-grand-central", .upToNextMinor(from: "0.0.1"))' \
    '.package(url: "ADDRESS/swift-grand-central", .frobnicate(from: "0.1.0"))'
} >"$folder/planted.md"
if Scripts/manifests.py "$(version)" "$folder/planted.md" 2>"$folder/planted.log"; then fail "manifests were planted, and not found"; fi
for found in '1: Package.swift has no product Frobnication' ':[0-9]*: it asks for 0.0.1 up to 0.1.0' "error: .*'frobnicate'"; do
  grep -e "$found" "$folder/planted.log" >/dev/null || fail "not found: $found"$'\n'"$(<"$folder/planted.log")"
done
# The table of the guides' tasks names each program in C.
for program in Examples/c/*.c; do
  grep -qF "(../$program)" Documentation/TenMinutes.md || fail "Documentation/TenMinutes.md does not name $program"
done
# Planted: a snippet that does not compile, one that prints something else, one that ends by a signal.
# shellcheck disable=SC2016 # No expansion is meant, here and below.
planted() {
  printf '```swift\n%s\n```\n\n%s\n' "$1" "$2" >"$folder/planted.md"
  if Scripts/snippets.py --alone "$folder/snippets" "$library" "$folder/planted.md" -- "${flags[@]}" 2>"$folder/planted.log"; then
    fail "a snippet was planted, and not found: $1"
  fi
  grep -E "planted.md:2:$3" "$folder/planted.log" >/dev/null || fail "the planted snippet fails for another reason: $(cat "$folder/planted.log")"
}
planted 'queue.frobnicate()' '' '[0-9]+: error'
# shellcheck disable=SC2016
planted 'print(41)' 'It prints `42`.' ' prints'
planted 'DispatchQueue.main.async {}; fatalError()' 'It prints nothing.' ' ended with'
# Programs with the product that installs the pool: each is a file by itself. Planted: a call that there is not.
mkdir -p "$folder/executors"
swiftc -swift-version 6 -O -wmo -parse-as-library -module-name GrandCentralExecutors -package-name grandcentral "${flags[@]}" \
  -emit-module -emit-module-path "$folder/executors/GrandCentralExecutors.swiftmodule" Sources/GrandCentralExecutors/*.swift \
  -emit-library -o "$folder/executors/libGrandCentralExecutors.so" -L "$library" -lGrandCentral
with_executors() {
  Scripts/snippets.py --whole=GrandCentralExecutors "$folder/executors" "$library" "$@" -- "${flags[@]}" -I "$folder/executors" \
    -L "$folder/executors" -lGrandCentralExecutors -Xlinker "-rpath=$folder/executors"
}
with_executors Documentation/Guide.md "$catalogue/SwiftConcurrency.md" Sources/GrandCentralExecutors/DispatchExecutors.swift
sed 's/DispatchExecutors.install/DispatchExecutors.frobnicate/' Documentation/Guide.md >"$folder/planted.md"
if with_executors "$folder/planted.md" 2>"$folder/planted.log"; then fail "a program was planted, and not found"; fi
grep -F "has no member 'frobnicate'" "$folder/planted.log" >/dev/null || fail "the planted program fails otherwise: $(cat "$folder/planted.log")"
# Parts of tests and of other programs are as in their files, and probes as in the library. Planted: each of these is changed.
Scripts/listings.py .
mkdir -p "$folder/planted-pages/Verification/Checker"
cp -r Documentation "$folder/planted-pages/"
cp Verification/Checker/README.md "$folder/planted-pages/Verification/Checker/"
sed -i -e 's/balance -= 80/balance -= 90/' -e 's/queue.sync {}/queue.sync()/' -e 's/parker.value.unpark/parker.value.park/' \
  -e 's/@pushed\[arg2\] = /@pushed[arg1] = /' \
  "$folder/planted-pages"/{Documentation/{Simulation,Testing,Tool},Verification/Checker/README}.md
if Scripts/listings.py "$folder/planted-pages" 2>"$folder/planted.log"; then fail "other listings were planted, and not found"; fi
for page in Documentation/{Simulation,Testing,Tool} Verification/Checker/README; do
  grep -F "$page.md: " "$folder/planted.log" >/dev/null || fail "$page.md: a listing was planted, and not found"
done

# The README's chart has the figures of the report. Planted: a report of another day, and one with another figure.
python3 Benchmarks/headlines.py --check
for change in 's/^- (Measured on|Library:) .*/- Library: planted/' 's/^(.*B.sync-void.*\*\*)0/\19/'; do
  rm -rf "$folder/report"
  mkdir "$folder/report"
  cp Documentation/Performance.md Documentation/performance.svg Documentation/headlines.svg "$folder/report/"
  sed -Ei "$change" "$folder/report/Performance.md"
  if python3 Benchmarks/headlines.py --check "$folder/report" 2>"$folder/planted.log"; then fail "a report was planted, and not found: $change"; fi
  grep -E 'run Scripts/benchmark headlines|B.sync-void is not the same' "$folder/planted.log" >/dev/null || fail "$(cat "$folder/planted.log")"
done

# The programs in C, which the stage `release` also runs; a planted one does not compile.
compile_c() { gcc -std=c11 -Wall -Wextra -Werror -fsyntax-only -I Sources/CDispatch/include -x c - 2>"$folder/planted.log"; }
for page in README.md Documentation/MovingFromLibdispatchInC.md; do
  first_block "$page" c dispatch | compile_c || fail "$page: $(cat "$folder/planted.log")"
done
if first_block README.md c dispatch | sed 's/dispatch_apply_f/dispatch_frobnicate_f/' | compile_c; then
  fail "a program that does not compile was planted, and not found"
fi

command -v docc >/dev/null || { fact "docc is missing: the catalogue was not converted"; exit 0; }
convert "$folder" GrandCentral "$catalogue"
fact "docc converts $(find "$folder/GrandCentral.doccarchive/data" -name '*.json' | wc -l) pages without a warning"
