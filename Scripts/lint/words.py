#!/usr/bin/env python3
# Part of GrandCentral. SPDX-License-Identifier: Apache-2.0
"""Finds sentences that call a thread, a tool or a piece of code "who": a sentence names the one that acts.

    // Whoever wakes the waiter must not touch the node.            a finding
    // The thread that wakes the waiter must not touch the node.    none

`who`, `whom` and `whoever` are findings in comments and strings of Swift, C and Promela, and in documents; except behind a
word for people (PEOPLE). Code between backticks is left out, and so are snippets, and words in quotes in a document.

usage: words.py [PATH...]     default: Sources
"""

import pathlib
import re
import sys

from swiftlines import finish, read

PEOPLE = ("people", "programmers", "users")
WORD = re.compile(rf"(?<!\w)(?:(?P<people>{'|'.join(PEOPLE)}),? )?(?P<word>who|whom|whoever)(?!\w)", re.IGNORECASE)
SOURCES = {".swift", ".c", ".cpp", ".h", ".hpp", ".inc", ".pml"}
DOCUMENTS = {".md"}


def sentences(path):
    """The texts of each line of a file that a person reads, with the line's number."""
    if path.suffix in DOCUMENTS:
        in_snippet = False
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            if line.lstrip().startswith("```"):
                in_snippet = not in_snippet
            elif not in_snippet:
                yield number, re.sub(r'"[^"]*"', "", line)
        return
    in_snippet = False
    for number, line in enumerate(read(path), 1):
        yield number, line.text
        comment = line.comment or ""
        if comment.startswith("```"):
            in_snippet = not in_snippet
        elif not in_snippet:
            yield number, comment


def check(path):
    """The findings in a file: path, line, what is wrong."""
    for number, text in sentences(pathlib.Path(path)):
        for match in WORD.finditer(re.sub(r"`[^`]*`", "", text)):
            if not match.group("people"):
                yield path, number, f"'{match.group('word')}': name the thread or the code that acts"


def files(root):
    """Every source and document under a folder, or the file itself; nothing that a build has made, and no linked folder."""
    root = pathlib.Path(root)
    if root.is_file():
        return [root]
    found = (path for path in root.rglob("*") if path.suffix in SOURCES | DOCUMENTS and path.is_file())
    return sorted(path for path in found if not any(part.startswith(".") for part in path.relative_to(root).parts))


def main():
    paths = [path for root in sys.argv[1:] or ["Sources"] for path in files(root)]
    finish([finding for path in paths for finding in check(path)], len(paths))


if __name__ == "__main__":
    main()
