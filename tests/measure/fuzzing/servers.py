"""Servers that misbehave, and `builder gold judge` that asks them.

In: chance. Out: `script.json`: for each request, in turn, what the server does on the wire: bytes, pauses, endless bodies,
resets. The server is a process of its own, so that its costs are not those of the judge.
"""

from __future__ import annotations

import contextlib
import gzip
import json
import os
import random
import shutil
import socket
import struct
import threading
import time
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from measure.fuzzing.case import Family, check_ran, run_command
from measure.fuzzing.changes import WORDS, change_bytes, change_json, write_json

Action = list[Any]
STATUS = (
    "HTTP/1.1 200 OK", "HTTP/1.0 200 OK", "HTTP/1.1 200", "HTTP/9.9 200 OK", "HTTP/1.1 2000 OK", "HTTP/1.1 -1 OK", "HTTP/1.1 abc OK", "ICY 200 OK", "", "\x00\x01\x02", "HTTP/1.1 100 Continue", "HTTP/1.1 101 Switching", "HTTP/1.1 204 No Content",
    "HTTP/1.1 206 Partial", "HTTP/1.1 301 Moved", "HTTP/1.1 302 Found", "HTTP/1.1 307 Temporary", "HTTP/1.1 308 Permanent", "HTTP/1.1 400 Bad", "HTTP/1.1 401 No", "HTTP/1.1 403 No", "HTTP/1.1 404 No", "HTTP/1.1 408 Late", "HTTP/1.1 409 Conflict",
    "HTTP/1.1 413 Large", "HTTP/1.1 418 Tea", "HTTP/1.1 429 Busy", "HTTP/1.1 500 Oops", "HTTP/1.1 502 Bad", "HTTP/1.1 503 Busy", "HTTP/1.1 599 Odd", "HTTP/1.1 200 " + "x" * 100_000, "HTTP/1.1 200 \u6e6f", "SSH-2.0-OpenSSH_9.6",
)  # fmt: skip
HEADERS = (
    "Content-Type: text/html", "Content-Type: application/json; charset=utf-16", "Content-Type: \x00", "Content-Type: application/json; charset=nonsense", "Content-Encoding: gzip", "Content-Encoding: br", "Content-Encoding: deflate, gzip, gzip", "Content-Encoding: zstd",
    "Content-Length: 5", "Content-Length: 99999999999", "Content-Length: -1", "Content-Length: abc", "Content-Length: 5, 6", "Transfer-Encoding: chunked", "Transfer-Encoding: gzip, chunked", "Transfer-Encoding: nonsense",
    "Location: http://127.0.0.1:9/elsewhere", "Location: file:///etc/passwd", "Location: \u6e6f", "Location: /v1/chat/completions", "Retry-After: 0", "Retry-After: -1", "Retry-After: nan", "Retry-After: 1e999", "Retry-After: Wed, 21 Oct 2099 07:28:00 GMT", "retry-after-ms: -5", "retry-after-ms: nan", "x-should-retry: true",
    "x-should-retry: false", "Set-Cookie: a=b; Domain=evil.example", "Connection: close", "Connection: upgrade", "broken header", ": empty", "X: " + "y" * 60_000, "X: \x1b[31m", "x-request-id: \u202e", "Link: <http://127.0.0.1:9/>; rel=next", "X-Error-Message: \x1b]0;x\x07", "X-Error-Code: RepoNotFound",
)  # fmt: skip


def completion(rng: random.Random) -> Any:
    """The body of a well-behaved answer."""
    content = rng.choice(("1: YY", "1: YN\n2: NX", "", "YY" * 1_000, "1: " + "9" * 5_000, *WORDS))
    choice = {"index": 0, "message": {"role": "assistant", "content": content}, "finish_reason": "stop"}
    usage = {"prompt_tokens": 100, "completion_tokens": 5, "total_tokens": 105}
    return {"id": "x", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice], "usage": usage}


def answer(body: bytes, rng: random.Random) -> list[Action]:
    """What a server does with a body: mostly sends it, with something odd about it."""
    rate = rng.choice((0.0, 0.0, 0.1, 0.5))
    status = rng.choice(STATUS) if rng.random() < rate else STATUS[0]
    headers = [rng.choice(HEADERS) for _ in range(rng.choice((1, 1, 3, 200)))] if rng.random() < rate else []
    if any("gzip" in header for header in headers) and rng.random() < 0.7:
        body = gzip.compress(body if rng.random() < 0.5 else b" " * (50 << 20))
    elif any("deflate" in header for header in headers):
        body = zlib.compress(body)
    if not any(header.startswith(("Content-Length", "Transfer-Encoding")) for header in headers):
        headers.append(rng.choice((f"Content-Length: {len(body)}",) * 4 + ("Connection: close",)))
    if "Transfer-Encoding: chunked" in headers:
        sizes = (f"{len(body):x}",) * 3 + ("FFFFFFFFFFFFFFFF", "-1", "zz", "")
        body = rng.choice(sizes).encode() + b"\r\n" + body + b"\r\n0\r\n\r\n"
    if not any(header.startswith("Content-Type") for header in headers):
        headers.append("Content-Type: application/json")
    rng.shuffle(headers)
    end = rng.choice(("\r\n", "\n")) if rng.random() < rate else "\r\n"
    head = (end.join([status, *headers]) + end + end).encode("utf-8")
    match rng.randrange(14):
        case 0:
            return [["send", change_bytes(head + body, rng)]]
        case 1:
            return [["send", (head + body)[: rng.randrange(len(head + body))]], [rng.choice(("close", "reset"))]]
        case 2:
            return [["send", head], ["drip", body, rng.choice((0.05, 0.2, 1.0))]]
        case 3:
            return [["drip", head + body, rng.choice((0.01, 0.2))]]
        case 4:
            return [["send", head.replace(b"Content-Length", b"X-Length")], ["forever", rng.choice((b" ", b"[", b"0" * 1_000, body))]]  # fmt: skip
        case 5:
            return [["send", STATUS[0].encode() + b"\r\n"], ["forever", rng.choice((b"X: y\r\n", b"X", b"\r\n "))]]
        case 6:
            return [["wait", rng.choice((0.2, 30.0))], ["send", head + body]]
        case 7:
            return [[rng.choice(("close", "reset"))]]
    return [["send", head + body]]


def write_script(folder: Path, answers: list[list[Action]]) -> None:
    """The script as JSON: bytes as Latin-1."""
    readable = [
        [[part.decode("latin-1") if isinstance(part, bytes) else part for part in action] for action in actions]
        for actions in answers
    ]
    (folder / "script.json").write_text(json.dumps(readable), encoding="utf-8")


@contextlib.contextmanager
def serving(folder: Path) -> Iterator[str]:
    """The address of a server that plays the folder's script, in a process of its own; it ends with the case."""
    answers = json.loads((folder / "script.json").read_text(encoding="utf-8"))
    listening = socket.create_server(("127.0.0.1", 0), backlog=64)
    port = listening.getsockname()[1]
    child = os.fork()
    if not child:
        with contextlib.suppress(BaseException):
            _serve(listening, answers)
        os._exit(0)
    listening.close()
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.kill(child, 9)


def _serve(listening: socket.socket, answers: list[list[Action]]) -> None:
    turn, lock = [0], threading.Lock()

    def talk(connection: socket.socket) -> None:
        with contextlib.suppress(OSError), connection:
            connection.settimeout(30)
            rest = b""
            while (rest := _read_request(connection, rest)) is not None:
                with lock:
                    actions, turn[0] = answers[turn[0] % len(answers)], turn[0] + 1
                for action in actions:
                    _play(connection, *action)

    while True:
        connection, _ = listening.accept()
        threading.Thread(target=talk, args=(connection,), daemon=True).start()


def _read_request(connection: socket.socket, rest: bytes) -> bytes | None:
    """Read a request; what came behind it, None at the end."""
    while b"\r\n\r\n" not in rest:
        part = connection.recv(1 << 16)
        if not part:
            return None
        rest += part
    head, _, rest = rest.partition(b"\r\n\r\n")
    lengths = [int(line.split(b":")[1]) for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")]
    if b"\r\ntransfer-encoding: chunked" in head.lower():
        while not rest.endswith(b"0\r\n\r\n") and (part := connection.recv(1 << 16)):
            rest += part
        return b""
    due = lengths[0] if lengths else 0
    while len(rest) < due and (part := connection.recv(1 << 16)):
        rest += part
    return rest[due:]


def _play(connection: socket.socket, kind: str, *parts: Any) -> None:
    content = parts[0].encode("latin-1") if parts and isinstance(parts[0], str) else b""
    match kind:
        case "send":
            connection.sendall(content)
        case "drip":
            for byte in content:
                connection.sendall(bytes([byte]))
                time.sleep(parts[1])
        case "forever":
            block = (content or b" ") * max(1, 65_536 // max(len(content), 1))
            while True:
                connection.sendall(block)
        case "wait":
            time.sleep(parts[0])
        case "reset":
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            raise OSError
        case _:
            raise OSError


# ---- the judge


def prepare(base: Path) -> None:
    """A working directory with a pool."""
    from goldwork import pooled

    pooled(base)


def load() -> None:
    """Import what the judge needs."""
    import openai.resources.chat  # noqa: F401

    import builder.cli.main
    import builder.gold.judge
    import builder.teaching.judging  # noqa: F401


def make(base: Path, folder: Path, rng: random.Random) -> None:
    """A script of three answers in turn."""
    answers = []
    for _ in range(3):
        body = completion(rng)
        if rng.random() < 0.7:
            body = change_json(body, rng, rng.choice((1, 1, 2)))
        content = write_json(body, rng)
        if rng.random() < 0.1:
            content = rng.choice((b"", b"null", b"[]", b"[" * 200_000, b'{"choices": ' * 5_000, b"data: {}\n\n", b"<html>", b"\xff\xfe", b" " * (3 << 20)))  # fmt: skip
        answers.append(answer(content, rng))
    write_script(folder, answers)


def use(base: Path, folder: Path) -> str:
    """`builder gold judge` with short time limits."""
    workdir = shutil.copytree(base / "w", folder / "w")
    os.environ |= {"OPENAI_API_KEY": "sk-0123456789", "NO_PROXY": "*"}
    with serving(folder) as url:
        words = ("--model", "m", "--yes", "--workdir", workdir, "--timeout", 0.4, "--retries", 1, "--concurrency", 4)
        ran = run_command(folder, "judge", "--endpoint", f"{url}/v1", *words)
    assert "sk-0123456789" not in ran.out + ran.err, "the key is shown"
    return check_ran(ran)


FAMILY = Family("judge", "servers that misbehave, asked by judge: on the wire, in headers, in JSON", 700, prepare, load, make, use, 60.0, 3)  # fmt: skip
