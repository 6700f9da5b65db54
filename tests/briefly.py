"""The command line with brief trainings: `python -m briefly build …`, with this folder on the path.

On few reviews a build's models pass over them sixteen times, which is most of what a small build takes. Where this
module is imported they pass as many times as the settings say.
"""

from functools import partial

from builder.learning.task import sized
from builder.models import kinds

kinds.sized = partial(sized, least=0)  # type: ignore[attr-defined]

if __name__ == "__main__":
    from builder.cli.main import main

    main()
