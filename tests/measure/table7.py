"""The paper's release in one config, from reviews to Table 7: `python tests/measure/table7.py REVIEWS.csv --work DIR`.

Builds the variants A to D with the embedded models, draws a pool of gold and one of silver from the test split, and has
them labelled: the first by three simulated people and a judge, the second by the judge alone, a server on this machine
that answers as an OpenAI-compatible one by a rule of its own. People differ in some answers; the majority counts.
Then the same working directory is released with both layers, and its report holds Tables 1 to 8 and Figures 6
and 7. The people and the judge are simulated: their figures show that the way is whole, not how good anything is.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

JUDGE = "clause-judge"
"""The name under which the local judge's labels are stored."""
_QUESTION = re.compile(r"^(\d+)\. (.+)在以下文字是描述(.+?)嗎？.+是(正面|負面|中性)的描述嗎？$", re.M)
_BREAK = re.compile(r"[，。！？、；,.!?;~\s]+")
_GOOD, _BAD = "好棒讚優佳美香嫩鮮親切喜歡滿意便宜舒適新鮮", "差爛糟失望難慢髒貴臭冷淡油鹹"


def verdict_of(aspect: str, opinion: str, polarity: str, text: str) -> str:
    """YY, YN or NX by a rule that knows no lexicon of builder: both words in one clause or in neighbours, and a
    polarity that no single character of the opinion speaks against.
    """
    clauses = _BREAK.split(text)
    places = [[n for n, clause in enumerate(clauses) if word in clause] for word in (aspect, opinion)]
    if not all(places) or min(abs(a - o) for a in places[0] for o in places[1]) > 1:
        return "NX"
    negated = any(negator in opinion for negator in "不沒無")
    good, bad = any(char in opinion for char in _GOOD), any(char in opinion for char in _BAD)
    if negated:
        good, bad = bad, good
    return "YN" if (polarity == "正面" and bad and not good) or (polarity == "負面" and good and not bad) else "YY"


def answer(payload: dict[str, Any]) -> str:
    """The completion for a request of `builder gold judge`."""
    asked = payload["messages"][-1]["content"]
    questions, _, text = asked.partition("\ncontext:\n")
    return "\n".join(
        f"{number}: {verdict_of(aspect, opinion, polarity, text)}"
        for number, opinion, aspect, polarity in _QUESTION.findall(questions)
    )


@contextmanager
def judge_server() -> Iterator[str]:
    """A judge on this machine; its address."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            payload = json.loads(self.rfile.read(int(self.headers["content-length"])))
            message = {"role": "assistant", "content": answer(payload)}
            body = json.dumps(
                {
                    "id": "x", "object": "chat.completion", "created": 1, "model": payload["model"],
                    "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
                    "usage": {"prompt_tokens": 100, "completion_tokens": 5, "total_tokens": 105},
                }
            ).encode()  # fmt: skip
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            return

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/v1"
    finally:
        server.shutdown()
        server.server_close()


def fill_sheet(path: Path, person: str, slips: float) -> None:
    """Fill in a sheet as a simulated person: the rule's answer, but for a share of slips; no review lacks anything."""
    with path.open(encoding="utf-8-sig", newline="") as file:
        reader = csv.DictReader(file)
        rows, columns = list(reader), list(reader.fieldnames or ())
    names = {"POS": "正面", "NEG": "負面", "NEU": "中性"}
    for row in rows:
        if not row["candidate"]:
            row["label"] = "none"
            continue
        due = verdict_of(row["aspect"], row["opinion"], names[row["polarity"]], row["text"])
        draw = int.from_bytes(hashlib.sha256(f"{person} {row['candidate']}".encode()).digest()[:4], "big") / 2**32
        row["label"] = due if draw >= slips else {"YY": "NX", "NX": "YY", "YN": "YY"}[due]
        if row["label"] == "YN":
            row["right_polarity"] = "NEG" if row["polarity"] == "POS" else "POS"
    with path.open("w", encoding="utf-8-sig", newline="") as file:
        writer = csv.DictWriter(file, columns)
        writer.writeheader()
        writer.writerows(rows)


def builder(*arguments: object) -> str:
    """Run a command of builder, show it, and give its output back."""
    print("$ builder", *arguments, flush=True)
    done = subprocess.run(
        [sys.executable, "-m", "builder", *map(str, arguments)],
        stdout=subprocess.PIPE,
        text=True,
        check=False,
        env={**os.environ, "OPENAI_API_KEY": "none"},
    )
    print(done.stdout, end="", flush=True)
    if done.returncode:
        raise SystemExit(done.returncode)
    return done.stdout


def draw_pool(work: Path, count: int, seed: int, split: str = "test") -> str:
    """Draw a pool; its id."""
    out = builder("pool", "--workdir", work, "--n", count, "--seed", seed, "--split", split)
    (pool,) = re.findall(r"^pool ([0-9a-f]+)", out, re.M)
    return str(pool)


def label_by_people(work: Path, pool: str) -> None:
    """Three people fill in a sheet each."""
    for person, slips in (("amy", 0.05), ("bo", 0.1), ("cho", 0.0)):
        sheet = work / f"{person}-{pool}.csv"
        builder("annotate", "export", sheet, "--workdir", work, "--pool", pool, "--annotator", person)
        fill_sheet(sheet, person, slips)
        builder("annotate", "import", sheet, "--workdir", work, "--pool", pool, "--annotator", person)


def build(options: argparse.Namespace, *labels: str) -> None:
    """The build, one config; a second time with the labels of the pools only what depends on them runs."""
    settings = {
        "input.text_column": "text",
        "ingest.test_count": options.gold + options.silver,
        "ingest.valid_count": options.valid,
        "discriminate.mode": "paper",
        "self_train.variants": '["A", "B", "C", "D"]',
        "self_train.iterations": options.iterations,
        "self_train.confidence": 0.0,
        "release.train_source": "C",
        "release.min_confidence": 0.0,
        "release.empty": "drop",
        "release.date": '"2026-01-01"',
    }
    words = [f"{key}={value}" for key, value in settings.items()] + options.settings + list(labels)
    sets = [word for setting in words for word in ("--set", setting)]
    out = ("--workdir", options.work / "w", "--out", options.work / "releases")
    builder("build", options.work / "reviews.csv", *out, *sets)


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("reviews", type=Path, help="CSV with the columns review_id and text")
    parser.add_argument("--work", type=Path, required=True, help="folder for everything that is made")
    parser.add_argument("--take", type=int, default=4000, help="reviews to take: the first ones")
    parser.add_argument("--gold", type=int, default=300, help="reviews that people label")
    parser.add_argument("--silver", type=int, default=500, help="further reviews that the judge labels")
    parser.add_argument("--valid", type=int, default=400)
    parser.add_argument("--iterations", type=int, default=3)
    parser.add_argument("--set", dest="settings", action="append", default=[], help="KEY=VALUE of the build, last")
    options = parser.parse_args(arguments)
    options.work.mkdir(parents=True, exist_ok=True)
    with options.reviews.open(encoding="utf-8", newline="") as file:
        rows = [{"review_id": row["review_id"], "text": row["text"]} for row in csv.DictReader(file)][: options.take]
    with (options.work / "reviews.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, ["review_id", "text"])
        writer.writeheader()
        writer.writerows(rows)
    work = options.work / "w"
    build(options)
    everything = options.gold + options.silver
    gold, silver = draw_pool(work, options.gold, 13), draw_pool(work, everything, 14)
    beyond = draw_pool(work, min(100, options.valid), 15, "valid")
    for pool in (gold, beyond):
        label_by_people(work, pool)
    with judge_server() as address:
        for pool in (gold, silver):
            ask = ("--endpoint", address, "--model", JUDGE, "--batch", 20, "--yes")
            builder("judge", "--workdir", work, "--pool", pool, *ask)
    build(options, f"evaluate.gold=pool:{gold}", f"evaluate.silver=pool:{silver}")
    builder("verify", max((options.work / "releases").glob("v*")))
    builder("query", "released-summary", "--workdir", work)
    builder("report", "--workdir", work, "--out", options.work / "report.html", "--data", options.work / "tables")


if __name__ == "__main__":
    main()
