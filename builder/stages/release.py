"""release: the triplets of each split as an immutable directory, its version computed from what changed since the
last one.

Built in a temporary directory, a row at a time, verified, then renamed: there is a whole release or none. What was
released already is found again; what would lose much of the last release without a word is refused.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from builder import __version__
from builder.config import flat
from builder.errors import ConfigError, ReleaseError
from builder.licences import by_source
from builder.metrics.scores import Metric
from builder.metrics.systems import Settings, measure
from builder.model.trust import TrustLimits
from builder.release import package, writing
from builder.release.changes import changes
from builder.release.diff import LEVELS, Diff, bumped, compare
from builder.release.figures import QualityFigure, as_rows, metric_name
from builder.release.manifest import Facts, manifest, sha256
from builder.release.reading import Existing, existing, parsed, rows, uncollected, versions
from builder.release.shelf import Shelf
from builder.release.statistics import Tally
from builder.release.verify import verify
from builder.stages import discriminate
from builder.stages import rows as released
from builder.stages.audited import quality
from builder.stages.context import Context
from builder.stages.rows import Draft
from builder.store import db, reviews, runs, triplets
from builder.store import released as released_rows

REASONS = (
    "unsure",
    "masked",
    "span",
    "contradiction",
    "overlap",
    "masked-duplicate",
    "near-duplicate",
    "emptied",
    "empty",
)
UNTRUSTED = "The discriminator's panel is not trusted"
NO_JUDGE = "There were too few reviews for a judge"
_UNTOLD = (
    "workers", "engine", "scheduler", "evaluate.gold", "annotate.models", "release.version", "release.bump", "release.max_drop", "release.drop_reason", "release.date",
)  # fmt: skip
"""What does not change the result stays out of the manifest, so that the same data is the same bytes: workers, paths,
how to number.
"""


@dataclass(frozen=True, slots=True)
class _Plan:
    """A version to try: its parent, what changed since, and the date and reason where a release of this version says
    them already.
    """

    version: str
    parent: Existing | None
    diff: Diff | None
    date: str = ""
    reason: str = ""


def run(context: Context) -> runs.Counts:
    with uncollected(), writing.building(context.out) as folder:
        return _run(context, folder)


def _run(context: Context, folder: Path) -> runs.Counts:
    drafts = released.drafts(context, folder)
    tallies = {name: Tally() for name in drafts}
    content = package.data(folder, {name: tallies[name].over(draft.rows()) for name, draft in drafts.items()})
    for draft in drafts.values():
        draft.close()
    facts = _facts(context, drafts, tallies)
    target, files, version = _settled(context, folder, content, facts)
    if not target.exists():
        writing.write(folder, target, files)
    with db.atomic(context.connection):
        reviews.clear_rejected(context.connection, "release")
        reviews.reject_stored(
            context.connection, "release", (left_out for one in drafts.values() for left_out in one.dropped)
        )
        runs.set_setting(context.connection, "release.figures", json.dumps(as_rows(facts.figures)))
        runs.set_release(context.connection, version, str(target), package.digest(content))
        released_rows.clear(context.connection)
        released_rows.set_public_ids(context.connection, context.config.release.ids == "hash")
        for name, draft in drafts.items():
            for review, row in zip(draft.released_ids(), rows(target, name), strict=True):
                released_rows.add_row(context.connection, review, version, name, row)
    told: dict[str, int | float | str] = {"version": version, "path": str(target)} | {
        one.name: one.triplets for one in facts.splits
    }
    silent = ((UNTRUSTED, "not trusted; releasing what the rules hold"), (NO_JUDGE, f"none: {discriminate.TOO_FEW}"))
    reasons = [why for start, why in silent if facts.panel.startswith(start)]
    return told | dict(facts.dropped) | ({"panel": reasons[0]} if reasons else {})


def _settled(context: Context, folder: Path, content: package.Files, facts: Facts) -> tuple[Path, package.Files, str]:
    """Where the release goes, with all its files: the directory that holds just these already, or a version that is
    free.
    """
    asked = context.config.release.version
    for plan in _known(context, folder, package.digest(content)):
        target, files = context.out / f"v{plan.version}", _files(facts, content, plan)
        if _holds(target, files):
            return target, files, plan.version
        if plan.version == asked:
            raise ReleaseError(
                "this version exists with other content",
                where=str(target),
                fix="a release is immutable: set release.version to a new one",
            )
    plan = _next(context, folder)
    _refuse_drop(context, plan)
    told = replace(facts, version=plan.version, parent=_name(plan.parent))
    plan = replace(plan, date=_date(context, manifest(told, content)))
    return context.out / f"v{plan.version}", _files(facts, content, plan), plan.version


def _known(context: Context, folder: Path, digest: str) -> Iterator[_Plan]:
    """The releases that may be this very one: that of the version asked for, or all that hold the same data."""
    ours, asked = existing(context.out, context.config.release.name), context.config.release.version
    if asked and (target := context.out / f"v{asked}").exists() and not any(one.path == target for one in ours):
        raise ReleaseError(
            "this version exists with other content", where=str(target), fix="set release.version to a new one"
        )
    for n, one in enumerate(ours):
        version = str(one.manifest["version"])
        if version == asked if asked else _data_digest(one.path) == digest:
            parent = ours[n - 1] if n else None
            told = one.manifest
            yield _Plan(
                version, parent, _diff(parent, version, folder), str(told.get("date", "")), str(told.get("reason", ""))
            )


def _next(context: Context, folder: Path) -> _Plan:
    """The version that comes next by what changed, or the one asked for."""
    settings = context.config.release
    ours = existing(context.out, settings.name)
    if settings.version:
        ours = [one for one in ours if one.version < parsed(settings.version)]
    parent = ours[-1] if ours else None
    change = _diff(parent, settings.version or "this build", folder)
    if settings.version:
        return _Plan(settings.version, parent, change, reason=settings.drop_reason)
    taken = versions(context.out)
    if parent is None or change is None:
        number = bumped(taken[-1], "minor") if taken else (0, 1, 0)
        return _Plan(".".join(map(str, number)), None, None, reason=settings.drop_reason)
    if settings.bump != "auto" and LEVELS.index(settings.bump) < LEVELS.index(change.level):
        raise ReleaseError(
            f"a {settings.bump} version of {_name(parent)} is asked for, but the changes are {change.level}",
            where=str(context.out), fix=f"use --bump auto or {change.level}; `builder diff` shows what changed",
        )  # fmt: skip
    number = bumped(parent.version, change.level if settings.bump == "auto" else settings.bump)
    while number in taken:  # a release of another name
        number = bumped(number, "patch")
    version = ".".join(map(str, number))
    return _Plan(version, parent, replace(change, after=version), reason=settings.drop_reason)


def _diff(parent: Existing | None, version: str, folder: Path) -> Diff | None:
    if parent is None:
        return None
    return compare((str(_name(parent)), Shelf(parent.path, parent.splits)), (version, Shelf(folder, released.SPLITS)))


def _name(one: Existing | None) -> str | None:
    return str(one.manifest["version"]) if one else None


def _refuse_drop(context: Context, plan: _Plan) -> None:
    settings = context.config.release
    drops = plan.diff.drops(settings.max_drop) if plan.diff and not settings.drop_reason else []
    if drops:
        raise ReleaseError(
            f"more than {settings.max_drop:.0%} of release {_name(plan.parent)} would be gone ({'; '.join(drops)})",
            where=str(context.out),
            fix='if that is meant, say why: `builder release --because "…"`; for another dataset set release.name or --out',
        )


def _files(facts: Facts, content: package.Files, plan: _Plan) -> package.Files:
    told = replace(
        facts, version=plan.version, parent=_name(plan.parent), date=plan.date, reason=plan.reason,
        change=plan.diff.level if plan.diff else "first",
    )  # fmt: skip
    return package.whole(told, content, changes(told, plan.diff, plan.parent.path if plan.parent else None))


def _facts(context: Context, drafts: Mapping[str, Draft], tallies: Mapping[str, Tally]) -> Facts:
    """All that is said of the release but its number, parent and date."""
    reasons = [left_out[1] for one in drafts.values() for left_out in one.dropped]
    numbers = {name: tally.numbers() for name, tally in tallies.items()}
    settings = context.config.release
    return Facts(
        name=settings.name,
        version="",
        parent=None,
        licence=settings.licence,
        licences=_licences(context),
        builder=__version__,
        splits=[released.split(context, name, tally) for name, tally in tallies.items()],
        signatures=triplets.signatures(context.connection)
        | {"annotations": reviews.backend(context.connection), "lexicons": context.lexicon.digest},
        config={key: value for key, value in flat(context.config).items() if key not in _UNTOLD},
        ingest=runs.runs(context.connection)["ingest"].counts,
        dropped={reason: reasons.count(reason) for reason in REASONS},
        metrics=runs.metrics(context.connection),
        creator=settings.creator,
        url=settings.url,
        panel=_panel(context),
        quality=quality(context.connection),
        contact=settings.contact,
        figures=_figures(drafts),
        statistics=numbers,
    )


def _licences(context: Context) -> dict[str, str]:
    """The licences of the input's sources; ConfigError for a source that no review has."""
    licences = by_source(context.config.release.licences, "release.licences")
    sources = reviews.sources(context.connection) if licences else set()
    if strange := sorted(licences.keys() - sources):
        there = ", ".join(sorted(sources)) or "none: name the column with --source-column"
        raise ConfigError(
            f"no review has the source {strange[0]!r}", where="release.licences", fix=f"there are {there}"
        )
    return licences


def _figures(drafts: Mapping[str, Draft]) -> list[QualityFigure]:
    """What people's labels say of the silver ones: the method on the reviews that people labelled, which no model
    learnt from.
    """
    compared = {key: both for draft in drafts.values() for key, both in draft.compared.items()}
    if not compared:
        return []
    gold, silver = ({key: both[side] for key, both in compared.items()} for side in (0, 1))
    by = f"{len(compared):,} gold reviews, labelled by people"
    return [
        QualityFigure(
            metric_name(f"{one.metric.match} {part}"),
            "silver labels",
            by,
            round(found.value, 4),
            found.low and round(found.low, 4),
            found.high and round(found.high, 4),
        )
        for one in measure(gold, silver, (Metric("exact", "triplet"), Metric("lenient", "triplet")), Settings())
        for part, found in (("P", one.values["precision"]), ("R", one.values["recall"]), ("F1", one.values["f1"]))
    ]


def _panel(context: Context) -> str:
    """What the cross-fitted panel did to the data, in a sentence; nothing where another judge was asked for."""
    if context.config.discriminate.mode != "cross-fit":
        return ""
    trust, variant = discriminate.trust(context), released.chosen(context)[0]
    if trust is None:
        return f"{NO_JUDGE}: {context.config.discriminate.least:,} reviews with triplets are needed. The release holds what the rules hold."
    if not trust:
        done = (
            "Variant E adds, lengthens and drops nothing by it: the release holds what the rules hold."
            if variant == "E"
            else f"It filters variant {variant} all the same: read its verdicts with care."
        )
        return f"{UNTRUSTED}: it learnt from too few reviews to doubt what rules say. {done}"
    if variant != "E":
        return "The discriminator's panel is trusted."
    limits = TrustLimits.of(trust)
    return (
        f"The discriminator's panel is trusted to {trust:.0%}: variant E holds no triplet of the rules that it gives less than {limits.drop:g},"
        f" and adds what its taggers give {limits.add:g} or more, with the polarity of the lexicon where that speaks."
    )


def _date(context: Context, told: str) -> str:
    """The day of publication: as set, or SOURCE_DATE_EPOCH, or the day on which this workdir first made this release,
    or today.
    """
    if context.config.release.date:
        return context.config.release.date
    if epoch := os.environ.get("SOURCE_DATE_EPOCH"):
        return datetime.fromtimestamp(int(epoch), UTC).date().isoformat()
    name = f"release.date:{sha256(told.encode())[:16]}"
    today = datetime.fromtimestamp(time.time(), UTC).date().isoformat()
    date = runs.setting(context.connection, name) or today
    with db.atomic(context.connection):
        runs.set_setting(context.connection, name, date)
    return date


def _data_digest(release: Path) -> str:
    """The digest of the checksum lines of data/ in a release."""
    try:
        lines = (release / "SHA256SUMS").read_text(encoding="utf-8").splitlines(keepends=True)
    except OSError:
        return ""
    return sha256("".join(line for line in lines if line[66:].startswith("data/")).encode())


def _holds(target: Path, files: package.Files) -> bool:
    """Whether an existing release is this very one; a damaged one is an error."""
    if faults := verify(target):
        raise ReleaseError(
            f"this release is damaged: {faults[0]}", where=str(target), fix="remove it, then `builder resume`"
        )
    return (target / "SHA256SUMS").read_bytes() == files["SHA256SUMS"]
