"""`builder pool`, `builder annotate …`, `builder judge`: gold answers from people and from a language model."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from builder.commands.build import WORKDIR

if TYPE_CHECKING:
    from builder.stages.judging import Judged, Limits
    from builder.stages.labelling import Imported

_PATH = click.Path(path_type=Path)
_FORMATS = ("csv", "xlsx", "label-studio", "doccano", "argilla")
POOL = click.option("--pool", "pool_id", help="Id of the pool, or its first characters; the latest if not given.")
FORMAT = click.option("--format", "form", type=click.Choice(_FORMATS), help="Format of the file; by its ending if not given.")
FORCE = click.option("--force", is_flag=True, help="Replace a file that is there.")


@click.command()
@click.option("--n", default=300, show_default=True, type=click.IntRange(min=1), help="Reviews to sample.")
@click.option("--seed", default=13, show_default=True, help="Another seed samples and orders differently.")
@click.option("--split", type=click.Choice(["train", "valid", "test", "all"]), default="test", show_default=True, help="Where to sample.")
@click.option("--stratify", default="", help="Sample by strata: length, rating, polarity, disagreement (comma-separated).")
@click.option(
    "--allocation", type=click.Choice(["proportional", "equal"]), default="proportional", show_default=True, help="Places a stratum gets."
)
@click.option("--list", "show", is_flag=True, help="List the pools that are there instead.")
@WORKDIR
def pool(n: int, seed: int, split: str, stratify: str, allocation: str, show: bool, workdir: Path) -> None:
    """Pool what the rules and all variants propose for sampled reviews, each candidate once, in blinded order."""
    from builder.gold.pool import Settings
    from builder.stages.pooling import make_pool

    if show:
        _listed(workdir)
        return
    strata = tuple(one.strip() for one in stratify.split(",") if one.strip())
    made = make_pool(workdir, Settings(n, seed, split, strata, allocation))
    reviews = made.pool.reviews
    if made.available < n:
        click.echo(f"split {split} has only {made.available:,} reviews: all are in", err=True)
    for cell in sorted({one.stratum for one in reviews} - {""}):
        click.echo(f"  {cell}: {sum(one.stratum == cell for one in reviews):,} reviews")
    empty = sum(not one.candidates for one in reviews)
    sources = ", ".join(str(name) for name in made.pool.config["sources"])  # type: ignore[attr-defined]
    by = ", ".join(f"{count:,} by {number}" for number, count in sorted(made.proposers.items()))
    click.echo(f"sources: {sources}; candidates proposed: {by or 'none'}")
    click.echo(
        f"pool {made.pool.id}{'' if made.new else ' (was there)'}: {len(reviews):,} reviews ({empty:,} without a candidate), {made.pool.size:,} candidates"
    )


def _listed(workdir: Path) -> None:
    """Every pool, the latest first."""
    from tabulate import tabulate

    from builder.stages.labelling import opened
    from builder.store import pools

    with opened(workdir) as connection:
        rows = pools.listed(connection)
    click.echo(tabulate(rows, headers=["pool", "split", "reviews", "candidates", "made"], disable_numparse=True))
    click.echo(f"{len(rows)} pools")


@click.group()
def annotate() -> None:
    """Let people label the candidates of a pool: YY, YN or NX, corrections, and what is missing."""


@annotate.command()
@click.argument("path", type=_PATH, metavar="FILE")
@FORMAT
@POOL
@click.option("--annotator", default="", help="Write this person's labels so far into the file.")
@FORCE
@WORKDIR
def export(path: Path, form: str | None, pool_id: str | None, annotator: str, force: bool, workdir: Path) -> None:
    """Write a pool to FILE, to be labelled there."""
    from builder.gold.formats import named
    from builder.stages.labelling import export as exported

    made, candidates = exported(workdir, pool_id, path, named(form, path), annotator, force=force)
    click.echo(f"{path}: pool {made}, {candidates:,} candidates")


@annotate.command("import")
@click.argument("path", type=_PATH, metavar="FILE")
@FORMAT
@POOL
@click.option("--annotator", default="", help="Who filled in the file, where the file does not say so itself.")
@WORKDIR
def import_(path: Path, form: str | None, pool_id: str | None, annotator: str, workdir: Path) -> None:
    """Take the labels of FILE: all, or none if a row is bad."""
    from builder.gold.formats import named
    from builder.stages.labelling import import_labels

    _report(path, import_labels(workdir, pool_id, path, named(form, path), annotator))


@annotate.command()
@POOL
@click.option(
    "--kind",
    type=click.Choice(["human", "all"]),
    default="human",
    show_default=True,
    help="Compare people, or judges and discriminator too.",
)
@WORKDIR
def agreement(pool_id: str | None, kind: str, workdir: Path) -> None:
    """Show how far annotators agree: raw, Cohen's and Fleiss' kappa, F1 of the triplets with exact spans."""
    from tabulate import tabulate

    from builder.stages.labelling import agree

    made, found, disputed, open_ = agree(workdir, pool_id, None if kind == "all" else kind)
    people = [(who, found.labelled[who], found.abstained[who]) for who in found.annotators]
    pairs = [(p.first, p.second, p.both, _shown(p.raw), _shown(p.kappa), _shown(p.span_f1)) for p in found.pairs]
    click.echo(tabulate(people, headers=["annotator", "labelled", "unsure"], disable_numparse=[0]))
    if pairs:
        click.echo("\n" + tabulate(pairs, headers=["first", "second", "both", "raw", "kappa", "span F1"], disable_numparse=True))
        click.echo(
            f"\nall of them labelled {found.everyone:,} candidates: same label {_shown(found.raw)}, Fleiss' kappa {_shown(found.fleiss)}"
        )
    click.echo(f"pool {made.id}: {made.size:,} candidates, {disputed:,} disputed, {open_:,} of them undecided")


@annotate.command()
@POOL
@click.option("--export", "target", type=_PATH, help="Write the disputes to this .csv or .xlsx, with what each person said.")
@click.option("--import", "source", type=_PATH, help="Take the decisions of such a sheet.")
@click.option("--annotator", default="", help="Who decided.")
@FORCE
@WORKDIR
def adjudicate(pool_id: str | None, target: Path | None, source: Path | None, annotator: str, force: bool, workdir: Path) -> None:
    """List the candidates on which people disagree; --export and --import them to decide, or use `annotate serve --adjudicate`."""
    from tabulate import tabulate

    from builder.gold.formats import SHEETS, named
    from builder.stages import labelling

    if target and source:
        raise click.UsageError("--export and --import do not go together")
    for path in (target, source):
        if path is not None and path.suffix.lower()[1:] not in SHEETS:
            raise click.UsageError(f"{path.name}: disputes are decided in a .csv or .xlsx")
    if source:
        _report(source, labelling.import_labels(workdir, pool_id, source, named(None, source), annotator, decide=True))
    elif target:
        made, count = labelling.export_queue(workdir, pool_id, target, named(None, target), force=force)
        click.echo(f"{target}: pool {made}, {count:,} disputes")
    else:
        pool, listed = labelling.queue(workdir, pool_id)
        rows = [
            (
                one.n,
                one.review,
                one.candidate.triplet.aspect.text,
                one.candidate.triplet.opinion.text,
                one.candidate.triplet.polarity,
                one.said,
            )
            for one in listed
        ]
        click.echo(
            tabulate(rows, headers=["candidate", "review", "aspect", "opinion", "polarity", "said"], disable_numparse=True) if rows else ""
        )
        click.echo(f"pool {pool.id}: {len(rows):,} disputes to decide")


@annotate.command()
@POOL
@click.option("--annotator", required=True, help="Your name; labels are stored under it.")
@click.option("--adjudicate", is_flag=True, help="Decide the disputes instead.")
@click.option("--port", default=8765, show_default=True, type=click.IntRange(0, 65535), help="Port on this machine; 0 takes any free one.")
@WORKDIR
def serve(pool_id: str | None, annotator: str, adjudicate: bool, port: int, workdir: Path) -> None:
    """Open a page on this machine to label a pool by keyboard; every answer is stored at once. Stop with Ctrl-C."""
    from builder.gold.server import serve as served
    from builder.stages.book import DatabaseBook
    from builder.stages.labelling import opened
    from builder.store import pools

    with opened(workdir) as connection:
        book = DatabaseBook(connection, pools.chosen(connection, pool_id), annotator, adjudicate=adjudicate)
        head = book.head()
        click.echo(f"pool {head['pool']}: {head['done']:,} of {head['total']:,} done by {annotator}; stop with Ctrl-C", err=True)
        served(book, port, lambda address: click.echo(f"open {address}"))
        head = book.head()
    click.echo(f"pool {head['pool']}: {head['done']:,} of {head['total']:,} done by {annotator}")


@click.command()
@click.option("--endpoint", required=True, help="Address of an OpenAI-compatible server, such as https://api.openai.com/v1.")
@click.option("--model", required=True, help="Model to ask; its labels are stored under this name.")
@POOL
@click.option(
    "--key-env",
    default="OPENAI_API_KEY",
    show_default=True,
    help="Environment variable with the key; there is no option for the key itself.",
)
@click.option(
    "--batch",
    default=1,
    show_default=True,
    type=click.IntRange(1, 50),
    help="Candidates of a review in a request; the paper asks one by one.",
)
@click.option("--concurrency", default=8, show_default=True, type=click.IntRange(1, 256), help="Requests at a time.")
@click.option("--retries", default=5, show_default=True, type=click.IntRange(0, 20), help="Further tries of a request that fails.")
@click.option("--timeout", default=60.0, show_default=True, type=click.FloatRange(0.1), help="Seconds for one request.")
@click.option(
    "--param", "params", multiple=True, metavar="KEY=JSON", help="Parameter of the completion, such as max_tokens=200; null leaves one out."
)
@click.option("--price-in", default=0.0, type=click.FloatRange(0), help="Price of a million prompt tokens.")
@click.option("--price-out", default=0.0, type=click.FloatRange(0), help="Price of a million answer tokens.")
@click.option("--max-cost", type=click.FloatRange(0), help="Ask nothing if it may cost more.")
@click.option("--max-tokens", type=click.IntRange(0), help="Ask nothing if it may take more tokens.")
@click.option("--yes", is_flag=True, help="Do not ask before spending.")
@WORKDIR
def judge(
    endpoint: str,
    model: str,
    pool_id: str | None,
    key_env: str,
    concurrency: int,
    retries: int,
    timeout: float,
    workdir: Path,
    **rest: object,
) -> None:
    """Let a language model label a pool: YY, YN or NX. Answers are kept; a second run asks only what is missing."""
    from builder.gold.judge import Endpoint
    from builder.stages import judging

    limits = judging.Limits(rest["price_in"], rest["price_out"], rest["max_tokens"], rest["max_cost"])  # type: ignore[arg-type]
    where = Endpoint(endpoint, key_env, concurrency, retries, timeout)
    made = judging.plan(workdir, pool_id, where, model, limits, rest["batch"], _parameters(rest["params"]))  # type: ignore[arg-type]
    cost = f", cost at most {made.cost:.4f}" if limits.price_in or limits.price_out else ""
    click.echo(
        f"pool {made.pool}: {len(made.listed):,} requests, {len(made.listed) - len(made.due):,} answered before; {len(made.due):,} to ask:"
        f" at most about {made.prompt_tokens:,} prompt and {made.answer_tokens:,} answer tokens{cost}"
    )
    if made.due and not rest["yes"]:
        click.confirm("ask?", abort=True, err=True)
    _judged(judging.judge(workdir, made), limits)


def _judged(done: Judged, limits: Limits) -> None:
    """Counts of what a model said, and an error where something was not answered."""
    from builder.errors import ModelError

    found = ", ".join(f"{name} {done.labels[name]:,}" for name in ("YY", "YN", "NX", "unparsable"))
    cost = f", cost {limits.cost_of(done.prompt_tokens, done.completion_tokens):.4f}" if limits.price_in or limits.price_out else ""
    click.echo(
        f"{done.answered:,} asked, {done.cached:,} from before: {found}; {done.prompt_tokens:,} prompt and {done.completion_tokens:,} answer tokens{cost}"
    )
    if done.stopped:
        raise ModelError("stopped at the cap", fix="what was answered is kept; raise the cap to go on")
    if done.failed:
        reasons = ", ".join(f"{count:,} {reason}" for reason, count in done.failed.most_common())
        raise ModelError(f"{sum(done.failed.values()):,} requests failed ({reasons})", fix="run it again: only these are asked")


def _parameters(given: tuple[str, ...]) -> dict[str, object]:
    import json

    from builder.errors import ConfigError

    out: dict[str, object] = {}
    for one in given:
        name, equals, value = one.partition("=")
        try:
            out[name] = json.loads(value)
        except ValueError as error:
            raise ConfigError(
                f"{one!r} is no KEY=JSON", where="--param", fix="for example --param max_tokens=200 or --param stop='[\"x\"]'"
            ) from error
        if not equals or name in ("model", "messages", "stream"):
            raise ConfigError(f"{name!r} cannot be set", where="--param", fix="leave it out")
    return out


def _report(path: Path, done: Imported) -> None:
    """Counts, or every bad row and an error."""
    from builder.errors import InputError

    for fault in done.faults:
        click.echo(str(fault), err=True)
    if done.faults:
        raise InputError(
            f"{len(done.faults):,} bad rows, listed above; nothing was imported", where=str(path), fix="correct them and import again"
        )
    click.echo(
        f"pool {done.pool}: {done.labels:,} labels of {', '.join(done.annotators) or 'nobody'} ({done.changed:,} changed), {done.missing:,} missing triplets,"
        f" {done.checked:,} reviews complete, {done.open:,} candidates still open"
    )


def _shown(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"
