"""Rules in Python: functions of a clause that a domain pack brings are read, run, told and counted like tables."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import Command, Ran
from reading import written

from builder.core.errors import ResourceError
from builder.core.settings import Lexicons, Rules
from builder.engine import make_engine
from builder.engine.reader import Recipe, make_reader
from builder.language.lexicon.folders import Folders, find_folders
from builder.language.lexicon.rules import load_rules
from builder.pages.rule_page import RuleBook

WARM = '''
from itertools import pairwise

from builder.engine.functions import Clause, rule


@rule(
    hit={"冷氣只開到28度": ["冷氣|28度|NEG"], "冷氣開到28度，很舒適": ["冷氣|28度|NEG"]},
    miss={"冷氣開到23度": ["冷氣|23度|NEG"], "冷氣有28度嗎？": ["冷氣|28度|NEG"]},
)
def warm_room(clause: Clause):
    """冷氣開到28度: a room of 27 degrees or more is too warm."""
    for aspect in clause.find("ASPECT"):
        for number, unit in pairwise(clause.behind(aspect)):
            warm = number.text.isdecimal() and int(number.text) >= 27
            if aspect.category == "place.temperature" and unit.text == "度" and warm:
                yield aspect, (number, unit), "NEG"
'''
IMPORT = "from builder.engine.functions import rule\n"
FAIR = '''
@rule(order=40)
def fair_service(clause):
    """服務很好: it is expected."""
    for word in clause.find("OPINION"):
        if word.category.startswith("eval.good"):
            yield clause.words[0], word, "NEU"
'''


def make_pack(at: Path, *functions: str) -> Path:
    (at / "rules").mkdir(parents=True)
    (at / "rules" / "rooms.py").write_text("\n".join(functions), encoding="utf-8")
    return at


def find(pack: Path, text: str) -> set[str]:
    reader = make_reader(Recipe(folders=Folders(domain=str(pack))))
    return {written(triplet) for triplet in reader.engine.extract(reader.read([text])[0].doc)}


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("BUILDER_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def test_a_build_finds_tells_and_counts_what_a_function_of_its_pack_labels(tmp_path: Path, here: Command) -> None:
    pack, reviews = make_pack(tmp_path / "rooms", WARM), tmp_path / "reviews.csv"
    rows = [f"r{degrees},冷氣只開到{degrees}度，服務很好" for degrees in range(20, 30)]
    reviews.write_text("\n".join(["id,text", *rows]), encoding="utf-8")

    def run(*words: object) -> Ran:
        ran = here(*words, "--workdir", tmp_path / "workdir")
        assert ran.code == 0, ran.err
        return ran

    run("build", reviews, "--domain", pack, "--out", tmp_path / "releases", "--profile", "rules", "--workers", "2")
    told = run("explain", "r28").out
    assert "28度 is about 冷氣 by the rule warm-room (冷氣開到28度: a room of 27 degrees or more is too warm" in told
    assert [line.split()[1:3] for line in run("words", "rules").out.splitlines() if "warm-room" in line] == [["3", "3"]]
    book = RuleBook(tmp_path / "workdir", 10)
    (row,) = [row for row in book.list_rules()["rules"] if row["name"] == "warm-room"]
    assert (row["kind"], row["origin"], row["counts"]) == ("function", "rules of the domain rooms", True)
    assert all(example["well"] for example in book.open_rule("warm-room")["examples"])


def test_a_function_is_in_no_cache_and_read_anew_where_its_code_changes(tmp_path: Path, cache: Path) -> None:
    pack = make_pack(tmp_path / "rooms", WARM)
    folders, file = Folders(domain=str(pack)), pack / "rules" / "rooms.py"
    digest = folders.rules_digest
    assert find(pack, "冷氣開到26度") == set()
    assert not list(cache.glob("rules-*"))
    file.write_text(WARM.replace("27", "26"), encoding="utf-8")
    assert folders.rules_digest != digest
    assert find(pack, "冷氣開到26度") == {"冷氣|26度|NEG"}


def test_the_decorator_may_be_named_by_its_module(tmp_path: Path) -> None:
    code = FAIR.replace("@rule", "@functions.rule")
    assert find(make_pack(tmp_path / "one", "from builder.engine import functions", code), "服務很好") == {
        "服務|好|NEU"
    }


def test_rules_are_read_without_running_a_file(tmp_path: Path) -> None:
    pack = make_pack(tmp_path / "rooms", "raise SystemExit('ran')", WARM)
    (rule,) = [rule for rule in load_rules(domain=str(pack)) if rule.kind == "function"]
    assert (rule.name, rule.order, len(rule.examples)) == ("warm-room", 50, 4)


def test_a_function_goes_before_tables_and_the_first_of_two_decides(tmp_path: Path) -> None:
    one = make_pack(tmp_path / "one", IMPORT, FAIR)
    assert find(one, "服務很好，座位舒適") == {"服務|好|NEU", "座位|舒適|POS"}
    other = FAIR.replace("order=40", "order=30").replace("fair", "poor").replace("NEU", "NEG")
    two = make_pack(tmp_path / "two", IMPORT, FAIR, other)
    assert find(two, "服務很好") == {"服務|好|NEG"}


def test_a_table_switches_a_function_off_and_makes_none(tmp_path: Path) -> None:
    pack = make_pack(tmp_path / "rooms", WARM)
    mine = tmp_path / "mine"
    mine.mkdir()
    off = '[warm-room]\nkind = "function"\norder = 50\nabout = "Off."\nenabled = false\n'
    for text in (off, "[warm-room]\nextends = true\nenabled = false\n"):
        (mine / "mine.toml").write_text(text, encoding="utf-8")
        reader = make_reader(Recipe(folders=Folders(domain=str(pack), added_rules=(mine,))))
        assert reader.extract(["冷氣開到28度"]) == [()]
    (mine / "mine.toml").write_text(off.replace("warm-room", "cold-room"), encoding="utf-8")
    rules = Folders(domain=str(pack), added_rules=(mine,)).load_rules()
    with pytest.raises(ResourceError, match="rule 'cold-room': it has no function; write a function of Python"):
        make_engine(reader.lexicon, rules, "described")


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("def warm_room(:", "rooms.py: cannot be read as Python: "),
        ("@rule(order=int('3'))\ndef warm_room(clause):\n    ''", "rule 'warm-room' cannot be read: "),
        ("@rule(order='3')\ndef warm_room(clause):\n    ''", "rule 'warm-room': order is '3', not a whole number"),
        (f"{IMPORT}@rule\ndef warm_room(clause):\n    ''", "rule 'warm-room': TypeError: rule() takes 0 positional "),
        (f"{IMPORT}@rule(kind='words')\ndef warm_room(clause):\n    ''", "rule 'warm-room': TypeError: rule() got an "),
        (f"{IMPORT}@rule(**{{}})\ndef warm_room(clause):\n    ''", "rule 'warm-room': unknown parameter '**'"),
        (f"{IMPORT}@rule()\nasync def warm_room(clause): ''", "rule 'warm-room' is no plain function of the file"),
        (
            f"{IMPORT}if 1:\n    @rule()\n    def warm_room(clause):\n        ''",
            "rule 'warm-room' is no plain function",
        ),
        (
            f"{IMPORT[:-1]} as mark\n@mark()\ndef warm_room(clause):\n    ''",
            "rooms.py:1: the decorator has another name",
        ),
        (
            f"{IMPORT}@rule(miss={{'湯': '湯|燙|NEG'}})\ndef warm_room(clause):\n    ''",
            "'湯|燙|NEG' is no list of triplets",
        ),
        (f"{WARM}\nimport sys\nsys.exit(0)", "rule 'warm-room': SystemExit: 0"),
        (f"{WARM}\ndel warm_room", "rule 'warm-room': AttributeError: "),
        (f"{WARM}\nwarm_room = None", "rule 'warm-room': TypeError: None is no function"),
        ("@rule(hits={})\ndef warm_room(clause):\n    ''", "rule 'warm-room': unknown parameter 'hits'"),
        ("@rule()\ndef warm_room(clause):\n    ''", "rules/rooms.py:2: rule 'warm-room': NameError: name 'rule' is "),
        (f"{WARM}\n    1 / 0", "rules/rooms.py:11: rule 'warm-room': ZeroDivisionError: division by zero; correct "),
        (WARM.replace('"NEG"\n', '"BAD"\n'), "rule 'warm-room': ValueError: 'BAD' is no polarity"),
        (WARM.replace("(number, unit),", "'度',"), "rule 'warm-room': "),
        (WARM.replace("(number, unit),", "(aspect, unit),"), "is no run of words of the clause"),
    ],
)
def test_a_function_that_cannot_be_read_or_run_is_one_line(code: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(ResourceError) as caught:
        find(make_pack(tmp_path / "rooms", code), "冷氣開到28度")
    assert message in str(caught.value)


@pytest.mark.parametrize("settings", [{}, {"domain": "pack"}, {"rules": "pack/rules"}])
def test_no_code_of_a_working_directory_runs(settings: dict[str, str], tmp_path: Path) -> None:
    """Nor where the settings that it remembers name a folder in it."""
    make_pack(tmp_path / ("pack" if settings else ""), WARM)
    domain = str(tmp_path / settings["domain"]) if "domain" in settings else "restaurant"
    rules = Rules(dir=str(tmp_path / settings["rules"])) if "rules" in settings else Rules()
    with pytest.raises(ResourceError, match="no code of a working directory runs; put it into a folder outside"):
        find_folders(Lexicons(), rules, tmp_path, domain)
