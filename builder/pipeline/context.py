"""What a stage and its workers are handed: database, settings and data; lexicon and rules for the jobs.

A stage gets a `Context`. Words and rules of a build are packed for a job, and a worker unpacks them.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from builder.core.errors import ResourceError
from builder.core.settings import Config
from builder.core.shards import Crew, Parcel
from builder.core.shards.local import LocalCrew
from builder.language.lexicon.folders import SHIPPED, Folders
from builder.language.lexicon.packs import RULE_FILES
from builder.language.lexicon.resources import Lexicon
from builder.language.lexicon.rules import Rule

# ---- The context of a stage


@dataclass(frozen=True, slots=True)
class Context:
    """One build. `key` is the completion key of the stage that runs: what it keeps of a broken-off run must bear the
    same key; `crew` does what is spread over processes or machines;
    `folders` are those of the words and rules.
    """

    connection: sqlite3.Connection
    config: Config
    workdir: Path
    inputs: tuple[Path, ...]
    out: Path
    lexicon: Lexicon
    rules: tuple[Rule, ...]
    key: str
    crew: Crew = field(default_factory=lambda: LocalCrew(1))
    folders: Folders = SHIPPED

    @property
    def models(self) -> Path:
        return self.workdir / "models"


@contextmanager
def crew_of_this_machine(context: Context) -> Iterator[Crew]:
    """Workers that read the same disk: the build's own, or processes of this machine beside a cluster."""
    if isinstance(context.crew, LocalCrew):
        yield context.crew
    else:
        with LocalCrew(context.config.workers) as crew:
            yield crew


# ---- Words and rules for workers

Words = tuple[tuple[Parcel, ...], tuple[Parcel, ...], str, str]
"""The folders of words and of rules, the whole one first, then those laid over it; the digest of the lexicon and that
of the rules, as arguments of a job.
"""
ArrivedWords = tuple[tuple[Path, ...], tuple[Path, ...], str, str]
"""The same at a worker."""


def pack_words(context: Context) -> Words:
    """The folders of a build's words and rules, as arguments of a job."""
    words = tuple(Parcel.of(folder, "**/*.tsv") for folder in context.folders.lexicon_folders)
    rules = tuple(Parcel.of(folder, *RULE_FILES) for folder in context.folders.rule_folders)
    return words, rules, context.lexicon.digest, context.folders.rules_digest


def unpack_words(words: ArrivedWords) -> tuple[Folders, Lexicon]:
    """Folders and lexicon at a worker.

    Raises:
        ResourceError: they are not those that the build began with.
    """
    lexicons, rules, digest, digest_of_rules = words
    folders = Folders(lexicons[0], lexicons[1:], rules[0], rules[1:])
    lexicon = folders.load_lexicon()
    fix = "`builder resume` runs what depends on them again"
    if lexicon.digest != digest:
        raise ResourceError("the lexicons changed while the build ran", where=str(lexicons[0]), fix=fix)
    if folders.rules_digest != digest_of_rules:
        raise ResourceError("the rules changed while the build ran", where=str(rules[0]), fix=fix)
    return folders, lexicon
