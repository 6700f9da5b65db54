"""The ckip backend (extra `ckip`): words and tags from ckip-transformers, as in the paper (section 3.2), on a GPU if
there is one.

In: views of texts, cut into sentences. Out: tokens with universal tags (rules/labels.tsv) and trees of our own parser
or of stanza. The user's words cannot steer CKIP, which takes no dictionary, and nothing refines its words afterwards.
The driver's habits that this module lives with (ckip-transformers 0.3.4): whitespace is an unknown character that it
may glue into a word, a call without a single character raises, one long text pads all others to its length, and a
word longer than the model's window kills the tagger. ckip-transformers is GPL-3.0: it is asked for by name, imported
only when this backend is loaded, and no part of it is copied.

Trees from stanza (extra `stanza`) for words that are already cut.

In: a folder of stanza's models for zh-hant, words by sentence. Out: heads and UD v1 relations; stanza speaks UD v2,
rules/labels.tsv translates. Stanza tags the words itself, because its parser learnt from its own tags, finer than
ours; lemmas are the words, as in its treebank. Nothing is ever downloaded: what is missing is an error that says how
to get it.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import version
from itertools import accumulate, pairwise
from pathlib import Path
from pickle import UnpicklingError
from types import ModuleType
from typing import Any, TypeVar

from builder.core.errors import ConfigError, ModelError, ResourceError, install_command
from builder.core.files import digest_file
from builder.core.records import Span, Token
from builder.language.nlp import conllu as label_table
from builder.language.nlp.conllu import Labels
from builder.language.nlp.features import Draft, TreeParser, parsed, sentence_spans
from builder.learning.hub import is_folder, load_network, load_tokenizer

# ---- Stanza's trees

_LANGUAGE = "zh-hant"
_PROCESSORS = {"tokenize": "default", "pos": "default", "lemma": "identity", "depparse": "default"}


@dataclass(frozen=True, slots=True)
class StanzaParser:
    """A `features.TreeParser`; `signature` names the version and the model files. `pipeline` makes a document of
    stanza's.
    """

    signature: str
    pipeline: Callable[[list[list[str]]], Any]
    labels: Labels

    def parse(self, units: Sequence[tuple[Sequence[str], Sequence[str]]]) -> list[tuple[list[int], list[str]]]:
        """The trees of units of words; their tags are not used, stanza tags for itself."""
        if not units:
            return []
        sentences = self.pipeline([list(words) for words, _ in units]).sentences
        assert len(sentences) == len(units), f"stanza made {len(sentences)} sentences of {len(units)}"
        return [tree(sentence, self.labels) for sentence in sentences]


def tree(sentence: Any, labels: Labels) -> tuple[list[int], list[str]]:
    """0-based heads (-1 is the root) and UD v1 relations of a sentence of stanza's, whose words have a `text`, a `head`
    from 1 (0 is the root) and a `deprel`. Only the root is called root, whatever a model says.
    """
    heads = [word.head - 1 for word in sentence.words]
    rels = ["root" if word.head == 0 else labels.ours("ud2", word.deprel, word.text) for word in sentence.words]
    return heads, ["dep" if head >= 0 and rel == "root" else rel for head, rel in zip(heads, rels, strict=True)]


def load_stanza(folder: Path, labels: Labels, device: str = "auto") -> StanzaParser:
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


# ---- CKIP

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
            [
                "SPACE" if word.isspace() else self.labels.ours("ckip-pos", tag, word)
                for word, tag in zip(words, tags, strict=True)
            ]
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


def load(words: Mapping[str, str], models: Path | None = None, trees: str = "embedded", device: str = "auto") -> Ckip:
    """The backend. `models`: a folder with ws/ and pos/, or one of `NAMES` for the hub's models, by default bert-base.

    `trees`: "embedded" takes our own parser (models/embedded/ if it is there, else the one shipped), "stanza" the
    models in models/stanza/. `words` is there for the Protocol alone: CKIP takes no dictionary.
    """
    del words
    table = label_table.load_labels()
    parser, parser_signature = _stanza(models, table, device) if trees == "stanza" else embedded_parser(models)
    segmenter = _driver("ws", _source("ws", models), device)
    tagger = _driver("pos", _source("pos", models), device)
    known = segmenter.model.config.id2label
    if [known.get(0), known.get(1), len(known)] != ["B", "I", 2]:
        raise ResourceError(
            f"no word segmenter of CKIP's: its labels are {sorted(known.values())}, not B and I",
            where=_source("ws", models),
        )
    table.require("ckip-pos", tagger.model.config.id2label.values())
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


def _stanza(models: Path | None, table: Labels, device: str) -> tuple[TreeParser, str]:
    if models is None or str(models) in NAMES:
        raise ConfigError(
            "ckip-stanza needs a folder of models", fix="set annotate.models to a folder with ws/, pos/ and stanza/"
        )
    parser = load_stanza(models / "stanza", table, device)
    return parser, parser.signature
