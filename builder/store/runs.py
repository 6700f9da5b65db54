"""What has been run: stage keys, rounds of self-training, metrics, settings, releases."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import NamedTuple

from builder.store.queries import insert, read_value

Counts = Mapping[str, int | float | str]
PACK_MODEL = "the model of the domain "
"""What stands before the domain where the stage `discriminate` counts its judge: a model that no build trained."""


@dataclass(frozen=True, slots=True)
class Run:
    """A finished stage: its completion key, what it counted, how long it took."""

    stage: str
    key: str
    counts: Counts
    seconds: float
    finished: str


class Round(NamedTuple):
    """A finished round of a variant, as a row: M_round trained on S_round, and how S_round came from S_{round-1}."""

    variant: str
    round: int
    key: str
    model: str
    reviews: int
    triplets: int
    predicted: int
    accepted: int
    added: int
    seconds: float


def finish(connection: sqlite3.Connection, stage: str, key: str, counts: Counts, seconds: float) -> None:
    """Record a stage as done. The wall clock is for people; nothing reads it back."""
    at = datetime.now(UTC).isoformat(timespec="seconds")
    row = stage, key, json.dumps(dict(counts)), round(seconds, 3), at
    insert(connection, "runs", "stage, key, counts, seconds, finished", [row], "REPLACE")


def recount(connection: sqlite3.Connection, stage: str, counts: Counts) -> None:
    """Replace the counts of a stage that ran: a later one changed what they count."""
    connection.execute("UPDATE runs SET counts = ? WHERE stage = ?", (json.dumps(dict(counts)), stage))


def forget(connection: sqlite3.Connection, stage: str) -> None:
    """Forget that a stage ran."""
    connection.execute("DELETE FROM runs WHERE stage = ?", (stage,))


def runs(connection: sqlite3.Connection) -> dict[str, Run]:
    """The stages that ran, by name, in the order in which they finished."""
    rows = connection.execute("SELECT stage, key, counts, seconds, finished FROM runs")
    return {row[0]: Run(row[0], row[1], json.loads(row[2]), row[3], row[4]) for row in rows}


def judge(connection: sqlite3.Connection) -> str:
    """What judged: `shipped model` or `discriminator`; empty where nothing did, or nobody knows."""
    stage = runs(connection).get("discriminate")
    if stage is None:
        return ""
    if str(stage.counts.get("judge", "")).startswith(PACK_MODEL):
        return "shipped model"
    return "discriminator" if stage.counts.get("judged") else ""


def rounds(connection: sqlite3.Connection, variant: str | None = None) -> list[Round]:
    """The finished rounds of a variant, or of all."""
    asked = f"SELECT {', '.join(Round._fields)} FROM rounds WHERE variant = coalesce(?, variant)"
    return [Round(*row) for row in connection.execute(f"{asked} ORDER BY variant, round", (variant,))]


def finish_round(connection: sqlite3.Connection, done: Round) -> None:
    """Store a finished round of self-training: its variant, number, model and counts."""
    row = done._replace(seconds=round(done.seconds, 3))
    insert(connection, "rounds", ", ".join(Round._fields), [row], "REPLACE")


def forget_rounds(connection: sqlite3.Connection, variant: str) -> None:
    """Forget the rounds of a variant."""
    connection.execute("DELETE FROM rounds WHERE variant = ?", (variant,))
    connection.execute("DELETE FROM training_sets WHERE variant = ?", (variant,))


Score = tuple[str, str, str, float, float | None, float | None]
"""(system, split, metric, value, low, high): percent, with the ends of its 95% interval where there is one."""


def set_metrics(connection: sqlite3.Connection, rows: Iterable[tuple[Score, str]]) -> None:
    """Replace all metrics by `rows` of (score, signature)."""
    connection.execute("DELETE FROM metrics")
    columns = "system, split, metric, value, low, high, signature"
    insert(connection, "metrics", columns, ((*score, signature) for score, signature in rows))


def metrics(connection: sqlite3.Connection) -> list[Score]:
    """The scores of the last evaluation."""
    return list(
        connection.execute("SELECT system, split, metric, value, low, high FROM metrics ORDER BY system, split, metric")
    )


def setting(connection: sqlite3.Connection, name: str) -> str | None:
    """A value that the working directory remembers; None if it does not."""
    kept: str | None = read_value(connection, "SELECT value FROM settings WHERE name = ?", (name,))
    return kept


def set_setting(connection: sqlite3.Connection, name: str, value: str) -> None:
    """Let the working directory remember a value."""
    connection.execute("INSERT OR REPLACE INTO settings (name, value) VALUES (?,?)", (name, value))


def last_release(connection: sqlite3.Connection) -> tuple[str, str] | None:
    """The version that was released last, and the digest of its data; None where nothing was."""
    row = connection.execute("SELECT version, digest FROM releases ORDER BY rowid DESC LIMIT 1").fetchone()
    return None if row is None else (str(row[0]), str(row[1]))


def last_release_path(connection: sqlite3.Connection) -> str | None:
    """Where the version lies that was released last; None where nothing was."""
    path: str | None = read_value(connection, "SELECT path FROM releases ORDER BY rowid DESC LIMIT 1")
    return path


def set_release(connection: sqlite3.Connection, version: str, path: str, digest: str) -> None:
    """Remember where a version was released, and the digest of its files."""
    insert(connection, "releases", "version, path, digest", [(version, path, digest)], "REPLACE")
