"""The two templates of the paper's Table 3: a model each, trained on all of the rules' triplets of train.

In: the rules' triplets. Out: the sources `template-1` and `template-2` with what their models predict for the test
split, and the discriminator's verdicts on it. Nothing else reads them but the report. The model of the template that
the variants use is M_0 of variants B and D, so it is trained once.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import islice

from builder.core.progress import ModelBar
from builder.learning.task import Judge
from builder.models import kinds
from builder.models.paper.templates import Template
from builder.pipeline import judging
from builder.pipeline.context import Context
from builder.pipeline.extractors import predict_splits, train_extractor
from builder.pipeline.rounds import judge_new
from builder.store import db, runs, triplets

TEMPLATE_SOURCES: dict[str, Template] = {"template-1": "1", "template-2": "2"}
"""Source -> the template that its model is asked with."""
_PAGE = 2000
"""Predictions that are written at a time."""


def compare(context: Context, judge: Judge) -> runs.Counts:
    """Train what is due of the two models; how many triplets each predicts for test."""
    connection = context.connection
    rules = triplets.source_id(connection, "rules")
    assert rules is not None and triplets.source_id(connection, judging.NAME) is not None, "both have run"
    counts: dict[str, int | float | str] = {}
    for name, template in TEMPLATE_SOURCES.items():
        if triplets.source_id(connection, name) is None:
            _run(context, judge, name, template, [kept.id for kept in triplets.proposed(connection, rules, "train")])
        source = triplets.source_id(connection, name)
        assert source is not None, name
        counts[f"{name} test"] = triplets.count(connection, source, "test")
    return counts


def _run(context: Context, judge: Judge, name: str, template: Template, ids: list[int]) -> None:
    """Train one model, predict the test split with it, and judge that; commit all of it at once."""
    paper = replace(context.config.paper, template=template)
    asked = replace(context, config=replace(context.config, paper=paper))
    shown = ModelBar(name, kinds.unit(asked.config))
    shared = "BD0" if template == context.config.paper.template else name
    model = train_extractor(asked, name, ids, shown, shared)
    predicted = predict_splits(asked, model, name, ids, shown, ("test",))
    with db.atomic(context.connection):
        source = triplets.source(context.connection, name, "model", model.digest)
        rows = ((review, replace(triplet, rules=(), source=name)) for review, triplet in predicted)
        while page := list(islice(rows, _PAGE)):
            triplets.propose(context.connection, source, page)
        judge_new(context, judge, source, shown)
    shown.close()
