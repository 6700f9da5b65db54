"""What the steps of a triplet's story say of the lexicon: class of the aspect, category of the opinion. Pure.

The engine writes them as `湯頭 food.soup (aspects/food_chinese.tsv:12)` and `鹹 taste.salty 3.5
(opinions/food_taste.tsv:12)`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

_UNLISTED = "unlisted noun"
_ASPECT = re.compile(r" (?P<cls>\S+)(?: \([^()]*\))?$")
_OPINION = re.compile(r" (?P<category>\S+) [\d.]+ \([^()]*\)$")


def categories(story: Iterable[tuple[str, str]]) -> tuple[str | None, str | None]:
    """The class of the aspect and the category of the opinion that (kind, detail) steps tell; None where they tell
    none.
    """
    aspect = opinion = None
    for kind, detail in story:
        if kind == "aspect" and not detail.endswith(_UNLISTED) and (match := _ASPECT.search(detail)):
            aspect = match["cls"]
        if kind == "opinion" and (match := _OPINION.search(detail)):
            opinion = match["category"]
    return aspect, opinion
