"""Cards: README.md of a release, and of a model that is published. Pure.

A release's card begins with front matter for dataset hubs. Then it says what a person needs to know before using it.

A model's card comes with `builder-model.json`. In: `ModelFacts`, gathered from a working directory. Out: text. The card
says what the model was trained on, by the digest of its release, how it scored, and how it is loaded again.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from builder.core.licences import known_to_hubs
from builder.core.records import POLARITIES
from builder.core.wording import NOT_STATED, table
from builder.release import augmentation_layers, origin, parquet_files, sections
from builder.release.manifest import MASKED, MASKING, UNMASKED, Content, Facts, interval, size_of
from builder.release.sections import quality_section
from builder.release.shelf import kept_columns
from builder.release.statistics import list_numbers

# ---- The card of a release

HUB_SPLITS = {"train": "train", "valid": "validation", "test": "test"}
_SIZES = ((1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"), (1_000_000, "100K<n<1M"))


_FILES = """## Files

`parquet/SPLIT-LAYER.parquet` and `data/SPLIT.jsonl` hold the same reviews; a split without \
reviews has no Parquet file. `paper/*.json`: the format of Lu et al.; its questions name the
aspects of the answer (input mode `given-aspects`), and `review_id` is the id of the review here. \
`metadata.json`: Croissant 1.1.
`manifest.json`: counts, signatures, configuration. `CHANGES.md`: what changed since the parent. \
`CITATION.cff`: how to cite. `SHA256SUMS`:
check with `sha256sum --check` or `builder verify`. Other formats: `builder export`."""


def card(facts: Facts, content: Mapping[str, Content]) -> str:
    """README.md of a release: front matter for dataset hubs, then what a reader needs to know.

    Args:
        facts: counts, statistics, settings and measures of the release.
        content: the release's Parquet files by path; splits, sizes and features are read from them.
    """
    front = chr(10).join(_front(facts, content))
    return f"""---
{front}
---

# {facts.name} {facts.version}

Aspect sentiment triplets of Chinese {origin.reviews_of(facts)}: what is judged (aspect), in which words (opinion), \
and how (polarity), each with its
place in the text. {origin.sentences(facts)}

{_splits(facts)}

```python
from datasets import load_dataset
dataset = load_dataset("PATH")              # all reviews; load_dataset("PATH", "silver") takes one layer alone
```

- Licence: \
{facts.licence or "not stated by the makers of this release; ask before you redistribute"}.{_by_source(facts)}
- Parent: {_parent(facts)}.
{f"- {facts.panel}{chr(10)}" if facts.panel else ""}- Left out on the way to the release: {_dropped(facts)}.

{quality_section(facts)}
{sections.fields_of(facts)}

{_augmented(facts)}## Numbers

{list_numbers(facts.statistics) if facts.statistics else "No statistics."}

{sections.made(facts)}

## Sources and licences

{sections.inputs(facts)}

{sections.uses(facts)}

{sections.ERRORS}

## Privacy

{_masks(facts)}

Masks are found by pattern and by a dictionary. {MASKING} Not found, and may remain: {UNMASKED}. \
{_columns(facts)} {_ids(facts)}

{_FILES}

{sections.agreement(facts)}## Maintenance and contact

{sections.maintenance(facts)}
"""


def _columns(facts: Facts) -> str:
    """Which columns of the input are released."""
    if not (kept := kept_columns(facts.config)):
        return "Place and author columns are not released."
    names = ", ".join(f"`{name}`" for name in kept)
    passed = f"What passes through from the input ({names}) is masked as texts are; an author's name alone stays in it."
    return f"{passed} Other place and author columns are not released."


def _by_source(facts: Facts) -> str:
    """The licences of the input's sources, where they are stated."""
    return (
        f" By source: {'; '.join(f'{source} {licence}' for source, licence in facts.licences.items())}."
        if facts.licences
        else ""
    )


def _masks(facts: Facts) -> str:
    """What was masked, and how often."""
    counts = [statistic.get("masked") for statistic in facts.statistics.values()]
    times = {mask: sum(int(count.get(mask, 0)) for count in counts if isinstance(count, Mapping)) for mask in MASKED}
    rows = [(mask, about, f"{times[mask]:,}") for mask, about in MASKED.items()]
    return table(["mask", "stands for", "times"], rows)


def _splits(facts: Facts) -> str:
    rows = [
        (s.name, s.source, s.annotation, *(f"{n:,}" for n in (s.reviews, s.triplets)),
         *(f"{s.polarities.get(name, 0):,}" for name in POLARITIES))
        for s in facts.splits
    ]  # fmt: skip
    splits = table(["split", "triplets from", "annotation", "reviews", "triplets", *POLARITIES], rows)
    if not facts.layers:
        return splits
    labelled = [
        (s.name, layer.annotation, layer.labelled_by, f"{layer.reviews:,}", f"{layer.triplets:,}")
        for s in facts.splits
        for layer in s.layers
    ]
    return f"{splits}\n\n{table(['split', 'layer', 'labelled by', 'reviews', 'triplets'], labelled)}"


def _dropped(facts: Facts) -> str:
    """What was left out, by reason and in words."""
    return (
        ", ".join(
            f"{sections.REASONS.get(reason, reason)} ({number:,})" for reason, number in facts.dropped.items() if number
        )
        or "nothing"
    )


def _parent(facts: Facts) -> str:
    if facts.parent_name:
        return f"{facts.parent_name} {facts.parent}; all of it is here, the augmentation beside it"
    return (facts.parent or "none") + (
        f"; this is a {facts.change} change of it, see CHANGES.md" if facts.parent else ""
    )


def _augmented(facts: Facts) -> str:
    """What the augmentation layers are, and what was measured on each."""
    parts = []
    for layer, about in facts.augmentations.items():
        numbers = [(key, value.replace("|", "\\|")) for key, value in flattened(about.get("measures"))]
        parts.append(
            f"""## Augmentation: {layer}

`load_dataset("PATH", "{layer}")`: {about["rows"]:,} rows made from {about["sources"]:,} sentences of {about["split"]} \
by the method
`{about["method"]}`, seed {about["seed"]}, for the view `{about["view"]}`. \
**Written by a machine, not by people**: labels were carried over from the
source by arithmetic, and {_safety(about)}. Every row names its source row and its edits. \
The same rows: `data/{about["split"]}-{layer}.jsonl`,
`paper/`, `bio/` (over characters); what was rejected, with the reason: `rejected/`.

{table(["measure", "value"], numbers)}

"""
        )
    return "".join(parts)


def _safety(about: Mapping[str, Any]) -> str:
    if about.get("config", {}).get("constraints") == "none":
        return "nobody asked whether they still hold"
    return "hold as far as the constraints see"


def flattened(value: object, before: str = "") -> Iterator[tuple[str, str]]:
    """Nested measures as (name, value) for a table."""
    if isinstance(value, Mapping):
        for key, member in value.items():
            yield from flattened(member, f"{before}, {key}" if before else str(key))
    else:
        yield before, f"{value:,}" if isinstance(value, int | float) and not isinstance(value, bool) else str(value)


def _front(facts: Facts, content: Mapping[str, Content]) -> Iterator[str]:
    """The front matter's lines. Values are JSON where YAML might read them otherwise."""
    languages = sorted({name for statistic in facts.statistics.values() for name in _names(statistic.get("languages"))})
    yield f"language: {json.dumps(sorted({name.partition('-')[0] for name in languages}) or ['zh'])}"
    if languages:
        yield f"language_details: {json.dumps(', '.join(languages))}"
    yield from _licence_lines(facts.licence)
    yield f"pretty_name: {json.dumps(facts.name, ensure_ascii=False)}"
    yield f"size_categories: [{size(facts.reviews)}]"
    yield f"annotations_creators: [{', '.join([*_gold_creators(facts), 'machine-generated'])}]"
    yield "task_categories: [token-classification]"
    yield "task_ids: []"
    yield (
        "tags: [aspect-sentiment-triplet-extraction, aspect-based-sentiment-analysis, weak-supervision, reviews, "
        "croissant]"
    )
    configs = _configs(content, facts.augmentations)
    yield "configs:"
    for name, splits in configs.items():
        yield from _config(name, splits)
    sizes = parquet_files.sizes(content)
    yield "dataset_info:"
    for name, splits in configs.items():
        augmented = name in facts.augmentations
        shape = augmentation_layers.schema() if augmented else parquet_files.schema(kept=kept_columns(facts.config))
        yield from _info(name, splits, sizes, content, parquet_files.features(shape))


def _licence_lines(licence: str) -> list[str]:
    if known_to_hubs(licence):
        return [f"license: {licence.lower()}"]
    return ["license: other", f"license_name: {json.dumps(licence or 'not-stated', ensure_ascii=False)}"]


def _gold_creators(facts: Facts) -> list[str]:
    """Who labelled gold by the names of hubs; those of a machine are named anyway."""
    if not facts.gold or facts.gold_annotators == "language model":
        return []
    return ["expert-generated"] if facts.gold_annotators else [NOT_STATED]


def _names(languages: object) -> list[str]:
    return list(languages) if isinstance(languages, Mapping) else []


Configs = dict[str, dict[str, list[str]]]


def _configs(content: Mapping[str, Content], augmentations: Iterable[str] = ()) -> Configs:
    """Config -> split -> files: by default what was not augmented, then each layer."""
    configs: Configs = {"default": {}}
    for split, hub in HUB_SPLITS.items():
        for layer in parquet_files.LAYERS:
            if (path := parquet_files.path(split, layer)) in content:
                configs["default"].setdefault(hub, []).append(path)
                configs.setdefault(layer, {})[hub] = [path]
    for layer in augmentations:
        for split, hub in HUB_SPLITS.items():
            if (path := parquet_files.path(split, layer)) in content:
                configs.setdefault(layer, {})[hub] = [path]
    return configs


def _config(name: str, splits: Mapping[str, list[str]]) -> Iterator[str]:
    yield f"- config_name: {name}"
    if name == "default":
        yield "  default: true"
    yield "  data_files:"
    for split, paths in splits.items():
        yield f"  - split: {split}"
        yield f"    path: {paths[0]}" if len(paths) == 1 else f"    path: [{', '.join(paths)}]"


def _info(
    name: str,
    splits: Mapping[str, list[str]],
    sizes: Mapping[str, tuple[int, int]],
    content: Mapping[str, Content],
    features: Sequence[Mapping[str, object]],
) -> Iterator[str]:
    """Features and sizes of a config. JSON is YAML: the nested features stand on one line."""
    yield f"- config_name: {name}"
    yield f"  features: {json.dumps(features)}"
    yield "  splits:"
    for split, paths in splits.items():
        yield f"  - name: {split}"
        yield f"    num_bytes: {sum(sizes[path][1] for path in paths)}"
        yield f"    num_examples: {sum(sizes[path][0] for path in paths)}"
    used = [path for paths in splits.values() for path in paths]
    yield f"  download_size: {sum(size_of(content[path]) for path in used)}"
    yield f"  dataset_size: {sum(sizes[path][1] for path in used)}"


def size(number: int) -> str:
    """The size category of so many reviews."""
    return next((name for limit, name in _SIZES if number < limit), "1M<n<10M")


def _ids(facts: Facts) -> str:
    if facts.config.get("release.ids") == "hash":
        return "Review ids are hashes that lead back to no site."
    return "Review ids are those of the input, where it has any."


# ---- The card of a model

DESCRIPTION = "builder-model.json"
FORMAT = 1
_AGAINST_RULES = "\n\nThese say how far it repeats the rules, not how right it is: the build had no gold labels."
_VARIANTS = {
    "A": "the judge filters the first training set, then new triplets whose opinion no lexicon holds",
    "B": "the judge filters new triplets whose opinion no lexicon holds",
    "C": "the judge filters the first training set, and all new triplets",
    "D": "no judge",
}


@dataclass(frozen=True, slots=True)
class ModelFacts:
    """What is known of a model.

    `name` is variant and round, as C3; `digest` that of weights and settings; `base` a hub name, or empty.
    `release_digest` is that of the data of the release. `scores` are (what it was measured against, split, metric,
    value, low, high). `convention` and `backend` are those of the rules that name aspects to it. `seq2seq`:
    transformers loads it alone.
    """

    name: str
    digest: str
    dataset: str
    version: str
    release_digest: str
    licence: str
    builder: str
    base: str
    seq2seq: bool
    convention: str
    backend: str
    reviews: int
    triplets: int
    scores: Sequence[tuple[str, str, str, float, float | None, float | None]]

    @property
    def tag(self) -> str:
        """The name of this version of the model."""
        return f"v{self.version}-{self.name}"


def description(facts: ModelFacts) -> str:
    """The file that `builder extract --source FOLDER` reads beside the model's own."""
    made: Mapping[str, object] = {
        "format": FORMAT,
        "name": facts.name,
        "digest": facts.digest,
        "release": {"name": facts.dataset, "version": facts.version, "digest": facts.release_digest},
        "convention": facts.convention,
        "backend": facts.backend,
        "builder": facts.builder,
    }
    return json.dumps(made, ensure_ascii=False, indent=1, sort_keys=True) + "\n"


def model_card(facts: ModelFacts) -> str:
    """README.md, with front matter for model hubs."""
    about = _VARIANTS.get(facts.name[:1], "")
    also = f"; that of {facts.base} holds too" if facts.base else ""
    return f"""---
{chr(10).join(_model_card_front(facts))}
---

# {facts.dataset} {facts.tag}

It reads a Chinese review and finds aspect sentiment triplets: what is judged (aspect), in which words (opinion), and \
how (polarity).

| | |
|---|---|
| variant and round | {facts.name}{f": {about}" if about else ""} |
| trained on | {facts.reviews:,} reviews with {facts.triplets:,} triplets that rules and models found, unlabelled by \
people |
| release | {facts.dataset} v{facts.version}, digest of its data `{facts.release_digest}` |
| base | {facts.base or "none that a hub holds"} |
| model | digest `{facts.digest}`, made with builder {facts.builder} |
| licence | {facts.licence or "not stated by the makers; ask before you redistribute"}{also} |

## Scores

{_scores(facts)}

## Use

```bash
hf download USER/NAME --local-dir {facts.name}
builder extract --source ./{facts.name} "餐點好吃，但是服務很慢"
```
{_transformers() if facts.seq2seq else ""}
## Limits

It learnt from what rules found: what they never see, it seldom finds. It knows reviews like those of the release. The \
reviews themselves are not here.
"""


def _model_card_front(facts: ModelFacts) -> list[str]:
    lines = ["language:", "- zh", "tags:", "- aspect-sentiment-triplet-extraction", "- weak-supervision"]
    lines += [f"library_name: {'transformers' if facts.seq2seq else 'builder'}"]
    lines += [f"base_model: {facts.base}"] if facts.base else []
    return [*lines, *_licence_lines(facts.licence)]


def _scores(facts: ModelFacts) -> str:
    if not facts.scores:
        return "Not measured."
    rows = [(*named, f"{value:.1f}", interval(low, high)) for *named, value, low, high in facts.scores]
    against_rules = "" if any(score[0] == "gold" for score in facts.scores) else _AGAINST_RULES
    return table(["against", "split", "metric", "percent", "95% interval"], rows) + against_rules


def _transformers() -> str:
    return """
The questions are those of the paper's template, which `paper.json` names:

```python
from transformers import AutoModelForSeq2SeqLM, AutoTokenizer
tokenizer, model = AutoTokenizer.from_pretrained("FOLDER"), AutoModelForSeq2SeqLM.from_pretrained("FOLDER")
```
"""
