"""The shipped reader, what weighs it and the rules in a domain, and builds that both judge."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from dataclasses import asdict, replace
from pathlib import Path

import pytest
import torch
from click.testing import CliRunner
from conftest import ROOT, Command, small_input

from builder import Extractor
from builder.cli.main import cli
from builder.core.errors import ConfigError, ModelError
from builder.language.lexicon.folders import SHIPPED, Folders
from builder.language.lexicon.packs import reader_folder
from builder.learning.checkpoint import pack_weights, read_tensors, unpack_weights
from builder.learning.devices import has_fast_bf16
from builder.models.shipped import copy_model, load_model, open_model, open_reader, reader_digest
from builder.models.trust import Calibration, Curve, TrustLimits, load_calibration, to_kept
from builder.store import db, runs, triplets
from builder.store import reviews as stored

LIMITS = TrustLimits(0.3, ())


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


@pytest.mark.parametrize(
    ("domain", "weighed"), [("none", "_common"), ("laptop", "restaurant"), ("hotels", "restaurant")]
)
def test_a_domain_without_a_model_of_its_own_is_weighed_by_how_strong_its_words_are(domain: str, weighed: str) -> None:
    model = Folders(domain=domain).model
    assert model == ROOT / "domains" / weighed / "model"
    named = json.loads((model / "judge.json").read_text(encoding="utf-8"))["reader"]
    assert named == reader_digest(open_reader()) == reader_digest(open_model(model).reader)


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


def test_a_processor_with_matrix_units_reads_in_bfloat16_unless_told_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    cpu = torch.device("cpu")
    monkeypatch.delenv("BUILDER_PRECISION", raising=False)
    for has_units in (True, False):
        monkeypatch.setattr(torch.cpu, "_is_amx_tile_supported", lambda answer=has_units: answer)
        assert has_fast_bf16(cpu) is has_units
    monkeypatch.setattr(torch.cpu, "_is_amx_tile_supported", lambda: True)
    monkeypatch.setenv("BUILDER_PRECISION", "fp32")
    assert not has_fast_bf16(cpu) and has_fast_bf16(torch.device("cuda"))


def test_the_shipped_model_takes_40_megabytes_at_most() -> None:
    files = [path for path in (ROOT / "domains").rglob("model/**/*") if path.is_file()]
    assert sum(path.stat().st_size for path in files) < 40_000_000


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"limits": {"limit": "x"}}', '{"limits": {}, "calibration": {}}'])
def test_broken_limits_of_a_model_are_an_error_that_names_the_file(content: str, pack: Path, tmp_path: Path) -> None:
    shutil.copytree(pack / "model", tmp_path / "model")
    (tmp_path / "model" / "judge.json").write_text(content, encoding="utf-8")
    with pytest.raises(ModelError, match=r"judge\.json: no readable limits"):
        open_model(tmp_path / "model")


@pytest.fixture(scope="module")
def judged(pack: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a small build that the pack's model judged: w and r."""
    folder = tmp_path_factory.mktemp("judged")
    reviews, _ = small_input(folder)
    words = ["build", reviews, "--workdir", folder / "w", "--out", folder / "r", "--domain", pack]
    done = CliRunner().invoke(cli, [*map(str, words), "--set", "workers=1", "--set", "threads=1"])
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


def test_few_texts_are_read_on_one_thread_and_many_give_the_same_triplets(monkeypatch: pytest.MonkeyPatch) -> None:
    threads: list[int] = []
    before = torch.set_num_threads
    monkeypatch.setattr(torch, "set_num_threads", lambda count: (threads.append(count), before(count))[1])
    extract = Extractor(source="E")
    texts = [f"湯頭很濃郁，可是服務態度不好，第{number}次來了" for number in range(18)]
    threads.clear()
    alone = [extract(text) for text in texts[:3]]
    assert threads[::2] == [1] * len(alone)
    threads.clear()
    together = list(extract.stream(texts))[: len(alone)]
    assert threads[0] > 1
    assert [[str(one) for one in document] for document in alone] == [
        [str(one) for one in document] for document in together
    ]
    sure = [[one.confidence for document in given for one in document] for given in (alone, together)]
    assert sure[0] == pytest.approx(sure[1], abs=0.02)


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


def test_opening_a_model_imports_no_compiler() -> None:
    """torch.use_deterministic_algorithms would: two seconds and 70 MB in every process that reads with a model."""
    program = (
        "import sys\nfrom builder.language.lexicon.folders import SHIPPED\n"
        "from builder.models.shipped import open_model\n"
        "open_model(SHIPPED.model)\nprint('torch._dynamo' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout.strip() == "False"
