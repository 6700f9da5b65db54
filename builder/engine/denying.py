"""Faults that a negator some words before them denies: 不會 主動 來 趕人, 不會 讓人 失望, 沒有 那種 名店 高傲 的 感覺.

In: the units of a clause and the place of an opinion. Out: the negator. Pure.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from builder.engine.symbols import DE, DE_WORDS, NEG, OPINION, symbol_set
from builder.engine.vocabulary import Unit, entry_of
from builder.language.lexicon.resources import Lexicon

_STATING = symbol_set("OPINION IRREALIS BUT")
"""Units that end the reach of a negator."""
_OWNED = DE_WORDS | symbol_set("ASPECT NOUN BLOCKED PRON NUM ADJ PART DEG")
"""Between a word of removal and the fault that something is rid of (去除 魚 的 腥味)."""
_COUNTED = symbol_set("ASPECT NOUN BLOCKED NUM PRON ADJ COP")
"""Between a negator and what is denied of one thing, of any and of all (沒有 一道 菜 是 不 好吃 的)."""
_MANNER = DE_WORDS | symbol_set("ADV PREP")
"""Between a negator and a verb that it denies (不會 主動 來 趕人)."""


@dataclass(frozen=True, slots=True)
class DenyingRule:
    """Parameters of a rule of kind `denying`.

    `negators`: ends of negators that deny a fault at most `reach` units behind them, where one of `leading` (沒有
    那種 名店 高傲 的 感覺) or `causing` (不會 讓 人 失望) follows. For those that end in one of `forestalling`,
    nothing but manner and the words `approaching` may stand between instead (不會 無故 來 催促). `met`: words that
    lead in the same way to a fault that was met, but for one with a word of `extremes` (沒 吃過 這麼 難吃 的).
    `ending`: words that begin another statement. `apart`: categories of what is a statement of its own (沒 吃到 很
    可惜). `dropped`: categories that judge nothing where they are so denied (不會 讓 客人 等很久).
    `owned`: categories of faults that are nouns, which a negator that ends in one of `lacking` denies
    over what they come from (沒有 泡過 藥水 的 怪味).
    `usual`: words for what others have as a rule (沒有 羊肉 平常 的 腥味), `owning`: what stands for 有 的 before what
    they have (羊肉 常 有的 腥味).
    `quantifiers`: first characters of what stands behind a negator that ends in one of `lacking`, with the noun of
    which nothing is said then (沒有 一道 菜 不 好吃).
    `removing`: negators that rid what stands behind them of it (去除 魚 的 腥味).
    """

    negators: tuple[str, ...] = ()
    forestalling: tuple[str, ...] = ()
    leading: frozenset[str] = frozenset()
    causing: frozenset[str] = frozenset()
    met: frozenset[str] = frozenset()
    approaching: frozenset[str] = frozenset()
    extremes: frozenset[str] = frozenset()
    removing: frozenset[str] = frozenset()
    quantifiers: tuple[str, ...] = ()
    ending: frozenset[str] = frozenset()
    apart: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()
    owned: tuple[str, ...] = ()
    lacking: tuple[str, ...] = ()
    usual: frozenset[str] = frozenset()
    owning: frozenset[str] = frozenset()
    reach: int = 0


def find_forestalling(units: Sequence[Unit], first: int, k: int, taken: int, rule: DenyingRule) -> int:
    """Index of the negator before the fault whose phrase begins at `first`; `first` if none denies it."""
    at = _find_negator(units, first, taken, rule)
    if at == first:
        return first
    if units[at].word in rule.removing:
        return at if all(unit.symbol in _OWNED for unit in units[at + 1 : first]) else first
    if not units[at].word.endswith(rule.negators):
        return first
    lead = units[at + 1].word
    if lead in rule.met and any(unit.word in rule.extremes for unit in units[at + 1 : k]):
        return first
    if lead in rule.leading or lead in rule.met or lead in rule.causing:
        return at
    near = all(unit.symbol in _MANNER or unit.word in rule.approaching for unit in units[at + 1 : first])
    return at if near and units[at].word.endswith(rule.forestalling) else first


def leads_to_denied(units: Sequence[Unit], k: int, lexicon: Lexicon, rule: DenyingRule) -> bool:
    """不會 主動 來 推銷: whether opinion word k only leads from a negator to the fault that this denies."""
    if not k or units[k].word not in rule.approaching or not units[k - 1].word.endswith(rule.forestalling):
        return False
    behind = next((unit for unit in units[k + 1 :] if unit.word not in rule.approaching), None)
    return behind is not None and behind.symbol == OPINION and entry_of(behind, lexicon).valence < 5


def find_owner_denied(units: Sequence[Unit], first: int, taken: int, rule: DenyingRule) -> int:
    """Index of the negator before 的 and the noun for a fault at `first`: 沒有 泡過 藥水 的 怪味; `first` if none."""
    before = units[first - 1]
    if before.symbol != DE and before.word not in rule.owning:
        return first
    at = _find_negator(units, first, taken, rule)
    return at if at < first and units[at].word.endswith(rule.lacking) else first


def find_quantified(units: Sequence[Unit], first: int, taken: int, rule: DenyingRule) -> int:
    """Index of the negator before a quantified noun of which the phrase at `first` is denied: 沒有 一道 菜 不 好吃,
    沒有 一道 菜 好吃; `first` if there is none.
    """
    at = first - 1
    while at >= taken and first - at <= rule.reach and units[at].symbol in _COUNTED:
        at -= 1
    if not taken <= at < first - 1 or units[at].symbol != NEG:
        return first
    word = units[at].word  # 沒有 or 沒有任何
    quantified = units[at + 1].word.startswith(rule.quantifiers) or word.endswith(rule.quantifiers)
    return at if quantified and any(lack in word for lack in rule.lacking) else first


def _find_negator(units: Sequence[Unit], first: int, taken: int, rule: DenyingRule) -> int:
    """Index of the last negator that stands apart from unit `first`, in its statement; `first` if there is none."""
    at = first - 1
    while at >= taken and first - at <= rule.reach and units[at].symbol != NEG:
        word = units[at].word
        if word in rule.ending or (units[at].symbol in _STATING and word not in rule.approaching | rule.usual):
            return first
        at -= 1
    return first if at < taken or at == first - 1 or units[at].symbol != NEG else at
