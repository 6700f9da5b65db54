"""`style-transfer`: opinions give way to opposite ones, and words that make a label are refilled."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

import pytest
import tiny_hub
import torch

from builder.augment.candidates import Edit, Mark, Sentence, applied
from builder.augment.method_settings import StyleTransferSettings
from builder.augment.methods.replacing import unit_inventory
from builder.augment.methods.style_transfer import Classed, classifier, label_of, load, opinions_of, opposites
from builder.augment.training import Conditions, Workplace, train_until_converged
from builder.core.errors import ModelError
from builder.learning.checkpoint import Checkpoints
from builder.learning.obtain import Measure, Schedule, TrainingRun

TINY = StyleTransferSettings(width=32, layers=1, epochs=2, pretrain_epochs=1, least=16, min_count=1)


def test_opinions_are_those_of_the_sentences_with_their_polarity() -> None:
    sentences = tiny_hub.chinese()
    found = {one.text: one.polarity for one in opinions_of(sentences, unit_inventory(sentences, False, 1))}
    assert found["很濃郁"] == "POS"
    assert found["太貴"] == "NEG"
    assert "普通" not in found, "neutral has no opposite"


def test_opinions_said_of_such_an_aspect_come_first(tmp_path: Path) -> None:
    told = [("湯頭很濃郁", 2, "POS"), ("菜頭太老了", 2, "NEG"), ("店員太兇了", 2, "NEG"), ("甜點太膩了", 2, "NEG")]
    sentences = tuple(
        Sentence(
            str(n), text, ((0, 2), (2, 3), (3, 5)), (Mark(0, 2, "aspect", polarity), Mark(at, 5, "opinion", polarity))
        )  # type: ignore[arg-type]
        for n, (text, at, polarity) in enumerate(told)
    )
    made = load(TINY, sentences, Workplace(tmp_path))
    ((first, *_),) = made.propose(sentences[:1], 1, 1)
    assert first.edits[0].text == "太老了"
    assert {one.text: one.heads for one in made.opinions}["太膩了"] == {"點"}


def test_an_opinion_gives_way_to_one_of_the_opposite_polarity_with_its_valence(tmp_path: Path) -> None:
    sentences = tiny_hub.chinese()
    made = load(TINY, sentences, Workplace(tmp_path), valences={"太貴": 1.5})
    known = {mark_text(one): one.marks for one in sentences}
    proposed = list(made.propose(sentences, 2, 1))
    assert [len(one) for one in proposed] == [0 if one.marks[-1].polarity == "NEU" else 2 for one in sentences]
    valences = set()
    for sentence, candidates in zip(sentences, proposed, strict=True):
        assert len({one.edits for one in candidates}) == len(candidates)
        for one in candidates:
            (changed,) = one.changed
            opinion = next(mark for mark in sentence.marks if mark.kind == "opinion")
            assert one.edits == (Edit(opinion.start, opinion.end, changed.text),)
            assert (changed.start, changed.end) == (opinion.start, opinion.end)
            assert {changed.polarity, opinion.polarity} == {"POS", "NEG"}
            assert changed.text in known
            valences.add((changed.polarity, 1.5 if changed.text == "太貴" else changed.valence))
            assert changed.valence == (1.5 if changed.text == "太貴" else {"POS": 8.0, "NEG": 2.5}[changed.polarity])
    assert len(valences) >= 2
    assert list(made.propose(sentences[::-1], 2, 1)) == proposed[::-1]
    assert list(made.propose(sentences, 2, 2)) != proposed


def mark_text(sentence: Sentence) -> str:
    mark = next(mark for mark in sentence.marks if mark.kind == "opinion")
    return sentence.text[mark.start : mark.end]


def test_the_attention_of_a_classifier_is_a_share_of_the_sentence_and_lies_on_a_word_learnt(tmp_path: Path) -> None:
    network = classifier(20, 2, 16, 1)
    draw = random.Random(1)
    items = []
    for n in range(200):
        ids = [draw.randrange(6, 16) for _ in range(6)]
        ids.insert(at := n % 7, 17 + n % 2)
        items.append((Classed(tuple(ids), n % 2), at))
    classed = [item for item, _ in items]
    plan = Schedule(epochs=20, least=1, patience=0, batch_tokens=64, rate=3e-3, threads=1)
    measure: Measure[Classed] = Measure(network.loss, lambda item: len(item.ids), lambda item: 1)
    train_until_converged(network, classed, classed, plan, measure, TrainingRun(1, Checkpoints(tmp_path, "k")))
    for item, at in items[:14]:
        weights = network.weights(item.ids, [(place,) for place in range(7)])
        assert sum(weights) == pytest.approx(1, abs=1e-5)
        assert max(range(7), key=lambda place: weights[place]) == at
    assert network.weights(classed[0].ids, [(0, 1), ()])[1] == 0


def test_a_sentence_label_turns_to_its_opposite_and_a_few_words_change(tmp_path: Path) -> None:
    sentences = tiny_hub.english(opinions=False, labels=True)
    made = load(replace(TINY, words=2, share=0.1), sentences, Workplace(tmp_path))
    proposed = list(made.propose(sentences, 2, 1))
    assert sum(map(len, proposed)) >= len(sentences)
    for sentence, candidates in zip(sentences, proposed, strict=True):
        for one in candidates:
            assert {one.label, sentence.label} == {"POS", "NEG"}
            assert one.changed == ()
            words, before = applied(sentence.text, one.edits).split(), sentence.text.split()
            assert 0 < sum(a != b for a, b in zip(words, before, strict=True)) <= 2
    assert list(made.propose(sentences[::-1], 2, 1)) == proposed[::-1]


def test_aspects_of_one_polarity_turn_together(tmp_path: Path) -> None:
    sentences = tiny_hub.chinese(opinions=False)
    made = load(replace(TINY, share=0.1), sentences, Workplace(tmp_path))
    candidates = [
        (one, each) for one, found in zip(sentences, made.propose(sentences, 1, 1), strict=True) for each in found
    ]
    assert candidates
    for sentence, one in candidates:
        (mark,), (changed,) = sentence.marks, one.changed
        assert (changed.start, changed.end) == (mark.start, mark.end)
        assert changed.text == sentence.text[mark.start : mark.end]
        assert {changed.polarity, mark.polarity} == {"POS", "NEG"}


def test_opposites_are_the_labels_in_reverse() -> None:
    five = Conditions("sentence", ("none", "0", "1", "2", "3", "4"))
    assert opposites(five) == {"0": "4", "1": "3", "3": "1", "4": "0"}
    assert opposites(Conditions("polarity", ("none", "POS", "NEG", "NEU"))) == {"POS": "NEG", "NEG": "POS"}


def test_a_sentence_of_two_minds_has_no_label() -> None:
    one = tiny_hub.chinese()[0]
    two = replace(one, marks=(one.marks[0], replace(one.marks[0], start=9, end=11, polarity="NEG")))
    told = Conditions.of([one])
    assert (label_of(one, one.marks, told), label_of(two, two.marks, told)) == ("POS", None)


def test_sentences_without_labels_cannot_be_turned_round(tmp_path: Path) -> None:
    bare = [replace(one, marks=()) for one in tiny_hub.chinese()]
    with pytest.raises(ModelError, match="neither labels nor polarities"):
        load(TINY, bare, Workplace(tmp_path))


def test_the_random_state_of_the_caller_is_left_alone(tmp_path: Path) -> None:
    torch.manual_seed(3)
    before = torch.get_rng_state()
    made = load(replace(TINY, epochs=1), tiny_hub.chinese(), Workplace(tmp_path))
    list(made.propose(tiny_hub.chinese(), 1, 1))
    assert torch.equal(torch.get_rng_state(), before)
