"""rules/*.toml become frozen records; every error names file:line.

In: the directory of the rules. Out: `Rule`s in their order, and a digest, which stages store as part of their
signature. What the parameters of a rule mean is the engine's affair: each kind of rule declares its own there.

A rule may be a function of Python (`engine.functions`): what its decorator says is read, and nothing runs here.

A rule as text that a person edits: a table of TOML, whole, whatever files it was put together from.
"""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType

from builder.core.errors import ResourceError
from builder.core.files import parse_toml, read_settings, written_value
from builder.core.settings import RESTAURANT
from builder.language.lexicon.packs import RULE_FILES, data_dir, list_layers
from builder.language.lexicon.tsv_rows import folder_digest, load_word_classes, name_words

_HEADING = re.compile(r"""^\s*\[\s*["']?([\w-]+)["']?\s*(?:\.\s*["']?([\w-]+)["']?\s*)?\]""")
_KEY = re.compile(r"""^\s*["']?([\w-]+)["']?\s*=""")
_AT = re.compile(r" \(at line (\d+), column \d+\)$")
_EXAMPLE_KEYS = {"text", "triplets"}
FUNCTION = "function"
"""Kind of a rule that is a function of Python."""


@dataclass(frozen=True, slots=True)
class RuleExample:
    """A text and the triplets (`aspect|opinion|POS`) that a rule must or must not make of it."""

    text: str
    triplets: tuple[str, ...]
    must: bool


@dataclass(frozen=True, slots=True)
class Rule:
    """One phenomenon: `kind` names the mechanism in the engine, `params` are its data, `examples` hold it to its word.

    `where` is the file and line of its heading, `lines` those of its parameters. `written` are its parameters as they
    stand there, with the names of classes of words (`<guest>`) for which `params` has the words. `code`: the file of
    Python that holds its function.
    """

    name: str
    kind: str
    order: int
    about: str
    params: Mapping[str, object]
    examples: tuple[RuleExample, ...]
    where: str
    lines: Mapping[str, str] = field(default_factory=dict, compare=False)
    written: Mapping[str, object] = field(default_factory=dict, compare=False)
    code: str = ""

    def at(self, key: str) -> str:
        """File and line of a parameter, or of the rule where the parameter stands on no line of its own."""
        return self.lines.get(key, self.where)

    def fault(self, key: str, message: str, fix: str = "") -> ResourceError:
        """What is wrong with a parameter, or with the rule itself if `key` is empty."""
        return ResourceError(f"rule {self.name!r}: {message}", where=self.at(key) if key else self.where, fix=fix)

    def changed(self, key: str, value: object) -> Rule:
        """The same rule with another value of a parameter, for the engine and as it is written."""
        params, written = (MappingProxyType({**own, key: value}) for own in (self.params, self.written))
        return replace(self, params=params, written=written)


def load_rules(
    directory: Path | None = None,
    added: Sequence[Path] = (),
    domain: str = RESTAURANT,
    lexicons: Sequence[Path] = (),
) -> tuple[Rule, ...]:
    """Read rules/*.toml of the core and of the pack of `domain`, or of `directory` alone, in their order.

    A rule of a folder in `added`, or of the pack, wins over one of its name below; with `extends = true` it adds to it.
    The classes of words that rules name are those of the core and the pack, and of the folders `lexicons`.

    ResourceError with file and line on a missing key, a broken example, a rule named twice in a folder, one that
    extends a rule that is not there, or one that names an unknown class.
    """
    rules: dict[str, Rule] = {}
    for folder in (*rule_folders(directory, domain), *added):
        _read_folder(folder, rules)
    own = [folder for pack in list_layers(domain) for folder in pack.lexicons]
    classes = load_word_classes(tuple(dict.fromkeys((data_dir("lexicons"), *own, *lexicons))))
    ordered = sorted(rules.values(), key=lambda rule: (rule.order, rule.name))
    return tuple(
        replace(rule, params=name_words(rule.params, classes, rule.name, rule.at), written=rule.params)
        for rule in ordered
    )


def rule_folders(directory: Path | None = None, domain: str = RESTAURANT) -> tuple[Path, ...]:
    """`directory` alone, or the folder of the core's rules and that of the domain's."""
    if directory:
        return (directory,)
    return (data_dir("rules"), *(folder for pack in list_layers(domain) for folder in pack.rules))


def edited_rules(workdir: Path) -> tuple[Path, ...]:
    """The rules that a user has edited in a working directory, if there are any."""
    folder = workdir / "rules"
    refuse_code_below(workdir, (folder,))
    return (folder,) if any(folder.glob("*.toml")) else ()


def refuse_code_below(workdir: Path, folders: Iterable[Path]) -> None:
    """ResourceError for Python among the rules of a folder that lies in a working directory, which may come from
    somebody else, as may the settings in it that name the folder.
    """
    for folder in folders:
        if folder.resolve().is_relative_to(workdir.resolve()):
            for path in folder.glob("*.py"):
                fix = "put it into a folder outside"
                raise ResourceError("no code of a working directory runs", where=str(path), fix=fix)


def _read_folder(root: Path, below: dict[str, Rule]) -> None:
    """Read the rules of a folder over those `below` it."""
    rules: dict[str, Rule] = {}
    for path in sorted(root.glob("*.toml")):
        try:
            text = read_settings(path)
            raw = parse_toml(text)
        except tomllib.TOMLDecodeError as error:
            message, line = find_toml_place(error)
            raise ResourceError(f"not TOML: {message}", where=f"{path}{line}") from error
        except (OSError, ValueError) as error:
            raise ResourceError(f"cannot be read: {error}", where=str(path)) from error
        file = f"{path.parent.name}/{path.name}"
        lines = _find_lines(text, file)
        for name, body in raw.items():
            known = lines.get(name, {})
            where = known.get("", file)
            if name in rules:
                raise ResourceError(f"rule {name!r} stands in {rules[name].where} already", where=where)
            extends = isinstance(body, dict) and body.pop("extends", False)
            if extends is True:
                if name not in below:
                    fix = "correct its name, or write the whole rule without `extends`"
                    raise ResourceError(f"rule {name!r} extends a rule that is not there", where=where, fix=fix)
                rules[name] = _extend(below[name], name, body, where, known)
            else:
                own = _read_rule(name, body, where, known)
                rules[name] = replace(own, code=below[name].code) if name in below and own.kind == FUNCTION else own
    for path in sorted(root.glob("*.py")):
        for rule in read_functions(path):
            if rule.name in rules:
                raise ResourceError(f"rule {rule.name!r} stands in {rules[rule.name].where} already", where=rule.where)
            rules[rule.name] = rule
    below |= rules


def read_functions(path: Path) -> Iterator[Rule]:
    """The functions of a file that are rules: those under the decorator `rule`, whose arguments are literals."""
    file = f"{path.parent.name}/{path.name}"
    try:
        tree = ast.parse(path.read_bytes())
    except (OSError, SyntaxError, ValueError) as error:
        raise ResourceError(f"cannot be read as Python: {error}", where=str(path)) from error
    for function in ast.walk(tree):
        if isinstance(function, ast.ImportFrom) and any(a.name == "rule" and a.asname for a in function.names):
            raise ResourceError(
                "the decorator has another name", where=f"{file}:{function.lineno}", fix="import `rule`"
            )
        if not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            continue
        for mark in function.decorator_list:
            called = mark.func if isinstance(mark, ast.Call) else mark
            if getattr(called, "attr" if isinstance(called, ast.Attribute) else "id", "") != "rule":
                continue
            name, where = function.name.replace("_", "-"), f"{file}:{function.lineno}"
            if function not in tree.body or not isinstance(function, ast.FunctionDef):
                raise ResourceError(f"rule {name!r} is no plain function of the file", where=where, fix="write a `def`")
            try:
                given = mark.keywords if isinstance(mark, ast.Call) else []
                body = {word.arg or "**": ast.literal_eval(word.value) for word in given}
                for key in {"hit", "miss"} & body.keys():
                    body[key] = [_write_out(text, triplets) for text, triplets in body[key].items()]
            except (ValueError, TypeError, AttributeError) as error:
                fix = "write literals into its decorator"
                raise ResourceError(f"rule {name!r} cannot be read: {error}", where=where, fix=fix) from error
            about = " ".join((ast.get_docstring(function) or "").split())
            body = {"order": 50, "conventions": ["natural"]} | body | {"kind": FUNCTION, "about": about}
            yield replace(_read_rule(name, body, where, {}), code=str(path))


def _write_out(text: str, triplets: object) -> dict[str, object]:
    """An example of a function as a table."""
    if not isinstance(triplets, list | tuple) or not all(_TRIPLET.fullmatch(one) for one in triplets):
        raise ValueError(f"{triplets!r} is no list of triplets such as 'aspect|opinion|POS'")
    return {"text": text, "triplets": list(triplets)}


def find_toml_place(error: tomllib.TOMLDecodeError) -> tuple[str, str]:
    """What is wrong with a text that is no TOML, and `:LINE`, which stands at the end of the message."""
    place = _AT.search(str(error))
    return (str(error)[: place.start()], f":{place[1]}") if place else (str(error), "")


def _extend(rule: Rule, name: str, body: dict[str, object], where: str, lines: Mapping[str, str]) -> Rule:
    """A rule with what another adds to it: lists grow, tables grow by key, other values are replaced, examples are
    added. What `without` lists is taken from the lists and tables below.
    """
    below = _leave_out(name, rule.params, body.pop("without", {}), where)
    own = _read_rule(name, {"kind": rule.kind, "order": rule.order, "about": rule.about} | body, where, lines)
    if own.kind != rule.kind:
        raise ResourceError(f"rule {name!r} extends one of kind {rule.kind}", where=where, fix="leave out `kind`")
    about = f"{rule.about} {own.about}" if "about" in body else rule.about
    params = _grow(below, own.params)
    examples = (*rule.examples, *own.examples)
    placed = MappingProxyType({**rule.lines, **lines})
    grown = MappingProxyType(params)
    return Rule(name, rule.kind, own.order, about, grown, examples, rule.where, placed, code=rule.code)


def _leave_out(name: str, params: Mapping[str, object], without: object, where: str) -> Mapping[str, object]:
    """The parameters of a rule without some members of its lists and keys of its tables."""
    if not isinstance(without, dict) or not all(isinstance(members, list | dict) for members in without.values()):
        raise ResourceError(f"rule {name!r}: without is not a table of lists", where=where)
    out = dict(params)
    for key, members in without.items():
        if isinstance(members, dict):
            table = out.get(key)
            out[key] = _leave_out(name, table if isinstance(table, Mapping) else {}, members, where)
            continue
        known = out.get(key)
        held = known if isinstance(known, list | Mapping) else ()
        if absent := [member for member in members if member not in held]:
            message = f"rule {name!r}: {key} has no {', '.join(map(repr, absent))} to take away"
            raise ResourceError(message, where=where, fix="correct or leave out what stands in `without`")
        if isinstance(known, Mapping):
            out[key] = {member: value for member, value in known.items() if member not in members}
        else:
            out[key] = [member for member in held if member not in members]
    return out


def _grow(below: Mapping[str, object], above: Mapping[str, object]) -> dict[str, object]:
    out = dict(below)
    for key, value in above.items():
        known = out.get(key)
        if isinstance(value, list) and isinstance(known, list):
            out[key] = [*known, *(item for item in value if item not in known)]
        elif isinstance(value, dict) and isinstance(known, Mapping):
            out[key] = _grow(known, value)
        else:
            out[key] = value
    return out


def rules_digest(directory: Path | None = None, added: Sequence[Path] = (), domain: str = RESTAURANT) -> str:
    """The digest of the rule files in `directory`, or of the core and the pack of `domain`, and of those in `added`;
    also of the core's words, whose classes they may name where the core's lexicon is not read. Other words are of the
    lexicon's digest.
    """
    folders = (*rule_folders(directory, domain), *added)
    words = folder_digest(data_dir("lexicons"), "words/*.tsv")
    return " ".join([*(folder_digest(folder, *RULE_FILES) for folder in folders), words])


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
    examples: list[RuleExample] = []
    for key, must in (("hit", True), ("miss", False)):
        given, place = params.pop(key, []), lines.get(key, where)
        if not isinstance(given, list):
            raise ResourceError(f"rule {name!r}: {key} is no list of examples", where=place, fix=_EXAMPLE_FIX)
        examples += [_read_example(name, example, must, place) for example in given]
    return Rule(
        name, kind, order, about, MappingProxyType(params), tuple(examples), where, MappingProxyType(dict(lines))
    )


_TYPE_NAMES: Mapping[type, str] = {str: "a string", int: "a whole number"}


_EXAMPLE_FIX = 'write "TEXT → aspect|opinion|POS", with a comma between triplets'
_ARROW = " → "
_TRIPLET = re.compile(r"[^|]+\|[^|]+\|(?:POS|NEG|NEU)")
_BETWEEN = re.compile(r"(?<=\|POS|\|NEG|\|NEU), ")


def _read_example(name: str, example: object, must: bool, where: str) -> RuleExample:
    if isinstance(example, str):
        before, arrow, shown = example.rpartition(_ARROW)
        triplets = _BETWEEN.split(shown) if shown and arrow else []
        if all(map(_TRIPLET.fullmatch, triplets)) if arrow else not must:
            return RuleExample(before if arrow else example, tuple(triplets), must)
    elif isinstance(example, dict) and not example.keys() - _EXAMPLE_KEYS:
        text, written = example.get("text"), example.get("triplets", [])
        if isinstance(text, str) and isinstance(written, list) and all(isinstance(item, str) for item in written):
            return RuleExample(text, tuple(written), must)
    raise ResourceError(f"rule {name!r}: an example is {example!r}", where=where, fix=_EXAMPLE_FIX)


_NAME = re.compile(r"[A-Za-z0-9_-]{1,80}")
_WIDE = 100
"""Characters of a line that a list may take before it gets lines of its own."""


def write_rule(rule: Rule) -> str:
    """The whole rule as a table of TOML."""
    params = {"kind": rule.kind, "order": rule.order, "about": rule.about, **rule.written}
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
    return name if _NAME.fullmatch(name) else written_value(name)


def _value(value: object) -> str:
    if isinstance(value, list | tuple):
        return _list([_value(item) for item in value])
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{_key(str(key))} = {_value(item)}" for key, item in value.items()) + " }"
    return written_value(value)


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
    return [f"{key} = [", *(f"  {written_value(_write_example(example))}," for example in examples), "]"]


def _write_example(example: RuleExample) -> str:
    if example.triplets or _ARROW in example.text:
        return f"{example.text}{_ARROW}{', '.join(example.triplets)}"
    return example.text


def edited_file(workdir: Path, name: str) -> Path:
    """Where the edited rule of a name lies in a working directory."""
    return workdir / "rules" / f"{name}.toml"
