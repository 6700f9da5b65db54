"""What Datasette says about our tables, columns and queries."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from builder.store import browse, changes, queries
from builder.store.queries import describe_tables

DATABASE = "builder"

_TRIPLET_LIST = (
    "Candidates: every triplet that a source proposes, released or not. The id leads to its story, the review to its "
    "page.",
    {
        "id": "Number of the triplet; leads to its story.",
        "review": "Id of the review in the input.",
        "aspect": "The term that is judged, as the review writes it.",
        "opinion": "The core word with its negator: 不會鹹 of 不會太鹹.",
        "polarity": "POS, NEG or NEU.",
        "valence": "From 1 (bad) to 10 (good); 5 is neutral.",
        "split": "train, valid or test.",
        "released": "Release that holds it; empty: it was left out.",
        "confidence": "How likely it is right, 0 to 1, by the calibrated judge.",
        "aspect_category": "Class of the aspect in the lexicon, of released triplets.",
        "opinion_category": "Category of the opinion in the lexicon, of released triplets.",
        "source": "Where the review comes from.",
        "sources": "Who says it: rules, a model (C2: variant C, round 2), the discriminator that calls it right, gold.",
        "rule": "Pairing rule that made it.",
        "verdict": "The judge: YY accepted, YN polarity doubted, NX pair doubted, empty: it abstains.",
        "text": "Beginning of the review.",
    },
)
"""The flat table that only the pages have; the others are described in the store."""
_HIDDEN = (
    "annotations", "settings", "search", "releases", "current_triplets", *browse.TABLES, *changes.TABLES,
)  # fmt: skip


def metadata(title: str, source: str) -> dict[str, Any]:
    """Datasette's metadata: descriptions, facets and canned queries. `title` names the data, `source` says where it
    came from.
    """
    tables: dict[str, Any] = {name: _plain(table.about, table.columns) for name, table in describe_tables().items()}
    tables |= {browse.TABLE: _plain(*_TRIPLET_LIST)} | {name: {"hidden": True} for name in _HIDDEN}
    tables[browse.TABLE] |= {
        "facets": ["released", "polarity", "split", "verdict", "rule"],
        "size": 50,
        "sort": "id",
        "label_column": "aspect",
    }
    return {
        "title": title,
        "databases": {
            DATABASE: {
                "description": source,
                "tables": tables,
                "queries": {name: _canned(name) for name in queries.names()},
            }
        },
    }


def _plain(about: str, columns: Mapping[str, str]) -> dict[str, Any]:
    """Datasette shows descriptions as text: no marks of code."""
    return {
        "description": about.replace("`", ""),
        "columns": {name: sentence.replace("`", "") for name, sentence in columns.items()},
    }


def _canned(name: str) -> dict[str, Any]:
    query = queries.lookup(name)
    return {
        "sql": query.sql,
        "title": query.title,
        "description": query.description,
        "params": list(query.params),
        "hide_sql": True,
    }
