"""JSON files of annotation tools: a list of objects, or one object a line."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from builder.core.errors import InputError
from builder.core.strict_json import parse_json
from builder.gold.items import Fault, Filled


def each(path: Path, unit: str, read: Callable[[str, dict[str, Any]], Iterable[Filled]]) -> Iterator[Filled | Fault]:
    """What `read` makes of every object, called with its place,
    or the fault of one that is not as the tool writes it.
    """
    for number, row in rows(path):
        where = f"{path.name} {unit} {number}"
        try:
            yield from list(read(where, row))
        except Fault as fault:
            yield fault
        except (KeyError, ValueError, TypeError, AttributeError, IndexError) as error:
            yield Fault(where, f"broken record ({error!r})", "give it as the tool exported it")


def rows(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """(number from 1, object) of a JSON list or of JSON lines; InputError where the file is neither."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError("is not UTF-8", where=str(path), fix="give the file as the tool exported it") from error
    if text.lstrip().startswith("["):
        numbered = list(enumerate(_parsed(str(path), text), 1))
    else:
        numbered = [
            (number, _parsed(f"{path}:{number}", line))
            for number, line in enumerate(text.split("\n"), 1)
            if line.strip()
        ]
    for number, row in numbered:
        if not isinstance(row, dict):
            raise InputError(
                f"a {type(row).__name__} where an object is due",
                where=f"{path} record {number}",
                fix="give the file as the tool exported it",
            )
        yield number, row


def text_of(row: Mapping[str, Any], key: str) -> str:
    """A value as text, numbers too; empty if absent."""
    value = row.get(key)
    return "" if value is None else str(value)


def _parsed(where: str, text: str) -> Any:
    try:
        return parse_json(text)
    except ValueError as error:
        raise InputError(f"not JSON ({error})", where=where, fix="give the file as the tool exported it") from error
