"""Our rows as Parquet, one file for each layer (gold, silver) of a split: what `datasets` and Croissant read. Same rows, same bytes."""

from __future__ import annotations

import io
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from builder.export.records import ReviewRow

PARTS = ("aspect", "aspect_full", "owner", "opinion", "opinion_full")
COLUMNS = {"id": "string", "text": "string", "language": "string", "rating": "float64", "annotation": "string"}
"""The columns of a review beside its triplets."""
LAYERS = ("gold", "silver")


def schema() -> Any:
    """The Arrow schema of a review with its triplets."""
    import pyarrow as pa

    element = pa.struct([("text", pa.string()), ("spans", pa.list_(pa.list_(pa.int32())))])
    triplet = pa.struct(
        [("id", pa.string()), *((part, element) for part in PARTS), ("polarity", pa.string()), ("valence", pa.float64()),
         ("sources", pa.list_(pa.string())), ("rules", pa.list_(pa.string()))]
    )  # fmt: skip
    kinds = {"string": pa.string(), "float64": pa.float64()}
    return pa.schema([*((name, kinds[kind]) for name, kind in COLUMNS.items()), ("triplets", pa.list_(triplet))])


def features() -> list[dict[str, object]]:
    """The same schema as a dataset card writes it."""
    element = [{"name": "text", "dtype": "string"}, {"name": "spans", "list": {"list": "int32"}}]
    triplet: list[dict[str, object]] = [{"name": "id", "dtype": "string"}, *({"name": part, "struct": element} for part in PARTS)]
    triplet += [{"name": "polarity", "dtype": "string"}, {"name": "valence", "dtype": "float64"}]
    triplet += [{"name": "sources", "list": "string"}, {"name": "rules", "list": "string"}]
    return [*({"name": name, "dtype": kind} for name, kind in COLUMNS.items()), {"name": "triplets", "list": triplet}]


def path(split: str, layer: str) -> str:
    return f"parquet/{split}-{layer}.parquet"


def layers(split: str, rows: Sequence[ReviewRow]) -> dict[str, list[ReviewRow]]:
    """File name -> its rows, in their order. A split without rows has an empty silver file, so that it can be loaded."""
    named = {layer: [row for row in rows if row["annotation"] == layer] for layer in LAYERS}
    return {path(split, layer): listed for layer, listed in named.items() if listed or (layer == "silver" and not rows)}


def dump(rows: Iterable[ReviewRow]) -> bytes:
    import pyarrow as pa
    import pyarrow.parquet as pq

    sink = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(list(rows), schema=schema()), sink, compression="zstd", row_group_size=10_000)
    return sink.getvalue()


def holds(file: Path, rows: Sequence[ReviewRow]) -> bool:
    """Whether a Parquet file holds exactly these rows; ValueError (pyarrow's) if it is none or the rows do not fit the schema."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = pq.ParquetFile(file).read()
    return bool(table.schema.equals(schema()) and table.equals(pa.Table.from_pylist(list(rows), schema=schema())))


def sizes(content: Mapping[str, bytes]) -> dict[str, tuple[int, int]]:
    """Parquet file -> (rows, bytes in memory)."""
    import pyarrow.parquet as pq

    out = {}
    for name, data in content.items():
        table = pq.ParquetFile(io.BytesIO(data)).read()
        out[name] = (table.num_rows, table.nbytes)
    return out
