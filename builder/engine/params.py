"""Parameters of rules: each kind of rule declares its own as a frozen dataclass, and `read_params` fills it.

In: a rule as its TOML file has it. Out: the dataclass of its kind. A parameter that the kind does not declare, that
is missing, or that has the wrong type is a ResourceError with file and line.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, fields
from functools import cache
from typing import TYPE_CHECKING, TypeVar, get_args, get_origin, get_type_hints

from builder.core.settings import Convention
from builder.engine.symbols import compile_pattern
from builder.language.lexicon.rules import Rule

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

Params = TypeVar("Params", bound="DataclassInstance")


class UnitSet(frozenset[str]):
    """The characters of units, which a rule lists by name."""


@dataclass(frozen=True, slots=True)
class Scope:
    """Parameters of every rule: the conventions it belongs to (all, if it names none), and whether it is on."""

    conventions: tuple[str, ...] = ()
    enabled: bool = True


@dataclass(frozen=True, slots=True)
class NoParams:
    """Parameters of a kind that takes none."""


def in_force(rule: Rule, convention: Convention, *, off: bool = False) -> bool:
    """Whether a rule counts in a convention, or with `off` would, switched on. ResourceError on an unknown one."""
    known = get_args(Convention)
    given = {key: value for key, value in rule.params.items() if key in _types(Scope)}
    scope = _filled(rule, given, Scope)
    for name in scope.conventions:
        if name not in known:
            raise rule.fault("conventions", f"unknown convention {name!r}", f"known: {', '.join(known)}")
    return (scope.enabled or off) and (not scope.conventions or convention in scope.conventions)


def is_off(rule: Rule) -> bool:
    """Whether a rule is switched off, in whatever convention."""
    return rule.params.get("enabled") is False


def read_params(rule: Rule, declared: type[Params]) -> Params:
    """The parameters of a rule as its kind declares them. ResourceError names a wrong one and its line."""
    known, shared = _types(declared), _types(Scope)
    for key in rule.params:
        if key not in known and key not in shared:
            fix = f"parameters of kind {rule.kind!r}: {', '.join(sorted({*known, *shared}))}"
            raise rule.fault(key, f"unknown parameter {key!r}", fix)
    return _filled(rule, {key: value for key, value in rule.params.items() if key in known}, declared)


def _filled(rule: Rule, given: Mapping[str, object], declared: type[Params]) -> Params:
    types = _types(declared)
    values: dict[str, object] = {}
    for field in fields(declared):
        wanted = types[field.name]
        if field.name in given:
            values[field.name] = _read(given[field.name], wanted, rule.at(field.name))
            if values[field.name] is None:
                raise rule.fault(field.name, f"{field.name} is not {_CALLED[wanted]}")
        elif field.default is MISSING and field.default_factory is MISSING:
            raise rule.fault("", f"it needs {field.name} = {_CALLED[wanted]}")
    return declared(**values)


@cache
def _types(declared: type[DataclassInstance]) -> Mapping[str, object]:
    """Parameter -> its type."""
    return get_type_hints(declared)


_CALLED: Mapping[object, str] = {
    str: "a string",
    re.Pattern[str]: "a string",
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    float | None: "a number",
    tuple[str, ...]: "a list of strings",
    frozenset[str]: "a list of strings",
    UnitSet: "a list of strings",
    Mapping[str, float]: "a table of numbers",
    Mapping[str, tuple[str, ...]]: "a table of lists of strings",
}
"""Type of a parameter -> what a person calls it."""


def _read(value: object, wanted: object, where: str) -> object | None:
    """A value as a type of parameters has it; None where it is of another. ResourceError where a pattern is none."""
    if wanted == re.Pattern[str]:
        return compile_pattern(value, where) if isinstance(value, str) else None
    origin, args = get_origin(wanted), get_args(wanted)
    if origin is Mapping:
        if not isinstance(value, Mapping):
            return None
        table = {str(name): _read(cell, args[1], where) for name, cell in value.items()}
        return None if None in table.values() else table
    if origin in (tuple, frozenset) or wanted is UnitSet:
        if not isinstance(value, list | tuple) or not all(isinstance(item, str) for item in value):
            return None
        return UnitSet(compile_pattern(name, where).pattern for name in value) if origin is None else origin(value)
    if float in (wanted, *args):
        return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None
    return value if type(value) is wanted else None


@cache
def compile_pairs(pairs: tuple[str, ...]) -> Callable[[str, str], bool]:
    """Whether two names are one of some pairs ("food service"), by prefix; a name alone is a pair with any other."""
    prefixes = [(first, second) for first, _, second in (pair.partition(" ") for pair in pairs)]

    @cache
    def holds(first: str, second: str) -> bool:
        return any(first.startswith(a) and second.startswith(b) for a, b in prefixes)

    return holds
