"""How fast a base trains, reads and writes on a device, and what it takes of its memory.

In: a hub name or folder, of which config.json alone is read. Out: a `BaseSpeed`, measured in seconds on networks of
that shape with random weights; the numbers of weights do not change the speed.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

from builder.core.errors import ModelError
from builder.learning import devices, hub

_LENGTH = 128
"""Tokens of a text: a long review, or a question with one."""
_ROWS = {"cpu": 4}
_WRITTEN = 16
_WRITTEN_ROWS = {"cpu": 4}
_MOST_WRITTEN_ROWS = 224
"""Rows that are written at once: texts of `_LENGTH` in the 32,768 tokens of `paper.generate_tokens`."""


@dataclass(frozen=True, slots=True)
class BaseSpeed:
    """Tokens a second in training, reading and writing (0: it does not write); floating-point operations a second in
    training; bytes of a step and of all weights; bytes of the device (0: not known).
    """

    device: str
    parameters: int
    training: float
    reading: float
    writing: float
    flops: float
    training_memory: float
    weights: float
    device_memory: float

    @property
    def fits(self) -> bool:
        """Whether training fits into the device's memory, where that is known."""
        return not self.device_memory or self.training_memory <= self.device_memory


def probe_base(source: str, device: str, precision: str, seconds: float) -> BaseSpeed:
    """Measure for about `seconds` in all. ModelError where there is no such model or device."""
    place, config = devices.choose(device), hub.load_config(source)
    writes = bool(getattr(config, "is_encoder_decoder", False))
    auto = "AutoModelForSeq2SeqLM" if writes else "AutoModel"
    with torch.device("meta"):
        _require_room(hub.make_network(auto, config, source), source)
    with torch.random.fork_rng(devices=[]):
        network: Any = hub.make_network(auto, config, source)
    network.to(place)
    count = sum(parameter.numel() for parameter in network.parameters())
    rows = _ROWS.get(place.type, 64)
    longest = min(_LENGTH, int(getattr(config, "max_position_embeddings", 0) or _LENGTH) - 2)
    ids = torch.randint(3, int(config.vocab_size), (rows, longest), generator=torch.Generator().manual_seed(1))
    batch = {"input_ids": ids.to(place)} | ({"labels": ids[:, :_WRITTEN].contiguous().to(place)} if writes else {})
    optimizer = torch.optim.AdamW(network.parameters(), lr=1e-6)

    def train() -> None:
        optimizer.zero_grad(set_to_none=True)
        with devices.half_precision(precision, place):
            output = network(**batch)
        loss = output.loss if writes else output.last_hidden_state.float().square().mean()
        loss.backward()
        optimizer.step()

    def read() -> None:
        with torch.inference_mode(), devices.half_precision(precision, place):
            (network.get_encoder() if writes else network)(input_ids=batch["input_ids"])

    written_rows = _WRITTEN_ROWS.get(place.type, _MOST_WRITTEN_ROWS)
    asked = batch["input_ids"].repeat(-(-written_rows // rows), 1)[:written_rows]

    def write() -> None:
        with torch.inference_mode(), devices.half_precision(precision, place), hub.quiet():
            network.generate(asked, max_new_tokens=_WRITTEN, min_new_tokens=_WRITTEN, do_sample=False)

    tokens, answers, share = rows * longest, rows * _WRITTEN if writes else 0, seconds / (3 if writes else 2)
    step = _seconds_of(train, share, place)
    peak = float(torch.cuda.max_memory_allocated(place)) if place.type == "cuda" else 16.0 * count
    network.eval()
    reader, writer = passed_weights(network)
    memory = float(torch.cuda.get_device_properties(place).total_memory) if place.type == "cuda" else 0.0
    return BaseSpeed(
        device=str(place),
        parameters=count,
        training=(tokens + answers) / step,
        reading=tokens / _seconds_of(read, share, place),
        writing=written_rows * _WRITTEN / _seconds_of(write, share, place) if writes else 0.0,
        flops=6.0 * (reader * tokens + writer * answers) / step,
        training_memory=peak,
        weights=4.0 * count,
        device_memory=memory,
    )


def passed_weights(network: Any) -> tuple[int, int]:
    """How many weights a token that is read passes, and one that is written (0: none is). Embeddings are looked up,
    the output layer is passed.
    """
    looked_up = network.get_input_embeddings().weight
    if not getattr(network.config, "is_encoder_decoder", False):
        return sum(p.numel() for p in network.parameters() if p is not looked_up), 0
    encoder, decoder = (
        sum(p.numel() for p in part.parameters() if p is not looked_up)
        for part in (network.get_encoder(), network.get_decoder())
    )
    return encoder, decoder + network.get_output_embeddings().weight.numel()


def _require_room(network: torch.nn.Module, source: str) -> None:
    """ModelError where the numbers of a network, of which only the shapes are there, are more than this machine's
    memory holds.
    """
    needed = 4 * sum(parameter.numel() for parameter in network.parameters())
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    if needed > memory:
        what = f"its weights take {needed / 1e9:,.0f} GB, and this machine has {memory / 1e9:,.0f} GB of memory"
        raise ModelError(what, where=source, fix="use a smaller base")


def _seconds_of(step: Callable[[], None], most: float, device: torch.device) -> float:
    """Seconds of a step: the mean of as many as fit into `most`, one at least, behind one that warms up."""

    def warm_up() -> bool:
        step()
        return True

    def wait() -> None:
        if device.type == "cuda":
            torch.cuda.synchronize(device)

    if devices.attempt(warm_up) is None:
        raise ModelError("one step does not fit into its memory", where=str(device), fix="use a smaller base")
    wait()
    started, steps = time.perf_counter(), 0
    while not steps or time.perf_counter() - started < most:
        step()
        steps += 1
    wait()
    return (time.perf_counter() - started) / steps
