"""Licences by their SPDX names: a licence, an expression of several, and those of the sources of a dataset.

The list of licences comes with `packaging`.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from builder.core.errors import ConfigError

_OWN = "for terms of your own write LicenseRef-NAME"


def canonical(licence: str, where: str) -> str:
    """`licence` as SPDX spells it, or an expression of several; ConfigError for one that is not on the list."""
    from packaging.licenses import InvalidLicenseExpression, canonicalize_license_expression

    if not licence:
        return ""
    try:
        return canonicalize_license_expression(licence)
    except InvalidLicenseExpression as error:
        close = _find_near(licence.lower())
        meant = f"did you mean {known()[close]!r}? The list: " if close else "see "
        fix = f"{meant}https://spdx.org/licenses; {_OWN}"
        raise ConfigError(f"{licence!r} is no SPDX licence", where=where, fix=fix) from error


def _find_near(licence: str) -> str:
    """Of the licences that people give data, one that begins so or is spelt nearly so; empty where none is."""
    written = licence.replace(" ", "-")
    if not written:
        return ""
    newest = sorted(HUB_LICENCES, reverse=True)
    begun = [name for name in newest if name.startswith(written) or written.startswith(f"{name}-")]
    return min(begun or difflib.get_close_matches(written, newest, 1, 0.75), key=len, default="")


def known() -> dict[str, str]:
    """The names on the list, by their lower-case spelling."""
    from packaging.licenses._spdx import LICENSES

    return {name: entry["id"] for name, entry in LICENSES.items()}


def is_spdx_name(licence: str) -> bool:
    """Whether it is one name of the list, which has a page there."""
    return licence.lower() in known()


def by_source(pairs: Iterable[str], where: str) -> dict[str, str]:
    """{source: licence} of `SOURCE=LICENCE` pairs; ConfigError for one that is none, or a source named twice."""
    licences: dict[str, str] = {}
    for pair in pairs:
        source, equals, licence = pair.rpartition("=")
        if not equals or not source.strip() or not licence.strip():
            raise ConfigError(
                f"{pair!r} is no SOURCE=LICENCE", where=where, fix='for example release.licences = ["survey=CC-BY-4.0"]'
            )
        if source.strip() in licences:
            raise ConfigError(
                f"the source {source.strip()!r} has two licences", where=where, fix="name each source once"
            )
        licences[source.strip()] = canonical(licence.strip(), where)
    return licences


HUB_LICENCES = frozenset((
    "apache-2.0", "mit", "cc0-1.0", "cc-by-2.0", "cc-by-2.5", "cc-by-3.0", "cc-by-4.0", "cc-by-sa-3.0",
    "cc-by-sa-4.0", "cc-by-nc-2.0", "cc-by-nc-3.0", "cc-by-nc-4.0", "cc-by-nd-4.0", "cc-by-nc-nd-3.0",
    "cc-by-nc-nd-4.0", "cc-by-nc-sa-2.0", "cc-by-nc-sa-3.0", "cc-by-nc-sa-4.0", "odbl-1.0", "odc-by-1.0", "pddl-1.0",
    "gpl-3.0", "lgpl-3.0", "bsd-3-clause", "cdla-permissive-2.0", "cdla-sharing-1.0", "unlicense",
))  # fmt: skip
"""Those that dataset hubs know, in their spelling; every other one is `other` with its name."""


def known_to_hubs(licence: str) -> bool:
    """Whether dataset hubs know a licence by this name, in whatever case."""
    return licence.lower() in HUB_LICENCES
