"""Reviews that hold a machine's translation beside the original, as map services deliver them: each thing said there
would be read twice.

In: a view's text and its clauses. Out: the clauses of one of the two. Pure.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from builder.script import HAN
from builder.text import Clause

_SHARE = 0.5
"""An original has so many Han characters for each of its translation, or it is in another language."""


@dataclass(frozen=True, slots=True)
class TranslationRule:
    """Parameters of a rule of kind `translation`: the clauses before a translation, and those before an original."""

    translated: frozenset[str]
    original: frozenset[str]


def drop_translation(text: str, clauses: Sequence[Clause], rule: TranslationRule | None) -> Sequence[Clause]:
    """The clauses of the original, or of the translation where the original is not in Chinese; all where there are
    not both. What stands before any mark is original.
    """
    if rule is None or not any(mark in text for mark in rule.translated):
        return clauses
    parts: dict[bool, list[Clause]] = {True: [], False: []}
    original = True
    for clause in clauses:
        mark = text[clause.start : clause.end].strip()
        if mark in rule.translated or mark in rule.original:
            original = mark in rule.original
        else:
            parts[original].append(clause)
    if not all(parts.values()):
        return clauses
    first, second = (sum(len(HAN.findall(text[c.start : c.end])) for c in parts[part]) for part in (True, False))
    return parts[first >= _SHARE * second]
