"""A panel changes what the rules hold only as far as it is trusted; its confidences are calibrated;
every split is filtered alike.
"""

from __future__ import annotations

import csv
import json
import random
import re
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

import pytest
from conftest import Built, Command, environment

from builder.core.config import resolve
from builder.core.errors import ConfigError
from builder.core.records import Element, StoredTriplet, Triplet, Verdict
from builder.models import panel, trust
from builder.models.trust import (
    LEAST,
    MEASURED,
    Calibration,
    Curve,
    Standing,
    fitted,
    load_calibration,
    ranked,
    save_calibration,
)
from builder.pipeline.rounds import accepts
from builder.store.triplets import JudgedTriplet

LEVEL = Curve(((0.0, 0.9),), "a test")
STANDARD = ranked([n / 1000 for n in range(1001)])
Settings = Callable[..., list[str]]
SPLITS = ("train", "valid", "test")


@dataclass(frozen=True, slots=True)
class Made:
    """A build of the test's own: its working directory, its release, and what it printed."""

    workdir: Path
    release: Path
    out: str

    def triplets(self, source: str, split: str) -> set[tuple[str, str, str, str]]:
        """(review, aspect, opinion, polarity) of what a source proposes for a split."""
        return self.ask(
            "SELECT r.key, t.aspect, t.opinion, t.polarity FROM proposals p JOIN sources s ON s.id = p.source JOIN "
            "triplets t ON t.id = p.triplet"
            " JOIN reviews r ON r.id = t.review WHERE s.name = ? AND r.split = ?",
            source,
            split,
        )

    def released(self, split: str) -> set[tuple[str, str, str, str]]:
        lines = (self.release / "data" / f"{split}.jsonl").read_text(encoding="utf-8").splitlines()
        rows = [json.loads(line) for line in lines]
        return {
            (row["id"], t["aspect"]["text"], t["opinion"]["text"], t["polarity"])
            for row in rows
            for t in row["triplets"]
        }

    def ask(self, query: str, *values: object) -> set[tuple[str, str, str, str]]:
        connection = sqlite3.connect(self.workdir / "builder.db")
        try:
            return set(connection.execute(query, values))
        finally:
            connection.close()


Make = Callable[..., Made]


@pytest.fixture
def make(built: Built, here: Command, fast: Settings, tmp_path: Path) -> Make:
    def run(**settings: str) -> Made:
        options = fast(self_train__variants='["E"]', ingest__test_share="0.2", **settings)
        ran = here("build", built.reviews, "--workdir", tmp_path / "w", "--out", tmp_path / "r", "--verbose", *options)
        assert ran.code == 0, ran.err
        return Made(tmp_path / "w", tmp_path / "r" / "v0.1.0", " ".join(ran.out.split()))

    return run


def extracted(made: Made, here: Command, source: str, reviews: Path, folder: Path) -> set[tuple[str, str, str, str]]:
    with reviews.open(encoding="utf-8-sig", newline="") as file:
        rows = [{"id": row["review_id"], "text": row["text"]} for row in csv.DictReader(file) if row["text"].strip()]
    given, answers = folder / "in.jsonl", folder / f"{source}.jsonl"
    given.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    ran = here("extract", "--input", given, "--output", answers, "--source", source, "--workdir", made.workdir)
    assert ran.code == 0, ran.err
    lines = map(json.loads, answers.read_text(encoding="utf-8").splitlines())
    return {(line["id"], t["aspect"], t["opinion"], t["polarity"]) for line in lines for t in line["triplets"]}


def test_the_profile_rules_trains_no_judge_however_many_reviews_there_are(make: Make) -> None:
    made = make(profile="rules", discriminate__least="0")
    assert "the profile rules trains no judge; releasing what the rules hold" in made.out
    assert not (made.workdir / "models").exists()
    assert made.triplets("E0", "train") == made.triplets("rules", "train") != set()
    card = (made.release / "README.md").read_text(encoding="utf-8")
    assert "The profile rules trains no judge." in card and "No judge or tagger was trained." in card


def test_the_profile_rules_has_variant_e_alone() -> None:
    with pytest.raises(ConfigError, match='E, the only one that the profile "rules" has'):
        resolve(options={"profile": "rules", "self_train.variants": ("A",)})


def test_too_few_reviews_train_no_judge_and_the_release_holds_what_the_rules_hold(
    make: Make, built: Built, here: Command, tmp_path: Path
) -> None:
    made = make(discriminate__least="1000")
    assert "too few reviews for a judge; releasing what the rules hold" in made.out
    assert not (made.workdir / "models" / "panel").exists()
    assert made.ask("SELECT count(*) FROM verdicts") == {(0,)}
    for split in SPLITS:
        assert made.triplets("E0", split) == made.triplets("rules", split) >= made.released(split)
    assert made.triplets("rules", "train")
    assert "There were too few reviews for a judge" in (made.release / "README.md").read_text(encoding="utf-8")
    assert (
        extracted(made, here, "E", built.reviews, tmp_path)
        == extracted(made, here, "rules", built.reviews, tmp_path)
        != set()
    )
    rows = [
        json.loads(line) for line in (made.release / "data" / "train.jsonl").read_text(encoding="utf-8").splitlines()
    ]
    assert {source for row in rows for triplet in row["triplets"] for source in triplet["sources"]} == {"rules"}, (
        "no second opinion"
    )
    assert made.ask("SELECT count(*) FROM metrics WHERE system LIKE 'E0%'") == {(0,)}


def test_variants_that_need_a_judge_say_how_to_get_one(
    built: Built, here: Command, fast: Settings, tmp_path: Path
) -> None:
    options = fast(discriminate__least="1000")
    ran = here("build", built.reviews, "--workdir", tmp_path / "w", "--out", tmp_path / "r", *options)
    assert "too few reviews for a judge" in ran.error and "discriminate.least=0" in ran.error


def test_a_panel_that_is_not_trusted_changes_nothing_and_rates_nothing(make: Make) -> None:
    made = make()
    assert "not trusted; releasing what the rules hold" in made.out
    assert made.ask("SELECT count(confidence), count(*) > 0 FROM verdicts") == {(0, 1)}
    for split in SPLITS:
        assert made.triplets("E0", split) == made.triplets("rules", split)
    assert made.ask("SELECT count(*) FROM metrics WHERE system LIKE 'E0%'") == {(0,)}
    assert not re.search("E0 +model", made.out), "the summary names no source that only repeats the rules"
    rows = [
        json.loads(line) for line in (made.release / "data" / "train.jsonl").read_text(encoding="utf-8").splitlines()
    ]
    triplets = [triplet for row in rows for triplet in row["triplets"]]
    assert {source for triplet in triplets for source in triplet["sources"]} == {"rules"}, "no second opinion"
    assert {triplet["verdict"] for triplet in triplets} == {None}, "a judge that is not trusted is not quoted"
    card = (made.release / "README.md").read_text(encoding="utf-8")
    assert "A judge was trained, was not trusted, and changed nothing." in card
    assert "E0" not in card and "`confidence` and `verdict` are null throughout" in card


def test_a_trusted_panel_rates_what_it_holds_and_every_split_is_filtered_by_it(
    make: Make, built: Built, here: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(panel, "UNSURE", -1.0)
    monkeypatch.setattr(panel, "SURE", -0.5)
    monkeypatch.setattr(trust, "DROP", 0.0)  # a panel of few epochs would leave next to nothing
    made = make(release__min_confidence="0.9", discriminate__epochs="16")
    rated = made.ask("SELECT triplet, confidence FROM verdicts")
    assert rated and all(sure is not None and 0 < sure < 1 for _, sure in rated)
    unsure = (
        "SELECT r.key, t.aspect, t.opinion, t.polarity FROM verdicts v JOIN triplets t ON t.id = v.triplet JOIN "
        "reviews r ON r.id = t.review"
        " WHERE v.confidence < 0.9"
    )
    for split in SPLITS:
        assert made.released(split) <= made.triplets("E0", split) - made.ask(unsure)
        assert made.triplets("rules", split) - made.released(split), "every split loses what the judge doubts"
    reasons = made.ask("SELECT reason, count(*) FROM rejected WHERE stage = 'release' GROUP BY reason")
    assert "unsure" in dict(reasons)
    unseen = made.triplets("E0", "valid") | made.triplets("E0", "test")
    keys = {key for (key,) in made.ask("SELECT key FROM reviews WHERE split IN ('valid', 'test')")}
    answers = extracted(made, here, "E", built.reviews, tmp_path)
    assert {answer for answer in answers if answer[0] in keys} == unseen - made.ask(unsure)


def test_a_judge_keeps_out_of_every_split_what_it_keeps_out_of_train() -> None:
    element = Element("湯", ((0, 1),))
    stored = StoredTriplet(1, 1, Triplet(element, element, element, element, "POS", 8.0))

    def enters(variant: str, number: int, label: Verdict | None, score: float | None = 0.5) -> bool:
        return accepts(variant, number, JudgedTriplet(stored, None, label, score))

    assert [enters(variant, 0, "NX") for variant in "ABCD"] == [False, True, False, True]
    assert [enters(variant, 1, "NX") for variant in "ABCD"] == [False, False, False, True]
    assert [enters("C", number, None) for number in (0, 1)] == [True, False]
    assert not enters("A", 0, "YY", None), "who was not asked says nothing"


def test_a_curve_is_straight_between_its_knots_and_level_beyond_them() -> None:
    curve = Curve(((0.2, 0.1), (0.6, 0.5), (1.0, 0.9)), "a test")
    assert [curve(score) for score in (0.0, 0.2, 0.4, 0.6, 0.9, 1.0)] == pytest.approx([0.1, 0.1, 0.3, 0.5, 0.8, 0.9])
    assert all(low <= high for low, high in pairwise(STANDARD(n / 100) for n in range(101)))


def test_a_score_counts_by_its_rank_among_the_rules_triplets() -> None:
    modest, proud = ranked([n / 2000 for n in range(1001)]), ranked([0.5 + n / 2000 for n in range(1001)])
    for share in (0.1, 0.3, 0.7):
        assert (
            modest(share / 2)
            == pytest.approx(proud(0.5 + share / 2), abs=0.01)
            == pytest.approx(STANDARD(share), abs=0.01)
        )
    assert (proud(0.1), modest(0.9)) == (MEASURED[0][1], MEASURED[-1][1])


def test_equal_scores_are_worth_the_middle_of_their_ranks() -> None:
    curve, middle = ranked([0.9] * 10), (MEASURED[0][1] + MEASURED[-1][1]) / 2
    assert curve(0.1) == curve(0.9) == curve(1.0) == pytest.approx(middle)
    tied = ranked([0.0] * 300 + [n / 700 for n in range(1, 701)])
    assert MEASURED[0][1] < tied(0.0) < tied(0.001) < tied(1.0) == MEASURED[-1][1]


def test_gold_moves_the_curves_to_what_it_shows() -> None:
    draw = random.Random(2)
    scores = [draw.random() for _ in range(4000)]
    judged: list[tuple[Standing, float, bool]]
    judged = [("shared", score, draw.random() < 0.9 * STANDARD(score)) for score in scores]
    before = replace(Calibration.of(STANDARD), curves={**Calibration.of(STANDARD).curves, "model": LEVEL})
    moved = fitted(judged, before)
    assert moved.source == "4000 triplets on gold reviews"
    for low, high in ((0.0, 0.4), (0.4, 0.8), (0.8, 1.0)):
        inside = [(moved.rate("shared", score), right) for _, score, right in judged if low <= score < high]
        assert sum(sure for sure, _ in inside) / len(inside) == pytest.approx(
            sum(right for _, right in inside) / len(inside), abs=0.03
        )
    assert 0 < moved.rate("model", 0.5) < LEVEL(0.5), "what gold has no triplet of moves along"


def test_a_little_gold_changes_little_and_too_little_nothing() -> None:
    before = Calibration.of(STANDARD)
    wrong: list[tuple[Standing, float, bool]] = [("shared", 0.99, False)] * (LEAST - 1)
    assert fitted(wrong, before) is before
    few = fitted([*wrong, ("shared", 0.5, True)], before)
    many = fitted([("shared", n / 500, False) for n in range(500)], before)
    assert many.rate("shared", 0.9) < few.rate("shared", 0.9) < STANDARD(0.9)


def test_a_calibration_is_read_back(tmp_path: Path) -> None:
    curves: dict[Standing, Curve] = {**Calibration.of(STANDARD).curves, "spared": Curve(((0.0, 0.4),), STANDARD.source)}
    kept = Calibration(curves, STANDARD.source)
    save_calibration(kept, tmp_path)
    assert load_calibration(tmp_path) == kept
    save_calibration(None, tmp_path)
    assert load_calibration(tmp_path) is None


def test_a_build_of_rules_alone_loads_no_torch(tmp_path: Path) -> None:
    """Neither where the stages run nor in a worker, of which a second and 190 MB would be torch's."""
    (tmp_path / "reviews.csv").write_text("text\n餐點很好吃\n服務很差\n環境乾淨，老闆親切\n", encoding="utf-8")
    code = f"""
import os, sys
os.chdir({str(tmp_path)!r})
class Refusing:
    def find_spec(self, name, *rest):
        assert name != "torch", "it is loaded"
sys.meta_path.insert(0, Refusing())
sys.argv = "builder build reviews.csv --profile rules --licence CC0-1.0 --set workers=1".split()
from builder.cli.main import main
main()
"""
    done = subprocess.run([sys.executable, "-c", code], env=environment(), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "release: releases/v0.1.0" in done.stdout
