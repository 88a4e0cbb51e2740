# Part of GrandCentral. SPDX-License-Identifier: Apache-2.0
"""What a process uses: its threads at most, its processor time, and its resident memory at most; and bars for two of them.

Threads and memory are sampled from /proc, so a peak shorter than the interval can be missed, with either library alike.
Processor time is what the kernel charges the process and the children that it has waited for, when it ends.
"""

import contextlib
import dataclasses
import math
import os
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time

# How often a process is looked at, in seconds. A look takes some 20 us, a two-hundredth of this.
INTERVAL = 0.004
PROCESSORS = len(os.sched_getaffinity(0))


@dataclasses.dataclass
class Usage:
    threads: int = 0
    cpu: float = 0.0
    # Resident, in MiB, of the process itself.
    memory: float = 0.0

    def add(self, other):
        """One process after another."""
        self.threads = max(self.threads, other.threads)
        self.cpu += other.cpu
        self.memory = max(self.memory, other.memory)


# What ours may use at most, given what the toolchain's does: a share that no measuring error explains, and an amount for
# programs so small that a share says nothing.
BARS = {
    "threads": lambda theirs: 2 * theirs + 4 * PROCESSORS,
    "cpu": lambda theirs: 1.5 * theirs + 1,
    "memory": lambda theirs: 1.5 * theirs + 32,
}
UNITS = {"threads": "threads", "cpu": "s of CPU", "memory": "MiB"}


def median(usages):
    return Usage(*(statistics.median(getattr(usage, key) for usage in usages) for key in BARS))


def over(ours, theirs):
    """The bars that ours is over, in words."""
    found = []
    for key, bar in BARS.items():
        mine, other = getattr(ours, key), getattr(theirs, key)
        if mine > bar(other):
            found.append(f"{mine:.5g} {UNITS[key]}, theirs {other:.5g}; the bar is {bar(other):.5g}")
    return found


class Watch:
    """Waits for a process while it looks at what that uses."""

    def __init__(self, process):
        self.process, self.usage = process, Usage()

    def look(self):
        try:
            with open(f"/proc/{self.process.pid}/status", encoding="utf-8", errors="replace") as file:
                text = file.read()
        except OSError:
            return
        # A process that has ended says neither. Before it has executed its program, it is this one.
        threads, memory = (re.search(pattern, text) for pattern in (r"Threads:\s+(\d+)", r"VmHWM:\s+(\d+)"))
        if threads and memory:
            self.usage.threads = max(self.usage.threads, int(threads[1]))
            self.usage.memory = max(self.usage.memory, int(memory[1]) / 1024)

    def wait(self, limit, output=None, silence=math.inf):
        """The exit status, or None when it had to be killed: after `limit` seconds, or when `output` had not grown for `silence`."""
        deadline, killed, size, grown = time.monotonic() + limit, False, 0, time.monotonic()
        while True:
            pid, status, used = os.wait4(self.process.pid, os.WNOHANG)
            if pid:
                break
            written = os.fstat(output.fileno()).st_size if output else size
            if written != size:
                size, grown = written, time.monotonic()
            if time.monotonic() > min(deadline, grown + silence) and not killed:
                os.kill(self.process.pid, signal.SIGKILL)
                killed = True
            self.look()
            time.sleep(INTERVAL)
        self.usage.cpu = used.ru_utime + used.ru_stime
        # Popen must not wait for it again.
        self.process.returncode = os.waitstatus_to_exitcode(status)
        return None if killed else self.process.returncode


@contextlib.contextmanager
def neighbours(count):
    """Processes that are always busy, beside what is measured."""
    # They end with this process, however that ends.
    program = "import os\nparent = os.getppid()\nwhile os.getppid() == parent:\n  for _ in range(100000): pass"
    busy = [subprocess.Popen([sys.executable, "-c", program]) for _ in range(count)]
    try:
        yield
    finally:
        for process in busy:
            process.kill()
            process.wait()


def check_itself():
    """Threads, processor time and memory are found where they are."""
    # It ends when it has been seen to use all that, which may be late where the machine does other things.
    waste = ("import sys, threading, time\n"
             "gate = threading.Event()\n"
             "threads = [threading.Thread(target=gate.wait) for _ in range(40)]\n"
             "[thread.start() for thread in threads]\n"
             "kept = bytearray(b'1') * (200 << 20)\n"
             "end = time.process_time() + 2.5\n"
             "while time.process_time() < end: pass\n"
             "sys.stdin.read()\n"
             "gate.set()\n")

    class Seen(Watch):
        def look(self):
            super().look()
            if self.usage.threads == 41 and self.usage.memory >= 200:
                self.process.stdin.close()

    used = []
    for program in (waste, "pass"):
        watch = Seen(subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE))
        if watch.wait(60) != 0:
            sys.exit("the program that wastes did not end")
        used.append(watch.usage)
    wasteful, frugal = used
    if wasteful.threads != 41 or not 2.5 <= wasteful.cpu < 30 or not 200 <= wasteful.memory < 400:
        sys.exit(f"the usage of a program is not what it wastes: {wasteful}")
    if len(over(wasteful, frugal)) != (3 if 41 > BARS["threads"](frugal.threads) else 2) or over(frugal, wasteful):
        sys.exit(f"the bars do not tell {wasteful} from {frugal}")
    stopped = Watch(subprocess.Popen([sys.executable, "-c", "import time; time.sleep(100)"]))
    if stopped.wait(0.2) is not None:
        sys.exit("a process was not stopped at its limit")
    with tempfile.TemporaryFile() as output:
        silent = Watch(subprocess.Popen([sys.executable, "-uc", "import time; print('begun'); time.sleep(100)"], stdout=output))
        if silent.wait(60, output, 2) is not None or output.seek(0, os.SEEK_END) == 0:
            sys.exit("a process was not stopped when it had long been silent")
    print("=> finds threads, processor time and memory, and is over the bars by them")
