"""Releases whose rows are not as a release's should be, as those who read one meet them.

In: a block that reads rows of releases. Out: a `ReleaseError` in place of whatever such rows raise.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from builder.core.errors import BuilderError, ReleaseError


@contextmanager
def naming_faults(*releases: Path) -> Iterator[None]:
    """Whatever is raised inside the block about a release with faults, as a `ReleaseError` that leads to `verify`.

    About sound releases it is a defect of ours, and passes through, as what the file system refuses does.
    """
    try:
        yield
    except (BuilderError, OSError):
        raise
    except Exception as error:  # rows of any shape: there is nothing that they cannot raise
        from builder.release.verify import verify

        for release in releases:
            if verify(release):
                what, fix = "its rows cannot be read as a release's", "`builder verify` names the faults"
                raise ReleaseError(what, where=str(release), fix=fix) from error
        raise
