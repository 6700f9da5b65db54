"""Which lexicon entries are several words to a segmenter: 微辣 is 微 辣, 人很好 is 人 很 好, 女店員 is 女 店員.

In: the words of a lexicon by kind, and an entry. Out: the parts of the entry, or nothing where it is one word (好吃,
不錯, 牛肉麵). An entry is cut only where its parts stand in one of the constructions below; words that look like one
(偏好) are kept whole by general.tsv. The engine loses nothing: it looks for entries over the edges of words, so 微 辣
is 微辣 again where the lexicon has it.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

DEGREES = "很太超極最更偏微過夠稍略蠻頗較挺"
"""Degree words that stand before any adjective.
好, 真, 滿 and 死 make words with it (好強, 真心, 死板) and are left alone.
"""
_SINGLES = {
    **dict.fromkeys(DEGREES, "D"),
    **dict.fromkeys("又而且也都就", "F"),
    **dict.fromkeys("還並", "J"),
    **dict.fromkeys("得到", "R"),
    **dict.fromkeys("的了", "K"),
    **dict.fromkeys("不沒", "L"),
    **dict.fromkeys("這那每", "P"),
    **dict.fromkeys("道樣間家個種", "C"),
    **dict.fromkeys("男女", "G"),
    **dict.fromkeys("們內裡外", "S"),
    "有": "E",
    "人": "H",
    "一": "Q",
}
"""Characters that are words of their own, whatever the lexicon says: function words, negators, classifiers …"""
_WORD = "[ANXY]"
_ALL = (
    f"{_WORD}[FRK]{_WORD}",  # 上菜的速度, 便宜又好吃
    f"{_WORD}{{2,}}",  # 服務態度
)
_OPINIONS = (
    "[OMG][NA]",  # 小失望, 好地方
    "X?F?L?D[OA][FK]?",  # 微辣, 看起來很厲害, 很快就
    "([NH][LD]*[OA])+",  # 人很好, 燈光美氣氛佳
    "[TVX]?[RD]D?[OA]",  # 吃得飽, 等很久, 烤得恰到好處
    "FL?[AO]",  # 也不貴
    "[OA](K|K?Y)",  # 可惜了, 貴很多
    "A(T|Q[TV])",  # 不錯吃, 值得一試
    "E[NA]",  # 有氣氛
    "(LO){2}",  # 不油不膩
)
_NOUNS = (
    "[OMG][NA]",  # 黑咖啡, 女店員
    "[NB]S",  # 店員們, 店內
    "PC?[NB]",  # 這間餐廳, 每道菜
)
_FUNCTION = ("[XY]?[FJ]?L?D?",)  # 真的太, 一點也不, 還沒
_GENERAL = (
    "O(K|K?Y)",  # 熱的, 軟一點
    "TB",  # 喝酒
)
_SHAPES = {
    kind: re.compile("|".join((*_ALL, *shapes)))
    for kind, shapes in (("A", _OPINIONS), ("N", _NOUNS), ("X", _FUNCTION), ("Y", _FUNCTION), ("W", _GENERAL))
}
_SINGLE_OF = {"A": "O", "N": "B", "V": "V", "M": "M", "T": "T"}
"""What one character of a kind is: an adjective, a thing, a verb, what stands before the name of a thing, what is done
with it (吃)."""


@dataclass(frozen=True, slots=True)
class Kinds:
    """Words of two or more characters by kind, and single characters that are words; `general` of general.tsv."""

    words: Mapping[str, str]
    singles: Mapping[str, str]

    general: frozenset[str]

    @classmethod
    def of(cls, claims: Sequence[tuple[str, Iterable[str]]], general: Iterable[str]) -> Kinds:
        """`claims`: kinds in the order of their claims (A opinions, N nouns, V verbs, M what stands before names, T
        what is done with things, Y amounts, X others).

        Words of `general` are cut in fewer constructions.
        """
        words: dict[str, str] = {}
        singles = dict(_SINGLES)
        for kind, words_of_kind in claims:
            for word in words_of_kind:
                if len(word) > 1:
                    words.setdefault(word, "X" if kind in "VMT" else kind)
                elif kind in _SINGLE_OF:
                    singles.setdefault(word, _SINGLE_OF[kind])
        return cls(words, singles, frozenset(general))

    def parts(self, word: str) -> tuple[str, ...]:
        """The fewest parts of `word` in a construction, and the parts of these; nothing where it is one word."""
        kind = self.words[word]
        shapes = _SHAPES["W" if word in self.general else kind]
        if len(word) == 2 and not (word[0] in self.singles and word[1] in self.singles):
            return ()
        cuts = [cut for cut, shape in self._cuts(word, word) if shapes.fullmatch(shape) and self._clear(cut, word)]
        if not cuts and kind == "N":  # 波士頓龍蝦: a name nobody knows before a noun
            cuts = [(word[:at], word[at:]) for at in range(2, len(word) - 1) if self.words.get(word[at:]) == "N"]
        best = min(cuts, key=lambda cut: (len(cut), len(cut[0])), default=())
        return tuple(piece for part in best for piece in (self.parts(part) if part in self.words else ()) or (part,))

    def _clear(self, cut: tuple[str, ...], word: str) -> bool:
        """Whether a first part of one character does not rather belong to what follows: 冰 紅茶, but 紅茶 味."""
        if len(cut[0]) > 1 or len(word) < 3 or self.singles[cut[0]] not in "OM":
            return True
        return word[:2] not in self.words and word[0] != word[1]

    def _cuts(self, rest: str, word: str) -> Iterator[tuple[tuple[str, ...], str]]:
        """Every way to tile `rest` with known words, with the kinds of these."""
        for end in range(1, len(rest) + 1):
            part = rest[:end]
            kind = self.singles.get(part) if end == 1 else self.words.get(part)
            if kind is None or part == word:
                continue
            if end == len(rest):
                yield (part,), kind
            for cut, shape in self._cuts(rest[end:], word) if end < len(rest) else ():
                yield (part, *cut), kind + shape


def compounds(known: Collection[str], kinds: Kinds, degrees: Container[str]) -> dict[str, str]:
    """The `known` words that are several words, each as its parts with a space between two.

    Every degree word before every adjective of one character (太貴) is one, too: the lexicon need not list them.
    """
    out = {word: " ".join(cut) for word in known if len(word) > 1 and (cut := kinds.parts(word))}
    adjectives = [word for word, kind in kinds.singles.items() if kind == "O"]
    pairs = [(degree, word) for degree in DEGREES if degree in degrees for word in adjectives]
    return out | {degree + word: f"{degree} {word}" for degree, word in pairs if degree + word not in known}
