"""README.md and `builder-model.json` of a model that is published. Pure.

In: `ModelFacts`, gathered from a working directory. Out: text. The card says what the model was trained on, by the
digest of its release, how it scored, and how it is loaded again.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from builder.core.licences import known_to_hubs

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
    return f"""---
{chr(10).join(_front(facts))}
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
| licence | {facts.licence or "not stated by the makers; ask before you redistribute"}{_also(facts)} |

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


def _front(facts: ModelFacts) -> list[str]:
    lines = ["language:", "- zh", "tags:", "- aspect-sentiment-triplet-extraction", "- weak-supervision"]
    lines += [f"library_name: {'transformers' if facts.seq2seq else 'builder'}"]
    lines += [f"base_model: {facts.base}"] if facts.base else []
    if known_to_hubs(facts.licence):
        return [*lines, f"license: {facts.licence.lower()}"]
    return [*lines, "license: other", f"license_name: {json.dumps(facts.licence or 'not-stated', ensure_ascii=False)}"]


def _also(facts: ModelFacts) -> str:
    return f"; that of {facts.base} holds too" if facts.base else ""


def _scores(facts: ModelFacts) -> str:
    if not facts.scores:
        return "Not measured."
    rows = [
        f"| {against} | {split} | {metric} | {value:.1f} | {_interval(low, high)} |"
        for against, split, metric, value, low, high in facts.scores
    ]
    head = ["| against | split | metric | percent | 95% interval |", "|---|---|---|---|---|"]
    against_rules = "" if any(score[0] == "gold" for score in facts.scores) else _AGAINST_RULES
    return "\n".join([*head, *rows]) + against_rules


def _interval(low: float | None, high: float | None) -> str:
    return "" if low is None or high is None else f"{low:.1f} to {high:.1f}"


def _transformers() -> str:
    return """
The questions are those of the paper's template, which `paper.json` names:

```python
from transformers import AutoModelForSeq2SeqLM, AutoTokenizer
tokenizer, model = AutoTokenizer.from_pretrained("FOLDER"), AutoModelForSeq2SeqLM.from_pretrained("FOLDER")
```
"""
