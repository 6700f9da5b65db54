"""Files and releases as rows of a task.

Known by their look: a release (directory), JSON lines of ours, of a layer of a release, or `{"text", "label"}`; dimABSA's JSON; TSV with the columns
sentence and label; three-line aspect files with `$T$`; ATEPC and BIO columns. What a row says of another task is left out, and counted.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise, zip_longest
from pathlib import Path
from typing import Any

from builder.augment.records import Mark
from builder.augment.views import Unit, units
from builder.bench.rows import Data, Row, Task
from builder.errors import InputError
from builder.export import bio
from builder.export.answers_text import polarity, polarity_at
from builder.export.reading import opened
from builder.export.reading import rows as release_rows
from builder.export.records import triplet
from builder.model.task import VALENCE
from builder.records import POLARITIES, Element, Polarity, Span, Triplet

KNOWN = "a release, .jsonl, dimABSA .json, .tsv (sentence, label), three lines with $T$, .atepc, .bio"
_VIEWS: dict[Task, Any] = {"tc": "sentence", "absc": "aspect", "ate": "ate", "aste": "triplets"}
Found = Iterator[Row | str]
"""Rows, and the reason of each that cannot be used."""


def load(path: Path, task: Task, split: str = "train") -> Data:
    """The rows of a file, or of one split of a release. InputError where there is none, or a line cannot be read."""
    if path.is_dir():
        found: Iterable[Row | str] = _release(path, task, split)
    else:
        found = _file(path, task)
    rows: list[Row] = []
    reasons: Counter[str] = Counter()
    for one in found:
        if isinstance(one, str):
            reasons[one] += 1
        else:
            rows.append(one)
    if not rows:
        left = ", ".join(f"{reason} {n:,}" for reason, n in reasons.items())
        raise InputError(f"no row for the task {task}" + (f" ({left})" if left else ""), where=str(path), fix=f"read are: {KNOWN}")
    return Data(path.name or str(path), tuple(rows), tuple(sorted(reasons.items())))


def _file(path: Path, task: Task) -> Found:
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"cannot be read: {error}", where=str(path), fix=f"read are: {KNOWN}") from error
    for ending, name in _ENDINGS.items():
        if path.name.lower().endswith(ending):
            return _READERS[name](text, str(path), task)
    name = "apc" if "$T$" in text[:20_000] else "json" if text.lstrip()[:1] in ("{", "[") else "columns"
    return _READERS[name](text, str(path), task)


def _release(path: Path, task: Task, split: str) -> Found:
    opened(path)
    for row in release_rows(path, split):
        for one in units(row, _VIEWS[task], "aspect+opinion" if task == "aste" else "aspect"):
            yield one[1] if isinstance(one, tuple) else _unit(one, task)


def _unit(unit: Unit, task: Task) -> Row:
    """A sentence of a review; offsets are moved into it."""
    one = unit.sentence
    if task == "aste":
        return Row(one.id, one.text, one.marks, triplets=tuple(shifted(triplet(told), -unit.start) for told in unit.triplets))
    if task == "absc":
        at = int(one.id.rpartition("@")[2]) - unit.start
        aspect = next((mark.start, mark.end) for mark in one.marks if mark.start <= at < mark.end)
        return Row(one.id, one.text, one.marks, one.label or "", aspect)
    return Row(one.id, one.text, one.marks, one.label or "")


def shifted(told: Triplet, by: int) -> Triplet:
    def at(one: Element) -> Element:
        return Element(one.text, tuple((a + by, b + by) for a, b in one.spans))

    return Triplet(at(told.aspect), at(told.aspect_full), at(told.opinion), at(told.opinion_full), told.polarity, told.valence)


def _tsv(text: str, where: str, task: Task) -> Found:
    reader = csv.reader(io.StringIO(text), delimiter="\t", quoting=csv.QUOTE_NONE)
    head = next(reader, [])
    names = [name.strip().lower() for name in head]
    if "label" not in names or not {"sentence", "text"} & set(names):
        raise InputError("no columns sentence and label", where=f"{where}:1", fix="the first line names the columns, between tabs")
    at, label = next(i for i, name in enumerate(names) if name in ("sentence", "text")), names.index("label")
    source = names.index("source") if "source" in names else None
    for number, cells in enumerate(reader, start=2):
        if len(cells) != len(head):
            raise InputError(f"{len(cells)} columns instead of {len(head)}", where=f"{where}:{number}", fix="a text holds no tab")
        if task != "tc":
            yield "other-task"
        elif not cells[at].strip() or not cells[label].strip():
            yield "empty"
        else:
            yield Row(f"{number}", cells[at].strip(), label=cells[label].strip(), source=cells[source] if source is not None else None)


def _apc(text: str, where: str, task: Task) -> Found:
    """Three lines an aspect: the text with $T$, the aspect, its polarity."""
    lines = text.split("\n")
    while lines and not lines[-1].strip():
        lines.pop()
    if len(lines) % 3:
        raise InputError(
            f"{len(lines)} lines are no multiple of three", where=where, fix="an aspect has three: text with $T$, aspect, polarity"
        )
    by_text: dict[str, list[Row]] = {}
    for at in range(0, len(lines), 3):
        shown, aspect, label = (line.strip() for line in lines[at : at + 3])
        start = shown.find("$T$")
        if start < 0 or not aspect or not label:
            raise InputError("no text with $T$, aspect and polarity", where=f"{where}:{at + 1}")
        span = start, start + len(aspect)
        whole = shown.replace("$T$", aspect)
        by_text.setdefault(whole, []).append(Row(f"{at + 1}", whole, (Mark(*span),), _polarity(label), span))
    if task == "absc":
        yield from (row for rows in by_text.values() for row in rows)
    elif task == "ate":
        for rows in by_text.values():
            yield _terms(rows[0].id, rows[0].text, [(row.aspect or (0, 0)) for row in rows])
    else:
        yield from ("other-task" for rows in by_text.values() for _ in rows)


def _terms(name: str, text: str, spans: Iterable[Span], source: str | None = None) -> Row | str:
    listed = sorted(set(spans))
    if any(a[1] > b[0] for a, b in pairwise(listed)):
        return "overlapping-labels"
    return Row(name, text, tuple(Mark(a, b) for a, b in listed), source=source)


def _polarity(label: str) -> str:
    """POS, NEG, NEU where the label is one of the usual words, else the label as it is."""
    head = label.strip().upper()[:3]
    return head if head in POLARITIES else label.strip()


def _atepc(text: str, where: str, task: Task) -> Found:
    """Token, tag and polarity a line; a sentence stands once an aspect, which are gathered."""
    gathered: dict[str, list[tuple[Span, str]]] = {}
    names: dict[str, str] = {}
    for number, block in _blocks(text):
        parts = [line.split(" ") for line in block]
        if any(len(cells) < 2 for cells in parts):
            raise InputError("no token with a tag and a polarity", where=f"{where}:{number}")
        shown, spans = " ".join(cells[0] for cells in parts), list[tuple[int, int, str]]()
        at = 0
        for cells in parts:
            if cells[1].startswith("B"):
                spans.append((at, at + len(cells[0]), cells[-1]))
            elif cells[1].startswith("I") and spans:
                spans[-1] = (spans[-1][0], at + len(cells[0]), spans[-1][2])
            at += len(cells[0]) + 1
        gathered.setdefault(shown, []).extend(((a, b), said) for a, b, said in spans)
        names.setdefault(shown, str(number))
    for shown, found in gathered.items():
        if task == "ate":
            yield _terms(names[shown], shown, [span for span, _ in found])
        elif task == "absc":
            marks = tuple(Mark(*span) for span in sorted({span for span, _ in found}))
            yield from (Row(f"{names[shown]}@{s[0]}", shown, marks, _polarity(said), s) for s, said in found if not said.startswith("-"))
        else:
            yield "other-task"


def _blocks(text: str) -> Iterator[tuple[int, list[str]]]:
    block: list[str] = []
    for number, line in enumerate([*text.split("\n"), ""], start=1):
        if line.strip():
            block.append(line.rstrip("\r"))
        elif block:
            yield number - len(block), block
            block = []


def _columns(text: str, where: str, task: Task) -> Found:
    try:
        found = bio.read(text)
    except ValueError as error:
        raise InputError(f"of no known kind: {error}", where=where, fix=f"read are: {KNOWN}") from error
    for name, shown, _, spans in found:
        yield _terms(name, shown, spans) if task == "ate" else "other-task"


def _json(text: str, where: str, task: Task) -> Found:
    for place, row in _objects(text, where):
        try:
            yield from _object(row, place, task)
        except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
            raise InputError(f"cannot be read: {error!r}", where=place, fix=f"read are: {KNOWN}") from error


def _objects(text: str, where: str) -> Iterator[tuple[str, dict[str, Any]]]:
    try:
        if text.lstrip().startswith("["):
            yield from ((f"{where}[{i}]", row) for i, row in enumerate(json.loads(text)))
            return
        for number, line in enumerate(text.split("\n"), start=1):
            if line.strip():
                yield f"{where}:{number}", json.loads(line)
    except ValueError as error:
        raise InputError(f"no JSON: {error}", where=where) from error


def _object(row: dict[str, Any], place: str, task: Task) -> Found:
    text = row.get("text") or row.get("Text") or row.get("Sentence")
    if not isinstance(text, str) or not text.strip():
        yield "empty"
        return
    name, source = str(row.get("id") or row.get("ID") or place.rpartition(":")[2]), row.get("source")
    if source is not None:  # a layer of a release names the review and which part of it
        source = f"{source}:{row['source_span'][0]}-{row['source_span'][1]}" if "source_span" in row else str(source)
    if task == "tc":
        yield Row(name, text, label=str(row["label"]), source=source) if row.get("label") not in (None, "") else "other-task"
        return
    triplets = _dimabsa(row, text) if "ID" in row else [triplet(one) for one in row.get("triplets", [])]
    if task == "aste":
        yield Row(name, text, _marks(triplets), triplets=tuple(triplets), source=source)
        return
    aspects = [(_hull(one["spans"]), one["polarity"]) for one in row.get("aspects") or []]
    aspects = aspects or [((one.aspect.start, one.aspect.end), one.polarity) for one in triplets]
    if task == "ate":
        yield _terms(name, text, [span for span, _ in aspects], source)
        return
    said: dict[Span, set[str]] = {}
    for span, told in aspects:
        if told is not None:
            said.setdefault(span, set()).add(_polarity(str(told)))
    for span, labels in sorted(said.items()):
        yield Row(f"{name}@{span[0]}", text, (Mark(*span),), min(labels), span, source=source) if len(labels) == 1 else "mixed-polarity"


def _hull(spans: list[list[int]]) -> Span:
    return spans[0][0], spans[-1][1]


def _marks(triplets: Iterable[Triplet]) -> tuple[Mark, ...]:
    """Aspects, and whole opinion phrases where they touch no aspect: what a method keeps."""
    aspects = {(one.aspect_full.start, one.aspect_full.end) for one in triplets}
    opinions = {(one.opinion_full.start, one.opinion_full.end) for one in triplets}
    out: list[Mark] = []
    for start, end, kind in sorted([*((a, b, "aspect") for a, b in aspects), *((a, b, "opinion") for a, b in opinions)]):
        if out and start < out[-1].end:
            out[-1] = Mark(out[-1].start, max(out[-1].end, end), out[-1].kind)
        else:
            out.append(Mark(start, end, kind))  # type: ignore[arg-type]
    return tuple(out)


def _dimabsa(row: dict[str, Any], text: str) -> list[Triplet]:
    """Triplets with both parts in the text; spans as given (1-based, inclusive), else the first place where the words stand."""
    if "Intensity" in row:
        places = row.get("AspectFromTo", []), row.get("OpinionFromTo", [])
        columns = zip_longest(row["Aspect"], row["Opinion"], row["Intensity"], *places)
        listed = [(a, o, polarity_at(v), at, by) for a, o, v, at, by in columns]
    else:
        told = row["Triplet"] if "Triplet" in row else row["Quadruplet"]
        listed = [
            (t["Aspect"], t["Opinion"], polarity(t["Polarity"]) if "Polarity" in t else polarity_at(t["VA"]), None, None) for t in told
        ]
    out = []
    for aspect, opinion, said, at, by in listed:
        spans = _located(text, aspect, at), _located(text, opinion, by)
        if spans[0] and spans[1]:
            first, second = (Element(text[a:b], ((a, b),)) for a, b in (spans[0], spans[1]))
            named: Polarity = said  # type: ignore[assignment]
            out.append(Triplet(first, first, second, second, named, VALENCE[named]))
    return out


_PLACE = re.compile(r"(\d+)#(\d+)")


def _located(text: str, words: str, place: str | None) -> Span | None:
    if (match := _PLACE.fullmatch(place or "")) and text[int(match[1]) - 1 : int(match[2])] == words:
        return int(match[1]) - 1, int(match[2])
    start = text.find(words) if words and words != "NULL" else -1
    return (start, start + len(words)) if start >= 0 else None


_ENDINGS = {".tsv": "tsv", ".jsonl": "json", ".json": "json", ".atepc": "atepc", ".bio": "columns", ".conll": "columns"}
_READERS: dict[str, Callable[[str, str, Task], Found]] = {
    "tsv": _tsv,
    "json": _json,
    "apc": _apc,
    "atepc": _atepc,
    "columns": _columns,
}
