#!/usr/bin/env python3
# Part of GrandCentral. SPDX-License-Identifier: Apache-2.0
"""Compiles the Swift snippets of pages and of documentation comments, in Swift 6 mode: no error, and no warning of a needless
`try` or `await`. Then it runs each in a process of its own, and compares what that prints with what the page says.

    snippets.py [--alone | --whole=MODULE] FOLDER LIBRARY PAGE-OR-SOURCE... -- COMPILER-FLAGS...

LIBRARY is the folder with libGrandCentral.so.

Each snippet becomes the body of a function; types and imports stand outside of it. A snippet may use what a reader's program
has: `snippets-around.swift` declares it, unless --alone says that the pages promise to need nothing. `…` stands for what is left
out. What is marked ```swift no-check is left alone. With --whole only those snippets are taken that import the MODULE, and each one is the
whole file of a program that ends by itself.

What a snippet prints stands in the text behind it: "It prints `first` and `second`." A snippet that waits for what does not come
(`dispatchMain()`, a source's events) is ended after a second.
"""

import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys

AROUND = pathlib.Path(__file__).parent / "snippets-around.swift"
# What belongs outside a function.
OUTSIDE = re.compile(r"^(import |@main |actor |nonisolated\(unsafe\) var global)")
NEEDLESS = re.compile(r"warning: no .* (occur|within)")
# A package's manifest, and what --whole takes.
LEFT_OUT = re.compile(r"\.package|^import GrandCentralExecutors|^import Dispatch$", re.MULTILINE)


# What the text says of the snippet before it.
PRINTS = re.compile(r"(?:It|`swift run`) prints ((?:`[^`]+`(?:, | and )?)+)")


def snippets(file):
    """Yields (line number, text, what it prints or nil) of each ```swift block, in a page or behind `///`."""
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
            behind = next((text for text in lines[number:] if text), None) or ""
            prints = PRINTS.match(behind)
            yield begin, "\n".join(block), re.findall("`([^`]+)`", prints.group(1)) if prints else None
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
    effects = "async throws" if waits(snippet) else "throws"
    return "\n".join([f"enum Snippet{number} {{", *outside, *(end if outside else []), f"static func snippet() {effects} {{", *inside,
                      *(end if inside else []), "}", "}", ""])


def waits(snippet):
    return re.search(r"\bawait\b", snippet) is not None


def start(found):
    """Runs the snippet whose number is the argument: on the main thread, or as a task beside the main queue."""
    cases = []
    for number, snippet in enumerate(found):
        call = f"try {'await ' if waits(snippet.text) else ''}Snippet{number}.snippet()"
        cases.append(f"case {number}: " + (f"Task {{ {call}; exit(0) }}; dispatchMain()" if waits(snippet.text) else call))
    return "\n".join(["@main enum Start {", "static func main() throws {", "switch Int(CommandLine.arguments[1]) {", *cases, "default: fatalError()", "}", "}", "}", ""])


class Snippet:
    def __init__(self, file, line, text, prints):
        self.file, self.line, self.text, self.prints = file, line, text, prints

    def fault(self, said):
        """What is wrong with a run, or nil. It may have been ended before its own end."""
        lines = said.stdout.split("\n")[:-1]
        if said.returncode not in (0, 124):
            return f"ended with {said.returncode}: {said.stderr.strip()[:300]}"
        if self.prints is not None and lines != self.prints:
            return f"prints {lines}, and the page says {self.prints}"
        return None


def run(program, number, snippet):
    """A snippet whose page says what it prints has time for that."""
    command = ["timeout", "1" if snippet.prints is None else "60", "stdbuf", "-oL", str(program), str(number)]
    with subprocess.Popen(["sleep", "60"], stdout=subprocess.PIPE) as silent:
        said = subprocess.run(command, stdin=silent.stdout, capture_output=True, text=True, errors="replace", check=False)
        silent.kill()
    return snippet.fault(said)


def whole(module, folder, library, files, flags):
    """Compiles and runs each program that imports the module."""
    found = [Snippet(file, *snippet) for file in files for snippet in snippets(file) if f"import {module}" in snippet[1].splitlines()]
    for number, snippet in enumerate(found):
        source, binary = folder / f"Whole{number}.swift", folder / f"whole{number}"
        place = f'#sourceLocation(file: "{snippet.file}", line: {snippet.line})\n'
        source.write_text(place + snippet.text.replace("…", "") + "\n", encoding="utf-8")
        said = subprocess.run(
            ["swiftc", "-swift-version", "6", "-parse-as-library", *flags, str(source), "-o", str(binary), f"-L{library}", "-lGrandCentral",
             "-Xlinker", f"-rpath={library.resolve()}"], capture_output=True, text=True, errors="replace", check=False)
        if said.returncode != 0:
            sys.exit(said.stderr)
        ended = subprocess.run(["timeout", "60", str(binary)], capture_output=True, text=True, errors="replace", check=False)
        if ended.returncode != 0:
            sys.exit(f"{snippet.file}:{snippet.line}: ended with {ended.returncode}: {ended.stderr.strip()[:300]}")
    if not found:
        sys.exit(f"error: no snippet imports {module}")
    print(f"=> {len(found)} programs with {module} compile and run")


def main():
    words = sys.argv[1:]
    option = words.pop(0) if words[0].startswith("--") else ""
    alone = option == "--alone"
    split = words.index("--")
    folder, library, *files = (pathlib.Path(word) for word in words[:split])
    flags = words[split + 1:]
    folder.mkdir(parents=True, exist_ok=True)
    if option.startswith("--whole="):
        return whole(option.removeprefix("--whole="), folder, library, files, flags)
    found = [Snippet(file, *snippet) for file in files for snippet in snippets(file) if not LEFT_OUT.search(snippet[1])]
    if not found:
        sys.exit("error: there is no snippet")
    programs = [program(number, snippet.file, snippet.line, snippet.text) for number, snippet in enumerate(found)]
    source, binary = folder / "Snippets.swift", folder / "snippets"
    source.write_text("\n".join(["import Glibc", "import GrandCentral", *programs, start(found)]), encoding="utf-8")
    around = [] if alone else [str(AROUND)]
    said = subprocess.run(
        ["swiftc", "-swift-version", "6", "-parse-as-library", "-module-name", "Snippets", *flags, str(source), *around, "-o", str(binary),
         f"-L{library}", "-lGrandCentral", "-Xlinker", f"-rpath={library.resolve()}"],
        capture_output=True, text=True, errors="replace", check=False)
    if said.returncode != 0 or NEEDLESS.search(said.stderr):
        lines = [line for line in said.stderr.splitlines() if re.search(r": error:|warning: no .* (occur|within)", line)]
        sys.exit("\n".join(lines) or said.stderr)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as threads:
        faults = list(threads.map(lambda numbered: run(binary, *numbered), enumerate(found)))
    wrong = [f"{snippet.file}:{snippet.line}: {fault}" for snippet, fault in zip(found, faults) if fault]
    if wrong:
        sys.exit("\n".join(wrong))
    print(f"=> {len(found)} snippets compile and run; {sum(snippet.prints is not None for snippet in found)} print what their page says")


if __name__ == "__main__":
    main()
