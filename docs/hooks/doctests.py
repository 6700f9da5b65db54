"""Griffe extension: a docstring's paragraphs of `>>>` lines are examples,
so that the Python reference shows them as code.
"""

from __future__ import annotations

import re
import textwrap
from typing import Any

import griffe

_EXAMPLE = re.compile(r"(?:(?<=\n\n)|\A)(>>> .*?)(?=\n\n|\Z)", re.S)


class Examples(griffe.Extension):
    """Gives each such paragraph the heading that Google's style has for it."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Called for each module, class, function and attribute."""
        if obj.docstring is not None:
            obj.docstring.value = mark_examples(obj.docstring.value)


def mark_examples(docstring: str) -> str:
    """A paragraph that begins with `>>>` becomes a section `Examples:`."""
    return _EXAMPLE.sub(lambda found: "Examples:\n" + textwrap.indent(found[1], "    "), docstring)
