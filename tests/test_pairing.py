"""Each kind of rule that pairs, at the edge of its parameters: on made clauses, without lexicons or a segmenter."""

from __future__ import annotations

from typing import Any

import pytest

from builder.core.records import Token
from builder.engine.constituents import AspectChoice, Constituent, Doc, Phrase, ReadClause, Scene, Term
from builder.engine.pairing import NearestInSentence, PatternPairer, ShortestPath
from builder.engine.params import read_params
from builder.engine.symbols import ADV, ASPECT, COP, CURRENT, DE, HAVE, NOUN, OPINION, VERB
from builder.language.lexicon.resources import OpinionEntry
from builder.language.lexicon.rules import Rule


def rule(**params: Any) -> Rule:
    return Rule("made", "pair", 1, "", params, (), "made.toml:1")


def pair_by_pattern(rule: Rule) -> PatternPairer:
    return read_params(rule, PatternPairer)


def opinion(word: str, category: str = "taste.good") -> tuple[str, str, Any]:
    return OPINION, word, category


def aspect(word: str, cls: str = "food.dish") -> tuple[str, str, Any]:
    return ASPECT, word, cls


def term_of(cls: str) -> Term:
    """A term with the role that the restaurant pack gives its class."""
    roles = {"food.dish": "thing", "food.generic": "generic", "food.kind": "kind", "food.part": "part"}
    return Term(cls, role=roles.get(cls, ""))


def scene(*units: Any, at: int, heads: dict[int, tuple[int, str]] | None = None) -> Scene:
    """A clause of one token a unit, (symbol, word) or (symbol, word, class); `None` is a gap of one character."""
    items: list[Constituent] = []
    place = 0
    for unit in units:
        if unit is None:
            place += 1
            continue
        symbol, word, *cls = unit
        end, number = place + len(word), len(items)
        entry = OpinionEntry(word, cls[0] if cls else "", 8.0, "x.tsv:1")
        phrase = Phrase((place, end), entry, (), (), ()) if symbol == OPINION else None
        term = term_of(cls[0]) if symbol == ASPECT else None
        items.append(Constituent(place, end, symbol, word, number, phrase, term))
        place = end
    symbols = "".join(item.symbol for item in items)
    links = heads or {}
    tokens = [Token(item.start, item.end, "X", *links.get(n, (-1, "root"))) for n, item in enumerate(items)]
    marked = symbols[:at] + CURRENT + symbols[at + 1 :]
    return Scene(Doc("", tokens, ()), [ReadClause(items, 0)], 0, symbols, marked, at)


def words(choice: AspectChoice | None) -> list[str] | None:
    return None if choice is None else [item.word for item in choice.aspects]


SUBJECT = scene(aspect("湯頭"), (ADV, "真"), opinion("鹹", "taste.salty"), at=2)


def test_a_pattern_names_its_aspect_and_spells_what_it_matched() -> None:
    choice = pair_by_pattern(rule(pattern="TARGET (ADV)* CURRENT"))(SUBJECT)
    assert words(choice) == ["湯頭"] and choice is not None
    assert choice.detail == "ASPECT ADV CURRENT"
    assert pair_by_pattern(rule(pattern="CURRENT TARGET"))(SUBJECT) is None


@pytest.mark.parametrize(
    ("params", "reads"),
    [
        ({"categories": ["taste"]}, True),
        ({"categories": ["drink"]}, False),
        ({"not_categories": ["taste"]}, False),
        ({"not_categories": ["drink"]}, True),
        ({"categories": ["taste"], "not_categories": ["taste.salty"]}, False),
        ({"categories": ["taste"], "not_categories": ["taste.sweet"]}, True),
    ],
)
def test_a_pattern_reads_the_opinions_and_clauses_that_it_is_for(params: dict[str, Any], reads: bool) -> None:
    made = pair_by_pattern(rule(pattern="TARGET (ADV)* CURRENT", **params))
    choice = made(SUBJECT) if made.may_answer("taste.salty", is_named=True) else None
    assert words(choice) == (["湯頭"] if reads else None)
    assert not made.may_answer("taste.salty", is_named=False)


def test_a_pattern_for_two_aspects_wants_two_of_them() -> None:
    two = scene(aspect("薯條"), (HAVE, "有"), aspect("起司"), opinion("好吃"), at=3)
    assert words(pair_by_pattern(rule(pattern="TARGET HAVE ASPECT CURRENT"))(two)) == ["薯條"]
    assert pair_by_pattern(rule(pattern="TARGET .* ASPECT .* ASPECT .* CURRENT"))(two) is None


def test_a_word_that_a_pattern_asks_for_stands_behind_its_aspect() -> None:
    made = pair_by_pattern(rule(pattern="TARGET (VERB|HAVE) ASPECT CURRENT", words=["沾", "麵"]))
    for verb, pairs in (("沾", ["薯條"]), ("切", None)):
        assert words(made(scene(aspect("薯條"), (VERB, verb), aspect("醬"), opinion("好吃"), at=3))) == pairs
    outside = scene(aspect("麵"), (VERB, "切"), aspect("醬"), opinion("好吃"), (VERB, "沾"), at=3)
    assert made(outside) is None, "neither the aspect itself nor what stands behind the match counts"


@pytest.mark.parametrize(
    ("word", "cls", "pairs"),
    [("滷肉飯", "food.dish", True), ("滷肉", "food.dish", False), ("料理", "food.generic", True), ("飯", "", True)],
)
def test_a_construction_that_wants_a_head_ends_on_one_or_on_a_word_for_food_in_general(
    word: str, cls: str, pairs: bool
) -> None:
    made = pair_by_pattern(rule(pattern="CURRENT DE TARGET", heads=["飯", "麵"]))
    clause = scene(opinion("好吃"), (DE, "的"), aspect(word, cls), at=0)
    assert words(made(clause)) == ([word] if pairs else None)
    bare = scene(aspect("滷肉", "food.dish"), opinion("好吃"), (COP, "是"), at=1)
    assert words(pair_by_pattern(rule(pattern="TARGET CURRENT COP", heads=["飯"]))(bare)) == ["滷肉"]


# ---- paths


def path_scene(first: tuple[int, str], second: tuple[int, str]) -> Scene:
    """湯頭 讓 麵條 好吃, with the arcs of the two aspects."""
    heads = {0: first, 1: (3, "aux"), 2: second, 3: (-1, "root")}
    return scene(aspect("湯頭"), (VERB, "讓"), aspect("麵條"), opinion("好吃"), at=3, heads=heads)


def test_the_fewest_arcs_decide_then_the_nearer_then_the_first() -> None:
    made = ShortestPath(longest=3)
    assert words(made(path_scene((3, "nsubj"), (1, "dobj")))) == ["湯頭"]
    assert words(made(path_scene((1, "dobj"), (3, "nsubj")))) == ["麵條"]
    choice = made(path_scene((3, "nsubj"), (3, "dobj")))
    assert words(choice) == ["麵條"] and choice is not None and choice.detail == "1 steps, the fewest in the clause"
    both = scene(
        *(aspect("湯頭"), opinion("好吃"), (ADV, "的"), aspect("麵條")),
        at=1,
        heads={0: (1, "nsubj"), 1: (-1, "root"), 2: (1, "x"), 3: (1, "dobj")},
    )
    assert words(made(both)) == ["湯頭"]
    even = scene(
        *(aspect("湯頭"), (ADV, "很"), opinion("好吃"), (ADV, "的"), aspect("麵條")),
        at=2,
        heads={0: (2, "nsubj"), 2: (-1, "root"), 4: (2, "dobj")},
    )
    assert words(made(even)) == ["湯頭"]


def test_a_path_has_at_most_so_many_arcs_and_none_in_another_tree() -> None:
    far = path_scene((1, "x"), (-1, "root"))  # 湯頭 is two arcs from 好吃, 麵條 stands alone
    assert words(ShortestPath(longest=2)(far)) == ["湯頭"]
    assert ShortestPath(longest=1)(far) is None


def test_what_touches_an_opinion_from_behind_is_part_of_a_name_but_for_some_categories() -> None:
    heads = {0: (1, "amod"), 1: (-1, "root")}
    for gap, category, pairs in ((False, "colour", None), (True, "colour", True), (False, "verdict.must", True)):
        units = [opinion("金黃", category), *([None] if gap else []), aspect("酥條")]
        made = ShortestPath(longest=3, touching=("verdict",))
        assert words(made(scene(*units, at=0, heads=heads))) == (pairs and ["酥條"])
    units = [opinion("金黃", "colour"), aspect("酥條")]
    assert words(ShortestPath(longest=3)(scene(*units, at=0, heads=heads))) == ["酥條"]


# ---- the whole sentence


def test_the_nearest_of_the_sentence_is_taken_and_one_behind_counts_as_farther() -> None:
    clause = scene(aspect("湯頭"), None, None, None, opinion("好"), None, aspect("麵"), at=1)
    choice = NearestInSentence(behind=1, farthest=9)(clause)
    assert words(choice) == ["麵"] and choice is not None and choice.detail == "nearest of 2 in the sentence"
    assert words(NearestInSentence(behind=2, farthest=9)(clause)) == ["湯頭"], "3 before, twice 2 behind"


def test_nothing_beyond_the_farthest_is_paired() -> None:
    before = scene(aspect("湯頭"), None, None, opinion("好"), at=1)
    behind = scene(opinion("好"), None, aspect("麵"), at=0)
    for clause, distance in ((before, 2), (behind, 6)):
        assert words(NearestInSentence(behind=3, farthest=distance)(clause)) is not None
        assert NearestInSentence(behind=3, farthest=distance - 1)(clause) is None
    assert NearestInSentence(behind=3, farthest=9)(scene(opinion("好"), at=0)) is None


# ---- nouns that no lexicon holds


def test_a_noun_before_the_opinion_is_its_subject_where_it_is_long_enough() -> None:
    clause = scene((NOUN, "啾啾"), (ADV, "很"), opinion("好吃"), at=2, heads={0: (2, "nsubj"), 2: (-1, "root")})
    pattern = "TARGET_NOUN (ADV)* CURRENT"
    choice = pair_by_pattern(rule(pattern=pattern))(clause)
    assert choice is not None and choice.detail == "NOUN ADV CURRENT"
    (found,) = choice.aspects
    assert (found.start, found.end, found.symbol, found.last, found.term) == (0, 2, ASPECT, 0, Term(""))
    assert pair_by_pattern(rule(pattern="TARGET_NOUN CURRENT"))(clause) is None
    short = scene((NOUN, "啾"), (ADV, "真的"), opinion("好吃"), at=2)
    assert pair_by_pattern(rule(pattern=pattern))(short) is None, "a character alone is no name"


# ---- kinds
