"""Sections of the dataset card that stand in any release, or follow from few facts. Pure.

They are fields with one invented row, making, sources, uses, errors and maintenance.

What was measured on a release, by people or by gold, or that nothing was: for its card and its Croissant file. Pure.

In: `Facts.quality`, the result of `builder gold audit` as plain values (empty without one), and `Facts.figures`, by
gold reviews. Out: text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

from builder.core.records import Element
from builder.core.wording import counted, describe_annotators, table
from builder.release import origin
from builder.release.export.native_rows import ElementRow, ReviewRow, element_row
from builder.release.manifest import Facts, interval, markdown, metric_name, sentence, system_name
from builder.release.parquet_files import COLUMNS, REVIEW, TRIPLET, Fields
from builder.release.shelf import kept_columns

# ---- Fields and the example


def list_fields(fields: Fields) -> str:
    """A table of fields."""
    return table(["field", "type", "meaning"], [(f"`{name}`", *about) for name, about in fields.items()])


def example() -> ReviewRow:
    """An invented review as a row: it stands in no dataset."""
    text = "滷肉飯不會太油，老闆也親切"

    def element(*spans: tuple[int, int]) -> ElementRow:
        return element_row(Element.at(text, spans))

    rice, host, greasy, kind = element((0, 3)), element((8, 10)), element((3, 5), (6, 7)), element((11, 13))
    return {
        "id": "example", "text": text, "language": "zh-Hant", "rating": 4.0, "source": "invented",
        "annotation": "silver", "unverified_negative": False,
        "triplets": [
            {"id": "example:00000001", "aspect": rice, "aspect_full": rice, "aspect_category": "food.rice",
             "owner": None, "opinion": greasy, "opinion_full": element((3, 7)), "opinion_category": "greasy",
             "polarity": "POS", "valence": 6.5, "confidence": 0.93, "verdict": "YY", "sources": ["rules"],
             "rules": ["subject"]},
            {"id": "example:00000002", "aspect": host, "aspect_full": host, "aspect_category": "staff", "owner": None,
             "opinion": kind, "opinion_full": kind, "opinion_category": "service.warm", "polarity": "POS",
             "valence": 8.0, "confidence": 0.97, "verdict": "YY", "sources": ["rules"], "rules": ["subject"]},
        ],
    }  # fmt: skip


def shown_example(judged: bool = True) -> str:
    """The invented row as JSON that a person can read: a line for each key of the review and of its triplets. What a
    judge says is null where none decides.
    """
    row = example()
    if not judged:
        for triplet in row["triplets"]:
            triplet["confidence"] = triplet["verdict"] = None
    lines = [
        f"  {json.dumps(key)}: {json.dumps(value, ensure_ascii=False)},"
        for key, value in row.items()
        if key != "triplets"
    ]
    triplets = [
        "    {"
        + ",\n     ".join(
            f"{json.dumps(key)}: {json.dumps(value, ensure_ascii=False)}" for key, value in triplet.items()
        )
        + "}"
        for triplet in row["triplets"]
    ]
    return "{\n" + "\n".join(lines) + '\n  "triplets": [\n' + ",\n".join(triplets) + "\n  ]\n}"


# ---- Sections

REASONS = {
    "unsure": "triplets below the confidence that was asked for",
    "whole": "triplets of the product as a whole",
    "masked": "triplets that overlap what is masked",
    "span": "triplets whose aspect and opinion overlap or hold stray marks",
    "contradiction": "triplets that a better source contradicts",
    "overlap": "triplets that a better source has with other ends",
    "masked-duplicate": "reviews that masking made equal to another",
    "near-duplicate": "reviews like one of another split",
    "emptied": "reviews that lost all of their triplets on the way",
    "empty": "reviews in which nothing was found",
    "unlabelled": "reviews of test that nobody labelled",
}
"""Reason codes of the stage release in words."""
_TRIPLET_FIELDS = f"""A triplet. An element is `{{"text", "spans"}}`; \
spans are half-open code-point offsets into the review's `text`, several where the words are parted:

{list_fields(TRIPLET)}
"""
_SCOPE = """## Out of scope

- Judging or ranking a single restaurant, product or person: labels are too often wrong one by one.
- Estimating what customers think at large: the reviews are no sample of any population.
- Test scores on silver reviews: they measure agreement with the method, not truth. {gold}
- Taking an `unverified_negative` review as proof that nothing is judged in it.
- Texts other than {reviews}, and languages other than Chinese."""
ERRORS = """## Known errors

Classes of error that silver labels are known to have. How often each occurs was not measured for this release; \
the section Quality says what was.

| class | what happens | invented example |
|---|---|---|
| missed | implicit aspects, judgements made by a whole sentence, words that no lexicon holds | 吃完只想回家 yields \
nothing |
| wrong span | an aspect is cut short or holds a word too many | 滷肉 for 滷肉飯 |
| wrong pair | the opinion belongs to another aspect of the sentence | 湯 takes what is said of the 麵 |
| not a judgement | a wish, a question, hearsay or a comparison is taken for the speaker's view | 希望可以再便宜 |
| polarity | irony; words that praise one dish and blame another; negation over a distance | 真是「好」服務 |
| false negative | `unverified_negative` is true, but something is judged | a review of one slang word |"""


def fields_of(facts: Facts) -> str:
    """The fields, what is null throughout this release, and an example as its rows are."""
    judged = origin.is_judged(facts)
    null = "" if judged else "\nNo judge decided on this release: `confidence` and `verdict` are null throughout.\n"
    example = shown_example(judged)
    kept = kept_columns(facts.config)
    review = list_fields({**REVIEW, **COLUMNS} if kept else REVIEW)
    names = f"Columns that passed through: {', '.join(f'`{name}`' for name in kept)}.\n\n" if kept else ""
    return f"""## Fields

A review:

{review}

{names}{_TRIPLET_FIELDS}{null}
An invented example, which is in no split:

```json
{example}
```"""


def uses(facts: Facts) -> str:
    """What the data is good for, as far as its rows say it, and what it is not."""
    judged = origin.is_judged(facts)
    known = "`sources`, `rules`, `verdict` and `confidence` say" if judged else "`sources` and `rules` say"
    balance = "filter by `confidence`, or leave out" if judged else "filter by `rules`, or leave out"
    return f"""## Intended uses

- Training and comparing models for aspect sentiment triplets, aspect terms, or the polarity of aspects, in Chinese.
- Studying weak supervision: {known} how each label came about.
- Choosing your own balance: {balance} reviews with `unverified_negative`.

{_scope(facts)}"""


def _scope(facts: Facts) -> str:
    """What the data is not good for."""
    labelled = f"Use reviews with `annotation` gold, {describe_annotators(facts.gold_annotators)}."
    gold = labelled if facts.gold else "There are no others here."
    return _SCOPE.format(reviews=origin.reviews_of(facts), gold=gold)


def made(facts: Facts) -> str:
    """How the labels came about, with the names that fields and tables use."""
    terms = ["A *source* proposes triplets.", "`rules` is the rule engine with its lexicons."]
    if facts.gold:
        terms.append(f"`gold` is labels that were given, not found: {describe_annotators(facts.gold_annotators)}.")
    if any(layer.annotation == "silver" for layer in facts.layers):
        terms.append("`silver` is a language model.")
    named = " ".join([*(split.source for split in facts.splits), *(metric[0] for metric in facts.metrics)])
    if re.search(r"variant [A-D]|\b[A-D]\d", named):
        terms.append(
            "`A0` … `D3` are taggers: variant of self-training, then round. "
            "`S_n` is a variant's training set in round n."
        )
    if origin.has_shipped_model(facts):
        terms.append("The *shipped model* is a reader that comes with builder, taught by other reviews.")
        terms += ["`E0` is what rules and shipped model hold together."] * ("E0" in named or "together" in named)
    if origin.is_judged(facts):
        terms.append(
            f"The *judge*, here {origin.name_judge(facts)}, gives each candidate a verdict: YY, the opinion describes "
            "the aspect with this polarity; YN, with another polarity; NX, not at all."
        )
    return f"""## How it was made

Terms. {" ".join(terms)}

{_grouping(facts)} Near-duplicates (at least 70% of the character bigrams in common) are kept in one split. \
A review that was released in a
split stays in it in later releases of this name. Where two sources mark one place differently, the rules win\
{"; the model gives their triplet its own words where it finds these far likelier" * origin.has_joined(facts)}."""


def _grouping(facts: Facts) -> str:
    """What stays in one split, and what does not."""
    if group := facts.config.get("input.group_column"):
        kept = f"Reviews with one value of the column `{group}` stay in one split."
    else:
        kept = "Splits are by review, not by place or document."
    apart = f" {facts.places_apart:,} of {counted(facts.places, 'place')} have reviews in several splits."
    return kept + apart * bool(facts.places)


def inputs(facts: Facts) -> str:
    """Where reviews come from, each source with the licence that is stated for it; the release's own says nothing of
    the sources.
    """
    review_counts = facts.inputs
    if not [name for name in review_counts if name]:
        return "The input did not say where its reviews come from. Their own licence: not stated."
    rows = [
        (name.replace("|", " ") or "(not stated)", f"{number:,}", facts.licences.get(name, "not stated"))
        for name, number in sorted(review_counts.items(), key=lambda item: (-item[1], item[0]))
    ]
    return table(["source", "reviews", "licence"], rows)


_AGREEMENTS = {
    "gold": (
        "Scores of the build's systems",
        "Candidates of each system on the gold reviews, before the release chose from them.",
    ),
    "silver": (
        "Scores by a language model's labels",
        "Candidates of each system on the reviews that a language model labelled. They are as right as that model is.",
    ),
    "rules": (
        "Agreement with the rules (no measure of quality)",
        "Without gold there is only this: how far a system departs from the rules. High figures mean that it repeats "
        "them, right or wrong.",
    ),
}
"""What systems are measured against -> the heading, and what the scores mean."""


def agreement(facts: Facts) -> str:
    """Scores of the build's systems: against gold as they are;
    against the rules under a name that claims no quality.
    """
    by: dict[str, list[tuple[str, str, str, float, float | None, float | None]]] = {name: [] for name in _AGREEMENTS}
    for metric in facts.metrics:
        _, against, other = metric[0].rpartition(" against ")
        by[other if against and other in by else "gold"].append(metric)
    return "".join(
        f"## {heading}\n\n{meaning}\n\n{_scores(by[name])}\n\n"
        for name, (heading, meaning) in _AGREEMENTS.items()
        if by[name]
    )


def _scores(rows: list[tuple[str, str, str, float, float | None, float | None]]) -> str:
    shown = [
        (_systems(system), split, metric_name(metric), f"{value:.1f}", interval(low, high))
        for system, split, metric, value, low, high in rows
    ]
    return table(["system", "split", "metric", "percent", "95% interval"], shown)


def _systems(name: str) -> str:
    """`E0 against gold` in words."""
    system, against, other = name.partition(" against ")
    return system_name(system) + (f" against {system_name(other)}" if against else "")


def maintenance(facts: Facts) -> str:
    """Who answers, how errors are mended, what a version means, how to cite."""
    makers = facts.creator or "not stated (`release.creator`)"
    contact = facts.contact or facts.url
    removal = " To have a review removed, give its `id` to the contact above." if contact else ""
    return f"""- Makers: {makers}. Contact: {contact or "not stated (`release.contact`)"}.
- A released version never changes. Corrections come as a new version; \
`CHANGES.md` says what differs, and which part of the number rises.
- To report an error, give the `id` of the triplet or review.{removal}
- Cite the dataset as in `CITATION.cff`, and the paper whose method it follows."""


# ---- Quality

NOT_MEASURED = "Not measured: nobody has judged a sample of this release. `builder gold audit draw` draws one."


def quality_sentence(facts: Facts) -> str:
    """The results in sentences, of the audit and by gold reviews, or that quality was not measured."""
    audited = [str(facts.quality["summary"])] if facts.quality.get("summary") else []
    by_gold = [f"By gold: {sentence(facts.figures)}"] if facts.figures else []
    return " ".join(audited + by_gold) or NOT_MEASURED


def quality_section(facts: Facts) -> str:
    """The section of the card, with the precision of each stratum."""
    strata = facts.quality.get("strata")
    audited = str(facts.quality.get("summary") or "")
    lines = ["## Quality", "", audited or ("No sample of this release was audited." if facts.figures else NOT_MEASURED)]
    if isinstance(strata, Mapping) and strata:
        rows = [
            (name, f"{share['value']:.1f}", interval(share["low"], share["high"]), f"{share['answers']:,}")
            for name, share in strata.items()
        ]
        lines += ["", table(["triplets", "precision (percent)", "95% interval", "judged"], rows)]
    if facts.figures:
        by = f"What the method makes of the gold reviews, {describe_annotators(facts.gold_annotators)}:"
        lines += ["", by, "", markdown(facts.figures)]
    return "\n".join(lines) + "\n"
