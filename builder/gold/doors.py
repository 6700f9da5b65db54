"""Who may use a page of ours: on this machine whoever has the key of the run, over a network whoever signs in.

In: a request. Out: the name of its annotator, or a `Refusal`. Reviews are hostile input and other programs share the
machine, so every request has to prove where it comes from: a page elsewhere could otherwise reach us by DNS rebinding,
or post a form.
"""

from __future__ import annotations

import hmac
import secrets
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from builder.gold.passwords import Passwords

if TYPE_CHECKING:
    from starlette.requests import Request

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


class Door(Protocol):
    """Says who makes a request."""

    def admit(self, request: Request, *, page: bool) -> str | Refusal:
        """The annotator of a request, or why there is no answer. `page`: it asks for a page or its files, no data."""
        ...

    def key(self, request: Request) -> str:
        """What the page's own calls must bring in the header X-Key."""
        ...


class KeyDoor:
    """This machine alone, one annotator: every request brings the key of this run, and a Host of this machine. The
    address of the page carries the key, its calls a header.
    """

    def __init__(self, annotator: str, key: str, hosts: frozenset[str]) -> None:
        self._annotator, self._key, self._hosts = annotator, key, hosts

    def admit(self, request: Request, *, page: bool) -> str | Refusal:
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
        """End the session of a request."""
        self._sessions.pop(request.cookies.get(COOKIE, ""), None)

    def _session(self, request: Request) -> _Session | None:
        token = request.cookies.get(COOKIE, "")
        session = self._sessions.get(token)
        if session is not None and time.monotonic() - session.used > 3600 * _HOURS:
            del self._sessions[token]
            return None
        return session


def _same(given: str, due: str) -> bool:
    return hmac.compare_digest(given.encode(), due.encode())
