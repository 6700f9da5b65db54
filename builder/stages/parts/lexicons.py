"""The lexicons of a build on their way to its workers: what a job is handed, and what a worker makes of it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from builder.errors import ResourceError
from builder.lexicon.resources import Lexicon, data_dir, load_lexicon
from builder.shards import Parcel

Lexicons = tuple[Parcel, tuple[Parcel, ...], str]
"""lexicons/, what users laid over it, and the digest of both together, as arguments of a job."""


def pack_lexicons(added: Sequence[Path], digest: str) -> Lexicons:
    """The lexicons, and what users `added`, as arguments of a job."""
    return Parcel.of(data_dir("lexicons"), "**/*.tsv"), tuple(Parcel.of(folder, "**/*.tsv") for folder in added), digest


def unpack_lexicon(folder: Path, added: tuple[Path, ...], digest: str) -> Lexicon:
    """The lexicon at a worker, from the folders of its parcels.

    Raises:
        ResourceError: it is not the lexicon that the build began with.
    """
    lexicon = load_lexicon(folder, added)
    if lexicon.digest != digest:
        fix = "`builder resume` runs what depends on them again"
        raise ResourceError("the lexicons changed while the build ran", where=str(folder), fix=fix)
    return lexicon
