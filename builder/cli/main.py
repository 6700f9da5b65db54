"""The command line: parse, call one function, print counts. Every error of ours is one line on stderr and exit
code 2.
"""

from __future__ import annotations

import errno
import io
import os
import shlex
import signal
import sys
import threading
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import import_module
from itertools import pairwise
from typing import Any, NoReturn, TextIO, cast

import click

from builder import __version__
from builder.cli.options import TameTerminal
from builder.core.errors import BuilderError, BuilderWarning, printable, shortened
from builder.core.machine import choose_kernels, collect_seldom


class _Group(click.Group):
    """A group whose commands are imported when they are asked for. `places`: of each its module in builder.cli and its
    name there, or the command itself.
    """

    def __init__(self, places: Mapping[str, str | click.Command], **settings: Any) -> None:
        self.places = dict(places)
        super().__init__(**settings)

    def add_command(self, cmd: click.Command, name: str | None = None) -> None:
        self.places[name or cmd.name or ""] = cmd

    @property
    def commands(self) -> dict[str, click.Command]:
        """All of them, imported."""
        return {name: self._load(place) for name, place in self.places.items()}

    @commands.setter
    def commands(self, _: object) -> None:
        """click sets what it was given, which is nothing."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(self.places)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        return self._load(self.places[cmd_name]) if cmd_name in self.places else None

    @staticmethod
    def _load(place: str | click.Command) -> click.Command:
        if isinstance(place, click.Command):
            return place
        module, _, name = place.partition(".")
        command: click.Command = getattr(import_module(f"builder.cli.{module}"), name)
        return command


def _group(name: str, about: str, *places: str) -> _Group:
    return _Group({place.partition(".")[2]: place for place in places}, name=name, help=about)


GROUPS: tuple[_Group, ...] = (
    _group(
        "gold", "Label reviews, judge labels, and score.", "gold.pool", "annotation.annotate", "gold.judge",
        "score.audit", "score.score", "gold.gain",
    ),
    _group(
        "versions", "Release, compare and publish datasets.", "versions.release", "versions.diff", "versions.publish",
    ),
    _group("words", "Lexicons, rules, and words of other domains.", "words.lexicon", "domain.domain", "words.rules"),
    _group(
        "db", "Search a build, and ask it in SQL.", "look.search", "look.query", "look.sql",
    ),
    _group(
        "setup", "Settings, and the installation.", "setup.init", "setup.config", "setup.doctor",
    ),
)  # fmt: skip
"""Commands by subject. Each is known by its own name, too, as `builder gold pool` for `builder pool`."""
FIRST = {
    "Build": ("build.build", "build.resume", "build.status"),
    "Look": ("look.serve", "look.report", "look.explain"),
    "Use": ("extract.extract", "extract.export", "versions.verify", "augment.augment"),
}
"""The commands that people need first, by what they want to do, in the order of `builder --help`."""
_LATER = {"run": "build.run", "bench": "augment.bench"}
"""Commands of no group that few need."""
HEADINGS = {
    **{heading: tuple(place.partition(".")[2] for place in places) for heading, places in FIRST.items()},
    "More, by subject": (*(str(group.name) for group in GROUPS), "model", *_LATER),
}
"""What `builder --help` shows."""


class _Commands(_Group):
    """A group that shows first what people need first. Whatever stands in a group of `GROUPS` is known without it."""

    def __init__(self, **settings: Any) -> None:
        first = (place for places in FIRST.values() for place in places)
        places: dict[str, str | click.Command] = {place.partition(".")[2]: place for place in first}
        places |= {str(group.name): group for group in GROUPS} | {"model": "setup.model", "nlp": "setup.nlp"}
        places |= _LATER
        for group in GROUPS:
            places |= group.places
        super().__init__(places, **settings)

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [name for names in HEADINGS.values() for name in names]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for heading, names in HEADINGS.items():
            with formatter.section(heading):
                formatter.write_dl([(name, _summarise(self._load(self.places[name]))) for name in names], col_max=12)


def _summarise(command: click.Command) -> str:
    """What a command does; of a group of several also what they are called."""
    about = command.get_short_help_str(_SUMMARY)
    return f"{about.rstrip('.')} ({', '.join(command.places)})." if isinstance(command, _Group) else about


_SUMMARY = 60
"""Characters of a summary that fit a line of 80; none of ours is longer than 50."""


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 120})
@click.version_option(__version__, prog_name="builder")
def cli() -> None:
    """From raw Chinese reviews to a versioned dataset of aspect sentiment triplets, without human labels.

    `builder build` alone runs the whole job on the shipped sample.
    """


def main() -> None:
    """Run the command line; the only place where our errors are caught."""
    # Read when torch loads. Threads that wait for work soon sleep, for workers and other programs share the cores; but
    # not at once: the gaps of a training step are shorter than a sleep, and for waiting some microseconds a build on
    # two idle cores takes two thirds of the time (beside a busy one a third more).
    if "OMP_WAIT_POLICY" not in os.environ:
        os.environ |= {"OMP_WAIT_POLICY": "PASSIVE", "GOMP_SPINCOUNT": os.environ.get("GOMP_SPINCOUNT", "1000")}
    choose_kernels()
    collect_seldom()
    signal.signal(signal.SIGTERM, _terminate)
    sys.unraisablehook = _lost
    warnings.formatwarning = _format_warning
    for stream in (sys.stdout, sys.stderr):  # a terminal of another encoding shows 湯 as \u6e6f
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    if sys.stdout.isatty():
        sys.stdout = cast(TextIO, TameTerminal(sys.stdout))
    try:
        with _launched():
            cli.main(prog_name="builder", standalone_mode=False)
    except BuilderError as error:
        _fail(str(error))
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message(), err=True)
        sys.exit(2)
    except click.UsageError as error:
        message = error.format_message().rstrip(".")  # click ends its sentences, and our line goes on
        mark = "" if message.endswith("?") else ";"
        if gone := _find_gone(error):
            _fail(message.partition(". Did you mean")[0], f"; {gone}")
        _fail(message, f"{mark} see `{error.ctx.command_path} --help`" if error.ctx else "")
    except (click.Abort, KeyboardInterrupt):
        _stopped(signal.SIGINT)
    except _Terminated:
        click.echo(err=True)  # a progress bar may hold the line; click does the same for Ctrl-C
        _stopped(signal.SIGTERM)
    except ModuleNotFoundError as error:
        from builder.core.errors import install_command
        from builder.pipeline.installation import find_extra

        if error.name == "builder.augment":
            _fail("this installation lacks augmentation", "; install builder with its folder `builder/augment`")
        if not (extra := find_extra(error.name or "")):
            raise
        _fail(f"this needs {error.name}, which is not installed", f"; `{install_command(extra)}` installs it")
    except BrokenPipeError:
        sys.exit(0)
    except OSError as error:
        fix = "check the path, the permissions and the free space (a build goes on with `builder resume`)"
        if error.errno == errno.ENAMETOOLONG:
            fix = "choose a shorter name"
        _fail(f"{error.strerror or error}: {shortened(str(error.filename or 'while writing'), 200)}", f"; {fix}")


_NO_LABELLER = "`builder gold judge` has a language model label a pool"
_NO_PLAN = "build from fewer reviews: `builder status` says what each stage took"
_DESCRIBED = "`builder db sql` reads the table `descriptions`, which says what there is"
_COMPLETED = '`eval "$(_BUILDER_COMPLETE=bash_source builder)"` completes; zsh_source and fish_source do, too'
_SHOWN = "`builder build --show-config` says what is set, and where"
_INDUCED = "`builder words domain new NAME --over restaurant --reviews FILE` proposes words"
_SILENT = "`builder query silent-words` lists the words on which no triplet of a build rests"
_FOUND = "columns and their separator are found; `--dry-run` shows what was understood"
_BY_ENDING = "the ending of FILE says it: .csv, .xlsx, or .json for Label Studio"
_DECIDED = "`builder gold annotate serve --adjudicate --annotator NAME` decides disputes in the page"
_CAPPED = "`--max-tokens` caps what a judge may take; its price a token is your server's"
_AS_ANY_POOL = "`builder gold annotate export FILE --pool ID` writes an audit as any pool"
_NEW = {
    "induce": _INDUCED,
    "label": _NO_LABELLER,
    "plan": _NO_PLAN,
    "tables": _DESCRIBED,
    "schema": _DESCRIBED,
    "completion": _COMPLETED,
}
GONE = {("builder", name): new for name, new in _NEW.items()} | {
    ("gold", "label"): _NO_LABELLER,
    ("setup", "plan"): _NO_PLAN,
    ("setup", "completion"): _COMPLETED,
    ("db", "tables"): _DESCRIBED,
    ("db", "schema"): _DESCRIBED,
    ("build", "--preview"): "`--dry-run` shows what was understood of the input, and stops",
    ("build", "--delimiter"): _FOUND,
    ("build", "--separator"): _FOUND,
    ("score", "--format csv"): "`--format json` writes what programs read",
    ("score", "--format markdown"): "`--format json` writes what programs read",
    **{(f"annotate {name}", "--format"): _BY_ENDING for name in ("export", "import")},
    **{("annotate adjudicate", option): _DECIDED for option in ("--export", "--import", "--annotator", "--force")},
    ("release", "--bump"): "a version follows from the changes; `--version` sets another",
    ("serve", "--compare"): "`builder versions diff BEFORE AFTER` says what changed",
    ("export", "--workdir"): "BIO is over characters: --format bio-chars",
    ("config", "--config"): _SHOWN,
    ("config", "--workdir"): _SHOWN,
    ("pool", "--stratify"): "a pool is a plain sample: make it larger, or of another --split",
    ("pool", "--allocation"): "a pool is a plain sample: make it larger, or of another --split",
    ("lexicon", "induce"): _INDUCED,
    ("lexicon check", "--corpus"): _SILENT,
    ("lexicon check", "--segment"): _SILENT,
    (
        "lexicon",
        "diff",
    ): "`builder words lexicon check --workdir` reads what your tables say; `diff -r` compares two folders",
    ("lexicon check", "--lexicons"): "`--domain FOLDER` checks a pack, `--workdir` the lexicon of a build",
    ("domain check", "--to-sheet"): "add a row for the word to the sheet of the pack, with the columns in their order",
    ("lexicon import", "--show"): "at most ten refused lines are printed, and all are kept in a file",
    ("gain", "--write"): "`--teach` writes into `rules` and `lexicon` of --workdir",
    ("lexicon", "review"): "`builder words domain review NAME` shows the words of a pack",
    ("lexicon", "accept"): "`builder words domain accept NAME` takes the answers",
    **{("judge", option): _CAPPED for option in ("--price-in", "--price-out", "--max-cost")},
    ("audit", "import"): "`builder gold annotate import FILE --pool ID` takes the answers of an audit, too",
    **dict.fromkeys((("audit draw", "--sheet"), ("audit draw", "--force")), _AS_ANY_POOL),
    ("domain new", "--rating-column"): "words are proposed without ratings",
    ("model", "trim"): "a base is used as it is",
    ("model", "check"): "a build says within seconds, before its first stage, whether its base can serve",
    (
        "model",
        "convert",
    ): "in Python, `transformers.AutoModel.from_pretrained(OLD).save_pretrained(NEW)` writes safetensors",
    ("model", "distil"): "the model that builder ships reads on any CPU: `builder extract --source E`",
}
"""Options, their values and commands that people type and that are not there, and what stands in their place."""


def _find_gone(error: click.UsageError) -> str:
    """What stands in place of the option, value or command that is not there; empty where nothing does."""
    if error.ctx is None or not (error.message.startswith("No such ") or " is not one of " in error.message):
        return ""
    words = {word.strip("'. ") for word in error.message.split()}
    path = f" {error.ctx.command_path}"
    elsewhere = (f"it is `builder {name}`" for name in cli.places if f"No such command '{name}'" in error.message)
    return next(
        (new for (name, old), new in GONE.items() if path.endswith(f" {name}") and old.split()[-1] in words),
        next(elsewhere, ""),
    )


@contextmanager
def _launched() -> Iterator[None]:
    """Of several processes that a launcher such as `accelerate launch` started, the first runs the command and the
    others help it train.
    """
    if int(os.environ.get("WORLD_SIZE", "1")) < 2 or "LOCAL_RANK" not in os.environ:
        yield
        return
    from builder.learning import processes

    if not processes.first():
        processes.lend_hand()
        sys.exit(0)
    try:
        yield
    finally:
        processes.dismiss()


_format_other = warnings.formatwarning


def _format_warning(
    message: Warning | str, category: type[Warning], filename: str, lineno: int, line: str | None = None
) -> str:
    """A warning of ours as one line; others as Python writes them."""
    if issubclass(category, BuilderWarning):
        return f"builder: warning: {printable(str(message))}\n"
    return _format_other(message, category, filename, lineno, line)


class _Terminated(BaseException):
    """SIGTERM, on its way through every `finally`."""


def _terminate(number: int, frame: object) -> None:
    raise _Terminated


_AGAIN = 0.05
"""Seconds until a lost signal is sent again."""


def _lost(ignored: sys.UnraisableHookArgs) -> None:
    """What a signal raises inside a destructor or a weak reference's callback is ignored there: the signal is sent
    again, until it gets through.
    """
    if not issubclass(ignored.exc_type, (_Terminated, KeyboardInterrupt)):
        sys.__unraisablehook__(ignored)
        return
    number = signal.SIGTERM if issubclass(ignored.exc_type, _Terminated) else signal.SIGINT
    again = threading.Timer(_AGAIN, os.kill, (os.getpid(), number))
    again.daemon = True
    again.start()


_KEPT = dict.fromkeys(("build", "run", "resume"), "what is finished is kept, `builder resume{workdir}` goes on") | {
    "judge": "the answers so far are kept, the same command goes on",
    "publish": "the same command goes on",
    "release": "nothing half made is left, the same command goes on",
    "augment": "what was learnt and proposed is kept, the same command goes on",
    "bench": "what was trained is kept, the same command goes on",
    "annotate": "what was answered or imported is kept",
    "domain": "what was answered is kept, the same command goes on",
}
"""By command, what a user who stops it should know; of the others nothing stays."""


def _given_workdir(arguments: Sequence[str]) -> str:
    """The option that names the working directory, as it was given; empty where it was not."""
    for option, value in pairwise([*arguments, ""]):
        if option == "--workdir":
            return f" --workdir {shlex.quote(value)}"
        if option.startswith("--workdir="):
            return f" --workdir {shlex.quote(option.partition('=')[2])}"
    return ""


def _stopped(by: signal.Signals) -> NoReturn:
    groups = {group.name for group in GROUPS}
    name = next((word for word in sys.argv[1:] if not word.startswith("-") and word not in groups), "")
    kept = _KEPT.get(name, "").format(workdir=_given_workdir(sys.argv[1:]))
    click.echo(f"builder: stopped{f'; {kept}' if kept else ''}", err=True)
    sys.exit(128 + by)


def _fail(message: str, hint: str = "") -> NoReturn:
    click.echo(f"builder: error: {printable(' '.join(message.split()))}{hint}", err=True)
    sys.exit(2)
