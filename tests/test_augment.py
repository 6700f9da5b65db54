"""Constraints, views and measures of augmentation, one by one."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from augmenting import TRAIN, candidate, cues_of, row, sentence
from hypothesis import given
from hypothesis import strategies as st

from builder.augment import survival
from builder.augment.candidates import (
    Changed,
    Edit,
    Mark,
    Rewrite,
    Sentence,
    applied,
    moved,
    seeded,
    stretched,
    written,
)
from builder.augment.catalogue import Given, make_settings
from builder.augment.constraints import CONSTRAINTS, LABEL_SAFE, Cues, broken, make_trial
from builder.augment.run import NOTHING, AugmentOptions, Judgement, Seen, Sieve, judge_proposals, lost
from builder.augment.views import ViewUnit, cut, layer_row, parts, units
from builder.core.errors import ConfigError, install_command
from builder.release.augmentation_layers import rewritten


def judge(
    proposals: Iterable[tuple[Sentence, Sequence[Rewrite]]], copies: int, cues: Cues, seen: Seen, *refused: Any
) -> Judgement:
    sieve = Sieve(copies, cues, seen, *refused)
    sieve.sift(proposals)
    return sieve.judgement


BATTERY = sentence("I think the {battery|aspect|POS} is really {great|opinion|POS} , so we often use it at night .")


@pytest.mark.parametrize(
    ("replaced", "reason"),
    [
        ([("night", "nighttime")], None),
        ([("I", "i")], "unchanged"),
        ([("night .", "night.")], "unchanged"),
        ([("often", "of ten")], None),
        ([("great", "good")], "label-touched"),
        ([("tery is", "tery was")], "label-touched"),
        ([("+battery", "super")], "label-joined"),
        ([("really", "not")], "negator-changed"),
        ([("really", "too")], "degree-changed"),
        ([("often", "happy")], "opinion-added"),
        ([("night", "keyboard")], "aspect-invented"),
        ([(" , so we often use it at night .", "")], None),
        ([("I think the ", "the ")], None),
        ([("night", "night " * 20)], "too-long"),
        ([("night", "night\tlong")], "line-broken"),
    ],
)  # fmt: skip
def test_each_constraint_rejects_with_its_own_reason(replaced: list[tuple[str, str]], reason: str | None) -> None:
    trial = make_trial(BATTERY, candidate(BATTERY, *replaced), cues_of("en"))
    assert broken(trial) == reason
    assert broken(trial, label_safe=False) == (None if reason in LABEL_SAFE else reason)


@dataclass
class Drawing:
    """Of a sentence of n words it has n candidates; which come first depends on the seed."""

    asked: list[tuple[int, int, int]] = field(default_factory=list)
    name: str = "drawing"
    signature: str = "drawing"

    def propose(self, sentences: Sequence[Sentence], copies: int, seed: int) -> Iterator[tuple[Rewrite, ...]]:
        self.asked.append((len(sentences), copies, seed))
        for one in sentences:
            words = [one.words[(seed + n) % len(one.words)] for n in range(copies)]
            yield tuple(Rewrite(one.id, (Edit(start, end, "new"),)) for start, end in words)


@pytest.mark.parametrize(("redraws", "kept"), [(0, 4), (1, 5), (3, 5)])
def test_more_candidates_are_drawn_for_the_sentences_that_keep_too_few(redraws: int, kept: int) -> None:
    def plain(i: str, text: str) -> Sentence:
        return Sentence(i, text, tuple(match.span() for match in re.finditer(r"\S+", text)), language="en")

    texts = ("new new new old new", "we came by bus today", "one word or two more")
    sentences = tuple(map(plain, "abc", texts))
    method, seen = Drawing(), Seen(str, set(), set())
    settings = replace(make_settings({"redraws": redraws}), given=Given(sentences=sentences, language="en"))
    options = AugmentOptions(method="x", workdir=Path(), settings=settings, copies=2, candidates=2, seed=0)
    told = judge_proposals(options, method, seen)
    assert [trial.source.id for trial in told.kept] == ["a"] * (kept - 4) + ["b", "b", "c", "c"]
    asked = [(3, 2, 0), *((1, 2 * (1 + n), n) for n in range(1, redraws + 1))]
    assert method.asked == asked, "only what lacks candidates is asked again, for more and by another seed"
    assert (told.sources, len(told.kept) + len(told.rejected)) == (3, told.proposed)


def test_constraints_want_labels_that_stand_apart() -> None:
    marks = BATTERY.marks
    over = replace(BATTERY, marks=(marks[0], replace(marks[1], start=marks[0].start + 1)))
    assert broken(make_trial(over, candidate(over, ("night", "nighttime")), cues_of("en"))) == "label-touched"
    touching = replace(BATTERY, marks=(replace(marks[0], end=marks[1].start), marks[1]))
    assert broken(make_trial(touching, candidate(touching, ("night", "nighttime")), cues_of("en"))) is None


@pytest.mark.parametrize(
    ("source", "replaced", "reason"),
    [
        # a break may go, but none may come
        ("the {food|aspect}\twas fine\n", [("\t", " "), ("\n", ".")], None),
        ("the {food|aspect}\twas fine\n", [("the", "a\tlocal")], "line-broken"),
        # a contrast may be said otherwise, but not made
        ("the {food|aspect} was fine but we waited", [("but", "though")], None),
        ("the {food|aspect} was fine but we waited", [("we", "yet we")], "contrast-added"),
        # a negator far from every label
        ("the {food|aspect|POS} was {good|opinion|POS} , we came at night", [("came", "never came")], None),
        # where no opinion is labelled, the words that carry the polarity may not go
        ("the {food|aspect|POS} was delicious and we came at night", [("delicious", "served")], "opinion-lost"),
        ("the {food|aspect|POS} was delicious and we came at night", [("delicious", "tasty")], None),
        # terms without a polarity need no cue
        ("the {food} was delicious and we came at night", [("delicious", "not served")], None),
    ],
)
def test_constraints_hold_what_labels_need(source: str, replaced: list[tuple[str, str]], reason: str | None) -> None:
    made = sentence(source, "en")
    assert broken(make_trial(made, candidate(made, *replaced), cues_of("en"))) == reason


def test_a_negator_changes_the_label_of_a_sentence() -> None:
    whole = sentence("the food was fine , we came at night", "en", label="POS")
    assert broken(make_trial(whole, candidate(whole, ("came", "never came")), cues_of("en"))) == "negator-changed"


def test_a_candidate_that_is_mostly_gone_is_too_short() -> None:
    source = sentence("{food} was there on the table for all of us to eat before the evening had begun")
    edits = (Edit(8, len(source.text), ""),)
    assert broken(make_trial(source, Rewrite("s", edits), cues_of("en"))) == "too-short"


@pytest.mark.parametrize(
    "edits", [(), (Edit(5, 3, "x"),), (Edit(3, 5, "x"), Edit(4, 6, "y")), (Edit(0, 10_000, "x"),), (Edit(-1, 2, "x"),)]
)
def test_edits_that_cannot_be_applied_are_bad(edits: tuple[Edit, ...]) -> None:
    seen = Seen(str.lower, set(), set())
    judged = judge([(BATTERY, [Rewrite("s", edits), Rewrite("other", (Edit(0, 1, "We"),))])], 4, cues_of("en"), seen)
    assert judged.reasons == {"bad-edits": 2}, "edits of another sentence are as bad"


def test_a_word_that_is_split_makes_a_text_of_its_own_which_counts_once() -> None:
    def key(text: str) -> str:
        return "".join(filter(str.isalnum, text.lower()))

    splits = [candidate(BATTERY, pair) for pair in (("often", "of ten"), ("night", "ni ght"), ("often", "of  ten"))]
    told = judge([(BATTERY, splits)], 4, cues_of("en"), Seen(key, {key(BATTERY.text)}, set()))
    assert [one.text[-32:] for one in told.kept][:2] == [
        f", so we {end}" for end in ("of ten use it at night .", "often use it at ni ght .")
    ]
    assert told.reasons == {"duplicate": 1}
    held = judge([(BATTERY, splits)], 4, cues_of("en"), Seen(key, set(), {key(BATTERY.text)}))
    assert held.reasons == {"held-out": 3}


@pytest.mark.parametrize(
    ("replaced", "reason"),
    [
        ([("今天", "今日")], None),
        ([("今天", "沒")], "negator-changed"),
        ([("跟朋友", "很好吃跟朋友")], "opinion-added"),
        ([("朋友", "服務")], "aspect-invented"),
        ([("濃郁", "清爽")], "label-touched"),
        ([("今天", "不過今天")], "contrast-added"),  # 不 inside 不過 is no negator
    ],
)
def test_constraints_read_chinese_by_the_lexicons(replaced: list[tuple[str, str]], reason: str | None) -> None:
    source = sentence("今天跟朋友去吃，{湯頭|aspect}很{濃郁|opinion|POS}。大家都覺得時間過得快", "zh")
    found = broken(make_trial(source, candidate(source, *replaced), cues_of("zh")))
    if replaced[0][0] == "今天" and reason:
        source = sentence("今天{湯頭|aspect}很{濃郁|opinion|POS}。", "zh")
        found = broken(make_trial(source, candidate(source, *replaced), cues_of("zh")))
    assert found == reason


def test_simplified_and_traditional_cues_are_the_same() -> None:
    found = cues_of("zh")
    assert found.count("服務不親切") == found.count("服务不亲切")
    assert found.count("服務不親切")


def test_a_relabelled_candidate_may_change_its_opinion_but_not_its_aspect() -> None:
    source = sentence("the {food|aspect} was {good|opinion|POS} today")
    start = source.marks[1].start
    edits = (Edit(0, 0, "we say "), Edit(start, start + 4, "bad"))
    told = Changed(start, start + 4, "bad", "NEG", 2.5)
    one = make_trial(source, Rewrite("s", edits, changed=(told,)), cues_of("en"))
    assert broken(one) is None
    assert one.marks[1] == Mark(start + 7, start + 10, "opinion", "NEG")
    assert broken(make_trial(source, Rewrite("s", edits), cues_of("en"))) == "label-touched"
    other = replace(told, text="worse")
    assert broken(make_trial(source, Rewrite("s", edits, changed=(other,)), cues_of("en"))) == "offsets-wrong"
    nowhere = replace(told, start=0, end=2)
    assert broken(make_trial(source, Rewrite("s", edits, changed=(told, nowhere)), cues_of("en"))) == "offsets-wrong"


def test_every_constraint_can_be_broken() -> None:
    """The tests above name them all: a new constraint needs a test."""
    told = Path(__file__).read_text(encoding="utf-8")
    assert [reason for reason in CONSTRAINTS if f'"{reason}"' not in told] == []


@given(st.text("ab 湯好", min_size=1, max_size=30), st.data())
def test_spans_are_followed_by_arithmetic(text: str, data: st.DataObject) -> None:
    places = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=6)))
    pairs = list(zip(places[::2], places[1::2], strict=False))
    edits = tuple(Edit(a, b, data.draw(st.text("xy", max_size=3))) for a, b in pairs)
    start = data.draw(st.integers(0, len(text) - 1))
    span = start, data.draw(st.integers(start + 1, len(text)))
    new, place = applied(text, edits), moved(span, edits)
    if place is not None:
        assert new[place[0] : place[1]] == text[span[0] : span[1]]
        assert stretched(span, edits) == place
    inside = [edit for edit in edits if span[0] < edit.end and edit.start < span[1]]
    if all(span[0] <= edit.start and edit.end <= span[1] for edit in inside) and (place := stretched(span, edits)):
        local = [Edit(edit.start - span[0], edit.end - span[0], edit.text) for edit in inside]
        assert new[place[0] : place[1]] == applied(text[span[0] : span[1]], local)
    assert [new[a:b] for a, b in written(edits)] == [edit.text for edit in edits if edit.text]
    assert rewritten(text, [0, len(text)], [{"start": e.start, "end": e.end, "text": e.text} for e in edits]) == new


def test_the_chance_of_a_sentence_is_its_own() -> None:
    assert seeded(1, "m", "a").random() == seeded(1, "m", "a").random()
    assert len({seeded(*key).random() for key in [(1, "m", "a"), (2, "m", "a"), (1, "n", "a"), (1, "m", "b")]}) == 4


def test_texts_that_are_known_are_rejected_and_so_is_what_is_too_much() -> None:
    source = Sentence("s", "we came at night", ((0, 2),))
    texts = ["we came at noon", "we came at noon", "we came late", "we came early", "we came by bus", "call 0912345678"]
    candidates = [Rewrite("s", (Edit(0, len(source.text), text),)) for text in texts]
    seen = Seen(str, {"we came early"}, {"we came late"})
    told = judge([(source, candidates), (Sentence("t", "x", ()), [])], 2, cues_of("en"), seen, lambda one: "09" in one)
    assert [one.text for one in told.kept] == ["we came at noon", "we came by bus"]
    assert told.reasons == {"duplicate": 1, "held-out": 1, "in-source": 1, NOTHING: 1, "personal-data": 1}
    assert (told.proposed, told.sources) == (6, 1)
    full = judge([(source, candidates)], 1, cues_of("en"), Seen(str, set(), set()))
    assert full.reasons["surplus"] == 4
    assert len(full.kept) + len(full.rejected) == full.proposed
    assert lost(told, {0}, "near-held-out").reasons["near-held-out"] == 1


def listed(i: str, view: str, keep: str) -> list[ViewUnit | tuple[str, str]]:
    return list(units(row(i, *TRAIN[i]), view, keep))  # type: ignore[arg-type]


def test_a_review_is_cut_into_sentences_but_never_inside_a_triplet() -> None:
    found = listed("a2", "triplets", "aspect+opinion")
    assert [one.sentence.text for one in found if isinstance(one, ViewUnit)] == [
        "因為路過所以進門，牛肉麵真的好吃！",
        "價格也便宜。",
    ]
    joined = row("x", "湯頭。很濃郁", [("湯頭", "濃郁", "很濃郁", "POS")])
    assert parts(joined) == [(0, 6)]
    assert ("a5:5-24", "no-label") in listed("a5", "triplets", "aspect+opinion")


def test_an_opinion_is_kept_with_what_stands_inside_its_phrase() -> None:
    (one,) = listed("a1", "triplets", "aspect+opinion")
    assert [one.sentence.text[m.start : m.end] for m in one.sentence.marks] == ["湯頭", "很濃郁", "店員", "不太親切"]


def test_each_view_marks_what_it_needs() -> None:
    ate = listed("a1", "ate", "aspect")[0]
    assert [(m.kind, m.polarity) for m in ate.sentence.marks] == [("aspect", None)] * 2
    judged = [one for one in listed("a1", "aspect", "aspect") if isinstance(one, ViewUnit)]
    assert [one.sentence.label for one in judged] == ["POS", "NEG"]
    assert listed("a1", "sentence", "aspect") == [("a1:0-25", "mixed-polarity")]
    agreed = listed("a4", "sentence", "aspect")[0]
    assert agreed.sentence.label == "NEG"


def test_labels_that_overlap_are_a_reason() -> None:
    nested = row("x", "牛肉麵的麵很硬", [("牛肉麵", "硬", "很硬", "NEG"), ("肉麵的麵", "硬", "很硬", "NEG")])
    assert list(units(nested, "ate", "aspect")) == [("x:0-7", "overlapping-labels")]
    (merged,) = units(nested, "triplets", "aspect+opinion")
    assert merged.sentence.marks[0] == Mark(0, 5, "aspect", "NEG")
    crossed = row("x", "沒有味道", [("味道", "沒有味道", "沒有味道", "NEG")])
    assert list(units(crossed, "triplets", "aspect+opinion")) == [("x:0-4", "overlapping-labels")]


def test_words_are_cut_where_a_mark_begins_or_ends() -> None:
    assert list(cut([(0, 3), (3, 5)], [Mark(1, 2), Mark(3, 4)])) == [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5)]


def test_a_row_of_a_layer_carries_every_triplet_to_its_new_place() -> None:
    one = listed("a1", "triplets", "aspect+opinion")[0]
    said = candidate(one.sentence, ("今天", "就在今天"), ("但是", "可"))
    made = layer_row(one, make_trial(one.sentence, said, cues_of("zh")), "triplets", "m", "m")
    assert not isinstance(made, str)
    assert made["text"] == "就在今天跟朋友去吃，覺得湯頭很濃郁，可店員不太親切。"
    for before, after in zip(one.triplets, made["triplets"], strict=True):
        for name in ("aspect", "opinion", "opinion_full"):
            told = after[name]  # type: ignore[literal-required]
            assert "".join(made["text"][a:b] for a, b in told["spans"]) == told["text"] == before[name]["text"]  # type: ignore[literal-required]
    assert made["source_id"] == "a1"
    assert made["edits"] == [{"start": 0, "end": 2, "text": "就在今天"}, {"start": 16, "end": 18, "text": "可"}]


def test_a_flipped_opinion_brings_its_polarity_and_valence() -> None:
    one = listed("a5", "triplets", "aspect+opinion")[0]
    flipped = Rewrite(
        one.sentence.id, (Edit(0, 0, "今天"), Edit(2, 4, "軟趴趴")), changed=(Changed(2, 4, "軟趴趴", "NEG", 2.5),)
    )
    made = layer_row(one, make_trial(one.sentence, flipped, cues_of("zh")), "triplets", "m", "m")
    assert not isinstance(made, str)
    (told,) = made["triplets"]
    assert (told["opinion"], told["polarity"], told["valence"]) == ({"text": "軟趴趴", "spans": [[4, 7]]}, "NEG", 2.5)
    assert (told["aspect"]["text"], told["aspect"]["spans"]) == ("炸雞", [[2, 4]])


def test_kneser_ney_gives_probabilities_that_sum_to_one() -> None:
    model = survival.fit([list("湯好喝"), list("湯好香"), list("麵好吃")])
    vocabulary = ["湯", "好", "喝", "香", "麵", "吃", "\n"]
    for history in (("\n", "\n"), ("湯", "好"), ("喝", "湯"), ("未", "知")):
        known = sum(model._probability((*history, token)) for token in vocabulary)
        unknown = model._probability((*history, "never seen"))
        assert math.isclose(known + unknown, 1.0, rel_tol=1e-9), (history, known, unknown)
    assert model.log2(list("湯好喝")) > model.log2(list("喝好湯"))


def test_no_text_is_judged_by_a_model_that_has_seen_its_review() -> None:
    reviews = [(f"r{n}", f"獨一無二{chr(0x5000 + n)}") for n in range(20)]
    judge_of = survival.judge(reviews, list)
    for i, text in reviews:
        model = judge_of.models[survival.fold_of(i)]
        assert not any(text[-1] in gram for gram in model.levels[0].counts)
    assert judge_of.perplexity([]) is None


def test_measures_of_a_run() -> None:
    source = Sentence("s", "a b c d e f", ((0, 1),), language="en")
    kept = (make_trial(source, Rewrite("s", (Edit(10, 11, "g"),)), cues_of("en")),)
    settings = replace(make_settings({}), given=Given(sentences=(source, source), language="en"))
    told = survival.measures(Judgement(kept, (), 2, 1), settings, [("s", "a b c"), ("t", "a b d")])
    assert told["kept of candidates"] == 0.5
    assert told["distinct-1 (words)"] == {"kept": 1.0, "their sources": 1.0}
    assert survival.distinct([["a", "a", "a"]], 2) == 0.5
    bleu = told["BLEU against the source"]
    assert 50 < bleu["score"] < 100
    assert "tok:13a" in bleu["signature"]
    assert survival.bleu([], "zh") == (None, "")


def test_missing_sacrebleu_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "sacrebleu", None)
    with pytest.raises(ConfigError, match=re.escape(install_command("augment"))):
        survival.check()
