"""What a pairing rule sees of an opinion, and what it answers.

In: the constituents of a clause and what was paired before it. Out: `Scene`, the question, and `AspectChoice`, the
answer.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from builder.core.records import Token
from builder.engine.constituents import Constituent
from builder.engine.patterns import CURRENT


class Topic(NamedTuple):
    """What an earlier clause was about: the aspects last paired there (or merely named, if `named`).

    `whole`: where those are attributes or parts (口感, 外皮), the dish or drink named before them. `label`: a colon
    stands behind them. `is_list`: their clause lists them and holds nothing else (服務、環境，).
    """

    aspects: tuple[Constituent, ...]
    named: bool
    whole: Constituent | None = None
    label: bool = False
    is_list: bool = False


class Scene(NamedTuple):
    """One opinion to be paired: its clause, its place there, the tokens, the topic carried over, and, where rules
    ask for them, all aspects of its sentence (`named`).

    `symbols` are those of the clause, `marked` the same with CURRENT for the opinion.
    """

    items: Sequence[Constituent]
    symbols: str
    marked: str
    at: int
    tokens: Sequence[Token]
    topic: Topic | None
    named: Sequence[Constituent] = ()

    @property
    def opinion(self) -> Constituent:
        """The opinion to be paired."""
        return self.items[self.at]

    def move(self, at: int) -> Scene:
        """The scene of another opinion of the clause."""
        return self._replace(at=at, marked=self.symbols[:at] + CURRENT + self.symbols[at + 1 :])


class AspectChoice(NamedTuple):
    """The aspects (one, or several of a coordination carried over) and the detail for the story of the triplet."""

    aspects: tuple[Constituent, ...]
    detail: str


Pairer = Callable[[Scene], AspectChoice | None]
"""A rule made ready: the aspects of a scene's opinion, or None where the rule does not apply."""
