"""What is measured of an augmentation run: label survival, yield, variety, distance from the source, fluency.

Label survival: how many of the carried-over triplets others find, beside what they find in the sources. Those are the
rule engine, and the model and discriminator of a working directory. Fluency is how likely a text is by a language model
that took no part in making it: interpolated Kneser-Ney n-grams (Chen & Goodman 1998, equation 17).
"""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Literal

from builder.augment.candidates import written
from builder.augment.catalogue import AugmentSettings
from builder.augment.constraints import Trial
from builder.augment.run import Judgement
from builder.augment.views import cached_reader
from builder.core.errors import ConfigError, install_command
from builder.core.records import Span, Triplet
from builder.engine.reader import to_view
from builder.language.lexicon.folders import SHIPPED, Folders, folders_in
from builder.pipeline.extraction import build_settings, open_system
from builder.reviews.text import view

# ---- Label survival

Held = tuple[str, Sequence[Triplet]]
"""A text and the triplets that it is said to hold."""
Judge = Callable[[Sequence[Held]], list[list[bool]]]
"""For each text, whether each of its triplets is found."""
_BATCH = 512


def survival(pairs: Sequence[tuple[Held, Held]], judges: Mapping[str, Judge]) -> dict[str, object]:
    """`pairs`: (source, made) with the same triplets in the same order. By judge: shares of triplets found."""
    return {name: _shares(pairs, judge) for name, judge in judges.items()}


def _shares(pairs: Sequence[tuple[Held, Held]], judge: Judge) -> dict[str, float | None]:
    rows = _before_and_after(pairs, judge)
    flags = [both for row in rows for both in row]
    return {
        "found in the sources": _share([old for old, _ in flags]),
        "found in what was kept": _share([new for _, new in flags]),
        "of those found in the source": _share([new for old, new in flags if old]),
        "rows with all of those": _share([all(new for old, new in row if old) for row in rows]),
    }


def _before_and_after(pairs: Sequence[tuple[Held, Held]], judge: Judge) -> list[list[tuple[bool, bool]]]:
    """For each pair, whether each triplet is found in the source, and in what was made of it."""
    sources = {text: held for held, _ in pairs for text in [_key(held)]}
    before = dict(zip(sources, _judged(list(sources.values()), judge), strict=True))
    after = _judged([made for _, made in pairs], judge)
    return [list(zip(before[_key(held)], new, strict=True)) for (held, _), new in zip(pairs, after, strict=True)]


def label_lost(pairs: Sequence[tuple[Held, Held]], folders: Folders = SHIPPED) -> set[int]:
    """The indices of texts in which the rules no longer find a triplet that they find in the source."""
    rules = _finding(cached_reader(folders).extract)
    return {n for n, row in enumerate(_before_and_after(pairs, rules)) if any(old and not new for old, new in row)}


def unconfirmed(flipped: Sequence[Held], workdir: Path | None, device: str = "auto") -> set[int]:
    """The indices of texts of which a discriminator (else the rules) does not find every triplet as flipped."""
    judge = _discriminator(workdir, device) if workdir else _rules(None)
    return {n for n, flags in enumerate(_judged(flipped, judge)) if not all(flags)}


def invented(trials: Sequence[Trial], workdir: Path, device: str = "auto") -> set[int]:
    """The indices of candidates in which a model finds an aspect that an edit wrote and nobody labelled."""
    model = open_system(workdir, device=device)
    predicted = [
        triplets
        for at in range(0, len(trials), _BATCH)
        for triplets in model.extract([trial.text for trial in trials[at : at + _BATCH]])
    ]
    out = set()
    for n, (trial, triplets) in enumerate(zip(trials, predicted, strict=True)):
        labelled = [(mark.start, mark.end) for mark in trial.marks if mark is not None]
        aspects = [triplet.aspect.spans for triplet in triplets]
        if any(_overlap(spans, written(trial.candidate.edits)) and not _overlap(spans, labelled) for spans in aspects):
            out.add(n)
    return out


def _key(held: Held) -> tuple[object, ...]:
    return held[0], *(triplet.key for triplet in held[1])


def _share(flags: Sequence[bool]) -> float | None:
    return round(sum(flags) / len(flags), 4) if flags else None


def _judged(texts: Sequence[Held], judge: Judge) -> list[list[bool]]:
    return [flags for at in range(0, len(texts), _BATCH) for flags in judge(texts[at : at + _BATCH])]


def judges(workdir: Path | None, device: str = "auto") -> dict[str, Judge]:
    """The rule engine, and what a working directory has trained: models that find, discriminators that judge."""
    by_name: dict[str, Judge] = {"rules": _rules(workdir)}
    if workdir is not None:
        model = open_system(workdir, device=device)
        by_name[f"model {model.name}"] = _finding(model.extract)
        by_name["discriminator"] = _discriminator(workdir, device)
    return by_name


def _rules(workdir: Path | None) -> Judge:
    return _finding(cached_reader(folders_in(workdir)).extract)


def _finding(extract: Callable[[Sequence[str]], list[tuple[Triplet, ...]]]) -> Judge:
    """The judge that looks for triplets among those that `extract` finds in the texts."""

    def finds(texts: Sequence[Held]) -> list[list[bool]]:
        extracted = extract([text for text, _ in texts])
        return [_flag_found(held, triplets) for held, triplets in zip(texts, extracted, strict=True)]

    return finds


def _discriminator(workdir: Path, device: str) -> Judge:
    """Whether the verdict is YY. A triplet that the view cannot show is not found."""
    from builder.learning.task import Example
    from builder.models.kinds import load_judge
    from builder.models.shipped import load_model
    from builder.pipeline.judging import SHIPPED

    models = workdir / "models"
    chosen = device if device != "auto" else build_settings(workdir).device
    judge = (
        load_model(models / SHIPPED, chosen)
        if (models / SHIPPED).is_dir()
        else load_judge(models / "discriminator", chosen)
    )
    lexicon = folders_in(workdir).load_lexicon()

    def finds(texts: Sequence[Held]) -> list[list[bool]]:
        shown = [view(text, lexicon.variants) for text, _ in texts]
        moved = [
            [to_view(triplet, shown_text) for triplet in triplets]
            for (_, triplets), shown_text in zip(texts, shown, strict=True)
        ]
        asked = [
            Example("", shown_text.text, tuple(t for t in triplets if t))
            for shown_text, triplets in zip(shown, moved, strict=True)
        ]
        verdicts = judge.classify(asked)
        return [_flags(triplets, iter(labels)) for triplets, labels in zip(moved, verdicts, strict=True)]

    return finds


def _flags(triplets: Sequence[Triplet | None], labels: object) -> list[bool]:
    return [triplet is not None and next(labels)[0] == "YY" for triplet in triplets]  # type: ignore[call-overload]


def _flag_found(held: Held, candidates: Sequence[Triplet]) -> list[bool]:
    """Whether each triplet is among the candidates: both spans overlap, the polarity is the same."""
    return [
        any(
            triplet.polarity == other.polarity
            and _overlap(triplet.aspect.spans, other.aspect.spans)
            and _overlap(triplet.opinion_full.spans, other.opinion_full.spans)
            for other in candidates
        )
        for triplet in held[1]
    ]


def _overlap(first: Sequence[Span], second: Sequence[Span]) -> bool:
    return any(a < d and c < b for a, b in first for c, d in second)


# ---- Yield, variety and fluency

ORDER = 3
MOST_TEXTS = 20_000
"""For each model: more would take memory and change little."""
_EDGE = "\n"
_DISCOUNT = 0.75
Tokens = Callable[[str], Sequence[str]]
Gram = tuple[str, ...]


@dataclass(frozen=True, eq=False, slots=True)
class Level:
    """Counts of n-grams (in lower orders of the contexts that they stand in), and by history their sum and kinds."""

    counts: Counter[Gram]
    sums: Counter[Gram]
    kinds: Counter[Gram]


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
            if total := level.sums[history]:
                seen = max(level.counts[*history, gram[-1]] - _DISCOUNT, 0.0)
                chance = (seen + _DISCOUNT * level.kinds[history] * chance) / total
        return chance


def fit(texts: Iterable[Sequence[str]], order: int = ORDER) -> Kneser:
    """A Kneser-Ney model of tokenised texts; `order` tokens are an n-gram."""
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
    sums: Counter[Gram] = Counter()
    for gram, count in counts.items():
        sums[gram[:-1]] += count
    return Level(counts, sums, Counter(gram[:-1] for gram in counts))


def fold_of(source: str) -> int:
    """Which half a review belongs to."""
    return hashlib.sha256(source.encode("utf-8", "surrogatepass")).digest()[0] % 2


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
    halves: tuple[list[Sequence[str]], list[Sequence[str]]] = [], []
    for i, text in reviews:
        other = halves[1 - fold_of(i)]
        if len(other) < MOST_TEXTS:
            other.append(tokens(text))
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
    settings: AugmentSettings,
    reviews: Sequence[tuple[str, str]],
    review_of: Callable[[str], str] = lambda sentence: sentence,
) -> dict[str, object]:
    """`reviews`: (id, text) of the train split, for the fluency model. `review_of`: sentence id -> review id."""
    language, sentences = settings.given.language, len(settings.given.sentences)
    unit, cut, _ = TOKENS[language]
    kept = judged.kept
    sources = list({trial.source.id: trial.source for trial in kept}.values())
    model = judge(reviews, cut)
    score, signature = bleu(kept, language)
    texts = [cut(trial.text) for trial in kept]
    before = [cut(source.text) for source in sources]
    by_model: dict[str, object] = {}
    if settings.fluency:
        from builder.augment.methods.gpt2 import measure_perplexity

        ask = partial(measure_perplexity, settings.fluency, settings.threads, settings.device)
        both = {"kept": [trial.text for trial in kept], "their sources": [source.text for source in sources]}
        by_model = {f"perplexity (tokens of {settings.fluency})": {name: ask(own) for name, own in both.items()}}
    return by_model | {
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
