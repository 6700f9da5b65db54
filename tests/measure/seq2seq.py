"""Training and writing at mT5-base size against the paper's recipe, in one run: tokens a second, and the share of the
chip's bf16 peak.

    python tests/measure/seq2seq.py [--reviews FILE] [--seconds 60] [--peak TFLOPS]

Ours: the trimmed vocabulary, bf16, length buckets, a token budget. The paper's (appendix 11.1): the whole vocabulary
of 250,112 rows, float32, batches of 2 in the order of the file, for training and for writing. Weights are random (no
hub is needed), so is the text unless --reviews names a review file, whose lengths are then used. Without a GPU the
same script runs a tiny model on the CPU, and says so: its ratios mean nothing for a GPU.

Target tokens are the tokens of the answers, end marks counted, padding not. FLOPs of a training step: 6 for each
parameter and token that passes it (2 forward, 4 backward): encoder parameters by input tokens, decoder parameters and
the output layer by target tokens, attention left out.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch

from builder.learning.hub import quiet
from builder.learning.processes import accelerated, inference
from builder.models.paper.generate import _write
from builder.models.paper.pretrained import Base
from builder.models.paper.seq2seq import Seq2SeqConfig, TokenPair, batches, cut, gradient

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parent.parent))
from tiny_mt5 import fresh

BASE = {"d_model": 768, "d_kv": 64, "d_ff": 2048, "num_layers": 12, "num_heads": 12}
TINY = {"d_model": 64, "d_kv": 16, "d_ff": 128, "num_layers": 2, "num_heads": 4}
ROWS = 250_112
TERAFLOPS = {"h200": 989.0, "h100": 989.0, "a100": 312.0, "l40s": 362.0, "l4": 121.0, "rtx4090": 165.0, "rtx3090": 71.0}
"""Peaks of dense matrices in bf16, by the data sheets."""
_SIDE = {"cpu": 512}


@dataclass(frozen=True)
class Recipe:
    """A way to train: rows of the vocabulary, how batches are cut, and the numbers."""

    name: str
    rows: int
    plan: Callable[[Sequence[TokenPair]], list[list[int]]]
    config: Seq2SeqConfig


@dataclass(frozen=True)
class Rate:
    """What a stretch of training reached."""

    target_tokens: float
    tokens: float
    flops: float
    steps: int


def data(number: int, rows: int, lengths: list[int], seed: int = 1) -> list[TokenPair]:
    """Pairs of random ids: a question of about 20 tokens more than the review,
    an answer of 15 tokens or a fifth of it.
    """
    draw = random.Random(seed)
    out = []
    for i in range(number):
        size = min(1000, draw.choice(lengths))
        answer = min(500, 15 + size // 5)
        made = [(*(draw.randrange(300, rows) for _ in range(count - 1)), 1) for count in (size + 20, answer)]
        out.append(TokenPair(str(i), made[0], made[1]))
    return out


def lengths_of(path: Path | None) -> list[int]:
    """Review lengths in characters, about 0.75 tokens each;
    without a file those of a log-normal with median 27 and mean about 50.
    """
    if path is None:
        draw = random.Random(3)
        return [max(4, int(0.75 * draw.lognormvariate(3.3, 1.1))) for _ in range(5000)]
    from builder.reviews import sources
    from builder.reviews.sources.cells import RawReview

    return [max(4, int(0.75 * len(row.text))) for row in sources.read(path) if isinstance(row, RawReview)]


def model(shape: dict[str, int], rows: int) -> Any:
    from transformers import MT5Config

    with quiet():
        return fresh(MT5Config(vocab_size=rows, dropout_rate=0.1, **shape), 1)


def train(network: Any, pairs: Sequence[TokenPair], recipe: Recipe, seconds: float) -> Rate:
    """Train for about so many seconds; the first steps, which compile and allocate, are not counted."""
    plan = recipe.plan(pairs)
    inputs, outputs = parameters(network)
    steps, target, tokens, flops = 0, 0, 0, 0.0
    with accelerated(recipe.config) as accelerator:
        network.to(accelerator.device).train()
        optimizer = torch.optim.AdamW(network.parameters(), lr=1e-5)
        started, part = 0.0, 0
        for number, batch in enumerate(plan * 1000):
            if number == 3:
                wait()
                started = time.perf_counter()
            items = [pairs[i] for i in batch]
            _, part = gradient(network, items, 0, part, number, accelerator, recipe.config)
            torch.nn.utils.clip_grad_norm_(network.parameters(), 1.0)
            optimizer.step()
            if number >= 3:
                sizes = sum(len(pair.source) for pair in items), sum(len(pair.target) for pair in items)
                steps, target, tokens = steps + 1, target + sizes[1], tokens + sum(sizes)
                flops += 6.0 * (inputs * sizes[0] + outputs * sizes[1])
                if time.perf_counter() - started > seconds:
                    break
        wait()
        spent = time.perf_counter() - started
    return Rate(target / spent, tokens / spent, flops / spent, steps)


def parameters(network: Any) -> tuple[int, int]:
    """Parameters that an input token passes, and that a target token passes (the output layer with them,
    the embedding, a look-up, not).
    """
    encoder = sum(p.numel() for name, p in network.named_parameters() if name.startswith("encoder.block"))
    decoder = sum(p.numel() for name, p in network.named_parameters() if name.startswith("decoder.block"))
    return encoder, decoder + network.get_output_embeddings().weight.numel()


def wait() -> None:
    if torch.cuda.is_available():
        torch.cuda.synchronize()


def writing(
    network: Any, pairs: Sequence[TokenPair], batch: list[list[int]], config: Seq2SeqConfig, seconds: float
) -> float:
    """Tokens written a second, every answer as long as its batch's longest due one (a random model does not end by
    itself).
    """
    base = Base(network, None, "random", "Metaspace", frozenset({0, 1, 2}))
    base = replace(base, tokenizer=Marks())
    written, started = 0, time.perf_counter()
    with quiet(), inference(network, config) as device:
        for number, rows in enumerate(batch * 1000):
            if number == 1:
                wait()
                written, started = 0, time.perf_counter()
            longest = max(len(pairs[i].target) for i in rows)
            outputs = _write(base, [pairs[i].source for i in rows], replace(config, max_output=longest), device)
            written += sum(len(output.ids) for output in outputs)
            if number and time.perf_counter() - started > seconds:
                break
        wait()
    return written / (time.perf_counter() - started)


@dataclass(frozen=True)
class Marks:
    """What writing asks of a tokenizer; the end mark is an id that a random model all but never writes."""

    pad_token_id: int = 0
    eos_token_id: int = 1


@dataclass(frozen=True)
class Reached:
    """What a recipe reached: a network's parameters, a stretch of training, and tokens written a second."""

    parameters: int
    training: Rate
    writing: float


def measure(recipe: Recipe, shape: dict[str, int], pairs: Sequence[TokenPair], seconds: float) -> Reached:
    """Train and write by a recipe. The plain one writes batches as it trains on them, ours by a budget of tokens."""
    network = model(shape, recipe.rows)
    training = train(network, pairs, recipe, seconds)
    plan = recipe.plan(pairs)
    if recipe.name == "ours":
        order = sorted(range(len(pairs)), key=lambda i: -len(pairs[i].source))
        plan = cut(order, [(len(pair.source), len(pair.target)) for pair in pairs], recipe.config.generate_tokens)
    random.Random(2).shuffle(plan)
    written = writing(network, pairs, plan, recipe.config, seconds)
    return Reached(sum(p.numel() for p in network.parameters()), training, written)


def recipes(gpu: bool, rows: int, threads: int) -> tuple[Recipe, Recipe]:
    """The paper's and ours, of sizes that fit the machine; `rows` of the trimmed vocabulary on a GPU."""
    numbers = Seq2SeqConfig(
        batch_tokens=65_536 if gpu else 2_048, generate_tokens=131_072 if gpu else 4_096, threads=threads
    )
    ours = Recipe("ours", rows if gpu else 2_000, lambda pairs: batches(pairs, numbers.batch_tokens, 1, 0), numbers)
    plain = replace(numbers, precision="fp32", batch_tokens=10**9)
    paper = Recipe(
        "paper", ROWS if gpu else 25_000, lambda pairs: [[i, i + 1] for i in range(0, len(pairs) - 1, 2)], plain
    )
    return paper, ours


def peak_of(device: torch.device, seconds: float = 2.0) -> tuple[float, str]:
    """Operations a second, and where the figure comes from."""
    if device.type == "cuda":
        name = torch.cuda.get_device_name(device)
        known = sheet_of(name)
        if known is not None:
            return known, f"data sheet of {name}, bf16"
    kind = torch.bfloat16 if device.type == "cuda" else torch.float32
    return probed_peak(device, kind, seconds), f"products of matrices on {device}, {str(kind).removeprefix('torch.')}"


def sheet_of(name: str) -> float | None:
    """The peak of a GPU by the name that torch gives it, such as `NVIDIA H200`."""
    words = name.lower().replace("geforce ", "").replace("rtx ", "rtx").replace("-", " ").split()
    return next((peak * 1e12 for name, peak in TERAFLOPS.items() if name in words), None)


def probed_peak(device: torch.device, kind: torch.dtype, seconds: float) -> float:
    """Operations a second of square products, two for each element and column: the best of several batches."""
    side = _SIDE.get(device.type, 8192)
    left, right = (torch.randn(side, side, device=device).to(kind) for _ in range(2))
    best, begun = float("inf"), time.perf_counter()
    while best == float("inf") or time.perf_counter() - begun < seconds:
        started = time.perf_counter()
        for _ in range(8):
            left @ right
        wait()
        best = min(best, (time.perf_counter() - started) / 8)
    return 2.0 * side**3 / best


def describe(recipe: Recipe, reached: Reached, peak: float) -> str:
    """The line of a recipe."""
    rate = reached.training
    return (
        f"{recipe.name}: {reached.parameters / 1e6:.1f} million parameters, {recipe.rows:,} rows; "
        f"training {rate.target_tokens:,.0f} target tokens/s "
        f"({rate.tokens:,.0f} tokens/s, {rate.steps} steps, {rate.flops / 1e12:.3g} TFLOP/s"
        f", {100 * rate.flops / peak:.1f}% of the peak); writing {reached.writing:,.0f} tokens/s"
    )


def compare(paper: Reached, ours: Reached) -> str:
    """The line of the ratios."""
    training = ours.training.target_tokens / paper.training.target_tokens
    return (
        f"ours against the paper's recipe: training {training:.1f} times the target tokens/s, "
        f"writing {ours.writing / paper.writing:.1f} times"
    )


def main(arguments: Sequence[str] | None = None) -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--reviews", type=Path, help="Review file whose lengths are used.")
    options.add_argument(
        "--seconds", type=float, default=0.0, help="Seconds a measurement (default: 60 on a GPU, 8 on the CPU)."
    )
    options.add_argument("--peak", type=float, default=0.0, help="Peak in TFLOP/s; else data sheet or probe.")
    options.add_argument("--rows", type=int, default=16_384, help="Rows of the trimmed vocabulary.")
    options.add_argument("--pairs", type=int, default=4096, help="How many questions and answers.")
    options.add_argument("--threads", type=int, default=1, help="CPU threads.")
    chosen = options.parse_args(arguments)
    gpu = torch.cuda.is_available()
    peak, origin = (1e12 * chosen.peak, "given") if chosen.peak else peak_of(torch.device("cuda" if gpu else "cpu"))
    print(f"device: {torch.cuda.get_device_name() if gpu else 'CPU'}, torch {torch.__version__}")
    print(f"peak: {peak / 1e12:.3g} TFLOP/s ({origin})")
    if not gpu:
        print("no GPU: a tiny model on the CPU, in float32; the ratios say that the script runs, not what a GPU does")
    lengths, reached = lengths_of(chosen.reviews), []
    for recipe in recipes(gpu, chosen.rows, chosen.threads):
        pairs = data(chosen.pairs, recipe.rows, lengths)
        reached.append(measure(recipe, BASE if gpu else TINY, pairs, chosen.seconds or (60.0 if gpu else 8.0)))
        print(describe(recipe, reached[-1], peak), flush=True)
        if gpu:
            torch.cuda.empty_cache()
    print(compare(*reached))


if __name__ == "__main__":
    main()
