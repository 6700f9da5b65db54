"""`cbert`, `bert`, `context` and `context+label`: labels for segments, whole words, protected spans."""

from __future__ import annotations

import random
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import tiny_hub
import torch

from builder.augment.candidates import Mark, Sentence, applied, moved
from builder.augment.catalogue import Given, make_method, make_settings
from builder.augment.method_settings import CBertSettings
from builder.augment.methods.replacing import Replacing, by_chance, individually, load_cbert, words_at_once
from builder.augment.nets.bases import load as load_hub
from builder.augment.nets.cloze import Blank, EmbeddedCloze, Fill, HubCloze, LstmCloze, collate, embedded, fill
from builder.augment.training import Conditions, Workplace, free_words
from builder.core.errors import InputError, ModelError
from builder.learning.hub import MASKED
from builder.learning.pieces import MASK, SPECIAL, Units

TINY = CBertSettings(width=32, layers=1, epochs=2, pretrain_epochs=1, least=16, min_count=1, k=1)
WORDS = ((0, 1), (2,), (4, 5), (6, 7))


@pytest.fixture(scope="module")
def method(tmp_path_factory: pytest.TempPathFactory) -> Replacing:
    return load_cbert(TINY, tiny_hub.chinese(), Workplace(tmp_path_factory.mktemp("model")))


def test_a_whole_word_is_masked_and_its_tokens_are_predicted_in_turn() -> None:
    steps = words_at_once(1, WORDS[:1], random.Random(1))
    assert steps == (((0,), (0, 1)), ((1,), (1,)))


def test_several_words_are_predicted_side_by_side_and_each_once() -> None:
    steps = words_at_once(3, WORDS, random.Random(1))
    places = [at for row, _ in steps for at in row]
    assert len(steps) == 2 and len(places) == len(set(places)) >= 5
    assert all(set(row) <= set(hidden) for row, hidden in steps)


def test_a_share_of_the_tokens_is_masked_apart() -> None:
    ((places, hidden),) = individually(0.5, WORDS, random.Random(1))
    assert places == hidden
    assert len(places) == 4


def test_context_replaces_with_a_probability_and_masks_nothing() -> None:
    counts = [len(by_chance(0.5, tuple((i,) for i in range(10)), random.Random(seed))[0][0]) for seed in range(200)]
    assert 4.5 < sum(counts) / 200 < 5.5
    assert min(counts) >= 1
    assert by_chance(0.5, WORDS, random.Random(1))[0][1] == ()


def test_labels_are_of_the_sentence_or_of_the_nearest_aspect_or_of_the_sequence() -> None:
    marks = (Mark(0, 2, "aspect", "POS"), Mark(3, 4, "opinion", "POS"), Mark(6, 8, "aspect", "NEG"))
    one = Sentence("s", "湯頭很香服務態度很差", ((0, 2), (2, 4), (4, 6), (6, 8), (8, 10)), marks, "4")

    def named(given: Sentence) -> list[str]:
        told = Conditions.of([given])
        return [told.names[i] for i in told.labels(given, given.words)]

    bare = replace(one, label=None, marks=tuple(replace(mark, polarity=None) for mark in marks))
    assert named(one) == ["4"] * 5
    assert named(replace(one, label=None)) == ["POS", "POS", "NEG", "NEG", "NEG"]
    assert named(bare) == ["B-aspect", "B-opinion", "O", "B-aspect", "O"]
    with pytest.raises(InputError, match="label '5' was not among"):
        Conditions.of([one]).labels(replace(one, label="5"), one.words)
    assert Conditions.none().labels(one, one.words) == (0,) * 5


def test_words_in_marks_and_marks_of_punctuation_are_not_free() -> None:
    one = Sentence("s", "湯頭很濃，好", ((0, 2), (2, 4), (4, 5), (5, 6)), (Mark(0, 1),))
    assert free_words(one, [(i, i + 1) for i in range(6)], one.marks) == ((2, 3), (5,))


@pytest.mark.parametrize("make", [lambda: EmbeddedCloze(12, 3, 8, 2, 1), lambda: LstmCloze(12, 3, 8)])
def test_what_a_network_says_depends_on_labels_and_context_but_not_on_padding(make: Any) -> None:
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(1)
        network = make().eval()
        torch.nn.init.normal_(network.labels.weight)
    ids = (6, 7, MASK, 9)
    with torch.inference_mode():
        alone = network.log_probabilities([Blank(ids, (1,) * 4, (2,))])[0]
        among = network.log_probabilities([Blank((8,) * 9, (0,) * 9, (4,)), Blank(ids, (1,) * 4, (2,))])[1]
        labelled = network.log_probabilities([Blank(ids, (2,) * 4, (2,))])[0]
        elsewhere = network.log_probabilities([Blank((6, 8, MASK, 9), (1,) * 4, (2,))])[0]
    assert torch.allclose(alone, among, atol=1e-5)
    assert not torch.allclose(alone, labelled, atol=1e-4)
    assert not torch.allclose(alone, elsewhere, atol=1e-4)


def test_the_lstm_does_not_see_the_word_that_it_is_asked_for() -> None:
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(1)
        network = LstmCloze(12, 1, 8).eval()
    with torch.inference_mode():
        each = [network.log_probabilities([Blank((6, i, 8), (0,) * 3, (1,))])[0] for i in (7, 9)]
        seen = [network.log_probabilities([Blank((6, 7, i), (0,) * 3, (1,))])[0] for i in (7, 9)]
        first = [network.log_probabilities([Blank((i, 7, 8), (0,) * 3, (1,))])[0] for i in (7, 9)]
    assert torch.equal(*each)
    assert not torch.allclose(*seen, atol=1e-5)
    assert not torch.allclose(*first, atol=1e-5)


def test_label_embeddings_take_the_place_of_segment_embeddings_for_any_number_of_labels(tmp_path: Path) -> None:
    network, inventory = load_hub(tiny_hub.save(tmp_path, "bert"), MASKED)
    segment = network.bert.embeddings.token_type_embeddings.weight[0].clone()
    ids = torch.tensor([inventory.cut("湯頭很香", ((0, 4),)).ids])
    with torch.inference_mode():
        before = network(input_ids=ids, token_type_ids=torch.zeros_like(ids)).logits
        made = HubCloze(network, 6, ([], []), 0, "here").eval()
        weights = made.network.bert.embeddings.token_type_embeddings.weight
        after = made.network(input_ids=ids, token_type_ids=torch.full_like(ids, 5)).logits
    assert weights.shape[0] == 6
    assert torch.equal(weights, segment.expand(6, -1))
    assert torch.allclose(before, after)


def test_special_tokens_around_a_sentence_move_its_places() -> None:
    batch = collate([Blank((7, 8), (1, 2), (1,))], 0, ([2], [3]))
    assert batch.ids.tolist() == [[2, 7, 8, 3]]
    assert batch.labels.tolist() == [[1, 1, 2, 2]]
    assert (batch.row.tolist(), batch.column.tolist()) == ([0], [2])


def test_the_best_is_the_likeliest_other_token_and_samples_follow_the_distribution() -> None:
    network, units = embedded(10, 1, 8, 1, 1), Units(tuple("abcd"), "char")
    with torch.no_grad():
        network.bias[SPECIAL:] = torch.tensor([3.0, 2.0, 1.0, 0.0])  # type: ignore[index]
    with torch.inference_mode():
        logits = network.eval().log_probabilities([Blank((7, MASK, 8), (0,) * 3, (1,))])[0][SPECIAL:]
        expected = logits.softmax(-1).tolist()
    best = Fill((7, 6, 8), (0,) * 3, (((1,), (1,)),), frozenset(), 1, 0.0)
    likeliest = SPECIAL + expected.index(max(expected))
    assert next(fill(network, [best], units, 1))[1][0] == {1: likeliest}
    assert next(fill(network, [replace(best, ids=(7, likeliest, 8), other=frozenset({1}))], units, 1))[1][0] != {
        1: likeliest
    }
    draws = [replace(best, temperature=1.0, seed=n) for n in range(600)]
    counts = [0] * 4
    for _, (new, _) in fill(network, draws, units, 1):
        counts[new[1] - SPECIAL] += 1
    assert [n / 600 for n in counts] == pytest.approx(expected, abs=0.08)


def test_marks_stay_and_candidates_differ(method: Replacing) -> None:
    sentences = tiny_hub.chinese()
    proposed = list(method.propose(sentences, 3, 1))
    assert sum(map(len, proposed)) >= 2 * len(sentences)
    for sentence, candidates in zip(sentences, proposed, strict=True):
        texts = [applied(sentence.text, one.edits) for one in candidates]
        assert sentence.text not in texts
        assert len(set(texts)) == len(texts)
        spans = [(mark.start, mark.end) for mark in sentence.marks]
        assert all(moved(span, one.edits) == span for span in spans for one in candidates)
        for one in candidates:
            assert sum(edit.end - edit.start for edit in one.edits) <= 3, "one word"


def test_the_label_changes_what_cbert_proposes_but_not_what_bert_does(tmp_path: Path) -> None:
    sentences = tiny_hub.chinese(labels=True)
    turned = [replace(one, label={"POS": "NEG", "NEG": "POS"}.get(str(one.label), one.label)) for one in sentences]
    settings = replace(TINY, temperature=0.0, pretrain_epochs=1, epochs=1)
    for name, same in (("cbert", False), ("bert", True)):
        made = load_cbert(settings, sentences, Workplace(tmp_path / name), name)
        with torch.no_grad():  # as if much had been learnt about labels
            made.model.network.labels.weight.copy_(
                9 * torch.randn(made.model.network.labels.weight.shape, generator=torch.Generator().manual_seed(5))
            )  # type: ignore[union-attr, operator]
        assert (list(made.propose(sentences, 2, 1)) == list(made.propose(turned, 2, 1))) is same


@pytest.mark.parametrize("language", ["zh", "en"])
def test_any_bert_of_a_hub_serves_as_base(language: str, tmp_path: Path) -> None:
    base = tiny_hub.save(tmp_path / "base", "bert")
    sentences = tiny_hub.chinese() if language == "zh" else tiny_hub.english()
    settings = replace(TINY, base=base, epochs=1, share=0.5)
    tuned = load_cbert(settings, sentences, Workplace(tmp_path / "tuned"))
    plain = load_cbert(settings, sentences, Workplace(tmp_path / "plain"), "bert")
    assert not (tmp_path / "plain").exists(), "bert is used as it is"
    for made in (tuned, plain):
        proposed = list(made.propose(sentences, 2, 1))
        assert sum(map(len, proposed)) > len(sentences)
        for sentence, candidates in zip(sentences, proposed, strict=True):
            for one in candidates:
                places = [moved((mark.start, mark.end), one.edits) for mark in sentence.marks]
                assert all(places)
                text = applied(sentence.text, one.edits)
                assert language == "en" or not re.search("[\u4e00-\u9fff] | [\u4e00-\u9fff]", text)
                assert "[" not in text


@pytest.mark.parametrize("name", ["context", "context+label"])
def test_a_language_model_of_words_learns_from_a_corpus_first(name: str, tmp_path: Path) -> None:
    (tmp_path / "raw.txt").write_text("湯頭真的很香\n店員實在很好\n價格有點貴\n", "utf-8")
    section = name.replace("+", "_")
    small = {"epochs": 1, "corpus_epochs": 1, "least": 8, "width": 16, "min_count": 1}
    corpus = {"corpus": str(tmp_path / "raw.txt")}
    given = Given(models=tmp_path / "m", sentences=tuple(tiny_hub.chinese(labels=True)))
    made = [
        make_method(name, replace(make_settings({f"{section}.{key}": own[key] for key in own}), given=given))
        for own in (small | corpus, small)
    ]
    assert len({method.signature for method in made}) == 2
    assert (tmp_path / "m" / "corpus-context").is_dir(), "kept beside the models of labelled sentences"
    sizes = [method.model.inventory.size for method in made]  # type: ignore[attr-defined]
    assert SPECIAL < sizes[0] < sizes[1], "its words are those of the corpus, which has fewer here"
    assert any(made[0].propose(given.sentences, 2, 1))


def test_an_encoder_without_a_head_for_masked_words_learns_one_from_a_corpus(tmp_path: Path) -> None:
    from transformers import BertForMaskedLM

    tiny_hub.save(tmp_path / "bert", "bert")
    whole = BertForMaskedLM.from_pretrained(tmp_path / "bert")
    (tmp_path / "encoder").mkdir()
    for path in (tmp_path / "bert").iterdir():
        (tmp_path / "encoder" / path.name).write_bytes(path.read_bytes())
    whole.bert.save_pretrained(tmp_path / "encoder")
    settings = replace(TINY, base=str(tmp_path / "encoder"), epochs=1, corpus_epochs=1)
    with pytest.raises(ModelError, match="weights are missing"):
        load_cbert(settings, tiny_hub.chinese(), Workplace(tmp_path / "m"))
    corpus = [replace(one, marks=()) for one in tiny_hub.chinese()]
    made = load_cbert(replace(settings, corpus="x"), tiny_hub.chinese(), Workplace(tmp_path / "m"), corpus=corpus)
    assert any(made.propose(tiny_hub.chinese(), 1, 1))
    again = load_cbert(replace(settings, corpus="x"), tiny_hub.chinese(), Workplace(tmp_path / "m"), corpus=corpus)
    assert again.digest == made.digest, "the new head begins with the same numbers"
