"""annotate: words, parts of speech and dependencies of every distinct review, one row of `annotations` each, beside
those of other backends.

Chunks of `annotate.chunk` reviews are the tasks of the worker processes and the transactions of the database: a
killed run goes on at the next chunk, and what a chunk holds does not depend on the number of workers.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from builder.core.errors import ResourceError
from builder.core.progress import bar
from builder.core.shards import Job, Parcel
from builder.engine.reader import read
from builder.language import nlp
from builder.pipeline.context import ArrivedWords, Context, pack_words, unpack_words
from builder.reviews.script import Script, Variants
from builder.store import db, reviews, runs

_Task = list[tuple[int, str, Script]]
_Ready = tuple[nlp.Backend, Variants]


def run(context: Context) -> runs.Counts:
    """Annotate every review that has no annotation by this backend yet; the number of reviews."""
    connection, config = context.connection, context.config
    models = Path(config.annotate.models) if config.annotate.models else None
    signature = nlp.load(config.annotate.backend, context.lexicon.words(), models, "cpu").signature
    backend = _begin(context, signature)
    at = reviews.annotated_to(connection)
    folder = Parcel.of(models) if models else None
    job = Job(_prepare, (pack_words(context), config.annotate.backend, folder, signature, config.device), _annotate)
    with bar(reviews.count(connection), "annotate") as shown:
        shown.update(reviews.annotated_count(connection))
        for rows in context.crew.map(job, _tasks(context, at)):
            with db.atomic(connection):
                reviews.annotate(connection, backend, rows)
            shown.update(len(rows))
    return {"reviews": reviews.annotated_count(connection), "backend": signature}


def _begin(context: Context, signature: str) -> int:
    """The backend's id. It goes on where it ran under the same key, unless a stage before it ran again."""
    connection, config = context.connection, context.config.annotate
    name = " ".join(filter(None, (config.backend, config.models)))
    with db.atomic(connection):
        anew = runs.setting(connection, "annotate.key") == ""
        runs.set_setting(connection, "annotate.key", context.key)
        return reviews.begin_annotations(connection, name, signature, context.key, anew=anew)


def _tasks(context: Context, at: int) -> Iterator[_Task]:
    while rows := reviews.texts(context.connection, at, context.config.annotate.chunk):
        at = rows[-1].id
        yield [(review.id, review.text, review.script) for review in rows]  # type: ignore[misc]


def _prepare(words: ArrivedWords, name: str, models: Path | None, signature: str, device: str) -> _Ready:
    """Load the backend once a worker, on one thread: workers share the cores."""
    _, lexicon = unpack_words(words)
    backend = nlp.load(name, lexicon.words(), models, device)
    if "torch" in sys.modules:  # the embedded backend does without
        import torch

        torch.set_num_threads(1)
    if backend.signature != signature:
        fix = "`builder resume` begins with the models as they are now; workers need the same models"
        raise ResourceError(f"the backend is {backend.signature}, not {signature}", where=str(models or name), fix=fix)
    return backend, lexicon.variants


def _annotate(ready: _Ready, task: _Task) -> list[tuple[int, str]]:
    backend, variants = ready
    read_texts = read([text for _, text, _ in task], backend, variants, [script for _, _, script in task])
    return [(i, reviews.dump_tokens(reading.text_tokens)) for (i, _, _), reading in zip(task, read_texts, strict=True)]
