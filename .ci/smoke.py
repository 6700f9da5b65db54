"""Does the installed wheel work where no checkout is? `python smoke.py CHECKOUT WHEEL`, run by an environment that has
the wheel.

It holds every file of the package, the lexicons and the rules; it extracts, reads its sample into a database, and
knows how it is extended. The checkout serves only to compare the lists of files.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import zipfile
from importlib.metadata import distribution
from pathlib import Path

import builder
from builder.core.errors import DISTRIBUTION, install_command

checkout, wheel = Path(sys.argv[1]).resolve(), Path(sys.argv[2])
assert not Path(builder.__file__).is_relative_to(checkout), f"{builder.__file__} is the checkout's"

tracked = subprocess.run(
    ["git", "ls-files", "builder", "lexicons", "rules"], cwd=checkout, capture_output=True, text=True, check=True
)
due = {name if name.startswith("builder/") else f"builder/data/{name}" for name in tracked.stdout.splitlines()}
with zipfile.ZipFile(wheel) as packed:
    missing = due - set(packed.namelist())
assert len(due) > 300 and not missing, f"not in the wheel: {sorted(missing)[:5]}"
licences = {path.name for path in distribution(DISTRIBUTION).files or () if "licenses" in path.parts}
assert {"LICENSE", "README.md"} <= licences, f"licence files are {sorted(licences)}"

assert distribution(DISTRIBUTION).version == builder.__version__
found = [str(triplet) for triplet in builder.Extractor()("餐點不會太鹹，服務人員也很親切")]
assert found == ["餐點 · 不會鹹 · POS", "服務人員 · 親切 · POS"], found
with tempfile.TemporaryDirectory() as folder:
    made = builder.build(workdir=Path(folder, "workdir"), out=Path(folder, "releases"), until="seed")
assert int(made.counts["seed"]["triplets"]) > 500, made.counts
assert install_command("report") == f"pip install '{DISTRIBUTION}[report]'"
print(f"{wheel.name}: {len(due)} files, {made.counts['seed']['triplets']} triplets in the sample")
