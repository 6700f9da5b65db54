"""A release is what it says: numbered by what changed, readable by other libraries, and no damage goes unseen."""

from __future__ import annotations

import hashlib
import io
import json
import random
import shutil
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from conftest import LAYOUTS, ROOT, Command, ask, read_lines
from test_export import facts, files_of, release, review, triplet, whole
from test_pipeline import read_splits

from builder.core.config import resolve
from builder.core.errors import ConfigError, ReleaseError
from builder.language.lexicon.resources import load_lexicon
from builder.language.lexicon.rules import load_rules
from builder.pipeline import pipeline
from builder.pipeline.builds import Build
from builder.pipeline.context import Context
from builder.pipeline.stages import release as stage
from builder.release import gates, package, parquet_files
from builder.release.card import HUB_SPLITS
from builder.release.export.native_rows import ReviewRow
from builder.release.manifest import checksums, sha256
from builder.release.verify import verify
from builder.reviews.near_duplicates import links
from builder.store import db, released, runs, triplets

FOODS = ["牛肉麵", "湯頭", "滷肉飯", "珍珠奶茶", "小菜", "牛排", "炸雞", "拉麵", "甜點", "水餃"]
SAID = ["很好吃", "太鹹了", "不會太油", "很新鮮", "非常難吃", "又香又濃", "偏貴", "份量很大"]
SERVED = ["服務人員很親切", "店員態度很差", "環境乾淨舒適", "上菜速度很慢", "座位有點擠", "老闆熱情"]

SMALL = {"workers": 1, "threads": 1, "ingest.test_share": 0.2, "ingest.valid_share": 0.2}


def text(n: int) -> str:
    """Reviews that differ from each other in most of their words."""
    rng = random.Random(n)
    first, second = rng.sample(FOODS, 2)
    judged = f"{first}{rng.choice(SAID)}，{second}{rng.choice(SAID)}，{rng.choice(SERVED)}"
    visit = f"第{n * 7919 % 1000}次{rng.choice('來訪會推')}{chr(0x4E00 + n * 37)}{chr(0x6E00 + n * 53)}"
    return f"{judged}，{visit}"


def workdir(folder: Path, texts: dict[str, str]) -> Path:
    """What `seeded` makes of these texts."""
    folder.mkdir()
    return seeded(folder, write_reviews(folder, texts))


def write_reviews(folder: Path, texts: dict[str, str]) -> Path:
    """Reviews of one place."""
    rows = [f"{key},{said},鼎香園-台北信義店\n" for key, said in texts.items()]
    (folder / "in.csv").write_text("id,text,place\n" + "".join(rows), encoding="utf-8")
    return folder / "in.csv"


def seeded(folder: Path, reviews: Path) -> Path:
    """A build up to the rules' triplets, which stand for what self-training would have left: no model is needed."""
    chosen = resolve(options=SMALL)
    pipeline.run(Build(folder / "w", folder / "out", (reviews,), chosen), until="seed")
    with db.writing(folder / "w") as connection, db.atomic(connection):
        source = triplets.source_id(connection, "rules")
        assert source is not None
        ids = [one.id for split in ("train", "valid", "test") for one in triplets.proposed(connection, source, split)]
        triplets.set_training(connection, "C", 0, ids)
        runs.finish_round(connection, runs.Round("C", 0, "key", "none", 0, len(ids), 0, 0, 0, 0.0))
    return folder / "w"


MASKED = {
    "m1": "鼎香園大安店的湯頭很好喝，電話0912345678打不通",
    "m2": "店員很親切，訂位請加 line id: abc_123 或打02-2345-6789",
    "m3": "服務的林小姐很親切，湯頭也好喝",
}


@pytest.fixture(scope="module")
def few(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return workdir(tmp_path_factory.mktemp("few") / "x", {f"k{n}": text(n) for n in range(60)} | MASKED)


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return workdir(tmp_path_factory.mktemp("many") / "x", {f"k{n}": text(n) for n in range(70)} | MASKED)


def make(source: Path, out: Path, **settings: object) -> Path:
    """The release stage alone."""
    out.mkdir(exist_ok=True)
    told = {"release.name": "restaurant-aste", "release.licence": "CC-BY-4.0", "release.min_confidence": 0.4}
    given = told | {key.replace("__", "."): value for key, value in settings.items()}
    chosen = resolve(options=SMALL | {"self_train.variants": ("C",)} | given)
    with db.writing(source) as connection:
        made = stage.run(Context(connection, chosen.config, source, (), out, load_lexicon(), load_rules(), "key"))
    return Path(str(made["path"]))


def told(path: Path) -> dict[str, Any]:
    body: dict[str, Any] = json.loads((path / "manifest.json").read_text(encoding="utf-8"))
    return body


# ---- the version follows from what changed


def test_the_date_is_the_one_set_or_that_of_the_environment(
    few: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "86400")
    assert told(make(few, tmp_path / "a"))["date"] == "1970-01-02"
    monkeypatch.delenv("SOURCE_DATE_EPOCH")
    assert make(few, tmp_path / "a").name == "v0.1.0", "found again with the date that it has"
    assert told(make(few, tmp_path / "b", release__date="2025-05-05"))["date"] == "2025-05-05"


def test_repackaged_is_a_patch_and_more_reviews_a_minor_version_and_fewer_a_major_one(
    few: Path, many: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    make(few, out)
    patch = make(few, out, release__licence="CC0-1.0")
    assert (patch.name, told(patch)["change"], told(patch)["parent"]) == ("v0.1.1", "patch", "0.1.0")
    minor = make(many, out)
    assert (minor.name, told(minor)["change"], told(minor)["parent"]) == ("v0.2.0", "minor", "0.1.1")
    before, after = (
        {row["id"]: split for split, rows in read_splits(one).items() for row in rows} for one in (patch, minor)
    )
    assert {key: after[key] for key in before} == before, "nobody moved"
    assert len(after) > len(before)
    more = {"release__url": "https://example.org/x", "release__drop_reason": "the second file is taken back"}
    major = make(few, out, release__licence="CC0-1.0", **more)
    assert (major.name, told(major)["change"]) == ("v1.0.0", "major")
    changes = (major / "CHANGES.md").read_text(encoding="utf-8")
    assert [line for line in changes.splitlines() if line.startswith("## ")] == [
        f"## 1.0.0 ({told(major)['date']}): a major change of "
        "0.2.0", f"## 0.2.0 ({told(minor)['date']}): a minor change of 0.1.1",
        f"## 0.1.1 ({told(patch)['date']}): a patch change of 0.1.0", f"## 0.1.0 ({told(patch)['date']})",
    ]  # fmt: skip
    assert f"| reviews removed | {len(after) - len(before)} | major |" in changes
    for one in (patch, minor, major):
        assert verify(one) == []


def test_a_version_that_is_asked_for_twice_is_kept(few: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for version in ("1.0.0", ""):
        made = make(few, tmp_path, release__version=version or "1.0.0", release__date="2025-05-05")
        before = made.stat().st_mtime_ns, (made / "SHA256SUMS").read_bytes()
        monkeypatch.setattr(package, "verify", looked := Looked())
        assert make(few, tmp_path, release__version=version) == made
        assert looked.at == [made], "verified once"
        assert before == (made.stat().st_mtime_ns, (made / "SHA256SUMS").read_bytes())
    assert [one.name for one in tmp_path.iterdir()] == ["v1.0.0"]
    with pytest.raises(ReleaseError, match="this version exists with other content"):
        make(few, tmp_path, release__version="1.0.0", release__licence="MIT")


class Looked:
    """`verify`, which remembers what it was asked about."""

    def __init__(self) -> None:
        self.at: list[Path] = []

    def __call__(self, folder: Path) -> list[Any]:
        self.at.append(folder)
        return list(verify(folder))


def test_who_goes_back_to_earlier_data_gets_the_earlier_release(few: Path, tmp_path: Path) -> None:
    kept = make(few, tmp_path, release__script="keep")
    other = make(few, tmp_path, release__script="simplified", release__max_drop=1.0)
    assert (kept.name, other.name != kept.name) == ("v0.1.0", True)
    assert make(few, tmp_path, release__script="keep") == kept
    assert len(list(tmp_path.iterdir())) == 2


def test_a_release_that_loses_much_needs_a_reason_that_is_written_down(few: Path, many: Path, tmp_path: Path) -> None:
    make(many, tmp_path)
    with pytest.raises(
        ReleaseError, match=r"more than 5% of release 0\.1\.0 would be gone \(all splits: reviews fell from .*--because"
    ):
        make(few, tmp_path, release__max_drop=0.05)
    assert [one.name for one in tmp_path.iterdir()] == ["v0.1.0"]
    made = make(few, tmp_path, release__max_drop=0.05, release__drop_reason="ten reviews were\ntaken back")
    assert "Why there is less: ten reviews were taken back" in (made / "CHANGES.md").read_text(encoding="utf-8")
    assert make(few, tmp_path, release__max_drop=0.05) == made, "found again without saying it again"


def test_another_name_is_another_dataset_with_no_parent_and_a_number_of_its_own(
    few: Path, many: Path, tmp_path: Path
) -> None:
    make(many, tmp_path)
    other = make(few, tmp_path, release__name="other")
    assert (other.name, told(other)["parent"], told(other)["change"]) == ("v0.2.0", None, "first")
    third = make(few, tmp_path, release__licence="MIT", release__max_drop=1.0)
    assert (third.name, told(third)["parent"]) == ("v1.0.0", "0.1.0")


def test_a_release_keeps_old_reviews_in_their_splits_for_a_new_working_directory(tmp_path: Path) -> None:
    """The parent release is asked, not only the database: here its splits are not those of the hashes."""
    first = workdir(tmp_path / "x", {f"k{n}": text(n) for n in range(30)} | MASKED)
    with db.writing(first) as connection:
        connection.execute(
            "UPDATE reviews SET split = CASE id % 3 WHEN 0 THEN 'train' WHEN 1 THEN 'valid' ELSE 'test' END"
        )
    out = tmp_path / "y" / "out"
    out.parent.mkdir()
    made = make(first, out)
    given = {row["id"]: split for split, rows in read_splits(made).items() for row in rows}
    source = write_reviews(out.parent, {f"k{n}": text(n) for n in range(40)} | MASKED)
    chosen = resolve(options=SMALL | {"release.name": "restaurant-aste"})
    pipeline.run(Build(out.parent / "w", out, (source,), chosen), until="ingest")
    with db.reading(out.parent / "w") as connection:
        now = dict(connection.execute("SELECT key, split FROM reviews"))
    assert {key: now[key] for key in given} == given, "the masked ones as well"
    assert {"m1", "m2"} <= given.keys()


# ---- masks


def test_branches_are_masked_with_the_name_and_masks_are_the_same_in_every_script(few: Path, tmp_path: Path) -> None:
    made = make(few, tmp_path, release__script="simplified")
    shown = {row["id"]: row for rows in read_splits(made).values() for row in rows}
    assert shown["m1"]["text"] == "[店名]的汤头很好喝，电话[電話]打不通"
    assert shown["m2"]["text"] == "店员很亲切，订位请加 line id: [帳號] 或打[電話]"
    assert shown["m3"]["text"] == "服务的[人名]小姐很亲切，汤头也好喝"
    assert sum(one["masked"]["[人名]"] for one in told(made)["statistics"].values()) == 1
    judged = {one["aspect"]["text"] for one in shown["m3"]["triplets"]}
    assert "小姐" in judged, "who is judged is masked, and judged all the same"
    assert not any("[人名]" in aspect for aspect in judged)
    assert verify(made) == []


# ---- gates


def rows(**changed: Sequence[ReviewRow]) -> dict[str, list[ReviewRow]]:
    long = "這家的牛肉麵湯頭濃郁，麵條彈牙，牛肉給得很大方，下次還會再來吃"
    return {
        "train": [review("a", long, triplet(long, (6, 8), ((8, 10),), (8, 10))), *changed.get("train", ())],
        "valid": [review("c", "服務好", triplet("服務好", (0, 2), ((2, 3),), (2, 3))), *changed.get("valid", ())],
        "test": [*changed.get("test", ())],
    }


def bad_row(edit: Callable[[Any], None]) -> ReviewRow:
    made: Any = review("z", "小菜新鮮", triplet("小菜新鮮", (0, 2), ((2, 4),), (2, 4)))
    edit(made)
    found: ReviewRow = made
    return found


NEAR = "這家的牛肉麵湯頭濃郁，麵條彈牙，牛肉給得很大方！下次還會再來吃喔"


@pytest.mark.parametrize(
    ("row", "fault"),
    [
        (review("z", NEAR), "data/test.jsonl:1: is a near-duplicate of data/train.jsonl:1"),
        (review("z", f"(Translated by Google) Rich broth, chewy noodles\n\n(Original)\n{NEAR}"),
         "data/test.jsonl:1: is a near-duplicate of data/train.jsonl:1"),
        (review("z", "訂位打0912345678，小菜新鮮"), "data/test.jsonl:1: shows personal data: phone"),
        (review("z", "小菜新鮮，寫信到foo@example.com"), "data/test.jsonl:1: shows personal data: email"),
        (review("a", "小菜新鮮"), "data/test.jsonl:1: its id stands in data/train.jsonl:1 too"),
        (bad_row(lambda row: row.update(annotation="bronze")), "data/test.jsonl:1: unknown annotation 'bronze'"),
        (bad_row(lambda row: row.update(rating="5")), "data/test.jsonl:1: row has rating = '5'"),
    ],
)  # fmt: skip
def test_every_gate_names_what_it_finds_under_right_checksums(tmp_path: Path, row: ReviewRow, fault: str) -> None:
    files = sound(rows())
    made = rows(test=[row])
    files["data/test.jsonl"] = "".join(json.dumps(one, ensure_ascii=False) + "\n" for one in made["test"]).encode()
    found = verify(release(tmp_path, rebuilt(files)))
    assert [one for one in found if one.startswith(fault)], found


def sound(made: dict[str, list[ReviewRow]]) -> dict[str, bytes]:
    return files_of(made, facts(made))


def rebuilt(files: dict[str, bytes]) -> dict[str, bytes]:
    """The same with a manifest and checksums that agree with the files."""
    body = json.loads(files["manifest.json"])
    body["files"] = {
        path: {"bytes": len(content), "sha256": sha256(content)}
        for path, content in files.items()
        if path not in ("manifest.json", "SHA256SUMS")
    }
    files = files | {"manifest.json": json.dumps(body, ensure_ascii=False).encode()}
    del files["SHA256SUMS"]
    return files | {"SHA256SUMS": checksums(files).encode()}


def test_parquet_holds_any_text_whole_also_one_longer_than_a_block() -> None:
    import pyarrow.parquet as pq

    texts = ["湯" * 600_000, 'a\u2028b\x00\x7f"\\\t👍', "2020-01-01", "1e5"]
    members = [
        review(str(n), text) | {"rating": rating}
        for n, (text, rating) in enumerate(zip(texts, [4, 1e-7, None, 5.0], strict=True))
    ]
    assert pq.read_table(io.BytesIO(parquet_files.dump(members))).to_pylist() == members


def test_a_parquet_twin_that_says_something_else_is_found(tmp_path: Path) -> None:
    files = sound(rows())
    files["parquet/valid-silver.parquet"] = parquet_files.dump(
        [review("c", "服務差", triplet("服務差", (0, 2), ((2, 3),), (2, 3), "NEG"))]
    )
    assert verify(release(tmp_path, rebuilt(files))) == [
        "metadata.json: the checksum of 'parquet/valid-silver.parquet' is not that of manifest.json",
        "parquet/valid-silver.parquet: holds other reviews than data/",
    ]


def test_a_release_that_does_not_verify_is_not_written(
    few: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = package.data

    def leaking(folder: Path, made: Any) -> package.Files:
        train = list(made["train"])
        leak = package.write_row(train[0].row | {"id": "leak"})
        return real(folder, made | {"train": train, "valid": [*made["valid"], leak]})

    make(few, tmp_path / "sound")
    with db.reading(few) as connection:
        before = released.totals(connection)
    monkeypatch.setattr(package, "data", leaking)
    with pytest.raises(ReleaseError, match="the release does not verify: "):
        make(few, tmp_path / "leaking")
    assert list((tmp_path / "leaking").iterdir()) == []
    with db.reading(few) as connection:
        assert before["reviews"] and released.totals(connection) == before, "the database tells of the last release"


def test_a_release_is_searched_for_near_duplicates_once_and_other_texts_than_these_are_a_fault(
    few: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    searches: list[int] = []

    def count_search(texts: Sequence[str]) -> list[tuple[int, int]]:
        searches.append(len(texts))
        return links(texts)

    monkeypatch.setattr(gates, "links", count_search)
    made = make(few, tmp_path / "once")
    assert searches == [], "the stage has looked before it wrote, and the same texts were written"
    assert verify(made) == []
    assert len(searches) == 1, "whoever verifies a release looks for himself"
    assert verify(made, apart={"train": "0" * 64, "valid": "1" * 64, "test": "2" * 64}) == [
        f"data/{split}.jsonl: holds other texts than were searched for near-duplicates"
        for split in ("train", "valid", "test")
    ]


def test_near_duplicates_that_an_older_build_had_parted_are_left_out_with_their_reason(tmp_path: Path) -> None:
    source = workdir(tmp_path / "x", {"a": NEAR, "b": NEAR + "真的", "c": text(1), "d": text(2)})
    with db.writing(source) as connection:
        connection.execute(
            "UPDATE reviews SET split = CASE key WHEN 'a' THEN 'train' WHEN 'b' THEN 'test' WHEN 'c' THEN 'valid' ELSE "
            "'train' END"
        )
    made = make(source, tmp_path / "out")
    assert {row["id"] for row in read_lines(made / "data" / "train.jsonl")} == {"d"}
    assert told(made)["dropped"]["near-duplicate"] == 1
    rejected = ask(source, "SELECT item, reason FROM rejected WHERE stage = 'release'")
    assert rejected == [("a", "near-duplicate")]


# ---- damage


@pytest.fixture(scope="module")
def shelf(few: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make(few, tmp_path_factory.mktemp("shelf"))


def test_a_thousand_random_flips_truncations_and_renames_are_all_reported(shelf: Path, tmp_path: Path) -> None:
    rng = random.Random(20)
    copy = tmp_path / "v0.1.0"
    shutil.copytree(shelf, copy)
    files = sorted(path for path in copy.rglob("*") if path.is_file())
    for n in range(1_000):
        path = rng.choice(files)
        before = path.read_bytes()
        kind = rng.choice(["flip", "cut", "grow", "rename", "delete"])
        place = rng.randrange(len(before))
        other = path.with_name(path.name + rng.choice([".bak", "x", " "])) if rng.random() < 0.5 else copy / f"moved{n}"
        if kind == "rename":
            path.rename(other)
        elif kind == "delete":
            path.unlink()
        else:
            flipped = before[:place] + bytes([before[place] ^ (1 << rng.randrange(8))]) + before[place + 1 :]
            path.write_bytes({"flip": flipped, "cut": before[:place], "grow": before + before[place : place + 1]}[kind])
        try:
            assert verify(copy), (kind, path, place)
        except ReleaseError as error:
            assert path.name == "SHA256SUMS" and kind in ("rename", "delete"), error
        other.unlink(missing_ok=True)
        path.write_bytes(before)
    assert verify(copy) == []


def test_folders_and_links_that_do_not_belong_are_reported(shelf: Path, tmp_path: Path) -> None:
    copy = tmp_path / "v0.1.0"
    shutil.copytree(shelf, copy)
    (copy / "extra").mkdir()
    (copy / "data" / "link").symlink_to("train.jsonl")
    assert verify(copy) == ["data/link: not part of the release", "extra/: not part of the release"]


def test_the_release_of_the_first_layout_still_verifies_and_its_damage_is_seen(tmp_path: Path) -> None:
    first = LAYOUTS / "v0.1.0"
    assert "format" not in told(first)
    assert verify(first) == []
    shutil.copytree(first, tmp_path / "v")
    path = tmp_path / "v" / "paper" / "valid.json"
    path.write_bytes(path.read_bytes()[:-1])
    assert verify(tmp_path / "v") == ["paper/valid.json: its bytes have changed"]


def test_what_was_published_is_never_changed() -> None:
    """`.ci/run` holds the files against these checksums."""
    published = (line.split("  ") for line in (ROOT / "tests" / "golden" / "published.sha256").read_text().splitlines())
    folders = (*(ROOT / "releases").glob("sample-[0-9]*"), *LAYOUTS.iterdir())
    sums = {folder.relative_to(ROOT).as_posix() + "/SHA256SUMS": folder / "SHA256SUMS" for folder in folders}
    assert {name: hashlib.sha256(path.read_bytes()).hexdigest() for name, path in sums.items()} == {
        name: digest for digest, name in published
    }


def test_a_layout_from_the_future_is_said_to_be_one(tmp_path: Path) -> None:
    files = sound(rows())
    body = json.loads(files["manifest.json"])
    files["manifest.json"] = json.dumps(body | {"format": 4}).encode()
    assert verify(release(tmp_path, rebuilt(files))) == ["manifest.json: format 4; this builder knows 1 to 3"]


# ---- diff


def test_the_command_tells_people_machines_and_ci(few: Path, many: Path, tmp_path: Path, here: Command) -> None:
    one, two = make(few, tmp_path), make(many, tmp_path)
    assert here("diff", one, one).code == 0
    ran = here("diff", one, two)
    assert ran.code == 1
    assert "# 0.1.0 to 0.2.0: minor" in ran.out
    assert "| reviews added | " in ran.out
    body = json.loads(here("diff", one, two, "--format", "json", "--samples", "2").out)
    assert (body["level"], body["counts"]["reviews_removed"]) == ("minor", 0)
    assert len(body["samples"]["reviews_added"]) == 2
    codes = {level: here("diff", one, two, "--fail-on", level).code for level in ("any", "minor", "major", "never")}
    assert codes == {"any": 1, "minor": 1, "major": 0, "never": 0}
    back = here("diff", two, one, "--fail-on", "major")
    assert (back.code, "# 0.2.0 to 0.1.0: major" in back.out) == (1, True)
    assert "no manifest.json here" in here("diff", one, tmp_path).error


def test_a_release_asks_for_a_licence_before_anything_else(few: Path, here: Command, tmp_path: Path) -> None:
    assert (
        here("release", "--workdir", few).error
        == "no licence is stated; say under which one others may use the data: --licence CC-BY-4.0"
    )
    assert here("release", "--workdir", tmp_path / "none", "--licence", "MIT").error.endswith(
        "run `builder build` first, or name it with --workdir"
    )


# ---- read by the libraries it is made for


@pytest.mark.parametrize("number", [1, 2, 8])
def test_a_release_is_loaded_whatever_splits_are_empty(
    number: int, here: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    datasets = pytest.importorskip("datasets", reason="datasets is a development dependency")
    mlcroissant = pytest.importorskip("mlcroissant", reason="mlcroissant is a development dependency")
    pandas = pytest.importorskip("pandas", reason="pandas is a development dependency")
    source = tmp_path / "in.csv"
    source.write_text("review\n" + "".join(f"{text(n)}\n" for n in range(number)), encoding="utf-8")
    places = ("--workdir", tmp_path / "w", "--out", tmp_path / "out")
    assert here("build", source, *places, "--profile", "rules", "--set", "workers=1").code == 0
    made = tmp_path / "out" / "v0.1.0"
    due = {hub: read_lines(made / "data" / f"{split}.jsonl") for split, hub in HUB_SPLITS.items()}
    filled = {hub: reviews for hub, reviews in due.items() if reviews}
    assert sum(map(len, filled.values())) == number and (len(filled) < 3 or number > 2)
    for name in (None, "silver"):
        loaded = datasets.load_dataset(str(made), name, cache_dir=str(tmp_path / "cache"))
        assert {hub: loaded[hub].to_list() for hub in loaded} == filled
        assert all(
            one.features == datasets.Features.from_arrow_schema(parquet_files.schema()) for one in loaded.values()
        )
    split = next(split for split, hub in HUB_SPLITS.items() if hub in filled)
    file, cache = str(made / "data" / f"{split}.jsonl"), str(tmp_path / "cache")
    twin = datasets.load_dataset("json", data_files=file, cache_dir=cache, split="train")
    assert twin["id"][:] == [row["id"] for row in due[HUB_SPLITS[split]]]
    loose = datasets.load_dataset(str(made / "parquet"), cache_dir=str(tmp_path / "cache"))
    assert {hub: len(loose[hub]) for hub in loose} == {hub: len(reviews) for hub, reviews in filled.items()}
    tables = sorted((made / "parquet").glob("*.parquet"))
    assert sorted(len(pandas.read_parquet(path)) for path in tables) == sorted(map(len, filled.values()))
    monkeypatch.chdir(made)
    records = [one.uuid for one in mlcroissant.Dataset(jsonld="metadata.json").metadata.record_sets]
    counts = [sum(1 for _ in mlcroissant.Dataset(jsonld="metadata.json").records(name)) for name in records]
    assert counts == [3, *map(len, filled.values())]
    assert verify(made) == []


def test_a_layer_without_rows_is_no_config_that_fails_to_load() -> None:
    files = {
        f"parquet/train-{name}.parquet": parquet_files.dump(held)
        for name, held in (("silver", rows()["train"]), ("more", []))
    }
    assert list(parquet_files.filled(files)) == ["parquet/train-silver.parquet"]


def test_a_release_without_a_review_is_refused(here: Command, tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text("review\n我們星期五走路去那裡\n", encoding="utf-8")
    ran = here(
        "build", tmp_path / "in.csv", "--workdir", tmp_path / "w", "--out", tmp_path / "out", "--profile", "rules",
        "--set", 'release.empty="drop"',
    )  # fmt: skip
    assert ran.error.startswith("no review is left to release (empty 1); add reviews, set release.empty")
    assert not list((tmp_path / "out").iterdir())


def test_mlcroissant_finds_no_fault_and_gives_the_records_back(shelf: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mlcroissant = pytest.importorskip("mlcroissant", reason="mlcroissant is a development dependency")
    monkeypatch.chdir(shelf)
    dataset = mlcroissant.Dataset(jsonld="metadata.json")
    assert (dataset.metadata.ctx.issues.errors, dataset.metadata.ctx.issues.warnings) == (set(), set())
    assert dataset.metadata.ctx.is_v1_1()
    assert dataset.metadata.version == "0.1.0"
    for split in ("train", "valid", "test"):
        name = f"{split}-silver"
        records = list(dataset.records(record_set=name))
        due = read_lines(shelf / "data" / f"{split}.jsonl")
        assert [one[f"{name}/text"].decode() for one in records] == [row["text"] for row in due]
        at = f"{name}/triplets"
        for one, row in zip(records, due, strict=True):
            words = [(t[f"{at}/aspect"].decode(), t[f"{at}/polarity"].decode()) for t in one[at]]
            assert words == [(t["aspect"]["text"], t["polarity"]) for t in row["triplets"]]
            assert [t[f"{at}/opinion_spans"] for t in one[at]] == [t["opinion"]["spans"] for t in row["triplets"]]
    assert [one["splits/name"] for one in dataset.records(record_set="splits")] == ["train", "validation", "test"]


def test_the_card_and_the_citation_are_yaml_that_says_what_the_manifest_says(shelf: Path) -> None:
    yaml = pytest.importorskip("yaml", reason="PyYAML comes with datasets")
    head = yaml.safe_load((shelf / "README.md").read_text(encoding="utf-8").split("---\n")[1])
    body = told(shelf)
    for part in ("configs", "dataset_info"):
        assert [one["config_name"] for one in head[part]] == ["default", "silver"]
    sizes = {one["name"]: one["num_examples"] for one in head["dataset_info"][0]["splits"]}
    assert sizes == {hub: body["splits"][split]["reviews"] for split, hub in HUB_SPLITS.items()}
    assert head["dataset_info"][0]["features"] == parquet_files.features(parquet_files.schema())
    cited = yaml.safe_load((shelf / "CITATION.cff").read_text(encoding="utf-8"))
    assert {key: str(cited[key]) for key in ("cff-version", "type", "version", "license", "date-released")} == {
        "cff-version": "1.2.0", "type": "dataset", "version": "0.1.0", "license": "CC-BY-4.0",
        "date-released": body["date"],
    }  # fmt: skip
    assert cited["authors"] and cited["references"][0]["year"] == 2024


@pytest.mark.parametrize(("licence", "shown", "name"),
[("CC-BY-SA-4.0", "cc-by-sa-4.0", None), ("House terms 1", "other", "House terms 1"),
("", "other", "not-stated")])  # fmt: skip
def test_a_licence_that_hubs_do_not_know_is_named_beside_other(licence: str, shown: str, name: str | None) -> None:
    yaml = pytest.importorskip("yaml", reason="PyYAML comes with datasets")
    made = rows()
    files = whole(replace(facts(made), licence=licence), made, "")
    head = yaml.safe_load(files["README.md"].decode().split("---\n")[1])
    assert (head["license"], head.get("license_name")) == (shown, name)
    said = "not stated by the makers of this release; ask before you redistribute"
    assert (said in files["README.md"].decode()) is (not licence)
    assert ("license:" in files["CITATION.cff"].decode()) is (name is None)


def test_licences_of_sources_stand_in_card_manifest_and_croissant() -> None:
    made = rows()
    files = whole(
        replace(facts(made), licence="CC-BY-4.0", licences={"survey": "CC0-1.0", "web": "LicenseRef-Web"}), made, ""
    )
    assert "- Licence: CC-BY-4.0. By source: survey CC0-1.0; web LicenseRef-Web." in files["README.md"].decode()
    assert json.loads(files["manifest.json"])["licences"] == {"survey": "CC0-1.0", "web": "LicenseRef-Web"}
    pages = ["https://spdx.org/licenses/CC-BY-4.0", "https://spdx.org/licenses/CC0-1.0", "LicenseRef-Web"]
    assert json.loads(files["metadata.json"])["license"] == pages


def test_a_licence_for_a_source_that_no_review_has_is_refused(few: Path, tmp_path: Path) -> None:
    with pytest.raises(
        ConfigError,
        match=r"release.licences: no review has the source 'web'; there are none: name the column with --source-column",
    ):
        make(few, tmp_path, release__licences=["web=MIT"])


def test_what_people_label_by_habit_is_released_as_the_settings_say(tmp_path: Path) -> None:
    told_so = {f"h{n}": f"東西很好，這種湯頭還可以啦，{text(n)}" for n in range(40)}
    source = workdir(tmp_path / "x", told_so)
    said = {}
    for name, settings in {
        "kept": {},
        "without": {
            "release__whole_products": "drop",
            "release__passable": "POS",
            "release__min_confidence": 0,
            "release__modifiers": "unpointed",
            "release__particles": "add",
        },
    }.items():
        made = make(source, tmp_path / name, **settings)
        said[name] = {
            (*(t[part]["text"] for part in ("aspect", "aspect_full", "opinion", "opinion_full")), t["polarity"])
            for rows in read_splits(made).values()
            for row in rows
            for t in row["triplets"]
        }
    assert {("東西", "東西", "好", "很好", "POS"), ("湯頭", "這種湯頭", "還可以", "還可以", "NEU")} <= said["kept"]
    assert ("湯頭", "湯頭", "還可以", "還可以啦", "POS") in said["without"]
    assert "東西" not in {aspect for aspect, *_ in said["without"]}
    with db.reading(source) as connection:
        counts = dict(connection.execute("SELECT reason, count(*) FROM rejected GROUP BY reason").fetchall())
    assert counts["whole"] >= 40
