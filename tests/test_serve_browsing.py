"""`builder serve`: lists and links that keep filters, words of both scripts, a typed sentence."""

from __future__ import annotations

import asyncio
import json
import re
import sqlite3
import threading
import webbrowser
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import goldwork
import pytest
from chromium import Browser
from conftest import ROOT
from test_serve import Running, check, get, serving

from builder.core.records import Polarity, Token, Triplet
from builder.pages.serve import answering, app
from builder.pages.serve.answering import LONGEST, Extracting
from builder.reviews.repair import fold
from builder.store import browse, db, listing, released, reviews, runs, search, triplets

pytest.importorskip("datasette", reason="the extra inspect is not installed")

Held = tuple[str, str, Polarity, str, float, bool]
"""aspect, opinion, polarity, rule, confidence, whether it is released"""
ROWS: list[tuple[str, str, str, float | None, list[Held]]] = [
    ("a", "服務很好，湯頭普通", "web", 5.0, [
        ("服務", "好", "POS", "subject", 0.95, True), ("湯頭", "普通", "NEU", "subject", 0.62, True)]),
    ("b", "服务不错", "web", 4.0, [("服务", "不错", "POS", "subject", 0.91, True)]),
    ("c", "服務不錯，餐點很慢", "app", 1.0, [
        ("服務", "不錯", "POS", "relative", 0.85, True), ("餐點", "慢", "NEG", "relative", 0.3, False)]),
    ("d", "餐點很慢", "app", None, [("餐點", "慢", "NEG", "subject", 0.71, True)]),
    ("e", "只是路過", "app", 1.0, []),
]  # fmt: skip


def made(text: str, aspect: str, opinion: str, polarity: Polarity, rule: str) -> Triplet:
    return replace(goldwork.triplet(text, aspect, opinion, polarity), rules=(rule,))


def fill(workdir: Path, source: str = "C1") -> None:
    """Five reviews of two sources and both scripts; one candidate is left out, one review has none."""
    with db.writing(workdir) as connection, db.atomic(connection):
        rows = [
            (key, text, source, None, rating, "in.csv", n, "traditional", "zh", f"h{n}", f"n{n}")
            for n, (key, text, source, rating, _) in enumerate(ROWS, start=1)
        ]
        reviews.insert(connection, rows)
        reviews.set_splits(connection, ((("train", "test")[n == 2], n) for n in range(1, 6)))
        reviews.set_dates(connection, [(1, "2024-03-01"), (2, "2024-03"), (3, "2023-12-24")])
        search.index(connection)
        rules = triplets.source(connection, "rules", "rules", "s")
        model = triplets.source(connection, source, "model", "s")
        judge = triplets.source(connection, "discriminator", "discriminator", "s")
        runs.set_release(connection, "0.1.0", "releases/v0.1.0", "digest")
        for n, (_, text, _, _, held) in enumerate(ROWS, start=1):
            split = "test" if n == 2 else "train"
            released.add_reviews(connection, [released.ReleasedReview(n, "0.1.0", split, "silver", not held)])
            for aspect, opinion, polarity, rule, confidence, out in held:
                ids = triplets.propose(connection, rules, [(n, made(text, aspect, opinion, polarity, rule))])
                if out:
                    triplets.propose(connection, model, [(n, made(text, aspect, opinion, polarity, rule))])
                    category = "service.speed" if aspect != "湯頭" else "food"
                    row = released.ReleasedTriplet(
                        ids[0], "0.1.0", split, "silver", "x:1", confidence, "YY", rule, category, None
                    )
                    released.add_triplets(connection, [row])
                triplets.judge(connection, judge, [(ids[0], "YY" if out else "NX", confidence)])
        runs.finish(connection, "discriminate", "k", {"judged": 9}, 1.0)
        runs.finish(connection, "release", "k", {"version": "0.1.0"}, 1.0)


@pytest.fixture(scope="module")
def copied(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("browse")
    fill(folder / "w")
    return app.of_workdir(folder / "w", folder)


class Read:
    """Stands for an extractor that takes its time: the limit is what is tested."""

    source = "rules"

    def __init__(self) -> None:
        self.may_end = threading.Event()

    def __call__(self, text: str) -> tuple[Triplet, ...]:
        self.may_end.wait(60)
        return ()

    def tokens(self, text: str) -> tuple[Token, ...]:
        return ()


@pytest.fixture(scope="module")
def shown(copied: Path) -> Any:
    from builder.api import Extractor

    return app.datasette(copied, "a title", "a source", extractor=Extractor)


@pytest.fixture
def connection(copied: Path) -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(f"{copied.as_uri()}?mode=ro", uri=True)) as opened:
        yield opened


def keys(page: str) -> list[str]:
    """The reviews of a list."""
    return re.findall(r'<p class="chips"><span class="key"><bdi>([^<]+)', page)


def chips(page: str) -> list[str]:
    return [f"{a}·{o}" for a, o in re.findall(r'class="chip[^>]*><bdi>([^<]+)</bdi> · <bdi>([^<]+)</bdi>', page)]


# ---- what is shown


def test_what_was_released_is_shown_at_first_and_a_parameter_shows_the_rest(shown: Any) -> None:
    assert "餐點·慢" not in chips(get(shown, "/reviews?q=服務 不錯").text)
    assert "餐點·慢" in chips(get(shown, "/reviews?q=服務 不錯&show=rules").text)
    assert chips(get(shown, "/reviews?show=rejected").text) == ["餐點·慢"]
    plain, more = get(shown, "/review/3").text, get(shown, "/review/3?show=released,rejected").text
    assert plain.count('class="card ') == 1 and more.count('class="card ') == 2
    assert "1 of 2 candidate triplets, 1 released" in plain


def test_every_link_of_a_list_and_of_a_review_keeps_what_is_shown_and_filtered(shown: Any) -> None:
    page = get(shown, "/reviews?polarity=NEG&show=rules&source=app").text
    assert keys(page) == ["c", "d"]
    links = re.findall(r'href="(/(?:review|triplet|random)[^"]*)"', page.split('<ol class="hits"')[1])
    assert len(links) >= 4
    first = get(shown, "/review/3?polarity=NEG&show=rules&source=app").text
    links += re.findall(r'<a rel="next" href="([^"]+)"', first)
    for link in links:
        given = parse_qs(urlsplit(link.replace("&amp;", "&")).query)
        if "page" not in given and not link.startswith("/reviews"):
            assert given == {"polarity": ["NEG"], "show": ["rules"], "source": ["app"]}, link


def test_toggles_are_links_that_turn_one_kind_and_gold_is_offered_where_there_is_any(shown: Any) -> None:
    page = get(shown, "/reviews").text
    toggles = dict(re.findall(r'role="switch" aria-checked="(\w+)" href="[^"]*"[^>]*>(\w+)', page))
    assert set(re.findall(r'aria-checked="\w+"[^>]*>(\w+)', page)) == {"released", "rules", "models", "rejected"}
    assert toggles == {"true": "released", "false": "rejected"}
    assert 'href="/reviews?show=released%2Crules"' in page


def test_without_a_release_all_candidates_are_shown_in_the_order_of_their_text(tmp_path: Path) -> None:
    """A build before its judge: none of the candidates has a confidence."""
    text = "湯頭濃，麵條軟，滷肉鹹，小菜脆，豆花甜，紅茶香"
    pairs = [(part[:-1], part[-1]) for part in text.split("，")]
    with db.writing(tmp_path / "w") as connection, db.atomic(connection):
        reviews.insert(connection, [("k", text, "web", None, None, "in.csv", 1, "traditional", "zh", "h", "n")])
        search.index(connection)
        rules = triplets.source(connection, "rules", "rules", "s")
        triplets.propose(connection, rules, [(1, made(text, *pair, "POS", "subject")) for pair in pairs])
    served = app.datasette(app.of_workdir(tmp_path / "w", tmp_path), "t", "s")
    assert chips(get(served, "/reviews").text) == [f"{aspect}·{opinion}" for aspect, opinion in pairs]
    assert "these are candidates" in get(served, "/").text
    assert re.search(r"<bdi>湯頭</bdi>.*?<span class=\"number\">1</span>", get(served, "/aspects").text, re.S)


def test_the_search_above_a_page_keeps_what_is_filtered(shown: Any) -> None:
    query = "source=app&show=rules"
    triplet = re.search(r'href="(/triplet/\d+)', get(shown, f"/reviews?{query}").text)
    assert triplet is not None
    for path in ("/review/3", triplet[1]):
        page = get(shown, f"{path}?{query}").text
        bar = re.search(r'<form action="/reviews" role="search">(.*?)</form>', page, re.S)
        assert bar is not None
        kept = dict(re.findall(r'type="hidden" name="(\w+)" value="([^"]*)"', bar[1]))
        assert kept == {"source": "app", "show": "rules"}, path


def test_an_empty_list_explains_no_bars(shown: Any) -> None:
    assert "A click on a bar" in get(shown, "/reviews").text
    assert "A click on a bar" not in get(shown, "/reviews?q=外星人").text


def test_confidence_is_a_shade_from_light_to_strong() -> None:
    marks = [None, 0.1, 0.49, 0.5, 0.61, 0.7, 0.8, 0.95, 1.0]
    assert [answering.shade_of(value) for value in marks] == ["", "s0", "s0", "s5", "s6", "s7", "s8", "s9", "s9"]
    sheet = (ROOT / "builder" / "pages" / "serve" / "static" / "style.css").read_text(encoding="utf-8")
    strengths = [
        int(re.search(rf"\.{name} {{ --shade: (\d+)%", sheet)[1]) for name in ("s0", "s5", "s6", "s7", "s8", "s9")
    ]  # type: ignore[index]
    assert strengths == sorted(strengths) and len(set(strengths)) == 6


def test_a_triplet_has_the_shade_of_its_confidence_in_lists_and_texts(shown: Any) -> None:
    assert 'class="chip POS s9"' in get(shown, "/reviews?q=服務很好").text
    page = get(shown, "/review/1").text
    assert re.search(r'class="m opinion NEU l0 s6"', page)
    assert re.search(r'class="card NEU s6"', page)


# ---- filters


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("", "abcde"), ("source=app", "cde"), ("split=test", "b"), ("rating=1", "ce"), ("rating=(none)", "d"),
        ("polarity=NEU", "a"), ("polarity=(none)", "e"), ("rule=relative", "c"), ("category=food", "a"),
        ("category=service", "abcd"), ("category=service.speed", "abcd"), ("confidence=9", "ab"),
        ("aspect=服务", "abc"),
        ("opinion=不錯", "bc"), ("q=很慢", "cd"), ("q=很慢&source=app&rating=1", "c"),
        ("polarity=NEG&show=rules", "cd"),
        ("month=2024-03", "ab"),
        ("month=(none)", "de"),
        ("aspect=服務&opinion=不错&rating=4", "b"), ("rating=many", ""), ("source=web&polarity=NEG", ""),
    ],
)  # fmt: skip
def test_each_filter_leaves_the_reviews_that_it_should(shown: Any, query: str, expected: str) -> None:
    page = get(shown, f"/reviews?{query}").text
    assert keys(page) == list(expected)
    assert f">{len(expected)} review{'' if len(expected) == 1 else 's'}</span>" in page


def test_a_bar_of_a_histogram_says_how_many_reviews_its_filter_leaves(connection: sqlite3.Connection) -> None:
    for base in (
        listing.Filters(),
        listing.Filters(source="app"),
        listing.Filters(polarity="POS", kinds=2),
        listing.Filters(match=search.match(["服務"])),
    ):
        for name in (*listing.REVIEW_FILTERS, *listing.TRIPLET_FILTERS):
            for value, number in listing.histogram(connection, base, name):
                fields = {field: getattr(base, field) for field in base.__slots__} | {name: value}
                assert listing.count(connection, listing.Filters(**fields)) == number, (base, name, value)


def test_a_click_on_a_bar_sets_its_filter_and_a_second_one_unsets_it(shown: Any) -> None:
    page = get(shown, "/reviews?q=服務").text
    bar = re.search(r'class="bar" href="([^"]+)"><span class="label"><bdi>app<', page)
    assert bar is not None
    chosen = get(shown, bar[1].replace("&amp;", "&")).text
    assert keys(chosen) == ["c"]
    again = re.search(r'class="bar on" href="([^"]+)"', chosen)
    assert again is not None and keys(get(shown, again[1].replace("&amp;", "&")).text) == ["a", "b", "c"]


def test_a_histogram_of_many_values_leads_to_all_of_them(tmp_path: Path) -> None:
    months = [f"{year}-{month:02}" for year in (2021, 2022) for month in range(1, 13)]
    with db.writing(tmp_path / "w") as connection, db.atomic(connection):
        rows = [
            (f"k{n}", f"湯頭{n}", "web", None, None, "in.csv", n, "traditional", "zh", f"h{n}", f"n{n}")
            for n in range(1, 25)
        ]
        reviews.insert(connection, rows)
        reviews.set_dates(connection, enumerate(months, 1))
        search.index(connection)
    served = app.datasette(app.of_workdir(tmp_path / "w", tmp_path), "t", "s")

    def shown_months(page: str) -> list[str]:
        return re.findall(r"<bdi>(20\d\d-\d\d)</bdi>", page)

    page = get(served, "/reviews").text
    assert shown_months(page) == months[:11:-1]
    (link,) = re.findall(r'href="([^"]+)">all of them', page)
    whole = get(served, link.replace("&amp;", "&").partition("#")[0]).text
    assert shown_months(whole) == months[::-1] and "all of them" not in whole


def test_before_and_after_stay_in_the_filtered_list(connection: sqlite3.Connection) -> None:
    filters = listing.Filters(opinion=fold("不錯"))
    assert listing.neighbours(connection, filters, 2, 2) == listing.Neighbours(1, 2, None, 3)
    assert listing.neighbours(connection, filters, 4, 2) == listing.Neighbours(0, 2, 3, None), "it is not in the list"


def test_a_random_review_is_one_of_the_list_and_keeps_its_filters(shown: Any) -> None:
    seen = set()
    for _ in range(40):
        answer = asyncio.run(shown.client.get("/random?opinion=不錯", follow_redirects=False))
        place, _, query = answer.headers["location"].partition("?")
        assert parse_qs(query) == {"opinion": ["不錯"]}
        seen.add(place)
    assert seen == {"/review/2", "/review/3"}
    nothing = asyncio.run(shown.client.get("/random?source=nowhere", follow_redirects=False))
    assert nothing.headers["location"] == "/reviews?source=nowhere"


def test_a_search_that_finds_nothing_says_what_would(shown: Any) -> None:
    page = get(shown, "/reviews?q=很慢&source=web").text
    assert "No review fits all of this" in page
    offers = dict(re.findall(r'<li><a href="([^"]+)"><bdi>[^<]+</bdi></a>: ([\d,]+) review', page))
    assert offers
    for link, number in offers.items():
        assert len(keys(get(shown, link.replace("&amp;", "&")).text)) == int(number)
    assert "letter by letter" in get(shown, "/reviews?q=外星人").text


# ---- words


def test_words_of_both_scripts_are_counted_as_one_and_shown_in_the_chosen_script(shown: Any) -> None:
    page = get(shown, "/aspects").text
    assert re.search(r"<bdi>服務</bdi>.*?<span class=\"number\">3</span>", page, re.S) and "服务" not in page
    simple = asyncio.run(shown.client.get("/opinions?script=simplified"))
    assert "不错" in simple.text and "不錯" not in simple.text
    assert "script=simplified" in simple.headers["set-cookie"] and "HttpOnly" in simple.headers["set-cookie"]
    kept = asyncio.run(shown.client.get("/opinions", headers={"cookie": "script=simplified"}))
    assert "不错" in kept.text
    strange = asyncio.run(shown.client.get("/opinions?script=%0d%0aset-cookie:x=y"))
    assert "script=traditional" in strange.headers["set-cookie"] and "x=y" not in strange.headers["set-cookie"]


def test_a_page_of_an_aspect_has_stars_sources_opinions_and_examples(
    shown: Any, connection: sqlite3.Connection
) -> None:
    word = browse.read(connection, "aspect", fold("服務"), "traditional")
    assert word is not None
    assert (word.counts, word.reviews) == ({"POS": 3, "NEG": 0, "NEU": 0}, 3)
    assert [(row["value"], row["POS"]) for row in word.by["rating"]] == [("5", 1), ("4", 1), ("1", 1)]
    assert [(row["value"], row["POS"]) for row in word.by["month"]] == [("2024-03", 2), ("2023-12", 1)]
    assert [(row["value"], row["POS"]) for row in word.by["source"]] == [("web", 2), ("app", 1)]
    assert [(partner.shown, partner.counts["POS"], len(partner.examples)) for partner in word.partners] == [
        ("不錯", 2, 2),
        ("好", 1, 1),
    ]
    assert word.spellings == (("服務", 2), ("服务", 1))
    for path in ("/aspect?word=服務", "/aspect?word=服务"):
        page = get(shown, path).text
        assert "Written" in page and page.index("2023-12") < page.index("2024-03") and 'href="/review/2"' in page
        link = re.search(r'<a class="number" href="([^"]+)"', page)
        assert link is not None and keys(get(shown, link[1].replace("&amp;", "&")).text) == ["b", "c"]
    assert get(shown, "/aspect?word=外星人").status_code == 404
    assert "服務" in get(shown, "/opinion?word=不錯").text


def test_the_tiles_count_what_was_released(shown: Any) -> None:
    tiles = dict(re.findall(r"<dt>([^<]+)</dt><dd>([\d,]+)</dd>", get(shown, "/").text))
    assert tiles == {
        "released reviews": "5", "of them with a triplet": "4", "released triplets": "5", "different aspects": "3",
        "different opinions": "4",
    }  # fmt: skip


def test_rules_and_the_model_that_learnt_from_them_are_no_two_opinions(shown: Any) -> None:
    assert "C1 learnt from the rules: no second opinion" in get(shown, "/review/1").text
    assert "no second opinion" in get(shown, "/").text
    assert "learn from the rules" in get(shown, "/builder/sources-disagree").text


def test_the_model_of_a_pack_did_not_learn_from_the_rules(tmp_path: Path) -> None:
    fill(tmp_path / "w", "E0")
    with db.writing(tmp_path / "w") as connection, db.atomic(connection):
        runs.finish(connection, "discriminate", "k", {"judged": 9, "judge": f"{runs.PACK_MODEL}restaurant"}, 1.0)
        assert runs.judge(connection) == "shipped model"
    page = app.datasette(app.of_workdir(tmp_path / "w", tmp_path), "t", "s")
    for path in ("/review/1", "/"):
        assert "no second opinion" not in get(page, path).text, path


# ---- a typed sentence


def test_a_typed_sentence_is_read_as_the_extractor_reads_it(shown: Any) -> None:
    page = get(shown, "/try?text=餐點不會太鹹，服務人員也很親切").text
    check(page)
    assert "2 triplets by the rules" in page and "不會鹹" in page
    assert "candidates" in page and "↑nsubj" in page and "path" in page
    assert "The rules find no triplet" in get(shown, "/try?text=今天星期三").text


def test_a_typed_sentence_is_read_by_rules_and_model_where_both_made_the_build(copied: Path) -> None:
    """With confidences, and with the words that the rules read."""
    from builder import Extractor

    both = app.datasette(copied, "a title", "a source", extractor=lambda: Extractor(source="E"))
    page = get(both, "/try?text=餐點不會太鹹，服務人員也很親切").text
    check(page)
    assert "2 triplets by rules and model together" in page and page.count("<dt>confidence</dt>") == 2
    assert "↑nsubj" in page and "<td>nsubj</td>" in page


def test_a_typed_sentence_has_a_longest_length_and_a_longest_time(shown: Any, copied: Path) -> None:
    assert get(shown, f"/try?text={'湯' * LONGEST}").status_code == 200
    refused = get(shown, f"/try?text={'湯' * (LONGEST + 1)}")
    assert refused.status_code == 400 and f"up to {LONGEST} characters" in refused.text
    slow, reading = Extracting(Read, seconds=0.05), Read()
    slow._extractor = reading
    assert asyncio.run(slow.read("湯頭")) is None, "which was said before it ended"
    reading.may_end.set()
    without = app.datasette(copied, "t", "s")
    assert get(without, "/try?text=湯").status_code == 400 and 'href="/try"' not in get(without, "/").text


def test_hostile_sentences_are_shown_and_do_nothing(shown: Any) -> None:
    for text in (
        "<script>window.hurt=1</script>湯頭很好",
        '"><img src=x onerror=window.hurt=1>服務很好',
        "湯\u202e頭很鹹",
        "{{ 7*7 }}",
    ):
        answer = get(shown, "/try", {"text": text})
        check(answer.text)
        assert "\u202e" not in answer.text
    assert "{{ 7*7 }}" in answer.text


# ---- SQL


def test_the_page_of_sql_begins_with_a_question_that_has_rows(shown: Any) -> None:
    page = get(shown, "/builder").text
    held = re.search(r'<textarea id="sql-editor" name="sql">(.*?)</textarea>', page, re.S)
    assert held is not None and "FROM triplet_list" in held[1]
    rows = json.loads(get(shown, "/builder.json", {"sql": browse.FIRST_QUERY, "_shape": "objects"}).text)["rows"]
    assert {row["aspect"] for row in rows} == {"服務", "服务", "湯頭", "餐點"}


# ---- the command and the browser


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    folder = tmp_path_factory.mktemp("running")
    fill(folder / "w")
    yield from serving(folder / "w")


def test_keys_go_to_the_search_and_to_the_reviews_beside(here: Running, browser: Browser) -> None:
    browser.open(here.url + "/review/2?opinion=%E4%B8%8D%E9%8C%AF")
    with browser.loading():
        browser.press("ArrowRight")
    assert "Review c" in browser.text("h1")
    with browser.loading():
        browser.press("ArrowLeft")
    assert "Review b" in browser.text("h1")
    browser.press("/")
    assert browser.run("document.activeElement.type") == "search"
    browser.press("ArrowRight")
    assert "Review b" in browser.text("h1"), "in a box the arrows are the box's"
    assert browser.faults == []


CONTRAST = """
(() => {
  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const rgb = (colour, under) => { for (const one of [under, colour]) { canvas.fillStyle = one; canvas.fillRect(0, 0, 1, 1); } return [...canvas.getImageData(0, 0, 1, 1).data].slice(0, 3); };
  const light = (values) => { const [r, g, b] = values.map((v) => v / 255).map((v) => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4); return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
  const ground = getComputedStyle(document.querySelector(".hits li")).backgroundColor;
  const host = document.querySelector(".chips");
  return ["POS", "NEG", "NEU"].flatMap((kind) => ["", "s0", "s5", "s6", "s7", "s8", "s9"].map((shade) => {
    const chip = document.createElement("a");
    chip.className = `chip ${kind} ${shade}`;
    chip.href = "/";
    host.append(chip);
    const style = getComputedStyle(chip);
    const [a, b] = [light(rgb(style.color, ground)), light(rgb(style.backgroundColor, ground))];
    chip.remove();
    return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
  }));
})()
"""  # noqa: E501


@pytest.mark.parametrize("dark", [False, True])
def test_every_shade_is_legible_in_light_and_dark(here: Running, browser: Browser, dark: bool) -> None:
    browser.size(1200, 900, dark)
    browser.open(here.url + "/reviews")
    contrasts = browser.run(CONTRAST)
    assert len(contrasts) == 21 and min(contrasts) >= 4.5, contrasts


@pytest.mark.parametrize(
    "path",
    ["/reviews", "/reviews?q=%E5%A4%96%E6%98%9F", "/aspects", "/aspect?word=%E6%9C%8D%E5%8B%99", "/try"],
)
def test_the_pages_of_lists_and_words_fit_a_phone(here: Running, browser: Browser, path: str) -> None:
    browser.size(390, 844)
    browser.open(here.url + path)
    assert browser.run("document.documentElement.scrollWidth") <= 390
    assert browser.faults == []


def test_an_example_of_a_long_review_is_quoted_around_its_triplet() -> None:
    text = "排隊排了很久。" * 30 + "湯頭好喝" + "下次再來。" * 30
    place = text.index("湯頭")
    spans = {"aspect": [(place, place + 2)], "opinion": [(place + 2, place + 4)]}
    quote = browse._cut(text, spans)
    assert quote[0] == quote[-1] == "…" and len(quote) == 122 and quote[31:35] == "湯頭好喝"
    assert browse._cut("湯頭好喝", {"aspect": [(0, 2)], "opinion": [(2, 4)]}) == "湯頭好喝"
    end = browse._cut(text[: place + 4], spans)
    assert end.endswith("湯頭好喝") and end.startswith("…")


def test_open_opens_the_browser_and_says_so_where_there_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    monkeypatch.setattr(webbrowser, "open", lambda address: bool(opened.append(address)) or True)
    assert app._open("http://127.0.0.1:1/") and opened == ["http://127.0.0.1:1/"]

    def broken(address: str) -> bool:
        raise webbrowser.Error("no browser")

    monkeypatch.setattr(webbrowser, "open", broken)
    assert not app._open("http://127.0.0.1:1/")
