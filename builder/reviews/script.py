"""The language and script of a text, and the text in the other script, of equal length. Pure.

In: a text. Out: the tag of its language, or the other language that it is mostly in; which script it is written in;
the text in Traditional script as Taiwan writes it, or in Simplified. OpenCC converts; what it gets wrong is mended
here, for views and releases alike.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import cache
from typing import Literal

Script = Literal["traditional", "simplified", "mixed", "none"]
_TAGS = {"traditional": "zh-Hant", "simplified": "zh-Hans"}

# Blocks written with \U so that a character beyond the BMP is as much Han as one inside it.
HAN_RANGES = "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
HAN = re.compile(f"[{HAN_RANGES}]")
_NO_NOODLES = "面積前對子試露部孔上相貌臨向朝目色具帶談紗霜膜交壁頰龐容板海世"
"""What follows 面 that is a side or a face: 面積, 面對, 面試."""
_NOODLES = re.compile(
    rf"(?:^|(?<=[，。！？；：、,.!?;:…)）】」】#\s~～]))面(?![{_NO_NOODLES}])"
    r"|(?<=[吃煮碗份但是就然且而的和跟點冷拌素燃鹼莜筱擀削燜潑辣雞])"
    r"面(?=[很也有的太挺蠻超非真比特不煮更是都還夠偏略軟硬少多一冰涼坨糊斷，。！？；、,.!?;…～~裡和全巨竟基已根入勁勁送到放泡]|$)"
    r"|(?<![裡里外上下對方店後前旁側表桌地門四底背正反另兩雙單一頁全場畫界市臉海])"
    r"面(?=包|皮|粉|疙瘩|片|條|筋|湯|餅|糊|醬|食|館|團|胚|坯|質|量|類|份)"
)
"""面 that is no side or face: OpenCC finds 麵 only in words (湯麵), not where it stands alone (面很劲道)."""


@cache
def converter(name: str) -> Callable[[str], str]:
    """OpenCC conversion `name` (s2tw, t2s, …) that keeps lengths: where phrases would not, it converts characters."""
    from opencc import OpenCC

    convert = OpenCC(name).convert
    char = cache(lambda c: converted if len(converted := convert(c)) == 1 else c)

    def same_length(text: str) -> str:
        converted: str = convert(text)
        return converted if len(converted) == len(text) else "".join(char(c) for c in text)

    return same_length


class _Votes(dict[str, int]):
    """Character -> +1 if only Traditional texts write it, -1 if only Simplified ones do, 0 for both and for what is no
    Han; filled as characters come.
    """

    def __missing__(self, char: str) -> int:
        vote = 0
        if char not in _SHARED and HAN.match(char):
            simplified, traditional = converter("t2s")(char), converter("s2tw")(char)
            vote = 1 if simplified != char else -(traditional != char)
        self[char] = vote
        return vote


# Written in both scripts: OpenCC calls them Simplified, Taiwanese reviews use them (台, 里 in names, 只, 才, 面 in
# 方面 …).
_SHARED = frozenset(
    "台里只才面后干出了松几丰卷吃周回向后布并志扎担斗朴杯杆柜栗欲沾注泄洒涂游准炮烟症皂秋秘筑系累舍蔑谷踪辟迹郁钟鉴闲霉須余余万于云伙划虱凶岩肴灶唇粽峰糍"
)

_TELLING_IN_WORDS = frozenset("丰致钟几万面")
"""Both scripts write these; where a conversion changes one, the text is Simplified (丰富, 面很好吃; not 致詞)."""


def tells_script(text: str) -> bool:
    """Whether a text has a character that only one script writes."""
    return any(map(_votes.__getitem__, text))


_votes = _Votes()


def script_of(text: str) -> Script:
    """Which script a text is written in; `mixed` if a fifth or more of the telling characters are of the other. Where
    no character tells, a word does that only Simplified texts write (丰富, 分钟).
    """
    votes = list(map(_votes.__getitem__, text))
    telling = len(votes) - votes.count(0)
    if not telling:
        if not HAN.search(text):
            return "none"
        words = zip(text, _from_simplified(text), strict=True) if len(text) > 1 else ()
        return "simplified" if any(own != new and own in _TELLING_IN_WORDS for own, new in words) else "traditional"
    simplified = votes.count(-1) / telling
    return "simplified" if simplified > 0.8 else "mixed" if simplified >= 0.2 else "traditional"


class Variants:
    """Spelling variants and what is read instead, of equal length; replaced in one pass, longest first."""

    def __init__(self, table: Mapping[str, str]) -> None:
        self._table = dict(table)
        self._pattern = re.compile("|".join(map(re.escape, sorted(table, key=len, reverse=True))))
        self._anywhere = re.compile(
            "|".join(sorted(_by_telling(word, read) for word, read in table.items() if word != read))
        )

    @property
    def table(self) -> Mapping[str, str]:
        """Variant -> what is read instead."""
        return self._table

    def canonical(self, text: str) -> str:
        """`text` with its variants replaced; most texts have none, which `_anywhere` finds out ten times faster."""
        if not self._table or not self._anywhere.search(text):
            return text
        return self._pattern.sub(lambda match: self._table[match[0]], text)


def _by_telling(word: str, read: str) -> str:
    """An expression that finds `word` from the character that is replaced, which is rarer than its first one."""
    at = next(i for i, (a, b) in enumerate(zip(word, read, strict=True)) if a != b)
    return f"{re.escape(word[at])}(?<={re.escape(word[: at + 1])}){re.escape(word[at + 1 :])}"


def language_tag(*texts: str, script: str | None = None) -> str:
    """The language as BCP 47 tags it, by the first of the texts that tells its script: `zh` where none does, or where
    scripts mix. `script`: the one that they were converted to.
    """
    told = next(filter(tells_script, texts), None)
    if told is None:
        return "zh" if any(map(HAN.search, texts)) else "und"
    return _TAGS.get(script or script_of(told), "zh")


# What another language is told by, and how many of it stand for each Han character of a text mostly in it. Names of
# dishes and exclamations in it leave a text Chinese: 鮮の味, 點了비빔밥, Truffle Fries 很好吃.
_ADDRESS = re.compile(r"(?:https?://|www\.)[!-~]+|[@#][\w.]+", re.ASCII)
_JAPANESE = re.compile("[ぁ-とな-ねは-ゖ気囲応楽広駅発売転経験検歩渋覚訳県徳戦変辺毎浜]")
_CHINESE = re.compile("[的很了這这我你您妳們们吃喝嗎吗吧呢就也還还沒没給给讓让跟她哦喔啦]")
"""Characters that Japanese hardly writes."""
_OTHERS = (
    ("Japanese", re.compile("[ァ-ヺｦ-ﾝ]"), 2.0),
    ("Korean", re.compile("[\uac00-\ud7a3\u3131-\u3163]"), 1.0),
    ("words in Latin letters", re.compile("[A-Za-z\u00c0-\u024f\u1e00-\u1eff]+(?:['’][a-z]+)?"), 1.5),
    ("letters of another script", re.compile("[\u0370-\u1cff\ua800-\uabff]"), 3.0),
)


def find_other_language(text: str) -> str | None:
    """What a text is mostly written in, where that is not Chinese."""
    if text.isascii():
        return None if not text else "no Han character"
    letters = _ADDRESS.sub("", text)
    han = len(HAN.findall(letters))
    japanese = len(_JAPANESE.findall(letters))
    if japanese > 0.25 * han and japanese > 4 * len(_CHINESE.findall(letters)):
        return "Japanese"
    return next((name for name, unit, share in _OTHERS if len(unit.findall(letters)) > share * han), None)


def same_script(
    text: str, wanted: Literal["keep", "traditional", "simplified"], variants: Variants | None = None
) -> str:
    """`text` for release in the wanted script. The length never changes, so offsets of the stored text stay true.

    `variants`: what is read instead of what a conversion gets wrong.
    """
    if wanted == "keep":
        return text
    return converter("tw2s")(text) if wanted == "simplified" else to_traditional(text, variants)


def _from_simplified(text: str) -> str:
    return _NOODLES.sub("麵", converter("s2tw")(text))


def to_traditional(text: str, variants: Variants | None = None) -> str:
    """`text` as Taiwan writes it. What is Traditional already stays: OpenCC reads all as Simplified (濃郁 as 濃鬱).

    `variants`: what is read instead of what the conversion gets wrong; what was not converted stays as it is written.
    """
    votes = list(map(_votes.__getitem__, text))
    if -1 not in votes and script_of(text) != "simplified":
        return text
    if 1 in votes:
        converted = _NOODLES.sub("麵", converter("s2tw")(converter("t2s")(text)))
        mostly = script_of(text) == "traditional"
        converted = "".join(
            char if vote > 0 or (mostly and not vote) else new
            for char, vote, new in zip(text, votes, converted, strict=True)
        )
    else:
        converted = _from_simplified(text)
    if variants is None:
        return converted
    mended = variants.canonical(converted)
    return "".join(new if old != char else char for old, char, new in zip(text, converted, mended, strict=True))
