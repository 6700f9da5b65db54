"""The kinds of unit that a clause is made of, one character each, and the pattern language over them.

In: names as rules write them (`ASPECT`, `TARGET (ADV|COP)* CURRENT`). Out: their characters, alone or as a set, and
regular expressions over strings of them. `TARGET` is the aspect that a pattern finds, `TARGET_NOUN` a noun that it
takes for one, `CURRENT` the opinion that is paired. `WORD` stands for any unit, `^` and `$` for the edges of the
clause.
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
BUT = "y"
PART = "k"
DE = "d"
COP = "S"
HAVE = "H"
OTHER = "x"

_KINDS: Mapping[str, tuple[str, str]] = {
    "ASPECT": (ASPECT, "an aspect of the lexicon: 湯, 服務"),
    "OPINION": (OPINION, "an opinion word: 好吃"),
    "NEG": (NEG, "a negator: 不, 沒有"),
    "DEG": (DEG, "a degree word before an opinion: 很, 有點"),
    "POST": (POST, "a degree word behind one: 死了, 到不行"),
    "IRREALIS": (IRREALIS, "a word of a wish, a condition, the past: 希望, 如果"),
    "BLOCKED": (BLOCKED, "a word that the lexicon keeps from being an aspect: 老公"),
    "NOUN": (NOUN, "any other noun"),
    "VERB": (VERB, "a verb"),
    "ADJ": (ADJ, "an adjective that no lexicon holds, or an opinion word that judges nothing"),
    "ADV": (ADV, "an adverb"),
    "PRON": ("p", "a pronoun or determiner"),
    "NUM": ("m", "a number"),
    "CONJ": ("c", "a conjunction: 和"),
    "BUT": (BUT, "a word of contrast: 但"),
    "LIST": ("l", "a mark of a list: 、"),
    "PREP": ("P", "a preposition"),
    "THAN": ("b", "比"),
    "AUX": ("u", "an auxiliary: 會"),
    "PART": (PART, "a particle: 了"),
    "DE": (DE, "的"),
    "DEGREE_DE": ("e", "得"),
    "COP": (COP, "是"),
    "HAVE": (HAVE, "有"),
    "OTHER": (OTHER, "anything else"),
}
SYMBOLS: Mapping[str, str] = {name: symbol for name, (symbol, _) in _KINDS.items()}
"""Name of a unit in rules -> its character."""
UNIT_KINDS: Mapping[str, str] = {name: meaning for name, (_, meaning) in _KINDS.items()}
"""Name of a unit in rules -> what it is, for people."""
_TAGS = {
    "NOUN": "NOUN PROPN", "VERB": "VERB", "ADJ": "ADJ", "ADV": "ADV SCONJ", "PRON": "PRON DET", "NUM": "NUM",
    "CONJ": "CCONJ CONJ", "PREP": "ADP", "AUX": "AUX", "PART": "PART INTJ", "OTHER": "PUNCT SYM X",
}  # fmt: skip
SYMBOL_OF_TAG: Mapping[str, str] = {tag: SYMBOLS[name] for name, tags in _TAGS.items() for tag in tags.split()}
"""Universal tag -> symbol of a word that no lexicon holds."""


def symbol_set(names: str) -> frozenset[str]:
    """The characters of units named with blanks between: `symbol_set("NOUN ASPECT")`. KeyError on an unknown name."""
    return frozenset(SYMBOLS[name] for name in names.split())


JUDGING = symbol_set("OPINION ASPECT")
"""Units without which a clause judges nothing."""
JOINERS = symbol_set("CONJ LIST")
"""What stands between the parts of a coordination: 和, 、."""
STATEMENT_ENDS = symbol_set("PART CONJ BUT ADV")
"""What may follow a finished statement: a particle, or the beginning of the next one."""


CURRENT = "!"
TARGET_NOUN = "(?P<target>n)"
_NAMES = {**SYMBOLS, "CURRENT": CURRENT, "WORD": ".", "TARGET": "(?P<target>A)", "TARGET_NOUN": TARGET_NOUN}
_NAME = re.compile(r"[A-Z_]+")

_SYMBOLS = {symbol: name for name, symbol in SYMBOLS.items()} | {CURRENT: "CURRENT"}


def spell_symbols(symbols: str) -> str:
    """A symbol string in the names that rules use, for people."""
    return " ".join(_SYMBOLS[symbol] for symbol in symbols)


@cache
def compile_pattern(pattern: str, where: str) -> re.Pattern[str]:
    """`pattern` as an expression with the group `target`; ResourceError names an unknown unit or a bad pattern."""

    def symbol(match: re.Match[str]) -> str:
        if match[0] not in _NAMES:
            fix = "known: " + ", ".join(sorted(_NAMES))
            raise ResourceError(f"unknown unit {match[0]!r} in pattern {pattern!r}", where=where, fix=fix)
        return _NAMES[match[0]]

    return compile_expression(pattern, _NAME.sub(symbol, pattern), where)


def compile_expression(pattern: str, expression: str, where: str) -> re.Pattern[str]:
    """The regular expression that a pattern is spelled as; ResourceError where it is none."""
    try:
        return re.compile(expression.replace(" ", ""))
    except (re.error, RecursionError, OverflowError) as error:
        raise ResourceError(f"pattern {pattern!r}: {error}", where=where) from error
