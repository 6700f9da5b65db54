"""A language model's answer about all triplets of a review, read into located triplets. In: the answer as text, and
the review. Out: triplets over the stored text, and every row that is none with its reason.

Models wrap JSON in prose, cut it off or add a comma; what can be read without a guess is read. A word is taken only
where it stands in the review (scripts, widths and letter cases aside).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice

from builder.core.records import Element, Polarity, Span, Triplet
from builder.reviews.folding import fold

VALENCE: dict[Polarity, float] = {"POS": 8.0, "NEG": 3.0, "NEU": 5.0}
MOST_TRIPLETS = 200
"""Triplets of a review that are read; a server that repeats itself is cut off."""
_NAMES: dict[str, Polarity] = {
    "pos": "POS", "positive": "POS", "正面": "POS", "正向": "POS", "neg": "NEG", "negative": "NEG", "負面": "NEG",
    "负面": "NEG", "負向": "NEG", "neu": "NEU", "neutral": "NEU", "中性": "NEU", "中立": "NEU",
}  # fmt: skip
THOUGHT = re.compile(r"<think>.*?(</think>|\Z)", re.S)
"""What a model thinks before it answers, which is no answer, cut off or not."""
_OBJECT = re.compile(r"\{[^{}]*\}", re.S)
_TRAILING = re.compile(r",(\s*[}\]])")
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*+(?:"|\\?\Z)|[\[\]{}]', re.S)
_PIECES = re.compile(r"\.{2,}|…+")
_MOST_BRACKETS = 10_000
"""Opening brackets of an answer at which its list may begin."""
_FAR, _LONGEST = 8, 6
"""Characters at most between two pieces of one word, and of a word that may be two pieces."""


UNREADABLE = "unreadable answer"
"""The reason of an answer without a list of triplets."""


@dataclass(frozen=True, slots=True)
class UnusedTriplet:
    """A row of an answer that is no triplet of the review: its reason, the row as JSON, cut where it is long, and its
    number among the rows.
    """

    reason: str
    raw: str
    number: int = 0


@dataclass(frozen=True, slots=True)
class TripletAnswer:
    """What an answer holds. `readable` False: it has no list of triplets at all."""

    triplets: tuple[Triplet, ...]
    rejected: tuple[UnusedTriplet, ...]
    readable: bool = True


def read_answer(content: str, text: str) -> TripletAnswer:
    """The triplets of an answer over `text`, each once, in the order of the answer."""
    rows = _rows(content)
    if rows is None:
        return TripletAnswer((), (UnusedTriplet(UNREADABLE, content[:10_000]),), readable=False)
    kept: dict[object, Triplet] = {}
    rejected = []
    folded = _FoldedText.of(text)
    for number, row in enumerate(rows[:MOST_TRIPLETS]):
        triplet = _triplet(row, folded, kept)
        if isinstance(triplet, str):
            rejected.append(UnusedTriplet(triplet, _dump(row), number))
        elif triplet.key not in kept:
            kept[triplet.key] = triplet
    beyond = enumerate(rows[MOST_TRIPLETS:], start=MOST_TRIPLETS)
    rejected += [UnusedTriplet("too many triplets", _dump(row), number) for number, row in beyond]
    return TripletAnswer(tuple(kept.values()), tuple(rejected))


def _dump(row: object) -> str:
    return json.dumps(row, ensure_ascii=False)[:1000]


def _rows(content: str) -> list[object] | None:
    """The list of triplets in an answer; None where there is none. A broken list gives its whole objects."""
    text = THOUGHT.sub("", content)
    value = _first_value(text)
    rows = value.get("triplets") if isinstance(value, Mapping) else value
    if isinstance(rows, list) and all(isinstance(row, Mapping | list) for row in rows):
        return rows
    loose = [_value(match[0]) for match in _OBJECT.finditer(text)]
    objects: list[object] = [row for row in loose if isinstance(row, Mapping) and "aspect" in row]
    return objects or None


def _first_value(text: str) -> object:
    """The first JSON object or list in a text, a comma too many forgiven; None where there is none."""
    found = [_decode_first(attempt) for attempt in (text, _TRAILING.sub(r"\1", text))]
    return min(filter(None, found), key=lambda pair: pair[0], default=(0, None))[1]


def _decode_first(text: str) -> tuple[int, object] | None:
    """The number among the opening brackets of the first that begins a JSON value, and this value.

    Where the value of one breaks off, those that are open there break off too, and none of them is read again: else an
    answer of nothing but brackets would take the square of their number.
    """
    broken: set[int] = set()
    starts = (match.start() for match in re.finditer(r"[\[{]", text))
    for number, start in enumerate(islice(starts, _MOST_BRACKETS)):
        if start in broken:
            continue
        try:
            return number, json.JSONDecoder().raw_decode(text, start)[0]
        except json.JSONDecodeError as error:
            broken |= _find_open(text, start, error.pos)
        except (ValueError, RecursionError):  # a number of endless digits, or nested too deeply
            return None
    return None


def _find_open(text: str, start: int, end: int) -> set[int]:
    """The brackets of a JSON text from `start` that are open at `end`."""
    opened: list[int] = []
    for match in _TOKEN.finditer(text, start, end):
        if match[0] in "[{":
            opened.append(match.start())
        elif match[0] in "]}" and opened:
            opened.pop()
    return {start, *opened}


def _value(text: str) -> object:
    """The JSON object of a text, a comma too many forgiven; None where it is none."""
    for attempt in (text, _TRAILING.sub(r"\1", text)):
        with suppress(ValueError, RecursionError):
            value: object = json.loads(attempt)
            return value
    return None


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

    def element(self, spans: tuple[Span, ...]) -> Element:
        return Element("".join(self.text[start:end] for start, end in spans), spans)

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
                out.append(self.element(tuple(spans)))
        return out


def _triplet(row: object, text: _FoldedText, kept: Mapping[object, Triplet]) -> Triplet | str:
    """A row as a triplet of the text, or the reason why it is none."""
    if isinstance(row, list):
        row = dict(zip(("aspect", "opinion", "polarity"), row, strict=False))
    assert isinstance(row, Mapping), row
    aspect, opinion, named = (row.get(name) for name in ("aspect", "opinion", "polarity"))
    if not (isinstance(aspect, str) and isinstance(opinion, str) and isinstance(named, str)):
        return "no aspect, opinion and polarity"
    polarity = _NAMES.get(named.strip().lower())
    if polarity is None:
        return "unknown polarity"
    aspects, opinions = text.elements(aspect), text.elements(opinion, joined=True)
    if not aspects:
        return "aspect not in the text"
    if not opinions:
        return "opinion not in the text"
    pairs = [
        (_distance(a, o), o.start, a.start, Triplet(a, a, o, o, polarity, VALENCE[polarity], source="llm"))
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
    return next((t for t in nearest if not again or t.opinion.spans not in taken), nearest[0])


def _distance(aspect: Element, opinion: Element) -> int:
    """Characters between the two; an opinion before its aspect counts double, as it is rare."""
    return opinion.start - aspect.end if opinion.start >= aspect.end else 2 * (aspect.start - opinion.end)
