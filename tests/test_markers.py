"""Markers, which look at pairs again: on torch and on numpy, learning, what a reading keeps of them."""

from __future__ import annotations

import importlib
import json
import random
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from test_encoder import CONFIG, TEXTS, TRAIN, TUNING, VALID
from test_model import review, triplet
from tiny_encoders import make_encoder

from builder.core.errors import ModelError
from builder.core.records import POLARITIES, Element
from builder.engine.reader import Recipe, make_reader
from builder.learning.checkpoint import tensor_digest, unpack_weights, write_tensors
from builder.learning.encode import TokenRows, Vocabulary
from builder.learning.loop import scope
from builder.learning.task import Example, TaggerConfig
from builder.models.encoder import EncoderFoundation, load_encoder
from builder.models.network import CharacterFoundation
from builder.models.numpy_reader import open_numpy_reader, read_weights
from builder.models.saved import load, save
from builder.models.tagger import Tagger, learnable, train_tagger
from builder.models.tagger_network import TaggerNetwork
from builder.models.text_reading import PairOdds, Place, place_of

LAYERS = 2


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> EncoderFoundation:
    folder = make_encoder(tmp_path_factory.mktemp("base") / "bert", "bert", TEXTS)
    return load_encoder(str(folder), TUNING, "cpu")


def make_tagger(base: EncoderFoundation, config: TaggerConfig) -> Tagger:
    """One of random weights, all different from nothing."""
    with scope(1, 3):
        network = TaggerNetwork(base, config)
        for name, weight in network.named_parameters():
            if "bias" in name and "markers" in name:
                torch.nn.init.normal_(weight, std=0.5)
    network.trunk.encoder.load_state_dict(base.weights, strict=False)  # type: ignore[union-attr, arg-type, operator]
    return Tagger(network.eval(), base, config)


def odds_of(tagger: Any, items: list[Example]) -> list[dict[Place, PairOdds]]:
    return [reading.odds for reading in tagger.read(items, 0.02)]


def test_numpy_reads_the_markers_that_torch_reads(base: EncoderFoundation, tmp_path: Path) -> None:
    tagger = make_tagger(base, replace(CONFIG, marker_layers=LAYERS, threads=1, window=200))
    save(tagger, tmp_path / "m")
    long = replace(VALID[0], text=VALID[0].text + "。" + "。".join(TEXTS[:12]))
    assert len(base.make_tokens()(long.text[:100]).ids) > 1, "a piece in several rows of tokens"
    items = [*VALID, long, Example("", "好", ()), Example("", "", ())]
    back = load(tmp_path / "m", "cpu")
    assert isinstance(back, Tagger) and back.digest == tagger.digest
    numpy_reader = open_numpy_reader(tmp_path / "m")
    (silent,) = numpy_reader.read([Example("", VALID[0].text, ())], 1.1)
    assert not silent.odds and not silent.proposals, "no pair at all"
    by_torch, by_numpy = odds_of(back, items), odds_of(numpy_reader, items)
    pairs = [(one[place], other[place]) for one, other in zip(by_torch, by_numpy, strict=True) for place in one]
    assert len(pairs) > 20
    for one, other in pairs:
        assert len(one.marked) == 2 + len(POLARITIES)
        assert np.exp(one.marked).sum() == pytest.approx(1, abs=1e-4)
        assert other.marked == pytest.approx(one.marked, abs=1e-3)
    assert len({one.marked for one, _ in pairs}) > 10, "each pair has its own"


def test_a_span_has_the_tokens_of_its_characters_row_behind_row() -> None:
    row, first, past = (np.array(values, np.int32) for values in ([0, 0, 0, 1, 1], [1, 1, 0, 1, 2], [2, 2, 0, 2, 3]))
    ids = (np.zeros(3, np.int32), np.zeros(4, np.int32))
    tokens = TokenRows(ids, row, first, past, np.zeros(5, np.int32))
    spans = np.array([[0, 1], [0, 2], [1, 4], [3, 5], [2, 3]])
    reached = tokens.stretches(spans)
    assert reached[:4].tolist() == [[1, 2], [1, 2], [1, 5], [4, 6]]
    assert reached[4, 1] <= reached[4, 0], "a blank, for which no token stands"


def test_a_model_saved_before_there_were_markers_opens_as_it_was(base: EncoderFoundation, tmp_path: Path) -> None:
    tagger = make_tagger(base, replace(CONFIG, threads=1))
    save(tagger, tmp_path / "m")
    config = json.loads((tmp_path / "m" / "config.json").read_text())
    del config["config"]["marker_layers"]
    settings = {"config": config["config"], **base.settings, "threshold": tagger.threshold}
    config["digest"] = tensor_digest(tagger.network.state_dict(), json.dumps(settings, sort_keys=True))[:16]
    (tmp_path / "m" / "config.json").write_text(json.dumps(config))
    assert odds_of(open_numpy_reader(tmp_path / "m"), VALID)[0].keys() == odds_of(load(tmp_path / "m"), VALID)[0].keys()
    assert "marker_layers" not in repr(CONFIG), "trainings keep their fingerprints"


@pytest.mark.parametrize("layers", [1, 10**6])
def test_a_config_that_claims_markers_which_the_weights_have_not_is_refused(
    layers: int, base: EncoderFoundation, tmp_path: Path
) -> None:
    save(make_tagger(base, replace(CONFIG, threads=1)), tmp_path / "m")
    config = json.loads((tmp_path / "m" / "config.json").read_text())
    config["config"]["marker_layers"] = layers
    (tmp_path / "m" / "config.json").write_text(json.dumps(config))
    with pytest.raises(ModelError, match="weights belong to another model"):
        load(tmp_path / "m")


@pytest.mark.parametrize("layers", [1, 10])
def test_markers_need_a_plain_bert(layers: int, base: EncoderFoundation) -> None:
    other = replace(base, config={**base.config, "hidden_act": "relu"})
    for foundation in (other, CharacterFoundation(Vocabulary(()))):
        with pytest.raises(ModelError, match="plain BERT"):
            TaggerNetwork(foundation, replace(CONFIG, marker_layers=layers))


@pytest.mark.parametrize(
    ("name", "size", "first", "kind"),
    [
        ("b since a", (4, 2), (9, 4), torch.uint8),
        ("b since a", (1, 500), (500, 1), torch.uint8),
        ("b since a", (4, 2), (4, 4), torch.int8),
        ("b since a", (4, 2), (4, 4), torch.float16),
        ("b since a", (8,), (4, 4), torch.uint8),
        ("b since c", (4, 2), (4, 4), torch.uint8),
        ("b since a since a", (4, 2), (4, 4), torch.uint8),
        ("b since ", (4, 2), (4, 4), torch.uint8),
        ("b", (4, 2), (4, 4), torch.int8),
    ],
)
def test_weights_that_no_packing_made_are_refused_by_either_reader(
    name: str, size: tuple[int, ...], first: tuple[int, int], kind: torch.dtype, tmp_path: Path
) -> None:
    packed = {"a": torch.ones(first), name: torch.ones(size, dtype=kind), f"{name}.scale": torch.ones(first[0])}
    if name == "b":
        packed["b.scale"] = torch.ones(9)
    with pytest.raises(ValueError, match=r"fit|scales"):
        unpack_weights(packed)
    write_tensors(tmp_path / "w.safetensors", packed, {})
    with pytest.raises(ModelError, match="packed in no known way"):
        read_weights(tmp_path / "w.safetensors")


def test_a_tagger_without_markers_says_nothing_of_them(base: EncoderFoundation) -> None:
    tagger = make_tagger(base, replace(CONFIG, threads=1))
    assert {odds.marked for own in odds_of(tagger, VALID) for odds in own.values()} == {()}
    assert not [name for name in tagger.network.state_dict() if name.startswith("markers")]


def test_a_marker_looks_at_its_own_spans_and_pairs_do_not_see_each_other(base: EncoderFoundation) -> None:
    tagger = make_tagger(base, replace(CONFIG, marker_layers=LAYERS, threads=1))
    first = VALID[0]
    alone, moved = odds_of(tagger, [first]), odds_of(tagger, [replace(first, triplets=first.triplets[:1])])
    place = place_of(first.triplets[0])
    assert alone[0][place].marked == pytest.approx(moved[0][place].marked, abs=1e-5)
    assert len({tuple(np.round(odds.marked, 4)) for odds in alone[0].values()}) == len(alone[0])


def test_markers_learn_which_pairs_are_triplets_while_the_reader_stands_still(
    base: EncoderFoundation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(Path(__file__).parent / "measure"))
    lesson = importlib.import_module("train_reader")
    monkeypatch.setattr(lesson, "MARKER_LAYERS", LAYERS)
    monkeypatch.setattr(lesson, "MARKER_EPOCHS", 20)
    monkeypatch.setattr(lesson, "MARKER_RATE", 0.02)

    def label(example: Example) -> tuple[str, list[tuple[Place, int]]]:
        gold = {place_of(t): 1 + POLARITIES.index(t.polarity) for t in example.triplets}
        crossed = {(aspect, opinion): 0 for aspect, _ in gold for _, opinion in gold}
        return example.text, sorted((crossed | gold).items())

    half = replace(base, tuning=replace(base.tuning, precision="bf16"))
    tagger = train_tagger(TRAIN, VALID, replace(CONFIG, epochs=8, threads=1), 1, tmp_path / "t", foundation=half)
    before = {name: weight.clone() for name, weight in tagger.network.state_dict().items()}
    taught = lesson.train_markers(tagger, [label(review(i)) for i in range(120)], 1, 0, tmp_path / "c")
    for name, weight in before.items():
        assert torch.equal(taught.network.state_dict()[name], weight), name

    def right(tagger: Tagger) -> float:
        hits = []
        for example in VALID:
            text, pairs = label(example)
            (odds,) = odds_of(tagger, [Example("", text, example.triplets)])
            hits += [int(np.argmax(odds[place].marked)) == kind for place, kind in pairs if place in odds]
        assert len(hits) > 10
        return float(np.mean(hits))

    assert right(taught) > 0.7
    pairs = dict(label(review(i)) for i in range(120))
    stage = lesson.Stage(1.0, 1e-3, 2e-4, 2e-3, 2e-3, 3.0)
    both = lesson.train_together(taught, TRAIN, pairs, stage, 1, tmp_path / "b")
    assert right(both) > 0.7, "reader and markers together"
    now = both.network.state_dict()
    assert {name.split(".")[0] for name, weight in before.items() if not torch.equal(now[name], weight)} == {
        "table", "pairs", "cores", "trunk"
    }  # fmt: skip
    assert any(
        not torch.equal(now[name], weight)
        for name, weight in taught.network.markers.state_dict(prefix="markers.").items()
    )
    mean, old = lesson.average([taught, both]).network.state_dict(), taught.network.state_dict()
    for name, weight in mean.items():
        torch.testing.assert_close(weight, (old[name] + now[name]) / 2)


def test_pairs_weigh_in_the_loss_of_reader_and_markers_and_teach_the_encoder(
    base: EncoderFoundation, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(Path(__file__).parent / "measure"))
    lesson = importlib.import_module("train_reader")
    tagger = make_tagger(base, replace(CONFIG, marker_layers=LAYERS, threads=1))
    network, encode = tagger.network.eval(), base.make_encoder(tagger.config)
    texts = []
    for example in TRAIN[:4]:
        (window,), _ = learnable(example, encode, tagger.config)
        places = sorted({place_of(t) for t in example.triplets})
        texts.append(lesson.TaughtText(window, *lesson.mark_pairs(window.text, [(place, 1) for place in places])))

    def loss(weight: float) -> torch.Tensor:
        stage = lesson.Stage(1, 1, 1, 1, 1, weight)
        value: torch.Tensor = lesson.WholeLesson(network, tagger.config, stage).loss(texts)
        return value

    none = lesson.mark_pairs(texts[0].window.text, [])
    assert none[0].shape == (0, 2, 2) and none[1].shape == (0,), "a review without pairs"

    alone = network.loss([text.window for text in texts])
    assert loss(0).item() == pytest.approx(alone.item())
    of_pairs = loss(3) - loss(0)
    assert of_pairs.item() == pytest.approx(3 * (loss(1) - loss(0)).item(), rel=1e-4) and of_pairs.item() > 1
    of_pairs.backward()
    first = next(p for name, p in network.named_parameters() if name.startswith("trunk.encoder") and p.dim() > 1)
    assert first.grad is not None and float(first.grad.abs().sum()) > 0


def test_a_stage_chooses_reviews_and_a_second_annotation_in_place_of_the_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(Path(__file__).parent / "measure"))
    lesson = importlib.import_module("train_reader")
    rows, last, late, latest = ([{"id": own} for own in part] for part in ("ab", "cd", "e", "f"))
    second = [{"id": own, "labels": "second"} for own in "bdf"]
    more = {name: {Path(name): own} for name, own in (("late", late), ("latest", latest), ("second", second))}

    def choose(**times: int) -> str:
        stage = lesson.Stage(encoder=1, rate=1, layers=1, heads=1, weight=1, **times)
        chosen = lesson.choose_rows(rows, last, more, stage, random.Random(0))
        return "".join(row["id"].upper() if "labels" in row else row["id"] for row in chosen)

    assert choose(share=1, last=2) == "abccdd"
    assert choose(share=0, last=0, late=1, latest=2) == "eff"
    assert choose(share=1, last=1, late=1, second=2) == "aceBDFBDF"


def test_pairs_that_teach_are_labels_what_is_found_mixed_and_crossed_spans(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(Path(__file__).parent / "measure"))
    lesson = importlib.import_module("train_reader")
    text = "湯頭很香，麵條難吃"
    soup, noodle = triplet(text, (0, 2), [(3, 4)], "POS"), triplet(text, (5, 7), [(7, 9)], "NEG")
    cut, longer = triplet(text, (0, 1), [(3, 4)], "POS"), triplet(text, (0, 2), [(2, 4)], "NEG")
    false = triplet(text, (5, 6), [(3, 4)], "POS")
    read = SimpleNamespace(ruled=(cut, false), shown=SimpleNamespace(proposals=[(0.4, longer), (0.9, soup)]))
    accepted = {soup.key, (*longer.key[:-1], "POS")}
    monkeypatch.setattr(lesson, "is_right", lambda scorer, read, one: one.key in accepted)
    labels = dict(lesson.label_pairs(None, read, Example("", text, (soup, noodle))))
    assert labels == {
        place_of(soup): 1, place_of(noodle): 2, place_of(longer): 1, place_of(false): 0,
        place_of(cut): lesson.OTHER_EDGES, ((0, 1), (2, 4)): lesson.OTHER_EDGES,
        ((0, 2), (7, 9)): 0, ((5, 7), (3, 4)): 0,
    }, "the cut aspect, whose edges the scorer refuses, with either opinion"  # fmt: skip


def test_a_later_annotation_finds_its_texts_in_the_first_and_shares_its_fold(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(Path(__file__).parent / "measure"))
    weighing = importlib.import_module("pack_model")
    text = "湯很香"
    first = {"id": "a", "text": text, "triplets": []}
    label = {"aspect": [[0, 1]], "aspect_full": [[0, 1]], "opinion": [[2, 3]], "opinion_full": [[1, 3]]}
    second = [
        {"id": name, "sha256": weighing.digest_of(own), "triplets": [label]} for name, own in (("a", text), ("b", "?"))
    ]
    later = ("own_second.jsonl", "own_third.jsonl", "own_settled.jsonl")
    for name, rows in (("own.jsonl", [first]), *((name, second) for name in later)):
        (tmp_path / name).write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    for name in later:
        (row,) = weighing.read_annotation(tmp_path / name, {})
        assert (row["id"], row["text"]) == ("a", text), "no text of b is at hand"
        assert row["triplets"][0]["opinion_full"] == "很香"

    folds = list[set[str]]()
    monkeypatch.setattr(weighing, "fit_combiner", lambda scorer, reads: folds.append({one.row["id"] for one in reads}))
    monkeypatch.setattr(weighing, "weigh_all", lambda reads, combiner: [])
    monkeypatch.setattr(weighing, "score_limits", lambda *given: (0, 0, 0))
    reads = [SimpleNamespace(row={"id": str(n)}, ruled=()) for n in [*range(7), *range(7)]]
    weighing.combine(None, None, reads, 1, None)
    assert [sorted({str(n) for n in range(7)} - own) for own in folds[:5]] == [
        ["0", "5"],
        ["1", "6"],
        ["2"],
        ["3"],
        ["4"],
    ]


def test_labels_teach_in_the_script_of_their_text_and_overlapping_ones_by_their_cores(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.syspath_prepend(str(Path(__file__).parent / "measure"))
    weighing = importlib.import_module("pack_model")
    variants = make_reader(Recipe()).lexicon.variants
    said = (
        ("菜色", "菜色", "丰富", "很丰富"),
        ("面", "面", "劲道", "劲道"),
        ("里", "这店里", "不精致", "不太精致"),
        ("炸物", "冷掉的炸物", "冷掉", "冷掉"),
        ("处理", "处理", "干脆", "处理得干脆"),
    )
    labels = [dict(zip(weighing.ELEMENTS, own, strict=True)) | {"polarity": "POS"} for own in said]
    row = {"id": "a", "text": "  菜色很丰富，面劲道，这店里不太精致，冷掉的炸物处理得干脆", "triplets": labels}
    example = weighing.make_example(row, variants)
    assert [tuple(getattr(own, name).text for name in weighing.ELEMENTS) for own in example.triplets] == [
        ("菜色", "菜色", "豐富", "很豐富"),
        ("麵", "麵", "勁道", "勁道"),
        ("裡", "這店裡", "不精緻", "不太精緻"),
        ("炸物", "炸物", "冷掉", "冷掉"),
        ("處理", "處理", "乾脆", "乾脆"),
    ]
    elements = [getattr(own, name) for own in example.triplets for name in weighing.ELEMENTS]
    assert elements == [Element.at(example.text, element.spans) for element in elements]


def test_what_one_annotator_alone_has_is_neither_due_nor_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(Path(__file__).parent / "measure"))
    score = importlib.import_module("agreement").score_agreed
    scorer = SimpleNamespace(match=lambda answer, label, strict: answer == label)
    first, second, third = ({"triplets": list(own)} for own in ("abc", "bcd", "de"))
    assert score(scorer, [[first, second]], [["b", "a", "d", "x", "x"]]) == pytest.approx((50, 50, 50))
    assert score(scorer, [[first, second]], [["c", "b", "a"]]) == pytest.approx((100, 100, 100))
    assert score(scorer, [[first, second]], [[]]) == (0, 0, 0)
    assert score(scorer, [[first, second, third]], [["b", "c", "d"]]) == pytest.approx((100, 100, 100))
    assert score(scorer, [[first, second, third]], [["a", "d", "e", "x"]]) == pytest.approx((50, 100 / 3, 40))
    wider = SimpleNamespace(match=lambda answer, label, strict: answer in label)
    short, long = {"triplets": ["b"]}, {"triplets": ["bc"]}
    assert score(wider, [[short, long]], [["b"]]) == score(wider, [[long, short]], [["b"]]) == (100, 100, 100)
