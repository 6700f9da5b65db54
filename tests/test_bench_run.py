"""`builder bench`: what it reads, refuses, trains, keeps, and writes."""

from __future__ import annotations

import json
import random
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

import pytest
from click.testing import CliRunner
from conftest import LAYOUTS, Command

from builder.augment.bench import augmented, grid, labelled_texts
from builder.augment.bench.augmented import Augmented, Sources, by_method, of_file, of_sets, rewritten
from builder.augment.bench.classifiers import Means, chosen
from builder.augment.bench.grid import BenchPlan, BenchRequest, settings, training_rows
from builder.augment.bench.labelled_texts import (
    BenchRow,
    example,
    folded,
    held_out,
    item,
    language,
    normalised,
    refuse_shared,
    sentences,
    share,
)
from builder.augment.candidates import Edit, Mark, Rewrite, Sentence
from builder.cli.main import cli
from builder.core.errors import InputError
from builder.core.records import Element, Triplet

THINGS = ("screen", "soup", "waiter", "price", "mouse")
GOOD, BAD = ("great", "lovely", "fast"), ("awful", "slow", "bland")
PLACES = ("at noon", "in town", "on monday", "by the sea", "for two", "this time", "as ever")


def texts(n: int, seed: int, extra: str = "") -> list[tuple[str, str, str]]:
    """(text with $T$, aspect, polarity), each text once."""
    draw = random.Random(seed)
    out: dict[str, tuple[str, str, str]] = {}
    while len(out) < n:
        good, thing = draw.random() < 0.5, draw.choice(THINGS)
        text = f"the $T$ was {draw.choice(GOOD if good else BAD)} {draw.choice(PLACES)} {draw.randrange(1000)}{extra}"
        out[text] = text, thing, "Positive" if good else "Negative"
    return list(out.values())


def apc(path: Path, rows: list[tuple[str, str, str]]) -> Path:
    path.write_text("".join(f"{a}\n{b}\n{c}\n" for a, b, c in rows), encoding="utf-8")
    return path


def jsonl(path: Path, rows: list[dict[str, object]]) -> Path:
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    return path


def copied(rows: list[tuple[str, str, str]], copies: int) -> list[dict[str, object]]:
    """A trivial augmentation: a word in front."""
    out: list[dict[str, object]] = []
    for n, (text, thing, label) in enumerate(rows):
        for copy in range(copies):
            whole = f"{('well', 'so', 'now')[copy]} " + text.replace("$T$", thing)
            start = whole.index(thing)
            aspects = [{"text": thing, "spans": [[start, start + len(thing)]], "polarity": label}]
            out.append({"id": f"a{n}.{copy}", "text": whole, "aspects": aspects, "source": str(3 * n + 1)})
    return out


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("bench")
    train = texts(40, 1)
    apc(folder / "train.txt", train)
    apc(folder / "test.txt", texts(20, 2, " ok"))
    jsonl(folder / "front.jsonl", copied(train, 2))
    return folder


def options(data: Path, workdir: Path, **more: object) -> list[object]:
    chosen = {
        "task": "absc", "train": data / "train.txt", "test": data / "test.txt",
        "methods": f"none,{data / 'front.jsonl'}", "models": "cnn", "seeds": 2, "epochs": 2, "copies": "1,2",
        "workdir": workdir,
    } | more  # fmt: skip
    return ["bench", *(word for key, value in chosen.items() if value is not None for word in (f"--{key}", value))]


@pytest.fixture(scope="module")
def done(data: Path) -> tuple[Path, str]:
    ran = CliRunner().invoke(cli, [str(word) for word in options(data, data / "w")])
    assert ran.exit_code == 0, (ran.output, ran.exception)
    assert "front.jsonl: 80 augmented rows" not in ran.stderr, "rows of held-out sources are left out"
    return data / "w", ran.stdout


def test_a_bench_writes_table_numbers_and_figures(done: tuple[Path, str]) -> None:
    workdir, out = done
    names = ["bench.md", "bench.json", "bench-means.svg", "bench-copies.svg"]
    assert out.splitlines()[-1].endswith(": " + ", ".join(names))
    assert all((workdir / name).stat().st_size > 100 for name in names)
    told = json.loads((workdir / "bench.json").read_text(encoding="utf-8"))
    lines = told["lines"]
    assert [(line["method"], line["copies"]) for line in lines] == [("none", 0), ("front.jsonl", 1), ("front.jsonl", 2)]
    source, one, two = (line["rows"] for line in lines)
    assert one == 2 * source
    assert two == 3 * source
    assert len(told["cells"]) == 6
    for line in lines:
        own = [cell for cell in told["cells"] if all(cell[key] == line[key] for key in ("method", "copies"))]
        values = [cell["scores"]["accuracy"] for cell in own]
        assert line["spreads"]["accuracy"]["mean"] == pytest.approx(sum(values) / 2, abs=1e-4)
        assert line["spreads"]["accuracy"]["values"] == values
    assert "with 2 seeds p cannot be below 0.333" in out
    page = (workdir / "bench.md").read_text(encoding="utf-8")
    assert "front.jsonl ×2" in page and "](bench-means.svg)" in page and "](bench-copies.svg)" in page
    assert "http://www.w3.org/2000/svg" in (workdir / "bench-means.svg").read_text(encoding="utf-8")


def test_a_run_that_was_stopped_goes_on_and_gives_the_same(done: tuple[Path, str], data: Path, here: Command) -> None:
    workdir, out = done
    before = (workdir / "bench.md").read_bytes()
    files = sorted((workdir / "cells").glob("*.json"))
    assert len(files) == 6
    files[0].unlink()
    files[1].write_text('{"method": "no', encoding="utf-8")
    kept = {path: path.stat().st_mtime_ns for path in files[2:]}
    again = here(*options(data, workdir))
    assert again.out == out
    assert (workdir / "bench.md").read_bytes() == before
    assert {path: path.stat().st_mtime_ns for path in files[2:]} == kept, "what was whole is not trained again"
    assert len(json.loads(files[1].read_text(encoding="utf-8"))["result"]["scores"]) == 2
    assert not list((workdir / "training").iterdir()), "checkpoints go when a cell is done"


def test_a_run_that_is_stopped_has_compared_all_methods_at_its_first_seeds(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, here: Command
) -> None:
    trained = grid._cell

    def stopped(plan: grid.BenchPlan, cell: grid.Cell, *more: Any) -> grid.Cell:
        if cell.seed == 2:
            raise KeyboardInterrupt
        return trained(plan, cell, *more)

    monkeypatch.setattr(grid, "_cell", stopped)
    assert here(*options(data, tmp_path, epochs=1)).code != 0
    kept = [json.loads(path.read_text(encoding="utf-8"))["result"] for path in (tmp_path / "cells").iterdir()]
    done = sorted((one["method"], one["copies"], one["seed"]) for one in kept)
    assert done == [("front.jsonl", 1, 1), ("front.jsonl", 2, 1), ("none", 0, 1)]


def test_another_input_is_another_cell(done: tuple[Path, str], data: Path, here: Command) -> None:
    before = len(list((done[0] / "cells").iterdir()))
    assert here(*options(data, done[0], methods="none", copies=None, epochs=1, seeds=1)).code == 0
    assert len(list((done[0] / "cells").iterdir())) == before + 1


def test_the_shift_of_sets_in_feature_space_is_drawn_and_told(data: Path, tmp_path: Path, here: Command) -> None:
    ran = here(*options(data, tmp_path, copies=None, epochs=1), "--shift")
    assert ran.code == 0, ran.err
    every = json.loads((tmp_path / "shift.json").read_text(encoding="utf-8"))["shift"]
    assert Counter(one["seed"] for one in every) == {1: 3, 2: 3}
    overlaps = [one["overlap"] for one in every if one["set"] == "front.jsonl"]
    assert f"{fmean(overlaps):.3f} ± {stdev(overlaps):.3f}" in ran.out
    told = {one["set"]: one for one in every}
    assert set(told) == {"test", "source", "front.jsonl"}
    assert told["test"]["overlap"] == pytest.approx(1)
    assert 0 <= told["source"]["overlap"] < 1
    assert told["source"]["skewness"] == pytest.approx(sum(map(abs, told["source"]["skew"])))
    assert (tmp_path / "shift-cnn.svg").stat().st_size > 1000
    assert "](shift-cnn.svg)" in (tmp_path / "shift.md").read_text(encoding="utf-8")


def test_a_test_set_that_shares_text_with_train_is_refused(data: Path, tmp_path: Path, here: Command) -> None:
    shared = [(texts(40, 1)[3][0].upper().replace("$T$", "$T$") + " !", *texts(40, 1)[3][1:]), *texts(5, 9)]
    test = apc(tmp_path / "test.txt", shared)
    error = here(*options(data, tmp_path, test=test)).error
    assert "the test set holds 1 text of it too (10 is 1)" in error
    row = texts(20, 2, " ok")[0]
    leaking = jsonl(tmp_path / "leak.jsonl", [copied([row], 1)[0] | {"text": row[0].replace("$T$", row[1])}])
    assert "the test set holds" in here(*options(data, tmp_path, methods=str(leaking), copies=None)).error


def test_one_class_and_an_empty_set_are_refused(data: Path, tmp_path: Path, here: Command) -> None:
    one = apc(tmp_path / "one.txt", [row for row in texts(30, 3) if row[2] == "Positive"])
    assert "--train: one class is left, 'POS'" in here(*options(data, tmp_path, train=one, methods="none")).error
    empty = tmp_path / "empty.txt"
    empty.write_text("", encoding="utf-8")
    assert "no row for the task absc" in here(*options(data, tmp_path, test=empty, methods="none")).error
    strange = apc(tmp_path / "strange.txt", [("a $T$ of its own", "kind", "Conflict")])
    error = here(*options(data, tmp_path, test=strange, methods="none")).error
    assert "test labels that no training row has: 'Conflict'" in error


def test_a_diverging_model_is_named(data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, here: Command) -> None:
    def wild(*arguments: object) -> object:
        return replace(configs(*arguments), rate=1e30)

    configs = grid.config_of
    monkeypatch.setattr(grid, "config_of", wild)
    error = here(*options(data, tmp_path, methods="none", copies=None)).error
    assert error.startswith("cnn on none, seed 1: epoch ")
    assert "the loss became" in error


def test_rows_without_a_source_cannot_be_counted_by_copies(data: Path, tmp_path: Path, here: Command) -> None:
    plain = apc(tmp_path / "plain.txt", [(f"oh {text}", thing, label) for text, thing, label in texts(40, 1)])
    for more in ({}, {"copies": None, "share": 0.5}):
        assert "do not name their source" in here(*options(data, tmp_path, methods=str(plain), **more)).error


def test_the_lineage_that_augment_writes_beside_a_file_names_the_sources(tmp_path: Path) -> None:
    path = apc(tmp_path / "more.txt", [("so the $T$ is good", "soup", "Positive")])
    jsonl(tmp_path / "more.txt.lineage.jsonl", [{"source": "7", "text": "so the soup is good", "edits": []}])
    (row,) = labelled_texts.load(path, "absc").rows
    assert (row.source, row.label, row.text[slice(*row.aspect or (0, 0))]) == ("7", "POS", "soup")


def test_files_of_every_kind_are_read(tmp_path: Path) -> None:
    tsv = tmp_path / "a.tsv"
    tsv.write_text("sentence\tlabel\nso good\t1\nso bad\t0\n", encoding="utf-8")
    assert [(row.text, row.label) for row in labelled_texts.load(tsv, "tc").rows] == [("so good", "1"), ("so bad", "0")]
    atepc = tmp_path / "a.atepc"
    block = "the O -100\nhot B-ASP {}\nsoup I-ASP {}\nand O -100\ntea B-ASP {}\n\n"
    atepc.write_text(block.format("Negative", "Negative", "-100") + block.format("-100", "-100", "Positive"), "utf-8")
    (row,) = labelled_texts.load(atepc, "ate").rows
    assert [row.text[a:b] for a, b in row.spans] == ["hot soup", "tea"]
    judged = labelled_texts.load(atepc, "absc").rows
    assert [(one.text[slice(*one.aspect or (0, 0))], one.label) for one in judged] == [
        ("hot soup", "NEG"),
        ("tea", "POS"),
    ]
    three = apc(tmp_path / "a.apc", [("the $T$ and tea", "soup", "Positive"), ("the soup and $T$", "tea", "Negative")])
    (row,) = labelled_texts.load(three, "ate").rows
    assert [row.text[a:b] for a, b in row.spans] == ["soup", "tea"]
    old = tmp_path / "old.json"
    told = {"ID": "1", "Sentence": "湯好，麵也好", "Aspect": ["麵", "NULL"], "AspectFromTo": ["4#4", "0#0"],
    "Opinion": ["也好", "好"], "OpinionFromTo": ["5#6", "2#2"], "Intensity": ["6.5#5.0", "6#5"]}  # fmt: skip
    old.write_text(json.dumps([told]), encoding="utf-8")
    (row,) = labelled_texts.load(old, "aste").rows
    assert [(one.aspect.text, one.aspect.spans, one.opinion.spans, one.polarity) for one in row.triplets] == [
        ("麵", ((3, 4),), ((4, 6),), "POS")
    ]
    with pytest.raises(InputError, match=r"broken.tsv: of no known kind, or broken: line 2"):
        labelled_texts.load(_written(tmp_path / "broken.tsv", "sentence\tlabel\nno label\n"), "tc")
    with pytest.raises(InputError, match="cannot be read"):
        labelled_texts.load(tmp_path / "none.tsv", "tc")


def _written(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize("task", ["ate", "absc", "aste", "tc"])
def test_a_release_is_read_for_every_task_with_spans_that_are_right(task: labelled_texts.Task) -> None:
    release = LAYOUTS / "v0.2.0"
    rows = labelled_texts.load(release, task, "test").rows
    assert len(rows) > 20
    for row in rows:
        for triplet in row.triplets:
            for element in (triplet.aspect, triplet.aspect_full, triplet.opinion, triplet.opinion_full):
                assert "".join(row.text[a:b] for a, b in element.spans) == element.text
        assert all(0 <= mark.start < mark.end <= len(row.text) for mark in row.marks)
        assert task not in ("absc", "tc") or row.label in ("POS", "NEG", "NEU")
        assert task != "absc" or row.aspect in row.spans


def test_triplets_are_benched_with_the_project_s_tagger(tmp_path: Path, here: Command) -> None:
    def row(i: int, extra: str) -> dict[str, object]:
        draw = random.Random(f"{i}{extra}")
        thing, good = draw.choice(("湯頭", "服務", "麵包", "環境")), draw.random() < 0.5
        opinion = draw.choice(("很好喝", "很不錯")) if good else draw.choice(("太鹹了", "很糟糕"))
        front = draw.choice(("今天", "這次", "上週", "中午")) + extra * (1 + i % 3) + str(i)
        text = f"{front}{thing}{opinion}。"
        told = {"Aspect": thing, "Opinion": opinion, "Polarity": "POS" if good else "NEG"}
        return {"ID": f"{extra}{i}", "Text": text, "Triplet": [told]}

    train, test = (
        jsonl(tmp_path / "train.jsonl", [row(i, "來") for i in range(60)]),
        jsonl(tmp_path / "test.jsonl", [row(i, "去") for i in range(20)]),
    )
    words = ["bench", "--task", "aste", "--models", "tagger", "--seeds", "1", "--epochs", "3"]
    ran = here(*words, "--train", train, "--test", test, "--workdir", tmp_path / "w")
    assert ran.code == 0, ran.err
    (cell,) = json.loads((tmp_path / "w" / "bench.json").read_text(encoding="utf-8"))["cells"]
    assert cell["scores"].keys() == {"precision", "recall", "f1", "lenient_f1"}
    assert cell["scores"]["f1"] > 20, "it learns something in three passes"
    assert "with 1 seed there is neither deviation nor test" in ran.out


def test_a_method_of_the_table_makes_rows_that_are_kept_in_the_working_directory(tmp_path: Path, here: Command) -> None:
    rows = [{"text": f"the room was big and the {noun} was {word} {i}", "label": label, "id": f"r{i}"}
            for i,
            (noun, word, label) in enumerate((n, w, s) for n in ("car", "street", "town", "child") for w,
             s in (("good", "1"), ("terrible", "0")))]  # fmt: skip
    train = jsonl(tmp_path / "train.jsonl", rows)
    test = jsonl(
        tmp_path / "test.jsonl", [{"text": "a quick word", "label": "1"}, {"text": "a slow word", "label": "0"}]
    )
    arguments = ["bench", "--task", "tc", "--train", train, "--test", test, "--models", "cnn", "--methods",
    "none,synonym", "--seeds", 1, "--epochs", 1, "--workdir", tmp_path / "w"]  # fmt: skip
    ran = here(*arguments)
    assert ran.code == 0, ran.err
    (kept,) = (tmp_path / "w" / "augmented").glob("synonym-*.json")
    stamp = kept.stat().st_mtime_ns
    again = here(*arguments)
    assert again.out == ran.out
    assert kept.stat().st_mtime_ns == stamp, "what was proposed is read, not proposed again"
    assert here(*arguments, "--set", "synonym.rate=0.5").code == 0
    assert len(list((tmp_path / "w" / "augmented").iterdir())) == 2, "other settings are another set"
    told = json.loads((tmp_path / "w" / "bench.json").read_text(encoding="utf-8"))
    assert [line["method"] for line in told["lines"]] == ["none", "synonym"]
    assert told["lines"][1]["rows"] > told["lines"][0]["rows"]


def test_a_bench_has_methods_with_and_without_constraints_side_by_side(tmp_path: Path, here: Command) -> None:
    words = [(noun, label) for noun in ("car", "street", "town", "child") for label in "10"]
    rows = [
        {"text": f"the {noun} was not big {n}", "label": label, "id": f"r{n}"} for n, (noun, label) in enumerate(words)
    ]
    train, test = (
        jsonl(tmp_path / "train.jsonl", rows),
        jsonl(tmp_path / "test.jsonl", [{"text": "a quick word", "label": "1"}, {"text": "a slow word", "label": "0"}]),
    )
    ran = here("bench", "--task", "tc", "--train", train, "--test", test, "--models", "cnn", "--seeds", 1,
               "--epochs", 1, "--valid-share", 0, "--copies", 1, "--workdir", tmp_path / "w",
               "--set", "eda.rate=0.3", "--methods", "none,eda,eda:constraints=none:redraws=5")  # fmt: skip
    assert ran.code == 0, ran.err
    assert "8 trained on, 0 to choose the epoch" in ran.err
    told = json.loads((tmp_path / "w" / "bench.json").read_text("utf-8"))
    free, safe = told["about"]["augmented"]["eda:constraints=none:redraws=5"], told["about"]["augmented"]["eda"]
    assert safe["rejected"]["negator-changed"] > 0 and "negator-changed" not in free["rejected"]
    assert free["rows"] == len(rows) >= safe["rows"]
    assert "eda:constraints=none:redraws=5: 8 augmented rows" in (tmp_path / "w" / "bench.md").read_text("utf-8")


def test_every_choice_of_sets_is_trained_on_and_the_source_can_be_left_out(tmp_path: Path) -> None:
    train = tuple(BenchRow(f"r{n}", f"text {n}", label=str(n % 2)) for n in range(2))
    rows = tuple(
        replace(row, id=f"{row.id}+{n}", text=f"{row.text} {n}", source=row.id) for row in train for n in range(3)
    )
    means = Means("", None, None, (), None)
    models, made = (chosen("cnn", "tc", "en"),), {"x": Augmented("x", rows)}
    sets = {"copies": (2, 3), "seeds": 1, "generated_sets": 3}
    asked = BenchRequest("tc", Path(), None, (), (), tmp_path, without_source=True, **sets)  # type: ignore[arg-type]
    plan = BenchPlan(asked, train, (), train, made, models, means)
    assert [(due.method, due.choices) for due in settings(plan)] == [
        ("none", ((),)), ("x", ((0, 1), (0, 2), (1, 2))), ("x", ((0, 1, 2),)),
    ]  # fmt: skip
    assert [row.id for row in training_rows(plan, "x", (0, 2))] == ["r0+0", "r0+2", "r1+0", "r1+2"]
    assert training_rows(replace(plan, asked=replace(asked, without_source=False)), "x", (1,))[:3] == (*train, rows[1])
    assert training_rows(plan, "none", ()) == train


def test_what_other_code_or_lexicons_made_is_made_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = tuple(BenchRow(f"r{i}", f"the room was big and the street was good {i}", label="1") for i in range(4))
    sources = Sources(rows, (), ())

    def files() -> int:
        made = by_method("synonym", sources, {}, 1, 1, tmp_path)
        assert made.rows
        return len(list((tmp_path / "augmented").iterdir()))

    assert [files(), files()] == [1, 1]
    monkeypatch.setattr(augmented, "code_digest", lambda *parts: "of edited constraints")
    assert [files(), files()] == [2, 2]
    words = tmp_path / "lexicon" / "aspects"
    words.mkdir(parents=True)
    (words / "imported_mine.tsv").write_text("word\tclass\n星空炒飯糰\tfood.dish\n", "utf-8")
    assert [files(), files()] == [3, 3], "words that were imported into the working directory count"


@dataclass(frozen=True)
class Fixed:
    """A method that proposes the same edits for every sentence."""

    edits: tuple[Edit, ...]
    name: str = "fixed"
    signature: str = "fixed/1"

    def propose(self, asked: Sequence[Sentence], copies: int, seed: int) -> list[tuple[Rewrite, ...]]:
        return [tuple(Rewrite(one.id, (edit,)) for edit in self.edits) for one in asked]


def test_rows_whose_triplet_no_rule_finds_now_are_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    soup, good = Element("湯", ((3, 4),)), Element("很好喝", ((4, 7),))
    told = (Triplet(soup, soup, good, good, "POS", 8.0),)
    row = BenchRow("r", "這家的湯很好喝", (Mark(3, 4), Mark(4, 7, "opinion")), triplets=told)
    monkeypatch.setattr(augmented, "make_method", lambda *given: Fixed((Edit(4, 4, "希望"), Edit(0, 2, "他們家"))))
    made = by_method("eda", Sources((row,), (), ()), {}, 2, 1, tmp_path)
    assert [one.text for one in made.rows] == ["他們家的湯很好喝"]
    assert dict(made.rejected) == {"label-lost": 1}
    free = by_method("eda", Sources((row,), (), ()), {"constraints": "none"}, 2, 1, tmp_path)
    assert [one.text for one in free.rows] == ["這家的湯希望很好喝", "他們家的湯很好喝"] and free.rejected == ()


def test_a_rewritten_row_keeps_its_labels_by_arithmetic_or_is_none() -> None:
    (row,) = (one for one in [BenchRow("r", "the hot soup is good", (Mark(8, 12),), "POS", (8, 12))])
    moved = rewritten(row, Rewrite("r", (Edit(4, 7, "lukewarm"),)), 0)
    assert moved is not None and moved.marks == (Mark(13, 17),)
    assert (moved.text, moved.aspect, moved.source) == ("the lukewarm soup is good", (13, 17), "r")
    assert moved.label == "POS"
    assert rewritten(row, Rewrite("r", (Edit(8, 12, "stew"),)), 0) is None
    flipped = rewritten(row, Rewrite("r", (Edit(16, 20, "bad"),), label="NEG"), 0)
    assert flipped is not None and flipped.label == "NEG"


def test_copies_are_counted_by_source_and_held_out_sources_are_left_out(tmp_path: Path) -> None:
    train = [BenchRow("1", "the soup is good", (Mark(4, 8),), "POS", (4, 8))]
    rows = copied([("the $T$ is good", "soup", "Positive"), ("the $T$ is bad", "tea", "Negative")], 3)
    path = jsonl(tmp_path / "a.jsonl", rows)
    made = of_file(path, labelled_texts.load(path, "absc"), train)
    assert len(made.rows) == 3
    assert dict(made.rejected)["source-not-in-train"] == 3
    assert [row.id for row in of_sets(made.rows, range(2))] == ["a0.0@9", "a0.1@7"]
    held = of_file(path, labelled_texts.load(path, "absc"), train, [replace(made.rows[0], id="v")])
    assert (len(held.rows), dict(held.rejected)["held-out"]) == (2, 1)
    with pytest.raises(InputError, match="no augmented row belongs"):
        of_file(path, labelled_texts.load(path, "absc"), [replace(train[0], id="99")])


def test_texts_are_the_same_whatever_their_script_width_and_marks() -> None:
    assert normalised("這家店很好吃！！") == normalised("这家店 很好吃")
    assert normalised("Great, SOUP") == normalised("great soup.")
    refuse_shared([BenchRow("1", "a b")], [BenchRow("2", "a c")], "x")
    with pytest.raises(InputError, match=r"x: the test set holds 1 text of it too \(1 is 2\)"):
        refuse_shared([BenchRow("1", "Ａ b!")], [BenchRow("2", "a B")], "x")


def test_as_many_texts_are_held_out_as_the_share_says_and_rows_of_one_text_stay_together() -> None:
    rows = [BenchRow(f"{i}{side}", f"text number {i}") for i in range(20) for side in "ab"]
    chosen = held_out(rows, 0.1, "valid")
    assert len(chosen) == 4
    assert len({row.text for row in chosen}) == 2
    assert chosen == held_out(rows, 0.1, "valid")
    assert chosen != held_out(rows, 0.1, "another")


def test_a_share_is_the_same_every_time_and_lies_in_a_larger_one() -> None:
    rows = [BenchRow(str(i), f"text number {i}") for i in range(400)]
    small, large = share(rows, 0.1, "s"), share(rows, 0.5, "s")
    assert 20 < len(small) < 60
    assert 160 < len(large) < 240
    assert set(small) < set(large)


def test_rows_are_what_methods_taggers_and_classifiers_read() -> None:
    row = BenchRow("1", "the touchpad's fine", (Mark(4, 12),), "POS", (4, 12))
    assert [row.text[a:b] for a, b in sentences([row])[0].words] == ["the", "touchpad", "'s", "fine"]
    han = BenchRow("2", "服務態度 不錯，光明路", (Mark(1, 2),))
    assert [han.text[a:b] for a, b in sentences([han])[0].words] == ["服", "務", "態度", "不錯", "，", "光明", "路"]
    assert item(row, "absc").aspect == (4, 12)
    assert language([row]) == "en"
    assert language([BenchRow("2", "湯好")]) == "zh"
    assert example(BenchRow("3", "！！")).triplets == ()


def test_folds_test_every_text_once_and_the_table_has_their_means(data: Path, tmp_path: Path, here: Command) -> None:
    """Wu et al. 2019, table 1: a set without a test split is measured by cross-validation."""
    ran = here(*options(data, tmp_path / "w", test=None, folds=4, methods="none,eda", copies="1", **{"valid-count": 3}))
    assert ran.code == 0, ran.err
    tested = [line for line in ran.err.splitlines() if ": test: " in line]
    assert len(tested) == 4 and all("10 rows of fold" in line for line in tested)
    assert ran.err.count("27 trained on, 3 to choose the epoch") == 4
    files = sorted((tmp_path / "w" / "cells").glob("*.json"))
    assert len(files) == 4 * 2 * 2, "folds, methods, seeds"
    single = [json.loads(path.read_text())["result"] for path in files]
    told = json.loads((tmp_path / "w" / "bench.json").read_text())
    for cell in told["cells"]:
        own = [one for one in single if all(one[key] == cell[key] for key in ("method", "seed"))]
        assert cell["scores"]["accuracy"] == pytest.approx(fmean(one["scores"]["accuracy"] for one in own))
    assert told["about"]["folds"] == 4
    assert "Means over 4 folds" in (tmp_path / "w" / "bench.md").read_text()


def test_rows_of_one_text_are_in_one_fold() -> None:
    rows = [BenchRow(str(n), f"text {n // 2}", label="a") for n in range(40)]
    parts = folded(rows, 3)
    assert sorted(row.id for part in parts for row in part) == sorted(row.id for row in rows)
    keys = [{row.key for row in part} for part in parts]
    assert all(not a & b for n, a in enumerate(keys) for b in keys[:n])
    assert max(map(len, parts)) - min(map(len, parts)) <= 2


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"methods": "synonym:rate=2"}, r"--set: synonym\.rate = 2\.0 is not a share above 0"),
        ({"methods": "synonym:rate"}, r"--methods: 'rate' is no key=value; write synonym:key=value"),
        ({"methods": "synonym:speed=2"}, r"synonym\.speed"),
        ({"models": "svm"}, r"--models: no model 'svm'; for absc there are: lstm, cnn, rnn, bert, deberta, fastlcf"),
        ({"methods": "none,magic"}, r"--methods: 'magic' is neither a method nor a file; known: none, synonym"),
        ({"task": "tc"}, r"no row for the task tc \(other-task 40\)"),
        ({"task": "aste", "models": "tagger"}, r"no row for the task aste"),
        ({"folds": 4}, "each fold is the test set in turn"),
        ({"test": None}, "no test set.*--folds 10"),
        ({"test": None, "folds": 90}, "90 folds of 40 texts"),
        ({"valid": "test.txt", "valid-count": 3}, "--valid-count: 3 training texts are to be held out, and a file"),
        ({"valid-count": 40}, "--valid-count: 40 texts are to be held out of 40.*hold out 39 at most"),
        ({"models": "cnn:rete=1"}, "unknown key 'rete'.*did you mean 'rate'"),
        ({"models": "cnn:layers=some"}, "layers = 'some' is no int"),
        ({"models": "tagger"}, "no model 'tagger'"),
        ({"copies": "0"}, "a number of copies is 1 or more"),
        ({"copies": "x"}, "numbers with commas between them"),
    ],
)
def test_what_no_bench_can_be_made_of_is_an_error(
    data: Path, tmp_path: Path, here: Command, changes: dict[str, object], error: str
) -> None:
    ran = here(*options(data, tmp_path / "w", **changes))
    assert ran.code == 2 and re.search(error, ran.err), ran.err
