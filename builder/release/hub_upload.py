"""A release or a model on the Hugging Face hub: every file in one commit, then a tag with the version.

In: a release directory that verifies, or the folder of a model; USER/NAME of a repository. The hub's own client reads
the token from the environment or its login; we never see, store or print it. A run that broke off is repeated. The hub
keeps large files that arrived, the commit is whole or not there, and a missing tag is set.

`make_client` is the factory for `huggingface_hub.set_client_factory`, with limits for what a server may do. The hub's
own client waits without end and reads whatever comes. So a server that hangs or never stops would hold this machine.
"""

from __future__ import annotations

import hashlib
import re
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from queue import Empty, Queue
from threading import Thread
from typing import Any, Literal

from builder.core.errors import BuilderError, ConfigError, ReleaseError
from builder.core.files import digest_file
from builder.core.wording import counted
from builder.release.verify import verify

# ---- The HTTP client

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


# ---- Plans and uploads

_REPOSITORY = re.compile(r"[\w.-]{1,96}/[\w.-]{1,96}", re.ASCII)
_KEPT = frozenset({".gitattributes"})
"""Files that the hub itself puts into a repository."""


@dataclass(frozen=True, slots=True)
class UploadPlan:
    """What publishing would send: the files of a sound release or of a model with their sizes in bytes, and where
    to.
    """

    folder: Path
    repository: str
    tag: str
    files: Mapping[str, int]
    kind: Literal["dataset", "model"] = "dataset"

    @property
    def title(self) -> str:
        return f"{'Release' if self.kind == 'dataset' else 'Model'} {self.tag}"


@dataclass(frozen=True, slots=True)
class Published:
    """What was done: files sent and removed in the commit (none if the repository held all of it), and whether a tag
    was set.
    """

    url: str
    commit: str
    sent: int
    removed: int
    tagged: bool


def plan(release: Path, repository: str) -> UploadPlan:
    """Check name and release without any network; ReleaseError names the first fault."""
    check_repository(repository)
    faults = verify(release)
    if faults:
        more = f" and {len(faults) - 1} more faults" if len(faults) > 1 else ""
        raise ReleaseError(
            f"the release is not sound: {faults[0]}{more}", where=str(release), fix="`builder verify` lists all faults"
        )
    return UploadPlan(release, repository, release.resolve().name, _sizes(release))


def plan_model(folder: Path, repository: str, tag: str) -> UploadPlan:
    """What would be sent of the folder of a model, without any network."""
    check_repository(repository)
    return UploadPlan(folder, repository, tag, _sizes(folder), "model")


def check_repository(repository: str) -> None:
    """ConfigError for what is no USER/NAME."""
    if not _REPOSITORY.fullmatch(repository) or ".." in repository or "--" in repository:
        raise ConfigError(f"{repository!r} is no name of a repository", where="--repo", fix="write it as USER/NAME")


def _sizes(folder: Path) -> dict[str, int]:
    return {
        path.relative_to(folder).as_posix(): path.stat().st_size for path in sorted(folder.rglob("*")) if path.is_file()
    }


class HubTimeout(ReleaseError):
    """The hub has not answered in time; requests of its client may still hang in threads."""


def send_within(seconds: float, planned: UploadPlan, private: bool, report: Callable[[str], None]) -> Published:
    """`send`, but HubTimeout after so many seconds: the hub's client itself waits for an answer without end."""
    outcomes: Queue[Published | Exception] = Queue()

    def run() -> None:
        try:
            outcomes.put(send(planned, private, report))
        except Exception as error:
            outcomes.put(error)

    Thread(target=run, daemon=True).start()
    try:
        outcome = outcomes.get(timeout=seconds)
    except Empty:
        raise HubTimeout(
            f"the hub has not taken all within {seconds:g} seconds", where=planned.repository,
            fix="run the same command again, or raise --seconds: what has arrived is not sent twice",
        ) from None  # fmt: skip
    if isinstance(outcome, Exception):
        raise outcome
    return outcome


def send(planned: UploadPlan, private: bool, report: Callable[[str], None]) -> Published:
    """Publish: make the repository if it is not there, one commit if anything differs, the tag if it is missing.

    ReleaseError where the hub refuses, or where the tag is there with other content: a release is immutable.
    """
    import huggingface_hub as hub

    with _bounded(hub):
        return _send(hub, planned, private, report)


def _send(hub: Any, planned: UploadPlan, private: bool, report: Callable[[str], None]) -> Published:
    api, where, kind = hub.HfApi(), planned.repository, planned.kind
    if hub.get_token() is None:
        raise ReleaseError("no token for the hub", where=where, fix="set HF_TOKEN, or log in with `hf auth login`")
    local = {path: planned.folder / path for path in planned.files}
    with _translate_errors(where):
        url = str(api.create_repo(where, repo_type=kind, private=private or None, exist_ok=True))
        refs = api.list_repo_refs(where, repo_type=kind)
        commit = next((branch.target_commit for branch in refs.branches if branch.name == "main"), None)
        tagged = next((tag.target_commit for tag in refs.tags if tag.name == planned.tag), None)
        if tagged is not None:
            changed, gone = _difference(api, planned, planned.tag, local)
            if changed or gone:
                raise ReleaseError(
                    f"{planned.tag} is published already, with other content ({(changed + gone)[0]} differs)",
                    where=where,
                    fix="a version is immutable: make a new one with `builder versions release`",
                )
            return Published(url, tagged, 0, 0, tagged=False)
        changed, gone = _difference(api, planned, "main", local) if commit else (list(local), [])
        if changed or gone or commit is None:
            report(f"{where}: sending {counted(len(changed), 'file')}" + (f", removing {len(gone)}" if gone else ""))
            operations = [hub.CommitOperationAdd(path, str(local[path])) for path in changed]
            operations += [hub.CommitOperationDelete(path) for path in gone]
            commit = api.create_commit(  # parent: somebody else's commit in between is not overwritten
                where, operations, commit_message=planned.title, repo_type=kind, parent_commit=commit
            ).oid
        api.create_tag(where, tag=planned.tag, revision=commit, tag_message=planned.title, repo_type=kind)
    return Published(url, str(commit), len(changed), len(gone), tagged=True)


def _difference(api: Any, planned: UploadPlan, revision: str, local: Mapping[str, Path]) -> tuple[list[str], list[str]]:
    """(files that the revision lacks or holds otherwise, files that it has and the release has not)."""
    there = {
        entry.path: entry
        for entry in api.list_repo_tree(planned.repository, repo_type=planned.kind, revision=revision, recursive=True)
        if hasattr(entry, "blob_id")
    }
    changed = [path for path, file in local.items() if path not in there or not _same(there[path], file)]
    return changed, sorted(there.keys() - local.keys() - _KEPT)


def _same(remote: Any, file: Path) -> bool:
    """Whether the hub's file has our bytes: by SHA-256 for large files, by git's hash of a blob for others."""
    if remote.size != file.stat().st_size:
        return False
    if remote.lfs is not None:
        return bool(remote.lfs.sha256 == digest_file(file))
    content = file.read_bytes()
    return bool(
        remote.blob_id == hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()
    )


@contextmanager
def _bounded(hub: Any) -> Iterator[None]:
    """The hub's client with the limits of this module, for as long as we publish."""
    from huggingface_hub.utils import _http

    hub.set_client_factory(make_client)
    try:
        yield
    finally:
        hub.set_client_factory(_http.default_client_factory)


@contextmanager
def _translate_errors(where: str) -> Iterator[None]:
    """The hub's and the network's errors as ours. Its client raises those of several libraries, so all of them are
    meant.
    """
    try:
        yield
    except BuilderError:
        raise
    except Exception as error:
        from huggingface_hub import get_token

        causes = [str(cause) or type(cause).__name__ for cause in (error, error.__cause__) if cause is not None]
        token = get_token()
        text = ": ".join(causes)
        text = text.replace(token, "[token]") if token else text
        raise ReleaseError(
            f"publishing did not finish ({' '.join(text.split())[:300]})", where=where,
            fix="run the same command again: what has arrived is not sent twice",
        ) from (None if token and token in repr(error) else error)  # fmt: skip
