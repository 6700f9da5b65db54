"""Words for people: a number with its noun, and who labelled gold, as far as somebody says so. Pure.

Where neither a row of a gold file nor the setting `evaluate.gold_annotators` says who labelled, nothing is assumed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal


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


def table(head: Sequence[str], rows: Iterable[Iterable[object]]) -> str:
    """A table in Markdown; a cell is what `str` makes of it.

    >>> table(["split", "reviews"], [["train", "1,200"]])
    '| split | reviews |\\n|---|---|\\n| train | 1,200 |'
    """
    named = "".join(f" {name} |" if name else " |" for name in head)
    return "\n".join([f"|{named}", "|---" * len(head) + "|", *(f"| {' | '.join(map(str, row))} |" for row in rows)])


def plural(noun: str) -> str:
    """The plural of a regular noun."""
    if noun.endswith("y") and noun[-2:-1] not in set("aeiou"):
        return noun[:-1] + "ies"
    return noun + ("es" if noun.endswith(("s", "x", "ch", "sh")) else "s")


Annotators = Literal["", "people", "language model", "mixed"]
ANNOTATORS: tuple[Annotators, ...] = ("people", "language model", "mixed")
"""What a gold file may say."""
NOT_STATED = "not stated who labelled"
_NAMES: dict[str, str] = {
    "people": "people",
    "language model": "a language model",
    "mixed": "people and a language model",
}


def join_annotators(said: Iterable[Annotators]) -> Annotators:
    """What several parts say together: nothing where one of them says nothing."""
    values = set(said)
    if "" in values or not values:
        return ""
    return values.pop() if len(values) == 1 else "mixed"


def name_annotators(annotators: str) -> str:
    """Who labelled, in words: `a language model`; `not stated` where nobody says."""
    return _NAMES.get(annotators, "not stated")


def describe_annotators(annotators: str) -> str:
    """What follows a number of gold reviews: `labelled by people`, or that nobody says who it was."""
    return f"labelled by {_NAMES[annotators]}" if annotators else f"{NOT_STATED} them"
