"""`builder serve`: every page in a real browser and over HTTP, safe whatever the reviews hold."""

from __future__ import annotations

import asyncio
import json
import os
import random
import re
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from chromium import Browser
from conftest import LAYOUTS, Command, environment
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from builder.core.errors import ReleaseError
from builder.core.markup import HIDDEN, SpanMark, lanes
from builder.core.records import Element, Polarity, ReadWord, Reasons, Span, StoredTriplet, Triplet
from builder.pages.plain_story import list_legend, tell_story
from builder.pages.serve import answering, app, plugin
from builder.release.shelf import opened
from builder.release.shelf import rows as read_rows
from builder.store import browse, db, listing, released, reviews, runs, search, stories, triplets

pytest.importorskip("datasette", reason="the extra inspect is not installed")

PIECES = (
    "<script>window.hurt=1</script>", "<img src=x "
        "onerror=window.hurt=1>", '"onmouseover="window.hurt=1', "'><svg/onload=window.hurt=1>", "</p></div></body>",
    "{{ 7*7 }}", "{% raw %}", "${7*7}", "javascript:window.hurt=1", "\u202e反過來\u202c", "\u2066隔\u2069", "&lt;b&gt;",
    "&#x3c;", "<!--", "-->", "]]>", "\x01", "\x7f", "👩‍👩‍👧‍👦", "❤️", "🇹🇼", "\U00020bb7", "e\u0301", "湯頭", "服務",
    "不會太鹹", "'; DROP TABLE reviews; --", "%s%n", "\\", "\n", "\u2028", "<style>*{display:none}</style>",
    "https://example.org/x?a=1&b=2", "<a href='javascript:window.hurt=1'>x</a>", "\u200b", "`",
)  # fmt: skip
ALLOWED = {
    "html", "head", "meta", "title", "link", "script", "body", "div", "nav", "a", "form", "input", "button", "section",
    "h1", "h2", "h3", "p", "span", "bdi", "svg", "rect", "path", "dl", "dt", "dd", "ol", "ul", "li", "u", "b", "i",
    "small", "code", "mark", "details", "summary", "table", "thead", "tbody", "tr", "th", "td", "select", "option",
    "label", "footer", "br", "aside", "kbd", "style", "pre", "em", "strong", "img", "header", "textarea",
}  # fmt: skip
LONG = "湯頭濃郁服務很好，" * 400
PLAIN = "餐點不會太鹹，服務人員也很親切😀"


def hostile(number: int) -> str:
    chosen = random.Random(number)
    return "".join(chosen.choice(PIECES) for _ in range(chosen.randint(2, 7))) + f"湯{number}"


def triplet(text: str, aspect: Span, opinion: tuple[Span, ...], polarity: Polarity = "POS") -> Triplet:
    thing, full = Element.at(text, [aspect]), Element.at(text, [(opinion[0][0], opinion[-1][1])])
    salty = ReadWord("鹹", "taste.salty", "opinions/<b>.tsv:1", 4)
    reasons = Reasons(salty, aspect=ReadWord("湯", "food"), path=("↑nsubj",))
    return Triplet(thing, thing, Element.at(text, opinion), full, polarity, 8.0, rules=("subject",), reasons=reasons)


def fill(workdir: Path) -> None:
    """A plain review, a long one with overlapping triplets, 500 hostile ones, one repeated, one without a triplet."""
    texts = [PLAIN, LONG, *(hostile(n) for n in range(500)), PLAIN, "沒有人說什麼"]
    keys = ["plain", "a/b?c#d&e=<f>", *(f"h{n}" for n in range(500)), "again", "silent"]
    rows = [
        (key, text, "web", "<b>店</b>", 4.0, "in.csv", n, "traditional", "zh", f"h{text}", f"n{text}")
        for n, (key, text) in enumerate(zip(keys, texts, strict=True), start=1)
    ]
    with db.writing(workdir) as connection, db.atomic(connection):
        reviews.insert(connection, rows)
        reviews.mark_duplicates(connection)
        reviews.set_splits(connection, ((("train", "valid", "test")[i % 3], i) for i in range(1, 503)))
        search.index(connection)
        rules = triplets.source(connection, "rules", "rules", "s")
        model = triplets.source(connection, "C0", "model", "s")
        judge = triplets.source(connection, "discriminator", "discriminator", "s")
        made = [
            (1, triplet(PLAIN, (0, 2), ((2, 4), (5, 6)))),
            (1, triplet(PLAIN, (7, 11), ((13, 15),))),
            *((2, triplet(LONG, (n, n + 2), ((n + 2, n + 4),))) for n in range(0, 1350, 9)),
            *((2, triplet(LONG, (n, n + 6), ((n + 1, n + 3), (n + 6, n + 8)), "NEG")) for n in range(0, 450, 9)),
            *((n + 3, triplet(hostile(n), (0, 2), ((1, 3),), "NEU")) for n in range(500)),
        ]
        ids = triplets.propose(connection, rules, made)
        triplets.propose(connection, model, made[:1])
        triplets.judge(connection, judge, [(ids[0], "YY", 0.9), (ids[1], "YN", 0.3)])
        triplets.set_training(connection, "C", 0, ids[:2])
        runs.finish_round(connection, runs.Round("C", 0, "k", "m", 2, 3, 5, 4, 3, 1.0))
        runs.set_metrics(connection, [(("rules", "test", "f1 <b>", 50.0, 45.0, 55.0), "s")])
        runs.set_release(connection, "0.1.0", "releases/v0.1.0", "digest")
        released.add_reviews(
            connection, [released.ReleasedReview(ids[0] >> triplets.BITS, "0.1.0", "train", "silver", False)]
        )
        released.add_triplets(
            connection,
            [released.ReleasedTriplet(ids[0], "0.1.0", "train", "silver", "x:1", 0.9, "YY", "subject", None, None)],
        )
        runs.finish(connection, "release", "k", {"version": "0.1.0"}, 1.0)
        left_out = reviews.Rejection(f"plain:{ids[1] & (1 << 31) - 1:08x}", "overlap", "a <b> source", 1, ids[1])
        reviews.reject_stored(connection, "release", [left_out])
        triplets.record(
            connection, [("opinions", "鹹", "taste.salty", "opinions/<b>.tsv:1"), ("aspects", "湯", "food", "a.tsv:2")]
        )


@pytest.fixture(scope="module")
def workdir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("serve") / "workdir"
    fill(made)
    return made


@pytest.fixture(scope="module")
def served(workdir: Path, tmp_path_factory: pytest.TempPathFactory) -> Any:
    path = app.of_workdir(workdir, tmp_path_factory.mktemp("copy"))
    return app.datasette(path, "our <title>", "our <source>")


def get(served: Any, path: str, params: dict[str, str] | None = None, **headers: str) -> Any:
    return asyncio.run(served.client.get(path, params=params, headers=headers, follow_redirects=True))


class Parsed(HTMLParser):
    """Tags and attributes of a page, and the text of its review."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: list[tuple[str, str, str]] = []
        self.review, self._open = "", 0
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes += [(tag, name, value or "") for name, value in attrs]
        if tag == "p" and ("class", "review-text") in attrs:
            self._open = 1

    def handle_endtag(self, tag: str) -> None:
        if tag == "p":
            self._open = 0

    def handle_data(self, data: str) -> None:
        if self._open:
            self.review += data


def check(page: str) -> Parsed:
    """What every page must be: our tags only, no inline handlers, nothing from elsewhere."""
    parsed = Parsed(page)
    assert parsed.tags <= ALLOWED, parsed.tags - ALLOWED
    for tag, name, value in parsed.attributes:
        assert not name.startswith("on"), (tag, name)
        assert name != "src" or (value.startswith("/") and not value.startswith("//")), value
        assert name != "href" or (value.startswith(("/", "#", "data:,", "?")) and not value.startswith("//")), value
    assert "<script>window" not in page
    return parsed


OWN = [
    "/", "/reviews?q=湯&show=rules", "/reviews?q=沒有的話", "/random", "/aspects", "/aspect?word=餐點",
    "/opinions", "/opinion?word=不會鹹", "/review/1", "/review/2", "/review?key=plain", "/triplet/{0}",
    "/queries", "/review/99999", "/triplet/nobody",
]  # fmt: skip


@pytest.mark.parametrize("path", OWN)
def test_our_pages_hold_no_script_of_theirs_and_load_nothing_from_elsewhere(served: Any, path: str) -> None:
    i = triplets.triplet_id(1, triplet(PLAIN, (0, 2), ((2, 4), (5, 6))))
    answer = get(served, path.format(i))
    assert answer.status_code == (404 if "9999" in path or "nobody" in path else 200)
    parsed = check(answer.text)
    assert "style" not in parsed.tags
    assert "our &lt;title&gt;" in answer.text
    assert answer.headers["content-security-policy"] == plugin.STRICT
    for name, value in plugin.HEADERS.items():
        assert answer.headers[name] == value


@pytest.mark.parametrize(
    "path",
    ["/builder", "/builder/triplet_list", "/builder/reviews", "/builder/summary", "/builder/by-aspect?aspect=湯頭"],
)
def test_datasettes_pages_are_guarded_too(served: Any, path: str) -> None:
    answer = get(served, path)
    assert answer.status_code == 200
    assert Parsed(answer.text).tags <= ALLOWED
    assert answer.headers["content-security-policy"] == plugin.DATASETTE
    assert "window.hurt=1</script>" not in answer.text
    assert "<img src=x" not in answer.text


def test_five_hundred_hostile_reviews_are_shown_as_they_are_and_do_nothing(served: Any) -> None:
    """All of them marked, in search results and in the table; a part of them as whole pages."""
    for n in range(500):
        text = hostile(n)
        shown = answering.marked(text, answering.mark_triplets([triplets_of(text, n)]))
        parsed = Parsed(f'<p class="review-text">{shown}</p>')
        assert parsed.tags <= {"p", "span"}
        assert not any(name.startswith("on") for _, name, _ in parsed.attributes)
        assert parsed.review == re.sub(HIDDEN, lambda match: f"U+{ord(match[0]):04X}", text)
    for page in range(1, 27):
        check(get(served, f"/reviews?q=湯&show=rules&page={page}").text)
    for n in range(0, 500, 25):
        assert "湯" in check(get(served, f"/review/{n + 3}").text).review
    for after in range(0, 500, 100):
        page = get(served, f"/builder/triplet_list?_size=100&_where=id>={after}").text
        assert Parsed(page).tags <= ALLOWED
        assert "<script>window" not in page


def triplets_of(text: str, n: int) -> Any:
    return StoredTriplet(n, n, triplet(text, (0, 2), ((1, 3),), "NEU"))


def test_a_search_for_hostile_words_is_escaped_where_it_is_repeated(served: Any) -> None:
    for piece in PIECES:
        asked = get(served, "/reviews", dict.fromkeys(("q", "split", "page", "show"), piece) | {"polarity": '"><b>'})
        assert asked.status_code == 200
        check(asked.text)


def test_another_name_for_this_machine_is_refused(served: Any) -> None:
    for host in ("localhost", "localhost:8001", "127.0.0.1:9", "[::1]:8001"):
        assert get(served, "/", host=host).status_code == 200
    for host in ("evil.example", "localhost.evil.example", "", "127.0.0.1.evil.example:8001"):
        assert get(served, "/", host=host).status_code == 421


def test_nothing_can_be_written_or_downloaded(served: Any) -> None:
    assert get(served, "/builder.json?sql=delete+from+reviews").status_code == 400
    assert get(served, "/builder.json?sql=attach+'x'+as+y").status_code == 400
    assert get(served, "/builder.db").status_code in (403, 404)
    assert served.get_database("builder").is_mutable is False


@pytest.mark.parametrize(
    "sql",
    [
        "select zeroblob(2000000)",
        "select hex(zeroblob(450000000))",
        "with recursive c(n) as (select 1 union all select n + 1 from c limit 900) select zeroblob(200000) from c",
        "with t0 as (select 1 x), "
        + ", ".join(f"t{n} as (select 1 x from t{n - 1} a, t{n - 1} b)" for n in range(1, 30))
        + " select * from t29",
    ],
)
def test_no_question_takes_much_memory_or_time(served: Any, sql: str) -> None:
    started = time.process_time()
    answer = get(served, "/builder.json", {"sql": sql})
    assert answer.status_code in (400, 500)
    assert len(answer.content) < 10_000
    assert time.process_time() - started < 20


def test_an_answer_of_allowed_size_is_given_again_and_again(served: Any) -> None:
    count = "with recursive c(n) as (select 1 union all select n + 1 from c limit 30)"
    for _ in range(3):
        assert (
            get(served, "/builder.json", {"sql": f"{count} select hex(zeroblob(100000)) x from c"}).status_code == 200
        )


def test_a_page_of_another_site_is_refused(served: Any) -> None:
    own = {"host": "localhost:8001"}
    for headers in (
        {"origin": "https://evil.example"},
        {"origin": "null"},
        {"origin": "http://localhost:9999"},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
        {"origin": "https://evil.example", "sec-fetch-site": "cross-site"},
    ):
        assert get(served, "/builder.json?sql=select+1", **own, **headers).status_code == 403
    for headers in ({"origin": "http://localhost:8001"}, {"sec-fetch-site": "same-origin"}, {"sec-fetch-site": "none"}):
        assert get(served, "/builder.json?sql=select+1", **own, **headers).status_code == 200


def test_a_search_of_a_thousand_words_is_not_answered(served: Any) -> None:
    for words in (" ".join(map(chr, range(0x4E00, 0x4E00 + 1000))), "湯 " * 33):
        asked = get(served, "/reviews", {"q": words})
        assert asked.status_code == 400
        assert "up to 32 words" in check(asked.text).review + asked.text


def test_a_search_that_takes_too_long_says_so(served: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def endless(connection: sqlite3.Connection, *_: object) -> Any:
        return connection.execute(
            "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c) SELECT sum(n) FROM c"
        ).fetchone()

    monkeypatch.setattr(listing, "count", endless)
    monkeypatch.setattr(served, "sql_time_limit_ms", 50)
    asked = get(served, "/reviews?q=湯")
    assert asked.status_code == 400 and "takes too long" in asked.text


def test_characters_that_turn_text_round_stand_as_their_numbers_on_every_page(tmp_path: Path) -> None:
    text = "湯\u202e頭\x1b[31m很鹹"
    with db.writing(tmp_path / "w") as connection, db.atomic(connection):
        row = ("k\u202e", text, "web", None, None, "in.csv", 1, "traditional", "zh", "h", "n")
        reviews.insert(connection, [row])
        search.index(connection)
        rules = triplets.source(connection, "rules", "rules", "s")
        ids = triplets.propose(connection, rules, [(1, triplet(text, (0, 3), ((9, 10),)))])
        released.add_reviews(connection, [released.ReleasedReview(1, "0.1.0", "train", "silver", False)])
        released.add_triplets(
            connection,
            [released.ReleasedTriplet(ids[0], "0.1.0", "train", "silver", "x:1", 0.9, "YY", "subject", None, None)],
        )
    shown = app.datasette(app.of_workdir(tmp_path / "w", tmp_path), "a \u202e title\x1b[2J", "a \u2066 source")
    for path in (
        "/",
        "/reviews?q=湯",
        "/review/1",
        f"/triplet/{ids[0]}",
        "/queries",
        "/builder/triplet_list",
        "/nowhere",
    ):
        page = get(shown, path).text
        assert not re.search(HIDDEN, page), path
    assert "湯U+202E頭" in get(shown, "/").text


def test_every_named_query_is_a_page_with_its_title(served: Any) -> None:
    page = get(served, "/queries").text
    links = re.findall(r'<li><a href="(/builder/[^"]+)">([^<]+)</a>', page)
    assert len(links) >= 20
    for link, title in links:
        answer = get(served, link.replace("&amp;", "&"))
        assert answer.status_code == 200, link
        assert title[:30] in answer.text


def test_tables_lead_to_reviews_and_triplets_and_describe_their_columns(served: Any) -> None:
    page = get(served, "/builder/triplet_list?review=plain").text
    i = triplets.triplet_id(1, triplet(PLAIN, (0, 2), ((2, 4), (5, 6))))
    assert f'href="/builder/triplet_list/{i}"' in page
    assert "Story" in get(served, f"/builder/triplet_list/{i}").text
    free = get(served, "/builder?sql=select+id,+aspect,+opinion+from+triplets+limit+1").text
    assert re.search(r'<a href="/triplet/(\d+)">\1</a>', free)
    assert '<a href="/review?key=plain">plain</a>' in page
    assert "The core word with its negator" in page
    facets = json.loads(get(served, "/builder/triplet_list.json?_facet=polarity").text)["facet_results"]
    assert {one["value"]: one["count"] for one in facets["polarity"]["results"]} == {"POS": 152, "NEG": 50, "NEU": 500}
    listed = json.loads(get(served, "/builder/triplet_list.json?review=plain&_shape=objects").text)["rows"]
    assert {(row["opinion"], row["sources"], row["verdict"], row["rule"]) for row in listed} == {
        ("不會鹹", "rules C0 discriminator", "YY", "subject"),
        ("親切", "rules", "YN", "subject"),
    }


def test_keys_of_any_kind_lead_to_their_review(served: Any) -> None:
    page = get(served, "/review", {"key": "a/b?c#d&e=<f>"})
    assert page.status_code == 200
    assert "a/b?c#d&amp;e=&lt;f&gt;" in page.text
    assert "The same text came in before" in get(served, "/review?key=again").text
    assert "No source finds a triplet here" in get(served, "/review?key=silent").text


def test_the_triplet_page_tells_what_explain_tells(served: Any, workdir: Path) -> None:
    i = triplets.triplet_id(1, triplet(PLAIN, (7, 11), ((13, 15),)))
    page = get(served, f"/triplet/plain:{i & (1 << 31) - 1:08x}").text
    assert page == get(served, f"/triplet/{i}").text
    with db.reading(workdir) as connection:
        told = stories.review(connection, 1).triplets[1]
        text = tell_story(connection, str(i), {})
    for step in told.steps:
        assert step.detail.replace("<", "&lt;").replace(">", "&gt;") in page
        assert step.detail in text
    for line in (text.split("\n")[2], *list_legend(text)):
        assert f">{line.strip()}</" in page
    assert "a &lt;b&gt; source" in page
    assert "a <b> source" in text
    other = get(served, f"/triplet/{triplets.triplet_id(1, triplet(PLAIN, (0, 2), ((2, 4), (5, 6))))}").text
    assert "<td>released</td><td><bdi>in v0.1.0, train, silver</bdi>" in other


def test_a_review_is_found_by_its_own_id_too_and_a_page_that_is_not_there_says_so(served: Any) -> None:
    by_key = asyncio.run(served.client.get("/review/plain", follow_redirects=False))
    assert (by_key.status_code, by_key.headers["location"]) == (302, "/review?key=plain")
    assert get(served, "/review/plain").text == get(served, "/review/1").text
    assert "Review <bdi>a/b" in get(served, "/review/" + quote("a/b?c#d&e=<f>", safe="")).text
    for path in ("/review/nobody", "/review/99999", "/nowhere", "/builder/nothing", "/review/"):
        answer = get(served, path)
        assert answer.status_code == 404
        assert "Not here" in answer.text and 'href="/reviews"' in answer.text, path
        check(answer.text)


# ---- marking


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.text(st.sampled_from("湯頭a<&\"'\u202e😀\n"), min_size=1, max_size=30), st.data())
def test_marked_text_is_the_text_and_every_element_covers_its_own(text: str, data: st.DataObject) -> None:
    def drawn() -> tuple[Span, ...]:
        edges = sorted(data.draw(st.sets(st.integers(0, len(text)), min_size=2, max_size=6)))
        return tuple(zip(edges[::2], edges[1::2], strict=False))

    if len(text) < 2:
        return
    shown = [
        SpanMark(n, role, "POS", drawn()) for n in range(data.draw(st.integers(0, 4))) for role in ("aspect", "opinion")
    ]
    parsed = Covered(str(answering.marked(text, shown)))
    assert parsed.text == text.replace("\u202e", "U+202E")
    for one in shown:
        told = "".join(text[a:b] for a, b in one.spans).replace("\u202e", "U+202E")
        assert parsed.covered.get((str(one.triplet), one.role), "") == told
    assert parsed.stops == len({one.triplet for one in shown})


class Covered(HTMLParser):
    """Which characters each element's spans enclose, and how many stops the keyboard makes."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.text, self.covered, self.stops, self._stack = "", {}, 0, []  # type: ignore[var-annotated]
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        told = dict(attrs)
        names = str(told.get("class")).split()
        self._stack.append((told["data-t"], names[1]) if names[0] == "m" else None)
        self.stops += "tabindex" in told

    def handle_endtag(self, tag: str) -> None:
        self._stack.pop()

    def handle_data(self, data: str) -> None:
        self.text += data
        for one in self._stack:
            if one:
                self.covered[one] = self.covered.get(one, "") + data


def test_elements_over_the_same_characters_get_different_lanes() -> None:
    shown = [SpanMark(n, "aspect", "POS", ((n, n + 4),)) for n in range(10)]
    lane = lanes(shown)
    assert {lane[one] for one in shown[:4]} == {0, 1, 2, 3}
    assert lane[shown[4]] == 0


# ---- a release


def test_a_release_is_shown_with_the_ids_and_numbers_that_it_has(tmp_path: Path) -> None:
    release = LAYOUTS / "v0.1.0"
    manifest = opened(release).manifest
    path = app.of_release(release, tmp_path)
    with sqlite3.connect(f"{path.as_uri()}?mode=ro&immutable=1", uri=True) as connection:
        for split, told in manifest["splits"].items():
            rows = list(read_rows(release, split))
            counted = connection.execute("SELECT count(*) FROM reviews WHERE split = ?", (split,)).fetchone()
            assert counted == (told["reviews"],) == (len(rows),)
            listed = connection.execute(
                f"SELECT polarity, count(*) FROM {browse.TABLE} WHERE split = ? GROUP BY 1", (split,)
            ).fetchall()
            assert dict(listed) == {name: number for name, number in told["polarities"].items() if number}
        one = next(row for row in rows if row["triplets"])["triplets"][0]
        review, i = stories.find(connection, one["id"])
        told = next(told for told in stories.review(connection, review).triplets if told.stored.id == i)
        assert told.public == one["id"]
        for name in ("aspect", "opinion"):
            assert getattr(told.stored.triplet, name).text == one[name]["text"]
        assert told.sources == tuple(dict.fromkeys(told.sources)) and set(told.sources) == set(one["sources"])
        assert search.find(connection, ["餐點"]).total > 0
    connection.close()


def test_what_is_no_release_is_said_so(tmp_path: Path, here: Command) -> None:
    with pytest.raises(ReleaseError, match=r"no manifest\.json here"):
        app.of_release(tmp_path, tmp_path)
    assert "no manifest.json here" in here("serve", "--release", tmp_path).error
    ran = here("serve", "--workdir", tmp_path / "none")
    assert "no database here" in ran.error and "copying" not in ran.err


# ---- the command, and a browser


@dataclass
class Running:
    process: subprocess.Popen[str]
    url: str

    def stop(self) -> str:
        """What it still said."""
        self.process.send_signal(signal.SIGINT)
        said = self.process.communicate(timeout=300)[1]
        assert self.process.returncode in (0, 130), said
        return said


def start(workdir: Path, **variables: str) -> Running:
    """`builder serve` as a user starts it, once it says where it is."""
    command = [sys.executable, "-m", "builder", "serve", "--workdir", str(workdir), "--port", "0"]
    process = subprocess.Popen(command, env=environment() | variables, stderr=subprocess.PIPE, text=True, cwd="/")
    assert process.stderr is not None
    return Running(process, next(line for line in process.stderr if line.startswith("http://")).split()[0].rstrip("/"))


def serving(workdir: Path) -> Iterator[Running]:
    running = start(workdir)
    yield running
    running.stop()


@pytest.fixture(scope="module")
def running(workdir: Path) -> Iterator[Running]:
    yield from serving(workdir)


def test_a_person_searches_filters_opens_a_review_and_follows_a_triplet(running: Running, browser: Browser) -> None:
    browser.open(running.url + "/")
    assert "our" not in browser.text("h1")
    assert "released triplets" in browser.text(".tiles")
    browser.run("document.querySelector('nav input').value = '餐点'")  # Simplified; the review is Traditional
    browser.click("nav form button")
    assert browser.text("#count") == "1 review"
    assert browser.text("mark") == "餐點"
    browser.click(".hits a.text")
    assert "Review plain" in browser.text("h1")
    assert browser.text(".review-text") == PLAIN
    assert browser.run("document.querySelectorAll('.links path').length") == 1, "what was released"
    with browser.loading():
        browser.run("document.querySelectorAll('.toggle')[1].click()")
    assert browser.run("document.querySelectorAll('.links path').length") == 2, "and what the rules propose"
    browser.hover('.m.opinion[data-t="0"]')
    assert browser.run("document.getElementById('pop').hidden") is False
    told = browser.text("#pop")
    assert all(word in told for word in ("subject", "↑nsubj", "YY", "raw score 0.900", "rules, C0"))
    assert browser.run("document.querySelectorAll('.m.on').length") == 3, "an aspect and the two parts of 不會…鹹"
    browser.click(".card a.what")
    assert "不會鹹" in browser.text("h1")
    assert "training set" in browser.text(".story")
    assert browser.faults == []


def test_the_keyboard_reaches_every_triplet_and_escape_closes(running: Running, browser: Browser) -> None:
    browser.open(running.url + "/review?key=plain&show=rules")
    browser.run("document.querySelector('.m.opinion[tabindex]').focus()")
    assert browser.run("document.getElementById('pop').hidden") is False
    browser.press("Escape")
    assert browser.run("document.getElementById('pop').hidden") is True
    assert browser.run("document.querySelectorAll('.m[tabindex]').length") == 2


def test_nothing_hostile_runs_and_nothing_is_asked_of_others(running: Running, browser: Browser) -> None:
    chosen = [n for n in range(500) if "<" in hostile(n)][:6]
    for path in (
        "/reviews?q=湯",
        "/builder/triplet_list",
        "/builder/reviews?_size=100",
        "/queries",
        *(f"/review/{n + 3}" for n in chosen),
    ):
        browser.open(running.url + path)
        assert browser.run("window.hurt") is None, path
        assert browser.faults == [], path
    assert {url.split("/")[2] for url in browser.requests if "://" in url} == {running.url.split("/")[2]}


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize(
    "path", ["/", "/reviews?q=湯", "/review/2", "/review/3", "/queries", "/triplet/plain", "/builder/triplet_list"]
)
def test_pages_fit_a_phone_in_light_and_dark(running: Running, browser: Browser, path: str, dark: bool) -> None:
    browser.size(390, 844, dark)
    browser.open(running.url + path)
    assert browser.run("document.documentElement.scrollWidth") <= 390
    red, green, blue = browser.run("getComputedStyle(document.body).backgroundColor.match(/\\d+/g).map(Number)")
    assert ((red + green + blue) / 3 < 80) == dark


def test_a_long_review_with_two_hundred_triplets_is_drawn_whole(running: Running, browser: Browser) -> None:
    browser.open(running.url + "/review/2?show=rules")
    assert browser.text(".review-text") == LONG
    assert browser.run("document.querySelectorAll('.links path').length") == 200
    assert browser.run("document.querySelectorAll('.card').length") == 200


UNUSUAL = (
    b"CONNECT example.org:443 HTTP/1.1\r\nHost: localhost\r\n",
    b"CONNECT localhost HTTP/1.1\r\nHost: localhost\r\n",
    b"OPTIONS * HTTP/1.1\r\nHost: localhost\r\n",
    b"GET http://localhost/ HTTP/1.1\r\nHost: localhost\r\n",
    b"GET / HTTP/1.1\r\nHost: localhost\r\nCookie: \xff\xfe=1\r\n",
    b"GET / HTTP/1.1\r\nHost: localhost\r\nReferer: http://localhost/\xe6\xb9\r\n",
    b"GET /\xff HTTP/1.1\r\nHost: localhost\r\n",
    b"GET\r\n",
)
"""Requests that no browser makes."""


def test_the_server_answers_whatever_it_is_asked_and_ctrl_c_ends_it_quietly_and_its_copy_is_gone(
    workdir: Path, tmp_path: Path
) -> None:
    server = start(workdir, TMPDIR=str(tmp_path))
    assert list(tmp_path.iterdir()), "the copy lies there while the server runs"
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(server.url + "/nowhere%1b[31m")
    assert refused.value.code == 404
    refused.value.close()
    for request in UNUSUAL:
        with socket.create_connection(("127.0.0.1", int(server.url.rpartition(":")[2])), timeout=60) as connection:
            connection.sendall(request + b"\r\n")
            assert connection.recv(1000).split()[1] == b"400", request
    rest = server.stop()
    assert rest.splitlines()[0].startswith("404 /nowhere")
    assert "\x1b" not in rest
    assert "Traceback" not in rest and "Exception" not in rest
    assert "resume" not in rest, "no advice about a build: leaving is how it ends"
    assert list(tmp_path.iterdir()) == []


def test_the_server_has_a_limit_of_memory_that_leaves_room_for_the_model_and_for_pages(running: Running) -> None:
    """With 1 GB the model fitted in and the next page did not: the server stood still."""
    with urllib.request.urlopen(running.url):  # it shows its address before it is ready
        pass
    process = Path(f"/proc/{running.process.pid}")
    lines = (process / "limits").read_text(encoding="ascii").splitlines()
    limit = int(next(line for line in lines if line.startswith("Max address space")).split()[3])
    pages = int((process / "statm").read_text(encoding="ascii").split()[0])
    assert 2 << 30 < limit - pages * os.sysconf("SC_PAGE_SIZE") < 4 << 30


def test_a_copy_that_a_killed_server_left_is_removed_by_the_next_one_and_that_of_a_living_one_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with app.folder_of_server() as living:
        left = Path(shutil.copytree(living, f"{living}x"))  # as a kill leaves it: nobody holds its lock
        with app.folder_of_server() as own:
            assert set(tmp_path.iterdir()) == {living, own} and not left.exists()
    assert list(tmp_path.iterdir()) == []


def test_a_taken_port_is_said_so(running: Running, here: Command, workdir: Path) -> None:
    port = running.url.rpartition(":")[2]
    assert f"cannot listen on 127.0.0.1:{port}" in here("serve", "--workdir", workdir, "--port", port).error


def test_the_pages_answer_while_the_database_they_show_is_written(workdir: Path, tmp_path: Path) -> None:
    copy = Path(shutil.copytree(workdir, tmp_path / "w"))
    shown = app.datasette(app.of_workdir(copy, tmp_path), "t", "s")
    with db.writing(copy) as connection, db.atomic(connection):
        connection.execute("DELETE FROM triplets")
    assert "(" not in get(shown, "/reviews?q=餐點").text.split("<ol")[0]
    assert "不會鹹" in get(shown, "/review/1").text
