"""The folders of words and rules of the build that a working directory holds.

In: a working directory, or none. Out: `Folders` by the settings that the build was begun with; those shipped, and what
was imported, where none was begun.
"""

from __future__ import annotations

import json
from pathlib import Path

from builder.core.config import filled
from builder.core.settings import RESTAURANT, Lexicons, Rules
from builder.language.lexicon.folders import Folders, find_folders


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
