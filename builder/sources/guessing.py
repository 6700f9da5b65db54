"""Which column holds the review text where no name says so: the one with by far the most Han characters.

In: the names of the columns and the cells of some rows. Out: a position or None. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from builder.script import HAN

LOOK_AT = 200
"""Rows whose cells are looked at."""
_FEWEST_CHARACTERS = 4.0
"""Han characters in a cell on average: a review has more, names of places and dishes hardly."""
_LEAD = 1.5
"""How many times more than the next column: a title beside its review has fewer, an answer to it about as many."""
_TEXT_WORDS = re.compile(
    "評論|評價|評語|留言|心得|意見|回饋|內容|感想|食記|建議|评论|评价|评语|点评|感受|内容|意见|review|comment|feedback|text|content",
    re.I,
)
_OTHER_WORDS = re.compile(
    "回覆|回复|回應|回应|地址|店名|標題|标题|姓名|reply|response|answer|address|title|name|author|user", re.I
)
"""Names of columns that hold Chinese, but not the review."""


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
    if len(named) == 1:
        return named[0]
    if len(names) == 1 or (len(ranked) > 1 and means[ranked[0]] < _LEAD * means[ranked[1]]):
        return None
    return ranked[0]


def _is_a_row(names: Sequence[str]) -> bool:
    """Whether the first line is no header: a cell of it is empty, a number, or stands twice. pandas writes an index
    without a name first.
    """
    cells = [name.strip() for name in names]
    cells = cells[1:] if len(cells) > 1 and not cells[0] else cells
    return len(set(cells)) < len(cells) or any(re.fullmatch(r"[-\d.,/:★☆ ]*", cell) for cell in cells)
