"""seed: the rule engine over every annotated review; triplets and their story go to `triplets` and `proposals` of the
source `rules`. Where exact counts of test and valid are those of reviews with a triplet, it settles the splits.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator

from builder.core.progress import bar
from builder.core.records import Review
from builder.core.settings import Convention
from builder.core.shards import Job
from builder.engine import RuleEngine, make_engine
from builder.engine.reader import extract, restored
from builder.language.lexicon.resources import Lexicon
from builder.pipeline.context import ArrivedWords, Context, pack_words, unpack_words
from builder.pipeline.splits import counts_triplets, settle_splits
from builder.store import db, reviews, runs, triplets

_CHUNK = 1024
_AT = "seed.at"
"""What the working directory calls the last review that was read: a broken-off run goes on behind it."""
_Task = list[tuple[reviews.ReviewFields, str]]
_Answer = tuple[int, int, list[triplets.PreparedTriplet]]
_Ready = tuple[RuleEngine, Lexicon]


def run(context: Context) -> runs.Counts:
    """Extract the triplets of every annotated review by rules; the counts of them."""
    connection = context.connection
    source, at = _begin(context)
    job = Job(_prepare, (pack_words(context), context.config.rules.convention), _seed)
    with bar(reviews.count(connection), "seed") as shown:
        for last, number, rows in context.crew.map(job, _tasks(context, at)):
            with db.atomic(connection):
                triplets.propose_prepared(connection, source, rows)
                runs.set_setting(connection, _AT, str(last))
            shown.update(number)
    triplets.record(connection, _lexicon_entries(context.lexicon))
    if counts_triplets(context.config):
        with db.atomic(connection):
            settle_splits(context, source)
    return triplets.counts(connection, "rules")


def _begin(context: Context) -> tuple[int, int]:
    """The source of the rules, and the last review that they read under the same key; otherwise all begins anew."""
    connection, source = context.connection, triplets.source_id(context.connection, "rules")
    if source is not None and runs.setting(connection, "seed.key") == context.key:
        return source, int(runs.setting(connection, _AT) or 0)
    with db.atomic(connection):
        triplets.clear(connection)
        runs.set_setting(connection, "seed.key", context.key)
        runs.set_setting(connection, _AT, "0")
        return triplets.source(connection, "rules", "rules", context.key), 0


def _lexicon_entries(lexicon: Lexicon) -> Iterator[triplets.Entry]:
    yield from (("aspects", entry.word, entry.cls, entry.where) for entry in lexicon.aspects.values())
    yield from (("opinions", entry.word, entry.category, entry.where) for entry in lexicon.opinions.values())


def _tasks(context: Context, at: int) -> Iterator[_Task]:
    while rows := reviews.annotated_fields(context.connection, at, _CHUNK):
        at = rows[-1][0][0]
        yield rows


def _prepare(words: ArrivedWords, convention: Convention) -> _Ready:
    folders, lexicon = unpack_words(words)
    engine = make_engine(lexicon, folders.load_rules(), convention)
    gc.freeze()  # the lexicon stays: the collector need not look at it again and again
    return engine, lexicon


def _seed(ready: _Ready, task: _Task) -> _Answer:
    engine, lexicon = ready
    # All views first: OpenCC takes four times as long for a text where the engine worked since the last one.
    read = [restored(Review(*fields), reviews.load_words(words), lexicon.variants) for fields, words in task]
    return (
        task[-1][0][0],
        len(task),
        triplets.prepare(
            (fields[0], triplet)
            for (fields, _), reading in zip(task, read, strict=True)
            for triplet in extract(engine, reading)
        ),
    )
