"""`encoder.compile`: the same answers and gradients, few graphs for all sizes of batches, and no compiler needed.

The back end that writes C++ takes minutes on a busy CPU: here torch traces the network and its gradient, and runs them
as they are; `tests/measure/encoder.py --compile` runs all of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from test_encoder import CONFIG, TEXTS, bases
from test_team import still_encoder

from builder.core.config import resolve
from builder.learning.devices import compile_network
from builder.learning.encode import collate
from builder.learning.loop import scope
from builder.models import encoder, kinds
from builder.models.encoder import EncoderTrunk

__all__ = ["bases"]
SHAPES = [(3, 1), (5, 1), (4, 2), (2, 1), (7, 2), (6, 3)]
"""Texts of a batch, and how often each is repeated in itself."""


def make_trunk(base: Path, *, compiled: bool) -> tuple[EncoderTrunk, Callable[[str], object]]:
    foundation = replace(still_encoder(base), compiled=compiled)
    config = replace(CONFIG, dropout=0.0)
    with scope(1, 1):
        trunk = foundation.make_trunk(config)
    foundation.begin(trunk, 1)
    assert isinstance(trunk, EncoderTrunk)
    return trunk, foundation.make_encoder(config)


def vectors_and_gradients(base: Path, *, compiled: bool) -> list[dict[str, torch.Tensor]]:
    trunk, encode = make_trunk(base, compiled=compiled)
    out = []
    for count, times in SHAPES:
        trunk.zero_grad()
        with scope(1):
            vectors = trunk(collate([encode(text * times) for text in TEXTS[:count]]))  # type: ignore[misc]
            vectors.square().mean().backward()
        gradients = {name: weight.grad.clone() for name, weight in trunk.named_parameters() if weight.grad is not None}
        out.append({"": vectors.detach(), **gradients})
    return out


def test_a_compiled_encoder_answers_and_learns_the_same_from_batches_of_all_sizes(
    bases: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    from torch._dynamo.utils import counters

    counters.clear()
    plain = vectors_and_gradients(bases("bert"), compiled=False)
    assert not counters["stats"], "nothing is compiled unless it is asked for"
    monkeypatch.setattr(encoder, "compile_network", lambda network: compile_network(network, "aot_eager"))
    for one, other in zip(plain, vectors_and_gradients(bases("bert"), compiled=True), strict=True):
        assert one.keys() == other.keys()
        for name, tensor in one.items():
            torch.testing.assert_close(other[name], tensor, rtol=1e-4, atol=1e-5)
    assert 1 <= counters["stats"]["unique_graphs"] <= 2, "no graph for each size"
    names = [list(make_trunk(bases("bert"), compiled=compiled)[0].state_dict()) for compiled in (False, True)]
    assert names[0] == names[1], "a saved model does not know that it was compiled"


def test_without_a_compiler_training_goes_on_and_says_so_once(
    bases: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch, recwarn: pytest.WarningsRecorder
) -> None:
    monkeypatch.setattr("torch._inductor.config.cpp.cxx", ("/nowhere/c++",))
    monkeypatch.setattr("torch._inductor.config.force_disable_caches", True)
    trunk, encode = make_trunk(bases("electra"), compiled=True)
    plain, _ = make_trunk(bases("electra"), compiled=False)
    batch = collate([encode(text) for text in TEXTS[:3]])  # type: ignore[misc]
    for _ in range(2):
        assert torch.equal(trunk(batch), plain(batch))
    lines = [str(warning.message) for warning in recwarn if "encoder.compile" in str(warning.message)]
    assert len(lines) == 1 and "\n" not in lines[0], lines
    assert lines[0].startswith("encoder.compile: goes on uncompiled, for this machine cannot compile (")


def test_the_setting_reaches_the_training(bases: Callable[[str], Path]) -> None:
    for value in (True, False):
        options = {
            "profile": "encoder", "encoder.base": str(bases("electra")), "encoder.compile": value,
            "encoder.processes": 3, "device": "cpu",
        }  # fmt: skip
        made = kinds.load_foundation(resolve(options=options).config, TEXTS)
        assert made is not None and made.training_processes == 3
        assert (made.make_trunk(CONFIG).encoder._compiled_call_impl is not None) == value  # type: ignore[union-attr]


def test_kernels_are_chosen_without_timing_them(monkeypatch: pytest.MonkeyPatch) -> None:
    from torch._inductor import config

    if not hasattr(config, "deterministic"):
        pytest.skip("this torch has no such setting")
    monkeypatch.setattr(config, "deterministic", False)
    compile_network(torch.nn.Linear(1, 1))
    assert config.deterministic
