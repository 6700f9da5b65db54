"""Which candidates the engine bars, which it excepts, and which aspects an opinion singles out. Pure.

Barred are aspects of which their clause says nothing: the place where another one is (廁所 在 二樓), and a person's
taste (我 口味 重). In: a clause's constituents with its opinion phrases, and the rule of terms. Out: the clause without
them.

Singled out is what an opinion holds of above all, named in the clause behind it: 都很好吃，尤其是湯. In: the
constituents of both clauses. Out: the aspects that the second one names.

Excepted are pairs of words that are no triplet, whatever rule would make one: rules of kind `exception`. In: the rules.
Out: for each opinion the aspects it is never said of, by their words as triplets show them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from builder.core.errors import ResourceError
from builder.core.records import Triplet
from builder.engine.constituents import THINGS, Constituent
from builder.engine.extent import ExtentRule
from builder.engine.symbols import ADJ, ASPECT, BLOCKED, DE, symbol_set
from builder.engine.weighing import make_opinion
from builder.language.lexicon.rules import Rule

if TYPE_CHECKING:
    from builder.engine.terms import TermRule

# ---- Barred aspects

_PLACE_UNITS = symbol_set("ASPECT NOUN BLOCKED NUM PRON DE ADJ")
"""What the name of a place is made of (商場 的 二樓)."""
_BEFORE_PREDICATE = symbol_set("ADV DEG NEG COP")
"""Between a person's taste and what is said of it."""


def bar_places(clause: list[Constituent], rule: TermRule) -> list[Constituent]:
    """The clause without the place where the thing named before is: 廁所 在 二樓, 牛蛙 放 在 湯鍋 裡.

    Nothing is judged between the two, and what names no place stays (這家店 在 環境 上 有 加分).
    """
    out = clause
    for i in range(1, len(clause) - 1):
        if clause[i].word not in rule.situating or not _is_named_unjudged(clause[:i]):
            continue
        end = next((k for k in range(i + 1, len(clause)) if clause[k].symbol not in _PLACE_UNITS), len(clause))
        if clause[end - 1].symbol == DE and end < len(clause) and clause[end].phrase:  # 特色 在 奶茶 的 香
            continue
        if all(_names_a_place(item, rule) for item in clause[i + 1 : end] if item.term):
            barred = [x._replace(symbol=BLOCKED, term=None) if x.term else x for x in clause[i + 1 : end]]
            out = [*out[: i + 1], *barred, *out[end:]]
    return out


def _names_a_place(item: Constituent, rule: TermRule) -> bool:
    """Whether an aspect may be where another one is; not one that is an attribute of it."""
    assert item.term is not None
    return item.term.cls.startswith(rule.places) and not item.word.endswith(rule.unsituated)


def _is_named_unjudged(before: Sequence[Constituent]) -> bool:
    """Whether an aspect stands before, with no opinion behind it."""
    for item in reversed(before):
        if item.phrase is not None:
            return False
        if item.symbol == ASPECT:
            return True
    return False


def bar_habits(clause: list[Constituent], rule: TermRule) -> list[Constituent]:
    """The clause without what people say of their own taste: 我 口味 重, 老公 食量 不 大, 每個人 口味 不同.

    符合 我 口味 and 他家 口味 重 judge what was served.
    """
    for i in range(1, len(clause) - 1):
        if clause[i].word not in rule.habits:
            continue
        if _is_had_by(clause[:i], rule.everyone):
            clause = [*clause[:i], clause[i]._replace(symbol=BLOCKED, term=None), *clause[i + 1 :]]
            continue
        if not _is_had_by(clause[:i], rule.eaters):
            continue
        at = next((k for k in range(i + 1, len(clause)) if clause[k].symbol not in _BEFORE_PREDICATE), i)
        phrase = clause[at].phrase
        if phrase is None or not phrase.entry.category.startswith(rule.habitual):
            continue
        habit = clause[i]._replace(symbol=BLOCKED, term=None)
        judged = clause[at]._replace(symbol=ADJ, phrase=None)
        clause = [*clause[:i], habit, *clause[i + 1 : at], judged, *clause[at + 1 :]]
    return clause


def _is_had_by(before: Sequence[Constituent], persons: Collection[str]) -> bool:
    """我, 我 的, and nothing that judges before (符合 我 口味)."""
    if not before:
        return False
    at = len(before) - 1
    if before[at].symbol == DE and at:
        at -= 1
    whole = "".join(item.word for item in before[max(0, at - 1) : at + 1])  # 每個 人
    return (before[at].word in persons or whole in persons) and all(item.phrase is None for item in before)


# ---- Singled-out aspects

_ENDING = symbol_set("PART CONJ ADV OPINION")
"""Behind an opinion that ends its clause, alone or with others (好吃 且 超值)."""
_NAMES = symbol_set("ASPECT CONJ LIST NUM NOUN BLOCKED PRON PART DE COP")
"""Units of a clause that names things and says nothing of them."""


def find_singled(
    clause: Sequence[Constituent], at: int, behind: Sequence[Constituent], above_all: Collection[str]
) -> tuple[Constituent, ...]:
    """The things that `behind` names with one of `above_all`, if opinion `at` ends its clause, or others behind it do.

    尤其是湯很好喝 and 尤其是晚上 name none: a clause with a predicate of its own, or no thing in it.
    """
    if not behind or behind[0].word not in above_all or any(item.symbol not in _ENDING for item in clause[at + 1 :]):
        return ()
    if not all(item.symbol in _NAMES for item in behind[1:]):
        return ()
    return tuple([item for item in behind if item.term is not None and item.term.role in THINGS])


# ---- Excepted pairs

_PLAIN = ExtentRule()
"""An opinion shows as its core and its negators, whatever else belongs to the whole stretch."""
Exceptions = Mapping[str, frozenset[str]]
"""Opinion -> the aspects that it is never said of."""


@dataclass(frozen=True, slots=True)
class ExceptionRule:
    """`pairs`: `aspect|opinion`, as triplets show them: the opinion with its negator."""

    pairs: tuple[str, ...]


def compile_exceptions(rules: Iterable[tuple[Rule, ExceptionRule]]) -> Exceptions:
    """Opinion -> the aspects it is never said of. ResourceError where a pair is none."""
    aspects: dict[str, set[str]] = {}
    for rule, params in rules:
        for pair in params.pairs:
            aspect, _, opinion = pair.partition("|")
            if not aspect or not opinion or "|" in opinion:
                message = f"rule {rule.name!r}: {pair!r} is no pair"
                raise ResourceError(message, where=rule.at("pairs"), fix='write "aspect|opinion"')
            aspects.setdefault(opinion, set()).add(aspect)
    return {opinion: frozenset(words) for opinion, words in aspects.items()}


def is_excepted(text: str, item: Constituent, aspect: Constituent, exceptions: Exceptions) -> bool:
    """Whether an opinion is never said of an aspect, by the words that a triplet of both would show."""
    if not exceptions:  # as good as always, and this is asked of every candidate
        return False
    assert item.phrase is not None
    assert aspect.term is not None
    aspects = exceptions.get(make_opinion(text, (item,), 0, _PLAIN)[0].text)
    return aspects is not None and text[aspect.start + aspect.term.lead : aspect.end] in aspects


def drop_excepted(triplets: Iterable[Triplet | None], exceptions: Exceptions) -> list[Triplet | None]:
    """The triplets, None for each that is an exception."""
    return [t if t and t.aspect.text not in exceptions.get(t.opinion.text, ()) else None for t in triplets]
