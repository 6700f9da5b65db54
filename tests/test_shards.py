"""Work in shards: the same answers in the same order by any crew of any size, whoever dies on the way."""

from __future__ import annotations

import json
import multiprocessing
import os
import re
import signal
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from conftest import ROOT, environment

from builder.core.errors import BuilderError, BuilderWarning, ConfigError, ResourceError, WorkerLost, install_command
from builder.core.shards import Crew, Job, Parcel, folder_of, opened, pack, parcels_in, put_in_place, unpack
from builder.core.shards import cluster as shard_cluster
from builder.core.shards.cluster import DaskCrew

pytest.importorskip("distributed", reason="the extra scale is not installed")


# ---- jobs, in a module that worker processes can import (the folder of the tests is on their path)


def ready(folder: Path, others: tuple[Path, ...], factor: int) -> tuple[str, int]:
    return (folder / "sub" / "word.txt").read_text() + "".join(one.name for one in others), factor


def times(state: tuple[str, int], task: int) -> tuple[int, str]:
    return task * state[1], state[0]


def deadly(state: tuple[str, int], task: int) -> tuple[int, str]:
    """The worker that gets task 5 first dies of it; the next one finds that it has happened."""
    mark = Path(state[0].split("|")[1])
    if task == 5 and not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return task * state[1], "done"


def always_deadly(state: tuple[str, int], task: int) -> int:
    if task == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    return task


def end_the_other(state: tuple[str, int], task: int) -> int:
    """The worker of task 1 ends that of task 0, which waits for work and so holds the lock of the queue of tasks."""
    first, second = (Path(state[0].split("|")[1]) / str(number) for number in (0, 1))
    if task == 0:
        while not second.exists():
            time.sleep(0.01)
        first.write_text(str(os.getpid()))
    elif not second.exists():
        second.touch()
        while not first.exists() or not first.read_text():
            time.sleep(0.01)
        time.sleep(1)
        os.kill(int(first.read_text()), signal.SIGKILL)
        time.sleep(1)
    return task


def wrong(state: tuple[str, int], task: int) -> int:
    if task == 3:
        raise ResourceError("broken", where="here", fix="mend it")
    return task


@pytest.fixture(autouse=True)
def reachable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", f"{ROOT}{os.pathsep}{Path(__file__).parent}")


def parcel(tmp_path: Path, word: str = "湯", name: str = "data") -> Parcel:
    (tmp_path / name / "sub").mkdir(parents=True)
    (tmp_path / name / "sub" / "word.txt").write_text(word)
    return Parcel.of(tmp_path / name)


def answers(crew: Crew, job: Job[tuple[str, int], int, tuple[int, str]], count: int = 23) -> list[tuple[int, str]]:
    return list(crew.map(job, iter(range(count))))


@pytest.mark.parametrize(("engine", "workers"), [("local", 1), ("local", 2), ("dask", 2)])
def test_every_crew_gives_the_same_answers_in_order_as_they_are_needed_rests_and_hands_on_an_error(
    engine: str, workers: int, tmp_path: Path
) -> None:
    """Ten million reviews are never all in flight. A crew that rests lets its processes go, but for those of dask."""
    first, other = parcel(tmp_path), parcel(tmp_path, "麵", "more")
    before, taken, seen = set(multiprocessing.active_children()), list[int](), list[int]()
    with opened(engine, workers) as crew:
        for factor in (2, 3):
            found = answers(crew, Job(ready, (first, (other,), factor), times))
            assert found == [(factor * i, "湯more") for i in range(23)]
            crew.rest()
            assert bool(set(multiprocessing.active_children()) - before) == (engine == "dask")
        assert answers(crew, Job(ready, (first, (), 1), times), 0) == []
        running = crew.map(Job(ready, (first, (), 2), times), (taken.append(n) or n for n in range(1000)))
        for _ in range(10):
            next(running)
        running.close()
        assert 10 <= len(taken) < 30
        with pytest.raises(ResourceError) as told:
            seen.extend(crew.map(Job(ready, (first, (), 2), wrong), range(8)))
    assert seen == [0, 1, 2]
    assert (told.value.what, told.value.where, told.value.fix) == ("broken", "here", "mend it")


def test_a_worker_that_dies_after_its_last_task_does_not_keep_its_crew_from_resting(tmp_path: Path) -> None:
    job, before = Job(ready, (parcel(tmp_path), (), 2), times), set(multiprocessing.active_children())
    with opened("local", 2) as crew:
        first = answers(crew, job)
        workers = set(multiprocessing.active_children()) - before
        workers.pop().kill()
        time.sleep(1)  # the pool notices, and nobody has a task for it
        resting = threading.Thread(target=crew.rest, daemon=True)
        resting.start()
        resting.join(timeout=120)
        stuck = resting.is_alive()
        for process in workers if stuck else ():
            process.kill()  # else these tests would wait for it at their end
        assert not stuck
        assert answers(crew, job) == first


def large(state: tuple[str, int], task: int) -> bytes:
    """An answer that is still being sent when that of the other worker has come."""
    return bytes(50_000_000)


@pytest.mark.parametrize("broken", [False, True])
def test_a_loop_that_is_left_while_large_answers_come_does_not_keep_its_crew_from_ending(
    broken: bool, tmp_path: Path
) -> None:
    job = Job(ready, (parcel(tmp_path), (), 2), large)

    def leave() -> None:
        with suppress(ZeroDivisionError), opened("local", 2) as crew:
            next(crew.map(job, iter(range(50))))
            assert not broken or 1 / 0

    before = set(multiprocessing.active_children())
    leaving = threading.Thread(target=leave, daemon=True)
    leaving.start()
    leaving.join(timeout=300)
    stuck = leaving.is_alive()
    for process in set(multiprocessing.active_children()) - before if stuck else ():
        process.kill()
    assert not stuck


@pytest.mark.parametrize("engine", ["local", "dask"])
def test_a_worker_that_dies_over_a_task_costs_nothing(engine: str, tmp_path: Path) -> None:
    mark = tmp_path / "died"
    with opened(engine, 2) as crew:
        found = answers(crew, Job(ready, (parcel(tmp_path, f"|{mark}"), (), 2), deadly))
    assert mark.exists(), "one died"
    assert found == [(2 * i, "done") for i in range(23)]


def test_a_worker_that_dies_while_it_waits_leaves_no_worker_that_waits_for_ever(tmp_path: Path) -> None:
    before = set(multiprocessing.active_children())
    with opened("local", 2) as crew:
        sent = parcel(tmp_path, f"|{tmp_path}")
        assert list(crew.map(Job(ready, (sent, (), 2), end_the_other), range(2))) == [0, 1]
    deadline = time.monotonic() + 120
    while (left := set(multiprocessing.active_children()) - before) and time.monotonic() < deadline:
        time.sleep(0.1)
    for process in left:
        process.kill()  # else these tests would wait for it at their end
    assert not left, "a program waits for its workers when it ends"


def test_a_job_of_a_scripts_own_functions_is_refused_before_any_worker_dies_of_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(times, "__module__", "__main__")
    with pytest.raises(AssertionError, match="no worker can import times of a script"):
        Job(ready, (), times)


def test_nobody_without_its_key_reaches_the_cluster_of_this_machine(tmp_path: Path) -> None:
    from distributed import Client, Security

    with opened("dask", 1) as crew:
        running = crew.map(Job(ready, (parcel(tmp_path), (), 2), times), range(5))
        first = next(running)
        assert isinstance(crew, DaskCrew)
        address = crew._cluster.scheduler_address
        assert address.startswith("tls://127.0.0.1:")
        port = crew._cluster.scheduler.http_server.port
        for path in ("", "info/main/workers.html", "status", "json/counts.json", "metrics", "health"):
            with pytest.raises(urllib.error.HTTPError) as refused:
                urllib.request.urlopen(f"http://127.0.0.1:{port}/{path}")
            assert refused.value.code == 404
            refused.value.close()
        for strange, security in ((address.replace("tls", "tcp"), None), (address, Security.temporary())):
            with pytest.raises(OSError, match=r"closed|reset|TLS|Timed out|connect"):
                Client(strange, security=security, timeout=2, set_as_default=False)
        assert [first, *running] == [(2 * i, "湯") for i in range(5)]


def test_a_scheduler_without_tls_is_warned_about(address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shard_cluster, "JOIN", 0.2)
    with (
        opened("dask", 1, address) as crew,
        pytest.warns(BuilderWarning, match=r"tcp://.* can run code as you; .*tls://"),
        pytest.raises(WorkerLost),
    ):
        list(crew.map(Job(ready, (parcel(tmp_path), (), 2), times), range(3)))


def test_workers_that_do_not_close_in_time_are_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from distributed import LocalCluster

    before, left = set(multiprocessing.active_children()), list[LocalCluster]()

    def late(self: LocalCluster, timeout: float | None = None) -> None:
        left.append(self)
        raise TimeoutError

    with monkeypatch.context() as patched, opened("dask", 2) as crew:
        answers(crew, Job(ready, (parcel(tmp_path), (), 2), times))
        born = set(multiprocessing.active_children()) - before
        patched.setattr(LocalCluster, "close", late)
    try:
        assert len(born) == 2
        wait_for(
            lambda: not any(process.is_alive() for process in born)
        )  # dask's own thread may be the one that hears of their end
    finally:
        for cluster in left:
            cluster.close(timeout=300)  # lest it begins other workers in their place


@pytest.mark.parametrize("engine", ["local", "dask"])
def test_a_task_that_kills_every_worker_is_given_up(engine: str, tmp_path: Path) -> None:
    with opened(engine, 2) as crew, pytest.raises(WorkerLost, match="4 times over one task"):
        list(crew.map(Job(ready, (parcel(tmp_path), (), 2), always_deadly), range(8)))


# ---- parcels


def test_a_parcel_arrives_whole_under_its_digest_and_its_own_name(tmp_path: Path) -> None:
    sent = parcel(tmp_path)
    place = unpack(sent, pack(sent), tmp_path / "store")
    assert place == folder_of(sent, tmp_path / "store") == tmp_path / "store" / sent.digest / "data"
    assert (place / "sub" / "word.txt").read_text() == "湯"
    assert unpack(sent, {}, tmp_path / "store") == place, "what is there is not written twice"
    assert put_in_place((sent, (sent, 1), 2), lambda one: Path(one.name)) == (Path("data"), (Path("data"), 1), 2)
    assert parcels_in((sent, (sent, 1), 2)) == [sent, sent]


def test_a_parcel_that_changed_is_refused(tmp_path: Path) -> None:
    sent = parcel(tmp_path)
    (tmp_path / "data" / "sub" / "word.txt").write_text("else")
    with pytest.raises(ResourceError, match="changed while the build ran"):
        pack(sent)
    (tmp_path / "data" / "sub" / "word.txt").unlink()
    with pytest.raises(ResourceError, match=r"word\.txt: cannot be read"):
        pack(sent)


# ---- a cluster that stands elsewhere: a scheduler and workers started by hand, with nothing but the network in common


def started(*words: str, cwd: Path, **more: str) -> subprocess.Popen[str]:
    place = (
        environment()
        | {"PYTHONPATH": f"{ROOT}{os.pathsep}{Path(__file__).parent}", "DASK_TEMPORARY_DIRECTORY": str(cwd)}
        | more
    )
    return subprocess.Popen(
        [sys.executable, "-m", "distributed.cli." + words[0], *words[1:]], env=place, cwd=cwd,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, text=True, start_new_session=True,
    )  # fmt: skip


@contextmanager
def begin_cluster(folder: Path) -> Iterator[tuple[str, int]]:
    """The address of a scheduler without workers, and its process."""
    file = folder / "scheduler.json"
    process = started(
        "dask_scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--no-jupyter", "--scheduler-file",
        str(file), cwd=folder,
    )  # fmt: skip
    try:
        wait_for(lambda: file.exists() and bool(file.read_text()))
        yield json.loads(file.read_text())["address"], process.pid
    finally:
        end(process)


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with begin_cluster(tmp_path_factory.mktemp("cluster")) as (where, _):
        yield where


def worker(address: str, cwd: Path, *words: str, **more: str) -> subprocess.Popen[str]:
    cwd.mkdir()
    return started("dask_worker", address, "--nthreads", "1", "--no-dashboard", *words, cwd=cwd, **more)


def wait_for(due: Callable[[], bool], seconds: float = 300) -> None:
    deadline = time.monotonic() + seconds
    while not due():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def end(*processes: subprocess.Popen[str]) -> None:
    for process in processes:
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            continue
        process.wait()


def test_workers_elsewhere_are_sent_what_they_need_once_also_those_that_come_later(
    address: str, tmp_path: Path
) -> None:
    sent = parcel(tmp_path)
    (one,) = workers = [worker(address, tmp_path / "a", "--no-nanny")]
    try:
        with opened("dask", 9, address) as crew:
            running = crew.map(Job(ready, (sent, (), 2), times), range(300))
            found = [next(running)]
            (tmp_path / "data" / "sub" / "word.txt").write_text("nobody reads it here any more")
            workers.append(worker(address, tmp_path / "b", "--no-nanny"))
            wait_for(lambda: bool(list((tmp_path / "b").rglob("word.txt"))))
            os.killpg(one.pid, signal.SIGKILL)
            found += running
        assert found == [(2 * i, "湯") for i in range(300)]
        (copy,) = (tmp_path / "b").rglob("word.txt")
        assert copy.parent.parent.parent.name == sent.digest
    finally:
        end(*workers)


def test_a_worker_with_other_libraries_is_refused_by_name(address: str, tmp_path: Path) -> None:
    fake = tmp_path / "fake"
    (fake / "opencc-0.0.1.dist-info").mkdir(parents=True)
    (fake / "opencc-0.0.1.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: opencc\nVersion: 0.0.1\n")
    other = worker(
        address, tmp_path / "a", "--no-nanny", PYTHONPATH=f"{fake}{os.pathsep}{ROOT}{os.pathsep}{Path(__file__).parent}"
    )
    try:
        with (
            opened("dask", 1, address) as crew,
            pytest.raises(WorkerLost, match=r"opencc 0\.0\.1 where opencc \S+ is due"),
        ):
            list(crew.map(Job(ready, (parcel(tmp_path), (), 2), times), range(3)))
    finally:
        end(other)


def test_a_scheduler_without_workers_or_none_at_all_is_said_so(
    address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shard_cluster, "JOIN", 0.5)
    job = Job(ready, (parcel(tmp_path), (), 2), times)
    with (
        opened("dask", 1, address) as crew,
        pytest.raises(WorkerLost, match=r"no worker has joined.*dask worker tcp://"),
    ):
        list(crew.map(job, range(3)))
    monkeypatch.setattr(shard_cluster, "CALL", 3.0)
    for nowhere in ("tcp://127.0.0.1:9", "carrier pigeon", "http://127.0.0.1:1"):
        with opened("dask", 1, nowhere) as crew, pytest.raises(BuilderError, match="no scheduler answers"):
            list(crew.map(job, range(3)))


def test_an_event_loop_that_starts_too_late_is_started_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shard_cluster.time, "sleep", lambda _: None)
    outcomes = [AssertionError(), AssertionError(), "client"]

    def make() -> object:
        outcome = outcomes.pop(0)
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    assert shard_cluster._started(make) == "client"
    outcomes[:] = [AssertionError()] * 3
    with pytest.raises(AssertionError):
        shard_cluster._started(make)


def test_a_scheduler_that_dies_ends_the_job_with_a_word(tmp_path: Path) -> None:
    with begin_cluster(tmp_path) as (address, pid):
        here = worker(address, tmp_path / "a", "--no-nanny")
        try:
            with opened("dask", 1, address) as crew:
                running = crew.map(Job(ready, (parcel(tmp_path), (), 2), times), range(10_000))
                next(running)
                os.killpg(pid, signal.SIGKILL)
                with pytest.raises(WorkerLost, match="scheduler"):
                    list(running)
        finally:
            end(here)


def test_without_the_extra_the_engine_says_what_to_install_before_the_work_begins(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(ConfigError, match=re.escape(install_command("scale"))), opened("dask", 1):
        pass
