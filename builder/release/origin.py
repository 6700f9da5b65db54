"""Where the triplets of a release come from: sentences that card, Croissant and citation share, and CITATION.cff. Pure.

In: `Facts`, of which `splits` name their sources and `panel` says what the judges did. Out: text that claims no more
than what was done: a release of the rules alone names no model as its maker.

CITATION.cff (Citation File Format 1.2.0) cites the dataset by its makers. Its reference is the paper whose method the
dataset follows.
"""

from __future__ import annotations

import json
import re
from pathlib import PurePath

from builder.core.licences import is_spdx_name
from builder.core.settings import CORE, RESTAURANT
from builder.core.wording import NOT_STATED, counted, name_annotators
from builder.release.manifest import Facts

# ---- Sentences on origin

SHIPPED_JUDGE = "The judge is the model that builder ships, a reader taught by annotated reviews of others"
"""How `Facts.panel` begins where that model is the judge."""
SHIPPED = "shipped model"
"""What the source of a split calls the model that builder ships."""
GOLD_FITTED = "on gold reviews"
"""What `Facts.panel` holds where the confidences were fitted to gold."""
_START = "builder {} found them by weak supervision: a rule engine with lexicons proposed"


def name_reviews(domain: str) -> str:
    """What reviews of a domain are called: `restaurant reviews`, those of a pack after its folder, else `reviews`."""
    return "reviews" if domain == CORE else f"{PurePath(domain).name} reviews"


def reviews_of(facts: Facts) -> str:
    """What the reviews of a release are called."""
    return name_reviews(str(facts.config.get("domain", RESTAURANT)))


def is_tagged(facts: Facts) -> bool:
    """Whether taggers or the shipped model proposed some of the triplets."""
    return _holds_with(SHIPPED, facts) or _holds_with("variant", facts)


def is_judged(facts: Facts) -> bool:
    """Whether a judge decided on the triplets: the discriminator, or the shipped model."""
    return _holds_with(SHIPPED, facts) or _holds_with("judge", facts)


def _holds_with(word: str, facts: Facts) -> bool:
    return any(word in split.source for split in facts.splits)


def has_joined(facts: Facts) -> bool:
    """Whether the release holds what rules and shipped model hold together."""
    return _holds_with(SHIPPED, facts)


def has_shipped_model(facts: Facts) -> bool:
    return facts.panel.startswith(SHIPPED_JUDGE) or has_joined(facts)


def name_judge(facts: Facts) -> str:
    """What judged, where something did."""
    return "the shipped model" if has_shipped_model(facts) else "the discriminator"


def model_labels(facts: Facts) -> str:
    """The reviews that a language model labelled, in a sentence; empty where none did."""
    layers = [layer for layer in facts.layers if layer.annotation == "silver"]
    return " ".join(
        f"In {counted(layer.reviews, 'review')} of test a language model ({layer.labelled_by}) said which of the "
        "triplets proposed are right."
        if "pool" in layer.labelled_by
        else f"A language model labelled {counted(layer.reviews, 'review')} of test."
        for layer in layers
    )


def makers(facts: Facts) -> str:
    """Who made the triplets, in a few words."""
    machine = "rules"
    if is_tagged(facts):
        machine = "rules, a judge and taggers" if is_judged(facts) else "rules and taggers"
    if has_joined(facts):
        machine = "rules and the shipped model"
    if not facts.gold:
        return machine
    gold = counted(facts.gold, "review")
    if not facts.gold_annotators:
        return f"{machine}; in {gold} labels were given, {NOT_STATED} them"
    return f"{machine}, and by {name_annotators(facts.gold_annotators)} in {gold}"


def sentences(facts: Facts) -> str:
    """How the triplets were made: by whom, what no model did, and after which method."""
    start = _START.format(facts.builder)
    parts = (start, _machine(facts), model_labels(facts), _gold(facts), _method(facts))
    return " ".join(filter(None, parts))


def _machine(facts: Facts) -> str:
    if has_joined(facts):
        return (
            "triplets. A pretrained reader that ships with builder, trained on other, annotated reviews, added some, "
            "gave others its own words, left some out and rated them."
        )
    if is_tagged(facts) and is_judged(facts):
        return "triplets. Taggers, trained on the rules' output, added some, and a judge left others out."
    if is_tagged(facts):
        return "triplets, and taggers trained on the rules' output added some."
    if is_judged(facts):
        return "every triplet, and a judge trained on the rules' output left some out."
    return "every triplet. No judge or tagger was trained."


def _gold(facts: Facts) -> str:
    if not facts.gold:
        return "No person labelled any of them."
    who, reviews = name_annotators(facts.gold_annotators), f"the {counted(facts.gold, 'review')} with `annotation` gold"
    labelled = f"{who.capitalize()} labelled {reviews}" if facts.gold_annotators else f"It is {NOT_STATED} {reviews}"
    fitted = "; the confidences are fitted to them" if GOLD_FITTED in facts.panel else ""
    return f"{labelled}. They stand in test alone{fitted}."


def _method(facts: Facts) -> str:
    if is_tagged(facts):
        return "The method follows Lu et al. (LREC-COLING 2024)."
    return "The method follows the first step of Lu et al. (LREC-COLING 2024)."


# ---- CITATION.cff

_MAIL = re.compile(r"[^@\s]+@[^@\s]+\.\w+")
AUTHORS = (("Chia-Wen", "Lu"), ("Ching-Wen", "Yang"), ("Wei-Yun", "Ma"))
NOBODY = "not stated"
"""The author where nobody names one (`release.creator`): the format asks for a name."""
PAPER = (
    "Automatic Construction of a Chinese Review Dataset for Aspect Sentiment Triplet Extraction via Iterative Weak "
    "Supervision"
)


def citation(facts: Facts) -> str:
    """CITATION.cff of a release: who made which version when, and the paper whose method it follows."""

    def text(value: str) -> str:
        return json.dumps(value, ensure_ascii=False)

    contact = [f"email: {text(facts.contact)}", *([f"name: {text(facts.creator)}"] if facts.creator else [])]
    lines = [
        "cff-version: 1.2.0",
        f"message: {text('If you use this dataset, please cite it as below, and the paper whose method it follows.')}",
        "type: dataset",
        f"title: {text(facts.name)}",
        f"version: {text(facts.version)}",
        *([f"date-released: {facts.date}"] if facts.date else []),
        *([f"license: {facts.licence}"] if is_spdx_name(facts.licence) else []),
        *([f"url: {text(facts.url)}"] if facts.url else []),
        *(["contact:\n  - " + "\n    ".join(contact)] if _MAIL.fullmatch(facts.contact) else []),
        "authors:",
        f"  - name: {text(facts.creator or NOBODY)}",
        f"abstract: {text(f'Aspect sentiment triplets of Chinese {reviews_of(facts)}, found by {makers(facts)}.')}",
        "keywords: [aspect sentiment triplet extraction, weak supervision, Chinese, reviews]",
        "references:",
        "  - type: conference-paper",
        f"    title: {text(PAPER)}",
        "    year: 2024",
        f"    collection-title: {text('LREC-COLING 2024')}",
        "    authors:",
        *(
            line
            for given, family in AUTHORS
            for line in (f"      - family-names: {text(family)}", f"        given-names: {text(given)}")
        ),
    ]
    return "\n".join(lines) + "\n"


def cite_as(facts: Facts) -> str:
    """One line, for Croissant's citeAs."""
    year = f" ({facts.date[:4]})" if facts.date else ""
    cited = f"{facts.name}, version {facts.version}"
    return (
        f"{f'{facts.creator}{year}: {cited}' if facts.creator else cited + year}. "
        f"Method after Lu et al., {PAPER}, LREC-COLING 2024."
    )
