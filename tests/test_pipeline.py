"""The build as a whole: the same bytes from the same input; only what depends on a change runs again."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import conftest
import pytest
from conftest import Built, Command, ask, contents, read_lines, settings

from builder.core.config import Resolved, flat, resolve
from builder.core.errors import ReleaseError
from builder.language.lexicon.resources import load_lexicon
from builder.learning.task import Example
from builder.pipeline import builds, pipeline, predictions
from builder.pipeline.builds import Build, named
from builder.pipeline.pipeline import STAGES
from builder.pipeline.stages import seed

NAMES = [stage.name for stage in STAGES]


def read_splits(release: Path) -> dict[str, list[dict[str, Any]]]:
    return {split: read_lines(release / "data" / f"{split}.jsonl") for split in ("train", "valid", "test")}


def options(built: Built, **changed: object) -> Resolved:
    """The settings of the tiny build, some of them changed (`__` for the dot)."""
    return resolve(options=conftest.options(**{"evaluate__gold": str(built.gold)} | changed))


@pytest.fixture
def again(built: Built, tmp_path: Path) -> Build:
    """The tiny build in copies of its working directory and its releases, to be changed and run again."""
    shutil.copytree(built.out, tmp_path / "releases")
    build = Build(built.copy(tmp_path), tmp_path / "releases", (built.reviews,), options(built))
    assert ran(build) == ["release"], "it is not where it was: looked at again, and found"
    return build


def ran(build: Build, **how: Any) -> list[str]:
    return [done.stage for done in pipeline.run(build, **how) if done.ran]


def proposals(workdir: Path) -> list[tuple[Any, ...]]:
    return ask(
        workdir,
        "SELECT s.name, t.*, p.confidence, p.rule, p.story FROM proposals p JOIN sources s ON s.id = p.source JOIN "
        "triplets t ON t.id = p.triplet ORDER BY s.name, t.id",
    )


# ---- determinism


def test_two_workers_in_another_directory_make_the_same_release_byte_for_byte(
    built: Built, here: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copy(built.reviews, tmp_path / "reviews.csv")
    shutil.copy(built.gold, tmp_path / "labelled.jsonl")
    shutil.copytree(built.workdir / "models", tmp_path / "workdir" / "models", copy_function=os.link)  # same trainings
    day = json.loads((built.out / "v0.1.0" / "manifest.json").read_text(encoding="utf-8"))["date"]
    noon = datetime.fromisoformat(f"{day}T12:00+00:00")
    monkeypatch.setenv("SOURCE_DATE_EPOCH", f"{noon.timestamp():.0f}")  # midnight may lie between the two builds
    chosen = settings(evaluate__gold='"labelled.jsonl"', workers="2")
    done = here("build", "reviews.csv", "--workdir", "workdir", "--out", "out", *chosen, cwd=tmp_path)
    assert done.code == 0, done.err
    assert contents(tmp_path / "out") == contents(built.out)
    assert len(contents(built.out)) == 15
    assert proposals(tmp_path / "workdir") == proposals(built.workdir)


def test_rules_in_two_processes_say_what_rules_in_one_say(
    built: Built, again: Build, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert ran(again, until="seed", force=("seed",)) == ["seed"]
    alone = proposals(again.workdir)
    monkeypatch.setattr(seed, "_CHUNK", 5)
    assert ran(replace(again, resolved=options(built, workers=2)), until="seed", force=("seed",)) == ["seed"]
    assert proposals(again.workdir) == alone
    assert len(alone) > 50


# ---- what runs again

DEPENDENT: dict[str, tuple[object, str | None]] = {
    "workers": (3, None),
    "engine": ("dask", None),
    "shard": (7, "discriminate"),
    "input.text_column": ("text", "ingest"),
    "ingest.max_chars": (500, "ingest"),
    "ingest.valid_share": (0.3, "ingest"),
    "annotate.chunk": (9, "annotate"),
    "rules.convention": ("paper", "seed"),
    "seed": (14, "discriminate"),
    "threads": (2, "discriminate"),
    "discriminate.epochs": (17, "discriminate"),
    "self_train.epochs": (17, "self_train"),
    "self_train.iterations": (2, "self_train"),
    "self_train.variants": (("C",), "self_train"),
    "self_train.confidence": (0.9, "self_train"),
    "release.name": ("other", "release"),
    "release.licence": ("CC0-1.0", "release"),
    "release.script": ("simplified", "release"),
}


@pytest.mark.parametrize("key", DEPENDENT)
def test_a_setting_changes_the_keys_of_the_stages_that_depend_on_it_and_no_others(key: str, built: Built) -> None:
    value, first = DEPENDENT[key]
    lexicon = load_lexicon()
    base = named(Build(built.workdir, built.out, (built.reviews,), options(built)))
    assert flat(base.resolved.config)[key] != value
    before = pipeline.stage_keys(base, lexicon)
    after = pipeline.stage_keys(named(replace(base, resolved=options(built, **{key: value}))), lexicon)
    changed = [name for name in NAMES if before[name] != after[name]]
    assert changed == ([] if first is None else NAMES[NAMES.index(first) :])
    assert before == dict(ask(built.workdir, "SELECT stage, key FROM runs"))


def test_other_reviews_or_another_gold_change_every_key(built: Built, tmp_path: Path) -> None:
    lexicon = load_lexicon()
    base = named(Build(built.workdir, built.out, (built.reviews,), options(built)))
    more = tmp_path / built.reviews.name
    more.write_bytes(built.reviews.read_bytes() + "z1,,5,多一則評論，湯頭好喝\n".encode())
    gold = tmp_path / "gold.jsonl"
    gold.write_bytes(built.gold.read_bytes() + b'{"id": "s0001", "triplets": []}\n')
    before = pipeline.stage_keys(base, lexicon)
    for other in (replace(base, inputs=(more,)), replace(base, resolved=options(built, evaluate__gold=str(gold)))):
        after = pipeline.stage_keys(other, lexicon)
        assert [name for name in NAMES if before[name] == after[name]] == []


def test_a_changed_setting_runs_only_what_depends_on_it(built: Built, again: Build) -> None:
    assert ran(again) == []
    fewer = replace(again, resolved=options(built, self_train__iterations=0))
    assert ran(fewer) == ["self_train", "evaluate", "release"]
    assert ask(again.workdir, "SELECT DISTINCT round FROM training_sets") == [(0,)]
    sources = ask(again.workdir, "SELECT name FROM sources ORDER BY id")
    assert sources == [("rules",), ("discriminator",), ("D0",), ("gold",)]
    assert ran(again) == ["self_train", "evaluate", "release"]
    assert proposals(again.workdir) == proposals(built.workdir)


@pytest.mark.parametrize("first", ["ingest", "seed", "discriminate", "evaluate"])
def test_a_forced_stage_runs_again_with_all_that_reads_from_it_and_ends_in_the_same_bytes(
    first: str, built: Built, again: Build
) -> None:
    assert ran(again, until=first, force=(first,)) == [first]
    after = NAMES[NAMES.index(first) + 1 :]
    assert [stage.name for stage, state, _ in pipeline.status(again.workdir) if state == "due"] == after
    assert ran(again) == after
    assert contents(again.out) == contents(built.out)
    assert proposals(again.workdir) == proposals(built.workdir)


def test_a_judge_that_a_build_trains_is_asked_once_about_each_review(
    again: Build, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, asked = predictions.classify, list[object]()

    def classify(*given: Any) -> Iterator[predictions.Verdicts]:
        def heard() -> Iterator[Example]:
            for example in given[-1]:
                asked.append(example.id)
                yield example

        return real(*given[:-1], heard())

    monkeypatch.setattr(predictions, "classify", classify)
    assert ran(again, until="discriminate", force=("discriminate",)) == ["discriminate"]
    assert asked
    assert len(asked) == len(set(asked))


def test_a_rerun_leaves_nothing_of_what_it_replaces(built: Built, again: Build, tmp_path: Path) -> None:
    """Triplets that gold or a model proposes as well must not keep the phrases and values of older rules."""
    paper = options(built, rules__convention="paper")
    fresh = Build(tmp_path / "fresh", tmp_path / "out", (built.reviews,), paper)
    assert ran(fresh, until="seed") == NAMES[:3]
    assert ran(replace(again, resolved=paper), until="seed") == ["seed"]
    assert proposals(again.workdir) == proposals(fresh.workdir)
    assert proposals(again.workdir) != [row for row in proposals(built.workdir) if row[0] == "rules"], (
        "the conventions differ on this input"
    )
    assert ask(again.workdir, "SELECT count(*) FROM triplets") == ask(fresh.workdir, "SELECT count(*) FROM triplets")


def test_a_build_seeds_by_the_described_system_and_explain_shows_the_path(
    built: Built, here: Command, tmp_path: Path
) -> None:
    described = options(built, rules__convention="described")
    fresh = Build(tmp_path / "fresh", tmp_path / "out", (built.reviews,), described)
    assert ran(fresh, until="seed") == NAMES[:3]
    rules = {rule for (rule,) in ask(fresh.workdir, "SELECT DISTINCT rule FROM proposals")}
    assert "described-path" in rules <= {"described-path", "described-conjunction"}
    shown = here("explain", "x5", "--workdir", fresh.workdir).out
    assert "the shortest path of" in shown
    assert re.search(r"path +[↑↓]", shown)


def test_a_build_goes_on_from_any_directory(built: Built, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "there").mkdir()
    shutil.copy(built.reviews, tmp_path / "there" / "in.csv")
    shutil.copy(built.gold, tmp_path / "there" / "gold.jsonl")
    monkeypatch.chdir(tmp_path / "there")
    build = Build(Path("w"), Path("out"), (Path("in.csv"),), options(built, evaluate__gold="gold.jsonl"))
    assert ran(build, until="ingest") == ["ingest"]
    monkeypatch.chdir(tmp_path)
    kept = builds.remembered(Path("there/w"))
    assert (kept.inputs, kept.out.resolve()) == ((tmp_path / "there" / "in.csv",), tmp_path / "there" / "out")
    assert ran(kept, until="ingest") == []


def test_a_project_that_moves_takes_its_releases_along_and_a_copied_workdir_leaves_those_of_the_first_alone(
    tmp_path: Path, here: Command
) -> None:
    first = tmp_path / "first"
    first.mkdir()
    (first / "in.csv").write_text("text\n肉圓外皮軟Q，醬汁偏甜\n排隊很久，店員親切\n", encoding="utf-8")
    place = ("--workdir", first / "w", "--out", first / "out")
    assert here("build", first / "in.csv", *place, "--profile", "rules", "--set", "workers=1").code == 0
    before = contents(first / "out")
    shutil.copytree(first / "w", first / "copy")
    for words in (("resume",), ("run", "release", "--force"), ("release", "--licence", "MIT")):
        ran = here(*words, "--workdir", first / "copy")
        assert (
            f"{first / 'out'}: these are the releases of {first / 'w'}, of which {first / 'copy'} is a copy"
            in ran.error
        )
        assert "--out" in ran.error
    assert here("run", "seed", "--force", "--workdir", first / "copy").code == 0, "it writes no release"
    assert here("resume", "--workdir", first / "copy").code == 2, "nor does it become the owner by that"
    assert here("run", "release", "--workdir", first / "copy", "--out", first / "own").code == 0
    assert contents(first / "own") == before == contents(first / "out")
    assert here("resume", "--workdir", first / "copy").code == 0, "the folder that was named is remembered"
    shutil.copytree(first, tmp_path / "second")
    assert here("release", "--licence", "MIT", "--workdir", tmp_path / "second" / "w").code == 0
    assert contents(first / "out") == before and len(list((tmp_path / "second" / "out").iterdir())) == 2
    kept = builds.remembered(tmp_path / "second" / "w")
    assert kept.inputs == (tmp_path / "second" / "in.csv",)
    shutil.copytree(first / "w", tmp_path / "alone" / "w")
    kept = builds.remembered(tmp_path / "alone" / "w")
    assert (kept.inputs, kept.out) == ((first / "in.csv",), tmp_path / "alone" / "out")
    first.rename(tmp_path / "third")
    assert here("resume", "--workdir", tmp_path / "third" / "w").code == 0


# ---- releases


def test_a_release_that_was_removed_is_made_again_with_the_same_bytes(built: Built, again: Build) -> None:
    shutil.rmtree(again.out / "v0.1.0")
    assert ran(again) == ["release"]
    assert contents(again.out) == contents(built.out)


def test_a_version_that_exists_with_other_data_is_never_written_over(built: Built, again: Build) -> None:
    other = replace(again, resolved=options(built, release__script="simplified", release__version="0.1.0"))
    with pytest.raises(
        ReleaseError,
        match=r"v0\.1\.0: this version exists with other content; a release is immutable: set release\.version",
    ):
        pipeline.run(other)
    assert contents(again.out) == contents(built.out)
    fixed = replace(again, resolved=options(built, release__script="simplified", release__version="0.3.0"))
    assert ran(fixed) == ["release"]
    assert sorted(path.name for path in again.out.iterdir()) == ["v0.1.0", "v0.3.0"]
    assert json.loads((again.out / "v0.3.0" / "manifest.json").read_text(encoding="utf-8"))["parent"] == "0.1.0"


def test_a_release_in_another_script_differs_in_characters_only(built: Built, again: Build) -> None:
    pipeline.run(replace(again, resolved=options(built, release__script="simplified")))
    different = 0
    before, after = read_splits(built.release), read_splits(again.out / "v1.0.0")
    for split in before:
        for given, turned in zip(before[split], after[split], strict=True):
            different += given["text"] != turned["text"]
            assert len(given["text"]) == len(turned["text"])
            assert [t["opinion"]["spans"] for t in given["triplets"]] == [
                t["opinion"]["spans"] for t in turned["triplets"]
            ]
    assert different > 10


def test_a_damaged_release_is_named_and_not_passed_for_the_one_that_was_made(built: Built, again: Build) -> None:
    (again.out / "v0.1.0" / "data" / "test.jsonl").write_text("", encoding="utf-8")
    with pytest.raises(
        ReleaseError, match=r"v0\.1\.0: this release is damaged: data/test\.jsonl: its bytes have changed; remove it"
    ):
        pipeline.run(again, force=("release",))
    assert [path.name for path in again.out.iterdir()] == ["v0.1.0"]


# ---- what becomes of each row


def test_every_row_is_a_review_a_duplicate_or_rejected_with_a_reason(built: Built) -> None:
    counts = json.loads(ask(built.workdir, "SELECT counts FROM runs WHERE stage = 'ingest'")[0][0])
    assert counts["rows"] == 35 == counts["reviews"] + counts["duplicates"] + counts["rejected"]
    assert counts["reviews"] == counts["train"] + counts["valid"] + counts["test"]
    repeated = (
        "SELECT r.key, r.duplicate_kind, length(r.text) - length(f.text) FROM reviews r"
        " JOIN reviews f ON f.id = r.duplicate_of ORDER BY r.id"
    )
    assert ask(built.workdir, repeated) == [("x1", "exact", 0), ("x2", "normalised", 2)]
    rejected = ask(built.workdir, "SELECT item, reason FROM rejected WHERE stage = 'ingest' ORDER BY id")
    assert {("reviews.csv:33", "empty"), ("reviews.csv:34", "no-han")} <= set(rejected)
    assert len(rejected) == counts["rejected"]
    manifest = json.loads((built.release / "manifest.json").read_text(encoding="utf-8"))
    assert manifest["ingest"] == counts


def test_duplicates_are_annotated_never_and_released_never(built: Built) -> None:
    assert ask(
        built.workdir,
        "SELECT count(*) FROM annotations a JOIN reviews r ON r.id = a.review WHERE r.duplicate_of IS NOT NULL",
    ) == [(0,)]
    assert ask(built.workdir, "SELECT count(*) FROM annotations") == ask(
        built.workdir, "SELECT count(*) FROM reviews WHERE duplicate_of IS NULL"
    )
    ids = [row["id"] for rows in read_splits(built.release).values() for row in rows]
    assert len(ids) == len(set(ids))
    assert not {"x1", "x2"} & set(ids)


PARTS = ("aspect", "aspect_full", "opinion", "opinion_full")


def phrase(row: dict[str, Any], part: str) -> tuple[str, list[list[int]]]:
    """An element of a gold row, whose full forms may be left out."""
    given = part if part in row else part.removesuffix("_full")
    return row[given], row[f"{given}_spans"]


def test_the_reviews_of_gold_are_the_test_split_and_their_labels_are_the_people_s(built: Built) -> None:
    gold = {row["id"]: row["triplets"] for row in read_lines(built.gold)}
    splits = read_splits(built.release)
    test = {row["id"]: row for row in splits["test"]}
    assert test.keys() == gold.keys()
    for key, row in test.items():
        assert row["annotation"] == "gold"
        told = {
            (*(t[part]["text"] for part in PARTS), str([t[part]["spans"] for part in PARTS]), t["polarity"])
            for t in row["triplets"]
        }
        due = {
            (*(phrase(t, part)[0] for part in PARTS), str([phrase(t, part)[1] for part in PARTS]), t["polarity"])
            for t in gold[key]
        }
        assert told == due
    warm = next(t for t in test["x5"]["triplets"] if t["opinion"]["text"] == "親切")
    assert "rules" in warm["sources"]
    assert warm["opinion_full"]["text"] == "也很親切", "people overrule the rules, who say 很親切"
    assert not {row["id"] for row in splits["train"] + splits["valid"]} & gold.keys()


# ---- the table


def test_the_build_shows_its_stages_in_order_and_says_what_each_is_about() -> None:
    assert NAMES == ["ingest", "annotate", "seed", "discriminate", "self_train", "evaluate", "release"]
    assert all(stage.about and stage.writes for stage in STAGES)


def test_every_setting_belongs_to_a_stage_but_who_works_which_changes_nothing() -> None:
    keys = [key for key in flat(resolve().config) if key not in pipeline._FILES]  # of files the digests count
    assert [key for key in keys if not any(key.startswith(stage.settings) for stage in STAGES)] == [
        "workers",
        "engine",
        "scheduler",
    ]
