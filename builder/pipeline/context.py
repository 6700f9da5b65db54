"""What every stage is handed: the database, the settings and the data; and where a broken-off stage goes on."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from builder.core.settings import Config
from builder.core.shards import Crew
from builder.core.shards.local import LocalCrew
from builder.language.lexicon.folders import SHIPPED, Folders
from builder.language.lexicon.resources import Lexicon
from builder.language.lexicon.rules import Rule
from builder.store import db, runs

Stored = Callable[[sqlite3.Connection], None]


@dataclass(frozen=True, slots=True)
class Context:
    """One build. `key` is the completion key of the stage that runs: what it keeps of a broken-off run must bear the
    same key; `crew` does what is spread over processes or machines;
    `folders` are those of the words and rules.
    """

    connection: sqlite3.Connection
    config: Config
    workdir: Path
    inputs: tuple[Path, ...]
    out: Path
    lexicon: Lexicon
    rules: tuple[Rule, ...]
    key: str
    keys: Mapping[str, str]
    crew: Crew = field(default_factory=lambda: LocalCrew(1))
    folders: Folders = SHIPPED

    @property
    def models(self) -> Path:
        return self.workdir / "models"


@contextmanager
def crew_of_this_machine(context: Context) -> Iterator[Crew]:
    """Workers that read the same disk: the build's own, or processes of this machine beside a cluster."""
    if isinstance(context.crew, LocalCrew):
        yield context.crew
    else:
        with LocalCrew(context.config.workers) as crew:
            yield crew


def begin(context: Context, stage: str, clear: Stored) -> int:
    """Where a stage that commits in chunks goes on: the last item done under the same key, or 0 after clearing old
    output.
    """
    connection = context.connection
    if runs.setting(connection, f"{stage}.key") == context.key:
        return int(runs.setting(connection, f"{stage}.at") or 0)
    with db.atomic(connection):
        clear(connection)
        runs.set_setting(connection, f"{stage}.key", context.key)
        runs.set_setting(connection, f"{stage}.at", "0")
    return 0


def advance(connection: sqlite3.Connection, stage: str, at: int) -> None:
    """Note, inside the chunk's transaction, that everything up to item `at` is done."""
    runs.set_setting(connection, f"{stage}.at", str(at))
