"""The formats of annotation files: how each is written and read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from builder.errors import ConfigError
from builder.gold import argilla, doccano, label_studio, sheet
from builder.gold.items import Fault, Filled, LabelItem


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
    "doccano": LabelFormat(".jsonl", doccano.write, doccano.read),
    "argilla": LabelFormat(".json", argilla.write, argilla.read),
}
SHEETS = ("csv", "xlsx")


def named(name: str | None, path: Path) -> LabelFormat:
    """The format of this name, or the one that alone has the file's ending; ConfigError otherwise."""
    if name is not None:
        return FORMATS[name]
    matching = [format_ for format_ in FORMATS.values() if format_.ending == path.suffix.lower()]
    if len(matching) != 1:
        raise ConfigError(f"which format is {path.name}?", fix="say it with --format " + "|".join(FORMATS))
    return matching[0]
