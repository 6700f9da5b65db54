"""`builder gold label` against a real HTTP server on this machine, which also misbehaves."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from chat_server import Answer, serving, well
from conftest import Command
from goldwork import TEXTS, triplet, work
from hypothesis import given
from hypothesis import strategies as st

from builder.core.records import Element
from builder.gold.triplet_answers import MOST_TRIPLETS, read_answer
from builder.gold.triplet_prompt import SHIPPED_PROMPT, Examples, LabelledExample, LabellerSetup, ask_about
from builder.pipeline.judging import restore_labellers
from builder.pipeline.rule_report import RuleRow, report_labellers
from builder.store import db, labels, queries, triplets

openai = pytest.importorskip("openai", reason="the extra judge is not installed")
SOURCE = "llm:m@triplets-1"
Label = Callable[..., Any]
RIGHT = {
    TEXTS[0]: [("湯頭", "濃郁", "POS"), ("店員態度", "不會…好", "NEG")],
    TEXTS[1]: [("湯", "好喝", "POS"), ("麵", "好吃", "POS"), ("店面", "很小", "NEG")],
    TEXTS[2]: [("餐點", "便宜", "POS")],
    TEXTS[3]: [],
    TEXTS[4]: [("甜點", "很甜", "NEU"), ("飲料", "很甜", "NEU")],
}


def dump(rows: list[tuple[str, str, str]]) -> str:
    keys = ("aspect", "opinion", "polarity")
    return json.dumps({"triplets": [dict(zip(keys, row, strict=True)) for row in rows]}, ensure_ascii=False)


def answer_well(_: int, payload: dict[str, Any]) -> Answer:
    return well(dump(RIGHT[payload["messages"][-1]["content"]]))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return work(tmp_path)


@pytest.fixture
def label(here: Command, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Label:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    return lambda url, *options: here(
        "label", "--endpoint", getattr(url, "url", url), "--model", "m", "--select", "all", "--yes", "--retries", "1",
        "--workdir", folder, *options,
    )  # fmt: skip


def proposed(folder: Path, source: str = SOURCE) -> set[tuple[int, str, str, str]]:
    with db.reading(folder) as connection:
        number = triplets.source_id(connection, source)
        if number is None:
            return set()
        rows = triplets.proposed(connection, number, "test")
        return {(row.review, row.triplet.aspect.text, row.triplet.opinion.text, row.triplet.polarity) for row in rows}


def rejections(folder: Path) -> dict[str, int]:
    with db.reading(folder) as connection:
        rows = connection.execute("SELECT reason, count(*) FROM rejected WHERE stage = 'label' GROUP BY 1")
        return dict(rows.fetchall())


def test_triplets_of_a_model_stand_beside_those_of_the_rules_and_a_rerun_asks_nothing(
    label: Label, folder: Path
) -> None:
    with serving(answer_well) as server:
        ran = label(server)
        assert ran.code == 0, ran.err
        assert len(server.asked) == 5
        again = label(server)
        assert len(server.asked) == 5
    assert (1, "店員態度", "不會好", "NEG") in proposed(folder)
    assert len(proposed(folder)) == 8
    assert "8 triplets of llm:m@triplets-1" in ran.out
    assert "0 asked, 5 from before" in again.out
    assert "0 to ask" in again.out


def test_a_model_stands_among_the_sources_that_disagree(label: Label, folder: Path, here: Command) -> None:
    with serving(answer_well) as server:
        assert label(server).code == 0
    shown = here("query", "sources-disagree", "--workdir", folder).out
    assert SOURCE in shown


def test_a_model_has_a_row_beside_the_rules_that_says_what_they_share_and_dispute(label: Label, folder: Path) -> None:
    with serving(answer_well) as server:
        assert label(server).code == 0
    with db.reading(folder) as connection:
        (row,) = report_labellers(connection)
        numbers = [triplets.source_id(connection, name) for name in ("rules", SOURCE)]
        ruled, own = (list(triplets.proposed(connection, number, "test")) for number in numbers if number is not None)

    def touch(a: Element, b: Element) -> bool:
        return a.start < b.end and b.start < a.end

    near = [
        [r.triplet for r in ruled if r.review == o.review and touch(r.triplet.opinion, o.triplet.opinion)] for o in own
    ]
    same = [
        any(touch(t.aspect, o.triplet.aspect) and t.polarity == o.triplet.polarity for t in others)
        for o, others in zip(own, near, strict=True)
    ]
    disputed = sum(bool(others) and not agrees for others, agrees in zip(near, same, strict=True))
    assert row == RuleRow(SOURCE, len(own), 0, sum(same), disputed)
    assert row.hits > row.overlaps > 0 < row.conflicts


def test_what_a_build_drops_comes_back_from_the_kept_answers_without_a_server(label: Label, folder: Path) -> None:
    with serving(answer_well) as server:
        assert label(server).code == 0
    before = proposed(folder)
    with db.writing(folder) as connection:
        triplets.clear(connection)
        assert restore_labellers(connection) == {SOURCE: 8}
    assert proposed(folder) == before


def test_a_review_whose_text_has_changed_is_not_given_the_old_answer(label: Label, folder: Path) -> None:
    with serving(answer_well) as server:
        assert label(server).code == 0
    with db.writing(folder) as connection:
        connection.execute("UPDATE reviews SET text = text || '。' WHERE key = 'r3'")
        restore_labellers(connection)
    assert {row[0] for row in proposed(folder)} == {1, 2, 5}


def test_reviews_that_a_model_labelled_are_no_layer_of_the_test_split(label: Label, folder: Path) -> None:
    with serving(answer_well) as server:
        assert label(server).code == 0
    with db.reading(folder) as connection:
        assert labels.layers(connection) == {}
        assert labels.reviews_of(connection, SOURCE) == {1, 2, 3, 4, 5}


def test_the_answer_is_asked_for_by_schema_and_plainly_of_a_server_that_has_none(label: Label, folder: Path) -> None:
    def behave(_: int, payload: dict[str, Any]) -> Answer:
        if "response_format" in payload:
            return 400, {}, '{"error": {"message": "response_format is not supported"}}', 0.0
        return answer_well(1, payload)

    with serving(behave) as server:
        ran = label(server)
        assert ran.code == 0, ran.err
        assert len(server.asked) == 6
        assert label(server).code == 0
        assert len(server.asked) == 6
    assert "no structured output" in ran.err
    assert len(proposed(folder)) == 8


@pytest.mark.parametrize(
    "wrapped",
    [
        "好的，結果如下：\n```json\n{}\n```\n希望有幫助！",
        '<think>{{"triplets": [1]}} 想一想</think>{}',
        "{}\n以上。",
    ],
)
def test_an_answer_wrapped_in_prose_is_read(wrapped: str) -> None:
    rows = dump([("湯頭", "濃郁", "POS")])
    text = wrapped.replace("{{", "{").replace("}}", "}").replace("{}", rows)
    read = read_answer(text, "湯頭濃郁")
    assert [str(t) for t in read.triplets] == ["湯頭 · 濃郁 · POS"]


def test_what_is_whole_of_a_cut_or_faulty_answer_is_read() -> None:
    cut = dump([("湯頭", "濃郁", "POS"), ("麵", "好吃", "POS")])[:-20]
    assert [str(t) for t in read_answer(cut, "湯頭濃郁，麵好吃").triplets] == ["湯頭 · 濃郁 · POS"]
    comma = '{"triplets": [{"aspect": "麵", "opinion": "好吃", "polarity": "正面",},]}'
    assert [str(t) for t in read_answer(comma, "麵好吃").triplets] == ["麵 · 好吃 · POS"]
    assert read_answer('{"triplets": []}', "麵好吃").readable
    assert not read_answer("沒有", "麵好吃").readable
    mark = '[{"aspect": "麵", "opinion": "好吃,]", "polarity": "POS",}'
    assert [one.reason for one in read_answer(mark, "麵好吃").rejected] == ["opinion not in the text"]
    inner = 'So ["the list: [{"aspect": "麵", "opinion": "好吃", "polarity": "POS"}]'
    assert [str(t) for t in read_answer(inner, "麵好吃").triplets] == ["麵 · 好吃 · POS"]


@pytest.mark.parametrize("piece", ["[", "{", '["[",', '["a ', '{"aspect": "湯"},'])
def test_an_answer_of_many_brackets_is_read_in_a_time_that_grows_with_its_length(piece: str) -> None:
    before = time.process_time()
    assert not read_answer(piece * 60_000, "湯好喝").triplets
    assert time.process_time() - before < 3


def test_rows_that_are_no_triplet_of_the_review_are_kept_with_their_reason(label: Label, folder: Path) -> None:
    rows = [("披薩", "好吃", "POS"), ("湯頭", "香濃", "POS"), ("湯頭", "濃郁", "很好"), ("湯頭", "湯頭濃", "POS")]

    def behave(_: int, payload: dict[str, Any]) -> Answer:
        text = payload["messages"][-1]["content"]
        return well(dump(rows) if text == TEXTS[0] else "抱歉" if text == TEXTS[1] else dump(RIGHT[text]))

    with serving(behave) as server:
        ran = label(server)
    assert ran.code == 0, ran.err
    assert rejections(folder) == {
        "aspect not in the text": 1,
        "opinion not in the text": 1,
        "unknown polarity": 1,
        "aspect and opinion overlap": 1,
        "unreadable answer": 1,
    }
    with db.reading(folder) as connection:
        assert labels.reviews_of(connection, SOURCE) == {1, 3, 4, 5}


def test_a_word_that_stands_more_than_once_is_taken_nearest_and_the_next_time_at_the_next_place() -> None:
    text = "湯很鹹，麵好吃，湯也好吃"
    read = read_answer(dump([("湯", "好吃", "POS"), ("麵", "好吃", "POS")]), text)
    assert [(t.aspect.start, t.opinion.start) for t in read.triplets] == [(8, 10), (4, 5)]
    twice = read_answer(dump([("麵", "好", "POS"), ("麵", "好", "POS")]), "麵好，麵好")
    assert [(t.aspect.start, t.opinion.start) for t in twice.triplets] == [(0, 1), (3, 4)]


def test_a_negator_and_its_word_are_located_apart_however_the_model_writes_them() -> None:
    for written in ("不…鹹", "不鹹", "不...鹹"):
        read = read_answer(dump([("湯", written, "POS")]), "湯不會太鹹")
        assert [(t.opinion.text, t.opinion.spans) for t in read.triplets] == [("不鹹", ((1, 2), (4, 5)))]
    assert read_answer(dump([("湯店", "好", "POS")]), "湯的店好").rejected[0].reason == "aspect not in the text"


def test_words_are_found_in_either_script_and_width() -> None:
    read = read_answer(dump([("汤头", "浓郁", "POS"), ("wifi", "慢", "NEG")]), "湯頭濃郁，ＷｉＦｉ慢")
    assert [(t.aspect.text, t.opinion.text) for t in read.triplets] == [("湯頭", "濃郁"), ("ＷｉＦｉ", "慢")]


@given(st.text(), st.text(alphabet="湯麵好吃不鹹，", min_size=1))
def test_any_answer_gives_triplets_that_stand_in_the_text(content: str, text: str) -> None:
    for read in (read_answer(content, text), read_answer(dump([(content, text[:1], "POS")]), text)):
        for located in read.triplets:
            for element in (located.aspect, located.opinion):
                assert element.text == "".join(text[start:end] for start, end in element.spans) != ""


def test_an_answer_without_end_is_cut_off() -> None:
    read = read_answer(dump([("麵", "好吃", "POS")] * (MOST_TRIPLETS + 5)), "麵好吃")
    assert len(read.triplets) == 1
    assert [row.reason for row in read.rejected] == ["too many triplets"] * 5


def test_the_most_similar_examples_are_shown_and_never_the_review_itself(label: Label, folder: Path) -> None:
    examples = folder.parent / "examples.jsonl"
    texts = {"a": "湯頭很濃郁可是店員態度差", "b": "停車不方便", "r1": TEXTS[0]}
    rows = [
        {"id": key, "text": text, "triplets": [{"aspect": text[:2], "aspect_spans": [[0, 2]], "opinion": text[-1],
         "opinion_spans": [[len(text) - 1, len(text)]], "polarity": "NEG"}]}
        for key, text in texts.items()
    ]  # fmt: skip
    examples.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    with serving(answer_well) as server:
        assert label(server, "--examples", examples, "--shots", "1").code == 0
    shown = {asked["messages"][-1]["content"]: asked["messages"][1:-1] for asked in server.asked}
    assert shown[TEXTS[0]][0]["content"] == texts["a"]
    assert json.loads(shown[TEXTS[0]][1]["content"])["triplets"][0]["aspect"] == "湯頭"


def test_what_it_may_cost_is_shown_before_and_a_cap_stops_it(label: Label) -> None:
    priced = ["--price-in", "10", "--price-out", "30"]
    with serving(answer_well) as server:
        ran = label(server, *priced, "--max-cost", "0.001")
        assert ran.code == 2
        assert "the cap is 0.00" in ran.err
        assert "--limit" in ran.err
        assert not server.asked
        few = label(server, *priced, "--limit", "2")
        assert "2 to ask" in few.out
        assert "cost at most" in few.out
        assert len(server.asked) == 2
    assert label(server, "--max-cost", "1").code == 2  # without prices


@pytest.mark.parametrize(
    "rude",
    [
        (200, {}, "<html>log in</html>", 0.0),
        (302, {"location": "http://127.0.0.1:9/"}, "", 0.0),
    ],
)
def test_a_rude_server_gives_one_line_and_no_triplet(rude: Answer, label: Label, folder: Path) -> None:
    with serving(lambda *_: rude) as server:
        ran = label(server, "--retries", "0")
    assert ran.code == 2
    assert f"builder: error: {server.url}: 5 requests failed" in ran.err
    assert ("check --endpoint" in ran.err) == ("broken answer" in ran.err), "it does not answer as such a server does"
    assert proposed(folder) == set()


def test_a_server_that_nobody_runs_is_named_with_what_to_check(
    here: Command, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serving(answer_well) as server:
        gone = server.url
    for most in (1, 10):
        monkeypatch.setattr("builder.gold.judge.GIVE_UP", most)
        ran = here("label", "--endpoint", gone, "--model", "m", "--select", "all", "--yes", "--retries", "0",
                   "--workdir", folder)  # fmt: skip
        assert ran.code == 2 and gone in ran.err and "check --endpoint and whether the server runs" in ran.err


def test_answers_of_which_none_can_be_read_are_an_error_and_one_that_can_is_none(label: Label, folder: Path) -> None:
    with serving(lambda *_: well("I would rather not.")) as server:
        ran = label(server)
        again = label(server)
    assert ran.code == again.code == 2 and len(server.asked) == 5, "a rerun asks nothing"
    assert (
        f"builder: error: no answer of {SOURCE} can be read" in ran.err and "`builder query rejected-answers" in ran.err
    )
    assert proposed(folder) == set() and rejections(folder) == {"unreadable answer": 5}
    with db.reading(folder) as connection:
        columns, rows = queries.named(connection, "rejected-answers", {})
    assert columns == ("review_key", "model", "reason", "wrote") and len(rows) == 5
    assert {row[1:] for row in rows} == {(SOURCE, "unreadable answer", "I would rather not.")}
    with serving(lambda number, _: well(dump([]) if number == 1 else "I would rather not.")) as server:
        assert label(server, "--prompt", _prompt_in(folder)).code == 0


def test_reviews_whose_answer_could_not_be_read_are_asked_about_again_and_no_others(label: Label, folder: Path) -> None:
    cut = TEXTS[1]

    def behave(_: int, payload: dict[str, Any]) -> Answer:
        text = payload["messages"][-1]["content"]
        return well('{"triplets": [{"asp' if text == cut else dump(RIGHT[text]))

    with serving(behave) as server:
        first = label(server)
    assert first.code == 0 and "1 answer cannot be read; `--select unreadable` asks again" in first.err
    with serving(lambda *_: well("no")) as server:
        in_vain = label(server, "--select", "unreadable")
    assert in_vain.code == 0 and len(server.asked) == 1 and rejections(folder) == {"unreadable answer": 1}
    before = proposed(folder)
    with serving(lambda *_: well(dump(RIGHT[cut]))) as server:
        again = label(server, "--select", "unreadable")
    assert again.code == 0, again.err
    assert [asked["messages"][-1]["content"] for asked in server.asked] == [cut]
    assert proposed(folder) > before and rejections(folder) == {}
    with serving(lambda *_: well("no")) as server:
        none_left = label(server, "--select", "unreadable")
        assert none_left.code == 0 and server.asked == [] and "0 to ask" in none_left.out, none_left.err


def test_an_answer_to_the_same_question_counts_and_stays_when_the_first_command_is_run_again(
    label: Label, folder: Path
) -> None:
    cut, whole = TEXTS[1], [False]

    def behave(_: int, payload: dict[str, Any]) -> Answer:
        text = payload["messages"][-1]["content"]
        return well("no" if text == cut and not whole[0] else dump(RIGHT[text]))

    with serving(behave) as server:
        assert label(server).code == 0
        with db.reading(folder) as connection:
            before = labels.signature(connection, SOURCE)
        whole[0] = True
        assert label(server, "--select", "unreadable").code == 0
        mended = proposed(folder)
        with db.reading(folder) as connection:
            assert labels.signature(connection, SOURCE) != before
            kept = connection.execute("SELECT count(*) FROM judge_answers").fetchone()[0]
        assert kept == 6, "the answer that could not be read is kept, too"
        again = label(server)
        assert again.code == 0 and len(server.asked) == 6 and "cannot be read" not in again.err
        assert proposed(folder) == mended and rejections(folder) == {}


def _prompt_in(folder: Path) -> Path:
    path = folder / "mine.txt"
    path.write_text("Write all triplets as JSON.", encoding="utf-8")
    return path


def test_reviews_in_dispute_are_asked_about_and_the_most_doubtful_first(
    label: Label, folder: Path, here: Command
) -> None:
    with db.writing(folder) as connection:
        judge = triplets.source_id(connection, "discriminator")
        connection.execute("UPDATE verdicts SET score = 0.99 WHERE source = ?", (judge,))
        doubted = triplets.triplet_id(2, triplet(TEXTS[1], "=湯", "好喝", "POS"))
        connection.execute("UPDATE verdicts SET score = 0.55 WHERE triplet = ?", (doubted,))
        unsure = triplets.triplet_id(3, triplet(TEXTS[2], "餐點", "便宜", "POS", nth=1))
        connection.execute("UPDATE verdicts SET score = 0.7 WHERE triplet = ?", (unsure,))
        connection.execute("DELETE FROM sources WHERE name = 'C1'")
    with serving(answer_well) as server:
        assert label(server, "--select", "disputed", "--concurrency", "1").code == 0
    assert [asked["messages"][-1]["content"] for asked in server.asked] == [TEXTS[1], TEXTS[2]]


def test_phone_numbers_do_not_leave_this_machine() -> None:
    asking = LabellerSetup("m", "http://x", SHIPPED_PROMPT, {})
    shots = [LabelledExample("e", "電話0912345678，麵好", ())]
    question = ask_about(1, "電話0912345678，湯好", shots, asking, schema=True)
    assert "0912345678" not in json.dumps(question.payload)


def test_another_prompt_is_another_source(label: Label, folder: Path) -> None:
    prompt = folder.parent / "short.txt"
    prompt.write_text("寫出三元組", encoding="utf-8")
    with serving(answer_well) as server:
        assert label(server).code == 0
        assert label(server, "--prompt", prompt).code == 0
        assert len(server.asked) == 10
    assert len(proposed(folder, "llm:m@short")) == 8
    with db.reading(folder) as connection:
        assert labels.names(connection) == ["llm:m@short", SOURCE]


def test_similar_examples_are_those_that_share_most_pairs_of_characters() -> None:
    examples = Examples([LabelledExample(text, text, ()) for text in ("湯頭好喝", "停車方便", "湯頭")])
    assert [example.key for example in examples.similar("x", "湯頭很好喝", 2)] == ["湯頭", "湯頭好喝"]


def test_what_a_model_reads_waits_in_a_pool_and_changes_no_build(here: Command, tmp_path: Path) -> None:
    workdir, out = tmp_path / "w", tmp_path / "r"
    place = ("--workdir", workdir, "--out", out)
    source = tmp_path / "reviews.csv"
    source.write_text("text\n湯頭很濃，晚上八點關門\n服務親切\n", encoding="utf-8")
    assert here("build", source, *place, "--profile", "rules").code == 0
    with serving(lambda _, payload: well(dump([("八點", "關門", "NEG")]))) as server:
        asked = ("--endpoint", server.url, "--model", "m", "--select", "all", "--yes", "--workdir", workdir)
        assert here("label", *asked).code == 0
    assert "Nothing has changed" in here("resume", *place).out
    assert here("pool", "--split", "all", "--workdir", workdir).code == 0
    with db.reading(workdir) as connection:
        assert connection.execute(
            "SELECT s.source FROM candidates c JOIN candidate_sources s ON s.candidate = c.id WHERE c.opinion = '關門'"
        ).fetchall() == [("llm:m@triplets-1",)]


def test_reviews_whose_stars_contradict_all_of_their_triplets_are_a_query(folder: Path, here: Command) -> None:
    with db.writing(folder) as connection:
        connection.execute("UPDATE reviews SET rating = 5 WHERE key = 'r1'")  # praise and blame
        connection.execute("UPDATE reviews SET rating = 1 WHERE key = 'r3'")  # praise alone
    shown = here("query", "stars-disagree", "--workdir", folder, "--format", "json")
    assert [row["key"] for row in json.loads(shown.out)] == ["r3"]
