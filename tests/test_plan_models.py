"""`builder setup plan --profile`: what a base does in each stage, and how fast a tiny one of its kind does it here."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from tiny_encoders import make_encoder
from tiny_mt5 import make_base

from builder.cli.main import cli
from builder.core.config import resolve
from builder.core.errors import ConfigError, ModelError
from builder.learning import hub
from builder.models import probing
from builder.models.gpu_speed import (
    BANDWIDTH_SHARE,
    COMPUTE_SHARE,
    GPUS,
    STEP_SECONDS,
    Gpu,
    Steps,
    estimate_speed,
    read_gpu,
)
from builder.models.probing import BaseSpeed, passed_weights, probe_base
from builder.pipeline.model_costs import ReviewSize, plan_models, stage_tokens

SIZE = ReviewSize(tokens=50, answer=20, triplets=2)
TEXTS = ["湯頭很濃郁，牛肉麵好吃！", "服務普通，環境乾淨。"]
SPEED = BaseSpeed("cpu", 100, training=100.0, reading=1000.0, writing=10.0, flops=0, training_memory=5, weights=4,
                  device_memory=0)  # fmt: skip


def test_the_tokens_of_an_encoder_follow_from_passes_and_rounds() -> None:
    options = {
        "profile": "encoder", "encoder.base": "some", "ingest.valid_share": 0.1, "ingest.test_share": 0.1,
        "discriminate.mode": "paper", "self_train.iterations": 0,
    }  # fmt: skip
    judge, tagger = stage_tokens(resolve(options=options).config, 1000, SIZE)
    assert judge.trained == pytest.approx(800 * 2 * 50), "two passes"
    assert judge.read == pytest.approx(1000 * 50)
    assert (tagger.trained, tagger.read) == (pytest.approx(800 * 2 * 50), pytest.approx(1000 * 50))
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
    config = resolve(
        options={"profile": "encoder", "encoder.base": "some", "discriminate.mode": "paper", "discriminate.most": 100}
    ).config
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
    assert (", writing" in done.output) == (kind == "paper")
    assert "measured on cpu with random weights" in done.output


@pytest.mark.parametrize("kind", ["encoder", "paper"])
def test_the_flops_of_a_probe_are_those_of_the_weights_that_tokens_pass(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make = make_base if kind == "paper" else lambda folder, texts: make_encoder(folder, "bert", texts)
    base = str(make(tmp_path / "base", TEXTS))
    auto = "AutoModelForSeq2SeqLM" if kind == "paper" else "AutoModel"
    network = hub.load_network(auto, base, wanted="another", optional=("pooler",))
    weights = dict(network.named_parameters())
    read = sum(p.numel() for name, p in weights.items() if not name.startswith(("decoder", "shared", "lm_head")))
    if kind == "encoder":
        read -= weights["embeddings.word_embeddings.weight"].numel()
        assert passed_weights(network) == (read, 0)
    else:
        written = sum(p.numel() for name, p in weights.items() if name.startswith("decoder"))
        assert passed_weights(network) == (read, written + network.lm_head.weight.numel())
    monkeypatch.setattr(probing, "_seconds_of", lambda step, most, device: 2.0)
    speed = probe_base(base, "cpu", "auto", 1)
    if kind == "encoder":
        assert (speed.training, speed.flops) == (4 * 62 / 2, 6 * passed_weights(network)[0] * 4 * 62 / 2)
    else:
        tokens = (4 * 126, 4 * 16)
        assert speed.training == sum(tokens) / 2
        passed = sum(weight * count for weight, count in zip(passed_weights(network), tokens, strict=True))
        assert speed.flops == 6 * passed / 2


# A GPU that is not here


def test_a_gpu_is_named_or_given_by_its_numbers() -> None:
    assert read_gpu("h200") == GPUS["h200"]
    assert read_gpu("312,2039,80") == Gpu("312,2039,80", 312, 2039, 80)
    for wrong in ("h300", "312,2039", "0,1,1", "nan,1,1", "inf,1,1", "a,b,c"):
        with pytest.raises(ConfigError, match="known: h200, h100"):
            read_gpu(wrong)


def test_a_data_sheet_gives_the_speed_of_a_base(tmp_path: Path) -> None:
    base = str(make_base(tmp_path / "base", TEXTS))
    network = hub.load_network("AutoModelForSeq2SeqLM", base, wanted="another")
    read, written = passed_weights(network)
    speed = estimate_speed(base, Gpu("one", 100, 1000, 24), Steps(8192, 0.2, 50))
    compute = COMPUTE_SHARE * 100e12
    assert speed.training == pytest.approx(compute / (6 * max(read, written)))
    assert speed.reading == pytest.approx(3 * speed.training)
    step = STEP_SECONDS + 4 * written / (BANDWIDTH_SHARE * 1e12) + 50 * 2 * written / compute
    assert speed.writing == pytest.approx(50 / step)
    count = sum(p.numel() for p in network.parameters())
    activations = 8192 * (2 * 34 * 2 * 32 + 12 * 0.2 * network.config.vocab_size)
    assert speed.training_memory == pytest.approx(16 * count + activations)
    assert (speed.weights, speed.fits) == (4 * count, True)
    assert not estimate_speed(base, Gpu("small", 100, 1000, 0.001), Steps(8192, 0.2, 50)).fits


def test_the_papers_table_5_takes_less_than_three_hours_of_an_h200_by_plan(tmp_path: Path) -> None:
    base = make_base(tmp_path / "base", TEXTS)
    config = json.loads((base / "config.json").read_text("utf-8"))
    shape = {"d_model": 768, "d_kv": 64, "d_ff": 2048, "num_layers": 12, "num_decoder_layers": 12, "num_heads": 12}
    (base / "config.json").write_text(json.dumps(config | shape | {"vocab_size": 250_112}), "utf-8")
    words = ["plan", "--reviews", "104358", "--profile", "paper", "--preset", "iws-2024", "--base", str(base)]
    done = CliRunner().invoke(cli, [*words, "--gpu", "h200", "--format", "json"])
    assert done.exit_code == 0, done.output
    made = json.loads(done.output)
    assert sum(stage["tokens"]["models"] for stage in made["stages"]) == 16, "as many as the paper trains"
    assert 1 < made["hours"] < 3
    assert made["fits"]
    shown = CliRunner().invoke(cli, [*words, "--gpu", "rtx3090"]).output
    assert "of the 24.0 GB of rtx3090: it does not fit" in shown
    assert "assumed: 40% of the peak of rtx3090 in training and reading; writing by 60% of its bandwidth" in shown


def test_memory_and_disk_of_a_stage_follow_from_what_it_does() -> None:
    options = {"profile": "encoder", "encoder.base": "some", "self_train.variants": ("E",)}
    shipped, _ = plan_models(resolve(options=options).config, 1000, SIZE, SPEED).stages
    assert (shipped.hours, shipped.memory, shipped.disk) == (0, 0, 0), "the model that builder ships is trained"
    options = options | {"self_train.variants": ("C",), "self_train.iterations": 0, "discriminate.mode": "paper"}
    made = plan_models(resolve(options=options).config, 1000, SIZE, SPEED)
    judge, variant = made.stages
    assert (judge.memory, judge.disk) == (SPEED.training_memory, SPEED.weights)
    assert (variant.memory, variant.disk) == (SPEED.training_memory, SPEED.weights)
    assert made.scratch == 4 * SPEED.weights
    assert made.hours == pytest.approx(sum(stage.tokens.hours(SPEED) for stage in made.stages))


def test_options_of_models_without_a_profile_are_refused() -> None:
    done = CliRunner().invoke(cli, ["plan", "--reviews", "10", "--gpu", "h200"])
    assert "--gpu is for the models of a profile: give --profile, too" in done.output
    done = CliRunner().invoke(cli, ["plan", "--reviews", "10", "--base", "some"])
    assert "--base is for the models of a profile" in done.output
    done = CliRunner().invoke(
        cli, ["plan", "--reviews", "10", "--profile", "paper", "--base", "some", "--workdir", "w"]
    )
    assert "--workdir goes by what a build took" in done.output


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
