"""`Document`: a text with its triplets, as the extractor returns it and a release holds it."""

from __future__ import annotations

from collections.abc import Iterable

from builder.core import markup
from builder.core.records import Triplet
from builder.release.export.records import extracted


class Document(tuple[Triplet, ...]):
    """The triplets of a text, in the order of their opinions: a tuple that knows its text.

    Attributes:
        text: the text as it was given; all offsets are code points of it.
        id: the review's id in a release, else None.
        annotation: in a release the layer, `gold` or `silver` or the name of an augmentation; else empty.

    In a notebook it renders as the text with its triplets marked.

    >>> from builder import Extractor
    >>> document = Extractor()("湯頭濃郁")
    >>> document
    Document('湯頭濃郁', [湯頭 · 濃郁 · POS])
    >>> document[0].aspect.spans, document[0].valence, document[0].rule
    (((0, 2),), 7.7, 'subject')
    """

    text: str
    id: str | None
    annotation: str

    def __new__(
        cls, text: str, triplets: Iterable[Triplet] = (), *, id: str | None = None, annotation: str = ""
    ) -> Document:
        made = super().__new__(cls, triplets)
        made.text, made.id, made.annotation = text, id, annotation
        return made

    def __getnewargs_ex__(self) -> tuple[tuple[object, ...], dict[str, object]]:
        return (self.text, tuple(self)), {"id": self.id, "annotation": self.annotation}

    def rows(self) -> list[dict[str, object]]:
        """The triplets as `builder extract` writes them, ready for `json.dumps`."""
        return [dict(extracted(held)) for held in self]

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

    def _repr_html_(self) -> str:
        marks = [mark for number, held in enumerate(self) for mark in held.marks(number)]
        triplets = "".join(f"<li>{held.html()}</li>" for held in self)
        shown = markup.marked(self.text, marks, numbers=True)
        return markup.boxed(
            f'<p class="text" lang="zh">{shown}</p>'
            + (f"<ol>{triplets}</ol>" if triplets else "<p><i>no triplet</i></p>")
        )

    def __repr__(self) -> str:
        return f"Document({self.text!r}, [{', '.join(map(str, self))}])"
