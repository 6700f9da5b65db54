"""ASTE-Data-V2, Span-ASTE and PyABSA: a sentence of spaced tokens, `####`, and a Python list of triplets. Pure, both
ways.

They look alike and differ: V2 lists every token of a span, Span-ASTE the first and the last (one of a single token
alone), PyABSA gives both as a tuple. A line is a review with all its triplets. The loader of PyABSA 2.4 pairs every
aspect of a line with every opinion of it: where a review has several of both, that loader adds pairs which the line
does not hold.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from builder.core.records import POLARITIES, Polarity
from builder.release.export.records import (
    STAND_INS,
    Labelled,
    Spans,
    TripletLabel,
    checked,
    continuous,
    indices,
    parse_triplets,
    span_of,
    text_of,
    tokens,
    untokenisable,
)

_MARK, _THREE = "####", "#### #### ####"
_NO_HYPHEN = {**STAND_INS, "-": "\u2011"}
"""PyABSA's loader replaces hyphens by spaces, which would move every token behind them."""
_Triplet = tuple[Sequence[int], Sequence[int], Polarity]


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


def read_v2(content: str) -> list[Labelled]:
    """ValueError with the line of one that cannot be read. Ids are line numbers from 1."""
    return _read(content, span_of, _MARK)


# ---- Span-ASTE: the first and the last token of a span


def span_aste(reviews: Iterable[Labelled]) -> str:
    """A line for each review, with the first and the last token of a span."""
    return "".join(_line(review, lambda spans: sorted({spans[0][0], spans[0][1] - 1}), _THREE) for review in reviews)


def read_span_aste(content: str) -> list[Labelled]:
    """ValueError with the line of one that cannot be read. Ids are line numbers from 1."""
    return _read(content, _ends, _THREE)


def _ends(bounds: Sequence[int]) -> Spans:
    if len(bounds) not in (1, 2) or bounds[0] > bounds[-1]:
        raise ValueError(f"{bounds} is no first and last token")
    return ((bounds[0], bounds[-1] + 1),)


def _line(
    review: Labelled, shown: Callable[[Spans], Sequence[int]], mark: str, stand_ins: Mapping[str, str] = STAND_INS
) -> str:
    triplets = [(shown(label.aspect), shown(label.opinion), label.polarity) for label in review.labels]
    return f"{_sentence(tokens(review.text, stand_ins))}{mark}{triplets!r}\n"


def _sentence(words: Sequence[str]) -> str:
    """A # at the end would run into the mark."""
    return " ".join(words) + (" " if words[-1] == "#" else "")


def _read(
    content: str, span: Callable[[Sequence[int]], Spans], mark: str, stand_ins: Mapping[str, str] = STAND_INS
) -> list[Labelled]:
    return [
        checked(
            Labelled(
                str(number), text_of(words, stand_ins), tuple(TripletLabel(span(a), span(o), p) for a, o, p in triplets)
            )
        )
        for number, words, triplets in _parsed(content, mark)
    ]


def _parsed(content: str, mark: str) -> Iterator[tuple[int, list[str], list[_Triplet]]]:
    """(number, tokens, triplets) of each line; the sentence may end in a space, as in the published files."""
    for number, line in enumerate(content.removesuffix("\n").split("\n") if content else [], start=1):
        sentence, present, literal = line.rpartition(mark)
        try:
            if not present:
                raise ValueError(f"no {mark}")
            triplets = parse_triplets(literal.strip())
            for aspect, opinion, polarity in triplets:
                if polarity not in POLARITIES or not all(type(i) is int for i in (*aspect, *opinion)):
                    raise ValueError(f"no triplet: {(aspect, opinion, polarity)!r}")
            yield number, sentence.removesuffix(" ").split(" "), triplets
        except (ValueError, SyntaxError, TypeError) as error:
            raise ValueError(f"line {number}: {error}") from error


# ---- PyABSA: ((0, 1), (2, 5), 'NEU'), inclusive


def pyabsa_refused_text(text: str) -> str | None:
    """Why a text cannot be written as tokens that PyABSA's loader leaves as they are, or None."""
    return untokenisable(text, _NO_HYPHEN)


def pyabsa_refused(label: TripletLabel) -> str | None:
    """Its loader drops a pair of equal spans."""
    return continuous(label) or ("aspect and opinion are the same place" if label.aspect == label.opinion else None)


def pyabsa(reviews: Iterable[Labelled]) -> str:
    """A line for each review, with inclusive tuples."""
    return "".join(_line(review, lambda spans: (spans[0][0], spans[0][1] - 1), _MARK, _NO_HYPHEN) for review in reviews)


def read_pyabsa(content: str) -> list[Labelled]:
    """ValueError with the line of one that cannot be read. Ids are line numbers from 1."""
    return _read(content, _ends, _MARK, _NO_HYPHEN)
