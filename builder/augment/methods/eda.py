"""Easy data augmentation (Wei and Zou 2019, section 2): synonyms, random insertion, swap and deletion, by words, in
Chinese and English.

In: sentences with their words. Out: candidates by the four operations in turn, each of which changes `rate` of the
words (one at least). A labelled span is never touched: no word of it is replaced, moved or deleted, and nothing is
inserted into it. Marks of punctuation stay. In Chinese all four choose from what builder.augment.natural finds;
`eda.natural = false`: as the paper has them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from random import Random

from builder.augment import natural
from builder.augment.characters import amount, distinct, free, inside, replacing, some
from builder.augment.methods import synonym
from builder.augment.records import Edit, Rewrite, Sentence, seeded
from builder.augment.settings import AugmentSettings
from builder.core.errors import ConfigError
from builder.core.files import key_of
from builder.core.records import Span

Synonyms = Callable[[str, bool], Sequence[str]]
"""What may stand for a word, in a text that is in Simplified script or not; none for words of grammar, negators and
cues of polarity, whose synonyms change what is said.
"""


@dataclass(frozen=True, slots=True)
class Ready:
    """A sentence with what its candidates share: the `words` that may change, those that have synonyms, and where a
    word may be inserted; `number` is how many of them an operation changes; `changes`: what an operation may choose
    from, if not from all of these.
    """

    sentence: Sentence
    words: list[int]
    rich: list[tuple[int, Sequence[str]]]
    places: list[int]
    number: int
    rate: float
    changes: Mapping[str, Sequence[natural.Change]]


Operation = Callable[[Ready, Random], tuple[Edit, ...]]


@dataclass(frozen=True, slots=True)
class Eda:
    """The method. `resources` names the thesaurus and the texts of `usage` (None: operations as the paper has them),
    which come from elsewhere.
    """

    rate: float
    operations: tuple[str, ...]
    synonyms: Synonyms
    resources: str
    usage: natural.Usage | None = None
    name: str = "eda"

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
        marks = [(mark.start, mark.end) for mark in sentence.marks]
        low, high = (marks[0][0], marks[-1][1]) if marks else (0, 0)
        places = [at for at, _ in sentence.words if at <= low or high <= at or not inside(marks, at)]
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
    chosen: list[natural.Change] = []
    for change in some(random, changes, min(ready.number, len(changes))):
        if all(natural.apart(ready.sentence.text, change, other) for other in chosen):
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
    runs: list[list[int]] = []
    for i in going:
        if runs and runs[-1][1] == i - 1:
            runs[-1][1] = i
        else:
            runs.append([i, i])
    return tuple(Edit(*_stretch(words, first, last), "") for first, last in runs)


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
    """Eda with the thesaurus of the method `synonym`. ConfigError for an operation that is not known."""
    own = settings.eda
    names = tuple(own.operations.split("+"))
    if strange := [name for name in names if name not in OPERATIONS]:
        raise ConfigError(
            f"unknown operation {strange[0]!r}",
            where="eda.operations",
            fix=f"known, joined by +: {', '.join(OPERATIONS)}",
        )
    thesaurus = synonym.load(settings).thesaurus
    synonyms, signature = lru_cache(1 << 16)(thesaurus.synonyms), thesaurus.signature
    given = settings.given
    if not own.natural or given.language != "zh":
        return Eda(own.rate, names, synonyms, signature)
    texts = (given.texts or tuple(sentence.text for sentence in given.sentences))[: natural.MOST_TEXTS]
    return Eda(own.rate, names, synonyms, f"{signature} {key_of(texts)}", natural.of(texts))
