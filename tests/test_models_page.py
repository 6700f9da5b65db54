"""The page on other models: its commands run, on tiny models of the real classes under the names of the page.

Only sizes are changed, by options behind those of the page. Left to other tests: `nlp train`, `publish`, and what names
a GPU.
"""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest
import torch
from conftest import ROOT
from safetensors.torch import load_file
from test_reproduce import REVIEWS, cache, cached, commands, run
from tiny_encoders import make_encoder
from tiny_mt5 import make_base

from builder.learning.hub import load_network

__all__ = ["cache"]

PAGE = ROOT / "docs" / "guide" / "models.md"
ENCODER, SEQ2SEQ = "hfl/chinese-macbert-base", "google/mt5-base"
SMALL = {
    "device": '"cpu"', "workers": "1", "threads": "1", "ingest.valid_share": "0.2", "discriminate.mode": '"paper"',
    "discriminate.epochs": "1", "self_train.epochs": "1", "self_train.iterations": "0",
}  # fmt: skip


def of_section(beginning: str, *verbs: str) -> list[list[str]]:
    """The commands of a section that begin with one of the verbs."""
    chosen = [
        words
        for section, words in commands(PAGE)
        if section.startswith(beginning) and " ".join(words).startswith(verbs)
    ]
    assert chosen, beginning
    return chosen


def settings(**more: str) -> list[str]:
    return [word for key, value in {**SMALL, **more}.items() for word in ("--set", f"{key}={value}")]


@pytest.fixture(autouse=True)
def files(cache: Path) -> None:
    """The files that the page names, in the working directory, and the models in the hub's cache."""
    cached(cache, ENCODER, make_encoder(cache.parent / "macbert", "bert", REVIEWS))
    cached(cache, SEQ2SEQ, make_base(cache.parent / "mt5", REVIEWS))
    with open("reviews.csv", "w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([["id", "text"], *([f"r{n}", text] for n, text in enumerate(REVIEWS))])


def test_the_build_on_an_encoder_runs() -> None:
    build, own = of_section("An encoder such as BERT", "build", "extract")
    run([*build, *settings(**{"encoder.rate": "1e-3", "discriminate.epochs": "16", "self_train.epochs": "16"})])
    assert run(own).startswith("餐點好吃，但是服務很慢\n")
    kept = json.loads(Path("encoder/models/C0/config.json").read_text("utf-8"))
    assert kept["encoder"]["model_type"] == "bert"


def test_a_base_is_converted() -> None:
    make_encoder(Path("bases/old"), "electra", REVIEWS)
    due = load_network("AutoModel", "bases/old", wanted="another")
    torch.save(load_file("bases/old/model.safetensors"), "bases/old/pytorch_model.bin")
    Path("bases/old/model.safetensors").unlink()
    page = PAGE.read_text("utf-8")
    written = page[page.index("```py\n") + 6 :]
    exec(written[: written.index("```")], {})
    network = load_network("AutoModel", "bases/new", wanted="another")
    assert all(torch.equal(tensor, network.state_dict()[name]) for name, tensor in due.state_dict().items())


def test_the_papers_profile_runs() -> None:
    plain, extract, build = of_section("A sequence-to-sequence model", "build", "extract")
    page = PAGE.read_text("utf-8")
    written = page[page.index("```toml") + 8 :].replace("bases/drcd", SEQ2SEQ)
    Path("paper.toml").write_text(written[: written.index("```")], "utf-8")
    small = {"paper.epochs": "1", "paper.judge_epochs": "1"}
    smaller = settings(**small, **{"self_train.variants": '["D"]', "paper.max_output": "8"})
    run([*build, *smaller])
    assert json.loads(Path("paper/models/D0/paper.json").read_text("utf-8"))
    run([*plain, *smaller])
    assert run(["D" if word == "C" else word for word in extract]).startswith("餐點好吃，但是服務很慢\n")
