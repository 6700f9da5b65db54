"""The formats of annotation files: how each is written, read, and checked against its pool.

`Checker` compares each `Filled` of a file with the pool and returns a `CheckedAnswer`. A row that cannot be taken
raises a `Fault`, which says where, what and how to fix it. A file of another pool is an InputError at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from builder.core.errors import ConfigError, InputError
from builder.core.records import (
    POLARITY_WORDS,
    VERDICTS,
    Candidate,
    Element,
    Label,
    Polarity,
    Pool,
    PoolReview,
    Triplet,
)
from builder.gold import label_studio, sheet
from builder.gold.items import UNSURE, Fault, Filled, LabelItem, MentionError, Missing, locate, triplet


@dataclass(frozen=True, slots=True)
class LabelFormat:
    """`write` makes a file of items; `read` says what came back in one."""

    write: Callable[[Path, Iterable[LabelItem]], None]
    read: Callable[[Path], Iterator[Filled | Fault]]


FORMATS: dict[str, LabelFormat] = {
    ".csv": LabelFormat(sheet.write_csv, sheet.read_csv),
    ".xlsx": LabelFormat(sheet.write_xlsx, sheet.read_xlsx),
    ".json": LabelFormat(label_studio.write_tasks, label_studio.read_tasks),
}
"""By the ending of a file."""


def format_of(path: Path) -> LabelFormat:
    """The format of a file; ConfigError for another ending."""
    if path.suffix.lower() not in FORMATS:
        raise ConfigError(f"which format is {path.name}?", fix="name it .csv, .xlsx, or .json for Label Studio")
    return FORMATS[path.suffix.lower()]


# ---- Checks

_SORTED = (
    "the row was edited or the sheet was sorted by one column alone: export again and fill in only the label columns"
)
_KEEP_POOL = (
    "keep the column `pool` as it was exported; what `builder export` writes of a release is for other tools, "
    "`builder gold annotate export` writes what comes back"
)
_ADD = (
    "leave `label` empty there and fill in aspect, opinion and polarity to add a triplet, or write none into `label`:"
    " nothing is missing"
)


@dataclass(frozen=True, slots=True)
class CheckedAnswer:
    """A checked item. `candidate` is None where the item is a review without one."""

    review: PoolReview
    candidate: Candidate | None
    label: Label | None
    missing: tuple[Triplet, ...]
    checked: bool
    annotator: str


class Checker:
    """Compares the rows of a file with a pool. Give it every `Filled` of the file, in order.

    `annotator` filled in the file where it does not say so itself.
    """

    def __init__(self, pool: Pool, annotator: str) -> None:
        self.pool, self._annotator = pool, annotator
        self._reviews = {review.key: review for review in pool.reviews}
        self._places = {
            candidate.n: (review, candidate)
            for review in pool.reviews
            for candidate in review.candidates
            if candidate.n is not None
        }
        self._seen: dict[tuple[str, str], tuple[Label, str]] = {}

    def checked(self, filled: Filled) -> CheckedAnswer:
        """The answer, or a `Fault`. InputError where the file is of another pool, ConfigError where nobody is named."""
        if filled.pool != self.pool.id:
            what, fix = "it names no pool", _KEEP_POOL
            if filled.pool:
                what = f"it belongs to pool {filled.pool!r}, not to {self.pool.id}"
                fix = "import it with --pool and --workdir of the pool it was exported from"
            raise InputError(what, where=filled.where, fix=fix)
        review, candidate = self._named(filled)
        self._same(filled, review, candidate)
        label = self._label(filled, review, candidate)
        name = filled.annotator or self._annotator
        if candidate is not None and label is not None:
            self._once(filled, label, name)
        missing = tuple(self._missing(filled.where, review, given) for given in filled.missing)
        if not name and (label or missing or filled.checked):
            raise ConfigError("the file does not say who filled it in", fix="name the person with --annotator")
        return CheckedAnswer(review, candidate, label, missing, filled.checked, name)

    def _named(self, filled: Filled) -> tuple[PoolReview, Candidate | None]:
        if not filled.n:
            if filled.review not in self._reviews:
                fix = "copy the cell `review` from a row of that review"
                raise Fault(filled.where, f"no review {filled.review!r} in this pool", fix)
            return self._reviews[filled.review], None
        place = self._places.get(int(filled.n)) if filled.n.isdecimal() and len(filled.n) < 10 else None
        if place is None:
            fix = f"candidates are 1 to {len(self._places)}; leave the numbers as exported"
            raise Fault(filled.where, f"no candidate {filled.n!r} in this pool", fix)
        if filled.review != place[0].key:
            what = f"candidate {filled.n} belongs to review {place[0].key!r}, not {filled.review!r}"
            raise Fault(filled.where, what, _SORTED)
        return place

    def _same(self, filled: Filled, review: PoolReview, candidate: Candidate | None) -> None:
        """A sheet of which one column was sorted would put labels on the wrong candidates."""
        if filled.text is not None and filled.text.split() != review.text.split():
            raise Fault(filled.where, "the text is not that of the review", _SORTED)
        if candidate is None:
            return
        t = candidate.triplet
        for name, due in (("aspect", t.aspect.text), ("opinion", t.opinion.text), ("polarity", t.polarity)):
            if name in filled.shown and filled.shown[name].split() != due.split():
                what = f"the {name} is {filled.shown[name]!r}, that of candidate {filled.n} is {due!r}"
                raise Fault(filled.where, what, _SORTED)

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
        verdict = next((known for known in VERDICTS if known == name), None)
        if verdict is None:
            fix = f"write YY, YN, NX or {UNSURE}, or leave it empty"
            raise Fault(filled.where, f"unknown label {filled.label!r}", fix)
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
        aspect, opinion = (_located(where, review, words) for words in given[:2])
        polarity = self._polarity(where, given[2])
        added = triplet(aspect, opinion, polarity)
        for known in review.candidates:
            if known.n is not None and known.triplet.key == added.key:
                what = f"({aspect.text}, {opinion.text}, {polarity}) is candidate {known.n}, not missing"
                raise Fault(where, what, "label that row YY instead")
        return added

    def _polarity(self, where: str, given: str) -> Polarity:
        polarity = POLARITY_WORDS.get(given.strip().lower())
        if polarity is None:
            fix = "write POS, NEG or NEU (正面, 負面, 中性)"
            raise Fault(where, f"unknown polarity {given!r}" if given.strip() else "no polarity", fix)
        return polarity

    def _once(self, filled: Filled, label: Label, name: str) -> None:
        before = self._seen.setdefault((name, filled.n), (label, filled.where))
        if before[0].answer != label.answer:
            what = f"candidate {filled.n} has another label at {before[1]}"
            raise Fault(filled.where, what, "keep one of the two rows")


def _located(where: str, review: PoolReview, given: str) -> Element:
    try:
        return locate(review.text, given.strip())
    except MentionError as error:
        raise Fault(where, error.what, error.fix) from error
