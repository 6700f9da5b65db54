"""`builder annotate serve|password`: people label in a page, on this machine or over a network."""

from __future__ import annotations

from pathlib import Path

import click

from builder.cli.build import WORKDIR
from builder.cli.gold import POOL


@click.command()
@POOL
@click.option("--annotator", default="", help="Your name, on this machine; without it, people sign in by password.")
@click.option("--adjudicate", is_flag=True, help="Decide the disputes instead.")
@click.option(
    "--order",
    default="pool",
    show_default=True,
    type=click.Choice(["pool", "uncertain"]),
    help="The order of the pool, which is chance, or reviews first of which the systems are least sure.",
)
@click.option(
    "--host",
    default="127.0.0.1",
    show_default=True,
    help="Address to serve on; another than this machine's needs passwords.",
)
@click.option(
    "--origin", default="", help="Address that people open where a proxy brings HTTPS: https://labels.example.org."
)
@click.option(
    "--port",
    default=8765,
    show_default=True,
    type=click.IntRange(0, 65535),
    help="Port to serve on; 0 takes any free one.",
)
@WORKDIR
def serve(
    pool_id: str | None,
    annotator: str,
    adjudicate: bool,
    order: str,
    host: str,
    origin: str,
    port: int,
    workdir: Path,
) -> None:
    """Label a pool in a page, here or over a network.

    By keyboard or mouse; every answer is stored at once. Stop with Ctrl-C.
    """
    from builder.gold.server import Place, elsewhere
    from builder.gold.server import serve as served
    from builder.pages.annotation_site import annotation_site, find_users
    from builder.store import pools
    from builder.teaching.labelling import opened
    from builder.teaching.teaching import Teacher

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
        click.echo(f"pool {made}: {counts}; stop with Ctrl-C", err=True)
        if host != "127.0.0.1" and not origin.startswith("https://"):
            click.echo("nothing is encrypted: put a proxy with TLS before it, and name its --origin", err=True)

        def announce(address: str) -> None:
            click.echo(f"open {address}")
            if other := elsewhere(address, host):
                click.echo(f"from other machines: {other}")

        served(site, users, Place(host, port, origin), announce)
        if annotator:
            head = book(annotator).head()
            click.echo(f"pool {made}: {head['done']:,} of {head['total']:,} done by {annotator}")


@click.command()
@click.argument("name")
@click.option("--password-env", default="", help="Environment variable with the password; it is asked for otherwise.")
@click.option("--remove", is_flag=True, help="Let this person sign in no more; the labels stay.")
@WORKDIR
def password(name: str, password_env: str, remove: bool, workdir: Path) -> None:
    """Give NAME a password for the page over a network.

    Passwords are kept as hashes, in annotators.json of the working directory.
    """
    import os

    from builder.gold.passwords import remove_password, set_password
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
