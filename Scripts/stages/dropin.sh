#!/usr/bin/env bash
# Part of GrandCentral. SPDX-License-Identifier: Apache-2.0
# What: the drop-in libdispatch.so builds, exports what programs expect, and runs programs built for the toolchain's
# Budget: 300

. Scripts/lib.sh

need gcc
need pkg-config
prefix=$PWD/$OUT/dropin-prefix
folder=$OUT/dropin-programs
programs=Tests/Programs/C
library=$prefix/lib/libdispatch.so
theirs=$(dirname "$(dirname "$(readlink -f "$(command -v swiftc)")")")/lib/swift
mkdir -p "$folder"
rm -rf "$prefix" "$OUT/dropin-destination"

# Into a package first, from where it is moved to its place: nothing may know where it was built.
DESTDIR=$OUT/dropin-destination PREFIX=$prefix Scripts/build-dropin
[ ! -e "$prefix" ] || fail "DESTDIR does not keep the prefix untouched"
mv "$OUT/dropin-destination$prefix" "$prefix"
! grep -rqF dropin-destination "$prefix" || fail "what is installed knows where it was built"

needed=$(readelf -d "$library" | sed -n 's/.*NEEDED.*\[\(.*\)\]/\1/p' | sort | paste -sd ' ')
[ "$needed" = libc.so.6 ] || fail "the library needs more than the C library: $needed"
readelf -d "$library" | grep -F 'SONAME' | grep -F '[libdispatch.so]' >/dev/null || fail "the library has no name"
strays=$(nm -D --defined-only --extern-only "$library" | awk '{ print $3 }' |
  grep -vE '^(_?dispatch_|_os_object_|libdispatch)' || true)
[ -z "$strays" ] || fail "exported by accident: $strays"
Scripts/c_interface.py exports "$library"

# run PROGRAM: on our library.
run() { LD_LIBRARY_PATH=$prefix/lib timeout 60 "$@" || fail "$1 ended with $?"; }

# Built for the toolchain's library, run on ours, found by path or preloaded.
binary=(clang -std=gnu17 -O1 -fblocks -Wno-deprecated-declarations -L "$theirs/linux" "-Wl,-rpath,$theirs/linux")
"${binary[@]}" -I "$theirs" -I "$theirs/Block" "$programs/basics.c" -ldispatch -lBlocksRuntime -o "$folder/basics"
timeout 60 "$folder/basics" >/dev/null || fail "the program does not even run on the toolchain's library"
fact "basics: $(run "$folder/basics" insist)"
LD_PRELOAD=$library timeout 60 "$folder/basics" insist >/dev/null || fail "basics, preloaded"

# As position-dependent code: the program has copies of the static objects.
"${binary[@]}" -fno-pie -no-pie -I "$theirs" -I "$theirs/Block" "$programs/basics.c" -ldispatch -lBlocksRuntime \
  -o "$folder/basics-fixed"
fact "basics with copied objects: $(run "$folder/basics-fixed" insist)"

# Built with our headers, with and without blocks, by either compiler.
clang -std=gnu17 -fblocks -I "$prefix/include" -I "$theirs/Block" "$programs/basics.c" -L "$prefix/lib" -ldispatch \
  -L "$theirs/linux" -lBlocksRuntime "-Wl,-rpath,$theirs/linux" -o "$folder/basics-ours"
fact "basics with our headers: $(run "$folder/basics-ours" insist)"
for compiler in gcc clang; do
  for program in functions offsets pools; do
    "$compiler" -std=gnu11 -O2 -Wall -Wextra -Werror -I "$prefix/include" "$programs/$program.c" \
      -L "$prefix/lib" -ldispatch -o "$folder/$program-$compiler"
    fact "$program, $compiler: $(run "$folder/$program-$compiler")"
  done
done

# Blocks, names that no header declares, and processes that fork, end and get signals; by path and preloaded.
for program in undeclared effects process; do
  clang -std=gnu17 -O2 -fblocks -Wall -Wextra -Werror -I "$prefix/include" -I "$theirs/Block" "$programs/$program.c" \
    -L "$prefix/lib" -ldispatch -L "$theirs/linux" -lBlocksRuntime "-Wl,-rpath,$theirs/linux" -o "$folder/$program"
  fact "$program: $(run "$folder/$program")"
  LD_PRELOAD=$library timeout 60 "$folder/$program" >/dev/null || fail "$program, preloaded"
done

# As builds of others find the library.
export PKG_CONFIG_PATH=$prefix/lib/pkgconfig
read -ra flags <<<"$(pkg-config --cflags --libs dispatch)"
gcc "$programs/hello.c" "${flags[@]}" -o "$folder/hello"
run "$folder/hello" >/dev/null
if command -v cmake >/dev/null; then
  rm -rf "$folder/cmake"
  cmake -S "$programs" -B "$folder/cmake" -DCMAKE_PREFIX_PATH="$prefix" >/dev/null
  cmake --build "$folder/cmake" >/dev/null
  timeout 60 "$folder/cmake/hello" >/dev/null || fail "what CMake has built does not run"
  fact "found by pkg-config and CMake"
else
  fact "found by pkg-config; there is no CMake here"
fi
Scripts/c_start.py "$folder/hello" "$prefix/lib" "$theirs/linux"

if LD_LIBRARY_PATH=$theirs/linux timeout 60 "$folder/functions-clang" >/dev/null; then
  fail "the count of allocations counts nothing: the toolchain's library makes some"
fi
g++ -std=c++17 -Wall -Wextra -Werror -x c++ -I "$prefix/include" "$programs/offsets.c" -L "$prefix/lib" -ldispatch \
  -o "$folder/offsets-c++"
fact "offsets, C++: $(run "$folder/offsets-c++")"

# C4: what must not be NULL, and other misuse, ends the process with a message.
clang -std=gnu17 -fblocks -I "$prefix/include" "$programs/misuse.c" -L "$prefix/lib" -ldispatch \
  -L "$theirs/linux" -lBlocksRuntime "-Wl,-rpath,$theirs/linux" -o "$folder/misuse"
ways=0
for way in null-queue:28 null-function:28 null-object:28 not-an-item:29 sync-on-itself:7 resume:1 leave:4 assertion:11 cancel-and-wait:30; do
  status=0
  LD_LIBRARY_PATH=$prefix/lib timeout 60 "$folder/misuse" "${way%:*}" >"$folder/misuse.log" 2>&1 || status=$?
  id=$(printf 'GC%04d' "${way#*:}")
  [ "$status" -gt 128 ] || fail "misuse ${way%:*} ended with $status"
  grep -F "GrandCentral misuse [$id]: " "$folder/misuse.log" >/dev/null || fail "misuse ${way%:*} does not say $id"
  ways=$((ways + 1))
done
fact "misuse: $ways ways"

# A Swift program with the toolchain's Dispatch, Swift Concurrency and Foundation.
for program in concurrency foundation; do
  swiftc -swift-version 5 -suppress-warnings -parse-as-library "$programs/$program.swift" -o "$folder/$program"
  timeout 60 "$folder/$program" >"$folder/$program.theirs" || fail "$program does not run on the toolchain's library"
  run "$folder/$program" >"$folder/$program.ours"
  diff "$folder/$program.theirs" "$folder/$program.ours" || fail "$program prints something else on our library"
  fact "$program: same $(wc -l <"$folder/$program.ours") lines"
done

# ThreadSanitizer wraps what programs submit, and looks into our queues while it does so. It reports nothing.
for program in basics undeclared; do
  "${binary[@]}" -g -fsanitize=thread -I "$prefix/include" -I "$theirs/Block" "$programs/$program.c" \
    -ldispatch -lBlocksRuntime -o "$folder/$program-tsan"
done
swiftc -swift-version 5 -suppress-warnings -parse-as-library -sanitize=thread "$programs/concurrency.swift" \
  -o "$folder/concurrency-tsan"
# A planted race is reported, so that silence means something.
"${binary[@]}" -g -fsanitize=thread -I "$prefix/include" "$programs/race.c" -ldispatch -lBlocksRuntime -o "$folder/race-tsan"
if LD_LIBRARY_PATH=$prefix/lib timeout 60 "$folder/race-tsan" >/dev/null 2>&1; then
  fail "ThreadSanitizer does not find a race between items and their submitter"
fi
for program in basics-tsan undeclared-tsan concurrency-tsan; do
  run "$folder/$program" insist >"$folder/$program.log" 2>&1
  ! grep -q 'WARNING: ThreadSanitizer' "$folder/$program.log" || fail "$program: ThreadSanitizer reports something"
done
fact "ThreadSanitizer: 3 programs, no report"
