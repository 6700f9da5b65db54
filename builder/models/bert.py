"""The layers of BERT (Devlin et al. 2019, section 3.1), with the names that transformers gives their weights.

A shipped reader stands on them: importing transformers' own takes longer than reading a page of reviews. Configs that
ask for anything else than the plain model are left to transformers.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

_ACTIVATION, _POSITIONS = "gelu", (None, "absolute")


def is_plain(config: Mapping[str, Any]) -> bool:
    """Whether a config is of an encoder that `Bert` reads as transformers does."""
    width, heads = config.get("hidden_size"), config.get("num_attention_heads")
    return (
        config.get("model_type") == "bert"
        and isinstance(width, int)
        and isinstance(heads, int)
        and heads > 0
        and width % heads == 0
        and config.get("hidden_act") == _ACTIVATION
        and config.get("position_embedding_type") in _POSITIONS
        and not config.get("is_decoder")
        and not config.get("add_cross_attention")
    )


class Bert(nn.Module):
    """Tokens in context: ids and mask [R, T] -> [R, T, hidden_size]."""

    def __init__(self, config: Mapping[str, Any]) -> None:
        super().__init__()
        self.config = SimpleNamespace(**config)
        self.embeddings = _Embeddings(config)
        self.encoder = nn.ModuleDict(
            {"layer": nn.ModuleList(_Layer(config) for _ in range(int(config["num_hidden_layers"])))}
        )

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> SimpleNamespace:
        hidden = self.embeddings(input_ids)
        seen = attention_mask.bool()[:, None, None, :]
        layers = self.encoder["layer"]
        assert isinstance(layers, nn.ModuleList)
        for layer in layers:
            hidden = layer(hidden, seen)
        return SimpleNamespace(last_hidden_state=hidden)

    def get_input_embeddings(self) -> nn.Module:
        """The vectors of tokens, by the name that transformers gives the method."""
        return self.embeddings.word_embeddings


class _Embeddings(nn.Module):
    def __init__(self, config: Mapping[str, Any]) -> None:
        super().__init__()
        width = int(config["hidden_size"])
        self.word_embeddings = nn.Embedding(int(config["vocab_size"]), width, padding_idx=config.get("pad_token_id"))
        self.position_embeddings = nn.Embedding(int(config["max_position_embeddings"]), width)
        self.token_type_embeddings = nn.Embedding(int(config["type_vocab_size"]), width)
        self.LayerNorm = nn.LayerNorm(width, eps=float(config["layer_norm_eps"]))
        self.dropout = nn.Dropout(float(config["hidden_dropout_prob"]))

    def forward(self, ids: Tensor) -> Tensor:
        at = torch.arange(ids.shape[1], device=ids.device)
        summed = self.word_embeddings(ids) + self.position_embeddings(at) + self.token_type_embeddings.weight[0]
        out: Tensor = self.dropout(self.LayerNorm(summed))
        return out


class _Layer(nn.Module):
    def __init__(self, config: Mapping[str, Any]) -> None:
        super().__init__()
        width, inner = int(config["hidden_size"]), int(config["intermediate_size"])
        self.heads, self.attention_dropout = (
            int(config["num_attention_heads"]),
            float(config["attention_probs_dropout_prob"]),
        )
        own = {name: nn.Linear(width, width) for name in ("query", "key", "value")}
        self.attention = nn.ModuleDict({"self": nn.ModuleDict(own), "output": _Output(width, width, config)})
        self.intermediate = nn.ModuleDict({"dense": nn.Linear(width, inner)})
        self.output = _Output(inner, width, config)

    def forward(self, hidden: Tensor, seen: Tensor) -> Tensor:
        rows, length, width = hidden.shape
        own = self.attention["self"]
        assert isinstance(own, nn.ModuleDict)
        query, key, value = (
            own[name](hidden).view(rows, length, self.heads, -1).transpose(1, 2) for name in ("query", "key", "value")
        )
        dropped = self.attention_dropout if self.training else 0.0
        mixed = functional.scaled_dot_product_attention(query, key, value, attn_mask=seen, dropout_p=dropped)
        attended = self.attention["output"](mixed.transpose(1, 2).reshape(rows, length, width), hidden)
        out: Tensor = self.output(functional.gelu(self.intermediate["dense"](attended)), attended)
        return out


class _Output(nn.Module):
    """A linear layer whose result is added to what it was made of, and normed."""

    def __init__(self, inner: int, width: int, config: Mapping[str, Any]) -> None:
        super().__init__()
        self.dense = nn.Linear(inner, width)
        self.LayerNorm = nn.LayerNorm(width, eps=float(config["layer_norm_eps"]))
        self.dropout = nn.Dropout(float(config["hidden_dropout_prob"]))

    def forward(self, hidden: Tensor, before: Tensor) -> Tensor:
        out: Tensor = self.LayerNorm(self.dropout(self.dense(hidden)) + before)
        return out
