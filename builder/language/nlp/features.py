"""What the segmenter sees of a text: for every character a handful of atoms (strings), in named streams.

In: chains, stretches of text without whitespace. Out: per stream one atom a character, over all chains laid end to
end with separators between them, so that a model looks atoms up once and shifts the columns for its window. The atoms
are the characters and their n-grams, character types, and the words and tags of rjieba's dictionary on the Simplified
view (issue 3: the dictionary is worth 2 points of F1 on news and much more on reviews).
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from builder.reviews.script import converter

PAD = "\n\n"
"""Between chains, and at both ends: no window reaches from one chain into another."""

WINDOWS: dict[str, tuple[int, ...]] = {
    "char": (-2, -1, 0, 1, 2),
    "bigram": (-2, -1, 0, 1),
    "trigram": (-2, -1, 0),
    "type": (-1, 0, 1),
    "types": (-1,),
    "edge": (-1, 0, 1),
    "edges": (-1, 0),
    "word": (0,),
    "before": (0,),
    "after": (0,),
    "affix": (0,),
}
"""Stream and the offsets at which the model reads it."""

_FOLD = str.maketrans("，。！？：；（）～“”‘’．﹐〔〕【】—", ",.!?:;()~「」''.,()()-")
_SURROGATE = re.compile("[\ud800-\udfff]")
_TYPES = (
    ("H", re.compile("[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]")),
    ("D", re.compile(r"[0-9０-９]")),
    ("N", re.compile("[〇零]")),
    ("L", re.compile(r"[A-Za-zÀ-ɏ]")),
    ("Z", re.compile("[\u3105-\u312f]")),
    ("K", re.compile("[\u3040-\u30ff]")),
    ("P", re.compile(r"[^\w\s]")),
)
_NUMERALS = frozenset("一二三四五六七八九十百千萬億兩半幾")
_type_of: dict[str, str] = {"\n": "."}


def fold(text: str) -> str:
    """Chinese punctuation as the treebank writes it (half-width), lone surrogates made printable; the length never
    changes.
    """
    return _SURROGATE.sub("\ufffd", text.translate(_FOLD))


def char_type(char: str) -> str:
    """The kind of a character as one letter: H Han, D digit, N numeral, L Latin, Z bopomofo, K kana, P mark, O any
    other.
    """
    kind = _type_of.get(char)
    if kind is None:
        kind = "N" if char in _NUMERALS else next((name for name, pattern in _TYPES if pattern.match(char)), "O")
        if len(_type_of) < 50_000:
            _type_of[char] = kind
    return kind


def lay_out(chains: Sequence[str]) -> tuple[str, list[int]]:
    """Folded chains end to end with PAD around each, and where each starts."""
    starts, at = [], len(PAD)
    for chain in chains:
        starts.append(at)
        at += len(chain) + len(PAD)
    return PAD + "".join(fold(chain) + PAD for chain in chains), starts


def streams(text: str) -> dict[str, list[str]]:
    """The atoms of a laid-out text; every stream is as long as the text."""
    types = "".join(map(char_type, text))
    edge, edges, word, before, after = _dictionary(text)
    n = len(text)
    return {
        "char": list(text),
        "bigram": [text[i : i + 2] for i in range(n)],
        "trigram": [text[i : i + 3] for i in range(n)],
        "type": list(types),
        "types": [types[i : i + 3] for i in range(n)],
        "edge": edge,
        "edges": edges,
        "word": word,
        "before": before,
        "after": after,
        "affix": [e + c for e, c in zip(edge, text, strict=True)],
    }


def _simplified(text: str) -> str:
    return converter("t2s")(text)


def _dictionary(text: str) -> tuple[list[str], list[str], list[str], list[str], list[str]]:
    """rjieba's view of each character: its place in the word with the word's tag, both gaps beside it, the word, its
    neighbours.
    """
    import rjieba

    words: list[tuple[str, str]] = rjieba.tag(_simplified(text))
    edge: list[str] = []
    word: list[str] = []
    before: list[str] = []
    after: list[str] = []
    letters: list[str] = []
    following = [w for w, _ in words[1:]] + [""]
    previous = ""
    for (surface, tag), upcoming in zip(words, following, strict=True):
        size = len(surface)
        if size == 1:
            edge.append("S" + tag)
            letters.append("S")
            word.append(surface)
            before.append(previous)
            after.append(upcoming)
        else:
            shape = f"{min(size, 5)}{tag}"
            edge += ["B" + shape, *["I" + shape] * (size - 2), "E" + shape]
            letters += ["B", *["I"] * (size - 2), "E"]
            word += [f"{i}{surface}" for i in range(size)]
            before += [previous] * size
            after += [upcoming] * size
        previous = surface
    assert len(edge) == len(text), f"rjieba gave {len(edge)} of {len(text)} characters"
    line = "".join(letters)
    return edge, [line[i : i + 2] for i in range(len(line))], word, before, after
