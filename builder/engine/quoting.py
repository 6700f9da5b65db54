"""Names in quotation marks, which part no clause (推薦「牛肉麵」, 首推【牛肉麵】), and addresses of the web, which do.

In: a view's text and its clauses. Out: the clauses, with those made one that a quoted name parts, or without the words
of addresses. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from builder.reviews.script import HAN
from builder.reviews.text import Clause
from builder.reviews.text import clauses as find_clauses

QUOTES = frozenset('「」『』“”"《》【】')
"""Marks around a name (推薦「牛肉麵」) that part no clause from what is said of it."""
_CLOSING = frozenset("」』”》】")
_HEADINGS = frozenset("【】")
_LONGEST = 12
"""Characters of a quotation that may be a name."""
_ADDRESS = re.compile(f"(?:https?://|www\\.)(?:[!-~]|(?<=[/?=&#_%+-]){HAN.pattern}++)+")
"""An address of the web: all that is ASCII up to a space, and Han characters behind a mark of it (/好吃)."""


def join_quoted(text: str, clauses: Sequence[Clause]) -> Iterator[Clause]:
    """The clauses of a text, those joined between which nothing stands but a quotation mark.

    What a mark opens is joined if it is as short as a name: 店員說「…」 quotes a statement. 【環境】 at the beginning
    of a clause is a heading, and several of 【】 in a review are.
    """
    whole: Clause | None = None
    joined = False
    quotes = QUOTES - _HEADINGS if text.count("【") > 1 else QUOTES
    for clause in clauses:
        marks = text[whole.end : clause.start] if whole and whole.sentence == clause.sentence else ""
        name = clause.end - clause.start <= _LONGEST or marks[-1:] in _CLOSING
        heading = _HEADINGS.intersection(marks) and not joined and marks[-1] in _CLOSING
        joined = bool(marks) and name and not heading and quotes.issuperset(marks)
        if whole and joined:
            whole = Clause(whole.start, clause.end, whole.sentence)
            continue
        if whole:
            yield whole
        whole = clause
    if whole:
        yield whole


def drop_addresses(text: str, clauses: Sequence[Clause]) -> Sequence[Clause]:
    """The clauses of a text of lower case without the words of addresses, which part those around them."""
    if not _ADDRESS.search(text):
        return clauses
    return find_clauses(_ADDRESS.sub(lambda address: "，" * len(address[0]), text))
