"""Coordinations of aspects: what 、 和 跟 join, and what stands side by side before a word that gathers it
(餐點服務都好). And what a clause leaves for the next one: the topic that may stay unsaid there.

In: the constituents of a clause, what was paired in it, and the list that clauses before it began
(湯、麵，小菜都很好吃). Out: which aspects share an opinion, and the `Topic` of the clauses behind. Pure.
"""

from __future__ import annotations

from builder.engine.constituents import ATTRIBUTES, THINGS, Aspects, Constituent, Term, Topic, Units, is_kind, is_thing
from builder.engine.rows import WordTable
from builder.engine.symbols import ADV, ASPECT, DE, DEG, JOINERS, NEG, NOUN, symbol_set

_LONGEST_LIST = 40
"""Aspects that a list over several clauses holds at most."""
_OPEN_MARKS = frozenset(",，;；/ ")
"""Marks behind which a list may go on."""

_MODIFIED = (symbol_set("ASPECT"), JOINERS, symbol_set("NOUN ADJ PRON NUM BLOCKED VERB"), symbol_set("DE"))
"""An aspect, what joins the next one to it, and what modifies that."""
_ENDING = symbol_set("PART CONJ ADV OPINION")
"""Behind an opinion that ends its clause, alone or with others (好吃 且 超值)."""
_NAMES = symbol_set("ASPECT CONJ LIST NUM NOUN BLOCKED PRON PART DE COP")
"""Units of a clause that names things and says nothing of them."""
_REACH = 4
"""Units before an aspect among which the word that adds it stands (加 了 一 顆 梅子)."""
_LISTING = symbol_set("ASPECT LIST CONJ")
"""Units of a clause that is a list."""
_LEAST = 2
"""Aspects of a list."""


def make_listed_nouns_aspects(clause: list[Constituent]) -> list[Constituent]:
    """The clause, changed in place: a noun that a list comma or conjunction joins to an aspect becomes one."""
    for i in (i for i in range(1, len(clause) - 1) if clause[i].symbol in JOINERS):
        for aspect, noun in ((i - 1, i + 1), (i + 1, i - 1)):
            if clause[aspect].symbol == ASPECT and clause[noun].symbol == NOUN and len(clause[noun].word) > 1:
                clause[noun] = clause[noun]._replace(symbol=ASPECT, term=Term(""))
    return clause


def keep_kind(aspect: Constituent, coordinated: Aspects) -> Aspects:
    """精緻 的 裝潢 和 店員: an opinion before 的 modifies the first of a list and what is like it."""
    return tuple([item for item in coordinated if _kind_of(item) == _kind_of(aspect)])


class ListReader:
    """Which aspects a clause coordinates, and what it leaves to the next.

    `words`: those that gather a list, point or single out. `joining`: those between a thing and what it comes with.
    """

    def __init__(self, words: WordTable, joining: frozenset[str]) -> None:
        self._words, self._joining = words, joining

    def find_coordinated(self, clause: Units, aspect: Constituent) -> Aspects:
        """What shares the coordination of an aspect (paper: `conj`); nothing where that is no word of the clause."""
        at = next((i for i, item in enumerate(clause) if item is aspect), None)
        run = [] if at is None else self._find_coordination(clause, at)
        return tuple([clause[i] for i in run if i != at])

    def find_listed(self, clause: Units, aspects: Aspects, begun: Aspects) -> Aspects:
        """The list `begun` in clauses before this one, which `aspects` go on with: 湯、麵，小菜都很好吃.

        Only where this clause gathers the list, and where all can stand in one: 漢堡、薯條，味道都很好 is about 味道
        alone.
        """
        first = next((i for i, item in enumerate(clause) if item.term is not None), None)
        last = -1 if first is None else self._find_coordination(clause, first)[-1]
        ours = first is None or clause[first] in aspects
        goes_on = ours and _can_be_listed(begun, aspects) and self._is_gathered(clause, last, over_commas=True)
        return begun if goes_on else ()

    def find_singled(self, clause: Units, at: int, behind: Units) -> Aspects:
        """The things that `behind` names with a word of ABOVE_ALL, if opinion `at` ends its clause, or others behind it
        do.

        尤其是湯很好喝 and 尤其是晚上 name none: a clause with a predicate of its own, or no thing in it.
        """
        if not behind or not self._words.holds("ABOVE_ALL", behind[0].word):
            return ()
        if any(item.symbol not in _NAMES for item in behind[1:]):
            return ()
        if any(item.symbol not in _ENDING for item in clause[at + 1 :]):
            return ()
        return tuple([item for item in behind if item.term is not None and item.term.role in THINGS])

    def resume_list(self, clause: Units, topic: Topic | None, begun: Aspects) -> Topic | None:
        """服務，環境，真的都滿分: the topic of a clause that opens with a word that gathers is the list before it."""
        if topic is None or len(begun) < _LEAST or not self._is_gathered(clause, -1, over_commas=True):
            return topic
        return topic._replace(aspects=(begun[-1], *begun[:-1]), is_list=True)

    def open_list(self, clause: Units, begun: Aspects, mark: str) -> Aspects:
        """The list that may go on behind the clause: the aspects of a clause that ends with one and judges nothing.

        It joins them (湯、麵，) or is an aspect alone (湯，麵，). `begun`: the list that it may go on with; `mark`:
        what ends the clause.
        """
        last = len(clause) - 1
        if mark not in _OPEN_MARKS or clause[last].symbol != ASPECT or any(item.phrase for item in clause):
            return ()
        run = self._find_coordination(clause, last)
        if not (len(run) > 1 or mark == "/" or clause[0].symbol in JOINERS or begun or last == 0):
            return ()
        return (*begun, *[clause[i] for i in run])[-_LONGEST_LIST:]

    def next_topic(self, clause: Units, paired: Aspects, topic: Topic | None, label: bool) -> Topic | None:
        """What the next clause may leave unsaid: the aspect paired last, else the last one named, else the old topic.

        Crowds and queues are no topic (環境 不錯，人 很多，很 有 氣氛), nor is what a clause denies. `label`:
        whether a colon ends the clause.
        """
        named = [item for item in clause if item.term is not None and not self._words.holds("PASSING", item.word)]
        paired = tuple([item for item in paired if not self._words.holds("PASSING", item.word)])
        if not named and not paired:
            return topic and topic._replace(is_list=False)
        if topic and not named and not label and len(topic.aspects) > 1 and paired[-1] in topic.aspects:
            return topic._replace(named=False, is_list=False)
        if topic and named and self._only_adds(clause, named, topic):
            return topic
        if topic and named and not paired:  # 沒有 太多 香料, 不 適合 煮 湯
            opening = (item for item in clause if item.end <= named[0].start)
            if any(item.symbol == NEG or (item.phrase is not None and item.phrase.negators) for item in opening):
                return topic
        label = label and clause[-1].term is not None  # not 老闆說：
        last = paired[-1] if paired else self._find_subject(clause, named)
        aspects = (last, *self.find_coordinated(clause, last))
        is_list = len(aspects) > 1 and clause[0] is named[0] and all(item.symbol in _LISTING for item in clause)
        if is_thing(last):
            return Topic(aspects, not paired, None, is_list, label)
        things = [item for item in named if item.start < last.start and is_thing(item)]
        before = topic and topic.thing
        return Topic(aspects, not paired, things[-1] if things else before, is_list, label)

    def _only_adds(self, clause: Units, named: Units, topic: Topic) -> bool:
        """牛肉湯來了，裡面加了薑絲: whether a clause only names what goes into the thing that was named before it, and
        at most tells how much of it there is (包了滿滿的豆芽).
        """
        about, first = topic.aspects[-1], named[0]
        if about.own_term.role not in THINGS or first.own_term.role not in THINGS:
            return False
        if any(item.phrase and not self._words.holds("ADDED", item.word, item.entry) for item in clause):
            return False
        at = next(i for i, item in enumerate(clause) if item is first)
        before = clause[max(0, at - _REACH) : at]
        if any(item.symbol == DE and (not i or before[i - 1].phrase is None) for i, item in enumerate(before)):
            return False
        return any(self._words.holds("ADDING", item.word) for item in before)

    def _find_subject(self, clause: Units, named: Units) -> Constituent:
        """The aspect that a clause which judges nothing is about: 豬排飯 of 豬排飯有高麗菜, else the last."""
        first, last = named[0], named[-1]
        if is_kind(first) or not (first.term and first.term.role in THINGS):
            return last
        between = (item.word for item in clause if first.end <= item.start < last.start)
        return last if self._joining.isdisjoint(between) else first

    def _find_coordination(self, clause: Units, at: int) -> list[int]:
        """The places of the aspects coordinated with the one at `at`, itself included.

        Between them stands 、 or a conjunction or, before a word that gathers them, nothing.
        """
        first = at
        while step := self._step_to_previous(clause, first):
            first -= step
        out = [first]
        for i in range(first + 1, len(clause)):
            if clause[i].term is not None:
                if not self._step_to_previous(clause, i):
                    break
                out.append(i)
        return out

    def _step_to_previous(self, clause: Units, i: int) -> int:
        """How many places before aspect i the one stands that it is coordinated with; 0 if there is none."""
        if i >= 2 and clause[i - 1].symbol in JOINERS and clause[i - 2].symbol == ASPECT:
            return 2
        if i >= 4 and all(item.symbol in kinds for item, kinds in zip(clause[i - 4 : i], _MODIFIED, strict=True)):
            return 4  # 環境 和 這裡 的 服務
        touches = i and clause[i - 1].symbol == ASPECT and clause[i - 1].end == clause[i].start
        return 1 if touches and self.are_gathered(clause, i) else 0

    def are_gathered(self, clause: Units, i: int) -> bool:
        """餐點服務也都好: whether a word that gathers stands behind the run of aspects that touch, with i in it."""
        while i + 1 < len(clause) and clause[i + 1].symbol == ASPECT and clause[i + 1].start == clause[i].end:
            i += 1
        return self._is_gathered(clause, i)

    def _is_gathered(self, clause: Units, last: int, *, over_commas: bool = False) -> bool:
        """Whether a word that gathers stands behind the place `last`, over adverbs."""
        names = ("GATHERING", "PARTED") if over_commas else ("GATHERING",)
        for item in clause[last + 1 :]:
            if any(self._words.holds(name, item.word) for name in names):
                return True
            if item.symbol not in (ADV, DEG):
                break
        return False


def _can_be_listed(begun: Units, aspects: Units) -> bool:
    """Whether a list can go on with `aspects`: behind a thing its parts and attributes are what is judged alone."""
    first, last = {_kind_of(item) for item in begun}, {_kind_of(item) for item in aspects}
    return first == last or "thing" in last or "thing" not in first or not last & {"part", "attribute"}


def _kind_of(item: Constituent) -> str:
    """What may stand in one list: things, parts of them, attributes, or what else is judged."""
    if is_thing(item):
        return "thing"
    role = item.own_term.role
    return role if role in ("part", "person") else "attribute" if role in ATTRIBUTES else ""
