"""self_train: Algorithm 1 of the paper with the variants A, B, C and D, and our variant E.

S_0 is the rules' triplets of the train split (A, C: those the discriminator calls YY). Each round i >= 1 predicts
with M_{i-1} on the reviews of the training data, filters by the variant, adds what is new, and fine-tunes the same
base again: S_i = S_{i-1} + R'. Every round is one transaction (training set, predictions, verdicts, counts), and
inside a round the model resumes at its last epoch. What variants share is trained once: M_0 of A and C, and of B and
D.

E is builder.pipeline.variant_e.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

from builder.core.errors import ModelError
from builder.core.progress import ModelBar
from builder.core.records import StoredTriplet
from builder.core.settings import VARIANTS
from builder.learning.task import Judge
from builder.models import kinds
from builder.pipeline import judging, variant_e
from builder.pipeline import rounds as template_models
from builder.pipeline.context import Context
from builder.pipeline.judging import restore_labellers
from builder.pipeline.rounds import RoundCounts, RoundResult, accepts, finish_round, predict_splits, train_extractor
from builder.store import db, labels, runs, triplets


def run(context: Context) -> runs.Counts:
    """Run the rounds that are due of every variant; the sizes of their first and last training sets."""
    connection = context.connection
    if runs.setting(connection, "self_train.key") != context.key:
        with db.atomic(connection):
            for variant in VARIANTS:
                runs.forget_rounds(connection, variant)
            triplets.drop_sources(connection, "model")
            for layer, kind in labels.KINDS.items():  # labels come after the models: what they share is theirs again
                triplets.drop_sources(connection, kind, layer)
            restore_labellers(connection)
            runs.set_setting(connection, "self_train.key", context.key)
    judge = judging.load_judge(context)
    counts: dict[str, int | float | str] = {}
    for variant in context.config.self_train.variants:
        last = 0 if variant == "E" else context.config.self_train.iterations
        for number in range(last + 1):
            if any(done.round == number for done in runs.rounds(connection, variant)):
                continue
            if variant == "E":
                variant_e.run_round(context, judge)
            elif judge is not None:
                _run_round(context, variant, number, judge)
            else:
                raise ModelError(
                    "no model is shipped for these words and rules, and the variants A to D need a judge",
                    where=f"self-train {variant}",
                    fix="train one with `--set discriminate.mode=paper`, or use variant E",
                )
        rounds = runs.rounds(connection, variant)
        counts[f"{variant} S_0"] = rounds[0].triplets
        counts[f"{variant} S_{rounds[-1].round}"] = rounds[-1].triplets
        problems = kinds.problems(context.config, context.models / f"{variant}{rounds[-1].round}")
        counts |= {f"{variant}{rounds[-1].round} {reason}": number for reason, number in problems.items()}
    if context.config.profile == "paper" and context.config.paper.compare_templates and judge is not None:
        counts |= template_models.compare(context, judge)
    if judge is not None:
        context.crew.rest()  # a worker that has loaded models holds a third more than one that has not
    return counts


def _run_round(context: Context, variant: str, number: int, judge: Judge) -> None:
    """Build S_number, train M_number on it, predict with it, judge what is new; commit all of it at once."""
    connection = context.connection
    started = time.monotonic()
    before = [triplet.id for triplet in labels.training(connection, variant, number - 1)] if number else []
    proposed = _select_proposals(context, variant, number)
    after = sorted(set(before) | set(proposed.accepted))
    if not after:
        raise ModelError(
            "the training set is empty after filtering",
            where=f"self-train {variant}, round {number}",
            fix="use variant B or D, or more reviews",
        )
    shown = ModelBar(f"self-train {variant}{number}", kinds.unit(context.config))
    extractor = train_extractor(context, f"{variant}{number}", after, shown)
    predicted = predict_splits(context, extractor, f"{variant}{number}", after, shown)
    counts = RoundCounts(proposed.predicted, len(proposed.accepted), len(after) - len(before))
    result = RoundResult(variant, number, extractor.digest, predicted, after)
    finish_round(context, judge, result, counts, started, shown)


@dataclass(frozen=True, slots=True)
class _Proposed:
    """R and R' of a round: how many triplets were predicted and the ids that the variant accepts."""

    predicted: int
    accepted: list[int]


def _select_proposals(context: Context, variant: str, number: int) -> _Proposed:
    connection = context.connection
    name = "rules" if number == 0 else f"{variant}{number - 1}"
    source, judge = triplets.source_id(connection, name), triplets.source_id(connection, judging.NAME)
    assert source is not None and judge is not None, f"{name} and the discriminator have run"
    kept = triplets.judged(connection, source, judge, "train")
    if number:
        kept = (judged for judged in kept if (judged.confidence or 0.0) >= context.config.self_train.confidence)
    if number and variant in "AB":
        kept = (judged for judged in kept if not _in_lexicon(context, judged.stored))
    return _Proposed(
        triplets.count(connection, source, "train"),
        [judged.stored.id for judged in kept if accepts(variant, number, judged)],
    )


def _in_lexicon(context: Context, stored: StoredTriplet) -> bool:
    """Whether the opinion, less its negators, stands in the opinion lexicon (S* of Algorithm 1 holds those that do
    not).
    """
    return context.lexicon.knows(stored.triplet.opinion.text)
