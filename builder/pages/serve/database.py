"""What the web pages read: an immutable SQLite file, and in it two releases side by side.

The file is a copy of a working directory's, or made of a release's rows.

The comparison says which triplets of which reviews were added, lost or changed. In: the directories of two releases,
read when the server starts. Out: rows of the table `release_changes`, and the page that shows them.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

from builder.core.errors import ConfigError, ReleaseError
from builder.core.machine import uncollected
from builder.pages.serve import spans
from builder.pages.serve.answering import ask, number, page, selection
from builder.release.diff import Shelf
from builder.release.export.records import ReviewRow, TripletRow, completed
from builder.release.export.records import triplet as triplet_of
from builder.release.faulty import naming_faults
from builder.release.reading import NAME, inside, opened, parse, read_json
from builder.reviews.sources.parquet import read_bounded
from builder.reviews.text import hashed
from builder.store import browse, db, released, reviews, runs, search
from builder.store.released import ChangedReview, Side

# ---- Two releases side by side

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
        released.store(connection, totals[0], totals[1], compare(*sides))


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
        sides = released.sides(connection)
        if not sides:
            return {"sides": None}
        counts = released.counts(connection)
        rows = released.reviews(connection, kind, PAGE, (place - 1) * PAGE)
        return {"sides": sides, "counts": counts, "total": released.count(connection, kind), "rows": rows}

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


# ---- The database of the pages

_SCRIPTS = {"zh-Hant": "traditional", "zh-Hans": "simplified"}
_BATCH = 2000


def of_workdir(workdir: Path, folder: Path) -> Path:
    """A copy in `folder`, so that pages stay as they are while a build goes on."""
    search.ensure(workdir)
    target = folder / "builder.db"
    browse.snapshot(workdir, target)
    return target


def of_release(release: Path, folder: Path) -> Path:
    """A database of the same tables made of a release directory: its reviews, triplets, sources, rules and scores."""
    manifest = read_manifest(release)
    version = str(manifest.get("version", ""))
    with naming_faults(release), db.writing(folder) as connection:
        with db.atomic(connection):
            for split in manifest["splits"]:
                batch: list[ReviewRow] = []
                for row in rows(release, split):
                    batch.append(row)
                    if len(batch) == _BATCH:
                        _store(connection, version, split, batch)
                        batch.clear()
                _store(connection, version, split, batch)
            search.index(connection)
            runs.set_metrics(connection, [(_score(metric), "") for metric in manifest.get("metrics", [])])
            runs.set_release(connection, version, str(release), "")
            released.set_public_ids(connection, hashed=False)
        browse.finish(connection)
    return folder / db.NAME


def add_comparison(database: Path, before: Path, after: Path | None) -> None:
    """Keep what differs between two releases in the pages' database. Without `after`, the working directory's last
    release; ConfigError where it has none.
    """
    with closing(sqlite3.connect(database, isolation_level=None)) as connection, db.atomic(connection):
        last = after or runs.last_release_path(connection)
        if last is None:
            raise ConfigError("there is no release to compare with", fix="`builder versions release` makes one")
        store_changes(connection, before, Path(last))


def read_manifest(release: Path) -> dict[str, Any]:
    """manifest.json of a release; ReleaseError if this is none."""
    path = release / "manifest.json"
    try:
        manifest = read_json(path)
        if not isinstance(manifest["splits"], dict):
            raise TypeError("splits is no object")
        if strange := [name for name in manifest["splits"] if not NAME.fullmatch(name)]:
            raise ValueError(f"a split is called {strange[0]!r}")
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ReleaseError(
            f"no release here ({error})",
            where=str(path),
            fix="name the directory of a release, such as releases/v0.1.0",
        ) from error
    return dict(manifest)


def rows(release: Path, split: str) -> Iterator[ReviewRow]:
    """The rows of a split: from its JSON lines, else from its Parquet files, wherever in the release they lie."""
    lines, tables = sorted(release.rglob(f"{split}.jsonl")), sorted(release.rglob(f"{split}*.parquet"))
    if lines:
        with inside(release, lines[0]).open(encoding="utf-8", newline="\n") as file:
            for number, line in enumerate(file, start=1):
                try:
                    yield completed(parse(line))
                except (ValueError, KeyError, TypeError, AttributeError) as error:
                    raise ReleaseError(
                        f"no row of a release ({error})",
                        where=f"{lines[0]}:{number}",
                        fix="`builder verify` tells more",
                    ) from error
    elif tables:
        from pyarrow import parquet

        for path in tables:
            with parquet.ParquetFile(inside(release, path)) as file:
                names = file.schema_arrow.names
                for batch in read_bounded(file, path, names, str(path)):
                    yield from map(completed, batch.to_pylist())
    else:
        raise ReleaseError(f"no rows of the split {split}", where=str(release), fix="`builder verify` tells more")


def _hash(triplet: TripletRow) -> int:
    """The triplet's part of its id."""
    return int(triplet["id"].rpartition(":")[2], 16)


def _score(metric: dict[str, Any]) -> runs.Score:
    return (
        metric["system"],
        metric["split"],
        metric["metric"],
        float(metric["value"]),
        metric.get("low"),
        metric.get("high"),
    )


def _store(connection: Any, version: str, split: str, batch: list[ReviewRow]) -> None:
    """A batch of rows; a row without what every release has is a fault of the release."""
    made: list[reviews.NewReview] = []
    for n, row in enumerate(batch, start=1):
        digest = hashlib.sha256(row["text"].encode()).hexdigest()
        language = row["language"]
        script = _SCRIPTS.get(language, "mixed")
        made.append(
            (
                row["id"],
                row["text"],
                row["source"],
                None,
                row["rating"],
                split,
                n,
                script,
                language,
                digest,
                digest,
            )
        )
    reviews.insert(connection, made)
    ids = reviews.ids(connection, [row["id"] for row in batch])
    reviews.set_splits(connection, [(split, ids[row["id"]]) for row in batch])
    restored = [
        (ids[row["id"]], browse.Restored(_hash(triplet), triplet_of(triplet), tuple(triplet["sources"])))
        for row in batch
        for triplet in row["triplets"]
    ]
    browse.restore(connection, restored)
    released.add_rows(connection, version, split, [(ids[row["id"]], row) for row in batch])
