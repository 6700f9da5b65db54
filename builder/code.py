"""What made a thing that is kept: the version of the package, and those of its sources that the thing depends on."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path

from builder import __version__

PACKAGE = Path(__file__).parent


@cache
def code_digest(*parts: str) -> str:
    """The hash of the version and of the sources under `parts`, files and folders of the package, and of the word lists beside them. Kept things that bear it never go stale."""
    digest = hashlib.sha256(__version__.encode())
    for root in (PACKAGE / name for name in parts):
        for path in [root] if root.is_file() else sorted(path for path in root.rglob("*") if path.suffix in (".py", ".txt")):
            digest.update(path.relative_to(PACKAGE).as_posix().encode() + path.read_bytes())
    return digest.hexdigest()[:16]
