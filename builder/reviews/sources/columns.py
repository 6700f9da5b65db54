"""Which column holds what.

In: the column names of a file and the user's mapping. Out: positions. What the user does not name is looked up in
literal tables, the first name that the file has wins; the tables hold no column of an author. A text column that no
table has is known by its content.

What the content of some rows says where no name does: which row is the header, which column holds the review text
(the one with by far the most Han characters), and whether a column of names is one of places.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from builder.core.errors import InputError, did_you_mean
from builder.reviews.script import HAN
from builder.reviews.sources.cells import Order, find_order
from builder.reviews.sources.opening import Source, one_line

RolesOf = Callable[[Sequence[str]], set[str]]
"""What the names in a row are known to mean."""
LOOK_AT = 200
"""Rows whose cells are looked at."""
_TITLE_ROWS = 10
"""Rows among which the header is looked for."""
_MOST_NAMED = 40
"""Columns that a message names."""
_FEWEST_CHARACTERS = 4.0
"""Han characters in a cell on average: a review has more, names of places and dishes hardly."""
_LEAD = 1.5
"""How many times more than the next column: a title beside its review has fewer, an answer to it about as many."""
_TEXT_WORDS = re.compile(
    "評論|評價|評語|留言|心得|意見|回饋|內容|感想|食記|建議|评论|评价|评语|点评|感受|内容|意见|review|comment|feedback|text|content",
    re.I,
)
_OTHER_WORDS = re.compile(
    "回覆|回复|回應|回应|地址|店名|標題|标题|姓名|暱稱|昵称|簡介|简介|介紹|介绍|reply|replies|response|answer|address|"
    "title|name|author|user|descri|summary|about",
    re.I,
)
"""Names of columns that hold Chinese, but not the review: the shop's description of itself, for one."""
REVIEWS = re.compile("review|評論|評價|评论|评价|點評|点评", re.I)
"""Names of lists of reviews."""
REPLIES = re.compile("repl|respon|answer|question|回覆|回复|回應|回应", re.I)
_TEXT_MARKS = re.compile("[，。！；…～,!]")
_LONGEST_NAME = 12
"""Characters of the name of an only column, which has nothing beside it that could show a row of texts."""
_REPEATS = 2
"""How often a name stands in its column, at least and on average, if it is that of a place: titles hardly repeat."""


def guess_text_column(names: Sequence[str], free: Sequence[int], rows: Iterable[Sequence[object]]) -> int | None:
    """The column of `free` that holds the reviews. None where two are alike, or the header may be a row of texts."""
    if _is_a_row(names):
        return None
    totals, filled = dict.fromkeys(free, 0), dict.fromkeys(free, 0)
    for row in rows:
        for i in free:
            cell = row[i] if i < len(row) else None
            if isinstance(cell, str) and cell.strip():
                filled[i] += 1
                totals[i] += len(HAN.findall(cell))
    means = {i: totals[i] / filled[i] for i in free if filled[i] and not _OTHER_WORDS.search(names[i])}
    ranked = sorted(means, key=lambda i: -means[i])
    if not ranked or means[ranked[0]] < _FEWEST_CHARACTERS:
        return None
    named = [i for i in ranked if _TEXT_WORDS.search(names[i]) and means[i] >= _FEWEST_CHARACTERS]
    if len(named) == 1 and (len(names) > 1 or len(names[0].strip()) <= _LONGEST_NAME):
        return named[0]
    if len(names) == 1 or (len(ranked) > 1 and means[ranked[0]] < _LEAD * means[ranked[1]]):
        return None
    return ranked[0]


def says_other(name: str) -> bool:
    """Whether a name says that what it holds, or what lies in it, is no review."""
    return bool(_OTHER_WORDS.search(name))


def repeat(cells: Iterable[object]) -> bool:
    """Whether the values of a column repeat as names of places do."""
    values = [cell.strip() for cell in cells if isinstance(cell, str) and cell.strip()]
    return len(values) >= _REPEATS * len(set(values)) > 0


def find_header(rows: Sequence[Sequence[object]], roles_of: RolesOf, padded: bool = False) -> int:
    """Which of the first rows is the header: mostly the first; below a title, which fills few cells, the next that
    fills more and has a name of texts, or any known name where the title fills one cell. Where that is `padded` with
    empty cells, so that it is no only column, any names do.
    """
    cells = [["" if cell is None else str(cell).strip() for cell in row] for row in rows[:_TITLE_ROWS]]
    filled = [sum(map(bool, row)) for row in cells]
    fuller = {i: roles_of(cells[i]) for i, count in enumerate(filled) if count > filled[0]}
    if not fuller or "text" in roles_of(cells[0]):
        return 0
    named = [i for i, roles in fuller.items() if "text" in roles]
    titled = filled[0] == 1 and bool(cells[0][0])  # an index without a name is empty
    others = [i for i, roles in fuller.items() if titled and (roles or (padded and not _is_a_row(cells[i])))]
    return next(iter(named or others), 0)


def _is_a_row(names: Sequence[str]) -> bool:
    """Whether the first line is no header: a cell is empty, a number, a text, or twice; an unnamed index aside."""
    cells = [name.strip() for name in names]
    cells = cells[1:] if len(cells) > 1 and not cells[0] else cells
    return len(set(cells)) < len(cells) or any(
        re.fullmatch(r"[-\d.,:/★☆ ]*", cell) or (len(_TEXT_MARKS.findall(cell)) > 1 and not cell.endswith(("?", "？")))
        for cell in cells
    )


@dataclass(frozen=True, slots=True)
class Picks:
    """Positions of the columns; None where the file has none. `order`: that of the dates, where the column shows it.
    `keep`: of the columns that pass through.
    """

    text: int
    id: int | None = None
    place: int | None = None
    rating: int | None = None
    source: int | None = None
    group: int | None = None
    date: int | None = None
    order: Order | None = None
    keep: tuple[int, ...] = ()

    @property
    def used(self) -> tuple[int | None, ...]:
        """In the order of `review`'s arguments."""
        return self.text, self.id, self.place, self.rating, self.source, self.group, self.date, *self.keep


@dataclass(frozen=True, slots=True)
class Table:
    """What a reader knows of a file's columns: their names, the cells of some rows, and those of a column in all rows.

    Names of nested values are paths, such as meta.shop. `within` is the path to a list of reviews, whose text, rating,
    id and date are looked for inside it.
    """

    names: Sequence[str]
    sample: Callable[[], Iterable[Sequence[object]]]
    column: Callable[[int], Iterable[object]]
    within: str = ""


# fmt: off
_TEXT = ("text", "review_text", "review", "review_content", "review_body", "content", "comment", "comments",
         "comment_text", "comment_content", "body", "評論", "評論內容", "評論文字", "評論全文", "內容", "內文", "留言",
         "留言內容", "心得", "食記", "評價", "評價內容", "評語", "文字", "句子", "评论", "评论内容", "评论文字", "内容",
         "评价", "评价内容", "点评", "点评内容", "评语", "sentence", "review_text_published", "review_comment")
# Inside a list of reviews only: elsewhere they are the shop's own. `description` is gosom's, `snippet` SerpApi's.
_NESTED_TEXT = (*_TEXT, "description", "snippet", "original", "說明", "说明")
_ID = ("review_id", "id", "comment_id", "uuid", "編號", "評論編號", "评论编号", "编号", "序號", "序号")
_PLACE = ("place", "place_name", "restaurant", "restaurant_name", "shop", "shop_name", "store", "store_name", "店名",
          "餐廳", "餐廳名稱", "商家", "商家名稱", "店家", "店家名稱", "餐厅", "餐厅名称", "店铺", "店铺名称",
          "商家名称", "business_name", "location_name", "place_info_name", "place_info_title", "display_name_text")
# A place only where it repeats, as titles of reviews and names of authors hardly do, or where the columns are those of
# a place. `title` before `name`: where both stand (Apify's exports), `name` is the reviewer. Outscraper's `name` is the
# place.
_PERHAPS_PLACE = ("title", "name")
_OF_A_PLACE = frozenset(("googleid", "cid", "fid", "address", "fulladdress", "categoryname", "totalscore",
                         "reviewscount", "地址"))
# `review_rating` before `rating`: Outscraper's `rating` is the mean of the place.
_RATING = ("review_rating", "review_stars", "rating", "stars", "star", "score", "評分", "星等", "星級", "星數", "评分",
           "星级", "打分", "star_rating", "five_star_rating_published", "overall")
_SOURCE = ("source", "platform", "來源", "平台", "来源")
# `publishedAtDate` is Apify's, `review_timestamp` and `review_datetime_utc` Outscraper's, `iso_date` SerpApi's, `When`
# gosom's.
_DATE = ("review_timestamp", "iso_date", "date", "review_date", "published_at", "published_at_date", "publish_time",
         "review_datetime_utc", "created_at", "datetime", "timestamp", "time", "日期", "評論日期", "評論時間",
         "消費日期", "消費日", "用餐日期", "用餐時間", "到訪日期", "消费日期", "用餐时间", "時間戳記", "發表時間",
         "時間", "评论日期", "评论时间", "发表时间", "时间", "published_date", "time_created", "create_time",
         "unix_review_time", "review_time", "comment_time", "published", "when")
_MONTH_FIRST = ("reviewdatetimeutc",)
"""Columns whose dates are known to be written 01/25/2026."""
# fmt: on
MOST_COLUMNS = 16_384
"""Columns of a file, at most: a few kilobytes, packed, can be a header of millions."""
_LONGEST = 500
"""Characters of a name that may be known."""
GUESSES: dict[str, tuple[str, ...]] = {
    "text": _TEXT,
    "id": _ID,
    "place": _PLACE,
    "rating": _RATING,
    "source": _SOURCE,
    "group": (),
    "date": _DATE,
}


def resolve(table: Table, source: Source) -> Picks:
    """Positions of the columns; InputError without a text column, without one that is named, or with far too many."""
    names, where = table.names, source.where
    if len(names) > MOST_COLUMNS:
        fix = "keep the columns of the reviews"
        raise InputError(f"{len(names):,} columns; no spreadsheet has over {MOST_COLUMNS:,}", where=where, fix=fix)
    source.understood.names = tuple(names)
    keys = [_key(name) for name in names]
    picks = {
        role: _position(names, keys, f"--{role}-column", name, where)
        for role in GUESSES
        if (name := getattr(source.settings, f"{role}_column"))
    }
    taken = {position for role, position in picks.items() if role != "group"}  # a group may be the place as well
    free = [i for i in range(len(names)) if i not in taken]
    if "text" not in picks:
        mark = _find_strange_mark(table)
        text = None if mark else _text(table, free, source)
        if text is None:
            fix = "name it with --text-column, or add a header row if there is none"
            if mark:
                fix = f"separate columns by commas, semicolons, tabs or |, not by {mark!r}; or {fix}"
            elif source.path.name.lower().endswith((".txt", ".txt.gz")):
                fix += "; a .txt whose first line holds a tab is a table"
            raise InputError(f"no text column; columns found: {_enumerate(names)}", where=where, fix=fix)
        picks["text"] = _only(names, text, where)
    scopes = [_Names(names, free, scope) for scope in _scopes(names[picks["text"]])]
    inside = [scope for scope in scopes if scope.path.startswith(f"{table.within}.")] if table.within else scopes
    guessed: dict[str, int | None] = {
        role: next((i for scope in inside if (i := scope.first(role)) is not None), None)
        for role in ("id", "rating", "source", "date")
    }
    chosen = dict.fromkeys(GUESSES) | guessed | {"place": _place(table, scopes, inside)} | picks
    source.understood.columns = {role: None if i is None else names[i] for role, i in chosen.items()}
    keep = tuple(_position(names, keys, "--keep-columns", name, where) for name in source.settings.keep_columns)
    source.understood.kept = tuple(names[i] for i in keep)
    return Picks(**chosen, order=_order(table, chosen["date"]), keep=keep)  # type: ignore[arg-type]


class _Names:
    """The names under a path, "" for all, by what may be meant: the whole name, its last parts, its last part."""

    def __init__(self, names: Sequence[str], free: Iterable[int], path: str = "") -> None:
        self.path = path
        self.whole: dict[str, int] = {}
        self.ends: dict[str, int] = {}
        self.lasts: dict[str, int] = {}
        for i in free:
            if not names[i].startswith(path) or len(names[i]) > _LONGEST:
                continue
            name = names[i][len(path) :]
            self.whole.setdefault(_key(name), i)
            parts = name.rsplit(".", 3)
            for cut in range(1, len(parts) - 1):
                self.ends.setdefault(_key("".join(parts[cut:])), i)
            parents = name.rpartition(".")[0]
            if parents and not REPLIES.search(parents) and (REVIEWS.search(parents) or not says_other(parents)):
                self.lasts.setdefault(_key(parts[-1]), i)

    def first(self, role: str, nested: bool = False) -> int | None:
        """The first name of the role's table that is here. Of nested paths the last part may say it, but not where
        that may be another thing: meta.shop is a place, user.name is none.
        """
        keys = list(map(_key, _NESTED_TEXT if nested and role == "text" else GUESSES[role]))
        lasts = self.lasts if role in ("text", "place") else {}
        found = [
            (self.whole, keys),
            (self.ends, keys),
            (lasts, [key for key in keys if key not in ("content", "body")]),
        ]
        return next((where[key] for where, some in found for key in some if key in where), None)


def known_roles(names: Iterable[str], nested: bool = False) -> set[str]:
    """What the names are known to mean; `nested`: those of a list of reviews."""
    given = list(names)
    found = _Names(given, range(len(given)))
    return {role for role in GUESSES if found.first(role, nested) is not None}


def _text(table: Table, free: Sequence[int], source: Source) -> int | None:
    names = table.names
    path = f"{table.within}." if table.within else ""
    inside = [i for i in free if names[i].startswith(path)]
    if table.within and not inside:
        return names.index(table.within) if table.within in names else None
    text = _Names(names, inside, path).first("text", nested=bool(path))
    if text is None:
        known = {i for role in GUESSES if (i := _Names(names, inside, path).first(role)) is not None}
        short = [name.removeprefix(path) for name in names]
        text = guess_text_column(short, [i for i in inside if i not in known], islice(table.sample(), LOOK_AT))
        source.understood.by_content = text is not None
    return text


def _scopes(name: str) -> Iterator[str]:
    """The paths of the objects around a value, the innermost first."""
    while "." in name:
        name = name.rpartition(".")[0]
        yield f"{name}."
    yield ""


def _place(table: Table, scopes: Sequence[_Names], inside: Sequence[_Names]) -> int | None:
    """The column of places: by a name that says so, or by one that may say so, beside what only places have."""
    for scope in scopes:
        if (sure := scope.first("place")) is not None:
            return sure
    for scope in (scope for scope in scopes if scope not in inside or not scope.path):
        for name in _PERHAPS_PLACE:
            i = scope.whole.get(name)
            if i is not None and (
                scope not in inside
                or _OF_A_PLACE & scope.whole.keys()
                or repeat(row[i] for row in islice(table.sample(), LOOK_AT) if i < len(row))
            ):
                return i
    return None


def _order(table: Table, date: int | None) -> Order | None:
    if date is None:
        return None
    known = _key(table.names[date]).endswith(_MONTH_FIRST)
    return find_order(table.column(date)) or ("month" if known else None)


def _key(name: str) -> str:
    return re.sub(r"[\s_.\-\ufeff]", "", name).casefold()


def _position(names: Sequence[str], keys: Sequence[str], option: str, name: str, where: str) -> int:
    if name in names:
        return _only(names, names.index(name), where)
    if alike := [i for i, key in enumerate(keys) if key == _key(name)]:
        if len(alike) > 1:
            raise InputError(
                f"{len(alike)} columns are called {one_line(name)!r}: {_enumerate([names[i] for i in alike])}",
                where=where,
                fix=f"write {option} as the column is written, or rename all but the one that is meant",
            )
        return alike[0]
    raise InputError(
        f"no column {one_line(name)!r}; columns found: {_enumerate(names)}",
        where=where,
        fix=f"{did_you_mean(name, names)}correct {option}",
    )


def _only(names: Sequence[str], position: int, where: str) -> int:
    """The position, or an `InputError` where another column has its name: nobody says which of them is meant."""
    if (count := names.count(names[position])) > 1:
        what = f"{count} columns are called {one_line(names[position])!r}"
        raise InputError(what, where=where, fix="rename all but the one that is meant")
    return position


def _find_strange_mark(table: Table) -> str:
    """The mark that seems to part columns that were read as one: header and lines hold it equally often; or empty."""
    mark = re.search(r"(?<=\w)[^\w\s.\-'/](?=\w)", table.names[0]) if len(table.names) == 1 else None
    cells = [str(cell) for row in islice(table.sample(), LOOK_AT) for cell in row[:1]] if mark else []
    times = table.names[0].count(mark[0]) if mark else 0
    return mark[0] if mark and cells and all(cell.count(mark[0]) == times for cell in cells) else ""


def _enumerate(names: Sequence[str]) -> str:
    shown = ", ".join(one_line(name, 40) or "(unnamed)" for name in names[:_MOST_NAMED]) or "none"
    return shown + (f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else "")
