"""How fast a base would train, read and write on a GPU that is not here, by the GPU's data sheet.

In: a GPU by name or by its three numbers, and a hub name or folder, of which config.json alone is read. Out: a
`BaseSpeed`. Pure arithmetic over the shapes of the network. Attention is left out, and every token of a
sequence-to-sequence model counts as one of the dearer of its two halves.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch

from builder.core.errors import ConfigError
from builder.learning import hub
from builder.models.probing import BaseSpeed, passed_weights

COMPUTE_SHARE = 0.4
"""Share of the peak that training and reading reach: what well-fed networks of this size do in bf16."""
BANDWIDTH_SHARE = 0.6
"""Share of the memory's bandwidth that writing reaches."""
STEP_SECONDS = 0.025
"""Seconds that a step of writing takes at least, whatever the GPU: hundreds of kernels are started one by one."""
_TRAINED, _LOADED = 16, 4
"""Bytes of a parameter in training (its value, its gradient, and two of AdamW) and in prediction."""
_PER_LAYER, _PER_LOGIT = 34, 12
"""Numbers that a layer holds for its gradient, in widths a token (Korthikanti et al. 2022), and bytes of a logit."""


@dataclass(frozen=True, slots=True)
class Gpu:
    """Peak TFLOP/s of dense matrices (bf16 where the GPU has it, else fp32), GB/s and GB of its memory."""

    name: str
    tflops: float
    bandwidth: float
    memory: float


GPUS = {
    gpu.name: gpu
    for gpu in (
        Gpu("h200", 989, 4800, 141),
        Gpu("h100", 989, 3350, 80),
        Gpu("a100", 312, 2039, 80),
        Gpu("l40s", 362, 864, 48),
        Gpu("l4", 121, 300, 24),
        Gpu("rtx4090", 165, 1008, 24),
        Gpu("rtx3090", 71, 936, 24),
        Gpu("v100", 15.7, 900, 32),
        Gpu("t4", 8.1, 320, 16),
    )
}


def read_gpu(text: str) -> Gpu:
    """A GPU by its name in `GPUS`, or by `TFLOPS,GB/S,GB`. ConfigError where it is neither."""
    if text in GPUS:
        return GPUS[text]
    try:
        tflops, bandwidth, memory = (float(part) for part in text.split(","))
    except ValueError:
        tflops = bandwidth = memory = 0.0
    if not min(tflops, bandwidth, memory) > 0 or max(tflops, bandwidth, memory) == float("inf"):
        known = ", ".join(GPUS)
        fix = f"known: {known}; or three numbers, TFLOP/s, GB/s and GB, such as 312,2039,80"
        raise ConfigError(f"no GPU {text!r}", where="--gpu", fix=fix)
    return Gpu(text, tflops, bandwidth, memory)


@dataclass(frozen=True, slots=True)
class Steps:
    """What a step holds: tokens of a step of training, the share of them that answers have, and rows that are written
    at once.
    """

    tokens: int
    answers: float
    rows: int


def estimate_speed(source: str, gpu: Gpu, steps: Steps) -> BaseSpeed:
    """What the data sheet promises. ModelError where there is no such model."""
    config = hub.load_config(source)
    writes = bool(getattr(config, "is_encoder_decoder", False))
    with torch.device("meta"):
        network = hub.make_network("AutoModelForSeq2SeqLM" if writes else "AutoModel", config, source)
    count = sum(parameter.numel() for parameter in network.parameters())
    reader, writer = passed_weights(network)
    passed, compute = max(reader, writer), COMPUTE_SHARE * gpu.tflops * 1e12
    training, reading, writing = compute / (6 * passed), compute / (2 * passed), 0.0
    if writes:
        moved = _LOADED * writer / (BANDWIDTH_SHARE * gpu.bandwidth * 1e9)
        writing = steps.rows / (STEP_SECONDS + moved + steps.rows * 2 * writer / compute)
    layers = int(getattr(config, "num_hidden_layers", 0) or 0) + int(getattr(config, "num_decoder_layers", 0) or 0)
    activations = 2 * _PER_LAYER * layers * int(getattr(config, "hidden_size", 0) or 0)
    logits = _PER_LOGIT * steps.answers * int(config.vocab_size) if writes else 0.0
    return BaseSpeed(
        device=gpu.name,
        parameters=count,
        training=training,
        reading=reading,
        writing=writing,
        flops=compute,
        training_memory=_TRAINED * count + steps.tokens * (activations + logits),
        weights=_LOADED * count,
        device_memory=gpu.memory * 1e9,
    )
