"""What every stage is handed: the database, the settings, the data, and a way to show progress."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tqdm import tqdm

from builder.errors import ResourceError
from builder.lexicon.resources import Lexicon, data_dir, load_lexicon
from builder.lexicon.rules import Rule
from builder.settings import Config
from builder.shards import Crew, Parcel
from builder.shards.local import LocalCrew
from builder.store import db, runs

Stored = Callable[[sqlite3.Connection], None]


@dataclass(frozen=True, slots=True)
class Context:
    """One build. `key` is the completion key of the stage that runs: what it keeps of a broken-off run must bear the
    same key; `crew` does what is spread over processes or machines.
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

    @property
    def models(self) -> Path:
        return self.workdir / "models"


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


def bar(total: int | None, note: str, unit: str = " reviews") -> tqdm[None]:
    """A progress bar on stderr, silent where that is no terminal."""
    return tqdm(
        total=total, desc=note, unit=unit, disable=None, leave=False, dynamic_ncols=True, unit_scale=unit == "B"
    )


class ModelBar:
    """Shows a model's progress; gives the model package its `Progress` without handing it a terminal."""

    def __init__(self, note: str, unit: str = " chars") -> None:
        self._note = note
        self._bar = bar(None, note, unit=unit)

    def __call__(self, done: int, total: int, note: str) -> None:
        if self._bar.total != total or done < self._bar.n:
            self._bar.reset(total)
        self._bar.set_description(f"{self._note}: {note}", refresh=False)
        self._bar.update(done - self._bar.n)

    def close(self) -> None:
        self._bar.close()


Lexicons = tuple[Parcel, tuple[Parcel, ...], str]
"""lexicons/, what users laid over it, and the digest of both together, as arguments of a job."""


def lexicons(added: Sequence[Path], digest: str) -> Lexicons:
    return Parcel.of(data_dir("lexicons"), "**/*.tsv"), tuple(Parcel.of(folder, "**/*.tsv") for folder in added), digest


def arrived(folder: Path, added: tuple[Path, ...], digest: str) -> Lexicon:
    """The lexicon at a worker, from the folders of its parcels; ResourceError if it is not the one that the build
    began with.
    """
    lexicon = load_lexicon(folder, added)
    if lexicon.digest != digest:
        fix = "`builder resume` runs what depends on them again"
        raise ResourceError("the lexicons changed while the build ran", where=str(folder), fix=fix)
    return lexicon
