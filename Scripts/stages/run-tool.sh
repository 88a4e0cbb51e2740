#!/usr/bin/env bash
# Part of GrandCentral. SPDX-License-Identifier: Apache-2.0
# What: gcd run puts programs on our libdispatch.so or refuses, gcd doctor tells why; the manual page is what --help says
# Budget: 300

. Scripts/lib.sh

folder=$(pwd)/$OUT/run-tool
library=$DROPIN/lib/libdispatch.so
theirs=$(toolchain)
mkdir -p "$folder"
build_tool gcd
tool=$binaries/gcd
ready_dropin
Scripts/man --check "$tool"
version=$("$tool" --version)
grep -Fx "Version: $version" "$DROPIN/lib/pkgconfig/dispatch.pc" >/dev/null || fail "dispatch.pc is not of version $version"
[ "$version" = "$(version)" ] || fail "the tool is of version $version, CPlatformVersion.h of $(version)"
newest=$(sed -n 's/^## \[\([0-9][^]]*\)\] - [0-9-]*$/\1/p' CHANGELOG.md | head -n 1)
[ "$newest" = "$version" ] || fail "the newest release in CHANGELOG.md is ${newest:-none}, the version $version"
fact "version $version in the tool, its manual page, dispatch.pc and CHANGELOG.md"

# Built for the toolchain's library: tells which one it has, and how its call of it went.
cat >"$folder/program.c" <<'END'
#include <dispatch/dispatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void work(void *context) { *(int *)context += 1; }

int main(int words, char **arguments) {
  int count = 0;
  dispatch_sync_f(dispatch_queue_create("program", NULL), &count, work);
  char line[4096];
  FILE *maps = fopen("/proc/self/maps", "r");
  while (fgets(line, sizeof line, maps) != NULL) {
    if (strstr(line, "libdispatch") != NULL && strstr(line, "r-xp") != NULL) fputs(strchr(line, '/'), stdout);
  }
  return words > 1 ? atoi(arguments[1]) + count - 1 : 0;
}
END
# compile NAME ARGUMENT...
compile() {
  local name=$1
  shift
  clang -I "$theirs" -I "$theirs/Block" "$folder/program.c" -L "$theirs/linux" -o "$folder/$name" "$@"
}
runpath="-Wl,-rpath,$theirs/linux"
compile plain "$runpath" -ldispatch
compile rpath "$runpath" -Wl,--disable-new-dtags -ldispatch

# How it is made to run is part of what is expected: expect_way PROGRAM WAY.
expect_way() {
  local status=0 output
  output=$("$tool" run --verbose --library "$library" "$folder/$1" 23 2>"$folder/said") || status=$?
  [ "$status" -eq 23 ] || fail "$1 ended with $status: $(cat "$folder/said")"
  [ "$output" = "$library" ] || fail "$1 ran on ${output:-nothing}"
  grep -F "by $2" "$folder/said" >/dev/null || fail "$1: $(cat "$folder/said")"
  "$tool" doctor --library "$library" "$folder/$1" >"$folder/doctor"
  grep -F "uses now  $theirs/linux/libdispatch.so" "$folder/doctor" >/dev/null || fail "$(cat "$folder/doctor")"
}
[ "$("$folder/plain")" = "$theirs/linux/libdispatch.so" ] || fail "without the tool it runs on the toolchain's library"
expect_way plain LD_LIBRARY_PATH
expect_way rpath LD_PRELOAD
fact "by path, and preloaded where RPATH is in the way"

# What cannot be done is refused: refuse PROGRAM ID TEXT.
refuse() {
  local status=0
  "$tool" run --library "$library" "$folder/$1" >"$folder/said" 2>&1 || status=$?
  [ "$status" -eq 125 ] || fail "$1 was not refused, but ended with $status: $(cat "$folder/said")"
  grep -F "$3" "$folder/said" >/dev/null || fail "$1: $(cat "$folder/said")"
  status=0
  "$tool" doctor --json --library "$library" "$folder/$1" >"$folder/doctor" || status=$?
  [ "$status" -eq 1 ] || fail "doctor of $1 ended with $status"
  grep -F "\"id\":\"$2\"" "$folder/doctor" >/dev/null || fail "doctor of $1: $(cat "$folder/doctor")"
}
printf 'int main(void) { return 0; }\n' >"$folder/static.c"
clang -static "$folder/static.c" -o "$folder/static"
refuse static linked-statically 'is linked statically'
swiftc -static-stdlib -parse-as-library Tests/Programs/C/concurrency.swift -suppress-warnings -swift-version 5 -o "$folder/own"
refuse own has-its-own 'has a libdispatch in itself'
# A library that is not there: the loader may end before it has listed anything.
printf 'int gone(void) { return 0; }\n' >"$folder/gone.c"
clang -shared -fPIC "$folder/gone.c" -o "$folder/libgone.so"
printf 'int gone(void);\nint main(void) { return gone(); }\n' >"$folder/lacking.c"
clang "$folder/lacking.c" -L "$folder" -lgone -o "$folder/lacking"
rm "$folder/libgone.so"
refuse lacking libraries-missing 'misses libgone.so'
fact "refused: linked statically, a libdispatch of its own, a library that is not there"

# A name that no libdispatch has.
sed 's/int count = 0;/extern void dispatch_to_the_moon(void); int count = 0; if (words > 9) dispatch_to_the_moon();/' \
  "$folder/program.c" >"$folder/moon.c"
clang -I "$theirs" -I "$theirs/Block" "$folder/moon.c" -L "$theirs/linux" "$runpath" -ldispatch \
  -Wl,--unresolved-symbols=ignore-all -o "$folder/moon"
status=0
"$tool" doctor --library "$library" "$folder/moon" >"$folder/doctor" || status=$?
[ "$status" -eq 1 ] || fail "doctor of a program with a missing name ended with $status"
grep -F 'wants what the library lacks: dispatch_to_the_moon.' "$folder/doctor" >/dev/null || fail "$(cat "$folder/doctor")"

# A whole Swift program, with Foundation.
swiftc -swift-version 5 -suppress-warnings -parse-as-library Tests/Programs/DropIn/operations.swift -o "$folder/operations"
"$tool" run --library "$library" -- "$folder/operations" >"$folder/ours"
diff "$folder/ours" <("$folder/operations") || fail "another result by way of the tool"
known=$("$tool" doctor --library "$library" "$folder/operations" | grep '^names')
fact "$known"
