"""Our pages by their addresses: overview, reviews, review, triplet, words, comparison, a typed sentence, queries.

Each asks the store through Datasette's own connections and fills a template.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from builder.core.errors import BuilderError
from builder.pages.serve import browsing, comparing, spans, words
from builder.pages.serve.answering import page, quoted, refused, selection, site
from builder.pages.serve.metadata import DATABASE
from builder.pages.serve.overview import overview
from builder.pages.serve.trying import EXAMPLE, LONGEST, ReadSentence
from builder.store import browse, queries

_STATIC = Path(__file__).parent / "static"
_TYPES = {".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8"}
_OWN = (
    "search", "reviews", "random", "review", "triplet", "aspects", "aspect", "opinions", "opinion", "compare", "try",
    "queries", "assets",
)  # fmt: skip


def own(path: str) -> bool:
    """Whether a path is one of our pages."""
    return path == "/" or path.split("/")[1] in _OWN


async def row(request: Any, datasette: Any) -> Any:
    """Datasette's own page of a row in the flat table tells less than ours."""
    from datasette.utils.asgi import Response

    return Response.redirect(f"/triplet/{request.url_vars['id']}")


async def tried(request: Any, datasette: Any) -> Any:
    """The page of a typed sentence: its triplets with their story, and its words."""
    text = " ".join((request.args.get("text") or "").split())
    context: dict[str, Any] = {
        "typed": text, "longest": LONGEST, "example": EXAMPLE, "plain": spans.plain,
        "selection": await selection(request, datasette),
    }  # fmt: skip
    extracting = getattr(site(datasette), "extracting", None)
    if extracting is None:
        return await refused(datasette, request, "this server reads no sentences; `builder serve` starts one that does")
    if len(text) > LONGEST:
        message = f"a sentence has up to {LONGEST} characters here; this has {len(text):,}. `builder extract` reads any"
        return await refused(datasette, request, message)
    if text:
        try:
            reading: ReadSentence | None = await extracting.read(text)
        except BuilderError as error:
            return await refused(datasette, request, str(error))
        if reading is None:
            return await refused(datasette, request, "this takes too long; try a shorter sentence, or a little later")
        marks = [mark for number, triplet in enumerate(reading.triplets) for mark in triplet.marks(number)]
        context |= {"reading": reading, "text": spans.marked(reading.text, marks)}
    return await page(datasette, request, "try.html", context)


async def named(request: Any, datasette: Any) -> Any:
    """The page of named queries, each with a link that runs it."""
    known_queries = [queries.lookup(name) for name in queries.names()]
    links = {
        query.name: f"/{DATABASE}/{query.name}"
        + "".join(f"?{name}={quoted(value)}" for name, value in query.params.items())
        for query in known_queries
    }
    return await page(datasette, request, "queries.html", {"queries": known_queries, "links": links})


async def asset(request: Any) -> Any:
    """Our style sheet and scripts, the only files that the pages load."""
    from datasette.utils.asgi import Response

    path = _STATIC / request.url_vars["name"]
    return Response(path.read_text(encoding="utf-8"), content_type=_TYPES[path.suffix])


ROUTES: tuple[tuple[str, Callable[..., Any]], ...] = (
    (r"^/$", overview),
    (r"^/search$", browsing.find),
    (r"^/reviews$", browsing.reviews),
    (r"^/random$", browsing.any_review),
    (r"^/review$", browsing.review_of_key),
    (r"^/review/(?P<id>.+)$", browsing.review),
    (r"^/triplet/(?P<id>[^/]+)$", browsing.triplet),
    (r"^/aspects$", words.pages_of("aspect")),
    (r"^/aspect$", words.page_of("aspect")),
    (r"^/opinions$", words.pages_of("opinion")),
    (r"^/opinion$", words.page_of("opinion")),
    (r"^/compare$", comparing.compared),
    (r"^/try$", tried),
    (rf"^/{DATABASE}/{browse.TABLE}/(?P<id>[0-9]+)$", row),
    (r"^/queries$", named),
    (r"^/assets/(?P<name>style\.css|page\.js|keys\.js)$", asset),
)
