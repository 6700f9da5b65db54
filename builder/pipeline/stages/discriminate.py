"""discriminate: judge the rules' triplets as YY, YN or NX, by the model that builder ships or by one that is
trained on them (paper, section 3.3.2).

Mode `auto` takes the shipped model where there is one; it was taught by annotated reviews. Mode `paper`: one
classifier, trained on the reviews of the train split, which then judges the very triplets that it was taught to be
right. Mode `cross-fit`: a panel (builder.models.panel) of which no member judges what it was trained on; below
`discriminate.least` reviews it would learn too little to be trusted and is not trained. There is no judge then, nor
under the profile `rules`, and variant E holds what the rules hold. Validation reviews are those of the valid split. The
models lie in the working directory; the verdicts are rows of `verdicts` under the source `discriminator`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from builder.core.errors import ModelError
from builder.core.progress import ModelBar
from builder.learning.task import DiscriminatorConfig, Example, Judge, JudgedReview, TaggerConfig
from builder.models import kinds
from builder.pipeline import judging, predictions
from builder.pipeline.context import Context
from builder.pipeline.judging import KnownVerdicts, pack_examples, stream_examples
from builder.pipeline.layers import list_taught_examples
from builder.pipeline.predictions import save_proposals
from builder.store import db, reviews, runs, triplets

if TYPE_CHECKING:
    from builder.models.panel import Shares
    from builder.models.tagger import Proposal

ExamplesBySplit = Mapping[str, Sequence[Example]]
"""The rules' triplets of the splits `train` and `valid`."""
Facts = dict[str, int | float | str]


def run(context: Context) -> runs.Counts:
    """Train the judge of `discriminate.mode`, store its verdicts on the rules' triplets; the counts of them."""
    connection = context.connection
    if context.config.profile == "rules":
        return _run_without_judge(context, judging.RULES_ALONE)
    rules = triplets.source_id(connection, "rules")
    assert rules is not None, "seed has run"
    shown, most = ModelBar("discriminator", kinds.unit(context.config)), context.config.discriminate.most
    if (model := judging.find_shipped_model(context.config, context.folders)) is not None:
        return _judge_by_shipped_model(context, model, rules, shown)
    drawn = {"train": most, "valid": most // 10}
    rule_examples = {
        split: pack_examples(context, triplets.proposed(connection, rules, split, number))
        for split, number in drawn.items()
    }
    if context.config.discriminate.mode != "paper" and len(rule_examples["train"]) < context.config.discriminate.least:
        number, least = len(rule_examples["train"]), context.config.discriminate.least
        return _run_without_judge(context, f"{judging.TOO_FEW} ({number:,} of {least:,})")
    if not rule_examples["train"]:
        raise ModelError(
            "the rules found no triplet in the train split",
            where="discriminate",
            fix="check the language of the reviews, or add more",
        )
    train = _train_paper if context.config.discriminate.mode == "paper" else _train_cross_fit
    judge, facts, known = train(context, rule_examples, shown)
    with db.atomic(connection):
        triplets.drop_sources(connection, "discriminator")
        source = triplets.source(connection, judging.NAME, "discriminator", judge.digest)
        for split in ("train", "valid", "test"):
            progress = predictions.CharacterProgress(shown, reviews.characters(connection, split, rules))
            proposed = triplets.proposed(connection, rules, split)
            judging.judge_stored(context, judge, source, split, proposed, progress, known)
    shown.close()
    labels = triplets.label_counts(connection, source)
    return {"judged": sum(labels.values()), **labels, **facts}


def _run_without_judge(context: Context, reason: str) -> runs.Counts:
    """No judge, and no verdict of an earlier one."""
    with db.atomic(context.connection):
        triplets.drop_sources(context.connection, "discriminator")
    (judging.folder_of(context) / "panel.json").unlink(missing_ok=True)
    return {"judged": 0, "judge": f"none: {reason}"}


def _judge_by_shipped_model(context: Context, model: Path, rules: int, shown: ModelBar) -> runs.Counts:
    """Judge all triplets of the rules by the shipped model, and keep what it proposes beside them.

    Labels of the user may weigh rules and reader anew (`Folders.taught_model`), and calibrate its confidence.
    """
    from builder.models.shipped import copy_model

    connection, folder = context.connection, context.models / "panel"
    context.crew.rest()  # the workers hold words and rules of stages that are done
    panel = copy_model(model, folder)
    source = -1

    def judge() -> Iterator[tuple[Example, list[Proposal]]]:
        sizes = {split: reviews.characters(connection, split, rules) for split in ("train", "valid", "test")}
        before = 0
        for split, size in sizes.items():
            progress = predictions.CharacterProgress(shown, sum(sizes.values()), before)
            before += size
            ask = partial(predictions.score, context, panel, folder, progress)
            stored = stream_examples(context, triplets.proposed(connection, rules, split))
            pairs = ((example, (example, ids)) for example, ids in stored)
            for (example, ids), (shares, proposals) in predictions.answer_pairs(pairs, ask):
                verdicts = zip(ids, panel.verdicts(shares), strict=True)
                rows = [(triplet, label, round(score, 6)) for triplet, (label, score) in verdicts]
                triplets.judge(connection, source, rows)
                yield example, proposals

    with db.atomic(connection):
        triplets.drop_sources(connection, "discriminator")
        source = triplets.source(connection, judging.NAME, "discriminator", panel.digest)
        save_proposals(folder, panel.taggers.digest, judge())
    shown.close()
    labels = triplets.label_counts(connection, source)
    return {"judged": sum(labels.values()), **labels, "judge": f"{runs.PACK_MODEL}{context.config.domain}"}


def _train_paper(
    context: Context, rule_examples: ExamplesBySplit, shown: ModelBar
) -> tuple[Judge, Facts, KnownVerdicts]:
    from builder.models.negatives import discriminator_data

    judged = {
        split: [discriminator_data(example, context.config.seed) for example in examples]
        for split, examples in rule_examples.items()
    }
    judge = _train(context, judged, shown)
    answers = _classify(context, judge, judged["valid"], shown)
    facts: Facts = {
        "trained on": _count_items(judged["train"]),
        "agreement": _measure_agreement(judged["valid"], answers),
    }
    return judge, facts, _known_verdicts(judged["valid"], answers)


def _train_cross_fit(
    context: Context, rule_examples: ExamplesBySplit, shown: ModelBar
) -> tuple[Judge, Facts, KnownVerdicts]:
    from builder.models.cotrain import train_taggers
    from builder.models.negatives import discriminator_data
    from builder.models.panel import Panel, save_panel, trusted
    from builder.models.panel import noise as estimate_noise
    from builder.models.tuning import TaughtExamples, tune_taggers

    config, folds, folder = context.config, context.config.discriminate.folds, context.models / "panel"
    chars = _count_chars(rule_examples["train"]) * (folds - 1) // folds
    base = kinds.load_foundation(config, (example.text for example in rule_examples["train"]))
    tagging = kinds.training_settings(TaggerConfig, config, config.discriminate.epochs, chars)
    context.crew.rest()  # training needs the memory
    taggers = train_taggers(
        rule_examples["train"], rule_examples["valid"], folds, tagging, config.seed, folder / "taggers", shown, base
    )
    taught = TaughtExamples(tuple(list_taught_examples(context)), config.discriminate.label_weight)
    taggers = tune_taggers(taggers, rule_examples["train"], taught, config.seed, folder / "taggers")
    judged = {
        split: [discriminator_data(example, config.seed, hard=True) for example in examples]
        for split, examples in rule_examples.items()
    }
    digest = Panel(taggers, 0.0, 0.0).digest
    examples = _judged_examples(judged["train"])
    shares: list[Shares] = []

    def proposed() -> Iterator[tuple[Example, list[Proposal]]]:
        answers = predictions.score_unseen(context, digest, folder, examples, shown)
        for example, (own, proposals) in zip(examples, answers, strict=True):
            shares.append(own)
            yield example, proposals

    save_proposals(folder, taggers.digest, proposed())
    noise = estimate_noise(judged["train"], shares)
    panel = trusted(taggers, noise)
    save_panel(panel, folder)
    answers = _classify(context, panel, judged["valid"], shown)
    facts: Facts = {
        "trained on": _count_items(judged["train"]),
        "agreement": _measure_agreement(judged["valid"], answers),
    }
    facts |= {"noise": round(noise.share, 4), "mean": round(noise.mean, 4)}
    facts |= {"cut": round(panel.cut, 4), "trust": panel.trust}
    if panel.taggers.taught:
        facts["labelled"] = len(panel.taggers.taught)
    return (
        panel,
        facts,
        _known_verdicts(judged["train"], map(panel.verdicts, shares)) | _known_verdicts(judged["valid"], answers),
    )


def _train(context: Context, judged: Mapping[str, list[JudgedReview]], shown: ModelBar) -> Judge:
    """Train the discriminator of the config's profile and leave it in the working directory."""
    from builder.models.discriminator import train_discriminator
    from builder.models.foundation import train_on
    from builder.models.saved import save

    config, folder, checkpoints = (
        context.config,
        context.models / judging.NAME,
        context.models / f"{judging.NAME}.training",
    )
    if config.profile in kinds.KINDS:
        return kinds.KINDS[config.profile].train_judge(
            config, judged["train"], judged["valid"], folder, checkpoints, shown
        )
    chars = sum(len(review.text) for review in judged["train"])
    settings = kinds.training_settings(DiscriminatorConfig, config, config.discriminate.epochs, chars)
    base = kinds.load_foundation(config, (review.text for review in judged["train"]))
    training = partial(
        train_discriminator, judged["train"], judged["valid"], settings, config.seed, checkpoints, foundation=base
    )
    judge = train_on(base, training, config.threads, shown)
    save(judge, folder)
    return judge


def _judged_examples(judged: Sequence[JudgedReview]) -> list[Example]:
    return [Example(review.id, review.text, tuple(triplet for triplet, _ in review.verdicts)) for review in judged]


def _classify(context: Context, judge: Judge, items: list[JudgedReview], shown: ModelBar) -> list[predictions.Verdicts]:
    progress = predictions.CharacterProgress(shown, sum(len(review.text) for review in items))
    return list(predictions.classify(context, judge, judging.folder_of(context), progress, _judged_examples(items)))


def _measure_agreement(items: list[JudgedReview], answers: list[predictions.Verdicts]) -> float:
    """Share of the valid split's YY, YN and NX items (of which the YY are the rules' own) that get their label."""
    right = [
        label == due
        for review, labels in zip(items, answers, strict=True)
        for (label, _), (_, due) in zip(labels, review.verdicts, strict=True)
    ]
    return round(sum(right) / max(1, len(right)), 4)


def _known_verdicts(items: list[JudgedReview], answers: Iterable[predictions.Verdicts]) -> KnownVerdicts:
    """The verdicts on the rules' own triplets, which stand first among those that were judged: nobody need be asked
    about them again.
    """
    return {
        review.id: labels[: sum(due == "YY" for _, due in review.verdicts)]
        for review, labels in zip(items, answers, strict=True)
    }


def _count_chars(examples: Sequence[Example]) -> int:
    return sum(len(example.text) for example in examples)


def _count_items(judged: Sequence[JudgedReview]) -> int:
    return sum(len(review.verdicts) for review in judged)
