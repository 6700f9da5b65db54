"""The HTTP client with which a release is published: the hub's own, with limits for what a server may do.

In: nothing. Out: a factory for `huggingface_hub.set_client_factory`. The hub's own client waits without end and reads
whatever comes, so a server that hangs or never stops would hold this machine.
"""

from __future__ import annotations

import time
from typing import Any

PATIENCE = 90.0
"""Seconds of silence, and for the whole body of an answer; the hub itself gives up after 60."""
MOST_BYTES = 16 << 20
"""Bytes of an answer; a list of ten thousand files takes some megabytes."""
_OF_TRANSFER = (b"content-encoding", b"content-length", b"transfer-encoding")


class HubAnswerTooLarge(Exception):
    """A server sends more than MOST_BYTES."""

    def __init__(self) -> None:
        super().__init__(f"the hub sends an answer of over {MOST_BYTES >> 20} MB")


class AnswerTooSlow(Exception):
    """The body of an answer takes longer than PATIENCE."""

    def __init__(self) -> None:
        super().__init__(f"the hub's answer did not end within {PATIENCE:.0f} s")


def make_client() -> Any:
    """A client like the one that huggingface_hub makes, with limits."""
    from huggingface_hub.utils import _http

    usual = _http.default_client_factory()
    usual.close()
    kind: Any = type(usual)

    class BoundedHubClient(kind):  # type: ignore[misc]
        """The limits hold for every request, however the hub's client makes it."""

        def send(self, request: Any, *, stream: bool = False, **options: Any) -> Any:
            response = super().send(request, stream=True, **options)
            if stream:
                return response
            try:
                body = _read_body(response)
            finally:
                response.close()
            headers = [pair for pair in response.headers.raw if pair[0].lower() not in _OF_TRANSFER]  # as they came
            whole = type(response)(response.status_code, headers=headers, content=body, request=response.request)
            whole.history = response.history
            return whole

    return BoundedHubClient(event_hooks=usual.event_hooks, follow_redirects=True, timeout=PATIENCE)


def _read_body(response: Any) -> bytes:
    """The whole body, as far as the limits allow."""
    body, ended = bytearray(), time.monotonic() + PATIENCE
    for part in response.iter_bytes():
        body += part
        if len(body) > MOST_BYTES:
            raise HubAnswerTooLarge
        if time.monotonic() > ended:
            raise AnswerTooSlow
    return bytes(body)
