"""`builder export`: a release in another format, a file for each split, and beside it the reviews that the format
cannot hold.

In: the directory of a release. Out: files.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from builder.core.errors import ConfigError, did_you_mean
from builder.core.files import write_atomically
from builder.core.machine import uncollected
from builder.release.export.formats import FORMATS, NAMES, export, skipped_lines
from builder.release.export.records import Opinion
from builder.release.faulty import naming_faults
from builder.release.reading import opened, rows


@dataclass(frozen=True, slots=True)
class Written:
    """A split in its new file."""

    split: str
    path: Path
    reviews: int
    labels: int
    in_full: int
    skipped: int
    """Reviews that the format cannot hold, with `lost` labels."""
    lost: int
    empty: int
    """Reviews without a triplet that are left out because that was asked for."""


def export_release(
    release: Path,
    name: str,
    to: Path,
    splits: Sequence[str] = (),
    opinion: Opinion = "opinion",
    without_empty: bool = False,
) -> list[Written]:
    """Write the chosen splits (all if none is named); ConfigError for a split or format that is not known.

    An augmentation layer is written where it is named: train-synonym. `without_empty` leaves out reviews without a
    triplet, which readers of ASTE data refuse.
    """
    if name not in NAMES:
        raise ConfigError(f"unknown format {name!r}", fix=f"{did_you_mean(name, NAMES)}known: {', '.join(NAMES)}")
    source = opened(release)
    known = [*source.splits, *source.layers]
    if strange := [split for split in splits if split not in known]:
        raise ConfigError(f"no split {strange[0]!r}", where=str(release), fix=f"there are {', '.join(known)}")
    with uncollected():
        return [_export(release, name, to, split, opinion, without_empty) for split in splits or source.splits]


def _export(release: Path, name: str, to: Path, split: str, opinion: Opinion, without_empty: bool) -> Written:
    reviews = list(rows(release, split))
    with naming_faults(release):
        made = export(name, split, reviews, opinion, without_empty)
    write_atomically(to / made.file, made.payload)
    for beside, content in FORMATS[name].beside.items() if name in FORMATS else ():
        write_atomically(to / beside, content.encode())
    aside = to / f"{made.file}.skipped.jsonl"
    if made.skipped:
        write_atomically(aside, skipped_lines(made.skipped, {row["id"]: row["text"] for row in reviews}).encode())
    else:
        aside.unlink(missing_ok=True)
    lost = sum(review.labels for review in made.skipped)
    return Written(split, to / made.file, made.reviews, made.labels, made.in_full, len(made.skipped), lost, made.empty)
