"""The embedded backend: words, universal tags and UD v1 trees, offline, from a few megabytes shipped with the package.

In: views of texts (anything: emoji, line breaks, nothing at all). Out: tokens that tile each text; runs of whitespace
are tokens with tag SPACE and relation space outside every tree. The order of work: sentences (parse units) → chains
without whitespace → CRF scores → user words → constrained Viterbi → parser, always over a block of texts at once,
because numpy is only fast on many.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

import numpy as np

from builder.core.errors import ConfigError, ResourceError
from builder.core.files import check_regular, digest_file, read_settings
from builder.core.records import Span, Token
from builder.language.nlp import crf, parser
from builder.language.nlp.conllu import TAGS_V1
from builder.language.nlp.features import Draft, parsed, sentence_spans
from builder.language.nlp.user_words import Words, chosen, names, runs

MODELS = Path(__file__).parent / "models" / "embedded"
FILES = ("segmenter.safetensors", "parser.safetensors")
_VERSION = "embedded/4"  # raise it whenever the code changes what comes out
_LARGEST = 1 << 28
"""Bytes of a model file: those shipped have under 5 MB."""
_BLOCK_CHARS = 40_000
_CHAIN_CHARS = 200
_BLOCK_TEXTS = 2000
_NOUNS = ("NOUN", "PROPN")
_Piece = tuple[int, int, int, bool]
_PIECE = re.compile(rf"\s+|\S{{1,{_CHAIN_CHARS}}}")


@dataclass(frozen=True, slots=True)
class Embedded:
    """The backend that `load` makes; see the module's docstring."""

    digests: Mapping[str, str]
    given: Mapping[str, str]
    """The user's words as they were given."""
    segmenter: crf.Crf
    parser: parser.Parser
    words: Words

    @property
    def signature(self) -> str:
        """Name, digests of the model files and of the user's words; made when asked for: it sorts all words."""
        user_words = "\n".join(f"{word}\t{tag}" for word, tag in sorted(self.given.items()))
        parts = [f"{name.split('.')[0]}={digest[:12]}" for name, digest in self.digests.items()]
        parts += [f"words={hashlib.sha256(user_words.encode()).hexdigest()[:12]}", f"rjieba={version('rjieba')}"]
        return " ".join([_VERSION, *parts])

    def annotate(self, texts: Sequence[str]) -> list[tuple[Token, ...]]:
        """Tokens of each text: they tile it, heads are token indices in the text, every unit has one root."""
        out: list[tuple[Token, ...]] = []
        first = size = 0
        for i, text in enumerate(texts, 1):
            size += len(text)
            if size >= _BLOCK_CHARS or i == len(texts):
                out += self._block(texts[first:i])
                first, size = i, 0
        return out

    def _block(self, texts: Sequence[str]) -> list[tuple[Token, ...]]:
        pieces = [_pieces(text) for text in texts]
        chains = [text[a:b] for text, own in zip(texts, pieces, strict=True) for a, b, _, blank in own if not blank]
        words = iter(_words(self.segmenter, self.words, chains))
        return parsed([self._draft(text, own, words) for text, own in zip(texts, pieces, strict=True)], self.parser)

    def _draft(self, text: str, pieces: Sequence[_Piece], words: Iterator[list[tuple[int, int, int]]]) -> Draft:
        """The pieces of a text with the words of its chains, which are the next ones of `words`."""
        tags = self.segmenter.tags
        rows: list[tuple[Span, str, int]] = []
        for start, end, number, blank in pieces:
            if blank:
                rows.append(((start, end), "SPACE", number))
            else:
                rows += [((start + a, start + b), tags[tag], number) for a, b, tag in next(words)]
        return Draft.of(text, rows)


@dataclass(frozen=True, slots=True)
class Segmenter:
    """The backend without trees: words alone."""

    model: crf.Crf
    words: Words

    def tag(self, texts: Sequence[str]) -> Iterator[list[tuple[int, int, str]]]:
        """(start, end, tag) of the words of each text, those that `Embedded` finds; what is whitespace stands between
        them.
        """
        for chains in self.tag_chains(texts):
            yield [word for words in chains for word in words]

    def tag_chains(self, texts: Sequence[str]) -> Iterator[list[list[tuple[int, int, str]]]]:
        """The same, those of each stretch without whitespace apart."""
        for first in range(0, len(texts), _BLOCK_TEXTS):
            block = texts[first : first + _BLOCK_TEXTS]
            pieces = [[piece for piece in _pieces(text) if not piece[3]] for text in block]
            chains = [text[a:b] for text, own in zip(block, pieces, strict=True) for a, b, *_ in own]
            words, tags = iter(_words(self.model, self.words, chains)), self.model.tags
            for own in pieces:
                yield [[(start + a, start + b, tags[tag]) for a, b, tag in next(words)] for start, *_ in own]

    def cut(self, texts: Sequence[str]) -> list[list[Span]]:
        """The words of each text."""
        return [[(start, end) for start, end, _ in words] for words in self.tag(texts)]

    def nouns(self, texts: Sequence[str]) -> list[list[str]]:
        """The nouns of each text, tagged by the segmenter alone."""
        tagged = zip(texts, self.tag(texts), strict=True)
        return [[text[start:end] for start, end, tag in words if tag in _NOUNS] for text, words in tagged]


def _words(segmenter: crf.Crf, words: Words, chains: Sequence[str]) -> list[list[tuple[int, int, int]]]:
    """(start, end, tag index) of the words of each chain."""
    if not chains:
        return []
    lengths = [len(chain) for chain in chains]
    scores = crf.emissions(segmenter, chains)
    margins = crf.margins(segmenter, scores, lengths).tolist()
    numbers: dict[str | None, int] = {**{tag: i for i, tag in enumerate(segmenter.tags)}, "": crf.WORD, None: crf.ANY}
    gaps: list[int] = []
    fixed: list[int] = []
    for chain, length in zip(chains, lengths, strict=True):
        decided, known = _steered(chain, words, margins[len(gaps) : len(gaps) + length], numbers)
        gaps += decided
        fixed += known
    crf.constrain(segmenter.tags, scores, lengths, np.array(gaps, np.int8), np.array(fixed, np.int16))
    return crf.spans(crf.viterbi(segmenter, scores, lengths), lengths, len(segmenter.tags))


def _steered(
    chain: str, words: Words, margins: Sequence[float], numbers: Mapping[str | None, int]
) -> tuple[list[int], list[int]]:
    """What is decided beforehand about a chain, per character: gaps and tags; runs first, user words over them."""
    size = len(chain)
    gaps, fixed, joined = [crf.FREE] * (size + 1), [crf.ANY] * size, [False] * size
    for start, end, tag in *runs(chain), *names(chain):
        joined[start + 1 : end] = [True] * (end - start - 1)
        gaps[start + 1 : end] = [crf.JOIN] * (end - start - 1)
        if tag:
            gaps[start] = gaps[end] = crf.SPLIT
            fixed[start:end] = [numbers[tag]] * (end - start)
        elif glued := words.find_glued(chain, start, end):
            joined[glued], gaps[glued] = False, crf.FREE
    for start, end in chosen(chain, words, margins, joined):
        gaps[start + 1 : end] = [crf.JOIN] * (end - start - 1)
        gaps[start] = gaps[end] = crf.SPLIT
        for first, last, part in words.cut(chain[start:end]):
            gaps[start + first] = crf.SPLIT
            fixed[start + first : start + last] = [numbers[part]] * (last - first)
    return gaps[:size], fixed


def _pieces(text: str) -> list[_Piece]:
    """(start, end, sentence, whether it is whitespace) of every chain and run of whitespace."""
    return [
        (match.start(), match.end(), number, match[0].isspace())
        for number, (a, b) in enumerate(sentence_spans(text))
        for match in _PIECE.finditer(text, a, b)
    ]


def load(words: Mapping[str, str], models: Path | None = None) -> Embedded:
    """The backend with the models in a folder (the shipped ones by default) and the user's words, {word: UPOS, "" or
    its parts: "微 辣"}.

    A user word that holds whitespace can never be a word and is refused, as is a tag that the segmenter does not have.
    """
    folder = models or MODELS
    digests = _verified(folder)
    segmenter = _segmenter(words, folder)
    return Embedded(digests, words, segmenter.model, parser.load(folder / FILES[1]), segmenter.words)


def load_segmenter(words: Mapping[str, str]) -> Segmenter:
    """What cuts texts into words, with the user's words; ConfigError for a word that it cannot have."""
    _verified(MODELS)
    return _segmenter(words, MODELS)


def _segmenter(words: Mapping[str, str], folder: Path) -> Segmenter:
    segmenter = crf.load(folder / FILES[0])
    for word, tag in words.items():
        if word.split() != [word]:
            raise ConfigError(f"user word {word!r} is empty or holds whitespace", fix="take it out or write it without")
        if " " in tag:
            if "".join(tag.split()) != word:
                raise ConfigError(
                    f"user word {word!r} is not its parts {tag!r}", fix="write the parts in a row, with spaces between"
                )
        elif tag and TAGS_V1.get(tag, tag) not in segmenter.tags:
            raise ConfigError(
                f"user word {word!r} has the unknown tag {tag!r}", fix=f"known: {', '.join(segmenter.tags)}"
            )
    return Segmenter(segmenter, Words.of(words))


def write_config(folder: Path, trained_on: Mapping[str, str]) -> None:
    """Write config.json for the model files in `folder`: their digests and what they were trained on."""
    digests = {name: digest_file(folder / name) for name in FILES}
    text = json.dumps(
        {"format": 1, "sha256": digests, "trained_on": dict(trained_on)}, indent=2, ensure_ascii=False, sort_keys=True
    )
    for name in FILES:
        (folder / name).chmod(0o644)
    (folder / "config.json").write_text(text + "\n", encoding="utf-8")


def _verified(folder: Path) -> dict[str, str]:
    """The digests of the model files, checked against config.json."""
    where = str(folder / "config.json")
    fix = "reinstall builder or train with `builder model nlp train`"
    try:
        expected = json.loads(read_settings(folder / "config.json"))["sha256"]
        stated = {name: expected[name] for name in FILES}
        for name in FILES:
            check_regular(folder / name)
            if (folder / name).stat().st_size > _LARGEST:
                raise ValueError(f"{name} is larger than {_LARGEST >> 20} MB")
        digests = {name: digest_file(folder / name) for name in FILES}
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise ResourceError(f"the embedded models cannot be read: {error}", where=where, fix=fix) from error
    for name, digest in digests.items():
        if stated[name] != digest:
            raise ResourceError(f"{name} is not the file that config.json describes", where=where, fix=fix)
    return digests
