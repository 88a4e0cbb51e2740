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

# Runs a program and keeps what it prints: keep NAME COMMAND...
keep() {
  local name=$1 status=0
  shift
  timeout 60 "$@" >"$folder/$name.out" 2>"$folder/$name.err" || status=$?
  [ "$status" -eq 0 ] || { tail -n 20 "$folder/$name.out" "$folder/$name.err"; fail "$name ended with $status"; }
}

lines=0
programs=(operations runloop processes network tasks overlay)
for program in "${programs[@]}"; do
  swiftc -swift-version 5 -suppress-warnings -parse-as-library "Tests/Programs/DropIn/$program.swift" \
    -o "$folder/$program"
  keep "$program-theirs" "$folder/$program"
  keep "$program-ours" env LD_LIBRARY_PATH="$prefix/lib" "$folder/$program"
  keep "$program-preloaded" env LD_PRELOAD="$library" "$folder/$program"
  for way in ours preloaded; do
    diff "$folder/$program-theirs.out" "$folder/$program-$way.out" || fail "$program prints something else: $way"
  done
  lines=$((lines + $(wc -l <"$folder/$program-ours.out")))
done
[ "$lines" -gt 60 ] || fail "the programs print $lines lines only"
fact "${#programs[@]} programs, $lines lines: the same by path, and preloaded"

# It was our library that ran them: the loader tells.
loaded=$(LD_LIBRARY_PATH=$prefix/lib LD_DEBUG=libs "$folder/tasks" 2>&1 >/dev/null | grep 'calling init: .*/libdispatch.so')
[[ $loaded == *"$prefix/lib/libdispatch.so" ]] || fail "another library ran them: $loaded"
