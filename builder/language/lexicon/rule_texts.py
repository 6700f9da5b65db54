"""A rule as text that a person edits: a table of TOML, whole, whatever files it was put together from.

In: a `Rule`, or the text of one. Out: the text, or the name of the rule in it. Each edited rule is a file of its own,
`WORKDIR/rules/NAME.toml`; nothing that comes with the package is ever written.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path

from builder.core.errors import ResourceError
from builder.core.strict_toml import parse_toml
from builder.language.lexicon.rules import Rule, RuleExample, find_toml_place

_NAME = re.compile(r"[A-Za-z0-9_-]{1,80}")
_WIDE = 100
"""Characters of a line that a list may take before it gets lines of its own."""


def write_rule(rule: Rule) -> str:
    """The whole rule as a table of TOML."""
    params = {"kind": rule.kind, "order": rule.order, "about": rule.about, **rule.params}
    tables = {key: value for key, value in params.items() if isinstance(value, Mapping)}
    lines = [f"[{_key(rule.name)}]"]
    lines += [f"{_key(key)} = {_value(value)}" for key, value in params.items() if key not in tables]
    lines += _examples("hit", [example for example in rule.examples if example.must])
    lines += _examples("miss", [example for example in rule.examples if not example.must])
    for key, table in tables.items():
        lines += ["", f"[{_key(rule.name)}.{_key(key)}]"]
        lines += [f"{_key(str(name))} = {_value(value)}" for name, value in table.items()]
    return "\n".join(lines) + "\n"


def read_name(text: str) -> str:
    """The name of the one rule that a text holds. ResourceError with the line where it holds none, or several."""
    try:
        names = list(parse_toml(text))
    except tomllib.TOMLDecodeError as error:
        message, line = find_toml_place(error)
        raise ResourceError(f"not TOML: {message}", where=f"the rule{line}") from error
    if len(names) != 1:
        message = f"this holds {len(names)} rules" if names else "this holds no rule"
        raise ResourceError(message, fix="write one rule, under a heading such as [my-rule]")
    if not _NAME.fullmatch(names[0]):
        raise ResourceError(f"{names[0]!r} cannot name a rule", fix="use letters, digits, - and _")
    return names[0]


def _key(name: str) -> str:
    return name if _NAME.fullmatch(name) else _string(name)


def _string(text: str) -> str:
    """JSON escapes as TOML does, but for the one control character that it lets stand."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007F")


def _value(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return _string(value)
    if isinstance(value, list | tuple):
        return _list([_value(item) for item in value])
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{_key(str(key))} = {_value(item)}" for key, item in value.items()) + " }"
    return repr(value)


def _list(items: list[str]) -> str:
    line = "[" + ", ".join(items) + "]"
    if len(line) <= _WIDE:
        return line
    return "[\n" + "\n".join(_fill(items)) + "\n]"


def _fill(items: list[str]) -> Iterator[str]:
    """The items in as few lines as hold them."""
    line = ""
    for item in items:
        if line and len(line) + len(item) > _WIDE:
            yield line
            line = ""
        line += f"{' ' if line else '  '}{item},"
    yield line


def _examples(key: str, examples: list[RuleExample]) -> list[str]:
    if not examples:
        return []
    rows = []
    for example in examples:
        made = f", triplets = {_value(example.triplets)}" if example.triplets else ""
        rows.append(f"  {{ text = {_string(example.text)}{made} }},")
    return [f"{key} = [", *rows, "]"]


def edited_file(workdir: Path, name: str) -> Path:
    """Where the edited rule of a name lies in a working directory."""
    return workdir / "rules" / f"{name}.toml"
