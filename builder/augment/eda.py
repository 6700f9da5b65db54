"""Easy data augmentation (Wei and Zou 2019, section 2): synonyms, random insertion, swap and deletion, by words, in Chinese and English.

In: sentences with their words. Out: candidates by the four operations in turn, each of which changes `rate` of the words (one at least).
A labelled span is never touched: no word of it is replaced, moved or deleted, and nothing is inserted into it. Marks of punctuation stay.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from random import Random

from builder.augment import synonym
from builder.augment.choice import amount, digest, distinct, free, inside, replacing
from builder.augment.records import Candidate, Edit, Sentence, seeded
from builder.augment.settings import Settings
from builder.errors import ConfigError
from builder.records import Span

Synonyms = Callable[[str], Sequence[str]]
"""What may stand for a word; none for words of grammar, negators and cues of polarity, whose synonyms change what is said."""
Operation = Callable[["Eda", Sentence, list[int], Random], tuple[Edit, ...]]


@dataclass(frozen=True, slots=True)
class Eda:
    """The method. `signature` names the thesaurus as well, which comes from elsewhere."""

    rate: float
    operations: tuple[str, ...]
    synonyms: Synonyms
    resources: str
    name: str = "eda"

    @property
    def signature(self) -> str:
        return f"eda/{digest(self.rate, self.operations, self.resources)}"

    def propose(self, sentences: Sequence[Sentence], copies: int, seed: int) -> Iterator[tuple[Candidate, ...]]:
        """The operations take turns, from a random one on; one that does not apply is left out."""
        operations = [OPERATIONS[name] for name in self.operations]
        for sentence in sentences:
            yield self._one(sentence, operations, copies, seeded(seed, "eda", sentence.id))

    def _one(self, sentence: Sentence, operations: list[Operation], copies: int, random: Random) -> tuple[Candidate, ...]:
        words = free(sentence)
        if not words:
            return ()
        first = random.randrange(len(operations))
        return distinct(sentence, lambda n: operations[(first + n) % len(operations)](self, sentence, words, random), copies)


def replaced(eda: Eda, sentence: Sentence, words: list[int], random: Random) -> tuple[Edit, ...]:
    """SR: words that are no function words by a synonym each."""
    chosen: list[tuple[int, str]] = []
    for i in random.sample(words, len(words)):
        if found := _synonym(eda, sentence, i, random):
            chosen.append((i, found))
            if len(chosen) == amount(eda.rate, len(words)):
                break
    return replacing(sentence, chosen)


def inserted(eda: Eda, sentence: Sentence, words: list[int], random: Random) -> tuple[Edit, ...]:
    """RI: a synonym of a random word before a random word, several times; each place once."""
    marks = [(mark.start, mark.end) for mark in sentence.marks]
    places = [start for start, _ in sentence.words if not inside(marks, start)]
    random.shuffle(places)
    edits = []
    for i in random.sample(words, len(words)):
        if places and (found := _synonym(eda, sentence, i, random)):
            place = places.pop()
            edits.append(Edit(place, place, found + (" " if sentence.language == "en" else "")))
            if len(edits) == amount(eda.rate, len(words)):
                break
    return tuple(sorted(edits, key=lambda edit: edit.start))


def swapped(eda: Eda, sentence: Sentence, words: list[int], random: Random) -> tuple[Edit, ...]:
    """RS: two random words change places, several times."""
    if len(words) < 2:
        return ()
    shown = {i: _surface(sentence, i) for i in words}
    now = dict(shown)
    for _ in range(amount(eda.rate, len(words))):
        one, other = random.sample(words, 2)
        now[one], now[other] = now[other], now[one]
    return replacing(sentence, [(i, word) for i, word in now.items() if word != shown[i]])


def deleted(eda: Eda, sentence: Sentence, words: list[int], random: Random) -> tuple[Edit, ...]:
    """RD: each word goes with probability `rate`, with the space behind it; one at least goes, and one at least stays."""
    going = [i for i in words if random.random() < eda.rate] or [random.choice(words)]
    if len(going) >= len(sentence.words):
        return ()
    runs: list[list[int]] = []
    for i in going:
        if runs and runs[-1][1] == i - 1:
            runs[-1][1] = i
        else:
            runs.append([i, i])
    return tuple(Edit(*_stretch(sentence.words, first, last), "") for first, last in runs)


def _stretch(words: Sequence[Span], first: int, last: int) -> Span:
    """Words in a row with the space behind them; at the end of the text with the one before."""
    if last + 1 < len(words):
        return words[first][0], words[last + 1][0]
    return words[first - 1][1] if first else words[first][0], words[last][1]


def _synonym(eda: Eda, sentence: Sentence, word: int, random: Random) -> str | None:
    found = eda.synonyms(_surface(sentence, word))
    return random.choice(found) if found else None


def _surface(sentence: Sentence, word: int) -> str:
    start, end = sentence.words[word]
    return sentence.text[start:end]


OPERATIONS: dict[str, Operation] = {"synonym": replaced, "insertion": inserted, "swap": swapped, "deletion": deleted}


def load(settings: Settings) -> Eda:
    """Eda with the thesaurus of the method `synonym`. ConfigError for an operation that is not known."""
    own = settings.eda
    names = tuple(own.operations.split("+"))
    if strange := [name for name in names if name not in OPERATIONS]:
        raise ConfigError(f"unknown operation {strange[0]!r}", where="eda.operations", fix=f"known, joined by +: {', '.join(OPERATIONS)}")
    thesaurus = synonym.load(settings).thesaurus
    return Eda(own.rate, names, lru_cache(1 << 16)(thesaurus.synonyms), thesaurus.signature)
