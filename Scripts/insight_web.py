#!/usr/bin/env python3
# Part of GrandCentral. SPDX-License-Identifier: Apache-2.0
"""Looks at the page of gcd top --web with a headless Chromium.

    Scripts/insight_web.py TOOL PROGRAM [--interval SECONDS] [--patience SECONDS] [--picture FILE]

PROGRAM is Tests/Programs/Hangs; FILE gets what the browser shows. An interval longer than the patience is an error: then
the page is not seen to change.
"""

import argparse
import json
import pathlib
import re
import subprocess
import time
import urllib.error
import urllib.request

from browser import Browser
from looked_at import PATIENCE, fail, running, until


def check(tool, process, interval, patience, picture):
    served = subprocess.Popen(
        [tool, "top", "--web", "--interval", interval, "--after", "0.2", str(process.pid)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    browser = None
    try:
        address = served.stdout.readline().strip()
        match = re.fullmatch(r"http://127\.0\.0\.1:(\d+)/[0-9a-f]{32}/", address) or fail(f"the address is {address!r}")
        port = int(match.group(1))
        only_here(port)
        strangers(port)
        browser = Browser(address)
        look(browser, patience)
        if picture:
            browser.picture(picture)
        snapshot = json.loads(get(address + "json"))["snapshot"]
        if snapshot["pid"] != process.pid:
            fail(f"it is of process {snapshot['pid']}")
        process.kill()
        process.wait()
        if served.wait(timeout=PATIENCE) != 0:
            fail(f"the tool ended with {served.returncode}: {served.stderr.read()}")
        browser.expect("state", str(process.pid))
        print("=> the page in Chromium: latency, findings, tables, updates, the end; only on 127.0.0.1, only with the token")
    finally:
        if browser:
            browser.end()
        served.kill()
        served.wait()


def look(browser, patience):
    browser.expect("head", "gcd top", "latency", "workers")
    browser.expect("columns", "QUEUE", "P99", "ITEMS/S")
    browser.expect("rows", "serial")
    # It goes on by itself.
    updates = lambda: int(browser.value("document.body.dataset.updates") or 0)
    begin, first = time.monotonic(), updates()
    until("updates", lambda: True if updates() >= first + 3 or time.monotonic() - begin > patience else None)
    if updates() < first + 3:
        fail(f"the page stands still: {updates() - first} updates in {patience} s")
    browser.expect("findings", "Deadlock: 2 threads wait for each other")
    browser.click("tabs", "Threads")
    browser.expect("columns", "ROLE", "STATE")
    browser.expect("rows", "waiting")
    browser.click("tabs", "Waits")
    browser.expect("rows", "waits in sync for queue")
    browser.click("tabs", "Queues")
    browser.expect("columns", "QUEUE")
    everything = browser.value("document.querySelectorAll('#rows tr').length")
    browser.value("(document.getElementById('filter').value = 'no such queue', show())")
    if everything == 0 or browser.value("document.querySelectorAll('#rows tr').length") != 0:
        fail(f"of {everything} rows some are left by a filter that none fits")
    browser.value("(document.getElementById('filter').value = '', show())")
    browser.click("columns", "KIND")
    kinds = browser.value("[...document.querySelectorAll('#rows tr')].map(row => row.children[8].innerText)")
    if kinds != sorted(kinds) or len(kinds) != everything:
        fail(f"sorted by the kind: {kinds}")
    if browser.complaints:
        fail("the page has errors:\n" + "\n".join(browser.complaints))


def get(address):
    with urllib.request.urlopen(address, timeout=PATIENCE) as answer:
        return answer.read().decode()


def only_here(port):
    """The one listening socket of that port is on the loopback interface."""
    listening = []
    for file in ("/proc/net/tcp", "/proc/net/tcp6"):
        for line in pathlib.Path(file).read_text().split("\n")[1:]:
            fields = line.split()
            if fields and fields[3] == "0A" and fields[1].endswith(f":{port:04X}"):
                listening.append(fields[1])
    if listening != [f"0100007F:{port:04X}"]:
        fail(f"it listens on {listening}")


def strangers(port):
    for path in ("/", "/json", "/" + "0" * 32 + "/json"):
        try:
            fail(f"{path} without the token: {get(f'http://127.0.0.1:{port}{path}')}")
        except urllib.error.HTTPError as error:
            if error.code != 404:
                fail(f"{path} without the token: {error.code}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("tool")
    parser.add_argument("program")
    parser.add_argument("--interval", default="0.2")
    parser.add_argument("--patience", type=float, default=PATIENCE / 2)
    parser.add_argument("--picture", default="")
    given = parser.parse_args()
    with running([str(pathlib.Path(given.program).resolve()), "crosswise-sync"]) as process:
        process.stdout.readline()
        check(str(pathlib.Path(given.tool).resolve()), process, given.interval, given.patience, given.picture)
