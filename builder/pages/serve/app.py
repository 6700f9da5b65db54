"""From a working directory or a release to a running web server.

Pages read an immutable SQLite file: a copy of a working directory's, or made of a release's rows. The folder of that
copy is gone when the server ends, or when the next one starts.
"""

from __future__ import annotations

import asyncio
import fcntl
import hashlib
import os
import resource
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from builder.core import markup
from builder.gold.server import listen
from builder.pages.serve.answering import Extracting, Reads, Site, metadata
from builder.release import shelf
from builder.release.export.native_rows import ReviewRow, TripletRow
from builder.release.export.native_rows import triplet as triplet_of
from builder.release.verify import naming_faults
from builder.store import browse, db, released, reviews, runs, search

_PREFIX = "builder-serve-"
_LOCK = "lock"


@contextmanager
def folder_of_server() -> Iterator[Path]:
    """A folder that this user alone reads, removed at the end; what killed servers left is removed first."""
    parent = Path(tempfile.gettempdir())
    for path in parent.glob(f"{_PREFIX}*"):
        _remove_if_left(path)
    with tempfile.TemporaryDirectory(prefix=_PREFIX) as name:
        draft = Path(name) / "lock.new"  # named `lock` once it is locked, so that nobody takes the folder for left
        with draft.open("wb") as handle:
            fcntl.flock(handle, fcntl.LOCK_EX)
            draft.rename(Path(name) / _LOCK)
            yield Path(name)


def _remove_if_left(path: Path) -> None:
    """Remove a folder of ours whose server has ended."""
    try:
        if path.is_symlink() or path.stat().st_uid != os.getuid():
            return
        with (path / _LOCK).open("rb") as handle:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(path, ignore_errors=True)
    except OSError:  # it is in use, or another server that starts is removing it
        return


_SETTINGS = {
    "allow_download": False,
    "sql_time_limit_ms": 3000,
    "facet_time_limit_ms": 1000,
    "max_returned_rows": 1000,
    "suggest_facets": False,
}
MEMORY = 3 << 30
"""Bytes that the server may take beyond what it has when it begins to listen; the model that reads typed sentences
takes 0.9 GB, and each thread maps 64 MB.
"""


def datasette(
    database: Path, title: str, source: str, host: str = "127.0.0.1", extractor: Callable[[], Reads] | None = None
) -> Any:
    """An instance of Datasette over an immutable database of ours.

    Args:
        extractor: makes what reads a sentence that somebody types; None: the server reads none.
    """
    library = _library()
    from builder.pages.serve import plugin

    if not library.plugins.pm.is_registered(plugin):
        library.plugins.pm.register(plugin, "builder")

    class Served(library.app.Datasette):  # type: ignore[misc,name-defined]
        """Datasette asks for routes while it is made, so the site has to be there before."""

        builder_site = Site(title, source, host, Extracting(extractor) if extractor else None)

    served = Served(
        immutables=[str(database)],
        metadata=metadata(title, source),
        template_dir=str(Path(__file__).parent / "templates"),
        settings=_SETTINGS,
    )
    served.jinja_env.finalize = _visible
    return served


def _visible(value: object) -> object:
    """What a template writes, with characters that reorder or hide text shown by their numbers."""
    return markup.visible(value) if type(value) is str else value


def _library() -> Any:
    os.environ.setdefault("DATASETTE_LOAD_PLUGINS", "")  # what else is installed here has no business on these pages
    import datasette.app
    import datasette.handle_exception
    import datasette.plugins

    datasette.handle_exception.rich = None  # where rich is installed, it prints every unknown path with a traceback
    return datasette


def serve(
    workdir: Path, release: Path | None, extractor: Callable[[], Reads], report: Callable[[str], None], host: str,
    port: int, *, opened: bool,
) -> None:  # fmt: skip
    """Serve a working directory, or a release, until interrupted. `extractor` makes what reads typed sentences.
    `report` hears the address once the socket is open; `opened`: a browser opens it.
    """
    _library()  # before a large copy is made
    with folder_of_server() as folder:
        if release is not None:
            manifest = shelf.opened(release).manifest
            title = f"{manifest['name']} {manifest['version']}"
            source = f"release {release}"
            report(f"reading {release}")
            database = of_release(release, folder)
        else:
            title = f"working directory {workdir.resolve().name}"
            source = f"{workdir}, as it was when the server started"
            with db.reading(workdir):  # what cannot be read is not said to be copied
                report(f"copying {workdir}")
            database = of_workdir(workdir, folder)
        made = datasette(database, title, source, host, extractor)
        asyncio.run(made.client.get("/"))  # the one page that takes long; it is kept
        with suppress(KeyboardInterrupt):  # uvicorn raises it again once it has stopped; it is how one leaves
            _run(made.app(), host, port, report, opened)


def _run(app: Any, host: str, port: int, report: Callable[[str], None], opened: bool) -> None:
    import uvicorn

    listening = listen(host, port)
    shown = f"[{host}]" if ":" in host else host
    address = f"http://{shown}:{listening.getsockname()[1]}/"
    report(f"{address}  (Ctrl-C stops)")
    if opened and not _open(address):
        report("no browser could be opened here; open the address yourself")
    server = uvicorn.Server(uvicorn.Config(app, log_level="warning", lifespan="on", access_log=False))
    _limit_memory()
    server.run(sockets=[listening])


def _open(address: str) -> bool:
    """Open an address in the user's browser, in a process of its own; False where there is none."""
    import webbrowser

    try:
        return webbrowser.open(address)
    except webbrowser.Error:
        return False


def _limit_memory() -> None:
    """Whatever is asked of the server, it takes no more than MEMORY beyond what it has now."""
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
    except OSError:  # not Linux: SQLite's own limit stays
        return
    limit = pages * resource.getpagesize() + MEMORY
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    if hard == resource.RLIM_INFINITY or limit < hard:
        resource.setrlimit(resource.RLIMIT_AS, (limit, hard))


# ---- The database that pages read

_SCRIPTS = {"zh-Hant": "traditional", "zh-Hans": "simplified"}
_BATCH = 2000


def of_workdir(workdir: Path, folder: Path) -> Path:
    """A copy in `folder`, so that pages stay as they are while a build goes on."""
    target = folder / "builder.db"
    browse.snapshot(workdir, target)
    return target


def of_release(release: Path, folder: Path) -> Path:
    """A database of the same tables made of a release directory: its reviews, triplets, sources, rules and scores."""
    manifest = shelf.opened(release).manifest
    version = str(manifest["version"])
    with naming_faults(release), db.writing(folder) as connection:
        with db.atomic(connection):
            for split in manifest["splits"]:
                batch: list[ReviewRow] = []
                for row in shelf.rows(release, split):
                    batch.append(row)
                    if len(batch) == _BATCH:
                        _store(connection, version, split, batch)
                        batch.clear()
                _store(connection, version, split, batch)
            search.index(connection)
            runs.set_metrics(connection, [(_score(metric), "") for metric in manifest["metrics"]])
            runs.set_release(connection, version, str(release), "")
            released.set_public_ids(connection, hashed=False)
        browse.finish(connection)
    return folder / db.NAME


def _hash(triplet: TripletRow) -> int:
    """The triplet's part of its id."""
    return int(triplet["id"].rpartition(":")[2], 16)


def _score(metric: dict[str, Any]) -> runs.Score:
    system, split, name = (metric[key] for key in ("system", "split", "metric"))
    return system, split, name, float(metric["value"]), metric.get("low"), metric.get("high")


def _store(connection: Any, version: str, split: str, batch: list[ReviewRow]) -> None:
    """A batch of rows; a row without what every release has is a fault of the release."""
    made: list[reviews.NewReview] = []
    for n, row in enumerate(batch, start=1):
        digest = hashlib.sha256(row["text"].encode()).hexdigest()
        language = row["language"]
        script = _SCRIPTS.get(language, "mixed")
        made.append(
            (row["id"], row["text"], row["source"], None, row["rating"], split, n, script, language, digest, digest)
        )
    reviews.insert(connection, made)
    ids = reviews.ids(connection, [row["id"] for row in batch])
    reviews.set_splits(connection, [(split, ids[row["id"]]) for row in batch])
    restored = [
        (ids[row["id"]], browse.Restored(_hash(triplet), triplet_of(triplet), tuple(triplet["sources"])))
        for row in batch
        for triplet in row["triplets"]
    ]
    browse.restore(connection, restored)
    released.add_rows(connection, version, split, (ids[row["id"]] for row in batch), batch)
