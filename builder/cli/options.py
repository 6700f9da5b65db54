"""Options of commands, and what commands write beside plain lines: colour, and rows in a format.

Options say how they are declared, on which device models run, what a preset changes. Colour appears only where a
person sees it. Rows are a table, CSV, TSV, JSON or JSON lines, printed or written to a file; commands that ask the
database use them.
"""

from __future__ import annotations

import functools
import io
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TextIO, TypeVar, cast

import click
from click.core import ParameterSource

from builder.core.config import read_preset
from builder.core.wording import counted

PATH = click.Path(path_type=Path)
NAMES = "auto, cpu, cuda, cuda:1 or mps"
DOMAINS = "restaurant, laptop, hotels, none (the words of any review), or the folder of a domain pack"


def option(*names: str, **settings: Any) -> Callable[[click.decorators.FC], click.decorators.FC]:
    """An option of click that shows its default, unless that is empty or a flag's."""
    default = settings.get("default")
    return click.option(*names, **{"show_default": bool(default) and not isinstance(default, bool), **settings})


def choice(*names: str) -> click.Choice[str]:
    """One of some words."""
    return click.Choice(names)


def set_option(example: str, of: str = "") -> Callable[[click.decorators.FC], click.decorators.FC]:
    """`--set` of one setting; `example` stands in its help, and `of` says whose settings it sets."""
    about = f"One setting{of and f' of {of}'}, for example {example} (repeatable)."
    return option("--set", "sets", multiple=True, metavar="KEY=VALUE", help=about)


def preset_option(others: str) -> Callable[[click.decorators.FC], click.decorators.FC]:
    """`--preset`; `others` names what overrides it."""
    about = f"Settings of a paper, which {others} override; see the guide."
    return option("--preset", metavar="NAME", help=about)


def device_option(about: str) -> Callable[[click.decorators.FC], click.decorators.FC]:
    """`--device`, `auto` by default; `about` is the beginning of its help."""
    return option("--device", default="auto", callback=_check_device, help=f"{about}: {NAMES}.")


def _check_device(context: click.Context, option: click.Parameter, value: str) -> str:
    from builder.core.settings import is_device

    if not is_device(value):
        raise click.BadParameter(f"{value!r} is none of {NAMES}", context, option)
    return value


def with_preset_options(
    context: click.Context, options: Mapping[str, Any], preset: str | None, command: str
) -> dict[str, Any]:
    """The options with what the preset sets in place of defaults.

    Raises:
        ConfigError: no such preset, or it has nothing for the command.
    """
    if not preset:
        return dict(options)
    lines = read_preset(preset, command)
    by_default = {
        key
        for key in lines.keys() & {parameter.name for parameter in context.command.params}
        if context.get_parameter_source(key) in (None, ParameterSource.DEFAULT, ParameterSource.DEFAULT_MAP)
    }
    return {**options, **{key: _value(context, key, lines[key].value) for key in by_default}}


def _value(context: click.Context, key: str, value: object) -> object:
    """A value as the option of that name reads it from the command line."""
    option = next(parameter for parameter in context.command.params if parameter.name == key)
    return option.process_value(context, value)


# ---- Colour on a terminal


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


# ---- Rows

FORMATS = ("table", "csv", "tsv", "json", "ndjson")
Decorated = TypeVar("Decorated", bound=Callable[..., Any])


def json_option(value: str = "json") -> Callable[[Decorated], Decorated]:
    """`--json`, beside a `--format` whose value is the parameter `shape`: it stands for `value`."""

    def decorate(command: Decorated) -> Decorated:
        @functools.wraps(command)
        def with_json(*, json: bool, **options: Any) -> Any:
            return command(**(options | ({"shape": value} if json else {})))

        return cast(Decorated, option("--json", is_flag=True, help=f"The same as --format {value}.")(with_json))

    return decorate


def FORMAT(command: Decorated) -> Decorated:
    """`--format` of rows, and `--json`."""
    about = "How to print the rows; a table if not given."
    return option("--format", "shape", type=choice(*FORMATS), help=about)(json_option()(command))


AS_JSON = option("--json", "as_json", is_flag=True, help="Print JSON, for programs.")
"""Of commands whose answer is no rows."""
SAFE = option(
    "--safe",
    is_flag=True,
    help="In CSV and TSV, put an apostrophe before cells that a spreadsheet would run (= + - @).",
)
OUTPUT = option("--output", "target", type=PATH, help="Write all rows to a .csv, .tsv, .json, .ndjson or .jsonl file.")
LIMIT = option(
    "--limit", type=click.IntRange(min=1), help="At most so many rows; 1000 if printed, all if written to a file."
)
SAMPLES = option(
    "--samples", type=click.IntRange(0, 100_000), default=1000, help="Bootstrap samples for 95% intervals; 0: none."
)
"""How many samples 95% intervals by the bootstrap come from."""
SEED = option("--seed", type=click.IntRange(0), default=13, help="Seed of the samples.")
"""What those samples are drawn by."""
PRINTED = 1000
"""Rows that are printed if nobody says how many."""
_ENDINGS = {".csv": "csv", ".tsv": "tsv", ".json": "json", ".ndjson": "ndjson", ".jsonl": "ndjson", ".txt": "table"}
Rows = Sequence[tuple[object, ...]]


def fetched(limit: int | None, target: Path | None) -> int | None:
    """How many rows to ask for: one more than are shown, so that more are known of; None for all."""
    return limit + 1 if limit else None if target else PRINTED + 1


def put_rows(
    columns: Sequence[str], rows: Rows, shape: str | None, limit: int | None = None, safe: bool = False,
    target: Path | None = None,
) -> None:  # fmt: skip
    """Print rows, or write them to `target`. What is over the limit is left out, and that is said."""
    from builder.core.files import write_atomically

    most = limit or (len(rows) if target else PRINTED)
    if len(rows) > most:
        click.echo(f"only the first {most:,} rows are shown; --limit takes more, --output FILE all", err=True)
        rows = rows[:most]
    if target is None:
        click.echo(rendered(columns, rows, shape or "table", safe), nl=False, color=True)  # cells as they are stored
        return
    shape = shape or _shape_of(target)
    write_atomically(target, rendered(columns, rows, shape, safe).encode("utf-8", "surrogatepass"))
    click.echo(f"{target}: {counted(len(rows), 'row')}", err=True)


def put_table(rows: Iterable[Sequence[object]], headers: Sequence[str], **layout: Any) -> None:
    """Print rows as a table for people, laid out as tabulate takes it."""
    from tabulate import tabulate

    click.echo(tabulate(rows, headers=headers, **layout))


def _shape_of(target: Path) -> str:
    from builder.core.errors import ConfigError

    if target.suffix.lower() not in _ENDINGS:
        fix = "use .csv, .tsv, .json, .ndjson, or --format"
        raise ConfigError(f"the ending {target.suffix!r} names no format", where=str(target), fix=fix)
    return _ENDINGS[target.suffix.lower()]


def rendered(columns: Sequence[str], rows: Rows, shape: str, safe: bool = False) -> str:
    """Rows as text in a format of `FORMATS`; bytes as hexadecimal digits."""
    import json

    cells = [tuple(cell.hex() if isinstance(cell, bytes) else cell for cell in row) for row in rows]
    if shape in ("csv", "tsv"):
        return "".join(_separated(columns, cells, "," if shape == "csv" else "\t", safe))
    objects = (dict(zip(columns, row, strict=True)) for row in cells)
    if shape == "json":
        return json.dumps(list(objects), ensure_ascii=False, indent=1) + "\n"
    if shape == "ndjson":
        return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in objects)
    from tabulate import tabulate

    words = [i for i in range(len(columns)) if any(isinstance(row[i], str) for row in cells)]  # 007 is no number
    return str(tabulate(cells, headers=columns, maxcolwidths=60, disable_numparse=words)) + "\n"


def _separated(columns: Sequence[str], rows: Rows, delimiter: str, safe: bool) -> Iterator[str]:
    import csv

    from builder.gold.sheet import escaped

    for row in (columns, *rows):
        line = io.StringIO()
        shown = [escaped(cell) if safe and isinstance(cell, str) else cell for cell in row]
        csv.writer(line, delimiter=delimiter).writerow(shown)
        yield line.getvalue().removesuffix("\r\n") + "\n"  # the writer's own end, \r\n, has it quote a \r in a cell
