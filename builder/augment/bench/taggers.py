"""Models of the bench over word vectors: sentence classifiers (LSTM, RNN, CNN) and aspect taggers (BiLSTM-CRF, DE-CNN,
and the sequence-to-sequence one of Ma et al. 2019).

Shapes: B items, T words, D the width, C classes, 3 tags (O, B, I). Classifiers: `pooled` gives [B, features], `forward`
[B, C]. Taggers: `tags` gives the tags of each item, `pooled` [B, D] the mean of what the tag layer reads.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from builder.augment.bench.classifiers import ClassifierConfig
from builder.augment.bench.inputs import BEGIN, IGNORED, INSIDE, OUTSIDE, PieceBatch, Tables
from builder.learning.encode import PAD, UNK

# ---- Sentence classifiers


class Vectors(nn.Module):
    """Words as vectors [B, T, size], learnt or of `Tables`, which `freeze` keeps. Training hides some words, so that
    the vector of unknown ones is learnt. `aspects`: a word also tells whether it belongs to the aspect.
    """

    def __init__(self, words: int | Tables, config: ClassifierConfig, aspects: bool = False) -> None:
        super().__init__()
        self.hidden_share = config.unknown
        if isinstance(words, int):
            own = nn.Embedding(words, config.vector_size, padding_idx=PAD)
            nn.init.normal_(own.weight, std=0.1)
            self.tables = nn.ModuleList([own])
        else:
            self.tables = nn.ModuleList(_table(table, known and config.freeze) for table, known in words.weights)
        self.size = sum(table.embedding_dim for table in self.tables)  # type: ignore[misc]
        self.aspect = nn.Embedding(2, self.size) if aspects else None
        if self.aspect:
            nn.init.zeros_(self.aspect.weight)
        self.dropout = nn.Dropout(config.dropout)

    def forward(self, batch: PieceBatch) -> Tensor:
        ids = batch.ids
        if self.training and self.hidden_share:
            ids = torch.where((torch.rand(ids.shape).to(ids.device) < self.hidden_share) & batch.mask, UNK, ids)
        out = torch.cat([table(ids) for table in self.tables], -1)
        out = out if self.aspect is None else out + self.aspect(batch.inside)
        shown: Tensor = self.dropout(out) * batch.mask[..., None]
        return shown


def _table(vectors: Tensor, frozen: bool) -> nn.Embedding:
    out = nn.Embedding(vectors.shape[0], vectors.shape[1], padding_idx=PAD)
    out.weight = nn.Parameter(vectors.clone(), requires_grad=not frozen)
    return out


class SentenceClassifier(nn.Module, ABC):
    """An affine layer to the classes of what is `pooled`, and cross entropy."""

    dropout: nn.Dropout
    out: nn.Linear

    @abstractmethod
    def pooled(self, batch: PieceBatch) -> Tensor:
        """[B, features]"""

    def forward(self, batch: PieceBatch) -> Tensor:
        logits: Tensor = self.out(self.dropout(self.pooled(batch)))
        return logits

    def loss(self, batch: PieceBatch) -> Tensor:
        return functional.cross_entropy(self(batch), batch.gold)


class OverVectors(SentenceClassifier):
    """What the three over word vectors share."""

    def __init__(self, words: int | Tables, features: int, classes: int, config: ClassifierConfig) -> None:
        super().__init__()
        self.embedded = Vectors(words, config, aspects=True)
        self.dropout, self.out = nn.Dropout(config.dropout), nn.Linear(features, classes)


class Lstm(OverVectors):
    """A bidirectional LSTM; the mean and the maximum of its states over the words are read. [B, 4 × width]."""

    def __init__(self, words: int | Tables, classes: int, config: ClassifierConfig) -> None:
        super().__init__(words, 4 * config.width, classes, config)
        self.lstm = nn.LSTM(self.embedded.size, config.width, batch_first=True, bidirectional=True)

    def pooled(self, batch: PieceBatch) -> Tensor:
        states = recurrent(self.lstm, self.embedded(batch), batch.mask)
        best = states.masked_fill(~batch.mask[..., None], -1e4).amax(1)
        return torch.cat([states.sum(1) / batch.mask.sum(1, keepdim=True), best], -1)


class Rnn(OverVectors):
    """An LSTM whose last output goes to the affine layer (Wu et al. 2019, section 4.2). [B, width]."""

    def __init__(self, words: int | Tables, classes: int, config: ClassifierConfig) -> None:
        super().__init__(words, config.width, classes, config)
        self.lstm = nn.LSTM(self.embedded.size, config.width, batch_first=True)

    def pooled(self, batch: PieceBatch) -> Tensor:
        states = recurrent(self.lstm, self.embedded(batch), batch.mask)
        last = batch.mask.sum(1) - 1
        return states[torch.arange(len(last), device=last.device), last]


class Cnn(OverVectors):
    """Filters, max-pooling over time, two layers with ReLU (Wu et al. 2019, section 4.2). [B, width]."""

    def __init__(self, words: int | Tables, classes: int, config: ClassifierConfig) -> None:
        super().__init__(words, config.width, classes, config)
        self.filters = nn.ModuleList(
            nn.Conv1d(self.embedded.size, config.width, size, padding=size // 2) for size in config.sizes
        )
        self.hidden = nn.Linear(len(config.sizes) * config.width, config.width)

    def pooled(self, batch: PieceBatch) -> Tensor:
        x = self.embedded(batch).transpose(1, 2)
        best = [functional.relu(convolution(x)).amax(-1) for convolution in self.filters]
        return functional.relu(self.hidden(self.dropout(torch.cat(best, -1))))


def recurrent(layer: nn.LSTM | nn.GRU, x: Tensor, mask: Tensor) -> Tensor:
    """The states of a recurrent layer [B, T, D]; padding is not read and gives zeros."""
    packed = pack_padded_sequence(x, mask.sum(1).cpu(), batch_first=True, enforce_sorted=False)
    states, _ = pad_packed_sequence(layer(packed)[0], batch_first=True, total_length=x.shape[1])
    return states


# ---- Aspect taggers

TAGS = 3
_NEVER = -1e4


class TagCrf(nn.Module):
    """A linear chain over the tags (Lafferty et al. 2001); an I never stands first nor behind an O."""

    def __init__(self) -> None:
        super().__init__()
        self.move = nn.Parameter(torch.zeros(TAGS, TAGS))
        self.start, self.end = nn.Parameter(torch.zeros(TAGS)), nn.Parameter(torch.zeros(TAGS))
        barred, first = torch.zeros(TAGS, TAGS), torch.zeros(TAGS)
        barred[OUTSIDE, INSIDE] = first[INSIDE] = _NEVER
        self.register_buffer("barred", barred, persistent=False)
        self.register_buffer("first", first, persistent=False)

    def loss(self, scores: Tensor, gold: Tensor, mask: Tensor) -> Tensor:
        """The mean negative log-likelihood of the gold tags; scores [B, T, 3], gold [B, T], mask [B, T]."""
        return (self._total(scores, mask) - self._path(scores, gold.clamp(min=0), mask)).mean()

    def _moves(self) -> Tensor:
        return self.move + self.get_buffer("barred")

    def _total(self, scores: Tensor, mask: Tensor) -> Tensor:
        at = self.start + self.get_buffer("first") + scores[:, 0]
        for t in range(1, scores.shape[1]):
            step = torch.logsumexp(at[:, :, None] + self._moves()[None], 1) + scores[:, t]
            at = torch.where(mask[:, t, None], step, at)
        return torch.logsumexp(at + self.end, -1)

    def _path(self, scores: Tensor, gold: Tensor, mask: Tensor) -> Tensor:
        rows, last = torch.arange(len(gold), device=gold.device), mask.sum(1) - 1
        own = scores.gather(2, gold[..., None]).squeeze(-1) * mask
        moves = self._moves()[gold[:, :-1], gold[:, 1:]] * mask[:, 1:]
        ends = (self.start + self.get_buffer("first"))[gold[:, 0]] + self.end[gold[rows, last]]
        return own.sum(1) + moves.sum(1) + ends

    def best(self, scores: Tensor, mask: Tensor) -> list[list[int]]:
        """Viterbi: the most probable tags of each item."""
        at, back = self.start + self.get_buffer("first") + scores[:, 0], []
        keep = torch.arange(TAGS, device=scores.device).expand(len(scores), TAGS)
        for t in range(1, scores.shape[1]):
            value, index = (at[:, :, None] + self._moves()[None]).max(1)
            at = torch.where(mask[:, t, None], value + scores[:, t], at)
            back.append(torch.where(mask[:, t, None], index, keep))
        tag = (at + self.end).argmax(-1)
        out = [tag]
        for index in reversed(back):
            tag = index.gather(1, tag[:, None]).squeeze(1)
            out.append(tag)
        whole = torch.stack(out[::-1], 1)
        return [row[:n] for row, n in zip(whole.tolist(), mask.sum(1).tolist(), strict=True)]


class Tagger(nn.Module, ABC):
    """An affine layer to the tags of its `states`; each tag is the best of its word alone."""

    dropout: nn.Dropout
    out: nn.Linear

    @abstractmethod
    def states(self, batch: PieceBatch) -> Tensor:
        """[B, T, D]"""

    def loss(self, batch: PieceBatch) -> Tensor:
        return tag_loss(self.out(self.dropout(self.states(batch))), batch.gold)

    def tags(self, batch: PieceBatch) -> list[list[int]]:
        best = self.out(self.states(batch)).argmax(-1).tolist()
        return [row[:n] for row, n in zip(best, batch.words.sum(1).tolist(), strict=True)]

    def pooled(self, batch: PieceBatch) -> Tensor:
        return mean(self.states(batch), batch.words)


class BiLstmCrf(Tagger):
    """A bidirectional LSTM under a CRF (Li et al. 2020, section 4.2.2)."""

    def __init__(self, tables: Tables, classes: int, config: ClassifierConfig) -> None:
        super().__init__()
        self.vectors = Vectors(tables, config)
        self.lstm = nn.LSTM(self.vectors.size, config.width, batch_first=True, bidirectional=True)
        self.dropout = nn.Dropout(config.dropout)
        self.out, self.crf = nn.Linear(2 * config.width, classes), TagCrf()

    def states(self, batch: PieceBatch) -> Tensor:
        return recurrent(self.lstm, self.vectors(batch), batch.mask)

    def loss(self, batch: PieceBatch) -> Tensor:
        return self.crf.loss(self.out(self.dropout(self.states(batch))), batch.gold, batch.mask)

    def tags(self, batch: PieceBatch) -> list[list[int]]:
        return self.crf.best(self.out(self.states(batch)), batch.mask)


class DeCnn(Tagger):
    """DE-CNN (Xu et al. 2018): general and domain vectors, filters of sizes 5 and 3, then three layers of size 5."""

    def __init__(self, tables: Tables, classes: int, config: ClassifierConfig) -> None:
        super().__init__()
        self.vectors = Vectors(tables, config)
        wide = 2 * config.width
        self.enter = nn.ModuleList(
            nn.Conv1d(self.vectors.size, config.width, size, padding=size // 2) for size in (5, 3)
        )
        self.layers = nn.ModuleList(nn.Conv1d(wide, wide, 5, padding=2) for _ in range(3))
        self.dropout, self.out = nn.Dropout(config.dropout), nn.Linear(wide, classes)

    def states(self, batch: PieceBatch) -> Tensor:
        mask = batch.mask[:, None]
        x = self.vectors(batch).transpose(1, 2) * mask
        x = functional.relu(torch.cat([layer(x) for layer in self.enter], 1)) * mask
        for layer in self.layers:
            x = functional.relu(layer(self.dropout(x))) * mask
        return x.transpose(1, 2)

    def loss(self, batch: PieceBatch) -> Tensor:
        return tag_loss(self.out(self.states(batch)), batch.gold)


def tag_loss(logits: Tensor, gold: Tensor) -> Tensor:
    """Cross entropy over the words there are."""
    return functional.cross_entropy(logits.transpose(1, 2), gold, ignore_index=IGNORED)


def mean(states: Tensor, mask: Tensor) -> Tensor:
    """[B, D]: the mean over the words there are."""
    return (states * mask[..., None]).sum(1) / mask.sum(1, keepdim=True).clamp(min=1)


# ---- seq2seq tagger

_START = TAGS
LABEL_SIZE = 24


class Seq2SeqTagger(nn.Module):
    """[B, T] words to [B, T, 3] logits. While training the label before is the gold one, else the one just told."""

    def __init__(self, tables: Tables, classes: int, config: ClassifierConfig) -> None:
        super().__init__()
        self.vectors, wide = Vectors(tables, config), 2 * config.width
        self.encoder = nn.GRU(self.vectors.size, config.width, batch_first=True, bidirectional=True)
        self.labels = nn.Embedding(TAGS + 1, LABEL_SIZE)
        self.begin = nn.Linear(wide, wide)
        self.decoder = nn.GRUCell(LABEL_SIZE + wide, wide)
        self.query, self.key, self.score = nn.Linear(wide, wide), nn.Linear(wide, wide), nn.Linear(wide, 1, bias=False)
        self.gates = nn.Linear(2 * wide, 2 * wide)
        self.dropout, self.out = nn.Dropout(config.dropout), nn.Linear(wide, classes)

    def loss(self, batch: PieceBatch) -> Tensor:
        return tag_loss(self._decode(batch, batch.gold.clamp(min=OUTSIDE))[0], batch.gold)

    def tags(self, batch: PieceBatch) -> list[list[int]]:
        decoded = self._decode(batch, None)[1].tolist()
        return [row[:n] for row, n in zip(decoded, batch.mask.sum(1).tolist(), strict=True)]

    def pooled(self, batch: PieceBatch) -> Tensor:
        return mean(self._decode(batch, None)[2], batch.mask)

    def _decode(self, batch: PieceBatch, gold: Tensor | None) -> tuple[Tensor, Tensor, Tensor]:
        """Logits [B, T, 3], labels [B, T], gated states [B, T, D]; labels before are `gold`, or the model's own."""
        hidden = recurrent(self.encoder, self.vectors(batch), batch.mask)
        keys, near = self.key(hidden), nearness(hidden.shape[1]).to(hidden.device)
        state = torch.tanh(self.begin(mean(hidden, batch.mask)))
        before = torch.full((len(hidden),), _START, device=hidden.device)
        logits, labels, states = [], [], []
        for t in range(hidden.shape[1]):
            context = self._attend(state, keys, hidden, near[t], batch.mask)
            state = self.decoder(torch.cat([self.labels(before), context], -1), state)
            gates = torch.sigmoid(self.gates(torch.cat([state, hidden[:, t]], -1)))
            own, word = gates.chunk(2, -1)
            mixed = own * state + word * hidden[:, t]
            logits.append(self._allowed(self.out(self.dropout(mixed)), before))
            labels.append(logits[-1].argmax(-1))
            states.append(mixed)
            before = labels[-1] if gold is None else gold[:, t]
        return torch.stack(logits, 1), torch.stack(labels, 1), torch.stack(states, 1)

    def _attend(self, state: Tensor, keys: Tensor, hidden: Tensor, near: Tensor, mask: Tensor) -> Tensor:
        score = self.score(torch.tanh(self.query(state)[:, None] + keys)).squeeze(-1) * near
        weight = functional.softmax(score.masked_fill(~mask, -1e4), -1)
        return torch.bmm(weight[:, None], hidden).squeeze(1)

    def _allowed(self, logits: Tensor, before: Tensor) -> Tensor:
        """An I stands behind a B or an I only."""
        barred = (before == OUTSIDE) | (before == _START)
        never = functional.one_hot(torch.full_like(before, BEGIN + 1), logits.shape[-1]) * barred[:, None]
        return logits - 1e4 * never


def nearness(words: int) -> Tensor:
    """[T, T]: how much a word at distance d counts, 1 / log2(2 + d)."""
    place = torch.arange(words)
    return math.log(2) / torch.log(2 + (place[:, None] - place[None]).abs().float())
