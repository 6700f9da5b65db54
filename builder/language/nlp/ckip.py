"""The ckip backend (extra `ckip`): words and tags from ckip-transformers, as in the paper (section 3.2), on a GPU if
there is one.

In: views of texts, cut into sentences. Out: tokens with universal tags (rules/labels.tsv) and trees of our own parser.
The user's words cannot steer CKIP, which takes no dictionary, and nothing refines its words afterwards.
The driver's habits that this module lives with (ckip-transformers 0.3.4): whitespace is an unknown character that it
may glue into a word, a call without a single character raises, one long text pads all others to its length, and a
word longer than the model's window kills the tagger. ckip-transformers is GPL-3.0: it is asked for by name, imported
only when this backend is loaded, and no part of it is copied.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import version
from itertools import accumulate, pairwise
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar

from builder.core.errors import ConfigError, ModelError, ResourceError, install_command
from builder.core.files import digest_file
from builder.core.records import Span, Token
from builder.language.nlp import conllu as label_table
from builder.language.nlp.conllu import Labels
from builder.language.nlp.features import Draft, TreeParser, parsed, sentence_spans
from builder.learning.hub import is_folder, load_network, load_tokenizer

HUB = "ckiplab/{name}-chinese-{part}"
NAMES = ("bert-base", "bert-tiny", "albert-base", "albert-tiny")
_PARTS = {"ws": "CkipWordSegmenter", "pos": "CkipPosTagger"}
_BATCH = 128
_RUN = re.compile(r"\s+|\S+")
_KNOWN_SHARE = 0.9

DriverInput = TypeVar("DriverInput", str, list[str])
Driver = Callable[..., list[list[str]]]


@dataclass(frozen=True, slots=True)
class Ckip:
    """The backend that `load` makes. `window` is the longest word, in characters, that the tagger can be shown."""

    signature: str
    segmenter: Driver
    tagger: Driver
    window: int
    labels: Labels
    parser: TreeParser

    def annotate(self, texts: Sequence[str]) -> list[tuple[Token, ...]]:
        """Tokens of each text: they tile it, heads are token indices in the text, every unit has one root."""
        places = [(row, span) for row, text in enumerate(texts) for span in sentence_spans(text)]
        shown = [texts[row][start:end].encode("utf-8", "replace").decode() for row, (start, end) in places]
        words = _batched(self.segmenter, shown, len)
        spans = [
            word_spans(sentence, cuts, f"text {row + 1} of {len(texts)}")
            for sentence, cuts, (row, _) in zip(shown, words, places, strict=True)
        ]
        tags = self._tags([[sentence[a:b] for a, b in cuts] for sentence, cuts in zip(shown, spans, strict=True)])
        drafted: list[list[tuple[Span, str, int]]] = [[] for _ in texts]
        for number, ((row, (start, _)), cuts, named) in enumerate(zip(places, spans, tags, strict=True)):
            drafted[row] += [((start + a, start + b), tag, number) for (a, b), tag in zip(cuts, named, strict=True)]
        return parsed([Draft.of(text, draft) for text, draft in zip(texts, drafted, strict=True)], self.parser)

    def _tags(self, sentences: list[list[str]]) -> list[list[str]]:
        """Universal tags. The tagger reads a tag off a word's first character: of an endless word it sees the start."""
        answers = _batched(
            self.tagger,
            [[word[: self.window] for word in words] for words in sentences],
            lambda words: sum(map(len, words)),
        )
        return [
            ["SPACE" if word.isspace() else self.labels.ours(tag, word) for word, tag in zip(words, tags, strict=True)]
            for words, tags in zip(sentences, answers, strict=True)
        ]


def _batched(driver: Driver, items: Sequence[DriverInput], size: Callable[[DriverInput], int]) -> list[list[str]]:
    """The driver's answers, in order. A call takes items of like length, because it pads them all to its longest."""
    out: list[list[str]] = [[]] * len(items)
    order = sorted(range(len(items)), key=lambda i: (-size(items[i]), i))
    for first in range(0, len(order), _BATCH):
        batch = order[first : first + _BATCH]
        for i, answer in zip(
            batch, driver([items[i] for i in batch], batch_size=_BATCH, show_progress=False), strict=True
        ):
            out[i] = answer
    return out


def word_spans(text: str, words: Sequence[str], where: str) -> list[Span]:
    """Spans that tile a text, cut where the words end and at the edges of whitespace.

    The words together must be the text. Whitespace that is missing, added or changed is made good; any other
    difference is a ModelError.
    """
    if "".join(words) == text:
        edges = set(accumulate(map(len, words)))
    else:
        bare = ["".join(word.split()) for word in words]
        if "".join(bare) != "".join(text.split()):
            raise ModelError(
                f"CKIP's words {'|'.join(words)!r} are not the text {text!r}",
                where=where,
                fix="report it with your version of ckip-transformers",
            )
        places = [i for i, char in enumerate(text) if not char.isspace()]
        edges = {places[count - 1] + 1 for count in accumulate(map(len, bare)) if count}
    out: list[Span] = []
    for run in _RUN.finditer(text):
        inner = [] if run[0].isspace() else sorted(edge for edge in edges if run.start() < edge < run.end())
        out += pairwise([run.start(), *inner, run.end()])
    return out


def load(models: Path | None = None, device: str = "auto") -> Ckip:
    """The backend. `models`: a folder with ws/ and pos/, or one of `NAMES` for the hub's models, by default bert-base.
    Its trees are those of our own parser: of models/embedded/ if it is there, else the one shipped.
    """
    table = label_table.load_labels()
    parser, parser_signature = embedded_parser(models)
    segmenter = _driver("ws", _source("ws", models), device)
    tagger = _driver("pos", _source("pos", models), device)
    known = segmenter.model.config.id2label
    if [known.get(0), known.get(1), len(known)] != ["B", "I", 2]:
        raise ResourceError(
            f"no word segmenter of CKIP's: its labels are {sorted(known.values())}, not B and I",
            where=_source("ws", models),
        )
    table.require(tagger.model.config.id2label.values())
    parts = [f"ws={_digest(segmenter)}", f"pos={_digest(tagger)}", f"labels={table.digest}", parser_signature]
    parts += [f"{name}={version(name)}" for name in ("ckip-transformers", "transformers")]
    return Ckip(" ".join(["ckip/1", *parts]), segmenter, tagger, tagger.tokenizer.model_max_length - 2, table, parser)


def _source(part: str, models: Path | None) -> str:
    """A folder of the disk or a name of the hub."""
    if models is None or str(models) in NAMES:
        return HUB.format(name=models or NAMES[0], part=part)
    if not (models / part / "config.json").is_file():
        fix = f"put {HUB.format(name=NAMES[0], part=part)} there, or name one of {', '.join(NAMES)}"
        raise ResourceError(f"no model of CKIP's in {part}/", where=str(models / part), fix=fix)
    return str(models / part)


def _driver(part: str, source: str, device: str) -> Any:
    """A driver of ckip-transformers, with a network and a tokenizer that `builder.learning.hub` loaded.

    The driver's own constructor would also read pickles, so it is passed over. The tokenizer is made to know the
    model's window, which some of the files do not say.
    """
    from builder.learning.devices import choose

    kind = getattr(_drivers(), _PARTS[part])
    driver = kind.__new__(kind)
    driver.device = choose(device)
    try:
        network = load_network("AutoModelForTokenClassification", source, wanted="a model of CKIP's")
        driver.tokenizer = load_tokenizer(source, "BertTokenizerFast")
    except ModelError as error:
        download = f"hf download {HUB.format(name=NAMES[0], part=part)} --local-dir DIR/{part}"
        fix = f"where there is a network, run `{download}`, and set annotate.models = DIR"
        raise ResourceError(
            f"the model cannot be loaded: {error.what}", where=source, fix=error.fix if is_folder(source) else fix
        ) from error
    driver.model = network.to(driver.device)
    size, rows = len(driver.tokenizer), driver.model.config.vocab_size
    # Where transformers 5 finds no vocabulary, it silently makes an empty tokenizer: every character would be unknown.
    if not _KNOWN_SHARE * rows <= size <= rows:
        raise ResourceError(
            f"the tokenizer knows {size} tokens, the model {rows}", where=source, fix="add the vocab.txt of the model"
        )
    driver.tokenizer.model_max_length = min(
        driver.tokenizer.model_max_length, driver.model.config.max_position_embeddings
    )
    return driver


def _drivers() -> ModuleType:
    try:
        return import_module("ckip_transformers.nlp")
    except ImportError as error:
        raise ConfigError(f"the ckip backend needs ckip-transformers: {error}", fix=install_command("ckip")) from error


def _digest(driver: Any) -> str:
    """Of weights, vocabulary and labels: the same for a model of the hub and for its copy on disk."""
    torch = import_module("torch")
    digest = hashlib.sha256(repr((sorted(driver.tokenizer.get_vocab().items()), driver.model.config.id2label)).encode())
    for name, tensor in sorted(driver.model.state_dict().items()):
        digest.update(name.encode() + tensor.cpu().contiguous().reshape(-1).view(torch.uint8).numpy().tobytes())
    return digest.hexdigest()[:12]


def embedded_parser(models: Path | None) -> tuple[TreeParser, str]:
    """Our own parser and its signature: that of `models`/embedded if it is there, else the one shipped."""
    from builder.language.nlp import embedded

    own = models / "embedded" if models else embedded.MODELS
    folder = own if own.is_dir() else embedded.MODELS
    # The whole backend is loaded for its parser's sake: it checks its files against their digests.
    parser = embedded.load({}, folder).parser
    return parser, f"parser={digest_file(folder / 'parser.safetensors')[:12]}"
