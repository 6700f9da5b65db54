"""The embedded surrogate: sentence labels or aspect polarity, and perplexity, from one small network that a fold
trains in seconds.

In: sentences with a label, or with marked aspects that have a polarity. Out: a `Surrogate` of
builder.augment.boost.filters. Where a sentence has several aspects, all of their polarities must survive, and the
least sure counts.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from builder.augment.boost.filters import Labels, SurrogateReading, labels
from builder.augment.boost.word_network import UNKNOWN, FoldVocabulary, TwoWay, TwoWayConfig, WordItem, cut, pieces
from builder.augment.method_settings import BoostSettings
from builder.augment.records import Edit, Sentence
from builder.augment.settings import AugmentSettings
from builder.core.files import key_of
from builder.core.progress import ModelBar
from builder.core.records import Span
from builder.learning.checkpoint import Checkpoints, tensor_digest
from builder.learning.encode import batches
from builder.learning.loop import fit, scope
from builder.learning.task import seed_of

READ = 4096
"""Words of a batch that is read: with more, what a layer leaves behind no longer fits into the processor's cache (a
quarter slower).
"""
WHOLE = (-1, -1)


@dataclass(frozen=True, slots=True, eq=False)
class Classes:
    """A trained surrogate; `known` are the labels it tells apart, `facts` say how it was trained, `threads` read."""

    network: TwoWay
    vocabulary: FoldVocabulary
    known: tuple[str, ...]
    config: TwoWayConfig
    facts: dict[str, float] = field(default_factory=dict)
    threads: int = 1

    @property
    def digest(self) -> str:
        description = f"({self.vocabulary.description}, {self.known!r}, {asdict(self.config)!r})"
        return tensor_digest(self.network.state_dict(), description)[:16]

    def read(self, sentences: Sequence[Sentence], edits: Sequence[Sequence[Edit]] = ()) -> list[SurrogateReading]:
        """Label, whether it is the given one, how sure the given one is, and perplexity of each text."""
        items = [make_item(sentence, self.vocabulary, {}) for sentence in sentences]
        chances: list[Tensor] = [torch.empty(0, 1)] * len(items)
        surprise = np.zeros(len(items))
        due = batches([len(item) for item in items], READ)
        self.network.eval()
        with scope(1), ThreadPoolExecutor(self.threads) as pool:
            for chosen, (probabilities, surprises) in zip(
                due, pool.map(lambda chosen: self._read([items[i] for i in chosen]), due), strict=True
            ):
                for i, rows, value in zip(
                    chosen,
                    torch.split(probabilities, [len(items[i].targets) for i in chosen]),
                    surprises.tolist(),
                    strict=True,
                ):
                    chances[i], surprise[i] = rows, value
        return [self._reading(*outcome) for outcome in zip(sentences, chances, surprise.tolist(), strict=True)]

    def _read(self, items: Sequence[WordItem]) -> tuple[Tensor, Tensor]:
        """A batch, by one thread: several threads on one small matrix product mostly wait for each other."""
        torch.set_num_threads(1)
        with torch.inference_mode():
            return self.network.read(items, self.vocabulary.rare)

    def _reading(self, sentence: Sentence, chances: Tensor, surprise: float) -> SurrogateReading:
        wanted = labels(sentence)
        names, sure = read_labels(chances, self.known, wanted)
        return SurrogateReading(" ".join(names), names == wanted, sure, round(math.exp(min(surprise, 50.0)), 4))


def read_labels(chances: Tensor, known: Sequence[str], wanted: Labels) -> tuple[Labels, float]:
    """The likeliest label of each target, and the probability of the given one: of several targets the least, without
    any 1.

    Of the given one, for of a sentence that it is wrong about a surrogate would be the surer the more its candidate
    resembles another class.
    """
    rows = chances.tolist()
    given = [row[known.index(label)] if label in known else 0.0 for row, label in zip(rows, wanted, strict=True)]
    return tuple(known[row.index(max(row))] for row in rows), round(min(given, default=1.0), 6)


def make_item(sentence: Sentence, vocabulary: FoldVocabulary, classes: dict[str, int]) -> WordItem:
    """The sentence as numbers; classes are 0 where they are not known, which reading does not look at. A text without
    a word is one unknown.
    """
    spans = pieces(sentence.text)
    words = [vocabulary.number(sentence.text[start:end]) for start, end in spans] or [UNKNOWN]
    asked = (
        [WHOLE]
        if sentence.label is not None
        else [_words(spans, mark.start, mark.end) for mark in sentence.marks if mark.kind == "aspect" and mark.polarity]
    )
    wanted = [classes.get(label, 0) for label in labels(sentence)]
    return WordItem(np.array(words, np.int64), np.array(asked, np.int64).reshape(-1, 2), np.array(wanted, np.int64))


def _words(spans: Sequence[Span], start: int, end: int) -> Span:
    """The pieces that a stretch of characters touches; at least one."""
    first = max(0, bisect_right([stop for _, stop in spans], start))
    last = bisect_right([begin for begin, _ in spans], end - 1)
    return min(first, max(0, len(spans) - 1)), max(last, first + 1)


@dataclass(frozen=True, slots=True)
class ClassTrainer:
    """Trains `Classes`, on one thread: two took eight times as long on two busy cores. `epochs` 0: by the size of the
    fold; `threads` read.
    """

    config: TwoWayConfig
    epochs: int = 0
    threads: int = 1
    classes: bool = True

    @property
    def signature(self) -> str:
        return f"classes {self.config} {self.epochs} torch {torch.__version__}"

    def fit(self, train: Sequence[Sentence], valid: Sequence[Sentence], seed: int, folder: Path) -> Classes:
        """The epoch that tells most of `valid` right wins, the last of equals; without `valid` the last."""
        known = tuple(sorted({label for sentence in train for label in labels(sentence)}))
        vocabulary = FoldVocabulary.of((cut(sentence.text) for sentence in train), self.config.least, self.config.most)
        classes = {label: i for i, label in enumerate(known)}
        items = [make_item(sentence, vocabulary, classes) for sentence in train]
        config = sized(self.config, sum(map(len, items)), self.epochs)
        with scope(config.threads, seed_of(seed, "two ways")):
            network = TwoWay(len(vocabulary), len(known), config)
        made = Classes(network, vocabulary, known, config, threads=self.threads)

        def right() -> float:
            readings = made.read(valid)
            return sum(reading.right for reading in readings) / max(1, len(readings))

        unique = key_of(config, seed, list(train), list(valid), torch.__version__)
        lengths = [len(item) for item in items]
        with closing(ModelBar("surrogate", " words")) as progress:
            course = (network, lengths, lambda chosen: network.loss([items[i] for i in chosen]), right, config, seed)
            fitted = fit(*course, Checkpoints(folder, unique), progress)
        return replace(made, facts={"valid_accuracy": fitted.score, "epoch": fitted.epoch, "examples": len(train)})


def sized(config: TwoWayConfig, words: int, epochs: int) -> TwoWayConfig:
    """Passes over 300,000 words in all, 4 at least and 20 at most; steps of a hundredth of a pass, if that is not too
    small.
    """
    passes = epochs or max(4, min(20, -(-300_000 // max(1, words))))
    return replace(config, epochs=passes, batch_chars=max(256, min(config.batch_chars, words // 60)))


def trainer(settings: AugmentSettings, own: BoostSettings, name: str = "boostaug") -> ClassTrainer:
    """As builder.augment.methods.boostaug asks for it; `name` of the method is for errors."""
    plain = TwoWayConfig()
    return ClassTrainer(replace(plain, rate=own.rate or plain.rate), own.epochs, settings.threads)
