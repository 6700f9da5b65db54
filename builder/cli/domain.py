"""`builder words domain start|new|review|accept|check`: labels and words for another domain."""

from __future__ import annotations

from pathlib import Path

import click

from builder.cli.options import PATH, option
from builder.core.settings import CORE
from builder.core.wording import counted

_FEW = 20
"""Fewer proposals than these say that there is little to answer."""
_LOST = 10
"""So many triplets are shown that a pack loses."""
_REVIEWS = option("--reviews", "files", type=PATH, multiple=True, required=True, help="File of reviews (repeatable).")
_TEXT_COLUMN = option("--text-column", help="Column with the text; guessed if not given.")
_ENCODING = option("--encoding", help="Encoding of the files, if it is not Unicode.")


@click.group()
def domain() -> None:
    """Make and check the words of another domain."""


@domain.command()
@click.argument("name")
@click.argument("files", type=PATH, nargs=-1, required=True, metavar="REVIEWS...")
@_TEXT_COLUMN
@_ENCODING
@option("--label", default=100, type=click.IntRange(20, 1000), help="Reviews to label.")
@option("--look", default=30, type=click.IntRange(0), help="Reviews to show first.")
@option("--annotator", default="you", help="Who labels.")
@option("--workdir", type=PATH, help="Working directory; NAME-work in this folder if not given.")
@option("--page/--no-page", default=True, help="Open the page for labels, or only prepare it.")
@click.pass_context
def start(
    ctx: click.Context, name: str, files: tuple[Path, ...], text_column: str | None, encoding: str | None, label: int,
    look: int, annotator: str, workdir: Path | None, page: bool,
) -> None:  # fmt: skip
    """Begin a domain NAME with labels.

    It reads some of the REVIEWS with the domain `none` and the shipped model, shows what they find, and opens
    the page for labels, the most useful first, with what was found filled in. Run it again to go on.
    """
    from builder.cli.annotation import serve
    from builder.teaching.domain_packs import HowToRead, check_new_name, start_domain

    check_new_name(name)
    folder = workdir or Path(f"{name}-work")
    started = start_domain(
        files, folder, label, HowToRead(text_column, encoding), lambda line: click.echo(line, err=True)
    )
    for text, found in started.describe_reviews(look):
        click.echo(f"{' '.join(text.split())}\n    {found or 'nothing found'}")
    click.echo(
        f"{folder}: {counted(started.read, 'review')} read, {counted(len(started.pool.reviews), 'review')} to label"
    )
    if page:
        ctx.invoke(serve, annotator=annotator, order="uncertain", workdir=folder)
    else:
        click.echo(f"label: `builder gold annotate serve --annotator {annotator} --order uncertain --workdir {folder}`")
    click.echo(f"then see what labels bring: `builder gold gain --workdir {folder} --domain {CORE}`, and add --teach")
    click.echo(f"words come after: `builder words domain new {name} --reviews {files[0]}`")


@domain.command()
@click.argument("name")
@_REVIEWS
@_TEXT_COLUMN
@_ENCODING
@option("--out", type=PATH, help="Folder of the pack; NAME in this folder if not given.")
@option("--support", type=click.IntRange(1), default=2, help="A word stands in at least so many reviews.")
@option("--over", default=CORE, help="The domain whose words and rules it adds to.")
def new(
    name: str, files: tuple[Path, ...], text_column: str | None, encoding: str | None, out: Path | None, support: int,
    over: str,
) -> None:  # fmt: skip
    """Make a domain pack NAME from raw reviews.

    It proposes aspects and opinions in NAME/candidates.csv, the most valuable first. Answer them in the page of
    `builder words domain review NAME`. Or write yes or no into the sheet and run `builder words domain accept NAME`.
    """
    from builder.language.lexicon.domain_sheet import CONFIDENT, SHEET
    from builder.teaching.domain_packs import HowToRead, make_pack

    made = make_pack(name, files, out or Path(name), support, HowToRead(text_column, encoding), over=over)
    sheet = made.folder / SHEET
    click.echo(f"{sheet}: {counted(made.proposals, 'proposal')} from {counted(made.reviews, 'review')}")
    click.echo(
        f"{made.folder}: {counted(made.aspects, 'aspect')} and {counted(made.opinions, 'opinion')} of "
        f"confidence {CONFIDENT:g} or more are in force"
    )
    if made.proposals < _FEW:
        click.echo(
            "few words are new: builder knows most of those in these reviews, or they are rare. Add rows to "
            f"{sheet}: kind, word and meaning will do. Or make another pack with --out, from more reviews or with a "
            "lower --support"
        )
    if made.proposals:
        click.echo(f"next: answer the proposals with `builder words domain review {made.folder}`")


@domain.command()
@click.argument("folder", type=PATH)
@option("--port", default=8767, type=click.IntRange(0, 65535), help="Port to serve on; 0: any free one.")
def review(folder: Path, port: int) -> None:
    """Accept or refuse the words of a pack in a page.

    FOLDER is that of the pack. The page shows the most valuable words first, each with a sentence, and names classes
    and their roles. Answers go into the sheet at once, so you may stop with Ctrl-C and go on later. A button puts what
    is taken into force.
    """
    from builder.gold.server import serve
    from builder.pages.word_page import SheetBook, word_site

    book = SheetBook(folder)
    serve(word_site(book), "you", lambda address: click.echo(f"open {address}"), port=port)


@domain.command()
@click.argument("folder", type=PATH)
@option("--reviews", "files", type=PATH, multiple=True, help="Reviews to try the words on (repeatable).")
@_TEXT_COLUMN
@_ENCODING
@option("--keep-losing", is_flag=True, help="Also take words that lose more than they add in --reviews.")
def accept(
    folder: Path, files: tuple[Path, ...], text_column: str | None, encoding: str | None, keep_losing: bool
) -> None:
    """Take the answers of a sheet into a pack.

    FOLDER is that of the pack. Rows that you added count like the others. Tables of your own stay as they are. With
    --reviews it shows what each word adds, drops, shortens or turns there, and leaves out those that lose.
    """
    from builder.teaching.domain_packs import HowToRead, take_answers

    made = take_answers(folder, files, HowToRead(text_column, encoding), keep_losing=keep_losing)
    for effect in made.effects:
        left_out = effect.loses and not keep_losing
        click.echo(f"{effect}{'; left out' if left_out else ''}")
    click.echo(
        f"{folder}: {counted(made.aspects, 'aspect')} and {counted(made.opinions, 'opinion')} of "
        f"{counted(made.proposals, 'proposal')}"
    )
    if made.neutral:
        click.echo(f"neutral: {', '.join(made.neutral)}; if one praises or blames, write POS or NEG into its meaning")
    if made.classes:
        click.echo(f"new classes: {', '.join(f'{name} ({role})' for name, role in made.classes.items())}")
    for name, known in made.slips.items():
        click.echo(f"{name} is new; did you mean {known}?")
    click.echo(f"next: `builder words domain check {folder} --reviews FILE`")


@domain.command()
@click.argument("name")
@_REVIEWS
@_TEXT_COLUMN
@_ENCODING
@option("--draw", default=50, type=click.IntRange(0), help="How many triplets are shown.")
@option("--seed", default=13, help="Seed of the draw.")
def check(
    name: str, files: tuple[Path, ...], text_column: str | None, encoding: str | None, draw: int, seed: int
) -> None:
    """Show what the domain NAME finds in reviews.

    NAME is a domain that builder brings or the folder of a pack. Shown are the yield, what the pack adds to words that
    any review uses, triplets drawn at random, and words of two reviews or more that no lexicon holds.
    """
    from builder.language.lexicon.domain_sheet import SHEET
    from builder.teaching.domain_packs import HowToRead, check_domain

    report = check_domain(name, files, draw, seed, HowToRead(text_column, encoding))
    triplets = sum(report.polarities.values())
    share = 100 * report.with_triplets / max(1, report.reviews)
    click.echo(
        f"{counted(report.reviews, 'review')}, {report.with_triplets:,} with triplets ({share:.0f}%); "
        f"{counted(triplets, 'triplet')}: "
        + ", ".join(f"{name} {number:,}" for name, number in sorted(report.polarities.items()))
    )
    if name != CORE:
        click.echo(
            f"beside the domain {report.below}: {counted(report.gained, 'triplet')} more, {len(report.lost):,} fewer, "
            f"{report.changed:,} with other words or another polarity"
        )
        for triplet, snippet in report.lost[:_LOST]:
            click.echo(f"fewer: {triplet.aspect.text}\t{triplet.opinion_full.text}\t{triplet.polarity}\t{snippet}")
    for triplet, snippet in report.drawn:
        click.echo(f"{triplet.aspect.text}\t{triplet.opinion_full.text}\t{triplet.polarity}\t{snippet}")
    words = ", ".join(f"{word} {reviews:,}" for word, reviews in report.unknown.items())
    click.echo(f"unknown words, by reviews: {words or 'none stands in two reviews'}")
    if words:
        sheet = Path(name) / SHEET
        made = "" if sheet.is_file() else " after `builder words domain new`"
        folder = name if sheet.is_file() else "FOLDER"
        click.echo(
            f"next: write the aspects and opinions among them into {folder}/{SHEET}{made} (kind, word, meaning), then "
            f"`builder words domain accept {folder}`"
        )
