"""BIO for aspect term extraction: a token and its tag on a line, a tab between, an empty line behind each review.
Pure, both ways.

Tokens are characters, or words: then an aspect must begin and end with one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from builder.core.records import Span
from builder.release.export.records import Labelled, Skipped, Spans, text_of, tokens

Words = Sequence[Span]
"""What tiles a text."""
Review = tuple[Labelled, Words]
_ID = "# id = "
_BREAKS = str.maketrans({"\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"})
"""An id stands on one line as it is, white space included; line breaks and tabs are written \\n, \\r and \\t, a
backslash twice.
"""
_BROKEN = re.compile(r"\\([\\nrt])")
_MEANT = {"\\": "\\", "n": "\n", "r": "\r", "t": "\t"}


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


def read(content: str) -> list[tuple[str, str, Words, list[Span]]]:
    """(id, text, words, aspects) of each review; ValueError with the line of one that cannot be read."""
    reviews: list[tuple[str, str, Words, list[Span]]] = []
    name, words, tags = "", [], []  # type: tuple[str, list[str], list[str]]
    for number, line in enumerate(content.split("\n"), start=1):
        token, tab, tag = line.rpartition("\t")
        if not tab and line.startswith(_ID):
            name = _BROKEN.sub(lambda match: _MEANT[match[1]], line.removeprefix(_ID))
        elif not line:
            if words:
                reviews.append(_review(name or str(len(reviews) + 1), words, tags))
            name, words, tags = "", [], []
        elif not tab or tag not in ("B", "I", "O") or (tag == "I" and (not tags or tags[-1] == "O")):
            raise ValueError(f"line {number}: no token with B, I or O: {line!r}")
        else:
            words.append(token)
            tags.append(tag)
    return reviews


def _review(name: str, shown: Sequence[str], tags: Sequence[str]) -> tuple[str, str, Words, list[Span]]:
    text = "".join(text_of(list(token)) for token in shown)
    words: list[Span] = []
    spans: list[Span] = []
    at = 0
    for token, tag in zip(shown, tags, strict=True):
        words.append((at, at + len(token)))
        if tag == "B":
            spans.append(words[-1])
        elif tag == "I":
            spans[-1] = (spans[-1][0], at + len(token))
        at += len(token)
    return name, text, words, spans
