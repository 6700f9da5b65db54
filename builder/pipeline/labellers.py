"""Language models that label whole reviews, as sources of the build.

In: the answers that `builder gold label` kept. Out: their triplets as proposals of the sources `llm:MODEL@PROMPT`, what
is no triplet among the rejected rows. Nobody is asked: a build restores them from what is kept.
"""

from __future__ import annotations

import json
import sqlite3

from builder.gold.judge import message_of
from builder.gold.triplet_answers import read_answer
from builder.store import db, labels, reviews, triplets


def restore_labellers(connection: sqlite3.Connection) -> dict[str, int]:
    """Write the proposals of all labellers anew; source -> its triplets."""
    with db.atomic(connection):
        return {name: restore(connection, name) for name in labels.names(connection)}


def restore(connection: sqlite3.Connection, name: str) -> int:
    """Write the proposals of a labeller anew, by its kept answers; how many there are.

    A review whose answer cannot be read counts as not asked: an unreadable answer does not say that there is nothing.
    """
    labels.clear_rows(connection, name)
    source = triplets.source(connection, name, "llm", labels.signature(connection, name))
    number, answered = 0, []
    for kept in labels.kept(connection, name):
        answer = read_answer(message_of(kept.raw), kept.text)
        if answer.readable:
            answered.append(kept.review)
        number += len(triplets.propose(connection, source, [(kept.review, triplet) for triplet in answer.triplets]))
        rejected = [(kept.key, row.reason, name, row.raw) for row in answer.rejected]
        reviews.reject(connection, labels.STAGE, rejected)
    labels.put(connection, source, answered)
    triplets.drop_orphans(connection)
    return number


def read_unreadable(connection: sqlite3.Connection, name: str) -> set[int]:
    """The row ids of the reviews of which a labeller's answer cannot be read."""
    kept = labels.kept(connection, name)
    return {answer.review for answer in kept if not read_answer(message_of(answer.raw), answer.text).readable}


def digest_answers(connection: sqlite3.Connection) -> str:
    """What decides the proposals of all labellers."""
    return json.dumps([labels.signature(connection, name) for name in labels.names(connection)])
