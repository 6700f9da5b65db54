"""The loaders of the methods that train a model: their own sections of `AugmentSettings`, the given sentences (for an
embedded model in one script), and a place for the weights.

One script for a model: in a release of both, every character would be two, each learnt from a part of the text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from builder.augment import constraints
from builder.augment.method_settings import Gpt2Settings, MaskedSeq2SeqSettings, StyleTransferSettings
from builder.augment.methods import gpt2, masked_seq2seq, replacing, style_transfer
from builder.augment.proposing import segmented
from builder.augment.records import Changed, Edit, Method, Rewrite, Sentence
from builder.augment.settings import AugmentSettings, section_of
from builder.augment.training import Workplace, raw
from builder.core.progress import ModelBar
from builder.reviews.script import same_script, script_of, tells_script

_OTHER = ("simplified", "mixed")


@dataclass(frozen=True, slots=True)
class OneScript:
    """A method that reads and writes Traditional, for sentences of both scripts."""

    method: Method

    @property
    def name(self) -> str:
        return self.method.name

    @property
    def signature(self) -> str:
        return f"{self.method.signature} in Traditional"

    @property
    def digest(self) -> str | None:
        digest: str | None = getattr(self.method, "digest", None)
        return digest

    def propose(self, sentences: Sequence[Sentence], copies: int, seed: int) -> Iterator[tuple[Rewrite, ...]]:
        rewrites = self.method.propose(list(map(shown, sentences)), copies, seed)
        for sentence, candidates in zip(sentences, rewrites, strict=True):
            yield tuple(_back(sentence, candidates) if script_of(sentence.text) == "simplified" else candidates)


def in_one_script(sentences: Sequence[Sentence]) -> tuple[tuple[Sentence, ...], Callable[[Method], Method]]:
    """The sentences as a model of their own reads them, and what makes a method of that model one for the sentences
    as they are.
    """
    scripts = {
        script_of(sentence.text) for sentence in sentences if sentence.language == "zh" and tells_script(sentence.text)
    }
    if "traditional" not in scripts or scripts.isdisjoint(_OTHER):
        return tuple(sentences), lambda method: method
    return tuple(map(shown, sentences)), OneScript


def shown(sentence: Sentence) -> Sentence:
    """A sentence in Traditional."""
    return (
        replace(sentence, text=same_script(sentence.text, "traditional"))
        if sentence.language == "zh" and script_of(sentence.text) in _OTHER
        else sentence
    )


def _back(sentence: Sentence, candidates: Iterable[Rewrite]) -> Iterator[Rewrite]:
    """Candidates as the Simplified sentence takes them; none of which nothing is left."""
    for candidate in candidates:
        converted = (Edit(edit.start, edit.end, same_script(edit.text, "simplified")) for edit in candidate.edits)
        edits = tuple(edit for edit in converted if edit.text != sentence.text[edit.start : edit.end])
        changed = tuple(
            Changed(mark.start, mark.end, same_script(mark.text, "simplified"), mark.polarity, mark.valence)
            for mark in candidate.changed
        )
        if edits:
            yield replace(candidate, edits=edits, changed=changed)


Loader = Callable[[AugmentSettings], Method]
Load = Callable[[Any, AugmentSettings, Workplace, tuple[Sentence, ...]], Method]
"""A method from its section, all settings, the place of its models, and the raw sentences that they begin with."""


def _loader(name: str, load: Load, words: bool = False) -> Loader:
    """The loader of a method. An embedded model is shown the sentences in one script; a base of a hub knows both. A
    model of `words` reads those of a corpus.
    """
    section = section_of(name)

    def loaded(settings: AugmentSettings) -> Method:
        own, given = getattr(settings, section), settings.given
        given_back: Callable[[Method], Method] = lambda method: method
        if getattr(own, "base", "embedded") == "embedded":
            sentences, given_back = in_one_script(given.sentences)
            given = replace(given, sentences=sentences)
        with TemporaryDirectory(prefix="builder-augment-") as nowhere, closing(ModelBar(name, " words")) as progress:
            folder = (given.models or Path(nowhere)) / name.replace("+", "-")
            place = Workplace(folder, settings.seed, progress, settings.device, settings.threads)
            corpus = getattr(own, "corpus", "")
            texts = raw(corpus, given.sentences, given.texts, given.held) if corpus else ()
            if words and texts and given.language == "zh":
                texts = tuple(segmented(texts, given.folders))
            return given_back(load(own, replace(settings, given=given), place, texts))

    return loaded


def _masked_seq2seq(
    own: MaskedSeq2SeqSettings, settings: AugmentSettings, place: Workplace, corpus: tuple[Sentence, ...]
) -> Method:
    given = settings.given
    barred = given.language == "zh" and own.base == "embedded" and settings.label_safe
    cues = constraints.chinese(given.folders.load_lexicon()) if barred else None
    return masked_seq2seq.load(own, given.sentences, place, corpus, cues)


def _gpt2(own: Gpt2Settings, settings: AugmentSettings, place: Workplace, corpus: tuple[Sentence, ...]) -> Method:
    return gpt2.load(own, settings.given.sentences, place)


def _style_transfer(
    own: StyleTransferSettings, settings: AugmentSettings, place: Workplace, corpus: tuple[Sentence, ...]
) -> Method:
    valences = {word: opinion.valence for word, opinion in settings.given.folders.load_lexicon().opinions.items()}
    return style_transfer.load(own, settings.given.sentences, place, corpus, valences)


def _replacing(name: str, load: Callable[..., Method], words: bool = False) -> Loader:
    return _loader(
        name, lambda own, settings, *place: load(own, settings.given.sentences, place[0], name, place[1]), words
    )


load_masked_seq2seq = _loader("masked-seq2seq", _masked_seq2seq)
load_gpt2 = _loader("gpt2", _gpt2)
load_style_transfer = _loader("style-transfer", _style_transfer)
load_cbert = _replacing("cbert", replacing.load_cbert)
load_bert = _replacing("bert", replacing.load_cbert)
load_context_label = _replacing("context+label", replacing.load_context, words=True)
load_context = _replacing("context", replacing.load_context, words=True)
