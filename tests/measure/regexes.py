"""All regular expressions of the package, found by themselves, and texts that would make each of them slow.

`python tests/measure/regexes.py` imports every module with an ear at `re`, runs what makes expressions while it works,
and reads the calls in functions from their source. From the parse tree of each it makes attacks: a start, a piece many
times, an end that fails. What takes more than linear time is printed; what never ends is ended.
"""

from __future__ import annotations

import ast
import importlib
import json
import math
import pkgutil
import random
import re
import signal
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cache
from pathlib import Path
from re import _constants as codes  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from tempfile import TemporaryDirectory
from typing import Any

METHODS = ("search", "match", "fullmatch", "finditer", "findall", "sub", "subn", "split")
_USED = re.compile(r"\bre\.|\.(?:" + "|".join(METHODS) + r")\b")
LENGTHS = (16, 30, 64, 128, 512, 2048, 8192)
"""Characters of an attack. Short ones too: some expressions give up on a text that is longer than they may read.

On the longest, what is quadratic takes four times `QUICK` and more, also on a fast machine."""
QUICK = 0.004
"""Seconds within which an expression that is linear reads any text of these lengths."""
CLAUSE = 128
"""Units of a clause, which is all that the expressions of rules read. They may look at it from each of its places."""
RULES = ("builder/engine/symbols.py", "builder/engine/rows.py")
OWN = {
    "builder/pages/plain_story.py": "steps of a story, which the engine wrote of words in a clause",
}
"""Modules whose expressions read no stranger's text, and what they read."""
RATIO = 8.0
"""Four times the text may take so many times as long: 4 is linear, 16 is quadratic."""
HANGS = 0.5
"""Seconds of the processor after which an attempt is ended: no linear expression needs a tenth of them."""
_SAMPLES, _WORDS, _ATTACKS = 8, 80, 10
_REPEATS = (codes.MAX_REPEAT, codes.MIN_REPEAT, codes.POSSESSIVE_REPEAT)
_KINDS: dict[Any, Callable[[str], bool]] = {
    codes.CATEGORY_DIGIT: str.isdigit,
    codes.CATEGORY_SPACE: str.isspace,
    codes.CATEGORY_WORD: lambda char: char.isalnum() or char == "_",
    codes.CATEGORY_NOT_DIGIT: lambda char: not char.isdigit(),
    codes.CATEGORY_NOT_SPACE: lambda char: not char.isspace(),
    codes.CATEGORY_NOT_WORD: lambda char: not (char.isalnum() or char == "_"),
}


class Sampler:
    """Texts that a parse tree matches (but for what stands around them), each with the places of its repeats."""

    def __init__(self, tree: Any, rng: random.Random) -> None:
        self.tree, self.rng = tree, rng
        self.alphabet = self._alphabet()
        self.words = set[str]()
        """What repeats repeat."""
        self.fitting = dict[tuple[Any, int], list[str]]()

    def _alphabet(self) -> list[str]:
        """Characters that the expression tells apart: those it names, the ends of its ranges, some of each kind."""
        named = sorted(set(_named(self.tree)))
        return [*self.rng.sample(named, min(len(named), 24)), *" \na7我(.!"]

    def draw(self) -> tuple[str, list[tuple[int, int]]]:
        """A text, and from where to where each of its repeats reaches."""
        self.out, self.repeats, self.groups = "", list[tuple[int, int]](), dict[int, str]()
        self._walk(self.tree)
        return self.out, self.repeats

    def _walk(self, tree: Any) -> None:
        for code, value in tree:
            if code in (codes.LITERAL, codes.NOT_LITERAL, codes.ANY, codes.IN):
                self.out += self.rng.choice(self._list_fitting(code, value))
            elif code is codes.BRANCH:
                self._walk(self.rng.choice(value[1]))
            elif code is codes.SUBPATTERN:
                start = len(self.out)
                self._walk(value[3])
                self.groups[value[0]] = self.out[start:]
            elif code in _REPEATS:
                start = len(self.out)
                for _ in range(max(value[0], self.rng.choice((0, 1, 1, 1)))):
                    self._walk(value[2])
                self.repeats += [(start, len(self.out))] * (value[1] > 20)
            elif code is codes.ATOMIC_GROUP or (code is codes.ASSERT and self.rng.random() < 0.5):
                self._walk(value if code is codes.ATOMIC_GROUP else value[1])
            elif code is codes.GROUPREF:
                self.out += self.groups.get(value, "")

    def _list_fitting(self, code: Any, value: Any) -> list[str]:
        """The characters that a part takes, of those that it names and of the alphabet."""
        key = code, id(value)
        if key not in self.fitting:
            parts = value if isinstance(value, list) else []
            named = [chr(part[1] if part[0] is codes.LITERAL else part[1][0]) for part in parts if _one(part)]
            named += [chr(value)] if isinstance(value, int) else []
            fitting = [char for char in (*named, *self.alphabet) if _holds(code, value, char)]
            self.fitting[key] = fitting or ["\x00"]
        return self.fitting[key]


def _one(part: Any) -> bool:
    return part[0] in (codes.LITERAL, codes.RANGE)


def _named(tree: Any) -> Iterator[str]:
    for code, value in tree:
        if code in (codes.LITERAL, codes.NOT_LITERAL):
            yield chr(value)
        elif code is codes.IN:
            for kind, item in value:
                yield from [chr(item)] if kind is codes.LITERAL else map(chr, item) if kind is codes.RANGE else []
        else:
            for inner in _inner(code, value):
                yield from _named(inner)


def _chooses(tree: Any) -> bool:
    return any(code is codes.BRANCH or any(map(_chooses, _inner(code, value))) for code, value in tree)


def _inner(code: Any, value: Any) -> Sequence[Any]:
    """The trees below a node."""
    if code is codes.BRANCH:
        return list(value[1])
    if code in _REPEATS or code is codes.SUBPATTERN or code in (codes.ASSERT, codes.ASSERT_NOT):
        return [value[-1]]
    return [value] if code is codes.ATOMIC_GROUP else []


def _holds(code: Any, value: Any, char: str) -> bool:
    if code is not codes.IN:
        return code is codes.ANY or (chr(value) == char) == (code is codes.LITERAL)
    found = any(
        chr(item) == char
        if kind is codes.LITERAL
        else item[0] <= ord(char) <= item[1]
        if kind is codes.RANGE
        else kind is codes.CATEGORY and _KINDS[item](char)
        for kind, item in value
    )
    return found != (value[0][0] is codes.NEGATE)


def make_attacks(pattern: re.Pattern[Any], seed: int = 0) -> list[tuple[str, str, str]]:
    """(start, what is repeated, end): first of what the expression repeats, then of its words, then of other pieces."""
    rng = random.Random(seed)
    sampler = Sampler(parser.parse(pattern.pattern, pattern.flags), rng)
    drawn = [sampler.draw() for _ in range(_SAMPLES)]
    for _ in range(_WORDS * _chooses(sampler.tree)):  # 牛肉麵店 is 牛肉 and 麵店: (牛肉|麵店|牛肉麵店)* is slow
        text, repeats = sampler.draw()
        sampler.words.update(text[start:end] for start, end in repeats)
    whole = [word for word in sorted(sampler.words) if _in_two(word, sampler.words)]
    kinds: tuple[dict[tuple[str, str, str], None], ...] = ({}, {}, {})
    for text, repeats in drawn:
        for start, end in [*repeats, (0, len(text))]:
            cut = rng.randint(0, len(text))
            others = [text[:start], text[:end], text[:cut], text, text[cut:], *sampler.alphabet]
            for kind, pieces in zip(kinds, ([text[start:end]], whole, others), strict=True):
                for piece in filter(None, pieces):
                    for first in ("", text[:start]):
                        for last in ("", "\x00", text[end:-1], "\n!"):
                            kind[first, piece, last] = None
    return [attack for kind in kinds for attack in rng.sample(list(kind), min(len(kind), _ATTACKS))]


def _in_two(word: str, words: set[str]) -> bool:
    return any(word[:cut] in words and word[cut:] in words for cut in range(1, len(word)))


def find_slow(pattern: re.Pattern[Any], method: str, longest: int = LENGTHS[-1]) -> tuple[str, str, str] | None:
    """The first attack for which the time grows faster than the text, of those up to a length."""
    run = getattr(pattern, method)

    def seconds(attack: tuple[str, str, str], length: int) -> float:
        first, piece, last = attack
        text: Any = first + piece * (length // len(piece) + 1) + last
        text = text.encode("utf-8", "surrogatepass") if isinstance(pattern.pattern, bytes) else text
        start = time.thread_time()
        try:
            signal.setitimer(signal.ITIMER_VIRTUAL, HANGS)
            found = run(text)
            if method == "finditer":
                for _ in found:
                    pass
        except TimeoutError:
            return math.inf
        finally:
            signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        return time.thread_time() - start

    before = signal.signal(signal.SIGVTALRM, _give_up)
    try:
        for attack in make_attacks(pattern):
            for length in filter(longest.__ge__, LENGTHS):
                if (
                    seconds(attack, length) > QUICK
                    and (least := min(seconds(attack, length) for _ in range(3))) > QUICK
                ):
                    if length < 256 or least > RATIO * min(HANGS, *(seconds(attack, length // 4) for _ in range(3))):
                        return attack
                    break
    finally:
        signal.signal(signal.SIGVTALRM, before)
    return None


def _give_up(number: int, frame: object) -> None:
    raise TimeoutError


Found = dict[tuple[str, int | str, str], set[str]]
"""Expression and flags by where they stand -> how they are used."""


def listen(package: Path, found: Found) -> None:
    """From now on, note what the modules of a package compile or call."""
    original = re._compile  # type: ignore[attr-defined]

    def compile_noted(pattern: Any, flags: int) -> Any:
        made = original(pattern, flags)
        called, caller = sys._getframe(1), sys._getframe(2)
        if called.f_globals is vars(re) and caller.f_code.co_filename.startswith(str(package)):
            found[caller.f_code.co_filename, caller.f_lineno, made].add(called.f_code.co_name)
        return made

    re._compile = compile_noted  # type: ignore[attr-defined]


class _WithoutEscapes(ast.NodeTransformer):
    """A call of `re.escape` stands for some characters."""

    def visit_Call(self, node: ast.Call) -> ast.AST:
        escapes = isinstance(node.func, ast.Attribute) and node.func.attr == "escape"
        return ast.copy_location(ast.Constant("aba"), node) if escapes else self.generic_visit(node)


@cache
def _nodes(path: Path) -> list[ast.AST]:
    """The calls, assignments and attributes of a module that may use an expression."""
    source = path.read_text(encoding="utf-8")
    if not _USED.search(source):
        return []
    kinds = (ast.Call, ast.Assign, ast.Attribute)
    return [node for node in ast.walk(ast.parse(source)) if isinstance(node, kinds)]


def read_calls(module: Any, found: Found) -> list[str]:
    """Note the calls in a module's source. Returned are those that make their expression as they run, unheard."""
    unread = []
    for node in _nodes(Path(module.__file__)):
        func = node.func if isinstance(node, ast.Call) else None
        if not (isinstance(func, ast.Attribute) and isinstance(func.value, ast.Name) and func.value.id == "re"):
            continue
        if func.attr not in (*METHODS, "compile") or any(
            place[0] == module.__file__ and node.lineno <= place[1] <= node.end_lineno for place in found
        ):
            continue
        try:
            first = ast.Expression(_WithoutEscapes().visit(node.args[0]))
            flags = [key.value for key in node.keywords if key.arg == "flags"] + node.args[_flags_at(func.attr) :]
            expression = eval(compile(first, "", "eval"), vars(module))
            given = eval(compile(ast.Expression(flags[0]), "", "eval"), vars(module)) if flags else 0
            made = re.compile(expression, given)
            found[module.__file__, node.lineno, made].add(func.attr)
        except NameError:
            unread.append(f"{module.__file__}:{node.lineno}")
    return unread


def _flags_at(method: str) -> int:
    return {"compile": 1, "sub": 4, "subn": 4, "split": 3}.get(method, 2)


def name_uses(package: Path) -> dict[tuple[str, int], set[str]]:
    """For each place where an expression gets a name: the methods that the package calls by it."""
    places: dict[tuple[str, str], list[int]] = defaultdict(list)
    uses: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for path in package.rglob("*.py"):
        for node in _nodes(path):
            if (
                isinstance(node, ast.Assign)
                and isinstance(node.value, ast.Call)
                and isinstance(node.targets[0], ast.Name)
            ):
                places[str(path), node.targets[0].id] += range(node.lineno, (node.end_lineno or node.lineno) + 1)
            if isinstance(node, ast.Attribute) and node.attr in METHODS:
                named = node.value
                name = (
                    named.id if isinstance(named, ast.Name) else named.attr if isinstance(named, ast.Attribute) else ""
                )
                uses[name][str(path)].add(node.attr)
    return {
        (path, line): set().union(*(methods for user, methods in uses[name].items() if user == path or name[0] != "_"))
        for (path, name), lines in places.items()
        for line in lines
    }


def collect(package_name: str, work: Callable[[], None]) -> tuple[dict[tuple[str, re.Pattern[Any]], str], list[str]]:
    """(where, expression) -> the method that reads most, and where expressions are made that nobody heard."""
    package = Path(importlib.util.find_spec(package_name).submodule_search_locations[0])  # type: ignore[union-attr,index]
    found: Found = defaultdict(set)
    listen(package, found)
    modules = []
    for info in pkgutil.walk_packages([str(package)], f"{package_name}."):
        with suppress(ImportError):  # of an extra that is not installed
            if not info.name.endswith("__main__"):
                modules.append(importlib.import_module(info.name))
    work()
    unread = [place for module in modules for place in read_calls(module, found)]
    uses = name_uses(package)
    out = {}
    for (path, line, pattern), methods in found.items():
        known = uses.get((path, line), set()) | methods - {"compile"}
        whole = known <= {"match", "fullmatch"} and known
        method = ("match" if "match" in known else "fullmatch") if whole else "finditer"
        where = Path(path).relative_to(package.parent).as_posix()
        if where not in OWN:
            out[f"{where}:{line}", pattern] = method
    return out, unread


def make_expressions() -> None:
    """Do what makes expressions as it runs: rules of every convention and domain, names of places, a broken file."""
    from builder.core.errors import BuilderError
    from builder.engine import make_engine, rows
    from builder.engine.reader import Recipe, make_reader
    from builder.language.lexicon.folders import Folders
    from builder.reviews import place_names
    from builder.reviews.sources import read

    make_ready = rows.RuleRows.compile

    def compile_at_once(self: rows.RuleRows, *given: Any) -> rows.Pattern:
        pattern = make_ready(self, *given)
        assert rows.compile_body(pattern.body).pattern == pattern.body
        return pattern

    rows.RuleRows.compile = compile_at_once  # type: ignore[method-assign]
    for domain in ("restaurant", "laptop"):
        folders = Folders(domain=domain)
        natural = make_reader(Recipe(folders=folders))
        others = [make_engine(natural.lexicon, folders.load_rules(), name) for name in ("described", "paper")]
        for engine in (natural.engine, *others):
            replace(natural, engine=engine).extract(["這家的湯很好喝，鍵盤也順手"])
    assert place_names.pattern(("青禾小館 信義店", "青禾-二店 (Green Rice Bistro)")) is not None
    with TemporaryDirectory() as folder, suppress(BuilderError):
        path = Path(folder, "a.csv")
        path.write_text('text\n"湯很好喝', encoding="utf-8")
        list(read(path))


def main() -> None:
    expressions, unread = collect("builder", make_expressions)
    slow = []
    for (where, pattern), method in expressions.items():
        if attack := find_slow(pattern, method, CLAUSE if where.startswith(RULES) else LENGTHS[-1]):
            slow.append((where, method, pattern.pattern[:200], attack))
    print(json.dumps({"tried": len(expressions), "unread": unread, "slow": slow}, ensure_ascii=True, default=str))


if __name__ == "__main__":
    main()
