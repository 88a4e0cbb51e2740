# Part of GrandCentral. SPDX-License-Identifier: Apache-2.0
"""Reads Swift, C and Promela as lines of code, each with its comment: as much of the languages as the lints need."""

import pathlib
import sys


class Line:
    """One source line, split. `code` has string contents blanked, so that only code is matched in it; `text` has them."""

    def __init__(self, code, text, comment, is_documentation):
        self.code = code
        self.text = text
        self.comment = comment
        self.is_documentation = is_documentation

    @property
    def is_comment(self):
        return self.comment is not None and not self.code.strip()


def interpolation_end(text, i):
    """The index just after the interpolation that begins at `i` with a backslash and a parenthesis."""
    depth, i = 1, i + 2
    while i < len(text) and depth:
        depth += {"(": 1, ")": -1}.get(text[i], 0)
        i += 1
    return i


def split_line(text, in_block, in_string):
    """Splits one line; returns (Line, in_block, in_string), the states that reach into the next line."""
    code, words, comment, is_documentation, i = [], [], None, False, 0
    quote = '"""' if in_string else None
    while i < len(text):
        if in_block:
            end = text.find("*/", i)
            comment = (comment or "") + text[i : end if end >= 0 else len(text)]
            in_block, i = end < 0, end + 2 if end >= 0 else len(text)
        elif quote:
            if text.startswith("\\(", i):
                i = interpolation_end(text, i)
            elif text[i] == "\\":
                i += 2
            elif text.startswith(quote, i):
                code.append(quote)
                i += len(quote)
                quote = None
                words.append(" ")
            else:
                words.append(text[i])
                i += 1
        elif text.startswith("//", i):
            comment, is_documentation = text[i:].lstrip("/").strip(), text.startswith("///", i)
            break
        elif text.startswith("/*", i):
            in_block, i = True, i + 2
        elif text[i] == '"':
            quote = '"""' if text.startswith('"""', i) else '"'
            code.append(quote)
            i += len(quote)
        else:
            code.append(text[i])
            i += 1
    return Line("".join(code).rstrip(), "".join(words), comment, is_documentation), in_block, quote == '"""'


def read(path):
    """The lines of a Swift file."""
    lines, in_block, in_string = [], False, False
    for text in pathlib.Path(path).read_text(encoding="utf-8").splitlines():
        line, in_block, in_string = split_line(text, in_block, in_string)
        lines.append(line)
    return lines


def swift_files(root):
    """Every Swift file under a folder, or the file itself, in a stable order."""
    root = pathlib.Path(root)
    return [root] if root.is_file() else sorted(root.rglob("*.swift"))


def finish(findings, checked):
    """Prints findings as FILE:LINE: text and ends the process."""
    for path, number, message in findings:
        print(f"{path}:{number}: {message}")
    print(f"=> {checked} files, {len(findings)} findings")
    sys.exit(1 if findings else 0)
