"""The pattern language of rules: names of units with regular-expression operators, compiled to `re` over symbol
strings.

`TARGET` is the aspect that the pattern finds, `CURRENT` the opinion being paired; the other names are those of
`symbols.SYMBOLS`. `TARGET (ADV|COP)* CURRENT` matches 牛肉麵 真的 是 好吃; `WORD` stands for any unit, `^` and `$` for
the edges of the clause.
"""

from __future__ import annotations

import re
from functools import cache

from builder.core.errors import ResourceError
from builder.engine.symbols import SYMBOLS

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
