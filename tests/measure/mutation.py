"""Which changes of the code its own tests notice: `python tests/measure/mutation.py [--modules diff] [--sample 20]`.

In: the committed code; cosmic-ray (`pip install cosmic-ray` in an environment of its own; `--python` names the one
that runs the tests). Out: for every module so many random single changes, the share that its tests notice, and each
change that they do not. Works in a clone, for cosmic-ray writes its changes into the files. Not in CI: it takes hours.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
KINDS = re.compile(
    r"core/(ReplaceComparisonOperator_(?!Is_|.*_Is$)|AddNot|ReplaceAndWithOr|ReplaceOrWithAnd|ReplaceTrueWithFalse"
    r"|ReplaceFalseWithTrue|NumberReplacer|ReplaceUnaryOperator|ReplaceBinaryOperator_(?!BitOr)"
    r"|ReplaceContinueWithBreak|ReplaceBreakWithContinue)"
)
"""`is` in place of `==` is the same for small values, and a `|` stands in annotations: they say nothing of tests.

Nor does what a dataclass does without slots or frozen fields."""


@dataclass(frozen=True, slots=True)
class Target:
    """Modules, and the arguments of pytest that choose their own tests."""

    modules: tuple[str, ...]
    tests: str


TARGETS = {
    "agreement": Target(("builder/models/combiner.py",), "tests/test_agreement.py"),
    "metrics": Target(("builder/gold/metrics/scores.py",), "tests/test_metrics.py"),
    "privacy": Target(("builder/reviews/masking.py",), "tests/test_privacy.py"),
    "constraints": Target(
        ("builder/augment/constraints.py",),
        "tests/test_augment.py -k 'constraint or must or come'",
    ),
    "verify": Target(
        ("builder/release/verify.py", "builder/release/gates.py"),
        "tests/test_gates.py tests/test_export.py tests/test_forgeries.py tests/test_release_rows.py"
        " -k 'gates or forge or wrong or fault or missing or checksum or verify'",
    ),
    "diff": Target(("builder/release/diff.py",), "tests/test_diff.py"),
    "splits": Target(
        ("builder/reviews/assignment.py",),
        "tests/test_splits.py -k 'newcomer or group or count or share or whoever or named or bridge'",
    ),
    "near-duplicates": Target(
        ("builder/reviews/near_duplicates.py",), "tests/test_splits.py -k 'join or template or room or script'"
    ),
    "engine": Target(
        ("builder/engine/pairing.py", "builder/engine/engine.py"),
        "tests/test_pairing.py tests/test_weighing.py tests/test_deciding.py tests/test_engine.py"
        " tests/test_described.py",
    ),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--modules", nargs="+", choices=TARGETS, default=list(TARGETS))
    parser.add_argument("--sample", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=int, default=600, help="a run of the tests that takes longer has noticed")
    parser.add_argument("--python", default=sys.executable, help="the interpreter that runs the tests")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        clone = Path(folder) / "clone"
        subprocess.run(["git", "clone", "--quiet", "--shared", str(ROOT), str(clone)], check=True)
        for name in options.modules:
            measure(name, clone, Path(folder), options)


def measure(name: str, clone: Path, folder: Path, options: argparse.Namespace) -> None:
    """Print the row of one target, and the changes that its tests did not notice."""
    target, session, config = TARGETS[name], folder / f"{name}.sqlite", folder / f"{name}.toml"
    tests = f"env PYTHONPATH={clone} {options.python} -m pytest -x -n 0 -q -p no:cacheprovider {target.tests}"
    settings = {"module-path": list(target.modules), "timeout": options.seconds, "test-command": tests}
    lines = [f"{key} = {json.dumps(value)}" for key, value in settings.items()]
    config.write_text("[cosmic-ray]\n" + "\n".join(lines) + '\n[cosmic-ray.distributor]\nname = "local"\n')
    command = str(Path(sys.executable).parent / "cosmic-ray")
    subprocess.run([command, "init", str(config), str(session)], cwd=clone, check=True, capture_output=True)
    subprocess.run([command, "baseline", str(config)], cwd=clone, check=True, capture_output=True)
    choose(session, options.sample, random.Random(f"{options.seed} {name}"))
    subprocess.run([command, "exec", str(config), str(session)], cwd=clone, check=True, capture_output=True)
    report(name, session)


def choose(session: Path, sample: int, draw: random.Random) -> None:
    """Leave so many changes to be tried: places are drawn first, then one of the changes of each."""
    from cosmic_ray.work_db import WorkDB, use_db
    from cosmic_ray.work_item import WorkerOutcome, WorkResult

    with use_db(str(session), WorkDB.Mode.open) as work:
        places: dict[tuple[str, tuple[int, int]], list[str]] = {}
        for item in work.work_items:
            change = item.mutations[0]
            if KINDS.match(change.operator_name) and not line_at(change).startswith("@dataclass"):
                places.setdefault((str(change.module_path), change.start_pos), []).append(item.job_id)
        chosen = {draw.choice(sorted(places[place])) for place in draw.sample(sorted(places), min(sample, len(places)))}
        rest = [item.job_id for item in work.work_items if item.job_id not in chosen]
        work.set_multiple_results(rest, WorkResult(WorkerOutcome.SKIPPED))


def line_at(change: Any) -> str:
    """The line of a clone's module that a change begins on."""
    return Path(change.module_path).read_text(encoding="utf-8").splitlines()[change.start_pos[0] - 1].strip()


def report(name: str, session: Path) -> None:
    """The table's row, then the changes that lived as diffs."""
    from cosmic_ray.work_db import WorkDB, use_db
    from cosmic_ray.work_item import WorkerOutcome

    with use_db(str(session), WorkDB.Mode.open) as work:
        tried = [result for _, result in work.completed_work_items if result.worker_outcome != WorkerOutcome.SKIPPED]
    noticed = sum(result.is_killed for result in tried)
    print(f"| {name} | {len(tried)} | {noticed} | {100 * noticed / max(1, len(tried)):.0f}% |", flush=True)
    for result in tried:
        if not result.is_killed:
            print("\n".join(line for line in str(result.diff).splitlines() if line[:1] in "@+-"), flush=True)


if __name__ == "__main__":
    main()
