# SPDX-License-Identifier: Apache-2.0
"""A headless Chromium that a test or benchmark drives by its DevTools protocol."""

import base64
import json
import os
import select
import shutil
import subprocess
import time

PATIENCE_S = 60


def is_installed():
    return shutil.which("chromium") is not None


class Browser:
    """Runs a browser with one page, whose files are in the folder. It ends with the `with` block.

    What the page writes to its console as a warning or an error is in `complaints`.
    """

    def __init__(self, folder):
        reads, self.commands = os.pipe()
        self.answers, writes = os.pipe()
        # The browser reads commands from descriptor 3 and writes answers to 4.
        command = f'exec chromium "$@" 3<&{reads} 4>&{writes}'
        arguments = ["--headless", "--no-sandbox", "--disable-gpu", "--window-size=1400,1300", "--no-first-run",
                     "--remote-debugging-pipe", f"--user-data-dir={folder}/browser", "about:blank"]
        self.process = subprocess.Popen(["bash", "-c", command, "chromium", *arguments], env={**os.environ, "HOME": folder},
                                        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                        pass_fds=(reads, writes))
        os.close(reads)
        os.close(writes)
        self.session = None
        self.last = 0
        self.buffer = b""
        self.bindings = {}
        self.complaints = []
        pages = self.send("Target.getTargets")["targetInfos"]
        page = next(target["targetId"] for target in pages if target["type"] == "page")
        self.session = self.send("Target.attachToTarget", targetId=page, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self.send(f"{domain}.enable")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait(PATIENCE_S)
        os.close(self.commands)
        os.close(self.answers)

    def send(self, method, **parameters):
        """Sends a command, and returns its result."""
        self.last += 1
        message = {"id": self.last, "method": method, "params": parameters}
        if self.session and not method.startswith(("Target.", "SystemInfo.")):
            message["sessionId"] = self.session
        os.write(self.commands, json.dumps(message).encode() + b"\0")
        deadline = time.monotonic() + PATIENCE_S
        while True:
            answer = self.read(deadline, method)
            if answer.get("id") == self.last:
                assert "error" not in answer, (method, answer["error"])
                return answer["result"]

    def read(self, deadline, what):
        """Returns the next message, and keeps what events say."""
        while b"\0" not in self.buffer:
            ready, _, _ = select.select([self.answers], [], [], max(0, deadline - time.monotonic()))
            assert ready, f"waited {PATIENCE_S} s for {what}"
            part = os.read(self.answers, 1 << 16)
            assert part, "the browser has ended"
            self.buffer += part
        text, self.buffer = self.buffer.split(b"\0", 1)
        message = json.loads(text)
        parameters = message.get("params", {})
        if message.get("method") == "Runtime.bindingCalled":
            self.bindings[parameters["name"]] = parameters["payload"]
        elif message.get("method") == "Runtime.exceptionThrown":
            self.complaints.append(parameters["exceptionDetails"]["text"])
        elif message.get("method") == "Log.entryAdded" and parameters["entry"]["level"] in ("warning", "error"):
            # A browser asks for an icon whether a page names one or not.
            if not parameters["entry"].get("url", "").endswith("/favicon.ico"):
                self.complaints.append(parameters["entry"]["text"])
        return message

    def open(self, url):
        self.send("Page.navigate", url=url)

    def run_at_start(self, script, *bindings):
        """Runs the script before those of each page; it can call `bindings`, functions that take a text."""
        for name in bindings:
            self.send("Runtime.addBinding", name=name)
        self.send("Page.addScriptToEvaluateOnNewDocument", source=script)

    def wait_for(self, binding):
        """Waits until the page calls a binding, and returns the text."""
        deadline = time.monotonic() + PATIENCE_S
        while binding not in self.bindings:
            self.read(deadline, binding)
        return self.bindings.pop(binding)

    def evaluate(self, expression):
        """Returns the value of an expression, which may be a promise."""
        answer = self.send("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def wait_until(self, condition):
        """Waits until an expression is true; the page looks at it whenever it has changed."""
        assert self.evaluate("""new Promise((done) => {
          const look = () => { if (%s) { seen.disconnect(); done(true); } };
          const seen = new MutationObserver(look);
          seen.observe(document, {childList: true, subtree: true, characterData: true, attributes: true});
          look();
          setTimeout(() => done(false), %d);
        })""" % (condition, 1000 * PATIENCE_S - 5000)), f"waited for {condition}"

    def press(self, key):
        for kind in ("keyDown", "keyUp"):
            self.send("Input.dispatchKeyEvent", type=kind, key=key, text=key if kind == "keyDown" else "")

    def picture(self, file):
        """Writes a picture of the page, PNG."""
        with open(file, "wb") as stream:
            stream.write(base64.b64decode(self.send("Page.captureScreenshot", captureBeyondViewport=True)["data"]))

    def renderers_pss_mb(self):
        """Returns the memory of the page's process: that of the largest of the processes that show pages."""
        return max(pss_mb(one["id"]) for one in self.send("SystemInfo.getProcessInfo")["processInfo"] if one["type"] == "renderer")


def pss_mb(pid):
    with open(f"/proc/{pid}/smaps_rollup", encoding="ascii") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("Pss:")) / 1024
