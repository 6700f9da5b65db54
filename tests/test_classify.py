"""The classifiers and aspect taggers: each learns what can be learnt, the same way every time."""

from __future__ import annotations

import itertools
import json
import math
import random
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import tiny_hub
import torch

from builder.augment.bench import encoders, inputs, taggers
from builder.augment.bench import learn as learning
from builder.augment.bench.classifiers import MODELS, ClassifierConfig, ClassifierItem, Means, check, chosen, words_of
from builder.augment.bench.learn import learn, quality
from builder.core.errors import ConfigError, InputError, ModelError
from builder.learning.loop import Fitted, fit, optimizer_of
from builder.learning.pieces import SPECIAL, UNK, TokenVocabulary, Units

GOOD, BAD = ("great", "lovely", "fast", "tasty"), ("awful", "slow", "bland", "rude")
THINGS = ("screen", "battery", "soup", "waiter", "price", "keyboard")
SMALL = ClassifierConfig(
    width=16, vector_size=16, epochs=8, rate=1e-2, dropout=0.0, batch_chars=128, unknown=0.02, heads=2
)


def opinions(n: int, seed: int) -> list[tuple[str, list[tuple[str, str, tuple[int, int]]]]]:
    """Sentences with two things, each with a word that says how it is."""
    draw, out = random.Random(seed), []
    for _ in range(n):
        text, found = "", []
        for thing in draw.sample(THINGS, 2):
            good = draw.random() < 0.5
            text += "the "
            found.append((thing, "POS" if good else "NEG", (len(text), len(text) + len(thing))))
            text += f"{thing} is {draw.choice(GOOD if good else BAD)} . "
        out.append((text.strip(), found))
    return out


def items(task: str, n: int, seed: int) -> list[ClassifierItem]:
    out = []
    for text, found in opinions(n, seed):
        if task == "ate":
            out.append(ClassifierItem(text, words_of(text), spans=tuple(span for _, _, span in found)))
        elif task == "absc":
            out += [ClassifierItem(text, words_of(text), label, span) for _, label, span in found]
        else:
            text = text[: text.index(".")]
            out.append(ClassifierItem(text, words_of(text), found[0][1]))
    return out


PAIRS = [(name, task) for name, kind in MODELS.items() for task in kind.tasks if not kind.bases]


@pytest.mark.parametrize(("name", "task"), PAIRS)
def test_every_model_from_scratch_learns_its_task_and_answers_new_items(name: str, task: str, tmp_path: Path) -> None:
    train, test = items(task, 60, 1), items(task, 30, 2)
    choice = chosen(name, task, "en")
    config = replace(SMALL, epochs=12 if task == "absc" else 8, batch_chars=32 if task == "tc" else 64)
    config = replace(config, freeze=choice.kind.config.freeze)
    model = learn(choice, task, train, [], 3, tmp_path, config=config)
    said = model.predict(test)
    assert quality(task, test, said) >= 0.85
    found = model.features(test)
    assert found.shape[0] == len(test)
    assert np.isfinite(found).all()
    assert found.std(axis=0).max() > 0, "features differ between items"


def test_a_training_is_the_same_every_time_and_another_with_another_seed(tmp_path: Path) -> None:
    train, test = items("tc", 20, 1), items("tc", 6, 2)
    config = replace(SMALL, epochs=1, dropout=0.3)
    one, again, other = (
        learn(chosen("cnn", "tc", "en"), "tc", train, [], seed, tmp_path / str(n), config=config).features(test)
        for n, seed in enumerate((1, 1, 2))
    )
    assert (one == again).all()
    assert not (one == other).all()


def test_the_epoch_that_is_best_on_the_validation_items_wins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reached: list[Fitted] = []
    monkeypatch.setattr(learning, "fit", lambda *rest: reached.append(fit(*rest)))
    train, valid = items("tc", 30, 1), items("tc", 10, 2)
    model = learn(chosen("rnn", "tc", "en"), "tc", train, valid, 1, tmp_path, config=replace(SMALL, epochs=5))
    assert reached[0].score == quality("tc", valid, model.predict(valid)) == max(reached[0].scores)


def test_unknown_words_and_models_are_said_with_what_is_known() -> None:
    with pytest.raises(ConfigError, match=r"no model 'svm'; for tc there are: lstm, cnn, rnn, bert, deberta"):
        chosen("svm", "tc", "en")
    with pytest.raises(ConfigError, match=r"lstm is no model of the task ate; for ate there are: bilstm-crf, seq2seq"):
        chosen("lstm", "ate", "en")
    with pytest.raises(ConfigError, match=r"cnn has no encoder to load 'x' into"):
        chosen("cnn=x", "tc", "en")
    with pytest.raises(ConfigError, match=r"deberta has no known base for 'zh'; write deberta=HUB-NAME"):
        chosen("deberta", "tc", "zh")
    assert chosen("bert", "tc", "zh").base == "google-bert/bert-base-chinese"


def test_what_cannot_be_learnt_is_refused() -> None:
    one = items("tc", 8, 1)
    with pytest.raises(ModelError, match="no training item"):
        check("tc", [])
    with pytest.raises(ModelError, match="one class is left, 'POS'"):
        check("tc", [item for item in one if item.label == "POS"])
    with pytest.raises(ModelError, match="no aspect in 2 sentences"):
        check("ate", [ClassifierItem("a b", words_of("a b"))] * 2)


def test_words_are_latin_words_numbers_and_single_han_characters() -> None:
    text = "don't wait 1,200 秒，好吃!"
    assert [text[a:b] for a, b in words_of(text)] == ["don't", "wait", "1,200", "秒", "，", "好", "吃", "!"]


def test_tags_and_spans_are_each_other_s_inverse() -> None:
    words = words_of("the service center is slow and far")
    spans = ((4, 18), (31, 34))
    assert inputs.tags(words, spans) == (0, 1, 2, 0, 0, 0, 1)
    assert inputs.spans_of(words, inputs.tags(words, spans)) == spans
    assert inputs.spans_of(words, (0, 2, 2, 0, 1, 1, 0)) == ((4, 18), (22, 26), (27, 30))


def test_of_a_long_text_the_words_around_the_aspect_are_read() -> None:
    text = " ".join("abcdefghij"[i % 10] * (1 + i // 10) for i in range(50))
    words = words_of(text)
    start = text.index("aaaaa")
    shown = inputs.stretch(words, (start, start + 5), 10)
    assert len(shown) == 10
    assert (start, start + 5) in shown
    assert inputs.stretch(words, None, 10) == words[:10]


def test_the_crf_sums_and_finds_what_trying_all_paths_does() -> None:
    torch.manual_seed(1)
    crf = taggers.TagCrf()
    with torch.no_grad():
        for one in (crf.move, crf.start, crf.end):
            one.normal_()
    scores, mask = torch.randn(2, 4, 3), torch.tensor([[True] * 4, [True, True, False, False]])
    best = crf.best(scores, mask)
    for row, length in ((0, 4), (1, 2)):
        paths = {}
        for path in itertools.product(range(3), repeat=length):
            total = (
                crf.start[path[0]]
                + crf.first[path[0]]
                + crf.end[path[-1]]
                + sum(scores[row, t, tag] for t, tag in enumerate(path))
            )
            paths[path] = float(
                total.detach() + sum((crf.move + crf.barred).detach()[a, b] for a, b in itertools.pairwise(path))
            )
        assert tuple(best[row]) == max(paths, key=lambda path: paths[path])
        gold = torch.tensor([[0, 1, 2, 0]])[:, :4]
        one = crf.loss(scores[row : row + 1], gold, mask[row : row + 1])
        whole = math.log(sum(math.exp(value) for value in paths.values()))
        assert one.item() == pytest.approx(whole - paths[tuple(gold[0, :length].tolist())], abs=1e-4)


def test_local_weights_are_one_near_the_aspect_and_fall_with_the_distance() -> None:
    inside = torch.tensor([[0, 0, 0, 0, 0, 1, 0, 0, 0, 0], [0] * 10])
    words = torch.ones(2, 10, dtype=torch.bool)
    words[0, 9] = False
    weights = encoders.local_weights(inside, words, srd=3)
    assert weights[0].tolist() == pytest.approx([1 - 2 / 9, 1 - 1 / 9, 1, 1, 1, 1, 1, 1, 1, 0])
    assert weights[1].tolist() == [1] * 10, "without an aspect all words count"


def test_attention_of_the_sequence_to_sequence_tagger_knows_the_distance() -> None:
    near = taggers.nearness(3)
    assert near[0].tolist() == pytest.approx([1, 1 / math.log2(3), 1 / 2])
    assert (near == near.T).all()


def test_glove_files_are_read_with_their_words_and_bad_lines_are_told(tmp_path: Path) -> None:
    path = tmp_path / "glove.txt"
    path.write_text("the 1 0 0\n. . . 0 1 0\nSoup 0 0 2\n", encoding="utf-8")
    found = inputs.read_glove(path, ["the", "soup", ". . ."])
    vectors = {word: one.tolist() for word, one in found.items()}
    assert vectors == {"the": [1, 0, 0], ". . .": [0, 1, 0], "soup": [0, 0, 2]}
    made = inputs.table({"the": 2, "soup": 3, "new": 4}, found, 3, seed=1)
    assert made[2].tolist() == pytest.approx([0.75, 0, 0]), "scaled to a mean length of 1"
    assert made[0].tolist() == [0, 0, 0]
    assert 0 < made[4].norm() < 1
    path.write_text("the 1 0 0\nsoup 1 x 0\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"glove.txt:2: no vector"):
        inputs.read_glove(path, ["the", "soup"])
    with pytest.raises(InputError, match="not one of the words"):
        inputs.read_glove(path, ["zebra"])
    path.write_bytes("the 1 0 0\nsoupe 1 0 0\ncafé 1 0 0\n".encode("latin-1"))
    with pytest.raises(InputError, match=r"glove.txt:3: is not UTF-8; save it as UTF-8$"):
        inputs.read_glove(path, ["the"])


def test_de_cnn_keeps_given_vectors_as_they_are(tmp_path: Path) -> None:
    path = tmp_path / "glove.txt"
    path.write_text(
        "".join(f"{word} {i % 3} {i % 2} 1\n" for i, word in enumerate((*THINGS, *GOOD, *BAD, "the", "is"))),
        encoding="utf-8",
    )
    config = replace(SMALL, epochs=1, freeze=True)
    model = learn(
        chosen("de-cnn", "ate", "en"), "ate", items("ate", 20, 1), [], 1, tmp_path, Means(vectors=path), config
    )
    general, domain = model.network.vectors.tables  # type: ignore[attr-defined]
    assert general.weight.shape[1] == 3
    assert not general.weight.requires_grad
    assert domain.weight.shape[1] == SMALL.vector_size, "made of the training text"
    before = inputs.table(
        model.reader.vocabulary.numbers, inputs.read_glove(path, model.reader.vocabulary.numbers), 3, 0
    )  # type: ignore[attr-defined]
    at = model.reader.vocabulary.numbers["soup"]  # type: ignore[attr-defined]
    assert general.weight[at].tolist() == before[at].tolist()


def squad(path: Path, n: int) -> Path:
    asked = []
    for i, (text, found) in enumerate(opinions(n, 9)):
        thing = found[0][0]
        answers = [{"text": thing, "answer_start": text.index(thing)}]
        qas = [{"id": f"q{i}", "question": "what comes first ?", "answers": answers}]
        asked.append({"context": text, "qas": qas})
    path.write_text(json.dumps({"data": [{"paragraphs": asked}]}), encoding="utf-8")
    return path


@pytest.mark.parametrize("name", ["cnn", "rnn", "lstm"])
def test_a_sentence_classifier_begins_with_given_vectors_and_may_keep_them(name: str, tmp_path: Path) -> None:
    train = items("tc", 20, 1)
    words = sorted({item.text[a:b].lower() for item in train for a, b in item.words})
    path = tmp_path / "vectors.txt"
    path.write_text("".join(f"{word} {n % 3}.0 1.0 {n % 2}.5 -1.0 0.5\n" for n, word in enumerate(words)), "utf-8")
    choice = chosen(f"{name}:width=8:epochs=1:freeze=true", "tc", "en")
    assert (choice.config.width, choice.config.freeze) == (8, True)
    model = learn(choice, "tc", train, [], 1, tmp_path, Means(vectors=path))
    table = model.network.embedded.tables[0].weight  # type: ignore[attr-defined]
    numbers = model.reader.vocabulary.numbers  # type: ignore[attr-defined]
    before = inputs.table(numbers, inputs.read_glove(path, numbers), 5, 0)
    assert table.shape[1] == 5
    assert all(torch.equal(table[numbers[word]], before[numbers[word]]) for word in words)
    loose = learn(chosen(f"{name}:width=8:epochs=1", "tc", "en"), "tc", train, [], 1, tmp_path, Means(vectors=path))
    assert not torch.equal(loose.network.embedded.tables[0].weight, table)  # type: ignore[attr-defined]
    assert len(loose.predict(train)) == len(train)


def test_l2_is_adam_with_a_penalty_in_its_gradients_and_without_it_weights_decay() -> None:
    network = torch.nn.Linear(2, 2)
    with_l2 = optimizer_of(network, ClassifierConfig(l2=1e-3))
    assert type(with_l2) is torch.optim.Adam and with_l2.param_groups[0]["weight_decay"] == 1e-3
    assert type(optimizer_of(network, ClassifierConfig())) is torch.optim.AdamW
    assert chosen("cnn:filters=2+3", "tc", "en").config.sizes == (2, 3)
    with pytest.raises(ConfigError, match=r"sizes joined by \+"):
        chosen("cnn:filters=2,3", "tc", "en")


# ---- classifiers and taggers over encoders of transformers


@pytest.fixture(scope="module")
def bert(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A BERT and a DeBERTa of a few thousand weights, as folders that transformers loads."""
    folder = tmp_path_factory.mktemp("encoders")
    words = sorted({word for text, _ in opinions(50, 1) for word in text.split()})
    small = {"hidden_size": 16, "intermediate_size": 32, "max_position_embeddings": 96}
    relative = {"relative_attention": True, "pos_att_type": ["c2p", "p2c"]}
    return {
        "bert": tiny_hub.save_words(folder / "bert", words, **small),
        "deberta": tiny_hub.save_words(folder / "deberta", words, "deberta-v2", head=False, **small, **relative),
    }


@pytest.mark.parametrize(
    ("name", "which", "task"),
    [
        ("bert", "bert", "tc"), ("deberta", "deberta", "absc"), ("fastlcf", "bert", "absc"),
        ("bert-ftc", "bert", "ate"), ("bert-pt", "bert", "ate"),
    ],
)  # fmt: skip
def test_hub_encoders_are_fine_tuned(name: str, which: str, task: str, bert: dict[str, Path], tmp_path: Path) -> None:
    choice = chosen(f"{name}={bert[which]}", task, "en")
    config = replace(choice.config, epochs=2, rate=5e-3, threads=1)
    train = items(task, 16, 1)
    model = learn(choice, task, train, [], 1, tmp_path, config=config)
    said = model.predict(train)
    assert len(said) == len(train)
    assert model.features(train).shape[0] == len(train)
    assert task == "ate" or {one.label for one in said} <= {"POS", "NEG"}
    assert choice.config.rate == 2e-5, "fine-tuning has its own settings"


def test_a_text_longer_than_the_encoder_has_places_for_is_cut(bert: dict[str, Path], tmp_path: Path) -> None:
    reader = encoders.load(str(bert["bert"]), longest=500).reader
    text = "the soup is great . " * 60
    item = ClassifierItem(text, words_of(text))
    row = reader.read(item, 0)
    assert len(row.ids) <= 96
    assert len(row.first) == len(reader.shown(item)) < len(item.words)


def test_bert_pt_learns_domain_text_and_reading_comprehension_first(
    bert: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    learnt: list[encoders.PostTraining] = []
    monkeypatch.setattr(encoders, "fit", lambda network, *rest: learnt.append(network) or fit(network, *rest))
    domain = tuple(text for text, _ in opinions(20, 7))
    means = Means(str(bert["bert"]), domain=domain, comprehension=squad(tmp_path / "squad", 12))
    train, choice = items("ate", 20, 1), chosen(f"bert-pt={bert['bert']}", "ate", "en")
    learn(choice, "ate", train, [], 1, tmp_path / "a", means, replace(choice.config, epochs=1))
    assert len(learnt[0].texts) == len({text for text, _ in opinions(20, 7)} | {item.text for item in train})
    assert len(learnt[0].questions) == 12


def test_masking_hides_a_piece_of_every_text_and_never_a_mark(bert: dict[str, Path]) -> None:
    reader = encoders.load(str(bert["bert"]), longest=32).reader
    text = "the soup is great"
    batch = inputs.collate([reader.read(ClassifierItem(text, words_of(text)), 0)] * 50, reader.pad)
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(1)
        ids, gold = encoders.masked(batch, reader)
    assert ((gold >= 0).sum(1) >= 1).all()
    assert (gold[:, 0] == -1).all()
    assert (gold[batch.ids == reader.end] == -1).all()
    assert (ids[gold < 0] == batch.ids[gold < 0]).all()
    assert (ids == reader.mask).any()


def test_what_is_no_encoder_is_refused(tmp_path: Path, bert: dict[str, Path]) -> None:
    with pytest.raises(ModelError, match=r"no model here: there is no config\.json"):
        encoders.load(str(tmp_path), 16)
    with pytest.raises(ModelError, match="weights are missing"):
        encoders.load(str(bert["deberta"]), 16, with_head=True)


# ---- one vocabulary of tokens: which are known, and their numbers


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
