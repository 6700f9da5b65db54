"""Convention `described`: section 3.2 of Lu et al. (2024), step by step."""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import cache

import pytest
from conftest import Command
from reading import reader, written

from builder import Extractor
from builder.core.errors import ResourceError
from builder.core.records import Token, Triplet
from builder.engine import Doc, make_engine
from builder.engine.constituents import Constituent, Phrase
from builder.engine.described import (
    DescribedEngine,
    DescribedWords,
    add_attributes,
    add_conjuncts,
    classify,
    find_negators,
    pair_by_shortest_path,
    split_name,
)
from builder.language.lexicon.resources import OpinionEntry
from builder.language.lexicon.rules import load_rules

RULES = load_rules()
FIGURE = "炸醬麵相當好吃，醬的份量也很多，可惜店員卻令人失望。"
"""The sentence of Figures 4 and 5 in our own words: a dish, an attribute with 的, and a disappointment."""


@cache
def engine() -> DescribedEngine:
    return DescribedEngine(reader().lexicon, RULES)


def extract(text: str) -> tuple[Triplet, ...]:
    return engine().extract(reader().docs([text])[0])


def make_tree(words: str) -> tuple[str, list[Token]]:
    """A text and its tokens from `word/POS/head/relation` parts."""
    text, tokens = "", []
    for part in words.split():
        word, pos, head, relation = part.split("/")
        tokens.append(Token(len(text), len(text) + len(word), pos, int(head), relation))
        text += word
    return text, tokens


def mention(words: DescribedWords, word: str) -> Constituent:
    start = words.text.index(word)
    first = next(i for i, token in enumerate(words.tokens) if token.start == start)
    last = next(i for i, token in enumerate(words.tokens) if token.end == start + len(word))
    return words.make_item(range(first, last + 1))


def make_words(text: str, tokens: list[Token], opinions: Sequence[str], aspects: Sequence[str]) -> DescribedWords:
    words = DescribedWords(text, tokens)
    words.opinions, words.aspects = ([mention(words, word) for word in own] for own in (opinions, aspects))
    return words


def pairs_of(text: str, tokens: list[Token], opinions: Sequence[str], aspects: Sequence[str]) -> list[str]:
    pairs = pair_by_shortest_path(make_words(text, tokens, opinions, aspects), [0] * len(tokens))
    return [f"{pair.aspect.word} {pair.opinion.word} {' '.join(pair.path)}" for pair in pairs]


# ---- the figures


def test_the_sentence_of_figure_4_gives_the_answer_of_figure_4() -> None:
    """Dish, attribute with its owner, and person: each with its own opinion, over the commas of one sentence."""
    pairs = [written(triplet) for triplet in extract(FIGURE)]
    assert pairs == ["炸醬麵|好吃|POS", "醬的份量|多|POS", "店員|令人失望|NEG"]


def test_a_coordination_over_marks_and_conjunctions_shares_the_opinion() -> None:
    pairs = {written(triplet) for triplet in extract("水餃、雞湯和豆花都很好喝")}
    assert pairs == {f"{word}|好喝|POS" for word in ("水餃", "雞湯", "豆花")}


# ---- 3.2.1 opinion lexicon


def test_all_words_of_a_category_have_one_valence() -> None:
    valences: dict[str, set[float]] = {}
    for entry in engine().opinions.values():
        valences.setdefault(entry.category, set()).add(entry.valence)
    assert len(valences) > 50
    assert all(len(values) == 1 for values in valences.values())


def test_words_that_only_a_context_values_are_no_opinions_here() -> None:
    assert "重" in reader().lexicon.opinions
    assert "重" not in engine().opinions


def test_an_adverb_is_no_opinion_though_the_lexicon_has_the_word() -> None:
    text, tokens = make_tree("湯/NOUN/2/nsubj 特別/ADV/2/advmod 好喝/ADJ/-1/root")
    assert "特別" in engine().opinions
    assert [word.word for word in engine().read(text, tokens).opinions] == ["好喝"]


def test_an_entry_of_several_words_is_one_opinion_whose_node_leads_out_of_it() -> None:
    text, tokens = make_tree("服務/NOUN/2/nsubj 令人/VERB/2/cop 失望/ADJ/-1/root")
    (opinion,) = engine().read(text, tokens).opinions
    assert (opinion.word, opinion.last) == ("令人失望", 2)


# ---- 3.2.2 aspect lexicon


def test_the_parts_of_a_segmented_dish_name_are_aspects_too() -> None:
    lexicon = reader().lexicon
    assert split_name("豚骨拉麵", lexicon) == ("豚骨", "拉麵")
    assert "豚骨" not in lexicon.aspects
    assert engine().aspects["豚骨"].cls.startswith("food")


def test_how_a_dish_is_cooked_is_no_aspect() -> None:
    lexicon = reader().lexicon
    assert lexicon.morphemes["紅燒"] == "verb"
    assert "紅燒" not in engine().aspects


def test_a_word_of_both_lexicons_is_an_aspect_where_it_is_a_noun() -> None:
    word = "特色"
    assert word in engine().opinions and word in engine().aspects
    for pos, opinions, aspects in (("NOUN", [], [word]), ("ADJ", [word], [])):
        text, tokens = make_tree(f"{word}/{pos}/-1/root")
        words = engine().read(text, tokens)
        assert [found.word for found in words.opinions] == opinions
        assert [found.word for found in words.aspects] == aspects


# ---- 3.2.3 shortest path


def test_the_closest_aspect_in_the_tree_wins_over_the_nearest_in_the_text() -> None:
    """豆花 is nearer to 好吃, 水餃 is its subject."""
    text, tokens = make_tree("水餃/NOUN/3/nsubj 配/VERB/3/acl 豆花/NOUN/1/dobj 好吃/ADJ/-1/root")
    assert pairs_of(text, tokens, ["好吃"], ["水餃", "豆花"]) == ["水餃 好吃 ↑nsubj"]


def test_of_aspects_as_close_in_the_tree_the_nearer_in_the_text_wins() -> None:
    text, tokens = make_tree("水餃/NOUN/2/nsubj 豆花/NOUN/2/nsubj 好吃/ADJ/-1/root")
    assert pairs_of(text, tokens, ["好吃"], ["水餃", "豆花"]) == ["豆花 好吃 ↑nsubj"]


def test_an_opinion_reaches_its_aspect_over_the_opinion_it_is_coordinated_with() -> None:
    text, tokens = make_tree("豆花/NOUN/1/nsubj 好吃/ADJ/-1/root 又/ADV/3/mark 便宜/ADJ/1/conj")
    assert pairs_of(text, tokens, ["好吃", "便宜"], ["豆花"]) == ["豆花 好吃 ↑nsubj", "豆花 便宜 ↑nsubj ↓conj"]


def test_an_aspect_of_another_sentence_or_another_tree_is_never_paired() -> None:
    text, tokens = make_tree("水餃/NOUN/-1/root 好吃/ADJ/-1/root")
    assert pairs_of(text, tokens, ["好吃"], ["水餃"]) == []
    assert {written(triplet) for triplet in extract("我們點了水餃。真的好吃！")} == set()


# ---- 3.2.3 conjunction and attribute


def test_a_conjunct_of_a_conjunct_shares_the_opinion_and_a_pronoun_does_not() -> None:
    text, tokens = make_tree(
        "水餃/NOUN/5/nsubj 雞湯/NOUN/0/conj 豆花/NOUN/1/conj 我/PRON/0/conj 都/ADV/5/mark 愛/VERB/-1/root"
    )
    words = make_words(text, tokens, ["愛"], ["水餃"])
    expanded = add_conjuncts(pair_by_shortest_path(words, [0] * 6), words)
    assert [pair.aspect.word for pair in expanded] == ["水餃", "雞湯", "豆花"]
    assert [pair.conjunct_of.word if pair.conjunct_of else "" for pair in expanded] == ["", "水餃", "雞湯"]
    assert expanded[2].path == ("↑conj", "↑conj", "↑nsubj")


def test_a_wide_tree_is_paired_in_time() -> None:
    """Ten thousand words below one: around each opinion all of them would be looked through again."""
    size = 10_000
    tokens = [Token(i, i + 1, "ADJ", 0 if i else -1, "conj") for i in range(size + 2)]
    tokens.append(Token(size + 2, size + 3, "NOUN", size + 1, "nsubj"))
    words = DescribedWords("好" * (size + 2) + "麵", tokens)
    words.opinions = [words.make_item(range(i, i + 1)) for i in range(1, size + 1)]
    words.aspects = [words.make_item(range(size + 2, size + 3))]
    begun = time.process_time()
    pairs = pair_by_shortest_path(words, [0] * len(tokens))
    assert time.process_time() - begun < 5
    assert len(pairs) == size and {len(pair.path) for pair in pairs} == {3}


@pytest.mark.parametrize(
    ("tree", "attributes"),
    [
        ("肉/NOUN/2/assmod 的/PART/0/assm 份量/NOUN/3/nsubj 多/ADJ/-1/root", ["肉"]),
        ("肉/NOUN/2/det 的/PART/0/case:dec 份量/NOUN/3/nsubj 多/ADJ/-1/root", ["肉"]),
        ("肉/NOUN/1/amod 份量/NOUN/2/nsubj 多/ADJ/-1/root", ["肉"]),
        ("大/ADJ/1/amod 份量/NOUN/2/nsubj 多/ADJ/-1/root", []),
        ("那/NOUN/1/det 份量/NOUN/2/nsubj 多/ADJ/-1/root", []),
    ],
    ids=["assmod", "assmod in UD v1", "amod noun", "amod adjective", "det without 的"],
)
def test_assmod_and_nominal_amod_neighbours_are_attributes(tree: str, attributes: list[str]) -> None:
    text, tokens = make_tree(tree)
    words = make_words(text, tokens, ["多"], ["份量"])
    (pair,) = pair_by_shortest_path(words, [0] * len(tokens))
    assert [attribute.word for attribute in add_attributes(pair, words).attributes] == attributes


def test_an_attribute_is_a_neighbour_above_the_aspect_as_well_as_below() -> None:
    """The lexicon may hold 肉 alone: 份量 is then the attribute."""
    text, tokens = make_tree("肉/NOUN/1/nmod 份量/NOUN/2/nsubj 多/ADJ/-1/root")
    words = make_words(text, tokens, ["多"], ["肉"])
    (pair,) = pair_by_shortest_path(words, [0] * 3)
    assert [found.word for found in add_attributes(pair, words).attributes] == ["份量"]


def test_an_aspect_with_its_attribute_is_written_as_the_paper_writes_it() -> None:
    (triplet,) = extract("麵的份量很多")
    assert triplet.owner is not None
    assert (triplet.aspect.text, triplet.owner.text) == ("麵的份量", "麵")
    assert triplet.rules == ("described-path", "described-attribute")


def test_neighbours_are_the_heads_and_dependents_outside_the_word() -> None:
    text, tokens = make_tree("服務/NOUN/2/nsubj 令人/VERB/2/cop 失望/ADJ/4/dep 的/PART/2/mark 店/NOUN/-1/root")
    words = DescribedWords(text, tokens)
    found = list(words.find_neighbours(mention(words, "令人失望")))
    assert found == [(0, "nsubj"), (3, "mark"), (4, "dep")]


# ---- 3.2.4 polarity


@pytest.mark.parametrize(
    ("valence", "negated", "polarity"),
    [(8.0, False, 8.0), (5.0, False, 5.0), (8.0, True, 2.0), (2.5, True, 7.5), (5.0, True, 5.0), (10.0, True, 1.0)],
)
def test_a_negation_mirrors_the_valence_at_5(valence: float, negated: bool, polarity: float) -> None:
    entry = OpinionEntry("好", "eval.good", valence, "mine.tsv:1")
    assert classify(Phrase((1, 2), entry, ((0, 1),), ("neg",)) if negated else Phrase((0, 1), entry))[0] == polarity


@pytest.mark.parametrize(
    ("tree", "count"),
    [
        ("不/ADV/1/neg 好吃/ADJ/-1/root", 1),
        ("不會/AUX/2/aux 太/ADV/2/advmod 鹹/ADJ/-1/root", 1),
        ("不/ADV/1/advmod 知道/VERB/-1/root 好吃/ADJ/1/ccomp", 0),
        ("很/ADV/1/advmod 好吃/ADJ/-1/root", 0),
    ],
    ids=["neg arc", "negator with another arc", "negator of another word", "none"],
)
def test_a_neg_arc_or_a_neighbouring_negator_negates(tree: str, count: int) -> None:
    text, tokens = make_tree(tree)
    last = len(tokens) - 1
    words = make_words(text, tokens, [text[tokens[last].start :]], [])
    assert len(find_negators(words, words.opinions[0], reader().lexicon)) == count


# ---- the whole


def test_the_story_of_a_triplet_shows_lexicons_negation_and_path() -> None:
    (triplet,) = extract("湯頭不會太鹹")
    story = dict(triplet.evidence)
    assert story["aspect"].startswith("湯頭 food.part (aspects/")
    assert story["opinion"].startswith("鹹 taste.salty ")
    assert story["negation"] == "reversed: aux"
    assert story["negator"] == "不會"
    assert story["pairing"] == "1 arc, the shortest path of the 1 nearest in the sentence"
    assert triplet.path == ("↑nsubj",)
    assert (triplet.opinion.text, triplet.opinion_full.text) == ("不會鹹", "不會太鹹")


def test_what_models_propose_gets_the_polarity_of_section_3_2_4() -> None:
    doc = reader().docs(["湯頭不會太鹹"])[0]
    (own,) = engine().extract(doc)
    wrong = Triplet(own.aspect, own.aspect_full, own.opinion, own.opinion_full, "NEG", 2.0)
    (weighed,) = engine().weigh(doc, [wrong])
    assert weighed is not None
    assert (weighed.polarity, weighed.valence) == (own.polarity, own.valence)


def test_votes_name_the_one_rule_that_pairs() -> None:
    votes = list(engine().votes(reader().docs(["牛肉麵很好吃。真的好吃"])[0]))
    assert votes == [("described-path", {"described-path": 0}), (None, {})]


def test_the_convention_is_reached_from_python_and_from_the_command_line(here: Command) -> None:
    assert list(map(str, Extractor(convention="described")(FIGURE))) == list(map(str, extract(FIGURE)))
    assert "醬[份量]" in here("extract", FIGURE, "--convention", "described").out


@pytest.mark.parametrize("name", ["described-path", "described-polarity"])
def test_a_step_without_its_rule_is_an_error(name: str) -> None:
    with pytest.raises(ResourceError, match=f"convention described has no rule {name}; keep the steps of section 3.2"):
        make_engine(reader().lexicon, [rule for rule in RULES if rule.name != name], "described")


def test_conjunctions_and_attributes_can_be_switched_off() -> None:
    optional = ("described-conjunction", "described-attribute")
    bare = make_engine(reader().lexicon, [rule for rule in RULES if rule.name not in optional], "described")
    docs: list[Doc] = reader().docs(["雞腿和排骨都很入味", "麵的份量很多"])
    assert [[written(triplet) for triplet in bare.extract(doc)] for doc in docs] == [["雞腿|入味|POS"], ["份量|多|POS"]]


def test_a_text_without_words_or_without_aspects_gives_nothing() -> None:
    assert extract("") == extract("真的很好吃") == extract("🙂") == ()
