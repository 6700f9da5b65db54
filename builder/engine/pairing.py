"""Which aspect an opinion describes: the rule kinds that pair, from the most certain construction to the last resort.

In: the parameters of a rule. Out: a `Pairer`, which finds the aspect of an opinion in its `Scene` and says why. Each
kind is a class of its parameters, which is called with a scene. The files rules/*.toml say in which order they run, and
bring their own examples.

`dependency_path` leads from one token to another, for the paper's pairing rule and for the story of a triplet.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from operator import itemgetter

from builder.core.records import Token
from builder.engine.constituents import (
    ATTRIBUTES,
    GENERIC,
    AspectChoice,
    Constituent,
    Pairer,
    Scene,
    Term,
    Topic,
    is_thing,
)
from builder.engine.params import UnitSet, compile_pairs
from builder.engine.symbols import ASPECT, BLOCKED, OPINION, TARGET_NOUN, spell_symbols, symbol_set

# ---- Paths in the dependency tree


def last_core_token(tokens: Sequence[Token], opinion: Constituent) -> int:
    """The token on which an opinion's core ends."""
    last = opinion.last
    while last > 0 and tokens[last].start >= opinion.own_phrase.core[1]:
        last -= 1
    return last


DEEPEST = 50
"""Arcs of either end that are followed in a search: trees of reviews are not so deep, and others cost no more."""


def dependency_path(tokens: Sequence[Token], source: int, target: int) -> list[str] | None:
    """Relations from source up to the common ancestor and down to target; None where `DEEPEST` arcs lead to none."""
    up, down = [source], [target]
    for way in (up, down):
        while (head := tokens[way[-1]].head) >= 0 and head not in way and len(way) <= DEEPEST:
            way.append(head)
    meeting = next((node for node in down if node in up), None)
    if meeting is None:
        return None
    steps = [f"↑{tokens[node].rel}" for node in up[: up.index(meeting)]]
    return steps + [f"↓{tokens[node].rel}" for node in reversed(down[: down.index(meeting)])]


def measure_gap(opinion: Constituent, aspect: Constituent) -> int:
    """How many characters stand between the two."""
    return max(opinion.start - aspect.end, aspect.start - opinion.end)


# ---- Kinds of pairing rules

_SHORTEST = 2
"""Characters of a noun that is taken for an aspect."""


@dataclass(frozen=True, slots=True)
class PatternPairer:
    """The aspect that a construction over the clause's units finds.

    `categories` / `not_categories` limit the opinions that `pattern` reads. `heads`: endings of the word on which the
    construction must end if that is no word for what is reviewed in general (是很推薦的料理). `words`: one of them
    stands in the construction, behind TARGET.
    """

    pattern: re.Pattern[str]
    categories: tuple[str, ...] = ()
    not_categories: tuple[str, ...] = ()
    heads: tuple[str, ...] = ()
    words: frozenset[str] = frozenset()

    def may_answer(self, category: str, is_named: bool) -> bool:
        """Whether it reads opinions of a category; `is_named`: whether their clause names an aspect."""
        if self.not_categories and category.startswith(self.not_categories):
            return False
        read = not self.categories or category.startswith(self.categories)
        return read and (is_named or TARGET_NOUN in self.pattern.pattern)

    def __call__(self, scene: Scene) -> AspectChoice | None:
        """The aspect that the construction finds, whatever the category of the opinion."""
        marked = scene.marked
        match = self.pattern.search(marked)
        if match is None:
            return None
        between = scene.items[match.end("target") : match.end()]
        if self.words and self.words.isdisjoint([item.word for item in between]):
            return None
        last = scene.items[match.end() - 1]
        if self.heads and last.term and last.term.role not in GENERIC and not last.word.endswith(self.heads):
            return None
        target = scene.items[match.start("target")]
        if target.term is None:
            if len(target.word) < _SHORTEST:
                return None
            target = Constituent(target.start, target.end, ASPECT, target.word, target.last, term=Term(""))
        return AspectChoice((target,), spell_symbols(marked[match.start() : match.end()]))


@dataclass(frozen=True, slots=True)
class ShortestPath:
    """The aspect of the clause with the shortest dependency path to the opinion (paper, section 3.2.3), of `longest`
    arcs at most; ties go to the nearer one.

    An opinion that touches the aspect behind it is part of a name (金黃花枝酥條), but for the categories `touching`
    (必點牛肉麵).
    """

    longest: int
    touching: tuple[str, ...] = ()

    def __call__(self, scene: Scene) -> AspectChoice | None:
        opinion, paths = scene.opinion, list[tuple[int, int, Constituent]]()
        core = last_core_token(scene.doc.tokens, opinion)
        names = self.touching and not opinion.own_phrase.entry.category.startswith(self.touching)
        for item in scene.items:
            if item.symbol != ASPECT or (names and item.start == opinion.end):
                continue
            steps = dependency_path(scene.doc.tokens, item.last, core)
            if steps is not None and len(steps) <= self.longest:
                paths.append((len(steps), measure_gap(opinion, item), item))
        steps_of_best, _, best = min(paths, key=itemgetter(0, 1), default=(0, 0, None))
        return best and AspectChoice((best,), f"{steps_of_best} steps, the fewest in the clause")


@dataclass(frozen=True, slots=True)
class NearestInSentence:
    """The nearest aspect of the whole sentence (the paper's habit); of equals the one before the opinion.

    `behind`: an aspect behind the opinion counts so many times as far. `farthest`: nothing beyond so many characters is
    paired.
    """

    behind: int
    farthest: int

    def __call__(self, scene: Scene) -> AspectChoice | None:
        opinion, clauses, number = scene.opinion, scene.clauses, scene.number
        around = clauses[max(0, number - self.farthest) : number + self.farthest + 1]  # each clause has a character
        own = [clause for clause in around if clause.sentence == clauses[number].sentence]
        aspects = [item for clause in own for item in clause.items if item.symbol == ASPECT]
        nearest = min(aspects, key=lambda item: self._measure(opinion, item), default=None)
        if nearest is None or self._measure(opinion, nearest) > self.farthest:
            return None
        return AspectChoice((nearest,), f"nearest of {len(aspects)} in the sentence")

    def _measure(self, opinion: Constituent, aspect: Constituent) -> int:
        """How far an aspect stands from an opinion."""
        if aspect.start < opinion.start:
            return opinion.start - aspect.end
        return self.behind * (aspect.start - opinion.end + 1)


# ---- What was named before: the thing that an attribute belongs to, the topic of an earlier clause

_OPENING = symbol_set("ADV DEG")
"""Units before an opinion that opens its clause."""


@dataclass(frozen=True, slots=True)
class ThingOfAttribute:
    """The thing named before an attribute of the clause that the opinion is `foreign` to: 燒餅吃起來口感酥脆好吃.

    `foreign`: class of an attribute -> categories of opinions that do not describe it, both by prefix. The owner of an
    attribute (餐點份量) and the thing of the clause before (我點了拉麵，味道很濃也很好吃) only where the attribute has
    an opinion of its own.
    """

    foreign: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def __call__(self, scene: Scene) -> AspectChoice | None:
        at = scene.symbols.rfind(ASPECT, 0, scene.at)
        if at < 0 or not _is_foreign(self.foreign, scene.opinion, scene.items[at]):
            return None
        attribute, named = scene.items[at], [item for item in scene.items[:at] if item.term is not None]
        described = OPINION in scene.symbols[at : scene.at]
        if described and (owner := _cut_to_owner(attribute, scene.doc.tokens)):
            return AspectChoice((owner,), f"owner of {attribute.word}")
        things = [item for item in named if is_thing(item)]
        if not things and described:  # 雞肉口感軟嫩香氣十足超愛: the owner of what stands first
            owners = [owner for item in named if (owner := _cut_to_owner(item, scene.doc.tokens))]
            things = owners or [thing for thing in [scene.topic and scene.topic.thing] if thing]
        return AspectChoice((things[-1],), f"thing before {attribute.word}") if things else None


@dataclass(frozen=True, slots=True)
class CarriedTopic:
    """The topic of the clause before, where this clause names no subject of its own.

    `blockers`: units before the opinion that are a subject. `before`: units behind it that make it no predicate.
    `named`: whether a topic that was only named counts.

    `wholes`: categories of opinions about the thing, not about its attribute or part named last (皮脆，很好吃), as
    are those that are `foreign` to the attribute's class (份量很多，很鮮甜). `never`: categories, or "category class"
    pairs, with another subject (很適合聚餐: the place). `only`: such pairs, where no other is read. `others`: words
    that are another subject (其他), but for opinions that are `felt` (小孩很喜歡 has its cause in the thing).
    `behind`: only behind a "list" that is all of its clause (服務、環境，都很棒), or a "label" (環境：好), where the
    clause names nothing and at most adverbs and degree words open it.
    """

    blockers: UnitSet = field(default_factory=UnitSet)
    before: UnitSet = field(default_factory=UnitSet)
    named: bool = False
    wholes: tuple[str, ...] = ()
    foreign: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    never: tuple[str, ...] = ()
    only: tuple[str, ...] = ()
    others: frozenset[str] = frozenset()
    felt: tuple[str, ...] = ()
    behind: str = ""

    def __call__(self, scene: Scene) -> AspectChoice | None:
        topic = scene.topic
        if topic is None or (topic.named and not self.named):
            return None
        if self.behind:
            due = topic.is_list if self.behind == "list" else topic.label
            if not due or ASPECT in scene.symbols or not _OPENING.issuperset(scene.symbols[: scene.at]):
                return None
        category, about = scene.opinion.own_phrase.entry.category, topic.aspects[0].term
        if about is None or self._has_subject(scene, category):
            return None
        if compile_pairs(self.never)(category, about.cls) or not compile_pairs(self.only or ("",))(category, about.cls):
            return None
        if topic.label:
            return AspectChoice(topic.aspects, "label before a colon")
        if category.startswith(self.wholes) or _is_foreign(self.foreign, scene.opinion, topic.aspects[0]):
            return _find_whole(topic, scene.doc.tokens)
        return AspectChoice(topic.aspects, "topic of an earlier clause")

    def _has_subject(self, scene: Scene, category: str) -> bool:
        """Whether the clause of an opinion of a category names a subject of its own."""
        symbols = scene.symbols[: scene.at]
        after = scene.items[scene.at + 1 : scene.at + 2]  # 好吃 到 想 再 來 names no subject
        if self.blockers.intersection(symbols) or any(i.symbol in self.before and i.word != "到" for i in after):
            return True
        others = BLOCKED in symbols and not category.startswith(self.felt)
        return others and any(item.word in self.others for item in scene.items[: scene.at])


def _find_whole(topic: Topic, tokens: Sequence[Token]) -> AspectChoice:
    """The thing that a topic is an attribute or a part of, if it was named."""
    owner = _cut_to_owner(topic.aspects[0], tokens)
    if owner and topic.aspects[0].own_term.role in {*ATTRIBUTES, "price"} and len(topic.aspects) == 1:
        return AspectChoice((owner,), "owner of an earlier attribute")
    if topic.whole is not None:
        return AspectChoice((topic.whole,), "thing of an earlier clause")
    return AspectChoice(topic.aspects, "topic of an earlier clause")


@dataclass(frozen=True, slots=True)
class ThingOfCompanion:
    """The thing of an earlier clause, where this one only adds a companion to it: 松阪豬很脆，配上玫瑰鹽很讚.

    `words`: those right before an aspect that goes with a thing named earlier (配上, 沾); `categories`: opinions of the
    whole.
    """

    words: frozenset[str]
    categories: tuple[str, ...]

    def __call__(self, scene: Scene) -> AspectChoice | None:
        first, category = scene.symbols.find(ASPECT, 0, scene.at), scene.opinion.own_phrase.entry.category
        if scene.topic is None or first < 1 or not category.startswith(self.categories):
            return None
        if OPINION in scene.symbols[: scene.at] or scene.symbols.count(ASPECT, 0, scene.at) > 1:
            return None
        thing = scene.topic.thing
        if thing is None or scene.items[first - 1].word not in self.words:
            return None
        return AspectChoice((thing,), f"what {scene.items[first].word} goes with")


def _is_foreign(foreign: Mapping[str, tuple[str, ...]], opinion: Constituent, aspect: Constituent) -> bool:
    """Whether an opinion does not describe an attribute, by prefixes of its category and class."""
    category, cls = opinion.own_phrase.entry.category, aspect.own_term.cls
    return any(cls.startswith(own) and category.startswith(categories) for own, categories in foreign.items())


def _cut_to_owner(item: Constituent, tokens: Sequence[Token]) -> Constituent | None:
    """豆皮 of 豆皮份量; None if no owner is written with an aspect."""
    owner = item.own_term.owner
    if owner is None:
        return None
    last = item.last
    while last > 0 and tokens[last].start >= owner[1]:
        last -= 1
    word = item.word[owner[0] - item.start : owner[1] - item.start]
    return item._replace(start=owner[0], end=owner[1], word=word, last=last, term=Term(""))


KINDS: Mapping[str, type[Pairer]] = {
    "pair-pattern": PatternPairer,
    "pair-back": ThingOfAttribute,
    "pair-companion": ThingOfCompanion,
    "pair-path": ShortestPath,
    "pair-sentence": NearestInSentence,
    "pair-carry": CarriedTopic,
}
"""Kind of a rule that pairs -> what its parameters make."""
