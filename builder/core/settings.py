"""The settings of a build, as frozen dataclasses: one a section of `settings.toml`, with the limits of its values.

A sentence under each field says what it does; the reference of settings is generated from them. `builder.core.config`
reads and checks them. Those of models are in builder.core.model_settings.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import date
from typing import Literal

from builder.core.annotators import Annotators
from builder.core.limits import Limits, at_least, from_0_to_1
from builder.core.model_settings import Discriminate, EncoderSettings, Paper, SelfTrain, is_device

Convention = Literal["natural", "paper", "described"]
ReleaseScript = Literal["keep", "traditional", "simplified"]
Empty = Literal["keep", "drop"]
Bump = Literal["auto", "patch", "minor", "major"]


RESTAURANT = "restaurant"
"""The domain of a build that names none."""
CORE = "none"
"""The domain that adds nothing: what any review says."""


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

    def limits(self) -> Limits:
        share = self.test_share + self.valid_share
        return {
            "max_chars": at_least(1, self.max_chars),
            "test_share": (0 <= self.test_share < 1, "a share from 0 to below 1"),
            "valid_share": (0 <= share < 1, "a share that leaves some for train"),
            "test_count": at_least(0, self.test_count),
            "valid_count": at_least(0, self.valid_count),
        }


@dataclass(frozen=True, slots=True)
class Annotate:
    """Who segments, tags and parses."""

    backend: str = "embedded"
    """`embedded`, or with their extras `ckip`, `ckip-stanza`, and `hub`: token-classification models of your choice."""
    models: str = ""
    """Folder with models of the backend; empty takes those shipped."""
    chunk: int = 1024
    """Reviews in one task and one transaction; results do not depend on it."""

    def limits(self) -> Limits:
        return {"chunk": at_least(1, self.chunk)}


@dataclass(frozen=True, slots=True)
class Lexicons:
    """Which words the lexicon holds."""

    dir: str = ""
    """Folder with lexicons of your own, in the layout of `lexicons/`."""
    mode: Literal["add", "replace"] = "add"
    """`add` lays the folder over the shipped lexicon, and its words win; `replace` uses it alone."""


@dataclass(frozen=True, slots=True)
class Rules:
    """How the rule engine labels."""

    dir: str = ""
    """Folder with rules of your own (`*.toml`)."""
    mode: Literal["add", "replace"] = "add"
    """`add` lays the folder over the shipped rules, and a rule of the same name wins; `replace` uses it alone."""
    convention: Convention = "natural"
    """`natural` labels sensibly; `paper` has the habits of the paper's released data, `described` does what its section
    3.2 describes.
    """


@dataclass(frozen=True, slots=True)
class Evaluate:
    """What the build is scored against."""

    gold: str = ""
    """Reviews labelled in full: JSON lines of `id` and `triplets`, which become the test split; or `pool:ID`, what
    people decided in a pool."""
    gold_annotators: Annotators = ""
    """Who labelled the gold file, where its rows do not say so in their field `annotators`; empty: it is not stated."""
    silver: str = ""
    """Reviews of test that a language model labelled: such a file, or `pool:ID`, or `pool:ID/MODEL`. They are released
    with its labels."""


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
    min_confidence: float = 0.0
    """Leave out triplets of a lower calibrated confidence; those without a confidence stay. Variant E has left out by
    then what does not pay for F1; more makes a release more precise, and smaller."""

    def limits(self) -> Limits:
        return {
            "min_confidence": from_0_to_1(self.min_confidence),
            "max_drop": from_0_to_1(self.max_drop),
            "date": (_is_day(self.date), "a day, YYYY-MM-DD"),
        }


@dataclass(frozen=True, slots=True)
class Config:
    """All settings of a build."""

    seed: int = 13
    """Seed of everything random."""
    workers: int = 2
    """Worker processes; results do not depend on them."""
    threads: int = 2
    """Threads of training, shared out among the folds; more threads for a fold give other weights."""
    engine: Literal["local", "dask"] = "local"
    """`local` uses processes of this machine, `dask` the workers of a cluster."""
    scheduler: str = ""
    """Address of the cluster's scheduler; empty starts one on this machine."""
    shard: int = 1024
    """Reviews predicted in one task; another number may change a score's last digit."""
    profile: Literal["embedded", "rules", "encoder", "paper"] = "embedded"
    """`embedded` models run anywhere; `rules` trains none; `encoder` and `paper` fine-tune pretrained models."""
    domain: str = RESTAURANT
    """What the reviews are about: a domain pack that builder brings (`restaurant`, `laptop`), the folder of your own,
    or `none` for the words and rules of any review."""
    device: str = "auto"
    """Where pretrained models run: `auto` (a GPU if there is one), `cpu`, `cuda`, `cuda:1` or `mps`. The small networks
    of `embedded` run on the CPU."""
    input: Input = field(default_factory=Input)
    ingest: Ingest = field(default_factory=Ingest)
    annotate: Annotate = field(default_factory=Annotate)
    lexicons: Lexicons = field(default_factory=Lexicons)
    rules: Rules = field(default_factory=Rules)
    discriminate: Discriminate = field(default_factory=Discriminate)
    self_train: SelfTrain = field(default_factory=SelfTrain)
    encoder: EncoderSettings = field(default_factory=EncoderSettings)
    paper: Paper = field(default_factory=Paper)
    evaluate: Evaluate = field(default_factory=Evaluate)
    release: ReleaseSettings = field(default_factory=ReleaseSettings)

    def limits(self) -> Limits:
        """The limits of the top settings, and those that concern two sections."""
        limits = {
            "workers": at_least(1, self.workers),
            "threads": at_least(1, self.threads),
            "shard": at_least(1, self.shard),
            "device": (is_device(self.device), "`auto`, `cpu`, `cuda`, `cuda:` with a number, or `mps`"),
            "scheduler": (not self.scheduler or self.engine == "dask", 'for the engine "local": set engine = "dask"'),
        }
        mode, variants = self.discriminate.mode, set(self.self_train.variants)
        if self.profile == "paper":
            limits["paper.base"] = (bool(self.paper.base), 'a model: set it to "google/mt5-base" or a folder')
            limits["discriminate.mode"] = (mode == "paper", '"paper", the only one that the profile "paper" has')
            limits["self_train.variants"] = (
                variants <= set("ABCD"),
                'A, B, C or D, those that the profile "paper" has',
            )
        elif self.profile == "rules":
            limits["self_train.variants"] = (variants == {"E"}, 'E, the only one that the profile "rules" has')
        elif self.profile == "encoder":
            base = bool(self.encoder.base), 'an encoder: set it to "hfl/chinese-macbert-base" or a folder'
            limits["encoder.base"] = base
        if self.profile in ("embedded", "encoder") and "E" in variants:
            limits["discriminate.mode"] = (mode != "paper", '"auto" or "cross-fit", which variant E starts from')
        return limits


def _is_day(text: str) -> bool:
    try:
        return not text or date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False
