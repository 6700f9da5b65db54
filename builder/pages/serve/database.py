"""What the web pages read: an immutable SQLite file, a copy of a working directory's or made of a release's rows."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from builder.core.errors import ReleaseError
from builder.release.export.records import ReviewRow, TripletRow, completed
from builder.release.export.records import triplet as triplet_of
from builder.release.faulty import naming_faults
from builder.release.reading import NAME, inside, parse, read_json
from builder.reviews.sources.parquet import read_bounded
from builder.store import browse, db, released, reviews, runs, search

_SCRIPTS = {"zh-Hant": "traditional", "zh-Hans": "simplified"}
_BATCH = 2000


def of_workdir(workdir: Path, folder: Path) -> Path:
    """A copy in `folder`, so that pages stay as they are while a build goes on."""
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
            (row["id"], row["text"], row["source"], None, row["rating"], split, n, script, language, digest, digest)
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
