"""Rows of characters for the units of a clause, and patterns over them.

A unit is a row of as many characters as the rules have columns: its kind, whether it touches the unit before it, what
the opinion is, and one column for each class of words that some rule names. So a unit may be of many classes at once,
every pattern is one regular expression over the same line, and a class that stands in several rules costs once.

In: rules with their classes of words, a lexicon. Out: `Columns`, with the patterns of the rules made ready. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from itertools import product
from operator import or_
from typing import NamedTuple

from builder.core.errors import ResourceError
from builder.engine.symbols import SYMBOLS
from builder.language.lexicon.resources import Lexicon, OpinionEntry
from builder.language.lexicon.rules import Rule

OPINION_STATES: Mapping[str, tuple[str, str]] = {
    "CURRENT": ("pdnlPDNL", "the opinion in question"),
    "PLAIN": ("pP", "it, without a degree word or negator"),
    "GRADED": ("dnlDNL", "it, with one"),
    "DENIED": ("nN", "it, with a negator; where an aspect is in question, any opinion with one"),
    "PREDICATE": ("PDNL", "it, right behind an aspect that it touches"),
    "LOW": ("lL", "an opinion with a word for a bit of it"),
    "TARGET": ("t", "the aspect in question"),
}
"""Names of what is in question -> the characters of its column, and what they say."""
_OPINION = frozenset({"CURRENT", "PLAIN", "GRADED", "DENIED", "PREDICATE"})
FOCUS: Mapping[str, frozenset[str]] = {
    "refuse-opinion": _OPINION,
    "refuse-aspect": frozenset({"TARGET"}),
    "unstate-opinion": _OPINION,
}
"""Action -> the names of what it is about, one of which every pattern has."""
UNIT_PROPERTIES: Mapping[str, str] = {
    "TOUCHING": "a unit that touches the one before it",
    "ECHO": "one that begins with the word two units before it (新 不 新鮮)",
    "SINGLE": "a word of one character",
    "GOOD": "an opinion that does not blame, its valence 5 or more",
}
"""Names that hold of a unit of any kind, and what they say."""
_ECHO, _SINGLE, _GOOD = ("ECHO",), ("SINGLE",), ("GOOD",)
_TOUCH, STATE, FIRST = 1, 2, 3
"""Columns behind that of the kind."""
_FACTOR = r"(?:[A-Z_]+|\[\^?[A-Z_ ]+\])"
_ATOM = re.compile(rf"{_FACTOR}(?:&{_FACTOR})*")
RESERVED = {*SYMBOLS, *OPINION_STATES, *UNIT_PROPERTIES, "WORD"}
"""Names that no class of words may have."""
_OPTIONAL = frozenset("?*{")
_PREFIXES = ("role:", "category:", "irrealis:", "contrast:")
"""Marks of entries that name no word."""
Classes = Mapping[str, Collection[str]]
"""Name -> the words of a class."""
_Row = Mapping[int, str]
"""Column -> what its character must match."""


@dataclass(frozen=True, slots=True)
class MatchRule:
    """Parameters of a rule that matches units: it holds where one of `patterns` does, and none of `unless`.

    Both name units, properties and the classes of `words`: words as they are, or read as two units where an aspect is
    in question (`+沒點`), beginnings (`一…`), endings (`…味`), classes of aspects (`@staff`), roles of aspects
    (`role:person`), categories of opinions (`category:taste`), kinds of irrealis.tsv and contrast.tsv
    (`irrealis:wish`, `contrast:but`).
    """

    patterns: tuple[str, ...]
    unless: tuple[str, ...] = ()
    words: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


class Pattern(NamedTuple):
    """A pattern made ready. `here`: it begins with what it is about. `about`: the columns one of which that has, none
    if it may be any word. `needs`: for each class that a match needs a word of, its columns. Both as bits.
    """

    expression: re.Pattern[str]
    here: bool
    about: int
    needs: tuple[int, ...]

    def holds(self, line: str, at: int) -> bool:
        """Whether it holds of the unit at `at` of a line."""
        return self.expression.match(line, at if self.here else 0) is not None


class Columns:
    """The columns of the rows of units, and the patterns of rules over them."""

    def __init__(
        self, focus: frozenset[str], rules: Sequence[tuple[Rule, MatchRule, Classes]], lexicon: Lexicon
    ) -> None:
        """`focus`: the names of what the rules are about.

        ResourceError names a pattern that cannot be read, a class that is empty, or one whose name is taken.
        """
        self._focus = focus
        for rule, params, _ in rules:
            _check_words(rule, params)
        named = [sorted(own[name]) for _, params, own in rules for name in sorted(_find_names(params) & own.keys())]
        columns = dict.fromkeys([*map(tuple, named), _ECHO, _SINGLE, _GOOD])
        self._columns = {words: column for column, words in enumerate(columns, start=FIRST)}
        self._lexicon = lexicon
        self._marked = {mark: self._collect(mark) for mark in ("", "…_", "_…", "@", *_PREFIXES)}
        self.width = len(self._columns) + FIRST
        self.echo = self._columns[_ECHO]
        self.pairs = self._find_pairs()
        self.firsts = frozenset(first for first, _ in self.pairs)
        self.patterns = [
            (
                tuple(self._compile_pattern(pattern, own, rule.at("patterns")) for pattern in params.patterns),
                tuple(self._compile_pattern(pattern, own, rule.at("unless")) for pattern in params.unless),
            )
            for rule, params, own in rules
        ]

    def find(self, word: str, entry: OpinionEntry | None) -> int:
        """The columns of the classes that a word is of, as bits; `entry`: its own as an opinion."""
        lexicon, marked = self._lexicon, self._marked
        columns = marked[""].get(word, 0)
        for end in range(1, len(word) + 1):
            columns |= marked["_…"].get(word[:end], 0) | marked["…_"].get(word[-end:], 0)
        columns |= marked["irrealis:"].get(lexicon.irrealis.get(word, ""), 0)
        columns |= marked["contrast:"].get(lexicon.contrast.get(word, ""), 0)
        if aspect := lexicon.aspects.get(word.lower()):
            columns |= marked["role:"].get(lexicon.classes.get(aspect.cls, ""), 0)
            columns |= reduce(or_, [bits for cls, bits in marked["@"].items() if aspect.cls.startswith(cls)], 0)
        if entry is not None:
            known = [bits for prefix, bits in marked["category:"].items() if entry.category.startswith(prefix)]
            columns |= reduce(or_, known, (entry.valence >= 5) << self._columns[_GOOD])
        return columns | (len(word) == 1) << self._columns[_SINGLE]

    def _collect(self, mark: str) -> dict[str, int]:
        """What entries with a mark name -> the columns of their classes, as bits."""
        out: dict[str, int] = {}
        for words, column in self._columns.items():
            for word in words:
                if _find_mark(word) == mark:
                    name = word.strip("…@").removeprefix("+").removeprefix(mark)
                    out[name] = out.get(name, 0) | 1 << column
        return out

    def _find_pairs(self) -> Mapping[tuple[str, str], int]:
        """Two words that are one of a class where they touch -> its columns, as bits: 每 個 is 每個."""
        pairs: dict[tuple[str, str], int] = {}
        for words, column in self._columns.items():
            for word in [word[1:] for word in words if word[0] == "+"]:
                for cut in range(1, len(word)):
                    pair = word[:cut], word[cut:]
                    pairs[pair] = pairs.get(pair, 0) | 1 << column
        return pairs

    def _compile_pattern(self, pattern: str, classes: Classes, where: str) -> Pattern:
        about: list[int] = []
        needs: list[int] = []

        def spell_atom(match: re.Match[str]) -> str:
            atom = [self._read_factor(text, classes, pattern, where) for text in match[0].split("&")]
            rows = [_join_rows(rows) for rows in product(*atom)]
            columns = [bits for factor in atom if (bits := _find_columns(factor)) and not bits >> self.echo & 1]
            if not self._focus.isdisjoint(match[0].split("&")):
                about.append(columns[0] if columns else 0)
            elif columns and _is_needed(pattern, match):
                needs.extend(columns)
            return "(?:" + "|".join(self._spell_row(row) for row in rows) + ")"

        body = _ATOM.sub(spell_atom, pattern).replace(" ", "")
        first = _ATOM.match(pattern)
        here = first is not None and "|" not in pattern and not self._focus.isdisjoint(first[0].split("&"))
        try:
            expression = re.compile(body if here else f"(?:.{{{self.width}}})*?(?:{body})")
        except (re.error, RecursionError, OverflowError) as error:
            raise ResourceError(f"pattern {pattern!r}: {error}", where=where) from error
        if not about:
            fix = "name one of " + ", ".join(sorted(self._focus))
            raise ResourceError(f"pattern {pattern!r} does not name what it is about", where=where, fix=fix)
        return Pattern(expression, here, reduce(or_, about) if all(about) else 0, tuple(needs))

    def _read_factor(self, text: str, classes: Classes, pattern: str, where: str) -> Sequence[_Row]:
        """The rows of which a unit must be one to be what `text` says: a name, a set, or one that is negated."""
        by_column: dict[int, str] = {}
        for name in text.strip("[^]").split():
            column, characters = self._place(name, classes, pattern, where)
            by_column[column] = by_column.get(column, "") + characters
        if text.startswith("[^"):
            return [{column: f"[^{characters}]" for column, characters in by_column.items()}]
        return [{column: f"[{characters}]"} for column, characters in by_column.items()]

    def _place(self, name: str, classes: Classes, pattern: str, where: str) -> tuple[int, str]:
        """The column of a name, and the characters that it may have there."""
        if name in OPINION_STATES:
            return STATE, OPINION_STATES[name][0]
        if name == "TOUCHING":
            return _TOUCH, "+"
        if name == "WORD":
            return 0, "".join(SYMBOLS.values())
        if name in SYMBOLS:
            return 0, SYMBOLS[name]
        column = self._columns.get(tuple(sorted(classes.get(name, (name,)))))
        if column is None:
            fix = "known: " + ", ".join(sorted(RESERVED | classes.keys()))
            raise ResourceError(f"unknown unit {name!r} in pattern {pattern!r}", where=where, fix=fix)
        return column, "1"

    def _spell_row(self, row: _Row) -> str:
        """A row as an expression of the width of a unit."""
        out, at = "", 0
        for column in sorted(row):
            out += f".{{{column - at}}}{row[column]}"
            at = column + 1
        return f"{out}.{{{self.width - at}}}"


def _find_mark(word: str) -> str:
    """The mark of an entry of a class: `_…` of `一…`, `…_` of `…味`, `role:` of `role:person`; empty of a word."""
    if word[0] == "…" or word[-1] == "…":
        return "…_" if word[0] == "…" else "_…"
    return "@" if word[0] == "@" else next((prefix for prefix in _PREFIXES if word.startswith(prefix)), "")


def _check_words(rule: Rule, params: MatchRule) -> None:
    """ResourceError on an empty word, and on a class with the name of a unit."""
    for name, words in params.words.items():
        if name in RESERVED:
            raise ResourceError(f"rule {rule.name!r}: {name} is a unit", where=rule.at("words"), fix="rename the class")
        if not words or not all(word.strip("…@+") for word in words):
            raise ResourceError(
                f"rule {rule.name!r}: {name} has an empty word", where=rule.at("words"), fix="remove it"
            )


def _find_names(params: MatchRule) -> set[str]:
    """The names that the patterns of a rule hold."""
    return {name for pattern in (*params.patterns, *params.unless) for name in re.findall("[A-Z_]+", pattern)}


def _join_rows(rows: Sequence[_Row]) -> _Row:
    """The row that all of `rows` are."""
    out: dict[int, str] = {}
    for row in rows:
        for column, characters in row.items():
            out[column] = f"(?={out[column]}){characters}" if column in out else characters
    return out


def _find_columns(factor: Sequence[_Row]) -> int:
    """The columns of classes one of which a unit has by a factor, as bits; none where it needs no class. That of ECHO
    tells nothing of a word.
    """
    columns = {column for row in factor for column in row}
    negated = any(characters[1] == "^" for row in factor for characters in row.values())
    return 0 if negated or min(columns) < FIRST else sum(1 << column for column in columns)


def _is_needed(pattern: str, match: re.Match[str]) -> bool:
    """Whether each match of a pattern has the unit of an atom: it is in no group, no alternative, nor optional."""
    before, behind = pattern[: match.start()], pattern[match.end() : match.end() + 1]
    return "|" not in _strip_groups(pattern) and before.count("(") == before.count(")") and behind not in _OPTIONAL


def _strip_groups(pattern: str) -> str:
    """A pattern without what stands in brackets."""
    while (stripped := re.sub(r"\([^()]*\)", "", pattern)) != pattern:
        pattern = stripped
    return pattern
