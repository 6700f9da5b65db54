"""Constraints that a candidate must keep to, and the cues they rest on. Pure.

Cues are words that decide a label without being one: opinion words, negators, degree words, words of contrast, possible
aspects. They come from the lexicons, or from english.txt and chinese.txt beside this file (a kind, a colon, its words a
line). Source and candidate are read the same way, so that only what differs between them counts.

Each constraint is a predicate of a `Trial`, a candidate beside its source; its name is the reason code of what it
rejects. `builder.augment.run` asks what depends on other sentences. Those of `LABEL_SAFE` can be switched off; without
the others a candidate is no labelled sentence.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Literal, NamedTuple

from builder.augment.candidates import Mark, Rewrite, Sentence, applied, moved, replaced
from builder.core.records import Span, polarity_of
from builder.language.lexicon.resources import AGAINST, Lexicon
from builder.reviews.repair import fold
from builder.reviews.text import clauses

# ---- Cues


def read_words(name: str) -> list[tuple[str, list[str]]]:
    """(kind, words) of each line of a file of this folder."""
    text = Path(__file__).with_name(name).read_text("utf-8")
    parts = (line.partition(": ") for line in text.splitlines() if not line.startswith("#"))
    return [(kind, words.split()) for kind, _, words in parts]


@cache
def english_words() -> Mapping[str, frozenset[str]]:
    """Kind -> words: not (negators), good, bad, high, low, over (degree), contrast, aspect, kept (grammar)."""
    by_kind: dict[str, set[str]] = {}
    for kind, words in read_words("english.txt"):
        by_kind.setdefault(kind, set()).update(words)
    return {kind: frozenset(words) for kind, words in by_kind.items()}


Sort = Literal["opinion", "negator", "degree", "contrast", "aspect", "other"]


class Cue(NamedTuple):
    """A cue, and what of it must stay: an opinion's polarity, a degree word's kind, an aspect's word."""

    sort: Sort
    value: str


@dataclass(frozen=True, slots=True)
class Cues:
    """Cues by folded word; `lengths` of words by first character. `spaced`: words stand between spaces."""

    table: Mapping[str, Cue]
    lengths: Mapping[str, tuple[int, ...]]
    spaced: bool

    def count(self, text: str) -> Counter[Cue]:
        """How often each cue stands in a text."""
        if self.spaced:
            return Counter(cue for word in fold(text).split() if (cue := self.table.get(word)))
        return Counter(self._read(fold(text)))

    def _read(self, shown: str) -> Iterator[Cue]:
        """The cues of a folded text; a word that is only known as another one (特別) is passed over."""
        at = 0
        while at < len(shown):
            words = (shown[at : at + length] for length in self.lengths.get(shown[at], ()))
            word = next((word for word in words if word in self.table), shown[at])
            cue = self.table.get(word)
            if cue and cue.sort != "other":
                yield cue
            at += len(word)


def chinese(lexicon: Lexicon) -> Cues:
    """The cues of the lexicons; of a word in several tables the first counts."""
    table: dict[str, Cue] = {}
    for word, entry in lexicon.opinions.items():
        neutral = entry.category.startswith("context")
        table.setdefault(fold(word), Cue("opinion", "context" if neutral else polarity_of(entry.valence)))
    for word, kind in lexicon.contrast.items():
        if kind in AGAINST:
            table.setdefault(fold(word), Cue("contrast", ""))
    for word in lexicon.negators:
        table.setdefault(fold(word), Cue("negator", fold(word)))
    for word, kind in lexicon.degree.items():
        table.setdefault(fold(word), Cue("degree", kind))
    for word in lexicon.aspects:
        table.setdefault(fold(word), Cue("aspect", fold(word)))
    for word in (*lexicon.general, *lexicon.not_aspects, *lexicon.irrealis):
        table.setdefault(fold(word), Cue("other", ""))
    return _cues(table, spaced=False)


def english_cues() -> Cues:
    """The cues of review English: short lists, so that a word they do not hold is no cue."""
    words = english_words()
    table: dict[str, Cue] = {word: Cue("negator", word) for word in words["not"]} | {
        word: Cue("contrast", "") for word in words["contrast"]
    }
    single = {"good": Cue("opinion", "POS"), "bad": Cue("opinion", "NEG")} | {
        kind: Cue("degree", kind) for kind in ("high", "low", "over")
    }
    for kind, cue in single.items():
        table |= {word: cue for word in words[kind] if word not in table}
    return _cues(table | {word: Cue("aspect", word) for word in words["aspect"] if word not in table}, spaced=True)


def _cues(table: Mapping[str, Cue], spaced: bool) -> Cues:
    lengths: dict[str, set[int]] = {}
    for word in filter(None, table):
        lengths.setdefault(word[0], set()).add(len(word))
    return Cues(table, {first: tuple(sorted(sizes, reverse=True)) for first, sizes in lengths.items()}, spaced)


# ---- Constraints

_WORD = re.compile(r"[^\W_]+")
SHORTEST, LONGEST = 0.5, 2.0
"""Of the source's length, in code points."""


@dataclass(frozen=True, slots=True)
class Trial:
    """A candidate with its text and the place of every mark in it, see `place_marks`."""

    source: Sentence
    candidate: Rewrite
    cues: Cues
    text: str
    marks: tuple[Mark | None, ...]

    @property
    def relabelled(self) -> bool:
        """Whether the method says what the labels are afterwards: then it means to change what decides them."""
        return bool(self.candidate.changed) or self.candidate.label is not None

    @property
    def judged(self) -> bool:
        """Whether a polarity hangs on the text that the method did not mean to change: else no cue matters."""
        source = self.source
        return not self.relabelled and (source.label is not None or any(mark.polarity for mark in source.marks))


def make_trial(source: Sentence, candidate: Rewrite, cues: Cues) -> Trial:
    """Apply a candidate."""
    return Trial(source, candidate, cues, applied(source.text, candidate.edits), place_marks(source.marks, candidate))


def place_marks(marks: Sequence[Mark], candidate: Rewrite) -> tuple[Mark | None, ...]:
    """Each mark after a candidate, by arithmetic; None where an edit touches one that is not relabelled."""
    changed = {(change.start, change.end): change for change in candidate.changed}
    out: list[Mark | None] = []
    for mark in marks:
        span = mark.start, mark.end
        change = changed.get(span)
        place = replaced(span, candidate.edits) if change else moved(span, candidate.edits)
        out.append(Mark(*place, mark.kind, change.polarity if change else mark.polarity) if place else None)
    return tuple(out)


def bad_edits(trial: Trial) -> bool:
    """Edits out of order, over each other, or outside the source."""
    ends = [0, *(edge for edit in trial.candidate.edits for edge in (edit.start, edit.end)), len(trial.source.text)]
    return (
        trial.candidate.source != trial.source.id or not trial.candidate.edits or any(a > b for a, b in pairwise(ends))
    )


def unchanged(trial: Trial) -> bool:
    """Nothing but spaces and letter case differs from the source, and no word of English is another one by a space."""
    return "".join(trial.text.lower().split()) == "".join(trial.source.text.lower().split()) and not respaced(trial)


def respaced(trial: Trial) -> bool:
    """English: other words than the source's by spaces at least, as where one was split in two."""
    return trial.source.language == "en" and spelt(trial.text) != spelt(trial.source.text)


def spelt(text: str) -> list[str]:
    """The words of a text in lower case."""
    return _WORD.findall(text.lower())


def label_touched(trial: Trial) -> bool:
    """A labelled span is edited, or there is not one for each of the source's in the same order."""
    marks = [mark for mark in trial.marks if mark is not None]
    if len(marks) < len(trial.source.marks) or len(trial.marks) != len(trial.source.marks):
        return True
    kinds = all(a.kind == b.kind for a, b in zip(marks, trial.source.marks, strict=True))
    return not kinds or any(a.end > b.start for a, b in pairwise(marks))


def offsets_wrong(trial: Trial) -> bool:
    """A label's new place does not hold its words, or what the method says it made of them."""
    changed = {(change.start, change.end): change for change in trial.candidate.changed}
    for mark, before in zip(trial.marks, trial.source.marks, strict=True):
        change = changed.pop((before.start, before.end), None)
        due = change.text if change else trial.source.text[before.start : before.end]
        if mark is None or not due or trial.text[mark.start : mark.end] != due:
            return True
    return bool(changed)


def label_joined(trial: Trial) -> bool:
    """English: a label no longer stands between spaces where it did, so that it is part of another word."""
    if trial.source.language != "en":
        return False
    return any(
        _open(trial.source.text, (before.start, before.end)) and not _open(trial.text, (mark.start, mark.end))
        for mark, before in zip(trial.marks, trial.source.marks, strict=True)
        if mark is not None
    )


def _open(text: str, span: Span) -> bool:
    return text[max(0, span[0] - 1) : span[0]].strip() == "" and text[span[1] : span[1] + 1].strip() == ""


def negator_changed(trial: Trial) -> bool:
    """A negator came or went in a clause with a label, or anywhere where the whole sentence has a label."""
    return trial.judged and _near(trial, "negator") != (Counter(), Counter())


def degree_changed(trial: Trial) -> bool:
    """A degree word of another kind (too, hardly) near a label: 鹹 is neutral, 太鹹 is not."""
    return trial.judged and _near(trial, "degree") != (Counter(), Counter())


def opinion_added(trial: Trial) -> bool:
    """An opinion word that the source lacks, or of another polarity: nobody labelled it."""
    return trial.judged and bool(_changed(trial, "opinion", trial.source.text, trial.text)[0])


def opinion_lost(trial: Trial) -> bool:
    """Where no opinion is labelled, the words that carry the polarity are the label's ground."""
    if not trial.judged or any(mark.kind == "opinion" for mark in trial.source.marks):
        return False
    return bool(_near(trial, "opinion")[1])


def contrast_added(trial: Trial) -> bool:
    """A but that the source lacks, beside labels: it sets them against each other. Small models write it gladly."""
    return bool(trial.source.marks) and bool(_changed(trial, "contrast", trial.source.text, trial.text)[0])


def aspect_invented(trial: Trial) -> bool:
    """An aspect of the lexicons that the source does not have so often: nobody labelled it."""
    return bool(trial.source.marks) and bool(_changed(trial, "aspect", trial.source.text, trial.text)[0])


def too_short(trial: Trial) -> bool:
    """Whether a candidate is much shorter than its source."""
    return len(trial.text) < SHORTEST * len(trial.source.text)


def too_long(trial: Trial) -> bool:
    """Whether a candidate is much longer than its source."""
    return len(trial.text) > LONGEST * len(trial.source.text)


def line_broken(trial: Trial) -> bool:
    """A line break or tab that the source does not have: no format of lines could hold it."""
    return any(trial.text.count(mark) > trial.source.text.count(mark) for mark in "\n\r\t")


CONSTRAINTS: dict[str, Callable[[Trial], bool]] = {
    breaks.__name__.replace("_", "-"): breaks
    for breaks in (
        bad_edits, unchanged, label_touched, offsets_wrong, label_joined, negator_changed, degree_changed,
        opinion_added, opinion_lost, contrast_added, aspect_invented, too_short, too_long, line_broken,
    )
}  # fmt: skip
"""In the order in which they are asked; the first that is broken gives the reason."""
LABEL_SAFE = frozenset(CONSTRAINTS) - {
    "bad-edits", "unchanged", "label-touched", "offsets-wrong", "label-joined", "line-broken",
}  # fmt: skip
"""Those that ask whether the labels are still true, or the text still reads as one: no paper has them."""


def broken(trial: Trial, label_safe: bool = True) -> str | None:
    """The reason code of the first constraint that a candidate breaks, or None."""
    asked = (reason for reason in CONSTRAINTS if label_safe or reason not in LABEL_SAFE)
    return next((reason for reason in asked if CONSTRAINTS[reason](trial)), None)


def _changed(trial: Trial, sort: Sort, before: str, after: str) -> tuple[Counter[Cue], Counter[Cue]]:
    """(cues of a sort that came, cues that went)."""
    old, new = (
        Counter({cue: n for cue, n in trial.cues.count(text).items() if cue.sort == sort}) for text in (before, after)
    )
    return new - old, old - new


def _near(trial: Trial, sort: Sort) -> tuple[Counter[Cue], Counter[Cue]]:
    """The same in what counts for the labels: the clauses that hold one, or all where the sentence has a label."""
    if trial.source.label is not None:
        return _changed(trial, sort, trial.source.text, trial.text)
    after = [mark for mark in trial.marks if mark is not None]
    return _changed(trial, sort, _beside(trial.source.text, trial.source.marks), _beside(trial.text, after))


def _beside(text: str, marks: Sequence[Mark]) -> str:
    """The clauses of a text that hold a mark."""
    parts = (part for part in clauses(text) if any(mark.start < part.end and part.start < mark.end for mark in marks))
    return "\n".join(text[part.start : part.end] for part in parts)
