"""`builder export`: a release in another format, a file for each split, and beside it what the format could not hold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from builder.errors import ConfigError
from builder.export.formats import NAMES, Exported, export, skipped_lines
from builder.export.labels import Opinion
from builder.files import write_atomically
from builder.records import Span
from builder.release.reading import opened, rows, uncollected
from builder.text import view


@dataclass(frozen=True, slots=True)
class Written:
    """A split in its new file."""

    path: Path
    reviews: int
    labels: int
    skipped: int


def export_release(release: Path, name: str, to: Path, splits: Sequence[str] = (), opinion: Opinion = "opinion") -> list[Written]:
    """Write the chosen splits (all if none is named); ConfigError for a split or format that is not known.

    An augmentation layer is written where it is named: train-synonym.
    """
    if name not in NAMES:
        raise ConfigError(f"unknown format {name!r}", fix=f"known: {', '.join(NAMES)}")
    told = opened(release)
    known = [*told.splits, *told.layers]
    if strange := [split for split in splits if split not in known]:
        raise ConfigError(f"no split {strange[0]!r}", where=str(release), fix=f"there are {', '.join(known)}")
    with uncollected():
        return [_export(release, name, to, split, opinion) for split in splits or told.splits]


def _export(release: Path, name: str, to: Path, split: str, opinion: Opinion) -> Written:
    listed = list(rows(release, split))
    made = export(name, split, listed, opinion, segmented if name == "bio-words" else None)
    write_atomically(to / made.file, made.content.encode())
    aside = to / f"{made.file}.skipped.jsonl"
    if made.skipped:
        write_atomically(aside, skipped_lines(made.skipped, {row["id"]: row["text"] for row in listed}).encode())
    else:
        aside.unlink(missing_ok=True)
    return _counted(to / made.file, made)


def _counted(path: Path, made: Exported) -> Written:
    return Written(path, made.reviews, made.labels, len(made.skipped))


def segmented(texts: Sequence[str]) -> list[Sequence[Span]]:
    """The words of texts by the embedded segmenter; what stands between words, such as spaces, is cut into characters."""
    from builder import nlp

    views = [view(text) for text in texts]
    annotated = nlp.load("embedded", {}).annotate([one.text for one in views])
    return [
        _tiled([shown.to_source((token.start, token.end)) for token in tokens], len(text))
        for text, shown, tokens in zip(texts, views, annotated, strict=True)
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
