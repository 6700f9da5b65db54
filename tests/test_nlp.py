"""Words, tags and trees: the embedded backend as shipped, its parts on tiny models, and its training end to end."""

from __future__ import annotations

import itertools
import json
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from random import Random

import numpy as np
import pytest
from conftest import environment
from hypothesis import given
from hypothesis import strategies as st

from builder.core.errors import ConfigError, InputError, ResourceError
from builder.core.records import Token
from builder.language import nlp
from builder.language.nlp import conllu, crf, embedded
from builder.language.nlp.conllu import TreebankSentence, clauses, review_like, without_final_mark
from builder.language.nlp.parser import repair
from builder.language.nlp.train import evaluate, v1_like
from builder.language.nlp.user_words import Words, chosen

WORDS = {
    "酒": "NOUN", "超": "ADV", "好喝": "ADJ", "好吃": "ADJ", "蛋": "NOUN", "不會": "AUX", "太": "ADV", "鹹": "ADJ",
    "大": "ADJ", "CP值": "NOUN", "服務": "NOUN", "態度": "NOUN", "牛肉麵": "NOUN", "很": "ADV", "棒": "ADJ",
    "真的": "ADV", "有夠": "ADV", "海鮮": "NOUN", "入口即化": "",
}  # fmt: skip
TREEBANK = """\
1\t牛肉\t_\tNOUN\t_\t_\t3\tnsubj\t_\t_
2\t很\t_\tADV\t_\t_\t3\tadvmod\t_\t_
3\t嫩\t_\tADJ\t_\t_\t0\troot\t_\t_
4\t,\t_\tPUNCT\t_\t_\t7\tpunct\t_\t_
5\t湯\t_\tNOUN\t_\t_\t7\tnsubj\t_\t_
6\t不\t_\tADV\t_\t_\t7\tneg\t_\t_
7\t鹹\t_\tADJ\t_\t_\t3\tconj\t_\t_
8\t.\t_\tPUNCT\t_\t_\t3\tpunct\t_\t_

1\t我們\t_\tPRON\t_\t_\t2\tnsubj\t_\t_
2\t喜歡\t_\tVERB\t_\t_\t0\troot\t_\t_
3\t好吃\t_\tADJ\t_\t_\t5\tamod\t_\t_
4\t的\t_\tPART\t_\t_\t3\tacl:relcl\t_\t_
5\t牛肉\t_\tNOUN\t_\t_\t2\tdobj\t_\t_

"""


@pytest.fixture(scope="module")
def backend() -> embedded.Embedded:
    return embedded.load(WORDS)


def surfaces(backend: nlp.Backend, text: str) -> list[str]:
    return [text[token.start : token.end] for token in backend.annotate([text])[0]]


def assert_sound(text: str, tokens: tuple[Token, ...]) -> None:
    """Tokens tile the text, spaces stand apart, heads lead to a root without a cycle."""
    assert "".join(text[token.start : token.end] for token in tokens) == text
    assert all(token.start < token.end for token in tokens)
    for token in tokens:
        blank = text[token.start : token.end].isspace()
        assert blank == (token.pos == "SPACE") == (token.rel == "space")
        assert (token.head == -1) == (token.rel in ("root", "space"))
        seen = 0
        while token.head >= 0:
            token, seen = tokens[token.head], seen + 1
            assert token.pos != "SPACE"
            assert seen <= len(tokens), "a cycle"


@given(
    st.lists(
        st.text(alphabet="好吃的牛肉麵很貴，。！ \n\t3.5aZ👍🏻🇹🇼~…(）\u3000\U00020000é_'’\ud800", max_size=60),
        max_size=4,
    )
)
def test_tokens_tile_any_text_and_form_trees(backend: embedded.Embedded, texts: list[str]) -> None:
    for text, tokens in zip(texts, backend.annotate(texts), strict=True):
        assert_sound(text, tokens)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("酒超好喝", ["酒", "超", "好喝"]),
        ("湯不會太鹹", ["湯", "不會", "太", "鹹"]),
        ("真的很棒", ["真的", "很", "棒"]),
        ("好吃的牛肉麵", ["好吃", "的", "牛肉麵"]),
        ("晚上海鮮很棒", ["晚上", "海鮮", "很", "棒"]),
        ("cp值有夠高", ["cp值", "有夠", "高"]),
    ],
)
def test_user_words_come_out_whole_and_what_is_glued_comes_apart(
    backend: embedded.Embedded, text: str, expected: list[str]
) -> None:
    assert surfaces(backend, text) == expected


@pytest.mark.parametrize(("text", "word"), [("大家都喜歡", "大家"), ("使用越光米", "使用"), ("可以改進", "可以")])
def test_user_words_of_one_character_do_not_break_a_dictionary_word(text: str, word: str) -> None:
    assert word in surfaces(embedded.load(dict.fromkeys([*word, "超", "的"], "")), text)


def test_the_longer_user_word_wins_where_there_is_one(backend: embedded.Embedded) -> None:
    assert surfaces(backend, "服務態度很棒")[:2] == ["服務", "態度"]
    longer = embedded.load({**WORDS, "服務態度": "NOUN"})
    assert surfaces(longer, "服務態度很棒")[0] == "服務態度"


def test_a_user_word_that_is_several_words_comes_out_in_its_parts() -> None:
    found = embedded.load({**WORDS, "微辣": "微 辣", "人很好": "人 很 好", "辣": "ADJ"})
    assert surfaces(found, "湯頭微辣，老闆人很好") == ["湯頭", "微", "辣", "，", "老闆", "人", "很", "好"]
    assert [token.pos for token in found.annotate(["湯頭微辣"])[0]][-1] == "ADJ"


def test_overlapping_user_words_are_settled_by_the_segmenters_margins() -> None:
    words = Words.of({"甲乙": "", "乙丙": ""})
    assert chosen("甲乙丙", words, [0, -3.0, 3.0], [False] * 3) == [(0, 2)]
    assert chosen("甲乙丙", words, [0, 3.0, -3.0], [False] * 3) == [(1, 3)]


def test_a_user_word_leaves_no_single_character_of_two_others() -> None:
    margins = [0, 5.0, -5.0, 5.0]  # the CRF reads 甲, 乙丙, 丁
    three = Words.of({"甲乙": "NOUN", "乙丙": "VERB", "丙丁": "ADJ", "丁": "ADJ"})
    assert chosen("甲乙丙丁", three, margins, [False] * 4) == [(0, 2), (2, 4)]
    assert chosen("甲乙丙丁", Words.of({"甲乙": "", "乙丙": "", "丁": ""}), margins, [False] * 4) == [(1, 3), (3, 4)]
    alone = Words.of({"甲": "NOUN", "甲乙": "NOUN", "乙丙": "VERB", "丙丁": "ADJ", "丁": "ADJ"})
    assert chosen("甲乙丙丁", alone, margins, [False] * 4) == [(0, 1), (1, 3), (3, 4)]


def test_a_user_word_is_not_found_inside_a_latin_word(backend: embedded.Embedded) -> None:
    assert surfaces(embedded.load({"ok": "ADJ"}), "booked OK") == ["booked", " ", "OK"]


@pytest.mark.parametrize(
    ("text", "due"),
    [
        ("ACMECP值很高", ["ACME", "CP值"]),
        ("acmecp值很高", ["acme", "cp值"]),
        ("ACMECP很高", ["ACMECP"]),
        ("SUPERQ彈", ["SUPERQ"]),  # one letter alone says too little
    ],
)
def test_a_latin_name_glued_to_a_user_word_that_begins_in_latin_comes_off(text: str, due: list[str]) -> None:
    backend = embedded.load({"cp值": "NOUN", "q彈": ""})
    assert surfaces(backend, text)[: len(due)] == due


def test_a_user_words_tag_is_kept_and_an_untagged_one_is_no_name_or_particle(backend: embedded.Embedded) -> None:
    tokens = backend.annotate(["鹹", "入口即化"])
    assert tokens[0][0].pos == "ADJ"
    assert tokens[1][0].pos in ("ADJ", "ADV", "AUX", "NOUN", "VERB")


def test_marks_numbers_and_emoji_are_tokens_of_their_own(backend: embedded.Embedded) -> None:
    text = "好吃!!!30.5%👍🏻👍\U0001f1f9\U0001f1fc"
    tokens = backend.annotate([text])[0]
    assert [(text[t.start : t.end], t.pos) for t in tokens[1:]] == [
        ("!!!", "PUNCT"), ("30.5%", "NUM"), ("👍🏻", "SYM"), ("👍", "SYM"), ("\U0001f1f9\U0001f1fc", "SYM"),
    ]  # fmt: skip


def test_a_text_of_ten_thousand_characters_without_marks_is_parsed_in_units(backend: embedded.Embedded) -> None:
    text = "這家牛肉麵真的很好吃" * 1000
    tokens = backend.annotate([text])[0]
    assert_sound(text, tokens)
    roots = [i for i, token in enumerate(tokens) if token.head == -1]
    assert len(roots) >= len(tokens) / 60


def test_nothing_and_only_spaces_give_no_trees(backend: embedded.Embedded) -> None:
    assert backend.annotate(["", " \n "]) == [(), (Token(0, 3, "SPACE", -1, "space"),)]


def test_the_signature_names_words_and_models(backend: embedded.Embedded) -> None:
    assert embedded.load(dict(reversed(WORDS.items()))).signature == backend.signature
    assert embedded.load({}).signature != backend.signature
    assert all(part in backend.signature for part in ("embedded", "segmenter=", "parser=", "words="))


def test_the_signature_is_the_same_in_another_process_and_needs_no_torch() -> None:
    asked = (
        "import sys, builder.language.nlp.train; from builder.language import nlp; "
        f"print(nlp.load('embedded', {WORDS!r}).signature);"
        " assert 'torch' not in sys.modules"
    )
    done = subprocess.run(
        [sys.executable, "-c", asked], env=environment(), capture_output=True, encoding="utf-8", check=True
    )
    assert done.stdout.strip() == nlp.load("embedded", WORDS).signature


def test_an_unknown_backend_lists_the_known_ones() -> None:
    with pytest.raises(ConfigError, match=r"unknown NLP backend 'spacy'; known: .*embedded"):
        nlp.load("spacy", {})


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({"好 吃": ""}, "holds whitespace"),
        ({"": ""}, "empty"),
        ({"好吃": "VA"}, "unknown tag 'VA'"),
        ({"微辣": "微 甜"}, "is not its parts"),
    ],
)
def test_user_words_that_cannot_be_words_are_refused(words: dict[str, str], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        nlp.load("embedded", words)


def test_a_changed_or_missing_model_file_is_refused(tmp_path: Path) -> None:
    models = tmp_path / "models"
    shutil.copytree(embedded.MODELS, models)
    with (models / "parser.safetensors").open("ab") as file:
        file.write(b"x")
    with pytest.raises(ResourceError, match=r"parser\.safetensors is not the file that config.json describes"):
        nlp.load("embedded", {}, models)
    (models / "config.json").unlink()
    with pytest.raises(ResourceError, match=r"config\.json.*cannot be read"):
        nlp.load("embedded", {}, models)


def test_a_file_that_is_no_model_is_refused(tmp_path: Path) -> None:
    from builder.language.nlp import parser

    (tmp_path / "m").write_bytes(b"not a model at all")
    with pytest.raises(ResourceError, match="not a segmenter"):
        crf.load(tmp_path / "m")
    with pytest.raises(ResourceError, match="not a parser"):
        parser.load(tmp_path / "m")


def test_conllu_leaves_out_ranges_and_names_the_broken_line(tmp_path: Path) -> None:
    path = tmp_path / "t.conllu"
    path.write_text("# text\n1-2\t牛肉\t_\t_\t_\t_\t_\t_\t_\t_\n" + TREEBANK, encoding="utf-8")
    first, second = conllu.read(path)
    assert first.words[:3] == ("牛肉", "很", "嫩")
    assert first.heads[:3] == (2, 2, -1)
    assert second.rels[-1] == "dobj"
    path.write_text("1\t牛\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"t\.conllu:1: 2 columns instead of 10"):
        conllu.read(path)
    path.write_bytes(TREEBANK.encode("big5"))
    with pytest.raises(InputError, match=r"t\.conllu:1: is not UTF-8; save it as UTF-8$"):
        conllu.read(path)
    path.write_text("1\t牛\t_\tNOUN\t_\t_\t7\tnsubj\t_\t_\n", encoding="utf-8")
    with pytest.raises(InputError, match="a head points outside its sentence"):
        conllu.read(path)


def random_crf(seed: int) -> crf.Crf:
    rng = np.random.default_rng(seed)
    rows: dict[str, dict[str, int]] = {name: {} for name in crf.WINDOWS}
    rows["char"] = {char: i for i, char in enumerate("甲乙丙\n", 1)}
    tables = {
        (name, offset): rng.normal(size=(len(rows[name]) + 1, 8)).astype(np.float32) * (name == "char")
        for name, offsets in crf.WINDOWS.items()
        for offset in offsets
    }
    return crf.Crf(("NOUN", "VERB"), rows, tables, rng.normal(size=(8, 8)).astype(np.float32))


def is_legal(labels: tuple[int, ...]) -> bool:
    """BIES of one tag a word, from the start of a word to the end of one."""
    places, tags = [label // 2 for label in labels], [label % 2 for label in labels]
    inside = all(
        (after in (1, 2) and tags[i] == tags[i + 1]) if before in (0, 1) else after in (0, 3)
        for i, (before, after) in enumerate(itertools.pairwise(places))
    )
    return inside and places[0] in (0, 3) and places[-1] in (2, 3)


@pytest.mark.parametrize("seed", range(6))
def test_viterbi_finds_what_trying_every_labelling_finds(seed: int) -> None:
    model = random_crf(seed)
    chains = ["甲乙丙丁", "乙", "丙甲甲"]
    scores = crf.emissions(model, chains)
    found = crf.viterbi(model, scores, [4, 1, 3])
    at = 0
    for chain in chains:
        part = scores[at : at + len(chain)]
        legal = [labels for labels in itertools.product(range(8), repeat=len(chain)) if is_legal(labels)]
        totals = [
            sum(part[i, label] for i, label in enumerate(labels))
            + sum(model.transitions[a, b] for a, b in itertools.pairwise(labels))
            for labels in legal
        ]
        assert tuple(found[at : at + len(chain)]) == legal[int(np.argmax(totals))]
        at += len(chain)


@pytest.mark.parametrize("seed", range(4))
def test_margins_are_what_a_forced_gap_wins_or_loses(seed: int) -> None:
    model = random_crf(seed)
    chains, lengths = ["甲乙丙丁", "乙", "丙甲甲"], [4, 1, 3]
    margins = crf.margins(model, crf.emissions(model, chains), lengths)

    def best(position: int, gap: int) -> float:
        scores = crf.emissions(model, chains)
        gaps = np.zeros(8, np.int8)
        gaps[position] = gap
        constrained = scores.copy()
        crf.constrain(model.tags, constrained, lengths, gaps, np.full(8, crf.ANY, np.int16))
        labels = crf.viterbi(model, constrained, lengths)
        total = scores[np.arange(8), labels].sum()
        inside = [i for i in range(1, 8) if i not in (4, 5)]
        return float(total + sum(model.transitions[labels[i - 1], labels[i]] for i in inside))

    for position in (1, 2, 3, 6, 7):
        assert margins[position] == pytest.approx(best(position, crf.SPLIT) - best(position, crf.JOIN), abs=1e-3)


def test_constrained_decoding_keeps_gaps_and_tags() -> None:
    model = random_crf(3)
    scores = crf.emissions(model, ["甲乙丙丁", "甲乙"])
    gaps = np.array([0, crf.JOIN, crf.SPLIT, crf.JOIN, 0, crf.SPLIT], np.int8)
    fixed = np.array([1, 1, crf.ANY, crf.ANY, 0, crf.WORD], np.int16)
    crf.constrain(model.tags, scores, [4, 2], gaps, fixed)
    words = crf.spans(crf.viterbi(model, scores, [4, 2]), [4, 2], 2)
    assert [(a, b) for a, b, _ in words[0]] == [(0, 2), (2, 4)]
    assert words[0][0][2] == 1
    assert [(a, b) for a, b, _ in words[1]] == [(0, 1), (1, 2)]
    assert words[1][0][2] == 0


def test_a_saved_segmenter_decodes_as_before(tmp_path: Path) -> None:
    model = random_crf(1)
    crf.save(model, tmp_path / "m")
    again = crf.load(tmp_path / "m")
    assert again.tags == model.tags
    assert np.abs(crf.emissions(again, ["甲乙丁丙"]) - crf.emissions(model, ["甲乙丁丙"])).max() < 0.02


@pytest.mark.parametrize("seed", range(20))
def test_repair_makes_one_tree_of_any_scores(seed: int) -> None:
    scores = np.random.default_rng(seed).normal(size=(3, 9, 9)).astype(np.float32)
    for heads, length in zip(repair(scores, [8, 5, 1]), [8, 5, 1], strict=True):
        assert list(heads[1 : length + 1]).count(0) == 1
        for word in range(1, length + 1):
            steps = 0
            while word:
                word, steps = int(heads[word]), steps + 1
                assert steps <= length


def test_repair_leaves_a_tree_as_it_is() -> None:
    scores = np.zeros((1, 4, 4), np.float32)
    scores[0, [1, 2, 3], [2, 0, 2]] = 5
    assert repair(scores, [3]).tolist() == [[0, 2, 0, 2]]


def test_variants_stay_trees_and_lose_only_marks(tmp_path: Path) -> None:
    (tmp_path / "t").write_text(TREEBANK, encoding="utf-8")
    first = conllu.read(tmp_path / "t")[0]
    assert without_final_mark(first).words == first.words[:-1]
    assert [part.words for part in clauses(first, 3)] == [("牛肉", "很", "嫩")]
    for seed in range(30):
        drawn = review_like(first, Random(seed))
        assert drawn.heads.count(-1) == 1
        assert [word for word in drawn.words if word not in ",."] in (
            ["牛肉", "很", "嫩", "湯", "不", "鹹"], ["牛肉", "很", "嫩"], ["湯", "不", "鹹"],
        )  # fmt: skip


def test_v2_trees_are_told_in_v1_labels() -> None:
    model = [TreebankSentence(("也", "不", "來"), ("ADV", "ADV", "VERB"), (2, 2, -1), ("mark", "neg", "root"))] * 5
    model += [TreebankSentence(("他", "一", "個"), ("PRON", "NUM", "NOUN"), (2, 2, -1), ("dobj", "nummod", "root"))]
    model += [TreebankSentence(("他", "來"), ("PRON", "VERB"), (1, -1), ("nmod", "root"))]
    rels = ("advmod", "root", "nummod", "clf", "obj")
    v2 = TreebankSentence(
        ("也", "吃", "三", "個", "蛋"), ("ADV", "VERB", "NUM", "NOUN", "NOUN"), (1, -1, 4, 2, 1), rels
    )
    told = v1_like([v2], model)[0]
    assert told.heads == (1, -1, 3, 4, 1)
    assert told.rels == ("mark", "root", "nummod", "nmod", "dobj")


def test_numpy_reads_what_torch_has_learnt_as_torch_does() -> None:
    """Units of all lengths, of one word and of several that are alike, through a network of three layers."""
    import torch

    from builder.language.nlp.fit_parser import Network, learnt
    from builder.language.nlp.parser import FEATURES, ParserShape, ParserVocabulary

    rng, words = np.random.default_rng(7), [f"w{i}" for i in range(20)]
    numbered = {word: i for i, word in enumerate(words, 1)}
    rels = ("amod", "dep", "nsubj", "root")
    shape = ParserShape(20, 20, 3, 3, len(rels), hidden=12, layers=3, arc=10, rel=6)
    known = ParserVocabulary(numbered, numbered, {"w": 1, "1": 2, "2": 3}, {"N": 1, "V": 2, "A": 3}, rels)
    torch.manual_seed(7)
    network = Network(shape).eval()
    with torch.no_grad():
        for weights in network.parameters():
            weights.normal_(0, 0.6)
    units = [
        tuple(zip(*[(words[rng.integers(20)], "NVA"[rng.integers(3)]) for _ in range(size)], strict=True))
        for size in (5, 1, 5, 9, 2, 14, 1)
    ]
    parser = learnt(known, network)
    trees = parser.parse(units)  # type: ignore[arg-type]
    for (surfaces, tags), (heads, relations) in zip(units, trees, strict=True):
        columns = np.array([[*known.columns(word), known.tags[tag]] for word, tag in zip(surfaces, tags, strict=True)])
        assert columns.shape[1] == FEATURES
        with torch.inference_mode():
            states = network.encode(torch.from_numpy(columns)[None], torch.tensor([len(surfaces)]))
            due = repair(network.arcs(states).numpy(), [len(surfaces)])
            scores = network.relations(states, torch.from_numpy(due))[0, 1:].numpy()
        assert heads == (due[0, 1:] - 1).tolist()
        scores[:, 3] = -np.inf
        assert relations == [
            "root" if head < 0 else rels[best] for head, best in zip(heads, scores.argmax(1), strict=True)
        ]


def test_training_gives_models_that_load_and_the_same_seed_the_same_bytes(tmp_path: Path) -> None:
    from builder.language.nlp.train import TrainingFiles, train

    treebank, raw = tmp_path / "t.conllu", tmp_path / "raw.txt"
    treebank.write_text(TREEBANK * 12, encoding="utf-8")
    raw.write_text("牛肉很嫩，湯不鹹。\n我們喜歡好吃的牛肉\n" * 8, encoding="utf-8")
    lines: list[str] = []
    files = TrainingFiles([treebank], raw=[raw], words={"牛肉": "NOUN"})
    outs = [train(files, tmp_path / name, 7, folds=2, iterations=15, epochs=3, say=lines.append) for name in ("a", "b")]
    digests = [json.loads((out / "config.json").read_text(encoding="utf-8"))["sha256"] for out in outs]
    assert digests[0] == digests[1]
    assert any(line.startswith("epoch 3: loss") for line in lines)
    assert sum(line.startswith("parser: 24 trees, 16 of raw text") for line in lines) == 2, lines
    scores = evaluate(nlp.load("embedded", {}, outs[0]), treebank)
    assert scores["segmentation_f1"] == 100
    assert all(0 <= score <= 100 for score in scores.values())


def test_trees_of_raw_text_are_those_of_the_backend_less_single_words_and_blanks() -> None:
    from builder.language.nlp.train import trees_of

    class Fixed:
        signature = "fixed"

        def annotate(self, texts: Sequence[str]) -> list[tuple[Token, ...]]:
            words = (
                Token(0, 1, "NOUN", 1, "nsubj"),
                Token(1, 2, "ADJ", -1, "root"),
                Token(2, 3, "SPACE", -1, "space"),
                Token(3, 4, "ADJ", -1, "root"),
                Token(4, 5, "SPACE", -1, "space"),
                Token(5, 6, "ADV", 6, "advmod"),
                Token(6, 7, "ADJ", -1, "root"),
            )
            return [words for _ in texts]

    trees = trees_of(Fixed(), ["湯鮮 好\n不鹹"])
    assert [(tree.words, tree.tags, tree.heads, tree.rels) for tree in trees] == [
        (("湯", "鮮"), ("NOUN", "ADJ"), (1, -1), ("nsubj", "root")),
        (("不", "鹹"), ("ADV", "ADJ"), (1, -1), ("advmod", "root")),
    ]


def test_a_parser_learns_what_only_silver_trees_show(tmp_path: Path) -> None:
    from builder.language.nlp.fit_parser import fit_parser

    (tmp_path / "t").write_text(TREEBANK * 20, encoding="utf-8")
    trees = conllu.read(tmp_path / "t")
    odd = TreebankSentence(("嫩", "很", "牛肉"), ("ADJ", "ADV", "NOUN"), (2, 0, -1), ("nsubj", "advmod", "root"))

    def read(silver: list[TreebankSentence]) -> tuple[list[int], list[str]]:
        tags = [tree.tags for tree in trees]
        parser = fit_parser(trees, tags, {}, 7, silver=silver, epochs=12, batch_words=60, rate=5e-3)
        return parser.parse([(odd.words, odd.tags)])[0]

    assert read([]) != (list(odd.heads), list(odd.rels))
    assert read([odd] * 80) == (list(odd.heads), list(odd.rels))
