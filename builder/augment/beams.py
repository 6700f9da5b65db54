"""Chooses the beams of a fragment that fit best where it stands.

In: beams as `masked-seq2seq` searches them. Out: of each fragment the beams for which log P(beam | context) + log
P(context | beam) is highest (Li et al. 2016, MMI-bidi, both of equal weight), how much likelier its context is beside
it than beside the fragment that stood there, and, where that is not too little, how surprising it is.

What a model of characters must not write, and what it must leave where it stands: what the constraints would
reject is not proposed.

In: the training sentences, the cues of their language, the model's tokens. Out: `Bars`. Only for tokens of our own
that are characters: others may be parts of them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from itertools import product
from typing import TYPE_CHECKING

from builder.augment.constraints import Cue, Cues, may_not_come, must_stay
from builder.augment.records import Doubt, Edit, Sentence, applied
from builder.augment.training import kept
from builder.core.records import Span
from builder.reviews.folding import fold

if TYPE_CHECKING:
    from builder.augment.nets.beam import Barred
    from builder.augment.nets.seq2seq import LabelledSeq2Seq, MaskedSentence
    from builder.learning.pieces import Inventory

# ---- Search


@dataclass(frozen=True, slots=True)
class BeamLimits:
    """Which beams count: the best `each` of a fragment.

    `fit` is the least log ratio of the context's likelihood beside the beam and beside the old words. `surprise` is
    the most that the new tokens and their neighbours may surprise, in usual tokens.
    """

    each: int
    fit: float
    surprise: float


@dataclass(frozen=True, slots=True)
class Beam:
    """The tokens of a fragment, the edits they make, their log-probability, and how they fit and surprise (see
    `BeamLimits`).
    """

    tokens: tuple[int, ...]
    edits: tuple[Edit, ...]
    score: float
    fit: float | None = None
    surprise: float | None = None

    def doubt(self, limits: BeamLimits) -> Doubt | None:
        if self.fit is not None and self.fit < limits.fit:
            return "unfitting"
        return "surprising" if self.surprise is not None and self.surprise > limits.surprise else None


@dataclass(frozen=True, slots=True)
class FragmentReader:
    """A network that reads what it has written; `usual`: -log P of a token of its training sentences that is hidden
    alone.
    """

    network: LabelledSeq2Seq
    inventory: Inventory
    usual: float = 1.0
    batch: int = 64
    threads: int = 2

    def score(self, items: Sequence[MaskedSentence]) -> list[float]:
        """The log-probability of the hidden tokens of each item."""
        from builder.augment.nets.fitting import likely
        from builder.augment.nets.fragments import pad_of

        return likely(self.network, items, self.inventory.mask, pad_of(self.inventory), self.batch, self.threads)


def fitted(
    reader: FragmentReader,
    fragments: Sequence[tuple[Sequence[int], MaskedSentence, Sequence[Beam]]],
    limits: BeamLimits,
) -> list[list[Beam]]:
    """The best beams of each of `fragments`: the tokens of a sentence, its masked fragment, the fragment's beams.

    Surprise is measured only of beams that fit: the others are rejected.
    """
    from builder.augment.nets.fitting import around

    texts = [
        [_text(ids, item, tokens, reader) for tokens in (item.target, *(beam.tokens for beam in beams))]
        if beams
        else []
        for ids, item, beams in fragments
    ]
    likelihoods = iter(reader.score([around(*text) for each in texts for text in each]))
    out = [_best(beams, likelihoods, limits.each) if beams else [] for *_, beams in fragments]
    due = [(n, k) for n, beams in enumerate(out) for k, beam in enumerate(beams) if (beam.fit or 0.0) >= limits.fit]
    surprises = _surprises(reader, [_text(*fragments[n][:2], out[n][k].tokens, reader) for n, k in due])
    for (n, k), surprise in zip(due, surprises, strict=True):
        out[n][k] = replace(out[n][k], surprise=surprise)
    return out


def _best(beams: Sequence[Beam], likelihoods: Iterator[float], each: int) -> list[Beam]:
    """The `each` best beams; `likelihoods` are those of the context, beside the old words and then beside each beam."""
    before = next(likelihoods)
    fits = [replace(beam, fit=round(next(likelihoods) - before, 2)) for beam in beams]
    return sorted(fits, key=lambda fit: -(fit.score + (fit.fit or 0.0)))[:each]


def surest(text: str, beams: Iterable[Beam], copies: int) -> list[Beam]:
    """Up to `copies` beams of a sentence, the least surprising first, then the best fitting; of two that make texts
    with one character between them the first.
    """
    chosen: dict[str, Beam] = {}
    for beam in sorted(beams, key=_doubtfulness):
        made = applied(text, beam.edits)
        if len(chosen) < copies and all(_differ(made, other) for other in chosen):
            chosen[made] = beam
    return list(chosen.values())


def _doubtfulness(beam: Beam) -> tuple[bool, float]:
    return (True, -(beam.fit or 0.0)) if beam.surprise is None else (False, beam.surprise)


def _differ(text: str, other: str) -> bool:
    return len(text) != len(other) or sum(a != b for a, b in zip(text, other, strict=True)) > 1


def _surprises(reader: FragmentReader, texts: Sequence[Text]) -> list[float]:
    from builder.augment.nets.fitting import alone

    asked = [alone(*text) for text in texts]
    likelihoods = iter(reader.score([item for items in asked for item in items]))
    return [round(-sum(next(likelihoods) for _ in items) / reader.usual, 2) for items in asked]


def usual(reader: FragmentReader, cuts: Sequence[Sequence[int]]) -> float:
    """-log P of a token that is hidden alone, the mean over some sentences."""
    from builder.augment.nets.fitting import alone

    items = [item for ids in cuts for item in alone(ids, 0, len(ids), reader.inventory.mask, reader.inventory.first)]
    return max(0.01, round(-sum(reader.score(items)) / max(1, len(items)), 2))


Text = tuple[Sequence[int], int, int, int, int]
"""Tokens, the range of new ones, and what hides and begins a text."""


def _text(ids: Sequence[int], item: MaskedSentence, tokens: Sequence[int], reader: FragmentReader) -> Text:
    """A sentence with `tokens` for its fragment."""
    inventory = reader.inventory
    free = [at for at in range(item.start, item.start + len(tokens)) if item.source[at] == inventory.mask]
    return (
        (*ids[: item.start], *tokens, *ids[item.start + len(tokens) :]),
        free[0],
        free[-1] + 1,
        inventory.mask,
        inventory.first,
    )


# ---- What beams may not write

LABELLED = -1
"""The number of what is never free."""


@dataclass(frozen=True, slots=True)
class Bars:
    """`table`: see `builder.augment.nets.beam`. Without `cues` only labelled terms are barred, and nothing more is
    held than what has a label.
    """

    table: Barred = field(default_factory=dict)
    cues: Cues | None = None
    numbers: Mapping[Cue, int] = field(default_factory=dict)

    @property
    def signature(self) -> str:
        """What it says of the lexicons, on which proposals depend."""
        return hashlib.sha256(repr(sorted(self.cues.table.items())).encode()).hexdigest()[:8] if self.cues else "none"

    def held(self, sentence: Sentence) -> Sequence[Span]:
        """Where words stand that must stay."""
        return must_stay(sentence, self.cues) if self.cues else ()

    def free(self, sentence: Sentence, hidden: Sequence[Span]) -> Set[int]:
        """The numbers of the cues of which all that stands in a fragment is `hidden`: what is written in their place
        may say them again.
        """
        if self.cues is None or not hidden:
            return frozenset()
        first, last = hidden[0][0], hidden[-1][1]
        gone = {at for start, end in hidden for at in range(start, end)}
        spans = [(range(max(start, first), min(end, last)), cue) for start, end, cue in self.cues.spans(sentence.text)]
        return {
            self.numbers[cue] for places, cue in spans if places and gone.issuperset(places) and cue in self.numbers
        }


def bars(sentences: Sequence[Sentence], inventory: Inventory, keep: str, cues: Cues | None) -> Bars:
    """The terms that the sentences label, of two characters or a word at least, where nothing is labelled; and cues
    of the sorts that may not come into any of the sentences, however the model spells them.
    """
    from builder.learning.pieces import Units

    if not isinstance(inventory, Units):
        return Bars()
    table: dict[tuple[int, ...], dict[int, int]] = {}
    for ids in _terms(sentences, inventory, keep):
        table.setdefault(ids[:-1], {})[ids[-1]] = LABELLED
    if cues is None or inventory.unit != "char":
        return Bars(table)
    sorts = {sort for sentence in sentences for sort in may_not_come(sentence)}
    barred = {word: cue for word, cue in cues.table.items() if cue.sort in sorts}
    numbers = {cue: number for number, cue in enumerate(dict.fromkeys(barred.values()))}
    for ids, cue in _spelt(barred, inventory.vocabulary.numbers):
        table.setdefault(ids[:-1], {})[ids[-1]] = numbers[cue]
    return Bars(table, cues, numbers)


def _terms(sentences: Iterable[Sentence], inventory: Inventory, keep: str) -> Iterator[tuple[int, ...]]:
    from builder.learning.pieces import UNK

    for sentence in sentences:
        cut = inventory.cut(sentence.text, sentence.words)
        for mark in kept(sentence, keep):
            ids = tuple(
                i for i, (start, end) in zip(cut.ids, cut.spans, strict=True) if start < mark.end and mark.start < end
            )
            if mark.end - mark.start > 1 and UNK not in ids:
                yield ids


def _spelt(words: Mapping[str, Cue], index: Mapping[str, int]) -> Iterator[tuple[tuple[int, ...], Cue]]:
    """Folded words as tokens, in every script that the model has the characters of."""
    spellings: dict[str, list[int]] = {}
    for token, i in index.items():
        spellings.setdefault(fold(token), []).append(i)
    for word, cue in words.items():
        for ids in product(*(spellings.get(char, ()) for char in word)):
            yield ids, cue
