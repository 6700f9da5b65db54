"""What holds for every method that trains a model: candidates of a sentence alone, models found again, bases."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import tiny_hub

from builder.augment.candidates import Method, Sentence, applied
from builder.augment.catalogue import make_method, make_settings
from builder.augment.constraints import broken, english_cues, make_trial
from builder.augment.method_settings import (
    CBertSettings,
    ContextSettings,
    Gpt2Settings,
    MaskedSeq2SeqSettings,
    StyleTransferSettings,
)
from builder.augment.methods import gpt2, masked_seq2seq, replacing, style_transfer
from builder.augment.methods.back_translation import BackTranslation
from builder.augment.nets import beam
from builder.augment.training import Workplace
from builder.core.errors import ConfigError, ModelError
from builder.learning.hub import CAUSAL, ENCODER, MASKED, SEQ2SEQ, load_model

SIZE: dict[str, Any] = {"width": 16, "epochs": 1, "least": 16, "min_count": 1}
BLANKS: dict[str, Any] = {"pretrain_epochs": 1, **SIZE}
CBERT = CBertSettings(layers=1, k=2, **BLANKS)
Load = Callable[[Sequence[Sentence], Workplace], Method]
METHODS: dict[str, Load] = {
    "cbert": lambda given, place: replacing.load_cbert(CBERT, given, place),
    "bert": lambda given, place: replacing.load_cbert(CBERT, given, place, "bert"),
    "context+label": lambda given, place: replacing.load_context(ContextSettings(**BLANKS), given, place),
    "context": lambda given, place: replacing.load_context(ContextSettings(**BLANKS), given, place, "context"),
    "gpt2": lambda given, place: gpt2.load(Gpt2Settings(layers=1, **SIZE), given, place),
    "masked-seq2seq": lambda given, place: masked_seq2seq.load(MaskedSeq2SeqSettings(**BLANKS), given, place),
    "style-transfer": lambda given, place: style_transfer.load(
        StyleTransferSettings(layers=1, share=0.1, **BLANKS), given, place
    ),
}


@pytest.mark.parametrize("name", METHODS)
def test_a_sentence_alone_decides_and_models_stay(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sentences = tiny_hub.chinese(opinions=False, labels=True)
    made = METHODS[name](sentences, Workplace(tmp_path / "model"))
    whole = list(made.propose(sentences, 3, 1))
    assert made.name == name
    assert sum(map(len, whole)) >= len(sentences)
    assert (list(made.propose(sentences, 3, 2)) == whole) is (name == "gpt2"), "beams are not drawn"
    kept = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("weights.safetensors")}
    again = METHODS[name](sentences, Workplace(tmp_path / "model"))
    assert again.signature == made.signature and kept
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("weights.safetensors")} == kept
    monkeypatch.setattr(beam, "BATCH", 2)
    order = random.Random(3).sample(range(len(sentences)), len(sentences))
    assert list(again.propose([sentences[i] for i in order], 3, 1)) == [whole[i] for i in order]
    assert METHODS[name](sentences[1:], Workplace(tmp_path / "model")).signature != made.signature, "trained anew"


@pytest.mark.parametrize("name", ["context", "masked-seq2seq"])
def test_english_words_are_written_with_their_spaces(name: str, tmp_path: Path) -> None:
    sentences = tiny_hub.english(opinions=False)
    proposed = METHODS[name](sentences, Workplace(tmp_path)).propose(sentences, 4, 1)
    texts = [
        applied(one.text, each.edits)
        for one, candidates in zip(sentences, proposed, strict=True)
        for each in candidates
    ]
    assert len(texts) >= 12
    assert not [text for text in texts if "  " in text or " ," in text or " ." in text or text != text.strip()]


@pytest.mark.parametrize(
    ("kind", "base", "called"),
    [
        (MASKED, "bart", "'bart' model is no masked language model"),
        (CAUSAL, "bert", "BertForMaskedLM is no causal language model"),
        (SEQ2SEQ, "bert", "'bert' model is no encoder-decoder"),
        (ENCODER, "gpt2", "'gpt2' model is no encoder"),
        (ENCODER, "none", "no model here: there is no such folder"),
    ],
)
def test_a_base_of_the_wrong_kind_says_what_it_is(kind: str, base: str, called: str, tmp_path: Path) -> None:
    source = str(tmp_path / "none") if base == "none" else tiny_hub.save(tmp_path / "base", base)
    with pytest.raises(ModelError, match=called):
        load_model(source, kind)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("cbert.k", 0), ("cbert.share", 1.0), ("cbert.temperature", -1.0), ("context.probability", 0.0),
        ("context.width", 0), ("gpt2.beams", 0), ("gpt2.width", 30), ("gpt2.width", 0),
        ("cbert.width", 30), ("bert.width", 30), ("masked_seq2seq.width", 30), ("style_transfer.width", 30),
        ("masked_seq2seq.r", 0.0), ("masked_seq2seq.r", 1.5),
        ("masked_seq2seq.masking", "some"), ("masked_seq2seq.beams", 0), ("masked_seq2seq.most", -1),
        ("boostaug.confidence", 1.5), ("monoaug.perplexity", 0.0), ("boostaug.oversample", 0), ("eda.rate", 0.0),
        ("eda.rate", 1.5), ("spelling.rate", 1.5), ("split.rate", 0.0),
        ("style_transfer.words", 0), ("style_transfer.share", 0.0), ("style_transfer.temperature", -1.0),
    ],
)  # fmt: skip
def test_settings_that_make_no_sense_are_refused(key: str, value: object) -> None:
    with pytest.raises(ConfigError, match=rf"^--set: {key} = .* is not "):
        make_settings({key: value})


def test_the_width_of_an_embedded_model_is_a_multiple_of_its_heads_and_that_of_a_base_its_own() -> None:
    with pytest.raises(ConfigError, match=r"^--set: gpt2\.width = 30 is not a multiple of 4, for as many heads$"):
        make_settings({"gpt2.width": 30})
    assert make_settings({"gpt2.width": 30, "gpt2.base": "gpt2"}).gpt2.width == 30
    assert make_settings({"gpt2.width": 32, "context.width": 30}).gpt2.width == 32


# ---- back-translation: two models of the user, one for each direction


@dataclass(frozen=True)
class Words:
    """Translates word by word; each further way ends with one more mark."""

    words: dict[str, str]
    digest: str = "words"

    def translate(self, texts: Sequence[str], beams: int, ways: int) -> list[list[str]]:
        return [
            [" ".join(self.words.get(word, word) for word in text.split()) + "!" * n for n in range(ways)]
            for text in texts
        ]


def test_labelled_words_that_come_back_are_left_alone_and_others_are_seen() -> None:
    (first, *_) = tiny_hub.english(opinions=False)
    there = Words({"soup": "Suppe", "really": "wirklich", "was": "war"})
    same = BackTranslation(there, Words({"Suppe": "soup", "war": "was", "wirklich": "truly"}), 4)
    made = next(iter(same.propose([first], 2, 1)))
    assert [applied(first.text, one.edits) for one in made] == [
        "The soup was truly good, and we will come back." + "!" * n for n in range(2)
    ]
    assert [broken(make_trial(first, one, english_cues()), label_safe=False) for one in made] == [None, None]
    other = BackTranslation(there, Words({"Suppe": "broth", "war": "was", "wirklich": "really"}), 4)
    (lost, *_) = next(iter(other.propose([first], 1, 1)))
    assert broken(make_trial(first, lost, english_cues()), label_safe=False) == "label-touched"
    unchanged = BackTranslation(Words({}), Words({}), 1)
    assert list(unchanged.propose([first], 1, 1)) == [()], "what comes back as it was is no candidate"


def test_models_of_a_folder_translate_whatever_the_batches(tmp_path: Path) -> None:
    tiny_hub.save(tmp_path / "m", "bart")
    own = {"back_translation.there": str(tmp_path / "m"), "back_translation.back": str(tmp_path / "m"), "threads": 1}
    method = make_method("back-translation", make_settings(own))
    sentences = tiny_hub.english(opinions=False, labels=True)
    together = list(method.propose(sentences, 2, 1))
    assert [next(iter(method.propose([one], 2, 1))) for one in sentences] == together
    assert any(together) and all(len(row) <= 2 for row in together)
    other = make_method("back-translation", make_settings(own | {"back_translation.beams": 2}))
    assert method.signature != other.signature


def test_a_model_that_is_not_named_or_does_not_translate_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"back_translation.there: no model translates"):
        make_method("back-translation", make_settings({}))
    tiny_hub.save(tmp_path / "bert", "bert")
    own = {f"back_translation.{name}": str(tmp_path / "bert") for name in ("there", "back")}
    with pytest.raises(ModelError):
        make_method("back-translation", make_settings(own))
