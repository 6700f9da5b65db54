"""A real Chromium for tests, driven over its debugging pipe: no driver, no web socket, no download; and commands that
serve pages, run by a thread of this process.
"""

from __future__ import annotations

import json
import os
import select
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

import click

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
SECONDS = 60.0
READY = "document.body.dataset.ready === '1' || !document.querySelector('script[src=\"/text.js\"], [src=\"/sign.js\"]')"
"""Pages that people work in say when they are ready."""
_KEYS = {"Enter": 13, "Escape": 27, "ArrowLeft": 37, "ArrowRight": 39, "Home": 36, "End": 35, "Tab": 9}
_LEAVING = "Inspected target navigated or closed", "Execution context was destroyed", "Cannot find context"
"""What Chromium answers when a page is replaced while an expression is evaluated."""
BEGIN = """
import os, sys
ours = [os.dup(int(place)) for place in sys.argv[1:3]]
for place, pipe in zip((3, 4), ours):  # Chromium reads commands from 3 and answers on 4
    os.dup2(pipe, place)
    os.set_inheritable(place, True)
os.execv(sys.argv[3], sys.argv[3:])
"""


class Browser:
    """One headless page. `run` gives the value of an expression; `faults` are exceptions, errors and refused loads."""

    def __init__(self) -> None:
        assert CHROMIUM is not None
        to_child, self._write = os.pipe()
        self._read, from_child = os.pipe()
        self._profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        words = [
            CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
            "--hide-scrollbars", "--remote-debugging-pipe", f"--user-data-dir={self._profile.name}",
            "--disable-background-networking", "about:blank",
        ]  # fmt: skip
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
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **params: Any) -> dict[str, Any]:
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

    def run(self, script: str) -> Any:
        """The value of an expression in the page; promises are waited for."""
        answer = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def wait(self, condition: str) -> None:
        """Until an expression of the page is true. A page that leaves for another while it is asked is asked again."""
        until = time.monotonic() + SECONDS
        while not self._holds(condition):
            assert time.monotonic() < until, condition
            time.sleep(0.01)

    def _holds(self, condition: str) -> bool:
        try:
            return bool(self.run(condition))
        except AssertionError as error:
            if not any(words in str(error) for words in _LEAVING):
                raise
            return False

    @contextmanager
    def loading(self) -> Iterator[None]:
        """A block that leads to another page; it ends when that has loaded, is ready and has settled."""
        due, until = self._loaded + 1, time.monotonic() + SECONDS
        yield
        while self._loaded < due:
            self._next(until)
        self.wait(READY)
        self.run("new Promise(done => requestAnimationFrame(() => setTimeout(done, 60)))")

    def open(self, url: str) -> None:
        with self.loading():
            self.call("Page.navigate", url=url)

    def click(self, selector: str) -> None:
        """Click a link or button that leads to another page, and wait for that."""
        with self.loading():
            self.run(f"document.querySelector({json.dumps(selector)}).click()")

    def press(self, *keys: str, shift: bool = False) -> None:
        """Press keys one by one, each when the page has answered the one before, if it counts them."""
        for key in keys:
            before = self.run("document.body.dataset.ready ? Number(document.body.dataset.pressed || 0) : -1")
            code, held = _KEYS.get(key, 0), 8 * shift
            for kind in ("keyDown", "keyUp"):
                self.call("Input.dispatchKeyEvent", type=kind, key=key, modifiers=held, windowsVirtualKeyCode=code)
            if before >= 0:
                self.wait(f"Number(document.body.dataset.pressed || 0) > {before}")

    def text(self, selector: str = "body") -> str:
        return str(self.run(f"document.querySelector({json.dumps(selector)}).innerText"))

    def hover(self, selector: str) -> None:
        """Move the pointer over the middle of the first line of an element."""
        script = (
            f"(() => {{ const e = document.querySelector({json.dumps(selector)}); "
            "e.scrollIntoView({block: 'center'}); const r = e.getClientRects()[0];"
            " return [r.left + r.width / 2, r.top + r.height / 2] })()"
        )
        x, y = self.run(script)
        self.run("new Promise(done => setTimeout(done, 150))")
        self.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)
        self.run("new Promise(done => setTimeout(done, 60))")

    def size(self, width: int, height: int, dark: bool = False) -> None:
        self.call(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", media="", features=[scheme])

    def clear(self) -> None:
        """An empty page of the usual size, about which nothing is known."""
        self.open("about:blank")
        self.size(1000, 800)
        self.faults.clear()
        self.requests.clear()

    def close(self) -> None:
        self._process.kill()  # our own child, by its own handle
        self._process.wait()
        os.close(self._write)
        os.close(self._read)
        self._profile.cleanup()


@contextmanager
def serving(command: click.Command, *arguments: object) -> Iterator[list[str]]:
    """What a command that serves pages has printed when it begins to answer. The server ends with the block."""
    import uvicorn

    said: list[str] = []
    servers: list[uvicorn.Server] = []

    class Noted(uvicorn.Server):
        def run(self, sockets: Any = None) -> None:
            servers.append(self)
            super().run(sockets)

    def work() -> None:
        command.main(list(map(str, arguments)), standalone_mode=False)

    def echo(text: str, err: bool = False) -> None:
        said.extend([text] * (not err))

    thread = threading.Thread(target=work)
    with patch.object(uvicorn, "Server", Noted), patch.object(click, "echo", echo):
        thread.start()
        while not servers:
            assert thread.is_alive(), said
            time.sleep(0.01)
    try:
        yield said
    finally:
        servers[0].should_exit = True
        thread.join()
