"""What the web pages read: a copy of a database, with tables that only they have, and what is told of a word.

The copy is consistent. Its own tables make every page quick: a flat one of candidates for filters and facets, and the
overview's numbers.

Words. In: a connection to the pages' copy, a role and a folded word. Out: counts of released triplets, or of those of
the kinds that are asked for. An aspect is told over stars, months and sources, with its opinions and examples; an
opinion likewise.
"""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from importlib.resources import files
from itertools import groupby
from pathlib import Path
from typing import Literal

from builder.core.records import Triplet
from builder.core.wording import counted
from builder.reviews.repair import fold
from builder.reviews.script import converter, script_of
from builder.store import db, queries, released, triplets
from builder.store.triplets import RULES_REPEATED

# ---- The pages' copy

RELEASED, RULES, MODELS, GOLD, LEFT_OUT = (1 << bit for bit in range(5))
"""Bits of `triplet_facets.kinds`: the release holds it; rules, a model, a person propose it; it was left out."""
ALL = RELEASED | RULES | MODELS | GOLD | LEFT_OUT
TABLE = "triplet_list"
TABLES = ("review_list", "triplet_facets", "word_counts")


def _count_words(connection: sqlite3.Connection, role: str, released_there: bool) -> Iterator[tuple[object, ...]]:
    """The rows of `word_counts` of a role."""
    rows = connection.execute(
        f"SELECT f.{role}, t.{role}, t.polarity, count(*), sum(f.kinds & {RELEASED} > 0)"
        " FROM triplets t JOIN triplet_facets f ON f.review = t.review AND f.triplet = t.id GROUP BY 1, 2, 3"
    ).fetchall()
    for word, group in groupby(rows, key=lambda row: str(row[0])):
        spellings, released = Counter[str](), Counter[str]()
        for _, spelling, polarity, number, out in group:
            spellings[spelling] += number
            released[polarity] += out if released_there else number
        counts = [released[polarity] for polarity in ("POS", "NEG", "NEU")]
        traditional, simplified = _shown(spellings)
        yield role, word, traditional, simplified, sum(counts), *counts, sum(spellings.values())


def _shown(spellings: Counter[str]) -> tuple[str, str]:
    """A word in Traditional and in Simplified script."""
    often = [spelling for spelling, _ in spellings.most_common()]
    traditional = next((spelling for spelling in often if script_of(spelling) == "traditional"), None)
    return traditional or converter("s2tw")(often[0]), converter("t2s")(often[0])


FIRST_QUERY = """SELECT aspect, opinion, polarity, count(*) AS triplets, min(text) AS example
FROM triplet_list WHERE released IS NOT NULL OR NOT EXISTS (SELECT 1 FROM released)
GROUP BY aspect, opinion, polarity ORDER BY triplets DESC LIMIT 20"""
"""What the page of SQL begins with: it has rows, released or not."""


@dataclass(frozen=True, slots=True)
class Restored:
    """A triplet of a release: its id there (31 bits), and the names of its sources."""

    hash: int
    triplet: Triplet
    sources: tuple[str, ...]


def snapshot(workdir: Path, target: Path) -> None:
    """Copy the database as it stands, a running build's last commit included, into `target`; make the pages' tables."""
    with db.reading(workdir) as connection, closing(sqlite3.connect(target, isolation_level=None)) as copy:
        connection.backup(copy)
        finish(copy)


def finish(connection: sqlite3.Connection) -> None:
    """Make the tables of `pages.sql`, and let the file be read without a log beside it."""
    connection.execute("PRAGMA journal_mode = OFF")
    connection.create_function("fold", 1, fold, deterministic=True)
    there = queries.read_value(connection, "SELECT EXISTS (SELECT 1 FROM released)")
    given = {
        "RELEASED": RELEASED, "RULES": RULES, "MODELS": MODELS, "GOLD": GOLD, "LEFT_OUT": LEFT_OUT,
        "released": there, "repeating": RULES_REPEATED,
    }  # fmt: skip
    with db.atomic(connection):
        for statement in (files("builder.store") / "pages.sql").read_text(encoding="utf-8").split(";\n"):
            connection.execute(statement, given)
        for role in ("aspect", "opinion"):
            connection.executemany(
                "INSERT INTO word_counts VALUES (?,?,?,?,?,?,?,?,?)", _count_words(connection, role, there)
            )


def restore(connection: sqlite3.Connection, rows: Sequence[tuple[int, Restored]]) -> None:
    """Store the triplets of a release, `rows` of (review id, triplet), under the ids that they have there."""
    ids = [review << triplets.BITS | restored.hash for review, restored in rows]
    triplets.insert(connection, ids, [(review, restored.triplet) for review, restored in rows])
    by_source: dict[str, list[tuple[int, tuple[str, ...]]]] = {}
    for i, (_, restored) in zip(ids, rows, strict=True):
        for name in restored.sources:
            by_source.setdefault(name, []).append((i, restored.triplet.rules if name == "rules" else ()))
    for name, proposals in by_source.items():
        kind = name if name in ("rules", "gold", "discriminator") else "model"
        known = triplets.source_id(connection, name)
        source = known if known is not None else triplets.source(connection, name, kind, "release")
        triplets.proposed_by(connection, source, proposals)


@dataclass(frozen=True, slots=True)
class Totals:
    """What the overview begins with: numbers of the last release, or of candidates, and what they were chosen from."""

    tiles: dict[str, int]
    of: str


def totals(connection: sqlite3.Connection) -> Totals:
    """Counts of what was released: words of both scripts are one."""
    numbers = released.totals(connection)
    reviews, candidates, covered = connection.execute(
        "SELECT (SELECT count(*) FROM review_list), count(*), count(DISTINCT review) FROM triplet_facets"
    ).fetchone()
    words = dict(
        connection.execute(
            "SELECT role, count(*) FROM word_counts WHERE released OR ? GROUP BY 1", (not numbers["reviews"],)
        )
    )
    different = {"different aspects": words.get("aspect", 0), "different opinions": words.get("opinion", 0)}
    if not numbers["reviews"]:
        tiles = {"distinct reviews": reviews, "reviews with a candidate": covered, "candidate triplets": candidates}
        return Totals(tiles | different, "Nothing is released yet: these are candidates.")
    tiles = {
        "released reviews": numbers["reviews"],
        "of them with a triplet": numbers["reviews with a triplet"],
        "released triplets": numbers["triplets"],
    }
    return Totals(
        tiles | different,
        f"Chosen from {counted(candidates, 'candidate triplet')} in {counted(reviews, 'distinct review')}.",
    )


def overview(connection: sqlite3.Connection, names: Iterable[str]) -> dict[str, list[dict[str, object]]]:
    """Answers of named queries, each row by column."""
    out = {}
    for name in names:
        columns, rows = queries.named(connection, name, {}, 20)
        out[name] = [dict(zip(columns, row, strict=True)) for row in rows]
    return out


def kinds_there(connection: sqlite3.Connection) -> int:
    """The kinds of triplets that there are, as bits of `browse_tables`."""
    kinds = 0
    for (some,) in connection.execute("SELECT DISTINCT kinds FROM triplet_facets"):
        kinds |= some
    return kinds


def is_review(connection: sqlite3.Connection, i: int) -> bool:
    """Whether there is a review with this row id."""
    return bool(queries.read_value(connection, "SELECT 1 FROM reviews WHERE id = ?", (i,)))


# ---- Words

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
    """A word as a script shows it, its spellings, its counts, and rows (value, POS, NEG, NEU) by stars and more."""

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


def list_words(
    connection: sqlite3.Connection, role: Role, script: Script, limit: int, part: str | None = None
) -> list[Counts]:
    """Words of a role, most frequent first, as `script` writes them: those released, or those that hold a `part`."""
    rows = connection.execute(
        f"SELECT word, {script}, POS, NEG, NEU FROM word_counts WHERE role = ?1 AND iif(?2 IS NULL, released,"
        " instr(word, ?2)) ORDER BY released DESC, candidates DESC, word LIMIT ?3",
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
