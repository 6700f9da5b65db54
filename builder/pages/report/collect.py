"""The whole report of a working directory, section by section.

In: the open database, the lexicon, how to draw, and how to quote a review. Out: `Report`. Reads only.

The first section is for whoever runs the place: what customers like, what they complain about, and where. Both scripts
of a word count as one, under the form that is written more.

The section of mistakes shows what goes wrong, by kind, with examples. It is there only where there is gold. An answer
counts as right by the lenient match, as in the scores.

The rules' share of the work is shown as Snorkel's analysis shows that of labelling functions (Ratner et al.
2017).
"""

from __future__ import annotations

import sqlite3
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cache, partial
from itertools import islice

from builder import __version__
from builder.core.settings import RESTAURANT
from builder.core.wording import counted
from builder.engine import RuleEngine
from builder.gold.metrics import Answer
from builder.gold.metrics.scores import near_label
from builder.gold.metrics.systems import Settings
from builder.language.lexicon.resources import Lexicon
from builder.pages.report import contents, process, quality, yardsticks
from builder.pages.report.blocks import Cell, MarkedExample, Report, Section, Table, percent, spoken_seconds
from builder.pages.report.yardsticks import NO_GOLD, Yardstick
from builder.pipeline.rule_report import report
from builder.release.origin import name_reviews
from builder.reviews import masking as privacy
from builder.reviews.script import converter
from builder.store import released, reviews, runs
from builder.store import report as asked
from builder.store.queries import public_id

# ---- What customers say

_MOST_WORDS = 3
_LEAST_PLACES, _MOST_PLACES = 2, 30


def likes_and_dislikes(connection: sqlite3.Connection, quality: str = "", most: int = 10) -> Section:
    """The aspects that are praised and criticised most, with the words for it, and each place's own. `quality`: what is
    known of how far to trust it, a sentence.
    """
    missing = "No triplets yet: `builder run seed`."
    shows = cache(partial(contents.names_nobody, connection))
    tables = [
        Table(name, title, ("aspect", "times", "in these words"), _top(asked.judged(connection, polarity), most, shows),
              missing=missing, look="bars")
        for name, title, polarity in (
            ("likes", "What customers like", "POS"), ("dislikes", "What customers criticise", "NEG"),
        )
    ]  # fmt: skip
    places = _places(asked.judged_places(connection), shows)
    if len(places) >= _LEAST_PLACES:
        columns = ("place", "triplets", "positive %", "liked most", "criticised most")
        note = f"The {_MOST_PLACES} places with most triplets of {len(places):,}." if len(places) > _MOST_PLACES else ""
        tables.append(Table("places", "Place by place", columns, tuple(places[:_MOST_PLACES]), note))
    polarity = Counter[str]()
    for _, _, triplets, positive, negative, neutral in released.by_polarity(connection):
        polarity.update(all=triplets, POS=positive, NEG=negative, NEU=neutral)
    counts = (
        f"{polarity['all']:,} statements about aspects: {percent(polarity['POS'], polarity['all']):.0f}% positive, "
        f"{percent(polarity['NEG'], polarity['all']):.0f}% negative, {percent(polarity['NEU'], polarity['all']):.0f}% "
        "neutral. "
        if polarity["all"]
        else ""
    )
    lead = f"{counts}Machines read the reviews: single numbers may be wrong. {quality}".strip()
    return Section("glance", "At a glance", lead, tuple(tables), part="For the owner")


def _top(
    rows: Iterable[tuple[str, str, int]], most: int, shows: Callable[[str], bool] = bool
) -> tuple[tuple[Cell, ...], ...]:
    """The most frequent aspects that may be shown, each with its most frequent opinions."""
    counted = list(rows)
    aspects = _common_forms((aspect, times) for aspect, _, times in counted)
    opinions = _common_forms((opinion, times) for _, opinion, times in counted)
    words: dict[str, Counter[str]] = defaultdict(Counter)
    for aspect, opinion, times in counted:
        words[aspects[aspect]][opinions[opinion]] += times
    ordered = sorted(words.items(), key=lambda item: (-item[1].total(), item[0]))
    shown = islice(((aspect, counts) for aspect, counts in ordered if shows(aspect)), most)
    return tuple((aspect, counts.total(), _listing(counts)) for aspect, counts in shown)


def _places(rows: Iterable[tuple[str, str, str, int]], shows: Callable[[str], bool] = bool) -> list[tuple[Cell, ...]]:
    """Places by their number of triplets: its share of positive ones, and what is praised and criticised most."""
    judged = list(rows)
    aspects = _common_forms((aspect, times) for _, aspect, _, times in judged)
    counted: dict[str, dict[str, Counter[str]]] = defaultdict(lambda: defaultdict(Counter))
    for place, aspect, polarity, times in judged:
        counted[place][polarity][aspects[aspect]] += times
    sums = {place: sum(opinions.total() for opinions in by.values()) for place, by in counted.items()}
    return [
        (place, sums[place], percent(by["POS"].total(), sums[place]), *(_listing(by[p], shows) for p in ("POS", "NEG")))
        for place, by in sorted(counted.items(), key=lambda item: (-sums[item[0]], item[0]))
    ]


def _common_forms(counted: Iterable[tuple[str, int]]) -> dict[str, str]:
    """Each word in the script in which it is written more, in all rows together."""
    simplified = converter("t2s")
    forms: dict[str, Counter[str]] = defaultdict(Counter)
    for word, times in counted:
        forms[simplified(word)][word] += times
    common = {key: min(counts, key=lambda word: (-counts[word], word)) for key, counts in forms.items()}
    return {word: common[key] for key, counts in forms.items() for word in counts}


def _listing(counted: Counter[str], shows: Callable[[str], bool] = bool) -> str:
    """The most frequent words that may be shown, each with how often."""
    every = sorted(counted.items(), key=lambda item: (-item[1], item[0]))
    ordered = islice((item for item in every if shows(item[0])), _MOST_WORDS)
    return "、".join(f"{word} {times:,}" for word, times in ordered)


# ---- Mistakes

KINDS = {
    "polarity": "right pair, wrong polarity",
    "aspect": "opinion given to another aspect",
    "opinion": "aspect given another opinion",
    "nothing": "nothing there",
    "missed": "missed",
}
"""Kinds of error: the first four of what a system says, the last of what it does not say."""
Quote = Callable[[str], str | None]
"""A review's key -> its text as it may be shown; None where it may not be."""
_EXAMPLES = 3


def mistakes(yardsticks: list[Yardstick], final: Sequence[str], quote: Quote) -> Section:
    """Errors of the rules, and of the last final system beside them, by the best gold there is."""
    yardstick = next((known for known in yardsticks if known.quality), None)
    names = [name for name in final if yardstick and name in yardstick.systems]
    title, lead = "Mistakes", "What kinds of mistakes there are, and examples of each."
    if yardstick is None or not names:
        counts = Table("mistakes", "Mistakes by kind", ("kind",), (), missing=NO_GOLD)
        return Section("errors", title, "Without gold nobody knows which triplets are wrong.", (counts,))
    shown = list(dict.fromkeys((names[0], names[-1])))
    by_system = {name: list(find_mistakes(yardstick, name)) for name in shown}
    rows: list[tuple[Cell, ...]] = []
    for kind, words in KINDS.items():
        cells: list[Cell] = [words]
        for name in shown:
            due = yardstick.gold if kind == "missed" else yardstick.systems[name]
            number = sum(mistake[0] == kind for mistake in by_system[name])
            cells += [number, percent(number, sum(map(len, due.values())))]
        rows.append(tuple(cells))
    columns = ("kind", *(column for name in shown for column in (f"of {name}", "percent")))
    note = "Percent of the system's triplets; of those missed, percent of the gold triplets."
    counts = Table("mistakes", f"Mistakes by kind, by {yardstick.name}", columns, tuple(rows), note)
    examples = _examples(by_system[shown[-1]], quote)
    quoted = Table(
        "mistake-examples", f"Examples of mistakes, of {shown[-1]}", ("kind", "review", "said", "gold"),
        tuple(examples), "Short reviews in which nothing has to be masked; up to three of a kind.",
        "No short review has a mistake.", "examples",
    )  # fmt: skip
    return Section("errors", title, lead, (counts, quoted))


def find_mistakes(yardstick: Yardstick, system: str) -> Iterator[tuple[str, str, Answer | None, Answer | None]]:
    """(kind, review, what the system says, the gold triplet it comes nearest to) of every mistake, by review."""
    for review, due in yardstick.gold.items():
        proposed = yardstick.systems[system].get(review, [])
        for answer in proposed:
            label = yardstick.judged.get((review, *answer)) or near_label(due, answer)
            if label == "YN":  # people may have said so without naming the right polarity
                yield "polarity", review, answer, next((gold for gold in due if _pairs(gold, answer)), None)
            elif label == "NX":
                yield _confusion(review, answer, due)
        for gold in due:
            if all(near_label([gold], answer) == "NX" for answer in proposed):
                yield "missed", review, None, gold


def _confusion(review: str, answer: Answer, due: Sequence[Answer]) -> tuple[str, str, Answer, Answer | None]:
    """Whether its opinion describes another aspect, or its aspect has another opinion."""
    for kind, place in (("aspect", 1), ("opinion", 0)):
        for gold in due:
            if _alike(gold[place], answer[place]):
                return kind, review, answer, gold
    return "nothing", review, answer, None


def _pairs(gold: Answer, answer: Answer) -> bool:
    return near_label([gold], answer) in ("YY", "YN")


def _alike(word: str, other: str) -> bool:
    """The same word, or one in the other; a single character stands in too many words to say so."""
    shorter, longer = sorted((word, other), key=len)
    return word == other or (len(shorter) > 1 and shorter in longer)


def _examples(
    listing: Sequence[tuple[str, str, Answer | None, Answer | None]], quote: Quote
) -> Iterator[tuple[Cell, ...]]:
    by_kind: dict[str, list[tuple[Cell, ...]]] = defaultdict(list)
    seen: set[tuple[str, str]] = set()
    for kind, review, answer, gold in listing:
        if len(by_kind[kind]) < _EXAMPLES and (kind, review) not in seen and (text := quote(review)):
            seen.add((kind, review))
            by_kind[kind].append((KINDS[kind], text, _written(answer), _written(gold)))
    for kind in KINDS:
        yield from by_kind[kind]


def _written(answer: Answer | None) -> str:
    return "–" if answer is None else f"({', '.join(map(str, answer))})"


# ---- The report

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
        (row.rule, *(percent(number, opinions) for number in (row.hits, row.overlaps, row.conflicts)), row.yields,
         kept.get(row.rule), judged or None, percent(right[row.rule], judged) if judged else None)
        for row, judged in ((row, known[row.rule]) for row in rows)
    ]  # fmt: skip
    columns = ("rule", "coverage %", "overlap %", "conflict %", "decides", "released", "judged", "accuracy %")
    by = f"Accuracy: the share that is right by {yardstick.name}." if yardstick else "Accuracy is not known: no gold."
    note = (
        f"Of the {counted(opinions, 'opinion')} of the first {_READ:,} reviews at most. A rule that pairs: opinions "
        "for which it finds an aspect (coverage), for which another rule finds the same (overlap) or another one "
        "(conflict), and those whose aspect it decides. A rule that refuses: words that it refuses (coverage), those "
        f"that another one refuses too (overlap), and those that no rule before it refuses (decides). {by}"
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
    scores, head = quality.score_all(measured, yardsticks.final_systems(connection), settings)
    stated, templates = quality.stated(connection), quality.templates(connection, settings)
    scores = replace(scores, tables=(stated, *scores.tables[:-1], templates, *scores.tables[-1:]))
    analysis = analyse_rules(connection, engine, lexicon, measured)
    audited = quality.audit(connection)
    sections = (
        likes_and_dislikes(connection, _trust(audited, head)),
        _collect_examples(connection, examples),
        replace(contents.in_and_out(connection), part="For users of the data"),
        contents.triplets(connection),
        audited,
        scores,
        mistakes(measured, yardsticks.final_systems(connection), partial(_quote, connection)),
        process.growth(connection),
        process.discriminator(connection, measured),
        quality.beyond_lexicon(connection, lexicon, measured),
        process.contribution(connection, analysis),
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


_COVERED = "reviews with a triplet"
"""The name of that total of a release."""


def _tiles(connection: sqlite3.Connection, head: tuple[float, str] | None) -> tuple[tuple[str, str], ...]:
    done = runs.runs(connection)
    out = released.totals(connection)
    if out["reviews"]:
        counts, covered = [out[name] for name in ("reviews", "triplets", "aspects", "opinions")], out[_COVERED]
        names = ["released reviews", "released triplets", "aspects in them", "opinions in them"]
        share = "of released reviews have a triplet"
    else:
        *counts, covered = asked.totals(connection)
        counts = [int(done["ingest"].counts["reviews"]) if "ingest" in done else 0, *counts]
        names, share = ["distinct reviews", "candidate triplets", "aspects", "opinions"], "of reviews have a candidate"
    tiles = [(f"{number:,}", name) for number, name in zip(counts, names, strict=True)]
    tiles += [(f"{percent(covered, counts[0]):.0f}%", share)]
    tiles += [(f"{head[0]:.1f}", head[1])] if head else []
    tiles += [(spoken_seconds(sum(run.seconds for run in done.values())), "computing time")]
    return tuple(tiles)


def _collect_examples(connection: sqlite3.Connection, number: int) -> Section:
    """Reviews in which privacy finds nothing to mask; ids as they are released."""
    hashed = process.config(connection, "release.ids", "keep") == "hash"
    shown: list[MarkedExample] = []
    for key, text, place, triplets in asked.examples(connection, _LONGEST, 20 * number):
        if len(shown) < number and not privacy.mask(text, [place] if place else []).masks:
            shown.append(MarkedExample(public_id(key) if hashed else key, text, tuple(triplets)))
    lead = (
        "Aspects are underlined, opinions coloured by polarity, behind each triplet who says it. Chosen by chance "
        "among short reviews with two to five triplets, those with several polarities first; nothing in them needs "
        "masking."
    )
    lead = lead if shown else "No review with two to five triplets yet."
    return Section("examples", "Examples", lead, examples=tuple(shown))
