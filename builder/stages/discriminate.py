"""discriminate: train the YY / YN / NX judge on the rules' triplets (paper, section 3.3.2) and judge them with it.

Mode `paper`: one classifier, trained on the reviews of the train split, which then judges the very triplets that it
was taught to be right. Mode `cross-fit`: a panel (builder.model.panel) of which no member judges what it was trained
on; below `discriminate.least` reviews it would learn too little to be trusted and is not trained: there is no judge
then, and variant E holds what the rules hold. Validation reviews are those of the valid split. The models lie in the
working directory; the verdicts are rows of `verdicts` under the source `discriminator`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

from builder.errors import ModelError
from builder.learning.task import DiscriminatorConfig, Example, Judge, JudgedReview, TaggerConfig, sized
from builder.model import kinds
from builder.records import StoredTriplet
from builder.settings import Config
from builder.stages import predicting
from builder.stages.context import Context, ModelBar
from builder.stages.training import examples, streamed
from builder.store import db, reviews, runs, triplets

NAME = "discriminator"
TOO_FEW = "too few reviews for a judge; releasing what the rules hold"
Made = Mapping[str, list[Example]]
"""The rules' triplets of the splits `train` and `valid`."""
Facts = dict[str, int | float | str]
Known = dict[str, predicting.Verdicts]
"""Verdicts on the rules' triplets of a review, by its key."""


def run(context: Context) -> runs.Counts:
    connection = context.connection
    rules = triplets.source_id(connection, "rules")
    assert rules is not None, "seed has run"
    shown, most = ModelBar("discriminator", kinds.unit(context.config)), context.config.discriminate.most
    drawn = {"train": most, "valid": most // 10}
    made = {
        split: examples(context, triplets.proposed(connection, rules, split, number)) for split, number in drawn.items()
    }
    if context.config.discriminate.mode == "cross-fit" and len(made["train"]) < context.config.discriminate.least:
        return _without(context, len(made["train"]))
    if not made["train"]:
        raise ModelError(
            "the rules found no triplet in the train split",
            where="discriminate",
            fix="check the language of the reviews, or add more",
        )
    judge, facts, known = _MODES[context.config.discriminate.mode](context, made, shown)
    with db.atomic(connection):
        triplets.drop_sources(connection, "discriminator")
        source = triplets.source(connection, NAME, "discriminator", judge.digest)
        for split in ("train", "valid", "test"):
            told = predicting.Told(shown, reviews.characters(connection, split, rules))
            verdicts(context, judge, source, split, triplets.proposed(connection, rules, split), told, known)
    shown.close()
    labels = triplets.label_counts(connection, source)
    return {"judged": sum(labels.values()), **labels, **facts}


def _without(context: Context, number: int) -> runs.Counts:
    """No judge, and no verdict of an earlier one."""
    with db.atomic(context.connection):
        triplets.drop_sources(context.connection, "discriminator")
    (_folder(context) / "panel.json").unlink(missing_ok=True)
    return {"judged": 0, "judge": f"none: {TOO_FEW} ({number:,} of {context.config.discriminate.least:,})"}


def _paper(context: Context, made: Made, shown: ModelBar) -> tuple[Judge, Facts, Known]:
    from builder.model.negatives import discriminator_data

    judged = {split: [discriminator_data(one, context.config.seed) for one in listed] for split, listed in made.items()}
    judge = _train(context, judged, shown)
    answers = _answers(context, judge, judged["valid"], shown)
    facts: Facts = {"trained on": _size(judged["train"]), "agreement": _agreement(judged["valid"], answers)}
    return judge, facts, _known(judged["valid"], answers)


def _cross_fit(context: Context, made: Made, shown: ModelBar) -> tuple[Judge, Facts, Known]:
    from builder.model.cotrain import fold_of, train_taggers
    from builder.model.discriminator import train_discriminator
    from builder.model.negatives import discriminator_data
    from builder.model.panel import Panel, noise, save_panel, trusted
    from builder.model.saved import save

    config, folds, folder = context.config, context.config.discriminate.folds, context.models / "panel"
    chars = _chars(made["train"]) * (folds - 1) // folds
    tagging = sized(TaggerConfig(epochs=config.discriminate.epochs, threads=config.threads), chars)
    taggers = train_taggers(made["train"], made["valid"], folds, tagging, config.seed, folder / "taggers", shown)
    judged = {
        split: [discriminator_data(one, config.seed, hard=True) for one in listed] for split, listed in made.items()
    }
    members = []
    for fold in range(folds):
        others = [one for one in judged["train"] if fold_of(one.id, folds) != fold]
        place = folder / "discriminators" / str(fold)
        settings = sized(_settings(config), chars)
        members.append(
            train_discriminator(others, judged["valid"], settings, config.seed, place.with_suffix(".training"), shown)
        )
        save(members[-1], place)
    digest = Panel(taggers, tuple(members), 0.0, 0.0).digest
    said = list(predicting.unseen(context, digest, folder, _items(judged["train"]), shown))
    told = noise(judged["train"], said)
    panel = trusted(taggers, tuple(members), told)
    save_panel(panel, folder)
    answers = _answers(context, panel, judged["valid"], shown)
    facts: Facts = {"trained on": _size(judged["train"]), "agreement": _agreement(judged["valid"], answers)}
    facts |= {"noise": round(told.share, 4), "cut": round(panel.cut, 4), "trust": panel.trust}
    return panel, facts, _known(judged["train"], map(panel.verdicts, said)) | _known(judged["valid"], answers)


_MODES: dict[str, Callable[[Context, Made, ModelBar], tuple[Judge, Facts, Known]]] = {
    "paper": _paper,
    "cross-fit": _cross_fit,
}


def _train(context: Context, judged: Mapping[str, list[JudgedReview]], shown: ModelBar) -> Judge:
    """Train the discriminator of the config's profile and leave it in the working directory."""
    from builder.model.discriminator import train_discriminator
    from builder.model.saved import save

    config, folder, checkpoints = context.config, context.models / NAME, context.models / f"{NAME}.training"
    if config.profile in kinds.KINDS:
        return kinds.KINDS[config.profile].train_judge(
            config, judged["train"], judged["valid"], folder, checkpoints, shown
        )
    settings = sized(_settings(config), sum(len(one.text) for one in judged["train"]))
    judge = train_discriminator(judged["train"], judged["valid"], settings, config.seed, checkpoints, shown)
    save(judge, folder)
    return judge


def verdicts(
    context: Context,
    judge: Judge,
    source: int,
    split: str,
    stored: Iterable[StoredTriplet],
    told: predicting.Told,
    known: Known | None = None,
) -> None:
    """Judge stored triplets of a split, but for those whose verdicts are `known`, and write as they come, inside the
    caller's transaction.
    """

    def write(ids: list[int], labels: predicting.Verdicts) -> None:
        rows = [(i, label, round(score, 6)) for i, (label, score) in zip(ids, labels, strict=True)]
        triplets.judge(context.connection, source, rows)

    def open_() -> Iterator[tuple[Example, list[int]]]:
        for example, ids in streamed(context, stored):
            if known and example.id in known:
                write(ids, known[example.id])
            else:
                yield example, ids

    ask = partial(predicting.verdicts, context, judge, _folder(context), told, apart=split == "train")
    for ids, labels in predicting.along(open_(), ask):
        write(ids, labels)


def load(context: Context) -> Judge | None:
    """The judge; None where there were too few reviews for one."""
    from builder.model.panel import load_panel

    if triplets.source_id(context.connection, NAME) is None:
        return None
    if context.config.discriminate.mode == "cross-fit":
        return load_panel(_folder(context))
    return kinds.load_judge(_folder(context))


def trust(context: Context) -> float | None:
    """How far the cross-fitted panel is trusted, from 0 to 1; None where there is none."""
    path = context.models / "panel" / "panel.json"
    if (
        context.config.discriminate.mode != "cross-fit"
        or triplets.source_id(context.connection, NAME) is None
        or not path.is_file()
    ):
        return None
    return float(json.loads(path.read_text(encoding="utf-8"))["trust"])


def _folder(context: Context) -> Path:
    return context.models / ("panel" if context.config.discriminate.mode == "cross-fit" else NAME)


def _items(listed: Sequence[JudgedReview]) -> list[Example]:
    return [Example(one.id, one.text, tuple(triplet for triplet, _ in one.verdicts)) for one in listed]


def _answers(context: Context, judge: Judge, items: list[JudgedReview], shown: ModelBar) -> list[predicting.Verdicts]:
    told = predicting.Told(shown, sum(len(one.text) for one in items))
    return list(predicting.verdicts(context, judge, _folder(context), told, _items(items)))


def _agreement(items: list[JudgedReview], answers: list[predicting.Verdicts]) -> float:
    """Share of the valid split's YY, YN and NX items (of which the YY are the rules' own) that get their label."""
    right = [
        label == due
        for one, labels in zip(items, answers, strict=True)
        for (label, _), (_, due) in zip(labels, one.verdicts, strict=True)
    ]
    return round(sum(right) / max(1, len(right)), 4)


def _known(items: list[JudgedReview], answers: Iterable[predicting.Verdicts]) -> Known:
    """The verdicts on the rules' own triplets, which stand first among those that were judged: nobody need be asked
    about them again.
    """
    return {
        one.id: labels[: sum(due == "YY" for _, due in one.verdicts)]
        for one, labels in zip(items, answers, strict=True)
    }


def _settings(config: Config) -> DiscriminatorConfig:
    return DiscriminatorConfig(epochs=config.discriminate.epochs, threads=config.threads)


def _chars(listed: Sequence[Example]) -> int:
    return sum(len(one.text) for one in listed)


def _size(judged: Sequence[JudgedReview]) -> int:
    return sum(len(one.verdicts) for one in judged)
