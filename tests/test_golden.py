"""The net under the engine: what it makes of the sample and the rules' examples is tests/golden/extract.tsv.

A line there is the digest of a text, and of its triplets with their stories in each convention. To renew it:
`python tests/test_golden.py > tests/golden/extract.tsv`.
"""

from __future__ import annotations

import csv
import hashlib
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import get_args

import pytest

from builder.core.records import Triplet
from builder.core.settings import Convention
from builder.engine import make_engine
from builder.engine.reader import Recipe, extract, make_reader
from builder.language.lexicon.folders import Folders
from builder.language.lexicon.rules import load_rules

TESTS = Path(__file__).parent
GOLDEN = TESTS / "golden" / "extract.tsv"
CONVENTIONS: tuple[Convention, ...] = get_args(Convention)
DOMAINS = ("restaurant", "laptop")
LINE = re.compile(r"(?<=\.tsv|toml):\d+")
RENEW = "python tests/test_golden.py > tests/golden/extract.tsv"
Read = tuple[str, tuple[tuple[Triplet, ...], ...]]
"""A text, and its triplets in each convention."""


def read_texts() -> Iterator[Read]:
    """Each text once, as the engine of the first domain reads it that has it: a domain's own reviews and examples."""
    with (TESTS.parent / "builder" / "sample" / "reviews.csv").open(encoding="utf-8", newline="") as file:
        waiting = [row["text"] for row in csv.DictReader(file)]
    known: set[str] = set()
    for domain in DOMAINS:
        rules = load_rules(domain=domain)
        waiting += [example.text for rule in rules for example in rule.examples]
        texts = [text for text in dict.fromkeys(waiting) if text not in known]
        known.update(texts)
        reader = make_reader(Recipe(folders=Folders(domain=domain)))
        engines = [make_engine(reader.lexicon, rules, convention) for convention in CONVENTIONS]
        for text, reading in zip(texts, reader.read(texts), strict=True):
            yield text, tuple(extract(engine, reading) for engine in engines)
        waiting = []


def describe(triplet: Triplet) -> str:
    """All that a triplet says, but for the lines of the files that it names: every new word would move them."""
    reasons = triplet.reasons
    assert reasons and reasons.aspect and reasons.opinion
    words = reasons.aspect.category, reasons.opinion.category
    return LINE.sub("", repr((triplet, reasons.margin, *words, triplet.path, triplet.evidence)))


def digest(said: str) -> str:
    return hashlib.sha256(said.encode()).hexdigest()[:8]


def digests(read: Read) -> tuple[str, ...]:
    """The line of a text."""
    text, found = read
    return digest(text), *(digest("\n".join(map(describe, triplets))) for triplets in found)


def find_difference(read: Sequence[Read], golden: Sequence[Sequence[str]]) -> str | None:
    """What is said of the first text that the engine reads otherwise than the golden lines say, if there is one."""
    lines = {line[0]: tuple(line) for line in golden}
    for text, found in read:
        now = digests((text, found))
        then = lines.pop(now[0], None)
        if then is None:
            return f"{text!r} is new"
        if now != then:
            changed = [i for i in range(len(CONVENTIONS)) if now[i + 1] != then[i + 1]]
            told = (
                f"{text!r}, convention {CONVENTIONS[i]}, has now: "
                + ("\n  ".join(map(describe, found[i])) or "nothing")
                for i in changed
            )
            return "\n".join(told)
    return f"{len(lines)} texts are gone" if lines else None


def golden_lines() -> list[list[str]]:
    return [line.split("\t") for line in GOLDEN.read_text(encoding="utf-8").splitlines()[1:]]


@pytest.fixture(scope="module")
def read() -> list[Read]:
    return list(read_texts())


def test_the_engine_makes_what_it_made(read: list[Read]) -> None:
    difference = find_difference(read, golden_lines())
    assert difference is None, f"{difference}\nIf this is meant: {RENEW}"


def test_a_triplet_less_is_noticed_and_its_text_shown(read: list[Read]) -> None:
    at = next(i for i, (_, found) in enumerate(read) if all(found))
    text, (natural, *others) = read[at]
    changed = [*read[:at], (text, (natural[:-1], *others)), *read[at + 1 :]]
    assert f"{text!r}, convention natural" in str(find_difference(changed, golden_lines()))
    assert "1 texts are gone" in str(find_difference(read[:-1], golden_lines()))
    assert repr(read[0][0]) in str(find_difference(read, golden_lines()[1:]))


if __name__ == "__main__":
    print("text", *CONVENTIONS, sep="\t")
    for one in read_texts():
        print(*digests(one), sep="\t")
