"""Scores of candidates: the lexicon's own words teach, on this corpus, what an opinion and an aspect look like in use.

In: uses, the pool of candidates, the words accepted so far. Out: `Score` by word, valences, classes. Teachers are the
words that the lexicon has and the corpus uses; those of the other kinds are the counter-examples, weighted so that
both sides count the same.

Two small regressions that the lexicon itself calibrates: is a word of a kind (logistic), and how good is it (ridge).

Features of a word's uses: what makes it look like an opinion, like an aspect, and how good it is.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from builder.language.lexicon.links import Uses
from builder.language.lexicon.resources import Lexicon

Matrix = npt.NDArray[np.float64]


def logistic(rows: Matrix, labels: Matrix, weights: Matrix, penalty: float = 1.0, steps: int = 30) -> Matrix:
    """Weights of a penalised, weighted logistic regression by Newton's method; the last weight is the bias."""
    x = _biased(rows)
    keep = np.diag([*[penalty] * rows.shape[1], 1e-6])
    coefficients = np.zeros(x.shape[1])
    for _ in range(steps):
        p = 1 / (1 + np.exp(-np.clip(x @ coefficients, -30, 30)))
        slope = x.T @ (weights * (labels - p)) - keep @ coefficients
        curve = (x * (weights * p * (1 - p))[:, None]).T @ x + keep
        step = np.linalg.solve(curve, slope)
        coefficients += step
        if float(np.abs(step).max()) < 1e-8:
            break
    return np.asarray(coefficients)


def probability(rows: Matrix, coefficients: Matrix) -> Matrix:
    """The probability of each row by the weights of `logistic`."""
    return np.asarray(1 / (1 + np.exp(-np.clip(_biased(rows) @ coefficients, -30, 30))))


def ridge(rows: Matrix, values: Matrix, weights: Matrix, penalty: float = 1.0) -> Matrix:
    """Weights of a penalised, weighted linear regression; the last weight is the bias."""
    x = _biased(rows)
    keep = np.diag([*[penalty] * rows.shape[1], 1e-6])
    return np.asarray(np.linalg.solve((x * weights[:, None]).T @ x + keep, x.T @ (weights * values)))


def linear(rows: Matrix, coefficients: Matrix) -> Matrix:
    """The value of each row by the weights of `ridge`."""
    return np.asarray(_biased(rows) @ coefficients)


def standard(rows: Matrix) -> tuple[Matrix, Matrix]:
    """Mean and spread of each column, the spread 1 where a column is constant."""
    spread = rows.std(axis=0)
    return np.asarray(rows.mean(axis=0)), np.where(spread > 1e-9, spread, 1.0)


def _biased(rows: Matrix) -> Matrix:
    return np.hstack([rows, np.ones((len(rows), 1))])


SMOOTH = 2.0


@dataclass(frozen=True, slots=True)
class Characters:
    """How often characters stand in words of a kind: a word's kind and valence show in what it is written with (Ku &
    Chen 2007).
    """

    inside: Mapping[str, tuple[float, float]]
    last: Mapping[str, tuple[float, float]]
    prior: float

    @classmethod
    def of(cls, values: Mapping[str, float]) -> Characters:
        """Sums and counts of the words' values by character, and by last character."""
        inside: dict[str, list[float]] = {}
        last: dict[str, list[float]] = {}
        for word, value in values.items():
            for char in set(word):
                inside.setdefault(char, []).append(value)
            last.setdefault(word[-1], []).append(value)
        prior = sum(values.values()) / max(1, len(values))
        return cls(
            {c: (sum(v), len(v)) for c, v in inside.items()}, {c: (sum(v), len(v)) for c, v in last.items()}, prior
        )

    def mean(self, word: str, own: float | None) -> float:
        """The mean value of words that share a character; a word among them (`own`) does not vouch for itself."""
        return sum(self._share(self.inside, char, own) for char in word) / len(word)

    def ending(self, word: str, own: float | None) -> float:
        """The mean value of words that end in the same character; `own` as in `mean`."""
        return self._share(self.last, word[-1], own)

    def _share(self, table: Mapping[str, tuple[float, float]], char: str, own: float | None) -> float:
        total, number = table.get(char, (0.0, 0))
        if own is not None:
            total, number = total - own, number - 1
        return (total + SMOOTH * self.prior) / (number + SMOOTH)


def opinion(word: str, uses: Uses, opinions: Mapping[str, float], association: float, written: float) -> list[float]:
    """Support, purity, association, grammar, company and spelling of a word as an opinion."""
    n, tags = uses.count, uses.tags
    linked = sum(uses.described.values())
    return [
        math.log1p(uses.reviews),
        association,
        _share(uses.degree, n),
        _share(uses.negated, n),
        _share(uses.final, n),
        _share(min(linked, n), n),
        _share(uses.graded, n),
        _share(sum(count for peer, count in uses.peers.items() if peer in opinions), n),
        _share(tags["ADJ"], n),
        _share(tags["VERB"], n),
        _share(tags["NOUN"] + tags["PROPN"], n),
        _share(min(sum(uses.describing.values()), n), n),
        _share(uses.open, n),
        written,
        float(len(word) == 1),
        float(len(word) == 2),
        float(len(word) == 3),
        _share(uses.judging, uses.read),
        _share(uses.named, uses.read),
    ]


def aspect(
    word: str, uses: Uses, aspects: Mapping[str, str], association: float, written: float, ending: float
) -> list[float]:
    """The same of a noun as an aspect."""
    n, tags = uses.count, uses.tags
    return [
        math.log1p(uses.reviews),
        association,
        _share(min(sum(uses.describing.values()), n), n),
        _share(sum(count for peer, count in uses.peers.items() if peer in aspects), n),
        _share(uses.degree, n),
        _share(uses.negated, n),
        _share(uses.counted, n),
        _share(tags["NOUN"], n),
        _share(tags["PROPN"], n),
        _share(tags["VERB"] + tags["ADJ"], n),
        _share(min(sum(uses.described.values()), n), n),
        _share(uses.open, n),
        written,
        ending,
        float(len(word) == 1),
        float(len(word) == 2),
        _share(uses.named, uses.read),
        _share(uses.judging, uses.read),
    ]


def valence(uses: Uses, valences: Mapping[str, float], written: float, stars: float) -> list[float]:
    """What neighbours, peers, spelling and ratings say: means of distances from 5 (stars: from the corpus's mean),
    shrunk to 0.
    """
    return [
        _mean(uses.near, valences), _mean(uses.far, valences), _mean(uses.peers, valences), written,
        (uses.stars - stars * uses.rated) / (uses.rated + SMOOTH),
        _share(uses.negated, uses.count), _share(uses.degree, uses.count), _share(uses.praise, uses.judging),
    ]  # fmt: skip


def associations(
    uses: Mapping[str, Uses], links: Callable[[Uses], Counter[str]], partners: Iterable[str]
) -> dict[str, float]:
    """Signed root of the log-likelihood ratio (Dunning 1993) between each word and links with `partners`, on a log
    scale.
    """
    wanted = frozenset(partners)
    linked = {
        word: sum(count for partner, count in links(use).items() if partner in wanted) for word, use in uses.items()
    }
    total, links_total = sum(use.count for use in uses.values()), sum(linked.values())
    return {
        word: _association(min(linked[word], use.count), use.count, links_total, max(total, links_total))
        for word, use in uses.items()
    }


def _association(joint: float, word: float, links: float, total: float) -> float:
    if not total or not links:
        return 0.0
    expected = word * links / total
    ratio = 2 * sum(
        o * math.log(o / e) for o, e in ((joint, expected), (word - joint, word - expected)) if o > 0 and e > 0
    )
    return math.copysign(math.log1p(math.sqrt(max(ratio, 0.0))), joint - expected)


def _mean(signs: Mapping[str, int], valences: Mapping[str, float]) -> float:
    known = [(sign, valences[word] - 5) for word, sign in signs.items() if word in valences]
    return sum(sign * distance for sign, distance in known) / (sum(abs(sign) for sign, _ in known) + SMOOTH)


def _share(part: float, whole: float) -> float:
    return part / (whole + SMOOTH)


_RELIABLE = 3.0
_RARELY = 20
"""Most uses of an aspect judge nothing: a model that names it in one of so many uses says enough."""
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
    association = associations(uses, lambda use: use.described, aspects)

    def row(word: str) -> list[float]:
        return opinion(word, uses[word], opinions, association[word], spelling.mean(word, examples.get(word)))

    votes = {}
    for word in pool:
        use = uses[word]
        describing = _shared(use.described, aspects) if use.tags["ADJ"] else 0
        votes[word] = max(use.degree, use.graded, use.judging) + _shared(use.peers, opinions) + describing
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
    association = associations(uses, lambda use: use.describing, opinions)

    def row(word: str) -> list[float]:
        own = examples.get(word)
        return aspect(
            word, uses[word], aspects, association[word], spelling.mean(word, own), spelling.ending(word, own)
        )

    votes = {
        word: max(_shared(uses[word].describing, opinions), uses[word].named) + _shared(uses[word].peers, aspects)
        for word in pool
    }
    scores = _scored(pool, examples, uses, row, association, votes, _SINGLE_ASPECT)
    for word in pool:
        named, known = uses[word].named, scores.get(word, WordScore(0.0, association[word], 0.0))
        if len(word) > 1 and named * _RARELY >= max(1, uses[word].read):
            scores[word] = replace(known, confidence=max(known.confidence, 1 - 0.5**named))
    return scores


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
    mean, spread = standard(rows)
    sides = np.where(labels > 0.5, 0.5 / labels.sum(), 0.5 / (1 - labels).sum()) * len(labels)
    coefficients = logistic((rows - mean) / spread, labels, sides)
    scores = probability((np.array([row(word) for word in pool]) - mean) / spread, coefficients)
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
        return valence(uses[word], opinions, spelling.mean(word, distances.get(word)), stars)

    rows, goal = np.array([row(word) for word in known]), np.array([distances[word] for word in known])
    mean, spread = standard(rows)
    weights = np.array([uses[word].count / (uses[word].count + _RELIABLE) for word in known])
    coefficients = ridge((rows - mean) / spread, goal, weights)
    agreement = float(np.mean(np.sign(linear((rows - mean) / spread, coefficients)) == np.sign(goal)))
    if not pool:
        return {}, agreement
    guessed = 5 + linear((np.array([row(word) for word in pool]) - mean) / spread, coefficients)
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
