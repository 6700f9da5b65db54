"""One TOML file and command-line overrides become frozen dataclasses; each value knows where it came from.

An unknown key, a wrong type or a value outside its choices is a `ConfigError` that names file, key and the known ones.
"""

from __future__ import annotations

import dataclasses
import difflib
import json
import tomllib
import types
import typing
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Any, Literal

from builder.errors import ConfigError, printable
from builder.licences import by_source, canonical

Convention = Literal["natural", "paper"]
VARIANTS = "ABCDE"
ReleaseScript = Literal["keep", "traditional", "simplified"]
Empty = Literal["keep", "drop"]
Bump = Literal["auto", "patch", "minor", "major"]


@dataclass(frozen=True, slots=True)
class Input:
    """Where the columns of the review files are. Every empty name is guessed."""

    text_column: str = ""
    """Column that holds the review text."""
    id_column: str = ""
    """Column that holds the id; a repeated id gets the number of its row."""
    place_column: str = ""
    """Column that holds the name of the place, which releases mask."""
    rating_column: str = ""
    """Column that holds the star rating."""
    source_column: str = ""
    """Column that says where a review comes from."""
    group_column: str = ""
    """Column whose equal values stay in one split, such as document or place; never guessed."""
    encoding: str = ""
    """Encoding of the files; needed only where they are neither UTF-8 nor marked."""
    sheet: str = ""
    """Sheet of a workbook, by its name or its number from 1; the first if not given."""


@dataclass(frozen=True, slots=True)
class Ingest:
    """Which rows become reviews, and how they are split."""

    max_chars: int = 4000
    """Longest review in characters; longer ones are rejected."""
    on_bad_row: Literal["reject", "stop"] = "reject"
    """A row that cannot be read is stored in `rejected`, or it stops the run."""
    test_share: float = 0.0676
    """Share of the reviews that go to test."""
    valid_share: float = 0.0676
    """Share of the reviews that go to valid."""
    test_count: int = 0
    """Reviews that go to test, gold included; 0 leaves it to `test_share`. The paper has 5,000."""
    valid_count: int = 0
    """Reviews that go to valid; 0 leaves it to `valid_share`. The paper has 5,000."""


@dataclass(frozen=True, slots=True)
class Annotate:
    """Who segments, tags and parses."""

    backend: str = "embedded"
    """`embedded`, or `ckip` and `ckip-stanza` with their extras."""
    models: str = ""
    """Folder with models of the backend; empty takes those shipped."""
    chunk: int = 512
    """Reviews in one task and one transaction; results do not depend on it."""


@dataclass(frozen=True, slots=True)
class Rules:
    """How the rule engine labels."""

    convention: Convention = "natural"
    """`natural` labels sensibly; `paper` reproduces the habits of the paper's released data."""


@dataclass(frozen=True, slots=True)
class Discriminate:
    """The judge that says YY, YN or NX about each triplet of the rules."""

    mode: Literal["cross-fit", "paper"] = "cross-fit"
    """`cross-fit`: no member judges what it was trained on; `paper`: the single classifier of section 3.3.2."""
    folds: int = 2
    """Parts into which `cross-fit` divides the reviews."""
    epochs: int = 2
    """Passes over the training data; small training sets get more."""
    least: int = 20_000
    """Fewest reviews of train for a `cross-fit` judge, which with fewer cannot be trusted; 0: always train one."""
    most: int = 100_000
    """Most reviews of train that are trained on; a tenth as many of valid choose the threshold."""


@dataclass(frozen=True, slots=True)
class SelfTrain:
    """The rounds that add what models find to what the rules found."""

    variants: tuple[str, ...] = ("E",)
    """Variants to run: `E`, or `A` to `D` of the paper's Algorithm 1."""
    iterations: int = 3
    """Rounds after the first model, for A to D; E has one round."""
    epochs: int = 2
    """Passes over the training data in each training."""
    confidence: float = 0.5
    """Predictions below this confidence are not added; the paper adds all (0)."""
    most: int = 100_000
    """Most reviews of train that are trained on."""


@dataclass(frozen=True, slots=True)
class Paper:
    """The profile `paper`: a sequence-to-sequence model as tagger and judge. Numbers are those of the paper's
    appendix 11.1.
    """

    base: str = ""
    """Base model: a hub name such as `google/mt5-base`, or a folder."""
    template: Literal["1", "2"] = "2"
    """Prompt template of the paper's Figure 5."""
    given_aspects: bool = True
    """With template 2, the question names the aspects known so far."""
    constrained: bool = True
    """Answers keep to the format and to words of the review; turn it off only to compare."""
    max_input: int = 1024
    """Longest input, in tokens."""
    max_output: int = 512
    """Longest answer of the tagger, in tokens."""
    max_verdict: int = 64
    """Longest answer of the judge, in tokens."""
    epochs: int = 5
    """Passes over the training data of the tagger."""
    judge_epochs: int = 3
    """Passes over the training data of the judge."""
    batch_tokens: int = 8192
    """Tokens in an optimiser step, padding included; taken in parts where memory is short."""
    generate_tokens: int = 32768
    """Tokens in a batch when the model writes."""
    rate: float = 3e-4
    """Learning rate."""
    patience: int = 0
    """Training stops after so many epochs without a better score; 0: never."""
    save_steps: int = 2000
    """Optimiser steps between two checkpoints."""
    precision: Literal["auto", "bf16", "fp32"] = "auto"
    """`auto` takes bf16 where the device has it."""
    processes: int = 0
    """Training processes; 0: one for each GPU."""


@dataclass(frozen=True, slots=True)
class Evaluate:
    """What the build is scored against."""

    gold: str = ""
    """Labelled reviews as JSON lines of `id` and `triplets`; they become the test split."""


@dataclass(frozen=True, slots=True)
class ReleaseSettings:
    """What is written under releases/."""

    name: str = "restaurant-aste"
    """Name of the dataset; versions are counted for each name."""
    version: str = ""
    """The version itself; empty: 0.1.0, or what follows from the changes."""
    bump: Bump = "auto"
    """Raise at least this part of the version."""
    licence: str = ""
    """Licence of the release, as an SPDX name or expression; `LicenseRef-NAME` for terms of your own."""
    licences: tuple[str, ...] = ()
    """Licences of parts of the input, as `SOURCE=LICENCE`; a source is a value of the source column."""
    creator: str = ""
    """Who made the dataset, for card and citation."""
    contact: str = ""
    """Where questions and corrections go: a mail address or a page."""
    url: str = ""
    """Where the dataset can be found."""
    date: str = ""
    """Date of the release (YYYY-MM-DD); empty: the day it is made."""
    max_drop: float = 0.2
    """A release that loses more than this share of its parent needs a reason."""
    drop_reason: str = ""
    """Why a release may lose more; written into CHANGES.md."""
    empty: Empty = "keep"
    """Reviews in which nothing was found: keep them as unverified negatives, or drop them."""
    script: ReleaseScript = "keep"
    """Convert texts to one script, or keep them as they are."""
    ids: Literal["keep", "hash"] = "keep"
    """`hash` replaces review ids that lead back to a site."""
    train_source: str = ""
    """Variant that the train split is taken from; empty: the first of `self_train.variants`."""
    min_confidence: float = 0.3
    """Leave out triplets of a lower calibrated confidence; those without a confidence stay."""


@dataclass(frozen=True, slots=True)
class Config:
    """All settings of a build."""

    seed: int = 13
    """Seed of everything random."""
    workers: int = 2
    """Worker processes; results do not depend on them."""
    threads: int = 2
    """Threads of training; another number gives other weights."""
    engine: Literal["local", "dask"] = "local"
    """`local` uses processes of this machine, `dask` the workers of a cluster."""
    scheduler: str = ""
    """Address of the cluster's scheduler; empty starts one on this machine."""
    shard: int = 1024
    """Reviews predicted in one task; another number may change a score's last digit."""
    profile: Literal["embedded", "paper"] = "embedded"
    """`embedded` models run anywhere; `paper` fine-tunes a sequence-to-sequence model."""
    input: Input = field(default_factory=Input)
    ingest: Ingest = field(default_factory=Ingest)
    annotate: Annotate = field(default_factory=Annotate)
    rules: Rules = field(default_factory=Rules)
    discriminate: Discriminate = field(default_factory=Discriminate)
    self_train: SelfTrain = field(default_factory=SelfTrain)
    paper: Paper = field(default_factory=Paper)
    evaluate: Evaluate = field(default_factory=Evaluate)
    release: ReleaseSettings = field(default_factory=ReleaseSettings)


_SPELLINGS = {"release.license": "release.licence"}
PRESETS: Mapping[str, Mapping[str, object]] = {
    "embedded": {},
    "paper": {"self_train.confidence": 0.0, "self_train.variants": ("C",), "discriminate.mode": "paper"},
}
"""What a profile changes in the defaults: the paper has one discriminator, its own variants, and adds every
prediction that the discriminator lets through.
"""


@dataclass(frozen=True, slots=True)
class Resolved:
    """A config and, for each dotted key, the place its value came from: `default`, `profile NAME`, `FILE` or `option`."""

    config: Config
    origin: Mapping[str, str]

    def toml(self) -> str:
        """All settings as a TOML file that `resolve` reads back; a comment on each line says where its value came from."""
        sections: dict[str, list[str]] = {}
        for key in sorted(self.origin):
            section, _, name = key.rpartition(".")
            origin = printable(self.origin[key])
            sections.setdefault(section, []).append(f"{name} = {_written(_get(self.config, key))}  # {origin}")
        return (
            "\n\n".join("\n".join([f"[{name}]", *lines] if name else lines) for name, lines in sorted(sections.items()))
            + "\n"
        )


def resolve(path: Path | None = None, options: Mapping[str, object] | None = None) -> Resolved:
    """Defaults, then the TOML file, then `options` by dotted key ("release.licence")."""
    values: dict[str, tuple[object, str]] = {}
    if path is not None:
        values |= {key: (value, str(path)) for key, value in _flatten(_read(path), str(path)).items()}
    values |= {key: (value, "option") for key, value in (options or {}).items()}
    values = {_SPELLINGS.get(key, key): value for key, value in values.items()}
    known = _keys(Config)
    for key, (_, where) in values.items():
        if key not in known:
            close = difflib.get_close_matches(key, known, 1)
            raise ConfigError(
                f"unknown key {key!r}",
                where=where,
                fix=f"did you mean {close[0]!r}?" if close else "known: " + ", ".join(sorted(known)),
            )
    profile = str(values.get("profile", (Config().profile, ""))[0])
    values = {key: (value, f"profile {profile}") for key, value in PRESETS.get(profile, {}).items()} | values
    config = _build(Config, "", values)
    _limits(config, {key: where for key, (_, where) in values.items()})
    config = _with_licences(config, {key: where for key, (_, where) in values.items()})
    return Resolved(config, {key: values[key][1] if key in values else "default" for key in known})


Made = typing.TypeVar("Made")


def filled(cls: type[Made], options: Mapping[str, object], where: str = "option") -> Made:
    """A dataclass of settings, sections included, from `options` by dotted key; ConfigError as `resolve` has it."""
    known = _keys(cls)
    for key in options:
        if key not in known:
            close = difflib.get_close_matches(key, known, 1)
            raise ConfigError(
                f"unknown key {key!r}",
                where=where,
                fix=f"did you mean {close[0]!r}?" if close else "known: " + ", ".join(known),
            )
    return typing.cast(Made, _build(cls, "", {key: (value, where) for key, value in options.items()}))


def _limits(config: Config, origin: Mapping[str, str]) -> None:
    """Values that no stage could work with."""
    known = set(VARIANTS)
    checks = {
        "workers": (config.workers >= 1, "at least 1"),
        "threads": (config.threads >= 1, "at least 1"),
        "shard": (config.shard >= 1, "at least 1"),
        "scheduler": (not config.scheduler or config.engine == "dask", 'for the engine "local": set engine = "dask"'),
        "annotate.chunk": (config.annotate.chunk >= 1, "at least 1"),
        "ingest.max_chars": (config.ingest.max_chars >= 1, "at least 1"),
        "ingest.test_share": (0 <= config.ingest.test_share < 1, "a share from 0 to below 1"),
        "ingest.valid_share": (
            0 <= config.ingest.valid_share + config.ingest.test_share < 1,
            "a share that leaves some for train",
        ),
        "ingest.test_count": (config.ingest.test_count >= 0, "0 or more"),
        "ingest.valid_count": (config.ingest.valid_count >= 0, "0 or more"),
        "discriminate.epochs": (config.discriminate.epochs >= 1, "at least 1"),
        "discriminate.least": (config.discriminate.least >= 0, "at least 0"),
        "discriminate.most": (config.discriminate.most >= 10, "at least 10"),
        "self_train.most": (config.self_train.most >= 10, "at least 10"),
        "discriminate.folds": (config.discriminate.folds >= 2, "at least 2"),
        "self_train.epochs": (config.self_train.epochs >= 1, "at least 1"),
        "self_train.iterations": (config.self_train.iterations >= 0, "at least 0"),
        "self_train.confidence": (0 <= config.self_train.confidence <= 1, "from 0 to 1"),
        "self_train.variants": (
            bool(config.self_train.variants) and set(config.self_train.variants) <= known,
            "one or more of " + ", ".join(VARIANTS),
        ),
        "release.min_confidence": (0 <= config.release.min_confidence <= 1, "from 0 to 1"),
        "release.max_drop": (0 <= config.release.max_drop <= 1, "a share from 0 to 1"),
        "release.date": (_is_day(config.release.date), "a day, YYYY-MM-DD"),
        **{
            f"paper.{name}": (getattr(config.paper, name) >= 1, "at least 1")
            for name in (
                "max_input",
                "max_output",
                "max_verdict",
                "epochs",
                "judge_epochs",
                "batch_tokens",
                "generate_tokens",
                "save_steps",
            )
        },
        **{f"paper.{name}": (getattr(config.paper, name) >= 0, "at least 0") for name in ("patience", "processes")},
        "paper.rate": (config.paper.rate > 0, "above 0"),
        "paper.base": (
            config.profile != "paper" or bool(config.paper.base),
            'a model: set it to "google/mt5-base" or a folder',
        ),
    }
    if config.profile == "paper":
        checks["discriminate.mode"] = (
            config.discriminate.mode == "paper",
            '"paper", the only one that the profile "paper" has',
        )
        checks["self_train.variants"] = (
            set(config.self_train.variants) <= set("ABCD"),
            'A, B, C or D, those that the profile "paper" has',
        )
    elif "E" in config.self_train.variants:
        checks["discriminate.mode"] = (
            config.discriminate.mode == "cross-fit",
            '"cross-fit", which variant E starts from',
        )
    for key, (good, due) in checks.items():
        if not good:
            raise ConfigError(f"{key} = {_shown(_get(config, key))} is not {due}", where=origin.get(key, ""))


def _with_licences(config: Config, origin: Mapping[str, str]) -> Config:
    """The licences as SPDX spells them; ConfigError for one that is not on its list."""
    licence = canonical(config.release.licence, origin.get("release.licence", ""))
    licences = by_source(config.release.licences, origin.get("release.licences", ""))
    pairs = tuple(f"{source}={name}" for source, name in sorted(licences.items()))
    return dataclasses.replace(config, release=dataclasses.replace(config.release, licence=licence, licences=pairs))


def _is_day(text: str) -> bool:
    try:
        return not text or date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False


def flat(section: object, prefix: str = "") -> dict[str, object]:
    """A config dataclass as dotted keys and plain values, for keys and manifests."""
    out: dict[str, object] = {}
    for spec in dataclasses.fields(section):  # type: ignore[arg-type]
        value = getattr(section, spec.name)
        if dataclasses.is_dataclass(value):
            out |= flat(value, f"{prefix}{spec.name}.")
        else:
            out[prefix + spec.name] = list(value) if isinstance(value, tuple) else value
    return out


def _read(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise ConfigError("no such config file", where=str(path)) from error
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigError(f"cannot be read as TOML: {error}", where=str(path)) from error


def _flatten(raw: Mapping[str, Any], where: str, prefix: str = "") -> dict[str, object]:
    out: dict[str, object] = {}
    for key, value in raw.items():
        out |= _flatten(value, where, f"{prefix}{key}.") if isinstance(value, dict) else {prefix + key: value}
    return out


def _keys(cls: type) -> list[str]:
    return list(flat(cls()))


def _build(cls: type, prefix: str, values: Mapping[str, tuple[object, str]]) -> Any:
    hints = typing.get_type_hints(cls)
    made: dict[str, object] = {}
    for spec in dataclasses.fields(cls):
        key, hint = prefix + spec.name, hints[spec.name]
        if dataclasses.is_dataclass(hint):
            made[spec.name] = _build(typing.cast(type, hint), key + ".", values)
        elif key in values:
            made[spec.name] = _checked(key, hint, *values[key])
    return cls(**made)


def _checked(key: str, hint: Any, value: object, where: str) -> object:
    origin = typing.get_origin(hint)
    if origin is Literal:
        choices = typing.get_args(hint)
        if value not in choices:
            raise ConfigError(f"{key} = {value!r} is not one of {', '.join(map(repr, choices))}", where=where)
        return value
    if origin is tuple:
        if not isinstance(value, (list, tuple)) or not all(isinstance(item, str) for item in value):
            raise ConfigError(f"{key} = {value!r} is no list of strings", where=where)
        return tuple(value)
    if hint is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if not isinstance(hint, types.GenericAlias) and (
        not isinstance(value, hint) or isinstance(value, bool) is not (hint is bool)
    ):
        raise ConfigError(f"{key} = {value!r} is no {hint.__name__}", where=where)
    return value


def _get(config: object, key: str) -> object:
    for part in key.split("."):
        config = getattr(config, part)
    return config


def _written(value: object) -> str:
    """A value as TOML writes it."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    return f"[{', '.join(map(_written, value))}]" if isinstance(value, tuple) else repr(value)


def _shown(value: object) -> str:
    return f'"{value}"' if isinstance(value, str) else str(list(value)) if isinstance(value, tuple) else str(value)
