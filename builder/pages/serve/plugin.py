"""The Datasette plugin: our pages as routes, links in its tables, the guard around everything.

It is registered once a process; what it shows of an instance hangs on that instance (`Site`). The pages: overview,
reviews, review, triplet, words, a typed sentence, queries. Each asks the store through Datasette's own
connections and fills a template.

The guard stands between a browser and the pages. It checks who asks and under which name, and sets headers that keep
everything local. It is pure ASGI.
"""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable, Iterable, Mapping, MutableMapping
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from markupsafe import Markup
from pluggy import HookimplMarker

from builder.core.errors import BuilderError
from builder.core.markup import shared_rules
from builder.pages.serve import browsing
from builder.pages.serve.answering import (
    DATABASE,
    EXAMPLE,
    LONGEST,
    ReadSentence,
    Refused,
    explained,
    marked,
    page,
    plain,
    quoted,
    selection,
    site,
)
from builder.pages.serve.overview import overview, page_of, pages_of
from builder.reviews.sources.opening import one_line
from builder.store import browse, queries

# ---- The guard

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

STRICT = (
    "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
DATASETTE = STRICT.replace("style-src 'self'", "style-src 'self' 'unsafe-inline'").replace(
    "script-src 'self'", "script-src 'self' 'unsafe-inline'"
)
"""Datasette's own table and query pages carry inline scripts and styles; ours have none."""
HEADERS = {
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), microphone=(), geolocation=()",
}
_LOOPBACK = ("localhost", "127.0.0.1", "[::1]")


def guarded(app: App, host: str, own: Callable[[str], bool]) -> App:
    """`app` with safe headers; `own` tells the paths of our pages, which get the strict policy.

    Requests for another host's name are refused: a web page could have its own name point to this machine and read
    along. So are those that a page of another site makes: it reads nothing, but each costs this machine a query.
    """
    allowed = (*_LOOPBACK, host, f"[{host}]")
    everywhere = host in ("0.0.0.0", "::")

    async def checked(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await app(scope, receive, send)
            return
        if _is_malformed(scope):
            await _refuse(send, 400, "This is no request for a page.")
            return
        if not everywhere and _name(scope) not in allowed:
            await _refuse(
                send, 421, "This server answers for localhost only; start it with --host NAME to use another name."
            )
            return
        if _is_cross_site(scope):
            await _refuse(send, 403, "A page of another site asks; open the address itself.")
            return
        added = HEADERS | {"content-security-policy": STRICT if own(scope["path"]) else DATASETTE}
        await app(scope, receive, lambda message: send(_with(message, added)))

    return checked


def _is_malformed(scope: Scope) -> bool:
    """Whether no browser sends it: CONNECT and `*` name no path, and a header may be no text."""
    try:
        b"".join(value for _, value in scope["headers"]).decode()
    except UnicodeDecodeError:
        return True
    return not str(scope["path"]).startswith("/")


def _header(scope: Scope, wanted: bytes) -> str:
    """A header of a request; "" if it has none."""
    return next((str(value, "latin-1") for name, value in scope["headers"] if name == wanted), "")


def _is_cross_site(scope: Scope) -> bool:
    """Whether a page from elsewhere makes the request; browsers say so in headers that no page can change."""
    origin = _header(scope, b"origin")
    foreign = bool(origin) and origin.partition("://")[2] != _header(scope, b"host")
    return foreign or _header(scope, b"sec-fetch-site") not in ("", "none", "same-origin")


def _name(scope: Scope) -> str:
    """The host's name of a request, without its port."""
    host = _header(scope, b"host")
    return host.rpartition("]")[0] + "]" if host.startswith("[") else host.partition(":")[0]


def _with(message: Message, added: Mapping[str, str]) -> Message:
    if message["type"] == "http.response.start":
        kept = [(name, value) for name, value in message["headers"] if name.decode("latin-1").lower() not in added]
        message = dict(message) | {"headers": kept + [(name.encode(), value.encode()) for name, value in added.items()]}
    return message


async def _refuse(send: Send, status: int, message: str) -> None:
    text = f"{message}\n".encode()
    headers = [(b"content-type", b"text/plain; charset=utf-8"), (b"content-length", str(len(text)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": text})


# ---- Pages by their addresses

_STATIC = Path(__file__).parent / "static"
_TYPES = {".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8"}
_OWN = (
    "reviews", "random", "review", "triplet", "aspects", "aspect", "opinions", "opinion", "try",
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
        "typed": text, "longest": LONGEST, "example": EXAMPLE, "plain": plain,
        "selection": await selection(request, datasette),
    }  # fmt: skip
    extracting = getattr(site(datasette), "extracting", None)
    if extracting is None:
        raise Refused("this server reads no sentences; `builder serve` starts one that does")
    if len(text) > LONGEST:
        raise Refused(
            f"a sentence has up to {LONGEST} characters here; this has {len(text):,}. `builder extract` reads any"
        )
    if text:
        try:
            reading: ReadSentence | None = await extracting.read(text)
        except BuilderError as error:
            raise Refused(str(error)) from error
        if reading is None:
            raise Refused("this takes too long; try a shorter sentence, or a little later")
        marks = [mark for number, triplet in enumerate(reading.triplets) for mark in triplet.marks(number)]
        context |= {"reading": reading, "text": marked(reading.text, marks)}
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
    text = path.read_text(encoding="utf-8")
    return Response(shared_rules() + text if path.suffix == ".css" else text, content_type=_TYPES[path.suffix])


ROUTES: tuple[tuple[str, Callable[..., Any]], ...] = (
    (r"^/$", explained(overview)),
    (r"^/reviews$", explained(browsing.reviews)),
    (r"^/random$", explained(browsing.any_review)),
    (r"^/review$", explained(browsing.review_of_key)),
    (r"^/review/(?P<id>.+)$", explained(browsing.review)),
    (r"^/triplet/(?P<id>[^/]+)$", explained(browsing.triplet)),
    (r"^/aspects$", explained(pages_of("aspect"))),
    (r"^/aspect$", explained(page_of("aspect"))),
    (r"^/opinions$", explained(pages_of("opinion"))),
    (r"^/opinion$", explained(page_of("opinion"))),
    (r"^/try$", explained(tried)),
    (rf"^/{DATABASE}/{browse.TABLE}/(?P<id>[0-9]+)$", row),
    (r"^/queries$", named),
    (r"^/assets/(?P<name>style\.css|page\.js|keys\.js)$", asset),
)


# ---- Hooks of Datasette

hookimpl = HookimplMarker("datasette")


@hookimpl
def register_routes(datasette: Any) -> Iterable[tuple[str, Callable[..., Any]]]:
    """Our pages, for Datasette to serve."""
    return ROUTES if site(datasette) else ()


@hookimpl
def asgi_wrapper(datasette: Any) -> Callable[[App], App]:
    """What guards every answer."""
    shown = site(datasette)
    return lambda app: guarded(app, shown.host, own) if shown else app


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
            "first_query": browse.FIRST_QUERY,
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
