"""BoostAug (Yang and Li 2022, "Augmentor or Filter?", Algorithm 1): any method proposes, a surrogate decides.

A candidate stays that is unsurprising (perplexity), of whose label the surrogate is sure (confidence), and which is the
sentence's own. The surrogate is never trained on what it judges: of k folds k - 2 train, one chooses the checkpoint
(`train_on_valid`: trains too), one is boosted, k times. MonoAug has one surrogate, trained on everything (section 4.2).

What a surrogate says of a fold is a file `fold-N-….json`, from which a stopped run goes on, and other thresholds are
tried without training anew. `judged-….jsonl` beside it has every candidate with the reasons against it.
"""

from __future__ import annotations

import importlib
import json
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, cast

from builder.augment.candidates import Method, Rewrite, Sentence, applied, rewrite_of
from builder.augment.catalogue import AugmentSettings, make_method
from builder.augment.constraints import place_marks
from builder.augment.method_settings import BoostSettings, Scale
from builder.augment.methods.boost_filters import (
    Fold,
    JudgedCandidate,
    Reference,
    Surrogate,
    SurrogateReading,
    Thresholds,
    Trainer,
    crossed,
    sifted,
    survive,
    whole,
)
from builder.core.code import code_digest
from builder.core.errors import ConfigError
from builder.core.files import Kept, key_of, write_atomically

TRAINERS = {"embedded": "builder.augment.methods.boost_embedded", "hub": "builder.augment.methods.boost_hub"}
"""Who trains a surrogate for classes of texts and polarities of aspects: an embedded one, or one of a hub or folder."""
CODE = ("builder.augment.methods",)
"""What back ends propose and surrogates say depends on: an edit of these has folds read again."""


@dataclass(frozen=True, slots=True)
class FoldRow:
    """What a surrogate says of a sentence, and of its candidates (None: an edit touches a mark)."""

    own: SurrogateReading
    candidates: tuple[Rewrite, ...]
    readings: tuple[SurrogateReading | None, ...]


@dataclass(frozen=True, slots=True)
class BoostAug:
    """The method; `folds` 0: MonoAug. Folds are of `given`, of which a caller may ask a part; each call reads
    them again, and trains them again but for those kept in `folder`."""

    backend: Method
    trainer: Trainer
    limits: Thresholds
    scale: Scale = "source"
    folds: int = 5
    oversample: int = 2
    folder: Path | None = None
    given: tuple[Sentence, ...] = ()
    train_on_valid: bool = False

    @property
    def name(self) -> str:
        return "boostaug" if self.folds else "monoaug"

    @property
    def signature(self) -> str:
        return f"{self.name}/{self.readings}-{key_of(self.limits, self.scale)}"

    @property
    def readings(self) -> str:
        """What the surrogates' readings depend on: all but the thresholds."""
        more = (self.train_on_valid,) if self.train_on_valid else ()
        return key_of(self.backend.signature, self.trainer.signature, self.folds, self.oversample, *more)

    def propose(self, sentences: Sequence[Sentence], copies: int, seed: int) -> Iterator[tuple[Rewrite, ...]]:
        """What the filters keep, the surest first where they rank; the score is the surrogate's confidence.

        Who judges a sentence depends on all of them. ConfigError where folds cannot be made, or nothing at all is kept.
        """
        for row in self.judge(sentences, copies, seed):
            kept = [
                replace(judged.candidate, score=judged.reading.confidence)
                for judged in row
                if judged.reading and not judged.reasons
            ]
            yield tuple(sorted(kept, key=lambda rewrite: -(rewrite.score or 0)) if self.limits.ranks else kept)

    def judge(self, sentences: Sequence[Sentence], copies: int, seed: int) -> list[tuple[JudgedCandidate, ...]]:
        """Every candidate of each sentence, kept or not, with what the surrogate said and the reasons against it."""
        known = {sentence.id for sentence in self.given}
        every = self.given if all(sentence.id in known for sentence in sentences) else tuple(sentences)
        judged = self._every(every, copies, seed)
        return [judged[sentence.id] for sentence in sentences]

    def due(self, copies: int, seed: int) -> list[int]:
        """The folds of `given` that nothing is kept of."""
        folds = self._folds(self.given, seed)
        return [fold.number for fold in folds if self._kept().find(self._key(self.given, fold, copies, seed)) is None]

    def read(self, number: int, copies: int, seed: int) -> list[Any]:
        """A fold of `given`, for `keep`: what its file holds."""
        return self._fold(self.given, self._folds(self.given, seed)[number], copies, seed)

    def keep(self, number: int, copies: int, seed: int, rows: Sequence[Any]) -> None:
        """Keep a fold that a worker has read; `propose` finds it."""
        self._kept().put(self._key(self.given, self._folds(self.given, seed)[number], copies, seed), rows)

    def _folds(self, sentences: Sequence[Sentence], seed: int) -> tuple[Fold, ...]:
        if len({sentence.id for sentence in sentences}) < len(sentences):
            raise ConfigError("two sentences have the same id", where=self.name, fix="give each its own")
        return crossed(sentences, self.folds, seed, self.train_on_valid) if self.folds else whole(sentences)

    def _every(self, sentences: Sequence[Sentence], copies: int, seed: int) -> dict[str, tuple[JudgedCandidate, ...]]:
        """The judgements of all sentences, by their ids."""
        out: dict[str, tuple[JudgedCandidate, ...]] = {}
        for fold in self._folds(sentences, seed):
            _, *rows = self._fold(sentences, fold, copies, seed)
            out |= {sentences[i].id: self._sifted(_row(row), copies) for i, row in zip(fold.boost, rows, strict=True)}
        judged = [candidate for sentence in sentences for candidate in out[sentence.id]]
        if self.folder:
            path = self.folder / self.name / f"judged-{key_of(self.signature, copies, seed)}.jsonl"
            write_atomically(path, "".join(json.dumps(asdict(each)) + "\n" for each in judged).encode())
        survive(judged, self.limits, self.name)
        return out

    def _sifted(self, row: FoldRow, copies: int) -> tuple[JudgedCandidate, ...]:
        own, readings, reference = row.own, row.readings, Reference()
        if self.scale == "source":
            reference = Reference(own.confidence, own.perplexity, own.label)
        else:
            readings = tuple(reading and reading.absolute for reading in readings)
        return sifted(row.candidates, readings, self.limits, reference, copies)

    def _fold(self, sentences: Sequence[Sentence], fold: Fold, copies: int, seed: int) -> list[Any]:
        """The fold's readings, as its file holds them: from there, or made and written."""
        key = self._key(sentences, fold, copies, seed)

        def make(folder: Path) -> list[Any]:
            train, valid, boost = _thirds(sentences, fold)
            checkpoints = folder / f"fold-{fold.number}.training"
            surrogate = self.trainer.fit(train, valid, seed, checkpoints)
            proposed = list(self.backend.propose(boost, self.oversample * copies, seed))
            rows = _rows(surrogate, boost, proposed)
            shutil.rmtree(checkpoints, ignore_errors=True)
            return [{"surrogate": surrogate.digest}, *map(asdict, rows)]

        if self.folder:
            kept = self._kept()
            return cast(list[Any], kept.get(key, lambda: make(kept.folder)))
        with TemporaryDirectory(prefix="builder-boost-") as scratch:
            return cast(list[Any], Kept(Path(scratch)).get(key, lambda: make(Path(scratch))))

    def _kept(self) -> Kept:
        assert self.folder is not None, "folds are kept where models are"
        return Kept(self.folder / self.name)

    def _key(self, sentences: Sequence[Sentence], fold: Fold, copies: int, seed: int) -> str:
        return (
            f"fold-{fold.number}-{key_of(code_digest(*CODE), self.readings, copies, seed, *_thirds(sentences, fold))}"
        )


def _thirds(sentences: Sequence[Sentence], fold: Fold) -> list[list[Sentence]]:
    return [[sentences[i] for i in part] for part in (fold.train, fold.valid, fold.boost)]


def _rows(
    surrogate: Surrogate, sentences: Sequence[Sentence], proposed: Sequence[tuple[Rewrite, ...]]
) -> list[FoldRow]:
    """One pass over all candidates: batches are full, whatever a sentence has."""
    made = [
        [changed(sentence, candidate) for candidate in row] for sentence, row in zip(sentences, proposed, strict=True)
    ]
    readings = iter(surrogate.read([text for row in made for text in row if text]))
    by_sentence = [tuple(next(readings) if text else None for text in row) for row in made]
    return [FoldRow(*parts) for parts in zip(surrogate.read(sentences), proposed, by_sentence, strict=True)]


def changed(sentence: Sentence, candidate: Rewrite) -> Sentence | None:
    """The candidate as a sentence with its label, or marks where they now stand; None where an edit touches one."""
    marks = tuple(mark for mark in place_marks(sentence.marks, candidate) if mark)
    if len(marks) < len(sentence.marks):
        return None
    label = sentence.label if candidate.label is None else candidate.label
    return Sentence(sentence.id, applied(sentence.text, candidate.edits), (), marks, label, sentence.language)


def _row(row: dict[str, Any]) -> FoldRow:
    return FoldRow(
        SurrogateReading(**row["own"]),
        tuple(map(rewrite_of, row["candidates"])),
        tuple(SurrogateReading(**reading) if reading else None for reading in row["readings"]),
    )


def load(settings: AugmentSettings) -> BoostAug:
    """`boostaug`: cross-boosting with the back end that `boostaug.backend` names."""
    return _made(settings, settings.boostaug, settings.boostaug.folds)


def load_mono(settings: AugmentSettings) -> BoostAug:
    """`monoaug`: the same without folds."""
    return _made(settings, settings.monoaug, 0)


def _made(settings: AugmentSettings, own: BoostSettings, folds: int) -> BoostAug:
    name = "boostaug" if folds else "monoaug"
    if own.backend in ("boostaug", "monoaug"):
        raise ConfigError(
            "a filter cannot be its own back end", where=f"{name}.backend", fix="use eda, spelling, split, bert …"
        )
    limits = Thresholds(
        own.confidence if own.by_confidence else None,
        own.perplexity if own.by_perplexity else None,
        own.by_label,
        own.ranked,
    )
    trainer = importlib.import_module(TRAINERS["hub" if own.base else "embedded"]).trainer(settings, own)
    return BoostAug(
        make_method(own.backend, settings),
        trainer,
        limits,
        own.scale,
        folds,
        own.oversample,
        settings.given.models,
        settings.given.sentences,
        own.train_on_valid,
    )
