"""BoostAug's folds and filters: which surrogate model judges which candidates, and which of them survive.

Folds are those of cross-boosting (Algorithm 1, lines 1 to 7): who trains, who validates, and whose candidates are
judged. In: sentences. Out: k folds of indices. Sentences of the same text (one a labelled aspect) stay in one fold: a
surrogate is sure of copies of what it was trained on. Labels are spread evenly, and the seed draws which fold
validates. The order of the sentences changes nothing.

Filters (Yang and Li 2022, section 2.3) are pure functions of what a surrogate says of a candidate. The paper's text
names its thresholds "alpha = 0.99 and beta = 5". Its formulas drop perplexity >= alpha and confidence <= beta, which
together would drop everything. The meaning is confidence 0.99 and perplexity 5, and so they are called here.

Those thresholds fit a large pre-trained model, which is 99% sure of whatever looks like its training data. A small one
is not. So a threshold is a share (confidence) or a multiple (perplexity) of a reference:

- `absolute`: of 1, the paper's reading.
- `source`: of what the surrogate says of the very sentence that the candidate was made of. Its own label of that
  sentence, right or wrong, is as good as the gold one: what is asked is whether the edits changed anything.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from typing import Literal, Protocol

from builder.augment.records import Rewrite, Sentence, seeded
from builder.core.errors import ConfigError

# ---- Folds

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


def crossed(sentences: Sequence[Sentence], folds: int, seed: int, train_on_valid: bool = False) -> tuple[Fold, ...]:
    """Every fold in turn is the one that is boosted; `train_on_valid`: the one that validates trains too (section 2.1,
    line 7 of Algorithm 1). ConfigError for fewer than 3 folds, fewer distinct texts than folds, and a fold whose
    training part has only one class.
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
        several(sentences, train, f"fold {number + 1} of {folds}")
    return tuple(out)


def whole(sentences: Sequence[Sentence]) -> tuple[Fold, ...]:
    """MonoAug (section 4.2): the surrogate is trained on all it will judge, and nothing validates it."""
    every = tuple(range(len(sentences)))
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
            fix="give more sentences of other labels"
            if counts
            else "filter classes of texts, or polarities of aspects",
        )


# ---- Filters

Reason = Literal["perplexity", "confidence", "label", "rank", "marks"]
"""Why a candidate is dropped.

`perplexity`: the text is less likely than the threshold allows (section 2.3.1). `confidence`: the surrogate is not
sure enough of its label (2.3.2). `label`: the surrogate gives it another label than its source has (2.3.3). `rank`:
enough others of its source came before, or are surer (2.3.2). `marks`: an edit touches a labelled span.
"""


@dataclass(frozen=True, slots=True)
class SurrogateReading:
    """What a surrogate says of a text: its label, whether that is the given one, how likely the given one is (0 to
    1), the text's perplexity, and how likely the label is that it told, where that is another.
    """

    label: str
    right: bool
    confidence: float
    perplexity: float
    surest: float = 0.0

    @property
    def absolute(self) -> SurrogateReading:
        """With the confidence of equation 3: that of the likeliest label, right or wrong."""
        return replace(self, confidence=max(self.confidence, self.surest))


class Surrogate(Protocol):
    """A trained surrogate language model (section 2.1)."""

    @property
    def digest(self) -> str: ...

    def read(self, sentences: Sequence[Sentence]) -> list[SurrogateReading]:
        """A sentence carries the label, or the marks, that it is held against."""


class Trainer(Protocol):
    """Trains the surrogate of a fold. Checkpoints go to `folder`; a training that was killed goes on from there. Raises
    ModelError where the loss is not finite.
    """

    @property
    def signature(self) -> str: ...

    def fit(self, train: Sequence[Sentence], valid: Sequence[Sentence], seed: int, folder: Path) -> Surrogate: ...


@dataclass(frozen=True, slots=True)
class Thresholds:
    """None switches a filter off. Not `ranked`, or without `confidence`: the first of those that pass are kept, not
    the surest (the paper's).
    """

    confidence: float | None = 0.99
    perplexity: float | None = 5.0
    label: bool = True
    ranked: bool = True

    @property
    def ranks(self) -> bool:
        return self.ranked and self.confidence is not None


@dataclass(frozen=True, slots=True)
class Reference:
    """What the thresholds are a share and a multiple of. `label`: what is as good as the gold one, being what the
    source itself was taken for.
    """

    confidence: float = 1.0
    perplexity: float = 1.0
    label: str | None = None


@dataclass(frozen=True, slots=True)
class JudgedCandidate:
    """A candidate and its surrogate reading (None where it was not read). Kept if there is no reason against it."""

    candidate: Rewrite
    reading: SurrogateReading | None
    reasons: tuple[Reason, ...] = ()


def against(reading: SurrogateReading, limits: Thresholds, reference: Reference) -> tuple[Reason, ...]:
    """All filters that drop it, not just the first: counts of each are comparable."""
    checks: tuple[tuple[Reason, bool], ...] = (
        (
            "perplexity",
            limits.perplexity is not None and not reading.perplexity < limits.perplexity * reference.perplexity,
        ),
        (
            "confidence",
            limits.confidence is not None and not reading.confidence > limits.confidence * reference.confidence,
        ),
        ("label", limits.label and not reading.right and reading.label != reference.label),
    )
    return tuple(name for name, drops in checks if drops)


def sifted(
    candidates: Sequence[Rewrite],
    readings: Sequence[SurrogateReading | None],
    limits: Thresholds,
    reference: Reference,
    keep: int,
) -> tuple[JudgedCandidate, ...]:
    """The candidates of one sentence, in their order, with what speaks against each; at most `keep` have nothing
    against them.

    Of those that pass the first are kept or, where `limits` rank, the surest, and the earlier of equals, so none is
    lost on a tie. (The paper ranks before it filters: then a sure candidate of the wrong label takes a place that
    another could have.)
    """
    out = [
        JudgedCandidate(candidate, reading, against(reading, limits, reference) if reading else ("marks",))
        for candidate, reading in zip(candidates, readings, strict=True)
    ]
    passed = [i for i, judged in enumerate(out) if not judged.reasons]
    if limits.ranks:
        passed.sort(key=lambda i: -(out[i].reading or _NOTHING).confidence)
    for i in passed[keep:]:
        out[i] = JudgedCandidate(out[i].candidate, out[i].reading, ("rank",))
    return tuple(out)


_NOTHING = SurrogateReading("", False, 0.0, float("inf"))


def counted(judged: Iterable[JudgedCandidate]) -> Counter[str]:
    """`candidates`, `kept`, and how many each reason spoke against; one candidate may count under several."""
    out: Counter[str] = Counter({"candidates": 0, "kept": 0})
    for judgement in judged:
        out["candidates"] += 1
        out["kept"] += not judgement.reasons
        out.update(judgement.reasons)
    return out


def survive(judged: Sequence[JudgedCandidate], limits: Thresholds, where: str) -> None:
    """ConfigError where candidates were read and none is kept: which filters did it, and what value would have let
    half of them pass.
    """
    counts = counted(judged)
    read = [judgement.reading for judgement in judged if judgement.reading]
    if counts["kept"] or not judged:
        return
    every = ", ".join(
        f"{name} {counts[name]}" for name in ("perplexity", "confidence", "label", "marks") if counts[name]
    )
    worst = max(("perplexity", "confidence", "label", "marks"), key=lambda name: counts[name])
    threshold = {"perplexity": limits.perplexity, "confidence": limits.confidence}.get(worst)
    shown = f" (threshold {threshold:g})" if threshold else ""
    confidence = median(reading.confidence for reading in read) if read else 1.0
    surprise = median(reading.perplexity for reading in read) if read else 1.0
    raise ConfigError(
        f"the filters keep none of {counts['candidates']} candidates: {worst}{shown} dropped most; dropped by {every}; "
        f"median confidence {confidence:.3f}, perplexity {surprise:.1f}",
        where=where,
        fix=f"loosen {worst}, or switch it off with {where}.by_{worst} = false",
    )
