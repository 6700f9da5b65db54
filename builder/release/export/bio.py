"""BIO for aspect term extraction: a token and its tag on a line, a tab between, an empty line behind each review.
Pure.

Tokens are characters.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from builder.release.export.records import Labelled, Skipped, Spans, tokens

_ID = "# id = "
_BREAKS = str.maketrans({"\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"})
"""An id stands on one line as it is, white space included; line breaks and tabs are written \\n, \\r and \\t, a
backslash twice.
"""


def aspects(review: Labelled) -> tuple[list[Spans], list[Skipped]]:
    """The aspects that tags can show, in order, and those they cannot: interrupted, or over one that stands before."""
    count = len({label.aspect for label in review.labels})
    kept: list[Spans] = []
    skipped = []
    for aspect, label in sorted({label.aspect: label for label in reversed(review.labels)}.items()):
        (start, _), *more = aspect
        if more:
            reason = "the aspect is interrupted"
        elif kept and kept[-1][0][1] > start:
            reason = "the aspect overlaps another one"
        else:
            kept.append(aspect)
            continue
        skipped.append(Skipped(review.id, label, reason, count))
    return kept, skipped


def dump(reviews: Iterable[Labelled]) -> str:
    """The reviews one after the other, each behind a line with its id."""
    return "".join(line for review in reviews for line in _lines(review))


def _lines(review: Labelled) -> Iterator[str]:
    kept, _ = aspects(review)
    yield f"{_ID}{review.id.translate(_BREAKS)}\n"
    for at, token in enumerate(tokens(review.text)):
        inside = next((start for ((start, end),) in kept if start <= at < end), None)
        yield f"{token}\t{'O' if inside is None else 'B' if inside == at else 'I'}\n"
    yield "\n"
