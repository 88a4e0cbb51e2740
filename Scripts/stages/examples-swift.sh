#!/usr/bin/env bash
# Part of GrandCentral. SPDX-License-Identifier: Apache-2.0
# What: the Swift examples build, and do what standard tools do: tr and sort, cat, cp
# Budget: 240

. Scripts/lib.sh

for example in word-index channel-cat channel-copy; do swift build --product "$example" -j "$JOBS"; done
binaries=$(cd "$(swift build --show-bin-path)" && pwd)
folder=$PWD/$OUT/examples-swift
rm -rf "$folder"
mkdir -p "$folder/from/inner/empty"

# Files of ours to read; one is larger than what channels keep on their way, one has holes.
cp ./*.md Sources/GrandCentral/Dispatch/Queues/*.swift "$folder/from/"
find Sources -name '*.swift' -exec cat {} + >"$folder/from/inner/large"
for _ in 1 2 3; do cat "$folder/from/inner/large" "$folder/from/inner/large" >"$folder/twice"; mv "$folder/twice" "$folder/from/inner/large"; done
printf begin >"$folder/from/inner/holes"
truncate --size 1G "$folder/from/inner/holes"
printf middle | dd of="$folder/from/inner/holes" bs=1M seek=500 conv=notrunc status=none
ln -s ../README.md "$folder/from/inner/link"
chmod 640 "$folder/from/README.md"
touch --date 2001-02-03 "$folder/from/README.md"
cd "$folder"

# Copies: the same files, links, permissions, times and holes.
"$binaries/channel-copy" from to | tee said
diff -r --no-dereference from to
[ "$(readlink to/inner/link)" = ../README.md ] || fail "the copy of a link is no link"
[ "$(stat -c '%a %Y' to/README.md)" = "$(stat -c '%a %Y' from/README.md)" ] || fail "permissions or times were lost"
blocks=$(stat -c %b to/inner/holes)
[ "$blocks" -le 10000 ] || fail "the copy of 1 GiB of holes takes $blocks blocks"
if "$binaries/channel-copy" missing copy 2>said; then fail "a missing file was copied"; fi
grep -Fx 'channel-copy: missing: No such file or directory' said >/dev/null || fail "$(cat said)"
fact "channel-copy: files, links, permissions, times and holes are those of the original"

# Concatenates, also what comes through a pipe; goes on after a file that is missing.
cat from/README.md from/inner/large from/README.md >expected
"$binaries/channel-cat" from/README.md - from/README.md <from/inner/large | cmp - expected
status=0
"$binaries/channel-cat" missing from/README.md >found 2>said || status=$?
[ "$status" -eq 1 ] || fail "channel-cat ended with $status after a missing file"
cmp found from/README.md
grep -Fx 'channel-cat: missing: No such file or directory' said >/dev/null || fail "$(cat said)"
count=$("$binaries/channel-cat" /dev/zero 2>said | head -c 100000 | wc -c) || true
[ "$count" -eq 100000 ] || fail "$count of 100000 bytes came through a pipe"
[ ! -s said ] || fail "channel-cat complains of a pipe that nobody reads any more: $(cat said)"
fact "channel-cat: $(stat -c %s expected) bytes"

# Counts words as tr, sort and uniq do.
rm -r from/inner
cat from/* | LC_ALL=C tr -cs 'A-Za-z0-9_\200-\377' '\n' | LC_ALL=C tr '[:upper:]' '[:lower:]' | grep -a . | LC_ALL=C sort | LC_ALL=C uniq -c |
  LC_ALL=C sort -k1,1nr -k2 | awk '{ print $1, $2 }' >expected
"$binaries/word-index" from 1000000 >found
head -n -1 found | cmp - expected
words=$(awk '{ sum += $1 } END { print sum }' expected)
sum="$(find from -type f | wc -l) files, $(cat from/* | wc -c) bytes, $words words"
[ "$(tail -n 1 found)" = "$sum" ] || fail "word-index says $(tail -n 1 found), and it is $sum"
fact "word-index: $sum, $(wc -l <expected) of them distinct"
