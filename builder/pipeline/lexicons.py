"""The words and rules of a build on their way to its workers: what a job is handed, and what a worker makes of it."""

from __future__ import annotations

from pathlib import Path

from builder.core.errors import ResourceError
from builder.core.shards import Parcel
from builder.language.lexicon.folders import Folders
from builder.language.lexicon.resources import Lexicon
from builder.pipeline.context import Context

SentFolders = tuple[Parcel, tuple[Parcel, ...], Parcel, tuple[Parcel, ...]]
"""The folders of words and of rules, the whole one and those laid over it, as they travel to workers."""
Words = tuple[SentFolders, str, str]
"""The folders, the digest of the lexicon and that of the rules, as arguments of a job."""
ArrivedWords = tuple[tuple[Path, tuple[Path, ...], Path, tuple[Path, ...]], str, str]
"""The same at a worker."""


def pack_words(context: Context) -> Words:
    """The folders of a build's words and rules, as arguments of a job."""
    words = [Parcel.of(folder, "**/*.tsv") for folder in context.folders.lexicon_folders]
    rules = [Parcel.of(folder, "*.toml") for folder in context.folders.rule_folders]
    sent = words[0], tuple(words[1:]), rules[0], tuple(rules[1:])
    return sent, context.lexicon.digest, context.folders.rules_digest


def unpack_words(words: ArrivedWords) -> tuple[Folders, Lexicon]:
    """Folders and lexicon at a worker.

    Raises:
        ResourceError: they are not those that the build began with.
    """
    (lexicons, overlays, rules, added), digest, digest_of_rules = words
    folders = Folders(lexicons, overlays, rules, added)
    lexicon = folders.load_lexicon()
    fix = "`builder resume` runs what depends on them again"
    if lexicon.digest != digest:
        raise ResourceError("the lexicons changed while the build ran", where=str(lexicons), fix=fix)
    if folders.rules_digest != digest_of_rules:
        raise ResourceError("the rules changed while the build ran", where=str(rules), fix=fix)
    return folders, lexicon
