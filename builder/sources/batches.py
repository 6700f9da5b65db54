"""Rows of a Parquet file, a few at a time: what a file says of itself decides how many.

In: an open file and its size on disk. Out: record batches in order. 700 bytes can refer four thousand times to one
text of megabytes, and 8 kB can claim millions of rows; so rows and decoded bytes are held against the file's size.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from builder.errors import InputError
from builder.sources.opening import BOMB, RATIO, check_rows

BATCH = 1024
"""Rows of a batch, at most."""
_SMALL_BATCH = 64
"""Rows of a batch where values may be long but the file is packed as texts are."""
_DECODED = 128 << 20
"""Bytes that a batch may take if each of its values were as long as a column's whole content."""
_PACKED = 20
"""Texts pack to a third or a tenth; a column that packs better than this may hold the same long text many times."""


def check_claims(file: Any, size: int, names: Sequence[str], where: str) -> None:
    """InputError where the footer claims more rows, or more bytes in the columns `names`, than a file of `size` has."""
    check_rows(file.metadata.num_rows, size, where)
    if sum(unpacked for unpacked, _ in _chunks(file, names)) > max(BOMB, RATIO * size):
        raise _bomb(f"unpacks to over {RATIO} times its size", where)


def read_batches(file: Any, names: Sequence[str], groups: Sequence[int] | None = None) -> Iterator[Any]:
    """The record batches of `groups` (of all), each of as few rows as memory needs."""
    chosen = range(file.num_row_groups) if groups is None else groups
    return iter(
        file.iter_batches(_batch_size(file, names), row_groups=list(chosen), columns=list(names), use_threads=False)
    )


def read_bounded(file: Any, size: int, names: Sequence[str], where: str) -> Iterator[Any]:
    """All record batches; InputError once their bytes in memory are out of proportion to `size`."""
    check_claims(file, size, names, where)
    total = 0
    for batch in read_batches(file, names):
        total += sum(map(_decoded_bytes, batch.columns))
        if total > max(BOMB, RATIO * size):
            raise _bomb(f"unpacks to over {RATIO} times its size", where)
        yield batch


def _decoded_bytes(column: Any) -> int:
    """Bytes of a column's values once each stands for itself: a dictionary is counted with every reference to it."""
    if hasattr(column, "dictionary_decode"):
        return int(column.dictionary_decode().nbytes)
    if not column.type.num_fields:
        return int(column.nbytes)
    if hasattr(column, "items"):  # a map
        inside = [column.keys, column.items]
    else:
        content = column.flatten()  # the columns of a struct, the elements of a list
        inside = content if isinstance(content, list) else [content]
    return int(column.nbytes) + sum(map(_decoded_bytes, inside))


def _batch_size(file: Any, names: Sequence[str]) -> int:
    """So many rows that a batch fits into memory even if every value were the longest that its column can hold."""
    rows = BATCH
    for unpacked, packed in _chunks(file, names):
        least = 1 if unpacked > _PACKED * packed else _SMALL_BATCH
        rows = min(rows, max(_DECODED // max(unpacked, 1), least))
    return rows


def _chunks(file: Any, names: Sequence[str]) -> Iterator[tuple[int, int]]:
    """(bytes unpacked, bytes packed) of the column chunks that hold `names`, nested ones included."""
    wanted = set(names)
    for number in range(file.metadata.num_row_groups):
        group = file.metadata.row_group(number)
        for position in range(group.num_columns):
            chunk = group.column(position)
            if chunk.path_in_schema in wanted or chunk.path_in_schema.partition(".")[0] in wanted:
                yield chunk.total_uncompressed_size, chunk.total_compressed_size


def _bomb(what: str, where: str) -> InputError:
    fix = "if it is what it should be, write it again as .csv or .jsonl and give that file"
    return InputError(what, where=where, fix=fix)
