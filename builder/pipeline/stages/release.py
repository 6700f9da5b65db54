"""release: the triplets of each split as an immutable directory, its version computed from what changed since the
last one.

Built in a temporary directory, a row at a time, verified, then renamed: there is a whole release or none. What was
released already is found again.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from builder.core.errors import ReleaseError
from builder.core.machine import uncollected
from builder.pipeline import judging
from builder.pipeline.context import Context, crew_of_this_machine
from builder.pipeline.release_facts import NO_JUDGE, gather_facts, settle_version
from builder.pipeline.release_reviews import train_source
from builder.pipeline.release_rows import write_drafts
from builder.release import package
from builder.release.manifest import Facts, as_rows
from builder.release.shelf import rows
from builder.release.statistics import Tally
from builder.store import db, drops, released, reviews, runs

UNCHANGED = "unchanged"
"""The count of a stage that found its release made already."""


def run(context: Context) -> runs.Counts:
    """Write the release, or find it again; its version, path and counts."""
    with uncollected(), package.building(context.out) as folder:
        return _release(context, folder)


def _release(context: Context, folder: Path) -> runs.Counts:
    drafts = write_drafts(context, folder)
    tallies = {name: Tally() for name in drafts}
    content = package.data(folder, {name: _tallied(draft.rows(), tallies[name]) for name, draft in drafts.items()})
    for draft in drafts.values():
        draft.close()
    facts = gather_facts(context, drafts, tallies)
    _refuse_nothing(facts)
    target, files, version = settle_version(context, folder, content, facts)
    connection = context.connection
    with db.atomic(connection):
        released.clear(connection)
        if not (unchanged := target.exists()):
            apart = {name: draft.digest() for name, draft in drafts.items()}
            with crew_of_this_machine(context) as crew:
                package.write(folder, target, files, crew, apart)
        for name, draft in drafts.items():
            released.add_rows(connection, version, name, draft.released_ids(), rows(target, name))
        released.set_public_ids(connection, context.config.release.ids == "hash")
        for stage in ("release", drops.STAGE):
            reviews.clear_rejected(connection, stage)
        dropped = (dropped for draft in drafts.values() for dropped in draft.dropped)
        reviews.reject_stored(connection, "release", dropped)
        reviews.reject_stored(connection, drops.STAGE, list(drops.find_drops(connection, _selection(context))))
        runs.set_setting(connection, "release.figures", json.dumps(as_rows(facts.figures)))
        runs.set_release(connection, version, str(target), package.digest(content))
    counts: dict[str, int | float | str] = {"version": version, "path": str(target)}
    counts |= {split.name: split.triplets for split in facts.splits} | ({UNCHANGED: "yes"} if unchanged else {})
    unjudged = {"judge": f"none: {judging.NO_JUDGE}"} if facts.panel.startswith(NO_JUDGE) else {}
    return counts | dict(facts.dropped) | unjudged


def _selection(context: Context) -> drops.Selection:
    """How the triplets of this release were chosen."""
    variant, last = train_source(context)
    heeded = variant == "E" and judging.has_shipped_judge(context)
    limits = judging.read_limits(context) if heeded else None
    drop, sure = (limits.dropped, limits.limit) if limits else (None, None)
    return drops.Selection(variant, last, drop, sure, context.config.self_train.confidence)


def _refuse_nothing(facts: Facts) -> None:
    """ReleaseError for a release without a review, which no reader could load."""
    if not facts.reviews:
        reasons = ", ".join(f"{reason} {number:,}" for reason, number in facts.dropped.items() if number)
        raise ReleaseError(
            f"no review is left to release ({reasons})",
            fix='add reviews, set release.empty = "keep", or lower release.min_confidence',
        )


def _tallied(members: Iterator[package.WrittenRow], tally: Tally) -> Iterator[package.WrittenRow]:
    """The same rows, counted as they pass."""
    for written in members:
        tally.take(written.row)
        yield written
