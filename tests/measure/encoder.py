"""Training a tagger on a pretrained encoder of BERT-base size against a plain loop, in one run: tokens a second, and
the share of the chip's peak (model FLOPs utilisation).

    python tests/measure/encoder.py [--seconds 30] [--base FOLDER] [--peak TFLOPS]

Ours: bf16 where the device has it, batches of like length, a budget of characters. Plain: float32, batches of 2 in the
order of the file. Both train the tagger's own network; texts are random, with the lengths of reviews. Without --base
the weights are random, of BERT-base's shape; without a GPU of a tiny one, and the script says so: its ratio means
nothing for a GPU.

Tokens are those that the encoder reads, marks counted, padding not. FLOPs of a step: 6 for each weight that a token
passes (2 forward, 4 backward); attention, heads and looked-up embeddings are left out. The peak is the data sheet's for
bf16, or what matrix products reach on a device that builder does not know.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, repeat
from pathlib import Path
from typing import Any

import torch

from builder.learning.encode import batches
from builder.learning.task import EncoderTuning, Example, TaggerConfig
from builder.models.encoder import EncoderFoundation, EncoderTrunk, load_encoder
from builder.models.tagger import learnable
from builder.models.tagger_network import TaggerNetwork, Window

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parent.parent))
from peak import peak_of, wait
from tiny_encoders import make_encoder

BASE = {"hidden_size": 768, "num_hidden_layers": 12, "num_attention_heads": 12, "intermediate_size": 3072}
LETTERS = "湯頭麵好吃服務慢環境乾淨價格貴店員親切甜點鹹味道普通，。"
_WARM_UP = 2
"""Steps that are not counted: they compile and allocate."""


@dataclass(frozen=True)
class Rate:
    """What a stretch of training did: tokens that the encoder read, seconds, and the weights that each token passes."""

    tokens: int
    seconds: float
    weights: int

    @property
    def tokens_a_second(self) -> float:
        return self.tokens / self.seconds

    @property
    def flops(self) -> float:
        return 6.0 * self.weights * self.tokens_a_second


def texts(number: int) -> list[str]:
    """Random texts; lengths are log-normal, with a median of 27 characters as reviews have."""
    draw = random.Random(3)
    lengths = [min(250, max(4, int(draw.lognormvariate(3.3, 1.1)))) for _ in range(number)]
    return ["".join(draw.choices(LETTERS, k=length)) for length in lengths]


def train(
    base: EncoderFoundation, made: Sequence[str], plan: Sequence[list[int]], config: TaggerConfig, seconds: float
) -> Rate:
    """Train for `seconds`, for one counted step at least."""
    encode = base.make_encoder(config)
    items = [learnable(Example(str(i), text, ()), encode, config)[0][0] for i, text in enumerate(made)]
    sizes = [count_tokens(item) for item in items]
    network = TaggerNetwork(base, config)
    base.begin(network.trunk, 1)
    network.to(base.device).train()
    assert isinstance(network.trunk, EncoderTrunk)
    optimizer = torch.optim.AdamW(network.parameters(), lr=1e-5)
    tokens, started = 0, 0.0
    steps: Iterator[list[int]] = chain.from_iterable(repeat(plan))
    for number, batch in enumerate(steps):
        if number == _WARM_UP:
            wait(base.device)
            started = time.perf_counter()
        optimizer.zero_grad(set_to_none=True)
        network.loss([items[i] for i in batch]).backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        if number >= _WARM_UP:
            tokens += sum(sizes[i] for i in batch)
            if time.perf_counter() - started > seconds:
                break
    wait(base.device)
    return Rate(tokens, time.perf_counter() - started, passed_weights(network.trunk.encoder))


def passed_weights(network: Any) -> int:
    """How many weights a token passes that is read; embeddings are looked up."""
    looked_up = network.get_input_embeddings().weight
    return sum(p.numel() for p in network.parameters() if p is not looked_up)


def count_tokens(window: Window) -> int:
    """The tokens that the encoder reads of a window."""
    assert window.text.tokens is not None
    return sum(len(row) for row in window.text.tokens.ids)


def compare(source: str, made: Sequence[str], batch_chars: int, seconds: float) -> dict[str, Rate]:
    """The plain loop and ours on the same texts."""
    ours = load_encoder(source, EncoderTuning(), "auto")
    plain = replace(ours, tuning=EncoderTuning(precision="fp32"))
    config = TaggerConfig(batch_chars=batch_chars, threads=torch.get_num_threads())
    in_order = [[i, i + 1] for i in range(0, len(made) - 1, 2)]
    buckets = batches([len(text) for text in made], config.batch_chars, random.Random(1))
    return {
        "plain": train(plain, made, in_order, config, seconds),
        "ours": train(ours, made, buckets, config, seconds),
    }


def describe(rates: dict[str, Rate], peak: float, origin: str) -> Iterator[str]:
    """A line for each loop, and how they compare."""
    yield f"peak: {peak / 1e12:.3g} TFLOP/s ({origin})"
    for name, rate in rates.items():
        share = f"{rate.flops / 1e12:.3g} TFLOP/s, {100 * rate.flops / peak:.1f}% of the peak"
        yield f"{name}: {rate.tokens_a_second:,.0f} tokens/s ({rate.weights / 1e6:,.2f} million weights, {share})"
    for name in list(rates)[1:]:
        ratio = rates[name].tokens_a_second / rates["plain"].tokens_a_second
        yield f"{name} against the plain loop: {ratio:.2f} times the tokens/s"


def main(arguments: Sequence[str] | None = None) -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--seconds", type=float, default=30.0, help="Seconds a measurement.")
    options.add_argument("--base", default="", help="An encoder, a folder or a hub name; else one of random weights.")
    options.add_argument("--peak", type=float, default=0.0, help="Peak in TFLOP/s; else data sheet or probe.")
    options.add_argument("--texts", type=int, default=2000, help="How many texts.")
    chosen = options.parse_args(arguments)
    gpu = torch.cuda.is_available()
    if not gpu:
        size = "the base" if chosen.base else "a tiny model"
        print(f"no GPU: {size} on the CPU, in float32; the ratio says that the script runs, not what a GPU does")
    made = texts(max(4, chosen.texts))
    peak, origin = (1e12 * chosen.peak, "given") if chosen.peak else peak_of(torch.device("cuda" if gpu else "cpu"))
    with tempfile.TemporaryDirectory() as folder:
        shape = {**BASE, "max_position_embeddings": 512} if gpu else {}
        source = chosen.base or str(make_encoder(Path(folder), "bert", made, **shape))
        rates = compare(source, made, 32_768 if gpu else 1024, chosen.seconds)
    for line in describe(rates, peak, origin):
        print(line)


if __name__ == "__main__":
    main()
