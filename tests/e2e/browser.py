"""Chromium without a window, spoken to over a pipe in its own protocol (Chrome DevTools Protocol); standard library only."""

import base64
import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import time

QUESTION_SECONDS = 60


class Browser:
    """One browser with one page. What goes wrong in the page is in `complaints`."""

    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="tidegate-browser-")
        self.number = 0
        self.session = None
        self.complaints = []
        self.requested = []
        self.rest = b""
        to_read, self.to = os.pipe()
        self.answers, from_write = os.pipe()
        script = 'exec 3<&"$1" 4>&"$2"; shift 2; exec "$@"'
        self.process = subprocess.Popen(
            ["bash", "-c", script, "browser", str(to_read), str(from_write), "chromium", "--headless=new", "--no-sandbox",
             "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--remote-debugging-pipe", "--disable-background-networking",
             "--disable-component-update", "--force-color-profile=srgb", f"--user-data-dir={self.folder}", "about:blank"],
            pass_fds=(to_read, from_write), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            env={**os.environ, "TZ": "UTC"})
        os.close(to_read)
        os.close(from_write)
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.ask(f"{domain}.enable")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        os.close(self.to)
        os.close(self.answers)
        shutil.rmtree(self.folder, ignore_errors=True)

    def read_message(self):
        while b"\0" not in self.rest:
            piece = os.read(self.answers, 1 << 16)
            if not piece:
                raise AssertionError("the browser has ended")
            self.rest += piece
        message, self.rest = self.rest.split(b"\0", 1)
        return json.loads(message)

    def ask(self, method, **parameters):
        self.number += 1
        question = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            question["sessionId"] = self.session
        os.write(self.to, json.dumps(question).encode() + b"\0")
        while True:
            message = self.read_message()
            if message.get("id") == self.number:
                if "error" in message:
                    raise AssertionError(f"{method}: {message['error']}")
                return message["result"]
            self.take_event(message.get("method"), message.get("params", {}))

    def take_event(self, method, told):
        if method == "Runtime.exceptionThrown":
            details = told["exceptionDetails"]
            self.complaints.append(details.get("exception", {}).get("description", details["text"]))
        elif method == "Runtime.consoleAPICalled" and told["type"] in ("error", "warning", "assert"):
            self.complaints.append(" ".join(str(part.get("value", part.get("description"))) for part in told["args"]))
        elif method == "Log.entryAdded" and told["entry"]["level"] in ("error", "warning"):
            self.complaints.append(f"{told['entry']['text']} {told['entry'].get('url', '')}")
        elif method == "Network.requestWillBeSent":
            self.requested.append(told["request"])

    def look_at(self, width, scheme, height=1000):
        self.ask("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        self.ask("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])

    def open(self, url):
        """Returns once the page and its scripts are loaded."""
        failure = self.ask("Page.navigate", url=url).get("errorText")
        if failure:
            raise AssertionError(f"{url}: {failure}")
        self.wait_for('document.readyState === "complete"')

    def leave(self):
        """So that nobody is asked any more, before who answers ends."""
        self.open("about:blank")

    def value(self, expression):
        result = self.ask("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in result:
            raise AssertionError(f"{expression}: {result['exceptionDetails']}")
        return result["result"].get("value")

    def wait_for(self, expression, seconds=QUESTION_SECONDS):
        """Polls in the page; returns the value once it is true."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            value = self.value(expression)
            if value:
                return value
            time.sleep(0.05)
        raise AssertionError(f"not within {seconds} s: {expression}; {self.complaints}; {self.value('document.body.innerText')}")

    def wait_for_run(self):
        """All of the history is drawn."""
        self.wait_for('document.body && document.body.dataset.ready === "true"')

    def write_picture(self, path, whole=True):
        if whole:
            width, height = self.value("[innerWidth, document.documentElement.scrollHeight]")
            self.ask("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
            self.value("new Promise((done) => requestAnimationFrame(() => setTimeout(done, 300)))")
        pathlib.Path(path).write_bytes(base64.b64decode(self.ask("Page.captureScreenshot", format="png")["data"]))
