"""Whether a pretrained model is of a class that a profile can use, by its configuration alone.

In: a hub name or a folder, and a profile. Out: the configuration, or a ModelError that names what would do. No weights
are read, so that a build has the answer before it begins.
"""

from __future__ import annotations

from typing import Any

from builder.core.errors import ModelError
from builder.learning import hub

WANTED_ENCODER = "a complete encoder such as hfl/chinese-macbert-base"
WANTED_WRITER = "one such as google/mt5-base, google/mt5-small"


def require_class(source: str, profile: str, setting: str = "") -> Any:
    """The configuration of a base of the profile `encoder` or `paper`; ModelError where it has no such base.

    Args:
        source: a folder, or the name of a model on the hub.
        setting: the setting that names it, for the error.
    """
    hub.require_base(source, setting)
    config, where = hub.load_config(source), f'{setting} = "{source}"' if setting else source
    if profile == "encoder" and not is_encoder(config):
        raise ModelError(f"a {config.model_type!r} model is no encoder", where=where, fix=f"use {WANTED_ENCODER}")
    if profile == "paper" and not is_writer(config):
        what = f"a {config.model_type!r} model is no encoder-decoder"
        raise ModelError(what, where=where, fix=f"use {WANTED_WRITER}")
    return config


def is_encoder(config: Any) -> bool:
    """Whether it reads a text in both directions, as what was pretrained as a masked language model does."""
    from transformers import AutoModelForMaskedLM

    writes = is_writer(config) or getattr(config, "is_decoder", False)
    return type(config) in AutoModelForMaskedLM._model_mapping and not writes


def is_writer(config: Any) -> bool:
    """Whether it is an encoder-decoder."""
    return bool(getattr(config, "is_encoder_decoder", False))
