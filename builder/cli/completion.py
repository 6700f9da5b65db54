"""`builder setup completion`, and what a shell completes: columns of a file, stages, queries, tables."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import click
from click.shell_completion import CompletionItem, get_completion_class

from builder.core.errors import BuilderError

_FILES = {"bash": "~/.bashrc", "zsh": "~/.zshrc", "fish": "~/.config/fish/completions/builder.fish"}
Complete = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]


@click.command()
@click.argument("shell", type=click.Choice(list(_FILES)))
@click.pass_context
def completion(ctx: click.Context, shell: str) -> None:
    """Print the completion script of a SHELL.

    Load it with: eval "$(builder setup completion bash)". Columns of the input, stages and queries are completed too.
    """
    kind = get_completion_class(shell)
    assert kind is not None, shell
    script = kind(ctx.find_root().command, {}, "builder", "_BUILDER_COMPLETE")
    click.echo(script.source())


def complete_columns(ctx: click.Context, _: click.Parameter, begun: str) -> list[CompletionItem]:
    """The columns of the files that stand on the line already."""
    from builder.reviews import sources

    names: dict[str, None] = {}
    # While an option waits for its value, click leaves the arguments of the line unsorted.
    given = ctx.params.get("inputs") or ctx.params.get("given") or ctx.args
    for path in map(Path, given):
        understood = sources.Understanding()
        with suppress(BuilderError):  # the columns may be known nevertheless
            next(sources.read(path, understood=understood), None)
        names |= dict.fromkeys(understood.names)
    return _items(list(names), begun)


def complete_stages(_ctx: click.Context, _param: click.Parameter, begun: str) -> list[CompletionItem]:
    """The stages of a build."""
    from builder.cli.build_voice import TITLES

    return [CompletionItem(name, help=title) for name, title in TITLES.items() if name.startswith(begun)]


def complete_queries(_ctx: click.Context, _param: click.Parameter, begun: str) -> list[CompletionItem]:
    """The named queries."""
    from builder.store.queries import about, names

    return [CompletionItem(name, help=about(name)) for name in names() if name.startswith(begun)]


def complete_presets(_ctx: click.Context, _param: click.Parameter, begun: str) -> list[CompletionItem]:
    """The presets of the papers."""
    from builder.core.presets import NAMES

    return _items(list(NAMES), begun)


def complete_settings(_ctx: click.Context, _param: click.Parameter, begun: str) -> list[CompletionItem]:
    """The keys of settings."""
    from builder.core.config import flat
    from builder.core.settings import Config

    return _items(list(flat(Config())), begun)


def _items(names: list[str], begun: str) -> list[CompletionItem]:
    return [CompletionItem(name) for name in names if name.startswith(begun)]
