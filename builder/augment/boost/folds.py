"""Cross-boosting: who trains, who validates, and whose candidates are judged (BoostAug, Algorithm 1, lines 1 to 7).

In: sentences. Out: k folds of indices. Sentences with one text (one a labelled aspect) stay in one fold, since a
surrogate that was trained on a text is sure of its copies; labels are spread evenly; which fold validates is drawn by
the seed. Order changes nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from builder.augment.records import Sentence, seeded
from builder.core.errors import ConfigError

Labels = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Fold:
    """Indices of sentences: k - 2 folds train, with the one that validates if asked for; one is boosted."""

    number: int
    train: tuple[int, ...]
    valid: tuple[int, ...]
    boost: tuple[int, ...]


def labels(sentence: Sentence) -> Labels:
    """What a surrogate is to say of a sentence: its class, or the polarity of each marked aspect that has one."""
    if sentence.label is not None:
        return (sentence.label,)
    return tuple(mark.polarity for mark in sentence.marks if mark.kind == "aspect" and mark.polarity is not None)


def crossed(
    sentences: Sequence[Sentence], folds: int, seed: int, classes: bool = True, train_on_valid: bool = False
) -> tuple[Fold, ...]:
    """Every fold in turn is the one that is boosted; `train_on_valid`: the one that validates trains too (section 2.1,
    line 7 of Algorithm 1). ConfigError for fewer than 3 folds, fewer distinct texts than
    folds, and, if the surrogate is to tell `classes` apart, for a fold whose training part has only one.
    """
    if folds < 3:
        raise ConfigError(
            f"{folds} folds leave none to train on", where="boostaug.folds", fix="use 3 at least, or monoaug"
        )
    texts: dict[str, list[int]] = {}
    for i, sentence in enumerate(sentences):
        texts.setdefault(sentence.text, []).append(i)
    if len(texts) < folds:
        raise ConfigError(
            f"{len(texts)} sentences of different text, and {folds} folds",
            where="boostaug.folds",
            fix="use fewer folds, or monoaug",
        )
    ranked = sorted(
        texts,
        key=lambda text: (min(labels(sentences[i]) for i in texts[text]), seeded(seed, "folds", text).random(), text),
    )
    parts = [tuple(sorted(i for text in ranked[at::folds] for i in texts[text])) for at in range(folds)]
    out = []
    for number in range(folds):
        others = [at for at in range(folds) if at != number]
        valid = seeded(seed, "valid fold", str(number)).choice(others)
        train = tuple(sorted(i for at in others if train_on_valid or at != valid for i in parts[at]))
        out.append(Fold(number, train, parts[valid], parts[number]))
        if classes:
            several(sentences, train, f"fold {number + 1} of {folds}")
    return tuple(out)


def whole(sentences: Sequence[Sentence], classes: bool = True) -> tuple[Fold, ...]:
    """MonoAug (section 4.2): the surrogate is trained on all it will judge, and nothing validates it."""
    every = tuple(range(len(sentences)))
    if classes:
        several(sentences, every, "monoaug")
    return (Fold(0, every, (), every),)


def several(sentences: Sequence[Sentence], train: Sequence[int], where: str) -> None:
    """ConfigError where fewer than two classes are left to tell apart."""
    counts = Counter(label for i in train for label in labels(sentences[i]))
    if len(counts) < 2:
        held = f"only {next(iter(counts))!r} ({counts.total()})" if counts else "no label"
        raise ConfigError(
            f"{held} among the {len(train)} sentences that its surrogate is trained on",
            where=where,
            fix="give more sentences of other labels",
        )
