"""All files of a release, from its rows and what is to be said of them: the data on the disk, a row at a time, the
rest in memory.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path

from builder.export import bio, paper
from builder.export.records import ElementRow, ReviewRow, TripletRow
from builder.export.records import triplet as released
from builder.export.triplet_labels import labelled, untokenisable
from builder.release import layers, parquet
from builder.release.card import card
from builder.release.citation import citation
from builder.release.croissant import croissant
from builder.release.layers import LayerRow
from builder.release.manifest import Content, Facts, checksums, manifest, sha256, stored

Files = dict[str, Content]


def data(folder: Path, rows: Mapping[str, Iterable[ReviewRow]]) -> Files:
    """Write data/, parquet/ and paper/ of each split into `folder`: what is the same whatever the release is called."""
    return {path: stored(folder / path) for split, members in rows.items() for path in _split(folder, split, members)}


def digest(files: Mapping[str, Content]) -> str:
    """What identifies the data: the checksum lines of data/."""
    return sha256(checksums({path: content for path, content in files.items() if path.startswith("data/")}).encode())


def whole(facts: Facts, content: Mapping[str, Content], changes: str) -> Files:
    """`content` (of `data`) and what is said about it; `changes` is CHANGES.md."""
    tables = {path: data for path, data in content.items() if path.startswith("parquet/")}
    files = dict(content) | {
        "README.md": card(facts, tables).encode(),
        "CHANGES.md": changes.encode(),
        "CITATION.cff": citation(facts).encode(),
        "metadata.json": croissant(facts, tables).encode(),
    }
    files["manifest.json"] = manifest(facts, files).encode()
    files["SHA256SUMS"] = checksums(files).encode()
    return files


def _split(folder: Path, split: str, rows: Iterable[ReviewRow]) -> list[str]:
    """The files of a split, by name. Each layer that has rows has a Parquet file; a split without any an empty one
    for silver.
    """
    data, answers, aside = f"data/{split}.jsonl", f"paper/{split}.json", f"paper/{split}.skipped.jsonl"
    for path in (data, answers, parquet.path(split, "")):
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
    tables: dict[str, parquet.TableWriter] = {}
    with ExitStack() as stack:
        ours, theirs, skipped = (stack.enter_context((folder / path).open("wb")) for path in (data, answers, aside))
        for number, row in enumerate(rows, start=1):
            ours.write(_line(row))
            if (layer := row["annotation"]) not in tables:
                tables[layer] = stack.enter_context(parquet.TableWriter(folder / parquet.path(split, layer)))
            tables[layer].take(row)
            answer, refused = _paper(number, row)
            theirs.write(answer)
            skipped.write(refused)
        if not tables:
            tables["silver"] = stack.enter_context(parquet.TableWriter(folder / parquet.path(split, "silver")))
    if not (folder / aside).stat().st_size:
        (folder / aside).unlink()
    made = [data, *(parquet.path(split, layer) for layer in parquet.LAYERS if layer in tables), answers, aside]
    return [path for path in made if (folder / path).exists()]


def _line(row: Mapping[str, object]) -> bytes:
    return (json.dumps(row, ensure_ascii=False) + "\n").encode()


def _paper(number: int, row: ReviewRow) -> tuple[bytes, bytes]:
    """A review in the paper's format; or nothing, and why that cannot hold it whole, which stands beside it."""
    triplets = [released(triplet) for triplet in row["triplets"]]
    if reason := next(filter(None, map(paper.refused, triplets)), None):
        return b"", _line({"id": row["id"], "labels": len(triplets), "reason": reason})
    return (paper.line(number, row["text"], triplets, review=row["id"]) + "\n").encode(), b""


def layer(split: str, name: str, rows: Sequence[LayerRow]) -> Files:
    """A layer as JSON lines, Parquet, the paper's format and BIO over characters."""
    whole = f"{split}-{name}"
    answers = [_paper(number, row) for number, row in enumerate(rows, start=1)]
    fit = [labelled(_spanned(row)) for row in rows if not untokenisable(row["text"])]
    out: Files = {
        layers.path(split, name): b"".join(map(_line, rows)),
        parquet.path(split, name): parquet.dump(rows, layers.schema()),
        f"paper/{whole}.json": b"".join(answer for answer, _ in answers),
        f"bio/{whole}.bio": bio.dump((sentence, bio.characters(sentence.text)) for sentence in fit).encode(),
    }
    skipped = b"".join(refused for _, refused in answers)
    return out | ({f"paper/{whole}.skipped.jsonl": skipped} if skipped else {})


def _spanned(row: LayerRow) -> ReviewRow:
    """A row whose aspects BIO can see: those of views without triplets stand in for their triplets."""
    if row["triplets"] or not row["aspects"]:
        return row
    blank: ElementRow = {"text": "", "spans": []}
    stand_in: list[TripletRow] = [
        {"id": "", "aspect": {"text": aspect["text"], "spans": aspect["spans"]}, "aspect_full": blank, "owner": None,
         "opinion": blank, "opinion_full": blank, "polarity": "NEU", "valence": 5.0, "sources": [], "rules": [],
         "aspect_category": None, "opinion_category": None, "confidence": None, "verdict": None}
        for aspect in row["aspects"]
    ]  # fmt: skip
    return row | {"triplets": stand_in}
