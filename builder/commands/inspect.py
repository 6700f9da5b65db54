"""`builder sql`, `query`, `search`, `explain`: reading a working directory. SQLite opens it read-only."""

from __future__ import annotations

from pathlib import Path

import click

from builder.commands.build import WORKDIR

FORMAT = click.option(
    "--format", "shape", type=click.Choice(["table", "csv", "json"]), default="table", show_default=True
)
SAFE = click.option(
    "--safe",
    is_flag=True,
    help="In CSV, put an apostrophe before a cell that a spreadsheet would run (= + - @); without it cells are as "
    "stored.",
)
LIMIT = click.option(
    "--limit", type=click.IntRange(min=1), default=1000, show_default=True, help="At most so many rows."
)


@click.command()
@click.argument("statement", metavar="QUERY")
@WORKDIR
@FORMAT
@SAFE
@LIMIT
@click.option(
    "--seconds",
    type=click.FloatRange(min=0.01),
    default=60.0,
    show_default=True,
    help="Stop a query that takes longer.",
)
@click.option(
    "--megabytes",
    type=click.IntRange(1, 1000),
    default=1,
    show_default=True,
    help="The longest value; an answer may hold 64 times as much.",
)
def sql(statement: str, workdir: Path, shape: str, safe: bool, limit: int, seconds: float, megabytes: int) -> None:
    """Run one SQL QUERY over a build.

    SQLite refuses everything but reading.
    """
    from builder.store import db, limits, queries

    with db.reading(workdir, cell=megabytes << 20, heap=limits.HEAP_OF_SQL) as connection:
        columns, rows = queries.free(
            connection, statement, limit + 1, seconds=seconds, megabytes=megabytes * queries.MEGABYTES
        )
    _print(columns, rows, shape, limit, safe)


@click.command()
@click.argument("name", required=False)
@WORKDIR
@FORMAT
@SAFE
@LIMIT
@click.option("--param", "params", multiple=True, metavar="NAME=VALUE", help="A value for a query that takes one.")
def query(name: str | None, workdir: Path, shape: str, safe: bool, limit: int, params: tuple[str, ...]) -> None:
    """Run the named query NAME; without one, list them."""
    from builder.store import db, queries

    if name is None:
        named = [queries.lookup(query) for query in queries.names()]
        _print(
            ("query", "answers", "takes"),
            [(query.name, query.title, ", ".join(query.params)) for query in named],
            shape,
            limit,
        )
        return
    with db.reading(workdir) as connection:
        columns, rows = queries.named(connection, name, dict(param.partition("=")[::2] for param in params), limit + 1)
    _print(columns, rows, shape, limit, safe)


@click.command()
@click.argument("words", nargs=-1, required=True)
@WORKDIR
@click.option("--split", type=click.Choice(["train", "valid", "test"]), help="Only reviews of this split.")
@click.option("--polarity", type=click.Choice(["POS", "NEG", "NEU"]), help="Only reviews with such a triplet.")
@FORMAT
@SAFE
@click.option("--limit", type=click.IntRange(min=1), default=20, show_default=True, help="At most so many reviews.")
def search(
    words: tuple[str, ...], workdir: Path, split: str | None, polarity: str | None, shape: str, safe: bool, limit: int
) -> None:
    """Find the reviews that hold all WORDS.

    In Traditional or Simplified characters; a word with blanks is searched as it is.
    """
    from builder.store import db
    from builder.store import search as index

    if added := index.ensure(workdir):
        click.echo(f"{added:,} reviews indexed", err=True)
    with db.reading(workdir) as connection:
        hits = index.find(connection, words, limit, 0, split, polarity)
    rows: list[tuple[object, ...]] = [(hit.key, hit.split, hit.triplets, hit.text) for hit in hits.shown]
    _print(("review", "split", "triplets", "text"), rows, shape, limit, safe)
    click.echo(
        f"{hits.total:,} reviews" + (f", the first {limit} shown; --limit takes more" if hits.total > limit else ""),
        err=True,
    )


@click.command()
@click.argument("identifier", metavar="ID")
@WORKDIR
def explain(identifier: str, workdir: Path) -> None:
    """Explain how a triplet came about.

    ID is a triplet's, or a review's for all of its triplets.
    """
    from builder.store import db, stories

    with db.reading(workdir) as connection:
        story = stories.text(connection, identifier)
    click.echo(story)


@click.command()
@WORKDIR
@click.option("--reviews", default=2000, show_default=True, help="Look at so many annotated reviews.")
@FORMAT
def rules(workdir: Path, reviews: int, shape: str) -> None:
    """Report what each pairing rule contributes.

    What it finds, decides, shares with other rules and disputes.
    """
    from dataclasses import astuple

    from builder import builds
    from builder.engine import Engine
    from builder.lexicon.resources import load_lexicon, overlays
    from builder.lexicon.rules import load_rules
    from builder.store import db
    from builder.usecases.rule_report import report

    lexicon = load_lexicon(overlays=overlays(workdir))
    engine = Engine(lexicon, load_rules(), builds.remembered(workdir).resolved.config.rules.convention)
    with db.reading(workdir) as connection:
        opinions, rows = report(connection, engine, lexicon, reviews)
    _print(("rule", "hits", "decides", "overlaps", "conflicts"), [astuple(row) for row in rows], shape, len(rows))
    click.echo(f"{opinions} opinions", err=True)


def _print(
    columns: tuple[str, ...], rows: list[tuple[object, ...]], shape: str, limit: int, safe: bool = False
) -> None:
    import csv
    import json
    import sys

    if len(rows) > limit:
        click.echo(f"only the first {limit} rows are shown; --limit takes more", err=True)
        rows = rows[:limit]
    rows = [tuple(cell.hex() if isinstance(cell, bytes) else cell for cell in row) for row in rows]
    if shape == "json":
        click.echo(json.dumps([dict(zip(columns, row, strict=True)) for row in rows], ensure_ascii=False, indent=1))
    elif shape == "csv":
        from builder.gold.sheet import escaped

        writer = csv.writer(sys.stdout)
        writer.writerow(columns)
        writer.writerows([escaped(cell) if safe and isinstance(cell, str) else cell for cell in row] for row in rows)
    else:
        from tabulate import tabulate

        words = [
            i for i in range(len(columns)) if any(isinstance(row[i], str) for row in rows)
        ]  # the text 007 is no number
        click.echo(tabulate(rows, headers=columns, maxcolwidths=60, disable_numparse=words))
