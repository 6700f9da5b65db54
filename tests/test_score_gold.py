"""Gold by two annotators, against the tool that people compare with, and gold with faulty lines."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from types import ModuleType
from typing import Any

import pytest
from conftest import Command, write_lines
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from builder.core.errors import ConfigError, InputError
from builder.gold.metrics.complete import Complete, Ranged, agreement, count_optional, merge, tally_complete
from builder.release.export import answers
from builder.release.export.answers import load_complete
from builder.teaching.audit import score_files

SHARED = Path(__file__).parents[2] / "shared"
Triplet = dict[str, str]
ASPECTS = st.sampled_from(
    [
        ("湯", "湯"),
        ("湯", "湯頭"),
        ("湯頭", "牛肉湯頭"),
        ("服務", "服務"),
        ("服務", "店員的服務"),
        ("牛肉麵", "招牌紅燒牛肉麵"),
    ]
)
OPINIONS = st.sampled_from(
    [("好", "好"), ("好", "很好"), ("不鹹", "不會太鹹"), ("不會鹹", "不會太鹹"), ("親切", "親切又細心")]
)
POLARITIES = st.sampled_from(["POS", "NEG", "NEU"])
SAID = st.tuples(
    st.sampled_from(["湯", "湯頭", "牛肉湯", "服務", "店員的服務", "麵", "牛肉", "「牛肉麵」", "紅燒牛肉麵喔", ""]),
    st.sampled_from(["好", "很好", "真的很好", "鹹", "不鹹", "不會鹹", "親切", "細心", "[不]鹹"]),
    st.sampled_from(["POS", "NEG", "NEU", "正面", "負面"]),
)
REVIEWS = ("a", "b", "c")


def ranged(aspect: tuple[str, str], opinion: tuple[str, str], polarity: str) -> Triplet:
    names = ("aspect", "aspect_full", "opinion", "opinion_full", "polarity")
    return dict(zip(names, (*aspect, *opinion, polarity), strict=True))


ANNOTATED = st.fixed_dictionaries(
    {key: st.lists(st.builds(ranged, ASPECTS, OPINIONS, POLARITIES), max_size=4) for key in REVIEWS}
)
PREDICTED = st.dictionaries(st.sampled_from([*REVIEWS, "d"]), st.lists(SAID, max_size=5)).filter(
    lambda said: not said.keys().isdisjoint(REVIEWS)  # of no review in common there is an error instead of a score
)


def write(path: Path, reviews: Mapping[str, Sequence[Mapping[str, str]]]) -> Path:
    return write_lines(path, ({"id": key, "triplets": list(rows)} for key, rows in reviews.items()))


def triplets(said: Sequence[tuple[str, str, str]]) -> list[Triplet]:
    return [{"aspect": a, "opinion": o, "polarity": p} for a, o, p in said]


@pytest.fixture(scope="module")
def tool() -> ModuleType:
    path = SHARED / "tools" / "score_complete.py"
    if not path.is_file():
        pytest.skip(f"{path} is not part of the repository")
    spec = importlib.util.spec_from_file_location("score_complete", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.load = load  # type: ignore[attr-defined]
    return module


def load(path: Path) -> dict[str, list[Triplet]]:
    """As the tool reads a file, which it leaves open."""
    return {row["id"]: row["triplets"] for row in map(json.loads, path.read_text(encoding="utf-8").splitlines())}


def compare(tool: ModuleType, gold: Path, pred: Path) -> None:
    """Counts and values of the tool and of ours, of triplets and of pairs."""
    tool.HERE = gold  # type: ignore[attr-defined]
    scored = score_files(gold, pred, keys=("opinion",))
    reviews, predicted = load_complete(gold), answers.load(pred).read().answers
    for (_, row), polarity in zip(scored.rows, (True, False), strict=True):
        due: dict[str, Any] = tool.score(tool.load(pred), polarity)
        assert row.counts == (due["tp"], due["tp"] + due["fp"], due["tp"] + due["fn"])
        assert not polarity or count_optional(reviews, predicted) == due["optional"]
        if any(row.counts[1:]):  # of nothing required and nothing predicted the tool makes 0, all metrics of ours 100
            ours = [round(row.values[name].value, 1) for name in ("precision", "recall", "f1")]
            assert ours == [due["P"], due["R"], due["F1"]]


# ---- by hand


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


# ---- against the tool


@given(ANNOTATED, ANNOTATED, PREDICTED)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_invented_reviews_score_as_by_the_tool(
    tool: ModuleType,
    first: dict[str, list[Triplet]],
    second: dict[str, list[Triplet]],
    said: dict[str, list[tuple[str, str, str]]],
) -> None:
    with TemporaryDirectory() as name:
        folder = Path(name)
        write(folder / "A.jsonl", first)
        write(folder / "B.jsonl", second)
        compare(tool, folder, write(folder / "pred.jsonl", {key: triplets(rows) for key, rows in said.items()}))


# ---- the command


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
