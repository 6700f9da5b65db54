"""The dependency parser: words and tags in, heads and UD v1 relations out.

A biaffine parser (Dozat and Manning 2017) on a small BiLSTM: a word is its own vector if the treebank knew it, a
fixed vector if raw text knew it (`fit_parser.word_vectors`), its first, second and last character, its tag and length:
unknown dishes still parse by their characters and tags. Units are parsed in batches of like length, formed from the
call's units alone: the same call gives the same trees on every machine layout. torch trains it (`fit_parser.py`);
numpy reads with it, which is faster for so small a network and starts without torch.

Valid trees from arc scores: the best head of every word, repaired only where that is no tree.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import chain
from pathlib import Path

import numpy as np
import numpy.typing as npt

from builder.core.errors import ResourceError
from builder.core.machine import one_thread
from builder.language.nlp.biaffine import Floats, Ints, Network, Weights
from builder.language.nlp.crf import pack, unpack
from builder.language.nlp.features import fold

_OUT = np.float32(-1e9)


def repair(scores: npt.NDArray[np.float32], lengths: Sequence[int]) -> npt.NDArray[np.int64]:
    """Heads [units, 1 + words]; position 0 and the padding hold 0."""
    size = scores.shape[1]
    count = np.asarray(lengths)
    position = np.arange(size)
    inside = position[None] <= count[:, None]
    usable = np.where(inside[:, None, :], scores, _OUT)
    usable[:, position, position] = _OUT
    heads: npt.NDArray[np.int64] = usable.argmax(axis=2).astype(np.int64)
    words = inside & (position > 0)
    heads[~words] = 0
    top: npt.NDArray[np.int64] = heads
    for _ in range(max(1, int(size).bit_length())):
        top = np.take_along_axis(top, top, axis=1)
    sound = (top == 0).all(axis=1) & (((heads == 0) & words).sum(axis=1) == 1)
    for unit in np.flatnonzero(~sound):
        n = int(count[unit]) + 1
        heads[unit, :n] = _tree(usable[unit, :n, :n].copy(), heads[unit, :n].tolist())
    return heads


def _tree(scores: npt.NDArray[np.float32], heads: list[int]) -> list[int]:
    """One root, then no cycle: each change takes the word and head that lose least."""
    root = _root(scores, heads)
    scores[1:, 0] = _OUT
    heads = [int(scores[i].argmax()) if i and head == 0 else head for i, head in enumerate(heads)]
    heads[root] = 0
    while cycle := _cycle(heads):
        below = _below(heads, cycle)
        outside = [i for i in range(1, len(heads)) if i not in below]
        losses = [(float(scores[word, heads[word]] - scores[word, outside].max()), word) for word in cycle]
        _, word = min(losses)
        heads[word] = outside[int(scores[word, outside].argmax())]
    return heads


def _root(scores: npt.NDArray[np.float32], heads: list[int]) -> int:
    """The word that loses least by being the only root."""
    candidates = [i for i in range(1, len(heads)) if heads[i] == 0] or list(range(1, len(heads)))
    return max(candidates, key=lambda i: (float(scores[i, 0] - scores[i, 1:].max()), -i))


def _cycle(heads: list[int]) -> list[int]:
    """The words of some cycle, or none."""
    state = [0] * len(heads)
    state[0] = -1
    for start in range(1, len(heads)):
        at = start
        while state[at] == 0:
            state[at] = start
            at = heads[at]
        if state[at] == start:
            cycle = [at]
            while (at := heads[at]) != cycle[0]:
                cycle.append(at)
            return cycle
    return []


def _below(heads: list[int], cycle: list[int]) -> set[int]:
    """The cycle and everything that hangs on it."""
    below = set(cycle)
    grown = True
    while grown:
        more = {i for i, head in enumerate(heads) if i and head in below} - below
        below |= more
        grown = bool(more)
    return below


_BATCH_WORDS = 3000
_CACHE = 200_000
_STRINGS = ("words", "vectors", "chars", "tags", "rels")
FEATURES = 7
"""Columns of a word: word, fixed vector, first, second and last character, length, tag."""
LENGTHS = 8
"""Sizes of a word that are told apart, and of their vectors."""


@dataclass(frozen=True, slots=True)
class ParserShape:
    """Sizes of the network; stored with the weights."""

    words: int
    vectors: int
    chars: int
    tags: int
    rels: int
    word_dim: int = 48
    vector_dim: int = 64
    char_dim: int = 48
    tag_dim: int = 32
    hidden: int = 80
    layers: int = 2
    arc: int = 64
    rel: int = 24
    dropout: float = 0.33

    @property
    def width(self) -> int:
        """Numbers of a word before the first layer."""
        return self.word_dim + self.vector_dim + 3 * self.char_dim + self.tag_dim + LENGTHS

    def weights(self) -> dict[str, tuple[int, ...]]:
        """The names and shapes of the network's weights."""
        gates, both = 4 * self.hidden, 2 * self.hidden
        shapes: dict[str, tuple[int, ...]] = {
            "root": (both,),
            "arc": (self.arc + 1, self.arc),
            "rel": (self.rels, self.rel + 1, self.rel + 1),
            "word.weight": (self.words + 1, self.word_dim),
            "vector.weight": (self.vectors + 1, self.vector_dim),
            "char.weight": (self.chars + 1, self.char_dim),
            "tag.weight": (self.tags + 1, self.tag_dim),
            "length.weight": (LENGTHS, LENGTHS),
        }
        for layer in range(self.layers):
            for name in (f"l{layer}", f"l{layer}_reverse"):
                shapes[f"lstm.weight_ih_{name}"] = (gates, both if layer else self.width)
                shapes[f"lstm.weight_hh_{name}"] = (gates, self.hidden)
                shapes[f"lstm.bias_ih_{name}"] = shapes[f"lstm.bias_hh_{name}"] = (gates,)
        for name, size in {
            "arc_head": self.arc,
            "arc_dep": self.arc,
            "rel_head": self.rel,
            "rel_dep": self.rel,
        }.items():
            shapes[f"views.{name}.weight"], shapes[f"views.{name}.bias"] = (size, both), (size,)
        return shapes


@dataclass(frozen=True, slots=True)
class ParserVocabulary:
    """Numbers from 1; 0 is unknown or absent."""

    words: Mapping[str, int]
    vectors: Mapping[str, int]
    chars: Mapping[str, int]
    tags: Mapping[str, int]
    rels: tuple[str, ...]

    def columns(self, word: str) -> tuple[int, int, int, int, int, int]:
        """All columns of FEATURES but the tag."""
        shown = fold(word.lower())
        char = self.chars.get
        second = char(shown[1], 0) if len(shown) > 1 else 0
        return (
            self.words.get(shown, 0),
            self.vectors.get(shown, 0),
            char(shown[0], 0),
            second,
            char(shown[-1], 0),
            min(len(shown), LENGTHS - 1),
        )


class _Numbers(dict[tuple[str, str], int]):
    """(word, tag) -> its number among the different ones of a call, in order."""

    def __missing__(self, pair: tuple[str, str]) -> int:
        number = self[pair] = len(self)
        return number


@dataclass(frozen=True, slots=True)
class Parser:
    """A network with the vocabulary that turns words into its columns; `cache` keeps those of words seen before."""

    vocabulary: ParserVocabulary
    shape: ParserShape
    weights: Weights
    network: Network
    cache: dict[str, tuple[int, int, int, int, int, int]]

    def parse(self, units: Sequence[tuple[Sequence[str], Sequence[str]]]) -> list[tuple[list[int], list[str]]]:
        """(words, tags) -> (heads, relations) of each unit; heads are word indices, -1 for its one root."""
        out: list[tuple[list[int], list[str]]] = [([], [])] * len(units)
        order = sorted((i for i in range(len(units)) if len(units[i][0])), key=lambda i: (-len(units[i][0]), i))
        numbers = _Numbers()
        numbered = [[numbers[pair] for pair in zip(words, tags, strict=True)] for words, tags in units]
        if not numbers:
            return out
        with one_thread():
            projected = self.network.project(np.array([self._columns(word, tag) for word, tag in numbers]))
            for batch in _batches(order, [len(words) for words, _ in units]):
                for i, tree in zip(batch, self._parse_batch(projected, [numbered[i] for i in batch]), strict=True):
                    out[i] = tree
        return out

    def _parse_batch(
        self, projected: tuple[Floats, Floats], units: Sequence[Sequence[int]]
    ) -> list[tuple[list[int], list[str]]]:
        """Trees of units of falling length, whose words are rows of `projected`."""
        lengths = np.array([len(unit) for unit in units])
        inside = np.arange(lengths[0]) < lengths[:, None]
        by_time = inside.T
        padded = np.zeros(inside.shape, np.int64)
        padded[inside] = np.fromiter(chain.from_iterable(units), np.int64)
        sizes = by_time.sum(axis=1)
        seen = self.network.encode(projected, padded.T[by_time], sizes.tolist())
        places = _rows_of_units(inside, sizes)
        heads = repair(self.network.arcs(seen, places), lengths.tolist())
        above = np.take_along_axis(places, heads[:, 1:], axis=1).T[by_time]
        scores = self.network.relations(seen, above)
        names = self.vocabulary.rels
        root = names.index("root")
        scores[:, root] = -1e9
        labels = np.full(by_time.shape, root)
        labels[by_time] = scores.argmax(axis=1)
        labels[heads[:, 1:].T == 0] = root
        return [
            ((head[1 : n + 1] - 1).tolist(), [names[label] for label in labelled[:n].tolist()])
            for head, labelled, n in zip(heads, labels.T, lengths.tolist(), strict=True)
        ]

    def _columns(self, word: str, tag: str) -> tuple[int, ...]:
        columns = self.cache.get(word)
        if columns is None:
            columns = self.vocabulary.columns(word)
            if len(self.cache) < _CACHE:
                self.cache[word] = columns
        return *columns, self.vocabulary.tags.get(tag, 0)


def make_parser(vocabulary: ParserVocabulary, shape: ParserShape, weights: Weights) -> Parser:
    """A parser that reads by these weights."""
    return Parser(vocabulary, shape, weights, Network.of(weights), {})


def _rows_of_units(inside: npt.NDArray[np.bool_], sizes: Ints) -> Ints:
    """[units, 1 + words]: where each word of a unit stands time by time; the root, and what is outside, stand last."""
    starts = np.cumsum(sizes) - sizes
    root = int(sizes.sum())
    rows = np.full((inside.shape[0], inside.shape[1] + 1), root)
    rows[:, 1:] = np.where(inside, starts + np.arange(len(inside))[:, None], root)
    return rows


def _batches(order: Sequence[int], lengths: Sequence[int]) -> list[list[int]]:
    """Units of falling length, at most about _BATCH_WORDS padded words together."""
    out: list[list[int]] = []
    for i in order:
        if not out or len(out[-1]) * lengths[out[-1][0]] >= _BATCH_WORDS:
            out.append([])
        out[-1].append(i)
    return out


def save(parser: Parser, path: Path) -> None:
    """Half-precision weights, sizes and vocabularies in one safetensors file."""
    from safetensors.numpy import save_file

    tensors: dict[str, npt.NDArray[np.generic]] = {
        f"net.{name}": np.ascontiguousarray(value.astype(np.float16)) for name, value in parser.weights.items()
    }
    for name in _STRINGS:
        tensors[f"strings.{name}"] = pack(getattr(parser.vocabulary, name))
    # As a tensor, for the order of safetensors metadata changes from run to run: the same training, the same bytes.
    tensors["shape"] = pack([json.dumps(asdict(parser.shape))])
    save_file(tensors, str(path))


def load(path: Path) -> Parser:
    """The inverse of `save`. A missing or foreign file is a ResourceError, and takes no more memory than it is long."""
    from safetensors import SafetensorError
    from safetensors.numpy import load_file

    try:
        tensors = load_file(str(path))
        shape = ParserShape(**json.loads(unpack(tensors["shape"])[0]))
        strings = {name: unpack(tensors[f"strings.{name}"]) for name in _STRINGS}
        halves = {name[4:]: value for name, value in tensors.items() if name.startswith("net.")}
        _require_same_sizes(shape, strings, halves)
        weights = {name: value.astype(np.float32) for name, value in halves.items()}
        parser = make_parser(_number(strings), shape, weights)
    except (OSError, SafetensorError, LookupError, TypeError, ValueError, RecursionError, AttributeError) as error:
        reason = " ".join(str(error).split())[:200]
        raise ResourceError(
            f"not a parser of this version: {reason}", where=str(path), fix="train it again or reinstall builder"
        ) from error
    return parser


def _number(strings: Mapping[str, Sequence[str]]) -> ParserVocabulary:
    numbered = {name: {string: i for i, string in enumerate(values, 1)} for name, values in strings.items()}
    return ParserVocabulary(
        numbered["words"], numbered["vectors"], numbered["chars"], numbered["tags"], tuple(strings["rels"])
    )


def _require_same_sizes(
    shape: ParserShape, strings: Mapping[str, Sequence[str]], held: Mapping[str, npt.NDArray[np.generic]]
) -> None:
    """ValueError where the sizes that a file claims are not those of its weights and vocabularies."""
    counted = {name: len(values) for name, values in strings.items()}
    sizes = [value for name, value in asdict(shape).items() if name != "dropout"]
    if not all(type(size) is int and size >= 0 for size in sizes) or not 0 <= shape.dropout < 1:
        raise ValueError("its sizes are no sizes")
    if not 0 < shape.layers <= len(held) or counted != {name: getattr(shape, name) for name in _STRINGS}:
        raise ValueError("it claims other sizes than its weights and words have")
    if shape.weights() != {name: value.shape for name, value in held.items()}:
        raise ValueError("it claims other sizes than its weights have")
    if any(value.dtype.kind != "f" for value in held.values()):
        raise ValueError("its weights are no fractions")
    if "root" not in strings["rels"]:
        raise ValueError("no relation is called root")
