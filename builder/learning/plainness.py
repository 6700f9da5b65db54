"""What the configuration of a stranger's model may not ask for: code of its own, kernels, another attention,
quantisation, sizes beyond any real model.

In: config.json as it is read. Out: nothing, or a ModelError that names the setting. Each of these makes transformers
fetch, import or run something besides its own classes, or take memory without end.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from builder.core.errors import ModelError

_ATTENTION = ("attn_implementation", "_attn_implementation")
_PLAIN_ATTENTION = (None, "eager", "sdpa")
_MOST = {"layer": 1_000, "group_num": 1_000, "num_labels": 100_000}
"""The largest models have about a hundred layers. Each layer and label costs memory before a weight is read."""
_FETCHED = ("use_kernels", "kernel_config", "quantization_config")
_OWN_CODE = "auto_map"


def require_plain(config: Any, where: str, known: bool) -> None:
    """Refuse a configuration that asks for more than a class of transformers and its weights.

    `known`: transformers has a class for the model's type, and then ignores the code that a model brings.
    """
    if not isinstance(config, dict):
        raise _refused("config.json is not an object of settings", where, "fetch the model again")
    for key, value in _settings(config):
        if key in _FETCHED and value is not None and value is not False:
            kind = "a quantised network" if key == "quantization_config" else "kernels from elsewhere"
            raise _refused(f"config.json asks for {kind} (`{key}`)", where, "use the model's plain float weights")
        if key in _ATTENTION and value not in _PLAIN_ATTENTION:
            what = f"config.json asks for the attention {_short(value)}, which transformers gets from elsewhere"
            raise _refused(what, where, f"delete `{key}` from config.json")
        most = min((most for part, most in _MOST.items() if part in key), default=value)
        if isinstance(value, int) and value > most:
            what = f"config.json has {key} = {_short(value)}, more than {most}"
            raise _refused(what, where, "fetch the model again")
    named = config.get("architectures")
    if named is not None and not (isinstance(named, list) and all(isinstance(name, str) for name in named)):
        raise _refused(f"config.json has architectures = {_short(named)}, no list", where, "fetch the model again")
    if config.get(_OWN_CODE) and not known:
        what = f"the model of type {_short(config.get('model_type'))} needs Python code of its own (`{_OWN_CODE}`)"
        raise _refused(what, where, "code of a model is never run: use one that transformers knows")


def _settings(config: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Every setting, those of nested configurations too; json has limited their depth."""
    waiting: list[Mapping[str, Any]] = [config]
    while waiting:
        for key, value in waiting.pop().items():
            yield key, value
            if isinstance(value, dict):
                waiting.append(value)


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:60]}…"


def _refused(what: str, where: str, fix: str) -> ModelError:
    return ModelError(f"no readable model config: {what}", where=where, fix=fix)
