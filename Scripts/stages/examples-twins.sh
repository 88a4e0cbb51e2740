#!/usr/bin/env bash
# Part of GrandCentral. SPDX-License-Identifier: Apache-2.0
# What: the larger Swift examples do what they say, and print what the same sources print on the toolchain's library; how long both take
# Budget: 300

. Scripts/lib.sh

folder=$PWD/$OUT/examples-twins
rm -rf "$folder"
mkdir -p "$folder/ours" "$folder/twin"

# --- Each program twice, in the same way: on our library, and with -DTWIN on the toolchain's Dispatch.

swift build -c release --product word-index -j "$JOBS"
release=$(swift build -c release --show-bin-path)
# The objects of the library are those that an example was linked with.
grep -v '/word_index\.build/' "$release/word-index.product/Objects.LinkFileList" >"$folder/objects"
include=Sources/CPlatform/include
flags=(-O -swift-version 6 -parse-as-library -module-name Example -warnings-as-errors)
ours() {
  swiftc "${flags[@]}" -I "$release/Modules" -I "$include" -Xcc "-fmodule-map-file=$include/module.modulemap" \
    "Examples/swift/$1"/*.swift "@$folder/objects" -o "$folder/ours/$1"
}
twin() { swiftc "${flags[@]}" -DTWIN "Examples/swift/$1"/*.swift -o "$folder/twin/$1"; }
programs=(image-pipeline parallel-grep http-echo job-runner log-follower)
build_all() {
  local side=$1 program
  shift
  for program in "$@"; do "$side" "$program" || return; done
}
build_all twin "${programs[@]}" &
twins=$!
build_all ours "${programs[@]}" || fail "an example does not build"
wait "$twins" || fail "a twin does not build"
# A queue of the toolchain's library, as the linker knows it.
uses_theirs() { [ "$(nm "$folder/$1" | grep -c '8Dispatch0A5QueueC')" -gt 0 ]; }
for program in "${programs[@]}"; do
  if uses_theirs "ours/$program"; then fail "$program uses the toolchain's library"; fi
  uses_theirs "twin/$program" || fail "the twin of $program does not use the toolchain's library"
done

# both PROGRAM STATUS ARGUMENTS...: runs both in folders of their own; they end with that status and print the same.
both() {
  local program=$1 expected=$2 side status begin
  local -A lasted=()
  shift 2
  for side in ours twin; do
    mkdir -p "$folder/$side-$program"
    status=0
    begin=${EPOCHREALTIME/./}
    (cd "$folder/$side-$program" && timeout 120 "$folder/$side/$program" "$@" >said 2>complained) || status=$?
    lasted[$side]=$(((${EPOCHREALTIME/./} - begin) / 1000))
    [ "$status" -eq "$expected" ] || fail "$program ($side) ended with $status: $(tail -n 3 "$folder/$side-$program/complained")"
  done
  diff -r "$folder/ours-$program" "$folder/twin-$program" >"$folder/differences" ||
    fail "$program and its twin differ: $(head -n 5 "$folder/differences")"
  times="${lasted[ours]} ms, its twin ${lasted[twin]} ms"
}

# --- Pictures: the same figures, and the same sheet.

both image-pipeline 0 8 sheet.ppm
found=$folder/ours-image-pipeline
[ "$(head -n 1 "$found/sheet.ppm")" = "P5 512 64 255" ] || fail "the sheet begins with $(head -n 1 "$found/sheet.ppm")"
[ "$(stat -c %s "$found/sheet.ppm")" -eq $((14 + 512 * 64)) ] || fail "the sheet has $(stat -c %s "$found/sheet.ppm") bytes"
[ "$(tail -n 1 "$found/said")" = "8 pictures, 6 motifs" ] || fail "image-pipeline says $(tail -n 1 "$found/said")"
fact "image-pipeline: $(tail -n 1 "$found/said"), $times"

# --- Lines, as grep finds them: in our sources, across pieces of a large file, in one without an end of the last line.

tree=$folder/tree
mkdir -p "$tree/inner/empty"
cp -r Sources Documentation "$tree/"
find Sources -name '*.swift' -exec cat {} + >"$tree/inner/large"
for _ in 1 2; do cat "$tree/inner/large" "$tree/inner/large" >"$folder/twice"; mv "$folder/twice" "$tree/inner/large"; done
printf 'no atomic\nan Atomic at the end' >"$tree/inner/last"
: >"$tree/inner/nothing"
both parallel-grep 0 Atomic "$tree"
LC_ALL=C grep -rnaF Atomic "$tree" | LC_ALL=C sort >"$folder/expected"
LC_ALL=C sort "$folder/ours-parallel-grep/said" | cmp - "$folder/expected" || fail "parallel-grep finds other lines than grep"
fact "parallel-grep: $(wc -l <"$folder/expected") lines, those of grep, $times"
both parallel-grep 1 'no line has this' "$found"

# --- Jobs: all that one needs has ended before it begins; a resource has one user; what needs a failure is skipped.

cat >"$folder/jobs" <<'JOBS'
# NAME : OPTIONS : COMMAND
clean   :                            : rm -rf work lock && mkdir work
numbers : after clean, urgent        : seq 1 1000 | tee work/numbers | wc -l
squares : after numbers              : awk '{ print $1 * $1 }' work/numbers >work/squares
cubes   : after numbers, background  : awk '{ print $1 ^ 3 }' work/numbers >work/cubes
sum     : after squares cubes        : paste work/squares work/cubes | awk '{ s += $1 + $2 } END { printf "%.0f\n", s }'
broken  : after clean                : echo on its way; exit 3
never   : after broken sum           : touch work/never
JOBS
cat >"$folder/promised" <<'SAID'
clean: done
numbers: done
  1000
squares: done
cubes: done
sum: done
  250834083500
broken: failed, status 3
  on its way
never: skipped, for broken has not succeeded
SAID
for number in 1 2 3 4 5 6 7 8; do
  echo "disk$number : after clean, on disk : mkdir lock && seq 1 2000 >work/disk && rmdir lock"
  echo "disk$number: done" >>"$folder/promised"
done >>"$folder/jobs"
both job-runner 1 "$folder/jobs" 3
diff "$folder/promised" "$folder/ours-job-runner/said" || fail "job-runner says something else than promised"
fact "job-runner: $(grep -c ': ' "$folder/promised") jobs, $times"
for line in 'a : after b : true' 'a : soon : true' 'a b : : true' 'a true'; do
  echo "$line" >"$folder/jobs"
  both job-runner 2 "$folder/jobs"
done

# --- 10,000 connections at the same time.

# echo_run SIDE: a server and a client; sets `answer` and `took`.
echo_run() {
  local program=$folder/$1/http-echo server port begin
  exec 4< <(exec "$program" serve)
  server=$!
  read -r -t 20 _ port <&4 || fail "http-echo ($1) does not serve"
  begin=${EPOCHREALTIME/./}
  answer=$(timeout 120 "$program" load "$port" 10000) || fail "http-echo ($1): $answer"
  took=$(((${EPOCHREALTIME/./} - begin) / 1000))
  # What is no request is refused; two requests in one piece get two answers.
  exec 5<>"/dev/tcp/127.0.0.1/$port"
  printf 'GET / HTTP/1.1\r\nContent-Length: many\r\n\r\n' >&5
  [ "$(tr -d '\r' <&5 | head -n 1)" = 'HTTP/1.1 400 Bad Request' ] || fail "http-echo ($1) takes what is no request"
  exec 5<>"/dev/tcp/127.0.0.1/$port"
  printf 'PUT / HTTP/1.1\r\nContent-Length: 3\r\n\r\noneGET / HTTP/1.1\r\nConnection: close\r\ncontent-length: 3\r\n\r\ntwo' >&5
  [ "$(tr -d '\r\n' <&5)" = 'HTTP/1.1 200 OKContent-Length: 3oneHTTP/1.1 200 OKContent-Length: 3two' ] ||
    fail "http-echo ($1) does not answer two requests in one piece"
  exec 5>&-
  kill "$server"
  exec 4<&-
}
echo_run twin
twin_took=$took twin_answer=$answer
echo_run ours
[ "$answer" = "$twin_answer" ] || fail "http-echo says $answer, and its twin $twin_answer"
count=$(awk 'END { print $1 }' <<<"$answer")
[ "$(tail -n 1 <<<"$answer")" = "$count connections at the same time, $count right answers, 0 wrong" ] || fail "$answer"
[ "$count" -eq 10000 ] || grep -q '^the limit on descriptors' <<<"$answer" || fail "without a reason: $answer"
while read -r line; do fact "http-echo: $line"; done <<<"$answer"
fact "http-echo: $took ms, its twin $twin_took ms"
if "$folder/ours/http-echo" load 1 10 2>"$folder/complained"; then fail "http-echo calls where nobody listens"; fi

# --- A log that grows, is renamed, cut off, deleted and made anew. What the follower prints says when to go on.

# follower_run SIDE: sets `took`. A second follower complains that the folder is renamed.
follows() {
  local line
  read -r -t 30 line <&"$follower" || fail "log-follower ($side) does not say: $1"
  [ "$line" = "$1" ] || fail "log-follower ($side) says $line in place of $1"
}
follower_run() {
  local side=$1 logs=$folder/logs-$1 begin follower process status=0
  local log=$logs/app.log
  mkdir "$logs"
  begin=${EPOCHREALTIME/./}
  coproc FOLLOW { exec "$folder/$side/log-follower" "$log" END; }
  # The process may end before its descriptors have been read.
  # shellcheck disable=SC2153 # FOLLOW is the coprocess.
  exec {follower}<&"${FOLLOW[0]}"
  process=$FOLLOW_PID
  echo begins >"$log"
  follows begins
  printf half >>"$log"
  echo ' a line' >>"$log"
  follows 'half a line'
  mv "$log" "$log.1"
  echo 'after the renaming' >>"$log.1"
  follows 'after the renaming'
  echo 'a new file' >"$log"
  follows 'a new file'
  : >"$log"
  echo short >>"$log"
  follows short
  rm "$log"
  seq 1 5000 >"$log"
  mapfile -t -n 5000 -u "$follower" lines
  seq 1 5000 | cmp - <(printf '%s\n' "${lines[@]}") || fail "log-follower ($side) says ${#lines[@]} lines of 5000, or others"
  echo END >>"$log"
  follows END
  wait "$process" || fail "log-follower ($side) ended with $?"
  took=$(((${EPOCHREALTIME/./} - begin) / 1000))
  exec {follower}<&-
  coproc FOLLOW { exec "$folder/$side/log-follower" "$log" 2>"$folder/complained"; }
  exec {follower}<&"${FOLLOW[0]}"
  process=$FOLLOW_PID
  follows 1
  mv "$logs" "$logs.1"
  wait "$process" || status=$?
  [ "$status:$(<"$folder/complained")" = "1:log-follower: $logs/: the folder is gone" ] ||
    fail "log-follower ($side), without a folder, ends with $status: $(<"$folder/complained")"
  exec {follower}<&-
}
follower_run twin
twin_took=$took
follower_run ours
fact "log-follower: a log that is renamed, cut off, deleted and made anew, $took ms, its twin $twin_took ms"

# --- The comparison can fail.

printf '#!/bin/sh\necho 8 pictures, 7 motifs\n' >"$folder/twin/image-pipeline"
if (both image-pipeline 0 8 sheet.ppm) 2>"$folder/complained"; then fail "a twin that differs was planted, and not found"; fi
grep -q 'and its twin differ' "$folder/complained" || fail "the planted twin fails for another reason: $(<"$folder/complained")"
