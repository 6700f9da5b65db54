"""Which column holds what, and one row's cells as a `RawReview`.

In: the column names of a file and the user's mapping. Out: positions. What the user does not name is looked up in
literal tables, the first name that the file has wins; the tables hold no column of an author. A text column that no
table has is known by its content.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import islice

from builder.errors import InputError, did_you_mean
from builder.sources.dates import date_of
from builder.sources.guessing import LOOK_AT, guess_text_column
from builder.sources.opening import Source, one_line, storable, written
from builder.sources.rows import RawReview, RejectedRow

Row = RawReview | RejectedRow


@dataclass(frozen=True, slots=True)
class Columns:
    """The user's names for the columns; None is looked up."""

    text: str | None = None
    id: str | None = None
    place: str | None = None
    rating: str | None = None
    source: str | None = None
    group: str | None = None
    """Never looked up: which reviews belong together is for the user to say."""
    date: str | None = None


@dataclass(frozen=True, slots=True)
class Picks:
    """Positions of the columns; None where the file has none."""

    text: int
    id: int | None = None
    place: int | None = None
    rating: int | None = None
    source: int | None = None
    group: int | None = None
    date: int | None = None

    @property
    def used(self) -> tuple[int | None, ...]:
        """In the order of `review`'s arguments."""
        return self.text, self.id, self.place, self.rating, self.source, self.group, self.date


# fmt: off
_TEXT = ("text", "review_text", "review", "review_content", "review_body", "content", "comment", "comments",
         "comment_text", "comment_content", "body", "評論", "評論內容", "評論文字", "評論全文", "內容", "內文", "留言",
         "留言內容", "心得", "食記", "評價", "評價內容", "評語", "文字", "句子", "评论", "评论内容", "评论文字", "内容",
         "评价", "评价内容", "点评", "点评内容", "评语", "sentence")
_ID = ("review_id", "id", "comment_id", "uuid", "編號", "評論編號", "评论编号", "编号", "序號", "序号")
# `title` before `name`: where both stand (Apify's exports), `name` is the reviewer. Outscraper's `name` is the place.
_PLACE = ("place", "place_name", "restaurant", "restaurant_name", "shop", "shop_name", "store", "store_name", "店名",
          "餐廳", "餐廳名稱", "商家", "商家名稱", "店家", "店家名稱", "餐厅", "餐厅名称", "店铺", "店铺名称",
          "商家名称", "title", "name")
# `review_rating` before `rating`: Outscraper's `rating` is the mean of the place.
_RATING = ("review_rating", "review_stars", "rating", "stars", "star", "score", "評分", "星等", "星級", "星數", "评分",
           "星级", "打分")
_SOURCE = ("source", "platform", "來源", "平台", "来源")
# `publishedAtDate` and `review_datetime_utc` are Apify's and Outscraper's.
_DATE = ("date", "review_date", "published_at", "published_at_date", "publish_time", "review_datetime_utc",
         "created_at", "datetime", "timestamp", "time", "日期", "評論日期", "評論時間", "發表時間", "時間", "评论日期",
         "评论时间", "发表时间", "时间")
# fmt: on
MOST_COLUMNS = 16_384
"""Columns of a file, at most: a few kilobytes, packed, can be a header of millions."""
GUESSES: dict[str, tuple[str, ...]] = {
    "text": _TEXT,
    "id": _ID,
    "place": _PLACE,
    "rating": _RATING,
    "source": _SOURCE,
    "group": (),
    "date": _DATE,
}


def resolve(
    names: Sequence[str], columns: Columns, source: Source, sample: Callable[[], Iterable[Sequence[object]]]
) -> Picks:
    """Positions of the columns; an `InputError` if there is no text column, a named one is missing, or there are more
    than a spreadsheet has.

    `sample` gives the cells of some rows. `names` of nested values are paths, such as meta.shop.
    """
    where = source.where
    if len(names) > MOST_COLUMNS:
        fix = "keep the columns of the reviews"
        raise InputError(f"{len(names):,} columns; no spreadsheet has over {MOST_COLUMNS:,}", where=where, fix=fix)
    source.understood.names = tuple(names)
    keys = [_key(name) for name in names]
    named = {
        role: _position(names, keys, role, name, where)
        for role in GUESSES
        if (name := getattr(columns, role)) is not None
    }
    taken = {position for role, position in named.items() if role != "group"}  # a group may be the place as well
    free = [None if i in taken else key for i, key in enumerate(keys)]
    picks = {role: _guessed(role, names, free) for role in GUESSES} | named
    text = picks.pop("text")
    if text is None:
        rest = [i for i in range(len(names)) if i not in taken and i not in picks.values()]
        text = guess_text_column(names, rest, islice(sample(), LOOK_AT))
        source.understood.by_content = text is not None
    if text is None:
        fix = "name it with --text-column, or add a header row if there is none"
        raise InputError(f"no text column; columns found: {_enumerate(names)}", where=where, fix=fix)
    chosen = {"text": text, **picks}
    source.understood.columns = {role: None if i is None else names[i] for role, i in chosen.items()}
    return Picks(text, **picks)


def _guessed(role: str, names: Sequence[str], free: Sequence[str | None]) -> int | None:
    """The first name of the role's table that the file has. Of nested paths the last part may say it, but not
    where that may be another thing: meta.shop is a place, user.name is none.
    """
    keys = [_key(guess) for guess in GUESSES[role]]
    if role in ("text", "place"):
        keys += [f".{key}" for key in keys if key not in ("title", "name", "content", "body")]
    lasts = [
        "." + _key(name.rpartition(".")[2]) if "." in name and i is not None else None
        for name, i in zip(names, free, strict=True)
    ]
    return next(
        (where.index(key) for key in keys for where in (lasts if key.startswith(".") else free,) if key in where), None
    )


def review(
    row: int,
    text: object,
    id: object = None,
    place: object = None,
    rating: object = None,
    source: object = None,
    group: object = None,
    date: object = None,
) -> Row:
    """The cells of row `row` as a review. A missing text is "" and left to the stage, which rejects what is empty."""
    if isinstance(text, bool) or not isinstance(text, str | int | float | Decimal | None):
        return RejectedRow(
            row, "type", f"row {row}: the text is of type {type(text).__name__}, not a string", storable(written(text))
        )
    content = text if isinstance(text, str) else _label(text) or ""
    made = RawReview(
        row, content, _label(id), _label(source), _label(place), rating_of(rating), _label(group), date_of(date)
    )
    return unfit(row, (made.text, made.id, made.source, made.place, made.group)) or made


def unfit(row: int, cells: Iterable[str | None]) -> RejectedRow | None:
    """A rejection if a cell holds NUL or a lone surrogate (a JSON escape such as \\ud83d, invalid bytes in Parquet):
    no database takes them.
    """
    for cell in cells:
        if cell and "\0" in cell:
            return RejectedRow(
                row, "nul", f"row {row}: NUL character at character {cell.index(chr(0))} of a cell", storable(cell)
            )
        try:
            (cell or "").encode()
        except UnicodeEncodeError as error:
            return RejectedRow(
                row,
                "encoding",
                f"row {row}: invalid Unicode at character {error.start} of a cell",
                storable(cell or ""),
            )
    return None


def rating_of(value: object) -> float | None:
    """A rating as a number: 5, "5.0", "5 星", "4 out of 5", "四星", "★★★★☆"; None if it does not say."""
    if isinstance(value, bool) or not isinstance(value, str | int | float | Decimal):
        return None
    if not isinstance(value, str):
        return float(value) if _finite(value) and 0 <= value <= 100 else None
    text = unicodedata.normalize("NFKC", value[:60]).strip()
    numbers: list[str] = re.findall(r"(?<![-.,:/年])(?:[-.,:/年]*\d)+", text)
    if numbers:
        first = re.fullmatch(r"(\d{1,3}(?:[.,]\d{1,2}|\.\d+)?)(?:/\d{1,3})?", numbers[0])
        rating = float(first[1].replace(",", ".")) if first and len(numbers) <= 2 else None
        return rating if rating is not None and rating <= 100 else None
    if filled := re.search("[★⭐\U0001f31f]+", text.replace("\ufe0f", "")):
        return float(len(filled[0]))
    counted = re.fullmatch("([一二三四五])(?:顆|颗|個|个)?(?:星.{0,2}|分)", text)
    return float("一二三四五".index(counted[1]) + 1) if counted else None


def _finite(value: float | Decimal) -> bool:
    """Numbers may be signalling (Decimal) or larger than any float (int)."""
    try:
        return math.isfinite(value)
    except (OverflowError, ValueError):
        return False


def _key(name: str) -> str:
    return re.sub(r"[\s_.\-\ufeff]", "", name).casefold()


def _position(names: Sequence[str], keys: Sequence[str], role: str, name: str, where: str) -> int:
    if name in names:
        return names.index(name)
    if _key(name) in keys:
        return keys.index(_key(name))
    raise InputError(
        f"no column {one_line(name)!r}; columns found: {_enumerate(names)}",
        where=where,
        fix=f"{did_you_mean(name, names)}correct --{role}-column",
    )


def _enumerate(names: Sequence[str], most: int = 40) -> str:
    shown = ", ".join(one_line(name, 40) or "(unnamed)" for name in names[:most]) or "none"
    return shown + (f" and {len(names) - most} more" if len(names) > most else "")


def _label(value: object) -> str | None:
    """An id, place or source as text: 12 for 12.0, None for what is empty or no single value."""
    if isinstance(value, str):
        return value.strip() or None
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        return None
    if isinstance(value, float):
        return (
            None if math.isnan(value) else str(int(value)) if value.is_integer() and abs(value) < 1e15 else str(value)
        )
    return str(value)
