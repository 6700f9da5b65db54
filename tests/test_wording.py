"""Counts with their nouns, in the helper and in what commands say of one thing."""

from __future__ import annotations

import re

import pytest
from conftest import ROOT

from builder.core.wording import counted, plural


@pytest.mark.parametrize(
    ("number", "noun", "text"),
    [
        (1, "review", "1 review"), (0, "review", "0 reviews"), (2000, "gold review", "2,000 gold reviews"),
        (2, "entry", "2 entries"), (1, "entry", "1 entry"), (2, "day", "2 days"), (3, "match", "3 matches"),
    ],
)  # fmt: skip
def test_a_count_takes_the_number_of_its_noun(number: int, noun: str, text: str) -> None:
    assert counted(number, noun) == text


def test_what_commands_print_never_counts_a_noun_of_its_own() -> None:
    """`{len(x)} reviews` says "1 reviews" one day; `counted` does not."""
    nouns = "|".join(plural(noun) for noun in ("review", "triplet", "candidate", "label", "row", "file", "worker"))
    lone = re.compile(rf"\{{(?:len\([^{{}}]*\)|[^{{}}]*:,)\}} (?:{nouns})\b")
    # how many rows are shown at most, which is more than one
    allowed = {"only the first {most:,} rows are shown"}
    faults = [
        f"{path.name}:{number}"
        for path in sorted((ROOT / "builder" / "cli").glob("*.py"))
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if lone.search(line) and not any(words in line for words in allowed)
    ]
    assert faults == []
