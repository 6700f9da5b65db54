"""The tables of BoostAug for one data set: `python tests/measure/boost_tables.py FILE --table 2|3|4 [--dev] [OPTIONS
OF builder bench]`.

FILE is aspect polarity in three lines an example (text with $T$, aspect, polarity). A fifth of its texts, drawn by
hash, is the test set; with `--dev` that fifth is put aside unseen, and a fifth of the rest tests instead: settings are
chosen there. The tables of Yang and Li (2022): 2 none, eda, monoaug, boostaug; 3 boostaug, monoaug, each filter off
and the paper's ranks; 4 boostaug on each back end. All of them are one `builder bench`, whose command is printed, and
which keeps what is done: tables share their cells, and a run that was stopped goes on.
"""

from __future__ import annotations

import argparse
import shlex
import sys
from pathlib import Path

from builder.augment.bench.labelled_texts import held_out, load, normalised
from builder.cli.main import main as builder

TABLES = {
    "2": "none,eda,monoaug,boostaug",
    "3": "none,boostaug,monoaug,boostaug:by_confidence=false,boostaug:by_perplexity=false,boostaug:by_label=false,"
    "boostaug:ranked=true",
    "4": "none,boostaug,boostaug:backend=spelling,boostaug:backend=split,boostaug:backend=bert",
}
SHARE = 0.2


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path)
    parser.add_argument("--table", choices=TABLES, default="2")
    parser.add_argument("--workdir", type=Path, default=Path("bench"))
    parser.add_argument("--methods", help="instead of a table's")
    parser.add_argument("--dev", action="store_true")
    options, more = parser.parse_known_args()
    options.workdir.mkdir(parents=True, exist_ok=True)
    train, test = split(options.file, options.workdir, "test")
    if options.dev:
        train, test = split(train, options.workdir, "dev")
    asked = {
        "task": "absc",
        "train": train,
        "test": test,
        "methods": options.methods or TABLES[options.table],
        "workdir": options.workdir,
    }
    command = ["bench", *(part for key, value in asked.items() for part in (f"--{key}", str(value))), *more]
    sys.argv = ["builder", *command]
    print(shlex.join(sys.argv), flush=True)
    builder()


def split(path: Path, folder: Path, name: str) -> tuple[Path, Path]:
    """(what is left, the fifth that is taken) as files beside each other; examples of one text stay together."""
    lines = path.read_text("utf-8").splitlines()
    examples = ["\n".join(lines[at : at + 3]) + "\n" for at in range(0, len(lines) - 2, 3)]
    taken = {row.key for row in held_out(load(path, "absc").rows, SHARE, name)}
    parts: dict[bool, list[str]] = {True: [], False: []}
    for example, (text, aspect, _) in zip(examples, (one.splitlines() for one in examples), strict=True):
        parts[normalised(text.replace("$T$", aspect)) in taken].append(example)
    files = {True: folder / f"{path.stem}.{name}.txt", False: folder / f"{path.stem}.not-{name}.txt"}
    for held, listed in parts.items():
        files[held].write_text("".join(listed), "utf-8")
    return files[False], files[True]


if __name__ == "__main__":
    main()
