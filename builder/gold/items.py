"""Items of a pool as people label them: their order, their mentions, and what annotation files carry both ways.

Order. In: a pool, and by how much the rules' choice of each candidate's aspect was ahead. Out: its reviews in order,
and how fast a person labels. Pure. The pool's own order is chance, so what is labelled first is a sample. The order
`uncertain` gives no sample, but each label says more.

A mention says where something stands in a review: `服務`, or `服務@12-14`, or `不鹹@3-4,6-7` for one in pieces.

A `LabelItem` is a candidate of a pool (or a review without one), with the labels given so far. A `Filled` is an item as
a file returns it, not yet checked: `builder.gold.file_formats` compares it with the pool.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate, pairwise

from builder.core.records import (
    POLARITY_NAMES,
    VALENCES,
    Candidate,
    Element,
    Label,
    Polarity,
    Pool,
    PoolReview,
    Span,
    Triplet,
    surface,
)

# ---- Order of labelling

Margins = Mapping[int, float]
"""Candidate id -> by how much the rules' choice of its aspect was ahead (`Reasons.margin`)."""


def uncertainty(candidate: Candidate, systems: int, margin: float = math.inf) -> float:
    """How unsure the systems are of a candidate, from 0 to 1: 1 where all that is known of it says fifty-fifty.

    What is known are the share of the systems that propose it, their confidences, and the rules' margin as a
    probability (the logistic of it).
    """
    known = [confidence for _, confidence in candidate.sources if confidence is not None]
    known += [len(candidate.sources) / systems] if systems > 1 else []
    known += [1 / (1 + math.exp(-margin))] if math.isfinite(margin) else []
    likely = sum(known) / len(known) if known else 1.0
    return 1 - abs(2 * likely - 1)


def _by_chance(pool: Pool, margins: Margins) -> tuple[PoolReview, ...]:
    """Reviews as they were drawn, candidates of a review as it is read."""
    return tuple(
        replace(review, candidates=tuple(sorted(review.candidates, key=lambda candidate: candidate.triplet.key)))
        for review in pool.reviews
    )


def _uncertain_first(pool: Pool, margins: Margins) -> tuple[PoolReview, ...]:
    """Reviews by their most uncertain candidate, candidates of a review by their own; reviews without one last."""
    proposed = pool.config.get("sources")
    systems = len(proposed) if isinstance(proposed, Mapping) else 1

    def doubt(candidate: Candidate) -> float:
        return uncertainty(candidate, systems, margins.get(candidate.id, math.inf)) if candidate.n is not None else -1

    reviews = [
        replace(review, candidates=tuple(sorted(review.candidates, key=lambda candidate: -doubt(candidate))))
        for review in pool.reviews
    ]
    return tuple(sorted(reviews, key=lambda review: -max(map(doubt, review.candidates), default=-1)))


ORDERS: dict[str, Callable[[Pool, Margins], tuple[PoolReview, ...]]] = {
    "pool": _by_chance,
    "uncertain": _uncertain_first,
}
"""By name: the reviews of a pool in that order."""


BREAK = 300.0
"""Seconds without a label after which a person is taken to have paused."""
_LEAST = 5
"""Fewer labels than this in a row say nothing of the pace."""


def labels_per_hour(moments: Sequence[float]) -> int | None:
    """The pace over all stretches of work; None while there are too few labels, or no time has passed.

    Args:
        moments: seconds, in order. Labels that came in one go, as an import brings them, count as one.
    """
    gaps = [later - earlier for earlier, later in pairwise(moments) if 0 < later - earlier <= BREAK]
    return round(3600 * len(gaps) / sum(gaps)) if len(gaps) >= _LEAST else None


# ---- Mentions

_PLACED = re.compile(r"(.*)@(\d{1,7}-\d{1,7}(?:,\d{1,7}-\d{1,7})*)", re.S)


class MentionError(ValueError):
    """It does not stand there. `what` and `fix` are for the person who wrote it."""

    def __init__(self, what: str, fix: str) -> None:
        super().__init__(what)
        self.what, self.fix = what, fix


def shown(text: str, spans: Sequence[Span]) -> str:
    """`TEXT@start-end,…` of these spans."""
    return f"{surface(text, spans)}@{places(spans)}"


def places(spans: Sequence[Span]) -> str:
    """`start-end,…`."""
    return ",".join(f"{start}-{end}" for start, end in spans)


def locate(text: str, given: str) -> Element:
    """What `given` names in `text`; MentionError where it is not there, or stands there more than once without saying
    where.
    """
    placed = _PLACED.fullmatch(given)
    if placed and given not in text:
        spans = tuple((int(a), int(b)) for a, b in (part.split("-") for part in placed[2].split(",")))
        return _checked(text, placed[1], spans)
    starts = [match.start() for match in re.finditer(f"(?={re.escape(given)})", text)] if given else []
    if len(starts) == 1:
        return Element(given, ((starts[0], starts[0] + len(given)),))
    if not starts:
        raise MentionError(
            f"{given!r} does not stand in the review",
            "copy the words from the text; for words in pieces write 不鹹@3-4,6-7",
        )
    first = ", ".join(f"{at}-{at + len(given)}" for at in starts[:5])
    raise MentionError(
        f"{given!r} stands {len(starts)} times in the review",
        f"write which one: {given}@{first.split(',')[0]} (it is at {first})",
    )


def _checked(text: str, words: str, spans: tuple[Span, ...]) -> Element:
    ordered = all(start < end <= len(text) for start, end in spans) and all(a[1] <= b[0] for a, b in pairwise(spans))
    if not ordered or (words and surface(text, spans) != words):
        there = f", which is {surface(text, spans)!r}" if ordered else ""
        raise MentionError(
            f"{words!r} does not stand at {places(spans)}{there}",
            "correct the places: code points from 0, the end not included",
        )
    return Element.at(text, spans)


def to_utf16(text: str, offsets: Sequence[int]) -> list[int]:
    units = _units(text)
    return [units[offset] for offset in offsets]


def from_utf16(text: str, offsets: Sequence[int]) -> list[int]:
    """UTF-16 offsets as code-point ones; ValueError for one outside of the text or inside a character."""
    units = _units(text)
    out = []
    for offset in offsets:
        at = bisect_left(units, offset)
        if at == len(units) or units[at] != offset:
            raise ValueError(f"{offset} is no UTF-16 offset of a character")
        out.append(at)
    return out


def _units(text: str) -> list[int]:
    """Units before each character, and before the end."""
    return [0, *accumulate(2 if ord(char) > 0xFFFF else 1 for char in text)]


# ---- Items

GUIDE = (
    ("YY", "這個意見在描述這個對象，正負面也對。", "The opinion describes the aspect, and the polarity is right."),
    ("YN", "這個意見在描述這個對象，但正負面錯了。", "The opinion describes the aspect, but the polarity is wrong."),
    (
        "NX",
        "這個意見不是在描述這個對象（正負面就不用管了）。",
        "The opinion does not describe the aspect (its polarity then does not matter).",
    ),
)
"""The labels of the paper's section 3.3.2, for people."""
READ = "read"
"""The stratum of reviews that are read in full: they are asked what is missing, too."""
UNSURE = "unsure"
"""The label of an annotator who abstains."""
Missing = tuple[str, str, str]
"""(aspect, opinion, polarity) as a person writes it; places as `mention` has them."""


@dataclass(frozen=True, slots=True)
class LabelItem:
    """What an annotator is asked about: a candidate of a review, or a review without one.

    `missing`: the triplets that the annotator added, held by the first item of the review.
    """

    pool: str
    review: PoolReview
    candidate: Candidate | None
    label: Label | None = None
    missing: tuple[Triplet, ...] = ()
    checked: bool = False

    @property
    def question(self) -> str:
        """The candidate as one line."""
        if self.candidate is None:
            if self.review.candidates:
                return "有漏掉的嗎？ Is anything missing?"
            return "這則評論沒有候選：有漏掉的嗎？ No candidate here: is anything missing?"
        t = self.candidate.triplet
        return f"({t.aspect.text}, {t.opinion.text}, {POLARITY_NAMES[t.polarity]} {t.polarity})"


@dataclass(frozen=True, slots=True)
class Filled:
    """An item as it comes back. `n` is the candidate's place in the pool; `shown`: aspect, opinion and polarity that
    the file repeats.
    """

    where: str
    pool: str
    n: str
    review: str
    label: str = ""
    polarity: str = ""
    aspect: str = ""
    opinion: str = ""
    note: str = ""
    missing: tuple[Missing, ...] = ()
    checked: bool = False
    annotator: str = ""
    shown: Mapping[str, str] = field(default_factory=dict)
    text: str | None = None


class Fault(ValueError):
    """A row that cannot be taken: where, what, how to fix it."""

    def __init__(self, where: str, what: str, fix: str) -> None:
        super().__init__(f"{where}: {what}; {fix}")


def items(
    pool: Pool, labels: Mapping[int, Label] | None = None, checked: frozenset[int] = frozenset()
) -> Iterator[LabelItem]:
    """The pool in order, with one annotator's labels; an item without a candidate asks what is missing."""
    labels = labels or {}
    for review in pool.reviews:
        added = tuple(one.triplet for one in review.candidates if one.n is None and one.id in labels)
        asked: list[Candidate | None] = [one for one in review.candidates if one.n is not None]
        if not asked or review.stratum == READ:
            asked.append(None)
        missing_at = asked.index(None) if None in asked else 0  # the item that asks what is missing
        for place, candidate in enumerate(asked):
            label = labels.get(candidate.id) if candidate else None
            answered = (added, review.id in checked) if place == missing_at else ((), False)
            yield LabelItem(pool.id, review, candidate, label, *answered)


def label_text(label: Label | None) -> str:
    """A label as files hold it."""
    return "" if label is None else label.label or UNSURE


def triplet(aspect: Element, opinion: Element, polarity: Polarity) -> Triplet:
    """A triplet as people add it."""
    return Triplet(aspect, aspect, opinion, opinion, polarity, VALENCES[polarity], source="human")


def corrected(review: PoolReview, candidate: Candidate, label: Label) -> tuple[str, str, str]:
    """(polarity, aspect, opinion) that a label corrects, as people write them; empty where nothing changes."""
    aspect, opinion = ("" if spans is None else shown(review.text, spans) for spans in (label.aspect, label.opinion))
    return label.polarity or "", aspect, opinion


def meant(review: PoolReview, candidate: Candidate, label: Label) -> Triplet | None:
    """The triplet that a label stands for; None for an abstention, a wrong polarity without the right one, and NX
    without other spans.
    """
    t, moved = candidate.triplet, label.aspect is not None or label.opinion is not None
    if label.label is None or (label.label == "YN" and label.polarity is None) or (label.label == "NX" and not moved):
        return None
    if not moved and label.polarity is None:
        return t
    aspect, opinion = (
        due if spans is None else Element.at(review.text, spans)
        for spans, due in ((label.aspect, t.aspect), (label.opinion, t.opinion))
    )
    return triplet(aspect, opinion, label.polarity or t.polarity)


def missing_of(item: LabelItem) -> Iterable[Missing]:
    """The added triplets of an item as people write them."""
    text = item.review.text
    return [(shown(text, t.aspect.spans), shown(text, t.opinion.spans), t.polarity) for t in item.missing]
