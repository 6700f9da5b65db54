"""`builder db …`: what a working directory holds, asked in SQL or by name.

SQLite opens the database read-only.
"""

from __future__ import annotations

from pathlib import Path

import click

from builder.cli.build import WORKDIR
from builder.cli.printing import AS_JSON, FORMAT, LIMIT, OUTPUT, SAFE, fetched, put_rows
from builder.core.wording import counted

_FILE = 16
"""How many times more an answer may hold that is written to a file."""


@click.command()
@click.argument("statement", metavar="QUERY")
@WORKDIR
@FORMAT
@OUTPUT
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
def sql(
    statement: str, workdir: Path, shape: str | None, target: Path | None, safe: bool, limit: int | None,
    seconds: float, megabytes: int,
) -> None:  # fmt: skip
    """Run one SQL QUERY over a build.

    SQLite refuses everything but reading.
    """
    from builder.store import db, queries

    with db.reading(workdir, cell=megabytes << 20, heap=queries.HEAP_OF_SQL) as connection:
        size = megabytes * queries.MEGABYTES * (_FILE if target else 1)
        columns, rows = queries.free(connection, statement, fetched(limit, target), seconds=seconds, megabytes=size)
    put_rows(columns, rows, shape, limit, safe, target)


@click.command()
@click.argument("name", required=False)
@WORKDIR
@FORMAT
@OUTPUT
@SAFE
@LIMIT
@click.option("--param", "params", multiple=True, metavar="NAME=VALUE", help="A value for a query that takes one.")
def query(
    name: str | None, workdir: Path, shape: str | None, target: Path | None, safe: bool, limit: int | None,
    params: tuple[str, ...],
) -> None:  # fmt: skip
    """Run the named query NAME; without one, list them."""
    from builder.store import db, queries

    if name is None:
        shipped = [queries.lookup(known) for known in queries.names()]
        about: list[tuple[object, ...]] = [(known.name, known.title, ", ".join(known.params)) for known in shipped]
        put_rows(("query", "answers", "takes"), about, shape, limit, safe, target)
        return
    with db.reading(workdir) as connection:
        values = dict(param.partition("=")[::2] for param in params)
        columns, rows = queries.named(connection, name, values, fetched(limit, target))
        lacking = queries.missing(connection, name)
    if lacking:
        click.echo(f"note: {lacking}", err=True)
    put_rows(columns, rows, shape, limit, safe, target)


@click.command()
@click.argument("words", nargs=-1, required=True)
@WORKDIR
@click.option("--split", type=click.Choice(["train", "valid", "test"]), help="Only reviews of this split.")
@click.option("--polarity", type=click.Choice(["POS", "NEG", "NEU"]), help="Only reviews with such a triplet.")
@FORMAT
@SAFE
@click.option("--limit", type=click.IntRange(min=1), default=20, show_default=True, help="At most so many reviews.")
def search(
    words: tuple[str, ...], workdir: Path, split: str | None, polarity: str | None, shape: str | None, safe: bool,
    limit: int,
) -> None:  # fmt: skip
    """Find the reviews that hold all WORDS.

    They may be in Traditional or Simplified characters. A word with blanks is searched as it is.
    """
    from builder.store import db
    from builder.store import search as index

    if added := index.ensure(workdir):
        click.echo(f"{counted(added, 'review')} indexed", err=True)
    with db.reading(workdir) as connection:
        hits = index.find(connection, words, limit, 0, split, polarity)
    rows: list[tuple[object, ...]] = [(hit.key, hit.split, hit.triplets, hit.text) for hit in hits.shown]
    put_rows(("review", "split", "triplets", "text"), rows, shape, limit, safe)
    click.echo(
        counted(hits.total, "review")
        + (f", the first {limit} shown; --limit takes more" if hits.total > limit else "")
        + (
            "; every word must stand in a review: fewer words, or fewer characters, find more" if not hits.total else ""
        ),
        err=True,
    )


@click.command()
@click.argument("identifier", metavar="ID")
@WORKDIR
@AS_JSON
def explain(identifier: str, workdir: Path, as_json: bool) -> None:
    """Explain how a triplet came about.

    ID is a triplet's, or a review's for all of its triplets and for the words that a rule refuses.
    """
    import json

    from builder.language.lexicon.folders import folders_in
    from builder.pages.plain_story import story_object, tell_story
    from builder.pipeline.rule_report import tell_refusals
    from builder.store import db, stories

    rules = {rule.name: rule.about for rule in folders_in(workdir).load_rules()}
    with db.reading(workdir) as connection:
        review, triplet = stories.find(connection, identifier)
        refused = list(tell_refusals(connection, workdir, review)) if triplet is None else []
        if as_json:
            story = story_object(connection, identifier, rules) | {
                "refused": [line.strip() for line in refused if line]
            }
            click.echo(json.dumps(story, ensure_ascii=False, indent=1))
        else:
            click.echo("\n".join([tell_story(connection, identifier, rules), *refused]))
