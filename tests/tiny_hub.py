"""Tiny models of transformers' real classes in folders, as a hub would give them;
and labelled sentences that we wrote ourselves.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from builder.core.records import Polarity

if TYPE_CHECKING:
    from builder.augment.candidates import Sentence

CHINESE: tuple[tuple[str, str, str, Polarity], ...] = (
    ("這家 的 湯頭 真的 很 濃郁 下次 還 會 再 來", "湯頭", "很濃郁", "POS"),
    ("店員 的 態度 實在 很 差 以後 不 會 來 了", "態度", "很差", "NEG"),
    ("我 覺得 牛肉麵 非常 好吃 值得 推薦 給 朋友", "牛肉麵", "非常好吃", "POS"),
    ("價格 有點 太 貴 而且 還要 排隊 一 小時", "價格", "太貴", "NEG"),
    ("環境 乾淨 舒服 很 適合 帶 小孩 來 吃飯", "環境", "乾淨舒服", "POS"),
    ("今天 點 的 甜點 太 甜 吃 不 完 有點 可惜", "甜點", "太甜", "NEG"),
    ("飲料 普通 沒有 什麼 特別 的 地方 可以 說", "飲料", "普通", "NEU"),
    ("昨天 晚上 來 吃 咖哩飯 很 香 配菜 也 新鮮", "咖哩飯", "很香", "POS"),
)
ENGLISH: tuple[tuple[str, str, str, Polarity], ...] = (
    ("The soup was really good, and we will come back.", "soup", "really good", "POS"),
    ("I think the service is bad, and the room was cold.", "service", "bad", "NEG"),
    ("We really like the noodles, and the soup was good.", "noodles", "like", "POS"),
    ("The price is bad, and I will not come back.", "price", "bad", "NEG"),
    ("I like the room, and the service was really good.", "room", "like", "POS"),
    ("We think the soup is cold, and the price is bad.", "soup", "cold", "NEG"),
)


def chinese(opinions: bool = True, labels: bool = False) -> list[Sentence]:
    out = []
    for n, (spaced, *rest) in enumerate(CHINESE):
        ends = [sum(map(len, spaced.split()[: i + 1])) for i in range(len(spaced.split()))]
        words = tuple(zip([0, *ends], ends, strict=False))
        out.append(_sentence(f"zh{n}", spaced.replace(" ", ""), words, rest, "zh", opinions, labels))
    return out


def english(opinions: bool = True, labels: bool = False) -> list[Sentence]:
    cut = lambda text: tuple(match.span() for match in re.finditer(r"\w+|[^\w\s]", text))
    return [
        _sentence(f"en{n}", text, cut(text), rest, "en", opinions, labels) for n, (text, *rest) in enumerate(ENGLISH)
    ]


def _sentence(
    name: str, text: str, words: Any, marked: Sequence[Any], language: Any, opinions: bool, labels: bool
) -> Sentence:
    from builder.augment.candidates import Mark, Sentence

    aspect, opinion, polarity = marked
    kinds = [(aspect, "aspect"), (opinion, "opinion")][: 1 + opinions]
    marks = [Mark(text.index(word), text.index(word) + len(word), kind, polarity) for word, kind in kinds]  # type: ignore[arg-type]
    in_order = tuple(sorted(marks, key=lambda mark: mark.start))
    return Sentence(name, text, words, in_order, polarity if labels else None, language)


def tokenizer(folder: Path, texts: list[str], kind: str) -> Any:
    """`characters`: WordPiece with BERT's habits; `bytes`: byte-level BPE with BART's and GPT-2's."""
    from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    trainer: Any
    if kind == "characters":
        pad, unknown, begin, end, mask = special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
        made = Tokenizer(models.WordPiece(unk_token=unknown))
        made.normalizer, made.decoder = normalizers.BertNormalizer(lowercase=False), decoders.WordPiece()
        made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
        trainer = trainers.WordPieceTrainer(vocab_size=300, special_tokens=special, show_progress=False)
        names = {"cls_token": begin, "sep_token": end}
    else:
        begin, pad, end, unknown, mask = special = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
        made = Tokenizer(models.BPE(unk_token=unknown))
        made.pre_tokenizer, made.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
        alphabet = pre_tokenizers.ByteLevel.alphabet()
        trainer = trainers.BpeTrainer(
            vocab_size=500, special_tokens=special, initial_alphabet=alphabet, show_progress=False
        )
        names = {"bos_token": begin}
    made.train_from_iterator(texts, trainer)
    names |= {"pad_token": pad, "unk_token": unknown, "eos_token": end, "mask_token": mask}
    fast = PreTrainedTokenizerFast(tokenizer_object=made, **names)
    fast.save_pretrained(folder)
    return fast


def texts() -> list[str]:
    return [*(row[0].replace(" ", "") for row in CHINESE), *(row[0] for row in ENGLISH)] * 3


ENCODER: dict[str, Any] = {
    "hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 64,
    "max_position_embeddings": 140,
}  # fmt: skip
SIZES: dict[str, dict[str, Any]] = {
    "bart": {
        "d_model": 32, "encoder_layers": 1, "decoder_layers": 1, "encoder_attention_heads": 2,
        "decoder_attention_heads": 2, "encoder_ffn_dim": 64, "decoder_ffn_dim": 64, "max_position_embeddings": 128,
        "pad_token_id": 1, "bos_token_id": 0, "eos_token_id": 2, "decoder_start_token_id": 2,
    },
    "gpt2": {
        "n_embd": 32, "n_layer": 1, "n_head": 2, "n_positions": 128, "bos_token_id": 0, "eos_token_id": 2,
        "pad_token_id": 1,
    },
    "bert": ENCODER, "roberta": ENCODER, "deberta": ENCODER,
}  # fmt: skip


def save_words(folder: Path, words: Iterable[str], kind: str = "bert", head: bool = True, **sizes: Any) -> Path:
    """An encoder with random weights, a masked language model where it has a `head`, whose tokens are whole words."""
    import torch
    import transformers

    folder.mkdir(parents=True, exist_ok=True)
    marks = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    (folder / "vocab.txt").write_text("\n".join(dict.fromkeys([*marks, *words])) + "\n", "utf-8")
    made = transformers.BertTokenizerFast(str(folder / "vocab.txt"))
    config = transformers.AutoConfig.for_model(kind, vocab_size=len(made), **ENCODER | sizes)
    auto = transformers.AutoModelForMaskedLM if head else transformers.AutoModel
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(1)
        network = auto.from_config(config)
    made.save_pretrained(folder)
    network.save_pretrained(folder)
    return folder


def save(folder: Path, kind: str) -> str:
    """A model of a kind of `SIZES` with random weights; the folder's name."""
    import torch
    import transformers

    made = tokenizer(folder, texts(), "characters" if kind in ("bert", "deberta") else "bytes")
    config = transformers.AutoConfig.for_model(kind, vocab_size=len(made), **SIZES[kind])
    auto = {"bart": "AutoModelForSeq2SeqLM", "gpt2": "AutoModelForCausalLM"}.get(kind, "AutoModelForMaskedLM")
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(1)
        network = getattr(transformers, auto).from_config(config)
    network.save_pretrained(folder)
    return str(folder)
