#!/usr/bin/env python3
# Part of GrandCentral. SPDX-License-Identifier: Apache-2.0
"""Compiles the same client files against Dispatch and against GrandCentral, and compares what the compiler says.

    compat.py CLIENTS DIFFERENCES FOLDER COMPILER-FLAGS...

Our module may bring no error and no warning that Dispatch does not bring, except those that the file DIFFERENCES lists:
`FILE | a part of the message | reason`, one a line. A line there that applies to nothing is an error too.
"""

import collections
import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys

MODES = {
    "Swift 5": ["-swift-version", "5"],
    "Swift 5, complete checking": ["-swift-version", "5", "-strict-concurrency=complete"],
    "Swift 6": ["-swift-version", "6"],
    "Swift 6, main actor by default": ["-swift-version", "6", "-default-isolation", "MainActor"],
}
MODULES = {"theirs": "Dispatch", "ours": "GrandCentral"}
SAID = re.compile(r"^[^ :]+\.swift:(\d+):(\d+): (error|warning): (.*)$")


def diagnostics(source, folder, mode, flags):
    """What the compiler says about a file: (line, column, severity, message), without what names the module."""
    # Type checking alone leaves out what the compiler finds later, such as a value sent to two regions.
    command = ["swiftc", "-emit-sil", "-o", os.devnull, "-parse-as-library", *MODES[mode], *flags, source.name]
    said = subprocess.run(command, cwd=folder, capture_output=True, text=True, errors="replace")
    found = set()
    for line in said.stderr.splitlines():
        match = SAID.match(line)
        if match:
            message = re.sub(r" \[#\w+\]$", "", match[4])
            for module in MODULES.values():
                message = message.replace(f"{module}.", "").replace(f"'{module}'", "the module")
            found.add((int(match[1]), int(match[2]), match[3], message))
    if said.returncode != 0 and not any(severity == "error" for _, _, severity, _ in found):
        sys.exit(f"error: {' '.join(command)} ended with {said.returncode}:\n{said.stderr}")
    return found


def compare(source, folder, mode, flags):
    """The diagnostics that only ours has, those that only theirs has, and all of theirs."""
    said = {}
    for side, module in MODULES.items():
        copies = folder / side
        copies.mkdir(parents=True, exist_ok=True)
        copy = copies / source.name
        text = source.read_text().replace("\nimport Dispatch\n", f"\nimport {module}\n")
        if not copy.exists() or copy.read_text() != text:
            copy.write_text(text)
        said[side] = diagnostics(copy, copies, mode, flags if side == "ours" else [])
    return said["ours"] - said["theirs"], said["theirs"] - said["ours"], said["theirs"]


def read_differences(path):
    entries = []
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if line.strip() and not line.startswith("#"):
            parts = [part.strip() for part in line.split(" | ")]
            if len(parts) != 3 or not all(parts):
                sys.exit(f"error: {path}:{number}: not of the form FILE | PART OF THE MESSAGE | REASON")
            entries.append(parts)
    return entries


def main():
    clients, listed, folder = (pathlib.Path(word) for word in sys.argv[1:4])
    flags = sys.argv[4:]
    differences = read_differences(listed)
    sources = sorted(clients.glob("*.swift"))
    if not sources:
        sys.exit(f"error: {clients} has no client files")

    used, bad, counts = set(), [], collections.Counter()
    with concurrent.futures.ThreadPoolExecutor(int(os.environ.get("GC_JOBS", os.cpu_count() or 1))) as pool:
        # The files of one source first: the copies are written once.
        jobs = [(source, mode, pool.submit(compare, source, folder / mode.replace(" ", "-"), mode, flags))
                for source in sources for mode in MODES]
        for source, mode, job in jobs:
            more, fewer, all_of_theirs = job.result()
            counts["theirs"] += len(all_of_theirs)
            counts["fewer"] += len(fewer)
            for line, column, severity, message in sorted(more):
                entry = next((index for index, (file, part, _) in enumerate(differences)
                              if file == source.name and part in message), None)
                if entry is None:
                    bad.append(f"{clients}/{source.name}:{line}:{column}: {severity}: {message} ({mode})")
                else:
                    used.add(entry)
                    counts["listed"] += 1
    for index, (file, part, _) in enumerate(differences):
        if index not in used:
            bad.append(f"{listed}: nothing in {file} is told \"{part}\" any more: take the line out")

    print("\n".join(bad))
    print(f"=> {len(sources)} files in {len(MODES)} modes: Dispatch brings {counts['theirs']} diagnostics, of which we lack "
          f"{counts['fewer']}; we bring {len(bad)} that are not listed, and {counts['listed']} that are")
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
