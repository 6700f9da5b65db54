"""Layers of the test split by the labels of pools: `evaluate.gold = "pool:ID"` and `evaluate.silver = "pool:ID/MODEL"`.

In: the database, and what a setting or an option names. Out: a `PoolLayer`; one line of error for an unknown pool or
annotator, and for a pool that is not finished.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from pathlib import Path

from builder.core.errors import ConfigError, InputError
from builder.core.records import Label
from builder.core.settings import Evaluate
from builder.core.wording import counted
from builder.gold.layer import PoolLayer, layer_of
from builder.store import audits, db, gold, pools

PREFIX = "pool:"
SETTINGS = {"gold": "evaluate.gold", "silver": "evaluate.silver"}
"""Layer -> the setting that names it."""


def is_pool(value: str) -> bool:
    """Whether a setting names a pool; otherwise it names a file, or nothing."""
    return value.startswith(PREFIX)


def named_files(settings: Evaluate) -> dict[str, Path]:
    """Layer -> the file of labelled reviews that its setting names."""
    return {name: Path(value) for name, value in _values(settings).items() if value and not is_pool(value)}


def check_pools(workdir: Path, settings: Evaluate) -> None:
    """Fail before any work where a pool that the settings name cannot serve."""
    if not (named := _named_pools(settings)):
        return
    if not (workdir / db.NAME).is_file():
        layer, value = next(iter(named.items()))
        raise ConfigError(
            f"{value!r} names a pool, but there is no database yet",
            where=SETTINGS[layer],
            fix="build without it, then `builder pool` draws one from the test split",
        )
    with db.reading(workdir) as connection:
        for layer, value in named.items():
            read_finished(connection, layer, value)


def digest_labels(workdir: Path, settings: Evaluate) -> list[str]:
    """What people and models have said so far of the pools that the settings name."""
    named = _named_pools(settings)
    if not named or not (workdir / db.NAME).is_file():
        return [f"{layer} {value}" for layer, value in named.items()]
    with db.reading(workdir) as connection:
        known = [row[0] for row in pools.summarise(connection)]
        return [
            f"{layer} {value} {gold.labels_digest(connection, pool)}"
            for layer, value in named.items()
            for pool in known
            if pool.startswith(value.removeprefix(PREFIX).partition("/")[0])
        ]


def _values(settings: Evaluate) -> dict[str, str]:
    return {"gold": settings.gold, "silver": settings.silver}


def _named_pools(settings: Evaluate) -> dict[str, str]:
    return {name: value for name, value in _values(settings).items() if is_pool(value)}


def read_finished(connection: sqlite3.Connection, layer: str, value: str) -> PoolLayer:
    """The layer that a setting names; ConfigError or InputError where it names nothing, or an unfinished pool."""
    where = SETTINGS[layer]
    asked, _, annotator = value.removeprefix(PREFIX).partition("/")
    pool_id = _known_pool(connection, asked, where)
    if layer == "silver":
        annotator = annotator or _only_model(connection, pool_id, where)
    read = read_layer(connection, pool_id, annotator, where)
    if read.name != layer:
        other = "people" if read.name == "gold" else "a language model"
        raise ConfigError(
            f"the labels of {annotator!r} are those of {other}", where=where, fix=f"name them in {SETTINGS[read.name]}"
        )
    if layer == "silver" and read.unasked:
        fix = f"`builder judge --pool {pool_id}` asks about the rest"
        raise InputError(
            f"pool {pool_id} is not finished: {annotator} has not labelled {counted(read.unasked, 'candidate')}",
            where=where,
            fix=fix,
        )
    if layer == "gold" and read.open:
        reviews = len(read.reviews) + read.open
        raise InputError(
            f"pool {pool_id} is not finished: {read.open:,} of {counted(reviews, 'review')} open",
            where=where,
            fix="label the rest (`builder annotate serve`), and decide disputes (`builder annotate adjudicate`)",
        )
    return read


def read_layer(
    connection: sqlite3.Connection, pool_id: str, annotator: str = "", where: str = "--annotator"
) -> PoolLayer:
    """The layer of a pool by what people decided, or by the labels of one annotator, finished or not."""
    people = gold.of_pool(connection, pool_id, "human")
    if annotator:
        everyone = gold.of_pool(connection, pool_id)
        if annotator not in everyone:
            known = ", ".join(everyone) or "nobody labelled it"
            raise ConfigError(f"{annotator!r} has no label in pool {pool_id}", where=where, fix=f"known: {known}")
        labels: Mapping[int, Label] = everyone[annotator]
    else:
        labels = {candidate: label for candidate, (label, _) in gold.final(connection, pool_id).items()}
    names = [annotator] if annotator else list(people)
    checked = {review for name in names for review in gold.checked(connection, pool_id, name)}
    pool = pools.read(connection, pool_id)
    silver = bool(annotator) and annotator not in people
    return layer_of(pool, labels, checked, silver=silver, annotator=annotator)


def _known_pool(connection: sqlite3.Connection, asked: str, where: str) -> str:
    known = [row[0] for row in pools.summarise(connection) if not audits.is_audit(connection, row[0])]
    matching = [pool for pool in known if pool.startswith(asked)] if asked else []
    if len(matching) == 1:
        return matching[0]
    there = f"there are {', '.join(known)}" if known else "`builder pool` draws one"
    what = f"{len(matching)} pools begin with {asked!r}" if matching else f"there is no pool {asked!r}"
    raise ConfigError(what, where=where, fix=there)


def _only_model(connection: sqlite3.Connection, pool_id: str, where: str) -> str:
    models = list(gold.of_pool(connection, pool_id, "llm"))
    if len(models) == 1:
        return models[0]
    if not models:
        raise ConfigError(
            f"no language model labelled pool {pool_id}", where=where, fix=f"ask one: `builder judge --pool {pool_id}`"
        )
    raise ConfigError(
        f"{len(models)} language models labelled pool {pool_id}",
        where=where,
        fix=f'name one: "{PREFIX}{pool_id}/{models[0]}"',
    )
