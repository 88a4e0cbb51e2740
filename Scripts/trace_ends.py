#!/usr/bin/env python3
# Part of GrandCentral. SPDX-License-Identifier: Apache-2.0
"""Ends of traces that are not the usual ones.

    Scripts/trace_ends.py TOOL PROGRAM     PROGRAM is Tests/Programs/Traced
"""

import os
import pathlib
import re
import resource
import signal
import subprocess
import sys
import tempfile
import time

from looked_at import PATIENCE, fail, until


def state(process):
    return pathlib.Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[0]


def is_writing(process):
    """Whether it waits in write, the call of number 1 (of number 64 on aarch64)."""
    call = pathlib.Path(f"/proc/{process}/syscall").read_text().split()[0]
    return call == {"aarch64": "64"}.get(os.uname().machine, "1")


def asked_to_end_while_it_writes(tool, program):
    """The tool is asked to end while it writes what is left: the command gets the signal at once."""
    with tempfile.TemporaryDirectory() as folder:
        pipe = pathlib.Path(folder, "pipe")
        os.mkfifo(pipe)
        # Open for both, so that neither end waits for the other one. Nothing is read: the tool waits when it is full.
        ends = os.open(pipe, os.O_RDWR)
        tracer = subprocess.Popen([tool, "trace", "--seconds", "1", "-o", pipe, "--", program, "forever"],
                                  stdout=subprocess.PIPE)  # fmt: skip
        tracer.stdout.readline()
        children = pathlib.Path(f"/proc/{tracer.pid}/task/{tracer.pid}/children").read_text().split()
        try:
            until("a tool that writes", lambda: True if is_writing(tracer.pid) else None)
            # When its second is over it does not look at the command any more.
            over = time.monotonic() + 1
            until("the end of the second", lambda: True if time.monotonic() > over else None)
            if not is_writing(tracer.pid):
                fail("the pipe is not full")
            tracer.send_signal(signal.SIGTERM)
            until("the command's end, while the tool writes", lambda: True if state(children[0]) == "Z" else None)
            with open(pipe, "rb") as reader:
                os.close(ends)
                while reader.read(1 << 16):
                    pass
            status = tracer.wait()
        finally:
            if tracer.poll() is None:
                os.kill(int(children[0]), signal.SIGKILL)
                tracer.kill()
    if status != -signal.SIGTERM:
        fail(f"the command was ended by SIGTERM, the tool with {status}")
    print("=> a request to end reaches the command while the tool writes the trace")


def becomes_others(tool, program, others=3, rounds=10):
    """A program that becomes another one by exec, and so on: what each has done is there, however brief it is."""
    with tempfile.TemporaryDirectory() as folder:
        trace = pathlib.Path(folder, "trace")
        for _ in range(rounds):
            subprocess.run([tool, "trace", "-o", trace, "--", program, "becomes", str(others)], check=True)
            table = subprocess.check_output([tool, "trace", "convert", "--format", "csv", "-o", "-", trace], text=True)
            items = [line for line in table.split("\n") if ",item," in line]
            for image in range(others + 1):
                # The record of the last item may be the one that exec has kept a worker from writing.
                count = sum(f"image {image}" in line for line in items)
                if count not in (9, 10):
                    fail(f"image {image} of {others + 1} has {count} items in the trace, not 10")
    print(f"=> {others + 1} programs in one process, {rounds} times: the items of each are in the trace")


def is_another(tracer):
    children = pathlib.Path(f"/proc/{tracer}/task/{tracer}/children").read_text().split()
    return any(pathlib.Path(f"/proc/{child}/comm").read_text() == "sleep\n" for child in children)


def becomes_a_stranger(tool, program):
    """The tool looks when the process is another program already: names are those of the program that is traced."""
    with tempfile.TemporaryDirectory() as folder:
        trace = pathlib.Path(folder, "trace")
        tracer = subprocess.Popen([tool, "trace", "-o", trace, "--", program, "then", "sleep", "1"])
        try:
            # The program has stopped the tool first.
            until("a program that has become another one", lambda: True if is_another(tracer.pid) else None)
            tracer.send_signal(signal.SIGCONT)
            if tracer.wait(PATIENCE) != 0:
                fail(f"a program that becomes another one: {tracer.returncode}")
        finally:
            if tracer.poll() is None:
                tracer.kill()
        table = subprocess.check_output([tool, "trace", "convert", "--format", "csv", "-o", "-", trace], text=True)
        items = [line.split(",")[2] for line in table.split("\n") if ",item," in line]
        if len(items) not in (9, 10) or any(not name or name.startswith("0x") for name in items):
            fail(f"the items of a program that has become another one: {items}")
        json = subprocess.check_output([tool, "trace", "convert", "--format", "json", "-o", "-", trace], text=True)
        name = re.search(r'"process_name".*?"args":\{"name":"([^"]*)"', json)
        if name is None or name[1] != pathlib.Path(program).name:
            fail(f"the process that has become another one is called {name and name[1]}")
    print("=> a program that has become another one before the tool looks: its names are its own")


def small_files(tool, program):
    """A file that may not grow is told: the tool outlives the signal, and the command its loss."""
    with tempfile.TemporaryDirectory() as folder:
        limited = {"preexec_fn": lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (10, 10)), "capture_output": True,
                   "text": True, "timeout": PATIENCE}  # fmt: skip
        table = f"{folder}/whole"
        subprocess.run([tool, "trace", "-o", table, "--", program, "serial", "10"], check=True)
        for code, arguments in [(7, ["-o", f"{folder}/a", "--", program, "exit", "7"]),
                                (1, ["convert", table, "-o", f"{folder}/b", "--format", "csv"])]:  # fmt: skip
            result = subprocess.run([tool, "trace", *arguments], **limited)
            if result.returncode != code or "File too large" not in result.stderr:
                fail(f"trace {arguments}, with small files: {result.returncode}: {result.stderr}")
            if code == 7 and "ulimit -f" not in result.stderr:
                fail(f"nothing is said of the files' size: {result.stderr}")
    print("=> a file that may not grow: the reason, and the command's exit code")


def few_descriptors(tool, program):
    """However few descriptors there may be, the tool ends with the command, and does not say what is not so."""
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)
    traced = 0
    for most in range(3, 16):
        with tempfile.TemporaryDirectory() as folder:
            command = [tool, "trace", "-o", f"{folder}/trace", "--", program, "serial", "10"]
            lower = lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (most, limit[1]))
            # What the tool needs before it reads the command line, the loader says.
            result = subprocess.run(command, preexec_fn=lower, capture_output=True, text=True, timeout=PATIENCE)
            said = result.stdout + result.stderr
            if result.returncode == 0 and not said:
                traced += 1
            elif not any(word in said for word in ("Too many open files", "Error 24", "descriptor")):
                fail(f"with {most} descriptors: {result.returncode}: {said}")
    if not traced:
        fail("with 15 descriptors nothing is traced")
    print(f"=> with 3 to 15 descriptors: {traced} times a trace, else the reason")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    tool, program = (str(pathlib.Path(path).resolve()) for path in sys.argv[1:])
    asked_to_end_while_it_writes(tool, program)
    becomes_others(tool, program)
    becomes_a_stranger(tool, program)
    small_files(tool, program)
    few_descriptors(tool, program)
