"""Scores of candidates: the lexicon's own words teach, on this corpus, what an opinion and an aspect look like in use.

In: uses, the pool of candidates, the words accepted so far. Out: `Score` by word, valences, classes. Teachers are the
words that the lexicon has and the corpus uses; those of the other kinds are the counter-examples, weighted so that
both sides count the same.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from builder.language.lexicon import features, fit
from builder.language.lexicon.features import Characters
from builder.language.lexicon.links import Uses
from builder.language.lexicon.resources import Lexicon

_RELIABLE = 3.0
_SINGLE_OPINION, _SINGLE_ASPECT = (0.5, -np.inf), (0.65, 1.0)
"""The purity and the association from which on one character is a candidate: 台 and 位 count what is described."""


@dataclass(frozen=True, slots=True)
class WordScore:
    """`confidence` is the probability, less where it rests on few reviews."""

    confidence: float
    association: float
    purity: float


def opinion_scores(
    uses: Mapping[str, Uses],
    pool: Sequence[str],
    lexicon: Lexicon,
    opinions: Mapping[str, float],
    aspects: Mapping[str, str],
) -> dict[str, WordScore]:
    """How probable it is that a word is an opinion."""
    against = _used(
        uses, {**lexicon.aspects, **lexicon.general, **lexicon.not_aspects}.keys() - lexicon.opinions.keys()
    )
    examples = {**dict.fromkeys(against, 0.0), **dict.fromkeys(_used(uses, lexicon.opinions), 1.0)}
    spelling = Characters.of(
        {
            **dict.fromkeys({*lexicon.aspects, *lexicon.general, *lexicon.not_aspects}, 0.0),
            **dict.fromkeys(lexicon.opinions, 1.0),
        }
    )
    association = features.associations(uses, lambda use: use.described, aspects)

    def row(word: str) -> list[float]:
        return features.opinion(word, uses[word], opinions, association[word], spelling.mean(word, examples.get(word)))

    votes = {}
    for word in pool:
        use = uses[word]
        describing = _shared(use.described, aspects) if use.tags["ADJ"] else 0
        votes[word] = max(use.degree, use.graded) + _shared(use.peers, opinions) + describing
    return _scored(pool, examples, uses, row, association, votes, _SINGLE_OPINION)


def aspect_scores(
    uses: Mapping[str, Uses],
    pool: Sequence[str],
    lexicon: Lexicon,
    opinions: Mapping[str, float],
    aspects: Mapping[str, str],
) -> dict[str, WordScore]:
    """How probable it is that a word is an aspect."""
    nouns = {
        word for word, pos in lexicon.general.items() if pos in ("NOUN", "PROPN", "VERB")
    } | lexicon.not_aspects.keys()
    against = _used(uses, nouns - lexicon.aspects.keys())
    examples = {**dict.fromkeys(against, 0.0), **dict.fromkeys(_used(uses, lexicon.aspects), 1.0)}
    spelling = Characters.of(
        {
            **dict.fromkeys({*lexicon.opinions, *lexicon.general, *lexicon.not_aspects}, 0.0),
            **dict.fromkeys(lexicon.aspects, 1.0),
        }
    )
    association = features.associations(uses, lambda use: use.describing, opinions)

    def row(word: str) -> list[float]:
        own = examples.get(word)
        return features.aspect(
            word, uses[word], aspects, association[word], spelling.mean(word, own), spelling.ending(word, own)
        )

    votes = {word: _shared(uses[word].describing, opinions) + _shared(uses[word].peers, aspects) for word in pool}
    return _scored(pool, examples, uses, row, association, votes, _SINGLE_ASPECT)


def _shared(links: Mapping[str, int], partners: Collection[str]) -> int:
    return sum(count for partner, count in links.items() if partner in partners)


def _used(uses: Mapping[str, Uses], words: Iterable[str]) -> list[str]:
    return sorted(word for word in words if word in uses)


def _scored(
    pool: Sequence[str],
    examples: Mapping[str, float],
    uses: Mapping[str, Uses],
    row: Callable[[str], list[float]],
    association: Mapping[str, float],
    votes: Mapping[str, int],
    single: tuple[float, float],
) -> dict[str, WordScore]:
    """Scores of the words of the pool for which something vouches, from a regression over the examples.

    `votes` are the uses in which an accepted word vouches; without one, in a tenth of its uses or less, or mostly
    seen in pieces of longer words, a word is no candidate. One character needs the purity and the association of
    `single`. Without examples of both sides nothing can be said.
    """
    pool = [word for word in pool if votes[word] * 10 > uses[word].count and uses[word].open * 2 >= uses[word].count]
    labels = np.array(list(examples.values()))
    if not pool or len(set(examples.values())) < 2:
        return {}
    rows = np.array([row(word) for word in examples])
    mean, spread = fit.standard(rows)
    sides = np.where(labels > 0.5, 0.5 / labels.sum(), 0.5 / (1 - labels).sum()) * len(labels)
    coefficients = fit.logistic((rows - mean) / spread, labels, sides)
    scores = fit.probability((np.array([row(word) for word in pool]) - mean) / spread, coefficients)
    out = {}
    for word, score in zip(pool, scores.tolist(), strict=True):
        purity = min(1.0, votes[word] / uses[word].count)
        if len(word) > 1 or (purity >= single[0] and association[word] >= single[1]):
            out[word] = WordScore(score * (1 - 0.5 ** min(votes[word], uses[word].reviews)), association[word], purity)
    return out


def valences(
    uses: Mapping[str, Uses], pool: Sequence[str], lexicon: Lexicon, opinions: Mapping[str, float]
) -> tuple[dict[str, float], float]:
    """The valence of each word of the pool, 1 to 10, and the share of known words (5 apart) whose sign the regression
    finds.

    A word does not vouch for its own spelling, so that the share is an honest one but for the regression's eight
    weights.
    """
    known = [word for word in lexicon.opinions if word in uses and lexicon.opinions[word].valence != 5]
    if len(known) < 2:
        return dict.fromkeys(pool, 5.0), 0.0
    distances = {word: entry.valence - 5 for word, entry in lexicon.opinions.items()}
    spelling = Characters.of(distances)
    rated = sum(use.rated for use in uses.values())
    stars = sum(use.stars for use in uses.values()) / rated if rated else 0.0

    def row(word: str) -> list[float]:
        return features.valence(uses[word], opinions, spelling.mean(word, distances.get(word)), stars)

    rows, goal = np.array([row(word) for word in known]), np.array([distances[word] for word in known])
    mean, spread = fit.standard(rows)
    weights = np.array([uses[word].count / (uses[word].count + _RELIABLE) for word in known])
    coefficients = fit.ridge((rows - mean) / spread, goal, weights)
    agreement = float(np.mean(np.sign(fit.linear((rows - mean) / spread, coefficients)) == np.sign(goal)))
    if not pool:
        return {}, agreement
    guessed = 5 + fit.linear((np.array([row(word) for word in pool]) - mean) / spread, coefficients)
    return {word: float(np.clip(value, 1.5, 9.0)) for word, value in zip(pool, guessed, strict=True)}, agreement


@dataclass(frozen=True, slots=True)
class Endings:
    """The commonest class of the known aspects that end alike, by their last one to three characters."""

    classes: Mapping[str, str]
    default: str

    @classmethod
    def of(cls, lexicon: Lexicon) -> Endings:
        """The endings of the aspects of a lexicon."""
        counts: dict[str, Counter[str]] = {}
        for word, entry in lexicon.aspects.items():
            for length in range(1, min(3, len(word)) + 1):
                counts.setdefault(word[-length:], Counter())[entry.cls] += 1
        return cls(
            {ending: min(classes, key=lambda name: (-classes[name], name)) for ending, classes in counts.items()},
            lexicon.default_class,
        )

    def of_word(self, word: str, uses: Uses, aspects: Mapping[str, str]) -> str:
        """By the longest ending that known aspects share, else the commonest class among the word's peers, else the
        default.
        """
        for length in (3, 2, 1):
            if length < len(word) and word[-length:] in self.classes:
                return self.classes[word[-length:]]
        peers: Counter[str] = Counter()
        for peer, count in uses.peers.items():
            if peer in aspects:
                peers[aspects[peer]] += count
        return min(peers, key=lambda cls: (-peers[cls], cls)) if peers else self.default
