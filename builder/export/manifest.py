"""The manifest, the checksums and the card of a release: from counts and signatures to text. Pure; no clock, so rebuilds are equal."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

Json = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Split:
    """What a split holds: its source as in Table 7 of the paper, how it was labelled, and its counts."""

    name: str
    source: str
    annotation: str
    reviews: int
    triplets: int
    polarities: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Facts:
    """All that a manifest and a card say."""

    name: str
    version: str
    parent: str | None
    licence: str
    builder: str
    splits: Sequence[Split]
    signatures: Mapping[str, str]
    config: Json
    ingest: Json
    dropped: Mapping[str, int]
    metrics: Sequence[tuple[str, str, str, float]]


def manifest(facts: Facts, files: Mapping[str, bytes]) -> str:
    """manifest.json: everything that decided the release, and its files."""
    body = {
        "name": facts.name,
        "version": facts.version,
        "parent": facts.parent,
        "licence": facts.licence,
        "builder": facts.builder,
        "splits": {
            s.name: {
                "source": s.source,
                "annotation": s.annotation,
                "reviews": s.reviews,
                "triplets": s.triplets,
                "polarities": dict(s.polarities),
            }
            for s in facts.splits
        },
        "dropped": dict(facts.dropped),
        "ingest": dict(facts.ingest),
        "signatures": dict(facts.signatures),
        "config": dict(facts.config),
        "metrics": [{"system": system, "split": split, "metric": metric, "value": value} for system, split, metric, value in facts.metrics],
        "files": {path: {"bytes": len(content), "sha256": sha256(content)} for path, content in sorted(files.items())},
    }
    return json.dumps(body, ensure_ascii=False, indent=2) + "\n"


def checksums(files: Mapping[str, bytes]) -> str:
    """SHA256SUMS in the form that `sha256sum --check` reads."""
    return "".join(f"{sha256(content)}  {path}\n" for path, content in sorted(files.items()))


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def card(facts: Facts) -> str:
    """README.md of a release: front matter for dataset hubs, then what a person needs to know before using it."""
    total = sum(split.reviews for split in facts.splits)
    rows = "\n".join(
        f"| {s.name} | {s.source} | {s.annotation} | {s.reviews:,} | {s.triplets:,} | "
        + " | ".join(f"{s.polarities.get(p, 0):,}" for p in ("POS", "NEG", "NEU"))
        + " |"
        for s in facts.splits
    )
    scores = "\n".join(f"| {system} | {split} | {metric} | {value:.1f} |" for system, split, metric, value in facts.metrics)
    dropped = ", ".join(f"{number:,} {reason}" for reason, number in facts.dropped.items() if number) or "nothing"
    return f"""---
language: [zh]
license: {"other" if not facts.licence else facts.licence.lower()}
pretty_name: {json.dumps(facts.name, ensure_ascii=False)}
size_categories: [{_size(total)}]
annotations_creators: [machine-generated]
task_categories: [token-classification]
tags: [aspect-sentiment-triplet-extraction, weak-supervision, reviews]
configs:
- config_name: default
  data_files:
{chr(10).join(f"  - split: {'validation' if s.name == 'valid' else s.name}{chr(10)}    path: data/{s.name}.jsonl" for s in facts.splits)}
---

# {facts.name} {facts.version}

Aspect sentiment triplets (aspect, opinion, polarity) of Chinese restaurant reviews, built by builder {facts.builder} without human
labels: a rule engine seeds, a discriminator filters, a tagger is trained on what remains and adds what it finds
(the iterative weak supervision of Lu et al., LREC-COLING 2024).

| split | triplets from | annotation | reviews | triplets | POS | NEG | NEU |
|---|---|---|---|---|---|---|---|
{rows}

- Licence: {facts.licence or "not stated by the builder of this release; ask before you redistribute"}.
- Parent: {facts.parent or "none"}.
- Left out on the way to the release: {dropped}. Reviews without a triplet are left out, except where people labelled them.
- Privacy: phone numbers, e-mail addresses, URLs, handles and the place's own name are masked ([電話], [信箱], [網址], [帳號], [店名]); place and author columns are not released.
- Known limits: silver triplets are what rules and models find; implicit aspects, whole-sentence opinions and irony are mostly missed.

## Files

`data/*.jsonl`: one review a line; every element of a triplet has its text and its spans, half-open code-point offsets into `text`.
`paper/*.json`: the format of Lu et al. `manifest.json`: counts, signatures, configuration. `SHA256SUMS`: check with `sha256sum --check` or `builder verify`.

## Scores

| system | split | metric | percent |
|---|---|---|---|
{scores}
"""


def _size(number: int) -> str:
    for limit, name in ((1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"), (1_000_000, "100K<n<1M")):
        if number < limit:
            return name
    return "1M<n<10M"
