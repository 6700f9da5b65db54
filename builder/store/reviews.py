"""Reviews, their words as a backend read them, and rejected rows. One function, one statement or two."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from builder.core.records import SPLITS, Review, Token
from builder.store import queries, search
from builder.store.queries import read_value

REVIEW_COLUMNS = "id, key, text, script, split, place, rating, source"
NewReview = tuple[str, str, str | None, str | None, float | None, str, int, str, str, str, str]
"""key, text, source, place, rating, file, row, script, language, hash, norm_hash"""


def clear(connection: sqlite3.Connection) -> None:
    """Drop everything that was ingested, and all that was made of it; the splits of texts stay remembered."""
    made = ("verdicts", "training_sets", "proposals", "triplets", "annotations", "backends", "near_duplicates")
    for table in (*made, "reviews"):
        connection.execute(f"DELETE FROM {table}")
    search.clear(connection)
    clear_rejected(connection, "ingest")


def insert(connection: sqlite3.Connection, rows: Iterable[NewReview]) -> None:
    """Store new reviews."""
    columns = "key, text, source, place, rating, file, row, script, language, hash, norm_hash"
    queries.insert(connection, "reviews", columns, rows)


def set_groups(connection: sqlite3.Connection, groups: Iterable[tuple[int, str]]) -> None:
    """`groups` of (id of a review, group)."""
    queries.insert(connection, "review_groups", "review, name", groups)


def set_dates(connection: sqlite3.Connection, dates: Iterable[tuple[int, str]]) -> None:
    """`dates` of (id of a review, YYYY-MM-DD or YYYY-MM)."""
    queries.insert(connection, "review_dates", "review, date", dates)


def set_columns(connection: sqlite3.Connection, cells: Iterable[tuple[int, str, str]]) -> None:
    """`cells` of (id of a review, name of a column that passes through, its text)."""
    queries.insert(connection, "review_columns", "review, name, value", cells)


def columns_of(connection: sqlite3.Connection, review: int) -> dict[str, str]:
    """The columns of a review that pass through, those without a value left out."""
    return dict(connection.execute("SELECT name, value FROM review_columns WHERE review = ?", (review,)))


def groups(connection: sqlite3.Connection) -> Iterator[tuple[int, str]]:
    """(id, group) of the reviews that have a group and are no duplicates."""
    return connection.execute(
        "SELECT g.review, g.name FROM review_groups g JOIN reviews r ON r.id = g.review WHERE r.duplicate_of IS NULL"
        " ORDER BY g.review"
    )


def sources(connection: sqlite3.Connection) -> set[str]:
    """What the source column says of the reviews that are no duplicates."""
    asked = "SELECT DISTINCT source FROM reviews WHERE duplicate_of IS NULL AND source IS NOT NULL"
    return {source for (source,) in connection.execute(asked)}


def reject(connection: sqlite3.Connection, stage: str, rows: Iterable[tuple[str, str, str, str]]) -> None:
    """`rows` of (item, reason, detail, raw)."""
    queries.insert(connection, "rejected", "stage, item, reason, detail, raw", ((stage, *row) for row in rows))


class Rejection(NamedTuple):
    """A row of `rejected`. `item`: as the release names it; `review`, `triplet`: row ids, None for a whole review;
    `judge`: who gave the `score`, of which `score_limit` was due.
    """

    item: str
    reason: str
    detail: str
    review: int
    triplet: int | None
    judge: str | None = None
    score: float | None = None
    score_limit: float | None = None


def reject_stored(connection: sqlite3.Connection, stage: str, rows: Iterable[Rejection]) -> None:
    """What is rejected is stored, and stays so."""
    columns = ", ".join(("stage", "raw", *Rejection._fields))
    queries.insert(connection, "rejected", columns, ((stage, "", *row) for row in rows))


def reject_nowhere(connection: sqlite3.Connection, detail: str) -> None:
    """Reject the distinct reviews that are in no split as near-duplicates."""
    connection.execute(
        "INSERT INTO rejected (stage, item, reason, detail, raw, review)"
        " SELECT 'split', key, 'near-duplicate', ?, '', id FROM reviews WHERE duplicate_of IS NULL AND split IS NULL"
        " ORDER BY id",
        (detail,),
    )


def clear_rejected(connection: sqlite3.Connection, stage: str) -> None:
    """Forget what a stage rejected."""
    connection.execute("DELETE FROM rejected WHERE stage = ?", (stage,))


def mark_duplicates(connection: sqlite3.Connection) -> None:
    """The first review of a text stays; later ones with the same text, or the same normalised text, point to it."""
    for column, kind in (("hash", "exact"), ("norm_hash", "normalised")):
        connection.execute(
            f"""UPDATE reviews SET duplicate_of = f.first, duplicate_kind = '{kind}'
                FROM (SELECT {column} AS h, min(id) AS first FROM reviews GROUP BY {column} HAVING count(*) > 1) f
                WHERE reviews.{column} = f.h AND reviews.id > f.first AND reviews.duplicate_of IS NULL"""
        )


def set_splits(connection: sqlite3.Connection, splits: Iterable[tuple[str | None, int]]) -> None:
    """`splits` of (split, review id)."""
    connection.executemany("UPDATE reviews SET split = ? WHERE id = ?", splits)


def set_clusters(connection: sqlite3.Connection, clusters: Iterable[tuple[int, int]]) -> None:
    """Replace near-duplicates by `clusters` of (review id, id of the first review that says nearly the same)."""
    connection.execute("DELETE FROM near_duplicates")
    queries.insert(connection, "near_duplicates", "review, cluster", clusters)


def remember_splits(connection: sqlite3.Connection, ids: Iterable[int] | None = None) -> None:
    """By norm_hash, those of all reviews, or of some. Other texts keep theirs for when they come back."""
    among = "" if ids is None else " AND id IN (SELECT value FROM json_each(?))"
    connection.execute(
        "INSERT OR REPLACE INTO splits (norm_hash, split)"
        f" SELECT norm_hash, split FROM reviews WHERE duplicate_of IS NULL AND split IS NOT NULL{among}",
        () if ids is None else (json.dumps(sorted(ids)),),
    )


def forget_splits(connection: sqlite3.Connection) -> None:
    """Take every review out of its split."""
    connection.execute("DELETE FROM splits")


def remembered_splits(connection: sqlite3.Connection) -> Iterator[tuple[int, str]]:
    """Review ids with the split that their text is remembered in, of the reviews that are no duplicates."""
    return connection.execute(
        "SELECT r.id, s.split FROM reviews r JOIN splits s USING (norm_hash) WHERE r.duplicate_of IS NULL"
    )


def saying(connection: sqlite3.Connection, norm_hash: str) -> int | None:
    """The id of the review with this normalised text that is no duplicate."""
    review: int | None = read_value(
        connection, "SELECT id FROM reviews WHERE norm_hash = ? AND duplicate_of IS NULL", (norm_hash,)
    )
    return review


def distinct(connection: sqlite3.Connection) -> Iterator[tuple[int, str, str, str]]:
    """(id, key, norm_hash, text) of the reviews that are no duplicates."""
    return connection.execute("SELECT id, key, norm_hash, text FROM reviews WHERE duplicate_of IS NULL ORDER BY id")


def texts(connection: sqlite3.Connection, after: int, limit: int) -> list[Review]:
    """The next `limit` distinct reviews with an id above `after`."""
    return list(select(connection, "duplicate_of IS NULL AND id > ? ORDER BY id LIMIT ?", (after, limit)))


def select(connection: sqlite3.Connection, condition: str, parameters: Sequence[object]) -> Iterator[Review]:
    """The reviews of which a condition holds, as a stream."""
    rows = connection.execute(f"SELECT {REVIEW_COLUMNS} FROM reviews WHERE {condition}", parameters)
    yield from (Review(*row) for row in rows)


def by_id(connection: sqlite3.Connection, ids: Sequence[int]) -> list[Review]:
    """The reviews with these ids, in their order of id."""
    return list(select(connection, "id IN (SELECT value FROM json_each(?)) ORDER BY id", (json.dumps(ids),)))


PROPOSED_FOR = (
    "EXISTS (SELECT 1 FROM proposals q WHERE q.source = :source AND q.triplet BETWEEN r.id << 31"
    " AND (r.id + 1 << 31) - 1)"
)
"""Whether a source proposes a triplet for review `r`: by the range of its ids, which is looked up."""


def in_split(connection: sqlite3.Connection, split: str, source: int | None = None) -> Iterator[Review]:
    """The distinct reviews of a split, as a stream; `source`: those for which it proposes a triplet."""
    for row in _of_split(connection, f"SELECT {REVIEW_COLUMNS}", split, source, " ORDER BY id"):
        yield Review(*row)


def ids_in_split(connection: sqlite3.Connection, split: str, source: int | None = None) -> Iterator[int]:
    """The row ids of the distinct reviews of a split, in order; `source`: of those for which it proposes a triplet."""
    return (row[0] for row in _of_split(connection, "SELECT id", split, source, " ORDER BY id"))


def clusters(connection: sqlite3.Connection) -> Iterator[tuple[int, int]]:
    """(review id, id of the first review that says nearly the same), as `set_clusters` was given them."""
    return connection.execute("SELECT review, cluster FROM near_duplicates ORDER BY review")


def in_range(connection: sqlite3.Connection, split: str, first: int, last: int) -> Iterator[Review]:
    """The distinct reviews of a split from one row id to another, as a stream."""
    condition = "id BETWEEN ? AND ? AND duplicate_of IS NULL AND split = ? ORDER BY id"
    return select(connection, condition, (first, last, split))


def characters(connection: sqlite3.Connection, split: str, source: int | None = None) -> int:
    """How much text the reviews hold that `in_split` gives."""
    return int(_of_split(connection, "SELECT coalesce(sum(length(text)), 0)", split, source).fetchone()[0])


def _of_split(
    connection: sqlite3.Connection, select: str, split: str, source: int | None, order: str = ""
) -> sqlite3.Cursor:
    having = "" if source is None else f" AND {PROPOSED_FOR}"
    asked = f"{select} FROM reviews r WHERE duplicate_of IS NULL AND split = :split{having}{order}"
    return connection.execute(asked, {"split": split, "source": source})


def count(connection: sqlite3.Connection) -> int:
    """Distinct reviews."""
    return int(read_value(connection, "SELECT count(*) FROM reviews WHERE duplicate_of IS NULL"))


def ingest_counts(connection: sqlite3.Connection) -> dict[str, int | float | str]:
    """Rows read, kept, rejected and repeated, and the sizes of the splits."""
    rejected = read_value(connection, "SELECT count(*) FROM rejected WHERE stage = 'ingest'")
    stored, distinct = read_value(connection, "SELECT count(*) FROM reviews"), count(connection)
    sizes = {
        split: read_value(connection, "SELECT count(*) FROM reviews WHERE duplicate_of IS NULL AND split = ?", (split,))
        for split in SPLITS
    }
    counts = {"rows": stored + rejected, "rejected": rejected, "duplicates": stored - distinct, "reviews": distinct}
    return counts | sizes


def near_counts(connection: sqlite3.Connection) -> dict[str, int | float | str]:
    """Near-duplicates of an earlier review, and reviews in no split, for they are like reviews of several."""
    near = read_value(connection, "SELECT count(*) FROM near_duplicates WHERE cluster <> review")
    nowhere = read_value(connection, "SELECT count(*) FROM reviews WHERE duplicate_of IS NULL AND split IS NULL")
    return {"near_duplicates": near, "in_no_split": nowhere}


def rejection_counts(connection: sqlite3.Connection) -> dict[str, int]:
    """The reasons for which rows were rejected, the most frequent first, each with its number of rows."""
    sql = "SELECT reason, count(*) FROM rejected GROUP BY reason ORDER BY count(*) DESC, reason"
    return dict(connection.execute(sql).fetchall())


def ids(connection: sqlite3.Connection, keys: Sequence[str], distinct: bool = False) -> dict[str, int]:
    """Key -> row id of stored reviews; `distinct`: of those that are no duplicates."""
    among = " AND duplicate_of IS NULL" if distinct else ""
    asked = f"SELECT key, id FROM reviews WHERE key IN (SELECT value FROM json_each(?)){among}"
    return dict(connection.execute(asked, (json.dumps(keys),)))


def quoted(connection: sqlite3.Connection, key: str, longest: int) -> tuple[str, str | None] | None:
    """(text, place) of a review of at most `longest` characters; None for another."""
    row = connection.execute(
        "SELECT text, place FROM reviews WHERE key = ? AND duplicate_of IS NULL AND length(text) <= ?", (key, longest)
    ).fetchone()
    return None if row is None else (str(row[0]), row[1])


_CURRENT = "(SELECT id FROM backends WHERE current = 1)"
_ANNOTATED = (
    f"SELECT {', '.join('r.' + name for name in REVIEW_COLUMNS.split(', '))}, a.words FROM annotations a"
    f" JOIN reviews r ON r.id = a.review WHERE a.backend = {_CURRENT}"
)


def begin_annotations(connection: sqlite3.Connection, name: str, signature: str, key: str, *, anew: bool) -> int:
    """The id of a backend, which becomes the current one.

    What it annotated before under another key goes, and all of it if it shall begin `anew`; other backends keep theirs.
    """
    connection.execute("DELETE FROM backends WHERE name = ? AND (key <> ? OR ?)", (name, key, anew))
    connection.execute("UPDATE backends SET current = 0 WHERE current = 1")
    connection.execute(
        "INSERT INTO backends (name, signature, key, current) VALUES (?,?,?,1) ON CONFLICT (name) DO UPDATE"
        " SET current = 1",
        (name, signature, key),
    )
    return int(read_value(connection, "SELECT id FROM backends WHERE current = 1"))


def annotate(connection: sqlite3.Connection, backend: int, rows: Iterable[tuple[int, str]]) -> None:
    """`rows` of (review id, words as `dump_tokens` makes them)."""
    queries.insert(connection, "annotations", "backend, review, words", ((backend, *row) for row in rows))


def annotated_to(connection: sqlite3.Connection) -> int:
    """The last review that the current backend has annotated, or 0."""
    return int(read_value(connection, f"SELECT max(review) FROM annotations WHERE backend = {_CURRENT}") or 0)


def annotated_count(connection: sqlite3.Connection) -> int:
    """Reviews that the current backend has annotated."""
    return int(read_value(connection, f"SELECT count(*) FROM annotations WHERE backend = {_CURRENT}"))


ReviewFields = tuple[int, str, str, str, str | None, str | None, float | None, str | None]
"""Those of a `Review`: workers get them as they are, for a dataclass takes several times as long on its way."""


def annotated(connection: sqlite3.Connection, after: int, limit: int) -> list[tuple[Review, str]]:
    """The next reviews with the words that the current backend gave them, in order of id."""
    return [(Review(*fields), words) for fields, words in annotated_fields(connection, after, limit)]


def annotated_fields(connection: sqlite3.Connection, after: int, limit: int) -> list[tuple[ReviewFields, str]]:
    """As `annotated`."""
    rows = connection.execute(f"{_ANNOTATED} AND a.review > ? ORDER BY a.review LIMIT ?", (after, limit))
    return [(row[:-1], row[-1]) for row in rows]


def spread(connection: sqlite3.Connection, count: int) -> Iterator[tuple[Review, str]]:
    """At most `count` reviews with the words that the current backend gave them, from all over the table."""
    query = f"SELECT review FROM annotations WHERE backend = {_CURRENT} ORDER BY review"
    ids = [row[0] for row in connection.execute(query)]
    for place in range(min(count, len(ids))):
        yield from annotated(connection, ids[place * len(ids) // min(count, len(ids))] - 1, 1)


def words(connection: sqlite3.Connection, review: int) -> list[tuple[int, int, str, int, str]]:
    """The words that the current backend gave a review; none if it has not read it."""
    dumped = read_value(
        connection, f"SELECT words FROM annotations WHERE backend = {_CURRENT} AND review = ?", (review,)
    )
    return load_words(dumped) if dumped else []


def dump_tokens(tokens: Iterable[Token]) -> str:
    """Tokens as the JSON that the table `annotations` holds."""
    return json.dumps([[t.start, t.end, t.pos, t.head, t.rel] for t in tokens], separators=(",", ":"))


def load_words(words: str) -> list[tuple[int, int, str, int, str]]:
    """The fields of the tokens that `dump_tokens` wrote, in offsets of the stored text."""
    tokens: list[tuple[int, int, str, int, str]] = json.loads(words)
    return tokens


def backend(connection: sqlite3.Connection) -> str:
    """The signature of the current backend, or nothing."""
    return str(read_value(connection, "SELECT signature FROM backends WHERE current = 1") or "")
