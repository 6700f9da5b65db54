"""What the last release says of its reviews and triplets.

The tables are `released_reviews` and `released`, with the public ids of reviews. The view `released_triplets` shows all
of it. A reader of release files finds a triplet here by `public_id`, a review by `reviews.public_id`.
`verdicts.confidence` says how likely a triplet is right, by the judge's calibrated score. It is NULL where the judge is
not calibrated.
"""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, zip_longest
from typing import Any, NamedTuple

from builder.core.records import Polarity, Verdict
from builder.reviews.repair import fold
from builder.store.queries import insert, public_id
from builder.store.triplets import BITS, HASH

Rating = Callable[[float, str, Polarity], float]
"""The score of a judge, the rule of a triplet ("": the judge alone, or other words than the rules'), and its
polarity -> how likely it is right.
"""


def rate(connection: sqlite3.Connection, judge: str, rating: Rating | None) -> None:
    """Write the confidence of all that a judge has said; without a rating there is none."""
    if rating is None:
        connection.execute(
            "UPDATE verdicts SET confidence = NULL WHERE confidence IS NOT NULL AND source = (SELECT id FROM sources"
            " WHERE name = ?)",
            (judge,),
        )
        return

    def rated(score: float, rule: str | None, polarity: Polarity) -> float:
        return rating(score, rule or "", polarity)

    connection.create_function("rated", 3, rated, deterministic=True)
    connection.execute(
        "UPDATE verdicts SET confidence = rated(verdicts.score, p.rule, t.polarity)"
        " FROM triplets t LEFT JOIN proposals p ON p.triplet = t.id AND p.source ="
        " (SELECT id FROM sources WHERE name = 'rules') WHERE t.id = verdicts.triplet AND verdicts.source ="
        " (SELECT id FROM sources WHERE name = ?)",
        (judge,),
    )


def set_chances(connection: sqlite3.Connection, judge: str, chances: Mapping[int, float]) -> None:
    """Write the confidence of single triplets, by their ids, in place of the one they were given."""
    connection.executemany(
        "UPDATE verdicts SET confidence = ? WHERE triplet = ? AND source = (SELECT id FROM sources WHERE name = ?)",
        [(chance, triplet, judge) for triplet, chance in chances.items()],
    )


class ReleasedReview(NamedTuple):
    """A review of a release by its row id; `unverified_negative`: nothing was found in it, and nobody has checked."""

    review: int
    version: str
    split: str
    annotation: str
    unverified_negative: bool


class ReleasedTriplet(NamedTuple):
    """A triplet of a release by its row id, with what its row in the files says beside text and places."""

    triplet: int
    version: str
    split: str
    annotation: str
    public_id: str
    confidence: float | None
    verdict: str | None
    rule: str | None
    aspect_category: str | None
    opinion_category: str | None
    sources: str = ""


@dataclass(frozen=True, slots=True)
class Provenance:
    """Who says a triplet (the view `triplet_sources`), the rule that made it with the categories of its words, and
    what the discriminator says. `confidence`: its calibrated score.
    """

    sources: tuple[str, ...] = ()
    rules: tuple[str, ...] = ()
    aspect_category: str | None = None
    opinion_category: str | None = None
    verdict: Verdict | None = None
    confidence: float | None = None


def provenance(connection: sqlite3.Connection, review: int) -> dict[int, Provenance]:
    """Triplet id -> what is known of it, for the triplets of one review. The last source that tells a rule counts."""
    ids = review << BITS, review << BITS | HASH
    verdicts = {
        i: (label, confidence)
        for i, label, confidence in connection.execute(
            "SELECT v.triplet, v.label, v.confidence FROM verdicts v"
            " JOIN sources s ON s.id = v.source AND s.kind = 'discriminator'"
            " WHERE v.triplet BETWEEN ? AND ?",
            ids,
        )
    }
    ruled = {
        i: ((rule,), aspect, opinion)
        for i, rule, aspect, opinion in connection.execute(
            "SELECT triplet, rule, aspect_category, opinion_category FROM proposals"
            " WHERE triplet BETWEEN ? AND ? AND rule IS NOT NULL ORDER BY source",
            ids,
        )
    }
    rows = connection.execute(
        "SELECT triplet, name FROM triplet_sources WHERE triplet BETWEEN ? AND ? ORDER BY triplet, source", ids
    )
    out: dict[int, Provenance] = {}
    for i, named in groupby(rows, key=lambda row: int(row[0])):
        rules, aspect, opinion = ruled.get(i, ((), None, None))
        label, confidence = verdicts.get(i, (None, None))
        out[i] = Provenance(tuple(name for _, name in named), rules, aspect, opinion, label, confidence)
    return out


def clear(connection: sqlite3.Connection) -> None:
    """Forget the last release's rows; those of another one follow."""
    connection.execute("DELETE FROM released")
    connection.execute("DELETE FROM released_reviews")


def add_rows(
    connection: sqlite3.Connection, version: str, split: str, ids: Iterable[int], rows: Iterable[Mapping[str, Any]]
) -> None:
    """Write what a release says of reviews, given by their row ids and as many rows, and of their triplets."""
    for review, row in zip_longest(ids, rows):
        assert review is not None and row is not None, f"{split}: as many reviews as rows are due"
        annotation = str(row["annotation"])
        add_reviews(connection, [ReleasedReview(review, version, split, annotation, bool(row["unverified_negative"]))])
        add_triplets(
            connection,
            (
                ReleasedTriplet(
                    review << BITS | int(triplet["id"].rpartition(":")[2], 16), version, split, annotation,
                    triplet["id"], triplet["confidence"], triplet["verdict"],
                    triplet["rules"][0] if triplet["rules"] else None,
                    triplet["aspect_category"], triplet["opinion_category"], " ".join(triplet["sources"]),
                )
                for triplet in row["triplets"]
            ),
        )  # fmt: skip


def add_reviews(connection: sqlite3.Connection, rows: Iterable[ReleasedReview]) -> None:
    """Store what a release says of reviews."""
    insert(connection, "released_reviews", ", ".join(ReleasedReview._fields), rows)


def add_triplets(connection: sqlite3.Connection, rows: Iterable[ReleasedTriplet]) -> None:
    """Store what a release says of triplets."""
    insert(connection, "released", ", ".join(ReleasedTriplet._fields), rows)


def set_public_ids(connection: sqlite3.Connection, hashed: bool) -> None:
    """Give every distinct review the id that releases know it by: its key, or the hash of it."""
    connection.create_function("hashed_key", 1, public_id, deterministic=True)
    shown = "hashed_key(key)" if hashed else "key"
    connection.execute(f"UPDATE reviews SET public_id = CASE WHEN duplicate_of IS NULL THEN {shown} END")


def count_places(connection: sqlite3.Connection, splits: Iterable[Sequence[int]]) -> tuple[int, int]:
    """How many places the reviews of `splits` (row ids) name, and how many of these stand in several of them."""
    counts = Counter[str]()
    for ids in splits:
        rows = connection.execute(
            "SELECT DISTINCT place FROM reviews WHERE place <> '' AND id IN (SELECT value FROM json_each(?))",
            (json.dumps(ids),),
        )
        counts.update(row[0] for row in rows)
    return len(counts), sum(number > 1 for number in counts.values())


def labelled_by(connection: sqlite3.Connection) -> dict[str, str]:
    """Layer (gold, silver) -> who labelled it; empty where nobody is named."""
    rows = connection.execute("SELECT name, labelled_by FROM sources WHERE labelled_by IS NOT NULL")
    return dict(rows.fetchall())


def layers(connection: sqlite3.Connection) -> list[tuple[str, str, int, int]]:
    """(split, annotation, reviews, triplets) of the last release, in the order train, valid, test."""
    rows = connection.execute(
        "SELECT r.split, r.annotation, count(*), sum((SELECT count(*) FROM released e"
        " WHERE e.triplet BETWEEN r.review << ?1 AND r.review << ?1 | ?2)) FROM released_reviews r"
        " GROUP BY r.split, r.annotation ORDER BY r.split = 'test', r.split = 'valid', r.annotation",
        (BITS, HASH),
    )
    return list(rows)


def totals(connection: sqlite3.Connection) -> dict[str, int]:
    """Numbers of the last release: reviews, those with a triplet, triplets, different aspects and opinions; all 0
    without one. A word in both scripts is one, as in the list of words.
    """
    connection.create_function("fold", 1, fold, deterministic=True)
    reviews, negatives = connection.execute(
        "SELECT count(*), total(unverified_negative) FROM released_reviews"
    ).fetchone()
    triplets, covered, aspects, opinions = connection.execute(
        "SELECT count(*), count(DISTINCT t.review), count(DISTINCT fold(t.aspect)),"
        " count(DISTINCT fold(t.opinion))"
        " FROM released e JOIN triplets t ON t.id = e.triplet"
    ).fetchone()
    return {
        "reviews": int(reviews),
        "reviews with a triplet": int(covered),
        "unverified negatives": int(negatives),
        "triplets": int(triplets),
        "aspects": int(aspects),
        "opinions": int(opinions),
    }


def by_polarity(connection: sqlite3.Connection) -> list[tuple[str, int, int, int, int, int]]:
    """(split, reviews with a triplet, triplets, POS, NEG, NEU) of the release."""
    return connection.execute(
        "SELECT split, count(DISTINCT review), count(*), sum(polarity = 'POS'), sum(polarity = 'NEG'),"
        " sum(polarity = 'NEU') FROM released_triplets GROUP BY split ORDER BY split = 'test', split = 'valid'"
    ).fetchall()


def by_rule(connection: sqlite3.Connection) -> dict[str, int]:
    """Released triplets by the rule that made them."""
    rows = connection.execute("SELECT rule, count(*) FROM released_triplets WHERE rule IS NOT NULL GROUP BY rule")
    return dict(rows.fetchall())
