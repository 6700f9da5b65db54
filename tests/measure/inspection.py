"""How long inspection takes: `python tests/measure/inspection.py WORKDIR [--triplets 200000]`.

Copies the database of a finished build, repeats its reviews (with all that was made of them) until it holds the
triplets asked for, and times every named query (the first 1,001 rows, as the command line fetches them), searches,
stories and, with Datasette, the pages.
"""

from __future__ import annotations

import argparse
import asyncio
import sqlite3
import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from builder.language.lexicon.resources import load_lexicon
from builder.store import db, queries, search, stories, triplets

REPEATED = {
    "reviews": "id + :o, key || '~' || :o, text, source, place, rating, file, row, script, language, hash, norm_hash, "
    "duplicate_of + :o, duplicate_kind, split",
    "annotations": "review + :o, backend, words",
    "triplets": "id + (:o << 31), review + :o, aspect, aspect_full, owner, opinion, opinion_full, polarity, valence, "
    "spans",
    "proposals": "source, triplet + (:o << 31), confidence, rule, story",
    "verdicts": "source, triplet + (:o << 31), label, score",
    "training_sets": "variant, round, triplet + (:o << 31)",
}
REVIEW_OF = {"reviews": "id", "annotations": "review", "triplets": "review"}


def fill(source: Path, target: Path, wanted: int) -> None:
    """A working directory with about `wanted` triplets, made of `source` repeated."""
    target.mkdir()
    with (
        closing(sqlite3.connect(f"{(source / db.NAME).resolve().as_uri()}?mode=ro", uri=True)) as old,
        closing(sqlite3.connect(target / db.NAME)) as new,
    ):
        old.backup(new)
    with db.writing(target) as connection:
        connection.execute("PRAGMA foreign_keys = OFF")
        have = connection.execute("SELECT count(*) FROM triplets").fetchone()[0]
        last = connection.execute("SELECT max(id) FROM reviews").fetchone()[0]
        offset = 0
        with db.atomic(connection):
            while have < wanted:
                offset += last
                upto = connection.execute(
                    "SELECT coalesce(max(review), :last) FROM (SELECT review FROM triplets WHERE review <= :last ORDER "
                    "BY review LIMIT :n)",
                    {"last": last, "n": wanted - have},
                ).fetchone()[0]
                for table, columns in REPEATED.items():
                    key = REVIEW_OF.get(table, "triplet >> 31")
                    connection.execute(
                        f"INSERT INTO {table} SELECT {columns} FROM {table} WHERE {key} <= :upto",
                        {"o": offset, "upto": upto},
                    )
                have = connection.execute("SELECT count(*) FROM triplets").fetchone()[0]
        lexicon = load_lexicon()
        triplets.record(
            connection,
            [("aspects", one.word, one.cls, one.where) for one in lexicon.aspects.values()]
            + [("opinions", one.word, one.category, one.where) for one in lexicon.opinions.values()],
        )
        started = time.perf_counter()
        done = search.index(connection)
        print(f"{have:,} triplets; {done:,} reviews indexed for search in {time.perf_counter() - started:.1f} s")


def best(work: Callable[[], object], times: int = 5) -> float:
    """Milliseconds of processor time, the best of some: what the clock says where no other program has the cores."""
    taken = []
    for _ in range(times):
        started = time.process_time()
        work()
        taken.append(time.process_time() - started)
    return 1000 * min(taken)


def pages(workdir: Path, folder: Path, paths: list[str]) -> None:
    """Time pages as the server makes them, from its own copy of the database."""
    from builder.pages.serve import app

    started = time.process_time()
    served = app.datasette(app.of_workdir(workdir, folder), "bench", "bench")
    print(f"copy for the server: {time.process_time() - started:.1f} s, then")
    with asyncio.Runner() as runner:
        for path in paths:
            runner.run(served.client.get(path))
            print(f"page {path:<34} {best(lambda p=path: runner.run(served.client.get(p))):8.1f} ms")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("workdir", type=Path)
    parser.add_argument("--triplets", type=int, default=200_000)
    parser.add_argument("--keep", type=Path, help="fill this directory, or use it if it is there")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        target = chosen.keep or Path(folder) / "workdir"
        if not target.exists():
            fill(chosen.workdir, target, chosen.triplets)
        with db.reading(target) as connection:
            for name in queries.names():
                params = queries.lookup(name).params
                print(
                    f"query {name:<28} {best(lambda n=name, p=params: queries.named(connection, n, p, 1001)):8.1f} ms"
                )
            for words in (["服務"], ["好吃"], ["的"], ["服務態度很好"], ["麻辣", "鴨血"], ["fries"], ["龘龘"]):
                total = search.find(connection, words).total
                print(
                    f"search {' '.join(words):<20} {total:>7,} hits "
                    f"{best(lambda w=words: search.find(connection, w)):8.1f} ms"
                )
            longest = connection.execute("SELECT id FROM reviews ORDER BY length(text) DESC LIMIT 1").fetchone()[0]
            middle = connection.execute("SELECT review FROM triplets ORDER BY id LIMIT 1 OFFSET 100000").fetchone()
            for i in (longest, *(middle or ())):
                print(f"story of review {i:<12} {best(lambda i=i: stories.review(connection, i)):8.1f} ms")
        shown = Path(folder) / "served"
        shown.mkdir()
        reviews = [f"/review/{i}" for i in (longest, *(middle or ()))]
        pages(
            target,
            shown,
            [
                "/",
                "/reviews?q=服務",
                *reviews,
                "/builder/triplet_list",
                "/builder/triplet_list?polarity=NEG&_facet=aspect",
            ],
        )


if __name__ == "__main__":
    main()
