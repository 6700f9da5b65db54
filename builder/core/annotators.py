"""Who labelled gold, as far as somebody says so, and the words for it. Pure.

In: what each row of a gold file says in its field `annotators`, or the setting `evaluate.gold_annotators`. Where nobody
says, nothing is assumed.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

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
