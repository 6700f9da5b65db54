"""Pages that sum up: the first one with its charts, and those of words.

The first page says what was released, where it comes from, its scores, and what was left out. Its charts are bar
charts: rows of a label, a bar in inline SVG that stretches with the page, and numbers. Charts are pure.

Pages of words list the aspects and the opinions of a build, and show each of them with what is said beside it.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from builder.core.errors import QueryError
from builder.core.records import POLARITIES
from builder.pages.serve.answering import DATABASE, Selection, View, ask, ask_once, page, plain, selection
from builder.reviews.repair import fold
from builder.store import browse, runs
from builder.store.browse import OTHER, Role

# ---- Charts

Row = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Bar:
    """A row of a chart: how many are of each polarity. `link` may be empty, `title` is what the pointer shows."""

    label: str
    link: str
    counts: Mapping[str, float]
    note: str
    title: str


@dataclass(frozen=True, slots=True)
class Chart:
    """A chart with what its bars mean."""

    title: str
    about: str
    link: str
    bars: tuple[Bar, ...]


LEGEND = (("POS", "positive"), ("NEG", "negative"), ("NEU", "neutral"))


def by_polarity(
    rows: Sequence[Row], label: str, links: Mapping[str, str] | None = None, note: str = ""
) -> tuple[Bar, ...]:
    """Bars of POS, NEG and NEU. `label` is the column that names a row, `note` one that is shown as a percentage."""
    out = []
    for row in rows:
        name, values = str(row[label]), {str(p): number(row[p]) for p in POLARITIES}
        percent = "" if not note or row[note] is None else f"{row[note]}%"
        title = ", ".join(f"{values[kind]:,.0f} {word}" for kind, word in LEGEND)
        out.append(Bar(name, (links or {}).get(name, ""), values, percent, f"{name}: {title}"))
    return tuple(out)


def number(value: object) -> float:
    """A value of a query as a number; 0 for nothing."""
    return float(value) if isinstance(value, int | float) else 0.0


# ---- The first page

_QUERIES = ("summary", "by-rule", "rejected")
_MOST = 15


async def overview(request: Any, datasette: Any) -> Any:
    """Totals, charts, scores and what was rejected; made once for each script and kept."""
    chosen = replace(await selection(request, datasette), query="", values=(), show=())
    context = await ask_once(datasette, ("overview", chosen), lambda connection: _overview(connection, chosen))
    return await page(datasette, request, "overview.html", context)


def _overview(connection: sqlite3.Connection, chosen: Selection) -> dict[str, Any]:
    queried = browse.overview(connection, _QUERIES)
    shown = [*_words(connection, chosen), _sources(queried["summary"]), _rules(queried["by-rule"], chosen)]
    return {
        "totals": browse.totals(connection),
        "charts": [chart for chart in shown if chart.bars],
        "metrics": [
            (system, split, metric, f"{value:.1f}", "" if low is None else f"{low:.1f}–{high:.1f}")
            for system, split, metric, value, low, high in runs.metrics(connection)
        ],
        "agreement": any(" against rules" in row[0] for row in runs.metrics(connection)),
        "rejected": queried["rejected"],
    }


def _sources(rows: list[dict[str, object]]) -> Chart:
    about = "candidates by who proposes them, and what is released"
    if any(row["kind"] == "model" and str(row["source"])[:1] != "E" for row in rows):
        about += "; models learn from the rules, so that both propose a triplet is no second opinion"
    return Chart("Sources", about, f"/{DATABASE}/summary", by_polarity(rows, "source"))


def _rules(rows: list[dict[str, object]], chosen: Selection) -> Chart:
    """What each rule made; a click shows its reviews."""
    about = "candidates by the rule that made them"
    if any(row["accepted_percent"] is not None for row in rows):
        about += "; behind them, the percent that the judge accepts: it is a model, so that is no accuracy"
    every = chosen.with_(show="rules")
    links = {str(row["rule"]): every.with_(rule=str(row["rule"])).link("/reviews") for row in rows}
    return Chart("Rules", about, f"/{DATABASE}/by-rule", by_polarity(rows, "rule", links, "accepted_percent"))


def _words(connection: sqlite3.Connection, chosen: Selection) -> list[Chart]:
    """The released aspects and opinions: both scripts counted as one, shown in the chosen one."""
    made = []
    for role, title, about in (("aspect", "Aspects", "named most"), ("opinion", "Opinions", "used most")):
        rows = browse.list_words(connection, role, chosen.script, _MOST)  # type: ignore[arg-type]
        links = {str(row["shown"]): chosen.link(f"/{role}", word=row["word"]) for row in rows}
        made.append(Chart(title, about, f"/{role}s", by_polarity(rows, "shown", links)))
    return made


# ---- Pages of words

MOST = 100


def page_of(role: Role) -> View:
    """The page of a word of a role."""

    async def word(request: Any, datasette: Any) -> Any:
        chosen = replace(await selection(request, datasette), query="", values=())
        given = request.args.get("word") or ""
        known = await ask(
            datasette, lambda connection: browse.read(connection, role, fold(given), chosen.script, chosen.kinds)
        )
        if known is None:
            raise QueryError(f"no triplet has the {role} {given!r}")
        return await page(datasette, request, "word.html", _context(known, chosen))

    return word


def pages_of(role: Role) -> View:
    """The list of the words of a role."""

    async def words(request: Any, datasette: Any) -> Any:
        chosen = replace(await selection(request, datasette), query="", values=())
        part = request.args.get("part") or ""

        def work(connection: sqlite3.Connection) -> list[browse.Counts]:
            return browse.list_words(connection, role, chosen.script, MOST, fold(part))

        rows = await ask(datasette, work)
        links = {str(row["shown"]): chosen.link(f"/{role}", word=row["word"]) for row in rows}
        bars = by_polarity(rows, "shown", links)
        context = {"role": role, "part": part, "bars": bars, "most": MOST, "selection": chosen}
        return await page(datasette, request, "words.html", context)

    return words


def _context(word: browse.Word, chosen: Selection) -> dict[str, Any]:
    of_word = chosen.with_(**{word.role: word.word})

    def bars(name: str) -> tuple[Bar, ...]:
        rows = word.by[name][::-1] if name == "month" else word.by[name]  # time runs downwards
        links = {str(row["value"]): of_word.with_(**{name: str(row["value"])}).link("/reviews") for row in rows}
        return by_polarity(rows, "value", links)

    about = f"triplets with this {word.role}"
    shown = [
        Chart("Stars", f"{about}, by the stars of their review", "", bars("rating")),
        Chart("Months", f"{about}, by the month of their review", "", bars("month")),
        Chart("Sources", f"{about}, by where their review comes from", "", bars("source")),
    ]
    other = OTHER[word.role]
    return {
        "word": word,
        "other": other,
        "charts": [chart for chart in shown if chart.bars],
        "partners": [
            (
                partner,
                {name: number(value) for name, value in partner.counts.items()},
                chosen.link(f"/{other}", word=partner.word),
                of_word.with_(**{other: partner.word}).link("/reviews"),
            )
            for partner in word.partners
        ],
        "reviews_link": of_word.link("/reviews"),
        "toggles_of": chosen.toggles(f"/{word.role}", word=word.word),
        "selection": chosen,
        "plain": plain,
    }
