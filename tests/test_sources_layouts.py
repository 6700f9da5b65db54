"""Every layout of the table in docs/reference/formats.md is read, or refused, by `build` and `extract` as it says."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Sequence
from datetime import date, datetime
from pathlib import Path

import openpyxl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import ROOT
from test_sources import xlsx

from builder.core.errors import InputError
from builder.core.settings import Input
from builder.reviews import sources
from builder.reviews.sources import Row, Understanding, read
from builder.reviews.sources.cells import Order, RawReview, date_of, find_order
from builder.reviews.sources.texts import texts

SOUP, RICE = "湯頭清甜，份量也夠", "飯太硬，等了很久"
DESCRIPTION, REPLY = "巷弄裡的老味道，供應熱炒與合菜", "謝謝您的光臨，期待再次為您服務"
PLACE, DAY, LATER = "春日小館", "2026-01-03", "2026-01-25"
Result = tuple[str, str | None, float | None, str | None]
BOTH: list[Result] = [(SOUP, PLACE, 5, DAY), (RICE, PLACE, 2, LATER)]
TEXTS: list[Result] = [(SOUP, None, None, None), (RICE, None, None, None)]
HEADER = ["店名", "評論", "星等", "日期", "暱稱"]
CELLS = [[PLACE, SOUP, "5", DAY, "小魚"], [PLACE, RICE, "2", LATER, "阿樹"]]
OBJECTS = [{"place": row[0], "text": row[1], "stars": int(row[2]), "date": row[3]} for row in CELLS]


def joined(delimiter: str, *rows: Sequence[str]) -> str:
    out = io.StringIO()
    csv.writer(out, delimiter=delimiter).writerows(rows)
    return out.getvalue()


def table(delimiter: str = ",") -> str:
    return joined(delimiter, HEADER, *CELLS)


def dump(value: object, indent: int | None = None) -> str:
    return json.dumps(value, ensure_ascii=False, indent=indent)


def by_line(*values: object) -> str:
    return "".join(dump(value) + "\n" for value in values)


def columns_of(rows: Sequence[dict[str, object]]) -> dict[str, dict[str, object]]:
    return {name: {str(i): row[name] for i, row in enumerate(rows)} for name in rows[0]}


def parquet(rows: list[dict[str, object]]) -> bytes:
    out = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(rows), out)
    return out.getvalue()


def titled() -> bytes:
    book = openpyxl.load_workbook(io.BytesIO(xlsx([["一月份評論匯出"], [], HEADER, *CELLS])))
    book.active.merge_cells("A1:E1")
    out = io.BytesIO()
    book.save(out)
    return out.getvalue()


GOSOM_REVIEWS = [
    {"Name": "小魚", "Rating": 5, "Description": SOUP, "Images": None, "When": "2026-1-3"},
    {"Name": "阿樹", "Rating": 2, "Description": RICE, "Images": None, "When": "2026-1-25"},
]
GOSOM = {"title": PLACE, "category": "餐廳", "review_rating": 4.4, "descriptions": DESCRIPTION}
OUTSCRAPER_REVIEWS = [
    {"author_title": "小魚", "review_text": SOUP, "review_rating": 5, "review_datetime_utc": "01/03/2026 08:00:00"},
    {"author_title": "阿樹", "review_text": RICE, "review_rating": 2, "review_datetime_utc": "01/25/2026 08:00:00"},
]
OUTSCRAPER = {"name": PLACE, "rating": 4.4, "about": DESCRIPTION}
APIFY_REVIEWS = [
    {
        "name": "小魚",
        "text": SOUP,
        "stars": 5,
        "publishedAtDate": f"{DAY}T08:00:00.000Z",
        "responseFromOwnerText": REPLY,
    },
    {"name": "阿樹", "text": RICE, "stars": 2, "publishedAtDate": f"{LATER}T08:00:00.000Z"},
]
APIFY = {"title": PLACE, "description": DESCRIPTION, "totalScore": 4.4, "reviewsTags": [{"title": "合菜", "count": 3}]}
NUMBERED = {f"reviews/{i}/{name}": str(value) for i, one in enumerate(APIFY_REVIEWS) for name, value in one.items()}
SERPAPI = {
    "search_metadata": {"created_at": "2026-02-02"},
    "place_info": {"title": PLACE, "rating": 4.4},
    "topics": [{"keyword": "合菜", "mentions": 3}],
    "reviews": [
        {"rating": 5.0, "date": "a month ago", "iso_date": DAY, "snippet": SOUP, "user": {"name": "小魚"},
         "response": {"snippet": REPLY}},
        {"rating": 2.0, "date": "a week ago", "iso_date": LATER, "snippet": RICE, "user": {"name": "阿樹"}},
    ],
}  # fmt: skip
RELEVANT = [
    {"username": "小魚", "rating": 5, "description": SOUP, "date": "a month ago"},
    {"username": "阿樹", "rating": 2, "description": RICE, "date": "a week ago"},
]
PLACE_RESULTS = {"title": PLACE, "description": DESCRIPTION}
TAKEOUT = [
    {"type": "Feature", "properties": {"date": f"{day}T01:02:03Z", "five_star_rating_published": stars,
     "location": {"name": PLACE, "address": "春日路"}, "review_text_published": text}}
    for text, stars, day in ((SOUP, 5, DAY), (RICE, 2, LATER))
]  # fmt: skip
BUSINESS = [
    {"reviewer": {"displayName": "小魚"}, "starRating": "FIVE", "comment": SOUP, "createTime": f"{DAY}T01:02:03Z",
     "reviewReply": {"comment": REPLY}},
    {"reviewer": {"displayName": "阿樹"}, "starRating": "TWO", "comment": RICE, "createTime": f"{LATER}T01:02:03Z"},
]  # fmt: skip
GOOGLE = [
    {
        "name": "places/1",
        "rating": stars,
        "text": {"text": text, "languageCode": "zh"},
        "publishTime": f"{day}T01:02:03Z",
    }
    for text, stars, day in ((SOUP, 5, DAY), (RICE, 2, LATER))
]
TRIPADVISOR = [
    {"title": title, "text": text, "rating": stars, "publishedDate": day, "user": {"name": "小魚"},
     "placeInfo": {"name": PLACE, "rating": 4.4}, "ownerResponse": {"text": REPLY}}
    for title, text, stars, day in (("值得", SOUP, 5, DAY), ("失望", RICE, 2, LATER))
]  # fmt: skip
AMAZON = [
    {"reviewerName": "小魚", "title": "值得", "reviewText": SOUP, "overall": 5.0, "unixReviewTime": 1767398400},
    {"reviewerName": "阿樹", "title": "失望", "reviewText": RICE, "overall": 2.0, "unixReviewTime": 1769299200},
]
NO_PLACE: list[Result] = [(text, None, rating, date) for text, _, rating, date in BOTH]
NO_DATE: list[Result] = [(text, place, rating, None) for text, place, rating, _ in BOTH]
ESCAPED = f'店名,評論,星等\n{PLACE},"{SOUP}\\n他說\\"好\\"",\\N\n'

Case = tuple[str, str | bytes, list[Result] | str]
LAYOUTS: dict[str, list[Case]] = {
    "comma, semicolon, tab or bar": [
        (f"in{ending}", table(delimiter), BOTH) for ending in (".csv", ".tsv") for delimiter in ",;\t|"
    ],
    "full-width marks between columns": [("in.csv", table("；"), BOTH)],
    "delimiter inside texts without quotes": [
        ("in.csv", "評論;星等\n好吃;便宜;5\n難吃;貴;3\n普通;1\n", r"header has ';' between its names, but 67% of the"),
        ("in.tsv", "評論,星等\n好吃,便宜,5\n難吃,貴,3\n", r"header has ',' between its names, but 100% of the"),
    ],
    "first line `sep=;`": [("in.csv", "sep=;\r\n" + table(";"), BOTH), ("in.csv", "sep=\t\n" + table("\t"), BOTH)],
    "Excel's Unicode text": [("in.csv", table("\t").encode("utf-16"), BOTH)],
    "plain text, a review a line": [("in.txt", f"{SOUP}\r\n\r\n{RICE}", TEXTS)],
    "table in a `.txt`": [("in.txt", table(delimiter), BOTH) for delimiter in ",;\t|"],
    "backslash escapes (MySQL, Hive)": [
        ("in.csv", ESCAPED, [(f'{SOUP}\n他說"好"', PLACE, None, None)]),
        ("in.tsv", f"店名\t評論\t星等\n{PLACE}\t{SOUP}\\n{RICE}\t\\N\n", [(f"{SOUP}\n{RICE}", PLACE, None, None)]),
        ("in.tsv", f"店名\t評論\n\\N\t{SOUP}\\\n{RICE} \\\\ \\t\n", [(f"{SOUP}\n{RICE} \\ \t", None, None, None)]),
    ],
    "title above the header": [
        ("in.xlsx", titled(), BOTH),
        ("in.xlsx", xlsx([["基本資料", "", "意見", "", ""], HEADER, *CELLS]), BOTH),
        ("in.csv", "一月份評論匯出,,,,\n\n" + table(), BOTH),
        ("in.csv", "一月份評論匯出\n" + table(";"), BOTH),
    ],
    "header again between the rows": [
        ("in.csv", joined(",", HEADER, CELLS[0], HEADER, CELLS[1]), [BOTH[0], ("!header", None, None, None), BOTH[1]]),
        ("in.xlsx", xlsx([HEADER, CELLS[0], HEADER, CELLS[1]]), [BOTH[0], ("!header", None, None, None), BOTH[1]]),
    ],
    "row numbers without a name (pandas, R)": [
        ("in.csv", joined(",", ["", *HEADER], ["0", *CELLS[0]], ["1", *CELLS[1]]), BOTH),
        ("in.tsv", joined("\t", HEADER, ["1", *CELLS[0]], ["2", *CELLS[1]]), BOTH),
        ("in.csv", joined(";", HEADER, ["1", *CELLS[0]], ["2", *CELLS[1]]), BOTH),
        ("in.csv", joined("\t", HEADER, ["1", *CELLS[0]], ["2", *CELLS[1]]), BOTH),
    ],
    "JSON lines": [
        ("in.json", by_line(*OBJECTS), BOTH),
        ("in.jsonl", by_line(*OBJECTS), BOTH),
        ("in.jsonl", by_line(*OBJECTS).replace("}\n", "},\r\n"), BOTH),
    ],
    "JSON arrays": [("in.jsonl", dump(OBJECTS, 1), BOTH), ("in.json", dump(OBJECTS[:1]) + dump(OBJECTS[1:]), BOTH)],
    "pretty-printed objects": [
        (f"in{ending}", "\n".join(dump(one, 2) for one in OBJECTS), BOTH) for ending in (".json", ".jsonl")
    ],
    "JSON in a `.csv`": [("in.csv", by_line(*OBJECTS), BOTH), ("in.csv", dump(OBJECTS), BOTH)],
    "pandas, orient `columns`": [
        ("in.json", dump(columns_of(OBJECTS)), BOTH),
        ("in.json", dump(columns_of([{"text": SOUP}, {"text": RICE}])), TEXTS),
    ],
    "pandas, orient `index`": [("in.json", dump({str(i): one for i, one in enumerate(OBJECTS)}), BOTH)],
    "pandas, orient `split`": [
        ("in.json", dump({"columns": HEADER, "index": [0, 1], "data": CELLS}), BOTH),
    ],
    "pandas, orient `table`": [
        ("in.json", dump({"schema": {"fields": [{"name": "text"}]}, "data": [{"text": SOUP}, {"text": RICE}]}), TEXTS)
    ],
    "pandas, orient `values`": [("in.json", dump(CELLS), r"no text column; columns found: 春日小館, 湯頭清甜")],
    "lists under names of columns": [
        ("in.json", dump({name: [one[name] for one in OBJECTS] for name in OBJECTS[0]}), BOTH),
    ],
    "lists below a list of names": [
        ("in.json", dump([HEADER, *CELLS]), BOTH),
        ("in.jsonl", by_line(HEADER, *CELLS), BOTH),
        ("in.json", dump({"range": "A1:E3", "values": [HEADER, *CELLS]}), BOTH),
    ],
    "lists of reviews under keys": [("in.json", dump({"甲": OBJECTS[:1], "乙": OBJECTS[1:]}), BOTH)],
    "Google Maps reviews (Outscraper CSV)": [
        ("in.csv", joined(",", [*OUTSCRAPER, "google_id", *OUTSCRAPER_REVIEWS[0]],
         *([*map(str, OUTSCRAPER.values()), "0x1", *map(str, one.values())] for one in OUTSCRAPER_REVIEWS)), BOTH),
    ],
    "Google Maps places (Outscraper API)": [
        ("in.json", dump({"status": "Success", "data": [[OUTSCRAPER | {"reviews_data": OUTSCRAPER_REVIEWS}]]}), BOTH),
    ],
    "Google Maps places (Outscraper CSV)": [
        ("in.csv", joined(",", [*OUTSCRAPER, "reviews_data"],
         [*map(str, OUTSCRAPER.values()), str(OUTSCRAPER_REVIEWS)]), BOTH),
    ],
    "Google Maps places (gosom CSV)": [
        ("in.csv", joined(",", [*GOSOM, "user_reviews"], [*map(str, GOSOM.values()), dump(GOSOM_REVIEWS)],
         [*map(str, GOSOM.values()), "null"]), [*BOTH, ("!empty", None, None, None)]),
        ("in.xlsx", xlsx([[*GOSOM, "user_reviews"], [*GOSOM.values(), dump(GOSOM_REVIEWS)]]), BOTH),
    ],
    "Google Maps places (gosom JSON)": [
        ("in.json", dump([GOSOM | {"user_reviews": GOSOM_REVIEWS[:1], "user_reviews_extended": GOSOM_REVIEWS[1:]}]),
         BOTH),
        ("in.jsonl", by_line(GOSOM | {"user_reviews": GOSOM_REVIEWS}), BOTH),
    ],
    "Google Maps places without reviews (gosom)": [
        ("in.csv", joined(",", [*GOSOM], [*map(str, GOSOM.values())]),
         r"no text column; columns found: title, .*descriptions"),
    ],
    "Google Maps reviews (Apify)": [
        ("in.json", dump([APIFY | one | {"placeId": "x", "address": "春日路"} for one in APIFY_REVIEWS]), BOTH),
    ],
    "Google Maps places (Apify JSON)": [("in.json", dump([APIFY | {"reviews": APIFY_REVIEWS}]), BOTH)],
    "Google Maps places (Apify CSV)": [
        ("in.csv", joined(",", ["title", "description", *NUMBERED], [PLACE, DESCRIPTION, *NUMBERED.values()]), BOTH),
    ],
    "Google Maps reviews (SerpApi)": [("in.json", dump(SERPAPI), BOTH), ("in.jsonl", by_line(SERPAPI), BOTH)],
    "Google Maps place (SerpApi)": [
        ("in.json", dump({"place_results": PLACE_RESULTS | {"user_reviews": {"summary": [{"snippet": "大家都說湯好喝"}],
         "most_relevant": RELEVANT}}}), NO_DATE),
    ],
    "Google Takeout": [("Reviews.json", dump({"type": "FeatureCollection", "features": TAKEOUT}, 2), BOTH)],
    "Google Business Profile": [("in.json", dump({"reviews": BUSINESS, "totalReviewCount": 2}), NO_PLACE)],
    "Google Places API": [
        ("in.json", dump({"places": [{"displayName": {"text": PLACE}, "editorialSummary": {"text": DESCRIPTION},
         "rating": 4, "reviews": GOOGLE}]}), BOTH),
    ],
    "Tripadvisor (Apify)": [("in.json", dump(TRIPADVISOR), BOTH)],
    "Yelp": [("in.json", by_line(*({"review_id": "y", "user_id": "u", **one} for one in OBJECTS)), BOTH)],
    "Amazon": [("in.jsonl", by_line(*AMAZON), NO_PLACE)],
    "texts as a list in a cell": [
        ("in.csv", joined(",", ["店名", "簡介", "評論列表"], [PLACE, DESCRIPTION, dump([SOUP, RICE])]),
         [(text, PLACE, None, None) for text in (SOUP, RICE)]),
    ],
    "Parquet with lists of objects": [("in.parquet", parquet([APIFY | {"reviews": APIFY_REVIEWS}]), BOTH)],
    "lists of another thing in the text column": [
        ("in.csv", joined(",", ["店名", "comments"], [PLACE, dump([{"user": "小魚", "text": SOUP}])]),
         [("!type", None, None, None)]),
    ],
}  # fmt: skip


def as_result(row: Row) -> Result:
    return (
        (row.text, row.place, row.rating, row.date)
        if isinstance(row, RawReview)
        else (f"!{row.reason}", None, None, None)
    )


def test_each_layout_of_the_docs_is_tried_and_none_else() -> None:
    page = (ROOT / "docs/reference/formats.md").read_text("utf-8")
    listed = re.findall(r"^\| (.+?) \|", page.partition("## Layouts of review files")[2].partition("\n## ")[0], re.M)
    assert listed[1:] == list(LAYOUTS) and listed[0] == "layout"


@pytest.mark.parametrize(
    ("layout", "number"), [(name, i) for name, cases in LAYOUTS.items() for i in range(len(cases))]
)
def test_a_layout_is_read_by_build_and_extract_as_the_docs_say(tmp_path: Path, layout: str, number: int) -> None:
    name, content, expected = LAYOUTS[layout][number]
    path = tmp_path / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    if isinstance(expected, str):
        for reader in (read, texts):
            with pytest.raises(InputError, match=expected):
                list(reader(path))
        return
    assert [as_result(row) for row in read(path)] == expected
    if any(text == "!type" for text, *_ in expected):
        with pytest.raises(InputError, match="an object or a list, not a string"):
            list(texts(path))
    else:
        assert [text for _, text in texts(path)] == [text for text, *_ in expected if not text.startswith("!")]


# ---- neighbours of the table


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("in.csv", '"評論,心得"\n"湯頭清甜, 便宜"\n份量普通\n', ["湯頭清甜, 便宜", "份量普通"]),
        ("in.csv", '評論\n"好吃; 便宜, 大碗"\n普通\n', ["好吃; 便宜, 大碗", "普通"]),
        ("in.tsv", "評論\n好吃, 便宜, 大碗\n普通; 貴\n", ["好吃, 便宜, 大碗", "普通; 貴"]),
        ("in.csv", "評論、心得匯總\n湯頭清甜、便宜\n份量普通\n", ["湯頭清甜、便宜", "份量普通"]),
        ("in.csv", "評論;星等\n好吃, 便宜, 大碗;5\n普通, 貴;3\n", ["好吃, 便宜, 大碗", "普通, 貴"]),
        ("in.csv", '評論;星等\n"好吃;\n真的, ""讚""";5\n普通;3\n', ['好吃;\n真的, "讚"', "普通"]),
        ("in.csv", '評論;星等\n"好吃;5\n"還行";3\n不錯;4\n', ["!quote", "還行", "不錯"]),
        ("in.csv", "評論,標籤(a;b),星等\n好吃,x,5\n普通;y,z,3\n", ["好吃", "普通;y"]),
        ("in.csv", "類別,顧客留言\n心得,湯頭清甜好喝推薦\n心得,等很久才上菜\n", ["湯頭清甜好喝推薦", "等很久才上菜"]),
        ("in.csv", "text,stars\n好,5,\n好,5,,\n好,5,x\n", ["好", "好", "!fields"]),
        ("in.csv", 'text,stars\n"C:\\new",5\n\\(^o^)/ 好\\n,3\n', ["C:\\new", "\\(^o^)/ 好\\n"]),
        ("in.csv", 'text,stars\n"說 ""好"" \\(^o^)/",\\N\n', ['說 "好" \\(^o^)/']),
    ],
)  # fmt: skip
def test_what_only_looks_like_another_layout_is_left_as_it_is(
    tmp_path: Path, name: str, content: str, expected: list[str]
) -> None:
    (tmp_path / name).write_text(content, encoding="utf-8", newline="")
    assert [as_result(row)[0] for row in read(tmp_path / name)] == expected


@pytest.mark.parametrize(
    "content",
    [
        "湯頭清甜;5;小魚\n飯太硬;2;阿樹\n",
        "湯頭清甜內容豐富，份量也夠，好吃\n飯太硬，等了很久\n",
        "小魚\t湯頭清甜份量也夠，好吃，會再來\n阿樹\t飯太硬，等了很久，不推\n",
        "顧客意見;得分數\n湯頭清甜份量也夠;5;x\n飯太硬等了很久;2;y\n",
        "評論,星等\n",
    ],
    ids=["numbers", "one column", "two columns", "unknown names", "no rows"],
)
def test_a_file_without_a_header_or_rows_is_refused_and_no_line_becomes_a_review(tmp_path: Path, content: str) -> None:
    (tmp_path / "in.csv").write_text(content, encoding="utf-8")
    with pytest.raises(InputError, match=r"no text column|the header has|no rows"):
        list(read(tmp_path / "in.csv"))


def test_titles_and_authors_are_no_places_unless_they_repeat_or_stand_beside_an_address(tmp_path: Path) -> None:
    path = tmp_path / "in.csv"
    for header, values, place in (
        ("title,text", ["不錯,湯好", "失望,飯硬", "還行,普通"], None),
        ("name,text", ["小魚,湯好", "阿樹,飯硬"], None),
        ("title,name,text", ["不錯,小魚,湯好", "失望,阿樹,飯硬"], None),
        ("title,name,text", ["春日小館,小魚,湯好", "春日小館,阿樹,飯硬"], "春日小館"),
        ("title,name,text", ["不錯,春日小館,湯好", "失望,春日小館,飯硬"], "春日小館"),
        ("name,address,text", ["春日小館,春日路,湯好"], "春日小館"),
    ):
        path.write_text("\n".join([header, *values]), encoding="utf-8")
        assert {as_result(row)[1] for row in read(path)} == {place}, header


def test_a_list_is_named_by_its_path_and_another_column_can_be_named(tmp_path: Path) -> None:
    path = tmp_path / "in.json"
    path.write_text(dump([GOSOM | {"user_reviews": GOSOM_REVIEWS}]), encoding="utf-8")
    understood = Understanding()
    named = Input(text_column="user_reviews.Name")
    assert [as_result(row)[0] for row in read(path, named, understood=understood)] == ["小魚", "阿樹"]
    assert understood.columns["rating"] == "user_reviews.Rating"
    assert [as_result(row)[0] for row in read(path, Input(text_column="descriptions"))] == [DESCRIPTION]


def test_a_list_that_is_broken_or_empty_rejects_its_record_and_reviews_are_numbered_on(tmp_path: Path) -> None:
    path = tmp_path / "in.csv"
    cells = [dump(GOSOM_REVIEWS), "[]", "", '[{"Name": "小', dump(GOSOM_REVIEWS[:1])]
    path.write_text(joined(",", ["title", "user_reviews"], *([PLACE, cell] for cell in cells)), encoding="utf-8")
    rows = list(read(path))
    assert [row.row for row in rows] == [1, 2, 3, 4, 5, 6]
    assert [as_result(row)[0] for row in rows] == [SOUP, RICE, "!empty", "!empty", "!json", SOUP]


def test_lists_inside_lists_without_end_are_no_reviews(tmp_path: Path) -> None:
    path = tmp_path / "in.json"
    deep = "[" * 400 + dump({"text": SOUP, "stars": 5}) + "]" * 400
    path.write_text('[{"title": "x", "reviews": ' + deep + "}]", encoding="utf-8")
    with pytest.raises(InputError, match="no text column"):
        list(read(path))


def test_an_object_of_many_lists_is_refused_at_once(tmp_path: Path) -> None:
    path = tmp_path / "in.json"
    path.write_text(dump([{f"k{i}": OBJECTS for i in range(3_000)}, {}]), encoding="utf-8")
    with pytest.raises(
        InputError, match=r"its reviews stand in 1000 or more lists of each object, k0 for one; give them"
    ):
        list(read(path))


# ---- columns that no table of names has: known by content, by path in nested JSON, or refused


TITLES = ["編號", "分店", "顧客留言", "星等", "店家回覆"]
ROWS = [
    ["a1", "站前", "湯頭很濃郁，服務人員也很親切", "5", "謝謝您的支持與鼓勵，歡迎再度光臨我們的小店"],
    ["a2", "站前", "等了快一個小時才上菜，不會再來", "1", "非常抱歉讓您久候，我們會加強人力與訓練"],
]


def found_texts(items: list[Row]) -> list[str]:
    assert all(isinstance(item, RawReview) for item in items)
    return [item.text for item in items if isinstance(item, RawReview)]


@pytest.mark.parametrize("name", ["in.csv", "in.jsonl", "in.parquet"])
def test_the_text_column_is_known_by_its_content(tmp_path: Path, name: str) -> None:
    objects = [dict(zip(TITLES, row, strict=True)) for row in ROWS]
    content = {"in.csv": joined(",", TITLES, *ROWS), "in.jsonl": by_line(*objects)}.get(name) or parquet(objects)
    (tmp_path / name).write_bytes(content.encode() if isinstance(content, str) else content)
    understood = Understanding()
    assert found_texts(list(read(tmp_path / name, understood=understood))) == [row[2] for row in ROWS]
    assert understood.by_content
    assert understood.columns == {
        "text": "顧客留言", "id": "編號", "place": None, "rating": "星等", "source": None, "group": None, "date": None,
    }  # fmt: skip


def test_a_name_that_is_known_goes_before_content(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("備註欄位,text\n這一欄的內容比較長所以不算,好吃\n", encoding="utf-8")
    understood = Understanding()
    assert found_texts(list(read(path, understood=understood))) == ["好吃"]
    assert (understood.by_content, understood.encoding) == (False, "UTF-8")


def test_an_index_without_a_name_as_pandas_writes_it_is_no_text(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text(",說法\n0,湯頭很濃郁真的很好喝\n", encoding="utf-8")
    assert found_texts(list(read(path))) == ["湯頭很濃郁真的很好喝"]


@pytest.mark.parametrize(
    "content",
    [
        "甲,乙\n湯頭很濃郁服務也好,餐點好吃環境也乾淨\n",
        "1,湯頭很濃郁服務也好\n2,餐點好吃環境也乾淨\n",
        "湯頭很濃郁服務也好\n餐點好吃環境也乾淨\n",
        "店,菜\n站前,牛肉麵\n",
        "編號,店家回覆\n1,謝謝您的支持與鼓勵歡迎再度光臨\n",
    ],
    ids=["two alike", "no header", "one column without header", "short cells", "answers alone"],
)
def test_what_could_be_another_thing_is_left_to_the_user(tmp_path: Path, content: str) -> None:
    path = tmp_path / "a.csv"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(InputError, match=r"no text column; columns found: .*; name it with --text-column"):
        list(read(path))


# ---- nested JSON


def test_values_inside_objects_are_named_by_their_path(tmp_path: Path) -> None:
    rows = [
        {"key": "a1", "meta": {"shop": "鼎香園", "stars": 4}, "body.zh": "湯頭很好", "user": {"name": "王先生"}},
        {"key": "a2", "meta": {}, "body.zh": "麵也好吃"},
    ]
    path = tmp_path / "a.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    columns = Input(text_column="body.zh", id_column="key", rating_column="meta.stars")
    assert list(read(path, columns)) == [
        RawReview(1, "湯頭很好", "a1", None, "鼎香園", 4.0),
        RawReview(2, "麵也好吃", "a2"),
    ]
    with pytest.raises(
        InputError, match=r"no column 'meta'; columns found: key, meta\.shop, meta\.stars, body\.zh, user"
    ):
        list(read(path, Input(text_column="meta")))


def test_paths_are_guessed_where_they_can_only_be_one_thing(tmp_path: Path) -> None:
    row = {"review": {"id": "r1", "text": "湯頭很好", "rating": 5}, "user": {"id": "u1", "name": "王先生"}}
    place = {"restaurant": {"name": "鼎香園", "rating": 4.3}}
    path = tmp_path / "a.json"
    path.write_text(json.dumps([row | place]), encoding="utf-8")
    assert list(read(path)) == [RawReview(1, "湯頭很好", "r1", None, "鼎香園", 5.0)]
    path.write_text(json.dumps([row]), encoding="utf-8")
    assert list(read(path)) == [RawReview(1, "湯頭很好", "r1", None, None, 5.0)], "the name of a user is no place"


# ---- dates of reviews: what a cell may say, and what becomes of it


@pytest.mark.parametrize(
    ("cell", "expected"),
    [
        ("2024-03-01", "2024-03-01"), ("2024/3/1 12:30", "2024-03-01"), ("2024.3.1", "2024-03-01"),
        ("2024年3月1日", "2024-03-01"), ("2024年3月", "2024-03"), ("民國113年3月1日", "2024-03-01"),
        ("2024-03-01T23:10:00.000Z", "2024-03-01"), ("２０２４／３／１", "2024-03-01"), ("1709251200", "2024-03-01"),
        (1709251200, "2024-03-01"), (1709251200000, "2024-03-01"), (1709251200.0, "2024-03-01"),
        (date(2024, 3, 1), "2024-03-01"), (datetime(2024, 3, 1, 8), "2024-03-01"), (datetime.max, None),
        ("3 個月前", None), ("2024", None), ("2024-13-01", None), ("2024-02-30", None), ("113年3月", None), ("", None),
        (None, None), (True, None), (5, None), (float("nan"), None), ([2024, 3, 1], None), ("9" * 400, None),
        ("2024-3-123", "2024-03"), ("Mar 1, 2024", "2024-03-01"), ("1 March 2024", "2024-03-01"),
        ("March 2024", "2024-03"), ("Fri Mar 01 2024 10:00:00 GMT+0800", "2024-03-01"), ("Foo 1, 2024", None),
        ("03/25/2024 10:00", "2024-03-25"), ("25.3.2024", "2024-03-25"), ("03/01/2024", None), ("13/13/2024", None),
    ],
)  # fmt: skip
def test_a_date_is_read_however_it_is_written_and_what_is_none_says_nothing(cell: object, expected: str | None) -> None:
    assert date_of(cell) == expected


@pytest.mark.parametrize(
    ("cells", "order"),
    [
        (["01/03/2026", None, "01/25/2026"], "month"), (["03-01-2026", 5, "25-01-2026 10:00"], "day"),
        (["01/03/2026"] * 2_000 + ["13/03/2026"], "day"), (["01/03/2026", "02/04/2026"], None),
        (["2026-01-03"] * 1_001 + ["01/25/2026"], None), ([], None),
    ],
)  # fmt: skip
def test_the_order_of_dates_is_what_one_of_them_shows(cells: list[object], order: Order | None) -> None:
    assert find_order(cells) == order


@pytest.mark.parametrize(("last", "first"), [("01/25/2026", "2026-01-03"), ("25/01/2026", "2026-03-01"), ("", None)])
@pytest.mark.parametrize("ending", [".csv", ".jsonl"])
def test_a_date_with_its_year_last_is_read_as_the_others_of_its_column_show(
    tmp_path: Path, ending: str, last: str, first: str | None
) -> None:
    """The one that shows it stands behind the rows that are looked at to know the columns."""
    days = ["01/03/2026"] * 1_200 + [last]
    lines = [f"湯頭很好,{day}" if ending == ".csv" else f'{{"text": "湯頭很好", "date": "{day}"}}' for day in days]
    path = tmp_path / f"r{ending}"
    path.write_text("\n".join(["text,date"] * (ending == ".csv") + lines), encoding="utf-8")
    assert next(row.date for row in sources.read(path) if isinstance(row, RawReview)) == first
