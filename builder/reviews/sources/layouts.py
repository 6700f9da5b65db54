"""The rows of any file as reviews: their layout is told once, from the first of them.

In: a function that opens the rows, objects or cells in order. Out: a `RawReview` or `RejectedRow` for each; where a
row holds a list of reviews, for each of these, numbered one after another.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice

from builder.core.errors import InputError
from builder.core.wording import counted
from builder.reviews.sources.cells import Order, RejectedRow, Row, review
from builder.reviews.sources.columns import GUESSES, LOOK_AT, Picks, Table, find_header, known_roles, resolve
from builder.reviews.sources.nesting import (
    Path,
    at,
    each,
    numbered_lists,
    paths,
    record,
    review_lists,
    structured,
    transposed,
)
from builder.reviews.sources.opening import Source, storable, written

_OBJECTS = 1_000
"""Objects among which columns are looked for: they may lack keys."""
_LISTS = 20
"""Lists of reviews in an object, at most."""
_CHARACTERS = 1 << 20
"""Of the rows that are looked at to tell a table's layout, about."""


@dataclass(frozen=True, slots=True)
class RawObject:
    """A JSON value and its row number."""

    row: int
    value: object


@dataclass(frozen=True, slots=True)
class RawCells:
    """The cells of a table's row, or its `fault`: a reason code and what it says. `text` is the row as a text file has
    it, `line` where that begins; only such a row must have as many cells as the header.
    """

    cells: Sequence[object]
    line: int = 0
    text: str = ""
    fault: tuple[str, str] | None = None


Item = RawObject | RejectedRow
Objects = Callable[[Source], Iterator[Item]]
Rows = Callable[[Source], Iterator[RawCells]]


def read_objects(opened: Objects, source: Source) -> Iterator[Row]:
    """The reviews of a file of objects. An object inside an object is named by its path: meta.shop."""
    items = opened(source)
    first = list(islice(items, _OBJECTS))
    values = [item.value for item in first if isinstance(item, RawObject)]
    if (
        len(first) == len(values) == 1
        and (records := transposed(values[0], lambda names: roles_of(names, source))) is not None
    ):
        return read_objects(lambda _: (RawObject(i, each) for i, each in enumerate(records, 1)), source)
    if values and all(isinstance(value, list) for value in values):
        return read_table(lambda again: map(_cells_of, opened(again)), source)
    objects = [value for value in values if isinstance(value, dict)]
    if not objects:  # nothing to find columns in, so nothing but rejections
        return (item if isinstance(item, RejectedRow) else _no_object(item) for item in chain(first, items))
    own = "text" in known_roles(key for value in objects for key, held in value.items() if isinstance(held, str))
    lists = [] if _named(source, objects) else review_lists(objects[:LOOK_AT], own)
    if len(lists) > _LISTS:
        what = f"its reviews stand in {len(lists)} or more lists of each object, {'.'.join(lists[0])} for one"
        raise InputError(what, where=source.where, fix="give them in one list")
    if lists:
        prefix = [path for path in lists if source.settings.text_column.startswith(".".join(path))]
        in_lists = [_review_list(path, opened, objects, source) for path in reversed(prefix or lists)]
        return _nested(chain(first, items), in_lists[::-1])
    return _flat(chain(first, items), _review_list((), opened, objects, source))


def read_table(opened: Rows, source: Source) -> Iterator[Row]:
    """The reviews of a table: a header, perhaps below a title, and rows."""
    items = opened(source)
    first, size = list[RawCells](), 0
    for item in items:
        first.append(item)
        size += len(item.text) or sum(len(cell) for cell in item.cells if isinstance(cell, str))
        if len(first) > LOOK_AT or size > _CHARACTERS:
            break
    if not first:
        return iter(())
    padded = not first[0].line or len(first[0].cells) > 1
    head = find_header([item.cells for item in first], lambda names: roles_of(names, source), padded)
    if fault := first[head].fault:
        where = f"{source.where} line {first[head].line}"
        raise InputError(f"broken header ({fault[1]})", where=where, fix="correct the first line")
    names = ["" if cell is None else str(cell) for cell in first[head].cells]
    if _are_numbered(first[head + 1 :], len(names)):
        names.insert(0, "")
    seen = [item.cells for item in first[head + 1 :] if not _fault(item, names)]

    def rows(again: Source) -> Iterator[RawCells]:
        return islice(opened(again), head + 1, None)

    def objects(again: Source) -> Iterator[Item]:
        for row, item in enumerate(rows(again), 1):
            fault = _fault(item, names)
            yield _rejected(row, item, fault) if fault else RawObject(row, record(names, item.cells, numbered))

    def column(i: int) -> Iterator[object]:
        return (item.cells[i] for item in rows(source.silently()) if i < len(item.cells) and not item.fault)

    numbered = numbered_lists(names)
    records = [record(names, cells, numbered) for cells in seen]
    if not _named(source, records) and review_lists(records, "text" in known_roles(names)):
        return read_objects(objects, source)
    picks = resolve(Table(names, lambda: seen, column), source)
    return _listed(chain(first[head + 1 :], items), names, picks)


def roles_of(names: Sequence[str], source: Source) -> set[str]:
    """What the names of a row are known to mean, to the user or to everyone."""
    own = source.settings.text_column
    return known_roles(names) | ({"text"} if own and own in names else set())


def _are_numbered(items: Sequence[RawCells], width: int) -> bool:
    """Whether rows begin with their number, which the header does not name: R's write.table writes them so."""
    rows = [item.cells for item in items if item.line and not item.fault]
    return bool(rows) and all(len(row) == width + 1 and row[0] == str(i) for i, row in enumerate(rows, 1))


def _named(source: Source, records: Iterable[Mapping[str, object]]) -> bool:
    """Whether the records themselves have the text column that the user named."""
    name = source.settings.text_column
    return bool(name) and any(name in paths(value) for value in records)


def _listed(items: Iterable[RawCells], names: Sequence[str], picks: Picks) -> Iterator[Row]:
    """Rows of cells that are reviews."""
    header = {i: names[i].strip() for i in picks.used if i is not None}
    for row, item in enumerate(items, 1):
        cells = item.cells
        if fault := _fault(item, names):
            yield _rejected(row, item, fault)
        elif all(i < len(cells) and str(cells[i]).strip("\ufeff \t") == name for i, name in header.items()):
            yield _rejected(row, item, ("header", "the header stands here again"))
        else:
            values = (cells[i] if i is not None and i < len(cells) else None for i in picks.used)
            yield review(row, picks.order, *values)


def _fault(item: RawCells, names: Sequence[str]) -> tuple[str, str] | None:
    """Why a row cannot be used. Empty cells beyond its header's are no fault."""
    width = len(names)
    if item.fault or not item.line or len(item.cells) == width:
        return item.fault
    if len(item.cells) > width and not any(item.cells[width:]):
        return None
    return "fields", f"{counted(len(item.cells), 'field')} where the header has {width}"


def _rejected(row: int, item: RawCells, fault: tuple[str, str]) -> RejectedRow:
    line = f", line {item.line}" if item.line and fault[0] != "encoding" else ""
    return RejectedRow(row, fault[0], f"row {row}: {fault[1]}{line}", storable(item.text or written(item.cells)))


def _cells_of(item: Item) -> RawCells:
    if isinstance(item, RejectedRow):
        return RawCells((), text=item.raw, fault=(item.reason, item.detail.partition(": ")[2]))
    if isinstance(item.value, list):
        return RawCells(item.value)
    return RawCells((), text=written(item.value), fault=("json", f"{type(item.value).__name__} where a list should be"))


@dataclass(frozen=True, slots=True)
class _ReviewList:
    """The path to a list of reviews in each record, () where a record is one itself; the names of what a review has,
    None for what it lacks, and the order of its dates.
    """

    path: Path
    names: Sequence[str | None]
    order: Order | None

    def reviews(self, value: Mapping[str, object]) -> Iterator[tuple[object, ...]]:
        for one in each(value, self.path):
            yield tuple(None if name is None else at(one, name) for name in self.names)


def _review_list(path: Path, opened: Objects, objects: Sequence[Mapping[str, object]], source: Source) -> _ReviewList:
    """What a review is called in the list at a path; InputError where nothing is its text."""
    sample = list(islice((one for value in objects for one in each(value, path)), _OBJECTS))
    names = list(dict.fromkeys(name for one in sample for name in paths(one)))

    def column(i: int) -> Iterator[object]:
        values = (item.value for item in opened(source.silently()) if isinstance(item, RawObject))
        return (at(one, names[i]) for value in values if isinstance(value, dict) for one in each(value, path))

    table = Table(names, lambda: ([at(one, name) for name in names] for one in sample), column, ".".join(path))
    try:
        picks = resolve(table, source)
    except InputError:
        texts = [key for key in dict.fromkeys(key for one in sample for key in one) if key in GUESSES["text"]]
        if source.settings.text_column or not texts or path:
            raise
        names += texts  # each text is an object, so each row is rejected as such
        picks = resolve(table, source)
    return _ReviewList(path, [None if i is None else names[i] for i in picks.used], picks.order)


def _flat(items: Iterable[Item], own: _ReviewList) -> Iterator[Row]:
    """Objects that are reviews."""
    for item in items:
        if isinstance(item, RejectedRow):
            yield item
        elif isinstance(item.value, dict):
            yield review(item.row, own.order, *next(own.reviews(item.value)))
        else:
            yield _no_object(item)


def _nested(items: Iterable[Item], lists: Sequence[_ReviewList]) -> Iterator[Row]:
    """The reviews in the lists of each object, numbered one after another."""
    row = 0
    for item in items:
        row += 1
        if isinstance(item, RejectedRow):
            yield replace(item, row=row)
        elif not isinstance(item.value, dict):
            yield replace(_no_object(item), row=row)
        else:
            found = ((values, one.order) for one in lists for values in one.reviews(item.value))
            number = -1
            for number, (values, order) in enumerate(found):
                yield review(row + number, order, *values)
            row += max(number, 0)
            if number < 0:
                yield _without_reviews(row, item.value, lists)


def _without_reviews(row: int, value: Mapping[str, object], lists: Sequence[_ReviewList]) -> RejectedRow:
    """The rejection of a record with an empty list, or with a text that is none."""
    held = {".".join(one.path): at(value, ".".join(one.path)) for one in lists}
    broken = [name for name, cell in held.items() if isinstance(structured(cell), str) and str(cell).strip()]
    if broken:
        return RejectedRow(row, "json", f"row {row}: {broken[0]} is no list of reviews", storable(str(held[broken[0]])))
    return RejectedRow(row, "empty", f"row {row}: no review in {' or '.join(held)}", "")


def _no_object(item: RawObject) -> RejectedRow:
    what = f"row {item.row}: {type(item.value).__name__} where an object should be"
    return RejectedRow(item.row, "json", what, storable(written(item.value)))
