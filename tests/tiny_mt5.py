"""A random mT5 of some ten thousand parameters with a sentencepiece vocabulary of its own, made in the process;
and reviews to feed it.
"""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

from builder.core.records import POLARITY_NAMES, Element, Polarity, Triplet
from builder.models.paper.templates import ALL, WHAT, WHICH, judge_answers, judge_question

REVIEWS = (
    "牛肉麵很好吃，服務人員也很親切。", "餐點不會太鹹，但是湯頭普通。", "環境乾淨，價格便宜；甜點太甜了。",
    "店員態度差！飲料不好喝。", "雞腿飯（大份）很香，配菜也新鮮😋", "蛋糕：濃郁、不膩，咖啡香。",
)  # fmt: skip
TOLD: tuple[tuple[tuple[str, str, Polarity], ...], ...] = (
    (("牛肉麵", "好吃", "POS"), ("服務人員", "親切", "POS")),
    (("餐點", "不會鹹", "POS"), ("湯頭", "普通", "NEU")),
    (("環境", "乾淨", "POS"), ("價格", "便宜", "POS"), ("甜點", "太甜", "NEG")),
    (("態度", "差", "NEG"), ("飲料", "不好喝", "NEG")),
    (("雞腿飯", "香", "POS"), ("配菜", "新鮮", "POS")),
    (("蛋糕", "濃郁", "POS"), ("蛋糕", "不膩", "POS"), ("咖啡", "香", "POS")),
)


def wording() -> list[str]:
    """Everything that questions and answers are written with."""
    lines = [
        ALL,
        WHICH,
        WHAT.format(aspect="麵"),
        "question: 麵  context: 好",
        *(f"麵、湯。麵：好({name})、香({name})。" for name in POLARITY_NAMES.values()),
    ]
    for polarity in POLARITY_NAMES:
        lines += [judge_question("麵", ("麵", "好", polarity)), *judge_answers(("麵", "好", polarity)).values()]
    return lines


def make_tokenizer(folder: Path, texts: tuple[str, ...] = REVIEWS, size: int = 420) -> None:
    """A sentencepiece model with mT5's habits: NFKC, byte pieces, pad 0, end 1, unknown 2."""
    import sentencepiece

    made = io.BytesIO()
    lines = [*texts, *wording(), "0123456789 abcdefghijklmnopqrstuvwxyz ABC ,.!?"] * 3
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(lines), model_writer=made, vocab_size=size, hard_vocab_limit=False, model_type="unigram",
        byte_fallback=True, character_coverage=1.0, pad_id=0, eos_id=1, unk_id=2, bos_id=-1,
        normalization_rule_name="nmt_nfkc", minloglevel=2, num_threads=1,
    )  # fmt: skip
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "spiece.model").write_bytes(made.getvalue())
    (folder / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": "T5Tokenizer", "extra_ids": 0}))


def make_base(
    folder: Path,
    texts: tuple[str, ...] = REVIEWS,
    seed: int = 7,
    dropout: float = 0.1,
    spare: int = 5,
    width: int = 32,
    size: int = 420,
) -> Path:
    """A folder as a hub model is laid out, with `spare` rows more than the tokenizer has pieces, as mT5 has."""
    from transformers import MT5Config

    from builder.learning.hub import load_tokenizer, quiet

    make_tokenizer(folder, texts, size)
    settings = {
        "d_model": width,
        "d_kv": 8,
        "d_ff": 2 * width,
        "num_layers": 1,
        "num_heads": 4,
        "dropout_rate": dropout,
    }
    with quiet():
        MT5Config(vocab_size=9, **settings).save_pretrained(folder)
        config = MT5Config(vocab_size=len(load_tokenizer(str(folder))) + spare, **settings)
        config.architectures = ["MT5ForConditionalGeneration"]
        fresh(config, seed).save_pretrained(folder)
    return folder


def fresh(config: Any, seed: int) -> Any:
    """A model with random weights that starts at a loss of about log(vocabulary).

    transformers 5 ties mT5's output to its embeddings, whose initial variance is 1, without the factor d_model^-0.5
    of T5: logits would have the variance d_model. The embedding is therefore scaled by that factor.
    """
    import torch
    from transformers import AutoModelForSeq2SeqLM

    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(seed)
        network = AutoModelForSeq2SeqLM.from_config(config)
    with torch.no_grad():
        network.get_input_embeddings().weight.mul_(config.d_model**-0.5)
    return network.eval()


def triplet(text: str, said: tuple[str, str, Polarity]) -> Triplet:
    from builder.models.paper.templates import locate

    found = locate(text, said, "rules")
    assert isinstance(found, Triplet), (text, said, found)
    assert isinstance(found.aspect, Element)
    return found
