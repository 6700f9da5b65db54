"""The last audit of a working directory, measured: what the stage release states of quality. Reads only."""

from __future__ import annotations

import sqlite3
from dataclasses import asdict

from builder.gold.audit_estimates import AuditResult, describe_audit, measure_audit
from builder.store import audits, gold, pools


def measured(connection: sqlite3.Connection, pool: str) -> AuditResult:
    """What people said of an audit's sample so far, as estimates for the release."""
    final = {i: label for i, (label, _) in gold.final(connection, pool).items()}
    return measure_audit(pools.read(connection, pool), final, audits.complete(connection, pool))


def quality(connection: sqlite3.Connection) -> dict[str, object]:
    """The result of the last audit as plain values with a `summary`; empty without an audit, or without an answer."""
    pool = audits.latest(connection)
    result = measured(connection, pool) if pool is not None else None
    if result is None or result.precision is None:
        return {}
    return {"summary": describe_audit(result), **asdict(result)}
