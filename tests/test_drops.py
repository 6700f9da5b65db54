"""Nothing vanishes: each candidate is released, or has one row that says who dropped it, why, and by which limit."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from conftest import Command
from test_export import triplet as made
from test_store import new

from builder.core.records import Triplet, Verdict
from builder.models.combiner import merged
from builder.models.trust import Placed, TrustLimits
from builder.pages.plain_story import tell_story
from builder.pipeline import outcome
from builder.store import db, drops, pool_labels, queries, released, report, reviews, runs, triplets

TEXT = "鹹蛋餅皮薄又香，豆漿淡，店裡燈光還行"
CAKE = made(TEXT, (1, 3), ((4, 5),), (4, 5))
LONG_CAKE = made(TEXT, (0, 3), ((4, 5),), (4, 5))
SCENT = made(TEXT, (1, 3), ((6, 7),), (5, 7))
SOY = made(TEXT, (8, 10), ((10, 11),), (10, 11), "NEG")
LIGHT = made(TEXT, (14, 16), ((16, 18),), (16, 18), "NEU")
LIGHT_GOOD = made(TEXT, (14, 16), ((16, 18),), (16, 18), "POS")
Judged = Sequence[tuple[Triplet, Verdict | None, float]]


class Filled:
    """A database with a review for each split, into which rules, judge and model speak."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.connection = connection
        reviews.insert(connection, [new(f"k{n}", TEXT + "。" * n, n) for n in (1, 2, 3)])
        reviews.set_splits(connection, [("train", 1), ("test", 2)])
        released.set_public_ids(connection, hashed=False)
        self.rules = triplets.source(connection, "rules", "rules", "r")
        self.judge = triplets.source(connection, "discriminator", "discriminator", "d")

    def judged(self, review: int, rows: Judged) -> dict[Triplet, int]:
        ids = triplets.propose(self.connection, self.rules, [(review, triplet) for triplet, *_ in rows])
        triplets.judge(self.connection, self.judge, [(i, *row[1:]) for i, row in zip(ids, rows, strict=True)])
        return {row[0]: i for i, row in zip(ids, rows, strict=True)}

    def hold(self, name: str, review: int, held: Sequence[Triplet]) -> list[int]:
        source = triplets.source_id(self.connection, name) or triplets.source(self.connection, name, "model", "m")
        return triplets.propose(self.connection, source, [(review, triplet) for triplet in held])

    def release(self, ids: Sequence[int]) -> None:
        rows = [
            released.ReleasedTriplet(i, "1.0.0", "train", "silver", f"x{i}", None, None, None, None, None) for i in ids
        ]
        released.add_triplets(self.connection, rows)
        runs.set_release(self.connection, "1.0.0", "out/v1.0.0", "digest")
        runs.finish(self.connection, "release", "k", {}, 1.0)

    def drop(
        self, variant: str = "E", last: int = 0, limit: float | None = 0.15, sure: float | None = 0.45
    ) -> dict[int, tuple[object, ...]]:
        found = list(drops.find_drops(self.connection, drops.Selection(variant, last, limit, sure, 0.5)))
        reviews.reject_stored(self.connection, drops.STAGE, found)
        return {row.triplet or 0: (row.reason, row.judge, row.score, row.score_limit) for row in found}


@pytest.fixture
def filled(tmp_path: Path) -> Iterator[Filled]:
    with db.writing(tmp_path) as connection:
        yield Filled(connection)


def test_what_the_judge_dropped_or_replaced_says_so_with_score_and_limit(filled: Filled) -> None:
    ids = filled.judged(
        1, [(CAKE, "YY", 0.7), (SCENT, "NX", 0.04), (SOY, "YN", 0.01), (LIGHT, "YN", 0.0), (LONG_CAKE, None, 0.2)]
    )
    held = filled.hold("E0", 1, [LONG_CAKE, LIGHT_GOOD])
    filled.release(held)
    assert filled.drop() == {
        ids[CAKE]: ("replaced", "discriminator", 0.7, None),
        ids[SCENT]: ("judged_no_pair", "discriminator", 0.04, 0.15),
        ids[SOY]: ("judged_polarity", "discriminator", 0.01, 0.15),
        ids[LIGHT]: ("replaced", "discriminator", 0.0, 0.15),
    }
    shown = filled.connection.execute(
        "SELECT id, review, review_key, reason, rule, sources FROM dropped_triplets ORDER BY id"
    )
    assert sorted(shown.fetchall()) == sorted(
        (i, 1, "k1", reason, "subject", sources)
        for i, reason, sources in (
            (ids[CAKE], "replaced", "rules discriminator"),
            (ids[SCENT], "judged_no_pair", "rules"),
            (ids[SOY], "judged_polarity", "rules"),
            (ids[LIGHT], "replaced", "rules"),
        )
    )
    (example,) = report.examples(filled.connection, 100, 9)
    assert [mark.opinion for mark in example[3]] == ["薄", "還行"], "of a release its triplets alone"
    told = tell_story(filled.connection, str(ids[SCENT]), {})
    assert "judged_no_pair: opinion and aspect do not belong together; discriminator gives it 0.040 (NX)" in told
    assert "below its limit of 0.15" in told


def test_before_a_release_candidates_that_nothing_dropped_are_shown_with_who_says_them(filled: Filled) -> None:
    ids = filled.judged(1, [(CAKE, "YY", 0.9), (SCENT, "NX", 0.04), (LIGHT, "YY", 0.5)])
    dropped = reviews.Rejection("k1", "judged_no_pair", "", review=1, triplet=ids[SCENT])
    reviews.reject_stored(filled.connection, drops.STAGE, [dropped])
    statements = list[str]()
    filled.connection.set_trace_callback(statements.append)
    ((key, *_, marks),) = report.examples(filled.connection, 100, 9)
    filled.connection.set_trace_callback(None)
    assert (key, [(mark.opinion, mark.sources) for mark in marks]) == (
        "k1",
        [("薄", "rules discriminator"), ("還行", "rules discriminator")],
    )
    steps = [row[3] for one in statements for row in filled.connection.execute(f"EXPLAIN QUERY PLAN {one}")]
    assert not [step for step in steps if "AUTOMATIC" in step], "else all proposals are read for each review"


def test_what_the_model_gave_other_words_is_said_by_the_rule_and_the_model(filled: Filled) -> None:
    ids = filled.judged(1, [(CAKE, None, 0.4)])
    held, alone = filled.hold("E0", 1, [replace(one, rules=()) for one in (LONG_CAKE, SOY)])
    source = triplets.require_source(filled.connection, "E0")
    triplets.judge(filled.connection, filled.judge, [(held, None, 0.4), (alone, "YY", 0.9)])
    triplets.credit(filled.connection, source, filled.rules, {held: ids[CAKE]})
    known = released.provenance(filled.connection, 1)
    assert (known[held].sources, known[held].rules) == (("rules", "discriminator"), ("subject",))
    assert (known[alone].sources, known[alone].rules) == (("discriminator",), ())
    told = tell_story(filled.connection, str(held), {})
    assert "薄 is about 鹹蛋餅 by the rule subject. Its words are the model's; the rule found (蛋餅, 薄)." in told
    assert "No rule pairs 淡 with 豆漿" in tell_story(filled.connection, str(alone), {})
    for name, count in (("by-rule", 1), ("only-models", 1)):
        assert len(queries.named(filled.connection, name, {})[1]) == count


def test_all_candidates_are_released_or_dropped_once_and_the_query_adds_them_up(filled: Filled) -> None:
    filled.judged(1, [(CAKE, "YY", 0.9), (SCENT, "NX", 0.1)])
    filled.judged(2, [(SOY, "YY", 0.9)])
    filled.judged(3, [(LIGHT, "YY", 0.9)])
    reviews.reject_nowhere(filled.connection, "of reviews in different splits")
    kept = filled.hold("E0", 1, [CAKE])
    unsure = filled.hold("E0", 2, [SOY])
    filled.release(kept)
    reviews.reject_stored(
        filled.connection, "release", [
            reviews.Rejection("k2:x", "unsure", "its confidence is 0.30", 2, unsure[0], "discriminator", 0.3, 0.4),
            reviews.Rejection("k2", "emptied", "all that was found in it was left out", 2, None),
        ],
    )  # fmt: skip
    assert Counter(reason for reason, *_ in filled.drop().values()) == {"judged_no_pair": 1, "near-duplicate": 1}
    columns, rows = queries.named(filled.connection, "dropped-by-reason", {})
    counts = {(row[0], row[2]): row[columns.index("triplets")] for row in rows}
    assert counts.pop(("found", None)) == 4 == sum(counts.values())
    assert counts[("released", None)] == counts[("dropped", "unsure")] == 1
    assert "unsure: its confidence" in tell_story(filled.connection, "k2", {}), "its own reason, not that of its review"


def test_variants_of_the_paper_say_what_their_judge_and_their_rounds_left_out(filled: Filled) -> None:
    ids = filled.judged(1, [(CAKE, "YY", 0.9), (SCENT, "NX", 0.2)])
    late = filled.hold("C1", 1, [SOY])[0]
    test = filled.judged(2, [(CAKE, "NX", 0.1), (SOY, "YY", 0.8)])
    triplets.set_training(filled.connection, "C", 1, [ids[CAKE]])
    filled.release([ids[CAKE], test[SOY]])
    found = filled.drop("C", 1, None, None)
    assert {i: reason for i, (reason, *_) in found.items()} == {
        ids[SCENT]: "judged_no_pair", late: "unsure", test[CAKE]: "judged_no_pair",
    }  # fmt: skip


def test_what_gives_way_to_a_surer_triplet_of_another_aspect_says_so_with_score_and_limit(filled: Filled) -> None:
    ids = filled.judged(1, [(CAKE, None, 0.3), (LIGHT_GOOD, "YY", 0.9)])
    skin = replace(made(TEXT, (3, 4), ((4, 5),), (4, 5)), source="model")
    placed: list[Placed] = [("shared", 0.3), ("shared", 0.9)]
    held = merged([CAKE, LIGHT_GOOD], placed, [(0.8, skin)], TrustLimits(0.45, 0.15, ("subject",)))
    assert held == (skin, LIGHT_GOOD)
    kept = filled.hold("E0", 1, held)
    triplets.judge(filled.connection, filled.judge, [(kept[0], "YY", 0.8)])
    filled.release(kept)
    assert filled.drop() == {ids[CAKE]: ("outweighed", "discriminator", 0.3, 0.45)}
    told = tell_story(filled.connection, str(ids[CAKE]), {})
    assert "outweighed: the judge is surer of (皮, 薄), " in told
    assert "; discriminator gives it 0.300 (abstains), below its limit of 0.45" in told


def test_what_is_said_twice_of_one_mention_became_one_and_of_another_did_not(filled: Filled) -> None:
    text = "豆漿濃很濃，紅茶濃"
    reviews.insert(filled.connection, [new("k4", text, 4)])
    reviews.set_splits(filled.connection, [("train", 4)])
    first, again = made(text, (0, 2), ((2, 3),), (2, 3)), made(text, (0, 2), ((4, 5),), (3, 5))
    other = made(text, (6, 8), ((8, 9),), (8, 9))
    ids = filled.judged(4, [(one, "YY", 0.9) for one in (first, again, other)])
    filled.release(filled.hold("E0", 4, [first]))
    assert {i: reason for i, (reason, *_) in filled.drop().items()} == {ids[again]: "duplicate", ids[other]: "not_held"}


def test_a_review_that_was_labelled_drops_what_its_labels_do_not_say(filled: Filled) -> None:
    ids = filled.judged(2, [(CAKE, "YY", 0.9), (SOY, "YY", 0.9)])
    people = triplets.source(filled.connection, pool_labels.GOLD, "gold", "g", "two readers")
    said = triplets.propose(filled.connection, people, [(2, SOY)])
    pool_labels.put_layer(filled.connection, people, [2])
    filled.release(said)
    assert filled.drop() == {ids[CAKE]: ("labelled", None, None, None)}
    assert "this review is labelled, and its labels do not say this" in tell_story(
        filled.connection, str(ids[CAKE]), {}
    )


def test_a_build_gives_every_candidate_an_end_and_explains_it(here: Command, tmp_path: Path) -> None:
    lines = ["肉圓外皮軟Q，醬汁偏甜，店員親切", "排隊很久，打電話0911222333訂位的林小姐態度很好", "環境乾淨，冷氣不冷"]
    (tmp_path / "in.csv").write_text(
        "text,date\n" + "".join(f"{line},2024-05-0{n}\n" for n, line in enumerate(lines, 1))
    )
    place = ("--workdir", tmp_path / "w")
    assert here("build", tmp_path / "in.csv", *place, "--out", tmp_path / "out", "--profile", "rules").code == 0
    with db.reading(tmp_path / "w") as connection:
        ask = connection.execute
        total = ask("SELECT count(*) FROM triplets").fetchone()[0]
        assert total == sum(
            ask(f"SELECT count(*) FROM {name}").fetchone()[0] for name in ("released", "dropped_triplets")
        )
        assert {kind for (kind,) in ask("SELECT DISTINCT typeof(review) FROM candidate_triplets")} == {"integer"}
        assert {row[0] for row in ask("SELECT sources FROM released_triplets")} == {"rules"}
        assert {row[0][:7] for row in ask("SELECT date FROM released_triplets")} == {"2024-05"}
    assert "note:" not in here("query", "by-month", *place).err
    assert "no review of this build has a rating" in here("query", "stars-disagree", *place).err


def test_a_rule_that_loses_nearly_all_its_triplets_is_named(
    tmp_path: Path, here: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "reviews.csv").write_text("text\n" + "".join(f"餐點{n}號很好吃\n" for n in range(3)), encoding="utf-8")
    common = ("--workdir", tmp_path / "w", "--out", tmp_path / "r")
    monkeypatch.setattr(outcome, "FEW", 0)
    built = here("build", tmp_path / "reviews.csv", *common, "--profile", "rules")
    assert built.code == 0, built.err
    assert "were dropped" not in built.out
    with db.writing(tmp_path / "w") as connection:
        found = connection.execute("SELECT count(*) FROM released").fetchone()[0]
        connection.execute(
            "INSERT INTO rejected (stage, item, reason, detail, raw, triplet)"
            " SELECT 'release', public_id, 'unsure', 'a test', '', triplet FROM released"
        )
        connection.execute("DELETE FROM released")
    (silenced,) = outcome.find_silenced_rules(tmp_path / "w")
    assert (silenced.found, silenced.dropped) == (found, found)
    assert str(silenced).startswith(f"Of {found} triplets of the rule {silenced.rule} {found} were dropped;")
