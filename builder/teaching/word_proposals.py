"""Words that a domain may lack, for a person to answer: what the shipped model finds in raw reviews.

In: texts, the lexicon of the domain below. Out: `Proposal`s. The model knows no lexicon and reads some of the reviews.
A word is proposed that it takes for an aspect or an opinion, that several reviews hold, and no table. Sentences that
came before word by word are a page's, not a person's, and are read once.

What each word of a pack changes in raw reviews, before it is kept.

In: texts, the folder of a pack. Out: a `WordEffect` for each word that changes something. The rules read the texts with
and without the pack, and a difference counts for every word of the pack that stands in it. A word whose readings are
more often lost, shortened or turned than gained does harm, however right it is by itself.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

from builder.core.edges import clashes
from builder.core.records import Triplet
from builder.core.wording import counted
from builder.engine.reader import Recipe, make_reader
from builder.language.lexicon.categories import guess_class, like_name
from builder.language.lexicon.domain_sheet import Proposal
from builder.language.lexicon.folders import Folders
from builder.language.lexicon.packs import Pack
from builder.language.lexicon.resources import Lexicon
from builder.pipeline.rule_report import quote
from builder.reviews.place_names import is_word, tagged
from builder.reviews.script import HAN, converter
from builder.reviews.text import View, view

# ---- Proposals

_READ = 100_000
"""The model reads so many characters, some three minutes of a core: half of them in reviews that lie evenly, half in
those that hold words which it has found too seldom.
"""
_SENTENCE = re.compile(r"[^。！？!?；;：:\n\[\]【】()（）]+")
_DIGITS = re.compile(r"[0-9０-９]+")
_REPEATED = 8
"""A sentence of so many characters is blanked where it came before."""
_LONGEST = {"aspect": 8, "opinion": 4}
_SINGLE = 5
"""A character is proposed as an opinion where the model finds it in so many reviews."""
_FLOOR = 0.2
"""Less probable opinions are not asked about."""
_LATIN = re.compile(r"[a-z]{2,12}")
_NAMES = frozenset(["nr", "ns", "nt"])
_NO_WORDS = frozenset(["t", "m", "q", "c", "d", "p", "r"])
"""What the dictionary calls times, numbers, measures, and words that neither name nor judge."""
_SURE = 0.4
"""An opinion of this confidence may be a noun or a name to the dictionary, which knows few opinions (彈牙, 鮮香)."""
_PARTICLES = frozenset("了點些")
_DENIALS = ("沒有", "不是")
"""An opinion that begins so is a statement of its own: 沒有湯."""
_SIGNS = {"POS": 1, "NEG": -1, "NEU": 0}


def blank_repeated(texts: Sequence[str]) -> list[str]:
    """The texts with spaces in place of sentences that another text has before: headings, dates and other words of the
    page, reviews that came twice. Numbers in them may differ.
    """
    seen: set[str] = set()

    def blank(match: re.Match[str]) -> str:
        sentence = _DIGITS.sub("0", match[0].strip())
        if len(match[0].strip()) < _REPEATED or sentence not in seen:
            new.add(sentence)
            return match[0]
        return " " * len(match[0])

    out = []
    for text in texts:
        new: set[str] = set()
        out.append(_SENTENCE.sub(blank, text))
        seen |= new
    return out


@dataclass(frozen=True, slots=True)
class Found:
    """An aspect or an opinion in a view: [start, end), an opinion without words of degree before it. `sign` is what an
    opinion says: 1, -1, or 0 for neither.
    """

    kind: str
    start: int
    end: int
    sign: int = 0


@dataclass(slots=True)
class _Mentions:
    """The reviews in which a model finds a word, with its place there, and the sum of its signs."""

    places: dict[int, tuple[int, int]] = field(default_factory=dict)
    signs: int = 0

    @property
    def polarity(self) -> str:
        mean = self.signs / len(self.places)
        return "NEU" if abs(mean) < 1 / 2 else "POS" if mean > 0 else "NEG"


def propose_words(texts: Sequence[str], lexicon: Lexicon, support: int) -> list[Proposal]:
    """Words that the lexicon does not hold and `support` reviews do: aspects that the shipped model finds in so many,
    and opinions that it finds in one. It reads `_READ` characters altogether.
    """
    from builder.models.shipped import open_reader

    reader, findings = open_reader(), dict[int, list[Found]]()
    views = [view(text, lexicon.variants) for text in texts]
    total, half = sum(len(own.text) for own in views), _READ // 2

    def read(chosen: Sequence[int]) -> None:
        predicted = reader.predict([views[at].text for at in chosen])
        findings.update((at, locate(triplets, lexicon)) for at, triplets in zip(chosen, predicted, strict=True))

    read(range(0, len(views), 1 if total <= _READ else -(-total // half)))
    if len(findings) < len(views):
        read(choose_reviews(views, findings, lexicon, support, half))
    return choose_words(texts, views, findings, lexicon, support)


def choose_reviews(
    views: Sequence[View], findings: Mapping[int, Sequence[Found]], lexicon: Lexicon, support: int, most: int
) -> list[int]:
    """The reviews that are worth reading besides, of `most` characters altogether: those that hold most of the aspects
    that were found in fewer than `support` reviews, for their length.
    """
    mentions = _gather(views, findings)
    rare = [
        word
        for (kind, word), own in mentions.items()
        if kind == "aspect" and len(own.places) < support and can_be_proposed(kind, word, lexicon)
    ]
    held = {
        at: count
        for at, own in enumerate(views)
        if at not in findings and (count := sum(map(own.text.lower().__contains__, rare)))
    }
    chosen = []
    for at in sorted(held, key=lambda at: (-held[at] / len(views[at].text), at)):
        if len(views[at].text) > most:
            continue
        most -= len(views[at].text)
        chosen.append(at)
    return chosen


def _gather(views: Sequence[View], findings: Mapping[int, Sequence[Found]]) -> dict[tuple[str, str], _Mentions]:
    """What was found, by kind and word."""
    mentions: dict[tuple[str, str], _Mentions] = {}
    for at, own_findings in findings.items():
        for one in own_findings:
            own = mentions.setdefault((one.kind, views[at].text[one.start : one.end].lower()), _Mentions())
            if at not in own.places:
                own.places[at] = one.start, one.end
                own.signs += one.sign
    return mentions


def choose_words(
    texts: Sequence[str], views: Sequence[View], findings: Mapping[int, Sequence[Found]], lexicon: Lexicon, support: int
) -> list[Proposal]:
    """The proposals of what a model found, by index of the text, in some of the views."""
    mentions = _gather(views, findings)
    counts = {key: len(own.places) for key, own in mentions.items()}
    lower = [own.text.lower() for own in views]
    out = []
    for (kind, word), own in mentions.items():
        named, is_aspect = counts[kind, word], kind == "aspect"
        other = counts.get(("opinion" if is_aspect else "aspect", word), 0)
        least = _SINGLE if len(word) == 1 else support if is_aspect else 1
        if named < least or named <= other or not can_be_proposed(kind, word, lexicon, counts):
            continue
        reviews, holding = sum(word in text for text in lower), sum(word in lower[at] for at in findings)
        confidence = named / ((named if is_aspect else holding) + 2)
        if reviews < support or (not is_aspect and confidence < (_SURE if _is_named(word) else _FLOOR)):
            continue
        is_whole = _is_no_measure if is_aspect else _stands_alone
        places = (one for one in own.places.items() if is_whole(views[one[0]].text, *one[1]))
        if (shown := next(places, None)) is None:
            continue
        at, (start, end) = shown[0], views[shown[0]].to_source(shown[1])
        meaning = guess_class(word, lexicon) if is_aspect else own.polarity
        evidence = f"found in {named} of {counted(holding, 'review')} that the model read and that hold it"
        sentence = quote(texts[at], start, end)
        out.append(Proposal(kind, texts[at][start:end], meaning, round(confidence, 3), reviews, evidence, sentence))
    return out


def _stands_alone(text: str, start: int, end: int) -> bool:
    """Whether no word of the dictionary reaches across an end of a part of a text: 心悅目 is a part of 賞心悅目."""
    at = 0
    for word, _ in tagged(converter("t2s")(text)):
        past = at + len(word)
        if is_word(word) and (at < start < past or at < end < past):
            return False
        at = past
    return True


def _is_no_measure(text: str, start: int, end: int) -> bool:
    """Whether no number stands before a part of a text: 吋筆電 is a part of 14吋筆電."""
    return not text[max(0, start - 1) : start].isdecimal()


def _is_named(word: str) -> bool:
    """Whether the dictionary calls a word a noun or the name of a person or a place."""
    tags = [tag for _, tag in tagged(converter("t2s")(word))]
    return tags == ["n"] or tags[0] in _NAMES


def locate(triplets: Sequence[Triplet], lexicon: Lexicon) -> list[Found]:
    """The aspects and opinions of triplets in a view."""
    out = []
    for triplet in triplets:
        out.append(Found("aspect", *triplet.aspect.spans[-1]))
        if len(triplet.opinion.spans) > 1:
            continue  # what stands between is a part of it: no word
        word, end = triplet.opinion.text, triplet.opinion.spans[0][1]
        while word not in lexicon.opinions:
            heads = [word[:cut] for cut in range(1, len(word)) if word[:cut] in lexicon.degree]
            if not heads:
                break
            word = word.removeprefix(heads[-1])
        out.append(Found("opinion", end - len(word), end, _SIGNS[triplet.polarity]))
    return out


def can_be_proposed(
    kind: str, word: str, lexicon: Lexicon, counts: Mapping[tuple[str, str], int] = MappingProxyType({})
) -> bool:
    """Whether a word may be new: no table holds it, it is not put together of words that are known or that as many
    reviews hold by `counts`, and it is no time and no function word. An aspect is no name of a person or a place. An
    opinion begins with no adverb and no measure; two of a character each are a word (細嫩).
    """
    own, is_aspect = lexicon, kind == "aspect"
    known = (own.opinions, own.aspects, own.degree, own.negators, own.irrealis, own.general, own.not_aspects)
    wordlike = all(map(HAN.match, word)) or (is_aspect and _LATIN.fullmatch(word))
    if not wordlike or len(word) > _LONGEST[kind] or "的" in word or _is_in(word, known):
        return False
    if is_aspect and (len(word) == 1 or like_name(word)):
        return False
    heads: Sequence[Collection[str]] = (own.opinions, own.aspects) if is_aspect else (own.negators, own.degree)
    if not is_aspect and len(word) > 2:
        heads = (own.opinions, *heads)
    tails: Sequence[Collection[str]] = (own.opinions, own.aspects if is_aspect else _PARTICLES)
    least = counts.get((kind, word), 1)
    for cut in range(2 if is_aspect else 1, len(word)):
        first, last = word[:cut], word[cut:]
        begins = _is_in(first, heads) or (len(word) > 2 and counts.get((kind, first), 0) >= least)
        if begins and (_is_in(last, tails) or counts.get((kind, last), 0) >= least):
            return False
        if not is_aspect and first in _DENIALS:
            return False
    tags = [tag for _, tag in tagged(converter("t2s")(word))]
    if not is_aspect:
        return tags[0] not in _NO_WORDS
    return len(tags) > 1 or tags[0] not in _NO_WORDS | _NAMES


def _is_in(word: str, tables: Iterable[Collection[str]]) -> bool:
    return any(word in table for table in tables)


# ---- Effects


@dataclass(frozen=True, slots=True)
class WordEffect:
    """So many triplets that a word adds, drops, shortens in aspect or opinion, and turns to another polarity."""

    word: str
    added: int
    dropped: int
    shortened: int
    turned: int

    @property
    def loses(self) -> bool:
        """Whether it harms more readings than it adds."""
        return self.dropped + self.shortened + self.turned > self.added

    def __str__(self) -> str:
        """
        >>> str(WordEffect("取景", 1, 0, 3, 0))
        '取景: 1 added, 3 shortened'
        """
        counts = {"added": self.added, "dropped": self.dropped, "shortened": self.shortened, "turned": self.turned}
        return f"{self.word}: {', '.join(f'{count} {name}' for name, count in counts.items() if count)}"


def measure_words(texts: Sequence[str], words: Collection[str], folder: Path) -> list[WordEffect]:
    """What words of the pack in `folder` change in texts, the most harmful first. `words` as lexicons write them."""
    readers = [make_reader(Recipe(folders=Folders(domain=domain))) for domain in (Pack("", folder).below, str(folder))]
    before, after = (reader.extract(texts) for reader in readers)
    counts: dict[str, Counter[str]] = {}
    for old, new in zip(before, after, strict=True):
        for effect, triplets in _compare(old, new):
            shown = "\n".join(_show(triplet, readers[0].lexicon) for triplet in triplets)
            for word in words:
                if word in shown:
                    counts.setdefault(word, Counter())[effect] += 1
    effects = [
        WordEffect(word, *(count[name] for name in ("added", "dropped", "shortened", "turned")))
        for word, count in counts.items()
    ]
    return sorted(effects, key=lambda one: (one.added - one.dropped - one.shortened - one.turned, one.word))


def _compare(old: Sequence[Triplet], new: Sequence[Triplet]) -> list[tuple[str, tuple[Triplet, ...]]]:
    """What became of the triplets of a text, each difference with the triplets in which it shows."""
    out: list[tuple[str, tuple[Triplet, ...]]] = []
    for triplet in old:
        others = [other for other in new if clashes(triplet, other)]
        if not others:
            out.append(("dropped", (triplet,)))
        elif all(other.polarity != triplet.polarity for other in others):
            out.append(("turned", (triplet, others[0])))
        elif all(_is_shorter(other, triplet) for other in others):
            out.append(("shortened", (triplet, others[0])))
    out += [("added", (triplet,)) for triplet in find_new(new, old)]
    return out


def find_new(own: Sequence[Triplet], other: Sequence[Triplet]) -> list[Triplet]:
    """The triplets of a reading that speak of no place of which another reading speaks."""
    return [triplet for triplet in own if not any(clashes(triplet, known) for known in other)]


def _is_shorter(triplet: Triplet, other: Triplet) -> bool:
    pairs = ((triplet.aspect_full, other.aspect_full), (triplet.opinion_full, other.opinion_full))
    return any(mine.text != its.text and mine.text in its.text for mine, its in pairs)


def _show(triplet: Triplet, lexicon: Lexicon) -> str:
    return view(f"{triplet.aspect_full.text}\n{triplet.opinion_full.text}", lexicon.variants).text.lower()
