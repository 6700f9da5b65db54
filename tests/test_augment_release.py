"""`builder augment`: a release goes in, and a child release comes out that verify holds to its word."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from augmenting import release as tiny
from conftest import Command, contents
from forgeries import seal

from builder.augment import catalogue, run
from builder.augment import outputs as augment
from builder.augment.candidates import Changed, Edit, Mark, Rewrite, Sentence, seeded
from builder.augment.catalogue import Given, make_settings
from builder.augment.child_release import ReleaseOptions
from builder.core.errors import ConfigError
from builder.core.records import Polarity
from builder.language.lexicon.folders import Folders
from builder.release.augmentation_layers import faults
from builder.release.shelf import opened, rows
from builder.release.verify import verify

ASKED: list[str] = []
"""The sentences that the method of these tests was asked about."""
BROKEN: list[str] = []
"""The one before which it breaks, as if killed."""


@dataclass(frozen=True, slots=True)
class Marked:
    """Writes a number in front: always applicable, never equal."""

    name: str = "marked"
    signature: str = "marked 1"
    digest: str = "0123"

    def propose(self, sentences: Sequence[Sentence], copies: int, seed: int) -> Iterator[tuple[Rewrite, ...]]:
        for one in sentences:
            if one.id in BROKEN:
                raise KeyboardInterrupt
            ASKED.append(one.id)
            chance = seeded(seed, self.name, one.id)
            yield tuple(
                Rewrite(one.id, (Edit(0, 0, f"第{chance.randint(1, 10**6)}回"),), score=-1.5) for _ in range(copies)
            )


def load(made: object) -> Marked:
    return Marked()


@pytest.fixture(autouse=True)
def marked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(catalogue.METHODS, "marked", ("a number in front", "test_augment_release:load"))
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1800000000")
    ASKED.clear()
    BROKEN.clear()


@pytest.fixture(scope="session")
def parent(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny(tmp_path_factory.mktemp("parent"))


def plan(parent: Path, to: Path, **changed: Any) -> ReleaseOptions:
    made = ReleaseOptions(
        method="marked", release=parent, out=to / "out", workdir=to / "work", settings=make_settings({}), copies=2,
        candidates=2,
    )  # fmt: skip
    return replace(made, **changed)


def layer(release: Path, name: str = "marked") -> list[dict[str, Any]]:
    return [json.loads(line) for line in (release / "data" / f"train-{name}.jsonl").read_text("utf-8").splitlines()]


@pytest.fixture(scope="session")
def texts(parent: Path) -> dict[str, str]:
    rows = map(json.loads, (parent / "data" / "train.jsonl").read_text("utf-8").splitlines())
    return {row["id"]: row["text"] for row in rows}


@pytest.fixture(scope="session")
def child(parent: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(catalogue.METHODS, "marked", ("a number in front", "test_augment_release:load"))
        patch.setenv("SOURCE_DATE_EPOCH", "1800000000")
        return augment.augment_release(plan(parent, tmp_path_factory.mktemp("child"))).path


def test_the_child_is_sound_and_holds_all_of_its_parent(parent: Path, child: Path) -> None:
    assert verify(child) == []
    before, after = contents(parent), contents(child)
    same = {path: told for path, told in before.items() if path.split("/")[0] in ("data", "parquet", "paper")}
    assert same.items() <= after.items()


def test_the_manifest_says_where_it_comes_from(parent: Path, child: Path) -> None:
    told = opened(child).manifest
    about = told["augmentations"]["marked"]
    assert (told["name"], told["version"]) == ("tiny-augmented", "0.1.0")
    assert (told["parent_name"], told["parent"]) == ("tiny", "0.1.0")
    assert about["parent"] | {"digest": ""} == {"name": "tiny", "version": "0.1.0", "digest": ""}
    assert len(about["parent"]["digest"]) == 64
    chosen = ("method", "signature", "model_digest", "seed", "view", "split")
    assert [about[key] for key in chosen] == ["marked", "marked 1", "0123", 13, "triplets", "train"]
    assert about["rows"] == len(layer(child))
    assert about["measures"]["kept"] == about["rows"]
    assert about["measures"]["triplets still found"]["rules"]["found in what was kept"] > 0.5


def test_every_row_names_its_source_and_its_edits(texts: dict[str, str], child: Path) -> None:
    rows = layer(child)
    assert rows
    for row in rows:
        (edit,) = row["edits"]
        start, end = row["source_span"]
        assert edit["text"] + texts[row["source_id"]][start:end] == row["text"]
        assert (row["method"], row["annotation"], row["score"]) == ("marked", "marked", -1.5)
        assert all(one["sources"] == ["rules", "marked"] for one in row["triplets"])


def test_what_stands_in_valid_or_test_is_never_a_source(child: Path) -> None:
    assert not any(row["source_id"] == "a6" for row in layer(child))  # b2 of valid says the same without its full stop
    rejected = [json.loads(line) for line in (child / "rejected/train-marked.jsonl").read_text("utf-8").splitlines()]
    assert {"sentence": "a6:0-4", "reason": "held-out", "edits": []} in rejected
    assert any(one["reason"] == "no-label" for one in rejected)
    assert opened(child).manifest["augmentations"]["marked"]["rejected"] == {
        reason: sum(one["reason"] == reason for one in rejected)
        for reason in sorted({one["reason"] for one in rejected})
    }


def test_a_near_duplicate_of_a_held_out_text_is_rejected() -> None:
    held = ["週末排隊排很久，燒餅倒是香。"]
    assert augment._near(held, ["完全是另一句話，跟它無關", "週末排隊排很久啊，燒餅倒是香。"]) == {1}


def test_chunks_change_no_byte(parent: Path, child: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run, "CHUNK", 3)
    assert contents(augment.augment_release(plan(parent, tmp_path)).path) == contents(child)


def test_two_processes_find_the_synonyms_of_one(parent: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run, "CHUNK", 3)
    one = augment.augment_release(plan(parent, tmp_path / "1", method="synonym")).path
    other = augment.augment_release(plan(parent, tmp_path / "2", method="synonym", workers=2)).path
    assert contents(one) == contents(other)
    assert layer(one, "synonym")


def test_settings_travel_as_they_are(tmp_path: Path) -> None:
    own = Folders(None, (tmp_path / "words",), tmp_path / "rules", (), (tmp_path / "w" / "lexicon",))
    told = Sentence("r:0-4", "湯\ud800頭", ((0, 1), (1, 3)), (Mark(0, 1, "opinion", "NEG"), Mark(1, 3)), "POS", "en")
    given = Given(tmp_path, (told,), ("一", "二"), frozenset({"三", "四"}), "en", own)
    made = replace(make_settings({"synonym.rate": 0.3, "boostaug.backend": "eda", "gpt2.base": "x"}), given=given)
    assert run.loaded(run.dumped(made), tmp_path) == made


def test_a_stopped_run_is_resumed(parent: Path, child: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run, "CHUNK", 2)
    BROKEN.append("a4:0-16")
    with pytest.raises(KeyboardInterrupt):
        augment.augment_release(plan(parent, tmp_path))
    assert not (tmp_path / "out").exists()
    first = list(ASKED)
    assert len(first) >= 4
    BROKEN.clear()
    ASKED.clear()
    made = augment.augment_release(plan(parent, tmp_path))
    assert contents(made.path) == contents(child)
    kept = len(first) // 2 * 2
    assert not set(ASKED) & set(first[:kept]), "what was kept is not asked for again"
    ASKED.clear()
    assert augment.augment_release(plan(parent, tmp_path)).before
    assert ASKED == []


def test_other_settings_make_the_next_version_and_a_taken_one_is_refused(parent: Path, tmp_path: Path) -> None:
    first = augment.augment_release(plan(parent, tmp_path))
    second = augment.augment_release(plan(parent, tmp_path, seed=14))
    assert (first.path.name, second.path.name) == ("v0.1.0", "v0.2.0")
    assert layer(first.path) != layer(second.path)
    with pytest.raises(Exception, match="this version exists with other content"):
        augment.augment_release(plan(parent, tmp_path, seed=15, version="0.1.0"))


def test_a_child_can_be_augmented_again_and_keeps_its_layers(
    child: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = augment.augment_release(plan(child, tmp_path, layer="again", seed=3))
    read = list[str]()
    monkeypatch.setattr(
        "builder.release.verify.rows", lambda release, split: read.append(split) or rows(release, split)
    )
    assert verify(made.path) == []
    assert read == ["train"], "the texts of a split are read once for all its layers"
    told = opened(made.path)
    assert list(told.manifest["augmentations"]) == ["marked", "again"]
    assert told.layers == ["train-marked", "train-again"]
    assert layer(made.path) == layer(child)
    assert {row["source_id"] for row in layer(made.path, "again")} <= {f"a{n}" for n in range(1, 8)}
    with pytest.raises(ConfigError, match="'marked' is taken"):
        augment.augment_release(plan(child, tmp_path))


@pytest.mark.parametrize("view", ["ate", "aspect", "sentence"])
def test_other_views_make_sound_children(parent: Path, tmp_path: Path, view: str) -> None:
    made = augment.augment_release(plan(parent, tmp_path, view=view, keep="aspect"))
    assert verify(made.path) == []
    rows = layer(made.path)
    assert rows
    for row in rows:
        assert row["view"] == view
        assert row["triplets"] == []
        assert row["aspects"]
        assert (row["label"] is None) is (view == "ate")
    assert "\tB\n" in (made.path / "bio" / "train-marked.bio").read_text("utf-8")


def test_limit_draws_sentences_by_the_seed(parent: Path, tmp_path: Path) -> None:
    few = augment.augment_release(plan(parent, tmp_path, limit=2))
    assert len({row["source_id"] for row in layer(few.path)}) <= 2
    assert few.measures["sentences"] == 2


def test_a_child_loads_as_a_data_set_with_a_config_for_its_layer(child: Path, tmp_path: Path) -> None:
    datasets = pytest.importorskip("datasets")
    rows = layer(child)
    loaded = datasets.load_dataset(str(child), "marked", cache_dir=str(tmp_path))
    assert [one["text"] for one in loaded["train"]] == [one["text"] for one in rows]
    assert loaded["train"][0]["edits"] == rows[0]["edits"]
    plain = datasets.load_dataset(str(child), cache_dir=str(tmp_path))
    assert len(plain["train"]) == 7


def test_the_card_says_that_a_machine_wrote_it(child: Path) -> None:
    card = (child / "README.md").read_text("utf-8")
    assert "## Augmentation: marked" in card
    assert "Written by a machine, not by people" in card
    assert "- Parent: tiny 0.1.0" in card
    assert "Kneser-Ney" in card


def test_the_metadata_is_valid_croissant(child: Path) -> None:
    croissant = pytest.importorskip("mlcroissant")
    told = croissant.Dataset(jsonld=str(child / "metadata.json"))
    records = list(told.records("train-marked"))
    assert len(records) == len(layer(child))
    assert records[0]["train-marked/source_id"].decode() == layer(child)[0]["source_id"]


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({"text": "別的"}, "its edits give"),
        ({"source_id": "zz"}, "its source 'zz' is not in the split"),
        ({"annotation": "gold"}, "annotation 'gold' in the layer marked"),
        ({"edits": [{"start": 9, "end": 3, "text": ""}]}, "its edits cannot be applied"),
        ({"method": 3}, "method = 3"),
        ({"aspects": [{"text": "湯", "spans": [[0, 1]], "polarity": None}]}, "aspect '湯' is not at"),
    ],
)
def test_a_row_is_held_to_its_lineage(child: Path, texts: dict[str, str], change: dict[str, Any], fault: str) -> None:
    row = layer(child)[0]
    assert list(faults(row, "marked", texts)) == []
    told = list(faults(row | change, "marked", texts))
    assert told
    assert fault in told[0]


def resealed(child: Path, to: Path, row: dict[str, Any], **about: object) -> Path:
    """A copy of the child whose first layer row reads otherwise, checksums set right: wrong when it was written."""
    made = to / "v0.1.0"
    shutil.copytree(child, made)
    path = made / "data" / "train-marked.jsonl"
    rows = layer(made)
    path.write_text("".join(json.dumps(one, ensure_ascii=False) + "\n" for one in [rows[0] | row, *rows[1:]]), "utf-8")
    told = json.loads((made / "manifest.json").read_text("utf-8"))
    told["augmentations"] = told["augmentations"] | about if "marked" not in about else about["marked"]
    (made / "manifest.json").write_text(json.dumps(told), encoding="utf-8")
    seal(made)
    return made


@pytest.mark.parametrize(
    ("row", "about", "told"),
    [
        ({"text": "別的"}, {}, "data/train-marked.jsonl:1: its edits give"),
        ({"language": 3}, {}, "data/train-marked.jsonl:1: row has language = 3"),
        ({"score": 2.5}, {}, "parquet/train-marked.parquet: holds other rows than data/train-marked.jsonl"),
        (
            {},
            {"marked": ["x"]},
            "manifest.json: not a manifest: `augmentations` is a list of 1, where an object belongs",
        ),
        ({}, {"gone": {"split": "train", "rows": 1}}, "parquet/train-gone.parquet: cannot be read"),
    ],
)
def test_verify_finds_a_layer_that_was_wrong_when_it_was_written(
    child: Path, tmp_path: Path, row: dict[str, Any], about: dict[str, object], told: str
) -> None:
    assert any(fault.startswith(told) for fault in verify(resealed(child, tmp_path, row, **about)))


def test_verify_finds_a_layer_row_that_leaks_a_held_out_text(child: Path, tmp_path: Path) -> None:
    leak = "滷肉飯油膩，湯也冷掉了！"
    edits = [{"start": 0, "end": 25, "text": leak}]
    row = {"text": leak, "edits": edits, "source_span": [0, 25], "source_id": "a1", "triplets": []}
    found = verify(resealed(child, tmp_path, row))
    assert any("is a near-duplicate of data/t" in fault for fault in found), found


def test_export_writes_a_layer_where_it_is_named(child: Path, tmp_path: Path, here: Command) -> None:
    ran = here("export", child, "--format", "aste-v2", "--split", "train-marked", "--output", tmp_path)
    assert ran.code == 0, ran.err
    assert len((tmp_path / "train-marked_triplets.txt").read_text("utf-8").splitlines()) == len(layer(child))


def test_the_command_makes_a_child_and_verify_finds_it_sound(parent: Path, tmp_path: Path, here: Command) -> None:
    ran = here("augment", "synonym", "--release", parent, "--out", tmp_path / "out", "--workdir", tmp_path / "work")
    assert ran.code == 0, ran.err
    assert ran.out.splitlines()[-1].startswith(f"{tmp_path}/out/v0.1.0: ")
    assert "BLEU against the source, score: " in ran.out
    assert "rejected: " in ran.out
    checked = here("verify", tmp_path / "out" / "v0.1.0")
    assert checked.out.strip().endswith("sound")


def test_a_release_that_fails_verify_is_refused(parent: Path, tmp_path: Path, here: Command) -> None:
    broken = tmp_path / "v0.1.0"
    shutil.copytree(parent, broken)
    with (broken / "data" / "train.jsonl").open("a", encoding="utf-8") as file:
        file.write("{}\n")
    assert "the release is not sound: data/train.jsonl: " in here("augment", "synonym", "--release", broken).error


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["swap"], "unknown augmentation method 'swap'; known: synonym"),
        (["synonym"], "name either a release"),
        (["synonym", "--release", "R", "--keep", "aspect"], "triplets need their opinions"),
        (["synonym", "--release", "R", "--layer", "gold"], "'gold' is taken"),
        (["synonym", "--release", "R", "--layer", "A/B"], "'A/B' is no name for a layer"),
        (["synonym", "--release", "R", "--set", "synonym.rat=1"], "did you mean 'synonym.rate'?"),
        (["synonym", "--release", "R", "--set", "synonym.rate=0.0"], "synonym.rate = 0.0 is not a share above 0"),
        (["synonym", "--release", "R", "--set", "given.language=en"], "cannot be set"),
        (["word-embs"], "unknown augmentation method 'word-embs'; take `bert` with `bert.share=0.1`"),
        (["bert", "--release", "R", "--set", "word_embs.rate=0.1"], "unknown key 'word_embs.rate'; take `bert` with"),
        (["cbert", "--release", "R", "--set", "cbert.replacement=best"], "leave it out: `temperature=0` takes"),
        (["gpt2", "--release", "R", "--set", "gpt2.threads=4"], "leave it out: `--set threads=4` is for all"),
        (["synonym", "--release", "R", "--set", "synonym.thesaurus=missing.txt"], "missing.txt: cannot be read"),
        (["synonym", "--release", "nowhere"], "no manifest.json here"),
    ],
)
def test_bad_requests_are_one_line(parent: Path, tmp_path: Path, here: Command, words: list[str], told: str) -> None:
    given = [str(parent) if word == "R" else word for word in words]
    assert told in here("augment", *given, "--workdir", tmp_path, "--out", tmp_path / "out").error


def test_without_a_method_the_methods_are_listed(here: Command) -> None:
    ran = here("augment")
    assert ran.code == 0
    assert ran.out.splitlines()[0].startswith("synonym ")


@dataclass(frozen=True, slots=True)
class Turning:
    """Turns each opinion round, once with a word of the other polarity and once with one that says nothing."""

    name: str = "turning"
    signature: str = "turning 1"

    def propose(self, sentences: Sequence[Sentence], copies: int, seed: int) -> Iterator[tuple[Rewrite, ...]]:
        for one in sentences:
            told = next(mark for mark in one.marks if mark.kind == "opinion")
            polarity: Polarity = "NEG" if told.polarity == "POS" else "POS"
            words = {"POS": "很棒", "NEG": "很糟"}[polarity], "第一回"
            place = told.start, told.end
            changed = {word: (Changed(*place, word, polarity, 5.0),) for word in words}
            yield tuple(Rewrite(one.id, (Edit(*place, word),), changed=changed[word]) for word in words)


def test_a_flip_that_no_judge_finds_is_rejected(parent: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(catalogue.METHODS, "turning", ("the other polarity", "test_augment_release:turning"))
    made = augment.augment_release(plan(parent, tmp_path, method="turning"))
    rows = layer(made.path, "turning")
    assert made.reasons["flip-unconfirmed"] > 0
    assert rows
    assert not any("第一回" in row["text"] for row in rows)
    assert all(
        {"很棒": "POS", "很糟": "NEG"}.get(one["opinion_full"]["text"], one["polarity"]) == one["polarity"]
        for row in rows
        for one in row["triplets"]
    )
    assert verify(made.path) == []


def test_without_constraints_nobody_asks_whether_labels_hold_and_the_card_says_so(
    parent: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(catalogue.METHODS, "turning", ("the other polarity", "test_augment_release:turning"))
    free = make_settings({"constraints": "none"})
    made = augment.augment_release(plan(parent, tmp_path, method="turning", settings=free))
    assert any("第一回" in row["text"] for row in layer(made.path, "turning"))
    assert not {"flip-unconfirmed", "label-lost"} & set(made.reasons) and verify(made.path) == []
    assert opened(made.path).manifest["augmentations"]["turning"]["config"]["constraints"] == "none"
    assert "nobody asked whether they still hold" in (made.path / "README.md").read_text("utf-8")


def turning(made: object) -> Turning:
    return Turning()
