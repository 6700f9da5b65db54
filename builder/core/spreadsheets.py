"""Tables that people saved from a spreadsheet program. In: the text of a CSV or TSV file. Out: its rows of cells."""

from __future__ import annotations

import csv
import io


def read_cells(text: str) -> list[list[str]]:
    """The rows of a table with commas, semicolons or tabs between the cells, whichever its first line has most of: the
    programs of some countries save semicolons. csv.Error where a quote is not closed.
    """
    csv.field_size_limit(max(csv.field_size_limit(), 1 << 24))
    delimiter = max(",;\t", key=text.partition("\n")[0].count)
    return list(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True))
