"""MkDocs hook: puts what the code says into the pages, when the site is built.

In: pages with lines such as `> commands: made from the code, see the site (`mkdocs serve`).` or
`<!-- include: CONTRIBUTING.md -->`. Out: the same pages with the command line, the settings, the tables and so on
written out. Nothing generated is committed, so that nothing can be out of date.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import catalogs
import commands
import database
import settings

ROOT = Path(__file__).parents[2]
GENERATED: Mapping[str, Callable[[], str]] = {
    "commands": commands.describe_commands,
    **{f"commands of {group}": partial(commands.describe_commands, group) for group in commands.GROUPS},
    "settings": settings.describe_build_settings,
    "augmentation settings": settings.describe_augmentation_settings,
    "tables": database.describe_database,
    "stages": catalogs.describe_stages,
    "queries": catalogs.describe_queries,
    "export formats": catalogs.describe_export_formats,
    "augmentation methods": catalogs.describe_methods,
    "rules": catalogs.describe_rules,
    "units": catalogs.describe_units,
    "conditions": catalogs.describe_conditions,
    "engine classes": catalogs.describe_engine_classes,
    "word classes": catalogs.describe_word_classes,
    "rooms": catalogs.describe_rooms,
    "tables of lu": partial(catalogs.describe_faithfulness, "iws-2024"),
    "tables of li": partial(catalogs.describe_faithfulness, "masked-seq2seq-2020"),
    "tables of wu": partial(catalogs.describe_faithfulness, "cbert-2019"),
    "tables of yang": partial(catalogs.describe_faithfulness, "boostaug-2022"),
}
_GENERATE = re.compile(r"^> ([a-z ]+): made from the code, see the site \(`mkdocs serve`\)\.$", re.M)
"""A line that tells a reader of the bare file where to look."""
_INCLUDE = re.compile(r"^<!-- include: ([\w/.]+) -->$", re.M)
_LINK = re.compile(r"\]\(docs/")


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Called by MkDocs for each page."""
    return _INCLUDE.sub(
        lambda found: include_file(found[1]), _GENERATE.sub(lambda found: GENERATED[found[1]](), markdown)
    )


def include_file(name: str) -> str:
    """A file of the repository without its title; links to docs/ lead from where the page stands."""
    text = (ROOT / name).read_text(encoding="utf-8")
    return _LINK.sub("](", re.sub(r"\A# .*\n+", "", text))
