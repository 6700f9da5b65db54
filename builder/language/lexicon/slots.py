"""An annotated review as induction reads it: clauses of slots, each with the role that the lexicon or its tag gives it.

In: a document (view text, tokens, clauses) and the lexicon. Out: `Slot`s, in order. Longest match over token edges,
as in the engine; what no lexicon knows keeps its tag and is a candidate.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from builder.core.records import Token
from builder.language.lexicon.resources import AGAINST, Lexicon
from builder.reviews.script import HAN
from builder.reviews.text import Clause

Role = Literal[
    "opinion", "aspect", "degree", "post", "negator", "unreal", "known", "noun", "adjective", "verb", "other", "mark"
]
CANDIDATES: frozenset[Role] = frozenset({"noun", "adjective", "verb"})
_CONTRAST = ("可惜", "唯一", "除了", "缺點")
"""What opens a contrast as well, beside the words of contrast.tsv; these say more than that."""
_ROLES: dict[str, Role] = {
    "NOUN": "noun",
    "PROPN": "noun",
    "ADJ": "adjective",
    "VERB": "verb",
    "PUNCT": "mark",
    "SYM": "mark",
    "SPACE": "mark",
}
_MAX_WORD = 12


class ParsedReview(Protocol):
    """What `engine.Doc` is: a view's text with its tokens and clauses."""

    @property
    def text(self) -> str:
        """The view's text."""

    @property
    def tokens(self) -> Sequence[Token]:
        """Its tokens, which tile it."""

    @property
    def clauses(self) -> Sequence[Clause]:
        """Its clauses, in order."""


@dataclass(frozen=True, slots=True)
class Slot:
    """A word of a clause: [start, end) of the view, lower-case word, role, tag, and the tokens first..last."""

    start: int
    end: int
    word: str
    role: Role
    pos: str
    first: int
    last: int

    @property
    def nominal(self) -> bool:
        """Whether the word is a noun, known as an aspect or not."""
        return self.role in ("aspect", "noun") or (self.role == "known" and self.pos in ("NOUN", "PROPN"))


def clauses(doc: ParsedReview, lexicon: Lexicon) -> Iterator[tuple[Clause, list[Slot]]]:
    """The slots of each clause; marks and spaces have none."""
    at = 0
    for clause in doc.clauses:
        while at < len(doc.tokens) and doc.tokens[at].start < clause.start:
            at += 1
        stop = at
        while stop < len(doc.tokens) and doc.tokens[stop].end <= clause.end:
            stop += 1
        yield clause, [slot for slot in _slots(doc, at, stop, lexicon) if slot.role != "mark"]
        at = stop


def _slots(doc: ParsedReview, first: int, stop: int, lexicon: Lexicon) -> Iterator[Slot]:
    i = first
    while i < stop:
        start = doc.tokens[i].start
        last = i
        while last + 1 < stop and doc.tokens[last + 1].end - start <= _MAX_WORD:
            last += 1
        role: Role | None = None
        while role is None:
            word = doc.text[start : doc.tokens[last].end].lower()
            role = _find_role(word, lexicon)
            if role is None and last == i:
                role = _ROLES.get(doc.tokens[i].pos, "other")
            elif role is None:
                last -= 1
        yield Slot(start, doc.tokens[last].end, word, role, doc.tokens[last].pos, i, last)
        i = last + 1


def _find_role(word: str, lexicon: Lexicon) -> Role | None:
    if lexicon.contrast.get(word) in AGAINST:
        return "known"  # before negators: 不過 is one now and then
    if word in lexicon.degree:
        return "post" if lexicon.degree[word] == "post" else "degree"
    if word in lexicon.negators:
        return "negator"
    if word in lexicon.opinions:
        return "opinion"
    if word in lexicon.aspects:
        return "aspect"
    if word in lexicon.irrealis:
        return "unreal"
    return "known" if word in lexicon.not_aspects or word in lexicon.general else None


def openers(lexicon: Lexicon) -> tuple[str, ...]:
    """What a clause opens with that stands against what was said before: 但, 可是, 不過 …"""
    return (*(word for word, kind in lexicon.contrast.items() if kind in AGAINST), *_CONTRAST)


def contrasts(doc: ParsedReview, clause: Clause, openers: tuple[str, ...]) -> bool:
    """Whether a clause opens so, or says 卻."""
    return doc.text.startswith(openers, clause.start) or (
        HAN.match(doc.text[clause.start]) is not None and "卻" in doc.text[clause.start : clause.end]
    )
