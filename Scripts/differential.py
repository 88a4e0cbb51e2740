#!/usr/bin/env python3
# Part of GrandCentral. SPDX-License-Identifier: Apache-2.0
"""Runs the scenarios of one program built for Dispatch and for GrandCentral, and compares what they print.

    differential.py THEIRS OURS DIFFERENCES [RANDOM [SEED]]

RANDOM programs that seeds make up are run as well, from SEED on; a difference names its seed.

Each scenario is a process of its own, so that a trap is one line of its output. We may print no line that Dispatch does
not print, and lack none, except as the file DIFFERENCES lists: `SCENARIO | line | reason`. A line there that applies to
nothing is an error too.

Some scenarios end in more than one way with Dispatch, by chance: what ours prints must be one of the ways that Dispatch
shows in a number of runs.
"""

import concurrent.futures
import difflib
import os
import pathlib
import subprocess
import sys

# A scenario that hangs is ended; none takes a second on an idle machine.
PATIENCE = 60
# How often Dispatch may show another way.
WAYS = 20


def lines_of(program, scenario):
    environment = dict(os.environ, SWIFT_BACKTRACE="enable=no")
    try:
        ended = subprocess.run([program, scenario], capture_output=True, text=True, errors="replace", timeout=PATIENCE,
                               stdin=subprocess.DEVNULL, env=environment)
    except subprocess.TimeoutExpired as late:
        return (late.stdout or b"").decode(errors="replace").splitlines() + ["timed out"], ""
    lines = [line.rstrip() for line in ended.stdout.splitlines()]
    if ended.returncode < 0:
        lines.append("trapped")
    elif ended.returncode > 0:
        lines.append(f"ended with {ended.returncode}")
    return lines, ended.stderr


def unlisted(name, their_lines, our_lines, entries):
    """What ours prints and Dispatch does not, without what is listed; None if they print the same."""
    if our_lines == their_lines:
        return None
    # Lines that we lack are explained by a line of ours in their place, or by an entry for `nothing`.
    more = [line for line in our_lines if line not in their_lines] or ["nothing"]
    for line in more:
        if (name, line) in entries:
            entries[name, line] = True
    return [line for line in more if (name, line) not in entries]


def read_differences(path):
    entries = {}
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if line.strip() and not line.startswith("#"):
            parts = [part.strip() for part in line.split(" | ")]
            if len(parts) != 3 or not all(parts):
                sys.exit(f"error: {path}:{number}: not of the form SCENARIO | LINE | REASON")
            entries[parts[0], parts[1]] = False
    return entries


def main():
    theirs, ours, listed = (pathlib.Path(word).resolve() for word in sys.argv[1:4])
    entries = read_differences(listed)
    names = [subprocess.run([program, "--list"], capture_output=True, text=True, check=True).stdout.splitlines()
             for program in (theirs, ours)]
    if names[0] != names[1] or not names[0]:
        sys.exit("error: the two programs do not have the same scenarios")
    count = int(sys.argv[4]) if len(sys.argv) > 4 else 0
    first = int(sys.argv[5]) if len(sys.argv) > 5 else int.from_bytes(os.urandom(5), "big")
    names[0] += [f"random:{first + number}" for number in range(count)]

    bad, same = [], 0
    with concurrent.futures.ThreadPoolExecutor(int(os.environ.get("GC_JOBS", os.cpu_count() or 1))) as pool:
        runs = [(name, pool.submit(lines_of, theirs, name), pool.submit(lines_of, ours, name)) for name in names[0]]
        for name, their_run, our_run in runs:
            (their_lines, _), (our_lines, said) = their_run.result(), our_run.result()
            strange = unlisted(name, their_lines, our_lines, entries)
            for _ in range(WAYS if strange else 0):
                strange = strange and unlisted(name, lines_of(theirs, name)[0], our_lines, entries)
            if strange is None:
                same += 1
            elif strange:
                bad.append(f"{name}:")
                bad += ["  " + line.rstrip() for line in difflib.unified_diff(
                    their_lines, our_lines, "Dispatch", "GrandCentral", lineterm="", n=1)]
                bad += ["  " + line for line in said.splitlines()[:3]]
    bad += [f"{listed.name}: {name} does not print \"{line}\" any more, or Dispatch prints it too: take the line out"
            for (name, line), used in entries.items() if not used]

    print("\n".join(bad))
    print(f"=> {len(names[0])} scenarios, {count} of them random from {first}: {same} the same, {len(entries)} lines listed as different")
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
