"""The whole report of a working directory, section by section. In: an open database, the lexicon, how to draw. Out:
`Report`. Reads only.

How the pairing rules share their work, as Snorkel's analysis of labelling functions shows it (Ratner et al. 2017).
"""

from __future__ import annotations

import sqlite3
from collections import Counter
from dataclasses import replace
from functools import partial

from builder import __version__
from builder.core.settings import RESTAURANT
from builder.core.wording import counted
from builder.engine import RuleEngine
from builder.gold.metrics.systems import Settings
from builder.language.lexicon.resources import Lexicon
from builder.pages.report import contents, discriminator, glance, process, quality, yardsticks
from builder.pages.report.blocks import Cell, MarkedExample, Report, Section, Table
from builder.pages.report.mistakes import mistakes
from builder.pages.report.numbers import percent, spoken_seconds
from builder.pages.report.yardsticks import Yardstick
from builder.pipeline.rule_report import report
from builder.release.origin import name_reviews
from builder.reviews.privacy import masking as privacy
from builder.store import released, reviews, runs
from builder.store import report as asked
from builder.store.queries import public_id

_READ = 2000
"""Annotated reviews that the engine reads again."""


def analyse_rules(
    connection: sqlite3.Connection, engine: RuleEngine, lexicon: Lexicon, yardsticks: list[Yardstick]
) -> Table:
    """Coverage, overlap, conflict and accuracy of each rule."""
    opinions, rows = report(connection, engine, lexicon, _READ)
    yardstick = next((known for known in yardsticks if known.quality), None)
    right, known = _judged(connection, yardstick)
    kept = released.by_rule(connection)
    cells: list[tuple[Cell, ...]] = [
        (
            row.rule,
            percent(row.hits, opinions),
            percent(row.overlaps, opinions),
            percent(row.conflicts, opinions),
            row.yields,
            kept.get(row.rule),
            known[row.rule] or None,
            percent(right[row.rule], known[row.rule]) if known[row.rule] else None,
        )
        for row in rows
    ]
    columns = ("rule", "coverage %", "overlap %", "conflict %", "decides", "released", "judged", "accuracy %")
    by = f"Accuracy: the share that is right by {yardstick.name}." if yardstick else "Accuracy is not known: no gold."
    note = (
        f"Of the {counted(opinions, 'opinion')} of the first {_READ:,} reviews at most: those for which the "
        "rule finds an "
        "aspect (coverage), for which another rule finds the same (overlap) or another one (conflict), and those whose "
        f"aspect it decides. {by}"
    )
    missing = "No annotated reviews: `builder run annotate`."
    return Table("rule-analysis", "The rules side by side", columns, tuple(cells), note, missing)


def _judged(connection: sqlite3.Connection, yardstick: Yardstick | None) -> tuple[Counter[str], Counter[str]]:
    """(right, judged) triplets by rule."""
    right, known = Counter[str](), Counter[str]()
    for rule, *triplet in asked.proposed_by_rules(connection) if yardstick else ():
        review, aspect, opinion, polarity = triplet
        if yardstick and (label := yardstick.judged.get((review, aspect, opinion, polarity))):
            known[rule] += 1
            right[rule] += label == "YY"
    return right, known


_LONGEST = 120
"""Characters of an example."""


def collect(
    connection: sqlite3.Connection, lexicon: Lexicon, settings: Settings, engine: RuleEngine, examples: int = 12
) -> Report:
    """Everything that the report shows, read from the database in one pass.

    Args:
        lexicon: says which words no lexicon holds.
        settings: samples and seed of the bootstrap intervals.
        engine: the rules, which are compared with each other.
        examples: triplets that are quoted, at most.

    The same database, lexicon and settings give the same report.
    """
    measured = yardsticks.find_yardsticks(connection)
    scores, head = quality.scored(measured, yardsticks.final_systems(connection), settings)
    scores = replace(
        scores,
        tables=(
            quality.stated(connection),
            *scores.tables[:-1],
            quality.templates(connection, settings),
            *scores.tables[-1:],
        ),
    )
    analysis = analyse_rules(connection, engine, lexicon, measured)
    audited = quality.audit(connection)
    sections = (
        glance.likes_and_dislikes(connection, _trust(audited, head)),
        _examples(connection, examples),
        replace(contents.in_and_out(connection), part="For whoever uses the data"),
        contents.triplets(connection),
        audited,
        scores,
        mistakes(measured, yardsticks.final_systems(connection), partial(_quote, connection)),
        process.growth(connection),
        discriminator.discriminator(connection, measured),
        quality.beyond_lexicon(connection, lexicon, measured),
        process.contribution(connection, analysis),
        contents.words(connection),
        contents.sharing(connection),
        quality.annotators(connection),
        process.running(connection, lexicon.digest),
    )
    done = runs.runs(connection)
    version = str(done["release"].counts["version"]) if "release" in done else "not released yet"
    name = process.config(connection, "release.name", "restaurant-aste")
    about = name_reviews(process.config(connection, "domain", RESTAURANT))
    subtitle = f"Aspect sentiment triplets of Chinese {about}, found by weak supervision"
    foot = (
        f"builder {__version__} · intervals from {settings.samples} bootstrap samples, seed {settings.seed} · "
        f"lexicons {lexicon.digest}"
    )
    return Report(f"{name} {version}", subtitle, _tiles(connection, head), sections, foot)


def _trust(audited: Section, head: tuple[float, str] | None) -> str:
    """How far to trust the numbers, in a sentence: by the audit, else by gold, else that nobody knows."""
    return f"Measured: {head[1]}, {head[0]:.1f}." if head and not audited.tables[0].rows else audited.lead


def _quote(connection: sqlite3.Connection, key: str) -> str | None:
    """The text of a short review in which privacy finds nothing to mask."""
    text, place = reviews.quoted(connection, key, _LONGEST) or ("", None)
    return None if not text or privacy.mask(text, [place] if place else []).masks else text


def _tiles(connection: sqlite3.Connection, head: tuple[float, str] | None) -> tuple[tuple[str, str], ...]:
    done = runs.runs(connection)
    out = released.totals(connection)
    if out["reviews"]:
        reviews, triplets, aspects, opinions, covered = (
            out[name] for name in ("reviews", "triplets", "aspects", "opinions", "reviews with a triplet")
        )
        names = (
            "released reviews",
            "released triplets",
            "aspects in them",
            "opinions in them",
            "of released reviews have a triplet",
        )
    else:
        triplets, aspects, opinions, covered = asked.totals(connection)
        reviews = int(done["ingest"].counts["reviews"]) if "ingest" in done else 0
        names = ("distinct reviews", "candidate triplets", "aspects", "opinions", "of reviews have a candidate")
    tiles = [
        (f"{number:,}", name) for number, name in zip((reviews, triplets, aspects, opinions), names[:4], strict=True)
    ]
    tiles += [(f"{100 * covered / max(1, reviews):.0f}%", names[4])]
    tiles += [(f"{head[0]:.1f}", head[1])] if head else []
    tiles += [(spoken_seconds(sum(run.seconds for run in done.values())), "computing time")]
    return tuple(tiles)


def _examples(connection: sqlite3.Connection, number: int) -> Section:
    """Reviews in which privacy finds nothing to mask; ids as they are released."""
    hashed = process.config(connection, "release.ids", "keep") == "hash"
    gold = [source.name for source in asked.sources(connection) if source.kind == "gold"]
    names = [*gold, *yardsticks.final_systems(connection)]
    shown: list[MarkedExample] = []
    for key, text, place, triplets in asked.examples(connection, names, _LONGEST, 20 * number):
        if len(shown) < number and not privacy.mask(text, [place] if place else []).masks:
            shown.append(MarkedExample(public_id(key) if hashed else key, text, tuple(triplets)))
    lead = (
        "Aspects are underlined, opinions coloured by polarity, behind each triplet who found it. Chosen by chance "
        "among short reviews with two to five triplets, those with several polarities first; nothing in them needs "
        "masking."
    )
    return Section(
        "examples", "Examples", lead if shown else "No review with two to five triplets yet.", examples=tuple(shown)
    )
