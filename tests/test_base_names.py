"""A base or a device that is not there stops a build before its first stage, in one line that names the setting."""

from __future__ import annotations

import csv
import shutil
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner
from test_encoder import TEXTS, bases
from test_reproduce import cache, cached
from tiny_encoders import make_encoder
from tiny_mt5 import make_base

from builder.cli.main import cli
from builder.core.errors import ModelError, install_command
from builder.learning import hub
from builder.learning.task import EncoderTuning
from builder.models.encoder import load_encoder

__all__ = ["bases", "cache"]


@pytest.fixture
def unreachable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A hub that nobody answers for: nothing listens at its port."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setattr(
        "huggingface_hub.constants.HUGGINGFACE_CO_URL_TEMPLATE", "http://127.0.0.1:9/{repo_id}/{revision}/{filename}"
    )


@pytest.mark.parametrize("profile", ["encoder", "paper"])
def test_a_mistyped_folder_is_named_before_anything_is_read(profile: str, unreachable: None) -> None:
    make_encoder(Path("models/macbert"), "bert", TEXTS)
    with open("reviews.csv", "w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([["text"], *([text] for text in TEXTS[:20])])
    began = time.monotonic()
    for name, why in (("modls/macbert", "cannot be reached"), ("./modls/macbert", "there is no such folder")):
        base = f"{profile}.base={name}"
        ran = CliRunner().invoke(
            cli, ["build", "reviews.csv", "--workdir", "w", "--profile", profile, "--set", base], catch_exceptions=True
        )
        error = str(ran.exception)
        assert error.startswith(f'{profile}.base = "{name}": no ') and why in error, error
        assert error.endswith("did you mean 'models/macbert'?") and "\n" not in error
        assert "annotate" not in ran.output and not Path("w/build.sqlite").exists()
    assert time.monotonic() - began < 30, "the hub's own client would try for half a minute each"


MAKERS: dict[str, Callable[[Path], object]] = {
    "bert": lambda folder: make_encoder(folder, "bert", TEXTS),
    "decoding bert": lambda folder: make_encoder(folder, "bert", TEXTS, is_decoder=True),
    "mt5": lambda folder: make_base(folder),
}
NO_ENCODER, NO_WRITER = "is no encoder; use a complete encoder such as", "is no encoder-decoder; use one such as"


@pytest.mark.parametrize(
    ("profile", "kind", "why"),
    [
        ("encoder", "mt5", f"a 'mt5' model {NO_ENCODER} hfl/chinese-macbert-base"),
        ("encoder", "decoding bert", f"a 'bert' model {NO_ENCODER} hfl/chinese-macbert-base"),
        ("paper", "bert", f"a 'bert' model {NO_WRITER} google/mt5-base, google/mt5-small"),
    ],
)
def test_a_base_of_another_class_is_refused_before_a_build(
    profile: str, kind: str, why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    MAKERS[kind](tmp_path / "base")
    error = f'{profile}.base = "./base": {why}'
    build = ["build", "--workdir", "w", "--profile", profile, "--set", f"{profile}.base=./base"]
    for words in (build, [*build, "--dry-run"]):
        ran = CliRunner().invoke(cli, words)
        assert str(ran.exception).replace(str(tmp_path / "base"), "./base") == error
        assert "annotate" not in ran.output and not Path("w/build.sqlite").exists()
    if profile == "encoder":
        with pytest.raises(ModelError, match=NO_ENCODER):
            load_encoder("./base", EncoderTuning(), "cpu")


@pytest.mark.parametrize("profile", ["rules", "embedded", "encoder", "paper"])
def test_a_device_that_is_not_here_stops_a_build(profile: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the profile: whoever names a GPU wants it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("torch.cuda.device_count", lambda: 1)
    words = ["build", "--workdir", "w", "--profile", profile, "--set", "device=cuda:1"]
    if profile in ("encoder", "paper"):
        MAKERS["bert" if profile == "encoder" else "mt5"](tmp_path / "base")
        words += ["--set", f"{profile}.base=./base"]
    ran = CliRunner().invoke(cli, words)
    assert str(ran.exception) == "device: torch sees no device 'cuda:1' here; set device = \"auto\"", ran.output
    assert "annotate" not in ran.output and not Path("w/build.sqlite").exists()


@pytest.mark.augment
@pytest.mark.parametrize("method", ["cbert", "gpt2", "masked-seq2seq", "style-transfer"])
def test_a_mistyped_base_of_a_method_is_named_before_the_release_is_read(method: str, unreachable: None) -> None:
    key = f"{method.replace('-', '_')}.base"
    ran = CliRunner().invoke(cli, ["augment", method, "--release", "none", "--set", f"{key}=modls/macbert"])
    assert str(ran.exception).startswith(f'{key} = "modls/macbert": no folder here'), ran.exception


@pytest.mark.augment
@pytest.mark.parametrize(
    "words",
    ["gpt2", "boostaug --set boostaug.backend=gpt2", "cbert --set cbert.base=someone/tiny", "eda --set fluency=gpt2"],
)
def test_a_method_without_transformers_names_its_extra_before_the_release_is_read(
    words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "transformers", None)
    ran = CliRunner().invoke(cli, ["augment", *words.split(), "--release", "none"])
    assert str(ran.exception) == f"this model needs transformers; {install_command('augment')}"


def test_a_folder_that_cannot_serve_is_named_before_a_build(bases: Callable[[str], Path], tmp_path: Path) -> None:
    folder = shutil.copytree(bases("electra"), tmp_path / "old")
    hub.require_base(str(folder), "encoder.base")
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")
    with pytest.raises(ModelError, match=r"a pickle; .* `transformers\.AutoModel\.from_pretrained"):
        hub.require_base(str(folder), "encoder.base")
    (folder / "pytorch_model.bin").unlink()
    with pytest.raises(ModelError, match=r'encoder.base = ".*old": no weights here: there is no \*.safetensors'):
        hub.require_base(str(folder), "encoder.base")


def test_a_model_in_the_hubs_cache_needs_no_hub(cache: Path, bases: Callable[[str], Path]) -> None:
    cached(cache, "someone/tiny", bases("electra"))
    hub.require_base("someone/tiny", "encoder.base")
    with pytest.raises(ModelError, match="HF_HUB_OFFLINE keeps us from asking the hub"):
        hub.require_base("someone/tinny", "encoder.base")
    with pytest.raises(ModelError, match="no folder here, and no model that the hub gives us"):
        hub.require_base("some one", "encoder.base")
