"""`builder versions publish --model`: the folder of a model, what is sent of it, and how it is loaded again."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from conftest import Command
from test_paper_stage import LINES, TAUGHT, build_in
from test_publish import REPOSITORY, SECRET, Hub, contents, server
from tiny_mt5 import make_base

from builder import Extractor
from builder.core.errors import ModelError
from builder.pipeline import pipeline
from builder.pipeline.builds import Build
from builder.pipeline.model_folders import make_model_folder
from builder.store import db, runs

__all__ = ["server"]
pytest.importorskip("huggingface_hub", reason="the extra publish is not installed")


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Build:
    """A released build of the paper's profile, with one model D0."""
    folder = tmp_path_factory.mktemp("published")
    settings = TAUGHT | {
        "self_train.iterations": 0, "release.train_source": "D", "release.licence": "CC-BY-4.0",
        "paper.base": str(make_base(folder / "base", LINES)), "rules.convention": "paper",
    }  # fmt: skip
    build = build_in(folder, settings)
    pipeline.run(build)
    return build


def test_a_model_is_sent_with_all_that_loads_it_and_answers_as_before(
    built: Build, here: Command, server: Hub, tmp_path: Path
) -> None:
    server.kind = "model"
    words = ("publish", "--model", "D", "--workdir", built.workdir, "--repo", REPOSITORY)
    planned = here(*words)
    assert planned.code == 0 and server.seen == [], planned.err
    assert "'Model v0.1.0-D0' with the tag v0.1.0-D0" in planned.out
    sent = here(*words, "--yes")
    assert sent.code == 0, sent.err
    assert SECRET not in sent.out + sent.err
    assert server.tags == {"v0.1.0-D0": server.head}
    folder = tmp_path / "fetched"
    for name, content in server.commits[server.head].items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    assert {"README.md", "builder-model.json", "config.json", "model.safetensors", "paper.json", "tokenizer.json"} <= {
        path.name for path in folder.iterdir()
    }
    assert "nothing to send, tag v0.1.0-D0 was there" in here(*words, "--yes").out
    _check_answers(built, folder, here, tmp_path)


def _check_answers(built: Build, folder: Path, here: Command, tmp_path: Path) -> None:
    """The fetched folder answers as the model of the working directory, and transformers loads it."""
    from transformers import AutoModelForSeq2SeqLM, AutoTokenizer

    (tmp_path / "texts.txt").write_text("\n".join(LINES[:6]) + "\n", "utf-8")
    ways = {"before": ("--source", "D0", "--workdir", built.workdir), "after": ("--source", f"{folder}/")}
    for name, way in ways.items():
        ran = here("extract", "--input", tmp_path / "texts.txt", "--output", tmp_path / f"{name}.jsonl", *way)
        assert ran.code == 0, ran.err
    assert (tmp_path / "before.jsonl").read_bytes() == (tmp_path / "after.jsonl").read_bytes()
    by_library = Extractor.from_model(folder)
    assert by_library.source == "D0"
    rows = [json.loads(line) for line in (tmp_path / "after.jsonl").read_text("utf-8").splitlines()]
    assert any(row["triplets"] for row in rows)
    assert [len(row["triplets"]) for row in rows] == [len(by_library(text)) for text in LINES[:6]]
    assert not list(folder.glob("answers-*")), "texts are not kept in a folder that was fetched"
    tokenizer, network = AutoTokenizer.from_pretrained(folder), AutoModelForSeq2SeqLM.from_pretrained(folder)
    assert network.config.model_type == "mt5" and len(tokenizer) <= network.config.vocab_size


def test_the_card_names_release_and_scores_and_nothing_of_reviews_or_this_machine_is_sent(built: Build) -> None:
    made = make_model_folder(built.workdir, "D0")
    with db.reading(built.workdir) as connection:
        release, scores = runs.last_release(connection), runs.metrics(connection)
    assert release is not None
    card = (made.path / "README.md").read_text("utf-8")
    assert f"v{release[0]}, digest of its data `{release[1]}`" in card and "license: cc-by-4.0" in card
    own = [score for score in scores if score[0] == "D0 against rules"]
    assert own and all(f"| rules | {split} | {metric} | {value:.1f} |" in card for _, split, metric, value, *_ in own)
    assert "how far it repeats the rules" in card
    facts = json.loads((made.path / "builder-model.json").read_text("utf-8"))
    assert facts["release"]["digest"] == release[1] and facts["convention"] == "paper"
    assert list((built.workdir / "models" / "D0").glob("answers-*.jsonl")), "there is something to leave out"
    texts = [path.read_bytes() for path in made.path.iterdir() if path.suffix in (".json", ".md", ".jsonl")]
    assert not any(str(built.workdir.parent).encode() in text for text in texts)
    assert not any(line.encode() in text for line in LINES for text in texts)
    again = contents(made.path)
    assert contents(make_model_folder(built.workdir, "D0").path) == again, "the same bytes every time"


def test_a_link_in_the_place_of_the_folder_is_replaced_and_what_it_leads_to_stays(built: Build, tmp_path: Path) -> None:
    folder = make_model_folder(built.workdir, "D0").path
    before = contents(folder)
    for make in (lambda: folder.symlink_to(tmp_path), folder.touch):
        shutil.rmtree(folder)
        (tmp_path / "mine.txt").write_text("kept", encoding="utf-8")
        make()
        assert contents(make_model_folder(built.workdir, "D0").path) == before
        assert not folder.is_symlink()
        assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


def test_what_cannot_be_published_or_loaded_is_one_line(built: Build, here: Command, tmp_path: Path) -> None:
    def publish(*words: object) -> str:
        return here("publish", "--workdir", built.workdir, *words).err

    assert "name either the directory of a release, or a model" in publish("--repo", REPOSITORY)
    assert "no model 'C' in" in publish("--model", "C", "--repo", REPOSITORY)
    assert "variant E is rules and the shipped model together" in publish("--model", "E", "--repo", REPOSITORY)
    assert "is no name of a repository" in publish("--model", "D", "--repo", "alone")
    damaged = shutil.copytree(make_model_folder(built.workdir, "D").path, tmp_path / "damaged")
    (damaged / "paper.json").write_text((damaged / "paper.json").read_text().replace('"given": true', '"given": false'))
    assert "digest is" in here("extract", "--source", f"{damaged}/", "湯好").error
    (damaged / "builder-model.json").write_text('{"format": 1, "name": "D0", "convention": "odd", "backend": "x"}')
    with pytest.raises(Exception, match="convention") as refused:
        Extractor.from_model(damaged)
    assert "builder-model.json" in str(refused.value)
    (damaged / "builder-model.json").write_text("{")
    with pytest.raises(ModelError, match=r"builder-model\.json: this file does not describe a model: it needs format"):
        Extractor.from_model(damaged)
    (damaged / "builder-model.json").unlink()
    named = "name a folder that `builder versions publish --model` made"
    for folder, what in (
        (damaged, "this folder has no model to read with: there is no builder-model.json"),
        (tmp_path / "none", "no such folder"),
    ):
        with pytest.raises(ModelError) as refused:
            Extractor.from_model(folder)
        assert str(refused.value) == f"{folder}: {what}; {named}"


def test_a_model_of_a_build_without_a_release_waits_for_it(built: Build, here: Command, tmp_path: Path) -> None:
    workdir = Path(shutil.copytree(built.workdir, tmp_path / "w"))
    with db.writing(workdir) as connection:
        connection.execute("DELETE FROM releases")
        connection.commit()
    error = here("publish", "--model", "D", "--workdir", workdir, "--repo", REPOSITORY).error
    assert "nothing was released from there; run `builder versions release` first" in error
