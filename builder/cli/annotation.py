"""`builder gold annotate export|import|gold|serve|agreement|adjudicate`: people label a pool.

`builder gold annotate serve|password`: people label in a page, on this machine or over a network.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import click

from builder.cli.build import WORKDIR
from builder.cli.gold import POOL
from builder.cli.options import AS_JSON, PATH, choice, option, put_rows
from builder.core.wording import counted


@click.command()
@POOL
@option("--annotator", default="", help="Your name, on this machine; without it, people sign in by password.")
@option("--adjudicate", is_flag=True, help="Decide the disputes instead.")
@option(
    "--order",
    default="pool",
    type=choice("pool", "uncertain"),
    help="pool: as drawn, by chance; uncertain: first where the systems are least sure.",
)
@option("--host", default="127.0.0.1", help="Address to serve on; another than this machine's needs passwords.")
@option("--origin", default="", help="Address that people open where a proxy brings HTTPS: https://labels.example.org.")
@option("--port", default=8765, type=click.IntRange(0, 65535), help="Port to serve on; 0 takes any free one.")
@WORKDIR
def serve(
    pool_id: str | None, annotator: str, adjudicate: bool, order: str, host: str, origin: str, port: int, workdir: Path
) -> None:
    """Label a pool in a page, here or over a network.

    By keyboard or mouse; every answer is stored at once. Stop with Ctrl-C.
    """
    from builder.gold.server import elsewhere
    from builder.gold.server import serve as served
    from builder.pages.annotation_page import annotation_site, find_users
    from builder.store import pools
    from builder.teaching.label_sources import Teacher
    from builder.teaching.labelling import opened

    users = find_users(workdir, annotator, host, origin)
    with opened(workdir) as connection:
        made = pools.chosen(connection, pool_id)
        teacher = Teacher(workdir) if annotator and not adjudicate else None
        site, book = annotation_site(
            connection, made, adjudicate=adjudicate, order=order, teacher=teacher, here=bool(annotator)
        )
        if annotator:
            head = book(annotator).head()
            counts = f"{head['done']:,} of {head['total']:,} done by {annotator}"
        else:
            number = 0 if isinstance(users, str) else len(users.hashes)
            counts = f"{number:,} {'person' if number == 1 else 'people'} may sign in" if number else ""

        def announce(address: str) -> None:
            click.echo(f"pool {made}: {counts}; stop with Ctrl-C", err=True)
            if host != "127.0.0.1" and not origin.startswith("https://"):
                click.echo("nothing is encrypted: put a proxy with TLS before it, and name its --origin", err=True)
            click.echo(f"open {address}")
            if other := elsewhere(address, host):
                click.echo(f"from other machines: {other}")

        served(site, users, announce, host, port, origin)
        if annotator:
            head = book(annotator).head()
            click.echo(f"pool {made}: {head['done']:,} of {head['total']:,} done by {annotator}")


@click.command()
@click.argument("name")
@option("--password-env", default="", help="Environment variable with the password; it is asked for otherwise.")
@option("--remove", is_flag=True, help="Let this person sign in no more; the labels stay.")
@WORKDIR
def password(name: str, password_env: str, remove: bool, workdir: Path) -> None:
    """Give NAME a password for the page over a network.

    Passwords are kept as hashes, in annotators.json of the working directory.
    """
    import os

    from builder.gold.server import remove_password, set_password
    from builder.teaching.labelling import check_name, opened

    with opened(workdir):
        check_name(name)
    if remove:
        remove_password(workdir, name)
        click.echo(f"{name} can sign in no more")
        return
    given = os.environ.get(password_env, "") if password_env else ""
    if password_env and not given:
        raise click.UsageError(f"{password_env} is not set")
    set_password(workdir, name, given or click.prompt("password", hide_input=True, confirmation_prompt=True))
    click.echo(f"{name} can sign in; a page that is being served takes it when it starts again")


FORCE = option("--force", is_flag=True, help="Replace a file that is there.")


@click.group()
def annotate() -> None:
    """Let people label the candidates of a pool.

    They say which candidates are right, correct the others, and add what is missing.
    """


@annotate.command()
@click.argument("path", type=PATH, metavar="FILE")
@POOL
@option("--annotator", default="", help="Write this person's labels so far into the file.")
@FORCE
@WORKDIR
def export(path: Path, pool_id: str | None, annotator: str, force: bool, workdir: Path) -> None:
    """Write a pool to FILE, to be labelled there.

    A .csv or .xlsx is a sheet, a .json is for Label Studio.
    """
    from builder.teaching.labelling import export as exported

    made, candidates = exported(workdir, pool_id, path, annotator, force=force)
    click.echo(f"{path}: pool {made}, {counted(candidates, 'candidate')}")


@annotate.command("import")
@click.argument("path", type=PATH, metavar="FILE")
@POOL
@option("--annotator", default="", help="Who filled in the file, where the file does not say so itself.")
@WORKDIR
def import_(path: Path, pool_id: str | None, annotator: str, workdir: Path) -> None:
    """Take the labels of FILE, all rows or none."""
    from builder.core.errors import InputError
    from builder.teaching.labelling import import_labels

    done = import_labels(workdir, pool_id, path, annotator)
    for fault in done.faults:
        click.echo(str(fault), err=True)
    if done.faults:
        what = f"{counted(len(done.faults), 'bad row')}, listed above; nothing was imported"
        raise InputError(what, where=str(path), fix="correct them and import again")
    click.echo(
        f"pool {done.pool}: {counted(done.labels, 'label')} of {', '.join(done.annotators) or 'nobody'} "
        f"({done.changed:,} changed), {counted(done.missing, 'missing triplet')}, "
        f"complete reviews: {done.checked:,}, {counted(done.open, 'candidate')} still open"
    )


@annotate.command("gold")
@POOL
@option("--annotator", default="", help="Take this annotator's labels, a language model's too.")
@option("--out", type=PATH, required=True, help="File to write.")
@option("--format", "form", default="jsonl", help="`jsonl`, or a format that `builder export` lists.")
@FORCE
@WORKDIR
def gold_(pool_id: str | None, annotator: str, out: Path, form: str, force: bool, workdir: Path) -> None:
    """Write the labels of a pool as gold or silver.

    What people decided is gold, the labels of a language model are silver. Reviews with an open candidate are left out.
    """
    from builder.teaching.pooling import write_gold

    made = write_gold(workdir, pool_id, out, annotator, form, force=force)
    layer = made.layer
    notes = [
        f"left out: {counted(layer.open, 'review')} with open labels" if layer.open else "",
        f"{layer.without_polarity:,} wrong polarities without the right one give no triplet"
        if layer.without_polarity
        else "",
        f"no place in the format: {counted(made.skipped, 'review')}, see {out.name}.skipped.jsonl"
        if made.skipped
        else "",
    ]
    labels = "triplets" if form == "jsonl" else "labels"
    head = f"{out}: {layer.name}, {counted(made.reviews, 'review')}, {made.labels:,} {labels} of pool {layer.pool}"
    click.echo("; ".join([head, *filter(None, notes)]))


@annotate.command()
@POOL
@option("--kind", type=choice("human", "all"), default="human", help="Compare people, or judges and discriminator too.")
@WORKDIR
@AS_JSON
def agreement(pool_id: str | None, kind: str, workdir: Path, as_json: bool) -> None:
    """Show how far annotators agree.

    Raw agreement, Cohen's and Fleiss' kappa, and F1 of the triplets with exact spans.
    """
    from builder.teaching.labelling import agree

    made, result, disputed, open_ = agree(workdir, pool_id, None if kind == "all" else kind)
    people = [(who, result.labelled[who], result.abstained[who]) for who in result.annotators]
    pairs = [(p.first, p.second, p.both, _shown(p.raw), _shown(p.kappa), _shown(p.span_f1)) for p in result.pairs]
    if as_json:
        whole = {"pool": made.id, "candidates": made.size, "disputed": disputed, "undecided": open_}
        click.echo(json.dumps({**whole, **asdict(result)}, ensure_ascii=False, indent=1))
        return
    put_rows(("annotator", "labelled", "unsure"), people, None, len(people))
    if pairs:
        click.echo()
        put_rows(("first", "second", "both", "raw", "kappa", "span F1"), pairs, None, len(pairs))
        click.echo(
            f"\nall of them labelled {counted(result.everyone, 'candidate')}: same label {_shown(result.raw)}, "
            f"Fleiss' kappa {_shown(result.fleiss)}"
        )
    click.echo(f"pool {made.id}: {counted(made.size, 'candidate')}, {disputed:,} disputed, {open_:,} of them undecided")


@annotate.command()
@POOL
@WORKDIR
@AS_JSON
def adjudicate(pool_id: str | None, workdir: Path, as_json: bool) -> None:
    """List the candidates on which people disagree.

    `annotate serve --adjudicate` decides them in the page.
    """
    from builder.gold.metrics.scores import name_answer
    from builder.teaching.labelling import queue

    pool, disputes = queue(workdir, pool_id)
    rows = [(number, review, *name_answer(one.triplet), labels) for number, review, one, labels in disputes]
    if rows or as_json:
        headers = ("candidate", "review", "aspect", "opinion", "polarity", "said")
        put_rows(headers, rows, "json" if as_json else None, len(rows))
    click.echo(f"pool {pool.id}: {len(rows):,} disputes to decide", err=as_json)


annotate.add_command(serve)
annotate.add_command(password)


def _shown(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"
