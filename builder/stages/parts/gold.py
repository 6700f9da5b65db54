"""Gold: a file of hand-labelled reviews as triplets of the stored texts. A wrong line, id or span is an error, never
a guess.

`ingest` reads it to make its reviews the test split, and checks all of it; `evaluate` stores it as the human source
`gold`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from builder.errors import InputError
from builder.records import Element, Polarity, Review, Triplet, polarity_of
from builder.text import in_order

_VALENCE: dict[Polarity, float] = {"POS": 8.0, "NEG": 3.0, "NEU": 5.0}


def rows(path: str) -> list[dict[str, object]]:
    """The rows of a gold file (JSON lines with `id` and `triplets`); InputError with the line of a broken one."""
    if not path:
        return []
    gold_rows: list[dict[str, object]] = []
    try:
        lines = Path(path).read_text(encoding="utf-8").split("\n")  # not splitlines: U+2028 may stand in a text
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"gold cannot be read: {error}", where=path) from error
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
            gold_rows.append({"id": row["id"], "triplets": list(row["triplets"])})
        except (ValueError, KeyError, TypeError) as error:
            raise InputError(
                f"no gold row: {error!r}", where=f"{path}:{number}", fix='each line is {"id": …, "triplets": […]}'
            ) from error
    return gold_rows


def labelled(rows: Iterable[dict[str, object]], reviews: Iterable[Review], path: str) -> list[tuple[int, Triplet]]:
    """(review id, triplet in offsets of its text) of every gold triplet."""
    known = {review.key: review for review in reviews}
    out: list[tuple[int, Triplet]] = []
    for row in rows:
        review, labels = known[str(row["id"])], row["triplets"]
        assert isinstance(labels, list)
        out += [(review.id, _triplet(label, review.text, f"{path}, review {review.key}")) for label in labels]
    return out


def _triplet(row: object, text: str, where: str) -> Triplet:
    try:
        assert isinstance(row, dict)
        polarity: Polarity = row["polarity"]
        valence = float(row.get("valence", _VALENCE[polarity]))
        aspect, aspect_full, opinion, opinion_full = (
            _element(row, name, text) for name in ("aspect", "aspect_full", "opinion", "opinion_full")
        )
    except (KeyError, ValueError, TypeError, AssertionError) as error:
        raise InputError(f"gold triplet {row!r}: {error!r}", where=where) from error
    if polarity_of(valence) != polarity or not 1 <= valence <= 10:
        raise InputError(f"gold triplet {row!r}: valence {valence} is not {polarity}", where=where)
    return Triplet(aspect, aspect_full, opinion, opinion_full, polarity, valence, source="gold")


def _element(row: dict[str, Any], name: str, text: str) -> Element:
    """An element with its spans; gold without `_full` forms gives the plain ones for both."""
    given = name if name in row else name.removesuffix("_full")
    surface, spans = row[given], tuple((start, end) for start, end in row[f"{given}_spans"])
    if (
        not spans
        or spans[0][0] < 0
        or not in_order(spans)
        or "".join(text[start:end] for start, end in spans) != surface
    ):
        raise ValueError(f"{surface!r} does not stand at {spans}")
    return Element(surface, spans)
