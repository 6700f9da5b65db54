"""A real Chromium for tests, driven over its debugging pipe: no driver, no web socket, no download."""

from __future__ import annotations

import base64
import json
import os
import select
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
SECONDS = 60.0
BEGIN = """
import os, sys
ours = [os.dup(int(place)) for place in sys.argv[1:3]]
for place, pipe in zip((3, 4), ours):  # Chromium reads commands from 3 and answers on 4
    os.dup2(pipe, place)
    os.set_inheritable(place, True)
os.execv(sys.argv[3], sys.argv[3:])
"""


class Browser:
    """One headless page. `evaluate` runs JavaScript and gives its value.

    `faults` are the console's errors and refused loads.
    """

    def __init__(self, folder: Path) -> None:
        assert CHROMIUM is not None
        to_child, self._write = os.pipe()
        self._read, from_child = os.pipe()
        words = [
            CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
            "--hide-scrollbars",
        ]  # fmt: skip
        words += [
            "--remote-debugging-pipe",
            f"--user-data-dir={folder}",
            "--disable-background-networking",
            "about:blank",
        ]
        begin = [sys.executable, "-c", BEGIN, str(to_child), str(from_child), *words]
        self._process = subprocess.Popen(
            begin,
            pass_fds=(to_child, from_child),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        os.close(to_child)
        os.close(from_child)
        self._buffer, self._number, self._session = b"", 0, ""
        self.faults: list[str] = []
        self.requests: list[str] = []
        self._loaded = 0
        target = self("Target.createTarget", url="about:blank")["targetId"]
        self._session = self("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self(f"{domain}.enable")

    def __call__(self, method: str, **params: Any) -> dict[str, Any]:
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": params}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        until = time.monotonic() + SECONDS
        while True:
            told = self._next(until)
            if told.get("id") == self._number:
                assert "error" not in told, told
                return dict(told["result"])

    def _next(self, until: float) -> dict[str, Any]:
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._read], [], [], max(0.0, until - time.monotonic()))
            assert ready, "the browser does not answer"
            part = os.read(self._read, 1 << 16)
            assert part, "the browser has ended"
            self._buffer += part
        line, _, self._buffer = self._buffer.partition(b"\0")
        told: dict[str, Any] = json.loads(line)
        self._note(told.get("method", ""), told.get("params", {}))
        return told

    def _note(self, method: str, params: dict[str, Any]) -> None:
        if method == "Page.loadEventFired":
            self._loaded += 1
        elif method == "Log.entryAdded" and params["entry"]["level"] == "error":
            self.faults.append(params["entry"]["text"])
        elif method == "Runtime.exceptionThrown":
            self.faults.append(str(params["exceptionDetails"]))
        elif method == "Network.requestWillBeSent":
            self.requests.append(params["request"]["url"])

    def wait(self, loads: int) -> None:
        """Until the page has loaded `loads` times since the browser started, and has settled."""
        until = time.monotonic() + SECONDS
        while self._loaded < loads:
            self._next(until)
        self.evaluate("new Promise(done => requestAnimationFrame(() => setTimeout(done, 60)))")

    def open(self, url: str) -> None:
        due = self._loaded + 1
        self("Page.navigate", url=url)
        self.wait(due)

    def click(self, selector: str) -> None:
        """Click a link or button that leads to another page, and wait for that."""
        due = self._loaded + 1
        assert self.evaluate(f"!!document.querySelector({json.dumps(selector)})"), selector
        self.evaluate(f"document.querySelector({json.dumps(selector)}).click()")
        self.wait(due)

    def evaluate(self, script: str) -> Any:
        answer = self("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def text(self, selector: str = "body") -> str:
        return str(self.evaluate(f"document.querySelector({json.dumps(selector)}).innerText"))

    def hover(self, selector: str) -> None:
        """Move the pointer over the middle of the first line of an element."""
        script = (
            f"(() => {{ const e = document.querySelector({json.dumps(selector)}); "
            "e.scrollIntoView({block: 'center'}); const r = e.getClientRects()[0];"
            " return [r.left + r.width / 2, r.top + r.height / 2] })()"
        )
        x, y = self.evaluate(script)
        self.evaluate("new Promise(done => setTimeout(done, 150))")
        self("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)
        self.evaluate("new Promise(done => setTimeout(done, 60))")

    def size(self, width: int, height: int, dark: bool = False) -> None:
        self("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600)
        self(
            "Emulation.setEmulatedMedia",
            features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}],
        )

    def picture(self, path: Path) -> None:
        path.write_bytes(base64.b64decode(self("Page.captureScreenshot", format="png")["data"]))

    def close(self) -> None:
        self._process.kill()  # our own child, by its own handle
        self._process.wait()
        os.close(self._write)
        os.close(self._read)
