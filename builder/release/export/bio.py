"""BIO for aspect term extraction: a token and its tag on a line, a tab between, an empty line behind each review.
Pure.

Tokens are characters, or words: then an aspect must begin and end with one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from builder.core.records import Span
from builder.release.export.records import Labelled, Skipped, Spans, tokens

Words = Sequence[Span]
"""What tiles a text."""
Review = tuple[Labelled, Words]
_ID = "# id = "
_BREAKS = str.maketrans({"\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"})
"""An id stands on one line as it is, white space included; line breaks and tabs are written \\n, \\r and \\t, a
backslash twice.
"""


def characters(text: str) -> Words:
    """Every code point as a word."""
    return [(i, i + 1) for i in range(len(text))]


def aspects(review: Labelled, words: Words) -> tuple[list[Spans], list[Skipped]]:
    """The aspects that tags can show, in order, and those they cannot: interrupted, across words, or over one that
    stands before.
    """
    count = len({label.aspect for label in review.labels})
    starts, ends = {start for start, _ in words}, {end for _, end in words}
    kept: list[Spans] = []
    skipped = []
    for aspect, label in sorted({label.aspect: label for label in reversed(review.labels)}.items()):
        (start, end), *more = aspect
        if more:
            reason = "the aspect is interrupted"
        elif start not in starts or end not in ends:
            reason = "the aspect does not begin and end with a word"
        elif kept and kept[-1][0][1] > start:
            reason = "the aspect overlaps another one"
        else:
            kept.append(aspect)
            continue
        skipped.append(Skipped(review.id, label, reason, count))
    return kept, skipped


def dump(reviews: Iterable[Review]) -> str:
    """The reviews one after the other, each behind a line with its id."""
    return "".join(line for review, words in reviews for line in _lines(review, words))


def _lines(review: Labelled, words: Words) -> Iterator[str]:
    kept, _ = aspects(review, words)
    yield f"{_ID}{review.id.translate(_BREAKS)}\n"
    shown = tokens(review.text)
    for start, end in words:
        inside = next((aspect for ((a, b),) in kept for aspect in [(a, b)] if a <= start < b), None)
        tag = "O" if inside is None else "B" if inside[0] == start else "I"
        yield f"{''.join(shown[start:end])}\t{tag}\n"
    yield "\n"
