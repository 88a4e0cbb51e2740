#!/usr/bin/env bash
# Part of GrandCentral. SPDX-License-Identifier: Apache-2.0
# What: the drop-in builds for aarch64 and for musl, and the programs in C run on it there
# Budget: 450

. Scripts/lib.sh
. Scripts/embedded.sh
. Scripts/cross.sh
. Scripts/dropin.sh

# What differs between processors and C libraries. Documentation/Platforms.md has what is tried by this, and what is not.
need qemu-aarch64 qemu-user

# compile_program PROGRAM [FLAGS...]: makes it in the folder.
compile_program() {
  local program=$1 object=$folder/$1.o
  shift
  "${c_compiler[@]}" -std=gnu17 -O2 -fPIC -fblocks -Wall -Wextra -Werror -Wno-deprecated-declarations -I "$prefix/include" \
    -I "$theirs/Block" "$@" -c "$c_programs/$program.c" -o "$object"
}

# link_program NAME FLAGS...
link_program() {
  "${program_linker[@]}" "$folder/$1.o" "${@:2}" -L "$prefix/lib" -L "$folder" -ldispatch -lBlocksRuntime \
    "-Wl,-rpath,$prefix/lib:$folder" -o "$folder/$1"
}

# run_cases CASE:STATUS...: a case of the program `process`, and what it ends with.
run_cases() {
  local each status cases=0
  for each in "$@"; do
    status=0
    timeout 60 "${launcher[@]}" "$folder/process" "${each%:*}" || status=$?
    [ "$status" -eq "${each#*:}" ] || fail "process, ${each%:*}, ended with $status"
    cases=$((cases + 1))
  done
  fact "process: $cases cases"
}

# try_target TARGET NEEDED...
try_target() {
  local target=$1 program
  use_target "$target" "$OUT/dropin-$target"
  use "$DROPIN-$target" "$OUT/platforms/$target"
  examine "${@:2}"
  # The toolchain has no runtime of blocks for the target.
  compile_program blocks
  "${program_linker[@]}" -shared "$folder/blocks.o" -o "$folder/libBlocksRuntime.so"
  for program in offsets pools functions basics undeclared effects regions sources items lenient cancelled process platform misuse; do
    compile_program "$program"
    link_program "$program"
  done
  for program in offsets pools functions "basics insist" undeclared effects regions sources items lenient cancelled; do
    read -ra words <<<"$program"
    show "${words[0]}" "${launcher[@]}" "$folder/${words[0]}" "${words[@]:1}"
  done
  compile_program plugin -DPLUGIN
  link_program plugin -shared
  mv "$folder/plugin" "$folder/plugin.so"
  compile_program plugin
  "${program_linker[@]}" "$folder/plugin.o" -o "$folder/plugin"
  show plugin "${launcher[@]}" "$folder/plugin" "$folder/plugin.so"
  run_platform
  misuse_each_way
  # The program runs itself by name otherwise, which the kernel cannot do with a program of another processor. QEMU cannot fork a process
  # with several busy threads: it ends by an assertion of its own. It keeps two realtime signals for
  # itself, so a pool thread has another mask than the library has set, and its children keep that. So the program has all cases but the
  # two with such forks, and the one that starts children inside an item.
  case $target in
    aarch64*)
      run_cases execs:0 returns:11 'exits inside an item:12' 'exits on the main queue:12' 'uses queues at exit:13' \
        'leaves the main thread:14' 'dies of a signal:143' 'handles signals:0' 'watches signals:0' 'takes what it blocks:0' \
        'is stopped:0'
      ;;
    *) show process "$folder/process" ;;
  esac
}

# The compilers that the targets take are installed by the first of each kind.
build() { ready_target "$1" >"$OUT/platforms-$1.log" 2>&1 || { cat "$OUT/platforms-$1.log" && fail "the library for $1 is not built"; }; }
build aarch64-musl
build musl &
build aarch64
wait "$!"

fact "aarch64, by $(qemu-aarch64 --version | head -n 1)"
try_target aarch64 ld-linux-aarch64.so.1 libc.so.6
fact "aarch64 with musl"
try_target aarch64-musl libc.so
fact "$(uname -m) with musl"
try_target musl libc.so

# The toolchain has no Swift for other machines. What it says of each, the documents say, until the day on which it has one. Planted: this
# machine's own, and another message.
: >"$OUT/platforms/empty.swift"
# lacks_swift TARGET MESSAGE
lacks_swift() {
  if swiftc -target "$1" -typecheck "$OUT/platforms/empty.swift" >"$OUT/platforms/swift.log" 2>&1; then
    fail "the toolchain compiles Swift for $1 now: Documentation/Platforms.md says that it cannot"
  fi
  grep -F "$2" "$OUT/platforms/swift.log" >/dev/null || fail "swiftc for $1 says something else than $2: $(<"$OUT/platforms/swift.log")"
  grep -F "\`swiftc -target $1\` says \`$2" Documentation/Platforms.md >/dev/null || fail "Documentation/Platforms.md does not say of $1: $2"
}
lacks_swift aarch64-unknown-linux-gnu "error: could not find module 'Swift' for target 'aarch64-unknown-linux-gnu'"
lacks_swift x86_64-swift-linux-musl "error: unable to load standard library for target 'x86_64-swift-linux-musl'"
if (lacks_swift x86_64-unknown-linux-gnu error) 2>"$OUT/platforms/planted.log"; then fail "a Swift for this machine was planted, and not found"; fi
grep -F 'compiles Swift for x86_64-unknown-linux-gnu now' "$OUT/platforms/planted.log" >/dev/null || fail "$(<"$OUT/platforms/planted.log")"
if (lacks_swift x86_64-swift-linux-musl 'error: planted') 2>"$OUT/platforms/planted.log"; then fail "another message was planted, and not found"; fi
grep -F 'says something else than error: planted' "$OUT/platforms/planted.log" >/dev/null || fail "$(<"$OUT/platforms/planted.log")"
fact "no Swift for aarch64 and for musl in this toolchain, as the documents say"
