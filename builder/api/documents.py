"""`Document`: a text with its triplets, as `Extractor` and `Release` give it.

In: a text and triplets whose offsets are code points of it. Out: rows, JSON and HTML, and back from JSON.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from builder.core import markup
from builder.core.errors import InputError
from builder.core.files import parse_json
from builder.core.records import Triplet
from builder.release.export.records import ReviewRow, completed, extracted, judged_triplet, mismatch, read_extracted

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
