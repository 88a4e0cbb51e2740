#!/usr/bin/env bash
# Part of GrandCentral. SPDX-License-Identifier: Apache-2.0
# What: programs with Foundation, the Dispatch overlay and Swift Concurrency print the same on our libdispatch.so
# Budget: 240

. Scripts/lib.sh

prefix=$OUT/dropin-prefix
folder=$OUT/dropin-swift
library=$(pwd)/$prefix/lib/libdispatch.so
mkdir -p "$folder"
Scripts/build-dropin "$prefix"

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

lines=0
programs=(operations runloop processes network tasks overlay)
for program in "${programs[@]}"; do
  swiftc -swift-version 5 -suppress-warnings -parse-as-library "Tests/Programs/DropIn/$program.swift" \
    -o "$folder/$program"
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
loaded=$(LD_LIBRARY_PATH=$prefix/lib LD_DEBUG=libs "$folder/tasks" 2>&1 >/dev/null | grep 'calling init: .*/libdispatch.so')
[[ $loaded == *"$prefix/lib/libdispatch.so" ]] || fail "another library ran them: $loaded"
