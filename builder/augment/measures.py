"""What is measured of every run: how much came out, how varied it is, how far from its source, how fluent. Pure, but
for sacrebleu.

Label survival needs models and is measured in the stage.

How likely a text is, by a language model that took no part in making it: interpolated Kneser-Ney n-grams (Chen &
Goodman 1998, equation 17).
"""

from __future__ import annotations

import hashlib
import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from builder.augment.constraints import Trial
from builder.augment.run import Judgement
from builder.core.errors import ConfigError, install_command

ORDER = 3
FOLDS = 2
MOST_TEXTS = 20_000
"""For each model: more would take memory and change little."""
_EDGE = "\n"
_DISCOUNT = 0.75
Tokens = Callable[[str], Sequence[str]]
Gram = tuple[str, ...]


@dataclass(frozen=True, eq=False, slots=True)
class Level:
    """Counts of one order: of n-grams (raw in the highest order, else in how many contexts they stand), and by
    history their sum and kinds.
    """

    counts: dict[Gram, int]
    sums: dict[Gram, int]
    kinds: dict[Gram, int]


@dataclass(frozen=True, eq=False, slots=True)
class Kneser:
    """`levels` from unigrams up; `vocabulary` counts the different tokens, the end of a text and one unknown token."""

    levels: tuple[Level, ...]
    vocabulary: int

    def log2(self, tokens: Sequence[str]) -> float:
        """The logarithm of the probability of a text with its end."""
        padded = [_EDGE] * (len(self.levels) - 1) + [*tokens, _EDGE]
        first = len(self.levels) - 1
        return sum(math.log2(self._probability(tuple(padded[i - first : i + 1]))) for i in range(first, len(padded)))

    def _probability(self, gram: Gram) -> float:
        chance = 1.0 / self.vocabulary
        for n, level in enumerate(self.levels):
            history = gram[len(gram) - 1 - n : -1]
            total = level.sums.get(history, 0)
            if total:
                seen = max(level.counts.get((*history, gram[-1]), 0) - _DISCOUNT, 0.0)
                chance = (seen + _DISCOUNT * level.kinds[history] * chance) / total
        return chance


def fit(texts: Iterable[Sequence[str]], order: int = ORDER) -> Kneser:
    """A Kneser-Ney model of tokenised texts.

    Args:
        order: tokens in an n-gram, the predicted one among them.
    """
    raw: Counter[Gram] = Counter()
    for tokens in texts:
        padded = [_EDGE] * (order - 1) + [*tokens, _EDGE]
        raw.update(zip(*(padded[n:] for n in range(order)), strict=False))
    levels = [_level(raw)]
    grams: Iterable[Gram] = raw
    for _ in range(order - 1):
        lower: Counter[Gram] = Counter(gram[1:] for gram in grams)
        levels.insert(0, _level(lower))
        grams = lower
    return Kneser(tuple(levels), len({gram[-1] for gram in raw}) + 1)


def _level(counts: Counter[Gram]) -> Level:
    sums: defaultdict[Gram, int] = defaultdict(int)
    kinds: defaultdict[Gram, int] = defaultdict(int)
    for gram, count in counts.items():
        sums[gram[:-1]] += count
        kinds[gram[:-1]] += 1
    return Level(dict(counts), dict(sums), dict(kinds))


def fold_of(source: str) -> int:
    """Which half a review belongs to."""
    return hashlib.sha256(source.encode("utf-8", "surrogatepass")).digest()[0] % FOLDS


@dataclass(frozen=True, slots=True)
class FluencyJudge:
    """A model for each half, trained on the other one."""

    models: tuple[Kneser, ...]
    tokens: Tokens

    def perplexity(self, texts: Iterable[tuple[str, str]]) -> float | None:
        """Of (source review, text) pairs, per token with the texts' ends: 2 to the mean of -log2; None without any."""
        bits = number = 0.0
        for source, text in texts:
            tokens = self.tokens(text)
            bits -= self.models[fold_of(source)].log2(tokens)
            number += len(tokens) + 1
        return round(2 ** (bits / number), 1) if number else None


def judge(reviews: Iterable[tuple[str, str]], tokens: Tokens) -> FluencyJudge:
    """From (id, text) of the train split."""
    halves: list[list[Sequence[str]]] = [[] for _ in range(FOLDS)]
    for i, text in reviews:
        others = [n for n in range(FOLDS) if n != fold_of(i)]
        for n in others:
            if len(halves[n]) < MOST_TEXTS:
                halves[n].append(tokens(text))
    return FluencyJudge(tuple(fit(half) for half in halves), tokens)


Language = Literal["zh", "en"]


def characters(text: str) -> Sequence[str]:
    """The characters of a text that are no space."""
    return [char for char in text if not char.isspace()]


def words(text: str) -> Sequence[str]:
    """The words of a text in lower case."""
    return text.lower().split()


TOKENS: Mapping[Language, tuple[str, Tokens, str]] = {
    "zh": ("characters", characters, "zh"),
    "en": ("words", words, "13a"),
}
"""Language -> (what distinct-n and perplexity count, how a text is cut, sacrebleu's tokeniser)."""


def distinct(texts: Sequence[Sequence[str]], n: int) -> float | None:
    """Li et al. 2016: different n-grams over all n-grams; None where there are none."""
    grams = [gram for tokens in texts for gram in zip(*(tokens[i:] for i in range(n)), strict=False)]
    return round(len(set(grams)) / len(grams), 4) if grams else None


def check() -> None:
    """What would fail after an hour fails now."""
    try:
        import sacrebleu  # noqa: F401
    except ImportError as error:
        raise ConfigError("measuring augmentation needs sacrebleu", fix=install_command("augment")) from error


def bleu(kept: Sequence[Trial], language: Language) -> tuple[float | None, str]:
    """(BLEU of the kept texts against their sources, its signature): low means far from the source."""
    from sacrebleu.metrics.bleu import BLEU

    metric = BLEU(tokenize=TOKENS[language][2], force=True)  # the sets of the papers come cut into tokens
    if not kept:
        return None, ""
    score = metric.corpus_score([trial.text for trial in kept], [[trial.source.text for trial in kept]])
    return round(score.score, 2), str(metric.get_signature())


def measures(
    judged: Judgement,
    sentences: int,
    language: Language,
    reviews: Sequence[tuple[str, str]],
    review_of: Callable[[str], str],
) -> dict[str, object]:
    """`reviews`: (id, text) of the train split, for the fluency model. `review_of`: sentence id -> review id."""
    unit, cut, _ = TOKENS[language]
    kept = judged.kept
    sources = list({trial.source.id: trial.source for trial in kept}.values())
    model = judge(reviews, cut)
    score, signature = bleu(kept, language)
    texts = [cut(trial.text) for trial in kept]
    before = [cut(source.text) for source in sources]
    return {
        "sentences": sentences,
        "sentences with candidates": judged.sources,
        "candidates": judged.proposed,
        "kept": len(kept),
        "kept of candidates": round(len(kept) / max(1, judged.proposed), 4),
        "kept a sentence": round(len(kept) / max(1, sentences), 4),
        f"distinct-1 ({unit})": {"kept": distinct(texts, 1), "their sources": distinct(before, 1)},
        f"distinct-2 ({unit})": {"kept": distinct(texts, 2), "their sources": distinct(before, 2)},
        "BLEU against the source": {"score": score, "signature": signature},
        f"perplexity ({unit}, Kneser-Ney {ORDER}-grams of the other half of train)": {
            "kept": model.perplexity((review_of(trial.source.id), trial.text) for trial in kept),
            "their sources": model.perplexity((review_of(source.id), source.text) for source in sources),
        },
    }
