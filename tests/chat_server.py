"""An OpenAI-compatible server on this machine that also misbehaves, for the tests of what asks language models."""

from __future__ import annotations

import json
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from typing import Any

from conftest import LocalServer

Answer = tuple[int, dict[str, str], str, float]
"""(status, headers, body, seconds to wait)"""


def completion(content: str, usage: bool = True) -> str:
    body: dict[str, Any] = {"id": "x", "object": "chat.completion", "created": 1, "model": "m"}
    body["choices"] = [{"index": 0, "message": {"role": "assistant", "content": content}, "finish_reason": "stop"}]
    return json.dumps(
        body | ({"usage": {"prompt_tokens": 100, "completion_tokens": 5, "total_tokens": 105}} if usage else {}),
        ensure_ascii=False,
    )


def well(content: str = "1: YY", wait: float = 0.0) -> Answer:
    return 200, {}, completion(content), wait


class Server:
    """Answers each request by `behave(number of the request for this body, payload)`; remembers what it was asked."""

    def __init__(self, behave: Callable[[int, dict[str, Any]], Answer]) -> None:
        self.asked: list[dict[str, Any]] = []
        self.keys: set[str] = set()
        self.at: list[float] = []
        self.most = 0
        tries: Counter[str] = Counter()
        lock, flying = threading.Lock(), [0]
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"])).decode()
                with lock:
                    tries[body] += 1
                    number = tries[body]
                    flying[0] += 1
                    server.most = max(server.most, flying[0])
                    server.asked.append(json.loads(body))
                    server.at.append(time.monotonic())
                    server.keys.add(self.headers.get("authorization", ""))
                assert self.path == "/v1/chat/completions"
                status, headers, text, wait = behave(number, json.loads(body))
                time.sleep(wait)
                with lock:
                    flying[0] -= 1
                sent = text.encode()
                try:
                    self.send_response(status)
                    for name, value in (
                        {"content-type": "application/json", "content-length": str(len(sent))} | headers
                    ).items():
                        self.send_header(name, value)
                    self.end_headers()
                    self.wfile.write(sent)
                except OSError:
                    self.close_connection = True  # the client went away, as after its timeout

            def log_message(self, *_: object) -> None:
                pass

        self.http = LocalServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.http.server_port}/v1"


@contextmanager
def serving(behave: Callable[[int, dict[str, Any]], Answer]) -> Iterator[Server]:
    server = Server(behave)
    thread = threading.Thread(target=server.http.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.http.shutdown()
        server.http.server_close()


@contextmanager
def dripping(seconds: float, part: bytes = b" ", status: int = 200) -> Iterator[str]:
    """A server that sends `part` again and again, `seconds` apart, until the client goes away."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["content-length"]))
            self.send_response(status)
            self.end_headers()
            until = time.monotonic() + 30
            try:
                while time.monotonic() < until:
                    self.wfile.write(part)
                    self.wfile.flush()
                    time.sleep(seconds)
            except OSError:
                self.close_connection = True

        def log_message(self, *_: object) -> None:
            pass

    http = LocalServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{http.server_port}/v1"
    finally:
        http.shutdown()
        http.server_close()
