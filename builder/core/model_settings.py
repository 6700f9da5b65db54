"""The settings of judges, taggers and the models of the profiles: frozen dataclasses with the limits of their values.

A sentence under each field says what it does. `builder.core.settings` holds the sections of a whole build.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from builder.core.limits import Limits, above_0, at_least, from_0_to_1

VARIANTS = "ABCDE"


@dataclass(frozen=True, slots=True)
class Discriminate:
    """The judge that says YY, YN or NX about each triplet of the rules."""

    mode: Literal["auto", "cross-fit", "paper"] = "auto"
    """`auto`: the model that the domain's pack ships, `cross-fit` where it ships none; `cross-fit`: taggers are trained
    on the build's reviews, and none judges what it was trained on; `paper`: the classifier of section 3.3.2.
    """
    folds: int = 2
    """Parts into which `cross-fit` divides the reviews."""
    epochs: int = 2
    """Passes over the training data; small training sets get more."""
    least: int = 20_000
    """Fewest reviews of train for a `cross-fit` judge, which with fewer cannot be trusted; 0: always train one."""
    most: int = 100_000
    """Most reviews of train that are trained on; a tenth as many of valid choose the threshold."""
    label_weight: int = 20
    """For how many reviews of the rules one of `gain --teach` counts to the taggers of `cross-fit`; 0: for none."""

    def limits(self) -> Limits:
        return {
            "epochs": at_least(1, self.epochs),
            "least": at_least(0, self.least),
            "most": at_least(10, self.most),
            "folds": at_least(2, self.folds),
            "label_weight": at_least(0, self.label_weight),
        }


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
    patience: int = 0
    """Training stops after so many epochs without a better score; 0: never."""
    save_steps: int = 2000
    """Optimiser steps between two checkpoints."""
    precision: Literal["auto", "bf16", "fp32"] = "auto"
    """`auto` takes bf16 where the device has it."""
    processes: int = 0
    """Training processes; 0: one for each GPU."""

    def limits(self) -> Limits:
        sizes = ("max_input", "max_output", "max_verdict", "batch_tokens", "generate_tokens")
        counts = ("epochs", "judge_epochs", "save_steps")
        return {
            **{name: at_least(1, getattr(self, name)) for name in (*sizes, *counts)},
            **{name: at_least(0, getattr(self, name)) for name in ("patience", "processes", "batch", "weight_decay")},
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
    layer_decay: float = 0.9
    """Each layer learns at this share of the rate of the layer above; 1: all at the same rate."""
    head_rate: float = 1e-3
    """Learning rate of the layers above the encoder, which start from nothing."""
    warmup: float = 0.1
    """Share of the training in which the rates rise."""
    batch_chars: int = 4096
    """Characters in an optimiser step, padding included; taken in parts where memory is short."""
    gradient_checkpointing: bool = False
    """Compute activations twice to hold fewer: less memory, more time."""
    precision: Literal["auto", "bf16", "fp32"] = "auto"
    """`auto` takes bf16 where the device has it."""
    processes: int = 0
    """Training processes, each with a fold or a share of every batch; 0: one for each GPU."""
    compile: bool = False
    """Train with torch.compile: some minutes more at first, for fewer kernels a step. Needs a C++ compiler."""

    def limits(self) -> Limits:
        return {
            "processes": at_least(0, self.processes),
            "rate": above_0(self.rate),
            "head_rate": above_0(self.head_rate),
            "layer_decay": (0 < self.layer_decay <= 1, "a share above 0, at most 1"),
            "warmup": from_0_to_1(self.warmup),
            "batch_chars": at_least(1, self.batch_chars),
        }


def is_device(text: str) -> bool:
    """Whether `text` names a device: `auto`, `cpu`, `mps`, `cuda`, or `cuda:` with a number."""
    return text in ("auto", "cpu", "mps") or re.fullmatch(r"cuda(:\d+)?", text) is not None
