"""Files: written whole or not at all, and read without trusting who wrote them.

In: a path and its content, at once or piece by piece. Out: the file. Whatever goes wrong on the way leaves the old
file as it was, and no file that is half written. An error of the system is an `OutputError` that names the file.

Results are kept under a digest, made once, then read. JSON, TOML and tables from a spreadsheet program that somebody
else wrote become values, or a ValueError that says what keeps them from being read.
"""

from __future__ import annotations

import csv
import fcntl
import hashlib
import io
import json
import os
import shutil
import tomllib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from builder.core.errors import BuilderError, InputError, OutputError

PathLike = str | os.PathLike[str]
"""A path as callers of the Python API may give it."""


@contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """A handle for the new content of `path`, which takes its place when the block ends without an error.

    The folder is made if need be. Several processes may write the same path: the last one wins, and none sees a
    mixture.

    Raises:
        OutputError: the file system refuses.
    """
    draft = path.with_name(f".{path.name}.{os.getpid()}.building")
    try:
        with refusals(path, draft):
            path.parent.mkdir(parents=True, exist_ok=True)
            with draft.open("wb") as handle:
                yield handle
                handle.flush()
                os.fsync(handle.fileno())
            os.replace(draft, path)
            sync(path.parent)
    finally:
        with suppress(NotADirectoryError):
            draft.unlink(missing_ok=True)


def write_atomically(path: Path, content: bytes) -> None:
    """Write `content` to `path`, over what was there; OutputError where the file system refuses."""
    with replacing(path) as handle:
        handle.write(content)


def replace_folder(draft: Path, folder: Path) -> None:
    """Put a finished folder in the place of an older one, or of a link: where that leads, nothing is changed."""
    if folder.is_symlink() or folder.is_file():
        folder.unlink()
    shutil.rmtree(folder, ignore_errors=True)
    os.replace(draft, folder)


def sync(path: Path) -> None:
    """Wait until a file, or the names in a folder, are on the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


_LARGEST_SETTINGS = 1 << 28


def read_settings(path: Path) -> str:
    """The text of a small file that a stranger may have made; OSError for a device or a pipe, which have no end, and
    for a file that is far too large. ValueError names the line that is not UTF-8.
    """
    check_regular(path)
    if (size := path.stat().st_size) > _LARGEST_SETTINGS:
        raise OSError(f"{path.name} has {size:,} bytes, more than any file of settings")
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise ValueError(f"line {_line_of(error)} is not UTF-8; save it as UTF-8") from error


def _line_of(error: UnicodeDecodeError) -> int:
    return error.object.count(b"\n", 0, error.start) + 1


def read_text(path: Path, fix: str = "", kind: type[BuilderError] = InputError) -> str:
    """The text of a file in UTF-8, without its byte order mark.

    An error of the `kind` where it is not UTF-8, or, with the `fix`, where it cannot be read.
    """
    try:
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise kind("is not UTF-8", where=f"{path}:{_line_of(error)}", fix="save it as UTF-8") from error
    except OSError as error:
        raise kind(f"cannot be read: {error}", where=str(path), fix=fix) from error


def check_regular(path: Path) -> None:
    """OSError for what is there and is no file: nobody waits for a pipe, and no memory holds a device."""
    if path.exists() and not path.is_file():
        raise OSError(f"{path.name} is not a regular file")


@contextmanager
def refusals(path: Path, draft: Path | None = None) -> Iterator[None]:
    """What the file system refuses about `path` inside the block, as an OutputError; about other files it passes."""
    try:
        yield
    except OSError as error:
        place = path if error.filename in (None, str(draft)) else Path(error.filename)
        if place not in (path, *path.parents):
            raise
        fix = "check the path, the permissions and the free space"
        raise OutputError(f"cannot write: {error.strerror or error}", where=str(place), fix=fix) from error


def digest_file(path: Path) -> str:
    """The SHA-256 of a file, in hexadecimal."""
    with path.open("rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()


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
                # what it names may be overwritten while the new result is made
                self._path(key, slot).unlink(missing_ok=True)
            return self.put(key, make(), slot)

    def find(self, key: str, slot: str = "") -> Any | None:
        """The result of `key`; None where there is none, the slot holds that of another key, or the file is damaged."""
        content = self._read(key, slot)
        return content.get("result") if content.get("key") == key else None

    def key_in(self, slot: str) -> str:
        """The key whose result a slot holds; "" where it holds none."""
        return str(self._read("", slot).get("key", ""))

    def put(self, key: str, result: Any, slot: str = "") -> Any:
        """Keep a result that was made elsewhere, by a worker for one. Returns it as `find` will: lists for tuples."""
        text = json.dumps({"key": key, "result": result}, ensure_ascii=False, separators=(",", ":"))
        write_atomically(self._path(key, slot), text.encode("utf-8", "surrogatepass"))
        return json.loads(text)["result"]

    def _read(self, key: str, slot: str) -> dict[str, Any]:
        try:
            content = json.loads(self._path(key, slot).read_bytes().decode("utf-8", "surrogatepass"))
        except (OSError, ValueError):
            return {}
        return content if isinstance(content, dict) else {}

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


def parse_json(text: str) -> Any:
    """The value of a JSON text. ValueError where it is none, is nested too deeply, or has a number of endless digits.

    >>> parse_json('{"id": 1}')
    {'id': 1}
    """
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        raise
    except RecursionError as error:
        raise ValueError("nested too deeply") from error
    except ValueError as error:  # Python reads no integer of more digits, and its advice is for programmers
        raise ValueError("a number has over 4,300 digits") from error


_MOST_DOTS = 5_000
"""Dots of a line: the time for a key of so many parts grows with their square."""


def parse_toml(text: str) -> dict[str, Any]:
    """The tables of a TOML text. TOMLDecodeError where it is none, is nested too deeply, or has numbers or keys without
    an end.

    >>> parse_toml("seed = 1")
    {'seed': 1}
    """
    if any(line.count(".") > _MOST_DOTS for line in text.split("\n")):
        raise tomllib.TOMLDecodeError(f"a line has over {_MOST_DOTS:,} dots")
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        raise
    except RecursionError as error:
        raise tomllib.TOMLDecodeError("nested too deeply") from error
    except ValueError as error:  # Python reads no integer of more digits, and its advice is for programmers
        raise tomllib.TOMLDecodeError("a number has over 4,300 digits") from error


def written_value(value: object) -> str:
    """A value as TOML writes it."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    return f"[{', '.join(map(written_value, value))}]" if isinstance(value, (tuple, list)) else repr(value)


def read_cells(path: Path, refused: type[BuilderError]) -> list[tuple[int, list[str]]]:
    """The rows of a table, each with the line on which it begins. Between the cells stand commas, semicolons or tabs,
    whichever its first line has most of: the programs of some countries save semicolons. `refused` is raised, with the
    line, where it is not UTF-8, or a quote is not closed.
    """
    fix, rows, begins = "save it as CSV UTF-8", list[tuple[int, list[str]]](), 1
    try:
        text = path.read_bytes().decode("utf-8-sig")
        csv.field_size_limit(max(csv.field_size_limit(), 1 << 24))
        delimiter = max(",;\t", key=text.partition("\n")[0].count)
        reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
        for row in reader:
            rows.append((begins, row))
            begins = reader.line_num + 1
        return rows
    except UnicodeDecodeError as error:
        raise refused("is not UTF-8", where=f"{path}:{_line_of(error)}", fix=fix) from error
    except OSError as error:
        raise refused(f"cannot be read: {error}", where=str(path)) from error
    except csv.Error as error:
        raise refused(f"broken CSV ({error})", where=f"{path}:{begins}", fix=fix) from error
