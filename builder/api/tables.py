"""Tables of other libraries: data frames and datasets in and out. Neither library is imported before it is asked for.

In: a pandas DataFrame or Series, a `datasets.Dataset`, or records (a list of dictionaries). Out: rows, or texts with
what is missing marked. And the other way: a table with one triplet a row, a dataset with one review a row.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from builder.api.documents import Document
from builder.core.errors import ConfigError, install_command
from builder.release.export.records import ReviewRow
from builder.release.export.table import KEPT

if TYPE_CHECKING:
    import datasets
    import pandas

Table: TypeAlias = "pandas.DataFrame | pandas.Series[Any] | datasets.Dataset | Sequence[Mapping[str, Any]]"
TRIPLET_COLUMNS = (
    "triplet_id", "aspect", "aspect_spans", "aspect_full", "aspect_full_spans", "aspect_category", "owner",
    "owner_spans", "opinion", "opinion_spans", "opinion_full", "opinion_full_spans", "opinion_category", "polarity",
    "valence", "confidence", "verdict", "sources", "rules",
)  # fmt: skip
"""The columns of a triplet, as `builder export --format csv` names them. `source` is that of the review there."""
REVIEW_COLUMNS = ("id", "text", "language", "rating", "source", "annotation", "unverified_negative")
_GIVE = "give paths, a pandas.DataFrame, a datasets.Dataset, or a list of dictionaries"


def check_pandas(needs: str) -> None:
    """ConfigError with the install command where pandas is not installed. `needs` is what needs it."""
    try:
        import pandas  # noqa: F401
    except ImportError as error:
        raise ConfigError(f"{needs} needs pandas", fix=install_command("pandas")) from error


def is_from(value: object, library: str) -> bool:
    """Whether a value is of a class that this library defines."""
    return type(value).__module__.partition(".")[0] == library


# ---- Tables in


def write_rows(data: object) -> bytes | None:
    """The rows of a table as JSON lines; None where `data` is no table, but paths.

    Raises:
        ConfigError: it is neither, has no rows, or holds what JSON cannot.
    """
    if is_from(data, "pandas"):
        return _write_frame(data)
    if is_from(data, "datasets"):
        if isinstance(data, Mapping):
            known = ", ".join(map(str, data))
            raise ConfigError(f"a {type(data).__name__} has several splits", fix=f"give one of them: {known}")
        return _write_records(list(data))  # type: ignore[call-overload]
    if isinstance(data, Mapping) or not isinstance(data, Iterable):
        raise ConfigError(f"reviews cannot be read from a value of type {type(data).__name__}", fix=_GIVE)
    records = list(data)
    if (records and all(isinstance(path, (str, os.PathLike)) for path in records)) or data == ():
        return None
    return _write_records(records)


def _write_frame(frame: Any) -> bytes:
    if not hasattr(frame, "columns"):
        frame = frame.to_frame(frame.name if isinstance(frame.name, str) else "text")
    if frame.empty:
        raise ConfigError("the table has no rows", fix="give one with a review a row")
    try:
        text = frame.to_json(orient="records", lines=True, force_ascii=False, date_format="iso", double_precision=15)
        return str(text).encode()
    except (ValueError, OverflowError) as error:  # two columns of one name, half a character
        raise ConfigError(f"the table cannot be written as JSON: {error}", fix="give plain columns") from error


def _write_records(rows: Sequence[object]) -> bytes:
    lines = []
    for number, row in enumerate(rows):
        if not isinstance(row, Mapping):
            raise ConfigError(f"item {number} of the list is of type {type(row).__name__}", fix=_GIVE)
        try:
            kept = {key: None if _is_nan(value) else value for key, value in row.items()}
            lines.append(json.dumps(kept, ensure_ascii=False, allow_nan=False, default=_plain).encode() + b"\n")
        except (TypeError, ValueError) as error:
            raise ConfigError(
                f"item {number} of the list cannot be written as JSON: {error}", fix="give plain values"
            ) from error
    if not lines:
        raise ConfigError("the table has no rows", fix="give one with a review a row")
    return b"".join(lines)


def _is_nan(value: object) -> bool:
    return isinstance(value, float) and math.isnan(value)


def _plain(value: Any) -> object:
    """A date, a number of numpy or what pandas holds as missing, as JSON has it."""
    if type(value).__name__ in ("NAType", "NaTType"):
        return None
    if hasattr(value, "isoformat"):
        return value.isoformat()
    if hasattr(value, "item"):
        return value.item()
    raise TypeError(f"{value!r} is a {type(value).__name__}")


def present_texts(texts: Iterable[object]) -> Iterator[object]:
    """The texts of any iterable, empty where one is missing: NaN, and whatever a Series holds as missing."""
    if is_from(texts, "pandas") and hasattr(texts, "isna"):
        yield from ("" if missing else text for text, missing in zip(texts, texts.isna(), strict=True))
    else:
        yield from ("" if _is_nan(text) else text for text in texts)


def as_frame(data: object) -> Any:
    """A table as a data frame; a Series stays one. TypeError for what is no table."""
    check_pandas("Extractor.frame")
    import pandas

    if is_from(data, "pandas"):
        return data
    if is_from(data, "datasets") and hasattr(data, "to_pandas") and not isinstance(data, Mapping):
        return data.to_pandas()
    if isinstance(data, Sequence) and all(isinstance(row, Mapping) for row in data):
        return pandas.DataFrame(data)
    given = type(data).__name__
    raise TypeError(f"frame takes a DataFrame, a Series, a Dataset or a list of dictionaries, not {given}")


def text_column(frame: Any, name: str | None) -> Any:
    """The column of texts of a frame, or a Series itself; ConfigError with the columns that there are."""
    if not hasattr(frame, "columns"):
        return frame
    known = list(frame.columns)
    wanted = "text" if name is None else name
    if known.count(wanted) != 1:
        fault = "two columns are" if wanted in known else "no column is"
        fix = f"name one with text=…: {', '.join(map(str, known))}"
        raise ConfigError(f"{fault} called {wanted!r}", where="the table", fix=fix)
    return frame[wanted]


# ---- Tables out


def found_frame(documents: Iterable[Document], index: Any) -> pandas.DataFrame:
    """A row a triplet, under the label that its text has in `index`."""
    check_pandas("Extractor.frame")
    import pandas

    places, rows = [], []
    for place, document in enumerate(documents):
        triplet_rows = document.rows()
        rows += triplet_rows
        places += [place] * len(triplet_rows)
    return pandas.DataFrame(rows, index=index.take(places), columns=list(TRIPLET_COLUMNS))


def release_frame(documents: Iterable[tuple[str, Document]]) -> pandas.DataFrame:
    """A row a triplet, and a row for each review without any: split, the review's columns, the triplet's, and those of
    the input that passed through, as `columns.NAME`.
    """
    check_pandas("Release.to_pandas")
    import pandas

    rows: list[dict[str, object]] = []
    kept: dict[str, None] = {}
    for split, document in documents:
        review_row: dict[str, object] = {"split": split, **{name: getattr(document, name) for name in REVIEW_COLUMNS}}
        own = {f"{KEPT}{name}": cell for name, cell in document.columns.items()}
        kept |= dict.fromkeys(own)
        for held in document.rows() or [{}]:
            rows.append({**review_row, **{name: held.get(name) for name in TRIPLET_COLUMNS}, **own})
    return pandas.DataFrame(rows, columns=["split", *REVIEW_COLUMNS, *TRIPLET_COLUMNS, *kept])


def make_datasets(
    read: Callable[[str], Iterable[tuple[str, ReviewRow]]],
    splits: Sequence[str],
    split: str | None,
    layers: Sequence[str],
    kept: Sequence[str],
) -> datasets.Dataset | datasets.DatasetDict:
    """The rows that `read` gives of a split or layer, or of all `splits`, with the columns of its Parquet files."""
    try:
        import datasets
    except ImportError as error:
        raise ConfigError("Release.to_dataset needs datasets", fix="pip install datasets") from error
    from builder.release import layers as augmented
    from builder.release import parquet

    def make(name: str) -> datasets.Dataset:
        schema = augmented.schema() if name in layers else parquet.schema(kept=kept)
        rows: list[Mapping[str, Any]] = [row for _, row in read(name)]
        columns = {column: [row.get(column) for row in rows] for column in schema.names}  # a split may be empty
        return datasets.Dataset.from_dict(columns, features=datasets.Features.from_arrow_schema(schema))

    return make(split) if split is not None else datasets.DatasetDict({name: make(name) for name in splits})
