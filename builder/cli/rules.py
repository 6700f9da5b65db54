"""`builder words rules` and `builder words rules edit`: what rules do on real reviews, and the page on which they are
edited. What a user saves lies in the working directory, in `rules/`.
"""

from __future__ import annotations

from pathlib import Path

import click

from builder.cli.build import WORKDIR
from builder.cli.printing import FORMAT, put_rows


@click.group(invoke_without_command=True)
@WORKDIR
@click.option("--reviews", default=2000, show_default=True, help="Look at so many annotated reviews.")
@FORMAT
@click.pass_context
def rules(ctx: click.Context, workdir: Path, reviews: int, shape: str | None) -> None:
    """Report what each pairing rule contributes.

    What it finds, decides, shares with other rules and disputes. A language model of `builder gold label` has a row
    too: what it proposes, what came in by it alone, what the rules share and dispute. `edit` opens the rules in the
    browser.
    """
    if ctx.invoked_subcommand is not None:
        return
    from dataclasses import astuple

    from builder.engine import make_engine
    from builder.language.build_folders import folders_in
    from builder.pipeline import builds
    from builder.pipeline.rule_report import report, report_labellers
    from builder.store import db

    folders = folders_in(workdir)
    lexicon = folders.load_lexicon()
    engine = make_engine(lexicon, folders.load_rules(), builds.remembered(workdir).resolved.config.rules.convention)
    with db.reading(workdir) as connection:
        opinions, rows = report(connection, engine, lexicon, reviews)
        rows += report_labellers(connection)
    put_rows(("rule", "hits", "decides", "overlaps", "conflicts"), [astuple(row) for row in rows], shape, len(rows))
    click.echo(f"{opinions} opinions", err=True)
    for folder in folders.rules_laid_over:
        names = ", ".join(path.stem for path in sorted(folder.glob("*.toml")))
        click.echo(f"your own rules: {names} ({folder})", err=True)


@rules.command()
@WORKDIR
@click.option(
    "--reviews",
    default=2000,
    show_default=True,
    type=click.IntRange(1),
    help="Try an edited rule on so many annotated reviews; the shipped sample's where there are none.",
)
@click.option(
    "--port", default=8767, show_default=True, type=click.IntRange(0, 65535), help="Port to serve on; 0: any free one."
)
def edit(workdir: Path, reviews: int, port: int) -> None:
    """Read and edit the rules in a page.

    Each rule stands with its examples, which run as you type. Before you save a copy, the page shows what it changes in
    real reviews. It is saved in WORKDIR/rules, and the next build reads it. Stop with Ctrl-C.
    """
    from builder.gold.server import Place, serve
    from builder.pages.rule_page import rule_site
    from builder.pages.rule_worker import RuleWorker

    worker = RuleWorker(workdir, reviews)
    try:
        serve(rule_site(worker), "you", Place(port=port), lambda address: click.echo(f"open {address}"))
    finally:
        worker.close()
