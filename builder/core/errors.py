"""One error family: what went wrong, where, and how to fix it.

The command line catches `BuilderError` once, prints its one line and exits with code 2; every other exception is a
defect of ours and keeps its traceback.
"""

from collections.abc import Iterable
from difflib import get_close_matches
from pathlib import Path

DISTRIBUTION = "review-triplets"
"""The name under which the package is installed; it is imported as `builder`."""


def install_command(extra: str) -> str:
    """The command that installs an optional part of this copy of the package: a checkout, or an installed one."""
    checkout = Path(__file__).resolve().parents[2]
    if not (checkout / "pyproject.toml").is_file():
        return f"pip install '{DISTRIBUTION}[{extra}]'"
    return f"pip install -e '{'.' if Path.cwd() == checkout else checkout}[{extra}]'"


def printable(text: str, kept: str = "") -> str:
    """`text` with what cannot be seen as its code: what a terminal would obey, or turns the line round."""
    return (
        text
        if text.isprintable()
        else "".join(char if char.isprintable() or char in kept else _code(char) for char in text)
    )


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """A question that names what is most like `name`, with a space behind it; empty where nothing is."""
    by_lower = {choice.lower(): choice for choice in known}
    close = get_close_matches(name.lower(), by_lower, 1)
    return f"did you mean {by_lower[close[0]]}? " if close else ""


LONGEST = 1_000
"""Characters of what an error says; the middle of more is left out. Files may quote themselves at any length."""


def shortened(text: str, longest: int = LONGEST) -> str:
    """`text`, without its middle where it is longer than `longest` characters."""
    return text if len(text) <= longest else f"{text[: longest // 2]} … {text[-longest // 4 :]}"


def _code(char: str) -> str:
    return char.encode("unicode_escape").decode("ascii")


class BuilderError(Exception):
    """An error the user can act on.

    `what` says what is wrong, `where` a file:line, row or item (may be empty), `fix` what to do about it (may be
    empty).
    """

    def __init__(self, what: str, *, where: str = "", fix: str = "") -> None:
        self.what, self.where, self.fix = shortened(what), where, fix
        super().__init__(": ".join(part for part in (where, self.what) if part) + (f"; {fix}" if fix else ""))


class BuilderWarning(UserWarning):
    """What a user should know although the work goes on; the command line prints its one line."""


class InputError(BuilderError):
    """The input file cannot be used as it is."""


class ConfigError(BuilderError):
    """A config file, option or name is not known or not valid."""


class OutputError(BuilderError):
    """A file cannot be written."""


class ResourceError(BuilderError):
    """A lexicon, rule or model file is broken or missing."""


class WorkdirError(BuilderError):
    """The working directory is locked, of another version, or damaged."""


class ReleaseError(BuilderError):
    """A release cannot be written or does not verify."""


class QueryError(BuilderError):
    """An SQL query or an id cannot be answered."""


class ModelError(BuilderError):
    """A model cannot be trained, loaded or run."""


class WorkerLost(BuilderError):
    """Worker processes die, stay away, or are not like this machine."""
