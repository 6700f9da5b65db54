"""A pretrained encoder (BERT, RoBERTa, ELECTRA, DeBERTa, ModernBERT …) as the foundation of tagger and judge.

In: a hub name or a folder, through builder.learning.hub. Out: an `EncoderFoundation`. Characters meet the encoder's
tokens through the tokenizer's offsets, whatever the tokenizer; a character of several tokens gets their mean, the
characters of one token know their place in it. A text longer than the encoder reads is read in rows. Training steps
are smaller the deeper a layer lies (Howard and Ruder 2018).
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from contextlib import nullcontext
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from builder.core.errors import ModelError
from builder.core.files import write_atomically
from builder.learning import devices, hub
from builder.learning.checkpoint import load_weights, tensor_digest, weights_of
from builder.learning.encode import (
    PLACES,
    Batch,
    CharacterTokens,
    TextEncoder,
    Vocabulary,
    average_tokens,
    text_encoder,
    token_maker,
    without_surrogates,
)
from builder.learning.hub import require_plain
from builder.learning.task import EncoderTuning, NetworkConfig, TaggerConfig
from builder.models.markers import PairMarkers
from builder.models.network import TextContext, Trunk, base_weights
from builder.models.serving import (
    TOKENIZER,
    is_plain,
    read_tokenizer,
    require_known,
)

_UNSTABLE = ("_name_or_path", "transformers_version", "dtype", "torch_dtype")
_LAYER = re.compile(r"\blayers?\.(\d+)\.")


class EncoderTrunk(Trunk):
    """A pretrained encoder and, beside its tokens, the characters that these may not know: Batch -> [B, T, D]."""

    def __init__(self, encoder: Any, vocabulary: Vocabulary, config: NetworkConfig, tuning: EncoderTuning) -> None:
        width = int(encoder.config.hidden_size)
        super().__init__(vocabulary, config, beside=width)
        self.place = nn.Embedding(PLACES + 1, width)
        nn.init.normal_(self.place.weight, std=0.02)
        self.tuning, self.rate = tuning, config.rate
        self.encoder = encoder

    def forward(self, batch: Batch) -> Tensor:
        return self._characters(batch, self._encode(batch).last_hidden_state)

    def context(self, batch: Batch, layers: int = 0) -> TextContext:
        if not layers:
            return super().context(batch)
        states = self._encode(batch, output_hidden_states=True).hidden_states
        return TextContext.of(batch, self._characters(batch, states[-1]), tuple(states[-1 - layers :]))

    def _characters(self, batch: Batch, hidden: Tensor) -> Tensor:
        """The characters in context, from the vectors of the encoder's tokens [R, K, hidden size]."""
        tokens = batch.tokens
        assert tokens is not None, "the foundation's own encoder made the batch"
        return self.read(batch, average_tokens(hidden.float(), tokens) + self.place(tokens.place))

    def _encode(self, batch: Batch, **asked: bool) -> Any:
        tokens = batch.tokens
        assert tokens is not None, "the foundation's own encoder made the batch"
        device = tokens.ids.device
        half = devices.takes_bf16(self.tuning.precision, device) and (self.training or device.type != "cpu")
        with torch.autocast(device.type, torch.bfloat16) if half else nullcontext():
            return self.encoder(input_ids=tokens.ids, attention_mask=tokens.mask, **asked)

    def rate_scales(self) -> dict[str, float]:
        """Of each parameter of the encoder, by its name, its learning rate as a share of that of the heads."""
        names = [name for name, _ in self.encoder.named_parameters()]
        layers = [int(match[1]) if (match := _LAYER.search(name)) else None for name in names]
        depth = 1 + max((layer for layer in layers if layer is not None), default=0)
        top = self.tuning.rate / self.rate
        scales = {}
        for name, layer in zip(names, layers, strict=True):
            bottom = -1 if "embed" in name else depth - 1
            below = depth - 1 - (bottom if layer is None else layer)
            scales[f"encoder.{name}"] = top * self.tuning.layer_decay**below
        return scales


@dataclass(frozen=True, slots=True, eq=False)
class EncoderFoundation:
    """A pretrained encoder: its config, its tokenizer as JSON, how it is trained, and the device it runs on. `weights`
    are those that training starts from; a saved model needs none.
    """

    config: Mapping[str, Any]
    tokenizer: str
    tuning: EncoderTuning
    vocabulary: Vocabulary = field(default_factory=lambda: Vocabulary(()))
    chosen_device: str = "auto"
    weights: Mapping[str, Tensor] | None = None
    mark: str = ""

    @property
    def settings(self) -> Mapping[str, object]:
        digest = hashlib.sha256(self.tokenizer.encode()).hexdigest()
        known = list(self.vocabulary.codes)
        return {
            "encoder": dict(self.config), "tokenizer": digest, "tuning": asdict(self.tuning), "vocabulary": known
        }  # fmt: skip

    @property
    def device(self) -> torch.device:
        return devices.choose(self.chosen_device)

    def make_tokens(self) -> CharacterTokens:
        """What cuts texts into this encoder's tokens."""
        return token_maker(self.tokenizer, self.config)

    def make_encoder(self, config: NetworkConfig) -> TextEncoder:
        return text_encoder(self.vocabulary, config.bigram_buckets, self.make_tokens())

    def make_trunk(self, config: NetworkConfig) -> EncoderTrunk:
        encoder = _without_pooler(hub.make_network("AutoModel", self.config, "encoder.base"))
        return EncoderTrunk(encoder.float(), self.vocabulary, config, self.tuning)

    def make_markers(self, config: TaggerConfig) -> PairMarkers | None:
        if not config.marker_layers:
            return None
        if not is_plain(self.config):
            raise ModelError("markers look at a plain BERT", where="marker_layers", fix="train the model again")
        return PairMarkers(self.config, config.marker_layers, config.dropout)

    def begin(self, trunk: nn.Module, seed: int) -> None:
        assert isinstance(trunk, EncoderTrunk) and self.weights is not None, "trained from a loaded encoder"
        base_weights(trunk, self.vocabulary, seed)
        load_weights(trunk.encoder, self.weights, Path("encoder.base"))

    def write_files(self, folder: Path) -> None:
        write_atomically(folder / TOKENIZER, self.tokenizer.encode())


def load_encoder(source: str, tuning: EncoderTuning, device: str = "auto") -> EncoderFoundation:
    """The encoder of a hub name or folder; ModelError where there is none, or where it cannot serve."""
    config, example = hub.require_kind(source, hub.ENCODER), "a complete encoder such as hfl/chinese-macbert-base"
    tokenizer = hub.load_tokenizer(source)
    backend = getattr(tokenizer, "backend_tokenizer", None)
    if backend is None:
        what = "the tokenizer gives no offsets, by which characters find their tokens"
        raise ModelError(what, where=source, fix="use a model with a fast tokenizer (tokenizer.json)")
    network = _without_pooler(hub.load_network("AutoModel", source, wanted=example, optional=("pooler",)))
    if not hasattr(network.config, "hidden_size") or not hasattr(network, "get_input_embeddings"):
        raise ModelError(f"a {config.model_type!r} model is no text encoder", where=source, fix=f"use {example}")
    kept = json.loads(network.config.to_json_string(use_diff=False))
    kept = {key: value for key, value in sorted(kept.items()) if key not in _UNSTABLE}
    weights = weights_of(network)
    made = EncoderFoundation(kept, backend.to_str(), tuning, chosen_device=device, weights=weights)
    return replace(made, mark=" " + tensor_digest(weights, json.dumps(made.settings, sort_keys=True)))


def read_encoder(settings: Mapping[str, Any], folder: Path) -> EncoderFoundation:
    """The foundation of a saved model, without weights; ModelError where its tokenizer is missing or another's."""
    tokenizer = read_tokenizer(folder, settings["tokenizer"])
    require_plain(settings["encoder"], str(folder / "config.json"), known=True)
    vocabulary = Vocabulary(tuple(int(code) for code in settings["vocabulary"]))
    return EncoderFoundation(settings["encoder"], tokenizer, EncoderTuning(**settings["tuning"]), vocabulary)


def check_characters(foundation: EncoderFoundation, texts: Iterable[str], source: str) -> float:
    """The share of the characters of `texts` that the tokenizer does not know; ModelError where it is high."""
    tokenizer = hub.parse_tokenizer(foundation.tokenizer, source)
    tokenizer.no_padding()
    added = json.loads(foundation.tokenizer).get("added_tokens", [])
    unknown = {int(token["id"]) for token in added if "unk" in str(token["content"]).lower()}

    def is_unknown(char: str) -> bool:
        ids = tokenizer.encode(without_surrogates(char), add_special_tokens=False).ids
        return not ids or not unknown.isdisjoint(ids)

    return require_known(is_unknown, texts, source)


def _without_pooler(network: Any) -> Any:
    """A pooler is for whole texts: it would be carried along untrained."""
    if getattr(network, "pooler", None) is not None:
        network.pooler = None
    return network
