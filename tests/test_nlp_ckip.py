"""The ckip backend: the table of labels, and the drivers of ckip-transformers and stanza on tiny local models."""

from __future__ import annotations

import gc
import importlib.util
import json
import os
import re
import shutil
import socket
import sys
import warnings
from collections.abc import Sequence
from pathlib import Path

import pytest
import torch

from builder.core.errors import ConfigError, ModelError, ResourceError, install_command
from builder.core.records import Token
from builder.language import nlp
from builder.language.nlp import ckip, conllu, embedded

needs_ckip = pytest.mark.skipif(importlib.util.find_spec("ckip_transformers") is None, reason=install_command("ckip"))
needs_stanza = pytest.mark.skipif(importlib.util.find_spec("stanza") is None, reason=install_command("stanza"))

SINICA = """
A Caa Cab Cba Cbb D Da Dfa Dfb Di Dk DM I Na Nb Nc Ncd Nd Nep Neqa Neqb Nes Neu Nf Ng Nh Nv P T VA VAC VB VC VCL VD VE \
VF VG VH VHC VI VJ
VK VL V_2 DE SHI FW COLONCATEGORY COMMACATEGORY DASHCATEGORY DOTCATEGORY ETCCATEGORY EXCLAMATIONCATEGORY \
PARENTHESISCATEGORY PAUSECATEGORY
PERIODCATEGORY QUESTIONCATEGORY SEMICOLONCATEGORY SPCHANGECATEGORY
"""
UNIVERSAL = """
acl advcl advmod amod appos aux case cc ccomp clf compound conj cop csubj dep det discourse dislocated expl fixed flat \
goeswith iobj list
mark nmod nsubj nummod obj obl orphan parataxis punct reparandum root vocative xcomp
"""
POS = SINICA.split()
TAUGHT = (
    "這/Nep 家/Nf 餐廳/Nc 的/DE 牛肉麵/Na 很/Dfa 好吃/VH 。/PERIODCATEGORY",
    "服務/Na 態度/Na 不/D 好/VH ！/EXCLAMATIONCATEGORY",
    "我/Nh 會/D 再/D 來/VA",
)
LESSONS = [[tuple(item.split("/")) for item in line.split()] for line in TAUGHT]
TEXTS = ["".join(word for word, _ in lesson) for lesson in LESSONS]
VOCABULARY = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *dict.fromkeys("".join(TEXTS) + "湯，ab1")]
WINDOW = 40
ODD = [
    *(
        "", " ", "\n\n", "這家 餐廳\n的牛肉麵 很好吃 。", "  服務態度不好 \t", "a" * 130,
        "好" * 130 + "。" + "湯" * 50, "，，。。！", "b 1 a",
    ),
    *("\U0001f600\U0001f44d\U0001f3fb", "\ud800好\udfff", "\u3000湯\u2028湯\u00a0湯", "\U00020bb7野家"),
]  # fmt: skip


@pytest.fixture(autouse=True)
def _offline(monkeypatch: pytest.MonkeyPatch) -> None:
    """No test may reach for a network, however the libraries are configured on this machine."""

    def refuse(*_: object) -> None:
        raise AssertionError("a test opened a connection")

    monkeypatch.setattr(socket.socket, "connect", refuse)


def save_model(
    folder: Path, names: Sequence[str], seed: int, lessons: Sequence[tuple[str, Sequence[int]]] = ()
) -> Path:
    """A small BERT as CKIP's files lie on disk, which learns `lessons` (text, label of each character) by heart."""
    from transformers import BertConfig, BertForTokenClassification

    with torch.random.fork_rng():
        torch.manual_seed(seed)
        config = BertConfig(
            vocab_size=len(VOCABULARY), hidden_size=32, num_hidden_layers=2, num_attention_heads=2,
            intermediate_size=48, max_position_embeddings=WINDOW, id2label=dict(enumerate(names)),
            label2id={name: i for i, name in enumerate(names)},
        )  # fmt: skip
        model = BertForTokenClassification(config)
        if lessons:
            teach(model, lessons)
    model.save_pretrained(folder)
    (folder / "vocab.txt").write_text("\n".join(VOCABULARY) + "\n", encoding="utf-8")
    # Like CKIP's own: no tokenizer.json, no window.
    (folder / "tokenizer_config.json").write_text(
        json.dumps({"do_lower_case": False, "tokenizer_class": "BertTokenizer"})
    )
    return folder


def teach(model: torch.nn.Module, lessons: Sequence[tuple[str, Sequence[int]]]) -> None:
    longest = max(len(text) for text, _ in lessons)
    ids = torch.zeros(len(lessons), longest + 2, dtype=torch.long)
    goal = torch.full_like(ids, -100)
    for row, (text, wanted) in enumerate(lessons):
        ids[row, : len(text) + 2] = torch.tensor([2, *map(VOCABULARY.index, text), 3])
        goal[row, 1 : len(text) + 1] = torch.tensor(wanted)
    optimiser = torch.optim.AdamW(model.parameters(), lr=5e-3)
    model.train()
    for _ in range(60):
        model(input_ids=ids, attention_mask=(ids > 0).long(), labels=goal).loss.backward()
        optimiser.step()
        optimiser.zero_grad()


@pytest.fixture(scope="module")
def taught(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with ws/ and pos/ that know the three lessons by heart."""
    folder = tmp_path_factory.mktemp("taught")
    cuts = [
        ("".join(w for w, _ in lesson), [i for w, _ in lesson for i in [0, *[1] * (len(w) - 1)]]) for lesson in LESSONS
    ]
    tags = [
        ("".join(w for w, _ in lesson), [i for w, t in lesson for i in [POS.index(t), *[-100] * (len(w) - 1)]])
        for lesson in LESSONS
    ]
    save_model(folder / "ws", "BI", 1, cuts)
    save_model(folder / "pos", POS, 2, tags)
    return folder


@pytest.fixture(scope="module")
def untaught(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Random models: words and tags are nonsense, and so are their edges."""
    folder = tmp_path_factory.mktemp("untaught")
    save_model(folder / "ws", "BI", 3)
    save_model(folder / "pos", POS, 4)
    return folder


def shown(text: str, tokens: Sequence[Token]) -> str:
    return " ".join(f"{text[token.start : token.end]}/{token.pos}" for token in tokens)


def check_tiling(text: str, tokens: Sequence[Token]) -> None:
    assert [token.start for token in tokens] == [0, *[token.end for token in tokens]][: len(tokens)]
    assert (tokens[-1].end if tokens else 0) == len(text)
    for i, token in enumerate(tokens):
        surface = text[token.start : token.end]
        assert surface.isspace() == (token.pos == "SPACE") == (token.rel == "space")
        assert surface.isspace() or not any(map(str.isspace, surface))
        assert token.head != i
        assert token.head == -1 or tokens[token.head].pos != "SPACE"
        assert (token.rel == "root") == (token.head == -1 and token.pos != "SPACE")


# The table of labels


def test_the_table_knows_every_tag_and_its_answers_are_tags_and_relations_of_the_parser() -> None:
    table, known = conllu.load_labels(), embedded.load({}).parser.vocabulary
    table.require("ckip-pos", POS)
    assert {ours for (scheme, _), ours in table.table.items() if scheme == "ckip-pos"} <= {*known.tags, "SPACE"}
    assert {ours for (scheme, _), ours in table.table.items() if scheme != "ckip-pos"} <= set(known.rels)
    assert all((scheme, label.split(" ")[0]) in table.table for scheme, label in table.table)


@pytest.mark.parametrize(
    ("scheme", "label", "word", "ours"),
    [
        ("ckip-pos", "D", "會", "AUX"),
        ("ckip-pos", "SHI", "是", "VERB"),
        ("ckip-pos", "COMMACATEGORY", "，", "PUNCT"),
        ("ud2", "advmod", "很", "advmod"),
        ("ud2", "advmod", "不", "neg"),
        ("ud2", "case", "的", "case:dec"),
        ("ud2", "case", "在", "case"),
    ],
)
def test_a_label_is_told_in_ours_and_a_row_for_its_word_comes_first(
    scheme: str, label: str, word: str, ours: str
) -> None:
    assert conllu.load_labels().ours(scheme, label, word) == ours


def test_the_universal_relations_of_ud_v2_are_all_in_the_table() -> None:
    conllu.load_labels().require("ud2", UNIVERSAL.split())


def test_a_label_that_the_table_lacks_is_an_error_that_names_it() -> None:
    with pytest.raises(ResourceError, match=r"labels\.tsv: no row for the ud2 label 'obj:new'; add it to the table"):
        conllu.load_labels().ours("ud2", "obj:new", "麵")


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("label\tours\n", ":1: the first line is not the header; write scheme label ours note, separated by tabs"),
        ("", ":1: the first line is not the header; write scheme label ours note, separated by tabs"),
        (
            "scheme\tlabel\tours\tnote\nud2\tobj\tdobj\n",
            ":2: 3 cells where 4 are due, or a blank one: 'ud2\\tobj\\tdobj'",
        ),
        (
            "scheme\tlabel\tours\tnote\n# why\nud3\tobj\tdobj\tx\n",
            ":3: unknown scheme 'ud3'; known: ckip-pos, ud2",
        ),
        (
            "scheme\tlabel\tours\tnote\nud2\tobj\tdobj\tx\nud2\tobj\tnmod\tx\n",
            ":3: ud2 'obj' is listed already; keep one",
        ),
    ],
)
def test_a_broken_table_is_an_error_with_its_line(tmp_path: Path, body: str, message: str) -> None:
    path = tmp_path / "labels.tsv"
    path.write_text(body, encoding="utf-8")
    with pytest.raises(ResourceError) as caught:
        conllu.load_labels(path)
    assert str(caught.value).endswith(f"{path.parent.name}/labels.tsv{message}")


# Words and the text


@pytest.mark.parametrize(
    ("text", "words", "cut"),
    [
        ("很好吃。", ["很", "好吃", "。"], "很|好吃|。"),
        ("很 好吃。", ["很 好", "吃。"], "很| |好|吃。"),
        ("很 好吃 ", ["很", "好吃"], "很| |好吃| "),
        ("很 \n好吃", ["很好", "吃"], "很| \n|好|吃"),
        ("很好吃", ["很", " ", "好吃"], "很|好吃"),
        ("湯\u3000麵", ["湯", " ", "麵"], "湯|\u3000|麵"),
    ],
)
def test_whitespace_that_the_words_lack_or_change_is_made_good(text: str, words: list[str], cut: str) -> None:
    assert "|".join(text[a:b] for a, b in ckip.word_spans(text, words, "")) == cut


def test_words_that_are_not_the_text_are_an_error_with_the_row() -> None:
    with pytest.raises(ModelError) as caught:
        ckip.word_spans("很好吃", ["很", "好喫"], "text 3 of 9")
    assert str(caught.value).startswith("text 3 of 9: CKIP's words '很|好喫' are not the text '很好吃'; report it")


# The extras


def test_without_the_extras_the_error_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ckip_transformers.nlp", None)
    monkeypatch.setitem(sys.modules, "stanza", None)
    with pytest.raises(
        ConfigError, match="the ckip backend needs ckip-transformers: .*; " + re.escape(install_command("ckip"))
    ):
        nlp.load("ckip", {})
    (tmp_path / "resources.json").write_text("{}")
    with pytest.raises(ConfigError, match="trees from stanza need stanza: .*; " + re.escape(install_command("stanza"))):
        ckip.load_stanza(tmp_path, conllu.load_labels())


# CKIP's drivers


@needs_ckip
def test_the_drivers_words_and_tags_come_out_as_taught(taught: Path) -> None:
    found = nlp.load("ckip", {}, taught).annotate(TEXTS)
    assert [shown(text, tokens) for text, tokens in zip(TEXTS, found, strict=True)] == [
        "這/DET 家/NOUN 餐廳/NOUN 的/PART 牛肉麵/NOUN 很/ADV 好吃/ADJ 。/PUNCT",
        "服務/NOUN 態度/NOUN 不/ADV 好/ADJ ！/PUNCT",
        "我/PRON 會/AUX 再/ADV 來/VERB",
    ]
    for text, tokens in zip(TEXTS, found, strict=True):
        check_tiling(text, tokens)


@needs_ckip
def test_trees_are_those_of_our_own_parser_sentence_by_sentence(taught: Path) -> None:
    text = TEXTS[0] + TEXTS[1]
    tokens = nlp.load("ckip", {}, taught).annotate([text])[0]
    first = len(LESSONS[0])
    parser = embedded.load({}).parser
    wanted = parser.parse(
        [([text[t.start : t.end] for t in part], [t.pos for t in part]) for part in (tokens[:first], tokens[first:])],
    )
    assert [t.head for t in tokens[:first]] == wanted[0][0]
    assert [t.head for t in tokens[first:]] == [head + first if head >= 0 else -1 for head in wanted[1][0]]
    assert [t.rel for t in tokens] == wanted[0][1] + wanted[1][1]


@needs_ckip
def test_tokens_tile_any_text_and_whitespace_stands_outside_the_trees(untaught: Path) -> None:
    backend = nlp.load("ckip", {}, untaught)
    for text, tokens in zip(ODD, backend.annotate(ODD), strict=True):
        check_tiling(text, tokens)
    assert backend.annotate([]) == []
    assert backend.annotate([""]) == [()]
    assert [token.pos for token in backend.annotate([" \n"])[0]] == ["SPACE"]


@needs_ckip
def test_one_text_alone_and_among_others_is_annotated_alike(taught: Path) -> None:
    backend = nlp.load("ckip", {}, taught)
    texts = [*TEXTS, "", TEXTS[1] + " " + TEXTS[2], TEXTS[0]] * 60
    together = backend.annotate(texts)
    alone = {text: backend.annotate([text])[0] for text in set(texts)}
    assert together == [alone[text] for text in texts]


@needs_ckip
def test_a_word_longer_than_the_models_window_is_tagged_by_its_start(tmp_path: Path, taught: Path) -> None:
    glue = tmp_path / "glue"
    text = "a" * 100
    save_model(glue / "ws", "BI", 5, [(text[: WINDOW - 3], [0] + [1] * (WINDOW - 4))])
    shutil.copytree(taught / "pos", glue / "pos")
    backend = nlp.load("ckip", {}, glue)
    assert isinstance(backend, ckip.Ckip)
    assert backend.window == WINDOW - 2
    for length in (WINDOW - 3, WINDOW - 2, 100):
        check_tiling(text[:length], backend.annotate([text[:length]])[0])
    # The tagger itself cannot: it is shown the start of what the segmenter never ends.
    parts = (backend.tagger, backend.window, backend.labels, backend.parser)
    endless = ckip.Ckip("", lambda texts, **_: [[text] for text in texts], *parts)
    assert [(t.start, t.end) for t in endless.annotate([text])[0]] == [(0, 100)]
    with pytest.raises(RuntimeError):
        backend.tagger([[text]], show_progress=False)


@needs_ckip
def test_the_signature_follows_the_models_and_neither_their_place_nor_the_users_words(
    taught: Path, untaught: Path, tmp_path: Path
) -> None:
    backend = nlp.load("ckip", {}, taught)
    copy = shutil.copytree(taught, tmp_path / "copy")
    steered = nlp.load("ckip", {"牛肉": "NOUN"}, copy)
    assert steered.signature == backend.signature
    assert steered.annotate(TEXTS) == backend.annotate(TEXTS)
    other = nlp.load("ckip", {}, untaught).signature
    same = set(backend.signature.split()) & set(other.split())
    assert {part.split("=")[0] for part in same} == {"ckip/1", "labels", "parser", "ckip-transformers", "transformers"}


@needs_ckip
def test_a_folder_of_ones_own_parser_is_used(taught: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(taught, tmp_path / "copy")
    shutil.copytree(embedded.MODELS, copy / "embedded")
    assert nlp.load("ckip", {}, copy).signature == nlp.load("ckip", {}, taught).signature
    (copy / "embedded" / "parser.safetensors").write_bytes(b"\0" * 64)
    with pytest.raises(ResourceError, match=r"parser\.safetensors is not the file that config\.json describes"):
        nlp.load("ckip", {}, copy)


@needs_ckip
def test_a_model_of_the_hub_is_found_in_the_cache_by_its_name(
    taught: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from huggingface_hub import constants

    for part in ("ws", "pos"):
        repository = tmp_path / f"models--ckiplab--albert-tiny-chinese-{part}"
        (repository / "refs").mkdir(parents=True)
        (repository / "refs" / "main").write_text("0" * 40)
        shutil.copytree(taught / part, repository / "snapshots" / ("0" * 40))
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    assert nlp.load("ckip", {}, Path("albert-tiny")).signature == nlp.load("ckip", {}, taught).signature
    name = "ckiplab/bert-base-chinese-ws"
    with pytest.raises(
        ResourceError,
        match=rf"^{name}: the model cannot be loaded: .*; where there is a network, run `hf download {name} ",
    ):
        nlp.load("ckip", {})


@needs_ckip
def test_models_that_are_not_what_they_should_be_are_refused(taught: Path, tmp_path: Path) -> None:
    swapped = tmp_path / "swapped"
    shutil.copytree(taught / "pos", swapped / "ws")
    shutil.copytree(taught / "pos", swapped / "pos")
    with pytest.raises(ResourceError, match="no word segmenter of CKIP's"):
        nlp.load("ckip", {}, swapped)
    foreign = shutil.copytree(taught, tmp_path / "foreign")
    shutil.rmtree(foreign / "pos")
    save_model(foreign / "pos", ["LABEL_0", "LABEL_1"], 6)
    with pytest.raises(ResourceError, match="no row for the ckip-pos label 'LABEL_0', 'LABEL_1'"):
        nlp.load("ckip", {}, foreign)
    mute = shutil.copytree(taught, tmp_path / "mute")
    (mute / "ws" / "vocab.txt").unlink()
    with pytest.raises(ResourceError) as caught:
        nlp.load("ckip", {}, mute)
    assert caught.value.where == str(mute / "ws")
    with pytest.raises(
        ResourceError,
        match="nowhere/ws: no model of CKIP's in ws/; put ckiplab/bert-base-chinese-ws there, or name one of",
    ):
        nlp.load("ckip", {}, tmp_path / "nowhere")


# Stanza's trees

TREEBANK = """\
1	牛肉麵	牛肉麵	NOUN	NN	_	3	nsubj	_	_
2	不	不	ADV	RB	_	3	advmod	_	_
3	好吃	好吃	ADJ	JJ	_	0	root	_	_

1	我	我	PRON	PRP	_	2	nsubj	_	_
2	吃	吃	VERB	VV	_	0	root	_	_
3	了	了	AUX	AS	_	2	aux	_	_
4	這	這	DET	DT	_	5	det	_	_
5	湯	湯	NOUN	NN	_	2	obj	_	_
6	。	。	PUNCT	.	_	2	punct	_	_

"""
SMALL = """
--num_layers 1 --hidden_dim 24 --char_hidden_dim 8 --deep_biaff_hidden_dim 24 --word_emb_dim 16 --char_emb_dim 8 \
--tag_emb_dim 8
--transformed_dim 8 --no_char --no_pretrain --cpu --dropout 0 --word_dropout 0 --augment_nopunct 0 --max_steps 60 \
--eval_interval 20
--mode train --lang zh-hant --shorthand zh-hant_gsd --save_name gsd.pt
"""
LEARNT = [
    ((["牛肉麵", "不", "好吃"], ["NOUN", "ADV", "ADJ"]), ([2, 2, -1], ["nsubj", "neg", "root"])),
    (
        (["我", "吃", "了", "這", "湯", "。"], ["PRON", "VERB", "PART", "DET", "NOUN", "PUNCT"]),
        ([1, -1, 1, 4, 1, 1], ["nsubj", "root", "case:aspect", "det", "dobj", "punct"]),
    ),
]


@pytest.fixture(scope="module")
def stanza_models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Stanza's own tagger and parser, trained on two sentences, laid out as stanza.download lays them out."""
    from stanza.models import parser, tagger

    folder = tmp_path_factory.mktemp("stanza")
    treebank = folder / "treebank.conllu"
    treebank.write_text(TREEBANK, encoding="utf-8")
    common = f"--train_file {treebank} --eval_file {treebank} {SMALL}"
    with torch.random.fork_rng(), warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)  # stanza's scorer leaves the treebank open
        parser.main(
            f"{common} --no_checkpoint --optim adam --lr 0.01 --no_second_optim --save_dir "
            f"{folder}/zh-hant/depparse".split()
        )
        tagger.main(f"{common} --save_dir {folder}/zh-hant/pos".split())
        gc.collect()
    parts = ("tokenize", "pos", "lemma", "depparse")
    language = {part: {"gsd": {"md5": ""}} for part in parts} | {"packages": {"default": dict.fromkeys(parts, "gsd")}}
    (folder / "resources.json").write_text(json.dumps({"zh-hant": {"lang_name": "Traditional_Chinese", **language}}))
    return folder


@needs_stanza
def test_the_real_pipeline_gives_the_trees_it_learnt_in_labels_of_ud_v1(stanza_models: Path) -> None:
    parser = ckip.load_stanza(stanza_models, conllu.load_labels())
    assert parser.parse([unit for unit, _ in LEARNT]) == [tree for _, tree in LEARNT]
    assert parser.parse([unit for unit, _ in reversed(LEARNT)]) == [tree for _, tree in reversed(LEARNT)]
    assert parser.parse([]) == []


@needs_stanza
def test_its_signature_follows_the_model_files(stanza_models: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(stanza_models, tmp_path / "copy")
    signature = ckip.load_stanza(stanza_models, conllu.load_labels()).signature
    assert ckip.load_stanza(copy, conllu.load_labels()).signature == signature
    checkpoint = torch.load(copy / "zh-hant" / "depparse" / "gsd.pt", weights_only=True)
    torch.save(checkpoint | {"global_step": 7}, copy / "zh-hant" / "depparse" / "gsd.pt")
    assert ckip.load_stanza(copy, conllu.load_labels()).signature != signature


@needs_stanza
def test_only_the_root_of_a_document_is_called_root() -> None:
    from stanza.utils.conll import CoNLL

    document = CoNLL.conll2doc(input_str=TREEBANK.replace("2\taux", "2\troot").replace("0\troot", "0\tobj"))
    found = [ckip.tree(sentence, conllu.load_labels()) for sentence in document.sentences]
    assert found[0] == ([2, 2, -1], ["nsubj", "neg", "root"])
    assert found[1] == ([1, -1, 1, 4, 1, 1], ["nsubj", "root", "dep", "det", "dobj", "punct"])


@needs_stanza
def test_missing_and_damaged_models_are_errors_and_nothing_is_downloaded(stanza_models: Path, tmp_path: Path) -> None:
    with pytest.raises(ResourceError) as caught:
        ckip.load_stanza(tmp_path, conllu.load_labels())
    fix = f"where there is a network, run stanza.download('zh-hant', model_dir='{tmp_path}'), and copy the folder here"
    assert str(caught.value) == f"{tmp_path}: no stanza models; {fix}"
    copy = shutil.copytree(stanza_models, tmp_path / "copy")
    (copy / "zh-hant" / "depparse" / "gsd.pt").write_bytes(b"no model")
    with pytest.raises(ResourceError, match="stanza cannot load its models"):
        ckip.load_stanza(copy, conllu.load_labels())
    (copy / "zh-hant" / "depparse" / "gsd.pt").unlink()
    with pytest.raises(ResourceError, match="stanza cannot load its models"):
        ckip.load_stanza(copy, conllu.load_labels())
    (copy / "resources.json").write_text("{}")
    with pytest.raises(ResourceError, match="stanza cannot load its models"):
        ckip.load_stanza(copy, conllu.load_labels())


class RunsACommand:
    """What a pickle may hold: something that does its work when it is read."""

    def __init__(self, trace: Path) -> None:
        self.trace = trace

    def __reduce__(self) -> tuple[object, ...]:
        return os.mkdir, (str(self.trace),)


@needs_stanza
def test_code_in_a_model_of_stanzas_is_not_run(stanza_models: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(stanza_models, tmp_path / "copy")
    model = copy / "zh-hant" / "depparse" / "gsd.pt"
    checkpoint = torch.load(model, weights_only=True)
    torch.save(checkpoint | {"more": RunsACommand(tmp_path / "trace")}, model)
    with pytest.raises(ResourceError, match="stanza cannot load its models"):
        ckip.load_stanza(copy, conllu.load_labels())
    assert not (tmp_path / "trace").exists()


@needs_stanza
def test_stanza_runs_on_the_device_of_the_setting(stanza_models: Path) -> None:
    parser = ckip.load_stanza(stanza_models, conllu.load_labels(), "cpu")
    assert parser.pipeline.device == "cpu"  # type: ignore[attr-defined]
    with pytest.raises(ModelError, match="torch sees no device 'cuda:97' here"):
        ckip.load_stanza(stanza_models, conllu.load_labels(), "cuda:97")


@needs_ckip
@needs_stanza
def test_ckips_words_and_stanzas_trees_make_one_backend(taught: Path, stanza_models: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(taught, tmp_path / "models")
    shutil.copytree(stanza_models, folder / "stanza")
    own, backend = nlp.load("ckip", {}, folder), nlp.load("ckip-stanza", {}, folder)
    assert backend.signature != own.signature
    texts = [*TEXTS, *ODD]
    for text, mine, theirs in zip(texts, own.annotate(texts), backend.annotate(texts), strict=True):
        check_tiling(text, theirs)
        assert [(t.start, t.end, t.pos) for t in theirs] == [(t.start, t.end, t.pos) for t in mine]
    with pytest.raises(ConfigError, match=r"ckip-stanza needs a folder of models; set annotate\.models"):
        nlp.load("ckip-stanza", {}, None)
