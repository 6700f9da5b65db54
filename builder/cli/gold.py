"""`builder gold pool` draws what is to be labelled, and `builder gold judge` has a language model label it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from builder.cli.build import PRESET, WORKDIR
from builder.cli.options import option, with_preset_options
from builder.cli.printing import put_rows
from builder.core.wording import counted

if TYPE_CHECKING:
    from builder.teaching.judging import JudgingCounts, Limits
    from builder.teaching.pooling import PoolResult

POOL = option("--pool", "pool_id", help="Id of the pool, or its first characters; the latest if not given.")


@click.command()
@option("--n", default=300, type=click.IntRange(min=1), help="Reviews to sample; all of the split where it has fewer.")
@option("--seed", default=13, help="Another seed samples and orders differently.")
@option("--split", type=click.Choice(["train", "valid", "test", "all"]), default="test", help="Where to sample.")
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
@option(
    "--key-env",
    default="OPENAI_API_KEY",
    help="Environment variable with the key; there is no option for the key itself.",
)
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
@option("--price-in", default=0.0, type=click.FloatRange(0), help="Price of a million prompt tokens.")
@option("--price-out", default=0.0, type=click.FloatRange(0), help="Price of a million answer tokens.")
@option("--max-cost", type=click.FloatRange(0), help="Ask nothing if it may cost more.")
@option("--max-tokens", type=click.IntRange(0), help="Ask nothing if it may take more tokens.")
@option("--yes", is_flag=True, help="Do not ask before spending.")
@WORKDIR
@PRESET
@click.pass_context
def judge(
    context: click.Context, /, endpoint: str, pool_id: str | None, key_env: str, concurrency: int, retries: int,
    timeout: float, workdir: Path, preset: str | None, **rest: Any,
) -> None:  # fmt: skip
    """Let a language model label a pool.

    Its labels are YY, YN or NX. Answers are kept; a second run asks only what is missing.
    """
    from builder.gold.judge import Endpoint
    from builder.teaching import judging

    rest = with_preset_options(context, rest, preset, "judge")
    if not (model := rest["model"]):
        raise click.UsageError("Missing option '--model'.")
    limits = judging.Limits(*(rest[name] for name in ("price_in", "price_out", "max_tokens", "max_cost")))
    where = Endpoint(endpoint, key_env, concurrency, retries, timeout)
    made = judging.plan(workdir, pool_id, where, model, limits, rest["batch"], _parameters_of(rest["params"]))
    cost = f", cost at most {made.cost:.4f}" if limits.price_in or limits.price_out else ""
    click.echo(
        f"pool {made.pool}: {counted(len(made.questions), 'request')}, {len(made.questions) - len(made.due):,} "
        f"answered before; {len(made.due):,} to ask:"
        f" at most about {made.prompt_tokens:,} prompt and {counted(made.answer_tokens, 'answer token')}{cost}"
    )
    if made.due and not rest["yes"]:
        click.confirm("ask?", abort=True, err=True)
    _judged(judging.judge(workdir, made), limits)


def _judged(done: JudgingCounts, limits: Limits) -> None:
    """Counts of what a model said, and an error where something was not answered."""
    from builder.core.errors import ModelError

    verdicts = ", ".join(f"{name} {done.labels[name]:,}" for name in ("YY", "YN", "NX", "unparsable"))
    cost = (
        f", cost {limits.cost_of(done.prompt_tokens, done.completion_tokens):.4f}"
        if limits.price_in or limits.price_out
        else ""
    )
    click.echo(
        f"{done.answered:,} asked, {done.cached:,} from before: {verdicts}; {done.prompt_tokens:,} prompt and "
        f"{counted(done.completion_tokens, 'answer token')}{cost}"
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
            raise ConfigError(
                f"{assignment!r} is no KEY=JSON",
                where="--param",
                fix="for example --param max_tokens=200 or --param stop='[\"x\"]'",
            ) from error
        if not equals or name in ("model", "messages", "stream"):
            raise ConfigError(f"{name!r} cannot be set", where="--param", fix="leave it out")
    return out
