"""Taggers that read what the rules read, the model of a domain's pack, and builds that it judges."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pytest
import torch
from conftest import ROOT, Command, small_input
from test_model import TINY, TRAIN

from builder import Extractor
from builder.core.errors import ConfigError, ModelError
from builder.core.records import POLARITIES
from builder.engine import Doc
from builder.engine.reader import Reader, Recipe, make_reader
from builder.engine.reading import RuleReader
from builder.language.lexicon.folders import SHIPPED, Folders
from builder.learning.encode import collate, encode_all
from builder.models.cotrain import Taggers, load_taggers, save_taggers
from builder.models.informed import KINDS, InformedFoundation, make_rows
from builder.models.panel import load_panel
from builder.models.saved import load, save
from builder.models.shipped import copy_model, open_model
from builder.models.tagger import Tagger, propose, train_tagger
from builder.models.trust import Calibration, Curve, TrustLimits, load_calibration, to_kept
from builder.store import db, runs, triplets
from builder.store import reviews as stored

LIMITS = TrustLimits(drop=0.0, add=0.3, widen=0.5, firm=2.0)
TEXTS = ["湯頭不會太鹹，麵條很難吃", "\U0001f35c 湯頭很香\U0001f44d", "今天下雨"]


@pytest.fixture(scope="module")
def reader() -> Reader:
    return make_reader(Recipe())


@pytest.fixture(scope="module")
def rules(reader: Reader) -> RuleReader:
    return RuleReader(reader.lexicon, SHIPPED.load_rules())


@pytest.fixture(scope="module")
def tagger(tmp_path_factory: pytest.TempPathFactory) -> Tagger:
    foundation = InformedFoundation.of((example.text for example in TRAIN), 1)
    config = replace(TINY, epochs=4)
    return train_tagger(TRAIN[:120], [], config, 1, tmp_path_factory.mktemp("informed"), foundation=foundation)


@pytest.fixture(scope="module")
def pack(tagger: Tagger, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The restaurant's pack with a tiny model."""
    folder = tmp_path_factory.mktemp("packs") / "eating"
    shutil.copytree(ROOT / "domains" / "restaurant", folder, ignore=shutil.ignore_patterns("model"))
    save(tagger, folder / "model" / "0")
    save(tagger, folder / "model" / "1")
    save_taggers(Taggers((tagger, tagger)), folder / "model")
    calibration = Calibration.of(Curve(((0.0, 0.5), (1.0, 0.9)), "a test"))
    judge = {"limits": asdict(LIMITS), "calibration": to_kept(calibration)}
    (folder / "model" / "judge.json").write_text(json.dumps(judge), encoding="utf-8")
    return folder


@pytest.mark.parametrize("text", TEXTS)
def test_a_reading_holds_the_triplets_of_the_engine_and_what_was_weighed(
    text: str, reader: Reader, rules: RuleReader
) -> None:
    (read,) = reader.read([text])
    reading = rules.read(read.doc)
    assert reading.triplets == reader.engine.extract(read.doc)
    opinions = [item for item in reading.items if item.phrase is not None]
    assert set(reading.values) <= {item.start for item in opinions}
    assert {opinion.start for opinion, _ in reading.weighed} <= {item.start for item in opinions}
    assert rules.read(read.doc) == reading, "nothing of a document stays for the next one"


def test_labels_say_unit_and_part_and_a_pair_its_polarity(reader: Reader, rules: RuleReader) -> None:
    (read,) = reader.read(["湯頭不會太鹹，麵條很難吃"])
    rows = make_rows(read.doc, rules.read(read.doc))
    assert rows.labels.shape == (12, len(KINDS))
    assert (rows.labels < np.array(KINDS)).all(), "each label has a vector"
    assert rows.labels[:2, 1:3].all(), "湯頭 has a class"
    assert rows.labels[5, 3] and not rows.labels[6, 3], "鹹 has a worth, and ， has none"
    noodle, bad = rows.aspect[8], rows.opinion[11]
    assert noodle and bad
    found = {channel for aspect, opinion, channel in rows.cells.tolist() if (aspect, opinion) == (noodle, bad)}
    assert POLARITIES.index("NEG") in found and POLARITIES.index("POS") not in found


def test_a_text_without_a_judgement_has_no_pair(reader: Reader, rules: RuleReader) -> None:
    (read,) = reader.read(["今天下雨"])
    rows = make_rows(read.doc, rules.read(read.doc))
    assert not len(rows.cells) and not rows.aspect.any() and not rows.opinion.any()
    empty = make_rows(Doc.of("", ()), rules.read(Doc.of("", ())))
    assert empty.labels.shape == (0, len(KINDS))


def test_a_batch_looks_pairs_up_by_the_characters_of_their_spans(tagger: Tagger) -> None:
    encoder = tagger.foundation.make_encoder(tagger.config)
    encoded = encode_all(encoder, TEXTS[:2])
    batch = collate(encoded)
    assert batch.rules is not None and encoded[0].rules is not None
    row, aspect, opinion = torch.tensor([0, 0]), torch.tensor([8, 0]), torch.tensor([11, 11])
    right, wrong = batch.rules.look_up(row, aspect, opinion)
    assert right[POLARITIES.index("NEG")] == 1
    assert not wrong[: len(POLARITIES)].any(), "湯頭 is not 難吃"
    single = encoder(TEXTS[1]).rules
    assert single is not None and encoded[1].rules is not None
    assert (single.labels == encoded[1].rules.labels).all(), "texts that are read together are read alike"


def test_an_informed_tagger_is_the_same_after_saving_and_finds_what_it_learnt(tagger: Tagger, tmp_path: Path) -> None:
    save(tagger, tmp_path)
    again = load(tmp_path)
    assert isinstance(again, Tagger) and isinstance(again.foundation, InformedFoundation)
    assert again.digest == tagger.digest
    texts = [example.text for example in TRAIN[:40]]
    one, two = (propose(t.network, t.foundation, t.config, texts, 0.1) for t in (tagger, again))
    assert one == two and any(one)
    due = sum(len(example.triplets) for example in TRAIN[:40])
    sure = [{(t.aspect, t.polarity) for chance, t in own if chance > 0.5} for own in one]
    pairs = zip(TRAIN[:40], sure, strict=True)
    hits = sum((t.aspect, t.polarity) in own for example, own in pairs for t in example.triplets)
    assert hits > 0.8 * due


def test_a_pack_may_ship_a_model_and_other_words_have_none(pack: Path, tmp_path: Path) -> None:
    folders = Folders(domain=str(pack))
    assert folders.model == pack / "model" and folders.model_digest
    assert Folders(domain=str(pack), lexicons=ROOT / "lexicons").model is None, "it is no judge of other words"
    assert Folders(domain="none").model is None and not Folders(domain="none").model_digest
    panel = open_model(pack / "model", folders)
    assert panel.limits == LIMITS and panel.trust == 1
    foundation = panel.taggers.members[0].foundation
    assert isinstance(foundation, InformedFoundation) and foundation.folders == folders
    copied = copy_model(pack / "model", tmp_path, folders)
    again = load_panel(tmp_path)
    assert again.digest == copied.digest and again.own_calibration == copied.own_calibration and again.limits == LIMITS
    assert len(load_taggers(tmp_path / "taggers").members) == 2


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"limits": {"drop": "x"}}', '{"limits": {}, "calibration": {}}'])
def test_broken_limits_of_a_model_are_an_error_that_names_the_file(content: str, pack: Path, tmp_path: Path) -> None:
    shutil.copytree(pack / "model", tmp_path / "model")
    (tmp_path / "model" / "judge.json").write_text(content, encoding="utf-8")
    with pytest.raises(ModelError, match=r"judge\.json: no readable limits"):
        open_model(tmp_path / "model", SHIPPED)


def test_a_small_build_is_judged_by_the_packs_model_and_extract_finds_what_it_holds(
    pack: Path, here: Command, tmp_path: Path
) -> None:
    reviews, _ = small_input(tmp_path)
    workdir, common = tmp_path / "w", ("--workdir", tmp_path / "w", "--out", tmp_path / "r")
    built = here("build", reviews, *common, "--domain", pack, "--set", "workers=1", "--set", "threads=1")
    assert built.code == 0, built.err
    with db.reading(workdir) as connection:
        judge, rules = (triplets.source_id(connection, name) for name in ("discriminator", "rules"))
        assert judge is not None and rules is not None
        proposed = sum(1 for split in ("train", "valid", "test") for _ in triplets.proposed(connection, rules, split))
        assert sum(triplets.label_counts(connection, judge).values()) >= proposed > 0
    manifest = json.loads(next((tmp_path / "r").glob("v*/manifest.json")).read_text(encoding="utf-8"))
    assert "the model that the domain ships" in manifest["panel"]
    card = next((tmp_path / "r").glob("v*/README.md")).read_text(encoding="utf-8")
    assert "trained on other reviews" in card
    assert "rules and shipped model together" in card and "cross-fitting" not in card
    again = here("resume", "--workdir", workdir, "--out", tmp_path / "r")
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
    with pytest.raises(ConfigError, match="no model is shipped for the domain none"):
        Extractor(domain="none", source="E")
    with pytest.raises(ConfigError, match="no source is called 'F'"):
        Extractor(source="F")  # type: ignore[arg-type]


def test_labels_of_the_user_leave_the_packs_model_as_it_is_and_move_its_confidence(
    pack: Path, here: Command, tmp_path: Path
) -> None:
    reviews, _ = small_input(tmp_path)
    workdir, common = tmp_path / "w", ("--workdir", tmp_path / "w", "--out", tmp_path / "r")
    settings = ("--domain", pack, "--set", "workers=1", "--set", "threads=1")
    assert here("build", reviews, *common, *settings).code == 0
    panel = workdir / "models" / "panel"
    before, measured = load_panel(panel), load_calibration(panel)
    with db.reading(workdir) as connection:
        judged = runs.runs(connection)["discriminate"]
        known = [(r.key, r.text) for split in ("train", "valid", "test") for r in stored.in_split(connection, split)]
    lines = [json.dumps({"id": key, "text": text, "triplets": []}) for key, text in known]
    (workdir / "taught.jsonl").write_text("\n".join(lines), encoding="utf-8")
    again = here("run", "self_train", "--workdir", workdir)
    assert again.code == 0, again.err
    assert load_panel(panel).digest == before.digest
    lowered = load_calibration(panel)
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
        "open_model(SHIPPED.model, SHIPPED)\nprint('torch._dynamo' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout.strip() == "False"
