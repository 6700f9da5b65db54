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

from builder.errors import ResourceError
from builder.lexicon.candidate_scores import Endings
from builder.lexicon.corrections import REASON, Lesson, Table, add_entry, find_lessons
from builder.lexicon.resources import Lexicon
from builder.reader import Recipe, make_reader
from builder.records import Triplet
from builder.stages.parts.build_folders import folders_in
from builder.usecases.extraction import build_settings

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

    def propose_exceptions(self, text: str, wrong: Triplet, words: Sequence[str]) -> Json:
        """Words that are no aspect and no opinion, and whether the rules then leave out a wrong triplet."""
        lessons = tuple(Lesson("exception", word, REASON) for word in words if word not in self.lexicon.not_aspects)
        gone = all(triplet.key != wrong.key for triplet in self._try(text, lessons)) if lessons else False
        return {"lessons": [asdict(lesson) for lesson in lessons], "works": gone}

    def teach(self, table: str, word: str, meaning: str) -> Json:
        """Add an entry. ResourceError where it is none."""
        known: tuple[Table, ...] = get_args(Table)
        chosen = next((name for name in known if name == table), None)
        if chosen is None:
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
                add_entry(Path(folder), lesson, self.lexicon)
            tried = replace(folders, imported=(*folders.imported, Path(folder)))
            recipe = Recipe(settings.rules.convention, tried, settings.annotate.backend, models, settings.device)
            return make_reader(recipe).extract([text])[0]
