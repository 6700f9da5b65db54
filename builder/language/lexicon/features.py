"""Features of a word's uses: what makes it look like an opinion, like an aspect, and how good it is.

In: `Uses`, the words accepted so far, and what the lexicon says about characters. Out: rows of numbers for `fit`. Pure.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from builder.language.lexicon.links import Uses

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
    ]


def valence(uses: Uses, valences: Mapping[str, float], written: float, stars: float) -> list[float]:
    """What neighbours, peers, spelling and ratings say: means of distances from 5 (stars: from the corpus's mean),
    shrunk to 0.
    """
    return [
        _mean(uses.near, valences), _mean(uses.far, valences), _mean(uses.peers, valences), written,
        (uses.stars - stars * uses.rated) / (uses.rated + SMOOTH),
        _share(uses.negated, uses.count), _share(uses.degree, uses.count),
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
