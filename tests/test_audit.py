"""Audits: what is drawn, what answers say of the whole, how honest intervals are, and where a release states it."""

from __future__ import annotations

import csv
import json
import math
import re
from collections import Counter
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest
from conftest import Built, Command
from goldwork import triplet, work

from builder.core.records import Candidate, Label, Pool, PoolReview
from builder.gold.agreement import READ, AuditSettings, describe_audit, draw_audit, measure_audit, stratum_of
from builder.gold.metrics.scores import Share, Stratum, ratio_share, stratified_share, wilson
from builder.pages.report import quality
from builder.pipeline import builds, pipeline
from builder.release.verify import verify
from builder.store import db, pool_labels, pools, released
from builder.store.released import ReleasedTriplet
from builder.teaching import audit
from builder.teaching.label_sources import read_workdir
from builder.teaching.labelling import opened

TEXT = "湯頭濃郁，店員親切，座位太小"


def review(n: int, rules: bool = True) -> PoolReview:
    found = [
        triplet(TEXT, "湯頭", "濃郁", "POS"),
        triplet(TEXT, "店員", "親切", "POS"),
        triplet(TEXT, "座位", "太小", "NEG"),
    ]
    who = (("rules", None),) if rules else (("C1", None),)
    return PoolReview(0, f"r{n}", TEXT, tuple(Candidate(None, one, who) for one in found))


REVIEWS = [review(n, rules=n % 10 > 0) for n in range(400)] + [
    PoolReview(0, f"e{n}", "昨天來的", ()) for n in range(40)
]


def identified(pool: Pool) -> Pool:
    """As the database gives it back: reviews and candidates with ids."""
    at, reviews = 0, []
    for one in pool.reviews:
        candidates = []
        for candidate in one.candidates:
            at += 1
            candidates.append(replace(candidate, id=at))
        reviews.append(replace(one, id=one.n, candidates=tuple(candidates)))
    return replace(pool, reviews=tuple(reviews))


# ---- intervals


def test_wilsons_interval_is_that_of_the_textbook() -> None:
    low, high = wilson(0.9, 10)
    assert (low, high) == (pytest.approx(0.5958, abs=1e-4), pytest.approx(0.9821, abs=1e-4))
    assert wilson(1.0, 150)[1] == 1.0
    assert wilson(1.0, 150)[0] == pytest.approx(0.975, abs=1e-3)


def test_a_single_stratum_is_a_simple_sample() -> None:
    share = stratified_share([Stratum(10_000, 150, 120)])
    assert share is not None
    assert share.value == pytest.approx(80)
    assert (share.low, share.high) == (
        pytest.approx(100 * wilson(0.8, 150)[0], abs=0.1),
        pytest.approx(100 * wilson(0.8, 150)[1], abs=0.1),
    )


def test_strata_are_weighted_by_their_size_and_not_by_how_many_were_drawn() -> None:
    share = stratified_share([Stratum(900, 10, 10), Stratum(100, 90, 0), Stratum(50, 0, 0)])
    assert share is not None
    assert share.value == pytest.approx(90)
    assert share.answers == 100
    assert share.high < 100, "ten right answers do not make a large stratum certain"
    assert stratified_share([Stratum(10, 0, 0)]) is None


@pytest.mark.parametrize(
    "population",
    [
        ((6000, 0.9, 90), (2000, 0.7, 35), (500, 0.4, 25)),
        ((6000, 0.97, 90), (2000, 0.9, 35), (500, 0.8, 25)),
        ((1000, 0.5, 50), (1000, 0.5, 50), (1000, 0.5, 50)),
    ],
)
def test_intervals_of_strata_hold_the_truth_in_19_of_20_draws(population: tuple[tuple[int, float, int], ...]) -> None:
    random, held, draws = Random(1), 0, 1500
    truth = 100 * sum(size * share for size, share, _ in population) / sum(size for size, _, _ in population)
    for _ in range(draws):
        drawn = [Stratum(size, n, sum(random.random() < share for _ in range(n))) for size, share, n in population]
        share = stratified_share(drawn)
        assert share is not None
        held += share.low <= truth <= share.high
    assert 0.935 < held / draws < 0.985


def test_what_stands_in_one_review_counts_for_less_than_so_many_answers() -> None:
    alike = [(4, 4)] * 15 + [(0, 4)] * 5
    apart = [(3, 4)] * 20
    wide, narrow = ratio_share(alike), ratio_share(apart)
    assert wide is not None and narrow is not None
    assert wide.value == narrow.value == pytest.approx(75)
    assert wide.high - wide.low > 1.5 * (narrow.high - narrow.low)
    assert ratio_share([(0, 0)]) is None
    assert ratio_share([(3, 3)]) == Share(100.0, pytest.approx(100 * wilson(1, 3)[0]), 100.0, 3)


# ---- drawing


def test_an_audit_draws_all_strata_and_reads_some_reviews_in_full_first() -> None:
    pool = draw_audit(REVIEWS, "1.0.0", AuditSettings())
    read = pool.reviews[:30]
    assert {one.stratum for one in read} == {READ}
    assert {one.stratum for one in pool.reviews[30:]} == {""}
    assert any(not one.candidates for one in read), "what the release says nothing about is read too"
    drawn = Counter(stratum_of(candidate) for one in pool.reviews[30:] for candidate in one.candidates)
    assert sum(drawn.values()) == 150
    assert set(drawn) == {"POS of rules", "NEG of rules", "POS of models alone", "NEG of models alone"}
    assert min(drawn.values()) >= 150 // 8
    sizes = pool.config["strata"]
    assert isinstance(sizes, dict)
    assert sum(sizes.values()) == sum(len(one.candidates) for one in REVIEWS) - sum(len(one.candidates) for one in read)
    assert [one.n for review in pool.reviews for one in review.candidates] == list(range(1, pool.size + 1))


def test_the_same_seed_draws_the_same_and_what_came_later_in_the_input_changes_little() -> None:
    settings = AuditSettings()
    assert draw_audit(REVIEWS, "1.0.0", settings) == draw_audit(list(reversed(REVIEWS)), "1.0.0", settings)
    assert draw_audit(REVIEWS, "1.0.0", replace(settings, seed=14)).id != draw_audit(REVIEWS, "1.0.0", settings).id
    small = draw_audit(REVIEWS[:3], "1.0.0", settings)
    assert [one.stratum for one in small.reviews] == [READ, "", ""]
    assert draw_audit([], "1.0.0", settings).reviews == ()


# ---- measuring


def test_answers_become_precision_by_stratum_and_recall_over_reviews_that_are_complete() -> None:
    pool = identified(draw_audit(REVIEWS, "1.0.0", AuditSettings(120, 10)))
    final: dict[int, Label] = {}
    for one in pool.reviews:
        for candidate in one.candidates:
            wrong = one.stratum != READ and candidate.triplet.polarity == "NEG"
            final[candidate.id] = Label("NX") if wrong else Label("YY", aspect=((0, 1),) if candidate.n == 1 else None)
    read = [one for one in pool.reviews if one.stratum == READ]
    complete = frozenset(one.id for one in read)
    missed = next(one for one in read if one.candidates)
    added = Candidate(None, triplet(TEXT, "湯頭", "親切", "POS"), (), 99_999)
    changed = replace(missed, candidates=(*missed.candidates, added))
    pool = replace(pool, reviews=tuple(changed if one is missed else one for one in pool.reviews))
    final[added.id] = Label("YY")
    result = measure_audit(pool, final, complete)
    assert result.precision is not None and result.recall is not None
    assert result.precision.value == pytest.approx(100 * 2 / 3, abs=0.5), "two in three are POS"
    assert result.strata["NEG of rules"].value == 0
    assert result.strata["POS of rules"].value == 100
    due = sum(len(one.candidates) for one in read) + 1
    assert result.recall.value == pytest.approx(100 * (due - 1) / due)
    assert (result.answered, result.drawn, result.read, result.to_read) == (120, 120, 10, 10)
    questions = 120 + due - 1 + sum(not one.candidates for one in read)
    assert (result.decided, result.asked) == (questions, questions), "a review without a triplet is a question too"
    unread = measure_audit(pool, final, complete - {missed.id})
    assert unread.recall is not None and unread.recall.value == 100
    assert unread.read == 9, "a review that nobody marked complete says nothing about recall"
    assert "people judged 120 triplets of version 1.0.0" in describe_audit(result)


def test_abstentions_and_open_answers_count_for_nothing() -> None:
    pool = identified(draw_audit(REVIEWS, "1.0.0", AuditSettings(10, 0)))
    ids = [candidate.id for one in pool.reviews for candidate in one.candidates]
    result = measure_audit(pool, {ids[0]: Label("YY"), ids[1]: Label(None)}, frozenset())
    assert (result.answered, result.decided, result.asked) == (1, 2, 10), "an unsure answer is one"
    assert (result.recall, result.to_read) == (None, 0)
    assert describe_audit(measure_audit(pool, {}, frozenset())) == ""


def test_a_corrected_triplet_of_a_read_review_is_one_that_the_release_missed() -> None:
    pool = identified(draw_audit(REVIEWS[:2], "1.0.0", AuditSettings(1, 1)))
    read = pool.reviews[0]
    first, second, third = read.candidates
    final = {first.id: Label("YY"), second.id: Label("YN", polarity="NEU"), third.id: Label("NX")}
    result = measure_audit(pool, final, frozenset({read.id}))
    assert result.recall is not None
    assert (result.recall.value, result.recall.answers) == (50.0, 2)


# ---- the commands


@pytest.fixture
def workdir(tmp_path: Path) -> Path:
    """The working directory of `goldwork`, all of its triplets released."""
    made = work(tmp_path)
    with db.writing(made) as connection, db.atomic(connection):
        ids = [row[0] for row in connection.execute("SELECT id FROM triplets ORDER BY id")]
        rows = [ReleasedTriplet(i, "0.1.0", "test", "silver", f"x:{i}", None, None, None, None, None) for i in ids]
        released.add_triplets(connection, rows)
    return made


def test_a_sheet_goes_out_and_comes_back_as_a_result(workdir: Path, here: Command, tmp_path: Path) -> None:
    sheet = tmp_path / "audit.csv"
    ran = here("audit", "draw", "--workdir", workdir)
    assert ran.code == 0, ran.err
    assert "2 reviews to read in full" in ran.out
    pool = ("--pool", re.findall(r"--pool (\w+)", ran.out)[0], "--workdir", workdir)
    assert here("annotate", "export", sheet, *pool).code == 0
    rows = list(csv.DictReader(sheet.read_text(encoding="utf-8-sig").splitlines(keepends=True)))
    asked = [row for row in rows if row["candidate"]]
    empty = [row for row in rows if not row["candidate"]]
    assert len(empty) == 2, "one row a review that is read in full, for what is missing"
    for n, row in enumerate(asked):
        row["label"] = "NX" if n == len(asked) - 1 else "YY"
    for row in empty:
        row["label"] = "none"
    with sheet.open("w", encoding="utf-8-sig", newline="") as file:
        writer = csv.DictWriter(file, rows[0].keys())
        writer.writeheader()
        writer.writerows(rows)
    ran = here("annotate", "import", sheet, "--annotator", "amy", *pool)
    assert ran.code == 0, ran.err
    shown = json.loads(here("audit", "show", "--format", "json", "--workdir", workdir).out)
    assert shown["recall"]["value"] == 100
    assert shown["read"] == 2
    assert 0 < shown["precision"]["value"] < 100
    assert "2 of 2 reviews read in full" in here("audit", "show", "--workdir", workdir).out
    assert "(was there)" in here("audit", "draw", "--workdir", workdir).out
    with db.reading(workdir) as connection:
        assert pool_labels.labelled_pools(connection) == [], "an audit is no gold of its reviews"
        assert "people judged" in quality.audit(connection).lead


def test_the_page_answers_an_audit(workdir: Path) -> None:
    from builder.pages.annotation_page import DatabaseBook

    drawn = audit.draw(workdir, AuditSettings())
    with opened(workdir) as connection:
        before = pools.digest(connection)
        book = DatabaseBook(connection, drawn.pool.id, "bob")
        for item in book.items(0, 100):
            said = {"op": "check"} if item["candidate"] is None else {"op": "label", "label": "YY"}
            book.answer(item["place"], said)
        assert book.head()["done"] == book.head()["total"] == drawn.pool.size + drawn.reviews
        assert pools.digest(connection) != before
    result = audit.result(workdir)
    assert result.precision is not None and result.recall is not None
    assert (result.precision.value, result.recall.value) == (100, 100)
    assert result.precision.low < 90, "a handful of answers proves little"


def test_answers_of_an_audit_teach_and_only_reviews_read_in_full_count_as_whole(workdir: Path) -> None:
    from builder.pages.annotation_page import DatabaseBook

    drawn = audit.draw(workdir, AuditSettings())
    with opened(workdir) as connection:
        book = DatabaseBook(connection, drawn.pool.id, "bob")
        items = book.items(0, 100)
        (first, *others) = [item for item in items if item["candidate"] is not None]
        for item, answer in [(first, "NX"), *((item, "YY") for item in others)]:
            book.answer(item["place"], {"op": "label", "label": answer})
        rows = read_workdir(workdir).rows
        assert rows and all("wrong" in row for row in rows), "nobody said that nothing is missing"
        assert sum(len(row["wrong"]) for row in rows) == 1
        for item in items:
            if item["candidate"] is None:
                book.answer(item["place"], {"op": "check"})
    whole = [row for row in read_workdir(workdir).rows if "wrong" not in row]
    assert len(whole) == drawn.reviews
    assert sum(len(row["triplets"]) for row in read_workdir(workdir).rows) == len(others)


def test_what_cannot_be_audited_is_an_error(workdir: Path, here: Command, tmp_path: Path) -> None:
    assert "draw one with `builder gold audit draw`" in here("audit", "show", "--workdir", workdir).error
    assert here("pool", "--workdir", workdir).code == 0
    with db.reading(workdir) as connection:
        pool = pools.chosen(connection, None)
    assert "was drawn for no audit" in here("audit", "show", "--pool", pool, "--workdir", workdir).error
    empty = work(tmp_path / "other")
    assert "no release with triplets that machines found" in here("audit", "draw", "--workdir", empty).error


# ---- in a release


def test_a_release_states_what_people_found_and_that_nobody_looked_before(built: Built, tmp_path: Path) -> None:
    workdir, out = built.copy(tmp_path), tmp_path / "releases"
    assert "No sample of this release was audited." in (built.release / "README.md").read_text(encoding="utf-8")
    first = Path(str(pipeline.run(builds.remembered(workdir, out))[-1].counts["path"]))
    drawn = audit.draw(workdir, AuditSettings(20, 3))
    with opened(workdir) as connection, db.atomic(connection):
        who = pool_labels.annotator(connection, "amy")
        ids = [candidate.id for one in drawn.pool.reviews for candidate in one.candidates]
        pool_labels.put(connection, who, [(i, Label("NX" if n % 5 == 0 else "YY")) for n, i in enumerate(ids)], "page")
        pool_labels.check(connection, who, [one.id for one in drawn.pool.reviews if one.stratum == READ], "page")
    assert [stage.name for stage, state, _ in pipeline.status(workdir) if state == "stale"] == ["release"]
    done = pipeline.run(builds.remembered(workdir, out))
    assert [one.ran for one in done] == [False] * 6 + [True]
    second = Path(str(done[-1].counts["path"]))
    assert (first.name, second.name) == ("v0.1.0", "v0.1.1"), "the same data, packed anew"
    card = (second / "README.md").read_text(encoding="utf-8")
    assert "## Quality" in card
    assert f"{drawn.triplets} triplets of version 0.1.0" in card
    assert "Recall " in card
    croissant = json.loads((second / "metadata.json").read_text(encoding="utf-8"))
    assert croissant["rai:dataAnnotationAnalysis"].startswith("Precision ")
    manifest = json.loads((second / "manifest.json").read_text(encoding="utf-8"))
    assert math.isclose(manifest["quality"]["precision"]["value"], audit.result(workdir).precision.value)  # type: ignore[union-attr]
    assert verify(second) == []
