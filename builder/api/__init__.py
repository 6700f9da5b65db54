"""What `import builder` offers: extract triplets from texts, build a dataset from review files, read a release.

In: texts, review files, or a release directory. Out: `Document`s of `Triplet`s whose offsets are code points of the
text as it was given, and `Release`s. The names are those of the command line: `builder extract`, `builder build`,
`builder verify`, `builder versions diff`. Start reading at `extractor` and `building`.

    >>> import builder
    >>> extract = builder.Extractor()
    >>> for triplet in extract("餐點不會太鹹，服務人員也很親切"):
    ...     print(triplet)
    餐點 · 不會鹹 · POS
    服務人員 · 親切 · POS
"""

from builder.api.building import BuildResult, Release, build
from builder.api.documents import Document
from builder.api.extractor import Extractor
from builder.core.errors import BuilderError
from builder.core.records import Element, Token, Triplet

__all__ = ["BuildResult", "BuilderError", "Document", "Element", "Extractor", "Release", "Token", "Triplet", "build"]
