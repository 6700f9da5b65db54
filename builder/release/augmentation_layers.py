"""Augmentation layers of a release: rows like those of a review, and beside them what they come from and what was
changed. Pure.

A layer stands beside the split that it enlarges (`data/train-synonym.jsonl`, `parquet/train-synonym.parquet`), never
in it, so that whoever reads train reads what it was. `faults` holds a layer to its word: the edits, applied to the
source row, must give the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypedDict, cast

from builder.core.records import surface
from builder.release import parquet_files
from builder.release.export.native_rows import ReviewRow, completed
from builder.release.shelf import FORMAT

NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,60}")
"""What a layer may be called: it is part of file names, and the name of a config."""
RESERVED = ("default", *parquet_files.LAYERS)


class EditRow(TypedDict):
    """`text` instead of the source row's text[start:end]."""

    start: int
    end: int
    text: str


class AspectRow(TypedDict):
    """A labelled aspect of a view without triplets; `polarity` null where only the term is labelled."""

    text: str
    spans: list[list[int]]
    polarity: str | None


class LayerRow(ReviewRow):
    """`annotation` is the layer. `source_id` is the id of the source row, `source_span` the part of its text that was
    rewritten, `edits` what was changed there: offsets into the source row's text. `label` is the class of the whole
    where the view has one; `aspects` are what is labelled in views without triplets. `score` is the method's own.
    """

    view: str
    method: str
    source_id: str
    source_span: list[int]
    edits: list[EditRow]
    aspects: list[AspectRow]
    label: str | None
    score: float | None


def path(split: str, layer: str) -> str:
    """The JSON-lines file of an augmentation layer, relative to the release."""
    return f"data/{split}-{layer}.jsonl"


def schema(layout: int = FORMAT) -> Any:
    """The Arrow schema of a layer: that of a review, then its lineage.
    Before layout 3 `source_id` was called `source`.
    """
    import pyarrow as pa

    edit = pa.struct([("start", pa.int32()), ("end", pa.int32()), ("text", pa.string())])
    aspect = pa.struct([("text", pa.string()), ("spans", pa.list_(pa.list_(pa.int32()))), ("polarity", pa.string())])
    more = [
        ("view", pa.string()), ("method", pa.string()), (_source(layout), pa.string()),
        ("source_span", pa.list_(pa.int32())), ("edits", pa.list_(edit)), ("aspects", pa.list_(aspect)),
        ("label", pa.string()), ("score", pa.float64()),
    ]  # fmt: skip
    return pa.schema([*parquet_files.schema(layout), *(pa.field(name, kind) for name, kind in more)])


_OWN: dict[str, tuple[type, ...]] = {
    "view": (str,), "method": (str,), "source_id": (str,), "source_span": (list,), "edits": (list,), "aspects": (list,),
    "label": (str, type(None)), "score": (int, float, type(None)),
}  # fmt: skip


def _source(layout: int) -> str:
    return "source_id" if layout > 2 else "source"


def renamed(row: Mapping[str, Any]) -> dict[str, Any]:
    """A row of a layer before layout 3 with the names of today; its source's own source is not known."""
    return {"source_id" if key == "source" else key: value for key, value in row.items()}


def completed_layer(row: Mapping[str, Any]) -> LayerRow:
    """A layer's row of any layout with all keys of today."""
    return cast(LayerRow, row if "source_id" in row else completed(renamed(row)))


def core(row: Mapping[str, Any], layout: int = FORMAT) -> dict[str, Any]:
    """The part of a layer's row that every row has, as if it were silver: `gates` know no layers."""
    rest = {key: value for key, value in row.items() if key not in _OWN} | {"annotation": "silver"}
    return rest | ({"unverified_negative": not row.get("triplets")} if layout > 2 else {})


def faults(row: Any, layer: str, texts: Mapping[str, str]) -> Iterator[str]:
    """What is wrong with a row's lineage, under the names of today. `texts` are those of the source split by id."""
    if not isinstance(row, dict) or (missing := sorted(_OWN.keys() - row.keys())):
        yield (
            f"a row of a layer has {', '.join(_OWN)}; "
            f"this one lacks {', '.join(missing) if isinstance(row, dict) else 'all'}"
        )
        return
    wrong = [key for key, kinds in _OWN.items() if not isinstance(row[key], kinds)]
    if wrong or row.get("annotation") != layer:
        yield (
            f"{wrong[0]} = {row[wrong[0]]!r}" if wrong else f"annotation {row.get('annotation')!r} in the layer {layer}"
        )
        return
    if row["source_id"] not in texts:
        yield f"its source {row['source_id']!r} is not in the split"
        return
    try:
        made = rewritten(texts[row["source_id"]], row["source_span"], row["edits"])
        astray = [aspect for aspect in row["aspects"] if surface(row["text"], aspect["spans"]) != aspect["text"]]
    except (ValueError, KeyError, TypeError) as error:
        yield f"its edits cannot be applied, or its aspects be found: {error}"
        return
    if made != row["text"]:
        yield f"its edits give {made!r}"
    yield from (f"aspect {aspect['text']!r} is not at {aspect['spans']}" for aspect in astray)


def rewritten(text: str, part: Sequence[int], edits: Sequence[EditRow]) -> str:
    """The part of a text after edits whose offsets are the text's; ValueError where they do not fit."""
    at, end = part
    out = []
    for edit in edits:
        if not at <= edit["start"] <= edit["end"] <= end:
            raise ValueError(f"{dict(edit)} is out of order or outside {list(part)}")
        out += [text[at : edit["start"]], str(edit["text"])]
        at = edit["end"]
    return "".join([*out, text[at:end]])
