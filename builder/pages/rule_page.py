"""The page on which a person reads the rules, edits a copy of one, and sees what that changes before it is saved.

In: a `RuleWorker`. Out: a `LabelSite`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import Any

from builder.core.errors import BuilderError
from builder.gold.server import LabelSite
from builder.pages.rule_worker import RuleWorker

Json = dict[str, Any]
_LINE = re.compile(r"(?:^the rule|/([\w-]+)\.toml):(\d+)$")
_PLACE = re.compile(r"^(.*/)?(rules/)")


def rule_site(worker: RuleWorker) -> LabelSite:
    """The page over the rules of a working directory."""

    def progress(user: str, query: Mapping[str, str]) -> Json:
        return asdict(worker.progress)

    def asking(question: str, *names: str) -> Callable[[str, Json], Json]:
        def ask(user: str, given: Json) -> Json:
            values = [given[name] for name in names]
            if not all(isinstance(value, str) for value in values):
                raise ValueError("a rule is a text")
            try:
                return worker.ask(question, *values)
            except BuilderError as error:
                return {"fault": _describe(error), "line": _find_line(error)}

        return ask

    writes = {
        "/api/list": asking("list"),
        "/api/open": asking("open", "name"),
        "/api/try": asking("try", "text"),
        "/api/compare": asking("compare", "text"),
        "/api/save": asking("save", "text"),
        "/api/drop": asking("drop", "name"),
    }
    return LabelSite(
        "rules.html", ("text.js", "rules.js", "page.css", "rules.css"), {"/api/progress": progress}, writes,
        frozenset(writes),
    )  # fmt: skip


def _describe(error: BuilderError) -> str:
    """One line: where, what, how to fix. A folder that was made for the moment is not named."""
    line = _find_line(error)
    where = f"line {line}" if line else _PLACE.sub(r"\2", error.where)
    return ": ".join(part for part in (where, error.what) if part) + (f"; {error.fix}" if error.fix else "")


def _find_line(error: BuilderError) -> int | None:
    """The line of the edited text that an error is about."""
    place = _LINE.search(error.where)
    return int(place[2]) if place else None
