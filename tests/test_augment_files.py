"""Files of labelled sentences in and out, the synonym baseline, and WordNet's own files."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from pathlib import Path

import pytest
from augmenting import eda_alone, sentence, write_wordnet
from conftest import Command

from builder.augment.candidates import Edit, Rewrite, Sentence, applied
from builder.augment.catalogue import METHODS, Given, make_method, make_settings
from builder.augment.constraints import english_cues, make_trial
from builder.augment.methods import synonym
from builder.augment.sentence_files import FORMATS, Language, language_of
from builder.core.errors import ConfigError, ResourceError

BIO = "The\tO\nbattery\tB\nlife\tI\nis\tO\nfine\tO\n\nNice\tO\nscreen\tB\n\n"
ATEPC = (
    "The O -100\nbattery B-ASP Positive\nlife I-ASP -100\nand O -100\nscreen B-ASP -100\n\n"
    "The O -100\nbattery B-ASP -100\nlife I-ASP -100\nand O -100\nscreen B-ASP Negative\n\n"
)
APC = "The $T$ beats the screen .\nbattery life\nPositive\nThe battery life beats the $T$ .\nscreen\nNegative\n"
TSV = 'sentence\tlabel\na warm and gentle film\t1\n"he said ""maybe"" twice"\t0\n'
ZH = "# id = r1\n湯\tB\n頭\tI\n很\tO\n香\tO\n\n"


def untouched(source: Sentence) -> Rewrite:
    return Rewrite(source.id, (Edit(len(source.text), len(source.text), " again"),))


@pytest.mark.parametrize(("name", "content"), [("bio", BIO), ("tsv", TSV), ("apc", APC)])
def test_what_is_read_is_written_back(name: str, content: str) -> None:
    form = FORMATS[name]
    items = form.read(content, "en")
    assert len(items) == 2
    empty = [make_trial(item.sentence, Rewrite(item.sentence.id, ()), english_cues()) for item in items]
    assert form.head + "".join(form.write(item, one) for item, one in zip(items, empty, strict=True)) == content


def test_atepc_blocks_of_one_sentence_are_one_item_and_become_blocks_again() -> None:
    (item,) = FORMATS["atepc"].read(ATEPC, "en")
    assert item.labels == ("Positive", "Negative")
    assert [item.sentence.text[mark.start : mark.end] for mark in item.sentence.marks] == ["battery life", "screen"]
    written = FORMATS["atepc"].write(item, make_trial(item.sentence, untouched(item.sentence), english_cues()))
    assert written.count("\n\n") == 2
    assert "battery B-ASP Positive\nlife I-ASP Positive\nand O -100\nscreen B-ASP -100\nagain O -100" in written
    assert FORMATS["atepc"].read(written, "en")[0].labels == item.labels


def test_tags_follow_their_term_and_new_words_are_outside() -> None:
    (item, _) = FORMATS["bio"].read(BIO, "en")
    one = make_trial(item.sentence, Rewrite("1", (Edit(0, 3, "This very"), Edit(20, 20, "quite "))), english_cues())
    assert FORMATS["bio"].write(item, one) == "This\tO\nvery\tO\nbattery\tB\nlife\tI\nis\tO\nquite\tO\nfine\tO\n\n"


@pytest.mark.parametrize(
    ("content", "written"),
    [
        (ZH, "# id = r1\n真\tO\n的\tO\n湯\tB\n頭\tI\n很\tO\n香\tO\n\n"),
        ("# id = r1\n湯頭\tB\n很香\tO\n\n", "# id = r1\n真的\tO\n湯頭\tB\n很香\tO\n\n"),
    ],
)
def test_chinese_bio_is_over_characters_or_words_as_it_was(content: str, written: str) -> None:
    (item,) = FORMATS["bio"].read(content, "zh")
    assert item.sentence.text == "湯頭很香"
    trial = make_trial(item.sentence, Rewrite("r1", (Edit(0, 0, "真的"),)), english_cues())
    assert FORMATS["bio"].write(item, trial) == written


def test_in_apc_the_other_aspects_of_a_sentence_are_kept_too() -> None:
    first, second = FORMATS["apc"].read(APC, "en")
    assert first.sentence.text == second.sentence.text == "The battery life beats the screen ."
    assert [[(m.start, m.polarity) for m in item.sentence.marks] for item in (first, second)] == [
        [(4, "POS"), (27, None)],
        [(4, None), (27, "NEG")],
    ]
    assert (first.sentence.label, second.sentence.label) == ("POS", "NEG")
    flipped = make_trial(
        first.sentence, Rewrite(first.sentence.id, (Edit(17, 22, "loses to"),), label="NEG"), english_cues()
    )
    assert FORMATS["apc"].write(first, flipped).endswith("\nbattery life\nNegative\n")


@pytest.mark.parametrize(
    ("name", "content", "where"),
    [
        ("bio", "a\tO\nb\n", "line 2"),
        ("bio", "a\tO\n\nb\tI\n", "line 3"),
        ("bio", "a\tX\n", "line 1"),
        ("bio", "a\tBad\n", "line 1"),
        ("bio", "alone\n\nb\tO\n", "line 1"),
        ("bio", "# id = a\n好\n", "line 2"),
        ("bio", "# id = a\n好\tO\n# id = b\n吃\tI\n", "line 4"),
        ("bio", "# id = a\n好\tO\n \tO\n", "line 3"),
        ("bio", "# id = 1\na\tO\n\n# id = 1\nb\tO\n", "line 4"),
        ("bio", "a\tO\n\n# id = 1\n\n", "line 3"),
        ("atepc", "a O -100\nb O\n", "line 2"),
        ("atepc", "alone\n\nb O -100\n", "line 1"),
    ],
)
def test_a_line_that_is_not_of_the_format_is_named(name: str, content: str, where: str) -> None:
    with pytest.raises(ValueError, match=f"^{where}: "):
        FORMATS[name].read(content, language_of(content))


SOUND = {
    "bio": "soup\tB\nis\tO\nhot\tO\n",
    "atepc": "soup B-ASP Positive\nis O -100\nhot O -100\n",
    "apc": "the $T$ is hot\nsoup\nPositive\n",
    "tsv": "the soup is hot\t1\n",
}


@pytest.mark.parametrize(
    ("name", "faulty"),
    [
        ("bio", "tea\tB\nnice\n"),
        ("atepc", "tea B-ASP Positive\nnice O\n"),
        ("apc", "a $T$ beside the $T$\ntea\nPositive\n"),
        ("apc", "a $T$ of note\ntea\n"),
        ("apc", "a $T$ of note\n\nPositive\n"),
        ("apc", "no place for it\ntea\nPositive\n"),
        ("apc", "Negative\n"),
        ("tsv", "tea without a label\n"),
        ("tsv", "tea\t1\tand more\n"),
        ("tsv", "a" * 200_000 + "\t0\n"),
    ],
)
def test_a_faulty_sentence_is_named_and_left_out_alone(tmp_path: Path, here: Command, name: str, faulty: str) -> None:
    tagged = name in ("bio", "atepc")
    gap = "\n" * tagged
    other = SOUND[name].replace("soup", "rice")
    source, target = tmp_path / "in", tmp_path / "out"
    source.write_text(gap.join((SOUND[name], faulty, other)), encoding="utf-8")
    words = ("augment", "eda", "--input", source, "--format", name, "--output", target, "--workdir", tmp_path / "w")
    ran = here(*words, "--with-source")
    assert ran.code == 0, ran.err
    assert "1 faulty sentence is left out (--strict refuses them):" in ran.err
    line = SOUND[name].count("\n") + 1 + tagged
    rejected = [json.loads(line) for line in Path(f"{target}.rejected.jsonl").read_text("utf-8").splitlines()]
    assert [row for row in rejected if row["reason"] == "faulty"] == [
        {"source": str(line), "reason": "faulty", "edits": []}
    ]
    assert json.loads(Path(f"{target}.manifest.json").read_text("utf-8"))["rejected"]["faulty"] == 1
    held = [item.sentence.text for item in FORMATS[name].read(target.read_text("utf-8"), "en")]
    assert held[0] in ("soup is hot", "the soup is hot")
    assert not any("tea" in text or "aaa" in text for text in held), "the sources stand in the output without it"
    strict = here(*words, "--strict").error
    assert f"{source}: line {line + tagged}: " in strict and FORMATS[name].about in strict
    source.write_text(gap.join((SOUND[name], other)), encoding="utf-8")
    (tmp_path / "held").write_text(faulty, encoding="utf-8")
    assert here(*words, "--held-out", tmp_path / "held").code == 2, "what cannot be read cannot be held out"


def test_a_sentence_without_a_name_is_the_line_that_it_begins_on_unless_another_is_called_so() -> None:
    named = "# id = 4\n湯\tO\n\n麵\tO\n\n# id = 4'\n飯\tO\n\n菜\tO\n"
    assert [item.sentence.id for item in FORMATS["bio"].read(named, "zh")] == ["4", "4''", "4'", "9"]


_HOSTILE = (
    "\t", "\n", "\n\n", " ", "\x00", "\u2028", "\x85", "\x0b", "\r", '"', "$T$", "# id = ", "B", "I-ASP", "\ufeff",
    "🍜", "\u3000", "\u200b", "▁",
)  # fmt: skip


@pytest.mark.parametrize("language", ["zh", "en"])
@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("bio", "# id = a\n麵\tB-ASP\n很\tO\n香\tO\n\n# id = b\n湯\tB-ASP\n頭\tI-ASP\n淡\tO\n"),
        ("atepc", "Our O -100\nsoup B-ASP Positive\nwas O -100\n\nbad O -100\ntea B-ASP Negative\n"),
        ("apc", "Our $T$ was fine\nsoup\nPositive\nA $T$\ntea\nNegative\n"),
        ("tsv", 'sentence\tlabel\nvery fine\tpos\n"a ""weak"" tea"\tneg\n'),
    ],
)
def test_a_damaged_file_gives_sound_sentences_or_a_value_error(name: str, content: str, language: Language) -> None:
    read = 0
    for seed in range(300):
        draw, text = random.Random(seed), content
        for _ in range(draw.randint(1, 4)):
            at = draw.randrange(len(text) + 1)
            text = (
                text[:at] + draw.choice(_HOSTILE) + text[at:]
                if draw.random() < 0.6
                else text[:at] + text[at + draw.randint(1, 8) :]
            )
        try:
            found = [item.sentence for item in FORMATS[name].read(text, language)]
        except ValueError:
            continue
        read += len(found)
        assert len({one.id for one in found}) == len(found), text
        for one in found:
            edges = [edge for mark in one.marks for edge in (mark.start, mark.end)]
            assert one.text.strip() and edges == sorted(edges) and (not edges or edges[-1] <= len(one.text)), text
    assert read > 50


def test_the_language_is_seen_from_the_letters() -> None:
    assert (language_of("湯頭很香 ok"), language_of("the soup 湯 is good"), language_of("")) == ("zh", "en", "en")


@pytest.fixture
def net(tmp_path: Path) -> Path:
    """A WordNet of a few words in its own format, with the other line ends that some copies have."""
    synsets = {
        "noun": [["movie", "film", "picture_show"], ["battery", "pile"], ["child", "kid"]],
        "verb": [["buy", "purchase"], ["film", "shoot"]],
        "adj": [["tidy(p)", "neat"]],
        "adv": [["often", "frequently"]],
    }
    exceptions = {"noun": "children child\n", "verb": "bought buy\n"}
    counts = "film%1:10:00:: 1 9\nfilm%2:36:00:: 1 2\n"
    return write_wordnet(tmp_path / "dict", synsets, exceptions, counts, "\r\n")


def test_wordnet_answers_in_the_words_own_inflection(net: Path) -> None:
    wordnet = synonym.load_wordnet(net)
    assert wordnet.synonyms("film") == ("movie",), "the noun is more frequent than the verb"
    assert wordnet.synonyms("movies") == ("films",)
    assert wordnet.synonyms("purchases") == (), "buy is irregular: no rule makes its forms"
    assert wordnet.synonyms("kids") == (), "and so is child"
    assert wordnet.synonyms("neat") == ("tidy",)
    assert wordnet.synonyms("unheard") == ()


def test_a_folder_without_wordnet_is_said_so(tmp_path: Path, net: Path) -> None:
    with pytest.raises(ResourceError, match="name the folder with WordNet"):
        synonym.load_wordnet(tmp_path / "nothing")
    (net / "index.adj").write_text("tidy a\n", encoding="utf-8")
    with pytest.raises(ResourceError, match=r"index\.adj:1: not a line of WordNet: 'tidy a'"):
        synonym.load_wordnet(net)
    (net / "index.adj").write_bytes("  licence\ncafé a\n".encode("latin-1"))
    with pytest.raises(ResourceError, match=r"index\.adj:2: not a line of WordNet: 'caf\ufffd a'"):
        synonym.load_wordnet(net)


def test_without_wordnet_english_synonyms_say_how_to_have_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(synonym.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ResourceError, match=r"synonyms need WordNet; name .* by synonym.wordnet, or pip install"):
        synonym.installed_wordnet()


def english(net: Path) -> synonym.Synonym:
    settings = make_settings({"synonym.wordnet": str(net), "synonym.rate": 0.5})
    return make_method("synonym", replace(settings, given=Given(language="en")))  # type: ignore[return-value]


def test_synonyms_keep_labels_names_and_words_of_grammar(net: Path) -> None:
    method = english(net)
    one = sentence("Movies and {battery} , we often buy a film by Neat Battery of BATTERY")
    (found,) = method.propose([one], 20, 1)
    texts = {applied(one.text, told.edits) for told in found}
    assert texts
    assert all("{" not in text and " battery ," in text and "BATTERY" in text for text in texts)
    replaced = {(one.text[edit.start : edit.end], edit.text) for told in found for edit in told.edits}
    assert replaced <= {
        ("Movies", "Films"), ("often", "frequently"), ("buy", "purchase"), ("film", "movie"), ("Neat", "Tidy"),
        ("Battery", "Pile"),
    }  # fmt: skip
    assert len(replaced) > 3
    assert len({told.edits for told in found}) == len(found)


def test_a_sentence_without_synonyms_has_no_candidate(net: Path) -> None:
    assert list(english(net).propose([sentence("of the {battery}")], 4, 1)) == [()]


def test_chinese_synonyms_are_of_the_category_and_in_the_script_of_the_sentence() -> None:
    method = make_method("synonym", make_settings({}))
    texts = ["今天跟朋友去，很好喝", "今天跟朋友们还不错的时间"]
    told = [
        Sentence(str(n), text, ((0, 2), (2, 3), (3, 5), (5, 6), (6, 7), (7, 8), (8, 10)), language="zh")
        for n, text in enumerate(texts)
    ]
    first, second = ({edit.text for one in found for edit in one.edits} for found in method.propose(told, 30, 5))
    assert {"今日", "友人"} <= first
    assert "今日" in second
    assert not any(char in "們還時間" for text in second for char in text)


@pytest.mark.parametrize("name", ["synonym", "eda"])
@pytest.mark.parametrize(("text", "due"), [("最后还是走了这条路", "最终"), ("最后還是走了這條路", "最終")])
def test_a_word_that_both_scripts_share_is_replaced_in_the_script_of_its_text(name: str, text: str, due: str) -> None:
    sentence = Sentence("s", text, ((0, 2), (2, 4), (4, 6), (6, 8), (8, 9)), (), "1", "zh")
    method = make_method(name, make_settings({"eda.natural": False}))
    method = eda_alone(method, "synonym") if name == "eda" else method
    (found,) = method.propose([sentence], 4, 1)
    assert [edit.text for one in found for edit in one.edits] == [due]


def test_opinion_words_stand_for_each_other_where_half_of_their_characters_are_the_same() -> None:
    method = make_method("synonym", make_settings({}))
    for word in ("焦香", "晚了半個小時"):
        found = method.thesaurus.synonyms(word)
        assert found
        assert all(2 * len(set(one) & set(word)) >= len(word) for one in found)


def test_a_thesaurus_in_the_layout_of_cilin_is_read(tmp_path: Path) -> None:
    path = tmp_path / "sets.txt"
    path.write_text("Aa01A01= 湯匙 調羹\nAa01A02# 蘋果 香蕉\n筷子 箸\n", encoding="utf-8")
    method = make_method("synonym", make_settings({"synonym.thesaurus": str(path)}))
    assert [list(method.thesaurus.synonyms(word)) for word in ("湯匙", "蘋果", "筷子")] == [["調羹"], [], ["箸"]]
    assert method.signature != make_method("synonym", make_settings({})).signature


def test_a_file_goes_in_and_one_of_its_format_comes_out(tmp_path: Path, here: Command, net: Path) -> None:
    train, held = tmp_path / "train.bio", tmp_path / "test.bio"
    train.write_text("We\tO\noften\tO\nbuy\tO\nfood\tB\n\nNeat\tO\nscreen\tB\n\nThe\tO\nend\tO\n\n", encoding="utf-8")
    held.write_text("Tidy\tO\nscreen\tB\n\nthe\tO\nend\tO\n\n", encoding="utf-8")
    out = tmp_path / "out.bio"
    words = ["augment", "synonym", "--input", train, "--format", "bio", "--output", out, "--held-out", held]
    words += ["--workdir", tmp_path / "w"]
    ran = here(*words, "--set", f"synonym.wordnet={net}")
    assert ran.code == 0, ran.err
    made = FORMATS["bio"].read(out.read_text("utf-8"), "en")
    assert {one.sentence.text for one in made} == {"We frequently buy food", "We often purchase food"}
    assert all(one.sentence.text[m.start : m.end] == "food" for one in made for m in one.sentence.marks)
    told = json.loads((tmp_path / "out.bio.manifest.json").read_text("utf-8"))
    assert told["rejected"] == {"held-out": 2}
    assert told["method"] == "synonym"
    lineage = [json.loads(line) for line in (tmp_path / "out.bio.lineage.jsonl").read_text("utf-8").splitlines()]
    assert [one["source"] for one in lineage] == ["1"] * len(made)
    before = {path.name: path.read_bytes() for path in tmp_path.glob("out.bio*")}
    assert here(*words, "--set", f"synonym.wordnet={net}").code == 0
    assert {path.name: path.read_bytes() for path in tmp_path.glob("out.bio*")} == before
    assert here(*words, "--set", f"synonym.wordnet={net}", "--with-source").code == 0
    assert out.read_text("utf-8").startswith(train.read_text("utf-8"))


def test_chinese_characters_are_words_to_a_method_and_characters_in_its_file(tmp_path: Path, here: Command) -> None:
    tags = dict.fromkeys("今天跟朋友去喝的ok湯很香", "O") | {"湯": "B"}
    lines = [
        f"{token}\t{tags[token[0]]}\n"
        for token in ("今", "天", "跟", "朋", "友", "去", "喝", "的", "ok", "湯", "很", "香")
    ]
    (tmp_path / "in.bio").write_text("# id = r1\n" + "".join(lines) + "\n", encoding="utf-8")
    out = tmp_path / "out.bio"
    ran = here(
        "augment", "synonym", "--input", tmp_path / "in.bio", "--format", "bio", "--output", out, "--workdir", tmp_path
    )
    assert ran.code == 0, ran.err
    made = [block.split("\n")[1:] for block in out.read_text("utf-8").strip().split("\n\n")]
    due = ["今", "天", "跟", "友", "人", "去", "喝", "的", "ok", "湯", "很", "香"]
    assert [f"{token}\t{'B' if token == '湯' else 'O'}" for token in due] in made


def test_what_cannot_be_asked_of_a_file_is_said_in_one_line(tmp_path: Path, here: Command) -> None:
    path = tmp_path / "a.bio"
    path.write_text(BIO, encoding="utf-8")
    assert "a file needs its format" in here("augment", "synonym", "--input", path).error
    told = ["augment", "synonym", "--input", path, "--workdir", tmp_path]
    assert "unknown format 'xml'; known: bio, " in here(*told, "--format", "xml", "--output", tmp_path / "o").error
    assert "the output would overwrite an input" in here(*told, "--format", "bio", "--output", path).error
    assert "cannot be read" in here(*told[:3], tmp_path / "none", "--format", "bio", "--output", tmp_path / "o").error


def test_every_method_is_listed_with_what_it_does_and_can_be_found() -> None:
    import importlib

    for about, loader in METHODS.values():
        module, _, function = loader.partition(":")
        assert callable(getattr(importlib.import_module(module), function))
        assert about
    with pytest.raises(ConfigError, match="unknown augmentation method 'x'; known: synonym"):
        make_method("x", make_settings({}))
