"""What the constraints would reject is not written:
cues that may not come are barred, those that must stay are held, and a view's own rules decide which.
"""

from __future__ import annotations

from dataclasses import replace

import pytest
import tiny_hub
import torch
from augmenting import cues_of, sentence

from builder.augment.constraints import Cue, broken, make_trial, may_not_come, must_stay
from builder.augment.method_settings import MaskedSeq2SeqSettings
from builder.augment.methods.masked_seq2seq import Bars, MaskedSeq2Seq, bars, load
from builder.augment.nets.beam import SearchRows, SearchRules, banned, search
from builder.augment.nets.fragments import pairs
from builder.augment.records import Sentence
from builder.augment.training import Workplace
from builder.learning.pieces import BOS, SPECIAL, Units

CUES = cues_of("zh")
TINY = MaskedSeq2SeqSettings(width=32, epochs=2, pretrain_epochs=1, least=16, min_count=1)
REFUSED = {"negator-changed", "degree-changed", "opinion-added", "contrast-added", "aspect-invented"}


def without_polarity(one: Sentence) -> Sentence:
    return replace(one, marks=tuple(replace(mark, polarity=None) for mark in one.marks))


def words(one: Sentence) -> list[str]:
    return [one.text[start:end] for start, end in must_stay(one, CUES)]


def test_negators_and_degree_words_stay_beside_a_label_and_opinions_where_none_is_labelled() -> None:
    both = sentence("我沒想到{湯頭|aspect|POS}真的{濃郁|opinion|POS}，大家不會餓", "zh")
    assert words(both) == ["真的"], "沒想到 is a word of its own, 不會 is far from the label"
    assert words(sentence("{湯頭|aspect|POS}真的濃郁，大家不會餓", "zh")) == ["真的", "濃郁"]
    assert words(sentence("湯頭真的濃郁，大家不會餓", "zh", label="POS")) == ["真的", "濃郁", "不會"]
    assert words(sentence("不會餓，湯頭濃郁", "zh", label="POS")) == ["不會", "濃郁"], "from the first character on"
    assert words(sentence("不會餓的{湯頭|aspect|POS}，真的", "zh")) == ["不會"]


def test_where_no_polarity_is_told_only_contrast_and_aspects_may_not_come_and_nothing_must_stay() -> None:
    one = without_polarity(sentence("{湯頭|aspect|POS}真的濃郁，大家不會餓", "zh"))
    assert may_not_come(one) == ("contrast", "aspect")
    assert words(one) == []
    assert may_not_come(sentence("湯頭真的濃郁", "zh")) == ()


def test_a_cue_is_barred_in_either_script_and_is_free_where_it_stood() -> None:
    units = Units(tuple(sorted("大家卻却但是店員不會服務员务餓")), "char")
    index = units.vocabulary.numbers
    one = sentence("{湯頭|aspect|POS}，但是大家不會餓", "zh")
    found = bars([one], units, CUES)
    assert {index[char] for char in "卻却但不"} <= {*found.table[()]}
    assert index["務"] in found.table[index["服"],]
    assert index["务"] in found.table[index["服"],]
    assert index["家"] not in found.table.get((index["大"],), {})
    place = one.text.index("但是")
    assert found.free(one, [(place, place + 1), (place + 1, place + 2)]) == {found.numbers[Cue("contrast", "")]}
    assert found.free(one, [(place + 2, place + 3)]) == set()
    assert found.free(one, [(place, place + 1), (place + 2, place + 3)]) == set(), "but not where a part of it stays"
    assert Bars().free(one, [(0, 3)]) == set()


def test_words_are_barred_only_by_what_the_view_refuses() -> None:
    units = Units(tuple("但不很服務"), "char")
    one = sentence("{湯頭|aspect|POS}好喝", "zh")
    judged, terms = (bars([each], units, CUES).table for each in (one, without_polarity(one)))
    shown = lambda table: {units.token(i) for i in table[()]}
    assert (shown(judged), shown(terms)) == ({"但", "不", "很"}, {"但"})
    assert bars([one], units, None).table == {}


class Steps:
    """Token 6 is likeliest, then 7, then 8, whatever stands before."""

    def __call__(self, last: torch.Tensor, step: int) -> torch.Tensor:
        return torch.tensor([-9.0] * 6 + [-0.1, -1.0, -2.0, -8.0, -8.0, -8.0]).repeat(len(last), 1)

    def reorder(self, beams: torch.Tensor) -> None: ...


def test_a_barred_word_is_written_in_the_row_where_its_number_is_free() -> None:
    barred = {(): {6: 0}, (7,): {7: 1}}
    rows = SearchRows([3] * 3, [2] * 3, [()] * 3, free=[set(), {0}, {1}])
    found = search(Steps(), rows, SearchRules(banned(12, range(6)), marks=(), barred=barred), 1)
    assert [one.sequences[0][0] for one in found] == [(7, 8), (6, 6), (7, 7)]


def test_only_tokens_that_stood_beside_each_other_are_written_so_before_what_follows_too() -> None:
    units = Units(tuple("abcdef"), "char")
    a, b, c, d = range(SPECIAL, SPECIAL + 4)
    known = pairs([(a, b, c), (a, b), (b, d), (b, d), (c, a)], units, 2)
    assert [tuple(map(int, pair)) for pair in known[SPECIAL:, SPECIAL:].nonzero() + SPECIAL] == [(a, b), (b, d)]
    assert known[BOS].all()
    assert known[:, BOS].all()
    rows = SearchRows([BOS, a], [2, 1], [(-1, -1), (-1,)], behind=[d, -1])
    found = search(Steps(), rows, SearchRules(banned(units.size, range(6)), marks=(), pairs=known), 3)
    assert [[said for said, _ in one.sequences] for one in found] == [[(a, b)], [(b,)]]


@pytest.fixture(scope="module")
def method(tmp_path_factory: pytest.TempPathFactory) -> MaskedSeq2Seq:
    return load(TINY, tiny_hub.chinese(), Workplace(tmp_path_factory.mktemp("model")), cues=CUES)


def reasons(method: MaskedSeq2Seq) -> list[str | None]:
    sentences = tiny_hub.chinese()
    proposed = method.propose(sentences, 12, 1)
    return [
        broken(make_trial(one, each, CUES)) for one, found in zip(sentences, proposed, strict=True) for each in found
    ]


def test_hardly_any_candidate_breaks_a_constraint_that_is_told_beforehand(method: MaskedSeq2Seq) -> None:
    with_them, without = reasons(method), reasons(replace(method, bars=Bars()))
    share = lambda listed: sum(one in REFUSED for one in listed) / len(listed)
    assert len(with_them) > 20
    assert share(with_them) < 0.2 < 0.5 < share(without), "a word may still come about across the edge of a fragment"


def test_proposals_of_other_lexicons_are_others(method: MaskedSeq2Seq) -> None:
    fewer = replace(CUES, table={word: cue for word, cue in CUES.table.items() if cue.sort != "contrast"})
    signatures = {replace(method, bars=replace(method.bars, cues=cues)).signature for cues in (CUES, fewer, None)}
    assert len(signatures) == 3
