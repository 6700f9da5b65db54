"""The surrogates and masked language models: both heads learn, and equation 2 is what is computed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest
import tiny_hub
import torch

from builder.augment.bench.classifiers import ClassifierConfig
from builder.augment.candidates import Mark, Sentence
from builder.augment.catalogue import Given, make_method, make_settings
from builder.augment.method_settings import BoostSettings
from builder.augment.methods import boost_embedded, boost_hub
from builder.augment.methods.boost_embedded import SPECIAL, UNKNOWN, TwoWayConfig, collate, cut, pieces
from builder.augment.methods.boost_filters import SurrogateReading
from builder.augment.methods.boost_hub import MaskedModel
from builder.core.records import POLARITIES
from builder.learning.hub import MASKED, load_model

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
