"""`masked-seq2seq`: MaskFrag as the paper says, the label-aware network, and beams that keep labels."""

from __future__ import annotations

import itertools
import random
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
import tiny_hub
import torch
from hypothesis import given
from hypothesis import strategies as st

from builder.augment.candidates import Mark, Sentence, applied, moved
from builder.augment.method_settings import MaskedSeq2SeqSettings
from builder.augment.methods.masked_seq2seq import MaskedSeq2Seq, load
from builder.augment.nets.beam import SearchRows, SearchRules, banned, search
from builder.augment.nets.fragments import (
    Writing,
    chosen_fragments,
    embedded,
    fragment,
    mask_frag,
    pairs,
    starts,
    trimmed,
    weight,
    widened,
)
from builder.augment.nets.fragments import write as write_fragments
from builder.augment.nets.transformer import LabelledSeq2Seq, MaskedSentence, TwoWayReading, collate
from builder.augment.training import LABELS, Workplace, bio
from builder.core.errors import InputError, ModelError
from builder.learning import loop
from builder.learning.checkpoint import Checkpoints
from builder.learning.obtain import Measure, Phase, Schedule, TrainingRun, train_phase
from builder.learning.pieces import BOS, MASK, SPECIAL, Units

TINY = MaskedSeq2SeqSettings(width=32, epochs=2, pretrain_epochs=1, least=16, min_count=1)


@pytest.fixture(scope="module")
def method(tmp_path_factory: pytest.TempPathFactory) -> MaskedSeq2Seq:
    return load(TINY, tiny_hub.chinese(opinions=False), Workplace(tmp_path_factory.mktemp("model")))


def test_a_fragment_is_the_papers_from_u_to_u_plus_r_times_the_length() -> None:
    # Ten words, r = 0.5, u = 3 in the paper's count: positions 3 to 8, of which 5 and 6 are an aspect's.
    words, labels = list("abcdefghij"), [0, 0, 0, 0, 1, 2, 0, 0, 0, 0]
    span = fragment(10, 2, 0.5)
    assert ("".join(mask_frag(words, labels, span, "M")), span) == ("abMMefMMij", (2, 8))


def test_starts_are_those_of_algorithm_1() -> None:
    assert list(starts(10, 0.5)) == [0, 1, 2, 3, 4]
    assert list(starts(10, 0.7)) == [0, 1, 2]
    assert list(starts(1, 0.5)) == [0]


@given(st.integers(1, 200), st.sampled_from([0.1, 0.3, 0.4, 0.5, 0.6, 0.7, 1.0]))
def test_every_fragment_lies_in_its_sentence_and_has_m_tokens(length: int, r: float) -> None:
    for u in starts(length, r):
        first, end = fragment(length, u, r)
        assert 0 <= first < end <= length
        assert end - first == min(length, round(r * length - 0.499999) + 1) or length < 3


def test_short_sentences_are_never_drawn_and_long_ones_by_the_root_of_their_length() -> None:
    assert [weight(n) for n in (1, 5, 9, 16)] == [0, 0, 3, 4]


@given(st.lists(st.integers(0, 2), min_size=1, max_size=40), st.integers(1, 5), st.integers(0, 9))
def test_chosen_fragments_mask_different_tokens(labels: list[int], copies: int, seed: int) -> None:
    chosen = chosen_fragments(labels, 0.5, copies, random.Random(seed))
    masked = {mask_frag(range(len(labels)), labels, span, -1) for span in chosen}
    assert len(chosen) == len(masked) <= copies
    assert all(-1 in one for one in masked)
    assert bool(chosen) == any(
        not label for u in starts(len(labels), 0.5) for label in labels[slice(*fragment(len(labels), u, 0.5))]
    )


def test_a_fragment_of_whole_words_reaches_to_their_ends() -> None:
    edges = [start in (0, 2, 5) for start in range(7)] + [True]  # words of two, three and two characters
    assert [widened(span, edges) for span in ((0, 2), (1, 3), (3, 6), (5, 7))] == [(0, 2), (0, 5), (2, 7), (5, 7)]
    assert {*chosen_fragments([0] * 7, 0.3, 9, random.Random(1), edges)} == {(0, 5), (2, 5), (2, 7)}
    assert {*chosen_fragments([0, 0, 1, 1, 0, 1, 1], 0.3, 9, random.Random(1), edges, 2)} == {(0, 5)}


def test_labels_of_tokens_follow_the_marks_and_a_token_that_a_mark_touches_is_labelled() -> None:
    marks = (Mark(2, 4), Mark(6, 8, "opinion"))
    told = bio([(0, 2), (2, 3), (3, 4), (4, 7), (7, 9)], marks)
    assert [LABELS[i] for i in told] == ["O", "B-aspect", "I-aspect", "B-opinion", "I-opinion"]


def test_marks_that_overlap_are_an_error(tmp_path: Path) -> None:
    wrong = Sentence("s1", "湯頭很濃郁的店", ((0, 2), (2, 7)), (Mark(0, 3), Mark(2, 5)))
    with pytest.raises(InputError, match="sentence s1: labels overlap"):
        load(TINY, [wrong], Workplace(tmp_path))


def test_nothing_to_learn_from_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="no sentence of more than five tokens"):
        load(TINY, [Sentence("s", "很好", ((0, 2),))], Workplace(tmp_path))


def network(used: bool = True) -> LabelledSeq2Seq:
    made = embedded(12, 16, used, 3)
    with torch.no_grad():
        made.labels.weight.copy_(
            torch.randn(made.labels.weight.shape, generator=torch.Generator().manual_seed(1)) * used
        )
    return made.eval()


ITEM = MaskedSentence((7, MASK, 9, MASK, 8), (0, 0, 1, 0, 0), 1, (6, 9, 10), 7)


def logits(net: LabelledSeq2Seq, item: MaskedSentence) -> torch.Tensor:
    with torch.inference_mode():
        return net(collate([item], 0))[0]


def test_the_label_of_a_step_is_added_before_the_softmax_and_fed_back_at_the_next() -> None:
    net = network()
    with torch.no_grad():  # the encoder's labels alone would change everything: they are held
        held = net.core.embed(torch.tensor([list(ITEM.source)]))
    net.encode = lambda rows: held.expand(len(rows.source), -1, -1)  # type: ignore[method-assign]
    rows = collate([ITEM], 0)
    changed = replace(rows, due=torch.tensor([[0, 2, 0]]))
    fed = replace(rows, before=torch.tensor([[0, 0, 2]]))
    with torch.inference_mode():
        before, after, back = net(rows)[0], net(changed)[0], net(fed)[0]
    differs = lambda a, b: [not torch.allclose(x, y, atol=1e-5) for x, y in zip(a, b, strict=True)]
    assert differs(before, after) == [False, True, False], "equation 5: l_t touches step t alone"
    assert differs(before, back) == [False, False, True], "equation 6: l_(t-1) is read with the token"


def test_the_encoder_reads_labels_and_without_label_embeddings_nothing_does() -> None:
    other = replace(ITEM, labels=(1, 0, 1, 0, 0))
    assert not torch.allclose(logits(network(), ITEM), logits(network(), other), atol=1e-4)
    plain = network(used=False)
    assert torch.equal(logits(plain, ITEM), logits(plain, other))
    assert not plain.labels.weight.requires_grad


def test_what_is_read_of_a_row_does_not_depend_on_its_padding() -> None:
    reading = TwoWayReading(8)
    rows, seen = torch.randn(2, 6, 8), torch.tensor([[True] * 4 + [False] * 2, [True] * 6])
    torch.testing.assert_close(reading(rows, seen)[0, :4], reading(rows[:1, :4], seen[:1, :4])[0])
    turned = reading(rows.index_copy(1, torch.tensor([3]), rows[:, :1]), seen)
    assert not torch.allclose(turned[:, 0], reading(rows, seen)[:, 0])  # it reads from either side


def test_the_network_writes_step_by_step_what_it_was_trained_to_say_at_once() -> None:
    network = embedded(12, 16, True, 1).eval()
    items = [
        MaskedSentence((5, 2, 2, 6, 7), (0, 0, 0, 1, 0), 1, (8, 9, 6), 5),
        MaskedSentence((5, 2, 2, 2), (0,) * 4, 1, (8, 9, 10), 5),
    ]
    rows = collate(items, 0)
    with torch.inference_mode():
        state = network.core.remember(network.encode(rows), rows.seen, rows.start, 1)
        steps = [network.step(rows.previous[:, t], rows.before[:, t], rows.due[:, t], state) for t in range(3)]
        torch.testing.assert_close(torch.stack(steps, 1), network(rows).log_softmax(-1))


def test_an_exhaustive_beam_finds_the_best_of_all_sequences_with_the_forced_token_in_place() -> None:
    net = network()
    inventory = Units(tuple("abcdef"), "char")
    found = next(write_fragments(net, [ITEM], inventory, Writing(40, threads=1)))[1]
    best = {}
    for one, other in itertools.product(range(SPECIAL, 12), repeat=2):
        told = torch.log_softmax(logits(net, replace(ITEM, target=(one, 9, other))), -1)
        best[one, 9, other] = sum(float(told[t, i]) for t, i in enumerate((one, 9, other)))
    due = sorted(best, key=lambda said: -best[said])
    assert [said for said, _ in found.sequences[:5]] == due[:5]
    assert found.sequences[0][1] == pytest.approx(best[due[0]], abs=0.006)


def test_forced_tokens_at_the_ends_are_not_searched_for() -> None:
    item = MaskedSentence((7, MASK, 9, 8), (1, 0, 1, 2), 0, (7, 6, 9, 8), BOS)
    short = trimmed(item, MASK)
    assert (short.start, short.target, short.previous, short.before) == (1, (6,), 7, 1)


class Fixed:
    """Says the same of every beam: a row of log-probabilities for each step, the last one from then on."""

    def __init__(self, *rows: list[float]) -> None:
        self.rows = torch.tensor(rows)

    def __call__(self, last: torch.Tensor, step: int) -> torch.Tensor:
        return self.rows[min(step, len(self.rows) - 1)].repeat(len(last), 1)

    def reorder(self, beams: torch.Tensor) -> None: ...


def test_no_beam_says_three_tokens_twice_or_a_mark_behind_a_mark() -> None:
    stuck = Fixed([-9.0, -9.0, -9.0, 0.0, -1.0, -1.5])
    sequences = [
        found.sequences[0][0]
        for marks in (None, (), (3,))
        for found in search(stuck, SearchRows([0], [7], [[-1] * 7]), SearchRules(torch.zeros(6), marks=marks), 3)
    ]
    assert sequences[0] == (3,) * 7
    assert len({sequences[1][i : i + 3] for i in range(5)}) == 5
    assert (3, 3) not in zip(sequences[2], sequences[2][1:], strict=False)
    rows, rules = SearchRows([0], [2], [[-1] * 2], behind=[3]), SearchRules(torch.zeros(6), marks=(3,))
    assert search(stuck, rows, rules, 3)[0].sequences[0][0] == (3, 4), "no mark before the mark that follows"


def test_a_search_that_may_end_stops_at_the_end_token() -> None:
    steps = Fixed([-9.0] * 6 + [-0.1, -9.0], [-9.0] * 7 + [-0.1])
    found = search(steps, SearchRows([3], [5], [()]), SearchRules(banned(8, range(6)), end=7), 2)[0]
    assert found.sequences[0] == ((6, 7), pytest.approx(-0.2))


def test_labelled_spans_stay_and_every_candidate_differs(method: MaskedSeq2Seq) -> None:
    sentences = tiny_hub.chinese(opinions=False)
    proposed = list(method.propose(sentences, 4, 1))
    assert [len(one) for one in proposed] == [4] * len(sentences)
    for sentence, candidates in zip(sentences, proposed, strict=True):
        texts = {applied(sentence.text, one.edits) for one in candidates}
        assert sentence.text not in texts
        assert {len(text) for text in texts} == {len(sentence.text)}, "one token for each"
        for one in candidates:
            (mark,) = sentence.marks
            place = moved((mark.start, mark.end), one.edits)
            assert place is not None
            assert applied(sentence.text, one.edits)[slice(*place)] == sentence.text[mark.start : mark.end]


def test_punctuation_stays_and_none_is_written(method: MaskedSeq2Seq) -> None:
    marks = "，。！"
    one = Sentence("s", "湯頭很濃，店員親切。下次再來！", tuple((i, i + 1) for i in range(15)), (Mark(0, 2),))
    (found,) = method.propose([one], 6, 1)
    shown = ["".join(char if char in marks else "-" for char in applied(one.text, each.edits)) for each in found]
    assert len(shown) > 2
    assert {*shown} == {"----，----。----！"}
    free = replace(method, settings=replace(method.settings, whole=False))
    assert any(edit.start <= 4 < edit.end for each in next(free.propose([one], 6, 1)) for edit in each.edits)


def test_a_bound_on_what_is_written_holds_in_long_sentences(method: MaskedSeq2Seq) -> None:
    one = Sentence("s", "這家的湯頭很濃店員親切下次再來", tuple((i, i + 1) for i in range(15)), (Mark(3, 5),))
    bound = replace(method, settings=replace(method.settings, most=1))
    for made, longest in ((method, 8), (bound, 2)):
        spans = [(found[0].start, found[-1].end) for found in (each.edits for each in next(made.propose([one], 20, 1)))]
        assert max(end - start for start, end in spans) <= longest
    assert len(spans) > 9, "bounded fragments begin everywhere"


def test_a_sentence_that_is_labelled_throughout_has_no_candidates(method: MaskedSeq2Seq) -> None:
    assert list(method.propose([Sentence("s", "湯頭", ((0, 2),), (Mark(0, 2),)), Sentence("e", "", ())], 4, 1)) == [
        (),
        (),
    ]


def test_beams_change_what_is_written_not_what_is_learnt_and_damaged_weights_are_an_error(tmp_path: Path) -> None:
    sentences, settings = tiny_hub.chinese(), replace(TINY, epochs=1, pretrain_epochs=0)
    first = load(settings, sentences, Workplace(tmp_path))
    written = (tmp_path / "weights.safetensors").stat().st_mtime_ns
    assert load(replace(settings, beams=2), sentences, Workplace(tmp_path)).digest == first.digest
    assert (tmp_path / "weights.safetensors").stat().st_mtime_ns == written
    (tmp_path / "weights.safetensors").write_bytes(b"no")
    with pytest.raises(ModelError, match="no readable safetensors"):
        load(settings, sentences, Workplace(tmp_path))


def test_a_training_that_was_cut_off_ends_in_the_same_weights(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loop, "SAVE_STEPS", 1)
    sentences = tiny_hub.chinese()
    due = load(TINY, sentences, Workplace(tmp_path / "whole")).digest

    def stop(done: int, total: int, note: str) -> None:
        if note.startswith("epoch 2/2"):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        load(TINY, sentences, Workplace(tmp_path / "cut", progress=stop))
    assert list((tmp_path / "cut" / "checkpoints").rglob("step-*.safetensors")), "epochs before are kept"
    assert not (tmp_path / "cut" / "model.json").exists()
    notes: set[str] = set()
    again = Workplace(tmp_path / "cut", progress=lambda done, total, note: notes.add(note.partition(",")[0]))
    assert load(TINY, sentences, again).digest == due
    assert notes == {"epoch 2/2"}


def test_training_stops_when_the_validation_loss_has_converged(tmp_path: Path) -> None:
    linear = torch.nn.Linear(1, 1)
    losses = iter([3.0, 2.0, 2.5, 2.5, 1.0])

    def loss(chosen: Sequence[int]) -> torch.Tensor:
        return torch.tensor(next(losses)) if torch.is_inference_mode_enabled() else linear(torch.ones(1, 1)).sum() ** 2

    phase: Phase[int] = Phase(lambda epoch: [4], [4], Schedule(epochs=5, patience=2, threads=1))
    done = train_phase(linear, phase, Measure(loss, int, int), TrainingRun(1, Checkpoints(tmp_path, "k")))
    assert len(done.scores) == 4
    assert done.epoch == 2


@pytest.mark.parametrize("kind", ["bart", "mt5"])
def test_any_encoder_decoder_of_a_hub_serves_as_base(kind: str, tmp_path: Path) -> None:
    import tiny_mt5

    base = (
        str(tiny_mt5.make_base(tmp_path / "base", tuple(tiny_hub.texts()), size=560))
        if kind == "mt5"
        else tiny_hub.save(tmp_path / "base", kind)
    )
    sentences = [*tiny_hub.chinese(opinions=False), *tiny_hub.english(opinions=False)]
    made = load(replace(TINY, base=base, epochs=1, pretrain_epochs=0), sentences, Workplace(tmp_path / "model"))
    proposed = list(made.propose(sentences, 2, 1))
    assert sum(map(len, proposed)) > len(sentences)
    for sentence, candidates in zip(sentences, proposed, strict=True):
        for one in candidates:
            assert all(moved((mark.start, mark.end), one.edits) for mark in sentence.marks), (sentence.text, one)
    assert list(made.propose(sentences[::-1], 2, 1)) == proposed[::-1]
    steps = stepwise(made)
    assert torch.allclose(*steps, atol=1e-4), "a step with its memory is what all steps at once are"


def stepwise(made: MaskedSeq2Seq) -> tuple[torch.Tensor, torch.Tensor]:
    ids = made.inventory.cut("麵湯客店好甜香差", ((0, 8),)).ids
    item = MaskedSentence(ids, (0,) * len(ids), 1, ids[1:5], ids[0])
    rows = collate([item], 0)
    with torch.inference_mode():
        whole = torch.log_softmax(made.network(rows)[0], -1)
        state = made.network.core.remember(made.network.encode(rows), rows.seen, rows.start, 1)
        each = [made.network.step(rows.previous[:, t], rows.before[:, t], rows.due[:, t], state)[0] for t in range(4)]
    return whole, torch.stack(each)


def test_only_tokens_that_stood_beside_each_other_are_written_so_before_what_follows_too() -> None:
    units = Units(tuple("abcdef"), "char")
    a, b, c, d = range(SPECIAL, SPECIAL + 4)
    known = pairs([(a, b, c), (a, b), (b, d), (b, d), (c, a)], units, 2)
    assert [tuple(map(int, pair)) for pair in known[SPECIAL:, SPECIAL:].nonzero() + SPECIAL] == [(a, b), (b, d)]
    assert known[BOS].all()
    assert known[:, BOS].all()
    rows = SearchRows([BOS, a], [2, 1], [(-1, -1), (-1,)], behind=[d, -1])
    likely = Fixed([-9.0] * 6 + [-0.1, -1.0, -2.0, -8.0, -8.0, -8.0])
    found = search(likely, rows, SearchRules(banned(units.size, range(6)), marks=(), pairs=known), 3)
    assert [[said for said, _ in one.sequences] for one in found] == [[(a, b)], [(b,)]]
