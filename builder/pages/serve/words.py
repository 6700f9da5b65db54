"""Pages of words: the aspects and the opinions of a build as lists, and each of them with what is said beside it."""

from __future__ import annotations

import sqlite3
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

from builder.core.errors import QueryError
from builder.pages.serve import charts, spans
from builder.pages.serve.answering import ask, missing, page, selection
from builder.pages.serve.selection import Selection
from builder.reviews.folding import fold
from builder.store import word_pages
from builder.store.word_pages import OTHER, Role

MOST = 100
Page = Callable[[Any, Any], Awaitable[Any]]


def page_of(role: Role) -> Page:
    """The page of a word of a role."""

    async def word(request: Any, datasette: Any) -> Any:
        chosen = replace(await selection(request, datasette), query="", values=())
        given = request.args.get("word") or ""
        known = await ask(
            datasette,
            lambda connection: word_pages.read(connection, role, fold(given), chosen.script, chosen.kinds),
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

        def work(connection: sqlite3.Connection) -> list[word_pages.Counts]:
            return word_pages.like(connection, role, fold(part), chosen.script, MOST)

        rows = await ask(datasette, work)
        links = {str(row["shown"]): chosen.link(f"/{role}", word=row["word"]) for row in rows}
        bars = charts.by_polarity(rows, "shown", links)
        context = {"role": role, "part": part, "bars": bars, "most": MOST, "selection": chosen, "kinds": charts.LEGEND}
        return await page(datasette, request, "words.html", context)

    return words


def _context(word: word_pages.Word, chosen: Selection) -> dict[str, Any]:
    of_word = chosen.with_(**{word.role: word.word})

    def bars(name: str) -> tuple[charts.Bar, ...]:
        rows = word.by[name][::-1] if name == "month" else word.by[name]  # time runs downwards
        links = {str(row["value"]): of_word.with_(**{name: str(row["value"])}).link("/reviews") for row in rows}
        return charts.by_polarity(rows, "value", links)

    about = f"triplets with this {word.role}"
    shown = [
        charts.Chart("Stars", f"{about}, by the stars of their review", "", charts.LEGEND, bars("rating")),
        charts.Chart("Months", f"{about}, by the month of their review", "", charts.LEGEND, bars("month")),
        charts.Chart("Sources", f"{about}, by where their review comes from", "", charts.LEGEND, bars("source")),
    ]
    other = OTHER[word.role]
    longest = max((sum(map(charts.number, partner.counts.values())) for partner in word.partners), default=1) or 1
    return {
        "word": word,
        "other": other,
        "charts": [chart for chart in shown if chart.bars],
        "partners": [
            (
                partner,
                charts.stacked({name: charts.number(value) for name, value in partner.counts.items()}, longest),
                sum(int(charts.number(value)) for value in partner.counts.values()),
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
        "plain": spans.plain,
    }
