"""Whatever happens to a build: found and named, never half-used, and going on gives what it should."""

from __future__ import annotations

import ast
import errno
import fcntl
import json
import os
import pty
import shutil
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest
from conftest import LAYOUTS, ROOT, Built, Command, ask, contents, environment, options

from builder.core.config import resolve
from builder.core.errors import ReleaseError, WorkdirError
from builder.pipeline import pipeline
from builder.pipeline.builds import Build
from builder.pipeline.stages import annotate, seed
from builder.release.shelf import opened, row, rows
from builder.release.verify import verify
from builder.store import db, queries, reviews
from builder.store import reviews as readings

Statements = list[tuple[Path, ast.Import | ast.ImportFrom | ast.Call, str]]
HAN = "第{n}碗湯頭濃郁，服務親切"


@pytest.fixture
def again(built: Built, tmp_path: Path) -> Build:
    """The tiny build in a copy of its working directory, to be run again."""
    chosen = resolve(options=options(evaluate__gold=str(built.gold)))
    return Build(built.copy(tmp_path), tmp_path / "out", (built.reviews,), chosen)


def once(monkeypatch: pytest.MonkeyPatch, module: object, name: str, step: Callable[[], None]) -> list[str]:
    """Let `step` happen in the middle of things: after the first call of a function of a module."""
    real, met = getattr(module, name), list[str]()

    def between(*arguments: object, **more: object) -> object:
        out = real(*arguments, **more)
        if not met:
            met.append(name)
            step()
        return out

    monkeypatch.setattr(module, name, between)
    return met


# ---- what a build reads changes while it runs


def test_a_lexicon_edited_meanwhile_is_named_and_resume_uses_it(again: Build, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = again.workdir / "lexicon" / "aspects"

    def edit() -> None:
        folder.mkdir(parents=True)
        (folder / "mine.tsv").write_text("word\tclass\n奇異果\tfood.ingredient\n", encoding="utf-8")

    met = once(monkeypatch, annotate, "read", edit)
    with pytest.raises(WorkdirError, match="lexicons or rules changed while the build ran; `builder resume`"):
        pipeline.run(again, until="seed", force=("annotate",))
    assert met
    done = {one.stage: one.ran for one in pipeline.run(again, until="seed")}
    assert done == {"ingest": False, "annotate": True, "seed": True}
    shutil.rmtree(again.workdir / "lexicon")


def test_rules_edited_before_their_stage_are_named_by_its_worker(again: Build, monkeypatch: pytest.MonkeyPatch) -> None:
    packed = seed.pack_words
    monkeypatch.setattr(seed, "pack_words", lambda context: (*packed(context)[:3], "then"))
    with pytest.raises(Exception, match="the rules changed while the build ran"):
        pipeline.run(again, until="seed", force=("seed",))


def test_reviews_edited_while_they_are_read_are_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = tmp_path / "in.csv"
    source.write_text("text\n" + "".join(HAN.format(n=n) + "\n" for n in range(9)), encoding="utf-8")
    build = Build(tmp_path / "w", tmp_path / "out", (source,), resolve(options={"workers": 1}))
    edit = lambda: source.write_text("text\n別的好吃\n", encoding="utf-8") and None
    once(monkeypatch, reviews, "mark_duplicates", edit)
    with pytest.raises(WorkdirError, match=r"in\.csv changed while the build ran"):
        pipeline.run(build, until="ingest")
    with db.reading(build.workdir) as connection:
        assert reviews.count(connection) == 0
    assert pipeline.run(build, until="ingest")[0].counts["reviews"] == 1


@pytest.mark.parametrize(
    ("lost", "harm"),
    [("weights.safetensors", "missing"), ("weights.safetensors", "overwritten"), ("config.json", "cut")],
)
def test_a_model_file_that_is_lost_or_damaged_is_named_and_made_again(
    lost: str, harm: str, again: Build, here: Command
) -> None:
    path = again.workdir / "models" / "discriminator" / lost
    content = path.read_bytes()
    path.unlink()  # it is a hard link to the one that all tests share
    if harm == "cut":
        path.write_bytes(content[: len(content) // 2])
    elif harm == "overwritten":
        path.write_bytes(content[:-9] + b"\x00" * 9)
    ran = here("run", "self_train", "--force", "--workdir", again.workdir)
    assert str(again.workdir / "models" / "discriminator") in ran.error
    if (harm, lost) == ("missing", "weights.safetensors"):
        mended = here("run", "discriminate", "--workdir", again.workdir, "--force")
        assert mended.code == 0, mended.err
        assert path.read_bytes() == content, "the same training"


# ---- others at the same time


def test_readers_see_the_last_whole_state_while_a_build_writes_slowly(
    again: Build, here: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on a disk that is slow: every transaction takes its time, and whoever reads waits for none."""
    seen: list[int] = []
    stop = threading.Event()

    def read() -> None:
        while not stop.is_set():
            with db.reading(again.workdir) as connection:
                _, found = queries.free(connection, "SELECT count(*) FROM annotations", None)
                seen.append(int(str(found[0][0])))
                queries.named(connection, "summary", {})

    real = db.atomic

    def slow(connection: sqlite3.Connection) -> object:
        time.sleep(0.02)
        return real(connection)

    monkeypatch.setattr(db, "atomic", slow)
    reader = threading.Thread(target=read)
    reader.start()
    try:
        told = once(monkeypatch, readings, "annotate", lambda: seen.append(-1))
        pipeline.run(again, until="annotate", force=("annotate",))
    finally:
        stop.set()
        reader.join()
    assert told
    chunks = {n for n in seen if n >= 0}
    assert len(seen) > 3
    assert all(n % 8 == 0 or n == max(chunks) for n in chunks), f"whole chunks only: {chunks}"
    assert contents(again.workdir / "models")


def test_a_file_system_that_cannot_lock_is_said_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(handle: object, how: int) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", refuse)
    said = r"this file system cannot lock \(No locks available\); put the --workdir on a disk"
    with pytest.raises(WorkdirError, match=said), db.lock(tmp_path):
        pass


# ---- workers that die


def test_a_build_by_a_crew_of_which_one_is_killed_is_the_build_of_one_process(
    built: Built, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By dask; a build by local processes is in test_pipeline, and the other crew's losses are in test_shards."""
    pytest.importorskip("distributed")
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    killed: list[int] = []

    def kill() -> None:
        children = psutil.Process().children(recursive=True)
        worker = next(one for one in children if "spawn_main" in " ".join(one.cmdline()))
        worker.kill()
        killed.append(worker.pid)

    once(monkeypatch, readings, "annotate", kill)
    chosen = resolve(options=options(evaluate__gold=str(built.gold), shard=8, engine="dask", workers=2))
    workdir, out = built.copy(tmp_path), tmp_path / "out"
    pipeline.run(Build(workdir, out, (built.reviews,), chosen), force=("annotate",))
    assert killed
    differing = {path for path, _ in contents(out).items() ^ contents(built.out).items()}
    assert differing == {"v0.1.0/manifest.json", "v0.1.0/SHA256SUMS"}, "which name the shards"
    asked = "SELECT * FROM verdicts v JOIN sources s ON s.id = v.source ORDER BY s.name, v.triplet"
    assert ask(workdir, asked) == ask(built.workdir, asked) != []


# ---- hostile names and texts


def test_a_file_of_any_name_is_read_and_its_name_does_nothing_to_the_terminal(here: Command, tmp_path: Path) -> None:
    names = [b"\x1b]0;x\x07\x1b[2J.csv", b"\xff\xfe.csv", b"'; DROP TABLE reviews;--.csv", "\u202egnp.csv".encode()]
    for number, name in enumerate(names):
        source = tmp_path / os.fsdecode(name)
        source.write_text("text\n" + "".join(HAN.format(n=n) + "\n" for n in range(9)) + "only english\n", "utf-8")
        workdir = tmp_path / f"w{number}"
        pipeline.run(Build(workdir, tmp_path / "out", (source,), resolve(options={"workers": 1})), until="ingest")
        assert here("status", "--workdir", workdir).code == 0, name
        source.write_text("who\nnobody\n")
        ran = here("build", source, "--workdir", workdir, "--out", tmp_path / "out")
        assert "no text column" in ran.error
        assert ran.error.isprintable(), name
        source.unlink()
        assert "no such file" in here("build", source, "--workdir", workdir, "--out", tmp_path / "out").error


def test_a_terminal_shows_escape_codes_and_obeys_none(built: Built, here: Command, tmp_path: Path) -> None:
    """What goes to a terminal is tamed; what goes into a file is as it is."""
    statement = "SELECT '湯頭' || char(27) || '[31m' || char(155) || '2J' || char(8238) || char(7) AS text"
    words = ["sql", statement, "--workdir", str(built.workdir)]
    command, (mine, theirs) = [sys.executable, "-m", "builder", *words], pty.openpty()
    with subprocess.Popen(command, stdout=theirs, stderr=theirs, env=environment(), cwd=tmp_path) as process:
        os.close(theirs)
        told = b""
        try:
            while piece := os.read(mine, 4096):
                told += piece
        except OSError:  # the other end is closed
            pass
        assert process.wait() == 0, told
    os.close(mine)
    shown = told.decode()
    assert "湯頭\\x1b[31m\\x9b2J\\u202e\\x07" in shown
    assert not set(shown) & set("\x1b\x9b\u202e\x07")
    assert "湯頭\x1b[31m\x9b2J\u202e\x07" in here(*words, "--format", "csv").out


# ---- releases and models of strangers


@pytest.mark.parametrize("name", ["../../secret", "/etc/hostname", "a/b", "..", "", "train\n"])
def test_a_manifest_that_names_a_split_outside_is_no_release(
    name: str, built: Built, here: Command, tmp_path: Path
) -> None:
    release = tmp_path / "r" / "v0.1.0"
    shutil.copytree(built.release, release)
    (tmp_path / "secret.jsonl").write_text(json.dumps({"id": "s", "text": "secret", "triplets": []}) + "\n")
    manifest = json.loads((release / "manifest.json").read_text())
    manifest["splits"] = {name: next(iter(manifest["splits"].values()))}
    (release / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(ReleaseError, match="a split is called"):
        opened(release)
    assert "a split is called" in here("export", release, "--format", "aste-v2", "--output", tmp_path / "x").error
    assert here("diff", release, release).error
    assert verify(release), "its bytes have changed, for one"
    assert not (tmp_path / "x").exists()


def test_a_link_that_leads_out_of_a_release_is_not_followed(built: Built, tmp_path: Path) -> None:
    release = tmp_path / "v0.1.0"
    shutil.copytree(built.release, release)
    (release / "data" / "train.jsonl").unlink()
    (release / "data" / "train.jsonl").symlink_to(built.release / "data" / "train.jsonl")
    with pytest.raises(ReleaseError, match="leads out of the release"):
        list(rows(release, "train"))
    assert any("a link" in fault or "leads out" in fault for fault in verify(release))


@pytest.mark.parametrize("name", ["manifest.json", "data/train.jsonl"])
@pytest.mark.parametrize("kind", ["loop", "pipe"])
@pytest.mark.timeout(60, func_only=True)  # it may be the first to ask for the build
def test_a_file_of_a_release_that_is_a_loop_or_a_pipe_is_one_line_and_waited_for_by_nobody(
    name: str, kind: str, built: Built, here: Command, tmp_path: Path
) -> None:
    release = Path(shutil.copytree(built.release, tmp_path / "v0.1.0"))
    path = release / name
    path.unlink()
    if kind == "loop":
        path.symlink_to(path.name)
    else:
        os.mkfifo(path)
    ran = here("export", release, "--format", "aste-v2", "--output", tmp_path / "x")
    assert ran.error and ran.err.count("\n") == 1, ran.err


@pytest.mark.parametrize("half", [b'"text": "\\ud83c', b'"text": "\xed\xa0\xbc'], ids=["escape", "bytes"])
def test_a_row_of_a_release_with_half_a_character_is_no_row(half: bytes) -> None:
    line = b'{"id": "a", "text": "\xe6\xb9\xaf", "triplets": []}'
    assert row(line, "train.jsonl:1")["text"] == "湯"
    with pytest.raises(ReleaseError, match=r"train\.jsonl:1"):
        row(line.replace(b'"text": "', half), "train.jsonl:1")


@pytest.fixture(scope="module")
def statements() -> Statements:
    """The imports and calls of the package, and what is called."""
    return [
        (path, node, ast.unparse(node.func) if isinstance(node, ast.Call) else "")
        for path in sorted((ROOT / "builder").rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Import | ast.ImportFrom | ast.Call)
    ]


def test_nothing_of_ours_reads_or_writes_a_pickle(statements: Statements) -> None:
    """Weights are safetensors; what travels between processes is the business of multiprocessing and dask."""
    forbidden = {"pickle", "cloudpickle", "dill", "joblib", "shelve", "marshal"}
    found = []
    for path, node, called in statements:
        where = f"{path.relative_to(ROOT)}:{node.lineno}"
        if isinstance(node, ast.Import):
            found += [where for alias in node.names if alias.name.split(".")[0] in forbidden]
        elif isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] in forbidden:
            found += [where for alias in node.names if alias.name != "UnpicklingError"]  # of stanza's own files
        elif called in ("torch.load", "torch.save", "eval", "exec", "np.load", "numpy.load", "yaml.load"):
            runs = path.name == "functions.py" and called == "exec"  # rules in Python, of a pack that the user names
            found += [where] * (not runs)
    assert found == []


def test_models_of_a_hub_are_loaded_in_one_place_that_runs_no_code_of_theirs(statements: Statements) -> None:
    """`from_pretrained` stands in builder.learning.hub alone, with safetensors; CKIP's drivers load by themselves."""
    calls = [
        (path.relative_to(ROOT).as_posix(), ast.unparse(node))
        for path, node, called in statements
        if called.endswith(".from_pretrained")
    ]
    assert len(calls) == 3
    assert {path for path, _ in calls} == {"builder/learning/hub.py"}
    assert all("trust_remote_code=False" in call for _, call in calls)
    assert all("use_safetensors=True" in call for _, call in calls if "dtype" in call)


@pytest.mark.parametrize("profile", ["paper", "encoder"])
def test_a_base_that_is_a_pickle_is_refused_with_what_mends_it(profile: str, tmp_path: Path) -> None:
    """By every way to load one: all lead to builder.learning.hub, as the test above holds."""
    torch = pytest.importorskip("torch")
    pytest.importorskip("transformers")
    from safetensors.torch import load_file
    from tiny_encoders import make_encoder
    from tiny_mt5 import make_base

    from builder.core.errors import ModelError
    from builder.learning.task import EncoderTuning
    from builder.models.encoder import load_encoder
    from builder.models.paper.pretrained import load_base

    def load() -> object:
        return load_base(str(folder)) if profile == "paper" else load_encoder(str(folder), EncoderTuning(), "cpu")

    texts = ["湯頭真的很濃郁，麵條普通。", "店員不太好"]
    folder = (
        make_base(tmp_path / "base") if profile == "paper" else make_encoder(tmp_path / "base", "modernbert", texts)
    )
    load()
    (weights,) = folder.glob("*.safetensors")
    torch.save(load_file(weights), folder / "pytorch_model.bin")
    weights.unlink()
    with pytest.raises(ModelError) as refused:
        load()
    assert "the weights stand in pytorch_model.bin, a pickle; its weights must be safetensors" in str(refused.value)
    assert "save_pretrained(NEW)` writes them" in str(refused.value)


# ---- the version before


@pytest.mark.parametrize("version", range(db.schema()[0][0], db.schema()[-1][0]))
def test_a_working_directory_of_every_earlier_schema_is_migrated_to_what_a_new_one_has(
    version: int, tmp_path: Path
) -> None:
    old, new = tmp_path / "old", tmp_path / "new"
    old.mkdir()
    connection = sqlite3.connect(old / db.NAME, isolation_level=None)
    for number, script in db.schema():
        if number <= version:
            connection.executescript(script)
    connection.executescript(f"PRAGMA application_id = {db.APPLICATION_ID}; PRAGMA user_version = {version};")
    columns = "key, text, file, row, script, language, hash, norm_hash, split"
    connection.execute(
        f"INSERT INTO reviews ({columns}) VALUES ('r1', '湯頭濃郁', 'a.csv', 1, 'traditional', 'zh-Hant', 'h', 'n', "
        "'train')"
    )
    connection.executemany(
        "INSERT INTO triplets (id, review, aspect, aspect_full, opinion, opinion_full, polarity, valence, spans) "
        "VALUES (?1, 1, ?2, ?2, ?3, ?3, 'POS', 8, '{}')",
        [(2147483649, "湯頭", "濃郁"), (2147483650, "湯", "濃")],
    )
    connection.execute("INSERT INTO sources (name, kind, signature) VALUES ('rules', 'rules', 's')")
    labeller = ("llm:m@p", "llm") if version < 20 else ("A0", "model")  # later ones hold no language model's labels
    connection.execute("INSERT INTO sources (name, kind, signature) VALUES (?, ?, 's')", labeller)
    expected = [("湯頭濃郁", "濃郁", "YY")] + [("湯頭濃郁", "濃", "YY")] * (version >= 20)
    for triplet, source in ((2147483649, 1), (2147483649, 2), (2147483650, 2)):
        connection.execute("INSERT INTO proposals (source, triplet, story) VALUES (?, ?, '[]')", (source, triplet))
    connection.executemany(
        "INSERT INTO verdicts (source, triplet, label, score) VALUES (1, ?, 'YY', 0.5)", [(2147483649,), (2147483650,)]
    )
    connection.close()
    with db.writing(old) as migrated, db.writing(new) as fresh:
        asked = "SELECT type, name, sql FROM sqlite_master WHERE name NOT LIKE 'sqlite_%' ORDER BY type, name"
        shapes = [
            {
                (kind, name): sorted(row[1:] for row in one.execute(f"PRAGMA table_xinfo({name})"))
                for kind, name, _ in one.execute(asked).fetchall()
            }
            for one in (migrated, fresh)
        ]
        assert shapes[0].keys() == shapes[1].keys()
        assert {key: [c[:2] for c in shape] for key, shape in shapes[0].items()} == {
            key: [c[:2] for c in shape] for key, shape in shapes[1].items()
        }
        assert migrated.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert migrated.execute("PRAGMA foreign_key_check").fetchall() == []
        asked = "SELECT r.text, t.opinion, v.label FROM reviews r JOIN triplets t ON t.review = r.id JOIN verdicts v"
        rows = migrated.execute(f"{asked} ON v.triplet = t.id").fetchall()
        assert rows == expected, "what a language model alone wrote is gone"
        names = {name for (name,) in migrated.execute("SELECT name FROM sources")}
        assert names == {"rules"} | ({"A0"} if version >= 20 else set())
        assert migrated.execute("SELECT count(*) FROM triplets").fetchone() == (len(expected),)


def test_a_release_of_the_first_layout_is_compared_and_exported(here: Command, tmp_path: Path) -> None:
    first = LAYOUTS / "v0.1.0"
    assert here("diff", first, LAYOUTS / "v0.2.0", "--format", "json").out.startswith("{")
    assert here("export", first, "--format", "aste-v2", "--output", tmp_path / "x").code == 0
