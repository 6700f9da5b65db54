"""tests/measure/seq2seq.py: the figures that it prints are those of what it trained and wrote."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import count
from types import SimpleNamespace

import pytest
import torch

from builder.models.paper.seq2seq import Seq2SeqConfig
from measure import seq2seq

SHAPE = {"d_model": 16, "d_kv": 8, "d_ff": 24, "num_layers": 1, "num_heads": 2}
PAIRS = seq2seq.data(8, 400, [5, 9, 30, 70])
PLAN = [[0], [1], [2, 3], [4, 5], [6, 7]]
RECIPE = seq2seq.Recipe("paper", 400, lambda pairs: PLAN, Seq2SeqConfig(threads=1, batch_tokens=10**6, device="cpu"))


def test_a_token_of_the_question_passes_the_encoder_and_one_of_the_answer_decoder_and_output() -> None:
    network = seq2seq.model(SHAPE, 400)
    attention, feed_forward, width = 4 * 16 * 16, 3 * 16 * 24, 16
    positions = 32 * 2
    encoder = attention + feed_forward + 2 * width + positions
    decoder = 2 * attention + feed_forward + 3 * width + positions
    assert seq2seq.parameters(network) == (encoder, decoder + 400 * width)


def test_a_rate_counts_the_tokens_and_weights_of_the_steps_behind_the_first_three() -> None:
    network = seq2seq.model(SHAPE, 400)
    rate = seq2seq.train(network, PAIRS, RECIPE, 0.0)
    assert rate.steps == 1
    source, target = (sum(len(getattr(PAIRS[i], side)) for i in PLAN[3]) for side in ("source", "target"))
    assert rate.tokens / rate.target_tokens == pytest.approx((source + target) / target)
    encoder, decoder = seq2seq.parameters(network)
    assert rate.flops / rate.tokens == pytest.approx(6 * (encoder * source + decoder * target) / (source + target))


def test_writing_counts_the_tokens_behind_the_first_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    seconds = count()
    monkeypatch.setattr(seq2seq, "time", SimpleNamespace(perf_counter=lambda: float(next(seconds))))
    written = seq2seq.writing(seq2seq.model(SHAPE, 400), PAIRS, PLAN[2:], RECIPE.config, 0.0)
    longest = max(len(PAIRS[i].target) for i in PLAN[3])
    assert written == 2 * longest / 2, "two rows, and two ticks of the clock"


def test_the_lines_hold_utilisation_and_ratios() -> None:
    paper = seq2seq.Reached(2_000_000, seq2seq.Rate(100, 500, 4e9, 7), 50.0)
    ours = seq2seq.Reached(1_000_000, seq2seq.Rate(2000, 9000, 4e10, 9), 1500.0)
    assert seq2seq.describe(RECIPE, paper, 1e11) == (
        "paper: 2.0 million parameters, 400 rows; training 100 target tokens/s "
        "(500 tokens/s, 7 steps, 0.004 TFLOP/s, 4.0% of the peak); writing 50 tokens/s"
    )
    assert seq2seq.compare(paper, ours) == (
        "ours against the paper's recipe: training 20.0 times the target tokens/s, writing 30.0 times"
    )


def test_the_plain_recipe_is_float32_in_twos_and_ours_buckets_by_length() -> None:
    paper, ours = seq2seq.recipes(True, 16_384, 1)
    assert (paper.rows, ours.rows) == (250_112, 16_384)
    assert paper.config == replace(ours.config, precision="fp32", batch_tokens=10**9)
    pairs = seq2seq.data(60, 400, [5, 9, 30, 70, 400])
    assert paper.plan(pairs) == [[i, i + 1] for i in range(0, 60, 2)]
    assert ours.config.precision == "auto", "bf16 where the GPU has it"
    spread = max(len(pairs[i].source) for i in range(60)) - min(len(pairs[i].source) for i in range(60))
    small = seq2seq.batches(pairs, 500, 1, 0)
    lengths = [[len(pairs[i].source) for i in batch] for batch in small]
    assert max(max(batch) - min(batch) for batch in lengths) < spread / 2


def test_the_script_runs_on_a_tiny_model_of_the_real_class(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    seq2seq.main(["--seconds", "0.05", "--pairs", "24", "--peak", "0.001"])
    *_, paper, ours, ratio = capsys.readouterr().out.splitlines()
    speeds = [
        [float(number.replace(",", "")) for number in re.findall(r"(?:training|writing) ([\d,]+)", line)]
        for line in (paper, ours)
    ]
    shown = [float(number) for number in re.findall(r"([\d.]+) times", ratio)]
    for times, paper_speed, our_speed in zip(shown, *speeds, strict=True):  # whole numbers, the lower on slow machines
        assert (our_speed - 0.5) / (paper_speed + 0.5) - 0.1 < times < (our_speed + 0.5) / (paper_speed - 0.5) + 0.1
    for line in (paper, ours):
        flops, share = (float(n) for n in re.findall(r"([\d.e-]+) TFLOP/s, ([\d.]+)% of the peak", line)[0])
        assert share == pytest.approx(100 * flops / 0.001, rel=0.01, abs=0.06)


def test_the_peak_is_the_data_sheets_or_what_products_of_matrices_reach() -> None:
    assert seq2seq.sheet_of("NVIDIA H200") == 1e12 * seq2seq.TERAFLOPS["h200"]
    assert seq2seq.sheet_of("NVIDIA GeForce RTX 4090") == 1e12 * seq2seq.TERAFLOPS["rtx4090"]
    assert seq2seq.sheet_of("NVIDIA L4") == 1e12 * seq2seq.TERAFLOPS["l4"]
    assert seq2seq.sheet_of("GTX 970") is None
    reached, origin = seq2seq.peak_of(torch.device("cpu"), 0.05)
    assert 1e8 < reached < 1e15, "a CPU"
    assert origin == "products of matrices on cpu, float32"
