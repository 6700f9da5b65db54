"""Which class of the lexicon an aspect belongs to, which category an opinion; and words that look like names of people
or places, which are never proposed. Pure.

A word that no entry equals has the class of its longest ending that one does (招牌牛肉麵 is a 牛肉麵): heads come
last. An opinion has the category of the word behind its negator. None: the lexicon does not know it.
"""

from __future__ import annotations

from collections import Counter
from functools import cache

from builder.language.lexicon.resources import Lexicon
from builder.reviews.text import view

_SHORTEST = 2
"""Characters of an ending: shorter ones are parts of too many words."""


class Categories:
    """Looks words up in a lexicon and remembers what it found."""

    def __init__(self, lexicon: Lexicon) -> None:
        self._lexicon = lexicon
        self.aspect = cache(self._aspect)
        self.opinion = cache(self._opinion)

    def _aspect(self, word: str) -> str | None:
        for form in self._forms(word):
            for start in range(max(1, len(form) - _SHORTEST + 1)):
                if entry := self._lexicon.aspects.get(form[start:]):
                    return entry.cls
        return None

    def _opinion(self, word: str) -> str | None:
        for form in self._forms(word):
            if entry := self._lexicon.opinions.get(form):
                return entry.category
            for negator in sorted(
                (word for word in self._lexicon.negators if form.startswith(word)), key=len, reverse=True
            ):
                if entry := self._lexicon.opinions.get(form[len(negator) :]):
                    return entry.category
        return None

    def _forms(self, word: str) -> tuple[str, ...]:
        """A word as it stands, and as the engine's view would write it."""
        return tuple(dict.fromkeys((word.lower(), view(word, self._lexicon.variants, "simplified").text.lower())))


_TITLES = (
    "先生", "小姐", "姐", "姊", "哥", "弟", "妹", "叔", "姨", "伯", "嬸", "嬤", "公", "媽",
    "爺", "師傅", "老師", "主廚", "店長", "經理", "老闆", "同學", "兒", "君", "桑", "醬醬",
)  # fmt: skip
_PLACES = tuple("路街巷弄區市縣鄉鎮村里省州島國城站橋園寺廟館樓廳店行廠社坊苑軒閣居莊府")
_ALIKE = 5
"""So many known aspects that end in the same character speak for the class of another one."""


def like_name(word: str) -> bool:
    """Whether a word ends as names of people or places do."""
    return len(word) > 1 and (word.endswith(_PLACES) or (word.endswith(_TITLES) and len(word) <= 4))


def guess_class(word: str, lexicon: Lexicon, default: str = "thing") -> str:
    """The class of most known aspects that end as the word does, in three characters or two; in one, of three quarters:
    most known words in 果 are effects, and 芒果 is none.
    """
    for length, least in ((3, 1 / 2), (2, 1 / 2), (1, 3 / 4)):
        alike = [entry.cls for known, entry in lexicon.aspects.items() if known.endswith(word[-length:])]
        if length < len(word) and len(alike) >= (1 if length > 1 else _ALIKE) and not word.isascii():
            cls, count = min(Counter(alike).items(), key=lambda item: (-item[1], item[0]))
            if count > least * len(alike):
                return cls
    return default
