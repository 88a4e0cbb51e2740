#!/usr/bin/env python3
# Part of GrandCentral. SPDX-License-Identifier: Apache-2.0
"""Presses the key t and the mouse of gcd top, in terminals of 80 x 24 and of 200 x 60, by tmux.

    Scripts/insight_top.py TOOL PROGRAM     PROGRAM is Tests/Programs/Traced
"""

import pathlib
import re
import subprocess
import sys
import tempfile

from insight import Terminal
from looked_at import fail, running, until

# In the row of the program's queue: then something has been recorded.
LATENCY = re.compile(r"^steady .*\d [mµn]?s", re.MULTILINE)


def click(shell, text, after=""):
    """Where the first line with the text has it, behind the line that has `after`."""
    lines = shell.screen().split("\n")
    begin = next((row for row, line in enumerate(lines) if after in line), 0)
    for row, line in enumerate(lines):
        column = line.find(text)
        if row >= begin and column >= 0:
            mouse(shell, 0, column + 2, row + 1)
            return
    fail(f"there is no {text!r} on the screen:\n" + "\n".join(lines))


def mouse(shell, button, column, row):
    """Pressed and let go, as terminals tell it."""
    for letter in "Mm":
        shell.tmux("send-keys", "-H", *(f"{byte:02x}" for byte in f"\x1b[<{button};{column};{row}{letter}".encode()))


def the_head(shell):
    """The row of the table's head, and the head with its colours."""
    return next((row, line) for row, line in enumerate(shell.screen("-e").split("\n")) if "ITEMS/S" in line)


def wants_mouse(shell):
    return shell.tmux("display-message", "-p", "#{mouse_standard_flag}#{mouse_sgr_flag}").strip()


def press(tool, pid, columns, rows):
    shell = Terminal(columns, rows)
    try:
        with tempfile.TemporaryDirectory() as folder:
            shell.line(f"cd {folder}; clear; {tool} top --interval 0.2 {pid}; echo left:$?")
            shell.expect("gcd top", "1 Overview*", "t trace")
            if wants_mouse(shell) != "11":
                fail(f"the mouse is not asked for: {wants_mouse(shell)}")
            # A click is for what stood there when the screen was looked at: so it stands still, once it shows records.
            shell.keys("2")
            until(lambda: f"a latency of the queue in\n{shell.screen()}", lambda: LATENCY.search(shell.screen()))
            shell.keys("Space", "1")
            shell.expect("paused", "1 Overview*")
            click(shell, "Threads")
            shell.expect("3 Threads*", "ROLE")
            click(shell, "Queues")
            shell.expect("2 Queues*", "ITEMS/S")
            head, marked = the_head(shell)
            click(shell, "P50")
            # The column that the rows are sorted by is marked.
            until("another order", lambda: True if the_head(shell)[1] != marked else None)
            label = shell.screen().split("\n")[head + 1].split()[0]
            click(shell, label, after="ITEMS/S")
            click(shell, label, after="ITEMS/S")
            shell.expect("escape back")
            click(shell, "2 Queues")
            shell.expect("enter detail")
            shell.keys("t")
            shell.expect(f"gcd-{pid}-1.pftrace: ", "events of the last 10 s")
            shell.keys("t")
            shell.expect(f"gcd-{pid}-2.pftrace: ")
            for number in (1, 2):
                path = pathlib.Path(folder, f"gcd-{pid}-{number}.pftrace")
                table = subprocess.check_output([tool, "trace", "convert", "--format", "csv", "-o", "-", path], text=True)
                # How many there are depends on how much time the program has been given.
                if ",item," not in table:
                    fail(f"{path.name} has no item")
            click(shell, "5 Sources")
            shell.expect("5 Sources*", "timer", "every 1.00 ms")
            shell.keys("q")
            shell.expect("left:0", absent=("q quit",))
            until("no mouse", lambda: True if wants_mouse(shell) == "00" else None)
    finally:
        shell.end()
    print(f"=> gcd top at {columns} x {rows}: t writes a trace each time, the mouse chooses a page, an order and a row")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    tool, program = (str(pathlib.Path(path).resolve()) for path in sys.argv[1:])
    with running([program, "steady"]) as process:
        process.stdout.readline()
        press(tool, process.pid, 80, 24)
        press(tool, process.pid, 200, 60)
