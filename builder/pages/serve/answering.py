"""What all our pages do: ask the store through Datasette's connections, fill a template, refuse with a sentence."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar
from urllib.parse import quote

from builder.core.errors import QueryError
from builder.pages.serve.metadata import DATABASE
from builder.pages.serve.selection import Selection
from builder.pages.serve.trying import Extracting
from builder.store import browse

Answer = TypeVar("Answer")
_KEPT = 64
SCRIPT_COOKIE = "script"


@dataclass(slots=True)
class Site:
    """What an instance of Datasette is about, and the address it listens on. `kept`: answers by what was asked; they
    stay right, for nothing changes. `extracting`: what reads a sentence that somebody types.
    """

    title: str
    source: str
    host: str
    extracting: Extracting | None = None
    compares: bool = False
    kept: dict[object, Any] = field(default_factory=dict)


def site(datasette: Any) -> Site | None:
    """The site that an instance shows; None for instances that are not ours."""
    return getattr(datasette, "builder_site", None)


def quoted(text: str) -> str:
    """Text as a part of a URL."""
    return quote(text, safe="")


async def ask(datasette: Any, work: Callable[[sqlite3.Connection], Answer]) -> Answer:
    """`work` on one of Datasette's connections, in its threads, within the time of any query."""
    from datasette.utils import sqlite_timelimit

    def limited(connection: sqlite3.Connection) -> Answer:
        with sqlite_timelimit(connection, datasette.sql_time_limit_ms):
            return work(connection)

    answer: Answer = await datasette.get_database(DATABASE).execute_fn(limited)
    return answer


async def ask_once(datasette: Any, key: object, work: Callable[[sqlite3.Connection], Answer]) -> Answer:
    """The same, for answers that are kept by `key`: the last ones that were asked for."""
    shown = site(datasette)
    assert shown is not None
    answer: Answer = shown.kept.pop(key) if key in shown.kept else await ask(datasette, work)
    shown.kept[key] = answer  # the last in order, so that what is asked for often stays
    while len(shown.kept) > _KEPT:
        del shown.kept[next(iter(shown.kept))]
    return answer


async def selection(request: Any, datasette: Any) -> Selection:
    """What a request selects: filters, kinds of triplets, script."""
    there = await ask_once(datasette, "kinds", browse.kinds_there)
    return Selection.of(request.args, request.cookies.get(SCRIPT_COOKIE, ""), there)


async def page(datasette: Any, request: Any, template: str, context: dict[str, Any], status: int = 200) -> Any:
    """A filled template; a script that the request names is remembered in a cookie."""
    from datasette.utils.asgi import Response

    response = Response.html(await datasette.render_template(template, context, request=request), status=status)
    if request.args.get("script"):
        script = (await selection(request, datasette)).script
        response.set_cookie(SCRIPT_COOKIE, script, max_age=31_536_000, samesite="strict", httponly=True)
    return response


async def missing(datasette: Any, request: Any, error: QueryError) -> Any:
    """The page for what is not there."""
    return await page(datasette, request, "missing.html", {"message": error.what}, status=404)


async def refused(datasette: Any, request: Any, message: str) -> Any:
    """The page for what is not answered."""
    return await page(datasette, request, "missing.html", {"message": message, "heading": "Not answered"}, status=400)


def number(text: str, least: int) -> int:
    """A number of a URL; what is none, or too small, is `least`."""
    return max(int(text), least) if text.isascii() and text.isdecimal() and len(text) < 10 else least
