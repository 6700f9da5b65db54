"""Answers in files of text lines: dimABSA's truth files of 2024 and the ASTE files that write triplets behind `####`.
Pure.

dimABSA: `ID (aspect,category,opinion,valence#arousal)(…)`. ASTE-Data-V2: `tokens####[([16, 17], [15], 'POS')]` with
every token index of a span; Span-ASTE: `tokens#### #### ####[([16, 17], [15], 'POS')]` with first and last index;
PyABSA: `tokens####[((0, 1), (2, 5), 'NEU')]` with inclusive ranges, -1 for an implicit part. The review's id is the
number of its line.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from builder.core.errors import InputError
from builder.gold.metrics import Answer
from builder.release.export.paper import NAMES
from builder.release.export.records import parse_triplets

Row = tuple[str, str | None, list[Answer]]
"""Review id, its text if the file has it, its answers."""
_Truth = tuple[str, list[tuple[str, str]]]
"""A line of dimABSA: its id, and of each tuple the fields before its numbers, and these."""
_FROM_NAMES = {name: key for key, name in NAMES.items()} | {"Positive": "POS", "Negative": "NEG", "Neutral": "NEU"}
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
    """(line number, kind, what `READERS` take). InputError where a line is of no kind."""
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
            raise InputError(
                "no line of triplets",
                where=f"{path}:{number}",
                fix="known: tokens####[…]; tokens#### #### ####[…]; ID (aspect,…,valence#arousal)",
            )


def polarity(name: str) -> str:
    """POS, NEG or NEU of any of its names; ValueError."""
    name = _FROM_NAMES.get(name, name)
    if name not in NAMES:
        raise ValueError(f"unknown polarity {name!r}")
    return name


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
    return key, None, answers


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
        return str(number), _joined(tokens), answers

    return reader


def _literal(text: str) -> list[Any]:
    try:
        triplets = parse_triplets(text.strip())
    except (SyntaxError, RecursionError, MemoryError) as error:
        raise ValueError(f"no list of triplets: {text[:60]!r}") from error
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


READERS: Mapping[str, Callable[[Any, str], Row]] = {
    "aste-data-v2": _spans(every=True),
    "span-aste": _spans(every=False),
    "pyabsa": _spans(every=False),
    "dimabsa-truth": _truth,
}
