#!/usr/bin/env python3
# Part of GrandCentral. SPDX-License-Identifier: Apache-2.0
"""Proves that costs/run.py sees an excess and distrusts a blind counter, with tools that count what each case says."""

import contextlib
import io
import json
import os
import pathlib
import sys
import tempfile

import run as costs

# Each stands for three programs and the probe: what it was called as decides which.
TOOL = """#!/usr/bin/env python3
import json, os, pathlib, re, shutil, sys
case, words = json.loads(os.environ["COSTS_CASE"]), sys.argv[1:]
tool = pathlib.Path(sys.argv[0]).name
if tool == "strip":
    shutil.copy(words[-1], words[-2])
elif tool == "benchmark":
    print("\\n".join(case["names"]))
else:
    log = [word.removeprefix("--log-file=") for word in words if word.startswith("--log-file=")]
    log = log[0] if log else words[words.index("-o") + 1]
    at = [word.endswith("/benchmark") for word in words].index(True)
    name, count, side = words[at + 2], int(words[at + 3]), "theirs" if "--theirs" in words else "ours"
    each = case[tool].get(name + "/" + side, case[tool].get(name, 0))
    if isinstance(each, list):
        # One for each run, which counts twice.
        calls = pathlib.Path(f"{sys.argv[0]}.calls")
        made = int(calls.read_text()) if calls.exists() else 0
        calls.write_text(str(made + 1))
        each = each[made // 2]
    if case.get("silent"):
        text = "nothing"
    elif tool == "valgrind":
        text = f"==1== Collected : {6000000 + int(each * count)}"
    elif "-c" in words:
        text = f"   {int(each * count)} futex\\n   40 mmap\\n{40 + int(each * count)} total"
    else:
        sleep = ["7 futex(0x1, FUTEX_WAIT <unfinished ...>", "1 getppid() = 3", "1 nanosleep(1, 0 <unfinished ...>"]
        text = "\\n".join(sleep + ["7 <... futex resumed>) = 0", "7 epoll_wait(3) = 0"] * each + ["1 getppid() = 3"])
    pathlib.Path(log).write_text(text + "\\n")
"""
CALIBRATION = {
    "valgrind": {"calibration.nothing": 3, "calibration.hundred-instructions": 103},
    "strace": {"calibration.system-call": 1},
}
SLACK = {
    "steady": {"relative": 0.03, "absolute": 1, "runs": 1},
    "scheduled": {"relative": 0.1, "absolute": 1, "runs": 3},
}
SLACK_OF_CALLS = {
    "steady": {"relative": 0, "absolute": 0.02, "runs": 1},
    "scheduled": {"relative": 0, "absolute": 0.05, "runs": 3},
    "busy": {"relative": 0, "absolute": 0.05, "runs": 3, "of": "least"},
}

# name, arguments, what changes against a run in which all is well, exit status, what the output must contain
CASES = [
    ("all within", [], {}, 0, "5 costs counted, 0 exceeded"),
    ("at the edge of the slack", [], {"valgrind": {"one": 103}}, 0, ""),
    ("over the slack", [], {"valgrind": {"one": 105}}, 1, "instructions of one"),
    ("over the wider slack", [], {"valgrind": {"two": 112}}, 1, "instructions of two"),
    ("within the wider slack", [], {"valgrind": {"two": 110}}, 0, ""),
    ("one system call in twenty", [], {"strace": {"one": 0.05}}, 1, "syscalls of one"),
    ("one call of an idle process", [], {"strace": {"idle-second": 1}}, 1, "syscalls of idle-second"),
    ("one run of three that is late", ["syscalls"], {"names": ["sleeps"], "strace": {"sleeps": [0.2, 0, 0]}}, 0, ""),
    ("two late runs", ["syscalls"], {"names": ["sleeps"], "strace": {"sleeps": [0.2, 0, 0.2]}}, 1, "syscalls of sleeps"),
    ("two runs that are disturbed", ["syscalls"], {"names": ["busy"], "strace": {"busy": [0.2, 0, 0.2]}}, 0, "1 costs"),
    ("calls in each run", ["syscalls"], {"names": ["busy"], "strace": {"busy": [0.2, 0.1, 0.2]}}, 1, "syscalls of busy"),
    ("only the other kind is over", ["syscalls"], {"valgrind": {"one": 500}}, 0, "3 costs"),
    ("only another operation is over", ["--filter", "two"], {"valgrind": {"one": 500}}, 0, "2 costs"),
    ("an operation without a threshold", [], {"names": ["one", "two", "three"]}, 1, "none set"),
    ("theirs does not count", ["--theirs"], {"valgrind": {"one/theirs": 900}}, 0, "900"),
    ("a recorded cost is no excess", ["--record"], {"valgrind": {"one": 500}}, 0, ""),
    ("instructions that nobody sees", [], {"valgrind": {"calibration.hundred-instructions": 3}}, 2, "100 more"),
    ("calls that nobody sees", [], {"strace": {"calibration.system-call": 0}}, 2, "1 more"),
    ("tools that say nothing", [], {"silent": True}, 2, "valgrind did not say"),
    ("no such operation", ["--filter", "four"], {}, 2, "no operation"),
    ("no such kind", ["allocations"], {}, 2, "what is allocations?"),
    ("no probe", ["--probe", "missing"], {}, 2, "missing"),
]


def run(folder, arguments, changes):
    """Runs costs/run.py as the case says: (status, output)."""
    case = {"names": ["one", "two", "idle-second"], "valgrind": {"one": 100, "two": 100}, "strace": {}}
    for key, change in changes.items():
        case[key] = case[key] | change if isinstance(change, dict) else change
    case["valgrind"] = CALIBRATION["valgrind"] | case["valgrind"]
    case["strace"] = CALIBRATION["strace"] | case["strace"]
    os.environ["COSTS_CASE"] = json.dumps(case)
    operations = {"one": {"measured": 100, "slack": "steady"}, "two": {"measured": 100, "slack": "scheduled"}}
    slacks = {"one": "steady", "two": "steady", "idle-second": "steady", "sleeps": "scheduled", "busy": "busy"}
    calls = {name: {"measured": 0, "slack": slack} for name, slack in slacks.items()}
    (folder / "strace.calls").unlink(missing_ok=True)
    (folder / "instructions.json").write_text(json.dumps({"slack": SLACK, "operations": operations}))
    (folder / "syscalls.json").write_text(json.dumps({"slack": SLACK_OF_CALLS, "operations": calls}))
    output = io.StringIO()
    with contextlib.redirect_stdout(output), contextlib.redirect_stderr(output):
        try:
            words = ["--probe", str(folder / "benchmark"), "--thresholds", str(folder), *arguments]
            status = costs.main(words)
        except SystemExit as end:
            status = end.code
    return status, output.getvalue()


def check_record(folder):
    """What is recorded becomes the threshold, and only that."""
    run(folder, ["--record", "--theirs", "--filter", "one"], {"valgrind": {"one": 300, "one/theirs": 900}})
    operations = json.loads((folder / "instructions.json").read_text())["operations"]
    expected = {"measured": 300, "slack": "steady", "libdispatch": 900}
    if operations != {"one": expected, "two": {"measured": 100, "slack": "scheduled"}}:
        return [f"recording left {operations}"]
    return []


def main():
    failures = []
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for tool in ("strip", "valgrind", "strace", "benchmark"):
            (folder / tool).write_text(TOOL)
            (folder / tool).chmod(0o755)
        os.environ["PATH"] = f"{folder}:{os.environ['PATH']}"
        for title, arguments, changes, expected, text in CASES:
            status, output = run(folder, arguments, changes)
            if status != expected or text not in output:
                failures.append(f"{title}: ended with {status}, expected {expected} and '{text}':\n{output}")
        failures += check_record(folder)
    print("\n".join(failures) or f"=> {len(CASES) + 1} cases of costs/run.py")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
