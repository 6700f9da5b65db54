"""A document as its clauses: the constituents that rules pair, what a clause asks, and where it ends.

In: a view's text with its tokens, the compiled rules. Out: `ReadClause`s in text order. Pure.

Names in Latin letters and digits that no lexicon holds (Zeta15X, KX-520) are aspects of the class that the pack gives
to codes. A size in front of a name belongs to it (16吋的筆電).
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Sequence

from builder.core.records import Token
from builder.engine.compiled import Compiled
from builder.engine.constituents import THINGS, Constituent, Doc, ReadClause, Term, Units
from builder.engine.matching import Refusal
from builder.engine.symbols import ASPECT, JUDGING, symbol_set
from builder.engine.terms import bar_all
from builder.engine.units import QUOTES, lower_case
from builder.engine.weighing import CONTEXT_ONLY
from builder.language.lexicon.resources import Lexicon
from builder.reviews.script import HAN
from builder.reviews.text import Clause
from builder.reviews.text import clauses as find_clauses

_CLOSING = frozenset("」』”》】")
_HEADINGS = frozenset("【】")
_LONGEST = 12
"""Characters of a quotation that may be a name."""
_ADDRESS = re.compile(f"(?:https?://|www\\.)(?:[!-~]|(?<=[/?=&#_%+-]){HAN.pattern}++)+")
"""An address of the web: all that is ASCII up to a space, and Han characters behind a mark of it (/好吃)."""


def join_quoted(text: str, clauses: Sequence[Clause]) -> list[Clause]:
    """The clauses of a text, those joined between which nothing stands but a quotation mark.

    What a mark opens is joined if it is as short as a name: 店員說「…」 quotes a statement. 【環境】 at the beginning
    of a clause is a heading, and several of 【】 in a review are.
    """
    out: list[Clause] = []
    joined = False
    quotes = QUOTES - _HEADINGS if text.count("【") > 1 else QUOTES
    for clause in clauses:
        marks = text[out[-1].end : clause.start] if out and out[-1].sentence == clause.sentence else ""
        name = clause.end - clause.start <= _LONGEST or marks[-1:] in _CLOSING
        heading = _HEADINGS.intersection(marks) and not joined and marks[-1] in _CLOSING
        joined = bool(marks) and name and not heading and quotes.issuperset(marks)
        if joined:
            out[-1] = Clause(out[-1].start, clause.end, clause.sentence)
        else:
            out.append(clause)
    return out


# ---- Clauses

LONGEST_CLAUSE = 150
"""Words that are read together: a text without any mark is read in pieces, so that the work stays linear."""
LABEL_ENDS = frozenset(":：】|")
"""Marks behind a label (環境：)."""
BRACKETS = re.compile("[(（][^()（）]{1,60}[)）]")
"""What stands in brackets, with them."""
MEASURED = ("size", CONTEXT_ONLY)
"""Categories of words that in brackets only say which size or kind was ordered."""


def read_clauses(doc: Doc, rules: Compiled, refused: list[Refusal] | None = None) -> list[ReadClause]:
    """Constituents per clause. Tokens lie in one clause or, being marks or spaces, in none.

    The words that rules refuse are added to `refused`.
    """
    out: list[ReadClause] = []
    text, at = lower_case(doc.text), 0
    brackets, aside = [match.span() for match in BRACKETS.finditer(doc.text)], False
    starts, ends = [token.start for token in doc.tokens], [token.end for token in doc.tokens]
    clauses = doc.clauses
    if rules.natural and _ADDRESS.search(text):  # its words part those around them
        clauses = find_clauses(_ADDRESS.sub(lambda address: "，" * len(address[0]), text))
    for clause in join_quoted(doc.text, clauses):
        at = bisect_left(starts, clause.start, at)
        stop = bisect_right(ends, clause.end, at)
        while at < stop:
            first, at = at, min(stop, at + LONGEST_CLAUSE)
            items = _read_items(text, doc.tokens, (first, at), rules, refused)
            if items is None:
                continue
            named = aside or (out and any(item.term for item in out[-1].items))
            aside = bool(named) and _is_aside(clause, items, brackets)
            items = bar_all(items) if aside else items
            out.append(_make_clause(items, doc.text, text, clause, rules))
    return out


def _read_items(
    text: str, tokens: Sequence[Token], place: tuple[int, int], rules: Compiled, refused: list[Refusal] | None
) -> list[Constituent] | None:
    """The words of a clause with its phrases and terms; None if it names and judges nothing, as three in ten."""
    codes, sizes = rules.terms.rule.codes, rules.words.entries["SIZES"]
    units = rules.predicates.read(rules.units.read(text, tokens, place, refused))
    if not codes and {unit.symbol for unit in units}.isdisjoint(JUDGING):
        return None
    items = rules.phrases.read(units, text, refused)
    if codes:
        items = name_codes(items, text, codes, rules.lexicon)
    if sizes:
        items = add_sizes(items, text, sizes)
    return rules.terms.join(rules.refused_aspects.bar_aspects(items, refused), text)


def _make_clause(items: list[Constituent], written: str, text: str, clause: Clause, rules: Compiled) -> ReadClause:
    """A clause as it was `written`, with what it asks; `text` is in lower case."""
    mark = written[clause.end : clause.end + 1]
    marks, asking = rules.words.entries["QUESTION"], rules.words.entries["ASKING"]
    asked = mark in marks or written[clause.end - 1] in marks
    asks = asked and (not asking or any(word in text[clause.start : clause.end] for word in asking))
    return ReadClause(items, clause.sentence, asks, asked and not asks, mark in LABEL_ENDS, mark)


def _is_aside(clause: Clause, items: Units, brackets: Sequence[tuple[int, int]]) -> bool:
    """Whether a clause stands in brackets and judges nothing: it names nothing either (湯頭（紅湯）很濃).

    A size alone is the size of what was ordered (（小）).
    """
    at = bisect_right(brackets, (clause.start, 0)) - 1
    if at < 0 or clause.start >= brackets[at][1]:
        return False
    phrases = [item.phrase for item in items if item.phrase]
    return not phrases or (clause.end - clause.start == 1 and phrases[0].entry.category.startswith(MEASURED))


# ---- Codes and sizes

_PARTS = symbol_set("NOUN OTHER NUM VERB")
"""What a part of a code may be read as, where no lexicon holds it."""
_WRITTEN = re.compile(r"[a-z0-9.+\-]+")
_CODE = re.compile(r"(?=.*\d)[a-z][a-z0-9.+\-]+[a-z0-9+]|\d{3,5}[a-z]{1,3}|20\d\d[a-z]+\d+")
_MEASURE = re.compile(r".*\d(?:hz|fps|gb|tb|mb|g|t|k|kg|cm|mm|mah|wh|w|v|nits?|p|bit|rmb|ntd?|usd|%)")
_STANDARD = re.compile(r"[a-z]{1,4}\d(?:\.\d)?")
"""As short as the names of standards are (DDR5, USB3.2)."""
_LONGEST_SIZE = 12
"""Characters that a number with its unit and 的 are at most."""


def name_codes(clause: list[Constituent], text: str, cls: str, lexicon: Lexicon) -> list[Constituent]:
    """The clause with its codes as aspects of class `cls`; what touches a code in Latin letters belongs to it."""
    out: list[Constituent] = []
    at = 0
    while at < len(clause):
        stop = at
        while stop < len(clause) and _is_part(clause, stop, at):
            stop += 1
        run = clause[at:stop]
        word = text[run[0].start : run[-1].end].lower().replace(" ", "") if run else ""
        if not _CODE.fullmatch(word) or _MEASURE.fullmatch(word) or _STANDARD.fullmatch(word):
            out += clause[at : max(stop, at + 1)]
        else:
            out.append(_make_aspect(run, text, cls, lexicon))
        at = max(stop, at + 1)
    return out


def add_sizes(clause: list[Constituent], text: str, sizes: tuple[str, ...]) -> list[Constituent]:
    """16吋的筆電, 12代處理器: a number with one of `sizes` that touches a thing, or its 的, belongs to its name."""
    size = re.compile(f"(?<![a-z0-9.])[0-9]+(?:[.][0-9]+)?(?:{'|'.join(map(re.escape, sizes))})的?$")
    out: list[Constituent] = []
    for item in clause:
        if item.term is not None and item.term.role in THINGS:
            match = size.search(text, max(0, item.start - _LONGEST_SIZE), item.start)
            first = next((i for i, other in enumerate(out) if match and other.start == match.start()), len(out))
            if match and first < len(out) and not any(other.term or other.phrase for other in out[first:]):
                item = item._replace(start=match.start(), word=text[match.start() : item.end])
                del out[first:]
        out.append(item)
    return out


def _is_part(clause: Units, i: int, first: int) -> bool:
    item = clause[i]
    word = item.word.lower()
    if not (item.symbol in _PARTS or item.symbol == ASPECT) or not _WRITTEN.fullmatch(word):
        return False
    gap = 0 if i == first else item.start - clause[i - 1].end
    return gap == 0 or (gap == 1 and not _MEASURE.fullmatch(word))


def _make_aspect(run: Units, text: str, cls: str, lexicon: Lexicon) -> Constituent:
    known = [item for item in run if item.term is not None]
    if len(run) == 1 and known:
        return run[0]
    start, end = run[0].start, run[-1].end
    term = known[0].term if known else Term(cls, role=lexicon.classes.get(cls, ""))
    return Constituent(start, end, ASPECT, text[start:end], run[-1].last, None, term)
