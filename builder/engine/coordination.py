"""Coordinations of aspects: what 、 和 跟 join, and what stands side by side before a word that gathers it
(餐點服務都好).

In: the constituents of a clause, and the list that clauses before it began (湯、麵，小菜都很好吃). Out: which aspects
share an opinion. Pure.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from builder.engine.constituents import ATTRIBUTES, Constituent, Term, is_kind, is_thing
from builder.engine.symbols import ADV, ASPECT, BUT, CONJ, DE, DEG, JOINERS, LIST, NOUN, symbol_set

_MODIFIERS = symbol_set("NOUN ADJ PRON NUM BLOCKED")
_RELATIVE = _MODIFIERS | symbol_set("VERB PREP DE ASPECT")
_PREDICATE = symbol_set("VERB ADV ADJ NOUN PREP AUX PART BLOCKED")
_BEFORE_ORDERED = symbol_set("PART NUM BLOCKED")
"""Between a verb of ordering and the thing (點 了 一份 湯)."""
_REACH = 4
"""Words that may stand between a conjunction and the aspect it joins."""
_LONGEST_LIST = 40
"""Aspects that a list over several clauses holds at most."""
_OPEN_MARKS = frozenset(",，;；/ ")
"""Marks behind which a list may go on."""
_NAMED = frozenset({"thing", "part"})
"""Kinds of aspects that a list names (`_kind_of`)."""
_NAME_PARTS = symbol_set("NOUN ADJ PART BLOCKED VERB")
_NAME_ENDS = symbol_set("NOUN PART")
"""Words of a name between list commas, and its last."""
_PARTED = [[ASPECT, LIST], [ASPECT, CONJ]]
"""An aspect before a word for what concerns it, and what joins the next one."""
_LISTED = JOINERS | symbol_set("ASPECT NUM")
"""Units of a clause that goes on with a list."""


@dataclass(frozen=True, slots=True)
class ListRule:
    """Parameters of a rule of kind `list`.

    Aspects that touch are a list where `touching` says so, before a word of `gathering` (餐點服務都好); two whole
    things only if they are `things`, and the pairs of classes `ungathered` without such a word (效能散熱不錯). Words
    of `parted` gather over commas alone (湯，麵都是涼的, but 外賣袋子都是濕的), over those of `trailing`
    (湯，麵等都). Those of `offering` offer alternatives (無論), which `choosing` joins (還是); those of `ranging`
    open a range (從), of which `reaching` joins the ends (到). `beginning`: words before the first aspect of a list
    over commas (從湯，麵). `summing`: words that sum it up, behind one of `pointing` or alone (湯，麵這兩樣).
    `adding`: conjunctions before its last (湯，麵以及小菜). `bare`: classes of things whose bare names are a list
    (紅茶，奶茶很香). `singling`: words before one of it (湯、尤其是麵). `above_all`: words that open a clause with
    what the opinion before it holds of above all (都很好吃，尤其是湯). `giving`: words for what is given to guests
    (湯和招待的麵). `parts`: words behind a member for what concerns it (餐點部分和服務). `further`: words before the
    last for more of it (雞腿和其他小菜). `unlisted`: classes of which one alone begins none (這家店，湯都好喝), but
    for words that end in one of `heads_of_lists` (環境，服務都好). `ordering`: verbs before the first thing of a list
    of three or more (點了湯，麵，小菜都好吃). `continuing`: categories of opinions whose objects are listed behind
    them (推薦雞排，薯條). `alike`: classes of which a list shares what stands before 的 (漂亮的面板和續航); `shared`:
    categories of opinions that any list shares so (很棒的服務和餐點).
    """

    gathering: frozenset[str] = frozenset()
    offering: frozenset[str] = frozenset()
    choosing: frozenset[str] = frozenset()
    ranging: frozenset[str] = frozenset()
    reaching: frozenset[str] = frozenset()
    beginning: frozenset[str] = frozenset()
    summing: frozenset[str] = frozenset()
    unlisted: tuple[str, ...] = ()
    heads_of_lists: tuple[str, ...] = ()
    things: tuple[str, ...] = ()
    pointing: frozenset[str] = frozenset()
    continuing: tuple[str, ...] = ()
    trailing: frozenset[str] = frozenset()
    adding: frozenset[str] = frozenset()
    singling: frozenset[str] = frozenset()
    above_all: frozenset[str] = frozenset()
    giving: frozenset[str] = frozenset()
    bare: tuple[str, ...] = ()
    touching: bool = True
    alike: tuple[str, ...] = ()
    shared: tuple[str, ...] = ()
    ungathered: tuple[str, ...] = ()
    ordering: frozenset[str] = frozenset()
    parted: frozenset[str] = frozenset()
    parts: frozenset[str] = frozenset()
    further: frozenset[str] = frozenset()


def make_listed_nouns_aspects(clause: list[Constituent]) -> list[Constituent]:
    """The clause, changed in place: a noun that a list comma or conjunction joins to an aspect becomes one.

    So does a name of several words between list commas (蛋餅、金沙 球、蘿蔔糕).
    """
    for i in range(1, len(clause) - 1):
        if clause[i].symbol in JOINERS:
            left, right = clause[i - 1], clause[i + 1]
            if left.symbol == ASPECT and right.symbol == NOUN and len(right.word) > 1:
                clause[i + 1] = right._replace(symbol=ASPECT, term=Term(""))
            elif right.symbol == ASPECT and left.symbol == NOUN and len(left.word) > 1:
                clause[i - 1] = left._replace(symbol=ASPECT, term=Term(""))
    for i in range(len(clause) - 4, 0, -1):
        if clause[i].symbol == LIST and _is_named(clause[i - 1]) and (end := _end_name(clause, i + 1)):
            run = clause[i + 1 : end]
            name = "".join([item.word for item in run])
            clause[i + 1 : end] = [run[-1]._replace(start=run[0].start, symbol=ASPECT, word=name, term=Term(""))]
    return clause


def _is_named(item: Constituent) -> bool:
    """Whether an aspect is a thing, or a name that no lexicon holds."""
    return item.term is not None and (not item.term.cls or is_thing(item))


def _end_name(clause: Sequence[Constituent], first: int) -> int:
    """Behind the two or three words that from `first` on touch up to the next list comma and may be a name; else 0."""
    for end in range(first + 2, min(first + 4, len(clause))):
        if clause[end - 1].start != clause[end - 2].end or clause[end - 2].symbol not in _NAME_PARTS:
            return 0
        if clause[end].symbol == LIST:
            return end if clause[end - 1].symbol in _NAME_ENDS else 0
    return 0


def join_alternatives(clause: list[Constituent], rule: ListRule) -> list[Constituent]:
    """The clause, changed in place: a word that joins alternatives or the ends of a range is a conjunction.

    The first stands behind 無論 (還是), the second behind 從 or an aspect, before an aspect that a word gathers
    (從湯 到 麵 都).
    """
    offered = ranged = False
    for i, item in enumerate(clause):
        offered = offered or item.word in rule.offering
        ranged = ranged or item.word in rule.ranging
        begun = ranged or (i and clause[i - 1].symbol == ASPECT)
        joins_range = begun and item.word in rule.reaching and clause[i + 1 : i + 2]
        if (offered and item.word in rule.choosing) or (
            joins_range and clause[i + 1].symbol == ASPECT and is_gathered(clause, i + 1, rule)
        ):
            clause[i] = item._replace(symbol=CONJ)
    return clause


def add_coordinated(
    clause: Sequence[Constituent], aspects: tuple[Constituent, ...], rule: ListRule
) -> tuple[Constituent, ...]:
    """An aspect and those of its coordination (paper: `conj`); several aspects stay as they are."""
    if len(aspects) != 1:
        return aspects
    for at, item in enumerate(clause):
        if item is aspects[0]:
            return aspects + tuple([clause[i] for i in _find_coordination(clause, at, rule) if i != at])
    return aspects


def keep_kind(aspects: tuple[Constituent, ...], behind: int, alike: tuple[str, ...]) -> tuple[Constituent, ...]:
    """精緻 的 裝潢 和 店員: an opinion before 的, which ends at `behind`, modifies the first of a list and what is like
    it.
    """
    if aspects[0].start < behind:
        return aspects
    first = _find_modified(aspects[0], alike)
    return tuple([item for item in aspects if _find_modified(item, alike) == first])


def _find_modified(item: Constituent, alike: tuple[str, ...]) -> tuple[str, bool]:
    """The kind of an aspect, one for all of the classes `alike`, and whether it is a person."""
    return ("" if item.own_term.cls.startswith(alike) else _kind_of(item)), _is_person(item)


def _is_person(item: Constituent) -> bool:
    return item.term is not None and item.term.role == "person"


class OpenList(NamedTuple):
    """Aspects of a list that may go on in the next clause. `joined`: whether a word or mark joins them, not commas
    alone. `slashed`: whether a slash stands behind them. `ordered`: the thing behind a verb of ordering before them,
    which belongs to a list that a word gathers (點了湯，).
    """

    aspects: tuple[Constituent, ...] = ()
    joined: bool = False
    slashed: bool = False
    ordered: tuple[Constituent, ...] = ()


def add_listed(
    clause: Sequence[Constituent],
    aspects: tuple[Constituent, ...],
    begun: OpenList,
    rule: ListRule,
) -> tuple[Constituent, ...]:
    """The aspects with those of the list `begun` in clauses before this one: 湯、麵，小菜都很好吃.

    Only where this clause gathers or ends the list, and where all can stand in one: 漢堡、薯條，味道都很好 is about
    味道 alone, and 桌上的菜，那些湯都很好 points back. Behind a slash (座位/裝潢很舒適) they share what is said in any
    case.
    """
    first = next((i for i, item in enumerate(clause) if item.term is not None), None)
    run = [-1] if first is None else _find_coordination(clause, first, rule)
    ours = first is None or clause[first] in aspects
    if first and clause[first - 1].word.startswith(tuple(rule.pointing)):
        return aspects
    slashed = begun.slashed and clause[0].symbol != BUT
    if not ours or not (slashed or _can_be_listed(begun.aspects, aspects)):
        return aspects
    gathered = is_gathered(clause, run[-1], rule, over_commas=True) or _is_summed(clause, run[-1], rule)
    bare = run[0] < 1 and _are_bare_names(begun.aspects, aspects, first is None, rule)
    closed = slashed or gathered or bare
    if not closed and not (_is_ended(clause, run, rule) and {_kind_of(item) for item in aspects} <= _NAMED):
        return aspects
    members = (*begun.ordered, *begun.aspects) if gathered else begun.aspects
    return aspects + tuple([item for item in members if item not in aspects])


def _can_be_listed(begun: Sequence[Constituent], aspects: Sequence[Constituent]) -> bool:
    """Whether a list can go on with `aspects`: behind a thing its parts and attributes are what is judged alone."""
    first, last = {_kind_of(item) for item in begun}, {_kind_of(item) for item in aspects}
    return first == last or "thing" in last or "thing" not in first or not last & {"part", "attribute"}


def _are_bare_names(
    begun: Sequence[Constituent], aspects: Sequence[Constituent], resumed: bool, rule: ListRule
) -> bool:
    """紅茶，奶茶很香; 紅茶，奶茶，很香: whether things of one class are named one by one before what judges them.

    `resumed`: whether the judgement stands in a clause of its own, behind two of them at least.
    """
    items = [*begun, *aspects]
    if len(begun) < 1 + resumed or not all(is_thing(item) and not is_kind(item) for item in items):
        return False
    classes = {item.term.cls for item in items if item.term is not None}
    if len(classes) > 1 and not resumed:
        return False
    others = [item for item in begun if item not in aspects]
    if any(last.word in item.word or item.word[-1:] == last.word[:1] for item in others for last in aspects):
        return False  # 羊肉湯，湯 很 濃; 創意菜，菜式 特別
    return any(all(cls.startswith(prefix) for cls in classes) for prefix in rule.bare)


def _kind_of(item: Constituent) -> str:
    """What may stand in one list: things, parts of them, attributes, or what else is judged."""
    if is_thing(item):
        return "thing"
    return "part" if item.own_term.role == "part" else "attribute" if item.own_term.role in ATTRIBUTES else ""


def _is_ended(clause: Sequence[Constituent], run: Sequence[int], rule: ListRule) -> bool:
    """豆腐，青菜以及小菜: whether a conjunction that adds the last of a list stands in the run of aspects."""
    return run[0] == 0 and any(item.word in rule.adding for item in clause[1 : run[-1]])


def open_list(clause: Sequence[Constituent], begun: OpenList, mark: str, rule: ListRule) -> OpenList:
    """The list that may go on behind the clause: the aspects of a clause that ends with one and judges nothing.

    It joins them (湯、麵，), offers them (無論是湯，) or is an aspect alone (湯，麵，). `begun`: the list that it may
    go on with; `mark`: what ends the clause.
    """
    last = len(clause) - 1
    if mark not in _OPEN_MARKS or clause[last].symbol != ASPECT or any(item.phrase for item in clause):
        return OpenList()
    run = _find_coordination(clause, last, rule)
    joined = len(run) > 1 or mark == "/" or clause[0].symbol in JOINERS or clause[0].word in rule.offering
    alone = last == 0 or (last == 1 and clause[0].word in rule.beginning)
    if not (joined or begun.aspects or (alone and not _begins_none(clause[last], rule))):
        return OpenList(ordered=(clause[last],)) if _is_ordered(clause, rule) else OpenList()
    aspects = (*begun.aspects, *[clause[i] for i in run])[-_LONGEST_LIST:]
    return OpenList(aspects, joined or begun.joined, mark == "/", begun.ordered)


def _is_ordered(clause: Sequence[Constituent], rule: ListRule) -> bool:
    """點了湯，麵，: whether a thing that ends its clause stands right behind a verb of ordering."""
    at = len(clause) - 2
    while at > 0 and clause[at].symbol in _BEFORE_ORDERED:
        at -= 1
    return at >= 0 and clause[at].word in rule.ordering and is_thing(clause[-1])


def _begins_none(item: Constituent, rule: ListRule) -> bool:
    """Whether an aspect alone begins no list: 這家店，湯都好喝, but 環境，服務都好."""
    return _is_of_class(item, rule.unlisted) and not item.word.endswith(rule.heads_of_lists)


def list_objects(
    text: str, clauses: Sequence[Sequence[Constituent]], object_: Constituent, rule: ListRule
) -> tuple[Constituent, ...]:
    """推薦雞排，薯條，豆花。: the things of the clauses behind a verdict that go on with the list its object begins.

    `clauses`: that of the verdict, which ends with its object, and those behind it. Each of these names things and
    nothing else. The last one counts where its sentence ends, since else it may be what comes next is about.
    """
    out: list[tuple[Constituent, ...]] = []
    end = object_.end
    for items in clauses[1:]:
        gap = text[end : items[0].start]
        if not gap or not _OPEN_MARKS.issuperset(gap) or not _lists_things(items, rule):
            break
        out.append(tuple([item for item in items if item.term is not None]))
        end = items[-1].end
    if out and text[end : end + 1] in _OPEN_MARKS and text[end:].strip("".join(_OPEN_MARKS)):
        out.pop()
    return tuple([item for items in out for item in items])


def _lists_things(items: Sequence[Constituent], rule: ListRule) -> bool:
    if items[-1].symbol != ASPECT or not all(item.symbol in _LISTED for item in items):
        return False
    return all(is_thing(item) and not _is_of_class(item, rule.unlisted) for item in items if item.term is not None)


def _is_of_class(item: Constituent, classes: tuple[str, ...]) -> bool:
    return item.term is not None and item.term.cls.startswith(classes)


def _find_coordination(clause: Sequence[Constituent], at: int, rule: ListRule) -> list[int]:
    """The places of the aspects coordinated with the one at `at`, itself included.

    Between them stands 、 or a conjunction or, where touching aspects are a list, nothing.
    """
    first = at
    while step := _step_to_previous(clause, first, rule):
        first -= step
    out = [first]
    for i in range(first + 1, len(clause)):
        if clause[i].term is not None and not _begins_relative(clause, i):
            if not _step_to_previous(clause, i, rule):
                break
            out.append(i)
    return out


def _step_to_previous(clause: Sequence[Constituent], i: int, rule: ListRule) -> int:
    """How many places before aspect i the one stands that it is coordinated with; 0 if there is none."""
    if i >= 2 and clause[i - 1].symbol in JOINERS and clause[i - 2].symbol == ASPECT:
        return 0 if _begins_statement(clause, i, rule) else 2
    if i >= 3 and [item.symbol for item in clause[i - 3 : i : 2]] in _PARTED and clause[i - 2].word in rule.parts:
        return 3  # 餐點 部分 和 服務
    touches = rule.touching and i and clause[i - 1].symbol == ASPECT and clause[i - 1].end == clause[i].start
    if touches and (
        _are_attributes(clause[i - 1], clause[i])
        or are_gathered(clause, i, rule)
        or _need_no_gathering(clause[i - 1], clause[i], rule)
    ):
        return 1
    return _step_over_modifiers(clause, i, rule)


def _begins_statement(clause: Sequence[Constituent], i: int, rule: ListRule) -> bool:
    """不收服務費、價格便宜: whether 、 stands between two judgements, of which the first has its aspect behind it."""
    if i < 3 or i + 1 == len(clause) or clause[i - 1].symbol != LIST or clause[i + 1].phrase is None:
        return False
    first = clause[i - 3].phrase
    return first is not None and not first.entry.category.startswith(rule.continuing)


def _begins_relative(clause: Sequence[Constituent], i: int) -> bool:
    """麵和店家送的小菜: whether aspect i, behind a conjunction, is of a clause that modifies the next one."""
    if clause[i - 1].symbol not in JOINERS:
        return False
    at = i + 1
    while at < len(clause) and clause[at].symbol in _PREDICATE:
        at += 1
    return [item.symbol for item in clause[at : at + 2]] == [DE, ASPECT]


def _step_over_modifiers(clause: Sequence[Constituent], i: int, rule: ListRule) -> int:
    """麵和送的小菜, 豆乾、香蔥肉串: as `_step_to_previous`, where words stand between conjunction and aspect."""
    allowed = _RELATIVE if clause[i - 1].symbol == DE else _MODIFIERS
    at = i - 1
    while at > 1 and clause[at].word in rule.singling:
        at -= 1
    while at >= max(1, i - _REACH) and clause[at].symbol in allowed:
        at -= 1
    if at < 1 or at == i - 1 or clause[at].symbol not in JOINERS or clause[at - 1].symbol != ASPECT:
        return 0
    if clause[at + 1].symbol == ASPECT and _kind_of(clause[at + 1]) == _kind_of(clause[at - 1]):
        return 0  # 店員和老闆煮的麵
    if allowed is _RELATIVE and clause[i - 2].symbol == ASPECT and clause[i - 2].word not in rule.giving:
        return 0  # 糖與奶的比例
    further = all(item.word in rule.further for item in clause[at + 1 : i])  # 雞腿 和 其他 小菜
    return i - at + 1 if allowed is _RELATIVE or clause[at].symbol == LIST or further else 0


def _need_no_gathering(first: Constituent, last: Constituent, rule: ListRule) -> bool:
    """效能散熱不錯: whether two aspects that touch are a list by their classes alone."""
    pairs = (pair.split(" ") for pair in rule.ungathered)
    return any(_is_of_class(first, (before,)) and _is_of_class(last, (after,)) for before, after in pairs)


def _are_attributes(*items: Constituent) -> bool:
    return all(item.term and item.term.role in ATTRIBUTES for item in items)


def are_gathered(clause: Sequence[Constituent], i: int, rule: ListRule) -> bool:
    """餐點服務都好, 餐點服務也都好: whether behind the run of aspects that touch, of which i is one, stands a word that
    gathers them.
    """
    while i + 1 < len(clause) and clause[i + 1].symbol == ASPECT and clause[i + 1].start == clause[i].end:
        i += 1
    return is_gathered(clause, i, rule)


def is_gathered(clause: Sequence[Constituent], last: int, rule: ListRule, *, over_commas: bool = False) -> bool:
    """Whether a word that gathers, or an opinion that begins with one (都到位), stands behind the place `last`, over
    adverbs and words that close a list.
    """
    words = rule.gathering | rule.parted if over_commas else rule.gathering
    at = last + 1
    while at < len(clause) and (
        clause[at].word in rule.trailing or (clause[at].symbol in (ADV, DEG) and clause[at].word not in words)
    ):
        at += 1
    if at == len(clause):
        return False
    behind = clause[at]
    return behind.word in words or (behind.phrase is not None and behind.word.startswith(tuple(rule.gathering)))


def is_resumed(clause: Sequence[Constituent], begun: OpenList, rule: ListRule) -> bool:
    """湯，麵，這兩樣 都很好: whether the clause behind a list sums up its members, and names nothing."""
    if len(begun.aspects) < 2 or any(item.term is not None for item in clause):
        return False
    return _is_summed(clause, -1, rule)


def _is_summed(clause: Sequence[Constituent], last: int, rule: ListRule) -> bool:
    """湯，麵這兩樣: whether behind the place `last` stands a word that sums up what was listed."""
    behind = [item.word for item in clause[last + 1 : last + 4]]
    if behind and behind[0] in rule.pointing:
        del behind[0]
    return any("".join(behind[:count]) in rule.summing for count in (1, 2))
