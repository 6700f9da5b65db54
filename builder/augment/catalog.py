"""The methods by name: a line about each, and where its loader stands.

In: a name and settings. Out: the method, ready to propose. It is imported when asked for: the list costs nothing.

To add one: a file with `load(settings: Settings) -> Method`, and a line here. A loader trains or reads its model, and
its method's `signature` covers it; a method may also have `digest`, its model's, which the manifest then names.
"""

from __future__ import annotations

import importlib
from typing import cast

from builder.augment.records import Method
from builder.augment.settings import AugmentSettings
from builder.core.errors import ConfigError, did_you_mean

METHODS: dict[str, tuple[str, str]] = {
    "synonym": (
        "words replaced by words that mean the same: lexicons/ and a thesaurus (Chinese), WordNet (English)",
        "builder.augment.methods.synonym:load",
    ),
    "masked-seq2seq": (
        "a fragment written anew around its labelled words by a sequence-to-sequence model (Li et al. 2020)",
        "builder.augment.neural:load_masked_seq2seq",
    ),
    "cbert": (
        "words replaced by a masked language model that knows the label (Wu et al. 2019)",
        "builder.augment.neural:load_cbert",
    ),
    "bert": ("the same without the label", "builder.augment.neural:load_bert"),
    "context+label": (
        "words replaced by a bidirectional LSTM language model that knows the label (Kobayashi 2018)",
        "builder.augment.neural:load_context_label",
    ),
    "context": ("the same without the label", "builder.augment.neural:load_context"),
    "gpt2": (
        "half of the sentence written anew by a causal language model, given its aspects first",
        "builder.augment.neural:load_gpt2",
    ),
    "style-transfer": (
        "the words that speak for a label replaced under the opposite one: counterfactual rows",
        "builder.augment.neural:load_style_transfer",
    ),
    "eda": (
        "synonyms, insertions, swaps and deletions of a tenth of the words",
        "builder.augment.methods.eda:load",
    ),
    "spelling": (
        "misspelt words: same sound or shape (Chinese), rules and keyboard (English)",
        "builder.augment.methods.spelling:load",
    ),
    "split": ("words, or characters, split in two", "builder.augment.methods.split:load"),
    "word-embs": (
        "words replaced by what a masked language model expects in their place",
        "builder.augment.methods.word_embs:load",
    ),
    "back-translation": (
        "translated into another language and back by two models of yours (Sennrich et al. 2016)",
        "builder.augment.methods.back_translation:load",
    ),
    "boostaug": (
        "another method's candidates, filtered by a surrogate that was trained on other folds",
        "builder.augment.methods.boostaug:load",
    ),
    "monoaug": ("the same with one surrogate, trained on all", "builder.augment.methods.boostaug:load_mono"),
}


def check(name: str) -> None:
    """ConfigError, with the known names, for one that is not known."""
    if name not in METHODS:
        raise ConfigError(
            f"unknown augmentation method {name!r}", fix=f"{did_you_mean(name, METHODS)}known: {', '.join(METHODS)}"
        )


def load(name: str, settings: AugmentSettings) -> Method:
    """The method `name`, ready to propose. ConfigError for an unknown name, ModelError where its model is missing."""
    check(name)
    module, _, function = METHODS[name][1].partition(":")
    return cast(Method, getattr(importlib.import_module(module), function)(settings))
