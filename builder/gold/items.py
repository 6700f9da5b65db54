"""What goes into every annotation file and what comes back, whatever its format.

A `LabelItem` is a candidate of a pool (or a review without one), with the labels given so far. A `Filled` is an item
as a file returns it, not yet checked: `builder.gold.label_checks` compares it with the pool.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from builder.core.records import Candidate, Element, Label, Polarity, Pool, PoolReview, Triplet
from builder.gold.mention import shown, surface

VALENCE: Mapping[Polarity, float] = {"POS": 8.0, "NEG": 3.0, "NEU": 5.0}
"""The valence of triplets that people add: they give a polarity only."""
NAMES = {"POS": "正面", "NEG": "負面", "NEU": "中性"}
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
UNSURE = "unsure"
"""The label of an annotator who abstains."""
Missing = tuple[str, str, str]
"""(aspect, opinion, polarity) as a person writes it; places as `mention` has them."""


@dataclass(frozen=True, slots=True)
class LabelItem:
    """What an annotator is asked about: a candidate of a review, or a review without one.

    `missing`: the triplets that the annotator added, held by the first item of the review.
    `others`: the labels of the other annotators, for an adjudicator.
    """

    pool: str
    review: PoolReview
    candidate: Candidate | None
    label: Label | None = None
    missing: tuple[Triplet, ...] = ()
    checked: bool = False
    others: str = ""

    @property
    def question(self) -> str:
        """The candidate as one line."""
        if self.candidate is None:
            return "這則評論沒有候選：有漏掉的嗎？ No candidate here: is anything missing?"
        t = self.candidate.triplet
        return f"({t.aspect.text}, {t.opinion.text}, {NAMES[t.polarity]} {t.polarity})"


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
    pool: Pool,
    labels: Mapping[int, Label] | None = None,
    checked: frozenset[int] = frozenset(),
    only: frozenset[int] | None = None,
    others: Mapping[int, str] | None = None,
) -> Iterator[LabelItem]:
    """The pool in order, with one annotator's labels. `only` these candidates (by id), those that people added too."""
    labels, others = labels or {}, others or {}
    for review in pool.reviews:
        added = (
            tuple(
                candidate.triplet for candidate in review.candidates if candidate.n is None and candidate.id in labels
            )
            if only is None
            else ()
        )
        wanted = [
            candidate
            for candidate in review.candidates
            if (candidate.n is not None if only is None else candidate.id in only)
        ]
        first: list[Candidate | None] = [*wanted] or ([None] if only is None else [])
        for place, candidate in enumerate(first):
            label = labels.get(candidate.id) if candidate else None
            yield LabelItem(
                pool.id,
                review,
                candidate,
                label,
                () if place else added,
                not place and review.id in checked,
                others.get(candidate.id, "") if candidate else "",
            )


def label_text(label: Label | None) -> str:
    """A label as files hold it."""
    return "" if label is None else label.label or UNSURE


def triplet(aspect: Element, opinion: Element, polarity: Polarity) -> Triplet:
    """A triplet as people add it."""
    return Triplet(aspect, aspect, opinion, opinion, polarity, VALENCE[polarity], source="human")


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
        due if spans is None else Element(surface(review.text, spans), spans)
        for spans, due in ((label.aspect, t.aspect), (label.opinion, t.opinion))
    )
    return triplet(aspect, opinion, label.polarity or t.polarity)


def missing_of(item: LabelItem) -> Iterable[Missing]:
    """The added triplets of an item as people write them."""
    text = item.review.text
    return [(shown(text, t.aspect.spans), shown(text, t.opinion.spans), t.polarity) for t in item.missing]
