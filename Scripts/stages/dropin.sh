#!/usr/bin/env bash
# Part of GrandCentral. SPDX-License-Identifier: Apache-2.0
# What: the drop-in libdispatch.so builds, exports what programs expect, and runs programs built for the toolchain's
# Budget: 300

. Scripts/lib.sh
. Scripts/dropin.sh

need gcc
need pkg-config
need cmake
installed=$DROPIN
rm -rf "$installed" "$OUT/dropin-destination"

# C2: the library's name, what it needs and exports, and programs that were built for the toolchain's.
# Into a package first, from where it is moved to its place: nothing may know where it was built.
DESTDIR=$OUT/dropin-destination PREFIX=$installed privately Scripts/build-dropin
[ ! -e "$installed" ] || fail "DESTDIR does not keep the prefix untouched"
closed=$(find "$OUT/dropin-destination" ! -type l ! -perm -go=r -o -type d ! -perm -go=rx)
[ -z "$closed" ] || fail "only their owner can read: $closed"
use "$OUT/dropin-destination$installed" "$OUT/dropin-programs"
build_as_others "$prefix"
mv "$OUT/dropin-destination$installed" "$installed"
! grep -rqF dropin-destination "$installed" || fail "what is installed knows where it was built"

use "$installed" "$OUT/dropin-programs"
build_as_others "$prefix"
[ "$OUT/dropin/GrandCentral.ll" -nt "$installed/lib/libdispatch.so" ] || fail "what changes while it is built would not be newer"
if Scripts/build-dropin "$OUT/dropin-late" --simulation 2>"$folder/said"; then fail "an option after the prefix is ignored"; fi
grep -F 'usage: build-dropin' "$folder/said" >/dev/null || fail "$(cat "$folder/said")"
fact "found by pkg-config and CMake, below DESTDIR and where it is installed"

examine libBlocksRuntime.so libc.so.6
run_c_programs

Scripts/c_start.py "$folder/hello" "$prefix/lib" "$theirs/linux"

if LD_LIBRARY_PATH=$theirs/linux timeout 60 "$folder/functions-clang" >/dev/null; then
  fail "the count of allocations counts nothing: the toolchain's library makes some"
fi
g++ -std=c++17 -Wall -Wextra -Werror -x c++ -I "$prefix/include" "$c_programs/offsets.c" -L "$prefix/lib" -ldispatch \
  -o "$folder/offsets-c++"
show "offsets, C++" "$folder/offsets-c++"

run_misuse

# A Swift program with the toolchain's Dispatch, Swift Concurrency and Foundation.
for program in concurrency foundation; do
  swiftc -swift-version 5 -suppress-warnings -parse-as-library "$c_programs/$program.swift" -o "$folder/$program"
  timeout 60 "$folder/$program" >"$folder/$program.theirs" || fail "$program does not run on the toolchain's library"
  run "$folder/$program" >"$folder/$program.ours"
  diff "$folder/$program.theirs" "$folder/$program.ours" || fail "$program prints something else on our library"
  fact "$program: same $(wc -l <"$folder/$program.ours") lines"
done

run_sanitized
