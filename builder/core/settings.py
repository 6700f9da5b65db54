"""The settings of a build, as frozen dataclasses: one a section of `settings.toml`, with the limits of its values.

A sentence under each field says what it does; the reference of settings is generated from them. `builder.core.config`
reads and checks them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Literal

from builder.core.limits import Limits, above_0, at_least, from_0_to_1
from builder.core.wording import Annotators

VARIANTS = "ABCDE"
DEFAULT_WORKDIR = Path("workdir")


@dataclass(frozen=True, slots=True)
class Discriminate:
    """The judge that says YY, YN or NX about each triplet of the rules."""

    mode: Literal["auto", "paper"] = "auto"
    """`auto`: the model that builder ships, or nobody where there is none for such words and rules; `paper`: the
    classifier of section 3.3.2, trained on the build's reviews.
    """
    epochs: int = 2
    """Passes over the training data of `paper`; small training sets get more."""
    most: int = 100_000
    """Most reviews of train that `paper` is trained on; a tenth as many of valid choose the epoch."""

    def limits(self) -> Limits:
        return {"epochs": at_least(1, self.epochs), "most": at_least(10, self.most)}


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

    def limits(self) -> Limits:
        known = bool(self.variants) and set(self.variants) <= set(VARIANTS)
        return {
            "most": at_least(10, self.most),
            "epochs": at_least(1, self.epochs),
            "iterations": at_least(0, self.iterations),
            "confidence": from_0_to_1(self.confidence),
            "variants": (known, "one or more of " + ", ".join(VARIANTS)),
        }


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
    compare_templates: bool = False
    """Train a model with each template on all of the rules' triplets, for Table 3 of the paper."""
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
    batch: int = 0
    """Examples in an optimiser step, whatever their tokens; 0: by `batch_tokens`. The paper has 2."""
    generate_tokens: int = 32768
    """Tokens in a batch when the model writes."""
    rate: float = 3e-4
    """Highest learning rate."""
    warmup: float = 0.05
    """Share of the steps in which the rate rises; it falls afterwards."""
    weight_decay: float = 0.01
    """Weight decay of the optimiser."""
    precision: Literal["auto", "bf16", "fp32"] = "auto"
    """`auto` takes bf16 where the device has it."""

    def limits(self) -> Limits:
        sizes = ("max_input", "max_output", "max_verdict", "batch_tokens", "generate_tokens")
        counts = ("epochs", "judge_epochs")
        return {
            **{name: at_least(1, getattr(self, name)) for name in (*sizes, *counts)},
            **{name: at_least(0, getattr(self, name)) for name in ("batch", "weight_decay")},
            "rate": above_0(self.rate),
            "warmup": from_0_to_1(self.warmup),
        }


@dataclass(frozen=True, slots=True)
class EncoderSettings:
    """The profile `encoder`: a pretrained encoder under the project's own tagger and judge."""

    base: str = ""
    """BERT, RoBERTa, ELECTRA, DeBERTa or ModernBERT: a hub name such as `hfl/chinese-macbert-base`, or a folder."""
    rate: float = 3e-5
    """Learning rate of the encoder's top layer."""
    batch_chars: int = 4096
    """Characters in an optimiser step, padding included; taken in parts where memory is short."""
    precision: Literal["auto", "bf16", "fp32"] = "auto"
    """`auto` takes bf16 where the device has it."""

    def limits(self) -> Limits:
        return {
            "rate": above_0(self.rate),
            "batch_chars": at_least(1, self.batch_chars),
        }


def is_device(text: str) -> bool:
    """Whether `text` names a device: `auto`, `cpu`, `mps`, `cuda`, or `cuda:` with a number."""
    return text in ("auto", "cpu", "mps") or re.fullmatch(r"cuda(:\d+)?", text) is not None


Convention = Literal["natural", "paper", "described"]
ReleaseScript = Literal["keep", "traditional", "simplified"]
Empty = Literal["keep", "drop"]


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
    date_column: str = ""
    """Column that says when a review was written."""
    source_column: str = ""
    """Column that says where a review comes from."""
    group_column: str = ""
    """Column whose equal values stay in one split, such as document or place; never guessed."""
    keep_columns: tuple[str, ...] = ()
    """Columns that pass through to the release, such as date and branch, masked as the text is."""
    encoding: str = ""
    """Encoding of the files; needed only where they are neither UTF-8 nor marked."""
    sheet: str = ""
    """Sheet of a workbook, by its name or its number from 1; the first if not given."""

    def limits(self) -> Limits:
        names = self.keep_columns
        return {"keep_columns": (all(names) and len({*names}) == len(names), "names of columns, none of them twice")}


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
    """Reviews that go to test, gold included; 0 leaves it to `test_share`. The paper has 5,000. If `release.empty` is
    `drop`, those with a triplet count."""
    valid_count: int = 0
    """Reviews that go to valid, counted likewise; 0 leaves it to `valid_share`. The paper has 5,000."""

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
    """`embedded`, or with their extras `ckip` and `ckip-stanza`."""
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

    name: str = ""
    """Name of the dataset, whose versions are counted; empty: that of the working directory, or of the first file where
    it is `workdir`."""
    version: str = ""
    """The version itself; empty: 0.1.0, or what follows from the changes."""
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
    whole_products: Literal["keep", "drop"] = "keep"
    """Triplets whose aspect is what is reviewed as a whole (電腦, 東西, 這家店): keep them, or drop them where your
    labels name no such aspect. What people labelled stays."""
    passable: Literal["keep", "POS", "NEU"] = "keep"
    """The polarity of what is just good enough (還可以, 還行, 夠了): as it was found, or always the same. What people
    labelled stays."""
    modifiers: Literal["keep", "unpointed", "drop"] = "keep"
    """What stands before an aspect in `aspect_full` (這台筆電, 他們家的麵): keep it, leave out 這台 and 那家, or
    drop all of it. What people labelled stays."""
    lead: Literal["keep", "clause"] = "keep"
    """What stands before an opinion in `opinion_full`: keep what was found, or take all back to a mark or to
    the aspect or opinion of any triplet before it (還是一直都很好吃). What people labelled stays."""
    particles: Literal["keep", "add", "drop"] = "keep"
    """Particles behind an opinion in `opinion_full` (好吃啊, 大的): as they were found, all taken in (`add`), or
    without 的 and 了 (`drop`). What people labelled stays."""
    min_confidence: float = 0.0
    """Leave out triplets of a lower calibrated confidence; those without a confidence stay. Variant E has left out by
    then what does not pay for F1; more makes a release more precise, and smaller."""

    def limits(self) -> Limits:
        return {
            "min_confidence": from_0_to_1(self.min_confidence),
            "max_drop": from_0_to_1(self.max_drop),
            "date": (_is_day(self.date), "a day, YYYY-MM-DD"),
            "version": (
                re.fullmatch(r"(\d+\.\d+\.\d+)?", self.version) is not None,
                'MAJOR.MINOR.PATCH, such as "0.1.0"',
            ),
            "name": (
                not self.name.startswith(".") and not set(self.name) & {"/", "\\"},
                "a name without slashes, and no dot first",
            ),
        }


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
    profile: Literal["embedded", "rules", "encoder", "paper"] = "embedded"
    """`embedded` models run anywhere; `rules` trains none; `encoder` and `paper` fine-tune pretrained models."""
    domain: str = RESTAURANT
    """What the reviews are about: a domain pack that builder brings (`restaurant`, `laptop`, `hotels`), the folder of
    your own, or `none` for the words and rules of any review."""
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
        taken = not self.release.train_source or self.release.train_source in variants
        limits["release.train_source"] = taken, "among self_train.variants, " + ", ".join(self.self_train.variants)
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
            limits["discriminate.mode"] = (mode != "paper", '"auto", which variant E starts from')
        return limits


def _is_day(text: str) -> bool:
    try:
        return not text or date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False
