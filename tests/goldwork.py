"""A working directory with reviews and proposals of two sources, written without a build, and a pool of it."""

from __future__ import annotations

import re
from pathlib import Path

from builder.core.records import Candidate, Element, Polarity, Pool, PoolReview, Triplet
from builder.gold.pool import PoolSettings
from builder.store import db, pools, reviews, runs, triplets
from builder.teaching.pooling import make_pool

TEXTS = (
    "\U0001f35c湯頭濃郁\U0001f44d\U0001f3fd，可是店員態度不會太好。",
    "=湯好喝 +麵也好吃 -冷氣不冷 @店面很小",
    "餐點好吃，餐點便宜，餐點送得快",
    "昨天跟家人一起來。",
    "甜點\t很甜\r\n飲料, \"去冰\" 也很甜 _x000D_ <script>alert('x')</script>",
)
VALENCE: dict[Polarity, float] = {"POS": 8.0, "NEG": 3.0, "NEU": 5.0}


def triplet(text: str, aspect: str, opinion: str, polarity: Polarity, nth: int = 0) -> Triplet:
    """A triplet by its words; `opinion` with | stands in pieces, `nth` chooses among several places of the aspect."""
    start = [found.start() for found in re.finditer(re.escape(aspect), text)][nth]
    a = Element(aspect, ((start, start + len(aspect)),))
    spans, at = [], start
    for piece in opinion.split("|"):
        at = text.index(piece, at)
        spans.append((at, at + len(piece)))
        at += len(piece)
    o = Element(opinion.replace("|", ""), tuple(spans))
    return Triplet(a, a, o, o, polarity, VALENCE[polarity], rules=("nearest",))


def proposals(texts: tuple[str, ...] = TEXTS) -> dict[str, list[tuple[int, Triplet]]]:
    """What the rules and the model C1 propose: some the same, some not."""
    soup, formula, meal, _, sweet = texts
    both = [
        (1, triplet(soup, "湯頭", "濃郁", "POS")),
        (1, triplet(soup, "店員態度", "不會|好", "NEG")),
        (2, triplet(formula, "=湯", "好喝", "POS")),
        (3, triplet(meal, "餐點", "便宜", "POS", nth=1)),
        (5, triplet(sweet, "甜點", "很甜", "NEU")),
    ]
    rules = [(2, triplet(formula, "+麵", "好吃", "NEG")), (3, triplet(meal, "餐點", "好吃", "POS"))]
    model = [
        (2, triplet(formula, "-冷氣", "不冷", "NEG")),
        (2, triplet(formula, "@店面", "很小", "NEU")),
        (5, triplet(sweet, "飲料", "很甜", "NEG")),
    ]
    return {"rules": both + rules, "C1": both + model}


def work(
    folder: Path, texts: tuple[str, ...] = TEXTS, found: dict[str, list[tuple[int, Triplet]]] | None = None
) -> Path:
    """A working directory of `texts`, ids from 1, split test."""
    workdir = folder / "w"
    with db.writing(workdir) as connection, db.atomic(connection):
        reviews.insert(
            connection,
            [
                (f"r{n}", text, "s", None, float(n % 5 + 1), "f.csv", n, "traditional", "zh", f"h{n}", f"n{n}")
                for n, text in enumerate(texts, 1)
            ],
        )
        reviews.set_splits(connection, [("test", n) for n in range(1, len(texts) + 1)])
        for name, rows in (found or proposals(texts)).items():
            source = triplets.source(connection, name, "rules" if name == "rules" else "model", f"signature of {name}")
            ids = triplets.propose(connection, source, rows)
            if name == "rules":
                judge = triplets.source(connection, "discriminator", "discriminator", "d")
                triplets.judge(connection, judge, [(i, "YN" if n == 1 else "YY", 0.9) for n, i in enumerate(ids)])
        runs.finish_round(connection, runs.Round("C", 1, "k", "m", 1, 1, 1, 1, 1, 0.1))
    return workdir


def pooled(folder: Path) -> tuple[Path, Pool]:
    """The working directory of `work`, and a pool of all of its reviews."""
    workdir = work(folder)
    return workdir, draw(workdir, 100, 13)


def draw(workdir: Path, count: int, seed: int, split: str = "test") -> Pool:
    """A new pool of a working directory."""
    made = make_pool(workdir, PoolSettings(count, seed, split))
    with db.reading(workdir) as connection:
        return pools.read(connection, made.pool.id)


def by_name(pool: Pool, text: str, aspect: str) -> tuple[PoolReview, Candidate]:
    """A review of a pool and its candidate with this aspect."""
    return next(
        (r, one) for r in pool.reviews for one in r.candidates if r.text == text and one.triplet.aspect.text == aspect
    )
