"""Pages of reviews: the list that filters narrow, a review with its triplets, a triplet with its story."""

from __future__ import annotations

import random
import sqlite3
from typing import Any
from urllib.parse import unquote

from builder.core.errors import QueryError
from builder.pages.plain_story import explain_triplet, list_legend
from builder.pages.serve.answering import (
    KINDS,
    Refused,
    Selection,
    ask,
    ask_once,
    mark_hits,
    mark_triplets,
    marked,
    number,
    page,
    plain,
    quoted,
    selection,
    shade_of,
)
from builder.reviews.repair import folded_spans
from builder.store import browse, listing, runs, stories
from builder.store.listing import NONE

PAGE = 20
MOST_BARS = 240
"""Bars of a histogram that is shown whole: twenty years of months."""
LABELS = {
    "source": "source", "split": "split", "rating": "stars", "month": "month", "polarity": "polarity", "rule": "rule",
    "category": "aspect category", "confidence": "confidence", "aspect": "aspect", "opinion": "opinion",
}  # fmt: skip
_VALUES = {
    ("polarity", "POS"): "positive", ("polarity", "NEG"): "negative", ("polarity", "NEU"): "neutral",
    ("polarity", NONE): "no triplet", ("confidence", "0"): "below 0.5", ("rule", NONE): "no rule",
    ("source", NONE): "no source", ("split", NONE): "no split", ("rating", NONE): "no stars",
    ("month", NONE): "no date",
    ("category", NONE): "no category", ("confidence", NONE): "no confidence",
}  # fmt: skip


def label(name: str, value: str) -> str:
    """A filter's value as people read it."""
    if name == "confidence" and value in ("5", "6", "7", "8", "9"):
        return f"0.{value} to {'1' if value == '9' else f'0.{int(value) + 1}'}"
    return _VALUES.get((name, value), value)


async def reviews(request: Any, datasette: Any) -> Any:
    """The list of reviews that the filters leave, with histograms that filter."""
    chosen = await selection(request, datasette)
    place = number(request.args.get("page") or "1", 1)
    whole = request.args.get("bars") or ""
    whole = whole if whole in (*listing.TRIPLET_FILTERS, *listing.REVIEW_FILTERS) else ""
    try:
        context = await ask(datasette, lambda connection: _page_of_list(connection, chosen, place))
        context["histograms"] = await ask_once(
            datasette,
            ("histograms", chosen.filters, whole),
            lambda connection: _rows_of_histograms(connection, chosen, whole),
        )
    except sqlite3.OperationalError as error:
        if "interrupted" not in str(error):
            raise
        raise Refused("this search takes too long; use fewer or longer words") from error
    context["histograms"] = [
        _histogram(chosen, name, rows, context["total"], whole)
        for name, rows in context["histograms"]
        if len(rows) > 1 or chosen.value(name)
    ]
    active = [
        (LABELS[name], label(name, value), chosen.with_(**{name: ""}).link("/reviews")) for name, value in chosen.values
    ]
    return await page(
        datasette, request, "reviews.html",
        context | {"selection": chosen, "query": chosen.query, "number": place, "active": active, "size": PAGE},
    )  # fmt: skip


def _histogram(chosen: Selection, name: str, rows: list[tuple[str, int]], total: int, whole: str) -> dict[str, Any]:
    """The bars of a filter; all of them where it is `whole`, else the first, with a link to all.

    A bar leads to the page with its value, or where that is set to the page without; a value that is set has a bar even
    where it is none of the rows. What has no value (`NONE`) does not set the scale.
    """
    value = chosen.value(name)
    most = MOST_BARS if name == whole else listing.BARS
    shown = [*([(value, total)] if value and value not in dict(rows[:most]) else []), *rows[:most]]
    longest = max((number_of for text, number_of in shown if text != NONE), default=0) or 1
    bars = [
        {
            "label": label(name, text), "link": chosen.with_(**{name: "" if text == value else text}).link("/reviews"),
            "number": number_of, "width": min(1000.0, round(1000 * number_of / longest, 1)), "on": text == value,
        }
        for text, number_of in shown
    ]  # fmt: skip
    more = chosen.link("/reviews", bars=name) if len(rows) > most and name != whole else ""
    return {"name": LABELS[name], "bars": bars, "more": more}


def _rows_of_histograms(
    connection: sqlite3.Connection, chosen: Selection, whole: str
) -> list[tuple[str, list[tuple[str, int]]]]:
    names = (*listing.TRIPLET_FILTERS, *listing.REVIEW_FILTERS)
    return [
        (name, listing.histogram(connection, chosen.filters, name, MOST_BARS if name == whole else listing.BARS))
        for name in names
    ]


def _page_of_list(connection: sqlite3.Connection, chosen: Selection, place: int) -> dict[str, Any]:
    filters = chosen.filters
    total = listing.count(connection, filters)
    hits = listing.page(connection, filters, PAGE, (place - 1) * PAGE)
    triplets = listing.chips(connection, [hit.id for hit in hits], filters.kinds)
    shown = [
        (
            hit,
            mark_hits(hit.text, folded_spans(hit.text, chosen.words)),
            [(*chip[:5], "" if chip[5] is None else f"s{chip[5]}") for chip in triplets.get(hit.id, [])],
        )
        for hit in hits
    ]
    return {
        "hits": shown,
        "total": total,
        "more": total > place * PAGE,
        "shaded": any(chip[5] is not None for chips in triplets.values() for chip in chips),
        "help": [] if total else _advise(connection, chosen),
    }


def _advise(connection: sqlite3.Connection, chosen: Selection) -> list[tuple[str, str, int]]:
    """Where nothing is left: ways to more, each with its link and how many reviews it finds."""
    words = chosen.query.split()
    tries = [(f"without the filter {LABELS[name]}", chosen.with_(**{name: ""})) for name, _ in chosen.values]
    tries += [("without any filter", chosen.with_(**{name: "" for name, _ in chosen.values}))] * (len(tries) > 1)
    if len(words) > 1:
        tries += [(f"with {word} alone", chosen.with_(q=word)) for word in words[:6]]
    every = ",".join(KINDS)
    tries.append(("with all candidates, released or not", chosen.with_(show=every)))
    if words:
        shorter = [part for word in words[:1] if len(word) > 2 for part in (word[:2], word[-2:])]
        tries += [(f"with {part}", chosen.with_(q=part)) for part in shorter if len(words) == 1]
    offers = []
    for name, other in tries:
        if other.filters != chosen.filters and (number_of := listing.count(connection, other.filters)):
            offers.append((name, other.link("/reviews"), number_of))
    return offers


async def any_review(request: Any, datasette: Any) -> Any:
    """A review of the list by chance."""
    from datasette.utils.asgi import Response

    chosen = await selection(request, datasette)

    def draw(connection: sqlite3.Connection) -> int | None:
        total = listing.count(connection, chosen.filters)
        return listing.review_at(connection, chosen.filters, random.randrange(total)) if total else None

    i = await ask(datasette, draw)
    return Response.redirect(chosen.link(f"/review/{i}" if i else "/reviews"))


async def review(request: Any, datasette: Any) -> Any:
    """By the number of its row, as our links have it, else by its own id, which leads to the address that says so."""
    from datasette.utils.asgi import Response

    given = unquote(request.url_vars["id"])
    i = int(given) if given.isascii() and given.isdecimal() and len(given) < 19 else 0
    if await ask(datasette, lambda connection: browse.is_review(connection, i)):
        return await _review(request, datasette, i)
    return Response.redirect(f"/review?key={quoted(given)}")


async def review_of_key(request: Any, datasette: Any) -> Any:
    """The page of a review, looked up by its key."""
    i, _ = await ask(datasette, lambda connection: stories.find(connection, request.args.get("key") or ""))
    return await _review(request, datasette, i)


async def _review(request: Any, datasette: Any, i: int) -> Any:
    chosen = await selection(request, datasette)
    filters = chosen.filters
    total = await ask_once(datasette, ("total", filters), lambda connection: listing.count(connection, filters))
    context = await ask(datasette, lambda connection: _context_of_review(connection, i, chosen, total))
    return await page(datasette, request, "review.html", context)


def _context_of_review(connection: sqlite3.Connection, i: int, chosen: Selection, total: int) -> dict[str, Any]:
    story = stories.review(connection, i)
    kinds = listing.shown_triplets(connection, i)
    shown = [row for row in story.triplets if kinds.get(row.stored.id, (0, None))[0] & chosen.kinds]
    shades = {row.stored.id: shade_of(kinds[row.stored.id][1]) for row in shown}
    numbers = {bit: sum(1 for bits, _ in kinds.values() if bits & bit) for bit, _ in KINDS.values()}
    return {
        "story": story,
        "shown": shown,
        "shades": shades,
        "confidences": {triplet: confidence for triplet, (_, confidence) in kinds.items()},
        "released": sum(1 for row in story.triplets if row.outcome.released),
        "text": marked(story.text, mark_triplets([row.stored for row in shown], shades)),
        "beside": listing.neighbours(connection, chosen.filters, i, total),
        "selection": chosen,
        "query": chosen.query,
        "toggles_of": chosen.toggles(f"/review/{i}", numbers),
        "learnt": _learnt,
        "plain": plain,
    }


def _learnt(sources: tuple[str, ...]) -> str:
    """The variants of a triplet's sources that learn from what the rules find."""
    return ", ".join(name for name in sources if name[:1] in "ABCD" and name[1:].isdigit())


async def triplet(request: Any, datasette: Any) -> Any:
    """The page of a triplet: its text and its story."""
    chosen = await selection(request, datasette)

    def work(connection: sqlite3.Connection) -> dict[str, Any]:
        i, wanted = stories.find(connection, request.url_vars["id"])
        story = stories.review(connection, i)
        row = next((row for row in story.triplets if row.stored.id == wanted), None)
        if row is None:
            raise QueryError(f"no triplet {request.url_vars['id']!r}")
        confidence = listing.shown_triplets(connection, i).get(row.stored.id, (0, None))[1]
        shade = {row.stored.id: shade_of(confidence)}
        text = marked(story.text, mark_triplets([row.stored], shade))
        steps = "\n".join(f"{step.source} {step.kind} {step.detail}" for step in row.steps)
        return {
            "story": story, "chosen": row, "text": text, "confidence": confidence,
            "sentences": explain_triplet(row, {}, runs.judge(connection)), "legend": list_legend(steps),
        }  # fmt: skip

    context = await ask(datasette, work)
    context |= {"plain": plain, "selection": chosen, "query": chosen.query}
    return await page(datasette, request, "triplet.html", context)
