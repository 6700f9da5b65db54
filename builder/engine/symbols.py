"""The kinds of unit that a clause is made of, one character each, and the pattern language over them.

In: names as rules write them (`ASPECT`, `TARGET (ADV|COP)* CURRENT`). Out: their characters, alone or as a set, and
regular expressions over strings of them. `TARGET` is the aspect that a pattern finds, `CURRENT` the opinion that is
paired; `WORD` stands for any unit, `^` and `$` for the edges of the clause.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache

from builder.core.errors import ResourceError

ASPECT = "A"
OPINION = "O"
NEG = "N"
DEG = "D"
POST = "Q"
IRREALIS = "I"
BLOCKED = "t"
NOUN = "n"
VERB = "v"
ADJ = "j"
ADV = "r"
PRON = "p"
NUM = "m"
CONJ = "c"
BUT = "y"
LIST = "l"
PREP = "P"
THAN = "b"
AUX = "u"
PART = "k"
DE = "d"
DEGREE_DE = "e"
COP = "S"
HAVE = "H"
OTHER = "x"

SYMBOLS: Mapping[str, str] = {
    "ASPECT": ASPECT,
    "OPINION": OPINION,
    "NEG": NEG,
    "DEG": DEG,
    "POST": POST,
    "IRREALIS": IRREALIS,
    "BLOCKED": BLOCKED,
    "NOUN": NOUN,
    "VERB": VERB,
    "ADJ": ADJ,
    "ADV": ADV,
    "PRON": PRON,
    "NUM": NUM,
    "CONJ": CONJ,
    "BUT": BUT,
    "LIST": LIST,
    "PREP": PREP,
    "THAN": THAN,
    "AUX": AUX,
    "PART": PART,
    "DE": DE,
    "DEGREE_DE": DEGREE_DE,
    "COP": COP,
    "HAVE": HAVE,
    "OTHER": OTHER,
}
"""Name of a unit in rules -> its character. `CURRENT` (!) and `TARGET` belong to the pattern language (`patterns`)."""

UNIT_KINDS: Mapping[str, str] = {
    "ASPECT": "an aspect of the lexicon: 湯, 服務",
    "OPINION": "an opinion word: 好吃",
    "NEG": "a negator: 不, 沒有",
    "DEG": "a degree word before an opinion: 很, 有點",
    "POST": "a degree word behind one: 死了, 到不行",
    "IRREALIS": "a word of a wish, a condition, the past: 希望, 如果",
    "BLOCKED": "a word that the lexicon keeps from being an aspect: 老公",
    "NOUN": "any other noun",
    "VERB": "a verb",
    "ADJ": "an adjective that no lexicon holds, or an opinion word that judges nothing",
    "ADV": "an adverb",
    "PRON": "a pronoun or determiner",
    "NUM": "a number",
    "CONJ": "a conjunction: 和",
    "BUT": "a word of contrast: 但",
    "LIST": "a mark of a list: 、",
    "PREP": "a preposition",
    "THAN": "比",
    "AUX": "an auxiliary: 會",
    "PART": "a particle: 了",
    "DE": "的",
    "DEGREE_DE": "得",
    "COP": "是",
    "HAVE": "有",
    "OTHER": "anything else",
}
"""Name of a unit in rules -> what it is, for people."""


def symbol_set(names: str) -> frozenset[str]:
    """The characters of units named with blanks between: `symbol_set("NOUN ASPECT")`. KeyError on an unknown name."""
    return frozenset(SYMBOLS[name] for name in names.split())


NOMINALS = symbol_set("NOUN ASPECT")
JUDGING = symbol_set("OPINION ASPECT")
"""Units without which a clause judges nothing."""
JOINERS = symbol_set("CONJ LIST")
"""What stands between the parts of a coordination: 和, 、."""
STATEMENT_ENDS = symbol_set("PART CONJ BUT ADV")
"""What may follow a finished statement: a particle, or the beginning of the next one."""


CURRENT = "!"
_NAMES = {**SYMBOLS, "CURRENT": CURRENT, "WORD": ".", "TARGET": "(?P<target>A)"}
_NAME = re.compile(r"[A-Z_]+")

_SYMBOLS = {symbol: name for name, symbol in SYMBOLS.items()} | {CURRENT: "CURRENT"}


def spell_symbols(symbols: str) -> str:
    """A symbol string in the names that rules use, for people."""
    return " ".join(_SYMBOLS[symbol] for symbol in symbols)


@cache
def compile_pattern(pattern: str, where: str) -> re.Pattern[str]:
    """`pattern` as a regular expression with the group `target`; ResourceError names an unknown unit or a bad
    expression.
    """

    def symbol(match: re.Match[str]) -> str:
        if match[0] not in _NAMES:
            fix = "known: " + ", ".join(sorted(_NAMES))
            raise ResourceError(f"unknown unit {match[0]!r} in pattern {pattern!r}", where=where, fix=fix)
        return _NAMES[match[0]]

    try:
        return re.compile(_NAME.sub(symbol, pattern).replace(" ", ""))
    except (re.error, RecursionError, OverflowError) as error:
        raise ResourceError(f"pattern {pattern!r}: {error}", where=where) from error
