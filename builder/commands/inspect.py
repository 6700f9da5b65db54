"""`builder sql`, `query`, `explain`: reading a working directory. SQLite opens it read-only."""

from __future__ import annotations

from pathlib import Path

import click

from builder.commands.build import WORKDIR

FORMAT = click.option("--format", "shape", type=click.Choice(["table", "csv", "json"]), default="table", show_default=True)
LIMIT = click.option("--limit", type=int, default=1000, show_default=True, help="At most so many rows.")


@click.command()
@click.argument("statement", metavar="QUERY")
@WORKDIR
@FORMAT
@LIMIT
def sql(statement: str, workdir: Path, shape: str, limit: int) -> None:
    """Run one SQL QUERY over the working directory; writing is refused by SQLite."""
    from builder.store import db, queries

    connection = db.read_only(workdir)
    try:
        _print(*queries.free(connection, statement, limit), shape)
    finally:
        connection.close()


@click.command()
@click.argument("name", required=False)
@WORKDIR
@FORMAT
@LIMIT
@click.option("--param", "params", multiple=True, metavar="NAME=VALUE", help="A value for a query that takes one.")
def query(name: str | None, workdir: Path, shape: str, limit: int, params: tuple[str, ...]) -> None:
    """Run the named query NAME; without one, list them."""
    from builder.store import db, queries

    if name is None:
        _print(("query", "answers"), [(one, queries.about(one)) for one in queries.names()], shape)
        return
    connection = db.read_only(workdir)
    try:
        columns, rows = queries.named(connection, name, dict(one.partition("=")[::2] for one in params))
    finally:
        connection.close()
    _print(columns, rows[:limit], shape)


@click.command()
@click.argument("identifier", metavar="ID")
@WORKDIR
def explain(identifier: str, workdir: Path) -> None:
    """Tell the story of a triplet: ID is a triplet's (or a review's, for all of its triplets)."""
    from builder.store import db, queries

    connection = db.read_only(workdir)
    try:
        click.echo(queries.story(connection, identifier))
    finally:
        connection.close()


def _print(columns: tuple[str, ...], rows: list[tuple[object, ...]], shape: str) -> None:
    import csv
    import json
    import sys

    if shape == "json":
        click.echo(json.dumps([dict(zip(columns, row, strict=True)) for row in rows], ensure_ascii=False, indent=1))
    elif shape == "csv":
        writer = csv.writer(sys.stdout)
        writer.writerow(columns)
        writer.writerows(rows)
    else:
        from tabulate import tabulate

        click.echo(tabulate(rows, headers=columns, maxcolwidths=60))
