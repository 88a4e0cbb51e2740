# Part of GrandCentral. SPDX-License-Identifier: Apache-2.0
"""Makes README's chart: some rows of the chart of all rows, with words for names, and with the day of the measurement.

usage: Scripts/benchmark headlines [--check] [FOLDER]

FOLDER, Documentation unless it is named, has the report Performance.md and the chart performance.svg, which one duel has written;
headlines.svg is added. Nothing is measured here. With --check nothing is written: it fails if the file is not what would be.
"""

import html
import math
import pathlib
import re
import sys
import xml.etree.ElementTree

# The rows in which libdispatch is as quick, or quicker, stay among them.
ROWS = {
    "A.serial-async-1p": "async onto a serial queue",
    "B.sync-void": "sync, no other thread in the queue",
    "C.2-threads": "sync, two threads at once",
    "D.global-1p": "async onto a global queue",
    "E.ping-pong": "a hop between two queues",
    "G.1e4-x-1us": "concurrentPerform, iterations of 1 µs",
    "J.random-deadlines.schedule": "asyncAfter",
    "J.lateness.p50": "asyncAfter: how late the item starts",
    "K.write-to-handler.p50": "read source: from the write to its handler",
    "L.64-sleeps-global.all-started": "64 items that sleep: until all have started",
    "P.urgent-over-background.p50": "an urgent item amid background work",
    "R.io.file": "channel: a file in the page cache",
}
LABEL, PLOT, VALUE, TOP, PITCH, HEIGHT = 330, 500, 70, 64, 22, 14


def bars(chart):
    """For each row of the chart its ratio, that of the best peer or None, and the ratio as it is written there."""
    elements = [(element.tag.rpartition("}")[2], element.attrib, element.text or "") for element in xml.etree.ElementTree.parse(chart).getroot()]
    marks = [(float(at["x"]), math.log10(float(text[:-1]))) for tag, at, text in elements if tag == "text" and at.get("text-anchor") == "middle"]
    (left, low), (right, high) = marks[0], marks[-1]

    def ratio(x):
        return 10 ** (low + (float(x) - left) * (high - low) / (right - left))

    found, name = {}, ""
    for tag, at, text in elements:
        if tag == "text" and at.get("text-anchor") == "end":
            if name:
                found[name] = (bar, peer, text)
            name, bar, peer = ("" if name else text), 0.0, None
        elif tag == "rect" and name:
            # A bar begins or ends at 1. One that ends right of it may be drawn longer than it is, to be seen: by less than a unit.
            bar = ratio(at["x"]) if at["fill"] == "#2680c2" else ratio(float(at["x"]) + float(at["width"]))
        elif tag == "circle" and name:
            peer = ratio(at["cx"])
    return found


def report(page):
    """The ratios of the report, and when, and on which machine, they were measured."""
    text = page.read_text(encoding="utf-8")
    ratios = {name: float(ratio) for name, ratio in re.findall(r"^\| `([^`]+)` \| \*\*([\d.]+)\*\*", text, re.MULTILINE)}
    machine = re.search(r"^- Machine: (.*)$", text, re.MULTILINE)
    day = re.search(r"^- (Measured on .*|Library: .*)$", text, re.MULTILINE)
    if not machine or not day:
        sys.exit(f"error: {page} does not say on which machine, or when, it was measured")
    return ratios, f"{machine[1]}. {day[1]}."


def drawn(rows, where):
    shown = [ratio for bar, peer, _ in rows.values() for ratio in (bar, peer) if ratio]
    lowest, highest = min(-1, math.floor(math.log10(min(shown)))), max(1, math.ceil(math.log10(max(shown))))
    bottom, width = TOP + PITCH * len(rows), LABEL + PLOT + VALUE

    def x(ratio):
        return LABEL + PLOT * (math.log10(ratio) - lowest) / (highest - lowest)

    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {bottom + 56}" font-family="Helvetica, Arial, sans-serif" font-size="12">',
        "<title>Time of GrandCentral relative to libdispatch</title>",
        '<rect width="100%" height="100%" fill="#ffffff"/>',
        '<text x="16" y="26" font-size="16" font-weight="bold" fill="#1f2933">Time relative to libdispatch</text>',
        '<text x="16" y="44" fill="#616e7c">Median of the ratios of all rounds, logarithmic; to the left of 1 GrandCentral is faster</text>',
        f'<circle cx="{width - 270}" cy="22" r="4.5" fill="#f7c948" stroke="#513c06"/>',
        f'<text x="{width - 260}" y="26" fill="#616e7c">the best of other languages and libraries</text>',
    ]
    for exponent in range(lowest, highest + 1):
        for step in range(1, 10 if exponent < highest else 2):
            at = f"{x(step * 10 ** exponent):.1f}"
            colour = "#323f4b" if (exponent, step) == (0, 1) else "#cbd2d9" if step == 1 else "#eef1f4"
            lines.append(f'<line x1="{at}" x2="{at}" y1="{TOP - 6}" y2="{bottom}" stroke="{colour}"/>')
        label = f"{10 ** exponent:.{max(0, -exponent)}f}×"
        lines.append(f'<text x="{x(10 ** exponent):.1f}" y="{bottom + 18}" text-anchor="middle" fill="#616e7c">{label}</text>')
    for index, (name, (bar, peer, value)) in enumerate(rows.items()):
        y = TOP + PITCH * index
        begin, length = min(x(bar), x(1)), max(1, abs(x(bar) - x(1)))
        colour = "#2680c2" if bar <= 1 else "#d64545"
        lines += [
            f"<g><title>{name}</title>",
            f'<text x="{LABEL - 16}" y="{y + HEIGHT - 3}" text-anchor="end" fill="#323f4b">{html.escape(ROWS[name])}</text>',
            f'<rect x="{begin:.1f}" y="{y}" width="{length:.1f}" height="{HEIGHT}" rx="2" fill="{colour}"/>',
        ]
        if peer:
            lines.append(f'<circle cx="{x(peer):.1f}" cy="{y + HEIGHT // 2}" r="4.5" fill="#f7c948" stroke="#513c06"/>')
        lines.append(f'<text x="{width - 16}" y="{y + HEIGHT - 3}" text-anchor="end" font-size="11" fill="#323f4b">{value}</text></g>')
    lines.append(f'<text x="16" y="{bottom + 44}" font-size="11" fill="#616e7c">{html.escape(where)}</text>')
    return "\n".join(lines) + "\n</svg>\n"


def main(words):
    check = words[:1] == ["--check"]
    folders = words[check:]
    if len(folders) > 1 or any(word.startswith("-") for word in folders):
        sys.exit(__doc__)
    folder = pathlib.Path(folders[0] if folders else "Documentation")
    all_bars, (ratios, where) = bars(folder / "performance.svg"), report(folder / "Performance.md")
    for name in ROWS:
        # The report has two digits behind the point.
        if name not in all_bars or name not in ratios or abs(float(all_bars[name][2][:-1]) - ratios[name]) > 0.0051:
            sys.exit(f"error: {name} is not the same in the report and in the chart of all rows: one duel writes both")
    made = drawn({name: all_bars[name] for name in ROWS}, where)
    path = folder / "headlines.svg"
    if not check:
        path.write_text(made, encoding="utf-8")
    elif not path.exists() or path.read_text(encoding="utf-8") != made:
        sys.exit(f"error: {path} is not of the report's figures: run Scripts/benchmark headlines")
    else:
        print(f"=> README's chart has {len(ROWS)} rows, as the report has them")


main(sys.argv[1:])
