"""What a model of characters must not write, and what it must leave where it stands: what the constraints would
reject is not proposed.

In: the training sentences, the cues of their language, the model's tokens. Out: `Bars`. Only for tokens of our own
that are characters: others may be parts of them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from itertools import product
from typing import TYPE_CHECKING

from builder.augment.conditions import kept
from builder.augment.constraints import Cue, Cues, may_not_come, must_stay
from builder.augment.records import Sentence
from builder.core.records import Span
from builder.reviews.folding import fold

if TYPE_CHECKING:
    from builder.augment.nets.beam import Barred
    from builder.learning.pieces import Inventory

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
