"""The workers of a dask cluster: one that stands somewhere (`--scheduler`), or one made of processes of this machine.

A worker on another machine has builder installed as it is here, and no disk in common: what a job needs comes to it
once, as parcels, which every worker is given when it joins (a dask worker plugin). A worker whose code or
libraries are others than here is refused: its answers might differ. dask gives a dead worker's tasks to others.

What goes over the network is pickled: whoever reaches a scheduler runs code as its user. The cluster of this machine
therefore has a key of its own, which never leaves its processes; a scheduler elsewhere without TLS is warned about.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import multiprocessing
import platform
import time
import warnings
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from itertools import islice
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

from builder import __version__
from builder.core.errors import BuilderWarning, ConfigError, ResourceError, WorkerLost, install_command
from builder.core.shards import TRIES, Answer, Job, Parcel, State, Task, folder_of, pack, parcels_in, unpack
from builder.core.shards.local import perform, undisturbed

_PACKAGE = Path(__file__).parents[2]
_LIBRARIES = ("numpy", "torch", "rjieba", "opencc")
CALL = 15.0
"""Seconds to reach a scheduler."""
JOIN = 60.0
"""Seconds in which a worker must be there, at the start and whenever the last one has gone."""
_STORE = "builder-parcels"
_NO_PAGES: Mapping[str, list[str]] = {"distributed.scheduler.http.routes": [], "distributed.worker.http.routes": []}
"""The web servers that dask always starts have no key, so they show nothing."""
_OPEN = "{}: whoever reaches this scheduler can run code as you; start it with dask's TLS and name it by tls://"


class DaskCrew:
    """All workers of the cluster at `scheduler`; without a scheduler, `workers` processes of this machine."""

    def __init__(self, workers: int, scheduler: str) -> None:
        self._workers, self._scheduler = workers, scheduler
        self._client: Any = None
        self._cluster: Any = None
        self._shipped: set[str] = set()
        self._others: set[BaseProcess] = set()

    def __enter__(self) -> DaskCrew:
        _library()  # what is not installed is said before the work begins
        return self

    def __exit__(self, *error: object) -> None:
        client, cluster, self._client, self._cluster = self._client, self._cluster, None, None
        if client is None:
            return
        if cluster is None:
            _quietly(lambda: [client.unregister_worker_plugin(name) for name in self._shipped])
        _quietly(lambda: client.close(timeout=2))
        if cluster is not None:
            _quietly(lambda: cluster.close(timeout=2))
            for process in set(multiprocessing.active_children()) - self._others:
                process.kill()  # on a busy machine two seconds are too few, and workers inherit that SIGTERM waits

    def map(self, job: Job[State, Task, Answer], tasks: Iterable[Task]) -> Iterator[Answer]:
        """See `Crew`."""
        queue = iter(tasks)
        head = list(islice(queue, 1))
        if not head:
            return
        client = self._ready(job)
        flying: deque[Any] = deque()
        try:
            flying += [self._submit(client, job, task) for task in (*head, *islice(queue, 2 * self._present() + 1))]
            while flying:
                answer = self._answer(flying[0])
                flying.popleft().release()
                flying += [self._submit(client, job, task) for task in islice(queue, 1)]
                yield answer
        finally:
            _quietly(lambda: client.cancel(list(flying)))

    def rest(self) -> None:
        """See `Crew`. A cluster stays."""

    def _ready(self, job: Job[State, Task, Answer]) -> Any:
        """The client, with every parcel of the job on its way to every worker."""
        library = _library()
        if self._client is None:
            self._call(library)
        for parcel in parcels_in(job.arguments):
            if parcel.digest not in self._shipped:
                self._client.register_plugin(_plugin(library)(parcel, pack(parcel)), name=parcel.digest)
                self._shipped.add(parcel.digest)
        return self._client

    def _call(self, library: Any) -> None:
        try:
            if not self._scheduler:
                key = _key(library)
                with undisturbed(), library.dask.config.set(_NO_PAGES):
                    self._others = set(multiprocessing.active_children())
                    self._cluster = _started(
                        lambda: library.LocalCluster(
                            n_workers=self._workers,
                            threads_per_worker=1,
                            processes=True,
                            host="127.0.0.1",
                            dashboard_address="127.0.0.1:0",
                            worker_dashboard_address=None,
                            silence_logs="CRITICAL",
                            security=key,
                            scheduler_kwargs={"dashboard": False},
                        )
                    )
            elif not self._scheduler.startswith("tls://"):
                warnings.warn(_OPEN.format(self._scheduler), BuilderWarning, stacklevel=2)
            self._client = _started(
                lambda: library.Client(self._cluster or self._scheduler, timeout=CALL, set_as_default=False)
            )
        except (OSError, ValueError, TypeError) as error:
            where = self._scheduler or "a cluster of this machine"
            raise WorkerLost(
                f"no scheduler answers ({error})",
                where=where,
                fix="start one with `dask scheduler`, or correct --scheduler",
            ) from error
        self._wait()

    def _wait(self) -> None:
        deadline = time.monotonic() + JOIN
        while not self._present():
            if time.monotonic() > deadline:
                raise WorkerLost(
                    f"no worker has joined in {JOIN:.0f} s",
                    where=self._scheduler or "a cluster of this machine",
                    fix=f"start some with `dask worker {self._scheduler or 'ADDRESS'} --nthreads 1 --nworkers 8`, "
                    "then `builder resume`",
                )
            time.sleep(0.1)

    def _present(self) -> int:
        return len(self._client.scheduler_info(n_workers=-1)["workers"])

    def _submit(self, client: Any, job: Job[State, Task, Answer], task: Task) -> Any:
        return client.submit(_at_worker, job, task, signature(), pure=False, retries=0)

    def _answer(self, future: Any) -> Any:
        """A task's answer, waited for as long as there are workers."""
        from distributed import KilledWorker
        from distributed.client import FutureCancelledError
        from distributed.comm.core import CommClosedError

        while True:
            try:
                return future.result(timeout=5)
            except TimeoutError:
                if self._client.status != "running":
                    raise self._gone("the scheduler does not answer any more") from None
                self._wait()
            except KilledWorker as error:
                fix = "is there enough memory on them? then `builder resume`"
                raise WorkerLost(
                    f"workers died {TRIES + 1} times over one task", where=self._scheduler, fix=fix
                ) from error
            except (FutureCancelledError, CommClosedError) as error:
                raise self._gone("the scheduler was stopped or restarted") from error
            except ModuleNotFoundError as error:
                raise WorkerLost(
                    f"a worker lacks {error.name}", fix="install the same builder there, with the same extras"
                ) from error
            except RuntimeError as error:
                if "deserialization" not in str(error):
                    raise
                raise WorkerLost(
                    "the scheduler lacks builder",
                    fix="start it where the same version is installed, with its extra `scale`",
                ) from error

    def _gone(self, what: str) -> WorkerLost:
        return WorkerLost(what, where=self._scheduler, fix="start it again, then `builder resume`")


def _quietly(step: Any) -> None:
    """What is given back at the end may be gone already."""
    try:
        step()
    except Exception:
        return


def _started(make: Callable[[], Any]) -> Any:
    """What `make` makes. Dask waits ten seconds for the thread of its event loop, which a busy machine may not start
    in time, and then fails an assertion: that is tried again.
    """
    for _ in range(TRIES - 1):
        try:
            return make()
        except AssertionError:
            time.sleep(1.0)
    return make()


def _library() -> Any:
    try:
        import distributed
    except ImportError as error:
        raise ConfigError(f"the engine dask needs {error.name}", fix=install_command("scale")) from error
    return distributed


def _key(library: Any) -> Any:
    """TLS with a certificate of its own for one cluster: it is in memory only, so nobody else can join or ask."""
    try:
        return library.Security.temporary()
    except ImportError as error:
        raise ConfigError(
            "a cluster of this machine needs cryptography, for nobody else to join it", fix=install_command("scale")
        ) from error


@cache
def _plugin(library: Any) -> Any:
    class Delivery(library.WorkerPlugin):  # type: ignore[misc]
        """Brings a parcel to every worker there is, and to each that joins."""

        idempotent = True

        def __init__(self, parcel: Parcel, packed: Mapping[str, bytes]) -> None:
            self.parcel, self.packed = parcel, packed

        def setup(self, worker: Any) -> None:
            unpack(self.parcel, self.packed, Path(worker.local_directory) / _STORE)

    return Delivery


def _at_worker(job: Job[State, Task, Answer], task: Task, due: tuple[str, ...]) -> Answer:
    """What runs at a worker."""
    from distributed import get_worker

    worker = get_worker()
    if different := [
        f"{theirs} where {ours} is due" for ours, theirs in zip(due, signature(), strict=True) if ours != theirs
    ]:
        fix = "install the same versions on every machine, of builder and its libraries"
        raise WorkerLost(
            f"a worker is unlike the machine that asks: {', '.join(different)}", where=worker.address, fix=fix
        )

    def where(parcel: Parcel) -> Path:
        place = folder_of(parcel, Path(worker.local_directory) / _STORE)
        if not place.is_dir():
            raise ResourceError(
                "did not arrive", where=f"{parcel.name} at {worker.address}", fix="`builder resume` sends it again"
            )
        return place

    return perform(job, task, where)


@cache
def signature() -> tuple[str, ...]:
    """What must be the same at every worker for the same answers: code, Python, libraries, instructions for numbers."""
    code = hashlib.sha256()
    for path in sorted(_PACKAGE.rglob("*.py")):
        code.update(path.relative_to(_PACKAGE).as_posix().encode() + path.read_bytes())
    libraries = [f"{name} {_version(name)}" for name in _LIBRARIES]
    python = ".".join(platform.python_version_tuple()[:2])
    return (
        f"builder {__version__} ({code.hexdigest()[:12]})",
        f"Python {python}",
        *libraries,
        f"CPU {platform.machine()} {_instructions()}",
    )


def _version(library: str) -> str:
    try:
        return importlib.metadata.version(library)
    except importlib.metadata.PackageNotFoundError:
        return "is not there"


def _instructions() -> str:
    """Libraries choose their kernels by these, and another may round otherwise. Nothing where the system is silent."""
    try:
        flags = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").split()
    except OSError:
        return ""
    return next((name for name in ("avx512f", "avx2", "asimd") if name in flags), "")
