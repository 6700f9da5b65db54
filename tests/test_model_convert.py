"""Pickles to safetensors in a process that can do nothing else."""

from __future__ import annotations

import json
import os
import pickle
import shutil
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from click.testing import CliRunner, Result
from safetensors.torch import load_file
from tiny_encoders import make_encoder
from tiny_mt5 import make_base

from builder.cli.main import cli
from builder.core.errors import ModelError, OutputError
from builder.learning import hub, unpickling
from builder.learning.converting import convert

TEXTS = ["湯頭真的很濃郁，麵條普通。", "店員不太好"]


def model(*arguments: object) -> Result:
    return CliRunner().invoke(cli, ["model", *map(str, arguments)])


@pytest.fixture(scope="module")
def bert(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_encoder(tmp_path_factory.mktemp("bases") / "bert", "bert", TEXTS)


@pytest.fixture
def pickled(bert: Path, tmp_path: Path) -> Path:
    """The model as a folder of old: weights in a pickle, and code beside them."""
    folder = shutil.copytree(bert, tmp_path / "old")
    torch.save(load_file(folder / "model.safetensors"), folder / "pytorch_model.bin")
    (folder / "model.safetensors").unlink()
    (folder / "modeling_own.py").write_text("raise SystemExit(3)", "utf-8")
    return folder


def test_a_refusal_names_the_command_that_mends_it(pickled: Path, bert: Path, tmp_path: Path) -> None:
    with pytest.raises(ModelError) as refused:
        hub.load_network("AutoModel", str(pickled), wanted="another")
    assert f"`builder model convert {pickled} --out DIR`" in str(refused.value)
    done = model("convert", pickled, "--out", tmp_path / "new")
    assert done.exit_code == 0, done.output
    own, made = (
        hub.load_network("AutoModel", str(path), wanted="another").state_dict() for path in (bert, tmp_path / "new")
    )
    assert own.keys() == made.keys()
    assert all(torch.equal(tensor, made[name]) for name, tensor in own.items())
    names = {path.name for path in (tmp_path / "new").iterdir()}
    assert names >= {"config.json", "tokenizer.json", "model.safetensors", "README.md"}
    assert not names & {"pytorch_model.bin", "modeling_own.py"}
    digest = subprocess.run(
        ["sha256sum", tmp_path / "new" / "model.safetensors"], capture_output=True, text=True, check=True
    )
    assert digest.stdout.split()[0] in (tmp_path / "new" / "README.md").read_text("utf-8")
    assert digest.stdout.split()[0] in done.output


def test_tied_weights_of_shards_are_all_there(tmp_path: Path) -> None:
    base = make_base(tmp_path / "base", TEXTS)
    own = hub.load_network("AutoModelForSeq2SeqLM", str(base), wanted="another")
    weights = dict(own.state_dict(keep_vars=True))
    tied = [name for name, tensor in weights.items() if tensor is weights["shared.weight"]]
    assert len(tied) > 1
    for path in base.glob("*.safetensors"):
        path.unlink()
    shards = {name: f"pytorch_model-0000{1 + (i % 2)}-of-00002.bin" for i, name in enumerate(sorted(weights))}
    for shard in set(shards.values()):
        torch.save({name: weights[name] for name in weights if shards[name] == shard}, base / shard)
    index = {"metadata": {"total_size": 1}, "weight_map": shards}
    (base / "pytorch_model.bin.index.json").write_text(json.dumps(index), "utf-8")
    files = convert(base, tmp_path / "new")
    assert [file.target for file in files] == ["model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"]
    made = hub.load_network("AutoModelForSeq2SeqLM", str(tmp_path / "new"), wanted="another")
    assert all(torch.equal(tensor, made.state_dict()[name]) for name, tensor in own.state_dict().items())
    assert made.shared.weight is made.encoder.embed_tokens.weight, "tied as before"


class Harm:
    """Runs a command when it is unpickled."""

    def __init__(self, command: str) -> None:
        self.command = command

    def __reduce__(self) -> tuple[Any, ...]:
        return os.system, (self.command,)


def test_a_pickle_that_runs_a_command_is_refused_and_nothing_is_left(pickled: Path, tmp_path: Path) -> None:
    torch.save({"weight": Harm(f"touch {tmp_path}/harmed")}, pickled / "pytorch_model.bin")
    with pytest.raises(ModelError, match="no weights could be read: torch refuses it"):
        convert(pickled, tmp_path / "new")
    assert not (tmp_path / "harmed").exists()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["old"]


@pytest.mark.parametrize(
    ("content", "what"),
    [({"epoch": 3}, "'epoch' is no tensor"), ([1], "no table of tensors"), ({}, "no table of tensors")],
)
def test_a_pickle_without_a_table_of_tensors_is_refused(
    content: object, what: str, pickled: Path, tmp_path: Path
) -> None:
    torch.save(content, pickled / "pytorch_model.bin")
    with pytest.raises(ModelError, match=what):
        convert(pickled, tmp_path / "new")


@pytest.mark.parametrize(
    "act",
    [
        "socket.create_connection(('127.0.0.1', {port}))",
        "os.system('touch {path}')",
        "open('{path}', 'w')",
        "os.remove('{own}')",
    ],
)
def test_the_process_that_reads_pickles_can_do_nothing_else(act: str, tmp_path: Path) -> None:
    """Even if torch were tricked: what the pickle asks for is refused by the interpreter."""
    own = tmp_path / "mine"
    own.write_text("x", "utf-8")
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        asked = act.format(port=listening.getsockname()[1], path=tmp_path / "harmed", own=own)
        cut = f"runpy.run_path({unpickling.__file__!r})['cut_off']({str(tmp_path / 'target')!r})"
        code = f"import socket, os, runpy; {cut}; {asked}"
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "PermissionError: reading weights asked for" in done.stderr
    assert own.exists() and not (tmp_path / "harmed").exists()


def test_what_need_not_or_cannot_be_converted_says_so(bert: Path, pickled: Path, tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="safetensors already"):
        convert(bert, tmp_path / "new")
    (pickled / "other.pt").write_bytes(pickle.dumps([1]))
    (pickled / "pytorch_model.bin").rename(pickled / "weights.bin")
    with pytest.raises(ModelError, match=r"2 files might hold the weights: other\.pt, weights\.bin"):
        convert(pickled, tmp_path / "new")
    (pickled / "other.pt").unlink()
    with pytest.raises(OutputError, match="there is something already"):
        convert(pickled, pickled)


def test_a_base_whose_settings_describe_no_network_is_one_line(bert: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(bert, tmp_path / "base"))
    settings = json.loads((folder / "config.json").read_text("utf-8"))
    (folder / "config.json").write_text(json.dumps(settings | {"num_attention_heads": 0}), "utf-8")
    with pytest.raises(ModelError, match="no readable model config"):
        hub.make_network("AutoModel", hub.load_config(str(folder)), str(folder))
