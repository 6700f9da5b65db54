"""The first section, for whoever runs the place: what customers like, what they complain about, and where.

In: the open database. Out: a section of tables. Both scripts of a word count as one, under the form that is written
more.
"""

from __future__ import annotations

import sqlite3
from collections import Counter, defaultdict
from collections.abc import Iterable

from builder.pages.report.blocks import Cell, Section, Table
from builder.pages.report.numbers import percent
from builder.reviews.script import converter
from builder.store import released
from builder.store import report as asked

_MOST_WORDS = 3
_LEAST_PLACES, _MOST_PLACES = 2, 30


def likes_and_dislikes(connection: sqlite3.Connection, quality: str = "", most: int = 10) -> Section:
    """The aspects that are praised and criticised most, with the words for it, and each place's own. `quality`: what is
    known of how far to trust it, a sentence.
    """
    missing = "No triplets yet: `builder run seed`."
    tables = [
        Table(name, title, ("aspect", "times", "in these words"), _top(asked.judged(connection, polarity), most),
              missing=missing, look="bars")
        for name, title, polarity in (
            ("likes", "What customers like", "POS"), ("dislikes", "What customers criticise", "NEG"),
        )
    ]  # fmt: skip
    places = _places(asked.judged_places(connection))
    if len(places) >= _LEAST_PLACES:
        columns = ("place", "triplets", "positive %", "liked most", "criticised most")
        note = f"The {_MOST_PLACES} places with most triplets of {len(places):,}." if len(places) > _MOST_PLACES else ""
        tables.append(Table("places", "Place by place", columns, tuple(places[:_MOST_PLACES]), note))
    polarity = Counter[str]()
    for _, _, triplets, positive, negative, neutral in released.by_polarity(connection):
        polarity.update(all=triplets, POS=positive, NEG=negative, NEU=neutral)
    counts = (
        f"{polarity['all']:,} statements about aspects: {percent(polarity['POS'], polarity['all']):.0f}% positive, "
        f"{percent(polarity['NEG'], polarity['all']):.0f}% negative, {percent(polarity['NEU'], polarity['all']):.0f}% "
        "neutral. "
        if polarity["all"]
        else ""
    )
    lead = f"{counts}Machines read the reviews: single numbers may be wrong. {quality}".strip()
    return Section("glance", "At a glance", lead, tuple(tables), part="For whoever runs the place")


def _top(rows: Iterable[tuple[str, str, int]], most: int) -> tuple[tuple[Cell, ...], ...]:
    """The most frequent aspects, each with its most frequent opinions."""
    counted = list(rows)
    aspects = _common_forms((aspect, times) for aspect, _, times in counted)
    opinions = _common_forms((opinion, times) for _, opinion, times in counted)
    words: dict[str, Counter[str]] = defaultdict(Counter)
    for aspect, opinion, times in counted:
        words[aspects[aspect]][opinions[opinion]] += times
    ordered = sorted(words.items(), key=lambda item: (-item[1].total(), item[0]))
    return tuple((aspect, counts.total(), _listing(counts)) for aspect, counts in ordered[:most])


def _places(rows: Iterable[tuple[str, str, str, int]]) -> list[tuple[Cell, ...]]:
    """Places by their number of triplets: its share of positive ones, and what is praised and criticised most."""
    judged = list(rows)
    aspects = _common_forms((aspect, times) for _, aspect, _, times in judged)
    counted: dict[str, dict[str, Counter[str]]] = defaultdict(lambda: defaultdict(Counter))
    for place, aspect, polarity, times in judged:
        counted[place][polarity][aspects[aspect]] += times
    sums = {place: sum(opinions.total() for opinions in by.values()) for place, by in counted.items()}
    return [
        (place, sums[place], percent(by["POS"].total(), sums[place]), _listing(by["POS"]), _listing(by["NEG"]))
        for place, by in sorted(counted.items(), key=lambda item: (-sums[item[0]], item[0]))
    ]


def _common_forms(counted: Iterable[tuple[str, int]]) -> dict[str, str]:
    """Each word in the script in which it is written more, in all rows together."""
    simplified = converter("t2s")
    forms: dict[str, Counter[str]] = defaultdict(Counter)
    for word, times in counted:
        forms[simplified(word)][word] += times
    common = {key: min(counts, key=lambda word: (-counts[word], word)) for key, counts in forms.items()}
    return {word: common[key] for key, counts in forms.items() for word in counts}


def _listing(counted: Counter[str]) -> str:
    """The most frequent words, each with how often."""
    ordered = sorted(counted.items(), key=lambda item: (-item[1], item[0]))[:_MOST_WORDS]
    return "、".join(f"{word} {times:,}" for word, times in ordered)
