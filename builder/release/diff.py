"""What changed between two releases, what that makes of the version, and CHANGES.md. Pure, but for reading the rows:
`Shelf` reads them from the disk as they are asked for, and holds some twenty bytes of each.

patch: the same data, repackaged; minor: all of the old data and more; major: something edited, removed or moved
(Croissant's rule).
"""

from __future__ import annotations

import json
from array import array
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np

from builder.core.machine import uncollected
from builder.core.records import SPLITS
from builder.core.wording import table
from builder.release.export.native_rows import ReviewRow, TripletRow
from builder.release.manifest import Facts
from builder.release.shelf import opened, rows, rows_path, sized
from builder.release.shelf import row as read_row
from builder.release.verify import naming_faults
from builder.reviews.text import hashed

# ---- Reviews by id


class Shelf:
    """Review id -> (split, row); `in` asks for 64 bits of an id's hash alone."""

    def __init__(self, release: Path, splits: Sequence[str]) -> None:
        """ReleaseError with the line of a row that cannot be read."""
        self._release, self._splits = release, tuple(splits)
        self._paths = [rows_path(release, split) for split in self._splits]
        hashes, starts, lengths, which = array("Q"), array("Q"), array("L"), array("B")
        for n, split in enumerate(self._splits):
            start = 0
            for length, review in sized(release, split):
                hashes.append(_number(review["id"]))
                starts.append(start)
                lengths.append(length)
                which.append(n)
                start += length
        order = np.argsort(np.frombuffer(hashes, np.uint64), kind="stable")
        self._hashes, self._starts = (np.frombuffer(values, np.uint64)[order] for values in (hashes, starts))
        self._lengths, self._which = np.frombuffer(lengths, np.dtype("L"))[order], np.frombuffer(which, np.uint8)[order]

    def __len__(self) -> int:
        return len(self._hashes)

    def __contains__(self, i: object) -> bool:
        return bool(self._places(str(i)))

    def __getitem__(self, i: str) -> tuple[str, ReviewRow]:
        if (found := self.get(i)) is None:
            raise KeyError(i)
        return found

    def get(self, i: str) -> tuple[str, ReviewRow] | None:
        for place in self._places(i):
            n = int(self._which[place])
            review = self._read(n, int(self._starts[place]), int(self._lengths[place]))
            if review["id"] == i:
                return self._splits[n], review
        return None

    def items(self) -> Iterator[tuple[str, tuple[str, ReviewRow]]]:
        """All reviews in their order, each file read once."""
        return ((review["id"], (split, review)) for split in self._splits for review in rows(self._release, split))

    def _places(self, i: str) -> range:
        """Where those lie whose hash is that of an id."""
        number = np.uint64(_number(i))
        return range(
            int(np.searchsorted(self._hashes, number)), int(np.searchsorted(self._hashes, number, side="right"))
        )

    def _read(self, n: int, start: int, length: int) -> ReviewRow:
        with open(self._paths[n], "rb", buffering=0) as handle:
            handle.seek(start)
            return read_row(handle.read(length), f"{self._paths[n]}, byte {start}")


def _number(i: str) -> int:
    return int.from_bytes(hashed(i, 8), "big")


# ---- Changes

Level = Literal["patch", "minor", "major"]
LEVELS: tuple[Level, ...] = ("patch", "minor", "major")
KINDS: dict[str, tuple[Level, str]] = {
    "reviews_added": ("minor", "reviews added"),
    "reviews_removed": ("major", "reviews removed"),
    "reviews_edited": ("major", "reviews whose text was edited"),
    "reviews_relabelled": ("major", "reviews with another annotation, language or rating"),
    "reviews_renamed": ("major", "reviews with another id"),
    "reviews_moved": ("major", "reviews moved to another split"),
    "triplets_added": ("minor", "triplets added"),
    "triplets_removed": ("major", "triplets removed"),
    "triplets_polarity": ("major", "triplets with another polarity"),
    "triplets_edited": ("major", "triplets edited otherwise (phrase, valence, owner)"),
    "triplets_provenance": ("patch", "triplets with other sources, rules, verdicts, confidence or categories named"),
}
"""Kind of change -> the version part that it raises, and how people call it."""
_PROVENANCE = {"id", "sources", "rules", "verdict", "confidence", "aspect_category", "opinion_category"}
"""What may differ between two rows of one triplet without its being another label."""
Making = Mapping[str, Any]
"""What made a release, as its manifest says: `builder`, `config`, `signatures` and `folders`."""
Reviews = Mapping[str, tuple[str, ReviewRow]] | Shelf
"""Review id -> (split, row)."""


@dataclass(frozen=True, slots=True)
class Diff:
    """Counts of each kind of change with up to some samples, and the sizes of both sides as (reviews, triplets) by
    split. `made` is what made them and differs: (setting, signature or the like, before, after).
    """

    before: str
    after: str
    counts: Mapping[str, int]
    samples: Mapping[str, tuple[str, ...]]
    sizes: Mapping[str, tuple[tuple[int, int], ...]]
    made: tuple[tuple[str, str, str], ...] = ()

    @property
    def level(self) -> Level:
        """The part of the version that must be raised."""
        return max((KINDS[kind][0] for kind, count in self.counts.items() if count), key=LEVELS.index, default="patch")

    @property
    def same(self) -> bool:
        return not any(self.counts.values())

    def drops(self, most: float, least: int = 50) -> list[str]:
        """What lost more than a share of `most`: reviews and triplets over all splits, and in each split of at least
        `least` of them.
        """
        losses = []
        total = tuple(
            (sum(size[side][0] for size in self.sizes.values()), sum(size[side][1] for size in self.sizes.values()))
            for side in (0, 1)
        )
        for name, (old, new) in {"all splits": (total[0], total[1]), **self.sizes}.items():
            for what, before, after in (("reviews", old[0], new[0]), ("triplets", old[1], new[1])):
                if after < before * (1 - most) and (name == "all splits" or before >= least):
                    losses.append(f"{name}: {what} fell from {before:,} to {after:,}")
        return losses


@dataclass(slots=True)
class _Tally:
    most: int
    counts: Counter[str] = field(default_factory=Counter)
    samples: dict[str, list[str]] = field(default_factory=dict)
    sizes: defaultdict[str, tuple[Counter[str], Counter[str]]] = field(
        default_factory=lambda: defaultdict(lambda: (Counter(), Counter()))
    )

    def note(self, kind: str, description: str) -> None:
        self.counts[kind] += 1
        shown = self.samples.setdefault(kind, [])
        if len(shown) < self.most:
            shown.append(description)


def between(before: Path, after: Path, samples: int = 5) -> Diff:
    """Two release directories compared."""
    old, new = opened(before), opened(after)
    with uncollected(), naming_faults(before, after):
        labels = [str(release.manifest["version"]) for release in (old, new)]
        names = [str(release.manifest.get("name", "")) for release in (old, new)]
        if names[0] != names[1]:  # two datasets: a version alone would not tell them apart
            labels = [f"{name} {version}" for name, version in zip(names, labels, strict=True)]
        sides = [
            (label, Shelf(release.path, release.splits)) for label, release in zip(labels, (old, new), strict=True)
        ]
        return compare(sides[0], sides[1], samples, compare_making(old.manifest, new.manifest))


def compare_making(before: Making, after: Making) -> tuple[tuple[str, str, str], ...]:
    """What made two releases and differs: name, value before, value after."""
    old, new = dict(_list_making(before)), dict(_list_making(after))
    names = [name for name in {**old, **new} if old.get(name) != new.get(name)]
    return tuple((name, old.get(name, "none"), new.get(name, "none")) for name in names)


def _list_making(manifest: Making) -> Iterator[tuple[str, str]]:
    yield "version of builder", str(manifest["builder"])
    for key, value in sorted(manifest["config"].items()):
        yield f"setting {key}", json.dumps(value, ensure_ascii=False)
    for name, signature in sorted(manifest["signatures"].items()):
        yield f"signature of {name}", str(signature)
    for folder in manifest.get("folders", ()):
        yield f"folder of {folder['role']} {folder['name']}", str(folder["digest"])


def compare(
    before: tuple[str, Reviews],
    after: tuple[str, Reviews],
    samples: int = 5,
    made: tuple[tuple[str, str, str], ...] = (),
) -> Diff:
    """Both are (label, reviews). Matched by id, what is left over by text. `made`: what made them and differs."""
    (old_name, old), (new_name, new) = before, after
    tally = _Tally(samples)
    missing: list[str] = []
    for i, (split, row) in old.items():
        tally.sizes[split][0].update(reviews=1, triplets=len(row["triplets"]))
        if (now := new.get(i)) is None:
            missing.append(i)
        else:
            _review(i, (split, row), now, tally)
    renamed = _missing(missing, old, new, tally)
    for i, (split, row) in new.items():
        tally.sizes[split][1].update(reviews=1, triplets=len(row["triplets"]))
        if i not in old and i not in renamed:
            tally.note("reviews_added", i)
            for triplet in row["triplets"]:
                tally.note("triplets_added", _shown(i, triplet))
    counts = {kind: tally.counts[kind] for kind in KINDS}
    sides = {
        name: tuple((counts["reviews"], counts["triplets"]) for counts in pair)
        for name, pair in sorted(tally.sizes.items(), key=_place)
    }
    shown = {kind: tuple(tally.samples[kind]) for kind in KINDS if kind in tally.samples}
    return Diff(old_name, new_name, counts, shown, sides, made)


def _place(item: tuple[str, object]) -> tuple[int, str]:
    return (SPLITS.index(item[0]) if item[0] in SPLITS else len(SPLITS)), item[0]


def _missing(missing: Iterable[str], old: Reviews, new: Reviews, tally: _Tally) -> set[str]:
    """Reviews whose id is gone: under another id, of those returned, by their text; or removed."""
    by_text = {hashed(row["text"]): i for i, (_, row) in new.items() if i not in old} if missing else {}
    renamed = set()
    for i in missing:
        split, row = old[i]
        if new_id := by_text.pop(hashed(row["text"]), None):
            renamed.add(new_id)
            tally.note("reviews_renamed", f"{i} is now {new_id}")
            _review(i, (split, row), new[new_id], tally)
        else:
            tally.note("reviews_removed", i)
            for triplet in row["triplets"]:
                tally.note("triplets_removed", _shown(i, triplet))
    return renamed


def _review(i: str, old: tuple[str, ReviewRow], new: tuple[str, ReviewRow], tally: _Tally) -> None:
    """One review in both: its split, its text, its labels, its triplets."""
    (split, before), (now, after) = old, new
    if split != now:
        tally.note("reviews_moved", f"{i} from {split} to {now}")
    if before["text"] != after["text"]:
        tally.note("reviews_edited", i)
    changed = [key for key in ("annotation", "language", "rating", "columns") if before.get(key) != after.get(key)]
    if changed:
        tally.note("reviews_relabelled", f"{i}: {', '.join(changed)}")
    if before["triplets"] != after["triplets"]:
        _triplets(i, before["triplets"], after["triplets"], tally)


def _pair(triplet: TripletRow) -> str:
    return json.dumps([triplet["aspect"]["spans"], triplet["opinion"]["spans"]])


def _triplets(i: str, before: Iterable[TripletRow], after: Iterable[TripletRow], tally: _Tally) -> None:
    """Triplets are the same if they pair the same places."""
    old, new = ({_pair(triplet): triplet for triplet in side} for side in (before, after))
    for pair, triplet in old.items():
        other = new.get(pair)
        if other is None:
            tally.note("triplets_removed", _shown(i, triplet))
        elif triplet["polarity"] != other["polarity"]:
            tally.note("triplets_polarity", f"{_shown(i, triplet)} is now {other['polarity']}")
        elif triplet != other:
            provenance = _changed(triplet, other) <= _PROVENANCE
            tally.note("triplets_provenance" if provenance else "triplets_edited", _shown(i, triplet))
    for pair, triplet in new.items():
        if pair not in old:
            tally.note("triplets_added", _shown(i, triplet))


def _changed(first: Mapping[str, object], second: Mapping[str, object]) -> set[str]:
    return {key for key in first.keys() | second.keys() if first.get(key) != second.get(key)}


def _shown(i: str, triplet: TripletRow) -> str:
    return f"{i} ({triplet['aspect']['text']}, {triplet['opinion']['text']}, {triplet['polarity']})"


def markdown(diff: Diff, title: str = "") -> str:
    """A comparison as Markdown, for `CHANGES.md` and `builder versions diff`.

    Args:
        title: the first line; by default the two versions and the level of the change.
    """
    lines = [title or f"# {diff.before} to {diff.after}: {diff.level}", ""]
    if diff.same:
        lines += ["No review and no triplet differs.", ""]
    else:
        counts = ((KINDS[kind][1], f"{count:,}", KINDS[kind][0]) for kind, count in diff.counts.items() if count)
        lines += [table(["change", "number", "raises"], counts), ""]
    if diff.made:
        made = ([_one_line(cell).replace("|", "\\|") for cell in row] for row in diff.made)
        lines += [table(["made with another", "before", "after"], made), ""]
    sizes = ([name, *(f"{n:,}" for n in (a[0], b[0], a[1], b[1]))] for name, (a, b) in diff.sizes.items())
    lines += [table(["split", "reviews before", "after", "triplets before", "after"], sizes), ""]
    for kind, shown in diff.samples.items():
        lines += [
            f"{KINDS[kind][1].capitalize()}, for example:",
            "",
            *(f"- {_one_line(sample)}" for sample in shown),
            "",
        ]
    return "\n".join(lines)


def _one_line(text: str) -> str:
    """A sample as Markdown shows it, whatever it holds."""
    return "`" + " ".join(text.split()).replace("`", "'") + "`"


def as_json(diff: Diff) -> dict[str, object]:
    """A comparison as `builder versions diff --format json` prints it: level, counts by kind of change, sizes and
    samples.
    """
    sides = ("before", "after")
    sizes = {
        name: {side: {"reviews": pair[n][0], "triplets": pair[n][1]} for n, side in enumerate(sides)}
        for name, pair in diff.sizes.items()
    }
    return {
        "before": diff.before,
        "after": diff.after,
        "level": diff.level,
        "counts": dict(diff.counts),
        "made": [dict(zip(("what", *sides), row, strict=True)) for row in diff.made],
        "sizes": sizes,
        "samples": {kind: list(shown) for kind, shown in diff.samples.items()},
    }


def bumped(version: tuple[int, int, int], level: Level) -> tuple[int, int, int]:
    """The version after a change."""
    major, minor, patch = version
    return {"patch": (major, minor, patch + 1), "minor": (major, minor + 1, 0), "major": (major + 1, 0, 0)}[level]


_HEAD = "# Changes\n\n"


def changes(facts: Facts, diff: Diff | None, parent: Path | None) -> str:
    """`diff` and `parent`, its directory, are None for the first release of a name."""
    day = f" ({facts.date})" if facts.date else ""
    if diff is None or parent is None:
        return f"{_HEAD}## {facts.version}{day}\n\nThe first release of {facts.name}.\n"
    title = f"## {facts.version}{day}: a {diff.level} change of {facts.parent}"
    text = markdown(diff, title).rstrip("\n") + "\n"
    if facts.reason:
        text += f"\nWhy there is less: {' '.join(facts.reason.split())}\n"
    try:
        before = (parent / "CHANGES.md").read_text(encoding="utf-8").removeprefix(_HEAD)
    except OSError:  # format 1 had none
        before = f"## {facts.parent}\n\nNothing was written down.\n"
    return f"{_HEAD}{text}\n{before}"
