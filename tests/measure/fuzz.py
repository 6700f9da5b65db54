"""What nobody should send, through every door: `python tests/measure/fuzz.py [--count 10000] [--seed 1]`.

Inputs of several families (`--list`) are made from a seed and their numbers alone: files of reviews, releases, servers,
models. Each is used in a process of its own and may take ten seconds of one core and two gigabytes. It ends well, or
with exactly one line of error; anything else is a failure.

Prints a table in Markdown. What fails is kept under `--state` with its seed and number: `--replay FAMILY:SEED:NUMBER`
makes and uses it again, `--replay FOLDER` uses one that was kept. A run that was stopped goes on; `--fresh` begins
anew.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from multiprocessing import get_context
from pathlib import Path
from typing import Any

if __name__ == "__main__" or "measure" not in sys.modules:
    sys.path[:0] = [str(Path(__file__).parents[1]), str(Path(__file__).parents[2])]

from measure.fuzzing import bombs, columnar, hubs, models, releases, reviews, servers, workbooks
from measure.fuzzing.case import Family, Outcome, load_modules, make_input, use_input

FAMILIES = {
    module.FAMILY.name: module.FAMILY
    for module in (reviews, bombs, workbooks, columnar, releases, models, servers, hubs)
}
os.environ |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "TQDM_DISABLE": "1"}
os.environ["ARROW_DEFAULT_MEMORY_POOL"] = "system"


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=10_000, help="inputs over all families, by their shares")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--family", action="append", choices=FAMILIES, help="only this one (repeatable)")
    parser.add_argument("--workers", type=int, default=2, help="cores to use")
    parser.add_argument("--state", type=Path, help="where results and failures lie; by default in the temporary folder")
    parser.add_argument("--fresh", action="store_true", help="begin anew, not where a run was stopped")
    parser.add_argument("--replay", metavar="FAMILY:SEED:NUMBER|FOLDER", help="one input, with all that it says")
    parser.add_argument("--list", action="store_true", help="name the families")
    options = parser.parse_args()
    if options.list:
        print("\n".join(f"{family.name:10} {family.about}" for family in FAMILIES.values()))
        return
    if options.replay:
        raise SystemExit(replay(options.replay))
    state = options.state or Path(tempfile.gettempdir()) / f"builder-fuzz-{options.seed}"
    if options.fresh:
        shutil.rmtree(state, ignore_errors=True)
    chosen = [FAMILIES[name] for name in options.family or FAMILIES]
    counts = shares(chosen, options.count)
    outcomes = []
    for family in chosen:
        outcomes += run(family, counts[family.name], options.seed, state, options.workers)
    print(table(outcomes, chosen))
    failures = [outcome for outcome in outcomes if outcome.failure]
    for outcome in failures:
        reason = outcome.failure.strip().splitlines()[-1][:300]
        print(f"FAILED {outcome.family}:{options.seed}:{outcome.number} {reason}")
    if failures:
        print(f"{len(failures)} failures are kept in {state / 'failures'}")
    raise SystemExit(bool(failures))


def shares(families: Sequence[Family], count: int) -> dict[str, int]:
    """How many inputs of each family make `count`."""
    total = sum(family.share for family in families)
    counts = {family.name: count * family.share // total for family in families}
    counts[families[0].name] += count - sum(counts.values())
    return counts


def run(family: Family, count: int, seed: int, state: Path, workers: int = 1) -> list[Outcome]:
    """The outcomes of a family's inputs 0 to `count`; those that a run before has noted are not used again."""
    results = state / f"{family.name}-{seed}.jsonl"
    results.parent.mkdir(parents=True, exist_ok=True)
    outcomes = _noted(results)
    due = [number for number in range(count) if number not in outcomes]
    if due:
        with tempfile.TemporaryDirectory() as scratch:
            base = Path(scratch) / "base"
            base.mkdir()
            context = get_context("spawn")
            _joined([context.Process(target=_prepare, args=(family.name, base))])
            crew = min(len(due), workers * family.workers)
            processes = [
                context.Process(target=_work, args=(family.name, due[first::crew], seed, state, Path(scratch), first))
                for first in range(crew)
            ]
            with _progress(family, results, count):
                _joined(processes)
        outcomes = _noted(results)
    return [outcomes[number] for number in range(count)]


def _noted(results: Path) -> dict[int, Outcome]:
    """The outcomes by number; a last line that was cut is no outcome."""
    outcomes = {}
    if results.exists():
        for line in results.read_text(encoding="utf-8").splitlines():
            with contextlib.suppress(ValueError):
                outcome = Outcome(**json.loads(line))
                outcomes[outcome.number] = outcome
    return outcomes


def _joined(processes: Sequence[Any]) -> None:
    for process in processes:
        process.start()
    try:
        for process in processes:
            process.join()
    finally:
        for process in processes:
            process.kill()
    if dead := [process.exitcode for process in processes if process.exitcode]:
        raise SystemExit(f"the harness itself failed (exit {dead[0]})")


@contextlib.contextmanager
def _progress(family: Family, results: Path, count: int) -> Iterator[None]:
    """How far a family is, on standard error."""
    import threading

    ended = threading.Event()

    def show() -> None:
        while not ended.wait(5):
            done = _noted(results)
            failed = sum(bool(outcome.failure) for outcome in done.values())
            print(f"{family.name}: {len(done):,} of {count:,}, {failed} failed", file=sys.stderr, flush=True)

    thread = threading.Thread(target=show, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def _prepare(name: str, base: Path) -> None:
    FAMILIES[name].prepare(base)


def _work(name: str, numbers: Sequence[int], seed: int, state: Path, scratch: Path, first: int) -> None:
    """Make and use some inputs, one behind the other; note each outcome, keep each failure."""
    family, boss = FAMILIES[name], os.getppid()
    load_modules(family, scratch / "base", scratch / f"{first}" / "tried")
    with (state / f"{name}-{seed}.jsonl").open("a", encoding="utf-8") as results:
        for number in numbers:
            if os.getppid() != boss:  # killed: nobody waits for us
                return
            folder = scratch / f"{first}" / f"{number}"
            broken = make_input(family, scratch / "base", folder, seed, number)
            outcome = (
                Outcome(name, number, "", broken, 0.0, 0)
                if broken
                else use_input(family, scratch / "base", folder, number)
            )
            if outcome.failure:
                keep(family, scratch / "base", state / "failures" / f"{name}-{seed}-{number}", seed, outcome)
            results.write(outcome.line)
            results.flush()
            shutil.rmtree(folder, ignore_errors=True)


def keep(family: Family, base: Path, to: Path, seed: int, outcome: Outcome) -> None:
    """The input of a failure, made again as it was before it was used, and what went wrong."""
    shutil.rmtree(to, ignore_errors=True)
    make_input(family, base, to / "input", seed, outcome.number)
    case = {"family": family.name, "seed": seed, "number": outcome.number}
    (to / "case.json").write_text(json.dumps(case) + "\n")
    (to / "failure.txt").write_text(outcome.failure + "\n", encoding="utf-8")


def replay(name: str) -> int:
    """Use an input again, and print what becomes of it. Returns 1 for a failure."""
    kept = Path(name) / "case.json"
    if kept.exists():
        case = json.loads(kept.read_text())
    else:
        case = dict(zip(("family", "seed", "number"), name.split(":"), strict=True))
    family, seed, number = FAMILIES[case["family"]], int(case["seed"]), int(case["number"])
    with tempfile.TemporaryDirectory() as scratch:
        base, folder = Path(scratch) / "base", Path(scratch) / "input"
        base.mkdir()
        _joined([get_context("spawn").Process(target=_prepare, args=(family.name, base))])
        family.load()
        if kept.exists():
            shutil.copytree(Path(name) / "input", folder, symlinks=True)
        elif broken := make_input(family, base, folder, seed, number):
            print(broken)
            return 1
        print("\n".join(str(path.relative_to(folder)) for path in sorted(folder.rglob("*")) if not path.is_dir()))
        outcome = use_input(family, base, folder, number)
    print(outcome.failure or outcome.what)
    print(f"{outcome.seconds:.1f} s of a core, {outcome.memory >> 20} MB")
    return int(bool(outcome.failure))


def table(outcomes: Sequence[Outcome], families: Sequence[Family]) -> str:
    """Markdown: each family with its count, what became of its inputs, its worst time and memory, its failures."""
    from tabulate import tabulate

    rows = []
    for family in families:
        own = [outcome for outcome in outcomes if outcome.family == family.name]
        kinds = Counter(outcome.what for outcome in own if outcome.what)
        if own:
            rows.append(
                (
                    family.name,
                    f"{len(own):,}",
                    ", ".join(f"{what} {number:,}" for what, number in kinds.most_common()),
                    f"{max(outcome.seconds for outcome in own):.1f} s",
                    f"{max(outcome.memory for outcome in own) >> 20:,} MB",
                    sum(bool(outcome.failure) for outcome in own),
                )
            )
    heads = ["family", "files", "what became of them", "worst time", "worst memory", "failures"]
    return str(tabulate(rows, headers=heads, tablefmt="github", disable_numparse=True))


if __name__ == "__main__":
    main()
