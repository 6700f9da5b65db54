"""rules/*.toml become frozen records; every error names file:line.

In: the directory of the rules. Out: `Rule`s in their order, and a digest, which stages store as part of their
signature. What the parameters of a rule mean is the engine's affair: each kind of rule declares its own there.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

from builder.errors import ResourceError
from builder.lexicon.resources import data_dir
from builder.lexicon.tsv_rows import folder_digest

_HEADING = re.compile(r"""^\s*\[\s*["']?([\w-]+)["']?\s*(?:\.\s*["']?([\w-]+)["']?\s*)?\]""")
_KEY = re.compile(r"""^\s*["']?([\w-]+)["']?\s*=""")
_EXAMPLE_KEYS = {"text", "triplets"}


@dataclass(frozen=True, slots=True)
class RuleExample:
    """A text and the triplets (`aspect|opinion|POS`) that a rule must or must not make of it."""

    text: str
    triplets: tuple[str, ...]
    must: bool


@dataclass(frozen=True, slots=True)
class Rule:
    """One phenomenon: `kind` names the mechanism in the engine, `params` are its data, `examples` hold it to its word.

    `where` is the file and line of its heading, `lines` those of its parameters.
    """

    name: str
    kind: str
    order: int
    about: str
    params: Mapping[str, object]
    examples: tuple[RuleExample, ...]
    where: str
    lines: Mapping[str, str] = field(default_factory=dict, compare=False)

    def at(self, key: str) -> str:
        """File and line of a parameter, or of the rule where the parameter stands on no line of its own."""
        return self.lines.get(key, self.where)


def load_rules(directory: Path | None = None, added: Sequence[Path] = ()) -> tuple[Rule, ...]:
    """Read rules/*.toml in their order. A rule of the folders in `added` wins over one of its name below.

    ResourceError with file and line on a missing key, a broken example, or a rule named twice in a folder.
    """
    rules: dict[str, Rule] = {}
    for folder in (directory or data_dir("rules"), *added):
        rules |= _read_folder(folder)
    return tuple(sorted(rules.values(), key=lambda rule: (rule.order, rule.name)))


def _read_folder(root: Path) -> dict[str, Rule]:
    rules: dict[str, Rule] = {}
    for path in sorted(root.glob("*.toml")):
        try:
            text = path.read_text(encoding="utf-8")
            raw = tomllib.loads(text)
        except (OSError, UnicodeDecodeError) as error:
            raise ResourceError(f"cannot be read: {error}", where=str(path)) from error
        except tomllib.TOMLDecodeError as error:
            raise ResourceError(f"not TOML: {error}", where=str(path)) from error
        file = f"{path.parent.name}/{path.name}"
        lines = _find_lines(text, file)
        for name, body in raw.items():
            known = lines.get(name, {})
            where = known.get("", file)
            if name in rules:
                raise ResourceError(f"rule {name!r} stands in {rules[name].where} already", where=where)
            rules[name] = _read_rule(name, body, where, known)
    return rules


def rules_digest(directory: Path | None = None, added: Sequence[Path] = ()) -> str:
    """The digest of the rule files in `directory`, or of the shipped ones, and of those in `added`."""
    return " ".join(folder_digest(folder, "*.toml") for folder in (directory or data_dir("rules"), *added))


def _find_lines(text: str, file: str) -> dict[str, dict[str, str]]:
    """For each rule of a TOML file the place of its heading (under "") and of each of its parameters, as file:line."""
    places: dict[str, dict[str, str]] = {}
    rule: dict[str, str] = {}
    inside_table = False
    for number, line in enumerate(text.splitlines(), start=1):
        place = f"{file}:{number}"
        if heading := _HEADING.match(line):
            name, table = heading.groups()
            rule, inside_table = places.setdefault(name, {}), table is not None
            rule.setdefault(table or "", place)
        elif not inside_table and (key := _KEY.match(line)):
            rule.setdefault(key[1], place)
    return places


def _read_rule(name: str, body: object, where: str, lines: Mapping[str, str]) -> Rule:
    if not isinstance(body, dict):
        raise ResourceError(f"{name!r} stands outside a rule", where=where, fix="write it under a [rule-name] heading")
    params = dict(body)
    if missing := {"kind", "order", "about"} - params.keys():
        raise ResourceError(f"rule {name!r} lacks {', '.join(sorted(missing))}", where=where)
    kind, order, about = params.pop("kind"), params.pop("order"), params.pop("about")
    for key, value, wanted in (("kind", kind, str), ("order", order, int), ("about", about, str)):
        if not isinstance(value, wanted):
            raise ResourceError(
                f"rule {name!r}: {key} is {value!r}, not {_TYPE_NAMES[wanted]}", where=lines.get(key, where)
            )
    examples = [
        _read_example(name, example, must, lines.get(key, where))
        for key, must in (("hit", True), ("miss", False))
        for example in params.pop(key, ())
    ]
    return Rule(
        name, kind, order, about, MappingProxyType(params), tuple(examples), where, MappingProxyType(dict(lines))
    )


_TYPE_NAMES: Mapping[type, str] = {str: "a string", int: "a whole number"}


def _read_example(name: str, example: object, must: bool, where: str) -> RuleExample:
    fix = 'write { text = "…", triplets = ["aspect|opinion|POS"] }'
    if not isinstance(example, dict) or not isinstance(example.get("text"), str) or example.keys() - _EXAMPLE_KEYS:
        raise ResourceError(f"rule {name!r}: an example is {example!r}", where=where, fix=fix)
    return RuleExample(example["text"], tuple(example.get("triplets", ())), must)
