#!/usr/bin/env bash
# Part of GrandCentral. SPDX-License-Identifier: Apache-2.0
# What: the C examples build with our headers, run on our library, and print what they say
# Budget: 240

. Scripts/lib.sh

# C3: each of the documents' listings is a program, and prints what it says.
folder=$OUT/examples-c
theirs=$(toolchain)
mkdir -p "$folder"
ready_dropin

# What the head of an example says that it prints: promised FILE. Sets `promise` and `sorted`.
promised() {
  sorted='cat'
  grep -q '^// Prints, in any order:$' "$1" && sorted='sort'
  promise=$(sed -n '/^\/\/ Prints/,/^$/ s|^//   ||p' "$1")
  [ -n "$promise" ] || fail "$1 does not say what it prints"
}

# Compares what a program prints: compare PROGRAM. Sets `output`.
compare() {
  local status=0
  output=$(cd "$folder" && LD_LIBRARY_PATH=$DROPIN/lib timeout 60 "./$1" 2>&1) || status=$?
  [ "$status" -eq 0 ] || { printf '%s\n' "$output"; fail "$1 ended with $status"; }
  diff <("$sorted" <<<"$promise") <("$sorted" <<<"$output")
}

need gcc
count=0
for file in Examples/c/*.c; do
  name=$(basename "$file" .c)
  clang -std=gnu17 -fblocks -O1 -Wall -Wextra -Werror -I "$DROPIN/include" "$file" -o "$folder/$name" \
    -L "$DROPIN/lib" -ldispatch -L "$theirs/linux" -lBlocksRuntime "-Wl,-rpath,$theirs/linux"
  promised "$file"
  compare "$name" || fail "$name prints something else than it says"
  count=$((count + 1))
done
fact "$count programs print what they say"

# What has no blocks needs neither clang nor the blocks' runtime.
gcc -std=c99 -Wall -Wextra -Werror -I "$DROPIN/include" Examples/c/functions.c -o "$folder/functions-gcc" \
  -L "$DROPIN/lib" -ldispatch "-Wl,-rpath,$DROPIN/lib"
promised Examples/c/functions.c
compare functions-gcc || fail "functions.c, by gcc, prints something else"

# The comparison can fail.
promise="$promise!"
if compare functions-gcc >/dev/null; then fail "the comparison finds nothing"; fi
