"""discriminate: train the YY / YN / NX classifier on the rules' triplets (paper, section 3.3.2) and judge them with it.

Training reviews are those of the train split, validation those of the valid split. The trained model lies in the working directory;
its verdicts are rows of `verdicts` under the source `discriminator`.
"""

from __future__ import annotations

from collections.abc import Mapping

from builder.errors import ModelError
from builder.model import kinds
from builder.model.task import DiscriminatorConfig, Example, Judge, Judged, sized
from builder.records import StoredTriplet
from builder.stages.context import Context, ModelBar
from builder.stages.training import examples
from builder.store import db, runs, triplets

NAME = "discriminator"


def run(context: Context) -> runs.Counts:
    from builder.model.negatives import discriminator_data

    connection, config = context.connection, context.config
    rules = triplets.source_id(connection, "rules")
    assert rules is not None, "seed has run"
    seeds = {split: list(triplets.proposed(connection, rules, split)) for split in ("train", "valid", "test")}
    if not seeds["train"]:
        raise ModelError(
            "the rules found no triplet in the train split", where="discriminate", fix="check the language of the reviews, or add more"
        )
    shown = ModelBar("discriminator", kinds.unit(config))
    judged = {
        split: [discriminator_data(example, config.seed) for example in examples(context, seeds[split])[0]] for split in ("train", "valid")
    }
    judge = _train(context, judged, shown)
    with db.atomic(connection):
        triplets.drop_sources(connection, "discriminator")
        source = triplets.source(connection, NAME, "discriminator", judge.digest)
        for split in seeds:
            verdicts(context, judge, source, seeds[split], shown)
    shown.close()
    labels = triplets.label_counts(connection, source)
    return {
        "trained on": sum(len(one.verdicts) for one in judged["train"]),
        "judged": sum(labels.values()),
        **labels,
        "agreement": round(_accuracy(judge, judged["valid"]), 4),
    }


def _train(context: Context, judged: Mapping[str, list[Judged]], shown: ModelBar) -> Judge:
    """Train the discriminator of the config's profile and leave it in the working directory."""
    from builder.model.discriminator import train_discriminator
    from builder.model.store import save

    config, folder, checkpoints = context.config, context.models / NAME, context.models / f"{NAME}.training"
    if config.profile in kinds.KINDS:
        return kinds.KINDS[config.profile].train_judge(config, judged["train"], judged["valid"], folder, checkpoints, shown)
    settings = DiscriminatorConfig(epochs=config.discriminate.epochs, threads=config.threads)
    settings = sized(settings, sum(len(one.text) for one in judged["train"]))
    judge = train_discriminator(judged["train"], judged["valid"], settings, config.seed, checkpoints, shown)
    save(judge, folder)
    return judge


def verdicts(context: Context, judge: Judge, source: int, stored: list[StoredTriplet], shown: ModelBar) -> None:
    """Judge stored triplets and write the verdicts, inside the caller's transaction."""
    made, ids = examples(context, stored)
    answers = judge.classify(made, shown)
    rows = [
        (i, label, round(score, 6))
        for listed, labels in zip(ids, answers, strict=True)
        for i, (label, score) in zip(listed, labels, strict=True)
    ]
    triplets.judge(context.connection, source, rows)


def load(context: Context) -> Judge:
    return kinds.load_judge(context.models / NAME)


def _accuracy(judge: Judge, items: list[Judged]) -> float:
    """Share of the valid split's YY, YN and NX items (of which the YY are the rules' own) that get their label."""
    answers = judge.classify([Example(one.id, one.text, tuple(t for t, _ in one.verdicts)) for one in items])
    right = [
        label == due for one, labels in zip(items, answers, strict=True) for (label, _), (_, due) in zip(labels, one.verdicts, strict=True)
    ]
    return sum(right) / max(1, len(right))
