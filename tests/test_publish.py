"""`builder versions publish` against a server on loopback that speaks the hub's HTTP API, failures included."""

from __future__ import annotations

import base64
import hashlib
import json
import shutil
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest
from conftest import LAYOUTS, Command, LocalServer, environment

hub = pytest.importorskip("huggingface_hub", reason="the extra publish is not installed")
SECRET = "hf_secretSECRETsecretSECRETsecretSEC"
REPOSITORY = "somebody/some-reviews"
FIRST = "1" * 40


@dataclass
class Hub:
    """The state of the fake hub. `fail` names the step whose next request fails; `seen` are the steps in order."""

    url: str = ""
    exists: bool = False
    head: str = FIRST
    commits: dict[str, dict[str, bytes]] = field(default_factory=lambda: {FIRST: {".gitattributes": b"* text\n"}})
    tags: dict[str, str] = field(default_factory=dict)
    large: dict[str, bytes] = field(default_factory=dict)
    uploads: list[str] = field(default_factory=list)
    kind: str = "dataset"
    fail: str = ""
    seen: list[str] = field(default_factory=list)
    tokens: set[str] = field(default_factory=set)

    def is_large(self, path: str) -> bool:
        return path.endswith((".jsonl", ".parquet", ".safetensors"))

    @property
    def api(self) -> str:
        return f"/api/{self.kind}s/{REPOSITORY}"

    @property
    def page(self) -> str:
        """Datasets have a prefix on the hub, models have none."""
        return f"/datasets/{REPOSITORY}" if self.kind == "dataset" else f"/{REPOSITORY}"


def git_hash(content: bytes) -> str:
    return hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    hub: Hub

    def log_message(self, format: str, *arguments: object) -> None:
        pass

    def answer(self, status: int, body: Any = None) -> None:
        content = b"" if body is None else json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def step(self, name: str) -> bool:
        """Note a step; False, with an answer already given, where it is to fail."""
        self.hub.seen.append(name)
        if name != "upload":  # an upload URL is signed and carries no token
            self.hub.tokens.add(self.headers.get("Authorization", ""))
        if self.hub.fail == name:
            self.hub.fail = ""
            self.answer(403, {"error": f"the fake hub fails at {name}; you said {self.headers.get('Authorization')}"})
            return False
        return True

    def body(self) -> bytes:
        if self.headers.get("Transfer-Encoding") == "chunked":
            out = b""
            while size := int(self.rfile.readline(), 16):
                out += self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
            return out
        return self.rfile.read(int(self.headers.get("Content-Length", 0)))

    def do_GET(self) -> None:
        path = self.path.partition("?")[0]
        own = self.hub.api
        if path == f"{own}/refs":
            if self.step("refs"):
                branches = [{"name": "main", "ref": "refs/heads/main", "targetCommit": self.hub.head}]
                tags = [
                    {"name": name, "ref": f"refs/tags/{name}", "targetCommit": oid}
                    for name, oid in self.hub.tags.items()
                ]
                self.answer(200, {"branches": branches, "tags": tags, "converts": []})
        elif path.startswith(f"{own}/tree/"):
            if self.step("tree"):
                revision = path.removeprefix(f"{own}/tree/")
                files = self.hub.commits[self.hub.head if revision == "main" else self.hub.tags[revision]]
                self.answer(200, [self.entry(name, content) for name, content in files.items()])
        else:
            self.answer(404, {"error": f"the fake hub has no GET {path}"})

    def entry(self, path: str, content: bytes) -> dict[str, Any]:
        out: dict[str, Any] = {"type": "file", "path": path, "size": len(content), "oid": git_hash(content)}
        if self.hub.is_large(path):
            oid = hashlib.sha256(content).hexdigest()
            out["lfs"] = {"oid": oid, "size": len(content), "pointerSize": 130}
            out["oid"] = git_hash(oid.encode())
        return out

    def do_PUT(self) -> None:
        content = self.body()
        if self.step("upload"):
            oid = self.path.rpartition("/")[2]
            assert hashlib.sha256(content).hexdigest() == oid
            self.hub.large[oid] = content
            self.hub.uploads.append(oid)
            self.answer(200)

    def do_POST(self) -> None:
        path, content = self.path.partition("?")[0], self.body()
        own = self.hub.api
        if path == "/api/repos/create":
            if self.step("create"):
                asked = json.loads(content)
                assert asked["type"] == self.hub.kind
                assert f"{asked['organization']}/{asked['name']}" == REPOSITORY
                status, self.hub.exists = (409 if self.hub.exists else 200), True
                self.answer(status, {"url": f"{self.hub.url}{self.hub.page}"})
        elif path == "/api/validate-yaml":
            self.answer(200, {"errors": [], "warnings": []})
        elif path == f"{own}/preupload/main":
            if self.step("preupload"):
                files = self.hub.commits[self.hub.head]
                told = [
                    {
                        "path": one["path"],
                        "uploadMode": "lfs" if self.hub.is_large(one["path"]) else "regular",
                        "shouldIgnore": False,
                        "oid": self.entry(one["path"], files[one["path"]])["oid"] if one["path"] in files else None,
                    }
                    for one in json.loads(content)["files"]
                ]
                self.answer(200, {"files": told})
        elif path == f"{self.hub.page}.git/info/lfs/objects/batch":
            if self.step("batch"):
                objects = [self.object(one) for one in json.loads(content)["objects"]]
                self.answer(200, {"transfer": "basic", "objects": objects})
        elif path == f"{own}/commit/main":
            if self.step("commit"):
                self.commit([json.loads(line) for line in content.decode().splitlines()])
        elif path.startswith(f"{own}/tag/"):
            if self.step("tag"):
                self.hub.tags[json.loads(content)["tag"]] = path.removeprefix(f"{own}/tag/")
                self.answer(200, {})
        else:
            self.answer(404, {"error": f"the fake hub has no POST {path}"})

    def object(self, one: dict[str, Any]) -> dict[str, Any]:
        out = {"oid": one["oid"], "size": one["size"]}
        if one["oid"] not in self.hub.large:
            out["actions"] = {"upload": {"href": f"{self.hub.url}/upload/{one['oid']}"}}
        return out

    def commit(self, lines: list[dict[str, Any]]) -> None:
        assert lines[0]["key"] == "header"
        if lines[0]["value"].get("parentCommit") != self.hub.head:
            self.answer(412, {"error": "somebody else was faster"})
            return
        files = dict(self.hub.commits[self.hub.head])
        for line in lines[1:]:
            value = line["value"]
            if line["key"] == "deletedFile":
                del files[value["path"]]
            elif line["key"] == "lfsFile":
                files[value["path"]] = self.hub.large[value["oid"]]
            else:
                files[value["path"]] = base64.b64decode(value["content"])
        oid = hashlib.sha1(repr(sorted(files.items())).encode()).hexdigest()
        self.hub.commits[oid], self.hub.head = files, oid
        address = f"{self.hub.url}{self.hub.page}/commit/{oid}"
        self.answer(200, {"success": True, "commitUrl": address, "commitOid": oid})


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Hub]:
    """A fake hub that the real client talks to."""
    state = Hub()
    handler = type("Bound", (Handler,), {"hub": state})
    httpd = LocalServer(("127.0.0.1", 0), handler)
    state.url = f"http://127.0.0.1:{httpd.server_address[1]}"
    thread = threading.Thread(target=httpd.serve_forever, daemon=True)
    thread.start()
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "ENDPOINT", state.url)
    monkeypatch.setattr(constants, "HF_TOKEN_PATH", str(tmp_path / "token"))
    monkeypatch.setattr(constants, "HF_HUB_DISABLE_XET", True)  # the fake knows no chunk storage
    monkeypatch.setenv("HF_TOKEN", SECRET)
    monkeypatch.setenv("HF_HUB_DISABLE_PROGRESS_BARS", "1")
    yield state
    httpd.shutdown()
    httpd.server_close()
    thread.join()


@pytest.fixture
def release(tmp_path: Path) -> Path:
    return Path(shutil.copytree(LAYOUTS / "v0.1.0", tmp_path / "v0.1.0"))


def contents(release: Path) -> dict[str, bytes]:
    return {path.relative_to(release).as_posix(): path.read_bytes() for path in release.rglob("*") if path.is_file()}


def test_without_yes_nothing_is_sent_and_every_file_is_named(here: Command, server: Hub, release: Path) -> None:
    ran = here("publish", release, "--repo", REPOSITORY)
    assert ran.code == 0, ran.err
    assert server.seen == []
    files = contents(release)
    assert all(name in ran.out for name in files)
    assert f"{len(files)} files, {sum(map(len, files.values())):,} bytes" in ran.out
    assert "tag v0.1.0" in ran.out
    assert "--yes" in ran.out


def test_a_release_becomes_one_commit_with_a_tag_and_the_same_bytes(here: Command, server: Hub, release: Path) -> None:
    ran = here("publish", release, "--repo", REPOSITORY, "--yes")
    assert ran.code == 0, ran.err
    assert server.seen.count("commit") == 1
    assert server.seen.index("upload") < server.seen.index("commit") < server.seen.index("tag")
    assert server.tags == {"v0.1.0": server.head}
    assert server.commits[server.head] == contents(release) | {".gitattributes": b"* text\n"}
    assert f"{len(contents(release))} files sent, 0 removed, tag v0.1.0 set" in ran.out
    assert server.tokens == {f"Bearer {SECRET}"}
    assert SECRET not in ran.out + ran.err


def test_publishing_again_does_nothing(here: Command, server: Hub, release: Path) -> None:
    assert here("publish", release, "--repo", REPOSITORY, "--yes").code == 0
    commits, uploads = dict(server.commits), list(server.uploads)
    ran = here("publish", release, "--repo", REPOSITORY, "--yes")
    assert ran.code == 0, ran.err
    assert "nothing to send, tag v0.1.0 was there" in ran.out
    assert (server.commits, server.uploads) == (commits, uploads)


@pytest.mark.parametrize("step", ["create", "refs", "tree", "preupload", "batch", "upload", "commit", "tag"])
def test_a_failure_in_the_middle_leaves_no_half_release_and_a_rerun_completes(
    here: Command, server: Hub, release: Path, step: str
) -> None:
    server.fail = step
    ran = here("publish", release, "--repo", REPOSITORY, "--yes")
    assert "publishing did not finish" in ran.error
    assert "run the same command again" in ran.error
    assert SECRET not in ran.out + ran.err
    assert server.tags == {}
    assert len(server.commits) == (2 if step == "tag" else 1), "a commit is whole or not there"
    again = here("publish", release, "--repo", REPOSITORY, "--yes")
    assert again.code == 0, again.err
    assert server.tags == {"v0.1.0": server.head}
    assert contents(release).items() <= server.commits[server.head].items()
    assert len(server.commits) == 2
    assert len(server.uploads) == len(set(server.uploads)), "what had arrived was not sent twice"


def test_a_file_that_the_next_version_lacks_is_removed_in_the_same_commit(
    here: Command, server: Hub, release: Path
) -> None:
    server.exists = True
    server.commits[FIRST] |= {"old/data.txt": b"old", "README.md": (release / "README.md").read_bytes()}
    ran = here("publish", release, "--repo", REPOSITORY, "--yes")
    assert ran.code == 0, ran.err
    assert server.commits[server.head].keys() == contents(release).keys() | {".gitattributes"}
    assert f"{len(contents(release)) - 1} files sent, 1 removed" in ran.out


def test_a_tag_with_other_content_is_left_as_it_is(here: Command, server: Hub, release: Path) -> None:
    server.exists, server.tags["v0.1.0"] = True, FIRST
    ran = here("publish", release, "--repo", REPOSITORY, "--yes")
    assert "v0.1.0 is published already, with other content" in ran.error
    assert server.tags == {"v0.1.0": FIRST}
    assert server.head == FIRST


def test_somebody_elses_commit_in_between_is_not_overwritten(
    here: Command, server: Hub, release: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The commit names its parent: the branch moves after we looked, and the hub refuses."""
    original = Handler.step

    def moving(self: Handler, name: str) -> bool:
        if name == "preupload":
            self.hub.commits["2" * 40], self.hub.head = {".gitattributes": b"", "theirs": b"x"}, "2" * 40
        return original(self, name)

    monkeypatch.setattr(Handler, "step", moving)
    assert "publishing did not finish" in here("publish", release, "--repo", REPOSITORY, "--yes").error
    assert server.commits[server.head] == {".gitattributes": b"", "theirs": b"x"}


def test_a_damaged_release_is_not_even_planned(here: Command, server: Hub, release: Path) -> None:
    path = release / "data" / "train.jsonl"
    path.write_bytes(path.read_bytes().replace(b'"', b"'", 1))
    error = here("publish", release, "--repo", REPOSITORY, "--yes").error
    assert "the release is not sound: data/train.jsonl: its bytes have changed" in error
    assert server.seen == []


def test_without_a_token_nothing_is_asked(
    here: Command, server: Hub, release: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("HF_TOKEN")
    assert "no token for the hub; set HF_TOKEN" in here("publish", release, "--repo", REPOSITORY, "--yes").error
    assert server.seen == []


@pytest.mark.parametrize("name", ["alone", "a/b/c", "a b/c", "../x", "a/..", ""])
def test_a_name_that_is_no_repository_is_refused(here: Command, release: Path, name: str) -> None:
    assert "is no name of a repository" in here("publish", release, "--repo", name).error


@pytest.mark.parametrize("kind", ["endless", "slow", "silent"])
def test_a_hub_that_never_ends_is_given_up(
    here: Command, server: Hub, release: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    from builder.release import hub_upload as hub_client

    monkeypatch.setattr(hub_client, "MOST_BYTES", 1 << 20)
    monkeypatch.setattr(hub_client, "PATIENCE", 60.0 if kind == "endless" else 1.5)
    ended = threading.Event()

    def behave(handler: Handler) -> None:
        handler.close_connection = True
        if kind == "silent":
            ended.wait(20)
            return
        handler.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n")
        while not ended.is_set():
            handler.wfile.write(b" " * 65_536 if kind == "endless" else b" ")
            ended.wait(0.0 if kind == "endless" else 0.1)

    monkeypatch.setattr(Handler, "do_POST", behave)
    started = time.monotonic()
    ran = here("publish", release, "--repo", REPOSITORY, "--yes")
    ended.set()
    assert "publishing did not finish" in ran.error
    reason = {"endless": "over 1 MB", "slow": "did not end within", "silent": "timed out"}[kind]
    assert reason in ran.error
    assert time.monotonic() - started < 60


def drip(silent: socket.socket) -> None:
    """Begin an answer to whoever connects, and go on with it for ever, a blank at a time."""
    with silent.accept()[0] as connection, suppress(OSError):
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n")
        while True:
            connection.sendall(b" ")
            time.sleep(0.1)


@pytest.mark.parametrize("drips", [False, True])
def test_a_hub_that_hangs_or_drips_ends_with_one_line_in_the_time_that_was_set(release: Path, drips: bool) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:  # connects, and never answers or never ends
        if drips:
            threading.Thread(target=drip, args=(silent,), daemon=True).start()
        address = f"http://127.0.0.1:{silent.getsockname()[1]}"
        command = [
            sys.executable, "-m", "builder", "publish", str(release), "--repo", "amy/x", "--yes", "--seconds", "3",
        ]  # fmt: skip
        given = environment() | {"HF_ENDPOINT": address, "HF_TOKEN": "hf_x", "HF_HUB_OFFLINE": "0", "NO_PROXY": "*"}
        ran = subprocess.run(command, env=given, capture_output=True, text=True, timeout=300, check=False)
    assert ran.returncode == 2
    assert ran.stderr.strip().splitlines()[-1] == (
        "builder: error: amy/x: the hub has not taken all within 3 seconds; run the same command again, "
        "or raise --seconds: what has arrived is not sent twice"
    )
    assert "Traceback" not in ran.stderr
