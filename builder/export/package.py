"""All files of a release, from its rows and what is to be said of them. Pure: path -> bytes."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence

from builder.export import bio, layers, paper, parquet
from builder.export.card import card
from builder.export.citation import citation
from builder.export.croissant import croissant
from builder.export.labels import labelled, untokenisable
from builder.export.layers import LayerRow
from builder.export.manifest import Facts, checksums, manifest, sha256
from builder.export.records import ElementRow, ReviewRow, TripletRow
from builder.export.records import triplet as released

Files = dict[str, bytes]
Rows = Mapping[str, Sequence[ReviewRow]]
"""Split -> its reviews, in order."""


def data(rows: Rows) -> Files:
    """data/, parquet/ and paper/: what is the same whatever the release is called."""
    return {path: content for split, listed in rows.items() for path, content in _split(split, listed)}


def digest(files: Mapping[str, bytes]) -> str:
    """What identifies the data: the checksum lines of data/."""
    return sha256(checksums({path: content for path, content in files.items() if path.startswith("data/")}).encode())


def whole(facts: Facts, content: Mapping[str, bytes], changes: str) -> Files:
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


def _split(split: str, rows: Sequence[ReviewRow]) -> Iterator[tuple[str, bytes]]:
    yield f"data/{split}.jsonl", "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode()
    for path, listed in parquet.layers(split, rows).items():
        yield path, parquet.dump(listed)
    yield from paper_files(split, rows)


def paper_files(split: str, rows: Sequence[ReviewRow]) -> Iterator[tuple[str, bytes]]:
    """paper/ of a split; what the paper's format cannot hold is written beside it."""
    answers, skipped = [], []
    for number, row in enumerate(rows, start=1):
        listed = [released(one) for one in row["triplets"]]
        answers.append(paper.line(number, row["text"], [one for one in listed if paper.refused(one) is None]) + "\n")
        skipped += [
            json.dumps({"id": i["id"], "reason": why}, ensure_ascii=False) + "\n"
            for i, one in zip(row["triplets"], listed, strict=True)
            if (why := paper.refused(one))
        ]
    yield f"paper/{split}.json", "".join(answers).encode()
    if skipped:
        yield f"paper/{split}.skipped.jsonl", "".join(skipped).encode()


def layer(split: str, name: str, rows: Sequence[LayerRow]) -> Files:
    """A layer as JSON lines, Parquet, the paper's format and BIO over characters."""
    whole = f"{split}-{name}"
    out = {layers.path(split, name): "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode()}
    out[parquet.path(split, name)] = parquet.dump(rows, layers.schema())
    out |= dict(paper_files(whole, rows))
    fit = [labelled(_spanned(row)) for row in rows if not untokenisable(row["text"])]
    out[f"bio/{whole}.bio"] = bio.dump((one, bio.characters(one.text)) for one in fit).encode()
    return out


def _spanned(row: LayerRow) -> ReviewRow:
    """A row whose aspects BIO can see: those of views without triplets stand in for their triplets."""
    if row["triplets"] or not row["aspects"]:
        return row
    blank: ElementRow = {"text": "", "spans": []}
    stand_in: list[TripletRow] = [
        {"id": "", "aspect": {"text": one["text"], "spans": one["spans"]}, "aspect_full": blank, "owner": None, "opinion": blank,
         "opinion_full": blank, "polarity": "NEU", "valence": 5.0, "sources": [], "rules": []}
        for one in row["aspects"]
    ]  # fmt: skip
    return row | {"triplets": stand_in}
