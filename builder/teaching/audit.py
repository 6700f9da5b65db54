"""`builder gold audit`: draw a sample of a release for people to judge, take their answers, and say how good the
release is.

In: a working directory with a release. Out: a pool for the annotation page or a sheet, and `AuditResult`. The next
`builder versions release` states the result in card, manifest and Croissant; the report shows it at once.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from builder.core.errors import ConfigError, WorkdirError
from builder.core.records import Pool
from builder.gold.audit_estimates import READ, AuditResult, AuditSettings, draw_audit
from builder.gold.file_formats import SHEETS, named
from builder.gold.items import LabelItem, items
from builder.pipeline.layers import measured
from builder.store import db, pools
from builder.teaching.labelling import Imported, import_labels, opened, write_items


@dataclass(frozen=True, slots=True)
class Drawn:
    """An audit's pool; `new` False where the very same was there already. `triplets` to judge one by one, `reviews` to
    read in full.
    """

    pool: Pool
    new: bool
    triplets: int
    reviews: int


def draw(workdir: Path, settings: AuditSettings, sheet: Path | None = None, *, force: bool = False) -> Drawn:
    """Draw an audit of the last release and store it; write it to `sheet` too (.csv or .xlsx). WorkdirError where
    nothing is released.
    """
    if sheet is not None and sheet.suffix.lower()[1:] not in SHEETS:
        raise ConfigError(f"{sheet.name} is no sheet", where="--sheet", fix="name it .csv or .xlsx")
    with opened(workdir) as connection:
        version, reviews = pools.released(connection)
        if not any(review.candidates for review in reviews):
            raise WorkdirError(
                "no release with triplets that machines found", where=str(workdir), fix="run `builder build` first"
            )
        drawn = draw_audit(reviews, version, settings)
        new = not pools.exists(connection, drawn.id)
        if new:
            with db.atomic(connection):
                pools.write(connection, drawn)
        pool = pools.read(connection, drawn.id)
    if sheet is not None:
        write_items(sheet, named(None, sheet), _sheet_items(pool), force)
    read = [review for review in pool.reviews if review.stratum == READ]
    single = sum(
        candidate.n is not None for review in pool.reviews if review.stratum != READ for candidate in review.candidates
    )
    return Drawn(pool, new, single, len(read))


def import_answers(workdir: Path, path: Path, annotator: str, pool: str | None = None) -> Imported:
    """Take the answers of a filled sheet, all or none."""
    with opened(workdir) as connection:
        chosen = _chosen(connection, workdir, pool)
    return import_labels(workdir, chosen, path, named(None, path), annotator)


def result(workdir: Path, pool: str | None = None) -> AuditResult:
    """How good the release is by the answers so far, of the last audit or of `pool`."""
    with opened(workdir) as connection:
        return measured(connection, _chosen(connection, workdir, pool))


def _chosen(connection: sqlite3.Connection, workdir: Path, pool: str | None) -> str:
    if pool is None:
        chosen = pools.latest(connection)
    else:
        chosen = pools.chosen(connection, pool)
        if not pools.is_audit(connection, chosen):
            raise ConfigError(
                f"pool {chosen} was drawn for no audit", where="--pool", fix="leave --pool out for the last audit"
            )
    if chosen is None:
        raise WorkdirError("no audit was drawn here", where=str(workdir), fix="draw one with `builder gold audit draw`")
    return chosen


def _sheet_items(pool: Pool) -> Iterator[LabelItem]:
    """As every pool, and an empty row behind each review that is read in full: for what is missing, or `none`."""
    before = None
    for item in items(pool):
        if before is not None and before.review.id != item.review.id and _asks_for_missing(before):
            yield LabelItem(pool.id, before.review, None)
        yield item
        before = item
    if before is not None and _asks_for_missing(before):
        yield LabelItem(pool.id, before.review, None)


def _asks_for_missing(item: LabelItem) -> bool:
    return item.review.stratum == READ and item.candidate is not None
