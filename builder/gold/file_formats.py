"""The formats of annotation files: how each is written and read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from builder.core.errors import ConfigError, InputError
from builder.gold import argilla, label_studio, sheet
from builder.gold.items import Fault, Filled, LabelItem, rows


@dataclass(frozen=True, slots=True)
class LabelFormat:
    """`ending` of its files; `write` a file of items; `read` what came back."""

    ending: str
    write: Callable[[Path, Iterable[LabelItem]], None]
    read: Callable[[Path], Iterator[Filled | Fault]]


FORMATS: dict[str, LabelFormat] = {
    "csv": LabelFormat(".csv", sheet.write_csv, sheet.read_csv),
    "xlsx": LabelFormat(".xlsx", sheet.write_xlsx, sheet.read_xlsx),
    "label-studio": LabelFormat(".json", label_studio.write, label_studio.read),
    "argilla": LabelFormat(".json", argilla.write, argilla.read),
}
SHEETS = ("csv", "xlsx")


_MARKS = {"label-studio": {"data"}, "argilla": {"fields", "label.responses"}}
"""Keys of which each record of a tool's JSON has one, and none of the tools before it in this table."""


def named(name: str | None, path: Path) -> LabelFormat:
    """The format of this name, or the one that alone has the file's ending; ConfigError otherwise."""
    if name is not None:
        return FORMATS[name]
    matching = [format_ for format_ in FORMATS.values() if format_.ending == path.suffix.lower()]
    if len(matching) != 1:
        raise ConfigError(f"which format is {path.name}?", fix="say it with --format " + "|".join(FORMATS))
    return matching[0]


def recognised(name: str | None, path: Path) -> LabelFormat:
    """The format of this name, or the one that a file is written in: a sheet by its ending, JSON by its keys.

    ConfigError for a file of neither; InputError for the export of Label Studio that drops relations (JSON-MIN).
    """
    if name is not None or path.suffix.lower() not in (".json", ".jsonl") or not path.is_file():
        return named(name, path)
    first = next((row for _, row in rows(path)), {})
    if "annotation_id" in first and "data" not in first:
        raise InputError(
            "this is Label Studio's JSON-MIN, which drops relations", where=str(path), fix="export it again as `JSON`"
        )
    matching = [form for form, keys in _MARKS.items() if keys & first.keys()]
    if not matching:
        raise ConfigError(f"which format is {path.name}?", fix="say it with --format " + "|".join(FORMATS))
    return FORMATS[matching[0]]
