"""Every rule file holds to its own examples, on the lexicons as shipped; a rule that cannot run says why."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from copy import copy
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest
from reading import reader, written

from builder.core.errors import ResourceError
from builder.core.records import Triplet
from builder.core.settings import Convention
from builder.engine import Engine, RuleEngine, make_engine
from builder.engine.rows import RuleIndex, RuleRows, WordTable
from builder.language.lexicon.resources import AspectEntry, Lexicon
from builder.language.lexicon.rules import Rule, RuleExample, load_rules
from builder.models.combiner import held
from builder.models.trust import TrustLimits

RULES = load_rules()
EXAMPLES = [
    pytest.param(rule, example, id=f"{rule.name}-{'hit' if example.must else 'miss'}-{example.text}")
    for rule in RULES
    for example in rule.examples
]
MAKERS = ("pair-", "conjunction", "valence", "predicate")
"""Kinds that make or turn triplets: they must show what they make.
The others, apart from word lists, must show what they keep out.
"""
FILTERS = ("compatible", "refuse", "read-as")
Extract = Callable[[str, Convention], tuple[Triplet, ...]]


@pytest.fixture(scope="module")
def lexicon() -> Lexicon:
    return reader().lexicon


@pytest.fixture(scope="module")
def extract() -> Extract:
    """The triplets of a text as the shipped engine finds them."""
    engines: dict[Convention, RuleEngine] = {"natural": reader().engine, "paper": reader().paper}
    engines["described"] = make_engine(reader().lexicon, RULES, "described")
    return lambda text, convention: engines[convention].extract(reader().docs([text])[0])


def convention_of(rule: Rule) -> Convention:
    """The convention in which a rule's examples are meant: natural, unless the rule is for others alone."""
    conventions: Any = rule.params.get("conventions", ("natural",))
    return "natural" if "natural" in conventions else conventions[0]


@pytest.mark.parametrize(("rule", "example"), EXAMPLES)
def test_a_rule_makes_what_it_must_and_nothing_that_it_must_not(
    rule: Rule, example: RuleExample, extract: Extract
) -> None:
    """A miss without triplets says that the text yields none at all."""
    made = {written(triplet) for triplet in extract(example.text, convention_of(rule))}
    if example.must:
        assert set(example.triplets) <= made
    elif example.triplets:
        assert made.isdisjoint(example.triplets)
    else:
        assert made == set()


@pytest.mark.parametrize("rule", [pytest.param(rule, id=rule.name) for rule in RULES if rule.kind.startswith("pair-")])
def test_a_pairing_rule_makes_a_triplet_of_its_own_examples_itself(rule: Rule, extract: Extract) -> None:
    """Else its examples would hold without it."""
    hits = [example.text for example in rule.examples if example.must]
    makers = {name for text in hits for triplet in extract(text, convention_of(rule)) for name in triplet.rules}
    assert rule.name in makers


@pytest.mark.parametrize("rule", [pytest.param(rule, id=rule.name) for rule in RULES])
def test_a_rule_brings_the_examples_that_its_kind_needs(rule: Rule) -> None:
    """What makes triplets brings a hit, what keeps them out a miss; a hit names what must be found."""
    hits = [example for example in rule.examples if example.must]
    assert all(example.triplets for example in hits)
    if rule.kind.startswith(MAKERS):
        assert hits
    elif rule.kind in FILTERS:
        assert len(hits) < len(rule.examples)


def test_switching_a_rule_off_takes_away_what_it_made(lexicon: Lexicon, extract: Extract) -> None:
    text = "這裡有好吃的牛肉麵"
    (name,) = extract(text, "natural")[0].rules
    without = Engine(lexicon, [with_params(rule, enabled=False) if rule.name == name else rule for rule in RULES])
    assert not any(name in triplet.rules for triplet in without.extract(reader().docs([text])[0]))


@pytest.mark.parametrize("rule", [pytest.param(rule, id=rule.name) for rule in RULES if rule.kind == "predicate"])
def test_what_a_predicate_finds_is_not_found_without_it(rule: Rule) -> None:
    without = leave_out(reader().engine, rule)
    for example in rule.examples:
        if example.must:
            made = {written(triplet) for triplet in without.extract(reader().docs([example.text])[0])}
            assert not set(example.triplets) <= made, example.text


def leave_out(engine: RuleEngine, rule: Rule) -> Engine:
    """The engine as it would be without a predicate: one of its own would take a quarter of a second to compile."""
    assert isinstance(engine, Engine)
    out = copy(engine)
    out._rules, predicates = copy(out._rules), copy(out._rules.predicates)
    predicates._index = RuleIndex(
        [(bits, one) for bits, one in predicates._index._rules if one.entry.word != rule.name]
    )
    out._rules.predicates = predicates
    return out


def test_an_engine_without_a_predicate_reads_as_one_that_was_compiled_without_it(lexicon: Lexicon) -> None:
    rule = one_of("predicate")
    compiled = Engine(lexicon, [other for other in RULES if other is not rule])
    texts = [example.text for other in RULES if other.kind == rule.kind for example in other.examples]
    docs = reader().docs(texts[::8])
    assert [leave_out(reader().engine, rule).extract(doc) for doc in docs] == [compiled.extract(doc) for doc in docs]


# ---- refusals


REFUSING = [pytest.param(rule, id=rule.name) for rule in RULES if rule.kind.startswith(("refuse", "read-as"))]


def find_refusals(texts: list[str], convention: Convention) -> list[tuple[str, ...]]:
    """The rules that refuse something in the texts: those of each, of which the first decides."""
    engine = reader().paper if convention == "paper" else reader().engine
    return [refusal.rules for doc in reader().docs(texts) for refusal in engine.find_refusals(doc)]


@pytest.mark.parametrize("rule", REFUSING)
def test_a_refusing_rule_refuses_something_in_its_own_examples_itself(rule: Rule) -> None:
    """Else its examples would hold without it."""
    misses = [example.text for example in rule.examples if not example.must]
    assert rule.name in {names[0] for names in find_refusals(misses, convention_of(rule))}


def test_refusing_rules_that_are_switched_off_refuse_nothing(lexicon: Lexicon) -> None:
    """All at once, for an engine takes a third of a second to compile."""
    rules = [rule for rule in RULES if rule.kind == "refuse"]
    without = Engine(lexicon, [with_params(rule, enabled=False) if rule in rules else rule for rule in RULES])
    docs = reader().docs([example.text for rule in rules for example in rule.examples])
    refusing = {name for doc in docs for refusal in without.find_refusals(doc) for name in refusal.rules}
    assert refusing.isdisjoint(rule.name for rule in rules)


def test_of_several_rules_that_refuse_an_opinion_the_first_in_order_decides() -> None:
    (names,) = [names for names in find_refusals(["買了新的椅子"], "natural") if len(names) > 1]
    order = {rule.name: rule.order for rule in RULES}
    assert list(names) == sorted(names, key=order.__getitem__)


def refusing(kind: str = "refuse", **params: object) -> Rule:
    """A rule that refuses 舒適 before a word of its own, but for `params`."""
    given = {"patterns": ["CURRENT&EASE STOP"], "words": {"EASE": ["舒適"], "STOP": ["停車"]}, **params}
    return Rule("mine", kind, 1, "", MappingProxyType(given), (), "rules/x.toml:1")


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"patterns": ["CURRENT (?<=WORD|[ ])"]}, "an empty set in pattern 'CURRENT (?<=WORD|[ ])'"),
        ({"patterns": ["CURRENT STPO"]}, "unknown unit 'STPO' in pattern 'CURRENT STPO'; known: A"),
        ({"patterns": ["( CURRENT"]}, "pattern '( CURRENT': "),
        ({"patterns": ["NOUN VERB"]}, "pattern 'NOUN VERB' does not name what it is about; name one of CURRENT, "),
        ({"unless": ["STPO CURRENT"]}, "unknown unit 'STPO' in pattern 'STPO CURRENT'; known: A"),
        ({"words": {"NOUN": ["x"]}}, "rule 'mine': NOUN is a unit; rename the class, or write its words in `units`"),
        ({"words": {"SINGLE": ["x"]}}, "rule 'mine': SINGLE is a unit; give the class another name"),
        ({"words": {"WORD": ["x"]}}, "rule 'mine': WORD is a unit; give the class another name"),
        ({"words": {"EASE": [], "STOP": ["x"]}}, "rule 'mine': EASE has an empty word; remove it"),
        ({"words": {"EASE": ["…"], "STOP": ["x"]}}, "rule 'mine': EASE has an empty word; remove it"),
    ],
)
def test_a_refusing_rule_that_cannot_be_read_says_why(
    lexicon: Lexicon, params: dict[str, object], message: str
) -> None:
    assert refused(lexicon, *RULES, refusing(**params)).startswith(f"rules/x.toml:1: {message}")


OPINIONS: tuple[tuple[dict[str, object], str, bool], ...] = (
    ({}, "座位舒適停車", True),
    ({}, "座位舒適", False),
    ({"patterns": ["CURRENT TOUCHING&STOP"]}, "座位舒適 停車", False),
    ({"patterns": ["PLAIN&EASE STOP"]}, "座位很舒適停車", False),
    ({"patterns": ["GRADED&EASE STOP"]}, "座位很舒適停車", True),
    ({"patterns": ["DENIED&EASE STOP"]}, "座位不舒適停車", True),
    ({"patterns": ["DENIED&EASE STOP"]}, "座位很舒適停車", False),
    ({"patterns": ["PREDICATE&EASE"]}, "座位舒適", True),
    ({"patterns": ["CURRENT&EASE&[^PREDICATE]"]}, "座位舒適", False),
    ({"patterns": ["CURRENT&EASE&SINGLE"]}, "座位舒適", False),
    ({"patterns": ["CURRENT&EASE&GOOD"]}, "座位舒適", True),
    ({"unless": ["WORD CURRENT"]}, "座位舒適停車", False),
    ({"words": {"EASE": ["舒…"], "STOP": ["…車"]}}, "座位舒適停車", True),
    ({"words": {"EASE": ["…適"], "STOP": ["停…"]}}, "座位舒適停車", True),
    ({"words": {"EASE": ["category:mood"], "STOP": ["停車"]}}, "座位舒適停車", True),
    ({"patterns": ["SEAT CURRENT"], "words": {"SEAT": ["@place.seat"]}}, "座位舒適", True),
    ({"patterns": ["SEAT CURRENT"], "words": {"SEAT": ["@service"]}}, "座位舒適", False),
    ({"patterns": ["CURRENT STOP|STOP CURRENT"]}, "停車舒適", True),
    ({"patterns": ["^ CURRENT $"]}, "舒適", True),
    ({"patterns": ["^ CURRENT $"]}, "座位舒適", False),
)
ASPECTS: tuple[tuple[list[str], dict[str, list[str]], str, bool], ...] = (
    (["TARGET TOUCHING&LOOK"], {"LOOK": ["看"]}, "座位看看很舒適", True),
    (["NO TARGET"], {"NO": ["別的"]}, "別的座位都舒適", True),
    (["NO TARGET"], {"NO": ["別的"]}, "其他座位都舒適", False),
    (["DENIED WORD TARGET"], {}, "不舒適的座位", True),
    (["DENIED WORD TARGET"], {}, "很舒適的座位", False),
    (["LOW WORD TARGET"], {}, "有點吵的座位", True),
    (["GRADED WORD TARGET&SEAT"], {"SEAT": ["@place.seat"]}, "很吵的座位", True),
    (["OPINION WORD TARGET&SEAT"], {"SEAT": ["role:person"]}, "有點吵的座位", False),
)


def with_all(lexicon: Lexicon, rules: Iterable[Rule]) -> Engine:
    """An engine with the rules of a table at once, by number, for an engine takes a third of a second to compile."""
    return Engine(lexicon, (*RULES, *(replace(rule, name=f"mine {n}") for n, rule in enumerate(rules))))


@pytest.fixture(scope="module")
def of_opinions(lexicon: Lexicon) -> Engine:
    return with_all(lexicon, (refusing(**params) for params, *_ in OPINIONS))


@pytest.fixture(scope="module")
def of_aspects(lexicon: Lexicon) -> Engine:
    return with_all(lexicon, (refusing(patterns=patterns, words=words) for patterns, words, *_ in ASPECTS))


@pytest.mark.parametrize("number", range(len(OPINIONS)))
def test_a_pattern_says_where_an_opinion_stands(number: int, of_opinions: Engine) -> None:
    _, text, refuses = OPINIONS[number]
    (doc,) = reader().docs([text])
    names = {name for refusal in of_opinions.find_refusals(doc) for name in refusal.rules}
    assert (f"mine {number}" in names) is refuses


@pytest.mark.parametrize("number", range(len(ASPECTS)))
def test_a_pattern_says_where_an_aspect_stands(number: int, of_aspects: Engine) -> None:
    *_, text, refuses = ASPECTS[number]
    (doc,) = reader().docs([text])
    barred = [doc.text[r.start : r.end] for r in of_aspects.find_refusals(doc) if f"mine {number}" in r.rules]
    assert barred == (["座位"] if refuses else [])


@pytest.mark.parametrize(("text", "refuses"), [("不舒適的座位", True), ("很舒適的座位", False)])
def test_an_aspect_that_is_refused_makes_no_triplet(lexicon: Lexicon, text: str, refuses: bool) -> None:
    engine = Engine(lexicon, (*RULES, refusing(patterns=["DENIED WORD TARGET"], words={})))
    (doc,) = reader().docs([text])
    assert any(triplet.aspect.text == "座位" for triplet in engine.extract(doc)) is not refuses


@pytest.mark.parametrize(
    ("patterns", "words", "text", "stated"),
    [
        (["CURRENT&EASE"], {"EASE": ["category:mood"]}, "座位很舒適", False),
        (["DENIED&EASE"], {"EASE": ["舒適"]}, "座位很舒適", True),
        (["DENIED&EASE"], {"EASE": ["…舒適"]}, "座位不舒適", False),
        (["WISH&IRREALIS WORD* CURRENT"], {"WISH": ["irrealis:past"]}, "座位很舒適", True),
        (["TURN WORD* CURRENT"], {"TURN": ["contrast:but"]}, "窗邊有位但座位很舒適", False),
    ],
)
def test_an_opinion_that_is_not_stated_makes_no_triplet_but_pairs(
    lexicon: Lexicon, patterns: list[str], words: dict[str, list[str]], text: str, stated: bool
) -> None:
    engine = Engine(lexicon, (*RULES, refusing(paired=True, patterns=patterns, words=words)))
    doc = reader().docs([text])[0]
    assert any(triplet.aspect.text == "座位" for triplet in engine.extract(doc)) is stated
    assert any(decided for decided, _ in engine.votes(doc))
    assert any(refusal.rules == ("mine",) for refusal in engine.find_refusals(doc)) is not stated


def test_a_refusing_rule_of_aspects_names_the_aspect_in_all_its_patterns(lexicon: Lexicon) -> None:
    message = "pattern 'CURRENT NOUN' does not name what it is about; name one of TARGET"
    assert message in refused(lexicon, *RULES, refusing(patterns=["CURRENT TARGET", "CURRENT NOUN"]))


@pytest.mark.parametrize(
    ("unit", "patterns", "finds"),
    [
        ("BLOCKED", ["CURRENT&SEAT STOP"], False),
        ("BLOCKED", ["STOP CURRENT&SEAT"], True),
        ("BLOCKED", ["CURRENT&SEAT&VERB"], True),
        ("ASPECT", ["CURRENT&SEAT"], True),
        ("BLOCKED", ["CURRENT&ASPECT STOP"], False),
    ],
)
def test_a_rule_reads_a_word_as_another_kind_of_unit_before_phrases_are_found(
    lexicon: Lexicon, unit: str, patterns: list[str], finds: bool
) -> None:
    words = {"SEAT": ["座位"], "STOP": ["舒適"]}
    engine = Engine(lexicon, (*RULES, refusing("read-as", unit=unit, patterns=patterns, words=words)))
    doc = reader().docs(["座位舒適"])[0]
    assert any(triplet.aspect.text == "座位" for triplet in engine.extract(doc)) is finds


def test_a_rule_that_reads_a_word_as_no_kind_of_unit_is_refused(lexicon: Lexicon) -> None:
    message = refused(lexicon, *RULES, refusing("read-as", unit="NUON"))
    assert message.startswith("rules/x.toml:1: rule 'mine': unknown unit 'NUON'; known: ADJ, ")


# ---- rules that cannot run


def with_params(rule: Rule, **params: object) -> Rule:
    return replace(rule, params=MappingProxyType({**rule.params, **params}))


def refused(lexicon: Lexicon, *rules: Rule) -> str:
    with pytest.raises(ResourceError) as caught:
        Engine(lexicon, rules)
    return str(caught.value)


def one_of(kind: str) -> Rule:
    """The first rule of a kind, one of convention natural if there is any."""
    return min((rule for rule in RULES if rule.kind == kind), key=lambda rule: convention_of(rule) != "natural")


def test_a_rule_of_unknown_kind_is_refused_with_the_known_ones(lexicon: Lexicon) -> None:
    unknown = replace(one_of("pair-path"), name="mine", kind="pair-magic", where="rules/mine.toml")
    message = refused(lexicon, *RULES, unknown)
    assert message.startswith("rules/mine.toml: rule 'mine': unknown kind 'pair-magic'; known: ")
    assert "pair-pattern" in message


def test_of_several_rules_of_a_kind_the_lists_count_in_a_row_and_else_the_first_value(lexicon: Lexicon) -> None:
    more = replace(one_of("term"), name="more", params=MappingProxyType({"codes": "x", "leading": ["food drink"]}))
    terms = Engine(lexicon, (*RULES, more, replace(more, name="others")))._rules.terms.rule
    assert terms.codes == "x" and terms.compounds
    assert terms.leading[-2:] == ("food drink", "food drink") and len(terms.leading) > 2


@pytest.mark.parametrize(
    ("kind", "params", "message"),
    [
        (
            "pair-pattern",
            {"pattern": "TARGET OPINOIN* CURRENT"},
            "unknown unit 'OPINOIN' in pattern 'TARGET OPINOIN* CURRENT'; known: ",
        ),
        ("pair-pattern", {"pattern": "TARGET ( CURRENT"}, "pattern 'TARGET ( CURRENT': "),
        ("pair-pattern", {"pattern": 3}, "pattern is not a string"),
        ("pair-path", {"longest": True}, "longest is not a whole number"),
        ("pair-carry", {"blockers": "NOUN"}, "blockers is not a list of strings"),
        ("valence", {"below": "much"}, "below is not a number"),
        ("term", {"attributes": [1]}, "attributes is not a list of strings"),
        ("predicate", {"category": "staff.absent"}, "unknown category 'staff.absent'"),
        (
            "predicate",
            {"pattern": "BAR UES", "before": "", "after": "", "words": {"BAR": ["x"]}},
            "unknown unit 'UES' in pattern 'BAR UES'; known: ",
        ),
        ("conjunction", {"enabled": "no"}, "enabled is not true or false"),
    ],
)
def test_a_rule_with_a_broken_parameter_is_named_with_its_file(
    lexicon: Lexicon, kind: str, params: dict[str, object], message: str
) -> None:
    broken = replace(with_params(one_of(kind), **params), name="mine", where="rules/x.toml:1", lines={})
    error = refused(lexicon, broken)
    assert error.startswith("rules/x.toml:1: ")
    assert message in error


@pytest.mark.parametrize("kind", sorted({rule.kind for rule in RULES}))
def test_a_misspelt_parameter_is_an_error_in_every_kind_of_rule(lexicon: Lexicon, kind: str) -> None:
    rule = one_of(kind)
    error = refused(lexicon, with_params(rule, patern=[]))
    assert error.startswith(
        f"{rule.where}: rule {rule.name!r}: unknown parameter 'patern'; parameters of kind {kind!r}: "
    )


def test_a_refused_aspect_is_not_paired(lexicon: Lexicon) -> None:
    message = refused(lexicon, refusing(patterns=["CURRENT TARGET"], words={}, paired=True))
    assert message == "rules/x.toml:1: rule 'mine': it refuses aspects, which are not paired; leave out `paired`"


def test_a_class_of_several_rules_has_the_words_of_all(lexicon: Lexicon) -> None:
    mine = Rule("mine", "words", 1, "", MappingProxyType({"words": {"STANCE": ["應該"]}}), (), "rules/x.toml:1")
    rules = (*RULES, mine, replace(mine, name="more", params=MappingProxyType({"words": {"STANCE": ["看起來"]}})))
    assert Engine(lexicon, rules)._rules.words.entries["STANCE"] == ("應該", "看起來")


def test_a_parameter_that_no_rule_may_lack_is_asked_for(lexicon: Lexicon) -> None:
    rule = one_of("pair-path")
    params = {key: value for key, value in rule.params.items() if key != "longest"}
    assert "needs longest = a whole number" in refused(lexicon, replace(rule, params=MappingProxyType(params)))


MINE = """# how a comment moves lines
[mine]
kind = "pair-carry"
order = 1
about = "mine"
blockers = ["NOUN"]
{line}

[mine.foreign]
"price" = {foreign}
"""


@pytest.mark.parametrize(
    ("line", "foreign", "message"),
    [
        (
            "wholse = []",
            '["taste"]',
            "mine.toml:7: rule 'mine': unknown parameter 'wholse'; parameters of kind 'pair-carry': ",
        ),
        ("named = 1", '["taste"]', "mine.toml:7: rule 'mine': named is not true or false"),
        ("", "3", "mine.toml:9: rule 'mine': foreign is not a table of lists of strings"),
        (
            'conventions = ["papr"]',
            '["taste"]',
            "mine.toml:7: rule 'mine': unknown convention 'papr'; known: natural, ",
        ),
        ('conventions = ["paper"]\nwholse = []', '["taste"]', "mine.toml:8: rule 'mine': unknown parameter 'wholse'"),
    ],
)
def test_an_error_in_a_rule_file_names_its_line_in_whatever_convention(
    lexicon: Lexicon, tmp_path: Path, line: str, foreign: str, message: str
) -> None:
    (tmp_path / "mine.toml").write_text(MINE.format(line=line, foreign=foreign), encoding="utf-8")
    assert refused(lexicon, *load_rules(tmp_path)).startswith(f"{tmp_path.name}/{message}")


def test_function_words_are_named_by_units_that_exist(lexicon: Lexicon) -> None:
    rule = next(rule for rule in RULES if rule.name == "function-words")
    error = refused(lexicon, with_params(rule, units={"COPPULA": ["是"]}))
    assert error.startswith(f"{rule.at('units')}: rule 'function-words': unknown unit 'COPPULA'; known: ADJ, ")


@pytest.mark.parametrize(
    ("kind", "params", "message"),
    [
        ("words", {"words": {"DEG": ["爆"]}}, "DEG is a unit; rename the class, or write its words in `units`"),
        ("words", {"words": {"GATHERING": [""]}}, "GATHERING has an empty word; remove it"),
        ("read-as", {"patterns": ["CURRENT"], "apart": ["CROWD"]}, "no class 'CROWD'; list its words in `words`"),
        ("deny", {"patterns": ["TARGET&NOUN"]}, "pattern 'TARGET&NOUN'"),
    ],
)
def test_a_name_that_would_do_nothing_in_a_rule_is_an_error(
    lexicon: Lexicon, kind: str, params: dict[str, object], message: str
) -> None:
    mine = Rule("mine", kind, 1, "", MappingProxyType(params), (), "rules/x.toml:1")
    assert message in refused(lexicon, *RULES, mine)


def test_a_class_whose_name_holds_that_of_the_aspect_is_a_class(lexicon: Lexicon) -> None:
    rule = refusing(patterns=["CURRENT TARGETS"], words={"TARGETS": ["停車"]})
    doc = reader().docs(["座位舒適停車"])[0]
    assert Engine(lexicon, (*RULES, rule)).find_refusals(doc)


def test_a_rule_that_needs_a_word_beside_the_opinion_refuses_one_that_a_predicate_made(lexicon: Lexicon) -> None:
    rule = refusing(patterns=["HEARSAY .*? CURRENT"], words={"HEARSAY": ["朋友"]})
    heard, free = reader().docs(["朋友說店家忘記我們的單, 臉更臭, 等了95分鐘", "停車免費"])
    mine = Engine(lexicon, (*RULES, rule))
    assert {written(triplet) for triplet in reader().engine.extract(heard)} - {
        written(triplet) for triplet in mine.extract(heard)
    } == {"店家|忘記|NEG"}
    assert [refusal.rules for refusal in mine.find_refusals(heard)] == [("mine",)]
    assert [written(triplet) for triplet in mine.extract(free)] == ["停車|免費|POS"]


def test_a_wait_that_a_predicate_made_is_denied_by_a_negator_of_feeling() -> None:
    assert reader().found("不覺得餐點等了95分鐘才到") == set()
    assert find_refusals(["不覺得餐點等了95分鐘才到"], "natural") == [("wait-denied",)]


@pytest.mark.parametrize(
    ("pattern", "text"), [("EVERMORE OPINION&BAD", "相機老是齒輪打滑"), ("OPINION&BAD EVERMORE", "相機齒輪打滑老是")]
)
def test_a_predicate_needs_a_category_that_an_earlier_one_makes(lexicon: Lexicon, pattern: str, text: str) -> None:
    words = {"GEAR": ["齒輪"], "SLIP": ["打滑"], "EVERMORE": ["老是"], "BAD": ["category:use.bad"]}

    def predicate(name: str, pattern: str) -> Rule:
        own = {key: words[key] for key in words if key in pattern}
        params = {"pattern": pattern, "category": "use.bad", "words": own}
        return Rule(name, "predicate", 1, "", MappingProxyType(params), (), "rules/x.toml:1")

    camera = replace(
        lexicon,
        aspects={**lexicon.aspects, "相機": AspectEntry("相機", "part.device", "x")},
        not_aspects={word: why for word, why in lexicon.not_aspects.items() if word != "相機"},
    )
    engine = Engine(camera, (*RULES, predicate("slips", "GEAR SLIP"), predicate("slips-ever", pattern)))
    (triplet,) = engine.extract(reader().docs([text])[0])
    assert triplet.opinion.text == text.removeprefix("相機")


@pytest.mark.parametrize("pattern", ["STOP ? CURRENT", "STOP  * CURRENT", "STOP {0,2} CURRENT"])
def test_a_unit_that_a_blank_parts_from_its_number_is_optional(lexicon: Lexicon, pattern: str) -> None:
    rule = refusing(patterns=[pattern + "&EASE"])
    assert Engine(lexicon, (*RULES, rule)).find_refusals(reader().docs(["座位舒適"])[0])


# ---- exceptions


def exception(*pairs: str) -> Rule:
    return Rule("refused", "exception", 450, "", MappingProxyType({"pairs": pairs}), (), "rules/x.toml:1")


def made_with(lexicon: Lexicon, text: str, *pairs: str) -> list[str]:
    engine = Engine(lexicon, (*RULES, exception(*pairs)))
    return [written(triplet) for triplet in engine.extract(reader().docs([text])[0])]


def test_an_excepted_pair_is_left_out_and_its_opinion_looks_elsewhere(lexicon: Lexicon) -> None:
    text = "價格便宜的餐廳"
    assert made_with(lexicon, text) == ["價格|便宜|POS"]
    assert made_with(lexicon, text, "價格|便宜") == ["餐廳|便宜|POS"]
    assert made_with(lexicon, text, "價格|便宜", "餐廳|便宜") == []
    assert made_with(lexicon, text, "價格|不便宜") == ["價格|便宜|POS"]


def test_an_exception_names_an_opinion_with_its_negator_and_one_aspect_of_several(lexicon: Lexicon) -> None:
    assert made_with(lexicon, "湯頭不好喝", "湯頭|不好喝") == []
    assert made_with(lexicon, "湯頭不好喝", "湯頭|好喝") == ["湯頭|不好喝|NEG"]
    assert made_with(lexicon, "餐點和服務都很好", "服務|好") == ["餐點|好|POS"]


def test_a_model_that_proposes_an_excepted_pair_is_not_followed(lexicon: Lexicon) -> None:
    doc = reader().docs(["湯頭好喝"])[0]
    (ruled,) = Engine(lexicon, RULES).extract(doc)
    proposed = replace(ruled, source="tagger")
    strict, limits = Engine(lexicon, (*RULES, exception("湯頭|好喝"))), TrustLimits(0.5, 0.5, ())
    assert len(held(Engine(lexicon, RULES), doc, [], [], [(0.9, proposed)], limits)) == 1
    assert held(strict, doc, [], [], [(0.9, proposed)], limits) == ()


@pytest.mark.parametrize("pair", ["湯頭", "|好喝", "湯頭|", "a|b|c"])
def test_a_pair_that_is_none_is_refused(pair: str, lexicon: Lexicon) -> None:
    assert refused(lexicon, *RULES, exception(pair)) == (
        f"rules/x.toml:1: rule 'refused': '{pair}' is no pair; write \"aspect|opinion\""
    )


@pytest.mark.parametrize(
    ("pattern", "needs"),
    [
        ("(STOP|GO) CURRENT", [{"STOP", "GO"}]),
        ("(STOP GO?|GO LIE) (LIE|STOP)", [{"STOP", "GO"}, {"LIE", "STOP"}]),
        ("STOP (GO (LIE|STOP))", [{"STOP"}, {"GO"}, {"LIE", "STOP"}]),
        ("(STOP|NOUN) CURRENT", []),
        ("(STOP|GO)? (GO)* CURRENT (?=LIE) (?!STOP)", []),
        ("STOP{0,2} GO CURRENT", [{"GO"}]),
        ("STOP+? GO?? CURRENT", [{"STOP"}]),
        ("(STOP|) CURRENT", []),
        ("STOP [)]? CURRENT", [{"STOP"}]),
        (r"STOP \)? CURRENT", [{"STOP"}]),
    ],
)
def test_a_pattern_needs_what_each_match_of_its_groups_has(
    lexicon: Lexicon, pattern: str, needs: list[set[str]]
) -> None:
    words, table = {"STOP": ("停",), "GO": ("去",), "LIE": ("躺",)}, WordTable(lexicon, {})
    rows = RuleRows(refusing(patterns=[pattern], words=words), {"patterns": [pattern]}, words, table)
    bits = {name: table.add(own) for name, own in words.items()}
    assert list(rows.find_needs(pattern)) == [sum(bits[name] for name in own) for own in needs]
