"""The annotation page's server: loopback only, a few JSON answers over a `Book`. Needs the extra `annotate`.

Reviews are hostile input and other programs share the machine: the page builds text nodes only, its policy allows no
foreign script, every request needs the key of this run and a Host of this machine (a page elsewhere could otherwise
reach us by DNS rebinding).
"""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Callable, Mapping
from contextlib import suppress
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Protocol

from builder.errors import BuilderError, ConfigError, install_command

if TYPE_CHECKING:
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response

Json = dict[str, Any]
HOST = "127.0.0.1"
_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
_ASSETS = {"page.js": "text/javascript", "page.css": "text/css"}
_BODY_LIMIT = 100_000
WINDOW = 200
"""At most so many items a request."""


class Book(Protocol):
    """What is to be labelled, in order, and where answers go."""

    def head(self) -> Json:
        """Pool, annotator, mode, how many items, how many done, the first open place."""

    def items(self, start: int, count: int) -> list[Json]:
        """Items from a place on."""

    def answer(self, place: int, given: Mapping[str, Any]) -> Json:
        """Store an answer at once; the item as it is now. ValueError for one that cannot be."""


def app(book: Book, key: str, hosts: frozenset[str]) -> Starlette:
    """The application. `key`: what every request must bring, `hosts`: what Host may be."""
    from starlette.applications import Starlette
    from starlette.requests import ClientDisconnect
    from starlette.responses import JSONResponse, Response
    from starlette.routing import Route

    def guarded(handler: Callable[[Request], Any], *, page: bool = False) -> Callable[[Request], Any]:
        async def run(request: Request) -> Response:
            refusal = _refused(request, key, hosts, page=page)
            if refusal:
                return Response(refusal, 403, _HEADERS, "text/plain; charset=utf-8")
            try:
                answer: Response = await handler(request)
            except (ValueError, KeyError, TypeError, IndexError, AttributeError, OverflowError) as error:
                answer = JSONResponse({"error": f"no answer that can be kept: {str(error)[:300]}"}, 400)
            except RecursionError:
                answer = JSONResponse({"error": "no answer that can be kept: it is nested too deeply"}, 400)
            except ClientDisconnect:
                answer = Response(status_code=400)  # nobody reads it
            except BuilderError as error:
                answer = JSONResponse({"error": str(error)}, 503)
            answer.headers.update(_HEADERS)
            return answer

        return run

    async def page(request: Request) -> Response:
        return Response(_asset("page.html").replace("{{key}}", key), media_type="text/html; charset=utf-8")

    async def head(request: Request) -> Response:
        return JSONResponse(book.head())

    async def items(request: Request) -> Response:
        start, count = int(request.query_params["start"]), int(request.query_params["count"])
        if start < 0 or not 0 < count <= WINDOW:
            raise ValueError("no such items")
        return JSONResponse(book.items(start, count))

    async def answer(request: Request) -> Response:
        if request.headers.get("content-type", "").partition(";")[0] != "application/json":
            raise ValueError("not JSON")
        if int(request.headers.get("content-length", _BODY_LIMIT)) >= _BODY_LIMIT:
            raise ValueError("too long")
        given = await request.json()
        if type(given["place"]) is not int:  # True is an int to Python, 0.0 a place to int()
            raise ValueError("place is no number of an item")
        return JSONResponse(book.answer(given["place"], given))

    def asset(name: str) -> Callable[[Request], Any]:
        async def run(request: Request) -> Response:
            return Response(_asset(name), media_type=f"{_ASSETS[name]}; charset=utf-8")

        return run

    routes = [
        Route("/", guarded(page, page=True)),
        Route("/api/head", guarded(head)),
        Route("/api/items", guarded(items)),
    ]
    routes += [Route("/api/answer", guarded(answer), methods=["POST"])]
    return Starlette(routes=routes + [Route(f"/{name}", guarded(asset(name), page=True)) for name in _ASSETS])


def serve(book: Book, port: int, announce: Callable[[str], None]) -> None:
    """Serve the page until Ctrl-C. `announce` is called with its address once it can be opened."""
    try:
        import uvicorn
    except ImportError as error:
        raise ConfigError("the annotation page needs uvicorn and starlette", fix=install_command("annotate")) from error
    key = secrets.token_urlsafe(18)
    sock = _bound(port)
    number = sock.getsockname()[1]
    hosts = frozenset({f"{HOST}:{number}", f"localhost:{number}"})
    settings = uvicorn.Config(
        app(book, key, hosts), log_level="warning", access_log=False, lifespan="off", server_header=False
    )
    server = uvicorn.Server(settings)
    announce(f"http://{HOST}:{number}/?key={key}")
    with sock, suppress(KeyboardInterrupt):  # uvicorn raises it again once it has stopped
        server.run(sockets=[sock])


def _bound(port: int) -> Any:
    import socket

    sock = socket.socket()
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        sock.bind((HOST, port))
        sock.listen()  # who opens the address as soon as it is printed waits, and is not refused
    except OSError as error:
        sock.close()
        raise ConfigError(
            f"port {port} is taken or not allowed ({error.strerror})",
            fix="choose another --port, or 0 for any free one",
        ) from error
    return sock


def _refused(request: Request, key: str, hosts: frozenset[str], *, page: bool) -> str:
    """Why a request is not answered; empty if it is. The page's own files carry the key in their address, its calls
    in a header.
    """
    if request.headers.get("host", "") not in hosts:
        return "this page answers on this machine only"
    origin = request.headers.get("origin")
    if origin is not None and origin.removeprefix("http://") not in hosts:
        return "a request from another page"
    given = request.query_params.get("key", "") if page else request.headers.get("x-key", "")
    if page and request.url.path != "/":
        return ""  # script and style hold nothing of the pool
    return (
        ""
        if hmac.compare_digest(given.encode(), key.encode())
        else "open the whole address that `builder annotate serve` printed"
    )


def _asset(name: str) -> str:
    return (files("builder.gold") / "page" / name).read_text(encoding="utf-8")
