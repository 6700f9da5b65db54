"""All files of a release, from its rows and what is to be said of them: the data on the disk, a row at a time, the
rest in memory.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

from builder.release import layers, parquet
from builder.release.card import card
from builder.release.citation import citation
from builder.release.croissant import croissant
from builder.release.export import bio, paper
from builder.release.export.records import ElementRow, ReviewRow, TripletRow
from builder.release.export.records import triplet as released
from builder.release.export.triplet_labels import labelled, untokenisable
from builder.release.layers import LayerRow
from builder.release.manifest import Content, Facts, checksums, manifest, sha256, stored

Files = dict[str, Content]


class WrittenRow(NamedTuple):
    """A review with what files of text say of it.

    `line` is its row as JSON. `answer` is what the paper's format says behind the number; it is empty where that
    cannot hold the review whole, and `refused` says why.
    """

    row: ReviewRow
    line: bytes
    answer: bytes
    refused: bytes


def write_row(row: ReviewRow) -> WrittenRow:
    """A review as the files of a split hold it."""
    return WrittenRow(row, _line(row), *_paper(row))


def data(folder: Path, rows: Mapping[str, Iterable[WrittenRow]]) -> Files:
    """Write data/, parquet/ and paper/ of each split into `folder`: what is the same whatever the release is called."""
    return {path: stored(folder / path) for split, members in rows.items() for path in _split(folder, split, members)}


def digest(files: Mapping[str, Content]) -> str:
    """What identifies the data: the checksum lines of data/."""
    return sha256(checksums({path: content for path, content in files.items() if path.startswith("data/")}).encode())


def whole(facts: Facts, content: Mapping[str, Content], changes: str) -> Files:
    """`content` (of `data`) and what is said about it; `changes` is CHANGES.md."""
    tables = parquet.filled({path: data for path, data in content.items() if path.startswith("parquet/")})
    files = dict(content) | {
        "README.md": card(facts, tables).encode(),
        "CHANGES.md": changes.encode(),
        "CITATION.cff": citation(facts).encode(),
        "metadata.json": croissant(facts, tables).encode(),
    }
    files["manifest.json"] = manifest(facts, files).encode()
    files["SHA256SUMS"] = checksums(files).encode()
    return files


def _split(folder: Path, split: str, rows: Iterable[WrittenRow]) -> list[str]:
    """The files of a split, by name. Each layer that has rows has a Parquet file: `datasets` loads no empty one."""
    data, answers, aside = f"data/{split}.jsonl", f"paper/{split}.json", f"paper/{split}.skipped.jsonl"
    for path in (data, answers, parquet.path(split, "")):
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
    tables: dict[str, parquet.TableWriter] = {}
    with ExitStack() as stack:
        ours, theirs, skipped = (stack.enter_context((folder / path).open("wb")) for path in (data, answers, aside))
        for number, written in enumerate(rows, start=1):
            ours.write(written.line)
            if (layer := written.row["annotation"]) not in tables:
                tables[layer] = stack.enter_context(parquet.TableWriter(folder / parquet.path(split, layer)))
            tables[layer].take(written.line)
            theirs.write(_numbered(number, written.answer))
            skipped.write(written.refused)
    if not (folder / aside).stat().st_size:
        (folder / aside).unlink()
    made = [data, *(parquet.path(split, layer) for layer in parquet.LAYERS if layer in tables), answers, aside]
    return [path for path in made if (folder / path).exists()]


def _line(row: Mapping[str, object]) -> bytes:
    return (json.dumps(row, ensure_ascii=False) + "\n").encode()


def _paper(row: ReviewRow) -> tuple[bytes, bytes]:
    """A review in the paper's format less its number; or nothing, and why that cannot hold it whole, which stands
    beside it.
    """
    triplets = [released(triplet) for triplet in row["triplets"]]
    if reason := next(filter(None, map(paper.refused, triplets)), None):
        return b"", _line({"id": row["id"], "labels": len(triplets), "reason": reason})
    return _line(paper.unnumbered(row["text"], triplets, review=row["id"])), b""


def _numbered(number: int, answer: bytes) -> bytes:
    return b'{"id": %d, %b' % (number, answer[1:]) if answer else b""


def layer(split: str, name: str, rows: Sequence[LayerRow]) -> Files:
    """A layer as JSON lines, Parquet, the paper's format and BIO over characters."""
    whole = f"{split}-{name}"
    parts = [_paper(row) for row in rows]
    answers = [_numbered(number, answer) for number, (answer, _) in enumerate(parts, start=1)]
    fit = [labelled(_spanned(row)) for row in rows if not untokenisable(row["text"])]
    out: Files = {
        layers.path(split, name): b"".join(map(_line, rows)),
        parquet.path(split, name): parquet.dump(rows, layers.schema()),
        f"paper/{whole}.json": b"".join(answers),
        f"bio/{whole}.bio": bio.dump((sentence, bio.characters(sentence.text)) for sentence in fit).encode(),
    }
    skipped = b"".join(refused for _, refused in parts)
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
