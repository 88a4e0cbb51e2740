#!/usr/bin/env python3
# Part of GrandCentral. SPDX-License-Identifier: Apache-2.0
"""Ends of traces that are not the usual ones.

    Scripts/trace_ends.py TOOL PROGRAM     PROGRAM is Tests/Programs/Traced
"""

import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

from looked_at import fail, until


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
        # Open for both, so that neither end waits for the other one. Nothing is read, so the tool waits when the pipe is full.
        ends = os.open(pipe, os.O_RDWR)
        tracer = subprocess.Popen([tool, "trace", "--seconds", "1", "-o", pipe, "--", program, "forever"],
                                  stdout=subprocess.PIPE)  # fmt: skip
        try:
            tracer.stdout.readline()
            until("a tool that writes", lambda: True if is_writing(tracer.pid) else None)
            # When its second is over it does not look at the command any more.
            over = time.monotonic() + 1
            until("the end of the second", lambda: True if time.monotonic() > over else None)
            if not is_writing(tracer.pid):
                fail("the pipe is not full")
            children = pathlib.Path(f"/proc/{tracer.pid}/task/{tracer.pid}/children").read_text().split()
            tracer.send_signal(signal.SIGTERM)
            until("the command's end, while the tool writes", lambda: True if state(children[0]) == "Z" else None)
            with open(pipe, "rb") as reader:
                os.close(ends)
                while reader.read(1 << 16):
                    pass
            status = tracer.wait()
        finally:
            tracer.kill()
    if status != -signal.SIGTERM:
        fail(f"the command was ended by SIGTERM, the tool with {status}")
    print("=> a request to end reaches the command while the tool writes the trace")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    tool, program = (str(pathlib.Path(path).resolve()) for path in sys.argv[1:])
    asked_to_end_while_it_writes(tool, program)
