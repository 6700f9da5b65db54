"""`builder words domain`: a pack for another domain from raw reviews, the answers taken, and what it finds.

In: files of reviews, the folder of a pack. Out: the folder with its sheet, lexicons and card; `DomainReport`. Reviews
are read by the core alone, so nothing of the restaurant counts.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from builder.core.edges import clashes
from builder.core.errors import ConfigError, InputError
from builder.core.records import Triplet
from builder.core.settings import CORE
from builder.core.wording import counted
from builder.engine.reader import Reader, Reading, Recipe, extract, make_reader
from builder.language.lexicon.domain_sheet import (
    Proposal,
    find_slips,
    read_sheet,
    write_card,
    write_lexicons,
    write_rules,
    write_sheet,
)
from builder.language.lexicon.folders import Folders
from builder.language.lexicon.induce import InductionSettings, WordCandidate, induce
from builder.language.lexicon.links import Uses, gather
from builder.language.lexicon.noun_compounds import PIECE, NounCompound, cluster_words, find_noun_compounds
from builder.language.lexicon.packs import list_packs
from builder.language.lexicon.resources import Lexicon, load_lexicon, sample_dir
from builder.pipeline.rule_report import quote
from builder.reviews import sources
from builder.reviews.script import HAN
from builder.reviews.sources.cells import RawReview
from builder.reviews.sources.columns import Columns

_NAME = re.compile(r"[a-z][a-z0-9_-]*")
_SNIPPET = 16
_MARKUP = re.compile(
    r"<(script|style)\b[^<>]*>[^<]*</\1\s*>|</?[A-Za-z][^<>]{0,1000}>|<!--.{0,1000}?-->|&(?:[A-Za-z]{2,8}|#x?[0-9A-Fa-f]{1,6});",
    re.DOTALL,
)
_FREE, _OWN = 1.0, 0.7
"""Bits of branching entropy, and contrast, from which on a compound looks like a name of the domain."""
_LATIN = 0.45
"""Words of Latin letters are asked about and never taken unanswered: makers, parts and smileys look alike."""
_MANY = 500
"""From so many reviews on, a word that stands in two of them says little."""
_ALIKE = 5
"""So many known aspects that end alike speak for the role of another one."""
_GUESSED = frozenset(["person", "price", "attribute", "part"])
_HEADED, _DESCRIBED, _SHARE = 3, 5, 0.3
"""A noun of one character is proposed if it ends so many names and is described so often, in this share of its uses."""
_HEAD = 0.6
"""The confidence of such a noun."""
_CONTENT = frozenset(["NOUN", "PROPN", "ADJ", "VERB"])


@dataclass(frozen=True, slots=True)
class NewPack:
    """What `make_pack` and `take_answers` wrote.

    `rated`: reviews with a rating; `neutral`: the opinions taken that say neither praise nor blame; `classes`: those
    that the pack adds, with their roles; `slips`: of these the ones that are nearly called as a known one.
    """

    folder: Path
    reviews: int
    proposals: int
    aspects: int
    opinions: int
    rated: int = 0
    neutral: Sequence[str] = ()
    classes: Mapping[str, str] = field(default_factory=dict)
    slips: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class DomainReport:
    """What a domain's words and rules find: reviews, those with triplets, all triplets by polarity; `gained` triplets
    where the core and the common words find none, the `lost` ones that they alone find with the text around them, and
    how many have `changed`; some triplets with the text around them; words of two reviews or more that no lexicon and
    no triplet holds, with their reviews.
    """

    reviews: int
    with_triplets: int
    polarities: Mapping[str, int]
    gained: int
    lost: Sequence[tuple[Triplet, str]]
    changed: int
    drawn: Sequence[tuple[Triplet, str]]
    unknown: Sequence[tuple[str, int]]


@dataclass(frozen=True, slots=True)
class HowToRead:
    """What files of reviews do not say themselves: the columns of texts and ratings, and an encoding that is not
    Unicode.
    """

    text_column: str | None = None
    rating_column: str | None = None
    encoding: str | None = None


_BY_GUESS = HowToRead()


def make_pack(
    name: str, files: Sequence[Path], folder: Path, support: int | None = None, how: HowToRead = _BY_GUESS
) -> NewPack:
    """Induce words from reviews and write a pack of them, with a sheet to answer. A word stands in `support` reviews or
    more; if not given, in 2, or in 3 where the reviews are many.

    ConfigError for a name or folder that cannot be used, InputError where too few reviews are there.
    """
    if not _NAME.fullmatch(name):
        raise ConfigError(f"{name!r} is no name for a domain", fix="use small Latin letters, digits, - and _")
    if name in (CORE, *list_packs()):
        raise ConfigError(f"{name!r} is a domain that comes with builder", fix=f"choose another name: my-{name}")
    if folder.exists() and any(folder.iterdir()):
        raise ConfigError("this folder is not empty", where=str(folder), fix="choose another --out, or delete it")
    texts, stars = _read_reviews(files, how)
    support = support or (3 if len(texts) >= _MANY else 2)
    if len(texts) < support:
        raise InputError(f"too few reviews: {len(texts)}", where=str(files[0]), fix="give some hundred or more")
    reader = make_reader(Recipe(folders=Folders(domain=CORE)))
    readings = reader.read([blank_markup(text) for text in texts])
    proposals = propose_words(name, readings, reader.lexicon, stars, support)
    folder.mkdir(parents=True, exist_ok=True)
    write_sheet(folder, proposals)
    write_card(folder, name, len(texts), ", ".join(path.name for path in files))
    write_rules(folder, name)
    made = write_lexicons(folder, name, proposals, reader.lexicon)
    return NewPack(folder, len(texts), len(proposals), made.aspects, made.opinions, len(stars))


def blank_markup(text: str) -> str:
    """A text with spaces in place of tags, scripts and entities, which no person wrote."""
    return _MARKUP.sub(lambda match: " " * len(match[0]), text)


def take_answers(folder: Path) -> NewPack:
    """Write the lexicons of a pack anew from its sheet."""
    proposals, core = read_sheet(folder), load_lexicon(domain=CORE)
    made = write_lexicons(folder, folder.resolve().name, proposals, core)
    neutral = [proposal.word for proposal in proposals if proposal.is_taken and proposal.is_neutral]
    slips = find_slips(proposals, core)
    return NewPack(
        folder, 0, len(proposals), made.aspects, made.opinions, neutral=neutral, classes=made.classes, slips=slips
    )


def check_domain(
    domain: str, files: Sequence[Path], draws: int = 50, seed: int = 13, how: HowToRead = _BY_GUESS
) -> DomainReport:
    """What a domain finds in reviews, what its pack changes, and what stays unknown. ConfigError for an unknown
    domain.
    """
    reader = make_reader(Recipe(folders=Folders(domain=domain)))
    texts, _ = _read_reviews(files, how)
    readings = reader.read(texts)
    by_text = [extract(reader.engine, reading) for reading in readings]
    triplets = [(triplet, reading) for reading, own in zip(readings, by_text, strict=True) for triplet in own]
    drawn = random.Random(seed).sample(triplets, min(draws, len(triplets)))
    plain = make_reader(Recipe(folders=Folders(domain=CORE)))
    before = [extract(plain.engine, reading) for reading in plain.read(texts)]
    gained = changed = 0
    lost: list[tuple[Triplet, str]] = []
    for reading, own, other in zip(readings, by_text, before, strict=True):
        new, same = _part_new(own, other), {triplet.key for triplet in other}
        gained += len(new)
        changed += sum(triplet.key not in same for triplet in own) - len(new)
        lost += [(triplet, _cut_snippet(reading.text, triplet.opinion.start)) for triplet in _part_new(other, own)]
    return DomainReport(
        len(texts),
        len({id(reading) for _, reading in triplets}),
        Counter(triplet.polarity for triplet, _ in triplets),
        gained,
        lost,
        changed,
        [(triplet, _cut_snippet(reading.text, triplet.opinion.spans[0][0])) for triplet, reading in drawn],
        _count_unknown(readings, reader),
    )


def _part_new(own: Sequence[Triplet], other: Sequence[Triplet]) -> list[Triplet]:
    """The triplets of a reading that speak of no place of which another reading speaks."""
    return [triplet for triplet in own if not any(clashes(triplet, known) for known in other)]


def propose_words(
    name: str, readings: Sequence[Reading], lexicon: Lexicon, stars: Mapping[int, float], support: int
) -> list[Proposal]:
    """Opinions and aspects that the core does not hold, with classes from clusters named after a member."""
    docs = [reading.doc for reading in readings]
    induced = induce(iter(docs), lexicon, InductionSettings(support=support, ratings=stars))
    uses = gather(iter(docs), lexicon, stars)
    compounds = find_noun_compounds(docs, lexicon, _read_sample(), support)
    opinions = {candidate.word for candidate in induced.opinions}
    names = {compound.word: compound for compound in compounds if compound.word not in opinions}
    reviews = {candidate.word: candidate.support for candidate in induced.aspects}
    reviews |= {word: compound.reviews for word, compound in names.items()}
    heads = find_heads(reviews.keys() - opinions, uses, lexicon)
    reviews |= {word: uses[word].reviews for word in heads}
    clusters = cluster_words(reviews, {word: uses[word].describing for word in reviews if word in uses})
    sizes = Counter(clusters.values())
    guesses = {word: _guess_role(word, lexicon) for word in clusters}
    classes = {
        word: f"{name}.{head if sizes[head] > 1 else 'other' if guesses[word] == 'thing' else guesses[word]}"
        for word, head in clusters.items()
    }
    votes = {cls: Counter(guesses[word] for word in classes if classes[word] == cls) for cls in set(classes.values())}
    by_word = {candidate.word: candidate for candidate in induced.aspects}
    out = [_propose_opinion(candidate, readings) for candidate in induced.opinions]
    for word in reviews:
        if word in heads:
            proposal = _propose_head(word, heads[word], classes[word], uses[word], readings)
        else:
            proposal = _propose_aspect(by_word.get(word), names.get(word), classes[word], uses.get(word), readings)
        out.append(replace(proposal, role=votes[classes[word]].most_common(1)[0][0]))
    return out


def find_heads(names: Iterable[str], uses: Mapping[str, Uses], lexicon: Lexicon) -> dict[str, int]:
    """Nouns of one character that end several names and are described themselves (鏡 behind 墨鏡 and 泳鏡), with
    how many names they end. A measure word ends few (台, 顆).
    """
    names = list(names)
    ends = Counter(word[-1] for word in names if len(word) > 1)
    known = lexicon.words()
    out = {}
    for word, count in sorted(ends.items()):
        use = uses.get(word)
        if use is None or count < _HEADED or word in known or word in names or use.tags["NOUN"] * 2 < use.count:
            continue
        described = sum(number for other, number in use.describing.items() if other in lexicon.opinions)
        if described >= _DESCRIBED and described >= _SHARE * use.count:
            out[word] = count
    return out


def _propose_head(word: str, ended: int, cls: str, use: Uses, readings: Sequence[Reading]) -> Proposal:
    sentence = _quote(use.snippets[0], word, readings) if use.snippets else ""
    return Proposal("aspect", word, cls, _HEAD, use.reviews, f"ends {counted(ended, 'name')}", sentence)


def _guess_role(word: str, lexicon: Lexicon) -> str:
    """The role that most known aspects have that end as the word does; `thing` where nothing is known."""
    roles = [lexicon.classes[entry.cls] for known, entry in lexicon.aspects.items() if known[1:].endswith(word[-1])]
    role, count = Counter(roles).most_common(1)[0] if roles else ("thing", 0)
    return role if count >= _ALIKE and 2 * count > len(roles) and role in _GUESSED else "thing"


def _propose_opinion(candidate: WordCandidate, readings: Sequence[Reading]) -> Proposal:
    evidence = f"association {candidate.association:g}, purity {candidate.purity:g}"
    sentence = _quote(candidate.evidence[0], candidate.word, readings) if candidate.evidence else ""
    meaning = f"{candidate.valence or 5.0:g}"
    return Proposal("opinion", candidate.word, meaning, candidate.confidence, candidate.support, evidence, sentence)


def _propose_aspect(
    candidate: WordCandidate | None,
    compound: NounCompound | None,
    cls: str,
    use: Uses | None,
    readings: Sequence[Reading],
) -> Proposal:
    """One word of both sources: what induction is sure of, or what frequency, freedom and contrast say."""
    confidence, evidence = (candidate.confidence, []) if candidate else (0.0, [])
    if candidate:
        evidence.append(f"association {candidate.association:g}, purity {candidate.purity:g}")
    if compound:
        described = bool(use and sum(use.describing.values()))
        signs = (compound.entropy >= _FREE, compound.contrast >= _OWN, described)
        confidence = max(confidence, 0.2 + 0.12 * sum(signs[:2]) + 0.35 * signs[2])
        if compound.entropy < PIECE:
            confidence = min(confidence, 0.1)
        if compound.word.isascii():
            confidence = min(confidence, _LATIN)
        values = f"C-value {compound.cvalue:g}, entropy {compound.entropy:g}, contrast {compound.contrast:g}"
        evidence.append(values)
    word, reviews = (candidate.word, candidate.support) if candidate else ("", 0)
    if compound:
        word, reviews = compound.word, max(reviews, compound.reviews)
    place = candidate.evidence[0] if candidate and candidate.evidence else compound.place if compound else (0, 0)
    sentence = _quote(place, word, readings)
    return Proposal("aspect", word, cls, round(confidence, 3), reviews, "; ".join(evidence), sentence)


def _quote(place: tuple[int, int], word: str, readings: Sequence[Reading]) -> str:
    """The sentence of a word as its review writes it, in its own script; the word stands in 【】."""
    index, at = place
    view, text = readings[index].view, readings[index].text
    if view.text[at : at + len(word)].lower() != word.lower():  # it stands there in another form
        return _cut_snippet(text, view.starts[at])
    return " ".join(quote(text, *view.to_source((at, at + len(word)))).split())


def _cut_snippet(text: str, at: int) -> str:
    return " ".join(text[max(0, at - _SNIPPET) : at + _SNIPPET].split())


def _read_reviews(files: Sequence[Path], how: HowToRead = _BY_GUESS) -> tuple[list[str], dict[int, float]]:
    texts: list[str] = []
    stars: dict[int, float] = {}
    for path in files:
        for row in sources.read(path, Columns(text=how.text_column, rating=how.rating_column), how.encoding):
            if isinstance(row, RawReview) and row.text.strip():
                if row.rating is not None:
                    stars[len(texts)] = row.rating
                texts.append(row.text)
    return texts, stars


def _read_sample() -> list[str]:
    """The shipped reviews, as what other reviews say."""
    return _read_reviews([sample_dir() / "reviews.csv"])[0]


def _count_unknown(readings: Sequence[Reading], reader: Reader, shown: int = 40) -> list[tuple[str, int]]:
    """The content words of most reviews, two at least, that no table of the lexicon and no triplet holds."""
    known = reader.lexicon.words()
    counts: Counter[str] = Counter()
    for reading in readings:
        doc = reading.doc
        triplets = reader.engine.extract(doc)
        parts = [part for triplet in triplets for part in (triplet.aspect_full, triplet.opinion_full)]
        read = {place for part in parts for start, end in part.spans for place in range(start, end)}
        words = {
            doc.text[token.start : token.end].lower()
            for token in doc.tokens
            if token.pos in _CONTENT and token.start not in read
        }
        counts.update(word for word in words if len(word) > 1 and word not in known and HAN.search(word))
    often = sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:shown]
    return [(word, number) for word, number in often if number > 1]
