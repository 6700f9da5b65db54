"""A triplet as a row of the database, and back: its id, its columns, its spans and its reasons.

In: a review's id and a triplet in stored offsets. Out: the row that `builder.store.triplets` writes. The way back makes
the triplet of a row. No SQL is run here, so that workers can prepare rows.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable

from builder.core.reasons import ReadWord, Reasons
from builder.core.records import Element, Polarity, StoredTriplet, Triplet

TRIPLET_COLUMNS = (
    "t.id, t.review, t.aspect, t.aspect_full, t.owner, t.opinion, t.opinion_full, t.polarity, t.valence, t.spans"
)
BITS = 31
"""An id shifted right by this is the review's id."""
HASH = (1 << BITS) - 1
"""The bits of an id that say which triplet of its review it is."""
EVERY = 0, (1 << 63 - BITS) - 1
"""The first and the last row id that a review may have."""


def triplet_id(review: int, triplet: Triplet) -> int:
    """31 bits of hash within a review: two triplets of a review collide once in some hundred million reviews."""
    text = json.dumps([triplet.aspect.spans, triplet.opinion.spans, triplet.polarity])
    return (review << BITS) | (int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big") >> 1)


PreparedTriplet = tuple[tuple[object, ...], tuple[object, ...]]
"""A row of `triplets`, which begins with the id, and what a row of `proposals` says of it."""


def prepare(rows: Iterable[tuple[int, Triplet]]) -> list[PreparedTriplet]:
    """(review id, triplet in stored offsets) as rows of the database: workers do it."""
    return [
        (
            make_row(triplet_id(review, t), review, t),
            (t.confidence, t.rules[0] if t.rules else None, _story(t), *_decisions(t.reasons)),
        )
        for review, t in rows
    ]


def make_row(i: int, review: int, t: Triplet) -> tuple[object, ...]:
    """The row of `triplets` under a given id."""
    return (
        i,
        review,
        t.aspect.text,
        t.aspect_full.text,
        t.owner.text if t.owner else None,
        t.opinion.text,
        t.opinion_full.text,
        t.polarity,
        t.valence,
        spans_of(t),
    )


def restore(row: tuple[int, int, str, str, str | None, str, str, Polarity, float, str]) -> StoredTriplet:
    """The triplet of a row, whose columns are `TRIPLET_COLUMNS`."""
    i, review, aspect, aspect_full, owner, opinion, opinion_full, polarity, valence, spans = row
    at = {name: tuple((s, e) for s, e in places) for name, places in json.loads(spans).items()}
    triplet = Triplet(
        Element(aspect, at["aspect"]),
        Element(aspect_full, at["aspect_full"]),
        Element(opinion, at["opinion"]),
        Element(opinion_full, at["opinion_full"]),
        polarity,
        valence,
        owner=Element(owner, at["owner"]) if owner is not None else None,
    )
    return StoredTriplet(i, review, triplet)


def spans_of(triplet: Triplet) -> str:
    """The spans of a triplet's elements as the JSON that the table `triplets` holds."""
    named = {
        "aspect": triplet.aspect,
        "aspect_full": triplet.aspect_full,
        "opinion": triplet.opinion,
        "opinion_full": triplet.opinion_full,
    }
    if triplet.owner:
        named["owner"] = triplet.owner
    return json.dumps({name: element.spans for name, element in named.items()}, separators=(",", ":"))


def _story(triplet: Triplet) -> str:
    return json.dumps(
        [*(("rule", rule) for rule in triplet.rules), *triplet.evidence], ensure_ascii=False, separators=(",", ":")
    )


_UNREAD = ReadWord("", None)


def _decisions(reasons: Reasons | None) -> tuple[object, ...]:
    """Margin, and category and entry of aspect and opinion."""
    if reasons is None:
        return (None,) * 5
    words = [word or _UNREAD for word in (reasons.aspect, reasons.opinion)]
    margin = reasons.margin if math.isfinite(reasons.margin) else None
    return margin, *(value for word in words for value in (word.category, word.place))
