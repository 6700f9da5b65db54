"""`builder setup …`: what is done before a build.

`init` writes a settings file, `config` says what a setting means, `doctor` whether the installation is sound.
"""

from __future__ import annotations

import sys
from pathlib import Path

import click

from builder.cli.printing import shows_colour, styled_output
from builder.core.settings import DEFAULT_WORKDIR
from builder.core.wording import counted


@click.command()
@click.argument("path", type=click.Path(path_type=Path), default=Path("settings.toml"), required=False)
@click.option("--force", is_flag=True, help="Write over a file that is there.")
def init(path: Path, force: bool) -> None:
    """Write a settings file to begin with.

    PATH is settings.toml if not given. Every setting stands in it with its default and a sentence, commented out.
    """
    from builder.core.errors import OutputError
    from builder.core.files import write_atomically
    from builder.pipeline.settings_file import commented_settings

    if path.exists() and not force:
        raise OutputError("is there already", where=str(path), fix="name another file, or write over it with --force")
    write_atomically(path, commented_settings(str(path)).encode())
    click.echo(f"{path} is written. Change what you need, then: builder build reviews.csv --config {path}")


@click.command()
@click.argument("key", required=False)
@click.option("--preset", metavar="NAME", help="List what this preset sets, with the paper's sections; without KEY.")
@click.option("--json", "as_json", is_flag=True, help="Print the list as JSON; without KEY.")
def config(key: str | None, preset: str | None, as_json: bool) -> None:
    """Explain a setting.

    KEY is one such as release.licence, or a section such as release. Without KEY all are listed. `builder build
    --show-config` says what is set, and where.
    """
    from tabulate import tabulate

    from builder.augment.settings import AugmentSettings
    from builder.cli.printing import put_rows
    from builder.pipeline.settings_file import all_settings, explained, preset_rows

    if key is not None:
        if as_json or preset:
            raise click.UsageError(f"{'--json' if as_json else '--preset'} lists settings: leave out KEY")
        click.echo("\n".join(explained(key, {"builder augment METHOD": AugmentSettings})))
        return
    rows = list(preset_rows(preset) if preset else all_settings())
    headers = ["command", "key", "value", "from"] if preset else ["key", "default", "meaning"]
    if as_json:
        put_rows(headers, rows, "json", limit=len(rows))
        return
    widths = [None, 24, 70] if sys.stdout.isatty() and not preset else None
    click.echo(tabulate(rows, headers=headers, maxcolwidths=widths, disable_numparse=True))


@click.command()
@click.option(
    "--workdir",
    type=click.Path(path_type=Path),
    default=DEFAULT_WORKDIR,
    show_default=True,
    help="Where you would build.",
)
@click.option("--json", "as_json", is_flag=True, help="Print a JSON object for each finding.")
def doctor(workdir: Path, as_json: bool) -> None:
    """Check the installation of builder.

    Packages, models, lexicons, extras, GPU, disk, fonts. Ends with code 1 if builder cannot work like this.
    """
    import json
    from dataclasses import asdict

    from builder.pipeline.diagnosis import diagnose

    colour = shows_colour(sys.stdout)
    out = styled_output() if colour else sys.stdout
    marks = {"ok": ("ok", "green"), "missing": ("-", "yellow"), "broken": ("BROKEN", "red")}
    broken = 0
    for finding in diagnose(workdir):
        broken += finding.state == "broken"
        if as_json:
            click.echo(json.dumps(asdict(finding), ensure_ascii=False))
            continue
        mark, tint = marks[finding.state]
        shown = click.style(f"{mark:<6}", fg=tint) if colour else f"{mark:<6}"
        fix = f"; {finding.fix}" if finding.fix else ""
        out.write(f"{shown}  {finding.subject:<14}  {finding.detail}{fix}\n")
        out.flush()
    if not as_json:
        click.echo(
            f"\n{counted(broken, 'problem')}" if broken else "\nbuilder can work here; what is marked - is optional."
        )
    sys.exit(1 if broken else 0)
