"""How long scoring takes: `python tests/measure/score.py [--reviews 5000] [--samples 1000]`.

Invented answers of so many reviews, about three triplets each, one in four of the predictions changed; every metric of
`builder gold score` with intervals, then the same against a second system. Prints seconds; exits with 1 where the first
takes 5 s or longer.
"""

from __future__ import annotations

import argparse
import random
import sys
import time

from builder.gold.metrics import Answer
from builder.gold.metrics.systems import Settings, measure, metrics

ASPECTS = ("湯頭", "牛肉麵", "服務", "服務人員", "環境", "價格", "甜點", "餐點[口感]", "停車", "份量")
OPINIONS = ("好喝", "不會鹹", "親切", "很慢", "乾淨", "貴", "普通", "大份", "方便", "軟嫩多汁")


def invented(seed: int, reviews: int) -> dict[str, list[Answer]]:
    draw = random.Random(seed)
    return {
        str(i): [
            (draw.choice(ASPECTS), draw.choice(OPINIONS), draw.choice(("POS", "POS", "NEG", "NEU")))
            for _ in range(draw.randrange(7))
        ]
        for i in range(reviews)
    }


def changed(gold: dict[str, list[Answer]], seed: int) -> dict[str, list[Answer]]:
    draw = random.Random(seed)
    other = invented(seed, len(gold))
    return {
        key: [draw.choice(other[key] or answers) if draw.random() < 0.25 else one for one in answers]
        for key, answers in gold.items()
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--reviews", type=int, default=5000)
    parser.add_argument("--samples", type=int, default=1000)
    options = parser.parse_args()
    gold = invented(1, options.reviews)
    one, other = changed(gold, 2), changed(gold, 3)
    settings = Settings(samples=options.samples)
    started, used = time.perf_counter(), time.process_time()
    done = measure(gold, one, metrics(), settings)
    wall, processor = time.perf_counter() - started, time.process_time() - used
    print(
        f"{options.reviews:,} reviews, {len(done)} metrics, {options.samples:,} samples: "
        f"{wall:.2f} s ({processor:.2f} s of processor)"
    )
    started, used = time.perf_counter(), time.process_time()
    measure(gold, one, metrics(), settings, other)
    print(
        f"against another system: {time.perf_counter() - started:.2f} s ({time.process_time() - used:.2f} s of "
        "processor)"
    )
    sys.exit(wall >= 5)


if __name__ == "__main__":
    main()
