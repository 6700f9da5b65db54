"""What is measured of every run: how much came out, how varied it is, how far from its source, how fluent. Pure, but
for sacrebleu.

Label survival needs models and is measured in the stage.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Literal

from builder.augment import fluency
from builder.augment.constraints import Trial
from builder.augment.judging import Judgement
from builder.core.errors import ConfigError, install_command

Language = Literal["zh", "en"]
Tokens = Callable[[str], Sequence[str]]


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
    model = fluency.judge(reviews, cut)
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
        f"perplexity ({unit}, Kneser-Ney {fluency.ORDER}-grams of the other half of train)": {
            "kept": model.perplexity((review_of(trial.source.id), trial.text) for trial in kept),
            "their sources": model.perplexity((review_of(source.id), source.text) for source in sources),
        },
    }
