"""The segmenter: a linear-chain CRF over characters with joint labels (place in the word × universal tag).

In: chains of text and, optionally, gaps that are already decided and tags that are already known. Out: word spans and
tags. Trained with python-crfsuite (`train.py`), stored as a sparse safetensors file and decoded here in numpy over
all chains of a call at once: table look-ups need no string per feature and character, and a constrained decoding
(user words, gold words) is the same Viterbi with a mask, which CRFsuite's own tagger cannot do.

Best labellings of many chains at once, for the segmenter: max-marginals and Viterbi.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import repeat
from pathlib import Path

import numpy as np
import numpy.typing as npt

from builder.core.errors import ResourceError
from builder.language.nlp.conllu import surface
from builder.language.nlp.features import WINDOWS, lay_out, streams

Floats = npt.NDArray[np.float32]
Places = npt.NDArray[np.int64]
NEVER = np.float32(-1e4)


@dataclass(frozen=True, slots=True, eq=False)
class Chains:
    """Chains, longest first: where they start in the scores, and how many reach each character."""

    starts: Places
    lengths: Places
    reaching: list[int]

    @classmethod
    def of(cls, starts: Places, lengths: Places) -> Chains:
        """`lengths` fall."""
        return cls(starts, lengths, (lengths[:, None] > np.arange(lengths[0])).sum(axis=0).tolist())

    def places(self, i: int) -> Places:
        """Where the chains that reach character i have it."""
        return self.starts[: self.reaching[i]] + i


@dataclass(frozen=True, slots=True, eq=False)
class Transitions:
    """`across`: from E-* or S-* to B-* or S-*, [2T, 2T]. `inside`: from B or I to I or E of a tag, [2, 2, T]."""

    across: Floats
    inside: Floats

    @classmethod
    def of(cls, transitions: Floats) -> Transitions:
        """From those of all labels to all labels."""
        t = len(transitions) // 4
        across = transitions[2 * t :][:, [*range(t), *range(3 * t, 4 * t)]]
        blocks, tag = transitions.reshape(4, t, 4, t), np.arange(t)
        inside = np.stack([np.stack([blocks[origin, tag, goal, tag] for goal in (1, 2)]) for origin in (0, 1)])
        return cls(np.ascontiguousarray(across), inside)

    @property
    def tags(self) -> int:
        return len(self.across) // 2

    def before(self, chains: Chains, scores: Floats) -> Floats:
        """The best scores up to and with each label: [characters, labels, chains]."""
        t = self.tags
        best = np.zeros((len(chains.reaching), 4 * t, len(chains.starts)), np.float32)
        best[0] = scores[chains.starts].T
        best[0, t : 3 * t] += NEVER
        for i in range(1, len(best)):
            n = chains.reaching[i]
            previous, now = best[i - 1, :, :n], best[i, :, :n]
            begun = (previous[2 * t :, None] + self.across[:, :, None]).max(axis=0)
            now[:t], now[3 * t :] = begun[:t], begun[t:]
            going = previous[: 2 * t].reshape(2, 1, t, n) + self.inside[..., None]
            now[t : 3 * t] = going.max(axis=0).reshape(2 * t, n)
            now += scores[chains.places(i)].T
        return best

    def after(self, chains: Chains, scores: Floats) -> Floats:
        """The best scores of what follows each label: [characters, labels, chains]."""
        t = self.tags
        best = np.zeros((len(chains.reaching), 4 * t, len(chains.starts)), np.float32)
        best[chains.lengths - 1, : 2 * t, np.arange(len(chains.starts))] = NEVER
        for i in range(len(best) - 2, -1, -1):
            n = chains.reaching[i + 1]
            following = best[i + 1, :, :n] + scores[chains.places(i + 1)].T
            begun = np.concatenate([following[:t], following[3 * t :]])
            best[i, 2 * t :, :n] = (begun[:, None] + self.across.T[:, :, None]).max(axis=0)
            going = following[t : 3 * t].reshape(1, 2, t, n) + self.inside[..., None]
            best[i, : 2 * t, :n] = going.max(axis=1).reshape(2 * t, n)
        return best

    def margins(self, chains: Chains, scores: Floats, out: Floats) -> None:
        """Write to the characters' places by how much the best labelling with a gap before each beats that without."""
        t = self.tags
        total = self.before(chains, scores)
        total += self.after(chains, scores)
        gap = np.maximum(total[:, :t].max(axis=1), total[:, 3 * t :].max(axis=1))
        gap -= total[:, t : 3 * t].max(axis=1)
        for i, n in enumerate(chains.reaching):
            out[chains.places(i)] = gap[i, :n]

    def viterbi(self, chains: Chains, scores: Floats, out: npt.NDArray[np.int32]) -> None:
        """Write the best labels to the characters' places. Of equals the first, by the label before."""
        t, count = self.tags, len(chains.starts)
        best = self.before(chains, scores)
        last = best[chains.lengths - 1, :, np.arange(count)]
        last[:, : 2 * t] += NEVER
        label = last.argmax(axis=1)
        place = np.concatenate([np.arange(t), np.zeros(2 * t, np.int64), np.arange(t, 2 * t)])
        chain = np.arange(count)
        for i in range(len(best) - 1, -1, -1):
            n = chains.reaching[i]
            now = label[:n]
            out[chains.places(i)] = now
            if i:
                previous = best[i - 1, :, :n]
                begun = (previous[2 * t :] + self.across[:, place[now]]).argmax(axis=0) + 2 * t
                goal, tag = np.divmod(np.clip(now - t, 0, 2 * t - 1), t)
                from_b = previous[tag, chain[:n]] + self.inside[0, goal, tag]
                from_i = previous[t + tag, chain[:n]] + self.inside[1, goal, tag]
                label[:n] = np.where((now < t) | (now >= 3 * t), begun, tag + t * (from_i > from_b))


Ints = npt.NDArray[np.int32]
LETTERS = "BIES"
FREE, JOIN, SPLIT = 0, 1, 2
ANY, WORD = -2, -1
_OF_WORDS = frozenset(("ADJ", "ADV", "AUX", "NOUN", "VERB"))
_BATCH = 128
_AT_ONCE = 1024  # characters whose scores stay in the processor's cache
_MOST_LABELS = 256
"""Columns of a table: their numbers are kept as bytes."""


@dataclass(frozen=True, slots=True)
class Crf:
    """Weights: the rows of each stream's atoms, a table [rows, 4 × tags] per (stream, offset); row 0 is unknown."""

    tags: tuple[str, ...]
    rows: Mapping[str, Mapping[str, int]]
    tables: Mapping[tuple[str, int], Floats]
    transitions: Floats
    """[4 × tags, 4 × tags], labels in the order B-*, I-*, E-*, S-*."""


def emissions(crf: Crf, chains: Sequence[str]) -> Floats:
    """State scores [characters, 4 × tags] of all chains, end to end without separators."""
    text, starts = lay_out(chains)
    keep = (
        np.concatenate([np.arange(s, s + len(c)) for s, c in zip(starts, chains, strict=True)])
        if chains
        else np.zeros(0, np.int64)
    )
    scores = np.zeros((len(keep), 4 * len(crf.tags)), np.float32)
    looked_up: list[tuple[Floats, Ints]] = []
    for name, atoms in streams(text).items():
        ids = np.fromiter(map(crf.rows[name].get, atoms, repeat(0)), np.int32, len(atoms))
        looked_up += [(crf.tables[name, offset], ids[keep + offset]) for offset in WINDOWS[name]]
    room = np.empty((_AT_ONCE, scores.shape[1]), np.float32)
    for first in range(0, len(scores), _AT_ONCE):
        part = scores[first : first + _AT_ONCE]
        for table, ids in looked_up:
            part += table.take(ids[first : first + _AT_ONCE], axis=0, out=room[: len(part)], mode="clip")
    return scores


def margins(crf: Crf, scores: Floats, lengths: Sequence[int]) -> Floats:
    """By how much the best labelling with a gap before a character beats the best without: [characters], > 0 is a gap.

    These are max-marginals. The state scores alone would be cheaper, but take the wrong side at 6 gaps in 100 even
    with the best threshold: the transitions carry much of what the CRF knows.
    """
    out = np.zeros(len(scores), np.float32)
    transitions = Transitions.of(crf.transitions)
    for chains in _batches(lengths):
        transitions.margins(chains, scores, out)
    return out


def constrain(
    tags: Sequence[str],
    scores: Floats,
    lengths: Sequence[int],
    gaps: npt.NDArray[np.int8],
    fixed: npt.NDArray[np.int16],
) -> None:
    """Rule out, in place, labels that contradict `gaps` (before each character: FREE, JOIN, SPLIT) and `fixed` tags.

    `fixed` is a tag's index, ANY, or WORD for a user word without a tag: a noun, verb, auxiliary, adjective or adverb.
    """
    ends = np.cumsum(lengths)
    left = gaps.copy()
    left[ends[:-1]] = SPLIT
    left[:1] = SPLIT
    right = np.append(left[1:], np.int8(SPLIT))
    place = np.zeros((3, 3, 4), np.float32)
    for i, letter in enumerate(LETTERS):
        place[JOIN, :, i] += NEVER * (letter in "BS")
        place[SPLIT, :, i] += NEVER * (letter in "IE")
        place[:, JOIN, i] += NEVER * (letter in "ES")
        place[:, SPLIT, i] += NEVER * (letter in "BI")
    allowed = np.full((len(tags) + 1, len(tags)), NEVER, np.float32)
    np.fill_diagonal(allowed, 0.0)
    allowed[WORD] = [0.0 if tag in _OF_WORDS else NEVER for tag in tags]
    shaped = scores.reshape(len(scores), 4, len(tags))
    shaped += place[left, right][:, :, None]
    known = np.flatnonzero(fixed != ANY)
    shaped[known] += allowed[fixed[known]][:, None, :]


def viterbi(crf: Crf, scores: Floats, lengths: Sequence[int]) -> Ints:
    """The best label of every character, chain by chain; chains of like length are decoded together."""
    out = np.zeros(len(scores), np.int32)
    transitions = Transitions.of(crf.transitions)
    for chains in _batches(lengths):
        transitions.viterbi(chains, scores, out)
    return out


def _batches(lengths: Sequence[int]) -> Iterator[Chains]:
    """The chains, longest first, _BATCH at a time."""
    sizes = np.array(lengths, np.int64)
    starts = np.cumsum(sizes) - sizes
    order = np.argsort(-sizes, kind="stable")
    for first in range(0, len(order), _BATCH):
        batch = order[first : first + _BATCH]
        yield Chains.of(starts[batch], sizes[batch])


def spans(labels: Ints, lengths: Sequence[int], tags: int) -> list[list[tuple[int, int, int]]]:
    """Words of each chain as (start, end, tag index); a word has the tag of its labels."""
    letters, tag = np.divmod(labels, tags)
    ends_word = (letters == 2) | (letters == 3)
    out: list[list[tuple[int, int, int]]] = []
    at = 0
    for length in lengths:
        stops = np.flatnonzero(ends_word[at : at + length])
        begins = [0, *(stops[:-1] + 1).tolist()]
        out.append(list(zip(begins, (stops + 1).tolist(), tag[at + stops].tolist(), strict=True)))
        at += length
    return out


def tag_words(crf: Crf, sentences: Sequence[Sequence[str]]) -> list[tuple[str, ...]]:
    """The best universal tags of words that are given, sentence by sentence: what is segmented stays as it is."""
    chains: list[str] = []
    gaps: list[int] = []
    for words in sentences:
        text, spans_of_words = surface(words)
        chains += text.split()
        gaps += [gap for start, end in spans_of_words for gap in (SPLIT, *[JOIN] * (end - start - 1))]
    lengths = [len(chain) for chain in chains]
    scores = emissions(crf, chains)
    constrain(crf.tags, scores, lengths, np.array(gaps, np.int8), np.full(len(gaps), ANY, np.int16))
    tags = iter(
        [crf.tags[tag] for chain in spans(viterbi(crf, scores, lengths), lengths, len(crf.tags)) for _, _, tag in chain]
    )
    return [tuple(next(tags) for _ in words) for words in sentences]


def save(crf: Crf, path: Path) -> None:
    """Sparse and small: atoms as text, weights in half precision with their row, column and table."""
    from safetensors.numpy import save_file

    tensors: dict[str, npt.NDArray[np.generic]] = {"transitions": crf.transitions.astype(np.float16)}
    tensors["tags"] = pack(crf.tags)
    for name, rows in crf.rows.items():
        tensors[f"atoms.{name}"] = pack(rows)
        for offset in WINDOWS[name]:
            table = crf.tables[name, offset]
            row, column = np.nonzero(table)
            key = f"{name}.{offset}"
            counts = np.bincount(row, minlength=len(table))
            tensors[f"counts.{key}"] = counts.astype(np.uint8)
            tensors[f"columns.{key}"] = column.astype(np.uint8)
            tensors[f"weights.{key}"] = table[row, column].astype(np.float16)
    save_file(tensors, str(path))


def load(path: Path) -> Crf:
    """The inverse of `save`. A missing or foreign file is a ResourceError."""
    from safetensors import SafetensorError
    from safetensors.numpy import load_file

    try:
        tensors = load_file(str(path))
        tags = tuple(unpack(tensors["tags"]))
        width = 4 * len(tags)
        transitions = tensors["transitions"].astype(np.float32)
        if transitions.shape != (width, width) or not 0 < width <= _MOST_LABELS:
            raise ValueError("it claims other tags than its weights have")
        rows = {name: {atom: i for i, atom in enumerate(unpack(tensors[f"atoms.{name}"]), 1)} for name in WINDOWS}
        tables = {
            (name, offset): _table(tensors, f"{name}.{offset}", (len(rows[name]) + 1, width))
            for name, offsets in WINDOWS.items()
            for offset in offsets
        }
        return Crf(tags, rows, tables, transitions)
    except (OSError, SafetensorError, LookupError, TypeError, ValueError, AttributeError) as error:
        fix = "train it again or reinstall builder"
        raise ResourceError(f"not a segmenter of this version: {error}", where=str(path), fix=fix) from error


def _table(tensors: Mapping[str, npt.NDArray[np.generic]], key: str, shape: tuple[int, int]) -> Floats:
    """A table of weights; ValueError before anything is made where the file claims other sizes than it holds."""
    counts, columns, weights = (tensors[f"{kind}.{key}"] for kind in ("counts", "columns", "weights"))
    # A count is a byte: whatever a file claims, it is no longer in memory than its atoms allow.
    if counts.dtype != np.uint8 or counts.shape != shape[:1] or not len(columns) == len(weights) == int(counts.sum()):
        raise ValueError(f"it claims other sizes than its weights have, {key} for one")
    table = np.zeros(shape, np.float32)
    rows = np.repeat(np.arange(len(counts)), counts.astype(np.int64))
    table[rows, columns.astype(np.int64)] = weights.astype(np.float32)
    return table


def pack(strings: Iterable[str]) -> npt.NDArray[np.uint8]:
    """Strings as a row of bytes, which a file of weights can hold."""
    return np.frombuffer("\x00".join(strings).encode("utf-8"), np.uint8)


def unpack(packed: npt.NDArray[np.generic]) -> list[str]:
    """What `pack` was given; ValueError for what is no such row."""
    if packed.dtype != np.uint8 or packed.ndim != 1:
        raise ValueError("a text is not a row of bytes")
    text = packed.tobytes().decode("utf-8")
    return text.split("\x00") if text else []
