"""The panel's arithmetic and variant E's limits, at their edges: on made proposals, without a trained tagger."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from test_model import triplet

from builder.core.edges import clashes
from builder.core.records import Triplet
from builder.learning.task import Example, JudgedReview, TaggerConfig
from builder.models import cotrain
from builder.models.cotrain import Taggers, fold_of, fresh, held, merged, together, train_taggers, widened
from builder.models.panel import SURE, UNSURE, Noise, Panel, noise, seen, trusted
from builder.models.trust import ADD, DROP, WIDEN, TrustLimits

TEXT = "湯頭很香，麵條難吃"
SOUP = triplet(TEXT, (0, 2), [(2, 4)], "POS")
NOODLE = triplet(TEXT, (5, 7), [(7, 9)], "NEG")
DISH = "三色豆花很綿密，三色豆花便宜"
SHORT, LONG = (triplet(DISH, (start, 4), [(5, 7)], "POS") for start in (2, 0))
NOBODY = Taggers(())


def sure(one: Triplet, chance: float, polarity: Any = None) -> tuple[float, Triplet]:
    """A proposal that gives all its chance to one polarity."""
    return chance, replace(one, polarity=polarity or one.polarity, confidence=chance)


# ---- what a tagger's proposals say of a triplet


def test_a_triplet_has_the_chances_of_the_likeliest_proposal_for_its_place() -> None:
    likely = (0.8, replace(SOUP, confidence=0.6))
    shares = seen([SOUP, replace(SOUP, polarity="NEG"), NOODLE], [sure(SOUP, 0.3, "NEG"), likely])
    assert shares.tolist() == [
        pytest.approx([0.6, 0.2, 0.2]),
        pytest.approx([0.1, 0.7, 0.2]),
        pytest.approx([0.0, 0.0, 1.0]),
    ]


def test_a_proposal_of_no_chance_or_no_confidence_is_no_division_by_nothing() -> None:
    assert seen([SOUP], [sure(SOUP, 0.0)]).tolist() == [[0.0, 0.0, 1.0]]
    assert seen([SOUP], [(0.5, SOUP)]).tolist() == [[0.0, 0.5, 0.5]], "all its mass lies on other polarities"
    rounded = (0.5, replace(SOUP, confidence=0.51))
    assert seen([SOUP], [rounded]).tolist() == [[0.5, 0.0, 0.5]], "rounding makes no chance below nothing"
    assert seen([], [sure(SOUP, 0.5)]).shape == (0, 3)


def test_a_panel_rejects_below_its_cut_and_believes_from_even_odds_on() -> None:
    panel = Panel(NOBODY, 0.2, 1.0)
    shares = np.array(
        [[0.2, 0.8, 0], [0.19, 0.5, 0.31], [0.19, 0.31, 0.5], [0.1, 0.45, 0.45], [0.5, 0.5, 0], [0.49994, 0, 0.5]]
    )
    assert panel.verdicts(shares) == (
        *((None, 0.2), ("YN", 0.19), ("NX", 0.19)),
        *(("NX", 0.1), ("YY", 0.5), (None, 0.4999)),
    )


def test_the_digest_of_a_panel_changes_with_each_of_its_parts() -> None:
    panels = [Panel(NOBODY, 0.2, 1.0), Panel(NOBODY, 0.3, 1.0), Panel(NOBODY, 0.2, 0.5)]
    assert len({panel.digest for panel in panels}) == 3
    assert {len(panel.digest) for panel in panels} == {len(NOBODY.digest)} == {16}
    assert hashlib.sha256(b"").hexdigest().startswith(NOBODY.digest)


# ---- confident learning


def judged(*verdicts: Any) -> JudgedReview:
    return JudgedReview("r", TEXT, tuple((SOUP, verdict) for verdict in verdicts))


def test_noise_is_the_share_of_given_pairs_that_reach_another_class() -> None:
    given = [judged("YY", "YY", "YN"), judged("YY", "YY", "NX")]
    said = [
        np.array([[0.9, 0.05, 0.05], [0.8, 0.1, 0.1], [0.1, 0.8, 0.1]]),
        np.array([[0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0.2, 0.2, 0.6]]),
    ]
    # means: YY (0.9 + 0.8 + 0.7 + 0.1) / 4 = 0.625, YN 0.8, NX 0.6; the last given pair reaches YN, three reach YY
    measured = noise(given, said)
    assert (measured.share, measured.mean) == (0.25, pytest.approx(0.625))
    assert measured.cut == 0.5, "never above even odds: the quarter of 0.1, 0.7, 0.8, 0.9 lies at 0.55"


def test_the_cut_of_the_noise_parts_as_many_as_it_takes_for_wrong() -> None:
    pairs = np.array([[0.6, 0.2, 0.2], [0.5, 0.3, 0.2], [0.4, 0.3, 0.3], [0.1, 0.1, 0.8], [0.2, 0.6, 0.2]])
    measured = noise([judged("YY", "YY", "YY", "YY", "NX")], [np.vstack([pairs[:4], [[0.1, 0.2, 0.7]]])])
    # mean of YY 0.4, of NX 0.7: three of four reach YY, the fourth NX
    assert (measured.share, measured.mean) == (0.25, pytest.approx(0.4))
    assert measured.cut == pytest.approx(np.quantile([0.6, 0.5, 0.4, 0.1], 0.25))


def test_a_pair_that_reaches_no_class_counts_neither_way() -> None:
    # means: YY 0.5, YN 0.9, NX 0.9; the second given pair reaches none of them
    measured = noise([judged("YY", "YY", "YN", "NX")], [np.array([[0.8, 0.1, 0.1], [0.2, 0.4, 0.4],
                                                                  [0.0, 0.9, 0.1], [0.0, 0.1, 0.9]])])  # fmt: skip
    assert (measured.share, measured.cut) == (0.0, pytest.approx(0.2))


def test_of_classes_that_nobody_gave_none_is_reached_and_of_no_pair_there_is_no_noise() -> None:
    alone = noise([judged("YY", "YY")], [np.array([[0.6, 0.4, 0.0], [0.2, 0.8, 0.0]])])
    assert (alone.share, alone.cut, alone.mean) == (0.0, pytest.approx(0.2), pytest.approx(0.4))
    assert noise([], []) == Noise(0.0, 0.0, 0.0)
    assert noise([judged("YN")], [np.array([[0.9, 0.1, 0.0]])]) == Noise(0.0, 0.0, 0.0)


def test_a_measurement_that_is_no_number_takes_nothing_for_noise() -> None:
    """Where no given pair reaches any class there is nothing to divide by."""
    shares = np.array([[np.nan, 0.0, 0.0], [0.9, 0.0, 0.0]])
    with np.errstate(invalid="ignore"):
        assert noise([judged("YY", "YY")], [shares]).share == 0.0


@pytest.mark.parametrize(
    ("mean", "trust"), [(0.0, 0.0), (UNSURE, 0.0), (0.52, 0.5), (0.55, 0.75), (SURE, 1.0), (0.99, 1.0)]
)
def test_trust_grows_in_proportion_from_unsure_to_sure(mean: float, trust: float) -> None:
    panel = trusted(NOBODY, Noise(0.04, 0.03, mean))
    assert (panel.trust, panel.limits.drop) == (trust, round(DROP * trust, 3))
    assert panel.cut == max(0.03, panel.limits.drop)


# ---- variant E


def test_folds_are_those_of_the_digest_of_a_key_whatever_it_holds() -> None:
    assert [fold_of(key, 3) for key in ("a", "b", "湯", "\ud800", "")] == [
        int(hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()[:16], 16) % 3
        for key in ("a", "b", "湯", "\ud800", "")
    ]


def test_taggers_together_give_a_pair_their_mean_and_its_heaviest_polarity() -> None:
    weak, strong = replace(SOUP, confidence=0.3, valence=6.0), replace(SOUP, confidence=0.5, valence=8.0)
    ((chance, pair),) = together([[(0.4, weak)], [(0.6, strong)], []])
    assert chance == pytest.approx(1 / 3)
    assert (pair.confidence, pair.valence) == (0.3333, 8.0), "the spans and value of the surer one"
    ((_, first),) = together([[(0.6, strong)], [(0.4, weak)]])
    assert first.valence == 8.0
    ((_, tie),) = together([[sure(SOUP, 0.4, "POS"), sure(SOUP, 0.4, "NEG")]])
    assert tie.polarity == "NEG", "of two of one weight the first by name"
    assert together([]) == []


def test_a_proposal_comes_in_from_the_limit_on_and_clashes_with_none() -> None:
    limits, better = TrustLimits.of(1.0), replace(NOODLE, polarity="POS", confidence=0.9)
    assert fresh([], [sure(NOODLE, ADD)], limits) == [replace(NOODLE, confidence=ADD)]
    assert fresh([], [sure(NOODLE, ADD - 1e-9)], limits) == []
    assert fresh([NOODLE], [sure(NOODLE, 0.9), sure(SOUP, 0.9)], limits) == [replace(SOUP, confidence=0.9)]
    assert fresh([], [sure(NOODLE, 0.8), sure(NOODLE, 0.9, "POS")], limits) == [better]


def test_an_aspect_grows_to_either_side_from_even_odds_on() -> None:
    text = "手工豆花冰很好"
    small = triplet(text, (2, 4), [(5, 7)], "POS")
    for start, end in ((0, 4), (2, 5), (0, 5)):
        wide = triplet(text, (start, end), [(5, 7)], "POS")
        assert [one.aspect.text for one in widened([small], [(WIDEN, wide)])] == [text[start:end]]
        assert widened([small], [(WIDEN - 1e-9, wide)]) == [small]
    for start, end in ((3, 5), (0, 3)):
        assert widened([small], [(0.9, triplet(text, (start, end), [(5, 7)], "POS"))]) == [small]


def test_an_aspect_that_grows_has_no_owner_and_one_that_does_not_keeps_it() -> None:
    owned = replace(SHORT, owner=SHORT.aspect)
    assert widened([owned], [(0.9, LONG)])[0].owner is None
    assert widened([owned], [(0.9, SHORT)]) == [owned]
    assert widened([owned], [(0.6, LONG), (0.7, SHORT)]) == [owned], "the likeliest decides"


def test_what_both_hold_comes_in_text_order_and_needs_a_decision_on_each_rule_triplet() -> None:
    limits = TrustLimits.of(1.0)
    assert merged([NOODLE, SOUP], [True, True], [], limits) == (SOUP, NOODLE)
    assert merged([NOODLE, SOUP], [True, False], [], limits) == (NOODLE,)
    with pytest.raises(ValueError, match="shorter"):
        merged([SOUP, NOODLE], [True], [], limits)


class Weigher:
    """An engine that finds the noodles' polarity to be good, and nothing of the soup."""

    def weigh(self, doc: Any, proposed: list[Triplet]) -> list[Triplet | None]:
        return [replace(one, polarity="POS") if one.aspect == NOODLE.aspect else None for one in proposed]


def test_a_proposal_is_taken_as_the_engine_weighs_it_or_not_at_all() -> None:
    proposals = [sure(SOUP, 1.0), sure(NOODLE, ADD)]
    weigher: Any = Weigher()
    (noodle,) = held(weigher, weigher, [], [], proposals, TrustLimits.of(1.0))
    assert (noodle.aspect, noodle.polarity) == (NOODLE.aspect, "POS")
    assert held(weigher, weigher, [SOUP], [True], proposals, TrustLimits.of(0.0)) == (SOUP,)


def test_triplets_clash_where_both_their_elements_overlap() -> None:
    crossed = triplet(TEXT, (0, 2), [(7, 9)], "NEG")
    assert clashes(SOUP, replace(SOUP, polarity="NEG"))
    assert not clashes(SOUP, crossed) and not clashes(NOODLE, crossed) and not clashes(SOUP, NOODLE)


def test_folds_of_a_training_with_more_of_them_are_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Member:
        digest = "d"

    trained: list[list[str]] = []
    monkeypatch.setattr(
        cotrain, "train_tagger", lambda train, *others: trained.append([one.id for one in train]) or Member()
    )
    monkeypatch.setattr(cotrain, "save", lambda member, folder: folder.mkdir(parents=True, exist_ok=True))
    for number in (0, 1, 2, 3, 12):
        (tmp_path / str(number)).mkdir()
    (tmp_path / "notes").mkdir()
    examples = [Example(key, judged().text, ()) for key in "abcdef"]
    assert len(train_taggers(examples, [], 2, TaggerConfig(threads=1), 1, tmp_path).members) == 2
    assert sorted(path.name for path in tmp_path.iterdir()) == ["0", "1", "notes", "taggers.json"]
    assert trained == [[key for key in "abcdef" if fold_of(key, 2) != fold] for fold in (0, 1)]
