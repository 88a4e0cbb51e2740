#!/usr/bin/env python3
# Part of GrandCentral. SPDX-License-Identifier: Apache-2.0
"""Looks at real processes with gcd why, gcd snapshot and gcd top.

    Scripts/insight.py hangs TOOL PROGRAM       each way to hang of PROGRAM (Tests/Programs/Hangs) is named by gcd why
    Scripts/insight.py awkward TOOL PROGRAM     stopped, ended, somebody else's, without a region, with random bytes for one
    Scripts/insight.py terminal TOOL PROGRAM    gcd top in a terminal of 80 x 24 and of 200 x 60, by tmux
    Scripts/insight.py document TOOL PROGRAM    what Documentation/Hangs.md shows of Examples/PhotoImport is what comes out
    Scripts/insight.py write TOOL PROGRAM       writes it there
"""

import fcntl
import json
import os
import pathlib
import random
import re
import resource
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from looked_at import DAMAGED, ENDED, NO_REGION, NOTHING, NOT_PERMITTED, PATIENCE, TOLD, comes, expect, fail, region_of, running, until, why

# ---- every way to hang is named

# Listed without being asked for: a channel whose barrier has to wait; a queue that is suspended, or made inactive.
UNASKED = ("channel-barrier-behind-a-silent-pipe", "group-behind-a-suspended-queue", "semaphore-behind-an-inactive-queue")


def hangs(tool, program):
    table = [line.split("\t") for line in subprocess.check_output([program, "--list"], text=True).splitlines()]
    named = 0
    for name, circle, words in table:
        # A circle that the library reports is one that the tool names.
        words = words.split("|") + (["Deadlock"] if circle == "cycle" else [])
        with running([program, name], inspects=name not in UNASKED) as process:
            if not process.stdout.readline().startswith("formed="):
                fail(f"{name} does not hang")
            last = [None]

            def look():
                last[0] = why(tool, process.pid)
                text = last[0].stdout
                return text if last[0].returncode == TOLD and all(word in text for word in words) else None

            text = until(lambda: f"{name}: {words} in\n{last[0].stdout}{last[0].stderr}", look)
            if "Remedy: " not in text:
                fail(f"{name}: no remedy in\n{text}")
            report = json.loads(why(tool, process.pid, "--json").stdout)
            if report["pid"] != process.pid or not report["findings"]:
                fail(f"{name}: {report}")
            named += 1
    # Two threads whose waits are the process's first, at the same moment: both are seen. They wait 20 ms for the region, and no longer.
    seen = tried = 0
    while seen < 10 and tried < 30:
        with running([program, "crosswise-sync"], inspects=False) as process:
            process.stdout.readline()
            seen += 1 if comes(5, lambda: "Deadlock: 2 threads" in why(tool, process.pid).stdout or None) else 0
        tried += 1
    if seen < 10:
        fail(f"of {tried} pairs of first waits {seen} were seen")
    print(f"=> {named} of {len(table)} ways to hang are named")


# ---- awkward processes


def awkward(tool, program):
    with running([program, "crosswise-sync"]) as process:
        process.stdout.readline()
        until("a deadlock", lambda: True if why(tool, process.pid).returncode == TOLD else None)
        process.send_signal(signal.SIGSTOP)
        until("a stopped process", lambda: True if "is stopped" in why(tool, process.pid).stdout else None)
        expect(why(tool, process.pid), TOLD, "Deadlock: 2 threads", "a stopped process")
        snapshot = json.loads(subprocess.check_output([tool, "snapshot", "--json", str(process.pid)], text=True))
        if snapshot["state"] != "T" or sum("wait" in thread for thread in snapshot["threads"]) != 2:
            fail(f"snapshot of a stopped process: {snapshot}")
        expect(why(tool, process.pid, "--after", "3600"), NOTHING, "nothing has waited", "a high threshold")
        damaged(tool, process.pid)
        process.kill()
        # Not yet waited for: it is there, and has ended.
        until("an ended process", lambda: True if why(tool, process.pid).returncode == ENDED else None)
    expect(why(tool, process.pid), ENDED, "there is no process", "a process that is gone")
    expect(why(tool, 2**22 + 1), ENDED, "there is no process", "a number that no process has")
    idle(tool)
    with subprocess.Popen(["sleep", "1000"]) as other:
        expect(why(tool, other.pid), NO_REGION, "does not use GrandCentral", "a program without the library")
        other.kill()
    foreign(tool, program)
    contained(tool, program)
    unfinished(tool)


def idle(tool):
    """One that waits for work, and for nothing else: it has begun, told of a file, and then nothing happens to its folder."""
    with tempfile.TemporaryDirectory() as folder, running([tool, "watch", folder]) as process:
        def told():
            os.close(tempfile.mkstemp(dir=folder)[0])
            return select.select([process.stdout], [], [], 0)[0] or None

        until("an event", told)
        # Long enough for what waits to have waited long.
        time.sleep(1)
        expect(why(tool, process.pid), NOTHING, "nothing has waited", "an idle process")


def unfinished(tool):
    """A region that is being made, and a page that a tool has handed down and no process has taken."""
    for head, text in (
        (b"", "has begun to make what tools look into"),
        (bytes(8) + b"aGCsffer" + bytes(4080), "has nothing to look into"),
    ):
        # MFD_ALLOW_SEALING
        descriptor = os.memfd_create("grandcentral", 2)
        os.write(descriptor, head)
        expect(why(tool, os.getpid()), NO_REGION, text, "a region in the making")
        os.close(descriptor)


def foreign(tool, program):
    """Another user's process."""
    if os.geteuid() != 0:
        return expect(why(tool, 1), NOT_PERMITTED, "belongs to another user", "the first process")
    # The build folder may be closed to others.
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        copies = [shutil.copy(file, folder) for file in (tool, program)]
        with running([copies[1], "crosswise-sync"], user=65534, group=65534, extra_groups=[]) as process:
            process.stdout.readline()
            refused = why(copies[0], process.pid, user=65533, group=65533, extra_groups=[])
            expect(refused, NOT_PERMITTED, "belongs to another user", "another user's process")
            own = lambda: why(copies[0], process.pid, user=65534, group=65534, extra_groups=[])
            until("the same user", lambda: True if own().returncode == TOLD else None)
            until("the administrator", lambda: True if why(tool, process.pid).returncode == TOLD else None)


def contained(tool, program):
    """A process that has another number for itself, and for its threads."""
    inside = ["unshare", "--user", "--map-root-user", "--pid", "--fork", "--kill-child"]
    if subprocess.run([*inside, "true"], capture_output=True).returncode:
        return print("=> the kernel gives no namespace of processes: none is looked into")
    for name, words in (("crosswise-sync", "Deadlock: 2 threads"), ("mutex-and-queue-crosswise", "2 threads wait for each other")):
        with running([*inside, program, name]) as shell:
            shell.stdout.readline()
            children = pathlib.Path(f"/proc/{shell.pid}/task/{shell.pid}/children").read_text().split()
            until(f"{name} in a container", lambda: True if words in why(tool, children[0]).stdout else None)
    print("=> a process in a container of its own is looked into from outside")


def damaged(tool, pid):
    """Regions with random changes, shown by this process itself: the tool ends with a code of its own."""
    with open(region_of(pid), "rb") as file:
        size = os.fstat(file.fileno()).st_size
        begin = bytearray(file.read(400_000))
    # The head says whose region it is: a process that has another one's open shows none.
    number = slice(24, 28)
    if begin[number] != pid.to_bytes(4, "little"):
        fail("the head has no process's number where it was")
    begin[number] = os.getpid().to_bytes(4, "little")
    seed = int(os.environ.get("GC_INSIGHT_SEED", random.SystemRandom().randrange(2**32)))
    print(f"=> GC_INSIGHT_SEED={seed}")
    generator = random.Random(seed)
    seen = {}
    for round in range(120):
        changed = bytearray(begin)
        for _ in range(generator.choice((1, 4, 64, 4096))):
            # The head, where a change does most, and the threads' entries.
            place = generator.randrange(256 if generator.random() < 0.5 else 70_000)
            place = 4 + place if place < 256 else 65_536 - 256 + place
            changed[place % len(changed)] = generator.randrange(256)
        if round % 10 == 9:
            changed = bytearray(generator.randbytes(len(changed)))
        # MFD_ALLOW_SEALING; F_ADD_SEALS, F_SEAL_SHRINK
        descriptor = os.memfd_create("grandcentral", 2)
        os.ftruncate(descriptor, size)
        os.pwrite(descriptor, changed, 0)
        fcntl.fcntl(descriptor, 1033, 2)
        command = ("why", "snapshot", "top")[round % 3]
        options = {"top": ["--once", "--no-record", "--interval", "0.1"]}.get(command, [])
        try:
            result = subprocess.run(
                [tool, command, *options, str(os.getpid())], capture_output=True, text=True, timeout=PATIENCE
            )
        finally:
            os.close(descriptor)
        seen[result.returncode] = seen.get(result.returncode, 0) + 1
        is_others = changed[number] != begin[number]
        if result.returncode not in (0, TOLD, DAMAGED, *([NO_REGION] if is_others else [])):
            pathlib.Path("/tmp/damaged-region").write_bytes(changed)
            fail(f"{command} ended with {result.returncode} on round {round}: {result.stdout}{result.stderr}")
    if not seen.get(DAMAGED):
        fail(f"no damage was found: {seen}")
    print(f"=> 120 damaged regions: {seen.get(DAMAGED)} refused, the others read")


# ---- a terminal


class Terminal:
    """A shell in a terminal of tmux's, with a server of its own: the one before may not have ended yet."""

    count = 0

    def __init__(self, columns, rows, **variables):
        Terminal.count += 1
        self.socket = f"gc-insight-{os.getpid()}-{Terminal.count}"
        environment = {"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8", "HOME": "/nonexistent", "PS1": "$ ", **variables}
        subprocess.run(
            ["tmux", "-L", self.socket, "-f", "/dev/null", "new-session", "-d", "-x", str(columns), "-y", str(rows), "sh"],
            check=True, env=environment,
        )  # fmt: skip

    def tmux(self, *words):
        return subprocess.run(["tmux", "-L", self.socket, *words], check=True, capture_output=True, text=True).stdout

    def line(self, text):
        self.tmux("send-keys", "-l", text)
        self.tmux("send-keys", "Enter")

    def keys(self, *keys):
        self.tmux("send-keys", *keys)

    def screen(self, *options):
        return self.tmux("capture-pane", "-p", *options)

    def expect(self, *texts, absent=()):
        def look():
            screen = self.screen()
            found = all(text in screen for text in texts) and not any(text in screen for text in absent)
            return screen if found else None

        return until(lambda: f"{texts} without {absent} in\n{self.screen()}", look)

    def child(self):
        """What the shell runs."""
        shell = int(self.tmux("list-panes", "-F", "#{pane_pid}"))
        children = pathlib.Path(f"/proc/{shell}/task/{shell}/children")  # some may be left out while others end
        return int(until("a child of the shell", lambda: (children.read_text().split() or [None])[0]))

    def end(self):
        self.tmux("kill-server")


def cpu_seconds(pid):
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def terminal(tool, program):
    with running([program, "crosswise-sync"]) as process:
        process.stdout.readline()
        narrow(tool, process.pid)
        wide(tool, process.pid)


def narrow(tool, pid):
    shell = Terminal(80, 24)
    try:
        shell.line("stty -g >/tmp/$$.before; clear")
        shell.line(f"{tool} top {pid}; echo left:$?")
        screen = shell.expect("Deadlock: 2 threads wait for each other", "gcd top", "latency", "q quit")
        rows = screen.split("\n")[:24]
        if not rows[0].startswith("gcd top") or not rows[23].startswith("q quit") or max(map(len, rows)) > 80:
            fail(f"80 x 24 is not filled:\n{screen}")
        shell.keys("4")
        shell.expect("THREAD AND ITS WAITERS", "worker")
        shell.keys("3")
        shell.expect("gc-", "waiting")
        shell.keys("j", "Enter")
        shell.expect("escape back")
        shell.keys("Escape")
        shell.expect("enter detail")
        shell.keys("/")
        shell.tmux("send-keys", "-l", "zzz")
        shell.expect("nothing matches zzz", "/zzz_")
        shell.keys("Escape")
        shell.expect("gc-", absent=("zzz",))
        shell.keys("?")
        shell.expect("The columns of", "how long it is in that state")
        shell.keys("x", "Space")
        shell.expect("paused")
        shell.keys("Space")
        shell.expect("enter detail", absent=("paused",))
        shell.tmux("resize-window", "-x", "120", "-y", "30")
        screen = shell.expect("gcd top", "q quit")
        until("30 rows", lambda: True if shell.screen().split("\n")[29].startswith("q quit") else None)
        cost(tool, pid, shell.child())
        shell.keys("q")
        shell.expect("left:0", absent=("q quit",))
        # A signal leaves no trace on the terminal either.
        shell.line(f"clear; {tool} top {pid}; echo left:$?")
        shell.expect("Deadlock: 2 threads")
        os.kill(shell.child(), signal.SIGTERM)
        shell.expect("left:143", absent=("q quit",))
        shell.line("clear; stty -g >/tmp/$$.after; cmp /tmp/$$.before /tmp/$$.after && echo same' 'modes; rm /tmp/$$.*")
        shell.expect("same modes")
        print("=> gcd top at 80 x 24: pages, keys, a resize, the terminal as it was after q and after SIGTERM")
    finally:
        shell.end()


def cost(tool, pid, top, seconds=5):
    """It looks once a second. A snapshot, from the tool's start to its end, says what a look costs on this machine."""
    begin, before = time.monotonic(), cpu_seconds(top)
    time.sleep(seconds)
    looks = time.monotonic() - begin
    used = (cpu_seconds(top) - before) / looks
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    for _ in range(seconds):
        subprocess.run([tool, "snapshot", "--json", str(pid)], check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    snapshot = (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime) / seconds
    print(f"=> gcd top, unoptimised, uses {used:.1%} of a processor; a snapshot takes {snapshot * 1000:.0f} ms of one")
    if used > 4 * snapshot:
        fail(f"gcd top uses {used:.3f} s of a processor in a second, a snapshot {snapshot:.3f} s")


def wide(tool, pid):
    shell = Terminal(200, 60, NO_COLOR="1")
    try:
        shell.line(f"{tool} top {pid}; echo left:$?")
        screen = shell.expect("Deadlock: 2 threads", "TARGET", "QOS", "OLDEST", "q quit")
        if not screen.split("\n")[59].startswith("q quit"):
            fail(f"200 x 60 is not filled:\n{screen}")
        if re.search(r"\x1b\[(\d+;)*3[0-7][;m]", shell.screen("-e")):
            fail("there are colours in spite of NO_COLOR")
        shell.keys("q")
        shell.expect("left:0")
        shell.line(f"clear; {tool} top --once --json {pid} | head -c 14; echo")
        shell.expect('"snapshot"')
        print("=> gcd top at 200 x 60: all columns; NO_COLOR")
    finally:
        shell.end()


# ---- the document

DOCUMENT = pathlib.Path(__file__).resolve().parent.parent / "Documentation/Hangs.md"
# The program is started in the background, and looked at.
EXAMPLE = re.compile(r"(```console\n\$ photo-import (\w+) &\n\$ gcd ([^\n]*) \$!\n)(.*?)(```\n)", re.DOTALL)


def comparable(text):
    """Numbers, and what depends on them, differ from run to run."""
    text = re.sub(r"0x[0-9a-f]+", "0x", text)
    text = re.sub(r"[\d.,]*\d (ms|s|min \d+ s)\b", "N s", text)
    text = re.sub(r"\d+ threads? of the library, \d+ of them workers", "N threads", text)
    return re.sub(r"\d+", "N", text)


def tellings(text):
    """The text, and how else it may be told: a circle begins at its longest wait, which is that of the thread that came first."""
    one, other = "photos.library", "photos.thumbnails"
    turned = text.replace(one, "\0").replace(other, one).replace("\0", other)
    return {comparable(text), comparable(turned if "the circle is closed" in text else text)}


def shown(tool, program, fault, command, fits=lambda now: True):
    """What the document's command prints, once the hang is a second old, and all that takes part in it waits."""
    with running([program, fault]) as process:
        said = [""]

        def look():
            result = subprocess.run([tool, *command.split(), str(process.pid)], capture_output=True, text=True)
            said[0] = result.stdout
            return result.stdout if result.returncode == TOLD and fits(result.stdout) else None

        return until(lambda: f"photo-import {fault}: as {DOCUMENT.name} has it:\n{said[0]}", look)


def document(tool, program, writes=False):
    text = DOCUMENT.read_text()
    found = list(EXAMPLE.finditer(text))
    if len(found) < 3:
        fail(f"{len(found)} examples in {DOCUMENT.name}")
    for match in found:
        _, fault, command, output, _ = match.groups()
        if writes:
            text = text.replace(match.group(0), match.group(1) + shown(tool, program, fault, command) + match.group(5))
        else:
            shown(tool, program, fault, command, lambda now: comparable(now) in tellings(output))
    if writes:
        DOCUMENT.write_text(text)
    print(f"=> {len(found)} examples of {DOCUMENT.name} are what comes out")


def write(tool, program):
    document(tool, program, writes=True)


if __name__ == "__main__":
    modes = {"hangs": hangs, "awkward": awkward, "terminal": terminal, "document": document, "write": write}
    if len(sys.argv) != 4 or sys.argv[1] not in modes:
        sys.exit(__doc__)
    modes[sys.argv[1]](str(pathlib.Path(sys.argv[2]).resolve()), str(pathlib.Path(sys.argv[3]).resolve()))
