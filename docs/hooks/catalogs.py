"""Tables of what can be chosen by name: stages, named queries, export formats, methods of augmentation, rules."""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from faithfulness import read_faithfulness

from builder.augment.catalogue import METHODS
from builder.engine.rows import ENGINE_CLASSES, OPINION_STATES, UNIT_PROPERTIES
from builder.engine.symbols import UNIT_KINDS
from builder.language.lexicon.tsv_rows import load_word_classes, read_rows, table_files
from builder.pipeline.pipeline import STAGES
from builder.release.export.formats import FORMATS
from builder.store import queries

RULES = Path(__file__).parents[2] / "rules"
DOMAINS = Path(__file__).parents[2] / "domains"
PACKAGE = Path(__file__).parents[2] / "builder"
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
    rows = ((f"`{name}`", form.about, form.carries) for name, form in FORMATS.items())
    return _table(("format", "what it is", "beside triplets, it carries"), rows)


def describe_methods() -> str:
    return _table(("method", "what it does"), ((f"`{name}`", about) for name, (about, _) in METHODS.items()))


def describe_rules() -> str:
    """Every rule with its kind, what it is about, and an example that must hit."""
    parts = []
    for path in sorted(RULES.glob("*.toml")):
        rules = tomllib.loads(path.read_text(encoding="utf-8"))
        parts += [f"### `rules/{path.name}`", ""]
        rows = (
            (
                f"`{name}`",
                f"`{rule['kind']}`",
                rule["about"],
                "; ".join(hit.partition(" → ")[0] for hit in rule.get("hit", [])[:2]),
            )
            for name, rule in sorted(rules.items(), key=lambda item: item[1].get("order", 0))
        )
        parts += [_table(("rule", "kind", "what it does", "examples"), rows), ""]
    return "\n".join(parts)


def describe_units() -> str:
    """The kinds of unit."""
    return _table(("unit", "what it is"), ((f"`{name}`", about) for name, about in UNIT_KINDS.items()))


def describe_conditions() -> str:
    """What patterns may ask of a unit beside its kind."""
    names = {**OPINION_STATES, **UNIT_PROPERTIES}
    return _table(("name", "holds of"), ((f"`{name}`", about) for name, about in names.items()))


def describe_engine_classes() -> str:
    """The classes of rules of kind `words` that the engine itself asks for."""
    return _table(("class", "a word of it"), ((f"`{name}`", about) for name, about in ENGINE_CLASSES.items()))


def describe_word_classes() -> str:
    """Every class of words that rules name: of which layer it is, what it is, and how many words it has."""
    layers = {"core": RULES.parent / "lexicons"} | {path.name: path / "lexicons" for path in sorted(DOMAINS.iterdir())}
    rows = []
    for layer, folder in layers.items():
        words = load_word_classes([folder])
        for table in table_files(folder, "word_classes"):
            rows += [
                (f"`<{name}>`", layer, gloss, str(len(words[name])), " ".join(words[name][:5]))
                for (name, gloss), _ in read_rows(table, 2)
            ]
    return _table(("class", "layer", "what it is", "words", "the first"), rows)


def describe_rooms() -> str:
    """Which room of the package imports which, in how many places; a room stands below all that it imports."""
    rooms = [path.parent.name for path in PACKAGE.glob("*/__init__.py")]
    arrows = Counter[tuple[str, str]]()
    for room in rooms:
        for path in (PACKAGE / room).rglob("*.py"):
            named = re.findall(r"^ *from builder\.(\w+)", path.read_text(encoding="utf-8"), re.M)
            arrows.update((room, other) for other in named if other != room)
    below = {room: {other for source, other in arrows if source == room} for room in rooms}
    order: list[str] = []
    while left := sorted(set(rooms) - set(order)):
        order.append(next(room for room in left if below[room] <= set(order)))
    rows = ((f"`{room}`", *(str(arrows[room, other] or "") for other in order)) for room in order)
    return _table(("", *(f"`{room}`" for room in order)), rows)


def _codes(names: Iterable[str]) -> str:
    return " ".join(f"`{name}`" for name in names)


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = [head, ("---",) * len(head), *(tuple(cell.replace("|", "\\|") for cell in row) for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def describe_faithfulness(preset: str) -> str:
    """Tables and figures of a paper with their commands, and what departs from it."""
    told = read_faithfulness(preset)
    numbers = {key: n for n, key in enumerate(told.departures, start=1)}
    shown = [
        (row.shown, f"`{row.command}`", row.input, row.stands_in, ", ".join(str(numbers[key]) for key in row.departs))
        for row in told.shown
    ]
    departing = [(str(numbers[key]), row.what, row.why) for key, row in told.departures.items()]
    heads = ("in the paper", "command that names", "input", "stands in", "departs"), ("", "what departs", "why")
    return "\n".join(_table(head, rows) for head, rows in zip(heads, (shown, departing), strict=True))
