"""What changed between two releases, and what that makes of the version. Pure, but for reading the rows.

patch: the same data, repackaged; minor: all of the old data and more; major: something edited, removed or moved (Croissant's rule).
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from builder.export.records import ReviewRow, TripletRow

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
    "triplets_provenance": ("patch", "triplets with other sources or rules named"),
}
"""Kind of change -> the version part that it raises, and how people call it."""
Reviews = Mapping[str, tuple[str, ReviewRow]]
"""Review id -> (split, row)."""


@dataclass(frozen=True, slots=True)
class Diff:
    """Counts of each kind of change with up to some samples, and the sizes of both sides as (reviews, triplets) by split."""

    before: str
    after: str
    counts: Mapping[str, int]
    samples: Mapping[str, tuple[str, ...]]
    sizes: Mapping[str, tuple[tuple[int, int], tuple[int, int]]]

    @property
    def level(self) -> Level:
        """The part of the version that must be raised."""
        return max((KINDS[kind][0] for kind, count in self.counts.items() if count), key=LEVELS.index, default="patch")

    @property
    def same(self) -> bool:
        return not any(self.counts.values())

    def drops(self, most: float, least: int = 50) -> list[str]:
        """What lost more than a share of `most`: reviews and triplets over all splits, and in each split of at least `least` of them."""
        told = []
        total = tuple(
            (sum(one[side][0] for one in self.sizes.values()), sum(one[side][1] for one in self.sizes.values())) for side in (0, 1)
        )
        for name, (old, new) in {"all splits": (total[0], total[1]), **self.sizes}.items():
            for what, before, after in (("reviews", old[0], new[0]), ("triplets", old[1], new[1])):
                if after < before * (1 - most) and (name == "all splits" or before >= least):
                    told.append(f"{name}: {what} fell from {before:,} to {after:,}")
        return told


def by_id(splits: Mapping[str, Iterable[ReviewRow]]) -> dict[str, tuple[str, ReviewRow]]:
    """The reviews of a release by id, each with its split."""
    return {row["id"]: (split, row) for split, listed in splits.items() for row in listed}


@dataclass(slots=True)
class _Tally:
    most: int
    counts: Counter[str] = field(default_factory=Counter)
    samples: dict[str, list[str]] = field(default_factory=dict)

    def note(self, kind: str, told: str) -> None:
        self.counts[kind] += 1
        shown = self.samples.setdefault(kind, [])
        if len(shown) < self.most:
            shown.append(told)


def compare(before: tuple[str, Reviews], after: tuple[str, Reviews], samples: int = 5) -> Diff:
    """`before` and `after` are (label, reviews). Reviews are matched by id, those left over by text."""
    (old_name, old), (new_name, new) = before, after
    tally = _Tally(samples)
    by_text = {row["text"]: i for i, (_, row) in new.items() if i not in old}
    matched = {i: i if i in new else by_text.pop(row["text"], None) for i, (_, row) in old.items()}
    for i, j in matched.items():
        if j is None:
            tally.note("reviews_removed", i)
            for one in old[i][1]["triplets"]:
                tally.note("triplets_removed", _shown(i, one))
        else:
            if i != j:
                tally.note("reviews_renamed", f"{i} is now {j}")
            _review(i, old[i], new[j], tally)
    _added(new, {j for j in matched.values() if j is not None}, tally)
    counts = {kind: tally.counts[kind] for kind in KINDS}
    return Diff(old_name, new_name, counts, {kind: tuple(shown) for kind, shown in tally.samples.items()}, _sizes(old, new))


def _added(new: Reviews, known: set[str], tally: _Tally) -> None:
    for j, (_, row) in new.items():
        if j not in known:
            tally.note("reviews_added", j)
            for one in row["triplets"]:
                tally.note("triplets_added", _shown(j, one))


def _review(i: str, old: tuple[str, ReviewRow], new: tuple[str, ReviewRow], tally: _Tally) -> None:
    """One review in both: its split, its text, its labels, its triplets."""
    (split, before), (now, after) = old, new
    if split != now:
        tally.note("reviews_moved", f"{i} from {split} to {now}")
    if before["text"] != after["text"]:
        tally.note("reviews_edited", i)
    changed = [key for key in ("annotation", "language", "rating") if before[key] != after[key]]  # type: ignore[literal-required]
    if changed:
        tally.note("reviews_relabelled", f"{i}: {', '.join(changed)}")
    if before["triplets"] != after["triplets"]:
        _triplets(i, before["triplets"], after["triplets"], tally)


def _pair(one: TripletRow) -> str:
    return json.dumps([one["aspect"]["spans"], one["opinion"]["spans"]])


def _triplets(i: str, before: Iterable[TripletRow], after: Iterable[TripletRow], tally: _Tally) -> None:
    """Triplets are the same if they pair the same places."""
    old, new = ({_pair(one): one for one in listed} for listed in (before, after))
    for pair, one in old.items():
        other = new.get(pair)
        if other is None:
            tally.note("triplets_removed", _shown(i, one))
        elif one["polarity"] != other["polarity"]:
            tally.note("triplets_polarity", f"{_shown(i, one)} is now {other['polarity']}")
        elif one != other:
            provenance = {key for key, value in one.items() if value != other[key]} <= {"sources", "rules", "id"}  # type: ignore[literal-required]
            tally.note("triplets_provenance" if provenance else "triplets_edited", _shown(i, one))
    for pair, one in new.items():
        if pair not in old:
            tally.note("triplets_added", _shown(i, one))


def _shown(i: str, one: TripletRow) -> str:
    return f"{i} ({one['aspect']['text']}, {one['opinion']['text']}, {one['polarity']})"


def _sizes(old: Reviews, new: Reviews) -> dict[str, tuple[tuple[int, int], tuple[int, int]]]:
    def of(reviews: Reviews) -> tuple[Counter[str], Counter[str]]:
        counted: tuple[Counter[str], Counter[str]] = (Counter(), Counter())
        for split, row in reviews.values():
            counted[0][split] += 1
            counted[1][split] += len(row["triplets"])
        return counted

    before, after = of(old), of(new)
    names = [name for name in ("train", "valid", "test") if before[0][name] or after[0][name]]
    return {name: ((before[0][name], before[1][name]), (after[0][name], after[1][name])) for name in names}


def markdown(diff: Diff, title: str = "") -> str:
    """For CHANGES.md and people."""
    lines = [title or f"# {diff.before} to {diff.after}: {diff.level}", ""]
    if diff.same:
        lines += ["No review and no triplet differs.", ""]
    else:
        lines += ["| change | number | raises |", "|---|---|---|"]
        lines += [f"| {KINDS[kind][1]} | {count:,} | {KINDS[kind][0]} |" for kind, count in diff.counts.items() if count]
        lines.append("")
    lines += ["| split | reviews before | after | triplets before | after |", "|---|---|---|---|---|"]
    lines += [f"| {name} | {a[0]:,} | {b[0]:,} | {a[1]:,} | {b[1]:,} |" for name, (a, b) in diff.sizes.items()]
    lines.append("")
    for kind, shown in diff.samples.items():
        lines += [f"{KINDS[kind][1].capitalize()}, for example:", "", *(f"- {_one_line(one)}" for one in shown), ""]
    return "\n".join(lines)


def _one_line(text: str) -> str:
    """A sample as Markdown shows it, whatever it holds."""
    return "`" + " ".join(text.split()).replace("`", "'") + "`"


def as_json(diff: Diff) -> dict[str, object]:
    sides = ("before", "after")
    sizes = {
        name: {side: {"reviews": pair[n][0], "triplets": pair[n][1]} for n, side in enumerate(sides)} for name, pair in diff.sizes.items()
    }
    return {
        "before": diff.before,
        "after": diff.after,
        "level": diff.level,
        "counts": dict(diff.counts),
        "sizes": sizes,
        "samples": {kind: list(shown) for kind, shown in diff.samples.items()},
    }


def bumped(version: tuple[int, int, int], level: Level) -> tuple[int, int, int]:
    """The version after a change."""
    major, minor, patch = version
    return {"patch": (major, minor, patch + 1), "minor": (major, minor + 1, 0), "major": (major + 1, 0, 0)}[level]
