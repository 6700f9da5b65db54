"""A triplet's story for a terminal: the marked sentence, why this aspect and this polarity in plain words, what the
model thought, and then every step by its name.

In: a story as `builder.store.stories` tells it, and what the rules are about. Out: lines of text, with a legend of the
signs that they hold.
"""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict

from builder.core.errors import printable
from builder.gold.sheet import marked
from builder.release.export.native_rows import extracted
from builder.store import runs, stories
from builder.store.stories import JudgeVerdict, Story, TripletStory

_ENDS = {True: "released", False: "left out", None: "unknown"}
_POLARITIES = {"POS": "positive", "NEG": "negative", "NEU": "neutral"}
_JUDGES = {"shipped model": "The model that comes with builder", "discriminator": "The judge that this build trained"}
_SAYS = {
    "YY": "finds the pair too, and the same polarity",
    "YN": "finds the pair too, but another polarity",
    "NX": "does not find this pair",
    None: "does not say whether it finds this pair",
}
_LEGEND = (
    (re.compile(r"[↑↓]"), "path: steps of grammar from the opinion to the aspect, ↑ to the head, ↓ to a dependent"),
    (
        re.compile(r"\b(CURRENT|BLOCKED|ASPECT)\b"),
        "pairing: kinds of words from one to the other; CURRENT is this opinion",
    ),
    (
        re.compile(r"\bE0 "),
        "E0: rules and model together, or the rules alone where no model judges; its triplets are released",
    ),
    (
        re.compile(r"\bnone -?[\d.]+"),
        "candidates: aspects with their scores, of which the highest wins; none is no triplet",
    ),
    (re.compile(r"verdict +(YY|YN|NX)"), "verdict: YY right pair and polarity, YN right pair alone, NX no pair"),
    (re.compile(r"\bwords +\("), "words: what the rule found, where the model gave it other words"),
    (re.compile(r"\bS_\d"), "training set: S_0 is what the first model of a variant learnt from, S_1 the second"),
)
_CONTEXT_ONLY = "context.only"
"""The category of words whose valence is that of the aspect's row alone."""
_ENTRY = re.compile(r"(?P<word>.+) (?P<category>\S+) (?P<value>-?[\d.]+) \((?P<where>\S+)\)")
_VALUED = re.compile(r".+ of (?P<of>.+) (?P<value>[\d.]+)")


def tell_story(connection: sqlite3.Connection, identifier: str, rules: Mapping[str, str]) -> str:
    """The story of a triplet, or of each triplet of a review. `identifier` as `stories.find` takes it.

    Args:
        rules: what each rule is about, by its name.
    """
    story, judge, chosen = _find(connection, identifier)
    if not chosen:
        what = f"repeats {story.first}: see there" if story.first else "no source finds a triplet"
        what += "; released as an unverified negative" if story.negative else ""
        return f"{story.key}  {what}\n  text      {story.text}"
    text = "\n\n".join("\n".join(_tell(story, triplet, rules, judge)) for triplet in chosen)
    legend = ["【aspect】《opinion》", *list_legend(text)]
    return "\n".join([text, "", *(f"{'       ' if n else 'Signs: '}{line}" for n, line in enumerate(legend))])


def story_object(connection: sqlite3.Connection, identifier: str, rules: Mapping[str, str]) -> dict[str, object]:
    """The same for programs: the review with its triplets, each with the sentences and every step of its story."""
    story, judge, chosen = _find(connection, identifier)
    return {
        "review": story.key,
        "text": story.text,
        "split": story.split,
        "triplets": [
            {
                **extracted(history.stored.triplet),
                "triplet_id": history.public,
                "sources": list(history.sources),
                "sentences": explain_triplet(history, rules, judge),
                "verdicts": [asdict(verdict) for verdict in history.verdicts],
                "steps": [asdict(step) for step in history.steps],
                "released": history.outcome.released,
                "outcome": history.outcome.text,
            }
            for history in chosen
        ],
    }


def _find(connection: sqlite3.Connection, identifier: str) -> tuple[Story, str, list[TripletStory]]:
    """A review, its judge, and those of its triplets that are asked for."""
    i, wanted = stories.find(connection, identifier)
    story = stories.review(connection, i)
    chosen = [history for history in story.triplets if wanted in (None, history.stored.id)]
    return story, runs.judge(connection), chosen


def _tell(story: Story, history: TripletStory, rules: Mapping[str, str], judge: str) -> Iterator[str]:
    triplet = history.stored.triplet
    yield f"{history.public}  ({triplet.aspect.text}, {triplet.opinion.text}, {triplet.polarity})"
    yield "  " + printable(" ".join(marked(story.text, triplet).split("\n")), kept="\u3000\u200d")
    yield from (f"  {sentence}" for sentence in explain_triplet(history, rules, judge))
    yield from _list_details(story, history)


def explain_triplet(history: TripletStory, rules: Mapping[str, str], judge: str) -> list[str]:
    """Why this aspect, why this polarity, and what the model thought, a sentence each."""
    verdicts = (explain_verdict(history, verdict, judge) for verdict in history.verdicts)
    return [explain_pair(history, rules), explain_polarity(history), *verdicts]


def explain_pair(history: TripletStory, rules: Mapping[str, str]) -> str:
    """Why this opinion is about this aspect, in a sentence."""
    aspect, opinion = history.stored.triplet.aspect.text, history.stored.triplet.opinion.text
    names = history.details("rule")
    if names:
        about = rules.get(names[0], "").partition(". ")[0].rstrip(".")
        reworded = "".join(f" Its words are the model's; the rule found {words}." for words in history.details("words"))
        return f"{opinion} is about {aspect} by the rule {names[0]}{f' ({about})' if about else ''}.{reworded}"
    if any(
        step.kind == "proposed" and step.source[:1] in "ABCDE" and step.source[1:].isdigit() for step in history.steps
    ):
        return f"No rule pairs {opinion} with {aspect}: the model found the pair by itself."
    return f"Neither rules nor model pair {opinion} with {aspect}: it comes from {' and '.join(history.sources)}."


def explain_polarity(history: TripletStory) -> str:
    """Why this polarity, in a sentence."""
    triplet = history.stored.triplet
    entries = list(_entries(history, "opinion", _ENTRY))
    reasons = [
        f"{entry['word']} says neither good nor bad by itself"
        if entry["category"] == _CONTEXT_ONLY
        else f"{entry['word']} counts {entry['value']} of 10 in the lexicon"
        for entry in entries
    ]
    counted = {entry["value"] for entry in entries if entry["category"] != _CONTEXT_ONLY}
    for entry in (entry for entry in _entries(history, "context", _VALUED) if entry["value"] not in counted):
        of = entry["of"]
        what = f"aspects of the class {of[1:]}" if of.startswith("@") else of
        reasons.append(f"beside {what} it counts {entry['value']}")
    if history.details("excess"):
        reasons.append("a degree word says that it is too much or too little")
    negators = " ".join(history.details("negator"))
    reasons += [_NEGATIONS.get(kind, kind).format(negators or "a negator") for kind in history.details("negation")]
    verdict = f"{_POLARITIES[triplet.polarity]}, {triplet.valence:g} of 10"
    if not reasons:
        return f"It is {verdict}; no entry of the lexicon says so."
    return f"It is {verdict}: {', '.join(dict.fromkeys(reasons))}."


_NEGATIONS = {
    "flip": "{} turns it round",
    "lack": "{} says that it is lacking",
    "a degree denied": "{} denies the degree alone",
}


def explain_verdict(history: TripletStory, verdict: JudgeVerdict, judge: str) -> str:
    """What the model or judge thought of a triplet, in a sentence with its numbers by their names."""
    name = _JUDGES.get(judge, f"The judge {verdict.source}")
    alone = not history.details("rule") and verdict.label == "YY" and judge == "shipped model"
    says = "proposes it" if alone else _SAYS[verdict.label]
    return f"{name} {says}: {verdict.numbers()}."


def _entries(history: TripletStory, kind: str, pattern: re.Pattern[str]) -> Iterator[Mapping[str, str]]:
    """What the details of a kind hold, of those that a pattern reads; each once."""
    for detail in dict.fromkeys(history.details(kind)):
        if found := pattern.fullmatch(detail):
            yield found.groupdict()


def _list_details(story: Story, history: TripletStory) -> Iterable[str]:
    """Every step of a story by its name."""
    triplet = history.stored.triplet
    review = [f"id {story.key}", f"split {story.split}", *(f"{name} {value}" for name, value in story.facts)]
    yield "  review    " + ", ".join(review)
    parts = {name: getattr(triplet, name) for name in ("aspect", "aspect_full", "opinion", "opinion_full", "owner")}
    shown = {name: element.spans for name, element in parts.items() if element}
    yield "  spans     " + json.dumps(shown, separators=(",", ":"))
    if triplet.opinion_full.text != triplet.opinion.text:
        yield f"  full      {triplet.opinion_full.text}"
    if triplet.owner:
        yield f"  owner     {triplet.owner.text}"
    for step in history.steps:
        yield f"  {step.source:<13} {step.kind:<12} {step.detail}".rstrip()
    yield f"  {'release':<13} {_ENDS[history.outcome.released]:<12} {history.outcome.text}"


def list_legend(text: str) -> list[str]:
    """What the signs of a story mean, of those that stand in it."""
    return [line for pattern, line in _LEGEND if pattern.search(text)]
