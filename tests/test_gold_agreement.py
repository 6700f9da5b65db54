"""Agreement: the published examples of each measure, and what people disagree on until somebody decides."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import Command
from goldwork import TEXTS, by_name, pooled, triplet

from builder.core.records import Candidate, Label, Pool
from builder.gold import agreement
from builder.gold.items import meant
from builder.store import db, pool_labels, pools
from builder.teaching import labelling
from builder.teaching.labelling import opened

# Fleiss (1971) as retold everywhere: ten subjects, fourteen raters, five categories, kappa 0.210.
FLEISS = (
    (0, 0, 0, 0, 14), (0, 2, 6, 4, 2), (0, 0, 3, 5, 6), (0, 3, 9, 2, 0), (2, 2, 8, 1, 1),
    (7, 7, 0, 0, 0), (3, 2, 6, 3, 0), (2, 5, 3, 2, 2), (6, 5, 2, 1, 0), (0, 2, 2, 3, 7),
)  # fmt: skip


def test_fleiss_kappa_of_the_published_table() -> None:
    table = [[label for label, count in enumerate(row) for _ in range(count)] for row in FLEISS]
    assert agreement.fleiss(table) == pytest.approx(0.210, abs=0.0005)


def test_cohens_kappa_of_the_textbook_table() -> None:
    """20 both yes, 15 both no, 5 and 10 apart: 0.7 observed, 0.5 expected, kappa 0.4."""
    first = ["y"] * 20 + ["n"] * 15 + ["y"] * 5 + ["n"] * 10
    second = ["y"] * 20 + ["n"] * 15 + ["n"] * 5 + ["y"] * 10
    assert agreement.raw(first, second) == pytest.approx(0.7)
    assert agreement.cohen(first, second) == pytest.approx(0.4)


def test_measures_say_nothing_where_there_is_nothing_to_measure() -> None:
    assert agreement.raw([], []) is None
    assert agreement.cohen([], []) is None
    assert agreement.fleiss([]) is None
    assert agreement.cohen(["YY"] * 3, ["YY"] * 3) is None
    assert agreement.fleiss([["YY", "YY"]]) is None
    assert agreement.cohen(["YY", "NX"], ["YY", "NX"]) == 1
    assert agreement.cohen(["YY", "NX"], ["NX", "YY"]) == -1


def say(workdir: Path, annotator: str, said: dict[int, Label], kind: str = "human") -> None:
    with opened(workdir) as connection, db.atomic(connection):
        pool_labels.put(connection, pool_labels.annotator(connection, annotator, kind), said.items(), "test")


def all_yes(pool: Pool) -> dict[int, Label]:
    return {one.id: Label("YY") for review in pool.reviews for one in review.candidates}


def test_span_f1_counts_what_the_labels_stand_for(tmp_path: Path) -> None:
    _, pool = pooled(tmp_path)
    yes, soup = all_yes(pool), by_name(pool, TEXTS[0], "湯頭")[1]
    assert agreement.span_f1(pool, yes, yes) == 1
    # one of ten is no triplet for the second annotator: 9 shared of 10 and 9
    assert agreement.span_f1(pool, yes, yes | {soup.id: Label("NX")}) == pytest.approx(2 * 9 / 19)
    # ... with other spans, which makes another triplet: 9 shared of 10 and 10
    assert agreement.span_f1(pool, yes, yes | {soup.id: Label("YY", None, ((2, 3),))}) == pytest.approx(0.9)
    # a review that the second did not finish counts for neither
    assert agreement.span_f1(pool, yes, yes | {soup.id: Label(None)}) == 1
    assert agreement.span_f1(pool, yes, {}) is None


def test_what_a_label_stands_for(tmp_path: Path) -> None:
    _, pool = pooled(tmp_path)
    review, one = by_name(pool, TEXTS[0], "湯頭")
    assert meant(review, one, Label("YY")) == one.triplet
    assert meant(review, one, Label(None)) is None
    assert meant(review, one, Label("YN")) is None
    assert meant(review, one, Label("NX")) is None
    turned, moved = (
        meant(review, one, Label("YN", "NEG")),
        meant(review, one, Label("NX", "NEG", ((10, 12),), ((14, 15), (17, 18)))),
    )
    assert turned is not None
    assert (turned.aspect, turned.opinion, turned.polarity) == (one.triplet.aspect, one.triplet.opinion, "NEG")
    assert moved is not None
    assert (moved.aspect.text, moved.opinion.text, moved.polarity) == ("店員", "不好", "NEG")


@pytest.fixture
def disputed(tmp_path: Path) -> tuple[Path, Pool]:
    """amy and bo differ in a label, in a correction, and in a triplet that only bo found missing."""
    workdir, pool = pooled(tmp_path)
    yes = all_yes(pool)
    say(workdir, "amy", yes)
    soup, corrected = by_name(pool, TEXTS[0], "湯頭")[1], by_name(pool, TEXTS[1], "=湯")[1]
    say(workdir, "bo", yes | {soup.id: Label("NX"), corrected.id: Label("YY", None, ((1, 2),))})
    with opened(workdir) as connection:
        review = next(r for r in pool.reviews if r.text == TEXTS[0])
        i = pools.add(connection, review.id, Candidate(None, triplet(TEXTS[0], "店員", "不|太好", "NEG")))
        pool_labels.put(connection, pool_labels.annotator(connection, "bo"), [(i, Label("YY"))], "test")
        return workdir, pools.read(connection, pool.id)


def test_disputes_are_labels_corrections_and_lonely_finds(disputed: tuple[Path, Pool]) -> None:
    workdir, pool = disputed
    _, listed = labelling.queue(workdir, None)
    said = {one.triplet.aspect.text: answers for _, _, one, answers in listed}
    assert said == {"湯頭": "amy YY · bo NX", "店員": "bo YY", "=湯": "amy YY · bo YY → 湯"}
    _, found, total, open_ = labelling.agree(workdir, None)
    assert (total, open_) == (3, 3)
    assert found.labelled == {"amy": 10, "bo": 10}
    assert found.raw == pytest.approx(0.9)
    assert found.pairs[0].both == found.everyone == 10
    with db.reading(workdir) as connection:
        final = pool_labels.final(connection, pool.id)
    assert sorted(how for _, how in final.values()) == ["agreed"] * 8 + [
        "single"
    ]  # the two open disputes have no final label


def test_the_language_model_and_the_discriminator_do_not_vote(disputed: tuple[Path, Pool]) -> None:
    workdir, pool = disputed
    say(workdir, "gpt", dict.fromkeys(all_yes(pool), Label("NX")), "llm")
    assert len(labelling.queue(workdir, None)[1]) == 3
    assert labelling.agree(workdir, None)[1].annotators == ("amy", "bo")
    assert labelling.agree(workdir, None, None)[1].annotators == ("amy", "bo", "discriminator", "gpt")


def test_three_people_decide_by_majority(disputed: tuple[Path, Pool]) -> None:
    workdir, pool = disputed
    say(workdir, "cy", {by_name(pool, TEXTS[0], "湯頭")[1].id: Label("NX")})
    with db.reading(workdir) as connection:
        label, how = pool_labels.final(connection, pool.id)[by_name(pool, TEXTS[0], "湯頭")[1].id]
    assert (label.label, how) == ("NX", "majority")


def test_the_commands_show_agreement_and_disputes(disputed: tuple[Path, Pool], here: Command) -> None:
    workdir, pool = disputed
    ran = here("annotate", "agreement", "--workdir", workdir)
    assert ran.code == 0, ran.err
    assert "0.900" in ran.out
    assert f"pool {pool.id}: 10 candidates, 3 disputed, 3 of them undecided" in ran.out
    listed = here("annotate", "adjudicate", "--workdir", workdir).out
    assert "amy YY · bo NX" in listed
    assert "3 disputes to decide" in listed
    gone = here("annotate", "adjudicate", "--export", "x.csv", "--workdir", workdir)
    assert "`builder gold annotate serve --adjudicate --annotator NAME` decides" in gone.error


@pytest.mark.parametrize("command", ["agreement", "adjudicate"])
def test_all_rows_are_shown_however_many(
    command: str, disputed: tuple[Path, Pool], here: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    workdir, _ = disputed
    whole = here("annotate", command, "--workdir", workdir)
    monkeypatch.setattr("builder.cli.options.PRINTED", 1)
    assert here("annotate", command, "--workdir", workdir) == whole
