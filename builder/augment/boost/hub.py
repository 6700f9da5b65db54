"""A masked language model of a hub or folder (BERT, RoBERTa, DeBERTa …): what it expects at masks, and
pseudo-perplexity (extra `paper`).

Equation 2 of BoostAug is meant literally here: every token is masked in turn, and the text is read as often as it has
tokens, in batches.

Any encoder of a hub or folder as a surrogate (the paper's is DeBERTa): fine-tuned on the fold with both heads
(extra `paper`).

The classification head is new; the language modelling head is the checkpoint's own, and goes on being trained on the
fold, so that perplexity speaks of the fold's kind of text. (In the published code it comes from a head that was never
trained.)
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.utils.rnn import pad_sequence

from builder.augment.boost.classes import bar, read_labels
from builder.augment.boost.filters import Labels, SurrogateReading, labels
from builder.augment.method_settings import BoostSettings
from builder.augment.nets.hub import MASKED, load_model
from builder.augment.records import Edit, Sentence
from builder.augment.settings import AugmentSettings
from builder.core.files import key_of
from builder.learning.checkpoint import Checkpoints, tensor_digest
from builder.learning.devices import choose, half_precision, in_parts
from builder.learning.encode import batches
from builder.learning.loop import fit, scope
from builder.learning.task import NetworkConfig, seed_of

# ---- Masked language models

ROOM = 4096
"""Tokens of a batch, padding included."""
LONGEST = 128
"""Tokens of a text that are read, where no other number is asked for (the paper's maximum is 80)."""


@dataclass(frozen=True, slots=True, eq=False)
class MaskedModel:
    """A network of transformers with a language modelling head, and its tokenizer."""

    network: Any
    tokenizer: Any
    longest: int = LONGEST

    @property
    def digest(self) -> str:
        named = {name: parameter.detach() for name, parameter in self.network.named_parameters()}
        return tensor_digest(named, type(self.tokenizer).__name__)[:16]

    def ids(self, text: str) -> list[int]:
        """The tokens with the marks at both ends, cut at `longest`."""
        numbers: list[int] = self.tokenizer(text, truncation=True, max_length=self.longest).input_ids
        return numbers

    def alone(self) -> dict[int, str]:
        """The tokens that are written as a whole word or one Han character, and how: no part of a word, no mark."""
        special, marked = (
            set(self.tokenizer.all_special_ids),
            any(token[:1] in "▁Ġ" for token in self.tokenizer.get_vocab()),
        )
        out = {}
        for token, number in self.tokenizer.get_vocab().items():
            surface = token.lstrip("▁Ġ")
            part = token.startswith("##") or (marked and token == surface and surface.isascii())
            if number not in special and not part and surface.isalnum():
                out[number] = surface
        return out

    def at_masks(
        self, texts: Sequence[str], top: int, allowed: frozenset[int], threads: int
    ) -> list[list[list[tuple[int, float]]]]:
        """Per text and mask of it the likeliest of the allowed tokens with their probabilities."""
        ids = [self.ids(text) for text in texts]
        candidates = torch.tensor(sorted(allowed))
        out: list[list[list[tuple[int, float]]]] = [[] for _ in texts]
        for chosen, logits, tokens in self._logits(ids, threads):
            for row, i in enumerate(chosen):
                places = (tokens[row] == self.tokenizer.mask_token_id).nonzero().squeeze(1)
                likely = logits[row, places][:, candidates].softmax(-1).topk(min(top, len(candidates)))
                rows = zip(candidates[likely.indices].tolist(), likely.values.tolist(), strict=True)
                out[i] = [list(zip(*pair, strict=True)) for pair in rows]
        return out

    def surprise(self, texts: Sequence[str], threads: int) -> list[float]:
        """Per text the mean of -log p over its tokens, each masked in turn (equation 2, per token)."""
        ids, special = (
            [self.ids(text) for text in texts],
            set(self.tokenizer.all_special_ids) - {self.tokenizer.unk_token_id},
        )
        asked = [(i, at) for i, tokens in enumerate(ids) for at, token in enumerate(tokens) if token not in special]
        shown = [[*ids[i][:at], self.tokenizer.mask_token_id, *ids[i][at + 1 :]] for i, at in asked]
        total, number = [0.0] * len(texts), [0] * len(texts)
        for chosen, logits, _ in self._logits(shown, threads):
            places = torch.tensor([asked[n][1] for n in chosen])
            wanted = torch.tensor([ids[asked[n][0]][asked[n][1]] for n in chosen])
            picked = logits[torch.arange(len(chosen)), places].log_softmax(-1)[torch.arange(len(chosen)), wanted]
            for n, value in zip(chosen, picked.tolist(), strict=True):
                total[asked[n][0]] -= value
                number[asked[n][0]] += 1
        return [value / max(1, n) for value, n in zip(total, number, strict=True)]

    def _logits(self, ids: Sequence[Sequence[int]], threads: int) -> Any:
        """(indices, logits [B, T, V], tokens [B, T]) of batches."""
        self.network.eval()
        with scope(threads), torch.inference_mode():
            order = batches([len(tokens) for tokens in ids], ROOM)
            for chosen, (logits, tokens) in in_parts(order, lambda chosen: self._scored([ids[i] for i in chosen])):
                yield chosen, logits, tokens

    def _scored(self, rows: Sequence[Sequence[int]]) -> tuple[Tensor, Tensor]:
        """Logits [B, T, V] and tokens [B, T] on the host."""
        tokens, mask = self.padded(rows)
        return self.network(input_ids=tokens, attention_mask=mask).logits.cpu(), tokens.cpu()

    def padded(self, rows: Sequence[Sequence[int]]) -> tuple[Tensor, Tensor]:
        """Tokens and attention mask [B, T] on the model's device."""
        pad = self.tokenizer.pad_token_id
        tokens = pad_sequence([torch.tensor(row) for row in rows], batch_first=True, padding_value=pad)
        lengths = torch.tensor([len(row) for row in rows])
        mask = (torch.arange(tokens.shape[1])[None] < lengths[:, None]).long()
        device = next(self.network.parameters()).device
        return tokens.to(device), mask.to(device)


def perplexity(surprise: float) -> float:
    """The perplexity of a mean surprise, bounded so that it stays a number."""
    return round(math.exp(min(surprise, 50.0)), 4)


def load_masked(source: str, longest: int = LONGEST) -> MaskedModel:
    """Model and tokenizer; ModelError as `load_model`."""
    return MaskedModel(*load_model(source, MASKED), longest)


# ---- Encoders with heads

SHARE = 0.15
"""Share of the tokens that the language modelling head learns from in a batch (Devlin et al. 2019)."""


@dataclass(frozen=True, slots=True)
class HubConfig(NetworkConfig):
    """Section 3.3 of the paper: 16 texts of at most 80 tokens a batch, rate 1e-5, Adam with L2; `language` is the
    weight of the language model's loss, `longest` how many tokens of a text are read, `batch` how many texts a step
    has.
    """

    longest: int = LONGEST
    epochs: int = 4
    batch: int = 16
    rate: float = 2e-5
    l2: float = 1e-8
    language: float = 0.3

    @property
    def step_items(self) -> int:
        return self.batch


@dataclass(frozen=True, slots=True, eq=False)
class TokenItem:
    """Tokens, the token ranges of its targets (all of them, for the whole text), and their classes."""

    ids: list[int]
    targets: list[tuple[int, int]]
    classes: list[int]


class Heads(nn.Module):
    """The encoder with its language modelling head, and a classifier on the first token beside the mean of the
    target's tokens.
    """

    def __init__(self, model: MaskedModel, classes: int) -> None:
        super().__init__()
        self.model, self.network = model, model.network
        self.tell = nn.Linear(2 * int(model.network.config.hidden_size), classes)

    def logits(self, items: Sequence[TokenItem], ids: Sequence[Sequence[int]]) -> tuple[Tensor, Tensor]:
        """Logits of the classes [N, C] and of the tokens [B, T, V]."""
        tokens, mask = self.model.padded(ids)
        out = self.network(input_ids=tokens, attention_mask=mask, output_hidden_states=True)
        hidden = out.hidden_states[-1]
        rows = [(row, start, end) for row, item in enumerate(items) for start, end in item.targets]
        seen = [torch.cat([hidden[row, 0], hidden[row, start:end].mean(0)]) for row, start, end in rows]
        return self.tell(torch.stack(seen)) if seen else hidden.new_empty(0, self.tell.out_features), out.logits

    def loss(self, items: Sequence[TokenItem], language: float) -> Tensor:
        hidden = [torch.rand(len(item.ids)) < SHARE for item in items]
        for row in hidden:
            row[0] = row[-1] = False
        mask = self.model.tokenizer.mask_token_id
        shown = [
            [mask if gone else token for token, gone in zip(item.ids, row.tolist(), strict=True)]
            for item, row in zip(items, hidden, strict=True)
        ]
        classes, logits = self.logits(items, shown)
        total = functional.cross_entropy(
            classes, torch.tensor([class_ for item in items for class_ in item.classes], device=classes.device)
        )
        picked = [logits[n, : len(row)][row.to(logits.device)] for n, row in enumerate(hidden)]
        wanted = torch.tensor(
            [
                token
                for item, row in zip(items, hidden, strict=True)
                for token, gone in zip(item.ids, row.tolist(), strict=True)
                if gone
            ]
        )
        if len(wanted):
            total = total + language * functional.cross_entropy(torch.cat(picked), wanted.to(logits.device))
        return total

    def state_dict(self, *args: Any, **kwargs: Any) -> dict[str, Tensor]:  # type: ignore[override]
        """Named parameters: weights that are tied stand in a file once."""
        return {name: parameter.detach() for name, parameter in self.named_parameters()}

    def load_state_dict(self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False) -> Any:
        return super().load_state_dict(state_dict, strict=False, assign=assign)


@dataclass(frozen=True, slots=True, eq=False)
class HubSurrogate:
    """A fine-tuned surrogate."""

    network: Heads
    known: tuple[str, ...]
    config: HubConfig
    facts: dict[str, float] = field(default_factory=dict)

    @property
    def digest(self) -> str:
        return tensor_digest(self.network.state_dict(), repr((self.known, asdict(self.config))))[:16]

    def read(self, sentences: Sequence[Sentence], edits: Sequence[Sequence[Edit]] = ()) -> list[SurrogateReading]:
        """As builder.augment.boost.classes.Classes; perplexity is that of tokens."""
        surprise = self.network.model.surprise([sentence.text for sentence in sentences], self.config.threads)
        predictions = self.predict(sentences)
        return [
            SurrogateReading(" ".join(names), names == labels(sentence), sure, perplexity(value))
            for sentence, (names, sure), value in zip(sentences, predictions, surprise, strict=True)
        ]

    def predict(self, sentences: Sequence[Sentence]) -> list[tuple[Labels, float]]:
        """As builder.augment.boost.classes.read_labels, of each sentence."""
        items = [_item(self.network.model, sentence, {}) for sentence in sentences]
        out: list[tuple[Labels, float]] = [((), 1.0)] * len(items)
        self.network.eval()
        with scope(self.config.threads), torch.inference_mode():
            order = batches([len(item.ids) for item in items], ROOM)
            for chosen, chances in in_parts(order, lambda chosen: self._chances([items[i] for i in chosen])):
                targets = [len(items[i].targets) for i in chosen]
                for i, rows in zip(chosen, torch.split(chances, targets), strict=True):
                    out[i] = read_labels(rows, self.known, labels(sentences[i]))
        return out

    def _chances(self, items: Sequence[TokenItem]) -> Tensor:
        return self.network.logits(items, [item.ids for item in items])[0].softmax(-1).cpu()


def _item(model: MaskedModel, sentence: Sentence, classes: dict[str, int]) -> TokenItem:
    made = model.tokenizer(sentence.text, truncation=True, max_length=model.longest, return_offsets_mapping=True)
    if sentence.label is not None:
        asked = [(0, len(made.input_ids))]
    else:
        asked = [
            _tokens(made.offset_mapping, mark.start, mark.end)
            for mark in sentence.marks
            if mark.kind == "aspect" and mark.polarity
        ]
    return TokenItem(list(made.input_ids), asked, [classes.get(label, 0) for label in labels(sentence)])


def _tokens(offsets: Sequence[tuple[int, int]], start: int, end: int) -> tuple[int, int]:
    """The tokens that a stretch of characters touches; the first of all where it was cut off."""
    touched = [n for n, (first, last) in enumerate(offsets) if first < end and start < last]
    return (touched[0], touched[-1] + 1) if touched else (0, 1)


@dataclass(frozen=True, slots=True)
class HubTrainer:
    """Fine-tunes the encoder `source` anew for every fold."""

    source: str
    config: HubConfig
    device: str = "auto"
    classes: bool = True

    @property
    def signature(self) -> str:
        return f"hub {self.source} {self.config} torch {torch.__version__}"

    def fit(self, train: Sequence[Sentence], valid: Sequence[Sentence], seed: int, folder: Path) -> HubSurrogate:
        known = tuple(sorted({label for sentence in train for label in labels(sentence)}))
        model = load_masked(self.source, self.config.longest)
        device = choose(self.device)
        model.network.to(device)
        with scope(self.config.threads, seed_of(seed, "hub head")):
            network = Heads(model, len(known)).to(device)
        items = [_item(model, sentence, {label: i for i, label in enumerate(known)}) for sentence in train]
        made = HubSurrogate(network, known, self.config)

        def right() -> float:
            predictions = made.predict(valid)
            return sum(names == labels(example) for example, (names, _) in zip(valid, predictions, strict=True)) / max(
                1, len(predictions)
            )

        unique = key_of(self.signature, model.digest, seed, list(train), list(valid))
        lengths = [len(item.ids) for item in items]

        def loss(chosen: list[int]) -> Tensor:
            with half_precision("auto", device):
                return network.loss([items[i] for i in chosen], self.config.language)

        with bar("surrogate") as progress:
            fitted = fit(network, lengths, loss, right, self.config, seed, Checkpoints(folder, unique), progress)
        return replace(made, facts={"valid_accuracy": fitted.score, "epoch": fitted.epoch, "examples": len(train)})


def trainer(settings: AugmentSettings, own: BoostSettings, name: str = "boostaug") -> HubTrainer:
    """As builder.augment.methods.boostaug asks for it; `name` of the method is for errors."""
    plain = HubConfig()
    config = HubConfig(
        threads=settings.threads,
        epochs=own.epochs or plain.epochs,
        rate=own.rate or plain.rate,
        longest=own.longest,
        batch=own.batch,
    )
    return HubTrainer(own.base, config, settings.device)
