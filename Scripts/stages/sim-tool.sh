#!/usr/bin/env bash
# Part of GrandCentral. SPDX-License-Identifier: Apache-2.0
# What: gcd sim finds what is wrong in programs that nobody built again, replays it, and accuses no repaired one
# Budget: 600
# Ahead: GRANDCENTRAL_SIMULATION=1 swift build -c release --package-path DropIn --scratch-path .build-check/dropin-simulation --product dispatch

. Scripts/lib.sh

folder=$(pwd)/$OUT/sim-tool
prefix=$(pwd)/$OUT/sim-tool-prefix
programs=Tests/Programs/Simulated
rm -rf "$folder"
mkdir -p "$folder"
build_tool gcd
tool=$binaries/gcd
Scripts/build-dropin --simulation "$prefix"
library=$prefix/lib/grandcentral/sim
clang -std=gnu11 -fsyntax-only -Wall -Wextra -Werror -I Sources/CPlatform/include -I Sources/CSimulation/include Sources/CSimulation/*.c
seed=${GC_SIM_SEED:-$(od -An -N4 -tu4 /dev/urandom | tr -d ' ')}
fact "GC_SIM_SEED=$seed"

for name in withdraw crossing locks stack pipeline selfpipe request bothways; do
  simulated_program "$name" -o "$folder/$name"
  simulated_program "$name" -DREPAIRED -o "$folder/$name-repaired"
done
simulated_program day -o "$folder/day"
simulated_program ends -o "$folder/ends"
simulated_program waits -o "$folder/waits"
simulated_program polls -o "$folder/polls"
simulated_program corners -o "$folder/corners"
simulated_program signals -o "$folder/signals"
for name in transfers descriptors; do simulated_program "$name" -fblocks -lBlocksRuntime -o "$folder/$name"; done
clang++ -std=c++20 -O1 -Wall -Wextra -Werror "$programs/futures.cpp" -o "$folder/futures"
for name in cache runloop; do
  swiftc -swift-version 6 -parse-as-library "$programs/$name.swift" -o "$folder/$name"
  swiftc -swift-version 6 -parse-as-library -DREPAIRED "$programs/$name.swift" -o "$folder/$name-repaired"
done

# sim ARGUMENT...: what the tool says goes to said, what it prints to printed; its exit code to status.
sim() {
  status=0
  "$tool" sim --library "$library" "$@" >"$folder/printed" 2>"$folder/said" || status=$?
}
told() { fail "$*: exit code $status"$'\n'"$(cat "$folder/said" "$folder/printed")"; }
expect() { grep -F -- "$1" "$folder/$2" >/dev/null || told "there is no '$1'"; }

# found NAME SENTENCE MOST ARGUMENT...: within so many schedules. The replayed token, which is shrunk, fails in the same way.
found() {
  local token
  sim --seed "$seed" --runs "$3" "${@:4}" "$folder/$1"
  [ "$status" -eq 1 ] || told "$1 was not found out"
  expect "simulation: $2" said
  token=$(sed -n 's/^gcd: replay it by: gcd sim --replay \([^ ]*\) .*/\1/p' "$folder/said")
  fact "$1: $(sed -n 's/^gcd: \(after .*\)/\1/p' "$folder/said"), $token"
  cp "$folder/printed" "$folder/first"
  sim --replay "$token" -- "$folder/$1"
  [ "$status" -eq 1 ] || told "$1 does not fail again by $token"
  expect "simulation: $2" said
  cmp -s "$folder/printed" "$folder/first" || told "$1 has another end by $token"
}
# The failing schedule as a trace, which the tool itself reads; and that of a replay which does not fail.
found withdraw 'the program has ended with the code 1' 300 --trace "$folder/trace"
expect 'the balance is -60' printed
converted() {
  "$tool" trace convert "$folder/trace" --format csv --output "$folder/trace.csv" 2>"$folder/said" || told "the trace of $*"
  tr -d '\r' <"$folder/trace.csv" >"$folder/printed"
}
converted withdraw
for words in 'instant,main,begins,' 'slice,gc-default-0,first teller,' ',second teller,' 'sync begins on ""account""'; do
  expect "$words" printed
done
sim --trace "$folder/trace" --replay gc1:s:2: -- "$folder/withdraw"
[ "$status" -eq 0 ] || told "the usual schedule of withdraw"
converted the usual schedule of withdraw
expect 'slice,gc-default-0,first teller,' printed
sim --trace "$folder/none/trace" --replay gc1:s:2: -- "$folder/withdraw"
expect 'none/trace: No such file or directory' said
found crossing 'deadlock: ' 300
expect 'inside an item of "right", waits for its turn on the queue "left"' said
found locks 'deadlock: ' 300
# Where they wait, in an item and in a thread of the program's.
for words in ' waits in count_one, called in thread' ' waits in count_one' 'gcd: main waits in main'; do
  grep -x -- ".*$words" "$folder/said" >/dev/null || told "nothing$words"
done
expect 'waits for a lock, which thread' said
# In a folder whose name is no text as well.
mkdir "$folder/"$'n\xffm'
cp "$folder/locks" "$folder/"$'n\xffm'
sim --seed "$seed" --runs 300 -- "$folder/"$'n\xffm/locks'
expect ' waits in count_one' said
found stack 'the program has ended with the code 1' 900
found pipeline 'the program has ended with the code 1' 300
found selfpipe 'deadlock: main waits for descriptors: 3, a pipe; 5, one of a socket pair' 900
found request 'the program has ended with the code 1' 300
expect 'request 3: 121, not -1' printed
found bothways 'deadlock: main writes to descriptor 4, a pipe; thread 1 writes to descriptor 6, a pipe' 300
found cache 'the program has ended with the code 1' 300
found runloop 'the program has ended with the code 1' 300

# Known bugs in C are found, and their mends are not accused.
needed=()
by_priorities=()
for program in known_steps known_waits; do
  simulated_program "$program" -o "$folder/$program"
  mapfile -t names < <("$folder/$program")
  [ "${#names[@]}" -gt 4 ] || fail "$program lists ${#names[@]} bugs"
  for name in "${names[@]}"; do
    sim --seed "$seed" --runs 1000 --no-shrink -- "$folder/$program" "$name"
    [ "$status" -eq 1 ] || told "$name was not found out"
    needed+=("$(sed -n 's/^gcd: after \([0-9]*\) schedules* .*/\1/p' "$folder/said")")
    sim --seed "$seed" --runs 1000 --strategy pct --no-shrink -- "$folder/$program" "$name"
    [ "$status" -eq 1 ] || told "$name was not found out by priorities"
    by_priorities+=("$(sed -n 's/^gcd: after \([0-9]*\) schedules* .*/\1/p' "$folder/said")")
    sim --seed "$seed" --runs 40 -- "$folder/$program" "$name" repaired
    [ "$status" -eq 0 ] || told "$name, repaired"
  done
done
mapfile -t needed < <(printf '%s\n' "${needed[@]}" | sort -n)
mapfile -t by_priorities < <(printf '%s\n' "${by_priorities[@]}" | sort -n)
[ "${by_priorities[${#by_priorities[@]} / 2]}" -le 20 ] || fail "known bugs in C by priorities: after ${by_priorities[*]} schedules"
fact "${#needed[@]} known bugs in C, found after $(printf '%s ' "${needed[@]}")schedules without a failure; no mend is accused"

# No repaired program is accused, and each schedule has the same events twice.
for name in withdraw crossing locks stack pipeline selfpipe request bothways cache runloop; do
  sim --check --seed "$seed" --runs 40 --strategy random "$folder/$name-repaired"
  [ "$status" -eq 0 ] || told "$name, repaired"
  sim --seed "$seed" --runs 20 --strategy pct "$folder/$name-repaired"
  [ "$status" -eq 0 ] || told "$name, repaired"
done
sim --strategy exhaustive:1 "$folder/withdraw-repaired"
[ "$status" -eq 0 ] || told "all schedules of withdraw, repaired"
expect 'there are no others' said
fact "repaired ones: none accused; $(sed 's/^gcd: //' "$folder/said")"

# A day goes by.
sim --check --runs 3 "$folder/day"
[ "$status" -eq 0 ] || told "a day"

# Right programs, whatever they wait for.
for way in once keys leave outlive spin yield share meet cancel lose codes sleeps past c11 quick; do
  sim --check --seed "$seed" --runs 6 --time-limit 30 -- "$folder/waits" "$way"
  [ "$status" -eq 0 ] || told "waits: $way"
done
for name in futures polls; do
  sim --check --seed "$seed" --runs 20 --time-limit 30 "$folder/$name"
  [ "$status" -eq 0 ] || told "$name"
done
sim --runs 2 -- "$folder/polls" never
[ "$status" -eq 1 ] || told "a poll that nothing ends"
expect 'simulation: deadlock: main waits for descriptors' said
# What the kernel does with pipes, socket pairs, timers, signals and the like is what the simulation does; first of all without one.
for name in transfers descriptors corners signals; do
  timeout 60 "$folder/$name" || fail "$name: a fact that is none"
  mapfile -t facts < <("$folder/$name" names)
  [ "${#facts[@]}" -gt 8 ] || fail "$name lists ${#facts[@]} facts"
  for way in "${facts[@]}"; do
    sim --check --seed "$seed" --runs 6 --time-limit 30 -- "$folder/$name" "$way"
    [ "$status" -eq 0 ] || told "$name: $way"
    sim --seed "$seed" --runs 6 --strategy pct --time-limit 30 -- "$folder/$name" "$way"
    [ "$status" -eq 0 ] || told "$name: $way"
  done
  fact "$name: ${facts[*]}"
done
fact "waits: once, keys, main without its thread, trylock, shared locks, barriers, cancellation, error codes, sleeps, C11, futures, polls: none accused"

# ends WAY SENTENCE ARGUMENT...
ends() {
  sim --runs 2 "${@:3}" -- "$folder/ends" "$1"
  [ "$status" -eq 1 ] || told "$1"
  expect "simulation: $2" said
}
ends code 'the program has ended with the code 3'
ends assertion 'the program is brought down by the signal 6'
ends idle 'deadlock: main waits for items, in dispatch_main'
ends misuse 'GrandCentral misuse [GC0004]'
ends mutex 'deadlock: main waits for a lock, which main holds: the circle is closed'
ends reader 'deadlock: main waits for a lock; thread 1 waits for a lock'
ends endless 'a run does not end: it has passed 2000 points' --step-limit 2000
# What makes a difference is in the command that replays it.
expect "--step-limit 2000 --library $library -- $folder/ends endless" said
ends behind 'deadlock: gc-default-0, inside an item of "behind", waits for'
ends read 'deadlock: main reads descriptor 3, a pipe'
ends shared 'escape: the thread "main" has computed, or waited outside of the simulation' --time-limit 2
expect 's: it waits in the call read of descriptor 3, pipe:' said
ends mixed 'escape: no thread can go on but by what is outside: main waits for descriptors: 3, of the outside; 4, a pipe' --time-limit 2
ends signal 'escape: the program has sent itself a signal'
ends orphan 'escape: a child, or a timer of the kernel, may send the program a signal'
ends awaited 'escape: another process may send the signal that is waited for: main waits for a signal'
ends broken 'the program is brought down by the signal 13, SIGPIPE'
ends threads 'there is no thread for the simulation: a run has 4095 in all at most'
ends stranger 'escape: the thread'
expect 'which the simulation has not started, has used the library beside it' said
# A thread that takes no part may be the one that would wake others: that is no deadlock.
ends early 'escape: a thread that was started before main takes no part'
for way in clock spin rounds free child random alarm handler nobody exhausted; do
  # The one that gives root's rights up has to reach the folder of its report afterwards.
  TMPDIR=/tmp sim --check --runs 2 --strategy pct -- "$folder/ends" "$way"
  [ "$status" -eq 0 ] || told "$way"
done

# What was read from outside is told, and is no failure.
sim --runs 2 -- "$folder/ends" outside
[ "$status" -eq 0 ] || told "what is outside"
expect 'gcd: read from outside in the last one: /dev/urandom, 2 times; a socket, once' said

# What is left is told, and is no failure.
sim --runs 2 -- "$folder/ends" left
[ "$status" -eq 0 ] || told "what is left"
expect 'left at the end of the last one: one timer has not fired; the queue "halted" is suspended' said
# A label with more than one line stays on its own.
ends lines 'deadlock: main waits for its turn on the queue "two\nlines", which is suspended'
expect 'submits to "two\nlines"' printed
ends quit 'the program was stopped from outside, by the signal 3, SIGQUIT'
# Killed by a signal that nobody catches, or without a stack for a handler: that signal it is.
ends terminate 'the program is brought down by the signal 15, SIGTERM'
ends stack 'the program is brought down by the signal 11, SIGSEGV'
ends exec 'the program has ended with the code 0, and the simulation has not seen that'
# A thread that has locked its output does not keep the report back.
ends locked 'deadlock: main waits for a lock, which main holds' --time-limit 20
ends pause 'deadlock: main sleeps for ever'
# A token of another program is not taken for this one's.
sim --replay gc1:s:2:1.99.2 "$folder/withdraw"
[ "$status" -eq 0 ] || told "a token of another program"
expect 'the token does not fit' said

# Whatever happens to the tool, it leaves no process and no file. A program that would go on for a minute is ended with it.
mkdir "$folder/temporary"
TMPDIR=$folder/temporary sim --runs 2 -- "$folder/ends" flood
[ "$status" -eq 1 ] || told "too much output"
expect 'the program has written more than 256 MB' said
# A report has its place wherever the program goes; one that is cut off is told, and no other program is looked for.
status=0
env -C "$folder/temporary" TMPDIR=. "$tool" sim --library "$library" -- "$folder/ends" elsewhere >"$folder/printed" 2>"$folder/said" || status=$?
[ "$status" -eq 0 ] || told "a program in another folder"
ends full 'the program has ended with the code 0, and its report is cut off: is there room in '
# A pipe without a reader.
mkfifo "$folder/pipe"
exec 8<>"$folder/pipe"
exec 9>"$folder/pipe"
exec 8<&-
status=0
TMPDIR=$folder/temporary "$tool" sim --library "$library" --seed "$seed" --runs 300 "$folder/withdraw" >&9 2>"$folder/said" || status=$?
exec 9>&-
[ "$status" -eq 1 ] || told "a pipe without a reader"
# interrupted SIGNAL CODE: Ctrl-\ as well, which a shell has what it starts in the background ignore.
interrupted() {
  local tool_process status=0
  TMPDIR=$folder/temporary env --default-signal "$tool" sim --library "$library" -- "$folder/ends" for-ever >"$folder/printed" 2>"$folder/said" &
  tool_process=$!
  until ls "$folder"/temporary/*/output >"$folder/printed" 2>&1; do kill -0 "$tool_process" || told "the tool has not begun"; done
  SECONDS=0
  kill "-$1" "$tool_process"
  wait "$tool_process" || status=$?
  [ "$status" -eq "$2" ] || told "a tool that is told to end: $status"
  [ "$SECONDS" -lt 8 ] || told "it has ended after $SECONDS s"
  expect '0 schedules, none of which has failed' said
}
interrupted TERM 143
interrupted QUIT 131
[ -z "$(ls -A "$folder/temporary")" ] || told "left behind: $(ls -A "$folder/temporary")"

# The planted fault of --check: a program that goes another way each time.
sim --check --runs 2 -- "$folder/ends" file "$folder/grows"
[ "$status" -eq 1 ] || told "a program that depends on a file"
expect 'the program depends on something that is not simulated' said
expect 'gcd: both: ' said
expect 'begins on "even"' said

# Without the tool: the report is for people, and the exit code a stated one.
status=0
GRANDCENTRAL_SIMULATE=1 LD_PRELOAD=$library/libdispatch.so "$folder/ends" idle 2>"$folder/said" || status=$?
[ "$status" -eq 99 ] || told "a simulation without the tool"
expect 'Replay it by GRANDCENTRAL_SIMULATE=gc1:r:1:2' said

# Not asked to simulate, the library is as the other one is.
LD_PRELOAD=$library/libdispatch.so "$folder/withdraw-repaired" >"$folder/printed"
expect 'the balance is 20' printed
fact "ends: by code, assertion, idleness, misuse, mutex, steps, reads, polls, a signal, a stranger; clocks, spinning, children, random numbers"
