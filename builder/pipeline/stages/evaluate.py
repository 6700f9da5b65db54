"""evaluate: score the rules and every final model on the layers of the test split, or against the rules where there is
none.

Gold (config `evaluate.gold`) is labels that were given, silver (`evaluate.silver`) what a language model labelled. Each
is stored as proposals of a source of its name; scores are rows of `metrics` with 95% intervals and signature.
"""

from __future__ import annotations

from collections.abc import Iterable

from builder.gold.metrics import Answer
from builder.gold.metrics.scores import Metric, name_answer
from builder.gold.metrics.systems import Settings, measure
from builder.pipeline.context import Context
from builder.pipeline.layers import TestLayer, read_layers
from builder.store import db, reviews, runs, triplets
from builder.store import pool_labels as labels

SignedScore = tuple[runs.Score, str]
"""A score and its signature."""
METRICS = (Metric("exact", "triplet"), Metric("lenient", "triplet"), Metric("paper", "triplet"))


def run(context: Context) -> runs.Counts:
    """Score the rules and the last model of every variant; the F1 scores with their intervals."""
    connection = context.connection
    with db.atomic(connection):
        for layer_name, kind in labels.KINDS.items():
            triplets.drop_sources(connection, kind, layer_name)
        layers = list(read_layers(connection, context.config.evaluate))
        for layer in layers:
            _store(context, layer)
        last = [
            f"{variant}{runs.rounds(connection, variant)[-1].round}" for variant in context.config.self_train.variants
        ]
        signatures = triplets.signatures(connection)
        systems = ["rules", *(name for name in last if signatures[name] != triplets.RULES_REPEATED)]
        split = "test" if layers else "valid"
        yardsticks: list[tuple[str, set[str]]] = [(layer.name, set(layer.reviews.values())) for layer in layers]
        scores = [
            row
            for against, only in yardsticks or [("rules", set())]
            for system in systems
            if system != against
            for row in _measure_system(context, system, against, split, only)
        ]
        runs.set_metrics(connection, scores)
    against = " and ".join(layer.name for layer in layers) or "rules"
    counts: dict[str, int | float | str] = {"split": split, "against": against}
    return counts | {f"{score[0]} {score[2]}": _describe_score(score) for score, _ in scores if score[2].endswith("F1")}


def _store(context: Context, layer: TestLayer) -> None:
    """Write a layer: its source, its reviews, its triplets. Gold overrules what is known of a triplet."""
    connection, kind = context.connection, labels.KINDS[layer.name]
    source = triplets.source(connection, layer.name, kind, layer.signature, layer.labelled_by, layer.annotators)
    labels.put_layer(connection, source, layer.reviews)
    triplets.propose(connection, source, layer.triplets, overrule=layer.name == labels.GOLD)


def _describe_score(score: runs.Score) -> str:
    """A value with its interval."""
    *_, value, low, high = score
    return f"{value:.1f}" if low is None else f"{value:.1f} ({low:.1f} to {high:.1f})"


def _measure_system(context: Context, system: str, against: str, split: str, only: set[str]) -> Iterable[SignedScore]:
    """`only` these reviews, if there are any. A split without reviews has no score."""
    chosen = [
        (review.key, review.id)
        for review in reviews.in_split(context.connection, split)
        if not only or review.key in only
    ]
    if not chosen:
        return
    gold, predicted = (_read_answers(context, name, split, chosen) for name in (against, system))
    for result in measure(gold, predicted, METRICS, Settings()):
        for part, value, low, high in result.rounded():
            score = (f"{system} against {against}", split, f"{result.metric.match} {part}", value, low, high)
            yield score, result.signature


def _read_answers(context: Context, name: str, split: str, chosen: list[tuple[str, int]]) -> dict[str, list[Answer]]:
    source = triplets.require_source(context.connection, name)
    by_review: dict[int, list[Answer]] = {}
    for stored in triplets.proposed(context.connection, source, split):
        by_review.setdefault(stored.review, []).append(name_answer(stored.triplet))
    return {key: by_review.get(i, []) for key, i in chosen}
