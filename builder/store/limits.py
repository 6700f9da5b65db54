"""What strangers' SQL may cost: the length of a cell, the size of an answer, the memory of SQLite.

In: a connection for reading. Out: the same connection, which refuses what is larger. SQLite builds a whole cell before
it looks at the clock, so a time limit alone holds nothing.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from typing import Any

CELL = 64 << 20
"""Bytes of a cell that our own questions may read: far longer than any review."""
CELL_OF_STRANGERS = 256 << 10
"""Bytes of a cell on the web pages. `instr` takes the square of it, and nothing interrupts that: half a second here."""
ANSWER_OF_STRANGERS = 8 << 20
"""Bytes of an answer on the web pages."""
HEAP = 256 << 20
"""Bytes that SQLite may hold in the server, whatever it is asked."""
HEAP_OF_SQL = 1 << 30
"""Bytes that SQLite may hold for `builder sql`."""
PATTERN = 1000
"""Bytes of a pattern of LIKE and GLOB."""


class AnswerTooLarge(sqlite3.OperationalError):
    """An answer holds more bytes than it may."""


def limit_cells(connection: sqlite3.Connection, cell: int) -> None:
    """Let no text, blob or row of `connection` be longer than `cell` bytes."""
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, cell)
    connection.setlimit(sqlite3.SQLITE_LIMIT_LIKE_PATTERN_LENGTH, PATTERN)


def limit_heap(connection: sqlite3.Connection, heap: int) -> None:
    """Let SQLite hold at most `heap` bytes in this process: all connections together, until the process ends."""
    connection.execute(f"PRAGMA hard_heap_limit = {heap}")


def limit_strangers(connection: sqlite3.Connection) -> None:
    """All limits of the web pages; answers that are too large are an `AnswerTooLarge`."""
    limit_heap(connection, HEAP)
    limit_cells(connection, CELL_OF_STRANGERS)
    connection.row_factory = counted_rows(ANSWER_OF_STRANGERS)


def bytes_of(row: Sequence[object]) -> int:
    """About what the cells of a row take in memory and in an answer."""
    return sum(8 + (len(cell) if isinstance(cell, str | bytes) else 8) for cell in row)


def counted_rows(most: int) -> Callable[[sqlite3.Cursor, tuple[Any, ...]], sqlite3.Row]:
    """A row factory (of `sqlite3.Row`) that raises `AnswerTooLarge` once the rows of a cursor hold over `most`
    bytes.
    """
    current: sqlite3.Cursor | None = None
    size = 0

    def count(cursor: sqlite3.Cursor, cells: tuple[Any, ...]) -> sqlite3.Row:
        nonlocal current, size
        if cursor is not current:
            current, size = cursor, 0
        size += bytes_of(cells)
        if size > most:
            raise AnswerTooLarge(f"the answer is larger than {most >> 20} MB: add a LIMIT, or ask for fewer columns")
        return sqlite3.Row(cursor, cells)

    return count
