"""`builder db tables`, `builder db schema`: what the database of a build holds."""

from __future__ import annotations

from pathlib import Path

import click

from builder.cli.build import WORKDIR
from builder.cli.printing import FORMAT, put_rows


@click.command()
@WORKDIR
@click.option("--counts", is_flag=True, help="Count the rows; takes a while in a large build.")
@FORMAT
def tables(workdir: Path, counts: bool, shape: str | None) -> None:
    """List tables and views with what they hold."""
    from builder.store import db
    from builder.store.queries import count_rows, describe_tables, table_kinds

    sentences = describe_tables()
    with db.reading(workdir) as connection:
        kinds = table_kinds(connection)
        ordered = [name for name in sentences if name in kinds] + [name for name in kinds if name not in sentences]
        rows: list[tuple[object, ...]] = [
            (name, kinds[name], *((count_rows(connection, name),) if counts else ()), _about(name)) for name in ordered
        ]
    put_rows(("name", "kind", *(("rows",) if counts else ()), "holds"), rows, shape)


@click.command()
@click.argument("table", required=False)
@WORKDIR
@FORMAT
@click.option("--sql", "as_sql", is_flag=True, help="Print the statements that make it.")
def schema(table: str | None, workdir: Path, shape: str | None, as_sql: bool) -> None:
    """Show the columns of TABLE, or of all tables.

    A view is named like a table.
    """
    from builder.store import db
    from builder.store.queries import known_table, statements, table_columns, table_kinds

    with db.reading(workdir) as connection:
        names = [known_table(connection, table)] if table else list(table_kinds(connection))
        if as_sql:
            click.echo("\n\n".join(f"{statement};" for statement in statements(connection, names)))
            return
        columns = [(name, *column) for name in names for column in table_columns(connection, name)]
    rows: list[tuple[object, ...]] = [
        (*(() if table else (name,)), column, kind, _about(name, column)) for name, column, kind in columns
    ]
    if table and shape in (None, "table"):
        click.echo(f"{names[0]}: {_about(names[0])}\n")
    put_rows((*(() if table else ("table",)), "column", "type", "meaning"), rows, shape, limit=len(rows))


def _about(table: str, column: str = "") -> str:
    """A sentence about a table or one of its columns; empty for what a user added."""
    from builder.store.queries import describe_tables

    described = describe_tables().get(table)
    if described is None:
        return ""
    return described.columns.get(column, "") if column else described.about
