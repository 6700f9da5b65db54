"""Classifiers and taggers over encoders of transformers: tiny ones, made here, loaded as any folder is."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch
from test_classify import items, opinions, squad

from builder.augment.bench import encoders, inputs
from builder.augment.bench.cells import fit
from builder.augment.bench.classifiers import ClassifierItem, Means, chosen, words_of
from builder.core.errors import ModelError


@pytest.fixture(scope="module")
def bert(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A BERT and a DeBERTa of a few thousand weights, as folders that transformers loads."""
    transformers = pytest.importorskip("transformers")
    folder = tmp_path_factory.mktemp("encoders")
    words = sorted({word for text, _ in opinions(50, 1) for word in text.split()})
    (folder / "vocab.txt").write_text(
        "\n".join(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *words]), encoding="utf-8"
    )
    size = {
        "vocab_size": len(words) + 5,
        "hidden_size": 16,
        "num_hidden_layers": 1,
        "num_attention_heads": 2,
        "intermediate_size": 32,
    }
    made = {
        "bert": transformers.BertForMaskedLM(transformers.BertConfig(**size, max_position_embeddings=96)),
        "deberta": transformers.DebertaV2Model(
            transformers.DebertaV2Config(**size, relative_attention=True, pos_att_type=["c2p", "p2c"])
        ),
    }
    for name, model in made.items():
        model.save_pretrained(folder / name)
        transformers.BertTokenizerFast(str(folder / "vocab.txt")).save_pretrained(folder / name)
    return {name: folder / name for name in made}


@pytest.mark.parametrize(
    ("name", "which", "task"),
    [
        ("bert", "bert", "tc"),
        ("deberta", "deberta", "absc"),
        ("fastlcf", "bert", "absc"),
        ("bert-ftc", "bert", "ate"),
        ("bert-pt", "bert", "ate"),
    ],
)
def test_encoders_of_transformers_are_fine_tuned(
    name: str, which: str, task: str, bert: dict[str, Path], tmp_path: Path
) -> None:
    choice = chosen(f"{name}={bert[which]}", task, "en")
    config = replace(choice.config, epochs=2, rate=5e-3, threads=1)
    train = items(task, 16, 1)
    model = fit(choice, task, train, [], 1, tmp_path, config=config)
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


def test_bert_pt_is_trained_on_domain_text_and_on_reading_comprehension_first(
    bert: dict[str, Path], tmp_path: Path
) -> None:
    means = Means(
        str(bert["bert"]),
        domain=tuple(text for text, _ in opinions(20, 7)),
        comprehension=squad(tmp_path / "squad", 12),
    )
    train, choice = items("ate", 20, 1), chosen(f"bert-pt={bert['bert']}", "ate", "en")
    model = fit(choice, "ate", train, [], 1, tmp_path / "a", means, replace(choice.config, epochs=1))
    assert model.facts["post_texts"] == len({text for text, _ in opinions(20, 7)} | {item.text for item in train})
    assert (model.facts["post_questions"], model.facts["post_questions_cut"]) == (12, 0)


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
