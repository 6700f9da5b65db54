"""Answers for `builder gold score`: gold and predictions, other people's and ours.

In: a file or a folder. Out: (aspect, opinion, polarity) per review id. Triplets with a NULL part are left out and
counted. A directory is a release: all of its `data/*.jsonl`.

JSON rows, one a line or in one array, are known by their keys. Ours have {"id", "triplets"}: `extract` output,
releases. dimABSA's have {"ID", "Triplet"} or {"ID", "Quadruplet"} of 2026, {"ID", "Aspect", "Opinion", "Intensity"} of
2024. The paper's have {"id", "answer"}. Those of Label Studio, doccano and Argilla are what `builder export` gave them,
as people left it; of Argilla the rows of `records.to_list(flatten=True)`.

Text lines are dimABSA's truth files of 2024, or ASTE files that write triplets behind `####`. Reading them is pure.

- dimABSA: `ID (aspect,category,opinion,valence#arousal)(…)`.
- ASTE-Data-V2: `tokens####[([16, 17], [15], 'POS')]` with every token index of a span.
- Span-ASTE: `tokens#### #### ####[([16, 17], [15], 'POS')]` with first and last index.
- PyABSA: `tokens####[((0, 1), (2, 5), 'NEU')]` with inclusive ranges, -1 for an implicit part.

In ASTE files the review's id is the number of its line.

Gold by two annotators who gave every triplet of a review is a folder with `A.jsonl` and `B.jsonl`. In: rows {"id",
"triplets": [{aspect, aspect_full, opinion, opinion_full, polarity}]}, the same reviews in both files. A `texts.jsonl`
beside them is for people. Out: per review what is required and what is optional (`builder.gold.metrics.complete`).
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Any

from builder.core.errors import InputError
from builder.core.files import parse_json, read_text
from builder.core.records import POLARITY_WORDS, surface
from builder.gold.metrics import Answer
from builder.gold.metrics.complete import Complete, Ranged, merge
from builder.release.export import annotation_tools, argilla
from builder.release.export.native_rows import Labelled
from builder.release.export.research import parse_paper

# ---- Files of text lines

Row = tuple[str, list[Answer]]
"""Review id, its answers."""
_Truth = tuple[str, list[tuple[str, str]]]
"""A line of dimABSA: its id, and of each tuple the fields before its numbers, and these."""
_HEADER = re.compile(r"ID,?\s+(Quadruples|Triplets|Sentence)\s*")
_INTENSITY = re.compile(r",(-?[\d.]+#-?[\d.]+)\)")
_WORD = re.compile(r"[A-Za-z0-9]")


def recognised(text: str) -> bool:
    """Whether a file's first line is one of this module's."""
    line = next((line for line in text.split("\n") if line.strip()), "")
    return not line.lstrip().startswith(("{", "[")) and (
        "####" in line or bool(_HEADER.fullmatch(line) or _parse_truth(line))
    )


def rows(text: str, path: str) -> Iterator[tuple[int, str, Any]]:
    """(line number, kind, what its reader takes). InputError where a line is of no kind."""
    for number, line in enumerate(text.split("\n"), start=1):
        line = line.rstrip("\r")
        if not line.strip() or (number == 1 and _HEADER.fullmatch(line)):
            continue
        if line.count("####") == 3:
            yield number, "span-aste", (number, line)
        elif line.count("####") == 1:
            yield number, "pyabsa" if "[((" in line.replace(" ", "") else "aste-data-v2", (number, line)
        elif (truth := _parse_truth(line)) is not None:
            yield number, "dimabsa-truth", truth
        else:
            fix = "known: tokens####[…]; tokens#### #### ####[…]; ID (aspect,…,valence#arousal)"
            raise InputError("no line of triplets", where=f"{path}:{number}", fix=fix)


def polarity(name: str) -> str:
    """POS, NEG or NEU of any of its names; ValueError."""
    if (known := POLARITY_WORDS.get(str(name).lower())) is None:
        raise ValueError(f"unknown polarity {name!r}")
    return known


def polarity_at(intensity: str) -> str:
    """The polarity of dimABSA's `valence#arousal` (valence 1 to 9): up to 4.4 negative, from 5.6 positive."""
    valence = float(str(intensity).partition("#")[0])
    if not 1 <= valence <= 9:
        raise ValueError(f"valence {valence} is not between 1 and 9")
    return "NEG" if valence <= 4.4 else "POS" if valence >= 5.6 else "NEU"


def _parse_truth(line: str) -> _Truth | None:
    """A line of dimABSA, None where it is none. A body may hold brackets: a tuple ends behind its two numbers."""
    key, blank, rest = line.partition(" ")
    *parts, end = _INTENSITY.split(rest)
    bodies, intensities = parts[::2], parts[1::2]
    if (
        key.split() != [key]
        or not blank
        or end.strip()
        or not all(body.startswith("(") and body[1:] for body in bodies)
    ):
        return None
    return key, [(body[1:], intensity) for body, intensity in zip(bodies, intensities, strict=True)]


def _truth(row: _Truth, _: str) -> Row:
    key, tuples = row
    answers: list[Answer] = []
    for body, intensity in tuples:
        fields = body.split(",")
        if len(fields) not in (2, 3):
            raise ValueError(f"({body},{intensity}) holds {len(fields) + 1} fields, 3 or 4 are due")
        answers.append((fields[0], fields[-1], polarity_at(intensity)))
    return key, answers


def _spans(every: bool) -> Callable[[tuple[int, str], str], Row]:
    """A reader of `####` lines; `every` index of a span is written, or its first and last."""

    def reader(row: tuple[int, str], _: str) -> Row:
        number, line = row
        sentence, _, rest = line.partition("####")
        tokens = sentence.split(" ") if every or not sentence.endswith(" ") else sentence.split()
        triplets = _literal(rest.rpartition("####")[2])
        answers = [
            (_surface(tokens, aspect, every), _surface(tokens, opinion, every), polarity(name))
            for aspect, opinion, name in triplets
        ]
        return str(number), answers

    return reader


_PLACES = r"(?:\[[\d, ]*\]|\(\d+, ?\d+\))"
_TRIPLETS = re.compile(rf"\[(?:\({_PLACES}, ?{_PLACES}, ?(?:'\w+'|\"\w+\")\)(?:, ?(?=\()|(?=\])))*\]")
_AS_JSON = str.maketrans("()'", '[]"')


def _literal(text: str) -> list[Any]:
    """The Python value of a list such as `[([16, 17], [15], 'POS')]`. A list of nothing but triplets is read as JSON,
    which takes a tenth of the time.
    """
    literal = text.strip()
    if _TRIPLETS.fullmatch(literal):
        with suppress(ValueError):  # [1,, 2]
            plain: list[Any] = json.loads(literal.translate(_AS_JSON))
            return plain
    try:
        triplets = ast.literal_eval(literal)
    except (SyntaxError, RecursionError, MemoryError):
        triplets = None
    if not isinstance(triplets, list):
        raise ValueError(f"no list of triplets: {text[:60]!r}")
    return triplets


def _surface(tokens: list[str], indices: Any, every: bool) -> str:
    places = [int(i) for i in indices]
    if places and all(i == -1 for i in places):
        return "NULL"
    if not places or not all(0 <= i < len(tokens) for i in places) or places != sorted(places):
        raise ValueError(f"no span {indices!r} in {len(tokens)} tokens")
    return _joined([tokens[i] for i in (places if every else range(places[0], places[-1] + 1))])


def _joined(tokens: list[str]) -> str:
    """Tokens as text: a space only between two that are written in Latin letters or digits."""
    out = ""
    for token in tokens:
        out += " " + token if out and token and _WORD.match(out[-1]) and _WORD.match(token[0]) else token
    return out


# ---- Files and releases


@dataclass(frozen=True, slots=True)
class AnswersRead:
    """Answers by review id; `null` triplets left out; `given` rows whose question names aspects; `faults` what is wrong
    with each line that was left out, with its file and number.
    """

    answers: dict[str, list[Answer]]
    null: int
    given: int = 0
    faults: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class File:
    """A file read once, of which `answers` can be taken with either opinion. `rows` are (where, kind, row)."""

    rows: tuple[tuple[str, str, Any], ...]

    @property
    def is_numbered(self) -> bool:
        """Whether a row of the paper's format has no `review_id` beside its number, as in the paper's own files."""
        return any(kind == "paper" and "review_id" not in row for _, kind, row in self.rows)

    def by_number(self) -> File:
        """The same, rows of the paper's format known by their number."""
        rows = (
            (where, kind, {key: value for key, value in row.items() if key != "review_id"} if kind == "paper" else row)
            for where, kind, row in self.rows
        )
        return File(tuple(rows))

    def read(self, opinion: str = "opinion", strict: bool = True) -> AnswersRead:
        """A row that does not hold what its kind promises is an InputError with its line; not `strict`, it is left
        out and stands in `faults`.
        """
        answers: dict[str, list[Answer]] = {}
        null = given = 0
        faults: list[InputError] = []
        for where, kind, row in self.rows:
            try:
                key, triplets = _READERS[kind](row, opinion)
            except (KeyError, ValueError, TypeError, AttributeError) as error:
                fault = InputError(f"cannot be read as {kind}: {error!r}", where=where)
                if strict:
                    raise fault from error
                faults.append(fault)
                continue
            if key in answers:
                raise InputError(f"the id {key!r} stands twice", where=where)
            answers[key] = [triplet for triplet in triplets if "NULL" not in triplet[:2]]
            null += len(triplets) - len(answers[key])
            given += kind == "paper" and "以下文字對" in str(row.get("question", "")).partition("context:")[0]
        if faults and not answers:
            raise faults[0]
        return AnswersRead(answers, null, given, tuple(map(str, faults)))


def load(path: Path) -> File:
    """Read and recognise a file, or the data of a release directory."""
    files = sorted((path / "data").glob("*.jsonl")) if path.is_dir() else [path]
    if not files:
        raise InputError(
            "no data/*.jsonl in this directory", where=str(path), fix="name a release directory, or a file"
        )
    rows = tuple(row for file in files for row in _recognised(file))
    if not rows:
        raise InputError("no rows", where=str(path))
    return File(rows)


def _recognised(path: Path) -> Iterator[tuple[str, str, Any]]:
    text = read_text(path)
    if recognised(text):
        yield from ((f"{path}:{number}", kind, row) for number, kind, row in rows(text, str(path)))
        return
    for where, row in _array(text, path) or _lines(text, path):
        kind = next((kind for kind, keys in _KINDS.items() if keys <= row.keys()), None)
        if kind is None:
            fix = "known: " + "; ".join(f"{k} ({', '.join(sorted(v))})" for k, v in _KINDS.items())
            raise InputError(f"a row with keys {', '.join(sorted(row))}", where=where, fix=fix)
        yield where, kind, row


def _array(text: str, path: Path) -> list[tuple[str, dict[str, Any]]]:
    """The objects of a file that is one JSON array; nothing if it is anything else."""
    if not text.lstrip().startswith("["):
        return []
    try:
        items = parse_json(text)
    except ValueError:
        return []
    if not all(isinstance(row, dict) for row in items):
        return []
    return [(f"{path}, item {number}", row) for number, row in enumerate(items, start=1)]


def _lines(text: str, path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    for number, line in enumerate(text.split("\n"), start=1):  # not splitlines: texts may hold U+2028
        if line.strip():
            try:
                row = parse_json(line)
            except ValueError as error:
                raise InputError(
                    f"not JSON: {error}", where=f"{path}:{number}", fix="one JSON object a line"
                ) from error
            if not isinstance(row, dict):
                raise InputError(f"a {type(row).__name__} where an object is due", where=f"{path}:{number}")
            yield f"{path}:{number}", row


_KINDS = {
    "ours": {"id", "triplets"},
    "dimabsa": {"ID", "Triplet"},
    "paper": {"id", "answer"},
    "dimabsa-quadruplets": {"ID", "Quadruplet"},
    "dimabsa-2024": {"ID", "Aspect", "Opinion", "Intensity"},
    "label-studio": {"data"},
    "doccano": {"text", "entities", "relations"},
    "argilla": {"fields", "suggestions"},
    "argilla-flat": {"triplets.suggestion"},
}


def _ours(row: Any, opinion: str) -> Row:
    def text(value: Any) -> str:
        return str(value["text"] if isinstance(value, dict) else value)

    answers = [
        (text(t["aspect"]), text(t.get(opinion) or t["opinion"]), polarity(t["polarity"])) for t in row["triplets"]
    ]
    return str(row["id"]), answers


def _dimabsa(row: Any, _: str) -> Row:
    triplets = row["Triplet"] if "Triplet" in row else row["Quadruplet"]
    signs = [polarity(t["Polarity"]) if "Polarity" in t else polarity_at(t["VA"]) for t in triplets]
    answers = [(t["Aspect"], t["Opinion"], sign) for t, sign in zip(triplets, signs, strict=True)]
    return str(row["ID"]), answers


def _dimabsa_2024(row: Any, _: str) -> Row:
    columns = row["Aspect"], row["Opinion"], row["Intensity"]
    answers = [(aspect, opinion, polarity_at(valence)) for aspect, opinion, valence in zip_longest(*columns)]
    return str(row["ID"]), answers


def read_dimabsa(row: Any) -> list[Answer]:
    """The answers in a row of dimABSA, of any year."""
    return (_dimabsa_2024 if "Intensity" in row else _dimabsa)(row, "")[1]


def _paper(row: Any, _: str) -> Row:
    return str(row.get("review_id", row["id"])), [(a, o, p) for a, o, p in parse_paper(row["answer"])]


def _labelled(read: Callable[[Any], Labelled]) -> Callable[[Any, str], Row]:
    def answers(row: Any, _: str) -> Row:
        review = read(row)
        words: list[Answer] = [
            (surface(review.text, t.aspect), surface(review.text, t.opinion), t.polarity) for t in review.labels
        ]
        return review.id, words

    return answers


_READERS: Mapping[str, Callable[[Any, str], Row]] = {
    "ours": _ours,
    "dimabsa": _dimabsa,
    "dimabsa-quadruplets": _dimabsa,
    "dimabsa-2024": _dimabsa_2024,
    "paper": _paper,
    "label-studio": _labelled(annotation_tools.task),
    "doccano": _labelled(annotation_tools.document),
    "argilla": _labelled(argilla.read_record),
    "argilla-flat": _labelled(argilla.read_record),
    "aste-data-v2": _spans(every=True),
    "span-aste": _spans(every=False),
    "pyabsa": _spans(every=False),
    "dimabsa-truth": _truth,
}


# ---- Gold by two annotators

ANNOTATORS = ("A.jsonl", "B.jsonl")
_PARTS = ("aspect", "aspect_full", "opinion", "opinion_full")


def is_complete(path: Path) -> bool:
    """Whether a path is a folder with the files of two annotators."""
    return all((path / name).is_file() for name in ANNOTATORS)


def load_complete(path: Path) -> dict[str, Complete]:
    """The gold of the folder, in the first annotator's order. InputError with the line of what is no annotation."""
    first, second = (_read_annotator(path / name) for name in ANNOTATORS)
    alone = sorted(first.keys() ^ second.keys())
    if alone:
        raise InputError(
            f"{alone[0]!r} is annotated in one file only", where=str(path), fix="both annotators read the same reviews"
        )
    if not first:
        raise InputError("no rows", where=str(path / ANNOTATORS[0]))
    return {key: merge(triplets, second[key]) for key, triplets in first.items()}


def _read_annotator(path: Path) -> dict[str, list[Ranged]]:
    reviews: dict[str, list[Ranged]] = {}
    for where, row in _lines(read_text(path), path):
        try:
            key, triplets = str(row["id"]), [_read_triplet(triplet) for triplet in row["triplets"]]
        except (KeyError, ValueError, TypeError) as error:
            fix = 'rows are {"id", "triplets": [{aspect, aspect_full, opinion, opinion_full, polarity}]}'
            raise InputError(f"no annotated review: {error!r}", where=where, fix=fix) from error
        if key in reviews:
            raise InputError(f"the id {key!r} stands twice", where=where)
        reviews[key] = triplets
    return reviews


def _read_triplet(triplet: dict[str, Any]) -> Ranged:
    parts = {name: triplet[name] for name in _PARTS}
    if not all(isinstance(part, str) and part for part in parts.values()):
        raise ValueError(f"{', '.join(_PARTS)} are texts, none of them empty")
    return Ranged(**parts, polarity=polarity(triplet["polarity"]))
