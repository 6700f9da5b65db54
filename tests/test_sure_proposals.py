"""Proposals that are kept beside the panel: read again as they were written, and asked for where there are none."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from conftest import Built, Command
from test_model import triplet

from builder.core.errors import ModelError
from builder.learning.task import VALENCE, Example
from builder.models import panel as panels
from builder.models.tagger import Proposal
from builder.pipeline import predictions, variant_e
from builder.pipeline.predictions import FILE, load_proposals, save_proposals

Settings = Callable[..., list[str]]
Ask = Callable[[Iterator[Example]], Iterator[list[Proposal]]]
TEXT = "湯頭很香，麵條難吃"
SOUP = replace(triplet(TEXT, (0, 2), [(2, 4)], "POS"), valence=VALENCE["POS"], source="tagger", confidence=0.75)
NOODLE = replace(triplet(TEXT, (5, 7), [(7, 9)], "NEG"), valence=VALENCE["NEG"], source="tagger", confidence=0.5)
REVIEWS = [Example(key, TEXT, ()) for key in "abcde"]


def test_proposals_are_read_as_they_were_written_and_the_others_are_asked_for_in_order(tmp_path: Path) -> None:
    kept: dict[str, list[Proposal]] = {"a": [(0.9, SOUP)], "c": [], "e": [(1 / 3, NOODLE), (0.7, SOUP)]}
    save_proposals(tmp_path, "d1", [(review, kept[review.id]) for review in REVIEWS if review.id in kept])
    asked = []

    def ask(items: Iterator[Example]) -> Iterator[list[Proposal]]:
        for item in items:
            asked.append(item.id)
            yield [(0.6, NOODLE)]

    answers = list(load_proposals(tmp_path, "d1").answer(iter(REVIEWS), ask))
    assert asked == ["b", "d"]
    assert answers == [[(0.9, SOUP)], [(0.6, NOODLE)], [], [(0.6, NOODLE)], [(1 / 3, NOODLE), (0.7, SOUP)]]


def test_a_review_whose_text_changed_is_asked_for_again(tmp_path: Path) -> None:
    save_proposals(tmp_path, "d1", [(REVIEWS[0], [(0.9, SOUP)])])
    changed = Example("a", TEXT + "。", ())
    answers = load_proposals(tmp_path, "d1").answer([changed], lambda items: ([(0.8, NOODLE)] for _ in items))
    assert list(answers) == [[(0.8, NOODLE)]]


def test_proposals_that_are_missing_or_other_taggers_are_an_error_that_says_how_to_mend_it(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"no readable proposals.*builder run discriminate --force"):
        load_proposals(tmp_path, "d1")
    save_proposals(tmp_path, "d1", [])
    assert list(load_proposals(tmp_path, "d1").answer([], lambda items: iter(()))) == []
    with pytest.raises(ModelError, match="not those of this panel"):
        load_proposals(tmp_path, "d2")
    (tmp_path / FILE).write_bytes(b"")
    with pytest.raises(ModelError, match="no readable proposals"):
        load_proposals(tmp_path, "d1")


def test_variant_e_asks_about_reviews_without_rule_triplets_alone_and_about_no_new_triplet(
    built: Built, here: Command, fast: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(panels, "UNSURE", -2.0)  # so small a panel is unsure of everything
    monkeypatch.setattr(panels, "SURE", -1.0)
    asked: list[str] = []
    judged_later: list[str] = []
    propose, classify, load = predictions.propose_sure, predictions.classify, variant_e.load_proposals

    def note_asked(*parts: Any, apart: bool) -> Iterator[list[Proposal]]:
        *others, items = parts
        examples = list(items)
        asked.extend(item.id for item in examples if apart)
        return propose(*others, examples, apart=apart)

    class FirstWords:
        """Answers with the first four characters of every text, whatever is kept or asked for."""

        def __init__(self, folder: Path, digest: str) -> None:
            self.kept = load(folder, digest)

        def answer(self, items: Iterator[Example], ask: Ask) -> Iterator[list[Proposal]]:
            examples = list(items)
            for example, _ in zip(examples, self.kept.answer(examples, ask), strict=True):
                long = len(example.text) > 3
                made = [replace(triplet(example.text, (0, 2), [(2, 4)], "POS"), confidence=0.81)] if long else []
                yield [(0.9, added) for added in made]

    def note_judged(*parts: Any, apart: bool = False) -> Iterator[predictions.Verdicts]:
        *others, items = parts
        examples = list(items)
        judged_later.extend(item.id for item in examples if asked)
        return classify(*others, examples, apart=apart)

    monkeypatch.setattr(predictions, "propose_sure", note_asked)
    monkeypatch.setattr(variant_e, "load_proposals", FirstWords)
    monkeypatch.setattr(predictions, "classify", note_judged)
    workdir = built.copy(tmp_path)
    options = fast(self_train__variants='["E"]', discriminate__epochs="2")
    ran = here("build", built.reviews, "--workdir", workdir, "--out", tmp_path / "r", *options)
    assert ran.code == 0, ran.err
    ruled = (
        "SELECT p.triplet FROM proposals p JOIN sources s ON s.id = p.source AND s.name = 'rules'"
        " JOIN triplets t ON t.id = p.triplet"
    )
    with sqlite3.connect(workdir / "builder.db") as connection:
        silent = connection.execute(
            "SELECT key FROM reviews WHERE split = 'train' AND duplicate_of IS NULL"
            f" AND id NOT IN ({ruled.replace('p.triplet', 't.review', 1)})"
        ).fetchall()
        new = connection.execute(
            "SELECT v.label, v.score FROM proposals p JOIN sources s ON s.id = p.source AND s.name = 'E0'"
            f" LEFT JOIN verdicts v ON v.triplet = p.triplet WHERE p.triplet NOT IN ({ruled})"
        ).fetchall()
    assert sorted(asked) == sorted(key for (key,) in silent)
    assert ("YY", 0.81) in new
    assert {score for _, score in new} <= {0.81, 0.045}, "the panel gives another polarity the rest"
    assert judged_later == []
