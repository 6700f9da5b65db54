"""A report as people keep it: HTML, Markdown, CSV, rows of SQLite.

The HTML page needs nothing else: styles are inside, no script, no network. Same report, same bytes.
Markdown is for the terminal and for pull requests. CSV and the rows of SQLite hold its tables. Making these is pure.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable
from dataclasses import replace
from importlib.resources import files
from typing import TYPE_CHECKING

from builder.core.markup import shared_rules
from builder.pages.report.blocks import Cell, Report, Section, Table, markdown, pieces, prose, shown, visible
from builder.release.export.extract_output import display_width

if TYPE_CHECKING:
    from jinja2 import Environment

# ---- HTML


def page(report: Report) -> str:
    """The page. It needs the extra `report`."""
    environment = _environment()
    from markupsafe import Markup

    folder = files("builder.pages.report")
    style = Markup(shared_rules() + (folder / "page.css").read_text(encoding="utf-8"))
    template = environment.from_string((folder / "page.html").read_text(encoding="utf-8"))
    return template.render(report=_present(report), style=style)


def _present(report: Report) -> Report:
    """What is there, and at the end what is not, with how to get it. A column without any value is left out."""
    there = (
        replace(section, tables=tuple(_with_values(table) for table in section.tables if table.rows))
        for section in report.sections
    )
    sections = [s for s in there if s.tables or s.examples or s.part]
    absent = tuple((table.title, table.missing.replace("`", "")) for table in report.tables() if not table.rows)
    if absent:
        lacking = Table("absent-tables", "What would stand here", ("table", "how to get it"), absent, look="examples")
        sections.append(Section("absent", "Not there yet", "What this report would show, too.", (lacking,)))
    return replace(report, sections=tuple(sections))


def _with_values(table: Table) -> Table:
    if table.look != "plain":
        return table
    kept = [at for at, cells in enumerate(zip(*table.rows, strict=True)) if not at or any(c is not None for c in cells)]
    rows = tuple(tuple(row[at] for at in kept) for row in table.rows)
    return replace(table, columns=tuple(table.columns[at] for at in kept), rows=rows)


def _environment() -> Environment:
    import jinja2

    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters |= {
        "shown": _cell, "pieces": pieces, "visible": visible, "prose": prose, "numeric": _numeric, "narrow": _is_narrow,
        "shares": _shares,
    }  # fmt: skip
    environment.globals |= {"width": _width, "shade": _shade}
    return environment


def _cell(cell: Cell, decimals: int) -> str:
    return visible(shown(cell, decimals))


def _numeric(table: Table) -> list[bool]:
    """Which columns are set right: those without words."""
    return [
        all(cell is None or not isinstance(cell,
            str) or cell[:1] in "+-0123456789" for cell in column) and any(cell is not None for cell in column)
        for column in (zip(*table.rows, strict=True) if table.rows else ())
    ]  # fmt: skip


_HALF, _GAP, _DRAWN = 90, 2, 16
"""Latin letters that fit into half of the page, those between two columns, and those that a drawn column takes."""


def _is_narrow(table: Table) -> bool:
    """Whether a table fits into half of the page: by its longest cells, or where there is only a sentence."""
    if table.look in ("matrix", "signatures", "examples"):
        return False
    if not table.rows:
        return True
    columns = zip(table.columns, *table.rows, strict=True)
    longest = [max(display_width(_cell(cell, table.decimals)) for cell in column) for column in columns]
    return sum(longest) + _GAP * len(longest) + (_DRAWN if table.look in ("bars", "polarity") else 0) <= _HALF


def _shares(table: Table, row: tuple[Cell, ...]) -> list[tuple[str, float]]:
    """Percent of POS, NEG and NEU in a row of a polarity table."""
    numbers = [(name, row[table.columns.index(name)]) for name in ("POS", "NEG", "NEU")]
    total = sum(n for _, n in numbers if isinstance(n, int)) or 1
    return [(name, 100 * n / total) for name, n in numbers if isinstance(n, int) and n]


def _width(table: Table, row: tuple[Cell, ...]) -> float:
    """Percent of the longest bar."""
    most = max((other[1] for other in table.rows if isinstance(other[1], int)), default=1) or 1
    return 100 * row[1] / most if isinstance(row[1], int) else 0


def _shade(table: Table, row: tuple[Cell, ...], cell: Cell) -> float:
    """Percent of the row's sum (counts) or of a hundred (percents)."""
    if isinstance(cell, int):
        return 100 * cell / max(1, sum(number for number in row if isinstance(number, int)))
    return cell if isinstance(cell, float) else 0


# ---- Markdown, CSV and rows

_NUMBER = re.compile(r"[+-][\d.]+( to [+-]?[\d.]+)?$")


def text(report: Report) -> str:
    """All sections; examples with 〔aspect〕 and 【opinion】."""
    tiles = " · ".join(f"**{value}** {markdown(what)}" for value, what in report.tiles)
    lines = [f"# {markdown(report.title)}", "", report.subtitle, "", tiles]
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
        for table in section.tables:
            lines += ["", *_table(table)]
    return "\n".join([*lines, "", markdown(report.foot), ""])


def tables(report: Report) -> str:
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
