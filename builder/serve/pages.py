"""Our pages: overview, search, review, triplet, queries. Each asks the store through Datasette's own connections and
fills a template.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import quote, unquote

from builder.errors import QueryError
from builder.folding import fold, folded_spans
from builder.serve import charts, spans
from builder.serve.metadata import DATABASE
from builder.store import browse, queries, runs, search, stories

PAGE = 20
MOST_WORDS = 32
"""Words of a search: each is a look into the index."""
_STATIC = Path(__file__).parent / "static"
_TYPES = {".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8"}
_OVERVIEW = ("summary", "growth", "rejects-by-round", "by-rule", "top-aspects", "top-opinions", "rejected")
Answer = TypeVar("Answer")


@dataclass(slots=True)
class Site:
    """What an instance of Datasette is about, and the address it listens on; the overview is made once, for nothing
    changes.
    """

    title: str
    source: str
    host: str
    overview: dict[str, Any] | None = None


def site(datasette: Any) -> Site | None:
    """The site that an instance shows; None for instances that are not ours."""
    return getattr(datasette, "builder_site", None)


def own(path: str) -> bool:
    """Whether a path is one of our pages."""
    return path == "/" or path.split("/")[1] in ("search", "review", "triplet", "queries", "assets")


def quoted(text: str) -> str:
    """Text as a part of a URL."""
    return quote(text, safe="")


async def overview(request: Any, datasette: Any) -> Any:
    """The first page: totals, charts, scores and what was rejected."""
    shown = site(datasette)
    assert shown is not None
    if shown.overview is None:
        shown.overview = await datasette.get_database(DATABASE).execute_fn(_overview)
    return await _page(datasette, request, "overview.html", shown.overview)


def _overview(connection: sqlite3.Connection) -> dict[str, Any]:
    queried = browse.overview(connection, _OVERVIEW)
    totals = browse.totals(connection)
    aspects = {
        str(row["aspect"]): f"/{DATABASE}/by-aspect?aspect={quoted(str(row['aspect']))}"
        for row in queried["top-aspects"]
    }
    opinions = {
        str(row["opinion"]): f"/{DATABASE}/by-opinion?opinion={quoted(str(row['opinion']))}"
        for row in queried["top-opinions"]
    }
    rules = {
        str(row["rule"]): f"/{DATABASE}/{browse.TABLE}?rule={quoted(str(row['rule']))}" for row in queried["by-rule"]
    }

    def most(name: str) -> list[dict[str, object]]:
        return [row for row in queried[name][:15] if row["released"]]

    shown = [
        charts.Chart("Sources", "candidates by who proposes them, and what is released", "summary", charts.LEGEND,
        charts.by_polarity(queried["summary"], "source")),
        charts.Chart("Growth", "training sets, round by round", "growth", (("kept", "had"), ("added", "added")),
        charts.growth(queried["growth"])),
        charts.Chart(
            "Verdicts", "what the discriminator says of each model's findings; it rejects so many", "rejects-by-round",
            (("YY", "accepted"), ("abstained", "no verdict"), ("YN", "polarity doubted"), ("NX", "pair doubted")),
            charts.verdicts(queried["rejects-by-round"]),
        ),
        charts.Chart(
            "Rules", "candidates by the rule that made them; the discriminator accepts so many", "by-rule",
            charts.LEGEND,
            charts.by_polarity(queried["by-rule"], "rule", rules, "accepted_percent"),
        ),
        charts.Chart("Aspects", "named most in the release", "top-aspects", charts.LEGEND,
        charts.by_polarity(most("top-aspects"), "aspect", aspects)),
        charts.Chart("Opinions", "used most in the release", "top-opinions", charts.LEGEND,
        charts.by_polarity(most("top-opinions"), "opinion", opinions)),
    ]  # fmt: skip
    return {
        "totals": totals,
        "charts": [chart for chart in shown if chart.bars],
        "metrics": [
            (system, split, metric, f"{value:.1f}", "" if low is None else f"{low:.1f}–{high:.1f}")
            for system, split, metric, value, low, high in runs.metrics(connection)
        ],
        "rejected": queried["rejected"],
    }


async def find(request: Any, datasette: Any) -> Any:
    """The page of a search: reviews that hold all words, with what was looked for marked."""
    query, split, polarity = (request.args.get(name) or "" for name in ("q", "split", "polarity"))
    number = _number(request.args.get("page") or "1", 1)
    context: dict[str, Any] = {"query": query, "split": split, "polarity": polarity, "number": number}
    words = search.words_of(query)
    if any(map(fold, words)):

        def work(connection: sqlite3.Connection) -> tuple[search.Hits, dict[int, Any]]:
            hits = search.find(connection, words, PAGE, (number - 1) * PAGE, split, polarity)
            return hits, browse.polarities(connection, [hit.id for hit in hits.shown])

        if len(words) > MOST_WORDS:
            return await _refused(
                datasette, request, f"a search takes up to {MOST_WORDS} words; {len(words)} were given"
            )
        try:
            hits, triplets_of = await _ask(datasette, work)
        except sqlite3.OperationalError as error:
            if "interrupted" not in str(error):
                raise
            return await _refused(datasette, request, "this search takes too long; use fewer or longer words")
        folded = [fold(word) for word in words]
        context["total"], context["more"] = hits.total, hits.total > number * PAGE
        context["hits"] = [
            (hit, spans.hits(hit.text, folded_spans(hit.text, folded)), triplets_of.get(hit.id, []))
            for hit in hits.shown
        ]
    return await _page(datasette, request, "search.html", context)


async def review(request: Any, datasette: Any) -> Any:
    """By the number of its row, as our links have it, else by its own id, which leads to the address that says so."""
    from datasette.utils.asgi import Response

    given = unquote(request.url_vars["id"])
    i = int(given) if given.isascii() and given.isdecimal() and len(given) < 19 else 0
    if await _ask(datasette, lambda connection: browse.is_review(connection, i)):
        return await _review(request, datasette, i)
    return Response.redirect(f"/review?key={quoted(given)}")


async def review_of_key(request: Any, datasette: Any) -> Any:
    """The page of a review, looked up by its key."""
    try:
        i, _ = await _ask(datasette, lambda connection: stories.find(connection, request.args.get("key") or ""))
    except QueryError as error:
        return await _missing(datasette, request, error)
    return await _review(request, datasette, i)


async def _review(request: Any, datasette: Any, i: int) -> Any:
    def work(connection: sqlite3.Connection) -> tuple[stories.Story, tuple[int | None, int | None]]:
        return stories.review(connection, i), browse.neighbours(connection, i)

    try:
        story, (before, after) = await _ask(datasette, work)
    except QueryError as error:
        return await _missing(datasette, request, error)
    text = spans.marked(story.text, spans.marks([triplet_story.stored for triplet_story in story.triplets]))
    context = {"story": story, "text": text, "before": before, "after": after, "plain": spans.plain}
    return await _page(datasette, request, "review.html", context)


async def triplet(request: Any, datasette: Any) -> Any:
    """The page of a triplet: its text and its story."""

    def work(connection: sqlite3.Connection) -> tuple[stories.Story, stories.TripletStory]:
        i, wanted = stories.find(connection, request.url_vars["id"])
        story = stories.review(connection, i)
        chosen = next((row for row in story.triplets if row.stored.id == wanted), None)
        if chosen is None:
            raise QueryError(f"no triplet {request.url_vars['id']!r}")
        return story, chosen

    try:
        story, chosen = await _ask(datasette, work)
    except QueryError as error:
        return await _missing(datasette, request, error)
    text = spans.marked(story.text, spans.marks([chosen.stored]))
    return await _page(
        datasette, request, "triplet.html", {"story": story, "chosen": chosen, "text": text, "plain": spans.plain}
    )


async def row(request: Any, datasette: Any) -> Any:
    """Datasette's own page of a row in the flat table tells less than ours."""
    from datasette.utils.asgi import Response

    return Response.redirect(f"/triplet/{request.url_vars['id']}")


async def named(request: Any, datasette: Any) -> Any:
    """The page of named queries, each with a link that runs it."""
    known_queries = [queries.lookup(name) for name in queries.names()]
    links = {
        query.name: f"/{DATABASE}/{query.name}"
        + "".join(f"?{name}={quoted(value)}" for name, value in query.params.items())
        for query in known_queries
    }
    return await _page(datasette, request, "queries.html", {"queries": known_queries, "links": links})


async def asset(request: Any) -> Any:
    """Our style sheet and script, the only files that the pages load."""
    from datasette.utils.asgi import Response

    path = _STATIC / request.url_vars["name"]
    return Response(path.read_text(encoding="utf-8"), content_type=_TYPES[path.suffix])


ROUTES: tuple[tuple[str, Callable[..., Any]], ...] = (
    (r"^/$", overview),
    (r"^/search$", find),
    (r"^/review$", review_of_key),
    (r"^/review/(?P<id>.+)$", review),
    (r"^/triplet/(?P<id>[^/]+)$", triplet),
    (rf"^/{DATABASE}/{browse.TABLE}/(?P<id>[0-9]+)$", row),
    (r"^/queries$", named),
    (r"^/assets/(?P<name>style\.css|page\.js)$", asset),
)


async def _ask(datasette: Any, work: Callable[[sqlite3.Connection], Answer]) -> Answer:
    """`work` on one of Datasette's connections, in its threads, within the time of any query."""
    from datasette.utils import sqlite_timelimit

    def limited(connection: sqlite3.Connection) -> Answer:
        with sqlite_timelimit(connection, datasette.sql_time_limit_ms):
            return work(connection)

    answer: Answer = await datasette.get_database(DATABASE).execute_fn(limited)
    return answer


async def _page(datasette: Any, request: Any, template: str, context: dict[str, Any], status: int = 200) -> Any:
    from datasette.utils.asgi import Response

    return Response.html(await datasette.render_template(template, context, request=request), status=status)


async def _missing(datasette: Any, request: Any, error: QueryError) -> Any:
    return await _page(datasette, request, "missing.html", {"message": error.what}, status=404)


async def _refused(datasette: Any, request: Any, message: str) -> Any:
    return await _page(datasette, request, "missing.html", {"message": message, "heading": "Not answered"}, status=400)


def _number(text: str, least: int) -> int:
    """A number of a URL; what is none, or too small, is `least`."""
    return max(int(text), least) if text.isascii() and text.isdecimal() and len(text) < 10 else least
