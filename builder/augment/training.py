"""The labels that a replacement must fit: one of each token of a sentence, from the sentence's own label or from its
marks.

`sentence`: every token has the sentence's label (Wu et al. 2019). `polarity`: a token has the polarity of the nearest
aspect, so that a sentence of two minds keeps both. `bio`: the label sequence of aspect term extraction (Li et al.
2020, appendix A). `none`: no label at all.

Labels of tokens: what a sentence's marks say about each of the tokens that a model cuts it into.

What the augmentation methods that train a model share: schedule, size, raw text of the domain, signatures.

In: settings and labelled sentences; a file of raw reviews, or the texts of the train split. Out: schedules, and the raw
texts as sentences without labels.

Signatures are settings as text: what a candidate depends on, and what a trained model does. A field's metadata says
what it does not change. `FREE` fields change nothing (batches, threads). `LATER` ones change only what is written, not
what is learnt.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import Field, dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self

from builder.augment.records import Mark, Sentence
from builder.core.errors import ConfigError, InputError
from builder.core.limits import Limits, at_least
from builder.core.records import POLARITIES, Span
from builder.reviews.script import same_script, script_of
from builder.reviews.sources.cells import RawReview
from builder.reviews.text import clauses, sentences

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

    from builder.learning.obtain import Schedule

# ---- Conditions

LABELS = ("O", "B-aspect", "I-aspect", "B-opinion", "I-opinion")
KINDS = {"aspect": ("aspect",), "aspect+opinion": ("aspect", "opinion")}


def kept(sentence: Sentence, keep: str) -> tuple[Mark, ...]:
    """The marks that `keep` names. Raises InputError where two of them overlap or one lies outside the text."""
    marks = tuple(mark for mark in sentence.marks if mark.kind in KINDS[keep])
    at = 0
    for mark in marks:
        if not at <= mark.start < mark.end <= len(sentence.text):
            raise InputError(
                f"labels overlap, are out of order or outside the text at [{mark.start}, {mark.end})",
                where=f"sentence {sentence.id}",
            )
        at = mark.end
    return marks


def bio(spans: Sequence[Span], marks: Sequence[Mark]) -> tuple[int, ...]:
    """Indices into LABELS, one a token: 0 for O, B where a mark's first token is, I behind it."""
    out, at = [], 0
    begun = -1
    for start, end in spans:
        while at < len(marks) and marks[at].end <= start:
            at += 1
        if at == len(marks) or marks[at].start >= end:
            out.append(0)
            continue
        first = 1 if marks[at].kind == "aspect" else 3
        out.append(first if begun != at else first + 1)
        begun = at
    return tuple(out)


MODES = ("auto", "sentence", "polarity", "bio", "none")
UNSAID = "none"


@dataclass(frozen=True, slots=True)
class Conditions:
    """The mode and the names of its labels, whose places are the labels' numbers."""

    mode: str
    names: tuple[str, ...]

    @classmethod
    def of(cls, mode: str, sentences: Sequence[Sentence]) -> Conditions:
        """`auto` takes sentence labels where there are any, else polarities of marks, else B, I and O. ConfigError
        for an unknown mode.
        """
        if mode not in MODES:
            raise ConfigError(f"unknown labels {mode!r}", fix=f"known: {', '.join(MODES)}")
        if mode == "auto":
            labelled, polarised = (
                any(sentence.label for sentence in sentences),
                any(mark.polarity for sentence in sentences for mark in sentence.marks),
            )
            mode = "sentence" if labelled else "polarity" if polarised else "bio"
        names = {
            "sentence": (UNSAID, *sorted({sentence.label for sentence in sentences if sentence.label})),
            "polarity": (UNSAID, *POLARITIES),
            "bio": LABELS,
            "none": (UNSAID,),
        }
        return cls(mode, names[mode])

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
            return bio(spans, kept(sentence, "aspect+opinion"))
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
    """The tokens of every word that may be replaced: words with a letter or digit that no mark touches, as runs of
    tokens inside them.
    """
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


# ---- Settings as text

FREE: Mapping[str, str] = {"changes": "nothing"}
LATER: Mapping[str, str] = {"changes": "writing"}


def describe_settings(settings: DataclassInstance) -> str:
    """What a candidate depends on."""
    return _describe_fields(settings, ("nothing",))


def describe_training(settings: DataclassInstance) -> str:
    """What a trained model depends on."""
    return _describe_fields(settings, ("nothing", "writing"))


def sign_method(name: str, settings: DataclassInstance, *more: str) -> str:
    """The signature of a method: its name with its settings and what else its output depends on, such as a model."""
    return f"{name}({'; '.join((describe_settings(settings), *more))})"


def _describe_fields(settings: DataclassInstance, without: tuple[str, ...]) -> str:
    chosen: list[Field[Any]] = [field_ for field_ in fields(settings) if field_.metadata.get("changes") not in without]
    return ", ".join(f"{field_.name}={getattr(settings, field_.name)!r}" for field_ in chosen)


# ---- Training

Script = Literal["keep", "traditional", "simplified"]
TRAIN = "train"
_ENGLISH = re.compile(r"\w+(?:'\w+)?|[^\w\s]")
_SURE = 0.9


@dataclass(frozen=True, slots=True)
class Training:
    """How long, how fast and how large a method's model is trained."""

    epochs: int = 50
    """Most passes over the training data."""
    patience: int = 3
    """Training ends after so many epochs without a lower validation loss; 0: never early."""
    least: int = 2000
    """Sentences that an epoch draws at least."""
    rate: float = 0.0
    """Learning rate; 0 takes the network's own."""
    batch_tokens: int = 0
    """Tokens in an optimiser step; 0: by the number of sentences."""
    width: int = 192
    """Width of an embedded model."""
    min_count: int = 2
    """Characters or words that occur less often are unknown to an embedded model."""
    batch: int = field(default=64, metadata=FREE)
    """Sentences read at once; changes no candidate."""
    threads: int = field(default=2, metadata=FREE)
    """Threads of training; changes no candidate."""

    def limits(self) -> Limits:
        """The limits of these settings, to which methods add their own."""
        sizes = ("epochs", "least", "width", "min_count", "batch", "threads")
        return {name: at_least(1, getattr(self, name)) for name in sizes} | {"patience": at_least(0, self.patience)}

    def schedule(self, epochs: int, items: Sequence[Sentence], rate: float) -> Schedule:
        """`rate` is the network's own."""
        from builder.learning.obtain import Schedule

        size = batch_tokens(self.batch_tokens, items, self.least)
        return Schedule(epochs, self.least, self.patience, size, self.rate or rate, threads=self.threads)


@dataclass(frozen=True, slots=True)
class OnCorpus(Training):
    """What a model is trained on before the labelled sentences."""

    corpus: str = ""
    """Raw reviews for in-domain pre-training: a review file, a `.txt` with a text a line, or `train`."""
    corpus_epochs: int = 2
    """Passes over the corpus."""
    pretrain_epochs: int = 8
    """Without a corpus: passes over the labelled sentences without their labels, first."""

    def limits(self) -> Limits:
        """Those of `Training`, and of the passes."""
        return Training.limits(self) | {
            "corpus_epochs": at_least(1, self.corpus_epochs),
            "pretrain_epochs": at_least(0, self.pretrain_epochs),
        }

    def begun(self) -> Self:
        """The settings of the training on the corpus."""
        return replace(self, corpus="", epochs=self.corpus_epochs, pretrain_epochs=0, rate=0.0, batch_tokens=0, least=1)


@dataclass(frozen=True, slots=True)
class InDomain(OnCorpus):
    """The same for a method that may begin with a pretrained model."""

    base: str = "embedded"
    """`embedded`, or a pretrained model: a hub name or a folder."""

    @property
    def own_rate(self) -> float:
        """What is pre-trained learns slowly."""
        return 5e-5 if self.base != "embedded" else 3e-4 if self.corpus else 1e-3


def batch_tokens(asked: int, items: Sequence[Sentence], least: int) -> int:
    """Tokens of a batch: as asked for, or (0) so many that an epoch has about 150 steps, 384 to 512: few sentences
    need as many steps as many do, and of many more is learnt in a minute by small steps than by large ones.
    """
    tokens = sum(len(item.words) if item.language == "en" else len(item.text) for item in items)
    return asked or min(512, max(384, int(tokens * max(1.0, least / max(1, len(items)))) // 150))


def corpora(folder: Path, name: str) -> Path:
    """Where the model of a corpus is kept: beside those of labelled sentences, which are in `folder`."""
    return folder.with_name(f"corpus-{name}")


def english(items: Sequence[Sentence]) -> bool:
    """Whether most sentences are."""
    return sum(item.language == "en" for item in items) * 2 > len(items)


def raw(
    corpus: str, items: Sequence[Sentence], texts: Sequence[str] = (), held: Collection[str] = ()
) -> tuple[Sentence, ...]:
    """The sentences of a corpus, each once, in the script of `items` if those have one; `texts` are those of `train`;
    what has the letters of a text in `held` is left out.

    Every Han character is a word of its own. Raises InputError where the file cannot be read or holds nothing,
    ConfigError where there is no train split.
    """
    if corpus == TRAIN and not texts:
        raise ConfigError("there is no train split", where="corpus", fix="name a file of raw reviews")
    language: Literal["zh", "en"] = "en" if english(items) else "zh"
    given = texts if corpus == TRAIN else _texts(Path(corpus))
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


def _texts(path: Path) -> Iterator[str]:
    from builder.reviews.sources import read

    if path.suffix == ".txt":
        try:
            yield from filter(None, map(str.strip, path.read_text("utf-8-sig").split("\n")))
        except (OSError, UnicodeDecodeError) as error:
            raise InputError(f"cannot be read: {error}", where=str(path), fix="UTF-8, a text a line") from error
        return
    for row in read(path):
        if isinstance(row, RawReview):
            yield row.text


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
