"""Models as folders that others can load.

In: a working directory with a release, and the name of one of its models. Out: `WORKDIR/published/NAME` with weights,
configuration, tokenizer, a card, and a file that says which model it is. What the model wrote about reviews stays where
it is: those are somebody's texts.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from builder import __version__
from builder.core.errors import ConfigError, ModelError, ReleaseError
from builder.core.files import read_settings, refusals, replace_folder, write_atomically
from builder.core.settings import Config
from builder.pipeline.builds import remembered
from builder.release.card import DESCRIPTION, FORMAT, ModelFacts, description, model_card
from builder.store import db, runs

_SEQ2SEQ = "paper.json"
_LEFT = "answers-"
"""What a model wrote about reviews."""


@dataclass(frozen=True, slots=True)
class ModelFolder:
    """A folder with a model to publish, and the tag of its version."""

    path: Path
    tag: str


@dataclass(frozen=True, slots=True)
class Described:
    """What a folder says of the model in it: its name, and how the rules that name aspects to it read."""

    name: str
    convention: str
    backend: str


def make_model_folder(workdir: Path, name: str) -> ModelFolder:
    """Write the folder of a model, in place of an older one.

    Raises:
        ConfigError: the working directory has no such model, or `name` is variant E, which is no single model.
        ReleaseError: nothing was released from there.
        ModelError: the model's files are damaged, or not those that the build trained.
    """
    from builder.models.kinds import load_extractor

    facts = _facts(workdir, name)
    source, target = workdir / "models" / facts.name, workdir / "published" / facts.name
    load_extractor(source, "cpu")  # its digest is checked
    draft = target.with_name(f".{facts.name}.new")
    with refusals(target):
        shutil.rmtree(draft, ignore_errors=True)
        draft.mkdir(parents=True)
        try:
            for path in _files(source):
                shutil.copyfile(path, draft / path.name)
            if facts.seq2seq:
                kept = json.loads((draft / _SEQ2SEQ).read_text("utf-8"))
                kept["base"] = facts.base or Path(kept["base"]).name  # no paths of this machine
                write_atomically(draft / _SEQ2SEQ, (json.dumps(kept, sort_keys=True) + "\n").encode())
            write_atomically(draft / "README.md", model_card(facts).encode())
            write_atomically(draft / DESCRIPTION, description(facts).encode())
            replace_folder(draft, target)
        finally:
            shutil.rmtree(draft, ignore_errors=True)
    return ModelFolder(target, facts.tag)


def read_description(folder: Path) -> Described:
    """What a folder with a published model says of it. ModelError where it is none."""
    path = folder / DESCRIPTION
    fix = "name a folder that `builder versions publish --model` made"
    if not path.is_file():
        what = f"this folder has no model to read with: there is no {DESCRIPTION}"
        raise ModelError(what if folder.is_dir() else "no such folder", where=str(folder), fix=fix)
    try:
        made = json.loads(read_settings(path))
        if made["format"] != FORMAT:
            raise ModelError(f"not a model of format {FORMAT}", where=str(path), fix=fix)
        name, convention, backend = (made[key] for key in ("name", "convention", "backend"))
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        what = "this file does not describe a model: it needs format, name, convention and backend"
        raise ModelError(what, where=str(path), fix=fix) from error
    if not all(isinstance(value, str) for value in (name, convention, backend)):
        raise ModelError("name, convention and backend are texts", where=str(path), fix=fix)
    return Described(name, convention, backend)


def _files(source: Path) -> Iterator[Path]:
    for path in sorted(source.iterdir()):
        if path.is_file() and not path.name.startswith((".", _LEFT)):
            yield path


def _facts(workdir: Path, name: str) -> ModelFacts:
    config = remembered(workdir).resolved.config
    with db.reading(workdir) as connection:
        rounds = [done for done in runs.rounds(connection) if name in (done.variant, f"{done.variant}{done.round}")]
        known = [f"{done.variant}{done.round}" for done in runs.rounds(connection) if done.variant != "E"]
        release, scores = runs.last_release(connection), runs.metrics(connection)
    if name.startswith("E"):
        raise ConfigError(
            "variant E is rules and the shipped model together, and no model of its own", where="--model",
            fix=f"name one of {', '.join(known)}" if known else "build with self_train.variants that hold A, B, C or D",
        )  # fmt: skip
    if not rounds:
        fix = f"trained there: {', '.join(known) or 'none'}"
        raise ConfigError(f"no model {name!r} in {workdir}", where="--model", fix=fix)
    if release is None:
        raise ReleaseError(
            "nothing was released from there", where=str(workdir), fix="run `builder versions release` first"
        )
    done = rounds[-1]
    model = f"{done.variant}{done.round}"
    manifest = workdir / "models" / model / _SEQ2SEQ
    beginning = f"{model} against "
    own = [(score[0].removeprefix(beginning), *score[1:]) for score in scores if score[0].startswith(beginning)]
    return ModelFacts(
        model, done.model, config.release.name, release[0], release[1], config.release.licence, __version__,
        _base(config, manifest), manifest.is_file(), config.rules.convention, config.annotate.backend,
        done.reviews, done.triplets, own,
    )  # fmt: skip


def _base(config: Config, manifest: Path) -> str:
    """The hub name of the pretrained model; empty for a folder, which means nothing elsewhere."""
    from builder.learning.hub import is_folder
    from builder.models.kinds import base_of

    source = base_of(config)
    return "" if not source or is_folder(source) or Path(source).exists() else source
