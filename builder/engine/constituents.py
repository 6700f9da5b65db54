"""Constituents of a clause, one symbol each, and the scene in which a pairing rule sees an opinion. Pure.

`units` makes one of each word, `phrases` makes opinion phrases of some and aspect terms of others; `terms` joins what
is one aspect. A `Scene` is the question put to a pairing rule, an `AspectChoice` its answer.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from builder.core.records import Span, Token
from builder.engine.symbols import BLOCKED
from builder.language.lexicon.resources import OpinionEntry
from builder.reviews.text import Clause
from builder.reviews.text import clauses as find_clauses


@dataclass(frozen=True, slots=True)
class Doc:
    """A view's text with its tokens and clauses."""

    text: str
    tokens: Sequence[Token]
    clauses: Sequence[Clause]

    @classmethod
    def of(cls, text: str, tokens: Sequence[Token]) -> Doc:
        """The document of a view's text and its tokens; its clauses are found here."""
        return cls(text, tokens, find_clauses(text))


class Phrase(NamedTuple):
    """An opinion phrase: 不 會 太 鹹 has core 鹹, negators (不會), degrees (太)."""

    core: Span
    entry: OpinionEntry
    negators: tuple[Span, ...] = ()
    kinds: tuple[str, ...] = ()
    degrees: tuple[str, ...] = ()


class Term(NamedTuple):
    """An aspect term: its class (empty for a noun no lexicon knows) and, for 餐點口感, the span of the owner 餐點.

    `lead`: how many of its first characters belong to `aspect_full` alone (整體 口感, 店裡 座位, 甜點 布丁). `role`:
    that of its class (`lexicon.tsv_rows.ROLES`).
    """

    cls: str
    owner: Span | None = None
    lead: int = 0
    role: str = ""


class Constituent(NamedTuple):
    """A word, or several: its place [start, end) in the view, its symbol, the last token it covers (its head in
    Chinese), and what it is. Among the words of a clause an opinion has a phrase where a construction makes it
    (`engine.matching`); the entries of others are looked up.

    A tuple, as phrases and terms are, because the engine makes millions: a frozen dataclass takes three times as long
    to make.
    """

    start: int
    end: int
    symbol: str
    word: str
    last: int
    phrase: Phrase | None = None
    term: Term | None = None

    @property
    def entry(self) -> OpinionEntry | None:
        """The entry of an opinion."""
        return self.phrase and self.phrase.entry

    @property
    def own_phrase(self) -> Phrase:
        """The phrase of an opinion."""
        assert self.phrase is not None, self
        return self.phrase

    @property
    def own_term(self) -> Term:
        """The term of an aspect."""
        assert self.term is not None, self
        return self.term


Units = Sequence[Constituent]
"""Those of a clause, or of a part of one."""
Aspects = tuple[Constituent, ...]
"""Those that share an opinion, or a topic."""


GENERIC = frozenset(["generic", "kind"])
"""Roles of words for what is reviewed that name none of it."""
WHOLE_THINGS = GENERIC | {"thing"}
"""Roles of what is reviewed itself."""
THINGS = WHOLE_THINGS | {"part"}
"""Roles of what is reviewed and of its parts."""
ATTRIBUTES = frozenset(["attribute", "overall", "fault"])
"""Roles of what a thing has: its look, its quality, its faults."""


def is_kind(item: Constituent) -> bool:
    """Whether a constituent only says what kind of thing something is (甜點, 飲料; 機種)."""
    return item.term is not None and item.term.role == "kind"


def bar_aspect(item: Constituent) -> Constituent:
    """A constituent as a plain noun, which no opinion is said of."""
    return item._replace(symbol=BLOCKED, term=None)


def is_thing(item: Constituent) -> bool:
    """Whether an aspect names what is reviewed itself (a dish, a model of a laptop), no attribute or part of it."""
    return item.own_term.role in WHOLE_THINGS


# ---- Scenes


class Topic(NamedTuple):
    """What an earlier clause was about: the aspects last paired there (or merely named, if `named`).

    `whole`: where those are attributes or parts (口感, 外皮), the dish or drink named before them. `is_list`: their
    clause lists them and holds nothing else (服務、環境，). `label`: a colon stands behind them.
    """

    aspects: Aspects
    named: bool
    whole: Constituent | None = None
    is_list: bool = False
    label: bool = False

    @property
    def thing(self) -> Constituent | None:
        """The thing that it is, or that it belongs to."""
        return self.aspects[-1] if is_thing(self.aspects[-1]) else self.whole


class ReadClause(NamedTuple):
    """A clause as the engine reads it; `asked` keeps its opinions from becoming triplets, `doubted` its praise.

    `label`: a mark behind a label ends it (環境：). `mark`: the character that ends it.
    """

    items: list[Constituent]
    sentence: int
    asked: bool = False
    doubted: bool = False
    label: bool = False
    mark: str = ""


class Scene(NamedTuple):
    """One opinion to be paired: its place in its clause, the text with all clauses, and the topic carried over.

    `symbols` are those of the clause, `marked` the same with CURRENT for the opinion. `number`: which of the clauses it
    is. `described`: where the aspects start that have an opinion already.
    """

    doc: Doc
    clauses: Sequence[ReadClause]
    number: int
    symbols: str
    marked: str
    at: int
    topic: Topic | None = None
    described: Collection[int] = ()

    @property
    def items(self) -> Units:
        """The words of the clause."""
        return self.clauses[self.number].items

    @property
    def opinion(self) -> Constituent:
        """The opinion to be paired."""
        return self.items[self.at]


class AspectCandidate(NamedTuple):
    """An aspect that an opinion may be about, its clause, how many clauses back it stands and how many borders of
    sentences away; where candidates are weighed, its features and the score that is the sum of their weights.
    """

    aspect: Constituent
    clause: Units
    back: int = 0
    borders: int = 0
    score: float = 0.0
    features: tuple[str, ...] = ()


class AspectChoice(NamedTuple):
    """The aspects (one, or several of a coordination carried over), the detail for the story of the triplet, the rule
    that decided, and the candidates, where they were weighed (`engine.deciding`).
    """

    aspects: Aspects
    detail: str
    rule: str = ""
    weighed: Sequence[AspectCandidate] = ()


Pairer = Callable[[Scene], AspectChoice | None]
"""A rule made ready: the aspects of a scene's opinion, or None where the rule does not apply."""
