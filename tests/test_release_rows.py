"""What a row of a release says, and that database and files join."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from conftest import LAYOUTS, Command, read_lines
from test_export import TEXT, review
from test_release import make, workdir

from builder.language.lexicon.categories import Categories
from builder.language.lexicon.resources import Lexicon, load_lexicon
from builder.release.export.native_rows import ReviewRow, completed
from builder.release.shelf import rows
from builder.release.verify import verify
from builder.store import db, queries, released, triplets

TEXTS = {
    "a": "這家的牛肉麵很好吃，湯頭不會太鹹",
    "b": "昨天下午三點半我們走路過去了",
    "c": "鼎香園很棒",
    "d": "老闆熱情，環境乾淨舒適，甜點偏貴",
}


def test_a_release_has_a_row_for_each_of_its_reviews(tmp_path: Path) -> None:
    row = {"annotation": "silver", "unverified_negative": True, "triplets": []}
    with db.writing(tmp_path) as connection:
        for ids, held in (([1], []), ([], [row])):
            with pytest.raises(AssertionError, match="train: as many reviews as rows are due"):
                released.add_rows(connection, "0.1.0", "train", ids, held)


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All in train; the judge has spoken, and doubts what was found in `c`."""
    folder = workdir(tmp_path_factory.mktemp("rows") / "x", TEXTS)
    with db.writing(folder) as connection:
        connection.execute("UPDATE reviews SET split = 'train', source = 'web', rating = 4.0")
        rules = triplets.source_id(connection, "rules")
        assert rules is not None
        with db.atomic(connection):
            judge = triplets.source(connection, "discriminator", "discriminator", "d")
            ids = [one.id for one in triplets.proposed(connection, rules, "train")]
            triplets.judge(connection, judge, [(i, "YY", 0.8) for i in ids])
            connection.execute("UPDATE verdicts SET confidence = 0.87654")
            doubted = "SELECT t.id FROM triplets t JOIN reviews r ON r.id = t.review WHERE r.key = 'c'"
            connection.execute(f"UPDATE verdicts SET confidence = 0.1 WHERE triplet IN ({doubted})")
            triplets.set_training(connection, "C", 0, ids)
    return folder


def by_id(path: Path) -> dict[str, ReviewRow]:
    return {row["id"]: row for row in rows(path, "train")}


def test_a_triplet_says_its_confidence_verdict_rule_and_the_categories_of_its_words(
    source: Path, tmp_path: Path
) -> None:
    made = make(source, tmp_path)
    row = by_id(made)["a"]
    assert (row["source"], row["rating"], row["unverified_negative"]) == ("web", 4.0, False)
    told = {one["aspect"]["text"]: one for one in row["triplets"]}
    assert {name: told["湯頭"][name] for name in ("confidence", "verdict", "aspect_category", "opinion_category")} == {  # type: ignore[literal-required]
        "confidence": 0.8765, "verdict": "YY", "aspect_category": "food.part", "opinion_category": "taste.salty",
    }  # fmt: skip
    assert all(one["rules"] and one["opinion_category"] for one in row["triplets"])
    assert verify(made) == []


def test_a_row_shows_a_repaired_text_in_the_script_and_language_of_the_release(tmp_path: Path) -> None:
    texts = {
        "entity": "湯&#38957;很濃&nbsp;麵&hellip;很軟",
        "hidden": "湯\u200b頭很濃，麵條_x0008_很軟\ue412",
        "spaced": "飯 糰 很 香 ， 湯 很 鹹",
        "radical": "⽜⾁很嫩，⻝物很香",
        "simplified": "面很软，看着很好吃，里面很干净",
        "neutral": "味道很好",
    }
    built = workdir(tmp_path / "x", texts)
    made = [make(built, tmp_path / script, release__script=script) for script in ("keep", "traditional", "simplified")]
    kept, traditional, simplified = (
        {row["id"]: row for split in ("train", "valid", "test") for row in rows(path, split)} for path in made
    )
    assert {key: row["text"] for key, row in kept.items()} == {
        "entity": "湯頭很濃\xa0麵…很軟",
        "hidden": "湯頭很濃，麵條很軟",
        "spaced": "飯糰很香，湯很鹹",
        "radical": "牛肉很嫩，食物很香",
        "simplified": "面很软，看着很好吃，里面很干净",
        "neutral": "味道很好",
    }
    assert kept["radical"]["language"] == kept["neutral"]["language"] == "zh"
    assert kept["simplified"]["language"] == "zh-Hans"
    assert kept["hidden"]["language"] == "zh-Hant"
    assert traditional["simplified"]["text"] == "麵很軟，看著很好吃，裡面很乾淨"
    assert traditional["simplified"]["language"] == "zh-Hant"
    assert simplified["hidden"]["text"] == "汤头很浓，面条很软"
    assert simplified["hidden"]["language"] == "zh-Hans"
    for row in kept.values():
        assert row["triplets"], row
        for triplet in row["triplets"]:
            for part in (triplet["aspect"], triplet["opinion"]):
                assert len(part["spans"]) == 1
                assert row["text"][slice(*part["spans"][0])] == part["text"]


def test_reviews_without_a_triplet_stay_as_unverified_negatives_but_not_where_all_that_was_found_is_left_out(
    source: Path, tmp_path: Path
) -> None:
    kept, dropped = make(source, tmp_path / "keep"), make(source, tmp_path / "drop", release__empty="drop")
    assert {key: row["unverified_negative"] for key, row in by_id(kept).items()} == {"a": False, "b": True, "d": False}
    assert by_id(dropped).keys() == {"a", "d"}
    manifests = [json.loads((one / "manifest.json").read_text(encoding="utf-8")) for one in (kept, dropped)]
    assert [one["statistics"]["train"]["unverified_negatives"] for one in manifests] == [1, 0]
    assert [(one["dropped"]["emptied"], one["dropped"]["empty"]) for one in manifests] == [(1, 0), (1, 1)]
    lines = read_lines(kept / "paper" / "train.json")
    assert [(line["id"], line["review_id"], bool(line["answer"])) for line in lines] == [
        (1, "a", True),
        (2, "b", False),
        (3, "d", True),
    ]


@pytest.mark.parametrize("ids", ["keep", "hash"])
def test_files_released_triplets_and_what_was_rejected_join_by_the_public_ids(
    source: Path, tmp_path: Path, ids: str
) -> None:
    made = make(source, tmp_path, release__ids=ids)
    rows_by_id = by_id(made)
    assert set(rows_by_id) == ({"a", "b", "d"} if ids == "keep" else {queries.public_id(key) for key in "abd"})
    with db.reading(source) as connection:
        listed = connection.execute(
            "SELECT review_public_id, public_id, review_key, aspect, opinion, confidence, verdict, rule,"
            " aspect_category, opinion_category"
            " FROM released_triplets"
        ).fetchall()
        due = {
            (
                key, one["id"], one["aspect"]["text"], one["confidence"], one["verdict"], one["rules"][0],
                one["opinion_category"],
            )
            for key, row in rows_by_id.items()
            for one in row["triplets"]
        }  # fmt: skip
        assert {
            (key, i, aspect, sure, verdict, rule, kind) for key, i, _, aspect, _, sure, verdict, rule, _, kind in listed
        } == due
        assert {review for _, _, review, *_ in listed} == {"a", "d"}
        negatives = connection.execute(
            "SELECT r.key FROM released_reviews e JOIN reviews r ON r.id = e.review WHERE unverified_negative"
        )
        assert negatives.fetchall() == [("b",)]
        rejected = connection.execute(
            "SELECT x.reason, r.key, x.item = r.public_id OR x.item LIKE r.public_id || ':%', t.aspect FROM rejected x"
            " JOIN reviews r ON r.id = x.review LEFT JOIN triplets t ON t.id = x.triplet WHERE x.stage = 'release' "
            "ORDER BY x.reason"
        ).fetchall()
        assert rejected == [("emptied", "c", 1, None), ("unsure", "c", 1, "鼎香園")]


def test_releases_of_the_second_layout_verify_and_read_with_the_keys_of_today() -> None:
    second = LAYOUTS / "v0.2.0"
    assert json.loads((second / "manifest.json").read_text(encoding="utf-8"))["format"] == 2
    assert verify(second) == []
    first = next(rows(second, "train"))
    due = completed(review("x", TEXT))
    assert list(first) == list(due)
    assert first["source"] is None and first["unverified_negative"] is False
    assert first["triplets"][0]["verdict"] is None


# ---- categories


@pytest.fixture(scope="module")
def lexicon() -> Lexicon:
    return load_lexicon()


def test_a_proposal_keeps_margin_categories_and_entries_as_the_engine_has_them(source: Path) -> None:
    columns = "margin, aspect_category, aspect_entry, opinion_category, opinion_entry"
    with db.reading(source) as connection:
        rows = connection.execute(
            f"SELECT {columns} FROM proposals p JOIN sources s ON s.id = p.source AND s.name = 'rules'"
        ).fetchall()
    assert all(opinion and entry.startswith("opinions/") for *_, opinion, entry in rows)
    assert any(margin and margin > 0 for margin, *_ in rows)
    words = load_lexicon()
    soup, salty = words.aspects["湯頭"], words.opinions["鹹"]
    assert [row[1:] for row in rows if row[3] == salty.category] == [
        (soup.cls, soup.where, salty.category, salty.where)
    ]


def test_a_thing_that_is_read_from_its_attribute_has_the_class_that_the_lexicon_gives_it(tmp_path: Path) -> None:
    row = by_id(make(workdir(tmp_path / "built", {"a": "燒餅口感酥脆，真的很推薦"}), tmp_path))["a"]
    found = {one["aspect"]["text"]: (one["rules"], one["aspect_category"]) for one in row["triplets"]}
    assert found["燒餅"] == (["carried-topic"], load_lexicon().aspects["燒餅"].cls)


@pytest.mark.parametrize(
    ("aspect", "cls"), [("湯頭", "food.part"), ("招牌牛肉麵", "food.noodle"), ("汤头", "food.part"), ("火車票根", None)]
)
def test_the_class_of_an_aspect_is_that_of_its_longest_known_ending(
    lexicon: Lexicon, aspect: str, cls: str | None
) -> None:
    assert Categories(lexicon).aspect(aspect) == cls


@pytest.mark.parametrize(
    ("opinion", "category"), [("好吃", "taste.delicious"), ("不好吃", "taste.delicious"), ("鸚鵡綠", None)]
)
def test_the_category_of_an_opinion_is_that_of_the_word_behind_its_negator(
    lexicon: Lexicon, opinion: str, category: str | None
) -> None:
    assert Categories(lexicon).opinion(opinion) == category


def test_a_single_review_is_released_with_what_rules_and_model_find_in_it(here: Command, tmp_path: Path) -> None:
    path = tmp_path / "one.csv"
    path.write_text("id,text\na1,滷肉飯很好吃，但是湯太鹹\n", encoding="utf-8")
    ran = here("build", path, "--workdir", tmp_path / "w", "--out", tmp_path / "r")
    assert ran.code == 0, ran.err
    (folder,) = (tmp_path / "r").glob("v*")
    lines = [
        line for file in sorted((folder / "data").glob("*.jsonl")) for line in file.read_text("utf-8").splitlines()
    ]
    (row,) = map(json.loads, lines)
    triplets = [(t["aspect"]["text"], t["opinion"]["text"], t["polarity"], t["sources"]) for t in row["triplets"]]
    assert row["id"] == "a1"
    assert triplets == [
        ("滷肉飯", "好吃", "POS", ["rules", "discriminator"]),
        ("湯", "鹹", "NEG", ["rules", "discriminator"]),
    ]
    assert all(0 < t["confidence"] <= 1 for t in row["triplets"]), "however small a build is"
    assert here("verify", folder).code == 0
