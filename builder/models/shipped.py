"""The model that builder ships: a reader of any review, and for a domain how its word and the rules' are weighed,
measured on reviews that it had not seen.

In: the folder of a domain's model. Out: the model as a panel, and the copy of it
that a working directory keeps, so that a build can be read again whatever builder ships later.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from builder.core.errors import ModelError
from builder.core.files import read_settings, write_atomically
from builder.language.lexicon.packs import JUDGE, reader_folder
from builder.models.combiner import Combiner
from builder.models.cotrain import Taggers, save_taggers
from builder.models.panel import Panel, save_panel
from builder.models.saved import load
from builder.models.tagger import Tagger
from builder.models.trust import TrustLimits, read_calibration

_FIX = "reinstall builder; teach a working directory again with `builder gold gain --teach`"


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
        raise ModelError(f"no readable limits: {error!r}", where=str(path), fix=_FIX) from error
    taggers = open_reader()
    if taggers.digest != digest:
        raise ModelError("these limits were measured with other members", where=str(path), fix=_FIX)
    return Panel(taggers, limits.drop, 1.0, limits, calibration, combiner)


def open_reader() -> Taggers:
    """The reader of any review; ModelError where it is broken."""
    reader = load(reader_folder())
    assert isinstance(reader, Tagger), "the reader finds triplets"
    return Taggers((reader,))


def write_taught(folder: Path, shipped: Path, combiner: Combiner) -> None:
    """Write the settings of a shipped model with other weights of rules and reader."""
    settings = json.loads(read_settings(shipped / JUDGE)) | {"combiner": combiner.kept}
    write_atomically(folder / JUDGE, (json.dumps(settings, indent=1) + "\n").encode())


def copy_model(folder: Path, panel_folder: Path) -> Panel:
    """Lay the model of a domain into the folder of a panel."""
    panel = open_model(folder)
    shutil.rmtree(panel_folder / "taggers", ignore_errors=True)
    for file in sorted(reader_folder().iterdir()):
        write_atomically(panel_folder / "taggers" / "0" / file.name, file.read_bytes())
    save_taggers(panel.taggers, panel_folder / "taggers")
    save_panel(panel, panel_folder)
    return panel
