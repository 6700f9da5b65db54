"""The working directory's database: opening, locking, migrating, and one atomic block.

A build holds an OS lock on `build.lock`, so that a second one says so instead of waiting; readers need none (WAL).
Statements live in this package only.
"""

from __future__ import annotations

import fcntl
import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from importlib.resources import files
from pathlib import Path

from builder.core.errors import QueryError, WorkdirError
from builder.store import queries
from builder.store.queries import describe_tables

APPLICATION_ID = 0x41535445  # "ASTE"
NAME = "builder.db"
_LONGEST_PATH = 500
"""Bytes of a path that SQLite opens, with the files beside it; its own limit is 512."""


def schema() -> list[tuple[int, str]]:
    """Numbered schema files in order, from that of version 0.5.0 on; a released one is never edited."""
    folder = files("builder.store") / "schema"
    scripts = sorted((item for item in folder.iterdir() if item.name.endswith(".sql")), key=lambda item: item.name)
    return [(int(item.name.split("_")[0]), item.read_text(encoding="utf-8")) for item in scripts]


def make_folder(workdir: Path) -> None:
    """Make a working directory that git ignores: raw reviews lie in it. A folder with files keeps its own rules."""
    workdir.mkdir(parents=True, exist_ok=True)
    if not any(workdir.iterdir()):
        (workdir / ".gitignore").write_text("*\n", encoding="utf-8")


@contextmanager
def lock(workdir: Path) -> Iterator[None]:
    """Hold the build lock of a working directory; WorkdirError names the process that has it."""
    make_folder(workdir)
    with (workdir / "build.lock").open("a+", encoding="utf-8") as handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            handle.seek(0)
            holder = handle.read().strip() or "unknown"
            raise WorkdirError(
                f"another build is running here (process {holder})",
                where=str(workdir),
                fix="wait for it, or use another --workdir",
            ) from error
        except OSError as error:  # some network file systems lock nothing
            raise WorkdirError(
                f"this file system cannot lock ({error.strerror})",
                where=str(workdir),
                fix="put the --workdir on a disk of this machine",
            ) from error
        handle.truncate(0)
        handle.write(str(os.getpid()))
        handle.flush()
        yield


@contextmanager
def writing(workdir: Path) -> Iterator[sqlite3.Connection]:
    """The database for writing, created or migrated; WorkdirError if it is not ours, newer, damaged, or lacks room."""
    make_folder(workdir)
    path = workdir / NAME
    with _explained(path), closing(sqlite3.connect(path, isolation_level=None)) as connection:
        _check(connection, path)
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = NORMAL")
        _migrate(connection)
        yield connection


def is_begun(workdir: Path) -> bool:
    """Whether a database with tables stands there: a build that is killed at its start leaves one without."""
    path = workdir / NAME
    if not path.is_file():
        return False
    with _explained(path), closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)) as connection:
        return bool(connection.execute("PRAGMA user_version").fetchone()[0])


@contextmanager
def reading(workdir: Path, cell: int = queries.CELL, heap: int | None = None) -> Iterator[sqlite3.Connection]:
    """The database for reading; SQLite itself refuses all else (mode=ro, query_only, an authorizer): writes, other
    files, settings, and values of more than `cell` bytes. `heap` limits SQLite's memory in the whole process.
    """
    path = workdir / NAME
    if not path.is_file():
        beside = sorted(each.parent.name for each in Path.cwd().glob(f"*/{NAME}") if not workdir.is_absolute())
        named = f"builds here: {', '.join(beside)}; " if beside else "run `builder build` first, or "
        raise WorkdirError("no database here", where=str(workdir), fix=f"{named}name it with --workdir")
    with (
        _explained(path),
        closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True, isolation_level=None)) as connection,
    ):
        connection.execute("PRAGMA query_only = ON")
        _check(connection, path)
        version = connection.execute("PRAGMA user_version").fetchone()[0]
        if version == 0:  # killed before its first table
            raise WorkdirError("no build was begun here", where=str(workdir), fix="start one with `builder build`")
        if version < schema()[-1][0]:  # an older builder made it
            with lock(workdir), writing(workdir):
                pass
        queries.limit_cells(connection, cell)
        if heap is not None:
            queries.limit_heap(connection, heap)
        connection.set_authorizer(_reads_only)
        yield connection


_NO_READS = frozenset(
    getattr(sqlite3, f"SQLITE_{name}")
    for name in [
        "ATTACH", "DETACH", "TRANSACTION", "SAVEPOINT", "REINDEX", "ANALYZE", "CREATE_TEMP_TABLE", "CREATE_TEMP_VIEW",
        "CREATE_TEMP_INDEX", "CREATE_TEMP_TRIGGER",
    ]
)  # fmt: skip
"""What would do something, or nothing without a word. Writing is refused by mode=ro; virtual tables declare theirs."""
_TELLING = frozenset(
    [
    "application_id", "collation_list", "compile_options", "data_version", "database_list", "encoding",
    "foreign_key_check", "foreign_key_list", "foreign_keys", "freelist_count", "function_list", "index_info",
    "index_list", "index_xinfo", "integrity_check", "journal_mode", "module_list", "page_count", "page_size",
    "pragma_list", "query_only", "quick_check", "schema_version", "table_info", "table_list", "table_xinfo",
    "user_version",
])  # fmt: skip
"""Pragmas that tell something; what they take, if anything, is what they tell about."""
_SET = frozenset(
    [
    "application_id", "encoding", "foreign_keys", "journal_mode", "page_size", "query_only", "schema_version",
    "user_version",
])  # fmt: skip
"""Of these the ones that would set a value given to them."""


def _reads_only(action: int, first: str | None, second: str | None, *_: str | None) -> int:
    telling = action != sqlite3.SQLITE_PRAGMA or (first in _TELLING and not (first in _SET and second is not None))
    return sqlite3.SQLITE_OK if action not in _NO_READS and telling else sqlite3.SQLITE_DENY


@contextmanager
def _explained(path: Path) -> Iterator[None]:
    """SQLite's errors as ours; a violated constraint or a wrong call is a defect and keeps its traceback."""
    try:
        yield
    except (sqlite3.IntegrityError, sqlite3.ProgrammingError):
        raise
    except sqlite3.DatabaseError as error:
        raise translated(error, path) from error


@contextmanager
def atomic(connection: sqlite3.Connection) -> Iterator[None]:
    """One write transaction: all of the block or nothing. Inside another, a part of that one."""
    if connection.in_transaction:
        yield
        return
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:
        if connection.in_transaction:  # SQLite rolls back by itself when the disk is full
            connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")


_TROUBLES = (
    (("disk is full", "disk I/O"), "the disk is full or failing", "free some space, then give the same command again"),
    (("not a database", "malformed"), "the database is damaged", "restore it, or build in a new --workdir"),
    (("readonly", "unable to open"), "cannot write here", "check the permissions, or choose another --workdir"),
    (("locked",), "the database is in use", "try again when the other program is done"),
)
"""What SQLite says -> what it means, and how to fix it."""


def translated(error: sqlite3.Error, path: Path) -> WorkdirError | QueryError:
    """SQLite's error as one that a user can act on: what, in which file, and how to fix it.

    Returns:
        A WorkdirError for the disk, permissions, damage and locks; a QueryError for what is wrong with the query.
    """
    text = str(error)
    if "unable to open" in text and len(os.fsencode(path.absolute())) > _LONGEST_PATH:
        return WorkdirError("SQLite takes no path that is so long", where=str(path), fix="choose a shorter --workdir")
    for signs, what, fix in _TROUBLES:
        if any(sign in text for sign in signs):
            return WorkdirError(f"{what} ({text})", where=str(path), fix=fix)
    return QueryError(text, where=str(path))


def _check(connection: sqlite3.Connection, path: Path) -> None:
    application, version = (
        connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("application_id", "user_version")
    )
    empty = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0] == 0
    newest = schema()[-1][0]
    if not empty and application != APPLICATION_ID:
        raise WorkdirError("this database was not made by builder", where=str(path), fix="choose another --workdir")
    if 0 < version < schema()[0][0]:
        raise WorkdirError(
            f"this working directory has schema {version}, made by a builder before 0.5.0",
            where=str(path),
            fix="builder 0.8.0 brings it up to date; or build in a new --workdir",
        )
    if version > newest:
        raise WorkdirError(
            f"this working directory has schema {version}, this builder knows up to {newest}",
            where=str(path),
            fix="use the builder that made it, or another --workdir",
        )


def _migrate(connection: sqlite3.Connection) -> None:
    """Apply the schema files that are missing, each in one transaction with its version number.

    Foreign keys are off meanwhile: a table that is made anew would take along all that refers to it.
    """
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    connection.execute("PRAGMA foreign_keys = OFF")
    for number, script in schema():
        if number > version:
            connection.executescript(
                f"BEGIN IMMEDIATE;\n{script}\nPRAGMA application_id = {APPLICATION_ID};\n"
                f"PRAGMA user_version = {number};\nCOMMIT;"
            )
    connection.execute("PRAGMA foreign_keys = ON")
    if version < schema()[-1][0]:
        _describe(connection)


def _describe(connection: sqlite3.Connection) -> None:
    """Write what each table and column means into the file itself."""
    rows = [
        (name, column, meaning)
        for name, table in describe_tables().items()
        for column, meaning in {"": table.about, **table.columns}.items()
    ]
    with atomic(connection):
        connection.execute("DELETE FROM descriptions")
        connection.executemany("INSERT INTO descriptions VALUES (?, ?, ?)", rows)
