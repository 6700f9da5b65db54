"""Induction: grow the lexicon from raw reviews, without labels (`builder words lexicon induce`).

In: annotated reviews, the lexicon, settings, what a model finds in some of the reviews. Out: candidate opinions and
aspects with scores and evidence. The method is double propagation (Qiu et al. 2011). Known opinions vouch for the nouns
they describe, known aspects for the words that describe them. What is accepted in a round vouches in the next. What the
paper decides by rules is weighed here by a regression that the lexicon's own words calibrate (`fit`). Frequency,
association, context purity, company and spelling make the confidence that a word is an opinion or an aspect, and so
does how often the model takes it for one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal

from builder.language.lexicon.candidate_scores import Endings, WordScore, aspect_scores, opinion_scores, valences
from builder.language.lexicon.categories import like_name
from builder.language.lexicon.links import NOTHING_FOUND, Found, ParsedReview, Uses, gather
from builder.language.lexicon.resources import Lexicon
from builder.reviews.privacy.place_names import tagged
from builder.reviews.script import HAN, converter, script_of

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
