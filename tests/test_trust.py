"""Without a judge a release holds what the rules hold; with one, every split is filtered alike."""

from __future__ import annotations

import csv
import json
import random
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from conftest import Built, Command, ask, environment
from test_model import triplet

from builder.core.config import resolve
from builder.core.errors import ConfigError, ModelError
from builder.core.records import Element, StoredTriplet, Triplet, Verdict
from builder.learning.task import VALENCE, Example
from builder.models.text_reading import Proposal
from builder.models.trust import LEAST, Calibration, Curve, Standing, fitted, load_calibration, save_calibration
from builder.pipeline import predictions
from builder.pipeline.predictions import FILE, read_proposals, save_proposals
from builder.pipeline.rounds import accepts
from builder.store.triplets import JudgedTriplet

LEVEL = Curve(((0.0, 0.9),), "a test")
STANDARD = Curve(((0.0, 0.66), (0.2, 0.72), (0.45, 0.85), (0.75, 0.935), (1.0, 0.985)), "a test")
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
        with closing(sqlite3.connect(self.workdir / "builder.db")) as connection:
            return set(connection.execute(query, values))


Make = Callable[..., Made]


@pytest.fixture
def make(built: Built, here: Command, fast: Settings, tmp_path: Path) -> Make:
    def run(**settings: str) -> Made:
        defaults = {"self_train__variants": '["E"]', "discriminate__mode": '"auto"', "ingest__test_share": "0.2"}
        options = fast(**defaults, **settings)
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


def test_the_profile_rules_has_no_judge(make: Make) -> None:
    made = make(profile="rules")
    assert "no model judges the triplets; releasing what the rules hold" in made.out
    assert not (made.workdir / "models").exists()
    assert made.triplets("E0", "train") == made.triplets("rules", "train") != set()
    card = (made.release / "README.md").read_text(encoding="utf-8")
    assert "No model judged the triplets." in card and "No judge or tagger was trained." in card


def test_the_profile_rules_has_variant_e_alone() -> None:
    with pytest.raises(ConfigError, match='E, the only one that the profile "rules" has'):
        resolve(options={"profile": "rules", "self_train.variants": ("A",)})


def test_without_a_model_for_the_words_and_rules_a_release_holds_what_the_rules_hold(
    make: Make, built: Built, here: Command, tmp_path: Path
) -> None:
    made = make(rules__convention='"paper"')
    assert "no model judges the triplets; releasing what the rules hold" in made.out
    assert not (made.workdir / "models").exists()
    assert made.ask("SELECT count(*) FROM verdicts") == {(0,)}
    for split in SPLITS:
        assert made.triplets("E0", split) == made.triplets("rules", split) >= made.released(split)
    assert made.triplets("rules", "train")
    assert "No model judged the triplets." in (made.release / "README.md").read_text(encoding="utf-8")
    found = [extracted(made, here, source, built.reviews, tmp_path) for source in ("E", "rules")]
    assert found[0] == found[1] != set()
    rows = map(json.loads, (made.release / "data" / "train.jsonl").read_text(encoding="utf-8").splitlines())
    sources = {source for row in rows for triplet in row["triplets"] for source in triplet["sources"]}
    assert sources == {"rules"}, "no second opinion"
    assert made.ask("SELECT count(*) FROM metrics WHERE system LIKE 'E0%'") == {(0,)}


def test_variants_that_need_a_judge_say_how_to_get_one(
    built: Built, here: Command, fast: Settings, tmp_path: Path
) -> None:
    options = fast(discriminate__mode='"auto"', rules__convention='"paper"')
    ran = here("build", built.reviews, "--workdir", tmp_path / "w", "--out", tmp_path / "r", *options)
    assert "no model is shipped for these words and rules" in ran.error and "discriminate.mode=paper" in ran.error


def test_the_shipped_model_rates_what_it_holds_and_every_split_is_filtered_by_it(
    make: Make, built: Built, here: Command, tmp_path: Path
) -> None:
    made = make(release__min_confidence="0.9")
    rated = made.ask("SELECT triplet, confidence FROM verdicts")
    assert rated and all(sure is not None and 0 <= sure <= 1 for _, sure in rated)
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


# ---- proposals that are kept beside the shipped model


TEXT = "湯頭很香，麵條難吃"
SOUP = replace(triplet(TEXT, (0, 2), [(2, 4)], "POS"), valence=VALENCE["POS"], source="tagger", confidence=0.75)
NOODLE = replace(triplet(TEXT, (5, 7), [(7, 9)], "NEG"), valence=VALENCE["NEG"], source="tagger", confidence=0.5)
REVIEWS = [Example(key, TEXT, ()) for key in "abc"]


def test_proposals_are_read_as_they_were_written(tmp_path: Path) -> None:
    kept: list[list[Proposal]] = [[(0.9, SOUP)], [], [(1 / 3, NOODLE), (0.7, SOUP)]]
    save_proposals(tmp_path, "d1", zip(REVIEWS, kept, strict=True))
    assert list(read_proposals(tmp_path, "d1", REVIEWS)) == kept


def test_proposals_of_other_texts_are_never_read(tmp_path: Path) -> None:
    save_proposals(tmp_path, "d1", [(REVIEWS[0], [(0.9, SOUP)])])
    for others in ([Example("a", TEXT + "。", ())], [REVIEWS[1]], REVIEWS):
        with pytest.raises(ModelError, match=r"no proposals for review '[ab]'.*builder run discriminate --force"):
            list(read_proposals(tmp_path, "d1", others))


def test_proposals_that_are_missing_or_another_models_are_an_error_that_says_how_to_mend_it(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"no readable proposals.*builder run discriminate --force"):
        list(read_proposals(tmp_path, "d1", []))
    save_proposals(tmp_path, "d1", [])
    assert list(read_proposals(tmp_path, "d1", [])) == []
    for content in (b"d2\n", b"d1", b""):
        (tmp_path / FILE).write_bytes(content)
        with pytest.raises(ModelError, match="not those of this model"):
            list(read_proposals(tmp_path, "d1", []))
    save_proposals(tmp_path, "d1", [(Example("a", "湯好", ()), [])])
    whole = (tmp_path / FILE).read_bytes()
    for wrong in (b"[[1]]", b"[", b'[[0.5, 0.5, "GOOD", "tagger", [], [], [], []]]', b"7"):
        (tmp_path / FILE).write_bytes(whole.replace(b"[]", wrong))
        with pytest.raises(ModelError, match=r"for review 'a' cannot be read.*builder run discriminate --force"):
            list(read_proposals(tmp_path, "d1", [Example("a", "湯好", ())]))


def test_the_shipped_model_reads_each_review_once(
    built: Built, here: Command, fast: Callable[..., list[str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    score = predictions.score

    def note_asked(*parts: Any) -> Iterator[tuple[Any, list[Proposal]]]:
        *others, items = parts
        examples = list(items)
        asked.extend(item.id for item in examples)
        return score(*others, examples)

    monkeypatch.setattr(predictions, "score", note_asked)
    workdir = built.copy(tmp_path)
    options = fast(self_train__variants='["E"]', discriminate__mode='"auto"')
    ran = here("build", built.reviews, "--workdir", workdir, "--out", tmp_path / "r", *options)
    assert ran.code == 0, ran.err
    distinct = "SELECT key FROM reviews WHERE duplicate_of IS NULL AND split IS NOT NULL"
    unjudged = (
        "SELECT count(*) FROM proposals p JOIN sources s ON s.id = p.source AND s.name = 'E0'"
        " LEFT JOIN verdicts v ON v.triplet = p.triplet WHERE v.triplet IS NULL"
    )
    assert sorted(asked) == sorted(key for (key,) in ask(workdir, distinct))
    assert ask(workdir, unjudged) == [(0,)]
