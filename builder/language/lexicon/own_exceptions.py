"""The exceptions of a working directory: pairs of words that people refused, as a rule of kind `exception`.

In: the rules so far, a pair, and the sentence that it was refused in. Out: one rule with all of them,
`WORKDIR/rules/refused-pairs.toml`; each sentence is an example of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from builder.core.errors import ResourceError
from builder.core.files import write_atomically
from builder.language.lexicon.rule_texts import edited_file, write_rule
from builder.language.lexicon.rules import Rule, RuleExample

NAME = "refused-pairs"
_ABOUT = "Pairs that people refused here: the opinion is never said of the aspect in these reviews."
_EMPTY = Rule(NAME, "exception", 450, _ABOUT, MappingProxyType({"pairs": ()}), (), "")


def add_exception(workdir: Path, rules: Sequence[Rule], pair: str, example: RuleExample) -> Path:
    """Write a pair (`aspect|opinion`) beside the earlier ones. ResourceError where another rule has that name."""
    rule = next((rule for rule in rules if rule.name == NAME), _EMPTY)
    if rule.kind != _EMPTY.kind:
        raise ResourceError(f"rule {NAME!r} is not of kind {_EMPTY.kind}", where=rule.where, fix="give it another name")
    known: Any = rule.params.get("pairs", ())
    examples = rule.examples if example in rule.examples else (*rule.examples, example)
    pairs = tuple(dict.fromkeys((*known, pair)))
    text = write_rule(replace(rule, params=MappingProxyType({**rule.params, "pairs": pairs}), examples=examples))
    file = edited_file(workdir, NAME)
    write_atomically(file, text.encode())
    return file
