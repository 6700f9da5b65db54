"""What the web pages tell of a word: an aspect over stars, months and sources, with its opinions and examples; the
same for an opinion.

In: a connection to the pages' copy, a role and a folded word. Out: counts of released triplets, or of those of the
kinds that are asked for.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from builder.store.browse import RELEASED

Role = Literal["aspect", "opinion"]
OTHER: dict[Role, Role] = {"aspect": "opinion", "opinion": "aspect"}
Script = Literal["traditional", "simplified"]
Counts = dict[str, object]
PARTNERS = 60
MONTHS = 36
EXAMPLES = 2
_LONGEST, _BEFORE = 120, 30
"""Characters that are quoted of a text, and of those before its triplet."""


@dataclass(frozen=True, slots=True)
class WordExample:
    """A triplet that shows how a word is used: its review, its id, and the part of the review's text around it."""

    review: int
    triplet: int
    text: str


@dataclass(frozen=True, slots=True)
class Partner:
    """What stands beside a word: an opinion of an aspect, or an aspect of an opinion, with its counts by polarity."""

    word: str
    shown: str
    counts: Counts
    examples: tuple[WordExample, ...]


@dataclass(frozen=True, slots=True)
class Word:
    """A word as a script shows it, its spellings, its counts by polarity, and rows (value, POS, NEG, NEU) by stars,
    month and source.
    """

    role: Role
    word: str
    shown: str
    spellings: tuple[tuple[str, int], ...]
    counts: Counts
    by: dict[str, list[Counts]]
    partners: tuple[Partner, ...]
    reviews: int
    more: int


_POLARITIES = "sum(f.polarity = 'POS') AS POS, sum(f.polarity = 'NEG') AS NEG, sum(f.polarity = 'NEU') AS NEU"


def top(connection: sqlite3.Connection, role: Role, script: Script, limit: int) -> list[Counts]:
    """The released words of a role, most frequent first: as `script` writes them, with the folded word."""
    rows = connection.execute(
        f"SELECT word, {script}, POS, NEG, NEU FROM word_counts WHERE role = ? AND released"
        " ORDER BY released DESC, candidates DESC, word LIMIT ?",
        (role, limit),
    )
    return [dict(zip(("word", "shown", "POS", "NEG", "NEU"), row, strict=True)) for row in rows]


def like(connection: sqlite3.Connection, role: Role, part: str, script: Script, limit: int) -> list[Counts]:
    """Words of a role that hold a folded `part`, or all, most frequent first."""
    rows = connection.execute(
        f"SELECT word, {script}, POS, NEG, NEU FROM word_counts WHERE role = ? AND instr(word, ?)"
        " ORDER BY released DESC, candidates DESC, word LIMIT ?",
        (role, part, limit),
    )
    return [dict(zip(("word", "shown", "POS", "NEG", "NEU"), row, strict=True)) for row in rows]


def read(connection: sqlite3.Connection, role: Role, word: str, script: Script, kinds: int = RELEASED) -> Word | None:
    """All of it; None where no triplet has the word."""
    known = connection.execute(f"SELECT {script} FROM word_counts WHERE role = ? AND word = ?", (role, word)).fetchone()
    if known is None:
        return None
    given = {"word": word, "kinds": kinds}
    of_word = f"f.{role} = :word AND f.kinds & :kinds"
    whole = connection.execute(
        f"SELECT {_POLARITIES}, count(DISTINCT f.review) FROM triplet_facets f WHERE {of_word}", given
    ).fetchone()
    spellings = connection.execute(
        f"SELECT t.{role}, count(*) FROM triplet_facets f CROSS JOIN triplets t ON t.id = f.triplet"
        f" WHERE {of_word} GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 8",
        given,
    ).fetchall()
    by = {
        name: _counts(
            connection.execute(
                f"SELECT {column}, {_POLARITIES} FROM triplet_facets f CROSS JOIN review_list r ON r.id = f.review"
                f" WHERE {of_word} AND {column} IS NOT NULL GROUP BY 1 ORDER BY {order}",
                given,
            )
        )
        for name, column, order in (
            ("rating", "r.rating", "1 DESC"),
            ("month", "r.month", f"1 DESC LIMIT {MONTHS}"),
            ("source", "r.source", "count(*) DESC, 1 LIMIT 12"),
        )
    }
    partners, more = _partners(connection, role, script, of_word, given)
    return Word(
        role,
        word,
        str(known[0]),
        tuple((str(spelling), int(number)) for spelling, number in spellings),
        {name: int(number or 0) for name, number in zip(("POS", "NEG", "NEU"), whole, strict=False)},
        by,
        partners,
        int(whole[3]),
        more,
    )


def _counts(rows: sqlite3.Cursor) -> list[Counts]:
    return [
        {"value": f"{value:g}" if isinstance(value, float) else value, "POS": pos, "NEG": neg, "NEU": neu}
        for value, pos, neg, neu in rows
    ]


def _cut(text: str, spans: Mapping[str, Sequence[tuple[int, int]]]) -> str:
    """A text, or of a long one what stands around the triplet with these spans."""
    if len(text) <= _LONGEST:
        return text
    first = min(span[0] for role in OTHER for span in spans[role])
    start = max(0, min(first - _BEFORE, len(text) - _LONGEST))
    end = start + _LONGEST
    return f"{'…' if start else ''}{text[start:end]}{'…' if end < len(text) else ''}"


def _partners(
    connection: sqlite3.Connection, role: Role, script: Script, of_word: str, given: dict[str, object]
) -> tuple[tuple[Partner, ...], int]:
    """The words beside a word with examples, most frequent first; and how many more there are."""
    other = OTHER[role]
    rows = connection.execute(
        f"SELECT f.{other}, {_POLARITIES}, min(f.triplet), max(f.triplet) FROM triplet_facets f WHERE {of_word}"
        f" GROUP BY 1 ORDER BY count(*) DESC, 1",
        given,
    ).fetchall()
    shown = rows[:PARTNERS]
    ids = [i for row in shown for i in dict.fromkeys(row[4:6])]
    texts = {
        triplet: WordExample(review, triplet, _cut(text, json.loads(spans)))
        for triplet, review, text, spans in connection.execute(
            "SELECT t.id, r.id, r.text, t.spans FROM triplets t JOIN reviews r ON r.id = t.review"
            f" WHERE t.id IN ({','.join('?' * len(ids))})",
            ids,
        )
    }
    names = dict(
        connection.execute(
            f"SELECT word, {script} FROM word_counts WHERE role = ? AND word IN ({','.join('?' * len(shown))})",
            [other, *(row[0] for row in shown)],
        ).fetchall()
    )
    partners = tuple(
        Partner(
            word,
            names[word],
            {"POS": pos, "NEG": neg, "NEU": neu},
            tuple(texts[i] for i in dict.fromkeys((first, last)))[:EXAMPLES],
        )
        for word, pos, neg, neu, first, last in shown
    )
    return partners, len(rows) - len(shown)
