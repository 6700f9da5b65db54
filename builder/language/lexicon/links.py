"""What a corpus says about each word: how it is used and what it is linked to, counted in one pass.

In: documents. Out: `Uses` by word. The links are those of double propagation (Qiu, Liu, Bu & Chen 2011, Computational
Linguistics 37(1), table 1: opinion-target, opinion-opinion and target-target relations), read from the dependency
tree and, because reviews are short and parsers err on them, from the order of words in a clause (ASPECT DEGREE word;
word 的 ASPECT). Beside them count the aspects and opinions that a model found in some of the reviews (`Found`). Memory
grows with the vocabulary, not with the corpus; of the texts only (review, offset) is kept.

An annotated review as induction reads it: clauses of slots, each with the role that the lexicon or its tag gives it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

from builder.core.records import Token
from builder.language.lexicon.categories import like_name
from builder.language.lexicon.resources import AGAINST, Lexicon
from builder.reviews.script import HAN
from builder.reviews.text import Clause

Role = Literal[
    "opinion", "aspect", "degree", "post", "negator", "unreal", "known", "noun", "adjective", "verb", "other", "mark"
]
CANDIDATES: frozenset[Role] = frozenset({"noun", "adjective", "verb"})
_CONTRAST = ("可惜", "唯一", "除了", "缺點")
"""What opens a contrast as well, beside the words of contrast.tsv; these say more than that."""
_ROLES: dict[str, Role] = {
    "NOUN": "noun",
    "PROPN": "noun",
    "ADJ": "adjective",
    "VERB": "verb",
    "PUNCT": "mark",
    "SYM": "mark",
    "SPACE": "mark",
}
_MAX_WORD = 12


class ParsedReview(Protocol):
    """What `engine.Doc` is: a view's text with its tokens and clauses."""

    @property
    def text(self) -> str:
        """The view's text."""

    @property
    def tokens(self) -> Sequence[Token]:
        """Its tokens, which tile it."""

    @property
    def clauses(self) -> Sequence[Clause]:
        """Its clauses, in order."""


@dataclass(frozen=True, slots=True)
class Found:
    """An aspect or an opinion that a model finds: [start, end) of the view, an opinion without its negator. `sign` is
    what the opinion says of its aspect without that negator: 1, -1 or 0 for neither.
    """

    start: int
    end: int
    is_opinion: bool
    sign: int = 0


NOTHING_FOUND: Mapping[int, Sequence[Found]] = {}
"""Where no model read along."""


@dataclass(frozen=True, slots=True)
class Slot:
    """A word of a clause: [start, end) of the view, lower-case word, role, tag, and the tokens first..last."""

    start: int
    end: int
    word: str
    role: Role
    pos: str
    first: int
    last: int

    @property
    def nominal(self) -> bool:
        """Whether the word is a noun, known as an aspect or not."""
        return self.role in ("aspect", "noun") or (self.role == "known" and self.pos in ("NOUN", "PROPN"))


def clauses(doc: ParsedReview, lexicon: Lexicon, joined: Mapping[str, str] = {}) -> Iterator[tuple[Clause, list[Slot]]]:
    """The slots of each clause; marks and spaces have none. `joined`: words beside those of the lexicon that are one
    slot, with their tag: NOUN, or PHRASE of an expression that judges.
    """
    at = 0
    for clause in doc.clauses:
        while at < len(doc.tokens) and doc.tokens[at].start < clause.start:
            at += 1
        stop = at
        while stop < len(doc.tokens) and doc.tokens[stop].end <= clause.end:
            stop += 1
        yield clause, [slot for slot in _slots(doc, at, stop, lexicon, joined) if slot.role != "mark"]
        at = stop


def _slots(doc: ParsedReview, first: int, stop: int, lexicon: Lexicon, joined: Mapping[str, str]) -> Iterator[Slot]:
    i = first
    while i < stop:
        start = doc.tokens[i].start
        last = i
        while last + 1 < stop and doc.tokens[last + 1].end - start <= _MAX_WORD:
            last += 1
        role: Role | None = None
        while role is None:
            word = doc.text[start : doc.tokens[last].end].lower()
            role = _find_role(word, lexicon)
            if role is None and word in joined:
                role = _ROLES.get(joined[word], "verb")
            elif role is None and last == i:
                role = _ROLES.get(doc.tokens[i].pos, "other")
            elif role is None:
                last -= 1
        pos = doc.tokens[last].pos if role not in ("noun", "verb") else joined.get(word, doc.tokens[last].pos)
        yield Slot(start, doc.tokens[last].end, word, role, pos, i, last)
        i = last + 1


def _find_role(word: str, lexicon: Lexicon) -> Role | None:
    if lexicon.contrast.get(word) in AGAINST:
        return "known"  # before negators: 不過 is one now and then
    if word in lexicon.degree:
        return "post" if lexicon.degree[word] == "post" else "degree"
    if word in lexicon.negators:
        return "negator"
    if word in lexicon.opinions:
        return "opinion"
    if word in lexicon.aspects:
        return "aspect"
    if word in lexicon.irrealis:
        return "unreal"
    return "known" if word in lexicon.not_aspects or word in lexicon.general else None


def openers(lexicon: Lexicon) -> tuple[str, ...]:
    """What a clause opens with that stands against what was said before: 但, 可是, 不過 …"""
    return (*(word for word, kind in lexicon.contrast.items() if kind in AGAINST), *_CONTRAST)


def contrasts(doc: ParsedReview, clause: Clause, openers: tuple[str, ...]) -> bool:
    """Whether a clause opens so, or says 卻."""
    return doc.text.startswith(openers, clause.start) or (
        HAN.match(doc.text[clause.start]) is not None and "卻" in doc.text[clause.start : clause.end]
    )


SNIPPETS = 3
_SUBJECT, _MODIFIER = ("nsubj", "nsubjpass"), ("amod", "acl", "acl:relcl")
_JOINTS = frozenset(["、", "和", "跟", "與", "及", "以及", "又", "且", "而", "也", "還", "又是", "&"])
_CLOSERS = frozenset(
    [
        "了",
        "的",
        "啊",
        "啦",
        "喔",
        "哦",
        "呢",
        "吧",
        "欸",
        "耶",
        "呀",
        "嘍",
        "囉",
        "唷",
        "噢",
        "嗎",
        "吼",
        "哈",
        "呵",
        "哇",
        "咧",
        "餒",
    ]
)
_LONGEST, _PARTS = 6, 4


@dataclass(slots=True)
class Uses:
    """How a word is used.

    `degree` and `negated`: right behind a degree word (and closing its phrase) or a negator; `graded`: so with its
    subject before it. `final`: closing its clause; `open`: its neighbours cannot be the rest of a longer word;
    `counted`: behind a number. `described` are the nouns that it may describe, `describing` (of a noun) the words
    that may describe it, `peers` what it is coordinated with. `near` and `far` sum, by opinion word, the signs under
    which that one stands in the same and in a neighbouring clause (negators and contrast turn a sign). `rated`
    reviews with `stars` in sum use it. A model read `read` of its uses; in `named` of them it found an aspect that ends
    in the word, in `judging` an opinion that is the word, whose signs add up to `praise`.
    """

    count: int = 0
    reviews: int = 0
    seen: int = -1
    degree: int = 0
    negated: int = 0
    final: int = 0
    open: int = 0
    counted: int = 0
    tags: Counter[str] = field(default_factory=Counter)
    described: Counter[str] = field(default_factory=Counter)
    graded: int = 0
    describing: Counter[str] = field(default_factory=Counter)
    peers: Counter[str] = field(default_factory=Counter)
    near: Counter[str] = field(default_factory=Counter)
    far: Counter[str] = field(default_factory=Counter)
    rated: int = 0
    stars: float = 0.0
    snippets: list[tuple[int, int]] = field(default_factory=list)
    read: int = 0
    named: int = 0
    judging: int = 0
    praise: int = 0


def gather(
    docs: Iterable[ParsedReview],
    lexicon: Lexicon,
    ratings: Mapping[int, float],
    found: Mapping[int, Sequence[Found]] = NOTHING_FOUND,
    joined: Mapping[str, str] = {},
) -> dict[str, Uses]:
    """The uses of every content word and of every candidate phrase in the corpus. By index of the review `ratings` are
    stars, `found` is what a model finds in those that it read; `joined` as in `clauses`.
    """
    uses: dict[str, Uses] = {}
    against = openers(lexicon)
    for index, doc in enumerate(docs):
        before: list[tuple[Slot, int]] = []
        sentence = -1
        for clause, read_slots in clauses(doc, lexicon, joined):
            slots = _with_phrases(_with_compounds(read_slots, doc.text, lexicon, joined), doc.text)
            for slot in slots:
                _count(uses, slot, index, ratings.get(index))
                if index in found:
                    _count_found(uses[slot.word], slot, found[index])
            _order(uses, slots, index)
            _tree(uses, slots, doc)
            signs = _signs(slots)
            flip = -1 if contrasts(doc, clause, against) else 1
            for slot, sign in signs:
                _neighbours(uses[slot.word].near, slot, sign, signs)
                if clause.sentence == sentence:
                    _neighbours(uses[slot.word].far, slot, sign * flip, before)
                    for other, other_sign in before:
                        _neighbours(uses[other.word].far, other, other_sign * flip, [(slot, sign)])
            before, sentence = signs, clause.sentence
    return uses


def _with_compounds(slots: list[Slot], text: str, lexicon: Lexicon, joined: Mapping[str, str]) -> list[Slot]:
    """Neighbouring nouns of which one is unknown become one slot, should they be one name (石鍋 + 肥牛)."""
    out: list[Slot] = []
    for slot in slots:
        last = out[-1] if out else None
        if (
            last is None
            or last.end != slot.start
            or last.role == slot.role == "aspect"
            or slot.end - last.start > _LONGEST
            or last.word in joined
            or slot.word in joined
        ):
            out.append(slot)
            continue
        if (
            last.role not in ("noun", "aspect", "adjective")
            or slot.role not in ("noun", "aspect")
            or not (_dish(last, lexicon) and _dish(slot, lexicon))
        ):
            out.append(slot)
            continue
        tag = slot.pos if slot.role == "aspect" or slot.pos == last.pos else "NOUN"
        out[-1] = Slot(last.start, slot.end, text[last.start : slot.end].lower(), "noun", tag, last.first, slot.last)
    return out


def _dish(slot: Slot, lexicon: Lexicon) -> bool:
    """Whether a word may be part of a thing's name: a thing, a part of names, or an unknown word that is no name."""
    if slot.role == "aspect":
        return lexicon.role(slot.word) in ("thing", "generic", "kind", "part")
    if len(slot.word) == 1:
        return lexicon.morphemes.get(slot.word) in ("noun", "adjective", "verb")
    return not like_name(slot.word, float(slot.pos == "PROPN"), lexicon)


def _with_phrases(slots: list[Slot], text: str) -> list[Slot]:
    """Slots plus one for the words that close a clause behind a degree word or an aspect (打不進去), should they be one
    expression.
    """
    end = len(slots)
    while (end and slots[end - 1].word in _CLOSERS) or (end and slots[end - 1].role == "post"):
        end -= 1
    start = end
    while (
        start
        and end - start < _PARTS
        and (slots[start - 1].role in CANDIDATES or slots[start - 1].role in ("other", "negator", "known"))
    ):
        start -= 1
    opener = slots[start - 1].role if start else "other"
    if opener not in ("degree", "aspect") or end - start < 2 or slots[end - 1].end - slots[start].start > _LONGEST:
        return slots
    first, last = slots[start], slots[end - 1]
    possible = any(slot.role == "negator" or slot.word in ("不", "難") for slot in slots[start:end])
    if (
        first.role not in (*CANDIDATES, "negator")
        or not any(slot.role in CANDIDATES for slot in slots[start:end])
        or not (opener == "degree" or possible)
    ):
        return slots
    word = text[first.start : last.end].lower()
    return [*slots[:start], Slot(first.start, last.end, word, "verb", "PHRASE", first.first, last.last), *slots[end:]]


def _count(uses: dict[str, Uses], slot: Slot, index: int, stars: float | None) -> None:
    use = uses.get(slot.word)
    if use is None:
        use = uses[slot.word] = Uses()
    use.count += 1
    use.tags[slot.pos] += 1
    if use.seen != index:
        use.seen = index
        use.reviews += 1
        if stars is not None:
            use.rated += 1
            use.stars += stars
        if len(use.snippets) < SNIPPETS:
            use.snippets.append((index, slot.start))


def _count_found(use: Uses, slot: Slot, found: Sequence[Found]) -> None:
    use.read += 1
    use.named += any(not one.is_opinion and one.start <= slot.start and one.end == slot.end for one in found)
    signs = [one.sign for one in found if one.is_opinion and (one.start, one.end) == (slot.start, slot.end)]
    use.judging += bool(signs)
    use.praise += signs[0] if signs else 0


def _order(uses: dict[str, Uses], slots: Sequence[Slot], index: int) -> None:
    """Links by word order, and the grammatical company of each word."""
    for k, slot in enumerate(slots):
        here = uses[slot.word]
        left = slots[k - 1] if k else None
        here.final += (final := all(s.role == "post" or s.word in _CLOSERS for s in slots[k + 1 :]))
        if left is not None:
            # 很旺, 很旺的店, not 很影響心情: what goes on with an object is a verb like any other.
            here.degree += left.role == "degree" and (final or slots[k + 1].word == "的")
            here.negated += left.role == "negator"
            here.counted += left.pos == "NUM"
        here.open += _open(left, slot, True) and _open(slots[k + 1] if k + 1 < len(slots) else None, slot, False)
        if slot.role in ("opinion", "known") or slot.role in CANDIDATES:
            _subject(uses, slots, k)
            if k + 2 < len(slots) and slots[k + 1].word == "的" and slots[k + 2].nominal:
                _link(uses, slot, slots[k + 2], False)
        if k + 2 < len(slots) and slots[k + 1].word in _JOINTS and slots[k + 2].role not in ("other", "degree"):
            here.peers[slots[k + 2].word] += 1
            uses[slots[k + 2].word].peers[slot.word] += 1


def _open(neighbour: Slot | None, slot: Slot, left: bool) -> bool:
    """Whether the word ends here: at the edge of the clause, or beside what is known to be another word."""
    if neighbour is None or neighbour.word in _CLOSERS or neighbour.word in _JOINTS:
        return True
    if (
        neighbour.role in CANDIDATES
        or (neighbour.role == "other" and len(neighbour.word) == 1)
        or not neighbour.word.isalpha()
    ):
        return False
    return not (
        (slot.nominal and neighbour.role == "aspect")
        or (slot.role in ("adjective", "verb") and neighbour.role == "opinion")
    )


def _subject(uses: dict[str, Uses], slots: Sequence[Slot], k: int) -> None:
    """The noun before a word, over degree words, negators and adverbs only."""
    i, graded = k - 1, False
    while i >= 0 and (
        slots[i].role in ("degree", "negator", "other") or (slots[i].role == "known" and slots[i].pos in ("ADV", "AUX"))
    ):
        graded = graded or slots[i].role == "degree"
        i -= 1
    graded = graded and (k + 1 == len(slots) or slots[k + 1].word in _CLOSERS or slots[k + 1].role == "post")
    if i >= 0 and slots[i].nominal and slots[k].first > slots[i].last:
        _link(uses, slots[k], slots[i], graded)


def _link(uses: dict[str, Uses], word: Slot, noun: Slot, graded: bool) -> None:
    uses[word.word].described[noun.word] += 1
    uses[word.word].graded += graded
    uses[noun.word].describing[word.word] += 1


def _tree(uses: dict[str, Uses], slots: Sequence[Slot], doc: ParsedReview) -> None:
    """Links by dependency that word order does not show: subjects and modifiers that stand apart, coordination."""
    by_token = {token: slot for slot in slots for token in range(slot.first, slot.last + 1)}
    place = {id(slot): k for k, slot in enumerate(slots)}
    for token, slot in by_token.items():
        head, rel = by_token.get(doc.tokens[token].head), doc.tokens[token].rel
        if head is None or head is slot or abs(place[id(head)] - place[id(slot)]) < 2:
            continue
        if rel in _SUBJECT and slot.nominal and not head.nominal:
            _link(uses, head, slot, False)
        elif rel in _MODIFIER and head.nominal and not slot.nominal:
            _link(uses, slot, head, False)
        elif rel == "conj" and slot.nominal == head.nominal:
            uses[slot.word].peers[head.word] += 1
            uses[head.word].peers[slot.word] += 1


def _signs(slots: Sequence[Slot]) -> list[tuple[Slot, int]]:
    """Opinions and candidates with -1 where a negator stands before them, over degree words; under irrealis nothing
    counts.
    """
    out: list[tuple[Slot, int]] = []
    sign = 1
    for slot in slots:
        if slot.role == "unreal":
            return out
        if slot.role == "negator":
            sign = -sign
        elif slot.role == "opinion" or slot.role in CANDIDATES:
            out.append((slot, sign))
            sign = 1
        elif slot.role not in ("degree", "other"):
            sign = 1
    return out


def _neighbours(into: Counter[str], slot: Slot, sign: int, others: Iterable[tuple[Slot, int]]) -> None:
    for other, other_sign in others:
        if other is not slot and other.role in ("opinion", "adjective", "verb"):
            into[other.word] += sign * other_sign
