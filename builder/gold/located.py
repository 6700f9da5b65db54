"""Labels of a review whose words say no place, located in its text. In: aspect, opinion and polarity in words, and the
review. Out: triplets over the stored text, and every label that is none with its reason.

A word is taken only where it stands in the review (scripts, widths and letter cases aside).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from builder.core.records import POLARITY_WORDS, VALENCES, Element, Span, Triplet
from builder.reviews.repair import fold

_PIECES = re.compile(r"\.{2,}|…+")
_FAR, _LONGEST = 8, 6
"""Characters at most between two pieces of one word, and of a word that may be two pieces."""


def locate_triplets(labels: Sequence[Mapping[str, object]], text: str) -> tuple[list[Triplet], dict[int, str]]:
    """The triplets of labels over `text`, each once; and the numbers of those that are none, with the reason."""
    kept: dict[object, Triplet] = {}
    faulty: dict[int, str] = {}
    folded = _FoldedText.of(text)
    for number, label in enumerate(labels):
        triplet = _triplet(label, folded, kept)
        if isinstance(triplet, str):
            faulty[number] = triplet
        else:
            kept.setdefault(triplet.key, triplet)
    return list(kept.values()), faulty


@dataclass(frozen=True, slots=True)
class _FoldedText:
    """A text, its fold, and the place in the text of each character of the fold."""

    text: str
    folded: str
    places: tuple[int, ...]

    @classmethod
    def of(cls, text: str) -> _FoldedText:
        return cls(text, fold(text), tuple(i for i, char in enumerate(text) for _ in fold(char)))

    def occurrences(self, word: str, after: int = 0) -> Iterator[Span]:
        """Where a word stands in the text, at `after` or behind it."""
        wanted = fold(word)
        at = self.folded.find(wanted) if wanted.strip() else -1
        while at >= 0:
            span = self.places[at], self.places[at + len(wanted) - 1] + 1
            if span[0] >= after:
                yield span
            at = self.folded.find(wanted, at + 1)

    def elements(self, word: str, *, joined: bool = False) -> list[Element]:
        """All places of a word; of one written in pieces (不…鹹) those whose pieces follow each other closely.

        `joined`: a word that stands nowhere may be two pieces written as one (不鹹).
        """
        pieces = [piece.strip() for piece in _PIECES.split(word) if piece.strip()] or [word.strip()]
        places = self._in_pieces(pieces)
        if joined and len(pieces) == 1 and not places:
            cuts = ([pieces[0][:cut], pieces[0][cut:]] for cut in range(1, min(len(pieces[0]), _LONGEST)))
            places = next(filter(None, map(self._in_pieces, cuts)), [])
        return places

    def around(self, word: object, core: Element) -> Element:
        """The place of a longer form around an element; the element itself where it has none."""
        held = self.occurrences(word) if isinstance(word, str) else ()
        spans = (span for span in held if span[0] <= core.start and core.end <= span[1])
        return next((Element.at(self.text, [span]) for span in spans), core)

    def _in_pieces(self, pieces: Sequence[str]) -> list[Element]:
        first, *others = pieces
        out = []
        for start in self.occurrences(first):
            spans = [start]
            for piece in others:
                behind = next(self.occurrences(piece, spans[-1][1]), None)
                if behind is None or behind[0] - spans[-1][1] > _FAR:
                    break
                spans.append(behind)
            if len(spans) == 1 + len(others):
                out.append(Element.at(self.text, spans))
        return out


def _triplet(row: Mapping[str, object], text: _FoldedText, kept: Mapping[object, Triplet]) -> Triplet | str:
    """A label as a triplet of the text, or the reason why it is none."""
    aspect, opinion, named = (row.get(name) for name in ("aspect", "opinion", "polarity"))
    if not (isinstance(aspect, str) and isinstance(opinion, str) and isinstance(named, str)):
        return "no aspect, opinion and polarity"
    polarity = POLARITY_WORDS.get(named.strip().lower())
    if polarity is None:
        return "unknown polarity"
    aspects, opinions = text.elements(aspect), text.elements(opinion, joined=True)
    if not aspects:
        return "aspect not in the text"
    if not opinions:
        return "opinion not in the text"
    pairs = [
        (_distance(a, o), o.start, a.start, Triplet(a, a, o, o, polarity, VALENCES[polarity], source="human"))
        for a in aspects
        for o in opinions
        if not any(s < e2 and s2 < e for s, e in a.spans for s2, e2 in o.spans)
    ]
    if not pairs:
        return "aspect and opinion overlap"
    nearest = [triplet for *_, triplet in sorted(pairs, key=lambda pair: pair[:3])]
    taken = {triplet.opinion.spans for triplet in kept.values()}
    same = {(triplet.aspect.text, triplet.opinion.text, triplet.polarity) for triplet in kept.values()}
    again = (nearest[0].aspect.text, nearest[0].opinion.text, polarity) in same
    # said twice in the same words, it is meant of the next place
    chosen = next((t for t in nearest if not again or t.opinion.spans not in taken), nearest[0])
    return replace(
        chosen,
        aspect_full=text.around(row.get("aspect_full"), chosen.aspect),
        opinion_full=text.around(row.get("opinion_full"), chosen.opinion),
    )


def _distance(aspect: Element, opinion: Element) -> int:
    """Characters between the two; an opinion before its aspect counts double, as it is rare."""
    return opinion.start - aspect.end if opinion.start >= aspect.end else 2 * (aspect.start - opinion.end)
