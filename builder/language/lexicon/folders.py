"""The folders that the words and rules of a build come from.

In: the settings `lexicons` and `rules`, and the working directory, which may hold imported words. Out: `Folders`, which
load the lexicon and the rules, know their digests, and say which folder is what.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from builder.core.code import code_digest
from builder.core.errors import ConfigError
from builder.core.files import key_of
from builder.core.settings import RESTAURANT, Lexicons
from builder.core.settings import Rules as RuleSettings
from builder.language.lexicon.compiled import keep_compiled, read_compiled
from builder.language.lexicon.packs import COMMON, JUDGE, Pack, data_dir, find_model, find_pack, list_layers
from builder.language.lexicon.resources import Lexicon, load_lexicon, overlays
from builder.language.lexicon.rules import Rule, edited_rules, load_rules, rule_folders, rules_digest
from builder.language.lexicon.tsv_rows import folder_digest

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
    the others are laid over them, the last one uppermost. `imported` holds what `builder words lexicon import` and
    `accept` wrote, `edited` the rules that `builder words rules edit` saved. `taught_model` says how labels weigh rules
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
        """The digest of the model by its settings, which hold that of the weights; empty where there is none."""
        return folder_digest(self.model, JUDGE) if self.model else ""

    def load_lexicon(self) -> Lexicon:
        """The lexicon of all folders: from its tables, or as it was compiled of the same ones before."""
        try:
            tables = " ".join(folder_digest(folder, "*.tsv") for folder in self.lexicon_folders)
        except OSError:  # the tables' own reader says what is wrong
            return load_lexicon(self.lexicons, self.laid_over, self.domain)
        key = key_of(tables, code_digest(read_compiled.__module__))
        if (lexicon := read_compiled(key)) is None:
            lexicon = load_lexicon(self.lexicons, self.laid_over, self.domain)
            keep_compiled(key, lexicon)
        return lexicon

    def load_rules(self) -> tuple[Rule, ...]:
        """The rules of all folders."""
        return load_rules(self.rules, self.rules_laid_over, self.domain, self.lexicon_folders)

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
        shipped = ("lexicons shipped", "lexicons of your own, in place of those shipped")
        for folder in self.lexicon_folders[:1]:
            yield Folder(shipped[self.lexicons is not None], folder, folder_digest(folder, "*.tsv"))
        layers = list_layers(self.domain)
        for pack in () if self.lexicons else layers:
            for folder in pack.lexicons:
                yield Folder(f"lexicons of {_name_layer(pack)}", folder, folder_digest(folder, "*.tsv"))
        for folder in self.overlays:
            yield Folder("lexicons of your own, over those shipped", folder, folder_digest(folder, "*.tsv"))
        for folder in self.imported:
            yield Folder("lexicons imported into the working directory", folder, folder_digest(folder, "*.tsv"))
        roles = ("rules shipped", "rules of your own, in place of those shipped")
        for folder in self.rule_folders[:1]:
            yield Folder(roles[self.rules is not None], folder, folder_digest(folder, "*.toml"))
        for pack in () if self.rules else layers:
            for folder in pack.rules:
                yield Folder(f"rules of {_name_layer(pack)}", folder, folder_digest(folder, "*.toml"))
        for folder in self.added_rules:
            yield Folder("rules of your own, over those shipped", folder, folder_digest(folder, "*.toml"))
        for folder in self.edited:
            yield Folder("rules edited in the working directory", folder, folder_digest(folder, "*.toml"))


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
    own_rules = _check_folder(rules.dir, "rules.dir", "*.toml")
    if own_rules and (own_rules / LABELS).is_file():
        shipped = (data_dir("rules") / LABELS).read_bytes()
        if (own_rules / LABELS).read_bytes() != shipped:
            raise ConfigError(
                f"{LABELS} is not read from a folder of your own",
                where=str(own_rules / LABELS),
                fix=f"delete it, or change {data_dir('rules') / LABELS}",
            )
    whole_words, whole_rules = lexicons.mode == "replace", rules.mode == "replace"
    return Folders(
        words if whole_words else None,
        (words,) if words and not whole_words else (),
        own_rules if whole_rules else None,
        (own_rules,) if own_rules and not whole_rules else (),
        overlays(workdir) if workdir else (),
        domain,
        edited_rules(workdir) if workdir else (),
        find_taught_model(workdir) if workdir else None,
    )


def find_taught_model(workdir: Path) -> Path | None:
    """The folder in a working directory that says how its labels weigh rules and reader, if they do."""
    folder = workdir / TAUGHT_MODEL
    return folder if (folder / JUDGE).is_file() else None


def _check_folder(name: str, key: str, pattern: str) -> Path | None:
    if not name:
        return None
    folder = Path(name)
    if not folder.is_dir():
        raise ConfigError(f"{key} is no folder", where=name, fix="correct its path")
    if not any(folder.rglob(pattern)):
        raise ConfigError(f"{key} holds no {pattern.removeprefix('*')} file", where=name, fix="correct its path")
    return folder
