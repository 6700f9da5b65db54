"""`builder gold audit draw|import|show`: people judge a sample of a release, and the release says how good it is."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from builder.cli.annotate import FORCE, report_import
from builder.cli.build import WORKDIR
from builder.cli.build_voice import in_workdir
from builder.core.wording import counted

if TYPE_CHECKING:
    from builder.gold.audit_estimates import AuditResult
    from builder.gold.metrics.sampling import Share

_PATH = click.Path(path_type=Path)
AUDIT = click.option(
    "--pool", "pool_id", help="Id of the audit's pool, or its first characters; the last audit if not given."
)


@click.group()
def audit() -> None:
    """Let people measure a release: precision, recall."""


@audit.command()
@click.option(
    "--triplets", default=150, show_default=True, type=click.IntRange(min=1), help="Triplets to judge one by one."
)
@click.option(
    "--reviews", default=30, show_default=True, type=click.IntRange(min=0), help="Reviews to read in full, for recall."
)
@click.option("--seed", default=13, show_default=True, help="Another seed draws differently.")
@click.option("--sheet", type=_PATH, help="Write the sample to this .csv or .xlsx too.")
@FORCE
@WORKDIR
def draw(triplets: int, reviews: int, seed: int, sheet: Path | None, force: bool, workdir: Path) -> None:
    """Draw a stratified sample of the last release."""
    from builder.gold.audit_estimates import AuditSettings
    from builder.teaching import audit as audits

    drawn = audits.draw(workdir, AuditSettings(triplets, reviews, seed), sheet, force=force)
    config = drawn.pool.config
    click.echo(
        f"audit {drawn.pool.id}{'' if drawn.new else ' (was there)'} of version {config['version']}: "
        f"{counted(drawn.triplets, 'triplet')} to judge, {counted(drawn.reviews, 'review')} to read in full"
    )
    if drawn.reviews:
        click.echo(
            f"Read the first {counted(drawn.reviews, 'review')} in full: add what is missing, or say that nothing is"
        )
    if sheet is not None:
        click.echo(f"fill in {sheet}, then: builder gold audit import {sheet} --annotator NAME{in_workdir(workdir)}")
    else:
        click.echo(
            f"answer in the page: builder gold annotate serve --pool {drawn.pool.id} "
            f"--annotator NAME{in_workdir(workdir)}"
        )


@audit.command("import")
@click.argument("path", type=_PATH, metavar="FILE")
@click.option("--annotator", required=True, help="Who filled in the sheet.")
@AUDIT
@WORKDIR
def import_(path: Path, annotator: str, pool_id: str | None, workdir: Path) -> None:
    """Take the answers of a filled-in sheet."""
    from builder.teaching import audit as audits

    report_import(path, audits.import_answers(workdir, path, annotator, pool_id))
    _show(audits.result(workdir, pool_id), "table")


@audit.command()
@AUDIT
@click.option(
    "--format",
    "shape",
    type=click.Choice(["table", "json"]),
    default="table",
    show_default=True,
    help="How to print it.",
)
@WORKDIR
def show(pool_id: str | None, shape: str, workdir: Path) -> None:
    """Show precision and recall by the answers so far."""
    from builder.teaching import audit as audits

    _show(audits.result(workdir, pool_id), shape)


def _show(result: AuditResult, shape: str) -> None:
    import json
    from dataclasses import asdict

    from tabulate import tabulate

    if shape == "json":
        click.echo(json.dumps(asdict(result), ensure_ascii=False, indent=1))
        return
    rows = [
        ("precision", *_cells(result.precision)),
        *((f"  {name}", *_cells(share)) for name, share in result.strata.items()),
        ("precision, exact words", *_cells(result.exact)),
        ("recall", *_cells(result.recall)),
    ]
    click.echo(
        tabulate(
            rows,
            headers=["", "percent", "95% interval", "answers"],
            disable_numparse=True,
            colalign=["left", *["right"] * 3],
        )
    )
    click.echo(
        f"audit {result.pool} of version {result.version}: {result.answered:,} of "
        f"{counted(result.drawn, 'triplet')} judged, {result.read:,} of "
        f"{counted(result.to_read, 'review')} read in full"
    )


def _cells(share: Share | None) -> tuple[str, str, str]:
    if share is None:
        return "-", "-", "0"
    return f"{share.value:.1f}", f"{share.low:.1f} to {share.high:.1f}", f"{share.answers:,}"
