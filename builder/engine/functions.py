"""Rules in Python: labelling functions of a clause, as skweak and Snorkel have them.

A function stands in `rules/*.py` of a domain pack, or of the folder `rules.dir`, under the decorator `rule`. In: a
`Clause`. Out: labels, each an aspect, an opinion and a polarity; none where the function abstains. What the decorator
says is read without running the file (`lexicon.rules`); the file runs in each process that makes an engine of its
rules. Nothing else of a pack runs.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType, ModuleType
from typing import NamedTuple, TypeVar

from builder.core.errors import ResourceError
from builder.core.records import POLARITIES, Polarity
from builder.engine.constituents import Units
from builder.engine.symbols import spell_symbols
from builder.language.lexicon.rules import Rule


class Word(NamedTuple):
    """A word, aspect or opinion phrase of a clause. `kind`: its unit as patterns name it; `category`: the class of an
    aspect, the category of an opinion, else empty; `place`: its number in the clause.
    """

    text: str
    kind: str
    category: str
    place: int


class Clause(NamedTuple):
    """What a function reads: a clause that names or judges something, in lower case and Traditional characters."""

    words: tuple[Word, ...]

    def find(self, *kinds: str) -> list[Word]:
        """The words of some kinds: `clause.find("ASPECT")`."""
        return [word for word in self.words if word.kind in kinds]

    def behind(self, word: Word) -> tuple[Word, ...]:
        """The words behind one."""
        return self.words[word.place + 1 :]


Label = tuple[Word | Sequence[Word], Word | Sequence[Word], Polarity]
"""Aspect, opinion and polarity. An aspect or opinion of several words has them in their order, without a gap."""
Function = TypeVar("Function", bound=Callable[[Clause], Iterable[Label]])
Examples = Mapping[str, Sequence[str]]
"""Text -> triplets, `aspect|opinion|POS`."""
_NONE: Examples = MappingProxyType({})


def rule(
    *, order: int = 50, conventions: Sequence[str] = ("natural",), hit: Examples = _NONE, miss: Examples = _NONE
) -> Callable[[Function], Function]:
    """Make a rule of a function. Its docstring says what it is about, and its name, with hyphens, is that of the rule.

    All arguments are literals: they are read from the source. Of two functions the one of lower `order` decides.
    """
    return lambda function: function


class Labelled(NamedTuple):
    """A label in place: the rule, the constituents of aspect and opinion, and the polarity."""

    rule: Rule
    aspect: Units
    opinion: Units
    polarity: Polarity


LabellingRule = tuple[Rule, Callable[[Clause], Iterable[Label]]]
"""A rule with its function."""


def load_functions(rules: Iterable[Rule]) -> list[LabellingRule]:
    """Rules of kind `function` with their functions, in their order. ResourceError where a file does not run."""
    out, modules = [], dict[str, ModuleType]()
    for own in rules:
        try:
            if own.code not in modules:
                module = modules[own.code] = ModuleType(f"rules of {own.code}")
                sys.modules[module.__name__] = module  # where dataclasses look for what their annotations name
                exec(compile(Path(own.code).read_bytes(), own.code, "exec"), module.__dict__)
            function = getattr(modules[own.code], own.name.replace("-", "_"))
            if not callable(function):
                raise TypeError(f"{function!r} is no function")
        except (Exception, SystemExit) as error:
            raise _describe_fault(own, error) from error
        out.append((own, function))
    return out


def label_clause(functions: Sequence[LabellingRule], items: Units) -> Iterator[Labelled]:
    """What the functions say of a clause. ResourceError where one fails, or answers with what is no label."""
    if not functions:
        return
    classes = [item.term.cls if item.term else item.entry.category if item.entry else "" for item in items]
    words = [Word(item.word, spell_symbols(item.symbol), classes[i], i) for i, item in enumerate(items)]
    for own, function in functions:
        try:
            for aspect, opinion, polarity in function(Clause(tuple(words))):
                if polarity not in POLARITIES:
                    raise ValueError(f"{polarity!r} is no polarity")
                yield Labelled(own, _take(items, words, aspect), _take(items, words, opinion), polarity)
        except (Exception, SystemExit) as error:
            raise _describe_fault(own, error) from error


def _take(items: Units, words: Sequence[Word], part: Word | Sequence[Word]) -> Units:
    """The constituents of an aspect or opinion."""
    run = [part] if isinstance(part, Word) else list(part)
    first, stop = run[0].place, run[-1].place + 1
    if run != words[first:stop]:
        raise ValueError(f"{run!r} is no run of words of the clause")
    return items[first:stop]


def _describe_fault(own: Rule, error: BaseException) -> ResourceError:
    fix = "correct the function, or switch its rule off"
    return own.fault("", f"{type(error).__name__}: {error}", fix)
