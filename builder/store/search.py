"""Full-text search in reviews: whatever LIKE finds, in a fraction of its time, in either script.

The index holds each text folded (`text.fold`) as a row of pairs of neighbouring characters: 湯頭鮮 is 湯頭, 頭鮮,
鮮-and-the-end. A wanted string is the phrase of its own pairs, a single character the beginning of a pair; so a hit is
a hit wherever segmenters put word edges.

A second index, `reviews_fts`, serves tools that have SQLite's own tokenizers alone, such as sqlite-utils and Datasette.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from builder.core.errors import QueryError
from builder.reviews.repair import fold
from builder.reviews.script import HAN, HAN_RANGES
from builder.store import db, runs

_STATE = "search.at"
_BATCH = 1000
_WORD = re.compile(rf"[{HAN_RANGES}]+|[^\W{HAN_RANGES}]+")
_END = "\n"  # `fold` makes every white space a blank, so this stands in no text


@dataclass(frozen=True, slots=True)
class Hit:
    """A review that holds all words, and how many triplets it has."""

    id: int
    key: str
    text: str
    split: str | None
    triplets: int


@dataclass(frozen=True, slots=True)
class Hits:
    """A page of hits and how many there are in all."""

    total: int
    shown: list[Hit]


def pairs(folded: str) -> str:
    """A folded text as the index stores it: a token for each character and its successor, which no tokenizer cuts."""
    return "z".join([f"{ord(folded[0]):x}", *map(_twice.__getitem__, folded[1:]), f"{ord(_END):x}"]) if folded else ""


class _Twice(dict[str, str]):
    """Character -> its number twice: as the end of a pair and as the beginning of the next; filled as they come."""

    def __missing__(self, char: str) -> str:
        made = self[char] = f"{ord(char):x} {ord(char):x}"
        return made


_twice = _Twice()


def strings(text: str) -> str:
    """A text as `reviews_fts` stores it: every string of one to four Han characters, and other words whole."""
    out: list[str] = []
    for run in _WORD.findall(text):
        if HAN.match(run):
            for i in range(len(run) - 3):
                four = run[i : i + 4]
                out += four[0], four[:2], four[:3], four
            end = run[-3:]
            out += [end[i:j] for i in range(len(end)) for j in range(i + 1, len(end) + 1)]
        else:
            out.append(run)
    return " ".join(out)


def match(words: Sequence[str]) -> str:
    """An FTS5 expression for texts that hold every one of `words`; QueryError if nothing can be looked for."""
    folded = [word for word in map(fold, words) if word]
    if not folded:
        raise QueryError("nothing to look for", fix="give a word, for example 服務")
    return " AND ".join(
        f'"{pairs(word).rpartition(" ")[0]}"' if len(word) > 1 else f'"{ord(word):x}z" *' for word in folded
    )


def words_of(query: str) -> list[str]:
    """The words of a search box: white space parts them, quotation marks hold them together unless unclosed."""
    return [held or word for held, word in re.findall(r'"([^"]+)"|(\S+)', query)]


def clear(connection: sqlite3.Connection) -> None:
    """Empty the index."""
    connection.execute("INSERT INTO search (search) VALUES ('delete-all')")
    connection.execute("INSERT INTO reviews_fts (reviews_fts) VALUES ('delete-all')")
    runs.set_setting(connection, _STATE, "0")


class Tokens(NamedTuple):
    """What the two indices store of a text."""

    pairs: str
    strings: str


def make_tokens(text: str) -> Tokens:
    """The tokens of a text, made before it is stored."""
    return Tokens(pairs(fold(text)), strings(text))


def add(connection: sqlite3.Connection, made: Iterable[tuple[int, Tokens]]) -> None:
    """Index reviews by their ids, above all that are indexed; `finish` ends it."""
    for review, tokens in made:
        connection.execute("INSERT INTO search (rowid, pairs) VALUES (?, ?)", (review, tokens.pairs))
        connection.execute("INSERT INTO reviews_fts (rowid, text) VALUES (?, ?)", (review, tokens.strings))


def finish(connection: sqlite3.Connection) -> None:
    """Make one of the parts of each index, and note how far they reach: to the last review."""
    connection.execute("INSERT INTO search (search) VALUES ('optimize')")
    connection.execute("INSERT INTO reviews_fts (reviews_fts) VALUES ('optimize')")
    last = connection.execute("SELECT coalesce(max(id), 0) FROM reviews").fetchone()[0]
    runs.set_setting(connection, _STATE, str(last))


def index(connection: sqlite3.Connection) -> int:
    """Add the reviews that the index does not hold yet; returns how many. A review's text never changes."""
    after = int(runs.setting(connection, _STATE) or 0)
    done = 0
    with db.atomic(connection):
        while rows := connection.execute(
            "SELECT id, text FROM reviews WHERE id > ? ORDER BY id LIMIT ?", (after, _BATCH)
        ).fetchall():
            add(connection, ((review, make_tokens(text)) for review, text in rows))
            done, after = done + len(rows), rows[-1][0]
        if done:
            finish(connection)
    return done


_FILTER = """ FROM search s JOIN reviews r ON r.id = s.rowid WHERE search MATCH :match AND r.duplicate_of IS NULL
  AND (:split IS NULL OR r.split = :split)
  AND (:polarity IS NULL OR EXISTS (SELECT 1 FROM triplets t WHERE t.review = r.id AND t.polarity = :polarity))"""


def find(
    connection: sqlite3.Connection,
    words: Sequence[str],
    limit: int = 20,
    split: str | None = None,
    polarity: str | None = None,
) -> Hits:
    """Distinct reviews whose text holds every one of `words`, as LIKE would say of folded texts; by id.

    `split` and `polarity` (of any of its triplets) narrow the search.
    """
    given = {"match": match(words), "split": split or None, "polarity": polarity or None, "limit": limit}
    total = connection.execute(f"SELECT count(*){_FILTER}", given).fetchone()[0]
    rows = connection.execute(
        "SELECT r.id, r.key, r.text, r.split, (SELECT count(*) FROM triplets t WHERE t.review = r.id)"
        f"{_FILTER} ORDER BY s.rowid LIMIT :limit",
        given,
    )
    return Hits(total, [Hit(*row) for row in rows])
