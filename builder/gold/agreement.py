"""How far annotators agree on a pool: raw agreement, Cohen's and Fleiss' kappa on the labels, F1 on the triplets that
they stand for.

Abstentions are left out and counted. Sources: Cohen (1960); Fleiss (1971).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from builder.core.records import Label, Pool
from builder.gold.items import meant


@dataclass(frozen=True, slots=True)
class Pair:
    """Two annotators: the candidates that both labelled, raw agreement, Cohen's kappa, and the F1 of their triplets
    with exact spans.
    """

    first: str
    second: str
    both: int
    raw: float | None
    kappa: float | None
    span_f1: float | None


@dataclass(frozen=True, slots=True)
class Agreement:
    """`everyone`: candidates that all annotators labelled, on which `fleiss` and `raw` stand. `abstained`: by
    annotator.
    """

    annotators: tuple[str, ...]
    labelled: Mapping[str, int]
    abstained: Mapping[str, int]
    pairs: tuple[Pair, ...]
    everyone: int
    raw: float | None
    fleiss: float | None


def agreement(pool: Pool, labels: Mapping[str, Mapping[int, Label]]) -> Agreement:
    """Over the labels of at least one annotator: name -> candidate id -> label."""
    given = {
        who: {i: answer.label for i, answer in own_labels.items() if answer.label is not None}
        for who, own_labels in labels.items()
    }
    own = {candidate.id for review in pool.reviews for candidate in review.candidates if candidate.n is not None}
    names = tuple(sorted(given))
    pairs = []
    for a, b in combinations(names, 2):
        both = sorted(given[a].keys() & given[b].keys() & own)
        first, second = ([given[who][i] for i in both] for who in (a, b))
        pairs.append(
            Pair(a, b, len(both), raw(first, second), cohen(first, second), span_f1(pool, labels[a], labels[b]))
        )
    everyone = sorted(own.intersection(*(verdicts.keys() for verdicts in given.values()))) if len(names) > 1 else []
    table = [[given[who][i] for who in names] for i in everyone]
    same = sum(len(set(row)) == 1 for row in table) / len(table) if table else None
    labelled = {who: len(given[who].keys() & own) for who in names}
    abstained = {who: sum(label.label is None for label in labels[who].values()) for who in names}
    return Agreement(names, labelled, abstained, tuple(pairs), len(table), same, fleiss(table))


def raw(first: Sequence[Hashable], second: Sequence[Hashable]) -> float | None:
    """The share of items with the same label; None without items."""
    return sum(a == b for a, b in zip(first, second, strict=True)) / len(first) if first else None


def cohen(first: Sequence[Hashable], second: Sequence[Hashable]) -> float | None:
    """(observed - expected) / (1 - expected); None without items, or where both always say the same one label."""
    if not first:
        return None
    observed, n = raw(first, second), len(first)
    assert observed is not None
    first_counts, second_counts = Counter(first), Counter(second)
    expected = sum(first_counts[label] * second_counts[label] for label in first_counts) / n**2
    return None if expected == 1 else (observed - expected) / (1 - expected)


def fleiss(table: Sequence[Sequence[Hashable]]) -> float | None:
    """`table`: for each item the labels of the same number (two or more) of raters. None as for `cohen`."""
    if not table:
        return None
    raters = len(table[0])
    assert raters > 1 and all(len(row) == raters for row in table), "every item has the same raters"
    counts = [Counter(row) for row in table]
    observed = sum(sum(n * (n - 1) for n in row.values()) for row in counts) / (len(table) * raters * (raters - 1))
    total = sum(counts, Counter())
    expected = sum((n / (len(table) * raters)) ** 2 for n in total.values())
    return None if expected == 1 else (observed - expected) / (1 - expected)


def span_f1(pool: Pool, first: Mapping[int, Label], second: Mapping[int, Label]) -> float | None:
    """F1 of the triplets that two annotators' labels stand for, by exact spans and polarity; over reviews of which
    both labelled every candidate.

    None where there is no such review, or neither found a triplet in any.
    """
    right = in_first = in_second = 0
    for review in pool.reviews:
        own = [c.id for c in review.candidates if c.n is not None]
        if own and all(i in first and i in second and first[i].label and second[i].label for i in own):
            a, b = (
                {t.key for c in review.candidates if c.id in own_labels and (t := meant(review, c, own_labels[c.id]))}
                for own_labels in (first, second)
            )
            right, in_first, in_second = right + len(a & b), in_first + len(a), in_second + len(b)
    return 2 * right / (in_first + in_second) if in_first + in_second else None


def disputed(pool: Pool, labels: Mapping[str, Mapping[int, Label]]) -> dict[int, tuple[tuple[str, Label], ...]]:
    """Candidate id -> what each said, where two do not say the same: another label or correction, or a triplet that
    only some found missing.
    """
    out: dict[int, tuple[tuple[str, Label], ...]] = {}
    for review in pool.reviews:
        present = {
            who
            for who, own_labels in labels.items()
            if any(candidate.id in own_labels and own_labels[candidate.id].label for candidate in review.candidates)
        }
        for candidate in review.candidates:
            answers = tuple(
                (who, labels[who][candidate.id])
                for who in sorted(labels)
                if candidate.id in labels[who] and labels[who][candidate.id].label
            )
            lonely = candidate.n is None and answers and len(answers) < len(present)
            if lonely or len({label.answer for _, label in answers}) > 1:
                out[candidate.id] = answers
    return out
