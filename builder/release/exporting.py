"""`builder export`: a release in another format, a file for each split, and beside it the reviews that the format
cannot hold.

In: the directory of a release; for words, the working directory of its build, if there is one. Out: files.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from builder.core.errors import ConfigError, did_you_mean
from builder.core.files import write_atomically
from builder.core.machine import uncollected
from builder.core.records import Span
from builder.core.shards import Job
from builder.core.shards import opened as opened_crew
from builder.language.lexicon.folders import folders_in
from builder.language.lexicon.resources import Lexicon
from builder.release.export.formats import FORMATS, NAMES, export, skipped_lines
from builder.release.export.records import Opinion
from builder.release.faulty import naming_faults
from builder.release.reading import opened, rows
from builder.reviews.text import view
from builder.store import db
from builder.store import reviews as readings

if TYPE_CHECKING:
    from builder.language.nlp.embedded import Segmenter

_PART = 1000
"""Texts that a worker cuts at a time."""
_WORKERS = min(4, os.cpu_count() or 1)


@dataclass(frozen=True, slots=True)
class Written:
    """A split in its new file."""

    split: str
    path: Path
    reviews: int
    labels: int
    in_full: int
    skipped: int
    """Reviews that the format cannot hold, with `lost` labels."""
    lost: int
    empty: int
    """Reviews without a triplet that are left out because that was asked for."""


def export_release(
    release: Path,
    name: str,
    to: Path,
    splits: Sequence[str] = (),
    opinion: Opinion = "opinion",
    workdir: Path | None = None,
    without_empty: bool = False,
) -> list[Written]:
    """Write the chosen splits (all if none is named); ConfigError for a split or format that is not known.

    An augmentation layer is written where it is named: train-synonym. `workdir` gives bio-words the words as the
    build's backend read them; other texts, and all without it, are segmented anew. `without_empty` leaves out reviews
    without a triplet, which readers of ASTE data refuse.
    """
    if name not in NAMES:
        raise ConfigError(f"unknown format {name!r}", fix=f"{did_you_mean(name, NAMES)}known: {', '.join(NAMES)}")
    source = opened(release)
    known = [*source.splits, *source.layers]
    if strange := [split for split in splits if split not in known]:
        raise ConfigError(f"no split {strange[0]!r}", where=str(release), fix=f"there are {', '.join(known)}")
    with uncollected():
        return [_export(release, name, to, split, opinion, workdir, without_empty) for split in splits or source.splits]


def _export(
    release: Path, name: str, to: Path, split: str, opinion: Opinion, workdir: Path | None, without_empty: bool
) -> Written:
    reviews = list(rows(release, split))
    segment = partial(segment_texts, workdir=workdir) if name == "bio-words" else None
    with naming_faults(release):
        made = export(name, split, reviews, opinion, segment, without_empty)
    write_atomically(to / made.file, made.payload)
    for beside, content in FORMATS[name].beside.items() if name in FORMATS else ():
        write_atomically(to / beside, content.encode())
    aside = to / f"{made.file}.skipped.jsonl"
    if made.skipped:
        write_atomically(aside, skipped_lines(made.skipped, {row["id"]: row["text"] for row in reviews}).encode())
    else:
        aside.unlink(missing_ok=True)
    lost = sum(review.labels for review in made.skipped)
    return Written(split, to / made.file, made.reviews, made.labels, made.in_full, len(made.skipped), lost, made.empty)


def segment_texts(texts: Sequence[str], workdir: Path | None = None) -> list[Sequence[Span]]:
    """The words that tile each text: those that the build in `workdir` keeps, else those of the embedded segmenter with
    the lexicon's words, so that few aspects end inside one. What stands between words, such as spaces, is cut into
    characters. Nothing is parsed.
    """
    words = _read_words(workdir, frozenset(texts)) if workdir else {}
    missing = [text for text in dict.fromkeys(texts) if text not in words]
    words.update(zip(missing, _segment_anew(missing, workdir), strict=True))
    return [words[text] for text in texts]


def _read_words(workdir: Path, texts: frozenset[str]) -> dict[str, Sequence[Span]]:
    with db.reading(workdir) as connection:
        return {
            text: _tiled([(start, end) for start, end, *_ in readings.load_words(words)], len(text))
            for text, words in readings.texts_with_words(connection)
            if text in texts
        }


def _segment_anew(texts: Sequence[str], workdir: Path | None) -> list[Sequence[Span]]:
    parts = [texts[first : first + _PART] for first in range(0, len(texts), _PART)]
    with opened_crew("local", _WORKERS if len(parts) > 1 else 1) as crew:
        return [words for part in crew.map(Job(_prepare, (workdir,), _segment), parts) for words in part]


def _prepare(workdir: Path | None) -> tuple[Lexicon, Segmenter]:
    from builder.language.nlp.embedded import load_segmenter

    lexicon = folders_in(workdir).load_lexicon()
    return lexicon, load_segmenter(lexicon.words())


def _segment(ready: tuple[Lexicon, Segmenter], texts: Sequence[str]) -> list[Sequence[Span]]:
    lexicon, segmenter = ready
    views = [view(text, lexicon.variants) for text in texts]
    return [
        _tiled([shown.to_source(word) for word in words], len(text))
        for text, shown, words in zip(texts, views, segmenter.cut([shown.text for shown in views]), strict=True)
    ]


def _tiled(words: Sequence[Span], length: int) -> list[Span]:
    tiles: list[Span] = []
    at = 0
    for start, end in [*words, (length, length)]:
        tiles += [(i, i + 1) for i in range(at, start)]
        if start < end and start >= at:
            tiles.append((start, end))
        at = max(at, end)
    return tiles
