"""Full-text search finds what LIKE finds, in either script; named queries explain themselves; stories are whole."""

from __future__ import annotations

import sqlite3
import time
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest
import sqlite_utils
from conftest import Built, Command
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from builder.core.errors import QueryError
from builder.reviews.repair import fold, folded_spans
from builder.store import db, queries, reviews, search, stories
from builder.store.queries import describe_tables

# Pairs that differ by script only, widths, cases, marks, emoji, a character beyond the BMP, an invisible one, FTS5's
# own syntax.
ALPHABET = "湯头頭麵面鮮鲜的服務务裡里臺台 \u3000\tAaＡé\"*^:()-+ORNEAR,.。！!\ufe0f\u200b😀\U00020bb7\u202e%_'\n"
TEXTS = st.text(st.sampled_from(ALPHABET), min_size=1, max_size=12)
SETTINGS = settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)


def store(connection: sqlite3.Connection, texts: list[str]) -> None:
    rows = [
        (f"r{n}", text, None, None, None, "f", n, "traditional", "zh", f"h{n}", f"n{n}") for n, text in enumerate(texts)
    ]
    with db.atomic(connection):
        reviews.clear(connection)
        reviews.insert(connection, rows)
        search.index(connection)


@pytest.fixture
def connection(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    with db.writing(tmp_path) as opened:
        opened.create_function("fold", 1, fold, deterministic=True)
        yield opened


def like(connection: sqlite3.Connection, word: str) -> set[str]:
    """The ground truth: LIKE over folded texts."""
    pattern = "%" + "".join("\\" + c if c in "%_\\" else c for c in fold(word)) + "%"
    return {
        key for (key,) in connection.execute("SELECT key FROM reviews WHERE fold(text) LIKE ? ESCAPE '\\'", (pattern,))
    }


def found(connection: sqlite3.Connection, *words: str) -> set[str]:
    hits = search.find(connection, words, 1000)
    assert hits.total == len(hits.shown)
    return {hit.key for hit in hits.shown}


@SETTINGS
@given(st.lists(TEXTS, min_size=1, max_size=8), st.lists(TEXTS, min_size=1, max_size=3))
def test_search_finds_exactly_what_like_finds(
    connection: sqlite3.Connection, texts: list[str], words: list[str]
) -> None:
    store(connection, texts)
    for word in words:
        if fold(word):
            assert found(connection, word) == like(connection, word), word
    if any(map(fold, words)):
        both = set.intersection(*(like(connection, word) for word in words if fold(word)))
        assert found(connection, *words) == both


@SETTINGS
@given(TEXTS, st.data())
def test_any_part_of_a_text_finds_it_as_it_stands(
    connection: sqlite3.Connection, text: str, data: st.DataObject
) -> None:
    start = data.draw(st.integers(0, len(text) - 1))
    part = text[start : data.draw(st.integers(start + 1, len(text)))]
    store(connection, [text])
    if fold(part):
        assert found(connection, part) == {"r0"}
        spans = folded_spans(text, [fold(part)])
        assert any(fold(part) in fold(text[a:b]) for a, b in spans)


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(TEXTS, TEXTS)
def test_folding_goes_character_by_character(one: str, other: str) -> None:
    assert fold(one + other) == fold(one) + fold(other)
    assert fold(fold(one)) == fold(one)


def test_words_of_a_search_box_are_parted_by_blanks_and_kept_by_quotation_marks() -> None:
    assert search.words_of('服務 很慢 "so good" it\'s') == ["服務", "很慢", "so good", "it's"]
    assert search.words_of('an "open one') == ["an", '"open', "one"]
    assert search.words_of(" \u3000 ") == []


@pytest.mark.parametrize("word", ["", "\u200b\ufe0f"])
def test_nothing_to_look_for_is_said(connection: sqlite3.Connection, word: str) -> None:
    with pytest.raises(QueryError, match="nothing to look for"):
        search.find(connection, [word])


def test_a_search_is_narrowed_limited_and_leaves_repeated_reviews_out(built: Built) -> None:
    with db.reading(built.workdir) as connection:
        everything = search.find(connection, ["，"], 1000)
        assert everything.total > 5
        assert search.find(connection, ["，"], 2).shown == everything.shown[:2]
        train = search.find(connection, ["，"], 1000, split="train")
        assert train.shown == [hit for hit in everything.shown if hit.split == "train"]
        negative = search.find(connection, ["，"], 1000, polarity="NEG").shown
        assert 0 < len(negative) < everything.total
        repeated = {key for (key,) in connection.execute("SELECT key FROM reviews WHERE duplicate_of IS NOT NULL")}
        assert repeated
        assert not repeated & {hit.key for hit in everything.shown}


# ---- other tools


HAN_WORDS = st.text(st.sampled_from("湯頭麵鮮的服務\U00020bb7"), min_size=1, max_size=4)


@SETTINGS
@given(st.lists(TEXTS, min_size=1, max_size=8), HAN_WORDS)
def test_tools_without_functions_of_ours_find_every_string_of_up_to_four_han_characters(
    connection: sqlite3.Connection, texts: list[str], word: str
) -> None:
    store(connection, texts)
    rows = connection.execute("SELECT rowid FROM reviews_fts WHERE reviews_fts MATCH ?", (word,))
    due = connection.execute("SELECT id FROM reviews WHERE instr(text, ?)", (word,))
    assert {i for (i,) in rows} == {i for (i,) in due}


def test_sqlite_utils_searches_a_build_and_reads_what_its_columns_mean(built: Built) -> None:
    database = sqlite_utils.Database(built.workdir / db.NAME)
    table = database.table("reviews")
    assert table.detect_fts() == "reviews_fts"
    hits = [row["text"] for row in table.search("服務")]
    assert len(hits) == database.execute("SELECT count(*) FROM reviews WHERE text LIKE '%服務%'").fetchone()[0] > 0
    assert all("服務" in text for text in hits)
    for name, description in describe_tables().items():
        rows = database.query('SELECT "column", meaning FROM descriptions WHERE name = ?', [name])
        assert {row["column"]: row["meaning"] for row in rows} == {"": description.about, **description.columns}
    database.conn.close()


def test_the_wide_view_has_a_row_for_each_distinct_review_and_counts_what_was_released(built: Built) -> None:
    with db.reading(built.workdir) as connection:
        rows = connection.execute("SELECT key, triplets, positive + negative + neutral FROM reviews_wide").fetchall()
        dated = dict(connection.execute("SELECT id, date FROM reviews_wide WHERE date IS NOT NULL").fetchall())
        assert dated == dict(connection.execute("SELECT review, date FROM review_dates").fetchall())
        keys = {key for (key,) in connection.execute("SELECT key FROM reviews WHERE duplicate_of IS NULL")}
        released = dict(connection.execute("SELECT review_key, count(*) FROM released_triplets GROUP BY 1").fetchall())
    assert len(rows) == len(keys) and {key for key, *_ in rows} == keys
    assert {key: count for key, count, _ in rows if count} == released
    assert all(count == polarities for _, count, polarities in rows)


def test_search_says_how_many_there_are_and_how_many_it_shows(built: Built, here: Command) -> None:
    ran = here("search", "，", "--workdir", built.workdir, "--limit", "2", "--format", "csv")
    assert len(ran.out.splitlines()) == 3
    assert "reviews, the first 2 shown; --limit takes more" in ran.err
    nothing = here("search", "外星人很慢", "--workdir", built.workdir)
    assert nothing.err.startswith("0 reviews; ") and "fewer characters" in nothing.err


# ---- named queries


@pytest.mark.parametrize("name", queries.names())
def test_a_named_query_has_a_title_and_an_example_for_each_parameter(name: str) -> None:
    query = queries.lookup(name)
    assert 10 < len(query.title) < 110
    assert not query.sql.startswith("--")
    assert all(f":{one}" in query.sql and example for one, example in query.params.items())
    assert query.params or ":" not in query.sql.replace("':'", "")


def test_the_listing_of_queries_tells_their_parameters(here: Command) -> None:
    ran = here("query", "--format", "csv")
    assert "by-aspect,candidates about one aspect,aspect" in ran.out.splitlines()


def test_silent_and_busy_words_are_those_of_the_lexicon(built: Built) -> None:
    with db.reading(built.workdir) as connection:
        silent = queries.named(connection, "silent-words", {})[1]
        busy = queries.named(connection, "busy-words", {})[1]
        cited = {d for (d,) in connection.execute("SELECT detail FROM provenance WHERE kind = 'opinion'")}
    words = {word for kind, word, *_ in busy if kind == "opinions"}
    assert "親切" in words
    assert len(silent) > 20_000, "most words of the lexicon stand in none of some thirty reviews"
    assert not {row[3] for row in silent} & {row[3] for row in busy}
    assert all(any(place in detail for detail in cited) for kind, _, _, place, _ in busy if kind == "opinions")


def test_sources_are_compared_in_pairs_over_the_reviews_that_both_read(built: Built) -> None:
    with db.reading(built.workdir) as connection:
        columns, rows = queries.named(connection, "sources-disagree", {})
        ids, read = defaultdict[str, set[int]](set), defaultdict[str, set[int]](set)
        found = "SELECT s.name, p.triplet FROM proposals p JOIN sources s ON s.id = p.source"
        labelled = "SELECT s.name, l.review FROM labelled_reviews l JOIN sources s ON s.id = l.source"
        for told, asked in ((ids, f"{found} WHERE s.kind <> 'discriminator'"), (read, labelled)):
            for name, number in connection.execute(asked):
                told[name].add(number)
    assert read, "the reviews of gold are known"
    assert columns[:5] == ("first", "second", "both", "only_first", "only_second")
    assert len(rows) == len(ids) * (len(ids) - 1) // 2
    for first, second, both, left, right, percent in rows:
        kept = [read[name] for name in (str(first), str(second)) if name in read]
        a, b = ({t for t in ids[str(name)] if all(t >> 31 in own for own in kept)} for name in (first, second))
        assert (both, left, right) == (len(a & b), len(a - b), len(b - a))
        assert percent == pytest.approx(100 * len(a & b) / max(len(a | b), 1), abs=0.06)


def test_weak_labels_are_held_against_gold_and_rejects_counted_by_round(built: Built) -> None:
    with db.reading(built.workdir) as connection:
        rows = queries.named(connection, "weak-against-gold", {})[1]
        rejects = queries.named(connection, "rejects-by-round", {})[1]
        summary = {row[0]: row for row in queries.named(connection, "summary", {})[1]}
        gold = connection.execute(
            "SELECT count(*) FROM proposals p JOIN sources s ON s.id = p.source WHERE s.kind = 'gold'"
        ).fetchone()[0]
        plain = connection.execute(
            "SELECT count(DISTINCT t.review), count(*), sum(polarity = 'POS'), sum(polarity = 'NEG'), "
            "sum(polarity = 'NEU')"
            " FROM proposals p JOIN triplets t ON t.id = p.triplet JOIN sources s ON s.id = p.source WHERE s.name = "
            "'rules'"
        ).fetchone()
    assert {row[4] for row in rows} <= {"both", "weak only", "gold only"}
    assert sum(row[4] != "weak only" for row in rows) == gold
    assert all(row[1] == sum(row[2:6]) for row in rejects)  # type: ignore[operator]
    assert tuple(summary["rules"][2:]) == tuple(plain)


def test_ambiguous_and_unlocatable_spans_are_told_apart(built: Built) -> None:
    with db.reading(built.workdir) as connection:
        rows = queries.named(connection, "ambiguous-spans", {})[1]
    told = {(row[1], row[2]): row[4] for row in rows}
    assert told[("餐點", "不會鹹")] == "opinion unlocatable"
    for row in rows:
        _, aspect, opinion, _, why, text = map(str, row)
        element = aspect if why.startswith("aspect") else opinion
        assert (text.count(element) == 0) == why.endswith("unlocatable")


def test_a_story_holds_the_words_of_the_review_in_order(built: Built) -> None:
    with db.reading(built.workdir) as connection:
        story = stories.review(connection, stories.find(connection, "x5")[0])
    assert "".join(word for word, *_ in story.words) == story.text
    assert [at for *_, at, relation in story.words if relation == "root"] == [-1] * sum(
        r == "root" for *_, r in story.words
    )
    assert {one.public.rpartition(":")[0] for one in story.triplets} == {"x5"}


def test_the_time_limit_of_sql_is_the_users(built: Built, here: Command) -> None:
    endless = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"
    started = time.monotonic()
    assert "took longer than" in here("sql", endless, "--seconds", "0.2", "--workdir", built.workdir).error
    assert time.monotonic() - started < 30


def test_sql_loads_no_extension(built: Built, here: Command) -> None:
    assert "only reading is allowed here" in here("sql", "SELECT load_extension('x')", "--workdir", built.workdir).error
