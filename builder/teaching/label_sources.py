"""Where labelled reviews come from: a gold file, a user's own table, or pools and audits of a working directory.

In: a path. Out: rows with `id`, `text` and `triplets` with their spans; a row of a review that nobody read in full has
`wrong`, too: the triplets that people refused there. A label that cannot be placed in its review is left out with the
reason. Its review then no longer counts as read in full.
"""

from __future__ import annotations

import csv
import hashlib
import json
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Any

from builder.core.errors import InputError
from builder.core.files import read_cells
from builder.core.records import Label, PoolReview, Triplet
from builder.core.wording import counted
from builder.gold.items import meant
from builder.gold.pool import triplet_row
from builder.gold.triplet_answers import read_answer
from builder.pipeline import layers
from builder.store import gold, pools
from builder.teaching.labelling import opened

COLUMNS = ("text", "aspect", "opinion", "polarity")
TABLES = (".csv", ".tsv")
_SHEETS = (".xlsx", ".xls", ".ods", ".numbers")
_SHOWN = 5
"""Labels that an error shows."""
_LONGEST = 60
"""Characters of a label that are shown."""
Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A label that is none of its review: where it stands, what it says, and why it is left out."""

    where: str
    label: str
    reason: str

    def __str__(self) -> str:
        return f"{self.where}: {self.label}: {self.reason}"


@dataclass(frozen=True, slots=True)
class LabelledRows:
    """Labelled reviews, and the labels that were left out."""

    rows: tuple[Row, ...]
    left_out: tuple[LeftOut, ...] = ()


def read_labels(path: Path) -> LabelledRows:
    """The labels of a file: JSON lines, or a table with a row for each triplet and the columns of COLUMNS, `id` if it
    likes. A review without a triplet has one row with no aspect.

    InputError where the file cannot be read, or most of its labels do not fit their reviews.
    """
    if path.suffix.lower() in _SHEETS:
        raise InputError("labels are JSON lines, CSV or TSV", where=str(path), fix="save the sheet as CSV UTF-8")
    given: list[Row] = _read_table(path) if path.suffix.lower() in TABLES else layers.rows(str(path))
    left_out: list[LeftOut] = []
    rows = [placed for row in given if (placed := _place(row, left_out)) is not None]
    labels = sum(len(row["triplets"]) for row in given)
    if 2 * len(left_out) > labels:
        shown = "; ".join(map(str, left_out[:_SHOWN]))
        raise InputError(
            f"{len(left_out):,} of {counted(labels, 'label')} do not fit their reviews ({shown})",
            where=str(path),
            fix="write words as the review has them, and POS, NEG or NEU",
        )
    return LabelledRows(tuple(rows), tuple(left_out))


def _read_table(path: Path) -> list[Row]:
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        is_foreign = isinstance(error, UnicodeDecodeError)
        fault, fix = ("is not UTF-8", "save it as CSV UTF-8") if is_foreign else (f"cannot be read: {error}", "")
        raise InputError(fault, where=str(path), fix=fix) from error
    try:
        header, *table = read_cells(text) or [[]]
    except csv.Error as error:
        raise InputError(f"broken CSV ({error})", where=str(path), fix="save it as CSV UTF-8") from error
    names = [name.strip().lower() for name in header]
    if missing := [name for name in COLUMNS if name not in names]:
        fix = f"columns: {', '.join(COLUMNS)}, and `id` if you like; a row for each triplet"
        has = f"; it has {', '.join(names)}" if names else ""
        raise InputError(f"there is no column {missing[0]!r}{has}", where=str(path), fix=fix)
    cells = [dict(zip_longest(names, row[: len(names)], fillvalue="")) for row in table if row]
    by_review: dict[str, Row] = {}
    for number, cell in enumerate(cells, start=2):
        review = cell["text"]
        if not review.strip():
            raise InputError("a row has no text", where=f"{path}:{number}", fix="repeat the review in each of its rows")
        key = cell.get("id") or hashlib.sha256(review.encode()).hexdigest()[:16]
        row = by_review.setdefault(key, {"id": key, "text": review, "triplets": [], "rows": []})
        if row["text"] != review:
            raise InputError(f"review {key!r} has two texts", where=f"{path}:{number}", fix="give each review its id")
        label = {name: cell[name].strip() for name in COLUMNS[1:]}
        if label["aspect"] or label["opinion"]:
            row["triplets"].append(label)
            row["rows"].append(number)
    return list(by_review.values())


def _place(row: Row, left_out: list[LeftOut]) -> Row | None:
    """The row with the spans of each triplet that has none; None where no label of a review is left.

    A review that lost a label is one that nobody read in full.
    """
    lines = row.pop("rows", None)
    labels, text = row["triplets"], row.get("text")
    bare = [i for i, label in enumerate(labels) if isinstance(label, Mapping) and "aspect_spans" not in label]
    if not bare or not isinstance(text, str):
        return dict(row)
    placed = read_answer(json.dumps([labels[i] for i in bare], ensure_ascii=False), text)
    for unused in placed.rejected:
        at = bare[unused.number]
        words = " ".join(str(labels[at].get(name, "")) for name in COLUMNS[1:])
        left_out.append(LeftOut(f"row {lines[at]}" if lines else f"review {row['id']}", _shorten(words), unused.reason))
    kept = [label for i, label in enumerate(labels) if i not in bare]
    triplets = [*kept, *(triplet_row(triplet) for triplet in placed.triplets)]
    if placed.rejected and not triplets:
        return None
    return {**row, "triplets": triplets, **({"wrong": []} if placed.rejected else {})}


def _shorten(words: str) -> str:
    return words if len(words) <= _LONGEST else f"{words[:_LONGEST]}…"


def read_workdir(workdir: Path, pool: str | None = None) -> LabelledRows:
    """What people decided in a pool or an audit of a working directory; in all of them if none is named. A review in
    several counts as the newest has it.
    """
    rows: dict[str, Row] = {}
    with opened(workdir) as connection:
        known = [pools.chosen(connection, pool)] if pool else [str(row[0]) for row in pools.summarise(connection)]
        if not known:
            pools.chosen(connection, None)
        for name in known:
            rows |= {row["id"]: row for row in _read_pool(connection, name)}
    return LabelledRows(tuple(rows.values()))


def _read_pool(connection: sqlite3.Connection, name: str) -> Iterator[Row]:
    labels = {candidate: label for candidate, (label, _) in gold.final(connection, name).items()}
    people = gold.of_pool(connection, name, "human")
    checked = {review for who in people for review in gold.checked(connection, name, who)}
    audit = pools.is_audit(connection, name)
    read_in_full = pools.complete(connection, name) if audit else checked
    for review in pools.read(connection, name).reviews:
        asked = [candidate.id for candidate in review.candidates if candidate.n is not None]
        decided = all(candidate in labels and labels[candidate].label for candidate in asked)
        row = _row(review, labels)
        if decided and (review.id in read_in_full or (asked and not audit)):
            yield {name: cells for name, cells in row.items() if name != "wrong"}
        elif row["triplets"] or row["wrong"]:
            yield row


def _row(review: PoolReview, labels: Mapping[int, Label]) -> Row:
    """A review with what the labels say of its candidates so far. A wrong polarity is no wrong pair."""
    answered = [(candidate, labels[candidate.id]) for candidate in review.candidates if candidate.id in labels]
    right = [triplet for candidate, label in answered if (triplet := meant(review, candidate, label))]
    wrong = [candidate.triplet for candidate, label in answered if label.label == "NX"]
    return {"id": review.key, "text": review.text, "triplets": _unique(right), "wrong": _unique(wrong)}


def _unique(triplets: Sequence[Triplet]) -> list[Row]:
    ordered = sorted({t.key: t for t in triplets}.values(), key=lambda t: (t.aspect.spans, t.opinion.spans))
    return [triplet_row(triplet) for triplet in ordered]
