"""How a build speaks: to people in sentences, to programs in events, or not at all.

In: what happens in a build. Out: lines on the terminal. People get progress on standard error and the outcome on
standard output. Programs get one JSON object a line on standard output.

The tables of stages are those of `builder status` and `builder build --verbose`.
"""

from __future__ import annotations

import functools
import json
import shlex
import shutil
import sys
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from builder.cli.options import option, put_table, shows_colour, styled_output
from builder.core.settings import DEFAULT_WORKDIR
from builder.pages.report.blocks import spoken_seconds

if TYPE_CHECKING:
    from builder.core.settings import Config
    from builder.pipeline.builds import Build
    from builder.pipeline.outcome import Preview
    from builder.pipeline.pipeline import Done

# ---- Tables of stages


def put_stages(rows: Sequence[Sequence[str]], headers: list[str]) -> None:
    """Print a row a stage. On a terminal the last column is wrapped to what is left of its width; a file or pipe gets
    a line a stage.
    """
    width, last = None, len(headers) - 1
    if sys.stdout.isatty():
        # tabulate gives a header two characters more than it has, and two stand between columns
        columns = list(zip(headers, *rows, strict=True))[:-1]
        before = sum(2 + max(len(header) + 2, *map(len, cells)) for header, *cells in columns)
        width = max(20, shutil.get_terminal_size().columns - before)
    put_table(rows, headers, maxcolwidths=[*[None] * last, width], disable_numparse=[last])


_PLAIN = (
    "rows", "rejected", "duplicates", "reviews", "judged", "triplets", "POS", "NEG", "NEU", "version", "train", "valid",
    "test",
)  # fmt: skip
"""Counts that need no knowledge of the method."""


def plain_counts(counts: Mapping[str, object]) -> str:
    """What a stage counted, in words that its users know; nothing that is 0."""
    return counts_text({name: counts[name] for name in _PLAIN if counts.get(name)})


def counts_text(counts: Mapping[str, object]) -> str:
    """Counts of a stage in one line."""
    return ", ".join(
        f"{name} {value:,}" if isinstance(value, int) else f"{name} {value}" for name, value in counts.items()
    )


# ---- What happens in a stage


def _find_judge(config: Config) -> str:
    """Who judges in a build: nobody, the model that comes with builder, or one that the build trains."""
    from builder.language.lexicon.folders import find_folders

    if config.profile == "rules":
        return "none"
    if config.discriminate.mode == "paper":
        return "trained"
    folders = find_folders(config.lexicons, config.rules, domain=config.domain)
    return "shipped" if config.rules.convention == "natural" and folders.model else "none"


def describe_stage(name: str, config: Config) -> str:
    """What happens in a stage, for people who know no name of ours."""
    judge = _find_judge(config)
    if name == "discriminate":
        return {"none": "no model judges them", "shipped": "judging them by the model", "trained": "training a judge"}[
            judge
        ]
    if name == "self_train":
        trains = judge != "none" and set(config.self_train.variants) != {"E"}
        adds = "keeping what the rules found" if judge == "none" else "adding what the model finds"
        return "training on them, in rounds" if trains else adds
    if name == "evaluate":
        labelled = config.evaluate.gold or config.evaluate.silver
        compared = "no labels to score by" if judge == "none" else "comparing rules and model"
        return "scoring by the labels given" if labelled else compared
    return _DESCRIBED[name]


_DESCRIBED = {
    "ingest": "reading the reviews",
    "annotate": "finding words and grammar",
    "seed": "finding triplets by rules",
    "release": "writing the dataset",
}
WIDTH = 28
"""Characters of the longest description."""


# ---- Sentences and events

Manner = Literal["people", "verbose", "quiet", "json"]


def voice_options(command: Callable[..., None]) -> Callable[..., None]:
    """The options --quiet, --json and --verbose of the commands that build, which take them as one `manner`."""

    @functools.wraps(command)
    def with_manner(quiet: bool, verbose: bool, json: bool, **options: object) -> None:
        command(manner=_chosen_manner(quiet, verbose, json), **options)

    made: Callable[..., None] = with_manner
    for name, about in (
        ("json", "Print events as JSON, one a line, for programs."),
        ("verbose", "Print the tables of stages and sources too."),
        ("quiet", "Print nothing but the path of the release."),
    ):
        made = option(f"--{name}", is_flag=True, help=about)(made)
    return made


def _chosen_manner(quiet: bool, verbose: bool, json: bool) -> Manner:
    """One manner of speaking; a usage error for two."""
    wanted: dict[Manner, bool] = {"quiet": quiet, "verbose": verbose, "json": json}
    chosen = [manner for manner, asked in wanted.items() if asked]
    if len(chosen) > 1:
        raise click.UsageError(f"--{chosen[0]} and --{chosen[1]} exclude each other")
    return chosen[0] if chosen else "people"


class Voice:
    """Speaks of one build in a manner."""

    def __init__(self, manner: Manner, workdir: Path, config: Config) -> None:
        self.manner, self.workdir, self.config = manner, workdir, config
        self._started = time.monotonic()
        self._number, self._total, self._name = 0, 0, ""
        if manner in ("quiet", "json"):
            from builder.core.progress import hide_bars

            hide_bars()

    def preview(self, read: Callable[[], Sequence[Preview]], build: Build, dry: bool = False) -> None:
        """Say what was understood of the input, which `read` looks at, and which dataset is made of it. InputError
        where a dry run finds no usable row in any file.
        """
        from builder.pipeline.builds import describe_dataset
        from builder.pipeline.stages.ingest import name_rejections

        if self.manner == "quiet" and not dry:
            return
        inputs = read()
        for seen in inputs:
            if self.manner == "json":
                self._event("input", **seen.as_json())
            else:
                click.echo("\n".join(seen.lines()), err=not dry)
        if self.manner != "json":
            click.echo(f"{describe_dataset(build)}\n", err=not dry)
        if dry and all(seen.exact and not seen.samples for seen in inputs):
            raise name_rejections(sum((Counter(seen.unusable) for seen in inputs), Counter()), build.inputs)
        if dry and self.manner != "json":
            click.echo("Nothing was built (--dry-run).")

    def progress(self, finished: int, total: int, name: str) -> None:
        """Remember the stage that comes; a program hears of it."""
        self._number, self._total, self._name = finished + 1, total, name
        if self.manner == "json" and name != "done":
            self._event("stage", stage=name, number=self._number, of=total)

    def report(self, line: str) -> None:
        """A stage begins to run."""
        if self.manner not in ("people", "verbose"):
            return
        what = line.partition(": ")[2] if self.manner == "verbose" else describe_stage(self._name, self.config)
        clock = spoken_seconds(time.monotonic() - self._started) if self._number > 1 else ""
        stage = f"{self._number}/{self._total} {self._name:<13} {what:<{WIDTH}} {clock}"
        click.echo(stage.rstrip(), err=True)

    def stage_ended(self, stage: Done) -> None:
        """A stage is done, now or since an earlier build; a program hears of it."""
        if self.manner == "json":
            self._event(
                "done", stage=stage.stage, ran=stage.ran, seconds=round(stage.seconds, 3), counts=dict(stage.counts)
            )

    def ended(self, done: list[Done]) -> None:
        """The outcome, or where the build stopped as it was asked to."""
        last = done[-1]
        if last.stage == "release":
            self._released(done)
        elif self.manner == "json":
            self._event("end", release=None)
        elif self.manner != "quiet":
            self._tables(done)
            numbers = {name: count for name, count in last.counts.items() if isinstance(count, int)}
            click.echo(f"Stopped after {last.stage}, as you asked: {counts_text(numbers)}.")
            click.echo(f"`builder resume{self._place()}` goes on.")

    def _released(self, done: list[Done]) -> None:
        from builder.pipeline import outcome
        from builder.pipeline.stages.release import UNCHANGED
        from builder.release.export.extract_output import display_width

        path = Path(str(done[-1].counts["path"]))
        if self.manner == "quiet":
            click.echo(path)
            return
        made, silenced = outcome.read_outcome(path), outcome.find_silenced_rules(self.workdir)
        if self.manner == "json":
            self._event("end", **made.as_json(), silenced_rules=[rule.rule for rule in silenced])
            return
        self._tables(done)
        if UNCHANGED in done[-1].counts or not done[-1].ran:
            click.echo(f"Nothing has changed: v{made.manifest['version']} is kept as it is.")
        click.echo("\n".join([*made.lines(), *map(str, silenced)]))
        self._examples(path)
        click.echo(f"\nrelease: {path}")
        if not made.manifest["licence"]:
            click.echo(
                f"It states no licence; `builder versions release --licence CC-BY-4.0{self._place()}` makes one that "
                "does."
            )
        click.echo("\nNext:")
        commands = list(outcome.list_next_commands(path, self._place()))
        width = max(display_width(command) for command, _ in commands)
        for command, purpose in commands:
            click.echo(f"  {command}{' ' * (width - display_width(command))}  {purpose}")

    def _examples(self, path: Path) -> None:
        """A few reviews of the release with their triplets, if there are any."""
        from builder.pipeline import outcome

        colour = shows_colour(sys.stdout)
        pieces = list(outcome.examples(path, colour))
        if not pieces:
            return
        stream = styled_output() if colour else sys.stdout
        click.echo("\nFor example:\n")
        stream.writelines(pieces)
        stream.flush()

    def _tables(self, done: list[Done]) -> None:
        """With --verbose: the stages with what they counted, and the sources of candidates."""
        if self.manner != "verbose":
            return
        from builder.store import db, queries

        rows = [
            (stage.stage, f"{stage.seconds:.1f}" if stage.ran else "kept", counts_text(stage.counts)) for stage in done
        ]
        put_stages(rows, ["stage", "seconds", "counts"])
        with db.reading(self.workdir) as connection:
            columns, table = queries.named(connection, "summary", {})
        click.echo()
        put_table(table, columns)
        click.echo()

    def _place(self) -> str:
        return in_workdir(self.workdir)

    def _event(self, event: str, **values: object) -> None:
        click.echo(json.dumps({"event": event, **values}, ensure_ascii=False))


def in_workdir(workdir: Path) -> str:
    """The option that names a working directory in a command that is shown; empty for the default one."""
    return "" if workdir == DEFAULT_WORKDIR else f" --workdir {shlex.quote(str(workdir))}"
