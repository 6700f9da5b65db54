"""Induced words with their sentences: in the file, and on the page where a person accepts or refuses them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from conftest import environment
from devtools import Browser, needed

from builder.core.errors import ResourceError
from builder.language.lexicon.induce import COLUMNS, Induced, WordCandidate, write_candidates
from builder.language.lexicon.resources import load_lexicon
from builder.pages.word_page import CandidateBook
from builder.pipeline.rule_report import quote

TEXT = "昨天來。湯頭很冰裂裂，下次再來！紫炁飯冰裂裂"


def induced() -> Induced:
    opinion = WordCandidate("冰裂裂", 0.91, 2, 3.0, 0.8, 3.2, "", ((0, 7), (0, 19)))
    aspect = WordCandidate("紫炁飯", 0.7, 2, 2.0, 0.5, None, "food.dish", ((0, 16),))
    return Induced((opinion,), (aspect,), 1, 0.9, {})


def written(folder: Path) -> Path:
    path = folder / "candidates.tsv"
    rows = (*induced().opinions, *induced().aspects)
    places = {place: len(row.word) for row in rows for place in row.evidence}
    sentences = {place: quote(TEXT, place[1], place[1] + length) for place, length in places.items()}
    write_candidates(induced(), path, sentences)
    return path


def cells(path: Path) -> list[dict[str, str]]:
    lines = path.read_text(encoding="utf-8").splitlines()[1:]
    return [dict(zip(COLUMNS, line.split("\t"), strict=True)) for line in lines]


def test_a_sentence_is_quoted_around_its_word_and_cut_where_it_is_long() -> None:
    assert quote(TEXT, 7, 10) == "湯頭很【冰裂裂】，下次再來"
    assert quote(TEXT, 0, 2) == "【昨天】來"
    assert quote("好" * 100, 50, 51) == "…" + "好" * 24 + "【好】" + "好" * 24 + "…"


def test_the_file_quotes_sentences_or_names_places_alone(tmp_path: Path) -> None:
    first, second = cells(written(tmp_path))
    assert first["evidence"] == "湯頭很【冰裂裂】，下次再來 ／ 紫炁飯【冰裂裂】"
    assert second["evidence"] == "【紫炁飯】冰裂裂"
    write_candidates(induced(), tmp_path / "places.tsv")
    assert [row["evidence"] for row in cells(tmp_path / "places.tsv")] == ["0:7 0:19", "0:16"]


def test_answers_go_into_the_file_and_what_is_taken_into_the_lexicon(tmp_path: Path) -> None:
    path = written(tmp_path)
    book = CandidateBook(path, tmp_path)
    assert book.list()["rows"][0]["evidence"] == ["湯頭很【冰裂裂】，下次再來", "紫炁飯【冰裂裂】"]
    book.answer({"place": 0, "answer": "yes", "meaning": "2.5"})
    book.answer({"place": 1, "answer": "no", "meaning": "food.dish"})
    assert [(row["answer"], row["meaning"]) for row in cells(path)] == [("yes", "2.5"), ("no", "food.dish")]
    assert [row["answer"] for row in CandidateBook(path, tmp_path).list()["rows"]] == ["yes", "no"]
    assert book.take() == {"opinions": 1, "aspects": 0}
    assert load_lexicon(overlays=[tmp_path / "lexicon"]).opinions["冰裂裂"].valence == 2.5


def test_inducing_again_keeps_every_answer(tmp_path: Path) -> None:
    path = written(tmp_path)
    book = CandidateBook(path, tmp_path)
    book.answer({"place": 0, "answer": "yes", "meaning": "2.5"})
    book.answer({"place": 1, "answer": "no", "meaning": "food.dish"})
    again = induced()
    fresh = WordCandidate("亮閃閃", 0.8, 2, 2.0, 0.5, 7.0, "", ((0, 7),))
    assert write_candidates(Induced((*again.opinions, fresh), (), 1, 0.9, {}), path) == 2
    assert [(row["word"], row["meaning"], row["answer"]) for row in cells(path)] == [
        ("冰裂裂", "2.5", "yes"),
        ("亮閃閃", "POS", ""),
        ("紫炁飯", "food.dish", "no"),
    ]
    assert write_candidates(again, path) == 2
    CandidateBook(path, tmp_path).take()
    assert load_lexicon(overlays=[tmp_path / "lexicon"]).opinions["冰裂裂"].valence == 2.5


def test_a_file_that_holds_no_candidates_is_not_written_over(tmp_path: Path) -> None:
    mine = tmp_path / "notes.txt"
    mine.write_text("mine\n", encoding="utf-8")
    with pytest.raises(ResourceError, match=r"notes\.txt:1: this is no candidate file"):
        write_candidates(induced(), mine)
    assert mine.read_text(encoding="utf-8") == "mine\n"


@pytest.mark.parametrize(
    "answer",
    [
        {"place": 0, "answer": "maybe", "meaning": "3"},
        {"place": 0, "answer": "yes", "meaning": "11"},
        {"place": 0, "answer": "yes", "meaning": "nan"},
        {"place": 1, "answer": "yes", "meaning": "no.class"},
        {"place": 2, "answer": "yes", "meaning": "3"},
        {"place": True, "answer": "yes", "meaning": "3"},
    ],
)
def test_an_answer_that_cannot_be_changes_nothing(answer: dict[str, object], tmp_path: Path) -> None:
    path = written(tmp_path)
    before = path.read_bytes()
    with pytest.raises(ValueError, match=r"answer|polarity|class|place"):
        CandidateBook(path, tmp_path).answer(answer)
    assert path.read_bytes() == before


def test_the_page_takes_and_refuses_words_by_key(tmp_path: Path) -> None:
    pytest.importorskip("uvicorn", reason="the extra annotate is not installed")
    needed()
    path = written(tmp_path)
    command = [sys.executable, "-m", "builder", "lexicon", "review", "--workdir", str(tmp_path), "--port", "0"]
    browser = Browser()
    with subprocess.Popen(command, env=environment(), stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            browser.open(process.stdout.readline().split()[1])
            assert browser.text("#w0 p") == "湯頭很冰裂裂，下次再來"
            assert browser.text("#w0 mark") == "冰裂裂"
            other = browser.run("sentence('【特價】这个【鱼缸】很亮', '魚缸').innerHTML")
            assert other == '【特價】这个<mark class="o">鱼缸</mark>很亮'
            browser.press("y", "n")
            assert [row["answer"] for row in cells(path)] == ["yes", "no"]
            assert browser.text("#count") == "2 / 2"
            browser.run("document.querySelector('#take').click()")
            browser.wait("document.querySelector('#done').textContent.includes('1 意見 opinions, 0')")
            assert browser.troubles == []
        finally:
            browser.close()
            process.terminate()
            process.wait(60)
    assert (tmp_path / "lexicon" / "opinions" / "imported_induced.tsv").is_file()
