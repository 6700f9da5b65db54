"""Proposals that are kept beside the shipped model: read again as they were written, and asked for elsewhere."""

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
from builder.models.tagger import Proposal
from builder.pipeline import predictions
from builder.pipeline.predictions import FILE, load_proposals, save_proposals

Settings = Callable[..., list[str]]
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


def test_proposals_that_are_missing_or_another_models_are_an_error_that_says_how_to_mend_it(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"no readable proposals.*builder run discriminate --force"):
        load_proposals(tmp_path, "d1")
    save_proposals(tmp_path, "d1", [])
    assert list(load_proposals(tmp_path, "d1").answer([], lambda items: iter(()))) == []
    with pytest.raises(ModelError, match="not those of this model"):
        load_proposals(tmp_path, "d2")
    (tmp_path / FILE).write_bytes(b"")
    with pytest.raises(ModelError, match="no readable proposals"):
        load_proposals(tmp_path, "d1")


def test_variant_e_asks_about_reviews_without_rule_triplets_alone(
    built: Built, here: Command, fast: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    propose = predictions.propose_sure

    def note_asked(*parts: Any) -> Iterator[list[Proposal]]:
        *others, items = parts
        examples = list(items)
        asked.extend(item.id for item in examples)
        return propose(*others, examples)

    monkeypatch.setattr(predictions, "propose_sure", note_asked)
    workdir = built.copy(tmp_path)
    options = fast(self_train__variants='["E"]', discriminate__mode='"auto"')
    ran = here("build", built.reviews, "--workdir", workdir, "--out", tmp_path / "r", *options)
    assert ran.code == 0, ran.err
    with sqlite3.connect(workdir / "builder.db") as connection:
        silent = connection.execute(
            "SELECT key FROM reviews WHERE duplicate_of IS NULL AND id NOT IN (SELECT t.review FROM proposals p"
            " JOIN sources s ON s.id = p.source AND s.name = 'rules' JOIN triplets t ON t.id = p.triplet)"
        ).fetchall()
        unjudged = connection.execute(
            "SELECT count(*) FROM proposals p JOIN sources s ON s.id = p.source AND s.name = 'E0'"
            " LEFT JOIN verdicts v ON v.triplet = p.triplet WHERE v.triplet IS NULL"
        ).fetchone()
    assert sorted(asked) == sorted(key for (key,) in silent)
    assert unjudged == (0,)
