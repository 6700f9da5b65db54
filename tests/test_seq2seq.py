"""The training loop of the sequence-to-sequence models: batches, resuming, memory, choice of the epoch."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
import torch
from conftest import ROOT, environment
from tiny_mt5 import REVIEWS, TOLD, make_base

from builder.core.errors import ConfigError, ModelError
from builder.learning.checkpoint import tensor_digest, weights_of
from builder.models.paper.fine_tuning import fine_tune
from builder.models.paper.pretrained import Base, load_base
from builder.models.paper.seq2seq import FineTuned, Seq2SeqConfig, TokenPair, batches, cut, fit
from builder.models.paper.templates import answer, question

CONFIG = Seq2SeqConfig(epochs=2, max_output=60, batch_tokens=160, threads=1, rate=3e-3)


@dataclass(frozen=True, slots=True)
class Fixed:
    """A validation score that is the same for every network."""

    values: tuple[float, ...] = (0.0,)

    def __call__(self, network: Any, share: tuple[int, int]) -> tuple[float, float]:
        return (self.values[0], 1.0) if share[0] == 0 else (0.0, 0.0)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_base(tmp_path_factory.mktemp("base"))


@pytest.fixture(scope="module")
def still(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same without dropout."""
    return make_base(tmp_path_factory.mktemp("still"), dropout=0.0)


def pairs_of(base: Base) -> list[TokenPair]:
    return [
        TokenPair(str(i), base.tokens(question(text, "2"), 999), base.tokens(answer(told, "2")[0], 999))
        for i, (text, told) in enumerate(zip(REVIEWS * 2, TOLD * 2, strict=True))
    ]


def trained(
    source: Path, to: Path, config: Seq2SeqConfig = CONFIG, score: Any = Fixed(), progress: Any = None
) -> tuple[FineTuned, str]:
    base = load_base(str(source))
    done = fit(base.network, pairs_of(base), score, config, 3, to, "a training", progress)
    return done, tensor_digest(weights_of(base.network))


def test_batches_keep_to_the_budget_and_hold_every_item_once_in_an_order_of_the_epoch() -> None:
    pairs = [TokenPair(f"r{i}", (5,) * (3 + i % 40), (6,) * (2 + i % 7)) for i in range(500)]
    for epoch in (0, 1):
        made = batches(pairs, 300, 1, epoch)
        assert sorted(i for batch in made for i in batch) == list(range(500))
        for batch in made:
            padded = len(batch) * (max(len(pairs[i].source) for i in batch) + max(len(pairs[i].target) for i in batch))
            assert padded <= 300
    assert batches(pairs, 300, 1, 0) == batches(pairs, 300, 1, 0) != batches(pairs, 300, 1, 1)
    real = sum(pair.size for pair in pairs)
    padded = sum(
        len(b) * (max(len(pairs[i].source) for i in b) + max(len(pairs[i].target) for i in b))
        for b in batches(pairs, 300, 1, 0)
    )
    assert padded < 1.15 * real, "buckets of like lengths hold little padding"


def test_a_batch_in_examples_holds_so_many_whatever_their_tokens() -> None:
    pairs = [TokenPair(str(i), tuple(range(1 + 37 * i % 400)), (1, 2)) for i in range(41)]
    made = batches(pairs, 300, 1, 0, most=2)
    assert sorted(i for batch in made for i in batch) == list(range(41))
    assert sorted({len(batch) for batch in made}) == [1, 2]
    assert sum(len(batch) == 1 for batch in made) == 1, "only the last one is short"
    with pytest.raises(ConfigError, match="batch = -1 is not at least 0"):
        Seq2SeqConfig(batch=-1)


def test_an_item_larger_than_the_budget_is_a_batch_of_its_own() -> None:
    assert cut([0, 1, 2], [(50, 9), (4, 4), (4, 4)], 20) == [[0], [1, 2]]


def test_a_training_lowers_the_loss_and_the_same_training_gives_the_same_weights(folder: Path, tmp_path: Path) -> None:
    config = replace(CONFIG, epochs=6)
    first, weights_then = trained(folder, tmp_path / "a", config)
    second, weights_now = trained(folder, tmp_path / "b", config)
    assert sum(first.losses[-4:]) / 4 < 0.8 * sum(first.losses[:4]) / 4, first.losses
    assert (first.losses, weights_then) == (second.losses, weights_now)


KILLED = """
import os, signal, sys
from dataclasses import replace
from pathlib import Path
from test_seq2seq import CONFIG, trained

calls = 0

def killer(done, total, note):
    global calls
    calls += 1
    if calls == int(sys.argv[3]):
        os.kill(os.getpid(), signal.SIGKILL)

trained(Path(sys.argv[1]), Path(sys.argv[2]), replace(CONFIG, save_steps=2), progress=killer)
"""


def test_a_training_killed_inside_an_epoch_goes_on_to_the_same_losses_and_weights(folder: Path, tmp_path: Path) -> None:
    config = replace(CONFIG, save_steps=2)
    whole, due = trained(folder, tmp_path / "whole", config)
    steps = len(whole.losses)
    assert steps >= 8
    place = environment() | {"PYTHONPATH": f"{ROOT}{os.pathsep}{Path(__file__).parent}"}
    program = [
        sys.executable, "-c", KILLED, str(folder), str(tmp_path / "killed"), str(steps // 2 + 2),
    ]  # in the second epoch  # fmt: skip
    assert subprocess.run(program, env=place, timeout=300, check=False).returncode == -signal.SIGKILL
    assert list((tmp_path / "killed").glob("step-*.safetensors")), "there is something to go on from"
    resumed, found = trained(folder, tmp_path / "killed", config)
    assert 0 < len(resumed.losses) < steps
    assert resumed.losses == whole.losses[-len(resumed.losses) :]
    assert (found, resumed.scores, resumed.epoch) == (due, whole.scores, whole.epoch)


def test_a_checkpoint_cut_short_or_of_another_training_is_passed_over(folder: Path, tmp_path: Path) -> None:
    _, due = trained(folder, tmp_path / "a")
    (path,) = (tmp_path / "a").glob("step-*.safetensors")
    path.write_bytes(path.read_bytes()[:-100])
    again, found = trained(folder, tmp_path / "a")
    assert (found, len(again.losses)) == (due, len(trained(folder, tmp_path / "b")[0].losses))
    base = load_base(str(folder))
    other = fit(base.network, pairs_of(base), Fixed(), CONFIG, 3, tmp_path / "a", "another training")
    assert len(other.losses) == len(again.losses), "it began anew"


class Scarce:
    """A network's forward on a device that holds so many tokens and no more."""

    def __init__(self, forward: Callable[..., Any], most: int) -> None:
        self.forward, self.most, self.failures = forward, most, 0

    def __call__(self, **inputs: Any) -> Any:
        if inputs["input_ids"].numel() + inputs["labels"].numel() > self.most:
            self.failures += 1
            raise torch.OutOfMemoryError("CUDA out of memory (as a test says)")
        return self.forward(**inputs)


def test_out_of_memory_halves_the_part_of_a_step_says_so_and_changes_nothing(still: Path, tmp_path: Path) -> None:
    config = replace(CONFIG, batch_tokens=400)
    plain, _ = trained(still, tmp_path / "plain", config)
    base = load_base(str(still))
    scarce = base.network.forward = Scarce(base.network.forward, 210)
    with pytest.warns(RuntimeWarning, match=r"out of memory: a step of 400 tokens is now taken in parts of 200"):
        made = fit(base.network, pairs_of(base), Fixed(), config, 3, tmp_path / "scarce", "a training")
    assert (scarce.failures, made.part_tokens, plain.part_tokens) == (1, 200, 0)
    assert made.losses == pytest.approx(plain.losses, rel=1e-4)


def test_an_item_that_alone_is_too_large_for_the_device_is_an_error(still: Path, tmp_path: Path) -> None:
    base = load_base(str(still))
    base.network.forward = Scarce(base.network.forward, 10)
    with (
        pytest.warns(RuntimeWarning),
        pytest.raises(ModelError, match=r"out of memory on one item of \d+ tokens; lower paper.max_input"),
    ):
        fit(base.network, pairs_of(base), Fixed(), CONFIG, 3, tmp_path, "a training")


def train_writer(source: Path, folder: Path) -> Base:
    base = load_base(str(source))
    fine_tune(base, pairs_of(base), Fixed((0.5,)), replace(CONFIG, epochs=1, batch_tokens=300), 3, folder)
    return base


LAUNCHED = """
import os
from pathlib import Path
import click
from builder.cli import main as cli
from builder.models.paper.fine_tuning import save_base
from test_seq2seq import train_writer

@cli.cli.command()
@click.argument("base")
@click.argument("to")
def train(base, to):
    assert os.environ["RANK"] == "0", "the others run no command"
    for name in ("first", "second"):  # the others wait for the second training, too
        save_base(train_writer(Path(base), Path(to) / f"{name}.training"), Path(to) / name)
    print("trained", flush=True)

cli.main()
"""


def test_accelerate_launch_trains_writers_in_two_processes(still: Path, tmp_path: Path) -> None:
    """The launcher as on a machine with two GPUs; where there are none the two processes use CPUs and gloo."""
    script = tmp_path / "program.py"
    script.write_text(LAUNCHED)
    launch = (
        "-m accelerate.commands.launch --multi_gpu --num_processes 2 --num_machines 1 --main_process_port 0 "
        "--mixed_precision no --dynamo_backend no"
    )
    with subprocess.Popen(
        [sys.executable, *launch.split(), str(script), "train", str(still), str(tmp_path)],
        env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip
        alone = weights_of(train_writer(still, tmp_path / "alone").network)
        said, errors = process.communicate(timeout=200)
    assert process.returncode == 0, errors
    assert said.count("trained") == 1
    both, again = (weights_of(load_base(str(tmp_path / name)).network) for name in ("first", "second"))
    assert tensor_digest(both) != tensor_digest(alone), "sums in another order: two processes did train"
    for name, weight in alone.items():
        torch.testing.assert_close(both[name], weight, rtol=1e-3, atol=2e-4)
        torch.testing.assert_close(again[name], weight, rtol=1e-3, atol=2e-4)


@dataclass
class Told:
    """Scores by epoch; keeps the weights that it saw."""

    values: list[float]
    seen: list[str]

    def __call__(self, network: Any, share: tuple[int, int]) -> tuple[float, float]:
        self.seen.append(tensor_digest(weights_of(network)))
        return self.values[len(self.seen) - 1], 1.0


def test_the_epoch_with_the_best_score_wins_and_training_ends_when_none_is_better(folder: Path, tmp_path: Path) -> None:
    score = Told([0.1, 0.4, 0.3, 0.2, 0.9], [])
    done, found = trained(folder, tmp_path, replace(CONFIG, epochs=5, patience=2), score)
    assert (done.scores, done.epoch, done.score) == ((0.1, 0.4, 0.3, 0.2), 2, 0.4)
    assert found == score.seen[1]
    score = Told([0.1, 0.4, 0.3, 0.2, 0.9], [])
    done, found = trained(folder, tmp_path / "all", replace(CONFIG, epochs=5), score)
    assert (done.epoch, found) == (5, score.seen[4])


def test_a_training_that_was_carried_through_is_read_and_not_done_again(folder: Path, tmp_path: Path) -> None:
    base = load_base(str(folder))
    first = fine_tune(base, pairs_of(base), Fixed(), CONFIG, 3, tmp_path)
    due = tensor_digest(weights_of(base.network))
    checkpoint, best = sorted(tmp_path.iterdir(), reverse=True)
    assert best.name == "best.safetensors" and re.fullmatch(r"step-\d+\.safetensors", checkpoint.name), checkpoint
    again = load_base(str(folder))
    second = fine_tune(again, pairs_of(again), Fixed(), CONFIG, 3, tmp_path)
    assert (second.losses, second.scores) == ((), first.scores)
    assert tensor_digest(weights_of(again.network)) == due


def test_an_empty_training_set_is_an_error(folder: Path, tmp_path: Path) -> None:
    base = load_base(str(folder))
    with pytest.raises(ModelError, match="the training set is empty"):
        fine_tune(base, [], Fixed(), CONFIG, 3, tmp_path)


def test_training_leaves_torch_and_accelerate_as_they_were(folder: Path, tmp_path: Path) -> None:
    from accelerate.state import AcceleratorState

    torch.manual_seed(5)
    due = torch.get_rng_state(), torch.get_num_threads()
    trained(folder, tmp_path, replace(CONFIG, threads=torch.get_num_threads() + 1, epochs=1))
    assert torch.equal(due[0], torch.get_rng_state())
    assert due[1] == torch.get_num_threads()
    assert AcceleratorState._shared_state == {}
