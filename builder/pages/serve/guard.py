"""What stands between a browser and the pages: a check of who asks and under which name, and headers that keep
everything local. Pure ASGI.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from typing import Any

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
