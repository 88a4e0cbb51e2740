#!/usr/bin/env python3
# Part of GrandCentral. SPDX-License-Identifier: Apache-2.0
"""Proves the table of what does not compile, and how it is mended, in the page on moving from Dispatch.

    mends.py PAGE FILES NAMES COMPILER-FLAGS...

For each row of the table FILES has a file whose head names the message: `// Says: …`. It is an error with that message before,
and compiles without a diagnostic with -DMENDED. `// Names: BEFORE; then AFTER` says what `gcd adopt` has written into the module:
`none`, `adopt` or `adopt --public`, which are the files adopt.swift and adopt--public.swift in the folder NAMES. What the mend
quotes is in the file, or is what AFTER says.
"""

import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys

HEADING = "### What the compiler says, and the mend"


def rows(page):
    """The table's rows: the message, and what the mend quotes."""
    section = page.read_text().split(HEADING, 1)[1].split("\n#", 1)[0]
    for line in section.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")] if line.startswith("| `") else []
        if cells:
            yield cells[0].strip("`"), re.findall(r"`([^`]+)`", cells[2])


def errors(file, names, folder, flags):
    """What the compiler says of the file in a module with these names."""
    beside = [] if names == "none" else [str(folder / f"{names.replace(' ', '')}.swift")]
    command = ["swiftc", "-typecheck", "-swift-version", "6", "-parse-as-library", "-module-name", "Module", "-warnings-as-errors",
               *flags, *beside, str(file)]
    said = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    found = re.findall(r"^[^ ]+\.swift:\d+:\d+: error: (.*)$", said.stderr, re.MULTILINE)
    return found or ([said.stderr] if said.returncode != 0 else [])


def fault(file, quotes, folder, flags):
    """Why a file does not prove its row, or nil."""
    text = file.read_text()
    message = re.search(r"^// Says: (.*)$", text, re.MULTILINE)[1]
    before, after = re.search(r"^// Names: (.*); then (.*)$", text, re.MULTILINE).groups()
    for quote in quotes:
        if quote != f"gcd {after}" if quote.startswith("gcd ") else quote.rstrip(")") not in text:
            return f"the page's mend is `{quote}`, and this file's is another"
    pattern = ".*".join(map(re.escape, message.split("…")))
    found = errors(file, before, folder, flags)
    if not any(re.fullmatch(pattern, said) for said in found):
        return f"the compiler says {found}, and not: {message}"
    found = errors(file, after, folder, ["-DMENDED", *flags])
    return f"the mend leaves {found}" if found else None


def main():
    page, files, folder = map(pathlib.Path, sys.argv[1:4])
    flags = sys.argv[4:]
    listed = dict(rows(page))
    proofs = {re.search(r"^// Says: (.*)$", file.read_text(), re.MULTILINE)[1]: file for file in sorted(files.glob("*.swift"))}
    wrong = [f"{page}: no file in {files} says: {message}" for message in listed if message not in proofs]
    wrong += [f"{file}: the page does not list: {message}" for message, file in proofs.items() if message not in listed]
    with concurrent.futures.ThreadPoolExecutor(int(os.environ.get("GC_JOBS", os.cpu_count() or 1))) as threads:
        known = [(file, listed[message]) for message, file in proofs.items() if message in listed]
        faults = threads.map(lambda row: fault(*row, folder, flags), known)
        wrong += [f"{file}: {why}" for (file, _), why in zip(known, faults) if why]
    if wrong or not listed:
        sys.exit("\n".join(wrong) or f"{page} has no table of mends")
    print(f"=> {len(listed)} messages of the compiler, and their mends, are as {page.name} says")


if __name__ == "__main__":
    main()
