"""Entries that cannot or do not act: words that never occur in a corpus, and words that the segmenter cuts.

In: the words of each table, with a corpus or a segmenter. Out: findings. The corpus is read once, against one index
of all words.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from builder.core.records import Token
from builder.core.wording import counted
from builder.language.lexicon.lenient_rows import Finding, LexiconRow
from builder.reviews.script import Variants
from builder.reviews.text import view

_CARRIERS: Mapping[str, tuple[str, ...]] = {
    "opinions": ("環境很{}，", "覺得{}的店"),
    "aspects": ("這家{}很好", "他們的{}不錯"),
    "degree": ("環境{}不錯", "店員{}親切"),
    "degree-post": ("環境不錯{}，", "店員親切{}。"),
    "negators": ("環境{}不錯", "店員{}親切"),
    "irrealis": ("{}環境不錯", "，{}店員親切"),
    "general": ("我們{}休息", "，{}他們都來了"),
    "not_aspects": ("我們{}休息", "，{}他們都來了"),
}
"""Small sentences around a word, two with different neighbours; in isolation a word's edges are the text's and always
free.
"""


def never_fire(
    words: Mapping[str, Mapping[str, LexiconRow]], corpus: Iterable[str], variants: Variants
) -> list[Finding]:
    """Entries that are nowhere in the corpus. One pass over the views of its texts."""
    waiting = {word for table in words.values() for word in table}
    lengths: dict[str, set[int]] = {}
    for word in waiting:
        lengths.setdefault(word[:2], set()).add(len(word))
    texts = 0
    for stored in corpus:
        texts += 1
        text = view(stored, variants).text.lower()
        for start in range(len(text)):
            waiting.discard(text[start])
            for length in lengths.get(text[start : start + 2], ()):
                waiting.discard(text[start : start + length])
    return [
        Finding("never-fires", word, row.where, f"in none of {counted(texts, 'text')}")
        for table in words.values()
        for word, row in table.items()
        if word in waiting
    ]


def unreachable(
    words: Mapping[str, Mapping[str, LexiconRow]], tokenize: Callable[[Sequence[str]], list[tuple[Token, ...]]]
) -> list[Finding]:
    """Entries whose edges are no token edges in one or more of their carriers; the detail shows the tokens.

    A word that a longer entry swallows (怪怪 in 怪怪的) is reached through that one and is left out.
    """
    known = {word for table in words.values() for word in table}
    asked = [
        (row, word, carrier)
        for name, table in words.items()
        for word, row in table.items()
        for carrier in _carriers(name, row)
    ]
    texts = [carrier.format(word) for _, word, carrier in asked]
    cut: dict[str, tuple[LexiconRow, str, list[str]]] = {}
    for (row, word, carrier), text, tokens in zip(asked, texts, tokenize(texts), strict=True):
        start = carrier.index("{}")
        end = start + len(word)
        edges = {token.start for token in tokens} | {token.end for token in tokens}
        swallowed = any(
            token.start <= start and end <= token.end and text[token.start : token.end].lower() in known
            for token in tokens
        )
        if not {start, end} <= edges and not swallowed:
            shown = "|".join(text[token.start : token.end] for token in tokens)
            cut.setdefault(row.where, (row, word, []))[2].append(shown)
    return [
        Finding("unreachable", word, where, f"cut in {len(shown)} of 2 sentences: {' '.join(shown)}")
        for where, (_, word, shown) in cut.items()
    ]


def _carriers(name: str, row: LexiconRow) -> tuple[str, ...]:
    return _CARRIERS["degree-post" if name == "degree" and row.cells[1] == "post" else name]
