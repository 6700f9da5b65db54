"""Labels of tokens: what a sentence's marks say about each of the tokens that a model cuts it into.

A token that a mark touches has the mark's label, also where it reaches beyond it: it is then kept whole, so that the
mark is.
"""

from __future__ import annotations

from collections.abc import Sequence

from builder.augment.records import Mark, Sentence
from builder.core.errors import InputError
from builder.core.records import Span

LABELS = ("O", "B-aspect", "I-aspect", "B-opinion", "I-opinion")
KINDS = {"aspect": ("aspect",), "aspect+opinion": ("aspect", "opinion")}


def kept(sentence: Sentence, keep: str) -> tuple[Mark, ...]:
    """The marks that `keep` names. Raises InputError where two of them overlap or one lies outside the text."""
    marks = tuple(mark for mark in sentence.marks if mark.kind in KINDS[keep])
    at = 0
    for mark in marks:
        if not at <= mark.start < mark.end <= len(sentence.text):
            raise InputError(
                f"labels overlap, are out of order or outside the text at [{mark.start}, {mark.end})",
                where=f"sentence {sentence.id}",
            )
        at = mark.end
    return marks


def bio(spans: Sequence[Span], marks: Sequence[Mark]) -> tuple[int, ...]:
    """Indices into LABELS, one a token: 0 for O, B where a mark's first token is, I behind it."""
    out, at = [], 0
    begun = -1
    for start, end in spans:
        while at < len(marks) and marks[at].end <= start:
            at += 1
        if at == len(marks) or marks[at].start >= end:
            out.append(0)
            continue
        first = 1 if marks[at].kind == "aspect" else 3
        out.append(first if begun != at else first + 1)
        begun = at
    return tuple(out)
