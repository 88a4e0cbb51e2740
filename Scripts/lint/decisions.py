#!/usr/bin/env python3
# Part of GrandCentral. SPDX-License-Identifier: Apache-2.0
"""Compares the records of decisions with the form that Documentation/Decisions/README.md shows.

usage: decisions.py FOLDER
"""

import pathlib
import re
import sys

SECTIONS = ("Context", "Findings", "Decision", "Consequences", "Figures", "Tried", "Rejected")
NEEDED = {"Context", "Decision", "Consequences"}
LINK = r"\[\d{4}\]\(\d{4}-[\w-]+\.md\)"
STATUS = re.compile(rf"Status: (accepted(; .*{LINK}.*)?|superseded by {LINK})")


def check(number, text):
    """Yields what is wrong with the record of this number."""
    lines = text.splitlines()
    if not lines or not re.fullmatch(rf"# {number}: \S.*", lines[0]):
        yield f"does not begin with '# {number}: ' and a title"
    if len(lines) < 3 or lines[1] or not STATUS.fullmatch(lines[2]):
        yield "has no status in its third line"
    sections = re.findall(r"^## (.*)$", text, re.MULTILINE)
    yield from (f"has a section {section!r}" for section in sections if section not in SECTIONS)
    yield from (f"lacks the section {section!r}" for section in SECTIONS if section in NEEDED and section not in sections)
    known = [section for section in sections if section in SECTIONS]
    if known != sorted(known, key=SECTIONS.index) or len(set(known)) != len(known):
        yield f"has its sections in the order {', '.join(known)}"


def one_sided(texts):
    """Yields what is wrong between the records: of two, one of which supersedes the other or a part of it, each names the other one.

    `texts` are the records by their numbers.
    """
    named = {number: re.findall(r"\[(\d{4})\]\(", (text.splitlines() + [""] * 3)[2]) for number, text in texts.items()}
    for number, others in named.items():
        yield from (f"{number} names {other} in its status, and {other} does not name {number}" for other in others
                    if other in named and number not in named[other])


def main():
    folder, findings = pathlib.Path(sys.argv[1]), []
    records = sorted(folder.glob("[0-9]*.md"))
    for place, record in enumerate(records, 1):
        text = record.read_text(encoding="utf-8")
        findings += [f"{record} {finding}" for finding in check(record.name[:4], text)]
        if record.name[:5] != f"{place:04}-":
            findings.append(f"{record} is the record {place:04}")
        findings += [f"{record} links to {link}, which does not exist"
                     for link in re.findall(r"\]\((\d{4}-[^)]*)\)", text) if not (folder / link).exists()]
    findings += one_sided({record.name[:4]: record.read_text(encoding="utf-8") for record in records})
    print("\n".join(findings) or f"=> {len(records)} records")
    sys.exit(1 if findings or not records else 0)


if __name__ == "__main__":
    main()
