"""The shipped reader on numpy. torch would take longer to import than a page of reviews to read, and twice as long to
read it on a processor without units for matrices.

In: the folder of a saved tagger on a plain BERT, and items. Out: readings as those of the networks in
builder.models.encoder, network and tagger_network, but for the last digits. Nothing is padded: tokens of several
pieces meet the encoder's layers one behind the other, and the heads read each piece alone. T characters, D the width,
N spans and P pairs of one piece.

The digest covers weights and config, as that of a model on torch does.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open

from builder.core.errors import ModelError
from builder.core.machine import one_thread
from builder.core.records import Triplet
from builder.learning.encode import (
    Encoded,
    IntArray,
    TextEncoder,
    TokenRows,
    Vocabulary,
    padded,
    text_encoder,
    token_maker,
)
from builder.learning.packing import SCALE, SINCE, check_packed, split_bytes, split_name
from builder.learning.task import Example, Progress, TaggerConfig
from builder.models.serving import is_plain, read_model_settings, read_tokenizer
from builder.models.text_reading import (
    ASPECT,
    CUT,
    DILATIONS,
    DISTANCES,
    LIMIT,
    NEAR,
    OPINION,
    TABLE_SIZE,
    Floats,
    FoundPairs,
    Integers,
    OddsTable,
    Piece,
    Scores,
    TextReading,
    add_scores,
    cut_pieces,
    joined,
    settled,
)

_EPSILON = 1e-5
"""Of the norms that are not the encoder's: torch's default."""
_TOKENS = 1024
"""Tokens that meet the encoder's layers at once: of fewer, weights take longer to come from memory than to be used."""
_BLOCK = 64
"""Rows of a layer that stay in the processor's cache while a function of many steps is made of them."""
_HALF = np.float32(-0.5)
_DENSITY = 0.3989422804
"""Of the normal distribution at zero."""
_SERIES = (1.330274429, -1.821255978, 1.781477937, -0.356563782, 0.319381530)
_TAIL = tuple(np.float32(value) for value in (0.2316419, *(_DENSITY * factor for factor in _SERIES)))


class Weights(dict[str, Floats]):
    """The weights of a model in 32 bits, by their names."""

    def rows(self, name: str, ids: NDArray[np.integer[Any]]) -> Floats:
        """The vectors of an embedding at `ids`."""
        vectors: Floats = self[f"{name}.weight"][ids]
        return vectors

    def linear(self, name: str, x: Floats) -> Floats:
        """x W + b over the last axis."""
        out: Floats = x @ self._turned(f"{name}.weight")
        out += self[f"{name}.bias"]
        return out

    def convolve(self, name: str, x: Floats, dilation: int) -> Floats:
        """The convolution of a width of three over x [T, D], as long as x."""
        wide = np.pad(x, ((dilation, dilation), (0, 0)))
        kernel = self._turned(f"{name}.weight")
        out = self[f"{name}.bias"] + wide[: len(x)] @ kernel[0]
        for step in (1, 2):
            out += wide[step * dilation :][: len(x)] @ kernel[step]
        mixed: Floats = out
        return mixed

    def _turned(self, name: str) -> Floats:
        """A tensor with its axes in reverse, as it lies in memory from then on: products take a tenth less time."""
        if name in self:
            self[f"{name} turned"] = np.ascontiguousarray(self.pop(name).T)
        return self[f"{name} turned"]

    def norm(self, name: str, x: Floats, epsilon: float) -> Floats:
        """Layer normalisation over the last axis (Ba et al. 2016)."""
        centred = x - x.mean(-1, keepdims=True)
        spread = np.sqrt((centred * centred).mean(-1, keepdims=True) + np.float32(epsilon))
        out: Floats = centred / spread * self[f"{name}.weight"] + self[f"{name}.bias"]
        return out


def read_weights(path: Path) -> Weights:
    """What builder.learning.checkpoint.unpack_weights makes of a file; ModelError where it is none of ours."""
    try:
        with safe_open(path, framework="np") as file:
            packed = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118  (no mapping)
    except (OSError, SafetensorError) as error:
        raise ModelError(f"no readable safetensors file: {error}", where=str(path), fix="reinstall builder") from error
    try:
        check_packed(packed)
        return _unpack(packed)
    except (LookupError, TypeError, ValueError) as error:
        what = f"the weights are packed in no known way: {error}"
        raise ModelError(what, where=str(path), fix="reinstall builder") from error


def _unpack(packed: Mapping[str, NDArray[Any]]) -> Weights:
    whole = Weights()
    kept = [name for name in packed if not name.endswith(SCALE)]
    for name in sorted(kept, key=lambda name: SINCE in name):
        own, first = split_name(name)
        values = (split_bytes(packed[name]) if first else packed[name]).astype(np.float32)
        if (scale := packed.get(name + SCALE)) is not None:
            values *= scale[:, None]
        whole[own] = whole[first] + values if first else values
    return Weights(sorted(whole.items()))


def digest_model(weights: Weights, settings: Mapping[str, object]) -> str:
    """What builder.models.tagger.Tagger.digest says of the same model."""
    total = hashlib.sha256()
    for name, array in weights.items():
        total.update(f"{name} torch.{array.dtype} {array.shape}\n".encode())
        total.update(array.reshape(-1).view(np.uint8).data)
    total.update(json.dumps(settings, sort_keys=True).encode())
    return total.hexdigest()[:16]


def open_numpy_reader(folder: Path) -> NumpyReader:
    """The reader of a folder that builder.models.saved wrote; ModelError where a file is missing or damaged, or of a
    model whose layers are not here.
    """
    path = folder / "config.json"
    settings = read_model_settings(path)
    try:
        if settings["kind"] != "tagger" or not is_plain(settings["encoder"]):
            raise ModelError("no tagger on a plain BERT", where=str(path), fix="reinstall builder")
        config = TaggerConfig(**settings["config"])
        heads, epsilon = int(settings["encoder"]["num_attention_heads"]), float(settings["encoder"]["layer_norm_eps"])
        vocabulary = Vocabulary(tuple(int(code) for code in settings["vocabulary"]))
        tokens = token_maker(read_tokenizer(folder, settings["tokenizer"]), settings["encoder"])
        threshold = float(settings["threshold"])
        named = {key: settings[key] for key in ("encoder", "tokenizer", "tuning", "vocabulary")}
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        raise ModelError(
            f"not a model config of this version: {error!r}", where=str(path), fix="reinstall builder"
        ) from error
    weights = read_weights(folder / "weights.safetensors")
    digest = digest_model(weights, {"config": config.kept, **named, "threshold": threshold})
    if digest != settings["digest"]:
        what = f"digest is {digest}, config.json says {settings['digest']}"
        raise ModelError(what, where=str(folder), fix="reinstall builder")
    encode = text_encoder(vocabulary, config.bigram_buckets, tokens)
    return NumpyReader(weights, encode, config, heads, epsilon, threshold, digest)


@dataclass(frozen=True, eq=False)
class NumpyReader:
    """A tagger whose layers numpy computes. `threshold` and `digest` are those of the same tagger on torch."""

    weights: Weights
    encode: TextEncoder
    config: TaggerConfig
    heads: int
    epsilon: float
    threshold: float
    digest: str

    def predict(self, texts: Sequence[str], progress: Progress | None = None) -> list[tuple[Triplet, ...]]:
        """As builder.models.tagger.Tagger.predict."""
        return settled(self.read([Example("", text, ()) for text in texts], self.threshold, progress))

    def read(self, items: Sequence[Example], floor: float, progress: Progress | None = None) -> list[TextReading]:
        """What is proposed of each item's text, and the odds at its places, as builder.models.tagger.Tagger.read."""
        pieces = cut_pieces(items, self.encode, self.config.window)
        out = [TextReading([], {}) for _ in items]
        done, total = 0, sum(len(piece.encoded) for piece in pieces)
        with one_thread():
            for some in _portions(pieces):
                try:
                    states = self._encode([ids for piece in some for ids in _tokens(piece.encoded).ids])
                    edges = np.cumsum([sum(map(len, _tokens(piece.encoded).ids)) for piece in some])[:-1]
                    parts = zip(some, np.split(states[-1], edges), strict=True)
                    scores = [self._score(piece, own, floor) for piece, own in parts]
                    scores = self._mark(some, states, [0, *edges.tolist()], scores)
                except (LookupError, ValueError) as error:  # names or shapes of other layers
                    what = f"the weights belong to another model: {error!r}"
                    raise ModelError(what, where="the reader", fix="reinstall builder") from error
                for piece, own in zip(some, scores, strict=True):
                    add_scores(out, [piece], own)
                    done += len(piece.encoded)
                if progress:
                    progress(done, total, "tagging")
        return joined(out, pieces)

    def _score(self, piece: Piece, vectors: Floats, floor: float) -> Scores:
        """What is said of a piece, from the vectors of its tokens, row behind row."""
        context = _Context.of(piece.encoded, self._trunk(piece.encoded, vectors))
        table = self._span_table(context.hidden)
        asked = piece.asked_spans
        each = np.arange(len(asked))
        logits, polarities = self._pairs(context, table, asked[:, ASPECT], asked[:, OPINION], each, each)
        known = _odds(table, asked, logits, polarities)
        aspects, opinions = (_candidates(table[layer]) for layer in (ASPECT, OPINION))
        apart = np.maximum(aspects[:, None, 0] - opinions[:, 1], opinions[:, 0] - aspects[:, None, 1])
        left, right = (apart <= self.config.max_gap).nonzero()
        logits, polarities = self._pairs(context, table, aspects, opinions, left, right)
        keep = _sigmoid(logits) >= floor
        if not keep.any():
            return known, None
        logits, polarities = logits[keep], polarities[keep]
        spans = np.stack([aspects[left[keep]], opinions[right[keep]]], 1)
        shares = np.exp(_log_softmax(polarities))
        cores = np.stack([self._core_bits(context, spans[:, layer], layer) for layer in (ASPECT, OPINION)], 1)
        odds, chance, best = _odds(table, spans, logits, polarities), _sigmoid(logits), shares.argmax(-1)
        return known, FoundPairs(np.zeros(len(spans), np.int64), spans, odds, chance, best, shares.max(-1), cores)

    # ---- The encoder, as builder.models.encoder.Bert

    def _encode(self, rows: Sequence[IntArray]) -> list[Floats]:
        """Rows of tokens, each in its own context, one behind the other: what each layer says, [tokens, hidden size].
        Of the layers that no marker looks at, the last one alone.
        """
        weights, base = self.weights, "trunk.encoder.embeddings"
        at = np.concatenate([np.arange(len(row)) for row in rows])
        edges = np.cumsum([0, *map(len, rows)])
        summed = weights.rows(f"{base}.word_embeddings", np.concatenate(rows))
        summed += weights.rows(f"{base}.position_embeddings", at) + weights[f"{base}.token_type_embeddings.weight"][0]
        states = [weights.norm(f"{base}.LayerNorm", summed, self.epsilon)]
        while (name := f"trunk.encoder.encoder.layer.{len(states) - 1}") + ".output.dense.bias" in weights:
            states.append(self._apply(name, states[-1], self._attend(name, states[-1], edges)))
        return states[-1 - self.config.marker_layers :]

    def _apply(self, name: str, hidden: Floats, mixed: Floats) -> Floats:
        """What a layer makes of vectors and of the mixtures that each of them attends to."""
        attended = self._add(f"{name}.attention.output", mixed, hidden)
        inner = self.weights.linear(f"{name}.intermediate.dense", attended)
        return self._add(f"{name}.output", _gelu(inner), attended)

    def _attend(self, name: str, hidden: Floats, edges: IntArray) -> Floats:
        """Each token's mixture of the values of its row [tokens, hidden size]; rows reach from edge to edge."""
        query, key, value = (
            self.weights.linear(f"{name}.attention.self.{part}", hidden).reshape(len(hidden), self.heads, -1)
            for part in ("query", "key", "value")
        )
        out = np.empty_like(query)
        for start, end in pairwise(edges):
            own, keys, values = (part[start:end].swapaxes(0, 1) for part in (query, key, value))
            scores = own @ keys.swapaxes(1, 2) * np.float32(query.shape[-1] ** -0.5)
            out[start:end] = (_softmax(scores) @ values).swapaxes(0, 1)
        return out.reshape(hidden.shape)

    def _add(self, name: str, x: Floats, before: Floats) -> Floats:
        return self.weights.norm(f"{name}.LayerNorm", self.weights.linear(f"{name}.dense", x) + before, self.epsilon)

    # ---- The markers, as builder.models.markers.PairMarkers

    def _mark(
        self, pieces: Sequence[Piece], states: Sequence[Floats], begins: Sequence[int], scores: Sequence[Scores]
    ) -> list[Scores]:
        """The scores with what markers say of their pairs; `begins`: the first token of each piece."""
        if not self.config.marker_layers:
            return list(scores)
        asked = [_Asked.of(*parts) for parts in zip(pieces, begins, scores, strict=True)]
        if not any(len(own.share) for own in asked):
            return list(scores)
        markers: Floats = np.concatenate([own.gather(states[0]) for own in asked])
        markers += np.tile(self.weights["markers.kind.weight"], (len(markers) // 2, 1))
        for number, hidden in enumerate(states[:-1]):
            name = f"markers.layers.{number}"
            markers = self._apply(name, markers, self._look(name, markers, hidden, asked, number))
        top = np.concatenate([own.gather(states[-1]) for own in asked])
        first = np.concatenate([np.repeat(states[-1][own.begin][None], len(own.share), 0) for own in asked])
        pairs = [vectors.reshape(len(first), 2 * first.shape[1]) for vectors in (markers, top)]
        inner = _gelu(self.weights.linear("markers.inner", np.concatenate([*pairs, first], -1)))
        marked = _log_softmax(self.weights.linear("markers.out", inner))
        edges = np.cumsum([len(own.share) for own in asked])[:-1]
        return [
            (replace(known, marked=own[: len(known.logits)]), found and found.with_marked(own[len(known.logits) :]))
            for (known, found), own in zip(scores, np.split(marked, edges), strict=True)
        ]

    def _look(self, name: str, markers: Floats, hidden: Floats, asked: Sequence[_Asked], number: int) -> Floats:
        """Each marker's mixture of the values of its text's tokens and of its pair's markers [markers, hidden size]."""
        query, key, value = (
            self.weights.linear(f"{name}.attention.self.{part}", markers).reshape(len(markers), self.heads, -1)
            for part in ("query", "key", "value")
        )
        keys, values = (
            self.weights.linear(f"{name}.attention.self.{part}", hidden).reshape(len(hidden), self.heads, -1)
            for part in ("key", "value")
        )
        out, scale, at = np.empty_like(query), np.float32(query.shape[-1] ** -0.5), 0
        for own in asked:
            text, mine = slice(own.begin, own.end), slice(at, at + 2 * len(own.share))
            at = mine.stop
            looks, seen = query[mine].swapaxes(0, 1), keys[text].swapaxes(0, 1)
            far = looks @ seen.swapaxes(1, 2) * scale + own.nearness(self.weights["markers.bias"][number])
            two, by, of = (_in_pairs(part[mine]) for part in (query, key, value))
            near = (two @ by.swapaxes(2, 3) * scale).reshape(*far.shape[:2], 2)
            shares = _softmax(np.concatenate([far, near], -1))
            mixed = shares[..., :-2] @ values[text].swapaxes(0, 1)
            mixed += (shares[..., -2:].reshape(*two.shape[:2], 2, 2) @ of).reshape(mixed.shape)
            out[mine] = mixed.swapaxes(0, 1)
        return out.reshape(markers.shape)

    # ---- The trunk, as builder.models.encoder.EncoderTrunk

    def _trunk(self, text: Encoded, vectors: Floats) -> Floats:
        """Characters in context [T, D], from the vectors of the text's tokens."""
        tokens = _tokens(text)
        begin = np.cumsum([0, *map(len, tokens.ids)])[tokens.row]
        mean = np.zeros((len(text), vectors.shape[1]), np.float32)
        for at in (tokens.past > tokens.first).nonzero()[0]:
            mean[at] = vectors[begin[at] + tokens.first[at] : begin[at] + tokens.past[at]].mean(0)
        rows = self.weights.rows
        bigrams = rows("trunk.bigrams", text.bigrams)
        parts = [rows("trunk.chars", text.ids), bigrams[:-1], bigrams[1:], mean + rows("trunk.place", tokens.place)]
        x = self.weights.linear("trunk.enter", np.concatenate(parts, -1))
        for number in range(self.config.layers):
            x = x + self._convolve(f"trunk.layers.{number}", x, DILATIONS[number % len(DILATIONS)])
        return self.weights.norm("trunk.norm", x, _EPSILON)

    def _convolve(self, name: str, x: Floats, dilation: int) -> Floats:
        normal = self.weights.norm(f"{name}.norm", x, _EPSILON)
        out, gate = np.split(self.weights.convolve(f"{name}.mix", normal, dilation), 2, -1)
        product: Floats = out * _sigmoid(gate)
        return product

    # ---- The heads

    def _span_table(self, hidden: Floats) -> Floats:
        """A logit for every span of both layers, [2, T, T] by first and last character; -inf where there is none."""
        length = len(hidden)
        split = self.weights.linear("table.project", hidden).reshape(length, 2, -1).swapaxes(0, 1)
        begin, end, single = split[..., :TABLE_SIZE], split[..., TABLE_SIZE : 2 * TABLE_SIZE], split[..., -3:]
        inside = np.pad(single[..., 2].cumsum(-1, dtype=np.float32), ((0, 0), (1, 0)))
        opening, closing = single[..., 0] - inside[:, :-1], single[..., 1] + inside[:, 1:]
        table = begin @ end.swapaxes(1, 2) / np.float32(TABLE_SIZE**0.5) + opening[..., None] + closing[:, None]
        longest = self.config.max_span
        size = np.arange(length) - np.arange(length)[:, None]
        table = table + self.weights["table.length"][:, size.clip(0, longest - 1)]
        return np.where((size >= 0) & (size < longest), table, np.float32(-np.inf))

    def _pairs(
        self, context: _Context, table: Floats, aspects: Integers, opinions: Integers, left: Integers, right: Integers
    ) -> tuple[Floats, Floats]:
        """The logits of P pairs [P], and those of their polarities [P, 3]: of the spans at `left` and at `right`."""
        weights = self.weights
        aspect = self._span_vector("pairs.aspect", context, aspects)[left]
        opinion = self._span_vector("pairs.opinion", context, opinions)[right]
        aspects, opinions = aspects[left], opinions[right]
        hidden = aspect + opinion + weights.linear("pairs.product", aspect * opinion)
        hidden += self._place(context, aspects, opinions)
        hidden = _gelu(hidden + weights.linear("pairs.extra", _surroundings(table, aspects, opinions)))
        out = weights.linear("pairs.out", hidden + _gelu(weights.linear("pairs.mix", hidden)))
        return out[:, 0], out[:, 1:]

    def _span_vector(self, name: str, context: _Context, spans: Integers) -> Floats:
        start, end = spans.T
        ends = [context.hidden[start], context.hidden[end - 1], context.mean(start, end)]
        return self.weights.linear(f"{name}.project", np.concatenate(ends, -1))

    def _place(self, context: _Context, aspects: Integers, opinions: Integers) -> Floats:
        """Where the opinion stands as seen from the aspect, and what lies between: [P, size]."""
        low, high = _gap(aspects, opinions)
        steps = [step for step in DISTANCES if step <= self.config.max_gap // 2]
        distance = 2 * np.searchsorted(steps, high - low, side="right") + (aspects[:, 0] < opinions[:, 0])
        most = self.config.max_clauses
        clause, sentence = context.text.clause, context.text.sentence
        clauses = (clause[opinions[:, 0]] - clause[aspects[:, 0]]).clip(-most, most) + most
        apart = (sentence[opinions[:, 0]] != sentence[aspects[:, 0]]).astype(np.int64)
        rows = self.weights.rows
        placed = rows("pairs.distance", distance) + rows("pairs.clauses", clauses) + rows("pairs.sentence", apart)
        return placed + self.weights.linear("pairs.between", context.mean(low, high))

    def _core_bits(self, context: _Context, spans: Integers, layer: int) -> Any:
        """Whether a character of a span is of its core, [N, longest]."""
        at = (spans[:, :1] + np.arange(self.config.max_span)).clip(max=len(context.hidden) - 1)
        chars = self.weights.linear("cores.char", context.hidden)[at]
        own = self._span_vector(f"cores.spans.{layer}", context, spans)
        return self.weights.linear("cores.out", _gelu(chars + own[:, None]))[..., 0] > 0


@dataclass(frozen=True, slots=True, eq=False)
class _Context:
    """What the trunk read of a text, with its running sum [T + 1, D]."""

    text: Encoded
    hidden: Floats
    summed: Floats

    @classmethod
    def of(cls, text: Encoded, hidden: Floats) -> _Context:
        return cls(text, hidden, np.pad(hidden.cumsum(0, dtype=np.float32), ((1, 0), (0, 0))))

    def mean(self, start: Integers, end: Integers) -> Floats:
        """[N, D]; zero for an empty stretch."""
        out: Floats = (self.summed[end] - self.summed[start]) / np.maximum(end - start, 1)[:, None].astype(np.float32)
        return out


@dataclass(frozen=True, slots=True, eq=False)
class _Asked:
    """The tokens of a piece, [begin, end) of all. For each of its pairs what part of aspect and of opinion each token
    is [n, 2, K], and where it is: in the aspect, in the opinion or elsewhere [n, K].
    """

    begin: int
    end: int
    share: Floats
    place: Integers

    @classmethod
    def of(cls, piece: Piece, begin: int, scores: Scores) -> _Asked:
        tokens, (_, found) = _tokens(piece.encoded), scores
        spans = piece.asked_spans if found is None else np.concatenate([piece.asked_spans, found.spans])
        size = sum(map(len, tokens.ids))
        at, edges = np.arange(size), tokens.stretches(spans)
        inside = (edges[..., :1] <= at) & (at < edges[..., 1:])
        share = inside / np.maximum(inside.sum(-1, keepdims=True, dtype=np.float32), 1)
        place = np.where(inside[:, 0], 0, np.where(inside[:, 1], 1, 2))
        return cls(begin, begin + size, share, place)

    def gather(self, hidden: Floats) -> Floats:
        """The mean vectors of the spans' tokens [2 n, D]."""
        return self.share.reshape(-1, self.end - self.begin) @ hidden[self.begin : self.end]

    def nearness(self, bias: Floats) -> Floats:
        """What each marker adds to its looks at tokens [heads, 2 n, K], by a table [2, 3, heads]."""
        return bias[:, self.place].transpose(3, 1, 0, 2).reshape(bias.shape[-1], -1, self.place.shape[-1])


def _in_pairs(vectors: Floats) -> Floats:
    """The vectors of markers [2 n, heads, d] as [heads, n, 2, d]."""
    return vectors.reshape(-1, 2, *vectors.shape[1:]).transpose(2, 0, 1, 3)


def _tokens(text: Encoded) -> TokenRows:
    assert text.tokens is not None, "the reader's own encoder cut the text"
    return text.tokens


def _portions(pieces: Sequence[Piece]) -> Iterator[list[Piece]]:
    """Neighbouring pieces of `_TOKENS` tokens or little more together."""
    portion, size = list[Piece](), 0
    for piece in pieces:
        portion.append(piece)
        size += sum(map(len, _tokens(piece.encoded).ids))
        if size >= _TOKENS:
            yield portion
            portion, size = [], 0
    if portion:
        yield portion


def _candidates(table: Floats) -> Integers:
    """The spans of a layer above the cut, at most some for each character of a padded text: [N, (start, end)]."""
    length = padded(len(table))
    most = min(table.size, 4 + length // 5)
    least = np.partition(table, -most, axis=None)[-most] if most < table.size else -np.inf
    first, last = ((table > CUT) & (table >= least)).nonzero()
    return np.stack([first, last + 1], 1)


def _surroundings(table: Floats, aspects: Integers, opinions: Integers) -> Floats:
    """Per pair the two span logits, and how many aspects and opinions begin between the two and near both: [P, 6]."""
    own = [
        table[layer, spans[:, 0], spans[:, 1] - 1].clip(-8, 8) / 4 for layer, spans in enumerate((aspects, opinions))
    ]
    begins = np.pad(_sigmoid(table).sum(-1).cumsum(-1, dtype=np.float32), ((0, 0), (1, 0)))
    low, high = _gap(aspects, opinions)
    left, right = np.minimum(aspects[:, 0], opinions[:, 0]), np.maximum(aspects[:, 1], opinions[:, 1])
    before = begins[ASPECT, left] - begins[ASPECT, (left - NEAR).clip(min=0)]
    after = begins[ASPECT, (right + NEAR).clip(max=begins.shape[1] - 1)] - begins[ASPECT, right]
    counts = [*(begins[:, high] - begins[:, low]), before, after]
    return np.stack([*own, *(np.log1p(count.clip(min=0)) for count in counts)], -1)


def _gap(aspects: Integers, opinions: Integers) -> tuple[Integers, Integers]:
    """[low, high) between two spans, empty where they touch or overlap."""
    low = np.minimum(aspects[:, 1], opinions[:, 1])
    return low, np.maximum(low, np.maximum(aspects[:, 0], opinions[:, 0]))


def _odds(table: Floats, spans: Integers, logits: Floats, polarities: Floats) -> OddsTable:
    ends = [table[layer, spans[:, layer, 0], spans[:, layer, 1] - 1] for layer in (ASPECT, OPINION)]
    unmarked = np.empty((len(spans), 0), np.float32)
    return OddsTable(np.stack([*ends, logits], 1).clip(-LIMIT, LIMIT), _log_softmax(polarities), unmarked)


def _sigmoid(x: Floats) -> Floats:
    with np.errstate(over="ignore"):
        out: Floats = np.reciprocal(1 + np.exp(-x))
    return out


def _log_softmax(x: Floats) -> Floats:
    shifted: Any = x - x.max(-1, keepdims=True)
    out: Floats = shifted - np.log(np.exp(shifted).sum(-1, keepdims=True))
    return out


def _softmax(x: Floats) -> Floats:
    out: Floats = np.exp(x - x.max(-1, keepdims=True))
    out /= out.sum(-1, keepdims=True)
    return out


def _gelu(x: Floats) -> Floats:
    """x Φ(x), of which the tail of Φ is taken to seven digits (Abramowitz and Stegun 1964, 26.2.17). In place."""
    for begin in range(0, len(x), _BLOCK):
        part = x[begin : begin + _BLOCK]
        size = np.abs(part)
        t = 1 / (size * _TAIL[0] + 1)
        series = t * _TAIL[1]
        for factor in _TAIL[2:]:
            series += factor
            series *= t
        series *= np.exp(size * size * _HALF)
        series *= size
        np.maximum(part, 0, out=part)
        part -= series
    return x
