"""The Datasette plugin: our pages as routes, links in its tables, the guard around everything.

Registered once a process; what it shows of an instance hangs on that instance (`Site`).
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from typing import Any
from urllib.parse import urlencode

from markupsafe import Markup
from pluggy import HookimplMarker

from builder.pages.serve import guard, pages
from builder.pages.serve.answering import quoted, selection, site
from builder.pages.serve.metadata import DATABASE
from builder.pages.serve.selection import Selection, Toggle
from builder.pages.serve.spans import plain
from builder.reviews.sources.opening import one_line
from builder.store import browse, queries

hookimpl = HookimplMarker("datasette")


@hookimpl
def register_routes(datasette: Any) -> Iterable[tuple[str, Callable[..., Any]]]:
    """Our pages, for Datasette to serve."""
    return pages.ROUTES if site(datasette) else ()


@hookimpl
def asgi_wrapper(datasette: Any) -> Callable[[guard.App], guard.App]:
    """What guards every answer."""
    shown = site(datasette)
    return lambda app: guard.guarded(app, shown.host, pages.own) if shown else app


@hookimpl
def prepare_connection(conn: Any, database: str, datasette: Any) -> None:
    """No question of a stranger takes all memory."""
    if site(datasette):
        queries.limit_strangers(conn)


@hookimpl
def handle_exception(datasette: Any, request: Any, exception: Exception) -> None:
    """A line in the terminal for what is not there or not allowed; Datasette makes the answer, and shows where it was
    a defect.
    """
    status = getattr(exception, "status", None)
    if site(datasette) and status:
        print(f"{status} {one_line(request.path)}", file=sys.stderr)


@hookimpl
def extra_template_vars(datasette: Any, request: Any) -> Any:
    """What our templates know of the site, and of what the visitor selects."""
    shown = site(datasette)
    if shown is None:
        return {}

    async def known() -> dict[str, Any]:
        variables: dict[str, Any] = {
            "site_title": shown.title, "site_source": shown.source, "site_tries": shown.extracting is not None,
            "site_compares": shown.compares, "first_query": browse.FIRST_QUERY, "show_toggles": _toggles,
        }  # fmt: skip
        if request is not None:
            variables["script"] = (await selection(request, datasette)).script
            others = [
                (name, value) for name in request.args for value in request.args.getlist(name) if name != "script"
            ]
            variables["script_links"] = {
                name: f"{request.path}?{urlencode([*others, ('script', name)])}"
                for name in ("traditional", "simplified")
            }
        return variables

    return known


def _toggles(chosen: Selection, path: str) -> list[tuple[Toggle, None, str]]:
    return [(toggle, None, chosen.with_(show=toggle.show).link(path)) for toggle in chosen.toggles()]


@hookimpl
def extra_css_urls(datasette: Any) -> list[str]:
    """Our style sheet."""
    return ["/assets/style.css"] if site(datasette) else []


@hookimpl
def render_cell(value: Any, column: str, table: str | None, database: str, datasette: Any, row: Any) -> Markup | None:
    """Ids and keys become links to our pages, polarities get their colour, texts show what they hide."""
    if database != DATABASE or value is None or not site(datasette):
        return None
    names = set(row.keys())
    if (
        column in ("id", "triplet")
        and isinstance(value, int)
        and (column == "triplet" or {"aspect", "opinion"} <= names)
    ):
        return Markup('<a href="/triplet/{}">{}</a>').format(value, value)
    if column == "key" or (column == "review" and isinstance(value, str)):
        return Markup('<a href="/review?key={}">{}</a>').format(quoted(str(value)), plain(str(value)))
    if column == "review" and isinstance(value, int):
        return Markup('<a href="/review/{}">{}</a>').format(value, value)
    if column == "polarity" and value in ("POS", "NEG", "NEU"):
        return Markup('<span class="tag {}">{}</span>').format(value, value)
    if column in ("text", "aspect", "opinion", "aspect_full", "opinion_full") and isinstance(value, str):
        return Markup('<bdi lang="zh">{}</bdi>').format(plain(value))
    return None
