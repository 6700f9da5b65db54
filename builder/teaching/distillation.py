"""A small tagger that learnt what a large model says of the raw reviews.

In: a working directory whose build trained a model, whatever its profile. Out: a folder with an embedded tagger, which
`builder extract --source FOLDER` reads on any CPU. The teacher has read the reviews already: what it said of train is
learnt, and what it said of valid chooses epoch and threshold (Hinton et al. 2015, with hard labels; Kim and Rush 2016).
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from builder import __version__
from builder.core.errors import ConfigError, OutputError
from builder.core.files import write_atomically
from builder.engine.reader import review_view
from builder.language.build_folders import folders_in
from builder.learning.task import Example, Progress, TaggerConfig
from builder.pipeline.builds import remembered
from builder.pipeline.context import Context
from builder.pipeline.judging import list_examples
from builder.pipeline.rounds import readable_reviews
from builder.release.card import DESCRIPTION, FORMAT
from builder.store import db, runs, triplets

if TYPE_CHECKING:
    from builder.models.tagger import Tagger


@dataclass(frozen=True, slots=True)
class Distilled:
    """A student: the teacher's name, reviews and triplets that it learnt from, and its F1 against what the teacher says
    of the validation reviews: how many they are (`checked`), with how many triplets (`taught`).
    """

    teacher: str
    reviews: int
    triplets: int
    agreement: float
    checked: int
    taught: int


def distil(workdir: Path, name: str, out: Path, epochs: int, progress: Progress | None = None) -> Distilled:
    """Train a student of the model `name` (a round such as `C3`, a variant, or "" for the last one) into `out`.

    Raises:
        ConfigError: the working directory has no such model.
        OutputError: there is something at `out` already.
        ModelError: the teacher found nothing to learn.
    """
    from builder.models.kinds import training_settings
    from builder.models.saved import save
    from builder.models.tagger import train_tagger

    if out.exists():
        raise OutputError("there is something already", where=str(out), fix="name a new folder with --out")
    config = replace(remembered(workdir).resolved.config, profile="embedded")
    with db.reading(workdir) as connection:
        teacher = _teacher(workdir, [f"{done.variant}{done.round}" for done in runs.rounds(connection)], name)
        lexicon = folders_in(workdir).load_lexicon()
        context = Context(connection, config, workdir, (), workdir, lexicon, (), "", {})
        train, valid = (_list_answers(context, teacher, split) for split in ("train", "valid"))
    chars = sum(len(example.text) for example in train)
    settings = training_settings(TaggerConfig, config, epochs or config.self_train.epochs, chars)
    checkpoints = workdir / "models" / f"{teacher}.distilled.training"
    student = train_tagger(train, valid, settings, config.seed, checkpoints, progress)
    save(student, out)
    described = {
        "format": FORMAT, "name": f"{teacher}-embedded", "digest": student.digest, "teacher": _digest(workdir, teacher),
        "convention": config.rules.convention, "backend": config.annotate.backend, "builder": __version__,
    }  # fmt: skip
    write_atomically(out / DESCRIPTION, (json.dumps(described, indent=1, sort_keys=True) + "\n").encode())
    learnt, taught = (sum(len(example.triplets) for example in part) for part in (train, valid))
    return Distilled(teacher, len(train), learnt, _agreement(student, valid), len(valid), taught)


def _teacher(workdir: Path, known: list[str], name: str) -> str:
    chosen = [model for model in known if name in ("", model, model[0])]
    if not chosen:
        missing = f"no model {name!r}" if name else "no model"
        fix = "trained there: " + (", ".join(known) or "none")
        raise ConfigError(f"{missing} in {workdir}", where="--model", fix=fix)
    return chosen[-1]


def _list_answers(context: Context, teacher: str, split: str) -> list[Example]:
    """What the teacher says of every review that it read, of many of them nothing."""
    source = triplets.source_id(context.connection, teacher)
    assert source is not None, "the round is done"
    stored = triplets.proposed(context.connection, source, split)
    with_triplets = {example.id: example for example in list_examples(context, stored)}
    variants = context.lexicon.variants
    return [
        with_triplets.get(review.key) or Example(review.key, review_view(review, variants).text, ())
        for review in readable_reviews(context, split)
    ]


def _agreement(student: Tagger, valid: list[Example]) -> float:
    """Exact micro F1 of the student against the teacher."""
    taught = [{triplet.key for triplet in example.triplets} for example in valid]
    predicted = [{triplet.key for triplet in mine} for mine in student.predict([example.text for example in valid])]
    hits = sum(len(a & b) for a, b in zip(taught, predicted, strict=True))
    return 2 * hits / max(1, sum(map(len, taught)) + sum(map(len, predicted)))


def _digest(workdir: Path, teacher: str) -> str:
    with db.reading(workdir) as connection:
        return next(done.model for done in runs.rounds(connection) if f"{done.variant}{done.round}" == teacher)
