"""`builder augment`: more text for a release or a file, labels still true."""

from __future__ import annotations

from pathlib import Path

import click

from builder.commands.build import SET, WORKDIR


@click.command()
@click.argument("method", required=False)
@click.option("--release", type=click.Path(path_type=Path), help="Directory of the release that is augmented.")
@click.option("--split", default="train", show_default=True, help="Only train can be augmented.")
@click.option(
    "--view",
    type=click.Choice(["triplets", "ate", "aspect", "sentence"]),
    default="triplets",
    show_default=True,
    help="What the labels are.",
)
@click.option("--keep", type=click.Choice(["aspect", "aspect+opinion"]), help="What no method may touch; as the view needs if not given.")
@click.option("--copies", type=click.IntRange(1, 64), default=4, show_default=True, help="Kept rows a sentence, at most.")
@click.option("--candidates", type=click.IntRange(1, 256), help="Proposals a sentence; as many as copies if not given.")
@click.option("--seed", type=int, default=13, show_default=True)
@click.option("--limit", type=click.IntRange(0), default=0, help="So many sentences, drawn by the seed; all if not given.")
@click.option("--workers", type=click.IntRange(1), default=1, show_default=True)
@click.option("--layer", default="", help="Name of the layer; the method's if not given.")
@click.option("--version", default="", help="The child's version; the next free one if not given.")
@click.option("--out", type=click.Path(path_type=Path), help="Where child releases go; `augmented` beside the release if not given.")
@WORKDIR
@SET
def augment(
    method: str | None,
    release: Path | None,
    out: Path | None,
    keep: str | None,
    candidates: int | None,
    sets: tuple[str, ...],
    **options: object,
) -> None:
    """Augment a release by METHOD: a child release with a layer of new rows. Without METHOD, the methods are listed."""
    from typing import Any

    from builder.augment.methods import METHODS, check
    from builder.augment.settings import settings
    from builder.commands.build import _settings
    from builder.stages.augment import Plan, run

    if method is None:
        click.echo("\n".join(f"{name:16}{about}" for name, (about, _) in METHODS.items()))
        return
    check(method)
    if release is None:
        raise click.UsageError("name the directory of a release: --release releases/v0.1.0")
    given: dict[str, Any] = dict(options)
    kept: Any = keep or ("aspect+opinion" if given["view"] == "triplets" else "aspect")
    plan = Plan(
        method, release, out or release.resolve().parent / "augmented", settings=settings(_settings(sets)),
        keep=kept, candidates=candidates or given["copies"], **given,
    )  # fmt: skip
    made = run(plan, lambda line: click.echo(line, err=True))
    rejected = ", ".join(f"{reason} {number:,}" for reason, number in made.reasons.items()) or "nothing"
    click.echo(f"rejected: {rejected}")
    click.echo(f"{made.path}: {made.rows:,} rows{', made before' if made.before else ''}")
