#!/usr/bin/env python3
# Part of GrandCentral. SPDX-License-Identifier: Apache-2.0
"""Checks what the compiler cannot see of the layers: imports, and calls of C.

usage: imports.py [ROOT]     default: Sources/GrandCentral
"""

import pathlib
import re
import sys

from swiftlines import finish, read, swift_files

INNER = ("Platform", "Primitives", "Engine", "Lanes", "Dispatch")
OUTSIDE = ("Dispatch/Concurrency/",)  # a face: it may know Swift's own concurrency
ALLOWED_IMPORTS = {"CPlatform", "Synchronization"}
# Inlined accessors of the thread record, and the record's type: no call into C.
ACCESSORS = {"gc_thread_self", "gc_thread_id", "gc_pause", "gc_cycles", "gc_prefetch", "gc_prefetch_write", "gc_thread"}

IMPORT = re.compile(
    r"^\s*(?:@\w+(?:\([^)]*\))?\s+)*(?:(?:public|package|internal|fileprivate|private)\s+)?"
    r"import\s+(?:(?:struct|class|enum|protocol|typealias|func|let|var)\s+)?(\w+)"
)
C_NAME = re.compile(r"\b(?:gc_\w+|GC_[A-Z]\w*)")
ERRNO = re.compile(r"\berrno\b")
OS_CONDITION = re.compile(r"^\s*#(?:if|elseif)\b.*\bos\(")


def check_line(layer, name, line):
    """Yields messages about one line of a layer."""
    imported = IMPORT.match(line.code)
    if imported and imported.group(1) not in ALLOWED_IMPORTS:
        yield f"an inner layer imports {imported.group(1)}"
    if layer != "Platform":
        for call in sorted(set(C_NAME.findall(line.code)) - ACCESSORS):
            yield f"only Platform calls C: {call}"
        if ERRNO.search(line.code):
            yield "only Platform says errno"
        if OS_CONDITION.match(line.code) and "Poller" not in name:
            yield "only Platform and pollers know the operating system"


def check(root):
    findings, checked = [], 0
    for layer in INNER:
        for file in swift_files(root / layer):
            if str(file.relative_to(root)).startswith(OUTSIDE):
                continue
            checked += 1
            for number, line in enumerate(read(file), 1):
                findings += [(file, number, message) for message in check_line(layer, file.name, line)]
    return findings, checked


def main():
    finish(*check(pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else "Sources/GrandCentral")))


if __name__ == "__main__":
    main()
