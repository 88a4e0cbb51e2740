#!/usr/bin/env python3
# Part of GrandCentral. SPDX-License-Identifier: Apache-2.0
"""Compiles the Swift snippets of pages and of documentation comments, in Swift 6 mode: no error, and no warning of a needless
`try` or `await`.

    snippets.py FOLDER PAGE-OR-SOURCE... -- COMPILER-FLAGS...

Each snippet becomes the body of a function; types and imports stand outside of it. A snippet may use what a reader's program
has: `snippets-around.swift` declares it. `…` stands for what is left out. What is marked ```swift no-check is left alone.
"""

import pathlib
import re
import subprocess
import sys

AROUND = pathlib.Path(__file__).parent / "snippets-around.swift"
# What belongs outside a function.
OUTSIDE = re.compile(r"^(import |@main |actor |nonisolated\(unsafe\) var global)")
NEEDLESS = re.compile(r"warning: no .* (occur|within)")
# A package's manifest, and the product that another compiler version has.
LEFT_OUT = re.compile(r"\.package|^import GrandCentralExecutors|^import Dispatch$", re.MULTILINE)


def snippets(file):
    """Yields (line number, text) of each ```swift block, in a page or behind `///`."""
    lines = file.read_text(encoding="utf-8").splitlines()
    if file.suffix == ".swift":
        lines = [match.group(1) if (match := re.match(r"\s*/// ?(.*)", line)) else None for line in lines]
    begin, block = None, []
    for number, line in enumerate(lines, 1):
        if begin is None:
            if line is not None and line.strip() == "```swift":
                begin, block = number + 1, []
        elif line is None:
            sys.exit(f"error: the snippet in line {begin} of {file} does not end")
        elif line.strip() == "```":
            yield begin, "\n".join(block)
            begin = None
        else:
            block.append(line)


def program(number, file, line, snippet):
    """The snippet's declarations in a type of their own, and all else in a function. Errors name the page's lines."""
    outside, inside, block, begins = [], [], None, True
    for offset, text in enumerate(snippet.replace("…", "").splitlines()):
        if block is None and OUTSIDE.match(text):
            block, begins = outside, True
        if not text.startswith("import "):
            where = block if block is not None else inside
            # One for each run of lines: within a switch there may be none.
            where += ([f'#sourceLocation(file: "{file}", line: {line + offset})'] if begins else []) + [text]
            begins = False
        if block is not None and (text.startswith("}") or text.startswith("import ")):
            block, begins = None, True
    end = ["#sourceLocation()"]
    return "\n".join([f"enum Snippet{number} {{", *outside, *(end if outside else []), "static func snippet() async throws {", *inside,
                      *(end if inside else []), "}", "}", ""])


def main():
    words = sys.argv[1:]
    split = words.index("--")
    folder, files, flags = pathlib.Path(words[0]), [pathlib.Path(word) for word in words[1:split]], words[split + 1:]
    folder.mkdir(parents=True, exist_ok=True)
    programs = []
    for file in files:
        found = [(line, text) for line, text in snippets(file) if not LEFT_OUT.search(text)]
        programs += [program(len(programs) + index, file, line, text) for index, (line, text) in enumerate(found)]
    if not programs:
        sys.exit("error: there is no snippet")
    source = folder / "Snippets.swift"
    source.write_text("\n".join(programs), encoding="utf-8")
    said = subprocess.run(
        ["swiftc", "-typecheck", "-swift-version", "6", "-parse-as-library", *flags, str(source), str(AROUND)],
        capture_output=True, text=True, errors="replace", check=False)
    if said.returncode != 0 or NEEDLESS.search(said.stderr):
        lines = [line for line in said.stderr.splitlines() if re.search(r": error:|warning: no .* (occur|within)", line)]
        sys.exit("\n".join(lines) or said.stderr)
    print(f"=> {len(programs)} snippets compile")


if __name__ == "__main__":
    main()
