"""The judge against a real HTTP server on this machine, which also misbehaves."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from chat_server import Answer, completion, dripping, serving, well
from click.testing import CliRunner
from conftest import Command, environment
from goldwork import pooled
from hypothesis import given
from hypothesis import strategies as st

from builder.cli.main import cli
from builder.core.errors import ConfigError
from builder.core.records import Pool
from builder.gold.judge import SYSTEM, Endpoint, Failure, Question, Reply, ask, key_of, parse, questions
from builder.store import db, pool_labels

openai = pytest.importorskip("openai", reason="the extra judge is not installed")
KEY = "sk-secret-0123456789"
Judge = Callable[..., Any]
Work = tuple[Path, Pool]


@pytest.fixture
def work(tmp_path: Path) -> Work:
    return pooled(tmp_path)


@pytest.fixture
def judge(here: Command, work: Work, monkeypatch: pytest.MonkeyPatch) -> Judge:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    return lambda server, *options: here(
        "judge", "--endpoint", server.url, "--model", "m", "--yes", "--workdir", work[0], *options
    )


def said(workdir: Path, pool: Pool, name: str = "m") -> Counter[str | None]:
    with db.reading(workdir) as connection:
        return Counter(one.label for one in pool_labels.of_pool(connection, pool.id)[name].values())


def kept(workdir: Path) -> bytes:
    """Everything that lies in the working directory."""
    return b"".join(path.read_bytes() for path in sorted(workdir.iterdir()) if path.is_file())


def test_every_candidate_gets_the_label_of_its_answer_and_a_rerun_asks_nothing(judge: Judge, work: Work) -> None:
    with serving(
        lambda _, payload: well("1: NX" if "餐點" in payload["messages"][1]["content"] else "1: YY")
    ) as server:
        ran = judge(server)
        assert ran.code == 0, ran.err
        assert len(server.asked) == 10
        assert said(*work) == {"YY": 8, "NX": 2}
        assert "10 asked, 0 from before: YY 8, YN 0, NX 2, unparsable 0; 1,000 prompt and 50 answer tokens" in ran.out
        again = judge(server)
        assert len(server.asked) == 10
    assert "0 asked, 10 from before: YY 8, YN 0, NX 2, unparsable 0" in again.out
    assert "0 to ask" in again.out


def test_a_rerun_needs_no_server_to_give_lost_labels_back(judge: Judge, work: Work) -> None:
    with serving(lambda *_: well("1: YN")) as server:
        assert judge(server).code == 0
    with db.writing(work[0]) as connection:
        connection.execute("DELETE FROM labels WHERE tool = 'judge'")
    assert judge(server).code == 0
    assert said(*work) == {"YN": 10}


def test_the_question_is_the_papers_with_the_definitions(work: Work) -> None:
    listed = list(questions(work[1], "m", "http://x", 1, {}))
    user = next(
        one for one in (q.payload["messages"][1]["content"] for q in listed) if "湯頭" in one.partition("context")[0]
    )
    assert "濃郁在以下文字是描述湯頭嗎？濃郁在以下文字對湯頭是正面的描述嗎？" in user
    assert user.endswith("context:\n\U0001f35c湯頭濃郁\U0001f44d\U0001f3fd，可是店員態度不會太好。")
    assert all(f"{label}：" in SYSTEM for label in ("YY", "YN", "NX"))


def test_phone_numbers_and_addresses_do_not_leave_this_machine(work: Work) -> None:
    told = [replace(one, text=one.text + " 電話0912345678 a@b.example") for one in work[1].reviews]
    for question in questions(replace(work[1], reviews=tuple(told)), "m", "http://x", 1, {}):
        assert "0912345678" not in json.dumps(question.payload)
        assert question.payload["messages"][1]["content"].endswith("[電話] [信箱]")


def test_candidates_of_a_review_can_share_a_request(judge: Judge, work: Work) -> None:
    def behave(_: int, payload: dict[str, Any]) -> Answer:
        asked = re.findall(r"^(\d+)\. ", payload["messages"][1]["content"], re.M)
        return well("\n".join(f"{n}: {'YY' if n == '1' else 'NX'}" for n in asked))

    with serving(behave) as server:
        assert judge(server, "--batch", "3").code == 0
    assert len(server.asked) == 5  # 2, 4, 2 and 2 candidates
    assert said(*work) == {"YY": 5, "NX": 5}


def test_a_server_that_is_busy_is_asked_again_when_it_says(judge: Judge, work: Work) -> None:
    with serving(lambda tries, _: (429, {"retry-after": "1"}, "{}", 0.0) if tries == 1 else well()) as server:
        assert judge(server, "--concurrency", "10").code == 0
    assert len(server.asked) == 20
    assert said(*work) == {"YY": 10}
    times: dict[str, list[float]] = {}
    for asked, at in zip(server.asked, server.at, strict=True):
        times.setdefault(json.dumps(asked), []).append(at)
    assert len(times) == 10
    assert all(again - first > 0.9 for first, again in times.values())  # not at once, as its own backoff might
    assert said(*work) == {"YY": 10}


@pytest.mark.parametrize(
    "bad",
    [
        (500, {}, "oops", 0.0),
        (503, {}, "", 0.0),
        (200, {}, completion("1: YY")[:40], 0.0),
        (200, {}, '{"choices": []}', 0.0),
        (200, {}, "<html>", 0.0),
        (200, {"content-length": "9999"}, "{", 0.0),
        (200, {}, completion("1: YY"), 5.0),
    ],
    ids=["500", "503", "truncated JSON", "no choice", "HTML", "connection lost", "timeout"],
)
def test_a_request_that_fails_once_is_asked_again(bad: Answer, judge: Judge, work: Work) -> None:
    def behave(tries: int, payload: dict[str, Any]) -> Answer:
        return bad if tries == 1 and "湯頭" in payload["messages"][1]["content"].partition("context")[0] else well()

    with serving(behave) as server:
        ran = judge(server, "--timeout", "3")
    assert ran.code == 0, ran.err
    assert len(server.asked) == 11
    assert said(*work) == {"YY": 10}


def test_requests_that_keep_failing_are_counted_and_asked_again_next_time(judge: Judge, work: Work) -> None:
    broken = True

    def behave(_: int, payload: dict[str, Any]) -> Answer:
        question = payload["messages"][1]["content"].partition("context")[0]
        if broken and "湯頭" in question:
            return 500, {}, f"your key {KEY} is fine, I am not", 0.0
        return (200, {}, '{"half": ', 0.0) if broken and "便宜" in question else well()

    with serving(behave) as server:
        ran = judge(server, "--retries", "1")
        assert "2 requests failed (" in ran.error
        assert "1 status 500" in ran.error
        assert "1 broken answer" in ran.error
        assert said(*work) == {"YY": 8}
        with db.reading(work[0]) as connection:
            rows = connection.execute("SELECT reason, raw FROM rejected WHERE stage = 'judge' ORDER BY 1").fetchall()
        assert rows == [("broken answer", '{"half": '), ("status 500", "your key [key] is fine, I am not")]
        broken, before = False, len(server.asked)
        assert judge(server).code == 0
        assert len(server.asked) == before + 2
    assert said(*work) == {"YY": 10}


def test_answers_that_are_no_label_are_kept_and_counted(judge: Judge, work: Work) -> None:
    told = iter(
        [
            "我覺得都對", "1: YY 1: NX\n1: NX", "", "YY or NX", "2: YY", '{"label": "YY"}', "**YY**", "1：NX",
            "<think>1: NX</think>\n1. YY", "YN。",
        ]
    )  # fmt: skip
    lock = threading.Lock()

    def behave(*_: object) -> Answer:
        with lock:
            return well(next(told))

    with serving(behave) as server:
        ran = judge(server, "--concurrency", "1")
        assert ran.code == 0, ran.err
        assert "YY 2, YN 1, NX 1, unparsable 6" in ran.out
        assert judge(server).code == 0
        assert len(server.asked) == 10
    with db.reading(work[0]) as connection:
        raw = connection.execute("SELECT raw, parsed FROM judge_answers").fetchall()
    assert len(raw) == 10
    assert sum("我覺得都對" in text and not parsed for text, parsed in raw) == 1
    assert said(*work)[None] == 6


@given(st.text(alphabet="12: YNX\n。*", max_size=30))
def test_parsing_any_answer_gives_a_label_or_none_for_each_candidate(content: str) -> None:
    for asked in (1, 2):
        assert all(one in ("YY", "YN", "NX", None) for one in parse(content, asked))
        assert len(parse(content, asked)) == asked


def test_several_requests_fly_at_a_time_and_no_more(judge: Judge, work: Work) -> None:
    with serving(lambda *_: well(wait=0.1)) as server:
        assert judge(server, "--concurrency", "3").code == 0
    assert server.most == 3


def test_what_it_may_take_is_said_before_and_a_cap_stops_it(judge: Judge) -> None:
    with serving(lambda *_: well()) as server:
        assert "the cap is 100" in judge(server, "--max-tokens", "100").error
        assert server.asked == []
        ran = judge(server, "--max-tokens", "100000")
        assert ran.code == 0, ran.err
    due = r"10 requests, 0 answered before; 10 to ask: at most about [\d,]+ prompt and 160 answer tokens\n"
    assert re.search(due, ran.out)


def test_the_estimate_is_above_what_a_tokenizer_would_count(work: Work) -> None:
    """Byte-pair tokenizers take up to two tokens for a Han character and about one for four of ASCII."""
    for question in questions(work[1], "m", "http://x", 1, {}):
        text = "".join(message["content"] for message in question.payload["messages"])
        assert question.prompt_tokens >= 2 * sum(ord(char) > 127 for char in text)


def test_a_server_that_uses_more_than_estimated_is_stopped_and_goes_on_later(judge: Judge, work: Work) -> None:
    def greedy(*_: object) -> Answer:
        return 200, {}, completion("1: YY").replace('"completion_tokens": 5', '"completion_tokens": 5000'), 0.0

    with serving(greedy) as server:
        ran = judge(server, "--max-tokens", "12000", "--concurrency", "1")
        assert "stopped at the cap" in ran.error
        assert len(server.asked) == 3
        assert said(*work) == {"YY": 3}
        assert judge(server).code == 0
        assert len(server.asked) == 10


def test_without_yes_nothing_is_asked_before_somebody_agrees(work: Work, monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(lambda *_: well()) as server:
        monkeypatch.setenv("OPENAI_API_KEY", KEY)
        words = ["judge", "--endpoint", server.url, "--model", "m", "--workdir", str(work[0])]
        done = CliRunner().invoke(cli, words, input="n\n")
        assert done.exit_code != 0
        assert "10 to ask" in done.output
        assert server.asked == []


@pytest.mark.parametrize("status", [401, 403, 404])
def test_a_refused_key_or_model_stops_at_once_and_the_key_is_shown_nowhere(
    status: int, judge: Judge, work: Work
) -> None:
    body = json.dumps({"error": {"message": f"Incorrect API key provided: {KEY}"}})
    with serving(lambda *_: (status, {}, body, 0.0)) as server:
        ran = judge(server, "--concurrency", "2")
        assert "refused: " in ran.error
        assert "check --endpoint, --model and the key" in ran.error
        assert len(server.asked) <= 2
        assert server.keys == {f"Bearer {KEY}"}
    assert KEY not in ran.out + ran.err
    assert KEY.encode() not in kept(work[0])


def test_a_key_in_an_answer_is_cut_out_before_it_is_kept(judge: Judge, work: Work) -> None:
    with serving(lambda *_: well(f"1: YY {KEY}")) as server:
        ran = judge(server)
    assert ran.code == 0, ran.err
    assert KEY.encode() not in kept(work[0])
    assert b"[key]" in kept(work[0])


def test_a_server_that_is_down_is_given_up_after_some_requests(judge: Judge, work: Work) -> None:
    with serving(lambda *_: (400, {}, "{}", 0.0)) as server:
        assert "10 requests failed in a row (status 400)" in judge(server, "--concurrency", "1").error
    down = judge(server, "--retries", "0")  # nothing listens there any more
    assert "no connection" in down.error


def test_keys_come_from_the_environment_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.setenv("MINE", KEY)
    assert key_of(Endpoint("http://127.0.0.1:1/v1")) == ""
    assert key_of(Endpoint("https://api.example.org/v1", "MINE")) == KEY
    for url, name, message in (
        ("https://api.example.org/v1", "OPENAI_API_KEY", "OPENAI_API_KEY is not set"),
        ("http://api.example.org/v1", "MINE", "in the clear"),
        (f"https://me:{KEY}@api.example.org/v1", "MINE", "carries a user"),
        (f"https://api.example.org/v1?key={KEY}", "MINE", "carries a user, a password or a query"),
        ("api.example.org", "MINE", "no http"),
        (f"ftp://me:{KEY}@x?{KEY}", "MINE", "no http"),
    ):
        with pytest.raises(ConfigError, match=message) as caught:
            key_of(Endpoint(url, name))
        assert KEY not in str(caught.value)


def test_parameters_change_the_payload_and_what_is_asked_again(judge: Judge, work: Work) -> None:
    with serving(lambda *_: well()) as server:
        assert judge(server).code == 0
        assert judge(server, "--param", "max_tokens=null", "--param", "max_completion_tokens=300").code == 0
        assert judge(server, "--param", 'model="x"').code == 2
        assert "no KEY=JSON" in judge(server, "--param", "seed=x").error
    assert len(server.asked) == 20
    assert {key for key in server.asked[-1] if "tokens" in key} == {"max_completion_tokens"}


def test_a_killed_run_goes_on_where_it_was(judge: Judge, work: Work) -> None:
    with serving(lambda *_: well(wait=0.15)) as server:
        words = ["judge", "--endpoint", server.url, "--model", "m", "--workdir", str(work[0])]
        command = [sys.executable, "-m", "builder", *words, "--yes", "--concurrency", "1"]
        with subprocess.Popen(
            command, env=environment() | {"OPENAI_API_KEY": KEY}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        ) as process:
            end = time.monotonic() + 300
            while len(server.asked) < 4 and time.monotonic() < end:
                time.sleep(0.01)
            os.kill(process.pid, signal.SIGKILL)
        with db.reading(work[0]) as connection:
            before = connection.execute("SELECT count(*) FROM judge_answers").fetchone()[0]
            assert 1 <= before < 10
            assert said(*work) == {"YY": before}
        asked = len(server.asked)
        assert judge(server, "--concurrency", "1").code == 0
        assert len(server.asked) == asked + 10 - before
    assert said(*work) == {"YY": 10}


# ---- a server that is not to be trusted


def test_a_redirect_is_not_followed_and_the_reviews_go_nowhere_else(judge: Judge, work: Work) -> None:
    with serving(lambda number, payload: (200, {}, completion("1: YY"), 0)) as other:
        moved = {"location": other.url + "/chat/completions"}
        for status in (301, 302, 307, 308):
            with serving(lambda number, payload, status=status: (status, moved, "", 0)) as server:
                done = judge(server, "--retries", 0)
            assert f"status {status}" in done.error + done.out
        assert other.asked == []


def test_an_answer_that_comes_a_byte_at_a_time_is_a_timeout(work: Work) -> None:
    with dripping(seconds=0.2) as url:
        started = time.monotonic()
        outcomes = answers(Endpoint(url, retries=0, timeout=1.0, concurrency=1))
    assert time.monotonic() - started < 25, "the server goes on for 30 s"
    assert [outcome.reason for outcome in outcomes if isinstance(outcome, Failure)] == ["timeout"]


def test_an_answer_without_end_is_cut_off() -> None:
    for status in (200, 400):
        with dripping(seconds=0.0, part=b"x" * 65536, status=status) as url:
            (outcome,) = answers(Endpoint(url, retries=0, timeout=20.0, concurrency=1))
        assert isinstance(outcome, Failure) and outcome.reason == "an answer of over 1 MB"


@pytest.mark.parametrize(
    "usage",
    ['"many"', "[]", '{"prompt_tokens": "7"}', '{"prompt_tokens": NaN}', '{"prompt_tokens": 1' + "0" * 30 + "}",
              '{"prompt_tokens": -5, "completion_tokens": true}', '{"prompt_tokens": 1e400}'],
)  # fmt: skip
def test_tokens_that_are_no_numbers_are_not_counted(usage: str) -> None:
    outcome = answer_to('{"choices": [{"message": {"content": "YY"}}], "usage": ' + usage + "}")
    if isinstance(outcome, Reply):
        assert (outcome.content, outcome.prompt_tokens, outcome.completion_tokens) == ("YY", None, None)
    else:
        assert outcome.reason == "broken answer"


@pytest.mark.parametrize("text", ["[" * 100_000, "9" * 10_000, '{"choices": {}}', '{"choices": [{"message": 5}]}'])
def test_a_body_that_is_no_completion_is_a_broken_answer(text: str) -> None:
    outcome = answer_to(text)
    assert isinstance(outcome, Failure) and outcome.reason == "broken answer"


def test_half_an_emoji_in_an_answer_can_be_stored() -> None:
    outcome = answer_to('{"choices": [{"message": {"content": "YY \\ud83c"}}]}')
    assert isinstance(outcome, Reply) and outcome.content == "YY ?"


def answers(endpoint: Endpoint) -> list[Reply | Failure]:
    """What becomes of one question."""
    outcomes: list[Reply | Failure] = []
    question = Question({"model": "m", "messages": [{"role": "user", "content": "湯很鹹"}]}, (1,), "h")
    ask(endpoint, [question], outcomes.append)
    return outcomes


def answer_to(body: str) -> Reply | Failure:
    with serving(lambda number, payload: (200, {}, body, 0)) as server:
        (outcome,) = answers(Endpoint(server.url, retries=0))
    return outcome


@pytest.mark.parametrize("status", [200, 400])
def test_an_answer_is_read_as_utf_8_whatever_encoding_its_header_claims(status: int, judge: Judge, work: Work) -> None:
    claimed = {"content-type": "application/json; charset=utf-16"}
    with serving(lambda number, payload: (status, claimed, completion("1: YY"), 0.0)) as server:
        done = judge(server, "--retries", 0)
    assert done.code == 0 if status == 200 else "status 400" in done.error + done.out
