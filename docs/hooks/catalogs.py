"""Tables of what can be chosen by name: stages, named queries, export formats, methods of augmentation, rules."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from pathlib import Path

from builder.augment.catalog import METHODS
from builder.export.formats import CARRIES, FORMATS, OTHERS
from builder.pipeline import STAGES
from builder.store import queries

RULES = Path(__file__).parents[2] / "rules"
NO_RULES = ("kind", "order", "about", "conventions", "hit", "miss")


def describe_stages() -> str:
    return _table(
        ("stage", "what it makes", "reads", "writes", "settings"),
        (
            (f"`{stage.name}`", stage.about, _codes(stage.reads), _codes(stage.writes), _codes(stage.settings))
            for stage in STAGES
        ),
    )


def describe_queries() -> str:
    named = (queries.lookup(name) for name in queries.names())
    rows = ((f"`{query.name}`", f"{query.title}. {query.description}".strip(), _codes(query.params)) for query in named)
    return _table(("query", "answers", "takes"), rows)


def describe_export_formats() -> str:
    abouts = {name: form.about for name, form in FORMATS.items()} | {name: about for name, (about, _) in OTHERS.items()}
    rows = ((f"`{name}`", about, CARRIES[name]) for name, about in abouts.items())
    return _table(("format", "what it is", "beside triplets, it carries"), rows)


def describe_methods() -> str:
    return _table(("method", "what it does"), ((f"`{name}`", about) for name, (about, _) in METHODS.items()))


def describe_rules() -> str:
    """Every rule with its kind, what it is about, and an example that must hit."""
    parts = []
    for path in sorted(RULES.glob("*.toml")):
        rules = tomllib.loads(path.read_text(encoding="utf-8"))
        parts += [f"## `rules/{path.name}`", ""]
        rows = (
            (
                f"`{name}`",
                f"`{rule['kind']}`",
                rule["about"],
                "; ".join(f"{hit['text']}" for hit in rule.get("hit", [])[:2]),
            )
            for name, rule in sorted(rules.items(), key=lambda item: item[1].get("order", 0))
        )
        parts += [_table(("rule", "kind", "what it does", "examples"), rows), ""]
    return "\n".join(parts)


def _codes(names: Iterable[str]) -> str:
    return " ".join(f"`{name}`" for name in names)


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = [head, ("---",) * len(head), *(tuple(cell.replace("|", "\\|") for cell in row) for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
