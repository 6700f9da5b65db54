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
from pathlib import Path
from types import MappingProxyType
from typing import Any

from builder.core.errors import OutputError
from builder.core.files import write_atomically
from builder.language.lexicon.resources import AspectEntry, Lexicon, OpinionEntry
from builder.language.lexicon.tsv_rows import PLAIN
from builder.reviews.script import Variants

FOLDER = "BUILDER_CACHE"
"""The variable that names the cache folder."""
_KEPT = 6
"""So many lexicons are kept, those used last."""
_LARGEST = 1 << 26
_PLAIN = (*PLAIN, "categories", "classes")


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
    return {
        "opinions": [[e.word, e.category, e.valence, e.where] for e in lexicon.opinions.values()],
        "aspects": [[e.word, e.cls, e.where] for e in lexicon.aspects.values()],
        "context": dict(lexicon.context),
        "plain": {name: dict(getattr(lexicon, name)) for name in _PLAIN},
        "variants": dict(lexicon.variants.table),
        "digest": lexicon.digest,
        "overridden": lexicon.overridden,
        "words": lexicon.words(),
    }  # fmt: skip


def _unpack(kept: Mapping[str, Any]) -> Lexicon:
    context = {word: tuple((aspect, valence) for aspect, valence in rows) for word, rows in kept["context"].items()}
    lexicon = Lexicon(
        opinions=MappingProxyType({entry[0]: OpinionEntry(*entry) for entry in kept["opinions"]}),
        aspects=MappingProxyType({entry[0]: AspectEntry(*entry) for entry in kept["aspects"]}),
        context=MappingProxyType(context),
        variants=Variants(kept["variants"]),
        digest=kept["digest"],
        overridden=tuple(kept["overridden"]),
        **{name: MappingProxyType(kept["plain"][name]) for name in _PLAIN},
    )
    lexicon.know_words(kept["words"])
    return lexicon
