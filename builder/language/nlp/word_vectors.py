"""Word vectors from raw text: what stands beside a word, factored.

In: sentences as lists of words, without any annotation. Out: a unit-length vector for each frequent word, so that the
parser knows more words than the treebank has. Positive pointwise mutual information of a word with its neighbours at
-2, -1, +1 and +2, each place apart (places are what syntax is about), and a truncated SVD (Levy and Goldberg 2014):
seconds, where a neural model takes hours.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import torch

_PLACES = (-2, -1, 1, 2)
_CONTEXTS = 6000


def word_vectors(
    sentences: Sequence[Sequence[str]], size: int, most: int, least: int, seed: int
) -> dict[str, npt.NDArray[np.float32]]:
    """Vectors of the `most` most frequent words seen `least` times, ordered by frequency, then by code point."""
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
