"""What `builder judge` and `builder label` share: the options of asking a server, and their values."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from builder.teaching.judging import Limits

Decorated = TypeVar("Decorated", bound=Callable[..., Any])
_OPTIONS = (
    click.option(
        "--endpoint", required=True, help="Address of an OpenAI-compatible server, such as https://api.openai.com/v1."
    ),
    click.option(
        "--key-env",
        default="OPENAI_API_KEY",
        show_default=True,
        help="Environment variable with the key; there is no option for the key itself.",
    ),
    click.option(
        "--concurrency", default=8, show_default=True, type=click.IntRange(1, 256), help="Requests at a time."
    ),
    click.option(
        "--retries",
        default=5,
        show_default=True,
        type=click.IntRange(0, 20),
        help="Further tries of a request that fails.",
    ),
    click.option(
        "--timeout", default=60.0, show_default=True, type=click.FloatRange(0.1), help="Seconds for one request."
    ),
    click.option(
        "--param",
        "params",
        multiple=True,
        metavar="KEY=JSON",
        help="Parameter of the completion, such as max_tokens=200; null leaves one out.",
    ),
    click.option("--price-in", default=0.0, type=click.FloatRange(0), help="Price of a million prompt tokens."),
    click.option("--price-out", default=0.0, type=click.FloatRange(0), help="Price of a million answer tokens."),
    click.option("--max-cost", type=click.FloatRange(0), help="Ask nothing if it may cost more."),
    click.option("--max-tokens", type=click.IntRange(0), help="Ask nothing if it may take more tokens."),
    click.option("--yes", is_flag=True, help="Do not ask before spending."),
)


def asking_options(command: Decorated) -> Decorated:
    """Give a command the options of asking a server."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def limits_of(options: Mapping[str, Any]) -> Limits:
    """The prices and caps among the options."""
    from builder.teaching.judging import Limits

    return Limits(*(options[name] for name in ("price_in", "price_out", "max_tokens", "max_cost")))


def parameters_of(given: tuple[str, ...]) -> dict[str, object]:
    """The parameters of a completion; ConfigError for what is no KEY=JSON or cannot be set."""
    from builder.core.errors import ConfigError
    from builder.core.strict_json import parse_json

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
