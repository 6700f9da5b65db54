"""The number of a release, computed from what changed since the last one, and the files that name it.

In: the data in a temporary folder and the facts about it. Out: the directory that holds just these already, or a
version that is free. A release that would lose much of the last one without a reason is refused.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from builder.core.errors import ReleaseError
from builder.pipeline import release_rows
from builder.pipeline.context import Context
from builder.release import package
from builder.release.changes import changes
from builder.release.diff import LEVELS, Diff, bumped, compare, compare_making
from builder.release.manifest import Facts, making, manifest, sha256
from builder.release.reading import Existing, existing, parsed, versions
from builder.release.shelf import Shelf
from builder.release.verify import verify
from builder.store import db, runs


@dataclass(frozen=True, slots=True)
class _Numbering:
    """A version with its parent and what changed since; date and reason come from a release that exists already."""

    version: str
    parent: Existing | None
    diff: Diff | None
    date: str = ""
    reason: str = ""


def settle_version(
    context: Context, folder: Path, content: package.Files, facts: Facts
) -> tuple[Path, package.Files, str]:
    """Where the release goes, with all its files: the directory that holds just these already, or a version that is
    free.
    """
    asked = context.config.release.version
    for numbering in _matching(context, folder, facts, package.digest(content)):
        target, files = context.out / f"v{numbering.version}", _list_files(facts, content, numbering)
        if _holds(target, files):
            return target, files, numbering.version
        if numbering.version == asked:
            raise ReleaseError(
                "this version exists with other content",
                where=str(target),
                fix="a release is immutable: set release.version to a new one",
            )
    numbering = _next(context, folder, facts)
    _refuse_drop(context, numbering)
    undated = replace(facts, version=numbering.version, parent=_name(numbering.parent))
    numbering = replace(numbering, date=_choose_date(context, manifest(undated, content)))
    return context.out / f"v{numbering.version}", _list_files(facts, content, numbering), numbering.version


def _matching(context: Context, folder: Path, facts: Facts, digest: str) -> Iterator[_Numbering]:
    """The releases that may be this very one: that of the version asked for, or all that hold the same data."""
    ours, asked = existing(context.out, context.config.release.name), context.config.release.version
    if asked and (target := context.out / f"v{asked}").exists() and not any(release.path == target for release in ours):
        raise ReleaseError(
            "this version exists with other content", where=str(target), fix="set release.version to a new one"
        )
    for n, release in enumerate(ours):
        version = str(release.manifest["version"])
        if version == asked if asked else _data_digest(release.path) == digest:
            parent = ours[n - 1] if n else None
            date, reason = (str(release.manifest.get(key, "")) for key in ("date", "reason"))
            yield _Numbering(version, parent, _diff(parent, version, folder, facts), date, reason)


def _next(context: Context, folder: Path, facts: Facts) -> _Numbering:
    """The version that comes next by what changed, or the one asked for."""
    settings = context.config.release
    ours = existing(context.out, settings.name)
    if settings.version:
        ours = [release for release in ours if release.version < parsed(settings.version)]
    parent = ours[-1] if ours else None
    change = _diff(parent, settings.version or "this build", folder, facts)
    if settings.version:
        return _Numbering(settings.version, parent, change, reason=settings.drop_reason)
    taken = versions(context.out)
    if parent is None or change is None:
        number = bumped(taken[-1], "minor") if taken else (0, 1, 0)
        return _Numbering(".".join(map(str, number)), None, None, reason=settings.drop_reason)
    if settings.bump != "auto" and LEVELS.index(settings.bump) < LEVELS.index(change.level):
        raise ReleaseError(
            f"a {settings.bump} version of {_name(parent)} is asked for, but the changes are {change.level}",
            where=str(context.out), fix=f"use --bump auto or {change.level}; `builder diff` shows what changed",
        )  # fmt: skip
    number = bumped(parent.version, change.level if settings.bump == "auto" else settings.bump)
    while number in taken:  # a release of another name
        number = bumped(number, "patch")
    version = ".".join(map(str, number))
    return _Numbering(version, parent, replace(change, after=version), reason=settings.drop_reason)


def _diff(parent: Existing | None, version: str, folder: Path, facts: Facts) -> Diff | None:
    if parent is None:
        return None
    return compare(
        (str(_name(parent)), Shelf(parent.path, parent.splits)), (version, Shelf(folder, release_rows.SPLITS)),
        made=compare_making(parent.manifest, making(facts)),
    )  # fmt: skip


def _name(release: Existing | None) -> str | None:
    return str(release.manifest["version"]) if release else None


def _refuse_drop(context: Context, numbering: _Numbering) -> None:
    settings = context.config.release
    drops = numbering.diff.drops(settings.max_drop) if numbering.diff and not settings.drop_reason else []
    if drops:
        raise ReleaseError(
            f"more than {settings.max_drop:.0%} of release {_name(numbering.parent)} would be gone "
            f"({'; '.join(drops)})",
            where=str(context.out),
            fix='if that is meant, say why: `builder release --because "…"`; for another dataset set release.name or '
            "--out",
        )


def _list_files(facts: Facts, content: package.Files, numbering: _Numbering) -> package.Files:
    numbered = replace(
        facts, version=numbering.version, parent=_name(numbering.parent), date=numbering.date, reason=numbering.reason,
        change=numbering.diff.level if numbering.diff else "first",
    )  # fmt: skip
    return package.whole(
        numbered, content, changes(numbered, numbering.diff, numbering.parent.path if numbering.parent else None)
    )


def _choose_date(context: Context, undated_manifest: str) -> str:
    """The day of publication: as set, or SOURCE_DATE_EPOCH, or the day on which this workdir first made this release,
    or today.
    """
    if context.config.release.date:
        return context.config.release.date
    if epoch := os.environ.get("SOURCE_DATE_EPOCH"):
        return datetime.fromtimestamp(int(epoch), UTC).date().isoformat()
    name = f"release.date:{sha256(undated_manifest.encode())[:16]}"
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
