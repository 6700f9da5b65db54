"""What several test files share: the command line run as a user runs it, and one tiny build that is made once a
day, whatever the number of processes and sessions, unless the code changes.

The build takes some reviews of the shipped sample and rows that repeat or cannot be used. It is read only: a test that
changes a working directory copies it first, trained models included, so that a rerun of the same training costs
nothing.
"""

from __future__ import annotations

import csv
import fcntl
import gc
import hashlib
import inspect
import json
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
import tomllib
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from dataclasses import asdict, dataclass, replace
from datetime import date
from http.server import ThreadingHTTPServer
from importlib.metadata import version
from pathlib import Path
from typing import Any

import briefly
import pytest
from click.testing import CliRunner, Result
from hypothesis import HealthCheck, settings

# How long Hypothesis takes to make examples says how busy the machine is, and nothing about the code.
for name, examples in (("quick", 30), ("thorough", 500)):  # `--hypothesis-profile=thorough`
    settings.register_profile(name, max_examples=examples, suppress_health_check=[HealthCheck.too_slow], deadline=None)
settings.load_profile("quick")


def pytest_configure() -> None:
    """A shell lets its background jobs ignore Ctrl-C, and their children inherit that: some tests press it."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.environ.setdefault("OMP_NUM_THREADS", "1")  # test files run beside each other
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # each process that a test starts would compile the package anew
    os.environ["BUILDER_CACHE"] = str(Path(tempfile.gettempdir()) / f"builder-tests-{os.getuid()}")


ROOT = Path(__file__).parent.parent
SAMPLE = ROOT / "builder" / "sample"
LAYOUTS = ROOT / "tests" / "layouts"
"""Releases of the sample in layouts 1 (v0.1.0) and 2 (v0.2.0), which builder reads and no longer writes."""
OLDER_SAMPLE, PUBLISHED_SAMPLE = sorted(
    (ROOT / "releases").glob("sample-[0-9]*"), key=lambda path: [int(part) for part in path.name[7:].split(".")]
)
"""The published releases of the sample. Documents name them too; `python tests/test_sample.py publish` renames all."""
CODE = [ROOT / part for part in ("builder", "domains", "lexicons", "rules")]
"""What a build depends on."""
FAST = {
    "workers": "1",
    "threads": "1",
    "annotate.chunk": "8",
    "discriminate.mode": '"paper"',
    "discriminate.epochs": "1",
    "self_train.epochs": "8",
    "self_train.iterations": "1",
    "self_train.variants": '["D"]',
    "ingest.valid_share": "0.2",
}
"""Chunks small enough that there are several.
Variant D takes what the tagger finds, so that the release shows what was learned.
"""


TIERS = {
    "fast": "agreement answers architecture borders cli_help config docs engine formats golden resources rules"
    " store templates text word_classes",
    "hostile": "bad_input bombs crash_safety faults forgeries hostile_exports measure_regexes regexes strict_toml",
    "models": "base_names devices encoder foreign_models measure_seq2seq model models_page nlp_ckip paper_models"
    " paper_stage publish_model seq2seq training_memory trust",
    "augment": "augment augment_cbert augment_files augment_gpt2 augment_masked_seq2seq augment_own_words"
    " augment_release augment_style_transfer augment_trained augment_training bench_numbers bench_run boost_backends"
    " boost_filter classify devices_everywhere natural presets reproduce",
}
"""The test files of a tier, without `test_` and `.py`. Other files are of tier `build`, and so are tests of fast files
that need the tiny build or say so. A test of another file that needs `builder.augment` is marked `augment`, too.
"""


def find_tier(path: Path) -> str:
    """The tier of a test file."""
    name = path.stem.removeprefix("test_")
    return next((tier for tier, names in TIERS.items() if name in names.split()), "build")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """`-m fast` does not even import the other files: that alone takes half a minute. `-m "not augment"` runs where
    `builder.augment` is missing, and leaves out the documents, which are about the whole package.
    """
    asked, tier = config.option.markexpr, find_tier(collection_path)
    without = asked == "not augment" and (tier == "augment" or collection_path.name == "test_docs.py")
    others = without or (asked in TIERS and tier != asked)
    return True if collection_path.name.startswith("test_") and others else None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Each test is of one tier."""
    for item in items:
        tier = find_tier(item.path)
        builds = "built" in getattr(item, "fixturenames", ()) or item.get_closest_marker("build")
        item.add_marker("build" if tier == "fast" and builds else tier)


WORDS = (
    "湯頭 服務 店員 餐點 牛肉麵 好吃 很鹹 親切 不會 太 甜 這家 下次 再來 環境 乾淨 排隊 一小時 值得 推薦 價格 便宜 "
    "份量 大"
)


def sentence(seed: int, words: int = 14) -> str:
    """Words of reviews by chance: two of these have little in common, for near-duplicates would go together."""
    return "".join(random.Random(seed).choices(WORDS.split(), k=words))


class LocalServer(ThreadingHTTPServer):
    """A server whose clients may go away, as those that are refused do:
    no news for the terminal, which the tests read.
    """

    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


@dataclass(frozen=True, slots=True)
class Ran:
    """A finished command."""

    code: int
    out: str
    err: str

    @property
    def error(self) -> str:
        """The one line that a user sees when something is wrong; what else is on stderr are the names of the stages."""
        lines = self.err.splitlines()
        assert "Traceback" not in self.err, self.err
        assert self.code == 2, (self.code, self.err)
        assert lines, "an error says something"
        assert lines[-1].startswith("builder: error: "), self.err
        assert not any(line.startswith("builder: error: ") for line in lines[:-1]), self.err
        return lines[-1].removeprefix("builder: error: ")


@dataclass(frozen=True, slots=True)
class Built:
    """The tiny build: its inputs, where it lies, and what its command said."""

    reviews: Path
    gold: Path
    workdir: Path
    out: Path
    ran: Ran

    @property
    def release(self) -> Path:
        return self.out / "v0.1.0"

    def copy(self, to: Path) -> Path:
        """A copy of the working directory that a test may change."""
        shutil.copytree(self.workdir, to / "workdir", ignore=shutil.ignore_patterns("models"))
        shutil.copytree(
            self.workdir / "models", to / "workdir" / "models", copy_function=os.link
        )  # replaced by renaming, never edited
        return to / "workdir"


Command = Callable[..., Ran]


def environment() -> dict[str, str]:
    return os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "tests")]), "OMP_NUM_THREADS": "1"}


def settings(**changed: str) -> list[str]:
    """Options of a build that takes seconds; `changed` keys have `__` for the dot."""
    chosen = FAST | {key.replace("__", "."): value for key, value in changed.items()}
    return [word for key, value in chosen.items() for word in ("--set", f"{key}={value}")]


def options(**changed: object) -> dict[str, object]:
    """The same as values by dotted key, for `resolve`."""
    fast = tomllib.loads("\n".join(f"{key!r} = {value}" for key, value in FAST.items()))
    return fast | {key.replace("__", "."): value for key, value in changed.items()}


def read_once(read: Callable[..., Any], key: Callable[..., Any], most: int = 4) -> Callable[..., Any]:
    """`read`, whose results this process keeps by a key of its arguments; without a key it reads anew."""
    known: dict[Any, Any] = {}

    def give(*arguments: Any, **more: Any) -> Any:
        if (asked := key(*arguments, **more)) is None:
            return read(*arguments, **more)
        if asked not in known and (made := read(*arguments, **more)) is not None:
            if len(known) == most:
                known.clear()
            known[asked] = made
        return known.get(asked)

    give.__module__ = read.__module__  # whose digest is a part of what is kept
    return give


@pytest.fixture(scope="session", autouse=True)
def shared_readers() -> Iterator[None]:
    """Lexicons, rules and models that come with builder are read once in this process, and not six times in a build.

    A test that changes them, or that has a cache of its own, reads anew.
    """
    from builder.language.lexicon import folders, packs
    from builder.language.nlp import embedded, parser

    cache, parse = folders.cache_folder(), parser.load

    def name_compiled(name: str, unpack: Any) -> str | None:
        return name if folders.cache_folder() == cache else None

    def name_backend(words: Any, models: Path | None = None) -> Any:
        return None if models or parser.load is not parse else (embedded.MODELS, frozenset(words.items()))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(folders, "read_compiled", read_once(folders.read_compiled, name_compiled))
        patch.setattr(embedded, "load", read_once(embedded.load, name_backend))
        if shipped := sys.modules.get("builder.models.shipped"):  # where it is not, no test reads with it

            def name_reader(folder: Path, device: str = "auto") -> Any:
                return (folder, device) if folder == packs.reader_folder() else None

            patch.setattr(shipped, "_load_reader", read_once(shipped._load_reader, name_reader))
        yield


@pytest.fixture(scope="session")
def fast() -> Callable[..., list[str]]:
    return settings


def run_process(*arguments: object, cwd: Path = Path("/")) -> Ran:
    """`builder …` in a process of its own, where that is the subject: it takes seconds to start."""
    done = subprocess.run(
        [sys.executable, "-m", "briefly", *map(str, arguments)],
        cwd=cwd,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=300,
    )
    return Ran(done.returncode, done.stdout, done.stderr)


def run_python(*words: object, cwd: Path | str = "/", given: str = "") -> subprocess.CompletedProcess[str]:
    """Python in a process of its own, such as `-c CODE` or `-m builder …`, with `given` on its standard input."""
    command = [sys.executable, *map(str, words)]
    return subprocess.run(
        command, env=environment(), cwd=cwd, input=given, capture_output=True, text=True, timeout=300, check=False
    )


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Iterator[Command]:
    """`builder …` inside this process, without the seconds that torch takes to load; `cwd` is the folder it runs in.
    What is no error of ours escapes. What the command line sets for its process is put back after the test.
    """
    from builder.cli import main as cli

    def run(*arguments: object, cwd: Path | None = None) -> Ran:
        code = 0
        with pytest.MonkeyPatch.context() as within:
            within.setattr(sys, "argv", ["builder", *map(str, arguments)])
            if cwd:
                within.chdir(cwd)
            capsys.readouterr()
            try:
                cli.main()
            except SystemExit as stopped:
                code = int(stopped.code or 0)
        printed = capsys.readouterr()
        return Ran(code, printed.out, printed.err)

    variables, handler, thresholds = dict(os.environ), signal.getsignal(signal.SIGTERM), gc.get_threshold()
    monkeypatch.setattr(sys, "unraisablehook", sys.unraisablehook)
    monkeypatch.setattr(warnings, "formatwarning", warnings.formatwarning)
    yield run
    signal.signal(signal.SIGTERM, handler)
    gc.set_threshold(*thresholds)
    for name in os.environ.keys() - variables.keys():
        del os.environ[name]
    os.environ.update(variables)


def small_input(folder: Path) -> tuple[Path, Path]:
    """(reviews, gold): the first sample reviews, then rows that repeat, differ in punctuation only,
    or cannot be used.
    """
    with (SAMPLE / "reviews.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))[:30]
    for row in rows:
        del row["source"]
    usable = [
        row for row in rows if len(row["text"]) > 12 and any("\u4e00" <= char <= "\u9fff" for char in row["text"])
    ]
    exact, near = usable[10], usable[11]
    extra = [
        {"review_id": "x1", "place": "", "rating": "4", "text": exact["text"]},
        {"review_id": "x2", "place": "", "rating": "4", "text": near["text"] + "！！"},
        {"review_id": "x3", "place": "", "rating": "", "text": "   "},
        {"review_id": "x4", "place": "", "rating": "", "text": "ok only english here"},
        {"review_id": "x5", "place": "", "rating": "5", "text": "餐點不會太鹹，服務人員也很親切"},
    ]
    reviews, gold = folder / "reviews.csv", folder / "gold.jsonl"
    with reviews.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows + extra)
    known = {row["review_id"] for row in rows}
    lines = (SAMPLE / "gold.jsonl").read_text(encoding="utf-8").split("\n")
    own = [
        {
            "aspect": "餐點",
            "aspect_spans": [[0, 2]],
            "opinion": "不會鹹",
            "opinion_spans": [[2, 4], [5, 6]],
            "polarity": "POS",
        },
        {
            "aspect": "服務人員",
            "aspect_spans": [[7, 11]],
            "opinion": "親切",
            "opinion_spans": [[13, 15]],
            "polarity": "POS",
        },
    ]
    full = [
        {"opinion_full": "不會太鹹", "opinion_full_spans": [[2, 6]]},
        {"opinion_full": "也很親切", "opinion_full_spans": [[11, 15]]},
    ]
    labelled = {
        "id": "x5",
        "triplets": [one | more for one, more in zip(own, full, strict=True)],
    }  # 也 belongs to no phrase of the rules
    chosen = [line for line in lines if line and json.loads(line)["id"] in known] + [
        json.dumps(labelled, ensure_ascii=False)
    ]
    gold.write_text("\n".join(chosen) + "\n", encoding="utf-8")
    return reviews, gold


def write_lines(path: Path, rows: Iterable[object]) -> Path:
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    return path


def read_lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n") if line]


def invoke(*words: object) -> Result:
    """`builder …` in this process; what goes wrong is in the result."""
    from builder.cli.main import cli

    return CliRunner().invoke(cli, [str(word) for word in words])


def make_once(name: str, make: Callable[[Path], None]) -> Path:
    """A folder that the first process which asks for it fills, and all read: those of this session, and of later ones
    of the same day and the same code. It lies where pytest keeps its cache.
    """
    recipe = "".join(map(inspect.getsource, (make, small_input, briefly)))
    digest = hashlib.sha256(f"{date.today()} {sys.version} {version('torch')} {FAST} {recipe}".encode())
    for path in sorted(path for place in CODE for path in place.rglob("*")):
        if path.is_file() and path.suffix != ".pyc":
            digest.update(str(path).encode() + path.read_bytes())
    home = ROOT / ".pytest_cache" / "d" / name
    folder = home / digest.hexdigest()[:16]
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "made").exists():
            for old in home.iterdir():
                if old.stat().st_mtime < time.time() - 7200:
                    shutil.rmtree(old)
            make(folder)
            (folder / "made").touch()
    return folder


def build_small(folder: Path) -> None:
    reviews, gold = small_input(folder)
    places = ("--workdir", folder / "workdir", "--out", folder / "releases")
    ran = run_process("build", reviews, *places, "--verbose", *settings(evaluate__gold=str(gold)))
    assert ran.code == 0, ran.err
    (folder / "ran.json").write_text(json.dumps(asdict(ran)), encoding="utf-8")


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Built:
    """This process's own copy of the tiny build, for commands lock it."""
    from builder.pipeline import builds, pipeline

    shared, own = make_once("built", build_small), tmp_path_factory.mktemp("built")
    shutil.copy(shared / "reviews.csv", own)
    shutil.copytree(shared / "releases", own / "releases")
    outcome = (shared / "ran.json").read_text(encoding="utf-8").replace(str(shared.resolve()), str(own))
    ran = Ran(**json.loads(outcome))
    made = Built(own / "reviews.csv", shared / "gold.jsonl", shared / "workdir", own / "releases", ran)
    made = replace(made, workdir=made.copy(own))
    pipeline.run(builds.remembered(made.workdir, made.out))  # it notes where it lies now
    return made


def ask(workdir: Path, statement: str) -> list[tuple[Any, ...]]:
    """The rows that a working directory's database answers with."""
    with closing(sqlite3.connect(workdir / "builder.db")) as connection:
        return connection.execute(statement).fetchall()


def contents(folder: Path) -> dict[str, str]:
    """Every file under a folder by its hash: equal exactly where the bytes are.
    Nothing may be left beside the releases.
    """
    return {
        path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


@pytest.fixture(scope="session")
def tree() -> Callable[[Path], dict[str, str]]:
    return contents


@pytest.fixture(scope="session")
def chromium() -> Iterator[Any]:
    """One headless browser for all pages that a process of tests opens."""
    from chromium import CHROMIUM, Browser

    if CHROMIUM is None:
        pytest.skip("chromium is not installed")
    made = Browser()
    yield made
    made.close()


@pytest.fixture
def browser(chromium: Any) -> Any:
    chromium.clear()
    return chromium
