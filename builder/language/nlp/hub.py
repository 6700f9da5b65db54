"""The hub backend (extra `paper`): words and tags by any two token-classification models of Transformers.

In: a folder with models.toml, which names the two models and what their labels mean. Out: tokens with universal tags
and trees of our own parser. Characters find their labels through the tokenizers' offsets, whatever the tokenizer. The
user's words cannot steer these models, and nothing refines their words afterwards.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from builder.core.config import filled
from builder.core.errors import ResourceError
from builder.core.files import parse_toml, read_settings
from builder.core.limits import Limits, among
from builder.core.records import Span, Token
from builder.language.nlp import labels as label_table
from builder.language.nlp.features import Draft, TreeParser, parsed, sentence_spans
from builder.language.nlp.labels import Labels

SETTINGS = "models.toml"
SCHEMES = ("upos", "ckip-pos")
_BEGIN, _INSIDE = frozenset("BS"), frozenset("IME")
_UNIVERSAL = frozenset(
    {"ADJ", "ADP", "ADV", "AUX", "CCONJ", "CONJ", "DET", "INTJ", "NOUN", "NUM", "PART", "PRON", "PROPN", "PUNCT"}
    | {"SCONJ", "SYM", "VERB", "X"}
)
_V1 = {"CCONJ": "CONJ"}
"""Tags of UD v2 in those of UD v1, which the parser knows."""
_TOKENS = 8192
"""Tokens that a model reads at once, padding included."""
_LEAST_ROOM = 8
"""Tokens of a stretch of text, marks aside, at least."""


@dataclass(frozen=True, slots=True)
class HubModels:
    """The settings of models.toml. `words` and `tags`: a hub name, or a folder beside the file; `tag_scheme`: whose
    tags they are.
    """

    words: str = ""
    tags: str = ""
    tag_scheme: str = "upos"

    def limits(self) -> Limits:
        return {
            "words": (bool(self.words), "a model's hub name or folder"),
            "tags": (bool(self.tags), "a model's hub name or folder"),
            "tag_scheme": among(SCHEMES, self.tag_scheme),
        }


@dataclass(frozen=True, slots=True, eq=False)
class TokenLabels:
    """A token-classification model. `names` are its labels by number, `longest` how many tokens it reads."""

    network: Any
    tokenizer: Any
    names: tuple[str, ...]
    longest: int
    source: str

    def label(self, texts: Sequence[str]) -> list[list[str]]:
        """The label of every character of each text; characters of one token behind its first have `I`, those of no
        token (spaces) an empty one.
        """
        from builder.learning.devices import in_parts

        parts = [(row, span) for row, text in enumerate(texts) for span in self._readable(text)]
        encoded = [self.tokenizer.encode(texts[row][start:end]) for row, (start, end) in parts]
        out = [[""] * len(text) for text in texts]
        order = sorted(range(len(parts)), key=lambda i: (-len(encoded[i].ids), i))
        batches = _batches(order, encoded)
        for chosen, labels in in_parts(batches, lambda chosen: self._read([encoded[i] for i in chosen])):
            for i, names in zip(chosen, labels, strict=True):
                row, (begin, _) = parts[i]
                for name, (start, end) in zip(names, encoded[i].offsets, strict=False):
                    for at in range(begin + start, begin + end):
                        out[row][at] = out[row][at] or (name if at == begin + start else "I")
        return out

    def _readable(self, text: str) -> list[Span]:
        """Stretches that fit into the model: the whole text, or halves of it as often as needed."""
        waiting, out = [(0, len(text))], list[Span]()
        while waiting:
            start, end = waiting.pop()
            if end - start > 1 and len(self.tokenizer.encode(text[start:end]).ids) > self.longest:
                middle = (start + end) // 2
                waiting += [(middle, end), (start, middle)]
            elif end > start:
                out.append((start, end))
        return out

    def _read(self, rows: Sequence[Any]) -> list[list[str]]:
        import torch

        from builder.learning.devices import device_of
        from builder.learning.loop import scope

        longest = max(len(row.ids) for row in rows)
        pad = int(self.network.config.pad_token_id or 0)
        ids = torch.tensor([[*row.ids, *[pad] * (longest - len(row.ids))] for row in rows])
        mask = torch.arange(longest)[None] < torch.tensor([len(row.ids) for row in rows])[:, None]
        device = device_of(self.network)
        with scope(torch.get_num_threads(), device=device), torch.inference_mode():
            best = self.network(input_ids=ids.to(device), attention_mask=mask.long().to(device)).logits.argmax(-1)
        return [
            [self.names[i] for i in numbers[: len(row.ids)]] for row, numbers in zip(rows, best.tolist(), strict=True)
        ]


def _batches(order: Sequence[int], encoded: Sequence[Any]) -> list[list[int]]:
    """Stretches of `order`, long texts first, of at most `_TOKENS` with padding."""
    out: list[list[int]] = []
    for i in order:
        if out and (len(out[-1]) + 1) * len(encoded[out[-1][0]].ids) <= _TOKENS:
            out[-1].append(i)
        else:
            out.append([i])
    return out


@dataclass(frozen=True, slots=True)
class HubBackend:
    """The backend that `load` makes."""

    signature: str
    words: TokenLabels
    tags: TokenLabels
    scheme: str
    labels: Labels
    parser: TreeParser

    def annotate(self, texts: Sequence[str]) -> list[tuple[Token, ...]]:
        """Tokens of each text: they tile it, heads are token indices in the text, every unit has one root."""
        places = [(row, span) for row, text in enumerate(texts) for span in sentence_spans(text)]
        shown = [texts[row][start:end].encode("utf-8", "replace").decode() for row, (start, end) in places]
        answers = zip(places, shown, self.words.label(shown), self.tags.label(shown), strict=True)
        drafted: list[list[tuple[Span, str, int]]] = [[] for _ in texts]
        for number, ((row, (start, _)), sentence, cuts, tags) in enumerate(answers):
            for a, b in word_spans(sentence, cuts):
                drafted[row].append(((start + a, start + b), self._tag(sentence[a:b], tags[a]), number))
        return parsed([Draft.of(text, draft) for text, draft in zip(texts, drafted, strict=True)], self.parser)

    def _tag(self, word: str, label: str) -> str:
        """The universal tag of a word by the label of its first character; X where no token has it."""
        if word.isspace():
            return "SPACE"
        name = plain_tag(label)
        if not name:
            return "X"
        return _V1.get(name, name) if self.scheme == "upos" else self.labels.ours(self.scheme, name, word)


def word_spans(text: str, labels: Sequence[str]) -> list[Span]:
    """Spans that tile a text: a word begins where a label says so, behind a character without one, and at the edges of
    whitespace.
    """
    edges = {0, len(text)}
    for at in range(1, len(text)):
        turned = text[at].isspace() != text[at - 1].isspace()
        begins = not text[at].isspace() and (labels[at][:1] not in _INSIDE or not labels[at - 1])
        if turned or begins:
            edges.add(at)
    return list(pairwise(sorted(edges)))


def plain_tag(label: str) -> str:
    """A tag without the place in a word that some models put before it: `B-NOUN` is NOUN."""
    return label[2:] if label[1:2] == "-" and label[0] in _BEGIN | _INSIDE else "" if label in _INSIDE else label


def load(words: Mapping[str, str], models: Path | None = None, device: str = "auto") -> HubBackend:
    """The backend of the folder `models` on a device; `words` is there for the Protocol alone. ResourceError says
    what of models.toml or of the models cannot serve.
    """
    from builder.language.nlp.ckip import embedded_parser

    del words
    if models is None:
        fix = f"set annotate.models to a folder with {SETTINGS}"
        raise ResourceError("the hub backend needs two models", where="annotate.models", fix=fix)
    path = models / SETTINGS
    try:
        settings = filled(HubModels, parse_toml(read_settings(path)), str(path))
    except (OSError, ValueError, RecursionError) as error:
        raise ResourceError(
            f"cannot be read: {error}", where=str(path), fix="write words = and tags = in it"
        ) from error
    table = label_table.load()
    segmenter, tagger = (_load(name, models, device) for name in (settings.words, settings.tags))
    _check_labels(segmenter, tagger, settings.tag_scheme, table)
    parser, parser_signature = embedded_parser(models)
    parts = [f"words={_digest(segmenter)}", f"tags={_digest(tagger)}", settings.tag_scheme, f"labels={table.digest}"]
    return HubBackend(
        " ".join(["hub/1", *parts, parser_signature]), segmenter, tagger, settings.tag_scheme, table, parser
    )


def _check_labels(segmenter: TokenLabels, tagger: TokenLabels, scheme: str, table: Labels) -> None:
    """ResourceError for labels that do not say where words begin, or what their tags are."""
    for name in segmenter.names:
        if name[:1] not in _BEGIN | _INSIDE or name[1:2] not in ("", "-"):
            what = f"the label {name!r} does not say where a word begins"
            fix = "use a model with labels such as B and I, or B, M, E and S"
            raise ResourceError(what, where=segmenter.source, fix=fix)
    tags = {plain_tag(name) for name in tagger.names} - {""}
    if scheme != "upos":
        table.require(scheme, tags)
    elif foreign := sorted(tags - _UNIVERSAL):
        fix = f"set tag_scheme in {SETTINGS}; known: {', '.join(SCHEMES)}"
        raise ResourceError(f"{foreign[0]!r} is no universal tag", where=tagger.source, fix=fix)


def _load(name: str, models: Path, device: str) -> TokenLabels:
    """A model by its hub name, or by its folder in `models`, on a device."""
    from builder.core.errors import ModelError
    from builder.learning import hub
    from builder.learning.devices import choose

    source = str(models / name) if (models / name).is_dir() or hub.is_folder(name) else name
    try:
        network = hub.load_network("AutoModelForTokenClassification", source, wanted="a token-classification model")
        tokenizer = getattr(hub.load_tokenizer(source), "backend_tokenizer", None)
        if tokenizer is not None:
            hub.require_tokens(tokenizer, int(network.config.vocab_size), source)
    except ModelError as error:
        raise ResourceError(f"the model cannot be loaded: {error.what}", where=source, fix=error.fix) from error
    if tokenizer is None:
        fix = "use a model with a fast tokenizer (tokenizer.json)"
        raise ResourceError(
            "the tokenizer gives no offsets, by which characters find their tokens", where=source, fix=fix
        )
    tokenizer.no_padding()
    tokenizer.no_truncation()
    names = tuple(name for _, name in sorted(network.config.id2label.items()))
    longest = min(512, int(getattr(network.config, "max_position_embeddings", 0) or 512) - 2)
    if len(names) != network.config.num_labels or sorted(network.config.id2label) != list(range(len(names))):
        raise ResourceError("its labels are not numbered from 0", where=source, fix="number `id2label` from 0")
    if longest < _LEAST_ROOM:
        raise ResourceError(f"it reads {longest + 2} tokens at once", where=source, fix="use a larger model")
    network.to(choose(device))
    return TokenLabels(network, tokenizer, names, longest, source)


def _digest(model: TokenLabels) -> str:
    """Of weights, tokenizer and labels: the same for a model of the hub and for its copy on disk."""
    from builder.learning.checkpoint import tensor_digest, weights_of

    tokenizer = hashlib.sha256(model.tokenizer.to_str().encode()).hexdigest()
    return tensor_digest(weights_of(model.network), tokenizer, repr(model.names))[:12]
