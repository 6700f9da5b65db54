"""What labels by people say: how far annotators agree on a pool, and how good an audited release is. Pure.

Agreement is raw agreement, Cohen's and Fleiss' kappa on the labels, and F1 on the triplets that they stand for.
Abstentions are left out and counted. Sources: Cohen (1960); Fleiss (1971).

An audit asks people about some triplets and reviews, and estimates from their answers for all of the release. In: the
released reviews with their triplets, and later the labels. Out: a pool as any other (the page and the sheets know it),
then `AuditResult`. Some reviews are read in full, for recall: they stand first in the pool and hold all their triplets.
Of all other reviews single triplets are drawn, by strata of polarity and of who proposed them, for precision. Small
strata get more than their share, and the estimate weighs each by its size.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

from builder.core.records import Candidate, Label, Pool, PoolReview
from builder.gold.items import READ, meant
from builder.gold.metrics.scores import Share, Stratum, ratio_share, stratified_share
from builder.gold.pool import ID_LENGTH, draw, name_of, number_blinded, shares

# ---- Agreement of annotators


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


# ---- Audits of a release

KIND = "audit"


@dataclass(frozen=True, slots=True)
class AuditSettings:
    """`triplets` to judge one by one, `reviews` to read in full."""

    triplets: int = 150
    reviews: int = 30
    seed: int = 13


@dataclass(frozen=True, slots=True)
class AuditResult:
    """What people found. `precision` counts a triplet as right where its pair and polarity are; `exact` where its words
    are not corrected either.

    `recall` is over the `read` reviews that somebody marked complete, of `to_read`. `strata`: name -> precision there.
    `answered` of `drawn` triplets that are judged one by one; `decided` of `asked` questions of the whole pool,
    those of reviews read in full and unsure answers included.
    """

    pool: str
    version: str
    precision: Share | None
    exact: Share | None
    recall: Share | None
    strata: Mapping[str, Share]
    answered: int
    drawn: int
    read: int
    to_read: int
    decided: int
    asked: int

    def shares(self) -> list[tuple[str, Share | None]]:
        """Each share by its name, strata below the precision that they make up."""
        strata = ((f"  {name}", share) for name, share in self.strata.items())
        exact = ("precision, exact words", self.exact)
        return [("precision", self.precision), *strata, exact, ("recall", self.recall)]


def draw_audit(reviews: Sequence[PoolReview], version: str, settings: AuditSettings) -> Pool:
    """The pool of an audit of release `version`. Of a release with few reviews at most every second is read in full."""
    seed = settings.seed
    order = sorted(reviews, key=lambda review: draw(seed, "read", review.key))
    most = min(settings.reviews, len(order) // 2)
    read, rest = order[:most], order[most:]
    frame = [(review, candidate) for review in rest for candidate in review.candidates]
    sizes = Counter(stratum_of(candidate) for _, candidate in frame)
    drawn = _draw_triplets(frame, sizes, settings)
    chosen = [replace(review, stratum=READ) for review in read]
    for review in sorted(rest, key=lambda review: draw(seed, review.key)):
        candidates = tuple(
            candidate for candidate in review.candidates if (review.key, name_of(candidate.triplet)) in drawn
        )
        if candidates:
            chosen.append(replace(review, candidates=candidates))
    asked = {"triplets": settings.triplets, "reviews": settings.reviews}
    config = {"kind": KIND, "version": version, **asked, "strata": dict(sorted(sizes.items()))}
    return _numbered(chosen, config, seed)


def stratum_of(candidate: Candidate) -> str:
    """Polarity and whether the rules hold the triplet or models alone."""
    by_rules = any(name == "rules" for name, _ in candidate.sources)
    return f"{candidate.triplet.polarity} of {'rules' if by_rules else 'models alone'}"


def measure_audit(pool: Pool, final: Mapping[int, Label], complete: frozenset[int]) -> AuditResult:
    """`final`: candidate id -> what people agree on; `complete`: ids of the reviews in which somebody looked for what
    is missing.
    """
    sizes: Mapping[str, int] = pool.config["strata"]  # type: ignore[assignment]
    judged: dict[str, list[Label]] = {name: [] for name in sizes}
    drawn = 0
    for review in pool.reviews:
        for candidate in review.candidates if review.stratum != READ else ():
            label = final.get(candidate.id)
            drawn += candidate.n is not None
            if candidate.n is not None and label is not None and label.label is not None:
                judged[stratum_of(candidate)].append(label)
    asked = [candidate for review in pool.reviews for candidate in review.candidates if candidate.n is not None]
    bare = [review for review in pool.reviews if not review.candidates]
    decided = sum(candidate.id in final for candidate in asked) + sum(review.id in complete for review in bare)
    read = [review for review in pool.reviews if review.stratum == READ]
    recalled = [row for review in read if (row := _recall_row(review, final, complete)) is not None]
    right = {name: _stratum(sizes[name], labels, exact=False) for name, labels in judged.items()}
    exact = [_stratum(sizes[name], labels, exact=True) for name, labels in judged.items()]
    strata = {name: share for name, stratum in right.items() if (share := stratified_share([stratum])) is not None}
    return AuditResult(
        pool.id, str(pool.config["version"]), stratified_share(right.values()), stratified_share(exact),
        ratio_share(recalled), strata, sum(map(len, judged.values())), drawn, len(recalled), len(read),
        decided, len(asked) + len(bare),
    )  # fmt: skip


def describe_audit(result: AuditResult) -> str:
    """The result in sentences, for card, report and Croissant."""
    if result.precision is None:
        return ""
    exact = f", {result.exact.value:.1f}% with every word as a person would mark it" if result.exact else ""
    recall = ""
    if result.recall is not None:
        recall = (
            f" Recall {_interval(result.recall)}, over {result.read} reviews read in full with "
            f"{result.recall.answers} triplets to find."
        )
    return (
        f"Precision {_interval(result.precision)}{exact}: people judged {result.precision.answers} triplets of version "
        f"{result.version}, drawn by strata of polarity and origin.{recall}"
    )


def _interval(share: Share) -> str:
    return f"{share.value:.1f}% (95% interval {share.low:.1f} to {share.high:.1f})"


def _draw_triplets(
    frame: Sequence[tuple[PoolReview, Candidate]], sizes: Mapping[str, int], settings: AuditSettings
) -> set[tuple[str, str]]:
    """Half of the places go alike to all strata, the rest by their sizes."""
    n = min(settings.triplets, len(frame))
    least = {name: min(size, n // (2 * len(sizes))) for name, size in sizes.items()}
    left = {name: size - least[name] for name, size in sizes.items()}
    quota = shares(left, n - sum(least.values())) if any(left.values()) else {}
    drawn: set[tuple[str, str]] = set()
    for name in sizes:
        members = [
            (review.key, name_of(candidate.triplet)) for review, candidate in frame if stratum_of(candidate) == name
        ]
        members.sort(key=lambda member: draw(settings.seed, "audit", *member))
        drawn |= set(members[: least[name] + quota.get(name, 0)])
    return drawn


def _numbered(reviews: Iterable[PoolReview], config: Mapping[str, object], seed: int) -> Pool:
    """Candidates in blinded order, numbered from 1."""
    numbered, at, digest = [], 1, hashlib.sha256(json.dumps([seed, config], sort_keys=True).encode())
    for n, review in enumerate(reviews, 1):
        candidates = number_blinded(seed, review.key, review.candidates, at)
        at += len(candidates)
        numbered.append(replace(review, n=n, candidates=candidates))
        names = [name_of(candidate.triplet) for candidate in candidates]
        digest.update(json.dumps([review.key, review.text, review.stratum, names]).encode())
    name = digest.hexdigest()
    return Pool(name[:ID_LENGTH], seed, "all", name, config, tuple(numbered))


def _stratum(size: int, labels: Sequence[Label], *, exact: bool) -> Stratum:
    right = sum(
        label.label == "YY" and not (exact and (label.aspect is not None or label.opinion is not None))
        for label in labels
    )
    return Stratum(size, len(labels), right)


def _recall_row(review: PoolReview, final: Mapping[int, Label], complete: frozenset[int]) -> tuple[int, int] | None:
    """(found, to find) of a review that is read and judged in full."""
    if review.id not in complete:
        return None
    right_triplets, due = 0, set()
    for candidate in review.candidates:
        label = final.get(candidate.id)
        if label is None or label.label is None:
            return None
        right = candidate.n is not None and label.label == "YY"
        triplet = candidate.triplet if right else meant(review, candidate, label)
        if triplet is not None:
            due.add(triplet.key)
            right_triplets += right
    return right_triplets, max(right_triplets, len(due))
