"""What may change in a review so that it still reads as one: the edits of `eda.natural`, and opposite labels.

Wei and Zou's insertion, swap and deletion were made for classifiers of English. Of 19 Chinese rows that read badly, all
were theirs (吃得很飽, 飽得很吃). No language model over the whole sentence noticed. Here few words move, and their
neighbours decide:

- An adverb, a phrase that opens a clause or a particle that ends one is put in or taken out. Every three characters
  that then stand together must stand so in a training text.
- A synonym must stand in a training text with what is before it or behind it.
- Two words change places where they are listed (豆腐、蘑菇).

In: training texts; a sentence with its words. Out: the edits that each operation may choose from.

Labels and their opposites are those of sentences and of aspects, with the opinions that training sentences have for
either.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from builder.augment.characters import replacing
from builder.augment.constraints import read_words
from builder.augment.records import Edit, Mark, Sentence
from builder.augment.training import UNSAID, Conditions
from builder.core.records import Polarity, Span
from builder.reviews.folding import fold
from builder.reviews.script import converter

if TYPE_CHECKING:
    from builder.learning.pieces import Inventory

# ---- Usage of words

WORDS = {kind: tuple(words) for kind, words in read_words("chinese.txt")}
JOINTS = frozenset(WORDS["joint"])
_REACH, _NEAR, _SHOWN = 3, 4, 8
"""Characters that are looked up at once; in how many to both sides a word is not repeated; code points of which so
many are left when folded.
"""
MOST_TEXTS = 20_000
Change = tuple[Edit, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Usage:
    """`grams`: three characters in a row of folded texts; `openers`, `adverbs`, `closers`: a word folded, and as each
    script writes it; `leaving`: folded words that may go.
    """

    grams: frozenset[str]
    openers: tuple[tuple[str, str, str], ...]
    adverbs: tuple[tuple[str, str, str], ...]
    closers: tuple[tuple[str, str, str], ...]
    leaving: frozenset[str]

    def changes(
        self, sentence: Sentence, words: Sequence[int], places: Sequence[int], simplified: bool
    ) -> dict[str, list[Change]]:
        """By operation; `words` may change, at `places` and at the end something may be put in."""
        return {
            "insertion": list(self._insertions(sentence.text, places, simplified)),
            "deletion": list(self._deletions(sentence, words)),
            "swap": list(swaps(sentence, words)),
        }

    def _insertions(self, text: str, places: Sequence[int], simplified: bool) -> Iterator[Change]:
        for at in (*places, len(text)):
            opens, closes = not text[max(0, at - 1) : at].isalnum(), not text[at : at + 1].isalnum()
            known = {(True, False): self.openers, (False, True): self.closers, (False, False): self.adverbs}.get(
                (opens, closes), ()
            )
            left, right = _sides(text, at, at)
            near = left[-_NEAR:] + "\n" + right[:_NEAR]
            left, right = left[1 - _REACH :], right[: _REACH - 1]
            for folded, *written in known:
                around = left + folded + right
                if around[:_REACH] in self.grams and folded not in near and self._read(around):
                    yield (Edit(at, at, written[simplified]),)

    def _deletions(self, sentence: Sentence, words: Sequence[int]) -> Iterator[Change]:
        for i in words:
            start, end = sentence.words[i]
            left, right = _sides(sentence.text, start, end)
            if fold(sentence.text[start:end]) in self.leaving and self._read(left[1 - _REACH :] + right[: _REACH - 1]):
                yield (Edit(start, end, ""),)

    def beside(self, text: str, span: Span, words: Sequence[str]) -> list[str]:
        """Of the words that may stand in a span those that were read beside what stands before it, or behind."""
        left, right = _sides(text, *span)
        out = []
        for word in words:
            folded = fold(word)
            near = max(1, _REACH - len(folded))
            if self._read(left[-near:] + folded) or self._read(folded + right[:near]):
                out.append(word)
        return out

    def _read(self, text: str) -> bool:
        """Whether every three characters of a text, of three or more, were read somewhere."""
        return len(text) >= _REACH and all(text[i : i + _REACH] in self.grams for i in range(len(text) - _REACH + 1))


def _sides(text: str, start: int, end: int) -> tuple[str, str]:
    """What stands before and behind, folded; a text begins and ends with a line break."""
    before, behind = fold(text[max(0, start - _SHOWN) : start]), fold(text[end : end + _SHOWN])
    return before if start > _SHOWN else "\n" + before, behind if end + _SHOWN < len(text) else behind + "\n"


def apart(text: str, first: Change, second: Change) -> bool:
    """Whether so much stands between two changes that no three characters in a row hold of both: each was looked up
    alone.
    """
    left, right = sorted((first, second), key=lambda change: change[0].start)
    return len(fold(text[left[-1].end : right[0].start])) >= _REACH


def swaps(sentence: Sentence, words: Sequence[int]) -> Iterator[Change]:
    """Two words of two characters or more with one mark or word between them that joins like to like."""
    surface = [sentence.text[start:end] for start, end in sentence.words]
    able = frozenset(i for i in words if len(surface[i]) > 1)
    for i in sorted(able):
        if i + 2 in able and surface[i + 1] in JOINTS and surface[i] != surface[i + 2]:
            yield replacing(sentence, [(i, surface[i + 2]), (i + 2, surface[i])])


def of(texts: Iterable[str]) -> Usage:
    """What stands so in training texts: their character n-grams, with which edits of a sentence are compared.

    Args:
        texts: the training texts; MOST_TEXTS of them are enough.
    """
    grams: set[str] = set()
    for text in texts:
        shown = f"\n{fold(text)}\n"
        grams.update(shown[i : i + _REACH] for i in range(len(shown) - _REACH + 1))
    simplify = converter("t2s")
    openers, adverbs, closers = (
        tuple((fold(word), word, simplify(word)) for word in WORDS[kind]) for kind in ("opener", "adverb", "closer")
    )
    leaving = frozenset(fold(word) for kind, words in WORDS.items() if kind != "joint" for word in words)
    return Usage(frozenset(grams), openers, adverbs, closers, leaving)


# ---- Labels and their opposites

OPPOSITE: Mapping[str | None, Polarity] = {"POS": "NEG", "NEG": "POS"}


@dataclass(frozen=True, slots=True)
class Opinion:
    """An opinion of the training sentences as tokens. `heads`: of the aspects that it is said of (see `head`)."""

    text: str
    ids: tuple[int, ...]
    polarity: Polarity
    heads: frozenset[str] = frozenset()


def label_of(sentence: Sentence, marks: Sequence[Mark], conditions: Conditions) -> str | None:
    """What a classifier learns: the sentence's label, or the one polarity of its aspects; None where there is no such
    thing.
    """
    if conditions.mode == "sentence":
        return sentence.label
    polarities = {mark.polarity for mark in marks if mark.kind == "aspect"}
    return next(iter(polarities)) if len(polarities) == 1 else None


def opposites(conditions: Conditions, pairs: Sequence[tuple[str, str]]) -> dict[str, str]:
    """The opposite of each label that has one."""
    if pairs:
        return {label: other for a, b in pairs for label, other in ((a, b), (b, a))}
    if conditions.mode == "polarity":
        return {str(label): other for label, other in OPPOSITE.items()}
    names = [name for name in conditions.names if name != UNSAID]
    return {name: other for name, other in zip(names, reversed(names), strict=True) if name != other}


def turned(sentence: Sentence, opinion: Mark) -> Sentence:
    """The sentence with the opposite polarity at the aspect nearest to an opinion."""
    nearest = _nearest(sentence, opinion)
    turned = tuple(
        Mark(mark.start, mark.end, mark.kind, OPPOSITE[opinion.polarity]) if mark in (nearest, opinion) else mark
        for mark in sentence.marks
    )
    return Sentence(sentence.id, sentence.text, sentence.words, turned, sentence.label, sentence.language)


def _nearest(sentence: Sentence, opinion: Mark) -> Mark | None:
    aspects = [mark for mark in sentence.marks if mark.kind == "aspect"]
    return min(
        aspects, key=lambda mark: (max(0, opinion.start - mark.end, mark.start - opinion.end), mark.start), default=None
    )


def head(sentence: Sentence, opinion: Mark) -> str:
    """What the aspect nearest to an opinion is, roughly: its last word, in Chinese its last character (湯 of
    虱目魚湯); "" without one.
    """
    mark = _nearest(sentence, opinion)
    text = sentence.text[mark.start : mark.end].lower() if mark else ""
    return (text.split()[-1:] or [""])[0] if sentence.language == "en" else text[-1:]


def middle(polarity: Polarity) -> float:
    """The valence of an opinion of which only the polarity is known."""
    from builder.learning.task import VALENCE

    return VALENCE[polarity]


def opinions_of(sentences: Sequence[Sentence], inventory: Inventory) -> tuple[Opinion, ...]:
    """The opinions of the training sentences whose tokens are all known, each with the polarity it has most often; by
    text.
    """
    counts: dict[tuple[str, tuple[int, ...]], dict[Polarity, int]] = {}
    heads: dict[str, set[str]] = {}
    for sentence in sentences:
        marks = [mark for mark in sentence.marks if mark.kind == "opinion" and mark.polarity in OPPOSITE]
        cut = inventory.cut(sentence.text, sentence.words) if marks else None
        for mark in marks:
            assert cut is not None and mark.polarity is not None
            tokens = [at for at, (start, end) in enumerate(cut.spans) if mark.start <= start and end <= mark.end]
            ids = tuple(cut.ids[at] for at in tokens)
            whole = tokens and cut.spans[tokens[0]][0] == mark.start and cut.spans[tokens[-1]][1] == mark.end
            if whole and len(ids) <= 8 and not {*inventory.never} & {*ids}:
                by_polarity = counts.setdefault((sentence.text[mark.start : mark.end], ids), {})
                by_polarity[mark.polarity] = by_polarity.get(mark.polarity, 0) + 1
                heads.setdefault(sentence.text[mark.start : mark.end], set()).add(head(sentence, mark))
    best = {
        text: Opinion(text, ids, max(sorted(count), key=lambda name: count[name]), frozenset(heads[text] - {""}))
        for (text, ids), count in counts.items()
    }
    return tuple(best[text] for text in sorted(best))
