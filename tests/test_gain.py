"""`builder gold gain`: what labels teach words, rules and weights, and the gain on reviews that taught nothing."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path

import pytest
from conftest import Command, write_lines

from builder.cli.gold import _print_gain
from builder.core.errors import InputError
from builder.engine.reader import Recipe, extract, make_reader
from builder.gold.metrics.scores import Answer
from builder.language.lexicon.folders import Folders, folders_in
from builder.language.lexicon.packs import find_model
from builder.models.combiner import Combiner
from builder.models.shipped import open_model
from builder.models.text_reading import place_of
from builder.pipeline.judging import shipped_holder
from builder.teaching.gain import (
    SWITCHES,
    BorderHabit,
    GainRow,
    MeanScore,
    MeasuredGain,
    PartGain,
    _Trial,
    choose_borders,
)
from builder.teaching.label_sources import forget, read_labels, teach, untaught
from builder.teaching.lessons import SharedJudge, learn_aspects, read_taught

DISHES = ("湯頭", "牛肉麵", "滷味", "紅茶", "水餃", "炒飯", "咖哩", "豬排")


def write_gold(path: Path, number: int = 24, pattern: str = "{n}號桌的{first}配{second}，真的好吃") -> Path:
    """Reviews in which an opinion is said of the first dish, at the end of a clause of praise."""
    rows = []
    for n in range(number):
        first, second = DISHES[n % 8], DISHES[(n * 3 + 1) % 8]
        text = pattern.format(n=n, first=first, second=second)
        at, opinion = text.index(first), text.index("好吃")
        triplet = {"aspect": first, "aspect_spans": [[at, at + len(first)]], "opinion": "好吃",
                   "opinion_spans": [[opinion, opinion + 2]], "polarity": "POS"}  # fmt: skip
        rows.append({"id": f"r{n}", "text": text, "triplets": [triplet]})
    return write_lines(path, rows)


SEEN = [
    [1.0, *polarity, 2.0, 1.0, 0.9, -4.0, -4.0, 2.0, 2.0, 2.0, -0.1, 2.0, 0.9]
    for polarity in ((0.0, 1.0, 0.0), (1.0, 0.0, 0.0))
]
"""A triplet of blame and one of praise, of which rules and reader are as sure."""


@pytest.fixture(scope="module")
def shipped() -> Combiner:
    combiner = open_model(find_model("none") or Path()).combiner
    assert combiner
    return combiner


def chance(combiner: Combiner, numbers: list[float]) -> float:
    odds = sum(weight * number for weight, number in zip(combiner.weights, numbers, strict=True)) + combiner.offset
    return 1 / (1 + math.exp(-odds))


def test_labels_move_the_weights_of_rules_and_reader_as_far_as_there_are_labels(shipped: Combiner) -> None:
    few, many = (shipped.adapt(SEEN * number, [False, True] * number) for number in (3, 60))
    assert chance(many, SEEN[0]) < chance(few, SEEN[0]) < chance(shipped, SEEN[0])
    assert chance(many, SEEN[0]) < 0.45 < 0.8 < chance(many, SEEN[1])
    assert many == shipped.adapt(SEEN * 60, [False, True] * 60) and shipped.adapt([], []) == shipped


def test_the_gain_is_shown_for_each_size(here: Command, tmp_path: Path) -> None:
    gold = write_gold(tmp_path / "gold.jsonl", pattern="{n}號桌的{first}真的好吃，配的是{second}")
    ran = here("gain", "--gold", gold, "--splits", "2")
    assert ran.code == 0, ran.err
    assert "24 labelled reviews, 2 random halves" in ran.out
    assert ran.out.splitlines()[2].split()[0] == "12"
    named = [line.split("  ")[0] for line in ran.out.splitlines()]
    assert {"aspects", "weights", "release.whole_products=drop"} <= set(named)
    assert "the labels move no weights: F1 stays" in ran.out.splitlines(), "rules and reader find all of it"


@pytest.mark.parametrize(
    ("parts", "by_weights", "lines"),
    [
        (("aspects", "weights"), 0.0, ["the labels move no weights: F1 stays"]),
        (("aspects", "weights"), -0.04, ["the labels move no weights: F1 stays"]),
        (("aspects", "weights"), -1.26, ["the labels move no weights: F1 would be 1.3 lower"]),
        (("aspects", "weights"), 0.5, []),
        (("aspects",), 0.0, []),
    ],
)
def test_what_the_labels_say_of_weights_and_switches(
    parts: tuple[str, ...], by_weights: float, lines: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    score = MeanScore(50.0, 50.0, 50.0)
    switches = (PartGain(SWITCHES[1], (0.5, 1.5)), PartGain(SWITCHES[2], (0.5, 0.0)))
    named = tuple(PartGain(name, (0.0, 0.0)) for name in parts)
    habit = BorderHabit((("modifiers", "drop"), ("lead", "clause")), 30.0, 33.25)
    measured = MeasuredGain((GainRow(12, score, score, (0.0, 0.0)),), 24, 0, named, switches, by_weights, habit)
    _print_gain(measured, 2, as_json=False)
    out = capsys.readouterr().out
    last = out[out.index(SWITCHES[2]) :].splitlines()[1:]
    borders = (
        "your labels begin and end elsewhere: `--set release.modifiers=drop --set release.lead=clause`; "
        "exact F1 of the longest forms rises from 30.0 to 33.2 on these same reviews; less on others"
    )
    assert last == [*lines, "your labels speak for `--set release.passable=POS`", borders]


def test_borders_are_chosen_where_labels_of_most_reviews_ask_for_them(tmp_path: Path) -> None:
    reader = make_reader(Recipe(folders=Folders(domain="none")))
    rows = [
        {"id": f"r{n}", "text": f"{n + 1}樓，這個電池很好用啊", "triplets": [
            {"aspect": "電池", "opinion": opinion, "polarity": "POS"}
        ]}
        for n, opinion in enumerate(["很好用"] * 20 + ["很好用啊"] * 5)
    ]  # fmt: skip
    path = tmp_path / "gold.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    taught = read_taught(read_labels(path).rows, path, reader)
    extracted = {review.key: extract(reader.engine, review.reading) for review in taught}
    assert {(t.aspect_full.text, t.opinion_full.text) for own in extracted.values() for t in own} == {
        ("這個電池", "很好用")
    }
    assert choose_borders(taught, extracted) == BorderHabit((("modifiers", "unpointed"),), 0.0, 80.0)
    others = choose_borders(taught[20:], extracted)
    assert others == BorderHabit((), 0.0, 0.0), "neither setting alone hits"
    moved = {key: [replace(one, aspect_full=one.aspect) for one in own] for key, own in extracted.items()}
    assert choose_borders(taught, extracted, moved) == BorderHabit((), 0.0, 80.0, 0.0), "nothing is left to move"


def test_edges_that_labels_ask_for_are_said_and_taught(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    score = MeanScore(50.0, 50.0, 50.0)
    for habit, message in (
        (BorderHabit((), 30.0, 31.0, 0.0), "elsewhere: edges of the reader more often by `--teach`; exact F1"),
        (
            BorderHabit((("lead", "clause"),), 30.0, 31.0, 0.0),
            "elsewhere: `--set release.lead=clause` and edges of the reader more often by `--teach`; exact F1",
        ),
    ):
        measured = MeasuredGain((GainRow(12, score, score, (0.0,)),), 24, 0, (), (), 0.0, habit)
        _print_gain(measured, 1, as_json=False)
        assert message in capsys.readouterr().out
    gold, work, shipped = write_gold(tmp_path / "gold.jsonl"), tmp_path / "work", find_model("restaurant") or Path()
    work.mkdir()
    teach(read_labels(gold).rows, gold, work, weighed=False, edge_margin=0.0)
    model, below = open_model(folders_in(work).model or Path()), open_model(shipped)
    assert model.combiner == replace(below.combiner, edge_margin=0.0)
    assert model.limits == below.limits, "weights of labels alone change the limits"
    assert forget(work) is not None and folders_in(work).model == shipped


def write_praise(path: Path, number: int = 60) -> Path:
    """Reviews in which people labelled praise and left out blame."""
    rows = []
    for n in range(number):
        good, bad = DISHES[n % 8], DISHES[(n + 3) % 8]
        label = {"aspect": good, "opinion": "好吃", "polarity": "POS"}
        rows.append({"id": f"r{n}", "text": f"{n}號桌的{good}很好吃，{bad}很難吃", "triplets": [label]})
    return write_lines(path, rows)


def label_first(word: str, opinion: str, number: int) -> dict[str, object]:
    """A labelled review in which an opinion is said of the word it begins with."""
    start = len(word) + 2
    label = {"aspect": word, "aspect_spans": [[0, len(word)]], "opinion": opinion,
             "opinion_spans": [[start, start + len(opinion)]], "polarity": "POS"}  # fmt: skip
    return {"id": f"{word}{number}", "text": f"{word}真的{opinion}", "triplets": [label]}


def test_an_aspect_is_learnt_where_labels_of_two_reviews_name_it(here: Command, tmp_path: Path) -> None:
    rows = [label_first("啾啾仔", "好吃", n) for n in range(12)]
    rows += [{"id": f"r{n}", "text": f"叭叭在{n}號桌", "triplets": []} for n in range(12)]
    path, work = tmp_path / "gold.jsonl", tmp_path / "w"
    work.mkdir()
    write_lines(path, rows)
    ran = here("gain", "--gold", path, "--workdir", work, "--splits", "1", "--teach")
    assert ran.code == 0, ran.err
    assert "1 aspect learnt" in ran.out and "aspects learnt: 啾啾仔" in ran.out
    lexicon = folders_in(work).load_lexicon()
    assert "啾啾仔" in lexicon.aspects and "叭叭" not in lexicon.aspects


def test_an_aspect_of_one_review_or_of_few_of_its_reviews_is_not_learnt(tmp_path: Path) -> None:
    reader = make_reader(Recipe(folders=Folders(domain="none")))
    mentions = [{"id": f"m{n}", "text": f"唧唧板放在{n}樓", "triplets": []} for n in range(24)]
    rows = [
        *(label_first("唧唧板", "好看", n) for n in range(2)),
        *(label_first("啾啾仔", "好看", n) for n in range(2)),
    ]
    rows += [label_first("叭叭鈕", "好看", 1), label_first("XQD", "好看", 1), label_first("xqd", "好看", 2)]
    assert learn_aspects(read_taught([*rows, *mentions], tmp_path, reader), reader.lexicon).keys() == {"啾啾仔", "xqd"}


def test_a_new_aspect_has_the_class_of_the_learnt_one_that_it_ends_in(tmp_path: Path) -> None:
    reader = make_reader(Recipe(folders=Folders(domain="none")))
    words = ("啾啾仔", "大啾啾仔", "無線鍵盤")
    rows = [label_first(word, "好看", n) for word in words for n in range(2)]
    classes = learn_aspects(read_taught(rows, tmp_path, reader), reader.lexicon)
    assert classes == dict.fromkeys(words[:2], "thing.generic") | {"無線鍵盤": "part.device"}


def test_without_labels_or_a_working_directory_it_says_what_to_give(here: Command, tmp_path: Path) -> None:
    assert "give --gold FILE or --workdir FOLDER" in here("gain").err
    ran = here("gain", "--gold", write_gold(tmp_path / "gold.jsonl"), "--teach")
    assert ran.code == 2 and "name it with --workdir" in ran.err


@pytest.mark.parametrize("number", [10, 0])
def test_too_few_labels_are_an_error_that_says_how_many_are_needed(here: Command, tmp_path: Path, number: int) -> None:
    ran = here("gain", "--gold", write_gold(tmp_path / "gold.jsonl", number))
    assert ran.code == 2 and "too few" in ran.err


def test_labels_of_a_users_table_are_located_and_what_no_text_holds_is_counted(here: Command, tmp_path: Path) -> None:
    rows = [json.loads(line) for line in write_gold(tmp_path / "gold.jsonl").read_text(encoding="utf-8").splitlines()]
    lines = ["text,aspect,opinion,polarity"]
    for row in rows:
        (label,) = row["triplets"]
        lines.append(f"{row['text']},{label['aspect']},{label['opinion']},POS")
    lines += [f"{rows[0]['text']},不在這裡,好吃,POS", "這一則什麼都沒有提到,,,"]
    table = tmp_path / "mine.csv"
    table.write_text("\ufeff" + "\n".join(lines) + "\n", encoding="utf-8")
    labels = read_labels(table)
    assert [(label.where, label.reason) for label in labels.left_out] == [("line 26", "aspect not in the text")]
    assert [row["triplets"][0]["aspect_spans"] for row in labels.rows[:24]] == [
        row["triplets"][0]["aspect_spans"] for row in rows
    ]
    assert [row["wrong"] for row in labels.rows if "wrong" in row] == [[]], "one review is no longer read in full"
    assert labels.rows[24]["triplets"] == []
    assert "there is no domain and no folder 'inn'" in here("gain", "--gold", table, "--domain", "inn").err
    ran = here("gain", "--gold", table, "--splits", "1", "--domain", "none")
    assert ran.code == 0, ran.err
    assert "left out: 1 label; their reviews are not scored" in ran.err
    assert "  line 26: 不在這裡 好吃 POS: aspect not in the text" in ran.err
    assert "24 labelled reviews, 1 random halves" in ran.out and "triplets of 1 more reviews teach too" in ran.out


def test_labels_that_do_not_fit_their_reviews_teach_nothing(here: Command, tmp_path: Path) -> None:
    table, work = tmp_path / "mine.csv", tmp_path / "work"
    lines = [f"{n}號桌的湯頭很香,湯底,香,POS" for n in range(24)]
    table.write_text("\n".join(["text,aspect,opinion,polarity", *lines]) + "\n", encoding="utf-8")
    work.mkdir()
    ran = here("gain", "--gold", table, "--workdir", work, "--teach")
    assert ran.code == 2
    assert "24 of 24 labels do not fit their reviews (line 2: 湯底 香 POS: aspect not in the text" in ran.err
    assert not list(work.iterdir())


def test_labels_below_a_cell_with_a_line_break_are_named_by_their_lines(tmp_path: Path) -> None:
    table = tmp_path / "mine.csv"
    fit = '"湯\n好喝",湯,好喝,POS'
    table.write_text(f"text,aspect,opinion,polarity\n{fit}\n{fit}\n湯頭很香,湯底,香,POS\n", encoding="utf-8")
    assert [label.where for label in read_labels(table).left_out] == ["line 6"]
    table.write_text(f"text,aspect,opinion,polarity\n{fit}\n,湯底,香,POS\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"mine\.csv:4: a row has no text"):
        read_labels(table)
    table.write_text(f"id,text,aspect,opinion,polarity\n1,{fit}\n1,湯頭,湯頭,香,POS\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"mine\.csv:4: review '1' has two texts"):
        read_labels(table)


def test_a_label_of_any_length_and_equal_ones_are_named_by_their_own_rows(tmp_path: Path) -> None:
    table, long = tmp_path / "mine.csv", "這一句話不在評論裡" * 200
    fit = [f"{n}號桌的湯頭很香,湯頭,香,POS" for n in range(9)]
    lines = ["湯頭很香,湯底,香,POS", "湯頭很香,湯底,香,POS", f"湯頭很香,{long},香,POS", "甜點不錯, , ,"]
    table.write_text("\n".join(["text,aspect,opinion,polarity", *fit, *lines]) + "\n", encoding="utf-8")
    labels = read_labels(table)
    assert [label.where for label in labels.left_out] == ["line 11", "line 12", "line 13"]
    assert all(len(label.label) < 70 for label in labels.left_out)
    assert labels.left_out[-1].label == "這一句話不在評論裡這 … 不在評論裡 香 POS", "its opinion is shown in whole"
    assert [row["text"] for row in labels.rows][-1] == "甜點不錯" and "wrong" not in labels.rows[-1]


def test_an_aspect_that_labels_taught_is_taken_back_where_no_rule_changed(tmp_path: Path) -> None:
    words = tmp_path / "lexicon" / "aspects" / "imported_labels.tsv"
    words.parent.mkdir(parents=True)
    words.write_text("word\tclass\n啾啾仔\tfood.dish\n", encoding="utf-8")
    (tmp_path / "taught.json").write_text('{"rules": [], "labels": 25}\n', encoding="utf-8")
    assert "啾啾仔" in folders_in(tmp_path).load_lexicon().aspects
    with untaught(tmp_path) as folders:
        assert "啾啾仔" not in folders.load_lexicon().aspects
    taken = forget(tmp_path)
    assert taken and (taken.rules, taken.aspects, taken.reviews) == (0, 1, 25)


def test_a_table_with_semicolons_and_a_sheet_of_other_letters_is_read_alike(here: Command, tmp_path: Path) -> None:
    rows = [json.loads(line) for line in write_gold(tmp_path / "gold.jsonl").read_text(encoding="utf-8").splitlines()]
    texts, outputs = list[object](), list[str]()
    for name, mark in (("comma.csv", ","), ("semicolon.csv", ";"), ("tab.tsv", "\t")):
        lines = [mark.join(["Text", "Aspect", "Opinion", "Polarity"])]
        for row in rows:
            (label,) = row["triplets"]
            lines.append(mark.join([row["text"], label["aspect"], label["opinion"], label["polarity"]]))
        (tmp_path / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
        texts.append([(row["text"], row["triplets"]) for row in read_labels(tmp_path / name).rows])
    assert texts[0] == texts[1] == texts[2] and texts[0]
    for name in ("gold.jsonl", "tab.tsv"):
        outputs.append(here("gain", "--gold", tmp_path / name, "--splits", "1").out)
    assert "F1 before" in outputs[0] and outputs[0] == outputs[1], "neither format nor ids change the halves"


@pytest.mark.parametrize(
    ("name", "content", "fault"),
    [
        ("mine.xlsx", b"PK", "labels are JSON lines, CSV or TSV; save the sheet as CSV UTF-8"),
        ("mine.csv", "text\n很香".encode("utf-16"), "mine.csv:1: is not UTF-8; save it as CSV UTF-8"),
        ("mine.csv", b"review,aspect\n", "there is no column 'text'; it has review, aspect; columns: text, aspect"),
        ("mine.csv", b"text,aspect,opinion\n", "there is no column 'polarity'"),
        ("mine.csv", "text,aspect,opinion,polarity\n\n,湯,好喝,POS\n".encode(), "mine.csv:3: a row has no text"),
        ("mine.jsonl", "很香".encode("big5"), "mine.jsonl:1: is not UTF-8; save it as UTF-8"),
        ("mine.json", b'{"id": "a", "triplets": []}', "review a has no text"),
        ("mine.json", b"[{}]", "mine.json:1: no gold row: it has no id with a list of triplets; each line is"),
        ("mine.json", b"[\n{}]", "mine.json:1: no gold row: it is not JSON: "),
        ("mine.json", b'\xef\xbb\xbf{"id": 1}', "mine.json:1: no gold row: it has no id with"),
    ],
)
def test_a_file_without_labels_says_so(name: str, content: bytes, fault: str, here: Command, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(content)
    ran = here("gain", "--gold", tmp_path / name)
    assert ran.code == 2 and fault in ran.err, ran.err


def test_a_working_directory_that_is_taught_builds_with_it_and_forgets_it(here: Command, tmp_path: Path) -> None:
    gold, work = write_praise(tmp_path / "gold.jsonl"), tmp_path / "work"
    work.mkdir()
    before = folders_in(work)
    ran = here("gain", "--gold", gold, "--workdir", work, "--splits", "1", "--teach")
    assert ran.code == 0, ran.err
    assert "is taught by 60 reviews: 0 aspects learnt, rules and reader weighed by labels" in ran.out
    taught = folders_in(work)
    assert taught.model == work / "taught" and taught.model_digest != before.model_digest
    model = open_model(taught.model)
    assert model.digest == open_model(find_model("restaurant") or Path()).weigh_by(model.combiner).digest
    assert model.limits.dropped == model.limits.limit
    text, held = "1號桌的紅茶很好吃，水餃很難吃", []
    for folders in (before, taught):
        find, _ = shipped_holder(Recipe(folders=folders))
        held.append([(triplet.aspect.text, triplet.polarity) for triplet in find([text])[0]])
    assert held == [[("紅茶", "POS"), ("水餃", "NEG")], [("紅茶", "POS")]]
    kept = [json.loads(line) for line in (work / "taught.jsonl").read_text(encoding="utf-8").splitlines()]
    assert len(kept) == 60 and all(row["triplets"] and row["text"] for row in kept), "labels for the taggers"
    told = here("gain", "--gold", gold, "--workdir", work, "--splits", "1", "--teach", "--json")
    made = json.loads(told.out)
    assert list(made) == ["rows", "parts", "switches", "weighed", "by_weights", "borders"] and made["weighed"] is True
    assert len((work / "taught.jsonl").read_text(encoding="utf-8").splitlines()) == 60, "labels do not count twice"
    assert made["rows"][-1]["labels"] == 30 and made["by_weights"] > 0
    assert [part["name"] for part in made["parts"]] == ["aspects", "weights"]
    assert [switch["name"] for switch in made["switches"]] == list(SWITCHES)
    assert made["parts"][0] == {"name": "aspects", "mean": 0.0, "gains": [0.0]}
    assert "0 aspects learnt" in told.err and f"{work} is taught by 60 reviews" in told.err
    back = here("gain", "--workdir", work, "--forget").out
    assert back.startswith("taken back: 0 rules, 0 aspects and the labels of 60 reviews; `builder resume --workdir")
    assert "was taught nothing" in here("gain", "--workdir", work, "--forget").out
    nothing = here("gain", "--workdir", work, "--forget", "--json").out
    assert json.loads(nothing) == {"taken_back": {"rules": 0, "aspects": 0, "reviews": 0}}
    assert folders_in(work) == before
    assert not (work / "taught.jsonl").exists()


def test_rules_that_an_older_version_switched_off_are_taken_back(here: Command, tmp_path: Path) -> None:
    rule, own = tmp_path / "rules" / "attributive.toml", tmp_path / "rules" / "mine.toml"
    rule.parent.mkdir()
    for path in (rule, own):
        path.write_text("", encoding="utf-8")
    (tmp_path / "taught.json").write_text('{"rules": ["attributive"], "labels": 24}', encoding="utf-8")
    told = here("gain", "--workdir", tmp_path, "--forget").out
    assert told.startswith("taken back: 1 rule, 0 aspects and the labels of 24 reviews")
    assert own.exists() and not rule.exists()
    (tmp_path / "taught.json").write_text("{}", encoding="utf-8")
    broken = here("gain", "--workdir", tmp_path, "--forget")
    assert broken.code == 2 and "not readable: KeyError('labels')" in broken.err


@pytest.mark.parametrize(
    "record",
    [
        '{"rules": [], "labels": 1e999}', '{"rules": ["a", "b\\u0000"], "labels": 1}', '{"rules": "abc", "labels": 1}',
        '{"rules": ["a", "../../victim"], "labels": 1}', '{"rules": ["a", "..\\\\victim"], "labels": 1}',
        '{"rules": ["a", 7], "labels": 1}', '{"rules": {"a": 1}, "labels": 1}', '{"rules": ["\\ud800"], "labels": 1}',
    ],
)  # fmt: skip
def test_a_forged_record_of_what_was_taught_is_refused_and_deletes_nothing(
    record: str, here: Command, tmp_path: Path
) -> None:
    work = tmp_path / "work"
    files = [tmp_path / "victim.toml", *(work / "rules" / f"{name}.toml" for name in "abc7"), work / "taught.json"]
    (work / "rules").mkdir(parents=True)
    for path in files:
        path.write_text(record, encoding="utf-8")
    refused = here("gain", "--workdir", work, "--forget")
    assert refused.code == 2 and "taught.json: not readable: " in refused.err
    assert refused.err.rstrip().endswith("delete it, and teach again")
    assert all(path.exists() for path in files)


def test_a_triplet_that_is_refused_alone_moves_weights_and_says_nothing_of_the_others(tmp_path: Path) -> None:
    reader, model = make_reader(Recipe()), Folders().model
    assert model is not None
    rows = [json.loads(line) for line in write_gold(tmp_path / "gold.jsonl").read_text(encoding="utf-8").splitlines()]
    (label,) = rows[0]["triplets"]
    refused = {**rows[0], "triplets": [], "wrong": [label]}
    unjudged = {**rows[1], "triplets": [], "wrong": []}
    taught = read_taught([refused, unjudged], tmp_path, reader)
    judge = SharedJudge.read(model, taught, reader.engine)
    assert judge.learn(taught[:1], reader.engine) != judge.combiner
    assert judge.learn(taught[1:], reader.engine) == judge.combiner
    (found,) = reader.engine.extract(taught[0].reading.doc)
    moved = replace(found, opinion_full=found.aspect_full, aspect_full=found.opinion_full)
    before = judge.ask(taught[0].reading, [found])
    assert place_of(moved) in judge.ask(taught[0].reading, [moved]).odds
    assert judge.ask(taught[0].reading, [found]) == before, "what was asked before says nothing of other triplets"


def test_a_switch_is_tried_on_what_is_found() -> None:
    trial = _Trial(Folders(domain="none"), make_reader(Recipe(folders=Folders(domain="none"))), None)
    found: dict[str, list[Answer]] = {"a": [("東西", "好", "POS"), ("電池", "還可以", "POS")]}
    whole, good, plain = (trial.switch(name, found)["a"] for name in SWITCHES)
    assert whole == [("電池", "還可以", "POS")]
    assert good == found["a"] and plain == [("東西", "好", "POS"), ("電池", "還可以", "NEU")]
