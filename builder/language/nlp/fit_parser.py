"""The parser's training: `fit_parser(sentences, tags, vectors, seed)`.

In: trees with gold tags, and the tags that a segmenter gives the same words. Out: a `Parser` in evaluation mode.
Every epoch draws each sentence anew as a review might have it (`conllu.review_like`), mostly with predicted tags,
with some words and tags unknown. A small network learns more from many trees that a large one made of raw text
(silver) than from the treebank alone (sequence-level distillation: Kim and Rush 2016, section 3.2).

Fixed vectors of words from raw text: positive pointwise mutual information of a word with its neighbours at -2, -1, +1
and +2, each place apart (places are what syntax is about), and a truncated SVD (Levy and Goldberg 2014): seconds, where
a neural model takes hours. So the parser knows more words than the treebank has.
The parser's network while it learns, in torch; what it has learnt is read by `builder.language.nlp.parser`, which needs
none.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import count
from random import Random

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from builder.language.nlp.conllu import TreebankSentence, review_like
from builder.language.nlp.features import fold
from builder.language.nlp.parser import FEATURES, LENGTHS, Parser, ParserShape, ParserVocabulary, make_parser
from builder.learning.loop import Course, TrainingStep, train

_CACHED = 256  # rows whose products stay in the processor's cache


class Network(nn.Module):
    """Scores of arcs and relations. `shape` fixes every size."""

    def __init__(self, shape: ParserShape) -> None:
        super().__init__()
        self.shape = shape
        self.word = nn.Embedding(shape.words + 1, shape.word_dim, padding_idx=0)
        self.vector = nn.Embedding(shape.vectors + 1, shape.vector_dim, padding_idx=0)
        self.vector.weight.requires_grad_(False)
        self.char = nn.Embedding(shape.chars + 1, shape.char_dim, padding_idx=0)
        self.tag = nn.Embedding(shape.tags + 1, shape.tag_dim)
        self.length = nn.Embedding(LENGTHS, LENGTHS)
        self.lstm = nn.LSTM(
            shape.width, shape.hidden, shape.layers, bidirectional=True, batch_first=True, dropout=shape.dropout
        )
        self.root = nn.Parameter(torch.zeros(2 * shape.hidden))
        sizes = {"arc_head": shape.arc, "arc_dep": shape.arc, "rel_head": shape.rel, "rel_dep": shape.rel}
        self.views = nn.ModuleDict({name: nn.Linear(2 * shape.hidden, size) for name, size in sizes.items()})
        self.arc = nn.Parameter(torch.zeros(shape.arc + 1, shape.arc))
        self.rel = nn.Parameter(torch.zeros(shape.rels, shape.rel + 1, shape.rel + 1))
        self.drop = nn.Dropout(shape.dropout)

    def encode(self, columns: Tensor, lengths: Tensor) -> Tensor:
        """[units, words, FEATURES] -> [units, 1 + words, 2 hidden]; position 0 is the root."""
        word, vector, chars, length, tag = (
            columns[..., 0],
            columns[..., 1],
            columns[..., 2:5],
            columns[..., 5],
            columns[..., 6],
        )
        parts = [self.word(word), self.vector(vector), self.char(chars).flatten(2), self.tag(tag), self.length(length)]
        packed = pack_padded_sequence(self.drop(torch.cat(parts, 2)), lengths, batch_first=True)
        states, _ = pad_packed_sequence(self.lstm(packed)[0], batch_first=True)
        root = self.root.expand(len(states), 1, -1)
        out: Tensor = self.drop(torch.cat([root, states], 1))
        return out

    def view(self, name: str, states: Tensor) -> Tensor:
        """The states as the head or dependent of an arc or relation sees them, by `name`: [units, 1 + words, size]."""
        out: Tensor = self.drop(nn.functional.leaky_relu(self.views[name](states), 0.1))
        return out

    def arcs(self, states: Tensor) -> Tensor:
        """[units, 1 + words (dependent), 1 + words (head)]."""
        dependent, head = self.view("arc_dep", states), self.view("arc_head", states)
        biased = torch.cat([dependent, torch.ones_like(dependent[..., :1])], 2)
        scores: Tensor = biased @ self.arc @ head.transpose(1, 2)
        return scores

    def relations(self, states: Tensor, heads: Tensor) -> Tensor:
        """[units, 1 + words, relations] for given heads [units, 1 + words]."""
        dependent, head = self.view("rel_dep", states), self.view("rel_head", states)
        head = head.gather(1, heads[..., None].expand(-1, -1, head.shape[2]))
        bias = torch.ones_like(dependent[..., :1])
        dependent, head = torch.cat([dependent, bias], 2), torch.cat([head, bias], 2)
        size = dependent.shape[2]
        weights = self.rel.permute(1, 0, 2).reshape(size, -1)
        rows = [
            ((left @ weights).view(len(left), -1, size) @ right[..., None])[..., 0]
            for left, right in zip(
                torch.split(dependent.view(-1, size), _CACHED), torch.split(head.view(-1, size), _CACHED), strict=True
            )
        ]
        return torch.cat(rows).view(*heads.shape, -1)


def learnt(vocabulary: ParserVocabulary, network: Network) -> Parser:
    """The parser that a network has become so far."""
    weights = {name: value.detach().numpy() for name, value in network.state_dict().items()}
    return make_parser(vocabulary, network.shape, weights)


_GOLD_TAGS = 0.25
_SILVER = 0.5
"""The share of the silver trees that an epoch draws."""
_TAG_LOST = 0.04
_WORD_LOST = 0.25
_VECTOR_LOST = 0.3
_IGNORED = -100


def vocabulary_of(sentences: Sequence[TreebankSentence], vectors: Iterable[str] = ()) -> ParserVocabulary:
    """Words and characters seen twice or more; all tags and relations."""
    words = Counter(fold(word.lower()) for s in sentences for word in s.words)
    chars = Counter(char for word, n in words.items() for char in word * n)
    tags = sorted({tag for s in sentences for tag in s.tags})
    rels = tuple(sorted({rel for s in sentences for rel in s.rels}))
    frequent = [sorted(item for item, n in counted.items() if n >= 2) for counted in (words, chars)]
    return ParserVocabulary(_numbered(frequent[0]), _numbered(vectors), _numbered(frequent[1]), _numbered(tags), rels)


def _numbered(items: Iterable[str]) -> dict[str, int]:
    return {item: i for i, item in enumerate(items, 1)}


def fit_parser(
    sentences: Sequence[TreebankSentence],
    tags: Sequence[tuple[str, ...]],
    vectors: Mapping[str, npt.NDArray[np.float32]],
    seed: int,
    *,
    silver: Sequence[TreebankSentence] = (),
    sizes: Mapping[str, int] | None = None,
    epochs: int = 40,
    batch_words: int = 1000,
    rate: float = 2.5e-3,
    after_epoch: Callable[[int, float, Parser], None] = lambda epoch, loss, parser: None,
) -> Parser:
    """Adam with a linear warm-up and a cosine to zero. `after_epoch` gets the epoch, the mean loss and the parser so
    far.

    Args:
        sentences: the treebank.
        tags: those that a segmenter which did not see a sentence gives its words.
        vectors: fixed vectors of words.
        seed: of all random numbers.
        silver: trees of raw text that another parser made, with the tags that it read.
        sizes: of the network, by the names in `ParserShape`, where they are not those of the shipped parser.
        epochs: draws of the whole treebank, each with half of the silver trees.
        batch_words: words of a step.
        rate: the highest learning rate.
        after_epoch: see above.
    """
    random = Random(seed)
    known = vocabulary_of(sentences, vectors)
    rare = _rare(sentences, known)
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        counts = len(known.words), len(vectors), len(known.chars), len(known.tags), len(known.rels)
        network = _initial(replace(ParserShape(*counts), **(sizes or {})), vectors)
        optimiser = torch.optim.AdamW(
            [p for p in network.parameters() if p.requires_grad], lr=rate, betas=(0.9, 0.95), weight_decay=1e-3
        )
        total = epochs * max(1, int(sum(map(len, sentences)) + _SILVER * sum(map(len, silver))) // batch_words)
        warm = max(1, min(60, total // 10))
        losses, numbers = list[float](), count()

        def gradient(batch: list[TreebankSentence], step: TrainingStep) -> float:
            network.zero_grad()
            loss = _loss(network, *_tensors(batch, known, rare, random))
            loss.backward()  # type: ignore[no-untyped-call]
            losses.append(float(loss.detach()))
            return losses[-1]

        def report() -> float:
            after_epoch(next(numbers), sum(losses) / len(losses), learnt(known, network))
            losses.clear()
            return 0.0

        course = Course(
            epochs=epochs,
            batches=lambda epoch: _drawn(sentences, tags, silver, random, batch_words),
            gradient=gradient,
            rate=lambda step: (
                rate
                * (min(1.0, (step.number + 1) / warm) * 0.5 * (1 + math.cos(math.pi * min(1.0, step.number / total))))
            ),
            clip=lambda: torch.nn.utils.clip_grad_norm_(network.parameters(), 5.0),
            validate=report,
            size=len,
            expected=epochs * (len(sentences) + int(_SILVER * len(silver))),
        )
        train(network, optimiser, course)
    return learnt(known, network)


def _loss(
    network: Network, columns: torch.Tensor, lengths: torch.Tensor, heads: torch.Tensor, rels: torch.Tensor
) -> torch.Tensor:
    """Cross-entropy of the heads and of the relations to the gold heads."""
    states = network.encode(columns, lengths)
    arcs = network.arcs(states)
    outside = torch.arange(arcs.shape[2])[None] > lengths[:, None]
    arcs = arcs.masked_fill(outside[:, None, :], -1e9)
    loss = cross_entropy(arcs.flatten(0, 1), heads.flatten(), ignore_index=_IGNORED)
    labels = network.relations(states, heads.clamp(min=0))
    return loss + cross_entropy(labels.flatten(0, 1), rels.flatten(), ignore_index=_IGNORED)


def _initial(shape: ParserShape, vectors: Mapping[str, npt.NDArray[np.float32]]) -> Network:
    """Small random scores; the fixed vectors scaled to the size of the learned ones."""
    network = Network(shape)
    if vectors:
        network.vector.weight[1:] = torch.from_numpy(np.stack(list(vectors.values()))) * shape.vector_dim**0.5
    for name in ("arc", "rel"):
        torch.nn.init.normal_(getattr(network, name), std=0.02)
    return network


def _rare(sentences: Sequence[TreebankSentence], known: ParserVocabulary) -> dict[str, float]:
    """Probability that a known word is shown as unknown: the rarer, the likelier."""
    counts = Counter(fold(word.lower()) for s in sentences for word in s.words)
    return {word: _WORD_LOST / (_WORD_LOST + counts[word] / 4) for word in known.words}


def _drawn(
    sentences: Sequence[TreebankSentence],
    tags: Sequence[tuple[str, ...]],
    silver: Sequence[TreebankSentence],
    random: Random,
    batch_words: int,
) -> list[list[TreebankSentence]]:
    """An epoch: every sentence once and a share of the silver trees, changed, in batches of like length at random."""
    drawn = [review_like(tree, random) for tree in random.sample(silver, int(_SILVER * len(silver)))]
    for sentence, predicted in zip(sentences, tags, strict=True):
        shown = sentence.tags if random.random() < _GOLD_TAGS else predicted
        drawn.append(review_like(TreebankSentence(sentence.words, shown, sentence.heads, sentence.rels), random))
    drawn.sort(key=lambda s: len(s) + random.random() * 6)
    batches: list[list[TreebankSentence]] = [[]]
    for sentence in drawn:
        if batches[-1] and sum(map(len, batches[-1])) + len(sentence) > batch_words:
            batches.append([])
        batches[-1].append(sentence)
    random.shuffle(batches)
    return batches


def _tensors(
    batch: list[TreebankSentence], known: ParserVocabulary, rare: dict[str, float], random: Random
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    """Columns [units, words, FEATURES], lengths, heads and relations [units, 1 + words]; position 0 is ignored."""
    batch = sorted(batch, key=len, reverse=True)
    widest = len(batch[0])
    columns = np.zeros((len(batch), widest, FEATURES), np.int64)
    heads = np.full((len(batch), widest + 1), _IGNORED, np.int64)
    rels = np.full((len(batch), widest + 1), _IGNORED, np.int64)
    relation = {rel: i for i, rel in enumerate(known.rels)}
    for i, sentence in enumerate(batch):
        for j, (word, tag) in enumerate(zip(sentence.words, sentence.tags, strict=True)):
            number, vector, *letters = known.columns(word)
            if number and random.random() < rare[fold(word.lower())]:
                number, vector = 0, 0 if random.random() < _VECTOR_LOST else vector
            columns[i, j] = number, vector, *letters, 0 if random.random() < _TAG_LOST else known.tags.get(tag, 0)
        heads[i, 1 : len(sentence) + 1] = np.array(sentence.heads) + 1
        rels[i, 1 : len(sentence) + 1] = [relation[rel] for rel in sentence.rels]
    lengths = torch.tensor([len(s) for s in batch])
    return torch.from_numpy(columns), lengths, torch.from_numpy(heads), torch.from_numpy(rels)


# ---- Word vectors

_PLACES = (-2, -1, 1, 2)
_CONTEXTS = 6000


def word_vectors(
    sentences: Sequence[Sequence[str]], size: int, most: int, least: int, seed: int
) -> dict[str, npt.NDArray[np.float32]]:
    """Vectors of the `most` most frequent words of `least` occurrences, ordered by frequency, then code point."""
    counts = Counter(word for words in sentences for word in words)
    ranked = sorted((word for word, n in counts.items() if n >= least), key=lambda word: (-counts[word], word))[:most]
    number = {word: i for i, word in enumerate(ranked)}
    if not ranked:
        return {}
    rows, columns = _pairs([[number.get(word, -1) for word in words] for words in sentences])
    codes, together = np.unique(rows * (len(_PLACES) * _CONTEXTS) + columns, return_counts=True)
    row, column = np.divmod(codes, len(_PLACES) * _CONTEXTS)
    row_sum = np.bincount(row, together, len(ranked))
    column_sum = np.bincount(column, together, len(_PLACES) * _CONTEXTS) ** 0.75
    information = np.log(together * column_sum.sum() / (row_sum[row] * column_sum[column]))
    kept = information > 0
    places = torch.from_numpy(np.stack([row[kept], column[kept]]))
    weights = torch.from_numpy(information[kept].astype(np.float32))
    matrix = torch.sparse_coo_tensor(
        places, weights, (len(ranked), len(_PLACES) * _CONTEXTS), check_invariants=True
    ).coalesce()
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        left, values, _ = torch.svd_lowrank(matrix, q=min(size + 16, len(ranked)), niter=4)
    vectors = np.zeros((len(ranked), size), np.float32)
    vectors[:, : left.shape[1]] = (left[:, :size] * values[:size].sqrt()).numpy()
    vectors /= np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-6)
    return dict(zip(ranked, vectors, strict=True))


def _pairs(sentences: Sequence[Sequence[int]]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Row (word) and column (neighbour and place) of every neighbourhood; only frequent neighbours count."""
    gap = [-1] * max(abs(place) for place in _PLACES)
    line = np.array([number for words in sentences for number in [*words, *gap]] + gap, np.int64)
    rows, columns = [], []
    for i, place in enumerate(_PLACES):
        neighbour = np.roll(line, -place)
        known = (line >= 0) & (neighbour >= 0) & (neighbour < _CONTEXTS)
        rows.append(line[known])
        columns.append(neighbour[known] * len(_PLACES) + i)
    return np.concatenate(rows), np.concatenate(columns)
