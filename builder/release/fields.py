"""What each field of a released row means, once for card and Croissant, and one invented row. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping

from builder.release.export.records import ElementRow, ReviewRow

REVIEW: Mapping[str, tuple[str, str]] = {
    "id": ("string", "the review's id in this dataset"),
    "text": ("string", "the review, personal data masked; all offsets are code points into it"),
    "language": ("string", "BCP 47: zh-Hant, zh-Hans, or zh where scripts mix or no character tells the script"),
    "rating": ("number or null", "stars, where the input had them"),
    "source": ("string or null", "where the review comes from, as the input had it"),
    "annotation": (
        "string",
        "gold: labels given for the whole review; silver: a machine's; else the augmentation layer",
    ),
    "unverified_negative": (
        "boolean",
        "true: nothing was found in the review, and nobody has checked that nothing is there",
    ),
    "triplets": ("list", "what the review says, in the order of the opinions"),
}
TRIPLET: Mapping[str, tuple[str, str]] = {
    "id": (
        "string",
        "the triplet's id: that of its review, a colon, eight hexadecimal digits of its places and polarity",
    ),
    "aspect": ("element", "the term that is judged"),
    "aspect_full": ("element", "the term with its modifiers"),
    "aspect_category": ("string or null", "class of the aspect in the lexicon; null for a word that it does not hold"),
    "owner": ("element or null", "what the aspect is an attribute of, where the text names it (餐點 of 餐點口感)"),
    "opinion": (
        "element",
        "the core of the judgement with its negator and without words of degree; may be interrupted",
    ),
    "opinion_full": ("element", "the whole phrase, never interrupted"),
    "opinion_category": (
        "string or null",
        "category of the opinion in the lexicon; null for a word that it does not hold",
    ),
    "polarity": ("string", "POS, NEG or NEU"),
    "valence": ("number", "1 (bad) to 10 (good); 5 is neutral"),
    "confidence": (
        "number or null",
        "how likely the triplet is right, 0 to 1, by the calibrated judge; null without one, and in gold reviews",
    ),
    "verdict": (
        "string or null",
        "the judge: YY right, YN right pair but another polarity, NX no pair; null: it does not say",
    ),
    "sources": (
        "list of strings",
        "who says it: `rules` or a model that proposes it, `discriminator` where the judge calls it right or added it, "
        "`gold`",
    ),
    "rules": ("list of strings", "the pairing rule that made it, if a rule did"),
}
LINEAGE: Mapping[str, tuple[str, str]] = {
    "source_id": ("string", "the id of the row that this one was made from"),
    "method": ("string", "the augmentation method"),
}
"""Of augmentation layers alone."""


def table(fields: Mapping[str, tuple[str, str]]) -> str:
    """A Markdown table of fields."""
    return "| field | type | meaning |\n|---|---|---|\n" + "\n".join(
        f"| `{name}` | {kind} | {about} |" for name, (kind, about) in fields.items()
    )


def example() -> ReviewRow:
    """An invented review as a row: it stands in no dataset."""
    text = "滷肉飯不會太油，老闆也親切"

    def element(*spans: tuple[int, int]) -> ElementRow:
        return {"text": "".join(text[start:end] for start, end in spans), "spans": [list(span) for span in spans]}

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
