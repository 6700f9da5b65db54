"""What a build understands of a review file before it starts: columns by role, encoding, rows, and the first of them.

In: a file and the settings of a build. Out: a `Preview`, in lines for people and as plain values. Nothing is written.
"""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path

from builder.core.errors import printable
from builder.core.settings import Config
from builder.core.wording import counted
from builder.pipeline.ingest_rows import NUMBERED, find_fault
from builder.pipeline.stages.ingest import columns_of
from builder.release.export.extract_output import display_width
from builder.reviews import sources
from builder.reviews.sources.cells import RawReview

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
    "too-long": "too long",
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
    `keeps_place`: the place passes through too.
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

    def as_json(self) -> dict[str, object]:
        """As plain values."""
        return asdict(self)

    def lines(self) -> Iterator[str]:
        """For people, the file first."""
        encoding = f", {self.encoding}" if self.encoding else ""
        noun = "row" if self.rows == 1 else "rows"
        yield f"{printable(self.file)}: {'' if self.exact else 'about '}{self.rows:,} {noun}{encoding}"
        hints = {"text": " (known by its content; --text-column names another)"} if self.by_content else {}
        if (place := self.columns.get("place")) is not None and self.columns.get("group") is None:
            hints["place"] = f" (in several splits; --group-column {shlex.quote(printable(place))} keeps each in one)"
        if self.reused_ids:
            hints["id"] = f" ({counted(self.reused_ids, 'row')} with the id of another: `ID~ROW` in the dataset)"
        for role, (cells, first) in self.unread.items():
            hints[role] = f" ({counted(cells, 'row')} without: “{_shortened(first)}” is no {role})"
        for role, name in self.columns.items():
            if name is not None:
                yield f"  {role:<7} ← {printable(name)}{hints.get(role, '')}"
        if self.kept:
            place = f"; {printable(place or '')} becomes [店名] in every row" if self.keeps_place else ""
            kept = ", ".join(map(printable, self.kept))
            yield f"  kept    {kept}: in the release, masked as the text is; names alone stay{place}"
        if self.columns.get("id") is None:
            yield f"  id      none: reviews are called {NUMBERED}1, {NUMBERED}2 … by their rows"
        if self.columns.get("place") is None:
            yield "  place   none: names of places will NOT be masked; --place-column names the column"
        if self.unused:
            more = len(self.unused) - _NAMED
            names = ", ".join(printable(name) for name in self.unused[:_NAMED])
            options = [f"--{role}-column" for role in _ROLES if self.columns.get(role) is None]
            hint = f"{', '.join(options)} would take one, " if options else ""
            many = f" and {more:,} more" if more > 0 else ""
            yield f"  unused  {names}{many}; {hint}--keep-columns takes any into the release"
        if self.unusable:
            reasons = ", ".join(f"{count:,} {_REASONS.get(name, name)}" for name, count in self.unusable.items())
            seen = "" if self.exact else f" of the first {MOST_ROWS:,}"
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

    settings = config.input
    items = sources.read(
        path, columns_of(settings), settings.encoding or None, count_bytes, settings.sheet or None, understood
    )
    exact, samples, ids, reused = True, list[str](), set[str](), 0
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
            for role, cell in item.unread:
                cells, first = unread.get(role, (0, cell))
                unread[role] = cells + 1, first
    if not exact:
        rows = _rounded(used[0] * path.stat().st_size / used[1]) if all(used) else MOST_ROWS
    taken = {*understood.columns.values(), *understood.kept}
    unused = tuple(name for name in understood.names if name not in taken)
    return Preview(
        path.name, understood.encoding, rows, exact, dict(understood.columns), understood.by_content, unused,
        dict(rejected.most_common()), tuple(samples), reused, config.input.keep_columns, unread,
        understood.columns.get("place") in understood.kept,
    )  # fmt: skip


def _rounded(number: float) -> int:
    """To two digits, as befits an estimate."""
    unit = int(10 ** max(0, len(str(int(number))) - 2))
    return max(MOST_ROWS, round(number / unit) * unit)


def _shortened(text: str) -> str:
    """The beginning of a text, on one line."""
    line = printable(" ".join(text.split()), kept="\u3000")
    if display_width(line) <= _SAMPLE_WIDTH:
        return line
    while display_width(line) > _SAMPLE_WIDTH - 1:
        line = line[:-1]
    return line + "…"
