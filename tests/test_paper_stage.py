"""The profile `paper` through the stages and commands, on a handful of reviews and a tiny random model."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import Result
from conftest import invoke
from tiny_mt5 import make_base

from builder.core.config import resolve
from builder.core.errors import ConfigError, ModelError
from builder.core.settings import Config
from builder.core.shards.local import LocalCrew
from builder.language.lexicon.resources import load_lexicon
from builder.learning import devices
from builder.pipeline import pipeline, predictions
from builder.pipeline.builds import Build
from builder.store import db, runs, triplets

LINES = (
    "牛肉麵很好吃，服務人員也很親切。", "餐點不會太鹹，湯頭普通。", "環境乾淨，價格便宜。", "店員態度差，飲料不好喝。",
    "雞腿飯很香，配菜新鮮。", "蛋糕濃郁，咖啡很香。", "甜點太甜了，服務好。", "湯頭很鹹，環境髒。",
)  # fmt: skip
SETTINGS = {
    "profile": "paper",
    "workers": 1,
    "threads": 1,
    "ingest.valid_share": 0.2,
    "ingest.test_share": 0.1,
    "self_train.variants": ("D",),
    "self_train.iterations": 1,
    "paper.epochs": 1,
    "paper.judge_epochs": 1,
    "paper.max_output": 30,
    "paper.batch_tokens": 1500,
}
TAUGHT = SETTINGS | {
    "paper.epochs": 30,
    "paper.rate": 0.007,
    "paper.warmup": 0.1,
    "paper.batch": 1,
    "paper.max_output": 40,
}
"""What it takes for a tiny random model to write triplets of its training set."""


def build_in(folder: Path, settings: dict[str, object]) -> Build:
    """A build of the lines, to be run."""
    rows = [f"r{i},{line}\n" for i, line in enumerate(LINES)]
    (folder / "reviews.csv").write_text("review_id,text\n" + "".join(rows), encoding="utf-8")
    return Build(folder / "w", folder / "out", (folder / "reviews.csv",), resolve(options=settings))


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Build:
    folder = tmp_path_factory.mktemp("paper")
    base = make_base(folder / "base", LINES)
    build = build_in(folder, TAUGHT | {"paper.base": str(base)})
    pipeline.run(build, until="evaluate")
    return build


def test_the_stages_run_with_the_papers_models_and_their_work_is_in_the_database(built: Build) -> None:
    with db.reading(built.workdir) as connection:
        rounds = runs.rounds(connection, "D")
        assert [done.round for done in rounds] == [0, 1]
        judge = triplets.source_id(connection, "discriminator")
        rules, model = triplets.source_id(connection, "rules"), triplets.source_id(connection, "D1")
        assert judge is not None and rules is not None and model is not None
        assert set(triplets.verdicts(connection, judge).values()) <= {"YY", "YN", "NX"}
        judged = set(triplets.verdicts(connection, judge))
        assert {
            one.id for split in ("train", "valid", "test") for one in triplets.proposed(connection, rules, split)
        } <= judged
        told = [one for split in ("train", "valid", "test") for one in triplets.proposed(connection, model, split)]
        assert told and {one.id for one in told} <= judged
        digests = {done.round: done.model for done in rounds}
    manifests = [json.loads((built.workdir / "models" / name / "paper.json").read_text()) for name in ("D0", "D1")]
    assert [one["digest"] for one in manifests] == [digests[0], digests[1]]
    assert [one["base"] for one in manifests] == [built.resolved.config.paper.base] * 2, "the same base every time"


def test_models_of_the_paper_predict_on_a_cluster_what_they_predict_here(built: Build, tmp_path: Path) -> None:
    pytest.importorskip("distributed", reason="the extra scale is not installed")
    there = predict_again(built, tmp_path / "w", engine="dask")
    assert predictions_of(there) == predictions_of(built) != []
    for name in ("D0", "D1"):
        assert answers_of(there, name) == answers_of(built, name) != []


def answers_of(build: Build, name: str) -> list[tuple[str, str]]:
    """Questions and answers; how sure the model was differs by rounding from batch to batch."""
    (path,) = (build.workdir / "models" / name).glob("answers-*.jsonl")
    rows = map(json.loads, path.read_text("utf-8").splitlines())
    return sorted((row["question"], row["answer"]) for row in rows)


def test_models_of_the_paper_ask_for_a_process_for_each_gpu_and_predict_what_they_predict_here(
    built: Build, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Here a single process does the work of both: tests of crews begin processes."""
    crews = list[int]()

    class Watched(LocalCrew):
        def __init__(self, workers: int) -> None:
            crews.append(workers)
            super().__init__(1)

    monkeypatch.setattr(predictions, "LocalCrew", Watched)
    monkeypatch.setattr(devices, "count_gpus", lambda name: 2)
    settings = {"shard": 3, "self_train.iterations": 0}
    there = predict_again(built, tmp_path / "w", **settings)
    assert crews and set(crews) == {2}
    assert predictions_of(there, "D0") == predictions_of(built, "D0")
    assert answers_of(there, "D0") == answers_of(built, "D0") != []


def predict_again(built: Build, workdir: Path, **settings: object) -> Build:
    """A copy of a build whose trained models answer anew."""
    shutil.copytree(built.workdir, workdir)
    kept = [path for path in (workdir / "models").rglob("answers-*.jsonl") if "training" not in str(path)]
    assert kept, "there are answers to forget"
    for path in kept:
        path.unlink()
    options = TAUGHT | {"paper.base": built.resolved.config.paper.base} | settings
    there = Build(workdir, workdir.parent / "out", built.inputs, resolve(options=options))
    pipeline.run(there, until="evaluate", force=("self_train",))
    return there


def predictions_of(build: Build, name: str = "D1") -> list[tuple[object, ...]]:
    """What a model proposes, the last one where none is named, and the judge's verdicts on it."""
    with db.reading(build.workdir) as connection:
        model, judge = (triplets.source_id(connection, source) for source in (name, "discriminator"))
        assert model is not None and judge is not None
        verdicts = triplets.verdicts(connection, judge)
        proposed = [one for split in ("train", "valid", "test") for one in triplets.proposed(connection, model, split)]
        return [(one.review, one.triplet.key, verdicts[one.id]) for one in proposed]


def test_every_prediction_of_the_paper_profile_may_be_added(built: Build) -> None:
    """The paper adds all that its filter lets through, so the profile sets the confidence to 0."""
    assert built.resolved.config.self_train.confidence == 0
    assert built.resolved.origin["self_train.confidence"] == "profile paper"
    mine = resolve(options={"profile": "paper", "paper.base": "x/y", "self_train.confidence": 0.3})
    assert (mine.config.self_train.confidence, mine.origin["self_train.confidence"]) == (0.3, "option")
    assert resolve().config.self_train.confidence == 0.5


def test_the_answers_are_kept_and_the_questions_name_the_aspects_known_before_the_round(built: Build) -> None:
    (path,) = (built.workdir / "models" / "D1").glob("answers-*.jsonl")
    rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    assert len(rows) == len(LINES)
    with db.reading(built.workdir) as connection:
        known = {one.triplet.aspect.text for one in triplets.training(connection, "D", 1)}
    assert known
    asked = "".join(row["question"] for row in rows)
    assert all(f"請問以下文字對{aspect}的描述為何？" in asked for aspect in known)


def test_a_second_run_does_nothing_and_another_base_trains_anew(built: Build, tmp_path: Path) -> None:
    assert not any(done.ran for done in pipeline.run(built, until="self_train"))
    other = make_base(tmp_path / "base", LINES, seed=8)
    keys = pipeline.stage_keys(built, load_lexicon())
    changed = pipeline.stage_keys(replace(built, resolved=_with(built, "paper.base", str(other))), load_lexicon())
    assert [name for name in keys if keys[name] != changed[name]] == [*keys][3:]


def test_a_first_model_that_two_variants_share_is_trained_and_asked_and_stored_once(
    built: Build, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Algorithm 1: S_0 of B and D is the rules' triplets, so that both have the same M_0."""
    from builder.models.paper import fine_tuning, models

    trainings: list[int] = []
    questions: list[int] = []
    fit, write = fine_tuning.fit, models.write
    monkeypatch.setattr(fine_tuning, "fit", lambda *rest: trainings.append(len(rest[1])) or fit(*rest))
    settings = SETTINGS | {"self_train.variants": ("B", "D"), "self_train.iterations": 0}
    resolved = resolve(options=settings | {"paper.base": built.resolved.config.paper.base})
    build = replace(built, workdir=tmp_path / "w", resolved=resolved)
    pipeline.run(build, until="discriminate")
    judged = len(trainings)
    monkeypatch.setattr(
        models, "write", lambda base, asked, *rest: questions.append(len(asked)) or write(base, asked, *rest)
    )
    pipeline.run(build, until="self_train")
    assert len(trainings) == judged + 1
    asked = [count for count in questions if count]
    assert sum(asked[1:]) == len(LINES), "validation in training, then all reviews once"
    first, second = (build.workdir / "models" / name for name in ("B0", "D0"))
    assert (first / "model.safetensors").stat().st_ino == (second / "model.safetensors").stat().st_ino
    assert not list((build.workdir / "models").glob("*.training/*.safetensors")), "nothing is stored twice"
    (answers,) = second.glob("answers-*.jsonl")
    assert answers.read_text("utf-8") == (first / answers.name).read_text("utf-8")
    with db.reading(build.workdir) as connection:
        (b,), (d,) = (runs.rounds(connection, name) for name in "BD")
        assert (b.model, b.triplets, b.predicted) == (d.model, d.triplets, d.predicted)


def test_a_settled_model_is_read_for_its_training_and_a_damaged_one_is_trained_again(
    built: Build, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from builder.models.paper import fine_tuning

    resolved = resolve(options=SETTINGS | {"self_train.iterations": 0, "paper.base": built.resolved.config.paper.base})
    build = replace(built, workdir=tmp_path / "w", resolved=resolved)
    pipeline.run(build, until="self_train")
    trainings: list[int] = []
    fit = fine_tuning.fit
    monkeypatch.setattr(fine_tuning, "fit", lambda *rest: trainings.append(1) or fit(*rest))
    model = build.workdir / "models" / "D0"
    digest = json.loads((model / "paper.json").read_text("utf-8"))["digest"]
    pipeline.run(build, until="self_train", force=("self_train",))
    assert trainings == []
    (model / "paper.json").write_text("{", "utf-8")
    pipeline.run(build, until="self_train", force=("self_train",))
    assert trainings == [1]
    assert json.loads((model / "paper.json").read_text("utf-8"))["digest"] == digest


def _with(built: Build, key: str, value: object):  # type: ignore[no-untyped-def]
    return resolve(options=TAUGHT | {"paper.base": built.resolved.config.paper.base, key: value})


def test_extract_uses_the_trained_writer(built: Build, tmp_path: Path) -> None:
    done = extracted(built, tmp_path, LINES[0], "--source", "D")
    assert done.exit_code == 0, done.output
    (row,) = map(json.loads, (tmp_path / "out.jsonl").read_text("utf-8").splitlines())
    assert row["id"] == "a"
    for one in row["triplets"]:
        assert "".join(LINES[0][a:b] for a, b in one["opinion_spans"]) == one["opinion"]


def questions(built: Build) -> list[str]:
    """What the last model was asked so far."""
    (path,) = (built.workdir / "models" / "D1").glob("answers-*.jsonl")
    return [json.loads(line)["question"] for line in path.read_text("utf-8").splitlines()]


def extracted(built: Build, folder: Path, text: str, *more: object) -> Result:
    (folder / "in.jsonl").write_text(json.dumps({"id": "a", "text": text}) + "\n", "utf-8")
    files = ("--input", folder / "in.jsonl", "--output", folder / "out.jsonl", "--workdir", built.workdir)
    return invoke("extract", *files, *more)


def test_extract_names_the_aspects_of_the_rules_to_the_model_as_its_training_did(built: Build, tmp_path: Path) -> None:
    before = len(questions(built))
    done = extracted(built, tmp_path, "牛肉麵很香，湯頭普通。", "--source", "D")
    assert done.exit_code == 0, done.output
    (asked,) = questions(built)[before:]
    assert [name for name in ("牛肉麵", "湯頭") if f"對{name}的描述為何" in asked] == ["牛肉麵", "湯頭"]


def test_aspects_of_the_user_are_named_where_they_stand_in_a_text(built: Build, tmp_path: Path) -> None:
    before = len(questions(built))
    (tmp_path / "aspects.txt").write_text("配菜\n\n雞腿飯\n店面\n", "utf-8")
    text = "雞腿飯配菜很多，服務好。"
    done = extracted(built, tmp_path, text, "--source", "D", "--aspects", tmp_path / "aspects.txt")
    assert done.exit_code == 0, done.output
    (asked,) = questions(built)[before:]
    assert asked.count("的描述為何") == 2
    assert "對配菜的描述" in asked and "對雞腿飯的描述" in asked
    (tmp_path / "aspects.txt").write_text("\n", "utf-8")
    for source in ("D", "rules"):
        done = extracted(built, tmp_path, text, "--source", source, "--aspects", tmp_path / "aspects.txt")
        assert "no aspect here" in str(done.exception)
    (tmp_path / "aspects.txt").write_text("配菜\n", "utf-8")
    done = extracted(built, tmp_path, text, "--source", "rules", "--aspects", tmp_path / "aspects.txt")
    assert "the rules find aspects themselves" in str(done.exception)


def test_extract_reads_with_the_backend_and_the_convention_of_the_build(built: Build, tmp_path: Path) -> None:
    from builder.pipeline.extraction import build_settings, open_system
    from builder.pipeline.rule_system import RuleSystem

    assert build_settings(tmp_path) == Config()
    with db.writing(built.workdir) as connection:
        kept = json.loads(runs.setting(connection, "build") or "")
        changed = kept["config"] | {"rules.convention": "described", "annotate.models": str(tmp_path / "models")}
        with db.atomic(connection):
            runs.set_setting(connection, "build", json.dumps(kept | {"config": changed}))
    try:
        system = open_system(built.workdir, "rules")
        assert isinstance(system, RuleSystem)
        assert (system.recipe.convention, system.recipe.models) == ("described", tmp_path / "models")
        natural = open_system(built.workdir, "rules", "natural")
        assert isinstance(natural, RuleSystem) and natural.recipe.convention == "natural"
    finally:
        with db.writing(built.workdir) as connection, db.atomic(connection):
            runs.set_setting(connection, "build", json.dumps(kept))


def test_a_base_is_trained_by_command_and_serves_the_stages(built: Build, tmp_path: Path) -> None:
    base = built.resolved.config.paper.base
    questions = [{"id": str(i), "question": "湯頭", "answers": [{"text": "普通", "answer_start": 0}]} for i in range(8)]
    (tmp_path / "q.json").write_text(
        json.dumps({"data": [{"paragraphs": [{"context": LINES[1], "qas": questions}]}]}), "utf-8"
    )
    places = ("--drcd", tmp_path / "q.json", "--base", base, "--out", tmp_path / "next")
    done = invoke("model", "pretrain", *places, "--epochs", 1, "--threads", 1)
    assert done.exit_code == 0, done.exception
    assert "trained on" in done.output
    again = replace(
        built, workdir=tmp_path / "w", out=tmp_path / "o", resolved=_with(built, "paper.base", str(tmp_path / "next"))
    )
    counts = pipeline.run(again, until="discriminate")[-1].counts
    assert int(counts["judged"]) > 0


def test_settings_that_no_model_can_be_trained_with_are_errors() -> None:
    with pytest.raises(ConfigError, match=r'paper.base = "" is not a model: set it to "google/mt5-base" or a folder'):
        resolve(options={"profile": "paper"})
    with pytest.raises(ConfigError, match=r"paper.epochs = 0 is not at least 1"):
        resolve(options={"profile": "paper", "paper.base": "a/b", "paper.epochs": 0})


def test_a_base_that_is_no_model_stops_the_build_before_its_first_stage(built: Build, tmp_path: Path) -> None:
    wrong = replace(built, workdir=tmp_path / "w", resolved=_with(built, "paper.base", str(tmp_path)))
    with pytest.raises(
        ModelError, match=r'paper\.base = ".*": no model here: there is no config\.json; name a model\'s folder'
    ):
        pipeline.run(wrong)
    assert not (tmp_path / "w").exists()


def test_both_templates_are_trained_for_table_3_and_the_variants_own_is_trained_once(tmp_path: Path) -> None:
    base = make_base(tmp_path / "base", LINES)
    more = {"paper.base": str(base), "paper.compare_templates": True, "self_train.iterations": 0}
    pipeline.run(build_in(tmp_path, SETTINGS | more), until="self_train")
    with db.reading(tmp_path / "w") as connection:
        assert {"template-1", "template-2"} <= triplets.signatures(connection).keys()
    models = {path.name for path in (tmp_path / "w" / "models").iterdir()}
    assert {"template-1.training", "BD0.training"} <= models and "template-2.training" not in models
