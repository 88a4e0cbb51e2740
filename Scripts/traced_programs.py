# Part of GrandCentral. SPDX-License-Identifier: Apache-2.0
"""Runs programs that nobody has built for us, alone and under `gcd trace`: what they print and how they end must be the same.

usage: traced_programs.py GCD LIBRARY-FOLDER ENGINE-FOLDER WORK-FOLDER [--tests PACKAGE]

LIBRARY-FOLDER has our libdispatch.so, ENGINE-FOLDER Perfetto's engine. With `--tests` the tests of another's package, which have been
built, are the only program that runs; of what they print the numbers do not count, as tests print times.
"""

import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys

from others import OUT, PACKAGES
from test_programs import XCTests, select

# What a program may take, in seconds.
PATIENCE = 240
PACKAGE = """\
// swift-tools-version: 6.0
import PackageDescription
let package = Package(
  name: "traced", targets: [.executableTarget(name: "traced"), .testTarget(name: "TracedTests", dependencies: ["traced"])])
"""
SOURCE = """\
import Foundation
let queue = DispatchQueue(label: "org.example.traced")
let sums = queue.sync { (1...3).map { $0 * $0 } }
DispatchQueue.concurrentPerform(iterations: 8) { index in queue.sync { precondition(index < 8) } }
print(String(decoding: try JSONSerialization.data(withJSONObject: sums), as: UTF8.self))
FileHandle.standardError.write(Data("to the errors\\n".utf8))
exit(3)
"""
TESTS = """\
import Testing
import XCTest
@Test(arguments: 0..<20) func number(_ number: Int) async { await Task.yield(); #expect(number < 20) }
final class Old: XCTestCase { func testQueue() { XCTAssertEqual(DispatchQueue(label: "old").sync { 1 }, 1) } }
"""
LIBRARY = "/// Something.\npublic struct Something {\n  public func number() -> Int { 3 }\n}\n"
# What a trace must have, and must not have: slices, and faults that the engine has found.
QUERIES = ["select count(*) from slice",
           "select name, value from stats where value > 0 and severity in ('error', 'data_loss')"]


def message(**members):
    body = json.dumps({"jsonrpc": "2.0", **members})
    return f"Content-Length: {len(body)}\r\n\r\n{body}"


def session(folder):
    """What an editor says to the language server: it opens a file, asks for its symbols, and leaves."""
    path = folder / "library.swift"
    uri = path.as_uri()
    return "".join([
        message(id=1, method="initialize", params={"processId": None, "rootUri": folder.as_uri(), "capabilities": {}}),
        message(method="initialized", params={}),
        message(method="textDocument/didOpen", params={"textDocument": {
            "uri": uri, "languageId": "swift", "version": 1, "text": path.read_text()}}),
        message(id=2, method="textDocument/documentSymbol", params={"textDocument": {"uri": uri}}),
        message(id=3, method="shutdown"),
        message(method="exit"),
    ])


def answers(output):
    """The answers of a language server, by the number of the question: what it says by itself comes when it comes."""
    found = {}
    rest = output
    while match := re.match(rb"(?:[^\r\n]+\r\n)*?Content-Length: (\d+)\r\n(?:[^\r\n]+\r\n)*\r\n", rest):
        body = json.loads(rest[match.end():match.end() + int(match[1])])
        rest = rest[match.end() + int(match[1]):]
        if "id" in body and "method" not in body:
            found[body["id"]] = body.get("result", body.get("error"))
    return found


def without_numbers(output):
    """The lines in alphabetical order: tests end in any order, and print how long they took."""
    return sorted(re.sub(rb"\d+", b"", line) for line in output.splitlines())


class Case:
    def __init__(self, name, command, *, said="", look=bytes, clean=()):
        self.name, self.command, self.said, self.look, self.clean = name, command, said, look, clean

    def run(self, folder, before=()):
        """Exit code, output and errors. What does not end is killed, with all that it has started, and has no exit code."""
        for each in self.clean:
            shutil.rmtree(folder / each, ignore_errors=True)
        process = subprocess.Popen([*before, *self.command], cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, start_new_session=True)
        try:
            output, errors = process.communicate(self.said.encode(), PATIENCE)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            output, errors = process.communicate()
            return f"none in {PATIENCE} s", output[-500:], errors[-500:]
        return process.returncode, self.look(output), self.look(errors)


def cases(folder):
    package = folder / "package"
    for path, text in {"Package.swift": PACKAGE, "Sources/traced/main.swift": SOURCE, "Tests/TracedTests/Tests.swift": TESTS}.items():
        (package / path).parent.mkdir(parents=True, exist_ok=True)
        (package / path).write_text(text)
    (folder / "library.swift").write_text(LIBRARY)
    (folder / "unformatted.swift").write_text("let x  =  1\n")
    (folder / "Catalog.docc").mkdir(exist_ok=True)
    (folder / "Catalog.docc/Page.md").write_text("# A page\n\nWith a sentence.\n")
    build = ["swift", "build", "--package-path", "package", "--build-tests", "-q"]
    subprocess.run(build, cwd=folder, check=True)
    found = subprocess.run([*build[:4], "--show-bin-path"], cwd=folder, check=True, capture_output=True, text=True).stdout
    built = pathlib.Path(found.strip())
    return [
        Case("a program with Foundation", [str(built / "traced")]),
        Case("the compiler driver's version", ["swift", "--version"]),
        Case("the compiler driver", ["swiftc", "-emit-module", "-parse-as-library", "library.swift"]),
        Case("the compiler driver, of no file", ["swiftc", "absent.swift"]),
        Case("the compiler driver, verbose", ["swiftc", "-v", "-typecheck", "-parse-as-library", "library.swift"]),
        Case("the formatter", ["swift-format", "lint", "--strict", "unformatted.swift"]),
        Case("the package manager, describing", ["swift", "package", "--package-path", "package", "describe"]),
        Case("the package manager, resolving", ["swift", "package", "--package-path", "package", "resolve"]),
        Case("the package manager, in no package", ["swift", "package", "--package-path", "/proc", "describe"]),
        Case("the language server", ["sourcekit-lsp"], said=session(folder), look=answers),
        Case("the documentation compiler", ["docc", "convert", "Catalog.docc", "--fallback-display-name", "Catalog",
                                            "--fallback-bundle-identifier", "org.example.catalog", "--output-path", "site"],
             look=without_numbers, clean=["site"]),
        Case("tests of a package", ["swift", "test", "--package-path", "package", "--skip-build", "-q"], look=without_numbers),
    ]


def tests_of(name):
    """The tests of a package that Scripts/packages has built, but for those that wait for ever on any library now and then."""
    package = next(package for package in PACKAGES if package.name == name)
    program = OUT / name / ".build/debug" / f"{name}PackageTests.xctest"
    tests = XCTests(program)
    commands = tests.commands(select(tests, package.endless).values())
    return [Case(f"the tests of {name}", command, look=without_numbers) for command in commands]


def judge(case, tool, library, engine, folder):
    """What is wrong, or how many slices the trace has."""
    alone = case.run(folder)
    trace = folder / "trace"
    traced = case.run(folder, [tool, "trace", "--library", library, "-o", trace, "--"])
    for what, ours, theirs in zip(("exit code", "output", "errors"), traced, alone):
        if ours != theirs:
            return f"the {what}: {ours!r}, alone {theirs!r}", 0
    query = pathlib.Path(__file__).parent / "perfetto/query.js"
    asked = subprocess.run(["node", query, engine, trace, *QUERIES], capture_output=True, text=True, check=False).stdout.split("\n")
    if len(asked) < 2 or asked[1] != "[]":
        return f"the engine says of its trace: {asked}", 0
    slices = json.loads(asked[0])[0][0]
    return (None, slices) if slices else ("its trace is empty", 0)


def main():
    tool, library, engine, folder = (pathlib.Path(each).resolve() for each in sys.argv[1:5])
    folder.mkdir(parents=True, exist_ok=True)
    chosen = tests_of(sys.argv[6]) if sys.argv[5:6] == ["--tests"] else cases(folder)
    failed = 0
    for case in chosen:
        wrong, slices = judge(case, tool, library, engine, folder)
        print(f"{case.name}: {wrong or f'as alone; {slices} slices'}", flush=True)
        failed += wrong is not None
    return failed


sys.exit(main())
