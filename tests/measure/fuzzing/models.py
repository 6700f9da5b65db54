"""Folders of models that somebody changed: a sound one, with broken or foreign weights, configurations, code and links.

In: tiny models that are made once, of every kind that builder loads. Out: a changed folder. A loader gives a model or one
clear line, and runs nothing that came with it: whatever code there is would leave a mark.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import pickle
import random
import shutil
import struct
from pathlib import Path
from typing import Any

from measure.fuzzing.case import Family, check_message
from measure.fuzzing.changes import change_bytes, change_json, odd_value, write_json

MARK = "code-ran"
KINDS = ("bert", "gpt2", "bart", "mt5", "tagger", "discriminator", "embedded")
BROKEN_BEFORE = OSError, ValueError, KeyError, IndexError, TypeError, RecursionError, struct.error
"""What a second change raises of what a first one broke."""
_CODE = "import os\nopen(os.environ['BUILDER_FUZZ_MARK'], 'w').close()\nclass Odd: pass\n"


class _Mark:
    """A pickle that leaves the mark when it is read."""

    def __reduce__(self) -> tuple[Any, ...]:
        return exec, ("import os; open(os.environ['BUILDER_FUZZ_MARK'], 'w').close()",)


def prepare(base: Path) -> None:
    """A tiny model of each kind."""
    import tiny_hub
    import tiny_mt5

    for kind in ("bert", "gpt2", "bart"):
        tiny_hub.save(base / kind, kind)
    tiny_mt5.make_base(base / "mt5")
    _save_own(base)
    from builder.language.nlp.embedded import MODELS

    shutil.copytree(MODELS, base / "embedded")


def _save_own(base: Path) -> None:
    """A tagger and a discriminator, untrained."""
    from builder.learning.encode import Vocabulary
    from builder.learning.task import DiscriminatorConfig, TaggerConfig
    from builder.models.discriminator import Discriminator, DiscriminatorNetwork
    from builder.models.foundation import CharacterFoundation
    from builder.models.saved import save
    from builder.models.tagger import Tagger
    from builder.models.tagger_network import TaggerNetwork

    known = CharacterFoundation(Vocabulary(tuple(ord(char) for char in "湯頭很濃服務親切")))
    tagging, judging = TaggerConfig(), DiscriminatorConfig()
    save(Tagger(TaggerNetwork(known, tagging), known, tagging, 0.5, {"f": 1.0}), base / "tagger")
    save(Discriminator(DiscriminatorNetwork(known, judging), known, judging, {"f": 1.0}), base / "discriminator")


def load() -> None:
    """Import what loaders need."""
    from transformers import (  # noqa: F401
        BartForConditionalGeneration,
        BertForMaskedLM,
        GPT2LMHeadModel,
        MT5ForConditionalGeneration,
        T5Tokenizer,
    )

    import builder.augment.nets.hub
    import builder.language.nlp.embedded
    import builder.language.nlp.parser  # noqa: F401


def make(base: Path, folder: Path, rng: random.Random) -> None:
    """A model of some kind, changed."""
    kind = rng.choice(KINDS)
    model = Path(shutil.copytree(base / kind, folder / "model"))
    for _ in range(rng.choice((1, 1, 1, 2, 4))):
        with contextlib.suppress(*BROKEN_BEFORE):
            rng.choice(CHANGES)(model, rng)
    if kind == "embedded" and rng.random() < 0.9:
        with contextlib.suppress(OSError, ValueError, KeyError, TypeError, RecursionError):
            _seal(model)
    (folder / "kind").write_text(kind)


def _seal(model: Path) -> None:
    """The digests of the files as they are now."""
    path = model / "config.json"
    if not path.is_file():
        return
    config = json.loads(path.read_text())
    for name in config["sha256"]:
        if (model / name).is_file():
            digest = hashlib.sha256((model / name).read_bytes()).hexdigest()
            config["sha256"][name] = digest
    path.write_text(json.dumps(config))


def use(base: Path, folder: Path) -> str:
    """Load it as its kind is loaded."""
    from builder.core.errors import BuilderError

    mark, kind, model = folder / MARK, (folder / "kind").read_text(), folder / "model"
    os.environ |= {"BUILDER_FUZZ_MARK": str(mark), "HF_HUB_OFFLINE": "1", "HF_HOME": str(folder / "home")}
    try:
        _load_model(kind, model)
        ended = "loaded"
    except BuilderError as error:
        check_message(error)
        ended = "refused"
    assert not mark.exists(), "code of the folder ran"
    return ended


def _load_model(kind: str, model: Path) -> None:
    if kind in ("bert", "gpt2"):
        from builder.augment.nets.hub import CAUSAL, MASKED
        from builder.augment.nets.hub import load as load_hub

        load_hub(str(model), MASKED if kind == "bert" else CAUSAL)
    elif kind in ("bart", "mt5"):
        from builder.models.paper.pretrained import load_base

        load_base(str(model))
    elif kind == "tagger":
        from builder.models.kinds import load_extractor

        load_extractor(model).predict(["湯頭很濃"])
    elif kind == "discriminator":
        from builder.models.kinds import load_judge

        load_judge(model)
    else:
        from builder.language.nlp.embedded import load as load_embedded

        load_embedded({}, model).annotate(["湯頭很濃，服務親切。"])


# ---- changes


def _files(model: Path, pattern: str) -> list[Path]:
    """Regular files: another change may have put a device in the place of one, which has no end."""
    return [path for path in sorted(model.glob(pattern)) if path.is_file()]


def _change_document(model: Path, rng: random.Random) -> None:
    """A part of config.json or another document."""
    path = rng.choice(_files(model, "config.json") * 4 + _files(model, "*.json"))
    value = json.loads(path.read_text(encoding="utf-8"))
    if isinstance(value, dict) and rng.random() < 0.4:
        value |= rng.choice(HOSTILE)
    else:
        value = change_json(value, rng, rng.choice((1, 1, 3)))
    path.write_bytes(write_json(value, rng))


HOSTILE: tuple[dict[str, Any], ...] = (
    {"auto_map": {"AutoConfig": "odd.Odd", "AutoModel": "odd.Odd", "AutoTokenizer": ["odd.Odd", None]}, "model_type": "odd"},
    {"auto_map": {"AutoConfig": "somebody/odd--odd.Odd", "AutoModelForMaskedLM": "somebody/odd--odd.Odd"}},
    {"model_type": "odd", "architectures": ["Odd"]}, {"model_type": "llama"}, {"model_type": None}, {"model_type": ["bert"]}, {"tokenizer_class": "Odd"}, {"tokenizer_class": "LlamaTokenizer"}, {"tokenizer_class": 5},
    {"quantization_config": {"quant_method": "bitsandbytes", "load_in_4bit": True}}, {"quantization_config": {"quant_method": "gptq", "bits": 4}}, {"quantization_config": 5}, {"quantization_config": {"quant_method": "odd"}},
    {"use_kernels": True, "attn_implementation": "kernels-community/odd"}, {"_attn_implementation": "somebody/odd"}, {"attn_implementation": "flash_attention_2"}, {"dtype": "odd"}, {"torch_dtype": "os.system"}, {"vocab_size": 10**9}, {"vocab_size": -1},
    {"vocab_size": 10**30}, {"hidden_size": 0}, {"hidden_size": 33}, {"num_hidden_layers": 10**6}, {"num_hidden_layers": -1}, {"num_attention_heads": 0}, {"intermediate_size": 10**9}, {"max_position_embeddings": 10**10}, {"d_model": 10**6},
    {"pad_token_id": 10**9}, {"pad_token_id": "x"}, {"is_encoder_decoder": "yes"}, {"tie_word_embeddings": "x"}, {"base_model_tp_plan": {"*": "colwise"}}, {"adapter": "x"}, {"id2label": 5}, {"num_labels": 10**9},
)  # fmt: skip


def _change_weights(model: Path, rng: random.Random) -> None:
    """The header or the numbers of a safetensors file."""
    path = rng.choice(_files(model, "*.safetensors"))
    content = path.read_bytes()
    length = struct.unpack("<Q", content[:8])[0]
    try:
        header, numbers = json.loads(content[8 : 8 + length]), content[8 + length :]
    except (ValueError, RecursionError):  # another change was there before
        return
    match rng.randrange(9):
        case 0:
            content = content[: rng.randrange(len(content))]
        case 1:
            content = struct.pack("<Q", rng.choice((0, 1, length - 1, 1 << 62, (1 << 64) - 1, 100 << 20))) + content[8:]
        case 2:
            content = change_bytes(content[: 8 + length], rng) + numbers
        case 3:
            changed = bytearray(numbers)
            at = rng.randrange(max(1, len(changed) - 4))
            changed[at : at + 4] = rng.choice((struct.pack("<f", float("nan")), b"\xff" * 4, b"\x00" * 4))
            content = content[: 8 + length] + bytes(changed)
        case 4:
            content = rng.choice(
                (b"", b"PK\x03\x04", pickle.dumps(_Mark()), b"\x00" * 8, b"\x02" + b"\x00" * 7 + b"{}")
            )
        case _:
            text = json.dumps(_changed_header(header, rng)).encode("utf-8", "surrogatepass")
            text += b" " * (-len(text) % 8)
            content = struct.pack("<Q", len(text)) + text + numbers
    path.write_bytes(content)


def _changed_header(header: dict[str, Any], rng: random.Random) -> dict[str, Any]:
    """A tensor of another shape, kind or name; one less, one more."""
    name = rng.choice([key for key in header if key != "__metadata__"])
    tensor = header[name]
    match rng.randrange(8):
        case 0:
            del header[name]
        case 1:
            header[rng.choice(("odd", "", "a.b.c", "x" * 1_000))] = header.pop(name)
        case 2 if isinstance(tensor.get("shape"), list):
            tensor["shape"] = tensor["shape"][::-1] if rng.random() < 0.5 else [*tensor["shape"], 1]
        case 3:
            tensor["dtype"] = rng.choice(("F64", "I8", "U8", "BOOL", "BF16", "F8_E4M3", "odd"))
        case 4:
            tensor["data_offsets"] = rng.choice(([0, 0], [0, 1 << 60], [8, 4], [-1, 4], 5))
        case 5:
            header["__metadata__"] = rng.choice(({"format": "tf"}, {"a": 5}, {"digest": "x"}, {}, 5, {"format": "pt", "x" * 9: "y" * 90_000}))  # fmt: skip
        case 6:
            names = [key for key in header if key != "__metadata__" and header[key].get("shape") == tensor.get("shape")]
            other = rng.choice(names)
            header[name], header[other] = header[other], header[name]
        case _:
            tensor[rng.choice(("shape", "dtype", "data_offsets"))] = odd_value(rng, raw=False)
    return header


def _add_files(model: Path, rng: random.Random) -> None:
    """Code, pickles and documents that a loader may look for."""
    match rng.randrange(6):
        case 0:
            (model / "odd.py").write_text(_CODE)
        case 1:
            for path in model.glob("*.safetensors"):
                path.unlink()
            for name in ("pytorch_model.bin", "model.pt"):
                (model / name).write_bytes(pickle.dumps(_Mark()))
        case 2:
            for name in ("pytorch_model.bin", "training_args.bin", "tokenizer.pkl", "vocab.pt"):
                (model / name).write_bytes(pickle.dumps(_Mark()))
        case 3:
            index = {"metadata": {}, "weight_map": {"a": rng.choice(("model.safetensors", "../../etc/passwd", "none.safetensors", "pytorch_model.bin"))}}  # fmt: skip
            (model / "model.safetensors.index.json").write_text(json.dumps(index))
        case 4:
            (model / "adapter_config.json").write_text(json.dumps({"base_model_name_or_path": "somebody/odd", "peft_type": "LORA"}))  # fmt: skip
        case _:
            name = rng.choice(("chat_template.jinja", "generation_config.json", "tokenizer.model", "preprocessor_config.json", "added_tokens.json", "special_tokens_map.json"))  # fmt: skip
            (model / name).write_bytes(rng.choice((b"", b"{", b"[" * 50_000, b"{{ ''.__class__.__mro__ }}", b"\xff\xfe", b'{"a": {"content": 5}}')))  # fmt: skip


def _change_files(model: Path, rng: random.Random) -> None:
    """A file empty, away, a link out of the folder, a folder, other bytes."""
    path = rng.choice(sorted(path for path in model.iterdir() if path.is_file()))
    match rng.randrange(6):
        case 0:
            path.write_bytes(b"")
        case 1:
            path.unlink()
        case 2:
            path.unlink()
            path.symlink_to(rng.choice(("/etc/passwd", "nowhere", path.name, "/dev/zero", "/dev/null")))
        case 3:
            path.unlink()
            path.mkdir()
        case 4:
            path.write_bytes(rng.choice((b"[" * 100_000, b"null", b"5", b"\x00" * 999, b"{}", b"[]")))
        case _:
            path.write_bytes(change_bytes(path.read_bytes(), rng))


CHANGES = (_change_document,) * 4 + (_change_weights,) * 4 + (_add_files,) * 2 + (_change_files,) * 3
FAMILY = Family("models", "folders of models: broken weights, configurations that ask for code, links, pickles", 800, prepare, load, make, use)  # fmt: skip
