"""Rows of a Parquet file, a few at a time: what a file says of itself decides how many.

In: an open file and its size on disk. Out: record batches in order. 700 bytes can refer four thousand times to one
text of megabytes, and 8 kB can claim millions of rows; so rows and decoded bytes are held against the file's size.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from builder.core.errors import InputError
from builder.reviews.sources.footer import Chunk, read_chunks
from builder.reviews.sources.opening import BOMB, RATIO, check_rows

BATCH = 1024
"""Rows of a batch, at most."""
_SMALL_BATCH = 64
"""Rows of a batch where values may be long but the file is packed as texts are."""
_DECODED = 128 << 20
"""Bytes that a batch may take if each of its values were as long as a column's whole content."""
_PACKED = 20
"""Texts pack to a third or a tenth; a column that packs better than this may hold the same long text many times."""


def check_claims(file: Any, chunks: Sequence[Chunk], size: int, where: str) -> None:
    """InputError where the footer claims more rows, or more bytes in the chunks to read, than a file of `size` has."""
    check_rows(file.metadata.num_rows, size, where)
    if sum(chunk.unpacked for chunk in chunks) > max(BOMB, RATIO * size):
        raise _bomb(f"unpacks to over {RATIO} times its size", where)


def read_batches(
    file: Any, chunks: Iterable[Chunk], names: Sequence[str], groups: Sequence[int] | None = None
) -> Iterator[Any]:
    """The record batches of `groups` (of all), each of as few rows as memory needs by what the `chunks` claim."""
    chosen, rows = range(file.num_row_groups) if groups is None else groups, _batch_size(chunks)
    return iter(file.iter_batches(rows, row_groups=list(chosen), columns=list(names), use_threads=False))


def read_bounded(file: Any, path: Path, names: Sequence[str], where: str) -> Iterator[Any]:
    """All record batches of the file that was opened at `path`; InputError once their bytes in memory are out of
    proportion to its size, ValueError where its footer is broken.
    """
    size, total = path.stat().st_size, 0
    chunks = read_chunks(path, set(names))
    check_claims(file, chunks, size, where)
    for batch in read_batches(file, chunks, names):
        total += sum(map(_decoded_bytes, batch.columns))
        if total > max(BOMB, RATIO * size):
            raise _bomb(f"unpacks to over {RATIO} times its size", where)
        yield batch


def _decoded_bytes(column: Any) -> int:
    """Bytes of a column's values once each stands for itself: a dictionary is counted with every reference to it."""
    if hasattr(column, "dictionary_decode"):
        return _referred_bytes(column)
    if not column.type.num_fields:
        return int(column.nbytes)
    if hasattr(column, "items"):  # a map
        inside = [column.keys, column.items]
    else:
        content = column.flatten()  # the columns of a struct, the elements of a list
        inside = content if isinstance(content, list) else [content]
    return int(column.nbytes) + sum(map(_decoded_bytes, inside))


def _referred_bytes(column: Any) -> int:
    """Bytes of a dictionary's values, each as often as it is referred to. They are counted, not made."""
    from pyarrow import compute

    values = column.dictionary
    if values.type.num_fields:
        return int(values.nbytes) * len(column)
    if not str(values.type).endswith(("string", "binary")):
        return int(values.nbytes) * len(column) // max(len(values), 1)
    return int(compute.sum(compute.binary_length(values).take(column.indices)).as_py() or 0)


def _batch_size(chunks: Iterable[Chunk]) -> int:
    """So many rows that a batch fits into memory even if every value were the longest that its column can hold."""
    rows = BATCH
    for chunk in chunks:
        least = 1 if chunk.unpacked > _PACKED * chunk.packed else _SMALL_BATCH
        rows = min(rows, max(_DECODED // max(chunk.unpacked, 1), least))
    return rows


def _bomb(what: str, where: str) -> InputError:
    fix = "if it is what it should be, write it again as .csv or .jsonl and give that file"
    return InputError(what, where=where, fix=fix)
