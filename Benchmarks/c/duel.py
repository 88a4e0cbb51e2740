#!/usr/bin/env python3
# Part of GrandCentral. SPDX-License-Identifier: Apache-2.0
"""The C duel: the same programs, built once for the toolchain's libdispatch, run on either library in turn.

    duel.py                              all rows, nine rounds
    duel.py --quick                      with a quarter of the operations
    duel.py --gate                       1 if a row is above its bar (Benchmarks/Thresholds/c-ratios.json)
    duel.py --neighbours N               the rows in which a thread waits for another, beside N busy processes
    duel.py --null                       the toolchain's library against itself
    duel.py --markdown FILE              the table, as a document
"""

import argparse
import contextlib
import json
import os
import platform
import re
import resource
import statistics
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.append(os.path.join(ROOT, "Scripts"))
from toolchain import toolchain

OUT = os.path.join(ROOT, ".build-check", "duel-c")
BARS = os.path.join(ROOT, "Benchmarks", "Thresholds", "c-ratios.json")
# Row to the greatest ratios of time and of processor time beside busy processes.
NEIGHBOUR_BARS = os.path.join(ROOT, "Benchmarks", "Thresholds", "c-neighbours.json")
START = "start of a program and one call"
MEMORY = "its resident memory"
# Seconds of processor time that a process uses to find out how long they take.
SHARE_PROBE = 0.05
# Below this share of the processors the machine is somebody else's as well.
ALONE = 0.75


def build(prefix):
    """Makes both programs, for the toolchain's library, and ours."""
    theirs = toolchain()
    os.makedirs(OUT, exist_ok=True)
    sources = [os.path.join(HERE, name) for name in ("rows.c", "coordination.c", "waits.c", "events.c")]
    subprocess.run(
        ["clang", "-std=gnu17", "-O2", "-fblocks", "-Wno-deprecated-declarations", "-I", theirs, "-I", f"{theirs}/Block",
         *sources, "-L", f"{theirs}/linux", "-ldispatch", "-lBlocksRuntime", f"-Wl,-rpath,{theirs}/linux",
         "-o", f"{OUT}/rows"], check=True)
    subprocess.run(
        ["swiftc", "-O", "-parse-as-library", f"{HERE}/concurrency.swift", "-o", f"{OUT}/concurrency"], check=True)
    if not prefix:
        prefix = f"{OUT}/prefix"
        subprocess.run([f"{ROOT}/Scripts/build-dropin", prefix], check=True, stdout=subprocess.DEVNULL)
    return {"ours": os.path.abspath(f"{prefix}/lib"), "theirs": f"{theirs}/linux"}


def environment(library):
    return dict(os.environ, LD_LIBRARY_PATH=library)


def verify(library):
    """The program must get the library that the column names."""
    output = subprocess.run([f"{OUT}/rows", "start"], env=dict(environment(library), LD_DEBUG="libs"), check=True,
                            capture_output=True, text=True, errors="replace").stderr
    loaded = re.findall(r"calling init: (.*/libdispatch\.so)", output)
    if [os.path.realpath(path) for path in loaded] != [os.path.realpath(f"{library}/libdispatch.so")]:
        sys.exit(f"error: {library} is not what the program loads, but {loaded}")


@contextlib.contextmanager
def neighbours(count):
    """Processes that do nothing but use a processor each."""
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]
    try:
        yield
    finally:
        for process in busy:
            process.kill()
            process.wait()


def share():
    """How much of a processor each of as many processes as there are processors gets, between 0 and 1."""
    begin, children = time.perf_counter(), []
    for _ in range(len(os.sched_getaffinity(0))):
        child = os.fork()
        if child == 0:
            while time.process_time() < SHARE_PROBE:
                pass
            os._exit(0)
        children.append(child)
    for child in children:
        os.waitpid(child, 0)
    return min(1.0, SHARE_PROBE / (time.perf_counter() - begin))


def sample(library, scale, programs):
    """One run of each program: row to (time, processor time) in nanoseconds."""
    rows = {}
    for program, *words in programs:
        ended = subprocess.run([f"{OUT}/{program}", str(scale), *words], env=environment(library),
                               capture_output=True, text=True, timeout=300)
        if ended.returncode != 0:
            sys.exit(f"error: {program} on {library} ended with {ended.returncode}: {ended.stderr[-2000:]}")
        for line in ended.stdout.splitlines():
            name, wall, cpu = line.split("\t")
            rows[name] = (float(wall), float(cpu))
    return rows


def start(library, rows):
    """Adds how long a small program takes, and how much memory, to the rows."""
    walls, cpus, sizes = [], [], []
    for _ in range(10):
        before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter_ns()
        output = subprocess.run([f"{OUT}/rows", "start"], env=environment(library), check=True, capture_output=True).stdout
        walls.append(time.perf_counter_ns() - begin)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        cpus.append((after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime) * 1e9)
        sizes.append(int(output) * 1024)
    rows[START] = (statistics.median(walls), statistics.median(cpus))
    rows[MEMORY] = (statistics.median(sizes), statistics.median(sizes))


def contest(libraries, rounds, scale, waits_only):
    """Row to its samples, [(ours, theirs), …], and the share of the processors; the side that begins alternates."""
    pairs, shares = {}, []
    programs = [("rows", "waits")] if waits_only else [("rows",), ("concurrency",)]
    for number in range(rounds):
        order = ["ours", "theirs"] if number % 2 == 0 else ["theirs", "ours"]
        results = {}
        shares.append(share())
        for side in order:
            results[side] = sample(libraries[side], scale, programs)
            if not waits_only:
                start(libraries[side], results[side])
        if results["ours"].keys() != results["theirs"].keys():
            sys.exit("error: the libraries have different rows")
        for name in results["ours"]:
            pairs.setdefault(name, []).append((results["ours"][name], results["theirs"][name]))
        print(f"\rround {number + 1} of {rounds}", end="", file=sys.stderr)
    print(file=sys.stderr)
    return pairs, statistics.median(shares)


def bar_of(bar, is_alone):
    """A row whose threads need a processor each has two bars: on a machine of its own, and on one that it shares."""
    return (bar[0] if is_alone else bar[1]) if isinstance(bar, list) else bar


class Row:
    """The medians of a row."""

    def __init__(self, name, pairs):
        self.name = name
        self.wall, self.cpu = (statistics.median(self.ratios(pairs, part)) for part in (0, 1))
        self.least, self.greatest = (choose(self.ratios(pairs, 1)) for choose in (min, max))
        self.times = [[statistics.median(pair[side][part] for pair in pairs) for side in (0, 1)] for part in (0, 1)]

    @staticmethod
    def ratios(pairs, part):
        return [ours[part] / theirs[part] if theirs[part] else 1.0 for ours, theirs in pairs]

    @property
    def is_memory(self):
        return self.name == MEMORY


def text(value, is_memory=False):
    if is_memory:
        return f"{value / 1e6:.1f} MB"
    for limit, unit in ((1e6, "ms"), (1e4, "us")):
        if value >= limit:
            return f"{value / (1e6 if unit == 'ms' else 1e3):.3g} {unit}"
    return f"{value:.0f} ns" if value >= 100 else f"{value:.1f} ns"


def table(rows, bars):
    """The rows as Markdown."""
    lines = ["| row | CPU ratio | bar | time ratio | CPU, ours / theirs | time, ours / theirs |", "|---|---|---|---|---|---|"]
    for row in rows:
        bar = "" if bars[row.name] is None else f"≤ {bars[row.name]}"
        cpu, wall = (" / ".join(text(value, row.is_memory) for value in row.times[part]) for part in (1, 0))
        if row.is_memory:
            lines.append(f"| {row.name} | **{row.cpu:.2f}** ({row.least:.2f}–{row.greatest:.2f}) | {bar} | | {cpu} | |")
        else:
            lines.append(f"| {row.name} | **{row.cpu:.2f}** ({row.least:.2f}–{row.greatest:.2f}) | {bar} | {row.wall:.2f} "
                         f"| {cpu} | {wall} |")
    return "\n".join(lines) + "\n"


DOCUMENT = """# Performance of the C interface

Programs built once, for the libdispatch of the Swift toolchain, and run on that and on ours in turn: made by
`Scripts/benchmark c --markdown Documentation/Performance-C.md`.

- Machine: {machine}; {rounds} rounds, each with a new process for either library.
- Library: {library}
- *ratio*: ours divided by theirs in the same round, the median over the rounds (least to greatest); below 1 we are faster.
  CPU is the time of all processors, which other programs on the machine disturb least; it is what the bar is for.
- Rows without a bar have several threads that meet, or a clock: their medians swing from run to run on a small machine.
- Time and CPU are per operation. What blocks or waits for a timer takes its time from the scheduler and the clock: there
  only CPU says something.
- Hops between actors of Swift's own, and the elements of an AsyncStream, meet in the runtime's locks and do not enter the
  library: these two rows show what of the differences is chance. Most of a task in a group is memory and the runtime's
  locks as well; the library has a fifth of it.

{table}"""


def machine():
    model = "unknown"
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        for line in file:
            if line.startswith("model name"):
                model = line.split(":", 1)[1].strip()
                break
    return f"{os.cpu_count()} processors ({model}), {platform.system()} {platform.release()}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--gate", action="store_true")
    parser.add_argument("--null", action="store_true")
    parser.add_argument("--neighbours", type=int, default=0, metavar="N")
    parser.add_argument("--rounds", type=int)
    parser.add_argument("--markdown", metavar="FILE")
    parser.add_argument("--prefix", help="a folder that Scripts/build-dropin has filled")
    options = parser.parse_args()
    libraries = build(options.prefix)
    if options.null:
        libraries["ours"] = libraries["theirs"]
    for library in libraries.values():
        verify(library)
    rounds = options.rounds or 9
    if rounds < 5:
        parser.error("a median takes five rounds at least")
    with neighbours(options.neighbours):
        pairs, share_of_processors = contest(libraries, rounds, 1 if options.quick else 4, options.neighbours > 0)
    rows = [Row(name, pairs[name]) for name in pairs]
    with open(NEIGHBOUR_BARS if options.neighbours else BARS, encoding="utf-8") as file:
        bars = json.load(file)
    if bars.keys() != pairs.keys():
        sys.exit(f"error: rows and bars differ: {sorted(bars.keys() ^ pairs.keys())}")
    if options.neighbours:
        time_bars = {name: time for name, (time, _) in bars.items()}
        bars = {name: cpu for name, (_, cpu) in bars.items()}
    else:
        time_bars = {}
        bars = {name: bar_of(bar, share_of_processors >= ALONE) for name, bar in bars.items()}
        print(f"each process got {share_of_processors:.2f} of a processor")
    print(table(rows, bars))
    if options.markdown:
        with open(options.markdown, "w", encoding="utf-8") as file:
            file.write(DOCUMENT.format(machine=machine(), library=os.environ.get("GC_MEASURED", "unknown"), rounds=rounds, table=table(rows, bars)))
    above = [(row.name, "processor time", row.cpu, bars[row.name]) for row in rows]
    above += [(row.name, "time", row.wall, time_bars[row.name]) for row in rows if row.name in time_bars]
    above = [entry for entry in above if entry[3] is not None and entry[2] > entry[3]]
    for name, what, ratio, bar in above:
        print(f"error: {name}, {what}: {ratio:.2f}, above its bar {bar}")
    if options.gate and above:
        sys.exit(1)


main()
