"""A text while its tokens come together: words and tags first, trees after.

In: the words of a text with their tags and the sentence of each, and a parser. Out: tokens that tile the text.
Backends differ in how they find words; what makes a parse unit, and that whitespace stands outside every tree, is the
same for all of them and lives here.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Protocol

from builder.core.records import Span, Token
from builder.language.nlp.features import fold
from builder.reviews.text import clauses, sentences

_UNIT_WORDS = 60
_SHORTEST_PART = 8
_BREAKS = frozenset(",;:!?.()~")


class TreeParser(Protocol):
    """What makes trees of words that are cut and tagged already."""

    def parse(self, units: Sequence[tuple[Sequence[str], Sequence[str]]]) -> list[tuple[list[int], list[str]]]:
        """(words, universal tags) -> (heads, UD v1 relations) of each unit; heads are word indices, -1 for its one
        root.
        """


@dataclass(slots=True)
class Draft:
    """A text and its tokens so far; `unit` numbers the sentence of each."""

    text: str
    spans: list[Span]
    tags: list[str]
    unit: list[int]
    heads: list[int]
    rels: list[str]

    @classmethod
    def of(cls, text: str, words: Iterable[tuple[Span, str, int]]) -> Draft:
        """`words`: (span, tag, number of the sentence); they tile the text, whitespace has the tag SPACE."""
        rows = list(words)
        spans, tags, unit = (
            [span for span, _, _ in rows],
            [tag for _, tag, _ in rows],
            [number for _, _, number in rows],
        )
        return cls(text, spans, tags, unit, [-1] * len(rows), ["space"] * len(rows))

    def surface(self, i: int) -> str:
        """The text of token i."""
        start, end = self.spans[i]
        return self.text[start:end]

    def units(self) -> list[list[int]]:
        """The token indices of each tree: sentences without their spaces, long ones in parts."""
        whole: dict[int, list[int]] = {}
        for i, (number, tag) in enumerate(zip(self.unit, self.tags, strict=True)):
            if tag != "SPACE":
                whole.setdefault(number, []).append(i)
        return [part for unit in whole.values() for part in self._parts(unit)]

    def _parts(self, unit: list[int]) -> list[list[int]]:
        """Parts of at most _UNIT_WORDS words, cut where a clause ends if one does, and not so that a stump is left."""
        parts = []
        while len(unit) > _UNIT_WORDS:
            latest = min(_UNIT_WORDS, len(unit) - _SHORTEST_PART)
            cut = next((k for k in range(latest, _SHORTEST_PART, -1) if self._breaks(unit[k - 1], unit[k])), latest)
            parts.append(unit[:cut])
            unit = unit[cut:]
        return [*parts, unit]

    def _breaks(self, before: int, after: int) -> bool:
        return after - before > 1 or fold(self.surface(before))[-1] in _BREAKS

    def tokens(self) -> tuple[Token, ...]:
        """The tokens, with the trees that were made of them so far."""
        columns = zip(self.spans, self.tags, self.heads, self.rels, strict=True)
        return tuple(Token(start, end, tag, head, rel) for (start, end), tag, head, rel in columns)


def sentence_spans(text: str) -> list[Span]:
    """The sentences of a text, whitespace and marks included: each reaches to where the next one starts."""
    starts = [0, *(start for start, _ in sentences(clauses(text))[1:]), len(text)]
    return [(a, b) for a, b in pairwise(starts) if a < b]


def parsed(drafts: Sequence[Draft], parser: TreeParser) -> list[tuple[Token, ...]]:
    """The tokens of each draft with their trees; all units go to the parser at once."""
    units = [(draft, part) for draft in drafts for part in draft.units()]
    trees = parser.parse([([draft.surface(i) for i in part], [draft.tags[i] for i in part]) for draft, part in units])
    for (draft, part), (heads, rels) in zip(units, trees, strict=True):
        for i, head, rel in zip(part, heads, rels, strict=True):
            draft.heads[i] = part[head] if head >= 0 else -1
            draft.rels[i] = rel
    return [draft.tokens() for draft in drafts]
