"""The profile `encoder` through the stages: one build that ends in a release, what reads with its models, a cluster
that predicts what this machine does.
"""

from __future__ import annotations

import csv
import json
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from test_paper_stage import LINES
from tiny_encoders import make_encoder

from builder.cli.main import cli
from builder.pipeline import builds
from builder.store import db, triplets

SETTINGS = {
    "profile": '"encoder"',
    "encoder.base": '"./base"',
    "encoder.rate": "1e-3",
    "device": '"cpu"',
    "workers": "1",
    "threads": "1",
    "shard": "4",
    "discriminate.mode": '"paper"',
    "discriminate.epochs": "1",
    "self_train.epochs": "16",
    "self_train.iterations": "1",
    "self_train.variants": '["D"]',
    "ingest.valid_share": "0.4",
    "ingest.test_share": "0.1",
}


def run(*words: object) -> Result:
    return CliRunner().invoke(cli, [str(word) for word in words])


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a build: w, out and the encoder base, which the settings name from there."""
    folder = tmp_path_factory.mktemp("encoder")
    make_encoder(folder / "base", "bert", LINES)
    with (folder / "reviews.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([["review_id", "text"], *([f"r{i}", line] for i, line in enumerate(LINES))])
    (folder / "one.jsonl").write_text(json.dumps({"id": "1", "text": "湯頭很濃郁"}) + "\n", "utf-8")
    options = [part for key, value in SETTINGS.items() for part in ("--set", f"{key}={value}")]
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        done = run("build", "reviews.csv", "--workdir", "w", "--out", "out", *options)
    assert done.exit_code == 0, (done.output, done.exception)
    return folder


def read_proposals(workdir: Path, name: str = "D1") -> list[tuple[int, tuple[object, ...]]]:
    with db.reading(workdir) as connection:
        source = triplets.source_id(connection, name)
        assert source is not None
        stored = [row for split in ("train", "valid", "test") for row in triplets.proposed(connection, source, split)]
    return sorted((row.review, row.triplet.key) for row in stored)


def read_answer(path: Path) -> str:
    return str(json.loads(path.read_text("utf-8"))["id"])


def test_a_build_with_an_encoder_ends_in_a_release_and_its_models_name_no_path(built: Path) -> None:
    assert (built / "out" / "v0.1.0" / "manifest.json").is_file()
    for name in ("discriminator", "D1"):
        kept = json.loads((built / "w" / "models" / name / "config.json").read_text())
        assert kept["encoder"]["model_type"] == "bert"
        assert str(built) not in json.dumps(kept), "no path of this machine in a model"
    kept_base = builds.remembered(built / "w").resolved.config.encoder.base
    assert kept_base == str((built / "base").resolve()), "a build that is resumed in another folder finds it"


def test_extract_reads_with_the_model_on_an_encoder(built: Path, tmp_path: Path) -> None:
    files = ("--input", built / "one.jsonl", "--output", tmp_path / "two.jsonl")
    done = run("extract", *files, "--workdir", built / "w", "--source", "D")
    assert done.exit_code == 0, done.output
    assert read_answer(tmp_path / "two.jsonl") == "1"


def test_a_cluster_predicts_with_an_encoder_what_this_machine_does(
    built: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The models are those trained before: settled trainings are read."""
    pytest.importorskip("distributed", reason="the extra scale is not installed")
    from builder.core.shards.cluster import DaskCrew

    sent, predict = list[object](), DaskCrew.map
    monkeypatch.setattr(DaskCrew, "map", lambda crew, job, tasks: sent.append(job) or predict(crew, job, tasks))
    shutil.copytree(built / "w", tmp_path / "w")
    done = run("run", "self_train", "--force", "--workdir", tmp_path / "w", "--set", 'engine="dask"')
    assert done.exit_code == 0, (done.output, done.exception)
    assert sent, "the cluster was asked"
    assert read_proposals(tmp_path / "w") == read_proposals(built / "w") != []
