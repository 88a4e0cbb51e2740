#!/usr/bin/env python3
# Part of GrandCentral. SPDX-License-Identifier: Apache-2.0
"""Looks at core files with gcd why and gcd trace: what they say of one is what they said of the process.

    Scripts/core_files.py TOOL PROGRAM PROBE    PROGRAM is that of Tests/Programs/Hangs, PROBE the contract's; needs gdb's gcore
"""

import csv
import io
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile

from looked_at import DAMAGED, NO_REGION, REFUSED, TOLD, expect, fail, running, until, why


# As of the table of exit codes: a process whose recorder is off.
NO_RECORDS = 4
RECORDED = {**os.environ, "GRANDCENTRAL_INSPECT": "1", "GRANDCENTRAL_RECORD": "ring"}


def slices(tool, folder, file, *options):
    """The rows of the trace that a core file gives."""
    trace = f"{folder}/trace.pftrace"
    made = subprocess.run([tool, "trace", *options, "--core", file, "-o", trace], capture_output=True, text=True)
    if made.returncode != 0 or made.stdout or made.stderr:
        fail(f"the trace of {file}: {made}")
    table = subprocess.run([tool, "trace", "convert", trace, "--format", "csv", "-o", "-"], capture_output=True, text=True)
    if table.returncode != 0:
        fail(f"{trace}: {table}")
    return list(csv.DictReader(io.StringIO(table.stdout)))


def own(tool, probe):
    """Files that the library writes: when the program asks for one, and at a fault."""
    with tempfile.TemporaryDirectory() as folder:
        file = f"{folder}/own"
        environment = {**RECORDED, "GC_PROBE_FILE": file}
        if subprocess.run([probe, "core-file"], env=environment, capture_output=True).returncode:
            fail("the program has written no file")
        expect(why_core(tool, file, "0"), TOLD, 'waits in sync for queue "he', "a file of the program's own")
        said = why_core(tool, file, "0").stdout
        # A copy of the file is newer than what it shows.
        changed = os.stat(file).st_mtime
        os.utime(file, (changed + 50, changed + 50))
        if why_core(tool, file, "0").stdout != said:
            fail("what a file says depends on when it was copied")
        items = [row for row in slices(tool, folder, file) if row["kind"] == "slice" and row["track"] == "Queues/busy"]
        if len(items) != 101:
            fail(f"{len(items)} of the 101 items of a queue are in the trace")
        environment = {**RECORDED, "GRANDCENTRAL_CORE": f"{folder}/fault.%p"}
        if subprocess.run([probe, "dump-fault"], env=environment, capture_output=True).returncode >= 0:
            fail("the program has not ended by a fault")
        (fault,) = pathlib.Path(folder).glob("fault.*")
        expect(why_core(tool, fault, "0"), TOLD, 'waits in sync for queue "he', "a fault's file")
        rows = slices(tool, folder, fault, "--last", "60")
        if not any(row["category"] == "unfinished" and row["track"].startswith("Queues/he") for row in rows):
            fail("the item that ran at the fault is not in the trace")
        # The tool needs a moment to start, so all that the recorder has is older.
        if any(row["kind"] == "instant" for row in slices(tool, folder, file, "--last", "0.000001")):
            fail("--last has taken older records")
        del environment["GRANDCENTRAL_RECORD"]
        subprocess.run([probe, "dump-fault"], env=environment, capture_output=True)
        (silent,) = set(pathlib.Path(folder).glob("fault.*")) - {fault}
        told = subprocess.run([tool, "trace", "--core", silent, "-o", f"{folder}/none"], capture_output=True, text=True)
        if told.returncode != NO_RECORDS or "has no flight recorder" not in told.stderr:
            fail(f"a file without records: {told}")
        if pathlib.Path(folder, "none").exists():
            fail("a file without records has left a trace behind")
    print("=> files that the library writes, of its own will and at a fault, show the waits and all items")


def main(tool, program, probe):
    own(tool, probe)
    with tempfile.TemporaryDirectory() as folder:
        with running([program, "crosswise-sync"]) as process:
            process.stdout.readline()
            until("a deadlock", lambda: True if why(tool, process.pid).returncode == TOLD else None)
            alive = json.loads(why(tool, process.pid, "--json").stdout)
            if subprocess.run(["gcore", "-o", f"{folder}/core", str(process.pid)], capture_output=True).returncode:
                fail("gcore writes no core file")
        file = pathlib.Path(folder, f"core.{process.pid}")
        said = subprocess.run([tool, "why", "--after", "0.2", "--json", "--core", file], capture_output=True, text=True)
        dead = json.loads(said.stdout)
        for member in ("kind", "threads", "labels", "remedy"):
            if [found[member] for found in dead["findings"]] != [found[member] for found in alive["findings"]]:
                fail(f"{member} of the core file: {dead}, alive: {alive}")
        if said.returncode != TOLD or dead["pid"] != process.pid or dead["core"] != str(file):
            fail(f"the core file: {said}")
        expect(why_core(tool, file), TOLD, "Deadlock: 2 threads", "a core file, in words")
        whole = file.read_bytes()
        for length in (0, 20, 100, 4096):
            pathlib.Path(folder, "cut").write_bytes(whole[:length])
            result = why_core(tool, f"{folder}/cut")
            if result.returncode not in (NO_REGION, DAMAGED) or not result.stderr.startswith("gcd: "):
                fail(f"a core file of {length} bytes: {result}")
        number = random.Random(whole[:64])
        for _ in range(100):
            bytes_ = bytearray(whole[:1 << 16])
            for _ in range(20):
                bytes_[number.randrange(len(bytes_))] = number.randrange(256)
            pathlib.Path(folder, "random").write_bytes(bytes_)
            if why_core(tool, f"{folder}/random").returncode not in (NO_REGION, DAMAGED):
                fail("a core file with random bytes is not refused")
        expect(why_core(tool, program), DAMAGED, "is not the core file", "a program")
        expect(why_core(tool, f"{folder}/absent"), REFUSED, "No such file", "an absent file")
    print("=> a core file is told as the process was; cut and random ones are refused")


def why_core(tool, file, after="0.2"):
    return subprocess.run([tool, "why", "--after", after, "--core", file], capture_output=True, text=True)


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    main(*(str(pathlib.Path(word).resolve()) for word in sys.argv[1:]))
