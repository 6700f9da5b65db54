"""What methods, constraints and measures speak of: a labelled sentence, and a candidate as edits of it.

A candidate is not a text but what changed, as half-open code point ranges of its source: labels are then re-derived by arithmetic
(`moved`), never by searching, and every row of a child release can say what was done to it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from builder.records import Polarity, Span

Kind = Literal["aspect", "opinion"]


@dataclass(frozen=True, slots=True)
class Mark:
    """A labelled span. `polarity` is None where the task has none, as in aspect term extraction."""

    start: int
    end: int
    kind: Kind = "aspect"
    polarity: Polarity | None = None


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence of the train split. `words` are the code point ranges of its words, in order (between them at most white space).

    `marks` are what a method must keep: ordered, disjoint. `label` is the class of the whole sentence, where the task has one.
    """

    id: str
    text: str
    words: tuple[Span, ...]
    marks: tuple[Mark, ...] = ()
    label: str | None = None
    language: Literal["zh", "en"] = "zh"


@dataclass(frozen=True, slots=True)
class Edit:
    """`text` in place of `source.text[start:end]`; start == end inserts."""

    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class Changed:
    """What a method made of a mark on purpose, [start, end) in the source: its new words, polarity and valence (1 to 10). Every triplet of that mark
    changes with it; the new mark stands where the edits put it (its words are those of an edit of just this range, or the old ones)."""

    start: int
    end: int
    text: str
    polarity: Polarity
    valence: float


@dataclass(frozen=True, slots=True)
class Candidate:
    """`edits` are ordered and do not overlap. `score` is the method's own (log-probability, or None); `label` the sentence's new one, `changed` the
    marks that are no longer what they were, where the method changes them."""

    source: str
    edits: tuple[Edit, ...]
    score: float | None = None
    label: str | None = None
    changed: tuple[Changed, ...] = ()


class Method(Protocol):
    """A transformation. It knows nothing of constraints: what it proposes is judged elsewhere."""

    @property
    def name(self) -> str:
        """As on the command line."""

    @property
    def signature(self) -> str:
        """What its output depends on: method, settings, model digests."""

    def propose(self, sentences: Sequence[Sentence], copies: int, seed: int) -> Iterator[tuple[Candidate, ...]]:
        """Per sentence, in order, up to `copies` candidates; none where it does not apply.

        What is chosen for a sentence depends on `seed` and the sentence alone, never on its neighbours.
        """


def applied(text: str, edits: Sequence[Edit]) -> str:
    """The text after the edits."""
    out, at = [], 0
    for edit in edits:
        out += [text[at : edit.start], edit.text]
        at = edit.end
    return "".join([*out, text[at:]])


def moved(span: Span, edits: Sequence[Edit]) -> Span | None:
    """Where a span of the source stands after the edits, or None where one of them touches its inside."""
    shift = 0
    for edit in edits:
        if edit.end <= span[0]:
            shift += len(edit.text) - (edit.end - edit.start)
        elif edit.start < span[1]:
            return None
    return span[0] + shift, span[1] + shift
