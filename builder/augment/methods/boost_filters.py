"""BoostAug's folds and filters: which surrogate model judges which candidates, and which of them survive.

Folds are those of cross-boosting (Algorithm 1, lines 1 to 7). Sentences of one text stay in one fold, for a surrogate
is sure of copies of what it was trained on; labels are spread evenly.

Filters (Yang and Li 2022, section 2.3) are pure functions of what a surrogate says of a candidate. The paper's text has
"alpha = 0.99 and beta = 5", its formulas drop perplexity >= alpha and confidence <= beta, which would drop everything:
the meaning is confidence 0.99 and perplexity 5. They fit a large model, which is 99% sure of whatever looks like its
training data. So a threshold is a share (confidence) or a multiple (perplexity) of a reference: of 1 (`absolute`), or
of what the surrogate says of the candidate's own source (`source`), whose label, right or wrong, then counts as gold.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from typing import Literal, Protocol

from builder.augment.candidates import Rewrite, Sentence, seeded
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
    """Every fold in turn is boosted; `train_on_valid`: the one that validates trains too (section 2.1). ConfigError
    where the folds cannot be made, or one has a single class to train on.
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
        fix = "give more sentences of other labels" if counts else "filter classes of texts, or polarities of aspects"
        what = f"{held} among the {len(train)} sentences that its surrogate is trained on"
        raise ConfigError(what, where=where, fix=fix)


# ---- Filters

Reason = Literal["perplexity", "confidence", "label", "rank", "marks"]
"""Why a candidate is dropped.

`perplexity`: the text is less likely than the threshold allows (section 2.3.1). `confidence`: the surrogate is not
sure enough of its label (2.3.2). `label`: the surrogate gives it another label than its source has (2.3.3). `rank`:
enough others of its source came before, or are surer (2.3.2). `marks`: an edit touches a labelled span.
"""


@dataclass(frozen=True, slots=True)
class SurrogateReading:
    """The predicted label, whether it is the given one, the chance of that, the perplexity, the prediction's chance."""

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
    """Trains the surrogate of a fold, with checkpoints in `folder`. ModelError where the loss is not finite."""

    @property
    def signature(self) -> str: ...

    def fit(self, train: Sequence[Sentence], valid: Sequence[Sentence], seed: int, folder: Path) -> Surrogate: ...


@dataclass(frozen=True, slots=True)
class Thresholds:
    """None switches a filter off. Not `ranked`: the first that pass are kept, not the surest."""

    confidence: float | None = 0.99
    perplexity: float | None = 5.0
    label: bool = True
    ranked: bool = True

    @property
    def ranks(self) -> bool:
        return self.ranked and self.confidence is not None


@dataclass(frozen=True, slots=True)
class Reference:
    """What thresholds are a share and a multiple of; `label` is as good as the gold one."""

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
    most, least = limits.perplexity, limits.confidence
    drops: dict[Reason, bool] = {
        "perplexity": most is not None and not reading.perplexity < most * reference.perplexity,
        "confidence": least is not None and not reading.confidence > least * reference.confidence,
        "label": limits.label and not reading.right and reading.label != reference.label,
    }
    return tuple(name for name, drop in drops.items() if drop)


def sifted(
    candidates: Sequence[Rewrite],
    readings: Sequence[SurrogateReading | None],
    limits: Thresholds,
    reference: Reference,
    keep: int,
) -> tuple[JudgedCandidate, ...]:
    """The candidates of a sentence, in order, with what speaks against each; against at most `keep` nothing does.

    The paper ranks before it filters: then a sure candidate of a wrong label takes the place of another. Here those
    that pass are ranked, so that none is lost on a tie.
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
    """ConfigError where none is kept: which filter did it, and the medians that a threshold would have to let pass."""
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
