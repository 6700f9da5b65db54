"""Texts as tokens and back: only what is replaced is written again, with the spaces that its words want."""

from __future__ import annotations

import re

from builder.learning.pieces import SPECIAL, UNK, Units


def words(text: str) -> tuple[tuple[int, int], ...]:
    return tuple(match.span() for match in re.finditer(r"\w+|[^\w\s]", text))


TEXTS = ("We like it, really.", "It was good (I think).", "Good, we think.", "I like it.")
UNITS = Units.of(((text, words(text)) for text in TEXTS), "word", True, 1)


def written(text: str, new: dict[int, str], units: Units = UNITS) -> str:
    cut = units.cut(text, words(text))
    out, at = [], 0
    for start, end, said in units.written(
        text, cut, {n: SPECIAL + units.tokens.index(token) for n, token in new.items()}
    ):
        out += [text[at:start], said]
        at = end
    return "".join([*out, text[at:]])


def test_marks_stand_where_english_has_them() -> None:
    assert written("We like it, really.", {3: "("}) == "We like it (really."
    assert written("We like it, really.", {2: ",", 3: "it"}) == "We like, it really."
    assert written("It was good here", {1: "(", 2: "I", 3: ")"}) == "It (I)"
    assert written("It was good here", {1: "(", 2: "I"}) == "It (I here"


def test_a_text_that_was_cut_before_keeps_its_spaces() -> None:
    apart = [" ".join(text[start:end] for start, end in words(text)) for text in TEXTS]
    units = Units.of(((text, words(text)) for text in apart), "word", True, 1)
    assert units.tight == (frozenset(), frozenset())
    assert written("We like it , really .", {2: ".", 3: "it"}, units) == "We like . it really ."


def test_what_is_not_replaced_is_never_touched_also_unknown_words() -> None:
    text = "Wer  mag it, really."
    cut = UNITS.cut(text, words(text))
    assert cut.ids[0] == UNK
    assert UNITS.written(text, cut, {n: i for n, i in enumerate(cut.ids) if i != UNK}) == ()
    assert written(text, {3: "."})[:8] == "Wer  mag"


def test_characters_stand_where_their_predecessors_did_and_spaces_stay() -> None:
    text = "湯頭 很香"
    spans = ((0, 2), (3, 4), (4, 5))
    units = Units.of([(text, spans)], "char", False, 1)
    cut = units.cut(text, spans)
    assert [text[slice(*span)] for span in cut.spans] == list("湯頭很香")
    new = {1: cut.ids[0], 2: cut.ids[3], 3: cut.ids[3]}
    assert units.written(text, cut, new) == ((1, 2, "湯"), (3, 4, "香"))


def test_rare_tokens_are_unknown_and_marks_are_told_from_words() -> None:
    units = Units.of(((text, words(text)) for text in TEXTS), "word", True, 2)
    assert "was" not in units.tokens
    assert {units.token(i) for i in units.marks} == {",", "."}
