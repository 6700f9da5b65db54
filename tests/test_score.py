"""Scores: intervals, paired tests, input modes and ceilings, worked out by hand, `builder gold score` as typed; gold
by two annotators, and gold with faulty lines.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from conftest import Command, write_lines
from hypothesis import given
from hypothesis import strategies as st

from builder.core.errors import ConfigError, InputError
from builder.gold.metrics import Answer, systems
from builder.gold.metrics.complete import Complete, Ranged, agreement, count_optional, merge, tally_complete
from builder.gold.metrics.scores import Metric, Tally, asked, polarities, tally
from builder.gold.metrics.systems import (
    ALL,
    Difference,
    Estimate,
    Settings,
    differences,
    digest,
    estimates,
    measure,
    metrics,
)
from builder.release.export.answers import load_complete
from builder.teaching.audit import score_files

EXACT = Metric("exact", "triplet")
WORDS = st.sampled_from(["湯", "湯頭", "湯[頭]", "服務", "鹹", "不鹹", "不會太鹹", "很 好", "好"])
GOLD = st.dictionaries(
    st.sampled_from("abcdef"),
    st.lists(st.tuples(WORDS, WORDS, st.sampled_from(["POS", "NEG", "NEU"])), max_size=4),
    max_size=6,
)
ANSWER: Answer = ("湯頭", "好喝", "POS")


def one(rows: Tally, metric: Metric = EXACT, samples: int = 500, seed: int = 13) -> dict[str, Estimate]:
    return estimates([rows], [metric], samples, seed)[0]


def gap(ours: Tally, theirs: Tally, samples: int = 1000, seed: int = 13) -> Difference:
    return differences([ours], [theirs], [EXACT], samples, seed)[0]


# ---- intervals


def test_the_interval_of_a_share_is_that_of_the_normal_approximation() -> None:
    """700 of 1,000 reviews right: the standard error is 1.45 points."""
    found = one([(1, 1, 1)] * 700 + [(0, 1, 1)] * 300, samples=2000)["f1"]
    assert found.value == pytest.approx(70)
    assert found.low == pytest.approx(70 - 1.96 * 1.449, abs=0.4)
    assert found.high == pytest.approx(70 + 1.96 * 1.449, abs=0.4)


def test_the_same_seed_gives_the_same_interval_and_another_seed_another_one() -> None:
    rows: Tally = [(i % 3 == 0, 1, 1 + i % 2) for i in range(50)]
    assert one(rows) == one(rows)
    assert one(rows, seed=14)["f1"] != one(rows)["f1"]
    assert one(rows, seed=14)["f1"].value == one(rows)["f1"].value


def test_samples_drawn_in_parts_are_those_drawn_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    rows: Tally = [(i % 3 == 0, 1, 1) for i in range(40)]
    whole, paired = one(rows, samples=100), gap(rows, rows[::-1], samples=100)
    monkeypatch.setattr(systems, "_CELLS", 40 * 7)
    assert one(rows, samples=100) == whole
    assert gap(rows, rows[::-1], samples=100) == paired


def test_without_samples_there_is_no_interval_and_without_reviews_no_failure() -> None:
    assert one([(1, 1, 1)], samples=0)["f1"] == Estimate(100.0)
    assert one([])["f1"] == Estimate(100.0)
    assert gap([], []) == Difference(0.0, 0.0, 0.0, 1.0)
    assert gap([(1, 1, 1)], [(0, 1, 1)], samples=0) == Difference(100.0, 100.0, 100.0, 1.0)


def test_the_paper_metric_is_resampled_as_a_mean() -> None:
    found = one([(1.0, 1.0, 1.0, 1.0)] * 92 + [(0.0, 0.0, 0.0, 0.0)] * 8, Metric("paper", "triplet"))
    assert found["f1"].value == pytest.approx(92)
    assert found["f1"] == found["accuracy"]
    assert found["f1"].low is not None and 84 < found["f1"].low < 92


# ---- paired test


def test_p_is_the_share_of_swaps_that_differ_as_much() -> None:
    """Two reviews, one system right in both, the other in none: of the four ways to swap, two differ as much."""
    assert gap([(1, 1, 1)] * 2, [(0, 1, 1)] * 2).p == pytest.approx(0.5, abs=0.06)
    assert gap([(1, 1, 1)] * 3, [(0, 1, 1)] * 3).p == pytest.approx(0.25, abs=0.06)


def test_a_clear_difference_is_hardly_chance_and_turns_its_sign_with_the_order() -> None:
    good: Tally = [(1, 1, 1)] * 150 + [(0, 1, 1)] * 50
    poor: Tally = [(1, 1, 1)] * 100 + [(0, 1, 1)] * 100
    found, turned = gap(good, poor), gap(poor, good)
    assert found.value == pytest.approx(25)
    assert 0 < found.low < 25 < found.high
    assert found.p == pytest.approx(1 / 1001)
    assert (turned.value, turned.low, turned.high) == pytest.approx((-found.value, -found.high, -found.low))


def test_pairing_tells_apart_what_single_intervals_cannot() -> None:
    """The other system is right wherever this one is, and in five more reviews of 200."""
    ours: Tally = [(1, 1, 1)] * 105 + [(0, 1, 1)] * 95
    theirs: Tally = [(1, 1, 1)] * 100 + [(0, 1, 1)] * 100
    single = one(ours)["f1"]
    assert single.low is not None and single.low < 50
    assert gap(ours, theirs).low >= 0


# ---- what is measured


@given(GOLD)
def test_gold_against_itself_reaches_the_ceiling_of_every_metric(gold: dict[str, list[Answer]]) -> None:
    for mode in ("open", "given-aspects"):
        for found in measure(gold, gold, metrics("all", mode), Settings(mode, 0)):
            assert {round(value.value, 6) for value in found.values.values()} == {round(found.ceiling, 6)}, found.metric
            assert found.ceiling == 100 or found.metric.match == "paper"


def test_accuracy_of_the_paper_is_shared_over_united() -> None:
    gold = {"a": [("湯", "鹹", "NEG"), ("麵", "Q", "POS")]}
    (found,) = measure(gold, {"a": [("湯", "鹹", "NEG"), ("店", "小", "NEG")]}, metrics("paper"), Settings(samples=0))
    assert found.values["accuracy"].value == pytest.approx(100 / 3)


def test_a_system_that_is_given_the_aspects_is_not_asked_about_others() -> None:
    gold = {"a": [("牛肉湯", "鹹", "NEG")], "b": []}
    told = {"a": [("牛肉湯", "鹹", "NEG"), ("湯", "淡", "NEG"), ("店", "小", "NEG")], "b": [("店", "小", "NEG")]}
    assert tally(gold, told, EXACT, "given-aspects") == [(1, 1, 1), (0, 0, 0)]
    assert tally(gold, told, Metric("lenient", "triplet"), "given-aspects") == [(1, 2, 1), (0, 0, 0)], (
        "湯 is within 牛肉湯"
    )
    assert asked(gold["b"], told["b"], "lenient") == []
    assert "aspect" not in {one.part for one in metrics("all", "given-aspects")}


def test_every_metric_has_a_signature_of_its_own_that_names_mode_gold_and_draws() -> None:
    gold = {"a": [ANSWER]}
    found = [
        one.signature for mode in ("open", "given-aspects") for one in measure(gold, gold, ALL, Settings(mode, 10, 7))
    ]
    assert len(set(found)) == 2 * len(ALL)
    assert all(f"|gold:{digest(gold)}|bootstrap:10|seed:7|interval:95|" in one for one in found)
    assert digest({"a": [ANSWER, ANSWER]}) == digest(gold) != digest({"a": [("湯", "好喝", "POS")]})


def test_a_matched_pair_with_the_right_polarity_is_preferred() -> None:
    gold = [("湯", "好", "POS"), ("湯頭", "好", "NEG")]
    assert polarities(gold, [("湯頭", "好", "NEG")], "lenient") == (1, 1)
    assert polarities(gold, [("湯頭", "好", "NEU")], "lenient") == (0, 1)
    assert polarities(gold, [("麵", "好", "POS")], "lenient") == (0, 0)


# ---- the command


@pytest.fixture
def files(tmp_path: Path) -> dict[str, Path]:
    def written(name: str, rows: dict[str, list[Answer]]) -> Path:
        path = tmp_path / name
        listed = [
            {"id": key, "triplets": [dict(zip(("aspect", "opinion", "polarity"), a, strict=True)) for a in answers]}
            for key, answers in rows.items()
        ]
        return write_lines(path, listed)

    gold = {str(i): [] if i < 2 else [ANSWER, ("服務", "親切", "POS")] for i in range(25)}
    good = {key: answers[:1] for key, answers in gold.items()}
    poor = {key: [("湯頭", "好喝", "NEG")] for key in gold} | {"99": []}
    told = {"gold": gold, "good": good, "poor": poor}
    return {name: written(f"{name}.jsonl", rows) for name, rows in told.items()}


def test_json_holds_every_value_interval_count_and_signature(here: Command, files: dict[str, Path]) -> None:
    ran = here("score", "--gold", files["gold"], "--pred", files["good"], "--opinion", "opinion", "--format", "json")
    assert ran.code == 0, ran.err
    told = json.loads(ran.out)
    assert told["reviews"] == {"gold": 25, "null_triplets": 0, "without_prediction": 0}
    by_name = {(row["match"], row["part"]): row for row in told["scores"]}
    assert len(by_name) == 11
    exact = by_name["exact", "triplet"]
    assert (exact["right"], exact["predicted"], exact["gold"]) == (23, 23, 46)
    assert exact["recall"] == {"value": 50.0, "low": 50.0, "high": 50.0}
    assert by_name["paper", "triplet"]["ceiling"] == pytest.approx(92)
    assert exact["signature"].startswith("micro-triplet|match:exact|duplicates:once|null:excluded|input:open|gold:")


def test_the_ceiling_is_printed_where_it_is_not_a_hundred(here: Command, files: dict[str, Path]) -> None:
    ran = here("score", "--gold", files["gold"], "--pred", files["gold"], "--opinion", "opinion")
    assert "ceiling of the paper metric: 92.0, empty gold reviews count 0: 2 of 25" in ran.out
    assert "ceiling" not in here("score", "--gold", files["gold"], "--pred", files["gold"], "--metric", "exact").out


def test_against_another_system_shows_difference_interval_and_p(here: Command, files: dict[str, Path]) -> None:
    words = ("score", "--gold", files["gold"], "--pred", files["good"], "--against", files["poor"])
    words += ("--metric", "exact", "--opinion", "opinion")
    ran = here(*words, "--format", "json")
    assert ran.code == 0, ran.err
    rows = {row["part"]: row["against"] for row in json.loads(ran.out)["scores"]}
    assert rows["triplet"]["difference"] == pytest.approx(200 * 23 / (23 + 46), abs=0.001)
    assert rows["triplet"]["p"] < 0.01
    table = here(*words).out
    assert "+66.7" in table
    assert "micro-{triplet,pair,aspect,opinion,polarity}|match:exact|" in table


def test_questions_that_name_aspects_get_a_note_and_files_without_a_common_id_are_refused(
    here: Command, files: dict[str, Path], tmp_path: Path
) -> None:
    question = {
        "id": 3,
        "question": "question: 請問以下文字的評論對象有哪些？ 請問以下文字對湯頭的描述為何？  context: 湯頭好喝",
        "answer": "湯頭。湯頭：好喝(正面)。",
    }
    paper = tmp_path / "paper.json"
    paper.write_text(json.dumps(question, ensure_ascii=False) + "\n", encoding="utf-8")
    ran = here("score", "--gold", files["gold"], "--pred", paper, "--metric", "exact")
    assert "score it with --mode given-aspects" in ran.err
    assert "24 reviews without a prediction" in ran.out
    assert "given-aspects" not in here("score", "--gold", files["gold"], "--pred", paper, "--mode", "given-aspects").err
    other = tmp_path / "other.jsonl"
    other.write_text('{"id": "x", "triplets": []}\n', encoding="utf-8")
    for words in (("--pred", other), ("--pred", files["good"], "--against", other)):
        ran = here("score", "--gold", files["gold"], *words)
        assert f"{words[-2]} and --gold have no id in common, for example 'x' and '0'; " in ran.error
        assert not ran.out


def test_an_export_in_the_papers_format_is_joined_by_the_ids_of_its_reviews(here: Command, tmp_path: Path) -> None:
    triplets = [{"aspect": "豆花", "opinion": "綿密", "polarity": "POS"}]
    names = ("a9", "b7")
    ours = [{"id": name, "triplets": triplets} for name in names]
    answers = [{"id": n, "answer": "豆花。豆花：綿密(正面)。"} for n in (1, 2)]
    exported = [{**row, "review_id": name} for row, name in zip(answers, names, strict=True)]
    paths = {name: tmp_path / f"{name}.json" for name in ("ours", "exported", "answers")}
    for name, rows in (("ours", ours), ("exported", exported[::-1]), ("answers", answers)):
        write_lines(paths[name], rows)
    words = ("--metric", "exact", "--samples", "0", "--format", "json")
    for gold, pred in (("ours", "exported"), ("exported", "ours"), ("exported", "answers"), ("answers", "exported")):
        told = json.loads(here("score", "--gold", paths[gold], "--pred", paths[pred], *words).out)
        assert {row["f1"]["value"] for row in told["scores"] if "f1" in row} == {100.0}, (gold, pred)
    assert "no id in common" in here("score", "--gold", paths["ours"], "--pred", paths["answers"], *words).error


def test_a_full_opinion_is_scored_against_the_full_opinion_of_our_own_gold(here: Command, tmp_path: Path) -> None:
    triplet = {"aspect": "湯", "opinion": "不會鹹", "opinion_full": "不會太鹹", "polarity": "POS"}
    path = tmp_path / "a.jsonl"
    path.write_text(json.dumps({"id": "1", "triplets": [triplet]}) + "\n", encoding="utf-8")
    words = ("--opinion", "opinion_full", "--metric", "exact", "--format", "json")
    told = json.loads(here("score", "--gold", path, "--pred", path, *words).out)
    assert {row["f1"]["value"] for row in told["scores"] if "f1" in row} == {100.0}


@pytest.mark.parametrize(
    "words",
    [("--samples", "-1"), ("--seed", "x"), ("--metric", "best"), ("--mode", "closed"), ("--against", "nowhere.jsonl")],
)
def test_what_cannot_be_scored_is_one_line_and_exit_code_2(
    here: Command, files: dict[str, Path], words: tuple[str, str]
) -> None:
    assert here("score", "--gold", files["gold"], "--pred", files["good"], *words).error


# ---- gold by two annotators


Triplet = dict[str, str]


def ranged(aspect: tuple[str, str], opinion: tuple[str, str], polarity: str) -> Triplet:
    names = ("aspect", "aspect_full", "opinion", "opinion_full", "polarity")
    return dict(zip(names, (*aspect, *opinion, polarity), strict=True))


def write(path: Path, reviews: Mapping[str, Sequence[Mapping[str, str]]]) -> Path:
    return write_lines(path, ({"id": key, "triplets": list(rows)} for key, rows in reviews.items()))


def test_what_both_annotators_gave_is_required_in_its_widest_form_and_the_rest_is_optional() -> None:
    soup = Ranged("湯", "湯頭", "好", "很好", "POS")
    longer = Ranged("湯頭", "牛肉湯頭", "好", "真的很好", "POS")
    staff, seat = Ranged("店員", "店員", "親切", "親切", "POS"), Ranged("座位", "座位", "小", "小", "NEG")
    merged = merge([soup, staff], [seat, longer])
    assert merged == Complete((Ranged("湯", "牛肉湯頭", "好", "真的很好", "POS"),), (staff, seat))
    assert agreement({"a": merged}) == pytest.approx(50.0)


def test_a_hit_on_an_optional_triplet_costs_nothing_and_earns_nothing() -> None:
    gold = {
        "a": Complete((Ranged("湯", "湯頭", "好", "很好", "POS"),), (Ranged("店員", "店員", "親切", "親切", "POS"),))
    }
    said = [("湯頭", "很好", "POS"), ("店員", "親切", "POS"), ("麵", "軟", "NEG")]
    assert tally_complete(gold, {"a": said}) == [(1, 2, 1)]
    assert count_optional(gold, {"a": said}) == 1
    assert tally_complete(gold, {"a": [("湯", "好", "NEG")]}) == [(0, 1, 1)]
    assert tally_complete(gold, {"a": [("湯", "好", "NEG")]}, polarity=False) == [(1, 1, 1)]
    assert tally_complete(gold, {}) == [(0, 0, 1)]


@pytest.mark.parametrize(
    ("aspect", "fits"),
    [
        ("牛肉麵", True),
        ("牛肉麵們們們", True),
        ("牛肉麵很好吃喔", False),
        ("麵", False),
        ("肉麵", True),
        ("", False),
    ],
)
def test_a_prediction_fits_between_core_and_full_form(aspect: str, fits: bool) -> None:
    gold = {"a": Complete((Ranged("牛肉麵", "紅燒牛肉麵", "香", "很香", "POS"),), ())}
    assert tally_complete(gold, {"a": [(aspect, "香", "POS")]}) == [(int(fits), 1, 1)]


# ---- such gold by the command


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    gold = tmp_path / "gold"
    gold.mkdir()
    soup, staff = ranged(("湯", "湯頭"), ("好", "很好"), "POS"), ranged(("店員", "店員"), ("親切", "親切"), "POS")
    write(gold / "A.jsonl", {str(n): [soup, staff] for n in range(20)})
    write(gold / "B.jsonl", {str(n): [soup] for n in range(20)})
    (gold / "texts.jsonl").write_text('{"id": "0", "text": "湯頭很好，店員親切"}\n', encoding="utf-8")
    return gold


def test_gold_by_two_annotators_is_scored_with_intervals(here: Command, folder: Path, tmp_path: Path) -> None:
    said = [
        {"aspect": "湯頭", "opinion": "好", "opinion_full": "很好", "polarity": "POS"},
        {"aspect": "店員", "opinion": "親切", "polarity": "POS"},
    ]
    pred = write(tmp_path / "pred.jsonl", {str(n): said if n < 15 else [] for n in range(20)})
    ran = here("score", "--gold", folder, "--pred", pred, "--format", "json")
    assert ran.code == 0, ran.err
    shown = json.loads(ran.out)
    assert shown["reviews"]["required"] == shown["reviews"]["optional"] == 20
    assert shown["reviews"]["agreement_f1"] == pytest.approx(200 / 3)
    assert shown["reviews"]["optional_hit"] == {"opinion": 15, "opinion_full": 15}
    assert [(row["of"], row["match"], row["part"]) for row in shown["scores"]] == [
        (key, "complete", part) for key in ("opinion", "opinion_full") for part in ("triplet", "pair")
    ]
    row = shown["scores"][0]
    assert (row["right"], row["predicted"], row["gold"], row["recall"]["value"]) == (15, 15, 20, 75.0)
    assert row["recall"]["low"] < 75 < row["recall"]["high"]
    assert "micro-triplet|match:complete|" in row["signature"]
    table = here("score", "--gold", folder, "--pred", pred, "--against", folder / "B.jsonl").out
    assert "20 required and 20 optional triplets; F1 of one annotator against the other 66.7" in table
    assert (
        "optional triplets hit, which count neither as right nor as wrong: 15 by opinion, 15 by opinion_full" in table
    )


def test_a_metric_and_a_gold_that_do_not_fit_are_named(folder: Path, tmp_path: Path) -> None:
    pred = write(tmp_path / "pred.jsonl", {"0": []})
    with pytest.raises(ConfigError, match="which exact does not know; leave --metric out"):
        score_files(folder, pred, asked="exact")
    with pytest.raises(ConfigError, match="needs gold by two annotators"):
        score_files(pred, pred, asked="complete")


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('{"id": "1", "triplets": [{"aspect": "湯"}]}', r"B\.jsonl:2: no annotated review: KeyError\('aspect_full'\)"),
        ('{"id": "1"', r"B\.jsonl:2: not JSON"),
        ('{"id": "0", "triplets": []}', r"B\.jsonl:2: the id '0' stands twice"),
        ('{"id": "9", "triplets": []}', r"'1' is annotated in one file only"),
    ],
)
def test_annotations_that_are_broken_are_named_by_their_line(line: str, said: str, tmp_path: Path) -> None:
    write(tmp_path / "A.jsonl", {"0": [], "1": []})
    (tmp_path / "B.jsonl").write_text('{"id": "0", "triplets": []}\n' + line + "\n", encoding="utf-8")
    with pytest.raises(InputError, match=said):
        load_complete(tmp_path)


# ---- faulty lines


FAULTY = (
    "R1:S1 (湯頭,食物#品質,很鹹,3.5#5.0)\nR1:S2 (麵,食物#品質,彈牙,14#5.0)\nR1:S3 (環境,x#y,還好,5.0#5.0)\nR1:S4 "
    "(店員,x#y,親切,10#6.0)\n"
)


def test_a_faulty_gold_line_is_counted_named_and_left_out(here: Command, tmp_path: Path) -> None:
    gold, pred = tmp_path / "truth.txt", tmp_path / "pred.txt"
    gold.write_text(FAULTY, encoding="utf-8")
    pred.write_text(FAULTY.replace("14#", "7#").replace("10#", "7#"), encoding="utf-8")
    ran = here("score", "--gold", gold, "--pred", pred, "--metric", "exact", "--format", "json")
    assert ran.code == 0, ran.err
    shown = json.loads(ran.out)
    assert shown["reviews"]["gold"] == 2
    assert [fault.partition(": ")[0] for fault in shown["reviews"]["faulty"]] == [f"{gold}:2", f"{gold}:4"]
    assert "note: 2 faulty gold lines are left out (--strict refuses them):" in ran.err
    assert f"{gold}:2: cannot be read as dimabsa-truth: ValueError('valence 14.0 is not between 1 and 9')" in ran.err
    assert "2 predicted reviews not in gold" in here("score", "--gold", gold, "--pred", pred).out


def test_strict_refuses_a_faulty_gold_line_and_predictions_are_always_read_so(here: Command, tmp_path: Path) -> None:
    faulty, good = tmp_path / "truth.txt", tmp_path / "good.txt"
    faulty.write_text(FAULTY, encoding="utf-8")
    good.write_text(FAULTY.splitlines()[0] + "\n", encoding="utf-8")
    assert here("score", "--gold", faulty, "--pred", good, "--strict").error.startswith(f"{faulty}:2: ")
    assert here("score", "--gold", good, "--pred", faulty).error.startswith(f"{faulty}:2: ")
    only = tmp_path / "only.txt"
    only.write_text(FAULTY.splitlines()[1] + "\n", encoding="utf-8")
    assert here("score", "--gold", only, "--pred", good).error.startswith(f"{only}:1: ")
