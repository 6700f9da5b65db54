"""A lexicon in one file of the user's cache folder, with the words that it gives a segmenter: a sentence need not wait
for forty thousand rows of tables, nor for which of them are several words.

In: a digest of all that the lexicon is made of, its tables and the code that reads them. Out: the same lexicon as the
tables give, or None. The file is JSON: nothing in it runs. It is believed where it belongs to this user, nobody else
may write to it, and its first line is the checksum of the rest; else it is as if it were not there, and is written
anew. It may be deleted at any time. `BUILDER_CACHE` names another folder, and none where it is empty.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import fields
from pathlib import Path
from types import MappingProxyType
from typing import Any

from builder.core.errors import OutputError
from builder.core.files import write_atomically
from builder.language.lexicon.resources import AspectEntry, Lexicon, OpinionEntry
from builder.reviews.script import Variants

FOLDER = "BUILDER_CACHE"
"""The variable that names the cache folder."""
_KEPT = 6
"""So many lexicons are kept, those used last."""
_LARGEST = 1 << 26
_ENTRIES: dict[str, type[OpinionEntry] | type[AspectEntry]] = {"opinions": OpinionEntry, "aspects": AspectEntry}
"""Fields of a lexicon that hold entries by their word."""


def cache_folder() -> Path | None:
    """Where compiled lexicons are kept; None where `BUILDER_CACHE` is empty, or the user has no home."""
    if FOLDER in os.environ:
        return Path(os.environ[FOLDER]) if os.environ[FOLDER] else None
    caches = os.environ.get("XDG_CACHE_HOME")
    try:
        return (Path(caches) if caches else Path.home() / ".cache") / "review-triplets"
    except RuntimeError:
        return None


def read_compiled(key: str) -> Lexicon | None:
    """The lexicon that was kept under a digest; None where there is none that can be believed."""
    folder = cache_folder()
    if folder is None:
        return None
    path = _path(folder, key)
    try:
        with path.open("rb") as file:
            state = os.fstat(file.fileno())
            own = not hasattr(os, "getuid") or (state.st_uid == os.getuid() and not state.st_mode & stat.S_IWOTH)
            if not own or not stat.S_ISREG(state.st_mode) or state.st_size > _LARGEST:
                return None
            checksum, _, content = file.read().partition(b"\n")
        if hashlib.sha256(content).hexdigest().encode() != checksum:
            return None
        lexicon = _unpack(json.loads(content))
        os.utime(path)
        return lexicon
    except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return None


def keep_compiled(key: str, lexicon: Lexicon) -> None:
    """Keep a lexicon under a digest, and remove the ones that were used longest ago. Where nothing can be written,
    nothing is kept.
    """
    folder = cache_folder()
    if folder is None:
        return
    content = json.dumps(_pack(lexicon), ensure_ascii=False, separators=(",", ":")).encode()
    with suppress(OSError, OutputError):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_atomically(_path(folder, key), hashlib.sha256(content).hexdigest().encode() + b"\n" + content)
        kept = sorted(folder.glob("lexicon-*.json"), key=lambda path: path.stat().st_mtime, reverse=True)
        for path in kept[_KEPT:]:
            path.unlink(missing_ok=True)


def _path(folder: Path, key: str) -> Path:
    return folder / f"lexicon-{key}.json"


def _pack(lexicon: Lexicon) -> dict[str, Any]:
    """Every field of a lexicon as JSON has it, and its words."""
    packed = {field.name: getattr(lexicon, field.name) for field in fields(lexicon) if field.init}
    packed = {name: dict(value) if isinstance(value, Mapping) else value for name, value in packed.items()}
    for name, kind in _ENTRIES.items():
        columns = [field.name for field in fields(kind)]
        packed[name] = [[getattr(entry, column) for column in columns] for entry in packed[name].values()]
    return packed | {"variants": dict(lexicon.variants.table), "words": lexicon.words()}


def _unpack(packed: dict[str, Any]) -> Lexicon:
    words, variants = packed.pop("words"), Variants(packed.pop("variants"))
    entries: dict[str, Any] = {
        name: MappingProxyType({entry[0]: kind(*entry) for entry in packed.pop(name)})
        for name, kind in _ENTRIES.items()
    }
    lexicon = Lexicon(variants=variants, **entries, **{name: _freeze(value) for name, value in packed.items()})
    lexicon.know_words(words)
    return lexicon


def _freeze(value: Any) -> Any:
    """A mapping or list of JSON as a lexicon holds it."""
    if isinstance(value, dict):
        return MappingProxyType({key: _freeze(cell) if type(cell) is list else cell for key, cell in value.items()})
    return tuple(map(_freeze, value)) if isinstance(value, list) else value
