# Part of GrandCentral. SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# What the stages that run programs on a drop-in share. Sourced after lib.sh.

# What comes with the toolchain: headers, and below linux the libraries.
theirs=$(toolchain)
c_programs=Tests/Programs/C
# Built for the toolchain's library, which they find by themselves.
binary=(clang -std=gnu17 -O1 -fblocks -Wno-deprecated-declarations -L "$theirs/linux" "-Wl,-rpath,$theirs/linux")

# What a program is run on; the stage says which.
prefix=''
library=''
# What runs programs of another processor.
launcher=()
folder=''

# use PREFIX FOLDER: the library below PREFIX; programs and their output go to FOLDER.
use() {
  prefix=$(readlink -f "$1") folder=$2
  library=$prefix/lib/libdispatch.so
  mkdir -p "$folder"
}

# run PROGRAM ARGUMENTS...: on the library, found by path.
run() { LD_LIBRARY_PATH=$prefix/lib timeout 60 "$@" || fail "$1 ended with $?"; }

# show NAME PROGRAM ARGUMENTS...: as `run`, with what it prints as a fact. Of a "$(…)" among other words no failure would be noticed.
show() {
  local said
  said=$(run "${@:2}")
  fact "$1: $said"
}

# run_preloaded PROGRAM ARGUMENTS...
run_preloaded() { LD_PRELOAD=$library timeout 60 "$@" >/dev/null || fail "$1, preloaded, ended with $?"; }

# examine NEEDED...: the library's name, what it needs, and what it exports: the interface, and five functions of the C library that it
# stands before, so that masks of its threads are no affair of the program's (Sources/CPlatform/Masks.c).
examine() {
  local needed strays
  needed=$(readelf -d "$library" | sed -n 's/.*NEEDED.*\[\(.*\)\]/\1/p' | sort | paste -sd ' ')
  [ "$needed" = "$*" ] || fail "the library needs $needed, and not $*"
  readelf -d "$library" | grep -F 'SONAME' | grep -F '[libdispatch.so]' >/dev/null || fail "the library has no name"
  strays=$("${NM:-nm}" -D --defined-only --extern-only "$library" | awk '{ print $3 }' |
    grep -vE '^(_?dispatch_|_os_object_|libdispatch)|^(posix_spawnp?|pthread_sigmask|raise|sigprocmask)$' || true)
  [ -z "$strays" ] || fail "exported by accident: $strays"
  Scripts/c_interface.py exports "$library"
  # E10: nothing that waits gives its processor to a neighbour.
  ! "${NM:-nm}" -D --undefined-only "$library" | grep -w sched_yield >/dev/null || fail "the library yields"
}

# swift_program SOURCE PROGRAM FLAGS...: compiles what another stage has not compiled already.
swift_program() {
  [ "$2" -nt "$1" ] || swiftc -swift-version 5 -suppress-warnings -parse-as-library "${@:3}" "$1" -o "$2"
}

# Programs in C: built for the toolchain's library, with and without copies of the static objects, and built with our
# headers; blocks, names that no header declares, and processes that fork, end and get signals.
run_c_programs() {
  local program compiler
  "${binary[@]}" -I "$theirs" -I "$theirs/Block" "$c_programs/basics.c" -ldispatch -lBlocksRuntime -o "$folder/basics"
  timeout 60 "$folder/basics" >/dev/null || fail "the program does not even run on the toolchain's library"
  show basics "$folder/basics" insist
  run_preloaded "$folder/basics" insist

  # As position-dependent code: the program has copies of the static objects.
  "${binary[@]}" -fno-pie -no-pie -I "$theirs" -I "$theirs/Block" "$c_programs/basics.c" -ldispatch -lBlocksRuntime \
    -o "$folder/basics-fixed"
  show "basics with copied objects" "$folder/basics-fixed" insist

  clang -std=gnu17 -fblocks -I "$prefix/include" -I "$theirs/Block" "$c_programs/basics.c" -L "$prefix/lib" -ldispatch \
    -L "$theirs/linux" -lBlocksRuntime "-Wl,-rpath,$theirs/linux" -o "$folder/basics-ours"
  show "basics with our headers" "$folder/basics-ours" insist
  for compiler in gcc clang; do
    for program in functions offsets pools; do
      "$compiler" -std=gnu11 -O2 -Wall -Wextra -Werror -I "$prefix/include" "$c_programs/$program.c" \
        -L "$prefix/lib" -ldispatch -o "$folder/$program-$compiler"
      show "$program, $compiler" "$folder/$program-$compiler"
    done
  done

  clang -std=gnu17 -Wall -Wextra -Werror -fPIC -shared -fblocks -DPLUGIN -I "$prefix/include" "$c_programs/plugin.c" \
    -L "$prefix/lib" -ldispatch -o "$folder/plugin.so"
  gcc -Wall -Wextra -Werror "$c_programs/plugin.c" -ldl -o "$folder/plugin"
  show plugin "$folder/plugin" "$folder/plugin.so"

  # Built with the toolchain's headers, it runs on both libraries.
  "${binary[@]}" -I "$theirs" -I "$theirs/Block" "$c_programs/lenient.c" -ldispatch -lBlocksRuntime -o "$folder/lenient-theirs"
  timeout 60 "$folder/lenient-theirs" >/dev/null || fail "lenient expects something else of the toolchain's library"
  show "lenient with the toolchain's headers" "$folder/lenient-theirs"

  for program in undeclared effects regions sources answers process objects items lenient cancelled; do
    clang -std=gnu17 -O2 -fblocks -Wall -Wextra -Werror -I "$prefix/include" -I "$theirs/Block" \
      "$c_programs/$program.c" -L "$prefix/lib" -ldispatch -L "$theirs/linux" -lBlocksRuntime \
      "-Wl,-rpath,$theirs/linux" -o "$folder/$program"
    show "$program" "$folder/$program"
    run_preloaded "$folder/$program"
  done

  # On a runtime of blocks that counts references in steps of one, as Debian's does.
  clang -std=gnu17 -fblocks -Wall -Wextra -Werror -rdynamic -DONE=1 -I "$prefix/include" -I "$theirs/Block" \
    "$c_programs/items.c" "$c_programs/blocks.c" -L "$prefix/lib" -ldispatch -o "$folder/items-ones"
  show "items, counted in ones" "$folder/items-ones"

  gcc -std=gnu17 -O2 -Wall -Wextra -Werror -I "$prefix/include" "$c_programs/platform.c" -L "$prefix/lib" -ldispatch \
    -o "$folder/platform"
  run_platform
}

# As `run`, of the program about what differs between platforms, built in the folder: each of its parts.
run_platform() {
  local part
  for part in stack cycle frames; do show platform "${launcher[@]}" "$folder/platform" "$part"; done
}

# build_as_others PREFIX: a build by pkg-config, and one by CMake, find the library below PREFIX, and what they have built
# runs on it.
build_as_others() {
  local flags ours program
  ours=$(readlink -f "$1/lib/libdispatch.so")
  read -ra flags <<<"$(PKG_CONFIG_PATH=$1/lib/pkgconfig pkg-config --cflags --libs dispatch)"
  gcc "$c_programs/hello.c" "${flags[@]}" "-Wl,-rpath,$1/lib" -o "$folder/hello"
  # CMake comes by a link to the folder of libraries, as /lib is one.
  rm -rf "$folder/cmake" "$folder/linked"
  mkdir "$folder/linked"
  ln -s "$1/lib" "$folder/linked/lib"
  cmake -S "$c_programs" -B "$folder/cmake" -DCMAKE_PREFIX_PATH="$(readlink -f "$folder/linked")" >/dev/null
  cmake --build "$folder/cmake" >/dev/null
  for program in "$folder/hello" "$folder/cmake/hello"; do
    timeout 60 "$program" >/dev/null || fail "$program does not run"
    [ "$(readlink -f "$(ldd "$program" | sed -n 's/.*libdispatch.so => \(.*\) (.*/\1/p')")" = "$ours" ] ||
      fail "$program is not linked with $ours"
  done
}

# What must not be NULL, and other misuse, ends the process with a message.
run_misuse() {
  clang -std=gnu17 -fblocks -I "$prefix/include" "$c_programs/misuse.c" -L "$prefix/lib" -ldispatch \
    -L "$theirs/linux" -lBlocksRuntime "-Wl,-rpath,$theirs/linux" -o "$folder/misuse"
  misuse_each_way
}

# The program for it has been built in the folder. Each way has the number of its fault, and what the message begins with where another
# function's name could stand there.
misuse_each_way() {
  local ways=0 each way id call status
  for each in null-queue:28 null-function:28 null-object:28 null-group:28 null-semaphore:28 null-source:28 \
    not-an-item:29 sync-on-itself:7 release-inside:39 resume:1 leave:4 assertion:11 \
    cancel-and-wait:30 width:31 merge-into-timer:33 time-for-signal:33 null-for-read:28:dispatch_read null-for-write:28:dispatch_write \
    null-for-io-read:28:dispatch_io_read null-for-io-write:28:dispatch_io_write null-for-read-f:28:dispatch_read_f \
    null-for-write-f:28:dispatch_write_f null-for-io-read-f:28:dispatch_io_read_f null-for-io-write-f:28:dispatch_io_write_f \
    null-for-apply:28:dispatch_data_apply; do
    IFS=: read -r way id call <<<"$each"
    status=0
    LD_LIBRARY_PATH=$prefix/lib timeout 60 "${launcher[@]}" "$folder/misuse" "$way" >"$folder/misuse.log" 2>&1 || status=$?
    id=$(printf 'GC%04d' "$id")
    [ "$status" -gt 128 ] || fail "misuse $way ended with $status"
    grep -F "GrandCentral misuse [$id]: ${call:+$call was }" "$folder/misuse.log" >/dev/null ||
      fail "misuse $way does not say $id${call:+ and $call}"
    ways=$((ways + 1))
  done
  fact "misuse: $ways ways"
}

# ThreadSanitizer wraps what programs submit, and looks into our queues while it does so. It reports nothing.
run_sanitized() {
  local program
  for program in basics undeclared; do
    "${binary[@]}" -g -fsanitize=thread -I "$prefix/include" -I "$theirs/Block" "$c_programs/$program.c" \
      -ldispatch -lBlocksRuntime -o "$folder/$program-tsan"
  done
  swift_program "$c_programs/concurrency.swift" "$folder/concurrency-tsan" -sanitize=thread
  # A planted race is reported, so that silence means something.
  "${binary[@]}" -g -fsanitize=thread -I "$prefix/include" "$c_programs/race.c" -ldispatch -lBlocksRuntime \
    -o "$folder/race-tsan"
  if LD_LIBRARY_PATH=$prefix/lib timeout 60 "$folder/race-tsan" >/dev/null 2>&1; then
    fail "ThreadSanitizer does not find a race between items and their submitter"
  fi
  for program in basics-tsan undeclared-tsan concurrency-tsan; do
    keep "$program" env LD_LIBRARY_PATH="$prefix/lib" "$folder/$program" insist
    ! grep -q 'WARNING: ThreadSanitizer' "$folder/$program.out" "$folder/$program.err" ||
      fail "$program: ThreadSanitizer reports something"
  done
  fact "ThreadSanitizer: 3 programs, no report"
}

# Runs a program and keeps what it prints: try NAME COMMAND...
try() {
  local name=$1
  shift
  timeout 60 "$@" >"$folder/$name.out" 2>"$folder/$name.err"
}

# As `try`, and the program must not fail.
keep() {
  local status=0
  try "$@" || status=$?
  [ "$status" -eq 0 ] || { tail -n 20 "$folder/$1.out" "$folder/$1.err"; fail "$1 ended with $status"; }
}

# Programs with Foundation, the Dispatch overlay and Swift Concurrency print the same as on the toolchain's library.
run_swift_programs() {
  local program way loaded lines=0 programs=(operations runloop processes network tasks overlay)
  for program in "${programs[@]}"; do
    swift_program "Tests/Programs/DropIn/$program.swift" "$folder/$program"
    if ! try "$program-theirs" "$folder/$program"; then
      # A machine without a loopback address, for one, says nothing about us.
      fact "$program does not run here on the toolchain's library either"
      continue
    fi
    keep "$program-ours" env LD_LIBRARY_PATH="$prefix/lib" "$folder/$program"
    keep "$program-preloaded" env LD_PRELOAD="$library" "$folder/$program"
    for way in ours preloaded; do
      diff "$folder/$program-theirs.out" "$folder/$program-$way.out" || fail "$program prints something else: $way"
    done
    lines=$((lines + $(wc -l <"$folder/$program-ours.out")))
  done
  [ "$lines" -gt 40 ] || fail "the programs print $lines lines only"
  fact "${#programs[@]} programs, $lines lines: the same by path, and preloaded"

  # It was our library that ran them: the loader tells.
  for way in LD_LIBRARY_PATH="$prefix/lib" LD_PRELOAD="$library"; do
    loaded=$(env "$way" LD_DEBUG=libs "$folder/tasks" 2>&1 >/dev/null | grep 'calling init: .*/libdispatch.so')
    [[ $loaded == *"$prefix/lib/libdispatch.so" ]] || fail "another library ran them: $loaded"
  done
}
