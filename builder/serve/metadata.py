"""What Datasette says about our tables, columns and queries."""

from __future__ import annotations

from typing import Any

from builder.store import browse, queries

DATABASE = "builder"

_TABLES: dict[str, tuple[str, dict[str, str]]] = {
    browse.TABLE: (
        "Every triplet with who found it: filter, sort and count by facets. The id leads to its story, the review to its page.",
        {
            "id": "the triplet's number; leads to its story",
            "review": "the review's id as it came in",
            "aspect": "what is judged, as the review writes it",
            "opinion": "the core word with its negator (不會鹹 of 不會太鹹)",
            "polarity": "POS, NEG or NEU",
            "valence": "1 (bad) to 10 (good); 5 is neutral",
            "split": "train, valid or test",
            "sources": "who proposes it: rules, a model (C2: variant C, round 2), gold",
            "rule": "the pairing rule that made it, if one did",
            "verdict": "the discriminator: YY accepted, YN polarity doubted, NX pair doubted, nothing: it abstains",
            "text": "the beginning of the review",
        },
    ),
    "reviews": (
        "Reviews as they came in; repeated ones point to the first of their text.",
        {
            "key": "the id of the input",
            "text": "as given, never edited; all offsets are code points of it",
            "script": "traditional, simplified or mixed",
            "duplicate_of": "the first review with the same text",
            "norm_hash": "of the text without marks, widths and cases: equal for near-identical texts",
        },
    ),
    "triplets": (
        "Triplets with their spans; triplet_list is easier to read.",
        {"spans": "JSON: element, then half-open [start, end) code points", "owner": "餐點 where the aspect is 餐點口感"},
    ),
    "proposals": (
        "Which source proposes which triplet, how sure it is, and why.",
        {"story": "JSON: the decisions in order", "confidence": "of a model, 0 to 1"},
    ),
    "verdicts": (
        "What the discriminator says of each triplet.",
        {"label": "YY, YN or NX; nothing where it abstains", "score": "of YY, 0 to 1"},
    ),
    "training_sets": ("S_i of Algorithm 1: the training set of each variant and round.", {}),
    "rejected": ("What was not used, by which stage and why: nothing vanishes.", {"item": "row of a file, review or triplet"}),
    "sources": ("Whoever proposes or judges triplets.", {"signature": "code, settings and data that decide what it says"}),
    "rounds": (
        "Rounds of self-training.",
        {"accepted": "predictions that the discriminator lets pass", "added": "new in this round's training set"},
    ),
    "metrics": (
        "Scores against gold, or against the rules where there is no gold.",
        {"value": "percent", "low": "lower end of the 95% interval (bootstrap over reviews)", "high": "its upper end"},
    ),
    "released": ("What the last release holds: which triplet in which split, gold or silver.", {}),
    "lexicon_use": ("Lexicon words and how many triplets rest on each.", {"place": "line of the lexicon"}),
    "runs": ("Stages that are done.", {}),
}
_HIDDEN = ("annotations", "settings", "search", "releases")


def metadata(title: str, source: str) -> dict[str, Any]:
    """Datasette's metadata: descriptions, facets and canned queries. `title` names the data, `source` says where it came from."""
    tables: dict[str, Any] = {name: {"description": about, "columns": columns} for name, (about, columns) in _TABLES.items()} | {
        name: {"hidden": True} for name in _HIDDEN
    }
    tables[browse.TABLE] |= {"facets": ["polarity", "split", "rule", "verdict"], "size": 50, "sort": "id", "label_column": "aspect"}
    return {
        "title": title,
        "databases": {DATABASE: {"description": source, "tables": tables, "queries": {name: _canned(name) for name in queries.names()}}},
    }


def _canned(name: str) -> dict[str, Any]:
    query = queries.lookup(name)
    return {"sql": query.sql, "title": query.title, "description": query.description, "params": list(query.params), "hide_sql": True}
