"""The working directory's database: its schema guards itself, writes are whole or not at all, questions get answers."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builder.core.errors import ConfigError, QueryError, WorkdirError
from builder.core.records import Element, Polarity, ReadWord, Reasons, Span, StoredTriplet, Token, Triplet
from builder.pages.plain_story import tell_story
from builder.store import db, queries, released, reviews, runs, stories, triplets

TEXTS = {
    "r1": "湯頭不會太鹹，服務很好",
    "r2": "牛肉麵很好吃",
    "r3": "牛肉麵很好吃",
    "r4": "牛肉麵很好吃！",
    "r5": "地點普通",
}
SPLITS = {"r1": "train", "r2": "train", "r5": "test"}
TOKENS = (Token(0, 3, "NOUN", 2, "nsubj"), Token(3, 4, "ADV", 2, "advmod"), Token(4, 6, "ADJ", -1, "root"))


def load_tokens(words: str) -> tuple[Token, ...]:
    """The tokens of the JSON in `annotations`."""
    return tuple(Token(*word) for word in reviews.load_words(words))


def triplet(
    text: str,
    aspect: Span,
    opinion: tuple[Span, ...],
    polarity: Polarity = "POS",
    owner: Span | None = None,
    confidence: float | None = None,
) -> Triplet:
    thing, full = Element.at(text, [aspect]), Element.at(text, [(opinion[0][0], opinion[-1][1])])
    salt = ReadWord("鹹", "taste.salty", "opinions/food_taste.tsv:1", 4)
    reasons = Reasons(salt, negators=("不會",)) if len(opinion) > 1 else Reasons(ReadWord("word", "eval.good"))
    valence = {"POS": 8.0, "NEG": 2.0, "NEU": 5.0}[polarity]
    return Triplet(
        thing, thing, Element.at(text, opinion), full, polarity, valence, Element.at(text, [owner]) if owner else None,
        "rules", ("subject",), confidence, reasons,
    )  # fmt: skip


SALT = triplet(TEXTS["r1"], (0, 2), ((2, 4), (5, 6)))
GOOD = triplet(TEXTS["r1"], (7, 9), ((10, 11),))
NOODLES = triplet(TEXTS["r2"], (0, 3), ((4, 6),), owner=(0, 2))
PLACE = triplet(TEXTS["r5"], (0, 2), ((2, 4),), "NEU")


@pytest.fixture
def connection(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    """An empty database, open for writing."""
    with db.writing(tmp_path) as opened:
        yield opened


def new(key: str, text: str, row: int) -> reviews.NewReview:
    return key, text, "web", "店", 4.0, "in.csv", row, "traditional", "zh", f"h{text}", f"n{text.rstrip('！')}"


@pytest.fixture
def filled(connection: sqlite3.Connection) -> sqlite3.Connection:
    """Five reviews, two of them repeated; a rule, a model, a person and a discriminator have spoken."""
    with db.atomic(connection):
        reviews.insert(connection, (new(key, text, row) for row, (key, text) in enumerate(TEXTS.items(), start=1)))
        reviews.mark_duplicates(connection)
        ids = {key: i for i, key, *_ in reviews.distinct(connection)}
        reviews.set_splits(connection, ((split, ids[key]) for key, split in SPLITS.items()))
        reviews.reject(connection, "ingest", [("row 9", "empty", "no text", ""), ("row 10", "no_han", "no Han", "ok")])
        backend = reviews.begin_annotations(connection, "embedded", "embedded/1 x", "k", anew=False)
        reviews.annotate(connection, backend, [(2, reviews.dump_tokens(TOKENS))])
        rules = triplets.source(connection, "rules", "rules", "sig-rules")
        model = triplets.source(connection, "C1", "model", "sig-c1")
        gold = triplets.source(connection, "gold", "gold", "people")
        judge = triplets.source(connection, "discriminator", "discriminator", "sig-d")
        made = triplets.propose(connection, rules, [(1, SALT), (1, GOOD), (2, NOODLES), (5, PLACE)])
        triplets.propose(
            connection,
            model,
            [
                (1, replace(GOOD, confidence=0.75, rules=())),
                (2, replace(NOODLES, polarity="NEG", valence=2.0, rules=())),
            ],
        )
        triplets.propose(connection, gold, [(5, replace(PLACE, rules=(), reasons=None))])
        triplets.judge(connection, judge, [(made[0], "YY", 0.9), (made[1], "NX", 0.2), (made[3], "YN", 0.4)])
        triplets.set_training(connection, "C", 0, made[:3])
        runs.finish_round(connection, runs.Round("C", 0, "k", "digest", 2, 3, 5, 4, 3, 1.23456))
        runs.set_metrics(connection, [(("rules", "test", "f1", 50.0, None, None), "sig")])
        released.set_public_ids(connection, hashed=False)
        released.add_reviews(
            connection,
            (released.ReleasedReview(i, "0.1.0", "train", "silver", empty) for i, empty in ((1, False), (2, True))),
        )
        released.add_triplets(
            connection,
            [
                released.ReleasedTriplet(
                    made[0], "0.1.0", "train", "silver", "r1:x", 0.91, "YY", "subject", "food.soup", "taste.salty",
                    "rules discriminator",
                )
            ],
        )  # fmt: skip
    return connection


def of_review(connection: sqlite3.Connection, review: int) -> list[StoredTriplet]:
    ids = [row[0] for row in connection.execute("SELECT id FROM triplets WHERE review = ?", (review,))]
    return list(triplets.subset(connection, ids))


# ---- schema


def test_a_new_database_has_the_newest_schema_our_mark_and_only_strict_tables(connection: sqlite3.Connection) -> None:
    assert connection.execute("PRAGMA user_version").fetchone()[0] == db.schema()[-1][0]
    assert connection.execute("PRAGMA application_id").fetchone()[0] == db.APPLICATION_ID
    listed = connection.execute(
        "SELECT name, strict FROM pragma_table_list WHERE schema = 'main' AND type = 'table' AND name NOT LIKE "
        "'sqlite_%'"
    )
    tables = dict(listed.fetchall())
    assert {"reviews", "triplets", "proposals", "rejected", "verdicts", "training_sets", "runs"} <= tables.keys()
    assert set(tables.values()) == {1}
    assert connection.execute("PRAGMA integrity_check").fetchone()[0] == "ok"


def test_schema_files_are_numbered_from_that_of_version_05_without_gaps() -> None:
    assert [number for number, _ in db.schema()] == list(range(17, 17 + len(db.schema())))


def test_a_database_older_than_version_05_names_the_builder_that_reads_it(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / db.NAME) as old:
        old.executescript(f"CREATE TABLE a (b); PRAGMA application_id = {db.APPLICATION_ID}; PRAGMA user_version = 16;")
    old.close()
    for opened in (db.reading, db.writing):
        message = r"schema 16, made by a builder before 0\.5\.0; builder 0\.8\.0 brings"
        with pytest.raises(WorkdirError, match=message), opened(tmp_path):
            pass


@pytest.mark.parametrize(
    "statement",
    [
        "INSERT INTO settings VALUES (1.5, NULL)",
        "INSERT INTO rounds VALUES ('C', 'first', '', '', 0, 0, 0, 0, 0, 0)",
        "INSERT INTO sources (name, kind, signature) VALUES ('x', 'oracle', '')",
        "INSERT INTO verdicts VALUES (1, 1, 'NO', 0.5, NULL)",
        "UPDATE reviews SET split = 'dev'",
        "UPDATE triplets SET polarity = 'BAD'",
        "UPDATE triplets SET valence = 11",
        "INSERT INTO proposals (source, triplet, story) VALUES (99, 1, '[]')",
        "INSERT INTO training_sets VALUES ('C', 1, 99)",
        "INSERT INTO annotations VALUES (99, 1, '[]')",
        "INSERT INTO annotations VALUES (1, 99, '[]')",
        "INSERT INTO backends VALUES (9, 'ckip', '', '', 1)",
        "UPDATE reviews SET duplicate_of = 99",
        "INSERT INTO reviews SELECT 99, key, text, source, place, rating, file, row, script, language, hash, "
        "norm_hash, NULL, NULL, NULL, NULL FROM reviews",
    ],
)
def test_the_schema_refuses_what_no_row_may_be(filled: sqlite3.Connection, statement: str) -> None:
    with pytest.raises(sqlite3.IntegrityError):
        filled.execute(statement)


def test_a_review_that_goes_takes_all_that_was_made_of_it(filled: sqlite3.Connection) -> None:
    filled.execute("DELETE FROM reviews WHERE duplicate_of IS NOT NULL")
    filled.execute("DELETE FROM reviews WHERE key = 'r2'")
    assert of_review(filled, 2) == []
    for table in ("proposals", "verdicts", "training_sets"):
        of_second = f"SELECT count(*) FROM {table} WHERE triplet >> {triplets.BITS} = 2"
        assert filled.execute(of_second).fetchone()[0] == 0
    assert filled.execute("SELECT count(*) FROM annotations").fetchone()[0] == 0
    assert filled.execute("PRAGMA foreign_key_check").fetchall() == []


# ---- opening what is not ours


def test_a_database_of_someone_else_or_of_a_newer_builder_is_refused_and_left_alone(tmp_path: Path) -> None:
    foreign, newer = tmp_path / "foreign", tmp_path / "newer"
    foreign.mkdir()
    with sqlite3.connect(foreign / db.NAME) as made:
        made.execute("CREATE TABLE mine (x)")
    made.close()
    with db.writing(newer) as made:
        made.execute("PRAGMA user_version = 99")
    for folder, message in (
        (foreign, "was not made by builder; choose another --workdir"),
        (newer, "has schema 99, this builder knows up to"),
    ):
        before = (folder / db.NAME).read_bytes()
        for opening in (db.writing, db.reading):
            with pytest.raises(WorkdirError, match=message), opening(folder):
                pass
        assert (folder / db.NAME).read_bytes() == before


def test_a_damaged_database_is_said_to_be_damaged(tmp_path: Path) -> None:
    (tmp_path / db.NAME).write_bytes(b"this was a database once" * 200)
    for opening in (db.writing, db.reading):
        with (
            pytest.raises(WorkdirError, match=r"builder\.db: the database is damaged .*build in a new --workdir"),
            opening(tmp_path),
        ):
            pass


def test_a_build_beside_is_named_where_none_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / db.NAME).touch()
    monkeypatch.chdir(tmp_path)
    with (
        pytest.raises(WorkdirError, match="workdir: no database here; builds here: mine; name it with --workdir"),
        db.reading(Path("workdir")),
    ):
        pass


# ---- reading only


@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM settings", "INSERT INTO settings VALUES ('a', 'b')", "UPDATE settings SET value = 'c'",
        "DROP TABLE settings", "CREATE TABLE mine (x)", "PRAGMA user_version = 7",
        "ATTACH DATABASE 'other.db' AS other", "VACUUM INTO 'copy.db'", "PRAGMA query_only = OFF",
    ],
)  # fmt: skip
def test_a_reader_can_write_nothing_and_nowhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, statement: str
) -> None:
    monkeypatch.chdir(tmp_path)
    workdir = tmp_path / "workdir"
    with db.writing(workdir) as made:
        runs.set_setting(made, "a", "1")
    with db.reading(workdir) as reader:
        with pytest.raises(QueryError):
            queries.free(reader, statement, None)
        assert queries.free(reader, "SELECT * FROM settings", None) == (("name", "value"), [("a", "1")])
        assert reader.execute("PRAGMA user_version").fetchone()[0] == db.schema()[-1][0]
    assert [path.name for path in tmp_path.iterdir()] == ["workdir"]


# ---- whole or not at all


def broken_off(connection: sqlite3.Connection, error: type[BaseException]) -> None:
    """A block that writes and then raises."""
    with db.atomic(connection):
        runs.set_setting(connection, "a", "1")
        raise error


@pytest.mark.parametrize("error", [KeyError, KeyboardInterrupt])
def test_an_atomic_block_that_raises_leaves_nothing(connection: sqlite3.Connection, error: type[BaseException]) -> None:
    with pytest.raises(error):
        broken_off(connection, error)
    assert runs.setting(connection, "a") is None
    assert not connection.in_transaction
    with db.atomic(connection):
        runs.set_setting(connection, "a", "2")
    assert runs.setting(connection, "a") == "2"


def test_a_block_inside_a_block_is_a_part_of_it(connection: sqlite3.Connection) -> None:
    def nested() -> None:
        with db.atomic(connection):
            with db.atomic(connection):
                runs.set_setting(connection, "b", "1")
            broken_off(connection, KeyError)

    with pytest.raises(KeyError):
        nested()
    assert (runs.setting(connection, "a"), runs.setting(connection, "b")) == (None, None)


def test_a_full_disk_is_one_clear_line_and_what_was_there_stays(tmp_path: Path) -> None:
    def fill() -> None:
        with db.writing(tmp_path) as connection:
            runs.set_setting(connection, "kept", "1")
            connection.execute("PRAGMA max_page_count = 64")
            with db.atomic(connection):
                runs.set_setting(connection, "kept", "x" * 10_000_000)

    with pytest.raises(
        WorkdirError,
        match=r"builder\.db: the disk is full or failing .*; free some space, then give the same command again",
    ):
        fill()
    with db.writing(tmp_path) as connection:
        assert runs.setting(connection, "kept") == "1"


# ---- reviews


def test_repeated_reviews_point_to_the_first_and_are_not_read_again(filled: sqlite3.Connection) -> None:
    rows = filled.execute(
        "SELECT key, duplicate_of, duplicate_kind FROM reviews WHERE duplicate_of IS NOT NULL ORDER BY key"
    ).fetchall()
    assert rows == [("r3", 2, "exact"), ("r4", 2, "normalised")]
    assert reviews.count(filled) == 3
    assert [review.key for review in reviews.texts(filled, 0, 10)] == ["r1", "r2", "r5"]
    assert [review.key for review in reviews.texts(filled, 1, 1)] == ["r2"]
    assert [review.key for review in reviews.in_split(filled, "train")] == ["r1", "r2"]
    assert [review.key for review in reviews.by_id(filled, [5, 1])] == ["r1", "r5"]


def test_a_review_comes_back_as_it_went_in(filled: sqlite3.Connection) -> None:
    (review,) = reviews.by_id(filled, [1])
    assert (review.key, review.text, review.script, review.split, review.place, review.rating, review.source) == (
        "r1", TEXTS["r1"], "traditional", "train", "店", 4.0, "web",
    )  # fmt: skip
    assert reviews.ids(filled, ["r1", "r9", "x"]) == {"r1": 1}


def test_the_counts_of_ingest_add_up(filled: sqlite3.Connection) -> None:
    counts = reviews.ingest_counts(filled)
    assert counts == {"rows": 7, "rejected": 2, "duplicates": 2, "reviews": 3, "train": 2, "valid": 0, "test": 1}
    assert reviews.rejection_counts(filled) == {"empty": 1, "no_han": 1}


def test_clearing_ingest_leaves_no_trace_of_reviews(filled: sqlite3.Connection) -> None:
    reviews.clear(filled)
    for table in ("reviews", "annotations", "triplets", "proposals", "verdicts", "training_sets", "rejected"):
        assert filled.execute(f"SELECT count(*) FROM {table}").fetchone()[0] == 0, table


@given(
    st.lists(
        st.builds(Token, st.integers(0, 99), st.integers(1, 99), st.just("NOUN"), st.integers(-1, 9), st.just("acl:x"))
    )
)
def test_tokens_come_back_as_they_went(tokens: list[Token]) -> None:
    assert load_tokens(reviews.dump_tokens(tokens)) == tuple(tokens)


def test_annotated_reviews_come_with_their_words(filled: sqlite3.Connection) -> None:
    ((review, words),) = reviews.annotated(filled, 0, 10)
    assert (review.key, load_tokens(words)) == ("r2", TOKENS)
    assert reviews.annotated(filled, 2, 10) == []
    assert reviews.backend(filled) == "embedded/1 x"
    rows = filled.execute("SELECT n, word, pos, head, relation FROM tokens ORDER BY n").fetchall()
    assert rows == [(0, "牛肉麵", "NOUN", 2, "nsubj"), (1, "很", "ADV", 2, "advmod"), (2, "好吃", "ADJ", -1, "root")]


# ---- triplets


def test_the_id_of_a_triplet_is_a_function_of_review_places_and_polarity() -> None:
    """These numbers stand in releases: they may never change."""
    assert triplets.triplet_id(1, SALT) == triplets.triplet_id(
        1, replace(SALT, source="C1", rules=(), valence=6.0, reasons=None)
    )
    assert triplets.triplet_id(3, SALT) - triplets.triplet_id(1, SALT) == 2 << triplets.BITS
    different = (SALT, GOOD, replace(SALT, polarity="NEG"), replace(SALT, aspect=GOOD.aspect))
    assert len({triplets.triplet_id(1, one) for one in different}) == 4
    assert triplets.triplet_id(1, SALT) == (1 << 31) + 136768806


@given(st.integers(1, 2**31), st.integers(0, 500), st.integers(1, 9), st.sampled_from(["POS", "NEG", "NEU"]))
def test_an_id_shifted_right_gives_the_review(review: int, start: int, length: int, polarity: Polarity) -> None:
    one = triplet("字" * 600, (start, start + length), ((start + length, start + length + 1),), polarity)
    i = triplets.triplet_id(review, one)
    assert i >> triplets.BITS == review
    assert 0 < i < 2**63


def test_proposing_again_changes_nothing(filled: sqlite3.Connection) -> None:
    def everything() -> list[object]:
        statements = (f"SELECT * FROM {table} ORDER BY 1, 2" for table in ("triplets", "proposals"))
        return [filled.execute(statement).fetchall() for statement in statements]

    before, source = everything(), triplets.source_id(filled, "rules")
    assert source is not None
    ids = triplets.propose(filled, source, [(2, NOODLES), (1, SALT), (1, SALT)])
    assert ids == [triplets.triplet_id(2, NOODLES), *[triplets.triplet_id(1, SALT)] * 2]
    assert everything() == before


def test_a_triplet_comes_back_with_its_places(filled: sqlite3.Connection) -> None:
    stored = {one.id: one for one in of_review(filled, 1)}
    salt = stored[triplets.triplet_id(1, SALT)]
    assert salt.review == 1
    assert salt.triplet == replace(SALT, rules=(), reasons=None)
    noodles = {one.triplet.polarity: one.triplet for one in of_review(filled, 2)}
    assert noodles["POS"].owner == NOODLES.owner


def test_a_triplet_of_several_sources_is_stored_once(filled: sqlite3.Connection) -> None:
    assert released.provenance(filled, 1)[triplets.triplet_id(1, GOOD)] == released.Provenance(
        ("rules", "C1"), ("subject",), None, "eval.good", "NX"
    )
    assert released.provenance(filled, 5)[triplets.triplet_id(5, PLACE)].sources == ("rules", "gold")
    assert filled.execute("SELECT count(*) FROM triplets").fetchone()[0] == 5
    assert released.provenance(filled, 2)[triplets.triplet_id(2, replace(NOODLES, polarity="NEG"))].rules == ()


def test_a_rerun_of_a_source_replaces_what_it_said(filled: sqlite3.Connection) -> None:
    with db.atomic(filled):
        source = triplets.source(filled, "C1", "model", "sig-c1-again")
        triplets.propose(filled, source, [(5, PLACE)])
        triplets.drop_orphans(filled)
    assert [one.review for one in triplets.proposed(filled, source, "test")] == [5]
    assert [one.triplet.polarity for one in of_review(filled, 2)] == ["POS"]
    assert triplets.signatures(filled) == {"rules": "sig-rules", "C1": "sig-c1-again", "discriminator": "sig-d"}


def test_dropping_the_sources_of_a_kind_keeps_what_others_said(filled: sqlite3.Connection) -> None:
    triplets.drop_sources(filled, "model", "C")
    assert triplets.source_id(filled, "C1") is None
    assert {one.triplet.polarity for one in of_review(filled, 2)} == {"POS"}
    triplets.drop_sources(filled, "model", "D")
    triplets.drop_sources(filled, "rules")
    assert filled.execute("SELECT review FROM triplets").fetchall() == [(5,)]


def test_proposals_are_read_by_split_in_the_order_of_reviews(filled: sqlite3.Connection) -> None:
    source = triplets.source_id(filled, "rules")
    assert source is not None
    assert [one.review for one in triplets.proposed(filled, source, "train")] == [1, 1, 2]
    assert [one.review for one in triplets.proposed(filled, source, "test")] == [5]
    assert list(triplets.proposed(filled, source, "valid")) == []
    assert triplets.counts(filled, "rules") == {"triplets": 4, "reviews": 3, "POS": 3, "NEG": 0, "NEU": 1}
    assert triplets.counts(filled, "nobody") == {"triplets": 0, "reviews": 0, "POS": 0, "NEG": 0, "NEU": 0}


def test_triplets_come_with_what_a_judge_says_of_them(filled: sqlite3.Connection) -> None:
    rules, judge = triplets.source_id(filled, "rules"), triplets.source_id(filled, "discriminator")
    assert rules is not None and judge is not None
    told = {one.stored.id: (one.label, one.score is None) for one in triplets.judged(filled, rules, judge, "train")}
    labels = triplets.verdicts(filled, judge)
    assert told == {
        one.id: (labels.get(one.id), one.id not in labels) for one in triplets.proposed(filled, rules, "train")
    }
    assert [one.stored.id for one in triplets.judged(filled, rules, judge, "train") if one.score is None] == [
        triplets.triplet_id(2, NOODLES)
    ]
    whole = "SELECT sum(length(text)) FROM reviews WHERE split = 'train' AND id IN (SELECT review FROM triplets)"
    assert reviews.characters(filled, "train", rules) == filled.execute(whole).fetchone()[0]


def test_the_reviews_that_are_trained_on_are_drawn_by_their_hashes(filled: sqlite3.Connection) -> None:
    source = triplets.source_id(filled, "rules")
    assert source is not None
    first = {one.review for one in triplets.proposed(filled, source, "train", 1)}
    assert first == set(filled.execute("SELECT id FROM reviews WHERE id < 3 ORDER BY norm_hash LIMIT 1").fetchone())
    ids = [one.id for one in triplets.proposed(filled, source, "train")]
    assert {one.review for one in triplets.subset(filled, ids, 1)} == first
    assert list(triplets.proposed(filled, source, "train", 2)) == list(triplets.proposed(filled, source, "train"))


def test_whether_a_source_proposes_something_for_a_review_is_looked_up_and_not_searched_for(
    filled: sqlite3.Connection,
) -> None:
    """A million reviews, each looked for among all proposals, would never end."""
    said: list[str] = []
    filled.set_trace_callback(said.append)
    (
        list(reviews.in_split(filled, "train", 1)),
        reviews.characters(filled, "train", 1),
        list(triplets.proposed(filled, 1, "train", 5)),
    )
    filled.set_trace_callback(None)
    plans = [[row[3] for row in filled.execute(f"EXPLAIN QUERY PLAN {one}")] for one in said if "EXISTS" in one]
    inner = [
        next(step for step in plan[at:] if step.startswith(("SEARCH", "SCAN")))
        for plan in plans
        for at, told in enumerate(plan)
        if "SCALAR" in told
    ]
    assert len(inner) == 3
    assert all("triplet>? AND triplet<?" in step for step in inner), inner


def test_verdicts_and_training_sets_are_kept_by_source_and_round(filled: sqlite3.Connection) -> None:
    judge = triplets.source_id(filled, "discriminator")
    assert judge is not None
    assert triplets.verdicts(filled, judge)[triplets.triplet_id(1, SALT)] == "YY"
    assert triplets.label_counts(filled, judge) == {"YY": 1, "YN": 1, "NX": 1}
    assert [one.review for one in triplets.training(filled, "C", 0)] == [1, 1, 2]
    triplets.set_training(filled, "C", 0, [triplets.triplet_id(5, PLACE)])
    assert [one.review for one in triplets.training(filled, "C", 0)] == [5]
    assert list(triplets.training(filled, "C", 1)) == []
    model = triplets.source_id(filled, "C1")
    assert model is not None
    assert triplets.count(filled, model, "train") == 2
    assert triplets.training_counts(filled, "C", 0, model) == (1, 1, 0)
    triplets.train_on(filled, "C", 0, model)
    assert triplets.training_counts(filled, "C", 0, model)[1:] == (2, 2)
    assert [one.id for one in triplets.subset(filled,
    [triplets.triplet_id(5, PLACE), triplets.triplet_id(2, NOODLES)])] == [
        triplets.triplet_id(2, NOODLES), triplets.triplet_id(5, PLACE),
    ]  # fmt: skip


# ---- runs


def test_a_finished_stage_is_known_by_its_key_until_it_is_forgotten(connection: sqlite3.Connection) -> None:
    runs.finish(connection, "seed", "key-1", {"triplets": 3, "note": "x"}, 1.23456)
    runs.finish(connection, "seed", "key-2", {"triplets": 4}, 2)
    done = runs.runs(connection)["seed"]
    assert (done.key, done.counts, done.seconds) == ("key-2", {"triplets": 4}, 2.0)
    runs.forget(connection, "seed")
    assert runs.runs(connection) == {}


def test_rounds_come_in_order_and_are_forgotten_with_their_training_sets(filled: sqlite3.Connection) -> None:
    for number in (2, 1):
        runs.finish_round(filled, runs.rounds(filled)[0]._replace(round=number))
    runs.finish_round(filled, runs.rounds(filled)[0]._replace(variant="A", round=0))
    assert [(done.variant, done.round) for done in runs.rounds(filled)] == [("A", 0), ("C", 0), ("C", 1), ("C", 2)]
    assert [done.round for done in runs.rounds(filled, "C")] == [0, 1, 2]
    runs.forget_rounds(filled, "C")
    assert [done.variant for done in runs.rounds(filled)] == ["A"]
    assert list(triplets.training(filled, "C", 0)) == []


def test_metrics_are_replaced_as_a_whole_and_releases_are_remembered(connection: sqlite3.Connection) -> None:
    runs.set_metrics(
        connection, [(("rules", "test", "f1", 50.0, 40.0, 60.0), "s"), (("C1", "test", "f1", 60.0, None, None), "s")]
    )
    runs.set_metrics(connection, [(("C1", "test", "f1", 61.0, 51.0, 70.5), "s")])
    assert runs.metrics(connection) == [("C1", "test", "f1", 61.0, 51.0, 70.5)]
    runs.set_release(connection, "0.1.0", "releases/v0.1.0", "abc")
    stored = connection.execute("SELECT version, path, digest FROM releases").fetchall()
    assert stored == [("0.1.0", "releases/v0.1.0", "abc")]


# ---- questions


def test_every_named_query_runs_and_says_what_it_is_about(filled: sqlite3.Connection) -> None:
    assert len(queries.names()) >= 10
    for name in queries.names():
        columns, rows = queries.named(filled, name, dict.fromkeys(queries.lookup(name).params, "湯頭"))
        assert columns, name
        assert all(len(row) == len(columns) for row in rows)


@pytest.mark.parametrize(
    ("name", "rows"),
    [
        ("by-aspect", [("r1", "湯頭", "不會鹹", "POS", "0.1.0", TEXTS["r1"])]),
        (
            "by-opinion",
            [("r2", "牛肉麵", "好吃", "POS", None, TEXTS["r2"]), ("r2", "牛肉麵", "好吃", "NEG", None, TEXTS["r2"])],
        ),
        (
            "top-aspects",
            [("湯頭", 1, 1, 0, 0, 1), ("牛肉麵", 0, 0, 0, 0, 2), ("地點", 0, 0, 0, 0, 1), ("服務", 0, 0, 0, 0, 1)],
        ),
        ("released-summary", [("0.1.0", "train", "silver", 2, 1, 1, 1, 0, 0, None)]),
        ("negation-flipped", [("r1", "湯頭", "不會鹹", "POS", "不會", TEXTS["r1"])]),
        ("conflicts", [("r2", "牛肉麵", "好吃", {"POS", "NEG"}, TEXTS["r2"])]),
        ("without-triplet", []),
        ("duplicates-across-splits", []),
        ("rejected", [("ingest", "empty", 1, "row 9"), ("ingest", "no_han", 1, "row 10")]),
        ("growth", [("C", 0, 2, 3, 5, 4, 3, 80.0)]),
        ("only-models", [("r2", "牛肉麵", "好吃", "NEG", "C1", None, TEXTS["r2"])]),
        ("by-rule", [("subject", 4, 3, 0, 1, 1, 25.0)]),
    ],
)
def test_a_named_query_answers_its_question(
    filled: sqlite3.Connection, name: str, rows: list[tuple[object, ...]]
) -> None:
    _, found = queries.named(filled, name, {"aspect": "湯頭", "opinion": "好吃"})
    # The order inside POS,NEG is not promised.
    shown = [tuple(set(cell.split(",")) if cell in ("POS,NEG", "NEG,POS") else cell for cell in row) for row in found]
    assert sorted(shown, key=str) == sorted(rows, key=str)


def test_the_views_for_people_show_text_sources_and_spans(filled: sqlite3.Connection) -> None:
    rows = filled.execute(
        "SELECT review_key, aspect, opinion, polarity, opinion_full, sources, split, "
        "released FROM candidate_triplets ORDER BY id"
    ).fetchall()
    assert ("r1", "湯頭", "不會鹹", "POS", "不會太鹹", "rules discriminator", "train", "0.1.0") in rows
    assert len(rows) == 5
    assert [row[-1] for row in rows].count("0.1.0") == 1
    spans = filled.execute(
        "SELECT element, n, start, \"end\" FROM spans WHERE triplet = ? AND element LIKE 'opinion%'",
        (triplets.triplet_id(1, SALT),),
    )
    assert sorted(spans) == [("opinion", 0, 2, 4), ("opinion", 1, 5, 6), ("opinion_full", 0, 2, 6)]
    assert {row[0] for row in filled.execute("SELECT label FROM disagreements")} == {"NX", "YN"}
    story = filled.execute(
        "SELECT kind FROM explain WHERE triplet = ? ORDER BY n", (triplets.triplet_id(1, SALT),)
    ).fetchall()
    assert [kind for (kind,) in story] == ["rule", "opinion", "negator", "verdict", "training set", "released"]


def test_free_sql_gives_columns_and_at_most_the_asked_rows(filled: sqlite3.Connection) -> None:
    assert queries.free(filled, "SELECT key FROM reviews ORDER BY id", 2) == (("key",), [("r1",), ("r2",)])
    assert queries.free(filled, "SELECT :x AS y", None, {"x": "1"}) == (("y",), [("1",)])
    with pytest.raises(QueryError, match=r"no such table: nowhere; known: .*reviews"):
        queries.free(filled, "SELECT * FROM nowhere", None)
    with pytest.raises(QueryError, match="syntax error"):
        queries.free(filled, "SELEKT 1", None)
    with pytest.raises(QueryError, match="one statement"):
        queries.free(filled, "SELECT 1; SELECT 2", None)


def test_a_cell_or_an_answer_that_is_too_large_is_refused_before_it_is_made(tmp_path: Path) -> None:
    with db.writing(tmp_path):
        pass
    many = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 3000) SELECT zeroblob(900000) FROM n"
    with db.reading(tmp_path, cell=1 << 20) as connection:
        with pytest.raises(QueryError, match=r"longer than 1 MB; .*--megabytes"):
            queries.free(connection, "SELECT hex(zeroblob(450000000))", None)
        with pytest.raises(QueryError, match=r"the answer is larger than 8 MB; .*LIMIT"):
            queries.free(connection, many, None, megabytes=8)
        assert len(queries.free(connection, many, 5, megabytes=8)[1]) == 5
    with db.reading(tmp_path) as connection, pytest.raises(QueryError, match="longer than 64 MB"):
        queries.free(connection, "SELECT zeroblob(100000000)", None)


def test_a_query_of_long_cells_is_interrupted_in_time(tmp_path: Path) -> None:
    with db.writing(tmp_path):
        pass
    slow = (
        "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT "
        "sum(length(hex(zeroblob(500000)))) FROM n"
    )
    with db.reading(tmp_path, cell=1 << 20) as connection:
        started = time.monotonic()
        with pytest.raises(QueryError, match="took longer"):
            queries.free(connection, slow, None, seconds=0.2)
        assert time.monotonic() - started < 60
        assert queries.free(connection, "SELECT 1", None)[1] == [(1,)]


def test_an_unknown_query_lists_the_known_ones_and_a_missing_parameter_is_named(filled: sqlite3.Connection) -> None:
    with pytest.raises(ConfigError, match=r"unknown query 'top'; known: .*by-aspect.*summary"):
        queries.named(filled, "top", {})
    with pytest.raises(QueryError, match="aspect"):
        queries.named(filled, "by-aspect", {})


def test_a_triplet_is_explained_by_row_id_by_release_id_and_by_review(filled: sqlite3.Connection) -> None:
    i = triplets.triplet_id(1, SALT)
    told = tell_story(filled, str(i), {})
    assert told == tell_story(filled, f"r1:{i & 2**triplets.BITS - 1:08x}", {})
    shown = (
        "(湯頭, 不會鹹, POS)",
        "不會太鹹",
        "subject",
        "opinions/food_taste.tsv:1",
        "negator",
        "YY, raw score 0.900",
    )
    assert [said for said in (*shown, "S_0") if said not in told] == []
    whole = tell_story(filled, "r1", {})
    assert told.partition("\n\n")[0] in whole, "its signs are explained once, at the end"
    assert "(服務, 好, POS)" in whole
    assert "0.750" in whole
    with pytest.raises(
        QueryError,
        match=r"no triplet or review 'r99'; reviews have ids such as '.+'; `builder db sql .SELECT review_key, id FROM",
    ):
        tell_story(filled, "r99", {})


def test_the_released_triplets_have_both_ids_and_what_the_files_say_and_the_current_ones_are_the_same(
    filled: sqlite3.Connection,
) -> None:
    row = filled.execute("SELECT * FROM released_triplets")
    (values,) = row.fetchall()
    shown = dict(zip((column[0] for column in row.description), values, strict=True))
    assert {name: shown[name] for name in ("public_id", "review", "review_key", "review_public_id", "version", "split",
    "annotation")} == {
        "public_id": "r1:x", "review": 1, "review_key": "r1", "review_public_id": "r1", "version": "0.1.0",
        "split": "train", "annotation": "silver",
    }  # fmt: skip
    assert {name: shown[name] for name in ("confidence", "verdict", "rule", "aspect_category", "opinion_category",
    "source", "rating")} == {
        "confidence": 0.91, "verdict": "YY", "rule": "subject", "aspect_category": "food.soup",
        "opinion_category": "taste.salty", "source": "web", "rating": 4.0,
    }  # fmt: skip
    assert filled.execute("SELECT id FROM current_triplets").fetchall() == [(shown["id"],)]
    assert released.totals(filled)["reviews"] == 2


def test_public_ids_are_keys_or_hashes_and_repeated_reviews_have_none(filled: sqlite3.Connection) -> None:
    assert filled.execute("SELECT key FROM reviews WHERE public_id IS NULL").fetchall() == [("r3",), ("r4",)]
    released.set_public_ids(filled, hashed=True)
    hashed = queries.public_id("r1")
    assert filled.execute("SELECT id FROM reviews WHERE public_id = ?", (hashed,)).fetchall() == [(1,)]
    assert filled.execute("SELECT id FROM reviews WHERE public_id = 'r1'").fetchall() == []
    assert stories.find(filled, hashed) == (1, None)


# ---- backends


def test_annotations_of_two_backends_stand_beside_each_other(filled: sqlite3.Connection) -> None:
    other = [token._replace(pos="X") for token in TOKENS]
    backend = reviews.begin_annotations(filled, "ckip", "ckip/1 y", "k2", anew=False)
    assert (reviews.annotated_to(filled), reviews.annotated(filled, 0, 10)) == (0, [])
    reviews.annotate(filled, backend, [(1, reviews.dump_tokens(other)), (2, reviews.dump_tokens(other))])
    found = [(review.id, load_tokens(words)) for review, words in reviews.annotated(filled, 0, 10)]
    assert found == [(1, tuple(other)), (2, tuple(other))]
    assert (reviews.annotated_count(filled), reviews.annotated_to(filled)) == (2, 2)
    assert reviews.backend(filled) == "ckip/1 y"
    reviews.begin_annotations(filled, "embedded", "embedded/1 x", "k", anew=False)
    assert [(review.id, load_tokens(words)) for review, words in reviews.annotated(filled, 0, 10)] == [(2, TOKENS)]
    current = filled.execute("SELECT DISTINCT backend, current FROM tokens ORDER BY 1").fetchall()
    assert current == [("ckip", 0), ("embedded", 1)]


@pytest.mark.parametrize(("key", "anew"), [("another", False), ("k", True)])
def test_a_backend_under_another_key_or_anew_replaces_its_own_annotations_alone(
    filled: sqlite3.Connection, key: str, anew: bool
) -> None:
    other = reviews.begin_annotations(filled, "ckip", "ckip/1 y", "k2", anew=False)
    reviews.annotate(filled, other, [(1, "[]")])
    reviews.begin_annotations(filled, "embedded", "embedded/2 z", key, anew=anew)
    assert (reviews.backend(filled), reviews.annotated_count(filled)) == ("embedded/2 z", 0)
    assert filled.execute("SELECT backend, review FROM annotations").fetchall() == [(other, 1)]
