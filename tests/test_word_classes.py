"""Classes of words that rules share: how a rule names one, what is refused, and that no list stands twice."""

from __future__ import annotations

import tomllib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from builder.core.errors import ResourceError
from builder.engine import make_engine
from builder.engine.symbols import SYMBOLS
from builder.language.lexicon.folders import Folders
from builder.language.lexicon.packs import data_dir
from builder.language.lexicon.resources import load_lexicon
from builder.language.lexicon.rules import load_rules, rules_digest, write_rule
from builder.language.lexicon.tsv_rows import load_word_classes, read_rows
from builder.pipeline.rule_report import find_unused_classes
from builder.reviews.text import view

LINE = 120
"""Characters of a line of a rule file at most."""
LAYERS = {
    "core": (data_dir("lexicons"), data_dir("rules")),
    **{
        path.name: (path / "lexicons", path / "rules")
        for path in sorted(data_dir("domains").iterdir())
        if (path / "rules").is_dir()
    },
}
BELOW = {"core": ["core"], "laptop": ["core", "_common", "laptop"]}
"""Layer -> those whose classes its rules may name; others: the core and their own."""
RULE_FILES = [path for _, rules in LAYERS.values() for path in sorted(rules.glob("*.toml"))]
RULE = """\
[nobody]
kind = "predicate"
order = 8
about = "nobody came"
pattern = "NONE COME"
category = "service.bad"

[nobody.words]
"""


def read_lists(layer: str) -> Iterator[tuple[str, list[str]]]:
    """Each list of `words` in the rules of a layer, as written, with its name."""
    for path in sorted(LAYERS[layer][1].glob("*.toml")):
        for rule, body in tomllib.loads(path.read_text(encoding="utf-8")).items():
            words = body.get("words")
            if isinstance(words, dict):
                yield from ((f"{path.name} {rule}.{name}", entries) for name, entries in words.items())


def rule_with(folder: Path, words: str, lexicon: Path | None = None) -> dict[str, list[str]]:
    """The words of a rule, class by class, as the engine gets them."""
    folder.mkdir(exist_ok=True)
    (folder / "a.toml").write_text(RULE + words, encoding="utf-8")
    (rule,) = load_rules(folder, lexicons=[lexicon] if lexicon else ())
    found = rule.params["words"]
    assert isinstance(found, dict)
    return found


def lexicon_with(folder: Path, classes: str, words: str) -> Path:
    (folder / "words").mkdir(parents=True, exist_ok=True)
    (folder / "word_classes.tsv").write_text("class\tgloss\n" + classes, encoding="utf-8")
    (folder / "words" / "own.tsv").write_text("word\tclass\n" + words, encoding="utf-8")
    return folder


# ---- how a rule names a class


def test_a_name_stands_for_the_words_of_its_class_beside_others(tmp_path: Path) -> None:
    lexicon = lexicon_with(tmp_path / "lexicon", "crew\twho works there\n", "船長\tcrew\n@staff\tcrew\n…員\tcrew\n")
    found = rule_with(tmp_path / "rules", 'NONE = ["沒"]\nCOME = ["<crew>", "-船長", "來"]\n', lexicon)
    assert found == {"NONE": ["沒"], "COME": ["@staff", "…員", "來"]}


def test_a_word_of_two_classes_stands_once_and_a_list_without_a_class_is_as_written(tmp_path: Path) -> None:
    lexicon = lexicon_with(tmp_path / "lexicon", "one\t1\ntwo\t2\n", "甲\tone\n乙\tone\n乙\ttwo\n丙\ttwo\n")
    found = rule_with(tmp_path / "rules", 'A = ["<one>", "<two>", "甲"]\nB = ["-甲", "<", "乙", "乙"]\n', lexicon)
    assert found == {"A": ["甲", "乙", "丙"], "B": ["-甲", "<", "乙", "乙"]}


def test_any_list_of_a_rule_names_classes_and_a_rule_that_extends_takes_a_word_of_one_away(tmp_path: Path) -> None:
    lexicon = lexicon_with(tmp_path / "lexicon", "one\t1\n", "甲\tone\n乙\tone\n")
    low, high = tmp_path / "low", tmp_path / "high"
    low.mkdir()
    high.mkdir()
    head = '[stop]\nkind = "refuse"\norder = 1\nabout = "none of these"\n'
    (low / "a.toml").write_text(head + 'words = ["<one>", "丙"]\n', encoding="utf-8")
    (high / "a.toml").write_text('[stop]\nextends = true\nwords = ["-甲", "丁"]\n', encoding="utf-8")
    (rule,) = load_rules(low, [high], lexicons=[lexicon])
    assert rule.params["words"] == ["乙", "丙", "丁"]
    assert rule.written["words"] == ["<one>", "丙", "-甲", "丁"]


def test_a_folder_adds_words_to_a_class_below_and_classes_of_its_own(tmp_path: Path) -> None:
    low = lexicon_with(tmp_path / "low", "one\t1\n", "甲\tone\n")
    high = lexicon_with(tmp_path / "high", "two\t2\n", "甲\tone\n乙\tone\n丙\ttwo\n")
    assert load_word_classes([low, high]) == {"one": ("甲", "乙"), "two": ("丙",)}


def test_rules_and_words_of_a_users_own_folders_name_classes_of_all_layers(tmp_path: Path) -> None:
    lexicon = lexicon_with(tmp_path / "lexicon", "arrivals\twho comes\n", "抵達\tarrivals\n")
    rules = tmp_path / "rules"
    rules.mkdir()
    text = RULE + 'NONE = ["<house>"]\nCOME = ["<arrivals>", "<food>"]\n'
    (rules / "a.toml").write_text(text, encoding="utf-8")
    folders = Folders(overlays=(lexicon,), added_rules=(rules,))
    rule = next(rule for rule in folders.load_rules() if rule.name == "nobody")
    assert {"店家"} <= set(rule.params["words"]["NONE"])  # type: ignore[index]
    assert rule.params["words"]["COME"] == ["抵達", "@drink", "@food"]  # type: ignore[index]
    engine = make_engine(folders.load_lexicon(), folders.load_rules(), "natural")
    assert engine is not None


def test_a_rule_is_written_with_the_names_of_its_classes(tmp_path: Path) -> None:
    rule = next(rule for rule in load_rules() if rule.name == "house-forgot")
    assert {"@staff", "店家"} <= set(rule.params["words"]["HOUSE"])  # type: ignore[index]
    text = write_rule(rule)
    assert 'HOUSE = ["<house>"]\n' in text
    (tmp_path / "a.toml").write_text(text, encoding="utf-8")
    (again,) = load_rules(tmp_path)
    assert (again.params, again.written) == (rule.params, rule.written)


def test_the_digest_of_rules_that_replace_the_shipped_ones_follows_the_words_of_the_core(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "rules").mkdir()
    before = rules_digest(tmp_path / "rules")
    lexicon_with(tmp_path / "lexicons", "one\t1\n", "甲\tone\n")
    monkeypatch.setattr("builder.language.lexicon.rules.data_dir", lambda name: tmp_path / name)
    assert rules_digest(tmp_path / "rules") != before


# ---- what is refused


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            'NONE = ["<hous>"]\n',
            "rules/a.toml:8: rule 'nobody': no class of words is <hous>; did you mean house? correct it, "
            "or add it to word_classes.tsv of a lexicon",
        ),
        (
            'NONE = ["<house>", "-有人"]\n',
            "rules/a.toml:8: rule 'nobody': '-有人' takes away a word that does not stand before it; "
            "write it behind a class that has the word",
        ),
    ],
)
def test_a_list_that_cannot_be_read_is_named(tmp_path: Path, words: str, message: str) -> None:
    with pytest.raises(ResourceError) as error:
        rule_with(tmp_path / "rules", words)
    assert str(error.value) == message


@pytest.mark.parametrize(
    ("classes", "words", "message"),
    [
        (
            "one\t1\n",
            "甲\tone\n甲\tone\n",
            r"/words/own\.tsv:3: '甲' is in one already; keep this row or .*own\.tsv:2$",
        ),
        (
            "one\t1\n",
            "甲\toen\n",
            r"own\.tsv:2: 'oen' is in no word_classes\.tsv; did you mean one\? correct it, or add",
        ),
        ("One\t1\n", "", r"word_classes\.tsv:2: 'One' cannot name a class of words; use small letters, digits and -"),
    ],
)
def test_a_class_that_cannot_be_read_is_named(tmp_path: Path, classes: str, words: str, message: str) -> None:
    with pytest.raises(ResourceError, match=message):
        load_word_classes([lexicon_with(tmp_path / "lexicon", classes, words)])


# ---- the shipped classes and rules


@pytest.mark.parametrize("layer", LAYERS)
def test_no_list_of_words_stands_twice(layer: str) -> None:
    layers = BELOW.get(layer, ["core", layer])
    classes = load_word_classes([LAYERS[name][0] for name in layers])
    lists = [entry for name in layers for entry in read_lists(name)]
    counts = Counter(frozenset(entries) for _, entries in lists if len(entries) > 1)
    assert not [name for name, entries in lists if counts[frozenset(entries)] > 1]
    spelled = [
        f"{where} spells out <{name}>"
        for where, entries in read_lists(layer)
        for name, words in classes.items()
        if set(words) <= set(entries)
    ]
    assert not spelled
    same = Counter(frozenset(words) for words in classes.values())
    assert not [name for name, words in classes.items() if same[frozenset(words)] > 1]


def test_every_class_is_named_by_two_rules_or_too_long_for_one() -> None:
    named = Counter(
        entry[1:-1]
        for _, rules in LAYERS.values()
        for path in rules.glob("*.toml")
        for body in tomllib.loads(path.read_text(encoding="utf-8")).values()
        for value in body.values()
        for entries in (value.values() if isinstance(value, dict) else [value])
        if isinstance(entries, list)
        for entry in entries
        if isinstance(entry, str) and entry.startswith("<") and entry.endswith(">")
    )
    classes = load_word_classes([lexicons for lexicons, _ in LAYERS.values()])
    assert named.keys() == classes.keys()
    assert not [name for name, words in classes.items() if named[name] < 2 and len(words) < 25]


@pytest.mark.parametrize("layer", LAYERS)
def test_words_are_sorted_by_class_and_every_class_has_some(layer: str) -> None:
    folder = LAYERS[layer][0]
    used = set()
    for path in sorted((folder / "words").glob("*.tsv")):
        rows = [(cells[1], cells[0]) for cells, _ in read_rows(path, 2)]
        assert rows == sorted(rows), path
        used |= {name for name, _ in rows}
    if (folder / "word_classes.tsv").is_file():
        names = [cells[0] for cells, _ in read_rows(folder / "word_classes.tsv", 2)]
        assert names == sorted(names)
        assert set(names) <= used


@pytest.mark.parametrize("layer", LAYERS)
def test_words_are_written_as_the_view_of_a_text_shows_them(layer: str) -> None:
    variants = load_lexicon().variants
    words = {word for listed in load_word_classes([data_dir("lexicons"), LAYERS[layer][0]]).values() for word in listed}
    words |= {word for _, entries in read_lists(layer) for word in entries if word[0] not in "<-"}
    plain = {word.removeprefix("…") for word in words if word[0] != "@" and word not in SYMBOLS}
    assert not [word for word in sorted(plain) if view(word, variants).text.lower() != word]


@pytest.mark.parametrize("path", RULE_FILES, ids=lambda path: f"{path.parent.parent.name}-{path.name}")
def test_no_line_of_a_rule_file_is_too_long(path: Path) -> None:
    lines = path.read_text(encoding="utf-8").splitlines()
    assert not [f"{path}:{number}" for number, line in enumerate(lines, start=1) if len(line) > LINE]


def test_a_class_that_nothing_asks_for_is_named_with_the_nearest(tmp_path: Path) -> None:
    for domain in ("none", "restaurant", "laptop", "hotels"):
        assert list(find_unused_classes(Folders(domain=domain).load_rules())) == [], domain
    mine = '[mine]\nkind = "words"\norder = 1\nabout = "x"\nwords = { HEEDS = ["態度"], HEADS = ["態度"] }\n'
    (tmp_path / "a.toml").write_text(mine, encoding="utf-8")
    lines = list(find_unused_classes(load_rules(added=[tmp_path])))
    assert [line.rpartition("/")[2] for line in lines] == [
        "a.toml:5: nothing asks for the class HEEDS; did you mean HEADS?"
    ]
