"""When a predicted triplet, pair, aspect or opinion counts as the gold one; a review at a time, pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Literal

Answer = tuple[str, str, str]
"""aspect, opinion, polarity (POS, NEG, NEU)"""
Answers = Mapping[str, Sequence[Answer]]
Match = Literal["exact", "lenient"]
Part = Literal["triplet", "pair", "aspect", "opinion"]

_CUTS: Mapping[Part, Callable[[Answer], Answer]] = {
    "triplet": lambda a: a,
    "pair": lambda a: (a[0], a[1], ""),
    "aspect": lambda a: (a[0], "", ""),
    "opinion": lambda a: ("", a[1], ""),
}
_BARE = str.maketrans("", "", "[] ")


def distinct(answers: Iterable[Answer], part: Part) -> list[Answer]:
    """The answers cut to `part`, each once, in order."""
    return list(dict.fromkeys(map(_CUTS[part], answers)))


def right(gold: Sequence[Answer], told: Sequence[Answer], match: Match) -> int:
    """How many of `told` find a gold answer of their own; both sides distinct. Greedy: each takes the first that is
    left.
    """
    if match == "exact":
        return len(set(gold) & set(told))
    meets = MEETS[match]
    left, found = [_bare(one) for one in gold], 0
    for answer in map(_bare, told):
        at = next((i for i, one in enumerate(left) if meets(one, answer)), None)
        if at is not None:
            del left[at]
            found += 1
    return found


def polarities(gold: Sequence[Answer], told: Sequence[Answer], match: Match) -> tuple[int, int]:
    """(right, matched): predicted pairs that find a gold pair, and those of them that share a polarity with it.

    A pair with several polarities is one pair. Each takes the first pair left that shares its polarity, else the first
    left at all.
    """
    meets, seen = MEETS[match], _SEEN[match]
    left, hits, matched = [(seen(pair), said) for pair, said in _said(gold).items()], 0, 0
    for pair, said in _said(told).items():
        shown = seen(pair)
        near = [i for i, (other, _) in enumerate(left) if meets(other, shown)]
        if near:
            best = next((i for i in near if left[i][1] & said), near[0])
            hits += bool(left[best][1] & said)
            matched += 1
            del left[best]
    return hits, matched


def asked(gold: Sequence[Answer], told: Iterable[Answer], match: Match) -> list[Answer]:
    """Those of `told` that are about one of the gold aspects: what a system that is given the aspects would be asked
    for.
    """
    meets, seen = MEETS[match], _SEEN[match]
    aspects = [seen((aspect, "", "")) for aspect in dict.fromkeys(one[0] for one in gold)]
    return [one for one in told if any(meets(aspect, seen((one[0], "", ""))) for aspect in aspects)]


def near_label(gold: Iterable[Answer], told: Answer) -> str:
    """YY, YN or NX of one triplet by the gold of its review (`lenient` match): right, its pair only, or nothing near
    it.
    """
    shown = _bare(told)
    said = [_bare(one) for one in gold]
    if any(_lenient(one, shown) for one in said):
        return "YY"
    return "YN" if any(_lenient((one[0], one[1], shown[2]), shown) for one in said) else "NX"


def _bare(answer: Answer) -> Answer:
    """Without brackets and spaces, which near matches ignore."""
    return answer[0].translate(_BARE), answer[1].translate(_BARE), answer[2]


def _said(answers: Iterable[Answer]) -> dict[Answer, set[str]]:
    out: dict[Answer, set[str]] = {}
    for aspect, opinion, polarity in answers:
        out.setdefault((aspect, opinion, ""), set()).add(polarity)
    return out


def _exact(one: Answer, other: Answer) -> bool:
    return one == other


def _lenient(one: Answer, other: Answer) -> bool:
    return one[2] == other[2] and _within(one[0], other[0]) and _near(one[1], other[1])


MEETS: Mapping[Match, Callable[[Answer, Answer], bool]] = {"exact": _exact, "lenient": _lenient}
"""By name; both answers are as `_SEEN` shows them."""
_SEEN: Mapping[Match, Callable[[Answer], Answer]] = {"exact": lambda a: a, "lenient": _bare}


def _within(one: str, other: str) -> bool:
    return one == other or (bool(one and other) and (one in other or other in one))


def _near(one: str, other: str) -> bool:
    """The shorter is a subsequence of the longer; an empty part (`aspect` score) equals an empty part only."""
    if not one or not other:
        return one == other
    short, long = sorted((one, other), key=len)
    rest = iter(long)
    return all(char in rest for char in short)
