"""A release that a forger sealed again, checksums and all, does not verify, and is never a traceback."""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from conftest import LAYOUTS, PUBLISHED_SAMPLE, Command
from forgeries import forge, seal
from test_export import facts, files_of, release, reviews

from builder.api.building import Release
from builder.core.errors import BuilderError
from builder.pages.serve.app import of_release
from builder.release.diff import between
from builder.release.shelf import opened, rows
from builder.release.verify import _row, naming_faults, verify


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = release(tmp_path_factory.mktemp("sound") / "v1.2.0", files_of(reviews(), facts(reviews())))
    assert verify(folder) == []
    return folder


def put(path: str, *keys: str | int) -> Callable[[Path, Any], None]:
    """What sets one value of a JSON file of a release, or of the first line of one."""

    def change(folder: Path, value: Any) -> None:
        file = folder / path
        text = file.read_text(encoding="utf-8")
        lines = text.splitlines() if path.endswith("l") else [text]
        body = json.loads(lines[0])
        place = body
        for key in keys[:-1]:
            place = place[key]
        place[keys[-1]] = value
        file.write_text("\n".join([json.dumps(body), *lines[1:]]) + "\n", encoding="utf-8")

    return change


FORGED = (
    (put("manifest.json", "splits", "train"), 0, "`splits.train` is 0, where an object belongs"),
    (put("manifest.json", "version"), [], "`version` is a list of 0, where MAJOR.MINOR.PATCH belongs"),
    (put("manifest.json", "version"), "1.2", "`version` is '1.2', where MAJOR.MINOR.PATCH belongs"),
    (put("manifest.json", "format"), "3", "`format` is '3', where a count belongs"),
    (put("manifest.json", "format"), True, "`format` is True, where a count belongs"),
    (put("manifest.json", "splits", "train", "reviews"), 2.0, "`splits.train.reviews` is 2.0, where count belongs"),
    (put("manifest.json", "splits", "train", "reviews"), 10**30, "a number of many digits, where count belongs"),
    (put("manifest.json", "augmentations"), {"x": 1}, "`augmentations.x` is 1, where an object belongs"),
    (put("manifest.json", "augmentations"), {"../x": {"split": "train", "rows": 1}}, "a layer is called '../x'"),
    (put("manifest.json", "metrics", 0, "value"), float("nan"), "`metrics[0].value` is nan, where number belongs"),
    (put("manifest.json", "name"), {}, "`name` is an object of 0, where text belongs"),
    (put("metadata.json", "distribution"), 0, "metadata.json: `distribution` is 0, where a list belongs"),
    (put("metadata.json", "recordSet", 0, "field"), {}, "`recordSet[0].field` is an object of 0, where a list"),
    (put("metadata.json", "version"), "9.9.9", "`version` is '9.9.9', manifest.json says '1.2.0'"),
    (put("metadata.json", "distribution", 0, "sha256"), "0" * 64, "the checksum of 'parquet/train-silver.parquet' is"),
    (put("data/train.jsonl", "triplets"), {}, "row has triplets = {}"),
    (put("data/train.jsonl", "rating"), 10**400, "rating"),
    (put("data/train.jsonl", "rating"), float("inf"), "rating"),
    (put("data/train.jsonl", "triplets", 0, "aspect", "spans"), [[0, 10**30]], "spans"),
    (put("data/train.jsonl", "source"), 3, "row has source = 3"),
    (put("data/test.jsonl", "unverified_negative"), False, "is False, but the review is silver with 0 triplets"),
)


@pytest.mark.parametrize(("change", "value", "fault"), FORGED)
def test_a_value_of_the_wrong_type_under_right_checksums_is_named(
    change: Callable[[Path, Any], None], value: Any, fault: str, sound: Path, tmp_path: Path
) -> None:
    forged = shutil.copytree(sound, tmp_path / "v1.2.0")
    change(forged, value)
    seal(forged)
    assert fault in "\n".join(verify(forged))


@pytest.mark.parametrize("name", ["manifest.json", "metadata.json", "data/train.jsonl"])
@pytest.mark.parametrize("content", [b"[" * 100_000, b'{"a":' * 100_000, b"", b"null", b"\xff", b"9" * 10_000])
def test_a_file_that_is_nothing_of_a_release_is_named(name: str, content: bytes, sound: Path, tmp_path: Path) -> None:
    forged = shutil.copytree(sound, tmp_path / "v1.2.0")
    (forged / name).write_bytes(content)
    seal(forged)
    assert any(Path(name).stem in fault for fault in verify(forged))


def test_a_file_that_the_manifest_does_not_name_is_no_part_of_the_release(sound: Path, tmp_path: Path) -> None:
    forged = shutil.copytree(sound, tmp_path / "v1.2.0")
    shutil.copy(sound / "README.md", forged / "parquet" / "more.txt")
    body = json.loads((forged / "manifest.json").read_text(encoding="utf-8"))
    assert (forged / "README.md").is_file() and body["files"].pop("README.md")
    (forged / "manifest.json").write_text(json.dumps(body), encoding="utf-8")
    seal(forged)
    unnamed = [f"{name}: not named in manifest.json" for name in ("README.md", "parquet/more.txt")]
    assert sorted(set(verify(forged))) == unnamed


def test_a_parquet_file_of_no_split_should_not_be_there(sound: Path, tmp_path: Path) -> None:
    forged = shutil.copytree(sound, tmp_path / "v1.2.0")
    shutil.copy(forged / "parquet" / "train-silver.parquet", forged / "parquet" / "more-silver.parquet")
    body = json.loads((forged / "manifest.json").read_text(encoding="utf-8"))
    body["files"]["parquet/more-silver.parquet"] = body["files"]["parquet/train-silver.parquet"]
    (forged / "manifest.json").write_text(json.dumps(body), encoding="utf-8")
    seal(forged)
    assert verify(forged) == ["parquet/more-silver.parquet: should not be there"]


def test_a_row_of_a_layer_has_the_names_of_its_layout() -> None:
    lineage = {"view": "triplets", "method": "marked", "source_span": [0, 4], "aspects": [], "label": None}
    shared = {"id": "a~1", "text": "1湯頭鮮甜", "language": "zh-Hant", "rating": None, "annotation": "marked"}
    old = (
        shared | lineage | {"triplets": [], "source": "a", "edits": [{"start": 0, "end": 0, "text": "1"}], "score": -1}
    )
    new = old | {"source": None, "source_id": "a"}
    for row, layout in ((old, 2), (new, 3)):
        assert _row(json.dumps(row), "marked", {"a": "湯頭鮮甜"}, layout) == row
    (fault,) = _row(json.dumps(old), "marked", {"a": "湯頭鮮甜"}, 3)
    assert fault.endswith("this one lacks source_id")
    assert _row("[1]", "marked", {}, 3) == _row("[1]", "marked", {}, 2)
    assert str(_row("[" * 100_000, "marked", {}, 3)).startswith('["no row of a layer: ')


def test_a_hundred_random_forgeries_are_faults_and_never_a_traceback(sound: Path, tmp_path: Path) -> None:
    """A change of free text may be left; whoever reads what verifies meets no surprise either."""
    draw = random.Random(0)
    for number in range(100):
        forged = shutil.copytree(sound, tmp_path / str(number) / "v1.2.0")
        done = forge(forged, draw)
        faults = verify(forged)
        assert all("\n" not in fault and len(fault) < 10_000 for fault in faults), done
        try:
            dataset = Release(forged)
            read = [row["id"] for split in dataset.splits for row in rows(forged, split)]
        except BuilderError:
            assert faults, done
        else:
            assert faults or len(read) == 4, done
        shutil.rmtree(forged)


@pytest.mark.parametrize(
    "release", [LAYOUTS / "v0.1.0", LAYOUTS / "v0.2.0", PUBLISHED_SAMPLE], ids=lambda release: release.name
)
def test_releases_of_every_layout_are_forged_without_a_traceback(release: Path, tmp_path: Path) -> None:
    draw = random.Random(release.name)
    for number in range(2):
        forged = shutil.copytree(release, tmp_path / str(number))
        seal(forged)
        forge(forged, draw)
        verify(forged)


def test_the_command_shows_a_forged_text_as_its_codes(sound: Path, tmp_path: Path, here: Command) -> None:
    forged = shutil.copytree(sound, tmp_path / "v1.2.0")
    put("data/train.jsonl", "annotation")(forged, "\x1b[2J\u202e")
    seal(forged)
    ran = here("verify", forged)
    assert ran.code == 1 and "\x1b" not in ran.out and "\u202e" not in ran.out


def test_a_release_whose_manifest_is_forged_is_not_opened(sound: Path, tmp_path: Path) -> None:
    forged = shutil.copytree(sound, tmp_path / "v1.2.0")
    (forged / "manifest.json").write_bytes(b"[" * 100_000)
    with pytest.raises(BuilderError, match="not a manifest: nested too deeply"):
        opened(forged)


@pytest.mark.parametrize("name", ["aste-v2", "label-studio", "csv"])
def test_malformed_rows_are_refused_in_one_line(sound: Path, tmp_path: Path, here: Command, name: str) -> None:
    forged = tmp_path / "v1.2.0"
    shutil.copytree(sound, forged)
    put("data/train.jsonl", "triplets", 0, "opinion", "spans")(forged, [[3]])
    seal(forged)
    ran = here("export", forged, "--format", name, "--output", tmp_path / "out")
    assert ran.code == 2
    assert ran.err.count("\n") == 1 and "`builder verify` names the faults" in ran.err


def read_for_bench(release: Path) -> object:
    from builder.augment.bench.labelled_texts import load

    return load(release, "aste")


READERS: dict[str, Callable[[Path, Path, Path], object]] = {
    "diff": lambda forged, sound, folder: (between(sound, forged), between(forged, sound)),
    "serve": lambda forged, sound, folder: of_release(forged, folder),
    "Release": lambda forged, sound, folder: list(Release(forged).reviews()),
    "bench": lambda forged, sound, folder: read_for_bench(forged),
}


@pytest.mark.parametrize("reader", [*list(READERS)[:-1], pytest.param("bench", marks=pytest.mark.augment)])
def test_a_release_with_malformed_rows_is_one_line_for_whoever_reads_it(
    reader: str, sound: Path, tmp_path: Path
) -> None:
    """Of a forged row nothing has the type that it should have, or is missing."""
    refused = 0
    for number, (change, value) in enumerate(
        (
            (put("data/train.jsonl", "triplets", 0), [1]),
            (put("data/train.jsonl", "triplets", 0, "aspect"), 5),
            (put("data/train.jsonl", "triplets", 0, "opinion"), {"spans": [[3]]}),
            (put("data/train.jsonl", "text"), None),
            (put("data/train.jsonl", "rating"), {}),
            (put("data/train.jsonl", "triplets"), 7),
        )
    ):
        forged, folder = tmp_path / str(number) / "v1.2.0", tmp_path / f"{number}.pages"
        shutil.copytree(sound, forged)
        folder.mkdir()
        change(forged, value)
        seal(forged)
        try:
            READERS[reader](forged, sound, folder)
        except BuilderError as error:
            refused += 1
            assert len(str(error).splitlines()) == 1
    assert refused >= 4, "of some changes a reader sees nothing"


def test_what_goes_wrong_about_a_sound_release_is_not_blamed_on_it(sound: Path, tmp_path: Path) -> None:
    with pytest.raises(KeyError), naming_faults(sound):
        raise KeyError("a defect of ours")
    with pytest.raises(FileNotFoundError), naming_faults(tmp_path):
        (tmp_path / "nothing").read_text()
