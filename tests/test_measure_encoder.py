"""tests/measure/encoder.py: the figures that it prints are those of what it trained."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import torch
from measure import encoder, peak
from tiny_encoders import make_encoder

from builder.learning.task import EncoderTuning, TaggerConfig
from builder.models.encoder import load_encoder

TEXTS = encoder.texts(12)
CONFIG = TaggerConfig(batch_chars=256, threads=1)


@pytest.mark.parametrize("kind", ["bert", "roberta", "modernbert"])
def test_a_rate_counts_the_tokens_and_weights_of_the_steps_behind_the_first_two(kind: str, tmp_path: Path) -> None:
    base = load_encoder(str(make_encoder(tmp_path, kind, TEXTS)), EncoderTuning(), "cpu")
    rate = encoder.train(base, TEXTS, [[0], [1], [2, 3], [4]], CONFIG, 0.0)
    tokens = base.make_tokens()
    assert rate.tokens == sum(len(row) for i in (2, 3) for row in tokens(TEXTS[i]).ids), "one counted step"
    assert base.weights is not None
    embeddings = "embeddings.tok_embeddings.weight" if kind == "modernbert" else "embeddings.word_embeddings.weight"
    assert rate.weights == sum(w.numel() for name, w in base.weights.items() if name != embeddings)
    assert rate.flops == pytest.approx(6 * rate.weights * rate.tokens / rate.seconds)


def test_the_lines_hold_utilisation_and_ratio() -> None:
    rates = {"plain": encoder.Rate(1000, 2.0, 10**6), "ours": encoder.Rate(9000, 3.0, 10**6)}
    assert list(encoder.describe(rates, 1e11, "given")) == [
        "peak: 0.1 TFLOP/s (given)",
        "plain: 500 tokens/s (1.00 million weights, 0.003 TFLOP/s, 3.0% of the peak)",
        "ours: 3,000 tokens/s (1.00 million weights, 0.018 TFLOP/s, 18.0% of the peak)",
        "ours against the plain loop: 6.00 times the tokens/s",
    ]


def test_the_script_runs_on_a_folder_of_a_real_class(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = make_encoder(tmp_path / "base", "electra", TEXTS)
    encoder.main(["--seconds", "0.1", "--base", str(source), "--texts", "12", "--peak", "0.001"])
    lines = capsys.readouterr().out.splitlines()[-4:]
    assert lines[0] == "peak: 0.001 TFLOP/s (given)"
    speeds = [float(re.findall(r": ([\d,]+) tokens/s", line)[0].replace(",", "")) for line in lines[1:3]]
    ratio = float(re.findall(r"([\d.]+) times", lines[3])[0])
    assert ratio == pytest.approx(speeds[1] / speeds[0], rel=0.02)


def test_the_peak_is_the_data_sheets_or_what_products_of_matrices_reach() -> None:
    assert peak.sheet_of("NVIDIA H200") == 1e12 * peak.TERAFLOPS["h200"]
    assert peak.sheet_of("NVIDIA A100-SXM4-80GB") == 1e12 * peak.TERAFLOPS["a100"]
    assert peak.sheet_of("NVIDIA GeForce RTX 4090") == 1e12 * peak.TERAFLOPS["rtx4090"]
    assert peak.sheet_of("NVIDIA L4") == 1e12 * peak.TERAFLOPS["l4"]
    assert peak.sheet_of("GTX 970") is None
    reached, origin = peak.peak_of(torch.device("cpu"), 0.05)
    assert 1e8 < reached < 1e15, "a CPU"
    assert origin == "products of matrices on cpu, float32"
