"""What goes wrong, by kind, with examples: only where there is gold.

In: yardsticks, and how to quote a review. Out: a section of tables. An answer counts as right by the lenient match, as
in the scores.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence

from builder.gold.metrics import Answer
from builder.gold.metrics.scores import near_label
from builder.pages.report.blocks import Cell, Section, Table
from builder.pages.report.numbers import percent
from builder.pages.report.yardsticks import NO_GOLD, Yardstick

KINDS = {
    "polarity": "right pair, wrong polarity",
    "aspect": "opinion given to another aspect",
    "opinion": "aspect given another opinion",
    "nothing": "nothing there",
    "missed": "missed",
}
"""Kinds of error: the first four of what a system says, the last of what it does not say."""
Quote = Callable[[str], str | None]
"""A review's key -> its text as it may be shown; None where it may not be."""
_EXAMPLES = 3


def mistakes(yardsticks: list[Yardstick], final: Sequence[str], quote: Quote) -> Section:
    """Errors of the rules, and of the last final system beside them, by the best gold there is."""
    yardstick = next((known for known in yardsticks if known.quality), None)
    names = [name for name in final if yardstick and name in yardstick.systems]
    title, lead = "Mistakes", "What kinds of mistakes there are, and examples of each."
    if yardstick is None or not names:
        counts = Table("mistakes", "Mistakes by kind", ("kind",), (), missing=NO_GOLD)
        return Section("errors", title, "Without gold nobody knows which triplets are wrong.", (counts,))
    shown = list(dict.fromkeys((names[0], names[-1])))
    by_system = {name: list(find_mistakes(yardstick, name)) for name in shown}
    rows: list[tuple[Cell, ...]] = []
    for kind, words in KINDS.items():
        cells: list[Cell] = [words]
        for name in shown:
            due = yardstick.gold if kind == "missed" else yardstick.systems[name]
            number = sum(mistake[0] == kind for mistake in by_system[name])
            cells += [number, percent(number, sum(map(len, due.values())))]
        rows.append(tuple(cells))
    columns = ("kind", *(column for name in shown for column in (f"of {name}", "percent")))
    note = "Percent of the system's triplets; of those missed, percent of the gold triplets."
    counts = Table("mistakes", f"Mistakes by kind, by {yardstick.name}", columns, tuple(rows), note)
    examples = _examples(by_system[shown[-1]], quote)
    quoted = Table(
        "mistake-examples",
        f"Examples of mistakes, of {shown[-1]}",
        ("kind", "review", "said", "gold"),
        tuple(examples),
        "Short reviews in which nothing has to be masked; up to three of a kind.",
        "No short review has a mistake.",
        look="examples",
    )
    return Section("errors", title, lead, (counts, quoted))


def find_mistakes(yardstick: Yardstick, system: str) -> Iterator[tuple[str, str, Answer | None, Answer | None]]:
    """(kind, review, what the system says, the gold triplet it comes nearest to) of every mistake, by review."""
    for review, due in yardstick.gold.items():
        proposed = yardstick.systems[system].get(review, [])
        for answer in proposed:
            label = yardstick.judged.get((review, *answer)) or near_label(due, answer)
            if label == "YN":  # people may have said so without naming the right polarity
                yield "polarity", review, answer, next((gold for gold in due if _pairs(gold, answer)), None)
            elif label == "NX":
                yield _confusion(review, answer, due)
        for gold in due:
            if all(near_label([gold], answer) == "NX" for answer in proposed):
                yield "missed", review, None, gold


def _confusion(review: str, answer: Answer, due: Sequence[Answer]) -> tuple[str, str, Answer, Answer | None]:
    """Whether its opinion describes another aspect, or its aspect has another opinion."""
    for kind, place in (("aspect", 1), ("opinion", 0)):
        for gold in due:
            if _alike(gold[place], answer[place]):
                return kind, review, answer, gold
    return "nothing", review, answer, None


def _pairs(gold: Answer, answer: Answer) -> bool:
    return near_label([gold], answer) in ("YY", "YN")


def _alike(word: str, other: str) -> bool:
    """The same word, or one in the other; a single character stands in too many words to say so."""
    shorter, longer = sorted((word, other), key=len)
    return word == other or (len(shorter) > 1 and shorter in longer)


def _examples(
    listing: Sequence[tuple[str, str, Answer | None, Answer | None]], quote: Quote
) -> Iterator[tuple[Cell, ...]]:
    by_kind: dict[str, list[tuple[Cell, ...]]] = defaultdict(list)
    seen: set[tuple[str, str]] = set()
    for kind, review, answer, gold in listing:
        if len(by_kind[kind]) < _EXAMPLES and (kind, review) not in seen and (text := quote(review)):
            seen.add((kind, review))
            by_kind[kind].append((KINDS[kind], text, _written(answer), _written(gold)))
    for kind in KINDS:
        yield from by_kind[kind]


def _written(answer: Answer | None) -> str:
    return "–" if answer is None else f"({', '.join(map(str, answer))})"
