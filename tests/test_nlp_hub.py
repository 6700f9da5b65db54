"""The backend `hub`: any two token-classification models, tiny ones of Transformers' real classes made here."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from stand_in_device import stand_in
from tiny_encoders import KINDS, make_encoder

from builder import Extractor
from builder.core.config import resolve
from builder.core.errors import ConfigError, ModelError, ResourceError
from builder.language import nlp
from builder.language.nlp.hub import SETTINGS, HubBackend, load, plain_tag, word_spans
from builder.learning.devices import device_of
from builder.pipeline import pipeline
from builder.pipeline.dataset import Build
from builder.pipeline.extraction import open_build_system

TEXTS = ["湯頭很濃郁，牛肉麵好吃！", "Wi-Fi 很慢 服務普通", "老闆人很好。店裡有點吵，\n下次再來", "\U0002000b好吃"]
TAGS = ["NOUN", "VERB", "ADV", "PUNCT", "CCONJ"]


def make_labeller(folder: Path, kind: str, labels: Sequence[str], **more: Any) -> Path:
    """A token-classification model of the class `kind` with random weights."""
    import torch
    from transformers import AutoConfig, AutoModelForTokenClassification

    make_encoder(folder, kind, TEXTS, **more)
    config = AutoConfig.from_pretrained(folder)
    config.id2label, config.num_labels = dict(enumerate(labels)), len(labels)
    config.label2id = {label: i for i, label in enumerate(labels)}
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(3)
        AutoModelForTokenClassification.from_config(config).save_pretrained(folder)  # type: ignore[no-untyped-call]
    return folder


def make_models(folder: Path, kind: str = "bert", scheme: str = "upos", **labels: Sequence[str]) -> Path:
    make_labeller(folder / "cutter", kind, labels.get("words", ["B", "I"]))
    make_labeller(folder / "tagger", kind, labels.get("tags", TAGS))
    written = f'words = "cutter"\ntags = "tagger"\ntag_scheme = "{scheme}"\n'
    (folder / SETTINGS).write_text(written, encoding="utf-8")
    return folder


@pytest.mark.parametrize("kind", KINDS)
def test_tokens_of_any_class_tile_the_text_and_have_universal_tags(kind: str, tmp_path: Path) -> None:
    backend = nlp.load("hub", {}, make_models(tmp_path, kind))
    for text, tokens in zip(TEXTS, backend.annotate(TEXTS), strict=True):
        assert "".join(text[token.start : token.end] for token in tokens) == text
        assert {token.pos for token in tokens} <= {"NOUN", "VERB", "ADV", "PUNCT", "CONJ", "SPACE", "X"}
        assert all((token.pos == "SPACE") == text[token.start : token.end].isspace() for token in tokens)
    assert backend.annotate(TEXTS[::-1])[::-1] == backend.annotate(TEXTS), "a text does not depend on its batch"
    assert nlp.load("hub", {}, tmp_path).signature == backend.signature


def test_the_models_run_on_the_device_that_is_set(tmp_path: Path) -> None:
    folder = make_models(tmp_path / "models")
    here = nlp.load("hub", {}, folder, "cpu")
    with stand_in() as device:
        there = nlp.load("hub", {}, folder, "meta")
        assert isinstance(there, HubBackend)
        assert device_of(there.words.network) == device_of(there.tags.network) == device
        assert there.annotate(TEXTS) == here.annotate(TEXTS)
    assert nlp.load("hub", {}, folder).signature == here.signature


def test_a_build_and_an_extractor_take_their_device_for_the_backend(tmp_path: Path) -> None:
    folder = make_models(tmp_path / "models")
    (tmp_path / "reviews.csv").write_text("id,text\n1,湯頭很濃郁\n2,服務普通\n", "utf-8")
    options = {"annotate.backend": "hub", "annotate.models": str(folder), "device": "cuda:7", "workers": 1}
    build = Build(tmp_path / "w", tmp_path / "out", (tmp_path / "reviews.csv",), resolve(options=options))
    with pytest.raises(ModelError, match="torch sees no device 'cuda:7' here"):
        pipeline.run(build, until="annotate")
    with pytest.raises(ModelError, match="torch sees no device 'cuda:7' here"):
        Extractor(backend="hub", models=folder, device="cuda:7")
    pipeline.run(replace(build, resolved=resolve(options=options | {"device": "cpu"})), until="annotate")
    with pytest.raises(ModelError, match="torch sees no device 'cuda:7' here"):
        open_build_system(tmp_path / "w", "rules", device="cuda:7").extract(TEXTS[:1])


def test_words_begin_where_labels_say_so_and_at_spaces() -> None:
    assert word_spans("湯頭 很好", ["B", "I", "", "I", "B"]) == [(0, 2), (2, 3), (3, 4), (4, 5)]
    assert word_spans("牛肉麵好", ["B", "M", "E", "S"]) == [(0, 3), (3, 4)]
    assert word_spans("ab", ["B-X", "I-X"]) == [(0, 2)]
    assert [plain_tag(label) for label in ("B-NOUN", "NOUN", "I", "Na", "")] == ["NOUN", "NOUN", "", "Na", ""]


def test_a_text_longer_than_the_model_reads_is_read_in_parts(tmp_path: Path) -> None:
    backend = load({}, make_models(tmp_path))
    text = "湯頭很濃郁" * 40
    assert isinstance(backend, HubBackend)
    (labels,) = backend.words.label([text])
    assert len(labels) == len(text)
    assert set(labels) <= {"B", "I"}


def test_tags_of_ckip_are_read_by_the_table(tmp_path: Path) -> None:
    backend = load({}, make_models(tmp_path, scheme="ckip-pos", tags=["Na", "VH", "Dfa"]))
    tags = {token.pos for tokens in backend.annotate(TEXTS) for token in tokens}
    assert tags <= {"NOUN", "ADJ", "VERB", "ADV", "SPACE", "X"}


@pytest.mark.parametrize(
    ("labels", "scheme", "message"),
    [
        ({"words": ["O", "PER"]}, "upos", "the label 'O' does not say where a word begins"),
        ({"tags": ["Na", "VH"]}, "upos", "'Na' is no universal tag"),
        ({"tags": ["NOUN"]}, "ckip-pos", "no row for the ckip-pos label 'NOUN'"),
    ],
)
def test_labels_that_mean_something_else_are_refused(
    labels: dict[str, list[str]], scheme: str, message: str, tmp_path: Path
) -> None:
    with pytest.raises(ResourceError, match=message):
        load({}, make_models(tmp_path, scheme=scheme, **labels))


def test_settings_that_name_no_model_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ResourceError, match="needs two models"):
        load({})
    with pytest.raises(ResourceError, match="cannot be read"):
        load({}, tmp_path)
    (tmp_path / SETTINGS).write_text('words = "cutter"\n', encoding="utf-8")
    with pytest.raises(ConfigError, match="tags"):
        load({}, tmp_path)
    (tmp_path / SETTINGS).write_text('words = "./cutter"\ntags = "./tagger"\n', encoding="utf-8")
    with pytest.raises(ResourceError, match="cannot be loaded"):
        load({}, tmp_path)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"id2label": {"0": "B", "7": "I"}}, "labels are not numbered from 0|cannot be read"),
        ({"max_position_embeddings": 4}, "reads 4 tokens at once|cannot be read"),
    ],
    ids=["labels", "positions"],
)
def test_a_model_whose_settings_cannot_label_is_one_line(changed: dict[str, Any], message: str, tmp_path: Path) -> None:
    folder = make_models(tmp_path) / "cutter"
    settings = json.loads((folder / "config.json").read_text("utf-8"))
    (folder / "config.json").write_text(json.dumps(settings | changed), "utf-8")
    with pytest.raises(ResourceError, match=message) as raised:
        load({}, tmp_path)
    assert len(str(raised.value).splitlines()) == 1


def test_a_tokenizer_with_tokens_that_the_network_lacks_is_one_line(tmp_path: Path) -> None:
    path = make_models(tmp_path) / "cutter" / "tokenizer.json"
    tokens = json.loads(path.read_text("utf-8"))
    tokens["model"]["vocab"]["鯖"] = 10**6
    path.write_text(json.dumps(tokens), "utf-8")
    with pytest.raises(ResourceError, match="a token of number 1000000, and the network vectors for"):
        load({}, tmp_path)


def test_settings_that_are_nested_too_deep_or_a_device_are_one_line(tmp_path: Path) -> None:
    (tmp_path / SETTINGS).write_text("words = " + "[" * 100_000, encoding="utf-8")
    with pytest.raises(ResourceError, match="cannot be read"):
        load({}, tmp_path)
    (tmp_path / SETTINGS).unlink()
    (tmp_path / SETTINGS).symlink_to("/dev/zero")
    with pytest.raises(ResourceError, match="not a regular file"):
        load({}, tmp_path)
