"""What the methods that train a model share: labels of tokens, schedules, raw text of the domain, and their loader.

`Conditions` are the labels that a replacement must fit, one of each token. `sentence`: the sentence's (Wu et al. 2019).
`polarity`: that of the nearest aspect. `bio`: the label sequence of aspect term extraction (Li et al. 2020, appendix
A). `none`: no label at all.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence, Set
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal, TypeVar

from torch import nn

from builder.augment.candidates import Changed, Edit, Mark, Method, Rewrite, Sentence
from builder.augment.catalogue import AugmentSettings, Given, section_of
from builder.augment.method_settings import Training
from builder.augment.views import segmented
from builder.core.errors import ConfigError, InputError
from builder.core.progress import ModelBar
from builder.core.records import POLARITIES, Span
from builder.learning.obtain import Measure, ModelShelf, Phase, Schedule, TrainingRun, train_phase
from builder.learning.pieces import Cut
from builder.reviews.script import same_script, script_of, tells_script
from builder.reviews.sources import read
from builder.reviews.sources.cells import RawReview
from builder.reviews.text import clauses, sentences

# ---- Conditions

LABELS = ("O", "B-aspect", "I-aspect", "B-opinion", "I-opinion")


def kept(sentence: Sentence) -> tuple[Mark, ...]:
    """The marks of a sentence. Raises InputError where two of them overlap or one lies outside the text."""
    at = 0
    for mark in sentence.marks:
        if not at <= mark.start < mark.end <= len(sentence.text):
            raise InputError(
                f"labels overlap, are out of order or outside the text at [{mark.start}, {mark.end})",
                where=f"sentence {sentence.id}",
            )
        at = mark.end
    return sentence.marks


def bio(spans: Sequence[Span], marks: Sequence[Mark]) -> tuple[int, ...]:
    """Indices into LABELS, one a token: 0 for O, B where a mark's first token is, I behind it."""
    out, begun = [], None
    for start, end in spans:
        mark = next((mark for mark in marks if mark.start < end and start < mark.end), None)
        first = 1 if mark and mark.kind == "aspect" else 3
        out.append(0 if mark is None else first + (mark == begun))
        begun = mark or begun
    return tuple(out)


UNSAID = "none"


@dataclass(frozen=True, slots=True)
class Conditions:
    """The mode and the names of its labels, whose places are the labels' numbers."""

    mode: str
    names: tuple[str, ...]

    @classmethod
    def of(cls, sentences: Sequence[Sentence]) -> Conditions:
        """Sentence labels where there are any, else polarities of marks, else B, I and O."""
        if names := sorted({sentence.label for sentence in sentences if sentence.label}):
            return cls("sentence", (UNSAID, *names))
        if any(mark.polarity for sentence in sentences for mark in sentence.marks):
            return cls("polarity", (UNSAID, *POLARITIES))
        return cls("bio", LABELS)

    @classmethod
    def none(cls) -> Conditions:
        """The same for every sentence."""
        return cls("none", (UNSAID,))

    def number(self, name: str | None, sentence: Sentence) -> int:
        if (name or UNSAID) not in self.names:
            raise InputError(
                f"label {name!r} was not among the training sentences'",
                where=f"sentence {sentence.id}",
                fix=f"known: {', '.join(self.names[1:])}",
            )
        return self.names.index(name or UNSAID)

    def labels(self, sentence: Sentence, spans: Sequence[Span]) -> tuple[int, ...]:
        """A label of each token."""
        if self.mode == "bio":
            return bio(spans, kept(sentence))
        if self.mode == "sentence":
            return (self.number(sentence.label, sentence),) * len(spans)
        aspects = [mark for mark in sentence.marks if mark.kind == "aspect"]
        if self.mode == "none" or not aspects:
            return (0,) * len(spans)
        return tuple(
            self.number(min(aspects, key=lambda mark: (_apart(mark, span), mark.start)).polarity, sentence)
            for span in spans
        )


def _apart(mark: Mark, span: Span) -> int:
    return max(0, span[0] - mark.end, mark.start - span[1])


def free_words(sentence: Sentence, spans: Sequence[Span], marks: Sequence[Mark]) -> tuple[tuple[int, ...], ...]:
    """The tokens of every word that may be replaced: with a letter or digit, and touched by no mark."""
    out, at = [], 0
    for start, end in sentence.words:
        while at < len(spans) and spans[at][0] < start:
            at += 1
        tokens = []
        while at < len(spans) and spans[at][0] < end:
            tokens.append(at)
            at += 1
        last = max([end, *(spans[i][1] for i in tokens)])
        touched = any(mark.start < last and start < mark.end for mark in marks)
        if tokens and not touched and last == end and any(char.isalnum() for char in sentence.text[start:end]):
            out.append(tuple(tokens))
    return tuple(out)


# ---- Training

PATIENCE = 3
"""Epochs without a lower validation loss that end a training."""


@dataclass(frozen=True, slots=True)
class Workplace(ModelShelf):
    """Where a method's models are kept and run, and the threads of training and writing."""

    threads: int = 1

    def inside(self, name: str) -> Workplace:
        """The place of one of several models."""
        return replace(self, folder=self.folder / name)

    def of_corpus(self, name: str) -> Workplace:
        """The place of the model of a corpus: beside those of labelled sentences."""
        return replace(self, folder=self.folder.with_name(f"corpus-{name}"))

    def schedule(
        self, settings: Training, epochs: int, items: Sequence[Sentence], rate: float, patience: int = PATIENCE
    ) -> Schedule:
        """How a network with a learning `rate` of its own is trained: some 150 steps an epoch, of 384 to 512 tokens,
        for few sentences need as many steps as many do.
        """
        tokens = sum(len(item.words) if item.language == "en" else len(item.text) for item in items)
        size = int(tokens * max(1.0, settings.least / max(1, len(items)))) // 150
        size = min(512, max(384, size))
        return Schedule(epochs, settings.least, patience, size, settings.rate or rate, threads=self.threads)


Item = TypeVar("Item")
Outcome = TypeVar("Outcome")
_CHUNK = 4096


def candidates_by_plan(
    sentences: Sequence[Sentence],
    plan: Callable[[Sentence], Iterable[tuple[Cut, Item]]],
    write: Callable[[list[Item]], Iterable[tuple[int, Outcome]]],
    read: Callable[[Sentence, Cut, Item, Outcome], Iterable[Rewrite]],
) -> Iterator[list[tuple[Rewrite, ...]]]:
    """Per sentence, the candidates of each item that `plan` makes of it. `write` gives outcomes by the items' numbers,
    of a chunk of sentences at once, so that batches are full.
    """
    for at in range(0, len(sentences), _CHUNK):
        chunk = sentences[at : at + _CHUNK]
        plans = [(n, cut, item) for n, sentence in enumerate(chunk) for cut, item in plan(sentence)]
        outcomes = dict(write([item for *_, item in plans]))
        made: list[list[tuple[Rewrite, ...]]] = [[] for _ in chunk]
        for i, (n, cut, item) in enumerate(plans):
            made[n].append(tuple(read(chunk[n], cut, item, outcomes[i])) if i in outcomes else ())
        yield from made


def train_until_converged(
    network: nn.Module,
    items: Sequence[Item],
    held: Sequence[Item],
    schedule: Schedule,
    measure: Measure[Item],
    run: TrainingRun,
) -> dict[str, float]:
    """Train on `items`, all as often as each other, until the loss on `held` no longer falls. Score and epochs."""
    whole = list(items) * max(1, -(-schedule.least // len(items)))
    done = train_phase(network, Phase(lambda epoch: whole, held, schedule), measure, run)
    return {"score": done.score, "epochs": float(len(done.scores))}


# ---- Raw text

Script = Literal["keep", "traditional", "simplified"]
TRAIN = "train"
_ENGLISH = re.compile(r"\w+(?:'\w+)?|[^\w\s]")
_SURE = 0.9


def english(items: Sequence[Sentence]) -> bool:
    """Whether most sentences are."""
    return sum(item.language == "en" for item in items) * 2 > len(items)


def raw(
    corpus: str, items: Sequence[Sentence], texts: Sequence[str] = (), held: Collection[str] = ()
) -> tuple[Sentence, ...]:
    """The sentences of a corpus, each once, in the script of `items`; `texts` are those of `train`, `held` is left out,
    and every Han character is a word. InputError where nothing can be read, ConfigError without a train split.
    """
    if corpus == TRAIN and not texts:
        raise ConfigError("there is no train split", where="corpus", fix="name a file of raw reviews")
    language: Literal["zh", "en"] = "en" if english(items) else "zh"
    given = texts if corpus == TRAIN else (row.text for row in read(Path(corpus)) if isinstance(row, RawReview))
    parts = dict.fromkeys(
        _parts(given, language, "keep" if language == "en" else _script(items), set(map(_letters, held)))
    )
    cut = _spans_en if language == "en" else _spans_zh
    if not parts:
        raise InputError("no text", where=corpus, fix="give raw reviews of the domain")
    return tuple(Sentence(str(n), text, cut(text), language=language) for n, text in enumerate(parts))


def _parts(texts: Iterable[str], language: str, script: Script, held: Set[str]) -> Iterator[str]:
    """The sentences of texts of which nothing is held out; those of another script in `script`."""
    for text in texts:
        if _letters(text) in held:
            continue
        other = script_of(text) not in (script, "none")
        for start, end in sentences(clauses(text)) if language == "zh" else [(0, len(text))]:
            if _letters(part := text[start:end]) not in held:
                yield same_script(part, script if other else "keep")


def _letters(text: str) -> str:
    return "".join(filter(str.isalnum, text))


def _script(items: Sequence[Sentence]) -> Script:
    """That of nearly all sentences."""
    counts = Counter(script_of(item.text) for item in items)
    for script in ("traditional", "simplified"):
        if counts[script] >= _SURE * (counts["traditional"] + counts["simplified"] + counts["mixed"]):
            return script
    return "keep"


def _spans_zh(text: str) -> tuple[tuple[int, int], ...]:
    return tuple((i, i + 1) for i, char in enumerate(text) if not char.isspace())


def _spans_en(text: str) -> tuple[tuple[int, int], ...]:
    return tuple(match.span() for match in _ENGLISH.finditer(text))


# ---- Loaders

_NOT_TRADITIONAL = ("simplified", "mixed")


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
    """The sentences in the script that a model reads, and what fits the method of that model to them as they are."""
    scripts = {
        script_of(sentence.text) for sentence in sentences if sentence.language == "zh" and tells_script(sentence.text)
    }
    if "traditional" not in scripts or scripts.isdisjoint(_NOT_TRADITIONAL):
        return tuple(sentences), lambda method: method
    return tuple(map(shown, sentences)), OneScript


def shown(sentence: Sentence) -> Sentence:
    """A sentence in Traditional."""
    return (
        replace(sentence, text=same_script(sentence.text, "traditional"))
        if sentence.language == "zh" and script_of(sentence.text) in _NOT_TRADITIONAL
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
Load = Callable[[Any, Given, Workplace, tuple[Sentence, ...]], Method]
"""A method from its section, what is given, the place of its models, and the raw sentences that they begin with."""


def trained(name: str, load: Load, words: bool = False) -> Loader:
    """The loader of a method that trains a model; a model of `words` reads those of a corpus. An embedded model is
    shown one script, for of two every character would be two; a base of a hub knows both.
    """

    def loaded(settings: AugmentSettings) -> Method:
        own, given = getattr(settings, section_of(name)), settings.given
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
            return given_back(load(own, given, place, texts))

    return loaded
