"""torch.compile for networks whose batches differ in size: one graph for all sizes, and none where nothing can compile.

In: a network. Out: the same one, whose parameters keep their names. What it answers is the same but for rounding, and
what dropout draws: compiled code has random numbers of its own. The first steps take a minute or two.
"""

from __future__ import annotations

import warnings
from typing import Any

from torch import nn


def compile_network(network: nn.Module, backend: str = "inductor") -> None:
    """Have a network compiled at its first call, in place. Sizes are symbols: a longer batch needs no new graph.

    Kernels are chosen without timing them, where torch can do that: the same ones each time.
    """
    if backend == "inductor":
        from torch._inductor import config

        if hasattr(config, "deterministic"):
            config.deterministic = True
    network.compile(dynamic=True, backend=backend)


def call(network: nn.Module, **inputs: object) -> Any:
    """The network's answer. Where it was to be compiled and cannot be, it goes on without, and says so in one line."""
    if network._compiled_call_impl is None:  # type: ignore[unused-ignore]  # a plain attribute of every module
        return network(**inputs)
    from torch._dynamo.exc import TorchDynamoException

    try:
        return network(**inputs)
    except TorchDynamoException as error:
        reason = next((line.strip() for line in str(error).splitlines() if line.strip()), "no reason")[:160]
        network._compiled_call_impl = None
        warnings.warn(
            f"encoder.compile: goes on uncompiled, for this machine cannot compile ({reason})",
            RuntimeWarning,
            stacklevel=2,
        )
    return network(**inputs)
