#!/usr/bin/env python3
# Part of GrandCentral. SPDX-License-Identifier: Apache-2.0
"""Looks at core files with gcd why: what it says of one is what it said of the process.

    Scripts/core_files.py TOOL PROGRAM      PROGRAM is that of Tests/Programs/Hangs; needs gdb's gcore
"""

import json
import pathlib
import random
import subprocess
import sys
import tempfile

from looked_at import DAMAGED, NO_REGION, REFUSED, TOLD, expect, fail, running, until, why


def main(tool, program):
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


def why_core(tool, file):
    return subprocess.run([tool, "why", "--after", "0.2", "--core", file], capture_output=True, text=True)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(*(str(pathlib.Path(word).resolve()) for word in sys.argv[1:]))
