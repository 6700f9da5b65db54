"""The rows of a release checked part by part: what `verify` has workers do.

In: lines of a split's data. Out: `CheckedLines`, the faults of each row, counts, and what the checks over the whole
release need of it.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Collection, Iterator
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from builder.core.memory import uncollected
from builder.core.shards import Crew, Job
from builder.release.gates import row_faults, schema_fault
from builder.release.shape import parse
from builder.release.whole import RowLook

_PART = 2_000
"""Lines of a worker's task."""


class LinesToCheck(NamedTuple):
    """Lines of a file, the first of them with its number."""

    file: str
    first: int
    lines: list[bytes]


class CheckedLines(NamedTuple):
    """What is wrong with some lines; what `count_faults` compares; by their place among the lines the rows that keep
    the schema.
    """

    faults: list[str]
    counted: Counter[str]
    sound: dict[int, RowLook]


def check_lines(
    release: Path, file: str, layout: int, replacements: Collection[str], crew: Crew, compared: bool
) -> Iterator[tuple[list[bytes], CheckedLines]]:
    """A file of rows, part by part, each with what was seen in it; `compared` is as in `RowLook.of`."""
    waiting = deque[list[bytes]]()

    def parts() -> Iterator[LinesToCheck]:
        first = 1
        with (release / file).open("rb") as handle:  # a line ends in a line feed: texts may hold other separators
            while lines := list(islice(handle, _PART)):
                waiting.append(lines)
                yield LinesToCheck(file, first, lines)
                first += len(lines)

    job = Job(_prepare, (layout, tuple(replacements), compared), _check)
    for checked in crew.map(job, parts()):
        yield waiting.popleft(), checked


def text_of(line: bytes) -> str:
    """A line without its line feed. What is no UTF-8 becomes a fault of it."""
    return line.decode("utf-8", "replace").removesuffix("\n")


def _prepare(layout: int, replacements: tuple[str, ...], compared: bool) -> tuple[int, tuple[str, ...], bool]:
    return layout, replacements, compared


def _check(settings: tuple[int, tuple[str, ...], bool], task: LinesToCheck) -> CheckedLines:
    layout, replacements, compared = settings
    checked = CheckedLines([], Counter(), {})
    with uncollected():
        for n, line in enumerate(task.lines):
            where = f"{task.file}:{task.first + n}"
            try:
                row = parse(text_of(line))
            except ValueError as error:
                checked.faults.append(f"{where}: no row of a release: {error!r}")
                continue
            if fault := schema_fault(row, layout):
                checked.faults.append(f"{where}: {fault}")
            else:
                checked.faults.extend(f"{where}: {fault}" for fault in row_faults(row, checked.counted))
                checked.sound[n] = RowLook.of(row, replacements, compared)
    return checked
