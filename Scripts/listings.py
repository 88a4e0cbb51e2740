#!/usr/bin/env python3
# Part of GrandCentral. SPDX-License-Identifier: Apache-2.0
"""Compares listings of pages, which are parts of tests and of programs, with the files that they are from.

    listings.py FOLDER

FOLDER has the pages, in the places that they have in the repository. Blanks do not count. A file's imports stand at its beginning.
"""

import pathlib
import re
import sys

from probes import PROBES

# A page, the fence of the listings, how many there are at least, the files that they are from.
PARTS = (
    ("Documentation/Simulation.md", "swift no-check", 3,
     ("Tests/SimulationTests/ExampleTests.swift", "Tests/SimulationTests/XCTestTests.swift")),
    ("Documentation/Simulation.md", "c", 1, ("Tests/Programs/Simulated/withdraw.c",)),
    ("Documentation/FiveBugs.md", "swift no-check", 3, ("Tests/SimulationTests/FiveBugs.swift",)),
    ("Documentation/GettingStarted.md", "swift no-check", 1, ("Tests/SimulationTests/ExampleTests.swift",)),
    ("Documentation/Testing.md", "swift no-check", 1, ("Tests/FaultTests/PageTests.swift",)),
    ("Verification/Checker/README.md", "swift", 1, ("Verification/Checker/Sources/Scenarios/Waiting.swift",)),
)
TOOL = "Documentation/Tool.md"


def parts(folder):
    """What a page shows, and no file has."""
    for page, fence, least, names in PARTS:
        blocks = re.findall(rf"^```{fence}\n(.*?)^```$", (folder / page).read_text(), re.MULTILINE | re.DOTALL)
        text = "\n".join(pathlib.Path(name).read_text() for name in names)
        plain = " ".join(text.split())
        for block in blocks:
            imports = re.findall(r"^import .*\n", block, re.MULTILINE)
            rest = re.sub(r"^import .*\n", "", block, flags=re.MULTILINE)
            if " ".join(rest.split()) not in plain or not all(line in text for line in imports):
                yield f"{page}: in none of {', '.join(names)}:\n{block}"
        if len(blocks) < least:
            yield f"{page}: {len(blocks)} listings of {fence}, of {least}"


def probes(folder):
    """Where the page on the tool tells of probes and of arguments that there are not."""
    text = (folder / TOOL).read_text()
    listed = {}
    for names, arguments in re.findall(r"^\| (`\w+__\w+`.*?) \| (.*?) \|$", text, re.MULTILINE):
        listed |= dict.fromkeys(re.findall(r"`(\w+)`", names), arguments.split(", "))
    if {name: len(words) for name, words in listed.items()} != PROBES:
        yield f"{TOOL} lists {listed}, and there are {PROBES}"
    script = re.search(r"^\$ cat waits\.bt\n(.*?)^\$ sudo bpftrace waits\.bt$", text, re.MULTILINE | re.DOTALL)
    clauses = re.findall(r"^usdt:\S+:dispatch:(\w+) (.*?)\}$", script[1] if script else "", re.MULTILINE | re.DOTALL)
    if len(clauses) != 2:
        yield f"{TOOL}: {len(clauses)} probes in waits.bt"
    for name, body in clauses:
        words = listed.get(name, [])
        used = [(call, int(number)) for call, number in re.findall(r"(\bstr\()?\barg(\d+)", body)]
        # Only a label is a string, and only an item is a key.
        if not used or any(words[number:number + 1] != ["label" if call else "item"] for call, number in used):
            yield f"{TOOL}: waits.bt takes {used} of {name}, whose arguments are {words}"


def main():
    folder = pathlib.Path(sys.argv[1])
    wrong = [*parts(folder), *probes(folder)]
    if wrong:
        sys.exit("\n".join(wrong))
    print(f"=> the listings of {len(PARTS) + 1} kinds are those of their files")


if __name__ == "__main__":
    main()
