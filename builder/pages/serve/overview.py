"""Pages that sum up: the first one with its charts, and those of words.

The first page says what was released, where it comes from, its scores, and what was left out. Its charts are bar
charts: rows of a label, a bar in inline SVG that stretches with the page, and numbers. Charts are pure.

Pages of words list the aspects and the opinions of a build, and show each of them with what is said beside it.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from builder.core.errors import QueryError
from builder.core.records import POLARITIES
from builder.pages.serve.answering import DATABASE, Selection, ask, ask_once, missing, page, plain, selection
from builder.reviews.repair import fold
from builder.store import browse, runs
from builder.store.browse import OTHER, Role
from builder.store.listing import NONE

# ---- Charts

Row = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Part:
    """A piece of a bar: its CSS class, where it begins and how long it is, in thousandths of the longest bar."""

    kind: str
    start: float
    width: float


@dataclass(frozen=True, slots=True)
class Bar:
    """A row of a chart; `link` may be empty, `title` is what the pointer shows."""

    label: str
    link: str
    parts: tuple[Part, ...]
    number: str
    note: str
    title: str


@dataclass(frozen=True, slots=True)
class Chart:
    """A chart with what its bars mean; `legend` are CSS classes with their names."""

    title: str
    about: str
    link: str
    legend: tuple[tuple[str, str], ...]
    bars: tuple[Bar, ...]


@dataclass(frozen=True, slots=True)
class FilterBar:
    """A bar of a histogram that filters: a click on it sets the filter, or unsets it where it is `on`."""

    label: str
    link: str
    number: int
    width: float
    on: bool


@dataclass(frozen=True, slots=True)
class Histogram:
    """The bars of a filter, by what they count. `more` leads to those that are left out, if any are."""

    name: str
    bars: tuple[FilterBar, ...]
    more: str = ""


def histogram(
    name: str,
    rows: Sequence[tuple[str, int]],
    label: Callable[[str], str],
    link: Callable[[str], str],
    chosen: tuple[str, int],
    more: str = "",
) -> Histogram:
    """Bars of (value, number). `link` leads to the page with a value, or with "" to that without the filter; `chosen`
    is the value that is set, with its number: it has a bar even where it is none of the rows. What has no value
    (`NONE`) does not set the scale.
    """
    value = chosen[0]
    shown = [*([chosen] if value and value not in dict(rows) else []), *rows]
    longest = max((number for text, number in shown if text != NONE), default=0) or 1
    bars = [
        FilterBar(
            label(text),
            link("" if text == value else text),
            number,
            min(1000.0, round(1000 * number / longest, 1)),
            text == value,
        )
        for text, number in shown
    ]
    return Histogram(name, tuple(bars), more)


LEGEND = (("POS", "positive"), ("NEG", "negative"), ("NEU", "neutral"))


def by_polarity(
    rows: Sequence[Row], label: str, links: Mapping[str, str] | None = None, note: str = ""
) -> tuple[Bar, ...]:
    """Bars of POS, NEG and NEU. `label` is the column that names a row, `note` one that is shown as a percentage."""
    longest = max((sum(number(row[p]) for p in POLARITIES) for row in rows), default=1) or 1
    out = []
    for row in rows:
        name, values = str(row[label]), {str(p): number(row[p]) for p in POLARITIES}
        percent = "" if not note or row[note] is None else f"{row[note]}%"
        title = ", ".join(f"{values[kind]:,.0f} {word}" for kind, word in LEGEND)
        out.append(
            Bar(
                name,
                (links or {}).get(name, ""),
                stacked(values, longest),
                f"{sum(values.values()):,.0f}",
                percent,
                f"{name}: {title}",
            )
        )
    return tuple(out)


def stacked(values: Mapping[str, float], longest: float) -> tuple[Part, ...]:
    """Parts side by side, `longest` being the whole width."""
    out, at = [], 0.0
    for kind, value in values.items():
        width = round(1000 * value / longest, 1)
        out.append(Part(kind, round(at, 1), width))
        at += width
    return tuple(out)


def growth(rows: Sequence[Row]) -> tuple[Bar, ...]:
    """The training set of each variant and round: what it had and what the round added."""
    longest = max((number(row["triplets"]) for row in rows), default=1) or 1
    out = []
    for row in rows:
        whole, added = number(row["triplets"]), number(row["added"]) if number(row["round"]) else 0.0
        note = f"+{added:,.0f}" if added else ""
        title = f"{row['predicted']} predicted, {row['accepted_percent']}% accepted"
        parts = stacked({"kept": whole - added, "added": added}, longest)
        out.append(Bar(f"{row['variant']}, round {row['round']}", "", parts, f"{whole:,.0f}", note, title))
    return tuple(out)


def verdicts(rows: Sequence[Row]) -> tuple[Bar, ...]:
    """Verdicts on each model's findings."""
    longest = max((number(row["judged"]) for row in rows), default=1) or 1
    return tuple(
        Bar(
            str(row["model"]),
            "",
            stacked({kind: number(row[kind]) for kind in ("YY", "abstained", "YN", "NX")}, longest),
            f"{number(row['judged']):,.0f}",
            f"{row['rejected_percent']}%",
            f"{row['YY']} accepted, {row['abstained']} without a verdict, {row['YN']} with doubted polarity,"
            f" {row['NX']} with a doubted pair",
        )
        for row in rows
    )


def number(value: object) -> float:
    """A value of a query as a number; 0 for nothing."""
    return float(value) if isinstance(value, int | float) else 0.0


# ---- The first page

_QUERIES = ("summary", "growth", "rejects-by-round", "by-rule", "rejected")
_MOST = 15


async def overview(request: Any, datasette: Any) -> Any:
    """Totals, charts, scores and what was rejected; made once for each script and kept."""
    chosen = replace(await selection(request, datasette), query="", values=(), show=())
    context = await ask_once(datasette, ("overview", chosen), lambda connection: _overview(connection, chosen))
    return await page(datasette, request, "overview.html", context)


def _overview(connection: sqlite3.Connection, chosen: Selection) -> dict[str, Any]:
    queried = browse.overview(connection, _QUERIES)
    shown = [*_words(connection, chosen), _sources(queried["summary"]), *_models(queried, chosen)]
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
    return Chart("Sources", about, _query("summary"), LEGEND, by_polarity(rows, "source"))


def _models(queried: dict[str, list[dict[str, object]]], chosen: Selection) -> list[Chart]:
    """What the models learnt from, what the judge says of them, and of the rules."""
    shares = any(row["accepted_percent"] is not None for row in queried["by-rule"])
    every = chosen.with_(show="rules")
    rules = {str(row["rule"]): every.with_(rule=str(row["rule"])).link("/reviews") for row in queried["by-rule"]}
    grown = Chart(
        "Growth", "training sets, round by round", _query("growth"), (("kept", "had"), ("added", "added")),
        growth(queried["growth"]),
    )  # fmt: skip
    return [
        *([grown] if len(queried["growth"]) > 1 else []),  # a build without models has one set, which grows nowhere
        Chart(
            "Verdicts", "what the judge says of what each model found; behind it, the percent that it rejects",
            _query("rejects-by-round"),
            (("YY", "accepted"), ("abstained", "no verdict"), ("YN", "polarity doubted"), ("NX", "pair doubted")),
            verdicts(queried["rejects-by-round"]),
        ),
        Chart(
            "Rules",
            "candidates by the rule that made them"
            + "; behind them, the percent that the judge accepts: it is a model, so that is no accuracy" * shares,
            _query("by-rule"), LEGEND,
            by_polarity(queried["by-rule"], "rule", rules, "accepted_percent"),
        ),
    ]  # fmt: skip


def _words(connection: sqlite3.Connection, chosen: Selection) -> list[Chart]:
    """The released aspects and opinions: both scripts counted as one, shown in the chosen one."""
    made = []
    for role, title, about in (("aspect", "Aspects", "named most"), ("opinion", "Opinions", "used most")):
        rows = browse.list_words(connection, role, chosen.script, _MOST)  # type: ignore[arg-type]
        links = {str(row["shown"]): chosen.link(f"/{role}", word=row["word"]) for row in rows}
        bars = by_polarity(rows, "shown", links)
        made.append(Chart(title, about, f"/{role}s", LEGEND, bars))
    return made


def _query(name: str) -> str:
    return f"/{DATABASE}/{name}"


# ---- Pages of words

MOST = 100
Page = Callable[[Any, Any], Awaitable[Any]]


def page_of(role: Role) -> Page:
    """The page of a word of a role."""

    async def word(request: Any, datasette: Any) -> Any:
        chosen = replace(await selection(request, datasette), query="", values=())
        given = request.args.get("word") or ""
        known = await ask(
            datasette, lambda connection: browse.read(connection, role, fold(given), chosen.script, chosen.kinds)
        )
        if known is None:
            return await missing(datasette, request, QueryError(f"no triplet has the {role} {given!r}"))
        return await page(datasette, request, "word.html", _context(known, chosen))

    return word


def pages_of(role: Role) -> Page:
    """The list of the words of a role."""

    async def words(request: Any, datasette: Any) -> Any:
        chosen = replace(await selection(request, datasette), query="", values=())
        part = request.args.get("part") or ""

        def work(connection: sqlite3.Connection) -> list[browse.Counts]:
            return browse.list_words(connection, role, chosen.script, MOST, fold(part))

        rows = await ask(datasette, work)
        links = {str(row["shown"]): chosen.link(f"/{role}", word=row["word"]) for row in rows}
        bars = by_polarity(rows, "shown", links)
        context = {"role": role, "part": part, "bars": bars, "most": MOST, "selection": chosen, "kinds": LEGEND}
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
        Chart("Stars", f"{about}, by the stars of their review", "", LEGEND, bars("rating")),
        Chart("Months", f"{about}, by the month of their review", "", LEGEND, bars("month")),
        Chart("Sources", f"{about}, by where their review comes from", "", LEGEND, bars("source")),
    ]
    other = OTHER[word.role]
    longest = max((sum(map(number, partner.counts.values())) for partner in word.partners), default=1) or 1
    return {
        "word": word,
        "other": other,
        "charts": [chart for chart in shown if chart.bars],
        "partners": [
            (
                partner,
                stacked({name: number(value) for name, value in partner.counts.items()}, longest),
                sum(int(number(value)) for value in partner.counts.values()),
                chosen.link(f"/{other}", word=partner.word),
                of_word.with_(**{other: partner.word}).link("/reviews"),
            )
            for partner in word.partners
        ],
        "reviews_link": of_word.link("/reviews"),
        "toggles_of": [
            (toggle, None, chosen.with_(show=toggle.show).link(f"/{word.role}", word=word.word))
            for toggle in chosen.toggles()
        ],
        "selection": chosen,
        "plain": plain,
    }
