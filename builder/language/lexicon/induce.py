"""Induction: grow the lexicon from raw reviews, without labels (`builder words lexicon induce`).

In: annotated reviews, the lexicon, settings, what a model finds in some of the reviews. Out: candidate opinions and
aspects with scores and evidence. The method is double propagation (Qiu et al. 2011). Known opinions vouch for the nouns
they describe, known aspects for the words that describe them. What is accepted in a round vouches in the next. What the
paper decides by rules is weighed here by a regression that the lexicon's own words calibrate (`fit`). Frequency,
association, context purity, company and spelling make the confidence that a word is an opinion or an aspect, and so
does how often the model takes it for one.

Candidate files are for a person to accept or drop. In: `Induced`. Out: a TSV with an empty column `answer`; filled with
yes and no it becomes an overlay. The evidence is sentences, or places (index of the review : offset in its view). With
places the file can be shown to people who may not see the reviews.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Literal

from builder.core.errors import ResourceError
from builder.core.wording import counted
from builder.language.lexicon.candidate_scores import Endings, WordScore, aspect_scores, opinion_scores, valences
from builder.language.lexicon.categories import like_name
from builder.language.lexicon.links import NOTHING_FOUND, Found, ParsedReview, Uses, gather
from builder.language.lexicon.overlay import Overlay, Refused, own, save, write
from builder.language.lexicon.resources import Lexicon
from builder.reviews.privacy.place_names import tagged
from builder.reviews.script import HAN, converter, script_of

# ---- Induction

Kind = Literal["opinion", "aspect"]
_TAGS: Mapping[Kind, frozenset[str]] = {
    "opinion": frozenset({"ADJ", "VERB", "NOUN", "PROPN", "X", "PHRASE"}),
    "aspect": frozenset({"NOUN", "PROPN"}),
}


_NO_CANDIDATES = {"ns": "name", "t": "time", "c": "function", "d": "function", "p": "function", "r": "function"}
"""What the dictionary calls places, times, and words that neither name nor judge."""


@dataclass(frozen=True, slots=True)
class InductionSettings:
    """`rounds` of propagation, in which candidates of confidence `accepted` or more vouch for others. A candidate is
    used in `support` reviews or more, a phrase in `phrase_support`, one character in `single_support`, and has at
    most `longest` characters; `shown` candidates of a kind, of confidence `floor` or more, are kept. `ratings` are
    stars by index of the review.
    """

    rounds: int = 3
    accepted: float = 0.8
    support: int = 1
    phrase_support: int = 2
    single_support: int = 5
    longest: int = 8
    shown: int = 500
    floor: float = 0.1
    ratings: Mapping[int, float] = field(default_factory=lambda: MappingProxyType({}))


@dataclass(frozen=True, slots=True)
class WordCandidate:
    """A word that may be an opinion (with its valence) or an aspect (with its class), how probable that is, and why.

    `support` is the number of reviews, `association` the scaled log-likelihood ratio with known partners, `purity`
    the share of its uses in which it stands where such words stand; `evidence` are (index of the review, offset in
    its view), never text.
    """

    word: str
    confidence: float
    support: int
    association: float
    purity: float
    valence: float | None
    cls: str
    evidence: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class Induced:
    """Candidates, most probable first. `agreement` is the share of known opinion words whose sign the valence
    regression finds from the corpus; `counts` are the words of the corpus by what became of them.
    """

    opinions: tuple[WordCandidate, ...]
    aspects: tuple[WordCandidate, ...]
    reviews: int
    agreement: float
    counts: Mapping[str, int]


def induce(
    docs: Iterable[ParsedReview],
    lexicon: Lexicon,
    settings: InductionSettings = InductionSettings(),
    found: Mapping[int, Sequence[Found]] = NOTHING_FOUND,
    joined: Mapping[str, str] = MappingProxyType({}),
) -> Induced:
    """Candidates that no lexicon holds. Deterministic: the same documents give the same answer. By index of the review
    `found` is what a model finds in those that it read; `joined` are words to count beside those of the lexicon, with
    their tag, NOUN or PHRASE.
    """
    reviews = 0

    def counted() -> Iterator[ParsedReview]:
        nonlocal reviews
        for doc in docs:
            reviews += 1
            yield doc

    uses = gather(counted(), lexicon, settings.ratings, found, joined)
    pools, counts = _pools(uses, lexicon, settings, joined)
    opinions = {word: entry.valence for word, entry in lexicon.opinions.items()}
    aspects = {word: entry.cls for word, entry in lexicon.aspects.items()}
    endings = Endings.of(lexicon)
    opinion_scored: dict[str, WordScore] = {}
    aspect_scored: dict[str, WordScore] = {}
    values: dict[str, float] = {}
    agreement = 0.0
    for _ in range(settings.rounds):
        opinion_scored = opinion_scores(uses, pools["opinion"], lexicon, opinions, aspects)
        aspect_scored = aspect_scores(uses, pools["aspect"], lexicon, opinions, aspects)
        values, agreement = valences(uses, pools["opinion"], lexicon, opinions)
        opinions |= {
            word: values[word] for word, score in opinion_scored.items() if score.confidence >= settings.accepted
        }
        sure = [word for word, score in aspect_scored.items() if score.confidence >= settings.accepted]
        aspects |= {word: endings.of_word(word, uses[word], aspects) for word in sure}
    best = _best(aspect_scored, opinion_scored, settings)
    return Induced(
        tuple(
            _candidate(word, score, uses[word], round(values[word], 1), "")
            for word, score in _best(opinion_scored, aspect_scored, settings)
        ),
        tuple(
            _candidate(word, score, uses[word], None, endings.of_word(word, uses[word], aspects))
            for word, score in best
        ),
        reviews,
        agreement,
        MappingProxyType(counts),
    )


def _best(
    scores: Mapping[str, WordScore], others: Mapping[str, WordScore], settings: InductionSettings
) -> list[tuple[str, WordScore]]:
    """The candidates of a kind: a word that is more probably of the other kind is that one's."""
    likely = [(word, score) for word, score in scores.items() if score.confidence >= settings.floor]
    mine = [
        (word, score) for word, score in likely if word not in others or score.confidence >= others[word].confidence
    ]
    return sorted(mine, key=lambda scored: (-scored[1].confidence, scored[0]))[: settings.shown]


def _candidate(word: str, score: WordScore, uses: Uses, valence: float | None, cls: str) -> WordCandidate:
    return WordCandidate(
        word,
        round(score.confidence, 3),
        uses.reviews,
        round(score.association, 2),
        round(score.purity, 2),
        valence,
        cls,
        tuple(uses.snippets),
    )


def _pools(
    uses: Mapping[str, Uses], lexicon: Lexicon, settings: InductionSettings, joined: Mapping[str, str]
) -> tuple[dict[Kind, list[str]], dict[str, int]]:
    """The words that may become candidates of each kind; how many words did not, by reason."""
    pools: dict[Kind, list[str]] = {"opinion": [], "aspect": []}
    counts: Counter[str] = Counter()
    for word, use in sorted(uses.items()):
        reason = _unfit(word, use, lexicon, settings, joined)
        tag = max(sorted(use.tags), key=lambda name: use.tags[name])
        kinds: list[Kind] = [kind for kind, tags in _TAGS.items() if not reason and tag in tags]
        for kind in kinds:
            pools[kind].append(word)
        counts[reason or ("considered" if kinds else "tag")] += 1
    return pools, counts


def _unfit(word: str, use: Uses, lexicon: Lexicon, settings: InductionSettings, joined: Mapping[str, str]) -> str:
    """Why a word cannot be a candidate, or the empty string."""
    tables = (
        lexicon.opinions,
        lexicon.aspects,
        lexicon.degree,
        lexicon.negators,
        lexicon.irrealis,
        lexicon.general,
        lexicon.not_aspects,
    )
    if any(word in table for table in tables):
        return "known"
    if word not in joined and (not all(HAN.match(char) for char in word) or script_of(word) == "simplified"):
        return "script"
    if len(word) > settings.longest:
        return "length"
    least = (
        settings.single_support
        if len(word) == 1
        else settings.phrase_support
        if use.tags["PHRASE"]
        else settings.support
    )
    if use.reviews < least:
        return "support"
    if any(
        word[:i] in table and word[i:] in lexicon.opinions
        for table in (lexicon.negators, lexicon.degree)
        for i in range(1, len(word))
    ):
        return "composed"
    if like_name(word, use.tags["PROPN"] / use.count, lexicon):
        return "name"
    kinds = [kind for _, kind in tagged(converter("t2s")(word))]
    return _NO_CANDIDATES.get(kinds[0], "") if len(kinds) == 1 else ""


# ---- Candidate files

COLUMNS = ("kind", "word", "meaning", "confidence", "support", "association", "purity", "evidence", "answer")
_EARLIER = (*COLUMNS[:-1], "accept")
"""The columns of files that version 0.7 wrote."""
BETWEEN = " ／ "
"""What stands between two sentences."""
Sentences = Mapping[tuple[int, int], str]
"""(index of the review, offset in its view) -> the sentence there, the word in 【】."""
ANSWERS = {"yes": True, "y": True, "no": False, "n": False, "": None}
_POLARITIES = {"POS": 7.5, "NEU": 5.0, "NEG": 2.8}
"""The valence of an opinion of which only its polarity is said."""
_CLEAR = 0.5
"""How far from 5 the valence of an opinion is that praises or blames."""
_FIX = "write candidates with `builder words lexicon induce` and change only the columns meaning and answer"


@dataclass(frozen=True, slots=True)
class _CandidateLine:
    """A line of a candidate file; `answer` is None where the person said nothing."""

    line: int
    kind: str
    word: str
    meaning: str
    confidence: float
    answer: bool | None

    def sure(self, confident: float) -> bool:
        clear = self.kind == "aspect" or name_polarity(read_valence(self.meaning)) != "NEU"
        return clear and self.confidence >= confident


def name_polarity(valence: float) -> str:
    """The polarity that an opinion of a valence (1 to 10) has."""
    return "NEU" if abs(valence - 5) < _CLEAR else "POS" if valence > 5 else "NEG"


def read_valence(meaning: str) -> float:
    """The valence that an opinion has by its polarity, or by a number that stands in its place. ValueError for neither
    a polarity nor a number from 1 to 10.
    """
    valence = _POLARITIES.get(meaning.upper()) or float(meaning.replace(",", "."))
    if not 1 <= valence <= 10:
        raise ValueError(f"{meaning!r} is no polarity: write POS, NEG or NEU")
    return valence


def write_candidates(induced: Induced, path: Path, sentences: Sentences | None = None) -> int:
    """Write the candidates, opinions first, most confident first. `meaning` is a polarity or a class of aspects.
    `sentences`: what stands at the places of the evidence, if texts may be shown.

    What people answered in an earlier file stays, with its meaning: at its word, or behind the others. Returns how many
    answers. ResourceError where `path` is no file of candidates.
    """
    answered = _read_answered(path)
    rows = [
        _cells("opinion", candidate, name_polarity(candidate.valence or 5), sentences) for candidate in induced.opinions
    ]
    rows += [_cells("aspect", candidate, candidate.cls, sentences) for candidate in induced.aspects]
    kept = [answered.pop((row[0], row[1]), None) for row in rows]
    count = len(answered) + sum(old is not None for old in kept)
    rows = [
        row if old is None else (*row[:2], old[2], *row[3:-1], old[-1]) for row, old in zip(rows, kept, strict=True)
    ]
    save(path, "\t".join(COLUMNS), [*rows, *answered.values()])
    return count


def _read_answered(path: Path) -> dict[tuple[str, str], list[str]]:
    """The answered lines of an earlier file, by kind and word."""
    if not path.exists():
        return {}
    rows: dict[tuple[str, str], list[str]] = {}
    for number, line in enumerate(_read_lines(path)[1:], start=2):
        cells = line.split("\t")
        if line.strip() and len(cells) != len(COLUMNS):
            raise _wrong_width(path, number, cells)
        if line.strip() and cells[-1].strip():
            rows[cells[0], cells[1].strip()] = cells
    return rows


def accept(
    path: Path, directory: Path, lexicon: Lexicon, confident: float | None = None, name: str = "induced"
) -> Overlay:
    """Write the accepted candidates of `path` into the overlay `directory` and return them.

    Accepted is what a person answered with yes. With `confident`, so is what nobody answered and has that confidence
    or more, opinions only if they praise or blame. A no always stands, and is kept among the
    refused. ResourceError with file:line for a broken line, and if nothing is accepted.
    """
    rows = list(_read(path, lexicon))
    taken = [
        row for row in rows if row.answer or (row.answer is None and confident is not None and row.sure(confident))
    ]
    if not taken:
        raise ResourceError(
            "no candidate is accepted",
            where=str(path),
            fix="write yes into the column answer, or say from which confidence on to take them",
        )
    opinions = {row.word: read_valence(row.meaning) for row in taken if row.kind == "opinion"}
    overlay = Overlay(
        name,
        tuple((word, own(name, f"valence_{value:.1f}")) for word, value in opinions.items()),
        tuple((row.word, row.meaning) for row in taken if row.kind == "aspect"),
        tuple(
            (own(name, f"valence_{value:.1f}"), round(value, 1), "induced from reviews")
            for value in sorted({round(v, 1) for v in opinions.values()})
        ),
        tuple(Refused(row.line, row.word, "declined", row.kind) for row in rows if row.answer is False),
    )
    write(overlay, directory)
    return overlay


def read_cells(path: Path, lexicon: Lexicon) -> list[list[str]]:
    """The cells of every candidate, checked as `accept` checks them."""
    rows = [row.line for row in _read(path, lexicon)]
    lines = path.read_text(encoding="utf-8-sig").splitlines()
    return [lines[number - 1].split("\t") for number in rows]


def write_cells(path: Path, rows: Iterable[Sequence[str]]) -> None:
    """Write the candidates back, with what a person answered."""
    save(path, "\t".join(COLUMNS), rows)


def _cells(kind: str, candidate: WordCandidate, meaning: str, sentences: Sentences | None) -> tuple[str, ...]:
    quoted = (sentences[place] for place in candidate.evidence) if sentences is not None else ()
    places = BETWEEN.join(dict.fromkeys(quoted))
    if sentences is None:
        places = " ".join(f"{review}:{offset}" for review, offset in candidate.evidence)
    confidence, support = f"{candidate.confidence:.3f}", str(candidate.support)
    association, purity = f"{candidate.association:.2f}", f"{candidate.purity:.2f}"
    return kind, candidate.word, meaning, confidence, support, association, purity, places, ""


def _read_lines(path: Path) -> list[str]:
    """The lines of a candidate file, its header first."""
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise ResourceError(f"cannot be read: {error}", where=str(path), fix=_FIX) from error
    if not lines or tuple(lines[0].split("\t")) not in (COLUMNS, _EARLIER):
        raise ResourceError("this is no candidate file", where=f"{path}:1", fix=_FIX)
    return lines


def _wrong_width(path: Path, number: int, cells: list[str]) -> ResourceError:
    return ResourceError(
        f"{counted(len(cells), 'cell')} where {len(COLUMNS)} are due", where=f"{path}:{number}", fix=_FIX
    )


def _read(path: Path, lexicon: Lexicon) -> Iterator[_CandidateLine]:
    lines = _read_lines(path)
    classes = lexicon.classes
    seen: dict[tuple[str, str], int] = {}
    for number, line in enumerate(lines[1:], start=2):
        if not line.strip():
            continue
        where, cells = f"{path}:{number}", line.split("\t")
        if len(cells) != len(COLUMNS):
            raise _wrong_width(path, number, cells)
        row = _parse_line(number, cells, where, classes)
        if (first := seen.setdefault((row.kind, row.word), number)) != number:
            raise ResourceError(
                f"the {row.kind} {row.word!r} stands in line {first} already", where=where, fix="keep one"
            )
        yield row


def _parse_line(number: int, cells: list[str], where: str, classes: Collection[str]) -> _CandidateLine:
    kind, word, meaning, confidence, answer = (
        cells[0],
        cells[1].strip(),
        cells[2].strip(),
        cells[3],
        cells[8].strip().lower(),
    )
    if answer not in ANSWERS:
        raise ResourceError(f"{cells[8]!r} in the column answer", where=where, fix="write yes or no or leave it empty")
    if kind not in ("opinion", "aspect") or not word:
        raise ResourceError(f"kind {kind!r} of the word {word!r}", where=where, fix=_FIX)
    try:
        valid = bool(read_valence(meaning)) if kind == "opinion" else meaning in classes
        certain = float(confidence)
    except ValueError:
        valid, certain = False, 0.0
    if not valid:
        wanted = "POS, NEG or NEU" if kind == "opinion" else "one of the classes of aspect_classes.tsv"
        raise ResourceError(
            f"meaning {meaning!r} with confidence {confidence!r}",
            where=where,
            fix=f"write {wanted} into the column meaning",
        )
    return _CandidateLine(number, kind, word, meaning, certain, ANSWERS[answer])
