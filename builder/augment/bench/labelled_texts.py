"""What the bench trains and tests on: labelled texts of one task, and what they are to classifiers, taggers and
augmentation methods. Pure.

Tasks: `tc` a class of the text, `absc` the polarity of one aspect, `ate` the aspects, `aste` the triplets.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from builder.augment.bench.models.classifier_items import ClassifierItem, words_of
from builder.augment.proposing import segmented
from builder.augment.records import Mark, Sentence
from builder.augment.views import cut
from builder.core.errors import InputError
from builder.core.records import Span, Triplet
from builder.core.wording import counted
from builder.engine.reader import to_view
from builder.language.lexicon.folders import SHIPPED, Folders
from builder.learning.task import Example
from builder.reviews.folding import fold
from builder.reviews.script import HAN
from builder.reviews.text import view

Task = Literal["tc", "absc", "ate", "aste"]


@dataclass(frozen=True, slots=True)
class BenchRow:
    """A labelled text. `marks` are what augmentation may not touch; `aspect` the one that is judged (absc); `source`
    the id of the row that an augmented one was made from.
    """

    id: str
    text: str
    marks: tuple[Mark, ...] = ()
    label: str = ""
    aspect: Span | None = None
    triplets: tuple[Triplet, ...] = ()
    source: str | None = None

    @property
    def key(self) -> str:
        return normalised(self.text)

    @property
    def spans(self) -> tuple[Span, ...]:
        return tuple(sorted({(mark.start, mark.end) for mark in self.marks if mark.kind == "aspect"}))


@dataclass(frozen=True, slots=True)
class Data:
    """A file as read: its rows, and what could not be used, by reason."""

    name: str
    rows: tuple[BenchRow, ...]
    skipped: tuple[tuple[str, int], ...] = ()

    @property
    def digest(self) -> str:
        return digest(self.rows)


def digest(rows: Iterable[BenchRow]) -> str:
    """The digest of rows, in their order."""
    total = hashlib.sha256()
    for row in rows:
        total.update(repr(row).encode("utf-8", "surrogatepass"))
    return total.hexdigest()[:16]


def normalised(text: str) -> str:
    """A text for comparison: one script, width and letter case; letters and digits only."""
    return "".join(char for char in fold(text) if char.isalnum())


def language(rows: Sequence[BenchRow]) -> Literal["zh", "en"]:
    """zh where most texts hold a Han character."""
    return "zh" if 2 * sum(bool(HAN.search(row.text)) for row in rows) > len(rows) else "en"


def share(rows: Iterable[BenchRow], part: float, salt: str) -> list[BenchRow]:
    """Rows whose text falls into the share by its hash: the same at every run, rows of one text together, and a
    smaller share inside a larger.
    """
    return [row for row in rows if _place(row.key, salt) < part]


def held_out(rows: Sequence[BenchRow], part: float, salt: str, count: int = 0) -> list[BenchRow]:
    """The rows of a share of the texts, or of `count` of them, as many as it says (one of ten at least): those whose
    hashes are lowest.
    """
    keys = sorted({row.key for row in rows}, key=lambda key: _place(key, salt))
    chosen = set(keys[: count or round(part * len(keys))])
    return [row for row in rows if row.key in chosen]


def folded(rows: Sequence[BenchRow], folds: int) -> list[tuple[BenchRow, ...]]:
    """The rows in so many folds of nearly as many texts, drawn by their hashes; rows of one text stay together."""
    keys = sorted({row.key for row in rows}, key=lambda key: _place(key, "folds"))
    fold_of = {key: n % folds for n, key in enumerate(keys)}
    return [tuple(row for row in rows if fold_of[row.key] == n) for n in range(folds)]


def _place(key: str, salt: str) -> float:
    return int.from_bytes(hashlib.sha256(f"{salt}\0{key}".encode("utf-8", "surrogatepass")).digest()[:7]) / (1 << 56)


def refuse_shared(train: Sequence[BenchRow], test: Sequence[BenchRow], name: str) -> None:
    """InputError where a text of the test set is trained on."""
    held = {row.key: row.id for row in test}
    shared = {row.key: row.id for row in train if row.key in held}
    if shared:
        some = ", ".join(f"{mine} is {held[key]}" for key, mine in list(shared.items())[:3])
        raise InputError(
            f"the test set holds {counted(len(shared), 'text')} of it too ({some})",
            where=name,
            fix="a test set that is trained on proves nothing: remove them from one side",
        )


def item(row: BenchRow, task: Task) -> ClassifierItem:
    """A row as classifiers and aspect taggers read it."""
    return ClassifierItem(
        row.text, words_of(row.text), row.label if task != "ate" else "", row.aspect, row.spans if task == "ate" else ()
    )


def sentences(rows: Sequence[BenchRow], folders: Folders = SHIPPED) -> list[Sentence]:
    """Rows as augmentation methods read them: with words, Chinese ones by the embedded segmenter, cut where a mark
    begins or ends.
    """
    tongue = language(rows)
    made = [
        Sentence(row.id, row.text, tuple(cut(words_of(row.text), row.marks)), row.marks, row.label or None, tongue)
        for row in rows
    ]
    return segmented(made, folders) if tongue == "zh" else made


def example(row: BenchRow) -> Example:
    """A row as the triplet tagger reads it: the view of its text; triplets that the view does not show are left out."""
    shown = view(row.text)
    moved = (to_view(triplet, shown) for triplet in row.triplets)
    return Example(row.id, shown.text, tuple(triplet for triplet in moved if triplet is not None))
