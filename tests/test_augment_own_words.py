"""Augmentation and bench work with the words and rules of their working directory."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from conftest import Command

from builder.augment import constraints
from builder.augment.bench.augmented import Sources, by_method, given
from builder.augment.bench.labelled_texts import BenchRow
from builder.augment.candidates import Mark, Sentence, applied
from builder.augment.catalogue import Given, make_method, make_settings
from builder.augment.survival import label_lost
from builder.augment.views import segmented
from builder.core.records import Element, Triplet
from builder.language.lexicon.folders import SHIPPED, folders_in

DISH, OPINION, OTHER = "星泡星泡糕", "巔峰造極", "造極巔峰"
TEXT = f"這家的{DISH}{OPINION}"


@pytest.fixture
def workdir(here: Command, tmp_path: Path) -> Path:
    """A working directory with an aspect and two opinions of its own."""
    for name, line, more in (
        ("dishes", DISH, ("--kind", "dishes", "--no-parts")),
        ("words", f"{OPINION}\n{OTHER}", ("--kind", "words", "--category", "eval.topclass")),
    ):
        (tmp_path / f"{name}.txt").write_text(f"{line}\n", "utf-8")
        ran = here("lexicon", "import", tmp_path / f"{name}.txt", *more, "--workdir", tmp_path / "w")
        assert ran.code == 0, ran.err
    return tmp_path / "w"


def test_words_are_cut_and_known_as_the_working_directory_has_them(workdir: Path) -> None:
    sentence, own = Sentence("s", TEXT, ()), folders_in(workdir)

    def words(*folders: object) -> list[str]:
        return [TEXT[a:b] for a, b in segmented([sentence], *folders)[0].words]  # type: ignore[arg-type]

    assert DISH in words(own) and OPINION in words(own)
    assert DISH not in words() and OPINION not in words()
    assert constraints.chinese(own.load_lexicon()) != constraints.chinese(SHIPPED.load_lexicon())


def test_synonyms_are_those_of_the_working_directory(workdir: Path) -> None:
    start = TEXT.index(OPINION)
    sentence = Sentence("s", TEXT, ((0, 3), (3, start), (start, len(TEXT))), (Mark(3, start),), language="zh")

    def texts(folders: object) -> set[str]:
        settings = replace(make_settings({}), given=Given(folders=folders))  # type: ignore[arg-type]
        method = make_method("synonym", settings)
        (row,) = method.propose([sentence], 8, 1)
        return {applied(TEXT, candidate.edits) for candidate in row}

    assert any(text.endswith(OTHER) for text in texts(folders_in(workdir)))
    assert not any(text.endswith(OTHER) for text in texts(SHIPPED))


def test_a_triplet_that_only_own_words_know_is_missed_when_it_is_lost(workdir: Path) -> None:
    start = TEXT.index(OPINION)
    aspect, opinion = Element(DISH, ((3, start),)), Element(OPINION, ((start, len(TEXT)),))
    triplet = Triplet(aspect, aspect, opinion, opinion, "POS", 9.0)
    denied = f"這家的{DISH}希望{OPINION}"
    moved = Element(OPINION, ((start + 2, len(denied)),))
    pairs = [((TEXT, (triplet,)), (denied, (Triplet(aspect, aspect, moved, moved, "POS", 9.0),)))]
    assert label_lost(pairs, folders_in(workdir)) == {0}
    assert label_lost(pairs) == set(), "the shipped rules never found it"


def test_a_bench_and_the_augmentation_of_a_file_know_own_words(workdir: Path, here: Command, tmp_path: Path) -> None:
    row = BenchRow("r", TEXT, label="1")
    known = given(Sources((row,), (), ()), workdir)
    assert known.folders == folders_in(workdir)
    assert DISH in [TEXT[a:b] for a, b in known.sentences[0].words]
    made = by_method("synonym", Sources((row,), (), ()), {"synonym.rate": 1.0}, 8, 1, workdir)
    assert any(OTHER in augmented.text for augmented in made.rows)
    (tmp_path / "in.tsv").write_text(f"sentence\tlabel\n{TEXT}\t1\n", "utf-8")
    ran = here(
        "augment", "synonym", "--input", tmp_path / "in.tsv", "--format", "tsv", "--output", tmp_path / "out.tsv",
        "--set", "synonym.rate=1.0", "--copies", 8, "--workdir", workdir,
    )  # fmt: skip
    assert ran.code == 0, ran.err
    assert OTHER in (tmp_path / "out.tsv").read_text("utf-8")
