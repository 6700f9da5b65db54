"""Folders of models that nobody should trust: each is refused in one line, asks nothing, and none of its code runs."""

from __future__ import annotations

import importlib
import json
import os
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("transformers")

from tiny_hub import save

from builder.core.errors import ModelError, ResourceError
from builder.learning import hub

Harm = Callable[[Path], object]


@pytest.fixture(scope="module")
def bert(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return Path(save(tmp_path_factory.mktemp("bert") / "base", "bert"))


def setting(**changed: Any) -> Harm:
    """A harm that changes settings of config.json."""

    def change(folder: Path) -> None:
        config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
        (folder / "config.json").write_text(json.dumps(config | changed), encoding="utf-8")

    return change


def file(name: str, content: bytes) -> Harm:
    return lambda folder: (folder / name).write_bytes(content)


def header(content: bytes) -> Harm:
    """A harm that makes the weights a safetensors file of a header alone."""
    return file("model.safetensors", len(content).to_bytes(8, "little") + content)


def cut(size: int) -> Harm:
    return lambda folder: (folder / "model.safetensors").write_bytes((folder / "model.safetensors").read_bytes()[:size])


def name_weights_outside(folder: Path) -> None:
    (folder / "model.safetensors").rename(folder.parent / "outside.safetensors")
    index = {"metadata": {}, "weight_map": {"bert.pooler.dense.bias": "../outside.safetensors"}}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index), encoding="utf-8")


def leave_a_pickle(folder: Path) -> None:
    (folder / "model.safetensors").unlink()
    (folder / "pytorch_model.bin").write_bytes(b"\x80\x04 no pickle either")


CONFIGS: dict[str, tuple[Harm, str]] = {
    "kernels": (setting(use_kernels=True), "kernels from elsewhere .`use_kernels`"),
    "attention of a hub": (setting(attn_implementation="someone/attention"), "the attention 'someone/attention'"),
    "unknown quantisation": (setting(quantization_config={"quant_method": "own"}), "a quantised network"),
    "nested quantisation": (setting(text_config={"quantization_config": {"quant_method": "x"}}), "a quantised network"),
    "own code": (setting(model_type="own", auto_map={"AutoConfig": "own.Config"}), "needs Python code of its own"),
    "a million layers": (setting(num_hidden_layers=10**6), "num_hidden_layers = 1000000, more than 1000"),
    "a thousand million labels": (setting(num_labels=10**9), "num_labels = 1000000000, more than 100000"),
    "a list": (file("config.json", b"[]"), "not an object of settings"),
    "depth": (file("config.json", b"[" * 100_000), "no readable model config"),
    "bytes": (file("config.json", b"\x00\xff"), "no readable model config"),
    "a size that is text": (setting(vocab_size="x"), "expected int, got str"),
    "a type that is a list": (setting(model_type=["bert"]), "no readable model config"),
}
WEIGHTS: dict[str, tuple[Harm, str]] = {
    "nothing": (cut(0), "cannot be read, cut short perhaps"),
    "half the weights": (cut(20_000), "cannot be read, cut short perhaps"),
    "a huge header": (file("model.safetensors", (1 << 40).to_bytes(8, "little") + b"{" * 500), "cannot be read"),
    "a deep header": (header(b"[" * 100_000), "cannot be read"),
    "a kind of number that turns text round": (
        header('{"a": {"dtype": "\u202e", "shape": [1], "data_offsets": [0, 4]}}'.encode()),
        r"cannot be read.*u202e",
    ),
    "an empty header": (header(b"{}      "), "weights are missing"),
    "weights outside": (name_weights_outside, "names weights outside of the folder: '../outside.safetensors'"),
    "an index that is a list": (file("model.safetensors.index.json", b"[]"), "no index of weights"),
    "a pickle": (leave_a_pickle, "pytorch_model.bin, a pickle"),
    "an adapter": (file("adapter_config.json", b'{"base_model_name_or_path": "a/b"}'), "an adapter"),
    "other shapes": (setting(vocab_size=300), "their shapes are not those of config.json"),
    "a claim of terabytes": (setting(vocab_size=10**12), "config.json claims a far larger network than they fill"),
    "no heads": (setting(num_attention_heads=0), "cannot be read"),
}  # fmt: skip


def is_one_line(error: ModelError, folder: Path) -> bool:
    """Whether an error names the folder and a way out, in one line of bounded length."""
    return str(folder) in str(error) and bool(error.fix) and str(error).isprintable() and len(str(error)) < 600


@pytest.mark.parametrize("name", CONFIGS)
def test_a_configuration_that_asks_for_more_than_its_class_is_refused(name: str, bert: Path, tmp_path: Path) -> None:
    harm, what = CONFIGS[name]
    folder = shutil.copytree(bert, tmp_path / "model")
    harm(folder)
    with pytest.raises(ModelError, match=what) as refused:
        hub.load_config(str(folder))
    assert is_one_line(refused.value, folder)


@pytest.mark.parametrize("name", ["unknown quantisation", "depth", *WEIGHTS])
def test_a_network_that_is_not_what_it_should_be_is_one_line(name: str, bert: Path, tmp_path: Path) -> None:
    harm, what = WEIGHTS.get(name) or CONFIGS[name]
    folder = shutil.copytree(bert, tmp_path / "model")
    harm(folder)
    with pytest.raises(ModelError, match=what) as refused:
        hub.load_network("AutoModelForMaskedLM", str(folder), wanted="another")
    assert is_one_line(refused.value, folder)


def test_a_network_that_its_weights_cannot_fill_is_not_begun(
    bert: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is missing would be filled with random numbers: 85 kB of weights took 8 GB and 83 seconds."""
    import transformers

    def begin(*_: object, **__: object) -> None:
        raise AssertionError("nothing is made of such a folder")

    folder = Path(shutil.copytree(bert, tmp_path / "model"))
    setting(num_hidden_layers=500, intermediate_size=60_000)(folder)
    monkeypatch.setattr(transformers.AutoModelForMaskedLM, "from_pretrained", begin)
    with pytest.raises(ModelError, match="claims a far larger network"):
        hub.load_network("AutoModelForMaskedLM", str(folder), wanted="another")


@pytest.mark.parametrize("type_of_model", ["bert", "own"])
def test_own_code_is_not_run(type_of_model: str, bert: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A model of a known type is loaded by the class of transformers; another is refused without a question."""

    def ask(*_: object) -> str:
        raise AssertionError("nobody is asked")

    monkeypatch.setattr("builtins.input", ask)
    folder, mark = shutil.copytree(bert, tmp_path / "model"), tmp_path / "ran"
    (folder / "own.py").write_text(f"open({str(mark)!r}, 'w')\nclass Own: ...\n", encoding="utf-8")
    setting(model_type=type_of_model, auto_map=dict.fromkeys(("AutoConfig", "AutoModelForMaskedLM"), "own.Own"))(folder)
    tokens = json.loads((folder / "tokenizer_config.json").read_text(encoding="utf-8"))
    tokens["auto_map"] = {"AutoTokenizer": ["own.Own", "own.Own"]}
    (folder / "tokenizer_config.json").write_text(json.dumps(tokens), encoding="utf-8")
    for load in (
        lambda: hub.load_config(str(folder)),
        lambda: hub.load_tokenizer(str(folder)),
        lambda: hub.load_network("AutoModelForMaskedLM", str(folder), wanted="another"),
    ):
        if type_of_model == "bert":
            load()
        else:
            with pytest.raises(ModelError, match="the model of type 'own' needs Python code of its own"):
                load()
    assert not mark.exists()


@pytest.mark.parametrize("content", [b"[" * 100_000, b"5", b"\xff", b"{"])
@pytest.mark.parametrize("name", ["tokenizer.json", "tokenizer_config.json"])
def test_a_tokenizer_that_cannot_be_read_is_one_line(name: str, content: bytes, bert: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(bert, tmp_path / "model")
    (folder / name).write_bytes(content)
    with pytest.raises(ModelError, match="no tokenizer can be loaded") as refused:
        hub.load_tokenizer(str(folder))
    assert is_one_line(refused.value, folder)


def test_settings_that_describe_no_network_are_one_line(bert: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(bert, tmp_path / "model"))
    setting(num_attention_heads=0)(folder)
    with pytest.raises(ModelError, match="no readable model config"):
        hub.make_network("AutoModel", hub.load_config(str(folder)), str(folder))


@pytest.mark.augment
@pytest.mark.parametrize("named", [5, "BertForMaskedLM", [None], {"a": 1}])
def test_architectures_that_are_no_list_of_names_are_one_line(named: Any, bert: Path, tmp_path: Path) -> None:
    from builder.augment.nets.bases import load

    folder = Path(shutil.copytree(bert, tmp_path / "model"))
    setting(architectures=named)(folder)
    with pytest.raises(ModelError, match=r"config\.json has architectures = ") as raised:
        load(str(folder), hub.MASKED)
    assert is_one_line(raised.value, folder)


OURS = [
    ("builder.models.saved", "load", "config.json"),
    ("builder.models.trust", "load_calibration", "confidence.json"),
    ("builder.models.paper.fine_tuning", "load", "paper.json"),
]


@pytest.mark.parametrize(("module", "function", "name"), OURS)
def test_a_model_of_ours_whose_json_is_nested_too_deep_or_a_device_is_one_line(
    module: str, function: str, name: str, tmp_path: Path
) -> None:
    load = getattr(importlib.import_module(module), function)
    (tmp_path / name).write_bytes(b"[" * 100_000)
    with pytest.raises(ModelError, match=name):
        load(tmp_path)
    (tmp_path / name).unlink()
    (tmp_path / name).symlink_to("/dev/null")
    with pytest.raises(ModelError, match="not a regular file"):
        load(tmp_path)


@pytest.mark.parametrize("digests", ["text", [], None, 5, {"a": "b"}, {}], ids=repr)
def test_embedded_models_whose_digests_are_of_another_type_are_one_line(digests: Any, tmp_path: Path) -> None:
    from builder.language.nlp.embedded import MODELS, load

    folder = Path(shutil.copytree(MODELS, tmp_path / "embedded"))
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    (folder / "config.json").write_text(json.dumps(config | {"sha256": digests}), encoding="utf-8")
    with pytest.raises(ResourceError, match="the embedded models cannot be read") as raised:
        load({}, folder).annotate(["湯很鹹"])
    assert str(raised.value).isprintable()


@pytest.mark.parametrize("name", ["config.json", "parser.safetensors", "segmenter.safetensors"])
def test_an_embedded_model_that_is_a_device_is_one_line(name: str, tmp_path: Path) -> None:
    from builder.language.nlp.embedded import MODELS, load

    folder = Path(shutil.copytree(MODELS, tmp_path / "embedded"))
    (folder / name).unlink()
    (folder / name).symlink_to("/dev/null")
    with pytest.raises(ResourceError, match=f"cannot be read: {name} is not a regular file"):
        load({}, folder)


def save_tagger(folder: Path) -> None:
    """A tagger that nobody taught."""
    from test_model import TINY

    from builder.learning.encode import Vocabulary
    from builder.models import saved
    from builder.models.network import CharacterFoundation
    from builder.models.tagger import Tagger
    from builder.models.tagger_network import TaggerNetwork

    foundation = CharacterFoundation(Vocabulary((28271, 38957)))
    saved.save(Tagger(TaggerNetwork(foundation, TINY), foundation, TINY, 0.5, {}), folder)


def claim(folder: Path, sizes: Mapping[str, object]) -> None:
    """Change sizes in the config of a model."""
    path = folder / "config.json"
    settings = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps(settings | {"config": settings["config"] | sizes}), encoding="utf-8")


@pytest.mark.parametrize(
    "claimed", [{"layers": 2**40}, {"layers": 3}, {"width": 10**6}, {"bigram_buckets": 10**30}, {"char_size": 2**31}]
)
def test_a_model_that_claims_to_be_larger_than_its_weights_is_never_made(
    claimed: dict[str, int], tmp_path: Path
) -> None:
    from builder.models import saved

    save_tagger(tmp_path)
    assert saved.load(tmp_path).digest
    claim(tmp_path, claimed)
    with pytest.raises(ModelError, match="the weights belong to another model") as raised:
        saved.load(tmp_path)
    assert str(raised.value).isprintable()


@pytest.mark.parametrize("claimed", [{"width": 0}, {"width": -8}, {"layers": -1}, {"dropout": 7.0}, {"width": "wide"}])
def test_a_model_of_sizes_that_no_network_has_is_one_line(claimed: dict[str, object], tmp_path: Path) -> None:
    from builder.models import saved

    save_tagger(tmp_path)
    claim(tmp_path, claimed)
    with pytest.raises(ModelError) as raised:
        saved.load(tmp_path)
    assert len(str(raised.value).splitlines()) == 1


@pytest.mark.parametrize("kind", ["bfloat16", "float8_e4m3fn"])
def test_a_segmenter_of_a_number_that_numpy_lacks_is_one_line(kind: str, tmp_path: Path) -> None:
    import torch
    from safetensors.torch import save_file

    from builder.language.nlp import crf

    save_file({"tags": torch.zeros(2, dtype=getattr(torch, kind))}, tmp_path / "a.safetensors")
    with pytest.raises(ResourceError, match="not a segmenter of this version"):
        crf.load(tmp_path / "a.safetensors")


def change_parser(path: Path, **changed: object) -> None:
    """Put claims or tensors in place of those of the parser's file."""
    import torch
    from safetensors.torch import load_file, save_file

    tensors = load_file(path)
    shape = json.loads(tensors["shape"].numpy().tobytes())
    claims = {key: value for key, value in changed.items() if key in shape}
    text = json.dumps(shape | claims).encode()
    tensors["shape"] = torch.tensor(list(text), dtype=torch.uint8)
    tensors |= {key: value for key, value in changed.items() if isinstance(value, torch.Tensor)}
    save_file(tensors, path)


@pytest.fixture
def parser_file(tmp_path: Path) -> Path:
    from builder.language.nlp.embedded import MODELS

    return Path(shutil.copy(MODELS / "parser.safetensors", tmp_path))


@pytest.mark.parametrize(
    "claimed",
    [
        *({"words": 10**7}, {"vectors": 2**40}, {"chars": -1}, {"tags": 10**30}, {"rels": 10**6}, {"rels": "many"}),
        *({"hidden": 20_000}, {"arc": 2**62}, {"layers": 2**40}, {"layers": 3}, {"layers": 0}, {"dropout": 7}),
    ],
    ids=str,
)
def test_a_parser_that_claims_other_sizes_than_its_weights_is_never_made(
    claimed: dict[str, object], parser_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from builder.language.nlp import parser

    made: list[parser.ParserShape] = []
    monkeypatch.setattr(parser, "make_parser", lambda known, shape, weights: made.append(shape))
    change_parser(parser_file, **claimed)
    with pytest.raises(ResourceError, match="not a parser of this version") as raised:
        parser.load(parser_file)
    assert made == []
    assert len(str(raised.value)) < 500 and str(raised.value).isprintable()


def test_a_parser_whose_texts_are_no_rows_of_bytes_or_lack_the_root_is_one_line(parser_file: Path) -> None:
    """One number in place of a text would be read as so many bytes."""
    import torch

    from builder.language.nlp import parser

    rels = "\0".join(f"relation{i}" for i in range(len(parser.load(parser_file).vocabulary.rels))).encode()
    deep = torch.full((100_000,), ord("["), dtype=torch.uint8)
    for name, value in {
        "strings.words": torch.tensor(10**12),
        "strings.rels": torch.tensor(list(rels), dtype=torch.uint8),
        "shape": deep,
    }.items():
        change_parser(parser_file, **{name: value})
        with pytest.raises(ResourceError, match="not a parser of this version"):
            parser.load(parser_file)


def test_a_segmenter_that_claims_more_than_its_weights_is_never_made(tmp_path: Path) -> None:
    """Two million labels, counts of a million million rows, and tables without atoms to name their rows."""
    import numpy as np
    from safetensors.numpy import load_file, save_file

    from builder.language.nlp import crf
    from builder.language.nlp.embedded import MODELS

    own, path = load_file(MODELS / "segmenter.safetensors"), tmp_path / "segmenter.safetensors"
    for changed in (
        {"tags": np.zeros(500_000, np.uint8)},
        {"tags": np.zeros(0, np.uint8)},
        {"counts.char.0": np.array([10**12])},
        {"counts.char.0": np.full(len(own["counts.char.0"]), -(10**12))},
        {"counts.char.0": np.zeros(1_000_000, np.uint8)},
        {"weights.char.0": np.zeros(3, np.float16)},
        {"columns.char.0": np.full_like(own["columns.char.0"], 255)},
        {"transitions": np.zeros((4, 4), np.float16)},
    ):
        save_file(own | changed, path)
        with pytest.raises(ResourceError, match="not a segmenter of this version") as raised:
            crf.load(path)
        assert str(raised.value).isprintable()


def test_an_embedded_model_far_larger_than_any_is_not_read(tmp_path: Path) -> None:
    """A file with a hole, which no disk holds and no memory either."""
    from builder.language.nlp.embedded import MODELS, load

    folder = Path(shutil.copytree(MODELS, tmp_path / "embedded"))
    os.truncate(folder / "parser.safetensors", 1 << 40)
    with pytest.raises(ResourceError, match=r"parser\.safetensors is larger than 256 MB"):
        load({}, folder)


def test_a_config_with_a_key_of_thousands_of_characters_is_one_line_of_moderate_length(tmp_path: Path) -> None:
    from builder.core.errors import LONGEST

    error = ModelError(f"not a model config of this version: {'a' * 5000!r}", where=str(tmp_path), fix="train it again")
    assert len(error.what) < LONGEST
    assert str(error).startswith(f"{tmp_path}: not a model config of this version")
    assert str(error).endswith("; train it again")
