#!/usr/bin/env python3
# Part of GrandCentral. SPDX-License-Identifier: Apache-2.0
"""Runs what the articles on traces show.

    Scripts/trace_articles.py check BINARIES ENGINE    1 if something else comes out than what stands there
    Scripts/trace_articles.py write BINARIES ENGINE    writes there what comes out

BINARIES is the folder with gcd and photo-import, ENGINE the one with Perfetto's engine (see Scripts/perfetto/query.js). A `console` block is
run line by line. An `sql` block names its trace in a comment, and what comes out stands in the `text` block that follows. Numbers
differ from run to run, and are not compared.
"""

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
ARTICLES = ("Documentation/Slow.md", "Documentation/MainQueue.md")
BLOCK = re.compile(r"```(console|sql|text)\n(.*?)```\n", re.DOTALL)


def console(text, folder, environment):
    """The block with what its commands print now."""
    lines = []
    for command in re.findall(r"^\$ (.*)$", text, re.MULTILINE):
        result = subprocess.run(
            ["sh", "-c", command], cwd=folder, env=environment, text=True, check=False,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=120,
        )  # fmt: skip
        if result.returncode:
            sys.exit(f"error: {command} ended with {result.returncode}: {result.stdout}")
        lines.append(f"$ {command}\n{result.stdout}")
    return "".join(lines)


def answer(text, folder, engine):
    """The rows that the query has, a line each."""
    trace = re.match(r"-- (\S+):", text).group(1)
    query = " ".join(line for line in text.splitlines() if not line.startswith("--"))
    rows = subprocess.run(
        ["node", str(ROOT / "Scripts/perfetto/query.js"), engine, str(folder / trace), query],
        text=True, check=True, capture_output=True, timeout=300,
    ).stdout  # fmt: skip
    return "".join(" | ".join(str(value) for value in row) + "\n" for row in json.loads(rows))


def comparable(text):
    return re.sub(r"\d+", "N", text)


def anew(article, binaries, engine):
    """The article with what comes out now, and the blocks that are not as they stand there."""
    environment = {**os.environ, "PATH": f"{binaries}:{os.environ['PATH']}"}
    differ, asked = [], None
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)

        def replaced(match):
            nonlocal asked
            kind, text = match.groups()
            now = text
            if kind == "console":
                now = console(text, folder, environment)
            elif kind == "sql":
                asked = answer(text, folder, engine)
            elif asked is not None:
                now, asked = asked, None
            if comparable(now) != comparable(text):
                differ.append(f"instead of\n{text}it is\n{now}")
            return f"```{kind}\n{now}```\n"

        return BLOCK.sub(replaced, article), differ


def main(mode, binaries, engine):
    count = 0
    for path in ARTICLES:
        text = (ROOT / path).read_text()
        now, differ = anew(text, binaries, engine)
        count += len(BLOCK.findall(text))
        if mode == "write":
            (ROOT / path).write_text(now)
        elif differ:
            sys.exit(f"error: {path}: {differ[0]}")
    print(f"=> {count} blocks of {len(ARTICLES)} articles are what comes out")


if len(sys.argv) != 4 or sys.argv[1] not in ("check", "write"):
    sys.exit(__doc__)
main(sys.argv[1], *(str(pathlib.Path(folder).resolve()) for folder in sys.argv[2:]))
