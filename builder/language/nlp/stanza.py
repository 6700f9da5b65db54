"""Trees from stanza (extra `stanza`) for words that are already cut.

In: a folder of stanza's models for zh-hant, words by sentence. Out: heads and UD v1 relations; stanza speaks UD v2,
rules/labels.tsv translates. Stanza tags the words itself, because its parser learnt from its own tags, finer than
ours; lemmas are the words, as in its treebank. Nothing is ever downloaded: what is missing is an error that says how
to get it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from pickle import UnpicklingError
from typing import Protocol

from builder.core.errors import ConfigError, ResourceError, install_command
from builder.language.nlp.labels import Labels

_LANGUAGE = "zh-hant"
_PROCESSORS = {"tokenize": "default", "pos": "default", "lemma": "identity", "depparse": "default"}


class StanzaWord(Protocol):
    """A word of stanza's: `head` counts from 1, 0 is the root."""

    text: str
    head: int
    deprel: str


class StanzaSentence(Protocol):
    """A sentence of stanza's."""

    words: list[StanzaWord]


class StanzaDocument(Protocol):
    """A document of stanza's."""

    sentences: list[StanzaSentence]


@dataclass(frozen=True, slots=True)
class StanzaParser:
    """A `draft.TreeParser`; `signature` names the version and the model files."""

    signature: str
    pipeline: Callable[[list[list[str]]], StanzaDocument]
    labels: Labels

    def parse(self, units: Sequence[tuple[Sequence[str], Sequence[str]]]) -> list[tuple[list[int], list[str]]]:
        """The trees of units of words; their tags are not used, stanza tags for itself."""
        if not units:
            return []
        sentences = self.pipeline([list(words) for words, _ in units]).sentences
        assert len(sentences) == len(units), f"stanza made {len(sentences)} sentences of {len(units)}"
        return [tree(sentence, self.labels) for sentence in sentences]


def tree(sentence: StanzaSentence, labels: Labels) -> tuple[list[int], list[str]]:
    """0-based heads (-1 is the root) and UD v1 relations. Only the root is called root, whatever an ill-trained model
    says.
    """
    heads = [word.head - 1 for word in sentence.words]
    rels = ["root" if word.head == 0 else labels.ours("ud2", word.deprel, word.text) for word in sentence.words]
    return heads, ["dep" if head >= 0 and rel == "root" else rel for head, rel in zip(heads, rels, strict=True)]


def load(folder: Path, labels: Labels, device: str = "auto") -> StanzaParser:
    """Stanza's pipeline on the models in `folder`, which holds resources.json and zh-hant/, on a device."""
    download = f"stanza.download({_LANGUAGE!r}, model_dir={str(folder)!r})"
    fix = f"where there is a network, run {download}, and copy the folder here"
    if not (folder / "resources.json").is_file():
        raise ResourceError("no stanza models", where=str(folder), fix=fix)
    try:
        stanza = import_module("stanza")
    except ImportError as error:
        raise ConfigError(f"trees from stanza need stanza: {error}", fix=install_command("stanza")) from error
    from builder.learning.devices import choose

    chosen = str(choose(device))
    try:
        pipeline = stanza.Pipeline(
            _LANGUAGE,
            dir=str(folder),
            processors=dict(_PROCESSORS),
            tokenize_pretokenized=True,
            download_method=None,
            verbose=False,
            device=chosen,
        )
    except (OSError, KeyError, ValueError, RuntimeError, UnpicklingError) as error:
        raise ResourceError(
            f"stanza cannot load its models: {' '.join(str(error).split())}", where=str(folder), fix=fix
        ) from error
    labels.require("ud2", pipeline.processors["depparse"].get_known_relations())
    files = sorted(
        {Path(value) for value in pipeline.config.values() if isinstance(value, str) and Path(value).is_file()}
    )
    digest = hashlib.sha256()
    for path in files:
        digest.update(path.name.encode() + b"\0" + path.read_bytes())
    return StanzaParser(f"stanza={stanza.__version__} trees={digest.hexdigest()[:12]}", pipeline, labels)
