"""Objects inside objects, and lists of reviews inside them.

In: a record, which is one row of a file by the names of its columns. Out: its values by path (meta.shop), and the
record once for each review that it holds. A map's scraper writes a row for each place and its reviews as a list in one
cell: as a list (JSON, Parquet), as the text of one (JSON or Python's own writing, in CSV and XLSX), or in numbered
columns (reviews/0/text).
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import islice

from builder.reviews.script import HAN
from builder.reviews.sources.columns import REPLIES, REVIEWS, RolesOf, known_roles

DECODER = json.JSONDecoder(strict=False)
"""Raw tabs and other control characters inside strings are read; NUL is rejected by name, not as bad JSON."""

Path = tuple[str, ...]
"""Keys that lead to a list of reviews; lists on the way stand for each of their elements."""
DEEPEST = 5
"""Levels of objects inside objects that are looked into, and of lists inside lists."""
_DOTS = 32
"""Dots in the key of an object that holds others, at most; a key may be a million of them."""
_LONGEST = 8 << 20
"""Characters of a cell that is read as a list; of one in Python's writing a sixteenth."""
_ELEMENTS = 20
"""Elements of a list that are looked at to know what it holds."""
_HAN = 6
"""Han characters of a text in a list, at least and on average, where no name says that they are texts."""
_JSON = re.compile(r"\A\s*(?:\[\s*[\[{\"\]]|\{\s*\"|null\s*\Z)")
_PYTHON = re.compile(r"\A\s*(?:\[\s*[{']|\{\s*')")
_NUMBERED = re.compile(r"(.{1,200}?)(?:[/.](\d{1,4})|\[(\d{1,4})\])(?:[/.](.{1,200}))?")


def paths(value: Mapping[str, object], depth: int = 1) -> Iterator[str]:
    """The names of an object's values."""
    for key, held in value.items():
        if isinstance(held, dict) and depth < DEEPEST:
            yield from (f"{key}.{path}" for path in paths(held, depth + 1))
        else:
            yield str(key)


def at(value: Mapping[str, object], path: str) -> object:
    """The value under a name or path; a key that has a dot itself goes first."""
    if path in value or "." not in path:
        return value.get(path)
    parts = path.split(".")
    for cut in range(min(len(parts) - 1, _DOTS), 0, -1):
        held = value.get(".".join(parts[:cut]))
        if isinstance(held, dict) and (inner := at(held, ".".join(parts[cut:]))) is not None:
            return inner
    return None


def structured(cell: object) -> object:
    """The list or object that a cell's text writes; any other cell as it is."""
    if not isinstance(cell, str) or len(cell) > _LONGEST:
        return cell
    readers = (_JSON, DECODER.decode), (_PYTHON, ast.literal_eval)
    for begin, read in readers if len(cell) <= _LONGEST >> 4 else readers[:1]:
        if begin.match(cell):
            with suppress(ValueError, SyntaxError, RecursionError, MemoryError):  # what is no list is a text
                return read(cell.strip())
    return cell


def numbered_lists(names: Sequence[str]) -> dict[str, tuple[str, int, str]]:
    """For numbered columns (reviews/0/text) the list, the number and the name in it; {} unless they hold texts."""
    parts = {name: match for name in names if (match := _NUMBERED.fullmatch(name))}
    found = {name: (part[1], int(part[2] or part[3]), part[4] or "") for name, part in parts.items()}
    texts = (outer for outer, _, inner in found.values() if "text" in known_roles([inner], nested=True))
    return found if any(map(REVIEWS.search, texts)) else {}


def record(
    names: Sequence[str], cells: Sequence[object], numbered: Mapping[str, tuple[str, int, str]]
) -> dict[str, object]:
    """A row of a table by the names of its columns, the first where two are alike."""
    made: dict[str, object] = {}
    lists: dict[str, dict[int, dict[str, object]]] = {}
    for name, cell in zip(names, cells, strict=False):
        if name in numbered:
            outer, number, inner = numbered[name]
            if cell not in (None, ""):
                lists.setdefault(outer, {}).setdefault(number, {})[inner.replace("/", ".")] = cell
        else:
            made.setdefault(name, cell)
    return made | {outer: [elements[i] for i in sorted(elements)] for outer, elements in lists.items()}


def review_lists(records: Sequence[Mapping[str, object]], own_text: bool) -> list[Path]:
    """The paths to lists of reviews in the records; [] where the records are the reviews themselves.

    `own_text`: a record has a text itself, so that only a list that is called one of reviews goes before it. An only
    record without one is what a list of reviews came in.
    """
    held: dict[Path, list[object]] = {}
    for value in records:
        for path, elements in _lists(value, (), 0):
            held.setdefault(path, []).extend(elements)
    asked = [path for path in held if path and not REPLIES.search(path[-1])]
    called = [path for path in asked if any(map(REVIEWS.search, path)) and _hold_texts(held[path], called=True)]
    rated = [path for path in called if _are_rated(held[path])]  # the others hold excerpts
    others = [] if own_text or called else asked
    found = rated or called or [path for path in others if _hold_texts(held[path], False, alone=len(records) == 1)]
    return [path for path in found if not any(path[: len(other)] == other != path for other in found)]


def each(value: object, path: Path) -> Iterator[dict[str, object]]:
    """A record once for each element of the lists on the path, which stands where the list stood."""
    return (made for made in _each(value, path, 0, False) if isinstance(made, dict))


def _each(value: object, path: Path, depth: int, element: bool) -> Iterator[object]:
    value = structured(value)
    if isinstance(value, list):
        if depth < DEEPEST:
            for inner in value:
                yield from _each(inner, path, depth + 1, True)
    elif path and isinstance(value, dict):
        for inner in _each(value.get(path[0]), path[1:], depth, False):
            yield {**value, path[0]: inner}
    elif not path and value is not None and (element or isinstance(value, dict)):
        yield value


def transposed(value: object, roles_of: RolesOf) -> list[object] | None:
    """The records of one object that holds a whole table: columns of values or rows under their keys, as pandas writes
    them; lists of objects under keys, which each record then has as `key`. None for any other value.
    """
    if not isinstance(value, dict) or not value:
        return None
    if isinstance(value.get("columns"), list) and isinstance(value.get("data"), list):  # orient "split"
        return [value["columns"], *value["data"]]
    held = list(value.values())
    tables = [inner for inner in held if isinstance(inner, list) and inner and _is_header(inner[0], roles_of)]
    if len(tables) == 1:
        return tables[0]
    if all(isinstance(inner, list) for inner in held):
        return _transposed_lists(value, roles_of)
    if not all(isinstance(inner, dict) and inner for inner in held):
        return None
    alike = all(inner.keys() == held[0].keys() for inner in held)
    flat = not any(isinstance(cell, dict | list) for inner in held for cell in inner.values())
    numbered = all(map(str.isdecimal, held[0]))
    if alike and flat and (numbered or (len(held) > 1 and "text" in roles_of(list(value)))):  # orient "columns"
        return [{name: inner[key] for name, inner in value.items()} for key in held[0]]
    texts = sum("text" in roles_of(list(inner)) for inner in held)
    return held if len(held) > 1 and ((alike and all(map(str.isdecimal, value))) or texts * 2 > len(held)) else None


def _is_header(row: object, roles_of: RolesOf) -> bool:
    return isinstance(row, list) and all(isinstance(name, str) for name in row) and "text" in roles_of(row)


def _transposed_lists(value: Mapping[str, list[object]], roles_of: RolesOf) -> list[object] | None:
    held = list(value.values())
    elements = [element for inner in held for element in inner]
    if elements and len(held) > 1 and all(isinstance(element, dict) for element in elements):
        return [{"key": key, **element} for key, inner in value.items() for element in inner]  # type: ignore[dict-item]
    alike = len({len(inner) for inner in held}) == 1 and not any(isinstance(cell, dict | list) for cell in elements)
    if alike and elements and (len(held) > 1 or "text" in roles_of(list(value))):
        return [dict(zip(value, cells, strict=True)) for cells in zip(*held, strict=True)]
    return None


def _lists(value: object, path: Path, depth: int) -> Iterator[tuple[Path, list[object]]]:
    """The lists inside a value with their paths, of each the first elements."""
    value = structured(value) if path else value
    if depth > 2 * DEEPEST:
        return
    if isinstance(value, list):
        if elements := [element for element in value[:_ELEMENTS] if not isinstance(element, list)]:
            yield path, elements
        for element in value[:_ELEMENTS]:
            yield from _lists(element, path, depth + 1)
    elif isinstance(value, dict):
        for key, held in islice(value.items(), 1_000):
            if isinstance(held, list | dict | str):
                yield from _lists(held, (*path, str(key)), depth + 1)


def _hold_texts(elements: Sequence[object], called: bool, alone: bool = False) -> bool:
    """Whether elements of a list are reviews. Those of a list that is neither `called` one of reviews nor `alone` in
    the file have a name of texts, and a rating or a date beside it.
    """
    objects = [element for element in elements if isinstance(element, dict)]
    texts = [text for element in elements for text in ([element] if isinstance(element, str) else [])]
    if not objects:
        return called and len(texts) > 0 and _are_texts(texts)
    rated = _are_rated(elements)
    if "text" in _roles(elements, nested=called):
        return called or alone or rated
    values = [[value for value in element.values() if isinstance(value, str)] for element in objects]
    longest = [max(held, key=len, default="") for held in values]
    return ((called and rated) or alone) and _are_texts(longest)


def _are_rated(elements: Sequence[object]) -> bool:
    return bool(_roles(elements) & {"rating", "date"})


def _roles(elements: Sequence[object], nested: bool = False) -> set[str]:
    return known_roles({path for element in elements if isinstance(element, dict) for path in paths(element)}, nested)


def _are_texts(texts: Sequence[str]) -> bool:
    return sum(len(HAN.findall(text)) for text in texts) >= _HAN * len(texts)
