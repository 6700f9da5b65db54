"""Words that look like names of people or places, which induction never proposes.

In: a word and how often its tag says proper noun. Out: yes or no; in doubt yes, because a candidate file is read,
passed on and loaded.
"""

from __future__ import annotations

from builder.language.lexicon.resources import Lexicon

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
