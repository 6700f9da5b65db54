"""From raw Chinese restaurant reviews to versioned datasets of aspect sentiment triplets, without human labels.

`Extractor` finds triplets in texts, `build` makes a dataset of review files, `Release` reads one. They load when they
are first used.

    >>> from builder import Extractor
    >>> extract = Extractor()
    >>> extract("服務人員很親切")
    Document('服務人員很親切', [服務人員 · 親切 · POS])
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from builder.api import BuilderError, BuildResult, Document, Extractor, Release, Triplet, build

__version__ = "0.18.0"
__all__ = ["BuildResult", "BuilderError", "Document", "Extractor", "Release", "Triplet", "__version__", "build"]


def __getattr__(name: str) -> object:
    """The public names, each from `builder.api`, which is imported with the first of them (PEP 562)."""
    if name not in __all__:
        raise AttributeError(f"module 'builder' has no attribute {name!r}")
    from builder import api

    return getattr(api, name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
