"""The plan is what was measured, grown by the reviews and divided by the workers, and it says what it rests on."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from conftest import Built, Command

from builder.pipeline import planning
from builder.pipeline.planning import SampleMeasure, predict

MEASURED = SampleMeasure(
    what="a build",
    reviews=50_000,
    workers=2,
    seconds={"ingest": 10.0, "annotate": 50.0, "seed": 20.0, "discriminate": 700.0, "release": 18.0},
    spread={"annotate": 100.0, "seed": 40.0, "discriminate": 200.0},
    writing={"annotate": 2.0, "seed": 5.0},
    disk={"database": 150_000_000, "models": 9_000_000, "release": 1_000_000_000},
    memory={"ingest": 2000.0, "discriminate": 9000.0},
    process=400e6,
)


def seconds(count: int, workers: int) -> dict[str, float]:
    return {one.stage: one.seconds for one in predict(MEASURED, count, workers).stages}


def test_the_build_that_was_measured_is_predicted_as_it_was() -> None:
    assert seconds(50_000, 2) == pytest.approx(MEASURED.seconds)


def test_time_and_disk_grow_with_the_reviews_and_models_do_not() -> None:
    assert seconds(500_000, 2) == pytest.approx({stage: 10 * value for stage, value in MEASURED.seconds.items()})
    plan = predict(MEASURED, 500_000, 2)
    assert plan.disk == {"database": 1.5e9, "models": 9e6, "release": 1e10}
    assert plan.memory == pytest.approx(400e6 + 500_000 * 9000)
    assert plan.worker_memory == 400e6


def test_workers_divide_what_they_do_and_no_more() -> None:
    eight = seconds(50_000, 8)
    assert eight["annotate"] == pytest.approx(100 / 8)
    assert eight["discriminate"] == pytest.approx(700 - 200 / 2 + 200 / 8), "training stays"
    assert (eight["ingest"], eight["release"]) == (10.0, 18.0)
    assert seconds(50_000, 1000)["seed"] == pytest.approx(5.0), "the coordinator has to write what they find"


def test_a_plan_says_what_it_rests_on() -> None:
    assert predict(MEASURED, 50_000, 2).notes[0] == "measured: a build, 50,000 distinct reviews with 2 workers"
    assert any("rule of three" in note for note in predict(MEASURED, 10_000_000, 32).notes)
    half = replace(MEASURED, seconds={"ingest": 1.0}, spread={})
    assert any("were not measured" in note for note in predict(half, 50_000, 2).notes)


@pytest.fixture
def few_texts(monkeypatch: pytest.MonkeyPatch) -> None:
    """The memory of a search for near-duplicates is measured on fewer texts than would tell much about it."""
    monkeypatch.setattr(planning, "_SEARCHED", 500)


@pytest.mark.usefixtures("few_texts")
def test_a_finished_build_tells_all_of_its_stages(built: Built, here: Command) -> None:
    ran = here("plan", "--reviews", "10000000", "--workers", "32", "--workdir", built.workdir, "--format", "json")
    assert ran.code == 0, ran.err
    told = json.loads(ran.out)
    assert [one["stage"] for one in told["stages"]] == [
        "ingest",
        "annotate",
        "seed",
        "discriminate",
        "self_train",
        "evaluate",
        "release",
    ]
    assert told["seconds"] == pytest.approx(sum(one["seconds"] for one in told["stages"]))
    assert set(told["disk"]) == {"database", "models", "release", "temporary"}
    assert told["disk"]["temporary"] > 0
    table = here("plan", "--reviews", "10000000", "--workers", "32", "--workdir", built.workdir)
    assert table.out.startswith("10,000,000 reviews, 32 workers\n")
    assert "what of discriminate is prediction was not measured" in table.out


@pytest.mark.usefixtures("few_texts")
def test_the_sample_is_measured_where_there_is_no_build_and_a_workdir_without_one_is_an_error(
    here: Command, tmp_path: Path
) -> None:
    ran = here("plan", "--reviews", "1000")
    assert ran.code == 0, ran.err
    assert "measured: the shipped sample" in ran.out
    assert "finish a build and name it with --workdir" in ran.out
    assert "no database here" in here("plan", "--reviews", "1000", "--workdir", tmp_path).error
