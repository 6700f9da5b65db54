"""The engine: units, items, pairing, expansion, polarity, filters, in that order, for each sentence of a view.

In: `Doc` (view text, tokens, clauses). Out: triplets with spans of the view, each with the names of its rules and its evidence.
What the engine does is the paper's section 3.2; what it does better stands in rules/*.toml, one phenomenon a rule.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from builder.config import Convention
from builder.engine.compiled import Compiled, compile_rules
from builder.engine.items import Item, Phrase, Term, is_dish, is_kind
from builder.engine.pairing import Found, Scene, Topic, dependency_path, token_at
from builder.engine.patterns import CURRENT
from builder.engine.phrases import phrases
from builder.engine.polarity import CONTEXT_ONLY, context_row, valence
from builder.engine.terms import chain, compared, left_out, terms
from builder.engine.units import lower, units
from builder.engine.weighing import Read, weigh
from builder.lexicon.resources import Lexicon, Rule
from builder.records import NO_PATH, Element, Span, Token, Triplet, polarity_of
from builder.text import Clause, clauses

LONGEST_CLAUSE = 150
"""Words that are read together: a text without any mark is read in pieces, so that the work stays linear."""
_POINTERS = "這那他她它我你您本此該每某"
_Pairing = tuple[str, tuple[Item, ...], str]
"""The rule that decided, the aspects, and its detail."""


@dataclass(frozen=True, slots=True)
class Doc:
    """A view's text with its tokens and clauses."""

    text: str
    tokens: Sequence[Token]
    clauses: Sequence[Clause]

    @classmethod
    def of(cls, text: str, tokens: Sequence[Token]) -> Doc:
        return cls(text, tokens, clauses(text))


class _Clause(NamedTuple):
    """A clause as the engine reads it; `asked` keeps its opinions from becoming triplets."""

    items: list[Item]
    sentence: int
    asked: bool


class Engine:
    """`extract(doc)` gives the triplets of a review; all state is the compiled lexicon and rules."""

    def __init__(self, lexicon: Lexicon, rules: Sequence[Rule], convention: Convention = "natural") -> None:
        self._rules = compile_rules(lexicon, rules, convention)
        self._lexicon = self._rules.lexicon

    def extract(self, doc: Doc) -> tuple[Triplet, ...]:
        """The triplets of a review in text order of their opinions, each once."""
        out: dict[object, Triplet] = {}
        for scene, found, unreal in self._paired(doc):
            if found is None or unreal:
                continue
            name, aspects, detail = found
            for aspect in aspects:
                rule = name if aspect is aspects[0] else self._rules.conjunction or name
                triplet = self._triplet(doc, scene, aspect, rule, detail)
                out.setdefault(triplet.key, triplet)
        return tuple(out.values())

    def votes(self, doc: Doc) -> Iterator[tuple[str | None, dict[str, int]]]:
        """For each opinion the rule that decides, and the place of the aspect that every rule would choose: for the rule report."""
        for scene, found, _ in self._paired(doc):
            phrase = scene.opinion.phrase
            assert phrase is not None
            chosen = {
                name: one.aspects[0].start for name, pairer in self._rules.pairers if (one := pairer(scene)) and self._fits(phrase, one)
            }
            yield (found[0] if found else None), chosen

    def weigh(self, doc: Doc, proposed: Sequence[Triplet]) -> list[Triplet | None]:
        """What models propose for a document, with the spans and the polarity that the rules would give them (`engine.weighing`)."""
        if not proposed:
            return []
        clauses = self._clauses(doc)
        opinions, unstated = [], set()
        for clause in clauses:
            for index, item in enumerate(clause.items):
                if item.phrase is not None:
                    opinions.append((item, *_opinion(doc.text, item, item.phrase)))
                    if clause.asked or self._unreal(clause.items, index):
                        unstated.add(item.start)
        read = Read(opinions, frozenset(unstated), [item for clause in clauses for item in clause.items])
        return [weigh(doc.text, read, triplet, self._weight) for triplet in proposed]

    def _weight(self, phrase: Phrase, term: Term, aspect: str) -> tuple[float, list[tuple[str, str]]] | None:
        """What a phrase is worth of an aspect; None of a word that is read in a context only (重, 近), where there is none."""
        if phrase.entry.category == CONTEXT_ONLY and context_row(phrase.entry.word, term, aspect, self._lexicon) is None:
            return None
        return valence(phrase, term, aspect, self._lexicon, self._rules.excess, self._rules.denials)

    def _paired(self, doc: Doc) -> Iterator[tuple[Scene, _Pairing | None, bool]]:
        """Each opinion in text order with its aspects, and whether something takes these out of what is stated."""
        topic: Topic | None = None
        clauses = self._clauses(doc)
        sentences: dict[int, list[Item]] = {}
        for clause in clauses if self._rules.wide else ():
            sentences.setdefault(clause.sentence, []).extend(clause.items)
        for clause in clauses:
            line = "".join([item.symbol for item in clause.items])
            paired: list[Item] = []
            for index, item in enumerate(clause.items) if "O" in line else ():
                if item.phrase is None:
                    continue
                marked = line[:index] + CURRENT + line[index + 1 :]
                scene = Scene(clause.items, line, marked, index, doc.tokens, topic, sentences.get(clause.sentence, ()))
                found = self._pair(scene)
                paired += found[1] if found else ()
                yield scene, found, found is not None and (clause.asked or self._unreal(clause.items, index))
            topic = _next_topic(clause.items, paired, topic, self._rules)

    def _clauses(self, doc: Doc) -> list[_Clause]:
        """Items per clause. Tokens lie in one clause or, being marks or spaces, in none."""
        out = []
        at = 0
        lexicon, grammar = self._lexicon, self._rules.grammar
        text = lower(doc.text)
        starts, ends = [token.start for token in doc.tokens], [token.end for token in doc.tokens]
        for clause in doc.clauses:
            at = bisect_left(starts, clause.start, at)
            stop = bisect_right(ends, clause.end, at)
            asked = doc.text[clause.end : clause.end + 1] in self._rules.questions or doc.text[clause.end - 1] in self._rules.questions
            while at < stop:
                piece = min(stop, at + LONGEST_CLAUSE)
                words = units(text, doc.tokens, at, piece, lexicon, self._rules.vocabulary)
                at = piece
                if {word.symbol for word in words}.isdisjoint("OA"):
                    continue  # three clauses in ten name nothing and judge nothing
                listed = left_out(compared(phrases(words, text, lexicon, grammar), grammar), grammar)
                out.append(_Clause(terms(listed, text, lexicon, grammar), clause.sentence, asked))
        return out

    def _pair(self, scene: Scene) -> _Pairing | None:
        """The first rule that finds an aspect that the opinion can describe, and the aspects coordinated with it."""
        phrase = scene.opinion.phrase
        assert phrase is not None
        if phrase.entry.word in self._rules.blocked:
            return None
        for name, pairer in self._rules.pairers:
            found = pairer(scene)
            if found and self._fits(phrase, found):
                touching = self._rules.grammar.list_touching
                aspects = _coordinated(scene.items, found.aspects, touching) if self._rules.conjunction else found.aspects
                return name, aspects, found.detail
        return None

    def _fits(self, phrase: Phrase, found: Found) -> bool:
        """Selectional preference: a taste word does not describe a waiter. Unknown nouns and unlisted categories fit all."""
        aspect = found.aspects[0]
        assert aspect.term is not None
        if context_row(phrase.entry.word, aspect.term, aspect.word, self._lexicon) is not None:
            return True
        if phrase.entry.category == CONTEXT_ONLY:
            return False
        limits = self._rules.compatible.get(phrase.entry.category) if aspect.term.cls else None
        return limits is None or all(aspect.term.cls.startswith(classes) for classes in limits)

    def _unreal(self, listed: Sequence[Item], index: int) -> bool:
        """Whether a marker before the opinion takes it out of what is stated (wish, condition, past, hearsay, question).

        A word of contrast ends the marker's reach: 以為會很乾但超多汁.
        """
        contrast = self._rules.contrast
        for item in reversed(listed[:index]):
            if item.symbol == "I" and self._lexicon.irrealis[item.word] in self._rules.irrealis:
                return True
            if item.word in contrast:
                return False
        return False

    def _triplet(self, doc: Doc, scene: Scene, aspect: Item, rule: str, detail: str) -> Triplet:
        item = scene.opinion
        term, phrase = aspect.term, item.phrase
        assert term is not None and phrase is not None
        value, evidence = valence(phrase, term, aspect.word, self._lexicon, self._rules.excess, self._rules.denials)
        entry = self._lexicon.aspects.get(aspect.word.lower())
        told = f"{aspect.word} {term.cls or 'unlisted noun'} ({entry.where})" if entry else f"{aspect.word} {term.cls or 'unlisted noun'}"
        steps = dependency_path(doc.tokens, aspect.last, token_at(doc.tokens, item))
        path = " ".join(steps) if steps is not None else NO_PATH
        negators = [("negator", doc.text[start:end]) for start, end in phrase.negators]
        first, start = _full_start(scene.items, aspect), aspect.start + term.lead
        aspect_full = _element(doc.text, ((first, aspect.end),))
        opinion, opinion_full = _opinion(doc.text, item, phrase)
        return Triplet(
            aspect=aspect_full if first == start else _element(doc.text, ((start, aspect.end),)),
            aspect_full=aspect_full,
            opinion=opinion,
            opinion_full=opinion_full,
            polarity=polarity_of(value),
            valence=round(value, 2),
            owner=_element(doc.text, (term.owner,)) if term.owner and term.owner[0] >= start else None,
            rules=(rule,),
            evidence=(("aspect", told), *evidence, *negators, ("pairing", detail), ("path", path)),
        )


def _full_start(clause: Sequence[Item], aspect: Item) -> int:
    """Where an aspect begins with its modifiers: determiners, numbers, nouns, and nouns or pronouns before 的 (他們家的牛肉麵)."""
    at = 0
    while at < len(clause) and clause[at] is not aspect:
        at += 1
    if at == len(clause):
        return aspect.start
    while at > 0 and clause[at - 1].end == clause[at].start:
        before = clause[at - 1].symbol
        if before in "pmnj" or (before == "t" and clause[at - 1].word[0] in _POINTERS):
            at -= 1
        elif before == "d" and at > 1 and clause[at - 2].symbol in "pnAt" and clause[at - 2].end == clause[at - 1].start:
            at -= 2
        else:
            break
    return clause[at].start


def _opinion(text: str, item: Item, phrase: Phrase) -> tuple[Element, Element]:
    """The opinion of a phrase, its core with its negators, and the whole stretch."""
    full = _element(text, ((item.start, item.end),))
    bare = not phrase.negators and phrase.core == full.spans[0]
    return (full if bare else _element(text, (*phrase.negators, phrase.core))), full


def _element(text: str, spans: Sequence[Span]) -> Element:
    if len(spans) == 1:  # nearly all of them
        start, end = spans[0]
        return Element(text[start:end], (spans[0],))
    merged: list[Span] = []
    for start, end in spans:
        if merged and merged[-1][1] == start:
            merged[-1] = merged[-1][0], end
        else:
            merged.append((start, end))
    return Element("".join(text[start:end] for start, end in merged), tuple(merged))


def _coordinated(listed: Sequence[Item], aspects: tuple[Item, ...], touching: bool) -> tuple[Item, ...]:
    """The found aspect and those of its coordination (paper: `conj`)."""
    if len(aspects) != 1:
        return aspects
    for at, item in enumerate(listed):
        if item is aspects[0]:
            return aspects + tuple([listed[i] for i in chain(listed, at, touching) if i != at])
    return aspects


def _subject(listed: Sequence[Item], named: Sequence[Item], joining: Collection[str]) -> Item:
    """Of the aspects of a clause that judges nothing the one it is about: 豬排飯 of 豬排飯有高麗菜, else the last."""
    first, last = named[0], named[-1]
    if is_kind(first) or not (first.term and first.term.cls.startswith(("food", "drink"))):
        return last
    return first if any(item.word in joining and first.end <= item.start < last.start for item in listed) else last


def _next_topic(listed: Sequence[Item], paired: list[Item], topic: Topic | None, rules: Compiled) -> Topic | None:
    """What the next clause may leave unsaid: the aspect paired last, else the last one named, else the old topic."""
    named = [item for item in listed if item.term is not None]
    if not paired and not named:
        return topic
    last = paired[-1] if paired else _subject(listed, named, rules.joining)
    aspects = _coordinated(listed, (last,), rules.grammar.list_touching)
    if is_dish(last):
        return Topic(aspects, not paired, None)
    dishes = [item for item in named if item.start < last.start and is_dish(item)]
    before = (topic.aspects[-1] if is_dish(topic.aspects[-1]) else topic.whole) if topic else None
    return Topic(aspects, not paired, dishes[-1] if dishes else before)
