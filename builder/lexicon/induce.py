"""`builder lexicon induce`: grow the lexicon from raw reviews, without labels.

In: annotated reviews, the lexicon, settings. Out: candidate opinions and aspects with scores and evidence. Double propagation (Qiu et al.
2011): known opinions vouch for the nouns they describe, known aspects for the words that describe them, and what is accepted in a
round vouches in the next. What the paper decides by rules is weighed here by a regression that the lexicon's own words calibrate (`fit`):
frequency, association, context purity, company and spelling make the probability that a word is an opinion or an aspect.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

import numpy as np

from builder.lexicon import features, fit
from builder.lexicon.links import Uses, gather
from builder.lexicon.names import like_name
from builder.lexicon.slots import Document
from builder.resources import Lexicon
from builder.text import HAN, script_of

_TAGS = {"opinion": frozenset({"ADJ", "VERB", "NOUN", "PROPN", "X", "PHRASE"}), "aspect": frozenset({"NOUN", "PROPN"})}


@dataclass(frozen=True, slots=True)
class Settings:
    """`rounds` of propagation, in which candidates of probability `accepted` or more vouch for others; a candidate is used in `support`
    reviews or more, a phrase in `phrase_support`, one character in `single_support`; `shown` candidates of each kind are kept. Words
    above `longest` characters are none. `ratings` are stars by index of the review.
    """

    rounds: int = 3
    accepted: float = 0.8
    support: int = 1
    phrase_support: int = 2
    single_support: int = 8
    single_probability: float = 0.5
    longest: int = 8
    shown: int = 500
    ratings: Mapping[int, float] = field(default_factory=lambda: MappingProxyType({}))


@dataclass(frozen=True, slots=True)
class Candidate:
    """A word that may be an opinion (with its valence) or an aspect (with its class), how probable that is, and why.

    `support` is the number of reviews, `association` the scaled log-likelihood ratio with known partners, `purity` the share of its uses
    in which it stands where such words stand; `evidence` are (index of the review, offset in its view), never text.
    """

    word: str
    kind: str
    probability: float
    support: int
    association: float
    purity: float
    valence: float | None
    cls: str
    evidence: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class Induced:
    """Candidates, most probable first. `valence_agreement` is the share of known opinion words whose sign the same regression finds
    from the corpus; `counts` are words considered and left out, by reason.
    """

    opinions: tuple[Candidate, ...]
    aspects: tuple[Candidate, ...]
    reviews: int
    valence_agreement: float
    counts: Mapping[str, int]


def induce(docs: Iterable[Document], lexicon: Lexicon, settings: Settings = Settings()) -> Induced:
    """Candidates that no lexicon holds. Deterministic: the same documents give the same answer."""
    counted = _Counted(docs)
    uses = gather(counted, lexicon, settings.ratings)
    pool, counts = _pools(uses, lexicon, settings)
    opinions = {word: entry.valence for word, entry in lexicon.opinions.items()}
    aspects = {word: entry.cls for word, entry in lexicon.aspects.items()}
    scores: dict[str, dict[str, tuple[float, float]]] = {"opinion": {}, "aspect": {}}
    valences: dict[str, float] = {}
    agreement = 0.0
    for _ in range(settings.rounds):
        scores["opinion"] = _opinion_scores(uses, pool["opinion"], lexicon, opinions, aspects)
        scores["aspect"] = _aspect_scores(uses, pool["aspect"], lexicon, opinions, aspects)
        valences, agreement = _valences(uses, pool["opinion"], lexicon, opinions, settings)
        opinions |= {word: valences[word] for word, (p, _) in scores["opinion"].items() if p >= settings.accepted}
        aspects |= {word: _class(uses[word], lexicon, aspects, word) for word, (p, _) in scores["aspect"].items() if p >= settings.accepted}
    found = {kind: _candidates(kind, uses, scores, valences, lexicon, aspects, settings) for kind in scores}
    return Induced(found["opinion"], found["aspect"], counted.number, agreement, counts)


class _Counted:
    """An iterable that knows how many it gave."""

    def __init__(self, docs: Iterable[Document]) -> None:
        self._docs, self.number = docs, 0

    def __iter__(self):  # type: ignore[no-untyped-def]
        for doc in self._docs:
            self.number += 1
            yield doc


def _pools(uses: Mapping[str, Uses], lexicon: Lexicon, settings: Settings) -> tuple[dict[str, list[str]], dict[str, int]]:
    """The words that may become candidates of each kind; the others by reason."""
    pools: dict[str, list[str]] = {"opinion": [], "aspect": []}
    counts: dict[str, int] = {}
    for word, found in sorted(uses.items()):
        reason = _unfit(word, found, lexicon, settings)
        tag = max(sorted(found.tags), key=lambda name: found.tags[name])
        kinds = [kind for kind, tags in _TAGS.items() if not reason and tag in tags]
        for kind in kinds:
            pools[kind].append(word)
        reason = reason or ("" if kinds else "tag")
        counts[reason or "considered"] = counts.get(reason or "considered", 0) + 1
    return pools, counts


def _unfit(word: str, found: Uses, lexicon: Lexicon, settings: Settings) -> str:
    tables = (lexicon.opinions, lexicon.aspects, lexicon.degree, lexicon.negators, lexicon.irrealis, lexicon.general, lexicon.not_aspects)
    if any(word in table for table in tables):
        return "known"
    if not all(HAN.match(char) for char in word) or script_of(word) == "simplified":
        return "script"
    if len(word) > settings.longest:
        return "length"
    phrase = "PHRASE" in found.tags
    if found.reviews < (settings.single_support if len(word) == 1 else settings.phrase_support if phrase else settings.support):
        return "support"
    return "name" if like_name(word, found.tags["PROPN"] / found.count, lexicon) else ""
