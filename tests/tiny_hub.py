"""Tiny models of transformers' real classes in folders, as a hub would give them;
and labelled sentences that we wrote ourselves.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from builder.augment.records import Mark, Sentence
from builder.core.records import Polarity

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
    for n, (spaced, aspect, opinion, polarity) in enumerate(CHINESE):
        text, words, at = spaced.replace(" ", ""), [], 0
        for word in spaced.split():
            words.append((at, at + len(word)))
            at += len(word)
        out.append(_sentence(f"zh{n}", text, tuple(words), aspect, opinion, polarity, "zh", opinions, labels))
    return out


def english(opinions: bool = True, labels: bool = False) -> list[Sentence]:
    import re

    return [
        _sentence(
            f"en{n}", text, tuple(m.span() for m in re.finditer(r"\w+|[^\w\s]", text)), *rest, "en", opinions, labels
        )
        for n, (text, *rest) in enumerate(ENGLISH)
    ]


def _sentence(
    name: str,
    text: str,
    words: Any,
    aspect: str,
    opinion: str,
    polarity: Polarity,
    language: Any,
    opinions: bool,
    labels: bool,
) -> Sentence:
    marks = [Mark(text.index(aspect), text.index(aspect) + len(aspect), "aspect", polarity)]
    if opinions:
        marks.append(Mark(text.index(opinion), text.index(opinion) + len(opinion), "opinion", polarity))
    return Sentence(
        name, text, words, tuple(sorted(marks, key=lambda mark: mark.start)), polarity if labels else None, language
    )


def tokenizer(folder: Path, texts: list[str], kind: str) -> Any:
    """`characters`: WordPiece with BERT's habits; `bytes`: byte-level BPE with BART's and GPT-2's."""
    from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    if kind == "characters":
        special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
        made = Tokenizer(models.WordPiece(unk_token="[UNK]"))
        made.normalizer, made.pre_tokenizer = (
            normalizers.BertNormalizer(lowercase=False),
            pre_tokenizers.BertPreTokenizer(),
        )
        made.decoder = decoders.WordPiece()
        made.train_from_iterator(
            texts, trainers.WordPieceTrainer(vocab_size=300, special_tokens=special, show_progress=False)
        )
        names = {
            "pad_token": "[PAD]",
            "unk_token": "[UNK]",
            "cls_token": "[CLS]",
            "sep_token": "[SEP]",
            "mask_token": "[MASK]",
        }
        names["eos_token"] = "[SEP]"
    else:
        special = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
        made = Tokenizer(models.BPE(unk_token="<unk>"))
        made.pre_tokenizer, made.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
        alphabet = pre_tokenizers.ByteLevel.alphabet()
        made.train_from_iterator(
            texts,
            trainers.BpeTrainer(vocab_size=500, special_tokens=special, initial_alphabet=alphabet, show_progress=False),
        )
        names = {
            "bos_token": "<s>",
            "pad_token": "<pad>",
            "eos_token": "</s>",
            "unk_token": "<unk>",
            "mask_token": "<mask>",
        }
    fast = PreTrainedTokenizerFast(tokenizer_object=made, **names)
    fast.save_pretrained(folder)
    return fast


def texts() -> list[str]:
    return [one.text for one in (*chinese(), *english())] * 3


def save(folder: Path, kind: str) -> str:
    """A `bart`, `bert` or `gpt2` with random weights; the folder's name."""
    import torch
    from transformers import (
        BartConfig,
        BartForConditionalGeneration,
        BertConfig,
        BertForMaskedLM,
        GPT2Config,
        GPT2LMHeadModel,
    )

    made = tokenizer(folder, texts(), "characters" if kind == "bert" else "bytes")
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(1)
        if kind == "bart":
            sizes = {
                "d_model": 32,
                "encoder_layers": 1,
                "decoder_layers": 1,
                "encoder_attention_heads": 2,
                "decoder_attention_heads": 2,
            }
            ids = {"pad_token_id": 1, "bos_token_id": 0, "eos_token_id": 2, "decoder_start_token_id": 2}
            network: Any = BartForConditionalGeneration(
                BartConfig(
                    vocab_size=len(made),
                    encoder_ffn_dim=64,
                    decoder_ffn_dim=64,
                    max_position_embeddings=128,
                    **sizes,
                    **ids,
                )
            )
        elif kind == "bert":
            network = BertForMaskedLM(
                BertConfig(
                    vocab_size=len(made),
                    hidden_size=32,
                    num_hidden_layers=1,
                    num_attention_heads=2,
                    intermediate_size=64,
                    max_position_embeddings=128,
                )
            )
        else:
            network = GPT2LMHeadModel(
                GPT2Config(
                    vocab_size=len(made), n_embd=32, n_layer=1, n_head=2, n_positions=128, bos_token_id=0,
                    eos_token_id=2, pad_token_id=1,
                )
            )  # fmt: skip
    network.save_pretrained(folder)
    return str(folder)
