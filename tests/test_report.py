"""The report of a small database made by hand: the paper's tables by count, hostile texts, missing parts; mistakes by
kind, the rules side by side, and no more than is known.
"""

from __future__ import annotations

import base64
import csv
import io
import json
import re
import sqlite3
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from chromium import Browser
from conftest import Built, Command

from builder import build
from builder.core.records import Element, ReadWord, Reasons, Triplet, polarity_of
from builder.engine import make_engine
from builder.gold.metrics.systems import Settings
from builder.language.lexicon.resources import load_lexicon
from builder.language.lexicon.rules import load_rules
from builder.pages.report import written
from builder.pages.report.blocks import Report, Section, Table, markdown, pieces, visible
from builder.pages.report.collect import _judged, _places, _top, collect, find_mistakes
from builder.pages.report.written import page, text
from builder.pages.report.yardsticks import Answers, Yardstick, find_yardsticks
from builder.store import db, reviews, runs, triplets
from builder.store.report import Marked

TEXTS = {
    "r1": "湯頭好喝，服務慢。",
    "r2": "<script>alert(1)</script>餐點好吃，環境吵",
    "r3": "\"><img src=x onerror=alert(2)> 甜點美味 ' & 很貴",
    "r4": "湯頭\u202e好喝\u2066，服務很冰裂裂，下次還會再來",
    "r5": "沒有什麼意見，也沒有什麼想說",
    "r6": "請打 0912345678 湯頭好喝，服務慢",
    "r7": "| a | `code` [link](javascript:x) 湯頭好喝，服務慢",
}
SPLITS = {"r1": "train", "r2": "train", "r3": "valid", "r4": "test", "r5": "test", "r6": "test", "r7": "test"}
SAID: dict[str, list[tuple[str, str, str, float]]] = {
    "rules": [("r1", "湯頭", "好喝", 8), ("r1", "服務", "慢", 3), ("r2", "餐點", "好吃", 8), ("r2", "環境", "吵", 3),
    ("r3", "甜點", "美味", 8), ("r4", "湯頭", "好喝", 8), ("r6", "湯頭", "好喝", 8), ("r7", "湯頭", "好喝", 8),
    ("r7", "服務", "慢", 3)],
    "C0": [("r1", "湯頭", "好喝", 8), ("r3", "甜點", "美味", 8), ("r4", "湯頭", "好喝", 3), ("r7", "湯頭", "好喝", 8)],
    "C1": [("r1", "湯頭", "好喝", 8), ("r3", "甜點", "美味", 8), ("r4", "湯頭", "好喝", 8), ("r4", "服務", "冰裂裂", 3),
    ("r4", "服務", "好喝", 8), ("r7", "湯頭", "好喝", 8)],
    "gold": [("r4", "湯頭", "好喝", 8), ("r4", "服務", "冰裂裂", 3), ("r6", "湯頭", "好喝", 8), ("r6", "服務", "慢", 3),
    ("r7", "湯頭", "好喝", 8), ("r7", "服務", "慢", 3)],
}  # fmt: skip
KINDS = {"rules": "rules", "gold": "gold"}


def triplet(text: str, aspect: str, opinion: str, valence: float) -> Triplet:
    word = ReadWord(opinion, "taste", "opinions/taste.tsv:9", 8)
    reasons = Reasons(word, aspect=ReadWord(aspect, "food.x", "aspects/food.tsv:3"))
    thing, said = (Element.at(text, [(text.index(one), text.index(one) + len(one))]) for one in (aspect, opinion))
    polarity = polarity_of(valence)
    return Triplet(thing, thing, said, said, polarity, valence, rules=("subject",), reasons=reasons)


def fill(workdir: Path, *, models: bool = True, gold: bool = True) -> Path:
    """Seven reviews, of which one stands twice; rules, two rounds of C, a discriminator, gold on the test split."""
    with db.writing(workdir) as connection, db.atomic(connection):
        rows = [
            (key, text, "web", None, 4.0, "in.csv", i, "traditional", "zh-Hant", key, key)
            for i, (key, text) in enumerate(TEXTS.items(), start=1)
        ]
        again = ("x1", TEXTS["r1"], None, None, None, "in.csv", 8, "traditional", "zh-Hant", "r1", "r1")
        reviews.insert(connection, [*rows, again])
        reviews.mark_duplicates(connection)
        reviews.reject(connection, "ingest", [("9", "empty", "", ""), ("10", "no-han", "", "ok")])
        reviews.reject(connection, "self_train", [("r1:1", "replaced", "", "")])
        number = {key: i for i, key in enumerate(TEXTS, start=1)}
        reviews.set_splits(connection, [(split, number[key]) for key, split in SPLITS.items()])
        counts = {"rows": 10, "rejected": 2, "duplicates": 1, "reviews": 7, "train": 2, "valid": 1, "test": 4}
        runs.finish(connection, "ingest", "k", counts, 1.5)
        config = {"release.name": "<b>mine</b>", "seed": 13, "self_train.variants": ["C"]}
        told = {"inputs": ["/some/where/in.csv"], "out": "/some/where", "config": config}
        runs.set_setting(connection, "build", json.dumps(told))
        for name in ("rules", *(("C0", "C1") if models else ()), *(("gold",) if gold else ())):
            source = triplets.source(connection, name, KINDS.get(name, "model"), f"sig-{name}")
            made = [(number[key], triplet(TEXTS[key], a, o, v)) for key, a, o, v in SAID[name]]
            ids = triplets.propose(connection, source, made)
            if name == "rules":
                judge = triplets.source(connection, "discriminator", "discriminator", "sig-d") if models else None
            if judge is not None and name != "gold":
                opinions = [t.opinion.text for _, t in made]
                verdicts = ("NX" if opinion == "冰裂裂" else "YY" for opinion in opinions)
                triplets.judge(connection, judge, [(i, said, 0.9) for i, said in zip(ids, verdicts, strict=True)])
            if name.startswith("C"):
                n = int(name[1])
                triplets.set_training(connection, "C", n, ids[: 1 + n])
                done = runs.Round("C", n, "k", f"sig-{name}", 2, 100 + 20 * n, 9, 8, 7, 12.0)
                runs.finish_round(connection, done)
    return workdir


@pytest.fixture(scope="module")
def workdir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return fill(tmp_path_factory.mktemp("report"))


def collected(workdir: Path) -> Report:
    with db.reading(workdir) as connection:
        return collect(connection, load_lexicon(), Settings(samples=50), make_engine(load_lexicon(), load_rules()))


@pytest.fixture(scope="module")
def report(workdir: Path) -> Report:
    return collected(workdir)


def rows(report: Report, name: str) -> list[dict[str, Any]]:
    table = next(one for one in report.tables() if one.name == name)
    return [dict(zip(table.columns, row, strict=True)) for row in table.rows]


# ---- the paper's tables


def test_table_1_counts_the_discriminators_data_as_its_training_makes_it(report: Report) -> None:
    """r1 and r2 have two aspects, two opinions and two of the four pairs each: two NX a review."""
    assert rows(report, "table-1")[0] == {"split": "train", "triplets": 12, "YY": 4, "YN": 4, "NX": 4}
    assert [row["split"] for row in rows(report, "table-1")] == ["train", "valid", "test"]


def test_table_1_agrees_with_the_data_that_is_really_made(built: Built) -> None:
    from builder.learning.task import Example, discriminator_data

    with db.reading(built.workdir) as connection:
        source = triplets.source_id(connection, "rules")
        assert source is not None
        grouped: dict[int, list[Triplet]] = {}
        for one in triplets.proposed(connection, source, "train"):
            grouped.setdefault(one.review, []).append(one.triplet)
        labels = [
            label
            for key, said in grouped.items()
            for _, label in discriminator_data(Example(str(key), "", tuple(said)), 13).verdicts
        ]
    due = {label: labels.count(label) for label in ("YY", "YN", "NX")}
    train = rows(collected(built.workdir), "table-1")[0]
    assert {label: train[label] for label in due} == due
    assert train["triplets"] == len(labels) > 0


def test_table_2_counts_reviews_and_polarities_of_each_split(report: Report) -> None:
    assert rows(report, "table-2") == [
        {"split": "train", "reviews": 2, "triplets": 4, "POS": 2, "NEG": 2, "NEU": 0},
        {"split": "valid", "reviews": 1, "triplets": 1, "POS": 1, "NEG": 0, "NEU": 0},
        {"split": "test", "reviews": 3, "triplets": 4, "POS": 3, "NEG": 1, "NEU": 0},
    ]


def test_table_3_measures_models_by_the_rules(report: Report) -> None:
    """Of the four test reviews r4 shares one of three, r7 one of two, r6 nothing."""
    (row,) = rows(report, "table-3")
    assert (row["model"], row["triplets"]) == ("C1", 4)
    assert row["A"] == pytest.approx(100 * (1 / 3 + 1 / 2) / 4)
    assert row["P"] == pytest.approx(100 * (1 / 3 + 1) / 4)


def test_table_5_measures_every_final_system_by_people(report: Report) -> None:
    by_name = {row["system"]: row for row in rows(report, "table-5")}
    assert list(by_name) == ["rules", "C1"]
    assert by_name["rules"]["P"] == pytest.approx(75)
    assert by_name["rules"]["R"] == pytest.approx(100 * (0.5 + 0.5 + 1) / 4)
    assert by_name["C1"]["gain on rules"] == pytest.approx(by_name["C1"]["F1"] - by_name["rules"]["F1"])
    assert by_name["C1"]["gain from"] <= by_name["C1"]["gain on rules"] <= by_name["C1"]["gain to"]
    assert by_name["rules"]["gain on rules"] is None
    note = next(one.note for one in report.tables() if one.name == "table-5")
    assert "nothing can pass 75.0: 1 of 4 are empty" in note


def test_table_6_counts_opinions_that_no_lexicon_holds_and_how_many_are_right(report: Report) -> None:
    test = rows(report, "table-6")[0]
    assert (test["split"], test["model"], test["triplets"], test["out of lexicon"]) == ("test", "self-train-C", 4, 1)
    assert test["‰"] == pytest.approx(250)
    assert (test["YY"], test["YN"], test["NX"], test["right %"]) == (1, 0, 0, 100)


def test_figure_6_sets_the_discriminator_against_people(report: Report) -> None:
    """Right are five (冰裂裂 called NX); the soup called bad is YN, the service called tasty NX."""
    found = {
        str(row[next(iter(row))]): [row[f"discriminator {label}"] for label in ("YY", "YN", "NX")]
        for row in rows(report, "figure-6")
    }
    assert found == {"YY": [4, 0, 1], "YN": [1, 0, 0], "NX": [1, 0, 0]}
    note = next(one.note for one in report.tables() if one.name == "figure-6")
    assert "catches 0 of 2 (0%) wrong candidates and keeps 4 of 5 (80%) right ones" in note


def test_figure_7_is_the_training_set_round_by_round(report: Report) -> None:
    expected = [("self-train-C, round 0", 100), ("self-train-C, round 1", 120)]
    assert [tuple(row.values()) for row in rows(report, "figure-7")] == expected


def test_what_went_in_is_what_came_out_or_was_left_out(report: Report) -> None:
    flow = {row["step"]: row["number"] for row in rows(report, "in-and-out")}
    assert flow["rows read"] == flow["rejected"] + flow["repeat another review"] + flow["distinct reviews"] == 10
    left = {row["stage: reason"]: (row["number"], row["of"]) for row in rows(report, "rejects")}
    ingested = ("ingest: empty", "ingest: no-han", "ingest: duplicate, exact")
    assert left == {"self_train: replaced": (1, "triplets"), **dict.fromkeys(ingested, (1, "rows"))}
    assert {row["file"] for row in rows(report, "by-lexicon")} == {"aspects/food.tsv", "opinions/taste.tsv"}


# ---- labels of pools


def test_the_first_section_says_what_is_praised_and_criticised_most_and_where(built: Built, tmp_path: Path) -> None:
    workdir = built.copy(tmp_path)
    with db.writing(workdir) as connection, db.atomic(connection):
        connection.execute("UPDATE reviews SET place = CASE WHEN id % 3 THEN '東店' ELSE '西店' END")
    with db.reading(workdir) as connection:
        report = collect(connection, load_lexicon(), Settings(samples=0), make_engine(load_lexicon(), load_rules()))
        counted = connection.execute(
            "SELECT polarity, aspect, count(*) FROM released_triplets WHERE polarity <> 'NEU' GROUP BY 1, 2"
        ).fetchall()
        by_place = connection.execute(
            "SELECT r.place, count(*) FROM released_triplets t JOIN reviews r ON r.id = t.review GROUP BY 1"
        ).fetchall()
    assert report.sections[0].name == "glance"
    for name, polarity in (("likes", "POS"), ("dislikes", "NEG")):
        due = sorted((times for label, _, times in counted if label == polarity), reverse=True)[:10]
        assert [row["times"] for row in rows(report, name)] == due
        assert all(re.match(r"\S+ \d", row["in these words"]) for row in rows(report, name))
    assert {row["place"]: row["triplets"] for row in rows(report, "places")} == dict(by_place)


def test_both_scripts_of_an_aspect_and_its_words_count_as_one() -> None:
    judged = [("服務", "親切", 3), ("湯", "好喝", 4), ("服务", "亲切", 2)]
    assert _top(judged, 1) == (("服務", 5, "親切 5"),)
    rare_first = [("汤", "不热", 2), ("湯", "不熱", 1), ("湯", "鹹", 5)]
    assert _top(rare_first, 1) == (("湯", 8, "鹹 5、不热 3"),), "the form that is written more in all"
    places = [("甲", "汤", "POS", 2), ("乙", "湯", "POS", 3)]
    assert [row[3] for row in _places(places)] == ["湯 3", "湯 2"]


def label_pool(workdir: Path) -> None:
    """Two reviews of the test split: three candidates that three have labelled, and one that nobody had proposed."""
    with db.writing(workdir) as connection, db.atomic(connection):
        run = connection.execute
        run("INSERT INTO pools VALUES ('p1', 13, 'test', '{}', 'd', '2026-01-01')")
        run("INSERT INTO pool_reviews VALUES (1, 'p1', 1, 'r4', '湯頭好喝，服務慢', NULL, '')")
        run("INSERT INTO pool_reviews VALUES (2, 'p1', 2, 'r5', '沒有意見', NULL, '')")
        spans = {"湯頭": [[0, 2]], "好喝": [[2, 4]], "服務": [[5, 7]], "慢": [[7, 8]]}
        proposed = [(1, "湯頭", "好喝", "POS"), (2, "服務", "慢", "POS"), (3, "服務", "好喝", "POS")]
        for i, (n, aspect, opinion, polarity) in enumerate([*proposed, (None, "湯頭", "慢", "NEG")], start=1):
            places = {"aspect": spans[aspect], "opinion": spans[opinion]}
            at = json.dumps(places | {f"{part}_full": place for part, place in places.items()})
            values = (i, n, f"n{i}", aspect, aspect, opinion, opinion, polarity, at)
            run("INSERT INTO candidates VALUES (?,1,?,?,?,?,NULL,?,?,?,5,?)", values)
        for candidate, source in ((1, "rules"), (1, "C3"), (2, "rules"), (3, "C3")):
            run("INSERT INTO candidate_sources VALUES (?,?,NULL)", (candidate, source))
        people = {"ann": "human", "bob": "human", "<i>gpt</i>": "llm", "discriminator": "discriminator"}
        for i, (name, kind) in enumerate(people.items(), start=1):
            run("INSERT INTO annotators VALUES (?,?,?)", (i, name, kind))
        said = {1: ["YY", "YN", "NX", "YY"], 2: ["YY", "YN", "NX"], 3: ["YY", "NX", "NX"], 4: ["YY", "YY", "NX"]}
        for annotator, labels in said.items():
            for candidate, label in enumerate(labels, start=1):
                polarity = "NEG" if label == "YN" and annotator < 3 else None
                run("INSERT INTO labels VALUES (?,?,?,?,NULL,'','t','t')", (candidate, annotator, label, polarity))


@pytest.fixture(scope="module")
def labelled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    workdir = fill(tmp_path_factory.mktemp("labelled"), gold=False)
    label_pool(workdir)
    return workdir


def test_table_4_measures_every_method_by_what_people_decided(labelled: Path) -> None:
    by_name = {row["method"]: row for row in rows(collected(labelled), "table-4")}
    assert set(by_name) == {"all taken as right", "ann", "bob", "<i>gpt</i>", "discriminator"}
    assert [by_name["all taken as right"][label] for label in ("YY", "YN", "NX")] == [3, 0, 0]
    assert by_name["all taken as right"]["(a, o) right %"] == pytest.approx(200 / 3)
    assert by_name["all taken as right"]["(a, o, p) right %"] == pytest.approx(100 / 3)
    assert by_name["ann"]["(a, o, p) right %"] == 100
    assert by_name["discriminator"]["(a, o) right %"] == 100
    assert by_name["discriminator"]["(a, o, p) right %"] == pytest.approx(200 / 3)


def test_labels_become_gold_with_their_corrections_and_what_nobody_proposed(labelled: Path) -> None:
    with db.reading(labelled) as connection:
        people, model = find_yardsticks(connection)
    assert people.gold == {"r4": [("湯頭", "好喝", "POS"), ("服務", "慢", "NEG"), ("湯頭", "慢", "NEG")], "r5": []}
    assert people.systems["rules"]["r4"] == [("湯頭", "好喝", "POS"), ("服務", "慢", "POS")]
    assert people.verdicts == (("YY", "YY"), ("YN", "YY"), ("NX", "NX"))
    assert model.gold["r4"] == [("湯頭", "好喝", "POS")]


# ---- the page


class Tags(HTMLParser):
    """Every tag with its attributes, and the text outside style."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.said = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.said += data


@pytest.fixture(scope="module")
def html(report: Report) -> str:
    return page(report)


def test_reviews_cannot_put_markup_or_direction_into_the_page(html: str) -> None:
    tags = Tags(html)
    assert not {"script", "img", "iframe", "object", "link", "base", "form", "b", "embed"} & {
        tag for tag, _ in tags.tags
    }
    assert not [(tag, name) for tag, attributes in tags.tags for name in attributes if name.startswith("on")]
    shown = re.sub(r"\s+", " ", tags.said)
    assert "<script>alert(1)</script>" in shown, "the text is shown as it is"
    assert "⟨U+202E⟩" in shown
    assert not re.search("[\u202a-\u202e\u2066-\u2069\u200e\u200f\x00-\x08]", html)
    assert "<b>mine</b>" in shown


def test_the_page_needs_no_network_and_shows_no_path_of_the_machine(html: str) -> None:
    assert "default-src 'none'" in html
    for _, attributes in Tags(html).tags:
        for name in ("src", "href", "xlink:href", "action"):
            assert (attributes.get(name) or "#").startswith("#"), attributes
    assert not re.search(
        r"url\((?!#)|@import|/some/where|(?<!w3\.org)//\w+\.\w+/", html.replace("http://www.w3.org", "")
    )


def test_every_id_is_there_once_and_every_link_leads_somewhere(html: str) -> None:
    tags = Tags(html).tags
    ids = [attributes["id"] for _, attributes in tags if "id" in attributes]
    assert len(ids) == len(set(ids))
    assert {(attributes.get("href") or "")[1:] for tag, attributes in tags if tag in ("a", "use")} <= set(ids)


def test_examples_leave_out_what_privacy_would_mask_and_mark_aspects_and_opinions(report: Report, html: str) -> None:
    listed = next(section.examples for section in report.sections if section.examples)
    assert "r6" not in {one.key for one in listed}
    assert "0912345678" not in html
    assert re.search(r'<span class="a ">湯頭</span><span class="POS">好喝</span>', html)
    assert "rules discriminator C1 gold" in {one.sources for example in listed for one in example.triplets}


def test_the_same_database_gives_the_same_bytes(workdir: Path, html: str, report: Report) -> None:
    again = collected(workdir)
    assert again == report
    assert page(again) == html
    assert written.text(again) == written.text(report)


def test_without_gold_and_models_the_report_says_what_is_missing_and_how_to_get_it(tmp_path: Path) -> None:
    bare = collected(fill(tmp_path / "bare", models=False, gold=False))
    missing = {table.name: table.missing for table in bare.tables() if not table.rows}
    assert "`builder gold pool`" in missing["table-4"]
    assert "evaluate.gold" in missing["figure-6"]
    assert "self_train.variants" in missing["rounds"]
    assert "`builder run discriminate`" in missing["verdicts"]
    assert all(missing.values())
    text = Tags(page(bare)).said
    assert "builder run self_train" in text


def test_a_build_that_has_only_begun_has_a_report_too(tmp_path: Path) -> None:
    with db.writing(tmp_path):
        pass
    empty = collected(tmp_path)
    assert all(not table.rows or table.name == "signatures" for table in empty.tables())
    assert page(empty).startswith("<!DOCTYPE html>")
    assert written.text(empty).startswith("# restaurant-aste")


def test_a_real_build_reports_itself(built: Built, here: Command, tmp_path: Path) -> None:
    ran = here("report", "--workdir", built.workdir, "--out", tmp_path / "a.html", "--samples", "20")
    assert ran.code == 0, ran.err
    assert re.fullmatch(r".*a\.html: 12 sections, \d+ tables, \d+ without data yet, \d+ kB\n", ran.out)
    text = Tags((tmp_path / "a.html").read_text(encoding="utf-8")).said
    assert "gold (not stated who labelled)" in text
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.html"]


# ---- Markdown, CSV, SQLite


def test_markdown_takes_every_text_literally(report: Report) -> None:
    text = written.text(report)
    assert "\u202e" not in text
    assert "<script>" not in text
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in text
    assert not re.search(r"[^\\]\]\(", text)
    assert r"\| a \| \`code\` \[link\](javascript:x)" in text
    columns = {line.count("|") - line.count("\\|") for line in text.splitlines() if line.startswith("| split")}
    assert columns, "the tables are there"


def test_data_writes_csv_markdown_and_the_numbers_into_the_database(here: Command, tmp_path: Path) -> None:
    workdir = fill(tmp_path / "w")
    for _ in range(2):
        ran = here("report", "--workdir", workdir, "--data", tmp_path / "data", "--samples", "20")
        assert ran.code == 0, ran.err
    names = {path.name for path in (tmp_path / "data").iterdir()}
    assert {*(f"table-{n}.csv" for n in (1, 2, 3, 5, 6)), "figure-6.csv", "rounds.csv", "tables.md"} <= names
    assert not (workdir / "report.html").exists()
    listed = list(csv.DictReader(io.StringIO((tmp_path / "data" / "table-2.csv").read_text(encoding="utf-8"))))
    assert listed[0] == {"split": "train", "reviews": "2", "triplets": "4", "POS": "2", "NEG": "2", "NEU": "0"}
    statement = """SELECT value FROM report_cells WHERE "table" = 'table-2' AND "column" = 'POS' ORDER BY line"""
    kept = json.loads(here("sql", statement, "--format", "json", "--workdir", workdir).out)
    assert [row["value"] for row in kept] == [2, 1, 3]


def test_markdown_goes_to_the_terminal_and_nothing_to_the_disk(here: Command, workdir: Path) -> None:
    before = sorted(path.name for path in workdir.iterdir())
    ran = here("report", "--workdir", workdir, "--markdown", "--samples", "0")
    assert ran.out.startswith("# ")
    assert "## How good it is, by gold" in ran.out
    assert sorted(path.name for path in workdir.iterdir()) == before


def test_a_cell_that_a_spreadsheet_would_compute_is_text() -> None:
    table = Table("t", "t", ("a", "b"), (("=1+1", "-3.5 to +2"), ("@x", "\u202e+cmd|calc"), ("+x", None)))
    assert written.as_csv(table).decode() == "a,b\n'=1+1,-3.5 to +2\n'@x,⟨U+202E⟩+cmd|calc\n'+x,\n"


def test_report_of_nothing_and_into_nowhere_is_one_line(here: Command, workdir: Path, tmp_path: Path) -> None:
    assert here("report", "--workdir", tmp_path / "none").error.startswith(f"{tmp_path / 'none'}: no database here")
    (tmp_path / "no").write_text("in the way")
    assert (
        str(tmp_path / "no")
        in here("report", "--workdir", workdir, "--out", tmp_path / "no" / "a.html", "--samples", "0").error
    )


# ---- texts


def test_what_cannot_be_seen_is_shown_as_its_code() -> None:
    assert visible("a\u202eb\u200bc\x1b[31m\ud800") == "a⟨U+202E⟩b⟨U+200B⟩c⟨U+001B⟩[31m⟨U+D800⟩"
    assert visible("好\n吃\t👨\u200d🍳\ufe0f\U00020bb7") == "好⏎吃 👨\u200d🍳\ufe0f\U00020bb7"
    assert markdown("# a_b _c_ ~~d~~") == "\\# a_b \\_c\\_ \\~\\~d\\~\\~"
    assert markdown("@me www.x.y *a* <b>") == "&#64;me www&#46;x.y \\*a\\* &lt;b&gt;"


def test_pieces_of_a_text_are_the_text_and_follow_discontinuous_spans() -> None:
    text = "湯不會太鹹"
    parts = list(pieces(text, (Marked("湯", "不會鹹", "POS", ((0, 1),), ((1, 3), (4, 5)), "rules"),)))
    assert "".join(part for part, _, _ in parts) == text
    assert parts == [("湯", True, ""), ("不會", False, "POS"), ("太", False, ""), ("鹹", False, "POS")]
    assert list(pieces("", ())) == []


def test_an_aspect_with_a_persons_name_is_shown_nowhere(here: Command, tmp_path: Path) -> None:
    texts = ["老闆娘林淑芬小姐人很好", "湯很好喝，老闆娘很親切", "湯很好喝"]
    made = [{"text": text, "place": place} for text, place in zip(texts, ("大安店", "信義店", "大安店"), strict=True)]
    build(made, workdir=tmp_path / "w", out=tmp_path / "out", profile="rules", workers=1)
    with sqlite3.connect(tmp_path / "w" / "builder.db") as connection:
        assert connection.execute("SELECT count(*) FROM triplets WHERE aspect GLOB '*林淑芬*'").fetchone() == (0,)
        named = connection.execute("UPDATE triplets SET aspect = '林淑芬小姐' WHERE aspect = '小姐'")  # as a model may
        assert named.rowcount == 1
    shown = here("report", "--workdir", tmp_path / "w", "--markdown").out
    assert "老闆娘" in shown and "林淑芬" not in shown


# ---- quality


GOLD: Answers = {
    "a": [("湯頭", "好喝", "POS"), ("服務", "慢", "NEG")],
    "b": [("甜點", "太甜", "NEG")],
    "c": [],
}
RULES: Answers = {
    "a": [("湯頭", "好喝", "NEG"), ("環境", "慢", "NEG")],
    "b": [("甜點", "便宜", "POS")],
    "c": [("早餐", "可惜", "NEG")],
}


def test_every_mistake_has_its_kind_and_the_gold_it_comes_nearest_to() -> None:
    yardstick = Yardstick("gold", "test", True, GOLD, {"rules": RULES}, (), {})
    found = [(kind, review, answer and answer[0], gold and gold[0]) for kind, review, answer, gold in
             find_mistakes(yardstick, "rules")]  # fmt: skip
    assert found == [
        ("polarity", "a", "湯頭", "湯頭"),
        ("aspect", "a", "環境", "服務"),
        ("missed", "a", None, "服務"),
        ("opinion", "b", "甜點", "甜點"),
        ("missed", "b", None, "甜點"),
        ("nothing", "c", "早餐", None),
    ]


def test_a_wrong_polarity_that_people_named_is_none_of_the_other_kinds() -> None:
    """They may say YN without the right polarity: gold then holds nothing of the pair."""
    judged = {("c", "早餐", "可惜", "NEG"): "YN"}
    yardstick = Yardstick("people", "test", True, {"c": []}, {"rules": {"c": RULES["c"]}}, (), judged)
    assert [kind for kind, *_ in find_mistakes(yardstick, "rules")] == ["polarity"]


@pytest.fixture(scope="module")
def with_gold(tmp_path_factory: pytest.TempPathFactory) -> Report:
    return collected(fill(tmp_path_factory.mktemp("gold")))


@pytest.fixture(scope="module")
def without(tmp_path_factory: pytest.TempPathFactory) -> Report:
    return collected(fill(tmp_path_factory.mktemp("none"), models=False, gold=False))


def test_mistakes_are_counted_and_quoted_where_there_is_gold(with_gold: Report) -> None:
    counts = {row["kind"]: row for row in rows(with_gold, "mistakes")}
    assert counts["missed"]["of rules"] == 2
    assert counts["opinion given to another aspect"]["of C1"] == 1
    quoted = rows(with_gold, "mistake-examples")
    assert quoted and not any("0912345678" in row["review"] for row in quoted)
    assert "<script>" not in page(with_gold)


def test_without_gold_nothing_is_called_quality(without: Report) -> None:
    titles = {section.name: section.title for section in without.sections}
    assert titles["scores"] == "Agreement of models and rules, which is not quality"
    assert not next(table for table in without.tables() if table.name == "mistakes").rows
    assert "nobody knows which triplets are wrong" in text(without)


def test_the_page_for_the_place_comes_before_that_for_the_data(with_gold: Report) -> None:
    assert [(section.name, section.part) for section in with_gold.sections if section.part] == [
        ("glance", "For the owner"),
        ("in-and-out", "For users of the data"),
    ]
    written = page(with_gold)
    assert written.index("For the owner") < written.index('id="glance"') < written.index('id="in-and-out"')


def test_rules_stand_side_by_side_with_accuracy_where_gold_knows_it(
    tmp_path: Path, with_gold: Report, without: Report
) -> None:
    with db.reading(fill(tmp_path)) as connection:
        right, known = _judged(connection, find_yardsticks(connection)[0])
    assert (known["subject"], right["subject"]) == (4, 4)
    analysis = next(table for table in without.tables() if table.name == "rule-analysis")
    assert "Accuracy is not known: no gold." in analysis.note
    measured = next(table for table in with_gold.tables() if table.name == "rule-analysis")
    assert "right by gold (not stated who labelled)" in measured.note


# ---- the report in a browser


_LIKED = tuple((f"湯{n}", 30 - n, "好喝 3、濃郁 2、香 1") for n in range(10))
_WORDS = ("紅燒牛肉麵 3、小籠湯包 2、冰糖紅豆豆花 1", "服務 3、等候時間 1")
_PLACES = tuple((f"店{n}", 90 - n, 60.0, *_WORDS) for n in range(8))
_BARS = ("aspect", "times", "in these words")
REPORT = Report(
    "a dataset",
    "found by rules",
    (("25", "places"),),
    (
        Section(
            "glance",
            "At a glance",
            "Machines read the reviews.",
            (
                Table("likes", "What customers like", _BARS, _LIKED, look="bars"),
                Table("dislikes", "What customers criticise", _BARS, _LIKED, look="bars"),
                Table("places", "Place by place", ("place", "triplets", "positive %", "liked", "criticised"), _PLACES),
            ),
            part="For the owner",
        ),
    ),
    "made by builder",
)
WITH_MORE = replace(
    REPORT,
    sections=(
        *REPORT.sections,
        Section(
            "rounds",
            "Self-training",
            "One round.",
            (Table("round", "Rounds", ("model", "new", "right %"), (("E0", 78, None), ("E1", 9, None))),),
        ),
        Section("mistakes", "Mistakes", "By kind.", (Table("kinds", "Kinds", ("kind",), (), missing="See `gold`."),)),
    ),
)


@pytest.fixture
def shown(tmp_path: Path, browser: Browser) -> Browser:
    """A browser that shows the report."""
    pytest.importorskip("jinja2", reason="the extra report is not installed")
    (tmp_path / "report.html").write_text(page(REPORT), encoding="utf-8")
    browser.open((tmp_path / "report.html").as_uri())
    return browser


def test_on_a_telephone_words_of_a_table_have_room(shown: Browser) -> None:
    shown.size(390, 800)
    widths = shown.run("[...document.querySelectorAll('#places td:not(.n)')].map(td => td.clientWidth)")
    assert min(widths) >= 140
    assert shown.run("document.documentElement.scrollWidth") == 390


def test_what_a_manager_reads_is_one_sheet_of_paper(shown: Browser) -> None:
    """Likes stand beside dislikes, places below them, and the last line is on no sheet of its own."""
    answer = shown.call("Page.printToPDF", printBackground=True, paperWidth=8.27, paperHeight=11.69)
    assert len(re.findall(rb"/Type\s*/Page\b", base64.b64decode(answer["data"]))) == 1
    shown.call("Emulation.setEmulatedMedia", media="print")
    tops = shown.run("['likes', 'dislikes'].map(id => document.getElementById(id).getBoundingClientRect().top)")
    assert tops[0] == tops[1]


@pytest.mark.parametrize(("width", "beside"), [(1400, True), (1220, True), (1000, False), (390, False)])
def test_narrow_tables_stand_beside_each_other_where_there_is_room(width: int, beside: bool, shown: Browser) -> None:
    """Likes beside dislikes, and nothing wider than the screen; the wide table of places has the whole line."""
    shown.size(width, 900)
    likes, dislikes, places, section = shown.run(
        "['likes', 'dislikes', 'places', 'glance'].map(id => document.getElementById(id).getBoundingClientRect())"
        ".map(box => [box.top, box.left, box.width])"
    )
    assert (likes[0] == dislikes[0] and likes[1] < dislikes[1]) is beside
    assert places[0] > dislikes[0] and (places[2] == section[2] or not beside)
    assert shown.run("document.documentElement.scrollWidth") <= width


def test_a_table_alone_stands_beside_the_words_about_it_where_there_is_room(shown: Browser, tmp_path: Path) -> None:
    (tmp_path / "more.html").write_text(page(WITH_MORE), encoding="utf-8")
    shown.open((tmp_path / "more.html").as_uri())
    script = "['rounds', 'round'].map(id => document.querySelector(`#${id} h2, div#${id}`).getBoundingClientRect())"
    for width, beside in ((1400, True), (1000, False)):
        shown.size(width, 900)
        title, table = shown.run(f"{script}.map(box => [box.top, box.left])")
        assert (title[0] == table[0] and title[1] < table[1]) is beside


def test_what_is_not_there_stands_together_at_the_end_and_no_column_is_empty() -> None:
    pytest.importorskip("jinja2", reason="the extra report is not installed")
    written = page(WITH_MORE)
    assert re.findall(r'<section id="(\w+)"', written) == ["glance", "rounds", "absent"]
    assert "right %" not in written and "<bdi>See gold.</bdi>" in written


def test_only_tables_that_fit_into_half_of_the_page_are_narrow() -> None:
    pytest.importorskip("jinja2", reason="the extra report is not installed")
    narrow = re.findall(r'class="block half" id="(\w+)"', page(REPORT))
    assert narrow == ["likes", "dislikes"]
