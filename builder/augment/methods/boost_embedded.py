"""The embedded surrogate: sentence labels or aspect polarity, and perplexity, from one small network that a fold trains
in seconds.

The network is a language model that never sees the word it predicts, with a head that tells labels. Equation 2
conditions each word on all others; a masked model would read a text of s words s times. Here one reader reads up to
word i - 1, and another from the end down to word i + 1. The word is predicted from the two (as in context2vec, Melamud
et al. 2016), for all i at once. The readers are gated causal convolutions as matrix products: a recurrent one took four
times as long.

Shapes: B texts of T words between begin and end, D units a direction, N targets (a text, or an aspect in it), C
classes.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from builder.augment.candidates import Sentence
from builder.augment.catalogue import AugmentSettings
from builder.augment.method_settings import BoostSettings
from builder.augment.methods.boost_filters import Labels, SurrogateReading, labels
from builder.core.files import key_of
from builder.core.progress import ModelBar
from builder.core.records import Span
from builder.learning.checkpoint import Checkpoints, tensor_digest
from builder.learning.encode import batches
from builder.learning.loop import fit, scope
from builder.learning.pieces import TokenVocabulary
from builder.learning.task import NetworkConfig, seed_of
from builder.reviews.script import HAN

# ---- The network

PAD, BEGIN, END, UNKNOWN = range(4)
SPECIAL = 4
_PIECE = re.compile(rf"{HAN.pattern}|[^\W\d_{HAN.pattern[1:-1]}]+(?:['’]\w+)?|\d+|[^\w\s]|_")


def pieces(text: str) -> list[Span]:
    """Han characters, runs of other letters, numbers, and marks; in order, white space left out."""
    return [match.span() for match in _PIECE.finditer(text)]


def count_words(texts: Iterable[Sequence[str]], least: int, most: int) -> tuple[TokenVocabulary, int]:
    """The known words of a fold, the most frequent first, and how many different words were too seldom seen."""
    counts = Counter(word.lower() for words in texts for word in words)
    known = TokenVocabulary.of_frequent(counts, least, most, SPECIAL)
    return known, max(1, len(counts) - len(known.tokens))


def cut(text: str) -> list[str]:
    """The pieces of a text as strings."""
    return [text[start:end] for start, end in pieces(text)]


REACH = 12.0
"""Words from an aspect at which nothing counts as its surroundings any more (local context focus, linearly falling)."""
CHUNK = 512
"""Words whose logits over the vocabulary are held at once."""


@dataclass(frozen=True, slots=True)
class TwoWayConfig(NetworkConfig):
    """Besides what every network has: words that occur `least` times are known, `most` of them; the share `masked` is
    hidden in training; `language` is the weight of the language model's loss. A layer reaches 2^n words further.
    """

    width: int = 80
    char_size: int = 80
    layers: int = 3
    dropout: float = 0.4
    epochs: int = 10
    threads: int = 1
    batch_chars: int = 1024
    rate: float = 3e-3
    weight_decay: float = 0.02
    least: int = 2
    most: int = 8000
    masked: float = 0.1
    language: float = 0.3


@dataclass(frozen=True, slots=True, eq=False)
class WordItem:
    """A text as word numbers [T], its targets as word ranges [n, 2] (-1, -1: the whole text), and their classes [n]."""

    words: NDArray[np.int64]
    targets: NDArray[np.int64]
    classes: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.words) + 2


@dataclass(frozen=True, slots=True, eq=False)
class WordBatch:
    """Words with begin and end [B, T + 2], mask of real ones [B, T], targets [N, 3] (row, start, end), classes [N]."""

    words: Tensor
    mask: Tensor
    targets: Tensor
    classes: Tensor


def collate(items: Sequence[WordItem]) -> WordBatch:
    """Pad the words of texts into one batch."""
    longest = max(len(item.words) for item in items)
    words = np.full((len(items), longest + 2), PAD, np.int64)
    for row, item in enumerate(items):
        words[row, 0] = BEGIN
        words[row, 1 : len(item.words) + 1] = item.words
        words[row, len(item.words) + 1] = END
    rows = np.repeat(np.arange(len(items)), [len(item.classes) for item in items])
    targets = np.concatenate([rows[:, None], np.concatenate([item.targets for item in items])], 1)
    classes = np.concatenate([item.classes for item in items])
    tensor = torch.from_numpy(words)
    inner = tensor[:, 1:-1]
    return WordBatch(tensor, (inner != PAD) & (inner != END), torch.from_numpy(targets), torch.from_numpy(classes))


class GatedReader(nn.Module):
    """Vectors to states that have seen them and those before: [B, T, E] -> [B, T, D]. Padding stays zero."""

    def __init__(self, config: TwoWayConfig) -> None:
        super().__init__()
        self.enter = nn.Linear(config.char_size, config.width)
        self.norms = nn.ModuleList(nn.LayerNorm(config.width) for _ in range(config.layers))
        self.mixes = nn.ModuleList(nn.Linear(2 * config.width, 2 * config.width) for _ in range(config.layers))
        self.dropout = nn.Dropout(config.dropout / 2)

    def forward(self, vectors: Tensor, mask: Tensor) -> Tensor:
        x = self.enter(vectors) * mask
        for layer, (norm, mix) in enumerate(zip(self.norms, self.mixes, strict=True)):
            normal = norm(x) * mask
            earlier = functional.pad(normal, (0, 0, 1 << layer, 0))[:, : x.shape[1]]
            x = x + self.dropout(functional.glu(mix(torch.cat([normal, earlier], -1)), -1)) * mask
        out: Tensor = x
        return out


class TwoWay(nn.Module):
    """Both directions, the language model's head (tied to the word vectors) and the classifier."""

    def __init__(self, size: int, classes: int, config: TwoWayConfig) -> None:
        super().__init__()
        width, self.masked, self.language = config.width, config.masked, config.language
        self.embed = nn.Embedding(size, config.char_size, padding_idx=PAD)
        self.before, self.after = GatedReader(config), GatedReader(config)
        self.dropout = nn.Dropout(config.dropout)
        self.meet = nn.Sequential(nn.Linear(2 * width, config.char_size), nn.GELU(), nn.LayerNorm(config.char_size))
        self.bias = nn.Parameter(torch.zeros(size))
        self.tell = nn.Sequential(
            nn.Linear(8 * width, 2 * width),
            nn.GELU(),
            nn.Dropout(config.dropout),
            nn.Linear(2 * width, max(1, classes)),
        )
        nn.init.normal_(self.embed.weight, std=0.3)

    def states(self, words: Tensor) -> tuple[Tensor, Tensor]:
        """[B, T + 2, D] forward (having read this word and those before) and backward (this and those behind)."""
        vectors = self.dropout(self.embed(words))
        mask = (words != PAD)[..., None].to(vectors.dtype)
        return self.before(vectors * mask, mask), self.after((vectors * mask).flip(1), mask.flip(1)).flip(1)

    def predicted(self, before: Tensor, after: Tensor) -> Tensor:
        """[B, T, E]: what each word is predicted from; no state that has read it takes part."""
        met: Tensor = self.meet(self.dropout(torch.cat([before[:, :-2], after[:, 2:]], -1)))
        return met

    def likelihood(self, batch: WordBatch, met: Tensor) -> Tensor:
        """log p of each real word, flat, row by row."""
        flat, wanted = met[batch.mask], batch.words[:, 1:-1][batch.mask]
        out = []
        for part, words in zip(torch.split(flat, CHUNK), torch.split(wanted, CHUNK), strict=True):
            logits = torch.addmm(self.bias[SPECIAL - 1 :], part, self.embed.weight[SPECIAL - 1 :].T)
            out.append(logits.gather(1, (words - SPECIAL + 1)[:, None]).squeeze(1) - logits.logsumexp(1))
        return torch.cat(out)

    def class_logits(self, batch: WordBatch, before: Tensor, after: Tensor) -> Tensor:
        """Logits [N, C] of each target: from the text's maximum and mean, its surroundings' and the aspect's mean."""
        hidden = torch.cat([before, after], -1)[:, 1:-1]
        real = batch.mask[..., None].to(hidden.dtype)
        row, start, end = batch.targets.unbind(1)
        at = torch.arange(hidden.shape[1])[None]
        away = torch.maximum(start[:, None] - at, at - end[:, None] + 1).clamp(min=0).to(hidden.dtype)
        aspect, real_row = (start >= 0)[:, None], real[row]
        near = torch.where(aspect, (1 - away / REACH).clamp(min=0), 1.0)[..., None] * real_row
        inside = torch.where(aspect, (away == 0).to(hidden.dtype), 0.0)[..., None] * real_row
        own = hidden[row]
        most = own.masked_fill(real_row == 0, -1e4).amax(1)
        seen = torch.cat([most, _mean(own, real_row), _mean(own, near), _mean(own, inside)], -1)
        logits: Tensor = self.tell(self.dropout(seen))
        return logits

    def loss(self, items: Sequence[WordItem]) -> Tensor:
        """Cross-entropy of the classes and, weighted, of the words; words that are hidden are still to be predicted."""
        batch = collate(items)
        hidden = (torch.rand(batch.words.shape) < self.masked) & (batch.words >= SPECIAL)
        before, after = self.states(batch.words.masked_fill(hidden, UNKNOWN))
        words = -self.likelihood(batch, self.predicted(before, after)).mean() * self.language
        if not len(batch.classes):
            return words
        return words + functional.cross_entropy(self.class_logits(batch, before, after), batch.classes)

    def read(self, items: Sequence[WordItem], rare: int) -> tuple[Tensor, Tensor]:
        """Chances of the classes [N, C]; per text the mean of -log p of a word, an unknown one being one of `rare`."""
        batch = collate(items)
        before, after = self.states(batch.words)
        likely = self.likelihood(batch, self.predicted(before, after))
        likely = likely - (batch.words[:, 1:-1][batch.mask] == UNKNOWN) * math.log(rare)
        total = torch.zeros(batch.mask.shape).masked_scatter_(batch.mask, likely).sum(1)
        surprise = -total / batch.mask.sum(1).clamp(min=1)
        chances = self.class_logits(batch, before, after).softmax(-1) if len(batch.targets) else torch.empty(0, 1)
        return chances, surprise


def _mean(hidden: Tensor, weights: Tensor) -> Tensor:
    return (hidden * weights).sum(1) / weights.sum(1).clamp(min=1e-6)


# ---- The surrogate

READ = 4096
"""Words of a batch that is read: with more, what a layer leaves behind no longer fits into the processor's cache (a
quarter slower).
"""
WHOLE = (-1, -1)


@dataclass(frozen=True, slots=True, eq=False)
class Classes:
    """A trained surrogate; an unknown word is one of `rare`, `known` are the labels it tells apart, `threads` read."""

    network: TwoWay
    vocabulary: TokenVocabulary
    rare: int
    known: tuple[str, ...]
    config: TwoWayConfig
    threads: int = 1

    @property
    def digest(self) -> str:
        described = repr((self.vocabulary.tokens, self.rare, self.known, asdict(self.config)))
        return tensor_digest(self.network.state_dict(), described)[:16]

    def read(self, sentences: Sequence[Sentence]) -> list[SurrogateReading]:
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
        read = zip(sentences, chances, surprise.tolist(), strict=True)
        return [read_outcome(sentence, self.known, rows, value) for sentence, rows, value in read]

    def _read(self, items: Sequence[WordItem]) -> tuple[Tensor, Tensor]:
        """A batch, by one thread: several threads on one small matrix product mostly wait for each other."""
        torch.set_num_threads(1)
        with torch.inference_mode():
            return self.network.read(items, self.rare)


def read_labels(chances: Tensor, known: Sequence[str], wanted: Labels) -> tuple[Labels, float, float]:
    """The likeliest label of each target, how likely the given one is, and the likeliest: of several targets the least.

    The given one counts where a threshold is the source's: of a sentence that it is wrong about, a surrogate is the
    surer the more a candidate resembles another class.
    """
    rows = chances.tolist()
    given = [row[known.index(label)] if label in known else 0.0 for row, label in zip(rows, wanted, strict=True)]
    sure, surest = (round(min(each, default=1.0), 6) for each in (given, list(map(max, rows))))
    return tuple(known[row.index(max(row))] for row in rows), sure, surest


def read_outcome(sentence: Sentence, known: Sequence[str], chances: Tensor, surprise: float) -> SurrogateReading:
    """What a surrogate says of a sentence, from the chances of the `known` labels and the mean surprise of a token."""
    wanted = labels(sentence)
    names, sure, surest = read_labels(chances, known, wanted)
    return SurrogateReading(" ".join(names), names == wanted, sure, round(math.exp(min(surprise, 50.0)), 4), surest)


def make_item(sentence: Sentence, vocabulary: TokenVocabulary, classes: dict[str, int]) -> WordItem:
    """The sentence as numbers; unknown classes are 0, which reading does not look at."""
    spans = pieces(sentence.text)
    words = [vocabulary.number(sentence.text[start:end].lower(), UNKNOWN) for start, end in spans] or [UNKNOWN]
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
    """Trains `Classes` on one thread, for two took longer. `epochs` 0: by the size of the fold; `threads` read."""

    config: TwoWayConfig
    epochs: int = 0
    threads: int = 1

    @property
    def signature(self) -> str:
        return f"classes {self.config} {self.epochs} torch {torch.__version__}"

    def fit(self, train: Sequence[Sentence], valid: Sequence[Sentence], seed: int, folder: Path) -> Classes:
        """The epoch that tells most of `valid` right wins, the last of equals; without `valid` the last."""
        known = tuple(sorted({label for sentence in train for label in labels(sentence)}))
        vocabulary, rare = count_words((cut(sentence.text) for sentence in train), self.config.least, self.config.most)
        classes = {label: i for i, label in enumerate(known)}
        items = [make_item(sentence, vocabulary, classes) for sentence in train]
        config = sized(self.config, sum(map(len, items)), self.epochs)
        with scope(config.threads, seed_of(seed, "two ways")):
            network = TwoWay(len(vocabulary), len(known), config)
        made = Classes(network, vocabulary, rare, known, config, self.threads)

        def right() -> float:
            readings = made.read(valid)
            return sum(reading.right for reading in readings) / max(1, len(readings))

        unique = key_of(config, seed, list(train), list(valid), torch.__version__)
        lengths = [len(item) for item in items]
        with closing(ModelBar("surrogate", " words")) as progress:
            course = (network, lengths, lambda chosen: network.loss([items[i] for i in chosen]), right, config, seed)
            fit(*course, Checkpoints(folder, unique), progress)
        return made


def sized(config: TwoWayConfig, words: int, epochs: int) -> TwoWayConfig:
    """Some 300,000 words in all, in 4 to 20 passes of a hundred steps or so."""
    passes = epochs or max(4, min(20, -(-300_000 // max(1, words))))
    return replace(config, epochs=passes, batch_chars=max(256, min(config.batch_chars, words // 60)))


def trainer(settings: AugmentSettings, own: BoostSettings) -> ClassTrainer:
    """As builder.augment.methods.boostaug asks for it."""
    plain = TwoWayConfig()
    return ClassTrainer(replace(plain, rate=own.rate or plain.rate), own.epochs, settings.threads)
