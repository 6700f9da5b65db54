"""The model that a domain's pack ships: taggers that read what the rules read, with limits and curves that were
measured on reviews they had not seen.

In: the folder of a model, and the folders of words and rules. Out: the model as a panel, and the copy of it that
a working directory keeps, so that a build can be read again whatever builder ships later.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from builder.core.errors import ModelError
from builder.core.files import read_settings, write_atomically
from builder.language.lexicon.folders import Folders
from builder.models.cotrain import load_taggers, save_taggers
from builder.models.panel import Panel, save_panel
from builder.models.trust import TrustLimits, read_calibration

_JUDGE, _FILES = "judge.json", ("weights.safetensors", "config.json")


def open_model(folder: Path, folders: Folders) -> Panel:
    """The model of a pack as a panel that is trusted as far as it was measured; ModelError where it is broken."""
    path = folder / _JUDGE
    try:
        settings = json.loads(read_settings(path))
        limits = TrustLimits.read(settings["limits"])
        calibration = read_calibration(settings["calibration"])
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise ModelError(f"no readable limits: {error!r}", where=str(path), fix="reinstall builder") from error
    return Panel(load_taggers(folder).informed_by(folders), limits.drop, 1.0, limits, calibration)


def copy_model(folder: Path, panel_folder: Path, folders: Folders) -> Panel:
    """Lay the model of a pack into the folder of a panel."""
    panel = open_model(folder, folders)
    shutil.rmtree(panel_folder / "taggers", ignore_errors=True)
    for number in range(len(panel.taggers.members)):
        for name in _FILES:
            content = (folder / str(number) / name).read_bytes()
            write_atomically(panel_folder / "taggers" / str(number) / name, content)
    save_taggers(panel.taggers, panel_folder / "taggers")
    save_panel(panel, panel_folder)
    return panel
