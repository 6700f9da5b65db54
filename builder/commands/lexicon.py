"""`builder lexicon check|import|induce|accept`: the lexicons. What a user adds lies in the working directory, in
`lexicon/`.
"""

from __future__ import annotations

import sys
from pathlib import Path

import click

from builder.commands.build import WORKDIR

_PATH = click.Path(path_type=Path)


@click.group()
def lexicon() -> None:
    """Check, import and grow the lexicons."""


@lexicon.command()
@click.option("--lexicons", type=_PATH, help="Directory of lexicons; those shipped if not given.")
@click.option("--corpus", type=_PATH, help="Review file; entries that never occur in it are found too.")
@click.option("--segment/--no-segment", default=False, help="Also find entries that segmentation cuts (slow).")
def check(lexicons: Path | None, corpus: Path | None, segment: bool) -> None:
    """Find faults in the lexicons.

    Duplicates, contradictions, and entries that never fire or cannot be reached.
    """
    from collections import Counter

    from builder import nlp, sources
    from builder.lexicon.check import check as checked
    from builder.lexicon.resources import data_dir, load_lexicon
    from builder.sources.rows import RawReview

    texts = (row.text for row in sources.read(corpus) if isinstance(row, RawReview)) if corpus else None
    root = lexicons or data_dir("lexicons")
    issues = checked(root, texts, nlp.load("embedded", load_lexicon(root).words()).annotate if segment else None)
    for issue in issues:
        click.echo(f"{issue.where}\t{issue.kind}\t{issue.word}\t{issue.detail}")
    counts = Counter(issue.kind for issue in issues)
    click.echo(", ".join(f"{kind} {number}" for kind, number in counts.most_common()) or "nothing found", err=True)
    if counts["duplicate"] or counts["unknown"]:
        sys.exit(1)


@lexicon.command("import")
@click.argument("path", type=_PATH)
@click.option("--kind", required=True, help="ehownet, valence-csv, ntusd, dishes or words.")
@click.option("--polarity", default="", help="For ntusd: positive or negative, where the file's name does not say.")
@click.option("--name", default="", help="Name of the import; the file's if not given.")
@click.option("--encoding", default="", help="Encoding, if it is not UTF-8.")
@WORKDIR
def import_(path: Path, kind: str, polarity: str, name: str, encoding: str, workdir: Path) -> None:
    """Import a lexicon of yours for one build."""
    from collections import Counter

    from builder.errors import InputError
    from builder.lexicon.importers import import_lexicon
    from builder.lexicon.layouts import Options
    from builder.lexicon.overlay import refusals_path, write
    from builder.lexicon.resources import load_lexicon, overlays

    known = load_lexicon(overlays=overlays(workdir))
    overlay = import_lexicon(path, kind, known, Options(polarity=polarity, name=name, encoding=encoding))
    folder = workdir / "lexicon"
    write(overlay, folder)
    reasons = Counter(refusal.reason for refusal in overlay.refused)
    refused = ", ".join(f"{reason} {number:,}" for reason, number in reasons.most_common())
    where = f"; see {refusals_path(overlay, folder)}" if refused else ""
    if not overlay.opinions and not overlay.aspects:
        if not reasons.keys() <= {"known", "duplicate", "header"}:
            raise InputError(
                f"nothing in it became an entry ({refused or 'it is empty'}{where})",
                where=str(path),
                fix="check --kind",
            )
        click.echo(f"nothing to import from {path}, the lexicon is as before: {refused or 'no line'}{where}")
        return
    click.echo(
        f"{folder}: {len(overlay.opinions):,} opinions, {len(overlay.aspects):,} aspects, {len(overlay.refused):,} "
        "refused" + (f" ({refused}{where})" if refused else "")
    )


@lexicon.command()
@WORKDIR
@click.option("--out", type=_PATH, help="Candidate file; WORKDIR/candidates.tsv if not given.")
@click.option("--support", default=2, show_default=True, help="A candidate stands in at least so many reviews.")
def induce(workdir: Path, out: Path | None, support: int) -> None:
    """Find words that no lexicon holds.

    In the reviews of a working directory, after its stage annotate.
    """
    from builder.lexicon.candidates import write_candidates
    from builder.lexicon.induce import InductionSettings
    from builder.lexicon.induce import induce as induced
    from builder.lexicon.resources import load_lexicon, overlays
    from builder.store import db
    from builder.usecases.induction import documents, ratings

    target = out or workdir / "candidates.tsv"
    known = load_lexicon(overlays=overlays(workdir))
    with db.reading(workdir) as connection:
        candidates = induced(
            documents(connection, known), known, InductionSettings(support=support, ratings=ratings(connection))
        )
    write_candidates(candidates, target)
    click.echo(
        f"{target}: {len(candidates.opinions)} opinions, {len(candidates.aspects)} aspects from "
        f"{candidates.reviews:,} reviews"
    )
    click.echo(
        f"the sign of a known opinion is found in {100 * candidates.agreement:.0f}% of cases; write yes or no into "
        "the column accept, then `builder lexicon accept`"
    )


@lexicon.command()
@click.argument("candidates", type=_PATH)
@WORKDIR
@click.option("--confident", type=float, help="Also take unanswered candidates of at least this confidence (0 to 1).")
def accept(candidates: Path, workdir: Path, confident: float | None) -> None:
    """Take accepted CANDIDATES into the lexicon.

    That of the working directory; its next build uses them.
    """
    from builder.lexicon.candidates import accept as accepted
    from builder.lexicon.resources import load_lexicon

    overlay = accepted(candidates, workdir / "lexicon", load_lexicon(), confident)
    click.echo(f"{workdir / 'lexicon'}: {len(overlay.opinions)} opinions, {len(overlay.aspects)} aspects")
