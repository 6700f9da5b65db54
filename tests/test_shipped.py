"""The shipped reader, what weighs it and the rules in a domain, and builds that both judge."""

from __future__ import annotations

import json
import math
import shutil
import subprocess
import sys
from dataclasses import asdict, astuple, replace
from pathlib import Path

import pytest
import torch
from conftest import ROOT, Command, invoke, small_input
from measure.packed import pack_weights

from builder import Extractor
from builder.core.config import resolve
from builder.core.errors import BuilderError, ConfigError, ModelError, install_command
from builder.core.records import Element, Triplet
from builder.core.settings import Config
from builder.language.lexicon.folders import SHIPPED, Folders
from builder.language.lexicon.packs import reader_folder
from builder.learning.checkpoint import read_tensors, unpack_weights
from builder.learning.task import Example
from builder.models import kinds
from builder.models.numpy_reader import open_numpy_reader
from builder.models.saved import load
from builder.models.shipped import copy_model, load_model, open_model, open_reader, reader_digest
from builder.models.tagger import Tagger
from builder.models.text_reading import place_of
from builder.models.trust import STANDINGS, Calibration, Curve, TrustLimits, load_calibration, read_calibration, to_kept
from builder.store import db, runs, triplets
from builder.store import reviews as stored

LIMITS = TrustLimits(0.3, 0.2, ())


@pytest.fixture(scope="module")
def pack(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The restaurant's pack with limits of its own."""
    folder = tmp_path_factory.mktemp("packs") / "eating"
    shutil.copytree(ROOT / "domains" / "restaurant", folder)
    judge = json.loads((folder / "model" / "judge.json").read_text(encoding="utf-8"))
    calibration = Calibration.of(Curve(((0.0, 0.5), (1.0, 0.9)), "a test"))
    judge |= {"limits": asdict(LIMITS), "calibration": to_kept(calibration)}
    (folder / "model" / "judge.json").write_text(json.dumps(judge), encoding="utf-8")
    return folder


def test_a_pack_may_bring_its_own_limits_and_other_words_have_no_model(pack: Path, tmp_path: Path) -> None:
    folders = Folders(domain=str(pack))
    assert folders.model == pack / "model" and folders.model_digest != SHIPPED.model_digest
    assert Folders(domain=str(pack), lexicons=ROOT / "lexicons").model is None, "it is no judge of other words"
    model = open_model(pack / "model")
    assert model.limits == LIMITS
    copied, again = copy_model(pack / "model", tmp_path), load_model(tmp_path)
    assert again.digest == copied.digest == model.digest and again.calibration == model.calibration
    assert again.combiner == model.combiner and again.reader.digest == open_reader().digest
    assert replace(model, limits=replace(LIMITS, limit=0.1)).digest != model.digest


@pytest.mark.parametrize(("domain", "weighed"), [("none", "_common"), ("hotels", "restaurant")])
def test_a_domain_without_a_model_of_its_own_is_weighed_by_how_strong_its_words_are(domain: str, weighed: str) -> None:
    model = Folders(domain=domain).model
    assert model == ROOT / "domains" / weighed / "model"
    named = json.loads((model / "judge.json").read_text(encoding="utf-8"))["reader"]
    assert named == reader_digest(open_reader()) == reader_digest(open_model(model).reader)


def test_a_pack_may_change_one_number_of_a_shipped_domain(tmp_path: Path) -> None:
    laptop, below = Folders(domain="laptop"), open_model(SHIPPED.model or Path())
    model = open_model(laptop.model or Path())
    assert model.combiner == replace(below.combiner, edge_margin=2.0) and model.limits == below.limits
    assert model.calibration == below.calibration and model.digest != below.digest
    copied = copy_model(laptop.model or Path(), tmp_path)
    assert copied.digest == load_model(tmp_path).digest == model.digest, "a working directory needs no pack"


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        ({"over": "restaurant", "combiner": {"edge margins": 2.0}}, "unknown weights: edge margins"),
        ({"over": "restaurant", "combiner": 2.0}, "no readable limits"),
        (
            {"over": "restaurant", "combiner": {"edge margin": math.nan}},
            "judge.json: .*: not finite: edge margin; correct",
        ),
        ({"over": "restaurant", "combiner": {"ruled": "1e400"}}, "not finite: ruled"),
        ({"over": "restaurant", "combiner": {"offset": -math.inf}}, "not finite: offset"),
        ({"over": "restaurant", "combiner": {"offset": 10**400}}, "no readable limits"),
        ({"over": "restaurant", "combine": {}}, "unknown keys: combine; known: calibration, combiner, limits, reader$"),
        ({"over": "restaurant", "limits": {"limits": 1}}, "unknown keys in limits: limits; known in limits: dropped,"),
        ({"over": "restaurant", "limits": {"dropped": math.nan}}, "a limit is no number: .*nan; correct"),
        ({"over": "restaurant", "calibration": {"curves": {"shared": [[0.5, math.inf]]}}}, "or one that is no number"),
        ({"over": "restaurant", "calibration": {"curves": {"shared": []}}}, "a curve has no knots"),
        (
            {"over": "restaurant", "calibration": {"curves": {"shared": [[0.2, 0.5], [0.5, 1.5]]}}},
            "a curve has a chance outside 0 to 1: 1.5; correct",
        ),
        (
            {"over": "restaurant", "calibration": {"curves": {"shared": [[0.0, -0.1]]}}},
            "a curve has a chance outside 0 to 1: -0.1",
        ),
        (
            {"over": "restaurant", "calibration": {"curves": {"shared": [[0.5, 0.6], [0.2, 0.9]]}}},
            "the knots of a curve do not rise: .*0.5, 0.6.*0.2, 0.9",
        ),
        (
            {"over": "restaurant", "calibration": {"curves": {"shared": [[0.2, 0.6], [0.2, 0.9]]}}},
            "the knots of a curve do not rise",
        ),
        (
            {"over": "restaurant", "calibration": {"curves": {"shared": [[0.2, 0.6], [0.5, 0.4]]}}},
            "the knots of a curve do not rise",
        ),
        ({"over": "restaurant", "limits": {"judged": "subject"}}, "'judged' is no list of rules: 'subject'; correct"),
        ({"over": "restaurant", "limits": {"judged": ["subject", 7]}}, "'judged' is no list of rules: .*7"),
        ({"over": "restaurant", "calibration": {"curve": {}}}, "unknown keys in calibration: curve"),
        ({"over": "restaurants"}, "'restaurants' is no shipped domain"),
        ({"over": ["restaurant"]}, "is no shipped domain"),
    ],
)
def test_a_change_that_no_model_knows_is_an_error(content: object, fault: str, tmp_path: Path) -> None:
    (tmp_path / "judge.json").write_text(json.dumps(content), encoding="utf-8")
    with pytest.raises(BuilderError, match=fault):
        open_model(tmp_path)


def test_each_limit_is_a_number_by_itself_and_a_curve_may_be_level() -> None:
    assert TrustLimits.read({"limit": 1e308, "dropped": 1e308, "judged": ["subject"]}).judged == ("subject",)
    curves = {standing: [[0.2, 0.6], [0.5, 0.6]] for standing in STANDINGS}
    assert read_calibration({"curves": curves, "source": "a test"}).rate("model", 0.3) == 0.6


def test_limits_that_were_measured_with_another_reader_are_refused(pack: Path, tmp_path: Path) -> None:
    judge = json.loads((pack / "model" / "judge.json").read_text(encoding="utf-8"))
    (tmp_path / "judge.json").write_text(json.dumps(judge | {"reader": "0" * 16}), encoding="utf-8")
    with pytest.raises(ModelError, match="measured with another reader"):
        open_model(tmp_path)


def test_packed_weights_are_near_what_they_were_and_pack_alike_again() -> None:
    packed, _ = read_tensors(reader_folder() / "weights.safetensors")
    weights = unpack_weights(packed)
    assert sum(tensor.numel() for tensor in weights.values()) > 10_000_000
    again = unpack_weights(pack_weights(weights))
    assert weights.keys() == again.keys()
    for name, tensor in weights.items():
        assert (tensor.float() - again[name].float()).abs().max() <= tensor.float().abs().max() / 127, name


def test_matrices_that_began_as_others_are_packed_as_what_they_learnt_since() -> None:
    first = torch.randn(128, 256, generator=torch.Generator().manual_seed(1))
    later = first + 0.01 * torch.randn(128, 256, generator=torch.Generator().manual_seed(2))
    packed = pack_weights({"a": first, "b": later}, {"b": "a"})
    assert sum(tensor.nbytes for name, tensor in packed.items() if name.startswith("b")) == 128 * (128 + 4)
    whole, apart = unpack_weights(packed), unpack_weights(pack_weights({"a": first, "b": later}))
    assert list(whole) == ["a", "b"] and (whole["a"] - first).abs().max() <= first.abs().max() / 254
    error, before = (float((one["b"] - later).square().mean()) for one in (whole, apart))
    assert error < before / 4, "what was learnt is small: its 4 bits say more than 8 of the whole"


def test_the_shipped_model_takes_40_megabytes_at_most() -> None:
    files = [path for path in (ROOT / "domains").rglob("model/**/*") if path.is_file()]
    assert sum(path.stat().st_size for path in files) < 40_000_000


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"limits": {"limit": "x"}}', '{"limits": {}, "calibration": {}}'])
def test_broken_limits_of_a_model_are_an_error_that_names_the_file(content: str, pack: Path, tmp_path: Path) -> None:
    shutil.copytree(pack / "model", tmp_path / "model")
    (tmp_path / "model" / "judge.json").write_text(content, encoding="utf-8")
    with pytest.raises(ModelError, match=r"judge\.json: no readable limits"):
        open_model(tmp_path / "model")
    with pytest.raises(ModelError, match=r"judge\.json: no readable limits"):
        copy_model(tmp_path / "model", tmp_path / "copy")


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"[]", "a value is of another type, such as a number in place of a table; correct or remove it"),
        (b"{}", "it lacks 'limits'; correct or remove it"),
        (b"{", "Expecting property name enclosed in double quotes: .*; correct or remove it"),
        ("\n湯".encode("big5"), "line 2 is not UTF-8; save it as UTF-8"),
    ],
)
def test_a_broken_model_of_ones_own_says_in_words_what_to_do(content: bytes, words: str, tmp_path: Path) -> None:
    (tmp_path / "judge.json").write_bytes(content)
    with pytest.raises(ModelError, match=f"another version of builder: {words}$"):
        open_model(tmp_path)
    taught = tmp_path / "taught"
    taught.mkdir()
    (taught / "judge.json").write_bytes(b"{}")
    with pytest.raises(ModelError, match="; teach the working directory again with"):
        open_model(taught)


@pytest.fixture(scope="module")
def judged(pack: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a small build that the pack's model judged: w and r."""
    folder = tmp_path_factory.mktemp("judged")
    reviews, _ = small_input(folder)
    places = ("--workdir", folder / "w", "--out", folder / "r", "--domain", pack)
    done = invoke("build", reviews, *places, "--set", "workers=1", "--set", "threads=1")
    assert done.exit_code == 0, (done.output, done.exception)
    return folder


def test_a_small_build_is_judged_by_the_packs_model_and_extract_finds_what_it_holds(
    pack: Path, judged: Path, here: Command
) -> None:
    workdir, releases = judged / "w", judged / "r"
    with db.reading(workdir) as connection:
        judge, rules = (triplets.source_id(connection, name) for name in ("discriminator", "rules"))
        assert judge is not None and rules is not None
        proposed = sum(1 for split in ("train", "valid", "test") for _ in triplets.proposed(connection, rules, split))
        assert sum(triplets.label_counts(connection, judge).values()) >= proposed > 0
    manifest = json.loads(next(releases.glob("v*/manifest.json")).read_text(encoding="utf-8"))
    assert "the model that builder ships" in manifest["panel"]
    card = next(releases.glob("v*/README.md")).read_text(encoding="utf-8")
    assert "taught by other reviews" in card
    assert "rules and shipped model together" in card and "cross-fitting" not in card
    again = here("resume", "--workdir", workdir, "--out", releases)
    assert again.code == 0 and "Nothing has changed" in again.out
    text = "湯頭很香，麵條很難吃"
    lines = [
        here("extract", text, "--source", "E", "--format", "jsonl", *more).out
        for more in (("--domain", pack), ("--workdir", workdir))
    ]
    found = [json.loads(line)["triplets"] for line in lines]
    assert [[(t["aspect"], t["opinion"]) for t in own] for own in found] == 2 * [[("湯頭", "香"), ("麵條", "難吃")]]


def test_an_extractor_with_the_model_has_confidences_and_one_without_a_model_says_so(pack: Path) -> None:
    document = Extractor(domain=pack, source="E")("湯頭很香，麵條很難吃")
    assert [t.aspect.text for t in document] == ["湯頭", "麵條"]
    assert all(t.confidence is not None and 0.5 <= t.confidence <= 0.9 for t in document)
    with pytest.raises(ConfigError, match="no model is shipped for the domain restaurant and the convention paper"):
        Extractor(convention="paper", source="E")
    with pytest.raises(ConfigError, match="no source is called 'F'"):
        Extractor(source="F")  # type: ignore[arg-type]


def test_few_texts_and_many_give_the_same_triplets() -> None:
    extract = Extractor(source="E")
    texts = [f"湯頭很濃郁，可是服務態度不好，第{number}次來了" for number in range(18)]
    for text, together in zip(texts[:3], extract.stream(texts), strict=False):
        alone = extract(text)
        assert [str(one) for one in alone] == [str(one) for one in together]
        assert [one.confidence for one in alone] == pytest.approx([one.confidence for one in together], abs=0.001)


def test_numpy_reads_what_torch_reads() -> None:
    rows = (ROOT / "tests/golden/sample/data/train.jsonl").read_text(encoding="utf-8").splitlines()[:10]
    texts = [json.loads(row)["text"] for row in rows]
    texts += ["", "好", "\ud800店員\U0001f60b", "湯頭濃郁，麵條難吃。" * 55]
    asked = Triplet(
        Element.at(texts[-1], [(0, 2)]), Element.at(texts[-1], [(0, 2)]), Element.at(texts[-1], [(7, 9)]),
        Element.at(texts[-1], [(7, 9)]), "POS", 8.0,
    )  # fmt: skip
    items = [Example("", text, (asked,) if text == texts[-1] else ()) for text in texts]
    tagger = load(reader_folder())
    assert isinstance(tagger, Tagger)
    tagger = replace(tagger, config=replace(tagger.config, threads=1))
    by_torch, by_numpy = tagger.read(items, 0.02), open_numpy_reader(reader_folder()).read(items, 0.02)
    assert sum(len(one.proposals) for one in by_numpy) > 150
    for one, other in zip(by_torch, by_numpy, strict=True):
        due, made = ({t.key: chance for chance, t in own.proposals} for own in (one, other))
        for key in due.keys() | made.keys():
            assert made.get(key, 0.02) == pytest.approx(due.get(key, 0.02), abs=1e-3)  # 0.02: one is just below
        for place in one.odds.keys() & other.odds.keys():
            told, odds = other.odds[place], one.odds[place]
            assert astuple(told)[:3] == pytest.approx(astuple(odds)[:3], abs=1e-2)
            assert told.polarities == pytest.approx(odds.polarities, abs=1e-2)
            assert len(odds.marked) == 5 and told.marked == pytest.approx(odds.marked, abs=1e-2)
    assert place_of(asked) in by_numpy[-1].odds


def test_a_sentence_is_read_without_torch() -> None:
    """Its import takes longer than the rest."""
    program = (
        "import sys\nfrom builder import Extractor\n"
        "print(len(Extractor(source='E')('湯頭很濃郁，可是服務態度不好')), 'torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout.split() == ["2", "False"]


@pytest.mark.parametrize(
    ("settings", "what"),
    [
        ({"self_train.variants": ("C", "E")}, "variant C needs torch"),
        ({"self_train.variants": ("A",), "discriminate.mode": "paper"}, 'discriminate.mode = "paper" needs torch'),
        ({"profile": "encoder", "encoder.base": "a-base"}, "the profile encoder needs torch"),
    ],
)
def test_what_trains_says_before_it_begins_that_torch_is_not_there(
    settings: dict[str, object], what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kinds, "find_spec", lambda name: None)
    kinds.check(Config())
    with pytest.raises(ModelError, match=what) as caught:
        kinds.check(resolve(None, settings).config)
    assert caught.value.fix == install_command("paper" if "profile" in settings else "train")


def test_labels_of_the_user_leave_the_packs_model_as_it_is_and_move_its_confidence(
    judged: Path, here: Command, tmp_path: Path
) -> None:
    workdir = Path(shutil.copytree(judged / "w", tmp_path / "w"))
    folder = workdir / "models" / "shipped"
    before, measured = load_model(folder), load_calibration(folder)
    with db.reading(workdir) as connection:
        judged = runs.runs(connection)["discriminate"]
        known = [(r.key, r.text) for split in ("train", "valid", "test") for r in stored.in_split(connection, split)]
    lines = [json.dumps({"id": key, "text": text, "triplets": []}) for key, text in known]
    (workdir / "taught.jsonl").write_text("\n".join(lines), encoding="utf-8")
    again = here("run", "self_train", "--workdir", workdir)
    assert again.code == 0, again.err
    assert load_model(folder).digest == before.digest
    lowered = load_calibration(folder)
    assert measured and lowered
    rated = [[kept.rate("shared", score) for score in (0.2, 0.5, 0.9)] for kept in (lowered, measured)]
    assert all(low < high for low, high in zip(*rated, strict=True)), "by the labels nothing is right"
    with db.reading(workdir) as connection:
        assert runs.runs(connection)["discriminate"] == judged, "what labels do not change need not run again"
