"""One vocabulary of tokens: which are known, and their numbers."""

from __future__ import annotations

from dataclasses import replace

from builder.learning.pieces import SPECIAL, UNK, TokenVocabulary, Units

COUNTS = {"soup": 3, "beef": 3, "tea": 5, "rice": 1}


def test_tokens_that_occur_often_enough_are_numbered_in_order_behind_the_special_ones() -> None:
    vocabulary = TokenVocabulary.of(COUNTS, 2, 4)
    assert vocabulary.tokens == ("beef", "soup", "tea")
    assert dict(vocabulary.numbers) == {"beef": 4, "soup": 5, "tea": 6}
    assert len(vocabulary) == 7
    assert (vocabulary.number("tea", 1), vocabulary.number("rice", 1)) == (6, 1)


def test_the_most_frequent_tokens_come_first_and_equals_by_code_points() -> None:
    assert TokenVocabulary.of_frequent(COUNTS, 1, 3, 2).tokens == ("tea", "beef", "soup")


def test_vocabularies_with_the_same_tokens_are_equal_and_show_no_more_than_them() -> None:
    first, other = TokenVocabulary(("a", "b"), 2), TokenVocabulary(("a", "b"), 2)
    assert first == other
    assert repr(first) == "TokenVocabulary(tokens=('a', 'b'), special=2)"


def test_units_with_other_tokens_have_other_numbers() -> None:
    units = replace(Units(("a", "b"), "char"), tokens=("b",))
    assert units.cut("ab", ((0, 2),)).ids == (UNK, SPECIAL)
