"""ASTE-Data-V2, Span-ASTE and PyABSA: a sentence of spaced tokens, `####`, and a Python list of triplets. Pure.

They look alike and differ: V2 lists every token of a span, Span-ASTE the first and the last (one of a single token
alone), PyABSA gives both as a tuple. A line is a review with all its triplets. The loader of PyABSA 2.4 pairs every
aspect of a line with every opinion of it: where a review has several of both, that loader adds pairs which the line
does not hold.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from builder.release.export.records import (
    STAND_INS,
    Labelled,
    Spans,
    TripletLabel,
    continuous,
    indices,
    tokens,
    untokenisable,
)

_MARK, _THREE = "####", "#### #### ####"
NO_HYPHEN = {**STAND_INS, "-": "\u2011"}
"""PyABSA's loader replaces hyphens by spaces, which would move every token behind them."""


def refused_text(text: str) -> str | None:
    """Why a text cannot be written as spaced tokens, or None."""
    return untokenisable(text)


def refused(label: TripletLabel) -> str | None:
    """Why a label cannot be written, or None."""
    return continuous(label)


# ---- ASTE-Data-V2: tok tok####[([16, 17], [15], 'POS')]


def v2(reviews: Iterable[Labelled]) -> str:
    """A line for each review, with every token index of a span."""
    return "".join(_line(review, indices, _MARK) for review in reviews)


# ---- Span-ASTE: the first and the last token of a span


def span_aste(reviews: Iterable[Labelled]) -> str:
    """A line for each review, with the first and the last token of a span."""
    return "".join(_line(review, lambda spans: sorted({spans[0][0], spans[0][1] - 1}), _THREE) for review in reviews)


def _line(
    review: Labelled, shown: Callable[[Spans], Sequence[int]], mark: str, stand_ins: Mapping[str, str] = STAND_INS
) -> str:
    triplets = [(shown(label.aspect), shown(label.opinion), label.polarity) for label in review.labels]
    return f"{_sentence(tokens(review.text, stand_ins))}{mark}{triplets!r}\n"


def _sentence(words: Sequence[str]) -> str:
    """A # at the end would run into the mark."""
    return " ".join(words) + (" " if words[-1] == "#" else "")


# ---- PyABSA: ((0, 1), (2, 5), 'NEU'), inclusive


def pyabsa_refused_text(text: str) -> str | None:
    """Why a text cannot be written as tokens that PyABSA's loader leaves as they are, or None."""
    return untokenisable(text, NO_HYPHEN)


def pyabsa_refused(label: TripletLabel) -> str | None:
    """Its loader drops a pair of equal spans."""
    return continuous(label) or ("aspect and opinion are the same place" if label.aspect == label.opinion else None)


def pyabsa(reviews: Iterable[Labelled]) -> str:
    """A line for each review, with inclusive tuples."""
    return "".join(_line(review, lambda spans: (spans[0][0], spans[0][1] - 1), _MARK, NO_HYPHEN) for review in reviews)
