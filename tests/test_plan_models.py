"""`builder plan --profile`: what a base does in each stage, and how fast a tiny one of its kind does it here."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from tiny_encoders import make_encoder
from tiny_mt5 import make_base

from builder.cli import cli
from builder.config import resolve
from builder.errors import ModelError
from builder.model.probing import BaseSpeed, probe_base
from builder.usecases.model_costs import ReviewSize, stage_tokens

SIZE = ReviewSize(tokens=50, answer=20, triplets=2)
TEXTS = ["湯頭很濃郁，牛肉麵好吃！", "服務普通，環境乾淨。"]
SPEED = BaseSpeed("cpu", 100, training=100.0, reading=1000.0, writing=10.0, flops=0, training_memory=5, weights=4,
                  device_memory=0)  # fmt: skip


def test_the_tokens_of_an_encoder_follow_from_folds_passes_and_rounds() -> None:
    options = {"profile": "encoder", "encoder.base": "some", "ingest.valid_share": 0.1, "ingest.test_share": 0.1}
    judge, tagger = stage_tokens(resolve(options=options).config, 1000, SIZE)
    assert judge.trained == pytest.approx(800 * 1 * 2 * 50), "two folds, each on one, two passes"
    assert judge.read == pytest.approx(1000 * 50 * (0.8 + 0.2 * 2)), "train by one member, the rest by both"
    assert (tagger.trained, tagger.read) == (0, 0), "variant E takes what the panel proposed when it judged"
    more = resolve(options=options | {"self_train.variants": ("A", "C", "D"), "self_train.iterations": 3}).config
    _, rounds = stage_tokens(more, 1000, SIZE)
    assert rounds.trained == pytest.approx((2 + 3 * 3) * 800 * 2 * 50), "A and C share their first round"
    assert judge.written == rounds.written == 0


def test_the_papers_tagger_writes_an_answer_for_each_review_in_each_round() -> None:
    config = resolve(
        options={"profile": "paper", "paper.base": "some", "self_train.variants": ("D",), "self_train.iterations": 1}
    ).config
    judge, tagger = stage_tokens(config, 1000, SIZE)
    assert tagger.written == pytest.approx(2 * 1000 * 20)
    assert judge.trained > 0 and judge.written == 0
    assert tagger.hours(SPEED) == pytest.approx(
        (tagger.trained / 100 + tagger.read / 1000 + tagger.written / 10) / 3600
    )


def test_more_reviews_than_are_trained_on_cost_only_reading() -> None:
    config = resolve(options={"profile": "encoder", "encoder.base": "some", "discriminate.most": 100}).config
    few, many = (stage_tokens(config, count, SIZE)[0] for count in (1000, 2000))
    assert few.trained == many.trained
    assert many.read == pytest.approx(2 * few.read)


@pytest.mark.parametrize("kind", ["encoder", "paper"])
def test_a_base_is_tried_here_and_the_stages_are_shown(kind: str, tmp_path: Path) -> None:
    make = make_base if kind == "paper" else lambda folder, texts: make_encoder(folder, "bert", texts)
    base = make(tmp_path / "base", TEXTS)
    words = ["plan", "--reviews", "1000", "--profile", kind, "--base", str(base), "--device", "cpu", "--seconds", "0.3"]
    done = CliRunner().invoke(cli, words)
    assert done.exit_code == 0, done.output
    assert f"1,000 reviews, profile {kind}" in done.output
    assert [line.split()[0] for line in done.output.splitlines()[4:7]] == ["discriminate", "self_train", "all"]
    assert ("writing" in done.output.splitlines()[-2]) == (kind == "paper")


def test_a_base_that_does_not_fit_and_one_that_is_not_there_are_said(tmp_path: Path) -> None:
    assert SPEED.fits, "of a CPU the memory is not known"
    assert not BaseSpeed("cuda", 1, 1, 1, 0, 1, training_memory=9e9, weights=1, device_memory=8e9).fits
    with pytest.raises(ModelError, match="no model here"):
        probe_base(str(tmp_path), "cpu", "auto", 0.1)
    alone = CliRunner().invoke(cli, ["plan", "--reviews", "10", "--profile", "paper"])
    assert "--profile needs --base" in alone.output


@pytest.mark.parametrize(
    ("claimed", "what"),
    [({"vocab_size": 10**12}, "this machine has"), ({"num_attention_heads": 0}, "no readable model config")],
)
def test_a_base_that_no_memory_holds_or_that_is_no_network_is_one_line(
    claimed: dict[str, int], what: str, tmp_path: Path
) -> None:
    base = make_encoder(tmp_path / "base", "bert", TEXTS)
    settings = json.loads((base / "config.json").read_text("utf-8"))
    (base / "config.json").write_text(json.dumps(settings | claimed), "utf-8")
    with pytest.raises(ModelError, match=what) as raised:
        probe_base(str(base), "cpu", "auto", 0.1)
    assert len(str(raised.value).splitlines()) == 1
