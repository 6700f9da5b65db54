"""Results that are kept under a digest: made once, then read.

In: a key, the digest of all that a result depends on, and a function that makes the result, a value of JSON. Out: the
result. Nothing stale is ever read, since another key is another file (or, in a named slot, another content). A file
is whole or not there; a damaged one is made again.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from builder.core.files import refusals, write_atomically


def key_of(*parts: object) -> str:
    """The digest of values with a stable repr: 16 hexadecimal digits."""
    return hashlib.sha256(repr(parts).encode("utf-8", "surrogatepass")).hexdigest()[:16]


@dataclass(frozen=True, slots=True)
class Kept:
    """Results in a folder, a file `KEY.json` each.

    With a `slot` the file is `SLOT.json` and holds one result at a time: that of another key takes its place.

    >>> import tempfile
    >>> results = Kept(Path(tempfile.mkdtemp()))
    >>> results.get("4f", lambda: [6 * 7]), results.get("4f", lambda: ["never called"])
    ([42], [42])
    """

    folder: Path

    def get(self, key: str, make: Callable[[], Any], slot: str = "") -> Any:
        """The result of `key`: read, or made by `make` and written. Who asks while another process makes it waits,
        and then reads it.

        Raises:
            OutputError: the file cannot be written.
        """
        if (before := self.find(key, slot)) is not None:
            return before
        with _alone(self.folder / f".{slot or key}.lock"):
            if (before := self.find(key, slot)) is not None:
                return before
            if slot:
                self._path(key, slot).unlink(
                    missing_ok=True
                )  # what it names may be overwritten while the new result is made
            return self.put(key, make(), slot)

    def find(self, key: str, slot: str = "") -> Any | None:
        """The result of `key`; None where there is none, the slot holds that of another key, or the file is damaged."""
        try:
            content = json.loads(self._path(key, slot).read_bytes().decode("utf-8", "surrogatepass"))
        except (OSError, ValueError):
            return None
        return content.get("result") if isinstance(content, dict) and content.get("key") == key else None

    def key_in(self, slot: str) -> str:
        """The key whose result a slot holds; "" where it holds none."""
        try:
            content = json.loads(self._path("", slot).read_bytes().decode("utf-8", "surrogatepass"))
        except (OSError, ValueError):
            return ""
        return str(content.get("key", "")) if isinstance(content, dict) else ""

    def put(self, key: str, result: Any, slot: str = "") -> Any:
        """Keep a result that was made elsewhere, by a worker for one. Returns it as `find` will: lists for tuples."""
        text = json.dumps({"key": key, "result": result}, ensure_ascii=False, separators=(",", ":"))
        write_atomically(self._path(key, slot), text.encode("utf-8", "surrogatepass"))
        return json.loads(text)["result"]

    def _path(self, key: str, slot: str) -> Path:
        return self.folder / f"{slot or key}.json"


@contextmanager
def _alone(lock: Path) -> Iterator[None]:
    """One process at a time; the lock's file goes with its holder, so who waited for a removed one begins anew."""
    with refusals(lock.parent):
        lock.parent.mkdir(parents=True, exist_ok=True)
        handle = _locked(lock)
    try:
        yield
    finally:
        lock.unlink(missing_ok=True)
        os.close(handle)


def _locked(lock: Path) -> int:
    while True:
        handle = os.open(lock, os.O_RDWR | os.O_CREAT)
        with suppress(OSError):  # some network file systems lock nothing
            fcntl.flock(handle, fcntl.LOCK_EX)
        try:
            if os.stat(lock).st_ino == os.fstat(handle).st_ino:
                return handle
        except FileNotFoundError:
            pass
        os.close(handle)
