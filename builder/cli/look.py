"""`builder db …`, `explain`, `serve` and `report`: what a working directory holds, asked in SQL or by name, as web
pages, and as what a person reads about a build. SQLite opens the database read-only.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from builder.cli.build import WORKDIR
from builder.cli.options import (
    AS_JSON,
    FORMAT,
    LIMIT,
    OUTPUT,
    PATH,
    SAFE,
    SAMPLES,
    SEED,
    choice,
    fetched,
    option,
    put_rows,
)
from builder.core.files import write_atomically
from builder.core.wording import counted

if TYPE_CHECKING:
    from builder.api import Extractor
    from builder.pages.report.blocks import Report

_FILE = 16
"""How many times more an answer may hold that is written to a file."""


@click.command()
@click.argument("statement", metavar="QUERY")
@WORKDIR
@FORMAT
@OUTPUT
@SAFE
@LIMIT
@option("--seconds", type=click.FloatRange(min=0.01), default=60.0, help="Stop a query that takes longer.")
@option(
    "--megabytes",
    type=click.IntRange(1, 1000),
    default=1,
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
@option("--param", "params", multiple=True, metavar="NAME=VALUE", help="A value for a query that takes one.")
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
@option("--split", type=choice("train", "valid", "test"), help="Only reviews of this split.")
@option("--polarity", type=choice("POS", "NEG", "NEU"), help="Only reviews with such a triplet.")
@FORMAT
@SAFE
@option("--limit", type=click.IntRange(min=1), default=20, help="At most so many reviews.")
def search(
    words: tuple[str, ...], workdir: Path, split: str | None, polarity: str | None, shape: str | None, safe: bool,
    limit: int,
) -> None:  # fmt: skip
    """Find the reviews that hold all WORDS.

    They may be in Traditional or Simplified characters. A word with blanks is searched as it is.
    """
    from builder.store import db
    from builder.store import search as index

    with db.reading(workdir) as connection:
        hits = index.find(connection, words, limit, split, polarity)
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


# ---- builder serve


@click.command()
@WORKDIR
@option("--release", type=PATH, help="Show this release directory instead of a working directory.")
@option("--host", default="127.0.0.1", help="Address to listen on; with 0.0.0.0 other machines can read the pages too.")
@option("--port", type=click.IntRange(0, 65535), default=8001, help="Port; 0 takes any free one.")
@option("--open", "opened", is_flag=True, help="Open the browser.")
def serve(workdir: Path, release: Path | None, host: str, port: int, opened: bool) -> None:
    """Look into a build in the browser.

    Reviews, triplets and how they came about; nothing can be changed there. Needs the extra `app`.
    """
    from builder.pages.serve import app

    def extractor() -> Extractor:
        from builder.api import Extractor
        from builder.store import db, runs

        if release is not None:
            return Extractor()
        with db.reading(workdir) as connection:
            source = "E" if runs.rounds(connection, "E") else "rules"
        return Extractor.from_workdir(workdir, source)

    if host not in ("127.0.0.1", "localhost", "::1"):
        click.echo(f"anyone who reaches {host} can read all of it", err=True)
    app.serve(workdir, release, extractor, lambda line: click.echo(line, err=True), host, port, opened=opened)


# ---- builder report


@click.command()
@WORKDIR
@option(
    "--out",
    type=click.Path(path_type=Path, dir_okay=False),
    help="The HTML page; report.html in --workdir if nothing else is asked for.",
)
@option(
    "--data",
    type=click.Path(path_type=Path, file_okay=False),
    help="Write every table as CSV, all as tables.md, and their numbers into the table report_cells of the database.",
)
@option("--markdown", is_flag=True, help="Print the report as Markdown, for the terminal or a pull request.")
@SAMPLES
@SEED
def report(workdir: Path, out: Path | None, data: Path | None, markdown: bool, samples: int, seed: int) -> None:
    """Report what a build made and how good it is.

    One HTML page, Markdown, or the paper's tables as data.

    The page needs no network and quotes only texts in which nothing has to be masked.
    """
    from typing import cast

    from builder.core.settings import Convention
    from builder.engine import make_engine
    from builder.gold.metrics.systems import Settings
    from builder.language.lexicon.folders import folders_in
    from builder.pages.report.collect import collect
    from builder.pages.report.process import config
    from builder.store import db

    folders = folders_in(workdir)
    lexicon, rules = folders.load_lexicon(), folders.load_rules()
    with db.reading(workdir) as connection:
        engine = make_engine(lexicon, rules, cast("Convention", config(connection, "rules.convention", "natural")))
        made = collect(connection, lexicon, Settings(samples=samples, seed=seed), engine)
    if data is not None:
        _data(made, workdir, data)
    if markdown:
        from builder.pages.report.written import text

        click.echo(text(made), nl=False)
    if out is not None or not (markdown or data):
        _page(made, out or workdir / "report.html")


def _page(made: Report, target: Path) -> None:
    from builder.pages.report.written import page

    content = page(made).encode("utf-8", "surrogatepass")
    write_atomically(target, content)
    tables = sum(bool(table.rows) for table in made.tables())
    click.echo(
        f"{target}: {len(made.sections)} sections, {tables} tables, {len(made.tables()) - tables} without data yet, "
        f"{len(content) / 1000:.0f} kB"
    )


def _data(made: Report, workdir: Path, folder: Path) -> None:
    from builder.pages.report.written import as_csv, cells, tables
    from builder.store import db
    from builder.store import report as store

    folder.mkdir(parents=True, exist_ok=True)
    for table in made.tables():
        write_atomically(folder / f"{table.name}.csv", as_csv(table))
    write_atomically(folder / "tables.md", tables(made).encode("utf-8", "surrogatepass"))
    numbers = list(cells(made))
    with db.lock(workdir), db.writing(workdir) as connection, db.atomic(connection):
        store.keep_cells(connection, numbers)
    click.echo(
        f"{folder}: {counted(len(made.tables()), 'table')}, {len(numbers):,} numbers; also in the database "
        "(report_cells)",
        err=True,
    )
