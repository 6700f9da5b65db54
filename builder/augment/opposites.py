"""Labels and their opposites: of sentences, of aspects, and the opinions that training sentences have for either."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from builder.augment.conditions import UNSAID, Conditions
from builder.augment.records import Mark, Sentence
from builder.core.records import Polarity

if TYPE_CHECKING:
    from builder.learning.pieces import Inventory

OPPOSITE: Mapping[str | None, Polarity] = {"POS": "NEG", "NEG": "POS"}


@dataclass(frozen=True, slots=True)
class Opinion:
    """An opinion of the training sentences as tokens. `heads`: of the aspects that it is said of (see `head`)."""

    text: str
    ids: tuple[int, ...]
    polarity: Polarity
    heads: frozenset[str] = frozenset()


def label_of(sentence: Sentence, marks: Sequence[Mark], conditions: Conditions) -> str | None:
    """What a classifier learns: the sentence's label, or the one polarity of its aspects; None where there is no such
    thing.
    """
    if conditions.mode == "sentence":
        return sentence.label
    polarities = {mark.polarity for mark in marks if mark.kind == "aspect"}
    return next(iter(polarities)) if len(polarities) == 1 else None


def opposites(conditions: Conditions, pairs: Sequence[tuple[str, str]]) -> dict[str, str]:
    """The opposite of each label that has one."""
    if pairs:
        return {label: other for a, b in pairs for label, other in ((a, b), (b, a))}
    if conditions.mode == "polarity":
        return {str(label): other for label, other in OPPOSITE.items()}
    names = [name for name in conditions.names if name != UNSAID]
    return {name: other for name, other in zip(names, reversed(names), strict=True) if name != other}


def turned(sentence: Sentence, opinion: Mark) -> Sentence:
    """The sentence with the opposite polarity at the aspect nearest to an opinion."""
    nearest = _nearest(sentence, opinion)
    turned = tuple(
        Mark(mark.start, mark.end, mark.kind, OPPOSITE[opinion.polarity]) if mark in (nearest, opinion) else mark
        for mark in sentence.marks
    )
    return Sentence(sentence.id, sentence.text, sentence.words, turned, sentence.label, sentence.language)


def _nearest(sentence: Sentence, opinion: Mark) -> Mark | None:
    aspects = [mark for mark in sentence.marks if mark.kind == "aspect"]
    return min(
        aspects, key=lambda mark: (max(0, opinion.start - mark.end, mark.start - opinion.end), mark.start), default=None
    )


def head(sentence: Sentence, opinion: Mark) -> str:
    """What the aspect nearest to an opinion is, roughly: its last word, in Chinese its last character (湯 of
    虱目魚湯); "" without one.
    """
    mark = _nearest(sentence, opinion)
    text = sentence.text[mark.start : mark.end].lower() if mark else ""
    return (text.split()[-1:] or [""])[0] if sentence.language == "en" else text[-1:]


def middle(polarity: Polarity) -> float:
    """The valence of an opinion of which only the polarity is known."""
    from builder.learning.task import VALENCE

    return VALENCE[polarity]


def opinions_of(sentences: Sequence[Sentence], inventory: Inventory) -> tuple[Opinion, ...]:
    """The opinions of the training sentences whose tokens are all known, each with the polarity it has most often; by
    text.
    """
    counts: dict[tuple[str, tuple[int, ...]], dict[Polarity, int]] = {}
    heads: dict[str, set[str]] = {}
    for sentence in sentences:
        marks = [mark for mark in sentence.marks if mark.kind == "opinion" and mark.polarity in OPPOSITE]
        cut = inventory.cut(sentence.text, sentence.words) if marks else None
        for mark in marks:
            assert cut is not None and mark.polarity is not None
            tokens = [at for at, (start, end) in enumerate(cut.spans) if mark.start <= start and end <= mark.end]
            ids = tuple(cut.ids[at] for at in tokens)
            whole = tokens and cut.spans[tokens[0]][0] == mark.start and cut.spans[tokens[-1]][1] == mark.end
            if whole and len(ids) <= 8 and not {*inventory.never} & {*ids}:
                by_polarity = counts.setdefault((sentence.text[mark.start : mark.end], ids), {})
                by_polarity[mark.polarity] = by_polarity.get(mark.polarity, 0) + 1
                heads.setdefault(sentence.text[mark.start : mark.end], set()).add(head(sentence, mark))
    best = {
        text: Opinion(text, ids, max(sorted(count), key=lambda name: count[name]), frozenset(heads[text] - {""}))
        for (text, ids), count in counts.items()
    }
    return tuple(best[text] for text in sorted(best))
