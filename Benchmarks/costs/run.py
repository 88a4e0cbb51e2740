#!/usr/bin/env python3
# Part of GrandCentral. SPDX-License-Identifier: Apache-2.0
"""Counts instructions (valgrind) and system calls (strace) per operation; fails if one costs more than it may.

The probe does an operation a small and a large number of times, each in a process of its own; the difference of the two
counts, divided by the difference of the numbers, is what one operation costs, and nothing of starting the process.
What it may cost: Benchmarks/Thresholds/instructions.json and syscalls.json. Exits with 1 if an operation is over that,
with 2 if it is asked wrongly or the counting cannot be trusted.
"""

import argparse
import collections
import concurrent.futures
import functools
import json
import os
import pathlib
import queue
import re
import subprocess
import sys
import tempfile
import threading

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
# A program that hangs is found; on a machine that others load, as the stages say it, later.
SECONDS = 120 * int(os.environ.get("GC_CHECK_PATIENCE", "1"))
# In these one thread waits for another. On several processors it spins for a while first, and how often that saves the
# system call is for the duel to measure; on one nobody spins, and the path to sleep and back is counted.
ON_ONE_PROCESSOR = re.compile(r"hand-over\.")
# There, a thread that is woken must not displace the one that has woken it. Where it does, the work is over before the other
# thread sleeps, and most of the path is not counted; how often it does, other processes decide. Of the two policies that
# promise it, the first keeps other processes away as well, and needs a privilege.
IN_TURNS = (("chrt", "--fifo", "1"), ("chrt", "--batch", "0"))
# A process that only sleeps has no instructions worth counting.
UNCOUNTED = {"instructions": {"idle-second"}, "syscalls": set()}
# Small and large: both so large that the pool has all its threads and the caches are full.
COUNTS = {"instructions": (10_000, 50_000), "syscalls": (2_000, 10_000)}
SPECIAL_COUNTS = {"async.fork-tree": (1 << 12, 1 << 15), "async-after": (2_000, 6_000),
                  "source.timer-tick": (300, 1_300)}
IDLE_SECONDS = 3


class Trouble(Exception):
    """The counting itself went wrong."""


class Probe:
    """A copy of the program, without debug information: valgrind stumbles over DWARF 5."""

    def __init__(self, path, folder):
        self.path, self.log = pathlib.Path(folder, "benchmark"), pathlib.Path(folder, "log")
        # Each count that goes on at the same time has a processor of its own, and a log.
        self.processors = queue.SimpleQueue()
        # Threads that take turns may keep their processor from all others. So the others have the rest of the processors.
        self.turns = threading.Lock()
        for processor in sorted(os.sched_getaffinity(0)):
            self.processors.put(processor)
        if not path.is_file():
            raise Trouble(f"{path} is missing: swift build -c release --package-path Benchmarks --product benchmark")
        self.run("strip", "--strip-debug", "-o", self.path, path)

    def names(self):
        return self.run(self.path, "probe", "--list").split()

    def instructions(self, name, count, side):
        """The instructions of all threads. `fair-sched` gives the threads their turns in the same order each time."""
        command = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", "--fair-sched=yes"]
        processor = self.processors.get()
        try:
            log = self.log.with_suffix(f".{processor}")
            command += [f"--log-file={log}", self.path, "probe", name, count, *side]
            if alone(name):
                with self.turns:
                    self.run(*command, processors={processor})
            else:
                self.run(*command)
            return instructions_in(log.read_text(encoding="utf-8"))
        finally:
            self.processors.put(processor)

    def syscalls(self, name, count, side):
        command = ["strace", "-f", "-qq", "-c", "-U", "calls,name", "-o", self.log]
        own = {min(os.sched_getaffinity(0))} if alone(name) else None
        self.run(*command, self.path, "probe", name, count, *side, processors=own)
        return system_calls_in(self.log.read_text(encoding="utf-8"))

    def idle_calls(self, side):
        """System calls per second, by the threads of the pool, between the two marks that the main thread leaves."""
        self.run("strace", "-f", "-qq", "-o", self.log, self.path, "probe", "idle-second", IDLE_SECONDS, *side)
        calls = calls_between_marks(self.log.read_text(encoding="utf-8"))
        return {name: count / IDLE_SECONDS for name, count in calls.items()}

    @staticmethod
    def run(*command, processors=None):
        """What the command prints. It runs on all processors, or on these, where threads take turns."""
        pinned = [*in_turns(), "taskset", "-c", ",".join(map(str, sorted(processors)))] if processors else []
        command = [*pinned, *map(str, command)]
        # A symbol that is looked up at its first use costs thousands of instructions, at some time or other.
        environment = os.environ | {"LD_BIND_NOW": "1"}
        try:
            result = subprocess.run(
                command, capture_output=True, text=True, timeout=SECONDS, check=False, env=environment)
        except FileNotFoundError as error:
            raise Trouble(f"{command[0]} is missing") from error
        except subprocess.TimeoutExpired as error:
            raise Trouble(f"not done after {SECONDS} s: {' '.join(command)}") from error
        if result.returncode:
            raise Trouble(f"{' '.join(command)} ended with {result.returncode}: {result.stderr[-2000:]}")
        return result.stdout


@functools.cache
def in_turns():
    """The first of the policies that the kernel permits."""
    for policy in IN_TURNS:
        try:
            if subprocess.run([*policy, "true"], capture_output=True, check=False).returncode == 0:
                return policy
        except FileNotFoundError as error:
            raise Trouble(f"{policy[0]} is missing") from error
    raise Trouble("the kernel lets no process choose how its threads take turns")


def alone(name):
    return ON_ONE_PROCESSOR.match(name) is not None


def instructions_in(log):
    found = re.search(r"Collected : (\d+)", log)
    if not found:
        raise Trouble(f"valgrind did not say how many instructions it saw: {log}")
    return collections.Counter(instructions=int(found.group(1)))


def system_calls_in(log):
    rows = re.findall(r"^\s*(\d+)\s+(\w+)\s*$", log, re.MULTILINE)
    calls = collections.Counter({name: int(count) for count, name in rows if name != "total"})
    if not calls:
        raise Trouble(f"strace saw no system call: {log}")
    return calls


def calls_between_marks(log):
    """The calls that began between the two marks, except for those of the thread that leaves the marks."""
    lines = [line.split(maxsplit=1) for line in log.splitlines()]
    marks = [at for at, (_, call) in enumerate(lines) if call.startswith("getppid(")]
    if len(marks) != 2:
        raise Trouble(f"{len(marks)} marks in the trace of an idle process, not 2")
    thread = lines[marks[0]][0]
    began = [re.match(r"\w+(?=\()", call) for other, call in lines[marks[0] : marks[1]] if other != thread]
    return collections.Counter(call.group() for call in began if call)


def cost(probe, kind, name, side=(), runs=1, of="middle"):
    """The cost of an operation: (total, parts). Of several runs it is the one in the middle, or the least one."""
    if name == "idle-second":
        parts = probe.idle_calls(side)
        return sum(parts.values()), parts
    count, (small, large) = getattr(probe, kind), SPECIAL_COUNTS.get(name, COUNTS[kind])
    samples = []
    for _ in range(runs):
        first, last = count(name, small, side), count(name, large, side)
        parts = {part: (last[part] - first[part]) / (large - small) for part in last | first}
        samples.append((sum(parts.values()), parts))
    return sorted(samples, key=lambda sample: sample[0])[{"least": 0, "middle": len(samples) // 2}[of]]


class Thresholds:
    """What each operation was measured to cost, and how far above that it may be."""

    def __init__(self, path):
        self.path = path
        self.content = json.loads(path.read_text(encoding="utf-8"))
        self.operations, self.slack = self.content["operations"], self.content["slack"]

    def slack_of(self, name):
        return self.slack[self.operations.get(name, {"slack": "steady"})["slack"]]

    def runs_of(self, name):
        """How often the operation is counted, and which of the counts it is, if not the one in the middle."""
        return {key: value for key, value in self.slack_of(name).items() if key in ("runs", "of")}

    def at_most(self, name):
        """None: no threshold is set."""
        if name not in self.operations:
            return None
        slack = self.slack_of(name)
        return self.operations[name]["measured"] * (1 + slack["relative"]) + slack["absolute"]

    def exceeded(self, name, value):
        limit = self.at_most(name)
        return limit is None or value > limit

    def record(self, name, ours, theirs, digits):
        entry = self.operations.setdefault(name, {"measured": 0, "slack": "steady"})
        entry["measured"] = tidy(ours, digits)
        if theirs is not None:
            entry["libdispatch"] = tidy(theirs, digits)

    def save(self):
        lines = [f"    {json.dumps(name)}: {json.dumps(entry)}" for name, entry in self.operations.items()]
        head = json.dumps({key: value for key, value in self.content.items() if key != "operations"}, indent=2)
        text = head[: head.rindex("\n")] + ',\n  "operations": {\n' + ",\n".join(lines) + "\n  }\n}\n"
        self.path.write_text(text, encoding="utf-8")


def tidy(value, digits):
    rounded = round(max(0.0, value), digits)
    return int(rounded) if rounded == int(rounded) else rounded


def shown(value, digits):
    if value is None:
        return "none set"
    # No minus before a zero.
    return f"{round(value, digits) + 0.0:.{digits}f}"


def check_counting(probe, kinds):
    """A counter that does not see what is known to be there would let everything pass."""
    known = {"instructions": ("calibration.hundred-instructions", 100), "syscalls": ("calibration.system-call", 1)}
    for kind in kinds:
        name, more = known[kind]
        bare, heavy = cost(probe, kind, "calibration.nothing")[0], cost(probe, kind, name)[0]
        if abs(heavy - bare - more) > more / 50:
            raise Trouble(f"{kind}: {more} more were counted as {heavy - bare:.3f}")


def measure(probe, kind, names, thresholds, arguments):
    """Counts and prints one kind; returns the rows."""
    digits = 0 if kind == "instructions" else 2
    rows = {}
    columns = ["ours", "at most"] + (["theirs"] if arguments.theirs else [])
    print(f"{kind:28}" + "".join(f"{column:>10}" for column in columns))
    names = [name for name in names if name not in UNCOUNTED[kind]]
    # Threads take turns under valgrind: a program that is counted keeps one processor busy.
    at_once = len(os.sched_getaffinity(0)) if kind == "instructions" else 1
    with concurrent.futures.ThreadPoolExecutor(at_once) as pool:
        counted = list(pool.map(lambda name: cost(probe, kind, name, **thresholds.runs_of(name)), names))
    for name, (ours, parts) in zip(names, counted):
        row = rows[name] = {"ours": ours, "atMost": thresholds.at_most(name)}
        if arguments.theirs:
            row["theirs"] = cost(probe, kind, name, ["--theirs"], **thresholds.runs_of(name))[0]
        row["exceeded"] = thresholds.exceeded(name, ours)
        figures = [ours, row["atMost"]] + ([row["theirs"]] if arguments.theirs else [])
        line = f"{name:28}" + "".join(f"{shown(figure, digits):>10}" for figure in figures)
        if kind == "syscalls":
            line += "  " + ", ".join(f"{part} {x:.2f}" for part, x in sorted(parts.items()) if x >= 0.005)
        print(line.rstrip() + ("  exceeded" if row["exceeded"] else ""), flush=True)
        if arguments.record:
            thresholds.record(name, ours, row.get("theirs"), digits)
    if arguments.record:
        thresholds.save()
    return rows


def parsed(words):
    parser = argparse.ArgumentParser(prog="Scripts/benchmark costs", description=__doc__.splitlines()[0])
    parser.add_argument("kinds", nargs="*", metavar="KIND", help="instructions, syscalls; both unless told")
    parser.add_argument("--filter", metavar="REGEX", type=re.compile, default="", help="only operations that match")
    parser.add_argument("--theirs", action="store_true", help="libdispatch as well, for comparison")
    parser.add_argument("--record", action="store_true", help="make what is measured now the threshold")
    parser.add_argument("--json", metavar="FILE", type=pathlib.Path, help="write the figures")
    parser.add_argument("--probe", metavar="FILE", type=pathlib.Path,
                        default=ROOT / "Benchmarks/.build/release/benchmark")
    parser.add_argument("--thresholds", metavar="FOLDER", type=pathlib.Path, default=ROOT / "Benchmarks/Thresholds")
    arguments = parser.parse_args(words)
    unknown = set(arguments.kinds) - set(COUNTS)
    if unknown:
        parser.error(f"what is {', '.join(sorted(unknown))}?")
    return arguments


def main(words):
    arguments = parsed(words)
    kinds = arguments.kinds or list(COUNTS)
    figures = {}
    try:
        with tempfile.TemporaryDirectory() as folder:
            probe = Probe(arguments.probe, folder)
            names = [name for name in probe.names() if re.search(arguments.filter, name)]
            if not names:
                raise Trouble("no operation has such a name")
            check_counting(probe, kinds)
            for kind in kinds:
                thresholds = Thresholds(arguments.thresholds / f"{kind}.json")
                figures[kind] = measure(probe, kind, names, thresholds, arguments)
    except (Trouble, OSError, KeyError, ValueError) as error:
        print(f"costs: {error}", file=sys.stderr)
        return 2
    if arguments.json:
        arguments.json.write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")
    over = [f"{kind} of {name}" for kind, rows in figures.items() for name, row in rows.items() if row["exceeded"]]
    print(f"=> {sum(len(rows) for rows in figures.values())} costs counted, {len(over)} exceeded", *over, sep="\n=>   ")
    return 1 if over and not arguments.record else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
