"""Gold and predictions of other people and ours as (aspect, opinion, polarity) per review id, for `builder score`.

Read by the keys of the first row: ours ({"id", "triplets"}), dimABSA's polarity files ({"ID", "Text", "Triplet"}) and the paper's
({"id", "question", "answer"}). Triplets with a NULL part are left out and counted.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from builder.errors import InputError
from builder.export.paper import NAMES, parse
from builder.metrics import Answer

_FROM_NAMES = {name: polarity for polarity, name in NAMES.items()}


@dataclass(frozen=True, slots=True)
class Read:
    """Answers by review id; `texts` where the file has them; `null` triplets left out."""

    answers: dict[str, list[Answer]]
    texts: dict[str, str]
    null: int


def read(path: Path, opinion: str = "opinion") -> Read:
    """InputError with the line where a row is of no known kind. `opinion` chooses the key in our own rows."""
    answers: dict[str, list[Answer]] = {}
    texts: dict[str, str] = {}
    null = 0
    for number, row in _rows(path):
        where = f"{path}:{number}"
        kind = next((kind for kind, keys in _KINDS.items() if keys <= row.keys()), None)
        if kind is None:
            raise InputError(
                f"a row with keys {', '.join(sorted(row))}",
                where=where,
                fix="known: " + "; ".join(f"{k} ({', '.join(sorted(v))})" for k, v in _KINDS.items()),
            )
        try:
            key, text, listed = _READERS[kind](row, opinion)
        except (KeyError, ValueError, TypeError, AttributeError) as error:
            raise InputError(f"cannot be read as {kind}: {error!r}", where=where) from error
        if key in answers:
            raise InputError(f"the id {key!r} stands twice", where=where)
        answers[key] = [one for one in listed if one[0] != "NULL" and one[1] != "NULL"]
        null += len(listed) - len(answers[key])
        if text is not None:
            texts[key] = text
    return Read(answers, texts, null)


def _rows(path: Path) -> list[tuple[int, dict[str, Any]]]:
    try:
        lines = path.read_text(encoding="utf-8-sig").split("\n")  # not splitlines: texts may hold U+2028
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"cannot be read: {error}", where=str(path)) from error
    out = []
    for number, line in enumerate(lines, start=1):
        if line.strip():
            try:
                row = json.loads(line)
            except ValueError as error:
                raise InputError(f"not JSON: {error}", where=f"{path}:{number}", fix="one JSON object a line") from error
            if not isinstance(row, dict):
                raise InputError(f"a {type(row).__name__} where an object is due", where=f"{path}:{number}")
            out.append((number, row))
    if not out:
        raise InputError("no rows", where=str(path))
    return out


_Row = Mapping[str, Any]
_KINDS = {"ours": {"id", "triplets"}, "dimabsa": {"ID", "Triplet"}, "paper": {"id", "answer"}}


def _ours(row: _Row, opinion: str) -> tuple[str, str | None, list[Answer]]:
    def text(value: Any) -> str:
        return str(value["text"] if isinstance(value, dict) else value)

    listed = [(text(t["aspect"]), text(t.get(opinion) or t["opinion"]), _polarity(t["polarity"])) for t in row["triplets"]]
    return str(row["id"]), row.get("text"), listed


def _dimabsa(row: _Row, _: str) -> tuple[str, str | None, list[Answer]]:
    return str(row["ID"]), row.get("Text"), [(t["Aspect"], t["Opinion"], _polarity(t["Polarity"])) for t in row["Triplet"]]


def _paper(row: _Row, _: str) -> tuple[str, str | None, list[Answer]]:
    context = row["question"].partition("context:")[2].strip() if "question" in row else None
    return str(row["id"]), context, [(a, o, p) for a, o, p in parse(row["answer"])]


_READERS: Mapping[str, Callable[[_Row, str], tuple[str, str | None, list[Answer]]]] = {"ours": _ours, "dimabsa": _dimabsa, "paper": _paper}


def _polarity(name: str) -> str:
    name = _FROM_NAMES.get(name, name)
    if name not in NAMES:
        raise ValueError(f"unknown polarity {name!r}")
    return name
