"""The reviews of the web pages as a list that filters narrow: how many, which page, what comes before and behind one.

In: a connection to the pages' copy and `Filters`. Out: numbers, hits, ids, and the bars of each histogram.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from builder.store import search
from builder.store.browse import RELEASED
from builder.store.queries import read_value

NONE = "(none)"
"""A filter's value for reviews and triplets that have no such value."""
BARS = 12
REVIEW_FILTERS = ("source", "split", "rating", "month")
TRIPLET_FILTERS = ("polarity", "rule", "category", "confidence")
WORD_FILTERS = ("aspect", "opinion")
_COLUMNS = {"confidence": "t.tenth", "category": "t.category"}
_BY_VALUE = ("rating", "confidence")
"""Histograms in the order of their values, as months, whose last come first; others have the longest bar first."""


@dataclass(frozen=True, slots=True)
class Filters:
    """What narrows the list; "" narrows nothing, `NONE` asks for what has no value. `kinds` are the bits of the
    triplets that count; `match`: an FTS5 expression of a search. `aspect` and `opinion` are folded words.
    """

    kinds: int = RELEASED
    match: str = ""
    source: str = ""
    split: str = ""
    rating: str = ""
    month: str = ""
    polarity: str = ""
    rule: str = ""
    category: str = ""
    confidence: str = ""
    aspect: str = ""
    opinion: str = ""

    @property
    def of_triplets(self) -> bool:
        """Whether a review needs a triplet of some kind."""
        return any(getattr(self, name) for name in (*TRIPLET_FILTERS, *WORD_FILTERS))


@dataclass(frozen=True, slots=True)
class Neighbours:
    """Where a review stands in the list: its place from 1 (0: it is not in it), the size, who is beside it."""

    place: int
    total: int
    before: int | None
    after: int | None


def count(connection: sqlite3.Connection, filters: Filters) -> int:
    """How many reviews there are."""
    where, given = _reviews(filters)
    return int(read_value(connection, f"SELECT count(*) FROM review_list r WHERE {where}", given))


def page(connection: sqlite3.Connection, filters: Filters, limit: int, offset: int) -> list[search.Hit]:
    """Some reviews of the list, by id."""
    where, given = _reviews(filters)
    rows = connection.execute(
        "SELECT r.id, v.key, v.text, r.split,"
        " (SELECT count(*) FROM triplet_facets t WHERE t.review = r.id AND t.kinds & :kinds)"
        " FROM review_list r CROSS JOIN reviews v ON v.id = r.id"
        f" WHERE {where} ORDER BY r.id LIMIT :limit OFFSET :offset",
        {**given, "kinds": filters.kinds, "limit": limit, "offset": offset},
    )
    return [search.Hit(*row) for row in rows]


def review_at(connection: sqlite3.Connection, filters: Filters, place: int) -> int | None:
    """The review at a place of the list, from 0."""
    where, given = _reviews(filters)
    asked = f"SELECT r.id FROM review_list r WHERE {where} ORDER BY r.id LIMIT 1 OFFSET :place"
    review: int | None = read_value(connection, asked, {**given, "place": place})
    return review


def neighbours(connection: sqlite3.Connection, filters: Filters, review: int, total: int) -> Neighbours:
    """What stands before and behind a review in the list of `total` reviews, whether it is in it or not."""
    where, given = _reviews(filters)
    given["review"] = review

    def read(what: str, condition: str) -> Any:
        return read_value(connection, f"SELECT {what} FROM review_list r WHERE {condition} AND {where}", given)

    before = read("max(r.id)", "r.id < :review")
    after = read("min(r.id)", "r.id > :review")
    inside = read("count(*)", "r.id = :review")
    place = read("count(*)", "r.id <= :review") if inside else 0
    return Neighbours(place, total, before, after)


def histogram(connection: sqlite3.Connection, filters: Filters, name: str, most: int = BARS) -> list[tuple[str, int]]:
    """(value, reviews) of a filter under all other ones; one row more than `most` where there are more."""
    if name in REVIEW_FILTERS:
        where, given = _reviews(filters, name)
        statement = f"SELECT r.{name}, count(*) AS number FROM review_list r WHERE {where} GROUP BY 1"
    else:
        if filters.polarity == NONE and name != "polarity":
            return []
        of_triplet, given = _triplets(filters, name)
        of_review, more = _of_review(filters)
        given |= more
        if filters.kinds == RELEASED:  # the review of a released triplet is released
            of_review.remove("r.released")
        outside = "" if of_review == ["1"] else f" JOIN review_list r ON r.id = t.review AND {' AND '.join(of_review)}"
        shown = _shown_value(filters, name)
        statement = (
            f"SELECT {shown}, count(DISTINCT t.review) AS number FROM triplet_facets t{outside}"
            f" WHERE {' AND '.join(of_triplet)} GROUP BY 1"
        )
    order = "1 DESC" if name == "month" else "1" if name in _BY_VALUE else "number DESC, 1"
    rows = connection.execute(f"{statement} ORDER BY {order} LIMIT {most + 1}", given)
    bars = [(_text(value), int(number)) for value, number in rows]
    if name == "polarity" and (without := count(connection, replace(filters, polarity=NONE))):
        bars.append((NONE, without))
    return bars


def _shown_value(filters: Filters, name: str) -> str:
    """What a histogram of triplets groups by: classes of aspects by their first part, until one is chosen."""
    if name == "category" and (not filters.category or filters.category == NONE):
        return "substr(t.category, 1, instr(t.category || '.', '.') - 1)"
    return _COLUMNS.get(name, f"t.{name}")


def _text(value: object) -> str:
    return NONE if value is None else f"{value:g}" if isinstance(value, float) else str(value)


def _reviews(filters: Filters, without: str = "") -> tuple[str, dict[str, Any]]:
    """A condition on `review_list r`, and its parameters. `without`: the filter that is left out."""
    conditions, given = _of_review(filters, without)
    if filters.polarity == NONE:
        conditions.append("NOT EXISTS (SELECT 1 FROM triplet_facets t WHERE t.review = r.id AND t.kinds & :kinds)")
        given["kinds"] = filters.kinds
    elif filters.of_triplets:
        of_triplet, more = _triplets(filters)
        conditions.append(
            f"EXISTS (SELECT 1 FROM triplet_facets t WHERE t.review = r.id AND {' AND '.join(of_triplet)})"
        )
        given |= more
    return " AND ".join(conditions), given


def _of_review(filters: Filters, without: str = "") -> tuple[list[str], dict[str, Any]]:
    conditions, given = ["1"], dict[str, Any]()
    if filters.kinds == RELEASED:
        conditions.append("r.released")
    if filters.match:
        conditions.append("r.id IN (SELECT rowid FROM search WHERE search MATCH :match)")
        given["match"] = filters.match
    for name in REVIEW_FILTERS:
        if (value := getattr(filters, name)) and name != without:
            conditions.append(f"r.{name} IS :{name}")
            given[name] = None if value == NONE else _number(value) if name == "rating" else value
    return conditions, given


def _triplets(filters: Filters, without: str = "") -> tuple[list[str], dict[str, Any]]:
    conditions, given = ["t.kinds & :kinds"], dict[str, Any](kinds=filters.kinds)
    for name in (*TRIPLET_FILTERS, *WORD_FILTERS):
        value = getattr(filters, name)
        if not value or (name == without and name != "category") or (name, value) == ("polarity", NONE):
            continue
        if name == "category" and value != NONE:
            conditions.append(
                "(t.category = :category OR substr(t.category, 1, length(:category) + 1) = :category || '.')"
            )
        elif name != without:
            conditions.append(f"{_COLUMNS.get(name, f't.{name}')} IS :{name}")
        given[name] = None if value == NONE else _number(value) if name == "confidence" else value
    return conditions, given


def _number(value: str) -> float | str:
    try:
        return float(value)
    except ValueError:
        return value


def shown_triplets(connection: sqlite3.Connection, review: int) -> dict[int, tuple[int, float | None]]:
    """Triplet id -> (its kinds, its confidence) of a review."""
    rows = connection.execute("SELECT triplet, kinds, confidence FROM triplet_facets WHERE review = ?", (review,))
    return {triplet: (kinds, confidence) for triplet, kinds, confidence in rows}


def chips(
    connection: sqlite3.Connection, reviews: Sequence[int], kinds: int
) -> dict[int, list[tuple[str, str, str, int, bool, int | None]]]:
    """Review id -> (aspect, opinion, polarity, id, whether it is released, tenth of its confidence) of its triplets of
    `kinds`, the released first, then in the order of a review's page.
    """
    marks = ",".join("?" * len(reviews))
    rows = connection.execute(
        "SELECT f.review, t.aspect, t.opinion, t.polarity, t.id, f.kinds & ? AS out, f.tenth"
        " FROM triplet_facets f CROSS JOIN triplets t ON t.id = f.triplet"
        f" WHERE f.review IN ({marks}) AND f.kinds & ?"
        " ORDER BY f.review, out DESC, t.spans ->> '$.opinion[0][0]', t.spans ->> '$.aspect[0][0]', t.id",
        (RELEASED, *reviews, kinds),
    )
    by_review: dict[int, list[tuple[str, str, str, int, bool, int | None]]] = {}
    for review, aspect, opinion, polarity, i, out, tenth in rows:
        by_review.setdefault(review, []).append((aspect, opinion, polarity, i, bool(out), tenth))
    return by_review
