"""The fields of our rows, said once, and the rows as Parquet, one file for each layer (gold, silver) of a split: what
`datasets` and Croissant read. Same rows, same bytes.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from builder.release.export.native_rows import ReviewRow
from builder.release.manifest import Content, Stored
from builder.release.shelf import FORMAT
from builder.reviews.sources.parquet import read_batches, read_chunks

Fields = Mapping[str, tuple[str, str]]
"""Name -> its kind, ` or null` where it may be, and what it means."""
REVIEW: Fields = {
    "id": ("string", "the review's id in this dataset"),
    "text": ("string", "the review, personal data masked; all offsets are code points into it"),
    "language": ("string", "BCP 47: zh-Hant, zh-Hans, or zh where scripts mix or no character tells the script"),
    "rating": ("number or null", "stars, where the input had them"),
    "source": ("string or null", "where the review comes from, as the input had it"),
    "annotation": (
        "string",
        "gold: labels given for the whole review; silver: a machine's; else the augmentation layer",
    ),
    "unverified_negative": (
        "boolean",
        "true: nothing was found in the review, and nobody has checked that nothing is there",
    ),
    "triplets": ("list", "what the review says, in the order of the opinions"),
}
COLUMNS: Fields = {
    "columns": ("object", "columns that pass through from the input, text or null, personal data masked")
}
"""In the rows of a release whose build kept any (`input.keep_columns`)."""
TRIPLET: Fields = {
    "id": (
        "string",
        "the triplet's id: that of its review, a colon, eight hexadecimal digits of its places and polarity",
    ),
    "aspect": ("element", "the term that is judged"),
    "aspect_full": ("element", "the term with its modifiers"),
    "aspect_category": ("string or null", "class of the aspect in the lexicon; null for a word that it does not hold"),
    "owner": ("element or null", "what the aspect is an attribute of, where the text names it (餐點 of 餐點口感)"),
    "opinion": (
        "element",
        "the core of the judgement with its negator and without words of degree; may be interrupted",
    ),
    "opinion_full": ("element", "the whole phrase; interrupted only by its own aspect (不擔心份量不夠)"),
    "opinion_category": (
        "string or null",
        "category of the opinion in the lexicon; null for a word that it does not hold",
    ),
    "polarity": ("string", "POS, NEG or NEU"),
    "valence": ("number", "1 (bad) to 10 (good); 5 is neutral"),
    "confidence": (
        "number or null",
        "how likely the triplet is right, 0 to 1, by the calibrated judge; null without one, and in gold reviews",
    ),
    "verdict": (
        "string or null",
        "the judge: YY right, YN right pair but another polarity, NX no pair; null: it does not say",
    ),
    "sources": (
        "list of strings",
        "who says it: `rules` or a model that proposes it, `discriminator` where the judge calls it right, added it or "
        "gave it its words, `gold`",
    ),
    "rules": ("list of strings", "the pairing rule that made it, if a rule did"),
}
LINEAGE: Fields = {
    "source_id": ("string", "the id of the row that this one was made from"),
    "method": ("string", "the augmentation method"),
}
"""Of augmentation layers alone."""
_SINCE_3 = ("source", "unverified_negative", "aspect_category", "opinion_category", "confidence", "verdict")
"""Fields that older layouts lack."""
LAYERS = ("gold", "silver")
CHUNK = 4_000
"""Rows in a row group."""
_BLOCK = 1 << 20
"""Bytes of JSON that a thread reads, or one row where it is longer."""


def kinds_of(fields: Fields, layout: int = FORMAT) -> dict[str, str]:
    """The fields that a layout has, with their kinds."""
    return {name: kind for name, (kind, _) in fields.items() if layout > 2 or name not in _SINCE_3}


def schema(layout: int = FORMAT, kept: Sequence[str] = ()) -> Any:
    """The Arrow schema of a review with its triplets, in a release of this layout. `kept`: the columns of the input
    that pass through.
    """
    import pyarrow as pa

    kinds = {
        "string": pa.string(), "number": pa.float64(), "boolean": pa.bool_(), "list of strings": pa.list_(pa.string()),
        "element": pa.struct([("text", pa.string()), ("spans", pa.list_(pa.list_(pa.int32())))]),
    }  # fmt: skip

    def typed(fields: Fields) -> list[tuple[str, Any]]:
        return [(name, kinds[kind.removesuffix(" or null")]) for name, kind in kinds_of(fields, layout).items()]

    kinds["list"] = pa.list_(pa.struct(typed(TRIPLET)))
    own = [("columns", pa.struct([(name, pa.string()) for name in kept]))] if kept else []
    return pa.schema([*typed(REVIEW), *own])


def features(shape: Any) -> list[dict[str, object]]:
    """An Arrow schema as a dataset card writes it."""
    return [{"name": column.name, **_feature(column.type)} for column in shape]


def _feature(kind: Any) -> dict[str, object]:
    import pyarrow as pa

    if pa.types.is_struct(kind):
        return {"struct": features(kind)}
    if not pa.types.is_list(kind):
        return {"dtype": "float64" if kind == pa.float64() else str(kind)}
    inner = _feature(kind.value_type)
    return {"list": inner.get("struct") or inner.get("dtype") or inner}


def path(split: str, layer: str) -> str:
    """The Parquet file of a layer of a split, relative to the release."""
    return f"parquet/{split}-{layer}.parquet"


class TableWriter:
    """A Parquet file, written a row group at a time from rows as JSON, each a line with its line feed."""

    def __init__(self, sink: Path | io.BytesIO, shape: Any = None) -> None:
        """`shape` is another Arrow schema than that of a review."""
        import pyarrow.parquet as pq

        self._shape = shape or schema()
        self._file = pq.ParquetWriter(sink, self._shape, compression="zstd")
        self._waiting: list[bytes] = []
        self._empty = True

    def take(self, line: bytes) -> None:
        self._waiting.append(line)
        if len(self._waiting) == CHUNK:
            self._group()

    def _group(self) -> None:
        self._file.write_table(_table(self._waiting, self._shape) if self._waiting else self._shape.empty_table())
        self._waiting, self._empty = [], False

    def __enter__(self) -> TableWriter:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        """A file without rows has one group without rows, so that it can be loaded. After an error nothing more is
        written.
        """
        with self._file:
            if kind is None and (self._waiting or self._empty):
                self._group()


def _table(lines: Sequence[bytes], shape: Any) -> Any:
    """Rows as an Arrow table. Its own reader of JSON takes a third of the time of Python objects."""
    from pyarrow import json as arrow_json

    return arrow_json.read_json(
        io.BytesIO(b"".join(lines)),
        read_options=arrow_json.ReadOptions(block_size=max(_BLOCK, *(len(line) + 1 for line in lines))),
        parse_options=arrow_json.ParseOptions(explicit_schema=shape, unexpected_field_behavior="error"),
    )


def dump(rows: Iterable[ReviewRow], shape: Any = None) -> bytes:
    """A small file; `shape` as above."""
    sink = io.BytesIO()
    with TableWriter(sink, shape) as writer:
        for row in rows:
            writer.take(json.dumps(row, ensure_ascii=False).encode() + b"\n")
    return sink.getvalue()


def holds(file: Path, rows: Iterable[ReviewRow], shape: Any) -> bool:
    """Whether a Parquet file holds just these rows. A row group at a time is compared: whole tables would take much
    memory. ValueError or OSError (pyarrow's) if it is no Parquet file.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    left = iter(rows)
    with pq.ParquetFile(file) as table:
        chunks = read_chunks(file, set(shape.names))
        if not table.num_row_groups or not table.schema_arrow.equals(shape):
            return False
        for group in range(table.num_row_groups):
            waiting, at = list(islice(left, CHUNK)), 0
            if table.metadata.row_group(group).num_rows != len(waiting):  # first: a small file may claim millions
                return False
            due = pa.Table.from_pylist(waiting, schema=shape)
            for batch in read_batches(table, chunks, shape.names, [group]):
                if not pa.Table.from_batches([batch], shape).equals(due.slice(at, len(batch))):
                    return False
                at += len(batch)
            if at != len(due):
                return False
    return next(left, None) is None


def filled(content: Mapping[str, Content]) -> dict[str, Content]:
    """The Parquet files that hold a row: no reader of datasets loads a split or config without any."""
    import pyarrow.parquet as pq

    return {name: data for name, data in content.items() if pq.read_metadata(_opened(data)).num_rows}


def sizes(content: Mapping[str, Content]) -> dict[str, tuple[int, int]]:
    """Parquet file -> (rows, bytes in memory)."""
    import pyarrow.parquet as pq

    out = {}
    for name, data in content.items():
        with pq.ParquetFile(_opened(data)) as file:
            out[name] = (file.metadata.num_rows, sum(file.read_row_group(n).nbytes for n in range(file.num_row_groups)))
    return out


def _opened(data: Content) -> Path | io.BytesIO:
    return data.path if isinstance(data, Stored) else io.BytesIO(data)
