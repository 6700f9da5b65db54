"""discriminate: judge the rules' triplets as YY, YN or NX, by the model that builder ships or by one that is
trained on them (paper, section 3.3.2).

Mode `auto` takes the shipped model where there is one; it was taught by annotated reviews. Mode `paper`: one
classifier, trained on the reviews of the train split, which then judges the very triplets that it was taught to be
right. There is no judge under the profile `rules`, nor in mode `auto` where no model is shipped; variant E then holds
what the rules hold. Validation reviews are those of the valid split. The models lie in the working directory; the
verdicts are rows of `verdicts` under the source `discriminator`.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from builder.core.errors import ModelError
from builder.core.progress import ModelBar
from builder.core.records import SPLITS
from builder.learning.task import DiscriminatorConfig, Example, Judge, JudgedReview
from builder.models import kinds
from builder.pipeline import judging, predictions
from builder.pipeline.context import Context
from builder.pipeline.judging import KnownVerdicts, list_examples, stream_split
from builder.pipeline.predictions import save_proposals
from builder.store import db, reviews, runs, triplets

if TYPE_CHECKING:
    from builder.models.text_reading import Proposal


def run(context: Context) -> runs.Counts:
    """Store the verdicts of the judge of `discriminate.mode` on the rules' triplets; the counts of them."""
    if context.config.discriminate.mode == "paper" and context.config.profile != "rules":
        return _run_classifier(context)
    if (model := judging.find_shipped_model(context.config, context.folders)) is not None:
        return _run_shipped_model(context, model)
    return _run_without_judge(context)


def _run_without_judge(context: Context) -> runs.Counts:
    """No judge, and no verdict of an earlier one."""
    with db.atomic(context.connection):
        triplets.drop_sources(context.connection, "discriminator")
    shutil.rmtree(context.models / judging.SHIPPED, ignore_errors=True)
    return {"judged": 0, "judge": f"none: {judging.NO_JUDGE}"}


def _run_shipped_model(context: Context, model: Path) -> runs.Counts:
    """Have the shipped model read every review: judge the rules' triplets, and keep what it proposes beside them, from
    which variant E starts.

    Labels of the user do not tune it; they calibrate its confidence.
    """
    from builder.models.shipped import copy_model

    connection, folder, shown = context.connection, context.models / judging.SHIPPED, ModelBar("discriminator")
    rules = triplets.require_source(connection, "rules")
    context.crew.rest()  # the workers hold words and rules of stages that are done
    judge = copy_model(model, folder, context.config.device)
    source = -1

    def read() -> Iterator[tuple[Example, list[Proposal]]]:
        sizes = {split: reviews.characters(connection, split) for split in SPLITS}
        before = 0
        for split, size in sizes.items():
            progress = predictions.CharacterProgress(shown, sum(sizes.values()), before)
            before += size
            ask = partial(predictions.score, context, judge, folder, progress)
            pairs = ((example, (example, ids)) for example, ids in stream_split(context, split, rules))
            for (example, ids), (shares, proposals) in predictions.answer_pairs(pairs, ask):
                verdicts = zip(ids, judge.verdicts(shares), strict=True)
                rows = [(triplet, label, round(score, 6)) for triplet, (label, score) in verdicts]
                triplets.judge(connection, source, rows)
                yield example, proposals

    with db.atomic(connection):
        triplets.drop_sources(connection, "discriminator")
        source = triplets.source(connection, judging.NAME, "discriminator", judge.digest)
        save_proposals(folder, judge.digest, read())
    shown.close()
    labels = triplets.label_counts(connection, source)
    return {"judged": sum(labels.values()), **labels, "judge": f"{runs.PACK_MODEL}{context.config.domain}"}


def _run_classifier(context: Context) -> runs.Counts:
    """Train the paper's classifier on the rules' triplets and judge them by it."""
    from builder.learning.task import discriminator_data

    connection, seed = context.connection, context.config.seed
    rules = triplets.require_source(connection, "rules")
    shown, most = ModelBar("discriminator", kinds.unit(context.config)), context.config.discriminate.most
    judged = {
        split: [
            discriminator_data(example, seed)
            for example in list_examples(context, triplets.proposed(connection, rules, split, number))
        ]
        for split, number in (("train", most), ("valid", most // 10))
    }
    if not judged["train"]:
        raise ModelError(
            "the rules found no triplet in the train split",
            where="discriminate",
            fix="check the language of the reviews, or add more",
        )
    judge = _train(context, judged, shown)
    answers = _classify(context, judge, judged["valid"], shown)
    known = _known_verdicts(judged["valid"], answers)
    with db.atomic(connection):
        triplets.drop_sources(connection, "discriminator")
        source = triplets.source(connection, judging.NAME, "discriminator", judge.digest)
        for split in SPLITS:
            progress = predictions.CharacterProgress(shown, reviews.characters(connection, split, rules))
            proposed = triplets.proposed(connection, rules, split)
            judging.judge_stored(context, judge, source, proposed, progress, known)
    shown.close()
    labels = triplets.label_counts(connection, source)
    return {
        "judged": sum(labels.values()),
        **labels,
        "trained on": sum(len(review.verdicts) for review in judged["train"]),
        "agreement": _measure_agreement(judged["valid"], answers),
    }


def _train(context: Context, judged: Mapping[str, list[JudgedReview]], shown: ModelBar) -> Judge:
    """Train the discriminator of the config's profile and leave it in the working directory."""
    from builder.learning.checkpoint import train_once
    from builder.models.discriminator import identify_training, train_discriminator
    from builder.models.saved import load, save

    config, folder = context.config, context.models / judging.NAME
    checkpoints = context.models / f"{judging.NAME}.training"
    if kinds.writes(config):
        return kinds.train_referee(config, judged["train"], judged["valid"], folder, checkpoints, shown)
    chars = sum(len(review.text) for review in judged["train"])
    settings = kinds.training_settings(DiscriminatorConfig, config, config.discriminate.epochs, chars)
    base = kinds.load_foundation(config, (review.text for review in judged["train"]))
    train = partial(
        train_discriminator, judged["train"], judged["valid"], settings, config.seed, checkpoints, shown, base
    )
    unique = identify_training(
        judged["train"], judged["valid"], settings, config.seed, "" if base is None else base.mark
    )
    return train_once(unique, checkpoints, folder, train, partial(load, device=config.device), save)


def _classify(context: Context, judge: Judge, items: list[JudgedReview], shown: ModelBar) -> list[predictions.Verdicts]:
    progress = predictions.CharacterProgress(shown, sum(len(review.text) for review in items))
    examples = [Example(review.id, review.text, tuple(triplet for triplet, _ in review.verdicts)) for review in items]
    return list(predictions.classify(context, judge, judging.folder_of(context), progress, examples))


def _measure_agreement(items: list[JudgedReview], answers: list[predictions.Verdicts]) -> float:
    """Share of the valid split's YY, YN and NX items (of which the YY are the rules' own) that get their label."""
    right = [
        label == due
        for review, labels in zip(items, answers, strict=True)
        for (label, _), (_, due) in zip(labels, review.verdicts, strict=True)
    ]
    return round(sum(right) / max(1, len(right)), 4)


def _known_verdicts(items: Sequence[JudgedReview], answers: Sequence[predictions.Verdicts]) -> KnownVerdicts:
    """The verdicts on the rules' own triplets, which stand first among those that were judged: nobody need be asked
    about them again.
    """
    return {
        review.id: labels[: sum(due == "YY" for _, due in review.verdicts)]
        for review, labels in zip(items, answers, strict=True)
    }
