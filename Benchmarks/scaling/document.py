# Part of GrandCentral. SPDX-License-Identifier: Apache-2.0
"""Documentation/Scaling.md, from counts and notes."""

COLUMNS = (
    ("lines", "lines moved"),
    ("falsely", "of them falsely"),
    ("written", "of them by writes"),
    ("rmws", "read-modify-writes"),
    ("wakes", "wake-ups"),
    ("sleeps", "sleeps"),
    ("steals", "steals"),
)
# An operation grows if the largest machine moves clearly more lines for it than the smallest.
GROWS_BY, GROWS_LINES = 1.25, 0.3
PLACES = 4
PLACE_LINES = 0.05

HEAD = """# Scaling, by count

<!-- Written by Scripts/benchmark scaling document; the sentences are in Benchmarks/scaling/notes.json. -->

What each operation costs on a machine with many processors, in events that do not depend on how fast the machine is:
cache lines that move from one processor to another, atomic read-modify-writes, threads woken, threads that go to
sleep, and jobs taken from another worker. Per operation, with {sizes} workers; W threads are as many as there are
workers. Medians of {seeds} runs that interleave differently.

The machine is simulated: library and probe are compiled as for ThreadSanitizer, and linked with a program of ours that
has a processor with a cache without end for each thread (`Benchmarks/scaling/README.md`). So a line moves only because
threads share it. It moves *falsely* if the accessing thread knows the word's value already, or writes a word that no
other thread has looked at: what others do with neighbouring words has taken it away.

Where its submitter and its worker are two threads an item costs at least three moves: the node to the worker, the node
back, and the word that says it is there; a backlog spares the last.
"""


def cell(counts, key):
    return " · ".join(f"{counts[size][key]:.2f}" for size in counts)


def grows(counts):
    sizes = sorted(counts)
    least, most = counts[sizes[0]]["lines"], counts[sizes[-1]]["lines"]
    return most > least * GROWS_BY + GROWS_LINES


def document(rows, notes, sizes, seeds):
    """`rows`: name → size → (counts, moves)."""
    text = [HEAD.format(sizes=", ".join(map(str, sizes[:-1])) + f" and {sizes[-1]}", seeds=seeds)]
    text.append("| operation | " + " | ".join(title for _, title in COLUMNS) + " |")
    text.append("|---|" + "---|" * len(COLUMNS))
    counts = {name: {size: by_size[size][0] for size in sizes} for name, by_size in rows.items()}
    for name in rows:
        mark = " ▲" if grows(counts[name]) else ""
        cells = (cell(counts[name], key) for key, _ in COLUMNS)
        text.append(f"| {name}{mark} | " + " | ".join(cells) + " |")
    text += ["", "▲: moves more lines the more workers there are.", "", "## What moves, and why", ""]
    for name, by_size in rows.items():
        text += [f"**{name}** {notes['rows'][name]}", ""]
        text += places(by_size[sizes[-1]][1])
    text += ["## What this does not show", "", notes["limits"], ""]
    return "\n".join(text)


def places(moves):
    """The places that move most lines, with the largest number of workers."""
    lines = [
        f"- {read + written + modified:.2f}{f' (falsely {falsely:.2f})' if falsely > PLACE_LINES else ''}: {label}"
        for label, read, written, modified, falsely, _ in moves[:PLACES]
        if read + written + modified >= PLACE_LINES
    ]
    return [*lines, ""] if lines else []
