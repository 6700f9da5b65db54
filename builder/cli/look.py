"""`builder serve` and `builder report`: a build to look at.

`serve` shows web pages over a working directory or a release. `report` writes what a person reads about a build.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from builder.cli.build import WORKDIR
from builder.core.files import write_atomically
from builder.core.wording import counted

if TYPE_CHECKING:
    from builder.api import Extractor
    from builder.pages.report.blocks import Report

# ---- builder serve


@click.command()
@WORKDIR
@click.option(
    "--release", type=click.Path(path_type=Path), help="Show this release directory instead of a working directory."
)
@click.option(
    "--host",
    default="127.0.0.1",
    show_default=True,
    help="Address to listen on; with 0.0.0.0 other machines can read the pages too.",
)
@click.option(
    "--port", type=click.IntRange(0, 65535), default=8001, show_default=True, help="Port; 0 takes any free one."
)
@click.option(
    "--compare",
    type=click.Path(path_type=Path),
    help="An earlier release: a page shows which triplets were added, lost or changed since.",
)
@click.option("--open", "opened", is_flag=True, help="Open the browser.")
def serve(workdir: Path, release: Path | None, host: str, port: int, compare: Path | None, opened: bool) -> None:
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
    shown = app.Shown(workdir, release, compare, extractor)
    app.serve(shown, host, port, lambda line: click.echo(line, err=True), opened)


# ---- builder report


@click.command()
@WORKDIR
@click.option(
    "--out",
    type=click.Path(path_type=Path, dir_okay=False),
    help="The HTML page; report.html in the working directory if nothing else is asked for.",
)
@click.option(
    "--data",
    type=click.Path(path_type=Path, file_okay=False),
    help="Write every table as CSV, all as tables.md, and their numbers into the table report_cells of the database.",
)
@click.option("--markdown", is_flag=True, help="Print the report as Markdown, for the terminal or a pull request.")
@click.option(
    "--samples",
    type=click.IntRange(0, 100_000),
    default=1000,
    show_default=True,
    help="Bootstrap samples for the intervals; 0: none.",
)
@click.option("--seed", type=click.IntRange(0), default=13, show_default=True, help="Seed of the samples.")
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
        f"{target}: {len(made.sections)} sections, {tables} tables, {len(made.tables()) - tables} not there yet, "
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
