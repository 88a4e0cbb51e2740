#!/usr/bin/env python3
# Part of GrandCentral. SPDX-License-Identifier: Apache-2.0
"""Proves that the lints find what they should, and nothing else."""

import pathlib
import sys
import tempfile

import decisions
import ids
import imports
import orderings
import words

# name, source, the line numbers with a finding
ORDERINGS = [
    ("a bare relaxed load", "let x = a.load(ordering: .relaxed)", [1]),
    ("a comment on the line", "let x = a.load(ordering: .relaxed)  // relaxed: a hint", []),
    ("a comment above", "// relaxed: a hint,\n// checked later\nlet x = a.load(ordering: .relaxed)", []),
    ("a comment of the wrong kind", "// relaxed: a hint\na.store(1, ordering: .releasing)", [2]),
    ("pairs with, but publishes nothing", "// pairs with: pop()\na.store(1, ordering: .releasing)", [2]),
    ("pairs with", "// pairs with: pop() – publishes the node\na.store(1, ordering: .releasing)", []),
    ("a run", "// relaxed: own\na.store(1, ordering: .relaxed)\nb.store(1, ordering: .relaxed)", []),
    ("a paragraph", "// relaxed: own\nif a.load(ordering: .relaxed) {\n  f()\n  b.store(1, ordering: .relaxed)\n}", []),
    ("two paragraphs", "// relaxed: own\na.store(1, ordering: .relaxed)\n\nb.store(1, ordering: .relaxed)", [4]),
    (
        "a statement of several lines",
        "// pairs with: x – publishes y; relaxed: the loser retries\nlet r = a.compareExchange(\n  expected: 0,\n"
        "  desired: 1,\n  successOrdering: .acquiring,\n  failureOrdering: .relaxed\n)",
        [],
    ),
    (
        "a statement of several lines without its second reason",
        "// pairs with: x – publishes y\nlet r = a.compareExchange(\n  expected: 0,\n  successOrdering: .acquiring,\n"
        "  failureOrdering: .relaxed\n)",
        [5],
    ),
    (
        "the next comment ends the first one's reach",
        "// relaxed: x\na.load(ordering: .relaxed)\n// more\na.load(ordering: .relaxed)",
        [4],
    ),
    ("attributes are skipped", "// relaxed: x\n@inline(__always)\nvar n: Int { a.load(ordering: .relaxed) }", []),
    ("a string is no code", 'print("a.load(ordering: .relaxed) \\(b("x"))")', []),
    ("seq-cst", "a.store(1, ordering: .sequentiallyConsistent)  // seq-cst: A stores, B stores, both read 0", []),
    ("seq-cst without its interleaving", "a.store(1, ordering: .sequentiallyConsistent)", [1]),
    ("a fence", "// pairs with: x – publishes y\natomicMemoryFence(ordering: .releasing)", [2]),
    ("unchecked without why", "struct S: @unchecked Sendable {}", [1]),
    ("unchecked under a documentation comment", "/// A state.\nstruct S: @unchecked Sendable {}", [2]),
    ("unchecked with why", "// why: all fields are atomic\nstruct S: @unchecked Sendable {}", []),
    ("unchecked with why beside it", "struct S: @unchecked Sendable {}  // all fields are atomic", []),
]

# name, folder, source, number of findings
IMPORTS = [
    ("the allowed imports", "Engine", "import CPlatform\n@_exported public import Synchronization", 0),
    ("Glibc", "Platform", "import Glibc", 1),
    ("a face may import", "Dispatch/Concurrency", "import _Concurrency", 0),
    ("C in Platform", "Platform", "gc_close(gc_pipe(errno))", 0),
    ("C elsewhere", "Primitives", "gc_malloc(8)", 1),
    ("the accessors", "Dispatch", "let t: UnsafeMutablePointer<gc_thread> = gc_thread_self()", 0),
    ("C in a comment", "Engine", "// gc_malloc is behind Memory, errno too", 0),
    ("a C constant", "Engine", "let e = GC_EPOLLIN", 1),
    ("errno", "Engine", "if errno == 4 {}", 1),
    ("an operating system", "Engine", "#if os(Linux)\n#endif", 1),
]

# name, sources by file name, number of findings; the contract has the clause Q1
IDS = [
    ("a definition and its use", {"A.swift": "// Lane.L1  Only the owner.\nlet x = 0  // by Lane.L1"}, 0),
    ("a bare id", {"A.swift": "// Lane.L1  Only the owner.\nlet x = 0  // by L1"}, 1),
    ("nobody defines it", {"A.swift": "let x = 0  // Lane.L1"}, 1),
    ("two define it", {"A.swift": "// Lane.L1  One.", "B.swift": "// Lane.L1  Another."}, 1),
    ("a sentence begins with it", {"A.swift": "// Lane.L1  Only the owner.\n\n/// Lane.L1: the step"}, 0),
    ("a range", {"A.swift": "// Lock.L1  One.\n// Lock.L2  Two.\nlet x = 0  // Lock.L1–L2"}, 0),
    ("a range with a gap", {"A.swift": "// Lock.L1  One.\nlet x = 0  // Lock.L1–L3"}, 2),
    ("a clause", {"A.swift": "let x = 0  // Contract.Q1"}, 0),
    ("no clause", {"A.swift": "let x = 0  // Contract.Q99"}, 1),
    ("a README may use its own bare", {"README.md": "- **Sleep.S1** publish\n\nAfter S1 look."}, 0),
    ("and no other's", {"README.md": "- **Sleep.S1** publish\n\nAfter S2 look."}, 1),
    ("in code it is no id", {"A.swift": 'let L1 = "L1"  // C11 has no such thing'}, 0),
    ("a model's macro", {"a.pml": "#define K0 1\n// K0 and Lane.L1"}, 1),
]

RECORD = "# 0007: A title\n\nStatus: accepted\n\n## Context\n\n## Decision\n\n## Consequences\n"
# name, a record of the number 0007, number of findings
DECISIONS = [
    ("the form", RECORD, 0),
    ("all sections", RECORD.replace("## Decision", "## Findings\n\n## Decision") + "## Figures\n## Tried\n## Rejected\n", 0),
    ("superseded", RECORD.replace("accepted", "superseded by [0008](0008-other.md)"), 0),
    ("another number", RECORD.replace("0007", "0008"), 1),
    ("no status", RECORD.replace("Status: accepted\n", ""), 1),
    ("superseded by nothing", RECORD.replace("accepted", "superseded"), 1),
    ("a missing section", RECORD.replace("## Decision\n", ""), 1),
    ("an unknown section", RECORD + "## Thoughts\n", 1),
    ("another order", RECORD + "## Findings\n", 1),
]
# name, the status of the records 0007 and 0008, number of findings
SUPERSEDING = [
    ("none", "accepted", "accepted", 0),
    ("both", "superseded by [0008](0008-b.md)", "accepted; supersedes [0007](0007-a.md)", 0),
    ("a part", "accepted; [0008](0008-b.md) supersedes a part", "accepted; supersedes a part of [0007](0007-a.md)", 0),
    ("the later one alone", "accepted", "accepted; supersedes [0007](0007-a.md)", 1),
    ("the earlier one alone", "superseded by [0008](0008-b.md)", "accepted", 1),
]

# name, file, source, the line numbers with a finding
WORDS = [
    ("a thread", "A.swift", "// Whoever wakes it must not touch it.\n/// Nobody knows who runs it, or for whom.", [1, 2, 2]),
    ("a comment behind code", "A.swift", "let a = 1  // who reads it looks again", [1]),
    ("named", "A.swift", "// The thread that wakes it, whose node it is, must not touch it.", []),
    ("people", "A.swift", "// For people who read it, and Users who do not.", []),
    ("other words", "A.swift", "// The whole of it, by `who` or who_is.", []),
    ("a help text", "A.swift", 'let text = "who waits for whom"', [1, 1]),
    ("a help text of lines", "A.swift", 'let text = """\n  waits\n  for whom\n  """\nlet whom = 1', [3]),
    ("code in a string", "A.swift", 'let text = "it is \\(who), for \\(whom(1))"', []),
    ("a snippet", "A.swift", "/// ```swift\n/// call(who)  // who?\n/// ```\n/// who", [4]),
    ("C", "a.c", 'int who;  /* who has it */\nfail("who waits");  // whom', [1, 2, 2]),
    ("a model", "a.pml", "inline begin(who) { who++ } // whoever begins", [1]),
    ("a document", "A.md", "Whoever takes it.\n```\nwho\n```\nnever \"who\", nor `whom`", [1]),
]


def main():
    failures = []
    for name, record, expected in DECISIONS:
        found = list(decisions.check("0007", record))
        if len(found) != expected:
            failures.append(f"decisions: {name}: found {found}, expected {expected}")
    for name, *status, expected in SUPERSEDING:
        found = list(decisions.one_sided({f"000{7 + at}": RECORD.replace("accepted", text) for at, text in enumerate(status)}))
        if len(found) != expected:
            failures.append(f"decisions: superseding, {name}: found {found}, expected {expected}")
    for name, sources, expected in IDS:
        with tempfile.TemporaryDirectory() as folder:
            files = [pathlib.Path(folder, file) for file in sources]
            for file in files:
                file.write_text(sources[file.name])
            found = ids.check(files, {"Q1"})
            if len(found) != expected:
                failures.append(f"ids: {name}: found {[text for _, _, text in found]}, expected {expected}")
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder, "Case.swift")
        for name, source, expected in ORDERINGS:
            file.write_text(source)
            found = [number for _, number, _ in orderings.check(file)]
            if found != expected:
                failures.append(f"orderings: {name}: found lines {found}, expected {expected}")
        for name, at, source, expected in WORDS:
            file = pathlib.Path(folder, at)
            file.write_text(source)
            found = [number for _, number, _ in words.check(file)]
            if found != expected:
                failures.append(f"words: {name}: found lines {found}, expected {expected}")
    for name, layer, source, expected in IMPORTS:
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder, layer, "Case.swift")
            file.parent.mkdir(parents=True)
            file.write_text(source)
            found, _ = imports.check(pathlib.Path(folder))
            if len(found) != expected:
                failures.append(f"imports: {name}: {found}, expected {expected}")
    print("\n".join(failures) or f"=> {len(ORDERINGS) + len(IMPORTS) + len(IDS) + len(DECISIONS) + len(SUPERSEDING) + len(WORDS)} cases")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
