"""Counts as people say them: a number with its noun. Pure."""

from __future__ import annotations

from collections.abc import Sequence


def counted(number: int, noun: str) -> str:
    """A number with its noun, of which the last word takes the plural.

    >>> counted(1, "review"), counted(2000, "gold review"), counted(0, "entry")
    ('1 review', '2,000 gold reviews', '0 entries')
    """
    return f"{number:,} {noun if number == 1 else plural(noun)}"


_MOST_FAULTS = 10


def describe_faults(faults: Sequence[str], noun: str, whole: str) -> list[str]:
    """Lines that say what of a file is left out, ten faults by name; nothing without any. `whole` tells where all of
    them stand.

    >>> describe_faults(["in.txt:7: no label"], "faulty line", "in.log")
    ['note: 1 faulty line is left out (--strict refuses them):', '  in.txt:7: no label']
    """
    if not faults:
        return []
    more = len(faults) - _MOST_FAULTS
    return [
        f"note: {counted(len(faults), noun)} {'is' if len(faults) == 1 else 'are'} left out (--strict refuses them):",
        *(f"  {fault}" for fault in faults[:_MOST_FAULTS]),
        *([f"  and {more:,} more (all of them: {whole})"] if more > 0 else []),
    ]


def plural(noun: str) -> str:
    """The plural of a regular noun."""
    if noun.endswith("y") and noun[-2:-1] not in set("aeiou"):
        return noun[:-1] + "ies"
    return noun + ("es" if noun.endswith(("s", "x", "ch", "sh")) else "s")
