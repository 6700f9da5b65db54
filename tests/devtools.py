"""A headless Chromium, driven over the DevTools protocol."""

from __future__ import annotations

import base64
import json
import shutil
import subprocess
import tempfile
import time
import urllib.request
from pathlib import Path
from typing import Any

import pytest

READY = "document.body && document.body.dataset.ready === '1'"
_KEYS = {"Enter": 13, "Escape": 27, "ArrowLeft": 37, "ArrowRight": 39, "Home": 36, "End": 35, "Tab": 9}


def needed() -> str:
    """The path of a Chromium; the test is skipped where there is none, or no WebSocket library."""
    path = next(
        (found for name in ("chromium", "chromium-browser", "google-chrome") if (found := shutil.which(name))), None
    )
    if path is None:
        pytest.skip("no Chromium on this machine")
    pytest.importorskip("websocket", reason="websocket-client (extra dev) is not installed")
    return path


class Browser:
    """One page. `events` holds what the protocol told besides answers: exceptions, log entries."""

    def __init__(self, width: int = 1000, height: int = 800, *, dark: bool = False) -> None:
        import websocket

        path = needed()
        self._profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        options = [
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--remote-debugging-port=0",
        ]
        command = [
            path,
            *options,
            f"--user-data-dir={self._profile.name}",
            f"--window-size={width},{height}",
            "about:blank",
        ]
        self._process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        port = self._port()
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/json", timeout=30) as answer:
            tab = next(one for one in json.load(answer) if one["type"] == "page")
        self._socket = websocket.create_connection(tab["webSocketDebuggerUrl"], suppress_origin=True, timeout=60)
        self._number = 0
        self.events: list[dict[str, Any]] = []
        for domain in ("Runtime", "Page", "Log", "Network"):
            self.call(f"{domain}.enable")
        self.call(
            "Emulation.setEmulatedMedia",
            features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}],
        )
        self.call(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600
        )

    def _port(self) -> int:
        file, end = Path(self._profile.name) / "DevToolsActivePort", time.monotonic() + 300
        while time.monotonic() < end:
            if file.is_file() and len(lines := file.read_text().split("\n")) > 1:
                return int(lines[0])
            assert self._process.poll() is None, "Chromium ended"
            time.sleep(0.02)
        raise AssertionError("Chromium did not start within a minute")

    def call(self, method: str, **params: object) -> dict[str, Any]:
        self._number += 1
        self._socket.send(json.dumps({"id": self._number, "method": method, "params": params}))
        while True:
            told = json.loads(self._socket.recv())
            if told.get("id") == self._number:
                assert "error" not in told, told
                result: dict[str, Any] = told["result"]
                return result
            self.events.append(told)

    def run(self, script: str) -> Any:
        """The value of an expression in the page; promises are waited for."""
        told = self.call("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in told, told
        return told["result"].get("value")

    def wait(self, condition: str, seconds: float = 30) -> None:
        end = time.monotonic() + seconds
        while not self.run(condition):
            assert time.monotonic() < end, (condition, self.run("document.body.innerText"))
            time.sleep(0.01)

    def open(self, address: str) -> None:
        self.call("Page.navigate", url=address)
        self.wait(READY)

    def press(self, *keys: str, shift: bool = False) -> None:
        """Press keys one by one, each when the page has answered the one before."""
        for key in keys:
            before = int(self.run("document.body.dataset.pressed || 0"))
            for kind in ("keyDown", "keyUp"):
                self.call(
                    "Input.dispatchKeyEvent",
                    type=kind,
                    key=key,
                    modifiers=8 if shift else 0,
                    windowsVirtualKeyCode=_KEYS.get(key, 0),
                )
            self.wait(f"Number(document.body.dataset.pressed || 0) > {before}")

    def text(self, selector: str) -> str:
        return str(self.run(f"document.querySelector({json.dumps(selector)}).innerText"))

    def picture(self, path: Path) -> None:
        path.write_bytes(base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"]))

    @property
    def troubles(self) -> list[dict[str, Any]]:
        """Exceptions, and what the browser complains about (a violated policy, a failed request)."""
        self.run("1")
        return [one for one in self.events if one["method"] in ("Runtime.exceptionThrown", "Log.entryAdded")]

    def close(self) -> None:
        self._socket.close()
        self._process.terminate()
        self._process.wait(30)
        self._profile.cleanup()
