"""The labels that a replacement must fit: one of each token of a sentence, from the sentence's own label or from its
marks.

`sentence`: every token has the sentence's label (Wu et al. 2019). `polarity`: a token has the polarity of the nearest
aspect, so that a sentence of two minds keeps both. `bio`: the label sequence of aspect term extraction (Li et al.
2020, appendix A). `none`: no label at all.

Labels of tokens: what a sentence's marks say about each of the tokens that a model cuts it into.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from builder.augment.records import Mark, Sentence
from builder.core.errors import ConfigError, InputError
from builder.core.records import POLARITIES, Span

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


MODES = ("auto", "sentence", "polarity", "bio", "none")
UNSAID = "none"


@dataclass(frozen=True, slots=True)
class Conditions:
    """The mode and the names of its labels, whose places are the labels' numbers."""

    mode: str
    names: tuple[str, ...]

    @classmethod
    def of(cls, mode: str, sentences: Sequence[Sentence]) -> Conditions:
        """`auto` takes sentence labels where there are any, else polarities of marks, else B, I and O. ConfigError
        for an unknown mode.
        """
        if mode not in MODES:
            raise ConfigError(f"unknown labels {mode!r}", fix=f"known: {', '.join(MODES)}")
        if mode == "auto":
            labelled, polarised = (
                any(sentence.label for sentence in sentences),
                any(mark.polarity for sentence in sentences for mark in sentence.marks),
            )
            mode = "sentence" if labelled else "polarity" if polarised else "bio"
        names = {
            "sentence": (UNSAID, *sorted({sentence.label for sentence in sentences if sentence.label})),
            "polarity": (UNSAID, *POLARITIES),
            "bio": LABELS,
            "none": (UNSAID,),
        }
        return cls(mode, names[mode])

    def number(self, name: str | None, sentence: Sentence) -> int:
        if (name or UNSAID) not in self.names:
            raise InputError(
                f"label {name!r} was not among the training sentences'",
                where=f"sentence {sentence.id}",
                fix=f"known: {', '.join(self.names[1:])}",
            )
        return self.names.index(name or UNSAID)

    def labels(self, sentence: Sentence, spans: Sequence[Span]) -> tuple[int, ...]:
        """A label of each token."""
        if self.mode == "bio":
            return bio(spans, kept(sentence, "aspect+opinion"))
        if self.mode == "sentence":
            return (self.number(sentence.label, sentence),) * len(spans)
        aspects = [mark for mark in sentence.marks if mark.kind == "aspect"]
        if self.mode == "none" or not aspects:
            return (0,) * len(spans)
        return tuple(
            self.number(min(aspects, key=lambda mark: (_apart(mark, span), mark.start)).polarity, sentence)
            for span in spans
        )


def _apart(mark: Mark, span: Span) -> int:
    return max(0, span[0] - mark.end, mark.start - span[1])


def free_words(sentence: Sentence, spans: Sequence[Span], marks: Sequence[Mark]) -> tuple[tuple[int, ...], ...]:
    """The tokens of every word that may be replaced: words with a letter or digit that no mark touches, as runs of
    tokens inside them.
    """
    out, at = [], 0
    for start, end in sentence.words:
        while at < len(spans) and spans[at][0] < start:
            at += 1
        tokens = []
        while at < len(spans) and spans[at][0] < end:
            tokens.append(at)
            at += 1
        last = max([end, *(spans[i][1] for i in tokens)])
        touched = any(mark.start < last and start < mark.end for mark in marks)
        if tokens and not touched and last == end and any(char.isalnum() for char in sentence.text[start:end]):
            out.append(tuple(tokens))
    return tuple(out)
