"""Pairing with what was named before: the thing that an attribute belongs to, the topic of an earlier clause.

In: a rule. Out: a `Pairer`, as of `pairing`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from builder.core.records import Span, Token
from builder.engine.constituents import ATTRIBUTES, AspectChoice, Constituent, Pairer, Scene, Term, Topic, is_thing
from builder.engine.params import compile_pairs, read_params
from builder.engine.symbols import ASPECT, BLOCKED, OPINION, compile_pattern, symbol_set
from builder.language.lexicon.rules import Rule

_OPENING = symbol_set("ADV DEG")
"""Units before an opinion that opens its clause."""


@dataclass(frozen=True, slots=True)
class BackParams:
    """`foreign`: class of an attribute -> categories of opinions that do not describe it, both by prefix."""

    foreign: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


def pair_back(rule: Rule) -> Pairer:
    """The thing named before an attribute of the clause that the opinion is `foreign` to: 燒餅吃起來口感酥脆好吃.

    The owner of an attribute (餐點份量) and the thing of the clause before (我點了拉麵，味道很濃也很好吃) only where
    the attribute has an opinion of its own; of 整體 and the like never the latter.
    """
    is_foreign = _compile_foreign(read_params(rule, BackParams).foreign)

    def find(scene: Scene) -> AspectChoice | None:
        at, phrase = scene.symbols.rfind(ASPECT, 0, scene.at), scene.opinion.phrase
        if at < 0 or phrase is None:
            return None
        attribute = scene.items[at]
        if attribute.term is None or not is_foreign(phrase.entry.category, attribute.term.cls):
            return None
        owner = attribute.term.owner
        described = OPINION in scene.symbols[at : scene.at]
        if owner and described:
            return AspectChoice((_cut_to_owner(attribute, owner, scene.tokens),), f"owner of {attribute.word}")
        named = [item for item in scene.items[:at] if item.term is not None]
        things = [item for item in named if is_thing(item)]
        if not things and described:  # 雞肉口感軟嫩香氣十足超愛: the owner of what stands first
            things = [
                _cut_to_owner(item, item.term.owner, scene.tokens) for item in named if item.term and item.term.owner
            ]
        if not things and described and scene.topic and attribute.term.role != "overall":
            things = [thing for thing in [scene.topic.thing] if thing]
        return AspectChoice((things[-1],), f"thing before {attribute.word}") if things else None

    return find


@dataclass(frozen=True, slots=True)
class CarryParams:
    """`blockers`: units before the opinion that are a subject. `before`:
    units behind it that make it no predicate. `named`: whether a topic that was only named counts.

    `wholes`: categories of opinions about the thing, not about its attribute or part named last (皮脆，很好吃), as
    are those that are `foreign` to the attribute's class (份量很多，很鮮甜). `never`: categories, or "category class"
    pairs, with another subject (很適合聚餐: the place). `only`: such pairs, where no other is read. `others`: words
    that are another subject (其他), but for opinions that are `felt` (小孩很喜歡 has its cause in the thing).
    `behind`: only behind a "list" that is all of its clause (服務、環境，都很棒), or a "label" (環境：好), where the
    clause names nothing and at most adverbs and degree words open it.
    """

    blockers: tuple[str, ...] = ()
    before: tuple[str, ...] = ()
    named: bool = False
    wholes: tuple[str, ...] = ()
    foreign: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    never: tuple[str, ...] = ()
    only: tuple[str, ...] = ()
    others: frozenset[str] = frozenset()
    felt: tuple[str, ...] = ()
    behind: str = ""


def pair_carried(rule: Rule) -> Pairer:
    """The topic of the clause before, where this clause names no subject of its own."""
    params = read_params(rule, CarryParams)
    blockers, before = (
        frozenset(compile_pattern(name, rule.at(key)).pattern for name in names)
        for key, names in (("blockers", params.blockers), ("before", params.before))
    )
    is_foreign, is_barred = _compile_foreign(params.foreign), compile_pairs(params.never)
    is_read = compile_pairs(params.only or ("",))

    def has_subject(scene: Scene, category: str) -> bool:
        symbols = scene.symbols[: scene.at]
        if not blockers.isdisjoint(symbols):
            return True
        after = scene.items[scene.at + 1 : scene.at + 2]
        if after and after[0].symbol in before and after[0].word != "到":
            return True
        others = BLOCKED in symbols and not category.startswith(params.felt)
        return others and any(item.word in params.others for item in scene.items[: scene.at])

    def find(scene: Scene) -> AspectChoice | None:
        topic = scene.topic
        if topic is None or (topic.named and not params.named):
            return None
        if params.behind:
            due = topic.is_list if params.behind == "list" else topic.label
            if not due or ASPECT in scene.symbols or not _OPENING.issuperset(scene.symbols[: scene.at]):
                return None
        category, about = scene.opinion.own_phrase.entry.category, topic.aspects[0].term
        if about is None or has_subject(scene, category):
            return None
        if is_barred(category, about.cls) or not is_read(category, about.cls):
            return None
        if topic.label:
            return AspectChoice(topic.aspects, "label before a colon")
        if category.startswith(params.wholes) or is_foreign(category, about.cls):
            return _find_whole(topic, about, scene.tokens)
        return AspectChoice(topic.aspects, "topic of an earlier clause")

    return find


def _find_whole(topic: Topic, about: Term, tokens: Sequence[Token]) -> AspectChoice:
    """The thing that a topic is an attribute or a part of, if it was named."""
    if about.owner and (about.role in ATTRIBUTES or about.role == "price") and len(topic.aspects) == 1:
        return AspectChoice((_cut_to_owner(topic.aspects[0], about.owner, tokens),), "owner of an earlier attribute")
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


def _compile_foreign(table: Mapping[str, tuple[str, ...]]) -> Callable[[str, str], bool]:
    """Whether opinions of a category do not describe attributes of a class, by prefix of both."""
    return compile_pairs([f"{category} {cls}" for cls, categories in table.items() for category in categories])


def _cut_to_owner(item: Constituent, owner: Span, tokens: Sequence[Token]) -> Constituent:
    """豆皮 of 豆皮份量."""
    last = item.last
    while last > 0 and tokens[last].start >= owner[1]:
        last -= 1
    word = item.word[owner[0] - item.start : owner[1] - item.start]
    return item._replace(start=owner[0], end=owner[1], word=word, last=last, term=Term(""))
