"""Seconds for pool, export and import of N reviews, and how fast the annotation page answers a key press.

    python tests/measure/gold.py [--reviews 5000] [--candidates 4] [--browser]

The reviews are made up here: random words around four candidates each, one in fifty with none; half of the candidates
have two sources.
"""

from __future__ import annotations

import argparse
import random
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from goldwork import triplet, work

from builder.core.records import Label, Triplet
from builder.gold.file_formats import FORMATS
from builder.gold.pool import PoolSettings
from builder.store import pool_labels, pools
from builder.teaching.labelling import agree, export, import_labels, opened
from builder.teaching.pooling import make_pool

ASPECTS, OPINIONS = ("湯頭", "店員", "餐點", "環境", "甜點", "飲料"), ("好喝", "親切", "太鹹", "乾淨", "很甜", "普通")


def made_up(count: int, each: int) -> tuple[tuple[str, ...], dict[str, list[tuple[int, Triplet]]]]:
    draw = random.Random(13)
    texts, found = [], {"rules": [], "C1": []}
    for n in range(1, count + 1):
        parts = [
            (draw.choice(ASPECTS), f"{i}號" + "也" * draw.randrange(12), draw.choice(OPINIONS)) for i in range(each)
        ]
        text = f"第{n}次\U0001f35c，" + "，".join("".join(part) for part in parts)
        texts.append(text)
        for i, (aspect, _, opinion) in enumerate(parts if n % 50 else []):
            nth = sum(part[0] == aspect for part in parts[:i])
            one = triplet(text, aspect, opinion, draw.choice(("POS", "NEG", "NEU")), nth)
            for name in ("rules", "C1") if draw.random() < 0.5 else (draw.choice(("rules", "C1")),):
                found[name].append((n, one))
    return tuple(texts), found


def timed(what: str, step: object, *arguments: object, **options: object) -> object:
    started, used = time.perf_counter(), time.process_time()
    out = step(*arguments, **options)  # type: ignore[operator]
    print(
        f"{what:<28} {time.perf_counter() - started:6.2f} s  ({time.process_time() - used:5.2f} s of one core)",
        flush=True,
    )
    return out


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--reviews", type=int, default=5000)
    parser.add_argument("--candidates", type=int, default=4)
    parser.add_argument("--browser", action="store_true", help="measure key presses too")
    parser.add_argument("--page", action="store_true", help="measure nothing but key presses")
    options = parser.parse_args()
    texts, found = made_up(options.reviews, options.candidates)
    with tempfile.TemporaryDirectory() as folder:
        workdir = work(Path(folder), texts, found)
        made = timed("pool", make_pool, workdir, PoolSettings(options.reviews, 13, "test"))
        print(f"{len(made.pool.reviews):,} reviews, {made.pool.size:,} candidates")  # type: ignore[attr-defined]
        with opened(workdir) as connection:
            pool = pools.read(connection, pools.chosen(connection, None))
            who, draw = pool_labels.annotator(connection, "amy"), random.Random(1)
            every = [
                (one.id, Label(draw.choice(("YY", "YN", "NX")))) for review in pool.reviews for one in review.candidates
            ]
            pool_labels.put(connection, who, every, "bench")
        for name in FORMATS if not options.page else ():
            file = Path(folder) / f"pool{name}"
            timed(f"export {name}", export, workdir, None, file, "amy")
            done = timed(f"import {name}", import_labels, workdir, None, file, f"{name[1:]}'s")
            assert done.labels == pool.size, done  # type: ignore[attr-defined]
        timed("agreement of six", agree, workdir, None)
        if options.browser or options.page:
            press_keys(workdir, pool.size)


def press_keys(workdir: Path, size: int) -> None:
    """100 key presses at the start and 100 in the middle: from the key to the next candidate on the screen, stored."""
    from chromium import Browser

    command = [
        sys.executable,
        "-m",
        "builder",
        "annotate",
        "serve",
        "--port",
        "0",
        "--annotator",
        "fresh",
        "--workdir",
        str(workdir),
    ]
    started = time.perf_counter()
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        address = process.stdout.readline().split()[1]
        print(f"page of {size:,} candidates up after {time.perf_counter() - started:.1f} s")
        browser = Browser()
        browser.open(address)
        script = """(async (keys) => { const out = []; \
for (const key of keys) { const before = Number(document.body.dataset.pressed || 0), from = performance.now();
            document.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true }));
            while (Number(document.body.dataset.pressed || 0) === before) await new Promise((done) => setTimeout(done, \
0));
            await new Promise(requestAnimationFrame); out.push(performance.now() - from); } return out; })(%s)"""
        for where in ("start", "middle"):
            if where == "middle":
                browser.run(f"go({size // 2})")
            taken = sorted(browser.run(script % str(list("123u1" * 20))))
            print(
                f"key press, {where}: median {statistics.median(taken):.0f} ms, 95th percentile {taken[94]:.0f} ms, "
                f"slowest {taken[-1]:.0f} ms"
            )
        browser.close()
        process.terminate()


if __name__ == "__main__":
    main()
