"""What the methods that train share: raw reviews to begin with, in the script of the sentences, never held out."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
import tiny_hub

from builder.augment.candidates import Changed, Edit, Mark, Rewrite, Sentence, applied
from builder.augment.method_settings import CBertSettings, MaskedSeq2SeqSettings
from builder.augment.methods import masked_seq2seq
from builder.augment.methods.replacing import load_cbert, unit_inventory
from builder.augment.nets.fragments import FragmentSource
from builder.augment.training import Workplace, in_one_script, raw
from builder.core.errors import ConfigError, InputError
from builder.learning.pieces import SPECIAL, UNK, Units

TINY = {"width": 32, "epochs": 1, "corpus_epochs": 1, "least": 16, "min_count": 1}
SEQ = MaskedSeq2SeqSettings(**TINY)  # type: ignore[arg-type]
CLOZE = CBertSettings(**TINY, layers=1)  # type: ignore[arg-type]
GIVEN = tuple(tiny_hub.chinese(opinions=False))


def corpus(folder: Path, *texts: str) -> str:
    path = folder / "raw.txt"
    path.write_text("\n".join(texts), "utf-8")
    return str(path)


def test_a_corpus_is_cut_into_sentences_in_the_script_of_the_labelled_ones(tmp_path: Path) -> None:
    found = raw(corpus(tmp_path, "汤头浓郁。服务态度差", "湯頭濃郁", "", "環境很好"), GIVEN)
    assert [one.text for one in found] == ["湯頭濃郁", "服務態度差", "環境很好"]
    assert found[0].words == ((0, 1), (1, 2), (2, 3), (3, 4))
    assert {one.marks for one in found} == {()}


def test_reviews_come_from_any_file_that_ingest_reads_and_from_the_train_split(tmp_path: Path) -> None:
    path = tmp_path / "reviews.csv"
    path.write_text("place,text\n甲,湯頭很濃郁\n乙,店員親切\n", "utf-8")
    assert [one.text for one in raw(str(path), GIVEN)] == ["湯頭很濃郁", "店員親切"]
    assert [one.text for one in raw("train", GIVEN, ["甜點不錯"])] == ["甜點不錯"]


def test_a_held_out_text_is_never_read_whole_or_as_a_sentence(tmp_path: Path) -> None:
    path = corpus(tmp_path, "湯頭濃郁！", "店員親切。環境很吵", "甜點不錯")
    assert [one.text for one in raw(path, GIVEN, held=["湯頭濃郁。", "環境很吵"])] == ["店員親切", "甜點不錯"]


def test_english_is_cut_into_words() -> None:
    (one,) = raw("train", tiny_hub.english(opinions=False), ["The soup isn't hot."])
    assert [one.text[start:end] for start, end in one.words] == ["The", "soup", "isn't", "hot", "."]


def test_a_corpus_that_cannot_be_used_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="empty file"):
        raw(corpus(tmp_path, ""), GIVEN)
    with pytest.raises(InputError, match="no text"):
        raw(corpus(tmp_path, "湯頭很濃"), GIVEN, held=["湯頭很濃"])
    with pytest.raises(InputError, match="no such file"):
        raw(str(tmp_path / "none.txt"), GIVEN)
    with pytest.raises(ConfigError, match="no train split"):
        raw("train", GIVEN)


def texts(given: tuple[Sentence, ...]) -> list[str]:
    return [f"{one.text}而且醬汁也很特別{n}" for n, one in enumerate(given)]


def test_the_model_of_a_corpus_is_trained_once_and_serves_other_sentences_and_settings(tmp_path: Path) -> None:
    more = raw("train", GIVEN, texts(GIVEN))
    make_settings = replace(SEQ, corpus="train")
    first = masked_seq2seq.load(make_settings, GIVEN, Workplace(tmp_path / "masked-seq2seq"), corpus=more)
    weights = tmp_path / "corpus-masked-seq2seq" / "weights.safetensors"
    before = weights.stat().st_mtime_ns
    other = masked_seq2seq.load(
        replace(make_settings, label_embeddings=False, r=0.3), GIVEN[:3], Workplace(tmp_path / "other"), corpus=more
    )
    assert weights.stat().st_mtime_ns == before
    assert first.digest != other.digest
    assert first.inventory == other.inventory, "the corpus's tokens"
    assert not other.network.labels.weight.any()


def test_bert_and_cbert_begin_with_the_same_model_and_bert_stays_as_it_is(tmp_path: Path) -> None:
    more = raw("train", GIVEN, texts(GIVEN))
    make_settings = replace(CLOZE, corpus="train")
    plain = load_cbert(make_settings, GIVEN, Workplace(tmp_path / "bert"), "bert", corpus=more)
    labelled = load_cbert(make_settings, GIVEN, Workplace(tmp_path / "cbert"), corpus=more)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["cbert", "corpus-bert"]
    labels, none = (len(made.model.network.state_dict()["labels.weight"]) for made in (labelled, plain))
    assert labels > none == 1
    assert list(plain.propose(GIVEN, 1, 1)) != list(labelled.propose(GIVEN, 1, 1))


@pytest.mark.parametrize("masking", ["mask", "mass"])
def test_a_pretrained_base_learns_from_raw_reviews_before_the_labelled_sentences(masking: str, tmp_path: Path) -> None:
    """Li et al. 2020, section 3.2: pre-trained weights, then in-domain pre-training, then the labelled set."""
    base = tiny_hub.save(tmp_path / "base", "bart")
    english = tuple(tiny_hub.english(opinions=False))
    more = raw("train", english, [f"{one.text} and more" for one in english])
    settings = replace(SEQ, base=base, pretrain_epochs=0, masking=masking, whole=False)
    alone = masked_seq2seq.load(settings, english, Workplace(tmp_path / "alone" / "models"))
    taught = masked_seq2seq.load(
        replace(settings, corpus="train"), english, Workplace(tmp_path / "both" / "models"), corpus=more
    )
    assert alone.digest != taught.digest
    assert (tmp_path / "both" / "corpus-masked-seq2seq" / "weights.safetensors").is_file()
    assert any(taught.propose(english, 2, 1))


def test_mass_hides_most_tokens_of_a_fragment_and_shows_some_of_them_or_others() -> None:
    inventory = unit_inventory(GIVEN, False, 1)
    tokens = [inventory.cut(one.text, one.words).ids for one in GIVEN]
    sentences = [(ids, (0,) * len(ids)) for ids in tokens]
    plain, mass = (FragmentSource.of(sentences, inventory, 0.5, masking) for masking in ("mask", "mass"))
    hidden = shown = own = 0
    for item in mass.draw(2000, 3, labelled=False):
        inside = item.source[item.start : item.start + len(item.target)]
        hidden += inside.count(inventory.mask)
        own += sum(a == b for a, b in zip(inside, item.target, strict=True))
        shown += len(inside)
    assert 0.78 < hidden / shown < 0.82
    assert 0.09 < own / shown < 0.13, "a random token is the old one now and then"
    for source, labelled in ((plain, False), (mass, True)):
        for item in source.draw(50, 3, labelled=labelled):
            inside = item.source[item.start : item.start + len(item.target)]
            assert set(inside) == {inventory.mask}


def test_a_pretrained_bert_learns_from_raw_reviews_and_every_label_begins_as_it(tmp_path: Path) -> None:
    base = tiny_hub.save(tmp_path / "base", "bert")
    more = raw("train", GIVEN, texts(GIVEN))
    settings = replace(CLOZE, base=base, corpus="train")
    plain = load_cbert(settings, GIVEN, Workplace(tmp_path / "bert"), "bert", corpus=more)
    untaught = load_cbert(replace(settings, corpus=""), GIVEN, Workplace(tmp_path / "other"), "bert")
    labelled = load_cbert(settings, GIVEN, Workplace(tmp_path / "cbert"), corpus=more)
    assert plain.digest != untaught.digest
    network = labelled.model.network
    assert network.state_dict()[network.label_weights].shape[0] > 1
    assert (tmp_path / "corpus-bert" / "weights.safetensors").is_file()


# ---- sentences of both scripts, and a model that knows one


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


# ---- texts as tokens and back


def words(text: str) -> tuple[tuple[int, int], ...]:
    return tuple(match.span() for match in re.finditer(r"\w+|[^\w\s]", text))


TEXTS = ("We like it, really.", "It was good (I think).", "Good, we think.", "I like it.")
UNITS = Units.of(((text, words(text)) for text in TEXTS), "word", True, 1)


def written(text: str, new: dict[int, str], units: Units = UNITS) -> str:
    cut = units.cut(text, words(text))
    out, at = [], 0
    for start, end, said in units.written(
        text, cut, {n: SPECIAL + units.tokens.index(token) for n, token in new.items()}
    ):
        out += [text[at:start], said]
        at = end
    return "".join([*out, text[at:]])


def test_marks_stand_where_english_has_them() -> None:
    assert written("We like it, really.", {3: "("}) == "We like it (really."
    assert written("We like it, really.", {2: ",", 3: "it"}) == "We like, it really."
    assert written("It was good here", {1: "(", 2: "I", 3: ")"}) == "It (I)"
    assert written("It was good here", {1: "(", 2: "I"}) == "It (I here"


def test_a_text_that_was_cut_before_keeps_its_spaces() -> None:
    apart = [" ".join(text[start:end] for start, end in words(text)) for text in TEXTS]
    units = Units.of(((text, words(text)) for text in apart), "word", True, 1)
    assert units.tight == (frozenset(), frozenset())
    assert written("We like it , really .", {2: ".", 3: "it"}, units) == "We like . it really ."


def test_what_is_not_replaced_is_never_touched_also_unknown_words() -> None:
    text = "Wer  mag it, really."
    cut = UNITS.cut(text, words(text))
    assert cut.ids[0] == UNK
    assert UNITS.written(text, cut, {n: i for n, i in enumerate(cut.ids) if i != UNK}) == ()
    assert written(text, {3: "."})[:8] == "Wer  mag"


def test_characters_stand_where_their_predecessors_did_and_spaces_stay() -> None:
    text = "湯頭 很香"
    spans = ((0, 2), (3, 4), (4, 5))
    units = Units.of([(text, spans)], "char", False, 1)
    cut = units.cut(text, spans)
    assert [text[slice(*span)] for span in cut.spans] == list("湯頭很香")
    new = {1: cut.ids[0], 2: cut.ids[3], 3: cut.ids[3]}
    assert units.written(text, cut, new) == ((1, 2, "湯"), (3, 4, "香"))


def test_rare_tokens_are_unknown_and_marks_are_told_from_words() -> None:
    units = Units.of(((text, words(text)) for text in TEXTS), "word", True, 2)
    assert "was" not in units.tokens
    assert {units.token(i) for i in units.marks} == {",", "."}
