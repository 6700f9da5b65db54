"""The annotated reviews of a working directory as documents for `builder lexicon induce`."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator

from builder.engine import Doc
from builder.lexicon.resources import Lexicon
from builder.reader import restored
from builder.store import readings

_CHUNK = 1024


def documents(connection: sqlite3.Connection, lexicon: Lexicon) -> Iterator[Doc]:
    """Every annotated review, in order of id."""
    at = 0
    while rows := readings.annotated(connection, at, _CHUNK):
        for review, words in rows:
            yield restored(review, readings.load_words(words), lexicon.variants).doc
        at = rows[-1][0].id


def ratings(connection: sqlite3.Connection) -> dict[int, float]:
    """Ratings by the index at which `documents` gives the review."""
    out: dict[int, float] = {}
    at = index = 0
    while rows := readings.annotated(connection, at, _CHUNK):
        for review, _ in rows:
            if review.rating is not None:
                out[index] = review.rating
            index += 1
        at = rows[-1][0].id
    return out
