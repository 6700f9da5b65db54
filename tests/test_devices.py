"""Where networks run: names of devices, what is sent there, and the same on a GPU where there is one."""

from __future__ import annotations

import multiprocessing
import os
import pickle
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from test_encoder import CONFIG, TEXTS, TRAIN, TUNING, VALID
from test_paper_models import EXAMPLES
from tiny_encoders import make_encoder
from tiny_mt5 import make_base

from builder.core.errors import ModelError
from builder.learning import devices
from builder.learning.encode import average_tokens, collate
from builder.learning.loop import scope
from builder.models.encoder import load_encoder
from builder.models.network import CharacterFoundation, Spans, TextContext
from builder.models.paper.fine_tuning import train_writer
from builder.models.paper.models import VerdictScore
from builder.models.paper.pretrained import Base
from builder.models.paper.seq2seq import Seq2SeqConfig
from builder.models.paper.templates import Asking
from builder.models.saved import load, save
from builder.models.tagger import Tagger, train_tagger
from builder.models.tagger_network import TaggerNetwork

needs_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA GPU")
DEVICES = ["cpu", pytest.param("cuda", marks=[needs_gpu, pytest.mark.gpu])]
"""The same test here and on a GPU, where there is one."""


def test_a_device_that_is_not_there_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 0)
    assert devices.choose("auto") == devices.choose("cpu") == torch.device("cpu")
    with pytest.raises(ModelError, match="torch sees no device 'cuda:1' here"):
        devices.choose("cuda:1")
    with pytest.raises(ModelError, match="no device has the name 'gpu'"):
        devices.choose("gpu")


@pytest.mark.parametrize(
    ("name", "rank", "worker", "gpu"),
    [
        ("cuda", None, (), "cuda:0"),
        ("auto", None, (1,), "cuda:0"),
        ("auto", None, (2,), "cuda:1"),
        ("auto", None, (3,), "cuda:0"),
        ("auto", None, (1, 4), "cuda:1"),
        ("cuda", "1", (), "cuda:1"),
        ("auto", "0", (2,), "cuda:1"),
        ("cuda:1", "0", (1,), "cuda:1"),
    ],
)
def test_each_process_takes_a_gpu_of_its_own_in_turn(
    name: str, rank: str | None, worker: tuple[int, ...], gpu: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.setattr(multiprocessing.current_process(), "_identity", worker)
    monkeypatch.delenv("LOCAL_RANK", raising=False)
    if rank is not None:
        monkeypatch.setenv("LOCAL_RANK", rank)
    assert str(devices.choose(name)) == gpu, "workers of a launched process share out the GPUs, too"
    with pytest.raises(ModelError, match="torch sees no device 'cuda:2'"):
        devices.choose("cuda:2")
    assert [devices.count_gpus(setting) for setting in ("auto", "cuda", "cuda:1", "cpu")] == [2, 2, 1, 0]


def test_a_gpu_is_deterministic_from_the_first_product_of_matrices(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    monkeypatch.setattr(os, "environ", {})
    devices.choose("cpu")
    assert "CUBLAS_WORKSPACE_CONFIG" not in os.environ, "a CPU needs none"
    devices.choose("auto")
    assert os.environ["CUBLAS_WORKSPACE_CONFIG"] == ":4096:8", "set before anything is sent to the GPU"
    with scope(1, device=torch.device("cuda:0")):
        assert torch.is_deterministic_algorithms_warn_only_enabled(), "an operation without a way does not raise"
    assert not torch.is_deterministic_algorithms_warn_only_enabled()
    with scope(1, device=torch.device("cpu")):
        assert torch.are_deterministic_algorithms_enabled()
        assert not torch.is_deterministic_algorithms_warn_only_enabled()


def test_a_gpu_that_emulates_bf16_does_not_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[bool] = []

    def supported(including_emulation: bool = True) -> bool:
        asked.append(including_emulation)
        return including_emulation

    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "is_bf16_supported", supported)
    assert not devices.takes_bf16("auto", torch.device("cuda"))
    assert asked == [False]
    assert devices.takes_bf16("bf16", torch.device("cpu"))
    assert not devices.takes_bf16("auto", torch.device("cpu"))


def test_a_score_travels_to_other_processes_without_the_network() -> None:
    class Large:
        def __reduce__(self) -> tuple[Any, ...]:
            raise AssertionError("the network was pickled")

    base = Base(Large(), None, "a base", "Metaspace", frozenset())
    score = VerdictScore(base.without_network(), Seq2SeqConfig(), ())
    assert pickle.loads(pickle.dumps(score)).base.source == "a base"
    with pytest.raises(AssertionError, match="was pickled"):
        pickle.dumps(VerdictScore(base, Seq2SeqConfig(), ()))


def test_no_tensor_of_a_tagger_stays_behind_on_the_host(tmp_path: Path) -> None:
    """On `meta` an operation with a tensor of the host fails, but for single numbers."""
    base = CharacterFoundation.of(TEXTS, 1)
    network = TaggerNetwork(base, CONFIG).to("meta").eval()
    batch = devices.place(collate([base.make_encoder(CONFIG)(text) for text in TEXTS[:3]]), torch.device("meta"))
    context = network.context(batch)
    assert isinstance(context, TextContext)
    table = network.table(context.hidden, batch.mask)
    numbers = torch.zeros(4, dtype=torch.int64, device="meta")
    spans = Spans(numbers, numbers, numbers)
    bits = network.cores(context, spans, 0)
    extra = torch.zeros(4, 6, device="meta")
    answers: Sequence[torch.Tensor] = network.pairs(context, spans, spans, (numbers, numbers), extra)
    pretrained = load_encoder(str(make_encoder(tmp_path / "base", "bert", TEXTS)), TUNING, "cpu")
    texts = collate([pretrained.make_encoder(CONFIG)(text) for text in TEXTS[:3]])
    tokens = devices.place(texts, torch.device("meta")).tokens
    assert tokens is not None
    vectors = average_tokens(torch.zeros(*tokens.ids.shape, 3, device="meta"), tokens)
    assert {tensor.device.type for tensor in (table, bits, vectors, *answers)} == {"meta"}


@pytest.mark.parametrize("device", DEVICES)
def test_a_tagger_of_a_device_learns_the_same_again_and_reads_the_same_on_the_cpu(device: str, tmp_path: Path) -> None:
    source = str(make_encoder(tmp_path / "base", "bert", TEXTS))
    base = load_encoder(source, TUNING, device)
    tagger = train_tagger(TRAIN, VALID, CONFIG, 1, tmp_path / "t", foundation=base)
    assert devices.device_of(tagger.network).type == device
    again = train_tagger(TRAIN, VALID, CONFIG, 1, tmp_path / "again", foundation=base)
    assert tagger.facts == again.facts
    save(tagger, tmp_path / "m")
    there, here = (load(tmp_path / "m", name) for name in (device, "cpu"))
    assert isinstance(there, Tagger) and isinstance(here, Tagger)
    keys = [[[triplet.key for triplet in row] for row in model.predict(TEXTS[:30])] for model in (there, here)]
    differing = sum(one != other for one, other in zip(*keys, strict=True))
    assert differing <= (0 if device == "cpu" else 1), "bf16 may tip the scale of a review"


@pytest.mark.parametrize("device", DEVICES)
def test_a_writer_of_a_device_trains_there_and_writes_what_it_writes_on_the_cpu(device: str, tmp_path: Path) -> None:
    base, numbers = (
        str(make_base(tmp_path / "base")),
        Seq2SeqConfig(epochs=1, max_output=12, batch_tokens=600, threads=1),
    )
    config = replace(numbers, device=device, precision="fp32")
    writer = train_writer(EXAMPLES, EXAMPLES[:2], base, Asking(), config, 3, tmp_path / "training")
    there, here = (
        list(replace(writer, config=replace(config, device=name)).answers(EXAMPLES)) for name in (device, "cpu")
    )
    assert [answer.text for answer in there] == [answer.text for answer in here]
    assert [answer.confidence for answer in there] == pytest.approx([answer.confidence for answer in here], abs=1e-3)


@needs_gpu
@pytest.mark.gpu
def test_random_numbers_of_a_gpu_are_drawn_from_the_seed() -> None:
    device = devices.choose("cuda")
    drawn = []
    for _ in range(2):
        with scope(1, 5, device):
            drawn.append(torch.rand(4, device=device))
    assert torch.equal(*drawn)
