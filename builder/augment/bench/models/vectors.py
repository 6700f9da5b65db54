"""Word vectors for the taggers: read from files in GloVe's format, or made of the domain's own text.

In: the words that occur, files, texts. Out: tables [words, size], each with whether it was known beforehand.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from builder.core.errors import InputError
from builder.language.nlp.word_vectors import word_vectors
from builder.learning.encode import SPECIAL


@dataclass(frozen=True, slots=True, eq=False)
class Tables:
    """(table [words, size], whether it comes from a file or from domain text) for each kind of vectors; `covered`:
    words with a vector, by kind.
    """

    weights: tuple[tuple[Tensor, bool], ...]
    covered: tuple[int, ...]


def read_glove(path: Path, wanted: Iterable[str]) -> dict[str, NDArray[np.float32]]:
    """The vectors of the wanted words: lines `word n1 n2 …`, a first line of two numbers (word2vec's) left out.
    InputError with the bad line.
    """
    need, out, size = set(wanted), dict[str, NDArray[np.float32]](), 0
    try:
        with path.open(encoding="utf-8", newline="\n") as file:
            for number, line in enumerate(file, start=1):
                parts = line.rstrip("\n").rstrip(" ").split(" ")
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
    except (OSError, UnicodeDecodeError) as error:
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
    """General vectors from a file, else learnt with the task; with `both`, domain vectors from a file, else made of
    `texts` (words, lower case).
    """
    general = read_glove(files[0], vocabulary) if files[0] else {}
    width = len(next(iter(general.values()))) if general else size
    tables = [(table(vocabulary, general, width, seed), bool(general))]
    covered = [len(general)]
    if both:
        domain = read_glove(files[1], vocabulary) if files[1] else word_vectors(texts, size, 20_000, 2, seed)
        width = len(next(iter(domain.values()))) if domain else size
        tables.append((table(vocabulary, domain, width, seed + 1), bool(domain)))
        covered.append(len(domain.keys() & vocabulary.keys()))
    return Tables(tuple(tables), tuple(covered))
