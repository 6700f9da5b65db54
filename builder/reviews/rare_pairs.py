"""Which texts have two rare bigrams in common: the groups that the join of near-duplicates looks inside.

A pair of bigrams that two texts share is found by sorting, on the disk. With every text's pairs in memory a million
reviews would take a gigabyte. `Texts` holds the texts themselves in a temporary file instead of memory, too.
"""

from __future__ import annotations

import os
from array import array
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from itertools import pairwise
from tempfile import TemporaryFile, gettempdir
from typing import IO, overload

import numpy as np
from numpy.typing import NDArray

# ---- Texts on disk


@contextmanager
def named() -> Iterator[None]:
    """An OSError about a temporary file says in which folder it is: its name is nobody's."""
    try:
        yield
    except OSError as error:
        error.filename = gettempdir()
        raise


class Texts(Sequence[str]):
    """Eight bytes of each are in memory. The file (in TMPDIR) goes with `close`, or with the process."""

    def __init__(self, texts: Iterable[str] = ()) -> None:
        self._ends = array("Q", [0])
        self._waiting = False
        self._file = TemporaryFile(prefix="builder-texts-")  # noqa: SIM115 (`close` closes it)
        try:
            for text in texts:
                self.append(text)
            self._flush()
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Texts:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        with suppress(OSError):  # what was not written yet need not be any more
            self._file.close()

    def append(self, text: str) -> None:
        with named():
            self._ends.append(self._ends[-1] + self._file.write(text.encode("utf-8", "surrogatepass")))
            self._waiting = True

    def __len__(self) -> int:
        return len(self._ends) - 1

    @overload
    def __getitem__(self, i: int) -> str: ...

    @overload
    def __getitem__(self, i: slice) -> list[str]: ...

    def __getitem__(self, i: int | slice) -> str | list[str]:
        if isinstance(i, slice):
            return [self[n] for n in range(*i.indices(len(self)))]
        n = range(len(self))[i]
        return self._read(self._ends[n], self._ends[n + 1]).decode("utf-8", "surrogatepass")

    def _read(self, start: int, end: int) -> bytes:
        if self._waiting:
            self._flush()
        return os.pread(self._file.fileno(), end - start, start)

    def _flush(self) -> None:
        with named():
            self._file.flush()
        self._waiting = False


# ---- Rare pairs

Ints = NDArray[np.int64]
Words = NDArray[np.uint64]

SEVEN, TEN = 7, 10
"""The threshold of likeness as a fraction: floats would round pairs away that lie on it."""
PART = 1 << 19
"""Pairs of bigrams, or of texts, in memory at a time."""
_FILES = 256
"""Files at most that pairs are sorted into; of more than so many parts each is larger."""
_CHUNK = 1 << 19
"""Characters whose bigrams are in memory at a time."""
_BITS = 20
"""How often a bigram occurs is counted by a hash of at most so many bits: an order nearly by rarity serves as well."""
_CODE = 21
"""Bits of a code point. Two of them, and the number of a text among _CHUNK characters, fill 62 bits."""
_OFTEN = 40
"""Bits of how often a bigram occurs."""
_OWNER = 32
"""Bits of a text's number."""
_PAIR = np.dtype([("key", "<u8"), ("owner", "<u4")])


def groups(texts: Sequence[str], sizes: Ints, longest: int) -> Iterator[tuple[Ints, Ints, Ints]]:
    """The texts that have a pair of rare bigrams in common: indices, and where each group starts and ends among them,
    ascending inside.

    `sizes`: of the sets of bigrams; texts with more than `longest` are left out. Pairs wait in temporary files (in
    TMPDIR), a kilobyte of a review.
    """
    number = min(max(1, -(-room(sizes, longest) // (PART * _PAIR.itemsize))), _FILES)
    with named(), ExitStack() as held:
        files = [held.enter_context(TemporaryFile(prefix="builder-pairs-")) for _ in range(number)]
        for key, owner in _pairs(texts, longest):
            _sorted_into(files, key, owner)
        for file in files:
            file.seek(0)
            yield _grouped(np.frombuffer(file.read(), _PAIR))
            file.close()


def room(sizes: Ints, longest: int) -> int:
    """Bytes of all pairs on the disk."""
    taken = _taken(sizes)
    return _PAIR.itemsize * int((taken * (taken - 1) // 2)[sizes <= longest].sum())


def _taken(size: Ints) -> Ints:
    """Of how many rare bigrams a set shares two with any that is like it: all but 70%, and two."""
    return np.asarray(np.minimum(size - (SEVEN * size + TEN - 1) // TEN + 2, size))


def _pairs(texts: Sequence[str], longest: int) -> Iterator[tuple[Words, NDArray[np.uint32]]]:
    """The pairs among each text's rare bigrams, as numbers, and whose they are; a part at a time."""
    bits = min(_BITS, 8 + len(texts).bit_length())
    often = np.zeros(1 << bits, np.int64)
    for _, gram, _ in bigram_arrays(texts):
        often += np.bincount(_bucket(gram, bits), minlength=len(often))
    for start, gram, owner in bigram_arrays(texts):
        gram, owner = distinct(gram, owner)
        order = np.argsort(owner << _OFTEN | often[_bucket(gram, bits)], kind="stable")
        gram, owner = gram[order], owner[order]
        size = np.bincount(owner)
        place, taken = ranges(np.zeros_like(size), size), np.where(size > longest, 0, _taken(size))
        rare = place < taken[owner]
        left, rarest, owner = (taken[owner] - place - 1)[rare], scattered(gram[rare]), owner[rare]
        for former, latter in followers(left):
            yield (
                scattered(rarest[former] + scattered(rarest[latter] + np.uint64(1))),
                (owner[former] + start).astype(np.uint32),
            )


def followers(left: Ints) -> Iterator[tuple[Ints, Ints]]:
    """Each place with each of the `left` places behind it; parts at a time."""
    cuts = np.searchsorted(np.cumsum(left), np.arange(0, int(left.sum()), PART))
    for first, last in pairwise([*cuts.tolist(), len(left)]):
        here = np.arange(first, last)
        yield np.repeat(here, left[here]), ranges(here + 1, here + 1 + left[here])


def _sorted_into(files: Sequence[IO[bytes]], key: Words, owner: NDArray[np.uint32]) -> None:
    """Append each pair to the file of its number."""
    turn = (key % np.uint64(len(files))).astype(np.uint16)
    order = np.argsort(turn, kind="stable")
    pairs = np.empty(len(key), _PAIR)
    pairs["key"], pairs["owner"] = key[order], owner[order]
    for file, part in zip(files, np.split(pairs, np.cumsum(np.bincount(turn, minlength=len(files)))[:-1]), strict=True):
        file.write(part.tobytes())


def _grouped(pairs: NDArray[np.void]) -> tuple[Ints, Ints, Ints]:
    """The owners of each pair that several have, and where each group of them starts and ends."""
    key = np.ascontiguousarray(pairs["key"])
    order = np.argsort(key)  # in any order where keys are equal: four times as fast as a stable one
    key = key[order]
    edges = np.flatnonzero(np.concatenate([[True], key[1:] != key[:-1], [True]]))
    size = np.diff(edges)
    several = size > 1
    start, size = edges[:-1][several], size[several]
    owner = pairs["owner"][order[ranges(start, start + size)]].astype(np.int64)
    owner |= np.repeat(np.arange(len(size)), size) << _OWNER
    owner.sort()
    owner &= (1 << _OWNER) - 1
    end = np.cumsum(size)
    return owner, end - size, end


def distinct(gram: Words, owner: Ints) -> tuple[Words, Ints]:
    """Bigrams of a chunk of texts and whose they are, each once, by owner and number."""
    both = owner.astype(np.uint64) << np.uint64(2 * _CODE) | gram
    both.sort()
    both = both[np.concatenate([[True], both[1:] != both[:-1]])]
    return both & np.uint64((1 << 2 * _CODE) - 1), (both >> np.uint64(2 * _CODE)).astype(np.int64)


def ranges(start: Ints, end: Ints) -> Ints:
    """The numbers of several ranges, one after another."""
    count = end - start
    return np.asarray(np.arange(int(count.sum())) + np.repeat(start - np.cumsum(count) + count, count))


def bigram_arrays(texts: Sequence[str]) -> Iterator[tuple[int, Words, Ints]]:
    """Chunks of texts: the first's index, the bigrams as numbers (repeated ones too), and the text that each is of."""
    start, chunk, characters = 0, list[str](), 0
    for n, text in enumerate(texts, 1):
        chunk.append(text)
        characters += max(1, len(text))
        if characters >= _CHUNK or n == len(texts):
            gram, owner = _arrays(chunk)
            if len(gram):
                yield start, gram, owner
            start, chunk, characters = n, [], 0


def _arrays(chunk: Sequence[str]) -> tuple[Words, Ints]:
    codes = np.frombuffer("".join(chunk).encode("utf-32-le", "surrogatepass"), np.uint32).astype(np.uint64)
    owner = np.repeat(np.arange(len(chunk)), [len(text) for text in chunk])
    inside = owner[:-1] == owner[1:]
    return ((codes[:-1] << np.uint64(_CODE)) | codes[1:])[inside], owner[:-1][inside]


def _bucket(gram: Words, bits: int) -> Ints:
    return (scattered(gram) >> np.uint64(64 - bits)).astype(np.int64)


def scattered(x: Words) -> Words:
    """Numbers scattered over 64 bits (splitmix64, Steele et al. 2014). What falls together is compared all the same."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))
