"""The model that builder ships: a reader of any review, and for a domain how its word and the rules' are weighed,
measured on reviews that it had not seen.

In: the folder of a domain's model. Out: the model as a panel, and the copy of it
that a working directory keeps, so that a build can be read again whatever builder ships later.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from builder.core.errors import ModelError
from builder.core.files import read_settings, write_atomically
from builder.language.lexicon.packs import JUDGE, list_members
from builder.models.combiner import Combiner
from builder.models.cotrain import Taggers, save_taggers
from builder.models.panel import Panel, save_panel
from builder.models.saved import load
from builder.models.tagger import Tagger
from builder.models.trust import TrustLimits, read_calibration


def open_model(folder: Path) -> Panel:
    """The model of a domain as a panel that is trusted as far as it was measured; ModelError where it is broken."""
    path = folder / JUDGE
    try:
        settings = json.loads(read_settings(path))
        limits = TrustLimits.read(settings["limits"])
        calibration = read_calibration(settings["calibration"])
        combiner = Combiner.read(settings["combiner"]) if "combiner" in settings else None
        digest = settings["members"]
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise ModelError(f"no readable limits: {error!r}", where=str(path), fix="reinstall builder") from error
    taggers = open_members(list_members(folder))
    if taggers.digest != digest:
        raise ModelError("these limits were measured with other members", where=str(path), fix="reinstall builder")
    return Panel(taggers, limits.drop, 1.0, limits, calibration, combiner)


def open_members(paths: Sequence[Path]) -> Taggers:
    """The taggers of these folders together."""
    members: list[Any] = [load(path) for path in paths]
    return Taggers(tuple(member for member in members if isinstance(member, Tagger)))


def copy_model(folder: Path, panel_folder: Path) -> Panel:
    """Lay the model of a domain into the folder of a panel."""
    panel = open_model(folder)
    shutil.rmtree(panel_folder / "taggers", ignore_errors=True)
    for number, member in enumerate(list_members(folder)):
        for file in sorted(member.iterdir()):
            write_atomically(panel_folder / "taggers" / str(number) / file.name, file.read_bytes())
    save_taggers(panel.taggers, panel_folder / "taggers")
    save_panel(panel, panel_folder)
    return panel
