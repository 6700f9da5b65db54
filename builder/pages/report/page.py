"""A report as one HTML page that needs nothing else: styles and figures inside, no script, no network. Same report,
same bytes.
"""

from __future__ import annotations

from importlib.resources import files
from typing import TYPE_CHECKING

from builder.core.errors import ConfigError, install_command
from builder.pages.report.blocks import Cell, Report, Table, shown
from builder.pages.report.charts import svg
from builder.pages.report.visible import pieces, prose, visible

if TYPE_CHECKING:
    from jinja2 import Environment


def page(report: Report) -> str:
    """The page. ConfigError where the extra `report` is missing."""
    environment = _environment()
    from markupsafe import Markup

    figures = {figure.name: Markup(svg(figure)) for section in report.sections for figure in section.figures}
    folder = files("builder.pages.report")
    style = Markup((folder / "page.css").read_text(encoding="utf-8"))
    template = environment.from_string((folder / "page.html").read_text(encoding="utf-8"))
    return template.render(report=report, figures=figures, style=style)


def _environment() -> Environment:
    try:
        import jinja2
    except ImportError as error:
        raise ConfigError(
            "the HTML report needs jinja2", fix=f"{install_command('report')}, or use --markdown or --data"
        ) from error
    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters |= {
        "shown": _cell,
        "pieces": pieces,
        "visible": visible,
        "prose": prose,
        "numeric": _numeric,
        "shares": _shares,
    }
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
