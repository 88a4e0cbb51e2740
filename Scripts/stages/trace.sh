#!/usr/bin/env bash
# Part of GrandCentral. SPDX-License-Identifier: Apache-2.0
# What: gcd trace records programs that stay as they are; Perfetto's own engine counts every item, flow and loss; gdb at the probes
# Budget: 900

. Scripts/lib.sh

folder=$(pwd)/$OUT/trace
rm -rf "$folder"
mkdir -p "$folder"
need node nodejs
need pkill procps

. Scripts/perfetto/install.sh
engine() { perfetto engine_bundle.js; }
# ask TRACE SQL...: a line of JSON for each question.
ask() { node Scripts/perfetto/query.js "$(engine)" "$@" 2>/dev/null; }
# What the engine has found wrong with the trace.
faults="select name, value from stats where value > 0 and severity in ('error', 'data_loss')"
category() { echo "select count(*), coalesce(min(dur), 0) from slice where category = '$1'"; }

build_tool gcd traced photo-import
tool=$binaries/gcd
traced=$binaries/traced

# --- A million items.

count=${GC_TRACE_ITEMS:-1000000}
for what in serial several concurrent; do
  "$tool" trace -o "$folder/$what" -- "$traced" "$what" "$count" 2>"$folder/said"
  [ ! -s "$folder/said" ] || fail "$what: $(cat "$folder/said")"
  mapfile -t answers < <(ask "$folder/$what" "$(category item)" \
    "select count(*) from slice where dur < 0" \
    "select count(*) from flow f join slice i on i.id = f.slice_in join slice o on o.id = f.slice_out
      where i.category = 'item' and o.name = 'submit' and o.ts <= i.ts" \
    "select max(value) from counter c join track t on t.id = c.track_id where t.name = 'lost records'" \
    "$faults" "select count(*) from slice")
  [[ ${answers[0]} == "[[$count,"* ]] || fail "$what: items are ${answers[0]} slices, not $count"
  [ "${answers[1]}" = "[[0]]" ] || fail "$what: ${answers[1]} slices of negative length"
  [ "${answers[2]}" = "[[$count]]" ] || fail "$what: ${answers[2]} flows of items are bound, not $count"
  [ "${answers[3]}" = "[[0]]" ] || fail "$what: ${answers[3]} records were lost"
  [ "${answers[4]}" = "[]" ] || fail "$what: the engine complains: ${answers[4]}"
  slices=$(tr -d '[]' <<<"${answers[5]}")
  # Begin and end are two events; what happened at an instant, one.
  bytes=$(stat -c %s "$folder/$what")
  fact "$what: $count items are $count slices and flows; $((bytes * 10 / slices / 10)) bytes for each of $slices slices"
  [ $((bytes / slices)) -lt 24 ] || fail "$what: $((bytes / slices)) bytes a slice"
done

# --- What the program is to others stays as it was.

status=0
"$tool" trace -o "$folder/exit" -- "$traced" exit 7 >"$folder/output" 2>"$folder/errors" || status=$?
[ "$status" -eq 7 ] || fail "the exit code is $status, not 7"
[ "$(cat "$folder/output" "$folder/errors")" = "to the output"$'\n'"to the errors" ] || fail "its output is another one"
status=0
"$tool" trace -o "$folder/signal" -- "$traced" signal 10 >"$folder/output" 2>&1 || status=$?
[ "$status" -eq $((128 + 10)) ] || fail "killed by a signal, it ends with $status"
fact "output, exit code and signal are the program's"

# each_has ROUNDS COUNT KIND ARGUMENT...: a traced program with these arguments has so many slices of the kind, each time.
each_has() {
  local rounds=$1 expected=$2 kind=$3 round count
  shift 3
  for ((round = 1; round <= rounds; round++)); do
    "$tool" trace -o "$folder/each" -- "$traced" "$@" 2>"$folder/said"
    [ ! -s "$folder/said" ] || fail "traced $*: $(cat "$folder/said")"
    count=$("$tool" trace convert --format csv -o - "$folder/each" | grep -c ",$kind,") || true
    [ "$count" -eq "$expected" ] || fail "traced $*, round $round: $count of kind $kind, not $expected"
  done
}

# --- A program that ends at once: the region is handed down to it, so all that it has recorded is there.

each_has 50 100 item serial 100
fact "50 brief programs: 100 items each"

# --- The first records of all, on eight threads at once: one makes the region, the others wait for it.

# A thread waits 20 ms for the one that makes the region, which may have no processor for longer. What is lost then is counted, and the
# program is not one of the twenty.
whole=0
for ((round = 1; whole < 20; round++)); do
  [ "$round" -le 60 ] || fail "of 60 programs whose first records are made at once, only $whole have lost none"
  "$tool" trace -o "$folder/each" -- "$traced" first 10 2>"$folder/said"
  lost=$(sed -n 's/^gcd: \([0-9]*\) records were lost: the trace says where$/\1/p' "$folder/said")
  other=$(grep -v '^gcd: [0-9]* records were lost: the trace says where$' "$folder/said") || true
  [ -z "$other" ] || fail "traced first: $other"
  count=$("$tool" trace convert --format csv -o - "$folder/each" | grep -c ',span,') || true
  [ $((count + ${lost:-0})) -eq 80 ] || fail "traced first, round $round: $count spans, and ${lost:-0} lost, not 80"
  [ -n "$lost" ] || whole=$((whole + 1))
done
fact "20 programs whose first records are made by eight threads at once: 80 each, and $((round - 21)) more with counted losses"

# --- Killed, in the middle of its work: what it had recorded is there.

coproc killed { exec "$traced" forever; }
program=${killed_PID:?}
read -r line <&"${killed[0]}"
[ "$line" = begun ] || fail "the program says $line"
"$tool" trace -o "$folder/killed" --count 100000000 "$program" 2>"$folder/said" &
tracer=$!
# The file begins, with some 250 bytes, before anything is recorded.
until [ "$(stat -c %s "$folder/killed" 2>/dev/null || echo 0)" -gt 65536 ]; do
  kill -0 "$tracer" 2>/dev/null || fail "the tool: $(cat "$folder/said")"
done
kill -9 "$program"
wait "$tracer" || fail "the tool ended with $?: $(cat "$folder/said")"
mapfile -t answers < <(ask "$folder/killed" "$(category item)" "$faults" "select count(*) from slice where dur < 0")
[[ ${answers[0]} != "[[0,"* ]] || fail "there is no item of the program that was killed"
[ "${answers[1]}/${answers[2]}" = "[]/[[0]]" ] || fail "killed: ${answers[*]}"
fact "killed: ${answers[0]} items"

# A thread that is killed loses the record that it was about to write, and no other one.
counted() { od -An -t u8 -N 8 "$folder/count" 2>/dev/null | tr -d ' '; }
rm -f "$folder/count"
"$tool" trace -o "$folder/counted" --count 100000000 -- "$traced" counted "$folder/count" 2>"$folder/said" &
tracer=$!
until begun=$(counted) && [ "${begun:-0}" -gt 100000 ]; do
  kill -0 "$tracer" 2>/dev/null || fail "the tool: $(cat "$folder/said")"
done
pkill -9 -P "$tracer"
status=0
wait "$tracer" || status=$?
[ "$status" -eq $((128 + 9)) ] || fail "the tool ended with $status: $(cat "$folder/said")"
mapfile -t answers < <(ask "$folder/counted" "select count(*) from slice where category = 'item'" "$faults" \
  "select count(*) from thread where name like 'gc-%'")
items=${answers[0]//[^0-9]/} threads=${answers[2]//[^0-9]/} begun=$(counted)
[ "${answers[1]}" = '[]' ] || fail "counted: ${answers[1]}"
if [ "$items" -gt "$begun" ] || [ "$items" -lt $((begun - threads)) ]; then
  fail "$begun items had begun on $threads threads, and $items are in the trace"
fi
fact "killed: $begun items had begun on $threads threads, $items are in the trace"

# --- Blocked: what waits, and what it is inside of.

coproc blocked { exec "$traced" blocked; }
program=${blocked_PID:?}
read -r line <&"${blocked[0]}"
"$tool" trace -o "$folder/blocked" --seconds 1 "$program"
kill "$program"
answer=$(ask "$folder/blocked" "select count(*) from slice where name like 'waits for%' and category = 'unfinished'")
[ "$answer" != "[[0]]" ] || fail "a thread that waits is not in the trace"

# --- A flight recorder takes no more memory, however much it has recorded. A step of the ring is three records or more.

steps=${GC_TRACE_STEPS:-600000}
python3 - "$traced" "$steps" <<'END'
import os, subprocess, sys

def peak(steps):
    program = subprocess.Popen([sys.argv[1], "ring", str(steps)], env={**os.environ, "GRANDCENTRAL_RECORD": "ring"})
    _, status, usage = os.wait4(program.pid, 0)
    assert status == 0, status
    return usage.ru_maxrss

few, many = peak(int(sys.argv[2]) // 6), peak(int(sys.argv[2]))
assert many <= 1.1 * few, f"{few} KiB for a sixth, {many} for all"
print(f"=> flight recorder: {few} KiB at most for a sixth of {sys.argv[2]} steps, {many} for all")
END

# --- Spans of the program's own, begun on one thread and ended on others: each a slice, inside of its parent.

"$tool" trace -o "$folder/spans" -- "$traced" spans 1000
mapfile -t answers < <(ask "$folder/spans" \
  "select s.name, count(*), min(s.dur) >= 0, p.name from slice s join track t on t.id = s.track_id
    join track p on p.id = t.parent_id where s.category = 'span' group by 1 order by 1" \
  "select count(*) from slice o join slice i on i.ts >= o.ts and i.ts + i.dur <= o.ts + o.dur
    where o.name = 'request' and i.name = 'query'" \
  "select count(*) from slice i join args a using (arg_set_id) join slice o join args b on b.arg_set_id = o.arg_set_id
    where i.name = 'query' and a.key = 'debug.parent' and o.name = 'request' and b.key = 'debug.span'
    and a.int_value = b.int_value" "$faults")
[ "${answers[*]}" = '[["query",1000,1,"Spans"],["request",1,1,"Spans"]] [[1000]] [[1000]] []' ] || fail "spans: ${answers[*]}"

# --- A program that nobody has built for it.

theirs=$(toolchain)
ready_dropin
cat >"$folder/program.c" <<'END'
#include <dispatch/dispatch.h>
#include <stdio.h>
#include <stdlib.h>

static void count(void *context) { *(int *)context += 1; }

int main(int count_of_words, char **words) {
  int items = count_of_words > 1 ? atoi(words[1]) : 10000;
  dispatch_queue_t queue = dispatch_queue_create("org.example.unmodified", NULL);
  int sum = 0;
  for (int item = 0; item < items; item++) dispatch_async_f(queue, &sum, count);
  dispatch_sync_f(queue, &sum, count);
  printf("%d\n", sum);
  return 3;
}
END
clang -I "$theirs" -I "$theirs/Block" "$folder/program.c" -L "$theirs/linux" "-Wl,-rpath,$theirs/linux" -ldispatch \
  -o "$folder/program"
status=0
output=$("$tool" trace --library "$DROPIN/lib" -o "$folder/c" -- "$folder/program") || status=$?
[ "$status/$output" = 3/10001 ] || fail "the C program: $status, $output"
answer=$(ask "$folder/c" "select count(*), t.name from slice s join track t on t.id = s.track_id
  where category = 'item' group by 2")
[ "$answer" = '[[10000,"org.example.unmodified"]]' ] || fail "the C program's items: $answer"
fact "a C program on libdispatch.so: $answer"

# What it runs has its name, whichever way it was handed over.
Scripts/trace_names.py "$tool" "$DROPIN/lib" "$folder"

# The first process that uses the library is traced, not the shell that starts it.
status=0
output=$("$tool" trace --library "$DROPIN/lib" -o "$folder/shell" -- sh -c "$folder/program; exit 5") || status=$?
[ "$status/$output" = 5/10001 ] || fail "a shell that starts the C program: $status, $output"
items=$("$tool" trace convert --format csv -o - "$folder/shell" | grep -c ',item,')
[ "$items" -eq 10000 ] || fail "a shell that starts the C program: $items items"

# --- Programs of the toolchain, and tests: what they print and how they end is as without us, and the engine reads the trace.

same() { python3 Scripts/traced_programs.py "$tool" "$DROPIN/lib" "$(engine)" "$folder/programs" "$@" | tee -a "$folder/same"; }
another() { grep -v ': as alone' "$folder/same" | cut -c 1-600; }
same || fail "under gcd trace a program is another one: $(another)"
tests=$OUT/packages/swift-async-algorithms/.build/debug/swift-async-algorithmsPackageTests.xctest
[ -x "$tests" ] || Scripts/packages --prefix "$DROPIN" swift-async-algorithms
same --tests swift-async-algorithms || fail "under gcd trace the tests of swift-async-algorithms are others: $(another)"
fact "$(wc -l <"$folder/same") programs under gcd trace: output, errors and exit code as alone"

# --- The probes, for other tools.

need readelf binutils
need gdb
Scripts/probes.py "$traced" "$folder/program" "$DROPIN/lib"

# --- What cannot be done: refuse CODE TEXT ARGUMENT...

refuse() {
  local code=$1 text=$2 status=0
  shift 2
  "$tool" trace "$@" >/dev/null 2>"$folder/said" || status=$?
  [ "$status" -eq "$code" ] || fail "trace $*: $status, not $code: $(cat "$folder/said")"
  grep -F -- "$text" "$folder/said" >/dev/null || fail "trace $*: $(cat "$folder/said")"
}
refuse 4 'has nothing to look into' -o "$folder/none" $$
refuse 2 'there is no process' -o "$folder/none" 4194304
refuse 127 'no such program' -o "$folder/none" -- no-such-program-anywhere
head -c 10000 /dev/urandom >"$folder/random"
refuse 5 'not a timeline' convert "$folder/random" -o "$folder/none"
refuse 6 'No such file' convert "$folder/absent" -o "$folder/none"
refuse 1 'No space left on device' convert "$folder/c" -o /dev/full
[ ! -e "$folder/none" ] || fail "something is left of a trace of nothing"
# The program's exit code stays, the loss of the trace is told.
refuse 7 'No space left on device' -o /dev/full -- "$traced" exit 7

# --- Other ends.

Scripts/trace_ends.py "$tool" "$traced"

# --- Other formats.

"$tool" trace convert "$folder/c" -o "$folder/c.json"
"$tool" trace convert "$folder/c" -o "$folder/c.stacks" --format stacks
"$tool" trace convert "$folder/c" -o "$folder/c.csv" --format csv
python3 - "$folder/c" <<'END'
import csv, json, sys

path = sys.argv[1]
events = json.load(open(path + ".json"))["traceEvents"]
items = [event for event in events if event.get("cat") == "item"]
assert len(items) == 10000 and all(event["ph"] == "X" and event["dur"] >= 0 for event in items), len(items)
rows = list(csv.DictReader(open(path + ".csv", newline="")))
assert sum(row["category"] == "item" for row in rows) == 10000, len(rows)
stacks = dict(line.rsplit(" ", 1) for line in open(path + ".stacks"))
assert "org.example.unmodified;count" in stacks, stacks
END
head -c $(($(stat -c %s "$folder/c") - 5)) "$folder/c" >"$folder/cut"
"$tool" trace convert "$folder/cut" -o "$folder/cut.csv" --format csv 2>"$folder/said"
grep -F 'is cut off' "$folder/said" >/dev/null || fail "$(cat "$folder/said")"
fact "converted to Chrome's format, stacks and a table"

# --- A program that has ended before the tool looks: the tool is stopped as long as the program runs.

# shellcheck disable=SC2016 # The shell that is traced reads it.
"$tool" trace --library "$DROPIN/lib" -o "$folder/ended" -- sh -c '
  kill -STOP "$PPID"
  until grep -q "^State:.T" "/proc/$PPID/status"; do :; done
  "$1"
  kill -CONT "$PPID"' sh "$folder/program"
"$tool" trace convert "$folder/ended" -o "$folder/ended.stacks" --format stacks
grep '^org.example.unmodified;count ' "$folder/ended.stacks" >/dev/null || fail "functions without names: $(cat "$folder/ended.stacks")"
fact "a program that has ended before the tool looks: its functions have names"

# --- The articles show what comes out.

Scripts/trace_articles.py check "$binaries" "$(engine)"
