# Part of GrandCentral. SPDX-License-Identifier: Apache-2.0
"""Runs the rows of Tests/Programs/Fairness on both libraries, and compares what they tell with the bars.

    fairness.py FOLDER [--brief] [--gate] [--null] [ROW...]     Scripts/fairness says what the options mean
"""

import argparse
import dataclasses
import os
import pathlib
import statistics
import subprocess
import sys

RUNS = int(os.environ.get("GC_FAIRNESS_RUNS", "3"))
# Of 40 ms, in a round.
SLICES = 12
# Beyond the alarm of each program, which ends what hangs.
PATIENCE = 120
HANGS = "hangs"
# The machine may keep each thread waiting that has to wake up before a figure is there. A check takes that off, for the threads
# of a round.
LATE, WAKE_UPS = "machine late ms", 10


@dataclasses.dataclass
class Bar:
    """What one figure of a row has to be."""

    figure: str
    limit: float
    # below, at most, at least: the worst run counts; median: at most that, of the median run; ratio: ours to theirs, at most;
    # without: ours to ours without what the row is about; tail: the ratio of a figure that is there or is not, as neighbours
    # stop a thread for a slice of the kernel's in one round and not in the next one.
    kind: str = "below"
    # What fails a check on a machine that others load as well: so many times the bar.
    slack: float = 4

    def gate(self):
        """The bar that a check fails for. Of a tail no round of ours is near any round of theirs."""
        limit = self.limit / self.slack if self.kind == "at least" else self.limit * self.slack
        return dataclasses.replace(self, limit=limit, kind="apart" if self.kind == "tail" else self.kind)

    @property
    def compares(self):
        return self.kind in ("ratio", "without", "tail", "apart")

    @property
    def is_time(self):
        return self.figure.endswith("ms")

    def counts(self, values):
        """The figure that counts, of those of several runs."""
        if HANGS in values:
            return HANGS
        middle = self.compares or self.kind == "median"
        choose = statistics.median if middle else min if self.kind == "at least" else max
        return choose(values)

    def holds(self, ours, theirs):
        """Whether the figures of all runs keep the bar."""
        value = self.ratio(ours, theirs) if self.compares else self.counts(ours)
        if value == HANGS:
            return False
        if self.kind == "apart":
            return min(ours) <= self.limit * max(their for their in theirs if their != HANGS)
        return {"below": value < self.limit, "at least": value >= self.limit}.get(self.kind, value <= self.limit)

    def ratio(self, ours, theirs):
        """The median over the rounds of what ours takes in parts of what theirs takes."""
        if HANGS in ours:
            return HANGS
        ratios = [our / their for our, their in zip(ours, theirs) if their != HANGS and their > 0]
        return statistics.median(ratios) if ratios else HANGS

    def __str__(self):
        sign = {"below": "<", "at least": "≥", "ratio": "≤ theirs ×", "tail": "≤ theirs ×", "without": "≤ without ×"}.get(self.kind, "≤")
        return f"{sign} {self.limit:g}"


@dataclasses.dataclass
class Row:
    """A case: what the program is told, and what its figures have to be."""

    name: str
    words: str
    bars: list
    environment: dict = dataclasses.field(default_factory=dict)
    program: str = "fairness"
    takes_turns: bool = False
    # What our program is told in the second column: the ratio is not to the toolchain's library, but to this.
    without: str = ""

    @property
    def compares(self):
        return any(bar.compares for bar in self.bars)


def spin(kind, count, limit, figure="ms"):
    return Row(f"spin-{kind} {count}", f"spin {kind} {count}", [Bar(figure, limit)])


def processors(items, milliseconds, rounds):
    return Row(f"cpu-items {items} × {milliseconds} ms", f"cpu-items {items} {milliseconds} {rounds}",
               [Bar("of the processors", 1.02, "median", 1.15), Bar("surplus threads", 4, "at most", 3)])


def crowd(computing, waiting, how, tenth=50, threads=100):
    return Row(f"crowd, {computing} us {how}", f"crowd {computing} {waiting}",
               [Bar("median late ms", 20, "median"), Bar("tenth late ms", tenth, "median", 2),
                Bar("threads", threads, "at most", 1.25)])


def ping_pongs(suffix, **environment):
    return Row(f"ping-pongs{suffix}", "ping-pongs", [Bar("slowest of fastest", 0.2, "at least"), Bar("item worst ms", 20)],
               environment)


def interval(microseconds, hops):
    # The latencies are to be no worse than theirs: a tenth is what one library differs by from itself.
    return Row(f"interval {microseconds} us, {hops} hops", f"interval {microseconds} {hops}",
               [Bar("CPU us", 0.95, "ratio", 1.8), Bar("p50 us", 1.1, "ratio", 2.5), Bar("p99 us", 1.1, "tail")],
               takes_turns=True)


def tasks(way, form, count):
    return Row(f"tasks, {count} {form}, {way}", f"{way} {form} {count}", [Bar("threads", 2, "ratio", 4)], program="tasks")


ROWS = [
    spin("serial", 8, 150),
    spin("serial", 64, 3_000),
    spin("global", 8, 1_000),
    spin("concurrent", 8, 1_000),
    spin("timer", 8, 50, "late ms"),
    spin("read", 8, 50, "late ms"),
    processors(200, 4, 3),
    processors(400, 20, 1),
    *[crowd(computing, waiting, f"of each {computing + waiting} us") for computing, waiting in ((5_000, 5_000), (2_000, 20_000), (20_000, 0))],
    crowd(3_000, "ring", "between semaphores", tenth=80, threads=150),
    Row("fan-out", "fan-out", [Bar("worst ms", 50)]),
    *[Row(f"fill-and-block, {way}, {load}", f"fill-and-block {way} {load}", [Bar("worst ms", 20)])
      for way in ("semaphore", "read") for load in ("quiet", "busy")],
    ping_pongs(""),
    ping_pongs(", one thread", GRANDCENTRAL_THREAD_BUDGET="1"),
    *[Row(f"burst, {kind}", f"burst {kind} 500", [Bar("CPU us", 1.2, "without", 1.5)], without=f"burst {kind} 0")
      for kind in ("pauses", "one-processor")],
    *[interval(microseconds, hops) for microseconds in (200, 1_000, 5_000) for hops in (1, 2)],
    *[Row(f"all-to-all, {kind}", kind, [Bar("ns", 0.8, "ratio", 3), Bar("CPU ns", 0.8, "ratio", 3)], program="all_to_all")
      for kind in ("burst", "relay", "answers")],
    tasks("group", "sleep", 100_000),
    *[tasks("lets", form, 100) for form in ("compute", "yield", "sleep", "compute-and-sleep")],
]


def run(program, row):
    """The figures of one run, by name; None if the program had to be ended."""
    environment = dict(os.environ, SWIFT_BACKTRACE="enable=no", **row.environment)
    try:
        ended = subprocess.run([program, *row.words.split()], capture_output=True, text=True, errors="replace",
                               env=environment, timeout=PATIENCE, check=False, stdin=subprocess.DEVNULL)
    except subprocess.TimeoutExpired:
        return None
    if ended.returncode == -14:  # the alarm
        return None
    if ended.returncode != 0:
        sys.exit(f"error: {program} {row.words} ended with {ended.returncode}: {ended.stderr[:300]}")
    return {name: float(value) for name, value in (line.rsplit(" ", 1) for line in ended.stdout.splitlines())}


def take_turns(row, commands):
    """The figures of many slices of a row, by side. In each round both programs live all the time, and take turns, so that what
    neighbours do meets both. Each round has programs of its own: where the kernel puts the threads of one may stay so for its life. A
    slice's latencies are few: their 99th percentile is that of a round of slices."""
    figures = {side: [] for side in commands}
    for _ in range(2 * RUNS + 1):
        for side, turns in one_round(commands, dict(os.environ, **row.environment)).items():
            if not all(turns):
                figures[side] = [None]
            elif None not in figures[side]:
                every = sorted(latency for line in turns for latency in line[1:])
                figures[side] += [{"CPU us": line[0], "p50 us": statistics.median(line[1:]),
                                   "p99 us": every[len(every) * 99 // 100]} for line in turns]
    return figures


def one_round(commands, environment):
    """What each side's program says of each of its slices; nothing, where the alarm has ended it."""
    running = {side: subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                      env=environment) for side, command in commands.items()}
    slices = {side: [] for side in running}
    for number in range(SLICES):
        for side in sorted(running, reverse=number % 2 == 0):
            if not all(slices[side]):
                continue
            running[side].stdin.write("go\n")
            running[side].stdin.flush()
            slices[side].append([float(word) for word in running[side].stdout.readline().split()])
    for process in running.values():
        process.communicate()
    return slices


def collect(row, folder, programs, brief):
    """The figures of all runs of a row, by side; the side that begins alternates. `programs` says whose program is run for a
    side."""
    if row.without:
        program = f"{folder}/{row.program}-{programs['ours']}"
        return take_turns(row, {"ours": [program, *row.words.split()], "theirs": [program, *row.without.split()]})
    if row.takes_turns:
        return take_turns(row, {side: [f"{folder}/{row.program}-{program}", *row.words.split()]
                                for side, program in programs.items()})
    sides = ["ours", "theirs"] if row.compares or not brief else ["ours"]
    rounds = 2 * RUNS + 1 if row.compares else RUNS
    figures = {side: [] for side in sides}
    for number in range(rounds):
        for side in sides if number % 2 == 0 else sides[::-1]:
            # One that hangs is not run again: the row's verdict is known.
            if None not in figures[side]:
                figures[side].append(run(f"{folder}/{row.program}-{programs[side]}", row))
    return figures


def text(value):
    return value if isinstance(value, str) else f"{value:.4g}"


def judge(row, figures, gates):
    """Prints a line for each bar; whether all are kept, or all gates."""
    kept = True
    for bar in row.bars:
        values = {side: [HANGS if each is None else each[bar.figure] for each in runs] for side, runs in figures.items()}
        ours, theirs = values["ours"], values.get("theirs", [])
        holds = bar.holds(ours, theirs)
        if gates:
            late = [0 if each is None else each.get(LATE, 0) for each in figures["ours"]]
            own = [value if value == HANGS or not bar.is_time else value - WAKE_UPS * off for value, off in zip(ours, late)]
            kept = kept and bar.gate().holds(own, theirs)
        else:
            kept = kept and holds
        verdict = "ok" if holds else "MISSED"
        if bar.compares:
            verdict += f" ({text(bar.ratio(ours, theirs))})"
        print(f"| {row.name}: {bar.figure} | {text(bar.counts(ours))} | {text(bar.counts(theirs)) if theirs else ''} "
              f"| {bar} | {verdict} |", flush=True)
    return kept


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--brief", action="store_true")
    parser.add_argument("--gate", action="store_true")
    parser.add_argument("--null", action="store_true")
    parser.add_argument("rows", nargs="*")
    options = parser.parse_intermixed_args()
    rows = [row for row in ROWS if not options.rows or row.name.startswith(tuple(options.rows))]
    if not rows:
        sys.exit(f"error: no row begins so; there are {', '.join(row.name for row in ROWS)}")
    programs = {"ours": "theirs" if options.null else "ours", "theirs": "theirs"}

    print("| row | ours | theirs | bar | verdict |\n|---|---|---|---|---|", flush=True)
    missed = [row.name for row in rows
              if not judge(row, collect(row, options.folder, programs, options.brief), options.gate)]
    print(f"=> {len(rows) - len(missed)} of {len(rows)} rows keep their {'gates' if options.gate else 'bars'}"
          + (f"; missed: {', '.join(missed)}" if missed else ""))
    sys.exit(1 if missed else 0)


main()
