#!/usr/bin/env python3
# Part of GrandCentral. SPDX-License-Identifier: Apache-2.0
"""Finds comments that call a thread, a tool or a piece of code "who": a comment names the one that acts.

    // Whoever wakes the waiter must not touch the node.            a finding
    // The thread that wakes the waiter must not touch the node.    none

`who`, `whom` and `whoever` are findings in comments of Swift files, except behind a word for people (PEOPLE). Code between
backticks is left out, and so are snippets.

usage: words.py [PATH...]     default: Sources
"""

import re
import sys

from swiftlines import finish, read, swift_files

PEOPLE = ("people", "programmers", "users")
WORD = re.compile(rf"(?<!\w)(?:(?P<people>{'|'.join(PEOPLE)}),? )?(?P<word>who|whom|whoever)(?!\w)", re.IGNORECASE)


def check(path):
    """The findings in a file: path, line, what is wrong."""
    findings, in_snippet = [], False
    for number, line in enumerate(read(path), 1):
        comment = line.comment or ""
        if comment.startswith("```"):
            in_snippet = not in_snippet
        if in_snippet:
            continue
        for match in WORD.finditer(re.sub(r"`[^`]*`", "", comment)):
            if not match.group("people"):
                findings.append((path, number, f"'{match.group('word')}': name the thread or the code that acts"))
    return findings


def main():
    files = [file for root in sys.argv[1:] or ["Sources"] for file in swift_files(root)]
    finish([finding for file in files for finding in check(file)], len(files))


if __name__ == "__main__":
    main()
