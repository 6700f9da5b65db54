"""`gpt2`: aspects and half of a sentence go in, the other half is written anew."""

from __future__ import annotations

import math
import re
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import tiny_hub
import torch

from builder.augment.candidates import Edit, Mark, Sentence, applied, moved
from builder.augment.method_settings import Gpt2Settings
from builder.augment.methods.gpt2 import (
    Continuation,
    Gpt2,
    Opening,
    Special,
    around,
    embedded,
    halved,
    load,
    loss,
    measure_perplexity,
    prefix,
    write,
)
from builder.augment.nets.bases import load as load_hub
from builder.augment.nets.beam import SearchRules, banned
from builder.augment.training import Workplace
from builder.core.errors import ModelError, install_command
from builder.learning.hub import CAUSAL
from builder.learning.pieces import ASPECT, BOS, EOS, Cut

TINY = Gpt2Settings(width=32, layers=1, epochs=2, least=16, min_count=1)


@pytest.fixture(scope="module")
def method(tmp_path_factory: pytest.TempPathFactory) -> Gpt2:
    return load(TINY, tiny_hub.chinese(opinions=False), Workplace(tmp_path_factory.mktemp("model")))


def test_the_prefix_names_every_aspect_and_then_the_sentence_begins() -> None:
    cut = Cut((10, 11, 12, 13), ((0, 1), (1, 2), (2, 3), (3, 4)))
    assert prefix(cut, (Mark(0, 2), Mark(3, 4)), Special(ASPECT, BOS, EOS)) == (ASPECT, 10, 11, ASPECT, 13, BOS)


def test_half_of_the_tokens_stay_and_no_aspect_is_cut_through() -> None:
    cut = Cut(tuple(range(6)), tuple((i, i + 1) for i in range(6)))
    assert halved(cut, ()) == 3
    assert halved(cut, (Mark(2, 5),)) == 5


def test_edits_leave_aspects_alone_that_the_new_half_says_again() -> None:
    text, mark = "今天去吃，湯頭很香", Mark(5, 7)
    assert around(text, 4, "。店裡湯頭好", [mark]) == (Edit(4, 5, "。店裡"), Edit(7, 9, "好"))
    assert around(text, 4, "。店裡的湯", [mark]) == (Edit(4, 9, "。店裡的湯"),)


def test_only_the_sentence_is_learnt_given_its_prefix() -> None:
    network = embedded(12, 16, 1, 1).eval()
    with torch.inference_mode():
        told = torch.log_softmax(network(torch.tensor([[5, 7, 3, 8, 9, 4]]))[0], -1)
        due = -(told[2, 8] + told[3, 9] + told[4, 4]) / 3
        assert torch.allclose(
            loss(network, [Continuation((5, 7, 3), (8, 9, 4)), Continuation((5, 7, 3), (8, 9, 4))]), due, atol=1e-5
        )


def test_reading_token_by_token_is_reading_at_once() -> None:
    network = embedded(12, 16, 2, 1).eval()
    ids = torch.tensor([[5, 7, 3, 8, 9], [5, 8, 3, 6, 7]])
    with torch.inference_mode():
        whole, state = torch.log_softmax(network(ids), -1), list[object]()
        first = network.read(ids[:, :3], state)
        network.select(torch.tensor([1, 0]), state)
        second = network.read(ids[[1, 0], 3:4], state)
    assert torch.allclose(first, whole[:, 2], atol=1e-5)
    assert torch.allclose(second, whole[[1, 0], 3], atol=1e-5)


def test_what_is_written_has_at_least_and_at_most_so_many_tokens() -> None:
    network = embedded(12, 16, 1, 1)
    rules = SearchRules(banned(12, [0, 1, 2, 3, 5]), EOS)
    written = next(write(network, [Opening((5, 7, 3), 2, 4)], rules, 5, 1))[1]
    ended = [tokens.index(EOS) for tokens, _ in written.sequences if EOS in tokens]
    assert ended
    assert set(ended) <= {2, 3, 4}
    assert not {i for tokens, _ in written.sequences for i in tokens if i < 6 and i != EOS}


def test_the_first_half_stays_and_candidates_differ(method: Gpt2) -> None:
    sentences = tiny_hub.chinese(opinions=False)
    proposed = list(method.propose(sentences, 3, 1))
    assert sum(map(len, proposed)) >= len(sentences)
    for sentence, candidates in zip(sentences, proposed, strict=True):
        texts = [applied(sentence.text, one.edits) for one in candidates]
        assert len({*texts, sentence.text}) == len(texts) + 1
        assert all(text.startswith(sentence.text[: len(sentence.text) // 2]) for text in texts)
        (mark,) = sentence.marks
        if mark.end <= len(sentence.text) // 2:
            assert all(moved((mark.start, mark.end), one.edits) for one in candidates)


def test_a_sentence_without_halves_has_no_candidates(method: Gpt2) -> None:
    assert list(method.propose([Sentence("s", "好", ((0, 1),)), Sentence("e", "", ())], 2, 1)) == [(), ()]


def test_without_transformers_the_extra_of_augmentation_is_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setitem(sys.modules, "transformers", None)
    for make in (lambda: embedded(12, 16, 1, 1), lambda: load_hub(str(tmp_path), CAUSAL)):
        with pytest.raises(ModelError, match="needs transformers; " + re.escape(install_command("augment"))):
            make()


def test_any_causal_model_of_a_hub_serves_as_base_and_is_found_again(tmp_path: Path) -> None:
    base = tiny_hub.save(tmp_path / "base", "gpt2")
    sentences, settings = tiny_hub.english(opinions=False), replace(TINY, base=base, epochs=1)
    made = load(settings, sentences, Workplace(tmp_path / "model"))
    proposed = list(made.propose(sentences, 2, 1))
    assert sum(map(len, proposed)) > 0
    for sentence, candidates in zip(sentences, proposed, strict=True):
        for one in candidates:
            assert one.edits[0].start >= len(sentence.text) // 3
            assert "[" not in applied(sentence.text, one.edits)
    assert load(settings, sentences, Workplace(tmp_path / "model")).digest == made.digest
    assert list(made.propose(sentences[::-1], 2, 1)) == proposed[::-1]


def test_fluency_is_the_perplexity_of_all_tokens_that_something_precedes(tmp_path: Path) -> None:
    tiny_hub.save(tmp_path / "gpt2", "gpt2")
    texts = ["The soup was really good.", "We will come back.", "x"]
    told = measure_perplexity(str(tmp_path / "gpt2"), 1, "cpu", texts)
    network, known = load_hub(str(tmp_path / "gpt2"), CAUSAL)
    surprises = []
    for text in texts:
        ids = torch.tensor([known.tokenizer(text, add_special_tokens=False).input_ids])
        rows = torch.log_softmax(network(ids).logits[0], -1)
        surprises += [-float(rows[at, i]) for at, i in enumerate(ids[0, 1:].tolist())]
    assert told == pytest.approx(math.exp(sum(surprises) / len(surprises)), abs=0.06)
    assert measure_perplexity(str(tmp_path / "gpt2"), 1, "cpu", []) is None
