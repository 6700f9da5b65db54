"""A file of labelled sentences goes in, a file of the same format comes out, and beside it what every sentence comes
from and what was rejected.

The files: FILE, FILE.lineage.jsonl (a line a sentence), FILE.rejected.jsonl, FILE.manifest.json, which is written last.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from builder import __version__
from builder.augment import proposing, survival
from builder.augment.constraints import Trial
from builder.augment.run import (
    Judgement,
    Plan,
    Rejected,
    Request,
    Seen,
    count_reasons,
    draw_places,
    judge_proposals,
    load_method,
)
from builder.augment.sentence_files import (
    FORMATS,
    FaultyLines,
    FileSentence,
    Language,
    by_characters,
    language_of,
    refuse,
)
from builder.augment.settings import Given, check_method, relevant_settings
from builder.core import shards
from builder.core.errors import ConfigError, InputError
from builder.core.files import write_atomically
from builder.core.wording import counted, describe_faults
from builder.language.lexicon.folders import folders_in
from builder.release.manifest import sha256

Tell = Callable[[str], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class FilePlan(Plan):
    """`held_out` are files of the same format that no sentence may come from; `with_source` writes the sources too;
    `strict` refuses a file with a faulty line, else that is left out.
    """

    source: Path
    target: Path
    form: str
    held_out: tuple[Path, ...] = ()
    language: Language | None = None
    with_source: bool = False
    strict: bool = False


@dataclass(frozen=True, slots=True)
class AugmentedFile:
    """The file, how many sentences it holds, why others were rejected, and what was measured."""

    path: Path
    rows: int
    reasons: Mapping[str, int]
    measures: Mapping[str, object]


def augment_file(plan: FilePlan, tell: Tell = lambda line: None) -> AugmentedFile:
    """Lines that are not of the format are left out, named to `tell` and counted; none may be in what is held out.
    InputError where no sentence is left; ConfigError for a format or method that is not known.
    """
    check_method(plan.method)
    survival.check()
    if plan.form not in FORMATS:
        raise ConfigError(f"unknown format {plan.form!r}", fix=f"known: {', '.join(FORMATS)}")
    if plan.target.resolve() in (plan.source.resolve(), *(path.resolve() for path in plan.held_out)):
        raise ConfigError("the output would overwrite an input", where=str(plan.target), fix="choose another --output")
    content = _text(plan.source)
    language = plan.language or language_of(content)
    faults: list[FaultyLines] = []
    items = _read(plan, plan.source, content, language, None if plan.strict else faults)
    named = [f"{plan.source}: {fault.what}" for fault in faults]
    for line in describe_faults(named, "faulty sentence", f"{plan.target.name}.rejected.jsonl"):
        tell(line)
    out = frozenset(item.sentence.text for path in plan.held_out for item in _read(plan, path, _text(path), language))
    held = set(map(_key, out))
    allowed = [item for item in items if _key(item.sentence.text) not in held]
    chosen = [allowed[at] for at in draw_places([item.sentence.id for item in allowed], plan.limit, plan.seed)]
    skipped = [Rejected(str(fault.first), "faulty") for fault in faults]
    skipped += [Rejected(item.sentence.id, "held-out") for item in items if _key(item.sentence.text) in held]
    sentences = tuple(item.sentence for item in chosen)
    folders = folders_in(plan.workdir)
    if language == "zh" and all(map(by_characters, sentences)):
        sentences = tuple(proposing.segmented(sentences, folders))
    texts = tuple(dict.fromkeys(sentence.text for sentence in sentences))
    given = Given(plan.workdir / "models" / "augment", sentences, texts, out, language=language, folders=folders)
    tell(f"{plan.method}: {counted(len(sentences), 'sentence')} of {plan.source}")
    judged_at = {
        item.sentence.id: item.sentence.marks[item.judged].start if item.judged >= 0 else -1 for item in chosen
    }
    seen = Seen(
        _key, {_key(item.sentence.text) for item in items}, held, apart=lambda sentence: str(judged_at[sentence.id])
    )
    request = Request(plan.method, plan.settings, given, plan.copies, plan.candidates, plan.seed, seen)
    method = load_method(request)
    with shards.opened(plan.engine, plan.workers, plan.scheduler) as crew:
        judged = judge_proposals(request, method, plan.workdir, crew)
    taken = survival.measures(
        judged,
        len(sentences),
        language,
        [(sentence.id, sentence.text) for sentence in sentences],
        lambda i: i,
        plan.settings,
    )
    sources = _without(content, faults) if plan.with_source else ""
    return _write(plan, chosen, judged, skipped, taken, method.signature, language, sources)


def _key(text: str) -> str:
    return "".join(text.lower().split())


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"cannot be read: {error}", where=str(path), fix="name a file in UTF-8") from error


def _without(content: str, faults: Sequence[FaultyLines]) -> str:
    """A file's text less its faulty lines."""
    faulty = {number for fault in faults for number in range(fault.first, fault.last + 1)}
    return "\n".join(line for number, line in enumerate(content.split("\n"), start=1) if number not in faulty)


def _read(
    plan: FilePlan, path: Path, content: str, language: Language, faults: list[FaultyLines] | None = None
) -> list[FileSentence]:
    """The sentences of a file; what is none goes to `faults`, or is an InputError without them."""
    fix = f"--format {plan.form}: {FORMATS[plan.form].about}"
    try:
        items = FORMATS[plan.form].read(content, language, refuse if faults is None else faults.append)
    except ValueError as error:
        raise InputError(str(error), where=str(path), fix=fix) from error
    if not items:
        raise InputError(faults[0].what if faults else "no sentence in it", where=str(path), fix=fix)
    return items


def _write(
    plan: FilePlan,
    items: Sequence[FileSentence],
    judged: Judgement,
    skipped: Sequence[Rejected],
    taken: Mapping[str, object],
    signature: str,
    language: str,
    sources: str,
) -> AugmentedFile:
    """Write the file and what lies beside it, the manifest last. `sources`: the sentences that it begins with."""
    rejected = [*skipped, *judged.rejected]
    reasons, made = count_reasons(rejected), _made(plan, items, judged, sources)
    manifest = {
        "builder": __version__,
        "source": plan.source.name,
        "sha256": sha256(plan.source.read_bytes()),
        "format": plan.form,
        "language": language,
        "method": plan.method,
        "signature": signature,
        "seed": plan.seed,
        "copies": plan.copies,
        "candidates": plan.candidates,
        "limit": plan.limit,
        "with_source": plan.with_source,
        "config": relevant_settings(plan.settings, plan.method),
        "rejected": reasons,
        "measures": dict(taken),
        "output_sha256": sha256(made.encode()),
    }
    beside = {
        ".lineage.jsonl": "".join(map(_lineage, judged.kept)),
        ".rejected.jsonl": "".join(map(_rejection, rejected)),
        "": made,
        ".manifest.json": json.dumps(manifest, ensure_ascii=False, indent=2) + "\n",
    }
    for suffix, content in beside.items():
        write_atomically(plan.target.with_name(plan.target.name + suffix), content.encode())
    return AugmentedFile(plan.target, len(judged.kept), reasons, taken)


def _made(plan: FilePlan, items: Sequence[FileSentence], judged: Judgement, sources: str) -> str:
    """The content of the file: what was kept, behind the sources where they are asked for."""
    form = FORMATS[plan.form]
    by_id = {item.sentence.id: item for item in items}
    rows = "".join(form.write(by_id[trial.source.id], trial) for trial in judged.kept)
    if not plan.with_source:
        return form.head + rows
    gap = "\n" if plan.form in ("apc", "tsv") else "\n\n"
    return sources.rstrip("\n") + gap + rows


def _lineage(trial: Trial) -> str:
    edits = [asdict(edit) for edit in trial.candidate.edits]
    return _line({"source": trial.source.id, "text": trial.text, "edits": edits})


def _rejection(rejection: Rejected) -> str:
    edits = [asdict(edit) for edit in rejection.edits]
    return _line({"source": rejection.source, "reason": rejection.reason, "edits": edits})


def _line(row: Mapping[str, object]) -> str:
    return json.dumps(row, ensure_ascii=False) + "\n"
