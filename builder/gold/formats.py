"""The formats of annotation files: how each is written and read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from builder.errors import ConfigError
from builder.gold import argilla, doccano, label_studio, sheet
from builder.gold.items import Fault, Filled, Item


@dataclass(frozen=True, slots=True)
class Format:
    """`ending` of its files; `write` a file of items; `read` what came back."""

    ending: str
    write: Callable[[Path, Iterable[Item]], None]
    read: Callable[[Path], Iterator[Filled | Fault]]


FORMATS: dict[str, Format] = {
    "csv": Format(".csv", sheet.write_csv, sheet.read_csv),
    "xlsx": Format(".xlsx", sheet.write_xlsx, sheet.read_xlsx),
    "label-studio": Format(".json", label_studio.write, label_studio.read),
    "doccano": Format(".jsonl", doccano.write, doccano.read),
    "argilla": Format(".json", argilla.write, argilla.read),
}
SHEETS = ("csv", "xlsx")


def named(name: str | None, path: Path) -> Format:
    """The format of this name, or the one that alone has the file's ending; ConfigError otherwise."""
    if name is not None:
        return FORMATS[name]
    found = [one for one in FORMATS.values() if one.ending == path.suffix.lower()]
    if len(found) != 1:
        raise ConfigError(f"which format is {path.name}?", fix="say it with --format " + "|".join(FORMATS))
    return found[0]
