"""Constituents of a clause, one symbol each, which rules pair; some are opinion phrases, some aspect terms. Pure.

`phrases` makes them of a clause's units, `terms` joins what is one aspect.
"""

from __future__ import annotations

from typing import NamedTuple

from builder.core.records import Span
from builder.engine.symbols import BLOCKED
from builder.language.lexicon.resources import OpinionEntry


class Phrase(NamedTuple):
    """An opinion phrase: 不 會 太 鹹 has core 鹹, negators (不會), degrees (太)."""

    core: Span
    entry: OpinionEntry
    negators: tuple[Span, ...]
    kinds: tuple[str, ...]
    degrees: tuple[str, ...]


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
    """A symbol with its place in the view, the last token it covers (its head in Chinese), and what it is.

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
