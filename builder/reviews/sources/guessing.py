"""What the content of some rows says where no name does: which row is the header, which column holds the review text
(the one with by far the most Han characters), and whether a column of names is one of places.

In: the names of the columns and the cells of some rows. Out: a position, or yes and no. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence

from builder.reviews.script import HAN

RolesOf = Callable[[Sequence[str]], set[str]]
"""What the names in a row are known to mean."""
LOOK_AT = 200
"""Rows whose cells are looked at."""
_TITLE_ROWS = 10
"""Rows among which the header is looked for."""
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
    """Whether the first line is no header: a cell of it is empty, a number, a text, or stands twice. pandas writes an
    index without a name first.
    """
    cells = [name.strip() for name in names]
    cells = cells[1:] if len(cells) > 1 and not cells[0] else cells
    return len(set(cells)) < len(cells) or any(
        re.fullmatch(r"[-\d.,:/★☆ ]*", cell) or (len(_TEXT_MARKS.findall(cell)) > 1 and not cell.endswith(("?", "？")))
        for cell in cells
    )
