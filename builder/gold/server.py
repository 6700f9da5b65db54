"""The server of our pages for people: a page, its files, and calls that answer in JSON. Needs the extra `annotate`.

In: a `LabelSite` and a `Door` that says who asks. On this machine that is whoever has the key of the run; over a
network, whoever signs in. The page builds text nodes only, and its policy allows no foreign script, since reviews are
hostile input.

Each person who may sign in has a password of their own. `annotators.json` in the working directory, readable by its
owner alone, holds a salt and a hash (scrypt) for each name, never a password. It lies beside the database, so that the
database can be handed on.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import secrets
import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from builder.core.errors import BuilderError, ConfigError, InputError
from builder.core.files import write_atomically
from builder.core.markup import shared_rules

if TYPE_CHECKING:
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response

# ---- Passwords

NAME = "annotators.json"
SHORTEST = 8
_COST, _BLOCK, _LANES = 1 << 14, 8, 1
"""scrypt's N, r and p: 16 MB and some 50 ms for a try."""


@dataclass(frozen=True, slots=True)
class Passwords:
    """Who may sign in: name -> (salt, hash)."""

    hashes: Mapping[str, tuple[bytes, bytes]]

    def fits(self, name: str, password: str) -> bool:
        """Whether it is the password of `name`. An unknown name takes as long as a known one."""
        salt, due = self.hashes.get(name, (b"", b""))
        return hmac.compare_digest(_hash(password, salt), due)


def read_passwords(workdir: Path) -> Passwords:
    """The passwords of a working directory; none where nobody has one. InputError where the file is broken."""
    path = workdir / NAME
    if not path.is_file():
        return Passwords({})
    try:
        rows = json.loads(path.read_text(encoding="utf-8"))
        return Passwords({name: (bytes.fromhex(salt), bytes.fromhex(due)) for name, (salt, due) in rows.items()})
    except (ValueError, AttributeError, TypeError) as error:
        raise InputError(
            f"it is broken ({error})", where=str(path), fix="delete it, then set the passwords again"
        ) from error


def set_password(workdir: Path, name: str, password: str) -> None:
    """Give `name` a password, in place of an earlier one. ConfigError for one that is too short."""
    if len(password) < SHORTEST:
        raise ConfigError(f"the password has fewer than {SHORTEST} characters", fix="choose a longer one")
    salt = secrets.token_bytes(16)
    _write(workdir, {**read_passwords(workdir).hashes, name: (salt, _hash(password, salt))})


def remove_password(workdir: Path, name: str) -> None:
    """Let `name` sign in no more; the labels stay. ConfigError for a name without a password."""
    kept = dict(read_passwords(workdir).hashes)
    if kept.pop(name, None) is None:
        raise ConfigError(f"{name!r} has no password", fix="known: " + (", ".join(sorted(kept)) or "nobody"))
    _write(workdir, kept)


def _write(workdir: Path, hashes: Mapping[str, tuple[bytes, bytes]]) -> None:
    path = workdir / NAME
    rows = {name: (salt.hex(), due.hex()) for name, (salt, due) in sorted(hashes.items())}
    path.touch(mode=0o600)
    write_atomically(path, (json.dumps(rows, ensure_ascii=False, indent=1) + "\n").encode())
    path.chmod(0o600)


def _hash(password: str, salt: bytes) -> bytes:
    return hashlib.scrypt(password.encode(), salt=salt, n=_COST, r=_BLOCK, p=_LANES)


# ---- Doors and the server

COOKIE = "builder_session"
_HOURS = 12
"""A session that rests so long has ended."""
_TRIES, _MINUTE = 5, 60.0
"""Wrong passwords for a name that an address may give within a minute."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a request is not answered. `sign_in`: a person who signs in would get an answer."""

    reason: str
    sign_in: bool = False
    status: int = 403


class KeyDoor:
    """Says who makes a request.

    This machine alone, one annotator: every request brings the key of this run, and a Host of this machine. The
    address of the page carries the key, its calls a header.
    """

    def __init__(self, annotator: str, key: str, hosts: frozenset[str]) -> None:
        self._annotator, self._key, self._hosts = annotator, key, hosts

    def admit(self, request: Request, *, page: bool) -> str | Refusal:
        """The annotator of a request, or why there is no answer. `page`: it asks for a page or its files, no data."""
        if request.headers.get("host", "") not in self._hosts:
            return Refusal("this page answers on this machine only")
        origin = request.headers.get("origin")
        if origin is not None and origin.removeprefix("http://") not in self._hosts:
            return Refusal("a request from another page")
        given = request.query_params.get("key", "") if page else request.headers.get("x-key", "")
        if not _same(given, self._key):
            return Refusal("open the whole address that the command printed")
        return self._annotator

    def key(self, request: Request) -> str:
        """What the page's own calls must bring in the header X-Key."""
        return self._key


@dataclass(slots=True)
class _Session:
    """Who signed in; `key` is for the page's calls, so that no page elsewhere can make them."""

    annotator: str
    key: str
    used: float


class PasswordDoor:
    """A network: people sign in with a password of their own. `origin` is the address that they open, where a proxy
    stands before the page.
    """

    def __init__(self, passwords: Passwords, origin: str = "") -> None:
        self._passwords, self._origin = passwords, origin.rstrip("/")
        self._sessions: dict[str, _Session] = {}
        self._wrong: dict[tuple[str, str], list[float]] = {}

    @property
    def secure(self) -> bool:
        """Whether people come by HTTPS, so that the cookie never travels otherwise."""
        return self._origin.startswith("https://")

    def admit(self, request: Request, *, page: bool) -> str | Refusal:
        if refusal := self.refuse_foreign(request):
            return refusal
        session = self._session(request)
        if session is None:
            return Refusal("sign in first; your session has ended", sign_in=True, status=401)
        if not page and not _same(request.headers.get("x-key", ""), session.key):
            return Refusal("a call that the page did not make")
        session.used = time.monotonic()
        return session.annotator

    def key(self, request: Request) -> str:
        session = self._session(request)
        return session.key if session else ""

    def refuse_foreign(self, request: Request) -> Refusal | None:
        """Why a request from another page is not answered; None where it is our own."""
        origin = request.headers.get("origin")
        if origin is None:
            return None
        own = origin == self._origin if self._origin else origin.partition("://")[2] == request.headers.get("host", "")
        return None if own else Refusal("a request from another page; behind a proxy, name its address with --origin")

    def sign_in(self, name: str, password: str, address: str) -> str | Refusal:
        """The token of a new session, for a cookie. After some wrong passwords for a name an address has to wait a
        minute; the name itself gets in from elsewhere, so that nobody keeps another out.
        """
        known = name if name in self._passwords.hashes else ""  # strangers share a place, so that none costs memory
        now = time.monotonic()
        self._wrong = {tried: moments for tried, moments in self._wrong.items() if now - moments[-1] < _MINUTE}
        wrong = [moment for moment in self._wrong.get((address, known), []) if now - moment < _MINUTE]
        if len(wrong) >= _TRIES:
            return Refusal("too many wrong passwords; wait a minute", status=429)
        if not self._passwords.fits(name, password):
            self._wrong[address, known] = [*wrong, now]
            return Refusal("name or password is wrong", status=401)
        self._wrong.pop((address, known), None)
        token = secrets.token_urlsafe(32)
        self._sessions[token] = _Session(name, secrets.token_urlsafe(18), now)
        return token

    def sign_out(self, request: Request) -> None:
        self._sessions.pop(request.cookies.get(COOKIE, ""), None)

    def _session(self, request: Request) -> _Session | None:
        token = request.cookies.get(COOKIE, "")
        session = self._sessions.get(token)
        if session is not None and time.monotonic() - session.used > 3600 * _HOURS:
            del self._sessions[token]
            return None
        return session


Door = KeyDoor | PasswordDoor


def _same(given: str, due: str) -> bool:
    return hmac.compare_digest(given.encode(), due.encode())


Json = dict[str, Any]
LOCAL = "127.0.0.1"
_ALL = ("0.0.0.0", "::")
"""Hosts that stand for every address of this machine, and that no browser opens."""
_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
_TYPES = {".js": "text/javascript", ".css": "text/css"}
_SIGN_IN = ("sign.js",)
_BODY_LIMIT = 100_000
_NO_ANSWER = (ValueError, KeyError, TypeError, IndexError, AttributeError, OverflowError)


@dataclass(frozen=True, slots=True)
class LabelSite:
    """`page` and `assets` are files of gold/page. `reads` and `writes`: path -> what it answers to (annotator, query)
    and to (annotator, body). Those in `slow` run beside the others; they touch no database.
    """

    page: str
    assets: tuple[str, ...]
    reads: Mapping[str, Callable[[str, Mapping[str, str]], object]]
    writes: Mapping[str, Callable[[str, Json], object]]
    slow: frozenset[str] = frozenset()


def app(site: LabelSite, door: Door) -> Starlette:
    """The application of a site, for those whom the door admits."""
    from starlette.applications import Starlette
    from starlette.concurrency import run_in_threadpool
    from starlette.responses import JSONResponse, Response
    from starlette.routing import Route

    def guard(handler: Callable[[Request, str], Any], *, page: bool = False) -> Callable[[Request], Any]:
        async def run(request: Request) -> Response:
            annotator = door.admit(request, page=page)
            if isinstance(annotator, Refusal):
                if page and annotator.sign_in:
                    return Response(_asset("sign.html"), 200, _HEADERS, "text/html; charset=utf-8")
                return Response(annotator.reason, annotator.status, _HEADERS, "text/plain; charset=utf-8")
            answer: Response = await _explained(handler(request, annotator))
            answer.headers.update(_HEADERS)
            return answer

        return run

    async def page(request: Request, annotator: str) -> Response:
        content = _asset(site.page).replace("{{key}}", door.key(request))
        return Response(content, media_type="text/html; charset=utf-8")

    async def call(request: Request, annotator: str) -> Response:
        path = request.url.path
        if request.method != "POST":
            return JSONResponse(site.reads[path](annotator, request.query_params))
        body = await _body(request)
        if path in site.slow:
            return JSONResponse(await run_in_threadpool(site.writes[path], annotator, body))
        return JSONResponse(site.writes[path](annotator, body))

    async def asset(request: Request) -> Response:  # it holds nothing that is anybody's
        name = request.url.path[1:]
        return Response(_asset(name), 200, _HEADERS, f"{_TYPES[name[name.rindex('.') :]]}; charset=utf-8")

    routes = [Route("/", guard(page, page=True))]
    routes += [Route(path, guard(call)) for path in site.reads]
    routes += [Route(path, guard(call), methods=["POST"]) for path in site.writes]
    routes += [Route(f"/{name}", asset) for name in (*site.assets, *_SIGN_IN)]
    if isinstance(door, PasswordDoor):
        routes += _sign_in_routes(door)
    return Starlette(routes=routes)


async def _explained(answering: Awaitable[Response]) -> Response:
    """The answer of a handler, or why there is none, in a sentence."""
    from starlette.requests import ClientDisconnect
    from starlette.responses import JSONResponse, Response

    try:
        return await answering
    except _NO_ANSWER as error:
        return JSONResponse({"error": f"no answer that can be kept: {str(error)[:300]}"}, 400)
    except RecursionError:
        return JSONResponse({"error": "no answer that can be kept: it is nested too deeply"}, 400)
    except ClientDisconnect:
        return Response(status_code=400)  # nobody reads it
    except BuilderError as error:
        return JSONResponse({"error": str(error)}, 503)


def _sign_in_routes(door: PasswordDoor) -> list[Any]:
    """Signing in sets a cookie that no script can read, signing out ends its session."""
    from starlette.requests import ClientDisconnect
    from starlette.responses import JSONResponse
    from starlette.routing import Route

    async def sign_in(request: Request) -> Response:
        token: str | Refusal | None = door.refuse_foreign(request)
        if token is None:
            try:
                given = await _body(request)
                address = request.client.host if request.client else ""
                token = door.sign_in(str(given["name"])[:64], str(given["password"])[:1000], address)
            except (*_NO_ANSWER, RecursionError, ClientDisconnect):
                token = Refusal("no name and password", status=400)
        if isinstance(token, Refusal):
            return JSONResponse({"error": token.reason}, token.status, _HEADERS)
        answer = JSONResponse({}, 200, _HEADERS)
        answer.set_cookie(COOKIE, token, httponly=True, samesite="strict", secure=door.secure)
        return answer

    async def sign_out(request: Request) -> Response:
        if refusal := door.refuse_foreign(request):
            return JSONResponse({"error": refusal.reason}, refusal.status, _HEADERS)
        door.sign_out(request)
        answer = JSONResponse({}, 200, _HEADERS)
        answer.delete_cookie(COOKIE)
        return answer

    return [Route(f"/api/{run.__name__}", run, methods=["POST"]) for run in (sign_in, sign_out)]


async def _body(request: Request) -> Json:
    """The JSON object that a request brings. ValueError where it is none, or too long."""
    if request.headers.get("content-type", "").partition(";")[0] != "application/json":
        raise ValueError("not JSON")
    content = bytearray()
    async for part in request.stream():  # what a header says of its length need not be true
        content += part
        if len(content) >= _BODY_LIMIT:
            raise ValueError("too long")
    given = json.loads(content)
    if not isinstance(given, dict):
        raise ValueError("not an object")
    return given


def serve(
    site: LabelSite, user: str | Passwords, announce: Callable[[str], None], host: str = LOCAL, port: int = 0,
    origin: str = "",
) -> None:  # fmt: skip
    """Serve a site until Ctrl-C: to `user` on this machine, or to all who have a password. `announce` is called with
    the address once it can be opened.

    Args:
        host: an address of this machine.
        port: 0: any free one.
        origin: the address that people open, where a proxy stands before the page.
    """
    import starlette  # noqa: F401
    import uvicorn

    sock = listen(host, port)
    number = sock.getsockname()[1]
    address = f"http://{LOCAL if host in _ALL else host}:{number}/"
    door: Door
    if isinstance(user, Passwords):
        door, address = PasswordDoor(user, origin), origin or address
    else:
        key = secrets.token_urlsafe(18)
        door = KeyDoor(user, key, frozenset({f"{LOCAL}:{number}", f"localhost:{number}"}))
        address = f"{address}?key={key}"
    settings = uvicorn.Config(
        app(site, door), log_level="warning", access_log=False, lifespan="off", server_header=False
    )
    server = uvicorn.Server(settings)
    announce(address)
    with sock, suppress(KeyboardInterrupt):  # uvicorn raises it again once it has stopped
        server.run(sockets=[sock])


def elsewhere(address: str, host: str) -> str:
    """The address under which other machines of the network reach a page that is served to all; empty for one host."""
    import socket

    port = address.rpartition(":")[2]
    return f"http://{socket.gethostname()}:{port}" if host in _ALL and address.startswith(f"http://{LOCAL}:") else ""


def listen(host: str, port: int) -> Any:
    """An open socket; ConfigError where the address cannot be had."""
    import socket

    opened = None
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        opened = socket.socket(family, kind, protocol)
        opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        opened.bind(address)
        opened.listen()  # whoever comes between the telling of the address and the first page waits
    except (OSError, UnicodeError) as error:  # UnicodeError: a host that cannot be a name
        if opened is not None:
            opened.close()
        raise ConfigError(
            f"cannot listen on {host}:{port} ({getattr(error, 'strerror', None) or error})",
            fix="choose another --port (0: any free one)",
        ) from error
    return opened


def _asset(name: str) -> str:
    text = (files("builder.gold") / "page" / name).read_text(encoding="utf-8")
    return shared_rules() + text if name == "page.css" else text
