#!/usr/bin/env bash
# Part of GrandCentral. SPDX-License-Identifier: Apache-2.0
# What: one program, built for Dispatch and for GrandCentral, and run on our libdispatch.so, prints the same in each scenario, but for listed lines
# Budget: 240

. Scripts/lib.sh
. Scripts/compat.sh

programs=Tests/Programs/Differential
folder=$OUT/compat/differential
build_library "$OUT/compat/library"
mkdir -p "$folder/theirs" "$folder/ours"
for source in "$programs"/*.swift; do
  cp "$source" "$folder/theirs/"
  sed 's/^import Dispatch$/import GrandCentral/' "$source" >"$folder/ours/$(basename "$source")"
done
common=(-swift-version 5 -Onone -suppress-warnings -module-name Differential)
swiftc "${common[@]}" "$folder"/theirs/*.swift -o "$folder/differential-theirs"
swiftc "${common[@]}" -I "$OUT/compat/library" -I Sources/CPlatform/include "$folder"/ours/*.swift \
  -L "$OUT/compat/library" -lGrandCentral -Xlinker -rpath="$PWD/$OUT/compat/library" -o "$folder/differential-ours"

Scripts/differential.py "$folder/differential-theirs" "$folder/differential-ours" "$programs/differences.txt" \
  "${GC_RANDOM_PROGRAMS:-200}" ${GC_FUZZ_SEED:+"$GC_FUZZ_SEED"}

# The program that was built for Dispatch, on our libdispatch.so.
ready_dropin
cat >"$folder/differential-dropin" <<DROPIN
#!/bin/sh
LD_PRELOAD=$DROPIN/lib/libdispatch.so exec "$PWD/$folder/differential-theirs" "\$@"
DROPIN
chmod +x "$folder/differential-dropin"
Scripts/differential.py "$folder/differential-theirs" "$folder/differential-dropin" "$programs/differences-dropin.txt" \
  "${GC_RANDOM_PROGRAMS:-200}" ${GC_FUZZ_SEED:+"$GC_FUZZ_SEED"}

# The check finds a planted difference: a program that prints something else is told, and so is a line that is not needed.
cat >"$folder/planted" <<'PLANTED'
#!/bin/sh
case $1 in --list) echo one; echo two ;; one) echo same ;; two) echo "${0##*/}"; kill -9 $$ ;; esac
PLANTED
cp "$folder/planted" "$folder/planted-ours"
chmod +x "$folder/planted" "$folder/planted-ours"
echo 'one | nothing | Planted.' >"$folder/planted.txt"
if Scripts/differential.py "$folder/planted" "$folder/planted-ours" "$folder/planted.txt" >"$folder/planted.log"; then
  fail "planted differences were not found"
fi
for planted in '^  +planted-ours$' 'take the line out'; do
  grep -q -- "$planted" "$folder/planted.log" || fail "planted, and not found: $planted"
done
