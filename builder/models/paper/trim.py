"""A smaller vocabulary for a multilingual model, with nothing lost for our texts.

In: a base and texts. Out: a folder with the same model whose embedding and output have rows only for the pieces that
the texts are cut into and a safety set (every Han character, Bopomofo, digits, Latin letters, punctuation, special
tokens, bytes), and its tokenizer with the same pieces under new ids. Exact: a text cut into kept pieces is cut the
same, and the logits of the kept pieces are those of the whole model. mT5 spends 192 of its 580 million parameters on
250,000 rows, and half of its training time on the logits.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import nn

from builder.core.errors import ModelError
from builder.core.files import write_atomically
from builder.learning.hub import is_folder
from builder.models.paper.fine_tuning import save_base
from builder.models.paper.pretrained import Base
from builder.models.paper.templates import ALL, NAMES, WHAT, WHICH, judge_answers, judge_question
from builder.reviews.script import HAN

MULTIPLE = 64
"""The number of rows is a multiple of this (filled up with the likeliest of the other pieces): matrix units like it."""
_BYTE = re.compile(r"<0x[0-9A-F]{2}>")
_BOPOMOFO = re.compile("[\u3100-\u312f\u02c7\u02ca\u02cb\u02d9]")


@dataclass(frozen=True, slots=True)
class Trimmed:
    """Rows before and after, how many of those kept the texts need, and parameters before and after."""

    before: int
    after: int
    used: int
    parameters_before: int
    parameters: int


def trim(base: Base, texts: Iterable[str], out: Path) -> Trimmed:
    """Write the trimmed model to `out`; the tokenizer must be a sentencepiece one (Unigram), as mT5's is."""
    whole = json.loads(base.tokenizer.backend_tokenizer.to_str())
    if whole["model"].get("type") != "Unigram":
        raise ModelError(
            f"a {whole['model'].get('type')} vocabulary cannot be trimmed",
            where=base.source,
            fix="use an mT5 or T5 model",
        )
    vocabulary = whole["model"]["vocab"]
    rows = base.network.get_input_embeddings().weight.shape[0]
    used = _used(base, texts)
    kept = _filled(vocabulary, used | _safe(base, whole), rows)
    # Pieces first, then tokens added behind them: the order of the old ids, which the tokenizer's file implies.
    new = {old: i for i, old in enumerate(kept)}
    before = sum(p.numel() for p in base.network.parameters())
    _cut_rows(base.network, kept)
    _renumber(base.network, new)
    proto = _sentencepiece(base.source, [piece for piece, _ in vocabulary], kept)
    save_base(base, out)
    write_atomically(out / "tokenizer.json", json.dumps(_tokenizer(whole, kept, new), ensure_ascii=False).encode())
    if proto is not None:
        write_atomically(out / "spiece.model", proto)
    return Trimmed(rows, len(kept), len(used), before, sum(p.numel() for p in base.network.parameters()))


def _used(base: Base, texts: Iterable[str]) -> set[int]:
    """The ids that the texts, and the wording of all questions and answers, are cut into; each mark also on its own."""
    wording = [
        ALL,
        WHICH,
        WHAT.format(aspect="麵"),
        "question: 麵  context: 麵",
        *(f"麵、麵。麵：麵({name})、麵({name})。" for name in NAMES.values()),
    ]
    for name in NAMES:
        wording += [judge_question("麵", ("麵", "好", name)), *judge_answers(("麵", "好", name)).values()]
    marks = list("、。：(),?.！") + [f"({name})" for name in NAMES.values()]
    out: set[int] = set()
    for text in (*wording, *marks, *texts):
        out.update(base.tokenizer(text, add_special_tokens=False).input_ids)
    return out


def _safe(base: Base, whole: dict[str, Any]) -> set[int]:
    """Special and added tokens, bytes, the least likely piece (the price of an unknown character is reckoned from
    it), single safe characters.
    """
    vocabulary = whole["model"]["vocab"]
    out = set(base.special) | {token["id"] for token in whole["added_tokens"]} | {whole["model"]["unk_id"]}
    out.add(min(range(len(vocabulary)), key=lambda i: vocabulary[i][1]))
    return out | {
        i for i, (piece, _) in enumerate(vocabulary) if _BYTE.fullmatch(piece) or _safe_piece(piece.replace("▁", ""))
    }


def _safe_piece(piece: str) -> bool:
    """One character (or only the mark of a space): Han, Bopomofo, a digit, a Latin letter, punctuation, a common
    symbol.
    """
    if len(piece) != 1:
        return not piece
    return bool(
        HAN.match(piece)
        or _BOPOMOFO.match(piece)
        or piece.isascii()
        or "\u3000" <= piece <= "\u303f"
        or unicodedata.category(piece)[0] == "P"
        or unicodedata.category(piece) == "Nd"
        or unicodedata.name(piece, "").startswith("LATIN")
    )


def _filled(vocabulary: list[list[Any]], wanted: set[int], rows: int) -> list[int]:
    """`wanted` in the order of the ids, filled up to a multiple of MULTIPLE with the likeliest of the other pieces."""
    kept = {i for i in wanted if i < rows}
    spare = sorted(
        (i for i in range(min(rows, len(vocabulary))) if i not in kept), key=lambda i: (-vocabulary[i][1], i)
    )
    return sorted(kept | set(spare[: -len(kept) % MULTIPLE]))


def _cut_rows(network: Any, kept: list[int]) -> None:
    """Keep these rows of the embedding and of the output. An output of its own stays its own, though transformers 5
    calls every mT5 tied.
    """
    rows = torch.tensor(kept)
    embedding, output = network.get_input_embeddings(), network.get_output_embeddings()
    own = None if output.weight is embedding.weight else output.weight.detach()[rows].clone()
    with torch.no_grad():
        embedding.weight[: len(kept)] = embedding.weight[rows]
    network.resize_token_embeddings(len(kept), mean_resizing=False)
    if own is not None:
        network.get_output_embeddings().weight = nn.Parameter(own)


def _renumber(network: Any, new: dict[int, int]) -> None:
    """The special ids in the configs."""
    for config in (network.config, network.generation_config):
        for name in ("pad_token_id", "eos_token_id", "bos_token_id", "decoder_start_token_id"):
            old = getattr(config, name, None)
            if isinstance(old, int):
                setattr(config, name, new[old])


def _tokenizer(whole: dict[str, Any], kept: list[int], new: dict[int, int]) -> dict[str, Any]:
    """tokenizer.json with the kept pieces under their new ids."""
    vocabulary = whole["model"]["vocab"]
    model = {
        **whole["model"],
        "vocab": [vocabulary[i] for i in kept if i < len(vocabulary)],
        "unk_id": new[whole["model"]["unk_id"]],
    }
    added = [{**token, "id": new[token["id"]]} for token in whole["added_tokens"] if token["id"] in new]
    return {**whole, "model": model, "added_tokens": added, "post_processor": _mapped(whole.get("post_processor"), new)}


def _mapped(part: Any, new: dict[int, int]) -> Any:
    """A post-processor with every list `ids` renumbered."""
    if isinstance(part, dict):
        return {key: [new[i] for i in value] if key == "ids" else _mapped(value, new) for key, value in part.items()}
    return [_mapped(item, new) for item in part] if isinstance(part, list) else part


def _sentencepiece(source: str, pieces: list[str], kept: list[int]) -> bytes | None:
    """The sentencepiece file of a folder with the kept pieces; None if it has none, or if its ids are not those of
    the tokenizer.
    """
    path = Path(source) / "spiece.model"
    if not is_folder(source) or not path.is_file():
        return None
    from importlib import import_module

    model = import_module("sentencepiece.sentencepiece_model_pb2").ModelProto
    proto = model()
    proto.ParseFromString(path.read_bytes())
    if [piece.piece for piece in proto.pieces] != pieces:
        return None
    chosen = [proto.pieces[i] for i in kept if i < len(pieces)]
    copies = [model.SentencePiece.FromString(unit.SerializeToString()) for unit in chosen]
    del proto.pieces[:]
    proto.pieces.extend(copies)
    for name in ("unk_id", "pad_id", "eos_id", "bos_id"):
        old = getattr(proto.trainer_spec, name)
        setattr(proto.trainer_spec, name, kept.index(old) if old in kept else -1)
    return bytes(proto.SerializeToString())
