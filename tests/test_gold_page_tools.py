"""The annotation page beside its labels: dragging, notes, the list of candidates, lines, help, pace and order."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from chromium import Browser
from goldwork import TEXTS, by_name, pooled
from test_gold_page import Page, served, shown, walk_to

from builder.core.records import Label
from builder.pages.annotation_page import DatabaseBook
from builder.teaching.labelling import opened

__all__ = ["shown"]
pytest.importorskip("uvicorn", reason="the extra annotate is not installed")


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
