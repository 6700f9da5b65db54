"""The dependency parser: words and tags in, heads and UD v1 relations out. Needs torch; imported by `embedded` when
it loads.

A biaffine parser (Dozat and Manning 2017) on a small BiLSTM: a word is its own vector if the treebank knew it, a
fixed vector if raw text knew it (`word_vectors.py`), its first, second and last character, its tag and length, so that
unknown dishes still parse by their characters and tags. Units are parsed in batches of like length, formed from the
call's units alone: the same call gives the same trees on every machine layout.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from builder.errors import ResourceError
from builder.learning.claims import Shapes, claimed_shapes, read_shapes
from builder.nlp.features import fold
from builder.nlp.trees import repair

_BATCH_WORDS = 3000
_CACHE = 200_000
_CACHED = 256  # rows whose products stay in the processor's cache
_STRINGS = ("words", "vectors", "chars", "tags", "rels")
FEATURES = 7
"""Columns of a word: word, fixed vector, first, second and last character, length, tag."""


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
    hidden: int = 144
    layers: int = 2
    arc: int = 128
    rel: int = 40
    dropout: float = 0.33


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
            min(len(shown), 7),
        )


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
        self.length = nn.Embedding(8, 8)
        width = shape.word_dim + shape.vector_dim + 3 * shape.char_dim + shape.tag_dim + 8
        self.lstm = nn.LSTM(
            width, shape.hidden, shape.layers, bidirectional=True, batch_first=True, dropout=shape.dropout
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


@dataclass(frozen=True, slots=True)
class Parser:
    """A network with the vocabulary that turns words into its columns; `cache` keeps those of words seen before."""

    vocabulary: ParserVocabulary
    network: Network
    cache: dict[str, tuple[int, int, int, int, int, int]]

    def parse(self, units: Sequence[tuple[Sequence[str], Sequence[str]]]) -> list[tuple[list[int], list[str]]]:
        """(words, tags) -> (heads, relations) of each unit; heads are word indices, -1 for its one root."""
        out: list[tuple[list[int], list[str]]] = [([], [])] * len(units)
        order = sorted((i for i in range(len(units)) if len(units[i][0])), key=lambda i: (-len(units[i][0]), i))
        with _one_thread(), torch.inference_mode():
            for batch in _batches(order, [len(words) for words, _ in units]):
                for i, tree in zip(batch, self._parse_batch([units[i] for i in batch]), strict=True):
                    out[i] = tree
        return out

    def _parse_batch(self, units: Sequence[tuple[Sequence[str], Sequence[str]]]) -> list[tuple[list[int], list[str]]]:
        lengths = [len(words) for words, _ in units]
        columns = np.zeros((len(units), lengths[0], FEATURES), np.int64)
        for row, (words, tags) in zip(columns, units, strict=True):
            row[: len(words)] = [self._columns(word, tag) for word, tag in zip(words, tags, strict=True)]
        states = self.network.encode(torch.from_numpy(columns), torch.tensor(lengths))
        heads = repair(self.network.arcs(states).numpy(), lengths)
        chosen = self.network.relations(states, torch.from_numpy(heads))
        root = self.vocabulary.rels.index("root")
        chosen[..., root] = -1e9
        labels = chosen.argmax(2).numpy()
        labels[heads == 0] = root
        names = self.vocabulary.rels
        return [
            ((head[1 : n + 1] - 1).tolist(), [names[label] for label in labelled[1 : n + 1].tolist()])
            for head, labelled, n in zip(heads, labels, lengths, strict=True)
        ]

    def _columns(self, word: str, tag: str) -> tuple[int, ...]:
        columns = self.cache.get(word)
        if columns is None:
            columns = self.vocabulary.columns(word)
            if len(self.cache) < _CACHE:
                self.cache[word] = columns
        return *columns, self.vocabulary.tags.get(tag, 0)


@contextmanager
def _one_thread() -> Iterator[None]:
    """The network is so small that threads cost more than they bring: two that wait for each other on a busy machine
    take 500 ms a sentence.
    """
    before = torch.get_num_threads()
    if before == 1:
        yield
        return
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


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
    from safetensors.torch import save_file

    tensors = {f"net.{name}": value.detach().half().contiguous() for name, value in parser.network.state_dict().items()}
    known = parser.vocabulary
    for name in _STRINGS:
        strings: Iterable[str] = getattr(known, name)
        tensors[f"strings.{name}"] = _pack("\x00".join(strings))
    # As a tensor, for the order of safetensors metadata changes from run to run: the same training, the same bytes.
    tensors["shape"] = _pack(json.dumps(asdict(parser.network.shape)))
    save_file(tensors, str(path))


def _pack(text: str) -> Tensor:
    return torch.from_numpy(np.frombuffer(text.encode("utf-8"), np.uint8).copy())


def _unpack(packed: Tensor) -> str:
    if packed.dtype != torch.uint8 or packed.dim() != 1:
        raise ValueError("a text is not a row of bytes")
    return packed.numpy().tobytes().decode("utf-8")


def load(path: Path) -> Parser:
    """The inverse of `save`. A missing or foreign file is a ResourceError, and takes no more memory than it is long."""
    from safetensors import SafetensorError, safe_open

    try:
        with _one_thread(), safe_open(str(path), "pt") as file:
            shape = ParserShape(**json.loads(_unpack(file.get_tensor("shape"))))
            packed = {name: _unpack(file.get_tensor(f"strings.{name}")) for name in _STRINGS}
            strings = {name: text.split("\x00") if text else [] for name, text in packed.items()}
            held = {name[4:]: size for name, size in read_shapes(path).items() if name.startswith("net.")}
            _require_same_sizes(shape, strings, held)
            network = Network(shape)
            network.load_state_dict({name: file.get_tensor(f"net.{name}").float() for name in held})
    except (OSError, SafetensorError, LookupError, TypeError, ValueError, RuntimeError, OverflowError) as error:
        reason = " ".join(str(error).split())[:200]  # torch says it in several lines
        raise ResourceError(
            f"not a parser of this version: {reason}", where=str(path), fix="train it again or reinstall builder"
        ) from error
    network.eval()
    numbered = {name: {string: i for i, string in enumerate(values, 1)} for name, values in strings.items()}
    known = ParserVocabulary(
        numbered["words"], numbered["vectors"], numbered["chars"], numbered["tags"], tuple(strings["rels"])
    )
    return Parser(known, network, {})


def _require_same_sizes(shape: ParserShape, strings: Mapping[str, Sequence[str]], held: Shapes) -> None:
    """ValueError where the sizes that a file claims are not those of its weights and vocabularies."""
    counted = {name: len(values) for name, values in strings.items()}
    if shape.layers > len(held) or counted != {name: getattr(shape, name) for name in _STRINGS}:
        raise ValueError("it claims other sizes than its weights and words have")
    if claimed_shapes(lambda: Network(shape)) != held:
        raise ValueError("it claims other sizes than its weights have")
    if "root" not in strings["rels"]:
        raise ValueError("no relation is called root")
