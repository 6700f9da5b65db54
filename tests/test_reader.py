"""The one wiring from texts to triplets, and moving a triplet's offsets."""

from __future__ import annotations

import gc
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from threadpoolctl import threadpool_info, threadpool_limits

from builder.core.records import NO_PATH, Element, ReadWord, Reasons, Review, Triplet
from builder.engine.reader import Reading, Recipe, extract, make_reader, restored, to_text, to_view
from builder.language.nlp import biaffine, parser
from builder.reviews.text import view

ODD = "餐點\u200b不會不會不會太鹹！！！\n服务人员也很亲切😀　下次再來"
READER = make_reader(Recipe())
TRIPLET = Triplet(
    Element("餐點", ((0, 2),)), Element("這餐點", ((0, 3),)), Element("不鹹", ((3, 4), (6, 7))),
    Element("不會太鹹", ((3, 7),)), "POS", 6.5, owner=Element("店", ((8, 9),)), rules=("subject",), confidence=0.5,
    reasons=Reasons(aspect=ReadWord("餐點", "food"), path=("↑nsubj",)),
)  # fmt: skip


def check_elements(triplet: Triplet, text: str) -> None:
    for element in (triplet.aspect, triplet.aspect_full, triplet.opinion, triplet.opinion_full):
        assert element.text == "".join(text[start:end] for start, end in element.spans)


def test_triplets_of_a_text_stand_at_their_offsets_in_it() -> None:
    (triplets,) = READER.extract([ODD])
    assert [triplet.aspect.text for triplet in triplets] == ["餐點", "服务人员"], "in the text's own script"
    for triplet in triplets:
        check_elements(triplet, ODD)


def test_stored_words_give_the_reading_that_they_came_from() -> None:
    (reading,) = READER.read([ODD])
    review = Review(1, "a", ODD, "mixed")
    words = [(t.start, t.end, t.pos, t.head, t.rel) for t in reading.text_tokens]
    again = restored(review, words, READER.lexicon.variants)
    assert again == reading
    assert extract(READER.engine, again) == READER.extract([ODD])[0]
    assert restored(review, [], READER.lexicon.variants).tokens == ()


@given(st.text(alphabet="餐點不會太鹹好吃服务员很\u200b\ufe0f，。! \n😀a", max_size=30))
def test_to_view_undoes_to_text(text: str) -> None:
    (reading,) = READER.read([text])
    for triplet in READER.engine.extract(reading.doc):
        moved = to_text(triplet, reading.view, text)
        check_elements(moved, text)
        back = to_view(moved, reading.view)
        assert back is not None
        assert back.key == triplet.key


def test_a_triplet_that_the_view_does_not_show_is_none() -> None:
    text = "餐點\u200b好吃"
    unseen, tasty = Element.at(text, [(2, 3)]), Element.at(text, [(3, 5)])
    assert to_view(Triplet(unseen, unseen, tasty, tasty, "POS", 8.0), view(text)) is None


def test_moving_a_triplet_moves_every_element_and_keeps_the_rest() -> None:
    moved = TRIPLET.shifted(10)
    assert moved.opinion.spans == ((13, 14), (16, 17))
    assert moved.owner == Element("店", ((18, 19),))
    assert moved.shifted(-10) == TRIPLET
    assert (moved.rules, moved.confidence, moved.evidence) == (TRIPLET.rules, TRIPLET.confidence, TRIPLET.evidence)


@pytest.mark.parametrize("name", ["aspect", "aspect_full", "opinion", "opinion_full", "owner"])
def test_a_triplet_one_of_whose_elements_cannot_be_moved_is_none(name: str) -> None:
    stuck = getattr(TRIPLET, name)
    assert TRIPLET.mapped(lambda element: None if element == stuck else element) is None


def test_full_phrases_move_by_their_own_function() -> None:
    moved = TRIPLET.mapped(lambda element: element, lambda element: Element(element.text + "！", element.spans))
    assert moved is not None
    assert (moved.opinion.text, moved.opinion_full.text, moved.aspect_full.text) == ("不鹹", "不會太鹹！", "這餐點！")


def test_a_bare_triplet_has_no_story() -> None:
    bare = TRIPLET.bare()
    assert (bare.owner, bare.rules, bare.evidence, bare.confidence) == (None, (), (), None)
    assert bare.key == TRIPLET.key


def test_a_triplet_prints_what_it_says_and_where() -> None:
    assert str(TRIPLET) == "餐點 · 不鹹 · POS"
    assert repr(TRIPLET) == (
        "Triplet('餐點' 0:2, '不鹹' 3:4+6:7, POS 6.5, aspect_full='這餐點' 0:3, opinion_full='不會太鹹' 3:7, "
        "owner='店' 8:9, "
        "rules=('subject',), confidence=0.5)"
    )


def test_rule_and_path_of_a_triplet_are_the_first_rule_and_the_steps_of_the_tree() -> None:
    assert TRIPLET.rule == "subject"
    assert TRIPLET.path == ("↑nsubj",)
    apart = replace(TRIPLET, rules=(), reasons=Reasons(aspect=ReadWord("餐點", "food")))
    assert apart.path == () and ("path", NO_PATH) in apart.evidence
    assert apart.rule is None
    (found,) = READER.extract(["餐點很好吃"])
    assert found[0].path == ("↑nsubj",)


def test_the_embedded_backend_reads_on_one_thread_and_leaves_the_number_as_it_was(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen: list[set[int]] = []
    encode = biaffine.Network.encode

    def threads() -> set[int]:
        return {
            lib["num_threads"] for lib in threadpool_info() if lib["user_api"] == "blas" and "numpy" in lib["filepath"]
        }

    def watched(network: biaffine.Network, *parts: Any) -> biaffine.Floats:
        seen.append(threads())
        return encode(network, *parts)

    monkeypatch.setattr(biaffine.Network, "encode", watched)
    READER.extract(["餐點很好吃"])
    with threadpool_limits(2, "blas"):
        READER.extract(["餐點很好吃"])
        assert threads() == {2}
    assert seen == [{1}, {1}]


def test_a_reading_without_words_has_no_tokens() -> None:
    assert READER.read([""]) == [Reading("", view(""), ())]


def test_a_reader_loads_without_the_cycle_collector(monkeypatch: pytest.MonkeyPatch) -> None:
    """It costs more than it brings."""
    seen: list[bool] = []
    load = parser.load

    def watched(path: Path) -> parser.Parser:
        seen.append(gc.isenabled())
        return load(path)

    monkeypatch.setattr(parser, "load", watched)
    make_reader(Recipe())
    assert (seen, gc.isenabled()) == ([False], True)
