"""The annotation page over a network: people sign in with passwords of their own, and strangers get nothing."""

from __future__ import annotations

import json
import resource
import socket
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest
from chromium import Browser, serving
from conftest import Command
from goldwork import pooled
from test_gold_page import Page, served

from builder.cli.annotation import serve
from builder.core.errors import ConfigError, InputError
from builder.gold.server import NAME, PasswordDoor, Refusal, read_passwords, remove_password, set_password
from builder.store import db, pool_labels

pytest.importorskip("uvicorn", reason="the extra annotate is not installed")
WORD = {"amy": "correct horse 1", "bo": "battery staple 2"}


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    workdir, pool = pooled(tmp_path_factory.mktemp("network"))
    for name, password in WORD.items():
        set_password(workdir, name, password)
    with served(workdir, pool, "--host", "127.0.0.1") as page:
        yield page


def sign_in(page: Page, name: str, password: str, **headers: str) -> tuple[int, str]:
    body = {"name": name, "password": password}
    status, got, _ = page.ask("POST", "/api/sign_in", body, Content_Type="application/json", **headers)
    return status, got.get("set-cookie", "")


def test_a_stranger_sees_the_sign_in_page_and_no_data(page: Page) -> None:
    status, headers, content = page.ask("GET", "/")
    assert (status, 'id="sign"' in content, page.pool.id in content) == (200, True, False)
    assert "form-action 'none'" in headers["content-security-policy"]
    for path in ("/api/head", "/api/items?start=0&count=5"):
        status, _, content = page.ask("GET", path)
        assert (status, page.pool.id in content) == (401, False)
    body = {"place": 0, "op": "label", "label": "YY"}
    assert page.ask("POST", "/api/answer", body, Content_Type="application/json", X_Key="")[0] == 401
    assert page.ask("GET", "/", Cookie="builder_session=guess")[2] == page.ask("GET", "/")[2]


def test_each_person_labels_under_their_own_name(page: Page) -> None:
    for name, label in (("amy", "YY"), ("bo", "NX")):
        status, cookie = sign_in(page, name, WORD[name])
        assert status == 200 and "HttpOnly" in cookie and "SameSite=strict" in cookie
        session = {"Cookie": cookie.partition(";")[0]}
        key = page.ask("GET", "/", **session)[2].partition('name="key" content="')[2].partition('"')[0]
        calls = session | {"X_Key": key}
        head = json.loads(page.ask("GET", "/api/head", **calls)[2])
        assert (head["annotator"], head["teaches"], head["here"]) == (name, False, False)
        place = next(
            row["place"]
            for row in json.loads(page.ask("GET", "/api/items?start=0&count=11", **calls)[2])
            if row["candidate"]
        )
        body = {"place": place, "op": "label", "label": label}
        assert page.ask("POST", "/api/answer", body, Content_Type="application/json", **session)[0] == 403
        evil = calls | {"Origin": "https://evil.example"}
        assert page.ask("POST", "/api/answer", body, Content_Type="application/json", **evil)[0] == 403
        assert page.ask("POST", "/api/answer", body, Content_Type="application/json", **calls)[0] == 200
        assert page.ask("POST", "/api/teach", {}, Content_Type="application/json", **calls)[0] == 404
        assert page.ask("POST", "/api/sign_out", {}, Content_Type="application/json", **session)[0] == 200
        assert page.ask("GET", "/api/head", **calls)[0] == 401
    with db.reading(page.workdir) as connection:
        labels = pool_labels.of_pool(connection, page.pool.id, "human")
    assert {name: [label.label for label in given.values()] for name, given in labels.items()} == {
        "amy": ["YY"],
        "bo": ["NX"],
    }


def test_a_person_signs_in_and_out_in_a_browser(page: Page, browser: Browser) -> None:
    browser.open(page.address)
    browser.run("document.querySelector('#name').value = 'amy'")
    for password, ready in (
        ("wrong guess", "!document.querySelector('#error').hidden"),
        (WORD["amy"], "!!window.call"),
    ):
        browser.run(f"document.querySelector('#password').value = {json.dumps(password)}")
        browser.run("document.querySelector('#sign button').click()")
        browser.wait(ready)
    browser.wait("document.body.dataset.ready === '1'")
    assert "amy" in browser.text("#who")
    browser.run("document.querySelector('#leave').click()")
    browser.wait("!!document.querySelector('#sign')")


HERE, THERE = "192.0.2.1", "192.0.2.2"


def test_wrong_passwords_make_a_name_wait_and_no_other() -> None:
    door = PasswordDoor(read_passwords(Path("/nowhere")))
    for _ in range(5):
        assert door.sign_in("amy", "x", HERE) == Refusal("name or password is wrong", status=401)
    answer = door.sign_in("bo", "x", HERE)
    assert isinstance(answer, Refusal) and answer.status == 429  # strangers share a place


def test_a_known_name_is_not_locked_by_what_strangers_try(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    set_password(tmp_path, "amy", WORD["amy"])
    door = PasswordDoor(read_passwords(tmp_path))
    for _ in range(6):
        door.sign_in("stranger", "x", HERE)
    assert isinstance(door.sign_in("amy", WORD["amy"], HERE), str)
    waits = Refusal("too many wrong passwords; wait a minute", status=429)
    for _ in range(2):
        for _ in range(6):
            door.sign_in("amy", "x", THERE)
        assert door.sign_in("amy", WORD["amy"], THERE) == waits
        assert isinstance(door.sign_in("amy", WORD["amy"], HERE), str), "nobody keeps another out"
        monkeypatch.setattr(door, "_wrong", door._wrong | {("192.0.2.3", "amy"): [0.0]})
    assert door.sign_in("amy", WORD["amy"], THERE) == waits
    assert ("192.0.2.3", "amy") not in door._wrong, "what is over costs no memory"


@pytest.mark.parametrize("path", ["/api/sign_in", "/api/answer"])
def test_a_body_is_counted_as_it_is_read_whatever_its_header_says(path: str, page: Page) -> None:
    """Of 64 MB behind `Content-Length: 5`, nothing is kept; who has not signed in is asked to before."""
    told = "Host: localhost", "Content-Type: application/json", "Content-Length: 5", "Transfer-Encoding: chunked"
    head = "\r\n".join((f"POST {path} HTTP/1.1", *told, "", ""))
    chunk = b"100000\r\n" + b" " * (1 << 20) + b"\r\n"
    before = resident()
    with socket.create_connection(("127.0.0.1", page.port), timeout=60) as connection:
        connection.sendall(head.encode())
        for _ in range(64):
            connection.sendall(chunk)
        answer = connection.recv(1000).split(b"\r\n", 1)[0]
    assert answer.split()[1] == (b"400" if path == "/api/sign_in" else b"401")
    assert resident() - before < 20 << 20


def resident() -> int:
    """Bytes of memory that this process holds, which serves the page too."""
    pages = Path("/proc/self/statm").read_text(encoding="ascii").split()[1]
    return int(pages) * resource.getpagesize()


def test_a_cookie_travels_by_https_alone_where_a_proxy_brings_it(tmp_path: Path) -> None:
    workdir, pool = pooled(tmp_path)
    set_password(workdir, "amy", WORD["amy"])
    with served(workdir, pool, "--origin", "https://labels.example.org") as page:
        assert page.address == "https://labels.example.org"
    assert PasswordDoor(read_passwords(workdir), "https://labels.example.org").secure
    assert not PasswordDoor(read_passwords(workdir)).secure


def test_passwords_are_kept_as_hashes_that_only_the_owner_reads(tmp_path: Path) -> None:
    set_password(tmp_path, "amy", WORD["amy"])
    path = tmp_path / NAME
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert WORD["amy"] not in path.read_text(encoding="utf-8")
    known = read_passwords(tmp_path)
    assert known.fits("amy", WORD["amy"]) and not known.fits("amy", "x") and not known.fits("bo", "")
    set_password(tmp_path, "amy", "another one 3")
    assert not read_passwords(tmp_path).fits("amy", WORD["amy"])
    remove_password(tmp_path, "amy")
    assert not read_passwords(tmp_path).hashes
    with pytest.raises(ConfigError, match="has no password"):
        remove_password(tmp_path, "amy")
    with pytest.raises(ConfigError, match="fewer than 8"):
        set_password(tmp_path, "amy", "short")
    path.write_text("[1]", encoding="utf-8")
    with pytest.raises(InputError, match="it is broken"):
        read_passwords(tmp_path)


def test_a_command_sets_passwords_for_a_network(tmp_path: Path, here: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    workdir, _ = pooled(tmp_path)
    serve = ("annotate", "serve", "--workdir", workdir, "--port", "0")
    assert "nobody has a password" in here(*serve, "--host", "0.0.0.0").error
    assert "over a network people sign in" in here(*serve, "--host", "0.0.0.0", "--annotator", "amy").error
    monkeypatch.setenv("SECRET", WORD["amy"])
    ran = here("annotate", "password", "amy", "--password-env", "SECRET", "--workdir", workdir)
    assert (ran.code, ran.out[:15]) == (0, "amy can sign in")
    assert read_passwords(workdir).fits("amy", WORD["amy"])
    assert "no name of an annotator" in here("annotate", "password", "\n", "--workdir", workdir).error
    assert here("annotate", "password", "amy", "--remove", "--workdir", workdir).code == 0


def test_a_page_for_a_whole_network_names_addresses_that_a_browser_opens(tmp_path: Path) -> None:
    workdir, _ = pooled(tmp_path)
    set_password(workdir, "amy", WORD["amy"])
    with serving(serve, "--port", "0", "--workdir", workdir, "--host", "0.0.0.0") as (here, there):
        port = here.rstrip("/").rpartition(":")[2]
        assert here == f"open http://127.0.0.1:{port}/"
        assert there == f"from other machines: http://{socket.gethostname()}:{port}/"
