"""Which class of the lexicon an aspect belongs to, which category an opinion; and words that look like names of people
or places, which induction never proposes. Pure.

A word that no entry equals has the class of its longest ending that one does (招牌牛肉麵 is a 牛肉麵): heads come
last. An opinion has the category of the word behind its negator. None: the lexicon does not know it.
"""

from __future__ import annotations

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


_SURNAMES = frozenset(
    "王李張劉陳楊黃趙吳周徐孫馬朱胡郭何高林羅鄭梁謝宋唐許韓馮鄧曹彭曾肖田董袁潘蔣蔡余杜葉程蘇魏呂丁任沈姚盧姜崔鍾譚陸汪范金石廖賈夏韋傅方白鄒孟熊秦邱江尹薛閻段雷侯龍史陶黎賀顧毛郝龔邵萬錢嚴"
    "莊賴洪游詹溫紀施柯簡歐巫卓涂阮翁駱柳鐘聶"
)
_TITLES = (
    "先生",
    "小姐",
    "姐",
    "姊",
    "哥",
    "弟",
    "妹",
    "叔",
    "姨",
    "伯",
    "嬸",
    "嬤",
    "公",
    "媽",
    "爺",
    "師傅",
    "老師",
    "主廚",
    "店長",
    "經理",
    "老闆",
    "同學",
    "兒",
    "君",
    "桑",
    "醬醬",
)
_PLACES = tuple("路街巷弄區市縣鄉鎮村里省州島國城站橋園寺廟館樓廳店行廠社坊苑軒閣居莊府")
_DIMINUTIVES = tuple("小阿老")


def like_name(word: str, proper: float, lexicon: Lexicon) -> bool:
    """Whether `word` looks like a name; `proper` is the share of its uses that were tagged as proper nouns.

    A word that ends in a known aspect or a head of dish names (東坡肉, 李子糕) is a dish, unless what it ends in is a
    place.
    """
    if (word.endswith(_TITLES) and len(word) <= 4) or (word.endswith(_PLACES) and len(word) > 1):
        return True
    if any(word[i:] in lexicon.aspects or lexicon.morphemes.get(word[i:]) == "head" for i in range(1, len(word))):
        return False
    if len(word) in (2, 3) and (
        (word[0] in _SURNAMES and proper > 0) or (word.startswith(_DIMINUTIVES) and proper >= 0.5)
    ):
        return True
    return proper >= 0.5
