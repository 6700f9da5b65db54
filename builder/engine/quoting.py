"""Names in quotation marks, which part no clause: 推薦「牛肉麵」, 首推【牛肉麵】.

In: a view's text and its clauses. Out: the clauses, with those made one that a quoted name parts. Pure.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from builder.text import Clause

QUOTES = frozenset('「」『』“”"《》【】')
"""Marks around a name (推薦「牛肉麵」) that part no clause from what is said of it."""
_CLOSING = frozenset("」』”》】")
_HEADINGS = frozenset("【】")
_LONGEST = 12
"""Characters of a quotation that may be a name."""


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
