"""Lexicons and rules as shipped hold what they promise; a broken file is named with its line."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from builder.core.errors import ResourceError
from builder.language.lexicon.packs import data_dir, list_packs
from builder.language.lexicon.resources import Lexicon, load_lexicon
from builder.language.lexicon.rules import load_rules, rules_digest
from builder.language.lexicon.tsv_rows import read_rows
from builder.reviews.script import HAN, converter
from builder.reviews.text import view

LEXICONS = data_dir("lexicons")
SHIPPED = (LEXICONS, *(pack / "lexicons" for pack in list_packs().values()))
"""The core and all packs."""
UPOS = {
    "ADJ", "ADP", "ADV", "AUX", "CCONJ", "DET", "INTJ", "NOUN", "NUM", "PART", "PRON", "PROPN", "PUNCT", "SCONJ",
    "SYM", "VERB", "X",
}  # fmt: skip
KINDS = {
    "degree": {"high", "mid", "low", "lean", "than", "over", "post"},
    "negators": {"not", "hedge", "fail", "short", "without"},
    "irrealis": {"wish", "condition", "past", "hearsay", "question"},
    "contrast": {"but", "though", "pity", "turn"},
    "general": UPOS,
    "morphemes": {"noun", "verb", "adjective", "head", "use"},
}
"""What lexicons/README.md says may stand in the second column."""

TINY = {
    "opinion_categories.tsv": "category\tvalence\tgloss\n"
    "taste.good\t8\tgood\ntaste.bad\t2\tbad\nsize.small\t4\tsmall\n",
    "aspect_classes.tsv": "class\trole\tgloss\nfood.dish\tthing\tdishes\nprice.level\tprice\tprices\n",
    "opinions/taste.tsv": "word\tcategory\n好吃\ttaste.good\n# a comment\n\n难吃\ttaste.bad\n小\tsize.small\n",
    "aspects/food.tsv": "word\tclass\n牛肉麵\tfood.dish\n價錢\tprice.level\nCP值\tprice.level\n",
    "context.tsv": "opinion\taspect\tvalence\n小\t@price\t7\n小\t牛肉麵\t3\n",
    "degree.tsv": "word\tkind\n很\thigh\n太\tover\n",
    "negators.tsv": "word\tkind\n不\tnot\n",
    "irrealis.tsv": "word\tkind\n希望\twish\n",
    "contrast.tsv": "word\tkind\n但\tbut\n",
    "general.tsv": "word\tpos\n好像\tADV\n好 好\tADV\n",
    "not_aspects.tsv": "word\treason\n今天\ttime\n",
    "morphemes.tsv": "morpheme\trole\n牛\tnoun\n",
    "variants.tsv": "variant\tcanonical\n难\t難\n價格錢\t價格錢\n",
}
RULE = (
    '[subject]\nkind = "pair-pattern"\norder = 5\nabout = "the aspect before"\npattern = "TARGET CURRENT"\nhit = '
    '[{ text = "麵香", triplets = ["麵|香|POS"] }]\n'
)


def tiny(folder: Path, **changed: str) -> Path:
    """A small lexicon folder; `changed` gives files other contents, by their name up to the dot."""
    for name, content in TINY.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(changed.get(path.stem, content), encoding="utf-8")
    return folder


def rules_in(folder: Path, **files: str) -> Path:
    for name, content in files.items():
        (folder / f"{name}.toml").write_text(content, encoding="utf-8")
    return folder


def rows_of(*names: str) -> Iterator[tuple[list[str], str]]:
    """(cells, file:line) of the shipped files."""
    for name in names:
        for path in (path for folder in SHIPPED for path in sorted(folder.rglob(name))):
            columns = len(path.read_text(encoding="utf-8").splitlines()[0].split("\t"))
            yield from read_rows(path, columns)


@pytest.fixture(scope="module")
def lexicon() -> Lexicon:
    return load_lexicon()


@pytest.fixture(scope="module")
def words(lexicon: Lexicon) -> dict[str, str]:
    """What the segmenter is told: gathering it takes most of a second."""
    return dict(lexicon.words())


# ---- what is shipped


def test_the_shipped_lexicons_have_the_promised_size(lexicon: Lexicon) -> None:
    assert len(lexicon.opinions) >= 4_000
    assert len({entry.category for entry in lexicon.opinions.values()}) >= 150
    assert len(lexicon.aspects) >= 5_000


def test_no_shipped_entry_has_blanks_at_its_ends_or_a_character_that_is_not_seen() -> None:
    for cells, where in rows_of("*.tsv"):
        for cell in cells:
            assert cell == cell.strip(), where
            assert not re.search("[\u200b-\u200f\u2060\ufe00-\ufe0f\ufeff\u3000\xa0]", cell), where


def test_no_shipped_word_has_a_character_that_only_simplified_texts_write() -> None:
    """Simplified to OpenCC and no part of Big5, which holds what Taiwan writes;
    variants.tsv names such characters on purpose.
    """
    to_simplified, to_traditional = converter("t2s"), converter("s2t")
    dishes = "糍叁"  # 糯米糍, 叁巴醬: on Traditional menus, though not in Big5

    def simplified_only(char: str) -> bool:
        if not HAN.match(char) or to_traditional(char) == char or to_simplified(char) != char:
            return False
        return char not in dishes and char.encode("big5", errors="ignore") == b""

    found = [
        (where, cells[0])
        for cells, where in rows_of("*.tsv")
        if not where.split("/")[1].startswith("variants") and any(map(simplified_only, cells[0]))
    ]
    assert found == []


def test_every_shipped_word_is_as_the_view_shows_it_or_it_could_never_fire(lexicon: Lexicon) -> None:
    for table in ("opinions", "aspects", "degree", "negators", "irrealis", "general", "not_aspects"):
        words = getattr(lexicon, table)
        unseen = [word for word in words if view(word, lexicon.variants, "traditional").text.lower() != word]
        assert unseen == []


@pytest.mark.parametrize("table", KINDS)
def test_every_kind_in_a_shipped_word_list_is_one_that_the_readme_names(lexicon: Lexicon, table: str) -> None:
    words: dict[str, str] = dict(getattr(lexicon, table))
    assert {word: kind for word, kind in words.items() if kind not in KINDS[table]} == {}


def test_every_shipped_context_speaks_of_a_known_opinion_and_a_known_class(lexicon: Lexicon) -> None:
    classes = {cells[0] for cells, _ in rows_of("aspect_classes.tsv")}
    assert {entry.cls for entry in lexicon.aspects.values()} <= classes
    for opinion, rows in lexicon.context.items():
        assert opinion in lexicon.opinions
        strange = [
            target
            for target, _ in rows
            if target.startswith("@") and not any(cls.startswith(target[1:]) for cls in classes)
        ]
        assert strange == [], f"{opinion}: no class begins with these, so the rows never fire"


def test_a_word_that_is_never_an_aspect_is_not_listed_as_one(lexicon: Lexicon) -> None:
    assert sorted(lexicon.not_aspects.keys() & lexicon.aspects.keys()) == []


def test_the_words_for_the_segmenter_are_whole_words_with_universal_tags(words: dict[str, str]) -> None:
    assert not [word for word in words if not word or any(map(str.isspace, word))]
    assert {tag for tag in words.values() if " " not in tag} <= UPOS | {""}
    assert [word for word, parts in words.items() if " " in parts and "".join(parts.split()) != word] == []
    assert {"牛肉麵", "好吃", "不會", "非常", "今天"} <= words.keys()


def test_entries_that_are_several_words_are_told_as_their_parts(words: dict[str, str]) -> None:
    parts = {
        "微辣": "微 辣", "不錯吃": "不錯 吃", "服務態度": "服務 態度", "女店員": "女 店員", "冰紅茶": "冰 紅茶",
        "太貴": "太 貴", "一點也不": "一點 也 不", "每道菜": "每 道 菜", "波士頓龍蝦": "波士頓 龍蝦",
        "80分鐘": "80 分鐘", "九十分鐘": "九十 分鐘",
    }  # fmt: skip
    assert {word: words[word] for word in parts} == parts


def test_words_that_only_look_like_several_stay_one(words: dict[str, str]) -> None:
    whole = "好吃 不錯 小心 牛肉麵 紅茶 值得 不過 還好 用餐 更新 微妙 葡萄乾"
    assert [word for word in whole.split() if " " in words.get(word, "")] == []


# ---- reading


def test_a_lexicon_is_read_with_valences_places_and_the_spelling_of_the_view(tmp_path: Path) -> None:
    found = load_lexicon(tiny(tmp_path))
    assert {word: (entry.category, entry.valence, entry.where) for word, entry in found.opinions.items()} == {
        "好吃": ("taste.good", 8.0, "opinions/taste.tsv:2"),
        "難吃": ("taste.bad", 2.0, "opinions/taste.tsv:5"),
        "小": ("size.small", 4.0, "opinions/taste.tsv:6"),
    }
    assert found.aspects["cp值"].cls == "price.level"
    assert found.context == {"小": (("@price", 7.0), ("牛肉麵", 3.0))}
    assert (found.degree["太"], found.negators["不"]) == ("over", "not")
    assert (found.irrealis["希望"], found.not_aspects["今天"]) == ("wish", "time")
    assert found.morphemes == {"牛": "noun"}
    assert found.words()["好像"] == "ADV"
    assert "好 好" not in found.words()


def test_the_digest_follows_every_byte_of_every_file(tmp_path: Path) -> None:
    first = load_lexicon(tiny(tmp_path / "a")).digest
    assert load_lexicon(tiny(tmp_path / "b")).digest == first
    for name in TINY:
        changed = tiny(tmp_path / f"c{name.replace('/', '')}")
        with (changed / name).open("a", encoding="utf-8") as handle:
            handle.write("# one more line\n")
        assert load_lexicon(changed).digest != first, name


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"taste": "word\tcategory\n好吃\n"}, r"taste\.tsv:2: 1 cell where 2 are due"),
        ({"taste": "word\tcategory\n好吃\ttaste.good\tmore\n"}, r"taste\.tsv:2: 3 cells where 2 are due"),
        ({"taste": "word\tcategory\n好吃\ttaste.good\n\t "
            "taste.good\n"}, r"taste\.tsv:3: 2 cells where 2 are due, or a blank "
            r"one"),
        ({"taste": "word\tcategory\n好吃\ttaste.god\n"}, r"opinions/taste\.tsv:2: 'taste\.god' is in no "
            r"opinion_categories\.tsv; did you mean taste\.good\? correct it, or add it to .*/opinion_categories\.tsv"),
        ({"taste": "word\tcategory\n好吃\ttaste.good\n好吃\ttaste.bad\n"}, r"taste\.tsv:3: '好吃' is listed already; "
            r"keep this row or .*taste\.tsv:2"),
        ({"food": "word\tclass\n牛肉麵\tfood.dihs\n"}, r"food\.tsv:2: 'food\.dihs' is in no aspect_classes\.tsv"),
        ({"opinion_categories": "category\tvalence\tgloss\ntaste.good\thigh\tg\n"},
         r"opinion_categories\.tsv:2: valence 'high' is no number from 1 to "
            r"10"),
        ({"opinion_categories": "category\tvalence\tgloss\ntaste.good\t0\tg\n"}, r"opinion_categories\.tsv:2: valence "
            r"'0'"),
        ({"opinion_categories": "category\tvalence\tgloss\ntaste.good\tnan\tg\n"},
         r"opinion_categories\.tsv:2: valence "
            r"'nan'"),
        ({"context": "opinion\taspect\tvalence\n小\t@price\tx\n"}, r"context\.tsv:2: valence 'x'"),
        ({"degree": "word\tkind\n很\thigh\n很\tlow\n"}, r"degree\.tsv:3: '很' is listed with 'high' and 'low'; "
            r"keep one"),
        ({"variants": "variant\tcanonical\n臺\t台\n难吃\t難\n"},
         r"variants\.tsv(:3)?: variant '难吃' and '難' differ in "
            r"length"),
    ],
)  # fmt: skip
def test_a_broken_lexicon_line_is_refused_with_its_file_and_line(
    tmp_path: Path, files: dict[str, str], message: str
) -> None:
    with pytest.raises(ResourceError, match=message):
        load_lexicon(tiny(tmp_path, **files))


def test_a_missing_or_unreadable_lexicon_file_is_named(tmp_path: Path) -> None:
    folder = tiny(tmp_path)
    (folder / "degree.tsv").write_bytes(b"word\tkind\n\xa4\xa3\tnot\n")
    with pytest.raises(ResourceError, match=r"degree\.tsv: cannot be read: "):
        load_lexicon(folder)
    (folder / "degree.tsv").unlink()
    with pytest.raises(ResourceError, match=r"a whole lexicon has degree\.tsv too; copy them from"):
        load_lexicon(folder)


def test_a_data_directory_that_is_missing_is_an_error_with_a_way_out() -> None:
    with pytest.raises(ResourceError, match=r"the directory nowhere/ is missing; reinstall the package"):
        data_dir("nowhere")


# ---- overlays


def overlay(folder: Path, **files: str) -> Path:
    for name, content in files.items():
        path = folder / f"{name.replace('__', '/')}.tsv"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")
    return folder


def test_the_uppermost_overlay_wins(tmp_path: Path) -> None:
    base = tiny(tmp_path / "base")
    low = overlay(tmp_path / "low", opinions__a="word\tcategory\n好吃\ttaste.bad\n")
    high = overlay(tmp_path / "high", opinions__a="word\tcategory\n好吃\tsize.small\n")
    assert load_lexicon(base, [low, high]).opinions["好吃"].category == "size.small"
    assert load_lexicon(base, [high, low]).opinions["好吃"].category == "taste.bad"


def test_an_overlay_that_is_missing_or_holds_a_strange_file_is_refused(tmp_path: Path) -> None:
    base = tiny(tmp_path / "base")
    with pytest.raises(
        ResourceError,
        match=r"none: this folder of lexicons does not exist; make one with `builder words lexicon import`",
    ):
        load_lexicon(base, [tmp_path / "none"])
    strange = overlay(tmp_path / "strange", degrees="word\tkind\n很\thigh\n")
    with pytest.raises(ResourceError, match=r"no table of a lexicon is degrees\.tsv; known: "):
        load_lexicon(base, [strange])
    unknown = overlay(tmp_path / "unknown", opinions__a="word\tcategory\n雷\tnone.such\n")
    with pytest.raises(ResourceError, match=r"unknown/opinions/a\.tsv:2: 'none\.such' is in no opinion_cat"):
        load_lexicon(base, [unknown])


# ---- rules


def test_a_rule_is_read_with_its_parameters_and_both_kinds_of_examples(tmp_path: Path) -> None:
    (rule,) = load_rules(rules_in(tmp_path, a=RULE + 'miss = [{ text = "香麵" }]\n'))
    assert (rule.name, rule.kind, rule.order, rule.about, dict(rule.params)) == (
        "subject", "pair-pattern", 5, "the aspect before", {"pattern": "TARGET CURRENT"},
    )  # fmt: skip
    assert [(example.text, example.triplets, example.must) for example in rule.examples] == [
        ("麵香", ("麵|香|POS",), True), ("香麵", (), False),
    ]  # fmt: skip
    assert rule.where == f"{tmp_path.name}/a.toml:1"
    assert rule.at("about") == f"{tmp_path.name}/a.toml:4"
    assert rule.at("longest") == rule.where


def test_rules_run_by_order_whatever_their_files_are_called(tmp_path: Path) -> None:
    first = RULE.replace("subject", "last").replace("order = 5", "order = 90")
    assert [rule.name for rule in load_rules(rules_in(tmp_path, a=first, b=RULE))] == ["subject", "last"]


def _without(key: str) -> Callable[[str], str]:
    return lambda text: "\n".join(line for line in text.splitlines() if not line.startswith(key)) + "\n"


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"a": "= 1\n"}, r"a\.toml:1: not TOML: Invalid"),
        ({"a": _without("kind")(RULE)}, r"a\.toml:1: rule 'subject' lacks kind"),
        ({"a": _without("order")(_without("about")(RULE))}, r"a\.toml:1: rule 'subject' lacks about, order"),
        (
            {"a": "order = 3\n" + RULE},
            r"a\.toml: 'order' stands outside a rule; write it under a \[rule-name\] heading",
        ),
        ({"a": RULE, "b": RULE}, r"b\.toml:1: rule 'subject' stands in .*a\.toml:1 already"),
        (
            {"a": RULE.replace("order = 5", "order = 'first'")},
            r"a\.toml:3: rule 'subject': order is 'first', not a whole number",
        ),
        (
            {"a": RULE + 'miss = [{ txt = "香麵" }]\n'},
            r"a\.toml:\d: rule 'subject': an example is .*; write \"TEXT → ",
        ),
    ],
)
def test_a_broken_rule_file_is_named(tmp_path: Path, files: dict[str, str], message: str) -> None:
    with pytest.raises(ResourceError, match=message):
        load_rules(rules_in(tmp_path, **files))


def test_the_digest_of_the_rules_follows_their_files(tmp_path: Path) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    one.mkdir()
    other.mkdir()
    assert rules_digest(rules_in(one, a=RULE)) == rules_digest(rules_in(other, a=RULE))
    assert rules_digest(rules_in(other, b=RULE.replace("subject", "x"))) != rules_digest(one)
