#!/usr/bin/env python3
# Part of GrandCentral. SPDX-License-Identifier: Apache-2.0
"""Proves that an id means one thing: `Lane.L1` is an invariant, `Sleep.W3` a step, `Contract.Q1` a clause.

An id is a letter and a number behind the name of its home. It is defined where a comment line, or an item of a list in a
README, begins with it, with two spaces behind: `// Lane.L1  Only the owner takes items off the list.` Clauses are defined by
`Scripts/clauses.txt`. A bare id is allowed in the README that defines it, nowhere else.

usage: ids.py FOLDER...

Reads comments of Swift files, READMEs and models; prints a line for each finding, and exits with 1 if there is one.
"""

import collections
import pathlib
import re
import sys

import swiftlines

QUALIFIED = re.compile(r"(?<![\w.])([A-Z][A-Za-z]+)\.([A-Z]\d{1,2})(?:–([A-Z]\d{1,2}))?(?![\w.]\w)")
BARE = re.compile(r"(?<![\w.\-–])([A-Z]\d{1,2})(?![\w-])")
DEFINITION = re.compile(r"^(?:- \*\*)?([A-Z][A-Za-z]+\.[A-Z]\d{1,2})(?:\*\*)?(?:  | )(?=\S)")
# What looks like an id and is none: standards of C.
NO_IDS = {"C11", "C17", "C23", "C99"}


def comments(file):
    """The file's comment lines, with their numbers; a README's lines are all comments."""
    text = file.read_text(encoding="utf-8")
    if file.suffix == ".swift":
        for number, line in enumerate(swiftlines.read(file), 1):
            if line.comment:
                yield number, line.comment
    elif file.suffix == ".pml":
        for number, line in enumerate(text.split("\n"), 1):
            start = line.find("//")
            if start >= 0:
                yield number, line[start + 2 :].strip()
    else:
        yield from enumerate(text.split("\n"), 1)


def defined_at_start(file, comment):
    """The id that this line defines, if it does."""
    found = DEFINITION.match(comment)
    if not found or file.suffix == ".pml":
        return None
    # In a Swift file two spaces tell a definition from a sentence that begins with an id.
    if file.suffix == ".swift" and not comment[found.end(1) :].startswith("  "):
        return None
    return None if file.suffix == ".md" and not comment.startswith("- **") else found.group(1)


def expand(match):
    """The ids that a mention names: `Sleep.S1–S4` are four."""
    home, first, last = match.groups()
    if not last:
        return [f"{home}.{first}"]
    return [f"{home}.{first[0]}{number}" for number in range(int(first[1:]), int(last[1:]) + 1)]


def check(files, clauses):
    """The findings in the files: file, line, what is wrong."""
    definitions, mentions, findings = collections.defaultdict(list), [], []
    homes = collections.defaultdict(set)
    lines = [(file, number, comment) for file in files for number, comment in comments(file)]
    for file in files:
        if file.suffix == ".pml":
            # A model's names may look like ids.
            code = re.sub(r"//.*", "", file.read_text(encoding="utf-8"))
            homes[file] = set(re.findall(r"\b[A-Z]\d{1,2}\b", code))
    for file, number, comment in lines:
        identifier = defined_at_start(file, comment)
        if identifier:
            definitions[identifier].append((file, number))
            if file.suffix == ".md":
                homes[file].add(identifier.split(".")[1])
        mentions += [(file, number, name) for match in QUALIFIED.finditer(comment) for name in expand(match)]
    for identifier, places in definitions.items():
        findings += [(file, number, f"{identifier} is defined before: {places[0][0]}:{places[0][1]}") for file, number in places[1:]]
    for file, number, name in mentions:
        home, identifier = name.split(".")
        if identifier not in clauses if home == "Contract" else name not in definitions:
            findings.append((file, number, f"{name} is defined nowhere"))
    for file, number, comment in lines:
        for match in BARE.finditer(QUALIFIED.sub("", comment)):
            if match.group(1) in NO_IDS or match.group(1) in homes[file]:
                continue
            findings.append((file, number, f"{match.group(1)} does not say whose it is: write Home.{match.group(1)}"))
    return findings


def main():
    clause_file = pathlib.Path(__file__).resolve().parent.parent / "clauses.txt"
    clauses = set(re.findall(r"^([A-Z]\d{1,2}) \|", clause_file.read_text(encoding="utf-8"), re.MULTILINE))
    files = sorted(
        file
        for folder in sys.argv[1:]
        for pattern in ("*.swift", "README.md", "*.pml")
        for file in pathlib.Path(folder).rglob(pattern)
        # The checker's scenarios name their home beside the id: `protocolScenario("K2: …", of: "Parker")`.
        if not re.search(r"\.build|\.docc|Verification/Checker", str(file)))
    findings = check(files, clauses)
    for file, number, text in findings:
        print(f"{file}:{number}: {text}")
    print(f"=> {len(files)} files, {len(findings)} findings")
    sys.exit(1 if findings or not files else 0)


if __name__ == "__main__":
    main()
