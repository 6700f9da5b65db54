"""What each rule that pairs or refuses does on the annotated reviews of a working directory: coverage, overlap,
conflict, yield (as Snorkel's analysis of labelling functions).
"""

from __future__ import annotations

import re
import sqlite3
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from builder.core.errors import did_you_mean
from builder.engine import Doc, RuleEngine, make_engine
from builder.engine.reader import restored
from builder.engine.rows import ENGINE_CLASSES
from builder.language.lexicon.folders import folders_in
from builder.language.lexicon.resources import Lexicon
from builder.language.lexicon.rules import Rule
from builder.pipeline import builds
from builder.pipeline.rule_changes import find_sentence
from builder.store import reviews

_CHUNK = 1024
_AROUND = 24
"""Characters that are quoted before and behind a word, at most."""


def documents(connection: sqlite3.Connection, lexicon: Lexicon) -> Iterator[Doc]:
    """Every annotated review, in order of id."""
    at = 0
    while rows := reviews.annotated(connection, at, _CHUNK):
        for review, words in rows:
            yield restored(review, reviews.load_words(words), lexicon.variants).doc
        at = rows[-1][0].id


def quote(text: str, start: int, end: int) -> str:
    """The sentence around some words, which stand in 【】, on a line; a long one is cut."""
    begin, until = find_sentence(text, start, end)
    first, last = max(begin, start - _AROUND), min(until, end + _AROUND)
    before = ("…" if first > begin else "") + text[first:start]
    behind = text[end:last] + ("…" if last < until else "")
    return " ".join(f"{before}【{text[start:end]}】{behind}".split())


@dataclass(frozen=True, slots=True)
class RuleRow:
    """Opinions for which a rule finds an aspect (`hits`), those it decides (`yields`), and of its hits those where
    another rule finds the same aspect (`overlaps`) or another one (`conflicts`).

    Of a rule that refuses opinions: those that it holds of, those that no rule before it refuses, and those that
    another one refuses too.
    """

    rule: str
    hits: int
    yields: int
    overlaps: int
    conflicts: int


def report(
    connection: sqlite3.Connection, engine: RuleEngine, lexicon: Lexicon, limit: int
) -> tuple[int, list[RuleRow]]:
    """Opinions seen in the first `limit` annotated reviews, and a row a rule, most productive first."""
    hits, yields, overlaps, conflicts = Counter[str](), Counter[str](), Counter[str](), Counter[str]()
    opinions = 0
    for number, doc in enumerate(documents(connection, lexicon)):
        if number >= limit:
            break
        for refusal in engine.find_refusals(doc):
            yields[refusal.rules[0]] += 1
            for rule in refusal.rules:
                hits[rule] += 1
                overlaps[rule] += len(refusal.rules) > 1
        for decided, chosen in engine.votes(doc):
            opinions += 1
            if decided:
                yields[decided] += 1
            for rule, place in chosen.items():
                others = [other for name, other in chosen.items() if name != rule]
                hits[rule] += 1
                overlaps[rule] += place in others
                conflicts[rule] += any(other != place for other in others)
    rows = [RuleRow(rule, hits[rule], yields[rule], overlaps[rule], conflicts[rule]) for rule in hits]
    return opinions, sorted(rows, key=lambda row: (-row.yields, row.rule))


def open_engine(workdir: Path) -> tuple[RuleEngine, Lexicon]:
    """The rules and words of a working directory, as its build reads them."""
    folders = folders_in(workdir)
    lexicon = folders.load_lexicon()
    convention = builds.remembered(workdir).resolved.config.rules.convention
    return make_engine(lexicon, folders.load_rules(), convention), lexicon


def find_unused_classes(rules: Sequence[Rule]) -> Iterator[str]:
    """A line for each class of a rule of kind `words` that neither a rule nor the engine asks for."""
    made: dict[str, Rule] = {}
    asked = set(ENGINE_CLASSES)
    for rule in rules:
        params = dict(rule.params)
        if rule.kind == "words" and isinstance(words := params.pop("words", None), Mapping):
            made |= dict.fromkeys(words, rule)
        asked.update(re.findall(r"\w+", str(params)))
    classes = {*ENGINE_CLASSES, *(made.keys() & asked)}
    for name in sorted(made.keys() - asked):
        near = did_you_mean(name, sorted(classes)).rstrip()
        yield f"{made[name].at('words')}: nothing asks for the class {name}{near and f'; {near}'}"


def tell_refusals(connection: sqlite3.Connection, workdir: Path, review: int) -> Iterator[str]:
    """A line for each opinion word or aspect of an annotated review that a rule refuses: the rule, and the sentence."""
    engine, lexicon = open_engine(workdir)
    for known, words in reviews.annotated(connection, review - 1, 1):
        if known.id != review:
            continue
        reading = restored(known, reviews.load_words(words), lexicon.variants)
        for refusal in engine.find_refusals(reading.doc):
            start, end = reading.view.to_source((refusal.start, refusal.end))
            yield f"refused: {refusal.rules[0].replace('-', ' ')}, {quote(reading.text, start, end)}"
