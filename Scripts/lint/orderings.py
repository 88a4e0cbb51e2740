#!/usr/bin/env python3
# Part of GrandCentral. SPDX-License-Identifier: Apache-2.0
"""Checks the memory-ordering grammar: every ordering says in a comment why it is enough.

The comment stands on a line of the same statement, or at the head of its paragraph: it covers what is below it, up to
a blank line or the next comment.

  .acquiring .releasing .acquiringAndReleasing   pairs with: <the other place> – publishes <what>
  .relaxed                                       relaxed: <why it may be>
  .sequentiallyConsistent                        seq-cst: <the losing interleaving>

`@unchecked Sendable` says why, in a comment on its line or the line above; a documentation comment is none.

usage: orderings.py [PATH...]     default: Sources/GrandCentral
"""

import re
import sys

from swiftlines import finish, read, swift_files

ORDERING = re.compile(r"\.(relaxed|acquiringAndReleasing|acquiring|releasing|sequentiallyConsistent)\b")
PAIRED = ("`pairs with: ... – publishes ...`", re.compile(r"pairs with: ?\S.* [–—-]+ publishes \S"))
GRAMMAR = {
    "relaxed": ("`relaxed: ...`", re.compile(r"\brelaxed: ?\S")),
    "acquiring": PAIRED,
    "releasing": PAIRED,
    "acquiringAndReleasing": PAIRED,
    "sequentiallyConsistent": ("`seq-cst: ...`", re.compile(r"\bseq-cst: ?\S")),
}
FENCE = re.compile(r"\batomicMemoryFence\b.*\.(acquiring|releasing|acquiringAndReleasing)\b")
ATTRIBUTES = re.compile(r"^(@\w+(\([^)]*\))?\s*)+$")
CONTINUES_ABOVE = re.compile(r"^(\.|\?|:|&&|\|\||==|!=|[<>+*/%^|]=?\s|else\b|[)\]])")
CONTINUES_BELOW = re.compile(r"(^|[^=!<>])[=,+|^?]$|&&$|\|\|$|==$|!=$|->$|\breturn$|\?\?$")


def statement_starts(lines):
    """For each line the index of the line on which its statement starts."""
    starts, stack = [], []
    previous_code = None
    for index, line in enumerate(lines):
        code = line.code.strip()
        # The innermost brackets that are no braces belong to one statement.
        start = index
        for bracket, opened in reversed(stack):
            if bracket == "{":
                break
            start = starts[opened] if opened < index else opened
        if start == index and code and previous_code is not None:
            above = lines[previous_code].code.strip()
            if (
                CONTINUES_ABOVE.match(code)
                or (CONTINUES_BELOW.search(above) and not above.endswith("{"))
                or ATTRIBUTES.match(above)
            ):
                start = starts[previous_code]
        starts.append(start)
        for character in line.code:
            if character in "([{":
                stack.append((character, index))
            elif character in ")]}" and stack:
                stack.pop()
        if code:
            previous_code = index
    return starts


def comments_for(lines, starts, index):
    """The comment text that covers the line: of its statement, and at the head of its paragraph."""
    start = starts[index]
    last = max(i for i in range(start, len(lines)) if starts[i] == start)
    found = [lines[i].comment for i in range(start, last + 1) if lines[i].comment]
    above = start - 1
    while above >= 0 and lines[above].code.strip():
        above -= 1
    block = []
    while above >= 0 and lines[above].is_comment:
        block.insert(0, lines[above].comment)
        above -= 1
    return " ".join(block + found)


def check_orderings(lines):
    """Yields (line number, message)."""
    starts = statement_starts(lines)
    hits = {i: ORDERING.findall(line.code) for i, line in enumerate(lines) if ORDERING.search(line.code)}
    for index, orderings in hits.items():
        if FENCE.search(lines[index].code):
            yield index + 1, "a stand-alone fence does not publish: put the ordering on the operation"
            continue
        comments = comments_for(lines, starts, index)
        for ordering in dict.fromkeys(orderings):
            name, pattern = GRAMMAR[ordering]
            if not pattern.search(comments):
                yield index + 1, f".{ordering} without {name}"


def check_unchecked(lines):
    """Yields (line number, message)."""
    for index, line in enumerate(lines):
        if "@unchecked Sendable" in line.code:
            above = lines[index - 1] if index else None
            if not line.comment and not (above and above.is_comment and not above.is_documentation):
                yield index + 1, "@unchecked Sendable without `// why`"


def check(path):
    lines = read(path)
    return [(path, number, message) for number, message in [*check_orderings(lines), *check_unchecked(lines)]]


def main():
    files = [file for root in sys.argv[1:] or ["Sources/GrandCentral"] for file in swift_files(root)]
    finish([finding for file in files for finding in check(file)], len(files))


if __name__ == "__main__":
    main()
