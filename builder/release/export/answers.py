"""Gold and predictions of other people and ours as (aspect, opinion, polarity) per review id, for `builder gold score`.

JSON rows, one a line or in one array, are known by their keys: ours ({"id", "triplets"}: `extract` output, releases),
dimABSA's ({"ID", "Triplet"} or {"ID", "Quadruplet"} of 2026, {"ID", "Aspect", "Opinion", "Intensity"} of 2024) and
the paper's ({"id", "answer"}). Those of Label Studio, doccano and Argilla are what `builder export` gave them, as
people left it. Lines of text: see `answers_text`. A directory is a release: all of its
`data/*.jsonl`. Triplets with a NULL part are left out and counted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Any

from builder.core.errors import InputError
from builder.core.files import parse_json
from builder.gold.metrics import Answer
from builder.release.export import annotation_tools, answers_text
from builder.release.export.answers_text import Row, polarity, polarity_at
from builder.release.export.paper import parse
from builder.release.export.records import Labelled, surface


@dataclass(frozen=True, slots=True)
class AnswersRead:
    """Answers by review id; `texts` where the file has them; `null` triplets left out; `given` rows whose question
    names aspects; `faults` what is wrong with each line that was left out, with its file and number.
    """

    answers: dict[str, list[Answer]]
    texts: dict[str, str]
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
        texts: dict[str, str] = {}
        null = given = 0
        faults: list[InputError] = []
        for where, kind, row in self.rows:
            try:
                key, text, triplets = _READERS[kind](row, opinion)
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
            if text is not None:
                texts[key] = text
        if faults and not answers:
            raise faults[0]
        return AnswersRead(answers, texts, null, given, tuple(map(str, faults)))


def read(path: Path, opinion: str = "opinion") -> AnswersRead:
    """InputError with the line where a row is of no known kind. `opinion` chooses the key in our own rows."""
    return load(path).read(opinion)


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
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"cannot be read: {error}", where=str(path)) from error
    if answers_text.recognised(text):
        yield from ((f"{path}:{number}", kind, row) for number, kind, row in answers_text.rows(text, str(path)))
        return
    for where, row in _array(text, path) or _lines(text, path):
        kind = next((kind for kind, keys in _KINDS.items() if keys <= row.keys()), None)
        if kind is None:
            raise InputError(
                f"a row with keys {', '.join(sorted(row))}",
                where=where,
                fix="known: " + "; ".join(f"{k} ({', '.join(sorted(v))})" for k, v in _KINDS.items()),
            )
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
    "label-studio": {"data"},
    "doccano": {"text", "entities", "relations"},
    "argilla": {"fields", "suggestions"},
    "argilla-flat": {"triplets.responses"},
    "ours": {"id", "triplets"},
    "dimabsa": {"ID", "Triplet"},
    "paper": {"id", "answer"},
    "dimabsa-quadruplets": {"ID", "Quadruplet"},
    "dimabsa-2024": {"ID", "Aspect", "Opinion", "Intensity"},
}


def _ours(row: Any, opinion: str) -> Row:
    def text(value: Any) -> str:
        return str(value["text"] if isinstance(value, dict) else value)

    answers = [
        (text(t["aspect"]), text(t.get(opinion) or t["opinion"]), polarity(t["polarity"])) for t in row["triplets"]
    ]
    return str(row["id"]), row.get("text"), answers


def _dimabsa(row: Any, _: str) -> Row:
    triplets = row["Triplet"] if "Triplet" in row else row["Quadruplet"]
    signs = [polarity(t["Polarity"]) if "Polarity" in t else polarity_at(t["VA"]) for t in triplets]
    answers = [(t["Aspect"], t["Opinion"], sign) for t, sign in zip(triplets, signs, strict=True)]
    return str(row["ID"]), row.get("Text"), answers


def _dimabsa_2024(row: Any, _: str) -> Row:
    columns = row["Aspect"], row["Opinion"], row["Intensity"]
    answers = [(aspect, opinion, polarity_at(valence)) for aspect, opinion, valence in zip_longest(*columns)]
    return str(row["ID"]), row.get("Sentence"), answers


def _paper(row: Any, _: str) -> Row:
    context = row["question"].partition("context:")[2].strip() if "question" in row else None
    return str(row.get("review_id", row["id"])), context, [(a, o, p) for a, o, p in parse(row["answer"])]


def _labelled(read: Callable[[Any], Labelled]) -> Callable[[Any, str], Row]:
    def answers(row: Any, _: str) -> Row:
        review = read(row)
        words: list[Answer] = [
            (surface(review.text, t.aspect), surface(review.text, t.opinion), t.polarity) for t in review.labels
        ]
        return review.id, review.text, words

    return answers


_READERS: Mapping[str, Callable[[Any, str], Row]] = {
    "ours": _ours,
    "dimabsa": _dimabsa,
    "dimabsa-quadruplets": _dimabsa,
    "dimabsa-2024": _dimabsa_2024,
    "paper": _paper,
    "label-studio": _labelled(annotation_tools.task),
    "doccano": _labelled(annotation_tools.document),
    "argilla": _labelled(annotation_tools.record),
    "argilla-flat": _labelled(annotation_tools.record),
    **answers_text.READERS,
}
