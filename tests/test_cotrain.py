"""Variant E and the panel: what rules and taggers hold together, and that nothing judges what it was trained on."""

from __future__ import annotations

import csv
import json
import math
import shutil
import sqlite3
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from conftest import Built, Command
from test_model import JUDGED, JUDGED_VALID, TINY, TRAIN, VALID, triplet

from builder.core.config import resolve
from builder.core.errors import ConfigError, ModelError
from builder.core.reasons import ReadWord, Reasons
from builder.core.records import POLARITIES, StoredTriplet
from builder.learning.processes import helped, launched, rank
from builder.learning.task import Example, JudgedReview, Progress
from builder.models import cotrain
from builder.models.cotrain import Taggers, fold_of, fresh, load_taggers, merged, together, train_taggers
from builder.models.negatives import discriminator_data
from builder.models.panel import SURE, UNSURE, Noise, Panel, load_panel, noise, save_panel, seen, trusted, unseen
from builder.models.saved import save
from builder.models.trust import ADD, DROP, FIRM, WIDEN, TrustLimits
from builder.models.tuning import TaughtExamples, tune_taggers
from builder.pipeline import judging
from builder.store.triplets import JudgedTriplet

Settings = Callable[..., list[str]]
TEXT = "湯頭很香，麵條難吃"
SOUP = triplet(TEXT, (0, 2), [(2, 4)], "POS")
NOODLE = triplet(TEXT, (5, 7), [(7, 9)], "NEG")
WRONG = triplet(TEXT, (0, 2), [(7, 9)], "NEG")


def test_the_fold_of_a_review_depends_on_its_key_alone_and_folds_are_about_equal() -> None:
    assert [fold_of(f"r{i}", 3) for i in range(5)] == [fold_of(f"r{i}", 3) for i in range(5)]
    sizes = np.bincount([fold_of(f"r{i}", 3) for i in range(3000)])
    assert len(sizes) == 3 and sizes.min() > 900


def test_proposals_of_several_taggers_are_averaged_and_the_heavier_polarity_wins() -> None:
    positive = [(0.8, replace(SOUP, confidence=0.7))]
    negative = [(0.4, replace(SOUP, polarity="NEG", confidence=0.4)), (0.6, NOODLE)]
    found = {t.aspect.text: (chance, t.polarity, t.confidence) for chance, t in together([positive, negative])}
    assert found["湯頭"] == (pytest.approx(0.6), "POS", 0.4)
    assert found["麵條"][:2] == (pytest.approx(0.3), "NEG")
    assert together([positive]) == [(0.8, replace(SOUP, confidence=0.8))]


def test_an_improbable_rule_triplet_goes_and_a_sure_proposal_comes() -> None:
    out = merged([SOUP, WRONG], [True, False], [(0.9, SOUP), (ADD, NOODLE), (0.05, WRONG)], TrustLimits.of(1.0))
    assert [t.key for t in out] == [SOUP.key, NOODLE.key]


def test_without_trust_nothing_is_dropped_added_or_lengthened() -> None:
    proposals = [(1.0, NOODLE), (1.0, LONG)]
    limits = TrustLimits.of(0.0)
    assert limits.place("NX", 0.0, "subject", "POS", 0.0) == "shared", "what nobody may doubt"
    assert merged([SOUP, WRONG], [True, True], proposals, limits) == (SOUP, WRONG)
    assert merged([SHORT], [True], proposals, limits) == (SHORT,)


def test_a_triplet_goes_only_where_the_rules_doubt_it_too() -> None:
    limits = TrustLimits.of(1.0)
    margins = {FIRM: "spared", FIRM - 0.1: "rejected", math.inf: "spared"}
    assert {margin: limits.place("NX", 0.0, "subject", "POS", margin) for margin in margins} == margins
    assert limits.place("NX", DROP, "subject", "POS", 0.0) == "shared"
    assert limits.place("NX", DROP - 1e-9, "subject", "POS", 0.0) == "rejected"
    stored = StoredTriplet(1, 1, SOUP)
    judged = JudgedTriplet(stored, None, "NX", 0.0)
    placed = {name: judging.place(limits, judged, name) for name in ("natural", "paper")}
    assert placed == {"natural": "spared", "paper": "rejected"}, "a convention that weighs nothing is sure of nothing"


def test_a_doubted_polarity_drops_nothing_and_no_neutral_triplet_goes() -> None:
    limits = TrustLimits.of(1.0)
    for polarity in POLARITIES:
        assert limits.place("YN", 0.01, "subject", polarity, 0.0) == "disputed"
    assert limits.place("NX", 0.0, "subject", "NEU", 0.0) == "spared"


def test_a_judge_drops_nothing_of_rules_that_it_may_not_judge() -> None:
    limits = replace(TrustLimits.of(1.0), judged=("subject",))
    assert limits.place("NX", 0.0, "subject", "NEG", 0.0) == "rejected"
    assert limits.place("NX", 0.0, "absent-object", "NEG", 0.0) == "spared"
    assert limits.place("NX", 0.0, "subject", "NEG", FIRM) == "spared"
    assert limits.place("NX", 0.0, "subject", "NEG", math.inf) == "rejected", "a rule that weighs nothing is not firm"


def test_a_proposal_that_the_rules_read_comes_in_from_another_limit() -> None:
    limits = replace(TrustLimits.of(1.0), add=0.5, add_unread=0.8)
    read = replace(NOODLE, reasons=Reasons(ReadWord("難吃", "taste.bad")))
    assert [fresh([], [(0.6, one)], limits) for one in (read, NOODLE)] == [[read], []]
    assert fresh([], [(0.8, NOODLE)], limits) == [NOODLE]


def test_half_the_trust_drops_half_as_far_and_adds_and_lengthens_all_the_same() -> None:
    placed = [TrustLimits.of(trust).place("NX", 0.8 * DROP, "subject", "POS", 0.0) for trust in (1.0, 0.5)]
    assert placed == ["rejected", "shared"]
    for trust in (0.5, 1.0):
        assert merged([], [], [(ADD, NOODLE)], TrustLimits.of(trust)) == (NOODLE,)
        assert merged([], [], [(0.5, NOODLE)], TrustLimits.of(trust)) == ()
        assert [t.aspect.text for t in merged([SHORT], [True], [(0.6, LONG)], TrustLimits.of(trust))] == [
            LONG.aspect.text
        ]


def test_a_proposal_that_clashes_with_a_kept_triplet_stays_out_whatever_its_polarity() -> None:
    other = replace(SOUP, polarity="NEG")
    assert fresh([SOUP], [(0.9, other)], TrustLimits.of(1.0)) == []
    assert merged([SOUP], [True], [(0.9, other)], TrustLimits.of(1.0)) == (SOUP,)


DISH = "三色豆花很綿密，三色豆花便宜"
SHORT, LONG = (triplet(DISH, (start, 4), [(5, 7)], "POS") for start in (2, 0))


def test_an_aspect_that_the_taggers_take_longer_is_longer_and_keeps_the_rest() -> None:
    (out,) = merged([SHORT], [True], [(0.6, replace(LONG, polarity="NEG", valence=2.0))], TrustLimits.of(1.0))
    assert (out.aspect.text, out.opinion.text, out.polarity, out.valence) == ("三色豆花", "綿密", "POS", SHORT.valence)


def test_an_aspect_keeps_its_length_by_an_unlikelier_a_shorter_or_another_proposal() -> None:
    there = triplet(DISH, (8, 12), [(12, 14)], "POS")
    for proposals in ([(cotrain.WIDEN - 0.01, LONG)], [(0.6, LONG), (0.7, SHORT)], [(0.52, there)]):
        assert merged([SHORT], [True], proposals, TrustLimits.of(1.0)) == (SHORT,)
    assert merged([LONG], [True], [(0.6, SHORT)], TrustLimits.of(1.0)) == (LONG,)


def test_an_aspect_grows_over_no_opinion() -> None:
    over = triplet(DISH, (0, 6), [(5, 7)], "POS")
    assert merged([SHORT], [True], [(0.9, over)], TrustLimits.of(1.0)) == (SHORT,)


def test_two_aspects_that_become_the_same_are_one() -> None:
    first = triplet(DISH, (0, 2), [(5, 7)], "POS")
    assert [t.aspect.text for t in merged([first, SHORT], [True, True], [(0.6, LONG)], TrustLimits.of(1.0))] == [
        "三色豆花"
    ]


def test_an_unsure_proposal_stays_out() -> None:
    assert merged([], [], [(ADD - 0.01, NOODLE)], TrustLimits.of(1.0)) == ()


def test_a_panel_that_finds_the_rules_improbable_is_not_trusted(taggers: tuple[Taggers, Path]) -> None:
    for mean in (0.0, 0.4, UNSURE):
        assert trusted(taggers[0], Noise(0.4, 0.15, mean)).trust == 0
    learnt = trusted(taggers[0], Noise(0.04, 0.03, 0.8))
    assert (learnt.trust, learnt.limits.drop, learnt.cut) == (1, DROP, DROP)


def test_a_panel_that_has_read_little_is_trusted_less(taggers: tuple[Taggers, Path]) -> None:
    shares = [trusted(taggers[0], Noise(0.04, 0.06, mean)).trust for mean in (UNSURE, 0.5, 0.55, SURE)]
    assert shares == sorted(set(shares)) and (shares[0], shares[-1]) == (0, 1)
    assert trusted(taggers[0], Noise(0.04, 0.16, 0.5)).cut == 0.16, "confident learning asks for more"


@pytest.fixture(scope="module")
def taggers(tmp_path_factory: pytest.TempPathFactory) -> tuple[Taggers, Path]:
    folder = tmp_path_factory.mktemp("taggers")
    return train_taggers(TRAIN, VALID, 2, TINY, 3, folder), folder


def test_folds_that_share_out_the_threads_give_the_taggers_of_folds_trained_in_turn_on_one_thread(
    taggers: tuple[Taggers, Path], tmp_path: Path
) -> None:
    assert TINY.threads == 1
    assert train_taggers(TRAIN, VALID, 2, replace(TINY, threads=2), 3, tmp_path).digest == taggers[0].digest


def test_on_a_training_review_only_the_tagger_speaks_that_was_not_trained_on_it(taggers: tuple[Taggers, Path]) -> None:
    trained = taggers[0]
    keys, texts = [one.id for one in TRAIN[:12]], [one.text for one in TRAIN[:12]]
    alone = [Taggers((member,)).proposals(texts) for member in trained.members]
    assert alone[0] != alone[1]
    found = trained.apart(keys, texts)
    for i, key in enumerate(keys):
        assert sorted((round(c, 6), t.key) for c, t in found[i]) == sorted(
            (round(c, 6), t.key) for c, t in alone[fold_of(key, 2)][i]
        )


def test_a_review_that_taught_is_judged_by_the_tagger_that_did_not_see_its_labels(
    taggers: tuple[Taggers, Path], tmp_path: Path
) -> None:
    trained = taggers[0]
    text = "醬油碟乾淨，醬油碟可愛"
    label = triplet(text, (0, 3), [(3, 5)], "POS")
    example = Example("taught", text, (label,))
    own, other = fold_of("taught", 2), 1 - fold_of("taught", 2)
    shutil.copytree(taggers[1], tmp_path / "taggers")
    tuned = tune_taggers(trained, TRAIN, TaughtExamples((example,), 400), 3, tmp_path / "taggers")
    chance = [{t.key: c for c, t in Taggers((member,)).proposals([text])[0]} for member in tuned.members]
    assert chance[other].get(label.key, 0.0) > chance[own].get(label.key, 0.0) + 0.2, "the other one learnt it"
    for read in (tuned, load_taggers(tmp_path / "taggers")):
        assert read.digest == tuned.digest != trained.digest and len(read.taught) == 1
        alone = Taggers((read.members[own],)).proposals([text])
        assert read.proposals([text]) == alone == read.apart(["another key"], [text])
        assert read.proposals([TRAIN[0].text]) == Taggers(read.members).proposals([TRAIN[0].text])


def test_labels_without_a_weight_and_a_weight_without_labels_teach_no_tagger(taggers: tuple[Taggers, Path]) -> None:
    trained = taggers[0]
    for taught in (TaughtExamples(tuple(TRAIN[:3]), 0), TaughtExamples((), 10)):
        assert tune_taggers(trained, TRAIN, taught, 3) is trained


def test_a_taught_build_counts_its_labels_and_rates_by_them_until_it_forgets(
    built: Built, here: Command, fast: Settings, tmp_path: Path
) -> None:
    workdir = built.copy(tmp_path)
    resume = ("build", built.reviews, "--workdir", workdir, "--out", tmp_path / "r", "--until", "self_train",
              *fast(self_train__variants='["E"]', evaluate__gold=f'"{built.gold}"'))  # fmt: skip
    with sqlite3.connect(workdir / "builder.db") as connection:
        rows = connection.execute("SELECT key, text FROM reviews WHERE split = 'train' AND text <> ''").fetchmany(5)
    lines = [json.dumps({"id": key, "text": text, "triplets": []}) for key, text in rows]
    lines.append(json.dumps({"id": rows[0][0], "text": "這則評論後來改了", "triplets": []}))
    (workdir / "taught.jsonl").write_text("\n".join(lines), encoding="utf-8")
    counts = []
    for taught in (True, False):
        if not taught:
            assert here("gain", "--workdir", workdir, "--forget").code == 0
            assert not (workdir / "taught.jsonl").exists()
        ran = here(*resume)
        assert ran.code == 0, ran.err
        with sqlite3.connect(workdir / "builder.db") as connection:
            (row_counts,) = connection.execute("SELECT counts FROM runs WHERE stage = 'discriminate'").fetchone()
        counts.append(json.loads(row_counts).get("labelled", 0))
    assert counts == [5, 0], "the review whose text has changed since teaches nothing"


def test_taggers_are_read_back_and_a_missing_one_is_an_error(taggers: tuple[Taggers, Path], tmp_path: Path) -> None:
    trained, folder = taggers
    assert load_taggers(folder).digest == trained.digest
    with pytest.raises(ModelError, match="no readable taggers"):
        load_taggers(tmp_path)


def test_what_the_panel_says_of_a_new_triplet_follows_from_its_sure_proposals(taggers: tuple[Taggers, Path]) -> None:
    texts = [review.text for review in VALID]
    new = 0
    for proposals in taggers[0].proposals(texts):
        sure = [pair for pair in proposals if pair[0] >= WIDEN]
        for added in fresh([], sure, TrustLimits.of(1.0)):
            assert np.array_equal(seen([added], sure), seen([added], proposals))
            new += 1
    assert new > 10


def test_the_panel_keeps_what_is_right_and_rejects_what_is_crossed(taggers: tuple[Taggers, Path]) -> None:
    told = noise(JUDGED, unseen(taggers[0], items_of(JUDGED)))
    assert 0 <= told.share < 0.2
    panel = trusted(taggers[0], told)
    items = [Example(one.id, one.text, tuple(t for t, _ in one.verdicts)) for one in JUDGED_VALID]
    told = [label for labels in panel.classify(items) for label, _ in labels]
    given = [label for one in JUDGED_VALID for _, label in one.verdicts]
    right = [a == b for a, b in zip(told, given, strict=True) if b == "YY"]
    wrong = [a != "YY" for a, b in zip(told, given, strict=True) if b != "YY"]
    assert np.mean(right) > 0.85
    assert np.mean(wrong) > 0.85


def test_noise_is_found_where_a_fifth_of_the_triplets_is_spoilt(taggers: tuple[Taggers, Path]) -> None:
    spoilt = [
        replace(one, triplets=tuple(_flipped(t) for t in one.triplets)) if i % 5 == 0 else one
        for i, one in enumerate(VALID)
    ]
    judged = [discriminator_data(one, 1, hard=True) for one in spoilt]
    told = noise(judged, unseen(taggers[0], items_of(judged)))
    assert 0.1 < told.share < 0.3
    assert 0.1 < told.cut <= 0.5


def items_of(judged: list[JudgedReview]) -> list[Example]:
    return [Example(one.id, one.text, tuple(t for t, _ in one.verdicts)) for one in judged]


def _flipped(one: object) -> object:
    return replace(one, polarity="NEG" if one.polarity == "POS" else "POS")  # type: ignore[type-var, attr-defined]


def test_hard_negatives_are_the_nearest_pairs() -> None:
    text = "湯頭很香，麵條難吃，店員很好，飲料普通"
    at = [((0, 2), [(2, 4)]), ((5, 7), [(7, 9)]), ((10, 12), [(12, 14)]), ((15, 17), [(17, 19)])]
    example = Example("x", text, tuple(triplet(text, aspect, opinion, "POS") for aspect, opinion in at))

    def apart(hard: bool) -> float:
        made = discriminator_data(example, 1, hard=hard)
        return float(np.mean([abs(t.aspect.start - t.opinion.start) for t, label in made.verdicts if label == "NX"]))

    assert apart(True) < apart(False)


def test_a_panel_is_read_back_and_a_foreign_member_is_an_error(taggers: tuple[Taggers, Path], tmp_path: Path) -> None:
    panel = Panel(taggers[0], 0.25, 0.0)
    shutil.copytree(taggers[1], tmp_path / "taggers")
    save_panel(panel, tmp_path)
    assert load_panel(tmp_path).digest == panel.digest
    save(panel.taggers.members[0], tmp_path / "taggers" / "1")
    with pytest.raises(ModelError, match="not those that were trained together"):
        load_panel(tmp_path)


def test_the_profile_paper_has_no_variant_e() -> None:
    with pytest.raises(ConfigError, match='those that the profile "paper" has'):
        resolve(options={"profile": "paper", "paper.base": "x", "self_train.variants": ("E",)})


def test_variant_e_needs_the_cross_fitted_judge() -> None:
    with pytest.raises(ConfigError, match="which variant E starts from"):
        resolve(options={"self_train.variants": ("E",), "discriminate.mode": "paper"})


def test_a_build_with_variant_e_keeps_the_rules_stories_and_extracts_what_both_hold(
    built: Built, here: Command, fast: Settings, tmp_path: Path
) -> None:
    workdir = built.copy(tmp_path)
    ran = here(
        "build",
        built.reviews,
        "--workdir",
        workdir,
        "--out",
        tmp_path / "r",
        *fast(self_train__variants='["E"]', evaluate__gold=f'"{built.gold}"'),
    )
    assert ran.code == 0, ran.err
    with sqlite3.connect(workdir / "builder.db") as connection:
        assert connection.execute("SELECT round FROM rounds WHERE variant = 'E'").fetchall() == [(0,)]
        of = (
            "SELECT p.triplet FROM proposals p JOIN sources s ON s.id = p.source AND s.name = 'E0'"
            " JOIN triplets t ON t.id = p.triplet JOIN reviews r ON r.id = t.review AND r.split = 'train'"
        )
        held = set(connection.execute(of))
        assert held == set(connection.execute("SELECT triplet FROM training_sets WHERE variant = 'E' AND round = 0"))
        assert len(held) > 50
    with built.reviews.open(encoding="utf-8-sig", newline="") as file:
        texts = [row["text"] for row in csv.DictReader(file) if row["text"].strip()][:20]
    lines = tmp_path / "in.jsonl"
    lines.write_text(
        "".join(json.dumps({"id": i, "text": text}) + "\n" for i, text in enumerate(texts)), encoding="utf-8"
    )
    for system in ("E", "E0"):
        ran = here(
            "extract", "--input", lines, "--output", tmp_path / "out.jsonl", "--source", system, "--workdir", workdir
        )
        assert ran.code == 0, ran.err
        rows = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text(encoding="utf-8").splitlines()]
        assert [row["id"] for row in rows] == list(range(len(texts)))
        assert {t["source"] for row in rows for t in row["triplets"]} <= {"E0"}


def note_rank(progress: Progress | None, arguments: tuple[Path]) -> None:
    """What a process does beside this one."""
    (folder,) = arguments
    assert progress is None and launched() == 3
    if not folder.is_dir():
        raise ValueError("no such folder")
    (folder / str(rank())).touch()


def test_other_processes_do_their_parts_beside_this_one(tmp_path: Path) -> None:
    with helped(note_rank, (tmp_path,), 3) as check:
        check()
        assert (rank(), launched()) == (0, 1)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["1", "2"]


def test_an_error_beside_this_process_is_one_of_its_own(tmp_path: Path) -> None:
    def wait() -> None:
        with helped(note_rank, (tmp_path / "none",), 3) as check:
            while not check():
                pass

    with pytest.raises(ModelError, match="a training process failed: ValueError: no such folder"):
        wait()
