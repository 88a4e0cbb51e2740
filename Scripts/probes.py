#!/usr/bin/env python3
# Part of GrandCentral. SPDX-License-Identifier: Apache-2.0
"""Looks in at the library's statically defined probes, as readelf shows them and as gdb uses them.

    Scripts/probes.py TRACED PROGRAM LIBRARY
        TRACED    Tests/Programs/Traced of the tool's package: the library is in the program
        PROGRAM   a C program that runs as many items of `count` as it is told, on libdispatch.so
        LIBRARY   the folder of libdispatch.so
"""

import collections
import os
import re
import subprocess
import sys
import tempfile

from looked_at import PATIENCE, fail, running, until

ITEMS = 200
PROBES = {
    "queue__push": 6,
    "queue__pop": 6,
    "callout__entry": 4,
    "callout__return": 4,
    "timer__configure": 3,
    "timer__program": 3,
    "timer__wake": 2,
    "timer__fire": 2,
}
# As in CPlatformInsight.h.
SWITCH = 16


def notes(path):
    """By name, how many arguments each probe has; all have a semaphore."""
    text = subprocess.check_output(["readelf", "-n", path], text=True)
    pattern = r"Provider: dispatch\s+Name: (\S+)\s+Location: (\S+), Base: (\S+), Semaphore: (\S+)\s+Arguments: (.*)"
    found = re.findall(pattern, text)
    for name, *places, _ in found:
        if any(int(place, 16) == 0 for place in places):
            fail(f"{path}: {name} is at {places}")
    return {name: len(arguments.split()) for name, _, _, _, arguments in found}


def gdb(commands, *arguments):
    environment = dict(os.environ, DEBUGINFOD_URLS="", LC_ALL="C.UTF-8")
    with tempfile.NamedTemporaryFile("w", suffix=".gdb") as file:
        file.write("set pagination off\nset confirm off\nset breakpoint pending on\n" + commands)
        file.flush()
        run = subprocess.run(
            ["gdb", "-q", "-nx", "-batch", "-x", file.name, *arguments],
            stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=2 * PATIENCE, env=environment,
        )
    return run.stdout, run.stdout + run.stderr


def at(probe, text, *arguments, then="continue"):
    return f"break -probe-stap dispatch:{probe}\ncommands\nsilent\nprintf \"=> {probe} {text}\\n\", {', '.join(arguments)}\n{then}\nend\n"


def items(name, label, kind, expected, *command, library=None):
    """Each item is pushed, popped, entered and returned from once, on its queue."""
    commands = f"set environment LD_LIBRARY_PATH {library}\n" if library else ""
    for probe in ("queue__push", "queue__pop"):
        commands += at(probe, "%s %s %p", "$_probe_arg1", "$_probe_arg3", "$_probe_arg4")
    for probe in ("callout__entry", "callout__return"):
        commands += at(probe, "%s - %p", "$_probe_arg1", "$_probe_arg2")
    # Where the program is in memory is known when it runs.
    commands += "break main\nrun\ninfo address count\ncontinue\n" if library else "run\n"
    output, said = gdb(commands, "--args", *command)
    address = re.search(r'"count" is at (0x[0-9a-f]+)', output)
    seen = collections.Counter()
    for probe, queue, kind_seen, function in re.findall(r"^=> (\S+) (\S+) (\S+) (\S+)$", output, re.MULTILINE):
        if queue != label or function == "(nil)":
            continue
        if kind_seen not in ("-", kind):
            fail(f"{name}: {probe} of a queue of the kind {kind_seen}, not {kind}")
        if library and function != address[1]:
            fail(f"{name}: {probe} of the function {function}; count is at {address[1]}")
        seen[probe] += 1
    for probe in ("queue__push", "queue__pop", "callout__entry", "callout__return"):
        if seen[probe] != expected:
            fail(f"{name}: {probe} {seen[probe]} times, not {expected}:\n{said[-3000:]}")
    print(f"=> {name}: {expected} items, each at the four probes of items")


def late(traced):
    """A tracer comes while the program runs, and goes again."""
    with running([traced, "steady"]) as process:
        if process.stdout.readline() != "begun\n":
            fail("steady has not begun")
        commands = "set $fires = 0\nset $returns = 0\n"
        enough = "if $fires >= 20 && $returns >= 20\ndetach\nquit\nelse\ncontinue\nend"
        for probe in ("timer__program", "timer__wake"):
            commands += at(probe, "%p", "$_probe_arg0")
        commands += at("timer__fire", "%p", "$_probe_arg0", then=f"set $fires = $fires + 1\n{enough}")
        commands += at("callout__return", "%s", "$_probe_arg1", then=f"set $returns = $returns + 1\n{enough}")
        output, said = gdb(commands + "continue\n", "-p", str(process.pid))
        seen = collections.Counter(re.findall(r"^=> (\S+) ", output, re.MULTILINE))
        timers = set(re.findall(r"^=> timer__\S+ (\S+)$", output, re.MULTILINE))
        if min(seen[probe] for probe in ("timer__program", "timer__wake", "timer__fire", "callout__return")) < 19:
            fail(f"a tracer that comes late sees {dict(seen)}:\n{said[-3000:]}")
        if len(timers) != 1 or "=> callout__return steady" not in output:
            fail(f"a tracer that comes late sees the timers {timers}:\n{said[-3000:]}")

        def off():
            output, said = gdb("x/1wx &gc_insight_page\n", "-p", str(process.pid))
            word = re.search(r"<gc_insight_page>:\s+(0x[0-9a-f]+)", output)
            if not word:
                fail(f"no switches:\n{said}")
            return True if int(word[1], 16) & SWITCH == 0 else None

        until("the probes are off when the tracer has gone", off)
        if process.poll() is not None:
            fail(f"the program has ended: {process.returncode}")
    print(f"=> a tracer that comes late and goes: {sum(seen.values())} times at {len(seen)} probes")


def main(traced, program, library):
    for path in (traced, os.path.join(library, "libdispatch.so")):
        if (found := notes(path)) != PROBES:
            fail(f"{path} has the probes {found}")
    items("a program in Swift", "counted", "serial", ITEMS, traced, "serial", str(ITEMS))
    items("a program in C", "org.example.unmodified", "serial", ITEMS, program, str(ITEMS), library=library)
    late(traced)


if __name__ == "__main__":
    main(*sys.argv[1:])
