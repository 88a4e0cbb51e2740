#!/usr/bin/env python3
# Part of GrandCentral. SPDX-License-Identifier: Apache-2.0
"""Counts what operations cost a machine with many processors: lines moved between caches, wake-ups, steals.

    run.py sites NAME [--workers 64]   where in the sources the lines of an operation move
    run.py document                    counts with 2, 8, 64 workers and writes Documentation/Scaling.md
    run.py gate                        counts with 8; 1 if an operation costs more than Thresholds/scaling.json
    run.py record                      what is counted now becomes the threshold

All of them build the probe first. README.md says what is simulated. Exits with 2 if the counting cannot be trusted.
"""

import argparse
import collections
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys

from document import document
from sites import Sites
from thresholds import Thresholds

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
PROBE = ROOT / "Benchmarks/.build/scaling/scaling-probe"
THRESHOLDS = ROOT / "Benchmarks/Thresholds/scaling.json"
DOCUMENT = ROOT / "Documentation/Scaling.md"
SIZES = (2, 8, 64)
GATED_SIZE = 8
SEEDS = (1, 2, 3)
# A program that hangs is found; on a machine that others load, as the stages say it, later.
SECONDS = 300 * int(os.environ.get("GC_CHECK_PATIENCE", "1"))
# Hash tables that begin differently in each process would make no two runs alike.
ENVIRONMENT = {"SWIFT_DETERMINISTIC_HASHING": "1", "SWIFT_BACKTRACE": "enable=no"}


class Trouble(Exception):
    """The counting itself went wrong."""


def run(*command, **environment):
    command = [str(word) for word in command]
    try:
        result = subprocess.run(
            command, capture_output=True, text=True, timeout=SECONDS, check=False, env=os.environ | environment)
    except subprocess.TimeoutExpired as error:
        raise Trouble(f"not done after {SECONDS} s: {' '.join(command)}") from error
    if result.returncode:
        said = result.stderr[-4000:] + result.stdout[-400:]
        raise Trouble(f"{' '.join(command)} ended with {result.returncode}: {said}")
    return result.stdout


class Machine:
    """The probe, built and checked."""

    def __init__(self):
        run("bash", HERE / "build.sh")
        run(PROBE, "--check", **ENVIRONMENT)
        self.sites = Sites(PROBE)

    @staticmethod
    def names():
        return run(PROBE, "--list").split()

    def count(self, name, workers, seed):
        """Counts per operation, and the sites."""
        raw = json.loads(run(PROBE, name, workers, seed, **ENVIRONMENT, GRANDCENTRAL_THREADS=str(workers)))
        operations = raw["operations"]
        self.sites.look_up(site["at"] for site in raw["sites"])
        steals = sum(site["took"] for site in raw["sites"] if self.sites.is_theft(site["at"]))
        totals = {
            "lines": raw["read"] + raw["written"] + raw["modified"],
            "read": raw["read"],
            "written": raw["written"] + raw["modified"],
            "falsely": raw["falsely"],
            "rmws": raw["atomics"] + raw["counts"],
            "counts": raw["counts"],
            "wakes": raw["woken"],
            "steals": steals,
            "sleeps": raw["slept"],
        }
        return {key: total / operations for key, total in totals.items()}, self.moves(raw["sites"], operations)

    def moves(self, sites, operations):
        """Transfers per operation and place in the sources."""
        places = collections.defaultdict(lambda: [0.0, 0.0, 0.0, 0.0, set()])
        for site in sites:
            if not any(site["moved"]):
                continue
            place = places[self.sites.label(site["at"])]
            for kind, moved in enumerate(site["moved"] + [site["falsely"]]):
                place[kind] += moved / operations
            place[4].add(site["line"])
        return sorted(((label, *place) for label, place in places.items()), key=lambda row: -sum(row[1:4]))

    def medians(self, name, workers, seeds=SEEDS):
        """The run in the middle of several that interleave differently, and the sites of the first."""
        runs = [self.count(name, workers, seed) for seed in seeds]
        keys = runs[0][0]
        return {key: statistics.median(counts[key] for counts, _ in runs) for key in keys}, runs[0][1]


def show_sites(machine, arguments):
    counts, moves = machine.count(arguments.name, arguments.workers, SEEDS[0])
    print(f"{arguments.name}, {arguments.workers} workers:", ", ".join(f"{k} {v:.3f}" for k, v in counts.items()))
    print(f"{'read':>8} {'written':>8} {'modified':>8} {'falsely':>8} {'lines':>6}")
    for label, read, written, modified, falsely, lines in moves[: arguments.top]:
        print(f"{read:8.3f} {written:8.3f} {modified:8.3f} {falsely:8.3f} {len(lines):6}  {label}")
    return 0


def write_document(machine, _):
    notes = json.loads((HERE / "notes.json").read_text(encoding="utf-8"))
    names = machine.names()
    if set(names) != set(notes["rows"]):
        raise Trouble(f"notes.json and the probe differ in {', '.join(sorted(set(names) ^ set(notes['rows'])))}")
    rows = {}
    for name in names:
        rows[name] = {size: machine.medians(name, size) for size in SIZES}
        print(name, *(f"{rows[name][size][0]['lines']:.2f}" for size in SIZES), flush=True)
    DOCUMENT.write_text(document(rows, notes, SIZES, len(SEEDS)), encoding="utf-8")
    return 0


def check_thefts(figures):
    """Steals are found by the names of functions: if none is, the names have changed."""
    if not any(counts["steals"] > 0 for counts in figures.values()):
        raise Trouble("no steal was counted in any operation: see THEFTS in sites.py")


def gate(machine, arguments):
    thresholds = Thresholds(THRESHOLDS)
    figures = {name: machine.medians(name, GATED_SIZE)[0] for name in chosen(machine, arguments)}
    if not arguments.filter:
        check_thefts(figures)
        thresholds.check_names(figures)
    if arguments.what == "record":
        thresholds.record(figures)
        return 0
    over = thresholds.exceeded(figures)
    for name, counts in figures.items():
        print(f"{name:32}", *(f"{key} {counts[key]:8.3f}" for key in thresholds.keys))
    fact = f"=> {len(figures)} operations counted with {GATED_SIZE} workers, {len(over)} figures exceeded"
    print(fact, *over, sep="\n=>   ")
    return 1 if over else 0


def chosen(machine, arguments):
    names = [name for name in machine.names() if re.search(arguments.filter, name)]
    if not names:
        raise Trouble("no operation has such a name")
    return names


def parsed(words):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["sites", "document", "gate", "record"])
    parser.add_argument("name", nargs="?")
    parser.add_argument("--workers", type=int, default=64)
    parser.add_argument("--top", type=int, default=20)
    parser.add_argument("--filter", default="", metavar="REGEX")
    arguments = parser.parse_args(words)
    if (arguments.what == "sites") != (arguments.name is not None):
        parser.error("`sites` takes the name of an operation, the others none")
    return arguments


def main(words):
    arguments = parsed(words)
    actions = {"sites": show_sites, "document": write_document, "gate": gate, "record": gate}
    try:
        return actions[arguments.what](Machine(), arguments)
    except (Trouble, OSError, KeyError, ValueError, subprocess.CalledProcessError) as error:
        print(f"run.py: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
