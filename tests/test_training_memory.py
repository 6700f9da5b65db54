"""What a training holds in memory beside its weights, and that less of it changes no weight."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys

import pytest

_KERNELS = "ONEDNN_PRIMITIVE_CACHE_CAPACITY"
_TRAIN = """
import json, torch
from builder.learning.checkpoint import tensor_digest
from builder.learning.loop import scope
with scope(1, seed=1):
    layer = torch.nn.Conv1d(32, 64, 3, padding=1)
    rate = torch.optim.SGD(layer.parameters(), lr=1e-3)
    for length in 2 * list(range(16, 56)):
        layer(torch.randn(2, 32, length)).square().mean().backward()
        rate.step()
print(json.dumps(tensor_digest(layer.state_dict())))
"""


def train_on_forty_lengths(**chosen: str) -> tuple[int, str]:
    """How many kernels oneDNN compiles for two passes over 40 lengths, and the digest of the weights."""
    kept = {name: value for name, value in os.environ.items() if name != _KERNELS}
    env = kept | chosen | {"ONEDNN_VERBOSE": "profile_create"}
    done = subprocess.run([sys.executable, "-c", _TRAIN], env=env, capture_output=True, text=True, check=True)
    lines = done.stdout.splitlines()
    return sum("create:cache_miss" in line for line in lines), json.loads(lines[-1])


def test_a_training_keeps_the_kernels_of_few_shapes_and_gets_the_same_weights() -> None:
    few, weights = train_on_forty_lengths()
    all_kept, same_weights = train_on_forty_lengths(**{_KERNELS: "1024"})  # the number that a user chooses stays
    assert few > 1.5 * all_kept > 0, "kernels of earlier lengths were let go, and compiled anew in the second pass"
    assert weights == same_weights


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="needs glibc")
def test_memory_that_is_free_between_what_stays_is_given_back() -> None:
    program = """
from pathlib import Path
from builder.core.machine import give_back
def held():
    return int(Path("/proc/self/statm").read_text().split()[1])
blocks = [bytearray(20_000) for _ in range(5_000)]
kept = blocks[::50]
blocks.clear()
before = held()
give_back()
print(before - held())
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert int(done.stdout) * os.sysconf("SC_PAGE_SIZE") > 50_000_000, "of 98 MB that are free"
