"""Do aspects and opinions begin and end where words do: `python tests/measure/word_edges.py VALID [--misses 10]`.

VALID is a file of the paper's released answers ({"id", "question", "answer"}). Every distinct aspect and opinion of a
review that stands in its text is looked up among the words of the embedded backend with our lexicons; it is right if
both of its edges are word edges where it stands (at one of its places; `first`: at the first). Those that do not stand
in the text (不用久 for 不用很久) are counted and left out. Misses are told by class, the most frequent ones with the
words around them.
"""

from __future__ import annotations

import argparse
import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from builder.core.records import Polarity, Span, Token
from builder.engine.reader import Recipe, make_reader
from builder.language.lexicon.resources import Lexicon
from builder.release.export.research import parse_paper
from builder.reviews.text import view

Answers = list[tuple[str, str, Polarity]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("valid", type=Path)
    parser.add_argument("--misses", type=int, default=10)
    options = parser.parse_args()
    reader = make_reader(Recipe())
    lexicon, words = reader.lexicon, reader.lexicon.words()
    given, unread = read(options.valid)
    texts = {key: view(text, lexicon.variants).text for key, (text, _) in given.items()}
    print(f"{len(given)} reviews, {unread} whose answer does not parse left out")
    tokens = dict(zip(texts, reader.backend.annotate(list(texts.values())), strict=True))
    for name, part in (("aspects", 0), ("opinions", 1)):
        report(name, list(elements(given, part, lexicon)), texts, tokens, set(words), options.misses)


def read(path: Path) -> tuple[dict[str, tuple[str, Answers]], int]:
    """Text and answers by review id, and how many answers do not parse (one names the aspect 20：00)."""
    out: dict[str, tuple[str, Answers]] = {}
    unread = 0
    with path.open(encoding="utf-8") as lines:
        for row in map(json.loads, lines):
            try:
                out[str(row["id"])] = row["question"].partition("context:")[2].strip(), parse_paper(row["answer"])
            except ValueError:
                unread += 1
    return out, unread


def elements(given: Mapping[str, tuple[str, Answers]], part: int, lexicon: Lexicon) -> Iterator[tuple[str, str]]:
    """(review, element as the view writes it), each once; 整體[口感] is written 整體口感 in the text."""
    for key, (_, answers) in given.items():
        for element in dict.fromkeys(re.sub(r"[\[\]]", "", answer[part]) for answer in answers):
            yield key, view(element, lexicon.variants, "traditional").text


def report(
    name: str,
    listed: Sequence[tuple[str, str]],
    texts: dict[str, str],
    tokens: dict[str, tuple[Token, ...]],
    words: set[str],
    most: int,
) -> None:
    found = right = first = 0
    misses: dict[str, Counter[str]] = {}
    for key, element in listed:
        places = [
            (match.start(), match.start() + len(element))
            for match in re.finditer(f"(?={re.escape(element)})", texts[key])
        ]
        found += bool(places)
        edges = {token.start for token in tokens[key]} | {len(texts[key])}
        good = [place for place in places if edges.issuperset(place)]
        right += bool(good)
        first += bool(good) and good[0] == places[0]
        if places and not good:
            kind, shown = miss(texts[key], tokens[key], places[0], words)
            misses.setdefault(kind, Counter())[f"{element} in {shown}"] += 1
    print(
        f"{name}: {100 * right / found:.2f}% of {found} with both edges on word edges ({100 * first / found:.2f}% at "
        "the first place);"
        f" {len(listed) - found} do not stand in their text"
    )
    for kind, counted in sorted(misses.items(), key=lambda item: -item[1].total()):
        print(
            f"  {kind}: {counted.total()} ({100 * counted.total() / found:.2f}%)  "
            + "  ".join(f"{k} {n}" for k, n in counted.most_common(most))
        )


def miss(text: str, tokens: Sequence[Token], place: Span, words: set[str]) -> tuple[str, str]:
    """The class of a miss, and the words that the element touches."""
    touched = [token for token in tokens if token.start < place[1] and token.end > place[0]]
    shown = "|".join(text[token.start : token.end] for token in touched)
    broken = [token for token in touched if token.start < place[0] or token.end > place[1]]
    by = (
        "a lexicon word"
        if any(text[token.start : token.end].lower() in words for token in broken)
        else "a word of the segmenter's own"
    )
    return f"{'inside' if len(touched) == 1 else 'across the edge of'} {by}", shown


if __name__ == "__main__":
    main()
