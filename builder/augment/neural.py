"""The loaders of the methods that train a model: their own sections of `AugmentSettings`, the given sentences (for an
embedded model in one script), and a place for the weights.

One script for a model: in a release of both, every character would be two, each learnt from a part of the text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import wraps
from pathlib import Path
from tempfile import TemporaryDirectory

from builder.augment import constraints, mask_frag
from builder.augment.constraints import Cues
from builder.augment.methods import cbert, context, gpt2, masked_seq2seq, style_transfer
from builder.augment.records import Changed, Edit, Method, Rewrite, Sentence
from builder.augment.settings import AugmentSettings
from builder.augment.training import OnCorpus, raw
from builder.learning.task import Progress
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


def _one_script(section: str) -> Callable[[Loader], Loader]:
    """A loader of a method whose embedded model is shown the sentences in one script. A base of a hub knows both."""

    def changed(load: Loader) -> Loader:
        @wraps(load)
        def loaded(settings: AugmentSettings) -> Method:
            if getattr(getattr(settings, section), "base", "embedded") != "embedded":
                return load(settings)
            sentences, given_back = in_one_script(settings.given.sentences)
            return given_back(load(replace(settings, given=replace(settings.given, sentences=sentences))))

        return loaded

    return changed


@_one_script("masked_seq2seq")
def load_masked_seq2seq(settings: AugmentSettings) -> Method:
    """The method `masked-seq2seq`, trained or read."""
    own = replace(settings.masked_seq2seq, keep=_keep(settings))
    with _place(settings, mask_frag.NAME) as (folder, progress):
        given = settings.given
        barred = given.language == "zh" and own.base == "embedded" and settings.label_safe
        words = _cues(settings) if barred else None
        return masked_seq2seq.load(
            own, given.sentences, folder, settings.seed, progress, _corpus(own, settings), words, settings.device
        )


def _cues(settings: AugmentSettings) -> Cues:
    return constraints.chinese(settings.given.folders.load_lexicon())


def _load_replacing(
    section: str,
    load: Callable[..., Method],
    name: str,
    read: Callable[[OnCorpus, AugmentSettings], Sequence[Sentence]],
) -> Loader:
    """The loader of a method that replaces words; `read` gives the raw sentences that its model begins with."""

    @_one_script(section)
    def loaded(settings: AugmentSettings) -> Method:
        own, sentences = getattr(settings, section), settings.given.sentences
        with _place(settings, name) as (folder, progress):
            corpus = read(own, settings)
            return load(own, sentences, folder, settings.seed, progress, name, corpus, settings.device)

    return loaded


def _words_of_corpus(own: OnCorpus, settings: AugmentSettings) -> tuple[Sentence, ...]:
    """The same with the words of Chinese: a model of words reads no characters."""
    from builder.augment.proposing import segmented

    corpus, given = _corpus(own, settings), settings.given
    return tuple(segmented(corpus, given.folders)) if given.language == "zh" and corpus else corpus


def _corpus(own: OnCorpus, settings: AugmentSettings) -> tuple[Sentence, ...]:
    """The raw sentences that a method begins with; none where it names no corpus."""
    given = settings.given
    return raw(own.corpus, given.sentences, given.texts, given.held) if own.corpus else ()


load_cbert = _load_replacing("cbert", cbert.load, cbert.NAME, _corpus)
load_bert = _load_replacing("bert", cbert.load, cbert.PLAIN, _corpus)
load_context_label = _load_replacing("context_label", context.load, context.NAME, _words_of_corpus)
load_context = _load_replacing("context", context.load, context.PLAIN, _words_of_corpus)


@_one_script("gpt2")
def load_gpt2(settings: AugmentSettings) -> Method:
    """The method `gpt2`, trained or read."""
    with _place(settings, gpt2.NAME) as (folder, progress):
        own = replace(settings.gpt2, keep=_keep(settings))
        return gpt2.load(own, settings.given.sentences, folder, settings.seed, progress, settings.device)


@_one_script("style_transfer")
def load_style_transfer(settings: AugmentSettings) -> Method:
    """The method `style-transfer`, trained or read."""
    valences = {word: opinion.valence for word, opinion in settings.given.folders.load_lexicon().opinions.items()}
    own, given = settings.style_transfer, settings.given
    with _place(settings, style_transfer.NAME) as (folder, progress):
        return style_transfer.load(
            own, given.sentences, folder, settings.seed, progress, valences, _corpus(own, settings), settings.device
        )


def _keep(settings: AugmentSettings) -> str:
    """All that is marked: what the view lets a method touch, it does not mark."""
    return (
        "aspect+opinion"
        if any(mark.kind == "opinion" for sentence in settings.given.sentences for mark in sentence.marks)
        else "aspect"
    )


@contextmanager
def _place(settings: AugmentSettings, name: str) -> Iterator[tuple[Path, Progress]]:
    """Where the method's models are kept, beside those of other sentences and settings; nowhere for long if no place
    is given.
    """
    from builder.augment.boost.classes import bar

    with TemporaryDirectory(prefix="builder-augment-") as nowhere, bar(name) as progress:
        yield (settings.given.models or Path(nowhere)) / name.replace("+", "-"), progress
