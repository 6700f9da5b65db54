"""The command line as Markdown, from click's own description of it."""

from __future__ import annotations

import re
from collections.abc import Iterator

import click

from builder.cli.main import cli

GROUPS = tuple(name for name in cli.list_commands(click.Context(cli)) if isinstance(cli.commands[name], click.Group))
"""Groups of commands, each of which has a page."""


def describe_commands(group: str = "") -> str:
    """The commands of a group, or those of none, with usage, help and a table of options."""
    commands = walk_commands(cli)
    if not group:
        return "\n".join(_describe(name, command) for name, command in commands if name.split()[0] not in GROUPS)
    return "\n".join(_describe(name, command) for name, command in commands if name.split()[0] == group)


def walk_commands(group: click.Group, prefix: str = "") -> Iterator[tuple[str, click.Command]]:
    """Name and command, groups before their commands."""
    commands = group.commands
    for name in group.list_commands(click.Context(group)):
        command = commands[name]
        yield prefix + name, command
        if isinstance(command, click.Group):
            yield from walk_commands(command, f"{prefix}{name} ")


def _describe(name: str, command: click.Command) -> str:
    context = click.Context(command, info_name=f"builder {name}")
    parts = [
        f"## builder {name}",
        "",
        _paragraphs(command.help or ""),
        "",
        "```text",
        command.get_usage(context).removeprefix("Usage: "),
        "```",
        "",
    ]
    rows = [
        _row(option, context) for option in command.params if isinstance(option, click.Option) and not option.hidden
    ]
    if rows:
        parts += ["| option | meaning | default |", "|---|---|---|", *rows, ""]
    return "\n".join(parts)


def _paragraphs(text: str) -> str:
    return "\n\n".join(" ".join(part.split()) for part in re.split(r"\n\s*\n", text.replace("\b", "")))


def _row(option: click.Option, context: click.Context) -> str:
    names = ", ".join(f"`{name}`" for name in (*option.opts, *option.secondary_opts))
    values = "" if option.is_flag or option.count else f" {_cell(option.make_metavar(context))}"
    repeats = " Repeatable." if option.multiple and "repeatable" not in (option.help or "") else ""
    return f"| {names}{values} | {_cell(option.help or '')}{repeats} | {_default(option)} |"


def _default(option: click.Option) -> str:
    value = option.get_default(click.Context(click.Command("none")), call=False)
    if value in (None, (), "") or option.is_flag or callable(value) or "UNSET" in repr(value):
        return ""
    return f"`{value}`"


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;")
