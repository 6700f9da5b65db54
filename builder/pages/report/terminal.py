"""A report as Markdown, for the terminal and for pull requests; and its tables as CSV and as rows of SQLite. Pure."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable

from builder.pages.report.blocks import Cell, Report, Table, shown
from builder.pages.report.visible import markdown, pieces, prose, visible

_NUMBER = re.compile(r"[+-][\d.]+( to [+-]?[\d.]+)?$")


def text(report: Report) -> str:
    """All sections; figures as their sentence, examples with 〔aspect〕 and 【opinion】."""
    lines = [
        f"# {markdown(report.title)}",
        "",
        report.subtitle,
        "",
        " · ".join(f"**{value}** {markdown(what)}" for value, what in report.tiles),
    ]
    for section in report.sections:
        lines += ["", f"# {section.part}"] if section.part else []
        lines += ["", f"## {section.title}", "", escape_prose(section.lead)]
        for example in section.examples:
            lines += ["", f"- {_marked(example.text, example.triplets)}"]
            lines += [
                f"  - {triplet.polarity} {markdown(triplet.aspect)} · {markdown(triplet.opinion)} "
                f"({markdown(triplet.sources)})"
                for triplet in example.triplets
            ]
        for figure in section.figures:
            lines += ["", f"{figure.title}: {markdown(figure.about)}."]
        for table in section.tables:
            lines += ["", *_table(table)]
    return "\n".join([*lines, "", markdown(report.foot), ""])


def tables(report: Report) -> str:
    """The tables alone."""
    return "\n\n".join("\n".join(_table(table)) for table in report.tables()) + "\n"


def as_csv(table: Table) -> bytes:
    """UTF-8 CSV with full numbers; a text that a spreadsheet would take for a formula gets a leading apostrophe."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(table.columns)
    writer.writerows([_plain(cell) for cell in row] for row in table.rows)
    return out.getvalue().encode("utf-8", "surrogatepass")


def cells(report: Report) -> Iterable[tuple[str, int, str, Cell]]:
    """(table, line, column, value); a second column of one name gets a number."""
    for table in report.tables():
        names = [name if name not in table.columns[:i] else f"{name} {i + 1}" for i, name in enumerate(table.columns)]
        for number, row in enumerate(table.rows, start=1):
            yield from ((table.name, number, name, cell) for name, cell in zip(names, row, strict=True))


def _table(table: Table) -> list[str]:
    from tabulate import tabulate

    lines = [f"### {markdown(table.title)}", ""]
    if not table.rows:
        return [*lines, escape_prose(table.missing)]
    numeric = [all(not isinstance(cell, str) for cell in column) for column in zip(*table.rows, strict=True)]
    rows = [[markdown(shown(cell, table.decimals)) for cell in row] for row in table.rows]
    align = ["right" if right else "left" for right in numeric]
    heads = [markdown(column) for column in table.columns]
    lines.append(tabulate(rows, headers=heads, tablefmt="github", disable_numparse=True, colalign=align))
    return [*lines, "", escape_prose(table.note)] if table.note else lines


def escape_prose(text: str) -> str:
    """Our own sentences: what stands between backticks stays code."""
    return "".join(f"`{part}`" if code else markdown(part) for part, code in prose(text))


def _marked(text: str, triplets: tuple[object, ...]) -> str:
    out = ""
    for piece, aspect, polarity in pieces(text, triplets):  # type: ignore[arg-type]
        shown_ = markdown(piece)
        out += f"〔{shown_}〕" if aspect else f"【{shown_}】" if polarity else shown_
    return out


def _plain(cell: Cell) -> Cell:
    if not isinstance(cell, str):
        return "" if cell is None else cell
    safe = visible(cell)
    return "'" + safe if safe[:1] in ("=", "@", "+", "-") and not _NUMBER.match(safe) else safe
