"""The model that a domain's pack ships: a tagger that reads what the rules read, with limits and a curve that were
measured on reviews it had not seen.

In: the folder of a model, and the folders of words and rules. Out: the model as a panel of one, and the copy of it that
a working directory keeps, so that a build can be read again whatever builder ships later.
"""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

from builder.errors import ModelError
from builder.files import read_settings, replacing
from builder.lexicon.folders import Folders
from builder.model.calibration import read_curve
from builder.model.cotrain import Taggers, save_taggers
from builder.model.panel import Panel, save_panel
from builder.model.saved import load
from builder.model.tagger import Tagger
from builder.model.trust import TrustLimits

_JUDGE, _FILES = "judge.json", ("weights.safetensors", "config.json")


def open_model(folder: Path, folders: Folders) -> Panel:
    """The model of a pack as a panel that is trusted as far as it was measured; ModelError where it is broken."""
    path = folder / _JUDGE
    try:
        settings = json.loads(read_settings(path))
        limits = TrustLimits(**{name: float(value) for name, value in settings["limits"].items()})
        curve = read_curve(settings["curve"])
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise ModelError(f"no readable limits: {error!r}", where=str(path), fix="reinstall builder") from error
    tagger = load(folder)
    if not isinstance(tagger, Tagger):
        raise ModelError("this model finds no triplets", where=str(folder), fix="reinstall builder")
    taggers = Taggers((tagger,)).informed_by(folders)
    return Panel(taggers, limits.drop, 1.0, limits, curve)


def copy_model(folder: Path, panel_folder: Path, members: int, folders: Folders) -> Panel:
    """Lay the model of a pack into a working directory, as so many members of a panel, and save the panel."""
    panel = open_model(folder, folders)
    (tagger,) = panel.taggers.members
    shutil.rmtree(panel_folder / "taggers", ignore_errors=True)
    for number in range(members):
        for name in _FILES:
            with replacing(panel_folder / "taggers" / str(number) / name) as out:
                out.write((folder / name).read_bytes())
    taggers = Taggers((tagger,) * members)
    save_taggers(taggers, panel_folder / "taggers")
    panel = replace(panel, taggers=taggers)
    save_panel(panel, panel_folder)
    return panel
