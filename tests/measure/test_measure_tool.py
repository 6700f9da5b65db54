"""Gold by two annotators is scored as by the tool that people compare with, where that lies beside the repository."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from types import ModuleType
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from test_score import Triplet, ranged, write

from builder.gold.metrics.complete import count_optional
from builder.release.export import answers
from builder.release.export.answers import load_complete
from builder.teaching.audit import score_files

SHARED = Path(__file__).parents[3] / "shared"
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


ANNOTATED = st.fixed_dictionaries(
    {key: st.lists(st.builds(ranged, ASPECTS, OPINIONS, POLARITIES), max_size=4) for key in REVIEWS}
)
PREDICTED = st.dictionaries(st.sampled_from([*REVIEWS, "d"]), st.lists(SAID, max_size=5)).filter(
    lambda predicted: (
        not predicted.keys().isdisjoint(REVIEWS)
    )  # of no review in common there is an error instead of a score
)


def triplets(rows: Sequence[tuple[str, str, str]]) -> list[Triplet]:
    return [{"aspect": a, "opinion": o, "polarity": p} for a, o, p in rows]


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


@given(ANNOTATED, ANNOTATED, PREDICTED)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_invented_reviews_score_as_by_the_tool(
    tool: ModuleType,
    first: dict[str, list[Triplet]],
    second: dict[str, list[Triplet]],
    predicted: dict[str, list[tuple[str, str, str]]],
) -> None:
    with TemporaryDirectory() as name:
        folder = Path(name)
        write(folder / "A.jsonl", first)
        write(folder / "B.jsonl", second)
        compare(tool, folder, write(folder / "pred.jsonl", {key: triplets(rows) for key, rows in predicted.items()}))
