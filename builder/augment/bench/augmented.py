"""Augmented rows: read from files and releases, or made by a method of the table; a few copies a source row.

In: the rows that are trained on (never others), a name or path. Out: rows that name their source, and how many were
rejected, by reason.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from builder.augment.bench.labelled_texts import BenchRow, Data, digest, language, normalised, sentences
from builder.augment.candidates import Edit, Rewrite, applied, carried, moved, rewrite_of
from builder.augment.catalogue import METHODS, SHARED, AugmentSettings, Given, make_method, make_settings, section_of
from builder.augment.constraints import place_marks
from builder.augment.run import AugmentOptions, Judgement, Seen, judge_proposals, lost
from builder.augment.survival import label_lost
from builder.core.code import code_digest
from builder.core.config import toml_value
from builder.core.errors import ConfigError, InputError
from builder.core.files import Kept, key_of
from builder.core.records import Triplet
from builder.language.lexicon.folders import SHIPPED, Folders, folders_in

NONE = "none"
CODE = (__name__, "builder.augment.methods", "builder.engine")
"""What proposals and constraints depend on, beside lexicons and rules: an edit of these has them made again."""


@dataclass(frozen=True, slots=True)
class Augmented:
    """Rows in the order of their sources, and how many candidates were rejected, by reason."""

    name: str
    rows: tuple[BenchRow, ...]
    rejected: tuple[tuple[str, int], ...] = ()

    @property
    def named(self) -> bool:
        return all(row.source is not None for row in self.rows)


def is_method(name: str) -> bool:
    """Whether a method of the table (settings behind colons), not a path; ConfigError for what is neither."""
    if name.partition(":")[0] in METHODS:
        return True
    if Path(name).exists():
        return False
    known = ", ".join((NONE, *METHODS))
    raise ConfigError(
        f"{name!r} is neither a method nor a file", where="--methods", fix=f"known: {known}; or name a file or release"
    )


def of_file(path: Path, data: Data, train: Sequence[BenchRow], valid: Sequence[BenchRow] = ()) -> Augmented:
    """The rows of an augmented file that are new, and whose source, if they name one, is trained on."""
    ids = {row.id for row in train} | {row.id.partition("@")[0] for row in train}
    kept = [row for row in data.rows if row.source is None or row.source in ids]
    texts = {(row.key, row.aspect, row.label) for row in train}
    held = {row.key for row in valid}
    unheld = [row for row in kept if row.key not in held]
    new = [row for row in unheld if (row.key, row.aspect, row.label) not in texts]
    left = {
        "source-not-in-train": len(data.rows) - len(kept),
        "held-out": len(kept) - len(unheld),
        "in-source": len(unheld) - len(new),
    }
    counted = Counter(dict(data.skipped)) + Counter(left)
    if not new:
        raise InputError(
            "no augmented row belongs to a row that is trained on",
            where=str(path),
            fix="augment this very training set",
        )
    return Augmented(path.name, tuple(new), tuple(sorted(counted.items())))


@dataclass(frozen=True, slots=True)
class Sources:
    """The rows trained on, those that choose the epoch, and those tested on; no text of the others may be made."""

    train: tuple[BenchRow, ...]
    valid: tuple[BenchRow, ...]
    test: tuple[BenchRow, ...]


def parsed(written: str, sets: Mapping[str, object], seed: int) -> tuple[str, AugmentSettings]:
    """`NAME` or `NAME:key=value:key=value` as the method and its settings. ConfigError as in `make_settings`."""
    name, *own = written.split(":")
    section = section_of(name)
    keys: dict[str, object] = {"seed": seed, "threads": 1, **sets}
    for setting in own:
        key, equals, value = setting.partition("=")
        if not equals:
            raise ConfigError(
                f"{setting!r} is no key=value",
                where="--methods",
                fix=f"write {name}:key=value, keys as in --set {section}.key=value",
            )
        keys[key.strip() if key.strip() in SHARED else f"{section}.{key.strip()}"] = toml_value(value)
    return name, make_settings(keys)


def given(sources: Sources, workdir: Path) -> Given:
    """What a method may learn from."""
    folders = folders_in(workdir)
    train = tuple(sentences(sources.train, folders))
    texts, held = (
        tuple(dict.fromkeys(example.text for example in train)),
        frozenset(row.text for row in (*sources.valid, *sources.test)),
    )
    return Given(
        models=workdir / "models",
        sentences=train,
        texts=texts,
        held=held,
        language=language(sources.train),
        folders=folders,
    )


def by_method(
    written: str, sources: Sources, sets: Mapping[str, object], copies: int, seed: int, workdir: Path
) -> Augmented:
    """What a method proposes for the rows and the constraints keep; done once, then read from the working directory."""
    name, chosen = parsed(written, sets, seed)
    known = given(sources, workdir)
    train = sources.train
    held = {row.key for row in (*sources.test, *sources.valid)}
    by_id = {row.id: row for row in train}
    seen = Seen(normalised, {row.key for row in train}, held, lambda sentence: str(by_id[sentence.id].aspect))
    chosen = replace(chosen, given=known)
    options = AugmentOptions(
        method=name, workdir=workdir, settings=chosen, copies=copies, candidates=2 * copies, seed=seed
    )
    method = make_method(name, chosen)
    lexicon = known.folders.load_lexicon()
    limits = chosen.constraints, chosen.redraws
    made_by = code_digest(*CODE), lexicon.digest, known.folders.rules_digest, method.signature
    unique = key_of(made_by, digest(train), known.sentences, sorted(held), copies, seed, limits)

    def make() -> dict[str, object]:
        judged = judge_proposals(options, method, seen)
        judged = followed(judged, by_id, chosen.label_safe, known.folders)
        return {"rejected": judged.reasons, "kept": [asdict(trial.candidate) for trial in judged.kept]}

    content = Kept(workdir / "augmented").get(f"{name}-{unique}", make)
    candidates = enumerate(map(rewrite_of, content["kept"]))
    rows = (rewritten(by_id[candidate.source], candidate, n) for n, candidate in candidates)
    augmented = Augmented(written, tuple(row for row in rows if row), tuple(content["rejected"].items()))
    if not augmented.rows:
        reasons = ", ".join(f"{reason} {count:,}" for reason, count in augmented.rejected)
        raise InputError(
            f"{written} keeps nothing ({reasons})", where="--methods", fix="take more training rows, or another method"
        )
    return augmented


def followed(
    judged: Judgement, by_id: Mapping[str, BenchRow], label_safe: bool = True, folders: Folders = SHIPPED
) -> Judgement:
    """Without rows of which a label is lost: by arithmetic, or (`label_safe`) to the rules, which found it before."""
    pairs = [(by_id[trial.source.id], rewritten(by_id[trial.source.id], trial.candidate, 0)) for trial in judged.kept]
    judged = lost(judged, {n for n, (_, new) in enumerate(pairs) if new is None}, "phrase-broken")
    held = [((old.text, old.triplets), (new.text, new.triplets)) for old, new in pairs if new]
    asked = label_safe and any(triplets for (_, triplets), _ in held)
    return lost(judged, label_lost(held, folders), "label-lost") if asked else judged


def rewritten(row: BenchRow, candidate: Rewrite, n: int) -> BenchRow | None:
    """A row after edits; its aspect and triplets by arithmetic, None where one of them does not survive."""
    edits = candidate.edits
    text = applied(row.text, edits)
    aspect = moved(row.aspect, edits) if row.aspect else None
    triplets = [_triplet(triplet, text, edits) for triplet in row.triplets]
    if (row.aspect and aspect is None) or None in triplets:
        return None
    whole = tuple(triplet for triplet in triplets if triplet is not None)
    return replace(
        row,
        id=f"{row.id}+{n}",
        text=text,
        marks=tuple(mark for mark in place_marks(row.marks, candidate) if mark),
        label=candidate.label or row.label,
        aspect=aspect,
        triplets=whole,
        source=row.id,
    )


def _triplet(triplet: Triplet, text: str, edits: Sequence[Edit]) -> Triplet | None:
    return triplet.bare().mapped(
        lambda part: carried(part, text, edits), lambda part: carried(part, text, edits, stretch=True)
    )


def of_sets(rows: Iterable[BenchRow], sets: Collection[int]) -> Iterator[BenchRow]:
    """The rows of some sets, in order: set n, from 0, holds the n-th of each source and its judged aspect."""
    taken: Counter[tuple[str | None, str]] = Counter()
    for row in rows:
        place = row.source, row.text[slice(*row.aspect)] if row.aspect else ""
        if taken[place] in sets:
            yield row
        taken[place] += 1
