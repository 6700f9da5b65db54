"""Easy data augmentation (Wei and Zou 2019, section 2): synonyms, random insertion, swap and deletion, by words, in
Chinese and English.

In: sentences with their words. Out: candidates by the four operations in turn, each of which changes `rate` of the
words (one at least). A labelled span is never touched: no word of it is replaced, moved or deleted, and nothing is
inserted into it. Marks of punctuation stay.

The paper's operations were made for classifiers of English. Of 19 Chinese rows that read badly, all were theirs
(吃得很飽, 飽得很吃), and no language model over the whole sentence noticed. So in Chinese few words move, and their
neighbours decide (`Usage`); `eda.natural = false` has them as the paper does:

- An adverb, a phrase that opens a clause or a particle that ends one is put in or taken out. Every three characters
  that then stand together must stand so in a training text.
- A synonym must stand in a training text with what is before it or behind it.
- Two words change places where they are listed (豆腐、蘑菇).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from random import Random
from typing import ClassVar

from builder.augment.candidates import Edit, Rewrite, Sentence, amount, distinct, free, replacing, seeded, some
from builder.augment.catalogue import AugmentSettings
from builder.augment.constraints import read_words
from builder.augment.methods import synonym
from builder.core.files import key_of
from builder.core.records import Span
from builder.learning.pieces import in_a_row
from builder.reviews.repair import fold
from builder.reviews.script import converter

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
    """`grams`: three characters in a row of folded texts. `coming`: words that may come, folded and as each script
    writes them, by whether they open or close a clause; `leaving`: those that may go.
    """

    grams: frozenset[str]
    coming: Mapping[tuple[bool, bool], tuple[tuple[str, str, str], ...]]
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
            known = self.coming.get((opens, closes), ())
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
    """Whether no three characters in a row hold of both changes, which were looked up alone."""
    left, right = sorted((first, second), key=lambda change: change[0].start)
    return len(fold(text[left[-1].end : right[0].start])) >= _REACH


def swaps(sentence: Sentence, words: Sequence[int]) -> Iterator[Change]:
    """Two words of two characters or more with one mark or word between them that joins like to like."""
    surface = [sentence.text[start:end] for start, end in sentence.words]
    able = frozenset(i for i in words if len(surface[i]) > 1)
    for i in sorted(able):
        if i + 2 in able and surface[i + 1] in JOINTS and surface[i] != surface[i + 2]:
            yield replacing(sentence, [(i, surface[i + 2]), (i + 2, surface[i])])


def usage_of(texts: Iterable[str]) -> Usage:
    """What stands so in training texts: their character n-grams. MOST_TEXTS of them are enough."""
    grams: set[str] = set()
    for text in texts:
        shown = f"\n{fold(text)}\n"
        grams.update(shown[i : i + _REACH] for i in range(len(shown) - _REACH + 1))
    simplify = converter("t2s")
    edges = {"opener": (True, False), "adverb": (False, False), "closer": (False, True)}
    coming = {edge: tuple((fold(word), word, simplify(word)) for word in WORDS[kind]) for kind, edge in edges.items()}
    leaving = frozenset(fold(word) for kind, words in WORDS.items() if kind != "joint" for word in words)
    return Usage(frozenset(grams), coming, leaving)


# ---- The method

Synonyms = Callable[[str, bool], Sequence[str]]
"""What may stand for a word, in a text that is in Simplified script or not; none for words of grammar, negators and
cues of polarity, whose synonyms change what is said.
"""


@dataclass(frozen=True, slots=True)
class Ready:
    """A sentence with what its candidates share; an operation changes `number` of its words."""

    sentence: Sentence
    words: list[int]
    rich: list[tuple[int, Sequence[str]]]
    places: list[int]
    number: int
    rate: float
    changes: Mapping[str, Sequence[Change]]


Operation = Callable[[Ready, Random], tuple[Edit, ...]]


@dataclass(frozen=True, slots=True)
class Eda:
    """The method; `resources` names its thesaurus and texts. Without `usage`: operations as the paper has them."""

    rate: float
    synonyms: Synonyms
    resources: str
    usage: Usage | None = None
    name: str = "eda"
    operations: ClassVar[tuple[str, ...]] = ("synonym", "insertion", "swap", "deletion")

    @property
    def signature(self) -> str:
        return f"eda/{key_of(self.rate, self.operations, self.resources)}"

    def propose(self, sentences: Sequence[Sentence], copies: int, seed: int) -> Iterator[tuple[Rewrite, ...]]:
        """The operations take turns, from a random one on; one that does not apply is left out."""
        for sentence in sentences:
            yield self._rewrite(sentence, copies, seeded(seed, "eda", sentence.id))

    def _rewrite(self, sentence: Sentence, copies: int, random: Random) -> tuple[Rewrite, ...]:
        words = free(sentence)
        if not words:
            return ()
        first, simplified = random.randrange(len(self.operations)), synonym.is_simplified(sentence)
        rich = [(i, synonyms) for i in words if (synonyms := self._known(sentence, i, simplified))]
        places = [at for at, _ in sentence.words if not any(mark.start < at < mark.end for mark in sentence.marks)]
        changes = self.usage.changes(sentence, words, places, simplified) if self.usage else {}
        ready = Ready(sentence, words, rich, places, amount(self.rate, len(words)), self.rate, changes)
        return distinct(
            sentence, lambda n: made(self.operations[(first + n) % len(self.operations)], ready, random), copies
        )

    def _known(self, sentence: Sentence, word: int, simplified: bool) -> Sequence[str]:
        """What may stand for a word where it stands."""
        synonyms = self.synonyms(_surface(sentence, word), simplified)
        return self.usage.beside(sentence.text, sentence.words[word], synonyms) if self.usage and synonyms else synonyms


def made(operation: str, ready: Ready, random: Random) -> tuple[Edit, ...]:
    """What an operation does this time; () where it does not apply."""
    if operation not in ready.changes:
        return OPERATIONS[operation](ready, random)
    changes = ready.changes[operation]
    chosen: list[Change] = []
    for change in some(random, changes, min(ready.number, len(changes))):
        if all(apart(ready.sentence.text, change, other) for other in chosen):
            chosen.append(change)
    return tuple(sorted((edit for change in chosen for edit in change), key=lambda edit: edit.start))


def replaced(ready: Ready, random: Random) -> tuple[Edit, ...]:
    """SR: words that have synonyms by one each."""
    chosen = some(random, ready.rich, min(ready.number, len(ready.rich)))
    return replacing(ready.sentence, [(i, random.choice(synonyms)) for i, synonyms in chosen])


def inserted(ready: Ready, random: Random) -> tuple[Edit, ...]:
    """RI: a synonym of a random word before a random word, several times; each place once."""
    chosen = some(random, ready.rich, min(ready.number, len(ready.rich), len(ready.places)))
    behind = " " if ready.sentence.language == "en" else ""
    edits = [
        Edit(at, at, random.choice(synonyms) + behind)
        for at, (_, synonyms) in zip(some(random, ready.places, len(chosen)), chosen, strict=True)
    ]
    return tuple(sorted(edits, key=lambda edit: edit.start))


def swapped(ready: Ready, random: Random) -> tuple[Edit, ...]:
    """RS: two random words change places, several times."""
    if len(ready.words) < 2:
        return ()
    now: dict[int, int] = {}
    for _ in range(ready.number):
        first, second = some(random, ready.words, 2)
        now[first], now[second] = now.get(second, second), now.get(first, first)
    moves = [(i, _surface(ready.sentence, source)) for i, source in now.items()]
    return replacing(ready.sentence, [(i, word) for i, word in moves if word != _surface(ready.sentence, i)])


def deleted(ready: Ready, random: Random) -> tuple[Edit, ...]:
    """RD: each word goes with probability `rate`, and the space behind it; at least one goes, at least one stays."""
    going = [i for i in ready.words if random.random() < ready.rate] or [random.choice(ready.words)]
    words = ready.sentence.words
    if len(going) >= len(words):
        return ()
    return tuple(Edit(*_stretch(words, first, last), "") for first, last in in_a_row(going))


def _stretch(words: Sequence[Span], first: int, last: int) -> Span:
    """Words in a row with the space behind them; at the end of the text with the one before."""
    if last + 1 < len(words):
        return words[first][0], words[last + 1][0]
    return words[first - 1][1] if first else words[first][0], words[last][1]


def _surface(sentence: Sentence, word: int) -> str:
    start, end = sentence.words[word]
    return sentence.text[start:end]


OPERATIONS: dict[str, Operation] = {"synonym": replaced, "insertion": inserted, "swap": swapped, "deletion": deleted}


def load(settings: AugmentSettings) -> Eda:
    """Eda with the thesaurus of the method `synonym`."""
    own = settings.eda
    thesaurus = synonym.load(settings).thesaurus
    synonyms, signature = lru_cache(1 << 16)(thesaurus.synonyms), thesaurus.signature
    given = settings.given
    if not own.natural or given.language != "zh":
        return Eda(own.rate, synonyms, signature)
    texts = (given.texts or tuple(sentence.text for sentence in given.sentences))[:MOST_TEXTS]
    return Eda(own.rate, synonyms, f"{signature} {key_of(texts)}", usage_of(texts))
