"""Why a triplet is what it is: what decided, as values. `steps` says the same in words, for people alone."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

Step = tuple[str, str]
"""A kind and a detail in words."""
NO_PATH = "none: two trees"
"""What is said of a path between two trees."""
_UNLISTED = "unlisted noun"


class ReadWord(NamedTuple):
    """A word as the lexicon has it. `category`: the class of an aspect, or the category of an opinion; None where no
    lexicon tells. `place`: file and line there; None of what a rule composed. `valence`: that of an opinion.
    """

    word: str
    category: str | None
    place: str | None = None
    valence: float | None = None

    @property
    def detail(self) -> str:
        """湯頭 food.soup (aspects/food_chinese.tsv:12); 鹹 taste.salty 3.5 (opinions/food_taste.tsv:12)."""
        parts = [self.word, self.category or _UNLISTED]
        parts += [f"{self.valence:g}"] if self.valence is not None else []
        parts += [f"({self.place})"] if self.place else []
        return " ".join(parts)


@dataclass(frozen=True, slots=True)
class Reasons:
    """What decided on a triplet, in the order of the decisions.

    A model's proposal that the rules read has `opinion` and `changes` alone. `changes` are what context, degree and
    negation did to its value. `candidates` are the best that were weighed, with their scores, and `margin` says by how
    much the aspect is ahead of the best other one; it is infinite where nothing was weighed. `path`: the steps in the
    dependency tree, None between two trees. `places`: among how many places of a model's words the nearest were taken.
    """

    opinion: ReadWord | None = None
    changes: tuple[Step, ...] = ()
    aspect: ReadWord | None = None
    negators: tuple[str, ...] = ()
    pairing: str = ""
    attributes: tuple[str, ...] = ()
    candidates: tuple[tuple[str, float], ...] = ()
    margin: float = math.inf
    path: tuple[str, ...] | None = None
    places: int = 0

    @property
    def steps(self) -> tuple[Step, ...]:
        """The decisions in words."""
        out = [("places", str(self.places))] if self.places else []
        out += [("aspect", self.aspect.detail)] if self.aspect else []
        out += [("opinion", self.opinion.detail)] if self.opinion else []
        out += [*self.changes, *(("negator", word) for word in self.negators)]
        if self.aspect is None:
            return tuple(out)
        out.append(("pairing", self.pairing))
        out += [("attribute", "、".join(self.attributes))] if self.attributes else []
        scores = ", ".join(f"{word} {score:.1f}" for word, score in self.candidates)
        out += [("candidates", scores)] if scores else []
        return (*out, ("path", NO_PATH if self.path is None else " ".join(self.path)))
