"""Sentences of both scripts, and a model that knows one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from builder.augment.neural import in_one_script
from builder.augment.records import Changed, Edit, Mark, Rewrite, Sentence, applied
from builder.augment.training import raw

OLD = Sentence("t", "湯頭很濃，麵條軟。", tuple((i, i + 1) for i in range(9)), (Mark(0, 2),))
NEW = Sentence("s", "汤头很浓，面条软。", tuple((i, i + 1) for i in range(9)), (Mark(0, 2),))


class Writes:
    """Says of every sentence what it saw, and writes Traditional at its end."""

    name, signature, digest = "writes", "writes()", "0123"

    def propose(self, sentences: Sequence[Sentence], copies: int, seed: int) -> Iterator[tuple[Rewrite, ...]]:
        for one in sentences:
            self.seen = [*getattr(self, "seen", []), one.text]
            changed = (Changed(0, 2, "麵條", "POS", 7.0),)
            yield (
                Rewrite(one.id, (Edit(7, 8, "彈"), Edit(8, 9, "。")), changed=changed),
                Rewrite(one.id, (Edit(0, 1, "湯"),)),
            )


def test_a_model_is_shown_traditional_and_what_it_writes_for_simplified_is_converted() -> None:
    shown, given_back = in_one_script([OLD, NEW])
    assert [one.text for one in shown] == ["湯頭很濃，麵條軟。", "湯頭很濃，麵條軟。"]
    method = Writes()
    made = given_back(method)
    old, new = made.propose([OLD, NEW], 2, 1)
    assert method.seen == [one.text for one in shown]
    assert applied(OLD.text, old[0].edits) == "湯頭很濃，麵條彈。"
    assert applied(NEW.text, new[0].edits) == "汤头很浓，面条弹。"
    assert [one.changed[0].text for one in (old[0], new[0])] == ["麵條", "面条"]
    assert len(new) == 1, "湯 for 汤 changes nothing"
    assert made.signature != method.signature


def test_sentences_of_one_script_stay_as_they_are() -> None:
    method = Writes()
    for listed in ([OLD, OLD], [NEW, NEW], [Sentence("e", "the soup", ((0, 3), (4, 8)), language="en")]):
        shown, given_back = in_one_script(listed)
        assert list(shown) == listed
        assert given_back(method) is method


def test_the_script_of_a_corpus_is_that_of_all_sentences_not_of_the_first_ones() -> None:
    listed = [*[OLD] * 1000, *[NEW] * 3000]
    assert [one.text for one in raw("train", listed, ["面条软。", "湯頭很濃。"])] == ["面条软", "湯頭很濃"]


def test_a_sentence_that_is_the_same_in_both_scripts_makes_no_release_of_two() -> None:
    alike = Sentence("n", "好吃又便宜", tuple((i, i + 1) for i in range(5)))
    shown, given_back = in_one_script([NEW, alike])
    method = Writes()
    assert shown == (NEW, alike) and given_back(method) is method
