"""`Document`: a text with its triplets, as `Extractor` and `Release` give it.

In: a text and triplets whose offsets are code points of it. Out: rows, JSON and HTML, and back from JSON.

Tables of other libraries: data frames and datasets in and out. Neither library is imported before it is asked for.

In: a pandas DataFrame or Series, a `datasets.Dataset`, or records (a list of dictionaries). Out: rows, or texts with
what is missing marked. And the other way: a table with one triplet a row, a dataset with one review a row.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from builder.core import markup
from builder.core.errors import ConfigError, InputError, install_command
from builder.core.files import parse_json
from builder.core.records import Triplet
from builder.release.export import table
from builder.release.export.native_rows import ReviewRow, completed, extracted, judged_triplet, mismatch, read_extracted

if TYPE_CHECKING:
    import datasets
    import pandas

# ---- Documents

REVIEW_FIELDS = ("annotation", "language", "rating", "source", "unverified_negative", "columns")
"""What a release says of a review beside id and text: attributes of its `Document`."""


class Document(tuple[Triplet, ...]):
    """The triplets of a text, in the order of their opinions: a tuple that knows its text.

    Attributes:
        text: the text as it was given; all offsets are code points of it.
        id: the review's id in a release, or the one that `Extractor.stream` was given; else None.
        annotation: in a release the layer, `gold` or `silver` or the name of an augmentation; else empty.
        language, rating, source, unverified_negative: in a release what its row says of the review; else empty.
        columns: in a release the columns of the input that passed through, by name.

    In a notebook it renders as the text with its triplets marked.

    >>> from builder import Extractor
    >>> document = Extractor()("湯頭濃郁")
    >>> document
    Document('湯頭濃郁', [湯頭 · 濃郁 · POS])
    >>> document[0].aspect.spans, document[0].valence, document[0].rule
    (((0, 2),), 7.7, 'subject')
    """

    text: str
    id: object
    annotation: str
    language: str
    rating: float | None
    source: str | None
    unverified_negative: bool
    columns: Mapping[str, str | None]

    def __new__(
        cls,
        text: str,
        triplets: Iterable[Triplet] = (),
        *,
        id: object = None,
        annotation: str = "",
        language: str = "",
        rating: float | None = None,
        source: str | None = None,
        unverified_negative: bool = False,
        columns: Mapping[str, str | None] | None = None,
    ) -> Document:
        made = super().__new__(cls, triplets)
        made.text, made.id, made.annotation, made.language = text, id, annotation, language
        made.rating, made.source, made.unverified_negative = rating, source, unverified_negative
        made.columns = dict(columns or {})
        return made

    def __getnewargs_ex__(self) -> tuple[tuple[object, ...], dict[str, object]]:
        return (self.text, tuple(self)), {name: getattr(self, name) for name in ("id", *REVIEW_FIELDS)}

    def rows(self) -> list[dict[str, object]]:
        """The triplets as `builder extract` writes them, ready for `json.dumps`. Tables and gold files have the same
        columns; [Triplets](formats.md#triplets) says what they mean.

        >>> from builder import Extractor
        >>> (row,) = Extractor()("湯頭不會太鹹").rows()
        >>> row["aspect"], row["opinion"], row["opinion_full"], row["opinion_spans"], row["aspect_category"]
        ('湯頭', '不會鹹', '不會太鹹', [[2, 4], [5, 6]], 'food.part')
        """
        return [extracted(held) for held in self]

    def to_json(self) -> str:
        """The text and its rows as one JSON object: a line of JSON lines. It has `id`, `text` and `triplets`, and of a
        review in a release what else its row says. The reasons of a triplet are no part of it.
        """
        details = {name: getattr(self, name) for name in REVIEW_FIELDS} if self.annotation else {}
        if not self.columns:
            details.pop("columns", None)
        return json.dumps({"id": self.id, "text": self.text, **details, "triplets": self.rows()}, ensure_ascii=False)

    @classmethod
    def from_json(cls, line: str | bytes) -> Document:
        """What `to_json` wrote, or a line of a release's `data/SPLIT.jsonl`.

        Raises:
            InputError: it is neither, or a span does not show its words in the text.

        >>> from builder import Document, Extractor
        >>> document = Extractor()("湯頭濃郁")
        >>> Document.from_json(document.to_json()).rows() == document.rows()
        True
        """
        try:
            row = parse_json(line.decode("utf-8") if isinstance(line, bytes) else line)
            text, held = row["text"], row["triplets"]
            if not isinstance(text, str):
                raise TypeError("its text is no string")
            if held and isinstance(held[0]["aspect"], dict):
                return cls._of_checked_row(completed(row))
            details = {name: row[name] for name in REVIEW_FIELDS if name in row}
            return cls(text, [read_extracted(one, text) for one in held], id=row.get("id"), **details)
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            what = f"it has no {error}" if isinstance(error, KeyError) else str(error)
            fix = 'give {"id", "text", "triplets"} as `Document.to_json` writes it'
            raise InputError(f"no document: {what}", fix=fix) from error

    @classmethod
    def of_row(cls, row: ReviewRow) -> Document:
        """The document of a row of a release."""
        details_row: Mapping[str, Any] = row
        details = {name: details_row[name] for name in REVIEW_FIELDS if name in details_row}
        return cls(row["text"], map(judged_triplet, row["triplets"]), id=row["id"], **details)

    def explain(self) -> list[dict[str, object]]:
        """The story of each triplet: its row, and how it came about.

        Returns:
            For each triplet its row with `rule` (None without one), `path` (the steps from aspect to opinion in the
            dependency tree) and `evidence`: (kind, detail) pairs in the order of the decisions, with the lexicon
            entries by file and line.

        >>> from builder import Extractor
        >>> (story,) = Extractor()("湯頭不會太鹹").explain()
        >>> story["rule"], story["path"]
        ('subject', ['↑nsubj'])
        >>> [detail for kind, detail in story["evidence"] if kind == "negator"]
        ['不會']
        """
        return [
            {
                **extracted(held),
                "rule": held.rule,
                "path": list(held.path),
                "evidence": [list(step) for step in held.evidence],
            }
            for held in self
        ]

    @classmethod
    def _of_checked_row(cls, row: ReviewRow) -> Document:
        if fault := next((fault for held in row["triplets"] if (fault := mismatch(row["text"], held))), None):
            raise ValueError(fault)
        return cls.of_row(row)

    def html(self) -> str:
        """The text with its triplets marked, and a list of them: a piece of HTML with the style that it needs. Whatever
        stands in the text is escaped. Notebooks show a document by it.
        """
        marks = [mark for number, held in enumerate(self) for mark in held.marks(number)]
        triplets = "".join(f"<li>{held.html()}</li>" for held in self)
        shown = markup.marked(self.text, marks, numbers=True)
        return markup.boxed(
            f'<p class="text" lang="zh">{shown}</p>'
            + (f"<ol>{triplets}</ol>" if triplets else "<p><i>no triplet</i></p>")
        )

    def _repr_html_(self) -> str:
        return self.html()

    def __repr__(self) -> str:
        return f"Document({self.text!r}, [{', '.join(map(str, self))}])"


Table: TypeAlias = "pandas.DataFrame | pandas.Series[Any] | datasets.Dataset | Sequence[Mapping[str, Any]]"
REVIEW_COLUMNS = tuple(table.REVIEW)
TRIPLET_COLUMNS = tuple(name for name in table.columns() if name not in (*REVIEW_COLUMNS, *table.BOUND_COLUMNS))
"""As `builder export --format csv` names them. `source` is that of the review there."""
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
    if not frame.columns.is_unique:
        raise ConfigError("two columns of the table have one name", fix="give plain columns")
    if frame.empty:
        raise ConfigError("the table has no rows", fix="give one with a review a row")
    try:
        text = frame.to_json(orient="records", lines=True, force_ascii=False, date_format="iso", double_precision=15)
        return str(text).encode()
    except (ValueError, OverflowError) as error:  # half a character
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
        own = {f"{table.KEPT}{name}": cell for name, cell in document.columns.items()}
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
    from builder.release import augmentation_layers as augmented
    from builder.release import parquet_files

    def make(name: str) -> datasets.Dataset:
        schema = augmented.schema() if name in layers else parquet_files.schema(kept=kept)
        rows: list[Mapping[str, Any]] = [row for _, row in read(name)]
        columns = {column: [row.get(column) for row in rows] for column in schema.names}  # a split may be empty
        return datasets.Dataset.from_dict(columns, features=datasets.Features.from_arrow_schema(schema))

    return make(split) if split is not None else datasets.DatasetDict({name: make(name) for name in splits})
