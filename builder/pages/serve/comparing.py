"""Two releases side by side: which triplets of which reviews were added, lost or changed.

In: the directories of two releases, read when the server starts. Out: rows of the table `release_changes`, and the
page that shows them.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from builder.core.machine import uncollected
from builder.pages.serve import spans
from builder.pages.serve.answering import ask, number, page, selection
from builder.release.export.records import ReviewRow, TripletRow
from builder.release.faulty import naming_faults
from builder.release.reading import opened
from builder.release.shelf import Shelf
from builder.reviews.text import hashed
from builder.store import changes
from builder.store.changes import ChangedReview, Side

PAGE = 20
Rows = Mapping[str, tuple[str, ReviewRow]]
LABELS = {
    "added": "triplets added", "lost": "triplets lost", "polarity": "triplets with another polarity",
    "edited": "triplets edited otherwise", "new": "new reviews",
    "gone": "reviews that are gone", "text": "edited texts",
}  # fmt: skip


def store_changes(connection: sqlite3.Connection, before: Path, after: Path) -> None:
    """Compare two release directories and keep what differs."""
    old, new = opened(before), opened(after)
    with uncollected(), naming_faults(before, after):
        sides: list[Rows] = [Shelf(release.path, release.splits) for release in (old, new)]
        totals = [
            Side(
                str(release.path), str(release.manifest["version"]), len(list(rows)),
                sum(len(row["triplets"]) for _, (_, row) in rows.items()),
            )
            for release, rows in zip((old, new), sides, strict=True)
        ]  # fmt: skip
        changes.store(connection, totals[0], totals[1], compare(*sides))


def compare(before: Rows, after: Rows) -> Iterator[ChangedReview]:
    """The reviews that differ, those of `before` first. Matched by id, what is left over by text."""
    by_text = {hashed(row["text"]): i for i, (_, row) in after.items() if i not in before}
    matched = set()
    for i, (_, row) in before.items():
        now = i if i in after else by_text.pop(hashed(row["text"]), None)
        if now is None:
            yield ChangedReview(
                i, row["text"], ("gone",), tuple(("lost", *_cells(triplet), "") for triplet in row["triplets"])
            )
            continue
        matched.add(now)
        other = after[now][1]
        rows = tuple(_triplets(row, other))
        kinds = ("text",) if row["text"] != other["text"] else ()
        if rows or kinds:
            yield ChangedReview(now, other["text"], (*kinds, *dict.fromkeys(kind for kind, *_ in rows)), rows)
    for i, (_, row) in after.items():
        if i not in matched:
            yield ChangedReview(
                i, row["text"], ("new",), tuple(("added", *_cells(triplet), "") for triplet in row["triplets"])
            )


def _triplets(before: ReviewRow, after: ReviewRow) -> Iterator[tuple[str, str, str, str, str]]:
    """(kind, aspect, opinion, polarity, what it was before) of the triplets that differ; a triplet is the same where it
    pairs the same places.
    """
    old, new = ({_pair(triplet): triplet for triplet in row["triplets"]} for row in (before, after))
    for pair, triplet in old.items():
        now = new.get(pair)
        if now is None:
            yield "lost", *_cells(triplet), ""
        elif now["polarity"] != triplet["polarity"]:
            yield "polarity", *_cells(now), triplet["polarity"]
        elif _label(now) != _label(triplet):
            yield "edited", *_cells(now), f"{triplet['opinion_full']['text']}, valence {triplet['valence']:g}"
    for pair, triplet in new.items():
        if pair not in old:
            yield "added", *_cells(triplet), ""


def _cells(triplet: TripletRow) -> tuple[str, str, str]:
    return triplet["aspect"]["text"], triplet["opinion"]["text"], triplet["polarity"]


def _label(triplet: TripletRow) -> tuple[object, ...]:
    return triplet["aspect_full"], triplet["opinion_full"], triplet["owner"], triplet["valence"]


def _pair(triplet: TripletRow) -> str:
    return json.dumps([triplet["aspect"]["spans"], triplet["opinion"]["spans"]])


async def compared(request: Any, datasette: Any) -> Any:
    """The page of the comparison; how to have one where there is none."""
    chosen = await selection(request, datasette)
    kind = request.args.get("kind") or ""
    kind = kind if kind in LABELS else ""
    place = number(request.args.get("page") or "1", 1)

    def work(connection: sqlite3.Connection) -> dict[str, Any]:
        sides = changes.sides(connection)
        if not sides:
            return {"sides": None}
        counts = changes.counts(connection)
        rows = changes.reviews(connection, kind, PAGE, (place - 1) * PAGE)
        return {"sides": sides, "counts": counts, "total": changes.count(connection, kind), "rows": rows}

    context = await ask(datasette, work)
    context |= {
        "kind": kind,
        "number": place,
        "size": PAGE,
        "labels": LABELS,
        "plain": spans.plain,
        "selection": chosen,
    }
    return await page(datasette, request, "compare.html", context)
