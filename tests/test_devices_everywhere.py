"""The models of augmentation and the classifiers run on a device that fails where something is left on the host."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tiny_hub
import torch
from stand_in_device import stand_in
from test_classify import items
from tiny_mt5 import make_base
from torch import nn

from builder.augment.bench.classifiers import MODELS, ClassifierConfig, Means, Task, chosen
from builder.augment.bench.learn import learn
from builder.augment.candidates import Method
from builder.augment.catalogue import make_settings
from builder.augment.method_settings import (
    CBertSettings,
    ContextSettings,
    Gpt2Settings,
    MaskedSeq2SeqSettings,
    StyleTransferSettings,
)
from builder.augment.methods import gpt2, masked_seq2seq, replacing, style_transfer
from builder.augment.nets.bases import load as load_hub
from builder.augment.nets.beam import settled
from builder.augment.nets.transformer import HubCore
from builder.augment.survival import judges
from builder.augment.training import Workplace
from builder.core.errors import ConfigError
from builder.learning.devices import device_of
from builder.learning.hub import SEQ2SEQ as WRITER

SIZE: dict[str, Any] = {"width": 32, "epochs": 1, "least": 16, "min_count": 1}
CBERT = CBertSettings(layers=1, pretrain_epochs=1, k=1, **SIZE)
SEQ2SEQ = MaskedSeq2SeqSettings(pretrain_epochs=1, **SIZE)
STYLE = StyleTransferSettings(layers=1, pretrain_epochs=1, **SIZE)
CONTEXT = ContextSettings(pretrain_epochs=1, **SIZE)
GPT2 = Gpt2Settings(layers=1, **SIZE)


@pytest.fixture
def device() -> Iterator[torch.device]:
    with stand_in() as there:
        yield there


def test_tensors_of_host_and_device_do_not_meet_unnoticed(device: torch.device) -> None:
    there = torch.arange(4, device=device)
    assert (there + 1).tolist() == [1, 2, 3, 4]
    with pytest.raises(RuntimeError, match="of the host and of the device meet"):
        there + torch.arange(4)


@pytest.mark.parametrize(
    ("load", "settings", "base"),
    [
        (replacing.load_cbert, CBERT, ""),
        (replacing.load_cbert, CBERT, "bert"),
        (masked_seq2seq.load, SEQ2SEQ, ""),
        (masked_seq2seq.load, SEQ2SEQ, "bart"),
        (replacing.load_context, CONTEXT, ""),
        (gpt2.load, GPT2, ""),
        (gpt2.load, GPT2, "gpt2"),
        (style_transfer.load, STYLE, ""),
        (style_transfer.load, STYLE, "bert"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_method_learns_and_writes_on_the_device_what_it_does_on_the_host(
    load: Callable[..., Method], settings: Any, base: str, tmp_path: Path, device: torch.device
) -> None:
    sentences = tiny_hub.chinese(opinions=load is style_transfer.load)
    if base:
        settings = replace(settings, base=tiny_hub.save(tmp_path / "base", base))
    made = load(settings, sentences, Workplace(tmp_path / "there", device="meta"))
    network: nn.Module = made.model.network if hasattr(made, "model") else made.network  # type: ignore[attr-defined]
    assert device_of(network) == device
    written = list(made.propose(sentences[:8], 2, 1))
    here = load(settings, sentences, Workplace(tmp_path / "here", device="cpu"))
    alike = list(here.propose(sentences[:8], 2, 1))
    unrated, others = ([[replace(one, score=0.0) for one in own] for own in answers] for answers in (written, alike))
    assert unrated == others
    scores, other_scores = ([one.score for own in answers for one in own] for answers in (written, alike))
    assert scores == pytest.approx(other_scores, abs=0.011), "the last digit is rounded"
    assert any(written)


@pytest.mark.parametrize(
    ("name", "task"),
    [
        ("lstm", "tc"), ("rnn", "absc"), ("cnn", "tc"), ("bert", "tc"), ("fastlcf", "absc"), ("bilstm-crf", "ate"),
        ("seq2seq", "ate"), ("de-cnn", "ate"), ("bert-pt", "ate"),
    ],
)  # fmt: skip
def test_a_classifier_learns_and_reads_on_the_device_what_it_does_on_the_host(
    name: str, task: Task, tmp_path: Path, device: torch.device
) -> None:
    config, train = ClassifierConfig(width=16, epochs=1, vector_size=8), items(task, 16, 1)
    base = tiny_hub.save(tmp_path / "base", "bert") if MODELS[name].bases else ""
    kind = chosen(f"{name}={base}" if base else name, task, "en")
    there, here = (
        learn(kind, task, train, train[:4], 1, tmp_path / place, Means(base, device=place), config)
        for place in ("meta", "cpu")
    )
    assert device_of(there.network) == device  # type: ignore[attr-defined]
    answers = [[(answer.label, answer.spans) for answer in model.predict(train)] for model in (there, here)]
    assert answers[0] == answers[1]
    assert np.allclose(there.features(train), here.features(train), atol=1e-3)


@pytest.mark.parametrize("kind", ["bart", "mt5"])
def test_a_hub_decoder_reads_each_token_once_and_reorders_what_it_remembers(kind: str, tmp_path: Path) -> None:
    base = tiny_hub.save(tmp_path / "base", kind) if kind == "bart" else str(make_base(tmp_path / "base"))
    core = HubCore(load_hub(base, WRITER)[0]).eval()
    read = list[int]()
    core.network.get_decoder().register_forward_pre_hook(
        lambda module, given, named: read.append(named["inputs_embeds"].shape[1]), with_kwargs=True
    )
    seen = torch.ones(1, 5, dtype=torch.bool)
    tokens = torch.tensor([[5, 6, 7, 8], [9, 10, 11, 12]])
    with torch.no_grad():
        memory = core.encode(core.embed(torch.tensor([[6, 7, 8, 9, 10]])), seen)
        state = core.remember(memory, seen, torch.zeros(1, dtype=torch.long), 2)
        steps = [core.advance(core.embed(tokens[:, [at]]), state) for at in range(3)]
        core.reorder(state, torch.tensor([1, 1]))
        steps.append(core.advance(core.embed(tokens[[1, 1]][:, [3]]), state))
        assert read == [1, 1, 1, 1], "a token at a time: what is past is remembered"
        whole = core.decode(core.embed(tokens), memory.repeat(2, 1, 1), seen.repeat(2, 1), torch.zeros(2).long())
    assert read[-1] == 4
    assert torch.allclose(torch.cat(steps[:3], 1), whole[:, :3], atol=1e-5)
    assert torch.allclose(steps[3], whole[[1, 1], 3:], atol=1e-5), "both beams go on from the second"


def test_a_batch_that_the_device_cannot_hold_is_written_in_halves() -> None:
    sizes = list[int]()

    def work(rows: list[int]) -> list[tuple[int, float]]:
        sizes.append(len(rows))
        if len(rows) > 2:
            raise torch.OutOfMemoryError("no room")
        return [(row * row, 1.0) for row in rows]

    assert dict(settled(range(7), [range(7)], work)) == {n: n * n for n in range(7)}
    assert sizes == [7, 3, 1, 2, 4, 2, 2]


def test_a_device_that_is_none_is_refused_in_the_settings_of_augmentation() -> None:
    with pytest.raises(ConfigError, match='device = "gpu" is not `auto`, `cpu`'):
        make_settings({"device": "gpu"})


def test_the_judges_of_an_augmentation_run_on_its_device(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    asked = list[str]()

    class Found:
        name = "A1"

        def extract(self, texts: list[str]) -> list[tuple[()]]:
            return [() for _ in texts]

    def open_system(workdir: Path, *, device: str) -> Found:
        asked.append(device)
        return Found()

    monkeypatch.setattr("builder.augment.survival.open_system", open_system)
    monkeypatch.setattr("builder.augment.survival._discriminator", lambda workdir, device: asked.append(device))
    monkeypatch.setattr("builder.augment.survival._rules", lambda workdir: None)
    judges(tmp_path, "cuda:1")
    assert asked == ["cuda:1", "cuda:1"]
