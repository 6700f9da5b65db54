"""`builder verify`: is a release what it says it is?"""

from __future__ import annotations

import sys
from pathlib import Path

import click


@click.command()
@click.argument("release", type=click.Path(path_type=Path))
def verify(release: Path) -> None:
    """Check a RELEASE directory: checksums, counts, spans, splits, polarities."""
    from builder.export.verify import verify as check

    faults = check(release)
    for fault in faults:
        click.echo(fault)
    click.echo(f"{release}: {len(faults)} faults" if faults else f"{release}: sound")
    if faults:
        sys.exit(1)
