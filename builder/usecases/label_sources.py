"""Where labelled reviews come from: a gold file, a user's own table, or pools and audits of a working directory.

In: a path. Out: rows with `id`, `text` and `triplets` with their spans; a row of a review that nobody read in full has
`wrong`, too: the triplets that people refused there. What cannot be placed in its review is left out with the reason.
"""

from __future__ import annotations

import csv
import hashlib
import json
import sqlite3
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from builder.errors import InputError
from builder.gold.items import meant
from builder.gold.layer import triplet_row
from builder.gold.triplet_answers import read_answer
from builder.records import Label, PoolReview, Triplet
from builder.stages.parts import gold as gold_files
from builder.store import audits, gold, pools
from builder.usecases.labelling import opened

COLUMNS = ("text", "aspect", "opinion", "polarity")
TABLES = {".csv": ",", ".tsv": "\t"}
Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class LabelledRows:
    """Labelled reviews, and how many labels were left out by reason."""

    rows: tuple[Row, ...]
    left_out: Mapping[str, int]


def read_labels(path: Path) -> LabelledRows:
    """The labels of a file: JSON lines, or a table with a row for each triplet and the columns of COLUMNS, `id` if it
    likes. A review without a triplet has one row with no aspect.
    """
    given = _read_table(path) if path.suffix.lower() in TABLES else gold_files.rows(str(path))
    counts: Counter[str] = Counter()
    return LabelledRows(tuple(_place(row, counts) for row in given), counts)


def _read_table(path: Path) -> list[Row]:
    try:
        with path.open(encoding="utf-8-sig", newline="") as handle:
            reader = csv.DictReader(handle, delimiter=TABLES[path.suffix.lower()])
            if missing := [name for name in COLUMNS if name not in (reader.fieldnames or ())]:
                fix = f"columns: {', '.join(COLUMNS)}, and `id` if you like; a row for each triplet"
                raise InputError(f"there is no column {missing[0]!r}", where=str(path), fix=fix)
            cells = list(reader)
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"labels cannot be read: {error}", where=str(path), fix="save it as UTF-8") from error
    by_review: dict[str, Row] = {}
    for number, cell in enumerate(cells, start=2):
        text = cell["text"] or ""
        if not text.strip():
            raise InputError("a row has no text", where=f"{path}:{number}", fix="repeat the review in each of its rows")
        key = cell.get("id") or hashlib.sha256(text.encode()).hexdigest()[:16]
        row = by_review.setdefault(key, {"id": key, "text": text, "triplets": []})
        if row["text"] != text:
            raise InputError(f"review {key!r} has two texts", where=f"{path}:{number}", fix="give each review its id")
        if cell["aspect"] or cell["opinion"]:
            row["triplets"].append({name: cell[name] or "" for name in COLUMNS[1:]})
    return list(by_review.values())


def _place(row: Mapping[str, Any], counts: Counter[str]) -> Row:
    """The row with the spans of each triplet that has none."""
    labels, text = row["triplets"], row.get("text")
    bare = [label for label in labels if isinstance(label, Mapping) and "aspect_spans" not in label]
    if not bare or not isinstance(text, str):
        return dict(row)
    placed = read_answer(json.dumps(bare, ensure_ascii=False), text)
    counts.update(unused.reason for unused in placed.rejected)
    kept = [label for label in labels if label not in bare]
    return {**row, "triplets": [*kept, *(triplet_row(triplet) for triplet in placed.triplets)]}


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
    return LabelledRows(tuple(rows.values()), {})


def _read_pool(connection: sqlite3.Connection, name: str) -> Iterator[Row]:
    labels = {candidate: label for candidate, (label, _) in gold.final(connection, name).items()}
    people = gold.of_pool(connection, name, "human")
    checked = {review for who in people for review in gold.checked(connection, name, who)}
    audit = audits.is_audit(connection, name)
    read_in_full = audits.complete(connection, name) if audit else checked
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
