"""A first draft of a rule, from a sentence and the triplet that it should give.

In: the clauses of the sentence as the engine of a working directory reads them. Out: a `Rule`, which pairs the two
words as they stand here where both are read, and else makes the opinion of its words. A person makes it general.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from builder.core.errors import ConfigError
from builder.core.records import surface
from builder.engine.constituents import Constituent, ReadClause
from builder.engine.engine import Engine
from builder.engine.reader import Reading, Recipe, make_reader
from builder.engine.symbols import spell_symbols
from builder.engine.units import lower_case
from builder.language.lexicon.folders import folders_in
from builder.language.lexicon.resources import Lexicon
from builder.language.lexicon.rules import Rule, RuleExample, write_rule
from builder.reviews.script import script_of
from builder.reviews.text import from_source, read_part, view

_CATEGORIES = {"POS": "eval.good", "NEG": "eval.bad", "NEU": "ordinary.neutral"}
"""Polarity -> a category of opinions that has it."""
_NAMES = ("FIRST", "SECOND", "THIRD", "FOURTH", "FIFTH", "SIXTH", "SEVENTH", "EIGHTH")
"""Classes of the words of an opinion, in their order."""
_ORDER = {"pair-pattern": 50, "predicate": 9}


def draft_rule(text: str, triplet: str, clauses: Sequence[ReadClause]) -> Rule:
    """The draft for a text and its `aspect|opinion|polarity`.

    ConfigError where that is no triplet, where the text lacks the aspect, or where no clause has both words, nor the
    opinion as words of its own.
    """
    aspect, opinion, polarity = [*triplet.split("|"), "", ""][:3]
    if not aspect or not opinion or polarity not in _CATEGORIES or triplet.count("|") != 2:
        raise ConfigError(f"{triplet!r} is no triplet", where="TRIPLET", fix='write "aspect|opinion|POS", NEG or NEU')
    fix, shown = "write both as the sentence has them", lower_case(text)
    if aspect.lower() not in shown:
        raise ConfigError(f"the sentence has no {aspect!r}", where="TRIPLET", fix=fix)
    for items in (clause.items for clause in clauses):
        named = next((item for item in items if item.term and item.word == aspect.lower()), None)
        judging = next((item for item in items if _makes_opinion(item, shown, opinion.lower())), None)
        if named and judging:
            return _make_rule("pair-pattern", text, triplet, {"pattern": _spell_pattern(items, named, judging)})
    for items in (clause.items for clause in clauses):
        run = _find_run(items, shown, opinion.lower())
        if len(run) > len(_NAMES):
            fix = f"name an opinion of {len(_NAMES)} words or fewer"
            raise ConfigError(f"{opinion!r} has {len(run)} words", where="TRIPLET", fix=fix)
        if run and not (len(run) == 1 and run[0].phrase):
            return _make_rule("predicate", text, triplet, _describe_words(run, polarity))
    raise ConfigError(f"no clause has {aspect!r} and {opinion!r} as words", where="TRIPLET", fix=fix)


def _makes_opinion(item: Constituent, text: str, opinion: str) -> bool:
    """Whether an opinion is said by an opinion phrase: by its core, with its negators and what else it has (不太舒適:
    不舒適).
    """
    if item.phrase is None or item.phrase.entry.word not in opinion:
        return False
    characters = iter(surface(text, (*item.phrase.negators, (item.start, item.end))))
    return all(character in characters for character in opinion)


def _find_run(items: Sequence[Constituent], text: str, opinion: str) -> list[Constituent]:
    """The constituents of a clause that together are the opinion."""
    start = text.find(opinion, items[0].start)
    run = [item for item in items if start <= item.start and item.end <= start + len(opinion)]
    return run if "".join(item.word for item in run) == opinion else []


def _spell_pattern(items: Sequence[Constituent], aspect: Constituent, opinion: Constituent) -> str:
    """The units from one to the other."""
    ends = sorted((items.index(aspect), items.index(opinion)))
    between = spell_symbols("".join(item.symbol for item in items[ends[0] + 1 : ends[1]]))
    names = ("TARGET", "CURRENT") if aspect.start < opinion.start else ("CURRENT", "TARGET")
    return " ".join(part for part in (names[0], between, names[1]) if part)


def _describe_words(run: Sequence[Constituent], polarity: str) -> Mapping[str, object]:
    """The parameters of a rule that makes one opinion of words, each with a class of its own."""
    names = _NAMES[: len(run)]
    return {
        "pattern": " ".join(names),
        "category": _CATEGORIES[polarity],
        "words": {name: [item.word] for name, item in zip(names, run, strict=True)},
    }


def _make_rule(kind: str, text: str, triplet: str, params: Mapping[str, object]) -> Rule:
    whole = MappingProxyType({"conventions": ["natural"], **params})
    example = RuleExample(text, (triplet,), must=True)
    return Rule("my-rule", kind, _ORDER[kind], f"{text}: say what holds in general.", whole, (example,), "", {}, whole)


def draft(workdir: Path, text: str, triplet: str) -> str:
    """A first draft of a rule by which a text gives `aspect|opinion|polarity`, as a table of TOML.

    ConfigError where the triplet is none of the text.
    """
    reader = make_reader(Recipe(folders=folders_in(workdir)))
    (reading,) = reader.read([text])
    assert isinstance(reader.engine, Engine)
    shown = "|".join(_show_part(part, reading, reader.lexicon) for part in triplet.split("|"))
    return write_rule(draft_rule(reading.view.text, shown, reader.engine.read(reading.doc)))


def _show_part(part: str, reading: Reading, lexicon: Lexicon) -> str:
    """A part of a triplet as the view of its sentence has it, or would have it (不舒適 of 不太舒適)."""
    start = reading.text.find(part)
    if start >= 0 and (spans := from_source(reading.view, [(start, start + len(part))])):
        return reading.view.text[slice(*spans[0])]
    return view(part, lexicon.variants, script_of(read_part(reading.text))).text
