"""Score tables: every system by every yardstick, with intervals and the paired difference to the rules (paper, Tables
3 and 5). Pure.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from builder.gold.metrics import micro
from builder.gold.metrics.scores import Metric
from builder.gold.metrics.systems import Settings, SystemScores, measure, together
from builder.pages.report.blocks import Cell, ChartBar, ReportFigure, Table
from builder.pages.report.yardsticks import Answers, Yardstick

_SHOWN = (
    Metric("paper", "triplet"),
    Metric("exact", "triplet"),
    Metric("lenient", "triplet"),
    Metric("lenient", "pair"),
    Metric("lenient", "polarity"),
)
Scored = dict[str, list[SystemScores]]
"""System -> its metrics in the order of `_SHOWN`."""


def scored(yardstick: Yardstick, final: Sequence[str], settings: Settings) -> Scored:
    """The final systems as far as the yardstick knows them; the models beside the rules where the rules are not the
    yardstick.
    """
    rules = yardstick.systems.get("rules")
    return {
        name: measure(yardstick.gold, yardstick.systems[name], _SHOWN, settings, rules if name != "rules" else None)
        for name in final
        if name in yardstick.systems
    }


def round_table(yardstick: Yardstick, number: int) -> Table | None:
    """Lenient F1 of every round of every variant; None where there are no rounds."""
    scores: dict[str, dict[int, float]] = {}
    for name, predicted in yardstick.systems.items():
        if name[:1].isupper() and name[1:].isdecimal():
            scores.setdefault(name[0], {})[int(name[1:])] = micro(yardstick.gold, predicted, "lenient").f1
    rounds = sorted({number_of_round for by_round in scores.values() for number_of_round in by_round})
    if len(rounds) < 2:
        return None
    rows = tuple(
        (f"self-train-{variant}", *(by_round.get(number_of_round) for number_of_round in rounds))
        for variant, by_round in sorted(scores.items())
    )
    columns = ("variant", *(f"round {number_of_round}" for number_of_round in rounds))
    return Table(f"by-round{_suffix(number)}", f"Lenient F1 by round, by {yardstick.name}", columns, rows)


def paper_table(yardstick: Yardstick, done: Scored, number: int) -> Table:
    """Table 5: example-based A, P, R and F1, and what each system gains on the rules."""
    rows: list[tuple[Cell, ...]] = []
    for name, measured in done.items():
        paper = measured[0]
        values = [paper.values[value].value for value in ("accuracy", "precision", "recall", "f1")]
        rows.append((name, len(yardstick.gold), *values, *_interval(paper), *_gain(paper)))
    ceiling = next(iter(done.values()))[0].ceiling if done else 100.0
    empty = sum(not answers for answers in yardstick.gold.values())
    note = (
        "From, to: the 95% interval. Example-based, the mean over reviews (Zhang and Zhou 2014, as the paper's "
        "released scorer computes it). "
    )
    note += (
        f"A review without gold triplets counts 0, so that nothing can pass {ceiling:.1f}: {empty} of "
        f"{len(yardstick.gold):,} are empty."
    )
    columns = ("system", "reviews", "A", "P", "R", "F1", "F1 from", "F1 to", *_GAINS)
    title = f"Table 5 of the paper: systems by {yardstick.name} ({yardstick.split} split)"
    return _table(f"table-5{_suffix(number)}", title, columns, rows, note)


def micro_table(yardstick: Yardstick, done: Scored, number: int) -> Table:
    """Micro scores, exact and lenient."""
    rows: list[tuple[Cell, ...]] = []
    for name, measured in done.items():
        _, exact, lenient, pair, polarity = measured
        p, r, f1 = (lenient.values[value].value for value in ("precision", "recall", "f1"))
        row = (
            name,
            exact.values["f1"].value,
            p,
            r,
            f1,
            *_interval(lenient),
            pair.values["f1"].value,
            polarity.values["accuracy"].value,
        )
        rows.append((*row, *_gain(lenient)))
    columns = (
        "system",
        "exact F1",
        "lenient P",
        "lenient R",
        "lenient F1",
        "F1 from",
        "F1 to",
        "pair F1",
        "polarity right",
        *_GAINS,
    )
    note = (
        "Micro-averaged triplets. Lenient: one aspect contains the other and the opinions are near (the reference "
        "scorer's match). "
    )
    note += "Pair: without the polarity. From, to: the 95% interval."
    if any(metric.against for measured in done.values() for metric in measured):
        note += " Gain: lenient F1 less that of the rules, paired by review; p by a permutation test."
    return _table(f"scores{_suffix(number)}", f"Micro scores by {yardstick.name}", columns, rows, note)


def figure(yardstick: Yardstick, done: Scored, number: int) -> ReportFigure:
    """Lenient F1 of every system with its interval."""
    bars = []
    for name, measured in done.items():
        value = measured[2].values["f1"]
        bars.append(
            ChartBar(
                name,
                value.value,
                value.low if value.low is not None else value.value,
                value.high if value.high is not None else value.value,
            )
        )
    about = "; ".join(f"{bar.name} {bar.value:.1f} ({bar.low:.1f} to {bar.high:.1f})" for bar in bars)
    return ReportFigure(
        f"f1{_suffix(number)}",
        f"Lenient triplet F1 with 95% interval, by {yardstick.name}",
        about,
        "lenient F1, percent",
        "",
        bars=tuple(bars),
    )


def signatures(yardstick: Yardstick, done: Scored) -> list[tuple[str, str]]:
    """(of what, signature), those that differ in the part only together."""
    signed = [scored.signature for measured in done.values() for scored in measured]
    return [
        (f"{signature.partition('|match:')[2].partition('|')[0]}, {yardstick.name}", signature)
        for signature in together(signed)
    ]


def template_table(
    rules: Answers, systems: Mapping[str, Answers], accepted: Mapping[str, float], split: str, settings: Settings
) -> Table:
    """Table 3: each model against the rules' output it was taught, in the paper's metric, with the share the
    discriminator calls YY.
    """
    rows: list[tuple[Cell, ...]] = []
    for name, predicted in systems.items():
        (paper,) = measure(rules, predicted, _SHOWN[:1], Settings(settings.mode, 0, settings.seed))
        values = [paper.values[value].value for value in ("accuracy", "precision", "recall", "f1")]
        rows.append((name, sum(map(len, predicted.values())), accepted.get(name), *values))
    note = (
        f"Against the rules' output of the {split} split, as in the paper: fidelity to the rules, not quality. "
        "template-1 and template-2 learnt from all of the rules' triplets of train "
        "(`paper.compare_templates`); the others are the last models of the variants."
    )
    columns = ("model", "triplets", "YY %", "A", "P", "R", "F1")
    missing = "" if rows else "No model yet: `builder run self_train`."
    return Table(
        "table-3",
        "Table 3 of the paper: models against the rules that taught them",
        columns,
        tuple(rows),
        note=note,
        missing=missing,
    )


_GAINS = ("gain on rules", "gain from", "gain to", "p")


def _gain(measured: SystemScores) -> tuple[Cell, ...]:
    """Points, their 95% interval, and p as text: three places, where the rest has one."""
    if measured.against is None:
        return None, None, None, None
    return measured.against.value, measured.against.low, measured.against.high, f"{measured.against.p:.3f}"


def _interval(measured: SystemScores) -> tuple[Cell, Cell]:
    last = list(measured.values.values())[-1]
    return last.low, last.high


def _table(
    name: str, title: str, columns: tuple[str, ...], rows: list[tuple[Cell, ...]], note: str, missing: str = ""
) -> Table:
    """Without the columns of the gain where nothing was compared with the rules."""
    kept = [i for i, column in enumerate(columns) if column not in _GAINS or any(row[i] is not None for row in rows)]
    shown = tuple(tuple(row[i] for i in kept) for row in rows)
    return Table(name, title, tuple(columns[i] for i in kept), shown, note=note, missing=missing)


def _suffix(number: int) -> str:
    return "" if number == 1 else f"-{number}"
