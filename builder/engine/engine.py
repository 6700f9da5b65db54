"""The engine: units, phrases, terms, pairing, coordination, polarity, filters, in that order, for each clause of a
view.

In: `Doc` (view text, tokens, clauses). Out: triplets with spans of the view, each with the names of its rules and its
evidence. What the engine does is the paper's section 3.2; what it does better stands in rules/*.toml, one phenomenon
a rule.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cache, partial

from builder.core.edges import shared
from builder.core.records import VALENCES, ReadWord, Reasons, Triplet, polarity_of
from builder.core.settings import Convention
from builder.engine.compiled import Compiled
from builder.engine.constituents import (
    AspectCandidate,
    AspectChoice,
    Aspects,
    Constituent,
    Doc,
    Phrase,
    ReadClause,
    Scene,
    Term,
    Topic,
    Units,
)
from builder.engine.coordination import keep_kind
from builder.engine.deciding import rank_candidates, weigh_candidates
from builder.engine.functions import Labelled, label_clause
from builder.engine.matching import Refusal
from builder.engine.pairing import dependency_path, last_core_token
from builder.engine.reading import read_clauses
from builder.engine.symbols import ASPECT, CURRENT, DE, OPINION
from builder.engine.weighing import (
    CONTEXT_ONLY,
    Read,
    cut_out,
    find_context_row,
    find_full_start,
    judge_valence,
    make_core,
    make_element,
    make_opinion,
    read_aspect,
    weigh,
)
from builder.language.lexicon.resources import Lexicon
from builder.language.lexicon.rules import Rule


class Engine:
    """`extract(doc)` gives the triplets of a review; all state is the compiled lexicon and rules."""

    def __init__(
        self,
        lexicon: Lexicon,
        rules: Sequence[Rule],
        convention: Convention = "natural",
        observe: Callable[[Constituent, Sequence[AspectCandidate]], None] | None = None,
    ) -> None:
        """`observe` is called with each opinion that is weighed, and its candidates: for those who fit the weights."""
        self._observe = observe
        self._rules = Compiled(lexicon, rules, convention)
        self._lexicon = self._rules.lexicon
        self._find_pairers = cache(self._rules.find_pairers)

    def read(self, doc: Doc) -> list[ReadClause]:
        """The clauses of a document with their phrases and terms."""
        return read_clauses(doc, self._rules)

    def extract(self, doc: Doc) -> tuple[Triplet, ...]:
        """The triplets of a review in text order of their opinions, each once."""
        out: dict[object, Triplet] = {}
        read = self.read(doc)
        for scene, pairing, unreal in self._pair_all(doc, read):
            if pairing is None or unreal:
                continue
            for aspect in pairing.aspects:
                rule = pairing.rule if aspect is pairing.aspects[0] else self._rules.conjunction or pairing.rule
                triplet = self._make_triplet(doc, scene, aspect, rule, pairing)
                if self.excepts(triplet):
                    continue  # it shares the opinion of another one
                # 太慢太慢, 足，足，足 of one mention of an aspect is said once
                said = (triplet.aspect.spans, triplet.opinion.text, triplet.polarity)
                out.setdefault(said if self._rules.natural else triplet.key, triplet)
        return self._add_labels(doc, read, list(out.values())) if self._rules.functions else tuple(out.values())

    def _add_labels(self, doc: Doc, read: Sequence[ReadClause], made: list[Triplet]) -> tuple[Triplet, ...]:
        """The triplets, where what functions say of an opinion goes before what other rules and later functions do."""
        labelled: dict[object, Triplet] = {}
        for triplet in [self._write_label(doc, label) for label in self._label(read)]:
            if all(triplet.rules == own.rules or not shared(triplet.opinion, own.opinion) for own in labelled.values()):
                labelled.setdefault(triplet.key, triplet)
        left = [one for one in made if not any(shared(one.opinion, own.opinion) for own in labelled.values())]
        return tuple(sorted([*left, *labelled.values()], key=lambda triplet: triplet.opinion.end))

    def _label(self, read: Sequence[ReadClause]) -> Iterator[Labelled]:
        """What functions of Python say of the clauses that ask nothing."""
        for clause in read:
            if not clause.asked:
                yield from label_clause(self._rules.functions, clause.items)

    def _write_label(self, doc: Doc, label: Labelled) -> Triplet:
        first, last = label.opinion[0], label.opinion[-1]
        aspect = make_element(doc.text, ((label.aspect[0].start, label.aspect[-1].end),))
        opinion = full = make_element(doc.text, ((first.start, last.end),))
        if first is last and first.phrase is not None:
            opinion, full = make_opinion(doc.text, label.opinion, 0, self._rules.words)
        term, valence = label.aspect[-1].term, VALENCES[label.polarity]
        reasons = Reasons(
            ReadWord(opinion.text, None, label.rule.where, valence),
            aspect=ReadWord(aspect.text, (term and term.cls) or None),
            pairing="a function of Python",
        )
        rules = (label.rule.name,)
        return Triplet(aspect, aspect, opinion, full, label.polarity, valence, rules=rules, reasons=reasons)

    def votes(self, doc: Doc) -> Iterator[tuple[str | None, dict[str, int]]]:
        """For each opinion the rule that decides, and by rule the place of the aspect that it would choose."""
        read = self.read(doc)
        for scene, pairing, _ in self._pair_all(doc, read):
            places = {choice.rule: choice.aspects[0].start for choice in self._find_choices(scene)}
            yield (pairing.rule if pairing else None), places
        for label in self._label(read):
            yield label.rule.name, {label.rule.name: label.aspect[0].start}

    def find_refusals(self, doc: Doc) -> list[Refusal]:
        """The opinion words that judge or state nothing, and the aspects that nothing is said of, in text order."""
        refused: list[Refusal] = []
        for clause in read_clauses(doc, self._rules, refused):
            for index, item in enumerate(clause.items):
                if item.phrase is not None and (rule := self._rules.unstated.find_phrase(clause.items, index)):
                    refused.append(Refusal(item.start, item.end, (rule,)))
        return sorted(refused)

    def weigh(self, doc: Doc, proposed: Sequence[Triplet]) -> list[Triplet | None]:
        """What models propose for a document, with the spans and polarity of the rules (`engine.weighing`)."""
        if not proposed:
            return []
        clauses = read_clauses(doc, self._rules)
        opinions, unstated = [], set[int]()
        for clause in clauses:
            for index, item in enumerate(clause.items):
                if item.phrase is not None:
                    opinions.append((item, *make_opinion(doc.text, clause.items, index, self._rules.words)))
                    if self._is_unstated(clause, index):
                        unstated.add(item.start)
        read = Read(opinions, frozenset(unstated), [item for clause in clauses for item in clause.items])
        weighed = (weigh(doc.text, read, triplet, self._weight) for triplet in proposed)
        return [own and self._state(own) for own in weighed]

    def excepts(self, triplet: Triplet) -> bool:
        """Whether a rule of kind `exception` names it."""
        return triplet.aspect.text in self._rules.exceptions.get(triplet.opinion.text, ())

    def value(self, triplet: Triplet) -> Triplet:
        """A triplet with the valence that the lexicon gives its opinion everywhere, where that is of its polarity."""
        stated = self._state(triplet)
        return stated if stated.polarity == triplet.polarity else triplet

    def _state(self, proposed: Triplet) -> Triplet:
        """A proposal whose opinion the rules do not read here, with the value that the lexicon gives it everywhere."""
        entry = self._lexicon.opinions.get(proposed.opinion.text)
        if proposed.reasons or entry is None or entry.category == CONTEXT_ONLY or entry.word in self._lexicon.context:
            return proposed
        return replace(proposed, polarity=polarity_of(entry.valence), valence=entry.valence)

    def _weight(self, phrase: Phrase, term: Term, aspect: str) -> tuple[float, Reasons] | None:
        """What a phrase is worth of an aspect; None of a word that needs a context (重, 近), where there is none."""
        if (
            phrase.entry.category == CONTEXT_ONLY
            and find_context_row(phrase.entry.word, term, aspect, self._lexicon) is None
            and not self._exceeds(phrase, term)
        ):
            return None
        return judge_valence(phrase, term, aspect, self._lexicon, self._rules.valences)

    def _exceeds(self, phrase: Phrase, term: Term) -> bool:
        """Whether a degree word gives a phrase a value of its own, in whatever context (太淺)."""
        rules = (rule for rule in self._rules.valences if rule.without_context)
        return any(rule.applies(phrase.entry.valence, phrase, term, phrase.degrees) for rule in rules)

    def _is_unstated(self, clause: ReadClause, index: int) -> bool:
        """Whether a wish, a condition or a question takes opinion `index` out of what is stated; 湯都冷了？ blames."""
        weight = self._weight(clause.items[index].own_phrase, Term(""), "") if clause.doubted else None
        if clause.asked or (clause.doubted and (weight is None or polarity_of(weight[0]) != "NEG")):
            return True
        return self._rules.unstated.find_phrase(clause.items, index) is not None

    def _pair_all(self, doc: Doc, clauses: Sequence[ReadClause]) -> Iterator[tuple[Scene, AspectChoice | None, bool]]:
        """Each opinion in text order with its aspects, and whether something takes these out of what is stated."""
        lists, described = self._rules.lists, set[int]()
        topic: Topic | None = None
        begun: Aspects = ()
        for number, clause in enumerate(clauses):
            paired: Aspects = ()
            topic = lists.resume_list(clause.items, topic, begun)
            behind = clauses[number + 1].items if number + 1 < len(clauses) else ()
            line = "".join([item.symbol for item in clause.items])
            for index, item in enumerate(clause.items) if OPINION in line else ():
                if item.phrase is None:
                    continue
                marked = line[:index] + CURRENT + line[index + 1 :]
                scene = Scene(doc, clauses, number, line, marked, index, topic, described)
                pairing = self._single_out(scene, self._pair(scene), behind)
                if pairing is not None:
                    paired += pairing.aspects
                    before = lists.find_listed(clause.items, pairing.aspects, begun) if begun else ()
                    pairing = self._add_fitting(scene, pairing, before)
                    described |= {about.start for about in pairing.aspects}
                yield scene, pairing, pairing is not None and self._is_unstated(clause, index)
            begun = lists.open_list(clause.items, begun, clause.mark)
            topic = lists.next_topic(clause.items, paired, topic, clause.label)

    def _pair(self, scene: Scene) -> AspectChoice | None:
        """The aspects of an opinion: what the first rule finds if that is sure, else the best candidate, if any. Those
        coordinated with the chosen one share the opinion.
        """
        pairing, clause = next(self._find_choices(scene), None), scene.items
        decision = self._rules.decision
        if decision is not None and (pairing is None or pairing.rule not in decision.rule.sure):
            proposal = pairing and (pairing.rule, pairing.aspects[0])
            weighed = weigh_candidates(scene, proposal, partial(self._fits, scene), decision)
            if weighed and self._observe is not None:
                self._observe(scene.opinion, weighed)
            if not weighed or weighed[0].score <= 0:
                return None
            if pairing is None or weighed[0].aspect is not pairing.aspects[0]:
                pairing = AspectChoice((weighed[0].aspect,), "the best of all candidates", decision.name)
                clause = weighed[0].clause
            pairing = pairing._replace(weighed=weighed)
        return pairing and self._share(scene, pairing, clause)

    def _single_out(self, scene: Scene, pairing: AspectChoice | None, behind: Units) -> AspectChoice | None:
        """都很好吃，尤其是湯: the pairing, with what the clause behind names as that of which it holds above all."""
        no_choice = AspectChoice((), "named behind the opinion", self._rules.conjunction)
        named = self._rules.lists.find_singled(scene.items, scene.at, behind)
        choice = self._add_fitting(scene, pairing or no_choice, named)
        return choice if choice.aspects else None

    def _share(self, scene: Scene, pairing: AspectChoice, clause: Units) -> AspectChoice:
        """The pairing with what its aspect's clause coordinates with that aspect, where it is one."""
        aspect, opinion = pairing.aspects[0], scene.opinion
        if not self._rules.conjunction or len(pairing.aspects) > 1:
            return pairing
        coordinated = self._rules.lists.find_coordinated(clause, aspect)
        if aspect.start >= opinion.end and scene.symbols[scene.at + 1 : scene.at + 2] == DE:
            coordinated = keep_kind(aspect, coordinated)
        return self._add_fitting(scene, pairing, coordinated)

    def _add_fitting(self, scene: Scene, pairing: AspectChoice, more: Aspects) -> AspectChoice:
        """The pairing with those of other aspects that the opinion can describe."""
        fitting = [one for one in more if one not in pairing.aspects and self._fits(scene, one)]
        return pairing._replace(aspects=(*pairing.aspects, *fitting)) if fitting else pairing

    def _find_choices(self, scene: Scene) -> Iterator[AspectChoice]:
        """The answers of the rules, in their order, that find an aspect which the opinion can describe."""
        category = scene.opinion.own_phrase.entry.category
        for name, pairer in self._find_pairers(category, ASPECT in scene.symbols):
            choice = pairer(scene)
            if choice and self._fits(scene, choice.aspects[0]):
                yield choice._replace(rule=name)

    def _fits(self, scene: Scene, aspect: Constituent) -> bool:
        """Selectional preference: a taste word does not describe a waiter. What no rule speaks of fits all."""
        phrase, term = scene.opinion.own_phrase, aspect.own_term
        if self._rules.exceptions:  # as good as never, and this is asked of every candidate
            word = scene.doc.text[aspect.start + term.lead : aspect.end]
            if word in self._rules.exceptions.get(make_core(scene.doc.text, phrase).text, ()):
                return False
        if find_context_row(phrase.entry.word, term, aspect.word, self._lexicon) is not None:
            return True
        if phrase.entry.category == CONTEXT_ONLY:
            return self._exceeds(phrase, term)
        return self._rules.can_describe(phrase.entry.category, term.cls)

    def _make_triplet(self, doc: Doc, scene: Scene, aspect: Constituent, rule: str, pairing: AspectChoice) -> Triplet:
        item = scene.opinion
        term, phrase = aspect.own_term, item.own_phrase
        value, reasons = judge_valence(phrase, term, aspect.word, self._lexicon, self._rules.valences)
        steps = dependency_path(doc.tokens, aspect.last, last_core_token(doc.tokens, item))
        candidates, margin = rank_candidates(pairing.weighed, aspect)
        first = find_full_start(scene.items, aspect, self._rules.words.entries["DETERMINERS"])
        start = aspect.start + term.lead
        aspect_full = make_element(doc.text, ((first, aspect.end),))
        short = aspect_full if first == start else make_element(doc.text, ((start, aspect.end),))
        opinion, opinion_full = make_opinion(doc.text, scene.items, scene.at, self._rules.words, aspect)
        if self._rules.natural:
            opinion_full = cut_out(doc.text, opinion_full, (aspect.start, aspect.end))
        return Triplet(
            aspect=short,
            aspect_full=aspect_full,
            opinion=opinion,
            opinion_full=opinion_full,
            polarity=polarity_of(value),
            valence=round(value, 2),
            owner=make_element(doc.text, (term.owner,)) if term.owner and term.owner[0] >= start else None,
            rules=(rule,),
            reasons=replace(
                reasons,
                aspect=read_aspect(aspect, self._lexicon.aspects),
                negators=tuple([doc.text[start:end] for start, end in phrase.negators]),
                pairing=pairing.detail,
                candidates=candidates,
                margin=margin,
                path=None if steps is None else tuple(steps),
            ),
        )
