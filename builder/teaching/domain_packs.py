"""`builder words domain`: a pack for another domain from raw reviews, the answers taken, and what it finds.

In: files of reviews, the folder of a pack. Out: the folder with its sheet, lexicons and card; `DomainReport`. Reviews
are read by the core alone, so nothing of the restaurant counts.

The first hour of a new domain: reviews as the domain `none` reads them, and a pool of them to label.

In: files of reviews. Out: a working directory with a build of some of them by `none` and the shipped model, and a pool
of reviews with what was found in each. Labels come before words, for they show what is missing. Run again, it finds the
same build and pool, with every answer.
"""

from __future__ import annotations

import json
import random
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from builder.core.errors import ConfigError, InputError
from builder.core.files import write_atomically
from builder.core.records import Pool, Triplet
from builder.core.settings import CORE, Input
from builder.engine.reader import Reader, Reading, Recipe, extract, make_reader
from builder.gold.pool import PoolSettings
from builder.language.lexicon.domain_sheet import (
    find_slips,
    read_as_lexicon,
    read_sheet,
    write_card,
    write_lexicons,
    write_rules,
    write_sheet,
)
from builder.language.lexicon.folders import Folders
from builder.language.lexicon.packs import Pack, check_shipped, find_pack, list_packs
from builder.language.lexicon.resources import Lexicon, load_lexicon
from builder.pipeline.builds import new_build
from builder.pipeline.pipeline import run
from builder.pipeline.rule_report import quote
from builder.reviews import sources
from builder.reviews.script import HAN
from builder.reviews.sources.cells import RawReview
from builder.store import db, pools
from builder.teaching.pooling import make_pool
from builder.teaching.word_proposals import (
    WordEffect,
    blank_repeated,
    find_new,
    measure_words,
    propose_words,
)

# ---- Packs

_NAME = re.compile(r"[a-z][a-z0-9_-]*")
_MARKUP = re.compile(
    r"<(script|style)\b[^<>]*>[^<]*</\1\s*>|</?[A-Za-z][^<>]{0,1000}>|<!--.{0,1000}?-->|&(?:[A-Za-z]{2,8}|#x?[0-9A-Fa-f]{1,6});",
    re.DOTALL,
)
SUPPORT = 2
"""The model finds a word in so many reviews, or it is not proposed."""
_CONTENT = frozenset(["NOUN", "PROPN", "ADJ", "VERB"])
_SHOWN_UNKNOWN = 40


@dataclass(frozen=True, slots=True)
class NewPack:
    """What `make_pack` and `take_answers` wrote.

    `neutral`: the opinions taken that say neither praise nor blame; `classes`: those
    that the pack adds, with their roles; `slips`: of these the ones that are nearly called as a known one; `effects`:
    what words change in reviews.
    """

    folder: Path
    reviews: int
    proposals: int
    aspects: int
    opinions: int
    neutral: Sequence[str] = ()
    classes: Mapping[str, str] = field(default_factory=dict)
    slips: Mapping[str, str] = field(default_factory=dict)
    effects: Sequence[WordEffect] = ()


@dataclass(frozen=True, slots=True)
class DomainReport:
    """What a domain's words and rules find: reviews, those with triplets, all triplets by polarity; `gained` triplets
    where the domain `below` finds none, the `lost` ones that it alone finds with the text around them, and how many
    have `changed`; some triplets with the text around them; words of two reviews or more that no lexicon and
    no triplet holds, with their reviews.
    """

    below: str
    reviews: int
    with_triplets: int
    polarities: Mapping[str, int]
    gained: int
    lost: Sequence[tuple[Triplet, str]]
    changed: int
    drawn: Sequence[tuple[Triplet, str]]
    unknown: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class HowToRead:
    """What files of reviews do not say themselves: the column of texts, and an encoding that is not Unicode."""

    text_column: str | None = None
    encoding: str | None = None


_BY_GUESS = HowToRead()


def make_pack(
    name: str,
    files: Sequence[Path],
    folder: Path,
    support: int = SUPPORT,
    how: HowToRead = _BY_GUESS,
    over: str = CORE,
) -> NewPack:
    """Write a pack of words that the shipped model finds in `support` reviews or more, with a sheet to answer. The pack
    adds to the words of the domain `over`.

    ConfigError for a name or folder that cannot be used, InputError where too few reviews are there.
    """
    check_new_name(name)
    check_shipped(over, "--over")
    if folder.exists() and any(folder.iterdir()):
        raise ConfigError("this folder is not empty", where=str(folder), fix="choose another --out, or delete it")
    texts = read_reviews(files, how)
    if len(texts) < support:
        raise InputError(f"too few reviews: {len(texts)}", where=str(files[0]), fix="give some hundred or more")
    below = load_lexicon(domain=over)
    proposals = propose_words(blank_repeated([blank_markup(text) for text in texts]), below, support)
    folder.mkdir(parents=True, exist_ok=True)
    Pack(name, folder).put_over(over)
    write_sheet(folder, proposals)
    write_card(folder, name, len(texts), ", ".join(path.name for path in files))
    write_rules(folder, name)
    made = write_lexicons(folder, name, proposals, below)
    return NewPack(folder, len(texts), len(proposals), made.aspects, made.opinions)


def check_new_name(name: str) -> None:
    """Refuse, with a ConfigError, what cannot be the name of a new domain."""
    if not _NAME.fullmatch(name):
        raise ConfigError(f"{name!r} is no name for a domain", fix="use small Latin letters, digits, - and _")
    if name in (CORE, *list_packs()):
        raise ConfigError(f"{name!r} is a domain that comes with builder", fix=f"choose another name: my-{name}")


def load_below(folder: Path) -> Lexicon:
    """The lexicon of the domain that a pack adds to."""
    return load_lexicon(domain=Pack("", folder).below)


def blank_markup(text: str) -> str:
    """A text with spaces in place of tags, scripts and entities, which no person wrote."""
    return _MARKUP.sub(lambda match: " " * len(match[0]), text)


def take_answers(
    folder: Path, files: Sequence[Path] = (), how: HowToRead = _BY_GUESS, *, keep_losing: bool = False
) -> NewPack:
    """Write the lexicons of a pack anew from its sheet. With `files` of reviews, words that lose more readings there
    than they add are left out, unless `keep_losing`.
    """
    proposals, core, name = read_sheet(folder), load_below(folder), folder.resolve().name
    made = write_lexicons(folder, name, proposals, core)
    effects: list[WordEffect] = []
    if files:
        words = {read_as_lexicon(row, name, core).word for row in proposals if row.is_taken}
        effects = measure_words(read_reviews(files, how), words, folder)
        losing = {effect.word for effect in effects if effect.loses and not keep_losing}
        kept = [row for row in proposals if read_as_lexicon(row, name, core).word not in losing]
        made = write_lexicons(folder, name, kept, core)
    neutral = [proposal.word for proposal in proposals if proposal.is_taken and proposal.is_neutral]
    slips = find_slips(proposals, core)
    return NewPack(
        folder, 0, len(proposals), made.aspects, made.opinions, neutral=neutral, classes=made.classes, slips=slips,
        effects=effects,
    )  # fmt: skip


def check_domain(
    domain: str, files: Sequence[Path], draws: int = 50, seed: int = 13, how: HowToRead = _BY_GUESS
) -> DomainReport:
    """What a domain finds in reviews, what its pack changes, and what stays unknown. ConfigError for an unknown
    domain.
    """
    reader = make_reader(Recipe(folders=Folders(domain=domain)))
    texts = read_reviews(files, how)
    readings = reader.read(texts)
    by_text = [extract(reader.engine, reading) for reading in readings]
    triplets = [(triplet, reading) for reading, own in zip(readings, by_text, strict=True) for triplet in own]
    drawn = random.Random(seed).sample(triplets, min(draws, len(triplets)))
    pack = find_pack(domain)
    below = pack.below if pack else CORE
    plain = make_reader(Recipe(folders=Folders(domain=below)))
    before = [extract(plain.engine, reading) for reading in plain.read(texts)]
    gained = changed = 0
    lost: list[tuple[Triplet, str]] = []
    for reading, own, other in zip(readings, by_text, before, strict=True):
        new, same = find_new(own, other), {triplet.key for triplet in other}
        gained += len(new)
        changed += sum(triplet.key not in same for triplet in own) - len(new)
        lost += [(triplet, _quote_opinion(triplet, reading)) for triplet in find_new(other, own)]
    return DomainReport(
        below,
        len(texts),
        len({id(reading) for _, reading in triplets}),
        Counter(triplet.polarity for triplet, _ in triplets),
        gained,
        lost,
        changed,
        [(triplet, _quote_opinion(triplet, reading)) for triplet, reading in drawn],
        _count_unknown(readings, reader),
    )


def _quote_opinion(triplet: Triplet, reading: Reading) -> str:
    return quote(reading.text, *triplet.opinion.spans[0])


def read_reviews(files: Sequence[Path], how: HowToRead = _BY_GUESS) -> list[str]:
    return [
        row.text
        for path in files
        for row in sources.read(path, Input(text_column=how.text_column or "", encoding=how.encoding or ""))
        if isinstance(row, RawReview) and row.text.strip()
    ]


def _count_unknown(readings: Sequence[Reading], reader: Reader) -> dict[str, int]:
    """The content words of most reviews, two at least, that no table of the lexicon and no triplet holds."""
    known = reader.lexicon.words()
    counts: Counter[str] = Counter()
    shown: dict[str, str] = {}
    for reading in readings:
        doc = reading.doc
        triplets = reader.engine.extract(doc)
        parts = [part for triplet in triplets for part in (triplet.aspect_full, triplet.opinion_full)]
        read = {place for part in parts for start, end in part.spans for place in range(start, end)}
        words = {
            doc.text[token.start : token.end].lower(): (token.start, token.end)
            for token in doc.tokens
            if token.pos in _CONTENT and token.start not in read
        }
        new = [word for word in words if len(word) > 1 and word not in known and HAN.search(word)]
        counts.update(new)
        for word in new:
            shown.setdefault(word, reading.text[slice(*reading.view.to_source(words[word]))])
    often = sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:_SHOWN_UNKNOWN]
    return {shown[word]: number for word, number in often if number > 1}


# ---- Labels first

_READ = 3
"""So many times as many reviews are read as are labelled."""
_SEED = 13
_LEAST = 40
"""Reviews below which labels could not be halved to measure what they bring."""
SAMPLE = "sample.jsonl"


@dataclass(frozen=True, slots=True)
class StartedDomain:
    """What `start_domain` made: how many reviews it read, and the pool to label."""

    read: int
    pool: Pool

    def describe_reviews(self, count: int) -> list[tuple[str, str]]:
        """The first reviews of the pool, each with its triplets."""
        return [
            (
                review.text,
                ", ".join(
                    f"{one.triplet.aspect.text} {one.triplet.opinion.text} {one.triplet.polarity}"
                    for one in review.candidates
                ),
            )
            for review in self.pool.reviews[:count]
        ]


def start_domain(
    files: Sequence[Path],
    workdir: Path,
    label: int,
    how: HowToRead,
    report: Callable[[str], None] = lambda line: None,
) -> StartedDomain:
    """Build some reviews of the files by the domain `none`, and draw a pool of `label` of them. `report` is called with
    a line for each stage. InputError where there are too few reviews.
    """
    sample = workdir / SAMPLE
    if not sample.is_file():
        texts = list(dict.fromkeys(text.strip() for text in read_reviews(files, how)))
        if len(texts) < _LEAST:
            raise InputError(f"too few reviews: {len(texts)}", where=str(files[0]), fix=f"give {_LEAST} or more")
        chosen = texts[:: max(1, len(texts) // (_READ * label))]
        lines = (json.dumps({"id": str(number), "text": text}) + "\n" for number, text in enumerate(chosen, start=1))
        write_atomically(sample, "".join(lines).encode())
    settings = {"domain": CORE}
    run(new_build((sample,), workdir, workdir / "releases", None, settings), until="self_train", report=report)
    made = make_pool(workdir, PoolSettings(label, _SEED, "all"))
    with db.reading(workdir) as connection:
        return StartedDomain(made.available, pools.read(connection, made.pool.id))
