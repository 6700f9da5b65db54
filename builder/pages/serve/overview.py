"""The first page: what was released, charts of where it comes from, scores, what was left out."""

from __future__ import annotations

import sqlite3
from dataclasses import replace
from typing import Any

from builder.pages.serve import charts
from builder.pages.serve.answering import ask_once, page, selection
from builder.pages.serve.metadata import DATABASE
from builder.pages.serve.selection import Selection
from builder.store import browse, runs, word_pages

_QUERIES = ("summary", "growth", "rejects-by-round", "by-rule", "rejected")
_MOST = 15


async def overview(request: Any, datasette: Any) -> Any:
    """Totals, charts, scores and what was rejected; made once for each script and kept."""
    chosen = replace(await selection(request, datasette), query="", values=(), show=())
    context = await ask_once(datasette, ("overview", chosen), lambda connection: _overview(connection, chosen))
    return await page(datasette, request, "overview.html", context)


def _overview(connection: sqlite3.Connection, chosen: Selection) -> dict[str, Any]:
    queried = browse.overview(connection, _QUERIES)
    doubt = browse.judge_doubt(connection)
    shown = [
        *_words(connection, chosen),
        _sources(queried["summary"], runs.judge(connection)),
        *_models(queried, chosen, doubt),
    ]
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


def _sources(rows: list[dict[str, object]], judge: str) -> charts.Chart:
    about = "candidates by who proposes them, and what is released"
    learnt = [row for row in rows if row["kind"] == "model" and (judge == "panel" or str(row["source"])[:1] != "E")]
    if learnt:
        about += "; models learn from the rules, so that both propose a triplet is no second opinion"
    return charts.Chart("Sources", about, _query("summary"), charts.LEGEND, charts.by_polarity(rows, "source"))


def _models(queried: dict[str, list[dict[str, object]]], chosen: Selection, doubt: str) -> list[charts.Chart]:
    """What the models learnt from, what the judge says of them, and of the rules."""
    shares = any(row["accepted_percent"] is not None for row in queried["by-rule"])
    every = chosen.with_(show="rules")
    rules = {str(row["rule"]): every.with_(rule=str(row["rule"])).link("/reviews") for row in queried["by-rule"]}
    growth = charts.Chart(
        "Growth", "training sets, round by round", _query("growth"), (("kept", "had"), ("added", "added")),
        charts.growth(queried["growth"]),
    )  # fmt: skip
    return [
        *([growth] if len(queried["growth"]) > 1 else []),  # a build without models has one set, which grows nowhere
        charts.Chart(
            "Verdicts", "what the judge says of each model's findings; it rejects so many",
            _query("rejects-by-round"),
            (("YY", "accepted"), ("abstained", "no verdict"), ("YN", "polarity doubted"), ("NX", "pair doubted")),
            charts.verdicts(queried["rejects-by-round"], bool(doubt)), doubt,
        ),
        charts.Chart(
            "Rules",
            "candidates by the rule that made them"
            + "; the judge, itself a model, accepts so many percent: that is not accuracy" * shares,
            _query("by-rule"), charts.LEGEND,
            charts.by_polarity(queried["by-rule"], "rule", rules, "accepted_percent", bool(doubt)), doubt * shares,
        ),
    ]  # fmt: skip


def _words(connection: sqlite3.Connection, chosen: Selection) -> list[charts.Chart]:
    """The released aspects and opinions: both scripts counted as one, shown in the chosen one."""
    made = []
    for role, title, about in (
        ("aspect", "Aspects", "named most"),
        ("opinion", "Opinions", "used most"),
    ):
        rows = word_pages.top(connection, role, chosen.script, _MOST)  # type: ignore[arg-type]
        links = {str(row["shown"]): chosen.link(f"/{role}", word=row["word"]) for row in rows}
        bars = charts.by_polarity(rows, "shown", links)
        made.append(charts.Chart(title, about, f"/{role}s", charts.LEGEND, bars))
    return made


def _query(name: str) -> str:
    return f"/{DATABASE}/{name}"
