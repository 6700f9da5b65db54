"""`builder extract`: texts from anywhere, answered by a system, written in one of the shapes of `extract_output`.

In: texts of the command line, standard input or a file, and the system that reads them. Out: a file that is written
beside its place and renamed, so that there is a whole one or none; or a stream.
"""

from __future__ import annotations

import io
import sys
import time
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO, cast

from builder.core.errors import InputError
from builder.core.files import replacing
from builder.core.progress import bar
from builder.core.settings import Convention
from builder.pipeline.extraction import System, open_build_system
from builder.release.export.extract_output import AnsweredText, Writer, writer
from builder.reviews.sources.texts import STANDARD, Text, texts


@dataclass(slots=True)
class Counts:
    """How many texts were read, how many triplets found, and in how many seconds."""

    texts: int = 0
    triplets: int = 0
    seconds: float = 0.0


def extract_file(
    source: Path, target: Path, system: str, workdir: Path | None, convention: str, workers: int
) -> Counts:
    """Extract from a file into JSON lines. InputError names the line that holds no text."""
    chosen = open_build_system(workdir, system, cast(Convention, convention))
    return extract_texts(texts(source), target, chosen, writer("jsonl", convention != "natural"), workers)


def extract_texts(
    given: Iterable[Text], target: Path | TextIO, system: System, write: Writer, workers: int = 1, at_once: bool = False
) -> Counts:
    """AnsweredText texts in order. `at_once` answers each before the next is read, as at a keyboard.

    A `target` that is a stream is written to as it is, without a progress bar: both would share the terminal.
    """
    counts, started = Counts(), time.monotonic()
    stream = not isinstance(target, Path)
    with _opened(target) as out, nullcontext() if stream else bar(None, "extract", unit=" texts") as shown:

        def counted() -> Iterator[AnsweredText]:
            for answer in _answers(given, system, workers, at_once):
                counts.texts += 1
                counts.triplets += len(answer.triplets)
                yield answer
                if shown is not None:
                    shown.update()

        for piece in write(counted()):
            out.write(piece)
            if at_once:
                out.flush()
    counts.seconds = time.monotonic() - started
    return counts


def _answers(given: Iterable[Text], system: System, workers: int, at_once: bool) -> Iterator[AnsweredText]:
    if at_once:
        for key, text in given:
            yield AnsweredText(key, text, system.extract([text])[0])
        return
    waiting = deque[Text]()

    def read_texts() -> Iterator[str]:
        for key, text in given:
            waiting.append((key, text))
            yield text

    for triplets in system.stream(read_texts(), workers):
        yield AnsweredText(*waiting.popleft(), triplets)


def read_aspects(path: Path) -> list[str]:
    """The aspects of a file, one a line, each once. InputError where it cannot be read or holds none."""
    try:
        lines = path.read_text("utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"cannot be read: {error}", where=str(path), fix="write an aspect a line, UTF-8") from error
    aspects = list(dict.fromkeys(line.strip() for line in lines if line.strip()))
    if not aspects:
        raise InputError("no aspect here", where=str(path), fix="write an aspect a line")
    return aspects


@contextmanager
def _opened(target: Path | TextIO) -> Iterator[TextIO]:
    """Standard output for `-`, a device or pipe as it is; a file is written beside its place and renamed."""
    if not isinstance(target, Path):
        yield target
    elif target == STANDARD:
        yield sys.stdout
    elif target.exists() and not target.is_file() and not target.is_dir():
        with target.open("w", encoding="utf-8") as out:
            yield out
    else:
        with replacing(target) as handle:
            file = io.TextIOWrapper(handle, encoding="utf-8", newline="")
            yield file
            file.detach()
