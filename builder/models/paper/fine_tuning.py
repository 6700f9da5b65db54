"""Fine-tuning the two models of the paper profile, and what is kept of them on disk.

In: examples, a base, numbers. Out: a `Writer` or a `Referee`. A folder written by `save` holds the model as
transformers writes it (so that it can itself be a base) and `paper.json`, written last: kind, numbers, facts and a
digest over weights and numbers that loading checks.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any, TypeVar

import torch

from builder.core.errors import BuilderError, ModelError
from builder.core.files import read_settings, replace_folder, write_atomically
from builder.learning.checkpoint import Checkpoints, tensor_digest, train_once, weights_of
from builder.learning.hub import quiet
from builder.learning.processes import launched, together
from builder.learning.task import Example, JudgedReview, Progress
from builder.models.paper.models import AnswerScore, Referee, VerdictScore, Writer, ask, nothing_to_learn, settings
from builder.models.paper.pretrained import Base, check_characters, load_base
from builder.models.paper.seq2seq import FineTuned, Seq2SeqConfig, ShareScore, TokenPair, fit
from builder.models.paper.templates import Asking, answer, judge_answers, judge_question, triple_of

Model = TypeVar("Model", bound=Writer | Referee)
MANIFEST = "paper.json"
FORMAT = 1


def train_writer(
    train: Sequence[Example], valid: Sequence[Example], source: str, asking: Asking, config: Seq2SeqConfig, seed: int,
    checkpoints: Path, progress: Progress | None = None, folder: Path | None = None,
) -> Writer:  # fmt: skip
    """Fine-tune a base to write the triplets of `train`; the epoch with the best example-based F1 on `valid` wins. With
    a `folder` the model is saved there, and a training that was saved before is read.
    """
    if not any(example.triplets for example in train):
        raise nothing_to_learn(len(train), "triplet")
    base = load_base(source)
    share = check_characters(base, (example.text for example in train))
    due = [answer([triple_of(triplet) for triplet in example.triplets], asking.template) for example in train]
    texts = [(example.id, ask(example, asking), target) for example, (target, _) in zip(train, due, strict=True)]
    pairs, cut = make_pairs(base, texts, config)
    score = AnswerScore(base.without_network(), asking, config, tuple(valid))

    def tune() -> Writer:
        trained = fine_tune(base, pairs, score, config, seed, checkpoints, progress)
        facts = _facts(trained, len(train), cut, share) | {
            "triplets_lost": float(sum(len(left) for _, left in due)),
            "valid_f1": trained.score,
        }
        return Writer(base, asking, config, _digest(base, settings("writer", config.numbers, asdict(asking))), facts)

    return _once(tune, fingerprint(base, pairs, config, seed), checkpoints, folder, config.device)


def train_referee(
    train: Sequence[JudgedReview], valid: Sequence[JudgedReview], source: str, config: Seq2SeqConfig, seed: int,
    checkpoints: Path, progress: Progress | None = None, folder: Path | None = None,
) -> Referee:  # fmt: skip
    """Fine-tune a base to answer the two questions about judged triplets; the epoch of the best accuracy wins. `folder`
    as of `train_writer`.
    """
    if not any(item.verdicts for item in train):
        raise nothing_to_learn(len(train), "judged triplet")
    base = load_base(source)
    share = check_characters(base, (item.text for item in train))
    texts = [
        (
            f"{item.id} {number}",
            judge_question(item.text, triple_of(triplet)),
            judge_answers(triple_of(triplet))[verdict],
        )
        for item in train
        for number, (triplet, verdict) in enumerate(item.verdicts)
    ]
    pairs, cut = make_pairs(base, texts, config)
    held_out = tuple(
        (
            Example(example.id, example.text, tuple(t for t, _ in example.verdicts)),
            tuple(v for _, v in example.verdicts),
        )
        for example in valid
    )
    score = VerdictScore(base.without_network(), config, held_out)

    def tune() -> Referee:
        trained = fine_tune(base, pairs, score, config, seed, checkpoints, progress)
        facts = _facts(trained, len(train), cut, share) | {
            "triplets": float(len(pairs)),
            "valid_accuracy": trained.score,
        }
        return Referee(base, config, _digest(base, settings("referee", config.numbers, {})), facts)

    return _once(tune, fingerprint(base, pairs, config, seed), checkpoints, folder, config.device)


def _once(train: Callable[[], Model], unique: str, checkpoints: Path, folder: Path | None, device: str) -> Model:
    """What `train` makes: saved in `folder`, where one is named, or read where it was saved before."""
    return train_once(unique, checkpoints, folder, train, partial(load, device=device), save) if folder else train()


def fine_tune(
    base: Base,
    pairs: Sequence[TokenPair],
    score: ShareScore,
    config: Seq2SeqConfig,
    seed: int,
    checkpoints: Path,
    progress: Progress | None = None,
) -> FineTuned:
    """Train `base.network` in place, here or in processes of a launcher, from the last checkpoint on."""
    if not pairs:
        raise ModelError("the training set is empty", where="sequence-to-sequence training", fix="train on more data")
    unique = fingerprint(base, pairs, config, seed)
    if launched() == 1:
        return fit(base.network, pairs, score, config, seed, checkpoints, unique, progress)
    trained: FineTuned = together(_train_here, (base.source, pairs, score, config, seed, checkpoints, unique), progress)
    Checkpoints(checkpoints, unique).read_best(base.network)
    base.network.eval()
    return trained


def _train_here(progress: Progress | None, arguments: tuple[Any, ...]) -> FineTuned:
    """What each of several processes does."""
    source, pairs, score, config, seed, checkpoints, unique = arguments
    return fit(load_base(source).network, pairs, score, config, seed, checkpoints, unique, progress)


def make_pairs(base: Base, texts: Sequence[tuple[str, str, str]], config: Seq2SeqConfig) -> tuple[list[TokenPair], int]:
    """(id, question, answer) as tokens, and how many of them had to be cut."""
    whole = [(name, base.tokens(asked, 10**9), base.tokens(due, 10**9)) for name, asked, due in texts]
    cut = sum(len(asked) > config.max_input or len(due) > config.max_output for _, asked, due in whole)

    def shorten(ids: tuple[int, ...], most: int) -> tuple[int, ...]:
        return (*ids[:-1][: most - 1], base.eos)

    pairs = [
        TokenPair(name, shorten(asked, config.max_input), shorten(due, config.max_output)) for name, asked, due in whole
    ]
    return pairs, cut


def _facts(trained: FineTuned, examples: int, cut: int, unknown: float) -> dict[str, float]:
    return {
        "epoch": trained.epoch,
        "examples": examples,
        "cut": cut,
        "unknown_characters": round(unknown, 6),
        "device_tokens": trained.part_tokens,
    }


def fingerprint(base: Base, pairs: Sequence[TokenPair], config: Seq2SeqConfig, seed: int) -> str:
    """What makes two trainings the same: base weights, data, numbers, libraries."""
    total = hashlib.sha256(repr((config, seed, torch.__version__, version("transformers"))).encode())
    total.update(tensor_digest(weights_of(base.network)).encode())
    for pair in pairs:
        total.update(repr((pair.id, pair.source, pair.target)).encode("utf-8", "surrogatepass"))
    return total.hexdigest()


def _digest(base: Base, numbers: str) -> str:
    return tensor_digest(weights_of(base.network), numbers)[:16]


def save_base(base: Base, folder: Path) -> None:
    """Network and tokenizer as transformers writes them, put in place in one go; what was at `folder` goes."""
    beside = folder.with_name(f".{folder.name}.new")
    try:
        shutil.rmtree(beside, ignore_errors=True)
        beside.mkdir(parents=True)
        with quiet():
            base.network.to("cpu").save_pretrained(beside)
            base.tokenizer.save_pretrained(beside)
        replace_folder(beside, folder)
    except OSError as error:
        raise ModelError(f"cannot write: {error.strerror or error}", where=str(folder)) from error
    finally:
        shutil.rmtree(beside, ignore_errors=True)


def save(model: Model, folder: Path) -> Model:
    """Write a model to `folder`; the same model, which keeps its answers there from now on."""
    save_base(model.base, folder)
    kept = {
        "format": FORMAT,
        "kind": "writer" if isinstance(model, Writer) else "referee",
        "digest": model.digest,
        "config": model.config.numbers,
        "asking": asdict(model.asking) if isinstance(model, Writer) else {},
        "facts": model.facts,
        "base": model.base.source,
    }
    write_atomically(folder / MANIFEST, (json.dumps(kept, sort_keys=True) + "\n").encode())
    return replace(model, folder=folder) if isinstance(model, Writer) else model


def load(folder: Path, device: str = "auto") -> Writer | Referee:
    """The model that `save` wrote, which will run on `device`; ModelError says what is missing, damaged or foreign."""
    path = folder / MANIFEST
    try:
        kept = json.loads(read_settings(path))
        if kept["format"] != FORMAT:
            raise ModelError(f"not a model of format {FORMAT}", where=str(path), fix="train the model again")
        config = replace(Seq2SeqConfig.read(kept["config"]), device=device)
        facts, digest = dict(kept["facts"]), str(kept["digest"])
        asking = Asking(**{key: value for key, value in kept["asking"].items() if key != "constrained"})
        kind = {"writer": "writer", "referee": "referee"}[kept["kind"]]
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise ModelError(
            f"no readable model of the paper profile: {error!r}", where=str(path), fix="train the model again"
        ) from error
    except BuilderError as error:
        raise ModelError(error.what, where=str(path), fix="train the model again") from error
    base = load_base(str(folder))
    if (actual := _digest(base, settings(kind, kept["config"], kept["asking"]))) != digest:
        raise ModelError(
            f"digest is {actual}, {MANIFEST} says {digest}", where=str(folder), fix="train the model again"
        )
    if kind == "writer":
        return Writer(base, asking, config, digest, facts, folder)
    return Referee(base, config, digest, facts)
