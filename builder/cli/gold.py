"""`builder gold pool`, `judge`, `gain`: what is to be labelled, a language model that labels, and what labels teach."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from builder.cli.build import WORKDIR
from builder.cli.build_voice import in_workdir
from builder.cli.options import AS_JSON, choice, option, preset_option, put_rows, put_table, with_preset_options
from builder.core.wording import counted

if TYPE_CHECKING:
    from builder.language.lexicon.folders import Folders
    from builder.teaching.gain import MeasuredGain
    from builder.teaching.label_sources import LabelledRows
    from builder.teaching.pooling import JudgingCounts, PoolResult

POOL = option("--pool", "pool_id", help="Id of the pool, or its first characters; the latest if not given.")


@click.command()
@option("--n", default=300, type=click.IntRange(min=1), help="Reviews to sample; all of the split where it has fewer.")
@option("--seed", default=13, help="Another seed samples and orders differently.")
@option("--split", type=choice("train", "valid", "test", "all"), default="test", help="Where to sample.")
@option("--list", "show", is_flag=True, help="List the pools that are there instead.")
@WORKDIR
@option("--json", "as_json", is_flag=True, help="Print the list as JSON; only with --list.")
def pool(n: int, seed: int, split: str, show: bool, workdir: Path, as_json: bool) -> None:
    """Draw a sample of candidates to label.

    A pool holds what the rules and all variants propose for the sampled reviews, each candidate once, in blinded order.
    """
    from builder.gold.pool import PoolSettings
    from builder.teaching.pooling import make_pool

    if show:
        _list_pools(workdir, as_json)
        return
    if as_json:
        raise click.UsageError("--json prints the list of pools: give --list, too")
    made = make_pool(workdir, PoolSettings(n, seed, split))
    reviews = made.pool.reviews
    if made.available < n:
        click.echo(f"split {split} has only {counted(made.available, 'distinct review')}: all are in", err=True)
    empty = sum(not review.candidates for review in reviews)
    click.echo(_proposed(made))
    click.echo(
        f"pool {made.pool.id}{'' if made.new else ' (was there)'}: {counted(len(reviews), 'review')} ({empty:,} "
        f"without a candidate), {counted(made.pool.size, 'candidate')}"
    )


def _proposed(made: PoolResult) -> str:
    """Who was asked, and how many candidates one, two, ... of them propose."""
    names = [str(name) for name in made.pool.config["sources"]]  # type: ignore[attr-defined]
    systems = [
        "the rules" if name == "rules" else f"by {name} (variant {name[0]} after round {name[1:]})" for name in names
    ]
    numbers = {1: "one", 2: "two", 3: "three"}
    counts = [
        f"{count:,}{' candidates' * (not n)} by {numbers.get(systems_agreeing, systems_agreeing)}{' of them' * (not n)}"
        for n, (systems_agreeing, count) in enumerate(sorted(made.proposers.items()))
    ]
    return f"proposed by {' and '.join(systems)}; {', '.join(counts) or 'no candidate'}"


def _list_pools(workdir: Path, as_json: bool) -> None:
    """Every pool, the latest first."""
    from builder.store import pools
    from builder.teaching.labelling import opened

    with opened(workdir) as connection:
        rows = pools.summarise(connection)
    put_rows(("pool", "split", "reviews", "candidates", "made"), rows, "json" if as_json else None, len(rows))
    click.echo(counted(len(rows), "pool"), err=as_json)


@click.command()
@option("--model", help="Model to ask; its labels are stored under this name.")
@POOL
@option(
    "--batch",
    default=1,
    type=click.IntRange(1, 50),
    help="Candidates of a review in a request; the paper asks one by one.",
)
@option("--endpoint", required=True, help="Address of an OpenAI-compatible server, such as https://api.openai.com/v1.")
@option("--key-env", default="OPENAI_API_KEY", help="Environment variable with the key; the key itself is no option.")
@option("--concurrency", default=8, type=click.IntRange(1, 256), help="Requests at a time.")
@option("--retries", default=5, type=click.IntRange(0, 20), help="Further tries of a request that fails.")
@option("--timeout", default=60.0, type=click.FloatRange(0.1), help="Seconds for one request.")
@option(
    "--param",
    "params",
    multiple=True,
    metavar="KEY=JSON",
    help="Parameter of the completion, such as max_tokens=200; null leaves one out.",
)
@option("--max-tokens", type=click.IntRange(0), help="Ask nothing if it may take more tokens.")
@option("--yes", is_flag=True, help="Do not ask before spending.")
@WORKDIR
@preset_option("other options")
@click.pass_context
def judge(
    context: click.Context, /, endpoint: str, pool_id: str | None, key_env: str, concurrency: int, retries: int,
    timeout: float, workdir: Path, preset: str | None, **rest: Any,
) -> None:  # fmt: skip
    """Let a language model label a pool.

    Its labels are YY, YN or NX. Answers are kept; a second run asks only what is missing.
    """
    from builder.gold.judge import Endpoint
    from builder.teaching import pooling

    rest = with_preset_options(context, rest, preset, "judge")
    if not (model := rest["model"]):
        raise click.UsageError("Missing option '--model'.")
    where = Endpoint(endpoint, key_env, concurrency, retries, timeout)
    parameters = _parameters_of(rest["params"])
    made = pooling.plan(workdir, pool_id, where, model, rest["max_tokens"], rest["batch"], parameters)
    click.echo(
        f"pool {made.pool}: {counted(len(made.questions), 'request')}, {len(made.questions) - len(made.due):,} "
        f"answered before; {len(made.due):,} to ask:"
        f" at most about {made.prompt_tokens:,} prompt and {counted(made.answer_tokens, 'answer token')}"
    )
    if made.due and not rest["yes"]:
        click.confirm("ask?", abort=True, err=True)
    _judged(pooling.judge(workdir, made))


def _judged(done: JudgingCounts) -> None:
    """Counts of what a model said, and an error where something was not answered."""
    from builder.core.errors import ModelError

    verdicts = ", ".join(f"{name} {done.labels[name]:,}" for name in ("YY", "YN", "NX", "unparsable"))
    click.echo(
        f"{done.answered:,} asked, {done.cached:,} from before: {verdicts}; {done.prompt_tokens:,} prompt and "
        f"{counted(done.completion_tokens, 'answer token')}"
    )
    if done.stopped:
        raise ModelError("stopped at the cap", fix="what was answered is kept; raise the cap to go on")
    if done.failed:
        reasons = ", ".join(f"{count:,} {reason}" for reason, count in done.failed.most_common())
        raise ModelError(
            f"{counted(sum(done.failed.values()), 'request')} failed ({reasons})",
            fix="run it again: only these are asked",
        )


def _parameters_of(given: tuple[str, ...]) -> dict[str, object]:
    """The parameters of a completion; ConfigError for what is no KEY=JSON or cannot be set."""
    from builder.core.errors import ConfigError
    from builder.core.files import parse_json

    out: dict[str, object] = {}
    for assignment in given:
        name, equals, value = assignment.partition("=")
        try:
            out[name] = parse_json(value)
        except ValueError as error:
            fix = "for example --param max_tokens=200 or --param stop='[\"x\"]'"
            raise ConfigError(f"{assignment!r} is no KEY=JSON", where="--param", fix=fix) from error
        if not equals or name in ("model", "messages", "stream"):
            raise ConfigError(f"{name!r} cannot be set", where="--param", fix="leave it out")
    return out


# ---- builder gold gain

_SHOWN = 5
"""Labels that are left out and shown."""
_MORE_EDGES = "edges of the reader more often"


@click.command()
@option(
    "--gold",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Labelled reviews: JSON lines with id, text and triplets, or a CSV with text, aspect, opinion and polarity.",
)
@option(
    "--workdir",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Working directory whose words and rules are used; without --gold also its pools and audits.",
)
@option("--pool", help="A pool or an audit of --workdir; all of them if not given.")
@option("--domain", help="A domain, or the folder of a pack; that of --workdir, or restaurant, if not given.")
@option("--splits", default=5, type=click.IntRange(1, 50), help="Random halves to measure on.")
@option("--teach", is_flag=True, help="Teach --workdir all labels: its next build uses what they teach.")
@option("--forget", is_flag=True, help="Take back what labels taught --workdir, and do nothing else.")
@AS_JSON
def gain(
    gold: Path | None, workdir: Path | None, pool: str | None, domain: str | None, splits: int,
    teach: bool, forget: bool, as_json: bool,
) -> None:  # fmt: skip
    """Measure what labelled reviews teach.

    Half of the reviews teach, the other half is scored; a longer or shorter aspect or opinion counts as right. Labels
    teach aspects that the lexicon lacks, and move the weights of rules and the shipped reader. It says what each of
    these brings, and which switches and borders of a release suit the labels. --teach sets words, weights and how often
    edges of the reader replace those of the rules; switches and other borders are yours to set.
    """
    from builder.core.errors import ConfigError
    from builder.teaching.gain import measure_gain
    from builder.teaching.label_sources import read_labels, read_workdir

    if (teach or forget) and workdir is None:
        raise ConfigError("there is no working directory to teach", fix="name it with --workdir")
    if forget and workdir:
        _forget(workdir, as_json)
        return
    where = gold or workdir
    if where is None:
        raise ConfigError("there are no labels", fix="give --gold FILE or --workdir FOLDER")
    labels = read_labels(gold) if gold else read_workdir(where, pool)
    _report_left_out(labels)
    with _folders(workdir, domain) as folders:
        measured = measure_gain(labels.rows, where, folders, splits)
        _print_gain(measured, splits, as_json)
    if teach and workdir:
        _teach(labels, where, workdir, measured, as_json)


@contextmanager
def _folders(workdir: Path | None, domain: str | None) -> Iterator[Folders]:
    from builder.core.settings import RESTAURANT
    from builder.language.lexicon.folders import Folders
    from builder.teaching.label_sources import untaught

    if workdir is None:
        yield Folders(domain=domain or RESTAURANT)
        return
    with untaught(workdir) as folders:
        yield replace(folders, domain=domain) if domain else folders


def _report_left_out(labels: LabelledRows) -> None:
    if labels.left_out:
        click.echo(f"left out: {counted(len(labels.left_out), 'label')}; their reviews are not scored", err=True)
        for label in labels.left_out[:_SHOWN]:
            click.echo(f"  {label}", err=True)
        if len(labels.left_out) > _SHOWN:
            click.echo(f"  and {len(labels.left_out) - _SHOWN:,} more", err=True)


def _print_gain(measured: MeasuredGain, splits: int, as_json: bool) -> None:
    headers = ["labels", "F1 before", "P", "R", "F1", "gain", "least", "most", "better in"]
    table = [
        (row.labels, row.before.f1, row.after.precision, row.after.recall, row.after.f1, row.after.f1 - row.before.f1,
         min(row.gains), max(row.gains), row.better)
        for row in measured.rows
    ]  # fmt: skip
    if as_json:
        rows = [dict(zip(headers, row, strict=True)) for row in table]
        click.echo(json.dumps({"rows": rows, **_describe_parts(measured)}, ensure_ascii=False, indent=1))
        return
    formats = ("", ".1f", ".1f", ".1f", ".1f", "+.1f", "+.1f", "+.1f", "")
    put_table(table, headers, floatfmt=formats)
    click.echo(f"{counted(measured.whole, 'labelled review')}, {splits} random halves")
    if measured.partial:
        click.echo(f"single triplets of {measured.partial:,} more reviews teach too")
    shown = [[part.name, f"{part.mean:+.1f}", f"{min(part.gains):+.1f} to {max(part.gains):+.1f}"]
             for part in (*measured.parts, *measured.switches)]  # fmt: skip
    click.echo()
    put_table(shown, ["by itself", "gain", "by half"], disable_numparse=True)
    if not measured.weighed and any(part.name == "weights" for part in measured.parts):
        lower = round(-measured.by_weights, 1)
        click.echo(f"the labels move no weights: F1 {f'would be {lower:.1f} lower' if lower else 'stays'}")
    for switch in measured.wanted_switches:
        click.echo(f"your labels speak for `--set {switch.name}`")
    borders = measured.borders
    if borders.settings or borders.edge_margin is not None:
        options = [f"--set release.{setting}={value}" for setting, value in borders.settings]
        ways = [f"`{' '.join(options)}`"] if options else []
        ways += [] if borders.edge_margin is None else [f"{_MORE_EDGES} by `--teach`"]
        click.echo(
            f"your labels begin and end elsewhere: {' and '.join(ways)}; exact F1 of the longest forms rises from "
            f"{borders.before:.1f} to {borders.after:.1f} on these same reviews; less on others"
        )


def _describe_parts(measured: MeasuredGain) -> dict[str, object]:
    """What parts and switches bring by themselves, in points of F1, as JSON has it."""
    gains = {
        name: [{"name": part.name, "mean": part.mean, "gains": part.gains} for part in parts]
        for name, parts in (("parts", measured.parts), ("switches", measured.switches))
    }
    borders = asdict(measured.borders) | {"settings": dict(measured.borders.settings)}
    return {**gains, "weighed": measured.weighed, "by_weights": measured.by_weights, "borders": borders}


def _teach(labels: LabelledRows, where: Path, workdir: Path, measured: MeasuredGain, as_json: bool) -> None:
    from builder.teaching.label_sources import teach

    margin = measured.borders.edge_margin
    lessons = teach(labels.rows, where, workdir, measured.weighed, margin)
    weights = "weighed by labels" if lessons.combiner else "weighed as shipped"
    weights += "" if margin is None else f", {_MORE_EDGES}"
    aspects = f"\naspects learnt: {', '.join(lessons.aspects)}" if lessons.aspects else ""
    click.echo(
        f"{workdir} is taught by {counted(len(labels.rows), 'review')}: {counted(len(lessons.aspects), 'aspect')} "
        f"learnt, rules and reader {weights}{aspects}\n`builder resume{in_workdir(workdir)}` builds with it; "
        "`--forget` takes it back. Do not measure against these labels.",
        err=as_json,
    )


def _forget(workdir: Path, as_json: bool) -> None:
    from builder.teaching.label_sources import TakenBack, forget

    taken = forget(workdir)
    if as_json:
        click.echo(json.dumps({"taken_back": asdict(taken or TakenBack(0, 0, 0))}))
        return
    if not taken:
        click.echo(f"{workdir} was taught nothing")
        return
    click.echo(
        f"taken back: {counted(taken.rules, 'rule')}, {counted(taken.aspects, 'aspect')} and the labels of "
        f"{counted(taken.reviews, 'review')}; `builder resume{in_workdir(workdir)}` builds without them"
    )
