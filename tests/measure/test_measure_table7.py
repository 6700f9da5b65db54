"""tests/measure/table7.py makes what the paper released."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import Command
from test_layers import write_reviews

from builder import Release
from measure import table7


def test_the_whole_way_of_the_papers_release_runs_on_a_few_reviews(
    here: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a judge on this machine and simulated people, by the rules alone."""
    pytest.importorskip("openai", reason="the extra judge is not installed")

    def run(*arguments: object) -> str:
        ran = here(*arguments)
        assert ran.code == 0, ran.err
        return ran.out

    monkeypatch.setattr(table7, "builder", run)
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    assert table7.verdict_of("湯頭", "好喝", "正面", "湯頭很好喝，店員親切") == "YY"
    assert table7.verdict_of("湯頭", "難喝", "正面", "湯頭很難喝") == "YN"
    assert table7.verdict_of("湯頭", "親切", "正面", "湯頭很好喝，麵也好吃，店員親切") == "NX"
    rules = ['profile="rules"', 'self_train.variants=["E"]', 'discriminate.mode="auto"', 'release.train_source="E"']
    words = ["--gold", "4", "--silver", "5", "--valid", "4", *(word for rule in rules for word in ("--set", rule))]
    table7.main([str(write_reviews(tmp_path)), "--work", str(tmp_path / "work"), *words])
    release = Release(max((tmp_path / "work" / "releases").glob("v*")))
    layers = {layer["annotation"]: layer["reviews"] for layer in release.manifest["splits"]["test"]["layers"]}
    assert layers == {"gold": 4, "silver": 5} and release.verify() == []
