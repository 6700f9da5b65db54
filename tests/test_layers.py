"""Labels of pools as layers of the test split: gold by people, silver by a language model."""

from __future__ import annotations

import csv
import json
import shutil
from dataclasses import dataclass
from pathlib import Path

import pytest
from conftest import Command, Ran, contents, invoke, sentence
from goldwork import draw
from test_gold_pool import label

from builder import Release
from builder.core.errors import ConfigError
from builder.core.records import Label, Pool
from builder.core.settings import Evaluate
from builder.pipeline.layers import read_layers
from builder.store import db, pool_labels
from builder.teaching.labelling import opened

RULES = (
    "--set", "profile=rules", "--set", "workers=1", "--set", "ingest.test_count=12", "--set", "ingest.valid_count=4",
)  # fmt: skip
SAID = ("湯頭好喝", "店員很親切", "環境乾淨", "甜點太甜", "牛肉麵不好吃", "價格便宜")


@dataclass(frozen=True, slots=True)
class Work:
    """A build by the rules alone, with a pool of 5 reviews that people label and one of all 12 for a model."""

    folder: Path
    here: Command
    few: Pool
    all: Pool

    def build(self, *more: object) -> Ran:
        out = ("--workdir", self.folder / "w", "--out", self.folder / "releases")
        return self.here("build", self.folder / "reviews.csv", *out, *RULES, *more)

    def release(self, gold_: str, silver: str) -> Ran:
        return self.build("--set", f"evaluate.gold={gold_}", "--set", f"evaluate.silver={silver}")


def write_reviews(folder: Path) -> Path:
    rows = [f"r{n},{sentence(n, 6)}。{SAID[n % 6]}，{SAID[(n + 1) % 6]}\n" for n in range(30)]
    (folder / "reviews.csv").write_text("review_id,text\n" + "".join(rows), encoding="utf-8")
    return folder / "reviews.csv"


@pytest.fixture(scope="module")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Pool, Pool]:
    """The folder of a build by the rules alone, and two pools of it."""
    folder = tmp_path_factory.mktemp("layers")
    places = ("--workdir", folder / "w", "--out", folder / "releases")
    done = invoke("build", write_reviews(folder), *places, *RULES)
    assert done.exit_code == 0, (done.output, done.exception)
    return folder, draw(folder / "w", 5, 1), draw(folder / "w", 100, 2)


@pytest.fixture
def work(drawn: tuple[Path, Pool, Pool], tmp_path: Path, here: Command) -> Work:
    """A copy of the build, to be labelled."""
    folder, few, every = drawn
    return Work(Path(shutil.copytree(folder, tmp_path / "work")), here, few, every)


def finish(work: Work) -> None:
    """People agree with everything in the small pool; the model rejects the first candidate of the large one."""
    workdir = work.folder / "w"
    label(workdir, work.few, "amy", "human")
    label(workdir, work.all, "model/x", "llm")
    first = next(candidate for review in work.all.reviews for candidate in review.candidates)
    with opened(workdir) as connection, db.atomic(connection):
        pool_labels.put(
            connection, pool_labels.annotator(connection, "model/x", "llm"), [(first.id, Label("NX"))], "test"
        )
        empty = [review.id for review in work.few.reviews if not review.candidates]
        pool_labels.check(connection, pool_labels.annotator(connection, "amy"), empty, "test")


def test_a_release_holds_a_gold_and_a_silver_layer_of_labelled_pools(work: Work) -> None:
    finish(work)
    workdir = work.folder / "w"
    with db.reading(workdir) as connection:
        before = dict(connection.execute("SELECT stage, finished || key FROM runs"))
    ran = work.release(f"pool:{work.few.id}", f"pool:{work.all.id[:6]}/model/x")
    assert ran.code == 0, ran.err
    with db.reading(workdir) as connection:
        after = dict(connection.execute("SELECT stage, finished || key FROM runs"))
        metrics = {row[0] for row in connection.execute("SELECT system FROM metrics")}
    assert {stage for stage in after if after[stage] != before[stage]} <= {"evaluate", "release"}, "nothing is trained"
    assert metrics == {"rules against gold", "rules against silver"}
    release = Release(max((work.folder / "releases").glob("v*")))
    assert release.verify() == []
    by_layer = {
        layer: {review.id for review in release.reviews("test") if review.annotation == layer}
        for layer in ("gold", "silver")
    }
    labelled = {review.key for review in work.few.reviews}
    assert by_layer == {"gold": labelled, "silver": {review.key for review in work.all.reviews} - labelled}
    layers = release.manifest["splits"]["test"]["layers"]
    assert [(layer["annotation"], layer["labelled_by"], layer["reviews"]) for layer in layers] == [
        ("gold", f"people, pool {work.few.id}", 5),
        ("silver", f"model/x, pool {work.all.id}", 7),
    ]
    assert [layer["annotators"] for layer in layers] == ["people", "language model"], "the pool knows who answered"
    assert "model/x" in release.manifest["signatures"]["silver"]
    card = (release.path / "README.md").read_text(encoding="utf-8")
    assert f"| test | silver | model/x, pool {work.all.id} | 7 |" in card
    assert "## Scores by a language model's labels" in card
    assert (release.path / "parquet" / "test-gold.parquet").is_file()
    assert (release.path / "parquet" / "test-silver.parquet").is_file()
    text = next(review.text for review in release.reviews("test") if review.annotation == "silver")
    exported = work.here("export", release.path, "--format", "paper", "--output", work.folder / "paper")
    assert exported.code == 0 and text in (work.folder / "paper" / "test.json").read_text(encoding="utf-8")


def test_a_setting_may_not_say_that_a_model_labelled_what_people_did(work: Work) -> None:
    finish(work)
    gold_of_people = Evaluate(gold=f"pool:{work.few.id}", gold_annotators="language model")
    with db.reading(work.folder / "w") as connection, pytest.raises(ConfigError, match="by people, and evaluate"):
        list(read_layers(connection, gold_of_people))


def test_what_the_language_model_rejects_is_not_in_the_silver_layer(work: Work) -> None:
    finish(work)
    review, candidate = next((review, one) for review in work.all.reviews for one in review.candidates)
    work.release("", f"pool:{work.all.id}")
    release = Release(max((work.folder / "releases").glob("v*")))
    held = {(row.id, kept.aspect.spans, kept.opinion.spans) for row in release.reviews("test") for kept in row}
    due = {
        (each.key, one.triplet.aspect.spans, one.triplet.opinion.spans)
        for each in work.all.reviews
        for one in each.candidates
    }
    assert held == due - {(review.key, candidate.triplet.aspect.spans, candidate.triplet.opinion.spans)}


def test_the_same_labels_give_the_same_bytes_and_another_label_another_release(work: Work) -> None:
    finish(work)
    again = ("--set", 'release.date="2026-01-01"')
    named = ("--set", f"evaluate.gold=pool:{work.few.id}", "--set", f"evaluate.silver=pool:{work.all.id}")
    assert work.build(*named, *again).code == 0
    first = max((work.folder / "releases").glob("v*"))
    before = contents(first)
    assert work.here("run", "release", "--force", "--workdir", work.folder / "w").code == 0
    assert contents(first) == before and max((work.folder / "releases").glob("v*")) == first
    label(work.folder / "w", work.all, "model/x", "llm")
    assert work.build(*named, *again).code == 0
    assert max((work.folder / "releases").glob("v*")) != first, "the model took its rejection back"


def test_reviews_that_nobody_labelled_leave_a_test_split_with_silver(work: Work) -> None:
    finish(work)
    label(work.folder / "w", work.few, "model/x", "llm")
    small = f"evaluate.silver=pool:{work.few.id}"
    assert "more than 20% of release" in work.build("--set", small).error
    assert work.build("--set", small, "--set", "release.drop_reason=fewer labels").code == 0
    release = Release(max((work.folder / "releases").glob("v*")))
    assert {review.id for review in release.reviews("test")} == {review.key for review in work.few.reviews}
    assert release.manifest["dropped"]["unlabelled"] == 7
    with db.reading(work.folder / "w") as connection:
        left = connection.execute("SELECT count(*) FROM rejected WHERE reason = 'unlabelled' AND triplet IS NULL")
        assert left.fetchone() == (7,)


def test_labels_that_cannot_serve_are_one_clear_line(work: Work) -> None:
    few, every = work.few.id, work.all.id
    there = f"there are {every}, {few}"
    assert work.release("pool:zz", "").error == f"evaluate.gold: there is no pool 'zz'; {there}"
    assert work.release("pool:", "").error == f"evaluate.gold: there is no pool ''; {there}"
    unlabelled = work.release(f"pool:{few}", "").error
    assert unlabelled.startswith(f"evaluate.gold: pool {few} is not finished: 5 of 5 reviews open; label the rest")
    nobody = work.release("", f"pool:{every}").error
    assert nobody == (
        f"evaluate.silver: no language model labelled pool {every}; ask one: `builder gold judge --pool {every}`"
    )
    label(work.folder / "w", work.all, "model/x", "llm", but=2)
    half = work.release("", f"pool:{every}").error
    assert half == (
        f"evaluate.silver: pool {every} is not finished: model/x has not labelled 2 candidates; "
        f"`builder gold judge --pool {every}` asks about the rest"
    )
    assert work.release("", f"pool:{every}/bo").error == (
        f"evaluate.silver: 'bo' has no label in pool {every}; known: model/x"
    )
    assert work.release(f"pool:{every}/model/x", "").error == (
        "evaluate.gold: the labels of 'model/x' are those of a language model; name them in evaluate.silver"
    )
    label(work.folder / "w", work.all, "model-y", "llm")
    assert work.release("", f"pool:{every}").error.startswith(
        f"evaluate.silver: 2 language models labelled pool {every}; name one: "
    )


def test_a_pool_of_other_reviews_than_those_of_test_is_refused(work: Work) -> None:
    train = draw(work.folder / "w", 3, 5, "train")
    label(work.folder / "w", train, "model/x", "llm")
    assert "of pool" in (error := work.release("", f"pool:{train.id}").error) and "not in the test split" in error


def test_a_pool_before_the_first_build_is_refused(tmp_path: Path, here: Command) -> None:
    (tmp_path / "r.csv").write_text("text\n湯頭好喝\n", encoding="utf-8")
    ran = here("build", tmp_path / "r.csv", "--workdir", tmp_path / "w", "--set", "evaluate.gold=pool:ab")
    assert ran.error.startswith("evaluate.gold: 'pool:ab' names a pool, but there is no database yet; build without it")


@pytest.mark.parametrize("form", ["aste-v2", "xlsx", "paper"])
def test_labels_are_written_in_the_formats_of_export(work: Work, form: str) -> None:
    finish(work)
    out = work.folder / "labels"
    words = ("--workdir", work.folder / "w", "--pool", work.few.id, "--out", out, "--format", form)
    ran = work.here("annotate", "gold", *words)
    assert ran.code == 0 and ran.out.startswith(f"{out}: gold, 5 reviews, "), ran.err
    assert out.stat().st_size > 100


def test_an_unknown_format_of_labels_is_refused(work: Work) -> None:
    ran = work.here("annotate", "gold", "--workdir", work.folder / "w", "--out", work.folder / "x", "--format", "gtss")
    assert ran.error.startswith("unknown format 'gtss'; did you mean gts? known: jsonl, ")


def test_the_report_fills_table_7_and_scores_by_both_layers(work: Work) -> None:
    finish(work)
    assert work.release(f"pool:{work.few.id}", f"pool:{work.all.id}").code == 0
    tables = work.folder / "tables"
    ran = work.here("report", "--workdir", work.folder / "w", "--out", work.folder / "r.html", "--data", tables)
    assert ran.code == 0, ran.err
    with (tables / "table-7.csv").open(encoding="utf-8-sig", newline="") as file:
        rows = [(row["split"], row["layer"], row["reviews"], row["golden answer by"]) for row in csv.DictReader(file)]
    assert rows[-2:] == [
        ("test", "gold", "5", f"people, pool {work.few.id}"),
        ("test", "silver", "7", f"model/x, pool {work.all.id}"),
    ]
    names = json.dumps([path.name for path in sorted(tables.iterdir())])
    assert "table-5.csv" in names and "table-5-2.csv" in names and "table-5-3.csv" not in names
