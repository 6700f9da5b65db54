"""`builder gold audit` and `builder gold score`: how good releases and predictions are, by people and by gold.

`audit draw|show` has people judge a sample of a release, and the release then says how good it is. `score`
compares predictions with gold.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from builder.cli.build import WORKDIR
from builder.cli.build_voice import in_workdir
from builder.cli.options import PATH, SAMPLES, SEED, choice, json_option, option, put_table
from builder.core.wording import counted

if TYPE_CHECKING:
    from builder.gold.agreement import AuditResult
    from builder.gold.metrics.scores import Mode, Share
    from builder.gold.metrics.systems import Asked, SystemScores
    from builder.teaching.audit import Scored

# ---- builder gold audit

AUDIT = option(
    "--pool", "pool_id", help="Id of the audit's pool, or its first characters; the last audit if not given."
)


@click.group()
def audit() -> None:
    """Let people measure a release: precision, recall."""


@audit.command()
@option("--triplets", default=150, type=click.IntRange(min=1), help="Triplets to judge one by one.")
@option("--reviews", default=30, type=click.IntRange(min=0), help="Reviews to read in full, for recall.")
@option("--seed", default=13, help="Another seed draws differently.")
@WORKDIR
def draw(triplets: int, reviews: int, seed: int, workdir: Path) -> None:
    """Draw a stratified sample of the last release."""
    from builder.gold.agreement import AuditSettings
    from builder.teaching import audit as audits

    drawn = audits.draw(workdir, AuditSettings(triplets, reviews, seed))
    config = drawn.pool.config
    click.echo(
        f"audit {drawn.pool.id}{'' if drawn.new else ' (was there)'} of version {config['version']}: "
        f"{counted(drawn.triplets, 'triplet')} to judge, {counted(drawn.reviews, 'review')} to read in full"
    )
    if drawn.reviews:
        click.echo(
            f"Read the first {counted(drawn.reviews, 'review')} in full: add what is missing, or say that nothing is."
        )
    place = f"--pool {drawn.pool.id}"
    click.echo(
        f"answer in the page: builder gold annotate serve {place} --annotator NAME{in_workdir(workdir)}\n"
        f"or in a sheet: builder gold annotate export audit.xlsx {place}{in_workdir(workdir)}, and `annotate import`"
    )


@audit.command()
@AUDIT
@option("--format", "shape", type=choice("table", "json"), default="table", help="How to print it.")
@json_option()
@WORKDIR
def show(pool_id: str | None, shape: str, workdir: Path) -> None:
    """Show precision and recall by the answers so far."""
    from builder.teaching import audit as audits

    _show(audits.result(workdir, pool_id), shape)


def _show(result: AuditResult, shape: str) -> None:
    if shape == "json":
        click.echo(json.dumps(asdict(result), ensure_ascii=False, indent=1))
        return
    rows = [(name, *_cells(share)) for name, share in result.shares()]
    headers, align = ["", "percent", "95% interval", "answers"], ["left", *["right"] * 3]
    put_table(rows, headers, disable_numparse=True, colalign=align)
    click.echo(
        f"audit {result.pool} of version {result.version}: {result.decided:,} of {counted(result.asked, 'question')} "
        f"answered; {result.answered:,} of {counted(result.drawn, 'triplet')} judged one by one, {result.read:,} of "
        f"{counted(result.to_read, 'review')} read in full"
    )


def _cells(share: Share | None) -> tuple[str, str, str]:
    if share is None:
        return "-", "-", "0"
    return f"{share.value:.1f}", f"{share.low:.1f} to {share.high:.1f}", f"{share.answers:,}"


# ---- builder gold score


@click.command()
@option(
    "--gold",
    type=PATH,
    required=True,
    help="Gold: ours or a release, the paper's format, dimABSA's files, ASTE-Data-V2, Span-ASTE, PyABSA, or a folder "
    "with A.jsonl and B.jsonl of two annotators.",
)
@option("--pred", type=PATH, required=True, help="Predictions, in any of the formats of one file or a release.")
@option("--against", type=PATH, help="Predictions of another system: the difference, its interval, and a paired test.")
@option(
    "--metric",
    type=choice("all", "exact", "lenient", "paper", "complete"),
    default="all",
    help="complete is the metric of gold by two annotators, the others of all other gold.",
)
@option(
    "--opinion",
    type=choice("both", "opinion", "opinion_full"),
    default="both",
    help="Which opinion of our own rows to score.",
)
@option(
    "--mode",
    type=choice("open", "given-aspects"),
    default="open",
    help="given-aspects: the system was given the gold aspects; predictions about other aspects are left out.",
)
@SAMPLES
@SEED
@option("--format", "shape", type=choice("table", "json"), default="table", help="How to print the scores.")
@json_option()
@option("--strict", is_flag=True, help="Refuse gold with a faulty line; else the line is named and left out.")
def score(
    gold: Path, pred: Path, against: Path | None, metric: Asked, opinion: str, mode: Mode, samples: int, seed: int,
    shape: str, strict: bool,
) -> None:  # fmt: skip
    """Score predictions against gold.

    Micro precision, recall and F1 (exact, lenient) and the paper's example-based metric; for gold by two annotators
    those of triplets and pairs. Scores are percent, with 95% bootstrap intervals over the reviews.
    """
    from builder.gold.metrics.systems import Settings
    from builder.teaching.audit import score_files

    keys = ("opinion", "opinion_full") if opinion == "both" else (opinion,)
    settings = Settings(mode, samples, seed)
    scored = score_files(gold, pred, against, asked=metric, keys=keys, settings=settings, strict=strict)
    for note in scored.notes:
        click.echo(note, err=True)
    if shape == "json":
        click.echo(_json(scored))
    else:
        _put_scores(scored)


def _put_scores(scored: Scored) -> None:
    from builder.gold.metrics.systems import together

    headers = ["of", "match", "part", "P", "R", "F1", "right", "predicted", "gold", "A", "95% interval"]
    paired = any(row.against for _, row in scored.rows)
    shown = [[*_score_cells(key, row), *(_paired(row) if paired else [])] for key, row in scored.rows]
    headers += ["difference", "95% interval", "p"] if paired else []
    put_table(shown, headers, disable_numparse=True, colalign=["left"] * 3 + ["right"] * (len(headers) - 3))
    signatures = together([row.signature for _, row in scored.rows])
    click.echo("\n".join(["", "signatures", *(f"  {text}" for text in signatures), "", *scored.summary]))


def _score_cells(key: str, row: SystemScores) -> list[str]:
    """The row of a metric; the interval is that of F1, of polarity that of the accuracy."""
    values = [f"{row.values[name].value:.1f}" if name in row.values else "-" for name in ("precision", "recall", "f1")]
    counts = [f"{count}" for count in row.counts] if row.counts else ["-"] * 3
    accuracy = f"{row.values['accuracy'].value:.1f}" if "accuracy" in row.values else "-"
    last = list(row.values.values())[-1]
    interval = "-" if last.low is None else f"{last.low:.1f} to {last.high:.1f}"
    return [key, row.metric.match, row.metric.part, *values, *counts, *["-"] * (3 - len(counts)), accuracy, interval]


def _paired(row: SystemScores) -> list[str]:
    assert row.against is not None
    return [f"{row.against.value:+.1f}", f"{row.against.low:+.1f} to {row.against.high:+.1f}", f"{row.against.p:.3f}"]


def _json(scored: Scored) -> str:
    scores = []
    for key, row in scored.rows:
        values: dict[str, object] = {name: asdict(estimate) for name, estimate in row.values.items()}
        names = ("right", "predicted", "gold") if len(row.counts) == 3 else ("right", "matched")
        counts = dict(zip(names, row.counts, strict=False))
        gap = row.against
        against = {"difference": gap.value, "low": gap.low, "high": gap.high, "p": gap.p} if gap else None
        head: dict[str, object] = {"of": key, "match": row.metric.match, "part": row.metric.part}
        scores.append(head | values | counts | {"ceiling": row.ceiling, "against": against, "signature": row.signature})
    return json.dumps({"reviews": scored.counts, "scores": scores}, ensure_ascii=False, indent=1)
