"""Several processes that train one tagger, judge or writer: the same model as of one process, by gloo on CPUs."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
import torch
from conftest import environment
from test_encoder import CONFIG, TEXTS, TRAIN, VALID, bases
from test_model import TINY_JUDGE
from test_seq2seq import CONFIG as SEQ2SEQ
from test_seq2seq import Fixed, pairs_of
from tiny_encoders import make_encoder
from tiny_mt5 import make_base
from torch import nn

from builder.learning.task import EncoderTuning, discriminator_data
from builder.models.discriminator import Discriminator, train_discriminator
from builder.models.encoder import EncoderFoundation, load_encoder
from builder.models.network import train_on
from builder.models.paper.fine_tuning import fine_tune
from builder.models.paper.pretrained import Base, load_base
from builder.models.saved import load
from builder.models.tagger import train_tagger

__all__ = ["bases"]
STILL = replace(CONFIG, epochs=3, dropout=0.0, threads=1)
STILL_JUDGE = replace(TINY_JUDGE, epochs=1, dropout=0.0, threads=1)
WRITING = replace(SEQ2SEQ, epochs=1, batch_tokens=300)


def still_encoder(base: Path, processes: int = 0) -> EncoderFoundation:
    """An encoder without dropout, which each process would draw for itself."""
    made = load_encoder(str(base), EncoderTuning(rate=3e-3), "cpu")
    config = {**made.config, "hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
    return replace(made, config=config, processes=processes)


def train_judge(base: Path, folder: Path) -> Discriminator:
    judged, held_out = ([discriminator_data(example, 1) for example in part] for part in (TRAIN, VALID))
    made = still_encoder(base)
    training = partial(train_discriminator, judged, held_out, STILL_JUDGE, 1, folder, foundation=made)
    return train_on(made, training, 1, None)


def train_writer(source: Path, folder: Path) -> Base:
    base = load_base(str(source))
    fine_tune(base, pairs_of(base), Fixed((0.5,)), WRITING, 3, folder)
    return base


def assert_same_weights(network: nn.Module, other: nn.Module) -> None:
    for name, weight in other.state_dict().items():
        torch.testing.assert_close(network.state_dict()[name], weight, rtol=1e-3, atol=2e-4)


def test_a_tagger_trained_by_two_processes_is_that_of_one(bases: Callable[[str], Path], tmp_path: Path) -> None:
    notes: list[str] = []
    taggers = {}
    for count in (1, 2):
        base = still_encoder(bases("bert"), count)
        training = partial(train_tagger, TRAIN, VALID, STILL, 1, tmp_path / str(count), foundation=base)
        taggers[count] = train_on(base, training, 1, lambda done, total, note: notes.append(note))
    one, two = taggers[1], taggers[2]
    assert one.digest != two.digest, "sums in another order: two processes did train"
    assert_same_weights(two.network, one.network)
    assert two.facts["valid_f1"] == pytest.approx(one.facts["valid_f1"], abs=0.02)
    assert any(f"epoch 1/{STILL.epochs}" in note for note in notes)
    alone = train_tagger(TRAIN, VALID, STILL, 1, tmp_path / "2", foundation=still_encoder(bases("bert")))
    assert alone.digest == two.digest, "the checkpoints are those of any number of processes"


LAUNCHED = """
import os, sys
from pathlib import Path
import click
from builder.cli import main as cli
from builder.models.paper.fine_tuning import save_base
from builder.models.saved import save
from test_team import train_judge, train_writer

@cli.cli.command()
@click.argument("base")
@click.argument("writer")
@click.argument("to")
def train(base, writer, to):
    assert os.environ["RANK"] == "0", "the others run no command"
    save_base(train_writer(Path(writer), Path(to) / "training"), Path(to) / "writer")
    save(train_judge(Path(base), Path(to) / "judging"), Path(to) / "judge")  # the others wait for this one, too
    print("trained", flush=True)

cli.main()
"""


def test_accelerate_launch_trains_a_writer_and_a_judge_in_two_processes(tmp_path: Path) -> None:
    """The launcher as on a machine with two GPUs; where there are none the two processes use CPUs and gloo."""
    base, script = make_encoder(tmp_path / "base", "bert", TEXTS), tmp_path / "program.py"
    writer = make_base(tmp_path / "mt5", dropout=0.0)
    script.write_text(LAUNCHED)
    launch = (
        "-m accelerate.commands.launch --multi_gpu --num_processes 2 --num_machines 1 --main_process_port 0 "
        "--mixed_precision no --dynamo_backend no"
    )
    with subprocess.Popen(
        [sys.executable, *launch.split(), str(script), "train", str(base), str(writer), str(tmp_path)],
        env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip
        alone, one = train_judge(base, tmp_path / "alone"), train_writer(writer, tmp_path / "one")
        said, errors = process.communicate(timeout=900)
    assert process.returncode == 0, errors
    assert said.count("trained") == 1
    both, two = load(tmp_path / "judge", "cpu"), load_base(str(tmp_path / "writer"))
    assert both.digest != alone.digest, "sums in another order: two processes did train"
    assert_same_weights(both.network, alone.network)
    assert_same_weights(two.network, one.network)
