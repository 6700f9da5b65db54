"""Training a tagger on a pretrained encoder of BERT-base size against a plain loop, in one run: tokens a second, and
the share of the chip's bf16 peak.

    python tests/measure/encoder.py [--seconds 30] [--peak 989]

Ours: bf16 where the device has it, batches of like length, a budget of characters. Plain: float32, batches of 2 in the
order of the file. Both train the tagger's own network on random weights; texts are random, with the lengths of reviews.
Without a GPU the same script runs a tiny model on the CPU, and says so: its ratios mean nothing for a GPU.

FLOPs of a training step: 6 for each parameter of the encoder's layers and token, attention and heads left out.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import torch

from builder.learning.encode import batches
from builder.learning.task import EncoderTuning, Example, TaggerConfig
from builder.model.encoder import load_encoder
from builder.model.foundation import Foundation
from builder.model.tagger import learnable
from builder.model.tagger_network import TaggerNetwork

sys.path.insert(0, str(Path(__file__).parent.parent))
from tiny_encoders import make_encoder

BASE = {"hidden_size": 768, "num_hidden_layers": 12, "num_attention_heads": 12, "intermediate_size": 3072}
LETTERS = "湯頭麵好吃服務慢環境乾淨價格貴店員親切甜點鹹味道普通，。"


def texts(number: int) -> list[str]:
    """Random texts; lengths are log-normal, with a median of 27 characters as reviews have."""
    draw = random.Random(3)
    lengths = [min(250, max(4, int(draw.lognormvariate(3.3, 1.1)))) for _ in range(number)]
    return ["".join(draw.choices(LETTERS, k=length)) for length in lengths]


def train(base: Foundation, made: Sequence[str], plan: list[list[int]], config: TaggerConfig, seconds: float) -> float:
    """Characters a second; the first steps, which compile and allocate, are not counted."""
    encode = base.make_encoder(config)
    items = [learnable(Example(str(i), text, ()), encode, config)[0][0] for i, text in enumerate(made)]
    network = TaggerNetwork(base, config).to(base.device).train()
    optimizer = torch.optim.AdamW(network.parameters(), lr=1e-5)
    done, started = 0, 0.0
    for number, batch in enumerate(plan * 1000):
        if number == 2:
            wait()
            started = time.perf_counter()
        optimizer.zero_grad(set_to_none=True)
        network.loss([items[i] for i in batch]).backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        if number >= 2:
            done += sum(len(made[i]) for i in batch)
            if time.perf_counter() - started > seconds:
                break
    wait()
    return done / (time.perf_counter() - started)


def wait() -> None:
    if torch.cuda.is_available():
        torch.cuda.synchronize()


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--seconds", type=float, default=30.0, help="Seconds a measurement.")
    options.add_argument("--peak", type=float, default=989.0, help="bf16 peak in TFLOP/s (H100, H200: 989).")
    chosen = options.parse_args()
    gpu = torch.cuda.is_available()
    if not gpu:
        print("no GPU: a tiny model on the CPU, in float32; the ratio says that the script runs, not what a GPU does")
    made = texts(2000)
    with tempfile.TemporaryDirectory() as folder:
        shape = {**BASE, "max_position_embeddings": 512} if gpu else {}
        source = make_encoder(Path(folder), "bert", made, **shape)
        config = TaggerConfig(batch_chars=32_768 if gpu else 1024, threads=torch.get_num_threads())
        ours = load_encoder(str(source), EncoderTuning(), "auto")
        plain = replace(ours, tuning=EncoderTuning(precision="fp32"))
        ordered = [[i, i + 1] for i in range(0, len(made), 2)]
        layers = sum(w.numel() for name, w in (ours.weights or {}).items() if "layer" in name)
        buckets = batches([len(text) for text in made], config.batch_chars)
        rates = {
            "plain": train(plain, made, ordered, config, chosen.seconds),
            "ours": train(ours, made, buckets, config, chosen.seconds),
        }
    for name, rate in rates.items():
        flops = 6.0 * layers * rate / 1e12
        share = f", {100 * flops / chosen.peak:.1f}% of the bf16 peak" if gpu else ""
        print(f"{name}: {rate:,.0f} tokens/s ({flops:.3f} TFLOP/s{share})")
    print(f"ours against the plain loop: {rates['ours'] / rates['plain']:.1f} times the tokens/s")


if __name__ == "__main__":
    main()
