"""Models of transformers from a hub name or a folder: the one place that loads them, under one policy.

In: a name such as `google/mt5-base`, or a folder with config.json, weights and tokenizer. Out: config, tokenizer or
network. Weights are read from safetensors only, and no code that comes with a model is run: a pickle and a custom
module could do anything on this machine. What cannot serve is a ModelError that says why: no model, a pickle, weights
that are missing or cut short.

What the configuration of a stranger's model may not ask for: code of its own, kernels, another attention,
quantisation, sizes beyond any real model.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from difflib import get_close_matches
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from builder.core.errors import ModelError, install_command, printable

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


SAFETENSORS_ONLY = (
    "its weights must be safetensors, for other files can run code when they are read: "
    "`transformers.AutoModel.from_pretrained(OLD).save_pretrained(NEW)` writes them, where you trust the model"
)
_HUB_SECONDS = 10.0
"""How long the hub may take to say whether it has a model."""
MASKED, CAUSAL, SEQ2SEQ, ENCODER = "masked", "causal", "seq2seq", "encoder"
_KINDS = {
    MASKED: ("AutoModelForMaskedLM", "masked language model", "one such as bert-base-chinese", ("mask", "pad")),
    CAUSAL: ("AutoModelForCausalLM", "causal language model", "one such as gpt2", ()),
    SEQ2SEQ: (
        "AutoModelForSeq2SeqLM", "encoder-decoder", "one such as google/mt5-base, google/mt5-small", ("eos", "pad")
    ),
    ENCODER: ("AutoModel", "encoder", "a complete encoder such as hfl/chinese-macbert-base", ("cls", "mask")),
}  # fmt: skip
"""The class of transformers that loads a kind of model, its name, an example, and the marks its tokenizer needs."""
_PICKLES = ("*.bin", "*.pt", "*.pth", "*.ckpt", "*.pkl")


def require_transformers(extra: str = "paper") -> None:
    """ModelError, without loading anything, where transformers is missing.

    Args:
        extra: the extra that brings it to the caller.
    """
    if find_spec("transformers") is None:
        raise _missing("transformers", extra)


def _missing(name: str | None, extra: str) -> ModelError:
    return ModelError(f"this model needs {name}", fix=install_command(extra))


@contextmanager
def quiet() -> Iterator[None]:
    """No log lines and no progress bars of transformers; both are as before at the end."""
    try:
        from transformers.utils import logging
    except ModuleNotFoundError as error:
        raise _missing(error.name, "paper") from error
    before, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()  # type: ignore[no-untyped-call]
    logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    try:
        yield
    finally:
        logging.set_verbosity(before)
        if bars:
            logging.enable_progress_bar()  # type: ignore[no-untyped-call]


def is_folder(source: str) -> bool:
    """Whether a model is meant by its folder: a hub name has no leading dot or slash and at most one slash."""
    return Path(source).exists() or source.startswith(("/", ".", "~")) or source.count("/") > 1


def require_base(source: str, setting: str = "") -> None:
    """ModelError, within seconds and without torch, where there is no model: a folder without its files, or a name
    that neither the cache nor the hub has. The hub's own client would try for half a minute to reach a hub.

    Args:
        source: a folder, or the name of a model on the hub.
        setting: the setting that names it, for the error.
    """
    where = f'{setting} = "{source}"' if setting else source
    if is_folder(source):
        folder = Path(source)
        if not (folder / "config.json").is_file():
            what = "no model here: there is no " + ("config.json" if folder.is_dir() else "such folder")
            raise ModelError(what, where=where, fix=_name_another(source))
        if setting and not any(folder.glob("*.safetensors")) and not pickles_in(folder):
            raise ModelError("no weights here: there is no *.safetensors", where=where, fix="fetch the model again")
        if setting:
            _refuse_pickle(source)
        return
    from huggingface_hub import constants, errors, get_hf_file_metadata, hf_hub_url, try_to_load_from_cache

    try:
        if isinstance(try_to_load_from_cache(source, "config.json"), str):
            return
        if constants.HF_HUB_OFFLINE:
            what = "no folder here, and not in the hub's cache; HF_HUB_OFFLINE keeps us from asking the hub"
        else:
            get_hf_file_metadata(hf_hub_url(source, "config.json"), timeout=_HUB_SECONDS)
            return
    except errors.GatedRepoError:
        what = "its owner on the hub gives it only to those who asked; run `hf auth login`"
    except (errors.RepositoryNotFoundError, errors.EntryNotFoundError, errors.HFValidationError):
        what = "no folder here, and no model that the hub gives us"
    except Exception as error:  # of whatever library the client reaches the hub by
        what = (
            f"no folder here, not in the hub's cache, and {constants.ENDPOINT} cannot be reached ({_hub_short(error)})"
        )
    raise ModelError(what, where=where, fix=_name_another(source))


def _name_another(source: str) -> str:
    """What to do about a model that is not there; a folder of almost the same name is proposed."""
    folders = [str(path.parent) for pattern in ("*/", "*/*/") for path in Path().glob(f"{pattern}config.json")]
    near = get_close_matches(str(Path(source)), sorted(folders), 1, 0.75)
    return f"did you mean {near[0]!r}?" if near else "name a model's folder or a hub name"


def load_config(source: str) -> Any:
    """The configuration of a model of Transformers. No code of its repository is run.

    Args:
        source: a folder, or the name of a model on the hub.

    Raises:
        ModelError: no model is there, or its configuration asks for more than plain weights.
    """
    with quiet():
        from transformers import AutoConfig

        _require_plain_config(source)
        try:
            return AutoConfig.from_pretrained(source, trust_remote_code=False)
        except Exception as error:  # whatever its classes raise at a setting of the wrong type
            raise _unreadable(source, error) from error


def require_kind(source: str, kind: str, setting: str = "") -> Any:
    """The configuration of a model of a kind; ModelError where its class, or the task that it was saved with, is of
    another. No weights are read.

    Args:
        source: a folder, or the name of a model on the hub.
        setting: the setting that names it, for the error.
    """
    require_base(source, setting)
    config, where = load_config(source), f'{setting} = "{source}"' if setting else source
    import transformers

    auto, called, example, _ = _KINDS[kind]
    model_classes = getattr(transformers, _KINDS[MASKED][0] if kind == ENCODER else auto)._model_mapping
    both, decodes = (bool(getattr(config, name, False)) for name in ("is_encoder_decoder", "is_decoder"))
    if both != (kind == SEQ2SEQ) or (decodes and kind == ENCODER) or type(config) not in model_classes:
        raise ModelError(f"a {config.model_type!r} model is no {called}", where=where, fix=f"use {example}")
    saved_as = [name for name in getattr(config, "architectures", None) or () if "LM" in name]
    wrong = [name for name in saved_as if ("MaskedLM" in name) != (kind == MASKED)]
    if wrong and kind in (MASKED, CAUSAL):
        raise ModelError(f"a {wrong[0]} is no {called}", where=where, fix=f"use {example}")
    return config


def load_tokenizer(source: str, auto: str = "AutoTokenizer") -> Any:
    """The tokenizer of a model, by the class `auto` of transformers."""
    with quiet():
        import transformers

        if not is_folder(source):
            require_base(source)
        if (Path(source) / "config.json").is_file():
            _require_plain_config(source)
        try:
            return getattr(transformers, auto).from_pretrained(source, trust_remote_code=False)
        except Exception as error:  # transformers raises anything here, from OSError to AttributeError
            fix = "add the model's tokenizer files"
            raise ModelError(f"no tokenizer can be loaded: {_first_line(error)}", where=source, fix=fix) from error


def parse_tokenizer(text: str, source: str) -> Any:
    """A tokenizer of the library tokenizers from its JSON; ModelError where it is none."""
    from tokenizers import Tokenizer

    try:
        return Tokenizer.from_str(text)
    except Exception as error:  # the library raises nothing more special
        fix = "add the model's tokenizer files"
        raise ModelError(f"no tokenizer can be loaded: {_first_line(error)}", where=source, fix=fix) from error


def require_tokens(tokenizer: Any, rows: int, source: str) -> None:
    """ModelError where a tokenizer of the library tokenizers has tokens for which a network has no vector."""
    most = max(tokenizer.get_vocab(with_added_tokens=True).values(), default=-1)
    if most >= rows:
        what = f"the tokenizer has a token of number {most}, and the network vectors for {rows}"
        raise ModelError(what, where=source, fix="add the model's own tokenizer files")


def load_network(auto: str, source: str, *, wanted: str, optional: tuple[str, ...] = ()) -> Any:
    """The network (float32, in evaluation mode) by the class `auto` of transformers, such as `AutoModelForMaskedLM`.

    transformers fills missing weights with random numbers and says so in a log line: here that is a ModelError that
    asks for `wanted`, but for weights with one of the names `optional` in theirs.
    """
    with quiet():
        import torch  # here, for `is_folder` is asked before anything heavy is loaded
        import transformers

        _refuse_pickle(source)
        _refuse_foreign_parts(source)
        _require_plain_config(source)
        _require_weights_for_claims(auto, source)
        try:
            with torch.random.fork_rng(devices=[]):
                torch.default_generator.manual_seed(0)
                network, info = getattr(transformers, auto).from_pretrained(
                    source, dtype=torch.float32, output_loading_info=True, use_safetensors=True, trust_remote_code=False
                )
        except Exception as error:  # transformers, torch and safetensors raise anything at a damaged folder
            what = f"the weights cannot be read, cut short perhaps: {_first_line(error)}"
            if "ignore_mismatched_sizes" in str(error):
                what = "the weights cannot be read: their shapes are not those of config.json"
            raise ModelError(what, where=source, fix=f"fetch the model again; {SAFETENSORS_ONLY}") from error
    missing = (*sorted(map(str, info["missing_keys"])), *sorted(str(key) for key in info["mismatched_keys"]))
    lacking = [name for name in missing if not any(part in name for part in optional)]
    if lacking:
        what = f"{len(lacking)} weights are missing or of another shape, {lacking[0]} for one"
        raise ModelError(what, where=source, fix=f"fetch the model again, or use {wanted}")
    return network.eval()


def load_model(source: str, kind: str, optional: tuple[str, ...] = (), extra: str = "paper") -> tuple[Any, Any]:
    """Network and tokenizer of a kind, whole but for weights named in `optional`; ModelError for another kind, and
    where transformers is missing: `extra` brings it.
    """
    require_transformers(extra)
    require_kind(source, kind)
    auto, called, example, marks = _KINDS[kind]
    tokenizer = load_tokenizer(source)
    if kind == CAUSAL and tokenizer.pad_token_id is None and tokenizer.eos_token_id is not None:
        tokenizer.pad_token = tokenizer.eos_token  # as GPT-2's: padding is never looked at
    if lacking := [mark for mark in marks if getattr(tokenizer, f"{mark}_token_id") is None]:
        what = f"the tokenizer has no {lacking[0]} token, which each {called} needs"
        raise ModelError(what, where=source, fix=f"use {example}")
    return load_network(auto, source, wanted=example, optional=optional), tokenizer


def make_network(auto: str, config: Any, source: str, extra: str = "paper") -> Any:
    """A new network of the class `auto` as a configuration, or its settings, describe it; ModelError where they
    describe none. On the device `meta` it has shapes and no numbers. `extra` is as in `load_model`.
    """
    require_transformers(extra)
    with quiet():
        import transformers

        try:
            if isinstance(config, Mapping):
                config = transformers.AutoConfig.for_model(**config)
            return getattr(transformers, auto).from_config(config)
        except Exception as error:  # whatever the classes of transformers raise at a setting that fits no network
            raise _unreadable(source, error) from error


def pickles_in(folder: Path) -> list[str]:
    """The names of the files in a folder that are pickles by their endings."""
    return sorted(path.name for pattern in _PICKLES for path in folder.glob(pattern))


def _refuse_pickle(source: str) -> None:
    """A folder with weights in a pickle alone; from a hub transformers refuses the same."""
    folder = Path(source)
    if not folder.is_dir() or any(folder.glob("*.safetensors")):
        return
    if pickles := pickles_in(folder):
        raise ModelError(f"the weights stand in {pickles[0]}, a pickle", where=source, fix=SAFETENSORS_ONLY)


def _refuse_foreign_parts(source: str) -> None:
    """A folder that is an adapter of another model, or whose index names weights outside of it."""
    folder = Path(source)
    if (folder / "adapter_config.json").is_file():
        fix = "merge it into its base model and save that, or use another"
        raise ModelError("an adapter (adapter_config.json), which loads another model", where=source, fix=fix)
    for index in sorted(folder.glob("*.index.json")):
        try:
            names = {str(name) for name in json.loads(index.read_text(encoding="utf-8"))["weight_map"].values()}
        except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise ModelError(
                f"{index.name} is no index of weights", where=source, fix="fetch the model again"
            ) from error
        outside = sorted(name for name in names if Path(name).name != name)
        if outside:
            what = f"{index.name} names weights outside of the folder: {outside[0][:60]!r}"
            raise ModelError(what, where=source, fix="fetch the model again")


def _require_plain_config(source: str) -> None:
    """Refuse a config.json, of a folder or a hub, that asks for more than a class of transformers."""
    require_base(source)
    from transformers import CONFIG_MAPPING
    from transformers.utils.hub import cached_file

    try:
        path = cached_file(source, "config.json")
        config = json.loads(Path(str(path)).read_text(encoding="utf-8"))
    except Exception as error:  # the hub's client raises its own
        raise _unreadable(source, error) from error
    known = isinstance(config, dict) and str(config.get("model_type")) in CONFIG_MAPPING
    require_plain(config, source, known)


def _require_weights_for_claims(auto: str, source: str) -> None:
    """Refuse a config.json that claims a network far larger than the weights beside it: what is missing would be made
    of random numbers before anybody sees that it is missing.
    """
    import torch
    from safetensors import SafetensorError

    from builder.learning.checkpoint import claims_more

    weights = sorted(Path(source).glob("*.safetensors")) if is_folder(source) else []
    try:
        with torch.device("meta"):
            if not weights or not claims_more(make_network(auto, load_config(source), source), weights):
                return
    except (OSError, SafetensorError, ModelError):
        return  # from_pretrained says what is wrong with them
    what = "the weights cannot be read: config.json claims a far larger network than they fill"
    raise ModelError(what, where=source, fix="fetch the model again")


def _unreadable(source: str, error: BaseException) -> ModelError:
    what = "no readable model config" if is_folder(source) else "neither a folder nor a model that a hub gives us"
    return ModelError(f"{what}: {_first_line(error)}", where=source, fix="name a model's folder or a hub name")


def _hub_short(error: BaseException) -> str:
    return printable((str(error).strip().splitlines() or [type(error).__name__])[0][:80])


def _first_line(error: BaseException) -> str:
    """The first line of a foreign error, and the second where the first only leads up to it."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()] or [type(error).__name__]
    return printable(" ".join(lines[:2] if lines[0].endswith(":") else lines[:1])[:200])
