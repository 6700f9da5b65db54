"""Gold by two annotators who gave every triplet of a review: a folder with `A.jsonl` and `B.jsonl`, for `builder
score`.

In: rows {"id", "triplets": [{aspect, aspect_full, opinion, opinion_full, polarity}]}, the same reviews in both files. A
`texts.jsonl` beside them is for people. Out: per review what is required and what is optional
(`builder.gold.metrics.complete`).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from builder.core.errors import InputError
from builder.core.files import parse_json
from builder.gold.metrics.complete import Complete, Ranged, merge
from builder.release.export.answers_text import polarity

ANNOTATORS = ("A.jsonl", "B.jsonl")
_PARTS = ("aspect", "aspect_full", "opinion", "opinion_full")


def is_complete(path: Path) -> bool:
    """Whether a path is a folder with the files of two annotators."""
    return all((path / name).is_file() for name in ANNOTATORS)


def load_complete(path: Path) -> dict[str, Complete]:
    """The gold of the folder, in the first annotator's order. InputError with the line of what is no annotation."""
    first, second = (_read_annotator(path / name) for name in ANNOTATORS)
    alone = sorted(first.keys() ^ second.keys())
    if alone:
        raise InputError(
            f"{alone[0]!r} is annotated in one file only", where=str(path), fix="both annotators read the same reviews"
        )
    if not first:
        raise InputError("no rows", where=str(path / ANNOTATORS[0]))
    return {key: merge(triplets, second[key]) for key, triplets in first.items()}


def _read_annotator(path: Path) -> dict[str, list[Ranged]]:
    reviews: dict[str, list[Ranged]] = {}
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"cannot be read: {error}", where=str(path)) from error
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        where = f"{path}:{number}"
        try:
            row = parse_json(line)
            key, triplets = str(row["id"]), [_read_triplet(triplet) for triplet in row["triplets"]]
        except (KeyError, ValueError, TypeError) as error:
            fix = 'rows are {"id", "triplets": [{aspect, aspect_full, opinion, opinion_full, polarity}]}'
            raise InputError(f"no annotated review: {error!r}", where=where, fix=fix) from error
        if key in reviews:
            raise InputError(f"the id {key!r} stands twice", where=where)
        reviews[key] = triplets
    return reviews


def _read_triplet(triplet: dict[str, Any]) -> Ranged:
    parts = {name: triplet[name] for name in _PARTS}
    if not all(isinstance(part, str) and part for part in parts.values()):
        raise ValueError(f"{', '.join(_PARTS)} are texts, none of them empty")
    return Ranged(**parts, polarity=polarity(triplet["polarity"]))
