"""`builder words lexicon diff`: what one lexicon says otherwise than another.

In: two loaded lexicons. Out: a `WordDifference` for each word of each table that was added, removed or changed, in the
order of TABLES and of the words.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from builder.language.lexicon.resources import AspectEntry, Lexicon, OpinionEntry

Change = Literal["added", "removed", "changed"]


@dataclass(frozen=True, slots=True)
class WordDifference:
    """A word of a table and what is said of it before and after; empty where nothing is."""

    change: Change
    table: str
    word: str
    before: str
    after: str
    where: str


def compare_lexicons(before: Lexicon, after: Lexicon) -> Iterator[WordDifference]:
    """Every difference between two lexicons. `where` is the file and line of the later entry, or of the one removed."""
    for table, old in _tables(before).items():
        new = _tables(after)[table]
        for word in sorted(old.keys() | new.keys()):
            (was, first), (now, last) = old.get(word, ("", "")), new.get(word, ("", ""))
            if was != now:
                change: Change = "added" if word not in old else "removed" if word not in new else "changed"
                yield WordDifference(change, table, word, was, now, last or first)


def _tables(lexicon: Lexicon) -> dict[str, dict[str, tuple[str, str]]]:
    """By table and word: what is said, and where."""
    plain: dict[str, Mapping[str, str]] = {
        "degree": lexicon.degree,
        "negators": lexicon.negators,
        "irrealis": lexicon.irrealis,
        "contrast": lexicon.contrast,
        "general": lexicon.general,
        "not_aspects": lexicon.not_aspects,
        "morphemes": lexicon.morphemes,
    }
    return {
        "opinions": {word: (_opinion(entry), entry.where) for word, entry in lexicon.opinions.items()},
        "aspects": {word: (_aspect(entry), entry.where) for word, entry in lexicon.aspects.items()},
        "opinion_categories": {name: (f"{value:g}", "") for name, value in lexicon.categories.items()},
        "aspect_classes": {name: (role, "") for name, role in lexicon.classes.items()},
        "context": {
            word: ("; ".join(f"{aspect} {valence:g}" for aspect, valence in rows), "")
            for word, rows in lexicon.context.items()
        },
    } | {name: {word: (value, "") for word, value in words.items()} for name, words in plain.items()}


def _opinion(entry: OpinionEntry) -> str:
    return f"{entry.category} ({entry.valence:g})"


def _aspect(entry: AspectEntry) -> str:
    return entry.cls
