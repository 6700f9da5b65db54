"""Counts as people say them. In: a number and a noun in the singular. Out: both, in the number that fits."""

from __future__ import annotations


def counted(number: int, noun: str) -> str:
    """A number with its noun, of which the last word takes the plural.

    >>> counted(1, "review"), counted(2000, "gold review"), counted(0, "entry")
    ('1 review', '2,000 gold reviews', '0 entries')
    """
    return f"{number:,} {noun if number == 1 else plural(noun)}"


def plural(noun: str) -> str:
    """The plural of a regular noun."""
    if noun.endswith("y") and noun[-2:-1] not in set("aeiou"):
        return noun[:-1] + "ies"
    return noun + ("es" if noun.endswith(("s", "x", "ch", "sh")) else "s")
