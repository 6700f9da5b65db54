"""A trained model on disk: `weights.safetensors` and `config.json`. Never pickle.

config.json says what kind of model it is, its config, vocabulary, threshold, facts and digest. The digest covers
weights and config, so that a damaged file, or files of two models in one folder, are found on loading. A model on a
pretrained encoder has its tokenizer beside it, and needs nothing else of the hub.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, TypeVar

from torch import nn

from builder.core.errors import BuilderError, ModelError
from builder.core.files import refusals, write_atomically
from builder.learning.checkpoint import Undrawn, claimed_shapes, read_tensors, unpack_weights, write_tensors
from builder.learning.encode import Vocabulary
from builder.learning.loop import scope
from builder.learning.task import Config, DiscriminatorConfig, TaggerConfig
from builder.models.discriminator import Discriminator, DiscriminatorNetwork
from builder.models.network import CharacterFoundation, Foundation
from builder.models.serving import FORMAT, read_model_settings
from builder.models.tagger import Tagger
from builder.models.tagger_network import TaggerNetwork

Network = TypeVar("Network", bound=nn.Module)
Model = TypeVar("Model", bound=Tagger | Discriminator)


def save(model: Model, folder: Path) -> Model:
    """Write `model` to `folder` (made if need be); the config last, so that a folder with a config is whole."""
    with refusals(folder / "config.json"):
        (folder / "config.json").unlink(missing_ok=True)
    write_tensors(folder / "weights.safetensors", model.network.state_dict(), {})
    model.foundation.write_files(folder)
    settings: dict[str, object] = {
        "format": FORMAT,
        "kind": "tagger" if isinstance(model, Tagger) else "discriminator",
        "config": asdict(model.config),
        **model.foundation.settings,
        "facts": model.facts,
        "digest": model.digest,
    }
    if isinstance(model, Tagger):
        settings["threshold"] = model.threshold
    write_atomically(folder / "config.json", (json.dumps(settings, sort_keys=True) + "\n").encode())
    return model


def load(folder: Path, device: str = "auto") -> Tagger | Discriminator:
    """The model that `save` wrote; ModelError says what is missing, damaged or foreign, and where. One that stands on
    a pretrained encoder will run on `device`.
    """
    path = folder / "config.json"
    settings = read_model_settings(path)
    weights = folder / "weights.safetensors"
    try:
        foundation = _foundation(settings, folder, device)
        facts = {str(key): float(value) for key, value in settings["facts"].items()}
        with scope(1, 0):  # a new network draws random weights: not from the caller's random state
            model = _build(settings, foundation, facts, weights)
        digest = settings["digest"]
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, RuntimeError, BuilderError) as error:
        if isinstance(error, ModelError):
            raise
        raise ModelError(
            f"not a model config of this version: {error!r}", where=str(path), fix="train the model again"
        ) from error
    if model.digest != digest:
        raise ModelError(
            f"digest is {model.digest}, config.json says {digest}", where=str(folder), fix="train the model again"
        )
    return model


def _foundation(settings: dict[str, Any], folder: Path, device: str) -> Foundation:
    if "encoder" not in settings:
        return CharacterFoundation(Vocabulary(tuple(int(code) for code in settings["vocabulary"])))
    from builder.models.encoder import read_encoder

    return replace(read_encoder(settings, folder), chosen_device=device)


def _build(
    settings: dict[str, Any], foundation: Foundation, facts: dict[str, float], weights: Path
) -> Tagger | Discriminator:
    if settings["kind"] == "tagger":
        config = TaggerConfig(**settings["config"])
        network = _filled(TaggerNetwork, foundation, config, weights)
        return Tagger(network, foundation, config, float(settings["threshold"]), facts)
    if settings["kind"] == "discriminator":
        judging = DiscriminatorConfig(**settings["config"])
        return Discriminator(_filled(DiscriminatorNetwork, foundation, judging, weights), foundation, judging, facts)
    raise ModelError(
        f"unknown kind {settings['kind']!r}",
        where=str(weights.with_name("config.json")),
        fix="known: tagger, discriminator",
    )


def _filled(
    kind: Callable[[Foundation, Config], Network], foundation: Foundation, config: Config, path: Path
) -> Network:
    """A network with the weights of a file. It is made once it is known to be as large as these: a config may claim
    what no memory holds.
    """
    packed = read_tensors(path)[0]
    other = ModelError("the weights belong to another model", where=str(path), fix="train the model again")
    if max(config.layers, getattr(config, "marker_layers", 0)) > len(packed):
        raise other
    try:
        tensors = unpack_weights(packed)
        held = {name: tuple(value.shape) for name, value in tensors.items()}
        if claimed_shapes(lambda: kind(foundation, config)) != held:
            raise other
        with Undrawn():  # every weight comes from the file
            network = kind(foundation, config)
        network.load_state_dict(tensors)
    except (RuntimeError, OverflowError, TypeError, ValueError) as error:  # of sizes that are none, too
        raise other from error
    network.eval()
    return network
