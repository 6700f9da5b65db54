"""Which aspect an opinion describes: the rule kinds that pair, from the most certain construction to the last resort.

In: the items of the clauses of a sentence, one opinion, and what has been paired before it. Out: the aspect item and why. Each
kind is a small function; rules/*.toml say in which order and with which parameters they run, and bring their own examples.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import NamedTuple

from builder.engine.items import GENERAL, Item, Term, is_dish, is_kind
from builder.engine.params import string, strings, table, whole_number
from builder.engine.patterns import compile_pattern, named
from builder.lexicon.resources import Rule
from builder.records import Span, Token


class Topic(NamedTuple):
    """What an earlier clause was about: the aspect items last paired there (or merely named, if `named`).

    `whole`: where those are attributes or parts (口感, 外皮), the dish or drink named before them.
    """

    aspects: tuple[Item, ...]
    named: bool
    whole: Item | None = None


class Scene(NamedTuple):
    """One opinion to be paired: the clause's items and symbols, its place among them, the tokens, the topic carried over, and the sentence.

    `marked`: the symbols with CURRENT for the opinion.
    """

    items: Sequence[Item]
    symbols: str
    marked: str
    at: int
    tokens: Sequence[Token]
    topic: Topic | None
    sentence: Sequence[Item] = ()

    @property
    def opinion(self) -> Item:
        return self.items[self.at]


class Found(NamedTuple):
    """The aspects (one, or several of a coordination carried over) and the detail for the story of the triplet."""

    aspects: tuple[Item, ...]
    detail: str


Pairer = Callable[[Scene], Found | None]


def pattern(rule: Rule) -> Pairer:
    """`pattern`: a construction over the clause's units. `categories` / `not_categories` limit the opinions it reads.

    `heads`: endings of the word on which the construction must end if that is no word for food in general (是很推薦的料理). `words`: one of them
    stands in the construction, behind TARGET. `needs`: a unit of the pattern that most clauses lack, and `least`: how many aspects it needs, which
    save them the search.
    """
    expression = compile_pattern(string(rule, "pattern"), rule.where)
    only, never, heads = strings(rule, "categories"), strings(rule, "not_categories"), strings(rule, "heads")
    words = frozenset(strings(rule, "words"))
    least = whole_number(rule, "least") if "least" in rule.params else 1
    needs = compile_pattern(string(rule, "needs"), rule.where).pattern if "needs" in rule.params else "A"

    @cache
    def reads(category: str) -> bool:
        return (not only or category.startswith(only)) and not (never and category.startswith(never))

    def find(scene: Scene) -> Found | None:
        if needs not in scene.symbols or "A" not in scene.symbols or (least > 1 and scene.symbols.count("A") < least):
            return None
        phrase = scene.items[scene.at].phrase
        assert phrase is not None
        if not reads(phrase.entry.category):
            return None
        marked = scene.marked
        match = expression.search(marked)
        if match is None:
            return None
        if words and words.isdisjoint(item.word for item in scene.items[match.end("target") : match.end()]):
            return None
        last = scene.items[match.end() - 1]
        if heads and last.term and last.term.cls not in GENERAL and not last.word.endswith(heads):
            return None
        return Found((scene.items[match.start("target")],), named(marked[match.start() : match.end()]))

    return find


def back(rule: Rule) -> Pairer:
    """The dish named before an attribute of the clause that the opinion is `foreign` to: 燒餅吃起來口感酥脆好吃.

    The owner of an attribute (餐點份量) and the dish of the clause before (我點了拉麵，味道很濃也很好吃) only where the attribute has an opinion of its own;
    of 整體 and the like never the latter.
    """
    foreign = _foreign(rule)

    def find(scene: Scene) -> Found | None:
        at, phrase = scene.symbols.rfind("A", 0, scene.at), scene.opinion.phrase
        if at < 0 or phrase is None:
            return None
        attribute = scene.items[at]
        if attribute.term is None or not foreign(phrase.entry.category, attribute.term.cls):
            return None
        owner = attribute.term.owner
        described = "O" in scene.symbols[at : scene.at]
        if owner and described:
            return Found((_owner(attribute, owner, scene.tokens),), f"owner of {attribute.word}")
        dishes = [item for item in scene.items[:at] if item.term is not None and is_dish(item)]
        if not dishes and described and scene.topic and attribute.term.cls != "quality.generic":
            about = scene.topic.aspects[-1]
            dishes = [one for one in (scene.topic.whole, about if is_dish(about) else None) if one]
        return Found((dishes[-1],), f"dish before {attribute.word}") if dishes else None

    return find


def path(rule: Rule) -> Pairer:
    """The aspect of the clause with the shortest dependency path to the opinion (paper, section 3.2.3); ties go to the nearer one.

    An opinion that touches the aspect behind it is part of a name (金黃花枝酥條), but for the categories `touching` (必點牛肉麵).
    """
    longest, touching = whole_number(rule, "longest"), strings(rule, "touching")

    def find(scene: Scene) -> Found | None:
        best: tuple[int, int, Item] | None = None
        core = token_at(scene.tokens, scene.opinion)
        phrase = scene.opinion.phrase
        assert phrase is not None
        names = touching and not phrase.entry.category.startswith(touching)
        for item in scene.items:
            if item.symbol != "A" or (names and item.start == scene.opinion.end):
                continue
            steps = dependency_path(scene.tokens, item.last, core)
            if steps is None or len(steps) > longest:
                continue
            gap = scene.opinion.start - item.end if item.end <= scene.opinion.start else item.start - scene.opinion.end
            if best is None or (len(steps), gap) < best[:2]:
                best = len(steps), gap, item
        return Found((best[2],), f"{best[0]} steps, the fewest in the clause") if best else None

    return find


def sentence(rule: Rule) -> Pairer:
    """The nearest aspect of the whole sentence, one behind the opinion counting `behind` times as far (the paper's habit).

    `step` characters are added for each dependency arc between them; nothing beyond `farthest` is paired.
    """
    behind, step, farthest = whole_number(rule, "behind"), whole_number(rule, "step"), whole_number(rule, "farthest")

    def find(scene: Scene) -> Found | None:
        opinion = scene.opinion

        def gap(item: Item) -> int:
            return opinion.start - item.end if item.end <= opinion.start else behind * (item.start - opinion.end + 1)

        aspects = [item for item in scene.sentence if item.symbol == "A"]
        if not aspects:
            return None
        core = token_at(scene.tokens, opinion)

        def cost(item: Item) -> tuple[float, int]:
            steps = dependency_path(scene.tokens, item.last, core)
            return (step * len(steps) if steps is not None else 9 * step) + gap(item), gap(item)

        nearest = min(aspects, key=cost)
        if gap(nearest) > farthest:
            return None
        return Found((nearest,), f"nearest of {len(aspects)} in the sentence")

    return find


def noun(rule: Rule) -> Pairer:
    """A noun that no lexicon holds, where the parse or the word order makes it the subject of the opinion."""
    expression = compile_pattern(string(rule, "pattern").replace("TARGET", "NOUN"), rule.where)
    shortest, relations = whole_number(rule, "shortest"), strings(rule, "relations")

    def find(scene: Scene) -> Found | None:
        marked = scene.marked[: scene.at + 1]
        match = expression.search(marked)
        if match is None:
            return None
        item = scene.items[marked.rindex("n", match.start())]
        if len(item.word) < shortest or (relations and scene.tokens[item.last].rel not in relations):
            return None
        return Found((Item(item.start, item.end, "A", item.word, item.last, term=Term("")),), f"{item.word} {scene.tokens[item.last].rel}")

    return find


def carry(rule: Rule) -> Pairer:
    """The topic of the clause before, where this clause names no subject of its own.

    Opinions of the categories `wholes` are about the dish, not about its attribute or part named last (皮脆，很好吃); so are those that are
    `foreign` to the attribute's class (份量很多，很鮮甜). Those of `never` have another subject (很適合聚餐: the place), as has a clause with one
    of `others` (其他, but 小孩很喜歡: what is `felt` has its cause), and an opinion with a unit of `before` behind it is no predicate. The words `resuming` are no subject
    of their own (每一口都很入味).
    """
    blockers, before = (
        frozenset(compile_pattern(name, rule.where).pattern for name in strings(rule, key)) for key in ("blockers", "before")
    )
    named = bool(rule.params.get("named", False))
    wholes, others, resuming = strings(rule, "wholes"), frozenset(strings(rule, "others")), frozenset(strings(rule, "resuming"))
    felt = strings(rule, "felt") or ("-",)
    foreign = _foreign(rule)
    never = [(category, cls) for category, _, cls in (pair.partition(" ") for pair in strings(rule, "never"))]

    @cache
    def reads(category: str, cls: str) -> bool:
        return not any(category.startswith(one) and cls.startswith(other) for one, other in never)

    def find(scene: Scene) -> Found | None:
        if scene.topic is None or (scene.topic.named and not named):
            return None
        if blockers & set(scene.symbols[: scene.at]) and any(
            item.symbol in blockers and item.word not in resuming for item in scene.items[: scene.at]
        ):
            return None
        phrase, whole = scene.opinion.phrase, scene.topic.whole
        assert phrase is not None
        after = scene.items[scene.at + 1 : scene.at + 2]
        if after and after[0].symbol in before and after[0].word != "到":
            return None
        if (
            "t" in scene.symbols[: scene.at]
            and not phrase.entry.category.startswith(felt)
            and any(item.word in others for item in scene.items[: scene.at])
        ):
            return None
        about = scene.topic.aspects[0].term
        if about is None or not reads(phrase.entry.category, about.cls):
            return None
        of_dish = phrase.entry.category.startswith(wholes or ("-",)) or foreign(phrase.entry.category, about.cls)
        if of_dish and about.owner and about.cls.startswith(("quality", "price")) and len(scene.topic.aspects) == 1:
            return Found((_owner(scene.topic.aspects[0], about.owner, scene.tokens),), "owner of an earlier attribute")
        if of_dish and whole is not None:
            return Found((whole,), "dish of an earlier clause")
        return Found(scene.topic.aspects, "topic of an earlier clause")

    return find


def kind(rule: Rule) -> Pairer:
    """The dish of the clause before, where this one only says what kind of thing it is: 香蕉煎餅，是必吃的甜點.

    `pattern` as of `pattern`; what it finds is a word for a kind and the only aspect of its clause.
    """
    find_kind = pattern(rule)

    def find(scene: Scene) -> Found | None:
        if scene.topic is None or scene.symbols.count("A") != 1:
            return None
        about = scene.topic.aspects[0]
        if not is_dish(about) or is_kind(about) or not (found := find_kind(scene)) or not is_kind(found.aspects[0]):
            return None
        return Found(scene.topic.aspects, f"dish of an earlier clause, {found.aspects[0].word} here")

    return find


def _foreign(rule: Rule) -> Callable[[str, str], bool]:
    """Whether opinions of a category do not describe attributes of a class (table `foreign`: class -> categories, all by prefix)."""
    listed = [(cls, tuple(categories)) for cls, categories in (table(rule, "foreign") if "foreign" in rule.params else {}).items()]

    @cache
    def foreign(category: str, cls: str) -> bool:
        return any(cls.startswith(one) and category.startswith(categories) for one, categories in listed)

    return foreign


def _owner(item: Item, owner: Span, tokens: Sequence[Token]) -> Item:
    """豆皮 of 豆皮份量."""
    last = item.last
    while last > 0 and tokens[last].start >= owner[1]:
        last -= 1
    return item._replace(
        start=owner[0], end=owner[1], word=item.word[owner[0] - item.start : owner[1] - item.start], last=last, term=Term("")
    )


KINDS: Mapping[str, Callable[[Rule], Pairer]] = {
    "pair-pattern": pattern,
    "pair-with": pattern,
    "pair-kind": kind,
    "pair-back": back,
    "pair-path": path,
    "pair-sentence": sentence,
    "pair-noun": noun,
    "pair-carry": carry,
}


def token_at(tokens: Sequence[Token], item: Item) -> int:
    """The token on which an opinion's core ends."""
    assert item.phrase is not None
    last = item.last
    while last > 0 and tokens[last].start >= item.phrase.core[1]:
        last -= 1
    return last


def dependency_path(tokens: Sequence[Token], source: int, target: int) -> list[str] | None:
    """Relations from source up to the common ancestor and down to target; None if they stand in different trees."""
    above: dict[int, list[str]] = {}
    steps: list[str] = []
    node = source
    while node >= 0 and node not in above:
        above[node] = list(steps)
        steps.append("↑" + tokens[node].rel)
        node = tokens[node].head
    down: list[str] = []
    seen: set[int] = set()
    node = target
    while node >= 0 and node not in seen:
        if node in above:
            return above[node] + down[::-1]
        seen.add(node)
        down.append("↓" + tokens[node].rel)
        node = tokens[node].head
    return None
