#!/usr/bin/env python3
# Part of GrandCentral. SPDX-License-Identifier: Apache-2.0
"""Counts what the public documentation lacks, from the symbol graph that the compiler writes.

    docs.py SYMBOL-GRAPH START-PAGE
    docs.py --summaries SYMBOL-GRAPH...      of modules beside the library: each public symbol has a summary, and that is all

Each public symbol has a summary. Each type and function at the top level has an example, and stands in the topics of the start
page. Each method and initializer of a class or a protocol, and each function, says `Complexity:` and `Blocking:`.
"""

import json
import pathlib
import re
import sys

CALLABLE = {"swift.func", "swift.method", "swift.type.method", "swift.init"}
SHARED = {"swift.class", "swift.protocol"}


class Symbol:
    def __init__(self, entry):
        self.kind = entry["kind"]["identifier"]
        self.path = entry["pathComponents"]
        self.name = ".".join(self.path)
        self.text = "\n".join(line["text"] for line in entry.get("docComment", {}).get("lines", []))
        location = entry.get("location", {})
        self.place = f"{location.get('uri', '').split('/')[-1]}:{location.get('position', {}).get('line', 0) + 1} {self.name}"


def public_symbols(graph):
    """Those that somebody has written: a compiler's own, such as `init(rawValue:)` of an enumeration, have no place."""
    return [
        Symbol(entry)
        for entry in graph["symbols"]
        if entry["accessLevel"] in ("public", "open") and "location" in entry
        and "::SYNTHESIZED::" not in entry["identifier"]["precise"]
    ]


def lacks(symbols, topics):
    """Yields (what, where) for each thing that is missing."""
    kinds = {symbol.name: symbol.kind for symbol in symbols}
    for symbol in symbols:
        parent = ".".join(symbol.path[:-1])
        if not symbol.text.strip():
            yield "a summary", symbol.place
        if not parent and symbol.kind != "swift.func.op":
            if "```" not in symbol.text:
                yield "an example", symbol.place
            if symbol.name not in topics:
                yield "a place in the topics", symbol.place
        if symbol.kind in CALLABLE and (not parent or kinds.get(parent) in SHARED):
            for word in ("Complexity", "Blocking"):
                if f"{word}:" not in symbol.text:
                    yield f"a word on {word.lower()}", symbol.place


def summaries(files):
    """What a compiler has written for extensions is not a declaration of its own."""
    symbols = [
        symbol
        for file in files
        for symbol in public_symbols(json.loads(pathlib.Path(file).read_text(encoding="utf-8")))
        if symbol.kind != "swift.extension"
    ]
    missing = [symbol.place for symbol in symbols if not symbol.text.strip()]
    for place in missing:
        print(f"without a summary: {place}")
    print(f"=> {len(symbols)} public symbols of {len(files)} modules beside the library, {len(missing)} without a summary")
    sys.exit(1 if missing or not symbols else 0)


def main():
    if sys.argv[1] == "--summaries":
        summaries(sys.argv[2:])
    graph = json.loads(pathlib.Path(sys.argv[1]).read_text(encoding="utf-8"))
    page = pathlib.Path(sys.argv[2]).read_text(encoding="utf-8")
    topics = set(re.findall(r"^- ``([^`]+)``$", page, re.MULTILINE))
    symbols = public_symbols(graph)
    missing = list(lacks(symbols, topics))
    for what, where in missing:
        print(f"without {what}: {where}")
    print(f"=> {len(symbols)} public symbols, {len(missing)} things missing")
    sys.exit(1 if missing or not symbols else 0)


if __name__ == "__main__":
    main()
