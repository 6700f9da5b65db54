"""JSON lines: one object a line. A line that is not JSON is rejected alone; blank lines are no rows."""

from __future__ import annotations

import json
from collections.abc import Iterator

from builder.sources.columns import Columns, Row
from builder.sources.encoding import Codec, DecodedLine, codec_of, lines
from builder.sources.objects import RawObject, reviews
from builder.sources.opening import Source, storable
from builder.sources.rows import RejectedRow

# Not strict: raw tabs and other control characters inside strings are read; NUL is rejected by name, not as bad JSON.
DECODER = json.JSONDecoder(strict=False)


def read(source: Source, columns: Columns) -> Iterator[Row]:
    """The objects of a file with one JSON object a line, as rows."""
    codec = codec_of(source)
    filled = (line for line in lines(source, codec) if line.text.strip())
    return reviews((_item(row, line, codec) for row, line in enumerate(filled, 1)), columns, source)


def _item(row: int, line: DecodedLine, codec: Codec) -> RawObject | RejectedRow:
    if line.bad is not None:
        fault = "encoding", f"invalid {codec.label} at byte {line.bad}"
    elif "\0" in line.text:
        fault = "nul", f"NUL byte, line {line.number}"
    else:
        try:
            return RawObject(row, DECODER.decode(line.text))
        except (ValueError, RecursionError) as error:  # ValueError: also an integer of more digits than Python converts
            reason = error.msg if isinstance(error, json.JSONDecodeError) else type(error).__name__
            fault = "json", f"bad JSON, line {line.number} ({reason})"
    return RejectedRow(row, fault[0], f"row {row}: {fault[1]}", storable(line.text.rstrip("\r\n")))
