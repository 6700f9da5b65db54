"""Where words and rules lie: those of any review (the core), and the packs of domains that are laid over them.

In: the name of a domain, or the folder of a pack. Out: `Pack`, with its folders of lexicons and rules. A pack is a
folder with `lexicons/` (some tables of a lexicon), `rules/`, or both, and a card, README.md. Between the
core and a pack lie the common words, which reviews of anything use; a pack with a file `no-common-words` does without.
A file `over` names the domain that a pack adds to: its layers lie between.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from builder.core.errors import ConfigError, ResourceError
from builder.core.files import read_settings, write_atomically
from builder.core.settings import CORE, RESTAURANT
from builder.language.lexicon.tsv_rows import folder_digest

CARD = "README.md"
COMMON = "_common"
"""The folder of the words that reviews of anything use, beside the packs."""
JUDGE = "judge.json"
"""What weighs rules and model together, in the folder `model` of a domain."""
RULE_FILES = ("*.toml", "*.py")
"""Tables of rules, and rules that are functions."""
_WITHOUT_COMMON = "no-common-words"
_OVER = "over"
_PACKAGE = Path(__file__).parents[2]


def data_dir(name: str) -> Path:
    """The directory `lexicons`, `rules` or `domains`: beside the package in a checkout, inside it in a wheel."""
    for root in (_PACKAGE / "data", _PACKAGE.parent):
        if (root / name).is_dir():
            return root / name
    raise ResourceError(f"the directory {name}/ is missing", where=str(_PACKAGE.parent), fix="reinstall the package")


@dataclass(frozen=True, slots=True)
class Pack:
    """A domain's words and rules: a folder that is laid over the core."""

    name: str
    path: Path

    @property
    def lexicons(self) -> tuple[Path, ...]:
        """Its folder of lexicons, if there is one."""
        return _with_files(self.path / "lexicons", "*.tsv")

    @property
    def rules(self) -> tuple[Path, ...]:
        """Its folder of rules, if there is one."""
        return _with_files(self.path / "rules", *RULE_FILES)

    @property
    def model(self) -> Path | None:
        """The folder of the model that was measured with its words and rules, if there is one."""
        folder = self.path / "model"
        return folder if (folder / JUDGE).is_file() else None

    @property
    def below(self) -> str:
        """The domain that it adds to: `none`, if it names no other. ConfigError for one that is not shipped, and for a
        file that cannot be read.
        """
        file = self.path / _OVER
        if not file.exists():
            return CORE
        try:
            return check_shipped(read_settings(file).strip(), str(file))
        except (OSError, ValueError) as error:
            fix = "write the name of a shipped domain into it, or remove it" if isinstance(error, OSError) else ""
            raise ConfigError(f"no readable name of a domain: {error}", where=str(file), fix=fix) from error

    def put_over(self, domain: str) -> None:
        """Name the domain that it adds to."""
        if domain != CORE:
            write_atomically(self.path / _OVER, f"{domain}\n".encode())

    @property
    def digest(self) -> str:
        """The digest of its words and rules."""
        parts = [folder_digest(folder, "*.tsv") for folder in self.lexicons]
        parts += [folder_digest(folder, *RULE_FILES) for folder in self.rules]
        return hashlib.sha256(" ".join(parts).encode()).hexdigest()[:16]


def list_packs() -> dict[str, Path]:
    """The packs that come with builder, by name."""
    folders = sorted(path for path in data_dir("domains").iterdir() if path.is_dir())
    return {path.name: path for path in folders if path.name != COMMON}


def check_shipped(domain: str, where: str) -> str:
    """A domain that comes with builder; ConfigError for any other."""
    if domain not in (known := sorted([CORE, *list_packs()])):
        raise ConfigError(f"{domain!r} is no shipped domain", where=where, fix=f"known: {', '.join(known)}")
    return domain


def find_model(domain: str) -> Path | None:
    """The folder of the model for a domain: its pack's; else, where words of a pack make the rules as strong as the
    restaurant's, the restaurant's, and without a pack the one for reviews of anything.
    """
    pack = find_pack(domain)
    if pack and pack.model:
        return pack.model
    return Pack("", data_dir("domains") / (RESTAURANT if pack else COMMON)).model


def read_judge(folder: Path) -> dict[str, Any]:
    """What the file of a model says of weights and limits. One with `over` changes some of what is said for the shipped
    domain that it names. OSError, ValueError, TypeError or AttributeError where it says nothing, ConfigError for an
    unknown domain or key.
    """
    settings: dict[str, Any] = json.loads(read_settings(folder / JUDGE))
    if _OVER not in settings:
        return settings
    model = find_model(check_shipped(settings.pop(_OVER), str(folder / JUDGE)))
    assert model is not None, "every shipped domain is weighed"
    below = read_judge(model)
    _check_keys("", settings, below, folder / JUDGE)
    for name in ("limits", "calibration"):
        if isinstance(own := settings.get(name), dict):
            _check_keys(f" in {name}", own, below[name], folder / JUDGE)
    return below | {name: below[name] | own if isinstance(own, dict) else own for name, own in settings.items()}


def _check_keys(place: str, given: Mapping[str, object], known: Mapping[str, object], file: Path) -> None:
    """ConfigError for keys that the model below does not have; `Combiner.read` knows those of weights."""
    if unknown := sorted(given.keys() - known.keys()):
        fix = f"known{place}: {', '.join(sorted(known))}"
        raise ConfigError(f"unknown keys{place}: {', '.join(unknown)}", where=str(file), fix=fix)


def reader_folder() -> Path:
    """The folder of the reader of any review, which all models weigh."""
    return data_dir("domains") / COMMON / "model" / "reader"


def list_layers(domain: str) -> tuple[Pack, ...]:
    """What is laid over the core for a domain: the common words unless its pack does without them, what lies below its
    pack, then its pack.
    """
    pack = find_pack(domain)
    if pack is None:
        return (Pack("common words", data_dir("domains") / COMMON),)
    return (pack,) if (pack.path / _WITHOUT_COMMON).is_file() else (*list_layers(pack.below), pack)


def find_pack(domain: str) -> Pack | None:
    """The pack of a domain: one of those shipped by its name, or a folder; None for `none`, the core alone.

    ConfigError names the packs there are where there is no such one.
    """
    if domain == CORE:
        return None
    shipped = list_packs()
    pack = Pack(domain, shipped[domain]) if domain in shipped else Pack(Path(domain).resolve().name, Path(domain))
    fix = f"known: {', '.join(sorted([CORE, *shipped]))}; make another with `builder words domain new`"
    if not domain or not pack.path.is_dir():
        raise ConfigError(f"there is no domain and no folder {domain!r}", where="domain", fix=fix)
    if not pack.lexicons and not pack.rules:
        missing = "this folder is no domain pack: it has neither lexicons/*.tsv nor rules/*.toml"
        raise ConfigError(
            missing, where=str(pack.path), fix="make one with `builder words domain new`, or correct the path"
        )
    return pack


def _with_files(folder: Path, *patterns: str) -> tuple[Path, ...]:
    return (folder,) if folder.is_dir() and any(any(folder.rglob(pattern)) for pattern in patterns) else ()
