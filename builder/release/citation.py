"""CITATION.cff of a release (Citation File Format 1.2.0): the dataset by its makers, and as reference the paper whose
method it follows. Pure.
"""

from __future__ import annotations

import json
import re

from builder.core.licences import is_spdx_name
from builder.release import origin
from builder.release.manifest import Facts

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
        "abstract: "
        f"{text(f'Aspect sentiment triplets of Chinese {origin.reviews_of(facts)}, found by {origin.makers(facts)}.')}",
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
