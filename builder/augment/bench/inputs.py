"""What the models of the bench read: items as tensors in padded batches, and tables of word vectors.

`WordReader` has its own vocabulary, `EncoderReader` an encoder's tokens. Vectors come from files in GloVe's format, or
are made of the domain's text.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from builder.augment.bench.classifiers import ClassifierItem
from builder.core.errors import InputError
from builder.core.records import Span
from builder.language.nlp.fit_parser import word_vectors
from builder.learning.encode import PAD, SPECIAL, UNK, padded
from builder.learning.pieces import TokenVocabulary

# ---- Word vectors


@dataclass(frozen=True, slots=True, eq=False)
class Tables:
    """(table [words, size], whether it comes from a file or from domain text) for each kind of vectors."""

    weights: tuple[tuple[Tensor, bool], ...]


def read_glove(path: Path, wanted: Iterable[str]) -> dict[str, NDArray[np.float32]]:
    """The vectors of the wanted words, of lines `word n1 n2 …` in GloVe's or word2vec's format."""
    need, out, size, number = set(wanted), dict[str, NDArray[np.float32]](), 0, 0
    try:
        with path.open("rb") as file:
            for number, line in enumerate(file, start=1):
                parts = line.decode().rstrip("\n").rstrip(" ").split(" ")
                if number == 1 and len(parts) == 2:
                    continue
                size = size or len(parts) - 1
                word = " ".join(parts[: len(parts) - size])  # a few words of GloVe 840B hold spaces
                if size < 2 or not word:
                    raise InputError(
                        "no line `word n1 n2 …`",
                        where=f"{path}:{number}",
                        fix="give a text file in GloVe's or word2vec's format",
                    )
                if word in need or (word.lower() in need and word.lower() not in out):
                    out[word if word in need else word.lower()] = _numbers(parts[len(parts) - size :], path, number)
    except UnicodeDecodeError as error:
        raise InputError("is not UTF-8", where=f"{path}:{number}", fix="save it as UTF-8") from error
    except OSError as error:
        raise InputError(
            f"no readable vectors: {error}", where=str(path), fix="give a text file in GloVe's format"
        ) from error
    if not out:
        raise InputError(
            "not one of the words of the training set has a vector here",
            where=str(path),
            fix="take vectors of this language",
        )
    return out


def _numbers(parts: Sequence[str], path: Path, line: int) -> NDArray[np.float32]:
    try:
        out = np.array(parts, dtype=np.float32)
    except ValueError as error:
        raise InputError(f"no vector: {error}", where=f"{path}:{line}") from error
    if not np.isfinite(out).all():
        raise InputError("a vector with a number that is none", where=f"{path}:{line}")
    return out


def table(vocabulary: Mapping[str, int], known: dict[str, NDArray[np.float32]], size: int, seed: int) -> Tensor:
    """[words, size]: known vectors scaled to a mean length of 1, others small random ones, zeros for padding."""
    draw = np.random.default_rng(seed)
    out = draw.normal(0, 0.1, (len(vocabulary) + SPECIAL, size)).astype(np.float32)
    scale = float(np.mean([np.linalg.norm(vector) for vector in known.values()])) if known else 1.0
    for word, vector in known.items():
        if word in vocabulary:
            out[vocabulary[word]] = vector / max(scale, 1e-6)
    out[0] = 0
    return torch.from_numpy(out)


def tables(
    vocabulary: Mapping[str, int],
    files: tuple[Path | None, Path | None],
    texts: Sequence[Sequence[str]],
    size: int,
    seed: int,
    both: bool,
) -> Tables:
    """General vectors of a file, else learnt with the task; with `both`, domain vectors of a file, else of `texts`."""
    general = read_glove(files[0], vocabulary) if files[0] else {}
    width = len(next(iter(general.values()))) if general else size
    tables = [(table(vocabulary, general, width, seed), bool(general))]
    if both:
        domain = read_glove(files[1], vocabulary) if files[1] else word_vectors(texts, size, 20_000, 2, seed)
        width = len(next(iter(domain.values()))) if domain else size
        tables.append((table(vocabulary, domain, width, seed + 1), bool(domain)))
    return Tables(tuple(tables))


# ---- Items as tensors

OUTSIDE, BEGIN, INSIDE = 0, 1, 2
IGNORED = -100
MOST_ASPECT = 24
"""Pieces of the aspect that are repeated as the second segment."""


@dataclass(frozen=True, slots=True)
class PieceRow:
    """An item as numbers; of each word its first piece, and whether it is in the aspect; the gold."""

    ids: tuple[int, ...]
    types: tuple[int, ...]
    first: tuple[int, ...]
    inside: tuple[int, ...]
    gold: tuple[int, ...] | int

    def __len__(self) -> int:
        return len(self.ids)


@dataclass(frozen=True, slots=True, eq=False)
class PieceBatch:
    """[B, P] over pieces: ids, types, mask; [B, T] over words: first, inside, words; gold [B], or tags [B, T]."""

    ids: Tensor
    types: Tensor
    mask: Tensor
    first: Tensor
    inside: Tensor
    words: Tensor
    gold: Tensor


def collate(rows: Sequence[PieceRow], pad: int = PAD) -> PieceBatch:
    """Pad to few distinct lengths (builder.learning.encode.padded)."""
    pieces, words = padded(max(len(row.ids) for row in rows)), padded(max(len(row.first) for row in rows))
    golds = [row.gold for row in rows]
    classes = [gold for gold in golds if isinstance(gold, int)]
    gold = (
        torch.tensor(classes)
        if classes
        else _table([gold for gold in golds if not isinstance(gold, int)], words, IGNORED)
    )
    ids, first = _table([row.ids for row in rows], pieces, pad), _table([row.first for row in rows], words, 0)
    mask = _table([(1,) * len(row.ids) for row in rows], pieces, 0).bool()
    there = _table([(1,) * len(row.first) for row in rows], words, 0).bool()
    types, inside = _table([row.types for row in rows], pieces, 0), _table([row.inside for row in rows], words, 0)
    return PieceBatch(ids, types, mask, first, inside, there, gold)


def _table(rows: Sequence[Sequence[int]], width: int, fill: int) -> Tensor:
    return torch.tensor([[*row, *[fill] * (width - len(row))] for row in rows])


def stretch(words: Sequence[Span], aspect: Span | None, longest: int) -> tuple[Span, ...]:
    """At most `longest` words: the first ones, or those around the aspect."""
    if len(words) <= longest:
        return tuple(words)
    at = next((i for i, (_, end) in enumerate(words) if aspect and end > aspect[0]), 0)
    start = min(max(0, at - longest // 2), len(words) - longest)
    return tuple(words[start : start + longest])


def inside(words: Sequence[Span], aspect: Span | None) -> tuple[int, ...]:
    """1 for the words that touch the aspect."""
    return tuple(int(aspect is not None and start < aspect[1] and aspect[0] < end) for start, end in words)


def tags(words: Sequence[Span], spans: Iterable[Span]) -> tuple[int, ...]:
    """B, I, O per word; a word belongs to a span that touches it."""
    out = [OUTSIDE] * len(words)
    for span in spans:
        touched = [i for i, (start, end) in enumerate(words) if start < span[1] and span[0] < end]
        for n, i in enumerate(touched):
            out[i] = INSIDE if n else BEGIN
    return tuple(out)


def spans_of(words: Sequence[Span], tags: Sequence[int]) -> tuple[Span, ...]:
    """The spans that tags mark; an I without a B before it begins one."""
    out: list[Span] = []
    before = OUTSIDE
    for (start, end), tag in zip(words, tags, strict=False):
        if tag == BEGIN or (tag == INSIDE and before == OUTSIDE):
            out.append((start, end))
        elif tag == INSIDE:
            out[-1] = out[-1][0], end
        before = tag
    return tuple(out)


@dataclass(frozen=True, slots=True)
class WordReader:
    """Lower-cased words of a vocabulary; id 0 pads, 1 is unknown."""

    vocabulary: TokenVocabulary
    longest: int

    pad = PAD

    @classmethod
    def of(cls, texts: Iterable[Iterable[str]], least: int, longest: int) -> WordReader:
        counts = Counter(word for words in texts for word in words)
        return cls(TokenVocabulary.of(counts, least, SPECIAL), longest)

    def __len__(self) -> int:
        return len(self.vocabulary)

    def shown(self, item: ClassifierItem) -> tuple[Span, ...]:
        """The words that are read: all, or a stretch of a long text, around its aspect."""
        return stretch(item.words, item.aspect, self.longest)

    def read(self, item: ClassifierItem, gold: tuple[int, ...] | int) -> PieceRow:
        words = self.shown(item) or ((0, 0),)
        ids = tuple(self.vocabulary.number(item.text[a:b].lower(), UNK) for a, b in words)
        return PieceRow(ids, (0,) * len(ids), tuple(range(len(ids))), inside(words, item.aspect), gold)


def written(item: ClassifierItem) -> list[str]:
    """The words of an item in lower case."""
    return [item.text[start:end].lower() for start, end in item.words]


@dataclass(frozen=True, slots=True, eq=False)
class EncoderReader:
    """The pieces of a pretrained encoder's tokenizer, word by word."""

    tokenizer: Any
    longest: int
    room: int
    known: dict[str, tuple[int, ...]] = field(default_factory=dict)

    @property
    def pad(self) -> int:
        return int(self.tokenizer.pad_token_id or 0)

    @property
    def begin(self) -> int:
        return int(self.tokenizer.cls_token_id)

    @property
    def end(self) -> int:
        return int(self.tokenizer.sep_token_id)

    @property
    def mask(self) -> int:
        return int(self.tokenizer.mask_token_id)

    def __len__(self) -> int:
        return len(self.tokenizer)

    def shown(self, item: ClassifierItem) -> tuple[Span, ...]:
        """As many words as the encoder has places for."""
        count, words = self.longest, stretch(item.words, item.aspect, self.longest)
        while count > 1 and sum(len(self.pieces(item.text[a:b])) for a, b in words) > self.room:
            count = min(count, len(words)) * 3 // 4
            words = stretch(item.words, item.aspect, max(1, count))
        return words

    def pieces(self, text: str) -> tuple[int, ...]:
        if text not in self.known:
            ids = tuple(int(i) for i in self.tokenizer(text, add_special_tokens=False).input_ids)
            self.known[text] = ids or (int(self.tokenizer.unk_token_id),)
        return self.known[text]

    def read(self, item: ClassifierItem, gold: tuple[int, ...] | int) -> PieceRow:
        """[CLS] text [SEP], and the aspect behind it as a second segment where there is one (BERT-SPC)."""
        words = self.shown(item)
        ids, first = [self.begin], list[int]()
        for a, b in words:
            first.append(len(ids))
            ids += self.pieces(item.text[a:b])
        ids.append(self.end)
        asked = list[int]()
        if item.aspect is not None:
            a, b = item.aspect
            touched = (item.text[start:end] for start, end in item.words if start < b and a < end)
            asked = [*[piece for word in touched for piece in self.pieces(word)][:MOST_ASPECT], self.end]
        types = (0,) * len(ids) + (1,) * len(asked)
        return PieceRow((*ids, *asked), types, tuple(first) or (0,), inside(words, item.aspect) or (0,), gold)


Reader = WordReader | EncoderReader
