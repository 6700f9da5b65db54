"""`builder words lexicon …` and `builder words rules …`: the lexicons, and what rules make of them.

`lexicon check|import` works on the lexicons. What a user adds lies in the working directory, in
`lexicon/`.

`rules` shows what rules do on real reviews, and `rules edit` is the page on which they are edited. What a user saves
lies in the working directory, in `rules/`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from builder.cli.build import WORKDIR
from builder.cli.options import FORMAT, PATH, option, put_rows
from builder.core.wording import counted

if TYPE_CHECKING:
    from builder.language.lexicon.overlay import Overlay
    from builder.language.lexicon.resources import Lexicon

# ---- builder words lexicon


@click.group()
def lexicon() -> None:
    """Check and import lexicons."""


@lexicon.command()
@option("--domain", help="Domain, or folder of a pack: of a pack only what its own tables bring in.")
@WORKDIR
@click.pass_context
def check(ctx: click.Context, domain: str | None, workdir: Path) -> None:
    """Find faults in the lexicons.

    Duplicates, contradictions, and words of kinds that there are not. Where --workdir is given, and lays words over the
    shipped ones (`lexicons.dir` and imports), only what these bring in.
    """
    from collections import Counter
    from dataclasses import replace

    from builder.core.errors import ConfigError
    from builder.language.lexicon.check import check as find_faults
    from builder.language.lexicon.folders import folders_in
    from builder.language.lexicon.packs import find_pack

    folders = folders_in(workdir)
    if domain:
        if folders.lexicons:
            raise ConfigError("lexicons in place of those shipped have no domain", fix="leave out --domain")
        folders = replace(folders, domain=domain)
    faults = find_faults(folders.lexicon_folders[0], overlays=folders.lexicon_folders[1:])
    pack = find_pack(domain) if domain else None
    below = replace(folders, overlays=(), imported=(), domain=pack.below if pack else folders.domain)
    asks_for_own = pack is not None or ctx.get_parameter_source("workdir") is not ParameterSource.DEFAULT
    if asks_for_own and below != folders:
        known = set(find_faults(below.lexicon_folders[0], overlays=below.lexicon_folders[1:]))
        faults = [fault for fault in faults if fault not in known]
    for fault in faults:
        click.echo(f"{fault.where}\t{fault.kind}\t{fault.word}\t{fault.detail}")
    for folder in folders.describe() if folders.laid_over else ():
        click.echo(f"{folder.role}: {folder.path} ({folder.digest})", err=True)
    counts = Counter(fault.kind for fault in faults)
    click.echo(", ".join(f"{kind} {number}" for kind, number in counts.most_common()) or "nothing found", err=True)
    if not counts.keys().isdisjoint(("missing", "format", "unknown-kind", "valence", "variant", "duplicate")):
        sys.exit(1)


@lexicon.command("import")
@click.argument("path", type=PATH)
@option("--kind", required=True, help="ehownet, valence-csv, ntusd, dishes or words.")
@option("--polarity", default="", help="For ntusd: positive or negative, where the file's name does not say.")
@option("--name", default="", help="Name of the import; the file's if not given.")
@option("--encoding", default="", help="Encoding, if it is not UTF-8.")
@option("--replace/--keep-known", default=False, help="Words that the lexicon has: take the file's, or keep it.")
@option("--class", "cls", default="", help="Class of aspects; for dishes that of a thing if not given.")
@option("--category", default="", help="Category of all opinions, in place of the file's.")
@option("--scale", type=float, nargs=2, metavar="LOW HIGH", help="Scale of the file's valences, such as 1 9.")
@option("--valences", type=PATH, help="For ehownet: a file of `category TAB valence`.")
@option("--shortest", type=int, help="Shortest word taken, in characters; 2 for lists, 1 for ehownet and words.")
@option("--longest", default=12, help="Longest word taken, in characters.")
@option("--parts/--no-parts", default=True, help="For dishes: also take the nouns that several names share.")
@WORKDIR
def import_(
    path: Path, kind: str, replace: bool, valences: Path | None, parts: bool, workdir: Path, **given: Any
) -> None:
    """Import a lexicon of yours for one build."""
    from dataclasses import replace as with_values

    from builder.language.lexicon.folders import folders_in
    from builder.language.lexicon.importers import Options, import_lexicon, read_valences
    from builder.language.lexicon.overlay import write
    from builder.language.nlp import conllu

    folders = folders_in(workdir)
    options = Options(keep_known=not replace, tags=conllu.load_labels().parts_of_speech, **given)
    if valences:
        options = with_values(options, valences=read_valences(valences, options))
    cut = _find_nouns(with_values(folders, imported=()).load_lexicon()) if kind == "dishes" and parts else None
    overlay = import_lexicon(path, kind, folders.load_lexicon(), options, cut)
    write(overlay, workdir / "lexicon")
    _report_import(overlay, path, workdir / "lexicon")


_SHOWN = 10
"""Refused lines that are printed; all are kept in a file."""


def _find_nouns(lexicon: Lexicon) -> Callable[[Sequence[str]], list[list[str]]]:
    """What cuts names into words, without the words that were imported: those would stay whole."""
    from builder.language.nlp.embedded import load_segmenter

    return load_segmenter(lexicon.words()).nouns


def _report_import(overlay: Overlay, path: Path, folder: Path) -> None:
    """Print what became of a file. InputError where no line of it was of use."""
    from collections import Counter

    from builder.core.errors import InputError
    from builder.language.lexicon.overlay import refusals_path

    for refusal in overlay.refused[:_SHOWN]:
        detail = f": {refusal.detail}" if refusal.detail else ""
        click.echo(f"{path}:{refusal.line}\t{refusal.word}\t{refusal.reason}{detail}", err=True)
    if (rest := len(overlay.refused) - _SHOWN) > 0:
        click.echo(f"and {rest:,} more in {refusals_path(overlay, folder)}", err=True)
    reasons = Counter(refusal.reason for refusal in overlay.refused)
    refused = ", ".join(f"{reason} {number:,}" for reason, number in reasons.most_common())
    where = f"; see {refusals_path(overlay, folder)}" if refused else ""
    hint = "; --replace takes words that are known" if reasons["known"] else ""
    if overlay.empty:
        if not reasons.keys() <= {"known", "duplicate", "header"}:
            raise InputError(
                f"nothing in it became an entry ({refused or 'it is empty'}{where})",
                where=str(path),
                fix="check --kind",
            )
        click.echo(f"nothing to import from {path}, the lexicon is as before: {refused or 'no line'}{where}{hint}")
        return
    counts = [counted(len(overlay.opinions), "opinion"), counted(len(overlay.aspects), "aspect")]
    counts[1] += f" ({overlay.parts:,} of them parts of others)" if overlay.parts else ""
    counts += [counted(len(overlay.general), "general word")] if overlay.general else []
    note = f" ({refused}{where}{hint})" if refused else ""
    click.echo(f"{folder}: {', '.join(counts)}, {len(overlay.refused):,} refused{note}")


# ---- builder words rules


@click.group(invoke_without_command=True)
@WORKDIR
@option("--reviews", default=2000, help="Look at so many annotated reviews.")
@FORMAT
@click.pass_context
def rules(ctx: click.Context, workdir: Path, reviews: int, shape: str | None) -> None:
    """Report what each rule contributes.

    What a pairing rule finds, decides, shares with other rules and disputes; how many opinion words a refusing rule
    matches, refuses and shares. `edit` opens the rules in the browser.
    """
    if ctx.invoked_subcommand is not None:
        return
    from dataclasses import astuple

    from builder.language.lexicon.folders import folders_in
    from builder.pipeline.rule_report import find_unused_classes, open_engine, report
    from builder.store import db

    engine, lexicon = open_engine(workdir)
    with db.reading(workdir) as connection:
        opinions, rows = report(connection, engine, lexicon, reviews)
    put_rows(("rule", "hits", "decides", "overlaps", "conflicts"), [astuple(row) for row in rows], shape, len(rows))
    click.echo(f"{opinions} opinions", err=True)
    folders = folders_in(workdir)
    for folder in folders.rules_laid_over:
        names = ", ".join(path.stem for path in sorted(folder.glob("*.toml")))
        click.echo(f"your own rules: {names} ({folder})", err=True)
    for fault in find_unused_classes(folders.load_rules()):
        click.echo(fault, err=True)


@rules.command()
@click.argument("sentence")
@click.argument("triplet")
@WORKDIR
def new(sentence: str, triplet: str, workdir: Path) -> None:
    """Draft a rule from a sentence and its triplet.

    TRIPLET is written "aspect|opinion|POS"; the rule makes it from SENTENCE. The draft pairs the two words as they
    stand there. Where the opinion is none yet, it makes one of its words. Make it general, add examples, and put it
    into WORKDIR/rules.
    """
    from builder.pipeline.drafting import draft

    click.echo(draft(workdir, sentence, triplet), nl=False)


@rules.command()
@WORKDIR
@option(
    "--reviews",
    default=2000,
    type=click.IntRange(1),
    help="Try an edited rule on so many annotated reviews; those of the sample where there are none.",
)
@option("--port", default=8767, type=click.IntRange(0, 65535), help="Port to serve on; 0: any free one.")
def edit(workdir: Path, reviews: int, port: int) -> None:
    """Read and edit the rules in a page.

    Each rule stands with its examples, which run as you type. Before you save a copy, the page shows what it changes in
    real reviews. It is saved in WORKDIR/rules, and the next build reads it. Stop with Ctrl-C.
    """
    from builder.gold.server import serve
    from builder.pages.rule_page import RuleWorker, rule_site

    worker = RuleWorker(workdir, reviews)
    try:
        serve(rule_site(worker), "you", lambda address: click.echo(f"open {address}"), port=port)
    finally:
        worker.close()
