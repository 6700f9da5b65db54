"""The embedded models on tiny made-up reviews: learning, determinism, resuming, disk, negatives, odd input."""

from __future__ import annotations

import itertools
import json
import math
import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
import torch

from builder.core.errors import ConfigError, ModelError, OutputError
from builder.core.records import POLARITIES, Element, Polarity, Span, Triplet
from builder.learning import checkpoint, loop
from builder.learning.encode import Encoder, Vocabulary, batches, collate, windows
from builder.learning.task import (
    DiscriminatorConfig,
    Example,
    JudgedReview,
    Progress,
    TaggerConfig,
    discriminator_data,
    sized,
)
from builder.models import saved
from builder.models.discriminator import Discriminator, identify_training, train_discriminator
from builder.models.network import CharacterFoundation, Spans, TextContext
from builder.models.saved import load, save
from builder.models.tagger import Tagger, learnable, train_tagger
from builder.models.tagger_network import TaggerNetwork
from builder.models.text_reading import ASPECT, LIMIT, OPINION, is_torn, place_of, runs, settle

SMALL = {
    "width": 48,
    "layers": 2,
    "char_size": 32,
    "bigram_size": 16,
    "bigram_buckets": 512,
    "pair_size": 32,
    "min_count": 1,
}
TINY = TaggerConfig(**SMALL, epochs=8, batch_chars=512, rate=6e-3, dropout=0.05, threads=1, window=48, max_span=8)  # type: ignore[arg-type]
TINY_JUDGE = DiscriminatorConfig(**SMALL, epochs=8, batch_chars=512, rate=6e-3, dropout=0.05, threads=1)  # type: ignore[arg-type]
ASPECTS = ("湯頭", "麵條", "店員", "雞排", "餐廳環境", "飲料")
OPINIONS: tuple[tuple[str, Polarity], ...] = (
    ("濃郁", "POS"),
    ("難吃", "NEG"),
    ("普通", "NEU"),
    ("很香", "POS"),
    ("不太好", "NEG"),
)


def triplet(text: str, aspect: Span, opinion: Sequence[Span], polarity: Polarity) -> Triplet:
    full = Element.at(text, [(opinion[0][0], opinion[-1][1])])
    return Triplet(
        Element.at(text, [aspect]), Element.at(text, [aspect]), Element.at(text, opinion), full, polarity, 5.0
    )


def review(number: int) -> Example:
    """One to three clauses, each an aspect and its opinion; 不太好 has the core 不…好."""
    draw = random.Random(number)
    text, found = "", []
    for _ in range(draw.randint(1, 3)):
        aspect, (opinion, polarity) = draw.choice(ASPECTS), draw.choice(OPINIONS)
        at = len(text)
        text += f"{aspect}{draw.choice(['', '真的', '我覺得'])}"
        start = len(text)
        text += f"{opinion}{draw.choice(['，', ' ', '。'])}"
        core = [(start, start + 1), (start + 2, start + 3)] if opinion == "不太好" else [(start, start + len(opinion))]
        found.append((aspect, at, core, polarity))
    return Example(f"r{number}", text, tuple(triplet(text, (at, at + len(a)), core, p) for a, at, core, p in found))


TRAIN, VALID = [review(i) for i in range(240)], [review(i) for i in range(1000, 1040)]
JUDGED, JUDGED_VALID = ([discriminator_data(example, 1) for example in examples] for examples in (TRAIN, VALID))


@pytest.fixture(scope="module")
def tagger(tmp_path_factory: pytest.TempPathFactory) -> Tagger:
    return train_tagger(TRAIN, VALID, TINY, 1, tmp_path_factory.mktemp("tagger"))


@pytest.fixture(scope="module")
def judge(tmp_path_factory: pytest.TempPathFactory) -> Discriminator:
    return train_discriminator(JUDGED, JUDGED_VALID, TINY_JUDGE, 1, tmp_path_factory.mktemp("judge"))


def weights(model: Tagger | Discriminator) -> str:
    return checkpoint.tensor_digest(model.network.state_dict())


# Learning


def test_the_tagger_learns_made_up_reviews_and_finds_discontinuous_opinions(tagger: Tagger) -> None:
    fresh = [review(i) for i in range(2000, 2060)]
    found = tagger.predict([example.text for example in fresh])
    gold = [{t.key for t in example.triplets} for example in fresh]
    hits = sum(len({t.key for t in said} & wanted) for said, wanted in zip(found, gold, strict=True))
    assert 2 * hits / (sum(map(len, found)) + sum(map(len, gold))) > 0.9
    split = [t.opinion.text for said in found for t in said if len(t.opinion.spans) == 2]
    assert "不好" in split


def test_predicted_elements_stand_in_the_text_and_confidence_is_a_share(tagger: Tagger) -> None:
    for text, said in zip(texts := [example.text for example in VALID], tagger.predict(texts), strict=True):
        for t in said:
            for part in (t.aspect, t.aspect_full, t.opinion, t.opinion_full):
                assert part == Element.at(text, part.spans)
            assert t.confidence is not None
            assert 0 <= t.confidence <= 1
            assert t.valence == {"POS": 8.0, "NEG": 2.5, "NEU": 5.0}[t.polarity]


def test_the_judge_tells_right_triplets_from_wrong_polarities_and_wrong_pairs(judge: Discriminator) -> None:
    held = [discriminator_data(review(i), 5) for i in range(2000, 2060)]
    answers = judge.classify([Example(j.id, j.text, tuple(t for t, _ in j.verdicts)) for j in held])
    pairs = [
        (wanted[1], said)
        for j, rows in zip(held, answers, strict=True)
        for wanted, said in zip(j.verdicts, rows, strict=True)
    ]
    assert sum(verdict == label for verdict, (label, _) in pairs) / len(pairs) > 0.9
    sure = [chance for verdict, (_, chance) in pairs if verdict == "YY"]
    assert sum(sure) / len(sure) > 0.8


def test_a_prediction_does_not_depend_on_the_texts_beside_it(tagger: Tagger) -> None:
    texts = [example.text for example in VALID]
    together = tagger.predict(texts)
    assert [tagger.predict([text])[0] for text in texts[:10]] == together[:10]
    assert tagger.predict(texts[::-1])[::-1] == together


# Determinism, resuming, the caller's torch


def test_training_twice_gives_the_same_weights_and_another_seed_others(tmp_path: Path) -> None:
    short = replace(TINY, epochs=2)
    one, again, other = (train_tagger(TRAIN, VALID, short, seed, tmp_path / str(i)) for i, seed in enumerate((1, 1, 2)))
    assert (weights(one), one.digest, one.threshold, one.facts) == (
        weights(again),
        again.digest,
        again.threshold,
        again.facts,
    )
    assert weights(one) != weights(other)


class Killed(Exception):
    pass


def kill(*_: object) -> None:
    raise Killed


def kill_in(epoch: int) -> object:
    def progress(done: int, total: int, note: str) -> None:
        if note.startswith(f"epoch {epoch}/") and done > (epoch - 0.5) * total / TINY.epochs:
            raise Killed

    return progress


@pytest.mark.parametrize("damage", ["none", "cut", "flip"])
def test_a_killed_training_resumes_to_identical_weights(
    judge: Discriminator, tmp_path: Path, damage: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loop, "SAVE_STEPS", 1)
    with pytest.raises(Killed):
        train_discriminator(JUDGED, JUDGED_VALID, TINY_JUDGE, 1, tmp_path, kill_in(4))  # type: ignore[arg-type]
    best, _, newest = sorted(tmp_path.iterdir())
    assert (best.name, newest.name[:5]) == ("best.safetensors", "step-"), "the last two checkpoints stay"
    data = bytearray(newest.read_bytes())
    if damage == "cut":
        newest.write_bytes(data[: len(data) // 2])
    elif damage == "flip":
        data[-100] ^= 1
        newest.write_bytes(data)
    seen: list[str] = []
    resumed = train_discriminator(
        JUDGED, JUDGED_VALID, TINY_JUDGE, 1, tmp_path, lambda done, total, note: seen.append(note)
    )
    assert seen[0].startswith("epoch 4/8" if damage == "none" else "epoch 3/8")
    assert (weights(resumed), resumed.facts) == (weights(judge), judge.facts)


def test_short_epochs_share_a_checkpoint_and_a_killed_training_goes_on_from_it(
    judge: Discriminator, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The epoch that scored best may lie before it, unwritten till then."""
    monkeypatch.setattr(loop, "SAVE_STEPS", 24)  # three epochs
    with pytest.raises(Killed):
        train_discriminator(JUDGED, JUDGED_VALID, TINY_JUDGE, 1, tmp_path, kill_in(6))  # type: ignore[arg-type]
    seen: list[str] = []
    resumed = train_discriminator(
        JUDGED, JUDGED_VALID, TINY_JUDGE, 1, tmp_path, lambda done, total, note: seen.append(note)
    )
    assert not seen[0].startswith(("epoch 1/8", "epoch 6/8"))
    assert (weights(resumed), resumed.facts) == (weights(judge), judge.facts)


def test_a_checkpoint_of_other_data_is_removed_and_not_used(tmp_path: Path) -> None:
    short = replace(TINY_JUDGE, epochs=2)
    clean = train_discriminator(JUDGED[:50], [], short, 1, tmp_path / "clean")
    train_discriminator(JUDGED[50:100], [], short, 1, tmp_path / "used")
    assert weights(train_discriminator(JUDGED[:50], [], short, 1, tmp_path / "used")) == weights(clean)


@dataclass
class TrainedOnce:
    """A short training of a judge by `train_once`, and how often it was trained."""

    place: Path
    trainings: int = 0

    def get(self, name: str, progress: Progress | None = None) -> Discriminator:
        checkpoints = self.place / "training"

        def train() -> Discriminator:
            self.trainings += 1
            return train_discriminator(JUDGED, JUDGED_VALID, TINY_JUDGE, 1, checkpoints, progress)

        unique = identify_training(JUDGED, JUDGED_VALID, TINY_JUDGE, 1, "")
        return checkpoint.train_once(unique, checkpoints, self.place / name, train, saved.load, saved.save)

    def weights_in(self, name: str) -> Path:
        return self.place / name / "weights.safetensors"


def test_a_saved_model_stands_for_its_training_whose_checkpoints_go(judge: Discriminator, tmp_path: Path) -> None:
    once = TrainedOnce(tmp_path)
    first, second, again = (once.get(name) for name in ("A0", "C0", "A0"))
    assert once.trainings == 1
    assert first.digest == second.digest == again.digest == judge.digest
    assert not list((tmp_path / "training").glob("*.safetensors")), "checkpoints go"
    assert once.weights_in("A0").stat().st_ino == once.weights_in("C0").stat().st_ino, "equal weights lie there once"
    assert load(tmp_path / "C0").digest == judge.digest


@pytest.mark.parametrize("name", ["A0", "C0"])
def test_a_saved_model_that_is_damaged_is_trained_again_and_damages_no_other(
    judge: Discriminator, tmp_path: Path, name: str
) -> None:
    once = TrainedOnce(tmp_path)
    once.get("A0")
    whole = once.weights_in("A0").read_bytes()
    once.weights_in("A0").write_bytes(whole[:-9])
    assert once.get(name).digest == judge.digest
    assert once.trainings == 2
    assert load(tmp_path / name).digest == judge.digest


@pytest.mark.parametrize("killed", ["save", "settle"])
def test_a_training_that_was_killed_at_its_end_is_not_repeated(
    killed: str, judge: Discriminator, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    once = TrainedOnce(tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(saved if killed == "save" else checkpoint, killed, kill)
        with pytest.raises(Killed):
            once.get("A0")
    seen: list[str] = []
    assert once.get("A0", lambda done, total, note: seen.append(note)).digest == judge.digest
    assert [note for note in seen if note.startswith(("epoch 1/", "epoch 2/", "epoch 3/"))] == []
    assert not list((tmp_path / "training").glob("*.safetensors"))


def test_training_leaves_the_random_state_and_the_settings_of_torch_alone(tmp_path: Path) -> None:
    torch.manual_seed(7)
    before = torch.get_rng_state(), torch.get_num_threads(), torch.are_deterministic_algorithms_enabled()
    model = train_tagger(TRAIN[:20], VALID[:5], replace(TINY, epochs=1, threads=2), 1, tmp_path / "c")
    save(model, tmp_path / "m")
    load(tmp_path / "m")
    model.predict(["湯頭濃郁"])
    assert torch.equal(before[0], torch.get_rng_state())
    assert before[1:] == (torch.get_num_threads(), torch.are_deterministic_algorithms_enabled())


def test_a_character_starts_from_the_same_vector_whatever_the_vocabulary() -> None:
    states = []
    for text in ("湯頭好", "他家的湯真好"):
        vocabulary = Vocabulary.of([text], 1)
        torch.manual_seed(3)
        foundation = CharacterFoundation(vocabulary)
        network = TaggerNetwork(foundation, TINY)
        foundation.begin(network.trunk, 9)
        states.append((vocabulary, network.state_dict()))
    rows = [state["trunk.chars.weight"][vocabulary.codes.index(ord("湯")) + 2] for vocabulary, state in states]
    assert torch.equal(*rows)
    assert all(
        torch.equal(tensor, states[1][1][name]) for name, tensor in states[0][1].items() if name != "trunk.chars.weight"
    )


# Disk


def test_a_saved_model_loads_to_the_same_answers(tagger: Tagger, judge: Discriminator, tmp_path: Path) -> None:
    texts = [example.text for example in VALID]
    save(tagger, tmp_path / "t")
    save(judge, tmp_path / "j")
    loaded, judged = load(tmp_path / "t"), load(tmp_path / "j")
    assert isinstance(loaded, Tagger)
    assert isinstance(judged, Discriminator)
    assert (loaded.digest, judged.digest) == (tagger.digest, judge.digest)
    assert loaded.predict(texts) == tagger.predict(texts)
    assert judged.classify(VALID) == judge.classify(VALID)
    assert sorted(p.name for p in (tmp_path / "t").iterdir()) == ["config.json", "weights.safetensors"]


def test_damaged_cut_and_foreign_model_files_are_named(tagger: Tagger, judge: Discriminator, tmp_path: Path) -> None:
    folder = tmp_path / "m"
    save(tagger, folder)
    config, file = folder / "config.json", folder / "weights.safetensors"
    good = file.read_bytes(), config.read_text()
    with pytest.raises(ModelError, match=r"nowhere/config.json: no readable model config"):
        load(tmp_path / "nowhere")
    file.write_bytes(good[0][:-10])
    with pytest.raises(ModelError, match=r"weights.safetensors: no readable safetensors file"):
        load(folder)
    file.write_bytes(good[0][:-10] + bytes(10))
    with pytest.raises(ModelError, match=r"weights.safetensors: the tensors are not those that were written"):
        load(folder)
    save(judge, tmp_path / "j")
    file.write_bytes((tmp_path / "j" / "weights.safetensors").read_bytes())
    with pytest.raises(ModelError, match=r"weights.safetensors: the weights belong to another model"):
        load(folder)
    file.unlink()
    with pytest.raises(ModelError, match=r"weights.safetensors: no readable safetensors file"):
        load(folder)
    file.write_bytes(good[0])
    settings = json.loads(good[1])
    cases: list[tuple[object, str]] = [
        ({**settings, "threshold": 0.123}, "digest is"),
        ({**settings, "format": 99}, "not a model config of format"),
        ({**settings, "kind": "T5"}, "unknown kind 'T5'"),
        ({"format": 1}, "not a model config of this version"),
        ({**settings, "config": {"width": "x"}}, "not a model config of this version"),
        ([], "not a model config"),
    ]
    for broken, message in cases:
        config.write_text(json.dumps(broken))
        with pytest.raises(ModelError, match=message):
            load(folder)
    config.write_text(good[1])
    assert load(folder).digest == tagger.digest


def test_a_place_that_cannot_be_written_is_named(tagger: Tagger, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(OutputError, match=r"file/model/config\.json: cannot write"):
        save(tagger, tmp_path / "file" / "model")
    with pytest.raises(OutputError, match="/file: cannot write: File exists"):
        train_tagger(TRAIN[:10], [], replace(TINY, epochs=1), 1, tmp_path / "file")
    assert [p.name for p in tmp_path.iterdir()] == ["file"]


# Negatives (paper, section 3.3.2)


def crossed_review() -> Example:
    """Two aspects, three opinions, four triplets (one pair with two polarities): 2 × 3 pairs, 3 of them taken."""
    text = "湯頭濃郁、好喝，店員親切"
    soup, staff = (0, 2), (8, 10)
    rich, tasty, kind = [(2, 4)], [(5, 7)], [(10, 12)]
    found: list[tuple[Span, list[Span], Polarity]] = [
        (soup, rich, "POS"),
        (soup, tasty, "POS"),
        (staff, kind, "POS"),
        (soup, tasty, "NEG"),
    ]
    return Example("x", text, tuple(triplet(text, *parts) for parts in found))


def test_each_triplet_is_once_right_and_once_of_a_wrong_polarity() -> None:
    example = crossed_review()
    judged = discriminator_data(example, 3).verdicts
    right, wrong = ([t for t, verdict in judged if verdict == label] for label in ("YY", "YN"))
    assert tuple(right) == example.triplets
    assert [(t.aspect, t.opinion) for t in wrong] == [(t.aspect, t.opinion) for t in right]
    assert all(a.polarity != b.polarity for a, b in zip(right, wrong, strict=True))


def test_unpaired_aspects_and_opinions_are_all_taken_when_few_and_never_a_right_pair() -> None:
    example = crossed_review()
    unpaired = [
        (t.aspect.text, t.opinion.text) for t, verdict in discriminator_data(example, 3).verdicts if verdict == "NX"
    ]
    assert unpaired == [("湯頭", "親切"), ("店員", "濃郁"), ("店員", "好喝")]
    alone = replace(example, triplets=example.triplets[:1])
    assert [verdict for _, verdict in discriminator_data(alone, 3).verdicts] == ["YY", "YN"]


def test_twice_as_many_unpaired_as_right_ones_where_there_are_more() -> None:
    text = "".join(f"{a}{o}，" for a, o in zip("湯麵飯肉菜魚", "香甜嫩脆鮮辣", strict=True))
    example = Example(
        "many", text, tuple(triplet(text, (3 * i, 3 * i + 1), [(3 * i + 1, 3 * i + 2)], "POS") for i in range(6))
    )
    counts = Counter(verdict for _, verdict in discriminator_data(example, 1).verdicts)
    assert counts == {"YY": 6, "YN": 6, "NX": 12}
    pairs = [t.key[:2] for t, verdict in discriminator_data(example, 1).verdicts if verdict == "NX"]
    assert len(set(pairs)) == 12
    assert not set(pairs) & {t.key[:2] for t in example.triplets}


def test_negatives_depend_on_seed_and_review_alone_and_reach_every_polarity() -> None:
    example = crossed_review()
    assert discriminator_data(example, 3) == discriminator_data(example, 3)
    variants = {
        tuple(t.polarity for t, _ in discriminator_data(replace(example, id=str(i)), 3).verdicts) for i in range(20)
    }
    assert len(variants) > 10
    drawn = {(t.polarity, verdict) for i in range(30) for t, verdict in discriminator_data(example, i).verdicts}
    assert {p for p, verdict in drawn if verdict == "NX"} == set(POLARITIES)
    assert discriminator_data(Example("none", "沒有", ()), 1).verdicts == ()


# Odd input


def test_nothing_to_learn_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="no triplet in 0 training examples"):
        train_tagger([], [], TINY, 1, tmp_path)
    with pytest.raises(ModelError, match="no triplet in 1 training example;"):
        train_tagger([Example("a", "沒有", ())], [], TINY, 1, tmp_path)
    with pytest.raises(ModelError, match="no judged triplet in 1 training item;"):
        train_discriminator([JudgedReview("a", "沒有", ())], [], TINY_JUDGE, 1, tmp_path)
    with pytest.raises(ConfigError, match="epochs = 0 is not at least 1"):
        replace(TINY, epochs=0)


def test_no_aspect_is_interrupted_and_an_opinion_only_behind_a_near_negator() -> None:
    """待人 of 接待的人; 不鹹 of 不會太鹹; 必點色 of 必點菜色."""
    assert is_torn("接待的人", [(1, 2), (3, 4)], ASPECT)
    assert not is_torn("接待的人", [(1, 4)], ASPECT)
    assert not is_torn("不會太鹹", [(0, 1), (3, 4)], OPINION)
    assert not is_torn("沒有網路上說得好吃", [(0, 1), (7, 9)], OPINION)
    assert is_torn("沒有網路上說得那好吃", [(0, 1), (8, 10)], OPINION)
    assert is_torn("必點菜色", [(0, 2), (3, 4)], OPINION)
    assert not is_torn("必點菜色", [(0, 4)], OPINION)
    assert is_torn("不是肉排骨多了", [(0, 1), (2, 3), (4, 6)], OPINION)


@pytest.mark.parametrize(
    ("first", "second", "torn"),
    [
        *((first, "好", False) for first in ("並不", "從不", "從未", "絕非", "毫無", "完全沒", "談不上", "沒有", "不")),
        *((first, "好吃", True) for first in ("非常", "不錯", "無敵", "無比", "完全", "並", "從", "比不上")),
    ],
)
def test_a_core_in_two_parts_begins_with_a_whole_negator(first: str, second: str, torn: bool) -> None:
    text = f"{first}那麼{second}"
    assert is_torn(text, [(0, len(first)), (len(first) + 2, len(text))], OPINION) is torn


@pytest.mark.parametrize("layer", [ASPECT, OPINION])
def test_the_core_of_what_is_torn_is_the_whole_phrase(
    layer: int, tagger: Tagger, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The bits of every second character tear each core."""
    bits = torch.tensor([1.0, -1.0] * (TINY.max_span // 2))
    monkeypatch.setattr(tagger.network.cores, "forward", lambda context, spans, of: bits.expand(len(spans.row), -1))
    monkeypatch.setattr("builder.models.text_reading.LONGEST_GAP", 0)
    found = [t for said in tagger.predict([example.text for example in VALID]) for t in said]
    cores = [(t.aspect, t.aspect_full) if layer == ASPECT else (t.opinion, t.opinion_full) for t in found]
    assert len(cores) > 50 and all(len(core.spans) == 1 for core, _ in cores)


def test_what_overlapping_windows_both_find_is_said_once(tagger: Tagger) -> None:
    text = "湯頭濃郁。麵條難吃。店員普通。" * 20
    found = tagger.predict([text])[0]
    assert len({t.aspect.start for t in found}) == len(found) > 50
    assert sum(end - start for start, end in windows(text, 48, 12)) > len(text)
    floor = tagger.read([Example("", text, ())], 0.0)[0].proposals
    spans = [(t.aspect.spans, t.opinion.spans) for _, t in floor]
    assert len(set(spans)) == len(spans)


def test_places_that_are_asked_about_have_odds(tagger: Tagger) -> None:
    text = "湯頭濃郁，麵條難吃。" + "飲料普通。" * 20
    right, wrong = triplet(text, (0, 2), [(2, 4)], "POS"), triplet(text, (5, 7), [(2, 4)], "POS")
    no_words, apart = triplet(text, (1, 3), [(6, 8)], "POS"), triplet(text, (0, 2), [(107, 109)], "NEU")
    asked = Example("", text, (right, wrong, no_words, apart))
    read, unasked = (tagger.read([item], 0.5)[0] for item in (asked, Example("", text, ())))
    assert read.proposals == unasked.proposals and place_of(apart) not in read.odds, "no window holds both"
    here, other, nothing = (read.odds[place_of(one)] for one in (right, wrong, no_words))
    assert here.pair > 0 > other.pair and min(here.aspect, here.opinion, other.aspect, other.opinion) > 0
    assert max(nothing.aspect, nothing.opinion, nothing.pair) < 0
    assert sum(math.exp(share) for share in here.polarities) == pytest.approx(1)
    assert POLARITIES[here.polarities.index(max(here.polarities))] == "POS"
    assert {place_of(one) for _, one in read.proposals} <= set(unasked.odds)
    assert all(abs(number) <= LIMIT for odds in read.odds.values() for number in (odds.aspect, odds.opinion, odds.pair))


def test_empty_odd_and_very_long_texts_are_answered(tagger: Tagger, judge: Discriminator) -> None:
    long = "湯頭濃郁，" * 1200
    answers = tagger.predict(["", " ", "\U0001f600\U00020000", "x", long])
    assert [len(a) for a in answers[:2]] == [0, 0]
    assert len(answers[4]) > 1100
    assert answers[4][-1].aspect.start > 5900
    first, last = triplet(long, (0, 2), [(2, 4)], "POS"), triplet(long, (0, 2), [(5997, 5999)], "POS")
    (rows,) = judge.classify([Example("long", long, (first, last))])
    assert rows[0][0] == "YY"
    assert rows[1][0] == "NX"
    assert judge.classify([Example("none", "", ()), Example("n", "湯", ())]) == [(), ()]
    assert tagger.predict([]) == []
    assert judge.classify([]) == []


def test_a_triplet_outside_its_text_is_an_error(judge: Discriminator) -> None:
    with pytest.raises(ModelError, match="review q: a triplet stands outside the 2 characters"):
        judge.classify([Example("q", "湯頭", (review(1).triplets[0],))])


def test_training_counts_the_triplets_that_no_window_holds(tmp_path: Path) -> None:
    text = "湯頭" + "呢" * 60 + "濃郁"
    across = Example("across", text, (triplet(text, (0, 2), [(62, 64)], "POS"),))
    wide = Example(
        "wide", text[:40], (triplet(text, (0, 12), [(12, 14)], "POS"), triplet(text, (0, 2), [(20, 22)], "POS"))
    )
    one = replace(TINY, epochs=1)
    assert train_tagger([*TRAIN[:20], across, wide], [], one, 1, tmp_path).facts["triplets_lost"] == 2
    assert (
        train_tagger([*TRAIN[:20], across, wide], [], replace(one, max_gap=17), 1, tmp_path).facts["triplets_lost"] == 3
    )


# Parts


def test_windows_cover_the_text_and_cut_after_sentences_where_they_can() -> None:
    text = "湯頭濃郁，好喝。麵條很香，份量多。" * 5 + "啊" * 40
    cut = windows(text, 20)
    assert [start for start, _ in cut] == [0, *(end for _, end in cut[:-1])]
    assert cut[-1][1] == len(text)
    assert all(0 < end - start <= 20 for start, end in cut)
    assert text[: cut[0][1]] == "湯頭濃郁，好喝。麵條很香，份量多。"
    assert windows("", 20) == []
    assert windows("湯", 20) == [(0, 1)]


def test_windows_that_overlap_begin_with_a_sentence_of_the_one_before_and_none_is_cut() -> None:
    text = "湯頭濃郁，好喝。麵條很香。份量多。" * 5 + "啊" * 40
    starts = {0, *(i + 1 for i, char in enumerate(text) if char == "。")}
    cut = windows(text, 20, 8)
    for (start, end), (following, _) in itertools.pairwise(cut):
        assert end - 8 <= following <= end and start < following
        assert {i for i in starts if end - 8 <= i < end and i > start} <= set(range(following, end))
    assert any(following < end for (_, end), (following, _) in itertools.pairwise(cut))
    assert cut[-1][1] == len(text) and all(0 < end - start <= 20 for start, end in cut)


def test_batches_hold_every_item_once_within_the_budget_and_change_with_the_epoch() -> None:
    lengths = [random.Random(i).randint(1, 90) for i in range(300)]
    for draw in (None, random.Random(1)):
        made = batches(lengths, 200, draw)
        assert sorted(itertools.chain(*made)) == list(range(300))
        assert all(len(batch) == 1 or len(batch) * max(lengths[i] for i in batch) <= 200 for batch in made)
    assert batches(lengths, 200, random.Random(1)) != batches(lengths, 200, random.Random(2))


def test_unknown_characters_are_told_apart_by_their_bigrams() -> None:
    encoder = Encoder(Vocabulary.of(["湯湯麵麵"], 2), 1 << 20)
    one, other = encoder("湯鯖麵"), encoder("湯\U00029e3d麵")
    assert one.ids.tolist() == other.ids.tolist() == [2, 1, 3]
    assert one.bigrams.tolist() != other.bigrams.tolist()


def test_the_span_table_scores_every_span_up_to_the_longest_and_no_other(tagger: Tagger) -> None:
    encoder = tagger.foundation.make_encoder(TINY)
    batch = collate([encoder("湯頭真的濃郁好香，麵條"), encoder("麵")])
    context = tagger.network.context(batch)
    table = torch.isfinite(tagger.network.table(context.hidden, batch.mask))
    expected = {(0, i, j) for i in range(11) for j in range(i, min(11, i + 8))} | {(1, 0, 0)}
    for layer in (0, 1):
        assert {tuple(at) for at in table[:, layer].nonzero().tolist()} == expected


def test_means_of_stretches_are_the_means_of_their_characters() -> None:
    hidden = torch.arange(24.0).view(2, 4, 3)
    batch = collate([Encoder(Vocabulary(()), 8)("湯頭濃郁")] * 2)
    found = TextContext.of(batch, hidden).mean(
        torch.tensor([0, 1, 1]), torch.tensor([1, 0, 2]), torch.tensor([3, 4, 2])
    )
    assert torch.allclose(found, torch.stack([hidden[0, 1:3].mean(0), hidden[1].mean(0), torch.zeros(3)]))
    assert len(Spans(torch.tensor([0]), torch.tensor([1]), torch.tensor([2]))) == 1


def test_core_runs_and_clashes() -> None:
    assert runs([True, True, False, True], (5, 9)) == [(5, 7), (8, 9)]
    assert runs([False, False], (5, 7)) == [(5, 7)]
    text = "牛肉麵好吃"
    wide, narrow = triplet(text, (0, 3), [(3, 5)], "POS"), triplet(text, (2, 3), [(3, 5)], "POS")
    assert settle([replace(narrow, confidence=0.6), replace(wide, confidence=0.9)]) == (replace(wide, confidence=0.9),)


def test_nested_spans_are_learnt_side_by_side() -> None:
    text = "牛肉麵的湯好喝"
    nested = Example("n", text, (triplet(text, (0, 5), [(5, 7)], "POS"), triplet(text, (4, 5), [(5, 7)], "POS")))
    (window,), lost = learnable(nested, Encoder(Vocabulary.of([text], 1), 64), TINY)
    assert lost == 0
    assert window.pairs[:, :4].tolist() == [[0, 5, 5, 7], [4, 5, 5, 7]]


def test_few_characters_get_small_batches_and_more_passes() -> None:
    config = TaggerConfig(epochs=2)
    assert sized(config, 2_000_000) == config
    small = sized(config, 6_000)
    assert (small.batch_chars, small.epochs) == (384, 16)
    assert sized(config, 50_000).epochs == 3
    assert sized(TINY, 0).epochs == 16
