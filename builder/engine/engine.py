"""The engine: units, phrases, terms, pairing, coordination, polarity, filters, in that order, for each clause of a
view.

In: `Doc` (view text, tokens, clauses). Out: triplets with spans of the view, each with the names of its rules and its
evidence. What the engine does is the paper's section 3.2; what it does better stands in rules/*.toml, one phenomenon
a rule.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

from builder.core.reasons import ReadWord, Reasons
from builder.core.records import Token, Triplet, polarity_of
from builder.core.settings import Convention
from builder.engine.barring import drop_excepted, find_singled, is_excepted
from builder.engine.candidates import Before
from builder.engine.codes import add_sides, add_sizes, name_codes
from builder.engine.comparing import bar_standards
from builder.engine.compiled import compile_rules
from builder.engine.constituents import Constituent, Phrase, Term, is_heading, is_thing
from builder.engine.coordination import OpenList, add_listed, is_resumed, keep_kind, list_objects, open_list
from builder.engine.deciding import Weighed, rank_candidates, weigh_candidates
from builder.engine.extent import read_adjoining
from builder.engine.matching import Refusal
from builder.engine.pairing import dependency_path, last_core_token, select_pairers
from builder.engine.patterns import CURRENT
from builder.engine.phrases import read_phrases
from builder.engine.polarity import CONTEXT_ONLY, find_context_row, judge_valence
from builder.engine.predicates import read_predicates
from builder.engine.quoting import drop_addresses, join_quoted
from builder.engine.symbols import ASPECT, DE, JUDGING, LIST, OPINION, PART
from builder.engine.terms import bar_all, join_terms
from builder.engine.topics import next_topic, resume_list, share
from builder.engine.units import AspectChoice, Pairer, Scene, Topic, lower_case, read_units
from builder.engine.weighing import Read, cut_out, find_full_start, make_element, make_opinion, weigh
from builder.language.lexicon.resources import Lexicon
from builder.language.lexicon.rules import Rule
from builder.reviews.text import Clause
from builder.reviews.text import clauses as find_clauses

LONGEST_CLAUSE = 150
"""Words that are read together: a text without any mark is read in pieces, so that the work stays linear."""
LONGEST_OPENING = 8
"""Characters before a clause among which words stand that open it (總的來說，)."""
LONGEST_LIST = 8
"""Clauses over which the objects of a verdict are listed."""
LABEL_ENDS = frozenset(":：】|")
"""Marks behind a label (環境：)."""
BRACKETS = re.compile("[(（][^()（）]{1,60}[)）]")
"""What stands in brackets, with them."""
_LIST_GOES_ON = frozenset(["", LIST, PART])
"""What stands behind an opinion of a list: its end, a particle, or the next comma."""
MEASURED = ("size", CONTEXT_ONLY)
"""Categories of words that in brackets only say which size or kind was ordered."""


class Pairing(NamedTuple):
    """The rule that decided, the aspects, and the detail for the story of the triplet.

    `weighed`: the candidates, where they were weighed (`engine.deciding`).
    """

    rule: str
    aspects: tuple[Constituent, ...]
    detail: str
    weighed: Sequence[Weighed] = ()


@dataclass(frozen=True, slots=True)
class Doc:
    """A view's text with its tokens and clauses."""

    text: str
    tokens: Sequence[Token]
    clauses: Sequence[Clause]

    @classmethod
    def of(cls, text: str, tokens: Sequence[Token]) -> Doc:
        """The document of a view's text and its tokens; its clauses are found here."""
        return cls(text, tokens, find_clauses(text))


class _Clause(NamedTuple):
    """A clause as the engine reads it; `asked` keeps its opinions from becoming triplets, `doubted` its praise.

    `label`: one of `LABEL_ENDS` ends it (環境：). `mark`: the character that ends it.
    """

    items: list[Constituent]
    sentence: int
    asked: bool
    doubted: bool
    label: bool
    mark: str


class Engine:
    """`extract(doc)` gives the triplets of a review; all state is the compiled lexicon and rules."""

    def __init__(
        self,
        lexicon: Lexicon,
        rules: Sequence[Rule],
        convention: Convention = "natural",
        observe: Callable[[Constituent, Sequence[Weighed]], None] | None = None,
    ) -> None:
        """`observe` is called with each opinion that is weighed, and its candidates: for those who fit the weights."""
        self._observe = observe
        self._natural = convention == "natural"
        self._rules = compile_rules(lexicon, rules, convention)
        self._lexicon = self._rules.lexicon
        self._pairers: dict[tuple[str, bool], tuple[tuple[str, Pairer], ...]] = {}

    def extract(self, doc: Doc) -> tuple[Triplet, ...]:
        """The triplets of a review in text order of their opinions, each once."""
        return self._extract(doc, self._read_clauses(doc))

    def _extract(self, doc: Doc, read: list[_Clause]) -> tuple[Triplet, ...]:
        out: dict[object, Triplet] = {}
        for scene, pairing, unreal in self._pair_all(doc, read):
            if pairing is None or unreal:
                continue
            for aspect in pairing.aspects:
                if is_excepted(doc.text, scene.opinion, aspect, self._rules.exceptions):
                    continue  # it shares the opinion of another one
                rule = pairing.rule if aspect is pairing.aspects[0] else self._rules.conjunction or pairing.rule
                triplet = self._make_triplet(doc, scene, aspect, rule, pairing)
                # 太慢太慢, 足，足，足 of one mention of an aspect is said once
                said = (triplet.aspect.spans, triplet.opinion.text, triplet.polarity)
                out.setdefault(said if self._natural else triplet.key, triplet)
        return tuple(out.values())

    def votes(self, doc: Doc) -> Iterator[tuple[str | None, dict[str, int]]]:
        """For each opinion the rule that decides, and the place of the aspect that every rule would choose: for the
        rule report.
        """
        for scene, pairing, _ in self._pair_all(doc, self._read_clauses(doc)):
            choices = {name: choice for name, pairer in self._pairers_for(scene) if (choice := pairer(scene))}
            places = {
                name: choice.aspects[0].start
                for name, choice in choices.items()
                if self._fits(doc, scene.opinion, choice.aspects[0])
            }
            yield (pairing.rule if pairing else None), places

    def find_refusals(self, doc: Doc) -> list[Refusal]:
        """The opinion words of a document that judge nothing where they stand or are not stated, and the aspects of
        which nothing is said, in text order.
        """
        refused: list[Refusal] = []
        for clause in self._read_clauses(doc, refused):
            for index, item in enumerate(clause.items):
                if item.phrase is not None and (rule := self._rules.unstated.find_phrase(clause.items, index)):
                    refused.append(Refusal(item.start, item.end, (rule,)))
        return sorted(refused)

    def weigh(self, doc: Doc, proposed: Sequence[Triplet]) -> list[Triplet | None]:
        """What models propose for a document, with the spans and the polarity that the rules would give them
        (`engine.weighing`).
        """
        if not proposed:
            return []
        read_clauses = self._read_clauses(doc)
        opinions, unstated, extent = [], set(), self._rules.phrases.extent
        for clause in read_clauses:
            for index, item in enumerate(clause.items):
                if item.phrase is not None:
                    opinions.append((item, *make_opinion(doc.text, clause.items, index, extent)))
                    if self._is_unstated(clause, index, item.phrase):
                        unstated.add(item.start)
        read = Read(opinions, frozenset(unstated), [item for clause in read_clauses for item in clause.items])
        weighed = [self._state(weigh(doc.text, read, t, self._weight)) for t in proposed]
        return drop_excepted(weighed, self._rules.exceptions)

    def _state(self, proposed: Triplet | None) -> Triplet | None:
        """A proposal whose opinion the rules do not read here, with the value that the lexicon gives it everywhere."""
        if proposed is None or proposed.reasons:
            return proposed
        entry = self._lexicon.opinions.get(proposed.opinion.text)
        if entry is None or entry.category == CONTEXT_ONLY or entry.word in self._lexicon.context:
            return proposed
        return replace(proposed, polarity=polarity_of(entry.valence), valence=entry.valence)

    def _weight(self, phrase: Phrase, term: Term, aspect: str) -> tuple[float, Reasons] | None:
        """What a phrase is worth of an aspect; None of a word that is read in a context only (重, 近), where there is
        none.
        """
        if (
            phrase.entry.category == CONTEXT_ONLY
            and find_context_row(phrase.entry.word, term, aspect, self._lexicon) is None
            and not self._exceeds(phrase, term)
        ):
            return None
        return judge_valence(phrase, term, aspect, self._lexicon, self._rules.excess, self._rules.denials)

    def _exceeds(self, phrase: Phrase, term: Term) -> bool:
        """Whether a degree word gives a phrase a value of its own, in whatever context (太淺)."""
        rules = (rule for rule in self._rules.excess if rule.without_context)
        return any(rule.applies(phrase.entry.valence, phrase, term) for rule in rules)

    def _is_unstated(self, clause: _Clause, index: int, phrase: Phrase) -> bool:
        """Whether a wish, a condition or a question takes opinion `index` out of what is stated; 湯都冷了？ blames."""
        if clause.asked or (clause.doubted and not self._blames(phrase)):
            return True
        return self._rules.unstated.find_phrase(clause.items, index) is not None

    def _blames(self, phrase: Phrase) -> bool:
        """Whether an opinion blames, whatever it is about."""
        weight = self._weight(phrase, Term(""), "")
        return weight is not None and polarity_of(weight[0]) == "NEG"

    def _pair_all(self, doc: Doc, read: list[_Clause]) -> Iterator[tuple[Scene, Pairing | None, bool]]:
        """Each opinion in text order with its aspects, and whether something takes these out of what is stated."""
        topic: Topic | None = None
        named: dict[int, list[Constituent]] = {}
        for clause in read if self._rules.wide else ():
            named.setdefault(clause.sentence, []).extend([item for item in clause.items if item.symbol == ASPECT])
        described: dict[int, str] = {}
        begun = OpenList()
        parts = [(clause.items, clause.sentence, clause.label) for clause in read]
        for number, clause in enumerate(read):
            line = "".join([item.symbol for item in clause.items])
            paired: list[Constituent] = []
            pairings: dict[int, Pairing] = {}
            before = Before(parts, number, described)
            topic = resume_list(clause.items, topic, begun, self._rules)
            for index, item in enumerate(clause.items) if OPINION in line else ():
                if item.phrase is None:
                    continue
                marked = line[:index] + CURRENT + line[index + 1 :]
                scene = Scene(clause.items, line, marked, index, doc.tokens, topic, named.get(clause.sentence, ()))
                pairing = (
                    pairings.get(index)
                    or self._pair(doc, scene, before)
                    or self._pair_joined(doc, scene, before, pairings)
                )
                pairing = self._single_out(doc, scene, pairing, read, number)
                if pairing is not None:
                    pairings[index] = pairing
                    paired += pairing.aspects
                    if begun.aspects:
                        aspects = add_listed(clause.items, pairing.aspects, begun, self._rules.terms.lists)
                        pairing = pairing._replace(
                            aspects=tuple([x for x in aspects if x in pairing.aspects or self._fits(doc, item, x)])
                        )
                    if on := self._list_on(doc, scene, pairing, read, number):
                        pairing = pairing._replace(aspects=(*pairing.aspects, *on))
                    described |= dict.fromkeys([about.start for about in pairing.aspects], item.phrase.entry.category)
                yield (
                    scene,
                    pairing,
                    pairing is not None and self._is_unstated(clause, index, item.phrase),
                )
            begun = open_list(clause.items, begun, clause.mark, self._rules.terms.lists)
            behind = read[number + 1].items if number + 1 < len(read) else ()
            joined = begun.aspects if begun.joined or is_resumed(behind, begun, self._rules.terms.lists) else ()
            topic = next_topic(clause.items, paired, topic, clause.label, joined, self._rules)

    def _read_clauses(self, doc: Doc, refused: list[Refusal] | None = None) -> list[_Clause]:
        """Constituents per clause. Tokens lie in one clause or, being marks or spaces, in none."""
        out: list[_Clause] = []
        at = 0
        lexicon, rules, names = self._lexicon, self._rules, self._rules.terms.names.rule
        codes, sizes = names.codes, names.sizes
        heading = rules.heading
        text = lower_case(doc.text)
        brackets, aside = [match.span() for match in BRACKETS.finditer(doc.text)], False
        starts, ends = [token.start for token in doc.tokens], [token.end for token in doc.tokens]
        clauses = [*join_quoted(doc.text, drop_addresses(text, doc.clauses, rules.addresses))]
        for before, clause in zip((None, *clauses), clauses, strict=False):
            at = bisect_left(starts, clause.start, at)
            stop = bisect_right(ends, clause.end, at)
            asked = (
                doc.text[clause.end : clause.end + 1] in rules.questions or doc.text[clause.end - 1] in rules.questions
            )
            mark = doc.text[clause.end : clause.end + 1]
            while at < stop:
                piece = min(stop, at + LONGEST_CLAUSE)
                words = read_units(text, doc.tokens, at, piece, lexicon, rules.vocabulary)
                at = piece
                units = read_predicates(words, lexicon, rules.predicates)
                if not codes and {unit.symbol for unit in units}.isdisjoint(JUDGING):
                    continue  # three clauses in ten name nothing and judge nothing
                phrases = read_phrases(units, text, lexicon, rules.phrases, refused)
                phrases = read_adjoining(phrases, text, clause, before, rules.adjoining)
                phrases = add_sides(name_codes(phrases, text, codes, lexicon), text) if codes else phrases
                if sizes:
                    phrases = add_sizes(phrases, text, sizes)
                standing = bar_standards(phrases, rules.phrases.comparison)
                candidates = rules.refused_aspects.bar_aspects(standing, refused)
                items = join_terms(candidates, text, lexicon, rules.terms)
                if (aside or (out and any(item.term for item in out[-1].items))) and _is_aside(clause, items, brackets):
                    items, aside = bar_all(items), True
                else:
                    aside = False
                gap = doc.text[out[-1].items[-1].end : items[0].start] if out and heading else ""
                if gap and heading and is_heading(out[-1].items, items, gap, heading):
                    items = [*out.pop().items, *items]
                asks = asked and (
                    not rules.asking or any(word in text[clause.start : clause.end] for word in rules.asking)
                )
                out.append(_Clause(items, clause.sentence, asks, asked and not asks, mark in LABEL_ENDS, mark))
        return out

    def _pair(self, doc: Doc, scene: Scene, before: Before) -> Pairing | None:
        """The first rule that finds an aspect that the opinion can describe proposes it; if it is not sure, all
        candidates and none are weighed. The aspects coordinated with the chosen one share the opinion.
        """
        phrase = scene.opinion.phrase
        assert phrase is not None
        if phrase.entry.word in self._rules.blocked and not phrase.kinds:
            return None
        proposal = self._propose(doc, scene)
        decision = self._rules.decision
        if decision is None or (proposal and proposal[0] in decision.sure):
            return proposal and Pairing(proposal[0], self._share(doc, scene, proposal[1].aspects), proposal[1].detail)
        opening = doc.text[max(0, scene.items[0].start - LONGEST_OPENING) : scene.opinion.start]
        on_the_whole = any(word in opening for word in decision.summing)
        fits = partial(self._fits, doc, scene.opinion)
        weighed = weigh_candidates(scene, proposal, before, fits, decision, on_the_whole)
        if weighed and self._observe is not None:
            self._observe(scene.opinion, weighed)
        if not weighed or weighed[0].score <= 0:
            return None
        best = weighed[0]
        if best.choice is not None:
            return Pairing(best.rule, self._share(doc, scene, best.choice.aspects), best.choice.detail, weighed)
        aspects = self._share(doc, scene, (best.aspect,), best.clause)
        return Pairing(self._rules.decision_name, aspects, "the best of all candidates", weighed)

    def _pair_joined(self, doc: Doc, scene: Scene, before: Before, pairings: dict[int, Pairing]) -> Pairing | None:
        """髒、亂、吵, 又脆又香: an opinion that nothing pairs is about what the one joined to it is about.

        That is the one before it or, where a word joins them, the one behind, of which `pairings` keep the pairing.
        """
        at, items, decision = scene.at, scene.items, self._rules.decision
        if decision is None:
            return None
        joining = self._rules.phrases.join.joining
        is_listed = scene.symbols[at - 1 : at] == LIST and scene.symbols[at + 1 : at + 2] in _LIST_GOES_ON
        other = None
        if at > 1 and (is_listed or items[at - 1].word in joining):
            other = pairings.get(at - 2)
        if other is None and scene.symbols[at + 2 : at + 3] == OPINION and items[at + 1].word in joining:
            other = self._pair(doc, scene.move(at + 2), before)
            if other is not None:
                pairings[at + 2] = other
        if other is None:
            return None
        aspects = tuple(
            [
                aspect
                for aspect in other.aspects
                if aspect.start < scene.opinion.start
                and self._fits(doc, scene.opinion, aspect)
                and decision.is_likely(scene.opinion, aspect)
            ]
        )
        return Pairing(other.rule, aspects, "joined to another opinion") if aspects else None

    def _list_on(
        self, doc: Doc, scene: Scene, pairing: Pairing, read: Sequence[_Clause], number: int
    ) -> tuple[Constituent, ...]:
        """推薦雞排，薯條，豆花。: the further objects of a verdict, where its own ends the clause."""
        lists, last = self._rules.terms.lists, scene.items[-1]
        phrase = scene.opinion.phrase
        assert phrase is not None
        if last not in pairing.aspects or not is_thing(last) or not phrase.entry.category.startswith(lists.continuing):
            return ()
        if last.start < scene.opinion.start:
            return ()
        return list_objects(doc.text, [clause.items for clause in read[number : number + LONGEST_LIST]], last, lists)

    def _single_out(
        self, doc: Doc, scene: Scene, pairing: Pairing | None, read: Sequence[_Clause], number: int
    ) -> Pairing | None:
        """都很好吃，尤其是湯: the pairing, with what the clause behind names as that of which it holds above all."""
        behind = read[number + 1].items if number + 1 < len(read) else ()
        named = find_singled(scene.items, scene.at, behind, self._rules.terms.lists.above_all)
        named = tuple([aspect for aspect in named if self._fits(doc, scene.opinion, aspect)])
        if not named:
            return pairing
        if pairing is None:
            return Pairing(self._rules.conjunction, named, "named behind the opinion")
        return pairing._replace(aspects=(*pairing.aspects, *[x for x in named if x not in pairing.aspects]))

    def _share(
        self, doc: Doc, scene: Scene, aspects: tuple[Constituent, ...], clause: Sequence[Constituent] | None = None
    ) -> tuple[Constituent, ...]:
        """The aspects with those coordinated with them that the opinion can describe."""
        shared = share(clause or scene.items, aspects, self._rules)
        lists, phrase = self._rules.terms.lists, scene.opinion.phrase
        assert phrase is not None
        modifies = len(shared) > 1 and scene.symbols[scene.at + 1 : scene.at + 2] == DE
        if modifies and not phrase.entry.category.startswith(lists.shared):
            shared = keep_kind(shared, scene.opinion.end, lists.alike)
        return tuple(x for x in shared if x in aspects or self._fits(doc, scene.opinion, x))

    def _propose(self, doc: Doc, scene: Scene) -> tuple[str, AspectChoice] | None:
        """The first rule that finds an aspect that the opinion can describe, with its answer."""
        for name, pairer in self._pairers_for(scene):
            choice = pairer(scene)
            if choice and self._fits(doc, scene.opinion, choice.aspects[0]):
                return name, choice
        return None

    def _pairers_for(self, scene: Scene) -> tuple[tuple[str, Pairer], ...]:
        """The rules that may answer for the opinion of a scene, in their order."""
        phrase = scene.opinion.phrase
        assert phrase is not None
        key = phrase.entry.category, ASPECT in scene.symbols
        pairers = self._pairers.get(key)
        if pairers is None:
            pairers = self._pairers[key] = select_pairers(self._rules.pairers, *key)
        return pairers

    def _fits(self, doc: Doc, item: Constituent, aspect: Constituent) -> bool:
        """Selectional preference: a taste word does not describe a waiter. Unknown nouns, classes of which no rule says
        anything, and unlisted categories fit all, but for exceptions.
        """
        phrase = item.phrase
        assert phrase is not None
        assert aspect.term is not None
        if is_excepted(doc.text, item, aspect, self._rules.exceptions):
            return False
        if find_context_row(phrase.entry.word, aspect.term, aspect.word, self._lexicon) is not None:
            return True
        if phrase.entry.category == CONTEXT_ONLY:
            return self._exceeds(phrase, aspect.term)
        known = aspect.term.cls.startswith(self._rules.limited)
        limits = self._rules.compatible.get(phrase.entry.category) if known else None
        return limits is None or all(aspect.term.cls.startswith(classes) for classes in limits)

    def _make_triplet(self, doc: Doc, scene: Scene, aspect: Constituent, rule: str, pairing: Pairing) -> Triplet:
        item = scene.opinion
        term, phrase = aspect.term, item.phrase
        assert term is not None
        assert phrase is not None
        value, reasons = judge_valence(
            phrase, term, aspect.word, self._lexicon, self._rules.excess, self._rules.denials
        )
        steps = dependency_path(doc.tokens, aspect.last, last_core_token(doc.tokens, item))
        candidates, margin = rank_candidates(pairing.weighed, aspect)
        first = find_full_start(scene.items, aspect, self._rules.terms.rule.determiners)
        start = aspect.start + term.lead
        aspect_full = make_element(doc.text, ((first, aspect.end),))
        opinion, opinion_full = make_opinion(doc.text, scene.items, scene.at, self._rules.phrases.extent, aspect)
        if self._natural:
            opinion_full = cut_out(doc.text, opinion_full, (aspect.start, aspect.end))
        return Triplet(
            aspect=aspect_full if first == start else make_element(doc.text, ((start, aspect.end),)),
            aspect_full=aspect_full,
            opinion=opinion,
            opinion_full=opinion_full,
            polarity=polarity_of(value),
            valence=round(value, 2),
            owner=make_element(doc.text, (term.owner,)) if term.owner and term.owner[0] >= start else None,
            rules=(rule,),
            reasons=replace(
                reasons,
                aspect=self._read_aspect(aspect),
                negators=tuple([doc.text[start:end] for start, end in phrase.negators]),
                pairing=pairing.detail,
                candidates=candidates,
                margin=margin,
                path=None if steps is None else tuple(steps),
            ),
        )

    def _read_aspect(self, aspect: Constituent) -> ReadWord:
        """An aspect with its class and, if a lexicon holds it, the line there."""
        assert aspect.term is not None
        entry = self._lexicon.aspects.get(aspect.word.lower())
        return ReadWord(aspect.word, aspect.term.cls or None, entry.where if entry else None)


def _is_aside(clause: Clause, items: Sequence[Constituent], brackets: Sequence[tuple[int, int]]) -> bool:
    """Whether a clause stands in brackets and judges nothing: it names nothing either (湯頭（紅湯）很濃).

    A size alone is the size of what was ordered (（小）).
    """
    at = bisect_right(brackets, (clause.start, 0)) - 1
    if at < 0 or clause.start >= brackets[at][1]:
        return False
    phrase = items[0].phrase if len(items) == 1 and clause.end - clause.start == 1 else None
    size = phrase is not None and phrase.entry.category.startswith(MEASURED)
    return size or all(item.phrase is None for item in items)
