"""What goes into every annotation file and what comes back, whatever its format.

An `Item` is a candidate of a pool (or a review without one), with what an annotator has said so far. A `Filled` is
one as a file gives it back: words of people, nothing believed yet. `checked` compares it with the pool and makes an
`Answer`, or raises a `Fault`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from builder.errors import InputError
from builder.gold.mention import MentionError, locate, shown, surface
from builder.records import POLARITIES, VERDICTS, Candidate, Element, Label, Polarity, Pool, PoolReview, Triplet

VALENCE: Mapping[Polarity, float] = {"POS": 8.0, "NEG": 3.0, "NEU": 5.0}
"""Of triplets that people add, who say a polarity only."""
NAMES = {"POS": "正面", "NEG": "負面", "NEU": "中性"}
_POLARITY: dict[str, Polarity] = {one: one for one in POLARITIES} | {
    "正面": "POS",
    "負面": "NEG",
    "负面": "NEG",
    "中性": "NEU",
}
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
"""The label of who abstains."""
Missing = tuple[str, str, str]
"""(aspect, opinion, polarity) as a person writes it; places as `mention` has them."""


@dataclass(frozen=True, slots=True)
class Item:
    """`missing`: the triplets that the annotator added to the review, told with its first item. `said`: what others
    said, for an adjudicator.
    """

    pool: str
    review: PoolReview
    candidate: Candidate | None
    label: Label | None = None
    missing: tuple[Triplet, ...] = ()
    checked: bool = False
    said: str = ""

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


@dataclass(frozen=True, slots=True)
class Answer:
    """What an item says, checked. `candidate` None: the item is a review."""

    where: str
    review: PoolReview
    candidate: Candidate | None
    label: Label | None
    missing: tuple[Triplet, ...]
    checked: bool
    annotator: str


class Fault(ValueError):
    """A row that cannot be taken: where, what, how to fix it."""

    def __init__(self, where: str, what: str, fix: str) -> None:
        super().__init__(f"{where}: {what}; {fix}")


def items(
    pool: Pool,
    labels: Mapping[int, Label] | None = None,
    checked: frozenset[int] = frozenset(),
    only: frozenset[int] | None = None,
    said: Mapping[int, str] | None = None,
) -> Iterator[Item]:
    """The pool in order, with one annotator's labels. `only` these candidates (by id), those that people added too."""
    labels, said = labels or {}, said or {}
    for review in pool.reviews:
        added = (
            tuple(one.triplet for one in review.candidates if one.n is None and one.id in labels)
            if only is None
            else ()
        )
        wanted = [one for one in review.candidates if (one.n is not None if only is None else one.id in only)]
        first: list[Candidate | None] = [*wanted] or ([None] if only is None else [])
        for place, one in enumerate(first):
            label = labels.get(one.id) if one else None
            yield Item(
                pool.id,
                review,
                one,
                label,
                () if place else added,
                not place and review.id in checked,
                said.get(one.id, "") if one else "",
            )


def told(label: Label | None) -> str:
    """A label as files hold it."""
    return "" if label is None else label.label or UNSURE


class Checker:
    """Compares what comes back with a pool. Give it every `Filled` of a file, in order."""

    def __init__(self, pool: Pool) -> None:
        self.pool = pool
        self._reviews = {review.key: review for review in pool.reviews}
        self._places = {
            one.n: (review, one) for review in pool.reviews for one in review.candidates if one.n is not None
        }
        self._added = {one.id: (review, one) for review in pool.reviews for one in review.candidates if one.n is None}
        self._seen: dict[tuple[str, str], tuple[Label, str]] = {}

    def checked(self, filled: Filled) -> Answer:
        """The answer, or a `Fault`. InputError at once where the file belongs to another pool."""
        if filled.pool != self.pool.id:
            raise InputError(
                f"it belongs to pool {filled.pool!r}, not to {self.pool.id}" if filled.pool else "it names no pool",
                where=filled.where,
                fix="import it with --pool and --workdir of the pool it was exported from"
                if filled.pool
                else "keep the column `pool` as it was exported",
            )
        review, candidate = self._named(filled)
        self._same(filled, review, candidate)
        label = self._label(filled, review, candidate)
        if candidate is not None and label is not None:
            self._once(filled, label)
        missing = tuple(self._missing(filled.where, review, one) for one in filled.missing)
        return Answer(filled.where, review, candidate, label, missing, filled.checked, filled.annotator)

    def _named(self, filled: Filled) -> tuple[PoolReview, Candidate | None]:
        if not filled.n:
            if filled.review not in self._reviews:
                raise Fault(
                    filled.where,
                    f"no review {filled.review!r} in this pool",
                    "copy the cell `review` from a row of that review",
                )
            return self._reviews[filled.review], None
        found = self._places.get(int(filled.n)) if filled.n.isdecimal() and len(filled.n) < 10 else None
        if (
            filled.n.startswith("+") and filled.n[1:].isdecimal() and len(filled.n) < 20
        ):  # one that a person added, told to an adjudicator
            found = self._added.get(int(filled.n[1:]))
        if found is None:
            raise Fault(
                filled.where,
                f"no candidate {filled.n!r} in this pool",
                f"candidates are 1 to {len(self._places)}; leave the numbers as exported",
            )
        if filled.review != found[0].key:
            raise Fault(
                filled.where, f"candidate {filled.n} belongs to review {found[0].key!r}, not {filled.review!r}", _SORTED
            )
        return found

    def _same(self, filled: Filled, review: PoolReview, candidate: Candidate | None) -> None:
        """A sheet of which one column was sorted would put labels on the wrong candidates."""
        if filled.text is not None and filled.text.split() != review.text.split():
            raise Fault(filled.where, "the text is not that of the review", _SORTED)
        if candidate is None:
            return
        t = candidate.triplet
        for name, due in (("aspect", t.aspect.text), ("opinion", t.opinion.text), ("polarity", t.polarity)):
            if name in filled.shown and filled.shown[name].split() != due.split():
                raise Fault(
                    filled.where,
                    f"the {name} is {filled.shown[name]!r}, that of candidate {filled.n} is {due!r}",
                    _SORTED,
                )

    def _label(self, filled: Filled, review: PoolReview, candidate: Candidate | None) -> Label | None:
        name = filled.label.strip().upper()
        if not name:
            if filled.polarity or filled.aspect or filled.opinion:
                raise Fault(filled.where, "a correction without a label", "write YY, YN or NX into `label`")
            return None
        if candidate is None:
            raise Fault(filled.where, f"label {filled.label!r} on a row that is no candidate", _ADD)
        if name == UNSURE.upper():
            return Label(None, note=filled.note)
        verdict = next((one for one in VERDICTS if one == name), None)
        if verdict is None:
            raise Fault(
                filled.where, f"unknown label {filled.label!r}", f"write YY, YN, NX or {UNSURE}, or leave it empty"
            )
        right = self._polarity(filled.where, filled.polarity) if filled.polarity.strip() else None
        right = None if right == candidate.triplet.polarity and verdict != "YN" else right
        if right is not None and (verdict == "YY" or right == candidate.triplet.polarity):
            clash = "YY says that the polarity is right" if verdict == "YY" else f"YN says that {right} is wrong"
            raise Fault(filled.where, f"{clash}, but the right polarity given is {right}", "correct one of the two")
        aspect, opinion = (
            self._moved(filled.where, review, given, due)
            for given, due in ((filled.aspect, candidate.triplet.aspect), (filled.opinion, candidate.triplet.opinion))
        )
        return Label(verdict, right, aspect, opinion, filled.note)

    def _moved(self, where: str, review: PoolReview, given: str, due: Element) -> tuple[tuple[int, int], ...] | None:
        """The corrected spans, or None where nothing is given or nothing changes."""
        if not given.strip() or given.strip() == due.text:
            return None
        spans = _located(where, review, given).spans
        return None if spans == due.spans else spans

    def _missing(self, where: str, review: PoolReview, given: Missing) -> Triplet:
        aspect, opinion = (_located(where, review, one) for one in given[:2])
        polarity = self._polarity(where, given[2])
        added = triplet(aspect, opinion, polarity)
        known = next((one for one in review.candidates if one.n is not None and one.triplet.key == added.key), None)
        if known is not None:
            raise Fault(
                where,
                f"({aspect.text}, {opinion.text}, {polarity}) is candidate {known.n}, not missing",
                "label that row YY instead",
            )
        return added

    def _polarity(self, where: str, given: str) -> Polarity:
        found = _POLARITY.get(given.strip().upper())
        if found is None:
            raise Fault(
                where,
                f"unknown polarity {given!r}" if given.strip() else "no polarity",
                "write POS, NEG or NEU (正面, 負面, 中性)",
            )
        return found

    def _once(self, filled: Filled, label: Label) -> None:
        before = self._seen.setdefault((filled.annotator, filled.n), (label, filled.where))
        if before[0].answer != label.answer:
            raise Fault(
                filled.where, f"candidate {filled.n} has another label at {before[1]}", "keep one of the two rows"
            )


_SORTED = (
    "the row was edited or the sheet was sorted by one column alone: export again and fill in only the label columns"
)
_ADD = "leave `label` empty there and fill in aspect, opinion and polarity to add a triplet, or write none into `label`: nothing is missing"


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


def missing_of(item: Item) -> Iterable[Missing]:
    """The added triplets of an item as people write them."""
    text = item.review.text
    return [(shown(text, t.aspect.spans), shown(text, t.opinion.spans), t.polarity) for t in item.missing]


def _located(where: str, review: PoolReview, given: str) -> Element:
    try:
        return locate(review.text, given.strip())
    except MentionError as error:
        raise Fault(where, error.what, error.fix) from error
