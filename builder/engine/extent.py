"""The extent of an opinion phrase: how far it reaches in its clause. Pure.

A phrase takes in its degree words and negators, also over the fillers between (沒有想像中好吃). In: the units of a
clause and the place of an opinion. Out: the first unit of its phrase and where its text begins.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from builder.engine.symbols import COP, DE, DEG, NEG, symbol_set
from builder.engine.vocabulary import Unit
from builder.language.lexicon.resources import Lexicon

_STRENGTHENING = symbol_set("NEG DEG")
OVER = "over"
"""Kind of degree words of excess (太)."""
_GAP = 3
"""Words between a negator and its opinion at most."""
MODERATE = ("會", "至於")
"""Ends of negators that deny the excess behind them (不會 太濃), not a degree."""
UNHEDGED = "ordinary"
"""Category of opinions to which no hedge belongs (算 普通)."""


@dataclass(frozen=True, slots=True)
class ExtentRule:
    """Parameters of a rule of kind `extent`.

    `fillers`: words that may stand between a negator and its opinion. `levels`: words of
    level, which are no part of it (這麼 好吃). `scope`: adverbs of the clause, with which no phrase begins before a
    degree word or negator (還 很好吃). `trailing`: words behind an opinion that give its degree (偏鹹 一點). `stance`:
    words before a phrase that say how sure one is of it, and belong to `opinion_full` (應該 很好), as `finals` do
    behind an excess (太重 了), and `hedges` before a bare opinion that is none of the ordinary (算 新鮮).
    `undivided`: degree words that begin with one of `scope` and keep it (還算 新鮮). `choices`: what belongs to it
    behind any opinion (很好 的選擇, 漂亮 很多). `compared`: how many units before a phrase a comparison may begin that
    belongs to it (比 上一代 輕); 0 where none does.
    """

    fillers: frozenset[str] = frozenset()
    levels: frozenset[str] = frozenset()
    scope: tuple[str, ...] = ()
    trailing: frozenset[str] = frozenset()
    stance: frozenset[str] = frozenset()
    finals: tuple[str, ...] = ()
    choices: tuple[str, ...] = ()
    compared: int = 0
    hedges: frozenset[str] = frozenset()
    undivided: frozenset[str] = frozenset()


def find_left_edge(units: Sequence[Unit], k: int, taken: int, rule: ExtentRule) -> int:
    """Index of the first unit of the phrase around opinion k.

    Degree words and negators that touch it (非常的香 too), and negators behind a few fillers: 沒有想像中好吃 is one
    phrase, 覺得好吃 is not.
    """
    edge = k
    while edge > taken:
        before = units[edge - 1].symbol
        if before in _STRENGTHENING:
            edge -= 1
        elif before == DE and edge - 1 > taken and units[edge - 2].symbol == DEG:
            edge -= 2
        else:
            j = edge - 1
            while j >= taken and edge - j <= _GAP and (units[j].word in rule.fillers or units[j].symbol == DEG):
                j -= 1
            if j < taken or units[j].symbol != NEG:
                break
            edge = j
    return edge


def find_start(units: Sequence[Unit], first: int, k: int, lexicon: Lexicon, rule: ExtentRule) -> int:
    """Where in the view the phrase begins whose first unit is `first`.

    Behind adverbs of the clause (還 蠻好吃, 都還 可以) and words of level (這麼 好吃).
    """
    while first < k and (
        (units[first].word in rule.scope and units[first + 1].symbol == DEG)
        or units[first].word in rule.levels
        or units[first].symbol == DE
    ):
        first += 1
    return units[first].start + (count_lead(units[first].word, lexicon, rule) if first < k else 0)


def count_lead(word: str, lexicon: Lexicon, rule: ExtentRule) -> int:
    """How many characters of a degree word or negator are an adverb of the clause: 也蠻, 並不."""
    leads = word.startswith(rule.scope) and (word[1:] in lexicon.degree or word[1:] in lexicon.negators)
    return 1 if leads and word not in rule.undivided else 0


def count_degree(word: str, lexicon: Lexicon) -> int:
    """How many characters of a negator are a degree word: 完全 of 完全沒有, which is no part of the opinion."""
    kinds, cuts = lexicon.negators, range(len(word) - 1, 1, -1)
    return next((cut for cut in cuts if word[:cut] in lexicon.degree and kinds.get(word[cut:]) == kinds[word]), 0)


def strip_negator(word: str, lexicon: Lexicon, fillers: frozenset[str]) -> str:
    """A negator without the degree word or filler it ends in: 不會太 is 不會, 沒有想像中 is 沒有, 不夠 stays."""
    for cut in range(1, len(word)):
        same = lexicon.negators.get(word[:cut]) == lexicon.negators.get(word)
        if same and (word[cut:] in lexicon.degree or word[cut:] in fillers):
            return word[:cut]
    return word


def is_doubled(units: Sequence[Unit], k: int) -> bool:
    """Whether the last unit of the clause is a 的 that belongs to the doubled predicate before it.

    麵條QQ的, 餅皮酥酥脆脆的; 湯頭是燙燙的 has 是 … 的.
    """
    word = units[k].word
    if len(word) < 2 or word[-1] != word[-2]:
        return False
    return units[k + 1].symbol == DE and units[k + 1].start == units[k].end and all(u.symbol != COP for u in units[:k])
