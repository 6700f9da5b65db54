"""What is said to people before a build, and after it.

Before: a `Preview` of a file by the settings: columns by role, encoding, rows, and the first of them. After: what a
release holds by its manifest, whether its quality is known, examples, what each rule lost, and what next.
"""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from typing import Any

from builder.core.errors import install_command, printable
from builder.core.settings import Config
from builder.core.wording import NOT_STATED, counted
from builder.pipeline.release_facts import NO_JUDGE
from builder.pipeline.stages.ingest import NUMBERED, find_fault
from builder.release import shelf
from builder.release.export.extract_output import AnsweredText, display_width, laid_out
from builder.release.export.native_rows import ReviewRow, triplet
from builder.release.export.research import SENTIMENTS
from builder.reviews import sources
from builder.reviews.sources.cells import RawReview
from builder.store import db, report

# ---- After a build

_EXAMPLES = 3
_SHORT = range(8, 41)
"""Characters of a text that is shown as an example, where there are such."""
_LOOK_AT = 400
FEW, MOST = 30, 0.8
"""A rule with more triplets than `FEW` that loses more than this share of them is spoken of."""


@dataclass(frozen=True, slots=True)
class ReleaseOutcome:
    """A release as a build ends with it, by its manifest."""

    path: Path
    manifest: Mapping[str, Any]

    def as_json(self) -> dict[str, Any]:
        """What it holds, and its quality, as plain values."""
        splits, statistics = self.manifest["splits"], list(self.manifest["statistics"].values())
        polarities = Counter[str]()
        for split in splits.values():
            polarities.update(split["polarities"])
        reviews = {name: split["reviews"] for name, split in splits.items()}
        number = sum(reviews.values())
        return {
            "release": str(self.path), "version": str(self.manifest["version"]), "reviews": number,
            "reviews_with_triplets": number - sum(split["reviews_without_triplet"] for split in statistics),
            "gold_reviews": sum(split["gold_reviews"] for split in statistics), "triplets": polarities.total(),
            "polarities": dict(polarities), "splits": reviews, "quality": _quality(self.manifest) or None,
        }  # fmt: skip

    def lines(self) -> Iterator[str]:
        """Counts and quality, in sentences."""
        made, ingest, places = self.as_json(), self.manifest["ingest"], self.manifest.get("places", {})
        shares = ", ".join(f"{made['polarities'].get(name, 0):,} {word}" for name, word in SENTIMENTS.items())
        reviews = counted(made["reviews"], "review")
        yield f"{counted(made['triplets'], 'triplet')} in {made['reviews_with_triplets']:,} of {reviews}: {shares}."
        rejected, repeated = ingest.get("rejected", 0), ingest.get("duplicates", 0)
        if rejected or repeated:
            repeat = f"{repeated:,} {'repeats' if repeated == 1 else 'repeat'} another review"
            parts = [f"{rejected:,} could not be used"] * bool(rejected) + [repeat] * bool(repeated)
            yield f"Of {counted(ingest['rows'], 'row')}, {' and '.join(parts)}."
        if apart := places.get("in_several_splits"):
            named = counted(places["named"], "place")
            yield f"{apart:,} of {named} have reviews in several splits; --group-column keeps each in one."
        if str(self.manifest["panel"]).startswith(NO_JUDGE):
            yield "The rules alone found them; no model judged them."
        yield made["quality"] or "No gold labels were given, so quality is not measured."


def read_outcome(path: Path) -> ReleaseOutcome:
    """What the manifest of a release says; ReleaseError where it cannot be read."""
    return ReleaseOutcome(path, shelf.opened(path).manifest)


def _quality(manifest: Mapping[str, Any]) -> str:
    """In sentences what was measured: by people in the audit of a sample, and on gold reviews."""
    sentences = [str(manifest["quality"]["summary"])] if manifest["quality"].get("summary") else []
    near = {figure["figure"].partition(",")[0]: figure for figure in manifest["figures"] if "near" in figure["figure"]}
    if "F1" in near:
        parts = ", ".join(f"{name} {near[name]['value']:.1f}" for name in ("precision", "recall", "F1") if name in near)
        sentences.append(
            f"Quality on {near['F1']['by']}: {parts} percent; a longer or shorter aspect or opinion counts as right."
        )
        if NOT_STATED in near["F1"]["by"]:
            sentences.append("Say who labelled them with `--set evaluate.gold_annotators=…`.")
    return " ".join(sentences)


@dataclass(frozen=True, slots=True)
class SilencedRule:
    """A rule whose triplets a build has dropped nearly all: mostly one that the judge was never taught."""

    rule: str
    found: int
    dropped: int

    def __str__(self) -> str:
        return (
            f"Of {self.found:,} triplets of the rule {self.rule} {self.dropped:,} were dropped;"
            " `builder query kept-by-rule` shows all rules."
        )


def find_silenced_rules(workdir: Path) -> list[SilencedRule]:
    """The rules with more than FEW triplets of which the last release has dropped more than MOST."""
    with db.reading(workdir) as connection:
        losses = report.losses(connection)
    return [SilencedRule(*own) for own in losses if own[1] > FEW and own[2] > MOST * own[1]]


def examples(path: Path, colour: bool = False) -> Iterator[str]:
    """Short reviews of a release with their triplets, laid out for people."""
    release = shelf.opened(path)
    seen = (row for split in release.splits for row in islice(shelf.rows(path, split), _LOOK_AT) if row["triplets"])
    rows = sorted(seen, key=_rank_example)[:_EXAMPLES]
    answers = [AnsweredText(None, row["text"], tuple(map(triplet, row["triplets"]))) for row in rows]
    yield from laid_out(answers, colour=colour)


def _rank_example(row: ReviewRow) -> tuple[bool, bool, float]:
    """Short reviews with several triplets first, of these the one whose least sure triplet is the surest."""
    least = min(kept["confidence"] or 0.0 for kept in row["triplets"])
    return len(row["text"]) not in _SHORT, len(row["triplets"]) < 2, -least


def list_next_commands(path: Path, place: str) -> Iterator[tuple[str, str]]:
    """Commands that make sense now and run as this builder is installed, and what each is for; where some lack their
    libraries, the command that installs them comes first.

    Args:
        place: the option that names the working directory, or nothing.
    """
    known = (
        (f"builder serve{place}", "look at it in a browser", ("datasette",)),
        (f"builder report{place}", "one page: what came out, how good it is", ("jinja2",)),
        (f"builder gold audit draw{place}", "have people check a sample, which measures quality", ()),
        (f'datasets.load_dataset("{path}")', "use it in Python", ("datasets",)),
    )
    lacking = [command for command, _, modules in known if not all(map(find_spec, modules))]
    if lacking:
        names = " and ".join(command.partition("(")[0].partition(" --")[0] for command in lacking)
        yield install_command("app"), f"for {names}, which cannot run yet"
    yield from ((command, purpose) for command, purpose, _ in known if command not in lacking)


# ---- Before a build

MOST_ROWS = 20_000
"""Rows that are read for a preview; how many a larger file has is estimated from its bytes."""
_SAMPLES = 3
_NAMED = 8
"""Unused columns that are named: exports of maps have a hundred."""
_SAMPLE_WIDTH = 60
_ROLES = ("id", "rating", "date")
"""Roles that a column may have unnoticed, besides the text and the place."""
_REASONS = {
    "empty": "without a text",
    "no-han": "without a Chinese character",
    "not-chinese": "mostly in another language",
    "owner-reply": "an owner's reply",
    "too-long": "longer than ingest.max_chars",
    "sheet": "a sheet that is not read",
    "header": "the header again",
    "type": "no string",
    "fields": "with more or fewer fields than the header",
    "quote": "with a stray quotation mark",
    "json": "no JSON",
    "nul": "with a NUL character",
    "encoding": "with invalid Unicode",
}


@dataclass(frozen=True, slots=True)
class Preview:
    """`rows` is an estimate unless `exact`. `columns`: role to the file's name for it, None where it has none.

    `by_content`: the text column is known by what it holds. `unused`: columns that no role took and that do not
    pass through. `kept`: those that do, by their names in the release. `unusable`: rows that will be set aside, by
    reason, of those that were looked at. `samples`: the first usable texts. `reused_ids`: usable rows whose id an
    earlier one has. `unread`: by role, in how many usable rows the cell is no rating or no date, and the first such.
    `keeps_place`: the place passes through too. `names_places`: a usable row names its place.
    """

    file: str
    encoding: str
    rows: int
    exact: bool
    columns: dict[str, str | None]
    by_content: bool
    unused: tuple[str, ...]
    unusable: dict[str, int]
    samples: tuple[str, ...]
    reused_ids: int = 0
    kept: tuple[str, ...] = ()
    unread: dict[str, tuple[int, str]] = field(default_factory=dict)
    keeps_place: bool = False
    names_places: bool = True

    def as_json(self) -> dict[str, object]:
        """As plain values."""
        return asdict(self)

    def lines(self) -> Iterator[str]:
        """For people, the file first."""
        encoding = f", {self.encoding}" if self.encoding else ""
        noun = "row" if self.rows == 1 else "rows"
        yield f"{printable(self.file)}: {'' if self.exact else 'about '}{self.rows:,} {noun}{encoding}"
        hints = {"text": " (known by its content; --text-column names another)"} if self.by_content else {}
        place_is_empty = bool(self.samples) and not self.names_places
        if (place := self.columns.get("place")) is not None and place_is_empty:
            hints["place"] = (
                " (empty in the rows read: names of places will NOT be masked; --place-column names another)"
            )
        elif place is not None and self.columns.get("group") is None:
            hints["place"] = f" (in several splits; --group-column {shlex.quote(printable(place))} keeps each in one)"
        seen = "" if self.exact else f" of the first {MOST_ROWS:,}"
        if self.reused_ids:
            hints["id"] = f" ({counted(self.reused_ids, 'row')} with the id of another: `ID~ROW` in the dataset)"
        for role, (cells, first) in self.unread.items():
            hints[role] = f" (in {counted(cells, 'row')}{seen} no {role}, “{_shortened(first)}” for one)"
        for role, name in self.columns.items():
            if name is not None:
                yield f"  {role:<7} ← {printable(name)}{hints.get(role, '')}"
        if self.kept:
            place = (
                f"; {printable(place or '')} becomes [店名] in every row"
                if self.keeps_place and not place_is_empty
                else ""
            )
            kept = ", ".join(map(printable, self.kept))
            how = "masked as the text is, but a name that is all of a cell stays"
            yield f"  kept    {kept}: in the release, {how}{place}"
        if self.columns.get("id") is None:
            yield f"  id      none: reviews are called {NUMBERED}1, {NUMBERED}2 … by their rows"
        if self.columns.get("place") is None:
            yield "  place   none: names of places will NOT be masked; --place-column names the column"
        if self.unused:
            more = len(self.unused) - _NAMED
            names = ", ".join(printable(name) or "a column without a name" for name in self.unused[:_NAMED])
            options = [f"--{role}-column" for role in _ROLES if self.columns.get(role) is None]
            hint = f"{', '.join(options)} would take one, " if options else ""
            many = f" and {more:,} more" if more > 0 else ""
            yield f"  unused  {names}{many}; {hint}--keep-columns takes any into the release"
        if self.unusable:
            reasons = ", ".join(f"{count:,} {_REASONS.get(name, name)}" for name, count in self.unusable.items())
            yield f"  not usable{seen}: {reasons}"
        for text in self.samples:
            yield f"  “{_shortened(text)}”"


def preview(path: Path, config: Config) -> Preview:
    """Read the beginning of a file as the build will. InputError where it cannot be used."""
    understood, rows = sources.Understanding(), 0
    read_bytes, used = 0, (0, 0)

    def count_bytes(more: int) -> None:
        """When a chunk comes, the rows so far are those of the chunks before it."""
        nonlocal read_bytes, used
        used = (rows, read_bytes) if read_bytes else used
        read_bytes += more

    items = sources.read(path, config.input, count_bytes, understood)
    exact, samples, ids, reused, names_places = True, list[str](), set[str](), 0, False
    unread: dict[str, tuple[int, str]] = {}
    rejected = Counter[str]()
    for rows, item in enumerate(items, start=1):
        if rows > MOST_ROWS:
            exact = False
            break
        if fault := find_fault(item, config.ingest.max_chars):
            rejected[fault.reason] += 1
        elif isinstance(item, RawReview):
            samples += [item.text] if len(samples) < _SAMPLES else []
            reused += item.id in ids
            ids |= {item.id} if item.id else set()
            names_places |= item.place is not None
            for role, cell in item.unread:
                cells, first = unread.get(role, (0, cell))
                unread[role] = cells + 1, first
    if not exact:
        rows = _rounded(used[0] * path.stat().st_size / used[1]) if all(used) else MOST_ROWS
    taken = {*(name for name in understood.columns.values() if name is not None), *understood.kept}
    unused = (Counter(understood.names) - Counter(taken)).elements()  # a second column of a name is unused
    return Preview(
        path.name, understood.encoding, rows, exact, dict(understood.columns), understood.by_content, tuple(unused),
        dict(rejected.most_common()), tuple(samples), reused, config.input.keep_columns, unread,
        understood.columns.get("place") in understood.kept, names_places,
    )  # fmt: skip


def _rounded(number: float) -> int:
    """To two digits, as befits an estimate."""
    unit = int(10 ** max(0, len(str(int(number))) - 2))
    return max(MOST_ROWS, round(number / unit) * unit)


def _shortened(text: str) -> str:
    """The beginning of a text, on one line."""
    line = printable(" ".join(text.split()), kept="\u3000\u200d")
    if display_width(line) <= _SAMPLE_WIDTH:
        return line
    while display_width(line) > _SAMPLE_WIDTH - 1:
        line = line[:-1]
    return line + "…"
