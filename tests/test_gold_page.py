"""The annotation page: its server refuses strangers, and in a real browser the keyboard does all of it; dragging,
notes, the list of candidates, lines, help, pace and order.
"""

from __future__ import annotations

import asyncio
import http.client
import json
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from chromium import Browser, serving
from goldwork import TEXTS, by_name, pooled

from builder.cli.annotation import serve
from builder.core.records import Label, Pool
from builder.gold.items import ORDERS
from builder.gold.server import KeyDoor, LabelSite, PasswordDoor, Passwords, app
from builder.pages.annotation_page import DatabaseBook
from builder.store import db, pool_labels, pools
from builder.teaching.labelling import opened

pytest.importorskip("uvicorn", reason="the extra annotate is not installed")
pytest.importorskip("starlette", reason="the extra annotate is not installed")


@dataclass(frozen=True, slots=True)
class Page:
    """A served pool: its address with the key."""

    address: str
    workdir: Path
    pool: Pool

    @property
    def port(self) -> int:
        return urlsplit(self.address).port or 0

    @property
    def key(self) -> str:
        return parse_qs(urlsplit(self.address).query)["key"][0]

    def ask(self, method: str, path: str, body: object = None, **headers: str) -> tuple[int, dict[str, str], str]:
        """One request with exactly these headers (and a Host, if none is given)."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=300)
        connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
        told = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
        sent = {"Host": f"127.0.0.1:{self.port}"} | {name.replace("_", "-"): value for name, value in headers.items()}
        for name, value in (sent | ({"Content-Length": str(len(told))} if told else {})).items():
            connection.putheader(name, value)
        connection.endheaders(told or None)
        answer = connection.getresponse()
        out = answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read().decode()
        connection.close()
        return out

    def said(self, annotator: str = "amy") -> dict[int, Label]:
        with db.reading(self.workdir) as connection:
            return pool_labels.of_pool(connection, self.pool.id).get(annotator, {})


@contextmanager
def served(workdir: Path, pool: Pool, *options: str) -> Iterator[Page]:
    """A pool's page by the command that serves it; amy labels, unless the options say otherwise."""
    words = options or ("--annotator", "amy")
    with serving(serve, "--port", "0", "--workdir", workdir, *words) as said:
        yield Page(said[0].removeprefix("open "), workdir, pool)


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    workdir, pool = pooled(tmp_path_factory.mktemp("page"))
    with served(workdir, pool) as page:
        yield page


@pytest.fixture
def shown(tmp_path: Path, browser: Browser) -> Iterator[Page]:
    """A new pool, which the browser shows."""
    with served(*pooled(tmp_path)) as page:
        browser.open(page.address)
        yield page


def test_every_answer_carries_headers_that_keep_strangers_out(page: Page) -> None:
    for path, status in ((f"/?key={page.key}", 200), ("/page.js", 200), ("/page.css", 200), ("/", 403)):
        got, headers, _ = page.ask("GET", path)
        assert got == status
        assert headers["content-security-policy"].startswith("default-src 'none'; script-src 'self';")
        assert "unsafe" not in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["cache-control"] == "no-store"
        assert headers["referrer-policy"] == "no-referrer"
        assert "frame-ancestors 'none'" in headers["content-security-policy"]
        assert "server" not in headers


def test_a_foreign_host_origin_or_key_gets_nothing(page: Page) -> None:
    good = {"X_Key": page.key}
    assert page.ask("GET", "/api/head", **good)[0] == 200
    strange: list[dict[str, str]] = [
        {}, {"X_Key": "guess"}, {"X_Key": page.key[:-1]}, good | {"Host": "evil.example"},
        good | {"Host": f"evil.example:{page.port}"}, good | {"Host": "127.0.0.1"},
        good | {"Origin": "http://evil.example"}, good | {"Origin": "null"},
    ]  # fmt: skip
    for headers in strange:
        status, _, text = page.ask("GET", "/api/head", **headers)
        assert (status, page.pool.id in text) == (403, False), headers
        body = {"place": 0, "op": "label", "label": "YY"}
        assert page.ask("POST", "/api/answer", body, Content_Type="application/json", **headers)[0] == 403
    assert page.ask("GET", "/?key=guess")[0] == 403
    assert page.ask("GET", f"/?key={page.key}", Host="rebound.example")[0] == 403
    assert page.said() == {}


def test_an_answer_must_be_json_so_that_no_form_elsewhere_can_post_it(page: Page) -> None:
    body = {"place": 0, "op": "label", "label": "YY"}
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data"):
        assert page.ask("POST", "/api/answer", body, Content_Type=kind, X_Key=page.key)[0] == 400
    assert page.said() == {}


LABEL: dict[str, object] = {"place": 0, "op": "label", "label": "NX"}
NO_ANSWERS: list[object] = [
    *({}, [], {"place": 0}, {"place": 0, "op": "label"}, LABEL | {"label": "ZZ"}, LABEL | {"label": ["YY"]}),
    *(LABEL | {"place": 99}, LABEL | {"place": -1}, {"place": 0, "op": "__init__"}, {"place": 0, "op": "head"}),
    *(LABEL | {"aspect": spans} for spans in ([[0, 9999]], [[2, 1]], [], "x")),
    *(LABEL | {"polarity": "GOOD"}, {"place": 0, "op": "remove"}),
    {"place": 0, "op": "add", "aspect": [[0, 1]], "opinion": None, "polarity": "POS"},
    *(b'{"place": 1e400, "op": "label"}', b'{"place": true, "op": "check"}', b'{"place": 0.0, "op": "check"}'),
    *(b"[" * 90_000, b'{"a":' * 15_000, b"\xff", b"", b"{", b'{"place": NaN}', b"5"),
]


def test_an_answer_that_cannot_be_is_refused_with_a_sentence_and_nothing_is_stored(page: Page) -> None:
    for body in NO_ANSWERS:
        status, _, text = page.ask("POST", "/api/answer", body, Content_Type="application/json", X_Key=page.key)
        error = json.loads(text)["error"]
        begins = "no answer that can be kept:" if isinstance(body, bytes) else ""
        assert status == 400 and error.startswith(begins) and len(error.split()) > 2, (body, error)
    assert page.said() == {}


def test_a_browser_that_leaves_in_the_middle_of_its_answer_is_no_traceback() -> None:
    headers = {"host": "localhost:1", "x-key": "k", "content-type": "application/json", "content-length": "50"}
    scope: dict[str, Any] = {"type": "http", "method": "POST", "path": "/api/answer", "query_string": b""}
    scope["headers"] = [(name.encode(), value.encode()) for name, value in headers.items()]
    sent: list[Any] = []

    async def receive() -> dict[str, object]:
        return {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        sent.append(message)

    nothing_to_label = LabelSite("page.html", (), {}, {"/api/answer": lambda annotator, given: given})
    asyncio.run(app(nothing_to_label, KeyDoor("amy", "k", frozenset({"localhost:1"})))(scope, receive, send))
    scope["path"] = "/api/sign_in"
    asyncio.run(app(nothing_to_label, PasswordDoor(Passwords({})))(scope, receive, send))
    assert [message["status"] for message in sent if "status" in message] == [400, 400]


def test_a_database_that_another_program_holds_is_said_to_be_in_use_and_the_answer_can_be_repeated(page: Page) -> None:
    body = {"place": 0, "op": "check"}
    with sqlite3.connect(page.workdir / db.NAME, isolation_level=None) as other:
        other.execute("BEGIN IMMEDIATE")
        status, _, text = page.ask("POST", "/api/answer", body, Content_Type="application/json", X_Key=page.key)
        other.execute("ROLLBACK")
    other.close()
    assert status == 503
    assert "the database is in use (database is locked); try again" in json.loads(text)["error"]
    for op in ("check", "uncheck"):
        again = page.ask("POST", "/api/answer", body | {"op": op}, Content_Type="application/json", X_Key=page.key)
        assert again[0] == 200


def test_long_bodies_and_wild_windows_are_refused(page: Page) -> None:
    body = {"x": "y" * 200_000}
    assert page.ask("POST", "/api/answer", body, Content_Type="application/json", X_Key=page.key)[0] == 400
    for query in ("start=0&count=100000", "start=-5&count=5", "start=x&count=1", "count=1"):
        assert page.ask("GET", f"/api/items?{query}", X_Key=page.key)[0] == 400


def test_the_server_listens_on_this_machine_alone(page: Page) -> None:
    import socket

    for address in {info[4][0] for info in socket.getaddrinfo(socket.gethostname(), None, socket.AF_INET)} - {
        "127.0.0.1"
    }:
        with socket.socket() as sock:
            sock.settimeout(2)
            assert sock.connect_ex((str(address), page.port)) != 0


def test_the_keyboard_labels_corrects_adds_and_takes_back(shown: Page, browser: Browser) -> None:
    assert browser.text("#text").split() == shown.pool.reviews[0].text.split()
    browser.press("1", "2", "3", "0")
    listed = [one for review in ORDERS["pool"](shown.pool, {}) for one in review.candidates or (None,)][:4]
    assert [shown.said()[one.id].label for one in listed if one] == [
        due for one, due in zip(listed, ("YY", "YN", "NX", None), strict=True) if one
    ]
    assert browser.text("#count").startswith(f"{sum(one is not None for one in listed)} / ")
    browser.press("u", "u", "u", "u")
    assert shown.said() == {}
    assert browser.text("#where").startswith("#1 ")
    walk_to(browser, "湯頭")
    _correct_and_add(browser, shown)
    _nothing_missing(browser, shown)
    assert browser.faults == []


def walk_to(browser: Browser, aspect: str) -> None:
    for place in range(11):
        browser.run(f"go({place})")
        if f"「{aspect}」嗎" in browser.text("#question"):
            return
    raise AssertionError(f"{aspect} is nowhere")


def _correct_and_add(browser: Browser, page: Page) -> None:
    """Correct 湯頭 to 頭 by keys, undo it, then add (店員, 不好, NEG), in pieces behind an emoji."""
    soup = by_name(page.pool, TEXTS[0], "湯頭")[1]
    browser.press("c", "ArrowRight", "a")
    assert "存成 saved as: YY" in browser.text("#verdict")
    browser.press("2")
    assert "存成 saved as: YN" in browser.text("#verdict")
    browser.press("1", "Enter")
    assert page.said()[soup.id] == Label("YY", None, ((2, 3),))
    browser.press("u")
    assert soup.id not in page.said()
    browser.press("m", "Enter")
    assert "還缺" in browser.text("#error")
    browser.press("Home", *["ArrowRight"] * 9)  # 👍🏽 is one step and two code points
    browser.press("ArrowRight", shift=True)
    browser.press("a", *["ArrowRight"] * 3, "o", *["ArrowRight"] * 3)
    browser.press("O", shift=True)
    browser.press("2", "Enter")
    with db.reading(page.workdir) as connection:
        stored = pools.read(connection, page.pool.id)
    added = [one for review in stored.reviews for one in review.candidates if one.n is None]
    assert [(one.triplet.aspect.text, one.triplet.opinion.text, one.triplet.polarity) for one in added] == [
        ("店員", "不好", "NEG")
    ]
    assert added[0].triplet.opinion.spans == ((14, 15), (17, 18))
    assert page.said()[added[0].id].label == "YY"
    assert "(店員, 不好, 負面 negative)" in browser.text("#missing")
    browser.press("u")
    with db.reading(page.workdir) as connection:
        assert pools.read(connection, page.pool.id) == page.pool
    assert browser.text("#missing") == ""


def test_the_question_asks_in_each_language_alone_and_goes_with_a_correction(shown: Page, browser: Browser) -> None:
    walk_to(browser, "湯頭")
    assert browser.text("#question").split("\n") == [
        "「濃郁」在描述「湯頭」嗎？是正面的描述嗎？",
        "Does “濃郁” describe “湯頭”? As positive?",
    ]
    where = browser.text("#where")
    browser.press("c", "ArrowRight", "a", "Enter")
    while browser.text("#where") != where:
        browser.press("ArrowLeft")
    assert browser.text("#question").split("\n") == [
        "修正成 濃郁 描述 頭，正面。",
        "Corrected to (頭, 濃郁, positive), saved as YY.",
    ]
    assert "proposed: (湯頭, 濃郁, 正面 positive)" in browser.text("#correction")
    browser.press("1", "ArrowLeft")
    assert "「濃郁」在描述「湯頭」嗎？" in browser.text("#question")
    assert browser.text("#correction") == ""


def test_correcting_starts_on_the_aspect_and_tab_leads_to_the_opinion(shown: Page, browser: Browser) -> None:
    soup = by_name(shown.pool, TEXTS[0], "湯頭")[1]
    walk_to(browser, "湯頭")
    browser.press("c")
    assert browser.text("#chosen").split() == ["選到", "selected:", "湯頭", "＝現在的對象", "the", "aspect", "now"]
    browser.press("Tab")
    assert browser.text("#chosen").split() == ["選到", "selected:", "濃郁", "＝現在的意見", "the", "opinion", "now"]
    browser.press("Tab", "Tab", "ArrowRight")
    assert browser.text("#chosen").split()[2:5] == ["郁", "按", "A"]
    browser.press("o", "Enter")
    assert shown.said()[soup.id] == Label("YY", opinion=((4, 5),))


def test_caps_lock_is_no_shift(shown: Page, browser: Browser) -> None:
    soup = by_name(shown.pool, TEXTS[0], "湯頭")[1]
    walk_to(browser, "湯頭")
    browser.press("C", "ArrowRight", "A")  # Caps Lock: the letters are large, Shift is not held
    assert browser.text("#picked").split() == ["對象", "aspect", "頭", "意見", "opinion", "濃郁", "正面", "positive"]
    browser.press("Home")
    browser.press("a", shift=True)  # and small ones with Shift: a piece is added
    assert browser.text("#picked").split()[2] == "\U0001f35c…頭"
    browser.press("Escape")
    assert soup.id not in shown.said()


def test_a_review_without_a_candidate_offers_no_key_that_does_nothing(shown: Page, browser: Browser) -> None:
    keys = "[...document.querySelectorAll('#more button')].filter(b => b.offsetParent).map(b => b.dataset.key)"
    place = find_bare_review(shown.pool)
    browser.press(*["ArrowRight"] * place)
    assert "Nobody proposed" in browser.text("#question")
    assert browser.run(keys) == ["m", "u", "ArrowLeft", "ArrowRight", "n"]
    browser.press("m", *["ArrowRight"] * 2, "a", "ArrowRight", "o", "1", "Enter")
    assert browser.text("#missing").startswith("＋ (跟, 家, 正面 positive)")
    assert browser.run("getComputedStyle(document.querySelector('#missing')).listStyleType") == "none"
    browser.press("ArrowLeft" if place else "ArrowRight")
    assert browser.run(keys) == ["c", "m", "0", "t", "u", "ArrowLeft", "ArrowRight", "n"]


def find_bare_review(pool: Pool) -> int:
    """The place of the review without a candidate."""
    reviews = [review for review in pool.reviews for _ in range(max(1, len(review.candidates)))]
    return next(place for place, review in enumerate(reviews) if not review.candidates)


def _nothing_missing(browser: Browser, page: Page) -> None:
    """The review without a candidate: Enter says that nothing is missing."""
    browser.press(*["ArrowLeft"] * 12, *["ArrowRight"] * find_bare_review(page.pool))
    assert "Nobody proposed a triplet here" in browser.text("#question")
    browser.press("1", "Enter")
    with db.reading(page.workdir) as connection:
        assert len(pool_labels.checked(connection, page.pool.id, "amy")) == 1
    assert browser.text("#count").startswith("1 / 11 ")


def test_a_hostile_review_is_shown_as_text(shown: Page, browser: Browser) -> None:
    walk_to(browser, "甜點")
    assert "<script>alert('x')</script>" in browser.text("#text")
    browser.press("c")
    assert browser.run("document.querySelectorAll('#text script, #letters script').length") == 0
    assert browser.faults == []


def test_answers_survive_a_killed_server_and_the_page_says_when_it_is_gone(tmp_path: Path, browser: Browser) -> None:
    workdir, pool = pooled(tmp_path)
    with served(workdir, pool) as page:
        browser.open(page.address)
        walk_to(browser, "湯頭")
        browser.press("1")
    before = browser.text("#where")
    browser.press("3")
    assert "伺服器停了" in browser.text("#error")
    assert browser.text("#where") == before
    assert list(page.said().values()) == [Label("YY")]
    browser.faults.clear()  # the failed request is meant to fail
    with served(workdir, pool) as again:
        browser.open(again.address)
        assert browser.text("#count").startswith("1 / 11 ")


@pytest.mark.parametrize(("width", "dark"), [(1200, False), (390, True)])
def test_the_page_fits_and_follows_the_colour_scheme(width: int, dark: bool, page: Page, browser: Browser) -> None:
    browser.size(width, 844, dark)
    browser.open(page.address)
    assert browser.run("document.documentElement.scrollWidth <= window.innerWidth")
    browser.press("c" if browser.run("!document.querySelector('#labels').hidden") else "m")
    assert browser.run("document.documentElement.scrollWidth <= window.innerWidth")
    red = int(browser.run("getComputedStyle(document.body).backgroundColor.match(/\\d+/)[0]"))
    assert (red < 80) == dark
    assert "這個意見不是在描述這個對象" in browser.run("document.body.textContent")
    assert browser.faults == []


def test_disputes_are_decided_on_the_page_which_says_when_there_are_none(tmp_path: Path, browser: Browser) -> None:
    workdir, pool = pooled(tmp_path)
    soup = by_name(pool, TEXTS[0], "湯頭")[1]
    with served(workdir, pool, "--annotator", "amy", "--adjudicate") as page:
        browser.open(page.address)
        assert "There is nothing to do here" in browser.text("#error")
    with opened(workdir) as connection:
        for who, label in (("bo", "YY"), ("cy", "NX")):
            pool_labels.put(connection, pool_labels.annotator(connection, who), [(soup.id, Label(label))], "t")  # type: ignore[arg-type]
    with served(workdir, pool, "--annotator", "amy", "--adjudicate") as page:
        browser.open(page.address)
        assert "bo YY · cy NX" in browser.text("#said")
        assert not browser.run("document.querySelector('#more [data-key=\"0\"]').offsetParent")
        browser.press("3")
        assert browser.text("#count").startswith("1 / 1 ")
        with db.reading(workdir) as connection:
            assert pool_labels.decisions(connection, pool.id) == {soup.id: Label("NX")}
        assert page.said() == {}


def test_two_pages_can_write_at_the_same_time(tmp_path: Path) -> None:
    workdir, pool = pooled(tmp_path)
    faults: list[BaseException] = []

    def work(name: str) -> None:
        try:
            with opened(workdir) as connection:
                book = DatabaseBook(connection, pool.id, name)
                for _ in range(20):
                    for place in range(11):
                        if book.items(place, 1)[0]["candidate"]:
                            book.answer(place, {"op": "label", "label": "YY"})
        except BaseException as error:
            faults.append(error)

    threads = [threading.Thread(target=work, args=(name,)) for name in ("bo", "cy")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert faults == []
    with db.reading(workdir) as connection:
        said = pool_labels.of_pool(connection, pool.id, "human")
    assert {who: len(one) for who, one in said.items()} == {"bo": 10, "cy": 10}


# ---- beside the labels


def drag(browser: Browser, box: str, start: int, end: int, *, beyond: tuple[int, int] = (4, 0)) -> None:
    """Drag with the mouse from the first to the last character of `start:end` in a box, and `beyond` by so much."""
    script = f"[{start}, {end} - 1].map((at) => {{ const r = place_of($('{box}'), [at, at + 1]); "
    script += "return [r.left + r.width / 2, r.top + r.height / 2]; })"
    (x, y), (right, below) = browser.run(script)
    before = browser.run("document.body.dataset.pressed || 0")
    for kind, at in (
        ("mousePressed", (x - 4, y)),
        ("mouseMoved", (right, below)),
        ("mouseMoved", (right + beyond[0], below + beyond[1])),
        ("mouseReleased", (right + beyond[0], below + beyond[1])),
    ):
        browser.call("Input.dispatchMouseEvent", type=kind, x=at[0], y=at[1], button="left", buttons=1, clickCount=1)
    if box == "text":
        browser.wait(f"(document.body.dataset.pressed || 0) != {before}")


def test_words_dragged_over_in_the_text_become_the_aspect_or_a_missing_triplet(shown: Page, browser: Browser) -> None:
    soup = by_name(shown.pool, TEXTS[0], "湯頭")[1]
    walk_to(browser, "湯頭")
    drag(browser, "text", 3, 5)
    assert browser.text("#chosen").split()[2] == "濃郁"
    drag(browser, "letters", 2, 3)
    assert browser.text("#chosen").split()[2] == "頭"
    browser.press("a", "Enter")
    assert shown.said()[soup.id] == Label("YY", None, ((2, 3),))
    walk_to(browser, "店員態度")
    drag(browser, "text", 10, 12)
    browser.press("m")
    assert "Add a missing triplet" in browser.text("#title")
    browser.press("a")
    drag(browser, "letters", 17, 18)
    browser.press("o", "1", "Enter")
    assert browser.text("#missing").startswith("＋ (店員, 好, 正面 positive)")
    assert browser.faults == []


@pytest.mark.parametrize(
    ("beyond", "words"), [((400, 0), "送得快"), ((0, 120), "送得快"), ((40, -90), "餐點好吃，餐點便宜，餐點")]
)
def test_a_drag_beyond_takes_all_words(beyond: tuple[int, int], words: str, shown: Page, browser: Browser) -> None:
    walk_to(browser, "餐點")
    drag(browser, "text", 12, 15, beyond=beyond)
    assert browser.text("#chosen").split()[2] == words
    browser.press("Escape")
    assert browser.run("String(getSelection())") == ""


def test_a_missing_triplet_is_taken_back_by_mouse_on_another_day(shown: Page, browser: Browser) -> None:
    walk_to(browser, "餐點")
    drag(browser, "text", 10, 12)
    browser.press("m", "a")
    drag(browser, "letters", 14, 15)
    browser.press("o", "1", "Enter")
    assert browser.text("#missing").startswith("＋ (餐點, 快, 正面 positive)")
    browser.open(shown.address)
    walk_to(browser, "餐點")
    click(browser, "#missing button")
    browser.wait("document.querySelector('#missing').textContent === ''")
    assert shown.said() == {}
    browser.press("u")
    assert browser.text("#missing").startswith("＋ (餐點, 快, 正面 positive)")


def click(browser: Browser, selector: str, beside: tuple[int, int] | None = None) -> None:
    """A real click with the mouse in the middle of an element, or `beside` its left upper corner."""
    middle = "r.left + r.width / 2, r.top + r.height / 2"
    corner = middle if beside is None else f"r.left + {beside[0]}, r.top + {beside[1]}"
    x, y = browser.run(
        f"(() => {{ const e = document.querySelector({json.dumps(selector)}); e.scrollIntoView({{block: 'nearest'}}); "
        f"const r = e.getBoundingClientRect(); return [{corner}]; }})()"
    )
    for kind in ("mousePressed", "mouseReleased"):
        browser.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", buttons=1, clickCount=1)


def test_characters_that_reorder_or_hide_are_shown_as_signs_one_for_one(shown: Page, browser: Browser) -> None:
    assert browser.run("element('b', '湯\\u202e頭\\x07').textContent") == "湯\u2426頭\u2407"
    browser.run("box = document.createElement('p'), box.append(marked('湯\\u2067頭很好', [[0, 3]], [[4, 5]]))")
    assert browser.run("box.innerHTML") == '<mark class="a">湯\u2426頭</mark>很<mark class="o">好</mark>'


def test_a_note_waits_for_its_answer_and_is_stored_with_it(shown: Page, browser: Browser) -> None:
    soup = by_name(shown.pool, TEXTS[0], "湯頭")[1]
    walk_to(browser, "湯頭")
    browser.press("t")
    write_note(browser, "看不出來 1 2 3")
    assert "saved with your answer" in browser.text("#noted")
    assert shown.said() == {}
    where = browser.text("#where")
    browser.press("2")
    assert shown.said()[soup.id] == Label("YN", note="看不出來 1 2 3")
    while browser.text("#where") != where:
        browser.press("ArrowLeft")
    assert browser.text("#noted") == "備註 note: 看不出來 1 2 3"
    browser.press("t")
    write_note(browser, "清楚了")
    assert shown.said()[soup.id] == Label("YN", note="清楚了")
    browser.press("u")
    assert shown.said()[soup.id].note == "看不出來 1 2 3"


def write_note(browser: Browser, text: str) -> None:
    before = browser.run("document.body.dataset.pressed")
    browser.run(f"document.querySelector('#note').value = {json.dumps(text)}")
    browser.call("Input.dispatchKeyEvent", type="keyDown", key="Enter", windowsVirtualKeyCode=13)
    browser.wait(f"document.body.dataset.pressed != {before}")


def test_candidates_of_a_review_are_listed_with_their_answers_and_lead_to_each(shown: Page, browser: Browser) -> None:
    review, _ = by_name(shown.pool, TEXTS[1], "=湯")
    walk_to(browser, "=湯")
    listed = browser.text("#others").split("\n")
    for candidate in review.candidates:
        assert any(f"{candidate.triplet.aspect.text} → {candidate.triplet.opinion.text}" in row for row in listed)
    assert browser.run("document.querySelectorAll('#lines path.strong:not(.end)').length") == 1
    assert browser.run("document.querySelectorAll('#lines path:not(.end)').length") == len(review.candidates) == 4
    place = browser.run("item.place")
    browser.press("3", "ArrowLeft")
    assert browser.run(f"document.querySelector('#others [data-place=\"{place}\"] .badge').textContent") == "NX"
    other = browser.run("[...document.querySelectorAll('#others button:not([aria-current])')][1].dataset.place")
    browser.run(f"document.querySelector('#others [data-place=\"{other}\"]').click()")
    browser.wait(f"item.place === {other}")
    assert shown.said()


def test_a_line_goes_from_the_aspect_to_its_opinion_even_with_an_emoji_between(shown: Page, browser: Browser) -> None:
    walk_to(browser, "店員態度")
    script = "(() => { const box = document.querySelector('#shown').getBoundingClientRect();"
    script += "const at = (name) => { const r = document.querySelector('#text mark.' + name).getBoundingClientRect();"
    script += "return [r.left - box.left, r.right - box.left]; };"
    script += "const [x1, , , , , , x2] = document.querySelector('#lines path.strong').getAttribute('d')"
    script += ".match(/[-\\d.]+/g).map(Number); return [at('a'), x1, at('o'), x2]; })()"
    aspect, begin, opinion, end = browser.run(script)
    assert aspect[0] < begin < aspect[1] and opinion[0] < end < opinion[1]


def test_the_keys_are_shown_over_the_page_and_none_of_them_acts_there(shown: Page, browser: Browser) -> None:
    browser.press("?")
    assert browser.run("document.querySelector('#help').open")
    browser.call("Input.dispatchKeyEvent", type="keyDown", key="1")
    browser.press("?")
    assert not browser.run("document.querySelector('#help').open")
    assert shown.said() == {}
    shown = browser.run("[...document.querySelectorAll('#help kbd')].map(k => k.textContent).join(' ')")
    for key in ("1", "0", "N", "U", "C", "M", "T", "L", "A", "O", "Tab", "Esc"):
        assert f" {key} " in f" {shown} "


def test_the_page_asks_the_most_uncertain_first(tmp_path: Path) -> None:
    workdir, pool = pooled(tmp_path)
    with opened(workdir) as connection:
        book = DatabaseBook(connection, pool.id, "amy", order="uncertain")
        rows = book.items(0, 11)
    sources = {c.id: len(c.sources) for review in pool.reviews for c in review.candidates}
    first = [sources[row["candidate"]["id"]] for row in rows if row["candidate"] and row["nth"] == 1]
    assert first == sorted(first) and first[0] == 1
    assert [row["candidate"] is None for row in rows][-1]


def test_one_key_says_that_all_open_candidates_are_right_and_takes_it_back(shown: Page, browser: Browser) -> None:
    review, wrong = by_name(shown.pool, TEXTS[1], "=湯")
    others = {candidate.id for candidate in review.candidates} - {wrong.id}
    walk_to(browser, "=湯")
    browser.press("3")
    walk_to(browser, "=湯")
    assert "all open ones of this review" in browser.text("#all")
    browser.press("y")
    assert browser.run("item.key") != review.key
    assert shown.said() == {wrong.id: Label("NX")} | dict.fromkeys(others, Label("YY"))
    browser.press("u")
    assert shown.said() == {wrong.id: Label("NX")}
    assert browser.run("item.key") == review.key


def test_what_was_skipped_comes_back_behind_the_last_one(shown: Page, browser: Browser) -> None:
    total = browser.run("head.total")
    browser.press("ArrowRight")
    for _ in range(total - 1):
        browser.press("1" if browser.run("!!item.candidate") else "Enter")
    assert browser.run("item.place") == 0
    assert "still open" in browser.text("#done")
    browser.press("1" if browser.run("!!item.candidate") else "Enter")
    assert "done" in browser.text("#count")
    assert len(shown.said()) == shown.pool.size


def test_the_guideline_is_in_the_page_and_the_head_says_who_did_how_many(tmp_path: Path, browser: Browser) -> None:
    workdir, pool = pooled(tmp_path)
    with opened(workdir) as connection:
        bo = DatabaseBook(connection, pool.id, "bo")
        for place in [place for place, (_, candidate) in enumerate(bo._places) if candidate][:3]:
            bo.answer(place, {"op": "label", "label": "YY"})
        assert bo.head()["team"] == {"bo": 3}
    with served(workdir, pool) as page:
        browser.open(page.address)
        assert browser.text("#who") == f"amy 0 · bo 3 · pool {pool.id}"
        assert browser.run("document.querySelector('#guide').open") is False
        browser.press("g")
        assert "An opinion is the shortest words that judge it" in browser.text("#guide")
        assert browser.run("document.querySelectorAll('#guide li').length") >= 6
        browser.press("g")
        assert browser.run("document.querySelector('#guide').open") is False


def test_a_wide_window_has_the_guideline_beside_the_review(shown: Page, browser: Browser) -> None:
    browser.size(1400, 900)
    browser.open(shown.address)
    assert browser.run("document.querySelector('#guide').open") is True
    left, right = (
        browser.run(f"document.querySelector('{name}').getBoundingClientRect().{side}")
        for name, side in (("main", "right"), ("footer", "left"))
    )
    assert left <= right
    assert browser.run("document.documentElement.scrollWidth <= window.innerWidth")
    assert browser.faults == []


def test_all_triplets_but_wrong_ones_are_marked_where_another_may_be_missing(tmp_path: Path, browser: Browser) -> None:
    workdir, pool = pooled(tmp_path)
    with opened(workdir) as connection:
        places = DatabaseBook(connection, pool.id, "amy")._places
    first = next(i for i, (review, _) in enumerate(places) if sum(other == review for other, _ in places) > 1)
    with served(workdir, pool) as page:
        browser.open(page.address)
        browser.run(f"go({first})")
        browser.press("3")
        browser.press("ArrowLeft")
        wrong, others = browser.run("[item.candidate.aspect_spans, siblings().slice(1).map((o) => spans_of(o)[0])]")
        marked = browser.run("all_spans()[0]")
        assert others and marked == [span for spans in others for span in spans]
        assert wrong[0] not in marked
