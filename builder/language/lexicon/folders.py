"""The folders that the words and rules of a build come from, and both compiled into files of the user's cache.

In: the settings `lexicons` and `rules`, and the working directory, which may hold imported words and remembers the
settings that its build was begun with. Out: `Folders`, which load the lexicon and the rules, know their digests, and
say which folder is what.

What is compiled spares a sentence the wait for forty thousand rows of tables and thousands of lines of rules. It is
kept under a digest of its files and of the code that reads them. It is JSON: nothing in it runs. A file is believed
where it belongs to this user, nobody else may write to it, and its first line is the checksum of the rest; else it is
as if it were not there, and is written anew. It may be deleted at any time. `BUILDER_CACHE` names another folder, and
none where it is empty.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, fields
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeVar

from builder.core.code import code_digest
from builder.core.config import filled
from builder.core.errors import ConfigError, OutputError
from builder.core.files import key_of, write_atomically
from builder.core.settings import RESTAURANT, Lexicons, Rules
from builder.core.settings import Rules as RuleSettings
from builder.language.lexicon.packs import COMMON, JUDGE, RULE_FILES, Pack, data_dir, find_model, find_pack, list_layers
from builder.language.lexicon.resources import AspectEntry, Lexicon, OpinionEntry, load_lexicon, overlays
from builder.language.lexicon.rules import (
    Rule,
    RuleExample,
    edited_rules,
    load_rules,
    refuse_code_below,
    rule_folders,
    rules_digest,
)
from builder.language.lexicon.tsv_rows import folder_digest
from builder.reviews.script import Variants

# ---- Compiled lexicons and rules

FOLDER = "BUILDER_CACHE"
"""The variable that names the cache folder."""
_KEPT = 6
"""So many lexicons, and so many sets of rules, are kept, those used last."""
_LARGEST = 1 << 26
_ENTRIES: dict[str, type[OpinionEntry] | type[AspectEntry]] = {"opinions": OpinionEntry, "aspects": AspectEntry}
"""Fields of a lexicon that hold entries by their word."""
Compiled = TypeVar("Compiled")


def cache_folder() -> Path | None:
    """Where lexicons and rules are kept; None where `BUILDER_CACHE` is empty, or the user has no home."""
    if FOLDER in os.environ:
        return Path(os.environ[FOLDER]) if os.environ[FOLDER] else None
    caches = os.environ.get("XDG_CACHE_HOME")
    try:
        return (Path(caches) if caches else Path.home() / ".cache") / "review-triplets"
    except RuntimeError:
        return None


def read_compiled(name: str, unpack: Callable[[Any], Compiled]) -> Compiled | None:
    """What was kept under a name, which ends in a digest; None where there is nothing that can be believed."""
    folder = cache_folder()
    if folder is None:
        return None
    path = folder / f"{name}.json"
    try:
        with path.open("rb") as file:
            state = os.fstat(file.fileno())
            own = not hasattr(os, "getuid") or (state.st_uid == os.getuid() and not state.st_mode & stat.S_IWOTH)
            if not own or not stat.S_ISREG(state.st_mode) or state.st_size > _LARGEST:
                return None
            checksum, _, content = file.read().partition(b"\n")
        if hashlib.sha256(content).hexdigest().encode() != checksum:
            return None
        compiled = unpack(json.loads(content))
        os.utime(path)
        return compiled
    except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return None


def keep_compiled(name: str, packed: object) -> None:
    """Keep a value under a name, and remove those of its kind that were used longest ago. Where nothing can be written,
    and of a value that is none of JSON, nothing is kept.
    """
    folder = cache_folder()
    if folder is None:
        return
    with suppress(OSError, OutputError, TypeError, ValueError):
        content = json.dumps(packed, ensure_ascii=False, separators=(",", ":")).encode()
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        path = folder / f"{name}.json"
        write_atomically(path, hashlib.sha256(content).hexdigest().encode() + b"\n" + content)
        kind = name.partition("-")[0]
        kept = sorted(folder.glob(f"{kind}-*.json"), key=lambda path: path.stat().st_mtime, reverse=True)
        for path in kept[_KEPT:]:
            path.unlink(missing_ok=True)


def pack_lexicon(lexicon: Lexicon) -> dict[str, Any]:
    """Every field of a lexicon as JSON has it, and its words."""
    packed = {field.name: getattr(lexicon, field.name) for field in fields(lexicon) if field.init}
    packed = {name: dict(value) if isinstance(value, Mapping) else value for name, value in packed.items()}
    packed |= {name: list(packed[name].values()) for name in _ENTRIES}
    return packed | {"variants": dict(lexicon.variants.table), "words": lexicon.words()}


def _unpack_lexicon(packed: dict[str, Any]) -> Lexicon:
    words, variants = packed.pop("words"), Variants(packed.pop("variants"))
    entries: dict[str, Any] = {
        name: MappingProxyType({entry[0]: kind._make(entry) for entry in packed.pop(name)})
        for name, kind in _ENTRIES.items()
    }
    lexicon = Lexicon(variants=variants, **entries, **{name: _freeze(value) for name, value in packed.items()})
    lexicon.know_words(words)
    return lexicon


def _pack_rules(rules: tuple[Rule, ...]) -> list[list[object]]:
    """Rules as JSON has them. What of `params` is as it is written stands once."""
    return [
        [
            rule.name, rule.kind, rule.order, rule.about, dict(rule.written), dict(rule.lines), rule.where,
            {key: value for key, value in rule.params.items() if value != rule.written[key]},
            [[example.text, example.triplets, example.must] for example in rule.examples],
        ]
        for rule in rules
    ]  # fmt: skip


def _unpack_rules(packed: list[list[Any]]) -> tuple[Rule, ...]:
    return tuple(
        Rule(
            name, kind, order, about, MappingProxyType(written | changed),
            tuple(RuleExample(text, tuple(triplets), must) for text, triplets, must in examples),
            where, MappingProxyType(lines), MappingProxyType(written),
        )
        for name, kind, order, about, written, lines, where, changed, examples in packed
    )  # fmt: skip


def _freeze(value: Any) -> Any:
    """A mapping or list of JSON as a lexicon holds it."""
    if isinstance(value, dict):
        return MappingProxyType({key: _freeze(cell) if type(cell) is list else cell for key, cell in value.items()})
    return tuple(map(_freeze, value)) if isinstance(value, list) else value


# ---- Folders

LABELS = "labels.tsv"
TAUGHT_MODEL = "taught"
"""The folder of a working directory that holds how labels weigh rules and reader."""


@dataclass(frozen=True, slots=True)
class Folder:
    """A folder, what it is to a build, and the digest of its files."""

    role: str
    path: Path
    digest: str


@dataclass(frozen=True, slots=True)
class Folders:
    """`lexicons` and `rules` are whole, in place of those shipped (None), which are the core and the pack of `domain`;
    the others are laid over them, the last one uppermost. `imported` holds what `builder words lexicon import`
    wrote, `edited` the rules that `builder words rules edit` saved. `taught_model` says how labels weigh rules
    and reader, in place of the shipped weights.
    """

    lexicons: Path | None = None
    overlays: tuple[Path, ...] = ()
    rules: Path | None = None
    added_rules: tuple[Path, ...] = ()
    imported: tuple[Path, ...] = ()
    domain: str = RESTAURANT
    edited: tuple[Path, ...] = ()
    taught_model: Path | None = None

    @property
    def pack(self) -> Pack | None:
        """The pack of the domain, if it has one."""
        return find_pack(self.domain)

    @property
    def laid_over(self) -> tuple[Path, ...]:
        """What the user lays over the lexicon, the last one uppermost."""
        return (*self.overlays, *self.imported)

    @property
    def rules_laid_over(self) -> tuple[Path, ...]:
        """What the user lays over the rules, the last one uppermost."""
        return (*self.added_rules, *self.edited)

    @property
    def model(self) -> Path | None:
        """The folder of the model that is shipped for the domain. It was measured with the shipped words and rules, and
        is no judge of others in their place.
        """
        return None if self.lexicons or self.rules else self.taught_model or find_model(self.domain)

    @property
    def model_digest(self) -> str:
        """The digest of the model by its settings, which hold that of the weights, and of those that they may change;
        empty where there is none.
        """
        folders = (self.model, data_dir("domains")) if self.model else ()
        return " ".join(folder_digest(folder, JUDGE) for folder in folders)

    def load_lexicon(self) -> Lexicon:
        """The lexicon of all folders: from its tables, or as it was compiled of the same ones before."""
        try:
            tables = " ".join(folder_digest(folder, "*.tsv") for folder in self.lexicon_folders)
        except OSError:  # the tables' own reader says what is wrong
            return load_lexicon(self.lexicons, self.laid_over, self.domain)
        name = f"lexicon-{key_of(tables, code_digest(read_compiled.__module__))}"
        if (lexicon := read_compiled(name, _unpack_lexicon)) is None:
            lexicon = load_lexicon(self.lexicons, self.laid_over, self.domain)
            keep_compiled(name, pack_lexicon(lexicon))
        return lexicon

    def load_rules(self) -> tuple[Rule, ...]:
        """The rules of all folders: from their files, or as they were compiled of the same ones before."""
        folders = self.rules, self.rules_laid_over, self.domain, self.lexicon_folders
        places = [folder.name for folder in self.rule_folders]
        try:
            key = key_of(places, self.domain, self.files_digest, code_digest(read_compiled.__module__))
        except OSError:  # the files' own reader says what is wrong
            key = ""
        coded = any(any(folder.glob("*.py")) for folder in self.rule_folders)  # code that a kept file names would run
        if self.lexicons or not key or coded:  # a digest is without the words of the domain, whose classes rules name
            return load_rules(*folders)
        if (rules := read_compiled(f"rules-{key}", _unpack_rules)) is None:
            rules = load_rules(*folders)
            keep_compiled(f"rules-{key}", _pack_rules(rules))
        return rules

    @property
    def rules_digest(self) -> str:
        """The digest of the rule files of all folders."""
        return rules_digest(self.rules, self.rules_laid_over, self.domain)

    @property
    def rule_folders(self) -> tuple[Path, ...]:
        """The folders of rules, the last one uppermost."""
        return (*rule_folders(self.rules, self.domain), *self.rules_laid_over)

    @property
    def lexicon_folders(self) -> tuple[Path, ...]:
        """The folders of lexicons, the last one uppermost."""
        if self.lexicons:
            return (self.lexicons, *self.laid_over)
        shipped = (folder for pack in list_layers(self.domain) for folder in pack.lexicons)
        return (data_dir("lexicons"), *shipped, *self.laid_over)

    @property
    def files_digest(self) -> str:
        """The digest of the files of all folders, as they are now, without reading what they say."""
        return " ".join([*(folder_digest(folder, "*.tsv") for folder in self.lexicon_folders), self.rules_digest])

    def describe(self) -> Iterator[Folder]:
        """Every folder with its role and digest, in the order in which they are laid."""
        words = ("*.tsv",), self.lexicons, self.lexicon_folders, self.overlays, self.imported
        rules = RULE_FILES, self.rules, self.rule_folders, self.added_rules, self.edited
        for kind, (patterns, whole, folders, added, own) in (("lexicons", words), ("rules", rules)):
            placed = [(f"{kind} of your own, in place of those shipped" if whole else f"{kind} shipped", folders[0])]
            for pack in () if whole else list_layers(self.domain):
                placed += [(f"{kind} of {_name_layer(pack)}", folder) for folder in getattr(pack, kind)]
            placed += [(f"{kind} of your own, over those shipped", folder) for folder in added]
            made = "imported into" if kind == "lexicons" else "edited in"
            placed += [(f"{kind} {made} the working directory", folder) for folder in own]
            yield from (Folder(role, folder, folder_digest(folder, *patterns)) for role, folder in placed)


def _name_layer(pack: Pack) -> str:
    return pack.name if pack.path.name == COMMON else f"the domain {pack.name}"


SHIPPED = Folders()
"""Words and rules as builder brings them."""


def find_folders(
    lexicons: Lexicons, rules: RuleSettings, workdir: Path | None = None, domain: str = RESTAURANT
) -> Folders:
    """The folders of a build by its settings, and what was imported and edited in its working directory.

    ConfigError for a folder that does not exist or holds nothing of its kind, and for an unknown domain.
    """
    find_pack(domain)
    words = _check_folder(lexicons.dir, "lexicons.dir", "*.tsv")
    own_rules = _check_folder(rules.dir, "rules.dir", *RULE_FILES)
    if own_rules and (own_rules / LABELS).is_file():
        shipped = (data_dir("rules") / LABELS).read_bytes()
        if (own_rules / LABELS).read_bytes() != shipped:
            raise ConfigError(
                f"{LABELS} is not read from a folder of your own",
                where=str(own_rules / LABELS),
                fix=f"delete it, or change {data_dir('rules') / LABELS}",
            )
    whole_words, whole_rules = lexicons.mode == "replace", rules.mode == "replace"
    folders = Folders(
        words if whole_words else None,
        (words,) if words and not whole_words else (),
        own_rules if whole_rules else None,
        (own_rules,) if own_rules and not whole_rules else (),
        overlays(workdir) if workdir else (),
        domain,
        edited_rules(workdir) if workdir else (),
        find_taught_model(workdir) if workdir else None,
    )
    if workdir:
        refuse_code_below(workdir, folders.rule_folders)
    return folders


def find_taught_model(workdir: Path) -> Path | None:
    """The folder in a working directory that says how its labels weigh rules and reader, if they do."""
    folder = workdir / TAUGHT_MODEL
    return folder if (folder / JUDGE).is_file() else None


def _check_folder(name: str, key: str, *patterns: str) -> Path | None:
    if not name:
        return None
    folder = Path(name)
    if not folder.is_dir():
        raise ConfigError(f"{key} is no folder", where=name, fix="correct its path")
    if not any(any(folder.rglob(pattern)) for pattern in patterns):
        raise ConfigError(f"{key} holds no {patterns[0].removeprefix('*')} file", where=name, fix="correct its path")
    return folder


# ---- Folders of a working directory


def folders_in(workdir: Path | None) -> Folders:
    """The folders of a working directory's words and rules. ConfigError where one of them is gone."""
    if workdir is None:
        return Folders()
    from builder.store import db, runs

    domain = RESTAURANT
    settings: dict[str, dict[str, object]] = {"lexicons": {}, "rules": {}}
    if (workdir / db.NAME).is_file():
        with db.reading(workdir) as connection:
            text = runs.setting(connection, "build")
        for key, value in (json.loads(text)["config"] if text else {}).items():
            section, _, name = key.partition(".")
            if section in settings:
                settings[section][name] = value
            elif key == "domain":
                domain = str(value)
    return find_folders(filled(Lexicons, settings["lexicons"]), filled(Rules, settings["rules"]), workdir, domain)
