"""The annotated reviews of a working directory as documents for `builder lexicon induce`, and the sentences that speak
for a word.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator

from builder.engine import Doc
from builder.engine.reader import Reading, restored
from builder.language.lexicon.induce import Induced
from builder.language.lexicon.resources import Lexicon
from builder.store import readings

_CHUNK = 1024
_ENDS = re.compile(r"[。！？!?；;\n]")
_AROUND = 24
"""Characters that are quoted before and behind a word, at most."""


def documents(connection: sqlite3.Connection, lexicon: Lexicon) -> Iterator[Doc]:
    """Every annotated review, in order of id."""
    return (reading.doc for reading in _read_annotated(connection, lexicon))


def _read_annotated(connection: sqlite3.Connection, lexicon: Lexicon) -> Iterator[Reading]:
    at = 0
    while rows := readings.annotated(connection, at, _CHUNK):
        for review, words in rows:
            yield restored(review, readings.load_words(words), lexicon.variants)
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


def quote_evidence(connection: sqlite3.Connection, lexicon: Lexicon, induced: Induced) -> dict[tuple[int, int], str]:
    """(index of the review, offset) of each candidate's evidence -> its sentence as the review writes it, in its
    own script; the word stands in 【】.
    """
    wanted: dict[int, list[tuple[int, int]]] = {}
    for candidate in (*induced.opinions, *induced.aspects):
        for review, offset in candidate.evidence:
            wanted.setdefault(review, []).append((offset, len(candidate.word)))
    quoted: dict[tuple[int, int], str] = {}
    for index, reading in enumerate(_read_annotated(connection, lexicon)):
        for offset, length in wanted.get(index, ()):
            quoted[index, offset] = quote(reading.text, *reading.view.to_source((offset, offset + length)))
    return quoted


def quote(text: str, start: int, end: int) -> str:
    """The sentence around some words, which stand in 【】; a long one is cut."""
    begin = max((match.end() for match in _ENDS.finditer(text, 0, start)), default=0)
    until = match.start() if (match := _ENDS.search(text, end)) else len(text)
    first, last = max(begin, start - _AROUND), min(until, end + _AROUND)
    before = ("…" if first > begin else "") + text[first:start]
    behind = text[end:last] + ("…" if last < until else "")
    return f"{before.lstrip()}【{text[start:end]}】{behind.rstrip()}"
