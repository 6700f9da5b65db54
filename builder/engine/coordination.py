"""Coordinations of aspects: what 、 和 跟 join, and what stands side by side before a word that gathers it
(餐點服務都好).

In: the constituents of a clause, and the list that clauses before it began (湯、麵，小菜都很好吃). Out: which aspects
share an opinion. Pure.
"""

from __future__ import annotations

from collections.abc import Sequence

from builder.engine.constituents import ATTRIBUTES, THINGS, Constituent, Term, is_thing
from builder.engine.rows import EngineClasses
from builder.engine.symbols import ADV, ASPECT, DEG, JOINERS, NOUN, symbol_set

_LONGEST_LIST = 40
"""Aspects that a list over several clauses holds at most."""
_OPEN_MARKS = frozenset(",，;；/ ")
"""Marks behind which a list may go on."""

_MODIFIED = (symbol_set("ASPECT"), JOINERS, symbol_set("NOUN ADJ PRON NUM BLOCKED VERB"), symbol_set("DE"))
"""An aspect, what joins the next one to it, and what modifies that."""


def make_listed_nouns_aspects(clause: list[Constituent]) -> list[Constituent]:
    """The clause, changed in place: a noun that a list comma or conjunction joins to an aspect becomes one."""
    for i in range(1, len(clause) - 1):
        if clause[i].symbol in JOINERS:
            left, right = clause[i - 1], clause[i + 1]
            if left.symbol == ASPECT and right.symbol == NOUN and len(right.word) > 1:
                clause[i + 1] = right._replace(symbol=ASPECT, term=Term(""))
            elif right.symbol == ASPECT and left.symbol == NOUN and len(left.word) > 1:
                clause[i - 1] = left._replace(symbol=ASPECT, term=Term(""))
    return clause


def add_coordinated(
    clause: Sequence[Constituent], aspects: tuple[Constituent, ...], words: EngineClasses
) -> tuple[Constituent, ...]:
    """An aspect and those of its coordination (paper: `conj`); several aspects stay as they are."""
    if len(aspects) != 1:
        return aspects
    for at, item in enumerate(clause):
        if item is aspects[0]:
            return aspects + tuple([clause[i] for i in _find_coordination(clause, at, words) if i != at])
    return aspects


def keep_kind(aspects: tuple[Constituent, ...], behind: int) -> tuple[Constituent, ...]:
    """精緻 的 裝潢 和 店員: an opinion before 的, which ends at `behind`, modifies the first of a list and what is like
    it.
    """
    if aspects[0].start < behind:
        return aspects
    return tuple([item for item in aspects if _kind_of(item) == _kind_of(aspects[0])])


def add_listed(
    clause: Sequence[Constituent],
    aspects: tuple[Constituent, ...],
    begun: Sequence[Constituent],
    words: EngineClasses,
) -> tuple[Constituent, ...]:
    """The aspects with those of the list `begun` in clauses before this one: 湯、麵，小菜都很好吃.

    Only where this clause gathers the list, and where all can stand in one: 漢堡、薯條，味道都很好 is about 味道 alone.
    """
    first = next((i for i, item in enumerate(clause) if item.term is not None), None)
    last = -1 if first is None else _find_coordination(clause, first, words)[-1]
    ours = first is None or clause[first] in aspects
    if first and words.holds("POINTING", clause[first - 1].word):
        return aspects
    if not ours or not _can_be_listed(begun, aspects) or not is_gathered(clause, last, words, over_commas=True):
        return aspects
    return aspects + tuple([item for item in begun if item not in aspects])


def _can_be_listed(begun: Sequence[Constituent], aspects: Sequence[Constituent]) -> bool:
    """Whether a list can go on with `aspects`: behind a thing its parts and attributes are what is judged alone."""
    first, last = {_kind_of(item) for item in begun}, {_kind_of(item) for item in aspects}
    return first == last or "thing" in last or "thing" not in first or not last & {"part", "attribute"}


def _kind_of(item: Constituent) -> str:
    """What may stand in one list: things, parts of them, attributes, or what else is judged."""
    if is_thing(item):
        return "thing"
    role = item.own_term.role
    return role if role in ("part", "person") else "attribute" if role in ATTRIBUTES else ""


def open_list(
    clause: Sequence[Constituent], begun: tuple[Constituent, ...], mark: str, words: EngineClasses
) -> tuple[Constituent, ...]:
    """The list that may go on behind the clause: the aspects of a clause that ends with one and judges nothing.

    It joins them (湯、麵，) or is an aspect alone (湯，麵，). `begun`: the list that it may go on with; `mark`: what
    ends the clause.
    """
    last = len(clause) - 1
    if mark not in _OPEN_MARKS or clause[last].symbol != ASPECT or any(item.phrase for item in clause):
        return ()
    run = _find_coordination(clause, last, words)
    if not (len(run) > 1 or mark == "/" or clause[0].symbol in JOINERS or begun or last == 0):
        return ()
    return (*begun, *[clause[i] for i in run])[-_LONGEST_LIST:]


def _find_coordination(clause: Sequence[Constituent], at: int, words: EngineClasses) -> list[int]:
    """The places of the aspects coordinated with the one at `at`, itself included.

    Between them stands 、 or a conjunction or, before a word that gathers them, nothing.
    """
    first = at
    while step := _step_to_previous(clause, first, words):
        first -= step
    out = [first]
    for i in range(first + 1, len(clause)):
        if clause[i].term is not None:
            if not _step_to_previous(clause, i, words):
                break
            out.append(i)
    return out


def _step_to_previous(clause: Sequence[Constituent], i: int, words: EngineClasses) -> int:
    """How many places before aspect i the one stands that it is coordinated with; 0 if there is none."""
    if i >= 2 and clause[i - 1].symbol in JOINERS and clause[i - 2].symbol == ASPECT:
        return 2
    if i >= 4 and all(item.symbol in kinds for item, kinds in zip(clause[i - 4 : i], _MODIFIED, strict=True)):
        return 4  # 環境 和 這裡 的 服務
    touches = i and clause[i - 1].symbol == ASPECT and clause[i - 1].end == clause[i].start
    return 1 if touches and are_gathered(clause, i, words) else 0


def are_gathered(clause: Sequence[Constituent], i: int, words: EngineClasses) -> bool:
    """餐點服務都好, 餐點服務也都好: whether behind the run of aspects that touch, of which i is one, stands a word that
    gathers them.
    """
    while i + 1 < len(clause) and clause[i + 1].symbol == ASPECT and clause[i + 1].start == clause[i].end:
        i += 1
    return is_gathered(clause, i, words)


def is_gathered(clause: Sequence[Constituent], last: int, words: EngineClasses, *, over_commas: bool = False) -> bool:
    """Whether a word that gathers stands behind the place `last`, over adverbs."""
    names = ("GATHERING", "PARTED") if over_commas else ("GATHERING",)
    for item in clause[last + 1 :]:
        if any(words.holds(name, item.word) for name in names):
            return True
        if item.symbol not in (ADV, DEG):
            break
    return False


# ---- Singled-out aspects

_ENDING = symbol_set("PART CONJ ADV OPINION")
"""Behind an opinion that ends its clause, alone or with others (好吃 且 超值)."""
_NAMES = symbol_set("ASPECT CONJ LIST NUM NOUN BLOCKED PRON PART DE COP")
"""Units of a clause that names things and says nothing of them."""


def find_singled(
    clause: Sequence[Constituent], at: int, behind: Sequence[Constituent], words: EngineClasses
) -> tuple[Constituent, ...]:
    """The things that `behind` names with a word of ABOVE_ALL, if opinion `at` ends its clause, or others behind it do.

    尤其是湯很好喝 and 尤其是晚上 name none: a clause with a predicate of its own, or no thing in it.
    """
    if not behind or not words.holds("ABOVE_ALL", behind[0].word):
        return ()
    if any(item.symbol not in _ENDING for item in clause[at + 1 :]):
        return ()
    if not all(item.symbol in _NAMES for item in behind[1:]):
        return ()
    return tuple([item for item in behind if item.term is not None and item.term.role in THINGS])
