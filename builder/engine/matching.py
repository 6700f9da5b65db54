"""The one matcher of rules: patterns over the units of a clause, with classes of words and properties of units.

In: rules of an action with `patterns`, `unless` and `words`; a lexicon. Out: a `Matcher`, which names the rules that
hold of an opinion, or bars the aspects that they hold of. Pure.

A unit is a row of as many characters as the rules have columns: its kind, whether it touches the unit before it, what
the opinion is, and one column for each class of words that some rule names. So a unit may be of many classes at once,
every pattern is one regular expression over the same line, and a class that stands in several rules costs once. Rules
are found by the opinion's word, or by a word that they cannot do without, so that the others cost nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from itertools import pairwise, product
from typing import NamedTuple

from builder.core.errors import ResourceError
from builder.engine.constituents import Constituent, Phrase, bar_aspect
from builder.engine.symbols import ASPECT, NEG, SYMBOLS
from builder.engine.vocabulary import Unit
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
_TOUCH, _STATE, _FIRST = 1, 2, 3
"""Columns behind that of the kind."""
_FACTOR = r"(?:[A-Z_]+|\[\^?[A-Z_ ]+\])"
_ATOM = re.compile(rf"{_FACTOR}(?:&{_FACTOR})*")
_CACHE = 100_000
"""Words whose rows are kept."""
RESERVED = {*SYMBOLS, *OPINION_STATES, *UNIT_PROPERTIES, "WORD"}
"""Names that no class of words may have."""
_OPTIONAL = frozenset("?*{")
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


class Refusal(NamedTuple):
    """An opinion that judges nothing where it stands or is not stated, with its degree words and negators, or an aspect
    of which nothing is said, and the rules that say so; the first of them decides.
    """

    start: int
    end: int
    rules: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class WordsRule:
    """Parameters of a rule of kind `words`: classes of words that every rule that matches units may name."""

    words: Mapping[str, tuple[str, ...]]


class _Pattern(NamedTuple):
    """A pattern made ready. `here`: it begins with the opinion. `about`: the columns one of which the opinion has, none
    if any opinion will do. `anchors`: columns one of which some unit of each match has, none if no one is needed.
    """

    expression: re.Pattern[str]
    here: bool
    about: frozenset[int]
    anchors: frozenset[int]

    def holds(self, line: str, at: int) -> bool:
        return self.expression.match(line, at if self.here else 0) is not None


class _Matched(NamedTuple):
    """A rule made ready."""

    name: str
    patterns: tuple[_Pattern, ...]
    unless: tuple[_Pattern, ...]

    def holds(self, line: str, at: int) -> bool:
        return any(p.holds(line, at) for p in self.patterns) and not any(p.holds(line, at) for p in self.unless)


class _Known(NamedTuple):
    """What is kept of a word: its columns of classes, and the rules that it leads to as the opinion and beside it."""

    row: str
    about: tuple[int, ...]
    beside: tuple[int, ...]


class Matcher:
    """The rules of one action, in their order."""

    def __init__(self, action: str, rules: Sequence[tuple[Rule, MatchRule]], shared: Classes, lexicon: Lexicon) -> None:
        """`shared`: classes of words that every rule may name beside its own.

        ResourceError names a pattern that cannot be read, a class that is empty, or one whose name is taken.
        """
        self._focus = FOCUS[action]
        self._lexicon = lexicon
        classes = [(rule, params, {**shared, **params.words}) for rule, params in rules]
        for rule, params, _ in classes:
            _check_words(rule, params)
        named = [sorted(own[name]) for _, params, own in classes for name in sorted(_find_names(params) & own.keys())]
        columns = dict.fromkeys([*map(tuple, named), _ECHO, _SINGLE, _GOOD])
        self._columns = {words: column for column, words in enumerate(columns, start=_FIRST)}
        self._width = len(self._columns) + _FIRST
        self._tests = {column: _read_class(words, lexicon) for words, column in self._columns.items()}
        self._rules = tuple(self._compile(*known) for known in classes)
        self._pairs = self._find_pairs()
        self._known: dict[object, _Known] = {}

    def find(self, units: Sequence[Unit], first: int, k: int) -> str | None:
        """The first rule that holds of opinion k, whose phrase begins at unit `first`; None if none does."""
        return next(self.find_all(units, first, k), None)

    def find_all(self, units: Sequence[Unit], first: int, k: int) -> Iterator[str]:
        """The names of the rules that hold of opinion k, in their order."""
        known = [self._look_up(unit.word, unit.entry, unit.entry is None) for unit in units]
        places = {place for word in known for place in word.beside}.union(known[k].about)
        if places:
            state = "p" if first == k else "n" if any(unit.symbol == NEG for unit in units[first:k]) else "d"
            yield from self._hold_of(units, known, places, k, state)

    def find_phrase(self, items: Sequence[Constituent], k: int) -> str | None:
        """The first rule that holds of the opinion phrase k of a clause; None if none does."""
        known = [self._look_up(item.word, item.phrase and item.phrase.entry, True) for item in items]
        places = {place for word in known for place in word.beside}.union(known[k].about)
        phrase = items[k].phrase
        if not places or phrase is None:
            return None
        return next(self._hold_of(items, known, places, k, _describe_phrase(phrase)), None)

    def _hold_of(
        self, units: Sequence[Unit | Constituent], known: Sequence[_Known], places: Set[int], k: int, state: str
    ) -> Iterator[str]:
        """Those of the rules `places` that hold of opinion k."""
        if k and units[k - 1].symbol == ASPECT and units[k - 1].end == units[k].start:
            state = state.upper()
        rows = self._spell(units, known)
        rows[k] = rows[k][:_STATE] + state + rows[k][_FIRST:]
        line = "".join(rows)
        for place in sorted(places):
            if self._rules[place].holds(line, k * self._width):
                yield self._rules[place].name

    def bar_aspects(self, items: list[Constituent], refused: list[Refusal] | None = None) -> list[Constituent]:
        """The constituents of a clause, with each aspect that a rule holds of as a plain noun; it is added to
        `refused`.
        """
        known = [self._look_up(item.word, item.phrase and item.phrase.entry, True) for item in items]
        pairs = [self._pairs.get((a.word, b.word), ()) if a.end == b.start else () for a, b in pairwise(items)]
        places = {place for word in known for place in word.beside}
        places.update(*(word.about for item, word in zip(items, known, strict=True) if item.symbol == ASPECT))
        places.update(place for columns in pairs for column in columns for place in self._beside(frozenset({column})))
        for place in sorted(places):
            rows = self._spell(items, known)
            for i, columns in enumerate(pairs, start=1):
                for column in columns:
                    rows[i] = rows[i][:column] + "1" + rows[i][column + 1 :]
            for i, item in enumerate(items):
                if item.phrase is not None:
                    rows[i] = rows[i][:_STATE] + _describe_phrase(item.phrase) + rows[i][_FIRST:]
            barred = [i for i, item in enumerate(items) if item.symbol == ASPECT and self._holds(place, rows, i)]
            if refused is not None:
                refused += [Refusal(items[i].start, items[i].end, (self._rules[place].name,)) for i in barred]
            if barred:
                items = [bar_aspect(item) if i in barred else item for i, item in enumerate(items)]
        return items

    def _holds(self, place: int, rows: Sequence[str], i: int) -> bool:
        """Whether a rule holds of aspect i."""
        marked = rows[i][:_STATE] + "t" + rows[i][_FIRST:]
        return self._rules[place].holds("".join([*rows[:i], marked, *rows[i + 1 :]]), i * self._width)

    def _spell(self, units: Sequence[Unit | Constituent], known: Sequence[_Known]) -> list[str]:
        """A row for each unit."""
        touching = ["-", *("+" if a.end == b.start else "-" for a, b in pairwise(units))]
        rows = [u.symbol + touch + "_" + word.row for u, touch, word in zip(units, touching, known, strict=True)]
        echo = self._columns[_ECHO]
        for i in range(2, len(units)):
            if units[i].word.startswith(units[i - 2].word):
                rows[i] = rows[i][:echo] + "1" + rows[i][echo + 1 :]
        return rows

    def _look_up(self, word: str, entry: OpinionEntry | None, is_plain: bool) -> _Known:
        key = word if entry is None else (word, entry, is_plain)
        known = self._known.get(key)
        if known is None:
            if len(self._known) >= _CACHE:
                self._known.clear()
            known = self._known[key] = self._know(word, entry, is_plain)
        return known

    def _know(self, word: str, entry: OpinionEntry | None, is_plain: bool) -> _Known:
        entry = entry or self._lexicon.opinions.get(word.lower())
        columns = frozenset(column for column, test in self._tests.items() if test(word, entry))
        row = "".join("1" if column in columns else "0" for column in range(_FIRST, self._width))
        about = [
            place
            for place, rule in enumerate(self._rules if is_plain else ())
            if any(not p.about.isdisjoint(columns) or not p.about | p.anchors for p in rule.patterns)
        ]
        return _Known(row, tuple(about), tuple(self._beside(columns)))

    def _beside(self, columns: frozenset[int]) -> Iterator[int]:
        """The rules that need a word of one of some columns, whatever word they are about."""
        for place, rule in enumerate(self._rules):
            if any(not p.about and not p.anchors.isdisjoint(columns) for p in rule.patterns):
                yield place

    def _find_pairs(self) -> Mapping[tuple[str, str], Sequence[int]]:
        """Two words that are one of a class where they touch -> its columns: 每 個 is 每個."""
        pairs: dict[tuple[str, str], list[int]] = {}
        for words, column in self._columns.items():
            for word in [word[1:] for word in words if word[0] == "+"]:
                for cut in range(1, len(word)):
                    pairs.setdefault((word[:cut], word[cut:]), []).append(column)
        return pairs

    # ---- Compiling

    def _compile(self, rule: Rule, params: MatchRule, classes: Classes) -> _Matched:
        """A rule made ready."""
        return _Matched(
            rule.name,
            tuple(self._compile_pattern(pattern, classes, rule.at("patterns")) for pattern in params.patterns),
            tuple(self._compile_pattern(pattern, classes, rule.at("unless")) for pattern in params.unless),
        )

    def _compile_pattern(self, pattern: str, classes: Classes, where: str) -> _Pattern:
        about: list[frozenset[int]] = []
        anchors: list[frozenset[int]] = []

        def spell_atom(match: re.Match[str]) -> str:
            atom = [self._read_factor(text, classes, pattern, where) for text in match[0].split("&")]
            rows = [_join_rows(rows) for rows in product(*atom)]
            columns = [column for factor in atom if (column := _find_columns(factor))]
            if not self._focus.isdisjoint(match[0].split("&")):
                about.append(columns[0] if columns else frozenset())
            elif columns and _is_needed(pattern, match):
                anchors.append(columns[0])
            return "(?:" + "|".join(self._spell_row(row) for row in rows) + ")"

        body = _ATOM.sub(spell_atom, pattern).replace(" ", "")
        first = _ATOM.match(pattern)
        here = first is not None and "|" not in pattern and not self._focus.isdisjoint(first[0].split("&"))
        try:
            expression = re.compile(body if here else f"(?:.{{{self._width}}})*?(?:{body})")
        except (re.error, RecursionError, OverflowError) as error:
            raise ResourceError(f"pattern {pattern!r}: {error}", where=where) from error
        if not about:
            fix = "name one of " + ", ".join(sorted(self._focus))
            raise ResourceError(f"pattern {pattern!r} does not name what it is about", where=where, fix=fix)
        own = frozenset[int]().union(*about) if all(about) else frozenset[int]()
        return _Pattern(expression, here, own, anchors[0] if anchors else frozenset())

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
            return _STATE, OPINION_STATES[name][0]
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
        return f"{out}.{{{self._width - at}}}"


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


def _find_columns(factor: Sequence[_Row]) -> frozenset[int]:
    """The columns of classes one of which a unit has by a factor; none where it needs no class."""
    columns = frozenset(column for row in factor for column in row)
    negated = any(characters[1] == "^" for row in factor for characters in row.values())
    return frozenset() if negated or min(columns) < _FIRST else columns


def _describe_phrase(phrase: Phrase) -> str:
    """The state of an opinion beside the aspect in question."""
    if phrase.kinds:
        return "n"
    return "l" if "low" in phrase.degrees else "d" if phrase.degrees else "p"


def _is_needed(pattern: str, match: re.Match[str]) -> bool:
    """Whether each match of a pattern has the unit of an atom: it is in no group, no alternative, nor optional."""
    before, behind = pattern[: match.start()], pattern[match.end() : match.end() + 1]
    return "|" not in _strip_groups(pattern) and before.count("(") == before.count(")") and behind not in _OPTIONAL


def _strip_groups(pattern: str) -> str:
    """A pattern without what stands in brackets."""
    while (stripped := re.sub(r"\([^()]*\)", "", pattern)) != pattern:
        pattern = stripped
    return pattern


def _read_class(words: tuple[str, ...], lexicon: Lexicon) -> Callable[[str, OpinionEntry | None], bool]:
    """Whether a word, with its entry as an opinion, is of a class."""
    if words == _ECHO:
        return lambda word, entry: False  # a matter of its place
    if words == _SINGLE:
        return lambda word, entry: len(word) == 1
    if words == _GOOD:
        return lambda word, entry: entry is not None and entry.valence >= 5
    begins = tuple(word[:-1] for word in words if word[-1] == "…")
    ends = tuple(word[1:] for word in words if word[0] == "…")
    kinds = frozenset(word.removeprefix("irrealis:") for word in words if word.startswith("irrealis:"))
    turns = frozenset(word.removeprefix("contrast:") for word in words if word.startswith("contrast:"))
    roles = frozenset(word.removeprefix("role:") for word in words if word.startswith("role:"))
    categories = tuple(word.removeprefix("category:") for word in words if word.startswith("category:"))
    classes = tuple(word[1:] for word in words if word[0] == "@")
    plain = frozenset(word.lstrip("+") for word in words)

    def is_of_class(word: str, entry: OpinionEntry | None) -> bool:
        if word in plain or word.startswith(begins) or word.endswith(ends):
            return True
        if lexicon.irrealis.get(word) in kinds or lexicon.contrast.get(word) in turns:
            return True
        if entry is not None and entry.category.startswith(categories):
            return True
        aspect = lexicon.aspects.get(word.lower()) if roles or classes else None
        return aspect is not None and (lexicon.classes.get(aspect.cls, "") in roles or aspect.cls.startswith(classes))

    return is_of_class
