"""Corrections become knowledge: the lexicon entries that would have made a triplet, tried out before they are added.

In: a working directory, and a triplet that a person corrected or added. Out: entries to propose, with whether the rules
then find the triplet; what is accepted goes into the working directory's own lexicon, which its next build uses.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, get_args

from builder.core.errors import ResourceError
from builder.core.records import Triplet
from builder.engine.reader import Recipe, make_reader
from builder.engine.rule_changes import quote_triplet
from builder.language.build_folders import folders_in
from builder.language.lexicon.candidate_scores import Endings
from builder.language.lexicon.corrections import REASON, Lesson, Table, add_entry, find_lessons
from builder.language.lexicon.own_exceptions import add_exception
from builder.language.lexicon.resources import Lexicon, overlays
from builder.language.lexicon.rules import RuleExample, edited_rules
from builder.pipeline.extraction import build_settings
from builder.reviews.text import view

Json = dict[str, Any]
OFTEN = 2
"""A word is proposed as an exception where so many labels of it, and all of them, say that the pair is wrong."""


class Teacher:
    """Proposes and adds entries of a working directory's own lexicon. Lexicon and models load with the first use."""

    def __init__(self, workdir: Path) -> None:
        self._workdir = workdir
        self._lexicon: Lexicon | None = None

    @property
    def lexicon(self) -> Lexicon:
        """The lexicon of the working directory, as it is after the last entry."""
        if self._lexicon is None:
            self._lexicon = folders_in(self._workdir).load_lexicon()
        return self._lexicon

    def propose(self, text: str, due: Triplet) -> Json:
        """Entries that the lexicon lacks for a triplet, and whether the rules find it in the text with them."""
        lessons = find_lessons(due, self.lexicon, Endings.of(self.lexicon))
        works = any(triplet.key == due.key for triplet in self._try(text, lessons)) if lessons else False
        return {"lessons": [asdict(lesson) for lesson in lessons], "works": works}

    def propose_exceptions(self, text: str, wrong: Triplet, words: Sequence[str], pair: bool = True) -> Json:
        """Words that are no aspect and no opinion, and whether the rules then leave out a wrong triplet. Where no word
        is to blame, and the rules make the triplet: its pair of words (`pair`), with the rule that made it.
        """
        lessons = tuple(Lesson("exception", word, REASON) for word in words if word not in self.lexicon.not_aspects)
        if not lessons and pair:
            made = next((triplet for triplet in self._try(text, ()) if triplet.key == wrong.key), None)
            lessons = (Lesson("pair", self._pair(made), made.rule or ""),) if made else ()
        gone = all(triplet.key != wrong.key for triplet in self._try(text, lessons)) if lessons else False
        lessons = tuple(lesson for lesson in lessons if gone or lesson.table != "pair")
        return {"lessons": [asdict(lesson) for lesson in lessons], "works": gone}

    def teach_pair(self, text: str, wrong: Triplet) -> Json:
        """Add the exception of a wrong triplet, with its sentence as an example."""
        pair = self._pair(wrong)
        example = RuleExample(quote_triplet(text, wrong).text, (f"{pair}|{wrong.polarity}",), must=False)
        add_exception(self._workdir, folders_in(self._workdir).load_rules(), pair, example)
        return {"added": pair}

    def _pair(self, triplet: Triplet) -> str:
        """The words of a triplet as rules read them."""
        return "|".join(view(part.text, self.lexicon.variants).text for part in (triplet.aspect, triplet.opinion))

    def teach(self, table: str, word: str, meaning: str) -> Json:
        """Add an entry. ResourceError where it is none."""
        known: tuple[Table, ...] = get_args(Table)
        chosen = next((name for name in known if name == table), None)
        if chosen is None or chosen == "pair":
            raise ResourceError(f"no table {table!r}", fix="known: " + ", ".join(known))
        add_entry(self._workdir / "lexicon", Lesson(chosen, word, meaning), self.lexicon)
        self._lexicon = None
        return {"added": word}

    def _try(self, text: str, lessons: Sequence[Lesson]) -> tuple[Triplet, ...]:
        """What the rules find in a text with these entries, which nothing keeps."""
        settings, folders = build_settings(self._workdir), folders_in(self._workdir)
        models = Path(settings.annotate.models) if settings.annotate.models else None
        with tempfile.TemporaryDirectory() as folder:
            for lesson in lessons:
                if lesson.table == "pair":
                    example = RuleExample(text, (), must=False)
                    add_exception(Path(folder), folders.load_rules(), lesson.word, example)
                else:
                    add_entry(Path(folder) / "lexicon", lesson, self.lexicon)
            words, rules = overlays(Path(folder)), edited_rules(Path(folder))
            tried = replace(folders, imported=folders.imported + words, edited=folders.edited + rules)
            recipe = Recipe(settings.rules.convention, tried, settings.annotate.backend, models, settings.device)
            return make_reader(recipe).extract([text])[0]
