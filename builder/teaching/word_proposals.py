"""Words that a domain may lack, for a person to answer: from raw reviews and what the shipped model finds in them.

In: readings of reviews by the core alone. Out: `Proposal`s. The model reads some of the reviews and knows no lexicon.
How often it takes a word for an aspect or an opinion is weighed with the word's other uses (`induce`). Sentences that
came before word by word are a page's, not a person's, and are read once.

What each word of a pack changes in raw reviews, before it is kept.

In: texts, the folder of a pack. Out: a `WordEffect` for each word that changes something. The rules read the texts with
and without the pack, and a difference counts for every word of the pack that stands in it. A word whose readings are
more often lost, shortened or turned than gained does harm, however right it is by itself.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from builder.core.edges import clashes
from builder.core.records import Triplet
from builder.engine.reader import Reading, Recipe, make_reader
from builder.language.lexicon.domain_sheet import Proposal, name_polarity
from builder.language.lexicon.folders import Folders
from builder.language.lexicon.induce import InductionSettings, WordCandidate, induce
from builder.language.lexicon.links import Found
from builder.language.lexicon.noun_compounds import PIECE, find_noun_compounds
from builder.language.lexicon.packs import Pack
from builder.language.lexicon.resources import Lexicon
from builder.learning.task import Progress
from builder.pipeline.rule_report import quote
from builder.reviews.script import HAN
from builder.reviews.text import view

# ---- Proposals

_READ = 60_000
"""The model reads so many characters, of reviews that lie evenly: two or three minutes of a core."""
_SENTENCE = re.compile(r"[^。！？!?；;：:\n\[\]【】()（）]+")
_DIGITS = re.compile(r"[0-9０-９]+")
_REPEATED = 8
"""A sentence of so many characters is blanked where it came before."""
_FLOOR = 0.3
"""Less probable words are not asked about."""
_LONGEST = 6
_ALIKE = 5
"""So many known aspects that end in the same character speak for the class of another one."""
_LATIN = re.compile(r"[A-Za-z]")
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


def find_by_model(texts: Sequence[str], lexicon: Lexicon, progress: Progress | None = None) -> dict[int, list[Found]]:
    """What the shipped model finds, by index of the text, in views of `_READ` characters altogether."""
    from builder.models.shipped import open_reader

    step = -(-sum(map(len, texts)) // _READ) or 1
    chosen = range(0, len(texts), step)
    read = open_reader().predict([texts[at] for at in chosen], progress)
    return {at: locate(triplets, lexicon) for at, triplets in zip(chosen, read, strict=True)}


def locate(triplets: Sequence[Triplet], lexicon: Lexicon) -> list[Found]:
    """Aspects and opinions of triplets; an opinion that begins with a negator is what stands behind it."""
    out = []
    for triplet in triplets:
        start, end = triplet.aspect.spans[-1]
        out.append(Found(start, end, False))
        word, sign = triplet.opinion.text, _SIGNS[triplet.polarity]
        end = triplet.opinion.spans[-1][1]
        negators = [word[:cut] for cut in range(1, len(word)) if word[:cut] in lexicon.negators]
        if negators and word not in lexicon.opinions:
            word, sign = word.removeprefix(max(negators, key=len)), -sign
        if triplet.opinion.spans[-1][0] <= end - len(word):
            out.append(Found(end - len(word), end, True, sign))
    return out


def propose_words(
    readings: Sequence[Reading],
    lexicon: Lexicon,
    stars: Mapping[int, float],
    support: int,
    others: Sequence[str],
    found: Mapping[int, Sequence[Found]],
) -> list[Proposal]:
    """Opinions and aspects that the core does not hold. `others` are reviews of another domain, `found` is what a model
    finds.
    """
    docs = [reading.doc for reading in readings]
    names = find_noun_compounds(docs, lexicon, others, support)
    joined = _find_phrases(readings, lexicon, found) | {name.word: "NOUN" for name in names if name.entropy >= PIECE}
    settings = InductionSettings(support=support, floor=_FLOOR, ratings=stars)
    induced = induce(iter(docs), lexicon, settings, found, joined)
    opinions = [_propose(candidate, "opinion", name_polarity(candidate.valence or 5), readings)
                for candidate in induced.opinions]  # fmt: skip
    aspects = [_propose(candidate, "aspect", guess_class(candidate.word, lexicon), readings)
               for candidate in induced.aspects]  # fmt: skip
    return [*opinions, *aspects]


def _find_phrases(
    readings: Sequence[Reading], lexicon: Lexicon, found: Mapping[int, Sequence[Found]]
) -> dict[str, str]:
    """Expressions of several words that the model takes for opinions in two reviews or more."""
    counts: Counter[str] = Counter()
    known = lexicon.words()
    for at, findings in found.items():
        text, borders = readings[at].view.text, {token.start for token in readings[at].tokens}
        words = {
            text[one.start : one.end]
            for one in findings
            if one.is_opinion and one.end - one.start <= _LONGEST and one.start in borders
            and (one.end in borders or one.end == len(text))
        }  # fmt: skip
        counts.update(word for word in words if len(word) > 1 and all(map(HAN.match, word)) and word not in known)
    return {word: "PHRASE" for word, count in counts.items() if count > 1}


def guess_class(word: str, lexicon: Lexicon) -> str:
    """The class of most known aspects that end as the word does; the role `thing` where nothing is known."""
    for length in (3, 2, 1):
        alike = [entry.cls for known, entry in lexicon.aspects.items() if known.endswith(word[-length:])]
        least = 1 if length > 1 else _ALIKE
        if length < len(word) and len(alike) >= least and not _LATIN.match(word):
            cls, count = min(Counter(alike).items(), key=lambda item: (-item[1], item[0]))
            if 2 * count > len(alike):
                return cls
    return "thing"


def _propose(candidate: WordCandidate, kind: str, meaning: str, readings: Sequence[Reading]) -> Proposal:
    evidence = f"association {candidate.association:g}, purity {candidate.purity:g}"
    word, sentence = _quote(candidate.evidence[0], candidate.word, readings)
    return Proposal(kind, word, meaning, candidate.confidence, candidate.support, evidence, sentence)


def _quote(place: tuple[int, int], word: str, readings: Sequence[Reading]) -> tuple[str, str]:
    """A word as its review writes it, in its own script, and its sentence, in which it stands in 【】."""
    index, at = place
    view, text = readings[index].view, readings[index].text
    start, end = view.to_source((at, at + len(word)))
    return text[start:end], " ".join(quote(text, start, end).split())


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
    out += [("added", (triplet,)) for triplet in new if not any(clashes(triplet, other) for other in old)]
    return out


def _is_shorter(triplet: Triplet, other: Triplet) -> bool:
    pairs = ((triplet.aspect_full, other.aspect_full), (triplet.opinion_full, other.opinion_full))
    return any(mine.text != its.text and mine.text in its.text for mine, its in pairs)


def _show(triplet: Triplet, lexicon: Lexicon) -> str:
    return view(f"{triplet.aspect_full.text}\n{triplet.opinion_full.text}", lexicon.variants).text.lower()
