#!/usr/bin/env python3
# Part of GrandCentral. SPDX-License-Identifier: Apache-2.0
"""Compiles the Swift snippets of a page as the body of a function, in Swift 6 mode: no error, and no warning of a needless
`try` or `await`.

    snippets.py PAGE FOLDER COMPILER-FLAGS...

A snippet may use what a reader's program has; `AROUND` declares it. `…` stands for what is left out.
"""

import pathlib
import re
import subprocess
import sys

AROUND = """
struct Words { mutating func merge(_ other: Words) {}; func checked() throws -> Int { 0 } }
struct Image: Sendable {}
struct Change: Sendable {}
let files: [String] = [], file = "", account = "", socket: Int32 = 0, change = Change()
func count(_ file: String) -> Words { Words() }
func index(_ file: String) {}
func load(_ file: String) {}
func apply(_ change: Change) {}
func compress(_ file: String) {}
func compress(_ file: String) async {}
let ledger = DispatchQueue(label: "ledger"), group = DispatchGroup()
func size(of file: String) throws -> Int { 0 }
func computeTotal() throws -> Int { 0 }
"""
# What belongs outside a function.
OUTSIDE = re.compile(r"^(import |@main |actor )")
NEEDLESS = re.compile(r"warning: no .* (occur|within)")


def program(snippet):
    """The snippet's declarations outside, and all else in a function."""
    outside, inside, block = [], [], None
    for line in snippet.replace("…", "").splitlines():
        if block is None and OUTSIDE.match(line):
            block = outside
        (block if block is not None else inside).append(line)
        if block is not None and (line.startswith("}") or line.startswith("import ")):
            block = None
    imports = [line for line in outside if line.startswith("import ")]
    rest = [line for line in outside if not line.startswith("import ")]
    return "\n".join(["import GrandCentral", *imports, AROUND, *rest,
                      "func snippet() async throws {", *inside, "}", ""])


def main():
    page, folder, flags = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), sys.argv[3:]
    folder.mkdir(parents=True, exist_ok=True)
    snippets = re.findall(r"^```swift\n(.*?)^```", page.read_text(), re.MULTILINE | re.DOTALL)
    compiled = 0
    for number, snippet in enumerate(snippets, 1):
        if snippet.startswith(".package") or "import GrandCentralExecutors" in snippet:
            continue
        source = folder / f"{page.stem}{number}.swift"
        source.write_text(program(snippet))
        said = subprocess.run(["swiftc", "-typecheck", "-swift-version", "6", "-parse-as-library", *flags, str(source)],
                              capture_output=True, text=True, errors="replace")
        if said.returncode != 0 or NEEDLESS.search(said.stderr):
            sys.exit(f"error: snippet {number} of {page}:\n{said.stderr}")
        compiled += 1
    if compiled == 0:
        sys.exit(f"error: {page} has no snippet")
    print(f"=> {compiled} snippets of {page} compile")


if __name__ == "__main__":
    main()
