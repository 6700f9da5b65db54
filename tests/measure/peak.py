"""The peak of a chip in floating-point operations a second. In: a device. Out: its data sheet's figure for bf16 where
builder knows the GPU, else what products of large matrices reach there.
"""

from __future__ import annotations

import time

import torch

TERAFLOPS = {"h200": 989.0, "h100": 989.0, "a100": 312.0, "l40s": 362.0, "l4": 121.0, "rtx4090": 165.0, "rtx3090": 71.0}
"""Peaks of dense matrices in bf16, by the data sheets."""
_SIDE = {"cpu": 512}


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
        wait(device)
        best = min(best, (time.perf_counter() - started) / 8)
    return 2.0 * side**3 / best


def wait(device: torch.device) -> None:
    """Until the device has done what it was given."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)
