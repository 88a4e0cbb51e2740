# Part of GrandCentral. SPDX-License-Identifier: Apache-2.0
"""A headless Chromium with one page, driven through a pipe by its protocol for developers: for the checks of the tool."""

import base64
import json
import os
import pathlib
import select
import shutil
import subprocess
import tempfile
import time

from looked_at import PATIENCE, fail, until

# The page was asked, and went to another before it answered.
WENT_AWAY = "Inspected target navigated or closed"


class Browser:
    def __init__(self, address, columns=1300, rows=800):
        self.folder = tempfile.mkdtemp()
        command = [
            "chromium", "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
            "--disable-extensions", "--disable-background-networking", "--disable-component-update", "--disable-sync",
            # It finds no other machine.
            "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1", f"--user-data-dir={self.folder}",
            f"--window-size={columns},{rows}", "--remote-debugging-pipe", "about:blank",
        ]  # fmt: skip
        to_read, self.commands = os.pipe()
        self.answers, to_write = os.pipe()

        def ends():
            # Chromium reads from 3 and writes to 4. Both may be in the way of each other.
            reading, writing = os.dup(to_read), os.dup(to_write)
            os.dup2(reading, 3)
            os.dup2(writing, 4)

        self.process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            close_fds=False, preexec_fn=ends,
        )  # fmt: skip
        os.close(to_read)
        os.close(to_write)
        self.buffer, self.count, self.session, self.complaints = b"", 0, None, []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Runtime", "Log", "Page"):
            self.call(f"{domain}.enable")
        self.call("Page.navigate", url=address)

    def call(self, method, **parameters):
        self.count += 1
        message = {"id": self.count, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.commands, json.dumps(message).encode() + b"\0")
        while True:
            answer = self.message(method)
            if answer.get("id") == self.count:
                if answer.get("error", {}).get("message") == WENT_AWAY:
                    return {}
                return answer["result"] if "result" in answer else fail(f"{method}: {answer}")
            # What the page complains of, and what it was refused.
            if answer.get("method") in ("Runtime.exceptionThrown", "Log.entryAdded", "Runtime.consoleAPICalled"):
                self.complaints.append(json.dumps(answer["params"]))

    def message(self, method):
        end = time.monotonic() + PATIENCE
        while b"\0" not in self.buffer:
            if not select.select([self.answers], [], [], max(0, end - time.monotonic()))[0]:
                fail(f"the browser does not answer {method}")
            part = os.read(self.answers, 1 << 20)
            if not part:
                fail(f"the browser has ended with {self.process.wait()}")
            self.buffer += part
        one, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(one)

    def value(self, script):
        """What a line of script is on the page; nothing while the page goes to another."""
        answer = self.call("Runtime.evaluate", expression=script, returnByValue=True)
        return answer.get("result", {}).get("value")

    def text(self, name):
        return self.value(f"document.getElementById({json.dumps(name)}).innerText")

    def expect(self, name, *words):
        """Until the page's part of that name has the words."""
        look = lambda: True if all(word in (self.text(name) or "") for word in words) else None
        until(lambda: f"{words} in {name}:\n{self.text(name)}", look)

    def click(self, name, text):
        """The button or the head of a column with that text."""
        script = f"[...document.querySelectorAll('#{name} button, #{name} th')].find(one => one.innerText === {json.dumps(text)})"
        if not self.value(f"{script} && ({script}.click(), true)"):
            fail(f"there is no {text!r} in {name}:\n{self.text(name)}")

    def picture(self, path, height=None):
        """The window, or so many rows of it from above."""
        clip = {}
        if height:
            width = self.value("document.documentElement.clientWidth")
            clip = {"clip": {"x": 0, "y": 0, "width": width, "height": height, "scale": 1}}
        data = self.call("Page.captureScreenshot", format="png", **clip)["data"]
        pathlib.Path(path).write_bytes(base64.b64decode(data))

    def end(self):
        self.process.kill()
        self.process.wait()
        os.close(self.commands)
        os.close(self.answers)
        shutil.rmtree(self.folder, ignore_errors=True)
