"""BoostAug's folds and filters: who judges whom, what is dropped and why, and what an interruption leaves."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import get_args

import pytest

from builder.augment.candidates import Edit, Mark, Rewrite, Sentence
from builder.augment.catalogue import make_method, make_settings
from builder.augment.methods import boostaug
from builder.augment.methods.boost_filters import (
    JudgedCandidate,
    Reason,
    Reference,
    SurrogateReading,
    Thresholds,
    against,
    counted,
    crossed,
    labels,
    sifted,
    survive,
    whole,
)
from builder.core.errors import ConfigError

SURE = SurrogateReading("a", True, 0.995, 4.0)


def sentence(n: int, label: str | None = None) -> Sentence:
    text = f"text number {n}"
    return Sentence(f"s{n}", text, ((0, 4), (5, 11), (12, len(text))), (), label or ("a" if n % 3 else "b"), "en")


MANY = tuple(map(sentence, range(25)))


def candidates(number: int, source: str = "s") -> tuple[Rewrite, ...]:
    return tuple(Rewrite(source, (Edit(0, 0, f"{i} "),)) for i in range(number))


@dataclass
class Numbered:
    """A method whose candidates are its source with a number before it; it counts how often it was asked."""

    name: str = "numbered"
    signature: str = "numbered/1"
    asked: list[str] = field(default_factory=list)

    def propose(self, sentences: Sequence[Sentence], copies: int, seed: int) -> Iterator[tuple[Rewrite, ...]]:
        for one in sentences:
            self.asked.append(one.id)
            yield candidates(copies, one.id)


@dataclass
class Told:
    """A surrogate that is sure of candidates with an even number, and knows what it was trained on."""

    trained: frozenset[str]
    digest: str = "told"

    def read(self, sentences: Sequence[Sentence]) -> list[SurrogateReading]:
        return [self._one(one) for one in sentences]

    def _one(self, one: Sentence) -> SurrogateReading:
        if one.text.startswith("text"):
            return SurrogateReading("a", True, 0.9, 3.0 + (one.text in self.trained))
        even = int(one.text.split()[0]) % 2 == 0
        return SurrogateReading("a", True, 0.995 if even else 0.5, 4.0)


@dataclass
class Teacher:
    """Trains `Told`; fails at the given fitting, as a killed run would."""

    signature: str = "teacher"
    fitted: list[tuple[frozenset[str], frozenset[str]]] = field(default_factory=list)
    stop: int = -1

    def fit(self, train: Sequence[Sentence], valid: Sequence[Sentence], seed: int, folder: Path) -> Told:
        folder.mkdir(parents=True)
        if len(self.fitted) == self.stop:
            raise KeyboardInterrupt
        self.fitted.append((frozenset(one.id for one in train), frozenset(one.id for one in valid)))
        return Told(frozenset(one.text for one in train))


def boost(**options: object) -> boostaug.BoostAug:
    return replace(boostaug.BoostAug(Numbered(), Teacher(), Thresholds(), "absolute"), **options)  # type: ignore[arg-type]


def test_every_sentence_is_boosted_once_by_a_surrogate_that_has_not_seen_it() -> None:
    parts = crossed(MANY, 5, 1)
    assert Counter(i for part in parts for i in part.boost) == Counter(range(25))
    for part in parts:
        three = [set(part.train), set(part.valid), set(part.boost)]
        assert [len(one) for one in three] == [15, 5, 5]
        assert len(set().union(*three)) == 25


def test_folds_do_not_depend_on_the_order_and_do_on_the_seed() -> None:
    def ids(found: Sequence[Sentence], seed: int) -> list[set[str]]:
        return [{found[i].id for i in part.train} for part in crossed(found, 5, seed)]

    assert ids(MANY, 1) == ids(MANY[::-1], 1)
    assert ids(MANY, 1) != ids(MANY, 2)


def test_as_in_the_paper_the_validation_fold_may_train_too_and_the_boosted_one_never() -> None:
    sentences = [Sentence(str(n), f"text {n}", (), label="ab"[n % 2]) for n in range(25)]
    for plain, paper in zip(crossed(sentences, 5, 1), crossed(sentences, 5, 1, train_on_valid=True), strict=True):
        assert (plain.valid, plain.boost) == (paper.valid, paper.boost)
        assert sorted((*plain.train, *plain.valid)) == list(paper.train)
        assert not {*paper.train} & {*paper.boost}
        assert (len(plain.train), len(paper.train)) == (15, 20), "three folds of five, and four"


def test_sentences_of_one_text_stay_in_one_fold_and_labels_are_spread() -> None:
    twins = [replace(one, id=f"{one.id}-twin", label="a") for one in MANY[:10]]
    both = (*MANY, *twins)
    for part in crossed(both, 5, 4):
        inside = {both[i].text for i in part.boost}
        assert not inside & {both[i].text for i in (*part.train, *part.valid)}
        assert {labels(both[i]) for i in part.boost} == {("a",), ("b",)}


def test_labels_are_the_class_of_a_sentence_or_the_polarities_of_its_aspects() -> None:
    marks = (Mark(0, 4, "aspect", "POS"), Mark(5, 11, "opinion", "POS"), Mark(12, 13, "aspect", "NEG"))
    assert labels(Sentence("x", "text number 1", (), marks)) == ("POS", "NEG")
    assert labels(Sentence("x", "text number 1", (), marks, "bad")) == ("bad",)


@pytest.mark.parametrize(
    ("made", "folds", "told"),
    [
        (MANY, 2, "boostaug.folds: 2 folds leave none to train on; use 3 at least, or monoaug"),
        (MANY[:4], 5, "boostaug.folds: 4 sentences of different text, and 5 folds; use fewer folds, or monoaug"),
        (
            tuple(sentence(n, "a") for n in range(9)),
            3,
            "fold 1 of 3: only 'a' (3) among the 3 sentences that its surrogate is trained on",
        ),
        (
            tuple(replace(one, label=None) for one in MANY),
            5,
            "fold 1 of 5: no label among the 15 sentences that its surrogate is trained on",
        ),
    ],
)
def test_folds_that_cannot_be_made_say_why(made: tuple[Sentence, ...], folds: int, told: str) -> None:
    with pytest.raises(ConfigError) as error:
        crossed(made, folds, 1)
    assert str(error.value).startswith(told)


def test_monoaug_trains_on_all_that_it_judges() -> None:
    (part,) = whole(MANY)
    assert part.train == part.boost == tuple(range(25))
    assert part.valid == ()


@pytest.mark.parametrize(
    ("reading", "reasons"),
    [
        (SURE, ()),
        (replace(SURE, perplexity=5.0), ("perplexity",)),
        (replace(SURE, confidence=0.99), ("confidence",)),
        (replace(SURE, right=False), ("label",)),
        (SurrogateReading("b", False, 0.3, 80.0), ("perplexity", "confidence", "label")),
        (replace(SURE, perplexity=float("nan")), ("perplexity",)),
    ],
)
def test_perplexity_of_5_and_more_confidence_of_99_percent_and_less_and_another_label_are_dropped(
    reading: SurrogateReading, reasons: tuple[str, ...]
) -> None:
    assert against(reading, Thresholds(), Reference()) == reasons
    assert set(reasons) <= set(get_args(Reason))


@pytest.mark.parametrize(
    ("limits", "reasons"),
    [
        (Thresholds(perplexity=None), ("confidence", "label")),
        (Thresholds(confidence=None), ("perplexity", "label")),
        (Thresholds(label=False), ("perplexity", "confidence")),
        (Thresholds(None, None, False), ()),
    ],
)
def test_each_filter_is_switched_off_by_itself(limits: Thresholds, reasons: tuple[str, ...]) -> None:
    assert against(SurrogateReading("b", False, 0.3, 80.0), limits, Reference()) == reasons


def test_a_threshold_is_a_share_and_a_multiple_of_its_reference() -> None:
    said = SurrogateReading("a", True, 0.8, 200.0)
    assert against(said, Thresholds(), Reference(0.75, 100.0)) == ()
    assert against(said, Thresholds(), Reference(0.81, 39.0)) == ("perplexity", "confidence")


def test_what_the_source_was_taken_for_counts_as_well_as_the_gold_label() -> None:
    taken = replace(SURE, label="b", right=False)
    assert against(taken, Thresholds(), Reference(label="b")) == ()
    assert against(taken, Thresholds(), Reference(label="c")) == ("label",)
    assert against(SURE, Thresholds(), Reference(label="b")) == ()


def test_the_surest_come_first_where_the_confidence_ranks() -> None:
    def numbers(limits: Thresholds) -> list[str]:
        return [one.edits[0].text for one in next(boost(limits=limits, oversample=1).propose(MANY, 4, 1))]

    assert numbers(Thresholds(confidence=0.1)) == ["0 ", "2 ", "1 ", "3 "]
    assert numbers(Thresholds(confidence=None)) == ["0 ", "1 ", "2 ", "3 "]
    assert numbers(Thresholds(confidence=0.1, ranked=False)) == ["0 ", "1 ", "2 ", "3 "]


def test_the_surest_are_kept_and_none_is_lost_on_a_tie() -> None:
    tied = sifted(candidates(16), [SURE] * 16, Thresholds(), Reference(), 8)
    assert len(tied) == 16
    assert [one.reasons for one in tied] == [()] * 8 + [("rank",)] * 8
    rising = [replace(SURE, confidence=0.991 + i / 10000) for i in range(4)]
    few = sifted(candidates(4), rising, Thresholds(), Reference(), 2)
    assert [one.reasons for one in few] == [("rank",), ("rank",), (), ()]


def test_a_candidate_of_another_label_takes_no_place_from_one_that_passes() -> None:
    readings = [replace(SURE, confidence=0.999, right=False), SURE, SURE]
    told = sifted(candidates(3), readings, Thresholds(), Reference(), 2)
    assert [one.reasons for one in told] == [("label",), (), ()]


def test_twice_as_many_candidates_are_judged_as_may_stay_and_the_kept_come_in_order_with_their_confidence() -> None:
    made = boost()
    found = list(made.propose(MANY, 3, 1))
    assert [[edit.text for one in row for edit in one.edits] for row in found] == [["0 ", "2 ", "4 "]] * 25
    assert {one.score for row in found for one in row} == {0.995}
    assert all(one.source == MANY[i].id for i, row in enumerate(found) for one in row)
    every = [one for row in made.judge(MANY, 3, 1) for one in row]
    assert counted(every) == {"candidates": 150, "kept": 75, "confidence": 75}


def test_no_surrogate_judges_what_it_was_trained_or_validated_on() -> None:
    made = boost()
    list(made.propose(MANY, 2, 1))
    assert len(made.trainer.fitted) == 5
    at = 0
    for train, valid in made.trainer.fitted:
        judged = set(made.backend.asked[at : at + 5])
        at += 5
        assert not judged & (train | valid)
        assert len(train) == 15


@pytest.mark.parametrize(("scale", "kept"), [("absolute", 5), ("source", 10)])
def test_thresholds_count_from_one_or_from_the_source(scale: str, kept: int) -> None:
    # Natural text has confidence 0.9 and perplexity 3: 0.5 is more than half of that, and less than half of 1 is
    # dropped.
    made = boost(scale=scale, limits=Thresholds(0.55, 4.5), oversample=1)
    assert [len(row) for row in made.propose(MANY, 10, 1)] == [kept] * 25


def test_without_the_label_filter_the_papers_thresholds_keep_what_the_surrogate_is_sure_is_another_label() -> None:
    """Table 3, without label constraint: the confidence of equation 3 is that of the likeliest label."""
    wrong = SurrogateReading("b", False, 0.002, 4.0, 0.998)
    row = boostaug.FoldRow(SURE, candidates(2), (wrong, replace(wrong, surest=0.6)))
    kept = {
        (scale, label): [not one.reasons for one in boost(scale=scale, limits=Thresholds(label=label))._sifted(row, 2)]
        for scale in ("absolute", "source")
        for label in (True, False)
    }
    assert kept.pop(("absolute", False)) == [True, False]
    assert set(map(tuple, kept.values())) == {(False, False)}


def test_an_interrupted_run_goes_on_after_the_last_fold_and_ends_the_same(tmp_path: Path) -> None:
    whole_run = list(boost().propose(MANY, 2, 1))
    with pytest.raises(KeyboardInterrupt):
        list(boost(trainer=Teacher(stop=3), folder=tmp_path).propose(MANY, 2, 1))
    (checkpoints,) = tmp_path.glob("boostaug/*.training")
    checkpoints.rmdir()
    after = boost(folder=tmp_path, trainer=Teacher())
    assert list(after.propose(MANY, 2, 1)) == whole_run
    assert len(after.trainer.fitted) == 2
    assert not list(tmp_path.glob("boostaug/*.training")), "checkpoints go when a fold is read"


def test_other_thresholds_are_tried_without_training_anew_and_other_data_are_not(tmp_path: Path) -> None:
    list(boost(folder=tmp_path).propose(MANY, 2, 1))
    loose = boost(folder=tmp_path, trainer=Teacher(), limits=Thresholds(None, None, False))
    assert [len(row) for row in loose.propose(MANY, 2, 1)] == [2] * 25
    assert loose.trainer.fitted == []
    other = boost(folder=tmp_path, trainer=Teacher())
    list(other.propose((*MANY[:-1], sentence(77)), 2, 1))
    assert len(other.trainer.fitted) == 5


def test_a_fold_that_other_code_has_read_is_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    list(boost(folder=tmp_path).propose(MANY, 2, 1))
    monkeypatch.setattr(boostaug, "code_digest", lambda *parts: "of an edited surrogate")
    again = boost(folder=tmp_path, trainer=Teacher())
    list(again.propose(MANY, 2, 1))
    assert len(again.trainer.fitted) == 5


def test_what_is_dropped_is_kept_with_its_reasons(tmp_path: Path) -> None:
    made = boost(folder=tmp_path)
    every = [one for row in made.judge(MANY, 2, 1) for one in row]
    rows = [json.loads(line) for line in next(tmp_path.glob("boostaug/judged-*.jsonl")).read_text().splitlines()]
    assert [(row["candidate"]["source"], tuple(row["reasons"])) for row in rows] == [
        (one.candidate.source, one.reasons) for one in every
    ]
    assert Counter(row["reasons"][0] for row in rows if row["reasons"]) == {"confidence": 50}


def test_filters_that_keep_nothing_say_which_of_them_did_it() -> None:
    with pytest.raises(ConfigError) as error:
        list(boost(limits=Thresholds(0.997, 3.5)).propose(MANY, 2, 1))
    assert str(error.value) == (
        "boostaug: the filters keep none of 100 candidates: perplexity (threshold 3.5) dropped most; "
        "dropped by perplexity 100, confidence 100; "
        "median confidence 0.748, perplexity 4.0; "
        "loosen perplexity, or switch it off with boostaug.by_perplexity = false"
    )
    (one,) = candidates(1)
    survive([JudgedCandidate(one, SURE), JudgedCandidate(one, SURE, ("label",))], Thresholds(), "boostaug")
    survive([], Thresholds(), "boostaug")


def test_a_candidate_that_touches_a_label_is_not_read_but_counted() -> None:
    marked = tuple(
        replace(one, label=None, marks=(Mark(5, 11, "aspect", "POS" if n % 2 else "NEG"),))
        for n, one in enumerate(MANY)
    )

    class Rude(Numbered):
        def propose(self, sentences: Sequence[Sentence], copies: int, seed: int) -> Iterator[tuple[Rewrite, ...]]:
            for one in sentences:
                yield Rewrite(one.id, (Edit(6, 8, "xx"),)), Rewrite(one.id, (Edit(0, 0, "2 "),))

    every = [one for row in boost(backend=Rude()).judge(marked, 2, 1) for one in row]
    assert counted(every) == {"candidates": 50, "kept": 25, "marks": 25}
    assert [one.reading for one in every if "marks" in one.reasons] == [None] * 25


def test_two_sentences_of_one_id_are_refused() -> None:
    with pytest.raises(ConfigError, match="two sentences have the same id"):
        list(boost().propose((*MANY, MANY[0]), 2, 1))


def test_a_filter_is_not_its_own_back_end_and_unknown_ones_are_listed() -> None:
    with pytest.raises(ConfigError, match="a filter cannot be its own back end"):
        make_method("boostaug", make_settings({"boostaug.backend": "monoaug"}))
    with pytest.raises(ConfigError, match=r"unknown augmentation method 'magic'; known: .*eda.*boostaug"):
        make_method("boostaug", make_settings({"boostaug.backend": "magic"}))


def test_every_switch_reaches_the_method() -> None:
    made = make_method(
        "boostaug",
        make_settings({"boostaug.by_confidence": False, "boostaug.perplexity": 7.0, "boostaug.scale": "absolute"}),
    )
    assert (made.limits, made.scale, made.folds) == (Thresholds(None, 7.0, True, ranked=False), "absolute", 5)
    mono = make_method("monoaug", make_settings({"monoaug.by_label": False, "monoaug.ranked": True}))
    assert (mono.limits, mono.folds, mono.name) == (Thresholds(0.99, 1.5, label=False), 0, "monoaug")
    assert made.signature != mono.signature


def test_a_caller_that_asks_in_parts_is_answered_from_folds_of_all(tmp_path: Path) -> None:
    at_once = list(boost().propose(MANY, 2, 1))
    made = boost(given=MANY, trainer=Teacher(), folder=tmp_path)
    parts = [row for at in range(0, 25, 10) for row in made.propose(MANY[at : at + 10], 2, 1)]
    assert parts == at_once
    assert len(made.trainer.fitted) == 5, "each fold is trained once, not once a part"
