"""The profile `encoder` on tiny models of the real classes: alignment, learning, disk, resuming."""

from __future__ import annotations

import csv
import json
import shutil
from collections.abc import Callable
from dataclasses import fields, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from conftest import FAST, invoke
from test_model import TINY, TINY_JUDGE, review, weights
from test_paper_stage import LINES
from tiny_encoders import KINDS, make_encoder

from builder.core.config import resolve
from builder.core.errors import ConfigError, ModelError
from builder.core.settings import EncoderSettings
from builder.learning.encode import PLACES, Vocabulary, average_tokens, collate, padded
from builder.learning.encode import batches as make_batches
from builder.learning.loop import TrainingStep, course_of, decayed_groups, scope
from builder.learning.task import EncoderTuning, Example, TaggerConfig, discriminator_data
from builder.models import kinds
from builder.models import tagger as taggers
from builder.models.discriminator import train_discriminator
from builder.models.encoder import EncoderFoundation, EncoderTrunk, check_characters, load_encoder
from builder.models.saved import load, save
from builder.models.serving import is_plain
from builder.models.tagger import Tagger, train_tagger
from builder.models.tagger_network import TaggerNetwork
from builder.pipeline import builds, rounds

TRAIN, VALID = [review(i) for i in range(60)], [review(i) for i in range(1000, 1012)]
TEXTS = [example.text for example in TRAIN]
TUNING = EncoderTuning(rate=3e-3)
Bases = Callable[[str], Path]
CONFIG = replace(TINY, epochs=2, batch_chars=1024, rate=6e-3)


@pytest.fixture(scope="module")
def bases(tmp_path_factory: pytest.TempPathFactory) -> Bases:
    folder = tmp_path_factory.mktemp("encoders")

    def base(kind: str) -> Path:
        place = folder / kind
        return place if place.is_dir() else make_encoder(place, kind, TEXTS)

    return base


def foundation(base: Path) -> EncoderFoundation:
    return load_encoder(str(base), TUNING, "cpu")


# Characters and tokens


@pytest.mark.parametrize("kind", KINDS)
def test_every_character_finds_the_tokens_that_stand_for_it(kind: str, bases: Bases) -> None:
    encode = foundation(bases(kind)).make_tokens()
    text = "湯頭 真的濃郁，\U00020b9f麵\ud800 Soup好"
    rows = encode(text)
    assert len(rows.row) == len(rows.first) == len(rows.past) == len(rows.place) == len(text)
    written = encode.tokenizer.encode(text.replace("\ud800", "\ufffd")) if len(rows.ids) == 1 else None
    assert written is not None
    for char, (first, past) in enumerate(zip(rows.first, rows.past, strict=True)):
        covering = [at for at, (start, end) in enumerate(written.offsets) if start <= char < end]
        assert list(range(first, past)) == covering or not text[char].strip()
        assert (rows.place[char] == 0) == (past == 0)
    assert all(rows.past[i] for i, char in enumerate(text) if char in "湯頭濃郁麵好，")
    if kind in ("roberta", "modernbert"):
        assert rows.past[text.index("\U00020b9f")] - rows.first[text.index("\U00020b9f")] == 4


def test_the_vector_of_a_character_is_the_mean_of_its_tokens(bases: Bases) -> None:
    made = foundation(bases("modernbert"))
    encode = made.make_encoder(CONFIG)
    texts = ["湯頭\U00020b9f好", "", "麵條真的很香，飲料普通。店員不太好"]
    batch = collate([encode(text) for text in texts])
    assert batch.tokens is not None
    vectors = torch.randn(*batch.tokens.ids.shape, 3)
    averaged, flat = average_tokens(vectors, batch.tokens), vectors.flatten(0, 1)
    for row, text in enumerate(texts):
        for char in range(len(text)):
            own = flat[batch.tokens.first[row, char] : batch.tokens.past[row, char]]
            assert torch.allclose(averaged[row, char], own.mean(0), atol=1e-6)
        assert not averaged[row, len(text) :].any()


@pytest.mark.parametrize("kind", ["bert", "roberta"])
def test_a_text_longer_than_the_encoder_reads_is_read_in_rows(kind: str, bases: Bases) -> None:
    made = foundation(bases(kind))
    text = "湯頭真的濃郁，麵條普通。" * 30
    rows = made.make_tokens()(text)
    assert len(rows.ids) > 5
    assert max(map(len, rows.ids)) <= 62
    assert (np.diff(rows.row) >= 0).all()
    assert rows.past.all()
    with torch.no_grad():
        trunk = made.make_trunk(CONFIG).eval()
        out = trunk(collate([made.make_encoder(CONFIG)(text)]))
    assert out.shape[1] >= len(text)
    assert torch.isfinite(out).all()


def test_the_characters_of_one_token_know_their_place_in_it(bases: Bases) -> None:
    rows = foundation(bases("bert")).make_tokens()("x" * 12)
    assert rows.place.tolist() == [*range(1, PLACES), *[PLACES] * 5]


def test_characters_that_the_tokenizer_does_not_know_are_told_apart(bases: Bases) -> None:
    plain = foundation(bases("bert"))
    known = replace(plain, vocabulary=Vocabulary.of(["膻羶"], 1))
    config = replace(CONFIG, bigram_buckets=1)
    for base, apart in ((plain, False), (known, True)):
        with scope(1, 1), torch.no_grad():
            trunk, encode = base.make_trunk(config).eval(), base.make_encoder(config)
            first, second = (trunk(collate([encode(f"湯頭{char}")]))[0, 2] for char in "膻羶")
        assert torch.equal(first, second) != apart


@pytest.mark.parametrize(
    "changed",
    [
        {"hidden_act": "relu"},
        {"position_embedding_type": "relative_key"},
        {"is_decoder": True},
        {"num_attention_heads": 5},
    ],
)
def test_what_is_no_plain_bert_is_left_to_torch(changed: dict[str, Any], bases: Bases) -> None:
    config = foundation(bases("bert")).config
    assert is_plain(config) and not is_plain({**config, **changed})


# Learning


@pytest.mark.parametrize("kind", KINDS)
def test_every_class_learns_and_comes_back_from_disk(kind: str, bases: Bases, tmp_path: Path) -> None:
    base = foundation(bases(kind))
    tagger = train_tagger(TRAIN, VALID, replace(CONFIG, epochs=8), 1, tmp_path / "t", foundation=base)
    with scope(1, 1):
        untrained = TaggerNetwork(base, CONFIG)
    base.begin(untrained.trunk, 1)
    windows = [window for example in VALID for window in _windows(tagger, example)]
    with torch.no_grad():
        before, after = (float(network.eval().loss(windows)) for network in (untrained, tagger.network))
    assert after < 0.6 * before, (before, after)
    save(tagger, tmp_path / "m")
    back = load(tmp_path / "m", "cpu")
    assert isinstance(back, Tagger)
    assert back.digest == tagger.digest
    assert back.predict(TEXTS[:9]) == tagger.predict(TEXTS[:9])


def _windows(tagger: Tagger, example: Example) -> list[object]:
    from builder.models.tagger import learnable

    return list(learnable(example, tagger.foundation.make_encoder(tagger.config), tagger.config)[0])


def test_a_judge_on_an_encoder_learns_and_gives_shares(bases: Bases, tmp_path: Path) -> None:
    judged, held = ([discriminator_data(e, 1) for e in part] for part in (TRAIN, VALID))
    config = replace(TINY_JUDGE, epochs=10)
    judge = train_discriminator(judged, held, config, 1, tmp_path / "d", foundation=foundation(bases("bert")))
    assert judge.facts["valid_accuracy"] > 0.6
    rows = judge.shares([Example(item.id, item.text, tuple(t for t, _ in item.verdicts)) for item in held])
    assert all(np.allclose(shares.sum(1), 1, atol=1e-5) for shares in rows)
    save(judge, tmp_path / "m")
    assert load(tmp_path / "m", "cpu").digest == judge.digest


def test_a_training_that_was_stopped_ends_with_the_same_bytes(bases: Bases, tmp_path: Path) -> None:
    class Stopped(Exception):
        pass

    def stop(done: int, total: int, note: str) -> None:
        if "epoch 2" in note:
            raise Stopped

    base = foundation(bases("electra"))
    whole = train_tagger(TRAIN, VALID, CONFIG, 1, tmp_path / "whole", foundation=base)
    with pytest.raises(Stopped):
        train_tagger(TRAIN, VALID, CONFIG, 1, tmp_path / "part", stop, foundation=base)
    again = foundation(bases("electra"))
    resumed = train_tagger(TRAIN, VALID, CONFIG, 1, tmp_path / "part", foundation=again)
    assert weights(resumed) == weights(whole)
    other = train_tagger(TRAIN, VALID, CONFIG, 1, tmp_path / "part", foundation=replace(again, mark=" another encoder"))
    assert weights(other) == weights(whole), "trained anew from the same weights, not resumed"


@pytest.mark.parametrize("kind", KINDS)
def test_deeper_layers_learn_at_lower_rates(kind: str, bases: Bases) -> None:
    base = replace(foundation(bases(kind)), tuning=EncoderTuning(rate=1e-4, layer_decay=0.5))
    network = TaggerNetwork(base, replace(CONFIG, rate=1e-3))
    trunk = network.trunk
    assert isinstance(trunk, EncoderTrunk)
    scales = trunk.rate_scales()
    by_layer = {
        n: {round(s, 6) for name, s in scales.items() if f"layer.{n}." in name or f"layers.{n}." in name}
        for n in (0, 1)
    }
    assert by_layer == {0: {0.05}, 1: {0.1}}
    embeddings = {round(scale, 6) for name, scale in scales.items() if "embeddings." in name and "layer" not in name}
    assert embeddings == {0.025}
    groups = decayed_groups(network, 0.01)
    assert sum(len(group["params"]) for group in groups) == sum(1 for _ in network.parameters())  # type: ignore[arg-type]
    assert {round(float(group["scale"]), 4) for group in groups} == {1.0, 0.1, 0.05, 0.025}  # type: ignore[arg-type]


def test_bf16_trains_with_fewer_digits_and_leaves_the_heads_as_they_are(bases: Bases) -> None:
    outs = {}
    for precision in ("fp32", "bf16", "auto"):
        base = replace(foundation(bases("bert")), tuning=replace(TUNING, precision=precision))
        with scope(1, 1):
            trunk = base.make_trunk(CONFIG).train()
        base.begin(trunk, 1)
        inner: list[torch.dtype] = []
        trunk.encoder.encoder.layer[0].attention.self.query.register_forward_hook(  # type: ignore[union-attr]
            lambda module, given, out, inner=inner: inner.append(out.dtype)
        )
        with torch.no_grad(), scope(1, 2):  # the same units are dropped each time
            outs[precision] = trunk(collate([base.make_encoder(CONFIG)(text) for text in TEXTS[:3]]))
            trunk.eval()(collate([base.make_encoder(CONFIG)(TEXTS[0])]))
        assert inner.pop() == torch.float32, "a CPU reads in float32"
        assert inner == [torch.bfloat16 if precision == "bf16" else torch.float32], "auto is float32 on a CPU"
    assert {out.dtype for out in outs.values()} == {torch.float32}
    assert torch.equal(outs["fp32"], outs["auto"])
    assert not torch.equal(outs["fp32"], outs["bf16"])
    assert torch.allclose(outs["fp32"], outs["bf16"], atol=0.2)


def test_rates_rise_over_the_warm_up_and_fall_to_nothing(bases: Bases) -> None:
    network = TaggerNetwork(foundation(bases("bert")), CONFIG)

    def rates(warmup: float) -> list[float]:
        config = replace(CONFIG, epochs=2, warmup=warmup, rate=1.0)
        course = course_of(network, [10] * 40, lambda chosen: torch.zeros(()), lambda: 0.0, config, 1)
        return [course.rate(TrainingStep(epoch, index, 10, 10 * epoch)) for epoch in (0, 1) for index in range(10)]

    long, short = rates(0.5), rates(0.1)
    assert long[:11] == sorted(long[:11]) and long[10:] == sorted(long[10:], reverse=True)
    assert long[10] == pytest.approx(1.0)
    assert max(short[2:]) == short[2] and short[-1] < 0.05


def test_each_setting_of_the_encoder_reaches_its_training() -> None:
    given = {"rate": 1e-4, "precision": "bf16", "batch_chars": 700}
    options = {"profile": "encoder", "encoder.base": "some"} | {f"encoder.{key}": value for key, value in given.items()}
    config = resolve(options=options).config
    assert kinds.tuning_of(config) == EncoderTuning(1e-4, precision="bf16")
    made = kinds.training_settings(TaggerConfig, config, 3, 10**6)
    assert (made.batch_chars, made.epochs) == (700, 3)
    known = {field.name for field in fields(EncoderSettings)}
    assert known == {"base", *given}, "no setting without an effect"
    lengths = [12] * 200 + [100] * 20
    grouped = make_batches(lengths, made.batch_chars)
    assert all(len({padded(lengths[i]) for i in batch}) == 1 for batch in grouped), "texts of like length"
    assert max(sum(padded(lengths[i]) for i in batch) for batch in grouped) <= 700


def test_a_batch_that_the_memory_does_not_hold_is_taken_in_parts(
    bases: Bases, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    base = foundation(bases("bert"))
    tagger = train_tagger(TRAIN[:40], [], replace(CONFIG, epochs=1), 1, tmp_path / "t", foundation=base)
    network, windows = tagger.network, [window for example in TRAIN[:20] for window in _windows(tagger, example)]
    sizes, gradients = list[int](), []
    for most in (99, 9):

        def loss(chosen: list[int], most: int = most) -> torch.Tensor:
            sizes.append(len(chosen))
            if len(chosen) > most:
                raise torch.OutOfMemoryError("there is no more")
            return network.eval().loss([windows[i] for i in chosen])  # type: ignore[misc]

        course = course_of(network, [len(TEXTS[0])] * len(windows), loss, lambda: 0.0, CONFIG, 1)
        value = course.gradient(list(range(len(windows))), TrainingStep(0, 0, 1, 0))
        gradients.append((value, {n: p.grad.clone() for n, p in network.named_parameters() if p.grad is not None}))
    assert sizes[0] == len(windows) > 18 and max(sizes[-3:]) <= 9
    assert gradients[0][0] == pytest.approx(gradients[1][0], rel=1e-4)
    for name, grad in gradients[0][1].items():
        assert torch.allclose(grad, gradients[1][1][name], rtol=1e-3, atol=1e-4), name
    decode = TaggerNetwork.context

    def short(self: TaggerNetwork, batch: object) -> object:
        if len(batch.ids) > 2:  # type: ignore[attr-defined]
            raise torch.OutOfMemoryError("there is no more")
        return decode(self, batch)  # type: ignore[arg-type]

    answers = tagger.predict(TEXTS[:20])
    monkeypatch.setattr(TaggerNetwork, "context", short)
    assert [[t.key for t in row] for row in tagger.predict(TEXTS[:20])] == [[t.key for t in row] for row in answers]
    monkeypatch.setattr(
        TaggerNetwork, "context", lambda self, batch: (_ for _ in ()).throw(torch.OutOfMemoryError("none"))
    )
    with pytest.raises(ModelError, match="not enough memory for one text"):
        tagger.predict(TEXTS[:2])


# What cannot serve


def test_what_cannot_serve_is_refused_with_its_reason(bases: Bases, tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"there is no such folder"):
        load_encoder(str(tmp_path / "nothing"), TUNING)
    made = foundation(bases("bert"))
    assert check_characters(made, TEXTS, "base") == 0
    with pytest.raises(ModelError, match=r"not know 100.0% of the reviews' characters, 鯖 for example \(at most 5%\)"):
        check_characters(made, ["鯖鯖"], "base")
    with pytest.raises(ConfigError, match=r"encoder\.base"):
        resolve(options={"profile": "encoder"})


def test_a_saved_model_without_its_tokenizer_is_refused(bases: Bases, tmp_path: Path) -> None:
    save(
        train_tagger(TRAIN[:9], [], replace(CONFIG, epochs=1), 1, tmp_path / "t", foundation=foundation(bases("bert"))),
        tmp_path / "m",
    )
    path = tmp_path / "m" / "tokenizer.json"
    text = path.read_text("utf-8")
    path.write_text(text.replace("湯", "鯖"), "utf-8")
    with pytest.raises(ModelError, match="tokenizer is another model's"):
        load(tmp_path / "m")
    path.unlink()
    with pytest.raises(ModelError, match="no readable tokenizer"):
        load(tmp_path / "m")


@pytest.mark.parametrize(
    "claimed",
    [{"vocab_size": 10**8}, {"intermediate_size": 10**6}, {"num_hidden_layers": 900}, {"hidden_size": "wide"}],
)
def test_a_saved_model_whose_encoder_claims_more_than_its_weights_is_never_made(
    claimed: dict[str, object], bases: Bases, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = foundation(bases("bert"))
    save(Tagger(TaggerNetwork(known, CONFIG), known, CONFIG, 0.5, {}), tmp_path)
    assert load(tmp_path, "cpu").digest
    made, make = [], EncoderTrunk.__init__

    def watch(trunk: EncoderTrunk, encoder: torch.nn.Module, *rest: Any) -> None:
        made.append(next(encoder.parameters()).device.type)
        make(trunk, encoder, *rest)

    monkeypatch.setattr(EncoderTrunk, "__init__", watch)
    path = tmp_path / "config.json"
    settings = json.loads(path.read_text("utf-8"))
    path.write_text(json.dumps(settings | {"encoder": settings["encoder"] | claimed}), "utf-8")
    with pytest.raises(ModelError) as raised:
        load(tmp_path, "cpu")
    assert set(made) <= {"meta"} and len(str(raised.value).splitlines()) == 1


@pytest.mark.parametrize("harm", ["no tokenizer", "an unknown token"])
def test_a_saved_model_whose_tokenizer_cannot_serve_it_is_one_line(harm: str, bases: Bases, tmp_path: Path) -> None:
    """The digest of the tokenizer is right: whoever made the folder made both."""
    known = foundation(bases("bert"))
    tokens = json.loads(known.tokenizer)
    tokens["model"]["vocab"]["鯖"] = 10**6
    tampered = replace(known, tokenizer="{}" if harm == "no tokenizer" else json.dumps(tokens))
    save(Tagger(TaggerNetwork(tampered, CONFIG), tampered, CONFIG, 0.5, {}), tmp_path)
    model = load(tmp_path, "cpu")
    assert isinstance(model, Tagger)
    with pytest.raises(ModelError, match=r"no tokenizer can be loaded|a token of number 1000000") as raised:
        model.predict(["鯖很好吃"])
    assert len(str(raised.value).splitlines()) == 1


# ---- the profile `encoder` through the stages


SETTINGS = FAST | {
    "profile": '"encoder"',
    "encoder.base": '"./base"',
    "encoder.rate": "1e-3",
    "device": '"cpu"',
    "shard": "4",
    "self_train.epochs": "16",
    "ingest.valid_share": "0.4",
    "ingest.test_share": "0.1",
}


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a build: w, out and the encoder base, which the settings name from there."""
    folder = tmp_path_factory.mktemp("encoder")
    make_encoder(folder / "base", "bert", LINES)
    with (folder / "reviews.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([["review_id", "text"], *([f"r{i}", line] for i, line in enumerate(LINES))])
    (folder / "one.jsonl").write_text(json.dumps({"id": "1", "text": "湯頭很濃郁"}) + "\n", "utf-8")
    options = [part for key, value in SETTINGS.items() for part in ("--set", f"{key}={value}")]
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        done = invoke("build", "reviews.csv", "--workdir", "w", "--out", "out", *options)
    assert done.exit_code == 0, (done.output, done.exception)
    return folder


def read_answer(path: Path) -> str:
    return str(json.loads(path.read_text("utf-8"))["id"])


def test_a_build_with_an_encoder_ends_in_a_release_and_its_models_name_no_path(built: Path) -> None:
    assert (built / "out" / "v0.1.0" / "manifest.json").is_file()
    for name in ("discriminator", "D1"):
        kept = json.loads((built / "w" / "models" / name / "config.json").read_text())
        assert kept["encoder"]["model_type"] == "bert"
        assert str(built) not in json.dumps(kept), "no path of this machine in a model"
    kept_base = builds.remembered(built / "w").resolved.config.encoder.base
    assert kept_base == str((built / "base").resolve()), "a build that is resumed in another folder finds it"


def test_no_checkpoint_of_a_saved_model_is_kept(built: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A stage that runs again reads its models; one that is killed in its second round trains that alone."""
    models = shutil.copytree(built / "w", tmp_path / "w") / "models"
    assert not list(models.glob("*.training/*.safetensors"))
    trainings: list[object] = []
    monkeypatch.setattr(taggers, "train_tagger", partial(count_training, trainings, taggers.train_tagger))
    monkeypatch.chdir(built)
    assert invoke("run", "self_train", "--workdir", tmp_path / "w", "--force").exit_code == 0
    assert trainings == []
    shutil.rmtree(models / "D1")
    with monkeypatch.context() as patch:
        patch.setattr(rounds, "predict_splits", partial(kill_round, "D1", rounds.predict_splits))
        assert "killed" in str(invoke("run", "self_train", "--workdir", tmp_path / "w", "--force").exception)
    assert len(trainings) == 1, "D0 was read, D1 was trained"
    assert invoke("run", "self_train", "--workdir", tmp_path / "w").exit_code == 0
    assert len(trainings) == 1, "D1 was saved before the kill"
    digests = [
        json.loads((w / "models" / "D1" / "config.json").read_text())["digest"] for w in (built / "w", tmp_path / "w")
    ]
    assert digests[0] == digests[1]


def count_training(trainings: list[object], train: Callable[..., object], *rest: object) -> object:
    trainings.append(rest)
    return train(*rest)


def kill_round(name: str, predict: Callable[..., object], *rest: object) -> object:
    if name in rest:
        raise RuntimeError("killed")
    return predict(*rest)


def test_extract_reads_with_the_model_on_an_encoder(built: Path, tmp_path: Path) -> None:
    files = ("--input", built / "one.jsonl", "--output", tmp_path / "two.jsonl")
    done = invoke("extract", *files, "--workdir", built / "w", "--source", "D")
    assert done.exit_code == 0, done.output
    assert read_answer(tmp_path / "two.jsonl") == "1"
