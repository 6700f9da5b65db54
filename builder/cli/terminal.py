"""What a command writes to the terminal beside plain lines: colour, and only where a person sees it."""

from __future__ import annotations

import os
import sys
from typing import TextIO


class TameTerminal:
    """A terminal that shows what others wrote and obeys none of it: escape codes and marks that turn lines round come
    as their codes.

    Files and pipes get every byte as it is. `terminal` is the real one, for text whose every part was made safe.
    """

    def __init__(self, terminal: TextIO) -> None:
        self.terminal = terminal

    def write(self, text: str) -> int:
        from builder.core.errors import printable

        return self.terminal.write(printable(text, kept="\n\t\u3000\u200d"))

    def __getattr__(self, name: str) -> object:
        return getattr(self.terminal, name)


def shows_colour(stream: TextIO) -> bool:
    """Whether a stream is a terminal of a person who wants colour (https://no-color.org)."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def styled_output() -> TextIO:
    """Standard output that obeys our own colour codes."""
    return sys.stdout.terminal if isinstance(sys.stdout, TameTerminal) else sys.stdout
