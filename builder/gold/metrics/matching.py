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


def right(gold: Sequence[Answer], predicted: Sequence[Answer], match: Match) -> int:
    """How many of `predicted` have a gold answer of their own; both sides distinct. Greedy: each takes the
    first left.
    """
    if match == "exact":
        return len(set(gold) & set(predicted))
    meets = MEETS[match]
    left, hits = [_bare(answer) for answer in gold], 0
    for answer in map(_bare, predicted):
        at = next((i for i, due in enumerate(left) if meets(due, answer)), None)
        if at is not None:
            del left[at]
            hits += 1
    return hits


def polarities(gold: Sequence[Answer], predicted: Sequence[Answer], match: Match) -> tuple[int, int]:
    """(right, matched): predicted pairs that have a gold pair, and those of them that share a polarity with it.

    A pair with several polarities is one pair. Each takes the first pair left that shares its polarity, else the first
    left at all.
    """
    meets, seen = MEETS[match], _SEEN[match]
    left, hits, matched = [(seen(pair), names) for pair, names in _by_pair(gold).items()], 0, 0
    for pair, names in _by_pair(predicted).items():
        shown = seen(pair)
        near = [i for i, (other, _) in enumerate(left) if meets(other, shown)]
        if near:
            best = next((i for i in near if left[i][1] & names), near[0])
            hits += bool(left[best][1] & names)
            matched += 1
            del left[best]
    return hits, matched


def asked(gold: Sequence[Answer], predicted: Iterable[Answer], match: Match) -> list[Answer]:
    """The predictions about one of the gold aspects: what a system that is given the aspects would be asked for."""
    meets, seen = MEETS[match], _SEEN[match]
    aspects = [seen((aspect, "", "")) for aspect in dict.fromkeys(answer[0] for answer in gold)]
    return [answer for answer in predicted if any(meets(aspect, seen((answer[0], "", ""))) for aspect in aspects)]


def near_label(gold: Iterable[Answer], predicted: Answer) -> str:
    """YY, YN or NX of a triplet by the gold of its review (`lenient`): right, its pair only, or nothing near it."""
    shown = _bare(predicted)
    due = [_bare(answer) for answer in gold]
    if any(_lenient(answer, shown) for answer in due):
        return "YY"
    return "YN" if any(_lenient((answer[0], answer[1], shown[2]), shown) for answer in due) else "NX"


def _bare(answer: Answer) -> Answer:
    """Without brackets and spaces, which near matches ignore."""
    return answer[0].translate(_BARE), answer[1].translate(_BARE), answer[2]


def _by_pair(answers: Iterable[Answer]) -> dict[Answer, set[str]]:
    """Pair -> its polarities."""
    pairs: dict[Answer, set[str]] = {}
    for aspect, opinion, polarity in answers:
        pairs.setdefault((aspect, opinion, ""), set()).add(polarity)
    return pairs


def _exact(due: Answer, answer: Answer) -> bool:
    return due == answer


def _lenient(due: Answer, answer: Answer) -> bool:
    return due[2] == answer[2] and _within(due[0], answer[0]) and _near(due[1], answer[1])


MEETS: Mapping[Match, Callable[[Answer, Answer], bool]] = {"exact": _exact, "lenient": _lenient}
"""By name; both answers are as `_SEEN` shows them."""
_SEEN: Mapping[Match, Callable[[Answer], Answer]] = {"exact": lambda a: a, "lenient": _bare}


def _within(first: str, second: str) -> bool:
    return first == second or (bool(first and second) and (first in second or second in first))


def _near(first: str, second: str) -> bool:
    """The shorter is a subsequence of the longer; an empty part (`aspect` score) equals an empty part only."""
    if not first or not second:
        return first == second
    short, long = sorted((first, second), key=len)
    rest = iter(long)
    return all(char in rest for char in short)
