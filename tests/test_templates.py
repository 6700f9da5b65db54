"""Text ↔ triplets of the paper profile: wording, round trips, places in the review."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builder.core.records import POLARITIES, Element, Polarity, Triplet
from builder.models.paper.templates import (
    MAX_GAP,
    Folded,
    Template,
    WrittenTriplet,
    answer,
    fold,
    judge_answers,
    judge_question,
    locate,
    parse,
    places,
    question,
    refused,
    triple_of,
)

SIGNS = "牛肉麵好吃不太鹹湯，、：:。（）()[]［］!？ aB1％…😋👍🏽é\u0301\U00020bb7"
TEXTS = st.text(st.sampled_from(SIGNS), max_size=12)
TEMPLATES = pytest.mark.parametrize("template", ["1", "2"])
POLARITY = st.sampled_from(POLARITIES)


def test_template_2_is_worded_as_in_the_released_data() -> None:
    assert question("湯好喝，店員親切", "2", ["湯", "店員", "湯"]) == (
        "question: 請問以下文字的評論對象有哪些？ 請問以下文字對湯的描述為何？ 請問以下文字對店員的描述為何？  "
        "context: 湯好喝，店員親切"
    )
    told: list[WrittenTriplet] = [("湯", "好喝", "POS"), ("店員", "親切", "POS"), ("湯", "燙", "NEU")]
    assert answer(told, "2") == ("湯、店員。湯：好喝(正面)、燙(中性)。店員：親切(正面)。", ())


def test_template_1_names_no_aspect_and_has_no_list() -> None:
    assert question("湯好喝", "1", ["湯"]) == "question: 以下文字的評論對象、意見與正負面為何？  context: 湯好喝"
    assert answer([("湯", "好喝", "POS"), ("店員", "差", "NEG")], "1")[0] == "湯：好喝(正面)。店員：差(負面)。"


def test_the_discriminator_is_asked_and_answers_as_in_figure_8() -> None:
    said: WrittenTriplet = ("牛肉麵", "好吃", "POS")
    assert judge_question("牛肉麵好吃", said) == (
        "question: 好吃在以下文字是描述牛肉麵嗎？ 好吃在以下文字對牛肉麵是正面的描述嗎？  context: 牛肉麵好吃"
    )
    assert judge_answers(said)["YY"] == "是，好吃是描述牛肉麵。是，好吃對牛肉麵是正面的描述。"
    assert len(set(judge_answers(said).values())) == 3


@TEMPLATES
@given(st.lists(st.tuples(TEXTS, TEXTS, POLARITY), max_size=5))
@settings(deadline=None)
def test_what_is_written_is_read_back_and_what_cannot_be_written_is_named(
    template: Template, said: list[tuple[str, str, Polarity]]
) -> None:
    text, left_out = answer(said, template)
    parsed = parse(text, template)
    assert parsed.problems == ()
    assert set(parsed.triplets) | {one for one, _ in left_out} == set(said)
    assert not set(parsed.triplets) & {one for one, _ in left_out}
    assert len(parsed.triplets) == len(set(parsed.triplets))
    assert parse(unicodedata.normalize("NFKC", text), template).problems == (), (
        "NFKC, as mT5's tokenizer applies it, keeps the structure"
    )


@given(st.text(max_size=40))
@settings(deadline=None)
def test_any_output_is_read_without_an_error_and_never_into_words_it_lacks(text: str) -> None:
    for template in ("1", "2"):
        for aspect, opinion, polarity in parse(text, template).triplets:  # type: ignore[arg-type]
            assert aspect.strip() and opinion.strip() and polarity in POLARITIES
            assert fold(aspect) in fold(text)
            assert fold(opinion) in fold(text)


@pytest.mark.parametrize(
    ("text", "said", "reasons"),
    [
        ("", [], []),
        ("湯。湯：好喝(正面)。", [("湯", "好喝", "POS")], []),
        ("湯。湯:好喝（正面）。", [("湯", "好喝", "POS")], []),
        ("湯。湯：好喝(正面)、燙(中", [("湯", "好喝", "POS")], ["cut"]),
        ("湯。湯：好喝(很好)。", [], ["polarity", "undescribed"]),
        ("湯。湯好喝。", [], ["form", "undescribed"]),
        ("湯。湯：好喝(正面)、好喝(正面)。", [("湯", "好喝", "POS")], ["repeated"]),
        ("湯。湯：好喝(正面)。湯：好喝(正面)。", [("湯", "好喝", "POS")], ["repeated"]),
        ("湯、麵。湯：好喝(正面)。", [("湯", "好喝", "POS")], ["undescribed"]),
        ("湯。麵：好吃(正面)。", [("麵", "好吃", "POS")], ["unnamed", "undescribed"]),
        ("湯。湯：(正面)。", [], ["form", "undescribed"]),
    ],
)
def test_an_output_that_does_not_parse_is_kept_with_its_reason(
    text: str, said: list[WrittenTriplet], reasons: list[str]
) -> None:
    parsed = parse(text, "2")
    assert list(parsed.triplets) == said
    assert [reason for reason, _ in parsed.problems] == reasons


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        (("湯、麵", "好", "POS"), "mark"),
        (("湯", "好（喝）", "POS"), "mark"),
        (("湯[", "好", "POS"), "mark"),
        (("", "好", "POS"), "empty"),
        (("湯", " 好", "POS"), "edge"),
        (("湯[味道]", "好", "POS"), None),
        (("湯😋", "太，鹹", "POS"), None),
    ],
)
def test_a_term_with_a_mark_of_the_format_is_refused(said: WrittenTriplet, reason: str | None) -> None:
    assert refused(said) == reason
    assert answer([said], "2")[1] == (((said, reason),) if reason else ())


def located(text: str, said: WrittenTriplet) -> Triplet:
    found = locate(text, said, "x")
    assert isinstance(found, Triplet), found
    return found


def test_a_negated_opinion_is_found_over_the_characters_that_it_skips() -> None:
    found = located("餐點真的不會太鹹喔", ("餐點", "不會鹹", "POS"))
    assert found.opinion == Element("不會鹹", ((4, 6), (7, 8)))
    assert found.opinion_full == Element("不會太鹹", ((4, 8),))
    assert found.aspect_full == found.aspect == Element("餐點", ((0, 2),))


def test_the_nearest_places_in_one_sentence_are_chosen_and_their_number_is_noted() -> None:
    found = located("麵很貴。湯和麵都好吃。好吃", ("麵", "好吃", "POS"))
    assert (found.aspect.spans, found.opinion.spans) == (((6, 7),), ((8, 10),))
    assert found.evidence == (("places", "4"),)


def test_full_width_signs_are_found_under_the_form_that_a_tokenizer_gives_them() -> None:
    found = located("雞腿（大）８折：香…脆", ("雞腿(大)", "8折:香...脆", "POS"))
    assert found.aspect.text == "雞腿（大）"
    assert found.opinion.text == "８折：香…脆"


def test_an_attribute_in_brackets_is_found_with_its_owner() -> None:
    found = located("餐點的口感很軟嫩", ("餐點[口感]", "軟嫩", "POS"))
    assert found.aspect.text == "餐點的口感"
    assert found.owner == Element("餐點", ((0, 2),))
    assert triple_of(found) == ("餐點[口感]", "軟嫩", "POS")


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        (("咖啡", "好喝", "POS"), "aspect-not-in-text"),
        (("湯", "好吃", "POS"), "opinion-not-in-text"),
        (("湯[口感]", "好喝", "POS"), "aspect-not-in-text"),
        (("湯", "湯喝", "POS"), "opinion-not-in-text"),
    ],
)
def test_what_stands_nowhere_in_the_review_has_a_reason_instead_of_a_place(said: WrittenTriplet, reason: str) -> None:
    assert locate(f"湯{'很' * (MAX_GAP + 1)}好喝", said, "x") == reason


@given(TEXTS, st.data())
@settings(deadline=None)
def test_every_piece_of_a_text_has_its_place_among_those_found(text: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, max(0, len(text) - 1)))
    end = data.draw(st.integers(start, len(text)))
    term = text[start:end]
    found = places(Folded.of(text), term)
    assert bool(found) == bool(fold(term).strip())
    for spans in found:
        assert fold("".join(text[a:b] for a, b in spans)).strip().startswith(fold(term).strip()[:1])
        assert all(0 <= a < b <= len(text) for a, b in spans)
