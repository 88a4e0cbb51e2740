# Part of GrandCentral. SPDX-License-Identifier: Apache-2.0
"""What whole programs cost with the recorder on, beside the same programs with it off, in turn on one machine.

usage: Scripts/benchmark record --programs [ROUNDS]

The programs: Examples/swift/word-index over files of ours, Examples/swift/channel-copy of a file of 256 MiB, and a serial queue whose
items take some 50 ns each. Each runs with the recorder off, as a flight recorder (GRANDCENTRAL_RECORD=ring), and off again, so that what
the machine does meanwhile shows as the second figure: two runs without a recorder. The figures are medians of ratios of one round.
Fails where the flight recorder costs more than its bar and twice what the two silent runs differ by.
"""

import os
import pathlib
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
# The most that recording everything may cost.
BARS = {"word-index": 1.02, "channel-copy": 1.02, "items of 50 ns": 1.10}


def build(product, *package):
    command = ["swift", "build", "-c", "release", *package]
    subprocess.run([*command, "--product", product], check=True, stdout=sys.stderr)
    folder = subprocess.run([*command, "--show-bin-path"], check=True, capture_output=True, text=True).stdout.strip()
    return pathlib.Path(folder) / product


def once(command, **environment):
    """Seconds of the clock, and of processors."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    begun = time.monotonic()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=dict(os.environ, **environment))
    passed = time.monotonic() - begun
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return passed, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main(rounds):
    index, copy = build("word-index"), build("channel-copy")
    traced = build("traced", "--package-path", "Tool")
    missed = False
    with tempfile.TemporaryDirectory() as folder:
        source, words = pathlib.Path(folder, "source"), pathlib.Path(folder, "words")
        source.write_bytes(os.urandom(1 << 20) * 256)
        for number in range(6):
            shutil.copytree(ROOT / "Sources", words / str(number), symlinks=True)
        commands = {
            "word-index": [index, words],
            "channel-copy": [copy, source, pathlib.Path(folder, "copy")],
            "items of 50 ns": [traced, "fifty", "4000000"],
        }
        for name, command in commands.items():
            ratios = []
            for _ in range(rounds):
                off = once(command)
                on = once(command, GRANDCENTRAL_RECORD="ring")
                again = once(command)
                ratios.append([each / both for each, both in zip([*on, *again], [*off, *off])])
            wall, processors, idle_wall, idle = (statistics.median(column) for column in zip(*ratios))
            bar = BARS[name]
            misses = wall > bar + 2 * abs(idle_wall - 1)
            missed |= misses
            print(f"{name}: {wall:.3f} of the time, {processors:.3f} of the processors' time (bar {bar}); "
                  f"off again: {idle_wall:.3f}, {idle:.3f}{'  MISSED' if misses else ''}")  # fmt: skip
    return missed
