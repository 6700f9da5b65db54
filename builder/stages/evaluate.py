"""evaluate: score the rules and every final model on the test split against gold, or against the rules where there is none.

Gold (config `evaluate.gold`) is stored as proposals of the human source `gold`; scores are rows of `metrics` with their signature.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from builder import metrics
from builder.errors import InputError
from builder.metrics import Answer
from builder.records import Element, Polarity, StoredTriplet, Triplet, polarity_of
from builder.stages.context import Context
from builder.stages.ingest import gold_rows
from builder.store import db, reviews, runs, triplets

_VALENCE: dict[Polarity, float] = {"POS": 8.0, "NEG": 3.0, "NEU": 5.0}
Row = tuple[str, str, str, float, str]


def run(context: Context) -> runs.Counts:
    connection = context.connection
    with db.atomic(connection):
        triplets.drop_sources(connection, "human")
        rows = gold_rows(context.config.evaluate.gold)
        if rows:
            _store_gold(context, rows)
        split = "test" if rows else "valid"
        against = "gold" if rows else "rules"
        systems = ["rules", *(f"{variant}{runs.rounds(connection, variant)[-1].round}" for variant in context.config.self_train.variants)]
        scores = [row for system in systems if system != against for row in _scores(context, system, against, split)]
        runs.set_metrics(connection, scores)
    counts: dict[str, int | float | str] = {"split": split, "against": against}
    return counts | {f"{system} {metric}": round(value, 1) for system, _, metric, value, _ in scores if metric.endswith("F1")}


def _scores(context: Context, system: str, against: str, split: str) -> Iterable[Row]:
    listed = [(review.key, review.id) for review in reviews.in_split(context.connection, split)]
    gold, told = (_answers(context, name, split, listed) for name in (against, system))
    for name, score in (
        ("exact", metrics.micro(gold, told, "exact")),
        ("lenient", metrics.micro(gold, told, "lenient")),
        ("paper", metrics.paper(gold, told)),
    ):
        for part, value in (("P", score.precision), ("R", score.recall), ("F1", score.f1)):
            yield f"{system} against {against}", split, f"{name} {part}", round(value, 4), score.signature


def _answers(context: Context, name: str, split: str, listed: list[tuple[str, int]]) -> dict[str, list[Answer]]:
    source = triplets.source_id(context.connection, name)
    assert source is not None, f"{name} has run"
    by_review: dict[int, list[Answer]] = {}
    for one in triplets.proposed(context.connection, source, split):
        by_review.setdefault(one.review, []).append(answer(one))
    return {key: by_review.get(i, []) for key, i in listed}


def answer(one: StoredTriplet) -> Answer:
    return one.triplet.aspect.text, one.triplet.opinion.text, one.triplet.polarity


def _store_gold(context: Context, rows: list[dict[str, object]]) -> None:
    """Gold triplets must lie in their text: a wrong span is an error, never a guess."""
    source = triplets.source(context.connection, "gold", "human", context.key)
    known = {review.key: review for split in ("train", "valid", "test") for review in reviews.in_split(context.connection, split)}
    proposed: list[tuple[int, Triplet]] = []
    for row in rows:
        review = known.get(str(row["id"]))
        if review is None:
            raise InputError(
                f"gold names review {row['id']!r}, which is not among the distinct reviews", where=context.config.evaluate.gold
            )
        listed = row["triplets"]
        assert isinstance(listed, list)
        proposed += [(review.id, _gold_triplet(one, review.text, f"{context.config.evaluate.gold}, review {review.key}")) for one in listed]
    triplets.propose(context.connection, source, proposed)


def _gold_triplet(row: object, text: str, where: str) -> Triplet:
    try:
        assert isinstance(row, dict)
        polarity: Polarity = row["polarity"]
        valence = float(row.get("valence", _VALENCE[polarity]))
        aspect, aspect_full, opinion, opinion_full = (
            _gold_element(row, name, text) for name in ("aspect", "aspect_full", "opinion", "opinion_full")
        )
    except (KeyError, ValueError, TypeError, AssertionError) as error:
        raise InputError(f"gold triplet {row!r}: {error!r}", where=where) from error
    if polarity_of(valence) != polarity:
        raise InputError(f"gold triplet {row!r}: valence {valence} is not {polarity}", where=where)
    return Triplet(aspect, aspect_full, opinion, opinion_full, polarity, valence, source="gold")


def _gold_element(row: dict[str, Any], name: str, text: str) -> Element:
    """An element with its spans; gold without `_full` forms gives the plain ones for both."""
    given = name if name in row else name.removesuffix("_full")
    surface, spans = row[given], tuple((start, end) for start, end in row[f"{given}_spans"])
    if not spans or "".join(text[start:end] for start, end in spans) != surface:
        raise ValueError(f"{surface!r} does not stand at {spans}")
    return Element(surface, spans)
