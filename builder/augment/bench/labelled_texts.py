"""What the bench trains and tests on: files and releases read as labelled texts of one task.

Tasks: `tc` the class of a text, `absc` the polarity of one aspect, `ate` the aspects, `aste` the triplets. A directory
is a release; the format of a file (`KNOWN`) is seen from its name or look. What a row says of another task is counted.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise, zip_longest
from pathlib import Path
from typing import Any, Literal

from builder.augment.bench.classifiers import ClassifierItem, words_of
from builder.augment.candidates import Mark, Sentence
from builder.augment.sentence_files import FORMATS, FileSentence, language_of
from builder.augment.views import ViewUnit, cut, segmented, units
from builder.core.errors import InputError
from builder.core.files import parse_json, read_text
from builder.core.records import POLARITIES, Element, Polarity, Span, Triplet
from builder.core.wording import counted
from builder.engine.reader import to_view
from builder.language.lexicon.folders import SHIPPED, Folders
from builder.learning.task import VALENCE, Example
from builder.release.export.answers import read_dimabsa
from builder.release.export.native_rows import triplet
from builder.release.shelf import opened
from builder.release.shelf import rows as release_rows
from builder.release.verify import naming_faults
from builder.reviews.repair import fold
from builder.reviews.script import HAN
from builder.reviews.text import view

# ---- Labelled texts

Task = Literal["tc", "absc", "ate", "aste"]


@dataclass(frozen=True, slots=True)
class BenchRow:
    """A labelled text. `marks` stay, `aspect` is judged (absc), `source` is the row that it was made from."""

    id: str
    text: str
    marks: tuple[Mark, ...] = ()
    label: str = ""
    aspect: Span | None = None
    triplets: tuple[Triplet, ...] = ()
    source: str | None = None

    @property
    def key(self) -> str:
        return normalised(self.text)

    @property
    def spans(self) -> tuple[Span, ...]:
        return tuple(sorted({(mark.start, mark.end) for mark in self.marks if mark.kind == "aspect"}))


@dataclass(frozen=True, slots=True)
class Data:
    """A file as read: its rows, and what could not be used, by reason."""

    name: str
    rows: tuple[BenchRow, ...]
    skipped: tuple[tuple[str, int], ...] = ()


def digest(rows: Iterable[BenchRow]) -> str:
    """The digest of rows, in their order."""
    total = hashlib.sha256()
    for row in rows:
        total.update(repr(row).encode("utf-8", "surrogatepass"))
    return total.hexdigest()[:16]


def normalised(text: str) -> str:
    """A text for comparison: one script, width and letter case; letters and digits only."""
    return "".join(char for char in fold(text) if char.isalnum())


def language(rows: Sequence[BenchRow]) -> Literal["zh", "en"]:
    """zh where most texts hold a Han character."""
    return "zh" if 2 * sum(bool(HAN.search(row.text)) for row in rows) > len(rows) else "en"


def share(rows: Iterable[BenchRow], part: float, salt: str) -> list[BenchRow]:
    """Rows whose text falls into the share by its hash; a smaller share lies in a larger one."""
    return [row for row in rows if _place(row.key, salt) < part]


def held_out(rows: Sequence[BenchRow], part: float, salt: str, count: int = 0) -> list[BenchRow]:
    """The rows of a share of the texts, or of `count` of them, drawn by their hashes."""
    keys = sorted({row.key for row in rows}, key=lambda key: _place(key, salt))
    chosen = set(keys[: count or round(part * len(keys))])
    return [row for row in rows if row.key in chosen]


def folded(rows: Sequence[BenchRow], folds: int) -> list[tuple[BenchRow, ...]]:
    """The rows in so many folds of nearly as many texts, drawn by their hashes; rows of one text stay together."""
    keys = sorted({row.key for row in rows}, key=lambda key: _place(key, "folds"))
    fold_of = {key: n % folds for n, key in enumerate(keys)}
    return [tuple(row for row in rows if fold_of[row.key] == n) for n in range(folds)]


def _place(key: str, salt: str) -> float:
    return int.from_bytes(hashlib.sha256(f"{salt}\0{key}".encode("utf-8", "surrogatepass")).digest()[:7]) / (1 << 56)


def refuse_shared(train: Sequence[BenchRow], test: Sequence[BenchRow], name: str) -> None:
    """InputError where a text of the test set is trained on."""
    held = {row.key: row.id for row in test}
    shared = {row.key: row.id for row in train if row.key in held}
    if shared:
        some = ", ".join(f"{mine} is {held[key]}" for key, mine in list(shared.items())[:3])
        raise InputError(
            f"the test set holds {counted(len(shared), 'text')} of it too ({some})",
            where=name,
            fix="a test set that is trained on proves nothing: remove them from one side",
        )


def item(row: BenchRow, task: Task) -> ClassifierItem:
    """A row as classifiers and aspect taggers read it."""
    return ClassifierItem(
        row.text, words_of(row.text), row.label if task != "ate" else "", row.aspect, row.spans if task == "ate" else ()
    )


def sentences(rows: Sequence[BenchRow], folders: Folders = SHIPPED) -> list[Sentence]:
    """Rows as augmentation methods read them: with words, cut where a mark begins or ends."""
    tongue = language(rows)
    made = [
        Sentence(row.id, row.text, tuple(cut(words_of(row.text), row.marks)), row.marks, row.label or None, tongue)
        for row in rows
    ]
    return segmented(made, folders) if tongue == "zh" else made


def example(row: BenchRow) -> Example:
    """A row as the triplet tagger reads it: the view of its text; triplets that the view does not show are left out."""
    shown = view(row.text)
    moved = (to_view(triplet, shown) for triplet in row.triplets)
    return Example(row.id, shown.text, tuple(triplet for triplet in moved if triplet is not None))


# ---- Files and releases

KNOWN = "a release, .jsonl, dimABSA .json, .tsv (sentence, label), .apc (three lines with $T$), .atepc, .bio"
_VIEWS: dict[Task, Any] = {"tc": "sentence", "absc": "aspect", "ate": "ate", "aste": "triplets"}
RowsOrReasons = Iterator[BenchRow | str]
"""Rows, and the reason of each that cannot be used."""


def load(path: Path, task: Task, split: str = "train") -> Data:
    """The rows of a file, or of one split of a release. InputError where there is none, or a line cannot be read."""
    if path.is_dir():
        entries: Iterable[BenchRow | str] = _release(path, task, split)
    else:
        entries = _file(path, task)
    rows: list[BenchRow] = []
    reasons: Counter[str] = Counter()
    for entry in entries:
        if isinstance(entry, str):
            reasons[entry] += 1
        else:
            rows.append(entry)
    if not rows:
        left = ", ".join(f"{reason} {n:,}" for reason, n in reasons.items())
        raise InputError(
            f"no row for the task {task}" + (f" ({left})" if left else ""), where=str(path), fix=f"read are: {KNOWN}"
        )
    return Data(path.name or str(path), tuple(rows), tuple(sorted(reasons.items())))


def _file(path: Path, task: Task) -> RowsOrReasons:
    text = read_text(path, f"read are: {KNOWN}")
    ending = next((form for ending, form in _ENDINGS.items() if path.name.lower().endswith(ending)), "")
    form = ending or ("apc" if "$T$" in text[:20_000] else "json" if text.lstrip()[:1] in ("{", "[") else "bio")
    return _json(text, str(path), task) if form == "json" else _items(form, text, str(path), task)


def _release(path: Path, task: Task, split: str) -> RowsOrReasons:
    opened(path)
    for row in release_rows(path, split):
        with naming_faults(path):
            parts = list(units(row, _VIEWS[task], "aspect+opinion" if task == "aste" else "aspect"))
            entries = [part[1] if isinstance(part, tuple) else _unit(part, task) for part in parts]
        yield from entries


def _unit(unit: ViewUnit, task: Task) -> BenchRow:
    """A sentence of a review; offsets are moved into it."""
    sentence = unit.sentence
    if task == "aste":
        triplets = tuple(triplet(row).bare().shifted(-unit.start) for row in unit.triplets)
        return BenchRow(sentence.id, sentence.text, sentence.marks, triplets=triplets)
    if task == "absc":
        at = int(sentence.id.rpartition("@")[2]) - unit.start
        aspect = next((mark.start, mark.end) for mark in sentence.marks if mark.start <= at < mark.end)
        return BenchRow(sentence.id, sentence.text, sentence.marks, sentence.label or "", aspect)
    return BenchRow(sentence.id, sentence.text, sentence.marks, sentence.label or "")


def _items(form: str, text: str, where: str, task: Task) -> RowsOrReasons:
    """Files of the augmentation papers' sets; those that `builder augment` wrote have their lineage beside them."""
    tongue = language_of(text)
    try:
        items = FORMATS[form].read(text, tongue)
    except ValueError as error:
        raise InputError(f"of no known kind, or broken: {error}", where=where, fix=f"read are: {KNOWN}") from error
    sources = _lineage(Path(f"{where}.lineage.jsonl"))
    if task == "ate" and form == "apc":
        items = _gathered(items)
    for item in items:
        yield from _file_rows(item, form, task, sources.get(_bare(item.sentence.text)))


def _file_rows(item: FileSentence, form: str, task: Task, source: str | None) -> RowsOrReasons:
    """What a sentence of a file says of a task."""
    sentence = item.sentence
    spans = [(mark.start, mark.end) for mark in sentence.marks]
    if task == "tc" and form == "tsv":
        yield BenchRow(sentence.id, sentence.text, label=sentence.label or "", source=source)
    elif task == "ate" and form != "tsv":
        yield _terms(sentence.id, sentence.text, spans, source)
    elif task == "absc" and form == "apc":
        yield BenchRow(
            sentence.id, sentence.text, _unjudged(spans), sentence.label or "", spans[item.judged], source=source
        )
    elif task == "absc" and form == "atepc":
        for span, label in zip(spans, item.labels, strict=True):
            if label != "-100":
                yield BenchRow(
                    f"{sentence.id}@{span[0]}", sentence.text, _unjudged(spans), _polarity(label), span, source=source
                )
    else:
        yield "other-task"


def _unjudged(spans: Iterable[Span]) -> tuple[Mark, ...]:
    return tuple(Mark(*span) for span in spans)


def _gathered(items: Sequence[FileSentence]) -> list[FileSentence]:
    """The sentences of an aspect file with all their aspects."""
    by_text: dict[str, FileSentence] = {}
    for item in items:
        known = by_text.setdefault(item.sentence.text, item)
        spans = sorted({(mark.start, mark.end) for entry in (known, item) for mark in entry.sentence.marks})
        by_text[item.sentence.text] = replace(known, sentence=replace(known.sentence, marks=_unjudged(spans)))
    return list(by_text.values())


def _lineage(path: Path) -> dict[str, str]:
    """Which source each augmented text has; nothing where no lineage lies beside a file."""
    if not path.exists():
        return {}
    return {_bare(row["text"]): str(row["source"]) for _, row in _objects(read_text(path), str(path))}


def _bare(text: str) -> str:
    return "".join(text.split())


def _terms(name: str, text: str, spans: Iterable[Span], source: str | None = None) -> BenchRow | str:
    places = sorted(set(spans))
    if any(a[1] > b[0] for a, b in pairwise(places)):
        return "overlapping-labels"
    return BenchRow(name, text, _unjudged(places), source=source)


def _polarity(label: str) -> str:
    """POS, NEG, NEU where the label is one of the usual words, else the label as it is."""
    head = label.strip().upper()[:3]
    return head if head in POLARITIES else label.strip()


def _json(text: str, where: str, task: Task) -> RowsOrReasons:
    for place, row in _objects(text, where):
        try:
            yield from _object(row, place, task)
        except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
            raise InputError(f"cannot be read: {error!r}", where=place, fix=f"read are: {KNOWN}") from error


def _objects(text: str, where: str) -> Iterator[tuple[str, dict[str, Any]]]:
    try:
        if text.lstrip().startswith("["):
            yield from ((f"{where}[{i}]", row) for i, row in enumerate(parse_json(text)))
            return
        for number, line in enumerate(text.split("\n"), start=1):
            if line.strip():
                yield f"{where}:{number}", parse_json(line)
    except ValueError as error:
        raise InputError(f"no JSON: {error}", where=where) from error


def _object(row: dict[str, Any], place: str, task: Task) -> RowsOrReasons:
    text = row.get("text") or row.get("Text") or row.get("Sentence")
    if not isinstance(text, str) or not text.strip():
        yield "empty"
        return
    name, source = str(row.get("id") or row.get("ID") or place.rpartition(":")[2]), _lineage_of(row)
    if task == "tc":
        yield (
            BenchRow(name, text, label=str(row["label"]), source=source)
            if row.get("label") not in (None, "")
            else "other-task"
        )
        return
    triplets = _dimabsa(row, text) if "ID" in row else [triplet(label) for label in row.get("triplets", [])]
    if task == "aste":
        yield BenchRow(name, text, _marks(triplets), triplets=tuple(triplets), source=source)
        return
    aspects = [(_hull(label["spans"]), label["polarity"]) for label in row.get("aspects") or []]
    aspects = aspects or [
        ((found_triplet.aspect.start, found_triplet.aspect.end), found_triplet.polarity) for found_triplet in triplets
    ]
    if task == "ate":
        yield _terms(name, text, [span for span, _ in aspects], source)
        return
    polarities_of: dict[Span, set[str]] = {}
    for span, label in aspects:
        if label is not None:
            polarities_of.setdefault(span, set()).add(_polarity(str(label)))
    for span, labels in sorted(polarities_of.items()):
        yield (
            BenchRow(f"{name}@{span[0]}", text, (Mark(*span),), min(labels), span, source=source)
            if len(labels) == 1
            else "mixed-polarity"
        )


def _lineage_of(row: Mapping[str, Any]) -> str | None:
    """The source of a row: of a layer, the review and which part of it; a review of a release has none."""
    if "source_span" in row:
        return f"{row.get('source_id', row.get('source'))}:{row['source_span'][0]}-{row['source_span'][1]}"
    source = None if "unverified_negative" in row else row.get("source")
    return None if source is None else str(source)


def _hull(spans: list[list[int]]) -> Span:
    return spans[0][0], spans[-1][1]


def _marks(triplets: Iterable[Triplet]) -> tuple[Mark, ...]:
    """Aspects, and whole opinion phrases where they touch no aspect: what a method keeps."""
    aspects = {(found_triplet.aspect_full.start, found_triplet.aspect_full.end) for found_triplet in triplets}
    opinions = {(found_triplet.opinion_full.start, found_triplet.opinion_full.end) for found_triplet in triplets}
    out: list[Mark] = []
    for start, end, kind in sorted(
        [*((a, b, "aspect") for a, b in aspects), *((a, b, "opinion") for a, b in opinions)]
    ):
        if out and start < out[-1].end:
            out[-1] = Mark(out[-1].start, max(out[-1].end, end), out[-1].kind)
        else:
            out.append(Mark(start, end, kind))  # type: ignore[arg-type]
    return tuple(out)


def _dimabsa(row: dict[str, Any], text: str) -> list[Triplet]:
    """Triplets with both parts in the text: at the places given (1-based, inclusive), else where the words stand."""
    out = []
    places = row.get("AspectFromTo", []), row.get("OpinionFromTo", [])
    for (aspect, opinion, sign), at, by in zip_longest(read_dimabsa(row), *places):
        spans = _located(text, aspect, at), _located(text, opinion, by)
        if spans[0] and spans[1]:
            first, second = (Element(text[a:b], ((a, b),)) for a, b in (spans[0], spans[1]))
            named: Polarity = sign  # type: ignore[assignment]
            out.append(Triplet(first, first, second, second, named, VALENCE[named]))
    return out


_PLACE = re.compile(r"(\d+)#(\d+)")


def _located(text: str, words: str, place: str | None) -> Span | None:
    if (match := _PLACE.fullmatch(place or "")) and text[int(match[1]) - 1 : int(match[2])] == words:
        return int(match[1]) - 1, int(match[2])
    start = text.find(words) if words and words != "NULL" else -1
    return (start, start + len(words)) if start >= 0 else None


_ENDINGS = {f".{form}": form for form in (*FORMATS, "json")} | {".jsonl": "json", ".conll": "bio"}
