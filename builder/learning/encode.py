"""Texts as arrays: vocabulary, bigram buckets, clause numbers, windows and padded batches.

In: views. Out: `Encoded` texts (numpy) and `Batch`es (torch, imported where one is made). A character outside the
vocabulary is UNK, but its bigrams keep telling it from others, since they are hashed from code points. A text that a
pretrained encoder reads brings its tokens along.

The tokens of a pretrained encoder beside the characters of a text: which tokens stand for which character.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from builder.core.errors import ModelError
from builder.core.records import Span
from builder.learning import hub
from builder.reviews.text import clauses

if TYPE_CHECKING:
    from torch import Tensor

Places = NDArray[np.int32]
PLACES = 8
"""A character knows which one of its token it is, the eighth and later ones alike; 0: no token stands for it."""


@dataclass(frozen=True, slots=True, eq=False)
class TokenRows:
    """The tokens of a text of n characters in rows that are read apart: their ids, and for each character the row,
    [first, past) in it, and its place in the token (0: none stands for it). Each of the four [n]. `pad` fills rows up.
    """

    ids: tuple[Places, ...]
    row: Places
    first: Places
    past: Places
    place: Places
    pad: int = 0

    def stretches(self, spans: NDArray[np.int64]) -> NDArray[np.int64]:
        """From which token to which spans of characters reach [..., (first, past)]; the rows are one behind another. A
        span for which no token stands has none: its past is not above its first.
        """
        begin = np.cumsum([0, *map(len, self.ids)])[self.row]
        stands = self.past > self.first
        past = np.maximum.accumulate(np.where(stands, begin + self.past, 0))
        later = np.where(stands, begin + self.first, sum(map(len, self.ids)))
        first = np.minimum.accumulate(later[::-1])[::-1]
        return np.stack([first[spans[..., 0]], past[spans[..., 1] - 1]], -1)


@dataclass(frozen=True, slots=True, eq=False)
class TokenBatch:
    """Padded rows of tokens: ids and mask [R, K]. For each character of the texts [B, T] the places [first, past) of
    its tokens in the flat rows, and its place in the token. `deepest` is the longest such stretch. For each text where
    its tokens are in the flat rows, and where it has any [B, all tokens of a text].
    """

    ids: Tensor
    mask: Tensor
    first: Tensor
    past: Tensor
    place: Tensor
    deepest: int
    of_text: Tensor
    seen: Tensor


def collate_tokens(texts: Sequence[TokenRows], longest: int) -> TokenBatch:
    """The rows of all texts below each other, for texts padded to `longest` characters."""
    import torch

    rows = [ids for text in texts for ids in text.ids]
    width = -(-max(len(ids) for ids in rows) // 8) * 8
    ids = np.full((len(rows), width), texts[0].pad, np.int64)
    mask = np.zeros((len(rows), width), np.int64)
    for row, own in enumerate(rows):
        ids[row, : len(own)], mask[row, : len(own)] = own, 1
    first, past, place = (np.zeros((len(texts), longest), np.int64) for _ in range(3))
    begin, most = 0, max(sum(map(len, text.ids)) for text in texts)
    of_text, seen = np.zeros((len(texts), most), np.int64), np.zeros((len(texts), most), np.bool_)
    for number, text in enumerate(texts):
        own = np.concatenate([np.arange(len(ids)) + (begin + at) * width for at, ids in enumerate(text.ids)])
        of_text[number, : len(own)], seen[number, : len(own)] = own, True
        n, shift = len(text.row), (text.row.astype(np.int64) + begin) * width
        first[number, :n], past[number, :n], place[number, :n] = text.first + shift, text.past + shift, text.place
        begin += len(text.ids)
    deepest = int((past - first).max())
    tensor = torch.from_numpy
    return TokenBatch(
        tensor(ids), tensor(mask), tensor(first), tensor(past), tensor(place), deepest, tensor(of_text), tensor(seen)
    )


def average_tokens(vectors: Tensor, tokens: TokenBatch) -> Tensor:
    """For each character the mean of the vectors [R, K, D] of its tokens, zero where there is none: [B, T, D]."""
    import torch

    flat, count = vectors.flatten(0, 1), (tokens.past - tokens.first)[..., None]
    total = flat[tokens.first] * (count > 0)
    for step in range(1, tokens.deepest):
        at = torch.minimum(tokens.first + step, (tokens.past - 1).clamp(min=0))
        total = total + flat[at] * (count > step)
    return total / count.clamp(min=1)


_READ_AT_ONCE = 512
"""Tokens of a row, marks included, at most: what most encoders were trained on."""
_LEAST_ROOM = 8
"""Tokens of a row, marks aside, at least."""
_SURROGATES = re.compile("[\ud800-\udfff]")
IntArray = NDArray[np.int32]
PAD, UNK = 0, 1
SPECIAL = 2


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """The known code points in ascending order; the id of the n-th is n + SPECIAL."""

    codes: tuple[int, ...]

    @classmethod
    def of(cls, texts: Iterable[str], min_count: int) -> Vocabulary:
        counts: Counter[str] = Counter()
        for text in texts:
            counts.update(text)
        return cls(tuple(sorted(ord(c) for c, n in counts.items() if n >= min_count)))

    def __len__(self) -> int:
        return len(self.codes) + SPECIAL


@dataclass(frozen=True, slots=True, eq=False)
class Encoded:
    """A text of n characters: ids [n], bigrams [n + 1] (before each character, and after the last), clause and
    sentence numbers [n]. `tokens` are those of a pretrained encoder.
    """

    ids: IntArray
    bigrams: IntArray
    clause: IntArray
    sentence: IntArray
    tokens: TokenRows | None = None

    def __len__(self) -> int:
        return len(self.ids)


@dataclass(frozen=True, slots=True, eq=False)
class Batch:
    """Padded texts: ids, clause, sentence [B, T], bigrams [B, T + 1], mask [B, T] true where there is text."""

    ids: Tensor
    bigrams: Tensor
    clause: Tensor
    sentence: Tensor
    mask: Tensor
    tokens: TokenBatch | None = None


TextEncoder = Callable[[str], Encoded]


class Encoder:
    """Turns texts into arrays; holds the vocabulary in the form that look-ups need."""

    def __init__(self, vocabulary: Vocabulary, buckets: int) -> None:
        self.vocabulary, self.buckets = vocabulary, buckets
        self._codes = np.array(vocabulary.codes, np.int32)

    def __call__(self, text: str) -> Encoded:
        codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.int32)
        clause, sentence = _numbers(text)
        return Encoded(self._ids(codes), self._bigrams(codes), clause, sentence)

    def _ids(self, codes: IntArray) -> IntArray:
        if not len(self._codes):
            return np.full(len(codes), UNK, np.int32)
        at = np.minimum(np.searchsorted(self._codes, codes), len(self._codes) - 1)
        known: IntArray = np.where(self._codes[at] == codes, at + SPECIAL, UNK).astype(np.int32)
        return known

    def _bigrams(self, codes: IntArray) -> IntArray:
        """Multiplicative hash (Knuth) of neighbouring code points, 0 standing outside the text."""
        edged = np.concatenate(([0], codes.astype(np.int64), [0]))
        mixed = (edged[:-1] * 2654435761 + edged[1:] * 2246822519) & 0xFFFFFFFF
        bucket: IntArray = ((mixed ^ (mixed >> 15)) % self.buckets).astype(np.int32)
        return bucket


def _numbers(text: str) -> tuple[IntArray, IntArray]:
    """The clause and the sentence number of every character; marks and spaces count with what precedes them."""
    clause, sentence = np.zeros(len(text), np.int32), np.zeros(len(text), np.int32)
    for number, part in enumerate(clauses(text)):
        clause[part.start :] = number
        sentence[part.start :] = part.sentence
    return clause, sentence


def windows(text: str, limit: int, overlap: int = 0) -> list[Span]:
    """[start, end) pieces of at most `limit` characters that cover `text`: cut after a sentence, else after a clause,
    else anywhere. A piece begins with the first sentence that starts among the last `overlap` characters of the one
    before, where there is one.
    """
    if len(text) <= limit:
        return [(0, len(text))] if text else []
    parts = clauses(text)
    ends_sentence = [b.start for a, b in pairwise(parts) if a.sentence != b.sentence]
    ends_clause = [part.start for part in parts[1:]]
    out, start = [], 0
    while len(text) - start > limit:
        end = _last_cut(ends_sentence, start, limit) or _last_cut(ends_clause, start, limit) or start + limit
        out.append((start, end))
        start = min((cut for cut in ends_sentence if max(start, end - overlap - 1) < cut < end), default=end)
    return [*out, (start, len(text))]


def _last_cut(cuts: Sequence[int], start: int, limit: int) -> int | None:
    return max((cut for cut in cuts if start < cut <= start + limit), default=None)


def padded(length: int) -> int:
    """The length a text is padded to: at most an eighth more, in few distinct sizes.

    Every new shape costs the convolution library a compiled kernel that it keeps (about 1 MB each, measured), so
    shapes are few.
    """
    step = max(4, 1 << max(0, length.bit_length() - 4))
    return max(step, -(-length // step) * step)


def collate(texts: Sequence[Encoded]) -> Batch:
    """Pad encoded texts into one batch of [texts, longest padded length]; bigrams have a column more."""
    import torch

    longest = padded(max(len(text) for text in texts))
    ids, clause, sentence = (np.zeros((len(texts), longest), np.int64) for _ in range(3))
    bigrams = np.zeros((len(texts), longest + 1), np.int64)
    for row, text in enumerate(texts):
        n = len(text)
        ids[row, :n], clause[row, :n], sentence[row, :n], bigrams[row, : n + 1] = (
            text.ids,
            text.clause,
            text.sentence,
            text.bigrams,
        )
    tensor = torch.from_numpy(ids)
    rows = [text.tokens for text in texts if text.tokens is not None]
    return Batch(
        tensor,
        torch.from_numpy(bigrams),
        torch.from_numpy(clause),
        torch.from_numpy(sentence),
        tensor != PAD,
        collate_tokens(rows, longest) if rows else None,
    )


def batches(lengths: Sequence[int], budget: int, draw: random.Random | None = None, items: int = 0) -> list[list[int]]:
    """Indices in batches of one padded length, of at most `budget` characters with padding (one text at least).

    With `items` above 0 a batch has so many texts instead, whatever their lengths. What is left of a length joins the
    next longer one. With `draw` the order within a length and that of the batches is random.
    """
    sizes: dict[int, list[int]] = {}
    for i, length in enumerate(lengths):
        sizes.setdefault(padded(length), []).append(i)
    out: list[list[int]] = []
    left: list[int] = []
    for size in sorted(sizes):
        if draw:
            draw.shuffle(sizes[size])
        count = items or max(1, budget // size)
        if len(left) >= count:  # left over where more short texts made a batch
            out.append(left)
            left = []
        left += sizes[size]
        whole = len(left) // count * count
        out += [left[at : at + count] for at in range(0, whole, count)]
        left = left[whole:]
    out += [left] if left else []
    if draw:
        draw.shuffle(out)
    return out


# ---- Texts for pretrained encoders


@dataclass(frozen=True, slots=True)
class CharacterTokens:
    """Turns texts into the rows of tokens that an encoder reads. `tokenizer` is one of the library tokenizers."""

    tokenizer: Any
    pad: int
    most: int

    def __call__(self, text: str) -> TokenRows:
        readable = without_surrogates(text)
        pieces = list(self._pieces(readable, (0, len(text)), self.most))
        row, first, past, place = np.zeros((4, len(text)), np.int32)
        for number, ((begin, end), encoding) in enumerate(pieces):
            row[begin:end] = number
            for at, (start, stop) in enumerate(encoding.offsets):
                for char in range(begin + start, begin + stop):
                    first[char] = at if not past[char] else first[char]
                    past[char] = at + 1
                    place[char] = min(char - begin - start + 1, PLACES)
        return TokenRows(tuple(np.array(e.ids, np.int32) for _, e in pieces), row, first, past, place, self.pad)

    def _pieces(self, text: str, span: Span, limit: int) -> Iterable[tuple[Span, Any]]:
        """Pieces of the text with their tokens, cut after sentences where they are too long for a row."""
        begin = span[0]
        for start, end in windows(text[slice(*span)], limit) or [(0, 0)]:
            encoding = self.tokenizer.encode(text[begin + start : begin + end])
            if len(encoding.ids) > self.most and end - start > 1:
                yield from self._pieces(text, (begin + start, begin + end), max(1, (end - start) // 2))
            else:
                yield (begin + start, begin + end), encoding


def token_maker(tokenizer: str, config: Mapping[str, Any]) -> CharacterTokens:
    """What cuts texts into the tokens of an encoder, by its tokenizer as JSON and its config; ModelError where these
    do not serve.
    """
    made = hub.parse_tokenizer(tokenizer, "encoder.base")
    made.no_padding()
    made.no_truncation()
    hub.require_tokens(made, int(config.get("vocab_size") or 0), "encoder.base")
    room = int(config.get("max_position_embeddings") or _READ_AT_ONCE) - 2  # RoBERTa keeps two for itself
    if room < _LEAST_ROOM:
        raise ModelError(
            f"it reads {room + 2} tokens at once",
            where="encoder.base",
            fix="name an encoder of 128 and more",
        )
    return CharacterTokens(made, int(config.get("pad_token_id") or 0), min(_READ_AT_ONCE, room))


def text_encoder(vocabulary: Vocabulary, buckets: int, tokens: CharacterTokens) -> TextEncoder:
    """What turns a text into arrays, with the tokens of a pretrained encoder."""
    characters = Encoder(vocabulary, buckets)

    def encode(text: str) -> Encoded:
        return replace(characters(text), tokens=tokens(text))

    return encode


def without_surrogates(text: str) -> str:
    """The text with a mark in place of each half of a pair, which no tokenizer reads."""
    return _SURROGATES.sub("\ufffd", text)
