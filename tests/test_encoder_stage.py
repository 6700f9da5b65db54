"""The profile `encoder` through the stages: every variant trains on it, a cluster predicts what this machine does."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest
from test_paper_stage import LINES
from tiny_encoders import make_encoder

from builder.core.config import resolve
from builder.pipeline import pipeline
from builder.pipeline.builds import Build
from builder.store import db, runs, triplets

VARIANTS = ("A", "B", "C", "D")
SETTINGS = {
    "profile": "encoder",
    "device": "cpu",
    "workers": 1,
    "threads": 1,
    "shard": 4,
    "ingest.valid_share": 0.2,
    "ingest.test_share": 0.1,
    "discriminate.mode": "paper",
    "discriminate.epochs": 16,
    "self_train.variants": VARIANTS,
    "self_train.epochs": 8,
    "self_train.iterations": 1,
    "encoder.rate": 1e-3,
}


def built(folder: Path, base: Path, **more: object) -> Build:
    with (folder / "reviews.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([["review_id", "text"], *([f"r{i}", line] for i, line in enumerate(LINES))])
    config = resolve(options=SETTINGS | {"encoder.base": str(base)} | more)
    build = Build(folder / "w", folder / "out", (folder / "reviews.csv",), config)
    pipeline.run(build, until="evaluate")
    return build


def results_of(build: Build) -> dict[str, tuple[str, list[tuple[str, tuple[object, ...]]]]]:
    """The digest and the proposals of each variant's last model."""
    out = {}
    with db.reading(build.workdir) as connection:
        for variant in VARIANTS:
            last = runs.rounds(connection, variant)[-1]
            source = triplets.source_id(connection, f"{variant}{last.round}")
            assert source is not None
            stored = [
                row for split in ("train", "valid", "test") for row in triplets.proposed(connection, source, split)
            ]
            out[variant] = last.model, sorted((row.review, row.triplet.key) for row in stored)
    return out


def test_every_variant_trains_on_an_encoder_and_predicts_the_same_on_a_cluster(tmp_path: Path) -> None:
    pytest.importorskip("distributed", reason="the extra scale is not installed")
    base = make_encoder(tmp_path / "base", "bert", LINES)
    folders = [tmp_path / name for name in ("here", "there")]
    for folder in folders:
        folder.mkdir()
    here, there = (
        results_of(built(folder, base, engine=engine))
        for folder, engine in zip(folders, ("local", "dask"), strict=True)
    )
    assert here == there
    for variant in VARIANTS:
        kept = json.loads((folders[0] / "w" / "models" / f"{variant}1" / "config.json").read_text("utf-8"))
        assert kept["encoder"]["model_type"] == "bert"
