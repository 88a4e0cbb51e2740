# Part of GrandCentral. SPDX-License-Identifier: Apache-2.0
"""Processes that gcd looks at, and what it says of them: for the checks of the tool."""

import contextlib
import os
import pathlib
import subprocess
import sys
import time

# How long something may take that ought to be there at once, on a machine that does other things.
PATIENCE = 60
TOLD, NOTHING = 1, 0
ENDED, NOT_PERMITTED, NO_REGION, DAMAGED, REFUSED = 2, 3, 4, 5, 6


def fail(text):
    sys.exit(f"error: {text}")


@contextlib.contextmanager
def running(command, inspects=True, **options):
    """The process; killed at the end. `inspects`: the library looks at itself from the start."""
    environment = dict(os.environ, GRANDCENTRAL_CYCLES="report", GRANDCENTRAL_INSPECT="1")
    if not inspects:
        del environment["GRANDCENTRAL_INSPECT"]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment, text=True, **options
    )
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def comes(seconds, look):
    """Looks again and again until there is something to return; None if nothing comes in that time."""
    end = time.monotonic() + seconds
    while (found := look()) is None and time.monotonic() <= end:
        time.sleep(0.05)
    return found


def until(what, look):
    """As `comes`. The check fails if nothing comes."""
    found = comes(PATIENCE, look)
    if found is None:
        fail(f"not within {PATIENCE} s: {what() if callable(what) else what}")
    return found


def why(tool, pid, *options, **how):
    return subprocess.run([tool, "why", "--after", "0.2", *options, str(pid)], capture_output=True, text=True, **how)


def expect(result, code, text, what):
    said = result.stdout + result.stderr
    if result.returncode != code or text not in said:
        fail(f"{what}: code {result.returncode}, expected {code} and {text!r}:\n{said}")


def region_of(pid):
    for entry in pathlib.Path(f"/proc/{pid}/fd").iterdir():
        with contextlib.suppress(OSError):
            if os.readlink(entry).startswith("/memfd:grandcentral"):
                return entry
    return fail(f"{pid} has no region")
