"""What a base model is, before anything is trained on it. In: a hub name or a folder, and texts. Out: findings, a line
each.

The network is built on the `meta` device, which holds shapes and no numbers: nothing but config and tokenizer is read.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError

from builder.learning import devices, hub
from builder.learning.checkpoint import read_shapes
from builder.models.encoder import MAX_UNKNOWN, unknown_characters
from builder.models.serving import is_encoder, is_writer

_TRAINED = 16
"""Bytes of a parameter in training: its value, its gradient, and two of AdamW, in float32."""
_ROWS, _TOKENS = 16, 256
"""The batch that activations are estimated for: 4,096 tokens, the default of `encoder.batch_chars`."""
_PER_LAYER = 68
"""Bytes that a transformer layer holds for its gradient in float32, a unit of its width and a token (Korthikanti et al.
2022, who count half of that in 16 bits). The CPU's allocator takes twice as many: what is let go it does not give back.
"""
_PROCESS = 1_400 << 20
"""Bytes of a process that trains on the CPU, beside these: libraries, words, what reads the reviews."""


def check_base(source: str, texts: Iterable[str], where: str, device: str = "auto") -> Iterator[tuple[str, str]]:
    """(name, finding) of the class, the size, the weights, the tokenizer, the memory, the precision and the uses.

    Raises ModelError where there is no such model.
    """
    chosen, config = devices.choose(device), hub.load_config(source)
    with torch.device("meta"):
        network = hub.make_network("AutoModel", config, source)
    count = sum(parameter.numel() for parameter in network.parameters())
    yield "class", f"{type(network).__name__} (type {config.model_type})"
    yield "size", f"{describe_count(count)}, {_in_gb(4 * count)} in float32"
    yield "weights", _describe_weights(source)
    tokenizer = hub.load_tokenizer(source)
    yield "tokenizer", _describe_tokenizer(tokenizer, texts, where)
    yield "memory", f"{_describe_memory(config, count, chosen)}; {_describe_device(chosen)}"
    half = devices.takes_bf16("auto", chosen)
    yield "precision", f"{'bf16' if half else 'float32'} on {chosen}"
    nothing = "nothing here: it is neither an encoder nor a seq2seq or causal model"
    yield "serves as", "; ".join(_uses(source, config, network, tokenizer)) or nothing


def describe_count(parameters: float) -> str:
    """A number of parameters, in millions where it has that many."""
    return f"{parameters / 1e6:,.1f} million parameters" if parameters >= 1e6 else f"{parameters:,.0f} parameters"


def _in_gb(size: float) -> str:
    return f"{size / (1 << 30):.1f} GB" if size >= 1 << 30 else f"{size / (1 << 20):.1f} MB"


def _describe_weights(source: str) -> str:
    folder = Path(source)
    if not folder.is_dir():
        return "of a hub; safetensors are needed there"
    if any(folder.glob("*.safetensors")):
        return "safetensors"
    pickles = ", ".join(hub.pickles_in(folder))
    return f"pickles ({pickles}): run `builder model convert {source} --out DIR`" if pickles else "none in the folder"


def _describe_tokenizer(tokenizer: Any, texts: Iterable[str], where: str) -> str:
    backend = getattr(tokenizer, "backend_tokenizer", None)
    if backend is None:
        return f"{type(tokenizer).__name__}, without offsets: the profile `encoder` cannot use it"
    share, missing = unknown_characters(backend.to_str(), texts)
    lacking = f", lacks {missing}" if missing else ""
    verdict = f"; more than {100 * MAX_UNKNOWN:.0f}% are unknown, too many to train on" if share > MAX_UNKNOWN else ""
    return f"covers {100 * (1 - share):.1f}% of the characters of {where}{lacking}{verdict}"


def _describe_memory(config: Any, count: int, device: torch.device) -> str:
    layers = int(getattr(config, "num_hidden_layers", 0) or 0) + int(getattr(config, "num_decoder_layers", 0) or 0)
    activations = _ROWS * _TOKENS * int(getattr(config, "hidden_size", 0) or 0) * layers * _PER_LAYER
    if device.type == "cpu":
        activations = 2 * activations + _PROCESS
    training, writing = _TRAINED * count + activations, 4 * count
    return f"about {_in_gb(training)} in training (float32, 4,096 tokens a step), {_in_gb(writing)} in prediction"


def _describe_device(device: torch.device) -> str:
    if device.type != "cuda":
        return f"the device is {device}"
    return f"{device} has {_in_gb(torch.cuda.get_device_properties(device).total_memory)}"


def _has_head(source: str, config: Any) -> bool:
    """Whether the weights of a folder hold a masked language model's head, or cannot be asked: an encoder that was
    saved alone has none, nor has the discriminator of an ELECTRA.
    """
    weights = sorted(Path(source).glob("*.safetensors")) if hub.is_folder(source) else []
    if not weights:
        return True
    with torch.device("meta"):
        network = hub.make_network("AutoModelForMaskedLM", config, source)
    inner = f"{network.base_model_prefix}."
    head = {name for name, _ in network.named_parameters() if not name.startswith(inner)}
    try:
        return any(head & read_shapes(path).keys() for path in weights)
    except (OSError, SafetensorError):
        return True  # loading says what is wrong with them


def _uses(source: str, config: Any, network: Any, tokenizer: Any) -> Iterator[str]:
    """What a base can serve as, by the checks that the methods make when they load it."""
    from transformers import AutoModelForCausalLM, AutoModelForMaskedLM, AutoModelForSeq2SeqLM

    kind, fast = type(config), getattr(tokenizer, "backend_tokenizer", None)
    ends = tokenizer.eos_token_id is not None
    pads = tokenizer.pad_token_id is not None
    if is_writer(config):
        if kind in AutoModelForSeq2SeqLM._model_mapping and ends and pads:
            yield "base of the profile paper (paper.base)"
            if fast is not None:
                yield "base of `builder augment masked-seq2seq`"
    elif kind in AutoModelForMaskedLM._model_mapping:
        if fast is not None and is_encoder(config) and hasattr(config, "hidden_size"):
            yield "encoder of the profile encoder (encoder.base)"
        methods = ["boostaug", "word-embs"] if tokenizer.mask_token_id is not None and pads else []
        if fast is not None and hasattr(getattr(network, "embeddings", None), "token_type_embeddings"):
            methods += ["cbert", "bert", "style-transfer"]
        if methods and _has_head(source, config):
            yield f"masked model of `builder augment` ({', '.join(methods)})"
    elif kind in AutoModelForCausalLM._model_mapping and fast is not None and ends:
        yield "causal model of `builder augment gpt2`"
