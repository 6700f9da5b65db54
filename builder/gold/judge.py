"""Asking an OpenAI-compatible chat endpoint, several requests at a time, with retries. Needs the extra `judge`.

The openai client waits as Retry-After says and backs off on 408, 409, 429, 5xx, timeouts and lost connections; an
answer that is no whole completion is asked again here. The key comes from the environment and is cut out of
everything that comes back. The server is not trusted: a request has a time limit as a whole, a body a size limit, and
no redirect is followed, for it would carry the reviews to somebody else.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from builder.core.errors import ConfigError, ModelError, install_command
from builder.gold.prompt import Question

if TYPE_CHECKING:
    from openai import AsyncOpenAI

_LOOPBACK = ("127.0.0.1", "::1", "localhost")
HIDDEN = "[key]"
_UNREACHED, _BROKEN = "no connection", "broken answer"
GIVE_UP = 10
"""So many failed requests in a row, and the endpoint is taken for broken."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """`url` ends before /chat/completions. `key_name`: the environment variable with the key. `timeout` in seconds
    for one request.
    """

    url: str
    key_name: str = "OPENAI_API_KEY"
    concurrency: int = 8
    retries: int = 5
    timeout: float = 60.0


@dataclass(frozen=True, slots=True)
class Reply:
    """What came back for a question: the body as it came, the message in it, and the tokens it says it used (None: it
    does not say).
    """

    question: Question
    raw: str
    content: str
    prompt_tokens: int | None
    completion_tokens: int | None


@dataclass(frozen=True, slots=True)
class Failure:
    """A question without an answer, after all retries."""

    question: Question
    reason: str
    raw: str = ""


MOST_BYTES = 1 << 20
"""Bytes of an answer; a label takes a few hundred."""
_MOST_TOKENS = 1 << 40


class JudgeAnswerTooLarge(Exception):
    """A server sends more than MOST_BYTES."""


class BrokenAnswer(Exception):
    """A body that is no whole chat completion."""

    def __init__(self, raw: str) -> None:
        super().__init__(f"no chat completion: {raw[:200]!r}")
        self.raw = raw


class Spent(Exception):
    """The cap is reached."""


def key_of(endpoint: Endpoint) -> str:
    """The key, or "" for a server on this machine that needs none; ConfigError for what would show a key to others."""
    parts = urlsplit(endpoint.url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ConfigError(
            f"{_bare(endpoint.url)!r} is no http(s) address",
            where="--endpoint",
            fix="for example https://api.openai.com/v1",
        )
    if parts.username or parts.password or parts.query or parts.fragment:
        raise ConfigError(
            "the address carries a user, a password or a query",
            where="--endpoint",
            fix=f"put the key into the environment as {endpoint.key_name}",
        )
    key, here = os.environ.get(endpoint.key_name, "").strip(), parts.hostname in _LOOPBACK
    if not key and parts.scheme == "https" and not here:
        raise ConfigError(
            f"{endpoint.key_name} is not set",
            where=parts.hostname,
            fix="put the key into the environment, or name its variable with --key-env",
        )
    if key and parts.scheme == "http" and not here:
        raise ConfigError(
            "http would send the key in the clear",
            where="--endpoint",
            fix=f"use https, or unset {endpoint.key_name} for a server without keys",
        )
    return key


def advise(reasons: Sequence[str]) -> str:
    """What to check first where requests failed for these reasons alone; empty where waiting may help."""
    if all(reason.startswith(_UNREACHED) for reason in reasons):
        return "check --endpoint and whether the server runs; "
    if set(reasons) == {_BROKEN}:
        return "check --endpoint: it does not answer as an OpenAI-compatible server; "
    return ""


def ask(endpoint: Endpoint, questions: Sequence[Question], answered: Callable[[Reply | Failure], None]) -> None:
    """Ask every question; `answered` is called with each outcome, one at a time, and may raise `Spent` to stop.

    ModelError where the endpoint refuses the key, the model or everything.
    """
    try:
        import openai  # noqa: F401
    except ImportError as error:
        raise ConfigError("the judge needs openai", fix=install_command("judge")) from error
    asyncio.run(_ask(endpoint, key_of(endpoint), questions, answered))


async def _ask(
    endpoint: Endpoint, key: str, questions: Sequence[Question], answered: Callable[[Reply | Failure], None]
) -> None:
    from openai import AsyncOpenAI

    waiting, row = iter(questions), 0

    async def work() -> None:
        nonlocal row
        for question in waiting:
            outcome = await _outcome(client, question, key, endpoint.retries)
            row = row + 1 if isinstance(outcome, Failure) else 0
            answered(outcome)
            if row >= GIVE_UP:
                assert isinstance(outcome, Failure)
                raise ModelError(
                    f"{GIVE_UP} requests failed in a row ({outcome.reason})",
                    where=endpoint.url,
                    fix=f"{advise([outcome.reason])}what was answered is kept; run it again later",
                )

    async with AsyncOpenAI(
        api_key=key or "none",
        base_url=endpoint.url,
        max_retries=endpoint.retries,
        timeout=2 * endpoint.timeout,  # for each piece; the limit of the whole request comes first
        http_client=_bounded_client(endpoint),
    ) as client:
        tasks = [asyncio.create_task(work()) for _ in range(min(endpoint.concurrency, len(questions)))]
        try:
            await asyncio.gather(*tasks)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)


def _bounded_client(endpoint: Endpoint) -> Any:
    """The HTTP client of openai, whichever library that is, with limits for what a server may do."""
    from openai import DefaultAsyncHttpxClient

    class BoundedJudgeClient(DefaultAsyncHttpxClient):
        """openai's own time limit is for each piece of an answer: a byte a second would never end."""

        async def send(self, request: Any, **options: Any) -> Any:
            options |= {"stream": True, "follow_redirects": False}
            async with asyncio.timeout(endpoint.timeout):
                response = await super().send(request, **options)
                try:
                    body = bytearray()
                    async for part in response.aiter_bytes():
                        body += part
                        if len(body) > MOST_BYTES:
                            raise JudgeAnswerTooLarge
                finally:
                    await response.aclose()
            headers = [pair for pair in response.headers.raw if pair[0].lower() not in _OF_BODY]  # as they came
            headers.append((b"content-type", b"application/json; charset=utf-8"))  # JSON has no other encoding
            return type(response)(response.status_code, headers=headers, content=bytes(body), request=request)

    return BoundedJudgeClient(base_url=endpoint.url, timeout=2 * endpoint.timeout, follow_redirects=False)


_OF_BODY = (b"content-encoding", b"content-length", b"content-type", b"transfer-encoding")


async def _outcome(client: AsyncOpenAI, question: Question, key: str, retries: int) -> Reply | Failure:
    import openai

    last = Failure(question, "no answer")
    for attempt in range(retries + 1):
        try:
            return _reply(question, _hidden(await _body(client, question), key))
        except BrokenAnswer as error:
            last = Failure(question, _BROKEN, error.raw)
            await asyncio.sleep(min(0.25 * 2**attempt, 8))
        except (openai.AuthenticationError, openai.PermissionDeniedError, openai.NotFoundError) as error:
            reason = _hidden(str(error), key)[:300]
            raise ModelError(
                f"refused: {reason}",
                where=str(client.base_url),
                fix="check --endpoint, --model and the key in the environment",
            ) from None
        except openai.APIStatusError as error:
            return Failure(question, f"status {error.status_code}", _hidden(error.response.text, key))
        except openai.APITimeoutError:
            return Failure(question, "timeout")
        except openai.APIConnectionError as error:
            return Failure(question, f"{_UNREACHED} ({type(error.__cause__).__name__})")
        except JudgeAnswerTooLarge:
            return Failure(question, f"an answer of over {MOST_BYTES >> 20} MB")
        except TimeoutError:
            last = Failure(question, "timeout")
    return last


async def _body(client: AsyncOpenAI, question: Question) -> str:
    answer = await client.chat.completions.with_raw_response.create(**question.payload)
    return str(answer.http_response.text)


def _reply(question: Question, raw: str) -> Reply:
    try:
        body: Any = json.loads(raw)
        content, usage = body["choices"][0]["message"]["content"] or "", body.get("usage") or {}
        text = str(content).encode("utf-8", "replace").decode()  # half an emoji fits no database
        return Reply(question, raw, text, _tokens(usage, "prompt_tokens"), _tokens(usage, "completion_tokens"))
    except (ValueError, KeyError, IndexError, TypeError, AttributeError, RecursionError) as error:
        raise BrokenAnswer(raw) from error


def message_of(raw: str) -> str:
    """The message in a kept answer."""
    return str(json.loads(raw)["choices"][0]["message"]["content"] or "").encode("utf-8", "replace").decode()


def _tokens(usage: Mapping[str, Any], name: str) -> int | None:
    """A number of tokens; None for what is none, for the caps are counted with it."""
    value = usage.get(name)
    return value if type(value) is int and 0 <= value <= _MOST_TOKENS else None


def _hidden(text: str, key: str) -> str:
    """Servers quote keys in their errors; what is kept and shown does not."""
    return text.replace(key, HIDDEN) if key else text


def _bare(url: str) -> str:
    """An address without what stands before @ and after ?."""
    return url.rpartition("@")[2].partition("?")[0]
