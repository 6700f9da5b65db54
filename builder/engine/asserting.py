"""Whether an opinion word judges something where it stands: 小籠包, 可惜沒位子, 喜歡咖啡的朋友 and 很多人 judge
nothing.

In: the units of a clause and the place of an opinion word. Out: yes or no. Pure.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from builder.engine.comparing import ComparisonRule
from builder.engine.constituents import ATTRIBUTES, THINGS
from builder.engine.symbols import (
    ADV,
    ASPECT,
    BUT,
    CONJ,
    COP,
    DE,
    DEG,
    JOINERS,
    NEG,
    NOMINALS,
    NUM,
    OPINION,
    PART,
    THAN,
    VERB,
    symbol_set,
)
from builder.engine.vocabulary import Unit, entry_of
from builder.language.lexicon.resources import Lexicon

_MODIFIED = symbol_set("VERB ADV ASPECT DEG NEG NOUN AUX PRON NUM HAVE PREP")
"""Behind an adverb: what it modifies (可惜 沒 位子)."""
_REGRETTED = symbol_set("ASPECT DEG NEG OPINION VERB")
"""Behind a word of regret: what is regretted (雞排 可惜 太 油)."""
_MODIFIED_VERB = symbol_set("VERB")
"""Behind an adverb that has a degree word or negator itself."""
_BEHIND_PREDICATE = symbol_set("NOUN ASPECT ADV DEG")
"""What may follow a word that is said of the aspect right before it."""
_NAMES = symbol_set("ASPECT")
_NOMINAL_CONTEXT = JOINERS | symbol_set("VERB DE")
"""Before a word that is a noun there (和 垃圾, 收 垃圾, 桌上 的 垃圾)."""
_COUNTED = symbol_set("NOUN BLOCKED NUM")
"""Behind a quantity: what there is much or little of (很多 人)."""
_BEFORE_PREDICATE = symbol_set("ADV DEG NEG COP AUX DE")
"""Between a subject and what is said of it."""
_HELD_AGAINST = symbol_set("THAN CONJ NEG")
"""Before what a thing is held against."""
_ENDING = symbol_set("PART DE POST")
"""Behind a predicate at the end of its clause."""
_BEHIND_VERDICT = symbol_set("PART DE CONJ BUT")
"""Behind a verdict that is not about what follows (還好 吧)."""
_NAMED = symbol_set("NOUN ASPECT BLOCKED ADJ NUM VERB")
"""Behind an adjective of one character: the rest of a name (熱 湯)."""


_COINCIDING = symbol_set("HAVE PREP")
"""Behind a word that says that things coincide (剛好 有 活動)."""
_OCCURRING = symbol_set("VERB CONJ PRON NOUN BLOCKED")
"""Behind one that opens its clause (正好 和 朋友 見面)."""
_DONE_ON_PURPOSE = symbol_set("VERB PREP HAVE")
"""Behind an adverb of intent (不會 特別 去 買)."""
_TAKEN = symbol_set("ASPECT NOUN ADJ BLOCKED")
"""Behind a liking: what it takes."""
_NAMING = symbol_set("COP ADV DEG")
"""Behind 的 where what is better is named next (更 好吃 的 是 雞排)."""

_EXTENT = "到"
"""Behind an opinion it says how far that goes (慢 到 想睡)."""


@dataclass(frozen=True, slots=True)
class AssertionRule:
    """Parameters of a rule of kind `assertion`: words that judge in some places only.

    `bare`: adjectives of one character that judge right before a noun. `adverbial`: words that are adverbs before a
    word that they modify (可惜 沒 位子), which none of `joining` is (又 慢 又 差). `also`: words that join a word to
    the opinion before it (好看 也 特別) or to its aspect (座位 也 大). `caring`: those that praise who does what
    `serving` names (店員 很 仔細 介紹 酒). `gaining`: verbs before a number (多了 一 層).
    `quantities`: words that count the noun behind them (很多
    人), unless it begins with one of `numerals`. `verbal`: words that are part of a verb behind them (多 吃 幾串),
    which may also be one that begins with one of `adding` (再多 加).
    `enabling`: those before what one can do, where nothing is named before them (還可以 預約) or one of `allowed`
    follows (湯 還可以 自己 加). `surpassing`: degree words with which praise before 的 tells what could be had
    elsewhere (吃得到 更 好 的 套餐). `gradable`: words that judge with a degree word only (很 經典), some of them,
    `predicates`, also as predicates (口感 特別). `likings`: first characters of what `persons` do to what they eat
    (喜歡 咖啡 的 朋友). `naming`: categories of taste words that name a kind of place before its aspect (麻辣 食堂),
    `inside`: of words that between two things are part of a name (鐵板 香辣 牛舌).
    `measures`: words behind an adjective of one character that say by how much, and are no noun (份量 小 一點),
    `bits`: those that do so at the end of their clause (份量 稍微 小 點). `conceding`: verbs at the end of a clause
    that leave its judgement as it is (份量 少 不說). `improving`: words that make the quality
    before them what is to be improved (整潔 有待加強). `rounding`: first characters of what only rounds the number
    before it (八百 多塊). `results`: words that say that what the verb before them names is done (切 好 的 豬排), or
    behind one of `ready` that it is ready (十分鐘 才 好). `nominal`: nouns that judge as predicates only (餐盤 和
    垃圾). `abstract`: nouns of which the words `amounts` only say how much (最大 的 敗筆). `effects`: of which they
    say so as predicates (影響 很 大). `eating`: verbs of the taste that people can take (不能 吃 辣). `habits`:
    aspects that are those of `persons` where the opinion describes them (口味 清淡 的 人). `final`: words that judge
    at the end of their clause only (調味 幾乎沒有, but not 幾乎沒有 標示). `regretting`: words that open what they
    regret, also behind a subject (可惜 好吃的 已經 賣完, 可惜 的 是 座位 很 擠), `relieved` what they welcome (還好 沒
    灑).
    `timing`: words that say that things coincide before 有 or one of `happening` (剛好 賣完). `demanding`: verbs
    before what is to be done, behind which `results` judge nothing (品質 要 把關 好). `rest`: words for all that is
    not named, of which an opinion right behind them is said (雞排 好吃 其他 還好), but for the verdicts
    `further` that head a list (其他 推薦：雞排).
    `suggesting`: what people who sell, or one of `sellers`, say (店員 推薦
    這款), `advisers` those that say the same (朋友 推薦), unless one of `advised` stands before them (給 大家 推薦).
    `consuming`: verbs of which `quantities` say how much a guest takes (吃 多了); behind `needless` they say
    it of the verb that follows (不用 多 介紹). `durations`: how long one did what the verbs `pondering` say (糾結 了
    很久), or did not do (很久 沒 來), or how long a person has done what `employed` say (服務 很久 的 店員).
    `material`: words that without a degree are a stuff (高麗菜 的 油), but for
    predicates (湯 油 得 不能 喝), also behind a verb of `feeling` (覺得 油). `preferred`: categories of which people
    like a kind (喜歡 清淡 的), of any thing behind or in a word that begins with one of `rather` (喜歡 偏 軟 的 米粉).
    `inviting`: words behind those who like something (喜歡 海鮮 的 可以 來). `warning`:
    words that warn only those who like it or, `averse`, do not bear it (不 吃 辣 的 別點). `weather`: nouns that
    nobody reviews, behind 的 (這麼 冷 的 天). `kinds`: adjectives that alone before 的 and a name say which one it is
    (辣 的 菜). `sized`: categories of what a thing is cut into (切成 小塊), `scanty`: of small amounts, which before
    what they measure blame only with a word that begins with one of `restricting` (只有 一小碗 湯). `diminutive`:
    sizes that are part of the name around them (南瓜 小 蛋糕).
    `bearing`: those of `eating` that allow a degree of the taste (不怕 太 酸). `unliked`: likings that, denied
    before what they take, tell what somebody never eats (平常 不 愛吃 生食). `versions`: what a drink comes as (豆漿
    冰 的 比較 好喝). `deliberate`: adverbs of intent behind a negator that ends in one of `willing` and before a verb,
    or one of `purposes` (不會 特別 為了 雞排 排隊). `slips`: categories of what blames those who serve, but none of the
    `guests` (我 不小心 點錯 餐).
    """

    bare: frozenset[str] = frozenset()
    adverbial: frozenset[str] = frozenset()
    caring: frozenset[str] = frozenset()
    serving: frozenset[str] = frozenset()
    joining: frozenset[str] = frozenset()
    also: frozenset[str] = frozenset()
    verbal: frozenset[str] = frozenset()
    adding: tuple[str, ...] = ()
    enabling: frozenset[str] = frozenset()
    allowed: frozenset[str] = frozenset()
    surpassing: frozenset[str] = frozenset()
    gradable: frozenset[str] = frozenset()
    predicates: frozenset[str] = frozenset()
    gaining: frozenset[str] = frozenset()
    quantities: frozenset[str] = frozenset()
    numerals: tuple[str, ...] = ()
    likings: tuple[str, ...] = ()
    persons: frozenset[str] = frozenset()
    naming: tuple[str, ...] = ()
    inside: tuple[str, ...] = ()
    measures: frozenset[str] = frozenset()
    bits: frozenset[str] = frozenset()
    conceding: frozenset[str] = frozenset()
    improving: frozenset[str] = frozenset()
    rounding: tuple[str, ...] = ()
    results: frozenset[str] = frozenset()
    ready: frozenset[str] = frozenset()
    nominal: frozenset[str] = frozenset()
    abstract: frozenset[str] = frozenset()
    amounts: frozenset[str] = frozenset()
    effects: frozenset[str] = frozenset()
    eating: frozenset[str] = frozenset()
    bearing: frozenset[str] = frozenset()
    unliked: frozenset[str] = frozenset()
    habits: frozenset[str] = frozenset()
    final: frozenset[str] = frozenset()
    regretting: frozenset[str] = frozenset()
    relieved: frozenset[str] = frozenset()
    timing: frozenset[str] = frozenset()
    happening: frozenset[str] = frozenset()
    demanding: frozenset[str] = frozenset()
    rest: frozenset[str] = frozenset()
    further: frozenset[str] = frozenset()
    suggesting: frozenset[str] = frozenset()
    sellers: frozenset[str] = frozenset()
    advisers: frozenset[str] = frozenset()
    advised: frozenset[str] = frozenset()
    consuming: frozenset[str] = frozenset()
    needless: frozenset[str] = frozenset()
    weather: frozenset[str] = frozenset()
    durations: frozenset[str] = frozenset()
    pondering: frozenset[str] = frozenset()
    employed: frozenset[str] = frozenset()
    material: frozenset[str] = frozenset()
    feeling: frozenset[str] = frozenset()
    preferred: tuple[str, ...] = ()
    rather: tuple[str, ...] = ()
    inviting: frozenset[str] = frozenset()
    warning: frozenset[str] = frozenset()
    averse: tuple[str, ...] = ()
    kinds: frozenset[str] = frozenset()
    diminutive: frozenset[str] = frozenset()
    sized: tuple[str, ...] = ()
    scanty: tuple[str, ...] = ()
    restricting: tuple[str, ...] = ()
    deliberate: frozenset[str] = frozenset()
    willing: tuple[str, ...] = ()
    purposes: frozenset[str] = frozenset()
    versions: frozenset[str] = frozenset()
    slips: tuple[str, ...] = ()
    guests: frozenset[str] = frozenset()


def is_asserted(units: Sequence[Unit], k: int, plain: bool, rule: AssertionRule, comparison: ComparisonRule) -> bool:
    """Whether opinion word k says something here; `plain`: without a degree word or negator.

    小籠包 熱湯 老店: a one-character adjective before its noun, with nothing before it, names a kind. 可惜沒位子: a
    word that is an adverb here. 經典 古早味: words that judge only with a degree word, some also as predicates
    (口感特別). 喜歡咖啡的朋友: what an eater likes. 很多人: a quantity before its noun. 還可以加湯, 多吃幾串: before a
    verb. 比一般的店: what a thing is held against.
    """
    unit = units[k]
    if unit.entry is not None:  # a construction judges wherever it is found
        return True
    word = unit.word
    if word in rule.final and any(behind.symbol not in _ENDING for behind in units[k + 1 :]):
        return False
    if _is_said_of_the_rest(units, k, rule, comparison):
        return False
    if word in rule.regretting and _opens_what_it_regrets(units, k):
        return False
    if word in rule.relieved and _opens_what_it_welcomes(units, k):
        return False
    if word in rule.results and k and units[k - 1].symbol == VERB and _is_demanded(units, k, rule):
        return False
    after = units[k + 1] if k + 1 < len(units) and units[k + 1].start == unit.end else None
    if after is not None and after.word in rule.bits and k + 2 == len(units):  # 比 隔壁 好 點, 稍微 小 些
        after = after if plain and all(before.symbol != THAN for before in units[:k]) else None
    if after is not None and after.word in rule.conceding and all(unit.symbol == PART for unit in units[k + 2 :]):
        after = None
    touches = k > 0 and units[k - 1].symbol == ASPECT and units[k - 1].end == unit.start
    if after is not None and _belongs_to_next(word, after, plain, touches, _opens(units, k), rule):
        return False
    if plain and k and units[k - 1].end == unit.start and _completes_word_before(units[k - 1], unit, after, rule):
        return False
    if word in rule.versions and _names_a_version(units, k):
        return False
    if word in rule.deliberate and after is not None and _tells_intent(units, k, after, rule):
        return False
    if word in rule.enabling and after is not None and after.symbol == ASPECT and _opens(units, k):
        return False
    if word in rule.enabling and after is not None and after.word in rule.allowed:
        return False
    behind = units[k + 1 : k + 3]
    if word in comparison.common and k and units[k - 1].word in comparison.comparatives and after is not None:
        return after.symbol not in NOMINALS
    if word in rule.amounts and len(behind) == 2 and behind[0].symbol == DE and behind[1].word in rule.abstract:
        return False
    if word in rule.amounts and _says_how_great_an_effect(units, k, rule):
        return False
    if word in comparison.common and _owns_what_is_denied(units, k):
        return False
    if plain and word in comparison.common and _ends_a_likeness(units, k, comparison):
        return False
    if (word.startswith(rule.likings) or word in rule.bearing) and _is_said_of_the_eater(units, k, rule):
        return False
    if _is_a_taste_of_eaters(units, k, rule):
        return False
    if not plain:
        return True
    if after is not None and _is_number(after, rule) and any(unit.symbol == THAN for unit in units[:k]):
        return True  # 比隔壁貴二十塊
    if word in rule.gradable and not _is_joined(units, k, rule):
        return word in rule.predicates and _judges_ungraded(units, k, touches, rule)
    if word in rule.kinds and _names_a_kind(units, k, rule):
        return False
    if touches or _is_added(units, k, rule):  # 湯濃麵硬: said of the aspect it touches
        return True
    if after is None or after.symbol not in _NAMED or after.word in rule.measures:
        return True
    return len(word) > 1 or word in rule.bare


def _is_added(units: Sequence[Unit], k: int, rule: AssertionRule) -> bool:
    """座位 又 大 環境 也 好: said of the aspect before `joining` or `also`, no part of the name behind it."""
    return k > 1 and units[k - 1].word in rule.joining | rule.also and units[k - 2].symbol == ASPECT


def _names_a_version(units: Sequence[Unit], k: int) -> bool:
    """豆漿 冰 的 比較 好喝, 只 有 燙 過: what is ordered hot or cold, or was heated; 咖啡 是 冰 的 judges."""
    behind = units[k + 1 : k + 3]
    if behind and behind[0].word == "過":
        return True
    return len(behind) == 2 and behind[0].symbol == DE and behind[1].symbol not in _ENDING | _NAMED


def _tells_intent(units: Sequence[Unit], k: int, after: Unit, rule: AssertionRule) -> bool:
    """不會 特別 去 買, 不用 特別 為了 雞排 排隊: how a guest would do what the units behind name."""
    willing = k > 0 and units[k - 1].symbol == NEG and units[k - 1].word.endswith(rule.willing)
    return willing and (after.symbol in _DONE_ON_PURPOSE or after.word in rule.purposes)


def _opens(units: Sequence[Unit], k: int) -> bool:
    """Whether no aspect stands before unit k in its clause."""
    return all(unit.symbol != ASPECT for unit in units[:k])


def _is_said_of_the_rest(units: Sequence[Unit], k: int, rule: AssertionRule, comparison: ComparisonRule) -> bool:
    """雞排 好吃 其他 都 還好: not 其他 餐點 還好, which names them, nor 比 其他 好吃."""
    at = k - 1
    while at >= 0 and units[at].symbol in _BEFORE_PREDICATE:
        at -= 1
    if at < 0 or units[at].word not in rule.rest:
        return False
    if at == k - 1 and k + 1 == len(units) and units[k].word in rule.further:  # 其他 推薦：
        return False
    if at == 0:
        return True
    before = units[at - 1]
    return before.symbol not in _HELD_AGAINST and before.word not in comparison.introducers


def _is_joined(units: Sequence[Unit], k: int, rule: AssertionRule) -> bool:
    """好看 又 健康, 傳統 又 好看, 好看 也 特別: whether a word that joins it to another opinion is beside k."""
    before, behind = [u.symbol for u in units[max(0, k - 2) : k]], [u.symbol for u in units[k + 1 : k + 3]]
    if before[:1] == [OPINION] and len(before) == 2 and units[k - 1].word in rule.joining | rule.also:
        return True
    return behind[1:] == [OPINION] and units[k + 1].word in rule.joining


def _judges_ungraded(units: Sequence[Unit], k: int, touches: bool, rule: AssertionRule) -> bool:
    """口感 特別, 特別 的 香氣, 營養 健康: whether a word that elsewhere judges with a degree word only does without.

    It ends its clause as the predicate of what it touches or as all of it, it describes what stands behind 的 (but
    新 的 椅子), or it touches another opinion.
    """
    behind = [unit.symbol for unit in units[k + 1 : k + 3]]
    if behind == [DE, ASPECT]:
        return units[k].word not in rule.kinds
    if any(unit.symbol == OPINION for unit in _neighbours(units, k)):
        return True
    return (touches or k == 0) and all(unit.symbol in _ENDING for unit in units[k + 1 :])


def _neighbours(units: Sequence[Unit], k: int) -> list[Unit]:
    """The units that touch unit k."""
    before, behind = units[max(0, k - 1) : k], units[k + 1 : k + 2]
    return [*(u for u in before if u.end == units[k].start), *(u for u in behind if u.start == units[k].end)]


def _names_a_kind(units: Sequence[Unit], k: int, rule: AssertionRule) -> bool:
    """辣 的 菜, 大 的 盒子: what stands alone before 的 and a name says which one it is; 又 甜 又 辣 的 judges."""
    if k and (units[k - 1].symbol in (ASPECT, OPINION) or units[k - 1].word in rule.joining):
        return False
    return [unit.symbol for unit in units[k + 1 : k + 3]] == [DE, ASPECT]


def _opens_what_it_regrets(units: Sequence[Unit], k: int) -> bool:
    """可惜 好吃的 賣完, 可惜 的 是 座位 很 擠: whether what is regretted follows, as a statement of its own."""
    behind = [unit.symbol for unit in units[k + 1 : k + 3]]
    return behind == [DE, COP] or (k == 0 and behind[:1] in ([OPINION], [DEG], [NEG]))


def _opens_what_it_welcomes(units: Sequence[Unit], k: int) -> bool:
    """送 錯 了，還好 給 補 了; 還好 吧 and 還好 的 味道 judge."""
    opens = all(unit.symbol in (BUT, CONJ, ADV) for unit in units[:k])
    return opens and k + 1 < len(units) and units[k + 1].symbol not in _BEHIND_VERDICT


def _ends_a_likeness(units: Sequence[Unit], k: int, comparison: ComparisonRule) -> bool:
    """比 一般 的 店, 像 空氣 一般, 像 石頭 一般 硬: what a thing is held against or likened to is not judged."""
    if k and units[k - 1].word in comparison.introducers:
        return True
    likened = any(unit.word.endswith(tuple(comparison.likening)) for unit in units[:k])
    return likened and all(unit.symbol in (PART, DEG, OPINION) for unit in units[k + 1 :])


def _owns_what_is_denied(units: Sequence[Unit], k: int) -> bool:
    """沒有 一般 羊肉 的 羶味, 沒有 羊肉 平常 的 羶味: what is usual of others, behind a negator."""
    owner = [unit.symbol for unit in units[k + 1 : k + 3]]
    if owner[:1] == [DE] and k > 1 and units[k - 1].symbol in NOMINALS:
        return units[k - 2].symbol == NEG
    return k > 0 and units[k - 1].symbol == NEG and len(owner) == 2 and owner[0] in NOMINALS and owner[1] == DE


def _is_demanded(units: Sequence[Unit], k: int, rule: AssertionRule) -> bool:
    """要 把關 好, 該 煮 好: nothing stands between a demand and its verb but 把 and adverbs."""
    return any(unit.word in rule.demanding for unit in units[max(0, k - 4) : k - 1])


def _belongs_to_next(word: str, after: Unit, plain: bool, touches: bool, opens: bool, rule: AssertionRule) -> bool:
    """Whether an opinion word modifies, counts or continues the unit behind it.

    動作快翻桌率高, 服務好也: what `touches` an aspect before it is no adverb of a noun, adverb or degree word
    behind it.
    好食物: an adjective of one character modifies a name as an adjective.
    """
    if plain and after.word in rule.improving:
        return True
    if plain and word in rule.regretting and after.symbol in _REGRETTED:
        return True
    if word in rule.timing and (after.symbol in _COINCIDING or after.word in rule.happening):
        return True
    if word in rule.timing and opens and after.symbol in _OCCURRING:
        return True
    caring = word in rule.caring and after.word in rule.serving
    if word in rule.adverbial and after.word not in rule.joining and not caring and after.word != _EXTENT:
        modified = _MODIFIED if plain else _MODIFIED_VERB
        if touches:
            modified -= _BEHIND_PREDICATE
        if word in rule.bare:
            modified -= _NAMES
        if after.symbol in modified or (after.symbol == COP and plain and not touches and len(word) > 1):
            return True
    if word in rule.gaining and after.word.startswith(rule.numerals) and after.word not in rule.measures:
        return True
    counted = after.symbol in _COUNTED and after.word not in rule.measures
    if word in rule.quantities and counted and (plain or not after.word.startswith(rule.numerals)):
        return True
    if after.word == _EXTENT:
        return False
    return word in rule.verbal and (after.symbol == VERB or after.word.startswith(rule.adding))


def _is_number(unit: Unit, rule: AssertionRule) -> bool:
    return unit.symbol == NUM or unit.word.startswith(rule.numerals)


def _completes_word_before(before: Unit, unit: Unit, after: Unit | None, rule: AssertionRule) -> bool:
    """Whether an opinion word rounds the number before it (八百 多塊), says that a verb's work is done (切 好 的, 才
    好), or is a noun there (餐盤 和 垃圾).
    """
    if _is_number(before, rule) and unit.word.startswith(rule.rounding):
        return True
    if unit.word in rule.nominal and before.symbol in _NOMINAL_CONTEXT:
        return True
    if unit.word not in rule.results:
        return False
    if before.word in rule.ready:
        return after is None or after.symbol == PART
    return before.symbol == VERB and len(before.word) == 1 and after is not None and after.symbol == DE


def _says_how_great_an_effect(units: Sequence[Unit], k: int, rule: AssertionRule) -> bool:
    """對 小孩 影響 很 大: the size of what is no aspect."""
    at = k - 1
    while at >= 0 and units[at].symbol in (DEG, NEG, ADV):
        at -= 1
    return at >= 0 and units[at].word in rule.effects


def _is_said_of_the_eater(units: Sequence[Unit], k: int, rule: AssertionRule) -> bool:
    """喜歡 咖啡 的 朋友, 不 愛喝 湯 的 我, 平常 不 愛吃 生食: what a person likes, or does not like to eat,
    is said of nothing that was served.
    """
    if units[k].word in rule.gradable and k and units[k - 1].symbol == NEG:
        return True
    denied = units[k].word in rule.unliked and any(unit.symbol == NEG for unit in units[max(0, k - 2) : k])
    if denied and _opens(units, k) and k + 1 < len(units):
        return units[k + 1].symbol in _TAKEN
    if k == 0 and any(after.word in rule.enabling and before.symbol == ASPECT for before, after in pairwise(units)):
        return True  # 喜歡 雞排 可以 來
    behind = units[k + 1 : k + 3]
    if behind and behind[0].word.startswith(rule.rather) and any(unit.symbol == OPINION for unit in behind):
        return True  # 喜歡 偏 軟 的 米粉
    eaters = rule.persons | rule.inviting
    return any(after.word in eaters and before.symbol == DE for before, after in pairwise(units[k + 1 :]))


def _is_a_taste_of_eaters(units: Sequence[Unit], k: int, rule: AssertionRule) -> bool:
    """喜歡 吃 甜 的 人, 口味 清淡 的 朋友: what people like is said of nothing that was served."""
    before = [unit for unit in units[max(0, k - 3) : k] if unit.symbol not in (DEG, NEG)]
    if not any(unit.word.startswith(rule.likings) or unit.word in rule.habits for unit in before[-2:]):
        return False
    behind = units[k + 1 : k + 4]
    return any(after.word in rule.persons and unit.symbol == DE for unit, after in pairwise(behind))


def is_taste_taken(units: Sequence[Unit], k: int, lexicon: Lexicon, rule: AssertionRule) -> bool:
    """不能 吃 辣, 不敢 吃 太 辣: the taste that somebody can or cannot take is said of nothing that was served."""
    at, graded = k - 1, False
    while at >= 0 and units[at].symbol in (NEG, PART, DEG):  # 吃 不 了 辣
        graded = graded or units[at].symbol == DEG
        at -= 1
    if at > 0 and units[at].word in rule.eating and units[at - 1].word in rule.bearing:  # 不敢 喝 太 酸
        at -= 1
    if at < 0 or units[at].word not in (rule.bearing if graded else rule.eating | rule.bearing):
        return False
    return entry_of(units[k], lexicon).category.startswith(rule.naming)


def names_kind_of_place(units: Sequence[Unit], k: int, lexicon: Lexicon, rule: AssertionRule) -> bool:
    """麻辣食堂, 酸辣口味: a taste word right before an aspect that is no food names a kind of it."""
    unit, after = units[k], units[k + 1] if k + 1 < len(units) else None
    if after is None or after.start != unit.end or after.symbol != ASPECT or (k and units[k - 1].symbol == ASPECT):
        return False
    if not entry_of(unit, lexicon).category.startswith(rule.naming):
        return False
    return lexicon.role(after.word.lower()) not in THINGS | ATTRIBUTES


def stands_in_a_name(units: Sequence[Unit], k: int, lexicon: Lexicon, rule: AssertionRule) -> bool:
    """鐵板 香辣 牛舌: a word between two things that it touches is part of a name, where nothing is said behind them
    (雞腿 嫩 薯條 脆).
    """
    if not 0 < k < len(units) - 1:
        return False
    before, unit, after = units[k - 1 : k + 2]
    if before.symbol != ASPECT or after.symbol != ASPECT or before.end != unit.start or unit.end != after.start:
        return False
    if any(lexicon.role(beside.word.lower()) not in THINGS for beside in (before, after)):
        return False
    if not entry_of(unit, lexicon).category.startswith(rule.inside):
        return False
    return all(behind.symbol != OPINION for behind in units[k + 2 :])


def tells_what_could_be(units: Sequence[Unit], k: int, lexicon: Lexicon, rule: AssertionRule) -> bool:
    """吃得到 更 好 的 套餐: better things are others than those judged. 更 好吃 的 是 雞排 names which."""
    behind = units[k + 1 : k + 3]
    if not k or units[k - 1].word not in rule.surpassing or len(behind) < 2 or behind[0].symbol != DE:
        return False
    if behind[1].symbol in _NAMING or any(unit.symbol in (COP, THAN) for unit in units):
        return False
    return entry_of(units[k], lexicon).valence >= 5
