"""Tiny encoders of transformers' real classes in folders, as a hub would give them, with fast tokenizers made here.

The tokens are pieces of words, bytes, or sentencepiece's pieces."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

KINDS = ("bert", "roberta", "electra", "deberta-v2", "modernbert")
MARKS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
SIZE = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 48}


def make_encoder(folder: Path, kind: str, texts: Sequence[str], **more: Any) -> Path:
    """A model of random weights of the class `kind`, with a tokenizer that was trained on `texts`."""
    import torch
    import transformers

    tokenizer = make_tokenizer(kind, texts)
    wrapped = transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        pad_token="[PAD]",
        unk_token="[UNK]",
        cls_token="[CLS]",
        sep_token="[SEP]",
        mask_token="[MASK]",
    )
    size: dict[str, Any] = {
        **SIZE,
        "vocab_size": tokenizer.get_vocab_size(),
        "max_position_embeddings": 64,
        "pad_token_id": 0,
    }
    own: dict[str, Any] = {
        "electra": {"embedding_size": 24},
        "deberta-v2": {"relative_attention": True, "pos_att_type": ["p2c", "c2p"], "position_biased_input": False},
        "modernbert": {
            "cls_token_id": 2,
            "sep_token_id": 3,
            "bos_token_id": 2,
            "eos_token_id": 3,
            "global_attn_every_n_layers": 2,
            "local_attention": 16,
        },
    }.get(kind, {})
    config = transformers.AutoConfig.for_model(kind, **{**size, **own, **more})
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(5)
        transformers.AutoModel.from_config(config).save_pretrained(folder)  # type: ignore[no-untyped-call]
    wrapped.save_pretrained(folder)
    return folder


def make_tokenizer(kind: str, texts: Sequence[str]) -> Any:
    """The kind of tokenizer that models of the class come with."""
    from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

    if kind in ("roberta", "modernbert"):
        tokenizer = Tokenizer(models.BPE())
        tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        tokenizer.decoder = decoders.ByteLevel()
        trainer: Any = trainers.BpeTrainer(
            vocab_size=300,
            special_tokens=MARKS,
            initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
            show_progress=False,
        )
    elif kind == "deberta-v2":
        tokenizer = Tokenizer(models.Unigram())
        tokenizer.normalizer = normalizers.NFKC()
        tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
        tokenizer.decoder = decoders.Metaspace()
        size = max(120, len({letter for text in texts for letter in text}) + 20)
        trainer = trainers.UnigramTrainer(vocab_size=size, special_tokens=MARKS, unk_token="[UNK]", show_progress=False)
    else:
        tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
        tokenizer.normalizer = normalizers.BertNormalizer()
        tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
        tokenizer.decoder = decoders.WordPiece()
        trainer = trainers.WordPieceTrainer(vocab_size=400, special_tokens=MARKS, show_progress=False)
    tokenizer.train_from_iterator(texts, trainer)
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        special_tokens=[("[CLS]", tokenizer.token_to_id("[CLS]")), ("[SEP]", tokenizer.token_to_id("[SEP]"))],
    )
    return tokenizer
