"""Parameters of rules as the engine needs them: strings, tables, numbers; ResourceError names the rule that lacks one."""

from __future__ import annotations

from builder.errors import ResourceError
from builder.lexicon.resources import Rule


def strings(rule: Rule, key: str) -> tuple[str, ...]:
    value = rule.params.get(key, ())
    if not isinstance(value, (list, tuple)) or not all(isinstance(one, str) for one in value):
        raise ResourceError(f"rule {rule.name!r}: {key} is no list of strings", where=rule.where)
    return tuple(value)


def table(rule: Rule, key: str) -> dict[str, list[str]]:
    value = rule.params.get(key)
    if not isinstance(value, dict):
        raise ResourceError(f"rule {rule.name!r} needs a table {key}", where=rule.where)
    return {str(name): [str(one) for one in listed] for name, listed in value.items()}


def number(rule: Rule, key: str) -> float:
    value = rule.params.get(key)
    if not isinstance(value, int | float):
        raise ResourceError(f"rule {rule.name!r} needs {key} = a number", where=rule.where)
    return float(value)


def string(rule: Rule, key: str) -> str:
    value = rule.params.get(key)
    if not isinstance(value, str):
        raise ResourceError(f'rule {rule.name!r} needs {key} = "…"', where=rule.where)
    return value


def whole_number(rule: Rule, key: str) -> int:
    value = rule.params.get(key)
    if not isinstance(value, int):
        raise ResourceError(f"rule {rule.name!r} needs {key} = a whole number", where=rule.where)
    return value
