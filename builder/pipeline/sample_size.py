"""How long the shipped reviews are to a base's tokenizer, and how much the rules find in them.

In: a hub name or folder. Out: the `ReviewSize` that model costs are reckoned from.
"""

from __future__ import annotations

from builder.engine.reader import Recipe, make_reader
from builder.language.lexicon.resources import sample_dir
from builder.pipeline.model_costs import ReviewSize
from builder.reviews import sources
from builder.reviews.sources.rows import RawReview

_READ = 200
"""Reviews that are looked at."""


def measure_sample(base: str) -> ReviewSize:
    """Means over the first reviews of the shipped sample. ModelError where the base has no tokenizer."""
    from builder.learning import hub
    from builder.models.paper.templates import answer, triple_of

    tokenizer = hub.load_tokenizer(base)
    rows = sources.read(sample_dir() / "reviews.csv", sources.Columns())
    texts = [row.text for row in rows if isinstance(row, RawReview)][:_READ]
    extracted = make_reader(Recipe()).extract(texts)
    answers = [answer([triple_of(triplet) for triplet in triplets], "2")[0] for triplets in extracted]

    def mean_tokens(written: list[str]) -> float:
        return sum(len(tokenizer(text).input_ids) for text in written) / len(written)

    return ReviewSize(mean_tokens(texts), mean_tokens(answers), sum(map(len, extracted)) / len(texts))
